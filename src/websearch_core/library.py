"""Use case: put pages into the local library, take them out, list them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

from websearch_core import errors, outcome, progress
from websearch_core.errors import EmptyResult, ProviderError, RequestRejected, WebSearchError
from websearch_core.ports import Extractor, Library, Mapper
from websearch_core.values import FetchRequest, IndexRun, LibraryEntry, MapRequest, Note, Outcome, Page, ReadFailure

__all__ = ["EMPTY", "Folder", "Folders", "LibraryChange", "ManageLibrary"]

T = TypeVar("T")
BATCH_PAGES = 50
"""Pages that are held in memory and written together."""
READ_AT_ONCE = 16
"""Pages of a site that are read before they are written: what a killed process has to read again."""
READERS = 4
"""Pages of a site, or files, that are read at the same time."""
MAX_TOLD = 20
"""Pages or files that could not be read and are named one by one."""
GONE = frozenset({404, 410})
EMPTY = Note(
    code="library_empty",
    text="The local library is empty; fill it with: websearch library add PATH_OR_URL",
    provider="library",
)


MORE_PAGES = Note(
    code="more_pages",
    text="The site has more pages than were asked for: raise --limit or --max-depth, or choose with --include and --exclude.",
    provider="library",
)


class Folder(Protocol):
    """Files that can be looked at without being read."""

    @property
    def root(self) -> str:
        """The address of the folder, or of the one file."""
        ...

    @property
    def reader(self) -> str:
        """What tells its reader from another one, which may read what this one could not."""
        ...

    def files(self) -> Sequence[tuple[str, str]]:
        """Address and stamp of every file that may be a page, in a stable order; another stamp means that it has changed.

        Raises:
            InvalidInput: there is nothing of that name.
        """
        ...

    async def page(self, address: str, /) -> Page | None:
        """The file as a page; None when it holds no text.

        Raises:
            WebSearchError: it cannot be read, and why.
        """
        ...


class Folders(Protocol):
    """Opens folders."""

    def __call__(self, path: str, /) -> Folder:
        """The folder, or the one file, at a path; nothing is looked at yet."""
        ...


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
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def add_url(self, url: str, /) -> LibraryChange:
        """Read one page and put it in."""
        try:
            page = await self._read(url)
            added = await self.library.add([page])
            return LibraryChange(added=added, skipped=1 - added, total=await self.library.count())
        except WebSearchError as error:
            return outcome.failed(LibraryChange(), error, "library")

    async def add_site(self, request: MapRequest, /, *, most: int | None = None) -> LibraryChange:
        """Map a site and put its pages in; a partial success when some of them could not be read.

        `most`: so many pages at most, which may be more than a map shows at once; without it those that the map would show.
        What was begun with the same request and broken off goes on where it stopped. A page that no longer exists is taken
        out; so is, after a run without a failure over the whole site, what an earlier run put in and this one did not meet.
        """
        done = LibraryChange()
        failures: dict[str, WebSearchError] = {}
        try:
            run, notes = await self._begun(request, most)
            before = run.total - len(run.pending)
            for batch in _batches(run.pending, READ_AT_ONCE):
                reached = before + done.added + done.skipped + len(failures)
                progress.tell("reading pages", done=reached, total=run.total)
                change, failed = await self._add_batch(run, batch)
                done, failures = _sum(done, change), {**failures, **failed}
            gone = await self.library.finish(run.root, drop=run.complete and all(map(_is_gone, failures.values())))
            progress.tell("reading pages", done=run.total, total=run.total)
            done = dataclasses.replace(done, removed=done.removed + gone, total=await self.library.count())
        except WebSearchError as error:
            return outcome.failed(await self._counted(done), error, "library")
        return _judged(dataclasses.replace(done, notes=notes), failures, "page")

    async def add_folder(self, folder: Folder, /, *, retry: bool = False) -> LibraryChange:
        """Put the files of a folder in: those that are new or have changed are read, those that are gone are taken out.

        A partial success when some of them could not be read: each is named in a note, with the reason, and the library keeps
        what it had of it. Where the reason lies in the file, it is tried again when it has changed, when it would be read by
        another reader, or with `retry`; else in the next run. On a failure the change tells what was written before it; no
        readable file at all is a failure.
        """
        done = LibraryChange()
        failures: dict[str, WebSearchError] = {}
        left: dict[str, WebSearchError] = {}
        try:
            files = dict(await asyncio.to_thread(folder.files))
            known, noted = await self.library.stamps(folder.root), await self.library.failures(folder.root)
            held = {address: one for address, one in noted.items() if not retry and _holds(one, folder, files)}
            left = {address: _again(one) for address, one in held.items() if one.kind}
            changed = [address for address, stamp in files.items() if known.get(address) != stamp and address not in held]
            before = len(files) - len(changed)
            done = dataclasses.replace(done, skipped=before - len(held))
            for at, batch in enumerate(_batches(changed, BATCH_PAGES)):
                progress.tell("indexing files", done=before + at * BATCH_PAGES, total=len(files))
                change, failed = await self._add_files(folder, batch, files)
                done, failures = _sum(done, change), {**failures, **failed}
            gone = await self.library.discard([address for address in {**known, **noted} if address not in files])
            progress.tell("indexing files", done=len(files), total=len(files))
            done = dataclasses.replace(done, removed=done.removed + gone, total=await self.library.count())
            if not done.added and not done.skipped and not done.removed and not failures and not left:
                raise _nothing_readable()
        except WebSearchError as error:
            return outcome.failed(await self._counted(done), error, "library")
        return _judged(done, {**failures, **left}, "file", left=len(left))

    async def add_pages(self, pages: Iterable[Page], /) -> LibraryChange:
        """Put pages in, fifty at a time; `pages` is read in a worker thread and may read files.

        On a failure the change tells what was written before it; no page at all is a failure.
        """
        done = LibraryChange()
        source = iter(pages)
        try:
            while batch := await asyncio.to_thread(lambda: list(islice(source, BATCH_PAGES))):
                added = await self.library.add(batch)
                done = _sum(done, LibraryChange(added=added, skipped=len(batch) - added))
                progress.tell("indexing files", done=done.added + done.skipped)
            if not done.added and not done.skipped:
                raise _nothing_readable()
            return dataclasses.replace(done, total=await self.library.count())
        except WebSearchError as error:
            return outcome.failed(await self._counted(done), error, "library")

    async def remove(self, prefix: str, /) -> LibraryChange:
        """Take out the page at `prefix` and all pages below it; that there is none is a failure."""
        try:
            removed = await self.library.remove(prefix)
            if not removed:
                raise EmptyResult(
                    "the library has no page at or below this address", hint="List the pages to see their addresses."
                )
            return LibraryChange(removed=removed, total=await self.library.count())
        except WebSearchError as error:
            return outcome.failed(LibraryChange(), error, "library")

    async def entries(self, *, offset: int = 0, limit: int = 100) -> LibraryChange:
        """What is in it, ordered by address."""
        try:
            found = await self.library.entries(offset=offset, limit=limit)
            total = await self.library.count()
        except WebSearchError as error:
            return outcome.failed(LibraryChange(), error, "library")
        if not total:
            return LibraryChange(notes=(EMPTY,))
        after = offset + len(found)
        return LibraryChange(entries=found, total=total, next_offset=after if found and after < total else None)

    async def _counted(self, change: LibraryChange) -> LibraryChange:
        """With the number of pages, as far as the library can still tell it."""
        with suppress(WebSearchError):
            return dataclasses.replace(change, total=await self.library.count())
        return change

    # --- a site

    async def _begun(self, request: MapRequest, most: int | None) -> tuple[IndexRun, tuple[Note, ...]]:
        """The run that is to be worked on: one that was broken off, else a new one over the site's map."""
        first = request.offset
        if most is not None:  # a mapper lists `offset` + `limit` pages
            first, request = 0, dataclasses.replace(request, limit=min(most, request.limit), offset=max(0, most - request.limit))
        options = _options(request)
        run = await self.library.unfinished(request.url)
        if run is not None and run.options == options:
            text = f"Went on with {len(run.pending)} of {run.total} pages that an earlier run had left."
            return run, (Note(code="run_resumed", text=text, provider="library"),)
        site = await self.mapper.map(request)
        complete = (
            not site.truncated and not site.ignored and not {note.code for note in site.notes} & {"partial", "start_unreadable"}
        )
        addresses = [link.url for link in site.links[first:]]
        run = await self.library.begin(
            request.url, addresses, options=options, complete=complete and not first, delay_s=site.crawl_delay_s
        )
        return run, tuple(MORE_PAGES if note.code == MORE_PAGES.code else note for note in site.notes)

    async def _add_batch(self, run: IndexRun, batch: Sequence[str]) -> tuple[LibraryChange, dict[str, WebSearchError]]:
        """Read these pages and keep them, each under the address where it was found in the end."""
        found = await self._read_all(batch, run.delay_s)
        pages = {
            page.final_url or page.url: dataclasses.replace(page, url=page.final_url or page.url)
            for page in found.values()
            if isinstance(page, Page)
        }
        failed = {address: error for address, error in found.items() if isinstance(error, WebSearchError)}
        gone = [address for address, error in failed.items() if _is_gone(error)]
        done = [address for address in batch if address in gone or isinstance(found[address], Page)]
        added = await self.library.add(list(pages.values()), root=run.root, done=done)
        removed = await self.library.discard(gone)
        return LibraryChange(added=added, skipped=len(pages) - added, removed=removed), failed

    async def _read_all(self, addresses: Sequence[str], delay_s: float) -> dict[str, Page | WebSearchError | None]:
        """Each page, or why it could not be read, in order; one after the other where the site asks for a delay."""

        async def one(url: str) -> Page:
            if delay_s:
                await self.sleep(delay_s)
            return await self._read(url)

        return await _each(addresses, one, at_once=1 if delay_s else READERS)

    async def _read(self, url: str) -> Page:
        page = await self.extractor.extract(FetchRequest(url=url))
        if page is None or not page.text.strip():
            raise EmptyResult(
                "nothing readable was found at the address", hint="Choose another address, or configure another reader."
            )
        return page

    # --- a folder

    async def _add_files(
        self, folder: Folder, batch: Sequence[str], stamps: dict[str, str]
    ) -> tuple[LibraryChange, dict[str, WebSearchError]]:
        """Read these files and keep them; what was in the library and is no text any more is taken out."""
        read = await _each(batch, folder.page, at_once=READERS)
        pages = [page for page in read.values() if isinstance(page, Page)]
        failed = {address: error for address, error in read.items() if isinstance(error, WebSearchError)}
        blank = [address for address, page in read.items() if page is None]
        noted = [_noted(address, error, stamps[address], folder.reader) for address, error in failed.items() if _lasts(error)]
        noted += [ReadFailure(url=address, stamp=stamps[address], reader=folder.reader) for address in blank]
        removed = await self.library.discard(blank)
        added = await self.library.add(pages, stamps={page.url: stamps[page.url] for page in pages}, failures=noted)
        return LibraryChange(added=added, skipped=len(pages) - added, removed=removed), failed


