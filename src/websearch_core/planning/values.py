"""The six steps of planning as a caller sends them, the plan they add up to, and the outcome of each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from annotated_types import Interval, Len

from websearch_core.values import SCHEMA, Outcome, within_limits

__all__ = [
    "PHASES",
    "Phase",
    "Plan",
    "PlanComplexity",
    "PlanExecution",
    "PlanIntent",
    "PlanResult",
    "PlanSearchTerm",
    "PlanStep",
    "PlanSubQuery",
    "PlanTool",
    "PlanToolMapping",
    "Step",
]

Phase: TypeAlias = Literal[
    "intent_analysis",
    "complexity_assessment",
    "query_decomposition",
    "search_strategy",
    "tool_selection",
    "execution_order",
]
PHASES: tuple[Phase, ...] = (
    "intent_analysis",
    "complexity_assessment",
    "query_decomposition",
    "search_strategy",
    "tool_selection",
    "execution_order",
)
PlanTool: TypeAlias = Literal["web_search", "web_fetch", "web_map"]
Words = Annotated[str, Len(1, 4_000)]
Id = Annotated[str, Len(1, 64)]
MAX_ITEMS = 50
"""Sub-queries, terms or mappings of one plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """What every step may say beside its own fields."""

    __pydantic_config__: ClassVar = SCHEMA

    confidence: Annotated[float, Interval(ge=0, le=1)] = 1.0
    """How sure this step is."""
    is_revision: bool = False
    """Replace what this phase holds."""
    thought: Annotated[str, Len(0, 4_000)] = ""
    """Why."""

    def __post_init__(self) -> None:
        within_limits(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanIntent(PlanStep):
    """Phase intent_analysis: what is really asked. Without session_id it begins a plan."""

    core_question: Words
    """The question in one sentence."""
    query_type: Literal["factual", "comparative", "exploratory", "analytical"]
    time_sensitivity: Literal["realtime", "recent", "historical", "irrelevant"]
    session_id: Annotated[str, Len(0, 64)] = ""
    """Only to change an earlier plan."""
    domain: Annotated[str, Len(0, 200)] = ""
    premise_valid: bool | None = None
    """Whether the question's premise holds."""
    ambiguities: Annotated[tuple[str, ...], Len(0, MAX_ITEMS)] = ()
    unverified_terms: Annotated[tuple[str, ...], Len(0, MAX_ITEMS)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanComplexity(PlanStep):
    """Phase complexity_assessment: how much planning the question deserves."""

    session_id: Id
    level: Annotated[int, Interval(ge=1, le=3)]
    """1: three phases, 2: five, 3: all six."""
    estimated_sub_queries: Annotated[int, Interval(ge=1, le=20)]
    estimated_tool_calls: Annotated[int, Interval(ge=1, le=50)]
    justification: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSubQuery(PlanStep):
    """Phase query_decomposition: one part of the question. Sent again with the same id it takes the part's place."""

    session_id: Id
    id: Id
    """Short name, e.g. q1."""
    goal: Words
    """What this part finds out."""
    expected_output: Words
    boundary: Words
    """What it leaves out."""
    depends_on: Annotated[tuple[str, ...], Len(0, MAX_ITEMS)] = ()
    """Ids that come first."""
    tool_hint: Literal["web_search", "web_fetch", "web_map", ""] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSearchTerm(PlanStep):
    """Phase search_strategy: words to search with."""

    session_id: Id
    term: Words
    purpose: Words
    """Id of the sub-query, or why."""
    round: Annotated[int, Interval(ge=1, le=20)]
    """Later rounds are tried when earlier ones find nothing."""
    approach: Literal["broad_first", "narrow_first", "targeted", ""] = ""
    fallback_plan: Annotated[str, Len(0, 4_000)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanToolMapping(PlanStep):
    """Phase tool_selection: which tool answers a sub-query."""

    session_id: Id
    sub_query_id: Id
    tool: PlanTool
    reason: Words
    params_json: Annotated[str, Len(0, 8_000)] = ""
    """The tool's arguments as a JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExecution(PlanStep):
    """Phase execution_order: what runs together and what after it."""

    session_id: Id
    parallel_groups: Annotated[str, Len(0, 4_000)]
    """Ids by comma, groups by semicolon: q1,q2;q3"""
    sequential: Annotated[tuple[str, ...], Len(0, MAX_ITEMS)]
    """Ids that run after the groups, one by one."""
    estimated_rounds: Annotated[int, Interval(ge=1, le=20)]

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups without blanks, in order."""
        parted = (tuple(name.strip() for name in group.split(",") if name.strip()) for group in self.parallel_groups.split(";"))
        return tuple(group for group in parted if group)


Step: TypeAlias = PlanIntent | PlanComplexity | PlanSubQuery | PlanSearchTerm | PlanToolMapping | PlanExecution


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps of one session so far."""

    session_id: str
    intent: PlanIntent | None = None
    complexity: PlanComplexity | None = None
    sub_queries: tuple[PlanSubQuery, ...] = ()
    search_terms: tuple[PlanSearchTerm, ...] = ()
    approach: str = ""
    """The last one named, like `fallback_plan`."""
    fallback_plan: str = ""
    tools: tuple[PlanToolMapping, ...] = ()
    execution: PlanExecution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult(Outcome):
    """The outcome of a planning step."""

    session_id: str = ""
    completed_phases: tuple[str, ...] = ()
    complexity_level: int | None = None
    plan_complete: bool = False
    phases_remaining: tuple[str, ...] = ()
    executable_plan: dict[str, object] | None = None
    """Phase → what it holds; set when the plan is complete. Run it with web_search and plan=session_id."""
