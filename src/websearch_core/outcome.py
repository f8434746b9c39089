"""From an error to the envelope: one table of codes, one sentence on what to do next.

A code says what happened to whom; it is looked up by (error class, service, operation), so the few classes and the many
codes never drift apart. An error without an entry uses its class's code with the service's name in front.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias, TypeVar

from websearch_core.errors import (
    AllFailed,
    AuthRejected,
    BadReply,
    Blocked,
    Declined,
    EmptyResult,
    InvalidInput,
    InvalidParams,
    InvalidPlan,
    ModelRejected,
    NeedsRendering,
    NotAllowed,
    NotConfigured,
    NotFound,
    OutcomeUnknown,
    OutOfCredit,
    OutOfTime,
    PlanIncomplete,
    ProviderError,
    QueueTimeout,
    RateLimited,
    RedirectRefused,
    RequestRejected,
    TooCostly,
    ToolFailed,
    UnknownSession,
    Unreachable,
    Unverified,
    WebSearchError,
    WrongAddress,
)
from websearch_core.values import ErrorDetail, Note, Outcome

__all__ = [
    "CODES",
    "NEXT_ACTIONS",
    "Operation",
    "code_of",
    "counted",
    "detail_of",
    "failed",
    "next_action_of",
    "note_of",
    "partly",
]

Operation: TypeAlias = Literal[
    "search", "posts", "sources", "fetch", "map", "config", "switch", "library", "doctor", "plan", "login", "find", "call", "hub"
]
O = TypeVar("O", bound=Outcome)  # noqa: E741 - the letter of the thing

ANY = "*"
SWITCHED = "fallback"
"""In place of the operation: the fallback model was asked too."""
NO_KEY_LEFT = "tavily_all_keys_unavailable"
CODES: dict[tuple[type, str, str], str] = {
    (NotConfigured, "grok", ANY): "grok_configuration_error",
    (WrongAddress, "grok", ANY): "grok_configuration_error",
    (AuthRejected, "grok", ANY): "grok_authentication_error",
    (RequestRejected, "grok", ANY): "grok_request_invalid",
    (ModelRejected, "grok", ANY): "grok_primary_failed",
    (ModelRejected, "grok", SWITCHED): "grok_primary_and_fallback_failed",
    (ProviderError, "grok", ANY): "grok_primary_failed",
    (ProviderError, "grok", SWITCHED): "grok_primary_and_fallback_failed",
    (EmptyResult, "grok", ANY): "grok_empty_answer",
    (Unverified, "grok", ANY): "grok_no_search_evidence",
    (OutOfTime, "grok", ANY): "grok_total_budget_exhausted",
    (QueueTimeout, "grok", ANY): "grok_concurrency_timeout",
    (WebSearchError, "grok", ANY): "grok_internal_error",
    (ProviderError, "grok", "config"): "grok_model_catalog_error",
    (Unreachable, "grok", "config"): "grok_connection_error",
    (OutOfTime, "grok", "config"): "grok_connection_timeout",
    (NotConfigured, "tavily", ANY): "tavily_configuration_error",
    (WrongAddress, "tavily", ANY): "tavily_api_configuration_error",
    (RequestRejected, "tavily", ANY): "tavily_request_invalid",
    (BadReply, "tavily", ANY): "tavily_invalid_response",
    (EmptyResult, "tavily", "fetch"): "tavily_no_content",
    (EmptyResult, "tavily", "map"): "tavily_no_urls",
    (AuthRejected, "tavily", ANY): NO_KEY_LEFT,
    (OutOfCredit, "tavily", ANY): NO_KEY_LEFT,
    (RateLimited, "tavily", ANY): NO_KEY_LEFT,
    (Unreachable, "tavily", ANY): "tavily_service_unavailable",
    (ProviderError, "tavily", ANY): "tavily_upstream_error",
    (OutOfTime, "tavily", ANY): "tavily_total_budget_exhausted",
    (QueueTimeout, "tavily", ANY): "tavily_concurrency_timeout",
    (WebSearchError, "tavily", ANY): "tavily_internal_error",
    (NotConfigured, "login", ANY): "not_logged_in",
    (WrongAddress, "login", ANY): "login_address_refused",
    (AuthRejected, "login", ANY): "login_expired",
    (OutOfCredit, "login", ANY): "tier_not_entitled",
    (ProviderError, "login", ANY): "login_refresh_failed",
    (Declined, "login", ANY): "login_denied",
    (OutOfTime, "login", ANY): "login_timeout",
    (NotConfigured, "xai", ANY): "xai_configuration_error",
    (WrongAddress, "xai", ANY): "xai_api_configuration_error",
    (RedirectRefused, "xai", ANY): "xai_redirect_refused",
    (AuthRejected, "xai", ANY): "xai_authentication_error",
    (RequestRejected, "xai", ANY): "xai_request_invalid",
    (ModelRejected, "xai", ANY): "xai_model_rejected",
    (BadReply, "xai", ANY): "xai_invalid_response",
    (EmptyResult, "xai", ANY): "xai_empty_answer",
    (Unverified, "xai", ANY): "xai_no_search_evidence",
    (OutOfTime, "xai", ANY): "xai_total_budget_exhausted",
    (QueueTimeout, "xai", ANY): "xai_concurrency_timeout",
    (Declined, "keyless", ANY): "keyless_blocked",
    (UnknownSession, "planning", ANY): "planning_session_not_found",
    (InvalidParams, ANY, ANY): "planning_invalid_params_json",
    (InvalidPlan, ANY, ANY): "planning_invalid_plan",
    (PlanIncomplete, "planning", ANY): "planning_incomplete",
    (EmptyResult, "planning", ANY): "planning_parts_missing",
    (WebSearchError, ANY, "plan"): "planning_internal_error",
    (UnknownSession, ANY, ANY): "session_id_not_found_or_expired",
    (WebSearchError, ANY, "sources"): "sources_cache_internal_error",
    (WebSearchError, ANY, "config"): "configuration_internal_error",
    (WebSearchError, ANY, "switch"): "model_switch_failed",
    (EmptyResult, ANY, "search"): "search_no_results",
    (OutOfTime, ANY, "posts"): "xai_total_budget_exhausted",
    (EmptyResult, ANY, "fetch"): "fetch_no_content",
    (EmptyResult, ANY, "map"): "map_no_urls",
    (EmptyResult, ANY, "find"): "tools_not_found",
    (EmptyResult, ANY, "hub"): "tools_not_found",
    (Unreachable, "upstream", "find"): "upstreams_connecting",
    (InvalidInput, "upstream", "call"): "tool_unknown",
    (NotAllowed, "upstream", "call"): "tool_not_allowed",
    (UnknownSession, ANY, "call"): "reply_not_found_or_expired",
    (InvalidInput, ANY, ANY): "invalid_input",
    (NotAllowed, ANY, ANY): "not_allowed",
}
"""(class, service, operation) → code; `*` as the service stands for errors of no provider. Ancestors are searched too."""

NEXT_ACTIONS: dict[type[WebSearchError], str] = {
    InvalidInput: "Correct the named argument and call again.",
    NotConfigured: "Ask the operator to set what is named; repeating the call unchanged fails the same way.",
    NotAllowed: "Choose another address; this one is forbidden by policy.",
    RedirectRefused: "Ask the operator to set the address that answers by itself; a redirect is never followed with a key.",
    UnknownSession: "Run web_search again and use the session_id of its result.",
    AuthRejected: "Ask the operator to check the key; repeating the call unchanged fails the same way.",
    OutOfCredit: "Ask the operator to add credit or another key; repeating the call unchanged fails the same way for now.",
    RateLimited: "Wait a minute, then call again.",
    Unreachable: "Call again later, or use another provider.",
    OutcomeUnknown: "Check whether it was carried out before calling again; a repetition may do it twice.",
    ToolFailed: "Read what the tool says in its reply, and change the arguments accordingly.",
    EmptyResult: "Change the query or the address; the same call will find nothing again.",
    Unverified: "Ask again in other words, or read a source yourself with web_fetch.",
    TooCostly: "Use another page or provider; the same call will be stopped again.",
    NeedsRendering: "Use a provider that runs scripts, such as Firecrawl, or look for a static page.",
    BadReply: "Call again once; if it fails again, use another provider.",
    ModelRejected: "Set another model with switch_model.",
    NotFound: "Check the address, or search for the page.",
    RequestRejected: "Change the request; repeating it unchanged fails the same way.",
    Blocked: "Use another provider for this page, or another page with the same content.",
    Declined: "Use another page or provider; this one is refused.",
    ProviderError: "Call again later, or use another provider.",
    OutOfTime: "Call again with a smaller question or a longer limit.",
    AllFailed: "See the attempts; repeating the call unchanged fails the same way for now.",
    WebSearchError: "Report this with the incident number; it is a fault of the server.",
}


def code_of(error: WebSearchError, operation: Operation) -> str:
    """The stable code of `error` in this operation."""
    service = error.provider or ANY
    places = (SWITCHED, operation, ANY) if isinstance(error, ProviderError) and error.switched_model else (operation, ANY)
    for kind in type(error).__mro__:
        for place in places:
            if (kind, service, place) in CODES:
                return CODES[kind, service, place]
    if error.code == WebSearchError.code:
        return f"{error.provider or operation}_internal_error"
    return f"{error.provider}_{error.code}" if error.provider else error.code


def detail_of(error: WebSearchError, operation: Operation) -> ErrorDetail:
    """The error for a program. A single failed attempt speaks for itself."""
    if isinstance(error, AllFailed) and len(error.attempts) == 1:
        error = error.attempts[0]
    diagnostics: dict[str, object] = dict(error.diagnostics)
    if isinstance(error, AllFailed):
        diagnostics["attempts"] = [
            {
                "service": one.provider or "",
                "code": code_of(one, operation),
                "message": one.message,
                "http_status": one.http_status,
            }
            for one in error.attempts
        ]
    if error.retry_after_s is not None:
        diagnostics["retry_after_seconds"] = round(error.retry_after_s, 3)
    return ErrorDetail(
        code=code_of(error, operation),
        message=error.message,
        service=error.provider or _service(error, operation),
        retryable=_retryable(error, operation),
        http_status=error.http_status,
        upstream_code=error.upstream_code,
        diagnostics=diagnostics,
        exit_code=error.exit_code,
    )


def next_action_of(error: WebSearchError) -> str:
    """One sentence that says who can do what."""
    if error.hint:
        return error.hint
    if isinstance(error, AllFailed) and error.attempts:
        return _remedy(error.attempts)
    return next(NEXT_ACTIONS[kind] for kind in type(error).__mro__ if kind in NEXT_ACTIONS)


def note_of(error: WebSearchError, operation: Operation) -> Note:
    """A failed part as a note."""
    detail = detail_of(error, operation)
    return Note(code=detail.code, text=f"{detail.message}. {next_action_of(error)}"[:300], provider=error.provider or "")


def counted(number: int, what: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def failed(outcome: O, error: WebSearchError, operation: Operation) -> O:
    """`outcome` as a failure by `error`."""
    detail = detail_of(error, operation)
    return dataclasses.replace(
        outcome, status="error", error=detail.code, error_detail=detail, partial=False, next_action=next_action_of(error)
    )


def partly(outcome: O, error: WebSearchError, operation: Operation, *, next_action: str | None = None) -> O:
    """`outcome` as a partial success: what it holds is good, and `error` says what failed beside it."""
    return dataclasses.replace(
        outcome,
        status="partial_success",
        error=None,
        error_detail=detail_of(error, operation),
        partial=True,
        next_action=next_action or next_action_of(error),
    )


def _retryable(error: WebSearchError, operation: Operation) -> bool:
    """Whether the same call may succeed later: also when a key will be back that is used up now."""
    if isinstance(error, AllFailed):
        return any(_retryable(one, operation) for one in error.attempts)
    keys = error.diagnostics.get("key_statuses")
    if isinstance(keys, list) and code_of(error, operation) == NO_KEY_LEFT:
        return any(key["state"] != "invalid" for key in keys)
    return error.repeatable


def _service(error: WebSearchError, operation: Operation) -> str:
    if isinstance(error, InvalidInput):
        return "request"
    return {"sources": "sources_cache", "config": "configuration", "switch": "configuration", "plan": "planning"}.get(
        operation, operation
    )


def _remedy(attempts: tuple[WebSearchError, ...]) -> str:
    """The one action that could help for this mix of failures, the caller's own means first."""
    causes = {kind for attempt in attempts for kind in type(attempt).__mro__}
    again = "an unchanged repetition fails the same way for now"
    if EmptyResult in causes or RequestRejected in causes:
        return f"Change the query or loosen its filters; {again}."
    if RateLimited in causes or Unreachable in causes or OutOfTime in causes:
        return f"Wait a minute and call again; until then {again}."
    if NotConfigured in causes or AuthRejected in causes or OutOfCredit in causes:
        return f"Ask the operator to set or renew a key (see the attempts); {again}."
    return f"Use another address or provider; {again}."
