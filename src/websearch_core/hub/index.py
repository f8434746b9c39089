"""Search over the tools of all upstreams: exact names first, then BM25 over words, updated by what changed.

BM25 with k1 = 1.2 and b = 0.75; idf is `ln(1 + (N - n + 0.5) / (n + 0.5))`. A document is a tool's names, title, description and
the names of its parameters. Words are folded, cut from identifiers, and brought to a stem by a few rules of English; Chinese,
Japanese and Korean are indexed by characters and pairs of characters. Equal scores are ordered by id, so the same catalog and the
same question always give the same answer.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from websearch_core.hub.registry import findable
from websearch_core.hub.values import Catalog, CatalogTool

__all__ = ["Matches", "ToolIndex", "ToolMatch", "tokens"]

K1, B = 1.2, 0.75
MAX_TEXT_CHARS = 4_000
"""Of a description; the rest of a longer one is not searched."""
MAX_PARAMETERS = 100
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECES = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:_+[^\W_{_CJK}]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IS_CJK = re.compile(rf"[{_CJK}]")
STOP_WORDS = frozenset(
    re.findall(
        r"[a-z]+",
        """
    a about above after again all also am an and any are as at be because been before being below between both but by can
    could did do does doing down during each etc few for from further had has have having he her here him his how i if in
    into is it its just let me more most my no nor not of off on once only or other our out over own please same she should
    so some such than that the their them then there these they this those through to too tool tools under until up us use
    used uses using very via want was we were what when where which while who whom why will with would you your
    """,
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMatch:
    """A tool that fits, and how well; an exact name scores more than any words."""

    entry: CatalogTool
    score: float
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """A stretch of the tools that fit, and how many fit in all."""

    items: tuple[ToolMatch, ...] = ()
    total: int = 0


class ToolIndex:
    """The findable tools of a catalog, by the words in them. Not for several threads at once."""

    def __init__(self) -> None:
        self._catalog = Catalog()
        self._documents: dict[str, tuple[CatalogTool, Counter[str]]] = {}
        self._postings: dict[str, dict[str, int]] = {}
        self._lengths: dict[str, int] = {}
        self._total = 0
        self._names: dict[str, set[str]] = {}

    def __len__(self) -> int:
        """How many tools can be found."""
        return len(self._documents)

    def update(self, catalog: Catalog, /) -> int:
        """Make the index that of `catalog`; how many tools were taken out or put in. The same catalog again costs nothing."""
        if catalog is self._catalog:
            return 0
        self._catalog = catalog
        now = {entry.id: entry for entry in findable(catalog)}
        gone = [name for name, (entry, _) in self._documents.items() if now.get(name) is not entry and now.get(name) != entry]
        for name in gone:
            self._take_out(name)
        new = [entry for name, entry in now.items() if name not in self._documents]
        for entry in new:
            self._put_in(entry)
        return len(gone) + len(new)

    def search(self, need: str, /, *, upstream: str = "", offset: int = 0, limit: int = 5) -> Matches:
        """The tools that fit, best first. Every tool of which `need` is the id or the raw name comes first, then words."""
        exact = sorted(self._names.get(need.strip().casefold(), ()))
        scores = self._scores(need)
        ranked = [(math.inf, name) for name in exact]
        ranked += sorted(
            ((score, name) for name, score in scores.items() if name not in exact), key=lambda one: (-one[0], one[1])
        )
        if upstream:
            ranked = [(score, name) for score, name in ranked if self._documents[name][0].upstream == upstream]
        items = (
            ToolMatch(entry=self._documents[name][0], score=score, exact=score == math.inf)
            for score, name in ranked[offset : offset + limit]
        )
        return Matches(items=tuple(items), total=len(ranked))

    def _scores(self, need: str) -> dict[str, float]:
        count = len(self._documents)
        average = self._total / count if count else 1.0
        scores: dict[str, float] = {}
        for term, times in Counter(tokens(need, asking=True)).items():
            postings = self._postings.get(term, {})
            weight = times * math.log(1 + (count - len(postings) + 0.5) / (len(postings) + 0.5)) * (K1 + 1)
            for name, frequency in postings.items():
                norm = K1 * (1 - B + B * self._lengths[name] / average)
                scores[name] = scores.get(name, 0.0) + weight * frequency / (frequency + norm)
        # rounded, for sums of the same terms in another order must tie
        return {name: round(score, 9) for name, score in scores.items()}

    def _put_in(self, entry: CatalogTool) -> None:
        terms = Counter(_terms(entry))
        self._documents[entry.id] = (entry, terms)
        self._lengths[entry.id] = terms.total()
        self._total += terms.total()
        for term, frequency in terms.items():
            self._postings.setdefault(term, {})[entry.id] = frequency
        for name in _names(entry):
            self._names.setdefault(name, set()).add(entry.id)

    def _take_out(self, name: str) -> None:
        entry, terms = self._documents.pop(name)
        self._total -= self._lengths.pop(name)
        for term in terms:
            del self._postings[term][name]
            if not self._postings[term]:
                del self._postings[term]
        for known in _names(entry):
            self._names[known].discard(name)
            if not self._names[known]:
                del self._names[known]


def tokens(text: str, *, asking: bool = False) -> Iterator[str]:
    """The terms of a text, repetitions included.

    An identifier gives its words and, joined, itself. A run of Chinese, Japanese or Korean gives its pairs, in a document its
    single characters as well, for a question may have a single one.
    """
    folded = unicodedata.normalize("NFKC", text)
    for match in _PIECES.finditer(folded):
        piece = match[0]
        if _IS_CJK.match(piece):
            yield from _pairs(piece, singles=not asking or len(piece) == 1)
        else:
            yield from _words(piece)


def _terms(entry: CatalogTool) -> Iterator[str]:
    tool = entry.tool
    parameters = tool.input_schema.get("properties")
    named = list(parameters)[:MAX_PARAMETERS] if isinstance(parameters, dict) else []
    for text in (entry.upstream, tool.name, tool.name, tool.title, tool.description[:MAX_TEXT_CHARS], *named):
        yield from tokens(text)


def _names(entry: CatalogTool) -> Iterable[str]:
    return {entry.id.casefold(), entry.tool.name.strip().casefold(), f"{entry.upstream}__{entry.tool.name}".casefold()}


def _pairs(run: str, *, singles: bool) -> Iterator[str]:
    yield from (run[at : at + 2] for at in range(len(run) - 1))
    if singles:
        yield from run


def _words(piece: str) -> Iterator[str]:
    parts = [part for one in piece.split("_") if one for part in _CAMEL.split(one)]
    for part in parts:
        word = _plain(part)
        if word not in STOP_WORDS:
            yield _stem(word)
    if len(parts) > 1:
        yield "".join(_plain(part) for part in parts)


def _plain(word: str) -> str:
    """Without case and accents."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    bare = "".join(one for one in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(one))
    return unicodedata.normalize("NFC", bare)


