"""The walk over the sitemaps of a site: which files are asked for, in which order, and when it is enough.

What a file lists is read in the process that reads pages (`extract.sitemap`); everything has an end: size, number of addresses,
number of files, levels of nesting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING

from websearch_adapters.extract.reading import Document
from websearch_adapters.extract.sitemap import (
    MAX_FILE_BYTES,
    MAX_FILE_URLS,
    SNIFFED_HEAD_BYTES,
    SitemapFile,
    may_be_sitemap,
)
from websearch_core import urls
from websearch_core.errors import BadReply, NotAllowed, ProviderError

if TYPE_CHECKING:
    from websearch_adapters.extract.worker import Worker
    from websearch_adapters.http.pages import Admit, PageClient

__all__ = ["MAX_FILES", "MAX_URLS", "Sitemaps"]

MAX_FILES = 30
MAX_LEVELS = 3
MAX_URLS = 10_000
ACCEPT = "application/xml, text/xml, */*;q=0.5"
ADDRESS_END = b"</loc>"


class Sitemaps:
    """Walks the sitemaps of a site; what was found so far is there at any time."""

    def __init__(
        self,
        pages: PageClient,
        worker: Worker,
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
        self._worker = worker
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
            file = await self._read_file(address)
        except (ProviderError, NotAllowed):
            if promised:
                self.unreadable.append(address)
            return SitemapFile(), {}
        return file, await asyncio.to_thread(self._kept, file)

    async def _read_file(self, address: str) -> SitemapFile:
        """What the file lists."""
        self._worker.warm()
        opened = self._pages.stream(address, accept=ACCEPT, max_bytes=MAX_FILE_BYTES, admit=self._admit)
        async with opened as (final_url, pieces):
            body = await _taken(pieces)
        head, text = await self._worker.ask("sitemap", Document(body=body, url=final_url))
        addresses = text.decode("utf-8", "surrogatepass").split("\n") if text else []
        pages, nested = addresses[: head["pages"]], addresses[head["pages"] :]
        return SitemapFile(pages=tuple(pages), nested=tuple(nested), truncated=head["truncated"])

    def _kept(self, file: SitemapFile) -> dict[str, str]:
        return {self._key(page): page for page in file.pages if self._keep(page)}

    def _take(self, file: SitemapFile, kept: dict[str, str]) -> None:
        self.truncated = self.truncated or file.truncated
        for key, address in kept.items():
            if len(self.found) >= self._most_pages:
                self.truncated = True
                return
            self.found.setdefault(key, address)


async def _taken(pieces: AsyncIterator[bytes]) -> bytes:
    """The body, as far as it is read: no further once it lists more than is taken of a file.

    Raises:
        BadReply: it does not begin like a sitemap.
    """
    parts, size, listed, sniffed = list[bytes](), 0, 0, False
    async for piece in pieces:
        parts.append(piece)
        size += len(piece)
        listed += piece.count(ADDRESS_END)
        if size >= SNIFFED_HEAD_BYTES and not sniffed:
            sniffed = True
            if not may_be_sitemap(b"".join(parts)):
                raise BadReply("the sitemap is not one: it begins like something else")
        if listed > MAX_FILE_URLS:
            break
    return b"".join(parts)
