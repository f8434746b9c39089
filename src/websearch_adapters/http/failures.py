"""HTTP statuses and library exceptions as our errors: the only such mapping.

A provider's words decide before its status does, because relays and vendors disagree on statuses: a wrong key is 400 at
xAI, 432 is a used-up plan at Tavily, 429 can mean "out of credits" and never clear. The words are matched, never shown.
"""

from __future__ import annotations

import json
import math
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from websearch_adapters import bounded_json
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RedirectRefused,
    RequestRejected,
    Unreachable,
    WebSearchError,
    WrongAddress,
)
from websearch_core.retry import RETRYABLE_CODES

if TYPE_CHECKING:
    import httpx

__all__ = [
    "PHRASES",
    "UNEXPLAINED",
    "Phrases",
    "broken_chars",
    "error_in_body",
    "from_exception",
    "from_response",
    "html_page",
    "in_another_encoding",
    "json_object",
    "retry_after_s",
    "shown_base",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """What an operator knows about the words of an upstream's errors; it comes before everything that is built in.

    A phrase is looked for, whatever its case, in code, type and message of an error with any status, in the order below.
    """

    retry: tuple[str, ...] = ()
    """Passes by itself, such as a relay without a free account: ask the same model again."""
    switch: tuple[str, ...] = ()
    """Has to do with the model: ask another one."""
    stop: tuple[str, ...] = ()
    """Neither a repetition nor another model helps."""
    retryable_codes: tuple[str, ...] = RETRYABLE_CODES
    """Whole codes or types of errors that pass, whatever the status, unless it is one of those for a wrong request."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            texts = (text.strip().casefold() for text in getattr(self, name))
            object.__setattr__(self, name, tuple(text for text in texts if text))


PHRASES = Phrases()
"""Nothing but what is built in."""
UNEXPLAINED = {"message": "internal error"}
"""The error of an upstream that reports one without a word on it; relays are known to recover."""

# In the order of decision; each phrase is matched without case against code, type and message together.
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
# With status 429 alone, and unless the words speak of a short time: plans are named in many ways.
PLAN = ("quota", "billing", "credit", "plan limit", "usage limit", "monthly limit", "insufficient")
SHORT_TIME = re.compile(r"\b(?:per|each|a|/)\s*(?:second|minute|hour)\b|/\s?(?:s|sec|min|m|h)\b|\b[rt]p[ms]\b")
UNKNOWN_MODEL = (
    "model_not_found", "model not found", "model does not exist", "unknown model", "模型不存在", "no available channel for model",
    "无可用渠道",
)  # fmt: skip
FORBIDDEN_MODEL = (
    "model_access_denied", "model_permission_denied", "permission denied for model", "does not have access to model",
    "not authorized to use model", "无权访问模型", "模型无权限",
)  # fmt: skip
UNAVAILABLE_MODEL = (
    "model_unavailable", "model temporarily unavailable", "model is unavailable", "model overloaded", "模型暂时不可用",
    "模型不可用",
)  # fmt: skip
# The same with the model's name inside of the phrase.
UNKNOWN_NAMED = re.compile(r"\bmodel\b.{0,120}\b(?:does not exist|not found|not supported)\b|模型[^，。；]{1,80}不存在")
FORBIDDEN_NAMED = re.compile(
    r"\bnot (?:have (?:access|permission)|authori[sz]ed)\b.{0,40}\bmodel\b|\bpermission denied for the model\b"
    r"|\baccess to (?:the )?model\b.{0,80}\bdenied\b|模型[^，。；]{1,80}无权限"
)
UNAVAILABLE_NAMED = re.compile(
    r"\bmodel\s+\S{1,80}\s+(?:is\s+)?(?:currently\s+|temporarily\s+)?(?:unavailable|overloaded)\b|模型[^，。；]{1,80}不可用"
)
AUTH = (
    "invalid_api_key", "authentication_error", "invalid authentication", "incorrect api key", "api key invalid",
    "api key is invalid", "api key not valid", "valid api key", "invalid token", "token missing", "bad-credentials",
    "认证失败", "密钥无效", "无效的令牌",
)  # fmt: skip
KEY_NAMED = re.compile(
    r"\bapi[ _-]?key\b.{0,40}\b(?:invalid|revoked|expired|missing|disabled)\b"
    r"|\b(?:invalid|revoked|expired)\b.{0,40}\bapi[ _-]?key\b"
)
"""The same in other words, which mean it in an answer to a request (4xx) and not on a page about some outage."""
PAGE = (
    "not supported", "no longer supported", "unsupported", "unsafe_domain_blocked", "agent_index_only",
    "scrape_prompt_injection_detected", "third_party_data_terms_required",
)  # fmt: skip
# In prose alone: as codes they are the operator's business.
RATE = ("rate limit", "too many requests", "resource-exhausted", "resource has been exhausted")
PASSING = (
    "temporarily unavailable", "currently unavailable", "did not respond", "overloaded", "at capacity", "internal error",
)  # fmt: skip
WAIT_IN_TEXT = re.compile(
    r"(?:retry after|resets in:?|try again in)\s*(?:(\d{1,4})m\s*)?(\d{1,6}(?:\.\d{1,6})?)\s*(?:s|seconds?)\b", re.IGNORECASE
)
MOST_BROKEN = 3
"""A relay that cuts one character in two leaves that many marks."""
UNKNOWN_NAME = "Check the spelling of the host name, and of a proxy's; if it is right, this machine has no network or no DNS."
REJECTED_STATUSES = frozenset({405, 409, 410, 413, 415})


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, provider: str, base_url: str, phrases: Phrases = PHRASES
) -> WebSearchError:
    """The error for a reply whose status is not 200; `body` may be cut."""
    if 300 <= status < 400:
        return _not_an_api(provider, base_url, "answers with a redirect, which is not followed", RedirectRefused, status=status)
    found = _fields(_parsed(body))
    if not found.text and body.lstrip()[:1] == b"<" and status in {401, 403, 404, 405}:
        return _not_an_api(provider, base_url, f"answers {status} with an HTML page", status=status)
    return _judged(status, headers, found, provider, base_url, phrases=phrases)


def error_in_body(payload: object, provider: str, base_url: str = "", phrases: Phrases = PHRASES) -> ProviderError | None:
    """The error that a reply with status 200 carries as an `error` object or text; None when it carries none."""
    if not isinstance(payload, Mapping) or not payload.get("error"):
        return None
    found = _fields(payload)
    error = _judged(200, {}, found, provider, base_url, meant=_status_in(found), phrases=phrases)
    return error if isinstance(error, ProviderError) else BadReply(error.message, provider=provider, http_status=200)


def from_exception(error: httpx.HTTPError | httpx.InvalidURL, provider: str, base_url: str, *, whose: str = "") -> WebSearchError:
    """The error for a request that brought no usable reply. Names no address but the configured one, or `whose` in its place."""
    import httpx

    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
        return _not_an_api(provider, base_url, "is not a web address")
    kinds: tuple[tuple[type[Exception], str, str], ...] = (
        (httpx.ConnectTimeout, "connection_failure", "no connection within the limit"),
        (httpx.ConnectError, "connection_failure", "no connection"),
        (httpx.ProxyError, "connection_failure", "the proxy did not let it through"),
        (httpx.ReadTimeout, "read_timeout", "silent for too long"),
        (httpx.TimeoutException, "timeout", "took too long"),
        (httpx.DecodingError, "network_failure", "sent a body that does not decompress"),
        (httpx.TooManyRedirects, "network_failure", "redirected too often"),
    )
    word, text = next(((w, t) for kind, w, t in kinds if isinstance(error, kind)), ("network_failure", "the connection broke"))
    unknown = _is_unknown_name(error)
    return Unreachable(
        f"{whose or f'{provider} at {shown_base(base_url)}'}: {'the host name is not known' if unknown else text}",
        provider=provider,
        hint=UNKNOWN_NAME if unknown else "Try again later; if it stays, check the address and the proxy settings.",
        diagnostics={"error_type": word, "exception_type": type(error).__name__},
    )


def _is_unknown_name(error: BaseException) -> bool:
    """Whether the connection failed because the host's name has no address, as far as this machine can learn."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, socket.gaierror):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def json_object(body: bytes, *, provider: str, base_url: str = "", phrases: Phrases = PHRASES) -> dict[str, Any]:
    """One JSON object out of a whole body.

    Raises:
        NotConfigured: an HTML page came instead.
        ProviderError: not JSON, not UTF-8, not an object or too many values (BadReply), or an error object with status 200.
    """
    text = body.decode("utf-8-sig", "replace").strip()
    if text.startswith("<"):
        raise html_page(text, provider, base_url)
    payload = _value(text, provider)
    if not isinstance(payload, dict) or in_another_encoding(broken_chars(body, text), len(text)):
        raise BadReply("the reply is not a JSON object", provider=provider, diagnostics={"error_type": "invalid_response"})
    if error := error_in_body(payload, provider, base_url, phrases):
        raise error
    return payload


def broken_chars(raw: bytes, text: str) -> int:
    """How many characters of `text` stand for bytes of `raw` that are no UTF-8."""
    return text.count("\ufffd") - raw.count(b"\xef\xbf\xbd")


def in_another_encoding(broken: int, chars: int) -> bool:
    """Whether so many broken characters are more than damage: a text that is not UTF-8 at all, and not to be told as one."""
    return broken > max(MOST_BROKEN, chars // 1_000)


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


class _Found(NamedTuple):
    """Code, type and message of an error body, wherever they stand."""

    code: str | None = None
    """Code, else type, as a slug fit to show."""
    codes: frozenset[str] = frozenset()
    """Code and type as they are, without case."""
    prose: str = ""
    """What is written in words, without case."""
    text: str = ""
    """Everything together, without case."""


def _fields(payload: object) -> _Found:
    if isinstance(payload, list) and payload:
        payload = payload[0]
    if isinstance(payload, str):
        return _Found(prose=payload.casefold(), text=payload.casefold())
    if not isinstance(payload, Mapping):
        return _Found()
    inner = payload.get("error")
    if inner is None and isinstance(payload.get("detail"), Mapping):
        inner = payload["detail"].get("error", payload["detail"])
    where = inner if isinstance(inner, Mapping) else payload
    slugs = [slug for name in ("code", "type") if (slug := _slug(where.get(name)))]
    message = inner if isinstance(inner, str) else where.get("message") or where.get("detail") or ""
    prose = [slug for slug in slugs if " " in slug] + ([str(message)] if isinstance(message, (str, int)) else [])
    if isinstance(wait := where.get("retry_after_seconds"), int):
        prose.append(f"retry after {wait}s")
    wrapped = _wrapped(message)
    return _Found(
        code=re.sub(r"[^A-Za-z0-9_.:-]+", "_", slugs[0])[:80] if slugs else None,
        codes=wrapped.codes.union(slug.casefold() for slug in slugs),
        prose=" ".join([*prose, wrapped.prose]).casefold(),
        text=" ".join([*slugs, *prose, wrapped.text]).casefold(),
    )


def _slug(value: object) -> str:
    """A code or type as text; relays give numbers too."""
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


def _wrapped(message: object) -> _Found:
    """The fields of a message that is JSON itself, as relays of relays have it."""
    if not isinstance(message, str) or not message.startswith("{"):
        return _Found()
    inside = _parsed(message.encode("utf-8", "replace"))
    return _fields(inside) if isinstance(inside, Mapping) else _Found()


def _status_in(found: _Found) -> int:
    """The status that a code names, as some relays report it inside of a 200; else 200."""
    return int(found.code) if found.code and re.fullmatch(r"[45]\d\d", found.code) else 200


class _Verdict(NamedTuple):
    """What an error amounts to."""

    kind: type[ProviderError]
    word: str
    """The type of error for diagnostics."""
    hint: str
    passes: bool = False
    """It may pass by itself although its class is not one that does."""


LATER = "Try again later."
OTHER_MODEL = "Set a model that this account may use."
RELAY_IS_FULL = _Verdict(
    Unreachable, "relay_upstream_account_unavailable", "The relay has no free account now; try again in a minute."
)
NO_CREDIT = _Verdict(
    OutOfCredit, "quota_exhausted", "Credit or plan of {provider} is used up: add credit, another key, or wait for the reset."
)
MODEL_UNKNOWN = _Verdict(ModelRejected, "model_not_found", OTHER_MODEL)
MODEL_FORBIDDEN = _Verdict(ModelRejected, "model_permission_denied", OTHER_MODEL)
MODEL_UNAVAILABLE = _Verdict(ModelRejected, "model_unavailable", "Try again later, or set another model.", passes=True)
KEY_REFUSED = _Verdict(AuthRejected, "authentication_error", "Check the key of {provider}.")
KEY_FORBIDDEN = _Verdict(AuthRejected, "authentication_error", "Check the key of {provider} and what it may do.")
PAGE_REFUSED = _Verdict(Declined, "declined", "Use another provider for this page.")
REQUEST_WRONG = _Verdict(RequestRejected, "request_invalid", "Change the request; repeating it unchanged fails the same way.")
STOPPED = _Verdict(RequestRejected, "upstream_rejected", "Repeating the request unchanged fails the same way.")
NOT_THERE = _Verdict(RequestRejected, "upstream_rejected", "Check the address {base}: it may lack /v1 or name another version.")
TOO_MANY = _Verdict(RateLimited, "rate_limited", LATER)
DOWN = _Verdict(Unreachable, "upstream_unavailable", LATER)
ODD = _Verdict(BadReply, "upstream_rejected", LATER)


def _judged(
    status: int,
    headers: Mapping[str, str],
    found: _Found,
    provider: str,
    base_url: str,
    *,
    phrases: Phrases,
    meant: int | None = None,
) -> WebSearchError:
    """The error for a reply; `meant` is the status to judge by where it is not the one that came."""
    judged_by = meant or status
    verdict = _by_operator(found, phrases) or _advised(
        _by_words(judged_by, found) or _by_status(judged_by, found, phrases), headers
    )
    said = "reports an error in a reply with status 200" if status == 200 else f"answers {status}"
    error = verdict.kind(
        f"{provider} {said}",
        provider=provider,
        hint=verdict.hint.format(provider=provider, base=shown_base(base_url) if base_url else "its address"),
        http_status=status,
        upstream_code=found.code,
        retry_after_s=retry_after_s(headers, found.text),
        diagnostics={"error_type": verdict.word},
    )
    error.repeatable = error.repeatable or verdict.passes
    return error


def _advised(verdict: _Verdict, headers: Mapping[str, str]) -> _Verdict:
    """The verdict with the upstream's own word on whether to try again."""
    should = {key.lower(): value.lower() for key, value in headers.items()}.get("x-should-retry")
    if should == "false" and verdict.kind in {RateLimited, Unreachable}:
        return verdict._replace(kind=RequestRejected)
    if should == "true" and verdict.kind in {RequestRejected, BadReply}:
        return verdict._replace(kind=Unreachable, word="upstream_unavailable")
    return verdict


def _by_operator(found: _Found, phrases: Phrases) -> _Verdict | None:
    rows = ((phrases.retry, DOWN), (phrases.switch, MODEL_UNAVAILABLE), (phrases.stop, STOPPED))
    return next((verdict for known, verdict in rows if _any(known, found.text)), None)


def _by_words(status: int, found: _Found) -> _Verdict | None:
    text = found.text
    rows = (
        (_any(RELAY_ACCOUNT, text), RELAY_IS_FULL),
        (_any(CREDIT, text) or status in {402, 432, 433}, NO_CREDIT),
        (status == 429 and _any(PLAN, text) and not SHORT_TIME.search(text), NO_CREDIT),
        (_any(UNKNOWN_MODEL, text) or UNKNOWN_NAMED.search(text), MODEL_UNKNOWN),
        (_any(FORBIDDEN_MODEL, text) or FORBIDDEN_NAMED.search(text), MODEL_FORBIDDEN),
        (_any(UNAVAILABLE_MODEL, text) or UNAVAILABLE_NAMED.search(text), MODEL_UNAVAILABLE),
        (_any(AUTH, text) or (400 <= status < 500 and KEY_NAMED.search(text)), KEY_REFUSED),
    )
    return next((verdict for is_meant, verdict in rows if is_meant), None)


def _by_status(status: int, found: _Found, phrases: Phrases) -> _Verdict:
    if status == 401:
        return KEY_REFUSED
    if status == 403:
        return PAGE_REFUSED if _any(PAGE, found.text) else KEY_FORBIDDEN
    if status in {400, 422}:
        return REQUEST_WRONG
    if codes := found.codes.intersection(phrases.retryable_codes):
        return TOO_MANY if status == 429 or any(_is_rate(code) for code in codes) else DOWN
    if status == 404:
        return NOT_THERE
    if status in REJECTED_STATUSES:
        return REQUEST_WRONG
    if status == 429 or (status < 400 and _any(RATE, found.prose)):
        return TOO_MANY
    return DOWN if status in {408, 425} or status >= 500 or _any(PASSING, found.prose) else ODD


def _is_rate(code: str) -> bool:
    return "rate_limit" in code or code == "too_many_requests"


def _any(phrases: tuple[str, ...], text: str) -> bool:
    return any(phrase in text for phrase in phrases)


def _not_an_api(
    provider: str, base_url: str, what: str, kind: type[WrongAddress] = WrongAddress, *, status: int | None = None
) -> WrongAddress:
    return kind(
        f"{provider}: {shown_base(base_url)} {what}",
        provider=provider,
        hint=f"Check the address set for {provider}; it must be the base of its API, often ending in /v1.",
        http_status=status,
        diagnostics={"error_type": "upstream_rejected"},
    )


def _value(text: str, provider: str) -> Any:
    """The value that a whole reply holds; None for anything but JSON."""
    try:
        return bounded_json.loads(text)
    except bounded_json.TooManyValues as error:
        raise BadReply(f"the reply holds {error}", provider=provider, diagnostics={"error_type": "invalid_response"}) from error
    except ValueError:
        return None


def _parsed(body: bytes) -> Any:
    """The value in the body of an error, of which 64 KiB are read at most; None for anything but JSON."""
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
