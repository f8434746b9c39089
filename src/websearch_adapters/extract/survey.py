"""One pass over the tree of a page: its boxes and what stands in them, as lists of numbers.

A box is a block-level element; its own text is what it holds itself, inline children included. Boxes are numbered in document
order, so the boxes inside box `n` are those from `n + 1` to before `end[n]`. Everything that chooses content works on these
lists, not on the tree: asking an element costs ten times as much as asking a list.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from websearch_adapters.extract import names
from websearch_adapters.extract.markup import letters_of, text_of

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["HEADINGS", "INLINE", "Survey"]

INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins", "kbd",
    "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
    "acronym", "math", "picture", "source", "nobr", "rp", "rt", "ruby",
})  # fmt: skip
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
PROSE_CHARS = 80
"""Own text from this length on, mostly unlinked, is prose."""
MAX_INLINE_NOISE_CHARS = 400
MAX_DEPTH = 200
"""What lies deeper is text of the box above."""


class Survey:
    """The boxes of a body; `total`, `linked`, `anchors`, `prose` and `code` count everything inside, `own…` the box alone."""

    __slots__ = (
        "_parts", "anchors", "boxes", "code", "depth", "drops", "end", "flags", "high", "linked", "low", "names", "own",
        "own_anchors", "own_flags", "own_linked", "parent", "prose", "score", "size", "tags", "total",
    )  # fmt: skip

    def __init__(self, body: Element) -> None:
        self.boxes: list[Element] = []
        self.tags: list[str] = []
        self.names: list[str] = []
        self.parent: list[int] = []
        self.end: list[int] = []
        self.own_flags: list[int] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.own_anchors: list[int] = []
        self.own_linked: list[int] = []
        self.drops: list[Element] = []
        """Inline elements that are no content."""
        self._parts: list[list[str]] = []
        self._add(body, str(body.tag), -1, False)
        self._visit(body, 0, False, 0)
        self.end[0] = len(self.boxes)
        self.own = [" ".join("".join(found).split()) if found else "" for found in self._parts]
        self._parts.clear()
        self.size = [len(text) for text in self.own]
        self._inherit()
        self._sum()

    def _visit(self, element: Element, box: int, in_link: bool, level: int) -> None:
        """Everything inside `element`, which belongs to `box`."""
        parts, linked = self._parts, self.own_linked
        text = parts[box]
        if level > MAX_DEPTH:
            text.append("".join(text_of(child) for child in element))
            return
        for child in element:
            tag = child.tag
            if tag in INLINE:
                self._inline(child, tag, box, in_link, level)
            else:
                number = self._add(child, tag, box, in_link)
                if len(child):
                    self._visit(child, number, in_link, level + 1)
                    self.end[number] = len(parts)
                text.append(" ")
            words = child.tail
            if words:
                text.append(words)
                if in_link:
                    linked[box] += len(words)

    def _inline(self, element: Element, tag: str, box: int, in_link: bool, level: int) -> None:
        name = element.get("class")
        noisy = (name and names.flags_of(name) & names.NOISE) or element.get("aria-hidden") == "true"
        if noisy and _small(element):
            self.drops.append(element)
            return
        if tag == "a":
            in_link = True
            self.own_anchors[box] += 1
        elif tag == "br":
            self._parts[box].append("\n")
        words = element.text
        if words:
            self._parts[box].append(words)
            if in_link:
                self.own_linked[box] += len(words)
        if len(element):
            self._visit(element, box, in_link, level + 1)

    def _add(self, element: Element, tag: str, above: int, in_link: bool) -> int:
        """A new box; its number."""
        number = len(self.boxes)
        self.boxes.append(element)
        self.tags.append(tag)
        self.parent.append(above)
        self.end.append(number + 1)
        self.own_anchors.append(0)
        words = element.text
        self._parts.append([words] if words else [])
        self.own_linked.append(len(words) if words and in_link else 0)
        self._judge(element, tag, in_link)
        return number

    def _judge(self, element: Element, tag: str, in_link: bool) -> None:
        """What the names of a box say of it."""
        get = element.get
        name = get("class") or ""
        identity = get("id")
        if identity and identity.count("-") < 3 and not _is_slug(element, identity):
            name = f"{name} {identity}"
        role = get("role")
        flags = names.TAG_FLAGS.get(tag, 0)
        low = high = 0.0
        if name:
            flags |= names.flags_of(name)
            low, high = names.score_of(name)
        if role:
            flags |= names.ROLE_FLAGS.get(role.lower(), 0)
        if in_link:
            flags |= names.LINK
        self.names.append(name)
        self.own_flags.append(flags)
        self.low.append(low)
        self.high.append(high)

    def _inherit(self) -> None:
        """Give each box what holds of it for being inside of others."""
        parent, low, high = self.parent, self.low, self.high
        self.flags = flags = self.own_flags[:]
        self.score = score = [worst + best for worst, best in zip(low, high, strict=True)]
        self.depth = depth = [0] * len(parent)
        for box in range(1, len(parent)):
            above = parent[box]
            flags[box] |= flags[above]
            score[box] += score[above]
            depth[box] = depth[above] + 1
            if low[above] < low[box]:
                low[box] = low[above]
            if high[above] > high[box]:
                high[box] = high[above]

    def _sum(self) -> None:
        """Give each box what all of the boxes inside have."""
        size, tags, parent = self.size, self.tags, self.parent
        self.own_linked = own_linked = list(map(min, self.own_linked, size))
        self.total = total = size[:]
        self.linked = linked = own_linked[:]
        self.anchors = anchors = self.own_anchors[:]
        self.code = code = [1 if tag == "pre" else 0 for tag in tags]
        self.prose = prose = [
            chars if chars > PROSE_CHARS and links < 0.3 * chars and tag not in HEADINGS else 0
            for chars, links, tag in zip(size, own_linked, tags, strict=True)
        ]
        for box in range(len(tags) - 1, 0, -1):
            above = parent[box]
            total[above] += total[box]
            linked[above] += linked[box]
            anchors[above] += anchors[box]
            prose[above] += prose[box]
            code[above] += code[box]


def _small(element: Element) -> bool:
    return len(element) == 0 or len(text_of(element)) < MAX_INLINE_NOISE_CHARS


def _is_slug(element: Element, identity: str) -> bool:
    """Whether the id repeats a heading: `about-responses` of a manual's section is not the place where readers respond."""
    if element.tag in HEADINGS:
        return True
    heading = next((child for child in islice(element, 2) if child.tag in HEADINGS), None)
    if heading is None:
        return False
    words = text_of(heading).strip()
    return letters_of(words).startswith(letters_of(identity)) and not names.is_junk_heading(words)
