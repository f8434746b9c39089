"""Every way this library fails, grouped by who must act.

One `except WebSearchError` catches all of ours. Each error carries a stable `code`, the provider if there is one, and a `hint`:
one sentence that says what to do next. Messages never hold an upstream's body, a secret or a traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

__all__ = [
    "AllFailed",
    "AuthRejected",
    "BadReply",
    "Blocked",
    "CircuitOpen",
    "Declined",
    "EmptyResult",
    "InvalidInput",
    "InvalidParams",
    "InvalidPlan",
    "ModelRejected",
    "NeedsRendering",
    "NotAllowed",
    "NotConfigured",
    "NotFound",
    "OutOfCredit",
    "OutOfTime",
    "OutcomeUnknown",
    "PlanIncomplete",
    "ProviderError",
    "QueueTimeout",
    "RateLimited",
    "RedirectRefused",
    "RequestRejected",
    "TooCostly",
    "UnknownSession",
    "Unreachable",
    "Unverified",
    "WebSearchError",
    "WrongAddress",
]


class WebSearchError(Exception):
    """Root of all errors of this library; raised itself only for a fault of ours."""

    code: ClassVar[str] = "internal"
    repeatable: bool = False
    """Whether the same call may succeed later; the class says it, and an error that knows better says it of itself."""
    exit_code: ClassVar[int] = 70
    """Exit status of the command line for this error."""

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        hint: str | None = None,
        http_status: int | None = None,
        upstream_code: str | None = None,
        retry_after_s: float | None = None,
        diagnostics: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.hint = hint
        self.http_status = http_status
        self.upstream_code = upstream_code
        self.retry_after_s = retry_after_s
        """Seconds the upstream asked to wait; None when it did not say."""
        self.diagnostics: Mapping[str, object] = MappingProxyType(dict(diagnostics or {}))


class InvalidInput(WebSearchError, ValueError):
    """The caller: change the arguments."""

    code = "invalid_input"
    exit_code = 2


class InvalidPlan(InvalidInput):
    """The caller: a part of the plan contradicts the others; the message names it."""

    code = "planning_invalid_plan"


class InvalidParams(InvalidPlan):
    """The caller: the arguments planned for a tool are no JSON object."""

    code = "planning_invalid_params_json"


class PlanIncomplete(InvalidInput):
    """The caller: phases are missing; `diagnostics["phases_remaining"]` lists them."""

    code = "planning_incomplete"


class NotConfigured(WebSearchError):
    """The operator: set the named key or enable the named part."""

    code = "not_configured"
    exit_code = 3


class WrongAddress(NotConfigured):
    """The operator: the configured address leads to something that is not the expected API."""

    code = "wrong_address"


class RedirectRefused(WrongAddress):
    """The configured address sends elsewhere; nothing is sent there, and least of all the key."""

    code = "redirect_refused"


class NotAllowed(WebSearchError):
    """Policy forbids this address, size or crawl; names the rule, never the internal address."""

    code = "not_allowed"
    exit_code = 4


class UnknownSession(WebSearchError):
    """The caller: search again; the answer was never kept or has expired."""

    code = "unknown_session"
    exit_code = 5


class ProviderError(WebSearchError):
    """The other side failed; the subclasses say how."""

    code = "provider_failed"
    exit_code = 6
    another_key = False
    """Set where another key can be tried at once."""
    exhausted = False
    """Set where no key is left that this call has not tried; repeating the call later may help, going on with it cannot."""
    switched_model = False
    """Set where the fallback model was asked too, and this is how it failed."""
    unsent = False
    """Set where nothing was sent: no key could be used, or the service was left alone."""


class AuthRejected(ProviderError):
    """The key is refused or the login expired; another key may work."""

    code = "auth_rejected"
    exit_code = 3


class OutOfCredit(ProviderError):
    """Plan, credit or spending limit used up; the same key will not recover by retrying."""

    code = "out_of_credit"
    exit_code = 3


class RateLimited(ProviderError):
    """Too many requests."""

    code = "rate_limited"
    repeatable = True


class Unreachable(ProviderError):
    """No usable reply: connect, TLS, DNS, time-out, cut stream, 5xx."""

    code = "unreachable"
    repeatable = True


class OutcomeUnknown(ProviderError):
    """A request that can change something was sent and no reply came: it may or may not have been carried out."""

    code = "outcome_unknown"


class ToolFailed(ProviderError):
    """A tool of an upstream ran and says itself that it failed."""

    code = "tool_failed"


class CircuitOpen(Unreachable):
    """The service failed so often that it is left alone for a while; nothing was sent, or will be in this call."""

    code = "service_unavailable"
    exhausted = True


class BadReply(ProviderError):
    """Answered, but not in the agreed shape; repeatable only where a relay is known to recover."""

    code = "bad_reply"


class EmptyResult(BadReply):
    """The provider worked and had nothing: no text in the page, no pages on the site, no hits."""

    code = "empty_result"


class Unverified(BadReply):
    """An answer came without any sign that it rests on a search."""

    code = "unverified"


class TooCostly(BadReply):
    """Reading what came would take more time or memory than is allowed for it; reading was stopped."""

    code = "too_costly"


class NeedsRendering(BadReply):
    """The page came without its content, which a script in a browser would fetch and draw."""

    code = "needs_rendering"


class RequestRejected(ProviderError):
    """The provider says that this request is wrong (400, 404, 422); repeating it unchanged cannot help."""

    code = "request_rejected"


class NotFound(RequestRejected):
    """There is no such page: by its status (404, 410), or by its own words under a status that says otherwise."""

    code = "not_found"


class ModelRejected(RequestRejected):
    """The model is unknown there or not permitted; another model may work."""

    code = "model_rejected"


class Declined(ProviderError):
    """Refused on content grounds, or this page is blocked by the provider."""

    code = "declined"


class Blocked(Declined):
    """A check for humans, a refusal of programs or a form of consent stands in place of the page."""

    code = "blocked"


class AllFailed(WebSearchError):
    """Every alternative was tried; `attempts` keeps each reason in order."""

    code = "all_failed"
    exit_code = 6

    def __init__(
        self,
        message: str,
        attempts: tuple[WebSearchError, ...] = (),
        *,
        hint: str | None = None,
        provider: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, provider=provider)
        self.attempts = attempts


class OutOfTime(WebSearchError):
    """The call's deadline passed before anything useful came."""

    code = "out_of_time"
    repeatable = True
    exit_code = 6


class QueueTimeout(OutOfTime):
    """The call's deadline passed while it waited for its turn at the provider; nothing was sent."""

    code = "queue_timeout"
