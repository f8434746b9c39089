"""Make a result fit a number of characters, saying what was cut and where to read on.

The measure is the serialised result: compact JSON with escapes counted. Pieces of a text join to exactly that text. A cut
never splits a character, a combined character or a web address.
"""

from __future__ import annotations

import dataclasses
import json
import re
import unicodedata
from typing import TypeVar

from websearch_core.values import FetchResult, MapResult, Note, SearchResult, Source, SourcesResult, as_plain

__all__ = ["fit_fetch", "fit_map", "fit_search", "fit_sources", "json_chars", "piece"]

R = TypeVar("R", SearchResult, FetchResult, MapResult)
RESERVE_CHARS = 200
"""Kept free for the marks of a cut: a note and two numbers."""
HEADER_DESCRIPTION_CHARS = 400
_ADDRESS = re.compile(r"https?://[^\s<>\"`|]*", re.IGNORECASE)
_LONGEST_ADDRESS_CHARS = 2_048


def json_chars(value: object) -> int:
    """Characters of the value as compact JSON."""
    return len(json.dumps(as_plain(value), ensure_ascii=False, separators=(",", ":")))


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
    while start < end < len(text) and _joined(text, end):
        end -= 1
    if end <= start:  # not even one whole character fits: give it all the same
        end = start + 1
        while end < len(text) and _joined(text, end):
            end += 1
    return text[start:end], end if end < len(text) else None


def fit_search(result: SearchResult, max_chars: int, *, inline: int, body_chars: int = 15_000) -> SearchResult:
    """A whole search result cut to `max_chars`: headers of the first `inline` sources, the answer, then page texts.

    A page's text takes at most `body_chars`, so that the first page does not take the room of all.
    """
    shown = tuple(_header(source) for source in result.sources[:inline])
    base = dataclasses.replace(result, content="", sources=shown, sources_count=len(result.sources), unverified_answer="")
    while len(base.sources) > 1 and json_chars(base) > max_chars * 0.6:
        base = dataclasses.replace(base, sources=base.sources[:-1])
    base = _counted(base, len(result.sources))
    room = max_chars - RESERVE_CHARS - json_chars(base)
    unverified, _ = piece(result.unverified_answer, 0, room // 3) if result.unverified_answer else ("", None)
    content, next_start = piece(result.content, 0, room - _escaped(unverified)) if result.content else ("", None)
    fitted = dataclasses.replace(base, content=content, next_start=next_start, unverified_answer=unverified)
    if next_start is not None:
        fitted = _noted(fitted, f"answer cut after {next_start} characters; get_sources with start={next_start} reads on")
    return _with_bodies(fitted, result.sources, max_chars, body_chars)


def fit_sources(
    result: SourcesResult, everything: tuple[Source, ...], content: str, start: int | None, max_chars: int
) -> SourcesResult:
    """A page of sources from `result.offset`, at most as many as `result.sources` holds, then the answer's text from `start`."""
    base = dataclasses.replace(result, sources=(), content="")
    room = max_chars - RESERVE_CHARS - json_chars(base)
    kept: list[Source] = []
    for source in result.sources:
        header = _header(source)
        room -= json_chars(header) + 1
        if room < 0 and kept:
            break
        kept.append(header)
    end = result.offset + len(kept)
    fitted = dataclasses.replace(
        base, sources=tuple(kept), sources_count=len(kept), next_offset=end if end < len(everything) else None
    )
    if start is not None and start < len(content):
        text, next_start = piece(content, start, max_chars - RESERVE_CHARS - json_chars(fitted))
        fitted = dataclasses.replace(fitted, content=text, next_start=next_start)
    return fitted


def fit_fetch(result: FetchResult, max_chars: int) -> FetchResult:
    """The piece of a page from `result.start` that fits."""
    base = dataclasses.replace(result, content="", total_chars=len(result.content))
    text, next_start = piece(result.content, result.start, max_chars - RESERVE_CHARS - json_chars(base))
    fitted = dataclasses.replace(base, content=text, next_start=next_start)
    return fitted if next_start is None else _noted(fitted, f"cut; web_fetch with start={next_start} reads on")


def fit_map(result: MapResult, max_chars: int) -> MapResult:
    """The addresses from `result.offset` that fit."""
    base = dataclasses.replace(result, results=(), total=len(result.results))
    room = max_chars - RESERVE_CHARS - json_chars(base)
    kept: list[str] = []
    for url in result.results[result.offset :]:
        room -= _escaped(url) + 3
        if room < 0 and kept:
            break
        kept.append(url)
    end = result.offset + len(kept)
    if end >= len(result.results):
        return dataclasses.replace(base, results=tuple(kept))
    return _noted(dataclasses.replace(base, results=tuple(kept), next_offset=end), f"cut; web_map with offset={end} reads on")


def _with_bodies(result: SearchResult, sources: tuple[Source, ...], max_chars: int, body_chars: int) -> SearchResult:
    """Page texts into the room that is left, shared evenly in the order of the sources."""
    wanting = [index for index, source in enumerate(result.sources) if sources[index].content]
    shown = list(result.sources)
    for count, index in enumerate(wanting):
        left = max_chars - RESERVE_CHARS - json_chars(dataclasses.replace(result, sources=tuple(shown)))
        room = min(left // (len(wanting) - count) - 60, body_chars)
        if room < 200:
            break
        text, next_start = piece(sources[index].content, 0, room)
        shown[index] = dataclasses.replace(shown[index], content=text, next_start=next_start)
    return dataclasses.replace(result, sources=tuple(shown))


def _counted(result: SearchResult, total: int) -> SearchResult:
    shown = len(result.sources)
    return dataclasses.replace(result, next_offset=shown if shown < total else None)


def _header(source: Source) -> Source:
    description, more = piece(source.description, 0, HEADER_DESCRIPTION_CHARS) if source.description else ("", None)
    return dataclasses.replace(
        source,
        title=source.title[:300],
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
    low = max(start, end - _LONGEST_ADDRESS_CHARS)
    around = text[low : end + _LONGEST_ADDRESS_CHARS]
    split = next((found for found in _ADDRESS.finditer(around) if found.start() < end - low < found.end()), None)
    return low + split.start() if split and low + split.start() > start else end


def _joined(text: str, end: int) -> bool:
    """Whether the character at `end` belongs to the one before it."""
    after, before = text[end], text[end - 1]
    return (
        unicodedata.combining(after) != 0
        or after in "\u200d\ufe0e\ufe0f"
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or (before == "\r" and after == "\n")
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
    )
