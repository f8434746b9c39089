"""Errors become codes, details and next actions by one table."""

from __future__ import annotations

from typing import get_args

import pytest

from websearch_core import errors, outcome
from websearch_core.errors import (
    AllFailed,
    AuthRejected,
    BadReply,
    Declined,
    EmptyResult,
    InvalidInput,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    OutOfTime,
    ProviderError,
    RateLimited,
    RequestRejected,
    UnknownSession,
    Unreachable,
    WebSearchError,
    WrongAddress,
)
from websearch_core.values import FetchResult, Outcome, SearchResult, as_plain

KINDS = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.requirement("OURS-02")
@pytest.mark.parametrize(
    ("error", "operation", "code"),
    [
        (NotConfigured("x", provider="grok"), "search", "grok_configuration_error"),
        (AuthRejected("x", provider="grok"), "search", "grok_authentication_error"),
        (RequestRejected("x", provider="grok"), "search", "grok_request_invalid"),
        (ModelRejected("x", provider="grok"), "search", "grok_primary_failed"),
        (Unreachable("x", provider="grok"), "search", "grok_primary_failed"),
        (Unreachable("x", provider="grok"), "config", "grok_connection_error"),
        (WebSearchError("x", provider="grok"), "search", "grok_internal_error"),
        (WrongAddress("x", provider="tavily"), "fetch", "tavily_api_configuration_error"),
        (NotConfigured("x", provider="tavily"), "map", "tavily_configuration_error"),
        (EmptyResult("x", provider="tavily"), "fetch", "tavily_no_content"),
        (EmptyResult("x", provider="tavily"), "map", "tavily_no_urls"),
        (BadReply("x", provider="tavily"), "search", "tavily_invalid_response"),
        (OutOfCredit("x", provider="tavily"), "search", "tavily_all_keys_unavailable"),
        (OutOfTime("x", provider="tavily"), "search", "tavily_total_budget_exhausted"),
        (RateLimited("x", provider="firecrawl"), "search", "firecrawl_rate_limited"),
        (Declined("x", provider="local"), "fetch", "local_declined"),
        (WebSearchError("x", provider="local"), "fetch", "local_internal_error"),
        (WebSearchError("x"), "fetch", "fetch_internal_error"),
        (WebSearchError("x"), "switch", "model_switch_failed"),
        (UnknownSession("x"), "sources", "session_id_not_found_or_expired"),
        (InvalidInput("x"), "search", "invalid_input"),
        (OutOfTime("x"), "fetch", "out_of_time"),
        (AllFailed("x"), "fetch", "all_failed"),
    ],
)
def test_the_code_is_looked_up_by_class_service_and_operation(
    error: WebSearchError, operation: outcome.Operation, code: str
) -> None:
    assert outcome.code_of(error, operation) == code


@pytest.mark.requirement("OURS-02")
@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_next_action_and_a_code_of_its_own_form(kind: type[WebSearchError]) -> None:
    error = kind("text")
    assert outcome.next_action_of(error).endswith(".")
    assert outcome.code_of(error, "fetch").replace("_", "").isalnum()


def test_a_hint_is_the_next_action() -> None:
    assert outcome.next_action_of(Unreachable("x", hint="Do this.")) == "Do this."


def test_a_single_failed_attempt_speaks_for_itself() -> None:
    detail = outcome.detail_of(AllFailed("all", (Unreachable("down", provider="tavily", http_status=503),)), "fetch")
    assert (detail.code, detail.service, detail.http_status) == ("tavily_service_unavailable", "tavily", 503)


def test_several_attempts_are_listed_in_order_with_their_codes() -> None:
    attempts = (AuthRejected("no", provider="tavily"), Unreachable("down", provider="firecrawl"))
    detail = outcome.detail_of(AllFailed("all", attempts), "search")
    listed = detail.diagnostics["attempts"]
    assert isinstance(listed, list)
    assert [one["code"] for one in listed] == ["tavily_all_keys_unavailable", "firecrawl_unreachable"]
    assert detail.retryable  # one of them may recover


@pytest.mark.parametrize(
    ("attempts", "word"),
    [
        ((EmptyResult("x"), AuthRejected("x")), "query"),
        ((RateLimited("x"), AuthRejected("x")), "Wait"),
        ((AuthRejected("x"), NotConfigured("x")), "operator"),
        ((Declined("x"),), "another address"),
    ],
)
def test_the_advice_fits_the_mix_of_causes(attempts: tuple[WebSearchError, ...], word: str) -> None:
    action = outcome.next_action_of(AllFailed("all", attempts))
    assert word in action
    assert "unchanged repetition fails the same way" in action


def test_services_without_a_provider_are_named_by_the_operation() -> None:
    assert outcome.detail_of(InvalidInput("x"), "fetch").service == "request"
    assert outcome.detail_of(UnknownSession("x"), "sources").service == "sources_cache"
    assert outcome.detail_of(WebSearchError("x"), "switch").service == "configuration"
    assert outcome.detail_of(OutOfTime("x"), "fetch").service == "fetch"


@pytest.mark.requirement("OURS-03")
def test_a_failure_and_a_part_failure_keep_the_relations_of_the_envelope() -> None:
    error = Unreachable("down", provider="tavily")
    failed = outcome.failed(FetchResult(url="https://a.example"), error, "fetch")
    assert (failed.status, failed.error, failed.partial) == ("error", "tavily_service_unavailable", False)
    partly = outcome.partly(FetchResult(url="https://a.example"), error, "fetch", next_action="Go on.")
    assert (partly.status, partly.error, partly.partial, partly.next_action) == ("partial_success", None, True, "Go on.")
    assert partly.error_detail is not None


def test_raise_for_status_raises_on_errors_alone() -> None:
    failed = outcome.failed(Outcome(), Unreachable("down", provider="tavily"), "fetch")
    with pytest.raises(WebSearchError, match="down") as caught:
        failed.raise_for_status()
    assert (caught.value.provider, caught.value.diagnostics["code"]) == ("tavily", "tavily_service_unavailable")
    Outcome().raise_for_status()
    outcome.partly(Outcome(), Unreachable("x"), "fetch").raise_for_status()


def test_notes_are_bounded() -> None:
    assert len(outcome.note_of(ProviderError("x" * 1_000, provider="tavily"), "fetch").text) <= 300


@pytest.mark.parametrize("kind", KINDS)
def test_the_exit_status_travels_with_the_error_whatever_its_code(kind: type[WebSearchError]) -> None:
    for provider in (None, "grok", "tavily", "login"):
        for operation in get_args(outcome.Operation):
            detail = outcome.detail_of(kind("it failed", provider=provider), operation)
            assert detail.exit_code == kind.exit_code
    one = AllFailed("all", (kind("it failed"),))
    assert outcome.detail_of(one, "search").exit_code == kind.exit_code


def test_the_exit_status_is_no_part_of_what_is_sent() -> None:
    plain = as_plain(outcome.failed(SearchResult(session_id="0" * 12), NotConfigured("no key"), "search"))
    assert isinstance(plain, dict)
    assert "exit_code" not in plain["error_detail"]  # type: ignore[operator]  # the detail is an object
