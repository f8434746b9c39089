"""Laws of repeating: waits are bounded, grow, and take the upstream's word only when it is a number."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_core.errors import BadReply, RateLimited, Unreachable
from websearch_core.retry import RetryPolicy, delay_s, repeatable

POLICIES = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 10),
    multiplier_s=st.floats(0, 60),
    max_wait_s=st.floats(0, 600),
    max_retry_after_s=st.floats(0, 600),
)
FAILED = st.integers(1, 10_000)
CHANCES = st.floats(0, 1)
NO_WISH = st.one_of(
    st.none(), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0]), st.floats(max_value=0, allow_nan=False)
)


@given(POLICIES, FAILED, CHANCES)
def test_a_wait_lies_between_half_and_all_of_the_exponential(policy: RetryPolicy, failed: int, chance: float) -> None:
    full = min(policy.max_wait_s, policy.multiplier_s * 2.0 ** min(failed - 1, 60))
    assert full * 0.5 <= delay_s(policy, failed=failed, chance=chance) <= full


@pytest.mark.requirement("P5-CLIENT-16")
@given(POLICIES, FAILED)
def test_a_wait_is_exact_at_both_ends_of_chance(policy: RetryPolicy, failed: int) -> None:
    full = min(policy.max_wait_s, policy.multiplier_s * 2.0 ** min(failed - 1, 60))
    assert delay_s(policy, failed=failed, chance=0.0) == full * 0.5
    assert delay_s(policy, failed=failed, chance=1.0) == full


@given(POLICIES, FAILED, CHANCES)
def test_waits_never_shrink(policy: RetryPolicy, failed: int, chance: float) -> None:
    assert delay_s(policy, failed=failed, chance=chance) <= delay_s(policy, failed=failed + 1, chance=chance)


@given(POLICIES, FAILED, CHANCES, NO_WISH)
def test_a_wish_that_is_no_time_is_ignored(policy: RetryPolicy, failed: int, chance: float, wish: float | None) -> None:
    assert delay_s(policy, failed=failed, chance=chance, retry_after_s=wish) == delay_s(policy, failed=failed, chance=chance)
    assert repeatable(RateLimited("slow down", retry_after_s=wish), policy) is True


@pytest.mark.requirement("P5-CLIENT-17")
@given(POLICIES, FAILED, CHANCES, st.floats(0, 10_000))
def test_a_longer_wish_wins_and_a_shorter_one_shortens_nothing(
    policy: RetryPolicy, failed: int, chance: float, wish: float
) -> None:
    ours = delay_s(policy, failed=failed, chance=chance)
    assert delay_s(policy, failed=failed, chance=chance, retry_after_s=wish) == max(ours, wish)


@given(POLICIES, st.floats(0, 1_000, exclude_min=True), st.floats(allow_nan=False, allow_infinity=False))
def test_a_wish_beyond_the_policy_ends_the_attempts(policy: RetryPolicy, wish: float, chance: float) -> None:
    assert repeatable(Unreachable("silence", retry_after_s=wish), policy) is (wish <= policy.max_retry_after_s)
    assert repeatable(BadReply("nonsense", retry_after_s=wish), policy) is False
    full = min(policy.max_wait_s, policy.multiplier_s)
    assert full * 0.5 <= delay_s(policy, failed=1, chance=chance) <= full
