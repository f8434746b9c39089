"""Use case: carry out a complete plan, group by group, under one deadline, into one result with all its sources."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from websearch_core import budget, deadline, merge, outcome, progress
from websearch_core.errors import EmptyResult, InvalidInput, OutOfTime, WebSearchError
from websearch_core.fetch import Fetch
from websearch_core.inflight import settled, stopped
from websearch_core.map import Map
from websearch_core.planning import order
from websearch_core.planning.record import complete, incomplete, kept_plan, params_of
from websearch_core.planning.values import Plan, PlanSubQuery
from websearch_core.ports import Cache
from websearch_core.search import Search
from websearch_core.values import (
    FetchRequest,
    FetchResult,
    MapRequest,
    MapResult,
    Note,
    Outcome,
    SearchQuery,
    SearchResult,
    Source,
)

__all__ = ["RunPlan"]

AT_ONCE = 4
"""Parts of a group that run side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What came of one sub-query."""

    about: PlanSubQuery
    result: Outcome
    text: str = ""
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """`await run(SearchQuery(query=…, plan=session_id))`."""

    search: Search
    fetch: Fetch
    map: Map
    cache: Cache
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex[:12]

    async def __call__(self, query: SearchQuery, /, *, within_s: float | None = None) -> SearchResult:
        """One section for each sub-query in the plan's order, the sources of all, and a note for each part that failed.

        The filters of `query` hold for every search of the plan; arguments of a tool mapping stand above them.
        """
        empty = SearchResult(session_id=self.new_id())
        limit_s = min(self.search.rules.deadline_s, within_s or self.search.rules.deadline_s)
        try:
            plan = await kept_plan(self.cache, query.plan)
            if not complete(plan):
                raise incomplete(plan)
        except WebSearchError as error:
            return outcome.failed(empty, error, "plan")
        parts = await self._parts(plan, query, deadline.now() + limit_s)
        result = _composed(empty, parts)
        if result.status != "error":
            await self.cache.put(f"session:{result.session_id}", result, ttl_s=self.search.rules.sources_ttl_s)
        return budget.fit_search(result, query.max_chars, inline=self.search.rules.inline_sources)

    async def _parts(self, plan: Plan, query: SearchQuery, end: float) -> list[_Part]:
        by_id, done = {one.id: one for one in plan.sub_queries}, list[_Part]()
        gate = asyncio.Semaphore(AT_ONCE)

        async def part(about: PlanSubQuery) -> _Part:
            async with gate:
                left = end - deadline.now()
                return await self._part(plan, about, query, left) if left > 0 else _late(about)

        for group in order.groups(plan.sub_queries, plan.execution):
            progress.tell(f"plan: {', '.join(group)[:80]}", done=len(done), total=len(by_id))
            tasks = {name: asyncio.ensure_future(part(by_id[name])) for name in group}
            try:
                await asyncio.wait(tasks.values())
            finally:
                await stopped(tasks.values())
            results = ((name, settled(task, None)) for name, task in tasks.items())
            done += [one if isinstance(one, _Part) else _failed(by_id[name], one) for name, one in results]
        return done

    async def _part(self, plan: Plan, about: PlanSubQuery, query: SearchQuery, left_s: float) -> _Part:
        mapping = next((one for one in plan.tools if one.sub_query_id == about.id), None)
        tool = mapping.tool if mapping else about.tool_hint or "web_search"
        params = params_of(mapping) if mapping else {}
        if tool == "web_search" or "url" not in params:  # without an address there is only searching
            return await self._searched(plan, about, query, params, left_s)
        try:
            if tool == "web_fetch":
                return _page(about, await self.fetch(FetchRequest(**_known(FetchRequest, params)), within_s=left_s))
            return _site(about, await self.map(MapRequest(**_known(MapRequest, params)), within_s=left_s))
        except InvalidInput as error:
            return _failed(about, error)

    async def _searched(
        self, plan: Plan, about: PlanSubQuery, query: SearchQuery, params: dict[str, Any], left_s: float
    ) -> _Part:
        """The first of the part's terms that finds something; without terms its goal."""
        end = deadline.now() + left_s
        given = {name: value for name, value in _known(SearchQuery, params).items() if name not in {"plan", "model"}}
        part = _late(about)
        for words in [given.pop("query", None)] if "query" in given else _terms(plan, about):
            left = end - deadline.now()
            if left <= 0:
                break
            try:
                asked = dataclasses.replace(query, **{"plan": "", "include_content": False, **given, "query": words})
            except (InvalidInput, TypeError) as error:
                return _failed(about, InvalidInput(str(error)[:300]))
            result = await self.search(asked, within_s=left)
            whole = await self.cache.get(f"session:{result.session_id}", SearchResult) or result  # what is returned may be cut
            part = _Part(about=about, result=result, text=whole.content, sources=whole.sources)
            if result.status != "error":
                break
        return part


