"""Use case: take a step of a plan, keep it with its session, and say what is still missing."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websearch_core import budget, outcome
from websearch_core.errors import InvalidParams, InvalidPlan, PlanIncomplete, UnknownSession, WebSearchError
from websearch_core.planning import order
from websearch_core.planning.values import (
    MAX_ITEMS,
    PHASES,
    Phase,
    Plan,
    PlanComplexity,
    PlanExecution,
    PlanIntent,
    PlanResult,
    PlanSearchTerm,
    PlanStep,
    PlanSubQuery,
    PlanToolMapping,
    Step,
)
from websearch_core.ports import Cache
from websearch_core.values import Note

__all__ = ["RecordPlan", "complete", "kept_plan", "remaining"]

MAX_CHARS = 24_000
NOT_SHOWN = Note(code="result_cut", text="the plan is too long to be shown; it is complete, kept, and can be run")
TTL_S = 3_600.0
"""A plan is forgotten an hour after its last step."""
NEEDED = {1: PHASES[:3], 2: PHASES[:5], 3: PHASES}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlan:
    """`await record(PlanIntent(…))`; the same object takes all six steps."""

    cache: Cache
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex[:12]
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, step: Step, /, *, within_s: float | None = None) -> PlanResult:  # noqa: ARG002 - all use cases take it
        """The plan after this step: partial until all phases of its level are there. A refused step changes nothing."""
        async with self._one_at_a_time:
            try:
                plan = await self._plan(step)
                plan = taken(plan, step)
            except WebSearchError as error:
                return outcome.failed(PlanResult(session_id=step.session_id), error, "plan")
            await self.cache.put(f"plan:{plan.session_id}", plan, ttl_s=TTL_S)
        return as_it_stands(plan)

    async def _plan(self, step: Step) -> Plan:
        if step.session_id:
            return await kept_plan(self.cache, step.session_id)
        return Plan(session_id=self.new_id())


async def kept_plan(cache: Cache, session_id: str) -> Plan:
    """The plan of this session.

    Raises:
        UnknownSession: it was never begun here, or has been idle for an hour.
    """
    plan = await cache.get(f"plan:{session_id}", Plan)
    if plan is None:
        hint = "Begin a plan with plan_intent, without session_id."
        facts = {"session_id": session_id}
        raise UnknownSession("this plan is unknown or has expired", provider="planning", hint=hint, diagnostics=facts)
    return plan


def taken(plan: Plan, step: Step) -> Plan:
    """The plan with this step in it.

    Raises:
        InvalidPlan: an unknown id, a ring of dependencies, an order against them, or too many parts.
        InvalidParams: `params_json` is no JSON object.
    """
    match step:
        case PlanIntent():
            return dataclasses.replace(plan, intent=step)
        case PlanComplexity():
            return dataclasses.replace(plan, complexity=step)
        case PlanSubQuery():
            return _with_sub_query(plan, step)
        case PlanSearchTerm():
            return _with_term(plan, step)
        case PlanToolMapping():
            return _with_mapping(plan, step)
        case PlanExecution():
            order.require_order(step, plan.sub_queries)
            return dataclasses.replace(plan, execution=step)


def remaining(plan: Plan) -> tuple[Phase, ...]:
    """Phases that the plan's level wants and that hold nothing; without a level all that hold nothing."""
    needed = NEEDED[plan.complexity.level] if plan.complexity else PHASES
    return tuple(phase for phase in needed if not _held(plan)[phase])


def complete(plan: Plan) -> bool:
    """Whether every phase of its level is there and every dependency names a part of the plan."""
    return plan.complexity is not None and not remaining(plan) and not order.unknown_ids(plan.sub_queries)


def as_it_stands(plan: Plan) -> PlanResult:
    """The plan as the outcome of a step."""
    held = _held(plan)
    result = PlanResult(
        session_id=plan.session_id,
        completed_phases=tuple(phase for phase in PHASES if held[phase]),
        complexity_level=plan.complexity.level if plan.complexity else None,
        plan_complete=complete(plan),
        phases_remaining=remaining(plan),
        notes=tuple(
            Note(code="planning_unknown_dependency", text=f"no sub-query {name[:64]!r} yet; add it, or send its dependant again")
            for name in order.unknown_ids(plan.sub_queries)
        ),
    )
    if result.plan_complete:
        whole = dataclasses.replace(result, executable_plan={phase: held[phase] for phase in PHASES if held[phase]})
        return whole if budget.json_chars(whole) <= MAX_CHARS else dataclasses.replace(result, notes=(*result.notes, NOT_SHOWN))
    return outcome.partly(result, incomplete(plan), "plan")


