"""Firecrawl's translations, against the example payloads of both versions of its API."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from upstreams import examples
from websearch_adapters.http import failures
from websearch_adapters.providers import firecrawl
from websearch_adapters.providers.firecrawl import FirecrawlSettings
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    EmptyResult,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.values import FetchRequest, Freshness, Link, MapRequest, SearchQuery

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BRIDGE = "https://council.example.org/news/footbridge-reopens"
GAZETTE = "https://gazette.example.com/2026/11/footbridge"
QUERY = SearchQuery(query="Example Valley footbridge")
PAGE = FetchRequest(url=BRIDGE)
SITE = MapRequest(url="https://council.example.org")
SETTINGS = FirecrawlSettings()


def scraped(**data: Any) -> dict[str, Any]:
    return {"success": True, "data": {"markdown": "# Text", **data}}


def found(data: Any, query: SearchQuery = QUERY) -> list[str]:
    return [source.url for source in firecrawl.search_from_wire({"success": True, "data": data}, query).items]


class TestAddress:
    @pytest.mark.parametrize(
        ("base_url", "root", "version"),
        [
            ("https://api.firecrawl.dev", "https://api.firecrawl.dev", "v2"),
            ("https://api.firecrawl.dev/", "https://api.firecrawl.dev", "v2"),
            ("https://api.firecrawl.dev/v2", "https://api.firecrawl.dev", "v2"),
            ("https://api.firecrawl.dev/v2//", "https://api.firecrawl.dev", "v2"),
            ("https://api.firecrawl.dev/v1/", "https://api.firecrawl.dev", "v1"),
            ("https://api.firecrawl.dev//V1", "https://api.firecrawl.dev", "v1"),
            (" http://localhost:3002 ", "http://localhost:3002", "v2"),
            ("http://localhost:3002/fire/crawl", "http://localhost:3002/fire/crawl", "v2"),
            ("http://localhost:3002/fire/v2", "http://localhost:3002/fire", "v2"),
            ("http://v1.example.org/", "http://v1.example.org", "v2"),
            ("http://h.example/xv1", "http://h.example/xv1", "v2"),
        ],
    )
    def test_every_spelling_leads_to_one_root_and_version(self, base_url: str, root: str, version: str) -> None:
        assert firecrawl.api_of(base_url) == (root, version)


class TestSearchRequest:
    def test_a_plain_question_asks_for_five_web_hits(self) -> None:
        assert firecrawl.search_to_wire(QUERY) == {
            "query": "Example Valley footbridge",
            "limit": 5,
            "sources": [{"type": "web"}],
        }

    @pytest.mark.parametrize(("fresh", "tbs"), [("day", "qdr:d"), ("week", "qdr:w"), ("month", "qdr:m"), ("year", "qdr:y")])
    def test_freshness_is_a_time_range(self, fresh: Freshness, tbs: str) -> None:
        query = SearchQuery(query="x", fresh_within=fresh, extra_sources=20)
        assert firecrawl.search_to_wire(query) == {"query": "x", "limit": 20, "tbs": tbs, "sources": [{"type": "web"}]}

    def test_each_domain_list_has_its_field(self) -> None:
        only = SearchQuery(query="x", include_domains=("*.Example.org",))
        never = SearchQuery(query="x", exclude_domains=("example.net",))
        assert firecrawl.search_to_wire(only)["includeDomains"] == ["example.org"]
        assert firecrawl.search_to_wire(never)["excludeDomains"] == ["example.net"]
        assert "excludeDomains" not in firecrawl.search_to_wire(only)

    def test_of_both_domain_lists_the_first_is_sent_and_the_second_kept_here(self) -> None:
        """The service refuses a request with both."""
        query = SearchQuery(query="x", include_domains=("example.org",), exclude_domains=("old.example.org",))
        body = firecrawl.search_to_wire(query)
        assert body["includeDomains"] == ["example.org"]
        assert "excludeDomains" not in body
        reply = {"success": True, "data": {"web": [{"url": "https://old.example.org/a"}, {"url": "https://example.org/b"}]}}
        listed = firecrawl.search_from_wire(reply, query)
        assert [source.url for source in listed.items] == ["https://example.org/b"]
        assert [note.code for note in listed.notes] == ["filtered_afterwards"]

    def test_the_old_version_gets_only_what_it_knows(self) -> None:
        query = SearchQuery(query="x", fresh_within="week", include_domains=("example.org",))
        assert firecrawl.search_to_wire(query, "v1") == {"query": "x", "limit": 5, "tbs": "qdr:w"}
        notes = firecrawl.search_from_wire({"success": True, "data": []}, query, "v1").notes
        assert [note.code for note in notes] == ["filtered_afterwards"]

    def test_a_long_query_is_cut_at_a_word_and_says_so(self) -> None:
        query = SearchQuery(query="footbridge " * 60)
        assert firecrawl.search_to_wire(query)["query"] == ("footbridge " * 45).strip()
        notes = firecrawl.search_from_wire({"success": True, "data": {}}, query).notes
        assert [note.code for note in notes] == ["query_shortened"]

    def test_pages_of_hits_are_never_ordered_with_the_search(self) -> None:
        """They are billed one by one, and a slow one loses all hits."""
        assert "scrapeOptions" not in firecrawl.search_to_wire(SearchQuery(query="x", include_content=True))


class TestSearchReply:
    def test_web_hits_come_first_and_repetitions_in_news_are_dropped(self) -> None:
        listed = firecrawl.search_from_wire(examples.read_json("firecrawl/v2.search.success.json"), QUERY)
        assert [source.url for source in listed.items] == [BRIDGE, GAZETTE]
        first = listed.items[0]
        assert (first.title, first.description, first.provider, first.evidence) == (
            "Footbridge reopens after repairs",
            "The footbridge opened to walkers again.",
            "firecrawl",
            "listed",
        )
        assert (listed.provider, listed.notes) == ("firecrawl", ())

    @pytest.mark.parametrize("name", ["v2.search.empty", "v2.search.empty-object"])
    def test_both_forms_of_nothing_are_an_empty_list(self, name: str) -> None:
        assert firecrawl.search_from_wire(examples.read_json(f"firecrawl/{name}.json"), QUERY).items == ()

    @pytest.mark.requirement("RS-PARSE-04")
    def test_the_flat_list_of_the_old_version_is_read(self) -> None:
        (source,) = firecrawl.search_from_wire(examples.read_json("firecrawl/v1.search.success.json"), QUERY, "v1").items
        assert (source.url, source.description) == (BRIDGE, "The footbridge opened to walkers again.")

    def test_news_are_read_with_their_own_field_names(self) -> None:
        reply = {"success": True, "data": {"news": [{"url": GAZETTE, "snippet": "First crossing.", "date": "2026-11-14"}]}}
        (source,) = firecrawl.search_from_wire(reply, QUERY).items
        assert (source.description, source.published) == ("First crossing.", "2026-11-14")

    def test_papers_without_an_address_get_the_one_of_their_number(self) -> None:
        (source,) = firecrawl.search_from_wire(examples.read_json("firecrawl/v2.search.research.json"), QUERY).items
        assert (source.url, source.title, source.description) == (
            "https://arxiv.org/abs/2611.00001",
            "Timber footbridges under load",
            "We test three footbridges.",
        )
        assert found({"research": [{"ids": {"doi": "10.1000/182"}}, {"ids": {}}, {"ids": "x"}]}) == [
            "https://doi.org/10.1000/182"
        ]

    def test_images_are_no_sources(self) -> None:
        assert found({"images": [{"url": BRIDGE, "imageUrl": "https://council.example.org/img/bridge.jpg"}]}) == []

    def test_a_fresh_search_reads_only_the_group_that_the_time_range_binds(self) -> None:
        query = SearchQuery(query="x", fresh_within="day")
        assert found({"web": [{"url": BRIDGE}], "news": [{"url": GAZETTE}]}, query) == [BRIDGE]

    def test_content_that_came_along_is_kept_only_when_wanted_and_only_of_good_pages(self) -> None:
        reply = examples.read_json("firecrawl/v2.search.scraped.json")
        wanting = SearchQuery(query="x", include_content=True)
        assert firecrawl.search_from_wire(reply, wanting).items[0].content.startswith("# Footbridge reopens\n\n")
        assert firecrawl.search_from_wire(reply, QUERY).items[0].content == ""
        reply["data"]["web"][0]["metadata"]["statusCode"] = 404
        assert firecrawl.search_from_wire(reply, wanting).items[0].content == ""

    def test_bad_items_are_dropped_one_by_one(self) -> None:
        hits: list[Any] = [
            None,
            7,
            [],
            {"url": ""},
            {"url": "about:blank"},
            {"title": "x"},
            BRIDGE,
            {"url": GAZETTE, "title": {"a": []}},
        ]
        assert found({"web": hits, "news": "none", "research": None}) == [BRIDGE, GAZETTE]

    def test_unusable_items_do_not_count_towards_the_limit(self) -> None:
        hits: list[Any] = [{"url": ""}] * 9 + [{"url": f"https://good.example/{number}"} for number in range(9)]
        assert len(found({"web": hits})) == 5

    def test_hosts_outside_the_wanted_ones_never_come_through(self) -> None:
        query = SearchQuery(query="x", include_domains=("example.org",))
        assert found({"web": [{"url": "https://notexample.org/"}, {"url": "https://a.example.org/"}]}, query) == [
            "https://a.example.org/"
        ]

    @pytest.mark.parametrize("reply", [{}, {"success": True}, {"success": True, "data": "x"}, {"success": False, "data": []}])
    def test_a_reply_without_hits_or_success_is_a_bad_reply(self, reply: dict[str, Any]) -> None:
        with pytest.raises(BadReply):
            firecrawl.search_from_wire(reply, QUERY)


class TestScrape:
    def test_one_page_is_asked_for_as_markdown(self) -> None:
        assert firecrawl.scrape_to_wire(PAGE, SETTINGS) == {
            "url": BRIDGE,
            "formats": ["markdown"],
            "onlyMainContent": True,
            "timeout": 60_000,
        }
        assert firecrawl.scrape_to_wire(PAGE, FirecrawlSettings(only_main_content=False))["onlyMainContent"] is False

    @pytest.mark.requirement("RS-PARSE-04")
    @pytest.mark.parametrize("name", ["v2.scrape.success", "v1.scrape.success"])
    def test_the_page_of_either_version_is_read(self, name: str) -> None:
        page = firecrawl.scrape_from_wire(examples.read_json(f"firecrawl/{name}.json"), PAGE, now=NOW)
        assert page.text.startswith("# Footbridge reopens")
        assert page.title.startswith("Footbridge reopens")
        assert (page.url, page.final_url, page.language, page.kind) == (BRIDGE, BRIDGE, "en", "html")
        assert (page.provider, page.fetched_at) == ("firecrawl", "2026-11-30T12:00:00Z")

    def test_a_cached_copy_says_of_when_it_is(self) -> None:
        page = firecrawl.scrape_from_wire(examples.read_json("firecrawl/v2.scrape.cached.json"), PAGE, now=NOW)
        assert page.fetched_at == "2026-11-29T08:00:00Z"

    def test_a_missing_page_is_never_passed_off_as_content(self) -> None:
        """The service reports a target's 404 as success, with the error page as Markdown."""
        with pytest.raises(Declined, match="answers 404") as caught:
            firecrawl.scrape_from_wire(examples.read_json("firecrawl/v2.scrape.target-404.json"), PAGE, now=NOW)
        assert caught.value.diagnostics == {"page_status": 404}

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (403, Declined),
            ("410", Declined),
            (429, Unreachable),
            (503, Unreachable),
            ([451, 200], Declined),
            ([" 500 "], Unreachable),
        ],
    )
    def test_the_pages_status_decides_in_every_spelling(self, status: object, kind: type[ProviderError]) -> None:
        with pytest.raises(kind):
            firecrawl.scrape_from_wire(scraped(metadata={"statusCode": status}), PAGE, now=NOW)

    @pytest.mark.parametrize("status", [200, "200", None, "weird", [], {}, True, 304, float("nan")])
    def test_any_other_status_is_no_obstacle(self, status: object) -> None:
        assert firecrawl.scrape_from_wire(scraped(metadata={"statusCode": status}), PAGE, now=NOW).text == "# Text"

    def test_metadata_may_be_lists(self) -> None:
        metadata = {
            "title": ["", "First", "Second"],
            "url": [GAZETTE, BRIDGE],
            "language": ["en", "de"],
            "article:published_time": ["2026-11-14T09:30:00Z"],
            "contentType": ["application/pdf; charset=binary"],
        }
        page = firecrawl.scrape_from_wire(scraped(metadata=metadata), PAGE, now=NOW)
        assert (page.title, page.final_url, page.language, page.published, page.kind) == (
            "First",
            GAZETTE,
            "en",
            "2026-11-14",
            "pdf",
        )

    @pytest.mark.parametrize("markdown", ["", " \n ", "\u200b", None, 5, ["x"]])
    def test_a_blank_page_is_an_empty_result_that_says_the_service_worked(self, markdown: object) -> None:
        with pytest.raises(EmptyResult, match="no content") as caught:
            firecrawl.scrape_from_wire(scraped(markdown=markdown), PAGE, now=NOW)
        assert caught.value.diagnostics == {"upstream_succeeded": True, "empty_result": True}

    def test_the_empty_example_is_an_empty_result(self) -> None:
        with pytest.raises(EmptyResult):
            firecrawl.scrape_from_wire(examples.read_json("firecrawl/v2.scrape.empty.json"), PAGE, now=NOW)

    @pytest.mark.parametrize("reply", [{}, {"data": []}, {"success": False, "data": {"markdown": "# Text"}}])
    def test_a_reply_without_a_page_or_success_is_a_bad_reply(self, reply: dict[str, Any]) -> None:
        with pytest.raises(BadReply):
            firecrawl.scrape_from_wire(reply, PAGE, now=NOW)


