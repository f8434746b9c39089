"""Use case: page through the sources of an earlier answer, or read its text on."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from websearch_core import budget, outcome
from websearch_core.errors import OutOfTime, UnknownSession
from websearch_core.ports import Cache
from websearch_core.values import SearchResult, SourcesRequest, SourcesResult

__all__ = ["Sources"]

ENVELOPE = ("status", "error", "error_detail", "partial", "next_action")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """`await sources(SourcesRequest(session_id=…))`."""

    cache: Cache
    now: Callable[[], float] = time.time

    async def __call__(self, request: SourcesRequest, /, *, within_s: float | None = None) -> SourcesResult:  # noqa: ARG002 - all use cases take it
        """A page of sources from `offset`; an offset past the end is an empty page, not an error."""
        empty = SourcesResult(session_id=request.session_id, offset=request.offset)
        kept = await self.cache.get(f"session:{request.session_id}", SearchResult)
        if kept is None:
            error = UnknownSession("this session is unknown or has expired", diagnostics={"session_id": request.session_id})
            return outcome.failed(empty, error, "sources")
        page = SourcesResult(
            session_id=request.session_id,
            offset=request.offset,
            sources=kept.sources[request.offset : request.offset + request.limit],
            total_sources=len(kept.sources),
        )
        page = self._as_it_stands(page, kept)
        return budget.fit_sources(page, kept.sources, kept.content, request.start, request.max_chars)

    def _as_it_stands(self, page: SourcesResult, kept: SearchResult) -> SourcesResult:
        """The page, saying so when the search's answer is still coming, never came, or failed after its caller had left."""
        told = {name: getattr(kept, name) for name in ENVELOPE}
        if not kept.pending_until:
            return dataclasses.replace(page, **told) if kept.status == "error" else page
        if datetime.fromisoformat(kept.pending_until).timestamp() >= self.now():
            return dataclasses.replace(page, **told, pending_until=kept.pending_until)
        error = OutOfTime("the engine's answer never came", provider="grok", hint="Run web_search again.")
        return outcome.partly(page, error, "search") if kept.sources else outcome.failed(page, error, "search")
