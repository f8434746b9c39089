"""An upstream's tool in the place of a provider: `[providers.NAME]` with `kind = "mcp"` in the settings file.

    [providers.brave]
    kind = "mcp"
    upstream = "brave"
    tool = "brave_web_search"
    serves = "find"
    arguments = { query = "{query}", count = "{limit}" }
    result = { items = "web.results", url = "url", title = "title", description = "description" }

`serves` is `find`, `extract` or `map`. A text that is one placeholder alone becomes that value, a number or a list too, and is
left out where the question does not say. `result` names places in the structured content, or in the JSON that stands in the
text, by keys joined with dots; without it the usual names are tried, and a text that is no JSON is read for its links.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from websearch_adapters import bounded_json
from websearch_adapters.provider import day, page_text, snippet, stamp, utc_now, web_address
from websearch_adapters.search_box import kept, typed
from websearch_core.citations import unite
from websearch_core.errors import BadReply, EmptyResult, ProviderError, Unreachable, WebSearchError
from websearch_core.hub.ports import Upstreams
from websearch_core.hub.values import ToolReply
from websearch_core.ports import Filter
from websearch_core.values import FetchRequest, Health, Json, Link, MapRequest, Page, SearchQuery, SiteMap, Source, SourceList

__all__ = ["Binding", "BoundFinder", "BoundMapper", "BoundReader", "UpstreamProbe", "bindings", "bound"]

Serves: TypeAlias = Literal["find", "extract", "map"]
MAX_QUERY_CHARS = 1_000
DEFAULT_RESULTS = 5
MAX_ITEMS = 1_000
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_LINK = re.compile(r"\[([^\]\n]{0,300})\]\((https?://[^\s)]+)\)|(https?://[^\s<>\"'\])]+)")
_TITLE = re.compile(r"(?:title|name)\W{1,4}(.+)", re.IGNORECASE)
_TEXT = re.compile(r"(?:content|description|snippet|summary)\W{1,4}(.+)", re.IGNORECASE)
USUAL: dict[str, tuple[str, ...]] = {
    "items": ("results", "items", "links", "urls", "data", "web.results", "organic"),
    "url": ("url", "link", "href", "uri"),
    "title": ("title", "name"),
    "description": ("description", "snippet", "summary", "content"),
    "published": ("published", "published_date", "publishedDate", "date", "age"),
    "text": ("markdown", "text", "content", "raw_content"),
}
"""Where a field is looked for when the binding does not say."""
VALUES: dict[str, frozenset[str]] = {
    "find": frozenset({"query", "words", "limit", "fresh_within", "include_domains", "exclude_domains", "platform"}),
    "extract": frozenset({"url"}),
    "map": frozenset({"url", "limit", "instructions", "max_depth", "max_breadth"}),
}
"""What a template may ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How a tool serves one of our ports."""

    name: str
    upstream: str
    tool: str
    """Raw."""
    serves: Serves
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, str] = field(default_factory=dict)


def bindings(path: Path) -> tuple[dict[str, Binding], tuple[str, ...]]:
    """The bound providers of a settings file, by name, and what is wrong with the others. Never raises."""
    sections: Any = {}
    with suppress(OSError, ValueError, RecursionError):
        sections = tomllib.loads(path.read_bytes().decode("utf-8-sig")).get("providers", {})
    found: dict[str, Binding] = {}
    problems: list[str] = []
    for name, section in sections.items() if isinstance(sections, dict) else ():
        wrong = _wrong(section)
        if wrong:
            problems.append(f"providers.{name}: {wrong}")
        else:
            taken = {key: section[key] for key in ("upstream", "tool", "serves", "arguments", "result") if key in section}
            found[name] = Binding(name=name, **taken)
    return found, tuple(problems)


def bound(binding: Binding, upstreams: Upstreams) -> BoundFinder | BoundReader | BoundMapper:
    """The binding as a provider."""
    match binding.serves:
        case "find":
            return BoundFinder(binding, upstreams)
        case "extract":
            return BoundReader(binding, upstreams)
        case "map":
            return BoundMapper(binding, upstreams)


# --- translations -------------------------------------------------------------------------------------------------


def arguments_to_wire(binding: Binding, values: Mapping[str, Json]) -> dict[str, Json]:
    """The tool's arguments; one that the question leaves open is left out."""
    filled = {name: _filled(template, values) for name, template in binding.arguments.items()}
    return {name: value for name, value in filled.items() if value is not None}


