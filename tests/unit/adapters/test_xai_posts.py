"""xAI's second capability: what is sent for a search on X, and what is read out of the reply."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from upstreams import examples
from websearch_adapters.http.failures import PHRASES
from websearch_adapters.providers import xai
from websearch_adapters.providers.xai import ResponsesReply, XaiSettings, posts_from_wire
from websearch_core.errors import BadReply, Declined, EmptyResult, Unreachable, WebSearchError
from websearch_core.values import Answer, PostQuery, Usage

QUERY = PostQuery(query="Is the footbridge open?")
SETTINGS = XaiSettings(provider="xai")
POST = "https://x.com/i/status/1990000000000000001"
OTHER = "https://x.com/council_1/status/1990000000000000002"


def sent(**more: Any) -> dict[str, Any]:
    return xai.posts_to_wire(replace(QUERY, **more), model="m", settings=SETTINGS)


def message(text: str, *annotations: object) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text, "annotations": list(annotations)}]}


def cites(url: object, title: object = "1") -> dict[str, Any]:
    return {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 0}


CALL = {"type": "custom_tool_call", "name": "x_keyword_search", "input": "{}", "status": "completed"}


def completed(*output: dict[str, Any], searches: object = 1, **more: Any) -> dict[str, Any]:
    usage = {"server_side_tool_usage_details": {"x_search_calls": searches}}
    return {"status": "completed", "model": "m", "output": list(output), "usage": usage, **more}


def read(response: dict[str, Any]) -> Answer:
    return posts_from_wire(response, provider="xai")


def failure(response: dict[str, Any]) -> WebSearchError:
    with pytest.raises(WebSearchError) as caught:
        read(response)
    assert caught.value.provider == "xai"
    return caught.value


def streamed(body: bytes) -> Answer:
    reader = ResponsesReply("https://api.x.ai/v1", PHRASES, provider="xai", translate=posts_from_wire)
    reader.feed(body)
    return reader.close()


class TestRequest:
    @pytest.mark.requirement("X-CLIENT-01", "X-CLIENT-02")
    def test_a_plain_question_is_sent_with_one_tool_and_both_switches(self) -> None:
        assert sent() == {
            "model": "m",
            "input": QUERY.query,
            "instructions": xai.QUOTING,
            "tools": [{"type": "x_search"}],
            "include": ["no_inline_citations"],
            "stream": True,
            "store": False,
        }

    @pytest.mark.requirement("X-CLIENT-02")
    def test_the_order_says_to_answer_to_quote_to_link_and_to_distrust_in_this_sequence(self) -> None:
        words = ["searching X", "word for word", "never reword", "address of each post", "untrusted"]
        places = [xai.QUOTING.index(each) for each in words]

        assert places == sorted(places)

    @pytest.mark.requirement("X-INPUT-05")
    def test_only_filters_that_are_set_are_sent_and_switches_also_when_they_are_off(self) -> None:
        (tool,) = sent(
            allowed_x_handles=("@a", "b"),
            from_date="2026-11-01",
            enable_image_understanding=True,
            enable_video_understanding=False,
        )["tools"]

        assert tool == {
            "type": "x_search",
            "allowed_x_handles": ["a", "b"],
            "from_date": "2026-11-01",
            "enable_image_understanding": True,
            "enable_video_understanding": False,
        }
        assert sent(excluded_x_handles=("c",))["tools"] == [{"type": "x_search", "excluded_x_handles": ["c"]}]

    @pytest.mark.requirement("X-INPUT-03")
    @pytest.mark.parametrize(
        ("last", "told"), [("2026-11-30", "2026-12-01"), ("2024-02-28", "2024-02-29"), ("2026-12-31", "2027-01-01")]
    )
    def test_the_last_day_is_included_so_the_service_is_told_the_next(self, last: str, told: str) -> None:
        assert sent(from_date=last, to_date=last)["tools"] == [{"type": "x_search", "from_date": last, "to_date": told}]

    def test_the_last_day_of_all_is_no_limit(self) -> None:
        assert sent(to_date="9999-12-31")["tools"] == [{"type": "x_search"}]

    def test_settings_show_in_the_body(self) -> None:
        settings = XaiSettings(max_turns=2, store=True, web_search=False)
        body = xai.posts_to_wire(QUERY, model="m", settings=settings)

        assert (body["max_turns"], body["store"], body["tools"]) == (2, True, [{"type": "x_search"}])


class TestSources:
    @pytest.mark.requirement("X-PARSE-01")
    def test_annotations_come_first_then_the_list_each_once_and_by_https_only(self) -> None:
        answer = read(
            completed(
                message("Yes.", cites(POST, POST), cites("http://x.com/i/status/3"), cites("javascript:alert(1)"), cites(5), "x"),
                citations=[POST, OTHER, {"url": "https://example.org/", "title": "A page"}, "ftp://x", None, 7],
            )
        )

        assert [(source.url, source.title) for source in answer.sources] == [
            (POST, ""),
            (OTHER, ""),
            ("https://example.org/", "A page"),
        ]

    @pytest.mark.parametrize("citations", [None, "x", 5, {"url": OTHER}])
    def test_a_list_that_is_none_is_no_list(self, citations: object) -> None:
        assert [source.url for source in read(completed(message("Yes.", cites(POST)), citations=citations)).sources] == [POST]

    @pytest.mark.parametrize("name", ["response.x_search.json", "stream.x_search.sse"])
    def test_the_examples_are_read_whole(self, name: str) -> None:
        answer = streamed(examples.read(f"xai-responses/{name}"))

        assert answer.text.startswith("The account said on 14 November 2026")
        assert [source.url for source in answer.sources] == [POST]
        assert (answer.searched, answer.engine, answer.model) == (True, "grok_responses", "grok-4.3")
        assert answer.usage == Usage(
            input_tokens=6_400, output_tokens=480, searches=2, cost_usd=0.0792, posts_read=12, profiles_read=1
        )


class TestCount:
    @pytest.mark.requirement("X-PARSE-02")
    @pytest.mark.parametrize(
        ("usage", "searched"),
        [
            ({"server_side_tool_usage_details": {"x_search_calls": 1}}, True),
            ({"server_side_tool_usage_details": {"x_search_calls": 2.9}}, True),
            ({"server_side_tool_usage_details": {"x_search_calls": 0}}, False),
            ({"server_side_tool_usage_details": {"x_search_calls": 0.5}}, False),
            ({"server_side_tool_usage_details": {"x_search_calls": -1}}, False),
            ({"server_side_tool_usage_details": {"x_search_calls": "3"}}, False),
            ({"server_side_tool_usage_details": {"x_search_calls": float("nan")}}, False),
            ({"server_side_tool_usage_details": {"x_search_calls": True}}, False),
            ({"server_side_tool_usage_details": {"x_search_calls": 0}, "x_search_calls": 3}, False),
            ({"server_side_tool_usage_details": {"x_search_calls": None}, "x_search_calls": 3}, True),
            ({"server_side_tool_usage_details": {"web_search_calls": 3}, "x_search_calls": 0}, False),
            ({"x_search_calls": 1}, True),
            ({"server_side_tool_usage": {"SERVER_SIDE_TOOL_X_SEARCH": 2}}, True),
            ({"server_side_tool_usage": {"SERVER_SIDE_TOOL_WEB_SEARCH": 2, "SERVER_SIDE_TOOL_X_SEARCH": 0}}, False),
        ],
    )
    def test_the_first_counter_of_searches_on_x_decides(self, usage: dict[str, Any], searched: bool) -> None:
        response = {"status": "completed", "output": [message("Yes.", cites(POST))], "usage": usage}

        assert read(response).searched is searched

    @pytest.mark.parametrize(
        ("output", "searched"),
        [
            ([message("Yes.")], False),
            ([message("Yes.", cites(POST))], True),
            ([CALL, message("Yes.")], True),
            ([{**CALL, "status": "failed"}, message("Yes.")], False),
            ([{**CALL, "name": "view_image"}, message("Yes.")], False),
        ],
    )
    def test_without_any_counter_calls_and_citations_do(self, output: list[dict[str, Any]], searched: bool) -> None:
        assert read({"status": "completed", "output": output}).searched is searched


class TestText:
    def test_remarks_before_the_last_search_are_left_out(self) -> None:
        output = [message("I will search for the bridge."), CALL, message("Let me look again."), CALL, message("It is open.")]

        assert read(completed(*output)).text == "It is open."

    @pytest.mark.parametrize("early", ["x" * 301, f"Found: {POST}"])
    def test_what_may_be_part_of_the_answer_stays(self, early: str) -> None:
        assert read(completed(message(early), CALL, message("It is open."))).text == f"{early}\n\nIt is open."

    def test_an_answer_that_comes_before_its_search_is_told(self) -> None:
        assert read(completed(message("It is open."), CALL)).text == "It is open."

    @pytest.mark.requirement("X-CLEAN-02")
    def test_text_comes_out_clean(self) -> None:
        assert read(completed(message("It \x1b]0;title\x07is\x9b2J \u202eopen."))).text == "It is open."

    def test_a_search_that_brings_no_text_is_an_empty_result(self) -> None:
        assert isinstance(failure(completed(CALL, message(" "))), EmptyResult)

    def test_no_text_and_no_search_is_for_the_guard(self) -> None:
        answer = read(completed(message(""), searches=0))

        assert (answer.text, answer.searched) == ("", False)

    @pytest.mark.parametrize("response", [{}, {"status": "completed"}, {"output": []}])
    def test_nothing_at_all_is_no_answer(self, response: dict[str, Any]) -> None:
        assert isinstance(failure(response), Unreachable)

    def test_a_refusal_is_told_as_one(self) -> None:
        refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}

        assert isinstance(failure(completed(refusal, searches=0)), Declined)

    def test_an_answer_that_ends_early_says_so(self) -> None:
        cut = completed(message("It is"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})

        assert [note.code for note in read(cut).notes] == ["answer_incomplete"]


def nested(levels: int) -> object:
    """Lists in lists, so many."""
    value: object = []
    for _ in range(levels - 1):
        value = [value]
    return value


class TestCaps:
    @pytest.mark.requirement("X-CLIENT-04")
    @pytest.mark.parametrize("more", [nested(40), [0] * 19_980])
    def test_a_reply_at_the_limit_is_read(self, more: object) -> None:
        assert read(completed(message("Yes."), metadata=more)).text == "Yes."

    @pytest.mark.requirement("X-CLIENT-04")
    @pytest.mark.parametrize("more", [nested(42), nested(5_000), [0] * 20_001, [[0] * 150] * 150])
    def test_a_reply_that_is_too_deep_or_too_wide_is_refused(self, more: object) -> None:
        error = failure(completed(message("Yes."), metadata=more))

        assert isinstance(error, BadReply)
        assert "20,000 parts or 40 levels" in error.message

    @pytest.mark.requirement("X-CLIENT-04")
    def test_a_reply_that_is_too_deep_to_be_read_at_all_is_refused_too(self) -> None:
        body = json.dumps(completed(message("Yes."))).replace('"Yes."', "[" * 100_000 + "]" * 100_000)
        with pytest.raises(WebSearchError):
            streamed(body.encode())
