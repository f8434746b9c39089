"""Which tools there are, under which ids, and who may see them: pure, replaced as a whole, never half changed.

A registry keeps every tool as its upstream listed it, also those that nobody may see now, so that switching a tool on again needs
no new list. The words of a tool that were seen first count as accepted; a tool whose words are others later is withdrawn until a
person accepts them, for a tool that changes its words after it was approved is an attack.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from websearch_core.hub import names
from websearch_core.hub.values import Catalog, CatalogTool, Standing, UpstreamSpec, UpstreamStatus, UpstreamTool

__all__ = [
    "MAX_TOOLS",
    "Diff",
    "Explanation",
    "Listing",
    "Registry",
    "accepted",
    "app_tools",
    "explained",
    "findable",
    "forgotten",
    "listed",
    "reaccepted",
    "respecified",
    "unmatched_patterns",
]

MAX_TOOLS = 5_000
"""Of one upstream; what it lists beyond is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What one upstream listed, and by which settings it is judged."""

    spec: UpstreamSpec
    tools: tuple[UpstreamTool, ...] = ()
    instructions: str = ""
    digests: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Accepted words: raw tool name → digest. Outlives the tool's absence."""
    left_out: int = 0
    """Tools that it lists beyond those that are kept."""
    awaited: bool = True
    """Whether its first list is still to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """All listings, and the catalog that follows from them."""

    listings: Mapping[str, Listing] = dataclasses.field(default_factory=dict)
    judged: Mapping[str, tuple[CatalogTool, ...]] = dataclasses.field(default_factory=dict)
    """Each upstream's entries, before those of other upstreams are looked at."""
    catalog: Catalog = dataclasses.field(default_factory=Catalog)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What a change did to the tools that a model can find, by id."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a tool is or is not there for a model; each step is a sentence, in the order in which it is decided."""

    entry: CatalogTool
    findable: bool
    steps: tuple[str, ...]


def respecified(
    registry: Registry, spec: UpstreamSpec, *, awaited: bool = True, digests: Mapping[str, str] | None = None
) -> tuple[Registry, Diff]:
    """With the upstream, or with other settings of it: what it listed before is judged anew, without a new list.

    `awaited`: whether a first list is to come. `digests`: the words that were accepted in an earlier life of the process.
    """
    before = registry.listings.get(spec.name)
    if before is None:
        listing = Listing(spec=spec, digests=dict(digests or {}), awaited=awaited)
    else:
        listing = dataclasses.replace(before, spec=spec, awaited=awaited and before.awaited)
    return _with(registry, listing)


def listed(registry: Registry, upstream: str, tools: Iterable[UpstreamTool], *, instructions: str = "") -> tuple[Registry, Diff]:
    """With a new list in place of the upstream's old one. An empty list withdraws all its tools.

    Raises:
        KeyError: there is no such upstream.
    """
    listing = registry.listings[upstream]
    everything = tuple(tools)
    new = everything[:MAX_TOOLS]
    now = {tool.name: tool.digest for tool in reversed(new)}
    known = {**listing.digests, **now} if listing.spec.accept_changes else {**now, **listing.digests}
    absent = [name for name in listing.digests if name not in now]
    for name in absent[: max(len(absent) - MAX_TOOLS, 0)]:
        del known[name]
    listing = dataclasses.replace(
        listing,
        tools=new,
        instructions=instructions,
        digests=known,
        left_out=len(everything) - len(new),
        awaited=False,
    )
    return _with(registry, listing)


def accepted(registry: Registry, upstream: str, tool: str | None = None) -> tuple[Registry, Diff]:
    """With the present words of the raw tool, or of all the upstream's tools, as the accepted ones.

    Raises:
        KeyError: there is no such upstream.
    """
    listing = registry.listings[upstream]
    present = {one.name: one.digest for one in reversed(listing.tools) if tool is None or one.name == tool}
    return _with(registry, dataclasses.replace(listing, digests={**listing.digests, **present}))


def reaccepted(registry: Registry, upstream: str, digests: Mapping[str, str]) -> tuple[Registry, Diff]:
    """With what another process accepted meanwhile: of a tool in `digests` those words count, of any other the ones of before.

    Raises:
        KeyError: there is no such upstream.
    """
    listing = registry.listings[upstream]
    if all(listing.digests.get(name) == digest for name, digest in digests.items()):
        return registry, Diff()
    return _with(registry, dataclasses.replace(listing, digests={**listing.digests, **digests}))


def forgotten(registry: Registry, upstream: str) -> tuple[Registry, Diff]:
    """Without the upstream and all that was known of it."""
    listings = {name: one for name, one in registry.listings.items() if name != upstream}
    return _combined(registry, listings, {name: one for name, one in registry.judged.items() if name != upstream})


def findable(catalog: Catalog) -> tuple[CatalogTool, ...]:
    """The tools that a model can find and call."""
    return tuple(entry for entry in catalog.tools if entry.standing == "visible")


def app_tools(catalog: Catalog) -> tuple[CatalogTool, ...]:
    """The tools with a user interface of their own; one that a model sees as well is in both lists."""
    return tuple(entry for entry in catalog.tools if entry.tool.ui_resource and entry.standing in {"visible", "app_only"})


def unmatched_patterns(listing: Listing) -> tuple[str, ...]:
    """Patterns and names in the settings that fit no listed tool: most likely spelt wrong."""
    spec, raw = listing.spec, [tool.name for tool in listing.tools]
    wanted = dict.fromkeys([*spec.tools_allow, *spec.tools_deny, *spec.tool_timeouts_s])
    return tuple(pattern for pattern in wanted if not any(_fits(name, (pattern,)) for name in raw))


