"""The figures, dates and sentences of a text, in a form in which two texts can be compared.

`1,240,000`, `1.240.000` and `1.24 million` are one number, `3 May 2026`, `3. Mai 2026`, `2026-05-03` and `2026年5月3日` one day,
`1.2 km` and `1,200 m` one length. Where a spelling can be read in two ways, both readings are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Fact", "agrees", "clashes", "facts", "sentences"]

Day: TypeAlias = tuple[int, int, int]
MAX_SENTENCE_CHARS = 1_200
_SENTENCE_END = re.compile(r"(?:(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？；!?]+[”’」』）]*|[;；](?=\s)|\n+|\|)")
_NOT_AN_END = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nr|Abs|Art|vs|ca|bzw|usw|etc|e\.g|i\.e|z\.B|approx|Inc|Ltd|Co)"
    r"|\b(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
    r"|\b[A-Z]|(?<![\d.,])\d{1,2})\.$"
)
"""What a full stop belongs to without ending a sentence: abbreviations, initials, German ordinals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure or a date, where it stands."""

    kind: Literal["number", "date", "version"]
    values: frozenset[float | str] = frozenset()
    """Numbers in their base unit, versions as they are; several where the spelling can be read in several ways."""
    days: frozenset[Day] = frozenset()
    """Dates as year, month, day, with 0 for what is not said."""
    unit: str = ""
    """The base unit, such as `m` for kilometres; empty for a bare number and for other kinds."""
    start: int
    end: int


def facts(text: str) -> tuple[Fact, ...]:
    """The figures and dates of a text, in order; what belongs to a date or a version is no number."""
    dates = list(_apart(_dates(text)))
    taken = [(fact.start, fact.end) for fact in dates]
    versions = [fact for fact in _versions(text) if _free(fact, taken)]
    taken += [(fact.start, fact.end) for fact in versions]
    numbers = [fact for fact in _numbers(text) if _free(fact, taken)]
    return tuple(sorted([*dates, *versions, *numbers], key=lambda fact: fact.start))


def agrees(claimed: Fact, found: Fact) -> bool:
    """Whether the text in which `found` stands says what `claimed` says, to its last detail."""
    if (claimed.kind, claimed.unit) != (found.kind, found.unit):
        return False
    if claimed.kind == "date":
        return any(_holds(day, other) for day in claimed.days for other in found.days)
    return not claimed.values.isdisjoint(found.values)


def clashes(claimed: Fact, found: Fact) -> bool:
    """Whether the two are of one kind and unit, and cannot both be meant."""
    if (claimed.kind, claimed.unit) != (found.kind, found.unit):
        return False
    if claimed.kind == "date":
        return not any(_may_be(day, other) for day in claimed.days for other in found.days)
    return claimed.values.isdisjoint(found.values)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, without the blanks around it; a cell of a table and a line are sentences too."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.group().startswith(".") and _NOT_AN_END.search(text, max(start, match.start() - 12), match.start() + 1):
            continue
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and (text[start].isspace() or text[start] in "|#>*-"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] == "|"):
        end -= 1
    for at in range(start, end, MAX_SENTENCE_CHARS):
        yield at, min(at + MAX_SENTENCE_CHARS, end)


def _holds(claimed: Day, found: Day) -> bool:
    return all(part in {0, its} for part, its in zip(claimed, found, strict=True))


def _may_be(one: Day, other: Day) -> bool:
    return all(0 in {part, its} or part == its for part, its in zip(one, other, strict=True))


def _free(fact: Fact, taken: Iterable[tuple[int, int]]) -> bool:
    return all(fact.end <= start or end <= fact.start for start, end in taken)


def _apart(found: Iterable[Fact]) -> Iterator[Fact]:
    """Of dates that overlap, the longest."""
    taken: list[tuple[int, int]] = []
    for fact in sorted(found, key=lambda fact: (fact.start - fact.end, fact.start)):
        if _free(fact, taken):
            taken.append((fact.start, fact.end))
            yield fact


# --- dates --------------------------------------------------------------------------------------------------------

_MONTHS = (
    "january jan januar jänner janvier janv enero ene gennaio janeiro januari",
    "february feb februar février févr febrero febbraio fevereiro februari",
    "march mar märz mars marzo março maart",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio maio mei",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet juil julio luglio julho",
    "august aug août agosto ago augustus",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro",
)
_MONTH = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_NAME = "|".join(sorted(_MONTH, key=len, reverse=True))
_OF = r"(?:\s+(?:de|del|of))?"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<y>\d{4})\s*年(?:\s*(?P<m>\d{1,2})\s*月(?:\s*(?P<d>\d{1,2})\s*日)?)?",
        r"(?<![\d年])(?P<m>\d{1,2})\s*月\s*(?P<d>\d{1,2})\s*日",
        r"(?<![\d.-])(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})(?![\d])",
        rf"(?<![\d.,])(?P<d>\d{{1,2}})(?:\.|st|nd|rd|th|er|º)?{_OF}\s+(?P<name>{_NAME})\b\.?(?:{_OF},?\s+(?P<y>\d{{4}})\b)?",
        rf"\b(?P<name>{_NAME})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y>\d{{4}})\b)?",
        rf"\b(?P<name>{_NAME})\.?{_OF},?\s+(?P<y>\d{{4}})\b",
        r"(?<![\d.,/])(?P<one>\d{1,2})(?P<mark>[./])(?P<two>\d{1,2})(?P=mark)(?P<y>\d{4})(?!\d)",
        r"(?<![\d.,/$€£¥-])(?P<y>(?:1[5-9]|20)\d\d)(?![\d.,/%]*\d)(?!\s*(?:%|€|\$|£))",
    )
)


def _dates(text: str) -> Iterator[Fact]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            days = frozenset(day for day in _readings(match.groupdict()) if day[1] <= 12 and day[2] <= 31)
            if days and not _unit_at(text, match.end())[0]:
                yield Fact(kind="date", days=days, start=match.start(), end=match.end())


def _readings(parts: dict[str, str | None]) -> Iterator[Day]:
    year = int(parts.get("y") or 0)
    if parts.get("one"):
        one, two = int(parts["one"] or 0), int(parts["two"] or 0)
        yield year, two, one
        if parts.get("mark") == "/":
            yield year, one, two
        return
    month = _MONTH[(parts["name"] or "").casefold()] if parts.get("name") else int(parts.get("m") or 0)
    yield year, month, int(parts.get("d") or 0)


# --- versions and numbers -----------------------------------------------------------------------------------------

_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+){2,}(?:-?(?:rc|alpha|beta|a|b)\.?\d*)?)(?![\w]|\.\d)", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:[.]\d{3})+")
_NUMBER = re.compile(r"(?<![\w.,])[-−]?(?:\d{1,3}(?:[.,'’\u00a0\u202f\u2009 ]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)?)")
_CJK_NUMBER = re.compile(r"(?<=[\u3040-\u30ff\u3400-\u9fff])\d+(?:,\d{3})*(?:\.\d+)?")
_SCALES: dict[str, float] = {
    "hundred": 1e2, "thousand": 1e3, "tausend": 1e3, "mille": 1e3, "mil": 1e3, "k": 1e3, "million": 1e6, "millions": 1e6,
    "millionen": 1e6, "mio": 1e6, "mn": 1e6, "m": 1e6, "millón": 1e6, "millones": 1e6, "milioni": 1e6, "milhões": 1e6,
    "billion": 1e9, "billions": 1e9, "bn": 1e9, "milliarden": 1e9, "milliarde": 1e9, "mrd": 1e9, "milliard": 1e9,
    "milliards": 1e9, "trillion": 1e12, "十": 1e1, "百": 1e2, "千": 1e3, "万": 1e4, "萬": 1e4, "百万": 1e6, "千万": 1e7,
    "亿": 1e8, "億": 1e8, "万亿": 1e12, "兆": 1e12,
}  # fmt: skip
_SPELLINGS: dict[tuple[str, float], str] = {
    ("m", 1e3): "km kilometre kilometres kilometer kilometers kilómetros kilomètres 公里 千米 キロメートル",
    ("m", 1.0): "m metre metres meter meters metros mètres 米 メートル",
    ("m", 1e-2): "cm 厘米",
    ("m", 1e-3): "mm 毫米",
    ("m", 1609.344): "mile miles mi 英里",
    ("m", 0.3048): "ft feet foot",
    ("g", 1e6): "t tonnes tons tonnen 吨 トン",
    ("g", 1e3): "kg kilogram kilograms kilogramm 公斤 千克",
    ("g", 1.0): "g gram grams gramm 克",
    ("g", 1e-3): "mg 毫克",
    ("g", 1e-6): "µg μg mcg 微克",
    ("l", 1.0): "l litre litres liter liters 升",
    ("l", 1e-3): "ml 毫升",
    ("%", 1.0): "% ％ percent prozent",
    ("°c", 1.0): "°c ℃ 摄氏度",
    ("°f", 1.0): "°f",
    ("eur", 1.0): "€ eur euro euros 欧元",
    ("usd", 1.0): "$ usd dollars 美元",
    ("gbp", 1.0): "£ gbp pounds 英镑",
    ("cny", 1.0): "元 cny rmb yuan 人民币",
    ("jpy", 1.0): "円 jpy yen 日元",
    ("s", 3600.0): "hour hours h stunden stunde heures horas 小时 時間",
    ("s", 60.0): "minute minutes min minuten minutos 分钟",
    ("s", 1.0): "second seconds s sekunden secondes segundos 秒",
    ("day", 1.0): "day days tage tagen jours días 天 日間",
    ("day", 7.0): "week weeks wochen semaines semanas 周 週間",
    ("month", 1.0): "month months monate monaten mois meses 个月 か月 ヶ月",
    ("month", 12.0): "year years jahre jahren ans años 岁 歳",
    ("bit", 1.0): "bit bits 比特",
    ("byte", 1e3): "kb",
    ("byte", 1e6): "mb",
    ("byte", 1e9): "gb",
    ("byte", 1e12): "tb",
    ("w", 1e3): "kw",
    ("w", 1e6): "mw",
    ("w", 1e9): "gw",
    ("hz", 1.0): "hz",
    ("hz", 1e6): "mhz",
    ("hz", 1e9): "ghz",
    ("", 1.0): "人 人次 名",
}
"""Base unit and factor → how it is written."""
_UNITS = {name: unit for unit, names in _SPELLINGS.items() for name in names.split()}
_LONGEST = 14
_CURRENCY = {"€": "eur", "$": "usd", "£": "gbp", "¥": "cny"}


def _versions(text: str) -> Iterator[Fact]:
    for match in _VERSION.finditer(text):
        if not _GROUPED.fullmatch(match[1]):
            yield Fact(kind="version", values=frozenset({match[1].casefold()}), start=match.start(), end=match.end())


def _numbers(text: str) -> Iterator[Fact]:
    taken: list[tuple[int, int]] = []
    for pattern in (_NUMBER, _CJK_NUMBER):
        for match in pattern.finditer(text):
            scale, after = _scale_at(text, match.end())
            unit, end, factor = _unit_of(text, match.start(), after)
            values = frozenset[float | str](_rounded(value * scale * factor) for value in _values(match.group()))
            fact = Fact(kind="number", values=values, unit=unit, start=match.start(), end=end)
            if _free(fact, taken):
                taken.append((fact.start, fact.end))
                yield fact


def _values(written: str) -> Iterator[float]:
    """What the digits can mean: `1.240` is one thousand and more in German, little over one in English."""
    sign = -1.0 if written[0] in "-−" else 1.0
    digits = re.sub(r"['’\u00a0\u202f\u2009 ]", "", written.lstrip("-−"))
    marks = re.sub(r"\d", "", digits)
    if not marks:
        yield sign * float(digits)
    elif len(set(marks)) == 2:
        whole, _, rest = digits.rpartition(marks[-1])
        yield sign * float(f"{re.sub(r'[.,]', '', whole)}.{rest}")
    else:
        if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
            yield sign * float(re.sub(r"[.,]", "", digits))
        if len(marks) == 1:
            yield sign * float(digits.replace(",", "."))


def _scale_at(text: str, at: int) -> tuple[float, int]:
    word, end = _word_at(text, at)
    if word in _SCALES and not (word in {"m", "mil"} and word in _UNITS):
        return _SCALES[word], end
    for size in (2, 1):
        if (scale := _SCALES.get(text[at : at + size])) and not text[at : at + size].isascii():
            return scale, at + size
    return 1.0, at


def _unit_of(text: str, start: int, end: int) -> tuple[str, int, float]:
    name, after = _unit_at(text, end)
    if name:
        base, factor = _UNITS[name]
        return base, after, factor
    before = text[max(start - 2, 0) : start].strip()[-1:]
    return _CURRENCY.get(before, ""), end, 1.0


def _unit_at(text: str, at: int) -> tuple[str, int]:
    """The unit that stands here, perhaps after a blank or a hyphen, and where it ends; empty when none does."""
    start = at + 1 if text[at : at + 1] in {" ", "\u00a0", "\u202f", "-"} else at
    for size in range(_LONGEST, 0, -1):
        name = text[start : start + size].casefold()
        if (
            len(name) == size
            and name in _UNITS
            and not (name[-1].isascii() and name[-1].isalpha() and text[start + size : start + size + 1].isalnum())
        ):
            return name, start + size
    return "", at


def _word_at(text: str, at: int) -> tuple[str, int]:
    match = re.compile(r"[\s\u00a0-]?([^\W\d_]{1,12})\b\.?").match(text, at)
    return (match[1].casefold(), match.end()) if match else ("", at)


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")
