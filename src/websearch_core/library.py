"""Use case: put pages into the local library, take them out, list them."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from websearch_core import outcome
from websearch_core.errors import EmptyResult, WebSearchError
from websearch_core.ports import Extractor, Library, Mapper
from websearch_core.values import FetchRequest, LibraryEntry, MapRequest, Note, Outcome, Page

__all__ = ["EMPTY", "LibraryChange", "ManageLibrary", "pages_in"]

BATCH_PAGES = 50
"""Pages that are held in memory and written together."""
READERS = 4
"""Pages of a site that are read at the same time."""
COUNTED_AT_ONCE = 1_000
EMPTY = Note(
    code="library_empty",
    text="The local library is empty; fill it with: websearch library add PATH_OR_URL",
    provider="library",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryChange(Outcome):
    """What became of the library."""

    added: int = 0
    """Pages that were new or had changed."""
    skipped: int = 0
    """Pages that were given and are in it unchanged."""
    removed: int = 0
    total: int = 0
    """Pages in it now."""
    entries: tuple[LibraryEntry, ...] = ()
    """The pages that were asked for; empty after a change."""
    next_offset: int | None = None
    """Where `entries` reads on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManageLibrary:
    """`await manage.add_url("https://example.org/manual")`; every method returns its failure instead of raising it."""

    library: Library
    extractor: Extractor
    mapper: Mapper

    async def add_url(self, url: str, /) -> LibraryChange:
        """Read one page and put it in."""
        try:
            page = await self._read(url)
            return await self._put([page])
        except WebSearchError as error:
            return outcome.failed(LibraryChange(), error, "library")

    async def add_site(self, request: MapRequest, /) -> LibraryChange:
        """Map a site and put its pages in; a partial success when some of them could not be read."""
        try:
            site = await self.mapper.map(request)
            found = await self._read_all([link.url for link in site.links[request.offset :]])
            change = await self._put([page for page in found if isinstance(page, Page)])
        except WebSearchError as error:
            return outcome.failed(LibraryChange(), error, "library")
        return _judged(change, [error for error in found if isinstance(error, WebSearchError)], site.notes)

    async def add_pages(self, pages: Iterable[Page], /) -> LibraryChange:
        """Put pages in, fifty at a time; `pages` is read in a worker thread and may read files.

        On a failure the change tells what was written before it; no page at all is a failure.
        """
        done = LibraryChange()
        source = iter(pages)
        try:
            while batch := await asyncio.to_thread(lambda: list(itertools.islice(source, BATCH_PAGES))):
                change = await self._put(batch)
                change = dataclasses.replace(change, added=done.added + change.added, skipped=done.skipped + change.skipped)
                done = change
            if not done.added and not done.skipped:
                raise EmptyResult(
                    "no readable page was given", hint="Give a folder or file with text, Markdown, HTML, JSON or XML."
                )
            return dataclasses.replace(done, total=await pages_in(self.library))
        except WebSearchError as error:
            return outcome.failed(done, error, "library")

    async def remove(self, prefix: str, /) -> LibraryChange:
        """Take out the page at `prefix` and all pages below it; that there is none is a failure."""
        try:
            removed = await self.library.remove(prefix)
            if not removed:
                raise EmptyResult(
                    "the library has no page at or below this address", hint="List the pages to see their addresses."
                )
            return LibraryChange(removed=removed, total=await pages_in(self.library))
        except WebSearchError as error:
            return outcome.failed(LibraryChange(), error, "library")

    async def entries(self, *, offset: int = 0, limit: int = 100) -> LibraryChange:
        """What is in it, ordered by address."""
        try:
            found = await self.library.entries(offset=offset, limit=limit)
            total = await pages_in(self.library)
        except WebSearchError as error:
            return outcome.failed(LibraryChange(), error, "library")
        if not total:
            return LibraryChange(notes=(EMPTY,))
        after = offset + len(found)
        return LibraryChange(entries=found, total=total, next_offset=after if found and after < total else None)

    async def _put(self, pages: list[Page]) -> LibraryChange:
        added = await self.library.add(pages)
        return LibraryChange(added=added, skipped=len(pages) - added, total=await pages_in(self.library))

    async def _read(self, url: str) -> Page:
        page = await self.extractor.extract(FetchRequest(url=url))
        if page is None or not page.text.strip():
            raise EmptyResult(
                "nothing readable was found at the address", hint="Choose another address, or configure another reader."
            )
        return page

    async def _read_all(self, addresses: list[str]) -> list[Page | WebSearchError]:
        """Each page, or why it could not be read, in order."""
        free = asyncio.Semaphore(READERS)

        async def one(url: str) -> Page | WebSearchError:
            async with free:
                try:
                    return await self._read(url)
                except WebSearchError as error:
                    return error

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(url)) for url in addresses]
        return [task.result() for task in tasks]


async def pages_in(library: Library) -> int:
    """How many pages the library holds."""
    for offset in itertools.count(0, COUNTED_AT_ONCE):
        found = len(await library.entries(offset=offset, limit=COUNTED_AT_ONCE))
        if found < COUNTED_AT_ONCE:
            return offset + found
    raise AssertionError("itertools.count ends nowhere")


def _judged(change: LibraryChange, failures: list[WebSearchError], notes: tuple[Note, ...]) -> LibraryChange:
    change = dataclasses.replace(change, notes=notes)
    if not failures:
        return change
    note = Note(code="pages_unreadable", text=f"{len(failures)} pages of the site could not be read")
    change = dataclasses.replace(change, notes=(*notes, note))
    verdict = outcome.partly if change.added or change.skipped else outcome.failed
    return verdict(change, failures[0], "library")