class TestMap:
    def test_the_request_asks_for_sitemap_and_links(self) -> None:
        assert firecrawl.map_to_wire(SITE) == {
            "url": "https://council.example.org",
            "limit": 50,
            "sitemap": "include",
            "timeout": 150_000,
        }

    def test_instructions_become_a_search(self) -> None:
        request = MapRequest(url="https://council.example.org", instructions=" footbridge ", limit=10, offset=30, timeout=20)
        assert firecrawl.map_to_wire(request) == {
            "url": "https://council.example.org",
            "limit": 40,
            "search": "footbridge",
            "sitemap": "include",
            "timeout": 20_000,
        }
        assert firecrawl.map_to_wire(request, "v1") == {
            "url": "https://council.example.org",
            "limit": 40,
            "search": "footbridge",
        }

    def test_links_may_be_objects_or_texts(self) -> None:
        site = firecrawl.map_from_wire(examples.read_json("firecrawl/v2.map.success.json"), SITE)
        news = "https://council.example.org/news"
        assert site.links == (Link(url=BRIDGE, title="Footbridge reopens"), Link(url=news))
        assert (site.root, site.provider, site.truncated, site.ignored) == ("https://council.example.org", "firecrawl", False, 0)
        old = firecrawl.map_from_wire(examples.read_json("firecrawl/v1.map.success.json"), SITE)
        assert old.links == (Link(url=BRIDGE), Link(url=news))

    def test_a_site_without_links_is_an_empty_map(self) -> None:
        assert firecrawl.map_from_wire(examples.read_json("firecrawl/v2.map.empty.json"), SITE).links == ()

    def test_what_is_no_address_is_counted_and_a_full_map_may_go_on(self) -> None:
        links = [None, {"url": 5}, "tel:1", {"url": f" {BRIDGE} "}, f"{BRIDGE}/", GAZETTE, f"{GAZETTE}/2"]
        site = firecrawl.map_from_wire({"success": True, "links": links}, MapRequest(url="https://h.example", limit=2))
        assert [link.url for link in site.links] == [BRIDGE, GAZETTE]
        assert (site.ignored, site.truncated) == (3, True)

    @pytest.mark.parametrize("reply", [{}, {"links": {}}, {"success": False, "links": []}])
    def test_a_reply_without_links_or_success_is_a_bad_reply(self, reply: dict[str, Any]) -> None:
        with pytest.raises(BadReply):
            firecrawl.map_from_wire(reply, SITE)


