"""Every answer engine keeps the promises of `AnswerEngine`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from contract.parts import FAULTS, KEY, ONCE, Over, hanging, named
from upstreams.chat_completions import ChatUpstream
from upstreams.script import hang
from upstreams.simulator import Simulator
from upstreams.xai import XaiUpstream
from websearch_adapters.http.client import Http
from websearch_adapters.providers.chat_completions import ChatCompletions, ChatSettings
from websearch_adapters.providers.echo import Echo, EchoSettings
from websearch_adapters.providers.xai import XaiResponses, XaiSettings
from websearch_core.errors import BadReply, RateLimited, Unreachable
from websearch_core.ports import AnswerEngine
from websearch_core.testing.contracts import AnswerEngineContract, Hanging, OfflineAnswerEngineContract
from websearch_core.testing.fakes import FakeEngine, Gate
from websearch_core.values import Answer


class TestFake(AnswerEngineContract):
    @pytest.fixture
    def engine(self) -> AnswerEngine:
        return FakeEngine()

    @pytest.fixture(params=[Unreachable, RateLimited, BadReply])
    def failing_engine(self, request: pytest.FixtureRequest) -> AnswerEngine:
        return FakeEngine(request.param("no answer"))

    @pytest.fixture
    def hanging_engine(self) -> Hanging[AnswerEngine]:
        gate = Gate(Answer(text="too late", engine="fake_engine"))
        return Hanging(part=FakeEngine(gate), entered=gate.until_entered, left=gate.until_cancelled)


class TestEcho(OfflineAnswerEngineContract):
    @pytest.fixture
    def engine(self) -> AnswerEngine:
        return Echo(EchoSettings())


class _OverHttp(AnswerEngineContract):
    """An engine with a simulated service."""

    @pytest.fixture
    def make(self) -> Callable[[Http], AnswerEngine]:
        raise NotImplementedError("build the engine on a client")

    @pytest.fixture
    def upstream(self) -> Simulator:
        raise NotImplementedError("the simulated service")

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def engine(self, over: Over, make: Callable[[Http], AnswerEngine], upstream: Simulator) -> AnswerEngine:
        return make(over(upstream))

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_engine(
        self, request: pytest.FixtureRequest, over: Over, make: Callable[[Http], AnswerEngine], upstream: Simulator
    ) -> AnswerEngine:
        return make(over(upstream.follow(request.param)))

    @pytest.fixture
    def hanging_engine(self, over: Over, make: Callable[[Http], AnswerEngine], upstream: Simulator) -> Hanging[AnswerEngine]:
        return hanging(make(over(upstream.follow(hang()))), upstream)


class TestXai(_OverHttp):
    @pytest.fixture
    def make(self) -> Callable[[Http], AnswerEngine]:
        return lambda http: XaiResponses(http, XaiSettings(base_url="http://xai.test/v1", retry=ONCE), lambda: "grok-4.3")

    @pytest.fixture(params=["2026", "2025", "relay"])
    def upstream(self, request: pytest.FixtureRequest) -> Simulator:
        return XaiUpstream(keys=[KEY], shape=request.param)


class TestChatCompletions(_OverHttp):
    @pytest.fixture
    def make(self) -> Callable[[Http], AnswerEngine]:
        return lambda http: ChatCompletions(http, ChatSettings(base_url="http://relay.test/v1", retry=ONCE), lambda: "grok-4.3")

    @pytest.fixture(params=["annotations", "flat-annotations", "message-citations", "top-level-citations", "inline", "none"])
    def upstream(self, request: pytest.FixtureRequest) -> Simulator:
        return ChatUpstream(keys=[KEY], citations=request.param)
