"""The search use case over fakes: which leg answers, what a failure turns into, what is kept."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import datetime

import pytest

from websearch_core.chain import ExtractorChain, FinderChain, NoEngine
from websearch_core.errors import (
    AllFailed,
    AuthRejected,
    BadReply,
    NotConfigured,
    RateLimited,
    Unreachable,
    WebSearchError,
)
from websearch_core.search import Search, SearchRules
from websearch_core.sources import Sources
from websearch_core.testing.fakes import FakeCache, FakeEngine, FakeExtractor, FakeFinder, Gate, RecordingObserver
from websearch_core.values import Answer, Note, SearchQuery, Source, SourceList, SourcesRequest

pytestmark = pytest.mark.anyio
CITED = Source(url="https://a.example/1", title="One", provider="grok_responses", evidence="cited")
ANSWER = Answer(text="It is so.", sources=(CITED,), engine="grok_responses", model="m", searched=True)
FOUND = SourceList(
    items=(
        Source(url="https://a.example/1?utm_source=x", title="Dup", description="desc", provider="tavily"),
        Source(url="https://b.example/2", title="Two", provider="tavily"),
    ),
    provider="tavily",
)
NO_FINDER = FinderChain(())


def search(**parts: object) -> Search:
    given: dict[str, object] = {
        "engine": FakeEngine(ANSWER),
        "finder": FakeFinder(FOUND, name="tavily"),
        "extractor": FakeExtractor(),
        "cache": FakeCache(),
        **parts,
    }
    return Search(**given)  # type: ignore[arg-type]


def ask(text: str = "what is it?", **more: object) -> SearchQuery:
    return SearchQuery(query=text, **more)  # type: ignore[arg-type]


@pytest.mark.requirement("P5-TOOLS-01", "OURS-15", "RS-SERVICE-03")
async def test_an_answer_with_extra_sources_is_a_success_with_each_source_once() -> None:
    result = await search()(ask())
    assert (result.status, result.error, result.error_detail, result.partial) == ("success", None, None, False)
    assert result.content == "It is so."
    assert [source.url for source in result.sources] == ["https://a.example/1", "https://b.example/2"]
    assert [source.provider for source in result.sources] == ["grok_responses", "tavily_enrichment"]
    assert result.sources[0].description == "desc"  # the duplicate filled what the first lacked
    assert (result.search_provider, result.model, result.fallback_used) == ("grok_responses", "m", False)


async def test_without_extra_sources_no_finder_is_asked() -> None:
    finder = FakeFinder(FOUND, name="tavily")
    result = await search(finder=finder)(ask(extra_sources=0))
    assert (result.status, result.sources_count, finder.asked) == ("success", 1, [])


async def test_a_failing_finder_makes_a_partial_success_and_never_an_error() -> None:
    broken = FakeFinder(Unreachable("tavily answers 503", provider="tavily", http_status=503), name="tavily")
    result = await search(finder=broken)(ask(extra_sources=2))
    assert (result.status, result.partial, result.error) == ("partial_success", True, None)
    assert result.error_detail is not None
    assert (result.error_detail.code, result.error_detail.service) == ("tavily_service_unavailable", "tavily")
    assert result.content == "It is so."


@pytest.mark.requirement("P5-TOOLS-02")
async def test_asking_for_extra_sources_without_a_finder_says_what_to_configure() -> None:
    result = await search(finder=NO_FINDER)(ask(extra_sources=2))
    assert result.status == "partial_success"
    assert result.error_detail is not None
    assert "configured" in result.error_detail.message


@pytest.mark.requirement("OURS-13")
async def test_a_slow_finder_costs_only_its_own_allowance() -> None:
    gate: Gate[SourceList] = Gate(FOUND)
    result = await search(finder=FakeFinder(gate, name="tavily"), rules=SearchRules(extras_allowance_s=0.01))(ask())
    assert (result.status, result.content) == ("partial_success", "It is so.")
    assert result.error_detail is not None
    assert result.error_detail.code == "tavily_total_budget_exhausted"
    assert gate.cancelled == 1


@pytest.mark.requirement("RS-SERVICE-02", "P5-TOOLS-06")
@pytest.mark.parametrize(
    ("error", "reason", "code"),
    [
        (Unreachable("grok answers 503", provider="grok"), "grok_provider_error", "grok_primary_failed"),
        (AuthRejected("grok answers 401", provider="grok"), "grok_auth_error", "grok_authentication_error"),
        (BadReply("not JSON", provider="grok"), "grok_parse_error", "grok_primary_failed"),
        (
            Unreachable("silent", provider="grok", diagnostics={"error_type": "read_timeout"}),
            "grok_timeout",
            "grok_primary_failed",
        ),
    ],
)
async def test_a_failing_engine_leaves_a_list_that_says_it_is_no_answer(error: WebSearchError, reason: str, code: str) -> None:
    result = await search(engine=FakeEngine(error))(ask())
    assert (result.status, result.fallback_used, result.fallback_reason) == ("partial_success", True, reason)
    assert result.content.split(".")[0].endswith(f"not an answer: the answer engine failed ({reason})")
    assert {source.provider for source in result.sources} == {"tavily_fallback"}
    assert result.error_detail is not None
    assert result.error_detail.code == code


@pytest.mark.requirement("OURS-09")
async def test_source_fallback_never_gives_an_error_with_empty_content() -> None:
    rules = SearchRules(source_fallback="never")
    result = await search(engine=FakeEngine(Unreachable("down", provider="grok")), rules=rules)(ask())
    assert (result.status, result.error, result.content) == ("error", "grok_primary_failed", "")
    assert result.next_action


@pytest.mark.requirement("P5-TOOLS-05")
async def test_both_legs_failing_is_an_error_with_a_reason_for_each() -> None:
    finder = FakeFinder(AllFailed("all", (AuthRejected("tavily answers 401", provider="tavily"),)), name="tavily")
    result = await search(engine=FakeEngine(Unreachable("down", provider="grok")), finder=finder)(ask())
    assert (result.status, result.error, result.sources) == ("error", "grok_primary_failed", ())
    assert [note.code for note in result.notes] == ["tavily_all_keys_unavailable"]
    assert result.next_action is not None
    assert "fails the same way" in result.next_action


async def test_failed_searches_are_not_kept() -> None:
    cache = FakeCache()
    result = await search(engine=FakeEngine(Unreachable("x", provider="grok")), finder=NO_FINDER, cache=cache)(ask())
    page = await Sources(cache=cache)(SourcesRequest(session_id=result.session_id))
    assert (page.status, page.error) == ("error", "session_id_not_found_or_expired")


@pytest.mark.requirement("OURS-10", "EDGE-15")
async def test_an_answer_without_any_search_is_asked_for_once_more_and_then_not_trusted() -> None:
    memory = Answer(text="From memory.", engine="grok_responses", searched=False)
    engine = FakeEngine(memory)
    result = await search(engine=engine)(ask())
    assert len(engine.asked) == 2
    assert (result.status, result.fallback_reason) == ("partial_success", "grok_no_search")
    assert result.unverified_answer == "From memory."
    assert "From memory" not in result.content
    assert "From memory" not in str(result.error_detail)


async def test_the_second_try_counts_when_it_searched() -> None:
    engine = FakeEngine([Answer(text="From memory.", engine="grok_responses", searched=False), ANSWER])
    assert (await search(engine=engine)(ask())).content == "It is so."


async def test_a_search_that_names_no_source_is_not_trusted_either() -> None:
    bare = Answer(text="I looked.", engine="grok_responses", searched=True)
    result = await search(engine=FakeEngine(bare), finder=NO_FINDER)(ask())
    assert (result.status, result.error, result.fallback_reason) == ("error", "grok_no_search_evidence", "grok_sources_empty")
    assert (result.content, result.unverified_answer) == ("", "I looked.")


@pytest.mark.requirement("P5-PROTOCOL-05")
async def test_where_the_protocol_cannot_show_a_search_the_answer_stands_with_a_note() -> None:
    chat = Answer(text="Seven.", engine="openai_compatible", searched=None)
    result = await search(engine=FakeEngine(chat), finder=NO_FINDER)(ask())
    assert (result.status, result.sources_count) == ("success", 0)
    assert [note.code for note in result.notes] == ["no_search_evidence"]


@pytest.mark.requirement("OURS-11")
@pytest.mark.parametrize(("rule", "searched", "status"), [("always", None, "error"), ("never", False, "success")])
async def test_the_operator_can_force_either_verdict(rule: str, searched: bool | None, status: str) -> None:
    bare = Answer(text="Seven.", engine="openai_compatible", searched=searched)
    rules = SearchRules(require_sources=rule)  # type: ignore[arg-type]
    result = await search(engine=FakeEngine(bare), finder=NO_FINDER, rules=rules)(ask())
    assert result.status == status


async def test_a_blank_answer_is_no_answer() -> None:
    result = await search(engine=FakeEngine(Answer(text=" \n", engine="x", searched=True)), finder=NO_FINDER)(ask())
    assert (result.status, result.error, result.fallback_reason) == ("error", "grok_empty_answer", "grok_content_empty")


@pytest.mark.requirement("OURS-21")
async def test_filters_are_kept_whoever_answers() -> None:
    result = await search()(ask(include_domains=("b.example",), extra_sources=3))
    assert (result.status, result.fallback_reason) == ("partial_success", "grok_sources_filtered")
    assert [source.url for source in result.sources] == ["https://b.example/2"]
    kept = await search()(ask(exclude_domains=("b.example",), extra_sources=3))
    assert [source.url for source in kept.sources] == ["https://a.example/1"]


@pytest.mark.requirement("OURS-21")
async def test_old_sources_go_and_undated_ones_are_counted() -> None:
    sources = (dataclasses.replace(CITED, published="2001-01-01"), Source(url="https://c.example/", evidence="cited"))
    answer = dataclasses.replace(ANSWER, sources=sources)
    result = await search(engine=FakeEngine(answer), finder=NO_FINDER)(ask(fresh_within="month"))
    assert [source.url for source in result.sources] == ["https://c.example/"]
    assert [note.code for note in result.notes] == ["filtered_by_date", "date_unknown"]


@pytest.mark.requirement("OURS-29")
async def test_without_an_engine_the_result_is_verbatim_extracts_and_says_so() -> None:
    found = SourceList(
        items=(Source(url="file:///doc.md", title="Doc", description="The exact words.", provider="library"),), provider="library"
    )
    result = await search(engine=NoEngine(), finder=FinderChain([FakeFinder(found, name="library")]))(ask())
    assert (result.status, result.search_provider, result.fallback_used) == ("success", "library", False)
    assert result.content.startswith("Verbatim extracts from 1 page found by library; no model wrote")
    assert "The exact words." in result.content
    assert result.sources[0].provider == "library"


async def test_neither_engine_nor_hit_is_a_loud_error_that_says_what_could_help() -> None:
    note = Note(code="library_empty", text="add pages", provider="library")
    finder = FinderChain([FakeFinder(SourceList(provider="library", notes=(note,)), name="library")])
    result = await search(engine=NoEngine(), finder=finder)(ask())
    assert (result.status, result.error) == ("error", "search_no_results")
    assert "library_empty" in [one.code for one in result.notes]
    assert result.next_action


@pytest.mark.requirement("P5-PROTOCOL-10")
async def test_neither_engine_nor_finder_names_the_settings() -> None:
    result = await search(engine=NoEngine(), finder=NO_FINDER)(ask())
    assert (result.status, result.sources) == ("error", ())
    assert result.error_detail is not None
    assert result.error_detail.code == "finder_not_configured"


async def test_an_engine_that_does_not_end_leaves_time_for_the_sources() -> None:
    gate: Gate[Answer] = Gate(ANSWER)
    result = await search(engine=FakeEngine(gate), rules=SearchRules(deadline_s=0.05))(ask(extra_sources=0))
    assert (result.status, result.fallback_reason, result.pending_until) == ("partial_success", "grok_timeout", "")
    assert result.sources_count == 2
    assert gate.cancelled == 1


@pytest.mark.requirement("OURS-19")
async def test_an_answer_that_comes_after_its_caller_has_left_is_under_the_session_and_paid_once() -> None:
    """Clients that stop waiting get what there is; the finished answer costs no second search."""
    gate: Gate[Answer] = Gate(ANSWER)
    engine, cache = FakeEngine(gate), FakeCache()
    use = search(engine=engine, cache=cache)
    early = await use(ask(), within_s=0.02)
    assert (early.status, early.fallback_used, early.sources_count) == ("partial_success", True, 2)
    assert early.pending_until
    assert early.session_id in (early.next_action or "")
    sources = Sources(cache=cache)
    meanwhile = await sources(SourcesRequest(session_id=early.session_id, start=0))
    assert (meanwhile.status, meanwhile.total_sources) == ("partial_success", 2)
    assert meanwhile.pending_until == early.pending_until
    again = asyncio.create_task(use(ask(), within_s=5))
    gate.release()
    second = await again
    assert (second.status, second.content) == ("success", "It is so.")
    late = await sources(SourcesRequest(session_id=early.session_id, start=0))
    assert (late.status, late.content, late.pending_until) == ("success", "It is so.", "")
    assert len(engine.asked) == 1


async def test_a_finder_that_does_not_end_is_not_kept_with_the_late_engine() -> None:
    """It would hold its key, and the next search would wait for that."""
    gate, found = Gate[Answer](ANSWER), Gate[SourceList](FOUND)
    use = search(engine=FakeEngine(gate), finder=FakeFinder(found, name="tavily"))
    early = await use(ask(), within_s=0.02)
    assert early.pending_until
    assert (gate.cancelled, found.cancelled) == (0, 1)
    await use.running.aclose()
    assert gate.cancelled == 1


async def test_a_late_failure_is_told_under_the_session() -> None:
    gate: Gate[Answer] = Gate(Unreachable("down", provider="grok"))
    cache = FakeCache()
    use = search(engine=FakeEngine(gate), finder=NO_FINDER, cache=cache)
    early = await use(ask(), within_s=0.02)
    assert (early.status, early.error, early.content) == ("error", "grok_total_budget_exhausted", "")
    assert early.session_id in (early.next_action or "")
    gate.release()
    while (late := await Sources(cache=cache)(SourcesRequest(session_id=early.session_id))).pending_until:
        await asyncio.sleep(0)
    assert (late.status, late.error) == ("error", "grok_primary_failed")


async def test_an_answer_that_never_came_is_no_longer_promised() -> None:
    gate: Gate[Answer] = Gate(ANSWER)
    cache = FakeCache()
    use = search(engine=FakeEngine(gate), cache=cache)
    early = await use(ask(), within_s=0.02)
    after = datetime.fromisoformat(early.pending_until).timestamp() + 1
    late = await Sources(cache=cache, now=lambda: after)(SourcesRequest(session_id=early.session_id))
    assert (late.status, late.pending_until, late.total_sources) == ("partial_success", "", 2)
    await use.running.aclose()
    assert gate.cancelled == 1


async def test_identical_questions_under_way_are_paid_for_once() -> None:
    gate: Gate[Answer] = Gate(ANSWER)
    engine, finder = FakeEngine(gate), FakeFinder(FOUND, name="tavily")
    use = search(engine=engine, finder=finder)
    calls = [asyncio.create_task(use(ask())) for _ in range(5)]
    await gate.until_entered()
    calls[0].cancel()
    gate.release()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert {one.content for one in results[1:]} == {"It is so."}  # type: ignore[union-attr]
    assert (len(engine.asked), len(finder.asked)) == (1, 1)
    assert gate.cancelled == 0


async def test_a_cancelled_search_cancels_both_legs() -> None:
    asked: Gate[Answer] = Gate(ANSWER)
    found: Gate[SourceList] = Gate(FOUND)
    task = asyncio.create_task(search(engine=FakeEngine(asked), finder=FakeFinder(found))(ask()))
    await asked.until_entered()
    await found.until_entered()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (asked.cancelled, found.cancelled) == (1, 1)


async def test_the_same_question_is_answered_from_the_cache_with_a_note() -> None:
    engine = FakeEngine(ANSWER)
    use = search(engine=engine)
    first, second = await use(ask("What is it?")), await use(ask("  what IS it? "))
    assert len(engine.asked) == 1
    assert (second.session_id, second.content) == (first.session_id, first.content)
    assert second.notes[-1].code == "from_cache"


async def test_partial_results_are_never_served_again() -> None:
    engine = FakeEngine([Unreachable("down", provider="grok"), ANSWER])
    use = search(engine=engine)
    assert (await use(ask())).status == "partial_success"
    assert (await use(ask())).content == "It is so."


@pytest.mark.requirement("RS-ENRICH-02")
async def test_page_texts_come_on_request_and_a_missing_one_is_a_note() -> None:
    pages = ExtractorChain([FakeExtractor({"https://a.example/1": "# One\n\nText of one."})])
    result = await search(extractor=pages)(ask(include_content=True))
    assert result.sources[0].content == "# One\n\nText of one."
    assert [note.code for note in result.notes] == ["content_missing"]
    assert "https://b.example/2" in result.notes[0].text


async def test_control_characters_of_the_engine_do_not_come_through() -> None:
    dirty = dataclasses.replace(
        ANSWER, text="a\x1b[31mred\x07\u202e b", sources=(dataclasses.replace(CITED, title="t\x00\x1b]0;x\x07"),)
    )
    result = await search(engine=FakeEngine(dirty))(ask())
    assert (result.content, result.sources[0].title) == ("ared b", "t")


async def test_a_fault_of_ours_is_not_dressed_up_as_an_outcome() -> None:
    with pytest.raises(ZeroDivisionError):
        await search(engine=FakeEngine(ZeroDivisionError()))(ask())


async def test_the_span_tells_the_outcome_and_nothing_of_the_question() -> None:
    observer = RecordingObserver()
    await search(observe=observer)(ask("very private words"))
    (span,) = observer.named("search")
    assert span.facts["outcome"] == "success"
    assert "private" not in str(span.facts)


async def test_no_engine_refuses_by_naming_settings() -> None:
    with pytest.raises(NotConfigured) as caught:
        await NoEngine().answer(ask())
    assert "XAI_API_KEY" in (caught.value.hint or "")


async def test_rate_limits_carry_the_wait_into_the_detail() -> None:
    error = RateLimited("grok answers 429", provider="grok", retry_after_s=7, http_status=429)
    result = await search(engine=FakeEngine(error), finder=NO_FINDER)(ask())
    assert result.error_detail is not None
    assert (result.error_detail.retryable, result.error_detail.diagnostics["retry_after_seconds"]) == (True, 7)
