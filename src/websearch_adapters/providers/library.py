"""The local library as a source finder: verbatim passages of the user's own pages, without any network."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from websearch_adapters.provider import examined, search_words, utc_now
from websearch_core.errors import NotConfigured
from websearch_core.fence import clean
from websearch_core.library import EMPTY
from websearch_core.ports import Filter, Library, Probe, SourceFinder
from websearch_core.values import Freshness, Health, Passage, SearchQuery, Source, SourceList

__all__ = ["LibraryFinder", "to_sources"]

OWN_NUMBER = 5
"""Passages for a query that does not say how many."""
MAX_DESCRIPTION_CHARS = 1_200
MAX_QUERY_CHARS = 4_000
FILL_IT = "Fill it with: websearch library add PATH_OR_URL; or ask the operator for a key, with which the web is searched."
AGES_DAYS: dict[Freshness, int] = {"day": 1, "week": 7, "month": 31, "year": 366}


# --- translations -------------------------------------------------------------------------------------------------


def to_sources(passages: tuple[Passage, ...]) -> tuple[Source, ...]:
    """Passages as sources: the text verbatim, cut at 1,200 characters."""
    return tuple(
        Source(
            url=passage.url,
            title=_title(passage),
            description=_capped(clean(passage.text).strip()),
            published=passage.published,
            provider="library",
        )
        for passage in passages
    )


def since(query: SearchQuery, today: datetime) -> str:
    """The first day that keeps the query's `fresh_within`; empty when every day does."""
    if query.fresh_within == "any":
        return ""
    return (today - timedelta(days=AGES_DAYS[query.fresh_within])).date().isoformat()


def _title(passage: Passage) -> str:
    """Page title › heading, neither twice."""
    headings = [part for part in passage.heading.split(" › ") if part]
    if headings and headings[0] == passage.title:
        del headings[0]
    return clean(" › ".join(part for part in (passage.title, *headings) if part), limit=300).replace("\n", " ")


def _capped(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION_CHARS else text[: MAX_DESCRIPTION_CHARS - 1].rstrip() + "…"


# --- the finder ---------------------------------------------------------------------------------------------------


class LibraryFinder(SourceFinder, Probe):
    """Looks in the library.

    `fresh_within` goes by the day of publication, where a page does not say by the day on which it was read, of a file by that of
    its last change. The search drops pages of unknown date behind a finder that does not claim the filter, so it is claimed.
    """

    name = "library"
    keeps: frozenset[Filter] = frozenset({"fresh_within", "include_domains", "exclude_domains"})

    def __init__(self, library: Library, *, now: Callable[[], datetime] = utc_now) -> None:
        self._library = library
        self._now = now

    async def find(self, query: SearchQuery, /) -> SourceList:
        """The best passage of each of the best pages.

        Raises:
            NotConfigured: the library is empty, or its file cannot be used.
            Unreachable: the library's file is busy.
        """
        found = await self._library.search(
            search_words(query, limit=MAX_QUERY_CHARS),
            limit=query.extra_sources or OWN_NUMBER,
            since=since(query, self._now()),
            include_domains=query.include_domains,
            exclude_domains=query.exclude_domains,
        )
        if not found and not await self._library.count():
            raise NotConfigured("the local library is empty", provider=self.name, hint=FILL_IT)
        return SourceList(items=to_sources(found), provider=self.name)

    async def probe(self, *, live: bool = False) -> Health:
        """How many pages it has; an empty library is off. `live` looks a word up as well."""
        return await examined(self.name, self._counted(live=live))

    async def _counted(self, *, live: bool) -> Health:
        try:
            if live:
                await self._library.search(self.name, limit=1)
            pages = await self._library.count()
        except NotConfigured as error:  # a library needs no setting to work: a file that cannot be used is a failure
            return Health(part=self.name, state="failing", detail=f"{error.message}. {error.hint or ''}".strip())
        if not pages:
            return Health(part=self.name, state="off", detail=EMPTY.text)
        return Health(part=self.name, state="ok", detail="1 page" if pages == 1 else f"{pages} pages")
