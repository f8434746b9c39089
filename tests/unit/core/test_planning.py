"""Planning: what each step stores, what is refused, when a plan is complete, and what running it does."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from typing import Any

import pytest

from websearch_core import progress
from websearch_core.errors import InvalidInput, Unreachable
from websearch_core.fetch import Fetch
from websearch_core.map import Map
from websearch_core.planning.record import RecordPlan
from websearch_core.planning.run import RunPlan
from websearch_core.planning.values import (
    PHASES,
    Plan,
    PlanComplexity,
    PlanExecution,
    PlanIntent,
    PlanResult,
    PlanSearchTerm,
    PlanSubQuery,
    PlanToolMapping,
    Step,
)
from websearch_core.search import Search
from websearch_core.testing.fakes import FakeCache, FakeEngine, FakeExtractor, FakeFinder, FakeMapper, Gate
from websearch_core.values import Answer, SearchQuery, SearchResult, Source

pytestmark = pytest.mark.anyio
INTENT = PlanIntent(core_question="Which pump is safer?", query_type="comparative", time_sensitivity="recent")


def complexity(session: str, level: int) -> PlanComplexity:
    return PlanComplexity(
        session_id=session, level=level, estimated_sub_queries=2, estimated_tool_calls=3, justification="two parts"
    )


def part(session: str, name: str, *before: str, **more: Any) -> PlanSubQuery:
    given: dict[str, Any] = {"goal": f"goal of {name}", "expected_output": "a fact", "boundary": "no prices", **more}
    return PlanSubQuery(session_id=session, id=name, depends_on=before, **given)


def term(session: str, words: str, purpose: str = "q1", **more: Any) -> PlanSearchTerm:
    return PlanSearchTerm(session_id=session, term=words, purpose=purpose, **{"round": 1, **more})


def mapping(session: str, name: str = "q1", tool: Any = "web_search", params: str = "", **more: Any) -> PlanToolMapping:
    return PlanToolMapping(session_id=session, sub_query_id=name, tool=tool, reason="fits", params_json=params, **more)


def execution(session: str, groups: str, *then: str) -> PlanExecution:
    return PlanExecution(session_id=session, parallel_groups=groups, sequential=then, estimated_rounds=1)


async def begun(record: RecordPlan, *steps: Any, level: int = 1) -> str:
    """A plan with intent, level and these steps; each is made from the session's id."""
    session = (await record(INTENT)).session_id
    for step in (lambda name: complexity(name, level), *steps):
        result = await record(step(session))
        assert result.status != "error", result.error_detail
    return session


def recorder(cache: FakeCache | None = None) -> RecordPlan:
    return RecordPlan(cache=cache or FakeCache())


# --- recording


@pytest.mark.requirement("P5-PLAN-01")
@pytest.mark.parametrize(("level", "needed"), [(1, 3), (2, 5), (3, 6)])
async def test_a_plan_is_complete_when_it_holds_the_phases_of_its_level(level: int, needed: int) -> None:
    record = recorder()
    first = await record(INTENT)
    assert (first.status, first.error_detail and first.error_detail.code) == ("partial_success", "planning_incomplete")
    assert (len(first.session_id), first.phases_remaining) == (12, PHASES[1:])
    session = first.session_id
    steps: list[Step] = [
        complexity(session, level),
        part(session, "q1"),
        term(session, "pump recall"),
        mapping(session),
        execution(session, "q1"),
    ]
    results = [await record(step) for step in steps]
    assert [result.plan_complete for result in results] == [number + 2 >= needed for number in range(5)]
    done = results[needed - 2]
    assert (done.status, done.phases_remaining, done.complexity_level) == ("success", (), level)
    assert tuple(done.executable_plan or {}) == PHASES[:needed]


async def test_a_step_that_leaves_phases_open_names_the_next_tool() -> None:
    record = recorder()
    session = await begun(record)
    left = await record(complexity(session, 2))
    assert left.error_detail is not None
    assert left.error_detail.diagnostics == {"phases_remaining": ["query_decomposition", "search_strategy", "tool_selection"]}
    assert left.error_detail.retryable is True
    assert left.next_action == f"Go on with plan_sub_query and session_id={session}."


