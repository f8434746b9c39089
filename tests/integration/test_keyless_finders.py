"""The finders that need no key, over simulated instances and result pages: blocks, fusion, hosts, rest."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from shared_worker import WORKER
from upstreams.keyless import PATHS, ResultPagesUpstream
from upstreams.script import hang, status
from upstreams.searxng import SearXngUpstream
from upstreams.serve import serve, transport
from upstreams.simulator import Simulator
from upstreams.sources import Source as Hit
from websearch_adapters.http.client import Http
from websearch_adapters.http.pages import PageClient
from websearch_adapters.providers.keyless import ENGINES, Engine, Keyless, KeylessSettings
from websearch_adapters.providers.searxng import PROVIDER, SearXng, SearXngSettings
from websearch_core.chain import FinderChain
from websearch_core.errors import BadReply, Declined, NotConfigured, Unreachable, WrongAddress
from websearch_core.retry import RetryPolicy
from websearch_core.testing.fakes import FakeClock, FakeCredentials, FakeFinder
from websearch_core.values import SearchQuery

pytestmark = pytest.mark.anyio

QUERY = SearchQuery(query="footbridge")
Make = Callable[..., Keyless]
A, B, C = (Hit(url=f"https://{name}.example/bridge", title=name.upper(), text=f"Text of {name}") for name in "abc")


def engines(*names: str, base_url: str = "http://engines.test") -> tuple[Engine, ...]:
    return tuple(dataclasses.replace(ENGINES[name], url=f"{base_url}{PATHS[name]}") for name in names or PATHS)


@pytest.fixture
async def keyless() -> AsyncIterator[Make]:
    async with AsyncExitStack() as stack:

        def make(upstream: Simulator, *names: str, clock: FakeClock | None = None, patience_s: float = 60.0) -> Keyless:
            pages = PageClient(transport=transport(upstream))
            stack.push_async_callback(pages.aclose)
            return Keyless(
                pages, WORKER, KeylessSettings(engines=engines(*names), patience_s=patience_s), clock=clock or FakeClock()
            )

        yield make


class TestKeyless:
    @pytest.mark.requirement("OURS-45")
    async def test_the_lists_of_the_engines_become_one(self, keyless: Make) -> None:
        upstream = ResultPagesUpstream(sources={"duckduckgo": [A, B], "mojeek": [C, B], "bing": [B]})
        found = await keyless(upstream).find(QUERY)
        assert [(source.url, source.provider) for source in found.items] == [
            (B.url, "keyless"), (A.url, "keyless"), (C.url, "keyless"),
        ]  # fmt: skip
        assert found.notes == ()
        assert {request.headers.get("cookie") for request in upstream.requests} == {None}

    async def test_each_engine_may_fill_the_number_that_is_asked_for(self, keyless: Make) -> None:
        """Which pages to leave out is known once they are ordered; an engine that has nothing makes no room for the others."""
        many = {name: [Hit(url=f"https://{name}{at}.example/", title="T", text="Text") for at in range(9)] for name in PATHS}
        upstream = ResultPagesUpstream(sources=many, shown={"bing": "nothing"})
        assert len((await keyless(upstream).find(dataclasses.replace(QUERY, extra_sources=3))).items) == 6
        all_three = ResultPagesUpstream(sources=many)
        assert len((await keyless(all_three).find(dataclasses.replace(QUERY, extra_sources=3))).items) == 9
        assert len((await keyless(all_three).find(QUERY)).items) == 15

    @pytest.mark.parametrize("code", [200, 202])
    async def test_a_check_for_humans_is_blocked_and_says_what_to_set(self, keyless: Make, code: int) -> None:
        upstream = ResultPagesUpstream(shown=dict.fromkeys(PATHS, "check"), code=code)
        with pytest.raises(Declined) as caught:
            await keyless(upstream).find(QUERY)
        error = caught.value
        assert (error.upstream_code, error.retry_after_s, error.repeatable) == ("blocked", 1_200.0, False)
        assert "duckduckgo, mojeek, bing" in error.message
        assert all(name in (error.hint or "") for name in ("searxng.url", "TAVILY_API_KEY", "FIRECRAWL_API_KEY"))

    @pytest.mark.parametrize("code", [200, 202])
    async def test_an_honest_empty_page_is_an_empty_list(self, keyless: Make, code: int) -> None:
        found = await keyless(ResultPagesUpstream(shown=dict.fromkeys(PATHS, "nothing"), code=code)).find(QUERY)
        assert (found.items, found.notes) == ((), ())

    @pytest.mark.requirement("OURS-45")
    async def test_a_blocking_engine_rests_for_twenty_minutes_while_the_others_go_on(self, keyless: Make) -> None:
        clock, upstream = FakeClock(), ResultPagesUpstream(shown={"duckduckgo": "check"})
        finder = keyless(upstream, clock=clock)
        first = await finder.find(QUERY)
        assert first.items
        assert [note.code for note in first.notes] == ["keyless_blocked"]
        clock.advance(1_199)
        second = await finder.find(QUERY)
        assert [note.code for note in second.notes] == ["engines_resting"]
        assert upstream.asked("duckduckgo") == 1
        clock.advance(2)
        await finder.find(QUERY)
        assert upstream.asked("duckduckgo") == 2

    async def test_when_all_rest_nobody_is_asked_and_the_doctor_says_so(self, keyless: Make) -> None:
        clock, upstream = FakeClock(), ResultPagesUpstream(shown=dict.fromkeys(PATHS, "check"))
        finder = keyless(upstream, clock=clock)
        assert (await finder.probe()).detail == "asks duckduckgo, mojeek, bing"
        for _ in range(2):
            with pytest.raises(Declined):
                await finder.find(QUERY)
        assert len(upstream.requests) == 3
        assert (await finder.probe()).state == "failing"

    @pytest.mark.parametrize("code", [403, 429])
    async def test_a_refusal_by_status_rests_the_engine_too(self, keyless: Make, code: int) -> None:
        upstream = ResultPagesUpstream(paths={PATHS["bing"]: status(code)})
        finder = keyless(upstream)
        await finder.find(QUERY)
        await finder.find(QUERY)
        assert upstream.asked("bing") == 1

    async def test_a_fault_of_an_engine_is_a_note_and_no_reason_to_rest(self, keyless: Make) -> None:
        upstream = ResultPagesUpstream(paths={PATHS["bing"]: status(503)})
        finder = keyless(upstream)
        assert [note.code for note in (await finder.find(QUERY)).notes] == ["keyless_unreachable"]
        await finder.find(QUERY)
        assert upstream.asked("bing") == 2

    async def test_all_failing_is_an_error_and_never_an_empty_list(self, keyless: Make) -> None:
        with pytest.raises(Unreachable):
            await keyless(ResultPagesUpstream(script=status(503))).find(QUERY)

    async def test_a_page_of_no_known_form_is_a_bad_reply(self, keyless: Make) -> None:
        strange = dict.fromkeys(PATHS, "<html><body><p>Our new layout</p></body></html>")
        with pytest.raises(BadReply):
            await keyless(ResultPagesUpstream(shown=strange)).find(QUERY)

    async def test_an_engine_that_hangs_does_not_hold_the_others_up(self, keyless: Make) -> None:
        upstream = ResultPagesUpstream(paths={PATHS["mojeek"]: hang()})
        found = await keyless(upstream, patience_s=0.05).find(QUERY)
        assert found.items
        assert {note.code for note in found.notes} == {"keyless_out_of_time"}
        await upstream.until(lambda it: it.disconnects == 1 and it.in_flight == 0)

    async def test_hosts_are_asked_for_and_kept(self, keyless: Make) -> None:
        upstream = ResultPagesUpstream(sources=dict.fromkeys(PATHS, (A, B, C)))
        query = dataclasses.replace(QUERY, include_domains=("a.example", "b.example"), exclude_domains=("b.example",))
        found = await keyless(upstream).find(query)
        assert [source.url for source in found.items] == [A.url]
        assert {request.params["q"] for request in upstream.requests} == {
            "footbridge (site:a.example OR site:b.example) -site:b.example"
        }

    async def test_blocked_engines_hand_over_to_the_next_finder(self, keyless: Make) -> None:
        blocked = keyless(ResultPagesUpstream(shown=dict.fromkeys(PATHS, "check"), code=202))
        found = await FinderChain([blocked, FakeFinder()]).find(QUERY)
        assert (found.provider, found.notes[0].code) == ("fake_finder", "keyless_blocked")

    async def test_works_over_a_real_connection(self) -> None:
        upstream = ResultPagesUpstream()
        async with serve(upstream) as base_url:
            pages = PageClient(allow=("127.0.0.1",))
            finder = Keyless(pages, WORKER, KeylessSettings(engines=engines(base_url=base_url), patience_s=60.0))
            assert len((await finder.find(dataclasses.replace(QUERY, extra_sources=8))).items) == 8
            await pages.aclose()


class TestSearXng:
    @pytest.fixture
    async def instance(self) -> AsyncIterator[Callable[[SearXngUpstream], SearXng]]:
        async with AsyncExitStack() as stack:

            def make(upstream: SearXngUpstream) -> SearXng:
                http = Http(FakeCredentials({}), transport=transport(upstream))
                stack.push_async_callback(http.aclose)
                return SearXng(http, SearXngSettings(base_url="http://searx.test", retry=RetryPolicy(max_attempts=1)))

            yield make

    @pytest.mark.requirement("OURS-44")
    async def test_finds_pages_with_days(self, instance: Callable[[SearXngUpstream], SearXng]) -> None:
        upstream = SearXngUpstream(unresponsive=[("google", "timeout")])
        found = await instance(upstream).find(dataclasses.replace(QUERY, fresh_within="month"))
        assert (len(found.items), found.items[0].published) == (5, "2026-11-29")
        assert [note.code for note in found.notes] == ["engines_unresponsive"]
        assert upstream.last.params["time_range"] == "month"
        assert upstream.last.key is None

    @pytest.mark.parametrize(("names", "most"), [(["mojeek"], 9), (["mojeek", "bing"], 18), (list("abcdefgh"), 40)])
    async def test_each_engine_of_the_instance_may_fill_the_number_that_is_asked_for(
        self, instance: Callable[[SearXngUpstream], SearXng], names: list[str], most: int
    ) -> None:
        many = [Hit(url=f"https://{at}.example/", title="T", text="Text") for at in range(60)]
        upstream = SearXngUpstream(sources=many, engines=names)
        found = await instance(upstream).find(dataclasses.replace(QUERY, extra_sources=9))
        assert [source.url for source in found.items] == [hit.url for hit in many[:most]]

    async def test_an_instance_without_json_is_told_apart_from_a_wrong_address(
        self, instance: Callable[[SearXngUpstream], SearXng]
    ) -> None:
        with pytest.raises(WrongAddress) as caught:
            await instance(SearXngUpstream(formats=("html",))).find(QUERY)
        assert "formats: [html, json]" in (caught.value.hint or "")
        assert caught.value.http_status == 403

    async def test_hosts_are_kept_though_the_engines_do_not(self, instance: Callable[[SearXngUpstream], SearXng]) -> None:
        upstream = SearXngUpstream(sources=[A, B, C])
        found = await instance(upstream).find(dataclasses.replace(QUERY, include_domains=("b.example",)))
        assert [source.url for source in found.items] == [B.url]
        assert upstream.last.params["q"] == "footbridge site:b.example"

    async def test_the_doctor_counts_engines(self, instance: Callable[[SearXngUpstream], SearXng]) -> None:
        finder = instance(SearXngUpstream())
        assert (await finder.probe()).detail == "2 engines at http://searx.test"
        assert (await finder.probe(live=True)).detail == "a search brought 1 result(s)"

    async def test_without_an_address_it_is_off(self) -> None:
        finder = PROVIDER.make(SearXngSettings(), Http(FakeCredentials({})))
        assert isinstance(finder, SearXng)
        assert (await finder.probe()).state == "off"
        with pytest.raises(NotConfigured, match="SearXNG"):
            await finder.find(QUERY)
