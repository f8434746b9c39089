"""Make a result fit a number of characters, saying what was cut and where to read on.

The measure is the serialised result: compact JSON with escapes counted, in characters and, where `in_tokens` is around the
call, in tokens as well. Pieces of a text join to exactly that text. A cut never splits a character, a combined character or
a web address, and stays out of a code fence or table that began in the second half of the piece. Pages that come along with
a search are no pieces but excerpts: the passages that answer the question.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

from websearch_core import excerpts, graphemes, outline
from websearch_core.values import (
    FetchResult,
    MapResult,
    Note,
    PostResult,
    SearchResult,
    Section,
    Source,
    SourcesResult,
    as_plain,
)

__all__ = [
    "fewer",
    "fit_fetch",
    "fit_map",
    "fit_passages",
    "fit_posts",
    "fit_search",
    "fit_sources",
    "in_tokens",
    "json_chars",
    "piece",
    "within",
]

R = TypeVar("R", SearchResult, FetchResult, MapResult, SourcesResult, PostResult)
L = TypeVar("L", SearchResult, MapResult, SourcesResult)
F = TypeVar("F")
T = TypeVar("T")
Count: TypeAlias = Callable[[str], int]
"""Text → its tokens."""
SMALLEST_CHARS = 1_000
"""No result is made smaller for the sake of tokens."""
RESERVE_CHARS = 200
"""Kept free for the marks of a cut: a note and two numbers."""
HEADER_DESCRIPTION_CHARS = 400
HEADER_TITLE_CHARS = 300
TOO_LONG = "{} left out: the address alone is longer than max_chars allows"
_ADDRESS = re.compile(r"https?://[^\s<>\"`|]*", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_LONGEST_ADDRESS_CHARS = 2_048
LONGEST_HEADER_CHARS = 400
OUTLINE_SHARE = 6
"""An outline takes at most this part of the room."""
_tokens: ContextVar[tuple[Count, int] | None] = ContextVar("tokens", default=None)


@contextmanager
def in_tokens(count: Count, most: int) -> Iterator[None]:
    """Results that are made to fit inside also have at most `most` tokens."""
    token = _tokens.set((count, most))
    try:
        yield
    finally:
        _tokens.reset(token)


def within(fit: Callable[[int], F], max_chars: int) -> F:
    """What `fit` makes of `max_chars`, or of fewer where that has too many tokens."""
    result = fit(max_chars)
    while (less := fewer(result, max_chars)) is not None:
        max_chars, result = less, fit(less)
    return result


def fewer(result: object, max_chars: int) -> int | None:
    """Characters in which to make a result again that was made of `max_chars` and has too many tokens; None when it is fine."""
    limit = _tokens.get()
    if limit is None or max_chars <= SMALLEST_CHARS:
        return None
    count, most = limit
    used = count(_json(result))
    return None if used <= most else max(min(max_chars * most // used * 19 // 20, max_chars - 1), SMALLEST_CHARS)


def json_chars(value: object) -> int:
    """Characters of the value as compact JSON."""
    return len(_json(value))


def _json(value: object) -> str:
    return json.dumps(as_plain(value), ensure_ascii=False, separators=(",", ":"))


def piece(text: str, start: int, room: int) -> tuple[str, int | None]:
    """The longest stretch of `text` from `start` whose JSON form has at most `room` characters, and where to read on.

    Ends at a line or word end where one is near. None as the second value: nothing is left. At least one character is
    given even when there is no room, so that reading on always ends.
    """
    rest = text[start : start + max(room, 0)]
    if start + len(rest) >= len(text) and _escaped(rest) <= room:
        return rest, None
    low, high = 0, len(rest)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _escaped(rest[:middle]) <= room else (low, middle - 1)
    end = _good_end(text, start, start + low)
    back = end
    while start < back < len(text) and end - back < graphemes.LONGEST and graphemes.joined(text, back):
        back -= 1
    if start < back and not (back < len(text) and graphemes.joined(text, back)):
        end = back
    elif end - start < graphemes.LONGEST:  # not even one whole character fits: give it all the same
        end = start + 1
        while end < len(text) and end - start < graphemes.LONGEST and graphemes.joined(text, end):
            end += 1
    return text[start:end], end if end < len(text) else None


def fit_search(result: SearchResult, max_chars: int, *, inline: int, body_chars: int = 15_000, query: str = "") -> SearchResult:
    """A whole search result cut to `max_chars`: headers of the first `inline` sources, the answer, then page texts.

    A page's text takes at most `body_chars`, so that the first page does not take the room of all; a longer page is cut to
    the passages that answer `query`.
    """
    return within(lambda room: _search_in(result, room, inline=inline, body_chars=body_chars, query=query), max_chars)


def _search_in(result: SearchResult, max_chars: int, *, inline: int, body_chars: int, query: str) -> SearchResult:
    base = dataclasses.replace(result, content="", sources=(), sources_count=len(result.sources), unverified_answer="")
    base = _lean(base, max_chars // 2)
    shown, passed = _headers(result.sources[:inline], max_chars * 6 // 10 - json_chars(base))
    rest = passed if passed < len(result.sources) else None
    base = dataclasses.replace(base, sources=shown, next_offset=rest)
    if len(shown) < passed:
        base = _noted(base, TOO_LONG.format(passed - len(shown)))
    room = max_chars - RESERVE_CHARS - json_chars(base)
    unverified, _ = piece(result.unverified_answer, 0, room // 3) if result.unverified_answer else ("", None)
    content, next_start = piece(result.content, 0, room - _escaped(unverified)) if result.content else ("", None)
    fitted = dataclasses.replace(base, content=content, next_start=next_start, unverified_answer=unverified)
    if next_start is not None:
        fitted = _noted(fitted, f"answer cut after {next_start} characters; get_sources with start={next_start} reads on")
    return _with_bodies(fitted, result.sources, max_chars, body_chars, query)


def fit_sources(
    result: SourcesResult, everything: tuple[Source, ...], content: str, start: int | None, max_chars: int
) -> SourcesResult:
    """A page of sources from `result.offset`, at most as many as `result.sources` holds, then the answer's text from `start`."""
    return within(lambda room: _sources_in(result, everything, content, start, room), max_chars)


