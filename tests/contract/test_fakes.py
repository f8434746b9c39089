"""The fakes follow their scripts. That they keep the promises of their ports is tested with those, port by port."""

from __future__ import annotations

import asyncio

import pytest

from websearch_core.errors import AuthRejected, Unreachable
from websearch_core.testing.fakes import (
    FakeCache,
    FakeClock,
    FakeConfiguration,
    FakeCredentials,
    FakeEngine,
    FakeExtractor,
    FakeFinder,
    FakeLibrary,
    FakeMapper,
    FakeProbe,
    Gate,
    RecordingObserver,
)
from websearch_core.values import (
    Answer,
    FetchRequest,
    Link,
    MapRequest,
    Page,
    SearchQuery,
    Secret,
    SiteMap,
)

PAGE_URL = "https://docs.example.org/page"
PAGE = Page(url=PAGE_URL, text="A page about the bridge.", provider="fake_extractor")
QUERY = SearchQuery(query="bridges")


class TestScripts:
    pytestmark = pytest.mark.anyio

    async def test_steps_come_in_turn_and_the_last_repeats(self) -> None:
        first, last = (Answer(text=text, engine="fake_engine") for text in ("first", "last"))
        engine = FakeEngine([first, Unreachable("gone"), last])
        assert await engine.answer(QUERY) is first
        with pytest.raises(Unreachable, match="gone"):
            await engine.answer(QUERY)
        assert [await engine.answer(QUERY), await engine.answer(QUERY)] == [last, last]

    def test_a_script_without_steps_is_refused(self) -> None:
        with pytest.raises(ValueError, match="needs a step"):
            FakeEngine([])

    async def test_every_question_is_recorded(self) -> None:
        engine, finder, extractor, mapper, probe = FakeEngine(), FakeFinder(), FakeExtractor(), FakeMapper(), FakeProbe()
        await engine.answer(QUERY)
        await finder.find(QUERY)
        await extractor.extract(FetchRequest(url=PAGE_URL))
        await mapper.map(MapRequest(url=PAGE_URL))
        await probe.probe(live=True)
        assert (engine.asked, finder.asked) == ([QUERY], [QUERY])
        assert (extractor.asked, mapper.asked) == ([FetchRequest(url=PAGE_URL)], [MapRequest(url=PAGE_URL)])
        assert probe.asked == [True]

    async def test_a_released_gate_gives_its_value_or_raises_its_error(self) -> None:
        page, failing = Gate(PAGE), Gate[Page](Unreachable("gone"))
        extractor = FakeExtractor([page, failing])
        first = asyncio.ensure_future(extractor.extract(FetchRequest(url=PAGE_URL)))
        second = asyncio.ensure_future(extractor.extract(FetchRequest(url=PAGE_URL)))
        await page.until_entered()
        await failing.until_entered()
        assert not first.done()
        page.release()
        failing.release()
        assert await first is PAGE
        with pytest.raises(Unreachable, match="gone"):
            await second
        assert (page.entered, page.cancelled) == (1, 0)

    async def test_a_gate_counts_the_calls_that_it_holds(self) -> None:
        gate = Gate(PAGE)
        extractor = FakeExtractor(gate)
        calls = [asyncio.ensure_future(extractor.extract(FetchRequest(url=PAGE_URL))) for _ in range(3)]
        await gate.until_entered(3)
        calls[0].cancel()
        await gate.until_cancelled()
        gate.release()
        assert await asyncio.gather(*calls[1:]) == [PAGE, PAGE]
        assert (gate.entered, gate.cancelled) == (3, 1)


class TestWhatTheFakesAdd:
    pytestmark = pytest.mark.anyio

    async def test_a_finder_drops_what_the_filters_it_keeps_forbid(self) -> None:
        query = SearchQuery(query="x", include_domains=("site1.example", "site2.example"), exclude_domains=("site2.example",))
        found = await FakeFinder().find(query)
        assert [source.url for source in found.items] == ["https://site1.example/page"]

    async def test_a_finder_leaves_what_it_does_not_claim_to_filter(self) -> None:
        query = SearchQuery(query="x", include_domains=("site1.example",), exclude_domains=("site2.example",))
        assert len((await FakeFinder(keeps=()).find(query)).items) == 10

    async def test_an_extractor_takes_pages_as_text_and_finds_them_in_any_spelling(self) -> None:
        extractor = FakeExtractor({PAGE_URL: "The bridge is open."}, name="reader")
        page = await extractor.extract(FetchRequest(url="HTTPS://docs.example.org:443/page#top"))
        assert page is not None
        assert (page.text, page.provider, page.url) == ("The bridge is open.", "reader", PAGE_URL)

    async def test_a_mapper_says_when_it_cut(self) -> None:
        site = SiteMap(
            root=PAGE_URL, links=(Link(url="https://a.example/"), Link(url="https://b.example/")), provider="fake_mapper"
        )
        mapper = FakeMapper(site)
        assert (await mapper.map(MapRequest(url=PAGE_URL, limit=1))).truncated is True
        assert await mapper.map(MapRequest(url=PAGE_URL, limit=2)) == site

    async def test_a_forgetful_cache_keeps_nothing(self) -> None:
        cache = FakeCache(forgetful=True)
        assert await cache.add("key", PAGE, ttl_s=60) is True
        assert await cache.get("key", Page) is None
        assert cache.keys == ()

    async def test_a_cache_tells_its_keys(self) -> None:
        clock = FakeClock()
        cache = FakeCache(clock)
        await cache.put("short", PAGE, ttl_s=1)
        await cache.put("long", PAGE, ttl_s=60)
        clock.advance(2)
        assert cache.keys == ("long",)

    async def test_credentials_keep_what_they_were_told(self) -> None:
        credentials = FakeCredentials({"tavily": "tvly-one"})
        error = AuthRejected("refused")
        async with credentials.lease("tavily") as lease:
            assert (lease.secret, lease.was_accepted, credentials.leased) == (Secret("tvly-one"), False, 1)
            await lease.accepted()
        async with credentials.lease("tavily") as again:
            assert await again.failed(error) is False
        assert lease.was_accepted
        assert credentials.told == [("tavily", Secret("tvly-one"), error)]
        assert (credentials.succeeded, credentials.leased) == ([Secret("tvly-one")], 0)

    async def test_a_failing_library_fails_every_call(self) -> None:
        library = FakeLibrary([PAGE], failure=Unreachable("the disk is gone"))
        for call in (library.add([PAGE]), library.remove("x"), library.entries(), library.search("bridge")):
            with pytest.raises(Unreachable, match="the disk is gone"):
                await call
        library.failure = None
        assert [passage.url for passage in await library.search("bridge")] == [PAGE_URL]

    def test_a_configuration_tells_the_problems_given(self) -> None:
        assert FakeConfiguration(problems=["unknown key: tavilly"]).problems() == ("unknown key: tavilly",)

    def test_an_observer_records_spans_with_their_facts_and_outcome(self) -> None:
        observer = RecordingObserver()
        with observer.span("search", provider="tavily") as span:
            span.note(status=200)
            assert observer.spans[0].ended is False
        with pytest.raises(Unreachable), observer.span("fetch"):
            raise Unreachable("gone")
        search, fetch = observer.spans
        assert (search.name, search.facts, search.error, search.ended) == (
            "search",
            {"provider": "tavily", "status": 200},
            None,
            True,
        )
        assert isinstance(fetch.error, Unreachable)
        assert observer.named("fetch") == [fetch]
