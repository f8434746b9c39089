"""The failover machine, failure by failure; its laws are in tests/property/test_failover.py."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from websearch_core import errors, failover
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
from websearch_core.failover import MAX_KEY_CHANGES, Again, End, Failed, Reason, State, final_error, step
from websearch_core.retry import RetryPolicy

POLICY = RetryPolicy(max_attempts=3)
TWO = State(policy=POLICY, primary="grok-a", fallback="grok-b")
ONE = State(policy=POLICY, primary="grok-a")
UNNAMED = State(policy=POLICY)
STOPPING = [AuthRejected, RequestRejected, OutOfCredit, Declined, BadReply, NotConfigured, WrongAddress, errors.EmptyResult]
PASSING = [Unreachable, RateLimited]


def after(
    state: State, faults: Sequence[WebSearchError], *, chance: float = 1.0, left_s: float = math.inf
) -> tuple[State, list[Again | End]]:
    """The state and the effects after these failures."""
    effects: list[Again | End] = []
    for fault in faults:
        state, effect = step(state, Failed(error=fault, chance=chance, left_s=left_s))
        effects.append(effect)
    return state, effects


def waits(effects: Sequence[Again | End]) -> list[float]:
    return [effect.after_s for effect in effects if isinstance(effect, Again)]


def down(**more: float) -> Unreachable:
    return Unreachable("grok answers 503", provider="grok", http_status=503, **more)  # type: ignore[arg-type]


def another_key(kind: type[ProviderError] = AuthRejected) -> ProviderError:
    error = kind("refused", provider="grok")
    error.another_key = True
    return error


class TestSteps:
    @pytest.mark.parametrize("kind", PASSING)
    def test_what_can_pass_is_repeated_on_the_same_model_until_its_attempts_are_used_up(self, kind: type[WebSearchError]) -> None:
        state, effects = after(ONE, [kind("x")] * 3)
        assert effects == [Again(after_s=1.0), Again(after_s=2.0), End(reason="max_attempts_exhausted")]
        assert (state.model, state.primary_attempts, state.fallback_attempts) == ("grok-a", 3, 0)

    @pytest.mark.requirement("P5-CLIENT-04", "P5-CLIENT-05")
    def test_the_fallback_begins_at_once_with_attempts_and_waits_of_its_own(self) -> None:
        state, effects = after(TWO, [down()] * 6)
        assert effects[:-1] == [Again(after_s=wait_s) for wait_s in (1.0, 2.0, 0.0, 1.0, 2.0)]
        assert effects[-1] == End(reason="max_attempts_exhausted")
        assert (state.primary_attempts, state.fallback_attempts, state.total_attempts, state.switched) == (3, 3, 6, True)

    @pytest.mark.requirement("P5-CLIENT-06")
    @pytest.mark.parametrize("fallback", ["", "grok-a"])
    def test_without_a_second_model_there_is_one_group_of_attempts(self, fallback: str) -> None:
        state, effects = after(State(policy=POLICY, primary="grok-a", fallback=fallback), [down()] * 3)
        assert effects[-1] == End(reason="max_attempts_exhausted")
        assert not state.switched

    @pytest.mark.requirement("P5-CLIENT-10")
    @pytest.mark.parametrize("passes", [False, True])
    def test_a_refused_model_is_left_at_once(self, passes: bool) -> None:
        refused = ModelRejected("x")
        refused.repeatable = passes
        state, effects = after(TWO, [refused])
        assert effects == [Again(after_s=0.0)]
        assert (state.model, state.primary_attempts) == ("grok-b", 1)
        state, effects = after(state, [refused])
        assert effects == [End(reason="max_attempts_exhausted")]

    def test_a_refused_model_without_another_one_is_asked_once(self) -> None:
        assert after(ONE, [ModelRejected("x")])[1] == [End(reason="max_attempts_exhausted")]

    def test_a_model_that_is_unavailable_for_now_is_waited_for_where_there_is_no_other(self) -> None:
        unavailable = ModelRejected("x")
        unavailable.repeatable = True
        assert waits(after(ONE, [unavailable] * 3)[1]) == [1.0, 2.0]

    @pytest.mark.requirement("P5-CLIENT-11", "P5-CLIENT-12")
    @pytest.mark.parametrize("kind", STOPPING)
    @pytest.mark.parametrize("before", [0, 1, 3, 4])
    def test_anything_else_ends_the_call_at_once_on_either_model(self, kind: type[WebSearchError], before: int) -> None:
        state, effects = after(TWO, [*[down()] * before, kind("x")])
        assert effects[-1] == End(reason="non_retryable_error")
        assert state.total_attempts == before + 1
        assert state.switched is (before >= 3)

    def test_a_single_unnamed_model_goes_by_the_same_rules(self) -> None:
        state, effects = after(UNNAMED, [down(), down(), BadReply("x")])
        assert effects == [Again(after_s=1.0), Again(after_s=2.0), End(reason="non_retryable_error")]
        assert state.model == ""

    def test_after_the_end_nothing_is_decided(self) -> None:
        state, _ = after(ONE, [BadReply("x")])
        with pytest.raises(ValueError, match="ended"):
            step(state, Failed(error=down()))


class TestWaits:
    @pytest.mark.requirement("P5-CLIENT-16")
    @pytest.mark.parametrize(
        ("chance", "expected"),
        [(0.0, [0.5, 1, 2, 4, 5, 5, 5]), (1.0, [1, 2, 4, 8, 10, 10, 10]), (0.5, [0.75, 1.5, 3, 6, 7.5, 7.5, 7.5])],
    )
    def test_waits_are_exact_for_a_given_chance(self, chance: float, expected: list[float]) -> None:
        state = State(policy=RetryPolicy(max_attempts=8))
        assert waits(after(state, [down()] * 8, chance=chance)[1]) == expected

    @pytest.mark.requirement("P5-CLIENT-17")
    @pytest.mark.parametrize(("wish", "expected"), [(30.0, 30.0), (0.2, 1.0), (math.nan, 1.0), (math.inf, 1.0), (-5.0, 1.0)])
    def test_the_longer_of_both_wishes_counts(self, wish: float, expected: float) -> None:
        assert after(ONE, [down(retry_after_s=wish)])[1] == [Again(after_s=expected)]

    @pytest.mark.requirement("EDGE-02")
    @pytest.mark.parametrize("wish", [60.5, 3600.0, 1e9])
    def test_a_wish_beyond_the_policy_ends_the_attempts_of_its_model(self, wish: float) -> None:
        state, effects = after(TWO, [down(retry_after_s=wish)])
        assert effects == [Again(after_s=0.0)]
        assert (state.model, state.primary_attempts) == ("grok-b", 1)
        assert after(ONE, [down(retry_after_s=wish)])[1] == [End(reason="max_attempts_exhausted")]


class TestTime:
    @pytest.mark.requirement("HEAD-09")
    @pytest.mark.parametrize(("left_s", "goes_on"), [(2.0, True), (1.999, False), (1.0, False), (0.0, False), (math.inf, True)])
    def test_an_attempt_begins_only_when_its_wait_and_a_second_fit(self, left_s: float, goes_on: bool) -> None:
        _, (effect,) = after(ONE, [down()], left_s=left_s)
        assert effect == (Again(after_s=1.0) if goes_on else End(reason="total_budget_exhausted"))

    @pytest.mark.requirement("HEAD-10")
    def test_a_retry_after_longer_than_what_is_left_is_not_slept_through(self) -> None:
        assert after(ONE, [down(retry_after_s=30.0)], left_s=20.0)[1] == [End(reason="total_budget_exhausted")]

    def test_a_wait_that_does_not_fit_makes_way_for_the_other_model(self) -> None:
        state, effects = after(TWO, [down(retry_after_s=30.0)], left_s=20.0)
        assert (state.model, effects) == ("grok-b", [Again(after_s=0.0)])

    @pytest.mark.parametrize(("left_s", "goes_on"), [(1.0, True), (0.999, False)])
    def test_the_other_model_and_another_key_need_a_second_too(self, left_s: float, goes_on: bool) -> None:
        for fault, state in ((ModelRejected("x"), TWO), (another_key(), ONE)):
            _, (effect,) = after(state, [fault], left_s=left_s)
            assert effect == (Again(after_s=0.0) if goes_on else End(reason="total_budget_exhausted"))

    @pytest.mark.requirement("HEAD-06", "HEAD-08")
    @pytest.mark.parametrize(
        ("kind", "reason"), [(QueueTimeout, "concurrency_queue_timeout"), (OutOfTime, "total_budget_exhausted")]
    )
    def test_a_turn_that_did_not_come_is_no_attempt_and_ends_the_call(self, kind: type[WebSearchError], reason: Reason) -> None:
        late = kind("too late", provider="grok")
        state, effects = after(TWO, [down(), late])
        assert effects[-1] == End(reason=reason)
        assert final_error(state, late, elapsed_s=0.0) is late
        assert (late.message, late.repeatable, late.diagnostics["total_attempts"]) == ("too late", True, 1)

    def test_used_up_attempts_are_no_want_of_time(self) -> None:
        state, _ = after(ONE, [down()] * 2)
        assert after(state, [down()], left_s=0.0)[1] == [End(reason="max_attempts_exhausted")]


class TestKeys:
    @pytest.mark.requirement("RS-ROTATION-02")
    @pytest.mark.parametrize("kind", [AuthRejected, OutOfCredit, RateLimited])
    def test_a_key_at_fault_costs_no_attempt_and_no_wait(self, kind: type[ProviderError]) -> None:
        state, effects = after(ONE, [another_key(kind)] * 5)
        assert effects == [Again(after_s=0.0)] * 5
        assert (state.total_attempts, state.key_changes) == (0, 5)

    @pytest.mark.parametrize("kind", [RateLimited, Unreachable, CircuitOpen])
    def test_where_no_key_is_left_the_call_ends_without_the_other_model(self, kind: type[ProviderError]) -> None:
        error = kind("none left", provider="grok")
        error.exhausted = True
        state, effects = after(TWO, [error])
        assert effects == [End(reason="max_attempts_exhausted")]
        assert final_error(state, error, elapsed_s=0.0).repeatable is True

    def test_where_nothing_was_sent_nothing_is_told_as_an_attempt(self) -> None:
        """It counts for the limit all the same, so that a call cannot wait for a key for ever."""
        error = RateLimited("no key can be used now", provider="grok", retry_after_s=2.0)
        error.unsent = True
        state, effects = after(ONE, [error] * 3)
        assert [type(effect).__name__ for effect in effects] == ["Again", "Again", "End"]
        told = final_error(state, error, elapsed_s=1.0)
        assert (told.message, told.diagnostics["total_attempts"]) == ("no key can be used now", 0)
        mixed, _ = after(TWO, [down(), error, down(), error, down(), down()])
        assert (mixed.sent, mixed.total_attempts) == ((2, 2), 4)
        assert "2 attempts with grok-a and 2 attempts with grok-b" in final_error(mixed, down(), elapsed_s=1.0).message

    def test_changes_of_key_have_an_end(self) -> None:
        state, effects = after(ONE, [another_key(RateLimited)] * (MAX_KEY_CHANGES + 3))
        assert waits(effects[-3:]) == [1.0, 2.0]
        assert effects[-1] == End(reason="max_attempts_exhausted")
        assert state.key_changes == MAX_KEY_CHANGES


class TestFinalError:
    @pytest.mark.requirement("P5-CLIENT-05", "HEAD-08")
    def test_it_is_the_last_failure_with_the_calls_history(self) -> None:
        last = RateLimited("grok answers 429", provider="grok", retry_after_s=2.0, diagnostics={"error_type": "rate_limited"})
        state, _ = after(TWO, [*[down()] * 5, last])
        told = final_error(state, last, elapsed_s=12.3456)
        assert told is last
        assert told.message == str(told) == "grok answers 429; given up after 3 attempts with grok-a and 3 attempts with grok-b"
        assert told.diagnostics == {
            "error_type": "rate_limited",
            "primary_model": "grok-a",
            "fallback_model": "grok-b",
            "primary_attempts": 3,
            "fallback_attempts": 3,
            "total_attempts": 6,
            "switched_model": True,
            "configured_max_attempts": 3,
            "last_error_type": "rate_limited",
            "termination_reason": "max_attempts_exhausted",
            "elapsed_ms": 12346,
        }
        assert (last.switched_model, last.repeatable, last.retry_after_s) == (True, True, 2.0)

    @pytest.mark.requirement("HEAD-08")
    def test_a_final_failure_keeps_its_words(self) -> None:
        last = AuthRejected("grok answers 401", provider="grok")
        told = final_error(after(TWO, [last])[0], last, elapsed_s=0.0)
        assert told.message == "grok answers 401"
        assert told.diagnostics["termination_reason"] == "non_retryable_error"
        assert told.diagnostics["last_error_type"] == "auth_rejected"
        assert told.repeatable is False

    @pytest.mark.requirement("HEAD-08", "HEAD-10")
    def test_want_of_time_is_out_of_time_and_tells_the_last_failure(self) -> None:
        last = down(retry_after_s=30.0)
        told = final_error(after(ONE, [last], left_s=20.0)[0], last, elapsed_s=1.0)
        assert type(told) is OutOfTime
        assert told.message == "no time is left for another attempt; the last one: grok answers 503"
        assert (told.provider, told.http_status, told.retry_after_s, told.repeatable) == ("grok", 503, 30.0, True)
        assert told.diagnostics["termination_reason"] == "total_budget_exhausted"
        assert told.diagnostics["total_attempts"] == 1

    @pytest.mark.parametrize(
        ("fault", "retryable"),
        [
            (down(), True),
            (RateLimited("x"), True),
            (ModelRejected("x"), True),
            (RequestRejected("x"), False),
            (BadReply("x"), False),
        ],
    )
    def test_it_is_retryable_when_the_last_action_was_to_repeat_or_to_switch(
        self, fault: WebSearchError, retryable: bool
    ) -> None:
        once = State(policy=RetryPolicy(max_attempts=1))
        assert final_error(after(once, [fault])[0], fault, elapsed_s=0.0).repeatable is retryable

    def test_a_provider_without_models_names_none(self) -> None:
        last = down()
        told = final_error(after(UNNAMED, [last] * 3)[0], last, elapsed_s=0.0)
        assert told.message == "grok answers 503; given up after 3 attempts"
        assert set(told.diagnostics) == {
            "total_attempts",
            "configured_max_attempts",
            "last_error_type",
            "termination_reason",
            "elapsed_ms",
        }

    def test_an_equal_fallback_is_told_and_not_counted(self) -> None:
        last = BadReply("x")
        state, _ = after(State(policy=POLICY, primary="grok-a", fallback="grok-a"), [last])
        told = final_error(state, last, elapsed_s=0.0)
        assert (told.diagnostics["fallback_model"], told.diagnostics["switched_model"]) == ("grok-a", False)


class TestNotes:
    def test_an_answer_of_the_primary_needs_no_note(self) -> None:
        assert failover.notes(after(TWO, [down()])[0]) == ()

    @pytest.mark.requirement("OURS-08")
    def test_an_answer_of_the_fallback_says_whose_it_is_and_why(self) -> None:
        (note,) = failover.notes(after(TWO, [ModelRejected("x")])[0])
        assert (note.code, note.provider) == ("fallback_model", "grok")
        assert note.text == "grok-a failed (1 attempt); grok-b answered in its place"
