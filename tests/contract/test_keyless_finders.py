"""The finders that need no key keep the promises of `SourceFinder` and `Probe`."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from contract.parts import FAULTS, ONCE, Over, hanging, named
from shared_worker import WORKER
from upstreams.keyless import PATHS, ResultPagesUpstream
from upstreams.script import hang
from upstreams.searxng import SearXngUpstream
from upstreams.serve import transport
from websearch_adapters.http.pages import PageClient
from websearch_adapters.providers.keyless import ENGINES, Engine, Keyless, KeylessSettings
from websearch_adapters.providers.searxng import SearXng, SearXngSettings
from websearch_core.ports import Probe, SourceFinder
from websearch_core.testing.contracts import Hanging, ProbeContract, SourceFinderContract

Make = Callable[[ResultPagesUpstream], Keyless]
NOTHING = dict.fromkeys(PATHS, "nothing")
CHECKS = dict.fromkeys(PATHS, "check")


def engines(*names: str) -> tuple[Engine, ...]:
    return tuple(dataclasses.replace(ENGINES[name], url=f"http://engines.test{PATHS[name]}") for name in names or PATHS)


@pytest.fixture
async def keyless() -> AsyncIterator[Make]:
    async with AsyncExitStack() as stack:

        def make(upstream: ResultPagesUpstream) -> Keyless:
            pages = PageClient(transport=transport(upstream))
            stack.push_async_callback(pages.aclose)
            return Keyless(pages, WORKER, KeylessSettings(engines=engines()))

        yield make


class TestSearXng(SourceFinderContract):
    @pytest.fixture
    def lists(self) -> int:
        return 2

    @pytest.fixture
    def finder(self, over: Over) -> SourceFinder:
        return _searxng(over, SearXngUpstream(engines=("mojeek", "bing")))

    @pytest.fixture
    def empty_finder(self, over: Over) -> SourceFinder:
        return _searxng(over, SearXngUpstream(sources=()))

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_finder(self, over: Over, request: pytest.FixtureRequest) -> SourceFinder:
        return _searxng(over, SearXngUpstream(script=request.param))

    @pytest.fixture
    def hanging_finder(self, over: Over) -> Hanging[SourceFinder]:
        upstream = SearXngUpstream(script=hang())
        return hanging(_searxng(over, upstream), upstream)


class TestSearXngProbe(ProbeContract):
    @pytest.fixture
    def probe(self, over: Over) -> Probe:
        return _searxng(over, SearXngUpstream())

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_probe(self, over: Over, request: pytest.FixtureRequest) -> Probe:
        return _searxng(over, SearXngUpstream(script=request.param))

    @pytest.fixture
    def hanging_probe(self, over: Over) -> Hanging[Probe]:
        upstream = SearXngUpstream(script=hang())
        return hanging(_searxng(over, upstream), upstream)


class TestKeyless(SourceFinderContract):
    @pytest.fixture
    def lists(self) -> int:
        return len(PATHS)

    @pytest.fixture
    def finder(self, keyless: Make) -> SourceFinder:
        return keyless(ResultPagesUpstream())

    @pytest.fixture(params=[200, 202])
    def empty_finder(self, keyless: Make, request: pytest.FixtureRequest) -> SourceFinder:
        return keyless(ResultPagesUpstream(shown=NOTHING, code=request.param))

    @pytest.fixture(params=[*FAULTS, 200, 202], ids=lambda one: one.name if hasattr(one, "name") else f"check at {one}")
    def failing_finder(self, keyless: Make, request: pytest.FixtureRequest) -> SourceFinder:
        if isinstance(request.param, int):
            return keyless(ResultPagesUpstream(shown=CHECKS, code=request.param))
        return keyless(ResultPagesUpstream(script=request.param))

    @pytest.fixture
    def hanging_finder(self, keyless: Make) -> Hanging[SourceFinder]:
        return _hanging(keyless)


class TestKeylessProbe(ProbeContract):
    @pytest.fixture
    def probe(self, keyless: Make) -> Probe:
        return keyless(ResultPagesUpstream())

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_probe(self, keyless: Make, request: pytest.FixtureRequest) -> Probe:
        return keyless(ResultPagesUpstream(script=request.param))

    @pytest.fixture
    def hanging_probe(self, keyless: Make) -> Hanging[Probe]:
        return _hanging(keyless)


def _hanging(keyless: Make) -> Hanging[Keyless]:
    """All engines are asked at once, and all are left."""
    upstream = ResultPagesUpstream(script=hang())
    return Hanging(
        part=keyless(upstream),
        entered=lambda: upstream.until(lambda it: it.in_flight == 3),
        left=lambda: upstream.until(lambda it: it.disconnects == 3 and it.in_flight == 0),
    )


def _searxng(over: Over, upstream: SearXngUpstream) -> SearXng:
    return SearXng(over(upstream), SearXngSettings(base_url="http://searx.test", retry=ONCE))
