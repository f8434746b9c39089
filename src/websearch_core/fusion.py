"""Several lists of pages as one, by reciprocal rank fusion (Cormack, Clarke, Büttcher, 2009)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from websearch_core import citations, urls
from websearch_core.values import Source

__all__ = ["MOST_JOINED", "agreed", "weighed"]

RANK_CONSTANT = 20
"""k of the fusion; 60 in the paper, for lists of a thousand."""
MOST_JOINED = 40
"""Longest list that a finder may make of several. Ordering it takes 9 ms of CPU time, one of 160 takes 67 ms, and of eight lists
nothing beyond the first 40 made the order better (`bench/results.md`, 2026-12-01)."""


def agreed(lists: Iterable[Sequence[Source]]) -> tuple[Source, ...]:
    """The pages of several lists, each once, by the sum of their reciprocal ranks; equal ones keep the order of the lists."""
    return tuple(source for source, _ in sorted(weighed(lists), key=lambda one: -one[1]))


def weighed(lists: Iterable[Sequence[Source]]) -> tuple[tuple[Source, float], ...]:
    """The pages of several lists, each once and with the sum of its reciprocal ranks, in the order in which they are met.

    A page is the same under two addresses with one canonical form, whatever their scheme: engines differ in it. The mention
    with the best rank stands, and others fill what it lacks.
    """
    weights: dict[str, float] = {}
    mentions: dict[str, list[tuple[int, Source]]] = {}
    for one in lists:
        ranks: dict[str, int] = {}
        for source in one:
            key = urls.canonical(source.url).partition("://")[2] or source.url
            rank = ranks.setdefault(key, len(ranks) + 1)
            mentions.setdefault(key, []).append((rank, source))
        for key, rank in ranks.items():
            weights[key] = weights.get(key, 0.0) + 1 / (RANK_CONSTANT + rank)
    return tuple((_united(mentions[key]), weight) for key, weight in weights.items())


def _united(mentions: Sequence[tuple[int, Source]]) -> Source:
    best_first = sorted(mentions, key=lambda mention: mention[0])
    return functools.reduce(citations.joined, (source for _, source in best_first))
