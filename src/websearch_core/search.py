"""Use case: answer a question with sources.

The engine and the source finder run side by side. The engine's answer stands alone; found sources come beside it, or, when
the engine fails, in its place as a list that says in its first sentence that it is no answer.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Literal, TypeAlias

from websearch_core import budget, deadline, fence, fingerprint, merge, outcome, verification
from websearch_core.chain import NoEngine, read_through
from websearch_core.errors import (
    AllFailed,
    AuthRejected,
    BadReply,
    EmptyResult,
    NotConfigured,
    OutOfTime,
    Unverified,
    WebSearchError,
)
from websearch_core.events import SILENT, Observer
from websearch_core.inflight import InFlight, settled, stopped
from websearch_core.ports import AnswerEngine, Cache, Extractor, SourceFinder
from websearch_core.ranking import Ranking
from websearch_core.values import (
    Answer,
    ErrorDetail,
    FedQuery,
    FetchRequest,
    Note,
    Page,
    SearchQuery,
    SearchResult,
    Source,
    SourceList,
    Verify,
)

__all__ = ["Search", "SearchRules"]

Found: TypeAlias = "SourceList | WebSearchError | None"
"""None: no finder was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRules:
    """What the operator decides."""

    source_fallback: Literal["sources", "never"] = "sources"
    require_sources: Literal["auto", "always", "never"] = "auto"
    extra_sources: int = 3
    """For a query that does not say, when a finder is configured."""
    fallback_sources: int = 5
    candidates: int = 10
    """Pages to ask a finder for where fewer are wanted, so that there is something to choose from."""
    inline_sources: int = 5
    verify: Verify = "off"
    """For a query that does not say: how many of the cited pages to check."""
    deadline_s: float = 270.0
    feed: bool = False
    """Ask the finder first, and give what it found to the engine as data."""
    feed_allowance_s: float = 8.0
    """How long the engine waits for that."""
    fed_sources: int = 8
    extras_allowance_s: float = 20.0
    """The finder's own time, from the start of the call."""
    contents: int = 5
    contents_at_once: int = 3
    content_chars: int = 15_000
    """Pages read for `include_content`, `contents_at_once` at a time, each shown with at most `content_chars`."""
    contents_allowance_s: float = 15.0
    cache_ttl_s: float = 300.0
    sources_ttl_s: float = 3_600.0
    page_ttl_s: float = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPointer:
    """Which session answered a question lately."""

    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """`await search(SearchQuery(query="what changed in HTTP/3?"))`."""

    engine: AnswerEngine
    finder: SourceFinder
    extractor: Extractor
    cache: Cache
    rules: SearchRules = SearchRules()
    ranking: Ranking = field(default_factory=Ranking)
    observe: Observer = SILENT
    now: Callable[[], float] = time.time
    running: InFlight = field(default_factory=InFlight)
    """Questions under way: the same one is paid for once. Close it when the process ends."""

    async def __call__(self, query: SearchQuery, /, *, within_s: float | None = None) -> SearchResult:
        """An answer with sources, or what can be had of it, within `within_s` seconds (at most the operator's limit).

        An engine that needs longer than `within_s` goes on until the operator's limit; its answer is then under the
        session of the partial result.
        """
        if (kept := await self._kept(query)) is not None:
            return self._fitted(kept, query)
        clock = _Clock(min(within_s or self.rules.deadline_s, self.rules.deadline_s))
        with self.observe.span("search", engine=self.engine.name) as span:
            async with AsyncExitStack() as asked, AsyncExitStack() as joined:
                finding = await self._find(query, clock, joined, fallback=self.rules.feed)
                put = await self._fed(query, finding, clock)
                asking, answer = None, _NO_ENGINE
                for attempt in range(0 if self._no_engine else 2):
                    asking = await self._ask(put, attempt, asked)
                    await asyncio.wait({asking}, timeout=clock.left(reserve=0.0 if finding else self._reserve(clock)))
                    answer = self._verified(settled(asking, "grok"), query)
                    if not isinstance(answer, Unverified):
                        break
                if self._needs_finder(answer) and finding is None:
                    finding = await self._find(query, clock, joined, fallback=True)
                if finding is not None:
                    until = None if isinstance(answer, WebSearchError) else self.rules.extras_allowance_s
                    await asyncio.wait({finding}, timeout=clock.left(until=until))
                found = settled(finding, self._asked) if finding else None
                result = await self._checked(query, self._composed(query, answer, found, uuid.uuid4().hex[:12]), clock)
                if query.include_content and result.sources:
                    result = await self._with_contents(result, clock)
                if asking is not None and not asking.done() and clock.total_s < self.rules.deadline_s:
                    result = self._coming(result)
                    late = self._finish(query, asking, found, result.session_id, clock, asked.pop_all())
                    self.running.keep(late)
            span.note(outcome=result.error or result.status, sources=len(result.sources))
        await self._keep(query, result, also_errors=bool(result.pending_until))
        return self._fitted(result, query)

    async def _fed(self, query: SearchQuery, finding: asyncio.Task[SourceList] | None, clock: _Clock) -> SearchQuery:
        """The question as the engine gets it: with what the finder found in time, where the operator wants that."""
        if not self.rules.feed or self._no_engine or finding is None:
            return query
        await asyncio.wait({finding}, timeout=clock.left(until=self.rules.feed_allowance_s))
        found = self._ranked(query, settled(finding, self._asked)) if finding.done() else None
        if not isinstance(found, SourceList) or not found.items:
            return query
        given = {one.name: getattr(query, one.name) for one in dataclasses.fields(query)}
        return FedQuery(**given, found=found.items[: self.rules.fed_sources])

    async def _ask(self, query: SearchQuery, attempt: int, joined: AsyncExitStack) -> asyncio.Task[Answer]:
        """The engine's run for this question, perhaps begun by another caller; it may take the operator's whole limit."""
        key = f"ask:{attempt}:{fingerprint.of_query(query)}"
        with deadline.within(self.rules.deadline_s):
            return await joined.enter_async_context(self.running.joined(key, lambda: self.engine.answer(query)))

    async def _finish(
        self,
        query: SearchQuery,
        asking: asyncio.Task[Answer],
        found: Found,
        session_id: str,
        clock: _Clock,
        joined: AsyncExitStack,
    ) -> None:
        """Wait for the engine after the caller has left, and put what comes of it under the caller's session."""
        async with joined:
            await asyncio.wait({asking}, timeout=max(self.rules.deadline_s - clock.passed_s, 0.0))
            answer = self._verified(settled(asking, "grok"), query)
        late = await self._checked(query, self._composed(query, answer, found, session_id), _Clock(self.rules.deadline_s))
        await self._keep(query, late, also_errors=True)

    def _coming(self, result: SearchResult) -> SearchResult:
        """What there is now, as a partial result or, without any source, as an error; its session will hold the answer."""
        until = datetime.fromtimestamp(self.now() + self.rules.deadline_s, UTC).isoformat(timespec="seconds")
        action = (
            f"The answer is still coming: call get_sources with session_id={result.session_id} and start=0 in half a minute; "
            "it costs no second search."
        )
        late = OutOfTime("the engine is still answering", provider="grok")
        told = outcome.partly(result, late, "search") if result.sources else outcome.failed(result, late, "search")
        return dataclasses.replace(told, next_action=action, pending_until=until)

    def _fitted(self, result: SearchResult, query: SearchQuery) -> SearchResult:
        rules = self.rules
        return budget.fit_search(
            result, query.max_chars, inline=rules.inline_sources, body_chars=rules.content_chars, query=query.query
        )

    @property
    def _no_engine(self) -> bool:
        return isinstance(self.engine, NoEngine)

    async def _kept(self, query: SearchQuery) -> SearchResult | None:
        """An answer to the same question from the last minutes."""
        pointer = await self.cache.get(fingerprint.of_query(query), SessionPointer) if self.rules.cache_ttl_s else None
        kept = await self.cache.get(f"session:{pointer.session_id}", SearchResult) if pointer else None
        if kept is None:
            return None
        note = Note(code="from_cache", text="the same question was answered a moment ago; this is that answer")
        return dataclasses.replace(kept, notes=(*kept.notes, note))

    async def _keep(self, query: SearchQuery, result: SearchResult, *, also_errors: bool = False) -> None:
        """Keep sources and answer for get_sources; let the same question find a full success again."""
        if result.status == "error" and not also_errors:
            return
        await self.cache.put(f"session:{result.session_id}", result, ttl_s=self.rules.sources_ttl_s)
        if result.status == "success" and self.rules.cache_ttl_s:
            pointer = SessionPointer(session_id=result.session_id)
            await self.cache.put(fingerprint.of_query(query), pointer, ttl_s=self.rules.cache_ttl_s)

    async def _find(
        self, query: SearchQuery, clock: _Clock, joined: AsyncExitStack, *, fallback: bool = False
    ) -> asyncio.Task[SourceList] | None:
        """The finder's run for this question, unless nobody wants it."""
        wanted = self.rules.extra_sources if query.extra_sources is None else query.extra_sources
        if fallback or self._no_engine or (wanted and self.rules.source_fallback == "sources"):
            wanted = max(wanted, self.rules.fallback_sources)
        if not wanted or not self._has_finder(query):
            return None
        asked = dataclasses.replace(query, extra_sources=min(max(wanted, self.rules.candidates), 20))
        with deadline.within(clock.left()):
            run = self.running.joined(f"find:{fingerprint.of_query(asked)}", lambda: self.finder.find(asked))
            return await joined.enter_async_context(run)

    @property
    def _asked(self) -> str | None:
        """Who was too slow when the finder is; of a chain of several, nobody knows."""
        finders = getattr(self.finder, "finders", (self.finder,))
        return finders[0].name if len(finders) == 1 else None

    def _has_finder(self, query: SearchQuery) -> bool:
        """An empty chain is asked only by who insists on extra sources, and then says what to configure."""
        return bool(getattr(self.finder, "finders", True)) or bool(query.extra_sources) or self._no_engine

    def _needs_finder(self, answer: Answer | WebSearchError) -> bool:
        return isinstance(answer, WebSearchError) and (self._no_engine or self.rules.source_fallback == "sources")

    def _reserve(self, clock: _Clock) -> float:
        """Time that the engine must leave for the fallback, when the finder is not running beside it."""
        return min(10.0, clock.total_s / 5) if self.rules.source_fallback == "sources" else 0.0

    def _verified(self, answer: Answer | WebSearchError, query: SearchQuery) -> Answer | WebSearchError:
        """The answer with its filters kept, or why it cannot be relied on."""
        if isinstance(answer, WebSearchError):
            return answer
        if not answer.text.strip():
            return EmptyResult("the engine's answer is empty", provider="grok", diagnostics={"reason": "grok_content_empty"})
        sources, notes = merge.filtered(answer.sources, query, today=self._today())
        kept = dataclasses.replace(answer, text=fence.clean(answer.text), sources=sources, notes=(*answer.notes, *notes))
        if sources or self.rules.require_sources == "never":
            return kept
        if self.rules.require_sources == "auto" and answer.searched is None and not answer.sources:
            return dataclasses.replace(kept, notes=(*kept.notes, NO_EVIDENCE))
        reason = "grok_sources_filtered" if answer.sources else "grok_sources_empty" if answer.searched else "grok_no_search"
        return Unverified(
            f"{answer.engine} answered without a source that counts",
            provider="grok",
            diagnostics={"reason": reason, "unverified_answer": kept.text},
        )

    def _today(self) -> date:
        return datetime.fromtimestamp(self.now(), UTC).date()

    def _composed(self, query: SearchQuery, answer: Answer | WebSearchError, found: Found, session_id: str) -> SearchResult:
        """The whole result, before it is cut to size."""
        found = self._ranked(query, found)
        empty = SearchResult(session_id=session_id)
        if isinstance(answer, Answer):
            return _answered(empty, answer, found, _wanted(query, self.rules))
        if self._no_engine:
            limit = max(_wanted(query, self.rules), self.rules.fallback_sources)
            return _extracts(empty, found, limit=limit, brief=query.include_content)
        if self.rules.source_fallback == "never":
            found = None
        return _fallback(empty, answer, found, limit=self.rules.fallback_sources)

    def _ranked(self, query: SearchQuery, found: Found) -> Found:
        """What was found with its filters kept, copies folded, best first."""
        if not isinstance(found, SourceList):
            return found
        items, notes = merge.filtered(found.items, query, today=self._today())
        ranked = self.ranking([items], query.query, today=self._today(), fresh=query.fresh_within != "any")
        told = [Note(code="copies_folded", text=f"{ranked.folded} copies of listed pages were left out")] if ranked.folded else []
        return dataclasses.replace(found, items=ranked.sources, notes=(*found.notes, *notes, *told))

    async def _checked(self, query: SearchQuery, result: SearchResult, clock: _Clock) -> SearchResult:
        """The result with its citations checked against their pages, where that is asked for and there is an answer."""
        thoroughness = query.verify or self.rules.verify
        if thoroughness == "off" or result.status == "error" or result.fallback_used or self._no_engine:
            return result
        return await verification.checked(
            result,
            thoroughness,
            extractor=self.extractor,
            cache=self.cache,
            within_s=clock.left(),
            ttl_s=self.rules.page_ttl_s,
            at_once=self.rules.contents_at_once,
        )

    async def _with_contents(self, result: SearchResult, clock: _Clock) -> SearchResult:
        """The first sources with their pages' text; a page that cannot be read leaves a note."""
        gate = asyncio.Semaphore(self.rules.contents_at_once)

        async def read(source: Source) -> Source:
            async with gate:
                if source.content:  # the finder brought it; keep it as the page, so that web_fetch reads on in this text
                    page = Page(url=source.url, title=source.title, text=source.content, provider=source.provider)
                    await self.cache.put(fingerprint.of_page(source.url), page, ttl_s=self.rules.page_ttl_s)
                    return source
                request = FetchRequest(url=source.url)
                page = await read_through(self.cache, self.extractor, request, ttl_s=self.rules.page_ttl_s)
            title, published = source.title or page.title, source.published or page.published
            return dataclasses.replace(source, content=page.text, title=title, published=published)

        first = [source for source in result.sources[: self.rules.contents] if not source.url.startswith("file:")]
        allowed = min(clock.left(), self.rules.contents_allowance_s)
        with deadline.within(allowed):
            reading = {source.url: asyncio.ensure_future(read(source)) for source in first}
        try:
            if reading:
                await asyncio.wait(reading.values(), timeout=allowed)
            pages = {url: settled(task, "fetch") for url, task in reading.items()}
        finally:
            await stopped(reading.values())
        failed = [(url, error) for url, error in pages.items() if isinstance(error, WebSearchError)]
        notes = tuple(
            Note(code="content_missing", text=f"{url}: {error.message}"[:300], provider=error.provider or "")
            for url, error in failed
        )
        sources = tuple(_read(source, pages.get(source.url)) for source in result.sources)
        return dataclasses.replace(result, sources=sources, notes=(*result.notes, *notes))


