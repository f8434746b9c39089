"""Try alternatives in order: the first good one wins, the failures before it stay as notes.

Each chain implements the port that it composes, so a use case cannot tell one from many. An empty chain is the part that
is switched off.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Sequence
from typing import TypeVar

from websearch_core import fence, fingerprint, fusion, merge, outcome, urls
from websearch_core.errors import AllFailed, EmptyResult, InvalidInput, NotAllowed, NotConfigured, OutOfTime, WebSearchError
from websearch_core.inflight import settled, stopped
from websearch_core.ports import AnswerEngine, Cache, Extractor, Filter, Mapper, Scorer, SourceFinder
from websearch_core.values import Answer, FetchRequest, MapRequest, Note, Page, SearchQuery, SiteMap, Source, SourceList

__all__ = ["ExtractorChain", "FinderChain", "MapperChain", "NoEngine", "SecondOpinion", "read_through"]

N = TypeVar("N", Extractor, Mapper)


class NoEngine(AnswerEngine):
    """Stands where no engine is configured."""

    name = "none"

    async def answer(self, query: SearchQuery, /) -> Answer:
        """Refuse.

        Raises:
            NotConfigured: always.
        """
        raise NotConfigured(
            "no answer engine is configured", provider="grok", hint="Set XAI_API_KEY, or GROK_API_URL and GROK_API_KEY."
        )


class FinderChain(SourceFinder):
    """Finders in order, one or several at a time; the first that bring a usable source win, and their lists become one."""

    name = "chain"

    def __init__(
        self, finders: Sequence[SourceFinder], *, off: Sequence[Note] = (), at_once: int = 1, patience_s: float = 3.0
    ) -> None:
        """`off`: why finders that could stand here do not. `at_once`: how many are asked at the same time.

        `patience_s`: longest wait for the others of them once one has found something.
        """
        self.finders = tuple(finders)
        self._off = tuple(off)
        self._at_once = at_once
        self._patience_s = patience_s

    @property
    def keeps(self) -> frozenset[Filter]:
        """What every finder of the chain keeps."""
        return frozenset.intersection(*(finder.keeps for finder in self.finders)) if self.finders else frozenset()

    async def find(self, query: SearchQuery, /) -> SourceList:
        """What the first finders found that found anything; an empty list when all of them looked and found nothing.

        The lists of several become one by reciprocal rank fusion; each source names its finder as its provider. Each finder is
        asked for `query.extra_sources`, and the joined list keeps what they bring, at most `fusion.MOST_JOINED`: cut it after
        you have ordered it, as `Search` does. One finder's list stays as it is.

        Raises:
            AllFailed: nothing was found and at least one finder failed; the attempts name each dead end, empty ones too.
            NotConfigured: the chain is empty.
        """
        if not self.finders:
            raise NotConfigured(
                "no source finder is configured", provider="finder", hint="Set TAVILY_API_KEY or FIRECRAWL_API_KEY."
            )
        able = [finder for finder in self.finders if query.fresh_within == "any" or "fresh_within" in finder.keeps]
        notes = [*self._off, *(_skipped(finder) for finder in self.finders if finder not in able)]
        dead_ends: list[WebSearchError] = []
        for start in range(0, len(able), self._at_once):
            lists: list[SourceList] = []
            for finder, found in await self._asked(able[start : start + self._at_once], query):
                if isinstance(found, WebSearchError):
                    dead_ends.append(found)
                    notes.append(outcome.note_of(found, "search"))
                    continue
                notes.extend(found.notes)
                if items := _usable(found):
                    lists.append(SourceList(items=items, provider=found.provider or finder.name))
                    continue
                why = " ".join(note.text for note in found.notes) or "found nothing"
                dead_ends.append(EmptyResult(why, provider=finder.name))
                notes.append(Note(code="no_results", text="found nothing", provider=finder.name))
            if lists:
                return _joined(lists, notes)
        if any(not isinstance(error, EmptyResult) for error in dead_ends):
            raise AllFailed("no source finder found anything, and not all of them could look", tuple(dead_ends))
        return SourceList(provider=self.name, notes=tuple(notes))

    async def _asked(
        self, finders: Sequence[SourceFinder], query: SearchQuery
    ) -> list[tuple[SourceFinder, SourceList | WebSearchError]]:
        """What each of them comes to, in their order."""
        tasks = [asyncio.ensure_future(finder.find(query)) for finder in finders]
        try:
            waiting, patience_s = set(tasks), None
            while waiting:
                done, waiting = await asyncio.wait(waiting, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    break
                if any(not task.cancelled() and task.exception() is None and _usable(task.result()) for task in done):
                    patience_s = self._patience_s
            return [
                (finder, settled(task, finder.name) if task.done() else _overtaken(finder))
                for finder, task in zip(finders, tasks, strict=True)
            ]
        finally:
            await stopped(tasks)


def _skipped(finder: SourceFinder) -> Note:
    return Note(code="filter_unsupported", text="skipped: cannot keep fresh_within", provider=finder.name)


def _overtaken(finder: SourceFinder) -> OutOfTime:
    return OutOfTime("was slower than the finders that were asked with it", provider=finder.name)


def _usable(found: SourceList) -> tuple[Source, ...]:
    """The sources that have an address to go to."""
    return tuple(item for item in found.items if urls.is_web_url(item.url) or item.url.startswith("file://"))


def _joined(lists: Sequence[SourceList], notes: Sequence[Note]) -> SourceList:
    """One list of several, with all that they hold up to what is worth ordering."""
    if len(lists) == 1:
        return dataclasses.replace(lists[0], notes=tuple(notes))
    named = [merge.labelled(one.items, one.provider) for one in lists]
    items = fusion.agreed(named)[: fusion.MOST_JOINED]
    return SourceList(items=items, provider="+".join(one.provider for one in lists), notes=tuple(notes))


class SecondOpinion(SourceFinder):
    """A finder whose order is joined with that of a scorer, by the sum of reciprocal ranks."""

    def __init__(self, finder: SourceFinder, scorer: Scorer) -> None:
        self._finder = finder
        self._scorer = scorer

    @property
    def name(self) -> str:
        return self._finder.name

    @property
    def keeps(self) -> frozenset[Filter]:
        """What the finder keeps."""
        return self._finder.keeps

    @property
    def finders(self) -> tuple[SourceFinder, ...]:
        """The finders behind it; none where the chain is empty."""
        return tuple(getattr(self._finder, "finders", (self._finder,)))

    async def find(self, query: SearchQuery, /) -> SourceList:
        """The finder's list, ordered by both; a scorer that cannot say leaves the order and a note.

        Raises:
            WebSearchError: whatever the finder raises.
        """
        found = await self._finder.find(query)
        if len(found.items) < 2:
            return found
        try:
            scores = await self._scorer.score(query.query, [f"{item.title}\n{item.description}" for item in found.items])
        except WebSearchError as error:
            note = Note(code="second_opinion_missing", text=error.message, provider=self._scorer.name)
            return dataclasses.replace(found, notes=(*found.notes, note))
        order = sorted(range(len(found.items)), key=lambda at: (-scores[at], at))
        return dataclasses.replace(found, items=fusion.agreed([found.items, [found.items[at] for at in order]]))


class ExtractorChain(Extractor):
    """Readers in order; who declines is passed over in silence, who fails leaves a note."""

    name = "chain"

    def __init__(self, extractors: Sequence[Extractor], *, hedge_after_s: float | None = None) -> None:
        """`hedge_after_s`: ask the next reader too when one is still silent after that time; the first page wins."""
        self.extractors = tuple(extractors)
        self._hedge_after_s = hedge_after_s

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """The first page that a reader brings; with `request.provider`, that reader alone.

        Raises:
            AllFailed: each reader failed or declined; a single failure is raised as it is.
            InvalidInput: `request.provider` names no configured reader, or `request.selector` is more than any of them keeps.
        """
        waiting = list(_selecting(_chosen(self.extractors, request.provider), request.selector))
        failures: list[WebSearchError] = []
        running: dict[asyncio.Task[Page | None], str] = {}
        try:
            while waiting or running:
                if waiting:
                    reader = waiting.pop(0)
                    running[asyncio.ensure_future(reader.extract(request))] = reader.name
                patience_s = self._hedge_after_s if waiting else None
                done, _ = await asyncio.wait(running, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    page = _page_of(task, running.pop(task), failures)
                    if page is not None:
                        return dataclasses.replace(page, notes=(*_page_notes(failures, running.values()), *page.notes))
        finally:
            await stopped(running)
        _raise_all("no reader could read the page", failures)
        return None


class MapperChain(Mapper):
    """Mappers in order; the first that lists a page wins."""

    name = "chain"

    def __init__(self, mappers: Sequence[Mapper]) -> None:
        self.mappers = tuple(mappers)

    async def map(self, request: MapRequest, /) -> SiteMap:
        """The first map with at least one page, else the first empty one; with `request.provider`, that mapper alone.

        Raises:
            AllFailed: each mapper failed; a single failure is raised as it is.
            InvalidInput: `request.provider` names no configured mapper.
            NotConfigured: the chain is empty.
        """
        failures: list[WebSearchError] = []
        empty: SiteMap | None = None
        for mapper in _chosen(self.mappers, request.provider):
            try:
                site = await mapper.map(request)
            except NotAllowed:
                raise
            except WebSearchError as error:
                failures.append(error)
                continue
            site = _within_patterns(site, request)
            if site.links:
                return _with_notes(site, failures)
            empty = empty or site
        if empty is not None:
            return _with_notes(empty, failures)
        _raise_all("no mapper could list the site", failures)
        raise NotConfigured("no mapper is configured", provider="map")


def _within_patterns(site: SiteMap, request: MapRequest) -> SiteMap:
    """The map without what the request's patterns leave out; no mapper of others knows all of them."""
    if not request.patterns:
        return site
    return dataclasses.replace(site, links=tuple(link for link in site.links if urls.path_matches(link.url, request.patterns)))


