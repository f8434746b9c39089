"""Files and folders as pages for the library."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from websearch_adapters.provider import day, stamp
from websearch_core.errors import InvalidInput, NotAllowed
from websearch_core.library import Folder
from websearch_core.passages import first_heading
from websearch_core.values import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FileFolder", "address_of", "pages_under"]

KINDS: Mapping[str, str] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".rst": "text",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".xml": "xml",
}
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})
"""Beside all hidden ones, .git and .venv among them."""
MAX_BYTES = 5_000_000
SNIFFED_BYTES = 8_192
WIDE_SIGNATURES = (b"\xff\xfe", b"\xfe\xff")
"""Of UTF-16, whose texts hold zero bytes."""
HEADING_CHARS = 50_000
"""How far into a file a heading is looked for."""
MAX_TITLE_CHARS = 300
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.{0,10000}?)^(?:---|\.\.\.)[ \t\r]*$", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"^(title|date):[ \t]+(.+?)[ \t\r]*$", re.IGNORECASE | re.MULTILINE)


def pages_under(path: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[Page]:
    """The readable files of a folder, then of the folders in it, each by name; or the one file.

    Text, Markdown, reStructuredText, HTML, JSON and XML by their names' endings. Hidden files and folders, packages of other
    programs, binary, empty and too large files are left out, and so are symbolic links: what lies inside the folder is found
    on its own. Blocks while it reads.

    Raises:
        InvalidInput: there is no such file or folder, or the one file is of no readable kind.
    """
    place = _existing(path)
    found = (_page(file, max_bytes) for file in _listed(place))
    if place.is_dir():
        yield from (page for page in found if page is not None)
        return
    page = next(found, None)
    if page is None:
        raise _unreadable(path)
    yield page


class FileFolder(Folder):
    """The readable files of `pages_under`, listed without being read; a stamp holds a file's times and size."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._files: dict[str, Path] = {}

    @property
    def root(self) -> str:
        return address_of(self._path)

    def files(self) -> list[tuple[str, str]]:
        """Address and stamp of each file, in the order of `pages_under`.

        Raises:
            InvalidInput: there is no such file or folder, or the one file is of no readable kind.
        """
        place = _existing(self._path)
        self._files = {file.as_uri(): file for file in _listed(place)}
        if not self._files and not place.is_dir():
            raise _unreadable(self._path)
        return [(address, _stamp(file)) for address, file in self._files.items()]

    def page(self, address: str, /) -> Page | None:
        """The file as a page; None, with a word in the log, when it cannot be read as text."""
        return _page(self._files[address], self._max_bytes)


def _existing(path: Path) -> Path:
    place = path.expanduser().resolve()
    if not place.exists():
        raise InvalidInput(f"there is no file or folder {path}", hint="Check the path; it is read from the current folder.")
    return place


def _listed(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from _files(place)
    elif place.suffix.lower() in KINDS:
        yield place


def _unreadable(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} is no readable text", hint=f"Give a folder, or a text file ending in {' '.join(KINDS)}.")


def _stamp(file: Path) -> str:
    """Also the time of the last change of the entry itself, which nobody can set back."""
    try:
        found = file.lstat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_ctime_ns}-{found.st_size}"


def address_of(path: Path) -> str:
    """The `file://` address under which a file is kept, or below which the files of a folder are."""
    return path.expanduser().resolve().as_uri()


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder, onerror=_skipped):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in KINDS:
                yield Path(where, name)


def _page(file: Path, max_bytes: int) -> Page | None:
    """The file as a page; None, with a word in the log, when it cannot be read as text."""
    try:
        body = _body(file, max_bytes)
    except OSError as error:
        _skipped(error)
        return None
    return None if body is None else _read(file, body)


def _body(file: Path, max_bytes: int) -> bytes | None:
    """The bytes of a regular text file; a link, a device or a pipe is never opened."""
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode) or not found.st_size:
        return None
    if found.st_size > max_bytes:
        logging.getLogger(__name__).warning("left out, larger than %d bytes: %s", max_bytes, file)
        return None
    with file.open("rb") as stream:
        body = stream.read(max_bytes)
    return None if b"\0" in body[:SNIFFED_BYTES] and not body.startswith(WIDE_SIGNATURES) else body


def _skipped(error: OSError) -> None:
    logging.getLogger(__name__).warning("left out, %s: %s", error.strerror, error.filename)


def _read(file: Path, body: bytes) -> Page | None:
    """The text as a page; None when it is blank."""
    from websearch_adapters.extract.charset import decode

    text, _ = decode(body)
    if not text.strip():
        return None
    kind = KINDS[file.suffix.lower()]
    return _html_page(file, text) if kind == "html" else _text_page(file, text, kind)


def _changed_at(file: Path) -> str:
    """When the file got the text that it has; for a question about recent pages this is its age."""
    return stamp(datetime.fromtimestamp(file.lstat().st_mtime, UTC))


def _html_page(file: Path, text: str) -> Page | None:
    """The content of the page as Markdown; None when it has none."""
    from websearch_adapters.extract.html import read_html

    try:
        read = read_html(text, file.as_uri())
    except NotAllowed as error:
        logging.getLogger(__name__).warning("left out, %s: %s", error.message, file)
        return None
    if not read.markdown.strip():
        return None
    return Page(
        url=file.as_uri(),
        title=(read.title or file.stem)[:MAX_TITLE_CHARS],
        text=read.markdown,
        kind="html",
        provider="library",
        published=read.published,
        language=read.language,
        fetched_at=_changed_at(file),
    )


def _text_page(file: Path, text: str, kind: str) -> Page:
    """Verbatim. Title and day come from front matter, then the title from the first heading, then from the file's name."""
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
