"""The search engines of the generated web, and a metasearch engine over them.

Each engine scores the whole text by BM25 over words and pairs of Chinese or Japanese characters, likes popular hosts, and has
moods: a seeded noise for each page and question. The metasearch engine joins their lists by reciprocal ranks, as SearXNG
does. Nothing of the product is used here, so that nothing can be tuned to itself.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from quality.web import Document, World

__all__ = ["ENGINES", "Finder", "Hit"]

ENGINES = ("north", "south")
DEPTH = 20
SNIPPET_CHARS = 170
WORD = re.compile(r"[^\W_]+")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result."""

    document: Document
    snippet: str
    engines: tuple[str, ...]
    positions: tuple[int, ...]


class Finder:
    """`Finder(world).search("…")` gives the best twenty pages."""

    def __init__(self, world: World) -> None:
        self._documents = list(world.documents.values())
        self._counts = [Counter(_words(f"{one.title} {one.title} {one.text}")) for one in self._documents]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._mean = sum(self._lengths) / len(self._lengths)
        self._postings: dict[str, list[int]] = defaultdict(list)
        for number, counts in enumerate(self._counts):
            for word in counts:
                self._postings[word].append(number)

    def search(self, query: str, *, engines: tuple[str, ...] = ENGINES) -> list[Hit]:
        """The hits of these engines, joined by reciprocal ranks; each page once."""
        places: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for engine in engines:
            for position, number in enumerate(self._ranked(query, engine), start=1):
                places[number].append((engine, position))
        order = sorted(places, key=lambda number: (-sum(1 / (10 + at) for _, at in places[number]), number))
        return [self._hit(number, places[number], query) for number in order[:DEPTH]]

    def _hit(self, number: int, places: list[tuple[str, int]], query: str) -> Hit:
        document = self._documents[number]
        names, positions = zip(*places, strict=True)
        return Hit(document=document, snippet=_snippet(document, query), engines=names, positions=positions)

    def _ranked(self, query: str, engine: str) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(_words(query)):
            found = self._postings.get(word, [])
            rarity = math.log(1 + (len(self._documents) - len(found) + 0.5) / (len(found) + 0.5)) ** 2.5  # names count most
            for number in found:
                often = self._counts[number][word]
                scores[number] += rarity * often * 1.5 / (often + 0.5 * (0.6 + 0.4 * self._lengths[number] / self._mean))
        top = max(scores.values(), default=1.0)
        liked = {
            number: score / top + 0.35 * self._documents[number].popularity + _mood(engine, query, number)
            for number, score in scores.items()
        }
        return sorted(liked, key=lambda number: (-liked[number], number))[:DEPTH]


def _mood(engine: str, query: str, number: int) -> float:
    """What an engine's order owes to chance, the same in every run."""
    return random.Random(f"{engine}{query}{number}").gauss(0, 0.1)


def _snippet(document: Document, query: str) -> str:
    """The stretch that holds most words of the question, or, for every third page, its first words."""
    text = document.text
    if random.Random(document.url).random() < 0.3:
        return text[:SNIPPET_CHARS]
    wanted = set(_words(query))
    best, at, most = 0, 0, -1
    for sentence in document.sentences:
        shared = len(wanted & set(_words(sentence)))
        if shared > most:
            best, most = at, shared
        at += len(sentence) + len(document.gap)
    return text[best : best + SNIPPET_CHARS]


def _words(text: str) -> list[str]:
    found: list[str] = []
    for run in WORD.findall(text.casefold()):
        cjk = "".join(CJK.findall(run))
        if cjk:
            found += [cjk[index : index + 2] for index in range(max(len(cjk) - 1, 1))]
        found += WORD.findall(CJK.sub(" ", run)) if cjk else [run]
    return found
