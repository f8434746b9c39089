"""Every probe keeps the promises of `Probe`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from contract.parts import FAULTS, KEY, ONCE, Over, hanging, named
from upstreams.chat_completions import ChatUpstream
from upstreams.firecrawl import FirecrawlUpstream
from upstreams.script import hang
from upstreams.simulator import Simulator
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream
from websearch_adapters.http.client import Http
from websearch_adapters.providers.chat_completions import ChatCompletions, ChatSettings
from websearch_adapters.providers.echo import Echo, EchoSettings
from websearch_adapters.providers.firecrawl import Firecrawl, FirecrawlSettings
from websearch_adapters.providers.library import LibraryFinder
from websearch_adapters.providers.tavily import Tavily, TavilySettings
from websearch_adapters.providers.xai import XaiResponses, XaiSettings
from websearch_core.errors import Unreachable
from websearch_core.ports import Probe
from websearch_core.testing.contracts import Hanging, OfflineProbeContract, ProbeContract
from websearch_core.testing.fakes import FakeLibrary, FakeProbe, Gate
from websearch_core.values import Health, Page, Passage

Make = Callable[[Http], Probe]


class TestFake(ProbeContract):
    @pytest.fixture
    def probe(self) -> Probe:
        return FakeProbe()

    @pytest.fixture(params=[Unreachable("no reply"), RuntimeError("a fault"), Health(part="p", state="failing", detail="down")])
    def failing_probe(self, request: pytest.FixtureRequest) -> Probe:
        return FakeProbe(request.param)

    @pytest.fixture
    def hanging_probe(self) -> Hanging[Probe]:
        gate = Gate(Health(part="fake_part", state="ok"))
        return Hanging(part=FakeProbe(gate), entered=gate.until_entered, left=gate.until_cancelled)


class TestEcho(OfflineProbeContract):
    @pytest.fixture
    def probe(self) -> Probe:
        return Echo(EchoSettings())


class TestLibrary(ProbeContract):
    @pytest.fixture
    def probe(self) -> Probe:
        return LibraryFinder(FakeLibrary([Page(url="https://example.org/", text="text", provider="local")]))

    @pytest.fixture
    def failing_probe(self) -> Probe:
        return LibraryFinder(FakeLibrary(failure=Unreachable("the file is busy")))

    @pytest.fixture
    def hanging_probe(self) -> Hanging[Probe]:
        library = _HeldLibrary()
        return Hanging(part=LibraryFinder(library), entered=library.gate.until_entered, left=library.gate.until_cancelled)


class _OverHttp(ProbeContract):
    """A provider with a simulated service."""

    @pytest.fixture
    def make(self) -> Make:
        raise NotImplementedError("build the provider on a client")

    @pytest.fixture
    def upstream(self) -> Simulator:
        raise NotImplementedError("the simulated service")

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def probe(self, over: Over, make: Make, upstream: Simulator) -> Probe:
        return make(over(upstream))

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_probe(self, over: Over, make: Make, upstream: Simulator, request: pytest.FixtureRequest) -> Probe:
        return make(over(upstream.follow(request.param)))

    @pytest.fixture
    def hanging_probe(self, over: Over, make: Make, upstream: Simulator) -> Hanging[Probe]:
        return hanging(make(over(upstream.follow(hang()))), upstream)


class TestXai(_OverHttp):
    @pytest.fixture
    def make(self) -> Make:
        return lambda http: XaiResponses(http, XaiSettings(base_url="http://xai.test/v1", retry=ONCE), lambda: "grok-4.3")

    @pytest.fixture
    def upstream(self) -> Simulator:
        return XaiUpstream(keys=[KEY])


class TestChatCompletions(_OverHttp):
    @pytest.fixture
    def make(self) -> Make:
        return lambda http: ChatCompletions(http, ChatSettings(base_url="http://relay.test/v1", retry=ONCE), lambda: "grok-4.3")

    @pytest.fixture
    def upstream(self) -> Simulator:
        return ChatUpstream(keys=[KEY])


class TestTavily(_OverHttp):
    @pytest.fixture
    def make(self) -> Make:
        return lambda http: Tavily(http, TavilySettings(base_url="http://tavily.test", retry=ONCE))

    @pytest.fixture
    def upstream(self) -> Simulator:
        return TavilyUpstream(keys=[KEY])


class TestFirecrawl(_OverHttp):
    @pytest.fixture
    def make(self) -> Make:
        return lambda http: Firecrawl(http, FirecrawlSettings(base_url="http://firecrawl.test", retry=ONCE))

    @pytest.fixture
    def upstream(self) -> Simulator:
        return FirecrawlUpstream(keys=[KEY])


class _HeldLibrary(FakeLibrary):
    """A library whose calls never end by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.gate: Gate[None] = Gate(None)

    async def search(self, text: str, /, **options: Any) -> tuple[Passage, ...]:
        await self.gate.passed()
        return ()

    async def count(self) -> int:
        await self.gate.passed()
        return 0
