"""Firecrawl: search, scrape and map, in version 2 of its API and in version 1, hosted or on a server of one's own.

Source: OpenAPI files and docs.firecrawl.dev of August 2026, server source of August 2025; read 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Literal, TypeAlias

from websearch_adapters.http.client import Http, JsonReply, Request
from websearch_adapters.provider import (
    Provider,
    bare_hosts,
    day,
    examined,
    instant,
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
from websearch_core.errors import BadReply, Declined, EmptyResult, ProviderError, RequestRejected, Unreachable
from websearch_core.ports import Filter
from websearch_core.retry import RetryPolicy
from websearch_core.values import FetchRequest, Health, Link, MapRequest, Note, Page, SearchQuery, SiteMap, Source, SourceList

__all__ = ["PROVIDER", "Firecrawl", "FirecrawlSettings"]

NAME = "firecrawl"
MAX_QUERY_CHARS = 500
MAX_RESULTS = 20
DEFAULT_RESULTS = 5
MAX_MAP_PAGES = 30_000  # of version 1; version 2 would list 100,000
SCRAPE_TIMEOUT_MS = 60_000
PASSING_STATUSES = frozenset({408, 425, 429})
HIT_GROUPS = ("web", "news", "research")
PUBLISHED_KEYS = ("publishedTime", "article:published_time", "articlePublishedTime", "publishedDate", "dcDateCreated", "dcDate")
KINDS = {"application/pdf": "pdf", "application/json": "json", "text/plain": "text", "text/markdown": "markdown"}
CREDIT_KEYS = (("remainingCredits", "remaining_credits"), ("planCredits", "plan_credits"))
VERSION_AT_END = re.compile(r"(.*?)/+(v[12])", re.IGNORECASE)

Version: TypeAlias = Literal["v1", "v2"]

PAGE_FAULTS: dict[str, tuple[type[ProviderError], str, str]] = {
    "SCRAPE_DNS_RESOLUTION_ERROR": (RequestRejected, "the page's host does not resolve", "Check the address."),
    "SCRAPE_SSL_ERROR": (Unreachable, "no secure connection to the page's host", "Use another provider for this page."),
    "SCRAPE_SITE_ERROR": (Unreachable, "the page's host failed", "Try again later."),
    "SCRAPE_ALL_ENGINES_FAILED": (Unreachable, "the page could not be loaded", "Use another provider for this page."),
    "SCRAPE_TIMEOUT": (Unreachable, "the page took too long", "Try again later, or use another provider for this page."),
    "SCRAPE_PROMPT_INJECTION_DETECTED": (Declined, "the page tries to instruct its reader", "Use another page."),
    "THIRD_PARTY_DATA_TERMS_REQUIRED": (
        Declined,
        "the account has not accepted the terms for this page",
        "Accept them in the settings of the account, or use another provider for this page.",
    ),
}
"""Codes that speak of the wanted page, not of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirecrawlSettings:
    """How to use Firecrawl."""

    base_url: str = "https://api.firecrawl.dev"
    """Host, with a prefix where a server of one's own has one; `/v1` at the end asks for the old version, else 2."""
    keyed: bool = True
    """Off for servers that need no key."""
    only_main_content: bool = True
    """Leave navigation, headers and footers out of pages."""
    read_timeout_s: float = 90.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


# --- translations -------------------------------------------------------------------------------------------------


def api_of(base_url: str) -> tuple[str, Version]:
    """The address before the version, and the version: `https://h/x/v2/` → (`https://h/x`, `v2`)."""
    root = base_url.strip().rstrip("/")
    match = VERSION_AT_END.fullmatch(root)
    if match is None:
        return root, "v2"
    return match.group(1), "v1" if match.group(2).lower() == "v1" else "v2"


