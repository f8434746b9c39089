"""Figures and dates are read in the spellings of several languages."""

from __future__ import annotations

import pytest

from websearch_core.facts import Fact, agrees, clashes, facts, sentences


def only(text: str) -> Fact:
    (fact,) = facts(text)
    return fact


@pytest.mark.parametrize(
    "spellings",
    [
        ("1,240,000", "1.240.000", "1 240 000", "1’240’000", "1.24 million", "1,24 Millionen", "124万", "124万人次", "1,24 Mio."),
        (
            "3 May 2026",
            "3. Mai 2026",
            "May 3, 2026",
            "3 de mayo de 2026",
            "3 mai 2026",
            "2026-05-03",
            "2026年5月3日",
            "03.05.2026",
        ),
        ("1.2 km", "1,2 km", "1,200 m", "1.2公里", "1200 metres"),
        ("40 mg", "0.04 g", "40毫克", "40-mg"),
        ("€5", "5 euros", "5欧元"),
        ("12%", "12 percent", "12 Prozent"),
        ("v4.2.1", "4.2.1"),
        ("2 weeks", "14 days", "14天"),
    ],
)
def test_spellings_of_one_thing_agree(spellings: tuple[str, ...]) -> None:
    first, *others = map(only, spellings)
    for other in others:
        assert agrees(first, other)
        assert agrees(other, first)
        assert not clashes(first, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 May 2026", "4 May 2026"),
        ("3 May 2026", "3 May 2025"),
        ("May 2026", "June 2026"),
        ("1,240,000", "1,240,001"),
        ("40 mg", "400 mg"),
        ("4.2.1", "4.2.10"),
        ("12.5 km", "12.4 km"),
    ],
)
def test_near_misses_clash(one: str, other: str) -> None:
    assert clashes(only(one), only(other))
    assert not agrees(only(one), only(other))


def test_a_day_says_its_month_and_a_month_does_not_say_its_day() -> None:
    day, month = only("3 May 2026"), only("May 2026")
    assert agrees(month, day)
    assert not agrees(day, month)
    assert not clashes(day, month)


@pytest.mark.parametrize(("one", "other"), [("5 km", "5 kg"), ("2026 visitors in Bern", "40 mg"), ("5 €", "5 $"), ("5", "5 km")])
def test_things_of_other_kinds_neither_agree_nor_clash(one: str, other: str) -> None:
    assert not agrees(only(one), only(other))
    assert not clashes(only(one), only(other))


def test_an_ambiguous_spelling_keeps_both_readings() -> None:
    assert only("1.240 km").values == {1_240_000.0, 1_240.0}
    assert only("03/05/2026").days == {(2026, 5, 3), (2026, 3, 5)}


def test_a_year_with_a_unit_is_a_number_and_parts_of_a_date_are_none() -> None:
    assert [(fact.kind, fact.unit) for fact in facts("In 1999 it was 2000 m long, on 3 May.")] == [
        ("date", ""),
        ("number", "m"),
        ("date", ""),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Ahn came on 3. Mai 2026. It rained.", ["Dr. Ahn came on 3. Mai 2026.", "It rained."]),
        ("大桥恢复通车。车辆驶过桥面！", ["大桥恢复通车。", "车辆驶过桥面！"]),
        ("Version 4.2.1. Next.\n\n| a | b |", ["Version 4.2.1.", "Next.", "a", "b"]),
        ("One; two. “Three.” Four", ["One;", "two.", "“Three.”", "Four"]),
        ("", []),
    ],
)
def test_sentences_end_where_they_end(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


def test_long_text_without_an_end_is_cut() -> None:
    assert max(end - start for start, end in sentences("word " * 2_000)) <= 1_200


def test_a_run_of_dots_is_looked_at_once() -> None:
    assert [end for _, end in sentences("a" + "." * 300_000 + "b")][-1] == 300_002
