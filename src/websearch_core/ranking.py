"""Which of the pages that finders brought come first, and which are left out because they say the same.

Four things count: how many finders brought a page and where in their lists; how well its title, snippet and address match the
question; what kind of place it stands on; and its age. Near-duplicates are folded into the better page, and a host that has a
place already waits for its next one. No network, no model; the same list in gives the same list out.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Literal, TypeAlias

from websearch_core import fusion, urls
from websearch_core.depth import judged
from websearch_core.passages import words_of
from websearch_core.similarity import Sketch, alike, sketch
from websearch_core.values import Source

__all__ = ["CLASSES", "Ranked", "Ranking", "SourceClass", "Weights"]

SourceClass: TypeAlias = Literal["official", "standard", "paper", "maintainer", "press", "forum", "other"]
CLASSES: dict[SourceClass, float] = {
    "official": 1.0,
    "standard": 1.0,
    "paper": 0.9,
    "maintainer": 0.9,
    "press": 0.6,
    "other": 0.3,
    "forum": 0.2,
}
"""What a place is worth before a word is read, 0 to 1."""
TERM_SATURATION, LENGTH_SHARE = 1.2, 0.75
"""k1 and b of BM25 (Robertson, Zaragoza, 2009)."""
TITLE_REPEATS = 2
ASSUMED_GOOD = 5
LEAST_WEIGHT = 0.2
HALF_LIFE_DAYS, FRESH_HALF_LIFE_DAYS = 720, 120
UNDATED = 0.5
NEXT_OF_HOST = 0.85
"""What each further page of a host is worth beside the first."""
SAME_TITLE_TERMS = 5
SAME_STORY_DAYS = 7
_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？])")
_ASKS = ("?", "？")
_SIGNS = re.compile(r"[/_.?=&-]+")
_FIGURE = re.compile(r"\d+(?:[.,:/年月日-]\d+)*")
_WANTS_FIGURE = re.compile(
    r"\b(?:when|how (?:many|much|long|far|old|often|high|large|big|fast|tall)"
    r"|(?:what|which) (?:year|date|version|percentage|time)"
    r"|version|price|population|dose|dosage|release date"
    r"|wann|wie (?:viele?|lange?|hoch|weit|alt|groß)|quand|combien|quelle (?:date|dose|longueur|version)"
    r"|cuándo|cuánt[oa]s?|qué (?:año|fecha|versión)|quando|quant[oiae])\b"
    r"|什么时候|何时|哪年|多少|几|多长|多大|多高|版本|剂量|いつ|何[人年月日時kmメ個]|いくつ|いくら|どのくらい",
    re.IGNORECASE,
)
"""Questions whose answer holds a number or a date, in the languages that the house knows some words of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each thing counts; only their proportions matter."""

    agreement: float = 1.0
    match: float = 1.0
    telling: float = 0.7
    place: float = 0.8
    age: float = 0.3
    fresh_age: float = 0.8
    """In place of `age` where the question asks for what holds now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The pages in their order, and how many were folded into them."""

    sources: tuple[Source, ...]
    folded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """`Ranking()(lists, "question", today=…)`; the operator's own hosts make it better."""

    hosts: Mapping[str, SourceClass] = field(default_factory=lambda: MappingProxyType({}))
    """Host → what it is; subdomains included, the longest match wins. What is not named is judged by its labels."""
    weights: Weights = field(default_factory=Weights)

    def __call__(
        self, lists: Iterable[Sequence[Source]], question: str, *, today: date, fresh: bool = False, limit: int | None = None
    ) -> Ranked:
        """The pages of all lists, each once, best first. Each list is one finder's, best first.

        `fresh`: only what holds now is wanted, whatever the question's words say.
        """
        met = fusion.weighed(lists)
        if not met:
            return Ranked(sources=())
        pages = [_Page(source) for source, _ in met]
        asked = _Asked(question, pages)
        is_fresh = fresh or judged(question).fresh
        age_weight = self.weights.fresh_age if is_fresh else self.weights.age
        half_life = FRESH_HALF_LIFE_DAYS if is_fresh else HALF_LIFE_DAYS
        agreement = _relative([weight for _, weight in met])
        match = _relative([asked.match(page) for page in pages])
        scores = [
            self.weights.agreement * agreement[number]
            + self.weights.match * match[number]
            + self.weights.telling * asked.telling(page)
            + self.weights.place * CLASSES[self._class_of(page.host, page.source.url)]
            + age_weight * _freshness(page.source, today, half_life)
            for number, page in enumerate(pages)
        ]
        kept, folded = _folded(pages, scores, asked.terms)
        return Ranked(sources=tuple(_spread(kept))[:limit], folded=folded)

    def class_of(self, url: str) -> SourceClass:
        """What kind of place the address belongs to."""
        return self._class_of(urls.host(url), url)

    def _class_of(self, host: str, url: str) -> SourceClass:
        labels = host.split(".")
        for start in range(len(labels)):
            if found := self.hosts.get(".".join(labels[start:])):
                return found
        return _by_labels(host, url)


