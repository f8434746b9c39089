"""A page's text in passages, and its words in the form in which they are kept and looked for.

Splitting loses nothing: the passages of a page, joined, are its text. What counts as a word is decided here alone, for pages and
queries alike, in every script.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from websearch_core import graphemes

__all__ = [
    "LONGEST_CHARS",
    "Piece",
    "coverage",
    "first_heading",
    "headings",
    "is_table_rule",
    "is_unspaced",
    "query_terms",
    "searchable",
    "split",
    "stretch",
    "words_of",
]

SHORT_CHARS = 400
"""A passage shorter than this goes on over a heading."""
ENOUGH_CHARS = 800
LONGEST_CHARS = 1_200
"""Only a code fence or a table may make a passage longer."""
MAX_TITLE_CHARS = 300
"""A longer line is no heading."""
MAX_WORD_CHARS = 64
MAX_TERMS = 64
NEAR_WORDS = 24
"""Words, or pairs of characters, that count as close together: a long sentence."""
PATH_SEPARATOR = " › "


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One passage of a page."""

    heading: str
    """The headings above it, outermost first, joined by ` › `; what the sections have in common if it holds several."""
    text: str


# --- passages -----------------------------------------------------------------------------------------------------


def split(text: str) -> tuple[Piece, ...]:
    """The text in passages of about 800 to 1,200 characters; joined, they are the text.

    Cut at headings and blank lines, never inside a closed code fence, a table or front matter, however long; a longer
    paragraph is cut at a line's, a sentence's or a word's end.
    """
    return tuple(_packed(_Lines(text).blocks()))


def is_table_rule(line: str) -> bool:
    """Whether the line is the rule below a table's header."""
    return _TABLE_RULE.match(line.rstrip("\n")) is not None


def headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Place, rank (1 to 6) and words of each heading; nothing inside code or front matter is one."""
    at = 0
    for block in _Lines(text).blocks():
        if block.level:
            yield at, block.level, block.title
        at += len(block.text)


def first_heading(text: str) -> str:
    """The first heading's words; empty when there is none."""
    return next((title for _, _, title in headings(text)), "")


def stretch(text: str, query: str, *, max_chars: int = LONGEST_CHARS) -> str:
    """The lines of `text`, verbatim and unbroken, that hold most different words of `query`; all of it when it fits."""
    if len(text) <= max_chars:
        return text
    lines = [line[: graphemes.floor(line, max_chars)] for line in text.splitlines(keepends=True)]
    wanted = set(words_of(query)) - _STOP_WORDS
    words = [wanted.intersection(words_of(line)) for line in lines]
    start, end = _richest(lines, words, max_chars)
    return "".join(lines[start:end])


def _richest(lines: list[str], words: list[set[str]], max_chars: int) -> tuple[int, int]:
    """First and last line of the earliest window of at most `max_chars` characters with most different words."""
    best, found = (0, 1), -1
    inside: Counter[str] = Counter()
    start = size = 0
    for end, line in enumerate(lines):
        inside.update(words[end])
        size += len(line)
        while size > max_chars:
            inside.subtract(words[start])
            inside += Counter()  # drops the zeros, so that the length counts words
            size -= len(lines[start])
            start += 1
        if len(inside) > found or (len(inside) == found and start == best[0]):
            best, found = (start, end + 1), len(inside)
    return best


