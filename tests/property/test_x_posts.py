"""Whatever xAI sends about X: a sound result or an error of ours, and never anything that a terminal obeys or nobody sees."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from property.test_fence import unseen
from websearch_adapters.providers.xai import posts_from_wire
from websearch_core import budget, quotes
from websearch_core.errors import WebSearchError
from websearch_core.posts import Posts
from websearch_core.testing.fakes import FakeCache, FakeExtractor, FakePostFinder
from websearch_core.testing.strategies import PAYLOAD, hostile_text, json_values, terminal_text
from websearch_core.values import PostQuery, PostResult, as_plain
from websearch_mcp import render

NUMBERS = st.integers(0, 10**20).map(str) | st.sampled_from(["1990000000000000001", "1990000000000000002", "20"])
TEXTS = st.one_of(terminal_text(), hostile_text())
POSTS = st.one_of(
    st.builds("https://x.com/{}/status/{}".format, st.sampled_from(["i", "i/web", "examplevalley", "a_1"]), NUMBERS),
    st.builds("https://twitter.com/a/status/{}{}".format, NUMBERS, TEXTS),
    st.builds("https://x.com/{}/status/{}".format, TEXTS, NUMBERS),
    st.builds("https://{}/".format, TEXTS),
    TEXTS,
)
QUOTED = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["> ", '"', "“", "«", "- > ", ""]),
    TEXTS,
    st.sampled_from(["\n", '" ', "” — @a ", "»\n\n", "\n\n", ": "]),
    POSTS,
)
ANSWERS = st.lists(st.one_of(QUOTED, TEXTS), min_size=1, max_size=5).map("\n\n".join)
ANNOTATIONS = st.fixed_dictionaries({"type": st.just("url_citation"), "url": POSTS, "title": TEXTS})
JSON = json_values()


def hostile_replies() -> st.SearchStrategy[dict[str, Any]]:
    """Replies of the right shape that carry harm in every text."""
    part = st.fixed_dictionaries(
        {"type": st.just("output_text"), "text": ANSWERS, "annotations": st.lists(ANNOTATIONS, max_size=4)}
    )
    message = st.fixed_dictionaries({"type": st.just("message"), "content": st.lists(part, min_size=1, max_size=2)})
    usage = {"server_side_tool_usage_details": {"x_search_calls": 1}}
    return st.fixed_dictionaries(
        {
            "status": st.just("completed"),
            "model": TEXTS,
            "output": st.lists(message, min_size=1, max_size=2),
            "citations": st.none() | st.lists(POSTS, max_size=3),
            "usage": st.just(usage),
        }
    )


def broken_replies() -> st.SearchStrategy[dict[str, Any]]:
    """Replies in which anything may stand anywhere."""
    part = st.one_of(st.fixed_dictionaries({}, optional=dict.fromkeys(("type", "text", "annotations", "citations"), JSON)), JSON)
    item = st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["message", "custom_tool_call", "reasoning"]) | JSON,
            "role": JSON,
            "name": st.just("x_keyword_search") | JSON,
            "status": JSON,
            "content": st.lists(part, max_size=3) | JSON,
        },
    )
    details = st.fixed_dictionaries({}, optional=dict.fromkeys(("x_search_calls", "x_posts_fetched", "x_users_fetched"), JSON))
    names = ("x_search_calls", "input_tokens", "cost_in_usd_ticks", "cost_in_nano_usd", "server_side_tool_usage")
    usage = st.fixed_dictionaries({}, optional={**dict.fromkeys(names, JSON), "server_side_tool_usage_details": details | JSON})
    return st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("status", "error", "model", "citations", "output_text", "incomplete_details"), JSON),
            "output": st.lists(item | JSON, max_size=4) | JSON,
            "usage": usage | JSON,
        },
    )


def result_of(reply: dict[str, Any], *, max_chars: int = 24_000) -> PostResult:
    """The whole way of a reply, but for the network; WebSearchError where it is no answer."""
    posts = Posts(finder=FakePostFinder(posts_from_wire(reply, provider="xai")), extractor=FakeExtractor(), cache=FakeCache())
    return asyncio.run(posts(PostQuery(query="bridges", max_chars=max_chars)))  # noqa: TID251 - a test and a bench are entry points


def texts_in(value: object) -> Iterator[str]:
    """Every text of a JSON value, names too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from (name, *texts_in(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def left_over(reply: dict[str, Any]) -> set[str]:
    """What of the reply's harm is left in anything that is given out; of an error, its words."""
    try:
        result = result_of(reply)
    except WebSearchError as error:
        shown = [error.message, error.hint or ""]
    else:
        shown = [*texts_in(as_plain(result)), render.text(result, nonce="n0"), render.for_people(result)]
    return {char for text in shown for char in unseen(text)} | {PAYLOAD for text in shown if PAYLOAD in text}


@given(hostile_replies())
def test_nothing_harmful_is_left_of_a_hostile_answer(reply: dict[str, Any]) -> None:
    assert left_over(reply) == set()


@given(broken_replies(), st.integers(1_000, 3_000))
def test_any_reply_is_a_sound_result_or_an_error_of_ours(reply: dict[str, Any], max_chars: int) -> None:
    try:
        result = result_of(reply, max_chars=max_chars)
    except WebSearchError:
        return
    assert result.status in {"success", "partial_success", "error"}
    assert bool(result.content) == (result.status != "error")
    assert budget.json_chars(result) <= max_chars
    assert {quote.state for quote in result.quotes} <= {"listed", "unlisted"}


@given(ANSWERS)
def test_a_quote_is_taken_from_the_text_and_names_a_post(text: str) -> None:
    for quote in quotes.quotes_in(text):
        assert quote.text
        assert quote.url in text
        post = quotes.post_of(quote.url)
        assert post is not None
        assert (post.number, post.handle) == (quote.post_id, quote.handle)


@given(
    st.lists(
        st.tuples(st.text("abc ", min_size=1).filter(str.strip), NUMBERS), min_size=1, max_size=6, unique_by=lambda it: it[1]
    )
)
def test_an_answer_as_it_was_ordered_gives_every_quote_with_its_own_post(said: list[tuple[str, str]]) -> None:
    text = "\n\n".join(["It is open.", *(f"> {words}\nhttps://x.com/a/status/{number}" for words, number in said)])
    usable = [(words.strip(), str(int(number))) for words, number in said if len(number) <= 19]

    assert [(quote.text, quote.post_id) for quote in quotes.quotes_in(text)] == list(dict.fromkeys(usable))
