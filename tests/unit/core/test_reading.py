"""Fetching, mapping and paging through sources over fakes."""

from __future__ import annotations

import asyncio

import pytest

from websearch_core.chain import ExtractorChain, MapperChain
from websearch_core.errors import NotAllowed, Unreachable
from websearch_core.fetch import Fetch, FetchRules
from websearch_core.map import Map
from websearch_core.sources import Sources
from websearch_core.testing.fakes import FakeCache, FakeExtractor, FakeMapper, Gate
from websearch_core.values import (
    FetchRequest,
    Link,
    MapRequest,
    Note,
    Page,
    SearchResult,
    SiteMap,
    Source,
    SourcesRequest,
)

pytestmark = pytest.mark.anyio
URL = "https://docs.example/page"
LONG = "\n\n".join(f"Paragraph {number} says “hello” to \\ and 世界 😀." for number in range(600))


def fetch(*extractors: FakeExtractor, cache: FakeCache | None = None, **rules: object) -> Fetch:
    return Fetch(extractor=ExtractorChain(extractors), cache=cache or FakeCache(), rules=FetchRules(**rules))  # type: ignore[arg-type]


async def test_a_page_comes_whole_when_it_fits() -> None:
    result = await fetch(FakeExtractor({URL: "# Title\n\nText."}))(FetchRequest(url=URL))
    assert (result.status, result.content, result.next_start, result.total_chars) == ("success", "# Title\n\nText.", None, 14)
    assert result.provider == "fake_extractor"


async def test_pieces_of_a_long_page_join_to_the_page_and_it_is_read_once() -> None:
    extractor = FakeExtractor({URL: LONG})
    use, start, joined = fetch(extractor), 0, ""
    while True:
        result = await use(FetchRequest(url=URL, start=start, max_chars=2_000))
        joined += result.content
        if result.next_start is None:
            break
        assert result.notes[-1].code == "result_cut"
        start = result.next_start
    assert joined == LONG
    assert len(extractor.asked) == 1


async def test_a_start_beyond_the_end_names_the_length() -> None:
    result = await fetch(FakeExtractor({URL: "short"}))(FetchRequest(url=URL, start=99))
    assert (result.status, result.error, result.url) == ("error", "invalid_input", URL)
    assert result.error_detail is not None
    assert "5" in result.error_detail.message


@pytest.mark.requirement("OURS-24")
async def test_the_next_reader_takes_over_and_the_failure_stays_as_a_note() -> None:
    broken = FakeExtractor(Unreachable("tavily answers 503", provider="tavily"), name="tavily")
    result = await fetch(broken, FakeExtractor({URL: "text"}, name="local"))(FetchRequest(url=URL))
    assert (result.status, result.provider) == ("success", "local")
    assert [(note.code, note.provider) for note in result.notes] == [("tavily_service_unavailable", "tavily")]


@pytest.mark.requirement("OURS-28")
async def test_a_named_reader_is_the_only_one_asked() -> None:
    other = FakeExtractor({URL: "text"}, name="local")
    broken = FakeExtractor(Unreachable("down", provider="tavily"), name="tavily")
    result = await fetch(broken, other)(FetchRequest(url=URL, provider="tavily"))
    assert (result.status, result.error, other.asked) == ("error", "tavily_service_unavailable", [])


async def test_an_unknown_reader_is_refused_with_the_known_names() -> None:
    result = await fetch(FakeExtractor({URL: "text"}, name="local"))(FetchRequest(url=URL, provider="tavly"))
    assert result.error == "invalid_input"
    assert result.error_detail is not None
    assert "local" in result.error_detail.message


async def test_all_readers_failing_lists_each_attempt() -> None:
    readers = [FakeExtractor(Unreachable("down", provider=name), name=name) for name in ("tavily", "firecrawl")]
    result = await fetch(*readers)(FetchRequest(url=URL))
    assert (result.status, result.error, result.url) == ("error", "all_failed", URL)
    assert result.error_detail is not None
    attempts = result.error_detail.diagnostics["attempts"]
    assert [one["code"] for one in attempts] == ["tavily_service_unavailable", "firecrawl_unreachable"]  # type: ignore[attr-defined]


async def test_a_page_that_everybody_declines_is_an_error_not_an_empty_success() -> None:
    result = await fetch(FakeExtractor({}))(FetchRequest(url=URL))
    assert (result.status, result.error) == ("error", "fetch_no_content")


