"""Reads what is not HTML: plain text and source code, Markdown, JSON, XML, and feeds as lists of their entries.

Also decides what a reply is, from its content type and its first bytes; where the two disagree, the bytes win.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from websearch_adapters.extract.charset import clean, decode, narrowed
from websearch_adapters.extract.markdown import fence
from websearch_adapters.extract.metadata import day
from websearch_core import urls
from websearch_core.fence import clean as printable
from websearch_core.values import Link

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = ["WRITTEN", "Kind", "TextDocument", "kind_of", "read_text"]

Kind: TypeAlias = Literal[
    "html", "pdf", "text", "json", "xml", "feed", "markdown", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "binary"
]

WRITTEN: frozenset[str] = frozenset({"html", "text", "json", "xml", "feed", "markdown"})
"""Kinds that are text as they stand."""
SNIFF_BYTES = 4_096
MAX_ENTRIES = 500
MAX_SUMMARY_CHARS = 500
MAX_TITLE_CHARS = 300

MAGIC = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!",
    b"\x00\x00\x01\x00", b"wOFF", b"wOF2", b"OTTO", b"ID3", b"OggS", b"fLaC", b"\x7fELF", b"MZ\x90", b"SQLite format 3",
    b"\x00asm", b"\xd0\xcf\x11\xe0", b"\x28\xb5\x2f\xfd", b"{\\rtf",
)  # fmt: skip
ZIPPED = b"PK\x03\x04"
MEDIA = ("image/", "audio/", "video/", "font/")
NO_TEXT = frozenset({"application/zip", "application/gzip", "application/pdf", "application/msword", "application/rtf"})
MAX_SNIFFED_BYTES = 2_000_000
"""Up to so many bytes are tried as JSON that calls itself HTML."""
MARKDOWN = frozenset({"md", "markdown", "mdx"})
LANGUAGES = {
    "py": "python", "js": "javascript", "mjs": "javascript", "ts": "typescript", "tsx": "tsx", "jsx": "jsx", "rs": "rust",
    "go": "go", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "java": "java", "kt": "kotlin", "rb": "ruby",
    "php": "php", "sh": "bash", "sql": "sql", "toml": "toml", "yaml": "yaml", "yml": "yaml", "css": "css", "swift": "swift",
    "cs": "csharp", "lua": "lua", "r": "r", "scala": "scala", "hs": "haskell", "pl": "perl", "json": "json", "pyi": "python",
    "cjs": "javascript", "mts": "typescript", "cts": "typescript", "cxx": "cpp", "hh": "cpp", "scss": "scss", "vue": "vue",
    "svelte": "svelte", "dart": "dart", "ex": "elixir", "exs": "elixir", "erl": "erlang", "clj": "clojure", "jl": "julia",
    "zig": "zig", "nim": "nim", "ml": "ocaml", "fs": "fsharp", "groovy": "groovy", "gradle": "groovy", "ps1": "powershell",
    "tf": "hcl", "proto": "protobuf", "graphql": "graphql", "sol": "solidity", "tex": "latex", "ini": "ini", "diff": "diff",
    "patch": "diff", "cmake": "cmake", "f90": "fortran",
}  # fmt: skip

_HTML_START = re.compile(
    rb"\s*+(?><!--.*?-->\s*+)*+<(?:!doctype\s+html|html|head|body|title|script|h1|div|table|p)[\s>]", re.IGNORECASE | re.DOTALL
)
_WHOLE_PAGE = re.compile(rb"\s*+(?><!--.*?-->\s*+)*+<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE | re.DOTALL)
"""How a page begins that is one, whatever it is sent as; Markdown and code begin with a single tag, too."""
_FEED_START = re.compile(rb"\s*<(?:rss\s[^>]*version|feed\s[^>]*xmlns|(?:\w+:)?RDF\s[^>]*xmlns)")
_XML_HEAD = re.compile(rb"(?><!--.*?-->|<!DOCTYPE[^>\[]*+(?:\[.*?\]\s*+)?>|<\?.*?\?>|\s)*+<([A-Za-z][\w:.-]*)", re.DOTALL)
_MARKDOWN_TITLE = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)
_FIELD = re.compile(r"^(title|date|lang|language):[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
_CONTROLS = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LOOSE_MARK = re.compile(r"(?<!\s)\s++([.,;:!?])")
_TAG = re.compile(r"<[^<>]{0,2000}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDocument:
    """A text as read."""

    kind: Kind
    text: str
    """Markdown for feeds and Markdown files; code, JSON and XML as one code block; otherwise as it stands."""
    title: str = ""
    published: str = ""
    language: str = ""
    links: tuple[Link, ...] = ()


def kind_of(body: bytes, content_type: str, url: str = "") -> Kind:
    """What a reply is."""
    media = content_type.partition(";")[0].strip().lower()
    if body.startswith(ZIPPED):
        from websearch_adapters.extract import package

        return package.kind_of(body) or "binary"
    if body.startswith(MAGIC):  # before its zero bytes can pass for those of UTF-16
        return "binary"
    head = narrowed(body[:SNIFF_BYTES], content_type)
    found = _by_bytes(head, media, _extension(url))
    if found:
        return found
    if media in {"text/markdown", "text/x-markdown"}:
        return "markdown"
    if media == "application/json" or media.endswith("+json"):
        return "json"
    if media in {"text/html", "application/xhtml+xml"}:
        return "json" if _is_json(head, "") and _parses(body) else "html"
    return _by_name(media, url, head)


def read_text(body: bytes, content_type: str, url: str, kind: Kind) -> TextDocument:
    """Read a body of one of the textual kinds that are not HTML."""
    text = printable(decode(body, content_type)[0])
    if kind == "json":
        return _json(text, url)
    if kind == "feed":
        return _feed(body, url) or TextDocument(kind="xml", text=fence(text.strip(), "xml"), title=_file_name(url))
    if kind == "xml":
        return TextDocument(kind="xml", text=fence(text.strip(), "xml"), title=_file_name(url))
    if kind == "markdown":
        return _markdown(text, url)
    language = LANGUAGES.get(_extension(url)) or _language_of(content_type)
    return TextDocument(kind="text", text=fence(text.strip("\n"), language) if language else text.strip(), title=_file_name(url))


def _language_of(content_type: str) -> str:
    """What `text/x-python` or `application/sql` names; empty for text of no language."""
    name = content_type.partition(";")[0].strip().lower().rpartition("/")[2].removeprefix("x-")
    return LANGUAGES.get(name) or (name if name in LANGUAGES.values() else "")


# --- what it is ---------------------------------------------------------------------------------------------------


def _by_bytes(head: bytes, media: str, extension: str) -> Kind | None:
    """What the first bytes prove."""
    if b"%PDF-" in head[:1_024]:
        return "pdf"
    if head.startswith(MAGIC) or (media.startswith(MEDIA) and media != "image/svg+xml"):
        return "binary"
    if head.count(0) and not _html_with_zeros(head, media):
        return "binary"
    if media in {"text/markdown", "text/x-markdown"}:
        return None
    if media.startswith("text/") and media != "text/html":
        if extension in MARKDOWN or extension in LANGUAGES:
            return None
        return "html" if _WHOLE_PAGE.match(head) else _xml_kind(head, media)
    if _HTML_START.match(head):
        return "html"
    return _xml_kind(head, media)


def _xml_kind(head: bytes, media: str) -> Kind | None:
    declared = media in {"application/xml", "text/xml"} or media.endswith("+xml")
    match = _XML_HEAD.match(head)
    if match is None:
        return "xml" if declared and media != "application/xhtml+xml" else None
    if _FEED_START.match(head):
        return "feed"
    if not (declared or head.lstrip().startswith(b"<?xml") or media in {"", "text/plain"}):
        return None
    root = match.group(1).rpartition(b":")[2].lower()
    if root in {b"rss", b"feed", b"rdf"}:
        return "feed"
    if root == b"html":
        return "html"
    return "xml" if declared or b"<?xml" in head[:64] else None


def _html_with_zeros(head: bytes, media: str) -> bool:
    """A page with a few stray zero bytes, which browsers drop."""
    stray = head.count(0) * 20 <= len(head)
    return stray and media in {"text/html", "application/xhtml+xml"} and _HTML_START.match(head) is not None


def _by_name(media: str, url: str, head: bytes) -> Kind:
    extension = _extension(url)
    if extension in MARKDOWN and (media.startswith("text/") or not media):
        return "markdown"
    if extension == "ipynb" and _is_json(head, ""):
        return "json"
    if media.startswith("text/") or media in {
        "application/javascript",
        "application/x-ndjson",
        "application/yaml",
        "application/toml",
    }:
        return "text"
    if media in {"", "application/octet-stream", "binary/octet-stream"} or media.startswith("application/x-"):
        return "json" if _is_json(head, extension) else _unnamed(head)
    named = media.startswith(MEDIA) or media in NO_TEXT or media.startswith("application/vnd.")
    return "binary" if named else _unnamed(head)


def _is_json(head: bytes, extension: str) -> bool:
    return extension == "json" or (head.lstrip()[:1] in {b"{", b"["} and head.lstrip()[1:2] in b'"\n\r {[')


def _parses(body: bytes) -> bool:
    """Whether this is JSON for certain."""
    try:
        return len(body) <= MAX_SNIFFED_BYTES and json.loads(body) is not None
    except (ValueError, RecursionError):
        return False


def _unnamed(head: bytes) -> Kind:
    """Text, if nearly everything in it is printable."""
    strange = sum(head.count(code) for code in range(32) if code not in {9, 10, 12, 13, 27})
    return "text" if strange * 50 <= len(head) else "binary"


def _extension(url: str) -> str:
    name = _file_name(url)
    return name.rpartition(".")[2].lower() if "." in name else ""


def _file_name(url: str) -> str:
    try:
        return clean(urlsplit(url).path).rpartition("/")[2][:200]
    except ValueError:
        return ""


# --- JSON and Markdown --------------------------------------------------------------------------------------------


def _json(text: str, url: str) -> TextDocument:
    """Indented in a code block, but what is a feed or a notebook as such."""
    if "jsonfeed.org/version" in text or '"nbformat"' in text:
        from websearch_adapters.extract import notebook

        data = _loaded(text)
        if notebook.is_notebook(data):
            return _markdown(notebook.render(data), url)
        if isinstance(data, dict) and "jsonfeed.org/version" in str(data.get("version")):
            return _json_feed(data, url)
    return TextDocument(kind="json", text=fence(_pretty(text), "json"), title=_file_name(url))


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _pretty(text: str) -> str:
    """Indented; as it stands where reading it would change or break it: not JSON, too deep, numbers beyond a double."""
    try:
        return json.dumps(json.loads(text, parse_constant=_no_number, parse_float=_exact), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text.strip()


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _exact(text: str) -> float:
    value = float(text)
    if math.isinf(value) or (len(text) > 15 and repr(value) != text):
        raise ValueError(text)
    return value


def _markdown(text: str, url: str) -> TextDocument:
    """Front matter, where it is there, gives title, date and language; the text stays whole."""
    front = _FRONT_MATTER.match(text)
    fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(front.group(1))} if front else {}
    heading = _MARKDOWN_TITLE.search(text)
    title = heading.group(1).rstrip().rstrip("#").rstrip() if heading else ""
    return TextDocument(
        kind="markdown",
        text=text.strip(),
        title=(fields.get("title") or title or _file_name(url))[:MAX_TITLE_CHARS],
        published=day(fields.get("date", "")),
        language=fields.get("lang") or fields.get("language", ""),
        links=tuple(dict.fromkeys(Link(url=found) for found in urls.find_urls(text))),
    )


# --- feeds --------------------------------------------------------------------------------------------------------


def _feed(body: bytes, url: str) -> TextDocument | None:
    """Entries as a list with link, day and summary; None where the XML is no feed after all."""
    root = _xml_root(body)
    if root is None:
        return None
    channel = next((element for element in root.iter() if _name(element) in {"channel", "feed"}), root)
    entries = [element for element in root.iter() if _name(element) in {"item", "entry"}][:MAX_ENTRIES]
    return _listed(
        [_entry(element, url) for element in entries],
        title=_field(channel, "title"),
        about=_field(channel, "description", "subtitle"),
        published=day(_field(channel, "pubDate", "updated", "lastBuildDate", "date")),
        language=_field(channel, "language") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or "",
    )


def _json_feed(data: dict[str, Any], url: str) -> TextDocument:
    """By JSON Feed 1.1 (jsonfeed.org, read 2026-11-30)."""
    items = [item for item in data.get("items") or () if isinstance(item, dict)][:MAX_ENTRIES]
    found = _listed(
        [_json_entry(item, url) for item in items],
        title=_said(data, "title"),
        about=_said(data, "description"),
        language=_said(data, "language"),
    )
    return found or TextDocument(kind="feed", text="")


def _json_entry(item: dict[str, Any], url: str) -> tuple[str, Link | None]:
    address = _said(item, "url", "external_url")
    return _line(
        _said(item, "title") or "(untitled)",
        address=urls.absolute(url, address) if address else None,
        when=day(_said(item, "date_published", "date_modified")),
        summary=_said(item, "summary", "content_text", "content_html"),
    )


def _said(data: dict[str, Any], *names: str) -> str:
    """The first of these that is a text, without markup, on one line."""
    return next((words for name in names if isinstance(said := data.get(name), str) and (words := _words(said))), "")


def _listed(
    items: Sequence[tuple[str, Link | None]], *, title: str, about: str, published: str = "", language: str = ""
) -> TextDocument | None:
    heading = "\n\n".join(part for part in (f"# {title}" if title else "", about) if part)
    text = "\n\n".join(part for part in (heading, "\n".join(line for line, _ in items)) if part)
    if not text:
        return None
    links = tuple(link for _, link in items if link is not None)
    return TextDocument(kind="feed", text=text, title=title, published=published, language=language, links=links)


def _entry(element: _Element, url: str) -> tuple[str, Link | None]:
    return _line(
        _field(element, "title") or "(untitled)",
        address=urls.absolute(url, _entry_link(element)) if _entry_link(element) else None,
        when=day(_field(element, "pubDate", "published", "updated", "date", "issued")),
        summary=_field(element, "description", "summary", "content", "encoded"),
    )


def _line(title: str, *, address: str | None, when: str, summary: str) -> tuple[str, Link | None]:
    head = f"[{_in_link(title)}]({address})" if address else title
    line = f"- {head}" + (f" ({when})" if when else "")
    shown = f"{line}\n  {summary[:MAX_SUMMARY_CHARS]}" if summary else line
    return shown, Link(url=address, title=title) if address else None


def _entry_link(element: _Element) -> str:
    """RSS writes the address as text, Atom as an attribute; some feeds have only an id that is one."""
    for child in element:
        if _name(child) == "link" and (child.get("rel") or "alternate") == "alternate":
            found = (child.get("href") or child.text or "").strip()
            if found:
                return found
    candidate = _field(element, "guid", "id")
    return candidate if urls.is_web_url(candidate) else ""


def _field(element: _Element, *names: str) -> str:
    """The text of the first child with one of these names, without markup, on one line."""
    for name in names:
        for child in element:
            if _name(child) == name.lower() and (words := _plain(child)):
                return words
    return ""


def _plain(element: _Element) -> str:
    return _words("".join(str(part) for part in element.itertext()))


def _words(text: str) -> str:
    import html

    text = html.unescape(text)
    bare = _LOOSE_MARK.sub(r"\1", _TAG.sub(" ", text)) if "<" in text else text
    return " ".join(_CONTROLS.sub("", bare).split())


def _in_link(title: str) -> str:
    return re.sub(r"([\[\]])", r"\\\1", title[:MAX_TITLE_CHARS])


def _name(element: _Element) -> str:
    tag: object = element.tag  # a function for comments
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _xml_root(body: bytes) -> _Element | None:
    """The tree of a damaged or whole XML document; no entity is expanded, nothing is loaded from elsewhere."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        return None
