"""Use case: which tools of the upstreams fit a need."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from websearch_core import budget, fence, outcome
from websearch_core.errors import EmptyResult, NotConfigured, Unreachable, WebSearchError
from websearch_core.events import SILENT, Observer
from websearch_core.hub.index import ToolIndex, ToolMatch
from websearch_core.hub.ports import SERVICE, Upstreams
from websearch_core.hub.values import Catalog, FindRequest, FindResult, FoundTool, UpstreamState, UpstreamStatus
from websearch_core.values import Json, Note

__all__ = ["FindTools"]

DESCRIPTION_CHARS = 2_048
TITLE_CHARS = 200
RESERVE_CHARS = 400
"""Kept free for the envelope's words."""
MOST_NAMED = 5
"""Upstreams that are named as awaited; of more, the number is told."""
WORDY = frozenset({"description", "title", "examples", "$comment", "default"})
"""Keywords of a schema that a call can do without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindTools:
    """`await find(FindRequest(need="open an issue"))`."""

    upstreams: Upstreams
    index: ToolIndex = field(default_factory=ToolIndex)
    observe: Observer = SILENT

    async def __call__(self, request: FindRequest, /, *, within_s: float | None = None) -> FindResult:  # noqa: ARG002 - all use cases take it
        """The tools that fit, best first, as many as `max_chars` allows, at least one.

        While an upstream's tools are awaited, the result is a partial success. Nothing that fits is a failure that says whether
        waiting can help.
        """
        catalog = self.upstreams.catalog()
        self.index.update(catalog)
        statuses = self.upstreams.statuses()
        # one that failed before it listed anything is out of reach, and waiting for it is of no use
        awaited = tuple(one.name for one in statuses if one.state == "initializing" and one.name in catalog.discovering)
        with self.observe.span("find", tools=len(self.index)) as span:
            found = self.index.search(request.need, upstream=request.upstream, offset=request.offset, limit=request.limit)
            base = FindResult(
                total=found.total, searched=len(self.index), discovering=awaited[:MOST_NAMED], notes=_left_out(catalog)
            )
            if not found.items:
                span.note(outcome="empty")
                return outcome.failed(base, _nothing(request, statuses, awaited, found.total), "find")
            span.note(outcome="success", found=found.total)
        base = outcome.partly(base, _awaited(awaited), "find") if awaited else base
        states = {status.name: status.state for status in statuses}
        return budget.within(lambda room: self._fitted(base, found.items, request, states, room), request.max_chars)

    def _fitted(
        self,
        base: FindResult,
        matches: tuple[ToolMatch, ...],
        request: FindRequest,
        states: Mapping[str, UpstreamState],
        max_chars: int,
    ) -> FindResult:
        room = max_chars - RESERVE_CHARS - budget.json_chars(base)
        tools: list[FoundTool] = []
        for match in matches:
            tool = _found(match, states)
            if budget.json_chars(tool) > room:
                tool = _shortened(tool, room)
            if tools and budget.json_chars(tool) > room:
                break
            tools.append(tool)
            room -= budget.json_chars(tool) + 1
        after = request.offset + len(tools)
        return dataclasses.replace(base, tools=tuple(tools), next_offset=after if after < base.total else None)


def _nothing(request: FindRequest, statuses: tuple[UpstreamStatus, ...], awaited: tuple[str, ...], total: int) -> WebSearchError:
    """Why nothing is shown, by who can help."""
    if not statuses:
        return NotConfigured("no upstream is configured", provider=SERVICE, hint="Add one with: websearch upstream add")
    if request.offset and total:
        return EmptyResult(f"only {total} tools fit", hint=f"Use an offset below {total}.")
    if request.upstream and request.upstream not in {status.name for status in statuses}:
        known = ", ".join(status.name for status in statuses[:20])
        return EmptyResult("there is no such upstream", hint=f"Leave upstream out, or use one of: {known}.")
    if awaited:
        return _awaited(awaited)
    out = [f"{status.name} ({status.state})" for status in statuses if status.state != "ready"]
    hint = "Describe in other words what the tool should do."
    return EmptyResult("no tool fits", hint=f"{hint} Out of reach now: {', '.join(out[:20])}." if out else hint)


def _awaited(discovering: tuple[str, ...]) -> Unreachable:
    more = len(discovering) - MOST_NAMED
    names = ", ".join(discovering[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return Unreachable(
        f"the tools of these upstreams are still awaited: {names}",
        provider=SERVICE,
        hint="If no tool fits, call find_tools again in a few seconds.",
    )


def _left_out(catalog: Catalog) -> tuple[Note, ...]:
    return tuple(
        Note(code="tools_left_out", text=f"{upstream} lists {count} tools more than are kept", provider=SERVICE)
        for upstream, count in catalog.left_out.items()
    )


def _found(match: ToolMatch, states: Mapping[str, UpstreamState]) -> FoundTool:
    entry, tool = match.entry, match.entry.tool
    state = states.get(entry.upstream, "unavailable")
    return FoundTool(
        id=entry.id,
        upstream=entry.upstream,
        score=None if match.exact else round(match.score, 3),
        name="" if entry.id.endswith(f"__{tool.name}") else fence.clean(tool.name, limit=TITLE_CHARS),
        title=fence.clean(tool.title, limit=TITLE_CHARS),
        description=_cut(fence.clean(tool.description), DESCRIPTION_CHARS),
        input_schema=cast("Mapping[str, Json]", fence.clean_json(tool.input_schema)),
        state="" if state == "ready" else state,
    )


def _shortened(tool: FoundTool, room: int) -> FoundTool:
    """Without the wordy keywords of its schema, then with less description, then with the names of its arguments alone."""
    slim = dataclasses.replace(tool, input_schema=cast("Mapping[str, Json]", _without_words(tool.input_schema)), schema_cut=True)
    for most in (DESCRIPTION_CHARS, 500, 200):
        short = dataclasses.replace(slim, description=_cut(slim.description, most))
        if budget.json_chars(short) <= room:
            return short
    properties = slim.input_schema.get("properties")
    names = sorted(properties)[:50] if isinstance(properties, dict) else []
    bare: dict[str, Json] = {"type": "object", "properties": {name[:60]: {} for name in names}}
    required = slim.input_schema.get("required")
    if isinstance(required, list):
        bare["required"] = [str(name)[:60] for name in required[:50]]
    return dataclasses.replace(slim, description=_cut(slim.description, 200), input_schema=bare)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _without_words(value: object, *, names: bool = False) -> Json:
    """A schema without its wordy keywords; under `properties` the same words are names of arguments and stay."""
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if names or key not in WORDY}
        return {key: _without_words(item, names=not names and key in {"properties", "$defs"}) for key, item in kept.items()}
    if isinstance(value, (list, tuple)):
        return [_without_words(item) for item in value]
    return cast("Json", value)
