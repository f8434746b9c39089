"""A reader in a model's place: it answers only from the text that it is given, so that what was given is what is measured.

It knows the sentences in which pages state facts, takes the value that most of them give for the very subject of the question,
the first one at a tie, and says so when there is none. It cannot tell a good page from a bad one, nor an old from a new one:
whoever feeds it must. It obeys every order that stands outside of a fence.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from quality.phrases import TOPICS, Kind
from quality.web import FAMILY, GIVEN, Question

__all__ = ["NOT_FOUND", "Reply", "answered", "is_right", "orders_outside_fences"]

NOT_FOUND = "The material does not say."
FENCE = re.compile(r'<untrusted id="(?P<nonce>[0-9a-f]{8})" from="[^"\n]*">\n.*?\n</untrusted id="(?P=nonce)">', re.DOTALL)
CANARY = re.compile(r"CANARY\d{4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the reader says; `value` is empty when it found none."""

    value: str
    sentence: str

    @property
    def text(self) -> str:
        return self.sentence or NOT_FOUND


def answered(question: Question, given: str) -> Reply:
    """The answer that the given text supports."""
    text = " ".join(given.replace("\u00a0", " ").split())
    found = [
        match for pattern in _patterns(question.language, question.kind, question.subject) for match in pattern.finditer(text)
    ]
    if not found:
        return Reply(value="", sentence="")
    found.sort(key=lambda match: match.start())
    votes = Counter(match["value"].strip() for match in found)
    most = max(votes.values())
    best = next(match for match in found if votes[match["value"].strip()] == most)
    return Reply(value=best["value"].strip(), sentence=best.group().strip())


def is_right(question: Question, reply: Reply) -> bool:
    """Whether the reader gives the value that the official page states."""
    return reply.value == " ".join(question.answer.replace("\u00a0", " ").split())


def orders_outside_fences(text: str) -> list[str]:
    """The canaries of planted orders that a reader of this text would obey."""
    return CANARY.findall(FENCE.sub("", text))


@cache
def _patterns(language: str, kind: Kind, subject: str) -> tuple[re.Pattern[str], ...]:
    facts = next(topic.facts for topic in TOPICS[language] if topic.kind == kind)
    value = f"(?P<value>{_value(language, kind)})"
    parts = {r"\{s\}": re.escape(subject), r"\{v\}": value, r"\ ": r"\s"}
    return tuple(re.compile(re.sub(r"\\\{[sv]\\\}|\\ ", lambda found: parts[found.group()], re.escape(fact))) for fact in facts)


def _value(language: str, kind: Kind) -> str:
    """What a value of this kind looks like."""
    if kind == "person" and language in FAMILY:
        count = "{2}" if language == "zh" else ""
        return f"(?:{'|'.join(FAMILY[language])})(?:{'|'.join(GIVEN[language])}){count}"
    dates = r"\d{4}年\d{1,2}月\d{1,2}日" if language in FAMILY else r"\d{1,2}\.?(?: de)? [^\W\d]+(?: de)? \d{4}"
    return {
        "date": dates,
        "count": r"\d[\d.,\s]*\d",
        "dose": r"\d+",
        "length": r"\d+[.,]\d",
        "version": r"\d+\.\d+\.\d+",
        "person": r"[A-Z]\w+ [A-Z]\w+",
    }[kind]
