"""Keys, circuit and queue through the real HTTP client and provider, against the simulated service in process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from still_loop import STILL
from upstreams.chat_completions import ChatUpstream
from upstreams.exchange import Exchange
from upstreams.script import Script, Step, delay, hang, hang_up, html_page, not_json, ok, reset, status
from upstreams.serve import serve, transport
from upstreams.simulator import Simulator
from upstreams.tavily import TavilyUpstream
from websearch_adapters import settings
from websearch_adapters.cache.memory import MemoryCache
from websearch_adapters.credentials.pool import KeyPool, PoolRules
from websearch_adapters.http.client import Http, JsonReply, Request
from websearch_adapters.providers.tavily import Tavily, TavilySettings
from websearch_core import deadline, outcome
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    CircuitOpen,
    OutOfCredit,
    ProviderError,
    QueueTimeout,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
    WrongAddress,
)
from websearch_core.ports import Credentials
from websearch_core.retry import RetryPolicy
from websearch_core.testing.fakes import FakeClock
from websearch_core.values import FetchRequest, MapRequest, SearchQuery
from websearch_mcp.container import build

pytestmark = pytest.mark.anyio

A, B, C = "tvly-alpha-0123456789", "tvly-bravo-0123456789", "tvly-charlie-012345678"
QUERY = SearchQuery(query="footbridge")
PAGE = FetchRequest(url="https://council.example.org/news")
SITE = MapRequest(url="https://council.example.org")
AT_ONCE = RetryPolicy(max_attempts=3, multiplier_s=0.0, max_retry_after_s=0.0)


class Gauge:
    """Lets requests through to a simulated service, and keeps the most that were under way at once."""

    def __init__(self, app: Simulator) -> None:
        self._app = app
        self._now = self.most = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await self._app(scope, receive, send)
        finally:
            self._now -= 1


class Service:
    """A provider with a pool of its own, as one process has it."""

    def __init__(
        self, upstream: TavilyUpstream, keys: Sequence[str], clock: FakeClock, *, cache: Any = None, per_key: int | None = 1
    ) -> None:
        self.pool = KeyPool({"tavily": keys}, cache, rules={"tavily": PoolRules(per_key=per_key)}, now=clock, clock=clock)
        self.gauge = Gauge(upstream)
        self.http = Http(self.pool, transport=transport(self.gauge))
        self.tavily = Tavily(self.http, TavilySettings(base_url="http://tavily.test", retry=AT_ONCE))

    def states(self) -> list[object]:
        return [row["state"] for row in self.pool.statuses("tavily")]


@asynccontextmanager
async def service(
    upstream: TavilyUpstream, keys: Sequence[str] = (A, B, C), clock: FakeClock | None = None, **more: Any
) -> AsyncIterator[Service]:
    made = Service(upstream, keys, clock or FakeClock(), **more)
    try:
        yield made
    finally:
        await made.http.aclose()
        await made.pool.aclose()


def asked(upstream: TavilyUpstream) -> list[str | None]:
    return [request.key for request in upstream.requests]


def code(error: WebSearchError) -> str:
    return outcome.code_of(error, "fetch")


@pytest.mark.requirement("P5-CONFIG-04", "P5-TAVILY-03", "P5-TAVILY-04", "P5-POOL-03", "P5-POOL-04")
async def test_three_bad_keys_are_each_asked_once_and_come_back_each_in_its_time(caplog: pytest.LogCaptureFixture) -> None:
    """401 is for good, 429 for the time that it names, 432 until the plan is renewed; 500 and silence cost no key."""
    written = f'["{A}", , {B};\n{A} {C}\n]'
    keys = settings.read(environ={"TAVILY_API_KEYS": written}).settings.keys()["tavily"]
    assert keys == (A, B, C)
    upstream, clock = TavilyUpstream(keys={A: status(401), B: status(429, retry_after_s=30), C: status(432)}), FakeClock()
    async with service(upstream, keys, clock) as one:
        with pytest.raises(OutOfCredit) as caught:
            await one.tavily.find(QUERY)
        assert asked(upstream) == [A, B, C]
        assert one.states() == ["invalid", "cooldown", "quota_exhausted"]
        told = caught.value
        with pytest.raises(RateLimited) as resting:
            await one.tavily.find(QUERY)
        assert len(upstream.requests) == 3, "with no key to use nothing is sent"

        clock.advance(60)
        upstream.follow(status(500), hang_up())
        for _ in range(2):
            with pytest.raises(Unreachable):
                await one.tavily.find(QUERY)
        assert asked(upstream) == [B, B], "once a call"
        assert one.states() == ["invalid", "healthy", "quota_exhausted"]

        clock.advance(3600)
        upstream.follow(ok())
        for _ in range(4):
            await one.tavily.find(QUERY)
        assert sorted(str(key) for key in asked(upstream)) == [B, B, C, C]
    said = f"{told} {told.hint} {dict(told.diagnostics)} {resting.value} {dict(resting.value.diagnostics)} {caplog.text}"
    assert not any(key in said or key[4:12] in said for key in (A, B, C))
    assert [row["position"] for row in told.diagnostics["key_statuses"]] == [1, 2, 3]  # type: ignore[attr-defined]
    assert "1 (tv…89) refused" in resting.value.message


@pytest.mark.requirement("P5-TAVILY-02", "P5-POOL-02", "P5-TAVILY-01")
async def test_the_three_operations_share_the_health_of_the_keys() -> None:
    upstream = TavilyUpstream(keys={A: status(401), B: ok(), C: ok()})
    async with service(upstream) as one:
        await one.tavily.find(QUERY)
        await one.tavily.extract(PAGE)
        await one.tavily.map(SITE)
        await one.tavily.find(QUERY)
    assert asked(upstream) == [A, B, C, B, C]
    assert [request.path for request in upstream.requests] == ["/search", "/search", "/extract", "/map", "/search"]


@pytest.mark.requirement("P5-TAVILY-05", "P5-TAVILY-06")
@pytest.mark.parametrize("step", [status(408), status(500), status(502), status(503), hang_up(), reset()], ids=lambda it: it.name)
async def test_a_failure_of_the_service_goes_on_with_the_next_key_and_costs_none(step: Step) -> None:
    upstream = TavilyUpstream(keys={A: step, B: ok(), C: ok()})
    async with service(upstream) as one:
        assert (await one.tavily.find(QUERY)).items
        assert asked(upstream) == [A, B]
        assert one.states() == ["healthy"] * 3


@pytest.mark.requirement("P5-TAVILY-06")
async def test_silence_goes_on_with_the_next_key_too() -> None:
    upstream = TavilyUpstream(keys={A: hang(), B: ok()})
    async with serve(upstream) as url:
        pool = KeyPool({"tavily": [A, B]})
        http = Http(pool)
        chosen = TavilySettings(base_url=url, retry=AT_ONCE, read_timeout_s=1.0)
        assert (await Tavily(http, chosen).find(QUERY)).items
        await http.aclose()
    assert asked(upstream) == [A, B]


@pytest.mark.requirement("P5-TAVILY-07", "P5-TAVILY-08")
@pytest.mark.parametrize(
    ("step", "kind", "told"),
    [
        (status(400), RequestRejected, "tavily_request_invalid"),
        (status(422), RequestRejected, "tavily_request_invalid"),
        (status(503, headers={"x-should-retry": "false"}), RequestRejected, "tavily_request_invalid"),
        (status(404), WrongAddress, "tavily_api_configuration_error"),
        (not_json(), BadReply, "tavily_invalid_response"),
        (ok([1]), BadReply, "tavily_invalid_response"),
        (html_page(), WrongAddress, "tavily_api_configuration_error"),
    ],
    ids=lambda it: getattr(it, "name", None),
)
async def test_what_no_key_can_change_ends_the_request(step: Step, kind: type[WebSearchError], told: str) -> None:
    upstream = TavilyUpstream(script=step)
    async with service(upstream) as one:
        with pytest.raises(kind) as caught:
            await one.tavily.find(QUERY)
        assert (asked(upstream), code(caught.value)) == ([A], told)
        assert one.states() == ["healthy"] * 3


@pytest.mark.requirement("P5-TAVILY-09")
@pytest.mark.parametrize("odd", [405, 409, 418])
@pytest.mark.parametrize("keys", [(A,), (A, B, C)])
async def test_the_same_odd_status_from_every_key_is_a_problem_of_the_configuration(odd: int, keys: Sequence[str]) -> None:
    upstream = TavilyUpstream(script=status(odd))
    async with service(upstream, keys) as one:
        with pytest.raises(WrongAddress) as caught:
            await one.tavily.find(QUERY)
    assert asked(upstream) == list(keys)
    assert (code(caught.value), caught.value.http_status) == ("tavily_api_configuration_error", odd)


async def test_different_odd_statuses_are_a_fault_of_the_upstream() -> None:
    upstream = TavilyUpstream(keys={A: status(409), B: status(401), C: status(405)})
    async with service(upstream) as one:
        with pytest.raises(ProviderError) as caught:
            await one.tavily.find(QUERY)
    assert (asked(upstream), code(caught.value)) == ([A, B, C], "tavily_upstream_error")


@pytest.mark.requirement("P5-TAVILY-10")
async def test_when_no_key_can_be_used_the_detail_says_how_each_stands() -> None:
    upstream = TavilyUpstream(keys={A: status(401), B: status(429), C: status(433)})
    async with service(upstream) as one:
        for _ in range(2):  # found out by this call; known before
            with pytest.raises(ProviderError) as caught:
                await one.tavily.extract(PAGE)
            detail = outcome.detail_of(caught.value, "fetch")
            assert (detail.code, detail.retryable) == ("tavily_all_keys_unavailable", True)
            assert detail.diagnostics["key_statuses"] == [
                {"position": 1, "fingerprint": "tv…89", "state": "invalid", "last_error": "auth_rejected"},
                {
                    "position": 2,
                    "fingerprint": "tv…89",
                    "state": "cooldown",
                    "retry_after_seconds": 30.0,
                    "last_error": "rate_limited",
                },
                {
                    "position": 3,
                    "fingerprint": "tv…78",
                    "state": "quota_exhausted",
                    "retry_after_seconds": 3600.0,
                    "last_error": "out_of_credit",
                },
            ]
            assert detail.diagnostics["service_circuit"] == {"state": "closed", "retry_after_seconds": 0.0}
    assert len(upstream.requests) == 3


async def test_keys_that_are_all_refused_are_not_worth_another_call() -> None:
    async with service(TavilyUpstream(script=status(401))) as one:
        with pytest.raises(AuthRejected) as caught:
            await one.tavily.find(QUERY)
    assert not outcome.detail_of(caught.value, "search").retryable


@pytest.mark.requirement("P5-POOL-07", "P5-TAVILY-11", "P5-TAVILY-12")
async def test_an_outage_opens_the_circuit_and_a_probe_ends_it() -> None:
    upstream, clock = TavilyUpstream(script=status(503)), FakeClock()
    async with service(upstream, clock=clock) as one:
        with pytest.raises(CircuitOpen) as caught:
            await one.tavily.find(QUERY)
        assert asked(upstream) == [A, B], "two keys that fail alike are enough, and a third would not help"
        detail = outcome.detail_of(caught.value, "search")
        assert (detail.code, detail.retryable, detail.http_status) == ("tavily_service_unavailable", True, 503)
        assert detail.diagnostics["retry_after_seconds"] == 30.0
        assert detail.diagnostics["total_attempts"] == 1, "a change of key is no attempt"
        for _ in range(20):
            with pytest.raises(CircuitOpen) as caught:
                await one.tavily.extract(PAGE)
            assert caught.value.unsent
            assert caught.value.diagnostics["total_attempts"] == 0, "nothing was sent"
        assert len(upstream.requests) == 2
        clock.advance(30)
        upstream.follow(ok())
        assert (await one.tavily.find(QUERY)).items
        assert one.pool.circuit("tavily")["state"] == "closed"


@pytest.mark.requirement("P5-POOL-09")
@pytest.mark.parametrize("anyio_backend", [STILL], ids=["still"])
async def test_of_many_callers_one_probes() -> None:
    upstream, clock = TavilyUpstream(script=status(503)), FakeClock()
    async with service(upstream, clock=clock, per_key=None) as one:
        with pytest.raises(CircuitOpen):
            await one.tavily.find(QUERY)
        clock.advance(30)
        upstream.follow(delay(0.05, ok()))
        found = await asyncio.gather(*(one.tavily.find(QUERY) for _ in range(20)), return_exceptions=True)
        assert sum(isinstance(one, CircuitOpen) for one in found) == 19
        assert len(upstream.requests) == 1


@pytest.mark.requirement("EDGE-01")
@pytest.mark.parametrize(
    "step",
    [status(401), status(429), status(432), status(400), status(404), not_json(), html_page(), status(503), hang_up()],
    ids=lambda it: it.name,
)
async def test_however_a_probe_ends_the_service_can_come_back(step: Step) -> None:
    upstream, clock = TavilyUpstream(script=status(503)), FakeClock()
    async with service(upstream, clock=clock) as one:
        with pytest.raises(CircuitOpen):
            await one.tavily.find(QUERY)
        clock.advance(30)
        upstream.follow(step)
        with pytest.raises(WebSearchError):
            await one.tavily.find(QUERY)
        assert one.pool.circuit("tavily")["state"] == "open"
        clock.advance(3600)
        upstream.follow(ok())
        if step.name != "status(401)":
            assert (await one.tavily.find(QUERY)).items
            assert one.pool.circuit("tavily")["state"] == "closed"
            return
        with pytest.raises(AuthRejected):  # every key was refused as a probe; no circuit is to blame
            await one.tavily.find(QUERY)


@pytest.mark.requirement("EDGE-11", "EDGE-01", "HEAD-14")
async def test_a_cancelled_probe_leaves_its_place() -> None:
    upstream, clock = TavilyUpstream(script=status(503)), FakeClock()
    async with service(upstream, clock=clock) as one:
        with pytest.raises(CircuitOpen):
            await one.tavily.find(QUERY)
        clock.advance(30)
        upstream.follow(hang())
        probe = asyncio.ensure_future(one.tavily.find(QUERY))
        await upstream.until(lambda it: it.in_flight == 1)
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        upstream.follow(ok())
        assert (await one.tavily.find(QUERY)).items


@pytest.mark.requirement("P5-POOL-11")
async def test_a_success_that_was_sent_before_the_outage_does_not_end_it() -> None:
    goes_down = asyncio.Event()

    async def after_that(exchange: Exchange) -> None:
        await goes_down.wait()
        await ok().perform(exchange)

    upstream = TavilyUpstream(keys={A: Step("after_that", after_that), B: status(503), C: status(503)})
    clock = FakeClock()
    async with service(upstream, clock=clock) as one:
        early = asyncio.ensure_future(one.tavily.find(QUERY))
        await upstream.until(lambda it: it.in_flight == 1)
        with pytest.raises(CircuitOpen):
            await one.tavily.find(QUERY)
        goes_down.set()
        assert (await early).items
        assert one.pool.circuit("tavily")["state"] == "open"


@pytest.mark.requirement("HEAD-11", "HEAD-12", "HEAD-13")
@pytest.mark.parametrize("anyio_backend", [STILL], ids=["still"])
async def test_a_key_carries_one_request_at_a_time_and_keys_work_side_by_side() -> None:
    upstream = TavilyUpstream(script=delay(0.02, ok()))
    async with service(upstream, (A, B)) as one:
        found = await asyncio.gather(*(one.tavily.find(QUERY) for _ in range(10)))
        assert all(each.items for each in found)
        assert one.gauge.most == 2
        assert sorted(str(key) for key in asked(upstream)) == [A] * 5 + [B] * 5
        assert one.states() == ["healthy"] * 2


@pytest.mark.requirement("HEAD-04", "HEAD-05")
@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("anyio_backend", [STILL], ids=["still"])
async def test_an_engine_never_has_more_requests_than_allowed_and_repetitions_queue_too(keyed: bool) -> None:
    upstream = ChatUpstream(script=Script(*[delay(0.01, status(503)) for _ in range(12)]).then_always(delay(0.01, ok({"a": 1}))))
    gauge = Gauge(upstream)
    pool = KeyPool({"grok": ["sk-only"] if keyed else []}, rules={"grok": PoolRules(at_once=2)})
    http = Http(pool, transport=transport(gauge))
    request = Request(provider="grok", base_url="http://relay.test/v1", path="/models", method="GET", keyed=keyed)
    patient = RetryPolicy(max_attempts=20, multiplier_s=0.0)
    found = await asyncio.gather(*(http.retrying(patient)(request, lambda: JsonReply("grok")) for _ in range(4)))
    await http.aclose()
    assert found == [{"a": 1}] * 4
    assert gauge.most == 2
    assert len(upstream.requests) == 16


@pytest.mark.requirement("HEAD-06", "HEAD-08")
async def test_a_call_that_spends_its_time_in_the_queue_says_so_and_sends_nothing() -> None:
    upstream = TavilyUpstream(script=hang())
    async with service(upstream, (A,)) as one:
        busy = asyncio.ensure_future(one.tavily.find(QUERY))
        await upstream.until(lambda it: it.in_flight == 1)
        with deadline.within(0.1), pytest.raises(QueueTimeout) as caught:
            await one.tavily.find(QUERY)
        busy.cancel()
        with pytest.raises(asyncio.CancelledError):
            await busy
        assert len(upstream.requests) == 1
    detail = outcome.detail_of(caught.value, "search")
    assert (detail.code, detail.retryable, detail.service) == ("tavily_concurrency_timeout", True, "tavily")


@pytest.mark.requirement("EDGE-11", "HEAD-07", "HEAD-14")
async def test_calls_cancelled_at_any_moment_leave_every_key_free() -> None:
    """After each number of steps of the event loop in turn, in the queue, in the cache, on the wire and behind it."""
    upstream, cache = TavilyUpstream(), MemoryCache()
    async with service(upstream, (A, B), cache=cache) as one:
        for steps in range(60):
            calls = [asyncio.ensure_future(one.tavily.find(QUERY)) for _ in range(4)]
            for _ in range(steps):
                await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        await one.pool.aclose()
        assert one.states() == ["healthy"] * 2
        async with asyncio.timeout(30):
            assert all(each.items for each in await asyncio.gather(*(one.tavily.find(QUERY) for _ in range(4))))


@pytest.mark.requirement("P5-POOL-02")
@pytest.mark.parametrize("anyio_backend", [STILL], ids=["still"])
async def test_two_processes_try_a_bad_key_once_between_them() -> None:
    upstream, clock = TavilyUpstream(keys={A: delay(0.02, status(401)), B: delay(0.02, status(432)), C: ok()}), FakeClock()
    cache = MemoryCache(now=clock)
    async with service(upstream, clock=clock, cache=cache) as one, service(upstream, clock=clock, cache=cache) as other:
        both = (one, other)
        found = await asyncio.gather(*(each.tavily.find(QUERY) for each in both for _ in range(10)))
        assert all(each.items for each in found)
    counts: Mapping[str | None, int] = {key: asked(upstream).count(key) for key in (A, B, C)}
    assert counts == {A: 1, B: 1, C: 20}


async def test_a_thousand_calls_to_a_dead_service_are_hardly_any_requests() -> None:
    upstream, clock = TavilyUpstream(script=status(503)), FakeClock()
    async with service(upstream, (A,), clock) as one:
        for _ in range(1_000):
            with pytest.raises(Unreachable):
                await one.tavily.find(QUERY)
            clock.advance(1.0)
    assert len(upstream.requests) <= 0.2 * 1_000


@pytest.mark.requirement("EDGE-12")
@pytest.mark.parametrize("keys", [("k1", "k12", "k123"), ("tvly-abc", "tvly-abcdefgh-0123", "abcdefgh")])
async def test_short_keys_and_keys_inside_each_other_are_never_shown(keys: Sequence[str]) -> None:
    said = {"detail": {"error": f"Unauthorized: {' '.join(keys)} are invalid."}}
    upstream = TavilyUpstream(script=status(401, body=said))
    async with service(upstream, keys) as one:
        for _ in range(2):
            with pytest.raises(AuthRejected) as caught:
                await one.tavily.find(QUERY)
            error = caught.value
            shown = f"{error} {error!r} {error.hint} {error.upstream_code} {dict(error.diagnostics)}"
            assert not any(key in shown for key in keys)


@pytest.mark.parametrize(
    ("provider", "variable", "at_once"),
    [
        ("grok", "", 8),
        ("grok", "GROK_MAX_CONCURRENCY", 3),
        ("tavily", "", 1),
        ("tavily", "TAVILY_PER_KEY_MAX_CONCURRENCY", 3),
        ("firecrawl", "", 2),
        ("firecrawl", "WEBSEARCH_FIRECRAWL_PER_KEY_MAX_CONCURRENCY", 3),
    ],
)
async def test_the_limits_of_the_product_are_settings(provider: str, variable: str, at_once: int, tmp_path: Path) -> None:
    keys = {"XAI_API_KEY": "xai-0123456789", "TAVILY_API_KEY": "tvly-0123456789", "FIRECRAWL_API_KEYS": "fc-0123456789"}
    environ = {**keys, "WEBSEARCH_HOME": str(tmp_path), "WEBSEARCH_CACHE_KIND": "memory", **({variable: "3"} if variable else {})}
    credentials = build(settings.read(environ=environ)).resolve(Credentials)
    async with AsyncExitStack() as leases:
        for _ in range(at_once):
            await (await leases.enter_async_context(credentials.lease(provider))).accepted()
        with deadline.within(0.02), pytest.raises(QueueTimeout):
            await leases.enter_async_context(credentials.lease(provider))
