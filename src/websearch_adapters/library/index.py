"""The library on disk: one SQLite file with a full-text index.

Every call opens its own connection in a worker thread and closes it, so that any number of calls and processes may read and
write at once; SQLite's write-ahead log keeps the file whole whatever is killed. Reading a library that does not exist yet
creates nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from math import log
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from websearch_adapters.library.expression import match_expression
from websearch_adapters.provider import on_hosts
from websearch_core.errors import NotConfigured, Unreachable, WebSearchError
from websearch_core.passages import coverage, query_terms, searchable, split, stretch
from websearch_core.ports import Library
from websearch_core.values import IndexRun, LibraryEntry, Page, Passage, ReadFailure

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SqliteLibrary"]

T = TypeVar("T")
SCHEMA = 3
"""Of the tables, of the splitting and of the words: a change to any of them takes the next number."""
TABLES = (
    """CREATE TABLE pages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE, title TEXT NOT NULL, published TEXT NOT NULL,
        chars INTEGER NOT NULL, digest BLOB NOT NULL, added_at TEXT NOT NULL)""",
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, page INTEGER NOT NULL, position INTEGER NOT NULL,
        heading TEXT NOT NULL, text TEXT NOT NULL)""",
    "CREATE INDEX passages_of_page ON passages (page, position)",
    # The index keeps its own copy of the words: taking a row out of a contentless index needs the very words that went in,
    # and those differ between versions of Unicode, so between two Pythons that share the file.
    """CREATE VIRTUAL TABLE words USING fts5 (title, heading, text, tokenize = "porter ascii tokenchars '_.-'")""",
)
SECOND = (
    "ALTER TABLE pages ADD COLUMN fetched_at TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE pages ADD COLUMN stamp TEXT NOT NULL DEFAULT ''",  # of a file: what tells without reading it that it changed
    "ALTER TABLE pages ADD COLUMN root TEXT NOT NULL DEFAULT ''",  # the site that it was read with
    "ALTER TABLE pages ADD COLUMN run INTEGER NOT NULL DEFAULT 0",  # the latest run that met it
    "CREATE INDEX pages_of_root ON pages (root, run) WHERE root <> ''",
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL UNIQUE, options TEXT NOT NULL, complete INTEGER NOT NULL,
        delay_s REAL NOT NULL)""",
    """CREATE TABLE queue (
        run INTEGER NOT NULL, position INTEGER NOT NULL, url TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (run, position)) WITHOUT ROWID""",
    "CREATE INDEX queue_by_address ON queue (run, url)",
)
"""What version 2 adds: a site that is being read is kept with the addresses that are still to come."""
THIRD = (
    """CREATE TABLE failures (
        url TEXT PRIMARY KEY, stamp TEXT NOT NULL, reader TEXT NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL,
        hint TEXT NOT NULL, provider TEXT NOT NULL) WITHOUT ROWID""",
)
"""What version 3 adds: files that could not be read, so that they are not tried again for nothing."""
FAILURE = "url, stamp, reader, kind, message, hint, provider"
CANDIDATES = """
    SELECT passages.id, passages.page, pages.url, pages.published, pages.fetched_at, found.badness
    FROM (SELECT rowid AS id, rank AS badness FROM words
          WHERE words MATCH ? AND rank MATCH 'bm25(4.0, 2.0, 1.0)' ORDER BY rank LIMIT ?) AS found
    JOIN passages ON passages.id = found.id JOIN pages ON pages.id = passages.page
    ORDER BY found.badness, pages.url, passages.position"""
PASSAGE = """
    SELECT pages.url, pages.title, pages.published, pages.fetched_at, passages.heading, passages.text
    FROM passages JOIN pages ON pages.id = passages.page WHERE passages.id = ?"""
BELOW = "url = ? OR (url >= ? AND url < ?)"
FIRST_LOOK = 200
"""Passages that are looked at first; eight times as many whenever filters leave too few."""
RANKED_AGAIN = 100
"""Of these the ones whose words stand close together come first."""
MANY_PASSAGES = 10_000
"""From here on the words that stand nearly everywhere are not looked for: they cost much and tell nothing."""
COMMON = 0.2
SAMPLES, SAMPLE_PASSAGES = 8, 250
BUSY_S = 0.25
"""How long SQLite waits by itself; between two such waits a cancelled call ends."""
STEPS = 10_000
"""Instructions of SQLite's machine between two looks at whether the call is cancelled."""
SIDE_FILES = ("-wal", "-shm", "")
"""The log goes first: beside a new file it would be read into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """How long a call may go on."""

    until: float
    """On the monotonic clock: when it gives up waiting for other writers."""
    stopped: threading.Event = field(default_factory=threading.Event)

    def goes_on(self) -> bool:
        return not self.stopped.is_set() and time.monotonic() < self.until

    def check(self) -> None:
        """Raise when the call is cancelled."""
        if self.stopped.is_set():
            raise Unreachable("the call was cancelled", provider="library")


Work: TypeAlias = "Callable[[sqlite3.Connection, _Call], T]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """What is noted with the pages that are added together."""

    root: str
    done: tuple[str, ...]
    stamps: Mapping[str, str]
    failures: tuple[ReadFailure, ...]
    moment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Which pages a search may give."""

    since: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]

    def keeps(self, url: str, published: str, fetched_at: str) -> bool:
        if self.since and (published or fetched_at[:10]) < self.since:
            return False
        return not on_hosts(url, self.exclude) and (not self.include or on_hosts(url, self.include))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A page as the tables keep it."""

    url: str
    title: str
    published: str
    fetched_at: str
    chars: int
    digest: bytes
    passages: tuple[tuple[int, str, str], ...]
    """Position, heading, text."""
    words: tuple[tuple[str, str, str], ...]
    """Title, heading and text of each passage as words."""


class SqliteLibrary(Library):
    """`async with` nothing: opened at the first use, call by call; `aclose` waits for what a cancelled call left running."""

    def __init__(self, path: Path, *, patience_s: float = 30.0, now: Callable[[], float] = time.time) -> None:
        """`path`: the file. A folder that is missing is made with mode 0700, the file with 0600.

        `patience_s`: how long a call waits for other writers, all in all.
        """
        self.path = path
        self._patience_s = patience_s
        self._now = now
        self._running: set[asyncio.Task[object]] = set()

    async def add(
        self,
        pages: Sequence[Page],
        /,
        *,
        root: str = "",
        done: Sequence[str] = (),
        stamps: Mapping[str, str] = MappingProxyType({}),
        failures: Sequence[ReadFailure] = (),
    ) -> int:
        """Index pages in one transaction, replacing those of the same address; how many were new or changed.

        Raises:
            Unreachable: other writers kept the file for longer than `patience_s`.
            NotConfigured: the file cannot be written, or belongs to a newer version of this program.
        """
        if not pages and not done and not failures:
            return 0
        batch = _Batch(root=root, done=tuple(done), stamps=stamps, failures=tuple(failures), moment=self._moment())
        return await self._run(lambda db, call: _add(db, call, pages, batch), empty=None)

    async def remove(self, prefix: str, /) -> int:
        """Forget the page at `prefix` and all pages below `prefix` + "/"; how many went. Raises like `add`."""
        return await self._run(lambda db, call: _remove(db, call, prefix), empty=0)

    async def discard(self, addresses: Sequence[str], /) -> int:
        """Forget the pages at these addresses; how many went. Raises like `add`."""
        return await self._run(lambda db, call: _discard(db, call, addresses), empty=0) if addresses else 0

    async def entries(self, *, offset: int = 0, limit: int = 100) -> tuple[LibraryEntry, ...]:
        """What is in it, ordered by the bytes of the address. Raises like `add`."""
        return await self._run(lambda db, _: _entries(db, offset, limit), empty=())

    async def count(self) -> int:
        """How many pages are in it. Raises like `add`."""
        return await self._run(lambda db, _: _number(db, "SELECT count(*) FROM pages"), empty=0)

    async def stamps(self, prefix: str, /) -> Mapping[str, str]:
        """Address → stamp of the page at `prefix` and of all pages below it. Raises like `add`."""
        return await self._run(lambda db, _: _stamps(db, prefix), empty={})

    async def failures(self, prefix: str, /) -> Mapping[str, ReadFailure]:
        """Address → what was noted of it as a failure; of `prefix` and of all that lies below it. Raises like `add`."""
        return await self._run(lambda db, _: _failures(db, prefix), empty={})

    async def search(
        self,
        text: str,
        /,
        *,
        limit: int = 10,
        since: str = "",
        include_domains: Sequence[str] = (),
        exclude_domains: Sequence[str] = (),
    ) -> tuple[Passage, ...]:
        """The best passage of each of the best pages; ties go by address. Raises like `add`.

        By BM25, where a match in the title counts four times and in a heading twice; the best ones are ranked again, up to
        twice as high where the words of the query stand close together. Of a passage longer than 1,200 characters (a table, a
        code fence) the lines that match best are given.
        """
        terms = query_terms(text)
        if not terms or limit < 1:
            return ()
        wanted = _Wanted(since=since, include=tuple(include_domains), exclude=tuple(exclude_domains))
        return await self._run(lambda db, _: _search(db, terms, text, limit=limit, wanted=wanted), empty=())

    async def begin(
        self, root: str, addresses: Sequence[str], /, *, options: str = "", complete: bool = True, delay_s: float = 0.0
    ) -> IndexRun:
        """Note that these addresses are to be read for `root`, in place of what was noted for it before. Raises like `add`."""
        run = IndexRun(root=root, options=options, complete=complete, delay_s=delay_s, total=0, pending=tuple(addresses))
        return await self._run(lambda db, call: _begin(db, call, run), empty=None)

    async def unfinished(self, root: str, /) -> IndexRun | None:
        """What was begun for `root` and not finished. Raises like `add`."""
        return await self._run(lambda db, _: _unfinished(db, root), empty=None)

    async def finish(self, root: str, /, *, drop: bool) -> int:
        """Forget the note; with `drop` also the pages of `root` that the run did not meet; how many went. Raises like `add`."""
        return await self._run(lambda db, call: _finish(db, call, root, drop=drop), empty=0)

    async def aclose(self) -> None:
        """Wait until no thread works on the file."""
        while self._running:
            await asyncio.wait(self._running)

    def _moment(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    async def _run(self, work: Work[T], /, *, empty: T | None) -> T:
        """Do `work` in a thread. A cancelled call tells its thread to stop and leaves no half of a change."""
        call = _Call(until=time.monotonic() + self._patience_s)
        task = asyncio.create_task(asyncio.to_thread(lambda: self._done(work, call, empty)))
        self._running.add(task)
        task.add_done_callback(self._forget)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            call.stopped.set()
            await asyncio.wait({task})
            raise

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # a cancelled caller no longer asks for it

    def _done(self, work: Work[T], call: _Call, empty: T | None) -> T:
        """The work's value, in this thread; `empty`, where given, when there is no file. A damaged file is replaced once."""
        import sqlite3

        try:
            if empty is not None and not self.path.exists():
                return empty
            seen = _create(self.path)
            try:
                return self._patiently(work, call)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
            _set_aside(self.path, seen)
            _create(self.path)
            return self._patiently(work, call)
        except (sqlite3.Error, OSError) as error:
            raise _failure(error, self.path) from error

    def _patiently(self, work: Work[T], call: _Call) -> T:
        """Do the work on a fresh connection, again as long as another process is in the way."""
        import sqlite3

        while True:
            try:
                with closing(_connected(self.path, call)) as db:
                    _prepare(db)
                    return work(db, call)
            except sqlite3.OperationalError as error:
                if not (_is_busy(error) and call.goes_on()):
                    raise


