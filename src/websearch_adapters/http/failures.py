"""HTTP statuses and library exceptions as our errors: the only such mapping.

A provider's words decide before its status does, because relays and vendors disagree on statuses: a wrong key is 400 at
xAI, 432 is a used-up plan at Tavily, 429 can mean "out of credits" and never clear. The words are matched, never shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
    WrongAddress,
)

if TYPE_CHECKING:
    import httpx

__all__ = [
    "error_in_body",
    "from_exception",
    "from_response",
    "html_page",
    "json_object",
    "retry_after_s",
    "shown_base",
]

# In the order of decision; each phrase is matched in lower case against code, type and message together.
RELAY_ACCOUNT = (
    "上游账号不可用", "上游账号异常", "死号", "账号池暂时不可用", "账号池不可用", "upstream account unavailable",
    "upstream account is unavailable", "no available upstream account", "account pool unavailable",
    "account pool temporarily unavailable", "dead account", "no available account", "no available compatible account",
    "no available upstream candidate",
)  # fmt: skip
CREDIT = (
    "used all available credits", "spending limit", "spending-limit", "free-usage-exhausted", "insufficient_quota",
    "insufficient credits", "insufficient_user_quota", "plan's set usage limit", "pay-as-you-go limit",
    "exceeded your current quota",
    "额度不足", "余额不足",
)  # fmt: skip
MODEL = (
    "model_not_found", "model not found", "model does not exist", "unknown model", "模型不存在", "model_access_denied",
    "model_permission_denied", "permission denied for model", "does not have access to model", "not authorized to use model",
    "无权访问模型", "模型无权限", "no available channel for model", "无可用渠道",
)  # fmt: skip
AUTH = (
    "invalid_api_key", "authentication_error", "invalid authentication", "incorrect api key", "api key invalid",
    "api key is invalid", "api key not valid", "valid api key", "invalid token", "token missing", "bad-credentials",
    "认证失败", "密钥无效", "无效的令牌",
)  # fmt: skip
PAGE = (
    "not supported", "no longer supported", "unsupported", "unsafe_domain_blocked", "agent_index_only",
    "scrape_prompt_injection_detected", "third_party_data_terms_required",
)  # fmt: skip
RATE = ("rate_limit", "rate limit", "too_many_requests", "too many requests", "resource-exhausted", "resource has been exhausted")
RETRYABLE = (
    "upstream_error", "server_error", "service_unavailable", "temporarily_unavailable", "temporarily unavailable",
    "currently unavailable", "did not respond", "overloaded", "at capacity", "internal_error", "internal error",
)  # fmt: skip
MODEL_NAMED = re.compile(r"\bmodel\b.{0,120}\b(does not exist|not found|not supported)\b")
WAIT_IN_TEXT = re.compile(
    r"(?:retry after|resets in:?|try again in)\s*(?:(\d{1,4})m\s*)?(\d{1,6}(?:\.\d{1,6})?)\s*(?:s|seconds?)\b", re.IGNORECASE
)
REJECTED_STATUSES = frozenset({400, 404, 405, 409, 410, 413, 415, 422})


def from_response(status: int, headers: Mapping[str, str], body: bytes, provider: str, base_url: str) -> WebSearchError:
    """The error for a reply whose status is not 200; `body` may be cut."""
    if 300 <= status < 400:
        return _not_an_api(provider, base_url, "answers with a redirect", status=status)
    found = _fields(_parsed(body))
    if not found.text and body.lstrip()[:1] == b"<" and status in {401, 403, 404, 405}:
        return _not_an_api(provider, base_url, f"answers {status} with an HTML page", status=status)
    return _judged(status, headers, found, provider, base_url)


def error_in_body(payload: object, provider: str, base_url: str = "") -> ProviderError | None:
    """The error that a reply with status 200 carries as an `error` object or text; None when it carries none."""
    if not isinstance(payload, Mapping) or not payload.get("error"):
        return None
    found = _fields(payload)
    error = _judged(200, {}, found, provider, base_url, meant=_status_in(found))
    return error if isinstance(error, ProviderError) else BadReply(error.message, provider=provider, http_status=200)


def from_exception(error: httpx.HTTPError | httpx.InvalidURL, provider: str, base_url: str) -> WebSearchError:
    """The error for a request that brought no usable reply. Names no address but the configured one."""
    import httpx

    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
        return _not_an_api(provider, base_url, "is not a web address")
    kinds: tuple[tuple[type[Exception], str, str], ...] = (
        (httpx.ConnectTimeout, "connection_failure", "no connection within the limit"),
        (httpx.ConnectError, "connection_failure", "no connection"),
        (httpx.ReadTimeout, "read_timeout", "silent for too long"),
        (httpx.TimeoutException, "timeout", "took too long"),
        (httpx.DecodingError, "network_failure", "sent a body that does not decompress"),
        (httpx.TooManyRedirects, "network_failure", "redirected too often"),
    )
    word, text = next(((w, t) for kind, w, t in kinds if isinstance(error, kind)), ("network_failure", "the connection broke"))
    return Unreachable(
        f"{provider} at {shown_base(base_url)}: {text}",
        provider=provider,
        hint="Try again later; if it stays, check the address and the proxy settings.",
        diagnostics={"error_type": word, "exception_type": type(error).__name__},
    )


def json_object(body: bytes, *, provider: str, base_url: str = "") -> dict[str, Any]:
    """One JSON object out of a whole body.

    Raises:
        NotConfigured: an HTML page came instead.
        ProviderError: not JSON or not an object (BadReply), or an error object with status 200.
    """
    text = body.decode("utf-8-sig", "replace").strip()
    if text.startswith("<"):
        raise html_page(text, provider, base_url)
    payload = _parsed(text.encode("utf-8", "replace"))
    if not isinstance(payload, dict):
        raise BadReply("the reply is not a JSON object", provider=provider, diagnostics={"error_type": "invalid_response"})
    if error := error_in_body(payload, provider, base_url):
        raise error
    return payload


def html_page(text: str, provider: str, base_url: str) -> NotConfigured:
    """The configuration fault for an HTML page in place of an API's reply; shows at most its cleaned title."""
    title = re.search(r"<title[^>]*>(.{0,400}?)</title", text, re.IGNORECASE | re.DOTALL)
    shown = re.sub(r"[\x00-\x1f\x7f<>]+", " ", title.group(1)).strip()[:120] if title else ""
    return _not_an_api(provider, base_url, "answers with an HTML page" + (f" titled “{shown}”" if shown else ""), status=200)