_NO_ENGINE: Answer | WebSearchError = NotConfigured("no answer engine is configured", provider="grok")
NO_EVIDENCE = Note(
    code="no_search_evidence", text="the engine gave no sign that it searched, and named no source; check what it says"
)


class _Clock:
    """What is left of a call's time."""

    def __init__(self, total_s: float) -> None:
        self.total_s = total_s
        self._started = deadline.now()

    @property
    def passed_s(self) -> float:
        return deadline.now() - self._started

    def left(self, *, reserve: float = 0.0, until: float | None = None) -> float:
        """Seconds to the deadline less `reserve`, or to `until` seconds after the start if that is earlier."""
        end = self.total_s - reserve if until is None else min(until, self.total_s)
        return max(end - self.passed_s, 0.0)


def _wanted(query: SearchQuery, rules: SearchRules) -> int:
    return rules.extra_sources if query.extra_sources is None else query.extra_sources


def _answered(empty: SearchResult, answer: Answer, found: Found, wanted: int) -> SearchResult:
    extras = merge.labelled(found.items, found.provider, "_enrichment") if isinstance(found, SourceList) else ()
    result = dataclasses.replace(
        empty,
        content=answer.text,
        sources=merge.enriched(answer.sources, extras, wanted=wanted),
        search_provider=answer.engine,
        model=answer.model,
        usage=answer.usage,
        notes=(*answer.notes, *(found.notes if isinstance(found, SourceList) else ())),
    )
    result = dataclasses.replace(result, sources_count=len(result.sources))
    if isinstance(found, WebSearchError):
        action = "The answer stands; extra sources are missing. " + outcome.next_action_of(found)
        return outcome.partly(result, found, "search", next_action=action)
    cut = next((note for note in answer.notes if note.code == "answer_incomplete"), None)
    return result if cut is None else _incomplete(result, cut)


