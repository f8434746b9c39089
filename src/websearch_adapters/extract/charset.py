"""Bytes to text, in the order of the web: byte order mark, transport header, early declaration, then detection.

Labels mean what browsers take them for. A declared charset that does not fit the bytes counts as undeclared, and text
that is UTF-8 beyond chance is read as UTF-8 whatever it says. Only undeclared legacy pages reach charset-normalizer.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

__all__ = ["clean", "decode", "narrowed"]

BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
EARLY_BYTES = 1_024
LOOK_ON_BYTES = 65_536
SAMPLE_BYTES = 65_536
TOLERATED_SHARE = 0.01
"""Undecodable among the non-ASCII characters, up to which a declaration still counts as right: pages are cut and mixed."""
TOLERATED_SHARE_OF_UTF8 = 0.2
"""The same for UTF-8, whose sequences text of another charset hardly ever forms."""

# Python codec → what browsers read under its labels: the Encoding standard's table, read 2026-11-30.
WEB_NAMES = {
    "ascii": "windows-1252", "iso8859-1": "windows-1252", "cp1252": "windows-1252", "iso8859-9": "windows-1254",
    "cp1254": "windows-1254", "iso8859-11": "cp874", "tis-620": "cp874", "cp874": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "hz": "gb18030",
    "big5": "big5hkscs", "big5hkscs": "big5hkscs", "cp950": "big5hkscs",
    "shift_jis": "cp932", "cp932": "cp932", "euc_jp": "euc_jp", "iso2022_jp": "iso2022_jp",
    "euc_kr": "cp949", "cp949": "cp949", "johab": "cp949",
    "utf-8": "utf-8", "utf-16": "utf-16-le", "utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be",
    "koi8-r": "koi8-r", "koi8-u": "koi8-u", "cp866": "cp866", "mac-roman": "mac-roman", "mac-cyrillic": "mac-cyrillic",
    **{f"iso8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"cp{n}": f"windows-{n}" for n in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
}  # fmt: skip
LABELS = {
    "x-sjis": "cp932", "windows-31j": "cp932", "ks_c_5601-1987": "cp949", "ks_c_5601-1989": "cp949", "ksc5601": "cp949",
    "ksc_5601": "cp949", "windows-949": "cp949", "ks_c_5601": "cp949", "x-gbk": "gb18030", "gb_2312-80": "gb18030",
    "big5-hkscs": "big5hkscs", "x-x-big5": "big5hkscs", "cn-big5": "big5hkscs", "x-euc-jp": "euc_jp",
    "x-user-defined": "windows-1252", "unicode": "utf-16-le", "utf8": "utf-8", "x-mac-cyrillic": "mac-cyrillic",
    "dos-874": "cp874", "koi8": "koi8-r", "iso-8859-8-i": "iso8859-8",
}  # fmt: skip
SINGLE_BYTE = re.compile(r"windows-|iso8859-|koi8|mac-|cp866")
CANDIDATES = (
    "gb18030", "big5", "shift_jis", "cp932", "euc_jp", "euc_kr", "cp949", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp1258", "iso8859_2", "iso8859_5", "iso8859_7", "iso8859_15", "koi8_r", "koi8_u", "cp866",
    "cp874",
)  # fmt: skip

LATIN = frozenset({"windows-1250", "windows-1252", "windows-1254", "windows-1257", "iso8859-2", "iso8859-15"})
TURKISH = frozenset({b"tr", b"az", b"ku"})
WESTERN_EUROPEAN = frozenset({
    b"fr", b"de", b"es", b"pt", b"it", b"nl", b"sv", b"da", b"no", b"nb", b"nn", b"fi", b"is", b"ca", b"gl", b"ga",
})  # fmt: skip
"""Without English, which pages of every language claim to be in."""
BALTIC = frozenset({b"lt", b"lv", b"et"})
CENTRAL_EUROPEAN = frozenset({b"cs", b"sk", b"pl", b"hu", b"hr", b"sl", b"ro", b"bs"})

_LANG = re.compile(rb"<html\s[^>]{0,256}?lang\s*=\s*[\"']?([A-Za-z]{2})\b", re.IGNORECASE)
_WESTERN = re.compile(rb"[\xc0\xc5\xe0\xe5]")
"""À, Å and their small letters; in Central European charsets two letters that hardly occur."""
_C1 = re.compile(rb"[\x80-\x9f]")
_HEADER = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]+)", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta\s[^>]{0,512}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_XML = re.compile(rb"\A\s*<\?xml\s[^>]{0,256}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_LEGACY_RUN = re.compile(rb"[\x80-\xff][^<>\r\n]*")
_THREE_BYTES = re.compile(rb"[\xe3-\xed][\x80-\xbf]{2}")
_NOT_TEXT = re.compile("[\ud800-\udfff]")


def decode(body: bytes, content_type: str = "") -> tuple[str, str]:
    """The text and the name of the charset that it was read by; never fails: what fits nothing is read with replacements."""
    for mark, name in BOMS:
        if body.startswith(mark):
            return clean(body[len(mark) :].decode(name, "replace")), name
    wide = _utf16_by_zeros(body[:EARLY_BYTES])
    if wide:
        return clean(body.decode(wide, "replace")), wide
    for name in _declared(body, content_type):
        text = _fitting(body, name)
        if text is not None:
            return clean(text), name
    return _detected(body)


def narrowed(head: bytes, content_type: str = "") -> bytes:
    """The beginning of a body as UTF-8 where it is in UTF-16, else as it is, in both without a mark."""
    for mark, name in BOMS:
        if head.startswith(mark):
            return head[len(mark) :].decode(name, "replace").encode()
    header = _HEADER.search(content_type)
    declared = _codec(header.group(1)) if header else None
    wide = _utf16_by_zeros(head) or (declared if declared in {"utf-16-le", "utf-16-be"} and head.count(0) else None)
    return head.decode(wide, "replace").encode() if wide else head


def clean(text: str) -> str:
    """Without U+0000; lone surrogates become U+FFFD."""
    text = text.replace("\x00", "")
    try:
        text.encode()  # tells in a sixth of the time of a search whether there are any
    except UnicodeEncodeError:
        return _NOT_TEXT.sub("\ufffd", text)
    return text


def _declared(body: bytes, content_type: str) -> Iterator[str]:
    """Charsets in the order in which they are to be believed."""
    header = _HEADER.search(content_type)
    name = _codec(header.group(1)) if header else None
    meta = None if name else _in_markup(body)
    for found in (name, meta):
        if found and _is_utf8_after_all(body, found):
            yield "utf-8"
        elif found:
            yield found
    if name:
        later = _in_markup(body)
        if later:
            yield later


def _in_markup(body: bytes) -> str | None:
    """What the page says about itself. A declaration that can be read byte by byte is not in UTF-16: that means UTF-8."""
    head = _COMMENT.sub(b"", body[:LOOK_ON_BYTES])
    match = _XML.search(head[:EARLY_BYTES]) or _META.search(head[:EARLY_BYTES]) or _META.search(head)
    name = _codec(match.group(1).decode("ascii")) if match else None
    return "utf-8" if name in {"utf-16-le", "utf-16-be"} else name


def _codec(label: str) -> str | None:
    """The codec that browsers use for a label; None for labels that are no charset of the web."""
    label = label.strip().lower()
    if label in LABELS:
        return LABELS[label]
    try:
        return WEB_NAMES.get(codecs.lookup(label).name)
    except (LookupError, ValueError):
        return None


def _is_utf8_after_all(body: bytes, declared: str) -> bool:
    """Whether a legacy declaration is a server's mistake.

    Single-byte text is by chance valid UTF-8 only where it is ASCII; two bytes of an East Asian character sometimes are,
    a handful of three-byte sequences never. Where such a page also calls itself UTF-8, it is.
    """
    if declared == "utf-8" or declared.startswith(("utf-16", "iso2022")) or body.isascii():
        return False
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    if SINGLE_BYTE.match(declared) or _in_markup(body) == "utf-8":
        return True
    return len(_THREE_BYTES.findall(body[: SAMPLE_BYTES * 4])) >= 8


def _fitting(body: bytes, name: str) -> str | None:
    """The text if `name` fits the bytes, a few faults tolerated; None if it does not."""
    try:
        return body.decode(name)
    except UnicodeDecodeError:
        text = body.decode(name, "replace")
    faults = text.count("\ufffd")
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return text if faults <= foreign * (TOLERATED_SHARE_OF_UTF8 if name == "utf-8" else TOLERATED_SHARE) else None


def _detected(body: bytes) -> tuple[str, str]:
    if b"\x1b$" in body and (text := _fitting(body, "iso2022_jp")) is not None:
        return clean(text), "iso2022_jp"
    text = _fitting(body, "utf-8")
    if text is not None:
        return clean(text), "utf-8"
    sample = _sample(body)
    name = _by_language(_guess(sample) or "windows-1252", body, sample)
    return clean(body.decode(name, "replace")), name


def _utf16_by_zeros(head: bytes) -> str | None:
    """UTF-16 without a mark: markup and spaces put a zero into every second byte."""
    odd, even = head[1::2].count(0), head[::2].count(0)
    if max(odd, even) < max(4, len(head) // 8) or min(odd, even) * 4 > max(odd, even):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _sample(body: bytes) -> bytes:
    """The stretches that tell charsets apart: from a non-ASCII byte to the end of its line or the next tag.

    A non-ASCII byte behind ASCII begins a character in every charset in question, so no stretch starts inside one.
    """
    parts, size = [], 0
    for match in _LEGACY_RUN.finditer(body):
        parts.append(match.group())
        size += len(parts[-1]) + 1
        if size >= SAMPLE_BYTES:
            break
    return b"\n".join(parts)[:SAMPLE_BYTES]


def _guess(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(CANDIDATES)).best()
    return _codec(best.encoding) if best else None


def _by_language(guess: str, body: bytes, sample: bytes) -> str:
    """Latin alphabets look alike to a detector; the page's language tells the rare letters apart."""
    lang = _LANG.search(body[:LOOK_ON_BYTES])
    language = lang.group(1).lower() if lang else b""
    if guess not in LATIN:
        return guess
    if language in TURKISH:
        return "windows-1254"
    if language in CENTRAL_EUROPEAN:
        return "windows-1250" if _C1.search(sample) else "iso8859-2"
    if language in WESTERN_EUROPEAN and guess != "iso8859-15":
        return "windows-1252"
    if language in BALTIC:
        return "windows-1257"
    if guess == "windows-1257":  # where nothing speaks for it, it is the rarer one
        return "windows-1252"
    return "windows-1252" if guess in {"windows-1250", "iso8859-2"} and _WESTERN.search(sample) else guess
