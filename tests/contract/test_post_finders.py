"""Every finder of posts keeps the promises of `PostFinder`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contract.parts import FAULTS, KEY, ONCE, Over, hanging, named
from upstreams.script import hang
from upstreams.simulator import Simulator
from upstreams.xai import XaiUpstream
from websearch_adapters.http.client import Http
from websearch_adapters.providers.xai import XaiResponses, XaiSettings
from websearch_core.errors import BadReply, RateLimited, Unreachable
from websearch_core.ports import PostFinder
from websearch_core.testing.contracts import Hanging, PostFinderContract
from websearch_core.testing.fakes import FakePostFinder, Gate
from websearch_core.values import Answer


class TestFake(PostFinderContract):
    @pytest.fixture
    def post_finder(self) -> PostFinder:
        return FakePostFinder()

    @pytest.fixture
    def idle_post_finder(self) -> PostFinder:
        return FakePostFinder(Answer(text="From memory.", engine="fake_posts", searched=False))

    @pytest.fixture
    def empty_post_finder(self) -> PostFinder:
        return FakePostFinder(Answer(text="Nothing.", engine="fake_posts", searched=True))

    @pytest.fixture(params=[Unreachable, RateLimited, BadReply])
    def failing_post_finder(self, request: pytest.FixtureRequest) -> PostFinder:
        return FakePostFinder(request.param("no answer"))

    @pytest.fixture
    def hanging_post_finder(self) -> Hanging[PostFinder]:
        gate = Gate(Answer(text="too late", engine="fake_posts"))
        return Hanging(part=FakePostFinder(gate), entered=gate.until_entered, left=gate.until_cancelled)


def made(http: Http) -> PostFinder:
    return XaiResponses(http, XaiSettings(base_url="http://xai.test/v1", retry=ONCE, provider="xai"), lambda: "grok-4.3")


class TestXai(PostFinderContract):
    @pytest.fixture(params=["2026", "relay"])
    def upstream(self, request: pytest.FixtureRequest) -> XaiUpstream:
        return XaiUpstream(keys=[KEY], shape=request.param)

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def post_finder(self, over: Over, upstream: Simulator) -> PostFinder:
        return made(over(upstream))

    @pytest.fixture
    def idle_post_finder(self, over: Over, upstream: XaiUpstream) -> PostFinder:
        upstream.searched = False
        return made(over(upstream))

    @pytest.fixture
    def empty_post_finder(self, over: Over, upstream: XaiUpstream) -> PostFinder:
        upstream.posts = ()
        return made(over(upstream))

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_post_finder(self, request: pytest.FixtureRequest, over: Over, upstream: Simulator) -> PostFinder:
        return made(over(upstream.follow(request.param)))

    @pytest.fixture
    def hanging_post_finder(self, over: Over, upstream: Simulator) -> Hanging[PostFinder]:
        return hanging(made(over(upstream.follow(hang()))), upstream)