async def read_through(cache: Cache, extractor: Extractor, request: FetchRequest, *, ttl_s: float) -> Page:
    """The page from the cache, or read now and kept whole, so that offsets into it stay true.

    Reading on renews the copy's time: a page is not exchanged under somebody who is in the middle of it.

    Raises:
        WebSearchError: nobody could read it; a page that every reader declines is EmptyResult.
    """
    key = fingerprint.of_page(request.url, request.provider, request.selector)
    if (kept := await cache.get(key, Page)) is not None:
        if request.start:
            await cache.put(key, kept, ttl_s=ttl_s)
        return kept
    page = await extractor.extract(request)
    if page is None:
        raise EmptyResult(
            "no configured reader reads this kind of page", hint="Choose another address, or configure another reader."
        )
    page = dataclasses.replace(
        page,
        title=fence.clean(page.title, limit=300),
        author=fence.inline(page.author, limit=100),
        language=fence.inline(page.language, limit=35),
        text=fence.clean(page.text),
    )
    await cache.put(key, page, ttl_s=ttl_s)
    return page


def _chosen(alternatives: Sequence[N], name: str) -> tuple[N, ...]:
    if not name:
        return tuple(alternatives)
    chosen = tuple(one for one in alternatives if one.name == name)
    if not chosen:
        names = ", ".join(one.name for one in alternatives) or "none"
        raise InvalidInput(f"provider must be one of the configured ones: {names}")
    return chosen


