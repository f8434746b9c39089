"""Every way in which an upstream can fail one operation, and what may come of it.

A fault is a step of a simulated service, and the verdict on it: what a success would have to say, if one is possible at
all, and which kinds of failure are true. The verdicts follow the contracts of the services, not the adapters.
"""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from starlette.responses import Response

from upstreams import examples
from upstreams.exchange import Exchange, Pieces
from upstreams.script import (
    Quirk,
    Step,
    answering,
    cut_after,
    delay,
    drip,
    endless_comments,
    gzip_bomb,
    hang,
    hang_up,
    html_page,
    huge,
    not_json,
    ok,
    redirect,
    reset,
    scenario,
    sse_quirk,
    stall_after,
    status,
    stream_anyway,
    wrong_charset,
)

__all__ = ["KINDS", "OWN", "Fault", "Kind", "Make", "Place", "Subject", "Told", "Verdict", "faults_of", "refused"]

Kind: TypeAlias = Literal[
    "address",  # what answers is not the API
    "auth",  # the key is refused
    "credit",  # plan or credit used up
    "declined",  # refused on content grounds, or this page is refused
    "down",  # no usable reply: connection, time-out, cut, 5xx
    "empty",  # worked, and had nothing
    "incomplete",  # only part of it came
    "late",  # out of time
    "model",  # this model is not to be had
    "policy",  # forbidden by us
    "rate",  # too many requests
    "reply",  # answered in another shape
    "request",  # the request is refused
    "unverified",  # an answer without a sign of a search
]
Subject: TypeAlias = Literal["xai", "xai-posts", "chat", "tavily-search", "firecrawl-search", "tavily-fetch", "firecrawl-fetch", "local-fetch",
    "tavily-map", "firecrawl-map", "local-map"]  # fmt: skip
"""The upstream and what is asked of it."""
Area: TypeAlias = Literal["example", "transport", "status", "body", "shape", "echo"]
Told: TypeAlias = str | tuple[str, ...]
"""What a success says: the answer's or page's text, or the addresses that a search adds or a map lists."""
Make: TypeAlias = "Callable[[Place], Step]"