# --- the file -----------------------------------------------------------------------------------------------------


def _create(path: Path) -> int:
    """Make file and folder, private, where they are missing; the file's inode.

    An existing file is not opened: closing any descriptor of it would drop the locks that SQLite holds in other threads.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    return path.stat().st_ino


def _connected(path: Path, call: _Call) -> sqlite3.Connection:
    import sqlite3

    address = f"{path.absolute().as_uri()}?mode=rw"  # never creates: the mode of the file is ours to set
    db = sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None)
    db.set_progress_handler(lambda: int(call.stopped.is_set()), STEPS)
    return db


def _prepare(db: sqlite3.Connection) -> None:
    """Make the tables where they are missing, and bring those of an earlier version up.

    Raises:
        NotConfigured: the file has a later schema.
    """
    version = _number(db, "PRAGMA user_version")
    if version < SCHEMA:
        if not version:
            db.execute("PRAGMA journal_mode = WAL")
        with _writing(db, None):
            version = _number(db, "PRAGMA user_version")
            for number, statements in enumerate((TABLES, SECOND, THIRD), 1):
                for statement in statements if version < number else ():
                    db.execute(statement)
            version = max(version, SCHEMA)
            db.execute(f"PRAGMA user_version = {version}")
    if version != SCHEMA:
        raise NotConfigured(
            f"the library has version {version}; this program reads version {SCHEMA}",
            provider="library",
            hint="Update this program, or choose another file for the library.",
        )
    db.execute("PRAGMA synchronous = NORMAL")


@contextmanager
def _writing(db: sqlite3.Connection, call: _Call | None) -> Iterator[None]:
    """A write transaction; whatever is raised inside undoes it, because the connection is closed without a commit."""
    import sqlite3

    while True:
        try:
            db.execute("BEGIN IMMEDIATE")
            break
        except sqlite3.OperationalError as error:
            if call is None or not (_is_busy(error) and call.goes_on()):
                raise
    yield
    db.execute("COMMIT")


def _set_aside(path: Path, seen: int) -> None:
    """Rename the damaged file, unless another process has done so and a new file stands in its place."""
    if not path.exists() or path.stat().st_ino != seen:
        return
    aside = next(name for name in map(path.with_name, _damaged_names(path.name)) if not name.exists())
    for end in SIDE_FILES:
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).replace(aside.with_name(aside.name + end))
    logging.getLogger(__name__).warning("the library was damaged; it is kept as %s and a new one begun", aside)


def _damaged_names(name: str) -> Iterator[str]:
    yield f"{name}.damaged"
    yield from (f"{name}.{number}.damaged" for number in itertools.count(2))


def _is_damage(error: sqlite3.Error) -> bool:
    import sqlite3

    return _primary_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def _is_busy(error: sqlite3.Error) -> bool:
    import sqlite3

    return _primary_code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension; 0 for an error of Python's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _failure(error: Exception, path: Path) -> WebSearchError:
    import sqlite3

    if isinstance(error, sqlite3.Error):
        if _primary_code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT}:
            return Unreachable("the library is in use by another process", provider="library")
        reason = str(error)
    else:
        reason = getattr(error, "strerror", None) or type(error).__name__
    hint = f"Check that {path} and its folder can be written and that the disk has room."
    return NotConfigured(f"the library cannot be used: {reason}", provider="library", hint=hint)


# --- what is done with it -----------------------------------------------------------------------------------------


def _add(db: sqlite3.Connection, call: _Call, pages: Sequence[Page], batch: _Batch) -> int:
    """Words are made before the transaction, so that other writers wait for the disk only."""
    last = {page.url: page for page in pages}
    prepared = []
    for page in last.values():
        call.check()
        digest = _digest(page)
        if _kept_digest(db, page.url) != digest:
            prepared.append(_prepared(page, digest))
    if not prepared and not batch.root and not batch.stamps and not batch.failures:
        return 0
    with _writing(db, call):
        written = sum(_put(db, call, page, batch.moment) for page in prepared)
        _mark(db, list(last.values()), batch)
        _note(db, last, batch.failures)
        return written


def _mark(db: sqlite3.Connection, pages: Sequence[Page], batch: _Batch) -> None:
    """Note with each page, written or unchanged, when it was read, its stamp and its run; and which addresses are done."""
    run = _run_of(db, batch.root)
    for page in pages:
        stamp = batch.stamps.get(page.url, "")
        if stamp:
            values = (_storable(page.fetched_at), _storable(stamp), _storable(page.url))
            db.execute("UPDATE pages SET fetched_at = ?, stamp = ? WHERE url = ?", values)
        if batch.root:
            db.execute("UPDATE pages SET root = ?, run = ? WHERE url = ?", (_storable(batch.root), run, _storable(page.url)))
    done = [(run, _storable(address)) for address in batch.done]
    db.executemany("UPDATE queue SET done = 1 WHERE run = ? AND url = ?", done)


def _note(db: sqlite3.Connection, added: Iterable[str], failures: Sequence[ReadFailure]) -> None:
    """Note what could not be read, and forget it of what was added."""
    rows = [tuple(map(_storable, astuple(failure))) for failure in failures]
    db.executemany(f"INSERT OR REPLACE INTO failures ({FAILURE}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608 - a constant
    db.executemany("DELETE FROM failures WHERE url = ?", [(_storable(url),) for url in added])


def _run_of(db: sqlite3.Connection, root: str) -> int:
    """The number of the run for `root`; 0 when there is none."""
    row = db.execute("SELECT id FROM runs WHERE root = ?", (_storable(root),)).fetchone() if root else None
    return int(row[0]) if row else 0


def _begin(db: sqlite3.Connection, call: _Call, run: IndexRun) -> IndexRun:
    root, addresses = _storable(run.root), dict.fromkeys(map(_storable, run.pending))
    with _writing(db, call):
        _forget_run(db, root)
        values = (root, _storable(run.options), run.complete, run.delay_s)
        number = db.execute("INSERT INTO runs (root, options, complete, delay_s) VALUES (?, ?, ?, ?)", values).lastrowid
        rows = ((number, position, address) for position, address in enumerate(addresses))
        db.executemany("INSERT INTO queue (run, position, url) VALUES (?, ?, ?)", rows)
    return replace(run, total=len(addresses), pending=tuple(addresses))


def _unfinished(db: sqlite3.Connection, root: str) -> IndexRun | None:
    statement = "SELECT id, options, complete, delay_s FROM runs WHERE root = ?"
    row = db.execute(statement, (_storable(root),)).fetchone()
    if row is None:
        return None
    number, options, complete, delay_s = row
    queued = db.execute("SELECT url, done FROM queue WHERE run = ? ORDER BY position", (number,)).fetchall()
    pending = tuple(url for url, done in queued if not done)
    return IndexRun(root=root, options=options, complete=bool(complete), delay_s=delay_s, total=len(queued), pending=pending)


def _finish(db: sqlite3.Connection, call: _Call, root: str, *, drop: bool) -> int:
    with _writing(db, call):
        run = _run_of(db, root)
        gone = _delete(db, "root = ? AND run <> ?", _storable(root), run) if run and drop else 0
        _forget_run(db, _storable(root))
        return gone


def _forget_run(db: sqlite3.Connection, root: str) -> None:
    db.execute("DELETE FROM queue WHERE run IN (SELECT id FROM runs WHERE root = ?)", (root,))
    db.execute("DELETE FROM runs WHERE root = ?", (root,))


def _stamps(db: sqlite3.Connection, prefix: str) -> dict[str, str]:
    return dict(db.execute(f"SELECT url, stamp FROM pages WHERE {BELOW}", _below(prefix)))  # noqa: S608 - a constant of ours


def _failures(db: sqlite3.Connection, prefix: str) -> dict[str, ReadFailure]:
    rows = db.execute(f"SELECT {FAILURE} FROM failures WHERE {BELOW}", _below(prefix))  # noqa: S608 - constants of ours
    names = FAILURE.split(", ")
    return {row[0]: ReadFailure(**dict(zip(names, row, strict=True))) for row in rows}


def _discard(db: sqlite3.Connection, call: _Call, addresses: Sequence[str]) -> int:
    with _writing(db, call):
        db.executemany("DELETE FROM failures WHERE url = ?", [(_storable(address),) for address in addresses])
        return sum(_delete(db, "url = ?", _storable(address)) for address in addresses)


def _digest(page: Page) -> bytes:
    return hashlib.sha256(f"{page.title}\0{page.published}\0{page.text}".encode("utf-8", "replace")).digest()


def _kept_digest(db: sqlite3.Connection, url: str) -> bytes | None:
    row = db.execute("SELECT digest FROM pages WHERE url = ?", (_storable(url),)).fetchone()
    return row[0] if row else None


def _prepared(page: Page, digest: bytes) -> _Prepared:
    pieces = [(at, piece) for at, piece in enumerate(split(_storable(page.text))) if piece.text.strip()]
    title = searchable(page.title)
    return _Prepared(
        url=_storable(page.url),
        title=_storable(page.title),
        published=_storable(page.published),
        fetched_at=_storable(page.fetched_at),
        chars=len(page.text),
        digest=digest,
        passages=tuple((at, piece.heading, piece.text) for at, piece in pieces),
        words=tuple((title, searchable(piece.heading), searchable(piece.text)) for _, piece in pieces),
    )


def _storable(text: str) -> str:
    """The text without lone surrogates, which no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _put(db: sqlite3.Connection, call: _Call, page: _Prepared, moment: str) -> int:
    """1 when the page was written, 0 when another process has written the same meanwhile."""
    call.check()
    if _kept_digest(db, page.url) == page.digest:
        return 0
    _delete(db, "url = ?", page.url)
    row = (page.url, page.title, page.published, page.fetched_at, page.chars, page.digest, moment)
    statement = """INSERT INTO pages (url, title, published, fetched_at, chars, digest, added_at) VALUES (?, ?, ?, ?, ?, ?, ?)"""
    number = db.execute(statement, row).lastrowid
    for (position, heading, text), words in zip(page.passages, page.words, strict=True):
        passage = (number, position, heading, text)
        rowid = db.execute("INSERT INTO passages (page, position, heading, text) VALUES (?, ?, ?, ?)", passage).lastrowid
        db.execute("INSERT INTO words (rowid, title, heading, text) VALUES (?, ?, ?, ?)", (rowid, *words))
    return 1


