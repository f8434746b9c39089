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
from typing import Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote

from starlette.responses import Response

from upstreams import examples
from upstreams.exchange import Exchange, Pieces
from upstreams.script import (
    Step,
    answering,
    cut_after,
    delay,
    drip,
    endless_comments,
    example,
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
Subject: TypeAlias = Literal["xai", "chat", "tavily-search", "firecrawl-search", "tavily-fetch", "firecrawl-fetch", "local-fetch",
    "tavily-map", "firecrawl-map", "local-map"]  # fmt: skip
"""The upstream and what is asked of it."""
Told: TypeAlias = str | tuple[str, ...]
"""What a success says: the answer's or page's text, or the addresses that a search adds or a map lists."""
Make: TypeAlias = "Callable[[Place], Step]"
K = TypeVar("K")

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


KINDS: Mapping[Kind, tuple[frozenset[str], frozenset[str]]] = {
    "address": (
        frozenset({"{}_configuration_error", "{}_api_configuration_error", "{}_wrong_address"}),
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
        frozenset({"{}_declined", "{}_upstream_error", "grok_primary_failed"}),
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
        frozenset({"{}_out_of_time", "{}_total_budget_exhausted", "out_of_time"}),
        frozenset({"read_timeout", "timeout", "total_budget_exhausted", "rate_limited", "upstream_unavailable"}),
    ),
    "model": (
        frozenset({"{}_model_rejected", "grok_primary_failed"}),
        frozenset({"model_not_found", "model_permission_denied", "model_unavailable"}),
    ),
    "policy": (frozenset({"not_allowed"}), frozenset()),
    "rate": (
        frozenset({"{}_all_keys_unavailable", "{}_rate_limited", "grok_primary_failed"}),
        frozenset({"rate_limited", "page_status"}),
    ),
    "reply": (
        frozenset({"{}_bad_reply", "{}_invalid_response", "{}_upstream_error", "grok_primary_failed"}),
        frozenset({"invalid_response", "upstream_rejected", "empty_response", "page_status"}),
    ),
    "request": (
        frozenset({"{}_request_invalid", "{}_request_rejected"}),
        frozenset({"request_invalid", "upstream_rejected", "page_status"}),
    ),
    "unverified": (frozenset({"grok_no_search_evidence", "grok_unverified"}), frozenset({"no_search_evidence"})),
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
    yield from _examples(subject)
    yield from _transport(subject)
    yield from _statuses(subject)
    yield from _bodies(subject)
    yield from _shapes(subject)
    yield from _echoes(subject)
    if subject == "local-map":
        yield from _parts_of_a_site()


def refused(subject: Subject) -> Fault:
    """The connection is refused; the simulator itself is healthy."""
    return Fault(name="connection refused", make=_own, verdict=fails("down"), refuses=True)


def _own(_: Place) -> Step:
    return ok()


def _is_engine(subject: Subject) -> bool:
    return subject in {"xai", "chat"}


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
    "xai-responses.web_search.2025-shape": says(XAI_ANSWER),
    "xai-responses.x_search": says(XAI_POSTS),
    "xai-responses.empty": NOT_SEARCHED,
    "xai-responses.incomplete": fails("incomplete"),
    "xai-responses.failed": fails("down"),
    "xai-responses.proxy-variant": says(XAI_ANSWER),
    "xai-responses.stream.web_search": says(XAI_ANSWER),
    "xai-responses.stream.x_search": says(XAI_POSTS),
    "xai-responses.stream.incomplete": fails("incomplete"),
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
    "xai-responses.error.400.bare-string": fails("request"),
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
    "chat.error.400.google-array": fails("request", "auth"),
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
    "firecrawl.error.200.dns": fails("down", "reply"),
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
        "firecrawl.v1.search.success": says(CITED),
        **FIRECRAWL_ERRORS,
    },
    "firecrawl-fetch": {
        "firecrawl.v2.scrape.success": says("# Footbridge reopens"),
        "firecrawl.v2.scrape.cached": says("# Footbridge reopens"),
        "firecrawl.v2.scrape.target-404": fails("declined", "request"),
        "firecrawl.v2.scrape.empty": fails("empty"),
        "firecrawl.v1.scrape.success": says("# Footbridge reopens"),
        **FIRECRAWL_ERRORS,
    },
    "firecrawl-map": {
        "firecrawl.v2.map.success": says(CITED),
        "firecrawl.v2.map.empty": fails("empty"),
        "firecrawl.v1.map.success": says(CITED),
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
