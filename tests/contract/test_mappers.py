"""Every mapper keeps the promises of `Mapper`, chains of them included."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack

import pytest

from contract.parts import FAULTS, KEY, ONCE, Over, hanging, named
from shared_worker import WORKER
from upstreams.firecrawl import FirecrawlUpstream
from upstreams.pages import PagesSite, build_site, documentation
from upstreams.script import Step, hang, hang_up, reset, status
from upstreams.serve import transport
from upstreams.tavily import TavilyUpstream
from websearch_adapters.crawl.local import LocalMapper
from websearch_adapters.extract.robots import Robots
from websearch_adapters.http.pages import PageClient
from websearch_adapters.providers.echo import Echo, EchoSettings
from websearch_adapters.providers.firecrawl import Firecrawl, FirecrawlSettings
from websearch_adapters.providers.tavily import Tavily, TavilySettings
from websearch_core.chain import MapperChain
from websearch_core.errors import AllFailed, BadReply, NotAllowed, NotConfigured, Unreachable
from websearch_core.ports import Mapper
from websearch_core.testing.contracts import Hanging, MapperContract, OfflineMapperContract
from websearch_core.testing.fakes import FakeMapper, Gate
from websearch_core.values import MapRequest, SiteMap

Crawler = Callable[[PagesSite], Mapper]
NO_PAGES = SiteMap(root="https://docs.example.org/", provider="fake_mapper")


class TestFake(MapperContract):
    @pytest.fixture
    def mapper(self) -> Mapper:
        return FakeMapper()

    @pytest.fixture
    def empty_mapper(self) -> Mapper:
        return FakeMapper(NO_PAGES)

    @pytest.fixture(params=[Unreachable, NotAllowed])
    def failing_mapper(self, request: pytest.FixtureRequest) -> Mapper:
        return FakeMapper(request.param("no map"))

    @pytest.fixture
    def hanging_mapper(self) -> Hanging[Mapper]:
        gate = Gate(NO_PAGES)
        return Hanging(part=FakeMapper(gate), entered=gate.until_entered, left=gate.until_cancelled)


class TestEcho(OfflineMapperContract):
    @pytest.fixture
    def mapper(self) -> Mapper:
        return Echo(EchoSettings())

    @pytest.fixture
    def empty_mapper(self) -> Mapper:
        return Echo(EchoSettings(pages=0))


class TestTavily(MapperContract):
    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def mapper(self, over: Over) -> Mapper:
        return _tavily(over, TavilyUpstream(keys=[KEY]))

    @pytest.fixture
    def empty_mapper(self, over: Over) -> Mapper:
        return _tavily(over, TavilyUpstream(site=()))

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_mapper(self, over: Over, request: pytest.FixtureRequest) -> Mapper:
        return _tavily(over, TavilyUpstream(script=request.param))

    @pytest.fixture
    def hanging_mapper(self, over: Over) -> Hanging[Mapper]:
        upstream = TavilyUpstream(script=hang())
        return hanging(_tavily(over, upstream), upstream)


class TestFirecrawl(MapperContract):
    @pytest.fixture
    def version(self) -> str:
        return "v2"

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def mapper(self, over: Over, version: str) -> Mapper:
        return _firecrawl(over, FirecrawlUpstream(keys=[KEY]), version)

    @pytest.fixture
    def empty_mapper(self, over: Over, version: str) -> Mapper:
        return _firecrawl(over, FirecrawlUpstream(site=()), version)

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_mapper(self, over: Over, version: str, request: pytest.FixtureRequest) -> Mapper:
        return _firecrawl(over, FirecrawlUpstream(script=request.param), version)

    @pytest.fixture
    def hanging_mapper(self, over: Over, version: str) -> Hanging[Mapper]:
        upstream = FirecrawlUpstream(script=hang())
        return hanging(_firecrawl(over, upstream, version), upstream)


class TestFirecrawlOfVersion1(TestFirecrawl):
    @pytest.fixture
    def version(self) -> str:
        return "v1"


class TestLocalMapper(MapperContract):
    @pytest.fixture
    async def mapping(self) -> AsyncIterator[Crawler]:
        async with AsyncExitStack() as stack:

            def over_site(site: PagesSite) -> Mapper:
                pages = PageClient(transport=transport(site))
                stack.push_async_callback(pages.aclose)
                return LocalMapper(pages, Robots(pages), WORKER)

            yield over_site

    @pytest.fixture(params=[1, 3])
    def map_request(self, request: pytest.FixtureRequest) -> MapRequest:
        return MapRequest(url="https://docs.example.org/", max_depth=request.param)

    @pytest.fixture(params=["whole site", "links only"])
    def mapper(self, mapping: Crawler, request: pytest.FixtureRequest) -> Mapper:
        return mapping(build_site() if request.param == "whole site" else PagesSite(documentation()))

    @pytest.fixture
    def empty_mapper(self, mapping: Crawler) -> Mapper:
        return mapping(PagesSite({"/": "<html><title>Alone</title><body><p>A page without links.</p></body></html>"}))

    @pytest.fixture(params=[*(status(code) for code in (401, 403, 404, 410, 429, 500, 503)), reset(), hang_up()], ids=named)
    def failing_mapper(self, mapping: Crawler, request: pytest.FixtureRequest) -> Mapper:
        step: Step = request.param
        return mapping(PagesSite({"/": step, "/robots.txt": status(404), "/sitemap.xml": status(404)}))

    @pytest.fixture(params=["/", "/robots.txt", "/sitemap.xml"])
    def hanging_mapper(self, mapping: Crawler, request: pytest.FixtureRequest) -> Hanging[Mapper]:
        site = PagesSite({**documentation(), request.param: hang()})
        return Hanging(
            part=mapping(site),
            entered=lambda: site.until(lambda it: it.in_flight == 1 and it.last.path == request.param),
            left=lambda: site.until(lambda it: it.disconnects == 1 and it.in_flight == 0),
        )


class TestChain(MapperContract):
    """One that fails, one that lists nothing, then a good one."""

    failures = (*MapperContract.failures, AllFailed)

    @pytest.fixture
    def names(self) -> Iterable[str]:
        return {"fake_mapper"}

    @pytest.fixture
    def mapper(self) -> Mapper:
        return MapperChain([FakeMapper(Unreachable("gone")), FakeMapper(NO_PAGES), FakeMapper()])

    @pytest.fixture
    def empty_mapper(self) -> Mapper:
        return MapperChain([FakeMapper(NO_PAGES)])

    @pytest.fixture(params=[[], [Unreachable], [Unreachable, BadReply], [NotAllowed], [Unreachable, NotAllowed]])
    def failing_mapper(self, request: pytest.FixtureRequest) -> Mapper:
        return MapperChain([FakeMapper(kind("no map")) for kind in request.param])

    @pytest.fixture
    def hanging_mapper(self) -> Hanging[Mapper]:
        gate = Gate(NO_PAGES)
        chain = MapperChain([FakeMapper(Unreachable("gone")), FakeMapper(gate), FakeMapper()])
        return Hanging(part=chain, entered=gate.until_entered, left=gate.until_cancelled)

    async def test_without_a_mapper_it_is_not_configured(self, map_request: MapRequest) -> None:
        with pytest.raises(NotConfigured):
            await MapperChain([]).map(map_request)


def _tavily(over: Over, upstream: TavilyUpstream) -> Tavily:
    return Tavily(over(upstream), TavilySettings(base_url="http://tavily.test", retry=ONCE))


def _firecrawl(over: Over, upstream: FirecrawlUpstream, version: str) -> Firecrawl:
    return Firecrawl(over(upstream), FirecrawlSettings(base_url=f"http://firecrawl.test/{version}", retry=ONCE))
