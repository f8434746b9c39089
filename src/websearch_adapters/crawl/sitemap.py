"""Sitemaps: lists of addresses that a site publishes about itself, in XML, gzipped XML, plain text, RSS or Atom.

Files are read as streams, damaged ones up to the damage. Entities are refused outright, and everything has an end: size,
number of addresses, number of files, levels of nesting.
"""

from __future__ import annotations

import asyncio
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from websearch_adapters.extract.charset import decode
from websearch_core import urls
from websearch_core.errors import BadReply, NotAllowed, ProviderError

if TYPE_CHECKING:
    from lxml.etree import _Element

    from websearch_adapters.http.pages import Fetched, PageClient

__all__ = ["SitemapFile", "Sitemaps", "read_sitemap"]

MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_FILE_URLS = 50_000
MAX_FILES = 30
MAX_LEVELS = 3
MAX_URLS = 10_000
GZIP = b"\x1f\x8b"
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
    body, truncated = _unpacked(body)
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return _listed(_lines(body), url, truncated=truncated)
    if b"<!ENTITY" in body:
        raise BadReply("the sitemap declares entities")
    whole = body.rstrip(b"\x00 \t\r\n").endswith(b">")
    found = list(islice(_elements(_BARE_AMPERSAND.sub(b"&amp;", body)), MAX_FILE_URLS + 1))
    return _listed(found if whole else found[:-1], url, truncated=truncated or not whole)


class Sitemaps:
    """Walks the sitemaps of a site; what was found so far is there at any time."""

    def __init__(self, pages: PageClient, keep: Callable[[str], bool]) -> None:
        """`keep` says which pages count; it is called in a worker thread."""
        self._pages = pages
        self._keep = keep
        self._seen: set[str] = set()
        self.found: dict[str, str] = {}
        """Pages in the order of the files, canonical form to address; at most 10,000."""
        self.unreadable: list[str] = []
        """Addresses of sitemaps that exist, but cannot be read."""
        self.truncated = False
        """There is more than was read."""

    async def read(self, addresses: Iterable[str], *, promised: bool = True, level: int = 1) -> None:
        """Read these sitemaps and what they lead to. `promised`: one that is missing counts as unreadable."""
        for address in addresses:
            if address in self._seen:
                continue
            if len(self._seen) >= MAX_FILES or len(self.found) >= MAX_URLS:
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
            reply = await self._pages.get(address, accept="application/xml, text/xml, */*;q=0.5", max_bytes=MAX_FILE_BYTES)
            return await asyncio.to_thread(self._read, reply)
        except (ProviderError, NotAllowed):
            if promised:
                self.unreadable.append(address)
            return SitemapFile(), {}

    def _read(self, reply: Fetched) -> tuple[SitemapFile, dict[str, str]]:
        file = read_sitemap(reply.body, reply.final_url)
        return file, {urls.canonical(page): page for page in file.pages if self._keep(page)}

    def _take(self, file: SitemapFile, kept: dict[str, str]) -> None:
        self.truncated = self.truncated or file.truncated
        for key, address in kept.items():
            if len(self.found) >= MAX_URLS:
                self.truncated = True
                return
            self.found.setdefault(key, address)


def _unpacked(body: bytes) -> tuple[bytes, bool]:
    if not body.startswith(GZIP):
        return body, False
    inflate = zlib.decompressobj(31)
    try:
        unpacked = inflate.decompress(body, MAX_FILE_BYTES)
    except zlib.error as error:
        raise BadReply("the sitemap does not decompress") from error
    return unpacked, not inflate.eof


def _listed(found: Iterable[tuple[str, str]], url: str, *, truncated: bool) -> SitemapFile:
    pages: dict[str, None] = {}
    nested: dict[str, None] = {}
    for kind, text in found:
        address = urls.absolute(url, text)
        if address is None:
            continue
        if len(pages) >= MAX_FILE_URLS:
            truncated = True
            break
        (nested if kind == "sitemap" else pages)[address] = None
    return SitemapFile(pages=tuple(pages), nested=tuple(nested), truncated=truncated)


def _lines(body: bytes) -> Iterator[tuple[str, str]]:
    """A text sitemap has one address a line."""
    lines = decode(body)[0].splitlines()
    found = [line.strip() for line in lines if urls.is_web_url(line.strip())]
    if not found:
        raise BadReply("the sitemap is not one: it lists no address")
    yield from (("url", line) for line in found)


def _elements(body: bytes) -> Iterator[tuple[str, str]]:
    """Container and address, whatever namespace and letter case the file uses; what was read is freed at once."""
    from lxml import etree

    begun = False
    parser = etree.iterparse(
        io.BytesIO(body), events=("start", "end"), recover=True, resolve_entities=False, no_network=True, load_dtd=False
    )
    try:
        for event, element in parser:
            name = _name(element)
            if event == "start":
                if not begun and name not in {"urlset", "sitemapindex", "rss", "feed", "rdf"}:
                    raise BadReply("the sitemap is not one: its root is something else")
                begun = True
            elif name in CONTAINERS:
                address = _address(element)
                if address:
                    yield name, address
                _free(element)
    except etree.XMLSyntaxError as error:
        if not begun:
            raise BadReply("the sitemap is not XML") from error
    if not begun:
        raise BadReply("the sitemap is not XML")


def _address(container: _Element) -> str:
    """`loc` of a sitemap, `link` of a feed as text or attribute; images and videos have theirs one level deeper."""
    for child in container:
        if _name(child) in {"loc", "link"}:
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
