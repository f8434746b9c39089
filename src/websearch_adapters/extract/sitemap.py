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
    "SitemapReader",
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
SNIFFED_BYTES = 4
BLANK = b"\xef\xbb\xbf \t\r\n"
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


def read_sitemap(body: bytes, url: str) -> SitemapFile:
    """Read the sitemap that came from `url`; of one that is cut, everything but the address at the cut.

    Raises:
        BadReply: not a sitemap, damaged before its first address, or it declares entities.
    """
    reader = SitemapReader(url)
    for _ in reader.feed(body):
        pass
    return reader.close()


class SitemapReader:
    """Reads one sitemap piece by piece; keeps nothing of it but the addresses."""

    def __init__(self, url: str) -> None:
        """`url` is where it came from."""
        self._url = url
        self._pages: dict[str, None] = {}
        self._nested: dict[str, None] = {}
        self._inflate: zlib._Decompress | None = None
        self._form: _Lines | _Elements | None = None
        self._head = b""
        self._count = 0
        self._chars = 0
        self._room = MAX_FILE_BYTES
        self._truncated = False

    @property
    def held_bytes(self) -> int:
        """What waits for the next piece: the beginning of a line, of a reference, or of the file."""
        return len(self._head) + (self._form.held_bytes if self._form is not None else 0)

    def feed(self, piece: bytes) -> Iterator[None]:
        """Read the next bytes of the file, in steps of at most 64 KiB.

        Raises:
            BadReply: as with `read_sitemap`.
        """
        if self._form is None and self._inflate is None:
            piece, self._head = self._head + piece, b""
            if len(piece) < SNIFFED_BYTES:
                self._head = piece
                return
            if piece.startswith(GZIP):
                self._inflate = zlib.decompressobj(31)
        for plain in self._unpacked(piece):
            self._read(plain)
            yield
            if self._truncated:
                return

    def close(self) -> SitemapFile:
        """What was found.

        Raises:
            BadReply: as with `read_sitemap`.
        """
        rest, self._head = self._head, b""
        self._read(rest)
        if self._form is None:
            raise BadReply("the sitemap is not one: it is empty")
        self._truncated = self._truncated or (self._inflate is not None and not self._inflate.eof)
        found, whole = self._form.close()
        self._take(found)
        return SitemapFile(pages=tuple(self._pages), nested=tuple(self._nested), truncated=self._truncated or not whole)

    def _unpacked(self, piece: bytes) -> Iterator[bytes]:
        """The bytes behind a layer of gzip, if there is one, in pieces of bounded size."""
        for at in range(0, len(piece), PIECE_BYTES):
            yield from self._inflated(piece[at : at + PIECE_BYTES])
            if self._room <= 0:
                self._truncated = True
                return

    def _inflated(self, piece: bytes) -> Iterator[bytes]:
        while piece and self._room > 0:
            if self._inflate is None:
                plain, piece = piece[: self._room], b""
            else:
                try:
                    plain = self._inflate.decompress(piece, min(PIECE_BYTES, self._room))
                except zlib.error as error:
                    raise BadReply("the sitemap does not decompress") from error
                piece = self._inflate.unconsumed_tail
            self._room -= len(plain)
            yield plain

    def _read(self, piece: bytes) -> None:
        if self._form is None:
            piece, self._head = self._head + piece, b""
            if not piece.strip(BLANK):
                self._head = piece[-len(BLANK) :]
                return
            self._form = _Elements() if piece.lstrip(BLANK).startswith((b"<", *WIDE)) else _Lines()
        self._take(self._form.feed(piece))

    def _take(self, found: Iterable[tuple[str, str]]) -> None:
        for kind, text in found:
            self._count += 1
            self._chars += len(text)
            if self._count > MAX_FILE_URLS or self._chars > MAX_CHARS:
                self._truncated = True
                return
            if len(text) > MAX_ADDRESS_CHARS:
                continue
            address = urls.absolute(self._url, text)
            if address is not None:
                (self._nested if kind == "sitemap" else self._pages)[address] = None


class _Lines:
    """A text sitemap has one address a line."""

    def __init__(self) -> None:
        self._rest = b""
        self._found = False

    @property
    def held_bytes(self) -> int:
        return len(self._rest)

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

    @property
    def held_bytes(self) -> int:
        return len(self._rest)

    def feed(self, piece: bytes) -> list[tuple[str, str]]:
        if self._first:
            piece, self._first = piece.lstrip(b" \t\r\n"), False
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
