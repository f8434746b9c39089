"""Where a text may be cut: clusters that are put together are told apart again, whatever stands beside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_core import budget, graphemes, passages

CLUSTERS = (
    "a", "Z", "é", "e\u0301", "e\u0301\u0323", "\r\n", "\n", " ", "世", "한", "\u1112\u1161\u11ab", "각\u11a8", "가\u11a8", "😀", "👍🏽",
    "👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "1\ufe0f\u20e3", "नि", "क्षि", "स्त्र", "ক্ষ", "กำ", "ก็", "🇩🇪", "🇯🇵", "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "\u0600\u0661", "ﾊﾞ", "ا\u064e", "x\u200d", "\u0ca8\u0cbf",
)  # fmt: skip
"""What people see as one character, from the examples and the test file of UAX #29; none joins with a neighbour from this list."""
TEXTS = st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=400)


def places(clusters: list[str]) -> set[int]:
    """The places between clusters. Two of a kind that stand together may join by the rules: those places are left open."""
    found, at = set[int](), 0
    for cluster in clusters:
        found.add(at)
        at += len(cluster)
    return found | {at}


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: " ".join(f"{ord(c):04X}" for c in cluster))
def test_a_cluster_is_never_cut_and_ends_where_it_ends(cluster: str) -> None:
    text = f"a{cluster}a"
    assert [at for at in range(1, len(text)) if not graphemes.joined(text, at)] == (
        [1, len(text) - 1]
        if cluster != "x\u200d" and cluster[0] != "\u0600"
        else [1, *([] if cluster == "x\u200d" else [len(text) - 1])]
    )


@given(TEXTS)
def test_no_place_inside_of_a_cluster_is_offered(clusters: list[str]) -> None:
    text = "".join(clusters)
    offered = {at for at in range(1, len(text)) if not graphemes.joined(text, at)}
    assert offered <= places(clusters)


@given(TEXTS, st.integers(20, 2_000))
def test_pieces_of_a_text_are_whole_clusters(clusters: list[str], room: int) -> None:
    text, start, ends = "".join(clusters), 0, set[int]()
    whole = [at for at in range(1, len(text)) if not graphemes.joined(text, at)]
    while start < len(text):
        piece, after = budget.piece(text, start, room)
        start += len(piece)
        ends.add(start)
        if after is None:
            break
    longest = max((b - a for a, b in zip([0, *whole], [*whole, len(text)], strict=False)), default=0)
    assert ends - {len(text)} <= places(clusters) or longest >= graphemes.LONGEST


@given(st.lists(st.sampled_from([cluster for cluster in CLUSTERS if not cluster.isspace()]), min_size=500, max_size=1_500))
def test_passages_without_any_place_to_cut_are_cut_between_clusters(clusters: list[str]) -> None:
    text, at = "".join(clusters), 0
    for piece in passages.split(text)[:-1]:
        at += len(piece.text)
        assert at in places(clusters)


@given(st.text(max_size=300), st.integers(0, 300))
def test_the_floor_is_a_place_and_never_far_away(text: str, at: int) -> None:
    at = min(at, len(text))
    place = graphemes.floor(text, at)
    assert at - graphemes.LONGEST < place <= at
    if 0 < place < len(text) and place != at:
        assert not graphemes.joined(text, place)


def test_a_run_that_joins_without_end_is_cut_all_the_same() -> None:
    text = "a" + "\u0301" * 10_000
    assert graphemes.floor(text, 5_000) == 5_000
    assert graphemes.floor("🇩" * 1_001, 501) in {500, 501}
