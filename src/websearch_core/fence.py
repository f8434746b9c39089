"""Untrusted text in, harmless text out: control characters removed, fences that cannot be forged.

Pages, posts, snippets and upstream messages are data. `clean` makes them printable, `fenced` marks where they begin and
end with a value that no page can know.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Mapping
from typing import Any

__all__ = ["clean", "clean_json", "closed", "datamarked", "fenced", "harmless", "inline", "is_fence", "new_nonce"]

# Control sequences by ECMA-48, in their forms with ESC and with one C1 character. What is not closed loses its line.
# The pattern begins with the set of all that can begin one: so a text without any is looked through seven times as fast.
_STRING = r"(?:[^\x07\x18\x1a\x1b\x80-\x9f]*+(?:[\x07\x18\x1a\x9c]|\x1b\\)|[^\n\x07\x18\x1a\x1b\x80-\x9f]*+)"
_CSI = r"[0-?]*+[ -/]*+[@-~]?"
_ESCAPES = re.compile(
    rf"[\x1b\x80-\x9f](?:(?<=\x1b)(?:[\]PX^_]{_STRING}|\[{_CSI}|[ -/]*+[0-~]?)"  # OSC, DCS, SOS, PM, APC; CSI; others
    rf"|(?<=[\x90\x98\x9d-\x9f]){_STRING}|(?<=\x9b){_CSI}|)"
)
_LINE_ENDS = ("\r\n", "\r", "\u2028", "\u2029")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]+")
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_BLANKS = "\u115f\u1160\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e00ff"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef"
_UNSEEN = re.compile(f"[{_DIRECTIONS}{_BLANKS}]+")
_HIDING = re.compile(f"[{_JOINERS}{_SELECTORS}]+")
"""What hides unless it belongs to the character before it; looked at once everything `_UNSEEN` is gone."""
_UNCLEAN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_DIRECTIONS}{_BLANKS}{_JOINERS}{_SELECTORS}]")
"""Whatever `clean` looks for; most texts hold none of it."""
_SELECTOR, _JOINER = re.compile(f"[{_SELECTORS}]"), re.compile(f"[{_JOINERS}]")
_JOINABLE = re.compile(
    "[\u0600-\u077f\u07c0-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u18af\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\ufb50-\ufdff\ufe70-\ufefe\U0001f000-\U0001faff]"
)
"""Scripts and pictographs in which a joiner changes what one sees; anywhere else it only hides something."""
_SELECTABLE = re.compile(r"[^\sA-Za-z]")
_SIGNS = "<＜﹤‹〈〈⟨❮❬≺˂ᐸ«《"
_BRACKET = re.compile(rf"[{_SIGNS}]|&(?:(?:amp|#0*38|#x0*26);)*+(?:lt|#0*60|#x0*3c)\b;?|\\(?:u00|x)3c|%3c", re.IGNORECASE)
"""What opens a tag, looks as if it did, or becomes what does when somebody decodes it."""
_NAME = "untrusted"
_TWINS = str.maketrans("υսʋᴜтτᴛпոηɴгᴦʀѕꜱеεᴇԁժᴅ", "uuuutttnnnnrrrsseeeddd")
"""Letters of other alphabets, and small capitals, that look like those of the name."""
MAX_WINDOW = 200
"""So many characters behind a bracket are looked at; nothing else than blanks and signs may stand before the name."""
DOT = "\u00b7"
MARKS = "¦¬ˆ¤"


def clean(text: str, *, limit: int | None = None) -> str:
    """`text` without terminal escapes, control, direction and invisible characters; lone surrogates become U+FFFD.

    Line ends of every kind become LF, tabs stay; so do joiners inside of the scripts and pictographs that need them. What a
    terminal would take for a command goes with its payload, whether it is closed or not. `limit` cuts to that many characters.
    """
    if _UNCLEAN.search(text) is None:
        return text if limit is None else text[:limit]
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for end in _LINE_ENDS:
        text = text.replace(end, "\n")
    text = _CONTROLS.sub("", _ESCAPES.sub("", text))
    if not text.isascii():
        text = _HIDING.sub(_shown, _UNSEEN.sub("", text))
    return text if limit is None else text[:limit]


def _shown(run: re.Match[str]) -> str:
    """What of a run of invisible characters changes the look of the character before it: one selector, one joiner."""
    before = run.string[run.start() - 1 : run.start()]
    selector = _SELECTOR.search(run.group()) if _SELECTABLE.match(before) else None
    joiner = _JOINER.search(run.group()) if _JOINABLE.match(before) else None
    return (selector.group() if selector else "") + (joiner.group() if joiner else "")


def clean_json(value: object) -> Any:
    """JSON whose texts, names included, are clean."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def new_nonce() -> str:
    """Eight hex digits for the fences of one response."""
    return secrets.token_hex(4)


