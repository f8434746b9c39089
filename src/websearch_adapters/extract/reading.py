"""Reads a body of any kind: finds out what it is, and gives its text or says why there is none.

Blocks, and trusts nothing in the body; the built-in reader therefore calls it in a process of its own (`extract.worker`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from websearch_core import urls
from websearch_core.errors import BadReply, Declined, EmptyResult, ProviderError

if TYPE_CHECKING:
    from websearch_adapters.extract.html import PageLinks
    from websearch_adapters.extract.text import Kind

__all__ = ["NAME", "Document", "Reading", "failure", "links", "read"]

NAME = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A body as it came."""

    body: bytes
    url: str
    """Where it came from, after redirects."""
    content_type: str = ""
    """The header as it came."""
    status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A body as read."""

    kind: str
    text: str
    title: str = ""
    published: str = ""
    language: str = ""


def read(document: Document) -> Reading:
    """The text of the document.

    Raises:
        ProviderError: no text (EmptyResult), a page that a script would fill (BadReply), a check for humans or a file of another
            kind (Declined).
        NotAllowed: the page is larger than the reader takes.
    """
    from websearch_adapters.extract import text

    kind = text.kind_of(document.body, document.content_type, document.url)
    if kind in {"binary", "pdf"}:
        raise _unreadable(document, kind)
    reading = _html(document) if kind == "html" else _text(document, kind)
    if not reading.text.strip():
        raise failure(EmptyResult, document, "sends nothing readable", "The page has no text; use another page or provider.")
    return reading


def links(document: Document) -> PageLinks:
    """The title and links of an HTML page; nothing where it is of another kind.

    Raises:
        NotAllowed: the page is larger than the reader takes.
    """
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.html import PageLinks, read_links
    from websearch_adapters.extract.text import kind_of

    if kind_of(document.body, document.content_type, document.url) != "html":
        return PageLinks()
    return read_links(decode(document.body, document.content_type)[0], document.url)


def failure(kind: type[ProviderError], document: Document, what: str, hint: str) -> ProviderError:
    """An error that names the host and says what it did."""
    return kind(f"{urls.host(document.url)} {what}", provider=NAME, hint=hint, http_status=document.status)


def _html(document: Document) -> Reading:
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.html import read_html

    found = read_html(decode(document.body, document.content_type)[0], document.url)
    if found.outcome == "blocked":
        raise failure(
            Declined,
            document,
            "shows a check for humans instead of the page",
            "Use another provider for this page, or another page with the same content.",
        )
    if found.outcome == "script_shell":
        raise failure(
            BadReply,
            document,
            "sends a page without content that a script would fill",
            "This page needs JavaScript: use a provider that runs it, such as Firecrawl, or look for a static page.",
        )
    return Reading(kind="html", text=found.markdown, title=found.title, published=found.published, language=found.language)


def _text(document: Document, kind: Kind) -> Reading:
    from websearch_adapters.extract.text import read_text

    found = read_text(document.body, document.content_type, document.url, kind)
    return Reading(kind=found.kind, text=found.text, title=found.title, published=found.published, language=found.language)


def _unreadable(document: Document, kind: Kind) -> ProviderError:
    if kind == "pdf":
        return failure(
            Declined, document, "sends a PDF", "PDF reading needs another provider; look for an HTML version of this page."
        )
    media = document.content_type.partition(";")[0].strip()[:60] or "unknown kind"
    what = f"sends a file of {len(document.body):,} bytes that is no text ({media})"
    return failure(Declined, document, what, "Only text can be read; use a page that describes this file.")
