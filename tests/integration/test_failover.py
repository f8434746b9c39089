"""Retries, waits and the second model, through both engines and the real HTTP client, against their simulators."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from upstreams.chat_completions import ChatUpstream, relay_error
from upstreams.exchange import Exchange, Pieces
from upstreams.script import (
    Script,
    Step,
    answering,
    cut_after,
    endless_comments,
    hang,
    hang_up,
    html_page,
    huge,
    not_json,
    ok,
    redirect,
    reset,
    scenario,
    sse_quirk,
    stall_after,
    status,
)
from upstreams.serve import serve, transport
from upstreams.simulator import Simulator
from upstreams.xai import XaiUpstream
from websearch_adapters import settings as configuration
from websearch_adapters.http.client import Http
from websearch_adapters.http.failures import Phrases
from websearch_adapters.providers.chat_completions import ChatCompletions, ChatSettings
from websearch_adapters.providers.xai import XaiResponses, XaiSettings
from websearch_core import deadline, outcome
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    ModelRejected,
    OutOfCredit,
    OutOfTime,
    RateLimited,
    RedirectRefused,
    RequestRejected,
    Unreachable,
    WebSearchError,
    WrongAddress,
)
from websearch_core.ports import AnswerEngine
from websearch_core.retry import RetryPolicy
from websearch_core.testing.fakes import FakeCredentials
from websearch_core.values import SearchQuery
from websearch_mcp.container import Closing, build

pytestmark = pytest.mark.anyio

Engine: TypeAlias = XaiResponses | ChatCompletions
KINDS = ("xai", "chat")
KEY = "xai-0123456789abcdefghij"
PRIMARY, FALLBACK = "grok-a", "grok-b"
AT_ONCE = RetryPolicy(max_attempts=3, multiplier_s=0.0)
PATIENT = RetryPolicy(max_attempts=3)
QUERY = SearchQuery(query="When did the Example Valley footbridge reopen?")
TEXT = "It reopened on 14 November 2026."
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock leaps to the next timer as soon as nothing is left to do, so that waits are exact and cost
    nothing. Only for what stays in the process: it would leap over an answer that is still on a wire.
    """

    _clock = 0.0

    def time(self) -> float:
        return self._clock

    def _run_once(self) -> None:
        timers = [timer.when() for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        if timers and not self._ready:  # type: ignore[attr-defined]
            self._clock = max(self._clock, min(timers))
        super()._run_once()  # type: ignore[misc]


def upstream_of(kind: str, *steps: Step, **more: Any) -> XaiUpstream | ChatUpstream:
    make = XaiUpstream if kind == "xai" else ChatUpstream
    return make(**{"answer_text": TEXT, "models": (PRIMARY, FALLBACK), "script": Script(*steps), **more})


def engine_of(kind: str, http: Http, base_url: str, **settings: Any) -> Engine:
    chosen = {"base_url": base_url, "retry": AT_ONCE, "fallback_model": FALLBACK, **settings}
    if kind == "xai":
        return XaiResponses(http, XaiSettings(**chosen), lambda: PRIMARY, now=lambda: NOON)
    return ChatCompletions(http, ChatSettings(**chosen), lambda: PRIMARY, now=lambda: NOON)


@asynccontextmanager
async def in_process(
    kind: str,
    upstream: Simulator,
    *,
    chance: Callable[[], float] = lambda: 1.0,
    keys: Sequence[str] = (KEY,),
    base_url: str = "https://relay.example",
    **settings: Any,
) -> AsyncIterator[Engine]:
    http = Http(FakeCredentials({"grok": keys}), transport=transport(upstream), chance=chance)
    try:
        yield engine_of(kind, http, base_url, **settings)
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


async def failure(engine: AnswerEngine, query: SearchQuery = QUERY) -> WebSearchError:
    with pytest.raises(WebSearchError) as caught:
        await engine.answer(query)
    return caught.value


def code_of(error: WebSearchError) -> str:
    return outcome.detail_of(error, "search").code


def models_of(upstream: Simulator) -> list[str]:
    return [sent.json["model"] for sent in upstream.requests]


def history(error: WebSearchError) -> tuple[object, ...]:
    """Attempts of the primary, of the fallback and together, whether it was asked, and why the call ended."""
    names = ("primary_attempts", "fallback_attempts", "total_attempts", "switched_model", "termination_reason")
    return tuple(error.diagnostics[name] for name in names)


def timed(moments: list[float], step: Step) -> Step:
    """The step, noting when its request came on the loop's clock."""

    async def perform(exchange: Exchange) -> None:
        moments.append(asyncio.get_running_loop().time())
        await step.perform(exchange)

    return Step(step.name, perform)


def gaps(moments: Sequence[float]) -> list[float]:
    return [round(later - earlier, 6) for earlier, later in itertools.pairwise(moments)]


def in_a_stream(error: object) -> Step:
    """A stream with status 200 that reports an error after its first piece."""
    told = json.dumps({"error": error})
    return answering("in_a_stream", lambda _: Response(f": hello\n\ndata: {told}\n\n", 200, None, "text/event-stream"))


def piece_of(kind: str, *, text: str) -> Step:
    """A stream with one piece of text, without an end."""
    told: dict[str, Any] = {"choices": [{"delta": {"content": text}}]}
    if kind == "xai":
        told = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}
    return answering("piece", lambda _: Response(f"data: {json.dumps(told)}\n\n", 200, None, "text/event-stream"))