async def _each(
    addresses: Sequence[str], read: Callable[[str], Awaitable[Page | None]], *, at_once: int
) -> dict[str, Page | WebSearchError | None]:
    """What reading each of them comes to, in their order."""
    free = asyncio.Semaphore(at_once)

    async def one(address: str) -> Page | WebSearchError | None:
        async with free:
            try:
                return await read(address)
            except WebSearchError as error:
                return error

    async with asyncio.TaskGroup() as group:
        tasks = {address: group.create_task(one(address)) for address in addresses}
    return {address: task.result() for address, task in tasks.items()}


def _is_gone(error: WebSearchError) -> bool:
    """Whether the page no longer exists; otherwise it may be there again another time."""
    return isinstance(error, RequestRejected) and error.http_status in GONE


def _lasts(error: WebSearchError) -> bool:
    """Whether the reason lies in the file: not in its permissions, in what is installed here, or in what happened meanwhile."""
    return isinstance(error, ProviderError) and not error.repeatable


def _noted(address: str, error: WebSearchError, stamp: str, reader: str) -> ReadFailure:
    return ReadFailure(
        url=address,
        stamp=stamp,
        reader=reader,
        kind=type(error).__name__,
        message=error.message,
        hint=error.hint or "",
        provider=error.provider or "",
    )


