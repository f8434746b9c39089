"""OpenDocument texts, spreadsheets and presentations as HTML, by OASIS OpenDocument 1.3."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from websearch_adapters.extract.package import DamagedError, Package, attribute, children, first, name_of
from websearch_adapters.extract.xlsx import MAX_CELL_CHARS, MAX_CELLS, MAX_COLUMNS, MAX_ROWS, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

__all__ = ["content"]

MAX_DEPTH = 40
MAX_BLANKS = 100
MAX_REPEATS = 100
"""Of one row; more come from filling a sheet down to its end."""
DROPPED = frozenset({
    "tracked-changes", "annotation", "annotation-end", "sequence-decls", "forms", "variable-decls", "bookmark", "bookmark-start",
    "bookmark-end", "change", "change-start", "change-end", "table-of-content", "alphabetical-index", "note-citation", "notes",
    "shapes", "soft-page-break",
})  # fmt: skip
MONOSPACED = ("courier", "mono", "consol")


@dataclass(slots=True, kw_only=True)
class _Reader:
    bold: frozenset[str]
    italic: frozenset[str]
    code: frozenset[str]
    """Names of styles."""
    numbered: frozenset[str]
    """Names of list styles."""
    notes: list[_Element] = field(default_factory=list)
    cells_left: int = MAX_CELLS
    cut: list[str] = field(default_factory=list)


def content(package: Package) -> tuple[_Element, str]:
    """The document as HTML, and what is missing.

    Raises:
        DamagedError: there is no document.
    """
    from lxml import etree

    root = package.xml("content.xml")
    body = first(root, "body")
    if body is None or not len(body):
        raise DamagedError
    reader = _reader(root, package.xml("styles.xml"))
    out = etree.Element("div")
    _blocks(reader, body[0], out, 0)
    at = 0
    while at < len(reader.notes):  # a note may bring further ones
        target = etree.SubElement(out, "p")
        target.text = f"[{at + 1}] "
        for paragraph in children(first(reader.notes[at], "note-body"), "p"):
            _inline(reader, paragraph, target, 0)
        at += 1
    return out, f"only the first rows of: {', '.join(reader.cut)}"[:300] if reader.cut else ""


def _reader(*roots: _Element | None) -> _Reader:
    bold, italic, code, numbered = set[str](), set[str](), set[str](), set[str]()
    for root in roots:
        for element in root.iter() if root is not None else ():
            kind, name = name_of(element), attribute(element, "name")
            if kind == "list-style" and first(element, "list-level-style-number") is not None:
                numbered.add(name)
            if kind != "style":
                continue
            look = first(element, "text-properties")
            if attribute(look, "font-weight") in {"bold", "700", "800", "900"}:
                bold.add(name)
            if attribute(look, "font-style") == "italic":
                italic.add(name)
            font = f"{attribute(look, 'font-name')} {attribute(look, 'font-family')} {name}".lower()
            if any(mark in font for mark in MONOSPACED) or name in {"Source_20_Text", "Preformatted_20_Text"}:
                code.add(name)
    return _Reader(bold=frozenset(bold), italic=frozenset(italic), code=frozenset(code), numbered=frozenset(numbered))


def _blocks(reader: _Reader, parent: _Element, out: _Element, depth: int) -> None:
    from lxml import etree

    for element in parent if depth < MAX_DEPTH else ():
        name = name_of(element)
        if name in DROPPED or not name:
            continue
        if name == "h":
            level = attribute(element, "outline-level")
            _inline(reader, element, etree.SubElement(out, f"h{min(int(level), 6) if level.isdecimal() else 1}"), 0)
        elif name == "p":
            _paragraph(reader, element, out)
        elif name == "list":
            _list(reader, element, out, depth)
        elif name == "table":
            _table(reader, element, out, depth)
        elif name == "page":
            etree.SubElement(out, "h2").text = attribute(element, "name")
            _blocks(reader, element, out, depth + 1)
        else:
            _blocks(reader, element, out, depth + 1)


def _paragraph(reader: _Reader, element: _Element, out: _Element) -> None:
    from lxml import etree

    if attribute(element, "style-name") in {"Preformatted_20_Text", "Source_20_Code"}:
        words = "".join(_plain(element, 0))
        last = out[-1] if len(out) else None
        if last is not None and last.tag == "pre":
            last.text = f"{last.text}\n{words}"
        else:
            etree.SubElement(out, "pre").text = words
        return
    _inline(reader, element, etree.SubElement(out, "p"), 0)
    for box in element.iter():
        if name_of(box) == "text-box":
            _blocks(reader, box, out, MAX_DEPTH - 5)


def _list(reader: _Reader, element: _Element, out: _Element, depth: int) -> None:
    from lxml import etree

    style = attribute(element, "style-name")
    box = etree.SubElement(out, "ol" if style in reader.numbered else "ul")
    for item in children(element, "list-item", "list-header"):
        line = etree.SubElement(box, "li")
        if style in reader.numbered:
            for inner in children(item, "list"):
                if not attribute(inner, "style-name"):
                    inner.set("style-name", style)
        _blocks(reader, item, line, depth + 1)


def _table(reader: _Reader, element: _Element, out: _Element, depth: int) -> None:
    """A table in a text, or a sheet with its name as heading. Repeated cells and rows are written out within bounds."""
    from lxml import etree

    parent = element.getparent()
    if parent is not None and name_of(parent) == "spreadsheet":
        etree.SubElement(out, "h2").text = attribute(element, "name")
    rows: list[list[str]] = []
    for row in _rows(element, depth):
        cells = _cells(row)
        times = _times(row, "number-rows-repeated") if any(cells) else 1
        written = min(times, MAX_REPEATS, MAX_ROWS - len(rows), reader.cells_left // max(len(cells), 1) + 1)
        rows += [cells] * written
        reader.cells_left -= written * len(cells)
        if written < times or len(rows) >= MAX_ROWS or reader.cells_left <= 0:
            reader.cut.append(attribute(element, "name"))
            break
    table_of(rows, out)


def _rows(element: _Element, depth: int) -> Iterator[_Element]:
    for child in element if depth < MAX_DEPTH else ():
        if name_of(child) == "table-row" and attribute(child, "visibility") != "collapse":
            yield child
        elif name_of(child) in {"table-header-rows", "table-row-group", "table-rows"}:
            yield from _rows(child, depth + 1)


def _cells(row: _Element) -> list[str]:
    found: list[str] = []
    for cell in children(row, "table-cell", "covered-table-cell"):
        words = " ".join(" ".join("".join(_plain(part, 0)) for part in children(cell, "p", "list", "h")).split())
        found += [words[:MAX_CELL_CHARS]] * min(_times(cell, "number-columns-repeated"), MAX_COLUMNS - len(found))
    while found and not found[-1]:
        found.pop()
    return found


def _times(element: _Element, name: str) -> int:
    said = attribute(element, name)
    return int(said) if said.isdecimal() and len(said) < 20 else 1


def _inline(reader: _Reader, parent: _Element, out: _Element, depth: int) -> None:
    from lxml import etree

    _add(out, parent.text or "")
    for element in parent if depth < MAX_DEPTH else ():
        name = name_of(element)
        if name == "note":
            reader.notes.append(element)
            _add(out, f"[{len(reader.notes)}]")
        elif name == "line-break":
            etree.SubElement(out, "br")
        elif name in {"s", "tab"}:
            _add(out, " ")
        elif name == "a":
            address = attribute(element, "href")
            _inline(reader, element, etree.SubElement(out, "a", {"href": address}), depth + 1)
        elif name == "frame":
            alt = first(element, "desc") if first(element, "desc") is not None else first(element, "title")
            if alt is not None and alt.text:
                etree.SubElement(out, "img", {"alt": alt.text})
        elif name not in DROPPED and name:
            _inline(reader, element, _looking(reader, attribute(element, "style-name"), out), depth + 1)
        _add(out, element.tail or "")


def _looking(reader: _Reader, style: str, out: _Element) -> _Element:
    """The place for text of this style."""
    from lxml import etree

    if style in reader.code:
        return etree.SubElement(out, "code")
    for tag, styles in (("strong", reader.bold), ("em", reader.italic)):
        if style in styles:
            out = etree.SubElement(out, tag)
    return out


def _plain(parent: _Element, depth: int) -> Iterator[str]:
    """The characters inside, with blanks, tabs and line breaks."""
    yield parent.text or ""
    for element in parent if depth < MAX_DEPTH else ():
        name = name_of(element)
        if name == "s":
            yield " " * min(_times(element, "c"), MAX_BLANKS)
        elif name == "tab":
            yield "\t"
        elif name == "line-break":
            yield "\n"
        elif name not in DROPPED and name != "note":
            yield from _plain(element, depth + 1)
        yield element.tail or ""


def _add(element: _Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