@pytest.mark.requirement("P5-PLAN-02")
async def test_a_session_that_nobody_began_is_an_error_that_names_it() -> None:
    for step in (complexity("0123456789ab", 1), dataclasses.replace(INTENT, session_id="0123456789ab")):
        result = await recorder()(step)
        assert (result.status, result.error, result.session_id) == ("error", "planning_session_not_found", "0123456789ab")
        assert result.error_detail is not None
        assert result.error_detail.diagnostics["session_id"] == "0123456789ab"
        assert "plan_intent" in (result.next_action or "")


@pytest.mark.requirement("P5-PLAN-03")
@pytest.mark.parametrize("params", ["{", "[1]", '"text"', "7", "null", "[" * 5_000])
async def test_arguments_that_are_no_json_object_are_refused_and_store_nothing(params: str) -> None:
    record = recorder()
    session = await begun(record, lambda name: part(name, "q1"), lambda name: term(name, "words"), level=2)
    result = await record(mapping(session, params=params))
    assert (result.status, result.error) == ("error", "planning_invalid_params_json")
    again = await record(mapping(session, params='{"depth": "deep"}'))
    assert again.executable_plan is not None
    assert again.executable_plan["tool_selection"] == [
        {"sub_query_id": "q1", "tool": "web_search", "reason": "fits", "params": {"depth": "deep"}}
    ]


@pytest.mark.requirement("P5-PLAN-04")
async def test_parts_and_mappings_add_up_and_a_revision_starts_them_anew() -> None:
    record = recorder()
    session = await begun(record, lambda name: part(name, "q1"), lambda name: part(name, "q2"))
    assert await ids(record, session) == ["q1", "q2"]
    await record(part(session, "q3", is_revision=True))
    assert await ids(record, session) == ["q3"]


async def test_a_part_sent_again_takes_its_own_place() -> None:
    record = recorder()
    session = await begun(record, *(functools.partial(part, name=one) for one in ("q1", "q2", "q3")))
    await record(part(session, "q2", goal="another goal"))
    plan = (await record(complexity(session, 1))).executable_plan or {}
    assert [(one["id"], one["goal"]) for one in plan["query_decomposition"]] == [  # type: ignore[attr-defined]
        ("q1", "goal of q1"),
        ("q2", "another goal"),
        ("q3", "goal of q3"),
    ]


async def ids(record: RecordPlan, session: str) -> list[str]:
    plan = (await record(complexity(session, 1))).executable_plan or {}
    return [one["id"] for one in plan["query_decomposition"]]  # type: ignore[attr-defined]


@pytest.mark.requirement("P5-PLAN-05")
async def test_terms_add_up_and_the_last_approach_counts() -> None:
    record = recorder()
    session = await begun(record, lambda name: part(name, "q1"), mapping, level=2)
    await record(term(session, "one", approach="broad_first", fallback_plan="ask a librarian"))
    result = await record(term(session, "two", approach="targeted"))
    plan = result.executable_plan or {}
    strategy: Any = plan["search_strategy"]
    assert [one["term"] for one in strategy["search_terms"]] == ["one", "two"]
    assert (strategy["approach"], strategy["fallback_plan"]) == ("targeted", "ask a librarian")
    assert set(strategy["search_terms"][0]) == {"term", "purpose", "round"}
    revised: Any = (await record(term(session, "three", is_revision=True))).executable_plan or {}
    assert [one["term"] for one in revised["search_strategy"]["search_terms"]] == ["three"]
    assert (revised["search_strategy"]["approach"], revised["search_strategy"]["fallback_plan"]) == ("", "")


