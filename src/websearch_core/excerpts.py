"""The passages of a page that answer a question, within a room, in the page's order and with visible gaps.

Code fences and tables stay whole; one that alone exceeds the room is cut between its lines, a table with its header kept.
Verbatim text only: what is no gap mark stands in the page.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from websearch_core import passages

__all__ = ["Excerpt", "excerpt", "table_header", "telling"]

GAP = "[… {} characters left out, from start={} …]"
GAP_CHARS = 80
"""Room for one gap mark with the blank lines around it."""
K1, B = 1.2, 0.75
TELLING_SHARE = 0.3
"""A passage with less than this share of the best one's score is not about the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """What fits of a page."""

    text: str
    next_start: int | None = None
    """Where the first gap begins in the page; None when nothing is left out."""


def excerpt(text: str, query: str, room: int, *, measure: Callable[[str], int] = len) -> Excerpt:
    """The best passages of `text` for `query` in at most `room` by `measure`; from its beginning when none fits the query.

    `measure` of a text must not be smaller than its length.
    """
    if measure(text) <= room:
        return Excerpt(text=text)
    pieces = passages.split(text)
    return _filled(pieces, _by_worth(pieces, query), query, room, measure=measure)


def telling(text: str, query: str, room: int, *, start: int = 0, measure: Callable[[str], int] = len) -> Excerpt | None:
    """Only the passages that are about `query`, best first while there is room; None when no word of it stands in the text.

    `start` is the place of `text` in its page, from which the marks of gaps count. `measure` is as in `excerpt`.
    """
    pieces = passages.split(text)
    scores = _scores(pieces, query)
    least = TELLING_SHARE * max(scores, default=0.0)
    about = sorted((index for index, score in enumerate(scores) if score and score >= least), key=lambda index: -scores[index])
    return _filled(pieces, about, query, room, measure=measure, start=start) if about else None


def _filled(
    pieces: Sequence[passages.Piece],
    order: Sequence[int],
    query: str,
    room: int,
    *,
    measure: Callable[[str], int],
    start: int = 0,
) -> Excerpt:
    """The passages in the order of their worth for as long as they fit, put together in the order of the page."""
    starts = _starts(pieces)
    chosen, left = set[int](), room - GAP_CHARS
    for index in order:
        cost = measure(pieces[index].text) + GAP_CHARS
        if cost <= left:
            chosen.add(index)
            left -= cost
        elif not chosen and left > GAP_CHARS:  # the best of all is too long: take what fits of it
            part = _shortened(pieces[index].text, query, left - GAP_CHARS, measure)
            return _joined([(starts[index], starts[index + 1], part)], starts[-1], start)
    return _joined([(starts[index], starts[index + 1], pieces[index].text) for index in sorted(chosen)], starts[-1], start)


def table_header(block: str) -> str:
    """The header and rule of a Markdown table; empty for other text."""
    lines = block.splitlines(keepends=True)
    if len(lines) < 3 or "|" not in lines[0] or not passages.is_table_rule(lines[1]):
        return ""
    return lines[0] + lines[1]


def _starts(pieces: Sequence[passages.Piece]) -> list[int]:
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece.text))
    return starts


def _by_worth(pieces: Sequence[passages.Piece], query: str) -> list[int]:
    """Indices of the passages that hold words of the query, best first; what stands behind these; then from the beginning."""
    scores = _scores(pieces, query)
    telling = sorted((index for index, score in enumerate(scores) if score > 0), key=lambda index: (-scores[index], index))
    behind = [index + 1 for index in telling if index + 1 < len(pieces)]
    return list(dict.fromkeys([*telling, *behind, *range(len(pieces))]))


def _scores(pieces: Sequence[passages.Piece], query: str) -> list[float]:
    """BM25 of each passage with its headings among the passages of the page."""
    terms = passages.query_terms(query)
    texts = [f" {passages.searchable(f'{piece.heading} {piece.text}')} " for piece in pieces]
    lengths = [text.count(" ") for text in texts]
    mean = sum(lengths) / max(len(lengths), 1) or 1.0
    counts = [Counter({term: text.count(f" {term} ") for term in terms}) for text in texts]
    scores = [0.0] * len(pieces)
    for term in terms:
        holding = sum(1 for count in counts if count[term])
        weight = math.log(1 + (len(pieces) - holding + 0.5) / (holding + 0.5))
        for index, count in enumerate(counts):
            often = count[term]
            scores[index] += weight * often * (K1 + 1) / (often + K1 * (1 - B + B * lengths[index] / mean))
    return scores


def _joined(parts: Sequence[tuple[int, int, str]], length: int, start: int) -> Excerpt:
    """Parts in order with a mark for each gap; each part is (beginning and end of its passage, its text).

    Places count from `start` on.
    """
    head = "".join(text for _, _, text in parts)
    if not head or len(head) == parts[-1][1]:  # nothing but the end is missing: a piece to be read on, without a mark
        return Excerpt(text=head, next_start=start + len(head) if len(head) < length else None)
    written, at, gaps = "", 0, list[int]()
    for begin, end, text in [*parts, (length, length, "")]:
        if begin > at:
            gaps.append(start + at)
            blank = "\n\n" if written and not written.endswith("\n\n") else ""
            written += f"{blank}{GAP.format(begin - at, start + at)}\n\n"
        if len(text) < end - begin:
            gaps.append(start + begin)
        written += text
        at = end
    return Excerpt(text=written, next_start=gaps[0] if gaps else None)


# --- one block that is too long -----------------------------------------------------------------------------------


def _shortened(block: str, query: str, room: int, measure: Callable[[str], int]) -> str:
    """The stretch of a passage that holds most of the query, cut between lines, closed where it was open."""
    cut = _rows if table_header(block.lstrip("\n")) else _fenced if re.match(r"\s*(```|~~~)", block) else _stretch
    most = room
    text = cut(block, query, most)
    while most > 1 and measure(text) > room:
        most = max(most * room // (measure(text) + 1), 1)
        text = cut(block, query, most)
    return text if measure(text) <= room else ""


def _stretch(block: str, query: str, room: int) -> str:
    return passages.stretch(block, query, max_chars=max(room, 1))


def _rows(block: str, query: str, room: int) -> str:
    """The header, the rows with words of the query, then others from the top; a row of dots stands for each gap."""
    header = table_header(block.lstrip("\n"))
    rows = block.lstrip("\n")[len(header) :].splitlines(keepends=True)
    terms = set(passages.query_terms(query))
    worth = [len(terms.intersection(passages.searchable(row).split())) for row in rows]
    left, chosen = room - len(header), set[int]()
    for index in sorted(range(len(rows)), key=lambda index: (-worth[index], index)):
        if len(rows[index]) + 6 <= left:
            chosen.add(index)
            left -= len(rows[index]) + 6
    shown = (rows[index] if not index or index - 1 in chosen else f"| … |\n{rows[index]}" for index in sorted(chosen))
    return header + "".join(shown)


def _fenced(block: str, query: str, room: int) -> str:
    """The lines of a code fence that hold most of the query, between its own marks."""
    lines = block.strip("\n").splitlines(keepends=True)
    first, last = lines[0], f"{lines[-1].rstrip()}\n"
    inside = "".join(lines[1:-1])
    return first + passages.stretch(inside, query, max_chars=max(room - len(first) - len(last) - 1, 1)).rstrip("\n") + "\n" + last