class TestCredit:
    @pytest.mark.parametrize("name", ["v2.credit-usage", "v1.credit-usage"])
    def test_either_spelling_is_read(self, name: str) -> None:
        health = firecrawl.credit_from_wire(examples.read_json(f"firecrawl/{name}.json"))
        assert (health.part, health.state, health.detail) == ("firecrawl", "ok", "871 of 1,000 credits left")

    def test_an_old_server_tells_only_what_is_left_and_nothing_left_is_failing(self) -> None:
        health = firecrawl.credit_from_wire({"success": True, "data": {"remainingCredits": 0}})
        assert (health.state, health.detail) == ("failing", "0 credits left")

    def test_an_answer_without_numbers_is_still_an_answer(self) -> None:
        assert firecrawl.credit_from_wire({"success": True, "data": None}).state == "ok"


ERRORS: list[tuple[str, type[WebSearchError], float | None]] = [
    ("firecrawl.error.400.validation", RequestRejected, None),
    ("firecrawl.error.400.search-validation", RequestRejected, None),
    ("firecrawl.error.400.category-removed", RequestRejected, None),
    ("firecrawl.error.401.invalid-token", AuthRejected, None),
    ("firecrawl.error.401.token-missing", AuthRejected, None),
    ("firecrawl.error.402.credits", OutOfCredit, None),
    ("firecrawl.error.403.blocklist", Declined, None),
    ("firecrawl.error.403.unsupported-site", Declined, None),
    ("firecrawl.error.403.terms-required", Declined, None),
    ("firecrawl.error.404.no-cached-data", RequestRejected, None),
    ("firecrawl.error.408.timeout", Unreachable, None),
    ("firecrawl.error.408.map-timeout", Unreachable, None),
    ("firecrawl.error.408.queue", Unreachable, None),
    ("firecrawl.error.409.idempotency", RequestRejected, None),
    ("firecrawl.error.429.rate-limit", RateLimited, 23.0),
    ("firecrawl.error.429.keyless", RateLimited, 3600.0),
    ("firecrawl.error.500.unknown", Unreachable, None),
    ("firecrawl.error.500.all-engines", Unreachable, None),
    ("firecrawl.error.500.ssl", Unreachable, None),
    ("firecrawl.error.502.html", Unreachable, None),
    ("firecrawl.error.503.unavailable", Unreachable, None),
]