def retry_after_s(headers: Mapping[str, str], text: str = "", *, now: datetime | None = None) -> float | None:
    """Seconds to wait from `Retry-After-Ms`, `Retry-After` (seconds or date) or the words of the error; None for garbage."""
    lowered = {key.lower(): value for key, value in headers.items()}
    if (milli := _number(lowered.get("retry-after-ms", ""))) is not None:
        return milli / 1000
    value = lowered.get("retry-after", "").strip()
    if (seconds := _number(value)) is not None:
        return seconds
    if value:
        return _seconds_until(value, now or datetime.now(UTC))
    match = WAIT_IN_TEXT.search(text)
    return 60.0 * int(match.group(1) or 0) + float(match.group(2)) if match else None


def shown_base(base_url: str) -> str:
    """A base address fit to show: without user, query and fragment."""
    try:
        parts = urlsplit(base_url)
        if not parts.hostname:
            return "the configured address"
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{name}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "the configured address"


class _Found:
    """Code, type and message of an error body, wherever they stand."""

    __slots__ = ("code", "text")

    def __init__(self, code: str, text: str) -> None:
        self.code = re.sub(r"[^A-Za-z0-9_.:-]+", "_", code)[:80] or None
        self.text = text.lower()


def _fields(payload: object) -> _Found:
    if isinstance(payload, list) and payload:
        payload = payload[0]
    if isinstance(payload, str):
        return _Found("", payload)
    if not isinstance(payload, Mapping):
        return _Found("", "")
    inner = payload.get("error")
    if inner is None and isinstance(payload.get("detail"), Mapping):
        inner = payload["detail"].get("error", payload["detail"])
    where = inner if isinstance(inner, Mapping) else payload
    code, kind = (where.get(name) for name in ("code", "type"))
    message = inner if isinstance(inner, str) else where.get("message") or where.get("detail") or ""
    words = [str(word) for word in (code, kind, message) if isinstance(word, (str, int)) and not isinstance(word, bool)]
    if isinstance(wait := where.get("retry_after_seconds"), int):
        words.append(f"retry after {wait}s")
    inner_json = _parsed(message.encode("utf-8", "replace")) if isinstance(message, str) and message.startswith("{") else None
    if isinstance(inner_json, Mapping):
        words.append(_fields(inner_json).text)
    slugs = (str(word) for word in (code, kind) if isinstance(word, (str, int)) and word not in ("", False, True))
    return _Found(next(slugs, ""), " ".join(words))


