"""Whether a cited page says what the answer cites it for. Text against text: no model, no network, the same verdict every time.

A claim is the stretch of the answer before a link. It is *quoted* by a sentence of the page that holds each of its figures,
dates, names and telling words, in which no other figure of the kind stands and which nothing turns into a doubt, a plan or a
denial. It is *supported* by a sentence that holds its figures and names and most of its words, and *contradicted* by one that
says the same with another figure. Everything else is only *listed*: a page that says it in other words altogether is not told
from one that does not say it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from websearch_core import citations, facts, urls
from websearch_core.facts import Fact
from websearch_core.passages import is_unspaced, searchable
from websearch_core.values import Evidence

__all__ = ["Claim", "Finding", "ReadPage", "claims", "summary", "weakest"]

MAX_CLAIMS = 60
MAX_CLAIM_CHARS = 600
MAX_PAGE_CHARS = 200_000
FEWEST_WORDS = 3
NEAR_SHARE = 0.3
"""Words that a sentence must share letter by letter to be looked at; endings may differ in the rest."""
SUPPORTS_SHARE = 0.6
CONTRADICTS_SHARE = 0.8
SLACK_UNSPACED = 1.8
"""How much longer than the claim the stretch that holds it may be, in scripts without blanks."""
ORDER: tuple[Evidence, ...] = ("contradicted", "unreachable", "listed", "cited", "supports", "quoted")
"""Weakest first."""

_SMALL_WORDS = (
    "a an and any are as at be been by for from had has have in into is it its of on or our that the their this to was we were "
    "which who with also about according than then there these they those over since during after before under "
    "der die das den dem des ein eine einen einem einer eines und oder im am an auf aus bei mit nach von vom zu zum zur ist sind "
    "war waren wird wurde wurden hat haben hatte als auch für über seit dass "
    "le la les l un une des du de d et ou à au aux en dans sur par pour est sont était ont qui que ce cette se son sa ses depuis "
    "el los las del al y o u con por para es son fue fueron ha han su sus una uno desde "
    "il lo gli i dei delle e di da per con è sono os do dos nas"
)
_STOP = frozenset(_SMALL_WORDS.split())
_TURNS = (
    "not no never none neither nor cannot without wrong false untrue incorrect denied denies deny myth hoax debunked rumour "
    "rumor will would might could should planned plans plan expected scheduled proposed if unless almost nearly allegedly "
    "supposedly nicht kein keine keinen keiner keinem nie niemals ohne weder falsch unwahr soll sollte geplant voraussichtlich "
    "angeblich fast ne pas jamais aucun aucune sans ni faux fausse prévu prévue devrait nunca jamás sin ningún ninguna tampoco "
    "unlike contrast instead rather whereas anders gegensatz statt contrairement diferencia contrario lugar gegensätzlich "
    "falso falsa previsto prevista debería será presque casi non mai não"
)
_TURNING = frozenset(_TURNS.split())
"""Words that turn a statement into its opposite, a plan or a rumour."""
_TURNING_UNSPACED = re.compile(
    r"[不没未无非勿]|谣言|虚假|计划|预计|即将|将(?:于|在|会|要)|拟|如果|也许|可能|传言|据传"
    r"|不同|相比|而不是|違い|異なり|ではなく|一方|ない|なかった|ません|予定|見込み|かもしれ|誤り|デマ|もし"
)
_PARTICLES = frozenset("的了在于是也就都这那其之被把从自起至共はがをにのでともへやかだるいたてしすさせまれあり")
_LINK = re.compile(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)")
_MARKS = re.compile(r"[*_`\[\]#]")
_CAPITAL = re.compile(r"[^\W\d_a-zß-öø-ÿ][\w'’-]*")
_SPACED_WORD = re.compile(r"[\w'’-]+")
_PUNCTUATION = re.compile(r"[^\w\x1f]+")
_CLAUSE_MARK = re.compile(r"(?<!\d)[,;:、，；：]|[,;:、，；：](?!\d)|\s[-–—]\s|[()（）]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an answer says in front of a link."""

    text: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a page says of a claim."""

    state: Evidence
    sentence: str = ""
    """The page's words, where they decide."""
    figure: str = ""
    """The page's figure, where it contradicts."""


def claims(answer: str) -> tuple[Claim, ...]:
    """The claims of an answer in their order, one for each link outside of code."""
    plain, links = _without_links(answer)
    found: list[Claim] = []
    bounds = list(facts.sentences(plain))
    before, last = 0, ""
    for at, url in links[:MAX_CLAIMS]:
        start, end = _sentence_around(bounds, plain, at)
        text = _tidy(plain[max(start, before) : at])
        if len(_words_of(text)) >= FEWEST_WORDS:
            before = at
        elif (
            end > at
            and len(_words_of(whole := _tidy(plain[max(start, before) : end]))) >= FEWEST_WORDS
            and not plain[at:end].isspace()
        ):
            text = whole
        else:
            text = last or text
        last = text
        if text:
            found.append(Claim(text=text[-MAX_CLAIM_CHARS:], url=url))
    return tuple(found)


