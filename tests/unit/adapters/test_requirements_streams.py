"""What both engines' readers promise about streams and shapes, each promise by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from websearch_adapters.http.sse import Event, EventReader
from websearch_adapters.providers import chat_completions, xai
from websearch_adapters.providers.chat_completions import ChatReply
from websearch_adapters.providers.xai import ResponsesReply
from websearch_core.errors import ProviderError, Unreachable
from websearch_core.values import Answer

BASE = "https://relay.example/v1"
ONE, TWO, THREE, FOUR = (f"https://{name}.example/page" for name in ("one", "two", "three", "four"))


def responses(*chunks: bytes) -> tuple[Answer, bool]:
    """The answer, and whether the reader knew the end before the line closed."""
    reader = ResponsesReply(BASE)
    told = [reader.feed(chunk) for chunk in chunks]
    return reader.close(), told[-1]


def chat(*chunks: bytes) -> tuple[Answer, bool]:
    reader = ChatReply(BASE)
    told = [reader.feed(chunk) for chunk in chunks]
    return reader.close(), told[-1]


def events(*payloads: dict[str, Any] | str) -> bytes:
    texts = (payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False) for payload in payloads)
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def delta(text: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}


def piece(text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}], **more}


def message(text: str, *annotations: object) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text, "annotations": list(annotations)}]}


def completed(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"status": "completed", "model": "m", "output": list(output), **more}


def whole(text: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], **more}


def addresses(answer: Answer) -> list[str]:
    return [source.url for source in answer.sources]


# --- framing


@pytest.mark.requirement("RS-SSE-01")
def test_a_completed_event_is_the_end_though_the_line_stays_open() -> None:
    answer, ended = responses(events(delta("Yes."), {"type": "response.completed", "response": completed(message("Yes."))}))
    assert (answer.text, ended) == ("Yes.", True)
    answer, ended = chat(events(piece("Yes."), "[DONE]"))
    assert (answer.text, ended) == ("Yes.", True)


@pytest.mark.requirement("RS-SSE-02")
def test_events_and_json_are_both_read_whichever_was_asked_for() -> None:
    assert responses(json.dumps(completed(message("Yes."))).encode())[0].text == "Yes."
    assert responses(events({"type": "response.completed", "response": completed(message("Yes."))}))[0].text == "Yes."
    assert chat(json.dumps(whole("Yes.")).encode())[0].text == "Yes."
    assert chat(events(piece("Yes.", "stop")))[0].text == "Yes."


@pytest.mark.requirement("RS-SSE-03", "RS-SSE-04", "RS-SSE-05")
@pytest.mark.parametrize(
    "ending",
    [
        "event: done\ndata:\n\n",
        "event: done\ndata: \n\n",
        'event: response.completed\ndata: {"response": {"output": []}}\n\n',
        'event: done\ndata: {"type": "response.done"}\n\n',
        "event: done\n\n",
    ],
)
def test_a_done_event_may_hold_nothing_or_json_or_lack_its_data(ending: str) -> None:
    assert responses(events(delta("Yes.")), ending.encode())[0].text == "Yes."


@pytest.mark.requirement("RS-SSE-03", "RS-SSE-05")
@pytest.mark.parametrize("ending", ["event: done\ndata:\n\n", "event: done\n\n", "event: end\n\n"])
def test_a_done_event_of_a_chat_may_hold_nothing(ending: str) -> None:
    assert chat(events(piece("Yes.")), ending.encode())[0].text == "Yes."


@pytest.mark.requirement("RS-SSE-06")
def test_a_character_cut_anywhere_arrives_whole() -> None:
    text = "价格 ≤ 5 € 😀"
    for body, read in ((events(delta(text), "[DONE]"), responses), (events(piece(text, "stop")), chat)):
        for cut in range(1, len(body)):
            assert read(body[:cut], body[cut:])[0].text == text


@pytest.mark.requirement("RS-SSE-07", "RS-SSE-08")
@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_marks_and_line_ends_change_nothing(line_end: bytes) -> None:
    body = b"\xef\xbb\xbf" + events(piece("Yes."), piece(finish="stop"), "[DONE]").replace(b"\n", line_end)
    assert chat(body)[0].text == "Yes."


@pytest.mark.requirement("RS-SSE-09")
def test_mixed_line_ends_part_events_at_the_earliest_blank_line() -> None:
    reader = EventReader()
    body = b"data: one\r\rdata: two\r\n\r\ndata: three\n\ndata: four\r\n\ndata: five\n\r\n"
    assert reader.feed(body) + reader.flush() == [Event("", word) for word in ("one", "two", "three", "four", "five")]


@pytest.mark.requirement("RS-SSE-10")
@pytest.mark.parametrize("cut", [1, 2])
def test_a_last_event_without_its_blank_line_counts(cut: int) -> None:
    assert chat(events(piece("Yes."), piece(finish="stop"))[:-cut])[0].text == "Yes."
    end = events(delta("Yes."), {"type": "response.completed", "response": completed(message("Yes."))})
    assert responses(end[:-cut])[0].text == "Yes."


@pytest.mark.requirement("RS-SSE-11")
@pytest.mark.parametrize(
    "ending",
    [
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "x"}}},
        {"type": "error", "error": {"code": "server_error", "message": "x"}},
        {"error": {"code": "server_error", "message": "x"}},
    ],
)
def test_an_end_that_tells_failure_is_an_error_whatever_came_before(ending: dict[str, Any]) -> None:
    with pytest.raises(ProviderError):
        responses(events(delta("Half of it"), ending))
    with pytest.raises(ProviderError):
        chat(events(piece("Half of it"), {**ending, "choices": []}))


@pytest.mark.requirement("RS-SSE-12", "RS-SSE-13")
def test_citations_of_any_frame_are_kept() -> None:
    answer, _ = chat(
        events(
            piece("Yes.", citations=[ONE]),
            {"choices": [], "citations": [TWO]},
            {"search_sources": [{"url": THREE}]},
            piece(finish="stop"),
            "[DONE]",
        )
    )
    assert answer.text == "Yes."
    assert set(addresses(answer)) == {ONE, TWO, THREE}


# --- completeness


@pytest.mark.requirement("P5-CLIENT-01")
def test_pieces_are_joined_and_what_is_no_piece_is_passed_over() -> None:
    noise = b": comment\n\nevent: ping\n\n" + events('{"broken', {"choices": None}, {"choices": []}, piece())
    body = noise + events(piece("One ")) + noise + events(piece("two."), piece(finish="stop"), "[DONE]")
    assert chat(body)[0].text == "One two."
    assert responses(noise + events(delta("One "), '{"broken', delta("two."), "[DONE]"))[0].text == "One two."


@pytest.mark.requirement("P5-CLIENT-14", "P5-CLIENT-13")
def test_a_stream_without_its_end_gives_no_text_at_all() -> None:
    for read, body in ((chat, events(piece(f"Half of it, see [one]({ONE})"))), (responses, events(delta("Half of it")))):
        with pytest.raises(Unreachable) as caught:
            read(body)
        assert caught.value.diagnostics["error_type"] == "stream_interrupted_after_content"
        assert caught.value.repeatable
        assert "Half of it" not in f"{caught.value} {dict(caught.value.diagnostics)}"
    with pytest.raises(Unreachable) as bare:
        chat(events(piece()))
    assert bare.value.diagnostics["error_type"] == "stream_interrupted"


@pytest.mark.requirement("EDGE-03")
def test_text_that_a_standard_stream_tells_four_times_is_in_the_answer_once() -> None:
    body = events(
        delta("One "),
        delta("two."),
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "One two."},
        {"type": "response.output_item.done", "output_index": 0, "item": message("One two.")},
        {"type": "response.completed", "response": completed(message("One two."), output_text="One two.")},
    )
    assert responses(body)[0].text == "One two."


@pytest.mark.requirement("EDGE-04")
@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_chat_that_was_cut_says_so(reason: str) -> None:
    answer, _ = chat(events(piece("It goes on and"), piece(finish=reason), "[DONE]"))
    assert [note.code for note in answer.notes] == ["answer_incomplete"]
    with pytest.raises(ProviderError):
        chat(events(piece(finish=reason), "[DONE]"))


@pytest.mark.requirement("EDGE-04")
@pytest.mark.parametrize("reason", ["max_output_tokens", "content_filter"])
def test_a_response_that_was_cut_says_so(reason: str) -> None:
    response = {**completed(message("It goes on and")), "status": "incomplete", "incomplete_details": {"reason": reason}}
    answer, _ = responses(events(delta("It goes on and"), {"type": "response.incomplete", "response": response}))
    assert [note.code for note in answer.notes] == ["answer_incomplete"]
    assert reason in answer.notes[0].text


# --- where sources stand


@pytest.mark.requirement("RS-ADAPTER-03")
@pytest.mark.parametrize(
    "annotation",
    [
        {"type": "url_citation", "url": ONE, "title": "The first page"},
        {"type": "url_citation", "url_citation": {"url": ONE, "title": "The first page"}},
    ],
)
def test_annotations_are_flat_or_nested(annotation: dict[str, Any]) -> None:
    of_chat = chat_completions.from_wire(
        {"choices": [{"message": {"content": "Yes.", "annotations": [annotation]}, "finish_reason": "stop"}]}
    )
    of_xai = xai.from_wire(completed(message("Yes.", annotation)))
    for answer in (of_chat, of_xai):
        assert [(source.url, source.title) for source in answer.sources] == [(ONE, "The first page")]


@pytest.mark.requirement("RS-ADAPTER-04", "RS-ADAPTER-05", "RS-ADAPTER-09")
def test_sources_of_a_chat_stand_in_the_message_and_on_top_and_count_once() -> None:
    answer = chat_completions.from_wire(
        {
            "choices": [{"message": {"content": f"Yes.[[1]]({ONE})", "citations": [ONE, TWO]}, "finish_reason": "stop"}],
            "citations": [TWO, {"url": f"{THREE}?utm_source=x"}, THREE],
            "search_sources": [{"url": FOUR, "title": "The fourth page"}, {"url": ONE, "title": "The first page"}],
        }
    )
    assert addresses(answer)[0] == ONE
    assert answer.sources[0].title == "The first page"
    assert len(answer.sources) == 4
    assert {url.partition("?")[0] for url in addresses(answer)} == {ONE, TWO, THREE, FOUR}


@pytest.mark.requirement("RS-ADAPTER-04", "RS-ADAPTER-05", "RS-ADAPTER-09")
def test_sources_of_a_response_stand_in_the_search_and_on_top_and_count_once() -> None:
    search = {"type": "web_search_call", "id": "ws", "action": {"type": "search", "query": "q", "sources": [{"url": TWO}]}}
    answer = xai.from_wire(completed(search, message(f"Yes.[[1]]({ONE})", {"url": ONE}), citations=[TWO, THREE]))
    assert addresses(answer) == [ONE, TWO, THREE]


@pytest.mark.requirement("RS-ADAPTER-06")
def test_content_may_be_a_list_of_parts() -> None:
    parts = [{"type": "text", "text": "One "}, {"type": "output_text", "text": "two."}]
    assert chat_completions.from_wire(whole(parts)).text == "One two."
    delivered = {"choices": [{"delta": {"content": parts}, "finish_reason": "stop"}]}
    assert chat(events(delivered))[0].text == "One two."


@pytest.mark.requirement("RS-ADAPTER-07")
def test_a_malformed_marker_hides_no_later_one() -> None:
    answer = chat_completions.from_wire(whole(f"One.[[1](https://bad.example Two.[[2]]({TWO}) Three.[[3]]({THREE})"))
    assert addresses(answer) == [TWO, THREE]


@pytest.mark.requirement("RS-ADAPTER-08")
@pytest.mark.parametrize("junk", ["1", "x", "42", "", " "])
def test_a_title_that_says_nothing_is_none(junk: str) -> None:
    answer = xai.from_wire(completed(message("Yes.", {"type": "url_citation", "url": ONE, "title": junk})))
    assert [(source.url, source.title) for source in answer.sources] == [(ONE, "")]


@pytest.mark.requirement("RS-ADAPTER-10")
@pytest.mark.parametrize("text", ["", " \n", None, []])
def test_a_reply_with_nothing_in_it_is_an_error(text: Any) -> None:
    with pytest.raises(ProviderError) as of_chat:
        chat_completions.from_wire(whole(text))
    with pytest.raises(ProviderError) as of_xai:
        xai.from_wire(completed(message(text or "")))
    assert {of_chat.value.diagnostics["error_type"], of_xai.value.diagnostics["error_type"]} == {"empty_response"}


@pytest.mark.requirement("HEAD-25")
def test_thinking_is_no_part_of_the_answer_even_across_pieces() -> None:
    assert chat(events(piece("<thi"), piece("nk>hm</th"), piece("ink>Yes.", "stop")))[0].text == "Yes."
    assert xai.from_wire(completed(message("<think>hm</think>Yes."))).text == "Yes."


@pytest.mark.requirement("HEAD-28")
def test_labelled_lines_become_sources_and_leave_the_answer() -> None:
    answer = chat_completions.from_wire(whole(f"Yes.\n\nSources:\nCouncil: {ONE}\nGazette: {TWO}"))
    assert answer.text == "Yes."
    assert [(source.url, source.title) for source in answer.sources] == [(ONE, "Council"), (TWO, "Gazette")]


@pytest.mark.requirement("EDGE-09")
def test_sources_in_the_middle_twice_and_in_code_swallow_no_prose() -> None:
    code = f"```md\n## Sources\n- [x]({FOUR})\n```"
    text = f"First.\n\n## Sources\n- [a]({ONE})\n\nSecond.\n\n{code}\n\nThird.\n\n**Sources:**\n- [b]({TWO})"
    answer = chat_completions.from_wire(whole(text))
    assert answer.text == f"First.\n\nSecond.\n\n{code}\n\nThird."
    assert addresses(answer) == [ONE, TWO]