def fenced(text: str, *, origin: str, nonce: str) -> str:
    """`text` between markers that carry the nonce; look-alikes inside are broken, so one pair stands for one text."""
    source = inline(origin, limit=300).replace('"', "%22")
    return f'{_opening(nonce)}{source}">\n{harmless(text)}\n{_closing(nonce)}'


def inline(text: str, *, limit: int | None = None) -> str:
    """Third-party words for a line of ours: clean, without line ends, and without what looks like a marker."""
    return harmless(" ".join(clean(text).split("\n")))[:limit]


def harmless(text: str) -> str:
    """`text` with a middle dot in whatever could be taken for a marker: other case, alphabets, widths, blanks, escapes."""
    return _BRACKET.sub(_broken, text)


def _broken(bracket: re.Match[str]) -> str:
    window = bracket.string[bracket.end() : bracket.end() + MAX_WINDOW]
    return f"{bracket.group()}{DOT}" if _begins_with_name(window) else bracket.group()


def _begins_with_name(window: str) -> bool:
    """Whether the first letters are the name's, whatever stands before and between them that is no letter; not if broken."""
    if window.startswith(DOT):
        return False
    found = 0
    for char in window:
        if char in _SIGNS:  # which is looked at by itself
            return False
        for letter in unicodedata.normalize("NFKD", char).casefold().translate(_TWINS):
            if not letter.isalpha():
                continue
            if letter != _NAME[found]:
                return False
            found += 1
            if found == len(_NAME):
                return True
    return False


def closed(text: str, nonce: str) -> str:
    """A rendering that was cut, with the fence closed in which the cut lies; half a marker at its end goes."""
    start, end = _opening(nonce), _closing(nonce)
    line = text.rfind("\n") + 1
    if text[line:] and (start.startswith(text[line:]) or text.startswith(start, line)):
        text = text[:line].rstrip("\n")
    if text.count(start) <= text.count(end):
        return text
    last = text.rfind("\n") + 1
    return (text[:last].rstrip("\n") if text[last:] and end.startswith(text[last:]) else text) + f"\n{end}"


def is_fence(text: str, nonce: str) -> bool:
    """Whether this was made by `fenced` with that nonce."""
    return text.startswith(_opening(nonce)) and text.endswith(_closing(nonce))


def datamarked(text: str, nonce: str, *, mark: str = "") -> str:
    """A rendering whose fenced texts have a sign in place of each run of blanks and before each line; their markers name it.

    Text that looks different from ours all along is less often taken for an instruction. `mark` is chosen by chance unless
    given, from signs that texts hardly hold; where one does hold it, it goes.
    """
    sign = mark or secrets.choice(MARKS)

    def marked(block: re.Match[str]) -> str:
        inside = re.sub(r"[ \t\u00a0\u3000]+", sign, block["text"].replace(sign, "")).replace("\n", f"\n{sign}")
        return f'{block["head"]} blanks="{sign}">\n{sign}{inside}\n{_closing(nonce)}'

    pattern = rf'(?P<head>{re.escape(_opening(nonce))}[^\n]*")>\n(?P<text>.*?)\n{re.escape(_closing(nonce))}'
    return re.sub(pattern, marked, text, flags=re.DOTALL)


def _opening(nonce: str) -> str:
    return f'<{_NAME} id="{nonce}" from="'


def _closing(nonce: str) -> str:
    return f'</{_NAME} id="{nonce}">'
