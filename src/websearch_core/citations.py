"""Where an answer's sources hide: inline markers, Markdown links, a list at its end, entries of a reply.

Pure text work. Code blocks are not searched: an address in an example is no source. Every search is linear, or bounded, in
what it reads, because the text comes from strangers.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from websearch_core import fence, urls
from websearch_core.values import Evidence, Source

__all__ = [
    "cited_first",
    "inline",
    "is_marker",
    "joined",
    "links",
    "markers",
    "source_of",
    "split_sources",
    "title_of",
    "unite",
    "without_thinking",
]

MAX_TITLE_CHARS = 300
MAX_DESCRIPTION_CHARS = 1_000
MAX_LABEL_CHARS = 400
MAX_SEARCHED_CHARS = 200_000
"""Longer texts are searched in their beginning only, and are not split."""
MAX_LINKS = 1_000
MAX_LITERAL_DEPTH = 8
MAX_HEADING_CHARS = 120
TAIL_LEFTOVER_CHARS = 40
ITEM_LEFTOVER_CHARS = 60

_OPENING = re.compile(
    r"^[ \t]*(?P<fence>`{3,}(?![^\n]*`)|~{3,})|(?P<ticks>`+)|(?P<think><think(?:ing)?\b[^<>]*>)", re.IGNORECASE | re.MULTILINE
)
_THINK_END = re.compile(r"</think(?:ing)?\s*>", re.IGNORECASE)
_MARKER = re.compile(r"\[\^?\d{1,4}\]")
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()\s]*\)")
_AFTER_URL = re.compile(r"""\s{0,9}(?:\s(?:"[^"\n]{0,300}"|'[^'\n]{0,300}'|\([^()\n]{0,300}\)))?\s{0,9}\)""")
_STOP = re.compile(r"[()\s]")
_ESCAPED = re.compile(r"\\([_()*~#&\[\]-])")
_EMPHASIS = re.compile(r"\*{2,3}|_{2,3}|`")
_BULLET = re.compile(r"^\s*(?:>\s*)?(?:[-*+•·–]|\(?\d{1,3}[.)、:：]|\[\^?\d{1,3}\]:?|【\d{1,3}】)\s*")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*")
_WORDS = (
    r"sources?|references?|citations?|source links?|信源|信息来源|参考资料|参考文献|参考链接|参考来源|参考|引用来源|引用|"
    r"来源列表|来源链接|来源|相关链接|核对链接|可核查来源链接|可核查来源|參考資料|參考文獻|資料來源|來源"
)
_HEADING = re.compile(
    rf"[ \t]*#{{0,6}}[ \t]*[*_]{{0,3}}(?:{_WORDS})\s*(?:[(（][^()（）]*[)）])?\s*[:：]?[*_]{{0,3}}\s*[:：]?\s*", re.IGNORECASE
)
_HEADED_LINE = re.compile(rf"[ \t]*[*_]{{0,3}}(?:{_WORDS})[*_]{{0,3}}\s*[:：][*_]{{0,3}}\s*(?=\S)", re.IGNORECASE)
_CALL = re.compile(
    r"^[ \t]*(?:sources?|citations?|references?|citation_card|source_cards?)[ \t]*\(", re.IGNORECASE | re.MULTILINE
)
_DETAILS = re.compile(r"<details\b[^<>]*>(?:(?!<details\b).)*</details>\s*\Z", re.IGNORECASE | re.DOTALL)
_LISTS = ("sources", "citations", "references", "urls")


# --- addresses in a text ------------------------------------------------------------------------------------------


def inline(text: str, *, provider: str = "") -> tuple[Source, ...]:
    """What the text itself cites: first the `[[n]](url)` markers, then the Markdown links, each page once.

    A malformed marker is passed over. Images and code are not looked at; bare addresses neither.
    """
    found = tuple(_links(text))
    ordered = (*(link for link in found if link.marker), *(link for link in found if not link.marker))
    return unite(link.source(provider, "cited") for link in ordered)


