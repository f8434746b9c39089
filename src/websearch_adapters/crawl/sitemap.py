"""Sitemaps: lists of addresses that a site publishes about itself, in XML, gzipped XML, plain text, RSS or Atom.

Files are read while they come in, damaged ones up to the damage. Entities are refused outright, and everything has an end: size,
number of addresses, number of files, levels of nesting.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from websearch_core import urls
from websearch_core.errors import BadReply, NotAllowed, ProviderError

if TYPE_CHECKING:
    from lxml.etree import _Element

    from websearch_adapters.http.pages import Admit, PageClient

__all__ = ["SitemapFile", "SitemapReader", "Sitemaps", "read_sitemap"]

MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_FILE_URLS = 50_000
MAX_FILES = 30
MAX_LEVELS = 3
MAX_URLS = 10_000
ACCEPT = "application/xml, text/xml, */*;q=0.5"
PIECE_BYTES = 64 * 1024
"""What is parsed at once; it takes two to five milliseconds."""
SNIFFED_BYTES = 4
BLANK = b"\xef\xbb\xbf \t\r\n"
"""What may stand before the beginning: a byte order mark and blanks."""
MAX_LINE_BYTES = 8_192
LONGEST_MARK = 14
"""Bytes of the longest reference, and more than of `<!ENTITY`."""
GZIP = b"\x1f\x8b"
WIDE = (b"\xff\xfe", b"\xfe\xff")
"""Of UTF-16, in which an ampersand is two bytes."""
ROOTS = frozenset({"urlset", "sitemapindex", "rss", "feed", "rdf"})
CONTAINERS = frozenset({"url", "sitemap", "item", "entry"})
_BARE_AMPERSAND = re.compile(rb"&(?!#?[A-Za-z0-9]{1,10};)")
"""In addresses that nobody escaped; a parser would drop the rest of the parameter."""


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
        self._room = MAX_FILE_BYTES
        self._truncated = False

    @property
    def is_full(self) -> bool:
        """No more is taken from this file."""
        return self._truncated

    @property
    def held_bytes(self) -> int:
        """What waits for the next piece: the beginning of a line, of a reference, or of the file."""
        return len(self._head) + (self._form.held_bytes if self._form is not None else 0)

    def feed(self, piece: bytes) -> Iterator[None]:
        """Read the next bytes of the file, in steps of at most 64 KiB, between which others may work.

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
            if self._count > MAX_FILE_URLS:
                self._truncated = True
                return
            address = urls.absolute(self._url, text)
            if address is not None:
                (self._nested if kind == "sitemap" else self._pages)[address] = None


class Sitemaps:
    """Walks the sitemaps of a site; what was found so far is there at any time."""

    def __init__(
        self,
        pages: PageClient,
        keep: Callable[[str], bool],
        *,
        key: Callable[[str], str] = urls.canonical,
        admit: Admit | None = None,
        most_pages: int = MAX_URLS,
        most_files: int = MAX_FILES,
    ) -> None:
        """`keep` says which pages count and `key` which are the same; both are called in a worker thread.

        `admit` is asked before each request; a sitemap that it refuses counts as unreadable.
        """
        self._pages = pages
        self._keep = keep
        self._key = key
        self._admit = admit
        self._most_pages = most_pages
        self._most_files = most_files
        self._seen: set[str] = set()
        self.found: dict[str, str] = {}
        """Pages in the order of the files, key to address."""
        self.unreadable: list[str] = []
        """Addresses of sitemaps that exist, but cannot be read."""
        self.truncated = False
        """There is more than was read."""

    async def read(self, addresses: Iterable[str], *, promised: bool = True, level: int = 1) -> None:
        """Read these sitemaps and what they lead to. `promised`: one that is missing counts as unreadable."""
        for address in addresses:
            if address in self._seen:
                continue
            if len(self._seen) >= self._most_files or len(self.found) >= self._most_pages:
                self.truncated = True
                return
            self._seen.add(address)
            file, kept = await self._file(address, promised=promised)
            self._take(file, kept)
            if level < MAX_LEVELS:
                await self.read(file.nested, level=level + 1)
            elif file.nested:
                self.truncated = True

    async def _file(self, address: str, *, promised: bool) -> tuple[SitemapFile, dict[str, str]]:
        try:
            if self._admit is not None:
                await self._admit(address)
            file = await self._streamed(address)
        except (ProviderError, NotAllowed):
            if promised:
                self.unreadable.append(address)
            return SitemapFile(), {}
        return file, await asyncio.to_thread(self._kept, file)

    async def _streamed(self, address: str) -> SitemapFile:
        """Read while it comes in, a piece of some milliseconds at a time: the parser must not wander between threads."""
        opened = self._pages.stream(address, accept=ACCEPT, max_bytes=MAX_FILE_BYTES, admit=self._admit)
        async with opened as (final_url, pieces):
            reader = SitemapReader(final_url)
            async for piece in pieces:
                for _ in reader.feed(piece):
                    await asyncio.sleep(0)
                if reader.is_full:
                    break
        return reader.close()

    def _kept(self, file: SitemapFile) -> dict[str, str]:
        return {self._key(page): page for page in file.pages if self._keep(page)}

    def _take(self, file: SitemapFile, kept: dict[str, str]) -> None:
        self.truncated = self.truncated or file.truncated
        for key, address in kept.items():
            if len(self.found) >= self._most_pages:
                self.truncated = True
                return
            self.found.setdefault(key, address)


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
        self._rest = rest[: MAX_LINE_BYTES + 1]  # what is longer is no address, and adding to it for ever would cost its square
        return self._addresses(lines)

    def close(self) -> tuple[list[tuple[str, str]], bool]:
        found = self._addresses([self._rest])
        if not self._found:
            raise BadReply("the sitemap is not one: it lists no address")
        return found, True

    def _addresses(self, lines: Iterable[bytes]) -> list[tuple[str, str]]:
        texts = (line.decode("utf-8-sig", "replace").strip() for line in lines if len(line) <= MAX_LINE_BYTES)
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