def weakest(states: Iterable[Evidence]) -> Evidence:
    """What a source is worth that several claims lean on."""
    return min(states, key=ORDER.index, default="cited")


def summary(states: Sequence[Evidence]) -> str:
    """One line on how the citations fared."""
    counts = Counter(states)
    words = {
        "supports": "supported",
        "listed": "not found on the page",
        "cited": "not checked",
        "unreachable": "page unreachable",
    }
    parts = [f"{counts[state]} {words.get(state, state)}" for state in reversed(ORDER) if counts[state]]
    return f"Evidence: {len(states)} citation{'s' * (len(states) != 1)}: {', '.join(parts)}."


class ReadPage:
    """A page's sentences, ready to be asked; `ReadPage(text, title=…).on(claim)`."""

    def __init__(self, text: str, *, title: str = "") -> None:
        self._text = _MARKS.sub("", _LINK.sub("]", text[:MAX_PAGE_CHARS]))
        self._title = frozenset(searchable(title).split())
        self._sentences = [_Sentence(self._text[start:end]) for start, end in facts.sentences(self._text)]

    def on(self, claim: str) -> Finding:
        """What the page says of the claim; the best of its sentences decides."""
        asked = _Sentence(claim)
        if len(asked.words) + len(asked.facts) < FEWEST_WORDS:
            return Finding(state="listed")
        some = len(asked.distinct) * NEAR_SHARE
        near = [sentence for sentence in self._sentences if len(asked.distinct & sentence.held) >= some]
        near = [sentence for sentence in near if asked.share_in(sentence) >= SUPPORTS_SHARE]
        if found := next((sentence for sentence in near if _quotes(sentence, asked)), None):
            return Finding(state="quoted", sentence=found.text)
        if found := next((sentence for sentence in near if _supports(sentence, asked, self._title)), None):
            return Finding(state="supports", sentence=found.text)
        for sentence in near:
            if figure := _contradiction(sentence, asked):
                return Finding(state="contradicted", sentence=sentence.text, figure=sentence.text[figure.start : figure.end])
        return Finding(state="listed")


class _Sentence:
    """One sentence, taken apart."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        return facts.facts(self.text)

    @cached_property
    def _prose(self) -> str:
        """The text with its figures blanked, so that positions stay."""
        parts, at = [], 0
        for fact in self.facts:
            parts += [self.text[at : fact.start], " " * (fact.end - fact.start)]
            at = max(fact.end, at)
        return "".join([*parts, self.text[at:]])

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its telling words in order, without figures."""
        return _words_of(self._prose)

    @cached_property
    def distinct(self) -> frozenset[str]:
        """Its telling words, each once."""
        return frozenset(self.words)

    @cached_property
    def held(self) -> frozenset[str]:
        """Every word, for looking up."""
        return frozenset(searchable(self.text).split())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Words with a capital, folded, in order."""
        found = (word for match in _CAPITAL.finditer(self._prose) for word in searchable(match.group()).split())
        return tuple(word for word in found if word not in _STOP and not is_unspaced(word))

    @cached_property
    def turns(self) -> frozenset[str]:
        """Words that turn the statement."""
        words = (match.casefold() for match in _SPACED_WORD.findall(self._prose))
        spaced = ["not" if word.endswith(("n't", "n’t")) or word.startswith(("n'", "n’")) else word for word in words]
        return frozenset([*_TURNING.intersection(spaced), *_TURNING_UNSPACED.findall(self._prose)])

    @cached_property
    def squeezed(self) -> str:
        """What is left of it without blanks, case and full stops."""
        return _squeezed(self.text)

    @cached_property
    def characters(self) -> Counter[str]:
        """The characters of scripts without blanks that stand for something; a name may differ in a single one."""
        return Counter(char for char in self._prose if is_unspaced(char) and char not in _PARTICLES)

    @cached_property
    def is_unspaced(self) -> bool:
        """Whether most of its words are pairs of characters."""
        return sum(map(is_unspaced, self.words)) * 2 > len(self.words)

    def share_in(self, other: _Sentence) -> float:
        """Share of its words that the other holds, inflected or not."""
        return sum(_held(word, other.held) for word in self.words) / len(self.words) if self.words else 1.0


# --- verdicts -----------------------------------------------------------------------------------------------------


def _quotes(sentence: _Sentence, claim: _Sentence) -> bool:
    if sentence.turns - claim.turns or claim.turns - sentence.turns:
        return False
    if claim.squeezed in sentence.squeezed:
        return _whole(sentence, claim)
    return (
        claim.share_in(sentence) == 1.0
        and _holds_facts(sentence, claim)
        and not _others(sentence, claim)
        and set(claim.names) <= sentence.held
        and _in_order(claim.names, sentence.names)
        and not _strangers(sentence, claim)
        and _tight(sentence, claim)
    )


def _supports(sentence: _Sentence, claim: _Sentence, title: frozenset[str]) -> bool:
    return (
        not sentence.turns - claim.turns
        and not claim.turns - sentence.turns
        and claim.share_in(sentence) >= SUPPORTS_SHARE
        and _holds_facts(sentence, claim)
        and set(claim.names) <= sentence.held | title
        and claim.characters <= sentence.characters
    )


def _contradiction(sentence: _Sentence, claim: _Sentence) -> Fact | None:
    """The figure that stands where the claim has another one; all else must be said alike."""
    open_facts = [fact for fact in claim.facts if not any(facts.agrees(fact, found) for found in sentence.facts)]
    if len(open_facts) != 1 or sentence.turns ^ claim.turns or not set(claim.names) <= sentence.held:
        return None
    if claim.share_in(sentence) < (1.0 if claim.is_unspaced else CONTRADICTS_SHARE):
        return None
    rivals = [found for found in sentence.facts if facts.clashes(open_facts[0], found)]
    return rivals[0] if len(rivals) == 1 else None


def _whole(sentence: _Sentence, claim: _Sentence) -> bool:
    """Whether the claim, found in the sentence letter by letter, ends and begins where figures and words do."""
    at = sentence.squeezed.find(claim.squeezed)
    before, after = sentence.squeezed[at - 1 : at] if at else "", sentence.squeezed[at + len(claim.squeezed) :][:1]
    return _holds_facts(sentence, claim) and not (before.isdigit() or after.isdigit()) and set(claim.names) <= sentence.held


def _holds_facts(sentence: _Sentence, claim: _Sentence) -> bool:
    return all(any(facts.agrees(fact, found) for found in sentence.facts) for fact in claim.facts)


def _others(sentence: _Sentence, claim: _Sentence) -> bool:
    """Whether figures of the claim's kinds stand there that the claim does not have; then it is open which belongs to what."""
    kinds = {(fact.kind, fact.unit) for fact in claim.facts}
    same_kind = [found for found in sentence.facts if (found.kind, found.unit) in kinds]
    return any(not any(facts.agrees(fact, found) for fact in claim.facts) for found in same_kind)


