"""Short texts of replies: one line, clean, and never more work than a short text is worth."""

from __future__ import annotations

import pytest

from websearch_adapters.provider import LOOKED_AT, snippet


def test_a_snippet_is_one_clean_line() -> None:
    assert snippet(" The \x1b[31mbridge\u200b\n\tis  open ") == "The bridge is open"


@pytest.mark.parametrize("filling", [" ", "\u200b", "\x1b[0m", "\0"])
def test_of_a_long_text_only_the_beginning_is_looked_at(filling: str) -> None:
    """Filling of megabytes in a name would otherwise be cleaned to find ten characters."""
    room = LOOKED_AT * 10 // len(filling)
    assert snippet(filling * (room - 5) + "open", limit=10) == "open"
    assert snippet(filling * room + "open", limit=10) == ""
