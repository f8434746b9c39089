"""A tree of HTML as Markdown: code verbatim with its language, tables as GitHub tables, absolute links.

Renders whatever it is given; choosing the content is `content`'s work. Recursion is bounded: what lies deeper becomes text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from websearch_adapters.extract.markup import letters_of, select, text_of, words_of
from websearch_adapters.extract.names import GUTTER, role_of

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["fence", "render", "render_one"]

MAX_BLOCK_DEPTH = 100
MAX_INLINE_DEPTH = 60
MAX_CELL_CHARS = 1_500
MAX_CELL_BESIDE_CODE_CHARS = 500
"""A table with code and longer cells arranges a page."""
MAX_SPAN = 20
MAX_ALT_CHARS = 300
SOFT_HYPHEN = "\xad"
"""Where a word may be broken: it is no part of the word."""

INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins", "kbd",
    "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
    "acronym", "center", "math", "picture", "source", "nobr", "rp", "rt", "ruby",
})  # fmt: skip
CODE = frozenset({"code", "tt", "kbd", "samp"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
WRAPS = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~", "strike": "~~"}
LANGUAGES = frozenset({
    "bash", "c", "clojure", "cmake", "cpp", "csharp", "css", "dart", "diff", "dockerfile", "elixir", "elm", "erlang", "fsharp",
    "go", "graphql", "groovy", "haskell", "html", "http", "ini", "java", "javascript", "js", "json", "jsx", "julia", "kotlin",
    "latex", "lua", "makefile", "matlab", "nginx", "ocaml", "perl", "php", "powershell", "proto", "python", "r", "ruby", "rust",
    "scala", "scss", "sh", "shell", "sql", "swift", "toml", "ts", "tsx", "typescript", "xml", "yaml", "zig", "zsh",
})  # fmt: skip
NO_LANGUAGE = frozenset({
    "block", "default", "example", "none", "text", "notranslate", "source", "plain", "plaintext", "nohighlight", "auto",
})  # fmt: skip

_BLANKS = re.compile(r"[ \t\r\n\f\xa0]+")
_ANY_MARK = re.compile(r"[\\*\[\]`<_]")
"""Tells in a sixth of the time whether there is anything for `_MARKS`, which most text is without."""
_MARKS = re.compile(r"([\\*\[\]`]|<(?=[A-Za-z/!])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_LINE_MARK = re.compile(r"^(?:(#{1,6}(?= )|[-+](?= )|>|~{3})|(\d{1,9})([.)])(?= ))", re.MULTILINE)
_LANGUAGE_NAME = re.compile(r"[\w+#.-]{1,30}")
_BEHIND_SLASH = r"\\\1"
LINE_MARKS = frozenset("#-+>~0123456789")
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:(?:src|code)-|(?:highlight (?:highlight-)?(?:source|text)|highlight-(?:source|text)|language|lang|highlight"
    r"|brush|sourceCode)[-: ]+)([A-Za-z0-9+#_.]+)",
    re.IGNORECASE,
)
_PERMALINK = re.compile(r"[\s\u00b6\u00a7#\U0001f517\u200b\uf0c1]*")
_BACKLINK = re.compile(r"[\^↑↩↵⏎⤴⬆\ufe0e\ufe0f\s]+")
"""From a footnote to its place in the text."""
_EXPONENT = re.compile(r"[+−-]?\d{1,3}|[a-z]")
_LIST_START = re.compile(r"(?:[-+*]|\d+\.) ")
_ABSOLUTE = re.compile(r"https?://|mailto:", re.IGNORECASE)
_FROM_ROOT = re.compile(r"/(?![/.])(?:[A-Za-z0-9_~%=&?#:@+,;!*-]|[./](?![/.]))*")
_UNSAFE = re.compile(r"[\s()<>]")
_LETTER = re.compile(r"[^\W\d_]")
_TICKS = re.compile(r"`+")


def render(element: Element, base_url: str) -> str:
    """The content of `element` as Markdown, links joined to `base_url`."""
    return "\n\n".join(_Renderer(base_url).blocks(element, 0)).strip()


def render_one(element: Element, base_url: str) -> str:
    """The element itself as Markdown, where `render` takes what is inside of it: a table, a heading, a list, a link."""
    box = element.makeelement("div")
    tail, element.tail = element.tail, None
    parent = element.getparent()
    at = parent.index(element) if parent is not None else 0
    box.append(element)
    text = render(box, base_url)
    if parent is not None:
        parent.insert(at, element)
    element.tail = tail
    return text


def fence(code: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks inside; empty for blank code."""
    if not code.strip():
        return ""
    ticks = "`" * max(3, _longest_run(code) + 1)
    return f"{ticks}{language}\n{code}\n{ticks}"