# --- the four things ----------------------------------------------------------------------------------------------


class _Sentence:
    """A sentence, with what is asked of it more than once."""

    def __init__(self, text: str) -> None:
        self.words = words_of(text)
        self.figures = frozenset(_FIGURE.findall(text))
        self.asks = text.rstrip().endswith(_ASKS)


class _Page:
    """A found page, with what is asked of it more than once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.host = urls.host(source.url)
        self.title = _Sentence(source.title)
        self.sentences = [_Sentence(text) for text in _SENTENCE_END.split(source.description)]

    def fill(self, copy: _Page) -> None:
        """Take what this page lacks from a copy; it is compared by its own text as before."""
        own, other = self.source, copy.source
        self.title = self.title if own.title else copy.title
        self.source = dataclasses.replace(
            own,
            title=own.title or other.title,
            description=own.description or other.description,
            published=own.published or other.published,
        )

    @cached_property
    def told(self) -> list[_Sentence]:
        """Title and sentences that state something; a question repeated is no answer."""
        return [one for one in (self.title, *self.sentences) if not one.asks]

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word stands in its title, which counts twice, its told sentences and its address."""
        address = words_of(_SIGNS.sub(" ", self.source.url.partition("://")[2]))
        title = [] if self.title.asks else self.title.words * (TITLE_REPEATS - 1)
        return Counter(chain(address, title, *(sentence.words for sentence in self.told)))

    @cached_property
    def sketch(self) -> Sketch:
        """Of its text."""
        if self.source.content:
            return sketch(self.source.content)
        return sketch(self.source.description, [word for sentence in self.sentences for word in sentence.words])


class _Asked:
    """The question beside the pages: how rare its words are among them, and where they stand."""

    def __init__(self, question: str, pages: Sequence[_Page]) -> None:
        self.terms = frozenset(words_of(question))
        self._wants_figure = _WANTS_FIGURE.search(question) is not None
        self._figures = frozenset(_FIGURE.findall(question))
        self._mean = max(sum(page.counts.total() for page in pages) / len(pages), 1.0)
        self._rarity = {term: _weight([term in page.counts for page in pages]) for term in self.terms}

    def match(self, page: _Page) -> float:
        """BM25 of the page's title, told sentences and address."""
        counts = page.counts
        norm = TERM_SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * counts.total() / self._mean)
        return math.fsum(
            rarity * counts[term] * (TERM_SATURATION + 1) / (counts[term] + norm) for term, rarity in self._rarity.items()
        )

    def telling(self, page: _Page) -> float:
        """How much of the question one sentence of the page covers, 0 to 1; a third less without the figure that is asked for."""
        whole = math.fsum(self._rarity.values()) or 1.0
        return max((self._covers(sentence) / whole for sentence in page.told), default=0.0)

    def _covers(self, sentence: _Sentence) -> float:
        covered = math.fsum(self._rarity[term] for term in self.terms.intersection(sentence.words))
        lacks = self._wants_figure and not sentence.figures - self._figures
        return covered * (2 / 3 if lacks else 1.0)


