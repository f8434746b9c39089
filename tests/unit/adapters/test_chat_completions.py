"""The chat protocol's translations, against the example payloads."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from upstreams import examples
from websearch_adapters.http.failures import PHRASES, Phrases
from websearch_adapters.providers import chat_completions as chat
from websearch_adapters.providers.chat_completions import ChatReply, ChatSettings, model_name
from websearch_core import profile
from websearch_core.errors import BadReply, Declined, RateLimited, Unreachable, WebSearchError, WrongAddress
from websearch_core.values import Answer, Evidence, SearchQuery, Source, Usage

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BASE = "https://relay.example/v1"
QUERY = SearchQuery(query="When did the Example Valley footbridge reopen?")
SETTINGS = ChatSettings(base_url=BASE)
COUNCIL = "https://council.example.org/news/footbridge-reopens"
GAZETTE = "https://gazette.example.com/2026/11/footbridge"
PROSE = "It reopened on 14 November 2026."


def read(body: bytes, phrases: Phrases = PHRASES) -> Answer:
    reader = ChatReply(BASE, phrases)
    reader.feed(body)
    return reader.close()


def told(name: str) -> Answer:
    return read(examples.read(f"chat-completions/{name}"))


def failure(body: bytes, phrases: Phrases = PHRASES) -> WebSearchError:
    with pytest.raises(WebSearchError) as caught:
        read(body, phrases)
    return caught.value


def stream(*payloads: dict[str, Any] | str) -> bytes:
    texts = (payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads)
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def whole(content: Any, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}]}


def found(answer: Answer) -> list[tuple[str, str, str]]:
    return [(source.url, source.title, source.evidence) for source in answer.sources]


class TestSettings:
    @pytest.mark.parametrize(
        ("spelling", "base"),
        [
            ("https://h.example", "https://h.example/v1"),
            ("https://h.example/v1", "https://h.example/v1"),
            ("https://h.example/v1/", "https://h.example/v1"),
            ("https://h.example/v1/chat/completions", "https://h.example/v1"),
            ("https://h.example/api", "https://h.example/api/v1"),
            ("https://h.example/api/v4/", "https://h.example/api/v4"),
            ("https://h.example/v1beta/openai", "https://h.example/v1beta/openai"),
            ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1"),
            ("", ""),
        ],
    )
    def test_every_spelling_of_the_address_is_one_base(self, spelling: str, base: str) -> None:
        assert ChatSettings(base_url=spelling).base_url == base


class TestRequest:
    def test_a_plain_question_streams_and_offers_the_search_tool(self) -> None:
        system, user = profile.request_messages(QUERY, now=NOW)
        assert chat.to_wire(QUERY, model="demo-model", settings=SETTINGS, now=NOW) == {
            "model": "demo-model",
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "stream": True,
            "tools": [{"type": "web_search"}],
        }

    def test_settings_show_in_the_body(self) -> None:
        settings = ChatSettings(base_url=BASE, web_search_tool=False, stream_options=True)
        body = chat.to_wire(QUERY, model="m", settings=settings, now=NOW)
        assert "tools" not in body
        assert body["stream_options"] == {"include_usage": True}

    @pytest.mark.parametrize(
        ("base_url", "model", "sent"),
        [
            ("https://openrouter.ai/api/v1", "x-ai/grok-4.3", "x-ai/grok-4.3:online"),
            ("https://openrouter.ai/api/v1", "x-ai/grok-4.3:online", "x-ai/grok-4.3:online"),
            ("https://notopenrouter.ai/api/v1", "x-ai/grok-4.3", "x-ai/grok-4.3"),
        ],
    )
    def test_openrouter_searches_by_the_name_of_the_model(self, base_url: str, model: str, sent: str) -> None:
        body = chat.to_wire(QUERY, model=model, settings=ChatSettings(base_url=base_url), now=NOW)
        assert body["model"] == sent
        assert ("tools" in body) is (not sent.endswith(":online"))

    @pytest.mark.requirement("P5-CLIENT-06")
    @pytest.mark.parametrize(
        ("base_url", "model", "sent"),
        [
            ("https://openrouter.ai/api", "x/grok", "x/grok:online"),
            ("https://openrouter.ai/api", " x/grok:online ", "x/grok:online"),
            ("https://openrouter.ai/api", "", ""),
            ("https://relay.example", " grok ", "grok"),
        ],
    )
    def test_two_spellings_of_a_model_come_to_one_name(self, base_url: str, model: str, sent: str) -> None:
        name = model_name(model, ChatSettings(base_url=base_url))
        assert name == sent
        assert model_name(name, ChatSettings(base_url=base_url)) == sent

    def test_filters_are_said_in_words_and_noted(self) -> None:
        query = replace(QUERY, include_domains=("example.org",), fresh_within="day")
        (note,) = chat.filter_notes(query)
        assert (note.code, note.text.partition(":")[0]) == ("filter_post_applied", "include_domains, fresh_within")
        assert "example.org" in chat.to_wire(query, model="m", settings=SETTINGS, now=NOW)["messages"][1]["content"]
        assert chat.filter_notes(QUERY) == ()


class TestExamples:
    @pytest.mark.parametrize(
        ("name", "sources", "searched"),
        [
            ("response.success.json", [], None),
            ("response.content-parts.json", [], None),
            ("response.annotations.json", [(COUNCIL, "Footbridge reopens", "cited")], True),
            ("response.xai.json", [(COUNCIL, "", "listed"), (GAZETTE, "", "listed")], True),
            ("stream.success.sse", [], None),
            ("stream.no-usage.sse", [], None),
            ("stream.keepalive.sse", [], None),
            ("stream.crlf.sse", [], None),
            ("stream.no-done.sse", [], None),
            ("stream.sse-despite-false.sse", [], None),
            ("stream.xai.sse", [(COUNCIL, "", "listed"), (GAZETTE, "", "listed")], True),
        ],
    )
    def test_answers_are_read(self, name: str, sources: list[tuple[str, str, str]], searched: bool | None) -> None:
        answer = told(name)
        assert answer.text == PROSE
        assert found(answer) == sources
        assert (answer.engine, answer.searched, answer.notes) == ("openai_compatible", searched, ())
        assert answer.model == ("grok-4.3" if ".xai." in name else "demo-model")

    def test_a_relay_that_cites_everywhere_names_each_page_once(self) -> None:
        answer = told("response.relay-citations.json")
        assert answer.text == f"{PROSE}[[1]]({COUNCIL})"
        assert found(answer) == [(COUNCIL, "Footbridge reopens", "cited"), (GAZETTE, "Footbridge back in use", "listed")]
        assert {source.provider for source in answer.sources} == {"openai_compatible"}

    @pytest.mark.parametrize(
        ("name", "usage"),
        [
            ("response.success.json", Usage(input_tokens=31, output_tokens=11)),
            ("stream.success.sse", Usage(input_tokens=31, output_tokens=11)),
            ("stream.xai.sse", Usage(input_tokens=31, output_tokens=11, cost_usd=0.00034125)),
            ("stream.no-usage.sse", None),
        ],
    )
    def test_usage_is_read_where_it_comes(self, name: str, usage: Usage | None) -> None:
        assert told(name).usage == usage

    @pytest.mark.requirement("EDGE-04")
    def test_an_answer_that_ends_early_is_an_answer_with_a_note(self) -> None:
        answer = told("response.length.json")
        assert (answer.text, [note.code for note in answer.notes]) == ("It reop", ["answer_incomplete"])

    @pytest.mark.parametrize(
        ("name", "kind", "error_type"),
        [
            ("response.empty.json", Unreachable, "empty_response"),
            ("response.no-choices.json", Unreachable, "empty_response"),
            ("response.tool-calls.json", BadReply, "empty_response"),
            ("response.content-filter.json", Declined, "content_filter"),
            ("response.error-in-200.json", Unreachable, "upstream_unavailable"),
            ("stream.empty.sse", Unreachable, "empty_response"),
            ("stream.truncated.sse", Unreachable, "stream_interrupted_after_content"),
            ("stream.error-object.sse", Unreachable, "upstream_unavailable"),
            ("stream.error-flat.sse", RateLimited, "rate_limited"),
            ("stream.error-openrouter.sse", Unreachable, "upstream_unavailable"),
            ("stream.error-named-event.sse", Unreachable, "relay_upstream_account_unavailable"),
        ],
    )
    def test_everything_else_is_an_error(self, name: str, kind: type[WebSearchError], error_type: str) -> None:
        error = failure(examples.read(f"chat-completions/{name}"))
        assert type(error) is kind
        assert error.diagnostics["error_type"] == error_type

    def test_every_reply_with_status_200_of_the_manifest_is_covered(self) -> None:
        rows = [row.response_body for row in examples.scenarios("chat.") if row.status == 200]
        answered = []
        for path in rows:
            try:
                answered.append(read(examples.read(path)).text.startswith("It reop"))
            except WebSearchError:
                answered.append(False)
        assert (len(rows), answered.count(False)) == (24, 11)


class TestStreams:
    @pytest.mark.requirement("P5-CLIENT-01", "RS-SSE-12", "RS-SSE-13")
    def test_chunks_in_any_order_give_the_same_answer(self) -> None:
        """Null content, a role, reasoning, no choice, usage alone, citations: each counts from whichever chunk brings it."""
        texts = [piece(content="It reopened on "), piece(content="14 November 2026.")]
        others: list[dict[str, Any]] = [
            piece(role="assistant"),
            piece(content=None, reasoning_content="hm"),
            {"choices": [], "usage": {"prompt_tokens": 31, "completion_tokens": 11}},
            {"choices": None, "citations": [GAZETTE], "model": "demo-model"},
            {**piece("stop", annotations=[{"type": "url_citation", "url": COUNCIL}]), "usage": None},
        ]
        sources: tuple[tuple[str, Evidence], ...] = ((COUNCIL, "cited"), (GAZETTE, "listed"))
        seen = set()
        for order in itertools.permutations(range(5)):
            shuffled = [others[index] for index in order]
            for cut in range(6):
                chunks = [*shuffled[:cut], texts[0], *shuffled[cut:], texts[1]]
                seen.add(read(stream(*chunks, "[DONE]")))
        assert seen == {
            Answer(
                text=PROSE,
                sources=tuple(Source(url=url, provider="openai_compatible", evidence=evidence) for url, evidence in sources),
                engine="openai_compatible",
                model="demo-model",
                searched=True,
                usage=Usage(input_tokens=31, output_tokens=11),
            )
        }

    @pytest.mark.requirement("P5-CLIENT-15")
    @pytest.mark.parametrize("finish", ["stop", "end_turn", "null"])
    def test_a_finish_reason_completes_a_stream_without_done(self, finish: str) -> None:
        assert read(stream(piece(content="Yes."), piece(finish))).text == "Yes."

    @pytest.mark.parametrize("ending", ["data: [DONE]\n\n", "event: done\ndata:\n\n", "event: end\n\n", "data: [DONE]"])
    def test_an_end_mark_completes_a_stream_without_finish_reason(self, ending: str) -> None:
        assert read(stream(piece(content="Yes.")) + ending.encode()).text == "Yes."

    def test_the_end_mark_is_seen_while_the_line_stays_open(self) -> None:
        assert ChatReply(BASE).feed(stream(piece(content="Yes."), "[DONE]"))
        assert not ChatReply(BASE).feed(stream(piece("stop", content="Yes.")))

    def test_usage_after_the_finish_reason_is_still_read(self) -> None:
        body = stream(piece("stop", content="Yes."), {"choices": [], "usage": {"prompt_tokens": 1}}, "[DONE]")
        assert read(body).usage == Usage(input_tokens=1)

    def test_a_whole_message_in_a_stream_repeats_the_pieces_or_stands_for_them(self) -> None:
        assert read(stream(piece(content="Ye"), piece(content="s."), whole("Yes."), "[DONE]")).text == "Yes."
        assert read(stream(whole("Yes."), "[DONE]")).text == "Yes."

    def test_pieces_of_parts_are_joined(self) -> None:
        parts = [{"type": "text", "text": "Ye"}, {"type": "thinking", "text": "hm"}, "s", {"text": "."}, 7]
        assert read(stream(piece("stop", content=parts))).text == "Yes."

    @pytest.mark.requirement("P5-CLIENT-01")
    def test_a_damaged_chunk_is_passed_over(self) -> None:
        assert read(stream(piece(content="Ye"), '{"choices', "7", piece("stop", content="s."))).text == "Yes."

    def test_a_stream_without_text_and_end_was_interrupted(self) -> None:
        assert failure(stream(piece(role="assistant"))).diagnostics["error_type"] == "stream_interrupted"

    def test_a_finish_reason_error_without_more_is_an_error(self) -> None:
        error = failure(stream(piece(content="Ye"), piece("error")))
        assert isinstance(error, Unreachable)

    def test_the_operators_words_decide_in_a_stream_and_in_an_object(self) -> None:
        mine = Phrases(retry=("pool is busy",), retryable_codes=())
        for body in (stream({"error": "Pool is busy"}), json.dumps({"error": {"message": "pool is busy"}}).encode()):
            assert type(failure(body, mine)) is Unreachable
        assert type(failure(stream({"error": {"code": "upstream_error"}}), mine)) is BadReply

    def test_a_failure_without_a_word_can_be_repeated_whatever_the_codes(self) -> None:
        for body in (stream(piece("error")), b"event: error\ndata:\n\n"):
            error = failure(body, Phrases(retryable_codes=()))
            assert (type(error), error.upstream_code) == (Unreachable, None)

    @pytest.mark.requirement("HEAD-25")
    def test_thinking_across_chunks_is_taken_out(self) -> None:
        assert read(stream(piece(content="<thi"), piece(content="nk>hm</th"), piece("stop", content="ink>Yes."))).text == "Yes."

    def test_a_refusal_is_declined(self) -> None:
        assert isinstance(failure(stream(piece("stop", refusal="No."))), Declined)
        assert isinstance(failure(stream(piece("content_filter"), "[DONE]")), Declined)


class TestFromWire:
    def test_sources_come_from_every_place_cited_ones_first(self) -> None:
        text = "Yes.[[1]](https://f.example)\n\nSources:\n- [G page](https://g.example)"
        completion = whole(
            text,
            annotations=[{"url_citation": {"url": "https://a.example", "title": "A page"}}],
            citations=["https://b.example"],
        ) | {
            "citations": ["https://c.example"],
            "search_sources": [{"url": "https://d.example", "title": "D page", "type": "web"}],
            "search_results": [{"url": "https://e.example", "title": "E page", "date": "2026-11-14"}],
        }
        answer = chat.from_wire(completion)
        assert answer.text == "Yes.[[1]](https://f.example)"
        assert found(answer) == [
            ("https://a.example", "A page", "cited"),
            ("https://f.example", "", "cited"),
            ("https://b.example", "", "listed"),
            ("https://c.example", "", "listed"),
            ("https://d.example", "D page", "listed"),
            ("https://e.example", "E page", "listed"),
            ("https://g.example", "G page", "listed"),
        ]
        assert answer.sources[5].published == "2026-11-14"

    @pytest.mark.parametrize("place", ["citations", "search_sources", "search_results"])
    def test_every_citation_field_shows_a_search_and_text_alone_does_not(self, place: str) -> None:
        assert chat.from_wire(whole("Yes.") | {place: [{"url": COUNCIL}]}).searched is True
        assert chat.from_wire(whole("Yes.") | {place: []}).searched is None
        assert chat.from_wire(whole(f"Yes.[[1]]({COUNCIL})")).searched is None

    def test_openrouter_tells_its_cost_in_dollars(self) -> None:
        assert chat.from_wire(whole("Yes.") | {"usage": {"cost": 0.25}}).usage == Usage(cost_usd=0.25)

    def test_a_whole_object_needs_no_finish_reason(self) -> None:
        assert chat.from_wire(whole("Yes.", finish=None)).text == "Yes."

    def test_a_page_instead_of_a_reply_names_the_address(self) -> None:
        error = failure(b"\n<html><title>Log in</title></html>")
        assert isinstance(error, WrongAddress)
        assert BASE in error.message