# --- waits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
class TestWaits:
    """On a clock that leaps, so that a wait is what the loop was asked for, to the last digit."""

    @pytest.fixture
    def anyio_backend(self) -> tuple[str, dict[str, Any]]:
        return "asyncio", {"loop_factory": LeapingLoop}

    @pytest.mark.requirement("P5-CLIENT-03", "P5-CLIENT-16", "OURS-22")
    @pytest.mark.parametrize(("chance", "expected"), [(0.0, [0.5, 1, 2, 4, 5, 5]), (1.0, [1, 2, 4, 8, 10, 10])])
    async def test_waits_are_exact_for_a_given_chance(self, kind: str, chance: float, expected: list[float]) -> None:
        moments: list[float] = []
        upstream = upstream_of(kind, *[timed(moments, status(503))] * 6, timed(moments, ok()))
        policy = RetryPolicy(max_attempts=7)
        async with in_process(kind, upstream, chance=lambda: chance, retry=policy) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        assert gaps(moments) == expected

    @pytest.mark.requirement("P5-CLIENT-04", "P5-CLIENT-05", "OURS-22")
    async def test_there_is_no_wait_between_the_models_and_each_begins_with_the_shortest(self, kind: str) -> None:
        moments: list[float] = []
        upstream = upstream_of(kind, timed(moments, status(503)))
        async with in_process(kind, upstream, retry=PATIENT) as engine:
            error = await failure(engine)
        assert models_of(upstream) == [PRIMARY] * 3 + [FALLBACK] * 3
        assert gaps(moments) == [1, 2, 0, 1, 2]
        assert history(error) == (3, 3, 6, True, "max_attempts_exhausted")

    @pytest.mark.requirement("P5-CLIENT-17", "P5-POOL-13")
    @pytest.mark.parametrize(("wish", "expected"), [(7.0, 7), (60.0, 60), (0.2, 1)])
    async def test_the_upstreams_wish_wins_when_it_is_longer(self, kind: str, wish: float, expected: float) -> None:
        moments: list[float] = []
        upstream = upstream_of(kind, timed(moments, status(503, retry_after_s=wish)), timed(moments, ok()))
        async with in_process(kind, upstream, retry=PATIENT) as engine:
            await engine.answer(QUERY)
        assert gaps(moments) == [expected]

    @pytest.mark.requirement("EDGE-02", "P5-POOL-14")
    @pytest.mark.parametrize("value", ["inf", "-inf", "nan", "-3", "30.11.2026 12:01", "soon"])
    async def test_a_wish_that_is_no_time_is_none(self, kind: str, value: str) -> None:
        moments: list[float] = []
        upstream = upstream_of(kind, timed(moments, status(503, headers={"retry-after": value})), timed(moments, ok()))
        async with in_process(kind, upstream, retry=PATIENT) as engine:
            await engine.answer(QUERY)
        assert gaps(moments) == [1]

    @pytest.mark.requirement("EDGE-02")
    @pytest.mark.parametrize("wish", [61.0, 3600.0, 1e9])
    async def test_a_wish_beyond_patience_leaves_the_model_without_a_wait(self, kind: str, wish: float) -> None:
        moments: list[float] = []
        upstream = upstream_of(kind, timed(moments, status(429, retry_after_s=wish)), timed(moments, ok()))
        async with in_process(kind, upstream, retry=PATIENT) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        assert (models_of(upstream), gaps(moments)) == ([PRIMARY, FALLBACK], [0])

    async def test_patience_is_a_setting(self, kind: str) -> None:
        moments: list[float] = []
        upstream = upstream_of(kind, timed(moments, status(429, retry_after_s=300)), timed(moments, ok()))
        async with in_process(kind, upstream, retry=RetryPolicy(max_retry_after_s=300.0)) as engine:
            await engine.answer(QUERY)
        assert gaps(moments) == [300]

    @pytest.mark.requirement("P5-CLIENT-10")
    @pytest.mark.parametrize("row", ["403", "404", "503"])
    async def test_a_refused_model_is_left_without_a_wait(self, kind: str, row: str) -> None:
        moments: list[float] = []
        body = {"error": {"message": "The model `grok-a` does not exist", "code": "model_not_found"}}
        upstream = upstream_of(kind, timed(moments, status(int(row), body=body)), timed(moments, ok()))
        async with in_process(kind, upstream, retry=PATIENT) as engine:
            answer = await engine.answer(QUERY)
        assert (models_of(upstream), gaps(moments), answer.model) == ([PRIMARY, FALLBACK], [0], FALLBACK)

    @pytest.mark.requirement("RS-ROTATION-02")
    async def test_another_key_is_tried_without_a_wait_and_without_an_attempt(self, kind: str) -> None:
        moments: list[float] = []
        refused = timed(moments, status(429, retry_after_s=30))
        keys = {"bad-key-0001": refused, KEY: timed(moments, ok())}
        upstream = upstream_of(kind, keys=keys)
        async with in_process(kind, upstream, keys=("bad-key-0001", KEY), retry=RetryPolicy(max_attempts=1)) as engine:
            assert (await engine.answer(QUERY)).notes == ()
        assert (models_of(upstream), gaps(moments)) == ([PRIMARY, PRIMARY], [0])


