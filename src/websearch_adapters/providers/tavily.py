"""Tavily: search, extract and map.

Source: API reference at docs.tavily.com and tavily-python 0.8.5, read 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Literal, TypeAlias

from websearch_adapters.http.client import Http, JsonReply, Request
from websearch_adapters.http.failures import shown_base
from websearch_adapters.provider import (
    Provider,
    bare_hosts,
    day,
    examined,
    number,
    on_hosts,
    page_text,
    search_words,
    shortening,
    snippet,
    stamp,
    utc_now,
    web_address,
)
from websearch_core import urls
from websearch_core.citations import unite
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    EmptyResult,
    NotConfigured,
    ProviderError,
    RequestRejected,
    Unreachable,
    WrongAddress,
)
from websearch_core.ports import Filter
from websearch_core.retry import RetryPolicy
from websearch_core.values import FetchRequest, Health, Link, MapRequest, Note, Page, SearchQuery, SiteMap, Source, SourceList

__all__ = ["PROVIDER", "Tavily", "TavilySettings"]

NAME = "tavily"
KEYLESS = {"X-Tavily-Access-Mode": "keyless"}
MAX_QUERY_CHARS = 400
MAX_RESULTS = 20
MAX_MAP_PAGES = 500
DEFAULT_RESULTS = 5
REFUSED = re.compile(r"forbidden|denied|not (allowed|supported|found)|blocked|robots|unauthori[sz]ed|paywall", re.IGNORECASE)
PAGE_STATUS = re.compile(r"\b([45]\d\d)\b")
PASSING_STATUSES = frozenset({408, 425, 429})
KNOWN_STATUSES = frozenset({400, 401, 402, 403, 422, 432, 433}) | PASSING_STATUSES
"""Any other refusal (4xx) comes from something that is not this API, or not this version of it."""

ExtractDepth: TypeAlias = Literal["basic", "advanced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TavilySettings:
    """How to use Tavily."""

    base_url: str = "https://api.tavily.com"
    search_depth: Literal["basic", "advanced", "fast", "ultra-fast"] = "advanced"
    """`advanced` costs 2 credits a search, the others 1."""
    min_score: float = 0.1
    """Hits below this relevance, of 0 to 1, are dropped; hits without one are kept."""
    extract_depth: ExtractDepth = "basic"
    """The first try; a page that comes empty is asked for once more with `advanced`."""
    keyless: bool = False
    """Use the small free allowance for requests without a key: search and extract only."""
    read_timeout_s: float = 90.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


# --- translations -------------------------------------------------------------------------------------------------


def search_to_wire(query: SearchQuery, settings: TavilySettings) -> dict[str, object]:
    """The body of `POST /search`. `include_domains` only raises these hosts there, whatever its name says."""
    body: dict[str, object] = {
        "query": search_words(query, limit=MAX_QUERY_CHARS),
        "search_depth": settings.search_depth,
        "max_results": _wanted(query),
        "include_answer": False,
        "include_raw_content": "markdown" if query.include_content else False,
        "include_published_date": True,
    }
    if query.fresh_within != "any":
        body["time_range"] = query.fresh_within
    if query.include_domains:
        body["include_domains"] = bare_hosts(query.include_domains)
    if query.exclude_domains:
        body["exclude_domains"] = bare_hosts(query.exclude_domains)
    return body


def search_from_wire(reply: Mapping[str, Any], query: SearchQuery, settings: TavilySettings) -> SourceList:
    """The usable hits, best first.

    Raises:
        BadReply: no list of results.
    """
    hits = (_source(item, settings, with_content=query.include_content) for item in _results(reply))
    kept = unite(hit for hit in hits if hit is not None and not on_hosts(hit.url, query.exclude_domains))
    notes = shortening(query, limit=MAX_QUERY_CHARS, provider=NAME)
    return SourceList(items=kept[: _wanted(query)], provider=NAME, notes=notes)


def extract_to_wire(request: FetchRequest, depth: ExtractDepth) -> dict[str, object]:
    """The body of `POST /extract`."""
    return {"urls": [request.url], "format": "markdown", "extract_depth": depth}


def extract_from_wire(reply: Mapping[str, Any], request: FetchRequest, *, now: datetime) -> Page:
    """The page.

    Raises:
        EmptyResult: no text in it.
        Declined, Unreachable: the reply lists the page as failed.
        BadReply: no list of results.
    """
    for item in _results(reply):
        if isinstance(item, Mapping) and (text := page_text(item.get("raw_content"))):
            return Page(
                url=request.url,
                final_url=web_address(item.get("url")),
                title=snippet(item.get("title"), limit=300),
                text=text,
                provider=NAME,
                fetched_at=stamp(now),
            )
    raise _no_page(reply.get("failed_results"))


def map_to_wire(request: MapRequest) -> dict[str, object]:
    """The body of `POST /map`; the server lists at most 500 pages, whatever the offset."""
    body: dict[str, object] = {
        "url": request.url,
        "max_depth": request.max_depth,
        "max_breadth": request.max_breadth,
        "limit": _pages_wanted(request),
        "timeout": request.timeout,
    }
    if instructions := request.instructions.strip():
        body["instructions"] = instructions
    return body


def map_from_wire(reply: Mapping[str, Any], request: MapRequest) -> SiteMap:
    """The pages in the server's order, each once.

    Raises:
        BadReply: no list of results.
    """
    found: dict[str, Link] = {}
    results, limit = _results(reply), _pages_wanted(request)
    addresses = [web_address(item) if isinstance(item, str) else "" for item in results]
    for address in filter(None, addresses):
        found.setdefault(urls.canonical(address), Link(url=address))
    root = _base_url(reply.get("base_url"))
    return SiteMap(
        root=root or request.url,
        links=tuple(islice(found.values(), limit)),
        provider=NAME,
        truncated=len(results) >= limit,
        ignored=addresses.count(""),
        notes=_map_notes(request, root),
    )


def usage_from_wire(reply: Mapping[str, Any]) -> Health:
    """What the key has used, in credits; a key at its limit is failing."""
    key = reply.get("key")
    key = key if isinstance(key, Mapping) else {}
    used, limit = number(key.get("usage")), number(key.get("limit"))
    if used is None:
        return Health(part=NAME, state="ok", detail="answers; does not say how much is used")
    if limit is None:
        return Health(part=NAME, state="ok", detail=f"this key used {used:,.0f} credits, without a limit of its own")
    state: Literal["ok", "failing"] = "failing" if used >= limit else "ok"
    return Health(part=NAME, state=state, detail=f"this key used {used:,.0f} of {limit:,.0f} credits")


def _source(item: object, settings: TavilySettings, *, with_content: bool) -> Source | None:
    if not isinstance(item, Mapping) or not (url := web_address(item.get("url"))):
        return None
    score = number(item.get("score"))
    if score is not None and score < settings.min_score:
        return None
    return Source(
        url=url,
        title=snippet(item.get("title"), limit=300),
        description=snippet(item.get("content")),
        published=day(item.get("published_date")),
        provider=NAME,
        content=page_text(item.get("raw_content")) if with_content else "",
    )


def _results(reply: Mapping[str, Any]) -> list[object]:
    results = reply.get("results")
    if not isinstance(results, list):
        raise BadReply("tavily sent no list of results", provider=NAME, diagnostics={"error_type": "invalid_response"})
    return results


def _no_page(failed: object) -> ProviderError:
    """Why there is no page, in our words; what the reply says of it is only matched."""
    reasons = [one.get("error") for one in failed if isinstance(one, Mapping)] if isinstance(failed, list) else []
    if not reasons:
        return EmptyResult(
            "no content: tavily found no text in the page",
            provider=NAME,
            hint="Use another provider for this page, or another page.",
            diagnostics={"upstream_succeeded": True, "empty_result": True},
        )
    reason = snippet(reasons[0])
    status = int(match.group(1)) if (match := PAGE_STATUS.search(reason)) else 0
    lasting = 400 <= status < 500 and status not in PASSING_STATUSES
    refused = lasting or (not status and REFUSED.search(reason) is not None)
    kind, what, hint = (
        (Declined, "was refused the page", "Check the address, or use another provider for this page.")
        if refused
        else (Unreachable, "could not load the page", "Try again later, or use another provider for this page.")
    )
    said = f"; it answers {status}" if status else ""
    return kind(f"tavily {what}{said}", provider=NAME, hint=hint, diagnostics={"page_status": status} if status else {})


def _is_odd(status: int | None) -> bool:
    return status is not None and 400 <= status < 500 and status not in KNOWN_STATUSES


def _wrong_address(error: ProviderError, base_url: str) -> WrongAddress:
    return WrongAddress(
        f"{error.message}, which this service never does at the right address",
        provider=NAME,
        hint=f"Check TAVILY_API_URL: {shown_base(base_url)} is not the base of this API.",
        http_status=error.http_status,
        upstream_code=error.upstream_code,
        diagnostics=error.diagnostics,
    )


def _map_notes(request: MapRequest, root: str) -> tuple[Note, ...]:
    notes = []
    if not root:
        notes.append(Note(code="missing_base_url", text="tavily did not name the site that it mapped.", provider=NAME))
    if request.offset + request.limit > MAX_MAP_PAGES:
        text = f"tavily lists at most {MAX_MAP_PAGES} pages of a site."
        notes.append(Note(code="map_limit", text=text, provider=NAME))
    return tuple(notes)


def _base_url(value: object) -> str:
    """The mapped site; the server leaves the scheme out."""
    text = value.strip() if isinstance(value, str) else ""
    return web_address(text if "://" in text else f"https://{text}")


def _wanted(query: SearchQuery) -> int:
    return min(query.extra_sources or DEFAULT_RESULTS, MAX_RESULTS)


def _pages_wanted(request: MapRequest) -> int:
    return min(request.offset + request.limit, MAX_MAP_PAGES)


# --- the provider -------------------------------------------------------------------------------------------------


class Tavily:
    """SourceFinder, Extractor, Mapper and Probe over one account."""

    name = NAME
    keeps: frozenset[Filter] = frozenset({"fresh_within", "exclude_domains"})

    def __init__(self, http: Http, settings: TavilySettings, *, now: Callable[[], datetime] = utc_now) -> None:
        self._http = http
        self._settings = settings
        self._now = now

    async def find(self, query: SearchQuery, /) -> SourceList:
        """At most 20 hits, 5 unless the query wants more or fewer."""
        reply = await self._call("/search", search_to_wire(query, self._settings))
        return search_from_wire(reply, query, self._settings)

    async def extract(self, request: FetchRequest, /) -> Page:
        """The page as Markdown; an empty first try is repeated with the deeper extraction."""
        try:
            return await self._extracted(request, self._settings.extract_depth)
        except EmptyResult:
            if self._settings.extract_depth == "advanced":
                raise
        return await self._extracted(request, "advanced")

    async def map(self, request: MapRequest, /) -> SiteMap:
        """At most 500 pages; `offset` does not move that window.

        Raises:
            NotConfigured: keyless use, which has no map.
        """
        if self._settings.keyless:
            raise NotConfigured("tavily maps sites only with a key", provider=NAME, hint="Set TAVILY_API_KEY.")
        reply = await self._call("/map", map_to_wire(request), read_timeout_s=request.timeout + 10.0)
        return map_from_wire(reply, request)

    async def probe(self, *, live: bool = False) -> Health:
        """Reads the usage counters, which costs nothing; `live` searches for one hit."""
        return await examined(NAME, self._tried() if live else self._asked())

    async def _tried(self) -> Health:
        found = await self.find(SearchQuery(query="example domain", extra_sources=1))
        return Health(part=NAME, state="ok", detail=f"a search brought {len(found.items)} result(s)")

    async def _asked(self) -> Health:
        try:
            return usage_from_wire(await self._call("/usage", None, method="GET"))
        except AuthRejected:
            if not self._settings.keyless:
                raise
        return Health(part=NAME, state="ok", detail="answers; used without a key")

    async def _extracted(self, request: FetchRequest, depth: ExtractDepth) -> Page:
        reply = await self._call("/extract", extract_to_wire(request, depth))
        return extract_from_wire(reply, request, now=self._now())

    async def _call(
        self,
        path: str,
        body: Mapping[str, object] | None,
        *,
        method: str = "POST",
        read_timeout_s: float | None = None,
    ) -> dict[str, Any]:
        settings = self._settings
        request = Request(
            provider=NAME,
            base_url=settings.base_url,
            path=path,
            method=method,
            body=body,
            headers=KEYLESS if settings.keyless else {},
            keyed=not settings.keyless,
            read_timeout_s=read_timeout_s or settings.read_timeout_s,
        )
        try:
            return await self._http.retrying(settings.retry)(request, lambda: JsonReply(NAME, request.base_url))
        except (RequestRejected, BadReply) as error:
            if not _is_odd(error.http_status):
                raise
            raise _wrong_address(error, settings.base_url) from error


def _make(settings: TavilySettings, http: Http) -> Tavily:
    return Tavily(http, settings)


PROVIDER = Provider(
    name=NAME,
    offers=frozenset({"find", "extract", "map"}),
    settings=TavilySettings,
    make=_make,
    needs_key=True,
    source="docs.tavily.com API reference, tavily-python 0.8.5; read 2026-11-30",
)
