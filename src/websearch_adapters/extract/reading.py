"""Reads a body of any kind: finds out what it is, and gives its text or says why there is none.

Blocks, and trusts nothing in the body; the built-in reader therefore calls it in a process of its own (`extract.worker`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from websearch_core import urls
from websearch_core.errors import (
    BadReply,
    Blocked,
    Declined,
    EmptyResult,
    InvalidInput,
    NeedsRendering,
    NotConfigured,
    NotFound,
    ProviderError,
)
from websearch_core.values import Note

if TYPE_CHECKING:
    from websearch_adapters.extract.html import HtmlDocument, PageLinks
    from websearch_adapters.extract.package import OfficeKind
    from websearch_adapters.extract.pdf import PdfDocument
    from websearch_adapters.extract.text import Kind

__all__ = ["NAME", "Document", "Reading", "failure", "links", "read"]

NAME = "local"
DOUBTFUL = Note(
    code="maybe_not_found",
    text="the page may be nothing but a word that there is no such page, although the site sends it as one",
    provider=NAME,
)
GUESSED = Note(code="published_guessed", text="the page does not state its day; it is read off its first date", provider=NAME)
OLE = b"\xd0\xcf\x11\xe0"
ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
"""The name of the stream in which Office keeps a document with a password; MS-OFFCRYPTO 2.3.4."""
LOCKED = "It needs a password; look for an open version."
UNLOCK = "Save a copy without its password, and add that."
ELSEWHERE = "Use another provider for this page, or another page with the same content."
SCRIPTED = "This page needs JavaScript: use a provider that runs it, such as Firecrawl, or look for a static page."
ABSENT = "The page does not exist; check the address or search for it."
_SENDS = re.compile(r"^sends ")
DAMAGED = "Fetch it again, or look for another version of this document."
REPAIR = "Look for another copy of it, or save it anew with the program that made it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A body as it came."""

    body: bytes
    url: str
    """Where it came from, after redirects."""
    content_type: str = ""
    """The header as it came."""
    status: int = 200
    selector: str = ""
    """Only the parts of an HTML page that this CSS selector finds; empty for its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A body as read."""

    kind: str
    text: str
    title: str = ""
    published: str = ""
    author: str = ""
    language: str = ""
    canonical: str = ""
    """The address that the page gives as its own, where it is another one."""
    notes: tuple[Note, ...] = ()
    moved_to: str = ""
    """Where the page sends its reader instead of saying anything; then there is no text."""


def read(document: Document) -> Reading:
    """The text of the document.

    Raises:
        ProviderError: no text (EmptyResult), a page that a script would fill (NeedsRendering), a check for humans or a form of
            consent (Blocked), a word that there is no such page (NotFound), a locked file or one of another kind (Declined).
        NotAllowed: the page is larger than the reader takes, or unpacks to too much.
        NotConfigured: a part is not installed that reads this kind of document.
        InvalidInput: the selector cannot be read, finds nothing, or the document is no HTML.
    """
    from websearch_adapters.extract import text

    kind = text.kind_of(document.body, document.content_type, document.url)
    if kind == "html" and (target := _moved_to(document)):
        return Reading(kind=kind, text="", moved_to=target)
    if document.selector:
        return _selected(document, kind)
    reading = _READERS.get(kind, _text)(document, kind)
    if not reading.text.strip():
        hint = "The page has no text; use another page or provider."
        raise failure(EmptyResult, document, "sends nothing readable", hint, of_file="It has no text; leave it out.")
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


def failure(kind: type[ProviderError], document: Document, what: str, hint: str, *, of_file: str = "") -> ProviderError:
    """An error that names the host and says what it did; or a file here, and what that is, with the hint `of_file`."""
    whose = urls.host(document.url)
    said = f"{whose} {what}" if whose else f"{_file_name(document.url)} {_SENDS.sub('is ', what)}"
    way_out = hint if whose or not of_file else of_file
    return kind(said, provider=NAME, hint=way_out, http_status=document.status if whose else None)


def _moved_to(document: Document) -> str:
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.html import REFRESH_CHARS, moved_to

    if b"refresh" not in document.body[:REFRESH_CHARS].lower():
        return ""
    return moved_to(decode(document.body, document.content_type)[0], document.url)


def _html(document: Document, _kind: Kind) -> Reading:
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.html import read_html

    found = read_html(decode(document.body, document.content_type)[0], document.url)
    if found.outcome == "blocked":
        raise failure(Blocked, document, "shows a check for humans instead of the page", ELSEWHERE)
    if found.outcome == "consent":
        raise failure(Blocked, document, "asks for consent to its cookies instead of showing the page", ELSEWHERE)
    if found.outcome == "script_shell":
        raise failure(NeedsRendering, document, "sends a page without content that a script would fill", SCRIPTED)
    if found.outcome == "not_found":
        raise failure(NotFound, document, "sends a page that says that there is no such page", ABSENT)
    return _reading(found, document)


