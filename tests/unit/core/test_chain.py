"""Chains: order, silence, notes, strictness."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from websearch_core.chain import ExtractorChain, FinderChain, SecondOpinion
from websearch_core.errors import AllFailed, InvalidInput, NotConfigured, Unreachable
from websearch_core.fusion import MOST_JOINED
from websearch_core.search import Search
from websearch_core.testing.fakes import FakeCache, FakeEngine, FakeExtractor, FakeFinder, FakeScorer, Gate
from websearch_core.values import Answer, FetchRequest, Note, SearchQuery, Source, SourceList

pytestmark = pytest.mark.anyio
HIT = SourceList(items=(Source(url="https://a.example/"),), provider="second")
QUIET = Answer(text="In May.", engine="fake_engine", searched=None)
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


def found_by(name: str, *paths: str) -> FakeFinder:
    items = tuple(Source(url=f"https://{path}", title=f"{path} by {name}", provider=name) for path in paths)
    return FakeFinder(SourceList(items=items, provider=name), name=name)


class TestSeveralAtOnce:
    """Finders that are asked together, and what their lists become."""

    async def test_what_several_found_comes_first_and_nothing_comes_twice(self) -> None:
        """By reciprocal ranks; an address is the same with another case, port, tracking parameter or fragment."""
        one = found_by("one", "a.example/only-one", "b.example/both?utm_source=x", "c.example/")
        two = found_by("two", "d.example/only-two", "B.example:443/both#part", "e.example/")
        found = await FinderChain([one, two], at_once=2).find(SearchQuery(query="q"))
        assert [(item.url, item.provider) for item in found.items] == [
            ("https://b.example/both?utm_source=x", "one"),
            ("https://a.example/only-one", "one"),
            ("https://d.example/only-two", "two"),
            ("https://c.example/", "one"),
            ("https://e.example/", "two"),
        ]
        assert found.provider == "one+two"

    async def test_each_is_asked_for_the_same_number_and_what_they_bring_stays_together(self) -> None:
        """Which of them to leave out is known once they are filtered, ordered and folded."""
        one, two = found_by("one", "a.example/", "b.example/"), found_by("two", *(f"{n}.example/" for n in range(9)))
        together = FinderChain([one, two], at_once=2)
        assert len((await together.find(SearchQuery(query="q"))).items) == 11
        assert len((await together.find(SearchQuery(query="q", extra_sources=3))).items) == 2 + 3
        assert [query.extra_sources for query in (*one.asked, *two.asked)] == [None, 3, None, 3]

    async def test_no_joined_list_is_longer_than_is_worth_ordering(self) -> None:
        finders = [found_by(name, *(f"{name}{n}.example/" for n in range(20))) for name in ("one", "two", "three")]
        found = await FinderChain(finders, at_once=3).find(SearchQuery(query="q", extra_sources=20))
        assert len(found.items) == MOST_JOINED
        alone = await FinderChain([found_by("one", *(f"{n}.example/" for n in range(50)))], at_once=3).find(
            SearchQuery(query="q")
        )
        assert len(alone.items) == 50

    async def test_a_search_cuts_after_it_has_ordered(self) -> None:
        """What answers is the tenth of one finder and so the last of nineteen; it comes first, and as many as were asked for."""
        best = Source(url="https://www.town.gov.example/bridge", title="Bridge", description="The bridge opened on 3 May 2026.")
        chatter = tuple(Source(url=f"https://{n}.example/", title="Chatter") for n in range(9))
        two = FakeFinder(SourceList(items=(*chatter, best), provider="two"), name="two")
        chain = FinderChain([found_by("one", *(f"one{n}.example/" for n in range(9))), two], at_once=2)
        use = Search(engine=FakeEngine(QUIET), finder=chain, extractor=ExtractorChain([]), cache=FakeCache())
        result = await use(SearchQuery(query="When did the bridge open?", extra_sources=1))
        assert [source.url for source in result.sources] == [best.url]

    async def test_who_fails_or_finds_nothing_leaves_a_note_and_the_others_count(self) -> None:
        gone, nothing = FakeFinder(Unreachable("gone", provider="gone"), name="gone"), FakeFinder(SourceList(), name="nothing")
        found = await FinderChain([gone, nothing, found_by("one", "a.example/")], at_once=3).find(SearchQuery(query="q"))
        assert (found.provider, [item.url for item in found.items]) == ("one", ["https://a.example/"])
        assert [(note.code, note.provider) for note in found.notes] == [("gone_unreachable", "gone"), ("no_results", "nothing")]

    async def test_the_next_ones_are_asked_only_when_the_first_ones_found_nothing(self) -> None:
        first, second, third = (found_by(name, f"{name}.example/") for name in ("one", "two", "three"))
        assert (await FinderChain([first, second, third], at_once=2).find(SearchQuery(query="q"))).provider == "one+two"
        assert third.asked == []
        nothing = FakeFinder(SourceList(), name="nothing")
        assert (await FinderChain([nothing, nothing, third], at_once=2).find(SearchQuery(query="q"))).provider == "three"

    async def test_all_are_asked_at_the_same_time(self) -> None:
        gate: Gate[SourceList] = Gate(HIT)
        chain = FinderChain([FakeFinder(gate, name="second"), FakeFinder(gate, name="second")], at_once=2)
        asked = asyncio.ensure_future(chain.find(SearchQuery(query="q")))
        await gate.until_entered(2)
        gate.release()
        assert [item.url for item in (await asked).items] == ["https://a.example/"]

    async def test_nobody_waits_for_a_slow_one_beyond_the_patience(self) -> None:
        gate: Gate[SourceList] = Gate(HIT)
        chain = FinderChain([FakeFinder(gate, name="slow"), found_by("one", "a.example/")], at_once=2, patience_s=0.0)
        found = await chain.find(SearchQuery(query="q"))
        assert (found.provider, gate.cancelled) == ("one", 1)
        assert [(note.provider, "slower" in note.text) for note in found.notes] == [("slow", True)]

    async def test_but_they_do_where_nobody_has_found_anything_yet(self) -> None:
        gate: Gate[SourceList] = Gate(HIT)
        chain = FinderChain([FakeFinder(gate, name="slow"), FakeFinder(SourceList(), name="nothing")], at_once=2, patience_s=0.0)
        asked = asyncio.ensure_future(chain.find(SearchQuery(query="q")))
        await gate.until_entered(1)
        gate.release()
        assert [item.url for item in (await asked).items] == ["https://a.example/"]

    async def test_each_source_of_a_search_names_the_finder_that_brought_it(self) -> None:
        chain = FinderChain([found_by("one", "a.example/"), found_by("two", "b.example/")], at_once=2)
        use = Search(engine=FakeEngine(), finder=chain, extractor=ExtractorChain([]), cache=FakeCache())
        result = await use(SearchQuery(query="q", extra_sources=2))
        assert {source.provider for source in result.sources} >= {"one_enrichment", "two_enrichment"}
        failing = Search(engine=FakeEngine(Unreachable("x")), finder=chain, extractor=ExtractorChain([]), cache=FakeCache())
        result = await failing(SearchQuery(query="q", extra_sources=2))
        assert result.search_provider == "one+two_fallback"
        assert {source.provider for source in result.sources} == {"one_fallback", "two_fallback"}


SPREAD = SourceList(
    items=(
        Source(url="https://a.example/", title="Bees"),
        Source(url="https://b.example/", title="Honey"),
        Source(url="https://c.example/", title="the bridge", description="when the bridge did open"),
    ),
    provider="fake_finder",
)


@pytest.mark.requirement("OURS-RANK-05")
async def test_a_second_opinion_is_joined_with_the_finders_order() -> None:
    scorer = FakeScorer()
    finder = SecondOpinion(FakeFinder(SPREAD), scorer)
    found = await finder.find(SearchQuery(query="when did the bridge open"))
    assert [item.url for item in found.items] == ["https://a.example/", "https://c.example/", "https://b.example/"]
    assert (finder.name, finder.keeps, len(finder.finders)) == (FakeFinder().name, FakeFinder().keeps, 1)
    assert scorer.asked[0][1][2] == "the bridge\nwhen the bridge did open"


async def test_a_scorer_that_cannot_say_leaves_the_order_and_a_note() -> None:
    finder = SecondOpinion(FakeFinder(SPREAD), FakeScorer(NotConfigured("no model is there")))
    found = await finder.find(SearchQuery(query="bridge"))
    assert found.items == SPREAD.items
    assert [(note.code, note.provider) for note in found.notes] == [("second_opinion_missing", "fake_scorer")]


async def test_one_page_needs_no_opinion_and_an_empty_chain_stays_empty() -> None:
    scorer = FakeScorer()
    one = dataclasses.replace(SPREAD, items=SPREAD.items[:1])
    assert (await SecondOpinion(FakeFinder(one), scorer).find(SearchQuery(query="bridge"))) == one
    assert (scorer.asked, SecondOpinion(FinderChain([]), scorer).finders) == ([], ())
