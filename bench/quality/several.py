"""What several finders asked at once bring to a search: their joined list cut before it is ordered, and afterwards.

`python bench/quality/several.py [SEED]` prints the table of `bench/results.md`. Each finder is one engine of the generated web,
with a taste of its own, and is asked for ten pages. They are asked by the product's chain, and what counts is what its search
without an engine lists when ten pages are wanted. The last row is one metasearch engine, which joins the lists of two by itself.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, time
from functools import cache
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from quality import metrics  # noqa: E402 - the path comes first
from quality.finder import ENGINES, Finder  # noqa: E402
from quality.ranking import SEED, as_sources  # noqa: E402
from quality.web import TODAY, Document, World, build  # noqa: E402
from websearch_core.chain import ExtractorChain, FinderChain, NoEngine  # noqa: E402
from websearch_core.ports import Filter, SourceFinder  # noqa: E402
from websearch_core.search import Search, SearchRules  # noqa: E402
from websearch_core.testing.fakes import FakeCache  # noqa: E402
from websearch_core.values import SearchQuery, SourceList  # noqa: E402

__all__ = ["rank_ndcg10_several"]

NAMES = ("north", "south", "east", "west", "inland", "coast", "hill", "delta")
WANTED = 10
Listed = list[list[Document | None]]


def rank_ndcg10_several() -> float:
    """nDCG@10 of what a search lists that asks three finders at once."""
    world, _ = _web(SEED)
    return round(fmean(_gains(asyncio.run(listed(SEED, _engines(SEED, 3))), world)), 3)  # noqa: TID251 - a test and a bench are entry points


class _Engine:
    """One engine, or several that join their lists by themselves, as a finder."""

    keeps: frozenset[Filter] = frozenset()

    def __init__(self, web: Finder, *names: str) -> None:
        self.name = "+".join(names)
        self._names = names
        self._web = web

    async def find(self, query: SearchQuery, /) -> SourceList:
        """Its best pages, as many as are asked for, of each list that it joins; a page of hits holds twenty."""
        hits = self._web.search(query.query, engines=self._names)
        most = (query.extra_sources or WANTED) * len(self._names)
        return SourceList(items=tuple(as_sources(hits)[:most]), provider=self.name)


class _Cut:
    """A chain whose joined list is cut to the asked number before anybody has ordered it."""

    name = "cut"
    keeps: frozenset[Filter] = frozenset()

    def __init__(self, chain: SourceFinder) -> None:
        self._chain = chain

    async def find(self, query: SearchQuery, /) -> SourceList:
        """The head of the chain's list."""
        found = await self._chain.find(query)
        return dataclasses.replace(found, items=found.items[: query.extra_sources])


async def listed(seed: int, finders: Sequence[SourceFinder], *, cut: bool = False) -> Listed:
    """The pages of each question's result, in its order; with `cut`, as it would be if the list were cut before."""
    world, _ = _web(seed)
    chain = FinderChain(finders, at_once=len(finders))
    search = Search(
        engine=NoEngine(),
        finder=_Cut(chain) if cut else chain,
        extractor=ExtractorChain([]),
        cache=FakeCache(),
        rules=SearchRules(inline_sources=WANTED),
        now=datetime.combine(TODAY, time(12), UTC).timestamp,
    )
    lists: Listed = []
    for question in world.questions:
        result = await search(SearchQuery(query=question.text, extra_sources=WANTED, max_chars=200_000))
        lists.append([world.of(source.url) for source in result.sources])
    return lists


@cache
def _web(seed: int) -> tuple[World, Finder]:
    world = build(seed)
    return world, Finder(world)


def _gains(lists: Listed, world: World, *, depth: int = 10) -> list[float]:
    return [metrics.ndcg(pages, question, world, depth=depth) for pages, question in zip(lists, world.questions, strict=True)]


def _engines(seed: int, count: int) -> list[SourceFinder]:
    _, web = _web(seed)
    return [_Engine(web, name) for name in NAMES[:count]]


async def _rows(seed: int, counts: Sequence[int]) -> None:
    world, web = _web(seed)
    rows = {str(count): _engines(seed, count) for count in counts}
    rows["one metasearch engine"] = [_Engine(web, *ENGINES)]
    print("| finders | cut before: nDCG@10 | cut after: nDCG@10 | better by | of the first five | duplicates in ten |")
    print("| ---: | --- | --- | --- | --- | --- |")
    for name, finders in rows.items():
        before, after = await listed(seed, finders, cut=True), await listed(seed, finders)
        gains = [_gains(lists, world) for lists in (before, after)]
        first = [_gains(lists, world, depth=5) for lists in (before, after)]
        columns = [str(metrics.interval(column)) for column in gains]
        columns += [str(metrics.paired(gains[1], gains[0])), str(metrics.paired(first[1], first[0]))]
        columns.append(f"{fmean(metrics.duplicate_rate(pages) for pages in after):.3f}")
        print(f"| {name} | {' | '.join(columns)} |", flush=True)


def main() -> None:
    """Print the table."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else SEED
    asyncio.run(_rows(seed, (1, 2, 3, 4, 8)))  # noqa: TID251 - a test and a bench are entry points


if __name__ == "__main__":
    main()