def _terms(plan: Plan, about: PlanSubQuery) -> list[str]:
    """What to search with, round by round: terms whose purpose names the part, else its goal."""
    named = [one for one in plan.search_terms if about.id in one.purpose.replace(",", " ").replace(":", " ").split()]
    return [one.term for one in sorted(named, key=lambda one: one.round)] or [about.goal]


def _known(request: type, params: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the request knows; lists as tuples."""
    names = {item.name for item in dataclasses.fields(request)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in params.items() if name in names}


def _page(about: PlanSubQuery, result: FetchResult) -> _Part:
    sources = (Source(url=result.final_url or result.url, title=result.title, provider=result.provider or ""),)
    return _Part(about=about, result=result, text=result.content, sources=sources if result.status != "error" else ())


def _site(about: PlanSubQuery, result: MapResult) -> _Part:
    sources = tuple(Source(url=url, provider=result.provider or "") for url in result.results)
    return _Part(about=about, result=result, text="\n".join(f"- {url}" for url in result.results), sources=sources)


def _late(about: PlanSubQuery) -> _Part:
    return _failed(about, OutOfTime("the plan's time was up before this part began"))


def _failed(about: PlanSubQuery, error: WebSearchError) -> _Part:
    return _Part(about=about, result=outcome.failed(SearchResult(session_id=""), error, "search"))


def _composed(empty: SearchResult, parts: list[_Part]) -> SearchResult:
    """The whole result: sections, merged sources, and how much of the plan came true."""
    good = [part for part in parts if part.result.status != "error"]
    sources: tuple[Source, ...] = ()
    for part in parts:
        sources = merge.merged(sources, part.sources)
    result = dataclasses.replace(
        empty,
        content="\n\n".join(f"## {part.about.id}: {part.about.goal}\n\n{part.text}" for part in good),
        sources=sources,
        sources_count=len(sources),
        search_provider="plan",
        notes=(*(_note(part) for part in parts if part.result.status != "success"), *_said(good)),
    )
    if all(part.result.status == "success" for part in parts):
        return result
    if not good:
        error = EmptyResult("no part of the plan found anything", provider="planning")
        return outcome.failed(dataclasses.replace(result, content="", search_provider=""), error, "plan")
    failed = [part.about.id for part in parts if part.result.status != "success"]
    error = EmptyResult(f"parts of the plan are missing or incomplete: {', '.join(failed)[:300]}", provider="planning")
    action = "Use what is there; the notes say what happened to each missing part. Run the plan again to try them again."
    return outcome.partly(result, error, "plan", next_action=action)


def _said(parts: list[_Part]) -> Iterator[Note]:
    """The notes of pages and maps, where a cut is told that this result cannot read on; a search is taken in whole."""
    for part in parts:
        for note in () if isinstance(part.result, SearchResult) else part.result.notes:
            yield dataclasses.replace(note, text=f"{part.about.id}: {note.text}"[:300])


def _note(part: _Part) -> Note:
    detail = part.result.error_detail
    said = f"{detail.message}. {part.result.next_action or ''}" if detail else "incomplete"
    return Note(
        code=detail.code if detail else "partial",
        text=f"{part.about.id}: {said}"[:300],
        provider=detail.service if detail else "",
    )
