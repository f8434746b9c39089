"""Errors: who must act, under which code, with which exit status."""

from __future__ import annotations

import pytest

from websearch_core import errors
from websearch_core.errors import (
    AllFailed,
    AuthRejected,
    BadReply,
    InvalidInput,
    NotAllowed,
    NotConfigured,
    OutOfTime,
    ProviderError,
    RateLimited,
    UnknownSession,
    Unreachable,
    WebSearchError,
)

ALL: list[type[WebSearchError]] = [getattr(errors, name) for name in errors.__all__]
REPEATABLE = {RateLimited, Unreachable, errors.CircuitOpen, OutOfTime, errors.QueueTimeout}


def test_every_class_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in ALL]
    assert len(set(codes)) == len(codes)
    assert all(code == code.lower() and code.replace("_", "").isalpha() for code in codes)


def test_every_class_defines_its_code_itself() -> None:
    assert all("code" in vars(kind) for kind in ALL)


@pytest.mark.parametrize("kind", ALL)
def test_every_exit_code_is_a_failure_that_shells_leave_free(kind: type[WebSearchError]) -> None:
    assert 1 <= kind.exit_code <= 70


@pytest.mark.parametrize("kind", ALL)
def test_one_except_catches_all_of_ours(kind: type[WebSearchError]) -> None:
    with pytest.raises(WebSearchError, match="it failed"):
        raise kind("it failed")


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [(InvalidInput, 2), (NotConfigured, 3), (AuthRejected, 3), (NotAllowed, 4), (UnknownSession, 5), (ProviderError, 6),
     (AllFailed, 6), (OutOfTime, 6), (WebSearchError, 70)],
)  # fmt: skip
def test_the_exit_code_says_who_must_act(kind: type[WebSearchError], exit_code: int) -> None:
    assert kind.exit_code == exit_code


def test_only_what_may_pass_by_itself_is_repeatable() -> None:
    assert {kind for kind in ALL if kind.repeatable} == REPEATABLE


def test_what_the_other_side_did_is_a_provider_error_and_nothing_else_is() -> None:
    ours = {WebSearchError, InvalidInput, NotConfigured, errors.WrongAddress, NotAllowed, UnknownSession, AllFailed}
    ours |= {OutOfTime, errors.QueueTimeout, errors.InvalidPlan, errors.InvalidParams, errors.PlanIncomplete}
    ours |= {errors.RedirectRefused}
    assert {kind for kind in ALL if not issubclass(kind, ProviderError)} == ours


def test_wrong_arguments_are_a_value_error_too() -> None:
    with pytest.raises(ValueError, match="wrong"):
        raise InvalidInput("wrong")
    assert [kind.__name__ for kind in ALL if issubclass(kind, ValueError)] == [
        "InvalidInput",
        "InvalidParams",
        "InvalidPlan",
        "PlanIncomplete",
    ]


def test_an_error_carries_what_is_known() -> None:
    error = RateLimited(
        "slow down",
        provider="tavily",
        hint="Wait.",
        http_status=429,
        upstream_code="rate_limit",
        retry_after_s=2.5,
        diagnostics={"attempts": 3},
    )
    assert (str(error), error.message, error.provider, error.hint) == ("slow down", "slow down", "tavily", "Wait.")
    assert (error.http_status, error.upstream_code, error.retry_after_s) == (429, "rate_limit", 2.5)
    assert error.diagnostics == {"attempts": 3}


def test_an_error_carries_nothing_that_is_not_known() -> None:
    error = BadReply("nonsense")
    assert (error.provider, error.hint, error.http_status, error.upstream_code, error.retry_after_s) == (None,) * 5
    assert dict(error.diagnostics) == {}


def test_diagnostics_are_a_copy_that_nobody_changes() -> None:
    given: dict[str, object] = {"attempts": 1}
    error = BadReply("nonsense", diagnostics=given)
    given["attempts"] = 2
    assert error.diagnostics["attempts"] == 1
    with pytest.raises(TypeError):
        error.diagnostics["attempts"] = 3  # type: ignore[index]


def test_all_failed_keeps_each_reason_in_order() -> None:
    reasons = (Unreachable("no reply"), NotConfigured("no key"))
    error = AllFailed("nothing worked", reasons, hint="Set a key.", provider="finders")
    assert error.attempts == reasons
    assert (error.message, error.hint, error.provider) == ("nothing worked", "Set a key.", "finders")
    assert AllFailed("nothing to try").attempts == ()


def test_another_key_is_a_fact_of_one_error_and_not_of_its_class() -> None:
    refused = AuthRejected("refused")
    refused.another_key = True
    assert AuthRejected("refused").another_key is False