def _remove(db: sqlite3.Connection, call: _Call, prefix: str) -> int:
    with _writing(db, call):
        db.execute(f"DELETE FROM failures WHERE {BELOW}", _below(prefix))  # noqa: S608 - a constant of ours
        return _delete(db, BELOW, *_below(prefix))


def _below(prefix: str) -> tuple[str, str, str]:
    """The values of `BELOW`: the address, and the bounds of what lies below it."""
    below = _storable(prefix).rstrip("/") + "/"
    return _storable(prefix), below, below[:-1] + chr(ord("/") + 1)


def _delete(db: sqlite3.Connection, where: str, *values: str | int) -> int:
    """Delete the pages with everything that belongs to them; `where` is one of this module's own conditions."""
    pages = f"SELECT id FROM pages WHERE {where}"  # noqa: S608 - no outside text: the values are bound
    passages = f"SELECT id FROM passages WHERE page IN ({pages})"  # noqa: S608 - the same
    db.execute(f"DELETE FROM words WHERE rowid IN ({passages})", values)  # noqa: S608 - the same
    db.execute(f"DELETE FROM passages WHERE page IN ({pages})", values)  # noqa: S608 - the same
    return db.execute(f"DELETE FROM pages WHERE {where}", values).rowcount  # noqa: S608 - the same


