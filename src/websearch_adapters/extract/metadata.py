"""What a page says about itself: title, day of publication, language, structured data."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from websearch_adapters.extract.markup import body_of, select, text_of, words_of

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["Metadata", "day", "of_page"]

MAX_SCRIPTS = 20
MAX_SCRIPT_CHARS = 1_000_000
MAX_NODES = 5_000
MAX_TITLE_CHARS = 500
MAX_AUTHOR_CHARS = 100
SEPARATORS = (" | ", " - ", " – ", " — ", " · ", " :: ", " » ")
AUTHORS = ("author", "citation_author", "dc.creator", "parsely-author", "sailthru.author", "twitter:creator", "article:author")
MAX_TIMES = 50
MAX_MARKED_TIMES = 3

TITLES = ("og:title", "citation_title", "twitter:title", "dc.title")
DATES = (
    "article:published_time", "og:published_time", "datepublished", "citation_publication_date", "citation_online_date",
    "parsely-pub-date", "sailthru.date", "dc.date.issued", "dcterms.issued", "dcterms.created", "dc.date", "dc.date.created",
    "publishdate", "publish-date", "pubdate", "publication_date", "date", "og:article:published_time",
)  # fmt: skip

_MARKED = "//@itemprop[.='datePublished' or .='author']/.. | //@pubdate/.. | //@rel[.='author']/.."
"""Paths to attributes take half the time of a condition on every element. They name their values: for thousands of elements XPath
takes quadratic time."""
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
    published_stated: bool = False
    """Whether the page's metadata gives the day; otherwise it is read off a `<time>` near the heading."""
    author: str = ""
    canonical: str = ""
    """The address that the page gives as its own, as written."""
    og_url: str = ""
    """The same by Open Graph alone."""
    status: str = ""
    """The HTTP status that it gives to programs that draw it for search engines, such as `404`."""
    language: str = ""
    """A BCP 47 tag such as `en` or `zh-CN`."""
    types: frozenset[str] = frozenset()
    """Types of its schema.org data."""
    og_type: str = ""
    """Its Open Graph type in lower case, such as `article`."""
    generator: str = ""
    """The software that made it."""
    article_body: str = ""
    """The longest `articleBody` of its schema.org data."""


def of_page(root: Element) -> Metadata:
    """Read the head, the structured data and, for the title and the date, the body."""
    tagged = _tagged(root)
    marked = select(root, _MARKED)
    nodes = list(_structured(tagged["script"]))
    metas = _metas(tagged["meta"])
    stated = _published(metas, nodes)
    bodies = (text for node in nodes if isinstance(text := node.get("articleBody"), str))
    return Metadata(
        title=_title(root, tagged["h1"], metas),
        published=stated or next((found for text in _times(marked, tagged["time"]) if text and (found := day(text))), ""),
        published_stated=bool(stated),
        author=_author(marked, metas, nodes),
        canonical=_canonical(tagged["link"], metas),
        og_url=metas.get("og:url", ""),
        status=metas.get("prerender-status-code", ""),
        language=_language(root, metas),
        og_type=metas.get("og:type", "").lower(),
        generator=metas.get("generator", ""),
        types=frozenset(name for node in nodes for name in _types(node.get("@type"))),
        article_body=max(bodies, key=len, default=""),
    )


def _tagged(root: Element) -> defaultdict[str, list[Element]]:
    """The elements that tell of a page by their tags, in document order; one walk over the tree finds them all."""
    found = defaultdict[str, list["Element"]](list)
    for element in root.iter("meta", "script", "link", "time", "h1"):
        found[str(element.tag)].append(element)
    return found


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
    from email.utils import parsedate_to_datetime  # brings sockets along, a tenth of the reader's start

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


def _metas(elements: list[Element]) -> dict[str, str]:
    """Name, property or itemprop in lower case → content, the first of each."""
    found: dict[str, str] = {}
    for meta in elements:
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv") or ""
        content = (meta.get("content") or "").strip()
        if name and content:
            found.setdefault(name.strip().lower(), content)
    return found


