"""CSS selectors, as far as people use them to name a part of a page, as XPath.

Types, `#id`, `.class`, attributes with `=`, `~=`, `|=`, `^=`, `$=` and `*=`, `:first-child`, `:last-child`, `:nth-child(n)`,
`:first-of-type`, `:last-of-type`, `:nth-of-type(n)`, `:not()` of one simple selector, and the four combinators; several behind
commas. By Selectors Level 3, W3C 2018-11-06. The page's own text is never part of an expression.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from websearch_adapters.extract.markup import Element, select
from websearch_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["matching", "to_xpath"]

MAX_PARTS = 40
_NAME = r"-?(?:[A-Za-z_]|[^\x00-\x7f])(?:[\w-]|[^\x00-\x7f])*"
_COMBINATOR = re.compile(r"\s*([>+~,])\s*|\s+")
_TAG = r"[A-Za-z][A-Za-z0-9_-]*"
_TYPE = re.compile(rf"\*|{_TAG}")
_SIMPLE = re.compile(
    rf"""\#(?P<id>(?:[\w-]|[^\x00-\x7f])+)
    |\.(?P<class>{_NAME})
    |\[\s*(?P<name>{_TAG})\s*(?:(?P<how>[~|^$*]?=)\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'\]]+))\s*)?\]
    |:not\(\s*(?P<not>[^()]+|[^()]*\(\d+\))\s*\)
    |:(?P<place>first-child|last-child|first-of-type|last-of-type|(?:nth-child|nth-of-type)\(\s*(?P<nth>\d{{1,6}})\s*\))""",
    re.VERBOSE | re.IGNORECASE,
)
_AXES = {
    " ": "//",
    ">": "/",
    "+": "/following-sibling::*[1]/self::",
    "~": "/following-sibling::",
}


def matching(root: Element, selector: str) -> list[Element]:
    """The elements that the selector finds, in document order, without those that lie inside of another one.

    Raises:
        InvalidInput: the selector cannot be read.
    """
    found = select(root, to_xpath(selector))
    chosen = set(found)
    return [element for element in found if not any(above in chosen for above in element.iterancestors())]


def to_xpath(selector: str) -> str:
    """The selector as an XPath expression from the root.

    Raises:
        InvalidInput: it cannot be read; names the place.
    """
    rest, out, axis = selector.strip(), "", "//"
    for _ in range(MAX_PARTS):
        step, rest = _compound(rest, selector)
        tag, conditions = step
        out += f"{axis}{tag}{''.join(f'[{condition}]' for condition in conditions)}"
        if not rest:
            return out
        match = _COMBINATOR.match(rest)
        if match is None or match.end() == len(rest):
            raise _unreadable(selector, rest)
        rest = rest[match.end() :]
        if match[1] == ",":
            out, axis = f"{out} | ", "//"
        else:
            axis = _AXES[match[1] or " "]
    raise InvalidInput(f"selector: more than {MAX_PARTS} parts")


def _compound(rest: str, selector: str) -> tuple[tuple[str, list[str]], str]:
    """The tag and the conditions at the beginning, and what follows them."""
    found = _TYPE.match(rest)
    tag = found[0].lower() if found else "*"
    rest = rest[found.end() :] if found else rest
    conditions: list[str] = []
    while simple := _SIMPLE.match(rest):
        conditions.append(_condition(simple, tag, selector))
        rest = rest[simple.end() :]
    if not found and not conditions:
        raise _unreadable(selector, rest)
    return (tag, conditions), rest


def _condition(simple: re.Match[str], tag: str, selector: str) -> str:
    if simple["id"]:
        return f"@id={_literal(simple['id'])}"
    if simple["class"]:
        return _holds("class", simple["class"])
    if simple["name"]:
        return _attribute(simple)
    if simple["not"]:
        (inner_tag, conditions), rest = _compound(simple["not"], selector)
        if rest:
            raise _unreadable(selector, rest)
        parts = [*([f"self::{inner_tag}"] if inner_tag != "*" else []), *conditions]
        return f"not({' and '.join(parts) or 'true()'})"
    return _place(simple, tag)


def _attribute(simple: re.Match[str]) -> str:
    name, how = simple["name"].lower(), simple["how"]
    if how is None:
        return f"@{name}"
    value = next(text for text in (simple["double"], simple["single"], simple["bare"], "") if text is not None)
    quoted = _literal(value)
    if how == "=":
        return f"@{name}={quoted}"
    if not value:  # by the standard such a selector matches nothing
        return "false()"
    if how == "~=":
        return _holds(name, value)
    if how == "|=":
        return f"(@{name}={quoted} or starts-with(@{name}, {_literal(value + '-')}))"
    if how == "$=":
        return (
            f"substring(@{name}, string-length(@{name}) - {len(value) - 1}) = {quoted} and string-length(@{name}) >= {len(value)}"
        )
    return f"{'starts-with' if how == '^=' else 'contains'}(@{name}, {quoted})"


def _holds(name: str, word: str) -> str:
    """The attribute has the word among its words."""
    return f"contains(concat(' ', normalize-space(@{name}), ' '), {_literal(f' {word} ')})"


def _place(simple: re.Match[str], tag: str) -> str:
    place = simple["place"].lower()
    kind = "*" if "child" in place else tag
    if place.startswith("nth"):
        return f"count(preceding-sibling::{kind}) = {int(simple['nth']) - 1}"
    return f"not({'preceding' if place.startswith('first') else 'following'}-sibling::{kind})"


def _literal(text: str) -> str:
    """A string of XPath, which knows no escapes."""
    if '"' not in text:
        return f'"{text}"'
    return f"concat({', '.join(_quoted_parts(text))})"


def _quoted_parts(text: str) -> Iterator[str]:
    for at, part in enumerate(text.split('"')):
        if at:
            yield "'\"'"
        yield f'"{part}"'


def _unreadable(selector: str, rest: str) -> InvalidInput:
    return InvalidInput(
        f"selector: cannot read {rest[:40]!r} in {selector[:80]!r}", hint="Use tags, #id, .class, [attribute] and combinators."
    )
