"""Laws of a plan's order: rings are found, and whatever passes the checks is ordered with dependencies first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from websearch_core.planning import order
from websearch_core.planning.values import PlanSubQuery

NAMES = st.sampled_from("abcdefgh")
PLANS = st.dictionaries(NAMES, st.lists(NAMES, max_size=4, unique=True), max_size=8)


def parts(plan: dict[str, list[str]]) -> tuple[PlanSubQuery, ...]:
    common = {"session_id": "s", "goal": "g", "expected_output": "o", "boundary": "b"}
    return tuple(PlanSubQuery(id=name, depends_on=tuple(before), **common) for name, before in plan.items())  # type: ignore[arg-type]


@given(plan=PLANS)
def test_a_ring_is_one_and_its_absence_means_an_order_with_dependencies_first(plan: dict[str, list[str]]) -> None:
    known = {name: [one for one in before if one in plan] for name, before in plan.items()}
    ring = order.cycle(parts(known))
    if ring:
        assert all(second in known[first] for first, second in zip(ring, (*ring[1:], ring[0]), strict=True))
        return
    groups = order.groups(parts(known), None)
    turn = {name: number for number, group in enumerate(groups) for name in group}
    assert sorted(name for group in groups for name in group) == sorted(known)
    assert all(turn[one] < turn[name] for name, before in known.items() for one in before)


@given(plan=PLANS)
def test_unknown_ids_are_those_that_no_part_has(plan: dict[str, list[str]]) -> None:
    assert set(order.unknown_ids(parts(plan))) == {one for before in plan.values() for one in before} - set(plan)
