"""EPUB books as Markdown: the chapters in the order of the spine, by EPUB 3.3 and 2.0.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from websearch_adapters.extract.package import (
    DamagedError,
    LockedError,
    Package,
    attribute,
    children,
    first,
    name_of,
    resolved,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lxml.etree import _Element

__all__ = ["Book", "read_book"]

MAX_CHARS = 5_000_000
CHAPTERS = frozenset({"application/xhtml+xml", "text/html"})
FONTS = ("font", "obfuscation")
"""Embedded fonts may be scrambled in a book that is open otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book as read."""

    text: str
    about: Mapping[str, str]
    """What it says about itself, by the names of Dublin Core."""
    cut: str = ""
    """What was left out because there is too much of it."""


def read_book(package: Package, url: str) -> Book:
    """The chapters of a book, joined.

    Raises:
        DamagedError: there is no list of chapters.
        LockedError: the chapters are encrypted.
    """
    if _locked(package.xml("META-INF/encryption.xml")):
        raise LockedError
    place = attribute(first(package.xml("META-INF/container.xml"), "rootfiles", "rootfile"), "full-path")
    book = package.xml(place)
    if book is None:
        raise DamagedError
    items = {attribute(item, "id"): item for item in children(first(book, "manifest"), "item")}
    spine = [items.get(attribute(one, "idref")) for one in children(first(book, "spine"), "itemref")]
    chapters = [resolved(place, attribute(item, "href")) for item in spine if attribute(item, "media-type") in CHAPTERS]
    texts, chars = list[str](), 0
    for at, name in enumerate(chapters):
        if chars > MAX_CHARS:
            return Book(text="\n\n".join(texts), about=_about(book), cut=f"only the first {at} of {len(chapters)} chapters")
        texts.append(_chapter(package.read(name), url))
        chars += len(texts[-1])
    return Book(text="\n\n".join(filter(None, texts)), about=_about(book))


def _chapter(body: bytes, url: str) -> str:
    """All of the chapter: in a book there is no frame around the content."""
    from websearch_adapters.extract import content, markdown
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.markup import parse

    root = parse(decode(body, "application/xhtml+xml")[0])
    return markdown.render(content.stripped(root), url) if root is not None else ""


def _locked(encryption: _Element | None) -> bool:
    """Whether anything but fonts is encrypted."""
    references = [one for one in encryption.iter() if name_of(one) == "CipherReference"] if encryption is not None else []
    return any(not any(mark in attribute(one, "URI").lower() for mark in (".ttf", ".otf", ".woff", *FONTS)) for one in references)


def _about(book: _Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in children(first(book, "metadata"), "title", "date", "language"):
        found.setdefault(name_of(element), words(element))
    return found
