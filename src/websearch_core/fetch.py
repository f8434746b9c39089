"""Use case: read one page as Markdown, in pieces that join."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from websearch_core import budget, deadline, egress, fingerprint, outcome, outline, urls
from websearch_core.chain import read_through
from websearch_core.errors import InvalidInput, OutOfTime, WebSearchError
from websearch_core.events import SILENT, Observer
from websearch_core.inflight import InFlight, settled
from websearch_core.ports import Cache, Extractor
from websearch_core.values import FetchRequest, FetchResult, Note, Page, Section

__all__ = ["Fetch", "FetchRules"]

LONG_CHARS = 200_000
"""To look through a longer page takes long enough that other calls should not wait for it."""
SLOW = "The site is slow or does not answer: call again later, or use another provider or page."
NO_PASSAGE = Note(code="no_passage", text="no word of the query stands here; this is the text from its beginning")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRules:
    """What the operator decides."""

    deadline_s: float = 50.0
    cache_ttl_s: float = 3_600.0
    allow_hosts: Sequence[str] = ()
    """Hosts and networks that may be read although they are not public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """`await fetch(FetchRequest(url="https://example.org"))`."""

    extractor: Extractor
    cache: Cache
    rules: FetchRules = FetchRules()
    observe: Observer = SILENT
    running: InFlight = field(default_factory=InFlight)

    async def __call__(self, request: FetchRequest, /, *, within_s: float | None = None) -> FetchResult:
        """The page's text from `request.start`, as much as `max_chars` allows; of one section, or only the passages on a query.

        A text that is cut at its beginning comes with its outline. `within_s` shortens the operator's limit. Reading past the
        end is an error that names the length; an unknown section is one whose `outline` has those that may have been meant.
        """
        empty = FetchResult(url=request.url)
        limit_s = min(self.rules.deadline_s, within_s or self.rules.deadline_s)
        with self.observe.span("fetch") as span:
            try:
                egress.verdict(request.url, allow=self.rules.allow_hosts)
                page = await self._page(request, limit_s)
            except WebSearchError as error:
                span.note(outcome=error.code)
                return outcome.failed(empty, error, "fetch")
            span.note(outcome="success", provider=page.provider, chars=len(page.text))
        if len(page.text) > LONG_CHARS:
            return await asyncio.to_thread(_answered, page, request)
        return _answered(page, request)

    async def _page(self, request: FetchRequest, limit_s: float) -> Page:
        """The page, by a run that callers who want the same page share."""

        def start() -> Coroutine[Any, Any, Page]:
            return read_through(self.cache, self.extractor, request, ttl_s=self.rules.cache_ttl_s)

        with deadline.within(limit_s):
            key = fingerprint.of_page(request.url, request.provider, request.selector)
            async with self.running.joined(key, start) as reading:
                await asyncio.wait({reading}, timeout=limit_s)
                page = settled(reading, None)
        if isinstance(page, OutOfTime) and page.provider is None:
            raise OutOfTime(f"no reader was done within {limit_s:g} s", hint=SLOW)
        if isinstance(page, WebSearchError):
            raise page
        return page


def _answered(page: Page, request: FetchRequest) -> FetchResult:
    """The part of the page that was asked for, or why there is none."""
    try:
        return _asked(page, request)
    except InvalidInput as error:
        offered = outline.near(outline.sections(page.text), request.section) if request.section else ()
        return outcome.failed(FetchResult(url=request.url, outline=offered), error, "fetch")


def _asked(page: Page, request: FetchRequest) -> FetchResult:
    """The part of the page that was asked for, as much as fits.

    Raises:
        InvalidInput: there is no such section, or `start` lies outside.
    """
    begin, end, inside = _stretch(page.text, request)
    start = request.start or begin
    if not begin <= start < end:
        whole = f"below {end}, the length of the page" if not request.section else f"from {begin} and below {end}, in the section"
        raise InvalidInput(f"start must be {whole}")
    result = dataclasses.replace(_result(page, request), content=page.text[:end], start=start)
    fitted = budget.fit_passages(result, request.query, request.max_chars) if request.query else None
    if fitted is None:
        if request.query:
            result = dataclasses.replace(result, notes=(*result.notes, NO_PASSAGE))
        fitted = budget.fit_fetch(result, request.max_chars)
        if fitted.next_start is not None and start == begin:
            inside = inside if request.section else outline.sections(page.text)
            fitted = budget.fit_fetch(dataclasses.replace(result, outline=inside), request.max_chars)
    return dataclasses.replace(fitted, total_chars=len(page.text))


def _stretch(text: str, request: FetchRequest) -> tuple[int, int, tuple[Section, ...]]:
    """Beginning and end of the section that was asked for, or of the text, and the sections inside of that section."""
    if not request.section:
        return 0, len(text), ()
    known = outline.sections(text)
    found = outline.find(known, request.section)
    inside = tuple(section for section in known if section.number.startswith(f"{found.number}."))
    return found.start, found.start + found.chars, inside


def _result(page: Page, request: FetchRequest) -> FetchResult:
    return FetchResult(
        url=request.url,
        final_url=page.final_url or request.url,
        title=page.title,
        content=page.text,
        provider=page.provider,
        kind=page.kind,
        published=page.published,
        author=page.author or None,
        language=page.language or None,
        canonical=page.canonical if urls.is_web_url(page.canonical) else None,
        fetched_at=page.fetched_at,
        start=request.start,
        notes=page.notes,
    )
