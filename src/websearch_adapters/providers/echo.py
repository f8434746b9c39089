"""Echo: answers by repeating the question, offline and the same every time, for people who build on this library.

It implements every port of a provider without key or network and says in each result that nothing was searched. All
pages that it names lie on example.org, or below the address it was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote, urlsplit

from websearch_adapters.http.client import Http
from websearch_adapters.provider import Provider, on_hosts
from websearch_core.ports import Filter
from websearch_core.values import (
    Answer,
    Evidence,
    FetchRequest,
    Health,
    Link,
    MapRequest,
    Note,
    Page,
    SearchQuery,
    SiteMap,
    Source,
    SourceList,
)

__all__ = ["PROVIDER", "Echo", "EchoSettings"]

NAME = "echo"
NOTE = Note(code="echo", text="Nothing was searched or read: the echo provider repeats what it is asked.", provider=NAME)
MAX_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoSettings:
    """How much to make up."""

    sources: int = 3
    """Sources of an answer, and of a search that does not say how many."""
    pages: int = 12
    """Pages of every site."""


# --- translations -------------------------------------------------------------------------------------------------


def answer_to(query: SearchQuery, settings: EchoSettings) -> Answer:
    """The question again, each source cited once. Whether a search ran stays open (`searched` is None)."""
    sources = sources_for(query, settings.sources, evidence="cited")
    marks = " ".join(f"[{number}]({source.url})" for number, source in enumerate(sources, start=1))
    text = f"Echo, without any search: {' '.join(query.query.split())}"
    return Answer(text=f"{text} {marks}".rstrip(), sources=sources, engine=NAME, model=NAME, notes=(NOTE,))


def sources_for(query: SearchQuery, count: int, *, evidence: Evidence = "listed") -> tuple[Source, ...]:
    """`count` pages on example.org; none when the query's domains rule that host out."""
    words = " ".join(query.query.split())
    shown = words if len(words) <= MAX_TITLE_CHARS else words[:MAX_TITLE_CHARS] + "…"
    base = f"https://example.org/echo/{quote(words[:MAX_TITLE_CHARS].encode('utf-8', 'replace'), safe='')}"
    if on_hosts(base, query.exclude_domains) or (query.include_domains and not on_hosts(base, query.include_domains)):
        return ()
    return tuple(
        Source(
            url=f"{base}/{number}",
            title=f"Echo {number} of “{shown}”",
            description=f"Made-up source {number} of the echo provider; the question was: {shown}",
            provider=NAME,
            evidence=evidence,
        )
        for number in range(1, count + 1)
    )


def page_of(request: FetchRequest) -> Page:
    """A page that names its address and says that it was not read."""
    text = f"# Echo of {request.url}\n\nThe echo provider did not read this page; it repeats the address that it was given."
    return Page(
        url=request.url,
        final_url=request.url,
        title=f"Echo of {request.url}",
        text=text,
        kind="markdown",
        provider=NAME,
        notes=(NOTE,),
    )


def site_of(request: MapRequest, settings: EchoSettings) -> SiteMap:
    """Numbered pages below the site's root."""
    parts = urlsplit(request.url)
    root = f"{parts.scheme}://{parts.netloc}/echo"
    links = (Link(url=f"{root}/{number}", title=f"Echo {number}") for number in range(1, settings.pages + 1))
    wanted = request.offset + request.limit
    return SiteMap(
        root=request.url, links=tuple(islice(links, wanted)), provider=NAME, truncated=settings.pages > wanted, notes=(NOTE,)
    )


# --- the provider -------------------------------------------------------------------------------------------------


class Echo:
    """AnswerEngine, SourceFinder, Extractor, Mapper and Probe in one, all made up."""

    name = NAME
    keeps: frozenset[Filter] = frozenset({"include_domains", "exclude_domains"})

    def __init__(self, settings: EchoSettings) -> None:
        self._settings = settings

    async def answer(self, query: SearchQuery, /) -> Answer:
        """Repeat the question."""
        return answer_to(query, self._settings)

    async def find(self, query: SearchQuery, /) -> SourceList:
        """As many made-up sources as the query wants."""
        items = sources_for(query, query.extra_sources or self._settings.sources)
        return SourceList(items=items, provider=NAME, notes=(NOTE,))

    async def extract(self, request: FetchRequest, /) -> Page:
        """A page about its own address."""
        return page_of(request)

    async def map(self, request: MapRequest, /) -> SiteMap:
        """Numbered pages."""
        return site_of(request, self._settings)

    async def probe(self, *, live: bool = False) -> Health:  # noqa: ARG002 - offline, both ways of asking are one
        """Always well."""
        return Health(part=NAME, state="ok", detail="offline; repeats what it is asked")


def _make(settings: EchoSettings, _: Http) -> Echo:
    return Echo(settings)


PROVIDER = Provider(
    name=NAME,
    offers=frozenset({"answer", "find", "extract", "map"}),
    settings=EchoSettings,
    make=_make,
    needs_key=False,
    source="none: it speaks to nobody",
)
