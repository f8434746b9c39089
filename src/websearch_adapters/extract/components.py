"""Web components as what a browser shows: shadow trees in their place with what is slotted into them, inline ones inline.

By the HTML standard's declarative shadow trees (read 2026-11-30). What a script would attach is not in the page.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from websearch_adapters.extract.markup import remove, text_of
from websearch_adapters.extract.survey import INLINE

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["compose"]

MAX_SHADOWS = 2_000
MAX_INLINE_CHARS = 200
PICTURES = frozenset({"amp-img", "amp-anim"})


def compose(body: Element) -> None:
    """Put every component's content where it is seen; in place."""
    shadows = (one for one in body.iter("template") if {"shadowrootmode", "shadowroot"} & set(one.keys()))
    for template in list(islice(shadows, MAX_SHADOWS)):
        _attach(template)
    for element in [one for one in body.iter() if "-" in one.tag]:
        if element.tag in PICTURES:
            element.tag = "img"
        elif _is_inline(element):
            element.tag = "span"


def _attach(template: Element) -> None:
    host = template.getparent()
    if host is None:
        return
    template.tag = "div"
    template.attrib.clear()
    for slot in list(template.iter("slot")):
        name = slot.get("name") or ""
        slotted = [child for child in host if child is not template and (child.get("slot") or "") == name]
        slot.tag = "span" if all(child.tag in INLINE for child in slotted) else "div"
        if name or (not slotted and not _loose(host, template)):
            _fill(slot, slotted, "")
        else:
            _fill(slot, slotted, _loose(host, template))
            host.text = template.tail = None


def _loose(host: Element, template: Element) -> str:
    """Text of the host outside of any element; what follows an element goes with it."""
    return f"{host.text or ''}{template.tail or ''}"


def _fill(slot: Element, slotted: list[Element], text: str) -> None:
    """What is slotted in; the slot's own content stays where nothing is."""
    if not slotted and not text.strip():
        return
    for child in list(slot):
        remove(child)
    slot.text = text
    slot.extend(slotted)


def _is_inline(element: Element) -> bool:
    """A few words in the middle of others."""
    before = element.getprevious()
    parent = element.getparent()
    said = (before.tail if before is not None else parent.text if parent is not None else "") or ""
    if not said.strip() and not (element.tail or "").strip():
        return False
    return all(inner.tag in INLINE for inner in element.iterdescendants()) and len(text_of(element)) <= MAX_INLINE_CHARS