def _entries(db: sqlite3.Connection, offset: int, limit: int) -> tuple[LibraryEntry, ...]:
    statement = "SELECT url, title, chars, added_at FROM pages ORDER BY url LIMIT ? OFFSET ?"
    rows = db.execute(statement, (max(limit, 0), max(offset, 0)))
    return tuple(LibraryEntry(url=url, title=title, chars=chars, added_at=added_at) for url, title, chars, added_at in rows)


def _search(db: sqlite3.Connection, terms: Sequence[str], query: str, *, limit: int, wanted: _Wanted) -> tuple[Passage, ...]:
    """All reads in one transaction, so that a page removed between them is not missed."""
    db.execute("BEGIN")
    weights, telling = _weights(db, terms)
    expression = match_expression(telling)
    depth = max(FIRST_LOOK, limit * 4)
    while True:
        rows = db.execute(CANDIDATES, (expression, depth)).fetchall()
        kept = [(passage, page, -badness) for passage, page, url, *days, badness in rows if wanted.keeps(url, *days)]
        if len({page for _, page, _ in kept}) >= limit or len(rows) < depth:
            break
        depth *= 8
    best: dict[int, tuple[int, float]] = {}
    for passage, page, score in _ranked_again(db, kept, weights):
        best.setdefault(page, (passage, score))
    return tuple(_passage(db, passage, score, query) for passage, score in [*best.values()][:limit])


