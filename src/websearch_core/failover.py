"""A call's way through attempts and models: a pure machine, without clock, chance, sleeping and I/O.

`step` is told a failure, with the chance drawn for the wait and the time that is left, and says what comes next: another
request after so many seconds, or the end and why. The order of things is the primary model's attempts, then at once the
fallback's, each counted by itself, and never back. A provider without models has one that is not named.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from websearch_core.errors import ModelRejected, OutOfTime, ProviderError, QueueTimeout, WebSearchError
from websearch_core.retry import RetryPolicy, delay_s, repeatable
from websearch_core.values import Note

__all__ = ["MAX_KEY_CHANGES", "MIN_ATTEMPT_S", "Again", "End", "Failed", "Reason", "State", "final_error", "notes", "step"]

Reason: TypeAlias = Literal[
    "max_attempts_exhausted", "non_retryable_error", "total_budget_exhausted", "concurrency_queue_timeout"
]
MIN_ATTEMPT_S = 1.0
"""A request that has less time than this is not sent."""
MAX_KEY_CHANGES = 100
"""Changes of key in one call that cost no attempt; whoever has more keys than this has a loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One call between two requests."""

    policy: RetryPolicy
    primary: str = ""
    """Empty where the provider knows no models."""
    fallback: str = ""
    """Not asked where it is the primary under the same name."""
    primary_attempts: int = 0
    fallback_attempts: int = 0
    primary_unsent: int = 0
    """Those that sent nothing: they count for the limit, or a call could wait for ever, and are not told as attempts."""
    fallback_unsent: int = 0
    key_changes: int = 0
    switched: bool = False
    ended: Reason | None = None

    @property
    def model(self) -> str:
        """The model to ask now, or the one asked last."""
        return self.fallback if self.switched else self.primary

    @property
    def attempts(self) -> int:
        """Failed attempts of the current model."""
        return self.fallback_attempts if self.switched else self.primary_attempts

    @property
    def sent(self) -> tuple[int, int]:
        """Requests that were sent and failed, for each model."""
        return self.primary_attempts - self.primary_unsent, self.fallback_attempts - self.fallback_unsent

    @property
    def total_attempts(self) -> int:
        """Requests that were sent and failed, for both models."""
        return sum(self.sent)

    @property
    def has_two(self) -> bool:
        """Whether there is a second model at all."""
        return bool(self.fallback) and self.fallback != self.primary


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The request that was sent last failed."""

    error: WebSearchError
    chance: float = 0.0
    """Drawn for this failure, uniform in [0, 1]."""
    left_s: float = math.inf
    """Time left to the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Send a request to the model of the new state, after a wait."""

    after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Send nothing any more."""

    reason: Reason


def step(state: State, event: Failed) -> tuple[State, Again | End]:
    """What follows a failure.

    A failure that another key may cure costs no attempt and no wait. Otherwise its class decides: what can pass is repeated on
    the same model, a refused model is left at once, anything else ends the call. A wait that the upstream asks for and the
    policy does not grant ends the attempts of the model; so does one for which the call has no time, if the other model is
    still to be asked. Nothing is sent that would have less than `MIN_ATTEMPT_S`. A request that did not get its turn in time was
    no attempt, and where no key is left for a call, it ends.

    Raises:
        ValueError: the call has ended before.
    """
    error = event.error
    if state.ended:
        raise ValueError("the call has ended")
    if isinstance(error, OutOfTime):
        return _end(state, "concurrency_queue_timeout" if isinstance(error, QueueTimeout) else "total_budget_exhausted")
    if _has_another_key(state, error):
        return _at_once(dataclasses.replace(state, key_changes=state.key_changes + 1), event, instead_of=_counted(state, error))
    state = _counted(state, error)
    if not _can_pass(state, error) and not isinstance(error, ModelRejected):
        return _end(state, "non_retryable_error")
    may_repeat = _can_pass(state, error) and _is_granted(state, error)
    wait_s = delay_s(state.policy, failed=state.attempts, chance=event.chance, retry_after_s=error.retry_after_s)
    if may_repeat and wait_s + MIN_ATTEMPT_S <= event.left_s:
        return state, Again(after_s=wait_s)
    if _may_switch(state, error):
        return _at_once(dataclasses.replace(state, switched=True), event, instead_of=state)
    return _end(state, "total_budget_exhausted" if may_repeat else "max_attempts_exhausted")


def final_error(state: State, error: WebSearchError, *, elapsed_s: float) -> WebSearchError:
    """What the caller of an ended call is told: the last error with the call's history, or that the time ran out.

    The history is added to the error itself, so its class, status and code stay those of the last failure.
    """
    told = _out_of_time(error) if state.ended == "total_budget_exhausted" and not isinstance(error, OutOfTime) else error
    told.repeatable = state.ended != "non_retryable_error"
    told.diagnostics = MappingProxyType({**error.diagnostics, **_history(state, error, elapsed_s)})
    if state.ended == "max_attempts_exhausted" and state.total_attempts:
        told.message = f"{error.message}; given up after {_counts(state)}"
        told.args = (told.message,)
    if isinstance(told, ProviderError):
        told.switched_model = state.switched
    return told


def notes(state: State) -> tuple[Note, ...]:
    """That the answer is not the primary model's, where it is not."""
    if not state.switched:
        return ()
    text = f"{state.primary} failed ({_attempts(state.sent[0])}); {state.fallback} answered in its place"
    return (Note(code="fallback_model", text=text, provider="grok"),)


