"""The HTTP client, against simulators in process and on loopback."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from upstreams.chat_completions import ChatUpstream
from upstreams.script import (
    Script,
    Step,
    answering,
    cut_after,
    gzip_bomb,
    hang,
    hang_up,
    html_page,
    huge,
    not_json,
    ok,
    redirect,
    reset,
    stall_after,
    status,
    wrong_charset,
)
from upstreams.serve import serve, transport
from upstreams.socks import SocksProxy
from websearch_adapters.http.client import Attempts, Http, JsonReply, Request, api_base
from websearch_core import deadline
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    NotConfigured,
    OutOfTime,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
    WrongAddress,
)
from websearch_core.retry import RetryPolicy
from websearch_core.testing.fakes import FakeCredentials, RecordingObserver
from websearch_core.values import Secret

pytestmark = pytest.mark.anyio

BASE = "https://relay.example/v1"
KEY = "sk-secret-0123456789abcdef"
AT_ONCE = RetryPolicy(max_attempts=3, multiplier_s=0.0)
ANSWER = {"answer": 42}


def request(base_url: str = BASE, **more: Any) -> Request:
    return Request(provider="grok", base_url=base_url, path="/models", method="GET", **more)


def read(base_url: str = BASE) -> Callable[[], JsonReply]:
    return lambda: JsonReply("grok", base_url)


class Lines:
    """A reader that is complete at the line `end`."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, chunk: bytes, /) -> bool:
        self.text += chunk.decode()
        return "end\n" in self.text

    def close(self) -> str:
        if "end\n" not in self.text:
            raise Unreachable("cut", provider="grok", diagnostics={"error_type": "stream_interrupted"})
        return self.text


@asynccontextmanager
async def in_process(
    upstream: ChatUpstream, *, keys: Sequence[str] = (KEY,), **more: Any
) -> AsyncIterator[tuple[Http, FakeCredentials]]:
    credentials = FakeCredentials({"grok": keys})
    http = Http(credentials, transport=transport(upstream), **more)
    try:
        yield http, credentials
    finally:
        await http.aclose()


@asynccontextmanager
async def on_loopback(upstream: ChatUpstream) -> AsyncIterator[tuple[Http, str]]:
    async with serve(upstream) as url:
        http = Http(FakeCredentials({"grok": KEY}))
        try:
            yield http, f"{url}/v1"
        finally:
            await http.aclose()


async def failure(http: Http, policy: RetryPolicy = AT_ONCE, asked: Request | None = None) -> WebSearchError:
    with pytest.raises(WebSearchError) as caught:
        await http.retrying(policy)(asked or request(), read())
    return caught.value


def saying(text: bytes) -> Step:
    return answering("saying", lambda _: Response(text, 200))


class TestRequests:
    async def test_a_request_carries_the_key_and_json(self) -> None:
        upstream = ChatUpstream(script=ok(ANSWER))
        async with in_process(upstream) as (http, _):
            asked = Request(provider="grok", base_url=f"{BASE}/", path="/models", body={"query": "桥\ud800"})
            assert await http.exchange(asked, read()) == ANSWER
        sent = upstream.last
        assert (sent.method, sent.path, sent.key) == ("POST", "/v1/models", KEY)
        assert sent.json == {"query": "桥?"}
        assert sent.headers["content-type"] == "application/json"
        assert sent.headers["user-agent"] == "websearch"

    async def test_a_keyless_request_asks_for_no_key(self) -> None:
        upstream = ChatUpstream(script=ok(ANSWER))
        async with in_process(upstream, keys=()) as (http, _):
            await http.exchange(request(keyed=False), read())
        assert upstream.last.key is None

    async def test_without_a_key_nothing_is_sent(self) -> None:
        upstream = ChatUpstream()
        async with in_process(upstream, keys=()) as (http, _):
            assert isinstance(await failure(http), NotConfigured)
        assert upstream.requests == []

    @pytest.mark.parametrize("key", ["sk-secret\n", "sk-секрет", "sk-\x00"])
    async def test_a_key_that_no_header_can_carry_is_refused_unsent_and_the_next_one_used(self, key: str) -> None:
        upstream = ChatUpstream(script=ok(ANSWER))
        async with in_process(upstream, keys=(key, KEY)) as (http, credentials):
            assert await http.retrying(AT_ONCE)(request(), read()) == ANSWER
        assert [each.key for each in upstream.requests] == [KEY]
        ((_, refused, error),) = credentials.told
        assert refused == Secret(key)
        assert key.strip() not in f"{error} {error.hint} {error!r}"

    @pytest.mark.parametrize("base_url", ["relay.example/v1", "ftp://relay.example", "https://[", ""])
    async def test_an_address_that_is_none_is_a_wrong_address(self, base_url: str) -> None:
        async with in_process(ChatUpstream()) as (http, _):
            assert isinstance(await failure(http, asked=request(base_url)), WrongAddress)

    async def test_spans_tell_provider_and_status_and_nothing_else(self) -> None:
        observer = RecordingObserver()
        async with in_process(ChatUpstream(script=Script(status(503), ok(ANSWER))), observe=observer) as (http, _):
            await http.retrying(AT_ONCE)(request(), read())
        assert [span.facts for span in observer.named("http.request")] == [
            {"provider": "grok", "status": 503},
            {"provider": "grok", "status": 200},
        ]

    @pytest.mark.requirement("P5-CLIENT-19")
    async def test_a_closed_client_can_be_used_again(self) -> None:
        async with in_process(ChatUpstream(script=ok(ANSWER))) as (http, _):
            for _ in range(2):
                assert await http.exchange(request(), read()) == ANSWER
                await http.aclose()
                await http.aclose()


