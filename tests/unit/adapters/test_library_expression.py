"""Queries as expressions of the index."""

from __future__ import annotations

import sqlite3

import pytest

from websearch_adapters.library.expression import match_expression
from websearch_core.passages import query_terms, searchable


@pytest.mark.parametrize("query", ["", "   ", '"', "()", "***", "- . :", "\x00", "\ud800"])
def test_a_query_without_a_word_has_no_expression(query: str) -> None:
    assert match_expression(query_terms(query)) == ""


def test_stop_words_are_left_out_when_others_remain() -> None:
    assert match_expression(query_terms("what is the ferry")) == '"ferry"'
    assert match_expression(query_terms("如何 安装")) == '"安装"'


def test_stop_words_are_looked_for_when_there_is_nothing_else() -> None:
    assert match_expression(query_terms("who is who")) == '"who" OR "is"'


def test_operators_are_words_like_others() -> None:
    assert match_expression(query_terms('ferry NEAR("boat", 5)')) == '"ferry" OR "near" OR "boat" OR "5"'


def test_a_run_of_an_unspaced_script_is_looked_for_whole_and_in_pairs() -> None:
    assert match_expression(query_terms("数据库")) == '"数据 据库" OR "数据" OR "据库"'
    assert match_expression(query_terms("猫")) == '"猫"*'


def test_a_long_query_is_cut_to_64_terms() -> None:
    expression = match_expression(query_terms(" ".join(f"term{number}" for number in range(5_000))))
    assert expression.count(" OR ") == 63


def test_the_index_reads_the_words_as_they_are_written() -> None:
    """The tokeniser of the table must not split or fold anything further: checked against SQLite itself."""
    from websearch_adapters.library.index import TABLES

    text = "snake_case os.path.join well-known 数据库 हिन्दी ภาษาไทย \U00020000\U00020001 naïve"
    db = sqlite3.connect(":memory:")
    for statement in TABLES:
        db.execute(statement)
    db.execute("INSERT INTO words (title, heading, text) VALUES ('', '', ?)", (searchable(text),))
    db.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (words, 'row')")
    kept = {row[0] for row in db.execute("SELECT term FROM terms")}
    db.close()
    unstemmed = {word for word in searchable(text).split() if not word.isascii() or not word.isalpha()}
    assert {"snake_cas", "os.path.join", "well-known"} <= kept
    assert unstemmed - {"snake_case"} <= kept
