"""Chains: order, silence, notes, strictness."""

from __future__ import annotations

import pytest

from websearch_core.chain import ExtractorChain, FinderChain
from websearch_core.errors import AllFailed, InvalidInput, NotConfigured, Unreachable
from websearch_core.search import Search
from websearch_core.testing.fakes import FakeCache, FakeEngine, FakeExtractor, FakeFinder
from websearch_core.values import FetchRequest, Note, SearchQuery, Source, SourceList

pytestmark = pytest.mark.anyio
HIT = SourceList(items=(Source(url="https://a.example/"),), provider="second")
BLANK = SourceList(items=(Source(url=""), Source(url="not a url")), provider="first")


@pytest.mark.requirement("RS-SERVICE-04")
async def test_items_without_a_usable_address_do_not_count_as_a_hit() -> None:
    found = await FinderChain([FakeFinder(BLANK, name="first"), FakeFinder(HIT, name="second")]).find(SearchQuery(query="q"))
    assert (found.provider, len(found.items)) == ("second", 1)
    assert [(note.code, note.provider) for note in found.notes] == [("no_results", "first")]


@pytest.mark.requirement("RS-SERVICE-05")
async def test_a_finder_that_cannot_keep_the_window_is_passed_over_with_a_note() -> None:
    blind = FakeFinder(HIT, name="blind", keeps=())
    found = await FinderChain([blind, FakeFinder(HIT, name="second")]).find(SearchQuery(query="q", fresh_within="week"))
    assert (found.provider, blind.asked) == ("second", [])
    assert [(note.code, note.provider) for note in found.notes] == [("filter_unsupported", "blind")]


async def test_finding_nothing_is_a_list_and_failing_to_look_is_an_error() -> None:
    nothing = FinderChain([FakeFinder(SourceList(), name="a"), FakeFinder(SourceList(), name="b")])
    found = await nothing.find(SearchQuery(query="q"))
    assert (found.items, [note.code for note in found.notes]) == ((), ["no_results", "no_results"])
    half = FinderChain([FakeFinder(Unreachable("x", provider="a"), name="a"), FakeFinder(SourceList(), name="b")])
    with pytest.raises(AllFailed) as caught:
        await half.find(SearchQuery(query="q"))
    assert [(type(one).__name__, one.provider) for one in caught.value.attempts] == [("Unreachable", "a"), ("EmptyResult", "b")]


async def test_a_failed_finder_beside_an_empty_one_makes_the_search_partial() -> None:
    finder = FinderChain(
        [FakeFinder(Unreachable("x", provider="tavily"), name="tavily"), FakeFinder(SourceList(), name="library")]
    )
    use = Search(engine=FakeEngine(), finder=finder, extractor=ExtractorChain([]), cache=FakeCache())
    result = await use(SearchQuery(query="q", extra_sources=2))
    assert (result.status, result.error_detail.code if result.error_detail else "") == ("partial_success", "all_failed")


async def test_parts_that_are_off_are_named_in_the_notes() -> None:
    off = [Note(code="not_configured", text="no key", provider="tavily")]
    found = await FinderChain([FakeFinder(HIT, name="second")], off=off).find(SearchQuery(query="q"))
    assert [note.provider for note in found.notes] == ["tavily"]


async def test_an_empty_chain_is_not_configured() -> None:
    with pytest.raises(NotConfigured):
        await FinderChain([]).find(SearchQuery(query="q"))
    assert FinderChain([]).keeps == frozenset()
    both = FinderChain([FakeFinder(keeps=("include_domains", "fresh_within")), FakeFinder(keeps=("include_domains",))])
    assert both.keeps == {"include_domains"}


async def test_a_chain_declines_what_all_its_readers_decline() -> None:
    assert await ExtractorChain([FakeExtractor({}), FakeExtractor({})]).extract(FetchRequest(url="https://a.example/")) is None


async def test_naming_a_reader_that_is_not_there_is_the_callers_fault() -> None:
    with pytest.raises(InvalidInput, match="none"):
        await ExtractorChain([]).extract(FetchRequest(url="https://a.example/", provider="x"))
