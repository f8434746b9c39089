"""Laws of the budget: nothing exceeds it, pieces join to the whole, every cut is said, cutting twice is cutting once."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_adapters.tokens import counter
from websearch_core import budget
from websearch_core.excerpts import excerpt
from websearch_core.values import FetchResult, MapResult, SearchResult, Source, SourcesResult, as_plain

GAP = re.compile(r"\n*\[… \d+ characters left out, from start=\d+ …\]\n\n|\| … \|\n|\n```\n|```\n")
"""What an excerpt adds: marks of gaps, and the closing of a code fence that was cut."""
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
        "|---|---|\n",
        "```\n",
        "\n\n# Part\n\n",
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
        assert all(part.strip() in original.content for part in GAP.split(source.content))
        assert (source.next_start is None) == (source.content in {original.content, ""})
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


@given(TEXTS, st.integers(0, 12_000), st.sampled_from(["a", "世界", "Part", "é 😀", ""]))
def test_an_excerpt_fits_and_shows_nothing_that_the_page_does_not_hold(text: str, room: int, query: str) -> None:
    found = excerpt(text, query, room, measure=lambda part: budget.json_chars(part) - 2)
    assert budget.json_chars(found.text) - 2 <= room
    assert (found.next_start is None) == (found.text == text)
    assert found.next_start is None or 0 <= found.next_start < len(text)
    assert all(part.strip() in text for part in GAP.split(found.text))


@given(TEXTS, st.integers(1_000, 8_000), st.integers(300, 2_000))
def test_where_tokens_count_a_result_has_no_more_of_them_and_still_joins(text: str, limit: int, most: int) -> None:
    count = counter()
    start: int | None = 0
    joined = ""
    with budget.in_tokens(count, most):
        while start is not None and start < len(text):
            fitted = budget.fit_fetch(FetchResult(url="https://a.example/", content=text, start=start), limit)
            plain = json.dumps(as_plain(fitted), ensure_ascii=False, separators=(",", ":"))
            assert count(plain) <= most or budget.json_chars(fitted) <= budget.SMALLEST_CHARS
            joined, start = joined + fitted.content, fitted.next_start
    assert joined == text


def test_a_piece_ends_before_the_table_or_code_that_would_be_torn() -> None:
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 60
    code = "```\n" + "line of code\n" * 50 + "```\n"
    for block in (table, code):
        text = "word " * 200 + "\n\n" + block + "\n" + "word " * 200
        piece, start = budget.piece(text, 0, 1_300)
        assert (piece, start) == ("word " * 200 + "\n\n", text.index(block))


def test_a_piece_that_begins_inside_a_table_is_told_its_header() -> None:
    text = "intro\n\n| city | height |\n|---|---|\n" + "| town | 3 m |\n" * 400
    first = budget.fit_fetch(FetchResult(url="https://a.example/", content=text), 2_000)
    assert "table_continued" not in [note.code for note in first.notes]
    second = budget.fit_fetch(FetchResult(url="https://a.example/", content=text, start=first.next_start or 0), 2_000)
    assert [note.text for note in second.notes if note.code == "table_continued"] == ["| city | height |\n|---|---|\n"]
