"""Use case: search X and bring the posts' own words, each with its link and with what supports it.

An answer that nobody searched for is no result, and is asked for once more before it is an error. A search that found nothing
is a result. Who cannot wait long enough gets the result by the same call a little later: a search is paid for once.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from websearch_core import budget, deadline, fence, fingerprint, outcome, progress, quotes
from websearch_core.chain import read_through
from websearch_core.errors import EmptyResult, InvalidInput, OutOfTime, Unverified, WebSearchError
from websearch_core.events import SILENT, Observer
from websearch_core.inflight import InFlight, settled, stopped
from websearch_core.ports import Cache, Extractor, PostFinder
from websearch_core.values import (
    Answer,
    ErrorDetail,
    FetchRequest,
    Note,
    PostQuery,
    PostResult,
    PostSource,
    Quote,
    SearchResult,
    Source,
    Usage,
)

__all__ = ["PostRules", "Posts"]

SERVICE = "xai"
LATE_TTL_S = 600.0
"""How long a result is kept that came after its caller had left, also where nothing else is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRules:
    """What the operator decides."""

    deadline_s: float = 240.0
    """For a search and its repetition together."""
    posts_read: int = 10
    reads_at_once: int = 3
    """Posts whose pages are read for `verify`, so many at a time."""
    cache_ttl_s: float = 300.0
    sources_ttl_s: float = 3_600.0
    page_ttl_s: float = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Posts:
    """`await posts(PostQuery(query="what do people say about the footbridge?"))`."""

    finder: PostFinder
    extractor: Extractor
    cache: Cache
    rules: PostRules = PostRules()
    observe: Observer = SILENT
    now: Callable[[], float] = time.time
    running: InFlight = field(default_factory=InFlight)
    """Searches under way: the same one is paid for once. Close it when the process ends."""

    async def __call__(self, query: PostQuery, /, *, within_s: float | None = None) -> PostResult:
        """Quotes and sources, or why there are none, within `within_s` seconds (at most the operator's limit).

        A search that needs longer than `within_s` goes on until the operator's limit; the same call has its result then.
        """
        limit_s = min(within_s or self.rules.deadline_s, self.rules.deadline_s)
        started = deadline.now()
        with self.observe.span("posts", finder=self.finder.name) as span:
            try:
                self._require_past(query)
                result = await self._kept(query) or await self._searched(query, limit_s)
            except WebSearchError as error:
                result = outcome.failed(PostResult(session_id=_new_session()), error, "posts")
            if query.verify and result.quotes:
                result = await self._looked_up(result, limit_s - (deadline.now() - started))
            span.note(outcome=result.error or result.status, sources=len(result.sources), quotes=len(result.quotes))
        return budget.fit_posts(result, query.max_chars)

    def _require_past(self, query: PostQuery) -> None:
        today = self._today().isoformat()
        if query.from_date > today:
            raise InvalidInput(f"from_date lies in the future; days are UTC, and today is {today}")

    def _today(self) -> date:
        return datetime.fromtimestamp(self.now(), UTC).date()

    async def _kept(self, query: PostQuery) -> PostResult | None:
        """The result of the same search of a moment ago."""
        kept = await self.cache.get(fingerprint.of_posts(query), PostResult)
        if kept is None:
            return None
        note = Note(code="from_cache", text="the same search was made a moment ago; this is its result")
        return dataclasses.replace(kept, notes=(*kept.notes, note))

    async def _searched(self, query: PostQuery, limit_s: float) -> PostResult:
        """The result of a search that callers who want the same one share; one that is too slow for this caller goes on."""
        async with AsyncExitStack() as joined:
            with deadline.within(self.rules.deadline_s):
                run = self.running.joined(fingerprint.of_posts(query), lambda: self._run(query))
                running = await joined.enter_async_context(run)
            await asyncio.wait({running}, timeout=limit_s)
            if not running.done() and limit_s < self.rules.deadline_s:
                self.running.keep(self._held(query, running, self.rules.deadline_s - limit_s, joined.pop_all()))
                return self._coming()
            result = settled(running, SERVICE)
        if isinstance(result, WebSearchError):
            raise result
        return result

    async def _run(self, query: PostQuery) -> PostResult:
        """Search, once more if nobody searched, and keep what came of it."""
        progress.tell("searching X", total=2)
        answer = await self.finder.find_posts(query)
        if answer.searched is False:
            progress.tell("searching X again, because the first answer came without a search", done=1, total=2)
            first, answer = answer, await self.finder.find_posts(query)
            answer = dataclasses.replace(answer, usage=_both(first.usage, answer.usage))
        result = self._composed(query, answer)
        if result.status != "error":
            await self._keep(query, result)
        return result

    async def _held(self, query: PostQuery, running: asyncio.Task[PostResult], left_s: float, joined: AsyncExitStack) -> None:
        """Wait for the search after the caller has left, and keep its result for the caller's next try."""
        async with joined:
            await asyncio.wait({running}, timeout=left_s)
            result = settled(running, SERVICE)
        if isinstance(result, PostResult) and result.status != "error":
            await self.cache.put(fingerprint.of_posts(query), result, ttl_s=max(self.rules.cache_ttl_s, LATE_TTL_S))

    def _coming(self) -> PostResult:
        until = datetime.fromtimestamp(self.now() + self.rules.deadline_s, UTC).isoformat(timespec="seconds")
        late = OutOfTime(
            "X is still being searched",
            provider=SERVICE,
            hint="Call again with the same arguments in half a minute: you get the result of this search, not a second one.",
        )
        return outcome.failed(PostResult(session_id=_new_session(), pending_until=until), late, "posts")

    async def _keep(self, query: PostQuery, result: PostResult) -> None:
        """Keep sources and text for get_sources, and the result for the same search."""
        kept = SearchResult(
            session_id=result.session_id,
            content=result.content,
            sources=tuple(_source(one, result.search_provider) for one in result.sources),
            sources_count=len(result.sources),
            search_provider=result.search_provider,
        )
        await self.cache.put(f"session:{result.session_id}", kept, ttl_s=self.rules.sources_ttl_s)
        if result.status == "success" and self.rules.cache_ttl_s:
            await self.cache.put(fingerprint.of_posts(query), result, ttl_s=self.rules.cache_ttl_s)

    # what an answer comes to

    def _composed(self, query: PostQuery, answer: Answer) -> PostResult:
        """The whole result, before it is cut to size."""
        result = PostResult(
            session_id=_new_session(),
            search_provider=answer.engine,
            model=fence.clean(answer.model),
            usage=answer.usage,
            notes=answer.notes,
        )
        if answer.searched is False:
            error = Unverified(
                "X was answered about twice without being searched; the text is not passed on",
                provider=SERVICE,
                hint="Ask more concretely: name accounts, days or words that posts would hold.",
                diagnostics={"reason": "zero_searches", "searches": 0},
            )
            return outcome.failed(dataclasses.replace(result, notes=()), error, "posts")
        text = fence.clean(answer.text).strip()
        if not text:
            return outcome.failed(result, EmptyResult("the answer is empty", provider=SERVICE), "posts")
        sources = _each_once(answer.sources)
        result = dataclasses.replace(
            result,
            content=text,
            sources=sources,
            sources_count=len(sources),
            quotes=self._compared(quotes.quotes_in(text), sources),
            no_matches=not sources,
        )
        result = dataclasses.replace(result, notes=(*result.notes, *_remarks(query, result)))
        cut = next((note for note in answer.notes if note.code == "answer_incomplete"), None)
        return result if cut is None else _incomplete(result, cut)

    def _compared(self, found: Iterable[Quote], sources: tuple[PostSource, ...]) -> tuple[Quote, ...]:
        """The quotes, those of listed posts as such; a post from the future cannot be."""
        listed, today = {source.post_id for source in sources}, self._today().isoformat()
        return tuple(
            dataclasses.replace(quote, state="listed") if quote.post_id in listed and quote.published <= today else quote
            for quote in found
        )

    # looking quotes up

    async def _looked_up(self, result: PostResult, left_s: float) -> PostResult:
        """The quotes, those whose words stand on their post's page as verified, and a note on the rest."""
        posts = {quote.post_id: quotes.post_of(quote.url) for quote in result.quotes}
        chosen = [post for post in posts.values() if post is not None][: self.rules.posts_read]
        gate = asyncio.Semaphore(self.rules.reads_at_once)

        async def read(url: str) -> str:
            async with gate:
                request = FetchRequest(url=url)
                return (await read_through(self.cache, self.extractor, request, ttl_s=self.rules.page_ttl_s)).text

        with deadline.within(max(left_s, 0.0)):
            reading = {post.number: asyncio.ensure_future(read(post.url)) for post in chosen}
        try:
            progress.tell("looking quotes up", total=len(chosen))
            await asyncio.wait(reading.values(), timeout=max(left_s, 0.0))
            pages = {number: settled(task, None) for number, task in reading.items()}
        finally:
            await stopped(reading.values())
        texts = {number: page for number, page in pages.items() if isinstance(page, str)}
        checked = tuple(
            dataclasses.replace(quote, state="verified") if quotes.holds(texts.get(quote.post_id, ""), quote.text) else quote
            for quote in result.quotes
        )
        unread = [page for page in pages.values() if isinstance(page, WebSearchError)]
        notes = (*result.notes, *_look_up_notes(checked, texts, unread, total=len(posts)))
        return dataclasses.replace(result, quotes=checked, notes=notes)


