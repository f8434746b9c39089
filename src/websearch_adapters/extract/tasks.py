"""What the process that reads documents can do with one: each task by its name, with its answer as JSON and bytes.

Whatever libxml2, PDFium or a regular expression meets that strangers wrote, it meets here. A task imports what it needs when it
first runs, for most processes read nothing but pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from websearch_adapters.extract import reading
from websearch_adapters.extract.reading import Document, Reading

if TYPE_CHECKING:
    from websearch_adapters.extract.frames import Frame

__all__ = ["TASKS"]


def _told(found: Reading) -> Frame:
    fields = asdict(found)
    return {"reading": fields}, _bytes(fields.pop("text"))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _read(document: Document) -> Frame:
    return _told(reading.read(document))


def _file(document: Document) -> Frame:
    """As `_read`, but an HTML page without content is blank instead of a failure: a folder of manuals has some of those."""
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.html import read_html
    from websearch_adapters.extract.text import kind_of

    if kind_of(document.body, document.content_type, document.url) != "html":
        return _read(document)
    page = read_html(decode(document.body)[0], document.url)
    return _told(Reading(kind="html", text=page.markdown, title=page.title, published=page.published, language=page.language))


def _links(document: Document) -> Frame:
    found = reading.links(document)
    return {"links": [[link.url, link.title] for link in found.links], "title": found.title, "blocked": found.blocked}, b""


def _results(document: Document, **layout: str) -> Frame:
    """What a page of a search engine is, and its hits as address, title and passage."""
    from websearch_adapters.extract.charset import decode
    from websearch_adapters.extract.results import Layout, read_results

    page = read_results(decode(document.body, document.content_type)[0], document.url, Layout(**layout))
    return {"found": page.found, "hits": [[hit.url, hit.title, hit.text] for hit in page.hits]}, b""


def _sitemap(document: Document) -> Frame:
    """One address a line: those of pages, then those of further sitemaps."""
    from websearch_adapters.extract.sitemap import read_sitemap

    file = read_sitemap(document.body, document.url)
    return {"pages": len(file.pages), "truncated": file.truncated}, _bytes("\n".join((*file.pages, *file.nested)))


def _written(document: Document) -> Frame:
    """A file of text as it stands, HTML as its source; the kind alone where it is none."""
    from websearch_adapters.extract.text import WRITTEN, kind_of, read_text

    kind = kind_of(document.body, document.content_type, document.url)
    if kind not in WRITTEN:
        return {"kind": kind}, b""
    found = read_text(document.body, "", document.url, "text" if kind == "html" else kind)
    return {"kind": found.kind}, _bytes(found.text)


def _article(document: Document, *, base_url: str) -> Frame:
    """An article of Wikipedia from the reply of its API."""
    from websearch_adapters.extract import wikipedia
    from websearch_adapters.extract.public_api import json_of, object_of

    reply = object_of(json_of(document.body, reader=wikipedia.NAME), reader=wikipedia.NAME)
    title, text = wikipedia.article_from_wire(reply)
    return {"title": title}, _bytes(wikipedia.to_text(title, text, base_url))


def _thread(document: Document, *, site: str) -> Frame:
    """A question of Stack Exchange with its answers, whose texts are HTML."""
    from websearch_adapters.extract import stackexchange

    return {}, _bytes(stackexchange.to_text(stackexchange.Thread(**json.loads(document.body)), site))


def _talk(document: Document) -> Frame:
    """An issue, pull request or release of GitHub, whose texts may be long and full of what nobody sees."""
    from websearch_adapters.extract import github

    told = json.loads(document.body)
    return {}, _bytes(github.talk_to_text(github.Target(**told.pop("target")), **told))


def _paper(document: Document) -> Frame:
    """A paper of arXiv from the feed of its API."""
    from websearch_adapters.extract import arxiv

    paper = arxiv.paper_from_wire(document.body)
    return {"title": paper.title, "url": paper.url, "published": paper.published}, _bytes(arxiv.to_text(paper))


TASKS: Mapping[str, Callable[..., Frame]] = {
    "read": _read,
    "file": _file,
    "links": _links,
    "results": _results,
    "sitemap": _sitemap,
    "written": _written,
    "article": _article,
    "thread": _thread,
    "talk": _talk,
    "paper": _paper,
}
