"""Laws of the budget: nothing exceeds it, pieces join to the whole, every cut is said, cutting twice is cutting once."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_core import budget
from websearch_core.values import FetchResult, MapResult, SearchResult, Source, SourcesResult

HARD = st.sampled_from(
    [
        '"',
        "\\",
        "\n",
        "\t",
        "世",
        "界",
        "😀",
        "é",
        "e\u0301",
        "👨\u200d👩\u200d👧",
        "🏽",
        "https://a.example/path?q=1&b=2 ",
        "x",
        " ",
        "| a | b |\n",
    ]
)
TEXTS = st.builds("".join, st.lists(HARD, min_size=0, max_size=4_000)) | st.text(max_size=3_000)
LIMITS = st.integers(min_value=1_000, max_value=30_000)
SOURCES = st.lists(
    st.builds(
        Source,
        url=st.integers(0, 10**9).map(lambda n: f"https://s.example/{n}"),
        title=st.text(max_size=300),
        description=TEXTS,
        content=TEXTS,
    ),
    max_size=30,
)


@given(TEXTS, st.integers(1, 3_000))
def test_pieces_join_to_the_text_and_each_fits(text: str, room: int) -> None:
    start: int | None = 0
    joined = ""
    while start is not None and start < len(text):
        piece, start = budget.piece(text, start, room)
        assert piece
        assert budget.json_chars(piece) - 2 <= max(room, 80)  # one combined character may be longer than a tiny room
        joined += piece
    assert joined == text


@given(
    st.lists(st.sampled_from(["word ", "https://a.example/some/long/path?with=query ", "世界"]), min_size=1, max_size=80),
    st.integers(60, 200),
)
def test_a_cut_never_splits_an_address_that_fits(words: list[str], room: int) -> None:
    text = "".join(words)
    start: int | None = 0
    while start is not None and start < len(text):
        piece, start = budget.piece(text, start, room)
        assert piece.count("https://a.example/some/long/path?with=query") == piece.count("https:")


@pytest.mark.requirement("RS-BUDGET-01")
@given(TEXTS, TEXTS, SOURCES, LIMITS)
def test_a_search_result_fits_and_its_headers_come_first(
    content: str, unverified: str, sources: list[Source], limit: int
) -> None:
    whole = SearchResult(session_id="a" * 12, content=content, sources=tuple(sources), unverified_answer=unverified)
    fitted = budget.fit_search(whole, limit, inline=5)
    assert budget.json_chars(fitted) <= limit
    assert fitted.sources_count == len(sources)
    assert content.startswith(fitted.content)
    assert (fitted.next_start is None) == (fitted.content == content)
    shown = len(fitted.sources)
    assert fitted.next_offset == (shown if shown < len(sources) else None)
    assert bool(fitted.next_start is not None) == any(note.code == "result_cut" for note in fitted.notes)
    for source, original in zip(fitted.sources, sources, strict=False):
        assert original.content.startswith(source.content)
    assert budget.fit_search(dataclasses.replace(whole), limit, inline=5) == fitted


@given(TEXTS, LIMITS)
def test_a_page_read_in_pieces_is_the_page(text: str, limit: int) -> None:
    start: int | None = 0
    joined = ""
    while start is not None and start < len(text):
        fitted = budget.fit_fetch(FetchResult(url="https://a.example/", content=text, start=start), limit)
        assert budget.json_chars(fitted) <= limit
        joined, start = joined + fitted.content, fitted.next_start
    assert joined == text


@given(st.lists(st.integers(0, 10**9).map(lambda n: f"https://s.example/{n}/{'p' * (n % 200)}"), max_size=500), LIMITS)
def test_a_map_read_in_pieces_is_the_map(links: list[str], limit: int) -> None:
    offset: int | None = 0
    seen: list[str] = []
    while offset is not None:
        fitted = budget.fit_map(MapResult(base_url="https://s.example/", results=tuple(links), offset=offset), limit)
        assert budget.json_chars(fitted) <= limit
        seen, offset = [*seen, *fitted.results], fitted.next_offset
    assert seen == links


@pytest.mark.requirement("RS-BUDGET-02", "RS-BUDGET-03")
@given(SOURCES, TEXTS, LIMITS)
def test_sources_read_in_pages_are_the_sources_and_the_answer_joins(sources: list[Source], content: str, limit: int) -> None:
    everything = tuple(sources)
    offset: int | None = 0
    seen: list[str] = []
    while offset is not None:
        page = SourcesResult(
            session_id="a" * 12, sources=everything[offset : offset + 50], total_sources=len(everything), offset=offset
        )
        fitted = budget.fit_sources(page, everything, content, None, limit)
        assert budget.json_chars(fitted) <= limit
        seen, offset = [*seen, *(source.url for source in fitted.sources)], fitted.next_offset
    assert seen == [source.url for source in sources]
    start: int | None = 0
    joined = ""
    while start is not None and start < len(content):
        fitted = budget.fit_sources(SourcesResult(session_id="a" * 12), (), content, start, limit)
        assert budget.json_chars(fitted) <= limit
        joined, start = joined + fitted.content, fitted.next_start
    assert joined == content