@pytest.mark.requirement("P5-PLAN-06")
async def test_groups_are_parted_by_semicolon_and_ids_by_comma_without_blanks() -> None:
    record = recorder()
    names = [functools.partial(part, name=one) for one in ("a", "b", "c", "d")]
    session = await begun(record, *names, lambda name: term(name, "t"), lambda name: mapping(name, "a"), level=3)
    result = await record(execution(session, " a, b ,; ;c, ", "d"))
    plan: Any = result.executable_plan
    assert plan["execution_order"] == {"parallel": [["a", "b"], ["c"]], "sequential": ["d"], "estimated_rounds": 1}


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda name: part(name, "q1", "q1"), "wait for each other: q1 → q1"),
        (lambda name: part(name, "q1", "q3"), "q1 → q3 → q2 → q1"),
        (lambda name: mapping(name, "q9"), "'q9', which is no sub-query; known: q1, q2, q3"),
        (lambda name: execution(name, "q1,q9"), "'q9', which is no sub-query"),
        (lambda name: execution(name, "q1;q1"), "'q1' twice"),
        (lambda name: execution(name, "q1,q2;q3"), "'q2' depends on 'q1' and must run in a later group"),
        (lambda name: execution(name, "q2", "q1"), "'q2' depends on 'q1'"),
    ],
)
async def test_a_step_against_the_dependencies_is_refused_and_changes_nothing(step: Any, words: str) -> None:
    record = recorder()
    chain = (lambda name: part(name, "q1"), lambda name: part(name, "q2", "q1"), lambda name: part(name, "q3", "q2"))
    session = await begun(record, *chain)
    before = await record(complexity(session, 1))
    result = await record(step(session))
    assert (result.status, result.error) == ("error", "planning_invalid_plan")
    assert result.error_detail is not None
    assert words in result.error_detail.message
    assert await record(complexity(session, 1)) == before


async def test_a_dependency_on_a_part_still_to_come_is_noted_and_keeps_the_plan_open() -> None:
    record = recorder()
    session = await begun(record)
    early = await record(part(session, "q2", "q1"))
    assert (early.status, early.plan_complete, early.phases_remaining) == ("partial_success", False, ())
    assert [note.code for note in early.notes] == ["planning_unknown_dependency"]
    assert early.next_action == f"Go on with plan_sub_query and session_id={session}."
    assert (await record(part(session, "q1"))).plan_complete is True


async def test_a_phase_holds_fifty_items_and_says_so() -> None:
    record = recorder()
    session = await begun(record)
    results = [await record(part(session, f"q{number}")) for number in range(51)]
    assert [result.status for result in results[:50]] == ["success"] * 50
    assert (results[50].error, results[50].next_action is not None) == ("planning_invalid_plan", True)


async def test_steps_sent_side_by_side_are_all_kept() -> None:
    record = recorder()
    session = await begun(record)
    await asyncio.gather(*(record(part(session, f"q{number}")) for number in range(20)))
    assert len(await ids(record, session)) == 20


@pytest.mark.parametrize("confidence", [-0.1, 1.5, float("nan"), True, "high"])
def test_confidence_is_a_share(confidence: Any) -> None:
    with pytest.raises(InvalidInput, match="confidence must be"):
        dataclasses.replace(INTENT, confidence=confidence)


# --- running


def runner(cache: FakeCache, **ports: Any) -> RunPlan:
    extractor = ports.get("extractor", FakeExtractor())
    search = Search(
        engine=ports.get("engine", FakeEngine()), finder=ports.get("finder", FakeFinder()), extractor=extractor, cache=cache
    )
    fetch, site = Fetch(extractor=extractor, cache=cache), Map(mapper=ports.get("mapper", FakeMapper()), cache=cache)
    return RunPlan(search=search, fetch=fetch, map=site, cache=cache)


