"""Whatever JSON a service sends, its provider's translations give a sound value or raise an error of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from upstreams import examples
from websearch_adapters.provider import day, instant, number, page_text, snippet, web_address
from websearch_adapters.providers import firecrawl, tavily
from websearch_core import urls
from websearch_core.errors import ProviderError
from websearch_core.values import FetchRequest, Health, MapRequest, Page, SearchQuery, SiteMap, SourceList, as_plain

NOW = datetime(2026, 11, 30, tzinfo=UTC)
FETCH = FetchRequest(url="https://council.example.org/")
SITE = MapRequest(url="https://council.example.org/", limit=3)
QUERIES = (
    SearchQuery(query="footbridge", extra_sources=3, include_content=True),
    SearchQuery(query="footbridge", fresh_within="day", exclude_domains=("example.org",)),
    SearchQuery(query="footbridge", include_domains=("example.com",), exclude_domains=("a.example.com",)),
)

# Every code point, lone surrogates too: JSON can carry them.
TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)
ADDRESSES = st.one_of(
    TEXTS.map(lambda tail: f"https://council.example.org/{tail}"),
    TEXTS.map(lambda host: f"http://{host}/"),
    st.sampled_from(
        ["https://example.com/a", "https://a.example.com/?q=%zz", "http://[::1", "https://h:99999/", "https://xn--/"]
    ),
)
DATES = st.sampled_from(
    [
        "Sat, 14 Nov 2026 09:30:00 GMT",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "Sat, 14 Nov 2026 09:30:00 +99999999999999",
        "Mon, 1 Jan 99999999999999999999 00:00:00 GMT",
    ]
)
NUMBERS = st.one_of(st.integers(), st.floats(), st.just(10**400), st.booleans())
SCALARS = st.one_of(st.none(), NUMBERS, TEXTS, ADDRESSES, DATES)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12)


def objects(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these members, each of any type."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, JSON))


HITS = st.lists(
    objects(
        "url", "title", "content", "raw_content", "score", "published_date", "description", "markdown", "date", "ids", "metadata"
    )
    | JSON,
    max_size=5,
)
TAVILY = st.fixed_dictionaries(
    {},
    optional={
        "results": HITS | JSON,
        "failed_results": st.lists(objects("url", "error") | JSON, max_size=3) | JSON,
        "base_url": JSON,
        "key": objects("usage", "limit") | JSON,
        "account": JSON,
    },
)
METADATA = objects("title", "url", "sourceURL", "statusCode", "contentType", "cachedAt", "language", "publishedTime")
FIRECRAWL = st.fixed_dictionaries(
    {},
    optional={
        "success": JSON,
        "links": HITS | JSON,
        "data": HITS
        | JSON
        | st.fixed_dictionaries(
            {},
            optional={
                "web": HITS | JSON,
                "news": HITS | JSON,
                "research": HITS | JSON,
                "markdown": JSON,
                "metadata": METADATA | JSON,
                "remainingCredits": JSON,
                "plan_credits": JSON,
            },
        ),
    },
)
SETTINGS = tavily.TavilySettings()
TAVILY_READERS: list[Callable[[Any], object]] = [
    *(lambda reply, query=query: tavily.search_from_wire(reply, query, SETTINGS) for query in QUERIES),
    lambda reply: tavily.extract_from_wire(reply, FETCH, now=NOW),
    lambda reply: tavily.map_from_wire(reply, SITE),
    tavily.usage_from_wire,
]
FIRECRAWL_READERS: list[Callable[[Any], object]] = [
    *(lambda reply, query=query: firecrawl.search_from_wire(reply, query) for query in QUERIES),
    lambda reply: firecrawl.scrape_from_wire(reply, FETCH, now=NOW),
    lambda reply: firecrawl.map_from_wire(reply, SITE),
    firecrawl.credit_from_wire,
]


def assert_sound(value: object) -> None:
    """Usable addresses, each once, never more than asked for; text that any terminal and any JSON writer takes."""
    json.dumps(as_plain(value), ensure_ascii=False).encode("utf-8")
    match value:
        case SourceList(items=items):
            assert all(urls.is_web_url(source.url) for source in items)
            assert len({urls.canonical(source.url) for source in items}) == len(items) <= 5
            assert all(len(source.description) <= 2_000 and "\n" not in source.description for source in items)
        case SiteMap(links=links, ignored=ignored):
            assert all(urls.is_web_url(link.url) for link in links)
            assert len({urls.canonical(link.url) for link in links}) == len(links) <= SITE.limit
            assert ignored >= 0
        case Page(text=text):
            assert text.strip()
        case Health(part=part, state=state):
            assert part
            assert state in {"ok", "failing"}
        case _:
            raise AssertionError(f"no translation gives {type(value)}")


def read_all(readers: list[Callable[[Any], object]], reply: dict[str, Any]) -> None:
    for read in readers:
        if (value := given_or_refused(read, reply)) is not None:
            assert_sound(value)


def given_or_refused(read: Callable[[Any], object], reply: dict[str, Any]) -> object | None:
    """The value, or None for an error of ours; anything else passes through and fails the test."""
    try:
        return read(reply)
    except ProviderError:
        return None


@given(TAVILY | st.dictionaries(TEXTS, JSON, max_size=4))
@example({"results": [{"url": "https://a.example/\ud800"}]})
@example({"key": {"usage": 10**400, "limit": float("nan")}})
def test_any_reply_of_tavily_gives_a_sound_value_or_an_error_of_ours(reply: dict[str, Any]) -> None:
    read_all(TAVILY_READERS, reply)


@given(FIRECRAWL | st.dictionaries(TEXTS, JSON, max_size=4))
@example({"data": {"markdown": "x", "metadata": {"statusCode": float("inf")}}})
@example({"data": {"markdown": "x", "metadata": {"statusCode": "٤٠٤"}}})
def test_any_reply_of_firecrawl_gives_a_sound_value_or_an_error_of_ours(reply: dict[str, Any]) -> None:
    read_all(FIRECRAWL_READERS, reply)


@st.composite
def damaged(draw: st.DrawFn, prefix: str) -> dict[str, Any]:
    """An example reply in which one member, at any depth, became something else or vanished."""
    rows = [row for row in examples.scenarios(prefix) if row.status == 200 and row.response_body.endswith(".json")]
    reply: dict[str, Any] = examples.read_json(draw(st.sampled_from(rows)).response_body)
    spots = list(_spots(reply))
    holder, name = draw(st.sampled_from(spots))
    if draw(st.booleans()):
        holder[name] = draw(JSON)
    else:
        del holder[name]
    return reply


def _spots(value: Any) -> Any:
    members = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    for name, inner in members:
        yield value, name
        yield from _spots(inner)


@given(damaged("tavily."))
def test_a_damaged_example_of_tavily_is_read_or_refused(reply: dict[str, Any]) -> None:
    read_all(TAVILY_READERS, reply)


@given(damaged("firecrawl."))
def test_a_damaged_example_of_firecrawl_is_read_or_refused(reply: dict[str, Any]) -> None:
    read_all(FIRECRAWL_READERS, reply)


@pytest.mark.parametrize("read", [snippet, page_text, web_address, day, instant, number])
@given(value=JSON)
def test_reading_a_single_value_never_raises(read: Callable[[object], object], value: object) -> None:
    read(value)


@given(st.text(min_size=1, max_size=2_000).filter(str.strip), st.text(max_size=200))
def test_a_request_always_fits_the_services_box(question: str, platform: str) -> None:
    query = SearchQuery(query=question, platform=platform)
    for sent, most in ((tavily.search_to_wire(query, SETTINGS)["query"], 400), (firecrawl.search_to_wire(query)["query"], 500)):
        assert isinstance(sent, str)
        assert 0 < len(sent) <= most
