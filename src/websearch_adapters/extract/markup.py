"""HTML text to a tree, with the guards that the parser needs, and the few questions that every reader of the tree asks.

libxml2 takes quadratic time over attributes and silently drops what lies deeper than 2,047 levels (measured 2026-11-30 with
2.14): giant tags lose their attributes, and markup nested beyond reason loses the tags, never the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, cast

from websearch_adapters.extract.charset import clean
from websearch_core.errors import NotAllowed

if TYPE_CHECKING:
    from lxml.etree import _Element, _ElementUnicodeResult

__all__ = ["Attribute", "Element", "attributes", "body_of", "letters_of", "parse", "remove", "select", "text_of", "words_of"]

Element: TypeAlias = "_Element"
Attribute: TypeAlias = "_ElementUnicodeResult"

MAX_CHARS = 20_000_000
MAX_ATTRIBUTES_BYTES = 65_536
MANY_BYTES = 1_024
MAX_ATTRIBUTES = 200
MAX_DEPTH = 160

RAW_TEXT = "script|style|textarea|title|xmp|noembed|noframes"
ATTRIBUTES = r"""[^>=]*+(?:=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?[^>=]*+)*+"""
_BARE_TAG = rf"(?:/|(?!(?:{RAW_TEXT})>))[a-z][a-z0-9]*+>"
_COMMENT = r"!--[^-]*+(?:-(?!->)[^-]*+)*+(?:-->)?"
_RAW = rf"(?=[stxn])({RAW_TEXT})(?=[\s/>])"
"""Looking at the first letter spares most tags the comparison with each of the names."""
_UP_TO_END_TAG = r"[^<]*+(?:<(?!/\1)[^<]*+)*+(?:</\1)?"
"""Of raw text. Stepping from one `<` to the next is four times as fast as `.*?`."""
_REST_OF_TOKEN = rf"(?:{_COMMENT}|(?:{_RAW}|(/?)([a-z][^\s/>=]*+))({ATTRIBUTES})>?(?(1){_UP_TO_END_TAG}))"
_TOKEN = re.compile(f"<{_REST_OF_TOKEN}", re.IGNORECASE)
_TOKEN_WITH_MORE = re.compile(f"<(?!{_BARE_TAG}){_REST_OF_TOKEN}".encode(), re.IGNORECASE)
"""More than a name: the half of all tags that are bare take a third of the time to step over that they take to look at."""
_END = re.compile(rb"</(?:body|html)\s*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""[^\s=/"'>]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?""")
_CONTROLS = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f]")
"""libxml2 reads them in a page, and lxml then refuses to write the text to another place of the tree."""
_CONTROL_BYTES = bytes([*range(0x01, 0x09), 0x0B, 0x0C, *range(0x0E, 0x20)])
_NONCHARACTERS = re.compile("[\ufffe\uffff]")
"""Refused as control characters are."""
_BLANKS = re.compile(r"[ \t\r\n\f\v\xa0]+")
_TOO_DEEP = f"boolean({'/*' * (MAX_DEPTH + 1)})"

VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
HEAD = frozenset({"title", "meta", "link", "script", "style", "base", "noscript", "template", "basefont", "bgsound"})
SELF_CLOSING = frozenset({
    "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "option", "optgroup", "colgroup", "html", "head", "body",
})  # fmt: skip
"""Elements whose end tag may be missing: counting them would take long flat pages for deep ones."""


def parse(text: str) -> Element | None:
    """The root element; None when there is no markup in it. Comments and processing instructions are gone.

    Raises:
        NotAllowed: more than 20 million characters.
    """
    if len(text) > MAX_CHARS:
        raise NotAllowed(f"the page has more than {MAX_CHARS:,} characters")
    data = _without_giant_tags(_without_early_end(_encoded(text)))
    root = _tree(data)
    if root is not None and root.xpath(_TOO_DEEP):
        root = _tree(_flattened(data.decode()).encode())
    if root is not None:
        _mend_head(root)
    return root


def body_of(root: Element) -> Element:
    """The body, or the root of what has none."""
    body = root.find("body")
    return root if body is None else body