def _new_session() -> str:
    return uuid.uuid4().hex[:12]


def _both(first: Usage | None, second: Usage | None) -> Usage | None:
    """What two requests consumed together; a number that one of them does not tell is the other's."""
    if first is None or second is None:
        return first or second
    names = [one.name for one in dataclasses.fields(Usage)]
    told = {name: [count for one in (first, second) if (count := getattr(one, name)) is not None] for name in names}
    return Usage(**{name: sum(counts) if counts else None for name, counts in told.items()})


def _each_once(sources: Iterable[Source]) -> tuple[PostSource, ...]:
    """Posts and pages, each once under its first address."""
    found: dict[str, PostSource] = {}
    for source in sources:
        one = quotes.sourced(source.url, fence.clean(source.title, limit=300))
        found.setdefault(one.post_id or fingerprint.of_page(source.url), one)
    return tuple(found.values())


def _source(source: PostSource, provider: str) -> Source:
    return Source(url=source.url, title=source.title, published=source.published, provider=provider, evidence="cited")


def _remarks(query: PostQuery, result: PostResult) -> tuple[Note, ...]:
    """What a reader must know of the sources and quotes."""
    notes = []
    if result.no_matches:
        notes.append(Note(code="no_matches", text="the search ran and names no post; loosen handles, days or words"))
    if strangers := sum(not _fits(source, query) for source in result.sources):
        text = f"{strangers} sources lie outside the asked accounts or days; a thread that is read whole keeps no filter"
        notes.append(Note(code="filter_not_kept", text=text))
    if doubtful := sum(quote.state == "unlisted" for quote in result.quotes):
        text = f"{doubtful} of {len(result.quotes)} quotes are of posts that the search does not name; do not rely on them"
        notes.append(Note(code="quotes_unlisted", text=text))
    return tuple(notes)


