"""Laws of the failover machine, whatever fails in whatever order at whatever time."""

from __future__ import annotations

import math

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from websearch_core.errors import (
    AuthRejected,
    BadReply,
    CircuitOpen,
    Declined,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    OutOfTime,
    ProviderError,
    QueueTimeout,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
    WrongAddress,
)
from websearch_core.failover import MAX_KEY_CHANGES, MIN_ATTEMPT_S, Again, End, Failed, State, final_error, step
from websearch_core.retry import RetryPolicy

pytestmark = pytest.mark.requirement("P5-CLIENT-06", "HEAD-09", "HEAD-10")
STOPS: list[type[WebSearchError]] = [AuthRejected, OutOfCredit, RequestRejected, Declined, BadReply, NotConfigured, WrongAddress]
PASSES: list[type[WebSearchError]] = [Unreachable, RateLimited, ModelRejected]
ENDS: list[type[WebSearchError]] = [CircuitOpen, QueueTimeout, OutOfTime]
KEY_FAULTS: list[type[ProviderError]] = [AuthRejected, OutOfCredit, RateLimited]
WISHES = st.none() | st.floats(0, 120) | st.sampled_from([math.nan, math.inf, -1.0, 1e9])
CHANCES = st.floats(0, 1)
DURATIONS = st.just(0.0) | st.floats(0, 3) | st.floats(0, 30)


class Call(RuleBasedStateMachine):
    """One call against an upstream that fails as hypothesis likes; a clock of its own says how late it is."""

    @initialize(
        policy=st.builds(
            RetryPolicy,
            max_attempts=st.integers(1, 5),
            multiplier_s=st.floats(0, 4),
            max_wait_s=st.floats(0, 20),
            max_retry_after_s=st.floats(0, 100),
        ),
        fallback=st.sampled_from(["", "grok-a", "grok-b"]),
        deadline_s=st.just(math.inf) | st.floats(0, 6) | st.floats(0, 300),
    )
    def begin(self, policy: RetryPolicy, fallback: str, deadline_s: float) -> None:
        self.state = State(policy=policy, primary="grok-a", fallback=fallback)
        self.end: End | None = None
        self.deadline_s = deadline_s
        self.clock = 0.0
        self.sent = [("grok-a", False)]
        """Model of each request, and whether the one before it failed for its key alone."""

    @rule(
        kind=st.sampled_from(PASSES) | st.sampled_from(PASSES) | st.sampled_from(STOPS),
        passes=st.booleans(),
        wish=WISHES,
        chance=CHANCES,
        took_s=DURATIONS,
    )
    def fail(self, kind: type[WebSearchError], *, passes: bool, wish: float | None, chance: float, took_s: float) -> None:
        error = kind("it failed", provider="grok", retry_after_s=wish)
        error.repeatable = error.repeatable or (passes and kind is ModelRejected)
        self.settle(error, chance=chance, took_s=took_s)

    @rule(kind=st.sampled_from(ENDS), took_s=DURATIONS)
    def fail_for_good(self, kind: type[WebSearchError], took_s: float) -> None:
        """No key is left, or no turn came; whatever else could be asked, the call ends."""
        self.settle(kind("it failed", provider="grok"), chance=0.0, took_s=took_s)
        assert self.end is not None

    @rule(kind=st.sampled_from(KEY_FAULTS), took_s=st.floats(0, 1))
    def fail_for_the_key(self, kind: type[ProviderError], took_s: float) -> None:
        error = kind("it failed", provider="grok")
        error.another_key = True
        self.settle(error, chance=0.0, took_s=took_s)

    def settle(self, error: WebSearchError, *, chance: float, took_s: float) -> None:
        if self.end is not None:
            with pytest.raises(ValueError, match="ended"):
                step(self.state, Failed(error=error))
            return
        self.clock += took_s
        left_s = max(self.deadline_s - self.clock, 0.0)
        before = self.state
        self.state, effect = step(before, Failed(error=error, chance=chance, left_s=left_s))
        if isinstance(effect, End):
            self.end = effect
            self.check_the_end(error)
            return
        self.check_the_wait(before, effect, left_s)
        self.clock += effect.after_s
        self.sent.append((self.state.model, self.state.key_changes > before.key_changes))

    def check_the_wait(self, before: State, effect: Again, left_s: float) -> None:
        """Nobody sleeps past the deadline, between two models or for another key."""
        assert 0.0 <= effect.after_s < math.inf
        assert effect.after_s + MIN_ATTEMPT_S <= left_s
        if self.state.model != before.model or self.state.key_changes > before.key_changes:
            assert effect.after_s == 0.0
        assert effect.after_s <= max(before.policy.max_wait_s, before.policy.max_retry_after_s)

    def check_the_end(self, error: WebSearchError) -> None:
        assert self.end is not None
        assert self.end.reason == self.state.ended
        told = final_error(self.state, error, elapsed_s=self.clock)
        assert isinstance(told, OutOfTime) == (self.end.reason in {"total_budget_exhausted", "concurrency_queue_timeout"})
        assert isinstance(told, OutOfTime) or type(told) is type(error)
        assert told.repeatable == (self.end.reason != "non_retryable_error")
        assert told.diagnostics["total_attempts"] == self.state.total_attempts
        assert (self.end.reason == "non_retryable_error") == (
            type(error) in STOPS and self.end.reason != "total_budget_exhausted"
        )

    @invariant()
    def attempts_stay_within_the_limit(self) -> None:
        limit = self.state.policy.max_attempts
        assert self.state.primary_attempts <= limit
        assert self.state.fallback_attempts <= limit
        assert self.state.key_changes <= MAX_KEY_CHANGES
        for model in ("grok-a", "grok-b"):
            assert sum(asked == model and not for_key for asked, for_key in self.sent) <= limit

    @invariant()
    def the_primary_is_never_asked_again(self) -> None:
        models = [model for model, _ in self.sent]
        assert models == sorted(models)
        if self.state.fallback in {"", "grok-a"}:
            assert set(models) == {"grok-a"}

    @invariant()
    def nothing_is_sent_after_the_deadline(self) -> None:
        assert self.end is not None or self.clock + MIN_ATTEMPT_S <= self.deadline_s or len(self.sent) == 1

    def teardown(self) -> None:
        """However it stands, a call that only fails comes to its end."""
        if not hasattr(self, "state"):
            return
        most = 2 * self.state.policy.max_attempts + MAX_KEY_CHANGES
        for _ in range(most + 1):
            if self.end is not None:
                break
            error = RateLimited("it failed", provider="grok")
            error.another_key = True
            self.settle(error, chance=1.0, took_s=0.0)
        assert self.end is not None


Call.TestCase.settings = settings(max_examples=1_000, stateful_step_count=25, deadline=None)
TestCall = Call.TestCase
