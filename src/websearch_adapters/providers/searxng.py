"""SearXNG: a metasearch engine that people run themselves; its JSON API finds pages.

Source: docs.searxng.org, search API; read 2026-11-30. The format `json` is off in a fresh installation, and then answered with
403 and a page; `time_range` also takes `week`, though the page does not say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from websearch_adapters.http.client import Http, JsonReply, Request
from websearch_adapters.http.failures import shown_base
from websearch_adapters.provider import Provider, day, examined, page_text, shortening, snippet, web_address
from websearch_adapters.search_box import kept, typed, unsaid
from websearch_core import fusion
from websearch_core.citations import unite
from websearch_core.errors import BadReply, NotConfigured, WrongAddress
from websearch_core.ports import Filter
from websearch_core.retry import RetryPolicy
from websearch_core.values import Health, Note, SearchQuery, Source, SourceList

__all__ = ["PROVIDER", "SearXng", "SearXngSettings"]

NAME = "searxng"
MAX_QUERY_CHARS = 1_000
DEFAULT_RESULTS = 5
MAX_NAMED = 8
HEADERS = {"Accept": "application/json", "Accept-Language": "en;q=0.7, *;q=0.5"}
"""Its limiter, where it is on, takes a request without a language for a robot's."""
NO_JSON = (
    "Set the address of a SearXNG instance as searxng.url, and enable the json format in its settings.yml: "
    "search: formats: [html, json]."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearXngSettings:
    """How to use an instance."""

    base_url: str = ""
    """The instance's address, with its path if it has one; `/search` is appended."""
    categories: tuple[str, ...] = ("general",)
    language: str = ""
    """A code such as `en`; empty: the instance's own choice."""
    read_timeout_s: float = 30.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


# --- translations -------------------------------------------------------------------------------------------------


def search_to_wire(query: SearchQuery, settings: SearXngSettings) -> str:
    """The query string of `GET /search`."""
    asked = {"q": typed(query, limit=MAX_QUERY_CHARS), "format": "json", "categories": ",".join(settings.categories)}
    if settings.language:
        asked["language"] = settings.language
    if query.fresh_within != "any":
        asked["time_range"] = query.fresh_within
    return urlencode(asked)


def search_from_wire(reply: Mapping[str, Any], query: SearchQuery) -> SourceList:
    """The hits that keep the query's hosts, in the instance's order, with a note on engines that did not answer.

    The instance joins the lists of its engines, so there may be the asked number for each engine that found something.

    Raises:
        BadReply: no list of results.
    """
    results = reply.get("results")
    if not isinstance(results, list):
        raise BadReply("searxng sent no list of results", provider=NAME, diagnostics={"error_type": "invalid_response"})
    hits = kept(unite(source for item in results if (source := _source(item)) is not None), query)
    notes = [*shortening(query, limit=MAX_QUERY_CHARS, provider=NAME), *unsaid(query, provider=NAME)]
    if silent := silent_engines(reply):
        notes.append(Note(code="engines_unresponsive", text=f"Engines that did not answer: {silent}.", provider=NAME))
    most = min((query.extra_sources or DEFAULT_RESULTS) * engines_heard(results), fusion.MOST_JOINED)
    return SourceList(items=hits[:most], provider=NAME, notes=tuple(notes))


def engines_heard(results: list[Any]) -> int:
    """How many engines found something, by what the hits say of it; at least 1."""
    named = {name for item in results if isinstance(item, Mapping) and isinstance(name := item.get("engine"), str)}
    return max(len(named), 1)


def silent_engines(reply: Mapping[str, Any]) -> str:
    """Names and reasons of the engines that did not answer, at most eight; empty when all did."""
    listed = reply.get("unresponsive_engines")
    pairs = [one for one in listed if isinstance(one, list) and one] if isinstance(listed, list) else []
    names = [": ".join(filter(None, (snippet(part, limit=60) for part in pair[:2]))) for pair in pairs]
    return ", ".join(filter(None, names[:MAX_NAMED]))


def _source(item: object) -> Source | None:
    if not isinstance(item, Mapping) or not (url := web_address(item.get("url"))):
        return None
    return Source(
        url=url,
        title=snippet(item.get("title"), limit=300),
        description=snippet(page_text(item.get("content"))),
        published=day(item.get("publishedDate")),
        provider=NAME,
    )


# --- the provider -------------------------------------------------------------------------------------------------


class SearXng:
    """SourceFinder and Probe over one instance."""

    name = NAME
    keeps: frozenset[Filter] = frozenset({"fresh_within", "include_domains", "exclude_domains"})

    def __init__(self, http: Http, settings: SearXngSettings) -> None:
        self._http = http
        self._settings = settings

    async def find(self, query: SearchQuery, /) -> SourceList:
        """At most the instance's first page of hits, 5 for each of its engines unless the query wants more or fewer.

        Raises:
            NotConfigured: no address is set.
            WrongAddress: a page came in place of JSON.
            ProviderError: as `Http.exchange`.
        """
        return search_from_wire(await self._call(f"/search?{search_to_wire(query, self._settings)}"), query)

    async def probe(self, *, live: bool = False) -> Health:
        """Reads the instance's configuration; `live` searches for one hit."""
        return await examined(NAME, self._tried() if live else self._asked())

    async def _tried(self) -> Health:
        found = await self.find(SearchQuery(query="example domain", extra_sources=1))
        return Health(part=NAME, state="ok", detail=f"a search brought {len(found.items)} result(s)")

    async def _asked(self) -> Health:
        engines = (await self._call("/config")).get("engines")
        on = (
            [one for one in engines if isinstance(one, Mapping) and one.get("enabled") is True]
            if isinstance(engines, list)
            else []
        )
        if not on:
            raise BadReply("searxng names no engine that is on", provider=NAME)
        return Health(part=NAME, state="ok", detail=f"{len(on)} engines at {shown_base(self._settings.base_url)}")

    async def _call(self, path: str) -> dict[str, Any]:
        settings = self._settings
        if not settings.base_url:
            raise NotConfigured("no SearXNG instance is set", provider=NAME, hint="Set searxng.url.")
        request = Request(
            provider=NAME,
            base_url=settings.base_url,
            path=path,
            method="GET",
            headers=HEADERS,
            keyed=False,
            read_timeout_s=settings.read_timeout_s,
        )
        try:
            return await self._http.retrying(settings.retry)(request, lambda: JsonReply(NAME, request.base_url))
        except WrongAddress as error:
            raise WrongAddress(
                f"{error.message}, not with JSON", provider=NAME, hint=NO_JSON, http_status=error.http_status
            ) from error


def _make(settings: SearXngSettings, http: Http) -> SearXng:
    return SearXng(http, settings)


PROVIDER = Provider(
    name=NAME,
    offers=frozenset({"find"}),
    settings=SearXngSettings,
    make=_make,
    needs_key=False,
    source="docs.searxng.org search API; read 2026-11-30",
)