def _fits(source: PostSource, query: PostQuery) -> bool:
    """Whether what the address tells keeps the filters; what it does not tell is not held against it."""
    handle, day = source.handle.lower(), source.published
    if handle and query.allowed_x_handles and handle not in map(str.lower, query.allowed_x_handles):
        return False
    if handle and handle in map(str.lower, query.excluded_x_handles):
        return False
    return not day or ((not query.from_date or query.from_date <= day) and (not query.to_date or day <= query.to_date))


def _incomplete(result: PostResult, cut: Note) -> PostResult:
    detail = ErrorDetail(code=f"{SERVICE}_answer_incomplete", message=cut.text, service=SERVICE, retryable=True)
    action = "Take it as the beginning of an answer; ask again, or ask for less."
    return dataclasses.replace(result, status="partial_success", partial=True, error_detail=detail, next_action=action)


def _look_up_notes(
    checked: tuple[Quote, ...], texts: dict[str, str], unread: list[WebSearchError], *, total: int
) -> tuple[Note, ...]:
    """Which quotes were not found, which pages not read and why, and which were left out."""
    notes = []
    if missed := sum(quote.post_id in texts and quote.state != "verified" for quote in checked):
        notes.append(Note(code="quotes_not_found", text=f"{missed} quotes do not stand on their post's page as it was read"))
    if unread:
        why = outcome.note_of(unread[0], "fetch").code
        notes.append(Note(code="posts_unread", text=f"{len(unread)} of {total} posts could not be read ({why})"))
    if left_out := total - len(texts) - len(unread):
        notes.append(Note(code="posts_not_looked_up", text=f"{left_out} of {total} posts were not looked up; there are too many"))
    return tuple(notes)