class TestRepetition:
    @pytest.mark.parametrize(
        "step", [status(408), status(500), status(503), status(529), hang_up(), reset()], ids=lambda step: step.name
    )
    async def test_what_can_pass_is_repeated_until_it_passes(self, step: Step) -> None:
        upstream = ChatUpstream(script=Script(step, step, ok(ANSWER)))
        async with in_process(upstream) as (http, _):
            assert await http.retrying(AT_ONCE)(request(), read()) == ANSWER
        assert len(upstream.requests) == 3

    @pytest.mark.parametrize("attempts", [1, 2, 5])
    async def test_attempts_are_counted_exactly(self, attempts: int) -> None:
        upstream = ChatUpstream(script=status(503))
        async with in_process(upstream) as (http, _):
            error = await failure(http, RetryPolicy(max_attempts=attempts, multiplier_s=0.0))
        assert isinstance(error, Unreachable)
        assert len(upstream.requests) == attempts

    @pytest.mark.parametrize(
        ("step", "kind"),
        [(status(400), RequestRejected), (status(404), ProviderError), (not_json(), BadReply), (html_page(), WrongAddress)],
    )
    async def test_what_cannot_pass_is_asked_once(self, step: Step, kind: type[WebSearchError]) -> None:
        upstream = ChatUpstream(script=step)
        async with in_process(upstream) as (http, _):
            assert isinstance(await failure(http), kind)
        assert len(upstream.requests) == 1

    async def test_chance_is_drawn_for_each_failure(self) -> None:
        drawn = iter([0.25, 0.5, 0.75, 1.0])
        async with in_process(ChatUpstream(script=status(503)), chance=lambda: next(drawn)) as (http, _):
            await failure(http)
        assert list(drawn) == [1.0]

    async def test_a_request_is_made_anew_for_each_attempt(self) -> None:
        upstream = ChatUpstream(script=Script(status(503), status(503), ok(ANSWER)))
        number = itertools.count(1)
        async with in_process(upstream) as (http, _):
            call = http.retrying(AT_ONCE)(lambda: request(headers={"x-attempt": str(next(number))}), read())
            assert await call == ANSWER
        assert [sent.headers["x-attempt"] for sent in upstream.requests] == ["1", "2", "3"]

    async def test_attempts_tell_the_model_of_the_next_request_and_of_the_answer(self) -> None:
        upstream = ChatUpstream(script=Script(status(503), status(503), status(503), ok(ANSWER)))
        attempts, asked = Attempts(AT_ONCE, primary="grok-a", fallback="grok-b"), []

        def ask() -> Request:
            asked.append(attempts.model)
            return request()

        async with in_process(upstream) as (http, _):
            assert await http.retrying(attempts)(ask, read()) == ANSWER
        assert asked == ["grok-a", "grok-a", "grok-a", "grok-b"]
        assert attempts.model == "grok-b"
        assert [note.code for note in attempts.notes] == ["fallback_model"]

    @pytest.mark.requirement("HEAD-08")
    async def test_the_error_of_a_call_tells_its_history(self) -> None:
        async with in_process(ChatUpstream(script=status(500))) as (http, _):
            error = await failure(http)
        assert error.message == str(error) == "grok answers 500; given up after 3 attempts"
        told = dict(error.diagnostics)
        assert isinstance(told.pop("elapsed_ms"), int)
        assert told == {
            "error_type": "upstream_unavailable",
            "total_attempts": 3,
            "configured_max_attempts": 3,
            "last_error_type": "upstream_unavailable",
            "termination_reason": "max_attempts_exhausted",
        }

    @pytest.mark.requirement("HEAD-08", "HEAD-09")
    async def test_without_time_for_another_attempt_the_call_is_out_of_time_at_once(self) -> None:
        upstream = ChatUpstream(script=status(503, retry_after_s=50))
        async with in_process(upstream) as (http, _):
            with deadline.within(30):
                error = await failure(http)
        assert isinstance(error, OutOfTime)
        assert isinstance(error.__cause__, Unreachable)
        assert error.diagnostics["termination_reason"] == "total_budget_exhausted"
        assert len(upstream.requests) == 1

    @pytest.mark.requirement("P5-CLIENT-03", "P5-CLIENT-12")
    async def test_a_wrong_address_tells_its_single_attempt(self) -> None:
        async with in_process(ChatUpstream(script=html_page())) as (http, _):
            error = await failure(http)
        assert (error.diagnostics["total_attempts"], error.diagnostics["termination_reason"]) == (1, "non_retryable_error")

    @pytest.mark.requirement("EDGE-02")
    @pytest.mark.parametrize("wait_s", [61, 3600, 1e9])
    async def test_a_wait_beyond_patience_ends_the_attempts(self, wait_s: float) -> None:
        upstream = ChatUpstream(script=status(429, retry_after_s=wait_s))
        async with in_process(upstream) as (http, _):
            error = await failure(http)
        assert isinstance(error, RateLimited)
        assert error.retry_after_s == wait_s
        assert len(upstream.requests) == 1

    @pytest.mark.requirement("EDGE-02")
    @pytest.mark.parametrize("value", ["inf", "nan", "-5", "soon"])
    async def test_a_wait_that_is_garbage_is_no_wait(self, value: str) -> None:
        upstream = ChatUpstream(script=Script(status(503, headers={"retry-after": value}), ok(ANSWER)))
        async with in_process(upstream) as (http, _):
            assert await http.retrying(AT_ONCE)(request(), read()) == ANSWER

    @pytest.mark.requirement("P5-CLIENT-21")
    async def test_calls_side_by_side_count_for_themselves(self) -> None:
        upstream = ChatUpstream(script=status(503))
        async with in_process(upstream) as (http, _):
            await asyncio.gather(*(failure(http) for _ in range(4)))
        assert len(upstream.requests) == 12

    async def test_a_refused_key_is_replaced_at_once_and_costs_no_attempt(self) -> None:
        upstream = ChatUpstream(keys={"bad-one": status(401), "bad-two": status(402), KEY: Script(status(503), ok(ANSWER))})
        async with in_process(upstream, keys=("bad-one", "bad-two", KEY)) as (http, credentials):
            policy = RetryPolicy(max_attempts=2, multiplier_s=0.0)
            assert await http.retrying(policy)(request(), read()) == ANSWER
        assert [each.key for each in upstream.requests] == ["bad-one", "bad-two", KEY, KEY]
        assert [secret for _, secret, _ in credentials.told] == [Secret("bad-one"), Secret("bad-two"), Secret(KEY)]

    async def test_when_every_key_is_refused_the_call_ends(self) -> None:
        upstream = ChatUpstream(script=status(401))
        async with in_process(upstream, keys=("bad-one", "bad-two")) as (http, _):
            assert isinstance(await failure(http), AuthRejected)
        assert [each.key for each in upstream.requests] == ["bad-one", "bad-two"]


