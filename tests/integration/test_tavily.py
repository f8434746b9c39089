"""Tavily through the real HTTP client, against its simulator in process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from upstreams.script import Script, hang, html_page, not_json, ok, status
from upstreams.simulator import Simulator
from upstreams.tavily import TavilyUpstream
from websearch_adapters.http.client import Http
from websearch_adapters.providers.tavily import PROVIDER, Tavily, TavilySettings
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    EmptyResult,
    NotConfigured,
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
SITE = MapRequest(url="https://council.example.org", max_depth=2, limit=4)
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
async def tavily(
    upstream: Simulator,
    *,
    keys: Sequence[str] = ("tvly-good",),
    transport: httpx.AsyncBaseTransport | None = None,
    **settings: Any,
) -> AsyncIterator[Tavily]:
    http = Http(FakeCredentials({"tavily": keys}), transport=transport or httpx.ASGITransport(upstream))
    chosen = TavilySettings(**{"base_url": "http://tavily.test/", "retry": AT_ONCE, **settings})
    try:
        yield Tavily(http, chosen, now=lambda: NOON)
    finally:
        await http.aclose()


@pytest.mark.requirement("P5-TAVILY-01")
async def test_a_search_is_one_request_with_exactly_this_body() -> None:
    upstream = TavilyUpstream(keys=["tvly-good"])
    query = SearchQuery(
        query="步行桥 footbridge",
        extra_sources=3,
        fresh_within="month",
        include_domains=("example.org",),
        exclude_domains=("forum.example.org",),
    )
    async with tavily(upstream) as provider:
        found = await provider.find(query)
    assert [source.provider for source in found.items] == ["tavily"] * 3
    (request,) = upstream.requests
    assert (request.method, request.path, request.key) == ("POST", "/search", "tvly-good")
    assert request.headers["content-type"] == "application/json"
    assert "x-tavily-access-mode" not in request.headers
    assert request.json == {
        "query": "步行桥 footbridge",
        "search_depth": "advanced",
        "max_results": 3,
        "include_answer": False,
        "include_raw_content": False,
        "include_published_date": True,
        "time_range": "month",
        "include_domains": ["example.org"],
        "exclude_domains": ["forum.example.org"],
    }


async def test_hits_carry_their_dates_passages_and_wanted_content() -> None:
    async with tavily(TavilyUpstream()) as provider:
        found = await provider.find(SearchQuery(query="footbridge", extra_sources=1, include_content=True))
    (source,) = found.items
    assert source.url == "https://council.example.org/footbridge"
    assert source.published == "2026-11-29"
    assert source.description.startswith("council.example.org on footbridge")
    assert source.content.startswith("# footbridge | council.example.org")


async def test_wanted_hosts_are_not_promised_because_the_service_only_raises_them() -> None:
    async with tavily(TavilyUpstream()) as provider:
        found = await provider.find(SearchQuery(query="footbridge", include_domains=("wiki.example.net",)))
    assert found.items[0].url.startswith("https://wiki.example.net/")
    assert any("wiki.example.net" not in source.url for source in found.items)
    assert provider.keeps == {"fresh_within", "exclude_domains"}


async def test_a_question_too_long_for_the_service_still_finds() -> None:
    async with tavily(TavilyUpstream()) as provider:
        found = await provider.find(SearchQuery(query="why did the footbridge close " * 40))
    assert len(found.items) == 5
    assert [note.code for note in found.notes] == ["query_shortened"]


@pytest.mark.requirement("P5-TAVILY-01")
async def test_a_page_is_read_with_one_basic_extraction() -> None:
    upstream = TavilyUpstream(pages={PAGE.url: "# Footbridge reopens\n\nOn Saturday."})
    async with tavily(upstream) as provider:
        page = await provider.extract(PAGE)
    assert (page.text, page.title) == ("# Footbridge reopens\n\nOn Saturday.", "Footbridge reopens")
    assert (page.url, page.provider, page.fetched_at) == (PAGE.url, "tavily", "2026-11-30T12:00:00Z")
    assert upstream.last.path == "/extract"
    assert [request.json for request in upstream.requests] == [
        {"urls": [PAGE.url], "format": "markdown", "extract_depth": "basic"}
    ]


async def test_a_page_that_comes_empty_is_asked_for_once_more_in_depth() -> None:
    upstream = TavilyUpstream(script=Script(ok({"results": [{"url": PAGE.url, "raw_content": " "}]}), ok()))
    async with tavily(upstream) as provider:
        page = await provider.extract(PAGE)
    assert page.text.startswith("# Footbridge reopens")
    assert [request.json["extract_depth"] for request in upstream.requests] == ["basic", "advanced"]


@pytest.mark.parametrize(("depth", "asked"), [("basic", ["basic", "advanced"]), ("advanced", ["advanced"])])
async def test_a_page_that_stays_empty_is_an_empty_result(depth: str, asked: list[str]) -> None:
    upstream = TavilyUpstream(script=ok({"results": [], "failed_results": []}))
    async with tavily(upstream, extract_depth=depth) as provider:
        with pytest.raises(EmptyResult):
            await provider.extract(PAGE)
    assert [request.json["extract_depth"] for request in upstream.requests] == asked


async def test_a_page_that_refuses_the_service_is_declined_without_another_try() -> None:
    upstream = TavilyUpstream(failing={PAGE.url: "403 Forbidden"})
    async with tavily(upstream) as provider:
        with pytest.raises(Declined, match="answers 403"):
            await provider.extract(PAGE)
    assert len(upstream.requests) == 1


async def test_a_page_that_cannot_be_loaded_is_unreachable() -> None:
    async with tavily(TavilyUpstream()) as provider:
        with pytest.raises(Unreachable, match="could not load the page"):
            await provider.extract(FetchRequest(url="https://nowhere.invalid/"))


@pytest.mark.requirement("P5-TAVILY-01")
async def test_a_map_is_one_patient_request_with_exactly_this_body() -> None:
    upstream = TavilyUpstream()
    transport = Recording(upstream)
    async with tavily(upstream, transport=transport) as provider:
        site = await provider.map(MapRequest(url=SITE.url, instructions="news", max_depth=2, limit=4, offset=1, timeout=40))
    assert site.root == "https://council.example.org"
    assert [link.url.removeprefix(site.root) for link in site.links] == [
        "/",
        "/news",
        "/news/footbridge-reopens",
        "/news/library-hours",
        "/about",
    ]
    assert (site.truncated, site.ignored, site.provider) == (True, 0, "tavily")
    assert [request.json for request in upstream.requests] == [
        {
            "url": "https://council.example.org",
            "max_depth": 2,
            "max_breadth": 20,
            "limit": 5,
            "timeout": 40,
            "instructions": "news",
        }
    ]
    assert [limits["read"] for limits in transport.limits] == [50.0]


async def test_other_calls_keep_the_configured_patience() -> None:
    upstream = TavilyUpstream()
    transport = Recording(upstream)
    async with tavily(upstream, transport=transport, read_timeout_s=7.0) as provider:
        await provider.find(QUERY)
        await provider.extract(PAGE)
    assert [limits["read"] for limits in transport.limits] == [7.0, 7.0]


async def test_a_site_that_the_service_does_not_support_is_declined() -> None:
    async with tavily(TavilyUpstream()) as provider:
        with pytest.raises(Declined):
            await provider.map(MapRequest(url="https://nowhere.invalid/"))


async def test_a_site_without_pages_is_an_empty_map() -> None:
    async with tavily(TavilyUpstream(site=())) as provider:
        assert (await provider.map(SITE)).links == ()


async def test_without_a_key_search_and_extract_use_the_free_allowance() -> None:
    upstream = TavilyUpstream(keys=[])
    async with tavily(upstream, keys=(), keyless=True) as provider:
        assert (await provider.find(QUERY)).items
        assert (await provider.extract(PAGE)).text
    assert [request.headers["x-tavily-access-mode"] for request in upstream.requests] == ["keyless", "keyless"]
    assert not any("authorization" in request.headers for request in upstream.requests)


async def test_without_a_key_a_map_fails_before_any_request() -> None:
    upstream = TavilyUpstream()
    async with tavily(upstream, keys=(), keyless=True) as provider:
        with pytest.raises(NotConfigured, match="only with a key"):
            await provider.map(SITE)
    assert upstream.requests == []


async def test_the_keyless_cap_is_not_knocked_at_again() -> None:
    """Its wait of half an hour is longer than a call may block."""
    upstream = TavilyUpstream(keyless_limit=1)
    async with tavily(upstream, keys=(), keyless=True) as provider:
        await provider.find(QUERY)
        with pytest.raises(RateLimited) as caught:
            await provider.find(QUERY)
    assert caught.value.retry_after_s == 1800.0
    assert len(upstream.requests) == 2


@pytest.mark.requirement("RS-ROTATION-02")
@pytest.mark.parametrize("code", [401, 429, 432, 433])
async def test_a_key_at_fault_is_followed_by_the_next_one(code: int) -> None:
    upstream = TavilyUpstream(keys={"tvly-one": status(code), "tvly-two": ok()})
    async with tavily(upstream, keys=("tvly-one", "tvly-two")) as provider:
        assert (await provider.find(QUERY)).items
    assert [request.key for request in upstream.requests] == ["tvly-one", "tvly-two"]


@pytest.mark.requirement("RS-ROTATION-03")
@pytest.mark.parametrize(("code", "kind"), [(401, AuthRejected), (432, OutOfCredit), (433, OutOfCredit)])
async def test_the_last_key_at_fault_decides_and_is_tried_once(code: int, kind: type[Exception]) -> None:
    upstream = TavilyUpstream(script=status(code))
    async with tavily(upstream) as provider:
        with pytest.raises(kind):
            await provider.find(QUERY)
    assert len(upstream.requests) == 1


async def test_a_passing_fault_of_the_service_is_repeated() -> None:
    upstream = TavilyUpstream(script=Script(status(500), status(502), ok()))
    async with tavily(upstream) as provider:
        assert (await provider.find(QUERY)).items
    assert len(upstream.requests) == 3


async def test_a_lasting_fault_of_the_service_ends_after_the_allowed_attempts() -> None:
    upstream = TavilyUpstream(script=status(500))
    async with tavily(upstream) as provider:
        with pytest.raises(Unreachable, match="answers 500"):
            await provider.find(QUERY)
    assert len(upstream.requests) == 3


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (status(400), RequestRejected),
        (status(404, body={"detail": "Not Found"}), WrongAddress),
        (html_page(), WrongAddress),
        (not_json(), BadReply),
        (ok([1, 2]), BadReply),
        (ok({"results": "none"}), BadReply),
    ],
)
async def test_a_reply_that_is_none_is_told_apart_and_not_repeated(step: Any, kind: type[Exception]) -> None:
    upstream = TavilyUpstream(script=step)
    async with tavily(upstream) as provider:
        with pytest.raises(kind) as caught:
            await provider.find(QUERY)
    assert type(caught.value) is kind
    assert len(upstream.requests) == 1


async def test_an_html_page_names_the_configured_address() -> None:
    async with tavily(TavilyUpstream(script=html_page())) as provider:
        with pytest.raises(WrongAddress, match=r"http://tavily\.test"):
            await provider.find(QUERY)


async def test_cancelling_a_call_leaves_the_service_at_once() -> None:
    upstream = TavilyUpstream(script=hang())
    async with tavily(upstream) as provider:
        call = asyncio.ensure_future(provider.find(QUERY))
        await upstream.until(lambda it: it.in_flight == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await upstream.until(lambda it: it.in_flight == 0)
    assert upstream.disconnects == 1


class TestProbe:
    async def test_it_costs_nothing_and_tells_what_is_used(self) -> None:
        upstream = TavilyUpstream(plan_limit=100)
        async with tavily(upstream) as provider:
            await provider.find(QUERY)
            health = await provider.probe()
        assert (health.part, health.state, health.detail) == ("tavily", "ok", "this key used 2 of 100 credits")
        assert health.latency_ms is not None
        assert (upstream.last.method, upstream.last.path, upstream.last.body) == ("GET", "/usage", b"")
        assert upstream.credits_used("tvly-good") == 2

    async def test_a_live_probe_searches_for_one_hit(self) -> None:
        upstream = TavilyUpstream()
        async with tavily(upstream) as provider:
            health = await provider.probe(live=True)
        assert (health.state, health.detail) == ("ok", "a search brought 1 result(s)")
        assert (upstream.last.path, upstream.last.json["max_results"]) == ("/search", 1)

    @pytest.mark.parametrize("step", [status(401), status(432), status(500), html_page(), not_json()])
    async def test_every_fault_is_a_state_with_words(self, step: Any) -> None:
        async with tavily(TavilyUpstream(script=step)) as provider:
            health = await provider.probe()
        assert health.state == "failing"
        assert health.detail.startswith(("tavily", "the reply"))

    async def test_without_a_key_it_is_off(self) -> None:
        upstream = TavilyUpstream()
        async with tavily(upstream, keys=()) as provider:
            health = await provider.probe()
        assert (health.state, upstream.requests) == ("off", [])

    async def test_keyless_use_is_well_when_the_service_answers(self) -> None:
        async with tavily(TavilyUpstream(), keys=(), keyless=True) as provider:
            assert (await provider.probe()).state == "ok"
        async with tavily(TavilyUpstream(script=status(503)), keys=(), keyless=True) as provider:
            assert (await provider.probe()).state == "failing"


async def test_the_declaration_builds_an_object_that_satisfies_its_ports() -> None:
    async with tavily(TavilyUpstream()) as provider:
        finder: SourceFinder = provider
        extractor: Extractor = provider
        mapper: Mapper = provider
        probe: Probe = provider
        assert {finder.name, extractor.name, mapper.name} == {"tavily"}
        assert callable(probe.probe)
    made = PROVIDER.make(PROVIDER.settings(), Http(FakeCredentials({})))
    assert isinstance(made, Tavily)
    assert set(PROVIDER.offers) == {"find", "extract", "map"}
    assert PROVIDER.needs_key


# --- the suites of the ports --------------------------------------------------------------------------------------

Over = Callable[[Simulator], Tavily]
FAILURES = [status(401), status(500), status(429, retry_after_s=90), html_page(), not_json(), ok({})]


class _OverTavily:
    """A provider for any simulator, closed when the test ends."""

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return ("tvly-good",)

    @pytest.fixture
    async def over(self) -> AsyncIterator[Over]:
        async with AsyncExitStack() as stack:

            def opened(upstream: Simulator) -> Tavily:
                http = Http(FakeCredentials({"tavily": "tvly-good"}), transport=httpx.ASGITransport(upstream))
                stack.push_async_callback(http.aclose)
                return Tavily(http, TavilySettings(base_url="http://tavily.test", retry=AT_ONCE))

            yield opened

    @pytest.fixture(params=FAILURES, ids=lambda step: step.name)
    def failing(self, over: Over, request: pytest.FixtureRequest) -> Tavily:
        return over(TavilyUpstream(script=request.param))

    @pytest.fixture
    def hanging(self, over: Over) -> Hanging[Tavily]:
        upstream = TavilyUpstream(script=hang())
        return Hanging(
            part=over(upstream),
            entered=lambda: upstream.until(lambda it: it.in_flight == 1),
            left=lambda: upstream.until(lambda it: it.disconnects == 1),
        )


class TestTavilyAsFinder(_OverTavily, SourceFinderContract):
    @pytest.fixture
    def finder(self, over: Over) -> SourceFinder:
        return over(TavilyUpstream())

    @pytest.fixture
    def empty_finder(self, over: Over) -> SourceFinder:
        return over(TavilyUpstream(sources=()))

    @pytest.fixture
    def failing_finder(self, failing: Tavily) -> SourceFinder:
        return failing

    @pytest.fixture
    def hanging_finder(self, hanging: Hanging[Tavily]) -> Hanging[SourceFinder]:
        return hanging


class TestTavilyAsExtractor(_OverTavily, ExtractorContract):
    @pytest.fixture
    def extractor(self, over: Over) -> Extractor:
        return over(TavilyUpstream())

    @pytest.fixture
    def blank_extractor(self, over: Over) -> Extractor:
        return over(TavilyUpstream(script=ok({"results": [{"url": "https://docs.example.org/page", "raw_content": ""}]})))

    @pytest.fixture
    def failing_extractor(self, failing: Tavily) -> Extractor:
        return failing

    @pytest.fixture
    def hanging_extractor(self, hanging: Hanging[Tavily]) -> Hanging[Extractor]:
        return hanging


class TestTavilyAsMapper(_OverTavily, MapperContract):
    @pytest.fixture
    def mapper(self, over: Over) -> Mapper:
        return over(TavilyUpstream())

    @pytest.fixture
    def empty_mapper(self, over: Over) -> Mapper:
        return over(TavilyUpstream(site=()))

    @pytest.fixture
    def failing_mapper(self, failing: Tavily) -> Mapper:
        return failing

    @pytest.fixture
    def hanging_mapper(self, hanging: Hanging[Tavily]) -> Hanging[Mapper]:
        return hanging


class TestTavilyAsProbe(_OverTavily, ProbeContract):
    @pytest.fixture
    def probe(self, over: Over) -> Probe:
        return over(TavilyUpstream())

    @pytest.fixture
    def failing_probe(self, failing: Tavily) -> Probe:
        return failing

    @pytest.fixture
    def hanging_probe(self, hanging: Hanging[Tavily]) -> Hanging[Probe]:
        return hanging
