"""Secrets out of text: what every way out of the process passes through.

Two kinds of text, two strengths. *Diagnostics* (errors, notes, logs, tracebacks) lose every configured secret and whatever
looks like one. *Content* (answers, pages, addresses, titles) is the work of others and must stay what it is: it loses
configured secrets alone, or nobody could read a page that explains `Authorization: Bearer` any more.

A secret of fewer than 8 characters is a word as often as a key: `ollama` and `test` are what people set where a server asks
for some key. It is replaced only where it stands alone, and in content only when it mixes letters with digits or signs.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from websearch_core.ports import Cache
from websearch_core.values import Json, Secret

__all__ = ["MARK", "RedactedCache", "Redactor"]

T = TypeVar("T")
MARK = "[redacted]"
"""Stands for a value that only looks like a secret; a configured one shows its fingerprint."""
LONG_CHARS = 8
SHORTEST_WORD_CHARS = 4
MOST_LEARNT = 48
"""Tokens of logins come in pairs and are replaced, and upstreams bring secrets of their own; the oldest are forgotten."""
PART_CHARS = 64
"""A learnt secret that is longer is looked for in parts of this length: signed tokens are long, and begin alike."""
SHORTEST_PART_CHARS = 16
ROUNDS = 10
"""What is left of one replacement can be part of the next; more rounds than two are the work of an adversary."""
DIAGNOSTICS = frozenset({"connection_test", "error_detail", "next_action", "notes", "parts", "problems"})
"""Fields of our values whose text is a diagnosis, with everything inside of them."""
OWN_WORDS = frozenset({"code", "part", "provider", "service", "state", "status"})
"""Fields inside of a diagnosis that hold words of ours; programs compare them, so a short key must not change them."""

_SCHEME = r"(?:(?:bearer|basic|digest|negotiate|token)\s+)?"
_NAMES = (
    r"(?:proxy-)?authorization|api[ _-]?keys?|(?:access|auth|id|refresh)[ _-]?token|token|password|passwd|passphrase|pwd"
    r"|(?:client[ _-]?)?secret(?:[ _-]?(?:access[ _-]?)?key)?|private[ _-]?key|credentials?"
)
_PARAMETERS = r"key|sig|signature|auth|code|jwt|session|x-amz-(?:signature|security-token|credential)"
# The look ahead changes nothing but the time: most characters begin no name.
_LOOKS_SECRET = re.compile(
    rf"""(?=[abciprst?&])((?:{_NAMES})["']?\s*[:=]\s*["']?{_SCHEME}|\bbearer\s+|[?&](?:{_PARAMETERS})=)[^\s"'<>&;,]+""",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"""(\b[a-z][a-z0-9+.-]{0,20}://)[^\s/?#"'<>]+@""", re.IGNORECASE)
_SECRET_NAME = re.compile(rf"(?:.*[^a-z])?(?:{_NAMES})", re.IGNORECASE)
_WORD_OR_NUMBER = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+")
_NO_WORD_BEFORE, _NO_WORD_AFTER = "(?<![A-Za-z0-9_*…])", "(?![A-Za-z0-9_*…])"
_CUT_AFTER = r"""(?:[%\\&][A-Za-z0-9#]{0,7})?(?=\Z|…|\.\.\.|["'”’»])"""
_CUT_BEFORE = r"""(?:\A|…|\.\.\.|["'“‘«])"""
FEW_STARTS = 24
"""So few beginnings are found faster without looking for a word first."""
LEAST_RUN_PIECES, LONGEST_RUN_PIECES = 6, 12
"""Letters and digits in a row that stand for a secret while it is only asked whether there is one."""
_PLAIN = re.compile(r"[A-Za-z0-9]|\[[A-Za-z]{2}\]")
_RUN = re.compile(rf"(?:{_PLAIN.pattern})+")
LONGEST_PIECE_CHARS = 12
"""Of one character of a secret, escaped as it usually is."""
_NAMED_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class Redactor:
    """Takes the configured secrets out of text; safe to share between threads, silent about what it holds.

    A secret is found as it is, URL-encoded, JSON-escaped, in HTML, in hexadecimal digits and in Base64 (both alphabets, padded
    or not, also in the middle of a longer text), and at the edge of a text that was cut inside of it. In its place comes its
    fingerprint, or `***` where several secrets overlap.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` in the clear; blanks and duplicates do not count."""
        self._configured = tuple(dict.fromkeys(one for one in secrets if one.strip()))
        self._learnt: tuple[str, ...] = ()
        self._needles = _needles_for(self._configured)

    def learn(self, secret: str) -> None:
        """From now on take this secret out too, such as a token that came while we run; the last few are remembered."""
        if secret.strip() and secret not in self._configured and secret not in self._learnt:
            self._learnt = (*self._learnt, secret)[-MOST_LEARNT:]
            parts = dict.fromkeys(part for one in self._learnt for part in _parts(one))
            self._needles = _needles_for((*self._configured, *parts))

    def text(self, text: str) -> str:
        """A diagnosis without configured secrets, values named like secrets, users of addresses and bearer tokens."""
        _, in_diagnostics = self._needles
        return _settled(text, lambda one: _without_lookalikes(in_diagnostics().replaced(one)))

    def content(self, text: str) -> str:
        """The text of others without configured secrets, and otherwise unchanged."""
        in_content, _ = self._needles
        return _settled(text, in_content().replaced)

    def plain(self, value: Json) -> Json:
        """A diagnosis in JSON: every text in it, names included, and the values of names like `api_key`."""
        return cast("Json", self._walked(value, self.text))

    def value(self, value: T) -> T:
        """A value of this library: its content as content, its diagnostics as diagnostics. The same object when it is clean."""
        return cast("T", self._walked(value, self.content))

    def _walked(self, item: Any, clean: Callable[[str], str]) -> Any:
        if isinstance(item, str):
            return clean(item)
        if item is None or isinstance(item, (bool, int, float)):
            return item
        if isinstance(item, (list, tuple)):
            parts = [self._walked(part, clean) for part in item]
            return type(item)(parts) if _differ(parts, item) else item
        if isinstance(item, Mapping):
            walked = {clean(str(name)): self._entry(str(name), part, clean) for name, part in item.items()}
            return walked if _differ(walked.values(), item.values()) or walked.keys() != item.keys() else item
        if dataclasses.is_dataclass(item) and not isinstance(item, (type, Secret)):
            fields = {one.name: getattr(item, one.name) for one in dataclasses.fields(item)}
            changed = {name: self._entry(name, part, clean) for name, part in fields.items()}
            return dataclasses.replace(item, **changed) if _differ(changed.values(), fields.values()) else item
        return item

    def _entry(self, name: str, item: Any, clean: Callable[[str], str]) -> Any:
        """What stands under a name: the name says how strictly it is read."""
        if name in OWN_WORDS:
            return self._walked(item, self.content)
        if clean == self.text and _SECRET_NAME.fullmatch(name) and isinstance(item, (str, int)) and not _is_shown(item):
            return MARK
        return self._walked(item, self.text if name in DIAGNOSTICS else clean)


class RedactedCache:
    """A cache that never learns a configured secret; implements `ports.Cache` around another one.

    An upstream can echo a key into what is kept, and a page that is read on comes from here in pieces: a secret on the edge of
    two pieces could not be found any more.
    """

    def __init__(self, cache: Cache, redact: Redactor) -> None:
        self._cache = cache
        self._redact = redact

    async def get(self, key: str, kind: type[T], /) -> T | None:
        """What was put, or None."""
        return await self._cache.get(key, kind)

    async def put(self, key: str, value: object, /, *, ttl_s: float) -> None:
        """Keep a value, without secrets."""
        await self._cache.put(key, self._redact.value(value), ttl_s=ttl_s)

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        """Keep a value, without secrets, if the key is absent."""
        return await self._cache.add(key, self._redact.value(value), ttl_s=ttl_s)

    async def drop(self, key: str, /) -> None:
        """Forget the key, if it is there."""
        await self._cache.drop(key)


def _parts(secret: str) -> Iterator[str]:
    """A long secret in pieces, none of them short; each reaches into the next, so that a whole secret is one mark.

    A dot ends a piece: what follows the last one signs a token, and is worth hiding where it stands alone.
    """
    cuts = [0]
    for dot in re.finditer(r"\.", secret):
        if dot.end() - cuts[-1] >= SHORTEST_PART_CHARS <= len(secret) - dot.end():
            cuts.append(dot.end())
    for start, end in itertools.pairwise([*cuts, len(secret)]):
        count = max((end - start) // PART_CHARS, 1)
        edges = [start + (end - start) * number // count for number in range(count + 1)]
        yield from (secret[left : right + 1] for left, right in itertools.pairwise(edges))


def _needles_for(secrets: Sequence[str]) -> tuple[Callable[[], _Needles], Callable[[], _Needles]]:
    """What to look for in content and in diagnostics; each is worked out when it is first needed."""
    longest_first = sorted(secrets, key=lambda one: (-len(one), one))

    def those_of(least: int) -> Callable[[], _Needles]:
        return functools.cache(lambda: _Needles(one for one in longest_first if len(one) >= least or _is_mixed(one)))

    return those_of(LONG_CHARS), those_of(SHORTEST_WORD_CHARS)


class _Needles:
    """Some secrets, in all the forms in which a text can hold them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = {secret: tuple(_forms(secret)) for secret in secrets}
        signs = [sign for forms in self._forms.values() for form in forms for sign in form.signs]
        self._any = re.compile(_any_of(signs)) if signs else None

    def replaced(self, text: str) -> str:
        """The text with each stretch that secrets cover replaced as a whole; the same object when there is none."""
        if self._any is None or self._any.search(text) is None:
            return text
        done, parts = 0, []
        for start, end, found in self._covered(text):
            parts += [text[done:start], Secret(found.pop()).fingerprint if len(found) == 1 else Secret("").fingerprint]
            done = end
        return "".join([*parts, text[done:]])

    def _covered(self, text: str) -> list[tuple[int, int, set[str]]]:
        """Stretches of the text and the secrets that lie in each; overlapping ones are one, so that no rest of either stays."""
        found = [
            (start, end, secret) for secret, forms in self._forms.items() for form in forms for start, end in form.found(text)
        ]
        joined: list[tuple[int, int, set[str]]] = []
        for start, end, secret in sorted(found):
            if joined and start < joined[-1][1]:
                begun, until, secrets = joined[-1]
                joined[-1] = (begun, max(until, end), secrets | {secret})
            else:
                joined.append((start, end, {secret}))
        return joined


class _Form:
    """One way of writing a secret: a pattern for each of its characters.

    A text is often cut, and a cut can go through a secret. A part of it counts where it is more than a fingerprint may show, and
    stands where a cut text ends or begins: at an edge, an ellipsis or a quotation mark, perhaps after half of an escape.
    """

    def __init__(self, pieces: Sequence[str], *, least: int, before: str = "", after: str = "") -> None:
        """`least`: how many pieces make a part that counts; all of them where none does. `before`, `after`: patterns around."""
        self._pieces = pieces
        self._least = least
        self._whole = f"{before}({''.join(pieces)}){after}"
        self._head, self._tail = "".join(pieces[:least]), "".join(pieces[-least:])
        self.signs = [_sign(pieces[:least]), _sign(pieces[-least:])] if least < len(pieces) else [_sign(pieces, self._whole)]
        """Patterns of which one matches somewhere in every text that holds the secret or a part of it."""

    def found(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the secret stands, and parts of it, overlapping or not."""
        starts, ends = set(), set()
        for match in _matches(self._whole, text):
            starts.add(match.start(1))
            ends.add(match.end(1))
            yield match.span()
        if self._least == len(self._pieces):
            return
        for match in _matches(self._head, text):
            if match.start() not in starts:
                yield from _first(re.compile(head).match(text, match.start()) for head in self._heads)
        for match in _matches(self._tail, text):
            if match.end() not in ends:
                near = max(0, match.start() - LONGEST_PIECE_CHARS * len(self._pieces))
                yield from _first(re.compile(tail).search(text, near, match.end()) for tail in self._tails)

    @functools.cached_property
    def _heads(self) -> list[str]:
        """Patterns of what is left before a cut, the longest first; the part is group 1."""
        return [f"({''.join(self._pieces[:end])}{_CUT_AFTER})" for end in range(len(self._pieces) - 1, self._least - 1, -1)]

    @functools.cached_property
    def _tails(self) -> list[str]:
        """Patterns of what is left after a cut, the longest first; the part is group 1."""
        starts = range(1, len(self._pieces) - self._least + 1)
        return [f"{_CUT_BEFORE}({''.join(self._pieces[start:])})" for start in starts]


def _sign(pieces: Sequence[str], pattern: str = "") -> str:
    """What a text must hold in which the pieces stand: their longest run of letters and digits, else all of them (`pattern`)."""
    runs = [
        tuple(run) for is_plain, run in itertools.groupby(pieces, key=lambda one: _PLAIN.fullmatch(one) is not None) if is_plain
    ]
    longest = max(runs, key=len, default=())[:LONGEST_RUN_PIECES]
    return "".join(longest) if len(longest) >= LEAST_RUN_PIECES else pattern or "".join(pieces)


def _any_of(signs: Iterable[str]) -> str:
    """A pattern for any of the signs, with the runs sorted by their beginnings: hundreds of them are held against every place."""
    by_start: dict[str, list[str]] = {}
    others = []
    for sign in dict.fromkeys(signs):
        start = _PLAIN.match(sign)
        if start is not None and _RUN.fullmatch(sign):
            for letter in start.group().strip("[]"):  # a literal each: only these let `re` skip ahead
                by_start.setdefault(letter, []).append(sign[start.end() :])
        else:
            others.append(sign)
    runs = "|".join(f"{start}(?:{'|'.join(rest)})" for start, rest in by_start.items())
    few = len(by_start) <= FEW_STARTS
    return "|".join(filter(None, [runs if few else f"(?=[A-Za-z0-9]{{{LEAST_RUN_PIECES}}})(?:{runs})", *others]))


def _settled(text: str, change: Callable[[str], str]) -> str:
    """`text` changed until it stays the same."""
    for _ in range(ROUNDS):
        changed = change(text)
        if changed == text:
            return text
        text = changed
    return text


def _without_lookalikes(text: str) -> str:
    return _USERINFO.sub(rf"\1{MARK}@", _LOOKS_SECRET.sub(rf"\1{MARK}", text))


def _matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """All matches, also those that overlap."""
    compiled = re.compile(pattern)
    match = compiled.search(text)
    while match:
        yield match
        match = compiled.search(text, match.start() + 1)


def _first(matches: Iterable[re.Match[str] | None]) -> Iterator[tuple[int, int]]:
    """The span of the first match, if there is one."""
    yield from (match.span(1) for match in itertools.islice(filter(None, matches), 1))


def _forms(secret: str) -> Iterator[_Form]:
    """The secret as it is, and as transports and formats write it."""
    if len(secret) < LONG_CHARS:
        yield _Form([_character(one) for one in secret], least=len(secret), before=_NO_WORD_BEFORE, after=_NO_WORD_AFTER)
        return
    least = max(LONG_CHARS, len(secret) // 4 + 1) if len(secret) >= 2 * LONG_CHARS else len(secret)
    optional = ["?" if _is_sign(one) and _is_sign(previous) else "" for previous, one in itertools.pairwise(f"x{secret}")]
    yield _Form([_character(one) + may for one, may in zip(secret, optional, strict=True)], least=least)
    octets = secret.encode("utf-8", "surrogatepass")
    yield _Form([_digits(one) for one in octets.hex()], least=2 * least)
    yield from _base64_forms(octets, least=-(-4 * least // 3))


def _base64_forms(octets: bytes, *, least: int) -> Iterator[_Form]:
    """The characters that depend on the secret alone, for each of the three places at which it can begin in a group."""
    spelled = {"+": r"(?:[+-]|%(?:25)*2[bB])", "/": r"(?:\\*/|_|%(?:25)*2[fF])"}
    for lead in range(3):
        bits = 8 * (lead + len(octets))
        inner = base64.b64encode(bytes(lead) + octets).decode()[-(-8 * lead // 6) : bits // 6]
        shared = r"(?:[A-Za-z0-9+/_-](?:=|%3[dD]){0,2})?" if bits % 6 else ""
        yield _Form([spelled.get(one, one) for one in inner], least=min(least, len(inner)), after=shared)


@functools.cache
def _character(one: str) -> str:
    """A pattern for one character: letters and digits as they are, all others also escaped, or as the `_` of a slug.

    A slug has one `_` for several signs, so all of them but the first may be missing.
    """
    if not _is_sign(one):
        return one
    octets = "".join(rf"(?:%(?:25)*|\\+x){_digits(f'{octet:02x}')}" for octet in one.encode("utf-8", "surrogatepass"))
    units = one.encode("utf-16-be", "surrogatepass").hex()
    unicode = "".join(rf"\\+u{_digits(units[at : at + 4])}" for at in range(0, len(units), 4))
    entity = rf"\#0*{ord(one)}|\#[xX]0*{_digits(f'{ord(one):x}')}|{_NAMED_ENTITIES.get(one, 'no-such-name')}"
    space = r"|\+" if one == " " else ""
    return rf"(?:\\*{re.escape(one)}|{octets}|{unicode}|&(?:amp;)*(?:{entity});|_{space})"


def _is_sign(one: str) -> bool:
    return not (one.isascii() and one.isalnum())


def _digits(text: str) -> str:
    """Hexadecimal digits in either case."""
    return "".join(f"[{one}{one.upper()}]" if one.isalpha() else one for one in text)


def _is_mixed(secret: str) -> bool:
    """Whether no dictionary could hold it: neither letters alone, nor digits alone, nor signs alone."""
    return _WORD_OR_NUMBER.fullmatch(secret) is None


def _is_shown(item: object) -> bool:
    """Whether this is a fingerprint, or nothing that could be a secret."""
    return item in ("", MARK) or isinstance(item, bool) or (isinstance(item, str) and ("…" in item or "***" in item))


def _differ(new: Iterable[object], old: Iterable[object]) -> bool:
    return any(one is not other for one, other in zip(new, old, strict=True))
