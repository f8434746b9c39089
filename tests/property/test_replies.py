"""Readers of engines' replies: the same answer however the bytes are cut, and only our errors whatever they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upstreams import examples
from websearch_adapters.http.client import Reader
from websearch_adapters.http.sse import EventReader
from websearch_adapters.providers import chat_completions, xai
from websearch_adapters.providers.chat_completions import ChatReply
from websearch_adapters.providers.xai import ResponsesReply
from websearch_core import citations, urls
from websearch_core.errors import NotConfigured, ProviderError, WebSearchError
from websearch_core.testing.strategies import hostile_text, json_values, sources
from websearch_core.values import Answer, Source, as_plain

MakeReader: TypeAlias = Callable[[], Reader[Answer]]
READERS: dict[str, MakeReader] = {"xai-responses.": ResponsesReply, "chat.": ChatReply}
BODIES = [
    pytest.param(make, examples.read(row.response_body), id=row.id)
    for prefix, make in READERS.items()
    for row in examples.scenarios(prefix)
    if row.status == 200
]
EVENT_TYPES = sorted(
    {
        *xai.ENDINGS,
        *xai.DELTAS,
        *xai.TEXTS,
        "response.failed",
        "response.output_item.done",
        "response.output_text.annotation.added",
    }
    | {"error", "message", ""}
)


def read(make: MakeReader, *chunks: bytes) -> Answer | tuple[type[WebSearchError], object]:
    """What a reply comes to: an answer, or the class and error type of its error."""
    reader = make()
    try:
        for chunk in chunks:
            if reader.feed(chunk):
                break
        return reader.close()
    except (ProviderError, NotConfigured) as error:
        return type(error), error.diagnostics.get("error_type")


def cut(body: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(point % (len(body) + 1) for point in at), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize(("make", "body"), BODIES)
@given(at=st.lists(st.integers(0, 1_000_000), max_size=20))
def test_the_answer_does_not_depend_on_where_chunks_end(make: MakeReader, body: bytes, at: list[int]) -> None:
    assert read(make, *cut(body, at)) == read(make, body)


@pytest.mark.parametrize(("make", "body"), BODIES)
def test_byte_by_byte_is_as_good_as_whole(make: MakeReader, body: bytes) -> None:
    assert read(make, *(body[at : at + 1] for at in range(len(body)))) == read(make, body)


@pytest.mark.parametrize(
    ("make", "body"), [param for param in BODIES if str(param.id).endswith((".web_search", ".x_search", "stream.success", "stream.xai"))]
)  # fmt: skip
@given(data=st.data())
def test_a_reply_that_is_cut_short_is_the_whole_answer_or_an_error(make: MakeReader, body: bytes, data: st.DataObject) -> None:
    """Never the beginning of an answer: `usage` may be missing, which comes after the last word of a chat stream."""
    whole = read(make, body)
    short = read(make, body[: data.draw(st.integers(0, len(body)))])
    assert isinstance(whole, Answer)
    assert not isinstance(short, Answer) or short.text == whole.text


@pytest.mark.parametrize("make", READERS.values(), ids=READERS)
@given(body=st.binary(max_size=200) | hostile_text().map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_an_answer_or_an_error_of_ours(make: MakeReader, body: bytes) -> None:
    read(make, body)
    read(make, b"data: " + body)


def payloads() -> st.SearchStrategy[Any]:
    """JSON near the agreed shape: its names everywhere, any value below them."""
    names = st.sampled_from(
        [
            "type", "delta", "text", "item", "response", "output", "content", "annotations", "annotation", "url", "title", "status",
            "usage", "error", "code", "message", "choices", "finish_reason", "citations", "search_sources", "url_citation", "action",
            "sources", "output_index", "content_index", "incomplete_details", "reason", "model", "refusal", "tool_calls", "id",
            "cost_in_usd_ticks", "server_side_tool_usage", "server_side_tool_usage_details", "web_search_calls", "output_text",
        ]
    )  # fmt: skip
    leaves = (
        json_values()
        | st.sampled_from(["message", "output_text", "text", "web_search_call", "completed", "failed", "incomplete", "https://a.example"])
        | st.sampled_from(EVENT_TYPES)
        | st.floats()
        | st.integers()
    )  # fmt: skip
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5), max_leaves=25
    )


@given(payload=payloads())
def test_any_json_is_an_answer_or_an_error_of_ours(payload: Any) -> None:
    body = json.dumps(payload).encode()
    for make in READERS.values():
        for outcome in (read(make, body), read(make, b"data: " + body + b"\n\ndata: [DONE]\n\n")):
            if isinstance(outcome, Answer):
                assert_presentable(outcome)


@given(payload=payloads().filter(lambda value: isinstance(value, dict)))
def test_any_object_in_place_of_a_reply_is_an_answer_or_an_error_of_ours(payload: dict[str, Any]) -> None:
    for from_wire in (xai.from_wire, chat_completions.from_wire):
        with suppress(ProviderError):
            assert_presentable(from_wire(payload))


def assert_presentable(answer: Answer) -> None:
    assert answer.text.strip()
    assert "\x00" not in answer.text
    json.dumps(as_plain(answer), allow_nan=False).encode()
    answer.text.encode()
    addresses = [source.url for source in answer.sources]
    assert all(map(urls.is_web_url, addresses))
    assert len({urls.canonical(url) for url in addresses}) == len(addresses)
    evidence = [source.evidence for source in answer.sources]
    assert evidence == sorted(evidence)


@given(data=st.binary(max_size=300), at=st.lists(st.integers(0, 300), max_size=8))
def test_events_do_not_depend_on_where_chunks_end(data: bytes, at: list[int]) -> None:
    whole, pieces = EventReader(), EventReader()
    expected = whole.feed(data) + whole.flush()
    assert [event for chunk in cut(data, at) for event in pieces.feed(chunk)] + pieces.flush() == expected


MARKDOWN = st.lists(
    st.sampled_from(
        ["`", "```", "\n", "\n\n", "[", "]", "(", ")", "](", "[[1]](", "https://a.example/x", "https://b.example/(y)", "Sources", "##",
         "**", ":", "- ", "1. ", " ", "word", "<think>", "</think>", "<details>", "</details>", "sources(", "|", '"', "\\", "~~~", "!"]
    )
    | hostile_text(max_size=5),
    max_size=40,
).map("".join)  # fmt: skip


@given(text=MARKDOWN)
def test_any_text_is_searched_for_sources_without_harm(text: str) -> None:
    prose, listed = citations.split_sources(citations.without_thinking(text))
    found = citations.unite((*citations.inline(text), *listed))
    assert all(urls.is_web_url(source.url) for source in found)
    assert citations.split_sources(text)[0] == text or listed or len(prose) <= len(text)


@given(text=MARKDOWN)
def test_words_of_the_prose_are_never_invented(text: str) -> None:
    prose, _ = citations.split_sources(text)
    assert all(line in text for line in prose.split("\n"))


@given(found=st.lists(sources(), max_size=12))
def test_uniting_keeps_each_page_once_at_its_first_place_and_uniting_again_changes_nothing(found: list[Source]) -> None:
    first: dict[str, str] = {}
    for source in found:
        first.setdefault(urls.canonical(source.url), source.url)
    united = citations.unite(found)
    assert [source.url for source in united] == list(first.values())
    assert citations.unite(united) == united
