"""Whether two texts are one text twice: near-duplicates and syndicated copies.

A text is known by its shingles: three words in a row, or, in scripts without blanks, the pairs of characters that overlap in
four. SimHash (Charikar, 2002) turns them into 64 bits that hardly change when the text hardly does; what looks alike is then
compared shingle by shingle. Texts that state different figures are never the same, however alike they are.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass

from websearch_core.passages import searchable

__all__ = ["Sketch", "alike", "distance", "sketch"]

SHINGLE_WORDS = 3
MAX_CHARS = 12_000
KEPT_SHINGLES = 400
"""The smallest hashes stand for all; enough to know an overlap to within five per cent."""
MAX_DISTANCE = 26
"""Bits of 64 in which two texts may differ to be compared at all; unrelated ones differ in 32, give or take 4."""
SAME_SHARE = 0.6
FEWEST_SHINGLES = 12
"""A shorter text says too little to be told from another; two sentences of one template are not one text."""
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What of a text is needed to compare it."""

    bits: int
    shingles: frozenset[int]
    size: int
    """Number of different shingles in the whole text."""
    figures: frozenset[str]


def sketch(text: str) -> Sketch:
    """The sketch of a text's first 12,000 characters."""
    text = text[:MAX_CHARS]
    words = searchable(text).split()
    counts = Counter(_hash(" ".join(words[at : at + SHINGLE_WORDS])) for at in range(max(len(words) - SHINGLE_WORDS + 1, 0)))
    return Sketch(
        bits=_simhash(counts),
        shingles=frozenset(sorted(counts)[:KEPT_SHINGLES]),
        size=len(counts),
        figures=frozenset(_FIGURE.findall(text)),
    )


def distance(one: Sketch, other: Sketch) -> int:
    """Bits in which the two differ, 0 to 64."""
    return (one.bits ^ other.bits).bit_count()


def alike(one: Sketch, other: Sketch) -> bool:
    """Whether the two are one text: most shingles shared, and no figure in each that the other lacks."""
    if min(one.size, other.size) < FEWEST_SHINGLES or distance(one, other) > MAX_DISTANCE:
        return False
    if one.figures - other.figures and other.figures - one.figures:
        return False
    return _shared(one, other) >= SAME_SHARE


def _shared(one: Sketch, other: Sketch) -> float:
    """Share of the shingles that both have among all that one has; estimated from the smallest hashes of the union."""
    union = sorted(one.shingles | other.shingles)[:KEPT_SHINGLES]
    both = one.shingles & other.shingles
    return sum(shingle in both for shingle in union) / len(union) if union else 0.0


def _simhash(counts: Counter[int]) -> int:
    totals = [0] * 64
    for shingle, often in counts.items():
        for bit in range(64):
            totals[bit] += often if shingle >> bit & 1 else -often
    return sum(1 << bit for bit, total in enumerate(totals) if total > 0)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
