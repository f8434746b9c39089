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
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from websearch_adapters.library.expression import match_expression
from websearch_core.errors import NotConfigured, Unreachable, WebSearchError
from websearch_core.passages import searchable, split, stretch
from websearch_core.ports import Library
from websearch_core.values import LibraryEntry, Page, Passage

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SqliteLibrary"]

T = TypeVar("T")
SCHEMA = 1
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
SEARCH = """
    SELECT passages.page, passages.id, bm25(words, 4.0, 2.0, 1.0) AS badness
    FROM words JOIN passages ON passages.id = words.rowid JOIN pages ON pages.id = passages.page
    WHERE words MATCH ? ORDER BY badness, pages.url, passages.position"""
PASSAGE = """
    SELECT pages.url, pages.title, pages.published, passages.heading, passages.text
    FROM passages JOIN pages ON pages.id = passages.page WHERE passages.id = ?"""
BELOW = "url = ? OR (url >= ? AND url < ?)"
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
class _Prepared:
    """A page as the tables keep it."""

    url: str
    title: str
    published: str
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

    async def add(self, pages: Sequence[Page], /) -> int:
        """Index pages in one transaction, replacing those of the same address; how many were new or changed.

        Raises:
            Unreachable: other writers kept the file for longer than `patience_s`.
            NotConfigured: the file cannot be written, or belongs to a newer version of this program.
        """
        moment = datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return await self._run(lambda db, call: _add(db, call, pages, moment), empty=None) if pages else 0

    async def remove(self, prefix: str, /) -> int:
        """Forget the page at `prefix` and all pages below `prefix` + "/"; how many went. Raises like `add`."""
        return await self._run(lambda db, call: _remove(db, call, prefix), empty=0)

    async def entries(self, *, offset: int = 0, limit: int = 100) -> tuple[LibraryEntry, ...]:
        """What is in it, ordered by the bytes of the address. Raises like `add`."""
        return await self._run(lambda db, _: _entries(db, offset, limit), empty=())

    async def search(self, text: str, /, *, limit: int = 10) -> tuple[Passage, ...]:
        """The best passage of each of the best pages by BM25; ties go by address. Raises like `add`.

        A match in the title counts four times, in a heading twice. Of a passage longer than 1,200 characters (a table, a code
        fence) the lines that match best are given.
        """
        expression = match_expression(text)
        if expression is None or limit < 1:
            return ()
        return await self._run(lambda db, _: _search(db, expression, text, limit), empty=())

    async def count(self) -> int:
        """How many pages are in it. Raises like `add`."""
        return await self._run(lambda db, _: _number(db, "SELECT count(*) FROM pages"), empty=0)

    async def aclose(self) -> None:
        """Wait until no thread works on the file."""
        while self._running:
            await asyncio.wait(self._running)

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
    """Make the tables where they are missing.

    Raises:
        NotConfigured: the file has another schema.
    """
    version = _number(db, "PRAGMA user_version")
    if version == 0:
        db.execute("PRAGMA journal_mode = WAL")
        with _writing(db, None):
            version = _number(db, "PRAGMA user_version")
            if version == 0:
                for statement in (*TABLES, f"PRAGMA user_version = {SCHEMA}"):
                    db.execute(statement)
                version = SCHEMA
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


def _add(db: sqlite3.Connection, call: _Call, pages: Sequence[Page], moment: str) -> int:
    """Words are made before the transaction, so that other writers wait for the disk only."""
    prepared = []
    for page in {page.url: page for page in pages}.values():
        call.check()
        digest = _digest(page)
        if _kept_digest(db, page.url) != digest:
            prepared.append(_prepared(page, digest))
    if not prepared:
        return 0
    with _writing(db, call):
        return sum(_put(db, call, page, moment) for page in prepared)


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
    row = (page.url, page.title, page.published, page.chars, page.digest, moment)
    number = db.execute(
        "INSERT INTO pages (url, title, published, chars, digest, added_at) VALUES (?, ?, ?, ?, ?, ?)", row
    ).lastrowid
    for (position, heading, text), words in zip(page.passages, page.words, strict=True):
        passage = (number, position, heading, text)
        rowid = db.execute("INSERT INTO passages (page, position, heading, text) VALUES (?, ?, ?, ?)", passage).lastrowid
        db.execute("INSERT INTO words (rowid, title, heading, text) VALUES (?, ?, ?, ?)", (rowid, *words))
    return 1


def _remove(db: sqlite3.Connection, call: _Call, prefix: str) -> int:
    below = _storable(prefix).rstrip("/") + "/"
    past = below[:-1] + chr(ord("/") + 1)
    with _writing(db, call):
        return _delete(db, BELOW, _storable(prefix), below, past)


def _delete(db: sqlite3.Connection, where: str, *values: str) -> int:
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


def _search(db: sqlite3.Connection, expression: str, query: str, limit: int) -> tuple[Passage, ...]:
    """Both reads in one transaction, so that a page removed between them is not missed."""
    db.execute("BEGIN")
    best: dict[int, tuple[int, float]] = {}
    for page, passage, badness in db.execute(SEARCH, (expression,)):
        best.setdefault(page, (passage, -badness))
        if len(best) == limit:
            break
    return tuple(_passage(db, passage, score, query) for passage, score in best.values())


def _passage(db: sqlite3.Connection, number: int, score: float, query: str) -> Passage:
    url, title, published, heading, text = db.execute(PASSAGE, (number,)).fetchone()
    text = stretch(text, query)
    return Passage(url=url, title=title, heading=heading, text=text, score=score, published=published)


def _number(db: sqlite3.Connection, statement: str) -> int:
    return int(db.execute(statement).fetchone()[0])