def search_to_wire(query: SearchQuery, version: Version = "v2") -> dict[str, object]:
    """The body of `POST /search`.

    Pages of hits are never asked for here: each is billed, and one slow page makes the service drop all hits (408).
    Version 2 takes one list of domains, not both; version 1 takes none. What is not sent is filtered from the reply.
    """
    body: dict[str, object] = {"query": search_words(query, limit=MAX_QUERY_CHARS), "limit": _wanted(query)}
    if query.fresh_within != "any":
        body["tbs"] = f"qdr:{query.fresh_within[0]}"
    if version == "v1":
        return body
    body["sources"] = [{"type": "web"}]
    if query.include_domains:
        body["includeDomains"] = bare_hosts(query.include_domains)
    elif query.exclude_domains:
        body["excludeDomains"] = bare_hosts(query.exclude_domains)
    return body


def search_from_wire(reply: Mapping[str, Any], query: SearchQuery, version: Version = "v2") -> SourceList:
    """The usable hits in the service's order, web before news before research; both versions' shapes are read.

    Raises:
        BadReply: no group of hits, or `success` is false.
    """
    found = (_source(hit, with_content=query.include_content) for hit in _hits(_data(reply), query))
    kept = unite(source for source in found if source is not None and _allowed(source.url, query))
    notes = (*shortening(query, limit=MAX_QUERY_CHARS, provider=NAME), *_filter_notes(query, version))
    return SourceList(items=kept[: _wanted(query)], provider=NAME, notes=notes)


def scrape_to_wire(request: FetchRequest, settings: FirecrawlSettings) -> dict[str, object]:
    """The body of `POST /scrape`; a copy of up to two days comes from the service's cache."""
    return {
        "url": request.url,
        "formats": ["markdown"],
        "onlyMainContent": settings.only_main_content,
        "timeout": SCRAPE_TIMEOUT_MS,
    }


def scrape_from_wire(reply: Mapping[str, Any], request: FetchRequest, *, now: datetime) -> Page:
    """The page.

    Raises:
        Declined, Unreachable: the page's own status is 400 or more; the service calls that a success.
        EmptyResult: no text in it.
        BadReply: no page object, or `success` is false.
    """
    data = _data(reply)
    if not isinstance(data, Mapping):
        raise _bad("firecrawl sent no page")
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    if (status := _page_status(metadata)) >= 400:
        raise _refused(status)
    if not (text := page_text(data.get("markdown"))):
        raise EmptyResult(
            "no content: firecrawl found no text in the page",
            provider=NAME,
            hint="Use another provider for this page, or another page.",
            diagnostics={"upstream_succeeded": True, "empty_result": True},
        )
    return Page(
        url=request.url,
        final_url=web_address(metadata.get("url")) or web_address(metadata.get("sourceURL")),
        title=snippet(metadata.get("title"), limit=300),
        text=text,
        kind=KINDS.get(snippet(metadata.get("contentType"), limit=100).split(";")[0].strip().lower(), "html"),
        provider=NAME,
        published=next(filter(None, (day(metadata.get(key)) for key in PUBLISHED_KEYS)), ""),
        language=snippet(metadata.get("language"), limit=35),
        fetched_at=stamp(instant(metadata.get("cachedAt")) or now),
    )


def map_to_wire(request: MapRequest, version: Version = "v2") -> dict[str, object]:
    """The body of `POST /map`; instructions become a search that puts the best matches first."""
    body: dict[str, object] = {"url": request.url, "limit": _pages_wanted(request)}
    if instructions := request.instructions.strip():
        body["search"] = instructions
    if version == "v1":
        return body
    return {**body, "sitemap": "include", "timeout": request.timeout * 1000}


def map_from_wire(reply: Mapping[str, Any], request: MapRequest) -> SiteMap:
    """The pages in the service's order, each once; links may be texts (version 1) or objects.

    Raises:
        BadReply: no list of links, or `success` is false.
    """
    _require_success(reply)
    entries = reply.get("links")
    if not isinstance(entries, list):
        raise _bad("firecrawl sent no list of links")
    found: dict[str, Link] = {}
    links = [_link(entry) for entry in entries]
    for link in links:
        if link is not None:
            found.setdefault(urls.canonical(link.url), link)
    limit = _pages_wanted(request)
    return SiteMap(
        root=request.url,
        links=tuple(islice(found.values(), limit)),
        provider=NAME,
        truncated=len(entries) >= limit,
        ignored=links.count(None),
    )