def _status_in(found: _Found) -> int:
    """The status that a code names, as some relays report it inside of a 200; else 200."""
    return int(found.code) if found.code and re.fullmatch(r"[45]\d\d", found.code) else 200


def _judged(
    status: int, headers: Mapping[str, str], found: _Found, provider: str, base_url: str, *, meant: int | None = None
) -> WebSearchError:
    """The error for a reply; `meant` is the status to judge by where it is not the one that came."""
    kind, word, hint = _class_of(meant or status, found)
    wait = retry_after_s(headers, found.text)
    should = {key.lower(): value.lower() for key, value in headers.items()}.get("x-should-retry")
    if should == "false" and kind in (RateLimited, Unreachable):
        kind = RequestRejected
    if should == "true" and kind in (RequestRejected, BadReply):
        kind, word = Unreachable, "upstream_unavailable"
    said = "reports an error in a reply with status 200" if status == 200 else f"answers {status}"
    return kind(
        f"{provider} {said}",
        provider=provider,
        hint=hint.format(provider=provider, base=shown_base(base_url) if base_url else "its address"),
        http_status=status,
        upstream_code=found.code,
        retry_after_s=wait,
        diagnostics={"error_type": word},
    )


def _class_of(status: int, found: _Found) -> tuple[type[ProviderError], str, str]:
    """Error class, P5's error type and hint; words first, then status."""
    later = "Try again later."
    if _any(RELAY_ACCOUNT, found.text):
        return (
            Unreachable,
            "relay_upstream_account_unavailable",
            "The relay has no free account now; try again in a minute.",
        )
    if _any(CREDIT, found.text) or status in {402, 432, 433}:
        return (
            OutOfCredit,
            "quota_exhausted",
            "Credit or plan of {provider} is used up: add credit, another key, or wait for the reset.",
        )
    if _any(MODEL, found.text) or MODEL_NAMED.search(found.text):
        return ModelRejected, "model_not_found", "Set a model that this account may use."
    if status == 401 or _any(AUTH, found.text):
        return AuthRejected, "authentication_error", "Check the key of {provider}."
    if status == 403:
        return (Declined, "declined", "Use another provider for this page.") if _any(PAGE, found.text) else (
            AuthRejected, "authentication_error", "Check the key of {provider} and what it may do.")  # fmt: skip
    if status == 404:
        return (
            RequestRejected,
            "upstream_rejected",
            "Check the address {base}: it may lack /v1 or name another version.",
        )
    if status in REJECTED_STATUSES:
        return RequestRejected, "request_invalid", "Change the request; repeating it unchanged fails the same way."
    if status == 429 or (status < 400 and _any(RATE, found.text)):
        return RateLimited, "rate_limited", later
    if status in {408, 425} or status >= 500 or _any(RETRYABLE, found.text):
        return Unreachable, "upstream_unavailable", later
    return BadReply, "upstream_rejected", later


def _any(phrases: tuple[str, ...], text: str) -> bool:
    return any(phrase in text for phrase in phrases)


def _not_an_api(provider: str, base_url: str, what: str, *, status: int | None = None) -> WrongAddress:
    return WrongAddress(
        f"{provider}: {shown_base(base_url)} {what}",
        provider=provider,
        hint=f"Check the address set for {provider}; it must be the base of its API, often ending in /v1.",
        http_status=status,
        diagnostics={"error_type": "upstream_rejected"},
    )


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(date)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (when - now).total_seconds())
    except (ValueError, OverflowError):
        return None
