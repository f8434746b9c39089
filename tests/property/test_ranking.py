"""Laws of joining and ordering lists of pages, and of the words by which they are compared."""

from __future__ import annotations

from collections import Counter
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from websearch_core import urls
from websearch_core.fusion import agreed, weighed
from websearch_core.passages import searchable, words_of
from websearch_core.ranking import Ranking
from websearch_core.similarity import alike, sketch
from websearch_core.testing.strategies import hostile_text, sources
from websearch_core.values import Source

TODAY = date(2026, 11, 30)
LISTS = st.lists(st.lists(sources(), max_size=6), max_size=3)


def page(url: str) -> str:
    return urls.canonical(url).partition("://")[2] or url


@given(LISTS)
def test_each_page_of_the_lists_is_there_once_and_the_weightier_before_the_lighter(lists: list[list[Source]]) -> None:
    names = [page(source.url) for source in agreed(lists)]
    assert Counter(names) == Counter({page(source.url) for one in lists for source in one})
    weights = {page(source.url): weight for source, weight in weighed(lists)}
    assert [weights[name] for name in names] == sorted(weights.values(), reverse=True)


@given(LISTS)
def test_a_list_asked_twice_changes_no_order(lists: list[list[Source]]) -> None:
    assert [source.url for source in agreed([*lists, *lists])] == [source.url for source in agreed(lists)]


@given(LISTS, hostile_text())
def test_ranking_invents_no_page_and_loses_none_unsaid(lists: list[list[Source]], question: str) -> None:
    given_pages = {page(source.url) for one in lists for source in one}
    ranked = Ranking()(lists, question, today=TODAY)
    named = [page(source.url) for source in ranked.sources]
    assert len(set(named)) == len(named)
    assert set(named) <= given_pages
    assert len(named) + ranked.folded == len(given_pages)
    assert Ranking()(lists, question, today=TODAY) == ranked


@given(hostile_text(), hostile_text())
def test_words_are_those_of_the_index_and_those_of_two_texts_are_those_of_each(one: str, other: str) -> None:
    assert words_of(one) == searchable(one).split()
    assert words_of(f"{one} \n{other}") == words_of(one) + words_of(other)


@given(hostile_text(max_size=400), hostile_text(max_size=400))
def test_being_alike_goes_both_ways(one: str, other: str) -> None:
    assert alike(sketch(one), sketch(other)) == alike(sketch(other), sketch(one))