def credit_from_wire(reply: Mapping[str, Any]) -> Health:
    """What credit is left; none is failing. Both versions' spellings are read."""
    data = _data(reply)
    data = data if isinstance(data, Mapping) else {}
    left, plan = (number(data.get(new, data.get(old))) for new, old in CREDIT_KEYS)
    if left is None:
        return Health(part=NAME, state="ok", detail="answers; does not say how much credit is left")
    of_plan = f" of {plan:,.0f}" if plan is not None else ""
    return Health(part=NAME, state="ok" if left > 0 else "failing", detail=f"{left:,.0f}{of_plan} credits left")


def page_fault(error: ProviderError) -> ProviderError | None:
    """What an error that speaks of the wanted page means, in our words; None when it speaks of the service."""
    if error.upstream_code not in PAGE_FAULTS:
        return None
    kind, what, hint = PAGE_FAULTS[error.upstream_code]
    return kind(
        f"firecrawl: {what}",
        provider=NAME,
        hint=hint,
        http_status=error.http_status,
        upstream_code=error.upstream_code,
        diagnostics=error.diagnostics,
    )


def _hits(data: object, query: SearchQuery) -> Iterator[object]:
    """The hits of a flat list, or of the known groups; a limit in time binds the web group only, so no other is read then."""
    if isinstance(data, list):
        yield from data
        return
    if not isinstance(data, Mapping):
        raise _bad("firecrawl sent no hits")
    for group in HIT_GROUPS if query.fresh_within == "any" else HIT_GROUPS[:1]:
        hits = data.get(group)
        yield from hits if isinstance(hits, list) else ()


def _source(hit: object, *, with_content: bool) -> Source | None:
    item: Mapping[str, Any] = hit if isinstance(hit, Mapping) else {"url": hit}
    url = web_address(item.get("url")) or _paper(item.get("ids"))
    if not url:
        return None
    metadata = item.get("metadata")
    good = _page_status(metadata if isinstance(metadata, Mapping) else {}) < 400
    return Source(
        url=url,
        title=snippet(item.get("title"), limit=300),
        description=next(filter(None, (snippet(item.get(key)) for key in ("description", "snippet", "abstract"))), ""),
        published=day(item.get("date")),
        provider=NAME,
        content=page_text(item.get("markdown")) if with_content and good else "",
    )


def _paper(ids: object) -> str:
    """The address of a paper that is known by its numbers only."""
    if not isinstance(ids, Mapping):
        return ""
    if arxiv := snippet(ids.get("arxiv"), limit=64):
        return web_address(f"https://arxiv.org/abs/{arxiv}")
    doi = snippet(ids.get("doi"), limit=200)
    return web_address(f"https://doi.org/{doi}") if doi else ""


def _link(entry: object) -> Link | None:
    item: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"url": entry}
    url = web_address(item.get("url"))
    return Link(url=url, title=snippet(item.get("title"), limit=300)) if url else None


def _data(reply: Mapping[str, Any]) -> object:
    _require_success(reply)
    return reply.get("data")


def _require_success(reply: Mapping[str, Any]) -> None:
    if reply.get("success") is False:
        raise _bad("firecrawl reports a failure in a reply with status 200")


def _bad(message: str) -> BadReply:
    return BadReply(message, provider=NAME, diagnostics={"error_type": "invalid_response"})


def _page_status(metadata: Mapping[str, Any]) -> int:
    """The HTTP status of the page itself; 0 when it is not said. May come as a number, a text or a list."""
    value = metadata.get("statusCode")
    value = value[0] if isinstance(value, list) and value else value
    if isinstance(value, str) and re.fullmatch(r"[1-5]\d\d", value.strip(), re.ASCII):
        return int(value)
    return int(number(value) or 0)


def _refused(status: int) -> ProviderError:
    passing = status >= 500 or status in PASSING_STATUSES
    kind, hint = (
        (Unreachable, "Try again later, or use another provider for this page.")
        if passing
        else (Declined, "Check the address, or use another provider for this page.")
    )
    return kind(f"firecrawl: the page answers {status}", provider=NAME, hint=hint, diagnostics={"page_status": status})


