"""The built-in reader: fetches a page, finds out what it is, and reads it without any key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from websearch_adapters.extract.reading import NAME, Document, failure
from websearch_core.errors import Unreachable
from websearch_core.values import FetchRequest, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from websearch_adapters.extract.reading import Reading
    from websearch_adapters.extract.worker import Worker
    from websearch_adapters.http.pages import Fetched, PageClient

__all__ = ["LocalReader"]

MAX_MOVES = 3


class LocalReader:
    """Reads HTML, Markdown, text, JSON, XML, feeds, office documents, books and, with the extra `pdf`, PDF."""

    selects = True

    def __init__(self, pages: PageClient, worker: Worker, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._pages = pages
        self._worker = worker
        self._now = now

    @property
    def name(self) -> str:
        return NAME

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """The whole page; parsed in a process of its own, which a cancelled call does not leave behind.

        Raises:
            ProviderError: unreachable, refused, no text (EmptyResult), a page that a script would fill (NeedsRendering), one that
                takes too much to read (TooCostly), a check for humans (Blocked), a file of another kind (Declined), no such page
                by its status or by its own words (NotFound).
            NotAllowed: policy forbids the address or the size.
            NotConfigured: this system lets no process be started.
            InvalidInput: the selector cannot be read or finds nothing.
        """
        self._worker.warm()
        fetched, reading = await self._read(request.url, request.selector)
        return Page(
            url=request.url,
            final_url=fetched.final_url,
            title=reading.title,
            text=reading.text,
            kind=reading.kind,
            provider=NAME,
            published=reading.published,
            author=reading.author,
            canonical=reading.canonical,
            language=reading.language,
            notes=reading.notes,
            fetched_at=self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    async def _read(self, url: str, selector: str) -> tuple[Fetched, Reading]:
        """The page and its text; of the page that it sends to, where it does nothing else."""
        for _ in range(MAX_MOVES + 1):
            fetched = await self._pages.get(url)
            document = Document(
                body=fetched.body,
                url=fetched.final_url,
                content_type=fetched.content_type,
                status=fetched.status,
                selector=selector,
            )
            reading = await self._worker.read(document)
            if not reading.moved_to:
                return fetched, reading
            url = reading.moved_to
        last = Document(body=b"", url=url)
        raise failure(Unreachable, last, f"sends from page to page more than {MAX_MOVES} times", "Use another address.")
