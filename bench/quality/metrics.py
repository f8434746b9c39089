"""Measures of a list of pages and of answers, and how sure they are.

Copies of one report are one thing here: the first counts, the others are duplicates and gain nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from quality.web import Document, Question, World

__all__ = ["Interval", "duplicate_rate", "first_good", "hit", "interval", "ndcg", "paired", "ratio", "tokens"]

RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds between which 95 of 100 resampled means lie."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"

    def above(self, other: Interval) -> bool:
        """Whether even the low bound lies above the other's high one."""
        return self.low > other.high


def ndcg(listed: Sequence[Document | None], question: Question, world: World, *, depth: int = 10) -> float:
    """Discounted gain of the first `depth` pages over that of the best possible list; 0 to 1."""
    gains, seen = [], set[str]()
    for document in listed[:depth]:
        fresh = document is not None and document.question == question.number and document.cluster not in seen
        gains.append(2 ** (document.grade if fresh and document else 0) - 1)
        if document is not None:
            seen.add(document.cluster)
    best = sorted((2**grade - 1 for grade in world.clusters[question.number].values()), reverse=True)
    return _discounted(gains) / _discounted(best[:depth])


def hit(listed: Sequence[Document | None], question: Question, *, depth: int) -> float:
    """1 when a page that answers is among the first `depth`."""
    return float(0 < first_good(listed, question) <= depth)


def first_good(listed: Sequence[Document | None], question: Question) -> int:
    """Place of the first page of grade 2 or 3, from 1; 0 when there is none."""
    good = (place for place, one in enumerate(listed, start=1) if one and one.question == question.number and one.grade >= 2)
    return next(good, 0)


def duplicate_rate(listed: Sequence[Document | None], *, depth: int = 10) -> float:
    """Share of the first `depth` pages that repeat one before them."""
    shown = [document.cluster for document in listed[:depth] if document]
    return 1 - len(set(shown)) / len(shown) if shown else 0.0


def interval(values: Sequence[float], *, of: Callable[[Sequence[float]], float] = fmean, seed: int = 1) -> Interval:
    """The mean of the values and its bounds, by the bootstrap."""
    rng = random.Random(seed)
    means = sorted(of(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return Interval(of(values), means[round(RESAMPLES * 0.025)], means[round(RESAMPLES * 0.975) - 1])


def paired(first: Sequence[float], second: Sequence[float]) -> Interval:
    """How much better the first is, question by question."""
    return interval([one - other for one, other in zip(first, second, strict=True)])


def ratio(costs: Sequence[float], gains: Sequence[float], *, seed: int = 1) -> Interval:
    """What one gain costs over all questions, and its bounds, by resampling questions."""
    rng = random.Random(seed)
    pairs = list(zip(costs, gains, strict=True))

    def of(drawn: Sequence[tuple[float, float]]) -> float:
        return sum(cost for cost, _ in drawn) / max(sum(gain for _, gain in drawn), 1.0)

    drawn = sorted(of(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return Interval(of(pairs), drawn[round(RESAMPLES * 0.025)], drawn[round(RESAMPLES * 0.975) - 1])


def tokens(text: str) -> int:
    """Tokens of a text in cl100k."""
    import bpe_openai

    return len(bpe_openai.get_encoding("cl100k_base").encode(text))


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))