def text_of(element: Element) -> str:
    """All text inside, as it stands; the library gathers it in half the time that walking over it takes."""
    from lxml import etree

    return etree.tostring(element, method="text", encoding="unicode", with_tail=False)


def words_of(element: Element) -> str:
    """All text inside, on one line with single blanks."""
    return _BLANKS.sub(" ", text_of(element)).strip()


def letters_of(text: str) -> str:
    """The letters and digits of a text, in lower case: what is left when signs and spacing are of no account."""
    return "".join(character for character in text.lower() if character.isalnum())


def attributes(element: Element, path: str) -> list[Attribute]:
    """The values of the attributes that an XPath expression finds; `getparent` leads to the element."""
    return cast("list[Attribute]", element.xpath(path))


def select(element: Element, path: str) -> list[Element]:
    """The elements that an XPath expression finds."""
    return cast("list[Element]", element.xpath(path))


def remove(element: Element) -> None:
    """Take the element out of its tree; the text behind it stays."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is None:
            parent.text = (parent.text or "") + element.tail
        else:
            before.tail = (before.tail or "") + element.tail
    parent.remove(element)


def _tree(data: bytes) -> Element | None:
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = etree.fromstring(data, parser) if data.strip() else None
    except etree.XMLSyntaxError as error:
        if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:  # a page too large must not pass for an empty one
            raise MemoryError from error
        return None
    return root if root is not None and isinstance(root.tag, str) else None


def _mend_head(root: Element) -> None:
    """Where a page leaves out its body tag, libxml2 puts `main`, `header` and other newer elements into the head."""
    head = root.find("head")
    children = list(head) if head is not None else []
    first = next((at for at, child in enumerate(children) if child.tag not in HEAD), None)
    if first is None:
        return
    body = root.find("body")
    if body is None:
        body = root.makeelement("body")
        root.append(body)
    moved = children[first:]
    if body.text:
        moved[-1].tail = (moved[-1].tail or "") + body.text
        body.text = None
    for at, child in enumerate(moved):
        body.insert(at, child)


def _encoded(text: str) -> bytes:
    """The text as UTF-8, without what the parser or lxml refuses; bytes are searched faster than text."""
    if "\ufffe" in text or "\uffff" in text:
        text = _NONCHARACTERS.sub(" ", text)
    try:
        data = text.encode().replace(b"\x00", b"")
    except UnicodeEncodeError:
        data = clean(text).encode()
    has_controls = len(data.translate(None, _CONTROL_BYTES)) < len(data)  # told in a fifth of the time of a search
    return _CONTROLS.sub(b" ", data) if has_controls else data


def _without_early_end(data: bytes) -> bytes:
    """Without the end tags of the body where markup follows them: libxml2 would stop reading there."""
    end = _END.search(data)
    return _END.sub(b"", data) if end and len(data) - end.end() > MANY_BYTES else data


def _without_giant_tags(data: bytes) -> bytes:
    """The page with the attributes of giant tags cut out."""
    parts, begin = [], 0
    for token in _TOKEN_WITH_MORE.finditer(data):
        start, end = token.span(4)
        if end - start > MANY_BYTES and _giant(data[start:end]):
            parts.append(data[begin:start])
            begin = end
    return b"".join([*parts, data[begin:]]) if parts else data


def _giant(attributes: bytes) -> bool:
    return len(attributes) > MAX_ATTRIBUTES_BYTES or sum(1 for _ in _ATTRIBUTE.finditer(attributes)) > MAX_ATTRIBUTES


def _flattened(text: str) -> str:
    """The text without the tags that open below the depth limit, and without the end tags that belong to them."""
    parts: list[str] = []
    begin, depth = 0, 0
    for token in _TOKEN.finditer(text):
        name = (token.group(3) or "").lower()
        if not name or name in VOID or name in SELF_CLOSING:
            continue
        closing = bool(token.group(2))
        depth = max(0, depth - 1) if closing else depth + 1
        if depth + closing > MAX_DEPTH // 2:
            parts.append(text[begin : token.start()])
            parts.append(" ")
            begin = token.end()
    parts.append(text[begin:])
    return "".join(parts)