def _has_another_key(state: State, error: WebSearchError) -> bool:
    return isinstance(error, ProviderError) and error.another_key and state.key_changes < MAX_KEY_CHANGES


def _may_switch(state: State, error: WebSearchError) -> bool:
    """Whether the second model is still to be asked, and there is a key left to ask it with."""
    return state.has_two and not state.switched and not (isinstance(error, ProviderError) and error.exhausted)


def _at_once(after: State, event: Failed, *, instead_of: State) -> tuple[State, Again | End]:
    """Go on without a wait, if there is time for an attempt."""
    return (after, Again()) if event.left_s >= MIN_ATTEMPT_S else _end(instead_of, "total_budget_exhausted")


def _counted(state: State, error: WebSearchError) -> State:
    unsent = isinstance(error, ProviderError) and error.unsent
    if state.switched:
        return dataclasses.replace(
            state, fallback_attempts=state.fallback_attempts + 1, fallback_unsent=state.fallback_unsent + unsent
        )
    return dataclasses.replace(state, primary_attempts=state.primary_attempts + 1, primary_unsent=state.primary_unsent + unsent)


def _can_pass(state: State, error: WebSearchError) -> bool:
    """Whether the same model may answer later; one that is unavailable for now is waited for where there is no second."""
    return isinstance(error, ProviderError) and error.repeatable and not (isinstance(error, ModelRejected) and state.has_two)


def _is_granted(state: State, error: WebSearchError) -> bool:
    """Whether the policy has another attempt on this model, after the wait that the upstream asks for."""
    return state.attempts < state.policy.max_attempts and repeatable(error, state.policy)


def _end(state: State, reason: Reason) -> tuple[State, End]:
    return dataclasses.replace(state, ended=reason), End(reason=reason)


def _out_of_time(error: WebSearchError) -> OutOfTime:
    return OutOfTime(
        f"no time is left for another attempt; the last one: {error.message}",
        provider=error.provider,
        hint=error.hint,
        http_status=error.http_status,
        upstream_code=error.upstream_code,
        retry_after_s=error.retry_after_s,
    )


def _history(state: State, error: WebSearchError, elapsed_s: float) -> dict[str, object]:
    models: dict[str, object] = {
        "primary_model": state.primary,
        "fallback_model": state.fallback or None,
        "primary_attempts": state.sent[0],
        "fallback_attempts": state.sent[1],
        "switched_model": state.switched,
    }
    return {
        **(models if state.primary else {}),
        "total_attempts": state.total_attempts,
        "configured_max_attempts": state.policy.max_attempts,
        "last_error_type": error.diagnostics.get("error_type") or error.code,
        "termination_reason": state.ended,
        "elapsed_ms": round(elapsed_s * 1000),
    }


def _counts(state: State) -> str:
    if not state.switched:
        return _attempts(state.sent[0])
    each = ((state.primary, state.sent[0]), (state.fallback, state.sent[1]))
    return " and ".join(f"{_attempts(count)} with {model}" for model, count in each)


def _attempts(count: int) -> str:
    return f"{count} attempt{'' if count == 1 else 's'}"