@pytest.mark.parametrize(("scenario_id", "kind", "wait_s"), ERRORS)
def test_every_error_reply_has_its_class(scenario_id: str, kind: type[WebSearchError], wait_s: float | None) -> None:
    row = examples.scenario(scenario_id)
    body = examples.read(row.response_body)
    error = failures.from_response(row.status, row.headers, body, "firecrawl", SETTINGS.base_url)
    assert (type(error), error.retry_after_s) == (kind, wait_s)


def test_no_error_payload_is_left_out_above() -> None:
    rows = {row.id for row in examples.scenarios("firecrawl.error.") if row.status != 200}
    assert rows == {scenario_id for scenario_id, _, _ in ERRORS}


def test_a_failure_in_a_reply_with_status_200_is_told_as_the_pages_own() -> None:
    reply = examples.read_json("firecrawl/error.200.dns.json")
    error = failures.error_in_body(reply, "firecrawl", SETTINGS.base_url)
    assert isinstance(error, BadReply)
    fault = firecrawl.page_fault(error)
    assert isinstance(fault, RequestRejected)
    assert "does not resolve" in fault.message
    assert fault.upstream_code == "SCRAPE_DNS_RESOLUTION_ERROR"


def test_faults_of_the_service_stay_what_they_are() -> None:
    assert firecrawl.page_fault(Unreachable("x", upstream_code="UNKNOWN_ERROR")) is None
    assert firecrawl.page_fault(Unreachable("x")) is None


