"""Sitemaps: lists of addresses that a site publishes about itself, in XML, gzipped XML, plain text, RSS or Atom.

Files are read piece by piece, damaged ones up to the damage. Entities are refused outright, and addresses have an end: in
length and in number. Elements that are none of a sitemap's have none but the limits of the process that reads them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from websearch_core import urls
from websearch_core.errors import BadReply

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_FILE_URLS",
    "SNIFFED_HEAD_BYTES",
    "SitemapFile",
    "may_be_sitemap",
    "read_sitemap",
]

MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_FILE_URLS = 50_000
MAX_ADDRESS_CHARS = 8_192
"""What is longer is no address."""
MAX_CHARS = 10_000_000
"""Of the addresses of one file together; beyond it the file goes on."""
PIECE_BYTES = 64 * 1024
"""What is inflated and parsed at once."""
MARK = b"\xef\xbb\xbf"
BLANK = MARK + b" \t\r\n"
"""What may stand before the beginning: a byte order mark and blanks."""
LONGEST_MARK = 14
"""Bytes of the longest reference, and more than of `<!ENTITY`."""
GZIP = b"\x1f\x8b"
WIDE = (b"\xff\xfe", b"\xfe\xff")
"""Of UTF-16, in which an ampersand is two bytes."""
ROOTS = frozenset({"urlset", "sitemapindex", "rss", "feed", "rdf"})
CONTAINERS = frozenset({"url", "sitemap", "item", "entry"})
_BARE_AMPERSAND = re.compile(rb"&(?!#?[A-Za-z0-9]{1,10};)")
"""In addresses that nobody escaped; a parser would drop the rest of the parameter."""
SNIFFED_HEAD_BYTES = 65_536
_ROOT = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:urlset|sitemapindex|rss|feed|rdf)[\s/>]", re.IGNORECASE)


def may_be_sitemap(head: bytes) -> bool:
    """Whether a file that begins like this can be one; by its first 64 KiB nobody has to load a large page that is none."""
    text = head.lstrip(BLANK)
    if text.startswith(b"<"):
        return _ROOT.search(text) is not None
    return head.startswith((GZIP, *WIDE)) or b"http" in text


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapFile:
    """One file as read, in its own order."""

    pages: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    """Addresses of further sitemaps."""
    truncated: bool = False
    """The file goes on beyond what is read of one."""


def read_sitemap(body: bytes, url: str, *, piece_bytes: int = PIECE_BYTES) -> SitemapFile:
    """Read the sitemap that came from `url`; of one that is cut, everything but the address at the cut.

    Raises:
        BadReply: not a sitemap, damaged before its first address, or it declares entities.
    """
    plain, kept = _Plain(body, piece_bytes), _Kept(url)
    form: _Lines | _Elements | None = None
    for piece in plain:
        if form is None and piece.strip(BLANK):
            form = _Elements() if piece.lstrip(BLANK).startswith((b"<", *WIDE)) else _Lines()
        if form is not None:
            kept.take(form.feed(piece))
        if kept.full:
            break
    if form is None:
        raise BadReply("the sitemap is not one: it is empty")
    found, whole = form.close()
    kept.take(found)
    truncated = kept.full or plain.cut or not whole
    return SitemapFile(pages=tuple(kept.pages), nested=tuple(kept.nested), truncated=truncated)


class _Plain:
    """The bytes of a file behind a layer of gzip, if there is one, in pieces; at most 50 MiB."""

    def __init__(self, body: bytes, piece_bytes: int) -> None:
        self._body = body
        self._piece_bytes = piece_bytes
        self.cut = False
        """Known after the last piece: there is more of it, or the gzip has no end."""

    def __iter__(self) -> Iterator[bytes]:
        if self._body.startswith(GZIP):
            yield from self._inflated()
            return
        self.cut = len(self._body) > MAX_FILE_BYTES
        yield from self._pieces(min(len(self._body), MAX_FILE_BYTES))

    def _pieces(self, most: int) -> Iterator[bytes]:
        return (self._body[at : min(at + self._piece_bytes, most)] for at in range(0, most, self._piece_bytes))

    def _inflated(self) -> Iterator[bytes]:
        inflate, room = zlib.decompressobj(31), MAX_FILE_BYTES
        for packed in self._pieces(len(self._body)):
            rest, plain = packed, b""
            while not inflate.eof and room > 0 and (rest or plain):
                try:
                    plain = inflate.decompress(rest, min(self._piece_bytes, room))
                except zlib.error as error:
                    raise BadReply("the sitemap does not decompress") from error
                rest = inflate.unconsumed_tail
                room -= len(plain)
                yield plain
            if inflate.eof or room <= 0:
                break
        self.cut = not inflate.eof


class _Kept:
    """The addresses of a file, each once and in its order, until there are too many."""

    def __init__(self, url: str) -> None:
        """`url` is where the file came from."""
        self.pages: dict[str, None] = {}
        self.nested: dict[str, None] = {}
        self.full = False
        self._url = url
        self._count = 0
        self._chars = 0

    def take(self, found: Iterable[tuple[str, str]]) -> None:
        for kind, text in found:
            self._count += 1
            self._chars += len(text)
            if self._count > MAX_FILE_URLS or self._chars > MAX_CHARS:
                self.full = True
                return
            address = urls.absolute(self._url, text) if len(text) <= MAX_ADDRESS_CHARS else None
            if address is not None:
                (self.nested if kind == "sitemap" else self.pages)[address] = None


class _Lines:
    """A text sitemap has one address a line."""

    def __init__(self) -> None:
        self._rest = b""
        self._found = False

    def feed(self, piece: bytes) -> list[tuple[str, str]]:
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[
            : MAX_ADDRESS_CHARS + 1
        ]  # what is longer is no address, and adding to it for ever would cost its square
        return self._addresses(lines)

    def close(self) -> tuple[list[tuple[str, str]], bool]:
        found = self._addresses([self._rest])
        if not self._found:
            raise BadReply("the sitemap is not one: it lists no address")
        return found, True

    def _addresses(self, lines: Iterable[bytes]) -> list[tuple[str, str]]:
        texts = (line.decode("utf-8-sig", "replace").strip() for line in lines if len(line) <= MAX_ADDRESS_CHARS)
        found = [("url", text) for text in texts if urls.is_web_url(text)]
        self._found = self._found or bool(found)
        return found


class _Elements:
    """XML: container and address, whatever namespace and letter case it uses; what was read is freed at once."""

    def __init__(self) -> None:
        from lxml import etree

        self._parser = etree.XMLPullParser(
            events=("start", "end"), recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True
        )
        self._begun = False
        self._wide = False
        self._first = True
        self._rest = b""
        self._end = b""

    def feed(self, piece: bytes) -> list[tuple[str, str]]:
        if self._first:
            # Behind blanks a declaration is a fault to libxml2, after which it drops each `&amp;`.
            piece, self._first = _at_once(piece), False
            self._wide = piece.startswith(WIDE)
        self._end = (self._end + piece.rstrip(b"\x00 \t\r\n"))[-1:] if piece.strip(b"\x00 \t\r\n") else self._end
        return self._parsed(self._escaped(piece))

    def close(self) -> tuple[list[tuple[str, str]], bool]:
        """The last addresses, and whether the file ended in a tag; the address at a cut is left out."""
        from lxml import etree

        found = self._parsed(self._rest)
        whole = self._end == b">"
        with suppress(etree.XMLSyntaxError):
            self._parser.close()
        found += list(self._events()) if whole else []
        if not self._begun:
            raise BadReply("the sitemap is not XML")
        return found, whole

    def _escaped(self, piece: bytes) -> bytes:
        """With bare ampersands escaped; a tail in which a reference or a declaration may be cut waits for the next piece."""
        if self._wide:
            return piece
        piece = self._rest + piece
        cut = max(piece.rfind(mark, len(piece) - LONGEST_MARK) for mark in (b"&", b"<!"))
        piece, self._rest = (piece[:cut], piece[cut:]) if cut >= 0 else (piece, b"")
        if b"<!ENTITY" in piece or b"<!ENTITY" in self._rest:
            raise BadReply("the sitemap declares entities")
        return _BARE_AMPERSAND.sub(b"&amp;", piece)

    def _parsed(self, piece: bytes) -> list[tuple[str, str]]:
        from lxml import etree

        try:
            self._parser.feed(piece)
        except etree.XMLSyntaxError as error:
            if not self._begun:
                raise BadReply("the sitemap is not XML") from error
        return list(self._events())

    def _events(self) -> Iterator[tuple[str, str]]:
        events = cast("Iterator[tuple[str, _Element]]", self._parser.read_events())
        for event, element in events:
            name = _name(element)
            if event == "start":
                if not self._begun and name not in ROOTS:
                    raise BadReply("the sitemap is not one: its root is something else")
                self._begun = True
            elif name in CONTAINERS:
                address = _address(element)
                if address:
                    yield name, address
                _free(element)


def _at_once(piece: bytes) -> bytes:
    """The beginning of a file without the blanks before and behind its byte order mark."""
    return (MARK if piece.strip(b" \t\r\n").startswith(MARK) else b"") + piece.lstrip(BLANK)


def _address(container: _Element) -> str:
    """`loc` of a sitemap, beside which `link` names translations; `link` of a feed as text or attribute.

    Images and videos have theirs one level deeper.
    """
    wanted = "loc" if _name(container) in {"url", "sitemap"} else "link"
    for child in container:
        if _name(child) == wanted and child.get("rel", "alternate") == "alternate":
            found = (child.get("href") or child.text or "").strip()
            if found:
                return found
    return ""


def _free(element: _Element) -> None:
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _name(element: _Element) -> str:
    tag: object = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""
