"""Queries as they are typed into a search box, and what SearXNG and the result pages make of them."""

from __future__ import annotations

import dataclasses
from datetime import date
from urllib.parse import parse_qs, urlsplit

import pytest

from upstreams import keyless as pages
from upstreams.sources import Source as Hit
from websearch_adapters.extract.results import ResultPage, read_results
from websearch_adapters.providers import keyless, searxng
from websearch_adapters.providers.keyless import ENGINES, Engine
from websearch_adapters.search_box import kept, typed, unsaid
from websearch_core.errors import BadReply
from websearch_core.values import SearchQuery, Source

QUERY = SearchQuery(query="Which bridge reopened?")
TODAY = date(2026, 11, 30)
MARKERS = "anomaly.js challenge-form anomaly-modal__title captcha verify you are human No results. No pages found matching"


def read(engine: Engine, text: str) -> ResultPage:
    return read_results(text, engine.url, engine.layout)


class TestTheBox:
    def test_hosts_become_terms(self) -> None:
        query = SearchQuery(query="bridge", include_domains=("a.example", "*.B.example"), exclude_domains=("c.example",))
        assert typed(query, limit=100) == "bridge (site:a.example OR site:b.example) -site:c.example"
        assert typed(SearchQuery(query="bridge", include_domains=("a.example",)), limit=100) == "bridge site:a.example"

    def test_a_bang_sends_nobody_to_another_site(self) -> None:
        assert typed(SearchQuery(query="!g bridge !!wp wow! a!b"), limit=100) == "g bridge wp wow! a!b"

    def test_words_are_cut_and_hosts_are_kept(self) -> None:
        query = SearchQuery(query="bridge " * 100, include_domains=("a.example",))
        assert typed(query, limit=60).endswith("bridge site:a.example")
        assert len(typed(query, limit=60)) <= 60

    def test_hosts_that_do_not_fit_are_left_to_the_filter(self) -> None:
        query = SearchQuery(query="bridge", exclude_domains=tuple(f"host{at}-{'x' * 40}.example" for at in range(8)))
        assert typed(query, limit=100) == "bridge"

    def test_too_many_hosts_are_left_to_the_filter_and_said(self) -> None:
        query = SearchQuery(query="bridge", include_domains=tuple(f"h{at}.example" for at in range(9)))
        assert typed(query, limit=500) == "bridge"
        assert [note.code for note in unsaid(query, provider="p")] == ["filter_afterwards"]
        assert unsaid(QUERY, provider="p") == ()

    def test_only_what_keeps_both_lists_is_kept(self) -> None:
        hits = [Source(url=f"https://{host}/") for host in ("a.example", "x.a.example", "b.example", "nota.example")]
        query = SearchQuery(query="q", include_domains=("a.example",), exclude_domains=("x.a.example",))
        assert [hit.url for hit in kept(hits, query)] == ["https://a.example/"]


class TestSearXng:
    def test_asks_for_json_of_the_categories_and_the_time(self) -> None:
        settings = searxng.SearXngSettings(categories=("general", "it"), language="de")
        asked = parse_qs(searxng.search_to_wire(dataclasses.replace(QUERY, fresh_within="week"), settings))
        assert asked == {
            "q": ["Which bridge reopened?"],
            "format": ["json"],
            "categories": ["general,it"],
            "language": ["de"],
            "time_range": ["week"],
        }
        assert "time_range" not in parse_qs(searxng.search_to_wire(QUERY, searxng.SearXngSettings()))

    def test_reads_hits_dates_and_silent_engines(self) -> None:
        reply = {
            "results": [
                {"url": "https://a.example/", "title": "A\n1", "content": " Text ", "publishedDate": "2026-11-02T00:00:00"},
                {"url": "javascript:alert(1)", "title": "no"},
                {"url": "https://www.a.example", "title": "the same page"},
                "garbage",
            ],
            "unresponsive_engines": [["google", "Suspended: CAPTCHA"], ["brave"], "garbage"],
        }
        found = searxng.search_from_wire(reply, QUERY)
        assert found.items == (
            Source(url="https://a.example/", title="A 1", description="Text", published="2026-11-02", provider="searxng"),
        )
        assert [(note.code, note.text) for note in found.notes] == [
            ("engines_unresponsive", "Engines that did not answer: google: Suspended: CAPTCHA, brave.")
        ]

    @pytest.mark.parametrize("reply", [{}, {"results": None}, {"results": {}}])
    def test_a_reply_without_a_list_is_no_empty_list(self, reply: dict[str, object]) -> None:
        with pytest.raises(BadReply):
            searxng.search_from_wire(reply, QUERY)


class TestResultPages:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_results_come_with_the_address_they_lead_to_and_without_advertisements(self, engine: str) -> None:
        address = "https://a.example/x?q=1&r=%C3%BC"
        hits = [Hit(url=address, title="A <b>", text="Some text"), Hit(url="http://b.example/", title="B")]
        page = read(ENGINES[engine], pages.results(engine, "bridge", hits))
        assert page.found == "results"
        assert keyless.to_sources(page) == (
            Source(url=address, title="A <b>", description="Some text", provider="keyless"),
            Source(url="http://b.example/", title="B", provider="keyless"),
        )

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_check_for_humans_is_no_empty_list(self, engine: str) -> None:
        assert read(ENGINES[engine], pages.check(engine, "bridge")).found == "blocked"

    def test_the_check_of_an_edge_network_is_one_too(self) -> None:
        edge = "<html><head><title>Just a moment...</title></head><body><script>_cf_chl_opt={}</script></body></html>"
        assert all(read(engine, edge).found == "blocked" for engine in ENGINES.values())

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("query", ["bridge", MARKERS])
    def test_an_honest_empty_page_is_an_empty_list(self, engine: str, query: str) -> None:
        assert read(ENGINES[engine], pages.nothing(engine, query)).found == "nothing"

    @pytest.mark.parametrize("engine", ENGINES)
    def test_marker_words_in_a_query_or_a_result_block_nobody(self, engine: str) -> None:
        hit = Hit(url="https://a.example/anomaly.js?challenge-form", title=MARKERS, text=MARKERS)
        page = read(ENGINES[engine], pages.results(engine, MARKERS, [hit]))
        assert (page.found, len(page.hits)) == ("results", 1)

    @pytest.mark.parametrize("text", ["", "not markup", "<html><body><p>Welcome to our new layout</p></body></html>", "[]"])
    def test_a_page_of_no_known_form_is_none_of_these(self, text: str) -> None:
        assert all(read(engine, text).found == "unknown" for engine in ENGINES.values())

    @pytest.mark.parametrize(
        ("engine", "within", "name", "value"),
        [
            ("duckduckgo", "week", "df", "w"),
            ("mojeek", "month", "since", "20261030"),
            ("bing", "month", "filters", 'ex1:"ez3"'),
            ("bing", "year", "filters", 'ex1:"ez5_20422_20787"'),
        ],
    )
    def test_every_engine_is_asked_for_recent_pages_in_its_own_way(self, engine: str, within: str, name: str, value: str) -> None:
        query = SearchQuery(query="bridge", fresh_within=within)  # type: ignore[arg-type]
        asked = parse_qs(urlsplit(keyless.address_of(ENGINES[engine], query, today=TODAY)).query)
        assert asked == {"q": ["bridge"], name: [value]}
        assert parse_qs(urlsplit(keyless.address_of(ENGINES[engine], QUERY, today=TODAY)).query) == {"q": [QUERY.query]}
