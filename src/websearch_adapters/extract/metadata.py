"""What a page says about itself: title, day of publication, language, structured data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from websearch_adapters.extract.markup import body_of, text_of, words_of

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["Metadata", "day", "of_page"]

MAX_SCRIPTS = 20
MAX_SCRIPT_CHARS = 1_000_000
MAX_NODES = 5_000
MAX_TITLE_CHARS = 500

TITLES = ("og:title", "citation_title", "twitter:title", "dc.title")
DATES = (
    "article:published_time", "og:published_time", "datepublished", "citation_publication_date", "citation_online_date",
    "parsely-pub-date", "sailthru.date", "dc.date.issued", "dcterms.issued", "dcterms.created", "dc.date", "dc.date.created",
    "publishdate", "publish-date", "pubdate", "publication_date", "date", "og:article:published_time",
)  # fmt: skip

_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_CJK_DAY = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """A page about itself; empty where it says nothing."""

    title: str = ""
    published: str = ""
    """YYYY-MM-DD."""
    language: str = ""
    """A BCP 47 tag such as `en` or `zh-CN`."""
    types: frozenset[str] = frozenset()
    """Types of its schema.org data."""
    article_body: str = ""
    """The longest `articleBody` of its schema.org data."""


def of_page(root: Element) -> Metadata:
    """Read the head, the structured data and, for the title and the date, the body."""
    nodes = list(_structured(root))
    metas = _metas(root)
    bodies = (text for node in nodes if isinstance(text := node.get("articleBody"), str))
    return Metadata(
        title=_title(root, metas),
        published=_published(root, metas, nodes),
        language=_language(root, metas),
        types=frozenset(name for node in nodes for name in _types(node.get("@type"))),
        article_body=max(bodies, key=len, default=""),
    )


def day(text: str) -> str:
    """A date in one of the usual notations as YYYY-MM-DD, UTC; empty when it is none, or is before 1990 or in the far future."""
    text = text.strip()[:64]
    moment = _moment(text)
    if moment is not None:
        return _plausible(moment.year, moment.month, moment.day)
    match = _DAY.search(text) or _CJK_DAY.search(text) or _COMPACT.fullmatch(text)
    return _plausible(*(int(part) for part in match.groups())) if match else ""


def _moment(text: str) -> datetime | None:
    """A point in time with a zone, in UTC, or a date as mail writes it."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return None
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment
    except OverflowError:
        return None


def _plausible(year: int, month: int, day_of_month: int) -> str:
    if not 1990 <= year <= 2100:
        return ""
    try:
        return datetime(year, month, day_of_month, tzinfo=UTC).strftime("%Y-%m-%d")
    except ValueError:
        return ""


def _metas(root: Element) -> dict[str, str]:
    """Name, property or itemprop in lower case → content, the first of each."""
    found: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv") or ""
        content = (meta.get("content") or "").strip()
        if name and content:
            found.setdefault(name.strip().lower(), content)
    return found


def _title(root: Element, metas: dict[str, str]) -> str:
    element = root.find(".//head/title")
    heading = root.find(".//h1")
    candidates = (
        *(metas.get(name, "") for name in TITLES),
        words_of(element) if element is not None else "",
        words_of(heading) if heading is not None else "",
    )
    title = next((text for text in candidates if text.strip()), "")
    return " ".join(_CONTROLS.sub(" ", title).split())[:MAX_TITLE_CHARS]


def _language(root: Element, metas: dict[str, str]) -> str:
    said = (
        root.get("lang"),
        root.get("{http://www.w3.org/XML/1998/namespace}lang"),
        root.get("xml:lang"),
        body_of(root).get("lang"),
        metas.get("content-language"),
        metas.get("og:locale"),
    )
    for text in said:
        tag = (text or "").strip().replace("_", "-")
        if _LANGUAGE.fullmatch(tag):
            return tag
    return ""


def _published(root: Element, metas: dict[str, str], nodes: list[dict[str, Any]]) -> str:
    said = (
        *(metas.get(name, "") for name in DATES),
        *(text for node in nodes if isinstance(text := node.get("datePublished"), str)),
        *_marked_times(root),
    )
    return next((found for text in said if text and (found := day(text))), "")


def _marked_times(root: Element) -> Iterator[str]:
    """Elements marked as the day of publication, then the first <time> of an article or header."""
    for path in (".//*[@itemprop='datePublished']", ".//*[@pubdate]"):
        for element in root.findall(path)[:3]:
            yield element.get("datetime") or element.get("content") or text_of(element)
    for place in ("article", "header", "main"):
        for element in root.findall(f".//{place}//time[@datetime]")[:1]:
            yield element.get("datetime") or ""


def _structured(root: Element) -> Iterator[dict[str, Any]]:
    """Every object of the page's JSON-LD, nested ones too, in document order; broken scripts are passed over."""
    count = 0
    for text in _json_scripts(root):
        try:
            todo: list[Any] = [json.loads(text)]
        except (ValueError, RecursionError):
            continue
        while todo and count < MAX_NODES:
            node = todo.pop()
            count += 1
            if isinstance(node, dict):
                yield node
            todo += reversed([inner for inner in _inner(node) if isinstance(inner, (dict, list))])


def _json_scripts(root: Element) -> Iterable[str]:
    scripts = [script for script in root.iter("script") if "ld+json" in (script.get("type") or "")]
    texts = (text_of(script).strip() for script in scripts[:MAX_SCRIPTS])
    return (text for text in texts if len(text) <= MAX_SCRIPT_CHARS)


def _inner(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _types(value: Any) -> Iterator[str]:
    for name in value if isinstance(value, list) else [value]:
        if isinstance(name, str):
            yield name.rpartition("/")[2]