def _weights(db: sqlite3.Connection, terms: Sequence[str]) -> tuple[dict[str, float], list[str]]:
    """How telling each term is, by the share of passages that hold it; and which to look for.

    In a large library those that every fifth passage holds are left to the second ranking.
    """
    last = _number(db, "SELECT coalesce(max(id), 0) FROM passages")
    ranges = _samples(last)
    whole = sum(_held(db, "SELECT count(*) FROM passages WHERE id > ? AND id <= ?", bounds) for bounds in ranges)
    held = "SELECT count(*) FROM words WHERE words MATCH ? AND rowid > ? AND rowid <= ?"
    shares = {
        term: sum(_held(db, held, (match_expression([term]), *bounds)) for bounds in ranges) / max(whole, 1) for term in terms
    }
    weights = {term: log(1 + 1 / (share + 1 / max(last, 1))) for term, share in shares.items()}
    telling = [term for term, share in shares.items() if share <= COMMON or last < MANY_PASSAGES]
    return weights, telling or list(terms)


def _samples(last: int) -> list[tuple[int, int]]:
    """Ranges of passages that are counted: all of a small library, eight spread over a large one."""
    if last < MANY_PASSAGES:
        return [(0, last)]
    step = (last - SAMPLE_PASSAGES) // (SAMPLES - 1)
    return [(first, first + SAMPLE_PASSAGES) for first in range(0, step * SAMPLES, step)]