def incomplete(plan: Plan) -> PlanIncomplete:
    """What is missing, as an error that names the next tool."""
    left = remaining(plan)
    missing = ", ".join(left) or "a sub-query that another one depends on"
    next_tool = TOOLS[PHASES.index(left[0] if left else "query_decomposition")]
    error = PlanIncomplete(
        f"the plan lacks {missing}",
        provider="planning",
        hint=f"Go on with {next_tool} and session_id={plan.session_id}.",
        diagnostics={"phases_remaining": list(left)},
    )
    error.repeatable = True  # the same call succeeds once the rest is there
    return error


TOOLS = ("plan_intent", "plan_complexity", "plan_sub_query", "plan_search_term", "plan_tool_mapping", "plan_execution")
"""In the order of `PHASES`."""


def _with_sub_query(plan: Plan, step: PlanSubQuery) -> Plan:
    others = () if step.is_revision else tuple(one for one in plan.sub_queries if one.id != step.id)
    place = next((number for number, one in enumerate(plan.sub_queries) if one.id == step.id), len(others))
    place = min(place, len(others))
    parts = (*others[:place], step, *others[place:])
    _require_room(parts)
    if ring := order.cycle(parts):
        raise InvalidPlan(f"these sub-queries would wait for each other: {' → '.join((*ring, ring[0]))}"[:500])
    return dataclasses.replace(plan, sub_queries=parts)


def _with_term(plan: Plan, step: PlanSearchTerm) -> Plan:
    if step.is_revision:
        plan = dataclasses.replace(plan, search_terms=(), approach="", fallback_plan="")
    terms = (*plan.search_terms, step)
    _require_room(terms)
    return dataclasses.replace(
        plan,
        search_terms=terms,
        approach=step.approach or plan.approach,
        fallback_plan=step.fallback_plan or plan.fallback_plan,
    )


def _with_mapping(plan: Plan, step: PlanToolMapping) -> Plan:
    params_of(step)
    order.require_known((step.sub_query_id,), plan.sub_queries, where="the mapping")
    mappings = (step,) if step.is_revision else (*plan.tools, step)
    _require_room(mappings)
    return dataclasses.replace(plan, tools=mappings)


def params_of(step: PlanToolMapping) -> dict[str, Any]:
    """The mapping's arguments.

    Raises:
        InvalidParams: they are no JSON object.
    """
    try:
        params = json.loads(step.params_json) if step.params_json.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidParams("params_json is no JSON") from error
    if not isinstance(params, dict):
        raise InvalidParams("params_json must be a JSON object, such as {} or one of names and values")
    return params


def _require_room(items: tuple[object, ...]) -> None:
    if len(items) > MAX_ITEMS:
        raise InvalidPlan(f"a phase holds at most {MAX_ITEMS} items; begin it anew with is_revision=true")


def _held(plan: Plan) -> dict[Phase, Any]:
    """Each phase's data, empty where there is none."""
    strategy = {
        "search_terms": [_data(one) for one in plan.search_terms],
        "approach": plan.approach,
        "fallback_plan": plan.fallback_plan,
    }
    execution = plan.execution
    return {
        "intent_analysis": _data(plan.intent),
        "complexity_assessment": _data(plan.complexity),
        "query_decomposition": [_data(one) for one in plan.sub_queries],
        "search_strategy": strategy if plan.search_terms else {},
        "tool_selection": [_mapping_data(one) for one in plan.tools],
        "execution_order": execution
        and {
            "parallel": [list(group) for group in execution.groups],
            "sequential": list(execution.sequential),
            "estimated_rounds": execution.estimated_rounds,
        },
    }


NOT_DATA = frozenset(item.name for item in dataclasses.fields(PlanStep)) | {"session_id"}


def _data(step: PlanStep | None) -> dict[str, Any]:
    if step is None:
        return {}
    own = [item.name for item in dataclasses.fields(step) if item.name not in NOT_DATA | {"approach", "fallback_plan"}]
    return {name: getattr(step, name) for name in own}


def _mapping_data(step: PlanToolMapping) -> dict[str, Any]:
    data = _data(step)
    del data["params_json"]
    return {**data, "params": params_of(step)}
