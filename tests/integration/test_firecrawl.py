"""Firecrawl through the real HTTP client, against its simulator in process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from upstreams.firecrawl import FirecrawlUpstream, Scraped, rate_limited
from upstreams.script import Script, example, hang, html_page, not_json, ok, scenario, status
from upstreams.simulator import Simulator
from websearch_adapters.http.client import Http
from websearch_adapters.providers.firecrawl import PROVIDER, Firecrawl, FirecrawlSettings
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    EmptyResult,
    OutOfCredit,
    RateLimited,
    RequestRejected,
    Unreachable,
    WrongAddress,
)
from websearch_core.ports import Extractor, Mapper, Probe, SourceFinder
from websearch_core.retry import RetryPolicy
from websearch_core.testing.contracts import (
    ExtractorContract,
    Hanging,
    MapperContract,
    ProbeContract,
    SourceFinderContract,
)
from websearch_core.testing.fakes import FakeCredentials
from websearch_core.values import FetchRequest, MapRequest, SearchQuery

pytestmark = pytest.mark.anyio

AT_ONCE = RetryPolicy(max_attempts=3, multiplier_s=0.0)
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PAGE = FetchRequest(url="https://council.example.org/news/footbridge-reopens")
SITE = MapRequest(url="https://council.example.org", limit=4)
QUERY = SearchQuery(query="footbridge")


class Recording(httpx.ASGITransport):
    """Keeps the time limits that each request was sent with."""

    def __init__(self, app: Simulator) -> None:
        super().__init__(app)
        self.limits: list[Mapping[str, Any]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.limits.append(request.extensions["timeout"])
        return await super().handle_async_request(request)


@asynccontextmanager
async def firecrawl(
    upstream: Simulator,
    *,
    keys: Sequence[str] = ("fc-good",),
    transport: httpx.AsyncBaseTransport | None = None,
    **settings: Any,
) -> AsyncIterator[Firecrawl]:
    http = Http(FakeCredentials({"firecrawl": keys}), transport=transport or httpx.ASGITransport(upstream))
    chosen = FirecrawlSettings(**{"base_url": "http://firecrawl.test", "retry": AT_ONCE, **settings})
    try:
        yield Firecrawl(http, chosen, now=lambda: NOON)
    finally:
        await http.aclose()


async def test_a_search_is_one_request_with_exactly_this_body() -> None:
    upstream = FirecrawlUpstream(keys=["fc-good"])
    query = SearchQuery(query="步行桥", extra_sources=2, fresh_within="month", include_domains=("example.org", "example.com"))
    async with firecrawl(upstream) as provider:
        found = await provider.find(query)
    assert [source.provider for source in found.items] == ["firecrawl", "firecrawl"]
    (request,) = upstream.requests
    assert (request.method, request.path, request.key) == ("POST", "/v2/search", "fc-good")
    assert request.json == {
        "query": "步行桥",
        "limit": 2,
        "tbs": "qdr:m",
        "sources": [{"type": "web"}],
        "includeDomains": ["example.org", "example.com"],
    }


async def test_both_domain_lists_are_kept_although_the_service_takes_one() -> None:
    upstream = FirecrawlUpstream()
    query = SearchQuery(query="x", include_domains=("example.org", "example.com"), exclude_domains=("example.com",))
    async with firecrawl(upstream) as provider:
        found = await provider.find(query)
    assert [source.url for source in found.items] == ["https://example.org/x"]
    assert [note.code for note in found.notes] == ["filtered_afterwards"]
    assert "excludeDomains" not in upstream.last.json


async def test_unwanted_hosts_are_excluded_by_the_service() -> None:
    upstream = FirecrawlUpstream()
    async with firecrawl(upstream) as provider:
        found = await provider.find(SearchQuery(query="x", exclude_domains=("example.org",)))
    assert upstream.last.json["excludeDomains"] == ["example.org"]
    assert found.items
    assert not any("example.org" in source.url for source in found.items)


async def test_a_question_too_long_for_the_service_still_finds() -> None:
    async with firecrawl(FirecrawlUpstream()) as provider:
        found = await provider.find(SearchQuery(query="why did the footbridge close " * 40))
    assert [note.code for note in found.notes] == ["query_shortened"]
    assert len(found.items) == 5


@pytest.mark.parametrize("nothing", ["group", "object"])
async def test_nothing_found_is_an_empty_list(nothing: Any) -> None:
    async with firecrawl(FirecrawlUpstream(sources=[], nothing=nothing)) as provider:
        assert (await provider.find(QUERY)).items == ()


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        ("http://firecrawl.test/", "/v2/search"),
        ("http://firecrawl.test/v2/", "/v2/search"),
        ("http://firecrawl.test/v1", "/v1/search"),
    ],
)
async def test_every_spelling_of_the_address_reaches_the_search(base_url: str, path: str) -> None:
    upstream = FirecrawlUpstream()
    async with firecrawl(upstream, base_url=base_url) as provider:
        assert (await provider.find(QUERY)).items
    assert upstream.last.path == path


async def test_a_prefix_of_a_server_of_ones_own_is_kept() -> None:
    upstream = FirecrawlUpstream(script=example("firecrawl/v2.search.web-only.json"))
    async with firecrawl(upstream, base_url="http://firecrawl.test/tools/fire/v2") as provider:
        await provider.find(QUERY)
    assert upstream.last.path == "/tools/fire/v2/search"


async def test_the_old_version_serves_search_page_map_and_credit() -> None:
    upstream = FirecrawlUpstream()
    async with firecrawl(upstream, base_url="http://firecrawl.test/v1") as provider:
        assert len((await provider.find(QUERY)).items) == 5
        assert (await provider.extract(PAGE)).text.startswith("# Footbridge reopens")
        assert len((await provider.map(SITE)).links) == 4
        assert (await provider.probe()).detail == "996 of 1,000 credits left"
        assert provider.keeps == {"fresh_within"}
    assert [request.path for request in upstream.requests] == ["/v1/search", "/v1/scrape", "/v1/map", "/v1/team/credit-usage"]
    assert [request.json for request in upstream.requests[:3]] == [
        {"query": "footbridge", "limit": 5},
        {"url": PAGE.url, "formats": ["markdown"], "onlyMainContent": True, "timeout": 60_000},
        {"url": SITE.url, "limit": 4},
    ]


async def test_a_page_is_read_with_one_scrape() -> None:
    upstream = FirecrawlUpstream(pages={PAGE.url: "# Footbridge reopens\n\nOn Saturday."})
    async with firecrawl(upstream) as provider:
        page = await provider.extract(PAGE)
    assert (page.text, page.title, page.language) == ("# Footbridge reopens\n\nOn Saturday.", "Footbridge reopens", "en")
    assert (page.final_url, page.provider, page.fetched_at) == (PAGE.url, "firecrawl", "2026-11-30T12:00:00Z")
    assert upstream.last.path == "/v2/scrape"
    assert [request.json for request in upstream.requests] == [
        {"url": PAGE.url, "formats": ["markdown"], "onlyMainContent": True, "timeout": 60_000}
    ]


async def test_a_copy_from_the_services_cache_tells_its_age() -> None:
    async with firecrawl(FirecrawlUpstream()) as provider:
        await provider.extract(PAGE)
        assert (await provider.extract(PAGE)).fetched_at == "2026-11-29T08:00:00Z"


@pytest.mark.parametrize(("code", "kind"), [(403, Declined), (404, Declined), (410, Declined), (503, Unreachable)])
async def test_a_targets_error_page_is_never_content(code: int, kind: type[Exception]) -> None:
    upstream = FirecrawlUpstream(pages={PAGE.url: Scraped(markdown="# Oops", status=code)})
    async with firecrawl(upstream) as provider:
        with pytest.raises(kind, match=f"answers {code}"):
            await provider.extract(PAGE)
    assert len(upstream.requests) == 1


async def test_a_blank_page_is_an_empty_result() -> None:
    async with firecrawl(FirecrawlUpstream(pages={PAGE.url: " \n"})) as provider:
        with pytest.raises(EmptyResult, match="no content"):
            await provider.extract(PAGE)


async def test_a_failure_in_a_reply_with_status_200_is_an_error_told_once() -> None:
    upstream = FirecrawlUpstream()
    async with firecrawl(upstream) as provider:
        with pytest.raises(RequestRejected, match="does not resolve") as caught:
            await provider.extract(FetchRequest(url="https://nowhere.invalid/"))
    assert caught.value.upstream_code == "SCRAPE_DNS_RESOLUTION_ERROR"
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("scenario_id", "kind", "words"),
    [
        ("firecrawl.error.403.blocklist", Declined, "answers 403"),
        ("firecrawl.error.403.terms-required", Declined, "has not accepted the terms"),
        ("firecrawl.error.500.ssl", Unreachable, "no secure connection"),
        ("firecrawl.error.500.all-engines", Unreachable, "could not be loaded"),
        ("firecrawl.error.408.timeout", Unreachable, "took too long"),
        ("firecrawl.error.408.queue", Unreachable, "answers 408"),
    ],
)
async def test_what_is_wrong_with_a_page_is_told_in_our_words(scenario_id: str, kind: type[Exception], words: str) -> None:
    async with firecrawl(FirecrawlUpstream(script=scenario(scenario_id))) as provider:
        with pytest.raises(kind, match=words):
            await provider.extract(PAGE)


async def test_a_map_is_one_patient_request_with_exactly_this_body() -> None:
    upstream = FirecrawlUpstream()
    transport = Recording(upstream)
    async with firecrawl(upstream, transport=transport, read_timeout_s=7.0) as provider:
        site = await provider.map(MapRequest(url=SITE.url, instructions="docs", limit=3, offset=1, timeout=40))
        await provider.extract(PAGE)
    assert [(link.url, link.title) for link in site.links] == [
        ("https://council.example.org/docs", "Docs"),
        ("https://council.example.org/docs/install", "Install"),
    ]
    assert (site.root, site.truncated, site.ignored, site.provider) == ("https://council.example.org", False, 0, "firecrawl")
    assert upstream.requests[0].path == "/v2/map"
    assert upstream.requests[0].json == {
        "url": "https://council.example.org",
        "limit": 4,
        "search": "docs",
        "sitemap": "include",
        "timeout": 40_000,
    }
    assert [limits["read"] for limits in transport.limits] == [50.0, 7.0]


async def test_a_site_without_links_is_an_empty_map() -> None:
    async with firecrawl(FirecrawlUpstream(site=())) as provider:
        assert (await provider.map(SITE)).links == ()


async def test_a_server_of_ones_own_is_used_without_a_key() -> None:
    upstream = FirecrawlUpstream(self_hosted=True)
    async with firecrawl(upstream, keys=(), keyed=False) as provider:
        assert (await provider.find(QUERY)).items
        assert (await provider.extract(PAGE)).text
        assert (await provider.map(SITE)).links
    assert not any("authorization" in request.headers for request in upstream.requests)


@pytest.mark.parametrize("code", [401, 402])
async def test_a_key_at_fault_is_followed_by_the_next_one(code: int) -> None:
    upstream = FirecrawlUpstream(keys={"fc-one": status(code), "fc-two": ok()})
    async with firecrawl(upstream, keys=("fc-one", "fc-two")) as provider:
        assert (await provider.find(QUERY)).items
    assert [request.key for request in upstream.requests] == ["fc-one", "fc-two"]


@pytest.mark.parametrize(("code", "kind"), [(401, AuthRejected), (402, OutOfCredit)])
async def test_the_last_key_at_fault_decides_and_is_tried_once(code: int, kind: type[Exception]) -> None:
    upstream = FirecrawlUpstream(script=status(code))
    async with firecrawl(upstream) as provider:
        with pytest.raises(kind):
            await provider.find(QUERY)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("step", [rate_limited(wait_s=300), rate_limited(wait_s=300, in_header=True)])
async def test_a_wait_longer_than_a_call_may_block_ends_it_at_once(step: Any) -> None:
    """The hosted service says the wait in the text of the error only."""
    upstream = FirecrawlUpstream(script=step, keyless=True)
    async with firecrawl(upstream, keys=(), keyed=False) as provider:
        with pytest.raises(RateLimited) as caught:
            await provider.find(QUERY)
    assert caught.value.retry_after_s == 300.0
    assert len(upstream.requests) == 1


async def test_passing_faults_of_the_service_are_repeated() -> None:
    upstream = FirecrawlUpstream(script=Script(status(502), status(408), ok()))
    async with firecrawl(upstream) as provider:
        assert (await provider.find(QUERY)).items
    assert len(upstream.requests) == 3


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (status(400), RequestRejected),
        (scenario("firecrawl.error.400.category-removed"), RequestRejected),
        (html_page(), WrongAddress),
        (html_page(code=404), WrongAddress),
        (not_json(), BadReply),
        (ok({"success": False}), BadReply),
        (ok({"success": True}), BadReply),
    ],
)
async def test_a_reply_that_is_none_is_told_apart_and_not_repeated(step: Any, kind: type[Exception]) -> None:
    upstream = FirecrawlUpstream(script=step)
    async with firecrawl(upstream) as provider:
        with pytest.raises(kind) as caught:
            await provider.find(QUERY)
    assert type(caught.value) is kind
    assert len(upstream.requests) == 1


async def test_cancelling_a_call_leaves_the_service_at_once() -> None:
    upstream = FirecrawlUpstream(script=hang())
    async with firecrawl(upstream) as provider:
        call = asyncio.ensure_future(provider.extract(PAGE))
        await upstream.until(lambda it: it.in_flight == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await upstream.until(lambda it: it.in_flight == 0)
    assert upstream.disconnects == 1


class TestProbe:
    async def test_it_costs_nothing_and_tells_what_is_left(self) -> None:
        upstream = FirecrawlUpstream(credits=871)
        async with firecrawl(upstream) as provider:
            health = await provider.probe()
        assert (health.part, health.state, health.detail) == ("firecrawl", "ok", "871 of 871 credits left")
        assert health.latency_ms is not None
        assert (upstream.last.method, upstream.last.path, upstream.credits) == ("GET", "/v2/team/credit-usage", 871)

    async def test_a_live_probe_searches_for_one_hit(self) -> None:
        upstream = FirecrawlUpstream()
        async with firecrawl(upstream) as provider:
            health = await provider.probe(live=True)
        assert (health.state, health.detail) == ("ok", "a search brought 1 result(s)")
        assert (upstream.last.path, upstream.last.json["limit"]) == ("/v2/search", 1)

    async def test_a_server_without_keys_is_asked_whether_it_is_ready(self) -> None:
        upstream = FirecrawlUpstream(self_hosted=True)
        async with firecrawl(upstream, keys=(), keyed=False) as provider:
            health = await provider.probe()
        assert health.state == "ok"
        assert [request.path for request in upstream.requests] == ["/v0/health/readiness"]

    async def test_a_server_that_keeps_no_accounts_is_well_when_it_is_ready(self) -> None:
        upstream = FirecrawlUpstream(self_hosted=True)
        async with firecrawl(upstream) as provider:
            health = await provider.probe()
        assert health.state == "ok"
        assert [request.path for request in upstream.requests] == ["/v2/team/credit-usage", "/v0/health/readiness"]

    @pytest.mark.parametrize("step", [status(401), status(402), status(404), status(503), html_page(), not_json()])
    async def test_every_fault_is_a_state_with_words(self, step: Any) -> None:
        async with firecrawl(FirecrawlUpstream(script=step)) as provider:
            health = await provider.probe()
        assert health.state == "failing"
        assert health.detail.startswith(("firecrawl", "the reply"))

    async def test_without_a_key_it_is_off(self) -> None:
        upstream = FirecrawlUpstream()
        async with firecrawl(upstream, keys=()) as provider:
            health = await provider.probe()
        assert (health.state, upstream.requests) == ("off", [])


async def test_the_declaration_builds_an_object_that_satisfies_its_ports() -> None:
    async with firecrawl(FirecrawlUpstream()) as provider:
        finder: SourceFinder = provider
        extractor: Extractor = provider
        mapper: Mapper = provider
        probe: Probe = provider
        assert {finder.name, extractor.name, mapper.name} == {"firecrawl"}
        assert finder.keeps == {"fresh_within", "include_domains", "exclude_domains"}
        assert callable(probe.probe)
    made = PROVIDER.make(PROVIDER.settings(), Http(FakeCredentials({})))
    assert isinstance(made, Firecrawl)
    assert set(PROVIDER.offers) == {"find", "extract", "map"}
    assert PROVIDER.needs_key


# --- the suites of the ports --------------------------------------------------------------------------------------

Over = Callable[[Simulator], Firecrawl]
FAILURES = [status(401), status(500), status(429, retry_after_s=90), html_page(), not_json(), ok({})]


class _OverFirecrawl:
    """A provider for any simulator, closed when the test ends."""

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return ("fc-good",)

    @pytest.fixture
    async def over(self) -> AsyncIterator[Over]:
        async with AsyncExitStack() as stack:

            def opened(upstream: Simulator) -> Firecrawl:
                http = Http(FakeCredentials({"firecrawl": "fc-good"}), transport=httpx.ASGITransport(upstream))
                stack.push_async_callback(http.aclose)
                return Firecrawl(http, FirecrawlSettings(base_url="http://firecrawl.test", retry=AT_ONCE))

            yield opened

    @pytest.fixture(params=FAILURES, ids=lambda step: step.name)
    def failing(self, over: Over, request: pytest.FixtureRequest) -> Firecrawl:
        return over(FirecrawlUpstream(script=request.param))

    @pytest.fixture
    def hanging(self, over: Over) -> Hanging[Firecrawl]:
        upstream = FirecrawlUpstream(script=hang())
        return Hanging(
            part=over(upstream),
            entered=lambda: upstream.until(lambda it: it.in_flight == 1),
            left=lambda: upstream.until(lambda it: it.disconnects == 1),
        )


class TestFirecrawlAsFinder(_OverFirecrawl, SourceFinderContract):
    @pytest.fixture
    def finder(self, over: Over) -> SourceFinder:
        return over(FirecrawlUpstream())

    @pytest.fixture
    def empty_finder(self, over: Over) -> SourceFinder:
        return over(FirecrawlUpstream(sources=()))

    @pytest.fixture
    def failing_finder(self, failing: Firecrawl) -> SourceFinder:
        return failing

    @pytest.fixture
    def hanging_finder(self, hanging: Hanging[Firecrawl]) -> Hanging[SourceFinder]:
        return hanging


class TestFirecrawlAsExtractor(_OverFirecrawl, ExtractorContract):
    @pytest.fixture
    def extractor(self, over: Over) -> Extractor:
        return over(FirecrawlUpstream())

    @pytest.fixture
    def blank_extractor(self, over: Over) -> Extractor:
        return over(FirecrawlUpstream(script=example("firecrawl/v2.scrape.empty.json")))

    @pytest.fixture
    def failing_extractor(self, failing: Firecrawl) -> Extractor:
        return failing

    @pytest.fixture
    def hanging_extractor(self, hanging: Hanging[Firecrawl]) -> Hanging[Extractor]:
        return hanging


class TestFirecrawlAsMapper(_OverFirecrawl, MapperContract):
    @pytest.fixture
    def mapper(self, over: Over) -> Mapper:
        return over(FirecrawlUpstream())

    @pytest.fixture
    def empty_mapper(self, over: Over) -> Mapper:
        return over(FirecrawlUpstream(site=()))

    @pytest.fixture
    def failing_mapper(self, failing: Firecrawl) -> Mapper:
        return failing

    @pytest.fixture
    def hanging_mapper(self, hanging: Hanging[Firecrawl]) -> Hanging[Mapper]:
        return hanging


class TestFirecrawlAsProbe(_OverFirecrawl, ProbeContract):
    @pytest.fixture
    def probe(self, over: Over) -> Probe:
        return over(FirecrawlUpstream())

    @pytest.fixture
    def failing_probe(self, failing: Firecrawl) -> Probe:
        return failing

    @pytest.fixture
    def hanging_probe(self, hanging: Hanging[Firecrawl]) -> Hanging[Probe]:
        return hanging
