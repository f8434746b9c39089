"""Every extractor keeps the promises of `Extractor`, chains of them included."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack

import pytest

from contract.parts import FAULTS, KEY, ONCE, Over, hanging, named
from upstreams.firecrawl import FirecrawlUpstream
from upstreams.pages import Page as Served
from upstreams.pages import PagesSite, article
from upstreams.script import Step, hang, hang_up, ok, reset, status
from upstreams.serve import transport
from upstreams.tavily import TavilyUpstream
from websearch_adapters.extract.local import LocalReader
from websearch_adapters.extract.worker import Worker
from websearch_adapters.http.pages import PageClient
from websearch_adapters.providers.echo import Echo, EchoSettings
from websearch_adapters.providers.firecrawl import Firecrawl, FirecrawlSettings
from websearch_adapters.providers.tavily import Tavily, TavilySettings
from websearch_core.chain import ExtractorChain
from websearch_core.errors import AllFailed, BadReply, EmptyResult, NotAllowed, Unreachable
from websearch_core.ports import Extractor
from websearch_core.testing.contracts import (
    ExtractorContract,
    Hanging,
    OfflineExtractorContract,
    SelectiveExtractorContract,
)
from websearch_core.testing.fakes import FakeExtractor, Gate
from websearch_core.values import Page

PAGE_URL = "https://docs.example.org/page"
PAGE = Page(url=PAGE_URL, text="A page about the bridge.", provider="fake_extractor")
Reader = Callable[[PagesSite], Extractor]


class TestFake(SelectiveExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        return FakeExtractor({PAGE_URL: PAGE})

    @pytest.fixture
    def blank_extractor(self) -> Extractor:
        return FakeExtractor({PAGE_URL: BadReply("nothing readable")})

    @pytest.fixture(params=[Unreachable, NotAllowed])
    def failing_extractor(self, request: pytest.FixtureRequest) -> Extractor:
        return FakeExtractor(request.param("no page"))

    @pytest.fixture
    def hanging_extractor(self) -> Hanging[Extractor]:
        gate = Gate(PAGE)
        return Hanging(part=FakeExtractor(gate), entered=gate.until_entered, left=gate.until_cancelled)


class TestEcho(OfflineExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        return Echo(EchoSettings())


class TestTavily(ExtractorContract):
    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def extractor(self, over: Over) -> Extractor:
        return _tavily(over, TavilyUpstream(keys=[KEY]))

    @pytest.fixture
    def blank_extractor(self, over: Over) -> Extractor:
        return _tavily(over, TavilyUpstream(script=ok({"results": [{"url": PAGE_URL, "raw_content": " \n"}]})))

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_extractor(self, over: Over, request: pytest.FixtureRequest) -> Extractor:
        return _tavily(over, TavilyUpstream(script=request.param))

    @pytest.fixture
    def hanging_extractor(self, over: Over) -> Hanging[Extractor]:
        upstream = TavilyUpstream(script=hang())
        return hanging(_tavily(over, upstream), upstream)


class TestFirecrawl(ExtractorContract):
    @pytest.fixture
    def version(self) -> str:
        return "v2"

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def extractor(self, over: Over, version: str) -> Extractor:
        return _firecrawl(over, FirecrawlUpstream(keys=[KEY]), version)

    @pytest.fixture
    def blank_extractor(self, over: Over, version: str) -> Extractor:
        return _firecrawl(over, FirecrawlUpstream(pages={PAGE_URL: " \n"}), version)

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_extractor(self, over: Over, version: str, request: pytest.FixtureRequest) -> Extractor:
        return _firecrawl(over, FirecrawlUpstream(script=request.param), version)

    @pytest.fixture
    def hanging_extractor(self, over: Over, version: str) -> Hanging[Extractor]:
        upstream = FirecrawlUpstream(script=hang())
        return hanging(_firecrawl(over, upstream, version), upstream)


class TestFirecrawlOfVersion1(TestFirecrawl):
    @pytest.fixture
    def version(self) -> str:
        return "v1"


class TestLocalReader(ExtractorContract):
    @pytest.fixture
    async def reader(self, worker: Worker) -> AsyncIterator[Reader]:
        async with AsyncExitStack() as stack:

            def over_site(site: PagesSite) -> Extractor:
                pages = PageClient(transport=transport(site))
                stack.push_async_callback(pages.aclose)
                return LocalReader(pages, worker)

            yield over_site

    @pytest.fixture(
        params=[
            article("The bridge", "<h1>The bridge</h1><p>It reopened in spring, after two years of repairs.</p>", path="/page"),
            Served("# The bridge\n\nIt reopened.\n", "text/markdown; charset=utf-8"),
            Served("The bridge reopened.\n", "text/plain"),
            Served('{"bridge": "open"}', "application/json"),
        ],
        ids=["html", "markdown", "text", "json"],
    )
    def extractor(self, reader: Reader, request: pytest.FixtureRequest) -> Extractor:
        return reader(PagesSite({"/page": request.param}))

    @pytest.fixture(
        params=[Served(""), Served("<html><body> \n</body></html>"), Served(" \n", "text/plain")],
        ids=["nothing", "html", "text"],
    )
    def blank_extractor(self, reader: Reader, request: pytest.FixtureRequest) -> Extractor:
        return reader(PagesSite({"/page": request.param}))

    @pytest.fixture(params=[*(status(code) for code in (401, 403, 404, 410, 429, 500, 503)), reset(), hang_up()], ids=named)
    def failing_extractor(self, reader: Reader, request: pytest.FixtureRequest) -> Extractor:
        step: Step = request.param
        return reader(PagesSite({"/page": step}))

    @pytest.fixture
    def hanging_extractor(self, reader: Reader) -> Hanging[Extractor]:
        site = PagesSite({"/page": hang()})
        return hanging(reader(site), site)


class TestChain(SelectiveExtractorContract):
    """One that declines, one that fails, then a good one."""

    failures = (*SelectiveExtractorContract.failures, AllFailed)

    @pytest.fixture
    def names(self) -> Iterable[str]:
        return {"fake_extractor"}

    @pytest.fixture
    def extractor(self) -> Extractor:
        failing = FakeExtractor({PAGE_URL: Unreachable("gone")})
        return ExtractorChain([FakeExtractor({}), failing, FakeExtractor({PAGE_URL: PAGE})])

    @pytest.fixture
    def blank_extractor(self) -> Extractor:
        return ExtractorChain([FakeExtractor({PAGE_URL: EmptyResult("no text")}), FakeExtractor({PAGE_URL: " \n"})])

    @pytest.fixture(params=[[Unreachable], [Unreachable, BadReply], [NotAllowed], [Unreachable, NotAllowed]])
    def failing_extractor(self, request: pytest.FixtureRequest) -> Extractor:
        return ExtractorChain([FakeExtractor({}), *(FakeExtractor(kind("no page")) for kind in request.param)])

    @pytest.fixture
    def hanging_extractor(self) -> Hanging[Extractor]:
        gate = Gate(PAGE)
        chain = ExtractorChain([FakeExtractor({}), FakeExtractor(gate), FakeExtractor(PAGE)])
        return Hanging(part=chain, entered=gate.until_entered, left=gate.until_cancelled)


def _tavily(over: Over, upstream: TavilyUpstream) -> Tavily:
    return Tavily(over(upstream), TavilySettings(base_url="http://tavily.test", retry=ONCE))


def _firecrawl(over: Over, upstream: FirecrawlUpstream, version: str) -> Firecrawl:
    return Firecrawl(over(upstream), FirecrawlSettings(base_url=f"http://firecrawl.test/{version}", retry=ONCE))
