"""The sections of a page: its headings with their numbers, places and sizes, and how one of them is found by name."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Sequence
from difflib import get_close_matches

from websearch_core.errors import InvalidInput
from websearch_core.passages import PATH_SEPARATOR, headings
from websearch_core.values import Section

__all__ = ["find", "near", "sections", "shown"]

MAX_SECTIONS = 5_000
FEW = 5
"""An outline of fewer sections tells next to nothing."""
MAX_NAMES = 12
"""Sections that an error offers."""
MAX_TITLE = 80
_MARKS = re.compile(r"\\(.)|[*`~\\]|(?<!\w)_+|_+(?!\w)|!?\[([^\[\]]*)\]\([^()]*\)")
"""Escapes, emphasis, code and links; an underscore inside of a word belongs to it."""
_STEPS = re.compile(r"\s*(?:›|>|»|/)\s*")
_NOT_SLUG = re.compile(r"[^\w]+")


def sections(text: str) -> tuple[Section, ...]:
    """The sections in their order; each reaches to the next heading of its own or a higher rank, and so holds those below it.

    What stands before the first heading is in none.
    """
    found = [(start, level, title) for start, level, title in headings(text)][:MAX_SECTIONS]
    open_: list[tuple[int, int, int]] = []
    """Index, rank and count of inner sections of each section that is open; the first of them stands for the page."""
    top = 0
    numbers, ends = [""] * len(found), [len(text)] * len(found)
    counts = [0] * len(found)
    for at, (start, level, _) in enumerate(found):
        while open_ and open_[-1][1] >= level:
            ends[open_.pop()[0]] = start
        if open_:
            above = open_[-1][0]
            counts[above] += 1
            numbers[at] = f"{numbers[above]}.{counts[above]}"
        else:
            top += 1
            numbers[at] = str(top)
        open_.append((at, level, 0))
    return tuple(
        Section(number=numbers[at], title=_plain(title), start=start, chars=ends[at] - start)
        for at, (start, _, title) in enumerate(found)
    )


def find(known: Sequence[Section], wanted: str) -> Section:
    """The section with this number, heading, path of headings (`Install › Linux`) or address fragment (`#on-linux`).

    Where several have the same heading, the first one.

    Raises:
        InvalidInput: no section has it; gives the numbers of those that are near, never the page's words.
    """
    name = wanted.strip()
    numbered = name.removeprefix("§").strip().rstrip(".")
    for section in known:
        if section.number == numbered:
            return section
    titles = [_folded(section.title) for section in known]
    for test in (_by_title, _by_path, _by_slug, _by_beginning):
        at = test(known, titles, name)
        if at is not None:
            return known[at]
    raise InvalidInput(f"section: the page has no {name[:80]!r}", hint=_numbers(near(known, wanted)))


def near(known: Sequence[Section], wanted: str) -> tuple[Section, ...]:
    """At most 12 sections that may have been meant, headings cut to 80 characters; the uppermost ones if none is close."""
    titles, name = [_folded(section.title) for section in known], _folded(wanted)
    holding = [title for title in titles if name and name in title][:3]
    close = dict.fromkeys([*holding, *get_close_matches(name, titles, n=3, cutoff=0.5)])
    meant = [known[titles.index(title)] for title in close] or _uppermost(known)
    return tuple(dataclasses.replace(one, title=one.title[:MAX_TITLE]) for one in meant)


def _uppermost(known: Sequence[Section]) -> list[Section]:
    """The sections of the highest rank; of a page that is one section, also those right below it."""
    top = [one for one in known if "." not in one.number]
    shown = top if len(top) > 1 else [one for one in known if one.number.count(".") < 2]
    return shown[:MAX_NAMES]


def _numbers(sections: Sequence[Section]) -> str:
    """What to do when the section is unknown. Without headings: this is read as our advice, and they are the page's words."""
    if not sections:
        return "The page has no headings; read on with start, or ask with query."
    return f"Use the number of a section in the outline: {', '.join(one.number for one in sections)}."


def shown(known: Sequence[Section], room: int, cost: Callable[[Section], int]) -> tuple[Section, ...]:
    """As much of an outline as costs at most `room`: the deepest sections go first, unless hardly any would be left; then the
    last of those that are deepest."""
    kept = {at: cost(section) for at, section in enumerate(known)}
    ranks = [section.number.count(".") for section in known]
    for rank in sorted(set(ranks), reverse=True):
        higher = {at: price for at, price in kept.items() if ranks[at] < rank}
        if sum(kept.values()) <= room:
            break
        if len(higher) < FEW:
            return _first(known, kept, higher, room)
        kept = higher
    return tuple(known[at] for at in kept)


def _first(known: Sequence[Section], kept: dict[int, int], higher: dict[int, int], room: int) -> tuple[Section, ...]:
    """The higher sections, and the others in their order for as long as there is room."""
    if sum(higher.values()) > room:
        return _first(known, higher, {}, room)
    room -= sum(higher.values())
    chosen = set(higher)
    for at, price in kept.items():
        if at not in higher:
            room -= price
            if room < 0:
                break
            chosen.add(at)
    return tuple(known[at] for at in sorted(chosen))


def _by_title(_known: Sequence[Section], titles: Sequence[str], name: str) -> int | None:
    folded = _folded(name.lstrip("# "))
    return next((at for at, title in enumerate(titles) if title == folded), None)


def _by_path(known: Sequence[Section], titles: Sequence[str], name: str) -> int | None:
    steps = [_folded(step) for step in _STEPS.split(name.replace(PATH_SEPARATOR.strip(), "›"))]
    by_number = {section.number: title for section, title in zip(known, titles, strict=True)}
    for at, section in enumerate(known):
        parts = section.number.split(".")
        path = [by_number[".".join(parts[: depth + 1])] for depth in range(len(parts))]
        if len(steps) > 1 and path[-len(steps) :] == steps:
            return at
    return None


def _by_slug(_known: Sequence[Section], titles: Sequence[str], name: str) -> int | None:
    slug = _slug(name)
    return next((at for at, title in enumerate(titles) if slug and _slug(title) == slug), None)


def _by_beginning(_known: Sequence[Section], titles: Sequence[str], name: str) -> int | None:
    """The only section whose heading begins with the name."""
    folded = _folded(name)
    found = [at for at, title in enumerate(titles) if folded and title.startswith(folded)]
    return found[0] if len(found) == 1 else None


def _plain(title: str) -> str:
    """The heading's words without marks of Markdown."""
    return " ".join(_MARKS.sub(lambda match: match[1] or match[2] or "", title).split())


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _slug(text: str) -> str:
    return _NOT_SLUG.sub("-", _folded(text)).strip("-")
