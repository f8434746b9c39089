"""Use case: page through the sources of an earlier answer, or read its text on."""

from __future__ import annotations

from dataclasses import dataclass

from websearch_core import budget, outcome
from websearch_core.errors import UnknownSession
from websearch_core.ports import Cache
from websearch_core.values import SearchResult, SourcesRequest, SourcesResult

__all__ = ["Sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """`await sources(SourcesRequest(session_id=…))`."""

    cache: Cache

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
        return budget.fit_sources(page, kept.sources, kept.content, request.start, request.max_chars)