async def test_a_plan_runs_its_groups_in_order_into_one_result_with_all_sources() -> None:
    cache, engine = FakeCache(), FakeEngine()
    parts = (lambda name: part(name, "q1"), lambda name: part(name, "q2"), lambda name: part(name, "q3", "q1", "q2"))
    session = await begun(recorder(cache), *parts)
    told: list[str] = []
    with progress.heard_by(lambda text, done, total: told.append(f"{text} {done}/{total}")):
        result = await runner(cache, engine=engine)(SearchQuery(query="all of it", plan=session, extra_sources=0))
    assert (result.status, result.error_detail, result.search_provider) == ("success", None, "plan")
    assert [line for line in result.content.splitlines() if line.startswith("## ")] == [
        "## q1: goal of q1",
        "## q2: goal of q2",
        "## q3: goal of q3",
    ]
    assert [query.query for query in engine.asked] == ["goal of q1", "goal of q2", "goal of q3"]
    assert len({source.url for source in result.sources}) == result.sources_count
    assert told == ["plan: q1, q2 0/3", "plan: q3 2/3"]


async def test_a_mapping_decides_the_tool_and_its_arguments_stand_above_the_query() -> None:
    cache, engine, mapper = FakeCache(), FakeEngine(), FakeMapper()
    extractor = FakeExtractor({"https://docs.example/a": "the page's text"})
    steps: list[Any] = [functools.partial(part, name=one) for one in ("s", "f", "m")]
    steps += [
        lambda name: term(name, "never used, the arguments name a query", purpose="s"),
        lambda name: mapping(name, "s", params='{"query": "exact words", "fresh_within": "week", "plan": "x", "nonsense": 1}'),
        lambda name: mapping(name, "f", "web_fetch", '{"url": "https://docs.example/a"}'),
        lambda name: mapping(name, "m", "web_map", '{"url": "https://docs.example/", "limit": 2}'),
    ]
    session = await begun(recorder(cache), *steps, level=2)
    run = runner(cache, engine=engine, extractor=extractor, mapper=mapper)
    result = await run(
        SearchQuery(query="all", plan=session, fresh_within="year", include_domains=("cited.example",), extra_sources=0)
    )
    assert [(one.query, one.fresh_within, one.include_domains, one.plan) for one in engine.asked] == [
        ("exact words", "week", ("cited.example",), "")
    ]
    assert [one.url for one in extractor.asked] == ["https://docs.example/a"]
    assert [one.limit for one in mapper.asked] == [2]
    assert "the page's text" in result.content
    assert "https://docs.example/pages/1" in {source.url for source in result.sources}


async def test_later_rounds_are_asked_only_when_earlier_ones_find_nothing() -> None:
    good = Answer(text="found", sources=(Source(url="https://a.example", evidence="cited"),), engine="e", searched=True)
    engine = FakeEngine([Unreachable("down", provider="grok"), good])
    cache = FakeCache()
    steps = (
        lambda name: part(name, "q1"),
        lambda name: term(name, "third", "for q1", round=3),
        lambda name: term(name, "second", "q1: again", round=2),
        lambda name: term(name, "first", "q1"),
        mapping,
    )
    session = await begun(recorder(cache), *steps, level=2)
    finder = FakeFinder(Unreachable("down", provider="tavily"))
    result = await runner(cache, engine=engine, finder=finder)(SearchQuery(query="all", plan=session, extra_sources=0))
    assert [one.query for one in engine.asked] == ["first", "second"]
    assert (result.status, "found" in result.content) == ("success", True)


async def test_a_part_that_fails_leaves_the_others_and_a_note() -> None:
    cache = FakeCache()
    extractor = FakeExtractor(Unreachable("down", provider="tavily"))
    steps = (
        lambda name: part(name, "q1"),
        lambda name: part(name, "q2"),
        lambda name: term(name, "t", "why"),
        lambda name: mapping(name, "q2", "web_fetch", '{"url": "https://docs.example/a"}'),
    )
    session = await begun(recorder(cache), *steps, level=2)
    result = await runner(cache, extractor=extractor)(SearchQuery(query="all", plan=session))
    assert (result.status, result.partial, result.error_detail and result.error_detail.code) == (
        "partial_success",
        True,
        "planning_parts_missing",
    )
    assert [note.text.split(":")[0] for note in result.notes if note.code.startswith("tavily")] == ["q2"]
    assert "## q1" in result.content
    assert "## q2" not in result.content


