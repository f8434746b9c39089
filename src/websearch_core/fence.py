"""Untrusted text in, harmless text out: control characters removed, fences that cannot be forged.

Pages, posts, snippets and upstream messages are data. `clean` makes them printable, `fenced` marks where they begin and
end with a value that no page can know.
"""

from __future__ import annotations

import re
import secrets

__all__ = ["clean", "fenced", "new_nonce"]

_ESCAPES = re.compile(
    r"\x1b(?:[\[][0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?|[\x80-\x9f]|\x9b[0-?]*[ -/]*[@-~]"
)
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u061c\ufeff\U000e0000-\U000e007f]"
)
_LOOKALIKE = re.compile(r"([<＜‹〈⟨])(\s*[/／]?\s*untrusted)", re.IGNORECASE)


def clean(text: str, *, limit: int | None = None) -> str:
    """`text` without terminal escapes, control, direction and invisible characters; lone surrogates become U+FFFD.

    Line ends become LF, tabs stay. `limit` cuts to that many characters.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _INVISIBLE.sub("", _ESCAPES.sub("", text))
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text if limit is None else text[:limit]


def new_nonce() -> str:
    """Eight hex digits for the fences of one response."""
    return secrets.token_hex(4)


def fenced(text: str, *, origin: str, nonce: str) -> str:
    """`text` between markers that carry the nonce; look-alikes inside are broken, so one pair stands for one text."""
    inside = _LOOKALIKE.sub("\\1\u00b7\\2", text)
    source = clean(origin, limit=300).replace('"', "%22").replace("\n", " ")
    return f'<untrusted id="{nonce}" from="{source}">\n{inside}\n</untrusted id="{nonce}">'
