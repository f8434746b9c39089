"""PowerPoint presentations as HTML: each visible slide a heading with its title, its text, tables and notes.

By ECMA-376 part 1 (PresentationML and DrawingML).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from websearch_adapters.extract.package import DamagedError, Package, attribute, children, first, name_of, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

__all__ = ["content"]

MAX_SLIDES = 1_000
MAX_DEPTH = 20
TITLES = frozenset({"title", "ctrTitle"})
FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})


def content(package: Package) -> _Element:
    """The presentation as HTML.

    Raises:
        DamagedError: there is no presentation.
    """
    from lxml import etree

    part = package.main()
    show = package.xml(part)
    if show is None:
        raise DamagedError
    parts = package.related(part)
    out = etree.Element("div")
    for number, slide in enumerate(list(children(first(show, "sldIdLst"), "sldId"))[:MAX_SLIDES], 1):
        keys = (parts.get(str(value), "") for key, value in slide.items() if str(key).endswith("}id"))
        _slide(package, next(keys, ""), number, out)
    return out


def _slide(package: Package, part: str, number: int, out: _Element) -> None:
    from lxml import etree

    slide = package.xml(part)
    if slide is None or attribute(slide, "show") == "0":
        return
    links = package.related(part)
    shapes = list(_shapes(first(slide, "cSld", "spTree"), 0))
    titles = [words(first(shape, "txBody")) for shape in shapes if _place(shape) in TITLES]
    title = " ".join(filter(None, titles))
    etree.SubElement(out, "h2").text = f"Slide {number}: {title}" if title else f"Slide {number}"
    for shape in shapes:
        if _place(shape) not in TITLES | FURNITURE:
            _shape(shape, links, out)
    for name in links.values():
        if "/notesSlides/" in f"/{name}":
            _notes(package, name, out)


def _shapes(tree: _Element | None, depth: int) -> Iterator[_Element]:
    """Shapes, tables and pictures in their order, also those in groups."""
    for child in tree if tree is not None and depth < MAX_DEPTH else ():
        name = name_of(child)
        if name in {"sp", "graphicFrame", "pic", "cxnSp"}:
            yield child
        elif name in {"grpSp", "AlternateContent", "Choice"}:
            yield from _shapes(child, depth + 1)


def _place(shape: _Element) -> str:
    """The kind of placeholder that the shape fills; empty for none."""
    place = first(shape, "nvSpPr", "nvPr", "ph")
    return "" if place is None else attribute(place, "type") or "body"


def _shape(shape: _Element, links: dict[str, str], out: _Element) -> None:
    from lxml import etree

    name = name_of(shape)
    if name == "pic":
        alt = attribute(first(shape, "nvPicPr", "cNvPr"), "descr")
        if alt:
            etree.SubElement(etree.SubElement(out, "p"), "img", {"alt": alt})
        return
    if name == "graphicFrame":
        table = first(shape, "graphic", "graphicData", "tbl")
        if table is not None:
            _table(table, links, out)
        return
    _text(first(shape, "txBody"), links, out, listed=_place(shape) in {"body", "obj"})


def _text(body: _Element | None, links: dict[str, str], out: _Element, *, listed: bool) -> None:
    """Paragraphs; of a text with bullets, a list, in as many levels as it has."""
    from lxml import etree

    paragraphs = [paragraph for paragraph in children(body, "p") if words(paragraph)]
    lists: list[_Element] = []
    for paragraph in paragraphs:
        properties = first(paragraph, "pPr")
        said = attribute(properties, "lvl")
        level = min(int(said), 8) if said.isdecimal() else 0
        bare = first(properties, "buNone") is not None or not (listed or first(properties, "buChar") is not None)
        if (bare and not level) or len(paragraphs) == 1:
            lists.clear()
            _runs(paragraph, links, etree.SubElement(out, "p"))
            continue
        del lists[level + 1 :]
        while len(lists) <= level:
            parent = out if not lists else lists[-1][-1] if len(lists[-1]) else etree.SubElement(lists[-1], "li")
            lists.append(etree.SubElement(parent, "ul"))
        _runs(paragraph, links, etree.SubElement(lists[level], "li"))


def _runs(paragraph: _Element, links: dict[str, str], out: _Element) -> None:
    from lxml import etree

    for run in paragraph:
        name = name_of(run)
        if name == "br":
            etree.SubElement(out, "br")
        if name not in {"r", "fld"}:
            continue
        look = first(run, "rPr")
        text = first(run, "t")
        address = links.get(attribute(first(look, "hlinkClick"), "id"), "")
        target = etree.SubElement(out, "a", {"href": address}) if "://" in address else etree.SubElement(out, "span")
        for tag, flag in (("strong", "b"), ("em", "i")):
            if attribute(look, flag) in {"1", "true"}:
                target = etree.SubElement(target, tag)
        target.text = (text.text or "") if text is not None else ""


def _table(table: _Element, links: dict[str, str], out: _Element) -> None:
    from lxml import etree

    grid = etree.SubElement(out, "table")
    for at, row in enumerate(children(table, "tr")):
        line = etree.SubElement(grid, "tr")
        for cell in children(row, "tc"):
            box = etree.SubElement(line, "td" if at else "th")
            for paragraph in children(first(cell, "txBody"), "p"):
                _runs(paragraph, links, etree.SubElement(box, "p"))


def _notes(package: Package, part: str, out: _Element) -> None:
    from lxml import etree

    notes = package.xml(part)
    texts = [
        words(paragraph)
        for shape in _shapes(first(notes, "cSld", "spTree"), 0)
        if _place(shape) == "body"
        for paragraph in children(first(shape, "txBody"), "p")
    ]
    for at, text in enumerate(filter(None, texts)):
        etree.SubElement(out, "p").text = f"Notes: {text}" if not at else text