@pytest.mark.parametrize("kind", KINDS)
class TestTime:
    @pytest.fixture
    def anyio_backend(self) -> tuple[str, dict[str, Any]]:
        return "asyncio", {"loop_factory": LeapingLoop}

    @pytest.mark.requirement("HEAD-09", "HEAD-08")
    async def test_no_attempt_begins_that_cannot_fit(self, kind: str) -> None:
        upstream = upstream_of(kind, status(503))
        async with in_process(kind, upstream, retry=RetryPolicy(multiplier_s=30.0, max_wait_s=30.0), fallback_model="") as engine:
            with deadline.within(20.0):
                error = await failure(engine)
        assert asyncio.get_running_loop().time() == 0.0
        assert isinstance(error, OutOfTime)
        assert (code_of(error), error.http_status) == ("grok_total_budget_exhausted", 503)
        assert error.message.startswith("no time is left for another attempt")
        assert history(error) == (1, 0, 1, False, "total_budget_exhausted")
        assert outcome.detail_of(error, "search").retryable is True

    @pytest.mark.requirement("HEAD-10")
    async def test_a_retry_after_beyond_the_deadline_is_not_slept_through(self, kind: str) -> None:
        upstream = upstream_of(kind, status(429, retry_after_s=45))
        async with in_process(kind, upstream, fallback_model="") as engine:
            with deadline.within(40.0):
                error = await failure(engine)
        assert asyncio.get_running_loop().time() == 0.0
        assert (code_of(error), error.retry_after_s, len(upstream.requests)) == ("grok_total_budget_exhausted", 45.0, 1)

    async def test_the_other_model_is_asked_where_a_wait_does_not_fit(self, kind: str) -> None:
        upstream = upstream_of(kind, status(429, retry_after_s=45), ok())
        async with in_process(kind, upstream) as engine:
            with deadline.within(40.0):
                assert (await engine.answer(QUERY)).model == FALLBACK
        assert asyncio.get_running_loop().time() == 0.0

    @pytest.mark.requirement("HEAD-16")
    async def test_calls_side_by_side_have_deadlines_of_their_own(self, kind: str) -> None:
        async def ask(engine: Engine, seconds: float) -> WebSearchError:
            with deadline.within(seconds):
                return await failure(engine)

        upstream = upstream_of(kind, status(503))
        policy = RetryPolicy(max_attempts=2, multiplier_s=5.0)
        async with in_process(kind, upstream, fallback_model="", retry=policy) as engine:
            errors = await asyncio.gather(*(ask(engine, seconds) for seconds in (3.0, 600.0, math.inf)))
        assert [error.diagnostics["total_attempts"] for error in errors] == [1, 2, 2]
        assert [code_of(error) for error in errors] == ["grok_total_budget_exhausted", *["grok_primary_failed"] * 2]


