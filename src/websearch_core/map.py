"""Use case: list a site's pages."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from websearch_core import budget, deadline, egress, fingerprint, outcome
from websearch_core.errors import EmptyResult, OutOfTime, WebSearchError
from websearch_core.events import SILENT, Observer
from websearch_core.inflight import InFlight, settled
from websearch_core.ports import Cache, Mapper
from websearch_core.values import ErrorDetail, MapRequest, MapResult, Note, SiteMap

__all__ = ["Map", "MapRules"]

SLOW = "The site is slow or does not answer: call again later, with a longer timeout, or use another provider."


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRules:
    """What the operator decides."""

    deadline_extra_s: float = 10.0
    """Added to the request's own `timeout`."""
    cache_ttl_s: float = 3_600.0
    allow_hosts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """`await map_site(MapRequest(url="https://example.org"))`."""

    mapper: Mapper
    cache: Cache
    rules: MapRules = MapRules()
    observe: Observer = SILENT
    clock: Callable[[], float] = time.monotonic
    running: InFlight = field(default_factory=InFlight)

    async def __call__(self, request: MapRequest, /, *, within_s: float | None = None) -> MapResult:
        """Page addresses from `request.offset`; the whole map is kept, so that reading on shows the same map.

        `within_s` shortens the request's own time-out.
        """
        empty = MapResult(base_url=request.url)
        limit_s = request.timeout + self.rules.deadline_extra_s
        limit_s = min(limit_s, within_s or limit_s)
        started = self.clock()
        with self.observe.span("map") as span:
            try:
                egress.verdict(request.url, allow=self.rules.allow_hosts)
                site, fresh = await self._kept_or_mapped(request, limit_s)
            except WebSearchError as error:
                span.note(outcome=error.code)
                return outcome.failed(empty, error, "map")
            span.note(outcome="success", provider=site.provider, links=len(site.links))
        if not site.links:
            nothing = EmptyResult("the site has no pages to list", provider=site.provider)
            return outcome.failed(dataclasses.replace(empty, notes=site.notes), nothing, "map")
        result = MapResult(
            base_url=site.root or request.url,
            results=tuple(link.url for link in site.links),
            offset=request.offset,
            truncated=site.truncated,
            ignored_results=site.ignored,
            provider=site.provider,
            response_time=round(self.clock() - started, 3) if fresh else 0.0,
            notes=(*site.notes, *_past_end(request, site)),
        )
        return budget.fit_map(_judged(result, site), request.max_chars)

    async def _kept_or_mapped(self, request: MapRequest, limit_s: float) -> tuple[SiteMap, bool]:
        """The map and whether it is new; callers who want the same map share one run."""
        key = fingerprint.of_map(request)
        if (kept := await self.cache.get(key, SiteMap)) is not None:
            return kept, False
        whole = dataclasses.replace(request, offset=0)
        with deadline.within(limit_s):
            async with self.running.joined(key, lambda: self.mapper.map(whole)) as mapping:
                await asyncio.wait({mapping}, timeout=limit_s)
                site = settled(mapping, None)
        if isinstance(site, OutOfTime) and site.provider is None:
            raise OutOfTime(f"no mapper was done within {limit_s:g} s", hint=SLOW)
        if isinstance(site, WebSearchError):
            raise site
        if site.links:
            await self.cache.put(key, site, ttl_s=self.rules.cache_ttl_s)
        return site, True


def _past_end(request: MapRequest, site: SiteMap) -> tuple[Note, ...]:
    """That an offset lists nothing, so that it is not taken for a site without more pages."""
    held = len(site.links)
    if request.offset < held:
        return ()
    text = f"This map has {held} pages, and offset {request.offset} lies behind them; a larger limit makes a larger map."
    return (Note(code="past_end", text=text, provider=site.provider),)


def _judged(result: MapResult, site: SiteMap) -> MapResult:
    """A map that lacks its root, from which entries had to be left out, or that ran out of time, is a partial success."""
    codes = {note.code for note in site.notes}
    rootless = "missing_base_url" in codes
    if not site.ignored and not rootless and "partial" not in codes:
        return result
    reasons = {
        f"{site.ignored} entries were no addresses": bool(site.ignored),
        "the provider did not name the site": rootless,
        "the crawl ran out of time": "partial" in codes,
    }
    detail = ErrorDetail(
        code=f"{site.provider}_map_incomplete",
        message="the map is incomplete: " + ", ".join(reason for reason, holds in reasons.items() if holds),
        service=site.provider,
        retryable=False,
        diagnostics={"ignored_results": site.ignored, "missing_base_url": rootless},
    )
    return dataclasses.replace(
        result,
        status="partial_success",
        partial=True,
        error_detail=detail,
        next_action="Use what is listed, or map again with a longer timeout.",
    )