def _selected(document: Document, kind: Kind) -> Reading:
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.html import read_selected

    if kind != "html":
        raise InvalidInput(f"selector: only HTML has elements to select, and this is {kind}", hint="Leave the selector out.")
    found = read_selected(decode(document.body, document.content_type)[0], document.url, document.selector)
    if not found.markdown:
        raise InvalidInput(
            f"selector: nothing readable on the page matches {document.selector[:80]!r}",
            hint="Read the page without it, or use a wider one, such as main or article.",
        )
    return _reading(found, document)


def _reading(found: HtmlDocument, document: Document) -> Reading:
    guessed = bool(found.published) and not found.published_stated
    return Reading(
        kind="html",
        text=found.markdown,
        title=found.title,
        published=found.published,
        author=found.author,
        language=found.language,
        canonical=found.canonical if found.canonical != document.url.partition("#")[0] else "",
        notes=tuple(note for note, holds in ((GUESSED, guessed), (DOUBTFUL, found.doubtful)) if holds),
    )


def _text(document: Document, kind: Kind) -> Reading:
    from websearch_adapters.extract.text import read_text

    found = read_text(document.body, document.content_type, document.url, kind)
    return Reading(kind=found.kind, text=found.text, title=found.title, published=found.published, language=found.language)


def _pdf(document: Document, _kind: Kind) -> Reading:
    from websearch_adapters.extract import pdf

    try:
        found = pdf.read_pdf(document.body)
    except ImportError as error:
        raise NotConfigured(
            "PDF reading is not installed",
            provider=NAME,
            hint="Install it with: pip install 'websearch-mcp[pdf]'. Or use another provider, or an HTML version of this page.",
        ) from error
    except pdf.LockedError as error:
        raise failure(Declined, document, "sends a PDF that asks for a password", LOCKED, of_file=UNLOCK) from error
    except pdf.UnreadableError as error:
        raise failure(BadReply, document, "sends a damaged PDF", DAMAGED, of_file=REPAIR) from error
    except pdf.NoTextError as error:
        pages = error.args[0]
        what = f"sends a PDF of {pages:,} page{'s' if pages != 1 else ''} without text: pictures of pages"
        raise failure(EmptyResult, document, what, "Reading it needs text recognition; look for another version.") from error
    return Reading(
        kind="pdf",
        text=found.text,
        title=found.title or _file_name(document.url),
        published=found.published,
        notes=tuple(_pdf_notes(found)),
    )


def _pdf_notes(found: PdfDocument) -> Iterator[Note]:
    if found.read < found.pages:
        yield Note(code="document_cut", text=f"only the first {found.read:,} of {found.pages:,} pages were read", provider=NAME)
    if found.blank:
        yield Note(code="pages_without_text", text=f"{found.blank:,} pages have no text: pictures, or blank", provider=NAME)


def _office(document: Document, kind: Kind) -> Reading:
    from websearch_adapters.extract import office, package

    try:
        found = office.read_office(document.body, cast("OfficeKind", kind), document.url)
    except package.LockedError as error:
        raise failure(Declined, document, "sends a document that asks for a password", LOCKED, of_file=UNLOCK) from error
    except package.DamagedError as error:
        raise failure(BadReply, document, "sends a damaged document", DAMAGED, of_file=REPAIR) from error
    cut = (Note(code="document_cut", text=found.cut, provider=NAME),) if found.cut else ()
    return Reading(
        kind=kind,
        text=found.text,
        title=found.title or _file_name(document.url),
        published=found.published,
        language=found.language,
        notes=cut,
    )


def _binary(document: Document, _kind: Kind) -> Reading:
    if document.body.startswith(OLE):
        if ENCRYPTED_PACKAGE in document.body:
            raise failure(Declined, document, "sends a document that asks for a password", LOCKED, of_file=UNLOCK)
        what = "sends a file of old Office, or a program's own"
        raise failure(Declined, document, what, "Look for the same as .docx, .xlsx, .pptx or PDF.")
    media = document.content_type.partition(";")[0].strip()[:60] or "unknown kind"
    what = f"sends a file of {len(document.body):,} bytes that is no text ({media})"
    hint = "Only text can be read; use a page that describes this file."
    raise failure(Declined, document, what, hint, of_file="Save it as text or PDF, or give it the ending of what it is.")


def _file_name(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])[:300]


_READERS: dict[str, Callable[[Document, Kind], Reading]] = {
    "html": _html,
    "pdf": _pdf,
    "binary": _binary,
    **dict.fromkeys(("docx", "xlsx", "pptx", "odt", "ods", "odp", "epub"), _office),
}
