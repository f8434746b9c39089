"""Papers of arXiv through its API: title, authors, categories, abstract, and where the PDF is.

Source: info.arxiv.org/help/api, the user's manual; read 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from websearch_adapters.extract.public_api import asked
from websearch_adapters.extract.reading import Document
from websearch_adapters.provider import day, page_text, snippet, stamp, utc_now, web_address
from websearch_core.errors import BadReply, EmptyResult
from websearch_core.values import FetchRequest, Note, Page

if TYPE_CHECKING:
    from lxml.etree import _Element

    from websearch_adapters.extract.worker import Worker
    from websearch_adapters.http.pages import PageClient

__all__ = ["Arxiv", "ArxivSettings", "Paper", "paper_from_wire", "paper_id", "to_text"]

NAME = "arxiv"
HOSTS = frozenset({"arxiv.org", "www.arxiv.org", "export.arxiv.org"})
ATOM = "{http://www.w3.org/2005/Atom}"
OWN = "{http://arxiv.org/schemas/atom}"
MAX_AUTHORS = 200
ABSTRACT_ONLY = Note(
    code="abstract_only", text="This is the abstract. For the whole paper, name the reader `local`, or another.", provider=NAME
)

_ID = re.compile(r"(?:[0-9]{4}\.[0-9]{4,5}|[a-z-]{2,20}(?:\.[A-Z]{2})?/[0-9]{7})(?:v[1-9][0-9]{0,3})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArxivSettings:
    """How to read arXiv."""

    api_url: str = "https://export.arxiv.org/api/query"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper as the API describes it."""

    title: str
    abstract: str
    url: str = ""
    """With the version that is described."""
    pdf_url: str = ""
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """The primary one first."""
    published: str = ""
    """YYYY-MM-DD, of the first version."""
    updated: str = ""
    """YYYY-MM-DD, of the described version."""
    comment: str = ""
    journal: str = ""
    doi: str = ""


# --- translations -------------------------------------------------------------------------------------------------


def paper_id(url: str) -> str:
    """The identifier of the paper whose abstract or PDF the address is, with its version if it names one; empty for others."""
    parts = urlsplit(url)
    if (parts.hostname or "").rstrip(".") not in HOSTS or parts.port not in {None, 80, 443}:
        return ""
    kind, _, rest = unquote(parts.path).strip("/").partition("/")
    rest = rest.removesuffix(".pdf") if kind == "pdf" else rest
    return rest if kind in {"abs", "pdf"} and _ID.fullmatch(rest) else ""


def paper_from_wire(body: bytes) -> Paper:
    """The paper of a feed with one entry; for the process that reads documents.

    Raises:
        EmptyResult: the feed has no entry, or reports an error in its place.
        BadReply: no feed, or an entry without title or abstract.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        feed = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BadReply("arxiv: the reply is not XML", provider=NAME) from error
    if feed.tag != f"{ATOM}feed":
        raise BadReply("arxiv: the reply is not a feed", provider=NAME)
    entry = feed.find(f"{ATOM}entry")
    if entry is None or "/api/errors" in _text(entry, f"{ATOM}id"):
        raise EmptyResult("arxiv: there is no such paper", provider=NAME, hint="Check the identifier.")
    return _paper(entry)


def to_text(paper: Paper) -> str:
    """The paper as Markdown."""
    changed = f" (this version {paper.updated})" if paper.updated not in {"", paper.published} else ""
    facts = {
        "Authors": ", ".join(paper.authors),
        "Categories": ", ".join(paper.categories),
        "Published": f"{paper.published}{changed}",
        "Comment": paper.comment,
        "Journal": paper.journal,
        "DOI": paper.doi,
        "Abstract page": paper.url,
        "PDF": paper.pdf_url,
    }
    listed = "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)
    return f"# {paper.title}\n\n{listed}\n\n## Abstract\n\n{paper.abstract}"


def _paper(entry: _Element) -> Paper:
    title, abstract = snippet(_text(entry, f"{ATOM}title"), limit=500), page_text(_text(entry, f"{ATOM}summary"))
    if not title or not abstract:
        raise BadReply("arxiv: the entry has no title or no abstract", provider=NAME)
    links = {(link.get("rel"), link.get("title")): _https(link.get("href")) for link in entry.iterfind(f"{ATOM}link")}
    primary = entry.find(f"{OWN}primary_category")
    terms = [primary, *entry.iterfind(f"{ATOM}category")]
    authors = [snippet(_text(author, f"{ATOM}name"), limit=100) for author in entry.iterfind(f"{ATOM}author")]
    return Paper(
        title=title,
        abstract="\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", abstract)),
        url=_https(_text(entry, f"{ATOM}id")),
        pdf_url=links.get(("related", "pdf"), ""),
        authors=tuple(filter(None, authors))[:MAX_AUTHORS],
        categories=tuple(dict.fromkeys(filter(None, (snippet(one.get("term"), limit=40) for one in terms if one is not None)))),
        published=day(_text(entry, f"{ATOM}published")),
        updated=day(_text(entry, f"{ATOM}updated")),
        comment=snippet(_text(entry, f"{OWN}comment"), limit=500),
        journal=snippet(_text(entry, f"{OWN}journal_ref"), limit=300),
        doi=snippet(_text(entry, f"{OWN}doi"), limit=200),
    )


def _text(element: _Element, name: str) -> str:
    return (element.findtext(name) or "").strip()


def _https(value: str | None) -> str:
    """The API still writes `http://`, which arXiv redirects."""
    address = web_address(value or "")
    return f"https://{address.removeprefix('http://')}" if address.startswith("http://") else address


# --- the reader ---------------------------------------------------------------------------------------------------


class Arxiv:
    """Extractor for abstracts."""

    name = NAME

    def __init__(
        self, pages: PageClient, worker: Worker, settings: ArxivSettings | None = None, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._pages = pages
        self._worker = worker
        self._settings = settings or ArxivSettings()
        self._now = now

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """What arXiv says of the paper, with its abstract, also for the address of a PDF; None for other addresses.

        Raises:
            EmptyResult: there is no such paper.
            ProviderError, NotAllowed: as `PageClient.get`.
        """
        identifier = paper_id(request.url)
        if not identifier:
            return None
        url = f"{self._settings.api_url}?id_list={quote(identifier, safe='/.')}&max_results=1"
        self._worker.warm()
        fetched = await asked(self._pages, url, reader=NAME, accept="application/atom+xml, application/xml;q=0.9")
        about, text = await self._worker.ask("paper", Document(body=fetched.body, url=fetched.final_url), reader=NAME)
        return Page(
            url=request.url,
            final_url=about["url"],
            title=about["title"],
            text=text.decode("utf-8", "surrogatepass"),
            kind="markdown",
            provider=NAME,
            published=about["published"],
            language="en",
            fetched_at=stamp(self._now()),
            notes=(ABSTRACT_ONLY,) if "/pdf/" in urlsplit(request.url).path else (),
        )
