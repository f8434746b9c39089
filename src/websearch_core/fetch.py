"""Use case: read one page as Markdown, in pieces that join."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from websearch_core import budget, deadline, egress, fingerprint, outcome
from websearch_core.chain import read_through
from websearch_core.errors import InvalidInput, OutOfTime, WebSearchError
from websearch_core.events import SILENT, Observer
from websearch_core.inflight import InFlight, settled
from websearch_core.ports import Cache, Extractor
from websearch_core.values import FetchRequest, FetchResult, Page

__all__ = ["Fetch", "FetchRules"]


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
        """The page's text from `request.start`, as much as `max_chars` allows.

        `within_s` shortens the operator's limit. Reading past the end is an error that names the length.
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
        if request.start >= len(page.text):
            return outcome.failed(empty, InvalidInput(f"start must be below {len(page.text)}, the length of the page"), "fetch")
        return budget.fit_fetch(_result(page, request), request.max_chars)

    async def _page(self, request: FetchRequest, limit_s: float) -> Page:
        """The page, by a run that callers who want the same page share."""

        def start() -> Coroutine[Any, Any, Page]:
            return read_through(self.cache, self.extractor, request, ttl_s=self.rules.cache_ttl_s)

        with deadline.within(limit_s):
            async with self.running.joined(fingerprint.of_page(request.url, request.provider), start) as reading:
                await asyncio.wait({reading}, timeout=limit_s)
                page = settled(reading, None)
        if isinstance(page, OutOfTime) and page.provider is None:
            raise OutOfTime(f"no reader was done within {limit_s:g} s")
        if isinstance(page, WebSearchError):
            raise page
        return page


def _result(page: Page, request: FetchRequest) -> FetchResult:
    return FetchResult(
        url=request.url,
        final_url=page.final_url or request.url,
        title=page.title,
        content=page.text,
        provider=page.provider,
        kind=page.kind,
        published=page.published,
        fetched_at=page.fetched_at,
        start=request.start,
        notes=page.notes,
    )