# --- models -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
class TestModels:
    @pytest.mark.requirement("P5-CLIENT-04", "OURS-08")
    async def test_the_fallbacks_answer_names_its_model_and_says_so(self, kind: str) -> None:
        upstream = upstream_of(kind, *[status(503)] * 3, status(503), ok())
        async with in_process(kind, upstream) as engine:
            answer = await engine.answer(QUERY)
        assert models_of(upstream) == [PRIMARY] * 3 + [FALLBACK] * 2
        assert answer.text.startswith(TEXT)
        assert answer.model == FALLBACK
        assert [(note.code, note.provider) for note in answer.notes] == [("fallback_model", "grok")]
        assert answer.notes[0].text == "grok-a failed (3 attempts); grok-b answered in its place"

    async def test_an_answer_of_the_primary_has_no_such_note(self, kind: str) -> None:
        async with in_process(kind, upstream_of(kind, status(503), ok())) as engine:
            answer = await engine.answer(QUERY)
        assert (answer.model, answer.notes) == (PRIMARY, ())

    async def test_an_answer_that_names_no_model_is_of_the_model_that_was_asked(self, kind: str) -> None:
        body: dict[str, Any] = {"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}
        if kind == "xai":
            body = {"output_text": TEXT, "status": "completed"}
        async with in_process(kind, upstream_of(kind, *[status(503)] * 3, ok(body))) as engine:
            assert (await engine.answer(QUERY)).model == FALLBACK

    @pytest.mark.requirement("P5-CLIENT-05", "HEAD-08")
    async def test_when_both_fail_the_error_counts_exactly(self, kind: str) -> None:
        upstream = upstream_of(kind, *[status(503)] * 3, status(500), status(429, retry_after_s=0))
        async with in_process(kind, upstream) as engine:
            error = await failure(engine)
        detail = outcome.detail_of(error, "search")
        assert (detail.code, detail.retryable, detail.http_status) == ("grok_primary_and_fallback_failed", True, 429)
        assert isinstance(error, RateLimited)
        assert error.message == "grok answers 429; given up after 3 attempts with grok-a and 3 attempts with grok-b"
        assert isinstance(error.diagnostics["elapsed_ms"], int)
        assert {**detail.diagnostics, "elapsed_ms": 0} == {
            "error_type": "rate_limited",
            "primary_model": PRIMARY,
            "fallback_model": FALLBACK,
            "primary_attempts": 3,
            "fallback_attempts": 3,
            "total_attempts": 6,
            "switched_model": True,
            "configured_max_attempts": 3,
            "last_error_type": "rate_limited",
            "termination_reason": "max_attempts_exhausted",
            "elapsed_ms": 0,
            "retry_after_seconds": 0.0,
        }

    @pytest.mark.requirement("P5-CLIENT-06")
    @pytest.mark.parametrize("fallback", ["", PRIMARY])
    async def test_without_a_second_model_there_is_one_group(self, kind: str, fallback: str) -> None:
        upstream = upstream_of(kind, status(503))
        async with in_process(kind, upstream, fallback_model=fallback) as engine:
            error = await failure(engine)
        assert models_of(upstream) == [PRIMARY] * 3
        assert history(error) == (3, 0, 3, False, "max_attempts_exhausted")
        assert code_of(error) == "grok_primary_failed"
        assert error.diagnostics["fallback_model"] == (fallback or None)

    async def test_the_callers_model_is_the_primary_of_its_call(self, kind: str) -> None:
        upstream = upstream_of(kind, status(503))
        async with in_process(kind, upstream) as engine:
            await failure(engine, SearchQuery(query="x", model="grok-c"))
        assert models_of(upstream) == ["grok-c"] * 3 + [FALLBACK] * 3

    @pytest.mark.requirement("P5-CLIENT-07", "P5-CLIENT-08", "OURS-22")
    @pytest.mark.parametrize(
        "step",
        [
            *(status(code) for code in (408, 500, 501, 502, 503, 504, 529)),
            status(429, retry_after_s=0),
            hang_up(),
            reset(),
            not_json(),
            sse_quirk("truncated"),
        ],
        ids=lambda step: step.name,
    )
    async def test_what_can_pass_is_tried_again_on_both_models(self, kind: str, step: Step) -> None:
        upstream = upstream_of(kind, step)
        async with in_process(kind, upstream) as engine:
            error = await failure(engine)
        assert models_of(upstream) == [PRIMARY] * 3 + [FALLBACK] * 3
        assert code_of(error) == "grok_primary_and_fallback_failed"

    @pytest.mark.requirement("P5-CLIENT-09")
    @pytest.mark.parametrize("code", [400, 401, 403])
    @pytest.mark.parametrize("words", ["上游账号不可用", "No available upstream account", "Dead account"])
    async def test_a_relay_without_an_account_is_asked_again_on_the_same_model(self, kind: str, code: int, words: str) -> None:
        upstream = upstream_of(kind, status(code, body={"error": {"message": words}}), ok())
        async with in_process(kind, upstream) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        assert models_of(upstream) == [PRIMARY, PRIMARY]

    @pytest.mark.requirement("P5-CLIENT-10", "EDGE-06")
    @pytest.mark.parametrize(
        ("words", "error_type"),
        [
            ("The model `grok-a` does not exist or you do not have access to it.", "model_not_found"),
            ("Team does not have access to model grok-a", "model_permission_denied"),
            ("Model grok-a is temporarily unavailable", "model_unavailable"),
        ],
    )
    async def test_a_model_at_fault_is_left_at_once_and_so_is_the_other(self, kind: str, words: str, error_type: str) -> None:
        upstream = upstream_of(kind, status(403, body={"error": {"message": words}}))
        async with in_process(kind, upstream) as engine:
            error = await failure(engine)
        assert models_of(upstream) == [PRIMARY, FALLBACK]
        assert isinstance(error, ModelRejected)
        assert history(error) == (1, 1, 2, True, "max_attempts_exhausted")
        assert error.diagnostics["last_error_type"] == error_type
        detail = outcome.detail_of(error, "search")
        assert (detail.code, detail.retryable) == ("grok_primary_and_fallback_failed", True)

    async def test_a_relay_without_a_channel_for_the_model_makes_way_for_the_other(self, kind: str) -> None:
        upstream = upstream_of(kind, relay_error("v-api"), ok())
        async with in_process(kind, upstream) as engine:
            assert (await engine.answer(QUERY)).model == FALLBACK

    @pytest.mark.requirement("P5-CLIENT-11", "P5-CLIENT-12", "EDGE-05")
    @pytest.mark.parametrize(
        ("step", "expected", "code"),
        [
            (status(400), RequestRejected, "grok_request_invalid"),
            (status(422), RequestRejected, "grok_request_invalid"),
            (status(401), AuthRejected, "grok_authentication_error"),
            (status(403, body={"error": "who are you"}), AuthRejected, "grok_authentication_error"),
            (status(402), OutOfCredit, "grok_primary_failed"),
            (status(409, body={"error": "conflict"}), RequestRejected, "grok_request_invalid"),
            (status(404, body={"detail": "Not Found"}), RequestRejected, "grok_request_invalid"),
            (html_page(), WrongAddress, "grok_configuration_error"),
            (redirect("https://login.example/"), RedirectRefused, "grok_configuration_error"),
            (ok({"error": {"code": "odd"}}), BadReply, "grok_primary_failed"),
        ],
        ids=lambda value: value.name if isinstance(value, Step) else None,
    )
    async def test_what_cannot_pass_is_asked_once_of_one_model(
        self, kind: str, step: Step, expected: type[WebSearchError], code: str
    ) -> None:
        upstream = upstream_of(kind, step)
        async with in_process(kind, upstream) as engine:
            error = await failure(engine)
        assert models_of(upstream) == [PRIMARY]
        assert type(error) is expected
        assert history(error) == (1, 0, 1, False, "non_retryable_error")
        assert (code_of(error), outcome.detail_of(error, "search").retryable) == (code, False)

    @pytest.mark.parametrize(
        ("step", "code"),
        [
            (status(401), "grok_authentication_error"),
            (status(400), "grok_request_invalid"),
            (status(402), "grok_primary_and_fallback_failed"),
        ],
        ids=lambda value: value.name if isinstance(value, Step) else None,
    )
    async def test_the_code_of_a_stop_on_the_fallback_follows_its_class(self, kind: str, step: Step, code: str) -> None:
        upstream = upstream_of(kind, *[status(503)] * 3, step)
        async with in_process(kind, upstream) as engine:
            error = await failure(engine)
        assert (code_of(error), history(error)) == (code, (3, 1, 4, True, "non_retryable_error"))

    async def test_a_declined_answer_is_not_asked_of_the_other_model(self, kind: str) -> None:
        body: dict[str, Any] = {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}
        if kind == "xai":
            body = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}
        upstream = upstream_of(kind, ok(body))
        async with in_process(kind, upstream) as engine:
            assert isinstance(await failure(engine), Declined)
        assert models_of(upstream) == [PRIMARY]

    @pytest.mark.requirement("HEAD-19", "HEAD-20", "EDGE-06")
    @pytest.mark.parametrize(
        "told", [{"code": "rate_limit"}, {"type": "OVERLOADED"}, {"code": 429}, {"message": "Too many requests"}], ids=str
    )
    async def test_a_passing_error_inside_a_200_is_tried_again_in_json_and_in_a_stream(self, kind: str, told: object) -> None:
        upstream = upstream_of(kind, ok({"error": told}), in_a_stream(told), ok())
        async with in_process(kind, upstream) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        assert models_of(upstream) == [PRIMARY] * 3

    @pytest.mark.requirement("HEAD-21")
    async def test_an_unknown_code_inside_a_200_is_final_in_json_and_in_a_stream(self, kind: str) -> None:
        for step in (ok({"error": {"code": "odd_code"}}), in_a_stream({"code": "odd_code"})):
            upstream = upstream_of(kind, step)
            async with in_process(kind, upstream) as engine:
                error = await failure(engine)
            assert (len(upstream.requests), error.upstream_code) == (1, "odd_code")

    @pytest.mark.requirement("HEAD-18")
    async def test_the_codes_worth_another_attempt_are_a_setting(self, kind: str) -> None:
        mine = Phrases(retryable_codes=("odd_code",))
        upstream = upstream_of(kind, ok({"error": {"code": "ODD_CODE"}}), in_a_stream({"type": "odd_code"}), ok())
        async with in_process(kind, upstream, phrases=mine) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        upstream = upstream_of(kind, ok({"error": {"code": "upstream_error"}}))
        async with in_process(kind, upstream, phrases=mine) as engine:
            await failure(engine)
        assert len(upstream.requests) == 1

    async def test_the_operators_phrases_decide_first(self, kind: str) -> None:
        mine = Phrases(retry=("pool is busy",), switch=("wrong tier",), stop=("contract ended",))
        told = [status(401, body={"error": words}) for words in ("Pool is busy", "Wrong tier", "Contract ended")]
        upstream = upstream_of(kind, *told)
        async with in_process(kind, upstream, phrases=mine) as engine:
            error = await failure(engine)
        assert models_of(upstream) == [PRIMARY, PRIMARY, FALLBACK]
        assert type(error) is RequestRejected

    @pytest.mark.requirement("P5-CLIENT-20", "P5-PROTOCOL-27")
    async def test_neither_key_nor_body_is_in_the_error_of_a_failed_call(self, kind: str) -> None:
        told = {"error": {"code": KEY, "message": f"server_error in /srv/relay.py for {KEY}"}}
        async with in_process(kind, upstream_of(kind, status(503, body=told))) as engine:
            error = await failure(engine)
        shown = f"{error!r} {error} {error.hint} {outcome.detail_of(error, 'search')} {error.__cause__!r}"
        assert KEY not in shown
        assert "relay.py" not in shown


