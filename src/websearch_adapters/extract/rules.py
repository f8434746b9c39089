"""What rules alone would keep of a page: boilerplate by tag, role, name and links; the smallest box that holds the rest.

Rules never drop a box that holds half of the prose. Their verdict is what documentation is cut by, and what the scoring of other
pages starts from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from websearch_adapters.extract import names
from websearch_adapters.extract.survey import HEADINGS

if TYPE_CHECKING:
    from websearch_adapters.extract.survey import Survey

__all__ = ["FEW_BLOCKS", "Verdict", "judge"]

NEVER_NOISE = frozenset({"pre", "tr", "tbody", "thead", "body", "main", "article", "h1", "h2", "h3"})
UNDIVIDED = frozenset({"p", "pre", "table", "tbody", "tr", "li", "ul", "ol", "dl"})
FIRM = frozenset({"p", "pre", "li", "td", "th", "dd", "dt", "blockquote", "figcaption", "caption", "summary", *HEADINGS})
FEW_BLOCKS = 40
"""Fewer blocks of text are too few for scores to tell more than rules do."""
CELLS = frozenset({"td", "th", "dd", "dt"})
"""However short, they are text to be held, except where prose or code is what counts."""
LISTS = frozenset({"ul", "ol", "div", "section", "table", "dl"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`root` is the box with the content; `fate` says of each box what the rules found."""

    root: int
    fate: bytearray
    """0 outside the root, 1 content, 2 noise, 3 a list of links, 4 a section about other pages."""


def judge(survey: Survey, *, article: bool, forum: bool) -> Verdict:
    """Apply the rules to the boxes of a page."""
    fate = bytearray(len(survey.boxes))
    _mark_noise(survey, fate, article=article, forum=forum)
    root, total, linked = _holder(survey, fate, article=article)
    for box in range(root, survey.end[root]):
        if fate[box] == 0:
            fate[box] = 1
    if total[root] - linked[root] >= 600 and linked[root] < 0.5 * total[root]:
        manual = not (article or forum) and survey.code[0] > 0
        _mark_lists(survey, fate, root, total, linked, article=article, manual=manual)
        if not forum:
            _mark_sections(survey, fate, root, total, manual=manual)
    return Verdict(root=root, fate=fate)


def _mark(survey: Survey, fate: bytearray, box: int, value: int) -> None:
    end = survey.end[box]
    fate[box:end] = bytes([value]) * (end - box)


def _mark_noise(survey: Survey, fate: bytearray, *, article: bool, forum: bool) -> None:
    half = 0.5 * max(1, survey.total[0] - survey.linked[0])
    box, count = 1, len(survey.boxes)
    total, linked, own_flags, tags = survey.total, survey.linked, survey.own_flags, survey.tags
    while box < count:
        if (
            total[box] - linked[box] < half
            and (own_flags[box] or tags[box] in _SUSPECT)
            and _noise(survey, box, article=article, forum=forum)
        ):
            _mark(survey, fate, box, 2)
            box = survey.end[box]
        else:
            box += 1


_SUSPECT = frozenset({"nav", "footer", "header", "aside", "h1", "figcaption"})


def _noise(survey: Survey, box: int, *, article: bool, forum: bool) -> bool:
    tag, flags, text = survey.tags[box], survey.own_flags[box], survey.total[box]
    if flags & (names.NAV | names.FRAME):
        return True
    inside = bool(survey.flags[survey.parent[box]] & (names.MAIN | names.ARTICLE))
    dense = survey.linked[box] / text if text else 0.0
    if article and text < 400 and (tag in {"figcaption", "h1"} or (tag in {"p", "div"} and flags & names.CAPTION)):
        return True
    if tag == "footer":
        return not inside or dense > 0.3 or text < 200
    if tag == "header":
        if inside:
            return text < 400 and "p" not in survey.tags[box : survey.end[box]] and "h1" not in survey.tags[box : survey.end[box]]
        return dense > 0.3 or "h1" not in survey.tags[box : survey.end[box]]
    if tag == "aside":
        return not inside or dense > 0.4 or bool(flags & names.NOISE)
    if tag in NEVER_NOISE:
        return False
    if flags & names.ASIDE and (dense > 0.3 or not inside):
        return True
    if flags & names.NOISE and not survey.code[box]:
        return True
    return bool(flags & names.COMMENT) and not forum


