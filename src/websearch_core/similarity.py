"""Whether two texts are one text twice: near-duplicates and syndicated copies.

A text is known by its shingles: three words in a row, or, in scripts without blanks, the pairs of characters that overlap in
four. Two texts are one when they share nearly all of their shingles, or most of them while the 64 bits that SimHash (Charikar,
2002) makes of these, each as often as it stands there, hardly differ. Texts that state different figures are never the same.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from websearch_core.passages import words_of

__all__ = ["Shingle", "Sketch", "alike", "distance", "sketch"]

Shingle: TypeAlias = tuple[str, str, str]
MAX_CHARS = 12_000
MAX_DISTANCE = 26
"""Bits of 64 in which two copies may differ; unrelated texts differ in 32, give or take 4."""
SAME_SHARE, SURE_SHARE = 0.6, 0.8
"""Texts that share the greater part are one without a look at their bits, which then differ in 10, give or take 3."""
FEWEST_SHINGLES = 12
"""A shorter text says too little to be told from another; two sentences of one template are not one text."""
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """What of a text is needed to compare it."""

    shingles: Counter[Shingle]
    """How often each stands in the text."""
    figures: frozenset[str]

    @cached_property
    def bits(self) -> int:
        """The SimHash; dear, and needed only where shingles leave a doubt."""
        return _simhash(_hash(" ".join(shingle)) for shingle in self.shingles.elements())


def sketch(text: str, words: Sequence[str] | None = None) -> Sketch:
    """The sketch of a text's first 12,000 characters; `words` are those of a shorter one where they are known."""
    text = text[:MAX_CHARS]
    words = words_of(text) if words is None else words
    return Sketch(shingles=Counter(zip(words, words[1:], words[2:], strict=False)), figures=frozenset(_FIGURE.findall(text)))


def distance(one: Sketch, other: Sketch) -> int:
    """Bits in which the two differ, 0 to 64."""
    return (one.bits ^ other.bits).bit_count()


def alike(one: Sketch, other: Sketch) -> bool:
    """Whether the two are one text: most shingles shared, and no figure in each that the other lacks."""
    fewer, more = sorted((len(one.shingles), len(other.shingles)))
    if fewer < max(FEWEST_SHINGLES, SAME_SHARE * more):
        return False
    if one.figures - other.figures and other.figures - one.figures:
        return False
    shared = _shared(one, other)
    return shared >= SURE_SHARE or (shared >= SAME_SHARE and distance(one, other) <= MAX_DISTANCE)


def _shared(one: Sketch, other: Sketch) -> float:
    """Share of the shingles that both have among all that one has."""
    both = len(one.shingles.keys() & other.shingles.keys())
    return both / (len(one.shingles) + len(other.shingles) - both)


def _simhash(hashes: Iterable[int]) -> int:
    """The bits that more than half of the hashes have."""
    rows = [f"{one:064b}" for one in hashes]
    bits = ("1" if 2 * column.count("1") > len(rows) else "0" for column in zip(*rows, strict=True))
    return int("".join(bits) or "0", 2)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
