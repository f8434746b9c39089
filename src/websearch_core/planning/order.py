"""Does a plan hold together, and in which order is it done? Pure judgements over its ids.

A plan's order is a list of groups; the members of a group may run side by side, and a group begins when the one before has
ended.
"""

from __future__ import annotations

from collections.abc import Iterable

from websearch_core.errors import InvalidPlan
from websearch_core.planning.values import PlanExecution, PlanSubQuery

__all__ = ["cycle", "groups", "require_known", "require_order", "unknown_ids"]


def unknown_ids(sub_queries: Iterable[PlanSubQuery]) -> tuple[str, ...]:
    """Ids that some sub-query depends on and that none has, each once."""
    sub_queries = tuple(sub_queries)
    known = {one.id for one in sub_queries}
    return tuple(dict.fromkeys(name for one in sub_queries for name in one.depends_on if name not in known))


def cycle(sub_queries: Iterable[PlanSubQuery]) -> tuple[str, ...]:
    """Ids that wait for each other in a ring, in ring order; empty where there is none."""
    before = {one.id: one.depends_on for one in sub_queries}
    done: set[str] = set()
    for start in before:
        path: list[str] = []
        waiting = [iter((start,))]
        while waiting:
            name = next(waiting[-1], None)
            if name is None:
                waiting.pop()
                done.update(path[-1:])
                path = path[:-1]
            elif name in path:
                return tuple(path[path.index(name) :])
            elif name in before and name not in done:
                path.append(name)
                waiting.append(iter(before[name]))
    return ()


def groups(sub_queries: tuple[PlanSubQuery, ...], execution: PlanExecution | None) -> tuple[tuple[str, ...], ...]:
    """The order of the work: as the execution says, what it leaves out behind it; without one as early as dependencies allow."""
    said = (*execution.groups, *((name,) for name in execution.sequential)) if execution else ()
    done = {name for group in said for name in group}
    left = [one for one in sub_queries if one.id not in done]
    order = list(said)
    while left:
        ready = [one for one in left if all(name in done for name in one.depends_on)]
        if not ready:  # a plan that passed the checks never comes here
            raise InvalidPlan("the rest of the plan waits for itself")
        order.append(tuple(one.id for one in ready))
        done.update(one.id for one in ready)
        left = [one for one in left if one.id not in done]
    return tuple(order)


def require_known(names: Iterable[str], sub_queries: tuple[PlanSubQuery, ...], *, where: str) -> None:
    """Raises InvalidPlan for an id that no sub-query has."""
    known = [one.id for one in sub_queries]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidPlan(f"{where} names {unknown[0][:64]!r}, which is no sub-query; known: {', '.join(known)[:300] or 'none'}")


def require_order(execution: PlanExecution, sub_queries: tuple[PlanSubQuery, ...]) -> None:
    """Raises InvalidPlan for an unknown id, one named twice, or one that runs before or beside what it depends on."""
    said = (*execution.groups, *((name,) for name in execution.sequential))
    names = [name for group in said for name in group]
    require_known(names, sub_queries, where="the execution")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidPlan(f"the execution names {twice!r} twice")
    turn = {name: number for number, group in enumerate(said) for name in group}
    for one in sub_queries:
        late = [name for name in one.depends_on if one.id in turn and turn.get(name, len(said)) >= turn[one.id]]
        if late:
            raise InvalidPlan(f"{one.id!r} depends on {late[0]!r} and must run in a later group than it")