@pytest.mark.requirement("RS-PARSE-03")
async def test_a_blank_page_is_an_error() -> None:
    blank = FakeExtractor(Page(url=URL, text="  \n", provider="tavily"), name="tavily")
    result = await fetch(blank)(FetchRequest(url=URL))
    assert (result.status, result.error) == ("error", "tavily_no_content")


@pytest.mark.parametrize("url", ["http://127.0.0.1/x", "http://localhost/", "http://169.254.169.254/latest", "http://[::1]/"])
async def test_a_private_address_is_refused_before_any_reader_is_asked(url: str) -> None:
    reader = FakeExtractor({url: "secret"})
    result = await fetch(reader)(FetchRequest(url=url))
    assert (result.status, result.error, reader.asked) == ("error", "not_allowed", [])


async def test_an_allowed_private_host_is_read() -> None:
    reader = FakeExtractor({"http://127.0.0.1:8080/x": "text"})
    result = await fetch(reader, allow_hosts=("127.0.0.1:8080",))(FetchRequest(url="http://127.0.0.1:8080/x"))
    assert result.status == "success"


async def test_policy_is_final_no_other_reader_is_tried() -> None:
    second = FakeExtractor({URL: "text"})
    result = await fetch(FakeExtractor(NotAllowed("redirects to a private address")), second)(FetchRequest(url=URL))
    assert (result.error, second.asked) == ("not_allowed", [])


async def test_a_reader_that_does_not_end_is_stopped_at_the_deadline() -> None:
    gate: Gate[Page | None] = Gate(None)
    result = await fetch(FakeExtractor(gate))(FetchRequest(url=URL), within_s=0.01)
    assert (result.status, result.error, result.url) == ("error", "out_of_time", URL)
    assert gate.cancelled == 1


async def test_a_slow_reader_is_overtaken_by_the_next_one() -> None:
    gate: Gate[Page | None] = Gate(None)
    chain = ExtractorChain([FakeExtractor(gate, name="slow"), FakeExtractor({URL: "text"}, name="quick")], hedge_after_s=0.01)
    result = await Fetch(extractor=chain, cache=FakeCache())(FetchRequest(url=URL))
    assert (result.status, result.provider) == ("success", "quick")
    assert [(note.code, note.provider) for note in result.notes] == [("overtaken", "slow")]
    assert gate.cancelled == 1


async def test_a_reader_in_time_is_never_hedged() -> None:
    second = FakeExtractor({URL: "other"}, name="second")
    chain = ExtractorChain([FakeExtractor({URL: "text"}, name="first"), second], hedge_after_s=5)
    assert (await Fetch(extractor=chain, cache=FakeCache())(FetchRequest(url=URL))).provider == "first"
    assert second.asked == []


async def test_callers_of_one_page_share_one_reading() -> None:
    gate: Gate[Page | None] = Gate(Page(url=URL, text="text", provider="local"))
    reader = FakeExtractor(gate)
    use = fetch(reader)
    calls = [asyncio.create_task(use(FetchRequest(url=URL, start=start))) for start in (0, 1, 2)]
    await gate.until_entered()
    gate.release()
    assert [(await call).content for call in calls] == ["text", "ext", "xt"]
    assert len(reader.asked) == 1


# --- mapping


def site(count: int, **more: object) -> SiteMap:
    links = tuple(Link(url=f"https://docs.example/{number:05}/{'x' * 60}") for number in range(count))
    return SiteMap(root="https://docs.example/", links=links, provider="local", **more)  # type: ignore[arg-type]


async def test_a_map_of_five_hundred_pages_comes_in_pieces_that_cover_it_once() -> None:
    mapper = FakeMapper(site(500))
    use = Map(mapper=MapperChain([mapper]), cache=FakeCache())
    offset: int | None = 0
    seen: list[str] = []
    while offset is not None:
        result = await use(MapRequest(url="https://docs.example/", limit=500, offset=offset, max_chars=3_000))
        assert (result.status, result.total) == ("success", 500)
        seen += result.results
        offset = result.next_offset
    assert seen == [link.url for link in site(500).links]
    assert len(mapper.asked) == 1


async def test_a_site_without_pages_is_an_error_and_says_whose_site() -> None:
    nothing = SiteMap(root="https://docs.example/", provider="tavily")
    result = await Map(mapper=MapperChain([FakeMapper(nothing, name="tavily")]), cache=FakeCache())(
        MapRequest(url="https://docs.example/")
    )
    assert (result.status, result.error, result.base_url) == ("error", "tavily_no_urls", "https://docs.example/")


