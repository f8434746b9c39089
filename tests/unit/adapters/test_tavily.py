"""Tavily's translations, against the example payloads."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from upstreams import examples
from websearch_adapters.http import failures
from websearch_adapters.providers import tavily
from websearch_adapters.providers.tavily import TavilySettings
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    EmptyResult,
    OutOfCredit,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.values import FetchRequest, Link, MapRequest, SearchQuery

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BRIDGE = "https://council.example.org/news/footbridge-reopens"
GAZETTE = "https://gazette.example.com/2026/11/footbridge"
QUERY = SearchQuery(query="Example Valley footbridge")
PAGE = FetchRequest(url=BRIDGE)
SITE = MapRequest(url="https://council.example.org")
SETTINGS = TavilySettings()


def found(results: Any, query: SearchQuery = QUERY, settings: TavilySettings = SETTINGS) -> list[str]:
    return [source.url for source in tavily.search_from_wire({"results": results}, query, settings).items]


class TestSearchRequest:
    def test_a_plain_question_asks_for_five_dated_hits_without_bodies(self) -> None:
        assert tavily.search_to_wire(QUERY, SETTINGS) == {
            "query": "Example Valley footbridge",
            "search_depth": "advanced",
            "max_results": 5,
            "include_answer": False,
            "include_raw_content": False,
            "include_published_date": True,
        }

    def test_every_filter_has_its_field(self) -> None:
        query = SearchQuery(
            query="footbridge",
            extra_sources=20,
            fresh_within="week",
            include_domains=("Example.org", "*.example.com"),
            exclude_domains=("example.net",),
            include_content=True,
        )
        assert tavily.search_to_wire(query, TavilySettings(search_depth="basic")) == {
            "query": "footbridge",
            "search_depth": "basic",
            "max_results": 20,
            "include_answer": False,
            "include_raw_content": "markdown",
            "include_published_date": True,
            "time_range": "week",
            "include_domains": ["example.org", "example.com"],
            "exclude_domains": ["example.net"],
        }

    def test_no_wish_for_extra_sources_is_the_default_number(self) -> None:
        assert tavily.search_to_wire(SearchQuery(query="x", extra_sources=0), SETTINGS)["max_results"] == 5

    def test_a_long_query_is_cut_at_a_word_and_says_so(self) -> None:
        query = SearchQuery(query="footbridge " * 60)
        sent = tavily.search_to_wire(query, SETTINGS)["query"]
        assert sent == ("footbridge " * 36).strip()
        notes = tavily.search_from_wire({"results": []}, query, SETTINGS).notes
        assert [(note.code, note.provider) for note in notes] == [("query_shortened", "tavily")]

    def test_a_query_of_just_the_limit_is_sent_whole_and_without_a_note(self) -> None:
        query = SearchQuery(query="x" * 400)
        assert tavily.search_to_wire(query, SETTINGS)["query"] == "x" * 400
        assert tavily.search_from_wire({"results": []}, query, SETTINGS).notes == ()

    def test_a_text_without_blanks_is_cut_at_the_limit(self) -> None:
        assert tavily.search_to_wire(SearchQuery(query="桥" * 500), SETTINGS)["query"] == "桥" * 400

    def test_the_platform_survives_the_cut(self) -> None:
        sent = tavily.search_to_wire(SearchQuery(query="footbridge " * 60, platform="GitHub"), SETTINGS)["query"]
        assert isinstance(sent, str)
        assert sent.endswith("footbridge GitHub")
        assert len(sent) <= 400


class TestSearchReply:
    def test_hits_become_sources_in_order(self) -> None:
        listed = tavily.search_from_wire(examples.read_json("tavily/search.success.json"), QUERY, SETTINGS)
        first, second = listed.items
        assert (first.url, first.title, first.provider, first.evidence) == (
            BRIDGE,
            "Footbridge reopens after repairs",
            "tavily",
            "listed",
        )
        assert first.description.startswith("The footbridge opened to walkers again on Saturday 14 November")
        assert (first.content, second.url, listed.provider, listed.notes) == ("", GAZETTE, "tavily", ())

    def test_bodies_come_only_when_asked_for(self) -> None:
        query = SearchQuery(query="footbridge", include_content=True)
        first, second = tavily.search_from_wire(examples.read_json("tavily/search.success.json"), query, SETTINGS).items
        assert first.content == "# Footbridge reopens\n\nThe footbridge opened to walkers again on Saturday."
        assert second.content == ""

    def test_a_publication_date_is_the_day_in_utc(self) -> None:
        (source,) = tavily.search_from_wire(examples.read_json("tavily/search.news.json"), QUERY, SETTINGS).items
        assert source.published == "2026-11-14"

    @pytest.mark.parametrize(
        ("written", "day"),
        [
            ("Sat, 14 Nov 2026 23:30:00 -0500", "2026-11-15"),
            ("2026-11-14T01:00:00+05:00", "2026-11-13"),
            ("2026-11-14", "2026-11-14"),
            ("2 weeks ago", ""),
            ("Sat, 14 Nov 2026 09:30:00 +99999999999999", ""),
            ("Sat, 31 Feb 2026 09:30:00 GMT", ""),
            (None, ""),
            (1_700_000_000, ""),
        ],
    )
    def test_dates_that_cannot_be_read_are_unknown(self, written: object, day: str) -> None:
        reply = {"results": [{"url": BRIDGE, "published_date": written}]}
        assert tavily.search_from_wire(reply, QUERY, SETTINGS).items[0].published == day

    @pytest.mark.parametrize("name", ["search.empty", "search.minimal", "search.auto"])
    def test_smaller_replies_are_read_too(self, name: str) -> None:
        reply = examples.read_json(f"tavily/{name}.json")
        listed = tavily.search_from_wire(reply, QUERY, SETTINGS)
        assert [source.url for source in listed.items] == [hit["url"] for hit in reply["results"]]

    @pytest.mark.requirement("RS-SERVICE-07")
    def test_bad_items_are_dropped_one_by_one(self) -> None:
        results = [
            None,
            "https://text.example/",
            {"title": "no address"},
            {"url": ""},
            {"url": "   "},
            {"url": "javascript:alert(1)"},
            {"url": "ftp://files.example/x"},
            {"url": "https://no host/"},
            {"url": ["https://list.example/"], "title": {"a": 1}, "content": 7, "score": "high", "raw_content": []},
            {"url": " https://good.example/ ", "title": None},
        ]
        assert found(results) == ["https://list.example/", "https://good.example/"]

    @pytest.mark.requirement("RS-PARSE-02")
    def test_unusable_items_do_not_count_towards_the_limit(self) -> None:
        results = [{"url": ""}] * 9 + [{"url": f"https://good.example/{number}"} for number in range(9)]
        assert found(results, SearchQuery(query="x", extra_sources=2)) == ["https://good.example/0", "https://good.example/1"]

    @pytest.mark.requirement("RS-PARSE-01")
    def test_low_scores_are_dropped_and_missing_ones_kept(self) -> None:
        results = [
            {"url": f"https://h.example/{score}", "score": score} for score in (0.09, 0.1, None, "0.0", True, float("nan"))
        ]
        assert found(results) == [f"https://h.example/{score}" for score in (0.1, None, "0.0", True, "nan")]
        assert found(results, settings=TavilySettings(min_score=0.0))[0] == "https://h.example/0.09"

    def test_excluded_hosts_and_their_subdomains_never_come_through(self) -> None:
        query = SearchQuery(query="x", exclude_domains=("example.org",))
        results = [{"url": url} for url in ("https://example.org/", "https://a.example.org/", "https://notexample.org/")]
        assert found(results, query) == ["https://notexample.org/"]

    def test_one_page_is_listed_once(self) -> None:
        results = [{"url": url} for url in (f"{BRIDGE}#top", f"{BRIDGE}/", f"{BRIDGE}?utm_source=x")]
        assert found(results) == [f"{BRIDGE}#top"]

    def test_snippets_are_one_clean_short_line(self) -> None:
        reply = {"results": [{"url": BRIDGE, "title": "A\x1b[31m\n title", "content": "word\n\t \x00" * 2_000}]}
        (source,) = tavily.search_from_wire(reply, QUERY, SETTINGS).items
        assert source.title == "A title"
        assert source.description.startswith("word word word")
        assert len(source.description) <= 2_000

    @pytest.mark.parametrize("reply", [{}, {"results": None}, {"results": {"url": BRIDGE}}, {"results": "none"}])
    def test_a_reply_without_a_list_is_a_bad_reply(self, reply: dict[str, Any]) -> None:
        with pytest.raises(BadReply, match="no list of results"):
            tavily.search_from_wire(reply, QUERY, SETTINGS)


class TestExtract:
    def test_one_page_is_asked_for_as_markdown(self) -> None:
        assert tavily.extract_to_wire(PAGE, "basic") == {"urls": [BRIDGE], "format": "markdown", "extract_depth": "basic"}

    def test_the_page_is_read_whole(self) -> None:
        page = tavily.extract_from_wire(examples.read_json("tavily/extract.partial.json"), PAGE, now=NOW)
        assert (page.url, page.final_url, page.title) == (BRIDGE, BRIDGE, "Footbridge reopens after repairs")
        assert page.text == "# Footbridge reopens\n\nThe footbridge opened to walkers again on Saturday."
        assert (page.provider, page.kind, page.fetched_at) == ("tavily", "html", "2026-11-30T12:00:00Z")

    @pytest.mark.requirement("RS-PARSE-03")
    @pytest.mark.parametrize("content", ["", " \n\t ", "\x00\u200b", None, 5, []])
    def test_a_blank_page_is_an_empty_result_that_says_the_service_worked(self, content: object) -> None:
        with pytest.raises(EmptyResult, match="no content") as caught:
            tavily.extract_from_wire({"results": [{"url": BRIDGE, "raw_content": content}]}, PAGE, now=NOW)
        assert caught.value.diagnostics == {"upstream_succeeded": True, "empty_result": True}
        assert isinstance(caught.value, BadReply)

    def test_a_page_listed_as_failed_is_the_pages_failure(self) -> None:
        """A reply with status 200 can still mean failure; its wording is not repeated."""
        with pytest.raises(Declined, match="answers 403") as caught:
            tavily.extract_from_wire(examples.read_json("tavily/extract.all-failed.json"), PAGE, now=NOW)
        assert "Forbidden" not in str(caught.value)
        assert caught.value.diagnostics == {"page_status": 403}

    @pytest.mark.parametrize(
        ("said", "kind"),
        [
            ("Failed to fetch url", Unreachable),
            ("503 Service Unavailable", Unreachable),
            ("429 Too Many Requests", Unreachable),
            ("404 Not Found", Declined),
            ("Blocked by robots.txt", Declined),
            ("URL is not supported", Declined),
            ({"not": "text"}, Unreachable),
            (None, Unreachable),
        ],
    )
    def test_failed_pages_are_judged_by_what_is_said_of_them(self, said: object, kind: type[WebSearchError]) -> None:
        reply = {"results": [], "failed_results": [{"url": BRIDGE, "error": said}]}
        with pytest.raises(kind) as caught:
            tavily.extract_from_wire(reply, PAGE, now=NOW)
        assert type(caught.value) is kind

    @pytest.mark.parametrize("failed", [None, [], "x", [1], {"url": BRIDGE}])
    def test_nothing_at_all_is_an_empty_result(self, failed: object) -> None:
        with pytest.raises(EmptyResult):
            tavily.extract_from_wire({"results": [], "failed_results": failed}, PAGE, now=NOW)


class TestMap:
    def test_the_request_names_every_limit(self) -> None:
        assert tavily.map_to_wire(SITE) == {
            "url": "https://council.example.org",
            "max_depth": 1,
            "max_breadth": 20,
            "limit": 50,
            "timeout": 150,
        }

    def test_instructions_and_offset_are_sent_in_the_services_terms(self) -> None:
        request = MapRequest(
            url="https://council.example.org", instructions=" news ", max_depth=2, max_breadth=9, limit=10, offset=30, timeout=20
        )
        assert tavily.map_to_wire(request) == {
            "url": "https://council.example.org",
            "max_depth": 2,
            "max_breadth": 9,
            "limit": 40,
            "timeout": 20,
            "instructions": "news",
        }

    def test_the_window_ends_at_500_pages_and_a_note_says_so(self) -> None:
        request = MapRequest(url="https://council.example.org", limit=100, offset=450)
        assert tavily.map_to_wire(request)["limit"] == 500
        reply = examples.read_json("tavily/map.success.json")
        assert [note.code for note in tavily.map_from_wire(reply, request).notes] == ["map_limit"]

    def test_pages_are_listed_in_order_under_the_sites_address(self) -> None:
        site = tavily.map_from_wire(examples.read_json("tavily/map.success.json"), SITE)
        assert site.root == "https://council.example.org"
        assert site.links == (Link(url=BRIDGE), Link(url="https://council.example.org/news/library-hours"))
        assert (site.provider, site.truncated, site.ignored, site.notes) == ("tavily", False, 0, ())

    def test_a_site_without_pages_is_an_empty_map(self) -> None:
        assert tavily.map_from_wire(examples.read_json("tavily/map.empty.json"), SITE).links == ()

    def test_what_is_no_address_is_counted_and_repetitions_are_not(self) -> None:
        results = [f" {BRIDGE} ", None, 3, {"url": BRIDGE}, "", "mailto:a@b.example", f"{BRIDGE}#part", GAZETTE]
        site = tavily.map_from_wire({"base_url": "http://council.example.org/", "results": results}, SITE)
        assert [link.url for link in site.links] == [BRIDGE, GAZETTE]
        assert (site.root, site.ignored) == ("http://council.example.org/", 5)

    @pytest.mark.parametrize("base", [None, "", 7, "two words", "ftp://council.example.org"])
    def test_an_unusable_base_address_falls_back_to_the_one_asked_for(self, base: object) -> None:
        site = tavily.map_from_wire({"base_url": base, "results": [BRIDGE]}, SITE)
        assert site.root == "https://council.example.org"
        assert [note.code for note in site.notes] == ["missing_base_url"]

    def test_a_full_map_may_go_on(self) -> None:
        request = MapRequest(url="https://council.example.org", limit=2)
        site = tavily.map_from_wire({"base_url": "h.example", "results": [BRIDGE, GAZETTE, f"{GAZETTE}/3"]}, request)
        assert (len(site.links), site.truncated) == (2, True)

    def test_a_map_of_another_type_is_a_bad_reply(self) -> None:
        with pytest.raises(BadReply):
            tavily.map_from_wire({"base_url": "h.example", "results": "many"}, SITE)


class TestUsage:
    @pytest.mark.parametrize(
        ("payload", "state", "detail"),
        [
            (examples.read_json("tavily/usage.success.json"), "ok", "this key used 150 of 1,000 credits"),
            (examples.read_json("tavily/usage.unlimited.json"), "ok", "this key used 150 credits, without a limit of its own"),
            ({"key": {"usage": 1000, "limit": 1000}}, "failing", "this key used 1,000 of 1,000 credits"),
            ({"key": "?"}, "ok", "answers; does not say how much is used"),
        ],
    )
    def test_counters_become_one_line(self, payload: dict[str, Any], state: str, detail: str) -> None:
        health = tavily.usage_from_wire(payload)
        assert (health.part, health.state, health.detail) == ("tavily", state, detail)


@pytest.mark.parametrize(
    ("scenario_id", "kind", "wait_s"),
    [
        ("tavily.error.400.query-too-long", RequestRejected, None),
        ("tavily.error.400.invalid-topic", RequestRejected, None),
        ("tavily.error.400.extract-too-many", RequestRejected, None),
        ("tavily.error.401.invalid-key", AuthRejected, None),
        ("tavily.error.403.unsupported-url", Declined, None),
        ("tavily.error.422.validation", RequestRejected, None),
        ("tavily.error.422.string-detail", RequestRejected, None),
        ("tavily.error.429.rate-limit", RateLimited, 30.0),
        ("tavily.error.432.plan-limit", OutOfCredit, None),
        ("tavily.error.433.paygo-limit", OutOfCredit, None),
        ("tavily.error.500.internal", Unreachable, None),
        ("tavily.error.502.html", Unreachable, None),
        ("tavily.error.429.keyless-cap", RateLimited, 1800.0),
    ],
)
def test_every_error_reply_has_its_class(scenario_id: str, kind: type[WebSearchError], wait_s: float | None) -> None:
    row = examples.scenario(scenario_id)
    body = examples.read(row.response_body)
    error = failures.from_response(row.status, row.headers, body, "tavily", SETTINGS.base_url)
    assert (type(error), error.retry_after_s) == (kind, wait_s)


def test_no_error_payload_is_left_out_above() -> None:
    rows = {row.id for row in examples.scenarios("tavily.error.")}
    (mark,) = test_every_error_reply_has_its_class.pytestmark  # type: ignore[attr-defined]
    assert rows == {case[0] for case in mark.args[1]}


def test_no_answer_payload_upsets_the_translations() -> None:
    """Each 200 body goes through the translation of its path; those of paths we do not use are named here."""
    unread = []
    for row in examples.scenarios("tavily."):
        if row.status != 200:
            continue
        reply = json.loads(examples.read(row.response_body))
        match row.path:
            case "/search":
                assert tavily.search_from_wire(reply, QUERY, SETTINGS).provider == "tavily"
            case "/map":
                assert tavily.map_from_wire(reply, SITE).provider == "tavily"
            case "/usage":
                assert tavily.usage_from_wire(reply).state == "ok"
            case "/extract" if reply["results"]:
                assert tavily.extract_from_wire(reply, PAGE, now=NOW).provider == "tavily"
            case _:
                unread.append(row.id)
    assert unread == ["tavily.extract.all-failed", "tavily.crawl.success"]