_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,}|~{3,}|\^{3,})[ \t]*$")
_UNDERLINE_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4}
_FENCE = re.compile(r"[ \t]*(?:[-*+>][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_TABLE_RULE = re.compile(r"[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    text: str
    level: int = 0
    """1 to 6 for a heading, otherwise 0."""
    title: str = ""
    solid: bool = False
    """Not to be cut."""


class _Lines:
    """The lines of a text, read block by block."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._words = [line.strip() for line in self._lines]
        self._unclosed: dict[str, int] = {}
        """Fence character → length from which a search for its end is known to fail; keeps hostile text linear."""

    def blocks(self) -> Iterator[_Block]:
        """Every block with the blank lines behind it."""
        at = 0
        while at < len(self._lines):
            end, level, title = self._heading(at)
            solid = 0 if end else self._solid(at)
            end = end or solid or self._paragraph(at)
            while end < len(self._lines) and not self._words[end]:
                end += 1
            yield _Block(text="".join(self._lines[at:end]), level=level, title=title, solid=bool(solid))
            at = end

    def _heading(self, at: int) -> tuple[int, int, str]:
        """End, level and words of the heading that starts here; zeros when none does."""
        line = self._words[at]
        if not line or len(line) > MAX_TITLE_CHARS:
            return 0, 0, ""
        if (match := _ATX.match(self._lines[at].rstrip())) and match.group(2):
            return at + 1, len(match.group(1)), match.group(2).strip()
        rule = self._words[at + 1] if at + 1 < len(self._lines) else ""
        if _UNDERLINE.match(rule) and self._may_be_title(line, rule):
            return at + 2, _UNDERLINE_LEVELS[rule[0]], line
        return 0, 0, ""

    def _may_be_title(self, line: str, rule: str) -> bool:
        """Whether the underlined line can be a heading's words; `~` under a shorter line opens a fence, not a heading."""
        plain = any(map(str.isalnum, line)) and "|" not in line and not line.startswith(("- ", "* ", "+ ", "> "))
        return plain and (rule[0] in "=-" or len(rule) >= len(line))

    def _solid(self, at: int) -> int:
        """End of the code fence, table or front matter that starts here; 0 when none does."""
        return self._front_matter(at) or self._fence(at) or self._table(at)

    def _front_matter(self, at: int) -> int:
        if at or self._words[0] != "---" or len(self._lines) < 3 or not self._words[1]:
            return 0
        return next((end + 1 for end in range(1, min(len(self._words), 100)) if self._words[end] in {"---", "..."}), 0)

    def _fence(self, at: int) -> int:
        """Past the closing fence. A fence that nothing closes is an ordinary line."""
        match = _FENCE.match(self._lines[at])
        if not match:
            return 0
        mark, size = match.group(1)[0], len(match.group(1))
        if size >= self._unclosed.get(mark, size + 1):
            return 0
        for end in range(at + 1, len(self._lines)):
            if self._words[end].startswith(match.group(1)) and not self._words[end].strip(mark):
                return end + 1
        self._unclosed[mark] = size
        return 0

    def _table(self, at: int) -> int:
        """Past the last row: a header with its rule and the rows below, or any rows that begin with a bar."""
        ruled = at + 1 < len(self._lines) and "|" in self._words[at] and bool(_TABLE_RULE.match(self._words[at + 1]))
        if not ruled and not self._words[at].startswith("|"):
            return 0
        end = at + 2 if ruled else at + 1
        while end < len(self._lines) and "|" in self._words[end]:
            end += 1
        return end

    def _paragraph(self, at: int) -> int:
        """Past the last line before a blank line, a heading with marks, a fence or a table."""
        end = at + 1
        while self._words[at] and end < len(self._lines) and self._words[end]:
            if self._lines[end].lstrip(" ").startswith("#") and self._heading(end)[0]:
                break
            if self._solid(end):
                break
            end += 1
        return end


class _Packer:
    """The passage that is being filled."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self.chars = 0
        self._bare = True
        """Nothing but headings so far."""
        self._path: tuple[tuple[int, str], ...] = ()
        """The headings above the present place."""
        self._common: tuple[tuple[int, str], ...] = ()

    def enter(self, level: int, title: str) -> None:
        """Note the heading that comes next."""
        self._path = (*(above for above in self._path if above[0] < level), (level, title))
        self._common = self._path if self._bare else _shared(self._common, self._path)

    def put(self, text: str, *, heading: bool) -> None:
        """Add text to the passage."""
        self._texts.append(text)
        self.chars += len(text)
        self._bare = self._bare and (heading or not text.strip())

    def is_full_for(self, block: _Block) -> bool:
        """Whether the passage ends before `block`. A heading stays with what follows it."""
        if self._bare:
            return self.chars + len(block.text) > LONGEST_CHARS and self.chars >= SHORT_CHARS
        if block.level:
            return self.chars >= SHORT_CHARS or self.chars + len(block.text) > LONGEST_CHARS
        return self.chars >= ENOUGH_CHARS or self.chars + len(block.text) > LONGEST_CHARS

    def take(self) -> Iterator[Piece]:
        """The passage, if there is one, and begin the next."""
        if self._texts:
            yield Piece(heading=PATH_SEPARATOR.join(title for _, title in self._common), text="".join(self._texts))
        self._texts, self.chars, self._bare, self._common = [], 0, True, self._path


def _packed(blocks: Iterable[_Block]) -> Iterator[Piece]:
    packer = _Packer()
    for block in blocks:
        if packer.is_full_for(block):
            yield from packer.take()
        if block.level:
            packer.enter(block.level, block.title)
        room = LONGEST_CHARS - packer.chars
        for index, part in enumerate((block.text,) if block.solid else _cut(block.text, room)):
            if index:
                yield from packer.take()
            packer.put(part, heading=bool(block.level))
    yield from packer.take()


def _shared(one: tuple[tuple[int, str], ...], other: tuple[tuple[int, str], ...]) -> tuple[tuple[int, str], ...]:
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one[:same]


_ENDS = (re.compile(r"[\r\n]+"), re.compile(r"(?<![.!?…])[.!?…]++\s+|[。！？；]+"), re.compile(r"\s+"))


def _cut(text: str, room: int) -> Iterator[str]:
    """A part of at most `room` characters, then parts of LONGEST_CHARS; blanks at the end do not count as length."""
    start, length = 0, len(text.rstrip())
    while length - start > room:
        size = _cut_at(text[start : start + room])
        size = graphemes.floor(text, start + size) - start or size
        yield text[start : start + size]
        start, room = start + size, LONGEST_CHARS
    yield text[start:]


def _cut_at(window: str) -> int:
    """After the last line, else sentence, else word that ends far enough into the window; else at its end."""
    places = (max((end.end() for end in kind.finditer(window)), default=0) for kind in _ENDS)
    return next((place for place in places if place >= SHORT_CHARS), len(window))


# --- words --------------------------------------------------------------------------------------------------------

_VOWEL_SIGNS = (
    "\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0dff\u0f18\u0f19\u0f35"
    "\u0f37\u0f39\u0f71-\u0f84\u0f90-\u0fbc"
)
"""Marks that belong to the word although `\\w` leaves them out, by script; from the Unicode code charts, version 15."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17dd\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts written without blanks, or (Hangul) with endings grown onto the word: looked for by pairs of characters."""
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]")
_ACCENT = re.compile("[\u0300-\u036f]")
_CHUNK = re.compile(f"[\\w{_VOWEL_SIGNS}{_UNSPACED}]+(?:[.-][\\w{_VOWEL_SIGNS}{_UNSPACED}]+)*")
_RUN = re.compile(f"([{_UNSPACED}]+)")
_JOINT = re.compile(r"[._-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_ENGLISH = (
    "a about after also an and any are as at be before been but by can could did do does for from had has have how i if in into "
    "is it its me my no not of on or our should so than that the their them then there these they this to was we were what when "
    "where which who whom whose why will with would you your"
)
_CHINESE = (
    "的 了 是 在 和 与 或 吗 呢 吧 我 你 他 她 它 什么 怎么 么样 怎样 如何 为何 为什 哪些 哪个 哪里 "
    "是否 可以 这个 那个 我们 你们 他们 以及 或者 还是 有没 没有"
)
_STOP_WORDS = frozenset(f"{_ENGLISH} {_CHINESE}".split())
"""What a question is made of beside its subject; the Chinese ones in one or two characters, as the pairs fall."""


def searchable(text: str) -> str:
    """The words of `text` as the index keeps them, separated by blanks."""
    return " ".join(words_of(text))


def words_of(text: str) -> list[str]:
    """The words of `text` as the index keeps them.

    Folded (NFKC, no case, no accents); identifiers as a whole and in their parts; runs of unspaced scripts as overlapping
    pairs and their last character alone, so that every substring of a run can be found. Words are cut at 64 characters.
    """
    words: list[str] = []
    for unspaced, part in _parts(text):
        if unspaced:
            words += _pairs(part, last=True)
        elif part.isalpha() and part[1:].islower():  # most are plain, and have no joint to look for
            words.append(part.casefold()[:MAX_WORD_CHARS])
        else:
            words += _identifier(part)
    return words


def query_terms(query: str) -> list[str]:
    """What to look for when `query` is asked: its words, the runs of unspaced scripts whole and in pairs, in their order.

    At most 64 terms, each once; stop words only when there is nothing else. A whole run has blanks between its pairs.
    """
    terms = dict.fromkeys(term for kind, part in _parts(query) for term in (_run_terms(part) if kind else _identifier(part)))
    telling = [term for term in terms if term not in _STOP_WORDS] or list(terms)
    return telling[:MAX_TERMS]


def is_unspaced(term: str) -> bool:
    """Whether the term begins with a character of a script written without blanks."""
    return _RUN.match(term) is not None


def coverage(words: str, weights: Mapping[str, float], *, above: str = "") -> float:
    """How much of the query stands close together, 0 to 1: the best stretch of 24 words, by the weights of its different terms.

    `words` is a passage as the index keeps it, `above` the title and headings over it; a term that stands only there counts
    half. Inflected forms count as their stem.
    """
    wanted = {_stem(term): weight for term, weight in weights.items()}
    whole = sum(wanted.values())
    titled = wanted.keys() & set(map(_stem, above.split()))
    gains = {stem: weight / 2 if stem in titled else weight for stem, weight in wanted.items()}
    inside: Counter[str] = Counter()
    places: deque[tuple[int, str]] = deque()
    here = sum(wanted[stem] for stem in titled) / 2
    best = here
    for at, word in enumerate(words.split()):
        stem = _stem(word)
        if stem not in wanted:
            continue
        places.append((at, stem))
        inside[stem] += 1
        here += gains[stem] if inside[stem] == 1 else 0.0
        while places[0][0] <= at - NEAR_WORDS:
            _, left = places.popleft()
            inside[left] -= 1
            here -= gains[left] if not inside[left] else 0.0
        best = max(best, here)
    return best / whole if whole else 0.0


@functools.lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """Without the commonest English endings; coarser than the index's own stems, which decide what is found at all."""
    for ending in ("ing", "ies", "ed", "es", "s", "y", "e"):
        if len(word) >= len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Stretches of one kind: whether of an unspaced script, and the characters, their case kept."""
    for chunk in _CHUNK.findall(_folded(text)):
        if chunk.isascii():
            yield False, chunk
            continue
        for index, part in enumerate(_RUN.split(chunk)):
            if part:
                yield bool(index % 2), part


def _folded(text: str) -> str:
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text))
    return unicodedata.normalize("NFKC", _ACCENT.sub("", text))


def _identifier(chunk: str) -> list[str]:
    """`parseHTML` → parsehtml, parse, html; a plain word → itself."""
    chunk = chunk.strip(".-")
    whole = chunk.casefold()[:MAX_WORD_CHARS]
    parts = [part.casefold()[:MAX_WORD_CHARS] for part in _JOINT.split(chunk) if part]
    return [whole, *parts] if whole and parts != [whole] else parts


def _pairs(run: str, *, last: bool = False) -> list[str]:
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [*pairs, run[-1]] if last or not pairs else pairs


def _run_terms(run: str) -> list[str]:
    """The pairs of a run, and the whole run first where it is longer than a pair."""
    pairs = _pairs(run)
    return [" ".join(pairs[: MAX_TERMS // 2]), *pairs] if len(pairs) > 1 else pairs