def _holder(survey: Survey, fate: bytearray, *, article: bool) -> tuple[int, list[int], list[int]]:
    """The smallest box with most of the good text, then up again as long as the parent adds text and no links."""
    parent, tags, size, own_linked = survey.parent, survey.tags, survey.size, survey.own_linked
    least, count = 60 if article else 20, len(size)
    cells = frozenset[str]() if article or survey.code[0] else CELLS
    good, total, linked = [0] * count, [0] * count, [0] * count
    for box in range(count):
        chars = size[box]
        if not chars or fate[box] == 2:
            continue
        total[box], linked[box] = chars, own_linked[box]
        useful = chars - own_linked[box] if tags[box] in FIRM else chars
        if (useful >= least or (tags[box] in cells and not own_linked[box])) and not (article and own_linked[box] >= 0.4 * chars):
            good[box] = useful
    for box in range(count - 1, 0, -1):
        above = parent[box]
        good[above] += good[box]
        total[above] += total[box]
        linked[above] += linked[box]
    root = _deepest(survey, good, (0.7 if article else 0.85) * good[0])
    while root and not (tags[root] in {"main", "article"} or survey.own_flags[root] & (names.MAIN | names.ARTICLE)):
        above = parent[root]
        text, links = total[above] - total[root], linked[above] - linked[root]
        added = good[above] - good[root]
        if text > 0 and (links > (0.2 if article else 0.4) * text or added < (0.5 if article else 0.3) * text):
            break
        root = above
    return root, total, linked


def _deepest(survey: Survey, good: list[int], least: float) -> int:
    """The boxes with more than half form a chain; the last of it that may be divided."""
    root = 0
    if not good[0]:
        return 0
    for box in range(1, len(good)):
        if good[box] >= least and survey.parent[box] == root:
            if survey.tags[box] in UNDIVIDED:
                break
            root = box
    return root


def _mark_lists(
    survey: Survey, fate: bytearray, root: int, total: list[int], linked: list[int], *, article: bool, manual: bool
) -> None:
    box, end = root + 1, survey.end[root]
    tags, anchors = survey.tags, survey.anchors
    while box < end:
        if (
            fate[box] == 1
            and tags[box] in LISTS
            and anchors[box] > 1
            and _link_list(survey, box, total[box], linked[box], total[root], article=article)
            and not (manual and _opens_section(survey, box))
        ):
            _mark(survey, fate, box, 3)
            box = survey.end[box]
        else:
            box += 1


def _link_list(survey: Survey, box: int, text: int, links: int, whole: int, *, article: bool) -> bool:
    if not text or survey.code[box]:
        return False
    tag, count = survey.tags[box], survey.anchors[box]
    belongs = tag in {"ul", "ol"} and _belongs_to_text(survey, box)
    if article and links > 0.5 * text and text < 0.2 * whole and tag not in {"table", "dl"}:
        return not (belongs and links < 0.8 * text)
    return count >= 3 and links > 0.8 * text and text < 0.3 * whole and links / count < 60 and not belongs


def _belongs_to_text(survey: Survey, box: int) -> bool:
    """A list inside a list item, or right behind a paragraph or heading, was put there by the author."""
    if survey.tags[survey.parent[box]] in {"li", "dd"}:
        return True
    before = survey.boxes[box].getprevious()
    return before is not None and before.tag in {"p", "h2", "h3", "h4"}


def _opens_section(survey: Survey, box: int) -> bool:
    """Whether it is more than a table of contents and comes right behind a heading, in as many boxes as it may.

    `See also` of a manual is a section as any other.
    """
    if all((anchor.get("href") or "#").startswith("#") for anchor in survey.boxes[box].iter("a")):
        return False
    before = survey.boxes[box].getprevious()
    while before is None and box:
        box = survey.parent[box]
        before = survey.boxes[box].getprevious()
    return before is not None and (before.tag in HEADINGS or before.tag == "p" or (len(before) > 0 and before[0].tag in HEADINGS))


def _mark_sections(survey: Survey, fate: bytearray, root: int, total: list[int], *, manual: bool) -> None:
    quarter = 0.25 * total[root]
    for box in range(root + 1, survey.end[root]):
        if fate[box] != 1 or survey.tags[box] not in HEADINGS or survey.tags[box] == "h1":
            continue
        if survey.total[box] > 60 or not names.is_junk_heading(survey.own[box]):
            continue
        section = _section(survey, box, root, total)
        if sum(total[found] for found in section) < quarter and not (manual and _explains(survey, section)):
            for found in section:
                _mark(survey, fate, found, 4)


def _section(survey: Survey, heading: int, root: int, total: list[int]) -> list[int]:
    """The largest box around the heading; without one, what follows up to the next heading. Never a quarter of the page."""
    around, above = heading, survey.parent[heading]
    while above != root and above > 0 and total[above] < 0.25 * total[root]:
        around, above = above, survey.parent[above]
    if around != heading:
        return [around]
    section, box, stop = [heading], survey.end[heading], survey.end[survey.parent[heading]]
    while box < stop and not (survey.tags[box] in {"h1", "h2", "h3"} and survey.tags[box] <= survey.tags[heading]):
        section.append(box)
        box = survey.end[box]
    return section


def _explains(survey: Survey, section: list[int]) -> bool:
    """In a manual `Comments` may be a chapter: one with code, or with prose that does more than link."""
    prose, linked, text = (sum(part[box] for box in section) for part in (survey.prose, survey.linked, survey.total))
    return any(survey.code[box] for box in section) or (prose > 0 and linked < 0.3 * text)
