"""Word documents as HTML: headings, lists, tables, links, code, footnotes; what was deleted or hidden is not read.

By ECMA-376 part 1 (WordprocessingML), as Word 2007 to 365 and LibreOffice write it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from websearch_adapters.extract.package import DamagedError, Package, attribute, children, first, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

__all__ = ["content"]

MAX_DEPTH = 40
"""Of tables in tables and runs in runs; what lies deeper is left out."""
DROPPED = frozenset({
    "del", "moveFrom", "delText", "delInstrText", "instrText", "Fallback", "rPr", "pPr", "sectPr", "proofErr", "fldData",
    "commentRangeStart", "commentRangeEnd", "commentReference", "annotationRef", "footnoteRef", "endnoteRef",
})  # fmt: skip
MONOSPACED = re.compile(r"courier|consol|mono|menlo|source code|fira code", re.IGNORECASE)
CODE_STYLE = re.compile(r"code|verbatim|preformatted|macro ?text|plain ?text", re.IGNORECASE)
QUOTE_STYLE = re.compile(r"^(?:intense ?)?(?:quote|block ?text)", re.IGNORECASE)
LIST_STYLE = re.compile(r"^list (?:bullet|number) ([2-5])$", re.IGNORECASE)
HEADING_STYLE = re.compile(r"^heading\s*([1-9])$", re.IGNORECASE)
OFF = frozenset({"0", "false", "off", "none"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    name: str = ""
    level: int = 0
    """1 to 6 for a heading, otherwise 0."""
    numbering: tuple[str, str] = ("", "")


@dataclass(slots=True, kw_only=True)
class _Note:
    label: str
    element: _Element


@dataclass(slots=True, kw_only=True)
class _Reader:
    package: Package
    part: str
    styles: dict[str, _Style]
    formats: dict[tuple[str, str], str]
    """(list, level) → how it counts."""
    links: dict[str, str]
    notes: list[_Note] = field(default_factory=list)
    stored_notes: dict[tuple[str, str], _Element] = field(default_factory=dict)
    """(kind, id) → the note."""


def content(package: Package) -> _Element:
    """The document's body as HTML.

    Raises:
        DamagedError: there is no body.
    """
    from lxml import etree

    part = package.main()
    body = first(package.xml(part), "body")
    if body is None:
        raise DamagedError
    reader = _Reader(
        package=package, part=part, styles=_styles(package, part), formats=_formats(package, part), links=package.related(part)
    )
    for kind in ("footnote", "endnote"):
        for note in children(package.xml(_beside(part, f"{kind}s.xml")), kind):
            reader.stored_notes[kind, attribute(note, "id")] = note
    out = etree.Element("div")
    _blocks(reader, body, out, 0)
    _put_notes(reader, out)
    return out


def _beside(part: str, name: str) -> str:
    return f"{part.rpartition('/')[0]}/{name}".lstrip("/")


def _styles(package: Package, part: str) -> dict[str, _Style]:
    found: dict[str, _Style] = {}
    based: dict[str, str] = {}
    for style in children(package.xml(_beside(part, "styles.xml")), "style"):
        key = attribute(style, "styleId")
        name = attribute(first(style, "name"), "val")
        outline = attribute(first(style, "pPr", "outlineLvl"), "val")
        match = HEADING_STYLE.match(name)
        level = int(match[1]) if match else 1 if name.lower() == "title" else int(outline) + 1 if outline.isdecimal() else 0
        found[key] = _Style(name=name, level=level if level <= 9 else 0, numbering=_numbering(first(style, "pPr", "numPr")))
        based[key] = attribute(first(style, "basedOn"), "val")
    return {key: _inherited(key, found, based) for key in found}


def _inherited(key: str, styles: dict[str, _Style], based: dict[str, str]) -> _Style:
    """The style with what it has from those that it stands on."""
    style, above = styles[key], based.get(key, "")
    level, numbering = style.level, style.numbering
    for _ in range(10):
        if above not in styles:
            break
        level = level or styles[above].level
        numbering = numbering if numbering[0] else styles[above].numbering
        above = based.get(above, "")
    return _Style(name=style.name, level=min(level, 6), numbering=numbering)


def _formats(package: Package, part: str) -> dict[tuple[str, str], str]:
    root = package.xml(_beside(part, "numbering.xml"))
    abstract: dict[str, dict[str, str]] = {}
    for one in children(root, "abstractNum"):
        levels = {attribute(level, "ilvl"): attribute(first(level, "numFmt"), "val") for level in children(one, "lvl")}
        abstract[attribute(one, "abstractNumId")] = levels
    found: dict[tuple[str, str], str] = {}
    for number in children(root, "num"):
        levels = abstract.get(attribute(first(number, "abstractNumId"), "val"), {})
        found.update({(attribute(number, "numId"), level): how for level, how in levels.items()})
    return found


def _numbering(properties: _Element | None) -> tuple[str, str]:
    """List and level of a paragraph; empty where it is in none."""
    number = attribute(first(properties, "numId"), "val")
    return ("", "") if number in {"", "0"} else (number, attribute(first(properties, "ilvl"), "val") or "0")


# --- blocks -------------------------------------------------------------------------------------------------------


def _blocks(reader: _Reader, parent: _Element, out: _Element, depth: int) -> None:
    lists: list[_Element] = []
    """The lists that are open, outermost first."""
    if depth > MAX_DEPTH:
        return
    for element in _unwrapped(parent, depth):
        name = name_of(element)
        if name == "p":
            _paragraph(reader, element, out, lists)
        elif name == "tbl":
            lists.clear()
            _table(reader, element, out, depth)


def _unwrapped(parent: _Element, depth: int) -> Iterator[_Element]:
    """The blocks, also those inside of content controls, insertions and alternatives."""
    for child in parent:
        name = name_of(child)
        if name in {"p", "tbl"}:
            yield child
        elif name not in DROPPED and depth < MAX_DEPTH:
            yield from _unwrapped(child, depth + 1)


def _paragraph(reader: _Reader, element: _Element, out: _Element, lists: list[_Element]) -> None:
    from lxml import etree

    properties = first(element, "pPr")
    style = reader.styles.get(attribute(first(properties, "pStyle"), "val"), _Style())
    outline = attribute(first(properties, "outlineLvl"), "val")
    level = min(int(outline) + 1, 6) if outline.isdecimal() and int(outline) < 9 else style.level
    own = first(properties, "numPr")
    number, depth = _numbering(own) if own is not None else style.numbering
    if number and not level:
        nested = LIST_STYLE.match(style.name)
        target = _list_item(reader, out, lists, number, int(nested[1]) - 1 if nested else int(depth) if depth.isdecimal() else 0)
    else:
        lists.clear()
        if CODE_STYLE.search(style.name) and not level:
            _code_line(element, out)
            return
        quoted = QUOTE_STYLE.match(style.name) is not None
        target = etree.SubElement(etree.SubElement(out, "blockquote") if quoted else out, f"h{level}" if level else "p")
    _inline(reader, element, target, 0)


def _list_item(reader: _Reader, out: _Element, lists: list[_Element], number: str, depth: int) -> _Element:
    from lxml import etree

    depth = min(depth, 8)
    tag = "ul" if reader.formats.get((number, str(depth)), "bullet") in {"bullet", "none"} else "ol"
    if lists and depth < len(lists) and (lists[depth].tag != tag or (depth == 0 and lists[0].get("data-list") != number)):
        del lists[depth:]
    del lists[depth + 1 :]
    while len(lists) <= depth:
        parent = out if not lists else lists[-1][-1] if len(lists[-1]) else etree.SubElement(lists[-1], "li")
        lists.append(etree.SubElement(parent, tag, {"data-list": number}))
    return etree.SubElement(lists[depth], "li")


def _code_line(element: _Element, out: _Element) -> None:
    """One more line of the code block that ends here, or the first of one."""
    from lxml import etree

    words = "".join(_plain(element, 0))
    last = out[-1] if len(out) else None
    if last is not None and last.tag == "pre":
        last.text = f"{last.text}\n{words}"
    else:
        etree.SubElement(out, "pre").text = words


def _table(reader: _Reader, element: _Element, out: _Element, depth: int) -> None:
    """The first row is the header where the table says so, or says nothing."""
    from lxml import etree

    table = etree.SubElement(out, "table")
    for at, row in enumerate(_rows(element)):
        line = etree.SubElement(table, "tr")
        for cell in _rows(row, "tc"):
            properties = first(cell, "tcPr")
            box = etree.SubElement(line, "td" if at else "th")
            across = attribute(first(properties, "gridSpan"), "val")
            if across.isdecimal():
                box.set("colspan", across)
            merged = first(properties, "vMerge")
            if merged is None or attribute(merged, "val") == "restart":
                _blocks(reader, cell, box, depth + 1)


def _rows(element: _Element, wanted: str = "tr") -> Iterator[_Element]:
    """Rows of a table or cells of a row, also inside of content controls; without deleted rows."""
    for child in element:
        name = name_of(child)
        if name == wanted and first(child, "trPr", "del") is None:
            yield child
        elif name in {"sdt", "sdtContent", "ins", "customXml"}:
            yield from _rows(child, wanted)


# --- inline -------------------------------------------------------------------------------------------------------


def _inline(reader: _Reader, parent: _Element, out: _Element, depth: int) -> None:
    from lxml import etree

    if depth > MAX_DEPTH:
        return
    for element in parent:
        name = name_of(element)
        if name in DROPPED or name == "":
            continue
        if name == "r":
            _run(reader, element, out)
        elif name == "hyperlink":
            address = reader.links.get(attribute(element, "id"), "")
            _inline(reader, element, etree.SubElement(out, "a", {"href": address}) if address else out, depth + 1)
        elif name in {"oMath", "oMathPara"}:
            _add(out, "".join(_plain(element, 0)))
        else:
            _inline(reader, element, out, depth + 1)


def _run(reader: _Reader, run: _Element, out: _Element) -> None:
    """A stretch of text of one look."""
    from lxml import etree

    look = first(run, "rPr")
    if _on(look, "vanish"):
        return
    style = reader.styles.get(attribute(first(look, "rStyle"), "val"), _Style()).name
    font = attribute(first(look, "rFonts"), "ascii")
    if MONOSPACED.search(font) or CODE_STYLE.search(style):
        etree.SubElement(out, "code").text = "".join(_plain(run, 0))
        return
    target = out
    for tag, name in (("strong", "b"), ("em", "i"), ("s", "strike")):
        if _on(look, name):
            target = etree.SubElement(target, tag)
    if attribute(first(look, "vertAlign"), "val") == "superscript":
        target = etree.SubElement(target, "sup")
    for element in run:
        _run_part(reader, element, target, out)


def _run_part(reader: _Reader, element: _Element, target: _Element, out: _Element) -> None:
    from lxml import etree

    name = name_of(element)
    if name in {"footnoteReference", "endnoteReference"}:
        note = reader.stored_notes.get((name.removesuffix("Reference"), attribute(element, "id")))
        if note is not None:
            reader.notes.append(_Note(label=str(len(reader.notes) + 1), element=note))
            _add(out, f"[{reader.notes[-1].label}]")
    elif name in {"br", "cr"}:
        etree.SubElement(target, "br")
    elif name in {"drawing", "pict", "object", "AlternateContent"}:
        for inner in element.iter():
            if name_of(inner) == "docPr" and (alt := attribute(inner, "descr")):
                etree.SubElement(target, "img", {"alt": alt})
            if name_of(inner) == "txbxContent" and not any(name_of(above) == "Fallback" for above in inner.iterancestors()):
                _add(target, " ".join("".join(_plain(inner, 0)).split()))
    elif name not in DROPPED:
        _add(target, "".join(_plain_one(element, 0)))


def _on(look: _Element | None, name: str) -> bool:
    found = first(look, name)
    return found is not None and attribute(found, "val") not in OFF


def _plain(parent: _Element, depth: int) -> Iterator[str]:
    """The characters inside, with tabs and line breaks."""
    if depth > MAX_DEPTH:
        return
    for element in parent:
        yield from _plain_one(element, depth)


def _plain_one(element: _Element, depth: int) -> Iterator[str]:
    name = name_of(element)
    if name == "t":
        yield element.text or ""
    elif name in {"tab", "ptab"}:
        yield "\t"
    elif name in {"br", "cr"}:
        yield "\n"
    elif name == "noBreakHyphen":
        yield "-"
    elif name not in DROPPED:
        yield from _plain(element, depth + 1)


def _add(element: _Element, text: str) -> None:
    """More text at the end of the element."""
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def _put_notes(reader: _Reader, out: _Element) -> None:
    """The notes below the text, each behind its number; a note may bring further ones."""
    from lxml import etree

    at = 0
    while at < len(reader.notes):
        note = reader.notes[at]
        target = etree.SubElement(out, "p")
        target.text = f"[{note.label}] "
        for paragraph in children(note.element, "p"):
            _inline(reader, paragraph, target, 0)
            _add(target, " ")
        at += 1