def _sources_in(
    result: SourcesResult, everything: tuple[Source, ...], content: str, start: int | None, max_chars: int
) -> SourcesResult:
    base = _lean(dataclasses.replace(result, sources=(), content=""), max_chars // 2)
    kept, passed = _headers(result.sources, max_chars - RESERVE_CHARS - json_chars(base))
    end = result.offset + passed
    fitted = dataclasses.replace(base, sources=kept, sources_count=len(kept), next_offset=end if end < len(everything) else None)
    if len(kept) < passed:
        fitted = _noted(fitted, TOO_LONG.format(passed - len(kept)))
    if start is not None and start < len(content):
        text, next_start = piece(content, start, max_chars - RESERVE_CHARS - json_chars(fitted))
        fitted = dataclasses.replace(fitted, content=text, next_start=next_start)
    return fitted


def fit_fetch(result: FetchResult, max_chars: int) -> FetchResult:
    """The piece of a page from `result.start` that fits; one that begins inside a table is told the table's header."""
    return within(lambda room: _fetch_in(result, room), max_chars)


def _fetch_in(result: FetchResult, max_chars: int) -> FetchResult:
    base = dataclasses.replace(result, content="", total_chars=len(result.content))
    if header := _header_above(result.content, result.start):
        base = dataclasses.replace(base, notes=(*base.notes, Note(code="table_continued", text=header)))
    base = dataclasses.replace(base, outline=outline.shown(result.outline, max_chars // OUTLINE_SHARE, _section_chars))
    text, next_start = piece(result.content, result.start, max_chars - RESERVE_CHARS - json_chars(base))
    fitted = dataclasses.replace(base, content=text, next_start=next_start)
    if next_start is None:
        return fitted
    by_section = ", section=NUMBER a part of the outline" if base.outline else ""
    return _noted(fitted, f"cut; web_fetch with start={next_start} reads on{by_section}")


def fit_passages(result: FetchResult, query: str, max_chars: int) -> FetchResult | None:
    """The passages of a page, from `result.start` on, that are about `query`; None when no word of it stands there."""
    text = result.content[result.start :]

    def fitted(room: int) -> FetchResult | None:
        base = dataclasses.replace(result, content="", total_chars=len(result.content))
        room -= RESERVE_CHARS + json_chars(base)
        found = excerpts.telling(text, query, room, start=result.start, measure=_escaped)
        return dataclasses.replace(base, content=found.text, next_start=found.next_start) if found else None

    return within(fitted, max_chars)


def _section_chars(section: Section) -> int:
    return json_chars(section) + 1


def fit_map(result: MapResult, max_chars: int) -> MapResult:
    """The addresses from `result.offset` that fit."""
    return within(lambda room: _map_in(result, room), max_chars)


def _map_in(result: MapResult, max_chars: int) -> MapResult:
    base = _lean(dataclasses.replace(result, results=(), total=len(result.results)), max_chars // 2)
    room = max_chars - RESERVE_CHARS - json_chars(base)
    kept: list[str] = []
    end = result.offset
    for url in result.results[result.offset :]:
        cost = _escaped(url) + 3
        if cost > room and kept:
            break
        end += 1
        if cost <= room:
            kept.append(url)
            room -= cost
    if end - result.offset > len(kept):
        base = _noted(base, TOO_LONG.format(end - result.offset - len(kept)))
    if end >= len(result.results):
        return dataclasses.replace(base, results=tuple(kept))
    return _noted(dataclasses.replace(base, results=tuple(kept), next_offset=end), f"cut; web_map with offset={end} reads on")


def fit_posts(result: PostResult, max_chars: int) -> PostResult:
    """A whole result of a search on X cut to `max_chars`: the answer's text first, then the last quotes, the last sources last.

    Nothing is cut while all of it fits; else sources have half of the room to themselves, and quotes most of what is left.
    """
    return within(lambda room: _posts_in(result, room), max_chars)


def _posts_in(result: PostResult, max_chars: int) -> PostResult:
    base = dataclasses.replace(
        result, content="", quotes=(), sources=(), quotes_count=len(result.quotes), sources_count=len(result.sources)
    )
    room = max_chars - RESERVE_CHARS - json_chars(base)
    text_chars = _escaped(result.content)
    sources, used = _fitting(result.sources, max(room // 2, room - text_chars - _sum_chars(result.quotes)))
    sources, used = (sources, used) if sources else (result.sources[:1], _sum_chars(result.sources[:1]))
    room -= used
    quotes, used = _fitting(result.quotes, max(room * 2 // 3, room - text_chars))
    content, next_start = piece(result.content, 0, room - used) if result.content else ("", None)
    shown, of = len(sources), len(result.sources)
    fitted = dataclasses.replace(
        base,
        sources=sources,
        quotes=quotes,
        content=content,
        next_start=next_start,
        next_offset=shown if shown < of else None,
    )
    if shown == of and len(quotes) == len(result.quotes) and next_start is None:
        return fitted
    held = f"{shown} of {of} sources, {len(quotes)} of {len(result.quotes)} quotes"
    return _noted(fitted, f"cut to {held}; get_sources reads on, a larger max_chars shows more")


def _fitting(items: tuple[T, ...], room: int) -> tuple[tuple[T, ...], int]:
    """The first items whose JSON fits, and how much of the room they take."""
    kept, used = 0, 0
    for item in items:
        chars = json_chars(item) + 1
        if used + chars > room:
            break
        kept, used = kept + 1, used + chars
    return items[:kept], used


def _sum_chars(items: tuple[object, ...]) -> int:
    return sum(json_chars(item) + 1 for item in items)


def _with_bodies(result: SearchResult, sources: tuple[Source, ...], max_chars: int, body_chars: int, query: str) -> SearchResult:
    """Page texts into the room that is left, shared evenly in the order of the sources; what a page leaves, the next may take."""
    wanting = [index for index, source in enumerate(result.sources) if sources[index].content]
    shown = list(result.sources)
    for count, index in enumerate(wanting):
        left = max_chars - RESERVE_CHARS - json_chars(dataclasses.replace(result, sources=tuple(shown)))
        room = min(left // (len(wanting) - count) - 60, body_chars)
        if room < 200:
            break
        part = excerpts.excerpt(sources[index].content, query, room, measure=_escaped)
        shown[index] = dataclasses.replace(shown[index], content=part.text, next_start=part.next_start)
    return dataclasses.replace(result, sources=tuple(shown))


def _lean(base: L, room: int) -> L:
    """The result without the notes and diagnostics that would leave no room for what was asked for."""
    notes = base.notes
    while base.notes and json_chars(base) > room:
        base = dataclasses.replace(base, notes=base.notes[:-1])
    if base.error_detail is not None and json_chars(base) > room:
        base = dataclasses.replace(base, error_detail=dataclasses.replace(base.error_detail, diagnostics={}))
    left_out = len(notes) - len(base.notes)
    return _noted(base, f"{left_out} notes left out") if left_out else base


def _headers(sources: tuple[Source, ...], room: int) -> tuple[tuple[Source, ...], int]:
    """The first headers that fit, and how many sources they stand for: one whose address alone is too long is passed over."""
    kept: list[Source] = []
    passed = 0
    for source in sources:
        whole = _header(source)
        forms = (
            (whole,)
            if kept
            else (whole, dataclasses.replace(whole, description=""), Source(url=source.url, provider=source.provider))
        )
        fitting = next(((form, cost) for form in forms if (cost := json_chars(form) + 1) <= room), None)
        if fitting is None and kept:
            break
        passed += 1
        if fitting is not None:
            kept.append(fitting[0])
            room -= fitting[1]
    return tuple(kept), passed


def _header(source: Source) -> Source:
    description, more = piece(source.description, 0, HEADER_DESCRIPTION_CHARS) if source.description else ("", None)
    title, _ = piece(source.title, 0, HEADER_TITLE_CHARS) if source.title else ("", None)
    return dataclasses.replace(
        source,
        title=title,
        description=f"{description.rstrip()} …" if more is not None else description,
        content="",
        next_start=None,
    )


def _noted(result: R, text: str) -> R:
    return dataclasses.replace(result, notes=(*result.notes, Note(code="result_cut", text=text)))


def _escaped(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False)) - 2


def _good_end(text: str, start: int, end: int) -> int:
    """Back to a line or word end within the last tenth, and out of a web address."""
    if end >= len(text):
        return len(text)
    window = max(start, end - max((end - start) // 10, 1))
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, window, end)
        if found > start:
            end = found + len(mark)
            break
    block = _block_around(text, end)
    if block > start + (end - start) // 2:
        return block
    low = max(start, end - _LONGEST_ADDRESS_CHARS)
    around = text[low : end + _LONGEST_ADDRESS_CHARS]
    split = next((found for found in _ADDRESS.finditer(around) if found.start() < end - low < found.end()), None)
    return low + split.start() if split and low + split.start() > start else end


def _block_around(text: str, end: int) -> int:
    """Where the code fence or table begins that goes on at `end`; -1 outside of any."""
    fences = [found.start() for found in _FENCE_LINE.finditer(text, 0, end)]
    return fences[-1] if len(fences) % 2 else _table_around(text, end)


def _table_around(text: str, place: int) -> int:
    """Where the table begins whose row stands at `place`; -1 when none does, or it begins there."""
    begin, at = -1, text.rfind("\n", 0, place) + 1
    if not text.startswith("|", at):
        return -1
    while at > 0 and text.startswith("|", above := text.rfind("\n", 0, at - 1) + 1):
        begin = at = above
    return begin


def _header_above(text: str, start: int) -> str:
    """The header of the table in which `start` lies; empty outside of any or when it is longer than a note."""
    begin = _table_around(text, start) if 0 < start < len(text) else -1
    header = excerpts.table_header(text[begin : begin + 2_000]) if begin >= 0 else ""
    return header if start >= begin + len(header) and len(header) <= LONGEST_HEADER_CHARS else ""
