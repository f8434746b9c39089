"""Reads PDF by PDFium: text page by page, with the document's own bookmarks as headings.

The library comes with the extra `pdf`, weighs 9 MB, and is loaded when the first PDF comes. Blocks; hostile files are bounded by
the process that this runs in.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from websearch_adapters.extract.metadata import day

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["LockedError", "NoTextError", "PdfDocument", "UnreadableError", "read_pdf"]

MAX_PAGES = 2_000
MAX_CHARS = 5_000_000
TIME_S = 10.0
"""After so long the pages that were read are the result."""
SCANNED_CHARS = 8
"""Fewer characters a page, on average: pictures of text, perhaps with page numbers."""
MAX_BOOKMARKS = 2_000
RUNNING_PAGES = 6
"""In a document of at least so many pages, a first or last line that most pages share is a running head."""
RUNNING_SHARE = 0.6
MAX_TITLE_CHARS = 300
WRONG_PASSWORD = 4
"""PDFium's FPDF_ERR_PASSWORD."""
_SOFT_HYPHEN = re.compile(r"[\x02\ufffe](?:\r\n|\n)?")
_BREAK = re.compile(r"\r\n|[\r\f]")
_GAP = re.compile(r"\n{3,}")
_NUMBER = re.compile(r"\d+")
_MARK = re.compile(r"^([ \t]*)(#{1,6}(?=\s))", re.MULTILINE)
_DATE = re.compile(r"D:(\d{4})(\d{2})(\d{2})")


class LockedError(Exception):
    """The file asks for a password."""


class UnreadableError(Exception):
    """PDFium takes it for no PDF."""


class NoTextError(Exception):
    """The pages hold pictures only; the argument is their number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfDocument:
    """A PDF as read."""

    text: str
    title: str = ""
    published: str = ""
    pages: int = 0
    """In the file."""
    read: int = 0
    """As many of them, from the first on, were read."""
    blank: int = 0
    """As many of those have no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    level: int
    """From 1."""
    title: str


def read_pdf(body: bytes) -> PdfDocument:
    """The text of a PDF: each page behind its number, with headings where the file has bookmarks.

    A file without bookmarks has `## Page N` above each page, so that its pages can be asked for by name.

    Raises:
        ImportError: the extra is not installed.
        LockedError, UnreadableError, NoTextError: there is nothing to read.
    """
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        raise (LockedError if error.err_code == WRONG_PASSWORD else UnreadableError) from error
    try:
        return _read(pdf)
    except pypdfium2.PdfiumError as error:
        raise UnreadableError from error
    finally:
        pdf.close()


def _read(pdf: Any) -> PdfDocument:
    count = len(pdf)
    pages = list(_pages(pdf, count))
    blank = sum(1 for page in pages if not page)
    if sum(len(line) for page in pages for line in page) < SCANNED_CHARS * max(len(pages), 1):
        raise NoTextError(count)
    _drop_running_heads(pages)
    headings = _bookmarks(pdf)
    return PdfDocument(
        text=_GAP.sub("\n\n", "\n\n".join(_page(number, lines, headings) for number, lines in enumerate(pages, 1) if lines)),
        title=" ".join(_said(pdf, "Title").split())[:MAX_TITLE_CHARS],
        published=_day(_said(pdf, "CreationDate")),
        pages=count,
        read=len(pages),
        blank=blank,
    )


def _pages(pdf: Any, count: int) -> Iterator[list[str]]:
    """The lines of each page, as far as time and room go."""
    end, chars = time.monotonic() + TIME_S, 0
    for index in range(min(count, MAX_PAGES)):
        page = pdf[index]
        layer = page.get_textpage()
        text = layer.get_text_bounded(errors="replace")
        layer.close()
        page.close()
        lines = _lines(text)
        chars += sum(map(len, lines))
        yield lines
        if chars > MAX_CHARS or time.monotonic() > end:
            return


def _lines(text: str) -> list[str]:
    """The lines with their words; what was hyphenated at a line's end is whole again."""
    plain = _MARK.sub(r"\1\\\2", _BREAK.sub("\n", _SOFT_HYPHEN.sub("", text)))
    return [line for line in (line.rstrip() for line in plain.split("\n")) if line]


def _drop_running_heads(pages: Sequence[list[str]]) -> None:
    """Without titles and numbers that stand at the top or bottom of most pages, whatever number is in them."""
    if len(pages) < RUNNING_PAGES:
        return
    for place in (0, -1):
        shapes = [_NUMBER.sub("#", page[place]).strip() if len(page) > 1 else "" for page in pages]
        running = {shape for shape, times in Counter(shapes).items() if shape and times > RUNNING_SHARE * len(pages)}
        for page, shape in zip(pages, shapes, strict=True):
            if shape in running:
                del page[place]


def _bookmarks(pdf: Any) -> Mapping[int, list[_Heading]]:
    """The headings of each page, by its number."""
    found: defaultdict[int, list[_Heading]] = defaultdict(list)
    for at, mark in enumerate(pdf.get_toc(max_depth=6)):
        if at >= MAX_BOOKMARKS:
            break
        target = mark.get_dest()
        index = target.get_index() if target is not None else None
        title = " ".join(mark.get_title().split())[:MAX_TITLE_CHARS]
        if title and index is not None:
            found[index + 1].append(_Heading(level=min(mark.level + 1, 6), title=title))
    return found


def _page(number: int, lines: list[str], headings: Mapping[int, list[_Heading]]) -> str:
    if not headings:
        return "\n".join([f"## Page {number}\n", *lines])
    return "\n".join([f"[page {number}]\n", *_headed(lines, headings.get(number, ()))])


def _headed(lines: list[str], headings: Iterable[_Heading]) -> Iterator[str]:
    """The lines, each heading in the place where it stands on the page; one that is not found stands first."""
    places: defaultdict[int, list[_Heading]] = defaultdict(list)
    shapes = [_shape(line) for line in lines]
    start, replaced = 0, set[int]()
    for heading in headings:
        wanted = _shape(heading.title)
        at = next((at for at in range(start, len(lines)) if shapes[at] and shapes[at].endswith(wanted)), None)
        places[start if at is None else at].append(heading)
        if at is not None:
            replaced.add(at)
            start = at + 1
    for at, line in enumerate([*lines, ""]):
        yield from (f"\n{'#' * heading.level} {heading.title}\n" for heading in places[at])
        if at < len(lines) and at not in replaced:
            yield line


def _shape(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _said(pdf: Any, name: str) -> str:
    return str(pdf.get_metadata_value(name))


def _day(stamp: str) -> str:
    match = _DATE.match(stamp)
    return day("-".join(match.groups())) if match else ""
