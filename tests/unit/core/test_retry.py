"""Which failures are repeated, and the waits to the second; the laws are in tests/property/test_retry.py."""

from __future__ import annotations

import math

import pytest

from websearch_core import errors
from websearch_core.errors import BadReply, OutOfTime, RateLimited, Unreachable, WebSearchError
from websearch_core.retry import RetryPolicy, delay_s, repeatable

POLICY = RetryPolicy()
PASSING = {RateLimited, Unreachable, OutOfTime, errors.QueueTimeout}


@pytest.mark.requirement("P5-CLIENT-16")
@pytest.mark.parametrize(
    ("failed", "chance", "wait_s"),
    [(1, 0.0, 0.5), (1, 1.0, 1.0), (1, 0.5, 0.75), (2, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 2.0), (3, 1.0, 4.0), (4, 0.0, 4.0),
     (4, 1.0, 8.0), (5, 0.0, 5.0), (5, 1.0, 10.0), (6, 1.0, 10.0), (10_000, 0.0, 5.0), (10_000, 1.0, 10.0)],
)  # fmt: skip
def test_waits_double_up_to_the_cap_with_the_lower_half_as_jitter(failed: int, chance: float, wait_s: float) -> None:
    assert delay_s(POLICY, failed=failed, chance=chance) == wait_s


@pytest.mark.parametrize(("chance", "wait_s"), [(-1.0, 0.5), (2.0, 1.0)])
def test_a_chance_out_of_range_counts_as_the_nearest_end(chance: float, wait_s: float) -> None:
    assert delay_s(POLICY, failed=1, chance=chance) == wait_s


@pytest.mark.requirement("P5-CLIENT-17")
@pytest.mark.parametrize(
    ("wish", "wait_s"),
    [
        (None, 1.0),
        (0.0, 1.0),
        (0.2, 1.0),
        (7.0, 7.0),
        (61.0, 61.0),
        (-7.0, 1.0),
        (math.nan, 1.0),
        (math.inf, 1.0),
        (-math.inf, 1.0),
    ],
)
def test_the_upstreams_wish_counts_when_it_is_a_longer_time(wish: float | None, wait_s: float) -> None:
    assert delay_s(POLICY, failed=1, chance=1.0, retry_after_s=wish) == wait_s


@pytest.mark.parametrize("kind", [getattr(errors, name) for name in errors.__all__])
def test_the_class_decides_whether_to_repeat(kind: type[WebSearchError]) -> None:
    assert repeatable(kind("it failed, please try again"), POLICY) is (kind in PASSING)


def test_a_call_that_has_tried_every_key_is_not_repeated() -> None:
    error = Unreachable("silent")
    error.exhausted = True
    assert not repeatable(error, POLICY)


@pytest.mark.parametrize(
    ("wish", "again"),
    [(None, True), (0.0, True), (60.0, True), (60.5, False), (-1.0, True), (math.nan, True), (math.inf, True)],
)
def test_a_wish_beyond_the_policy_ends_the_attempts(wish: float | None, again: bool) -> None:
    assert repeatable(RateLimited("slow down", retry_after_s=wish), POLICY) is again


def test_a_bad_reply_is_repeatable_where_a_relay_is_known_to_recover() -> None:
    """The instance may say so, its class does not."""
    error = BadReply("nonsense")
    error.repeatable = True
    assert repeatable(error, POLICY) is True
    assert repeatable(BadReply("nonsense"), POLICY) is False
