"""The ring of keys: who rests, who is used, and what a key's state remembers."""

from __future__ import annotations

import pytest

from websearch_core.errors import AuthRejected, OutOfCredit, RateLimited, Unreachable, WebSearchError
from websearch_core.rotation import (
    MAX_REST_S,
    MIN_REST_S,
    KeyStatus,
    after,
    choose,
    free,
    is_busy,
    parked,
    put_back,
    ring_of,
    status,
    succeeded,
    trusted,
    usable,
)


def test_an_empty_ring_has_nothing_to_choose() -> None:
    assert choose(ring_of(0), 0.0) == (None, ring_of(0))


@pytest.mark.requirement("P5-POOL-05")
def test_the_longer_rest_counts() -> None:
    ring = after(ring_of(2), 0, OutOfCredit, now=0.0, quota_cooldown_s=3600.0)
    ring = after(ring, 0, RateLimited, now=1.0, retry_after_s=5.0)
    assert status(ring, 0, 100.0).state == "quota_exhausted"
    assert status(ring, 0, 3600.0).state == "healthy"


@pytest.mark.requirement("P5-POOL-16")
@pytest.mark.parametrize("wish", [0.0, 0.2])
def test_a_wish_to_retry_at_once_does_not_send_a_request_round_and_round(wish: float) -> None:
    ring = after(after(ring_of(2), 0, RateLimited, now=0.0, retry_after_s=wish), 1, RateLimited, now=0.0, retry_after_s=wish)
    assert free(ring, 0.5) == ()
    assert free(ring, MIN_REST_S) == (0, 1)


@pytest.mark.requirement("EDGE-02", "P5-POOL-14")
@pytest.mark.parametrize(
    ("wish", "rest_s"),
    [
        (float("inf"), 30.0),
        (float("nan"), 30.0),
        (float("-inf"), 30.0),
        (-5.0, 30.0),
        (None, 30.0),
        (12.5, 12.5),
        (1e9, MAX_REST_S["cooldown"]),
    ],
)
def test_a_rest_is_a_believable_time(wish: float | None, rest_s: float) -> None:
    ring = after(ring_of(2), 0, RateLimited, now=100.0, retry_after_s=wish)
    assert ring.keys[0].until == 100.0 + rest_s


def test_a_used_up_plan_rests_a_month_at_most() -> None:
    ring = after(ring_of(2), 0, OutOfCredit, now=0.0, retry_after_s=1e12)
    assert ring.keys[0].until == MAX_REST_S["quota_exhausted"]


@pytest.mark.requirement("P5-POOL-03")
def test_a_refused_key_is_out_for_good_and_the_others_are_not() -> None:
    ring = after(ring_of(3), 1, AuthRejected, now=0.0)
    ring = after(ring, 1, RateLimited, now=0.0)
    assert usable(succeeded(ring, 1), 1e12) == (0, 2)


@pytest.mark.requirement("P5-POOL-06")
def test_a_passing_failure_changes_no_key() -> None:
    assert after(ring_of(2), 0, Unreachable, now=0.0) == ring_of(2)


@pytest.mark.parametrize("error", [OutOfCredit, AuthRejected])
def test_an_only_key_that_is_used_up_or_refused_is_offered_to_the_next_call_alone(error: type[WebSearchError]) -> None:
    """With nothing to change to, taking it out of use would make a fault that may have passed one that lasts."""
    ring = after(ring_of(1), 0, error, now=0.0)
    assert choose(ring, 1.0, tried={0})[0] is None
    assert choose(ring, 1.0)[0] == 0


def test_an_only_key_rests_as_long_as_was_said_and_not_by_guess() -> None:
    assert usable(after(ring_of(1), 0, RateLimited, now=0.0), 0.0) == (0,)
    said = after(ring_of(1), 0, RateLimited, now=0.0, retry_after_s=20.0)
    assert (usable(said, 19.0), usable(said, 20.0)) == ((), (0,))


def test_the_call_that_was_limited_decides_itself_when_to_ask_again_with_an_only_key() -> None:
    ring = after(ring_of(1), 0, RateLimited, now=0.0, retry_after_s=20.0)
    index, ring = choose(ring, 1.0, tried={0})
    assert (index, status(ring, 0, 1.0).state) == (0, "cooldown")
    assert status(succeeded(ring, 0), 0, 1.0).state == "healthy"


def test_the_last_error_stays_visible_after_the_rest_and_goes_with_a_success() -> None:
    ring = after(ring_of(2), 0, RateLimited, now=0.0, retry_after_s=5.0)
    assert status(ring, 0, 5.0).last_error == "rate_limited"
    _, ring = choose(ring, 5.0)
    assert status(succeeded(ring, 0), 0, 5.0).last_error == ""


@pytest.mark.requirement("P5-POOL-04")
def test_a_key_whose_rest_is_over_is_used_again_but_has_to_earn_its_trust() -> None:
    ring = after(trusted(ring_of(2), 0), 0, RateLimited, now=0.0)
    assert free(ring, 29.9) == (1,)
    assert free(ring, 30.0) == (0, 1)
    index, ring = choose(ring, 30.0)
    assert index == 0
    assert not ring.keys[0].trusted
    assert succeeded(ring, 0).keys[0].trusted


def test_a_success_that_was_sent_before_does_not_end_a_rest() -> None:
    ring = after(ring_of(2), 0, RateLimited, now=0.0)
    assert succeeded(ring, 0) == ring


@pytest.mark.requirement("HEAD-13")
def test_being_busy_is_no_ill_health() -> None:
    index, ring = choose(ring_of(2), 0.0, per_key=1)
    assert index == 0
    assert is_busy(ring, 0, per_key=1)
    assert status(ring, 0, 0.0).state == "healthy"
    assert (usable(ring, 0.0), free(ring, 0.0, per_key=1)) == ((1, 0), (1,))
    assert free(put_back(ring, 0), 0.0, per_key=1) == (1, 0)


def test_a_key_that_waits_for_a_verdict_is_not_taken() -> None:
    assert choose(ring_of(2), 0.0, held={0})[0] == 1
    assert choose(ring_of(1), 0.0, held={0})[0] is None


def test_a_key_is_parked_with_its_requests() -> None:
    _, ring = choose(ring_of(2), 0.0)
    ring = parked(ring, 0, "invalid", now=0.0, last_error="auth_rejected")
    assert ring.keys[0] == KeyStatus(state="invalid", last_error="auth_rejected", in_flight=1)
    assert put_back(put_back(ring, 0), 0).keys[0].in_flight == 0
