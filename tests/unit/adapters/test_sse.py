"""Event framing, and telling a stream from a body."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_adapters.http.sse import Event, EventReader, ReplyBuffer, error_in_event, is_event_stream, model_names
from websearch_core.errors import BadReply, ProviderError, Unreachable, WrongAddress

BASE = "https://relay.example/v1"
STREAM = 'event: one\ndata: {"a": "é桥"}\n\n: comment\n\ndata: two\ndata:  lines\nid: 7\nretry: 5\n\ndata: [DONE]\n\n'
EVENTS = [Event("one", '{"a": "é桥"}'), Event("", "two\n lines"), Event("", "[DONE]")]


def read(data: bytes, *cuts: int) -> list[Event]:
    reader, edges = EventReader(), [0, *sorted(cuts), len(data)]
    events = [event for start, end in pairwise(edges) for event in reader.feed(data[start:end])]
    return events + reader.flush()


class TestEventReader:
    @pytest.mark.requirement("RS-SSE-08")
    @pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
    def test_every_line_end_gives_the_same_events(self, line_end: str) -> None:
        assert read(STREAM.replace("\n", line_end).encode()) == EVENTS

    @pytest.mark.requirement("RS-SSE-06")
    @given(
        line_end=st.sampled_from(["\n", "\r\n", "\r"]),
        cuts=st.lists(st.integers(0, len(STREAM.replace("\n", "\r\n").encode())), max_size=12),
    )
    def test_chunks_may_end_anywhere(self, line_end: str, cuts: list[int]) -> None:
        data = STREAM.replace("\n", line_end).encode()
        assert read(data, *(min(cut, len(data)) for cut in cuts)) == EVENTS

    def test_an_event_is_told_as_soon_as_its_blank_line_came(self) -> None:
        reader = EventReader()
        assert reader.feed(b"data: x\r") == []
        assert reader.feed(b"\r") == [Event("", "x")]
        assert reader.feed(b"\n") == []

    def test_an_empty_chunk_between_cr_and_lf_changes_nothing(self) -> None:
        reader = EventReader()
        assert [reader.feed(chunk) for chunk in (b"data: x\r", b"", b"\ndata: y\n\n")] == [[], [], [Event("", "x\ny")]]

    @pytest.mark.requirement("RS-SSE-07")
    def test_a_byte_order_mark_is_stripped_even_when_cut(self) -> None:
        assert read(b"\xef\xbb\xbfevent: one\ndata: x\n\n", 1, 2) == [Event("one", "x")]

    @pytest.mark.requirement("RS-SSE-10")
    def test_flush_gives_the_event_that_no_blank_line_ended(self) -> None:
        assert read(b"data: x\n") == read(b"data: x") == [Event("", "x")]
        assert read(b"data: x\n\n") == [Event("", "x")]

    def test_only_one_blank_after_the_colon_is_framing(self) -> None:
        assert read(b"data:x\n\ndata:  y\n\n") == [Event("", "x"), Event("", " y")]

    def test_an_event_may_be_a_name_alone(self) -> None:
        assert read(b"event: done\ndata:\n\n") == [Event("done", "")]
        assert read(b"event: done\n\n") == [Event("done", "")]

    def test_comments_and_blank_lines_are_no_events(self) -> None:
        assert read(b": keep-alive\n\n\n\n:\n\nid: 1\n\n") == []

    def test_bytes_that_are_no_utf8_are_replaced(self) -> None:
        assert read(b"data: \xff\n\n") == [Event("", "\ufffd")]


class TestSniffing:
    @pytest.mark.parametrize(
        "head", [b"data: {}", b"event: x", b": hi", b"id: 1", b"retry: 1", b"\xef\xbb\xbfdata:", b"\n\r\n data:"]
    )
    def test_streams_are_known_by_their_first_field(self, head: bytes) -> None:
        assert is_event_stream(head) is True

    @pytest.mark.parametrize("head", [b"{", b"[", b"<", b'"', b"Too many requests", b"database", b"\xef\xbb\xbf{"])
    def test_bodies_are_known_by_their_first_character(self, head: bytes) -> None:
        assert is_event_stream(head) is False

    @pytest.mark.parametrize("head", [b"", b"  ", b"d", b"dat", b"event", b"\xef\xbb"])
    def test_too_little_says_nothing(self, head: bytes) -> None:
        assert is_event_stream(head) is None


class TestReplyBuffer:
    def test_a_stream_gives_events_however_it_is_cut(self) -> None:
        buffer = ReplyBuffer("grok", BASE)
        events = [event for byte in b"\n\n" + STREAM.encode() for event in buffer.feed(bytes([byte]))]
        assert events == EVENTS
        assert buffer.streamed

    def test_a_body_is_read_whole_after_any_blanks(self) -> None:
        buffer = ReplyBuffer("grok", BASE)
        for chunk in (b"  ", b"\n", b'{"a"', b": 1}"):
            assert buffer.feed(chunk) == []
        assert not buffer.streamed
        assert buffer.body() == {"a": 1}

    def test_a_page_names_the_configured_address_and_its_title(self) -> None:
        buffer = ReplyBuffer("grok", "https://user:secret@relay.example/v1?key=secret")
        buffer.feed(b"<!doctype html><title>Sign in\x00 <b>now</b></title>")
        with pytest.raises(WrongAddress, match=r"https://relay\.example/v1 answers with an HTML page") as caught:
            buffer.body()
        assert "Sign in" in caught.value.message
        assert "secret" not in f"{caught.value.message} {caught.value.hint}"

    @pytest.mark.parametrize("body", [b"", b"Too many requests", b'{"a": ', b"[1]", b"null", b'"text"'])
    def test_anything_else_can_be_asked_again(self, body: bytes) -> None:
        buffer = ReplyBuffer("grok", BASE)
        buffer.feed(body)
        with pytest.raises(Unreachable) as caught:
            buffer.body()
        assert caught.value.diagnostics["error_type"] == "invalid_response"
        assert caught.value.repeatable

    def test_a_broken_character_is_damage_but_a_stream_in_another_encoding_is_refused(self) -> None:
        buffer = ReplyBuffer("grok", BASE)
        assert buffer.feed(b"data: K\xf6ln\n\n") == [Event("", "K\ufffdln")]
        assert buffer.feed("data: \ufffd\ufffd\ufffd\ufffd said so itself\n\n".encode())
        with pytest.raises(Unreachable, match="another encoding") as caught:
            buffer.feed("data: 步行桥已重新开放\n\n".encode("gbk"))
        assert caught.value.diagnostics["error_type"] == "invalid_response"

    def test_a_body_in_another_encoding_is_refused(self) -> None:
        buffer = ReplyBuffer("grok", BASE)
        buffer.feed('{"answer": "步行桥已重新开放"}'.encode("gbk"))
        with pytest.raises(Unreachable):
            buffer.body()

    def test_an_error_in_a_body_is_raised(self) -> None:
        buffer = ReplyBuffer("grok", BASE)
        buffer.feed(b'{"error": {"code": "overloaded_error", "message": "x"}}')
        with pytest.raises(Unreachable):
            buffer.body()


class TestErrorsInEvents:
    @pytest.mark.parametrize(
        ("event", "payload", "kind"),
        [
            (Event("", ""), {"code": "x", "error": "No available accounts"}, Unreachable),
            (Event("error", ""), {}, Unreachable),
            (Event("error", "something odd"), {}, BadReply),
            (Event("", ""), {"type": "error", "code": "server_error", "message": "m", "param": None}, Unreachable),
            (Event("error", ""), {"type": "error", "error": {"type": "overloaded_error"}}, Unreachable),
        ],
    )
    def test_every_spelling_is_an_error(self, event: Event, payload: dict[str, object], kind: type[ProviderError]) -> None:
        assert type(error_in_event(event, payload, provider="grok", base_url=BASE)) is kind

    def test_an_ordinary_event_is_none(self) -> None:
        assert error_in_event(Event("x", "{}"), {"type": "x", "error": None}, provider="grok", base_url=BASE) is None


@pytest.mark.requirement("P5-CLIENT-02")
def test_model_names_skip_what_is_no_model() -> None:
    assert model_names({"data": [{"id": "a"}, {"id": 1}, None, "b", {"id": " "}, {"id": "c"}]}) == ("a", "c")
    assert model_names({"data": None}) == model_names({}) == ()