class _Renderer:
    """Knows the base address and where in a table it is; everything else is in the tree."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._below: list[str] | None = None
        """Code of more than a line in the table that is being made a grid."""
        self._codes_below = 0
        self._origin = "/".join(base_url.split("/", 3)[:3]) if _ABSOLUTE.match(base_url) else ""
        self._blocks: dict[str, Callable[[Element, int], list[str]]] = {
            "pre": self._code,
            "ul": self._list,
            "ol": self._list,
            "menu": self._list,
            "blockquote": self._quote,
            "table": self._table,
            "dl": self._definitions,
            "hr": lambda _element, _depth: ["---"],
            **dict.fromkeys(HEADINGS, self._heading),
        }

    # --- blocks

    def blocks(self, element: Element, depth: int) -> list[str]:
        """The blocks inside; runs of inline content become paragraphs."""
        out: list[str] = []
        run = [_escaped(element.text)]
        for child in element:
            if child.tag in INLINE and not _holds_block(child):
                run.append(self._inline_element(child, 0))
            else:
                out += _paragraph(run)
                out += self._block(child, depth + 1)
                run = []
            run.append(_escaped(child.tail))
        return out + _paragraph(run)

    def _block(self, element: Element, depth: int) -> list[str]:
        if depth > MAX_BLOCK_DEPTH:
            words = words_of(element)
            return [words] if words else []
        return self._blocks.get(str(element.tag), self.blocks)(element, depth)

    def _heading(self, element: Element, _depth: int) -> list[str]:
        words = _one_line(self._inline(element, 0))
        return [f"{'#' * int(str(element.tag)[1])} {words}"] if words else []

    def _code(self, element: Element, _depth: int) -> list[str]:
        code = _code_text(element)
        block = fence(code, _code_language(element))
        if not block or self._below is None:
            return [block] if block else []
        if (words := code.strip()) == _one_line(code):
            return [_span(words)]
        self._below.append(block)
        return [f"(code {self._codes_below + len(self._below)})"]

    def _quote(self, element: Element, depth: int) -> list[str]:
        text = "\n\n".join(self.blocks(element, depth))
        return ["\n".join(f"> {line}" if line else ">" for line in text.split("\n"))] if text else []

    def _list(self, element: Element, depth: int) -> list[str]:
        items, number = [], _number(element.get("start"), default=1)
        for child in element:
            nested = child.tag in {"ul", "ol", "menu"}
            blocks = self.blocks(child, depth + 1) if child.tag == "li" else self._block(child, depth + 1)
            if not blocks:
                continue
            number = _number(child.get("value"), default=number) if child.tag == "li" else number
            mark = "  " if nested else f"{number}. " if element.tag == "ol" else "- "
            items.append(_hanging(_tight(blocks), mark))
            number += not nested
        return ["\n".join(items)] if items else []

    def _definitions(self, element: Element, depth: int) -> list[str]:
        """A term is a paragraph; a definition of one paragraph follows on the next line behind `: `."""
        out: list[str] = []
        for child in _terms(element):
            inner = self.blocks(child, depth + 1) if child.tag in {"dt", "dd"} else self._block(child, depth + 1)
            plain = child.tag == "dd" and len(inner) == 1 and not inner[0].startswith(("```", "|", "#", "- ", ">"))
            if plain and out and not out[-1].endswith("```"):
                out[-1] += "\n" + _hanging(inner[0], ": ")
            else:
                out += inner
        return out

    # --- tables

    def _table(self, element: Element, depth: int) -> list[str]:
        if lines := _numbered_lines(element):
            return [fence("\n".join(lines), _code_language(element))]
        if _is_listing(element):
            return [block for pre in _listing_parts(element) if (block := fence(_code_text(pre), _code_language(pre)))]
        return self._as_grid(element, depth) or self._cells_as_blocks(element, depth)

    def _as_grid(self, element: Element, depth: int) -> list[str]:
        """Caption, rows, and the code that no cell can hold; nothing where the table only arranges things."""
        has_code = element.find(".//pre") is not None
        if element.find(".//table") is not None or (has_code and next(element.iter(*HEADINGS), None) is not None):
            return []
        around, self._below = self._below, []
        rows, has_head = self._rows(element, depth)
        below, self._below = self._below, around
        width = max((len(row) for row in rows), default=0)
        longest = max((len(cell) for row in rows for cell in row), default=0)
        limit = MAX_CELL_BESIDE_CODE_CHARS if has_code else MAX_CELL_CHARS
        if width < 2 or (len(rows) == 1 and not has_head) or longest > limit:
            return []
        caption = element.find("caption")
        words = _one_line(self._inline(caption, 0)) if caption is not None else ""
        return [*([words] if words else []), _grid(rows, width, has_head=has_head), *self._beneath(below)]

    def _beneath(self, codes: list[str]) -> Iterator[str]:
        """The code that a grid refers to, under its number."""
        for code in codes:
            self._codes_below += 1
            yield f"Code {self._codes_below}:"
            yield code

    def _rows(self, table: Element, depth: int) -> tuple[list[list[str]], bool]:
        """The cells, spans filled up with empty ones, and whether the first row is a header."""
        rows: list[list[str]] = []
        has_head, open_spans = False, dict[int, int]()
        for row in table.iter("tr"):
            cells = [cell for cell in row if cell.tag in {"td", "th"}]
            filled = self._row(cells, open_spans, depth)
            if not any(filled):
                continue
            if not rows:
                parent = row.getparent()
                has_head = all(cell.tag == "th" for cell in cells) or (parent is not None and parent.tag == "thead")
            rows.append(filled)
        return rows, has_head

    def _row(self, cells: list[Element], open_spans: dict[int, int], depth: int) -> list[str]:
        """One row; `open_spans` says for a column how many further rows a cell from above covers."""
        filled: list[str] = []
        for cell in cells:
            while open_spans.get(len(filled), 0):
                open_spans[len(filled)] -= 1
                filled.append("")
            down = min(MAX_SPAN, _number(cell.get("rowspan"), default=1)) - 1
            across = max(1, min(MAX_SPAN, _number(cell.get("colspan"), default=1)))
            for column in range(len(filled), len(filled) + across):
                open_spans[column] = max(0, down)
            filled += [self._cell(cell, depth), *[""] * (across - 1)]
        for column, rows in open_spans.items():
            if column >= len(filled):
                open_spans[column] = max(0, rows - 1)
        return filled

    def _cell(self, cell: Element, depth: int) -> str:
        """All of a cell on one line; only lines of code stay apart."""
        text = " ".join(self.blocks(cell, depth + 1)).replace("`\n`", "`<br>`")
        return _one_line(text).replace("|", "\\|")

    def _cells_as_blocks(self, table: Element, depth: int) -> list[str]:
        """A table that only arranges things: its cells one below the other."""
        out: list[str] = []
        for row in table.iter("tr", "caption"):
            if next(row.iterancestors("table"), None) is not table:
                continue
            for part in [row] if row.tag == "caption" else list(row):
                out += self.blocks(part, depth + 1)
        return out

    # --- inline

    def _inline(self, element: Element, depth: int) -> str:
        parts = [_escaped(element.text)]
        for child in element:
            parts += (self._inline_element(child, depth + 1), _escaped(child.tail))
        return "".join(parts)

    def _inline_element(self, element: Element, depth: int) -> str:
        tag = str(element.tag)
        if depth > MAX_INLINE_DEPTH:
            return _escaped(text_of(element))
        if tag == "br":
            return "\n"
        if tag == "img":
            return self._image(element)
        if tag in CODE:
            return self._inline_code(element)
        if tag == "math":
            return _formula(element)
        text = self._inline(element, depth)
        inner = text.strip()
        if not inner:
            return " " if text else ""
        apart = tag == "label" or tag not in INLINE  # the distance between tabs, fields and boxes is the style's
        lead, trail = " " * (apart or text[0].isspace()), " " * (apart or text[-1].isspace())
        return f"{lead}{self._wrapped(element, tag, inner)}{trail}"

    def _wrapped(self, element: Element, tag: str, inner: str) -> str:
        if tag == "a":
            return self._link(element, inner)
        if tag == "q":
            return f"“{inner}”"
        link = element.find("a") if tag == "sup" else None
        if link is not None and (link.get("href") or "").startswith("#") and inner.isdecimal():
            return f"\\[{inner}\\]"
        if tag == "sup" and link is None and _EXPONENT.fullmatch(inner):
            return f"^{inner}"
        mark = WRAPS.get(tag, "")
        return f"{mark}{inner}{mark}" if mark and mark not in inner and "\n" not in inner else inner

    def _link(self, element: Element, inner: str) -> str:
        reference = element.get("href") or ""
        if _PERMALINK.fullmatch(inner) or "headerlink" in (element.get("class") or ""):
            return ""
        if reference.startswith("#") and _BACKLINK.fullmatch(inner):
            return ""
        address = self._address(reference)
        return f"[{_one_line(inner)}]({address})" if address else inner

    def _image(self, element: Element) -> str:
        """Alternative text with the address; the text alone inside a link, or when the image is no file of the web."""
        words = _one_line(_escaped((element.get("alt") or "")[:MAX_ALT_CHARS]))
        if not words:
            return ""
        if next(element.iterancestors("a"), None) is not None:
            return f" {words} "
        sources = (element.get("src"), element.get("data-src"), (element.get("srcset") or "").strip().partition(" ")[0])
        address = next((found for source in sources if source and (found := self._address(source))), "")
        return f"![{words}]({address})" if address else f" {words} "

    def _inline_code(self, element: Element) -> str:
        lines = [words for line in _broken_lines(element) if (words := _BLANKS.sub(" ", line).strip())]
        code = "\n".join(_span(words) for words in lines)
        links = element.findall(".//a") if len(lines) == 1 else []
        whole = len(links) == 1 and letters_of(text_of(links[0])) == letters_of(lines[0])
        address = self._address(links[0].get("href") or "") if whole else ""
        return f"[{code}]({address})" if address else code

    def _address(self, reference: str) -> str:
        """Absolute, with what would end a Markdown link escaped; empty for what leads nowhere a reader could go."""
        reference = reference.strip()
        if not reference or reference.startswith("#"):
            return ""
        if self._origin and _FROM_ROOT.fullmatch(reference):
            return self._origin + reference
        try:
            address = reference if _ABSOLUTE.match(reference) and "[" not in reference else urljoin(self._base_url, reference)
        except ValueError:
            return ""
        if not _ABSOLUTE.match(address):
            return ""
        return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", address)


# --- text ---------------------------------------------------------------------------------------------------------


def _escaped(text: str | None) -> str:
    """White space as single blanks, and what Markdown would take for its own behind a backslash."""
    if not text:
        return ""
    words = " ".join(text.replace(SOFT_HYPHEN, "").split())
    if not words:
        return " "
    if _ANY_MARK.search(words):
        words = _MARKS.sub(_BEHIND_SLASH, words)
    return f"{' ' * text[0].isspace()}{words}{' ' * text[-1].isspace()}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _paragraph(run: list[str]) -> list[str]:
    """The collected inline content as one paragraph; what looks like a block mark at the start of a line is escaped."""
    lines = [words for line in "".join(run).split("\n") if (words := " ".join(line.split()))]
    text = "\n".join(lines)
    if not text:
        return []
    if len(lines) > 1 or text[0] in LINE_MARKS:
        text = _LINE_MARK.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", text)
    return [text]


def _hanging(text: str, mark: str) -> str:
    """`mark` before the first line, its width in blanks before the others."""
    pad = " " * len(mark)
    first, *rest = text.split("\n")
    return "\n".join([mark + first, *(pad + line if line else "" for line in rest)])


def _tight(blocks: list[str]) -> str:
    """The blocks of a list item: a list follows without a blank line, everything else with one."""
    text = blocks[0]
    for block in blocks[1:]:
        text += ("\n" if _LIST_START.match(block) else "\n\n") + block
    return text


def _grid(rows: list[list[str]], width: int, *, has_head: bool) -> str:
    padded = [row + [""] * (width - len(row)) for row in rows]
    head, body = (padded[0], padded[1:]) if has_head else ([""] * width, padded)
    lines = [f"| {' | '.join(row)} |" for row in (head, *body)]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _holds_block(element: Element) -> bool:
    return len(element) > 0 and any(inner.tag not in INLINE for inner in element.iterdescendants())


def _terms(element: Element) -> Iterator[Element]:
    """Terms and definitions, out of the boxes that may hold a group of them."""
    for child in element:
        if child.tag == "div" and child.find("dt") is not None:
            yield from child
        else:
            yield child


def _number(text: str | None, *, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else default


def _formula(element: Element) -> str:
    """TeX between dollar signs; two for a formula on a line of its own."""
    tex = _one_line(element.text or "")
    marks = "$$" if element.get("display") == "block" else "$"
    return f"{marks}{tex}{marks}" if tex else ""


# --- code ---------------------------------------------------------------------------------------------------------


def _longest_run(code: str) -> int:
    """Of backticks."""
    return max((len(run) for run in _TICKS.findall(code)), default=0)


def _span(code: str) -> str:
    """One line of code within text."""
    ticks = "`" * (_longest_run(code) + 1)
    pad = " " if code[0] == "`" or code[-1] == "`" else ""
    return f"{ticks}{pad}{code}{pad}{ticks}"


def _broken_lines(code: Element) -> list[str]:
    """Inline code at its line breaks; those of the source are blanks.

    One path for both kinds of parts: to unite two takes the square of their number.
    """
    if code.find(".//br") is None:
        return [text_of(code)]
    parts: list[object] = [*select(code, "descendant::node()[self::text() or self::br]")]
    return "".join(_BLANKS.sub(" ", part) if isinstance(part, str) else "\n" for part in parts).split("\n")


def _code_text(pre: Element) -> str:
    """The code as it stands, without line numbers; trailing blanks of lines go."""
    text = "".join(_code_parts(pre))
    if "\n" not in text.strip():
        text = _code_lines(pre) or text
    lines = text.replace("\r\n", "\n").replace("\xa0", " ").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _code_parts(pre: Element) -> Iterator[str]:
    todo: list[Element | str] = [pre]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            yield part
            continue
        if part is not pre:
            todo.append(part.tail or "")
        if part.tag == "br":
            yield "\n"
        elif part is pre or not GUTTER.search(part.get("class") or ""):
            yield part.text or ""
            todo += reversed(list(part))


def _code_lines(pre: Element) -> str:
    """Code whose lines are elements, with no line breaks between them."""
    inner = pre
    while len(inner) == 1:
        inner = inner[0]
    boxed = all(part.tag in {"div", "p", "li"} or "line" in (part.get("class") or "").split() for part in inner)
    return "\n".join(text_of(part) for part in inner) if len(inner) > 1 and boxed else ""


def _code_language(pre: Element) -> str:
    """From the attributes of the block, the code in it and three elements around; a bare name only next to the code."""
    near = [pre, *pre.findall(".//code")[:1]]
    for element in [*near, *(above for above, _ in zip(pre.iterancestors(), range(3), strict=False))]:
        match = _LANGUAGE.search(element.get("class") or "")
        name = (match.group(1) if match else element.get("data-lang") or element.get("data-language") or "").lower()
        if name and name not in NO_LANGUAGE and _LANGUAGE_NAME.fullmatch(name):
            return name
    said = (name for element in near for name in (element.get("class") or "").lower().split())
    return next((name for name in said if name in LANGUAGES), "")


def _is_listing(table: Element) -> bool:
    """Whether the table is nothing but code, or code beside its line numbers."""
    parts = _listing_parts(table)
    if not parts or sum(len(text_of(pre)) for pre in parts) <= 0.6 * len(text_of(table).strip()):
        return False
    cells = list(table.iter("td", "th"))
    beside = (cell for cell in cells if cell.find(".//pre") is None)
    return any(GUTTER.search(role_of(cell)) for cell in cells) or not any(_LETTER.search(text_of(cell)) for cell in beside)


def _numbered_lines(table: Element) -> list[str]:
    """The code of a table with a line in each row, behind its number; nothing where it is another table."""
    lines = []
    for row in table.iter("tr"):
        cells = [cell for cell in row if cell.tag in {"td", "th"}]
        numbers = [cell for cell in cells if _is_line_number(cell)]
        if not numbers or len(cells) != len(numbers) + 1 or cells[-1] in numbers or cells[-1].find(".//pre") is not None:
            return []
        lines.append(text_of(cells[-1]).strip("\r\n").rstrip())
    return lines


def _is_line_number(cell: Element) -> bool:
    marked = cell.get("data-line-number") is not None or GUTTER.search(cell.get("class") or "") is not None
    return marked and not text_of(cell).strip().strip("0123456789+-")


def _listing_parts(table: Element) -> list[Element]:
    return [pre for pre in table.iter("pre") if not any(GUTTER.search(role_of(cell)) for cell in pre.iterancestors("td"))]