def sources_from_wire(binding: Binding, reply: ToolReply, query: SearchQuery) -> SourceList:
    """The pages that a reply names.

    Raises:
        BadReply: the place that the binding names is not there.
    """
    data = _data(reply)
    found = _linked(_text(reply), binding.name) if data is None else _listed(binding, data)
    hits = kept(unite(found), query)
    return SourceList(items=hits[: query.extra_sources or DEFAULT_RESULTS], provider=binding.name)


def page_from_wire(binding: Binding, reply: ToolReply, request: FetchRequest) -> Page:
    """The page in a reply.

    Raises:
        EmptyResult: there is no text in it.
    """
    data = _data(reply) if binding.result or reply.structured is not None else None
    text = page_text(_at(data, binding.result.get("text", ""), "text")) if isinstance(data, dict) else ""
    text = text or ("" if binding.result.get("text") else page_text(_text(reply)))
    if not text:
        raise EmptyResult(f"{binding.name} read nothing", provider=binding.name)
    title = snippet(_at(data, binding.result.get("title", ""), "title"), limit=300) if isinstance(data, dict) else ""
    return Page(url=request.url, title=title, text=text, kind="markdown", provider=binding.name, fetched_at=stamp(utc_now()))


def links_from_wire(binding: Binding, reply: ToolReply, request: MapRequest) -> SiteMap:
    """The pages of a site that a reply names.

    Raises:
        BadReply: the place that the binding names is not there.
    """
    data = _data(reply)
    found = unite(_linked(_text(reply), binding.name) if data is None else _listed(binding, data))
    most = request.offset + request.limit
    links = tuple(Link(url=one.url, title=one.title) for one in found[:most])
    return SiteMap(root=request.url, links=links, provider=binding.name, truncated=len(found) > most)


def _filled(template: Any, values: Mapping[str, Json]) -> Json:
    if isinstance(template, dict):
        return {name: _filled(one, values) for name, one in template.items()}
    if isinstance(template, list):
        return [_filled(one, values) for one in template]
    if not isinstance(template, str):
        return None if template is None else json.loads(json.dumps(template))
    if alone := _PLACEHOLDER.fullmatch(template):
        return values.get(alone[1]) or None
    return _PLACEHOLDER.sub(lambda match: _as_text(values.get(match[1])), template)


def _as_text(value: Json) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def _text(reply: ToolReply) -> str:
    return "\n".join(part.text for part in reply.parts if part.text)


def _data(reply: ToolReply) -> Any:
    """The structured content, or the JSON that a text is; None for a text that is none."""
    if reply.structured is not None:
        return reply.structured
    with suppress(ValueError):
        found = bounded_json.loads(_text(reply))
        return found if isinstance(found, (dict, list)) else None
    return None


def _listed(binding: Binding, data: Any) -> Iterator[Source]:
    """The sources of a list, each with a usable address."""
    items = (
        data
        if isinstance(data, list) and not binding.result.get("items")
        else _at(data, binding.result.get("items", ""), "items")
    )
    if isinstance(items, str):
        return _linked(items, binding.name)
    if not isinstance(items, list):
        raise BadReply(f"{binding.name} sent no list of results", provider=binding.name)
    return (source for item in items[:MAX_ITEMS] if (source := _source(binding, item)) is not None)


