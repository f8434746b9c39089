"""The built-in reader: fetches a page, finds out what it is, and reads it without any key."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from websearch_core import urls
from websearch_core.errors import BadReply, Declined, EmptyResult, ProviderError
from websearch_core.values import FetchRequest, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from websearch_adapters.extract.text import Kind
    from websearch_adapters.http.pages import Fetched, PageClient

__all__ = ["LocalReader"]

NAME = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A body as read."""

    kind: str
    text: str
    title: str = ""
    published: str = ""
    language: str = ""


class LocalReader:
    """Reads HTML, Markdown, text, JSON, XML and feeds."""

    def __init__(self, pages: PageClient, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._pages = pages
        self._now = now

    @property
    def name(self) -> str:
        return NAME

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """The whole page; parsed in a worker thread.

        Raises:
            ProviderError: unreachable, refused, no text (EmptyResult), a page that a script would fill (BadReply), a check for
                humans or a file of another kind (Declined).
            NotAllowed: policy forbids the address or the size.
        """
        fetched = await self._pages.get(request.url)
        reading = await asyncio.to_thread(_read, fetched)
        return Page(
            url=request.url,
            final_url=fetched.final_url,
            title=reading.title,
            text=reading.text,
            kind=reading.kind,
            provider=NAME,
            published=reading.published,
            language=reading.language,
            fetched_at=self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        )


def _read(fetched: Fetched) -> _Reading:
    from websearch_adapters.extract import text

    kind = text.kind_of(fetched.body, fetched.content_type, fetched.final_url)
    if kind in {"binary", "pdf"}:
        raise _unreadable(fetched, kind)
    reading = _html(fetched) if kind == "html" else _text(fetched, kind)
    if not reading.text.strip():
        raise _error(EmptyResult, fetched, "sends nothing readable", "The page has no text; use another page or provider.")
    return reading


def _html(fetched: Fetched) -> _Reading:
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.html import read_html

    found = read_html(decode(fetched.body, fetched.content_type)[0], fetched.final_url)
    if found.outcome == "blocked":
        raise _error(
            Declined,
            fetched,
            "shows a check for humans instead of the page",
            "Use another provider for this page, or another page with the same content.",
        )
    if found.outcome == "script_shell":
        raise _error(
            BadReply,
            fetched,
            "sends a page without content that a script would fill",
            "This page needs JavaScript: use a provider that runs it, such as Firecrawl, or look for a static page.",
        )
    return _Reading(kind="html", text=found.markdown, title=found.title, published=found.published, language=found.language)


def _text(fetched: Fetched, kind: Kind) -> _Reading:
    from websearch_adapters.extract.text import read_text

    found = read_text(fetched.body, fetched.content_type, fetched.final_url, kind)
    return _Reading(kind=found.kind, text=found.text, title=found.title, published=found.published, language=found.language)


def _unreadable(fetched: Fetched, kind: Kind) -> ProviderError:
    if kind == "pdf":
        return _error(
            Declined, fetched, "sends a PDF", "PDF reading needs another provider; look for an HTML version of this page."
        )
    media = fetched.content_type.partition(";")[0].strip()[:60] or "unknown kind"
    what = f"sends a file of {len(fetched.body):,} bytes that is no text ({media})"
    return _error(Declined, fetched, what, "Only text can be read; use a page that describes this file.")


def _error(kind: type[ProviderError], fetched: Fetched, what: str, hint: str) -> ProviderError:
    return kind(f"{urls.host(fetched.final_url)} {what}", provider=NAME, hint=hint, http_status=fetched.status)