@pytest.mark.requirement("P5-CLIENT-06")
async def test_two_spellings_of_one_model_are_one_group() -> None:
    """At OpenRouter a model searches under a longer name."""
    upstream = ChatUpstream(script=status(503))
    http = Http(FakeCredentials({"grok": KEY}), transport=transport(upstream))
    settings = ChatSettings(base_url="https://openrouter.ai/api", retry=AT_ONCE, fallback_model="x-ai/grok:online")
    error = await failure(ChatCompletions(http, settings, lambda: " x-ai/grok"))
    assert models_of(upstream) == ["x-ai/grok:online"] * 3
    assert error.diagnostics["switched_model"] is False
    await http.aclose()


# --- side by side -------------------------------------------------------------------------------------------------


def by_question(scripts: dict[str, Script]) -> Step:
    """Each question its own script, whatever order the requests come in."""

    async def perform(exchange: Exchange) -> None:
        body = exchange.request.body.decode()
        await next(script for word, script in scripts.items() if word in body).next().perform(exchange)

    return Step("by_question", perform)


@pytest.mark.requirement("P5-CLIENT-21", "P5-PROTOCOL-28", "HEAD-16")
@pytest.mark.parametrize("kind", KINDS)
async def test_questions_side_by_side_share_neither_counters_nor_models_nor_errors(kind: str) -> None:
    refused = status(404, body={"error": {"code": "model_not_found"}})
    scripts = {
        "qqq-1": Script(status(503)),
        "qqq-2": Script(refused, status(503), ok()),
        "qqq-3": Script(status(503), status(400)),
        "qqq-4": Script(ok()),
        "qqq-5": Script(status(503)),
    }
    upstream = upstream_of(kind, by_question(scripts))
    async with in_process(kind, upstream) as engine:
        asking = [engine.answer(SearchQuery(query=f"question {word}")) for word in scripts]
        first, second, third, fourth, fifth = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(first, Unreachable)
    assert isinstance(third, RequestRejected)
    assert isinstance(fifth, Unreachable)
    assert history(first) == history(fifth) == (3, 3, 6, True, "max_attempts_exhausted")
    assert history(third) == (2, 0, 2, False, "non_retryable_error")
    assert first is not fifth
    assert first.diagnostics is not fifth.diagnostics
    assert not isinstance(second, BaseException)
    assert not isinstance(fourth, BaseException)
    assert (second.model, fourth.model) == (FALLBACK, PRIMARY)
    assert [note.code for note in second.notes] == ["fallback_model"]