async def test_a_plan_of_which_nothing_came_is_an_error() -> None:
    cache, down = FakeCache(), Unreachable("down", provider="grok")
    session = await begun(recorder(cache), lambda name: part(name, "q1"))
    result = await runner(cache, engine=FakeEngine(down), finder=FakeFinder(down))(SearchQuery(query="all", plan=session))
    assert (result.status, result.error, result.content) == ("error", "planning_parts_missing", "")
    assert result.notes


@pytest.mark.parametrize("session", ["", "0123456789ab"])
async def test_an_unfinished_or_unknown_plan_does_not_run(session: str) -> None:
    cache, engine = FakeCache(), FakeEngine()
    plan = session or (await recorder(cache)(INTENT)).session_id
    result = await runner(cache, engine=engine)(SearchQuery(query="all", plan=plan))
    assert (result.status, engine.asked) == ("error", [])
    assert result.error == ("planning_session_not_found" if session else "planning_incomplete")


async def test_what_is_not_done_at_the_deadline_is_said_and_what_is_done_is_kept() -> None:
    cache, gate = FakeCache(), Gate(Answer(text="late", engine="e"))
    answers = FakeEngine([Answer(text="early", sources=(Source(url="https://a.example"),), engine="e", searched=True), gate])
    session = await begun(recorder(cache), lambda name: part(name, "q1"), lambda name: part(name, "q2", "q1"))
    run = runner(cache, engine=answers, finder=FakeFinder(Unreachable("down", provider="tavily")))
    result = await run(SearchQuery(query="all", plan=session, extra_sources=0), within_s=0.2)
    assert (result.status, "early" in result.content, "late" in result.content) == ("partial_success", True, False)
    assert any(note.text.startswith("q2:") for note in result.notes)
    await run.search.running.aclose()


async def test_a_plan_survives_in_the_cache_as_it_is() -> None:
    cache = FakeCache()
    session = await begun(recorder(cache), lambda name: part(name, "q1"))
    assert await cache.get(f"plan:{session}", Plan) is not None
    assert isinstance(await recorder(cache)(complexity(session, 1)), PlanResult)


async def test_a_plan_that_is_too_long_to_be_shown_is_complete_all_the_same() -> None:
    cache, engine = FakeCache(), FakeEngine()
    record = recorder(cache)
    session = await begun(record)
    results = [await record(part(session, f"q{number}", goal=f"part {number}: " + "long " * 790)) for number in range(8)]
    result = results[-1]
    assert (result.status, result.plan_complete, result.executable_plan) == ("success", True, None)
    assert [note.code for note in result.notes] == ["result_cut"]
    found = await runner(cache, engine=engine)(SearchQuery(query="all", plan=session, extra_sources=0))
    assert (found.status, len(engine.asked)) == ("success", 8)


async def test_a_run_holds_the_whole_of_each_part_and_tells_what_is_cut() -> None:
    """Each search shows five sources and as much text as fits; the plan's result is made of all of it."""
    sources = tuple(Source(url=f"https://s{number}.example/", title=f"S{number}", evidence="cited") for number in range(9))
    answer = Answer(text="A long answer. " * 400, sources=sources, engine="e", searched=True)
    cache, page = FakeCache(), "Some text of the page. " * 2_000
    steps = (
        lambda name: part(name, "q1"),
        lambda name: part(name, "q2"),
        lambda name: term(name, "t", "why"),
        lambda name: mapping(name, "q2", "web_fetch", '{"url": "https://docs.example/a", "max_chars": 2000}'),
    )
    session = await begun(recorder(cache), *steps, level=2)
    run = runner(cache, engine=FakeEngine(answer), extractor=FakeExtractor({"https://docs.example/a": page}))
    result = await run(SearchQuery(query="all", plan=session, extra_sources=0, max_chars=3_000))
    kept = await cache.get(f"session:{result.session_id}", SearchResult)
    assert kept is not None
    assert answer.text in kept.content
    assert (result.sources_count, len(kept.sources)) == (10, 10)
    assert result.next_start is not None
    assert [note.text for note in result.notes if note.text.startswith("q2: cut; web_fetch")]