def _weight(having: Sequence[bool]) -> float:
    """How well a word tells good pages from others, by Robertson and Sparck Jones, 1976; the finder's first pages count as good.

    A name that all the first pages carry and half of the others do not tells more than a rare word that none of the first has.
    """
    pages, first = len(having), min(len(having) // 2, ASSUMED_GOOD)
    often, good = sum(having), sum(having[:first])
    if not often:
        return 0.0
    odds = (good + 0.5) * (pages - often - first + good + 0.5) / ((often - good + 0.5) * (first - good + 0.5))
    return max(math.log(odds), LEAST_WEIGHT)


def _freshness(source: Source, today: date, half_life_days: int) -> float:
    if not source.published:
        return UNDATED
    days = max((today - date.fromisoformat(source.published)).days, 0)
    return float(2 ** (-days / half_life_days))


def _relative(values: Sequence[float]) -> list[float]:
    top = max(values, default=0.0)
    return [value / top if top > 0 else 0.0 for value in values]


_LABELS: dict[SourceClass, re.Pattern[str]] = {
    "official": re.compile(
        r"(?:^|\.)(?:gov|gob|gouv|govt|mil|bund|europa|go|admin|gc|nhs)\.[a-z]{2,}(?:\.[a-z]{2})?$|\.(?:gov|mil|int|edu)$"
    ),
    "standard": re.compile(
        r"(?:^|\.)(?:ietf|rfc-editor|w3|iso|iec|itu|unicode|whatwg|ecma-international|oasis-open)\.(?:org|int|ch)$"
    ),
    "paper": re.compile(
        r"(?:^|\.)(?:arxiv|doi|ncbi|pubmed|biorxiv|medrxiv|openreview|aclanthology|acm|ieee)\.|^journals?\.|(?:^|\.)(?:edu|ac)\.[a-z]{2,}$"
    ),
    "forum": re.compile(
        r"^(?:forums?|community|discuss(?:ions?)?|board|bbs|talk|answers|groups?|tieba|zhidao)\."
        r"|(?:^|\.)(?:reddit|quora|stackexchange|stackoverflow|zhihu|v2ex)\."
    ),
    "maintainer": re.compile(
        r"^(?:docs?|documentation|developers?|dev|api|help|support|manual|wiki|learn|reference)\."
        r"|\.(?:readthedocs|rtfd|github|gitlab)\.io$"
    ),
    "press": re.compile(
        r"^(?:news|press|presse|media|nachrichten)\."
        r"|(?:news|herald|gazette|courier|tribune|times|chronicle|zeitung|tagblatt|tageblatt|journal|diario|ribao|shimbun|kurier)"
        r"\d*\.[a-z.]{2,}$"
    ),
}
"""What the labels of a host say of it, first hit wins; a habit of those who name hosts, and no proof."""


def _by_labels(host: str, url: str) -> SourceClass:
    if re.match(r"https?://(?:www\.)?git(?:hub|lab)\.com/[^/]+/[^/]+", url):
        return "maintainer"
    return next((name for name, pattern in _LABELS.items() if pattern.search(host)), "other")


# --- folding and spreading ----------------------------------------------------------------------------------------


def _folded(pages: Sequence[_Page], scores: Sequence[float], asked: frozenset[str]) -> tuple[list[tuple[float, _Page]], int]:
    """Best first, each story once; what a copy knows more goes into the page that stands for it."""
    kept: list[tuple[float, _Page]] = []
    for number in sorted(range(len(pages)), key=lambda number: (-scores[number], number)):
        page = pages[number]
        original = next((other for _, other in kept if _is_copy(page, other, asked)), None)
        if original is None:
            kept.append((scores[number], page))
        else:
            original.fill(page)
    return kept, len(pages) - len(kept)


def _is_copy(page: _Page, other: _Page, asked: frozenset[str]) -> bool:
    if page.host == other.host and _other_titles(page, other):
        return False  # pages of one host are made of one template
    return alike(page.sketch, other.sketch) or (_same_headline(page, other, asked) and _same_days(page.source, other.source))


def _other_titles(page: _Page, other: _Page) -> bool:
    return bool(page.source.title and other.source.title) and page.title.words != other.title.words


def _same_headline(page: _Page, other: _Page, asked: frozenset[str]) -> bool:
    """Whether both have one long title that says more than the question, on different hosts."""
    if page.host == other.host or page.title.asks:
        return False
    words = frozenset(page.title.words)
    return len(words) >= SAME_TITLE_TERMS and len(words - asked) >= 2 and words == frozenset(other.title.words)


def _same_days(source: Source, other: Source) -> bool:
    if not (source.published and other.published):
        return True
    apart = date.fromisoformat(source.published) - date.fromisoformat(other.published)
    return abs(apart.days) <= SAME_STORY_DAYS


def _spread(kept: Sequence[tuple[float, _Page]]) -> Iterable[Source]:
    """By score, each further page of a host at a discount."""
    waiting, taken = [(score, page.host or page.source.url, page.source) for score, page in kept], Counter[str]()
    while waiting:
        best = max(waiting, key=lambda one: one[0] * NEXT_OF_HOST ** taken[one[1]])
        waiting.remove(best)
        taken[best[1]] += 1
        yield best[2]