def _title(root: Element, headings: list[Element], metas: dict[str, str]) -> str:
    element = root.find(".//head/title")
    heading = _line(words_of(headings[0])) if headings else ""
    candidates = (
        *(metas.get(name, "") for name in TITLES),
        words_of(element) if element is not None else "",
        heading,
    )
    title = _line(next((text for text in candidates if text.strip()), ""))
    return _without_site(title, _line(metas.get("og:site_name", "")), heading)[:MAX_TITLE_CHARS]


def _line(text: str) -> str:
    return " ".join(_CONTROLS.sub(" ", text).split())


def _without_site(title: str, site: str, heading: str) -> str:
    """Without the name of the site at the end or start: what the page calls its site, or what its heading leaves out."""
    for separator in SEPARATORS:
        for name, rest in ((title.rpartition(separator)[2::-2]), (title.partition(separator)[::2])):
            if name and rest and (name.casefold() == site.casefold() or rest.casefold() == heading.casefold()):
                return rest
    return title


def _author(marked: list[Element], metas: dict[str, str], nodes: list[dict[str, Any]]) -> str:
    """The first name that metadata, structured data or a link marked as the author gives."""
    links = (element for element in marked if "author" in {element.get("itemprop"), element.get("rel")})
    said = (
        *(metas.get(name, "") for name in AUTHORS),
        *(name for node in nodes for name in _names(node.get("author"))),
        *(words_of(element) for element in islice(links, 2)),
    )
    names = (_line(text) for text in said)
    return next((name for name in names if name and "://" not in name and len(name) <= MAX_AUTHOR_CHARS), "")


def _names(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        name = item.get("name") if isinstance(item, dict) else item
        if isinstance(name, str):
            yield name


def _canonical(links: list[Element], metas: dict[str, str]) -> str:
    said = (link.get("href") or "" for link in links if (link.get("rel") or "").lower() == "canonical")
    return next(said, "").strip() or metas.get("og:url", "")


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


def _published(metas: dict[str, str], nodes: list[dict[str, Any]]) -> str:
    said = (
        *(metas.get(name, "") for name in DATES),
        *(text for node in nodes if isinstance(text := node.get("datePublished"), str)),
    )
    return next((found for text in said if text and (found := day(text))), "")


def _times(marked: list[Element], times: list[Element]) -> Iterator[str]:
    """Elements marked as the day of publication, then the first <time> of an article or header."""
    by_name = [element for element in marked if element.get("itemprop") == "datePublished"][:MAX_MARKED_TIMES]
    by_attribute = [element for element in marked if element.get("pubdate") is not None][:MAX_MARKED_TIMES]
    for element in marked:
        if element in by_name or element in by_attribute:
            yield element.get("datetime") or element.get("content") or text_of(element)
    times = [element for element in times if element.get("datetime")]
    places = [{above.tag for above in element.iterancestors("article", "header", "main")} for element in times[:MAX_TIMES]]
    for place in ("article", "header", "main"):
        yield from islice(
            (element.get("datetime") or "" for element, around in zip(times, places, strict=False) if place in around), 1
        )


def _structured(scripts: list[Element]) -> Iterator[dict[str, Any]]:
    """Every object of the page's JSON-LD, nested ones too, in document order; broken scripts are passed over."""
    count = 0
    for text in _json_scripts(scripts):
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


def _json_scripts(scripts: list[Element]) -> Iterable[str]:
    found = (script for script in scripts if "ld+json" in (script.get("type") or ""))
    texts = (text_of(script).strip() for script in islice(found, MAX_SCRIPTS))
    return (text for text in texts if len(text) <= MAX_SCRIPT_CHARS)


def _inner(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _types(value: Any) -> Iterator[str]:
    for name in value if isinstance(value, list) else [value]:
        if isinstance(name, str):
            yield name.rpartition("/")[2]