def _incomplete(result: SearchResult, cut: Note) -> SearchResult:
    """An answer that ends early is no full success, and is not kept as one."""
    detail = ErrorDetail(code="grok_answer_incomplete", message=cut.text, service="grok", retryable=True)
    action = "Take it as the beginning of an answer; ask again, or ask for less."
    return dataclasses.replace(result, status="partial_success", partial=True, error_detail=detail, next_action=action)


def _extracts(empty: SearchResult, found: Found, *, limit: int, brief: bool) -> SearchResult:
    """The result without any engine: verbatim passages, labelled as such; `brief` where the pages' own texts follow."""
    if not isinstance(found, SourceList) or not found.items:
        return _nothing(empty, (), found)
    items = found.items[:limit]
    pages = f"{outcome.counted(len(items), 'page')} found by {found.provider}"
    lead = f"Verbatim extracts from {pages}; no model wrote or checked them."
    if brief:
        lead = f"{pages}, verbatim with the sources; no model wrote or checked them."
    told = () if brief else items
    extracts = (f"## {source.title or source.url}\n{source.url}\n\n{source.description}" for source in told)
    return dataclasses.replace(
        empty,
        content="\n\n".join([lead, *(extract.rstrip() for extract in extracts)]),
        sources=merge.labelled(items, found.provider),
        sources_count=len(items),
        search_provider=found.provider,
        notes=found.notes,
    )