def _in_order(names: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the names come in the same order there; who does what to whom hangs on it."""
    rest = iter(others)
    known = set(others)
    return all(name in rest for name in dict.fromkeys(names) if name in known)


def _strangers(sentence: _Sentence, claim: _Sentence) -> bool:
    """Whether another name stands before the last of the claim's words; it may be who is really spoken of."""
    places = [at for at, word in enumerate(sentence.words) if _held(word, claim.held)]
    until = sentence.words[: places[-1] + 1] if places else ()
    return any(word in set(sentence.names) and word not in claim.held for word in until)


def _tight(sentence: _Sentence, claim: _Sentence) -> bool:
    if not claim.is_unspaced:
        return True
    return len(sentence.squeezed) <= SLACK_UNSPACED * len(claim.squeezed) + 8


# --- words --------------------------------------------------------------------------------------------------------


def _words_of(text: str) -> tuple[str, ...]:
    """Telling words; of scripts without blanks the pairs of characters, without the last one alone."""
    words = searchable(text).split()
    return tuple(word for word in words if word not in _STOP and not (len(word) == 1 and not word.isdigit()))


def _held(word: str, held: frozenset[str]) -> bool:
    if word in held:
        return True
    if len(word) < 6 or is_unspaced(word):
        return False
    return any(_inflected(word, other) for other in held)


def _inflected(word: str, other: str) -> bool:
    """Whether the two differ in an ending only: `reopen` and `reopened`, not `minimum` and `minimal`."""
    short, long = sorted((word, other), key=len)
    return len(short) >= 5 and long.startswith(short) and len(long) - len(short) <= 3


def _squeezed(text: str) -> str:
    """Letters, digits and the marks between clauses."""
    text = _CLAUSE_MARK.sub("\x1f", unicodedata.normalize("NFKC", text).casefold())
    return _PUNCTUATION.sub("", text).strip("\x1f")


def _without_links(answer: str) -> tuple[str, list[tuple[int, str]]]:
    """The answer without links and code, and where each link stood; a label that the sentence needs stays."""
    parts: list[str] = []
    links: list[tuple[int, str]] = []
    at = length = 0
    for start, end, label, url in citations.links(answer):
        between = answer[at:start]
        kept = label if _goes_on_after(answer, end) and not citations.is_marker(label) else ""
        parts += [between, kept]
        length += len(between) + len(kept)
        links.append((length, urls.canonical(url)))
        at = end
    return "".join([*parts, answer[at:]]), links


def _goes_on_after(answer: str, end: int) -> bool:
    """Whether words of the same sentence follow a link."""
    return re.match(r"[ \t]*[^\W\d_]", answer[end : end + 4]) is not None


def _sentence_around(bounds: Sequence[tuple[int, int]], plain: str, at: int) -> tuple[int, int]:
    """Start and end of the sentence that a link belongs to, also when its full stop stands before the link."""
    end = len(plain[:at].rstrip(" \t([（【"))
    return next(((start, stop) for start, stop in reversed(bounds) if start < end), (0, len(plain)))


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ,;:()（）-–—")