@pytest.mark.parametrize("code", sorted(firecrawl.PAGE_FAULTS))
def test_each_fault_of_a_page_has_words_and_a_next_step(code: str) -> None:
    fault = firecrawl.page_fault(Unreachable("firecrawl answers 500", upstream_code=code, http_status=500))
    assert fault is not None
    assert fault.message.startswith("firecrawl: ")
    assert fault.hint
    assert (fault.http_status, fault.provider) == (500, "firecrawl")


def test_every_answer_payload_is_read_by_the_translation_of_its_path() -> None:
    refused = []
    for row in examples.scenarios("firecrawl."):
        if row.status != 200:
            continue
        reply, path = json.loads(examples.read(row.response_body)), row.path.split("/", 2)[2]
        try:
            match path:
                case "search":
                    assert firecrawl.search_from_wire(reply, QUERY).provider == "firecrawl"
                case "map":
                    assert firecrawl.map_from_wire(reply, SITE).provider == "firecrawl"
                case "scrape":
                    assert firecrawl.scrape_from_wire(reply, PAGE, now=NOW).provider == "firecrawl"
                case "team/credit-usage":
                    assert firecrawl.credit_from_wire(reply).state == "ok"
                case _:
                    assert (row.path, reply) == ("/v0/health/readiness", {"status": "ok"})
        except ProviderError as error:
            refused.append((row.id, type(error)))
    assert refused == [
        ("firecrawl.v2.scrape.target-404", Declined),
        ("firecrawl.v2.scrape.empty", EmptyResult),
        ("firecrawl.error.200.dns", BadReply),
    ]
