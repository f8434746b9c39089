"""Posts and their words in an answer: which post an address names, what is quoted beside it, whether a page holds the words.

Pure text work, linear or bounded in what it reads. Addresses of posts: `https://x.com/HANDLE/status/NUMBER` and the spellings
of 2010 to 2026 that lead to the same post. A number from November 2010 on tells the moment of the post in its upper bits:
milliseconds since 1288834974657 (Twitter's published "snowflake" scheme, read 2026-11-30).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from websearch_core import urls
from websearch_core.values import PostSource, Quote

__all__ = ["Post", "holds", "post_of", "quotes_in", "sourced"]

MAX_SEARCHED_CHARS = 400_000
"""Longer answers are searched in their beginning only."""
MAX_QUOTES = 200
MAX_QUOTE_CHARS = 25_000
"""As long as a post can be."""
BRIDGE_CHARS = 200
"""Most characters between a quote and its link: a dash, the account, the day."""
BRIDGE_WORDS = 4
"""Where it begins with a word; more words are a sentence about something else."""
LEAD_CHARS = 80
TAIL_CHARS = 300
FIRST_TIMED_NUMBER = 29_700_859_247
EPOCH_MS = 1_288_834_974_657
FEWEST_LETTERS = 3
"""A quote of fewer letters and digits is found anywhere, which proves nothing."""

_PATH = re.compile(r"/(?:i(?:/web)?|(?P<handle>[A-Za-z0-9_]{1,15}))/status(?:es)?/(?P<number>[0-9]{1,19})(?:/.*)?", re.DOTALL)
_LINK = re.compile(
    r"(?:\[[^\[\]\n]{0,300}\]\()?<?(?P<url>https?://(?:[A-Za-z0-9-]{1,20}\.)?(?:x|twitter)\.com"
    r"/(?:i/web|[A-Za-z0-9_]{1,15})/status(?:es)?/[0-9]{1,19}(?![A-Za-z0-9_])(?:[/?#][^\s()<>\[\]\"”»」]*)?)>?\)?",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"^[ \t]{0,8}(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?>.*(?:\n[ \t]{0,8}>.*)*", re.MULTILINE)
_BLOCK_MARK = re.compile(r"^[ \t]*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?(?:>[ \t]?)+", re.MULTILINE)
_INLINE = re.compile(
    r"“(?P<a>[^“”]{1,25000})”|„(?P<b>[^„“”]{1,25000})[“”]|«(?P<c>[^«»]{1,25000})»|「(?P<d>[^「」]{1,25000})」"
    r"|『(?P<e>[^『』]{1,25000})』|(?<![\w\"])\"(?P<f>[^\"]{1,25000})\"(?!\w)"
)
_NEW_ITEM = re.compile(r"\n[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]|\n[ \t]*#")
_EMPHASIS = re.compile(r"^(\*{1,3}|_{1,3}|`)(?=\S)(.*\S)\1$", re.DOTALL)
_MARKS = {"“": "”", '"': '"', "„": "“", "«": "»", "「": "」", "『": "』"}
_ATTRIBUTION = re.compile(r"\n[ \t]*(?:[-–—~]{1,3}[^\n]{0,200}|\([^\n()]{0,200}\)|@[A-Za-z0-9_]{1,15}[^\n]{0,80})\s*$")
_DANGLING = re.compile(r"(?<=\s)[-–—:(]{1,3}\s*\Z")
_ANY_URL = re.compile(r"https?://\S+|\bpic\.(?:twitter|x)\.com/\S+", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\[?(?:…|\.{3,})\]?")
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")


@dataclass(frozen=True, slots=True)
class Post:
    """What an address tells of a post."""

    number: str
    handle: str
    """Empty where the address leaves it out."""

    @property
    def url(self) -> str:
        """The address under which the post is read."""
        return f"https://x.com/{self.handle or 'i'}/status/{self.number}"

    @property
    def published(self) -> str:
        """The day, YYYY-MM-DD in UTC; empty for numbers without a time."""
        number = int(self.number)
        if number < FIRST_TIMED_NUMBER:
            return ""
        return datetime.fromtimestamp(((number >> 22) + EPOCH_MS) / 1_000, UTC).date().isoformat()


def post_of(url: str) -> Post | None:
    """The post that an address names, in any spelling; None for every other address."""
    if not urls.is_web_url(url) or not (urls.host_matches(url, "x.com") or urls.host_matches(url, "twitter.com")):
        return None
    path = "/" + url.partition("://")[2].partition("/")[2]
    match = _PATH.fullmatch(re.split(r"[?#]", path, maxsplit=1)[0])
    if match is None:
        return None
    handle = match["handle"] or ""
    return Post(match["number"].lstrip("0") or "0", "" if handle.lower() == "i" else handle)


def sourced(url: str, title: str = "") -> PostSource:
    """A source with what its address tells."""
    post = post_of(url)
    if post is None:
        return PostSource(url=url, title=title)
    return PostSource(url=url, title=title, post_id=post.number, handle=post.handle, published=post.published)


# --- quotes in an answer ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of the answer: a quotation, or a link to a post."""

    start: int
    end: int
    text: str
    is_block: bool = False