# --- on the wire --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
class TestOnTheWire:
    @pytest.mark.requirement("P5-CLIENT-13")
    async def test_a_stream_cut_before_any_text_is_closed_and_tried_again(self, kind: str) -> None:
        opened: list[int] = []
        upstream = upstream_of(kind)

        async def counted(exchange: Exchange) -> None:
            opened.append(upstream.in_flight)
            await (cut_after(bytes=4, then=ok()) if len(opened) == 1 else ok()).perform(exchange)

        upstream.follow(Step("counted", counted))
        async with on_loopback(kind, upstream) as engine:
            assert (await engine.answer(QUERY)).text.startswith(TEXT)
        assert opened == [1, 1]

    @pytest.mark.requirement("P5-CLIENT-13", "HEAD-20")
    async def test_a_stream_that_reports_a_failure_is_closed_and_tried_again_while_its_line_stays_open(self, kind: str) -> None:
        upstream = upstream_of(kind, stall_after(then=in_a_stream({"code": "overloaded"})), ok())
        async with on_loopback(kind, upstream) as engine:
            async with asyncio.timeout(30):
                assert (await engine.answer(QUERY)).text.startswith(TEXT)
            await upstream.until(lambda it: it.disconnects == 1 and it.in_flight == 0)
        assert models_of(upstream) == [PRIMARY, PRIMARY]

    @pytest.mark.requirement("P5-CLIENT-14", "P5-PROTOCOL-09")
    async def test_the_text_of_a_cut_stream_is_nowhere(self, kind: str) -> None:
        upstream = upstream_of(kind, piece_of(kind, text="A secret half https://half.example/page"))
        async with on_loopback(kind, upstream) as engine:
            error = await failure(engine)
        assert error.diagnostics["last_error_type"] == "stream_interrupted_after_content"
        assert "half" not in f"{error!r} {error} {error.hint} {dict(error.diagnostics)}"
        assert models_of(upstream) == [PRIMARY] * 3 + [FALLBACK] * 3

    async def test_a_cut_stream_leaves_nothing_in_the_answer_that_follows(self, kind: str) -> None:
        upstream = upstream_of(kind, piece_of(kind, text="Half an answer https://half.example/page. "), ok())
        async with on_loopback(kind, upstream) as engine:
            answer = await engine.answer(QUERY)
        assert answer.text.startswith(TEXT)
        assert not [source for source in answer.sources if "half" in source.url]

    @pytest.mark.requirement("P5-CLIENT-15")
    @pytest.mark.parametrize("ending", [reset(), hang_up()], ids=lambda step: step.name)
    async def test_a_connection_lost_after_the_end_has_done_no_harm(self, kind: str, ending: Step) -> None:
        async def perform(exchange: Exchange) -> None:
            await whole_stream(kind).perform(exchange)

        upstream = upstream_of(kind, Step("whole", perform), ending)
        async with on_loopback(kind, upstream) as engine:
            assert (await engine.answer(QUERY)).text == TEXT
        assert len(upstream.requests) == 1

    @pytest.mark.requirement("P5-CLIENT-18", "P5-CLIENT-19")
    async def test_requests_share_connections_until_the_client_is_closed(self, kind: str) -> None:
        upstream, ports = upstream_of(kind, status(503), status(503), ok()), []

        async def noting(scope: Scope, receive: Receive, send: Send) -> None:
            ports.append((scope.get("client") or ("", 0))[1])
            await upstream(scope, receive, send)

        async with serve(noting) as url:
            http = Http(FakeCredentials({"grok": KEY}))
            engine = engine_of(kind, http, url)
            await engine.answer(QUERY)
            assert (len(ports), len(set(ports))) == (3, 1)
            await http.aclose()
            await http.aclose()
            await engine.answer(QUERY)
            assert (len(ports), len(set(ports))) == (4, 2)
            await http.aclose()

    @pytest.mark.requirement("EDGE-11", "EDGE-14")
    @pytest.mark.parametrize("step", [hang(), endless_comments(0.01)], ids=lambda step: step.name)
    async def test_a_call_that_is_cancelled_asks_no_other_model(self, kind: str, step: Step) -> None:
        upstream = upstream_of(kind, step)
        async with on_loopback(kind, upstream) as engine:
            asking = asyncio.create_task(engine.answer(QUERY))
            await upstream.until(lambda it: it.in_flight == 1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await upstream.until(lambda it: it.disconnects == 1)
        assert len(upstream.requests) == 1

    @pytest.mark.requirement("EDGE-14")
    async def test_a_huge_body_ends_at_a_limit_and_is_not_fetched_again(self, kind: str) -> None:
        upstream = upstream_of(kind, huge(17 * 1024 * 1024))
        async with on_loopback(kind, upstream) as engine:
            assert isinstance(await failure(engine), BadReply)
        assert len(upstream.requests) == 1

    @pytest.mark.requirement("EDGE-05")
    async def test_a_redirect_carries_the_key_nowhere_and_names_the_address(self, kind: str) -> None:
        elsewhere, upstream = upstream_of(kind), upstream_of(kind)
        async with serve(elsewhere) as other:
            upstream.follow(redirect(f"{other}/login"))
            async with on_loopback(kind, upstream) as engine:
                error = await failure(engine)
        assert isinstance(error, WrongAddress)
        assert "http://127.0.0.1" in error.message
        assert (len(upstream.requests), elsewhere.requests) == (1, [])


def whole_stream(kind: str) -> Step:
    """A finished answer whose connection breaks instead of ending."""
    told: dict[str, Any] = {"choices": [{"delta": {"content": TEXT}, "finish_reason": "stop"}]}
    if kind == "xai":
        told = {"type": "response.completed", "response": {"output_text": TEXT, "status": "completed"}}
    piece = f"data: {json.dumps(told)}\n\n".encode()
    pieces = answering("piece", lambda _: Pieces([piece], headers={"content-type": "text/event-stream"}))
    return cut_after(bytes=len(piece), then=pieces)


# --- the whole configuration --------------------------------------------------------------------------------------


@pytest.mark.requirement("P5-CLIENT-04", "OURS-33")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_predecessors_variables_set_up_the_failover(kind: str, tmp_path: Path) -> None:
    told = [status(401, body={"error": "Pool is busy"}), ok({"error": {"code": "my_code"}}), scenario_of(kind), ok()]
    upstream = upstream_of(kind, *told)
    async with serve(upstream) as url:
        address = {"GROK_SEARCH_URL": url, "XAI_API_KEY": KEY} if kind == "xai" else {"GROK_API_URL": url, "GROK_API_KEY": KEY}
        environ = {
            "WEBSEARCH_HOME": str(tmp_path),
            "GROK_PRIMARY_MODEL": PRIMARY,
            "GROK_FALLBACK_MODEL": FALLBACK,
            "GROK_RETRY_MAX_ATTEMPTS": "3",
            "GROK_RETRY_MULTIPLIER": "0",
            "GROK_RETRYABLE_UPSTREAM_CODES": "my_code",
            "WEBSEARCH_ENGINE_RETRY_PHRASES": "pool is busy; come back later",
            **address,
        }
        loaded = configuration.read(environ=environ)
        assert loaded.problems() == ()
        box = build(loaded)
        engine = box.resolve(AnswerEngine)
        answer = await engine.answer(QUERY)
        upstream.follow(status(503))
        error = await failure(engine)
        await box.resolve(Closing).aclose()
    assert answer.model == FALLBACK
    assert history(error) == (4, 4, 8, True, "max_attempts_exhausted")


def scenario_of(kind: str) -> Step:
    return scenario("xai-responses.error.404.model" if kind == "xai" else "chat.error.404.model")
