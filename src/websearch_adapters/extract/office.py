"""Reads office documents and books: Word, Excel, PowerPoint, OpenDocument and EPUB, each as Markdown.

One module for each family turns its XML into a tree of HTML; the Markdown writer of the web pages does the rest. Blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from websearch_adapters.extract.metadata import day
from websearch_adapters.extract.package import OfficeKind, Package, children, first, name_of, words

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = ["OfficeDocument", "read_office"]

MAX_TITLE_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficeDocument:
    """A document as read."""

    text: str
    title: str = ""
    published: str = ""
    """The day on which it was changed last, or made."""
    language: str = ""
    cut: str = ""
    """What was left out because there is too much of it; empty when nothing was."""


def read_office(body: bytes, kind: OfficeKind, url: str) -> OfficeDocument:
    """The text of a document that came from `url`.

    Raises:
        package.LockedError, package.DamagedError: there is nothing to read.
        NotAllowed: it unpacks to too much.
    """
    package = Package(body)
    if kind == "epub":
        return _book(package, url)
    content, cut = _content(package, kind)
    about = _properties(package, kind)
    from websearch_adapters.extract.markdown import render

    return OfficeDocument(
        text=render(content, url),
        title=about.get("title", "")[:MAX_TITLE_CHARS],
        published=day(about.get("modified", "") or about.get("date", "") or about.get("created", "")),
        language=about.get("language", ""),
        cut=cut,
    )


def _content(package: Package, kind: OfficeKind) -> tuple[_Element, str]:
    """The document as HTML, and what is missing."""
    if kind == "docx":
        from websearch_adapters.extract import docx

        return docx.content(package), ""
    if kind == "xlsx":
        from websearch_adapters.extract import xlsx

        return xlsx.content(package)
    if kind == "pptx":
        from websearch_adapters.extract import pptx

        return pptx.content(package), ""
    from websearch_adapters.extract import opendocument

    return opendocument.content(package)


def _book(package: Package, url: str) -> OfficeDocument:
    from websearch_adapters.extract import epub

    book = epub.read_book(package, url)
    about = book.about
    return OfficeDocument(
        text=book.text,
        title=about.get("title", "")[:MAX_TITLE_CHARS],
        published=day(about.get("date", "")),
        language=about.get("language", ""),
        cut=book.cut,
    )


def _properties(package: Package, kind: OfficeKind) -> dict[str, str]:
    """What the document says about itself, by the names of Dublin Core."""
    open_document = kind in {"odt", "ods", "odp"}
    root = package.xml("meta.xml" if open_document else "docProps/core.xml")
    fields = first(root, "meta") if open_document else root
    found: dict[str, str] = {}
    for element in children(fields, "title", "created", "modified", "date", "creation-date", "language"):
        found.setdefault(name_of(element).replace("creation-date", "created"), words(element))
    return found