def quotes_in(text: str) -> tuple[Quote, ...]:
    """The quotations that stand at a link to a post, in order, each once, as `unlisted`.

    A quotation is a block of `>` lines or a text in quotation marks. It belongs to the link that follows it closely, or to
    the one that leads it in with a colon. A quotation at no link, and a link without a quotation, give nothing.
    """
    text = text[:MAX_SEARCHED_CHARS]
    links = [_Piece(match.start(), match.end(), match["url"]) for match in _LINK.finditer(text)]
    found: dict[tuple[str, str], Quote] = {}
    for words, link in _pairs(text, links):
        post, said = post_of(link.text), _bare(words)
        if post is not None and said:
            quote = Quote(text=said, url=link.text, post_id=post.number, handle=post.handle, published=post.published)
            found.setdefault((said, post.number), quote)
        if len(found) >= MAX_QUOTES:
            break
    return tuple(found.values())


def _pairs(text: str, links: list[_Piece]) -> Iterator[tuple[str, _Piece]]:
    """Quotations and the links that they belong to."""
    quotations = _quotations(text, links)
    leading = _leads(text, links, quotations)
    at, taken = 0, -1
    for number, quotation in enumerate(quotations):
        while at < len(links) and links[at].start < quotation.start:
            at += 1
        following = quotations[number + 1].start if number + 1 < len(quotations) else len(text)
        is_led = leading or (at - 1 > taken and _leads_in(text, links[at - 1], quotation))
        if at < len(links) and quotation.is_block and links[at].end <= quotation.end:
            chosen = at
        elif at and is_led:
            chosen = at - 1
        elif at < len(links) and links[at].start <= following and _follows(text, quotation, links[at]):
            chosen = at
        else:
            continue
        taken = chosen
        yield quotation.text, links[chosen]


def _quotations(text: str, links: list[_Piece]) -> list[_Piece]:
    """Blocks first; quotation marks count outside of blocks and links only."""
    blocks = [_Piece(match.start(), match.end(), match.group(), is_block=True) for match in _BLOCK.finditer(text)]
    taken = sorted((piece.start, piece.end) for piece in (*blocks, *links))
    found, at = list(blocks), 0
    for match in _INLINE.finditer(text):
        while at < len(taken) and taken[at][1] <= match.start():
            at += 1
        if (at == len(taken) or taken[at][0] >= match.end()) and "\n\n" not in match.group():
            found.append(_Piece(match.start(), match.end(), next(words for words in match.groups() if words)))
    return sorted(found, key=lambda piece: piece.start)


def _leads(text: str, links: list[_Piece], quotations: list[_Piece]) -> bool:
    """Whether this answer gives the link first and the block after it, all the way through."""
    blocks = [piece for piece in quotations if piece.is_block]
    if not blocks or not links or len(blocks) != len(links):
        return False
    pairs = zip(links, blocks, strict=True)
    return all(link.end <= block.start and not text[link.end : block.start].strip(" \t\n*_:).") for link, block in pairs)


def _leads_in(text: str, link: _Piece, quotation: _Piece) -> bool:
    """Whether the link's own line announces the quotation by a colon."""
    if quotation.start - link.end > LEAD_CHARS:
        return False
    gap = text[link.end : quotation.start].rstrip(" \t\n*_")
    return gap.endswith((":", "：")) and "\n" not in gap


def _follows(text: str, quotation: _Piece, link: _Piece) -> bool:
    """Whether the link behind the quotation is its own: only a dash, an account, a day or a few words lie between."""
    if link.start - quotation.end > BRIDGE_CHARS:
        return False
    gap = text[quotation.end : link.start]
    if not quotation.is_block and _NEW_ITEM.search(gap):
        return False
    bridge = gap.strip()
    return not bridge or not bridge[0].isalnum() or len(bridge.split()) <= BRIDGE_WORDS


def _bare(words: str) -> str:
    """The quoted words without marks, emphasis, and a last line that only says whose they are."""
    words = _DANGLING.sub("", _LINK.sub("", _BLOCK_MARK.sub("", words))).strip()
    words = (words[:-TAIL_CHARS] + _ATTRIBUTION.sub("", words[-TAIL_CHARS:])).strip()
    for _ in range(4):
        before = words
        words = _EMPHASIS.sub(r"\2", words).strip()
        if len(words) > 1 and _MARKS.get(words[0]) == words[-1] and words[-1] not in words[1:-1]:
            words = words[1:-1].strip()
        if words == before:
            break
    return words[:MAX_QUOTE_CHARS]


# --- quotes on a page ---------------------------------------------------------------------------------------------


def holds(page: str, quote: str) -> bool:
    """Whether the page holds the quote's words in their order, gaps only where the quote shows an ellipsis.

    Case, white space, punctuation, addresses and Markdown do not count. A quote of too few letters is never found.
    """
    parts = [words for part in _ELLIPSIS.split(quote) if (words := _words(part))]
    if sum(map(len, "".join(parts).split())) < FEWEST_LETTERS:
        return False
    whole, at = f" {_words(page)} ", 0
    for part in parts:
        found = whole.find(f" {part} ", at)
        if found < 0:
            return False
        at = found + len(part) + 1
    return True


def _words(text: str) -> str:
    plain = unicodedata.normalize("NFKC", _ANY_URL.sub(" ", text)).casefold().replace("’", "'").replace("'", "")
    return " ".join(_WORD.findall(plain))
