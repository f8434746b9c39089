"""Excel workbooks as HTML: each visible sheet a heading and a table, with values as they are stored and dates as dates.

By ECMA-376 part 1 (SpreadsheetML). Formulas show the value that was last computed.
"""

from __future__ import annotations

import io
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from websearch_adapters.extract.package import DamagedError, Package, attribute, children, first, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

__all__ = ["content", "table_of"]

MAX_ROWS = 5_000
"""Of one sheet."""
MAX_CELLS = 100_000
"""Of the workbook."""
MAX_COLUMNS = 200
MAX_SHEETS = 200
MAX_CELL_CHARS = 1_000
BUILT_IN_DATES = frozenset({14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 30, 36, 45, 46, 47, 50, 57})
"""Numbers of formats that need no definition; ECMA-376 part 1, 18.8.30."""
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_DATE_LETTER = re.compile(r"[ymdhs]", re.IGNORECASE)
_CELL = re.compile(r"([A-Z]{1,3})\d*")


def content(package: Package) -> tuple[_Element, str]:
    """The workbook as HTML, and what is missing.

    Raises:
        DamagedError: there is no workbook.
    """
    from lxml import etree

    part = package.main()
    book = package.xml(part)
    if book is None:
        raise DamagedError
    parts = package.related(part)
    shared = tuple(_shared(package, next((name for name in parts.values() if name.endswith("sharedStrings.xml")), "")))
    values = _Values(shared, _date_styles(package, next((name for name in parts.values() if name.endswith("styles.xml")), "")))
    values.from_1904 = attribute(first(book, "workbookPr"), "date1904") in {"1", "true"}
    out, cut, left = etree.Element("div"), list[str](), MAX_CELLS
    for sheet in list(children(first(book, "sheets"), "sheet"))[:MAX_SHEETS]:
        name = attribute(sheet, "name")
        if attribute(sheet, "state") in {"hidden", "veryHidden"}:
            continue
        rows, whole = _rows(package, parts.get(attribute(sheet, "id"), ""), values, left)
        left -= sum(map(len, rows))
        etree.SubElement(out, "h2").text = name
        table_of(rows, out)
        if not whole:
            cut.append(name)
    return out, f"only the first rows of: {', '.join(cut)}"[:300] if cut else ""


def table_of(rows: list[list[str]], out: _Element) -> None:
    """The rows that hold anything as a table whose first row is the header; columns that are empty throughout go."""
    from lxml import etree

    kept = [row for row in rows if any(row)]
    width = max(map(len, kept), default=0)
    used = [column for column in range(width) if any(column < len(row) and row[column] for row in kept)]
    table = etree.SubElement(out, "table")
    for at, row in enumerate(kept):
        line = etree.SubElement(table, "tr")
        for column in used:
            etree.SubElement(line, "td" if at else "th").text = row[column] if column < len(row) else ""


class _Values:
    """What cells mean."""

    def __init__(self, shared: tuple[str, ...], dates: frozenset[int]) -> None:
        self._shared = shared
        self._dates = dates
        self.from_1904 = False

    def of(self, cell: _Element) -> str:
        """The cell's value as text."""
        kind = attribute(cell, "t")
        if kind == "inlineStr":
            return "".join(_strings(first(cell, "is")))[:MAX_CELL_CHARS]
        value = first(cell, "v")
        text = (value.text or "") if value is not None else ""
        if kind == "s":
            return self._shared[int(text)] if text.isdecimal() and int(text) < len(self._shared) else ""
        if kind == "b":
            return "TRUE" if text == "1" else "FALSE"
        if kind in {"str", "e", "d"} or not text:
            return text[:MAX_CELL_CHARS]
        style = attribute(cell, "s")
        return self._number(text, dated=style.isdecimal() and int(style) in self._dates)

    def _number(self, text: str, *, dated: bool) -> str:
        try:
            number = float(text)
            if dated:
                return _moment(number, 1904 if self.from_1904 else 1900)
        except (ValueError, OverflowError):
            return text[:MAX_CELL_CHARS]
        return f"{number:.15g}" if "." in text or "e" in text.lower() else text[:MAX_CELL_CHARS]


def _moment(days: float, epoch: int) -> str:
    """The day, the time, or both; counted from 1899-12-30, since Excel takes 1900 for a leap year, or as on old Macs."""
    start = datetime(1904, 1, 1) if epoch == 1904 else datetime(1899, 12, 30)  # noqa: DTZ001 - a sheet knows no zone
    moment = start + timedelta(seconds=round(days * 86_400))
    if 0 <= days < 1:
        return f"{moment:%H:%M:%S}"
    return f"{moment:%Y-%m-%d}" if days == int(days) else f"{moment:%Y-%m-%d %H:%M:%S}"


def _shared(package: Package, part: str) -> Iterator[str]:
    for item in children(package.xml(part), "si"):
        yield "".join(_strings(item))[:MAX_CELL_CHARS]


def _strings(item: _Element | None) -> Iterator[str]:
    """The text of a string, without the readings that Japanese ones carry."""
    for child in item if item is not None else ():
        if name_of(child) == "t":
            yield child.text or ""
        elif name_of(child) == "r":
            yield from _strings(child)


def _date_styles(package: Package, part: str) -> frozenset[int]:
    """The styles whose numbers are dates or times."""
    root = package.xml(part)
    own = {attribute(one, "numFmtId"): attribute(one, "formatCode") for one in children(first(root, "numFmts"), "numFmt")}
    found: set[int] = set()
    for at, style in enumerate(children(first(root, "cellXfs"), "xf")):
        number = attribute(style, "numFmtId")
        code = own.get(number)
        dated = _DATE_LETTER.search(_LITERAL.sub("", code)) if code else number.isdecimal() and int(number) in BUILT_IN_DATES
        if dated:
            found.add(at)
    return frozenset(found)


def _rows(package: Package, part: str, values: _Values, room: int) -> tuple[list[list[str]], bool]:
    """The rows of a sheet, and whether these are all; read row by row, for sheets are large."""
    from lxml import etree

    body = package.read(part)
    if not body.strip():
        return [], True
    rows: list[list[str]] = []
    stream = etree.iterparse(
        io.BytesIO(body), tag="{*}row", resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False
    )
    try:
        for _, row in stream:
            rows.append(_row(row, values))
            room -= len(rows[-1])
            row.clear()
            if len(rows) >= MAX_ROWS or room <= 0:
                return rows, False
    except etree.XMLSyntaxError:
        return rows, False
    return rows, True


def _row(row: _Element, values: _Values) -> list[str]:
    """The cells in their columns; cells may be left out, and say where they stand."""
    found: list[str] = []
    for cell in children(row, "c"):
        column = _column(attribute(cell, "r"))
        if column is not None and len(found) < column < MAX_COLUMNS:
            found += [""] * (column - len(found))
        if len(found) >= MAX_COLUMNS:
            break
        found.append(values.of(cell))
    return found


def _column(place: str) -> int | None:
    match = _CELL.match(place)
    if not match:
        return None
    number = 0
    for letter in match[1]:
        number = number * 26 + ord(letter) - 64
    return number - 1
