"""What a search as a whole promises: times, pages read for sources, what is kept."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from websearch_core import budget
from websearch_core.chain import ExtractorChain, FinderChain
from websearch_core.errors import Unreachable
from websearch_core.fetch import Fetch
from websearch_core.ports import Extractor
from websearch_core.search import Search, SearchRules
from websearch_core.sources import Sources
from websearch_core.testing.fakes import FakeCache, FakeClock, FakeEngine, FakeExtractor, FakeFinder, Gate
from websearch_core.values import Answer, FetchRequest, Page, SearchQuery, Source, SourceList, SourcesRequest

pytestmark = pytest.mark.anyio
ANSWER = Answer(
    text="It is so.",
    sources=(Source(url="https://a.example/", title="A", provider="grok_responses", evidence="cited"),),
    engine="grok_responses",
    searched=True,
)
FIVE = SourceList(items=tuple(Source(url=f"https://s{n}.example/", provider="tavily") for n in range(5)), provider="tavily")
LONG = "long text " * 5_000
DOWN = Unreachable("grok answers 503", provider="grok", http_status=503)


def search(**parts: Any) -> Search:
    given = {"engine": FakeEngine(ANSWER), "finder": FinderChain(()), "extractor": ExtractorChain([]), "cache": FakeCache()}
    return Search(**{**given, **parts})


def ask(**more: Any) -> SearchQuery:
    return SearchQuery(query="what is it?", **more)


# --- time


@pytest.mark.requirement("RS-SERVICE-11", "OURS-13")
async def test_a_chain_of_finders_shares_one_allowance() -> None:
    first: Gate[SourceList] = Gate(FIVE)
    second = FakeFinder(FIVE, name="second")
    chain = FinderChain([FakeFinder(first, name="first"), second])
    result = await search(finder=chain, rules=SearchRules(extras_allowance_s=0.02))(ask(extra_sources=2))
    assert (result.status, result.content) == ("partial_success", "It is so.")
    assert (first.cancelled, second.asked) == (1, [])


@pytest.mark.requirement("RS-SERVICE-11")
async def test_a_chain_of_readers_shares_one_deadline() -> None:
    gates: list[Gate[Page | None]] = [Gate(None), Gate(None)]
    chain = ExtractorChain([FakeExtractor(gate, name=f"reader{n}") for n, gate in enumerate(gates)], hedge_after_s=0.01)
    rules = SearchRules(contents_allowance_s=0.05)
    result = await search(extractor=chain, rules=rules)(ask(include_content=True))
    assert result.status == "success"
    assert [note.code for note in result.notes] == ["content_missing"]
    assert [gate.cancelled for gate in gates] == [1, 1]


@pytest.mark.requirement("HEAD-15")
async def test_a_search_that_ran_out_of_time_is_no_answer_to_the_next_caller() -> None:
    gate: Gate[Answer] = Gate(ANSWER)
    engine = FakeEngine([gate, ANSWER])
    use = search(engine=engine, rules=SearchRules(deadline_s=0.02))
    late = await use(ask())
    assert (late.status, late.error) == ("error", "grok_total_budget_exhausted")
    assert (await use(ask())).content == "It is so."
    assert len(engine.asked) == 2


@pytest.mark.requirement("HEAD-16")
async def test_concurrent_calls_have_deadlines_of_their_own() -> None:
    gate: Gate[Answer] = Gate(ANSWER)
    use = search(engine=FakeEngine(gate))
    patient = asyncio.create_task(use(SearchQuery(query="the patient one"), within_s=5))
    hasty = await use(SearchQuery(query="the hasty one"), within_s=0.02)
    assert (hasty.error, patient.done()) == ("grok_total_budget_exhausted", False)
    gate.release()
    assert (await patient).status == "success"
    await use.running.aclose()


@pytest.mark.requirement("EDGE-11")
async def test_a_call_cancelled_while_it_reads_pages_leaves_nothing_running() -> None:
    gate: Gate[Page | None] = Gate(None)
    use = search(extractor=ExtractorChain([FakeExtractor(gate)]))
    call = asyncio.create_task(use(ask(include_content=True)))
    await gate.until_entered()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert gate.cancelled == 1
    assert (await search()(ask())).status == "success"


# --- pages read for sources


class Counting(Extractor):
    """Reads slowly on purpose: each call waits until no further one comes in."""

    name = "counting"

    def __init__(self) -> None:
        self.most = 0
        self._running = 0

    async def extract(self, request: FetchRequest, /) -> Page | None:
        self._running += 1
        self.most = max(self.most, self._running)
        for _ in range(20):
            await asyncio.sleep(0)
        self._running -= 1
        return Page(url=request.url, text="text", provider=self.name)


@pytest.mark.requirement("RS-ENRICH-01")
async def test_three_pages_are_read_at_once_and_no_more() -> None:
    reader = Counting()
    result = await search(finder=FinderChain([FakeFinder(FIVE, name="tavily")]), extractor=reader)(
        ask(extra_sources=5, include_content=True)
    )
    assert reader.most == 3
    assert [bool(source.content) for source in result.sources] == [True] * 5


@pytest.mark.requirement("RS-ENRICH-02", "RS-ENRICH-03")
async def test_a_page_that_fails_and_one_that_is_too_slow_leave_notes_and_the_others_their_text() -> None:
    slow: Gate[Page | None] = Gate(None)
    pages: dict[str, Any] = {
        "https://s0.example/": "Text of the first.",
        "https://s1.example/": Unreachable("answers 500", provider="local"),
        "https://s2.example/": slow,
    }
    found = dataclasses.replace(FIVE, items=FIVE.items[:3])
    result = await search(
        engine=FakeEngine(DOWN),
        finder=FinderChain([FakeFinder(found, name="tavily")]),
        extractor=FakeExtractor(pages),
        rules=SearchRules(contents_allowance_s=0.05),
    )(ask(include_content=True))
    assert [source.content for source in result.sources] == ["Text of the first.", "", ""]
    told = {note.text.split(":")[1].removeprefix("//"): note.text for note in result.notes if note.code == "content_missing"}
    assert set(told) == {"s1.example/", "s2.example/"}
    assert slow.cancelled == 1


@pytest.mark.requirement("RS-ENRICH-04", "RS-BUDGET-01", "RS-BUDGET-02")
async def test_page_texts_are_cut_to_the_budget_and_the_whole_page_is_kept() -> None:
    cache = FakeCache()
    use = search(extractor=FakeExtractor({"https://a.example/": LONG}), cache=cache)
    result = await use(ask(include_content=True, max_chars=4_000))
    (source,) = result.sources
    assert budget.json_chars(result) <= 4_000
    assert result.content == "It is so."
    assert source.next_start == len(source.content) < 50_000
    kept = await Sources(cache=cache)(SourcesRequest(session_id=result.session_id))
    assert kept.total_sources == 1
    nobody = FakeExtractor(Unreachable("asked again", provider="local"))
    reading_on = Fetch(extractor=nobody, cache=cache)
    page = await reading_on(FetchRequest(url=source.url, start=source.next_start, max_chars=100_000))
    assert source.content + page.content == LONG


@pytest.mark.requirement("RS-ENRICH-05")
async def test_a_missing_title_and_date_come_from_the_page_and_given_ones_stay() -> None:
    given = Source(url="https://given.example/", title="Given", published="2026-01-01", provider="grok_responses")
    bare = Source(url="https://bare.example/", provider="grok_responses")
    read = {
        one.url: Page(url=one.url, title="Of the page", published="2020-02-02", text="text", provider="local")
        for one in (given, bare)
    }
    result = await search(engine=FakeEngine(dataclasses.replace(ANSWER, sources=(given, bare))), extractor=FakeExtractor(read))(
        ask(include_content=True)
    )
    assert [(source.title, source.published) for source in result.sources] == [
        ("Given", "2026-01-01"),
        ("Of the page", "2020-02-02"),
    ]


# --- what comes together and what is kept


@pytest.mark.requirement("RS-SERVICE-07")
async def test_a_hit_without_an_address_hides_no_other() -> None:
    items = (Source(url=""), Source(url=" "), Source(url="about:blank"), Source(url="https://good.example/", provider="tavily"))
    finder = FinderChain([FakeFinder(SourceList(items=items, provider="tavily"), name="tavily")])
    for engine in (ANSWER, DOWN):
        result = await search(engine=FakeEngine(engine), finder=finder)(ask(extra_sources=3))
        assert "https://good.example/" in [source.url for source in result.sources]
        assert all(source.url.startswith("https://") for source in result.sources)


@pytest.mark.requirement("RS-SERVICE-10")
async def test_notes_and_advice_have_a_longest_length() -> None:
    wordy = FakeFinder(Unreachable("tavily says " + "very much " * 500, provider="tavily"), name="tavily")
    result = await search(engine=FakeEngine(DOWN), finder=FinderChain([wordy]))(ask(extra_sources=2))
    assert result.status == "error"
    assert all(len(note.text) <= 300 for note in result.notes)
    assert len(result.next_action or "") <= 300


@pytest.mark.requirement("HEAD-01", "RS-SERVICE-13")
async def test_a_session_reads_the_same_each_time_until_it_expires() -> None:
    clock = FakeClock()
    cache = FakeCache(clock)
    found = await search(cache=cache, rules=SearchRules(sources_ttl_s=100))(ask())
    use, request = Sources(cache=cache), SourcesRequest(session_id=found.session_id, start=0)
    first = await use(request)
    clock.advance(99)
    assert await use(request) == first
    clock.advance(2)
    assert (await use(request)).error == "session_id_not_found_or_expired"


@pytest.mark.requirement("OURS-14")
@pytest.mark.parametrize("inline", [0, 2, 5])
async def test_the_first_sources_are_shown_and_the_rest_is_a_page_away(inline: int) -> None:
    sources = tuple(Source(url=f"https://s{n}.example/", title=f"S{n}", provider="grok_responses") for n in range(7))
    cache = FakeCache()
    use = search(
        engine=FakeEngine(dataclasses.replace(ANSWER, sources=sources)), cache=cache, rules=SearchRules(inline_sources=inline)
    )
    result = await use(ask())
    assert (len(result.sources), result.sources_count, result.next_offset) == (inline, 7, inline)
    rest = await Sources(cache=cache)(SourcesRequest(session_id=result.session_id, offset=inline))
    assert [*result.sources, *rest.sources] == list(sources)
