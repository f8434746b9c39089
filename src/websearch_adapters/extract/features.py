"""The blocks of text of a page as rows of numbers, for the scoring in `forest`."""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import TYPE_CHECKING, TypeAlias

from websearch_adapters.extract import names
from websearch_adapters.extract.survey import HEADINGS

if TYPE_CHECKING:
    from websearch_adapters.extract.rules import Verdict
    from websearch_adapters.extract.survey import Survey

__all__ = ["rows"]

TAG_NUMBERS = {
    "p": 1, "li": 2, "h1": 3, "h2": 4, "h3": 5, "h4": 6, "h5": 7, "h6": 7, "td": 8, "th": 9, "div": 10, "section": 11,
    "article": 12, "main": 13, "pre": 14, "dt": 15, "dd": 16, "figcaption": 17, "blockquote": 18, "header": 20, "footer": 21,
    "aside": 22, "summary": 23, "body": 24, "caption": 25, "form": 26, "center": 27, "legend": 28, "address": 29, "button": 30,
}  # fmt: skip
SENTENCE_ENDS = frozenset('.!?。！？…:"”')
_JUNK = re.compile(
    r"(?:related|recommended|read (?:more|next|also)|you (?:may|might) (?:also )?(?:like|enjoy)|latest|popular|trending"
    r"|more (?:from|stories|news|articles|posts|in|like|on)|most (?:read|popular)|share|comments?"
    r"|\d+ (?:comments?|replies|responses)|leave a (?:reply|comment)|join|subscribe|newsletter|sign up|log ?in|about the author"
    r"|follow|get (?:the|our)|recent|further reading|similar|also on|don't miss|advertisement|sponsored|tags?|categories"
    r"|filed under|posted in|keep reading|next|previous|back to|customers? (?:also|who)|view all|see (?:all|more)|load more"
    r"|show more|contact us|by\b|written by|photo|image|credit|source)"
)
_LEGAL = re.compile(
    r"©|\(c\)|copyright|all rights reserved|privacy policy|terms (?:of|and)|cookies?\b|e-?mail address|subscribe|newsletter"
    r"|sign up|javascript"
)
"""Both are for text in lower case: without regard to case the search takes four times as long.

`_JUNK` is a measure, and wider than `names.is_junk_heading`, which decides alone: the forest was grown on it, and with the one in
place of the other it judges other blocks.
"""

Near: TypeAlias = tuple[float, ...]


def rows(survey: Survey, verdict: Verdict, page: list[float], title: str) -> tuple[list[int], list[list[float]], list[float]]:
    """The boxes that have text of their own, a row for each, and what every row goes on with: the facts of the page."""
    own, tags, size, flags, fate = survey.own, survey.tags, survey.size, survey.flags, verdict.fate
    blocks = [box for box, chars in enumerate(size) if chars]
    if not blocks:
        return [], [], page
    whole, all_prose = max(1, survey.total[0]), max(1, survey.prose[0])
    inside = _inside(survey, whole, all_prose)
    around = _around(survey, inside, blocks)
    densest = _densest(survey, 0.7 * all_prose)
    dense = range(densest, survey.end[densest])
    facts = [*page, *_facts(survey, verdict, densest, len(blocks))]
    numbers = [TAG_NUMBERS.get(tags[box], 0) for box in blocks]
    fates = [fate[box] for box in blocks]
    before = [(0, 0), *zip(numbers, fates, strict=True)]
    after = [*before[2:], (0, 0)]
    titled = title.lower()
    seen = seen_prose = junk_heading = since = level = 0
    heading_at = -1
    out: list[list[float]] = []
    for at, box in enumerate(blocks):
        text, chars, flag, tag = own[box], size[box], flags[box], tags[box]
        lowered = text.lower()
        junk = chars < 80 and _JUNK.match(lowered) is not None
        since += 1
        if tag in HEADINGS:
            junk_heading, since, level = junk, 0, int(tag[1])
            if tag == "h1" and heading_at < 0:
                heading_at = seen
        words = text.count(" ") + 1
        linked = survey.own_linked[box] / chars
        out.append([
            log(chars), linked, survey.own_anchors[box], (text.count(",") + text.count(".") + text.count("。")) / words,
            text[-1] in SENTENCE_ENDS, words, numbers[at], seen / whole,
            (seen - heading_at) / whole if heading_at >= 0 else -2, survey.depth[box],
            flag & names.HEADER != 0, flag & names.FOOTER != 0, flag & (names.MAIN | names.ARTICLE), flag & names.ITEM != 0,
            flag & names.LINK != 0, flag & (names.COMMENT | names.POST), flag & names.FORM != 0,
            survey.low[box], survey.high[box], survey.score[box], *inside[box], *around[at], *before[at], *after[at], fates[at],
            box in dense, junk, junk_heading, min(since, 20), level,
            chars < 400 and _LEGAL.search(lowered) is not None, seen_prose / all_prose,
            chars > 8 and lowered in titled,
        ])  # fmt: skip
        seen += chars
        if chars > 80 and linked < 0.3:
            seen_prose += chars
    return blocks, out, facts


def _inside(survey: Survey, whole: int, all_prose: int) -> list[Near]:
    """Of each box: its share of the text and of the prose, how much of it is linked, how much prose, how many are like it."""
    kinds = list(zip(survey.parent, survey.tags, survey.names, strict=True))
    alike = Counter(kinds)
    return [
        (total / whole, prose / all_prose, linked / (total or 1), prose / (total or 1), alike[kind])
        for total, prose, linked, kind in zip(survey.total, survey.prose, survey.linked, kinds, strict=True)
    ]


def _around(survey: Survey, inside: list[Near], blocks: list[int]) -> list[Near]:
    """Of each block: the same of the box around it, and some of the two around that."""
    found: list[Near] = []
    parent = [0, *survey.parent[1:]]
    for box in blocks:
        up = parent[box]
        above = parent[up]
        far = parent[above]
        found.append((*inside[up], inside[above][1], inside[above][2], inside[above][4], inside[far][1], inside[far][2]))
    return found


def _densest(survey: Survey, least: float) -> int:
    """The smallest box with most of the prose."""
    return max((box for box, prose in enumerate(survey.prose) if prose >= least and prose), default=0)


def _facts(survey: Survey, verdict: Verdict, densest: int, blocks: int) -> Near:
    """Of the page: how long, how much prose, how linked, and what the rules kept."""
    total, linked, prose, root = survey.total, survey.linked, survey.prose, verdict.root
    whole = max(1, total[0])
    kept = sum(chars for chars, found in zip(survey.size, verdict.fate, strict=True) if found == 1)
    return (
        log(whole), prose[0] / whole, linked[0] / whole, log(1 + survey.anchors[0]), total[densest] / whole,
        prose[densest] / max(1, prose[0]), linked[densest] / max(1, total[densest]), log(blocks), kept / whole,
        total[root] / whole, linked[root] / max(1, total[root]),
    )  # fmt: skip
