"""Laws of finding with several finders: nothing invented, nothing lost before it is ordered, never more than was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_core import urls
from websearch_core.chain import ExtractorChain, FinderChain, NoEngine
from websearch_core.errors import Unreachable
from websearch_core.fusion import MOST_JOINED, agreed
from websearch_core.ports import AnswerEngine
from websearch_core.ranking import Ranking
from websearch_core.search import Search, SearchRules
from websearch_core.testing.fakes import FakeCache, FakeEngine, FakeFinder
from websearch_core.values import Answer, SearchQuery, Source, SourceList

pytestmark = pytest.mark.anyio
TODAY = datetime(2026, 11, 30, tzinfo=UTC)
QUESTION = "When did the Halden Bridge reopen?"
WORDS = st.lists(st.sampled_from(["Halden", "Bridge", "reopened", "3", "May", "2026", "ferry", "tides.", "步行桥"]), max_size=12)
PAGES = st.builds(
    lambda scheme, host, path: f"{scheme}://{host}.example/{path}",
    st.sampled_from(["https", "http"]),
    st.sampled_from([f"h{number}" for number in range(30)]),
    st.sampled_from(["", "a", "a#part", "a?utm_source=x"]),
)
FOUND = st.lists(
    st.builds(Source, url=PAGES, title=WORDS.map(" ".join), description=WORDS.map(" ".join)),
    min_size=1,
    max_size=25,
    unique_by=lambda source: page(source.url),
)
LISTS = st.lists(FOUND, min_size=1, max_size=5)
MOST = st.integers(1, 20)


def page(url: str) -> str:
    return urls.canonical(url).partition("://")[2] or url


def chain_of(lists: Sequence[Sequence[Source]]) -> FinderChain:
    finders = [
        FakeFinder(
            SourceList(items=tuple(replace(source, provider=f"f{at}") for source in one), provider=f"f{at}"), name=f"f{at}"
        )
        for at, one in enumerate(lists)
    ]
    return FinderChain(finders, at_once=len(finders))


def search_over(lists: Sequence[Sequence[Source]], engine: AnswerEngine, *, fallback_sources: int = 5) -> Search:
    rules = SearchRules(inline_sources=20, fallback_sources=fallback_sources, cache_ttl_s=0.0)
    return Search(
        engine=engine,
        finder=chain_of(lists),
        extractor=ExtractorChain([]),
        cache=FakeCache(),
        rules=rules,
        now=TODAY.timestamp,
    )


@given(LISTS, MOST)
async def test_what_several_bring_is_all_there_once_in_one_order(lists: list[list[Source]], most: int) -> None:
    query = SearchQuery(query=QUESTION, extra_sources=most)
    found = await chain_of(lists).find(query)
    names = [page(source.url) for source in found.items]
    brought = {page(source.url) for one in lists for source in one[:most]}
    assert len(set(names)) == len(names) <= min(most * len(lists), MOST_JOINED)
    assert set(names) <= brought
    assert len(names) == min(len(brought), MOST_JOINED)
    assert await chain_of(lists).find(query) == found


@given(FOUND, MOST)
async def test_what_one_finder_brings_stays_as_it_is(one: list[Source], most: int) -> None:
    found = await chain_of([one]).find(SearchQuery(query=QUESTION, extra_sources=most))
    assert [source.url for source in found.items] == [source.url for source in one[:most]]


@given(LISTS, MOST, st.integers(1, 10))
async def test_a_search_lists_the_best_of_all_that_was_brought_and_no_more_than_asked(
    lists: list[list[Source]], most: int, fewest: int
) -> None:
    asked = max(most, fewest, SearchRules().candidates)
    pooled = agreed(one[:asked] for one in lists)[:MOST_JOINED]
    best = Ranking()([pooled], QUESTION, today=TODAY.date()).sources
    result = await search_over(lists, NoEngine(), fallback_sources=fewest)(SearchQuery(query=QUESTION, extra_sources=most))
    assert [source.url for source in result.sources] == [source.url for source in best[: max(most, fewest)]]
    assert result.sources_count == len(result.sources)


@given(LISTS, MOST)
async def test_beside_an_answer_stand_no_more_than_asked(lists: list[list[Source]], most: int) -> None:
    answer = Answer(text="In May.", engine="fake_engine", sources=(Source(url="https://h1.example/a"),), searched=True)
    result = await search_over(lists, FakeEngine(answer))(SearchQuery(query=QUESTION, extra_sources=most))
    assert result.sources[0].url == "https://h1.example/a"
    assert len(result.sources) <= 1 + most


@given(LISTS, MOST, st.integers(1, 10))
async def test_in_place_of_an_answer_stand_no_more_than_the_operator_wants(
    lists: list[list[Source]], most: int, fallback: int
) -> None:
    search = search_over(lists, FakeEngine(Unreachable("gone")), fallback_sources=fallback)
    result = await search(SearchQuery(query=QUESTION, extra_sources=most))
    assert result.fallback_used
    assert 1 <= len(result.sources) <= fallback
