"""How well found pages are ordered: as the finder has them, by plain BM25, and by the product.

`python bench/quality/ranking.py` prints the table of `bench/results.md`. The weights were set on the web of seed 7; what is
reported is measured on the web of another seed.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from quality import metrics  # noqa: E402 - the path comes first
from quality.finder import Finder, Hit  # noqa: E402
from quality.web import TODAY, Question, World, build  # noqa: E402
from websearch_core.passages import searchable  # noqa: E402
from websearch_core.ranking import Ranking  # noqa: E402
from websearch_core.values import Source  # noqa: E402

__all__ = ["rank_ndcg10", "rank_ndcg10_bm25"]

SEED = 11
Order = Callable[[list[Source], Question], Sequence[Source]]


def rank_ndcg10() -> float:
    """nDCG@10 of the product's order."""
    return round(fmean(_gains("product")), 3)


def rank_ndcg10_bm25() -> float:
    """nDCG@10 of plain BM25 over titles and snippets."""
    return round(fmean(_gains("bm25")), 3)


def _gains(name: str) -> list[float]:
    world, found = _found()
    return [metrics.ndcg(_pages(ORDERS[name], hits, question, world), question, world) for question, hits in found]


def by_finder(sources: list[Source], _: Question) -> Sequence[Source]:
    """As the finder has them."""
    return sources


def by_bm25(sources: list[Source], question: Question) -> Sequence[Source]:
    """By BM25 alone, with the textbook's constants."""
    counts = [Counter(searchable(f"{source.title} {source.description}").split()) for source in sources]
    mean = fmean(count.total() for count in counts)

    def score(count: Counter[str]) -> float:
        total = 0.0
        for term in set(searchable(question.text).split()):
            having = sum(term in other for other in counts)
            rarity = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
            total += rarity * count[term] * 2.2 / (count[term] + 1.2 * (0.25 + 0.75 * count.total() / mean))
        return total

    return [sources[at] for at in sorted(range(len(sources)), key=lambda at: (-score(counts[at]), at))]


def by_product(sources: list[Source], question: Question) -> Sequence[Source]:
    """As a search returns them."""
    return Ranking()([sources], question.text, today=TODAY).sources


ORDERS: dict[str, Order] = {"finder": by_finder, "bm25": by_bm25, "product": by_product}


@cache
def _found() -> tuple[World, tuple[tuple[Question, list[Hit]], ...]]:
    world = build(SEED)
    finder = Finder(world)
    return world, tuple((question, finder.search(question.text)) for question in world.questions)


def as_sources(hits: Sequence[Hit]) -> list[Source]:
    """Hits as a finder's list."""
    return [
        Source(url=hit.document.url, title=hit.document.title, description=hit.snippet, published=hit.document.published)
        for hit in hits
    ]


def _pages(order: Order, hits: list[Hit], question: Question, world: World) -> list[object]:
    return [world.of(source.url) for source in order(as_sources(hits), question)]


def main() -> None:
    """Print the table."""
    world, found = _found()
    print(
        f"{len(world.documents)} pages, {len(world.questions)} questions, {len({q.language for q in world.questions})} languages"
    )
    print("| order | nDCG@10 | MRR | hit@1 | hit@3 | duplicates in ten |\n| --- | --- | --- | --- | --- | --- |")
    gains: dict[str, list[float]] = {}
    for name, order in ORDERS.items():
        lists = [(question, _pages(order, hits, question, world)) for question, hits in found]
        gains[name] = [metrics.ndcg(pages, question, world) for question, pages in lists]
        first = [metrics.first_good(pages, question) for question, pages in lists]
        columns = [gains[name], [1 / place if place else 0.0 for place in first]]
        columns += [[float(0 < place <= depth) for place in first] for depth in (1, 3)]
        columns.append([metrics.duplicate_rate(pages) for _, pages in lists])
        print(f"| {name} | {' | '.join(str(metrics.interval(column)) for column in columns)} |")
    for name in ("finder", "bm25"):
        print(f"product over {name}, question by question: {metrics.paired(gains['product'], gains[name])}")


if __name__ == "__main__":
    main()
