"""Reads a result page of a search engine by the places of its parts.

Results are looked for first: who gets some is not blocked. A check for humans is known by its form, not by its words; only a page
with neither, nor the engine's own "nothing found", is judged as any other page of the web. Words of a query or of a result decide
nothing.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

from websearch_adapters.provider import web_address
from websearch_core import urls

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["Found", "Hit", "Layout", "ResultPage", "read_results"]

Found: TypeAlias = Literal["results", "nothing", "blocked", "unknown"]
MAX_HITS = 200
MAX_REFERENCE_CHARS = 8_192
MAX_TITLE_CHARS = 2_000
MAX_TEXT_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the parts of an engine's result page are."""

    hit: str
    """XPath of one result; advertisements left out."""
    link: str
    """XPath of the element with title and address, from the result."""
    text: str
    """XPath of the passage, from the result."""
    nothing: str
    """XPath of what stands on the page only when nothing was found."""
    check: str
    """XPath of what stands on the page only when it is a check for humans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result as it stands on the page."""

    url: str
    """Where it leads, without the engine's own page between."""
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """A page of an engine as read; at most 200 hits."""

    found: Found
    hits: tuple[Hit, ...] = ()


def read_results(text: str, url: str, layout: Layout) -> ResultPage:
    """What a page of the engine at `url` is, and its hits without advertisements and the engine's other pages.

    Raises:
        NotAllowed: more than 20 million characters.
    """
    from websearch_adapters.extract.html import read_links
    from websearch_adapters.extract.markup import parse, select

    root = parse(text)
    if root is None:
        return ResultPage(found="unknown")
    found = (_hit(one, url, layout) for one in select(root, layout.hit))
    hits = tuple(islice((hit for hit in found if hit is not None), MAX_HITS))
    if hits:
        return ResultPage(found="results", hits=hits)
    if select(root, layout.check):
        return ResultPage(found="blocked")
    if select(root, layout.nothing):
        return ResultPage(found="nothing")
    return ResultPage(found="blocked" if read_links(text, url).blocked else "unknown")


def _hit(element: Element, engine_url: str, layout: Layout) -> Hit | None:
    from websearch_adapters.extract.markup import select, words_of

    links = select(element, layout.link)
    reference = links[0].get("href") or "" if links else ""
    url = _target(engine_url, reference) if len(reference) <= MAX_REFERENCE_CHARS else ""
    if not url:
        return None
    passages = " ".join(words_of(passage) for passage in select(element, layout.text))
    return Hit(url=url, title=words_of(links[0])[:MAX_TITLE_CHARS], text=passages[:MAX_TEXT_CHARS])


def _target(engine_url: str, reference: str) -> str:
    """Where a result leads, without the engine's own page between; empty for advertisements and the engine's other pages."""
    address = urls.absolute(engine_url, reference) or ""
    parts = urlsplit(address)
    if parts.path == "/l/" and urls.host_matches(address, "duckduckgo.com"):
        return web_address(parse_qs(parts.query).get("uddg", [""])[0])
    if parts.path == "/ck/a" and urls.host_matches(address, "bing.com"):
        return web_address(_unpacked(parse_qs(parts.query).get("u", [""])[0]))
    is_own = any(urls.host_matches(address, domain) for domain in ("duckduckgo.com", "bing.com")) and parts.path in {
        "/y.js",
        "/aclick",
        "/aclk",
    }
    return "" if is_own or urls.host(address) == urls.host(engine_url) else web_address(address)


def _unpacked(value: str) -> str:
    """Bing writes an address as `a1` and URL-safe base64 without its padding."""
    packed = value.removeprefix("a1")
    try:
        return base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""