def _filter_notes(query: SearchQuery, version: Version) -> tuple[Note, ...]:
    """That a promise on domains is kept by filtering what came, which can leave few."""
    unsent = (
        query.include_domains or query.exclude_domains if version == "v1" else query.include_domains and query.exclude_domains
    )
    if not unsent:
        return ()
    text = "firecrawl takes no such combination of domain lists; its hits were filtered afterwards."
    return (Note(code="filtered_afterwards", text=text, provider=NAME),)


def _allowed(url: str, query: SearchQuery) -> bool:
    wanted = not query.include_domains or on_hosts(url, query.include_domains)
    return wanted and not on_hosts(url, query.exclude_domains)


def _wanted(query: SearchQuery) -> int:
    return min(query.extra_sources or DEFAULT_RESULTS, MAX_RESULTS)


def _pages_wanted(request: MapRequest) -> int:
    return min(request.offset + request.limit, MAX_MAP_PAGES)


# --- the provider -------------------------------------------------------------------------------------------------


class Firecrawl:
    """SourceFinder, Extractor, Mapper and Probe over one account or server."""

    name = NAME

    def __init__(self, http: Http, settings: FirecrawlSettings, *, now: Callable[[], datetime] = utc_now) -> None:
        self._http = http
        self._settings = settings
        self._now = now
        self._root, self._version = api_of(settings.base_url)

    @property
    def keeps(self) -> frozenset[Filter]:
        """Version 1 has no lists of domains."""
        return frozenset({"fresh_within", "include_domains", "exclude_domains"} if self._version == "v2" else {"fresh_within"})

    async def find(self, query: SearchQuery, /) -> SourceList:
        """At most 20 hits, 5 unless the query wants more or fewer."""
        reply = await self._call("/search", search_to_wire(query, self._version))
        return search_from_wire(reply, query, self._version)

    async def extract(self, request: FetchRequest, /) -> Page:
        """The page as Markdown, possibly from a copy of the last two days; `fetched_at` says of when."""
        try:
            reply = await self._call("/scrape", scrape_to_wire(request, self._settings))
        except ProviderError as error:
            if (fault := page_fault(error)) is None:
                raise
            raise fault from error
        return scrape_from_wire(reply, request, now=self._now())

    async def map(self, request: MapRequest, /) -> SiteMap:
        """Pages from sitemap and index; depth and breadth mean nothing here."""
        body = map_to_wire(request, self._version)
        return map_from_wire(await self._call("/map", body, read_timeout_s=request.timeout + 10.0), request)

    async def probe(self, *, live: bool = False) -> Health:
        """Reads the credit left, or the readiness of a server without keys; both are free. `live` searches for one hit."""
        return await examined(NAME, self._tried() if live else self._asked())

    async def _tried(self) -> Health:
        found = await self.find(SearchQuery(query="example domain", extra_sources=1))
        return Health(part=NAME, state="ok", detail=f"a search brought {len(found.items)} result(s)")

    async def _asked(self) -> Health:
        if self._settings.keyed:
            try:
                return credit_from_wire(await self._call("/team/credit-usage", None))
            except RequestRejected:  # a server of one's own keeps no accounts
                pass
        await self._call("/health/readiness", None, version="v0")
        return Health(part=NAME, state="ok", detail="ready; keeps no account of credit")

    async def _call(
        self,
        path: str,
        body: Mapping[str, object] | None,
        *,
        version: str = "",
        read_timeout_s: float | None = None,
    ) -> dict[str, Any]:
        settings = self._settings
        request = Request(
            provider=NAME,
            base_url=self._root,
            path=f"/{version or self._version}{path}",
            method="GET" if body is None else "POST",
            body=body,
            keyed=settings.keyed,
            read_timeout_s=read_timeout_s or settings.read_timeout_s,
        )
        return await self._http.retrying(settings.retry)(request, lambda: JsonReply(NAME, request.base_url))


def _make(settings: FirecrawlSettings, http: Http) -> Firecrawl:
    return Firecrawl(http, settings)


PROVIDER = Provider(
    name=NAME,
    offers=frozenset({"find", "extract", "map"}),
    settings=FirecrawlSettings,
    make=_make,
    needs_key=True,
    source="OpenAPI files of docs.firecrawl.dev, August 2026; read 2026-11-30",
)