def _holds(noted: ReadFailure, folder: Folder, files: Mapping[str, str]) -> bool:
    """Whether reading the file would come to the same again; a file that does not tell its stamp may have changed."""
    return bool(noted.stamp) and files.get(noted.url) == noted.stamp and noted.reader == folder.reader


def _again(noted: ReadFailure) -> WebSearchError:
    """The error that was noted."""
    kind: type[WebSearchError] = getattr(errors, noted.kind if noted.kind in errors.__all__ else "BadReply")
    return kind(noted.message, provider=noted.provider or None, hint=noted.hint or None)


def _options(request: MapRequest) -> str:
    """What tells one reading of a site from another."""
    return repr((request.patterns, request.instructions, request.max_depth, request.max_breadth, request.limit, request.offset))


def _batches(addresses: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (addresses[at : at + size] for at in range(0, len(addresses), size))


def _sum(one: LibraryChange, other: LibraryChange) -> LibraryChange:
    return dataclasses.replace(
        one, added=one.added + other.added, skipped=one.skipped + other.skipped, removed=one.removed + other.removed
    )


def _nothing_readable() -> EmptyResult:
    return EmptyResult(
        "no readable page was given",
        hint="Give a folder or file with text, Markdown, HTML, JSON, XML, PDF, or an office document.",
    )


def _judged(change: LibraryChange, failures: Mapping[str, WebSearchError], kind: str, *, left: int = 0) -> LibraryChange:
    """`change` with what could not be read: how many, and the first twenty one by one; `left` were not tried again."""
    if not failures:
        return change
    told = [_told(address, error, kind) for address, error in islice(failures.items(), MAX_TOLD)]
    text = f"{outcome.counted(len(failures), kind)} could not be read"
    if left:
        text += f"; {left} unchanged since the last try, so not tried again: add --retry to try"
    counted = Note(code=f"{kind}s_unreadable", text=text)
    change = dataclasses.replace(change, notes=(*change.notes, counted, *told))
    verdict = outcome.partly if change.added or change.skipped else outcome.failed
    return verdict(change, next(iter(failures.values())), "library")


def _told(address: str, error: WebSearchError, kind: str) -> Note:
    text = f"{address}: {error.message}. {error.hint or ''}".strip()
    return Note(code=f"{kind}_unreadable", text=text, provider=error.provider or "library")
