"""Lists of several become one: what more of them bring, and higher up, comes first."""

from __future__ import annotations

import pytest

from websearch_core.fusion import agreed, weighed
from websearch_core.values import Source


def test_what_two_lists_name_comes_before_what_one_names_first() -> None:
    one = [Source(url="https://a.example/"), Source(url="https://b.example/x?utm_source=y", title="B")]
    two = [Source(url="https://c.example/"), Source(url="http://www.b.example/x", description="more")]
    assert agreed([one, two]) == (
        Source(url="https://b.example/x?utm_source=y", title="B", description="more"),
        Source(url="https://a.example/"),
        Source(url="https://c.example/"),
    )


@pytest.mark.parametrize(("rank", "first"), [(21, "pair"), (23, "single")])
def test_two_late_mentions_outweigh_a_first_place_up_to_rank_22(rank: int, first: str) -> None:
    """2 / (20 + rank) against 1 / (20 + 1)."""
    fill = [[Source(url=f"https://{name}{at}.example/") for at in range(2, rank)] for name in ("x", "y")]
    single, pair = Source(url="https://single.example/"), Source(url="https://pair.example/")
    found = agreed([[single, *fill[0], pair], [Source(url="https://y1.example/"), *fill[1], pair]])
    assert found[0].url == f"https://{first}.example/"


def test_a_page_twice_in_one_list_counts_once_and_keeps_nobody_down() -> None:
    one = [Source(url="https://a.example/"), Source(url="http://a.example"), Source(url="https://b.example/")]
    assert [(source.url, weight) for source, weight in weighed([one])] == [
        ("https://a.example/", 1 / 21),
        ("https://b.example/", 1 / 22),
    ]


def test_the_mention_with_the_best_rank_stands() -> None:
    one = [Source(url="https://x.example/"), Source(url="https://a.example/", title="second", published="2026-11-30")]
    two = [Source(url="https://a.example/", title="first")]
    found = agreed([one, two])[0]
    assert (found.title, found.published) == ("first", "2026-11-30")


def test_files_and_addresses_that_are_none_are_pages_of_their_own() -> None:
    one = [Source(url="file:///home/me/notes.md"), Source(url="notes"), Source(url="")]
    assert [source.url for source in agreed([one])] == ["file:///home/me/notes.md", "notes", ""]


def test_nothing_is_nothing() -> None:
    assert agreed([]) == agreed([[], []]) == ()
