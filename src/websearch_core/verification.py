"""Read the pages that an answer cites, and say of each whether it carries what it is cited for."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from websearch_core import deadline, evidence, urls
from websearch_core.chain import read_through
from websearch_core.errors import WebSearchError
from websearch_core.evidence import Claim, Finding, ReadPage
from websearch_core.inflight import settled, stopped
from websearch_core.ports import Cache, Extractor
from websearch_core.values import FetchRequest, Note, Page, SearchResult, Source

__all__ = ["Thoroughness", "checked"]

Thoroughness: TypeAlias = Literal["cheap", "full"]
MAX_CONTRADICTION_NOTES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is read for a check."""

    pages: int
    within_s: float


EFFORTS: dict[Thoroughness, Effort] = {"cheap": Effort(pages=3, within_s=8.0), "full": Effort(pages=20, within_s=30.0)}


async def checked(
    result: SearchResult,
    thoroughness: Thoroughness,
    *,
    extractor: Extractor,
    cache: Cache,
    within_s: float,
    ttl_s: float = 3_600.0,
    at_once: int = 3,
) -> SearchResult:
    """The result with the evidence of the sources that its answer cites, and one note on how they fared.

    At most 3 pages in 8 s (`cheap`) or 20 in 30 s (`full`), always within `within_s`, `at_once` at a time; pages come from the
    cache where they are there. A page that was not read in time counts as not checked, one that failed as unreachable.
    """
    by_key = {urls.canonical(source.url): source for source in result.sources if urls.is_web_url(source.url)}
    claimed = [claim for claim in evidence.claims(result.content) if claim.url in by_key]
    if not claimed:
        return result
    effort = EFFORTS[thoroughness]
    keys = list(dict.fromkeys(claim.url for claim in claimed))[: effort.pages]
    wanted = {key: by_key[key].url for key in keys}
    pages = await _read(wanted, extractor, cache, min(effort.within_s, within_s), ttl_s=ttl_s, at_once=at_once)
    findings = await asyncio.to_thread(_judged, claimed, pages)
    return _told(result, claimed, findings)


async def _read(
    wanted: Mapping[str, str], extractor: Extractor, cache: Cache, within_s: float, *, ttl_s: float, at_once: int
) -> dict[str, Page | WebSearchError]:
    """What became of each page in time."""
    gate = asyncio.Semaphore(at_once)

    async def read(url: str) -> Page:
        async with gate:
            return await read_through(cache, extractor, FetchRequest(url=url), ttl_s=ttl_s)

    with deadline.within(within_s):
        reading = {key: asyncio.ensure_future(read(url)) for key, url in wanted.items()}
    try:
        await asyncio.wait(reading.values(), timeout=within_s)
        return {key: settled(task, "fetch") for key, task in reading.items() if task.done()}
    finally:
        await stopped(reading.values())


def _judged(claimed: Sequence[Claim], pages: Mapping[str, Page | WebSearchError]) -> list[Finding]:
    """A finding for each claim, in order."""
    read = {key: ReadPage(page.text, title=page.title) for key, page in pages.items() if isinstance(page, Page)}
    failed = {key for key, page in pages.items() if isinstance(page, WebSearchError)}
    return [
        read[claim.url].on(claim.text) if claim.url in read else Finding(state="unreachable" if claim.url in failed else "cited")
        for claim in claimed
    ]


def _told(result: SearchResult, claimed: Sequence[Claim], findings: Sequence[Finding]) -> SearchResult:
    states: dict[str, list[Finding]] = {}
    for claim, finding in zip(claimed, findings, strict=True):
        states.setdefault(claim.url, []).append(finding)
    sources = tuple(_weighed(source, states.get(urls.canonical(source.url), ())) for source in result.sources)
    notes = [Note(code="evidence_checked", text=evidence.summary([finding.state for finding in findings]))]
    against = [pair for pair in zip(claimed, findings, strict=True) if pair[1].state == "contradicted"]
    notes += [
        Note(code="claim_contradicted", text=f"{claim.url} says {finding.figure} where the answer cites it for another figure")
        for claim, finding in against[:MAX_CONTRADICTION_NOTES]
    ]
    return dataclasses.replace(result, sources=sources, notes=(*result.notes, *notes))


def _weighed(source: Source, found: Sequence[Finding]) -> Source:
    return dataclasses.replace(source, evidence=evidence.weakest(one.state for one in found)) if found else source