class TestReplies:
    @pytest.mark.requirement("EDGE-14")
    @pytest.mark.parametrize("step", [huge(70_000), huge(70_000, declared=True), gzip_bomb(70_000)], ids=lambda step: step.name)
    async def test_a_reply_that_is_too_large_is_dropped(self, step: Step) -> None:
        async with in_process(ChatUpstream(script=step)) as (http, _):
            error = await failure(http, asked=request(max_bytes=65_536))
        assert type(error) is BadReply

    async def test_a_reply_in_another_charset_than_it_says_is_refused_and_not_told_as_gibberish(self) -> None:
        async with in_process(ChatUpstream(script=wrong_charset())) as (http, _):
            error = await failure(http)
        assert type(error) is BadReply
        assert error.diagnostics["error_type"] == "invalid_response"

    async def test_a_page_names_the_address(self) -> None:
        async with in_process(ChatUpstream(script=html_page())) as (http, _):
            error = await failure(http)
        assert isinstance(error, WrongAddress)
        assert f"{BASE} answers with an HTML page" in error.message

    async def test_reading_stops_where_the_reader_says_so(self) -> None:
        upstream = ChatUpstream(script=stall_after(then=saying(b"one\nend\nmore")))
        async with on_loopback(upstream) as (http, base_url):
            async with asyncio.timeout(30):
                assert (await http.exchange(request(base_url), Lines)).startswith("one\nend\n")
            await upstream.until(lambda it: it.disconnects == 1)

    async def test_a_line_that_breaks_after_the_end_has_done_no_harm(self) -> None:
        """The body ends without its last chunk; JSON shows its end by itself."""
        whole = saying(b'{"answer": 42}')
        async with on_loopback(ChatUpstream(script=cut_after(bytes=14, then=whole))) as (http, base_url):
            assert await http.exchange(request(base_url), read(base_url)) == ANSWER

    async def test_a_line_that_breaks_before_the_end_is_unreachable(self) -> None:
        half = cut_after(bytes=9, then=saying(b'{"answer": 42}'))
        upstream = ChatUpstream(script=half)
        async with on_loopback(upstream) as (http, base_url):
            error = await failure(http, asked=request(base_url))
        assert isinstance(error, Unreachable)
        assert error.diagnostics["error_type"] == "network_failure"
        assert len(upstream.requests) == 3

    async def test_silence_frees_the_socket_and_is_unreachable(self) -> None:
        upstream = ChatUpstream(script=hang())
        async with on_loopback(upstream) as (http, base_url):
            error = await failure(http, RetryPolicy(max_attempts=1), request(base_url, read_timeout_s=0.05))
            await upstream.until(lambda it: it.disconnects == 1)
        assert error.diagnostics["error_type"] == "read_timeout"

    async def test_cancelling_closes_the_connection(self) -> None:
        upstream = ChatUpstream(script=hang())
        async with on_loopback(upstream) as (http, base_url):
            call = asyncio.create_task(http.exchange(request(base_url), read()))
            await upstream.until(lambda it: it.in_flight == 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await upstream.until(lambda it: it.disconnects == 1)


class TestSecrets:
    @pytest.mark.requirement("EDGE-05")
    @pytest.mark.parametrize("code", [301, 302, 307, 308])
    async def test_a_redirect_never_carries_the_key_elsewhere(self, code: int) -> None:
        elsewhere = ChatUpstream(script=ok(ANSWER))
        async with serve(elsewhere) as other:
            upstream = ChatUpstream(script=redirect(f"{other}/v1/models", code))
            async with on_loopback(upstream) as (http, base_url):
                error = await failure(http, asked=request(base_url))
        assert isinstance(error, WrongAddress)
        assert base_url in error.message
        assert (len(upstream.requests), elsewhere.requests) == (1, [])

    @pytest.mark.requirement("P5-CLIENT-20", "EDGE-12")
    @pytest.mark.parametrize("secret", [KEY, "short", f"sk-{'k' * 90}/+="])
    @pytest.mark.parametrize("code", [200, 400, 401, 403, 429, 503])
    async def test_a_key_that_the_upstream_repeats_is_in_no_error(self, secret: str, code: int) -> None:
        said = {"error": {"code": f"key_{secret}", "type": secret, "message": f"Incorrect API key provided: {secret}"}}
        async with in_process(ChatUpstream(script=status(code, body=said)), keys=(secret,)) as (http, _):
            with pytest.raises(WebSearchError) as caught:
                await http.exchange(request(), read())
        error = caught.value
        shown = f"{error} {error!r} {error.message} {error.hint} {error.upstream_code} {dict(error.diagnostics)}"
        assert secret not in shown
        assert secret[:8] not in shown

    async def test_a_key_in_the_title_of_a_page_is_not_shown(self) -> None:
        page = answering("page", lambda _: Response(f"<html><title>Hello {KEY}</title>", 200))
        async with in_process(ChatUpstream(script=page)) as (http, _):
            error = await failure(http)
        assert "Hello" in error.message
        assert KEY not in error.message
        assert KEY not in f"{error} {error!r}"


@pytest.mark.parametrize(
    ("pasted", "base"),
    [
        ("https://h.example", "https://h.example/v1"),
        (" https://h.example/v1/ ", "https://h.example/v1"),
        ("https://h.example/v1/responses", "https://h.example/v1"),
        ("https://h.example/v1/chat/completions/", "https://h.example/v1"),
        ("https://h.example/v1/models", "https://h.example/v1"),
        ("https://h.example/chat/completions", "https://h.example/v1"),
        ("https://h.example/api", "https://h.example/api/v1"),
        ("https://v1.example", "https://v1.example/v1"),
        ("https://h.example/v1beta/openai/", "https://h.example/v1beta/openai"),
        ("  ", ""),
    ],
)
def test_the_base_of_an_api_is_found_in_what_people_paste(pasted: str, base: str) -> None:
    assert api_base(pasted) == base
    assert api_base(base) == base


async def test_the_client_opens_nothing_before_it_is_asked() -> None:
    class Refusing(httpx.AsyncBaseTransport):
        async def handle_async_request(self, asked: httpx.Request) -> httpx.Response:
            raise AssertionError("nothing was asked")

    http = Http(FakeCredentials({}), transport=Refusing())
    http.retrying(AT_ONCE)
    await http.aclose()


@pytest.mark.parametrize(("keyed", "sent"), [(True, "Bearer sk-0123456789abcdef"), (False, "Basic dXNlcjpwYXNz")])
async def test_a_user_in_the_base_address_never_takes_the_keys_place_and_its_query_stays_behind_the_path(
    keyed: bool, sent: str
) -> None:
    upstream = ChatUpstream()
    http = Http(FakeCredentials({"grok": "sk-0123456789abcdef"}), transport=transport(upstream))
    base = "http://user:pass@relay.test/v1/?tenant=7"
    request = Request(provider="grok", base_url=base, path="/models", method="GET", keyed=keyed)
    with suppress(AuthRejected):  # what the simulator thinks of it does not matter here
        await http.exchange(request, lambda: JsonReply("grok"))
    assert (upstream.last.path, upstream.last.query) == ("/v1/models", "tenant=7")
    assert upstream.last.headers["authorization"] == sent


class TestProxies:
    """A request to a provider, and where it goes out. The simulated service answers under every name, so it can be the proxy."""

    @pytest.fixture(autouse=True)
    def _no_proxy_of_this_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.lower(), raising=False)

    async def asked(self, *, base: str = "http://relay.example/v1", **options: Any) -> Any:
        http = Http(FakeCredentials({"grok": KEY}), **options)
        try:
            return await http.exchange(request(base), read(base))
        finally:
            await http.aclose()

    @pytest.mark.parametrize("named", [True, False], ids=["an address", "the environment"])
    async def test_it_takes_the_proxy_that_is_chosen(self, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        upstream = ChatUpstream(script=answering("forwarded", lambda _: Response(b'{"answer": 42}')))
        async with serve(upstream) as url:
            if not named:
                monkeypatch.setenv("HTTP_PROXY", url)
            assert await self.asked(**({"proxy": url} if named else {})) == ANSWER
        assert [one.headers["host"] for one in upstream.requests] == ["relay.example"]

    async def test_a_service_of_this_machine_takes_none(self) -> None:
        upstream = ChatUpstream(script=answering("direct", lambda _: Response(b'{"answer": 42}')))
        async with serve(upstream) as url:
            assert await self.asked(base=f"{url}/v1", proxy="http://127.0.0.1:1") == ANSWER

    async def test_a_proxy_with_names_gets_the_name_and_its_own_password(self) -> None:
        upstream = ChatUpstream(script=answering("tunnelled", lambda _: Response(b'{"answer": 42}')))
        async with serve(upstream) as url:
            proxy = SocksProxy(int(url.rpartition(":")[2]), auth=("user", "p@ss"))
            async with proxy.serve() as place:
                assert await self.asked(proxy=f"socks5h://user:p%40ss@{place}") == ANSWER
        assert proxy.asked == [("relay.example", 80)]

    async def test_one_that_does_not_let_it_through_is_told_as_that(self) -> None:
        async with SocksProxy(1, reply=2).serve() as place:
            with pytest.raises(Unreachable, match="the proxy did not let it through"):
                await self.asked(proxy=f"socks5h://{place}")

    async def test_a_variable_that_names_no_proxy_is_a_fault_of_the_configuration(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ALL_PROXY", "socks4://user:hunter2@proxy.example:1")
        with pytest.raises(NotConfigured, match="proxy") as caught:
            await self.asked()
        assert "hunter2" not in str(caught.value)
        with pytest.raises(NotConfigured, match="proxy"):
            await self.asked(proxy="socks4://proxy.example:1")