def _fallback(empty: SearchResult, error: WebSearchError, found: Found, *, limit: int) -> SearchResult:
    """The engine failed: a list of sources that says what it is, or nothing, loudly."""
    unverified = str(error.diagnostics.get("unverified_answer", ""))
    error = _without_text(error)
    reason = _reason(error)
    base = dataclasses.replace(empty, fallback_reason=reason, unverified_answer=unverified)
    if not isinstance(found, SourceList) or not found.items:
        return _nothing(base, (error,), found)
    items = merge.labelled(found.items[:limit], found.provider, "_fallback")
    lines = (f"- {source.title or source.url}: {source.url}" for source in items)
    lead = f"This is a list of {outcome.counted(len(items), 'source')}, not an answer: the answer engine failed ({reason})."
    result = dataclasses.replace(
        base,
        content="\n".join([f"{lead} Read them before you conclude.", "", *lines]),
        sources=items,
        sources_count=len(items),
        search_provider=f"{found.provider}_fallback",
        fallback_used=True,
        notes=found.notes,
    )
    action = "Read the sources with web_fetch, or search again later. " + outcome.next_action_of(error)
    return outcome.partly(result, error, "search", next_action=action)


def _nothing(base: SearchResult, engine: tuple[WebSearchError, ...], found: Found) -> SearchResult:
    """Neither answer nor sources: an error that names each dead end and the one thing that could help."""
    notes = found.notes if isinstance(found, SourceList) else ()
    empty = (EmptyResult("no source was found"),) if isinstance(found, SourceList) else ()
    finders = found.attempts if isinstance(found, AllFailed) else (found,) if isinstance(found, WebSearchError) else empty
    failures = (*engine, *finders)
    said = tuple(outcome.note_of(error, "search") for error in failures[1:])
    failed = outcome.failed(dataclasses.replace(base, notes=(*notes, *said)), failures[0], "search")
    if len(failures) == 1:
        return failed
    return dataclasses.replace(failed, next_action=outcome.next_action_of(AllFailed("", failures)))


def _without_text(error: WebSearchError) -> WebSearchError:
    """The error without the engine's words, which have a field of their own."""
    if isinstance(error, Unverified):
        return Unverified(error.message, provider=error.provider, diagnostics={"reason": error.diagnostics.get("reason")})
    return error


def _reason(error: WebSearchError) -> str:
    if isinstance(reason := error.diagnostics.get("reason"), str):
        return reason
    if isinstance(error, OutOfTime) or error.diagnostics.get("error_type") in {"read_timeout", "timeout"}:
        return "grok_timeout"
    if isinstance(error, AuthRejected):
        return "grok_auth_error"
    if isinstance(error, BadReply):
        return "grok_parse_error"
    return "grok_provider_error"


def _read(source: Source, page: Source | WebSearchError | None) -> Source:
    return page if isinstance(page, Source) else source
