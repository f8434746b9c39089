"""Both answer engines through the real HTTP client, against their simulators."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest
from starlette.responses import Response

from upstreams import examples
from upstreams.chat_completions import MODELS as CHAT_MODELS
from upstreams.chat_completions import ChatUpstream
from upstreams.exchange import Pieces
from upstreams.script import (
    Quirk,
    Script,
    Step,
    answering,
    cut_after,
    endless_comments,
    hang,
    hang_up,
    html_page,
    not_json,
    ok,
    redirect,
    reset,
    scenario,
    sse_quirk,
    stall_after,
    status,
    stream_anyway,
)
from upstreams.serve import serve, transport
from upstreams.simulator import Simulator
from upstreams.sources import Source as Found
from upstreams.xai import MODELS as XAI_MODELS
from upstreams.xai import XaiUpstream
from websearch_adapters.http.client import Http
from websearch_adapters.providers import chat_completions, xai
from websearch_adapters.providers.chat_completions import ChatCompletions, ChatSettings
from websearch_adapters.providers.xai import XaiResponses, XaiSettings
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
    WrongAddress,
)
from websearch_core.retry import RetryPolicy
from websearch_core.testing.fakes import FakeCredentials, RecordingObserver
from websearch_core.values import Answer, SearchQuery

pytestmark = pytest.mark.anyio

Engine: TypeAlias = XaiResponses | ChatCompletions
KEY = "xai-0123456789abcdefghij"
AT_ONCE = RetryPolicy(max_attempts=3, multiplier_s=0.0)
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
QUERY = SearchQuery(query="When did the Example Valley footbridge reopen?")
TEXT = "It reopened on 14 November 2026."
PAGES = [
    Found(url="https://council.example.org/news", title="Council news"),
    Found(url="https://gazette.example.com/a_(b)", title="Gazette"),
]
KINDS = ("xai", "chat")


def upstream_of(kind: str, **more: Any) -> XaiUpstream | ChatUpstream:
    make = XaiUpstream if kind == "xai" else ChatUpstream
    return make(**{"answer_text": TEXT, "sources": PAGES, **more})


def engine_of(kind: str, http: Http, base_url: str, *, model: str = "grok-4.3", **settings: Any) -> Engine:
    chosen = {"base_url": base_url, "retry": AT_ONCE, **settings}
    if kind == "xai":
        return XaiResponses(http, XaiSettings(**chosen), lambda: model, now=lambda: NOON)
    return ChatCompletions(http, ChatSettings(**chosen), lambda: model, now=lambda: NOON)


@asynccontextmanager
async def in_process(
    kind: str, upstream: Simulator, *, keys: Sequence[str] = (KEY,), observe: Any = None, **settings: Any
) -> AsyncIterator[Engine]:
    more = {"observe": observe} if observe else {}
    http = Http(FakeCredentials({"grok": keys}), transport=transport(upstream), **more)
    try:
        yield engine_of(kind, http, "https://relay.example", **settings)
    finally:
        await http.aclose()


@asynccontextmanager
async def on_loopback(kind: str, upstream: Simulator, **settings: Any) -> AsyncIterator[Engine]:
    async with serve(upstream) as url:
        http = Http(FakeCredentials({"grok": KEY}))
        try:
            yield engine_of(kind, http, url, **settings)
        finally:
            await http.aclose()


async def failure(engine: Engine, query: SearchQuery = QUERY) -> WebSearchError:
    with pytest.raises(WebSearchError) as caught:
        await engine.answer(query)
    return caught.value


def urls_of(answer: Answer) -> list[str]:
    return [source.url for source in answer.sources]


def body(content: str, media_type: str) -> Step:
    return answering("body", lambda _: Response(content, 200, None, media_type))


# --- answers ------------------------------------------------------------------------------------------------------


class TestAnswers:
    async def test_xai_is_sent_exactly_what_the_translation_says_and_its_searches_are_seen(self) -> None:
        upstream = upstream_of("xai")
        async with in_process("xai", upstream) as engine:
            answer = await engine.answer(QUERY)
        sent = upstream.last
        assert (sent.method, sent.path, sent.key) == ("POST", "/v1/responses", KEY)
        assert sent.json == xai.to_wire(QUERY, model="grok-4.3", settings=XaiSettings(), now=NOON)
        assert answer.text.startswith(TEXT)
        assert urls_of(answer) == [page.url for page in PAGES]
        assert (answer.engine, answer.model, answer.searched, answer.notes) == ("grok_responses", "grok-4.3", True, ())
        assert answer.usage is not None
        assert (answer.usage.searches or 0) > 0
        assert (answer.usage.cost_usd or 0.0) > 0.0

    async def test_a_chat_endpoint_is_sent_exactly_what_the_translation_says(self) -> None:
        upstream = upstream_of("chat")
        async with in_process("chat", upstream) as engine:
            answer = await engine.answer(QUERY)
        sent = upstream.last
        assert (sent.method, sent.path, sent.key) == ("POST", "/v1/chat/completions", KEY)
        settings = ChatSettings(base_url="https://relay.example")
        assert sent.json == chat_completions.to_wire(QUERY, model="grok-4.3", settings=settings, now=NOON)
        assert answer.text == TEXT
        assert [(source.url, source.title) for source in answer.sources] == [(page.url, page.title) for page in PAGES]
        assert (answer.engine, answer.model, answer.searched) == ("openai_compatible", "grok-4.3", True)

    @pytest.mark.parametrize("shape", ["2026", "2025", "relay"])
    @pytest.mark.parametrize("citations", [False, True])
    async def test_every_shape_of_a_response_gives_the_same_answer(self, shape: Any, citations: bool) -> None:
        async with in_process("xai", XaiUpstream(answer_text=TEXT, sources=PAGES, shape=shape, citations=citations)) as engine:
            answer = await engine.answer(QUERY)
        assert answer.text.startswith(TEXT)
        assert urls_of(answer) == [page.url for page in PAGES]
        assert answer.searched

    @pytest.mark.parametrize(
        ("place", "searched"),
        [
            ("annotations", True),
            ("flat-annotations", True),
            ("message-citations", True),
            ("top-level-citations", True),
            ("search_sources", True),
            ("search_results", True),
            ("inline", None),
        ],
    )
    async def test_citations_are_found_wherever_they_hide(self, place: Any, searched: bool | None) -> None:
        async with in_process("chat", upstream_of("chat", citations=place, content_parts=True)) as engine:
            answer = await engine.answer(QUERY)
        assert urls_of(answer) == [page.url for page in PAGES]
        assert answer.searched is searched

    @pytest.mark.requirement("EDGE-15")
    @pytest.mark.parametrize(("kind", "searched"), [("xai", False), ("chat", None)])
    async def test_an_answer_from_memory_shows_no_search(self, kind: str, searched: bool | None) -> None:
        async with in_process(kind, upstream_of(kind, searched=False)) as engine:
            answer = await engine.answer(QUERY)
        assert (answer.text, answer.sources, answer.searched) == (TEXT, (), searched)

    async def test_posts_are_searched_where_the_operator_wants_it(self) -> None:
        upstream = upstream_of("xai")
        async with in_process("xai", upstream, web_search=False, x_search=True) as engine:
            answer = await engine.answer(QUERY)
        assert all(url.startswith("https://x.com/") for url in urls_of(answer))
        assert answer.searched

    async def test_hosts_are_kept_by_the_search_tool(self) -> None:
        query = SearchQuery(query="footbridge", exclude_domains=("*.example.com",))
        async with in_process("xai", upstream_of("xai")) as engine:
            answer = await engine.answer(query)
        assert urls_of(answer) == ["https://council.example.org/news"]
        assert answer.notes == ()

    @pytest.mark.parametrize("kind", KINDS)
    async def test_filters_that_cannot_be_sent_are_told_in_words_and_noted(self, kind: str) -> None:
        query = SearchQuery(query="footbridge", fresh_within="week", include_domains=tuple(f"h{n}.example" for n in range(6)))
        upstream = upstream_of(kind)
        async with in_process(kind, upstream) as engine:
            answer = await engine.answer(query)
        assert [note.code for note in answer.notes] == ["filter_post_applied"]
        assert "h5.example" in upstream.last.body.decode()
        assert "2026-11-23" in upstream.last.body.decode()

    @pytest.mark.parametrize("kind", KINDS)
    async def test_the_callers_model_wins_over_the_configured_one(self, kind: str) -> None:
        upstream = upstream_of(kind, models=("demo-model", "grok-4.3"))
        async with in_process(kind, upstream) as engine:
            await engine.answer(QUERY)
            await engine.answer(SearchQuery(query="x", model="demo-model"))
        assert [sent.json["model"] for sent in upstream.requests] == ["grok-4.3", "demo-model"]

    async def test_a_local_server_needs_no_key(self) -> None:
        upstream = upstream_of("chat", key_required=False)
        async with in_process("chat", upstream, keys=(), keyed=False) as engine:
            assert (await engine.answer(QUERY)).text == TEXT
        assert upstream.last.key is None

    async def test_usage_is_asked_for_only_where_the_operator_says_so(self) -> None:
        async with in_process("chat", upstream_of("chat", stream_options=False)) as engine:
            assert (await engine.answer(QUERY)).usage is None
        async with in_process("chat", upstream_of("chat"), stream_options=True) as engine:
            usage = (await engine.answer(QUERY)).usage
        assert usage is not None
        assert usage.input_tokens


# --- replies in another form than asked for -----------------------------------------------------------------------


class TestUnaskedForms:
    """A relay streams when JSON is expected, sends JSON for a stream, hides errors in a 200, or sends a page."""

    async def test_json_in_place_of_a_stream_is_an_answer(self) -> None:
        async with in_process("chat", upstream_of("chat", script=scenario("chat.success"))) as engine:
            assert (await engine.answer(QUERY)).text == TEXT
        async with in_process("xai", upstream_of("xai", script=scenario("xai-responses.proxy-variant"))) as engine:
            assert (await engine.answer(QUERY)).searched

    @pytest.mark.parametrize("kind", KINDS)
    async def test_a_stream_is_an_answer_whatever_its_media_type(self, kind: str) -> None:
        upstream = upstream_of(kind, script=stream_anyway())
        async with in_process(kind, upstream) as engine:
            plain = await engine.answer(QUERY)
        name = "xai-responses/stream.web_search.sse" if kind == "xai" else "chat-completions/stream.sse-despite-false.sse"
        async with in_process(kind, upstream_of(kind, script=body(examples.read(name).decode(), "application/json"))) as engine:
            assert (await engine.answer(QUERY)).text
        assert plain.text.startswith(TEXT)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        "quirk",
        ["bom", "comments", "cr-only", "crlf", "done-event", "no-done", "no-event-names", "no-final-blank-line", "response-done"],
    )
    async def test_damage_that_loses_nothing_changes_nothing(self, kind: str, quirk: Quirk) -> None:
        async with in_process(kind, upstream_of(kind)) as engine:
            expected = await engine.answer(QUERY)
        async with in_process(kind, upstream_of(kind, script=sse_quirk(quirk))) as engine:
            assert await engine.answer(QUERY) == expected

    @pytest.mark.requirement("HEAD-19", "HEAD-20")
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        "step",
        [
            sse_quirk("error-object"),
            sse_quirk("error-flat"),
            body('{"error": {"code": "overloaded_error", "message": "overloaded"}}', "application/json"),
            body('event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n', "text/event-stream"),
        ],
        ids=lambda step: step.name,
    )
    async def test_an_error_in_a_200_is_repeated_by_its_code(self, kind: str, step: Step) -> None:
        upstream = upstream_of(kind, script=Script(step, ok()))
        async with in_process(kind, upstream) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        assert len(upstream.requests) == 2

    @pytest.mark.requirement("EDGE-05")
    @pytest.mark.parametrize("kind", KINDS)
    async def test_a_login_page_is_a_wrong_address_that_is_named_and_asked_once(self, kind: str) -> None:
        upstream = upstream_of(kind, script=html_page())
        async with in_process(kind, upstream) as engine:
            error = await failure(engine)
        assert isinstance(error, WrongAddress)
        assert "https://relay.example/v1 answers with an HTML page" in error.message
        assert len(error.message) < 300
        assert len(upstream.requests) == 1


# --- failures -----------------------------------------------------------------------------------------------------


class TestFailures:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        "step",
        [status(503), status(500), hang_up(), reset(), sse_quirk("truncated"), not_json(), body("", "text/event-stream")],
        ids=lambda step: step.name,
    )
    async def test_what_can_pass_is_repeated_until_it_passes(self, kind: str, step: Step) -> None:
        upstream = upstream_of(kind, script=Script(step, step, ok()))
        async with in_process(kind, upstream) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        assert len(upstream.requests) == 3

    @pytest.mark.parametrize(
        ("kind", "row", "expected", "requests"),
        [
            ("xai", "error.400.bad-api-key", AuthRejected, 1),
            ("xai", "error.400.invalid-argument", RequestRejected, 1),
            ("xai", "error.403.oauth-token-rejected", AuthRejected, 1),
            ("xai", "error.404.model", ModelRejected, 1),
            ("xai", "error.429.out-of-credits", OutOfCredit, 1),
            ("xai", "error.429.no-retry-after", RateLimited, 1),
            ("xai", "error.529.overloaded", Unreachable, 3),
            ("xai", "failed", Unreachable, 3),
            ("xai", "stream.failed", Unreachable, 3),
            ("chat", "error.401.invalid-key", AuthRejected, 1),
            ("chat", "error.429.insufficient-quota", OutOfCredit, 1),
            ("chat", "error.429.no-available-account", Unreachable, 3),
            ("chat", "error.503.no-available-accounts", Unreachable, 3),
            ("chat", "error.503.no-available-channel", ModelRejected, 1),
            ("chat", "empty", Unreachable, 3),
            ("chat", "no-choices", Unreachable, 3),
            ("chat", "stream.truncated", Unreachable, 3),
            ("chat", "stream.error-openrouter", Unreachable, 3),
            ("chat", "content-filter", Declined, 1),
            ("chat", "tool-calls", BadReply, 1),
        ],
    )
    async def test_failures_have_their_class_and_their_number_of_attempts(
        self, kind: str, row: str, expected: type[WebSearchError], requests: int
    ) -> None:
        name = f"{'xai-responses' if kind == 'xai' else 'chat'}.{row}"
        upstream = upstream_of(kind, script=scenario(name))
        async with in_process(kind, upstream) as engine:
            error = await failure(engine)
        assert type(error) is expected
        assert error.provider == "grok"
        assert len(upstream.requests) == requests

    @pytest.mark.parametrize("kind", KINDS)
    async def test_another_key_is_tried_at_once(self, kind: str) -> None:
        upstream = upstream_of(kind, keys={"bad-key-0001": status(429, retry_after_s=30), KEY: ok()})
        async with in_process(kind, upstream, keys=("bad-key-0001", KEY), retry=RetryPolicy(max_attempts=1)) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        assert [sent.key for sent in upstream.requests] == ["bad-key-0001", KEY]

    @pytest.mark.requirement("P5-CLIENT-20")
    @pytest.mark.parametrize("kind", KINDS)
    async def test_a_wrong_key_is_refused_and_shown_nowhere(self, kind: str) -> None:
        upstream = upstream_of(kind, keys={"another"})
        async with in_process(kind, upstream) as engine:
            error = await failure(engine)
        assert isinstance(error, AuthRejected)
        assert KEY not in f"{error!r} {error} {error.hint} {error.upstream_code} {error.diagnostics}"

    @pytest.mark.requirement("P5-CLIENT-21")
    @pytest.mark.parametrize("kind", KINDS)
    async def test_questions_side_by_side_do_not_share_attempts(self, kind: str) -> None:
        upstream = upstream_of(kind, script=status(503))
        async with in_process(kind, upstream) as engine:
            await asyncio.gather(*(failure(engine) for _ in range(3)))
        assert len(upstream.requests) == 9

    @pytest.mark.parametrize("kind", KINDS)
    async def test_no_question_reaches_the_observer(self, kind: str) -> None:
        observer = RecordingObserver()
        async with in_process(kind, upstream_of(kind), observe=observer) as engine:
            await engine.answer(QUERY)
        assert [span.facts for span in observer.spans] == [{"provider": "grok", "status": 200}]


class TestBrokenLines:
    @pytest.mark.requirement("P5-CLIENT-14")
    @pytest.mark.parametrize("kind", KINDS)
    async def test_a_stream_that_is_cut_is_never_an_answer(self, kind: str) -> None:
        upstream = upstream_of(kind, script=cut_after(bytes=3_000 if kind == "xai" else 700))
        async with on_loopback(kind, upstream) as engine:
            error = await failure(engine)
        assert isinstance(error, Unreachable)
        assert TEXT[:6] not in error.message
        assert len(upstream.requests) == 3

    @pytest.mark.requirement("RS-SSE-01")
    @pytest.mark.parametrize("kind", KINDS)
    async def test_the_answer_comes_while_the_line_stays_open(self, kind: str) -> None:
        upstream = upstream_of(kind, script=stall_after())
        async with on_loopback(kind, upstream) as engine:
            async with asyncio.timeout(30):
                assert (await engine.answer(QUERY)).text.startswith(TEXT)
            await upstream.until(lambda it: it.disconnects == 1)

    @pytest.mark.requirement("P5-CLIENT-15")
    async def test_a_finish_reason_makes_a_chat_whole_though_the_line_breaks_after_it(self) -> None:
        chunk = json.dumps({"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]})
        piece = f"data: {chunk}\n\n".encode()
        broken = cut_after(
            bytes=len(piece), then=answering("piece", lambda _: Pieces([piece], headers={"content-type": "text/event-stream"}))
        )
        upstream = upstream_of("chat", script=broken)
        async with on_loopback("chat", upstream) as engine:
            assert (await engine.answer(QUERY)).text == "Yes."
        assert len(upstream.requests) == 1

    @pytest.mark.requirement("EDGE-11", "EDGE-14")
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("step", [hang(), endless_comments(0.01)], ids=lambda step: step.name)
    async def test_cancelling_closes_the_connection(self, kind: str, step: Step) -> None:
        upstream = upstream_of(kind, script=step)
        async with on_loopback(kind, upstream) as engine:
            asking = asyncio.create_task(engine.answer(QUERY))
            await upstream.until(lambda it: it.in_flight == 1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await upstream.until(lambda it: it.disconnects == 1)

    @pytest.mark.requirement("EDGE-05")
    @pytest.mark.parametrize("kind", KINDS)
    async def test_a_redirect_never_carries_the_key_elsewhere(self, kind: str) -> None:
        elsewhere = upstream_of(kind)
        async with serve(elsewhere) as other, on_loopback(kind, upstream_of(kind, script=redirect(other))) as engine:
            assert isinstance(await failure(engine), WrongAddress)
        assert elsewhere.requests == []


# --- probes -------------------------------------------------------------------------------------------------------


class TestProbes:
    @pytest.mark.parametrize(("kind", "models"), [("xai", XAI_MODELS), ("chat", CHAT_MODELS)])
    async def test_a_probe_lists_the_models_and_asks_nothing(self, kind: str, models: tuple[str, ...]) -> None:
        upstream = upstream_of(kind)
        async with in_process(kind, upstream) as engine:
            health = await engine.probe()
        assert (health.part, health.state, health.models) == (engine.name, "ok", models)
        assert health.latency_ms is not None
        assert [(sent.method, sent.path) for sent in upstream.requests] == [("GET", "/v1/models")]

    @pytest.mark.parametrize("kind", KINDS)
    async def test_a_live_probe_asks_a_question_of_one_word(self, kind: str) -> None:
        upstream = upstream_of(kind)
        async with in_process(kind, upstream) as engine:
            health = await engine.probe(live=True)
        assert health.state == "ok"
        assert health.detail.startswith("answers")
        assert [sent.method for sent in upstream.requests] == ["GET", "POST"]

    async def test_a_relay_without_a_list_of_models_is_well_if_it_answers(self) -> None:
        upstream = upstream_of("chat", paths={"/v1/models": status(404, body={"detail": "Not Found"})})
        async with in_process("chat", upstream) as engine:
            assert [(await engine.probe()).state, (await engine.probe(live=True)).state] == ["ok", "ok"]
        upstream.follow(status(404, body={"detail": "Not Found"}))
        async with in_process("chat", upstream) as engine:
            assert (await engine.probe(live=True)).state == "failing"

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("step", "word"),
        [(status(401), "key"), (html_page(), "HTML page"), (hang_up(), "broke"), (not_json(), "not a JSON object")],
    )
    async def test_a_probe_says_what_is_wrong_and_never_raises(self, kind: str, step: Step, word: str) -> None:
        async with in_process(kind, upstream_of(kind, script=step)) as engine:
            health = await engine.probe()
        assert health.state == "failing"
        assert word in health.detail
        assert KEY not in health.detail

    @pytest.mark.parametrize("kind", KINDS)
    async def test_without_a_key_the_part_is_off(self, kind: str) -> None:
        async with in_process(kind, upstream_of(kind), keys=()) as engine:
            assert (await engine.probe()).state == "off"
            assert isinstance(await failure(engine), NotConfigured)


@pytest.mark.parametrize("module", [xai, chat_completions])
async def test_a_provider_is_made_from_its_settings_alone(module: Any) -> None:
    provider = module.PROVIDER
    upstream = upstream_of("xai" if module is xai else "chat")
    http = Http(FakeCredentials({"grok": KEY}), transport=transport(upstream))
    engine = provider.make(provider.settings(base_url="https://relay.example", model="grok-4.3"), http)
    assert (await engine.answer(QUERY)).text.startswith(TEXT)
    assert provider.offers == ({"answer", "find_posts"} if module is xai else {"answer"})
    await http.aclose()
