"""No text, however hostile, leaves the sanitiser with anything in it that a terminal obeys or that a person cannot see."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from websearch_core import fence
from websearch_core.testing.strategies import PAYLOAD, hostile_text, terminal_text

SHOWN = frozenset("\n\t\u00ad\u200c\u200d")
"""Line ends, tabs, the hyphen of a line end, and the joiners that some scripts need."""
MARKS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
"""Format characters that have a shape."""


def unseen(text: str) -> set[str]:
    """What must not be in a clean text, by Unicode's own categories."""
    found = {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - SHOWN - MARKS
    return {char for char in found if ord(char) < 0x1_1000 or ord(char) > 0xD_FFFF}  # signs of historical scripts have shapes


@given(st.one_of(terminal_text(), hostile_text()))
def test_nothing_is_left_that_a_terminal_obeys_or_nobody_sees(text: str) -> None:
    clean = fence.clean(text)

    assert not unseen(clean)
    assert PAYLOAD not in clean


@given(st.one_of(terminal_text(), hostile_text()))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert fence.clean(fence.clean(text)) == fence.clean(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="\u115f\u1160\u3164\uffa0")))
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert fence.clean(text) == text