def links(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, label and address of each Markdown link to a page, in order; images and code are left out."""
    for link in _links(text):
        yield link.start, link.end, link.label, link.url


def is_marker(label: str) -> bool:
    """Whether the label of a link only marks it: a number, or a word such as `source` or `来源`."""
    bare = label.strip("[]^()（）*_ ").casefold()
    return not bare or bare.isdigit() or re.fullmatch(f"(?:link|{_WORDS})(?: ?\\d{{1,3}})?", bare) is not None


def markers(text: str) -> int:
    """How many well-formed `[[n]](url)` markers the text carries."""
    return sum(link.marker for link in _links(text))


def without_thinking(text: str) -> str:
    """The text without `<think>` blocks, closed or not; what stands in code is left alone.

    A closing tag alone means that the opening one was swallowed on the way: everything before it is thinking.
    """
    if "think" not in text.lower():
        return text
    kept, at = [], 0
    for kind, start, end in _spans(text, thinking=True):
        if kind == "think":
            kept.append(text[at:start])
            at = end
    kept.append(text[at:])
    rest = "".join(kept)
    closings = list(_THINK_END.finditer(_without_code(rest)))
    return rest[closings[-1].end() :].lstrip() if closings else rest.strip() if len(kept) > 1 else rest


# --- a list of sources in an answer -------------------------------------------------------------------------------


def split_sources(text: str, *, provider: str = "") -> tuple[str, tuple[Source, ...]]:
    """The prose of an answer and the sources of its list, if it carries one.

    Known lists, first hit wins: a final call such as `sources([...])`, sections under a heading such as `Sources` or
    `参考资料`, a final `<details>` block with two links, two or more final lines of links. Prose after a section stays.
    Final links stay in the prose too where they are the answer: alone, or announced by a colon or a heading.
    """
    if len(text) > MAX_SEARCHED_CHARS:
        return text, ()
    for take in (_take_call, _take_sections, _take_details, _take_tail):
        prose, found = take(text)
        if found:
            return prose.strip(), unite(dataclasses.replace(source, provider=provider) for source in found)
    return text, ()


def _take_call(text: str) -> tuple[str, list[Source]]:
    calls = list(_CALL.finditer(_without_code(text)))
    body = text.rstrip().removesuffix(";")
    if not calls or not body.endswith(")") or calls[-1].end() >= len(body):
        return text, []
    inside = body[calls[-1].end() : -1]
    return text[: calls[-1].start()], _payload_sources(inside) if _balanced(inside) else []


def _take_sections(text: str) -> tuple[str, list[Source]]:
    lines = [_Line.of(line, masked) for line, masked in zip(text.split("\n"), _without_code(text).split("\n"), strict=True)]
    kept: list[str] = []
    found: list[Source] = []
    at = 0
    while at < len(lines):
        end, sources = _section(lines, at)
        if sources:
            _drop_rule(kept)
            found += sources
        else:
            kept.append(lines[at].text)
        at = end
    return "\n".join(kept), found


def _take_details(text: str) -> tuple[str, list[Source]]:
    match = _DETAILS.search(_without_code(text))
    if match is None:
        return text, []
    found = [source for line in match.group().split("\n") for source in _Line.of(line, line).sources]
    return text[: match.start()], found if len(found) >= 2 else []


def _take_tail(text: str) -> tuple[str, list[Source]]:
    lines = [_Line.of(line, masked) for line, masked in zip(text.split("\n"), _without_code(text).split("\n"), strict=True)]
    start = len(lines)
    while start and (lines[start - 1].blank or lines[start - 1].lists_links(TAIL_LEFTOVER_CHARS)):
        start -= 1
    tail = [line for line in lines[start:] if not line.blank]
    if len(tail) < 2:
        return text, []
    before = next((line.text.rstrip("*_ \t") for line in reversed(lines[:start]) if not line.blank), ":")
    prose = text if before.endswith((":", "：")) or before.startswith("#") else "\n".join(line.text for line in lines[:start])
    return prose, [source for line in tail for source in line.sources]


def _section(lines: list[_Line], at: int) -> tuple[int, list[Source]]:
    """The line after the section that starts here, and its sources; the next line and none where no section starts."""
    if headed := lines[at].headed():
        return at + 1, list(headed.sources)
    heading = lines[at].masked.strip()
    if len(heading) > MAX_HEADING_CHARS or not _HEADING.fullmatch(heading):
        return at + 1, []
    end, found, title = at + 1, list[Source](), ""
    for number in range(at + 1, len(lines)):
        line = lines[number]
        is_row = line.masked.lstrip().startswith("|")
        if line.blank or (is_row and not line.sources):
            continue
        if line.sources and (line.bulleted or is_row or line.lists_links(ITEM_LEFTOVER_CHARS)):
            found += _with_title(line.sources, title)
            end, title = number + 1, ""
        elif line.bulleted and not line.sources and not title:
            title = title_of(line.leftover, "")  # its address stands on the next line
        else:
            break
    return (end, found) if found else (at + 1, [])


def _with_title(sources: tuple[Source, ...], title: str) -> list[Source]:
    first, *others = sources
    return [dataclasses.replace(first, title=first.title or title), *others]


def _drop_rule(kept: list[str]) -> None:
    while kept and not kept[-1].strip():
        kept.pop()
    if kept and _RULE.fullmatch(kept[-1]):
        kept.pop()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line of an answer, and what of it is no address."""

    text: str
    masked: str
    sources: tuple[Source, ...]
    leftover: str
    bulleted: bool
    listing: bool
    """Whether it reads like an entry of a list: an address, perhaps with a label and a colon before it or a remark behind."""

    @classmethod
    def of(cls, text: str, masked: str) -> _Line:
        bullet = _BULLET.match(masked)
        if "http" not in masked.lower():
            leftover = _one_line(_BULLET.sub("", masked, count=1), MAX_TITLE_CHARS)
            return cls(text=text, masked=masked, sources=(), leftover=leftover, bulleted=bullet is not None, listing=False)
        links = list(_links(text)) if "](" in masked else []
        rest = masked
        for link in reversed(links):
            rest = rest[: link.start] + " " + rest[link.end :]
        rest = _BULLET.sub("", rest, count=1)
        bare = urls.find_urls(rest)
        sources = [link.source("", "listed") for link in links] + [Source(url=url) for url in bare]
        for url in bare:
            rest = rest.replace(url, " ", 1)
        places = [(link.start, link.end) for link in links] or [(at := masked.find(url), at + len(url)) for url in bare]
        leftover = _one_line(rest, MAX_DESCRIPTION_CHARS).strip(" \t*_<>|()（）[]【】-–—:：,，;；.。、\"'“”")
        if len(sources) == 1 and leftover:
            sources = [_described(sources[0], leftover, named=bool(links))]
        return cls(
            text=text,
            masked=masked,
            sources=tuple(sources),
            leftover=leftover,
            bulleted=bullet is not None,
            listing=bool(places) and _is_entry(masked, bullet.end() if bullet else 0, places, leftover),
        )

    @property
    def blank(self) -> bool:
        return not self.text.strip()

    def lists_links(self, leftover_chars: int) -> bool:
        return self.listing and len(self.leftover) <= leftover_chars

    def headed(self) -> _Line | None:
        """What follows on the line of a heading, if it is links."""
        match = _HEADED_LINE.match(self.masked) if self.sources else None
        rest = _Line.of(self.text[match.end() :], self.masked[match.end() :]) if match else None
        return rest if rest and rest.lists_links(TAIL_LEFTOVER_CHARS) else None


def _is_entry(masked: str, start: int, places: list[tuple[int, int]], leftover: str) -> bool:
    before = masked[start : places[0][0]].strip(" \t*_<[(【")
    behind = masked[places[-1][1] :].strip(" \t*_>])】.")
    labelled = not before or before.endswith((":", "："))
    return not leftover or (labelled and (not behind or behind.startswith(tuple("-–—:：|(（,，"))))


def _described(source: Source, leftover: str, *, named: bool) -> Source:
    if named and source.title:
        return dataclasses.replace(source, description=leftover)
    return dataclasses.replace(source, title=title_of(leftover, source.url))


def _payload_sources(inside: str) -> list[Source]:
    payload = _payload(inside)
    if payload is None:
        return list(_Line.of(inside.replace("\n", " "), inside.replace("\n", " ")).sources)
    if isinstance(payload, dict):
        payload = next((payload[name] for name in _LISTS if isinstance(payload.get(name), list)), [payload])
    items = payload if isinstance(payload, list) else [payload]
    return [source for item in items if (source := source_of(item)) is not None]


def _payload(inside: str) -> object:
    """The value of JSON or of a Python literal, which some models write; None for anything else."""
    readers = (json.loads, ast.literal_eval) if _is_shallow(inside) else (json.loads,)
    for reader in readers:
        try:
            value: object = reader(inside.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return value
    return None


def _is_shallow(inside: str) -> bool:
    """Whether Python's parser reads it without danger and without warnings: few nested brackets, known escapes only."""
    depth = deepest = 0
    for char in inside:
        depth += (char in "([{") - (char in ")]}")
        deepest = max(deepest, depth)
    return deepest <= MAX_LITERAL_DEPTH and re.search(r"\\[^'\"\\nrt]", inside) is None


def _balanced(inside: str) -> bool:
    """Whether the parentheses outside of quoted texts are balanced."""
    bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", "", inside)
    depth = 0
    for char in bare:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0


# --- single sources -----------------------------------------------------------------------------------------------


def source_of(entry: object, *, provider: str = "", evidence: Evidence = "listed") -> Source | None:
    """A source from an entry of a reply: an address, a (title, address) pair, or an object in any of the usual spellings.

    None where there is no usable address.
    """
    if isinstance(entry, str):
        entry = {"url": entry}
    if isinstance(entry, (list, tuple)) and len(entry) == 2:
        entry = {"title": entry[0], "url": entry[1]}
    if not isinstance(entry, Mapping):
        return None
    if isinstance(nested := entry.get("url_citation"), Mapping):
        entry = nested
    url = _first_text(entry, "url", "uri", "href", "link").strip()
    if not urls.is_web_url(url):
        return None
    return Source(
        url=url,
        title=title_of(_first_text(entry, "title", "name", "label"), url),
        description=_one_line(_first_text(entry, "description", "snippet", "content", "summary"), MAX_DESCRIPTION_CHARS),
        published=_day(_first_text(entry, "published_date", "publishedDate", "published", "date")),
        provider=provider,
        evidence=evidence,
    )


def title_of(title: str, url: str) -> str:
    """A title fit to show, on one line; empty where it says nothing: a number, a single character, the address again."""
    text = _one_line(_EMPHASIS.sub("", _IMAGE.sub("", title)), MAX_TITLE_CHARS).strip("*_~ ")
    if len(text) <= 1 or not any(char.isalpha() for char in text):
        return ""
    bare = text.lower().rstrip("/")
    says_address = bare.startswith(("http://", "https://")) or bare == url.lower().partition("://")[2].rstrip("/")
    return "" if says_address else text


def unite(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Each page once. The first mention keeps place, address and provider; later ones fill what it lacks.

    A page that any mention calls cited is cited.
    """
    found: dict[str, Source] = {}
    for source in sources:
        key = urls.canonical(source.url)
        found[key] = joined(found[key], source) if key in found else source
    return tuple(found.values())


def cited_first(sources: Iterable[Source]) -> tuple[Source, ...]:
    """The sources that the answer marks before those that came along, otherwise in order."""
    return tuple(sorted(sources, key=lambda source: source.evidence != "cited"))


def joined(first: Source, later: Source) -> Source:
    """Two mentions of one page as one: the first, with what it lacks out of the later one; cited if either is."""
    content, next_start = (first.content, first.next_start) if first.content else (later.content, later.next_start)
    return dataclasses.replace(
        first,
        title=first.title or later.title,
        description=first.description or later.description,
        published=first.published or later.published,
        evidence="cited" if first.evidence == "listed" and later.evidence == "cited" else first.evidence,
        content=content,
        next_start=next_start,
    )


def _first_text(entry: Mapping[str, object], *names: str) -> str:
    return next((value for name in names if isinstance(value := entry.get(name), str) and value.strip()), "")


def _one_line(text: str, limit: int) -> str:
    return " ".join(fence.clean(text).split())[:limit].rstrip()


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text.strip()[:10]).isoformat()
    except ValueError:
        return ""


# --- code, thinking and links in Markdown -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Link:
    label: str
    url: str
    start: int
    end: int

    @property
    def marker(self) -> bool:
        return _MARKER.fullmatch(self.label) is not None

    def source(self, provider: str, evidence: Evidence) -> Source:
        return Source(url=self.url, title=title_of(self.label, self.url), provider=provider, evidence=evidence)


def _links(text: str) -> Iterator[_Link]:
    """Links with a usable address outside of code, in order; images are left out."""
    masked = _without_code(text[:MAX_SEARCHED_CHARS])
    at = tried = 0
    while (middle := masked.find("](", at)) >= 0 and tried < MAX_LINKS:
        at, tried = middle + 2, tried + 1
        start = _label_start(masked, middle)
        destination = _destination(masked, at)
        if start is None or destination is None:
            continue
        url, at = destination
        if masked[max(start - 1, 0) : start] != "!" and urls.is_web_url(url):
            yield _Link(text[start + 1 : middle], url, start, at)


def _label_start(text: str, end: int) -> int | None:
    """The bracket that opens the label which ends here; None if the line has none within reach."""
    depth = 1
    for at in range(end - 1, max(end - MAX_LABEL_CHARS, 0) - 1, -1):
        depth += (text[at] == "]") - (text[at] == "[")
        if text[at] == "\n":
            return None
        if depth == 0:
            return at
    return None


def _destination(text: str, start: int) -> tuple[str, int] | None:
    """The address that starts here and the position after its link; parentheses inside the address are balanced."""
    if not text[start : start + 5].lower().lstrip("<").startswith("http"):
        return None
    if text.startswith("<", start):
        end = text.find(">", start, start + urls.MAX_URL_CHARS)
        after = _AFTER_URL.match(text, end + 1) if end > 0 else None
        return (text[start + 1 : end], after.end()) if after else None
    depth = 0
    for stop in _STOP.finditer(text, start, start + urls.MAX_URL_CHARS):
        if depth == 0 and stop.group() != "(":
            after = _AFTER_URL.match(text, stop.start())
            return (_ESCAPED.sub(r"\1", text[start : stop.start()]), after.end()) if after else None
        if stop.group().isspace():
            return None
        depth += 1 if stop.group() == "(" else -1
    return None


def _without_code(text: str) -> str:
    """The text with every character of code as a blank, so that positions stay."""
    if "`" not in text and "~~~" not in text:
        return text
    parts, at = [], 0
    for _, start, end in _spans(text, thinking=False):
        parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def _spans(text: str, *, thinking: bool) -> Iterator[tuple[str, int, int]]:
    """Stretches of code, and with `thinking` of thinking, in order and apart: kind, start, end."""
    at = paragraph_end = 0
    while match := _OPENING.search(text, at):
        kind = str(match.lastgroup)
        if paragraph_end < match.end():
            paragraph_end = text.find("\n\n", match.end()) % (len(text) + 1)
        end = None if kind == "think" and not thinking else _end_of(kind, match, text, paragraph_end)
        if end is not None:
            yield kind, match.start(), end
        at = end or match.end()


def _end_of(kind: str, match: re.Match[str], text: str, paragraph_end: int) -> int | None:
    """Where the stretch that `match` opens ends; None for backticks that nothing closes in their paragraph."""
    if kind == "think":
        closing = _THINK_END.search(text, match.end())
        return closing.end() if closing else len(text)
    marks = match.group(kind)
    if kind == "fence":
        closing = re.compile(rf"^[ \t]*{re.escape(marks[0])}{{{len(marks)},}}[ \t]*$", re.MULTILINE).search(text, match.end())
        return closing.end() if closing else len(text)
    closing = re.compile(rf"(?<!`){marks}(?!`)").search(text, match.end(), paragraph_end)
    return closing.end() if closing else None
