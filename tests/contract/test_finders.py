"""Every source finder keeps the promises of `SourceFinder`, chains of them included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from contract.parts import FAULTS, KEY, ONCE, Over, hanging, named
from upstreams.firecrawl import FirecrawlUpstream
from upstreams.script import Step, hang
from upstreams.tavily import TavilyUpstream
from websearch_adapters.providers.echo import Echo, EchoSettings
from websearch_adapters.providers.firecrawl import Firecrawl, FirecrawlSettings
from websearch_adapters.providers.library import LibraryFinder
from websearch_adapters.providers.tavily import Tavily, TavilySettings
from websearch_core.chain import FinderChain
from websearch_core.errors import AllFailed, NotConfigured, Unreachable
from websearch_core.ports import SourceFinder
from websearch_core.testing.contracts import Hanging, OfflineSourceFinderContract, SourceFinderContract
from websearch_core.testing.fakes import FakeFinder, FakeLibrary, Gate
from websearch_core.values import Page, Passage, SourceList

NOTHING = SourceList(provider="fake_finder")


class TestFake(SourceFinderContract):
    @pytest.fixture
    def finder(self) -> SourceFinder:
        return FakeFinder()

    @pytest.fixture
    def empty_finder(self) -> SourceFinder:
        return FakeFinder(NOTHING)

    @pytest.fixture(params=[Unreachable, NotConfigured])
    def failing_finder(self, request: pytest.FixtureRequest) -> SourceFinder:
        return FakeFinder(request.param("no list"))

    @pytest.fixture
    def hanging_finder(self) -> Hanging[SourceFinder]:
        gate = Gate(NOTHING)
        return Hanging(part=FakeFinder(gate), entered=gate.until_entered, left=gate.until_cancelled)


class TestEcho(OfflineSourceFinderContract):
    @pytest.fixture
    def finder(self) -> SourceFinder:
        return Echo(EchoSettings())

    @pytest.fixture
    def empty_finder(self) -> SourceFinder:
        return Echo(EchoSettings(sources=0))


class TestTavily(SourceFinderContract):
    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def finder(self, over: Over) -> SourceFinder:
        return _tavily(over, TavilyUpstream(keys=[KEY]))

    @pytest.fixture
    def empty_finder(self, over: Over) -> SourceFinder:
        return _tavily(over, TavilyUpstream(sources=()))

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_finder(self, over: Over, request: pytest.FixtureRequest) -> SourceFinder:
        return _tavily(over, TavilyUpstream(script=request.param))

    @pytest.fixture
    def hanging_finder(self, over: Over) -> Hanging[SourceFinder]:
        upstream = TavilyUpstream(script=hang())
        return hanging(_tavily(over, upstream), upstream)


class TestFirecrawl(SourceFinderContract):
    @pytest.fixture
    def version(self) -> str:
        return "v2"

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def finder(self, over: Over, version: str) -> SourceFinder:
        return _firecrawl(over, FirecrawlUpstream(keys=[KEY]), version)

    @pytest.fixture(params=["group", "object"])
    def empty_finder(self, over: Over, version: str, request: pytest.FixtureRequest) -> SourceFinder:
        return _firecrawl(over, FirecrawlUpstream(sources=(), nothing=request.param), version)

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_finder(self, over: Over, version: str, request: pytest.FixtureRequest) -> SourceFinder:
        step: Step = request.param
        return _firecrawl(over, FirecrawlUpstream(script=step), version)

    @pytest.fixture
    def hanging_finder(self, over: Over, version: str) -> Hanging[SourceFinder]:
        upstream = FirecrawlUpstream(script=hang())
        return hanging(_firecrawl(over, upstream, version), upstream)


class TestFirecrawlOfVersion1(TestFirecrawl):
    @pytest.fixture
    def version(self) -> str:
        return "v1"


class TestLibrary(SourceFinderContract):
    """Over a fake library; the one on disk has a suite of its own."""

    @pytest.fixture
    def finder(self) -> SourceFinder:
        pages = [
            Page(url=f"https://site{number}.example/bridge", title="Bridges", text="Which bridges reopened?", provider="local")
            for number in range(25)
        ]
        return LibraryFinder(FakeLibrary(pages))

    @pytest.fixture
    def empty_finder(self) -> SourceFinder:
        other = Page(url="https://tides.example/", title="Tides", text="High water at noon.", provider="local")
        return LibraryFinder(FakeLibrary([other]))

    @pytest.fixture
    def failing_finder(self) -> SourceFinder:
        return LibraryFinder(FakeLibrary(failure=Unreachable("the file is busy")))

    @pytest.fixture
    def hanging_finder(self) -> Hanging[SourceFinder]:
        library = _HeldLibrary()
        return Hanging(part=LibraryFinder(library), entered=library.gate.until_entered, left=library.gate.until_cancelled)


class TestChain(SourceFinderContract):
    """One that finds nothing, then a good one; a chain in which one failed and none found anything has failed."""

    failures = (*SourceFinderContract.failures, AllFailed)

    @pytest.fixture
    def names(self) -> Iterable[str]:
        return {"fake_finder"}

    @pytest.fixture
    def finder(self) -> SourceFinder:
        return FinderChain([FakeFinder(NOTHING), FakeFinder()])

    @pytest.fixture
    def empty_finder(self) -> SourceFinder:
        return FinderChain([FakeFinder(NOTHING), FakeFinder(NOTHING)])

    @pytest.fixture(params=[0, 1, 2])
    def failing_finder(self, request: pytest.FixtureRequest) -> SourceFinder:
        return FinderChain(
            [*(FakeFinder(Unreachable("gone")) for _ in range(request.param)), *[FakeFinder(NOTHING)][: request.param]]
        )

    @pytest.fixture
    def hanging_finder(self) -> Hanging[SourceFinder]:
        gate = Gate(NOTHING)
        chain = FinderChain([FakeFinder(Unreachable("gone")), FakeFinder(gate), FakeFinder()])
        return Hanging(part=chain, entered=gate.until_entered, left=gate.until_cancelled)


class TestChainOfSeveralAtOnce(SourceFinderContract):
    """All of them asked together; each promise of a finder holds for what they found together."""

    failures = (*SourceFinderContract.failures, AllFailed)

    @pytest.fixture
    def names(self) -> Iterable[str]:
        return {"one", "two", "one+two"}

    @pytest.fixture
    def lists(self) -> int:
        return 2

    @pytest.fixture
    def finder(self) -> SourceFinder:
        return FinderChain([FakeFinder(NOTHING), FakeFinder(name="one"), FakeFinder(name="two")], at_once=3)

    @pytest.fixture
    def empty_finder(self) -> SourceFinder:
        return FinderChain([FakeFinder(NOTHING), FakeFinder(NOTHING)], at_once=2)

    @pytest.fixture(params=[1, 2])
    def failing_finder(self, request: pytest.FixtureRequest) -> SourceFinder:
        gone = [FakeFinder(Unreachable("gone")) for _ in range(request.param)]
        return FinderChain([*gone, FakeFinder(NOTHING)], at_once=3)

    @pytest.fixture
    def hanging_finder(self) -> Hanging[SourceFinder]:
        gate = Gate(NOTHING)
        chain = FinderChain([FakeFinder(Unreachable("gone")), FakeFinder(gate)], at_once=2)
        return Hanging(part=chain, entered=gate.until_entered, left=gate.until_cancelled)


class _HeldLibrary(FakeLibrary):
    """A library whose search never ends by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.gate: Gate[tuple[Passage, ...]] = Gate(())

    async def search(self, text: str, /, **options: Any) -> tuple[Passage, ...]:
        return await self.gate.passed()


def _tavily(over: Over, upstream: TavilyUpstream) -> Tavily:
    return Tavily(over(upstream), TavilySettings(base_url="http://tavily.test", retry=ONCE))


def _firecrawl(over: Over, upstream: FirecrawlUpstream, version: str) -> Firecrawl:
    return Firecrawl(over(upstream), FirecrawlSettings(base_url=f"http://firecrawl.test/{version}", retry=ONCE))