OWN = "what the simulator says by itself"
MIB = 1024 * 1024
HUGE_BYTES = 50 * MIB
BOMB_BYTES = 64 * MIB
TOO_SLOW_S = 0.4
ASKED = "https://council.example.org/news/footbridge-reopens"
CITED = ("https://council.example.org/news/footbridge-reopens", "https://gazette.example.com/2026/11/footbridge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a cell happens."""

    elsewhere: str
    """A server of another host that must never see a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is true of a fault."""

    told: Told | None = None
    """What a success must say; None: a success is a lie."""
    kinds: frozenset[Kind] = frozenset()
    """The failures that are true; none: it must succeed."""
    unverified: str | None = None
    """The text that must stand under `unverified_answer`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One column of the matrix."""

    name: str
    make: Make
    verdict: Verdict
    status: int | None = None
    """The status that the fault answers with, when it is one of failure."""
    late: bool = False
    """It ends only by the caller's own deadline."""
    refuses: bool = False
    """Nobody listens at the address."""
    heavy: bool = False
    """It costs so much work that it would slow other cells down."""
    area: Area = "shape"
    cause: frozenset[Kind] = frozenset()
    """What the upstream does, also where the call as a whole must get over it."""


KINDS: Mapping[Kind, tuple[frozenset[str], frozenset[str]]] = {
    "address": (
        frozenset({"{}_configuration_error", "{}_api_configuration_error", "{}_redirect_refused", "{}_wrong_address"}),
        frozenset({"upstream_rejected", "configuration"}),
    ),
    "auth": (
        frozenset({"{}_authentication_error", "{}_all_keys_unavailable", "{}_auth_rejected"}),
        frozenset({"authentication_error"}),
    ),
    "credit": (
        frozenset({"{}_all_keys_unavailable", "{}_out_of_credit", "grok_primary_failed"}),
        frozenset({"quota_exhausted"}),
    ),
    "declined": (
        frozenset({"{}_blocked", "{}_declined", "{}_upstream_error", "grok_primary_failed"}),
        frozenset({"declined", "content_filter", "page_status", "upstream_rejected", "empty_response"}),
    ),
    "down": (
        frozenset({"{}_service_unavailable", "{}_unreachable", "{}_all_keys_unavailable", "grok_primary_failed"}),
        frozenset(
            {
                "connection_failure",
                "empty_response",
                "invalid_response",
                "model_unavailable",
                "network_failure",
                "page_status",
                "rate_limited",
                "read_timeout",
                "relay_upstream_account_unavailable",
                "stream_interrupted",
                "stream_interrupted_after_content",
                "timeout",
                "upstream_unavailable",
            }
        ),
    ),
    "empty": (
        frozenset(
            {
                "{}_empty_answer",
                "{}_empty_result",
                "{}_no_content",
                "{}_no_urls",
                "fetch_no_content",
                "grok_empty_answer",
                "grok_primary_failed",
                "map_no_urls",
                "search_no_results",
            }
        ),
        frozenset({"empty_response"}),
    ),
    "incomplete": (
        frozenset({"{}_answer_incomplete", "{}_incomplete", "{}_map_incomplete", "grok_primary_failed"}),
        frozenset({"answer_incomplete", "incomplete", "content_filter", "stream_interrupted_after_content"}),
    ),
    "late": (
        frozenset({"{}_out_of_time", "{}_total_budget_exhausted", "out_of_time", "search_out_of_time"}),
        frozenset({"read_timeout", "timeout", "total_budget_exhausted", "rate_limited", "upstream_unavailable"}),
    ),
    "model": (
        frozenset({"{}_model_rejected", "grok_primary_failed"}),
        frozenset({"model_not_found", "model_permission_denied", "model_unavailable"}),
    ),
    "policy": (frozenset({"not_allowed", "{}_not_allowed"}), frozenset()),
    "rate": (
        frozenset({"{}_all_keys_unavailable", "{}_rate_limited", "grok_primary_failed"}),
        frozenset({"rate_limited", "page_status"}),
    ),
    "reply": (
        frozenset({"{}_bad_reply", "{}_invalid_response", "{}_needs_rendering", "{}_upstream_error", "grok_primary_failed"}),
        frozenset({"invalid_response", "upstream_rejected", "empty_response", "page_status"}),
    ),
    "request": (
        frozenset({"{}_request_invalid", "{}_request_rejected", "{}_not_found"}),
        frozenset({"request_invalid", "upstream_rejected", "page_status"}),
    ),
    "unverified": (frozenset({"{}_no_search_evidence", "grok_unverified"}), frozenset({"no_search_evidence"})),
}
"""Kind → the codes that say it, `{}` standing for the service, and the error types that go with it."""


def fails(*kinds: Kind) -> Verdict:
    """It must fail, in one of these ways."""
    return Verdict(kinds=frozenset(kinds))


def says(told: Told, *kinds: Kind) -> Verdict:
    """It succeeds with exactly this, or, where kinds are given, fails so."""
    return Verdict(told=told, kinds=frozenset(kinds))


def whole(*kinds: Kind) -> Verdict:
    """It succeeds with the simulator's own answer, or, where kinds are given, fails so."""
    return says(OWN, *kinds)


def faults_of(subject: Subject) -> Iterator[Fault]:
    """Every fault that fits the subject."""
    areas: Mapping[Area, Callable[[Subject], Iterator[Fault]]] = {
        "example": _examples,
        "transport": _transport,
        "status": _statuses,
        "body": _bodies,
        "shape": _shapes,
        "echo": _echoes,
    }
    for area, made in areas.items():
        yield from (replace(fault, area=area, cause=fault.verdict.kinds) for fault in made(subject))


def refused(subject: Subject) -> Fault:
    """The connection is refused; the simulator itself is healthy."""
    return Fault(name="connection refused", make=_own, verdict=fails("down"), refuses=True)


def _own(_: Place) -> Step:
    return ok()


def _is_engine(subject: Subject) -> bool:
    return subject in {"xai", "xai-posts", "chat"}


def _is_local(subject: Subject) -> bool:
    return subject.startswith("local-")


# --- the contracts' examples --------------------------------------------------------------------------------------

XAI_ANSWER = (
    "The Example Valley footbridge reopened on 14 November 2026."
    "[[1]](https://council.example.org/news/footbridge-reopens)"
    " The works took eleven weeks.[[2]](https://gazette.example.com/2026/11/footbridge)"
)
XAI_POSTS = "The account said on 14 November 2026 that the footbridge was open again and posted a photo of the ribbon cutting."
XAI_NOTHING = "I could not find anything about that bridge."
CHAT_ANSWER = "It reopened on 14 November 2026."
CHAT_CITED = f"{CHAT_ANSWER}[[1]](https://council.example.org/news/footbridge-reopens)"
NOT_SEARCHED = Verdict(kinds=frozenset({"unverified"}), unverified=XAI_NOTHING)
BUSY = fails("down", "rate")
LATE_OR_BUSY = fails("rate", "down", "late")

XAI: Mapping[str, Verdict] = {
    "xai-responses.web_search": says(XAI_ANSWER),
    "xai-responses.web_search.2025-shape": says("It reopened on 14 November."),
    "xai-responses.x_search": says(XAI_POSTS),
    "xai-responses.empty": NOT_SEARCHED,
    "xai-responses.incomplete": fails("incomplete"),
    "xai-responses.failed": fails("down"),
    "xai-responses.proxy-variant": says(XAI_ANSWER),
    "xai-responses.stream.web_search": says(XAI_ANSWER),
    "xai-responses.stream.x_search": says(XAI_POSTS),
    "xai-responses.stream.incomplete": fails("incomplete", "unverified"),
    "xai-responses.stream.failed": fails("down"),
    "xai-responses.stream.error-event": fails("down"),
    "xai-responses.stream.error-object": fails("down"),
    "xai-responses.stream.truncated": fails("down"),
    "xai-responses.stream.aborted": fails("down"),
    "xai-responses.stream.quirk.cr-only": NOT_SEARCHED,
    "xai-responses.stream.quirk.crlf-comments": NOT_SEARCHED,
    "xai-responses.stream.quirk.no-event-names": NOT_SEARCHED,
    "xai-responses.stream.quirk.no-final-blank-line": NOT_SEARCHED,
    "xai-responses.stream.quirk.bom": NOT_SEARCHED,
    "xai-responses.stream.quirk.done-event": NOT_SEARCHED,
    "xai-responses.error.400.invalid-argument": fails("request"),
    "xai-responses.error.400.bad-api-key": fails("auth"),
    "xai-responses.error.400.bare-string": fails("auth"),
    "xai-responses.error.400.include": fails("request"),
    "xai-responses.error.400.context-length": fails("request"),
    "xai-responses.error.401.missing-auth": fails("auth"),
    "xai-responses.error.402.spending-limit": fails("credit"),
    "xai-responses.error.403.spending-limit": fails("credit"),
    "xai-responses.error.403.oauth-token-rejected": fails("auth"),
    "xai-responses.error.403.permission-denied": fails("auth", "declined"),
    "xai-responses.error.404.model": fails("model"),
    "xai-responses.error.404.response-id": fails("request"),
    "xai-responses.error.410.live-search": fails("request"),
    "xai-responses.error.413.too-large": fails("request"),
    "xai-responses.error.415.media-type": fails("request"),
    "xai-responses.error.422.deserialize": fails("request"),
    "xai-responses.error.429.rate-limit": LATE_OR_BUSY,
    "xai-responses.error.429.no-retry-after": LATE_OR_BUSY,
    "xai-responses.error.429.out-of-credits": fails("credit"),
    "xai-responses.error.429.free-usage": fails("credit"),
    "xai-responses.error.429.capacity": BUSY,
    "xai-responses.error.500.internal": fails("down"),
    "xai-responses.error.502.cloudflare": fails("down"),
    "xai-responses.error.503.unavailable": fails("down"),
    "xai-responses.error.529.overloaded": fails("down"),
}
OF_THE_WEB = "It reopened on 14 November."
NO_POSTS = fails("unverified")
POSTS: Mapping[str, Verdict] = {
    **XAI,
    "xai-responses.web_search": NO_POSTS,  # its counters know no search on X
    "xai-responses.stream.web_search": NO_POSTS,
    "xai-responses.web_search.2025-shape": says(OF_THE_WEB),  # without counters citations show a search
    "xai-responses.incomplete": fails("incomplete", "unverified"),
    **{name: NO_POSTS for name, verdict in XAI.items() if verdict is NOT_SEARCHED},
}
"""Of a search on X: the same replies, another question."""
CHAT: Mapping[str, Verdict] = {
    "chat.success": says(CHAT_ANSWER),
    "chat.xai": says(CHAT_ANSWER),
    "chat.annotations": says(CHAT_ANSWER),
    "chat.relay-citations": says(CHAT_CITED),
    "chat.content-parts": says(CHAT_ANSWER),
    "chat.empty": fails("down", "empty"),
    "chat.no-choices": fails("down", "empty", "reply"),
    "chat.length": fails("incomplete"),
    "chat.content-filter": fails("declined"),
    "chat.tool-calls": fails("reply"),
    "chat.error-in-200": fails("down"),
    "chat.stream.success": says(CHAT_ANSWER),
    "chat.stream.no-usage": says(CHAT_ANSWER),
    "chat.stream.xai": says(CHAT_ANSWER),
    "chat.stream.keepalive": says(CHAT_ANSWER),
    "chat.stream.crlf": says(CHAT_ANSWER),
    "chat.stream.no-done": says(CHAT_ANSWER),
    "chat.stream.truncated": fails("down"),
    "chat.stream.empty": fails("down", "empty"),
    "chat.stream.error-object": fails("down"),
    "chat.stream.error-flat": BUSY,
    "chat.stream.error-openrouter": fails("down"),
    "chat.stream.error-named-event": fails("down"),
    "chat.stream.sse-despite-false": says(CHAT_ANSWER),
    "chat.error.400.invalid": fails("request"),
    "chat.error.400.context-length": fails("request"),
    "chat.error.400.google-array": fails("auth"),
    "chat.error.401.invalid-key": fails("auth"),
    "chat.error.401.new-api-token": fails("auth"),
    "chat.error.402.openrouter-credits": fails("credit"),
    "chat.error.403.proxy-quota": fails("credit"),
    "chat.error.404.model": fails("model"),
    "chat.error.408.timeout": fails("down"),
    "chat.error.410.live-search": fails("request"),
    "chat.error.422.detail-list": fails("request"),
    "chat.error.429.rate-limit": LATE_OR_BUSY,
    "chat.error.429.insufficient-quota": fails("credit"),
    "chat.error.429.no-available-account": BUSY,
    "chat.error.500.server": fails("down"),
    "chat.error.502.html": fails("down"),
    "chat.error.503.no-available-accounts": fails("down"),
    "chat.error.503.no-available-compatible-accounts": fails("down"),
    "chat.error.503.no-available-channel": fails("model"),
    "chat.error.503.no-available-channel.zh": fails("model"),
    "chat.error.500.double-encoded": BUSY,
}
TAVILY_ERRORS: Mapping[str, Verdict] = {
    "tavily.error.400.query-too-long": fails("request"),
    "tavily.error.400.invalid-topic": fails("request"),
    "tavily.error.400.extract-too-many": fails("request"),
    "tavily.error.401.invalid-key": fails("auth"),
    "tavily.error.403.unsupported-url": fails("declined"),
    "tavily.error.422.validation": fails("request"),
    "tavily.error.422.string-detail": fails("request"),
    "tavily.error.429.rate-limit": LATE_OR_BUSY,
    "tavily.error.429.keyless-cap": LATE_OR_BUSY,
    "tavily.error.432.plan-limit": fails("credit"),
    "tavily.error.433.paygo-limit": fails("credit"),
    "tavily.error.500.internal": fails("down"),
    "tavily.error.502.html": fails("down"),
}
FIRECRAWL_ERRORS: Mapping[str, Verdict] = {
    "firecrawl.v2.credit-usage.404": fails("request", "address"),
    "firecrawl.error.200.dns": fails("down", "reply", "request"),
    "firecrawl.error.400.validation": fails("request"),
    "firecrawl.error.400.search-validation": fails("request"),
    "firecrawl.error.400.category-removed": fails("request"),
    "firecrawl.error.401.invalid-token": fails("auth"),
    "firecrawl.error.401.token-missing": fails("auth"),
    "firecrawl.error.402.credits": fails("credit"),
    "firecrawl.error.403.blocklist": fails("declined"),
    "firecrawl.error.403.unsupported-site": fails("declined"),
    "firecrawl.error.403.terms-required": fails("declined", "auth"),
    "firecrawl.error.404.no-cached-data": fails("request", "address", "empty"),
    "firecrawl.error.408.timeout": fails("down"),
    "firecrawl.error.408.map-timeout": fails("down"),
    "firecrawl.error.408.queue": fails("down"),
    "firecrawl.error.409.idempotency": fails("request"),
    "firecrawl.error.429.rate-limit": LATE_OR_BUSY,
    "firecrawl.error.429.keyless": fails("rate", "credit", "late"),
    "firecrawl.error.500.unknown": fails("down"),
    "firecrawl.error.500.all-engines": fails("down"),
    "firecrawl.error.500.ssl": fails("down", "declined"),
    "firecrawl.error.502.html": fails("down"),
    "firecrawl.error.503.unavailable": fails("down"),
}
FOUND_NEWS = "https://gazette.example.com/2026/11/footbridge"
EXAMPLES: Mapping[Subject, Mapping[str, Verdict]] = {
    "xai": XAI,
    "xai-posts": POSTS,
    "chat": CHAT,
    "tavily-search": {
        "tavily.search.success": says(CITED),
        "tavily.search.minimal": says(CITED[:1]),
        "tavily.search.empty": says((), "empty"),
        "tavily.search.news": says((FOUND_NEWS,)),
        "tavily.search.auto": says(CITED[:1]),
        "tavily.search.keyless": says(CITED[:1]),
        **TAVILY_ERRORS,
    },
    "tavily-fetch": {
        "tavily.extract.partial": says("# Footbridge reopens\n\nThe footbridge opened to walkers again on Saturday."),
        "tavily.extract.all-failed": fails("declined", "down"),
        **TAVILY_ERRORS,
    },
    "tavily-map": {
        "tavily.map.success": says((CITED[0], "https://council.example.org/news/library-hours")),
        "tavily.map.empty": fails("empty"),
        **TAVILY_ERRORS,
    },
    "firecrawl-search": {
        "firecrawl.v2.search.success": says(CITED),
        "firecrawl.v2.search.web-only": says(CITED),
        "firecrawl.v2.search.empty": says((), "empty"),
        "firecrawl.v2.search.empty-object": says((), "empty"),
        "firecrawl.v2.search.scraped": says(CITED[:1]),
        "firecrawl.v2.search.research": says(("https://arxiv.org/abs/2611.00001",)),
        "firecrawl.v1.search.success": says(CITED[:1]),
        **FIRECRAWL_ERRORS,
    },
    "firecrawl-fetch": {
        "firecrawl.v2.scrape.success": says("# Footbridge reopens\n\nThe footbridge opened to walkers again."),
        "firecrawl.v2.scrape.cached": says("# Footbridge reopens"),
        "firecrawl.v2.scrape.target-404": fails("declined", "request"),
        "firecrawl.v2.scrape.empty": fails("empty"),
        "firecrawl.v1.scrape.success": says("# Footbridge reopens"),
        **FIRECRAWL_ERRORS,
    },
    "firecrawl-map": {
        "firecrawl.v2.map.success": says((CITED[0], "https://council.example.org/news")),
        "firecrawl.v2.map.empty": fails("empty"),
        "firecrawl.v1.map.success": says((CITED[0], "https://council.example.org/news")),
        **FIRECRAWL_ERRORS,
    },
    "local-fetch": {},
    "local-map": {},
}


def _examples(subject: Subject) -> Iterator[Fault]:
    for row_id, verdict in EXAMPLES[subject].items():
        row = examples.scenario(row_id)
        yield Fault(
            name=row_id,
            make=functools.partial(_scenario, row_id),
            verdict=verdict,
            status=row.status if row.status >= 400 else None,
            late="late" in verdict.kinds,
        )


def _scenario(row_id: str, _: Place) -> Step:
    return scenario(row_id)


# --- connections, silence and size --------------------------------------------------------------------------------


def _transport(subject: Subject) -> Iterator[Fault]:
    yield Fault(name="nothing wrong", make=_own, verdict=whole())
    if not _is_local(subject):  # a dead page is no dead service; the built-in readers' own tests cover it
        yield refused(subject)
    yield from _broken(subject)
    yield from _silent(subject)
    yield from _oversized(subject)


def _broken(subject: Subject) -> Iterator[Fault]:
    """Connections that break. The map asks robots.txt first, and what cannot be read there forbids the site."""
    dead = fails("down", "policy") if subject == "local-map" else fails("down")
    cut = dead if not _is_engine(subject) else whole("down")  # an answer that had ended is whole
    yield _fault("connection reset", reset(), dead)
    yield _fault("connection closed without a word", hang_up(), dead)
    for size in (0, 1, 40):
        yield _fault(f"cut after {size} bytes", cut_after(bytes=size), dead)
    yield _fault("reset in the middle", _reset_after(b'{"results": ['), dead)
    if _is_engine(subject):
        for size in (300, 700, 1_500, 3_000, 5_000):
            yield _fault(f"half stream, {size} bytes", cut_after(bytes=size), cut)
        for size in (1, 2, 3, 12, 60):
            yield _fault(f"stream without its last {size} bytes", _without_end(size), cut)
    if subject in {"tavily-search", "firecrawl-search"}:
        yield _fault("half a reply, 200 bytes", cut_after(bytes=200), dead)


def _silent(subject: Subject) -> Iterator[Fault]:
    """What takes time. Streams end at their last event; bodies end when the connection says so."""
    after_all = whole() if _is_engine(subject) else fails("late")
    slow = fails("late")
    yield _fault("hangs", hang(), slow, late=True)
    yield _fault("headers, then silence", stall_after(bytes=0), slow, late=True)
    yield _fault("40 bytes, then silence", stall_after(bytes=40), slow, late=True)
    yield _fault("everything, then silence", stall_after(), after_all, late=not _is_engine(subject))
    yield _fault("drips too slowly", drip(4, TOO_SLOW_S), slow, late=True)
    yield _fault("drips fast", drip(512, 0.0), whole())
    yield _fault("answers late", delay(0.2), whole())
    yield _fault("endless comments", endless_comments(0.05), slow, late=True)
    yield _fault("headers trickle in, then nothing", _blanks_for_ever(), slow, late=True)


def _oversized(subject: Subject) -> Iterator[Fault]:
    yield from (replace(fault, heavy=True) for fault in _large(subject))
    bad_zip = fails("down", "policy") if _is_local(subject) else fails("down", "reply")
    yield _fault("gzip that is none", _encoded(b"plain words", "gzip"), bad_zip)
    yield _fault("gzip cut short", _encoded(gzip.compress(b'{"results": []}')[:-12], "gzip"), bad_zip)
    yield _fault("unknown content encoding", _encoded(b"\x8b\x03\x80words\x03", "rot13"), _odd(subject))


def _large(subject: Subject) -> Iterator[Fault]:
    too_much = fails("policy", "reply") if _is_local(subject) else fails("reply", "down")
    yield _fault("50 MB", _huge(declared=False), too_much)
    yield _fault("50 MB, announced", _huge(declared=True), too_much)
    yield _fault("gzip bomb", _bomb(), too_much)
    yield _fault("gzip bomb under 500", _bomb(code=500), _under(subject, 500), status=500)
    yield _fault("50 MB under 500", _padded(500), _under(subject, 500), status=500)
    if _is_engine(subject):
        yield _fault("50 MB of comments", _comments(), too_much)
        yield _fault("one endless line", _endless_line(), too_much)


def _under(subject: Subject, code: int) -> Verdict:
    return next(verdict for known, verdict in _status_verdicts(subject) if known == code)


def _odd(subject: Subject) -> Verdict:
    """Bytes that nobody can read."""
    if subject == "local-fetch":
        return fails("reply", "declined", "down", "empty")
    return fails("reply", "policy", "declined") if subject == "local-map" else fails("reply", "down")


def _fault(name: str, step: Step, verdict: Verdict, *, late: bool = False, status: int | None = None) -> Fault:
    return Fault(name=name, make=lambda _: step, verdict=verdict, late=late, status=status)


def _reset_after(head: bytes) -> Step:
    async def perform(exchange: Exchange) -> None:
        await exchange.send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await exchange.send({"type": "http.response.body", "body": head, "more_body": True})
        raise exchange.severed("reset")

    return Step("reset_after", perform)


def _without_end(size: int) -> Step:
    """The simulator's own stream without its last bytes, closed in good order."""

    async def perform(exchange: Exchange) -> None:
        body = bytearray()

        async def keep(message: Any) -> None:
            if message["type"] == "http.response.body":
                body.extend(message.get("body", b""))

        await ok().perform(replace(exchange, send=keep))
        await exchange.respond(Response(bytes(body[:-size]), 200, None, "text/event-stream"))

    return Step(f"without_end({size})", perform)


def _blanks_for_ever() -> Step:
    async def perform(exchange: Exchange) -> None:
        import anyio

        await exchange.send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        while True:
            await exchange.send({"type": "http.response.body", "body": b" ", "more_body": True})
            await anyio.sleep(0.05)

    return Step("blanks_for_ever", perform)


@functools.cache
def _huge(*, declared: bool) -> Step:
    return huge(HUGE_BYTES, declared=declared)


@functools.cache
def _padded(code: int) -> Step:
    pieces = [b'{"padding": "', *[b"x" * 65_536] * (HUGE_BYTES // 65_536), b'"}']
    headers = {"content-type": "application/json"}
    return answering(f"padded({code})", lambda _: Pieces(pieces, status=code, headers=headers))


@functools.cache
def _bomb(code: int = 200) -> Step:
    if code == 200:
        return gzip_bomb(BOMB_BYTES)
    packed = gzip.compress(b" " * BOMB_BYTES)
    return answering(f"bomb({code})", lambda _: Response(packed, code, {"content-encoding": "gzip"}, "application/json"))


def _encoded(body: bytes, encoding: str) -> Step:
    return answering(f"encoded({encoding})", lambda _: Response(body, 200, {"content-encoding": encoding}, "application/json"))


@functools.cache
def _comments() -> Step:
    pieces = [(b": " + b"." * 1_020 + b"\n\n") * 64] * (HUGE_BYTES // 65_536)
    return answering("comments", lambda _: Pieces(pieces, headers={"content-type": "text/event-stream"}))


@functools.cache
def _endless_line() -> Step:
    pieces = [b"data: ", *[b"x" * 65_536] * (HUGE_BYTES // 65_536)]
    return answering("endless_line", lambda _: Pieces(pieces, headers={"content-type": "text/event-stream"}))


# --- statuses -----------------------------------------------------------------------------------------------------

REQUEST = (405, 409, 410, 413, 415)
ODD = (406, 414, 418, 451)
DOWN = (408, 425, 500, 502, 503, 504, 520, 524, 529, 599)


def _statuses(subject: Subject) -> Iterator[Fault]:
    """Every status under a body without a telling word."""
    for code, verdict in _status_verdicts(subject):
        body = {"message": "no words"}
        yield _fault(f"status {code}", status(code, body=body), verdict, status=code if code >= 400 else None)
    for code in (401, 403, 404, 503):
        verdict = _under(subject, code)
        if code != 503 and not _is_local(subject):
            verdict = replace(verdict, kinds=verdict.kinds | {"address"})
        if subject == "local-fetch" or (subject == "local-map" and code != 503):
            verdict = replace(verdict, kinds=verdict.kinds | {"declined"})
        yield _fault(f"HTML under {code}", html_page(code=code), verdict, status=code)
    yield from _redirects(subject)
    yield from _waits(subject)


def _status_verdicts(subject: Subject) -> Iterator[tuple[int, Verdict]]:
    if _is_local(subject):
        yield from _page_statuses(subject)
        return
    yield from ((code, fails("down")) for code in DOWN)
    yield from ((400, fails("request")), (422, fails("request")), (429, BUSY), (401, fails("auth")), (402, fails("credit")))
    yield from ((403, fails("auth", "declined")), (404, fails("request", "address")))
    if subject.startswith("tavily"):
        yield from ((432, fails("credit")), (433, fails("credit")))
    strange: tuple[Kind, ...] = ("address",) if subject.startswith("tavily") else ()  # never at the right address
    yield from ((code, fails("request", *strange)) for code in REQUEST)
    yield from ((code, fails("reply", "request", "declined", *strange)) for code in ODD)
    yield from ((code, fails("reply", "down", "empty", *strange)) for code in (204, 206))


def _page_statuses(subject: Subject) -> Iterator[tuple[int, Verdict]]:
    """What a site's status means for its page; of a map, robots.txt is asked first, and 5xx there forbids the site."""
    dead = fails("down", "policy") if subject == "local-map" else fails("down")
    yield from ((code, fails("request")) for code in (400, 402, 404, 405, 410, 418))
    yield from ((code, fails("declined")) for code in (401, 403, 451))
    yield from ((code, dead) for code in (500, 502, 503, 504, 520))
    yield from ((408, fails("down")), (429, fails("rate")), (304, fails("reply", "policy")))


def _redirects(subject: Subject) -> Iterator[Fault]:
    verdict = fails("policy") if _is_local(subject) else fails("address")
    for code in (301, 302, 303, 307, 308):
        yield Fault(name=f"redirect {code} elsewhere", make=functools.partial(_elsewhere, code), verdict=verdict)
    nowhere = fails("reply", "policy") if _is_local(subject) else fails("address")
    yield _fault("redirect without target", answering("nowhere", lambda _: Response(b"", 302)), nowhere)
    yield _fault("redirect to a file", redirect("file:///etc/passwd"), verdict)
    if not _is_local(subject):
        yield Fault(name="redirect with the key in its target", make=_key_elsewhere, verdict=verdict)


def _elsewhere(code: int, place: Place) -> Step:
    return redirect(f"{place.elsewhere}/login", code)


def _key_elsewhere(place: Place) -> Step:
    def respond(exchange: Exchange) -> Response:
        return Response(b"", 307, {"location": f"{place.elsewhere}/?key={quote(exchange.request.key or '')}"})

    return answering("key_elsewhere", respond)


def _waits(subject: Subject) -> Iterator[Fault]:
    """Wishes to wait that no reasonable caller fulfils."""
    if _is_local(subject):
        return
    for wish in ("nan", "inf", "-5", "1e9", "soon", "Wed, 21 Oct 2099 07:28:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "0"):
        step = status(429, body={"message": "no words"}, headers={"retry-after": wish})
        yield _fault(f"429, retry after {wish}", step, LATE_OR_BUSY, status=429, late=True)
    hour = status(503, body={"message": "no words"}, retry_after_s=3_600)
    yield _fault("503, retry after 3600", hour, fails("down", "late"), status=503, late=True)
    never = status(503, body={"message": "no words"}, headers={"x-should-retry": "false"})
    yield _fault("503 that is not to be repeated", never, fails("down", "request"), status=503)
    please = status(400, body={"message": "no words"}, headers={"x-should-retry": "true"})
    yield _fault("400 that is to be repeated", please, fails("down", "request"), status=400)


# --- bodies under 200 ---------------------------------------------------------------------------------------------


def _bodies(subject: Subject) -> Iterator[Fault]:
    if _is_local(subject):
        yield from _page_bodies(subject)
        return
    garbage = fails("reply", "down")
    page = fails("address")
    yield _fault("HTML page", html_page(), page)
    yield _fault("HTML page that calls itself JSON", _raw(b"<!doctype html><title>Log in</title><p>Log in"), page)
    yield _fault("HTML after blanks and a byte order mark", _raw(b"\xef\xbb\xbf \n\n<html><title>Log in</title>"), page)
    yield _fault("garbage", not_json(), garbage)
    yield _fault("wrong charset", wrong_charset(), fails("reply", "down", "empty"))
    yield _fault("wrong charset, UTF-16", wrong_charset(actual="utf-16"), fails("reply", "down", "empty"))
    for name, body in SCALARS.items():
        yield _fault(name, _raw(body), fails("reply", "down", "empty"))
    yield _fault("error object without words", ok({"error": {}}), fails("reply", "down", "empty"))
    yield _fault("error of true", ok({"error": True}), fails("reply", "down", "empty"))
    yield _fault("error under 200: overloaded", ok({"error": {"code": "overloaded_error", "message": "overloaded"}}), BUSY)
    yield _fault("error under 200: bad key", ok({"error": {"code": "invalid_api_key", "message": "x"}}), fails("auth"))
    yield _fault("error under 200: no credit", ok({"error": {"message": "insufficient credits"}}), fails("credit"))


SCALARS: Mapping[str, bytes] = {
    "empty body": b"",
    "blank body": b" \r\n\t ",
    "NUL bytes": b"\x00" * 64,
    "random bytes": bytes(range(256)),
    "invalid UTF-8": b'{"results": "\xff\xfe\xc3("',
    "{}": b"{}",
    "[]": b"[]",
    "null": b"null",
    "true": b"true",
    "0": b"0",
    "a text": b'"all is well"',
    "NaN": b"NaN",
    "number overflow": b'{"results": 1e999999}',
    "number of 6,000 digits": b'{"results": ' + b"9" * 6_000 + b"}",
    "100,000 open brackets": b"[" * 100_000,
    "100,000 open objects": b'{"a":' * 100_000,
    "lone surrogate": b'{"results": "\\ud800"}',
    "two objects": b"{}{}",
    "JSON behind a prefix": b")]}',\n{}",
    "only a comment": b": ok\n\n",
    "empty event": b"data:\n\n",
    "events of garbage": b"data: {broken\n\ndata: 5\n\n",
}


def _page_bodies(subject: Subject) -> Iterator[Fault]:
    """Pages of the open web may say anything: what counts is that all of it is told, or why none of it is."""
    nothing = fails("empty", "reply", "declined")
    start = says(("/",), "empty", "reply", "declined") if subject == "local-map" else nothing
    yield _fault("check for humans", html_page(), fails("declined"))
    yield _fault("empty body", _raw(b""), start)
    yield _fault("blank page", _raw(b"<html><body> </body></html>", "text/html"), start)
    yield _fault("page of a script", _raw(SCRIPT_PAGE, "text/html"), start)
    yield _fault("NUL bytes", _raw(b"\x00" * 64, "text/html"), start)
    yield _fault("a picture", _raw(b"\x89PNG\r\n\x1a\n" + b"\x00" * 64, "image/png"), start)
    yield _fault("a picture that calls itself HTML", _raw(b"\x89PNG\r\n\x1a\n" + b"\x00" * 64, "text/html"), start)
    yield _fault("100,000 open tags", _raw(b"<div>" * 100_000 + b"deep", "text/html"), _deep(subject))
    yield _fault("wrong charset", _raw("<p>步行桥已重新开放，工程历时十一周。</p>".encode("gbk"), "text/html; charset=utf-8"),
                 _chinese(subject))  # fmt: skip
    if subject == "local-fetch":
        yield _fault("JSON in another charset", wrong_charset(), says('```json\n{\n  "answer": "步行桥已重新开放"\n}\n```'))
        yield _fault("part of a page under 206", status(206, body="<p>The footbridge reop"), fails("reply", "incomplete", "down"))
    else:
        yield _fault("garbage", not_json(), start)


SCRIPT_PAGE = b'<html><head><script src="/app.js" defer></script></head><body><div id="root"></div></body></html>'


def _deep(subject: Subject) -> Verdict:
    return says(("/",), "empty", "reply") if subject == "local-map" else says("deep", "empty", "reply", "declined")


def _chinese(subject: Subject) -> Verdict:
    return says(("/",)) if subject == "local-map" else says(CHINESE)


def _raw(body: bytes, media_type: str = "application/json") -> Step:
    return answering("raw", lambda _: Response(body, 200, None, media_type))


# --- right and wrong shapes ---------------------------------------------------------------------------------------


def _shapes(subject: Subject) -> Iterator[Fault]:
    makers: Mapping[str, Callable[[], Iterator[Fault]]] = {
        "xai": _xai_shapes,
        "chat": _chat_shapes,
        "tavily-search": _tavily_search_shapes,
        "tavily-fetch": _tavily_fetch_shapes,
        "tavily-map": _tavily_map_shapes,
        "firecrawl-search": _firecrawl_search_shapes,
        "firecrawl-fetch": _firecrawl_fetch_shapes,
        "firecrawl-map": _firecrawl_map_shapes,
        "local-map": _parts_of_a_site,
    }
    if subject in makers:
        yield from makers[subject]()
    if _is_engine(subject):
        yield from _stream_quirks()


HARMLESS: tuple[Quirk, ...] = (
    "bom",
    "comments",
    "cr-only",
    "crlf",
    "done-event",
    "no-done",
    "no-event-names",
    "no-final-blank-line",
    "response-done",
)
HARMFUL: tuple[Quirk, ...] = ("error-flat", "error-object", "truncated")


def _stream_quirks() -> Iterator[Fault]:
    for quirk in HARMLESS:
        yield _fault(f"whole stream: {quirk}", sse_quirk(quirk), whole())
    for quirk in HARMFUL:
        yield _fault(f"broken stream: {quirk}", sse_quirk(quirk), BUSY)
    yield _fault("stream in single bytes", drip(1, 0.0), whole())
    yield _fault("stream, whatever was asked", stream_anyway(), whole())


def _xai_shapes() -> Iterator[Fault]:
    body = examples.read_json("xai-responses/response.web_search.json")
    text = body["output"][-1]["content"][0]
    yield _fault("absurd numbers", _raw(_dumped({**body, "usage": ABSURD, "created_at": 1e308 * 10})), says(XAI_ANSWER))
    yield _fault("unknown field, 900 deep", _raw(_dumped({**body, "extra": _nested(900)})), says(XAI_ANSWER))
    yield _fault("answer in progress", ok({**body, "status": "in_progress"}), fails("down", "incomplete"))
    yield _fault("answer cancelled", ok({**body, "status": "cancelled"}), fails("down", "incomplete"))
    yield _fault("no words, only searches", ok({**body, "output": body["output"][:-1]}), fails("down", "empty"))
    yield _fault("blank words", ok(_said(body, text, "  \n ")), fails("down", "empty"))
    yield _fault("a refusal", ok(_parted(body, {"type": "refusal", "refusal": "I can't help with that."})), fails("declined"))
    yield _fault("output of wrong types", ok({**body, "output": [1, None, "x", {"type": 5}]}), fails("down", "empty", "reply"))
    yield _fault("answer in another charset", _raw(_gbk(_said(body, text, CHINESE))), says(CHINESE, "reply", "down"))
    yield _fault("only a list of sources", ok(_said(body, text, SOURCES_ONLY)), fails("empty", "down", "unverified"))


def _chat_shapes() -> Iterator[Fault]:
    body = examples.read_json("chat-completions/response.success.json")
    yield _fault("absurd numbers", _raw(_dumped({**body, "usage": ABSURD, "created": 1e308 * 10})), says(CHAT_ANSWER))
    yield _fault("unknown field, 900 deep", _raw(_dumped({**body, "extra": _nested(900)})), says(CHAT_ANSWER))
    yield _fault("blank words", ok(_choice(content="  \n ")), fails("down", "empty"))
    yield _fault("null words", ok(_choice(content=None)), fails("down", "empty"))
    yield _fault("words of a wrong type", ok(_choice(content=5)), fails("down", "empty", "reply"))
    yield _fault("choices of wrong types", ok({"choices": [None, 1, "x"]}), fails("down", "empty", "reply"))
    yield _fault("finish reason error", ok(_choice("error", content="It reop")), fails("down"))
    yield _fault("filtered in the middle", ok(_choice("content_filter", content="It reop")), fails("incomplete", "declined"))
    yield _fault("cut for length, streamed", _raw(_chunks("It reop", finish="length"), "text/event-stream"), fails("incomplete"))
    yield _fault("answer in another charset", _raw(_gbk(_choice(content=CHINESE))), says(CHINESE, "reply", "down"))
    stream = _chunks(CHINESE, finish="stop").decode().encode("gbk")
    yield _fault("stream in another charset", _raw(stream, "text/event-stream"), says(CHINESE, "reply", "down"))
    yield _fault("only thoughts", ok(_choice(content="<think>Let me see.</think>")), fails("down", "empty"))


def _tavily_search_shapes() -> Iterator[Fault]:
    hit = {"url": CITED[0], "title": "Footbridge", "content": "Open again.", "score": 0.9}
    nothing = says((), "empty", "reply")
    yield _fault("results of wrong types", ok({"results": [1, None, "x", [], {"url": 5}, {"url": ""}, {}]}), nothing)
    yield _fault("results as an object", ok({"results": {"0": hit}}), fails("reply"))
    yield _fault("results null", ok({"results": None}), fails("reply"))
    yield _fault("one good among bad ones", ok({"results": [{"url": "javascript:x"}, None, hit]}), says(CITED[:1]))
    yield _fault("absurd numbers", _raw(_dumped({"results": [{**hit, "score": 1e308 * 10}]})), says(CITED[:1]))
    yield _fault("fields of wrong types", ok({"results": [{**hit, "title": [], "content": {}, "score": "x"}]}), says(CITED[:1]))
    yield _fault("page unknown, 900 deep", _raw(_dumped({"results": [hit], "extra": _nested(900)})), says(CITED[:1]))


def _tavily_fetch_shapes() -> Iterator[Fault]:
    yield _fault("no results at all", ok({"results": []}), fails("empty"))
    yield _fault("results of wrong types", ok({"results": [1, None, {"url": ASKED, "raw_content": 5}]}), fails("empty", "reply"))
    yield _fault("blank text", ok({"results": [{"url": ASKED, "raw_content": " \n "}]}), fails("empty"))
    yield _fault("null text", ok({"results": [{"url": ASKED, "raw_content": None}]}), fails("empty"))
    yield _fault("results as a text", ok({"results": "# Footbridge"}), fails("reply"))
    for why, verdict in (("404 Not Found", fails("declined", "request")), ("Failed to fetch url", fails("down"))):
        yield _fault(f"listed as failed: {why}", ok({"results": [], "failed_results": [{"url": ASKED, "error": why}]}), verdict)
    odd: dict[str, Any] = {"results": [], "failed_results": [None, 5, {"error": {"deep": 1}}]}
    yield _fault("listed as failed, oddly", ok(odd), fails("empty", "down", "declined"))


def _tavily_map_shapes() -> Iterator[Fault]:
    yield _fault("results of wrong types", ok({"base_url": "x", "results": [1, None, {}]}), fails("empty", "reply"))
    yield _fault("results as an object", ok({"results": {"a": CITED[0]}}), fails("reply"))
    mixed = {"base_url": "council.example.org", "results": [CITED[0], 5, "no address"]}
    yield _fault("some are no addresses", ok(mixed), fails("incomplete"))


def _firecrawl_search_shapes() -> Iterator[Fault]:
    hit = {"url": CITED[0], "title": "Footbridge", "description": "Open again."}
    nothing = says((), "empty", "reply")
    yield _fault("success false", ok({"success": False}), fails("reply", "down"))
    yield _fault("no data", ok({"success": True}), fails("reply", "empty"))
    yield _fault("data null", ok({"success": True, "data": None}), fails("reply", "empty"))
    yield _fault("data a text", ok({"success": True, "data": "x"}), fails("reply", "empty"))
    yield _fault("hits of wrong types", ok({"success": True, "data": {"web": [1, None, {"url": 5}, {}]}}), nothing)
    yield _fault("group of a wrong type", ok({"success": True, "data": {"web": "x", "news": 5}}), nothing)
    yield _fault("one good among bad ones", ok({"success": True, "data": {"web": [None, {"url": ""}, hit]}}), says(CITED[:1]))
    yield _fault("fields of wrong types", ok({"success": True, "data": {"web": [{**hit, "title": {}}]}}), says(CITED[:1]))


def _firecrawl_fetch_shapes() -> Iterator[Fault]:
    yield _fault("success false", ok({"success": False}), fails("reply", "down"))
    yield _fault("no data", ok({"success": True}), fails("reply", "empty"))
    yield _fault("data null", ok({"success": True, "data": None}), fails("reply", "empty"))
    yield _fault("blank text", ok({"success": True, "data": {"markdown": " \n "}}), fails("empty"))
    yield _fault("text of a wrong type", ok({"success": True, "data": {"markdown": ["#"]}}), fails("empty", "reply"))
    for code, verdict in ((403, fails("declined")), (404, fails("declined", "request")), (503, fails("down"))):
        page = {"markdown": "Sorry", "metadata": {"statusCode": code}}
        yield _fault(f"page answers {code}", ok({"success": True, "data": page}), verdict)
    odd = {"markdown": "# Footbridge", "metadata": {"statusCode": "503", "title": [None]}}
    yield _fault("page answers 503, as a text", ok({"success": True, "data": odd}), fails("down"))
    fine = {"markdown": "# Footbridge", "metadata": {"statusCode": 1e308 * 10, "title": {"a": 1}, "cachedAt": "yesterday"}}
    yield _fault("absurd metadata", _raw(_dumped({"success": True, "data": fine})), says("# Footbridge"))


def _firecrawl_map_shapes() -> Iterator[Fault]:
    yield _fault("success false", ok({"success": False}), fails("reply", "down"))
    yield _fault("no links", ok({"success": True}), fails("reply", "empty"))
    yield _fault("links of wrong types", ok({"success": True, "links": [1, None, {"url": 5}]}), fails("empty", "reply"))
    mixed: dict[str, Any] = {"success": True, "links": [{"url": CITED[0]}, 5, {}]}
    yield _fault("some are no addresses", ok(mixed), fails("incomplete"))


CHINESE = "步行桥已重新开放，工程历时十一周。"
SOURCES_ONLY = "Sources:\n- https://council.example.org/a\n- https://gazette.example.com/b"
ABSURD = {"input_tokens": 1e308 * 10, "output_tokens": -1e308 * 10, "cost_in_usd_ticks": "9" * 500, "prompt_tokens": "many"}


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _gbk(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("gbk")


def _nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def _said(body: Mapping[str, Any], part: Mapping[str, Any], text: str) -> dict[str, Any]:
    return _parted(body, {**part, "text": text, "annotations": [{"type": "url_citation", "url": CITED[0]}]})


def _parted(body: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    return {**body, "output": [*body["output"][:-1], {**body["output"][-1], "content": [part]}]}


def _choice(finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {"model": "demo-model", "choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}]}


def _chunks(text: str, *, finish: str) -> bytes:
    chunks = [{"choices": [{"delta": {"content": text}}]}, {"choices": [{"delta": {}, "finish_reason": finish}]}]
    events = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*events, "data: [DONE]\n\n"]).encode()


# --- secrets that come back ---------------------------------------------------------------------------------------


def _echoes(subject: Subject) -> Iterator[Fault]:
    """Upstreams that repeat the key they were given."""
    if _is_local(subject):
        return
    for code in (400, 401, 403, 404, 429, 500):
        yield _fault(f"{code} that repeats the key", _echo(code), _echoed(subject, code), status=code)
    yield _fault("error under 200 that repeats the key", _echo(200), fails("reply", "down", "auth"))
    yield _fault("HTML page that repeats the key", _echo_page(), fails("address"))


def _echoed(subject: Subject, code: int) -> Verdict:
    verdict = _under(subject, code)
    return replace(verdict, kinds=verdict.kinds | {"auth"})


def _echo(code: int) -> Step:
    def respond(exchange: Exchange) -> Response:
        key = exchange.request.key or ""
        error = {
            "message": f"Bad request with {key} (Authorization: Bearer {key})",
            "type": key,
            "code": f"e {key}",
            "param": key,
        }
        return Response(_dumped({"error": error, "detail": key, key: key}), code, {"x-echo": key}, "application/json")

    return answering(f"echo({code})", respond)


def _echo_page() -> Step:
    def respond(exchange: Exchange) -> Response:
        key = exchange.request.key or ""
        return Response(f"<html><head><title>Welcome {key}</title></head><body>{key}</body></html>", 200, None, "text/html")

    return answering("echo_page", respond)


# --- faults in one part of a site ---------------------------------------------------------------------------------


def _parts_of_a_site() -> Iterator[Fault]:
    """A map goes on without what is missing, except without robots.txt."""
    late = fails("late", "incomplete")
    for name, step in PARTS.items():
        hangs = name == "hangs"
        robots = late if hangs else fails("policy", "down") if name in {"500", "reset"} else whole()
        yield _at("/robots.txt", name, step, robots, late=hangs)
        yield _at("/sitemap.xml", name, step, late if hangs else whole(), late=hangs)
        yield _at("/a", name, step, late if hangs else _without_a(name), late=hangs)


PARTS: Mapping[str, Callable[[], Step]] = {
    "404": lambda: status(404, body="<p>Gone"),
    "403": lambda: status(403, body="<p>No"),
    "500": lambda: status(500, body="<p>Oops"),
    "reset": reset,
    "hangs": hang,
    "garbage": not_json,
    "empty": lambda: _raw(b"", "text/html"),
    "50 MB": lambda: _huge(declared=False),
    "gzip bomb": _bomb,
    "HTML": html_page,
}


def _without_a(name: str) -> Verdict:
    """A page that does not exist is not listed; one that cannot be read now is."""
    return says(("/", "/b")) if name == "404" else whole()


def _at(path: str, name: str, step: Callable[[], Step], verdict: Verdict, *, late: bool) -> Fault:
    return Fault(name=f"{path} {name}", make=lambda _: _only(path, step()), verdict=verdict, late=late)


def _only(path: str, step: Step) -> Step:
    async def perform(exchange: Exchange) -> None:
        await (step if exchange.request.path == path else ok()).perform(exchange)

    return Step(f"only({path}, {step.name})", perform)