_SUFFIXES: tuple[tuple[str, str, int], ...] = (
    ("sses", "ss", 2),
    ("ies", "y", 2),
    ("ss", "ss", 2),
    ("us", "us", 2),
    ("is", "is", 2),
    ("s", "", 3),
)
_ENDINGS: tuple[tuple[str, str, int], ...] = (
    ("ization", "iz", 3),
    ("ations", "at", 3),
    ("ation", "at", 3),
    ("tion", "t", 3),
    ("sion", "s", 3),
    ("ings", "", 3),
    ("ing", "", 3),
    ("ied", "y", 2),
    ("ed", "", 3),
    ("ment", "", 4),
    ("ly", "", 4),
    ("er", "", 4),
    ("or", "", 4),
)


def _stem(word: str) -> str:
    """A stem on which the common forms of an English word meet: creates, created, creating, creation, creator."""
    if not word.isascii() or len(word) < 4 or not word.isalpha():
        return word
    word = _cut(word, _SUFFIXES)
    short = _cut(word, _ENDINGS)
    if short != word and len(short) > 3 and short[-1] == short[-2] and short[-1] not in "lsz":
        short = short[:-1]
    return short[:-1] if len(short) > 3 and short.endswith("e") else short


def _cut(word: str, endings: tuple[tuple[str, str, int], ...]) -> str:
    """With the first ending that it has replaced, when so many letters, a vowel among them, stay in front."""
    for ending, instead, least in endings:
        stem = word.removesuffix(ending)
        if word.endswith(ending):
            return stem + instead if len(stem) >= least and re.search("[aeiouy]", stem) else word
    return word
