"""xAI's translations, against the example payloads."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from upstreams import examples
from websearch_adapters.http.failures import PHRASES, Phrases
from websearch_adapters.providers import xai
from websearch_adapters.providers.xai import ResponsesReply, XaiSettings
from websearch_core import profile
from websearch_core.errors import BadReply, Declined, Unreachable, WebSearchError, WrongAddress
from websearch_core.values import Answer, SearchQuery, Usage

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BASE = "https://api.x.ai/v1"
QUERY = SearchQuery(query="When did the Example Valley footbridge reopen?")
SETTINGS = XaiSettings()
COUNCIL = "https://council.example.org/news/footbridge-reopens"
GAZETTE = "https://gazette.example.com/2026/11/footbridge"
POST = "https://x.com/i/status/1990000000000000001"
PROSE = (
    f"The Example Valley footbridge reopened on 14 November 2026.[[1]]({COUNCIL}) The works took eleven weeks.[[2]]({GAZETTE})"
)


def read(body: bytes, phrases: Phrases = PHRASES) -> Answer:
    reader = ResponsesReply(BASE, phrases)
    reader.feed(body)
    return reader.close()


def told(name: str) -> Answer:
    return read(examples.read(f"xai-responses/{name}"))


def events(*payloads: dict[str, Any] | str) -> bytes:
    texts = (payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads)
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def message(text: str, *annotations: object, **more: Any) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text, "annotations": list(annotations)}], **more}


def completed(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"status": "completed", "model": "m", "output": list(output), **more}


def delta(text: str, output: int = 0, content: int = 0) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": output, "content_index": content, "delta": text}


def found(answer: Answer) -> list[tuple[str, str]]:
    return [(source.url, source.evidence) for source in answer.sources]


def failure(body: bytes, phrases: Phrases = PHRASES) -> WebSearchError:
    with pytest.raises(WebSearchError) as caught:
        read(body, phrases)
    return caught.value


class TestSettings:
    @pytest.mark.parametrize(
        "spelling",
        [
            "https://h.example",
            "https://h.example/",
            "https://h.example/v1",
            "https://h.example/v1/",
            "https://h.example/v1/responses",
        ],
    )
    def test_every_spelling_of_the_address_is_one_base(self, spelling: str) -> None:
        assert XaiSettings(base_url=f" {spelling} ").base_url == "https://h.example/v1"


class TestRequest:
    def test_a_plain_question_searches_the_web_streams_and_is_not_stored(self) -> None:
        system, user = profile.request_messages(QUERY, now=NOW)
        assert xai.to_wire(QUERY, model="grok-4.3", settings=SETTINGS, now=NOW) == {
            "model": "grok-4.3",
            "input": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "stream": True,
            "store": False,
            "tools": [{"type": "web_search"}],
        }

    def test_settings_show_in_the_body(self) -> None:
        settings = XaiSettings(web_search=False, x_search=True, max_turns=2, store=True)
        body = xai.to_wire(QUERY, model="m", settings=settings, now=NOW)
        assert (body["tools"], body["max_turns"], body["store"]) == ([{"type": "x_search"}], 2, True)

    def test_without_any_tool_the_field_is_left_out(self) -> None:
        assert "tools" not in xai.to_wire(QUERY, model="m", settings=XaiSettings(web_search=False), now=NOW)

    @pytest.mark.parametrize(
        ("include", "exclude", "filters", "noted"),
        [
            ((), (), None, ""),
            (("Example.org", "*.example.com"), (), {"allowed_domains": ["example.org", "example.com"]}, ""),
            ((), ("example.net",), {"excluded_domains": ["example.net"]}, ""),
            (("example.org",), ("a.example.org",), {"allowed_domains": ["example.org"]}, "exclude_domains"),
            (tuple(f"{n}.example" for n in range(6)), (), None, "include_domains"),
            ((), tuple(f"{n}.example" for n in range(6)), None, "exclude_domains"),
            (tuple(f"{n}.example" for n in range(6)), ("x.example",), {"excluded_domains": ["x.example"]}, "include_domains"),
            (("münchen.example",), (), {"allowed_domains": ["xn--mnchen-3ya.example"]}, ""),
        ],
    )
    def test_one_list_of_at_most_five_hosts_is_sent_and_the_rest_is_noted(
        self, include: tuple[str, ...], exclude: tuple[str, ...], filters: object, noted: str
    ) -> None:
        query = replace(QUERY, include_domains=include, exclude_domains=exclude)
        (tool,) = xai.to_wire(query, model="m", settings=SETTINGS, now=NOW)["tools"]
        assert tool.get("filters") == filters
        notes = xai.filter_notes(query, SETTINGS)
        assert [(note.code, note.text.partition(":")[0]) for note in notes] == ([("filter_post_applied", noted)] if noted else [])

    def test_freshness_is_noted_because_the_tool_has_no_such_filter(self) -> None:
        (note,) = xai.filter_notes(replace(QUERY, fresh_within="week"), SETTINGS)
        assert note.text.startswith("fresh_within: ")

    def test_without_the_web_tool_no_filter_is_kept(self) -> None:
        query = replace(QUERY, include_domains=("example.org",))
        assert xai.filter_notes(query, XaiSettings(web_search=False, x_search=True))

    @pytest.mark.parametrize(
        ("query", "tool"),
        [
            (QUERY, {"type": "x_search"}),
            (replace(QUERY, fresh_within="week"), {"type": "x_search", "from_date": "2026-11-23"}),
            (replace(QUERY, include_domains=("x.com",)), {"type": "x_search"}),
            (replace(QUERY, include_domains=("example.org",)), None),
            (replace(QUERY, exclude_domains=("x.com",)), None),
        ],
    )
    def test_posts_are_searched_from_the_asked_day_unless_the_hosts_leave_them_out(
        self, query: SearchQuery, tool: dict[str, str] | None
    ) -> None:
        tools = xai.to_wire(query, model="m", settings=XaiSettings(x_search=True), now=NOW)["tools"]
        assert [each for each in tools if each["type"] == "x_search"] == ([tool] if tool else [])


class TestExamples:
    @pytest.mark.parametrize("name", ["response.web_search.json", "stream.web_search.sse"])
    def test_a_search_is_read_whole(self, name: str) -> None:
        answer = told(name)
        assert answer.text == PROSE
        assert found(answer) == [(COUNCIL, "cited"), (GAZETTE, "cited")]
        assert {source.provider for source in answer.sources} == {"grok_responses"}
        assert not any(source.title for source in answer.sources), "numbers are no titles"
        assert (answer.engine, answer.model, answer.searched) == ("grok_responses", "grok-4.3", True)
        assert answer.usage == Usage(input_tokens=9_200, output_tokens=640, searches=2, cost_usd=0.0231)
        assert answer.notes == ()

    @pytest.mark.parametrize("name", ["response.x_search.json", "stream.x_search.sse"])
    def test_a_search_of_posts_counts_as_a_search(self, name: str) -> None:
        answer = told(name)
        assert found(answer) == [(POST, "cited")]
        assert answer.searched
        assert answer.usage == Usage(
            input_tokens=6_400, output_tokens=480, searches=2, cost_usd=0.0792, posts_read=12, profiles_read=1
        )

    def test_the_shape_of_2025_is_read(self) -> None:
        answer = told("response.web_search.2025-shape.json")
        assert answer.text == "It reopened on 14 November."
        assert found(answer) == [(COUNCIL, "cited"), (GAZETTE, "cited")]
        assert answer.searched

    def test_a_relay_that_keeps_only_text_and_citations_is_read(self) -> None:
        answer = told("response.proxy-variant.json")
        assert answer.text == PROSE
        assert [(source.title, source.evidence) for source in answer.sources] == [
            ("", "cited"),
            ("Footbridge back in use", "cited"),
        ]
        assert answer.searched
        assert answer.usage == Usage(input_tokens=9_200, output_tokens=640, searches=2, cost_usd=0.0231)

    @pytest.mark.parametrize(
        "name",
        [
            "response.empty.json",
            *(
                f"stream.quirk.{quirk}.sse"
                for quirk in ("bom", "cr-only", "crlf-comments", "done-event", "no-event-names", "no-final-blank-line")
            ),
        ],
    )
    def test_an_answer_without_a_search_says_so_whatever_the_framing(self, name: str) -> None:
        answer = told(name)
        assert answer.text == "I could not find anything about that bridge."
        assert (answer.sources, answer.searched) == ((), False)
        assert answer.usage is not None
        assert answer.usage.searches == 0

    @pytest.mark.requirement("EDGE-04")
    @pytest.mark.parametrize("name", ["response.incomplete.json", "stream.incomplete.sse"])
    def test_an_answer_that_ends_early_is_an_answer_with_a_note(self, name: str) -> None:
        answer = told(name)
        assert answer.text == "The Example Valley footbridge reop"
        assert [(note.code, note.text) for note in answer.notes] == [
            ("answer_incomplete", "the answer ends early: max_output_tokens")
        ]

    @pytest.mark.parametrize(
        "name", ["response.failed.json", "stream.failed.sse", "stream.error-event.sse", "stream.error-object.sse"]
    )
    def test_a_reported_failure_is_raised_and_can_be_repeated(self, name: str) -> None:
        error = failure(examples.read(f"xai-responses/{name}"))
        assert isinstance(error, Unreachable)
        assert error.diagnostics["error_type"] == "upstream_unavailable"

    def test_the_operators_words_decide_in_a_stream_and_in_an_object(self) -> None:
        mine = Phrases(retry=("pool is busy",), retryable_codes=())
        failed = {"status": "failed", "error": {"code": "server_error", "message": "Pool is busy"}}
        for body in (events({"type": "response.failed", "response": failed}), json.dumps(failed).encode()):
            assert type(failure(body, mine)) is Unreachable
        assert type(failure(events({"type": "error", "code": "server_error"}), mine)) is BadReply

    def test_a_failure_without_a_word_can_be_repeated_whatever_the_codes(self) -> None:
        body = events({"type": "response.failed", "response": {"status": "failed", "error": None}})
        error = failure(body, Phrases(retryable_codes=()))
        assert (type(error), error.upstream_code) == (Unreachable, None)

    @pytest.mark.requirement("P5-CLIENT-14")
    def test_a_stream_that_breaks_off_is_no_answer(self) -> None:
        error = failure(examples.read("xai-responses/stream.truncated.sse"))
        assert isinstance(error, Unreachable)
        assert error.diagnostics["error_type"] == "stream_interrupted_after_content"
        assert "footbridge" not in error.message

    def test_every_reply_with_status_200_of_the_manifest_is_covered(self) -> None:
        rows = [row for row in examples.scenarios("xai-responses.") if row.status == 200]
        outcomes = {}
        for row in rows:
            try:
                outcomes[row.id.removeprefix("xai-responses.")] = read(examples.read(row.response_body)).text != ""
            except Unreachable:
                outcomes[row.id.removeprefix("xai-responses.")] = False
        failed = {"failed", "stream.failed", "stream.error-event", "stream.error-object", "stream.truncated", "stream.aborted"}
        assert {name for name, answered in outcomes.items() if not answered} == failed


class TestStreams:
    @pytest.mark.requirement("EDGE-03")
    def test_text_that_is_told_four_times_is_in_the_answer_once(self) -> None:
        body = events(
            delta("One "),
            delta("two."),
            {"type": "response.output_text.done", "text": "One two."},
            {"type": "response.output_item.done", "output_index": 0, "item": message("One two.")},
            {"type": "response.completed", "response": completed(message("One two."), output_text="One two.")},
        )
        assert read(body).text == "One two."

    @pytest.mark.parametrize(
        "telling",
        [
            [delta("One "), delta("two.")],
            [{"type": "response.text.delta", "delta": "One two."}],
            [{"type": "content.delta", "delta": "One two."}],
            [delta("One"), {"type": "response.output_text.done", "text": "One two."}],
            [delta("One"), {"type": "response.output_item.done", "output_index": 0, "item": message("One two.")}],
        ],
    )
    @pytest.mark.parametrize(
        "ending", [{"type": "response.completed", "response": {"output": []}}, {"type": "response.done"}, "[DONE]"]
    )
    def test_text_is_taken_from_the_stream_where_its_end_lacks_it(self, telling: list[Any], ending: Any) -> None:
        assert read(events(*telling, ending)).text == "One two."

    @pytest.mark.requirement("RS-SSE-01")
    def test_the_end_of_the_stream_is_seen_while_the_line_stays_open(self) -> None:
        reader = ResponsesReply(BASE)
        assert reader.feed(examples.read("xai-responses/stream.web_search.sse"))
        assert reader.close().text == PROSE

    @pytest.mark.parametrize("name", ["response.done", "response.completed", "response.incomplete"])
    def test_events_may_be_named_outside_of_their_data(self, name: str) -> None:
        data = json.dumps({"response": {"output": [message("Yes.")]}})
        answer = read(f"event: {name}\ndata: {data}\n\n".encode())
        assert answer.text == "Yes."
        assert [note.text for note in answer.notes] == (
            ["the answer ends early: unknown"] if name == "response.incomplete" else []
        )

    def test_messages_and_parts_that_interleave_are_put_in_order(self) -> None:
        body = events(delta("C", 2), delta("A", 1, 0), delta("B", 1, 1), delta("C", 2), "[DONE]")
        assert read(body).text == "AB\n\nCC"

    def test_a_message_that_is_repeated_counts_once(self) -> None:
        assert xai.from_wire(completed(message("Yes."), message("Yes."))).text == "Yes."

    def test_annotations_and_searches_of_the_stream_survive_an_end_without_them(self) -> None:
        body = events(
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"type": "web_search_call", "id": "ws", "action": {"type": "open_page", "url": GAZETTE}},
            },
            delta("Yes.", 1),
            {"type": "response.output_text.annotation.added", "output_index": 1, "annotation": {"url": COUNCIL}},
            {"type": "response.completed", "response": completed(message("Yes."))},
        )
        answer = read(body)
        assert (answer.text, answer.searched) == ("Yes.", True)
        assert found(answer) == [(COUNCIL, "cited"), (GAZETTE, "listed")]

    @pytest.mark.requirement("P5-CLIENT-01")
    def test_a_damaged_chunk_is_passed_over(self) -> None:
        assert read(events(delta("One "), '{"type": "resp', "[1]", delta("two."), "[DONE]")).text == "One two."

    def test_a_character_cut_between_two_pieces_is_whole_again(self) -> None:
        body = b'data: {"type":"content.delta","delta":"\\ud83d"}\n\ndata: {"type":"content.delta","delta":"\\ude42"}\n\ndata: [DONE]\n\n'
        assert read(body).text == "🙂"

    @pytest.mark.requirement("HEAD-25")
    def test_reasoning_is_never_in_the_answer(self) -> None:
        body = events(
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "secret thought"},
            {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "secret thought"},
            delta("<think>secret thought</think>Yes.", 1),
            {
                "type": "response.completed",
                "response": completed({"type": "reasoning", "content": [{"type": "text", "text": "secret"}]}),
            },
        )
        assert read(body).text == "Yes."

    @pytest.mark.parametrize("body", [events(delta("")), events({"type": "response.created", "response": {}}), b": hi\n\n"])
    def test_a_stream_without_an_end_and_without_text_was_interrupted(self, body: bytes) -> None:
        assert failure(body).diagnostics["error_type"] == "stream_interrupted"

    @pytest.mark.parametrize(
        "body",
        [
            events("[DONE]"),
            events(delta(" \n"), {"type": "response.completed", "response": completed()}),
            events(delta("<think>hm</think>"), "[DONE]"),
            events(delta(f"Sources:\n- {COUNCIL}"), "[DONE]"),
            json.dumps(completed()).encode(),
            b"{}",
        ],
    )
    def test_a_whole_reply_without_words_is_empty_and_can_be_repeated(self, body: bytes) -> None:
        error = failure(body)
        assert error.diagnostics["error_type"] == "empty_response"
        assert error.repeatable


class TestFromWire:
    def test_sources_come_from_every_place_cited_ones_first(self) -> None:
        call = {
            "type": "web_search_call",
            "action": {"type": "search", "sources": [{"url": "https://a.example"}, "https://b.example"]},
        }
        opened = {"type": "web_search_call", "action": {"type": "open_page", "url": "https://c.example"}}
        answer = xai.from_wire(
            completed(
                call,
                opened,
                message(
                    "Yes.[[1]](https://e.example) See [this](https://f.example).\n\nSources:\n- https://g.example",
                    {"url": COUNCIL},
                ),
                citations=["https://d.example", {"url": "https://a.example", "title": "A page"}],
            )
        )
        assert answer.text == "Yes.[[1]](https://e.example) See [this](https://f.example)."
        assert found(answer) == [
            (COUNCIL, "cited"),
            ("https://e.example", "cited"),
            ("https://f.example", "cited"),
            ("https://a.example", "listed"),
            ("https://b.example", "listed"),
            ("https://c.example", "listed"),
            ("https://d.example", "listed"),
            ("https://g.example", "listed"),
        ]
        assert answer.sources[3].title == "A page"

    @pytest.mark.parametrize(
        ("response", "searched"),
        [
            (completed(message("Yes.")), False),
            (completed(message("Yes, see [this](https://a.example).")), False),
            (completed(message("Yes.[[1]](https://a.example)")), True),
            (completed(message("Yes.", {"url": COUNCIL})), True),
            (completed(message("Yes."), citations=[COUNCIL]), True),
            (completed({"type": "web_search_call", "status": "completed"}, message("Yes.")), True),
            (completed({"type": "web_search_call", "status": "failed"}, message("Yes.")), False),
            (completed({"type": "custom_tool_call", "name": "x_keyword_search"}, message("Yes.")), True),
            (completed({"type": "custom_tool_call", "name": "lookup"}, message("Yes.")), False),
            (completed(message("Yes."), usage={"server_side_tool_usage_details": {"web_search_calls": 1}}), True),
            (completed(message("Yes."), usage={"server_side_tool_usage": {"SERVER_SIDE_TOOL_X_SEARCH": 2}}), True),
            (completed(message("Yes."), usage={"num_server_side_tools_used": 0, "num_sources_used": 0}), False),
        ],
    )
    def test_a_search_is_believed_by_its_traces_alone(self, response: dict[str, Any], searched: bool) -> None:
        assert xai.from_wire(response).searched is searched

    @pytest.mark.parametrize(
        ("usage", "cost"),
        [
            ({"cost_in_usd_ticks": 10_000_000_000}, 1.0),
            ({"cost_in_usd_ticks": "5000000000"}, 0.5),
            ({"cost_in_usd_ticks": None, "cost_in_nano_usd": 250_000_000}, 0.25),
            ({"cost_in_usd_ticks": "much"}, None),
            ({"cost_in_usd_ticks": float("nan")}, None),
            ({"cost_in_usd_ticks": True}, None),
        ],
    )
    def test_ticks_become_dollars(self, usage: dict[str, Any], cost: float | None) -> None:
        answer = xai.from_wire(completed(message("Yes."), usage=usage))
        assert answer.usage is not None
        assert answer.usage.cost_usd == cost

    def test_without_counters_the_calls_are_counted(self) -> None:
        call = {"type": "web_search_call", "status": "completed"}
        answer = xai.from_wire(completed(call, call, message("Yes."), usage={"input_tokens": -1, "output_tokens": 2}))
        assert answer.usage == Usage(output_tokens=2, searches=2)

    @pytest.mark.requirement("EDGE-04")
    @pytest.mark.parametrize(
        "response",
        [
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
            completed({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}),
        ],
    )
    def test_a_filter_or_refusal_without_text_is_declined(self, response: dict[str, Any]) -> None:
        assert isinstance(failure(json.dumps(response).encode()), Declined)

    def test_a_reason_that_is_no_slug_is_not_repeated(self) -> None:
        response = {"status": "incomplete", "incomplete_details": {"reason": "see <b>here</b>"}, "output": [message("Ye")]}
        assert xai.from_wire(response).notes[0].text == "the answer ends early: unknown"

    @pytest.mark.parametrize("status", ["in_progress", "queued", "cancelled"])
    def test_a_reply_that_is_not_finished_is_no_answer(self, status: str) -> None:
        error = failure(json.dumps({"status": status, "output": [message("Ye")]}).encode())
        assert isinstance(error, Unreachable)
        assert error.diagnostics["error_type"] == "stream_interrupted_after_content"

    def test_text_may_stand_on_top_or_as_a_plain_string(self) -> None:
        assert xai.from_wire({"output_text": "Yes."}).text == "Yes."
        assert xai.from_wire(completed({"type": "message", "content": "Yes."})).text == "Yes."

    def test_control_characters_do_not_reach_the_answer(self) -> None:
        assert xai.from_wire(completed(message("Yes\x00\x1b[31m.\r\nNo\ud800"))).text == "Yes.\nNo\ufffd"

    def test_a_page_instead_of_a_reply_names_the_address(self) -> None:
        error = failure(b"<html><title>Log in</title></html>")
        assert isinstance(error, WrongAddress)
        assert BASE in error.message