async def test_a_map_with_ignored_entries_is_partial() -> None:
    result = await Map(mapper=MapperChain([FakeMapper(site(2, ignored=3))]), cache=FakeCache())(
        MapRequest(url="https://docs.example/")
    )
    assert (result.status, result.partial, result.ignored_results) == ("partial_success", True, 3)
    assert result.error_detail is not None
    assert result.error_detail.code == "local_map_incomplete"


async def test_a_crawl_that_ran_out_of_time_is_partial() -> None:
    notes = (Note(code="partial", text="time is over", provider="local"),)
    result = await Map(mapper=MapperChain([FakeMapper(site(2, notes=notes))]), cache=FakeCache())(
        MapRequest(url="https://docs.example/")
    )
    assert result.status == "partial_success"


@pytest.mark.requirement("OURS-26")
async def test_the_next_mapper_takes_over() -> None:
    chain = MapperChain([FakeMapper(Unreachable("down", provider="tavily"), name="tavily"), FakeMapper(site(1))])
    result = await Map(mapper=chain, cache=FakeCache())(MapRequest(url="https://docs.example/"))
    assert (result.status, result.notes[0].provider) == ("success", "tavily")


async def test_no_mapper_at_all_names_the_cause() -> None:
    result = await Map(mapper=MapperChain([]), cache=FakeCache())(MapRequest(url="https://docs.example/"))
    assert (result.status, result.error) == ("error", "map_not_configured")


async def test_policy_is_final_for_maps_too() -> None:
    second = FakeMapper(site(1))
    chain = MapperChain([FakeMapper(NotAllowed("robots.txt forbids it")), second])
    result = await Map(mapper=chain, cache=FakeCache())(MapRequest(url="https://docs.example/"))
    assert (result.error, second.asked) == ("not_allowed", [])
    refused = await Map(mapper=MapperChain([second]), cache=FakeCache())(MapRequest(url="http://10.0.0.1/"))
    assert refused.error == "not_allowed"


async def test_a_mapper_that_does_not_end_is_stopped() -> None:
    gate: Gate[SiteMap] = Gate(site(1))
    result = await Map(mapper=MapperChain([FakeMapper(gate)]), cache=FakeCache())(
        MapRequest(url="https://docs.example/"), within_s=0.01
    )
    assert (result.error, gate.cancelled) == ("out_of_time", 1)


# --- sources of an earlier search


async def kept(count: int, content: str = "answer") -> FakeCache:
    cache = FakeCache()
    sources = tuple(Source(url=f"https://s.example/{number}", title="T" * 50, description="d" * 300) for number in range(count))
    await cache.put("session:abc", SearchResult(session_id="abc", content=content, sources=sources), ttl_s=60)
    return cache


@pytest.mark.requirement("RS-BUDGET-03")
async def test_paging_through_sources_shows_each_once() -> None:
    use, offset, seen = Sources(cache=await kept(60)), 0, []
    while offset is not None:
        page = await use(SourcesRequest(session_id="abc", offset=offset, limit=25, max_chars=5_000))
        assert (page.status, page.total_sources, page.sources_count) == ("success", 60, len(page.sources))
        seen += [source.url for source in page.sources]
        offset = page.next_offset  # type: ignore[assignment]
    assert seen == [f"https://s.example/{number}" for number in range(60)]


@pytest.mark.requirement("RS-BUDGET-03")
async def test_an_offset_past_the_end_is_an_empty_page() -> None:
    page = await Sources(cache=await kept(3))(SourcesRequest(session_id="abc", offset=9))
    assert (page.status, page.sources, page.next_offset) == ("success", (), None)


async def test_the_rest_of_a_long_answer_is_read_from_where_it_was_cut() -> None:
    use, start, joined = Sources(cache=await kept(2, LONG)), 0, ""
    while start is not None:
        page = await use(SourcesRequest(session_id="abc", start=start, max_chars=4_000))
        joined, start = joined + page.content, page.next_start  # type: ignore[assignment]
    assert joined == LONG


@pytest.mark.requirement("P5-PROTOCOL-21")
async def test_an_unknown_session_says_to_search_again() -> None:
    page = await Sources(cache=FakeCache())(SourcesRequest(session_id="nope"))
    assert (page.status, page.error, page.session_id) == ("error", "session_id_not_found_or_expired", "nope")
    assert page.error_detail is not None
    assert page.error_detail.service == "sources_cache"
    assert "web_search" in (page.next_action or "")
