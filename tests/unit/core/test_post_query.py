"""A question for X is checked and put in order before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from websearch_core import fingerprint
from websearch_core.errors import InvalidInput
from websearch_core.values import PostQuery


def asked(**given: Any) -> PostQuery:
    return PostQuery(**{"query": "x", **given})


@pytest.mark.requirement("X-CLEAN-02")
def test_commands_to_a_terminal_leave_the_question() -> None:
    assert asked(query=" \x1b]0;title\x07Which \x1b[31mbridges\x9b0m?\u202e \n").query == "Which bridges?"


@pytest.mark.requirement("X-INPUT-01")
def test_handles_lose_their_sign_and_stand_once_in_the_first_spelling() -> None:
    query = asked(allowed_x_handles=("@ExampleValley", " council_1 ", "examplevalley", "@COUNCIL_1", "b"))

    assert query.allowed_x_handles == ("ExampleValley", "council_1", "b")


@pytest.mark.requirement("X-INPUT-02")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": " \x1b[31m\u200b "}, "query must have 1 to 2000 characters; it has 0"),
        ({"query": "x" * 2_001}, "query must have 1 to 2000 characters; it has 2001"),
        ({"query": 5}, "query must be text"),
        ({"allowed_x_handles": ("a",) * 21}, "allowed_x_handles must have 0 to 20 items; it has 21"),
        ({"excluded_x_handles": ("a",) * 21}, "excluded_x_handles must have 0 to 20 items; it has 21"),
        ({"allowed_x_handles": "a"}, "allowed_x_handles must be a list of texts"),
        ({"allowed_x_handles": ("a", "b-c")}, "allowed_x_handles takes handles of 1 to 15 letters"),
        ({"excluded_x_handles": ("sixteen_letters_",)}, "excluded_x_handles takes handles of 1 to 15 letters"),
        ({"allowed_x_handles": ("@@a",)}, "allowed_x_handles takes handles"),
        ({"allowed_x_handles": ("",)}, "allowed_x_handles takes handles"),
        ({"allowed_x_handles": ("é",)}, "allowed_x_handles takes handles"),
        ({"allowed_x_handles": ("a",), "excluded_x_handles": ("b",)}, "exclude each other"),
        ({"from_date": "2026-1-1"}, "from_date must be a day like 2026-11-30"),
        ({"from_date": "yesterday"}, "from_date must be a day like 2026-11-30"),
        ({"to_date": "२०२६-११-३०"}, "to_date must be a day like 2026-11-30"),
        ({"to_date": "2026-02-29"}, "to_date is not a day of the calendar"),
        ({"from_date": "2026-13-01"}, "from_date is not a day of the calendar"),
        ({"from_date": "0000-01-01"}, "from_date is not a day of the calendar"),
        ({"from_date": "2026-11-02", "to_date": "2026-11-01"}, "from_date must not be after to_date"),
        ({"enable_image_understanding": "yes"}, "enable_image_understanding must be true or false"),
        ({"verify": 1}, "verify must be true or false"),
        ({"max_chars": 999}, "max_chars must be from 1000 to 200000"),
    ],
)
def test_a_refusal_names_the_field_and_not_the_value(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        asked(**given)
    assert words in caught.value.message
    assert "b-c" not in caught.value.message


def test_what_lies_on_the_limits_is_taken() -> None:
    query = asked(query=f"\x1b[1m{'x' * 2_000}", allowed_x_handles=("a",) * 20, from_date="2024-02-29", to_date="2024-02-29")

    assert len(query.query) == 2_000
    assert query.allowed_x_handles == ("a",)
    assert asked(allowed_x_handles=(), excluded_x_handles=("b",)).excluded_x_handles == ("b",)


def test_the_same_search_has_the_same_key_however_it_is_spelt_and_shown() -> None:
    one = asked(query="Which  Bridges?", allowed_x_handles=("B", "a"), max_chars=5_000, verify=True)

    assert fingerprint.of_posts(one) == fingerprint.of_posts(asked(query="which bridges?", allowed_x_handles=("A", "b")))
    others = [asked(query="which bridges?"), asked(query="which bridges?", excluded_x_handles=("a", "b"))]
    others += [asked(query="which bridges?", allowed_x_handles=("a", "b"), **more) for more in ({"to_date": "2026-01-01"},)]
    others += [asked(query="which bridges?", allowed_x_handles=("a", "b"), enable_video_understanding=False)]
    assert len({fingerprint.of_posts(query) for query in (one, *others)}) == 5
