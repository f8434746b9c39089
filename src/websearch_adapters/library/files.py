"""Files and folders as pages for the library."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from websearch_adapters.extract.reading import Document
from websearch_adapters.provider import day, stamp
from websearch_core.errors import InvalidInput, NotAllowed
from websearch_core.library import Folder
from websearch_core.passages import first_heading
from websearch_core.values import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from websearch_adapters.extract.reading import Reading
    from websearch_adapters.extract.worker import Worker
__all__ = ["FileFolder", "address_of", "path_of"]

DOCUMENT = "document"
"""Whatever its first bytes say that it is."""
KINDS: Mapping[str, str] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".rst": "text",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".xml": "xml",
    **dict.fromkeys((".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".epub", ".ipynb"), DOCUMENT),
}
PARTS = ("websearch-mcp", "lxml", "pypdfium2")
"""What decides whether a file can be read."""
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})
"""Beside all hidden ones, .git and .venv among them."""
MAX_BYTES = 5_000_000
MAX_DOCUMENT_BYTES = 50_000_000
SNIFFED_BYTES = 8_192
WIDE_SIGNATURES = (b"\xff\xfe", b"\xfe\xff")
"""Of UTF-16, whose texts hold zero bytes."""
HEADING_CHARS = 50_000
"""How far into a file a heading is looked for."""
MAX_TITLE_CHARS = 300
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.{0,10000}?)^(?:---|\.\.\.)[ \t\r]*$", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"^(title|date):[ \t]+(.+?)[ \t\r]*$", re.IGNORECASE | re.MULTILINE)


class FileFolder(Folder):
    """The readable files of a folder, then of the folders in it, each by name; or one file. Listed without being read.

    Text, Markdown, reStructuredText, HTML, JSON, XML, PDF, office documents, books and notebooks, by their names' endings. Hidden
    files and folders, packages of other programs, binary and empty files are left out, and so are symbolic links: what lies
    inside of the folder is found on its own. A stamp holds a file's times and size.
    """

    def __init__(
        self, path: Path, worker: Worker, *, max_bytes: int = MAX_BYTES, max_document_bytes: int = MAX_DOCUMENT_BYTES
    ) -> None:
        """`max_bytes` is for texts and pages, `max_document_bytes` for PDF, office documents and books."""
        self._path = path
        self._worker = worker
        self._max_bytes = max_bytes
        self._max_document_bytes = max_document_bytes
        self._files: dict[str, Path] = {}

    @property
    def root(self) -> str:
        return address_of(self._path)

    @cached_property
    def reader(self) -> str:
        """The version of this program and of what it reads with, and what one file may take."""
        from importlib.metadata import PackageNotFoundError, version

        versions = []
        for name in PARTS:
            with contextlib.suppress(PackageNotFoundError):
                versions.append(f"{name} {version(name)}")
        limits = self._worker.limits
        return f"{', '.join(versions)}; {limits.time_s:g} s, {limits.memory_bytes} bytes"

    def files(self) -> list[tuple[str, str]]:
        """Address and stamp of each file, in the order of the folder.

        Raises:
            InvalidInput: there is no such file or folder, or the one file is of no readable kind.
        """
        place = _existing(self._path)
        self._files = {file.as_uri(): file for file in _listed(place)}
        if not self._files and not place.is_dir():
            raise _unreadable(self._path)
        return [(address, _stamp(file)) for address, file in self._files.items()]

    async def page(self, address: str, /) -> Page | None:
        """The file as a page; None when it holds no text.

        HTML, PDF and documents are read in a process of their own, so that a file that breaks the reader costs itself alone.

        Raises:
            NotAllowed: it is too large, or cannot be opened.
            NotConfigured: a part is not installed that reads this kind, or no process can be started here.
            ProviderError: damaged, locked, pictures of pages (EmptyResult), too much to read (TooCostly), or it broke the reader.
        """
        file = self._files[address]
        kind = KINDS[file.suffix.lower()]
        if kind in {"html", DOCUMENT}:
            return await self._parsed(file, kind)
        return await asyncio.to_thread(_text_page, file, kind, self._max_bytes)

    async def _parsed(self, file: Path, kind: str) -> Page | None:
        limit = self._max_bytes if kind == "html" else self._max_document_bytes
        self._worker.warm()
        body = await asyncio.to_thread(_body, file, limit, binary=kind == DOCUMENT)
        if body is None:
            return None
        media = "text/html" if kind == "html" else ""
        found = await self._worker.file(Document(body=body, url=file.as_uri(), content_type=media))
        return _page_of(file, found) if found.text.strip() else None


def _existing(path: Path) -> Path:
    place = path.expanduser().resolve()
    if not place.exists():
        hint = "Check the path, which is read from the current folder; an address begins with http:// or https://."
        raise InvalidInput(f"there is no file or folder {path}", hint=hint)
    return place


def _listed(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from _files(place)
    elif place.suffix.lower() in KINDS:
        yield place


def _unreadable(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} is of no readable kind", hint=f"Give a folder, or a file ending in {' '.join(KINDS)}.")


def _stamp(file: Path) -> str:
    """Also the time of the last change of the entry itself, which nobody can set back."""
    try:
        found = file.lstat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_ctime_ns}-{found.st_size}"


def path_of(target: str) -> Path:
    """The path that is meant by a path or by a `file://` address, as lists and results show it."""
    if not target.lower().startswith("file://"):
        return Path(target)
    return Path(url2pathname(urlsplit(target).path))


def address_of(path: Path) -> str:
    """The `file://` address under which a file is kept, or below which the files of a folder are."""
    return path.expanduser().resolve().as_uri()


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder, onerror=_skipped):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in KINDS:
                yield Path(where, name)


def _body(file: Path, max_bytes: int, *, binary: bool = False) -> bytes | None:
    """The bytes of a regular file, unless it is to be text and is none; a link, a device or a pipe is never opened.

    Raises:
        NotAllowed: it is too large, or cannot be opened.
    """
    try:
        found = file.lstat()
        if not stat.S_ISREG(found.st_mode) or not found.st_size:
            return None
        if found.st_size > max_bytes:
            raise NotAllowed(f"{file.name} has more than {max_bytes:,} bytes", hint="Split it, or add a smaller version.")
        with file.open("rb") as stream:
            body = stream.read(max_bytes)
    except OSError as error:
        raise NotAllowed(f"{file.name} cannot be opened: {error.strerror}", hint="Look at its permissions.") from error
    return None if not binary and b"\0" in body[:SNIFFED_BYTES] and not body.startswith(WIDE_SIGNATURES) else body


def _skipped(error: OSError) -> None:
    logging.getLogger(__name__).warning("left out, %s: %s", error.strerror, error.filename)


def _changed_at(file: Path) -> str:
    """When the file got the text that it has; for a question about recent pages this is its age. Empty for one that is gone."""
    with contextlib.suppress(OSError):
        return stamp(datetime.fromtimestamp(file.lstat().st_mtime, UTC))
    return ""


def _page_of(file: Path, found: Reading) -> Page:
    """Where the document has no title of its own, its name without the ending is one."""
    title = "" if found.title == file.name else found.title
    return Page(
        url=file.as_uri(),
        title=(title or file.stem)[:MAX_TITLE_CHARS],
        text=found.text,
        kind=found.kind,
        provider="library",
        published=found.published,
        language=found.language,
        notes=found.notes,
        fetched_at=_changed_at(file),
    )


def _text_page(file: Path, kind: str, max_bytes: int) -> Page | None:
    """Verbatim; None when it is blank. Title and day come from front matter, then the title from the first heading, then from
    the file's name.
    """
    from websearch_adapters.extract.charset import decode

    body = _body(file, max_bytes)
    text = decode(body)[0] if body is not None else ""
    if not text.strip():
        return None
    head = _front_matter(text)
    heading = first_heading(text[:HEADING_CHARS]) if kind in {"markdown", "text"} else ""
    return Page(
        url=file.as_uri(),
        title=(head.get("title") or heading or file.stem)[:MAX_TITLE_CHARS],
        text=text,
        kind=kind,
        provider="library",
        published=day(head.get("date", "")),
        fetched_at=_changed_at(file),
    )


def _front_matter(text: str) -> dict[str, str]:
    """The plain `name: value` lines between `---` and `---` at the very beginning."""
    match = _FRONT_MATTER.match(text)
    pairs = _PAIR.findall(match.group(1)) if match else ()
    return {name.lower(): value.strip().strip("\"'") for name, value in pairs}