def _selecting(readers: tuple[Extractor, ...], selector: str) -> tuple[Extractor, ...]:
    """Those that keep a selector, where there is one."""
    if not selector:
        return readers
    able = tuple(reader for reader in readers if getattr(reader, "selects", False))
    if not able:
        raise InvalidInput("selector: no configured reader keeps it", hint="Leave it out, or let provider be local.")
    return able


def _page_of(task: asyncio.Task[Page | None], name: str, failures: list[WebSearchError]) -> Page | None:
    """The page that the reader brought; what kept it from bringing one is added to the failures.

    Raises:
        NotAllowed: policy is final; no other reader is asked.
    """
    page = settled(task, name)
    if isinstance(page, NotAllowed):
        raise page
    if isinstance(page, WebSearchError):
        failures.append(page)
        return None
    if page is not None and not page.text.strip():
        failures.append(EmptyResult("the page has no text", provider=name))
        return None
    return page


def _page_notes(failures: list[WebSearchError], overtaken: Iterable[str]) -> tuple[Note, ...]:
    slow = (Note(code="overtaken", text="was slower than the reader that came after it", provider=name) for name in overtaken)
    return (*(outcome.note_of(error, "fetch") for error in failures), *slow)


def _with_notes(site: SiteMap, failures: list[WebSearchError]) -> SiteMap:
    return dataclasses.replace(site, notes=(*(outcome.note_of(error, "map") for error in failures), *site.notes))


def _raise_all(message: str, failures: list[WebSearchError]) -> None:
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise AllFailed(message, tuple(failures))