def _held(db: sqlite3.Connection, statement: str, values: tuple[str | int, ...]) -> int:
    return int(db.execute(statement, values).fetchone()[0])


def _ranked_again(
    db: sqlite3.Connection, found: Sequence[tuple[int, int, float]], weights: Mapping[str, float]
) -> list[tuple[int, int, float]]:
    """Passage, page and score; of the best ones those in which the terms stand close together score up to twice as much."""
    single = {term: weight for term, weight in weights.items() if " " not in term}
    scored = []
    for passage, page, score in found[:RANKED_AGAIN]:
        title, heading, text = db.execute("SELECT title, heading, text FROM words WHERE rowid = ?", (passage,)).fetchone()
        scored.append((passage, page, score * (1 + coverage(text, single, above=f"{title} {heading}"))))
    scored.sort(key=lambda one: -one[2])
    return [*scored, *found[RANKED_AGAIN:]]


def _passage(db: sqlite3.Connection, number: int, score: float, query: str) -> Passage:
    url, title, published, fetched_at, heading, text = db.execute(PASSAGE, (number,)).fetchone()
    return Passage(
        url=url,
        title=title,
        heading=heading,
        text=stretch(text, query),
        score=score,
        published=published,
        fetched_at=fetched_at,
    )


def _number(db: sqlite3.Connection, statement: str) -> int:
    return int(db.execute(statement).fetchone()[0])