def _source(binding: Binding, item: Any) -> Source | None:
    item = {"url": item} if isinstance(item, str) else item
    if not isinstance(item, dict):
        return None
    told = {name: _at(item, binding.result.get(name, ""), name) for name in ("url", "title", "description", "published")}
    url = web_address(told["url"])
    if not url:
        return None
    return Source(
        url=url,
        title=snippet(told["title"], limit=300),
        description=snippet(page_text(told["description"])),
        published=day(told["published"]),
        provider=binding.name,
    )


def _linked(text: str, provider: str) -> Iterator[Source]:
    """The addresses in a text; the lines around one may say its title and what it is about."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        for match in _LINK.finditer(line):
            url = web_address((match[2] or match[3] or "").rstrip(".,;:"))
            before = _TITLE.search(lines[number - 1]) if number else None
            after = _TEXT.match(lines[number + 1].strip()) if number + 1 < len(lines) else None
            title = match[1] or (before[1] if before else "")
            if url:
                about = snippet(after[1]) if after else ""
                yield Source(url=url, title=snippet(title, limit=300), description=about, provider=provider)


def _at(data: Any, place: str, usual: str) -> Any:
    """What stands at a place; at the first of the usual ones where none is named."""
    for one in (place,) if place else USUAL[usual]:
        found = data
        for key in one.split("."):
            found = _step(found, key)
        if found is not None:
            return found
    return None


def _step(data: Any, key: str) -> Any:
    if isinstance(data, dict):
        return data.get(key)
    if isinstance(data, list) and key.isdecimal() and int(key) < len(data):
        return data[int(key)]
    return None


def _wrong(section: Any) -> str:
    """What is wrong with a section; empty when nothing is."""
    if not isinstance(section, dict):
        return "is no section"
    if section.get("kind") != "mcp":
        return 'kind must be "mcp"'
    for key in ("upstream", "tool"):
        if not isinstance(section.get(key), str) or not section[key].strip():
            return f"{key} is missing"
    serves = section.get("serves")
    if not isinstance(serves, str) or serves not in get_args(Serves):
        return f"serves must be one of: {', '.join(get_args(Serves))}"
    if unknown := section.keys() - {"kind", "upstream", "tool", "serves", "arguments", "result"}:
        return f"unknown key {min(unknown)}"
    arguments, result = section.get("arguments", {}), section.get("result", {})
    if not isinstance(arguments, dict) or not isinstance(result, dict):
        return "arguments and result must be tables"
    if not all(isinstance(place, str) for place in result.values()) or result.keys() - USUAL.keys():
        return f"result takes places as texts, for: {', '.join(USUAL)}"
    if strange := set(_PLACEHOLDER.findall(json.dumps(arguments, default=str))) - VALUES[serves]:
        return f"{{{min(strange)}}} is unknown; known: {', '.join(sorted(VALUES[serves]))}"
    return ""


# --- the providers ------------------------------------------------------------------------------------------------


class _Bound:
    """A tool, asked once; again only where it surely did not run."""

    def __init__(self, binding: Binding, upstreams: Upstreams) -> None:
        self._binding = binding
        self._upstreams = upstreams
        self.name = binding.name

    async def probe(self, *, live: bool = False) -> Health:
        """Whether its upstream is there and has the tool; the same with `live`, for a call may do anything."""
        return await UpstreamProbe(self._binding.upstream, self._upstreams, part=self.name, tool=self._binding.tool).probe(
            live=live
        )

    async def _asked(self, values: Mapping[str, Json]) -> ToolReply:
        arguments = arguments_to_wire(self._binding, values)
        try:
            reply = await self._sent(arguments)
        except KeyError as error:
            raise ProviderError(f"there is no upstream {self._binding.upstream!r}", provider=self.name) from error
        except WebSearchError as error:
            raise self._ours(error) from error
        if reply.failed:
            raise ProviderError(f"{self._binding.tool} of {self._binding.upstream} says that it failed", provider=self.name)
        return reply

    async def _sent(self, arguments: Mapping[str, Json]) -> ToolReply:
        link = await self._upstreams.link(self._binding.upstream)
        try:
            return await link.call(self._binding.tool, arguments)
        except Unreachable:
            link = await self._upstreams.link(self._binding.upstream, after=link)
            return await link.call(self._binding.tool, arguments)

    def _ours(self, error: WebSearchError) -> WebSearchError:
        return type(error)(
            error.message, provider=self.name, hint=error.hint, http_status=error.http_status, retry_after_s=error.retry_after_s
        )


class BoundFinder(_Bound):
    """A SourceFinder."""

    @property
    def keeps(self) -> frozenset[Filter]:
        """The hosts, by leaving out others; how fresh, where the template passes it on."""
        hosts: frozenset[Filter] = frozenset({"include_domains", "exclude_domains"})
        return hosts | {"fresh_within"} if "{fresh_within}" in json.dumps(dict(self._binding.arguments), default=str) else hosts

    async def find(self, query: SearchQuery, /) -> SourceList:
        """At most the wanted number of pages, 5 unless the query says.

        Raises:
            ProviderError, NotAllowed: as the upstream, or the tool failed.
        """
        values: dict[str, Json] = {
            "query": typed(query, limit=MAX_QUERY_CHARS),
            "words": query.query,
            "limit": query.extra_sources or DEFAULT_RESULTS,
            "fresh_within": "" if query.fresh_within == "any" else query.fresh_within,
            "include_domains": list(query.include_domains),
            "exclude_domains": list(query.exclude_domains),
            "platform": query.platform,
        }
        return sources_from_wire(self._binding, await self._asked(values), query)


class BoundReader(_Bound):
    """An Extractor."""

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """The page as the tool tells it.

        Raises:
            ProviderError, NotAllowed: as the upstream, or the tool failed or had no text.
        """
        return page_from_wire(self._binding, await self._asked({"url": request.url}), request)


class BoundMapper(_Bound):
    """A Mapper."""

    async def map(self, request: MapRequest, /) -> SiteMap:
        """The pages that the tool lists, in its order.

        Raises:
            ProviderError, NotAllowed: as the upstream, or the tool failed.
        """
        values: dict[str, Json] = {
            "url": request.url,
            "limit": request.offset + request.limit,
            "instructions": request.instructions,
            "max_depth": request.max_depth,
            "max_breadth": request.max_breadth,
        }
        return links_from_wire(self._binding, await self._asked(values), request)


class UpstreamProbe:
    """What the doctor says of an upstream: connects to it, calls nothing."""

    def __init__(self, upstream: str, upstreams: Upstreams, *, part: str = "", tool: str = "") -> None:
        self._upstream = upstream
        self._upstreams = upstreams
        self._tool = tool
        self.name = part or f"upstream {upstream}"

    async def probe(self, *, live: bool = False) -> Health:  # noqa: ARG002 - a call may do anything, so none is made
        """`ok` with its tools, `off` when it is switched off, otherwise why it is failing."""
        from websearch_core.errors import NotAllowed

        try:
            link = await self._upstreams.link(self._upstream)
        except KeyError:
            return Health(part=self.name, state="failing", detail=f"there is no upstream {self._upstream!r}")
        except NotAllowed:
            return Health(part=self.name, state="off", detail="it is switched off")
        except WebSearchError as error:
            return Health(part=self.name, state="failing", detail=f"{error.message}. {error.hint or ''}".strip())
        tools = {one.tool.name for one in self._upstreams.catalog().tools if one.upstream == self._upstream}
        if self._tool and self._tool not in tools:
            return Health(part=self.name, state="failing", detail=f"{self._upstream} has no tool {self._tool!r}")
        about = " ".join(filter(None, (link.info.name, link.info.version)))
        return Health(part=self.name, state="ok", detail=f"{len(tools)} tools; {about}, protocol {link.info.protocol}")
