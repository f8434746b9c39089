"""Laws of the library: nothing is lost in splitting, whatever was put in is found, only what is meant is removed."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from websearch_adapters.library.expression import match_expression
from websearch_adapters.library.index import TABLES, SqliteLibrary
from websearch_core import graphemes
from websearch_core.passages import LONGEST_CHARS, query_terms, searchable, split, stretch
from websearch_core.values import Page

pytestmark = pytest.mark.anyio

LINES = st.sampled_from(
    [
        "# Title", "## Part", "###### Deep", "Title", "=====", "-----", "~~~~~", "```", "```python", "````", "~~~", "- ```",
        "| a | b |", "| - | - |", "a | b", "---", "", "", "   ", "\t", "text of a line", "text " * 60, "x" * 1_500, "句子。" * 500,
        "- item", "> quote", "#", "# ", "\r", "\x0c", "\u2028",
    ]
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\n", "\n\n", "\r\n", "\r", ""])
MARKDOWN = st.lists(st.tuples(LINES | st.text(max_size=40), ENDS), max_size=60).map(lambda pairs: "".join(map("".join, pairs)))
PLAIN = st.text(st.sampled_from("ab. \n数。é#="), max_size=8_000)
WORDS = st.text(st.characters(categories=["Lu", "Ll", "Lt", "Lm", "Lo", "Nd"]), min_size=2, max_size=12)
IDEOGRAPHS = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=30)


@given(MARKDOWN | st.text(max_size=500))
@settings(max_examples=400)
@example("---\ntitle: a\n---\n")
def test_passages_join_to_the_text(text: str) -> None:
    assert "".join(piece.text for piece in split(text)) == text


@given(MARKDOWN)
def test_no_passage_is_empty(text: str) -> None:
    assert all(piece.text for piece in split(text))


@given(PLAIN)
def test_without_fences_and_tables_no_passage_is_longer_than_the_limit(text: str) -> None:
    assert all(len(piece.text.rstrip()) <= LONGEST_CHARS for piece in split(text))


@given(MARKDOWN, st.text(st.sampled_from("ab #\n|-"), max_size=4_000), MARKDOWN)
def test_a_closed_fence_is_never_cut(before: str, code: str, after: str) -> None:
    """Five marks, so that no line of the parts can open or close it."""
    fence = f"`````\n{code}\n`````\n"
    assert any(fence in piece.text for piece in split(f"{before.replace('~', '-').replace('`', '-')}\n\n{fence}\n{after}"))


@given(MARKDOWN, st.text(max_size=40), st.integers(min_value=1, max_value=300))
def test_a_stretch_is_verbatim_and_short_enough(text: str, query: str, most: int) -> None:
    """Of a text there is always some, unless not even what people see as its first character fits."""
    found = stretch(text, query, max_chars=most)
    assert found in text
    assert len(found) <= most
    assert found or not text or most < graphemes.LONGEST


@given(st.text())
def test_words_are_read_the_same_twice(text: str) -> None:
    """Reading the written form again changes no plain word; what is only broken apart was apart before."""
    once = searchable(text)
    assert set(once.split()) <= set(searchable(once).split())


@given(st.text(max_size=300) | st.text(st.sampled_from("\"'*()^{}:-+ ANDORNOTNEAR数,\x00"), max_size=300))
@example("NEAR")
@example('"' * 299)
def test_no_query_is_an_error(query: str) -> None:
    import sqlite3

    expression = match_expression(query_terms(query))
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in TABLES:
            db.execute(statement)
        if expression:
            assert db.execute("SELECT rowid FROM words WHERE words MATCH ?", (expression,)).fetchall() == []


@given(
    st.lists(st.tuples(st.text(max_size=200), WORDS, st.text(max_size=200)), min_size=1, max_size=4),
    st.integers(min_value=0, max_value=3),
)
@settings(max_examples=60)
async def test_every_page_is_found_by_a_word_that_stands_in_it(parts: list[tuple[str, str, str]], chosen: int) -> None:
    _, word, _ = parts[chosen % len(parts)]
    assume(query_terms(word))
    pages = [
        Page(url=f"https://p.example/{number}", text=f"{before} {word} {after}", provider="test")
        for number, (before, word, after) in enumerate(parts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        library = SqliteLibrary(Path(folder) / "library.db")
        await library.add(pages)
        found = {passage.url for passage in await library.search(word, limit=len(pages))}
    assert f"https://p.example/{chosen % len(parts)}" in found


@given(IDEOGRAPHS, st.data())
@settings(max_examples=60)
async def test_every_substring_of_an_unspaced_text_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(min_value=0, max_value=len(text) - 1))
    end = data.draw(st.integers(min_value=start + 1, max_value=len(text)))
    with tempfile.TemporaryDirectory() as folder:
        library = SqliteLibrary(Path(folder) / "library.db")
        await library.add([Page(url="https://p.example/zh", text=text, provider="test")])
        assert len(await library.search(text[start:end])) == 1


PATHS = st.text(st.sampled_from("ab/%_0."), max_size=6).map(lambda path: f"https://p.example/{path}")


@given(st.sets(PATHS, min_size=1, max_size=8), PATHS)
@settings(max_examples=60)
async def test_removal_takes_the_address_and_what_is_below_it_and_nothing_else(addresses: set[str], prefix: str) -> None:
    gone = {url for url in addresses if url == prefix or url.startswith(prefix.rstrip("/") + "/")}
    with tempfile.TemporaryDirectory() as folder:
        library = SqliteLibrary(Path(folder) / "library.db")
        await library.add([Page(url=url, text="A ferry.", provider="test") for url in addresses])
        assert await library.remove(prefix) == len(gone)
        assert {entry.url for entry in await library.entries()} == addresses - gone
        assert {passage.url for passage in await library.search("ferry", limit=20)} == addresses - gone
