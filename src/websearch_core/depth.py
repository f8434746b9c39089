"""How thorough a question wants to be answered, judged by its words. No model, no network.

A policy is a subject with its words, in any language, what they mean for the depth, and a rule for the engine. Policies are
data: the shipped ones lie in the folder `policies`, a user's own are given beside them. ASCII words count as whole words,
phrases and Chinese as parts of the text.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from websearch_core.errors import InvalidInput

__all__ = ["Depth", "Judgement", "Policy", "judged", "policy", "shipped"]

Depth: TypeAlias = Literal["fast", "standard", "deep"]
SHORT_WORDS = 12
CJK_PER_WORD = 1.7
"""Characters of a Chinese word on average; a run of Chinese is not one word."""
MAX_WORDS = 500
MAX_RULE_CHARS = 600
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One subject: how it is recognised and what follows."""

    name: str
    """Lower-case words joined by `_`; the engine sees it as a category."""
    words: tuple[str, ...]
    deep: bool = False
    deep_with: tuple[str, ...] = ()
    """Names of policies that make a question of this one deep."""
    fast: bool = False
    never_fast: bool = False
    """A short question of this subject is not a simple one."""
    fresh: bool = False
    """Asks for what holds now."""
    hidden: bool = False
    """Counts for other policies, and is no category itself."""
    rule: str = ""
    """What an engine is told about the subject, one paragraph of at most 600 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A question's depth and the categories that led to it."""

    depth: Depth
    categories: tuple[str, ...]
    fresh: bool
    """Whether the question asks for what holds now."""


def policy(text: str) -> Policy:
    """A policy from TOML with the fields of the class.

    Raises:
        InvalidInput: no TOML, an unknown or missing field, a wrong type, or too long; names the field.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"no TOML: {error}"[:200]) from error
    kinds = {item.name: {"str": str, "bool": bool}.get(str(item.type), list) for item in dataclasses.fields(Policy)}
    for name, value in found.items():
        if name not in kinds:
            raise InvalidInput(f"unknown field {name[:64]!r}; known: {', '.join(kinds)}")
        if type(value) is not kinds[name] or (isinstance(value, list) and not all(isinstance(one, str) for one in value)):
            raise InvalidInput(f"{name} must be {({str: 'text', bool: 'true or false'}).get(kinds[name], 'a list of texts')}")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", found.get("name", "")):
        raise InvalidInput("name must be lower-case words joined by _")
    words = tuple(word.casefold().strip() for word in found.get("words", ()))
    if not 1 <= len(words) <= MAX_WORDS or not all(words):
        raise InvalidInput(f"words must be 1 to {MAX_WORDS} texts, none of them blank")
    rule = " ".join(found.get("rule", "").split())
    if len(rule) > MAX_RULE_CHARS:
        raise InvalidInput(f"rule must have at most {MAX_RULE_CHARS} characters; it has {len(rule)}")
    return Policy(**{**found, "words": words, "deep_with": tuple(found.get("deep_with", ())), "rule": rule})


@cache
def shipped() -> tuple[Policy, ...]:
    """The policies that come with the package, in the order of their files' names."""
    folder = sorted(files("websearch_core").joinpath("policies").iterdir(), key=lambda file: file.name)
    return tuple(policy(file.read_text(encoding="utf-8")) for file in folder if file.name.endswith(".toml"))


def judged(question: str, policies: Iterable[Policy] | None = None) -> Judgement:
    """The depth that the question's words ask for."""
    text = question.casefold()
    found = [one for one in (shipped() if policies is None else policies) if _pattern(one.words).search(text)]
    names = {one.name for one in found}
    if any(one.deep or names.intersection(one.deep_with) for one in found):
        depth: Depth = "deep"
    elif any(one.fast for one in found) or (_words(question) <= SHORT_WORDS and not any(one.never_fast for one in found)):
        depth = "fast"
    else:
        depth = "standard"
    shown = tuple(one.name for one in found if not one.hidden)
    fresh = any(one.fresh for one in found)
    return Judgement(depth=depth, categories=shown or (("simple_fact",) if depth == "fast" else ()), fresh=fresh)


def _words(question: str) -> float:
    """Words of a question, Chinese counted by its characters."""
    return len(CJK.findall(question)) / CJK_PER_WORD + len(re.findall(r"[^\W_]+", CJK.sub(" ", question)))


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    parts = (rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in words)
    return re.compile("|".join(parts))