def explained(registry: Registry, word: str, statuses: Iterable[UpstreamStatus] = ()) -> tuple[Explanation, ...]:
    """Why each tool of this id or raw name is or is not there for a model; none when no upstream listed it."""
    states = {status.name: status for status in statuses}
    wanted = word.strip().casefold()
    found = [one for one in registry.catalog.tools if wanted in {one.id.casefold(), one.tool.name.casefold()}]
    return tuple(
        Explanation(entry=one, findable=one.standing == "visible", steps=tuple(_steps(registry, one, states))) for one in found
    )


def _steps(registry: Registry, entry: CatalogTool, states: Mapping[str, UpstreamStatus]) -> Iterator[str]:
    listing = registry.listings[entry.upstream]
    status = states.get(entry.upstream)
    if status is not None:
        yield f"upstream {entry.upstream} is {status.state}" + (f" ({status.reason})" if status.reason else "")
    yield f"it lists a tool named {entry.tool.name!r}"
    plain = f"{entry.upstream}{names.SEPARATOR}{entry.tool.name}"
    yield f"its id is {entry.id}" + ("" if entry.id == plain else f", for {plain!r} is not legal or too long everywhere")
    if not entry.tool.for_models:
        yield "its upstream shows it to apps only"
    if entry.tool.ui_resource:
        yield f"it has a user interface: {entry.tool.ui_resource}"
    known = listing.digests.get(entry.tool.name, "")
    yield f"digest of its words: {entry.tool.digest}" + (f", accepted: {known}" if known != entry.tool.digest else ", accepted")
    yield "a model finds and calls it" if entry.standing == "visible" else f"a model does not see it: {entry.why}"


def _with(registry: Registry, listing: Listing) -> tuple[Registry, Diff]:
    """The listing in place of the one of before; only its own tools are judged again."""
    name = listing.spec.name
    judged = {**registry.judged, name: tuple(_judged(listing))}
    return _combined(registry, {**registry.listings, name: listing}, judged)


def _combined(
    registry: Registry, listings: Mapping[str, Listing], judged: Mapping[str, tuple[CatalogTool, ...]]
) -> tuple[Registry, Diff]:
    """The catalog of all entries; one that is equal to an entry of before is that entry itself."""
    before = {(one.upstream, one.id, one.tool.name, one.standing): one for one in registry.catalog.tools}
    entries = sorted(itertools.chain.from_iterable(judged.values()), key=lambda one: (one.id, one.upstream, one.tool.name))
    catalog = Catalog(
        tools=tuple(
            _same(before.get((one.upstream, one.id, one.tool.name, one.standing)), one) for one in _without_clashes(entries)
        ),
        instructions={name: one.instructions for name, one in sorted(listings.items()) if one.instructions and one.tools},
        discovering=tuple(name for name, one in sorted(listings.items()) if one.awaited and one.spec.enabled),
        left_out={name: one.left_out for name, one in sorted(listings.items()) if one.left_out},
    )
    if catalog == registry.catalog:
        catalog = registry.catalog
    return Registry(listings=listings, judged=judged, catalog=catalog), _diff(registry.catalog, catalog)


def _same(before: CatalogTool | None, now: CatalogTool) -> CatalogTool:
    return before if before is not None and before == now else now


def _diff(before: Catalog, after: Catalog) -> Diff:
    old = {one.id: one for one in findable(before)}
    new = {one.id: one for one in findable(after)}
    return Diff(
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=tuple(name for name, one in new.items() if name in old and old[name] is not one and old[name] != one),
    )


def _judged(listing: Listing) -> Iterator[CatalogTool]:
    seen: set[str] = set()
    for tool in listing.tools:
        standing, why = _standing(listing, tool)
        if tool.name in seen:
            standing, why = "clashing", "its upstream lists the name twice; the first one counts"
        seen.add(tool.name)
        name = names.tool_id(listing.spec.name, tool.name)
        yield CatalogTool(id=name, upstream=listing.spec.name, tool=tool, standing=standing, why=why)


def _standing(listing: Listing, tool: UpstreamTool) -> tuple[Standing, str]:
    spec = listing.spec
    if _fits(tool.name, spec.tools_deny):
        return "disabled", "tools_deny names it"
    if spec.tools_allow and not _fits(tool.name, spec.tools_allow):
        return "disabled", "tools_allow does not name it"
    if listing.digests.get(tool.name, tool.digest) != tool.digest:
        return "changed", f"its words changed; accept them with: websearch upstream accept {spec.name}"
    if not tool.for_models:
        return "app_only", "its upstream shows it to apps only"
    return "visible", ""


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == pattern or ("*" in pattern and fnmatch.fnmatchcase(name, pattern)) for pattern in patterns)


def _without_clashes(entries: list[CatalogTool]) -> list[CatalogTool]:
    """Of several entries with one id, in order: the first that is not clashing already keeps it."""
    kept: list[CatalogTool] = []
    owners: dict[str, CatalogTool] = {}
    for entry in entries:
        owner = owners.get(entry.id)
        if entry.standing != "clashing" and owner is not None:
            why = f"its id is taken by {owner.tool.name!r} of {owner.upstream}"
            entry = dataclasses.replace(entry, standing="clashing", why=why)  # noqa: PLW2901 - the judged form replaces it
        elif entry.standing != "clashing":
            owners[entry.id] = entry
        kept.append(entry)
    return kept
