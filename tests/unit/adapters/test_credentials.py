"""Keys from the settings: who is used when, who rests, who waits, and what is said of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from websearch_adapters.cache.memory import MemoryCache
from websearch_adapters.credentials.notes import Notes
from websearch_adapters.credentials.pool import LOOK_AGAIN_S, KeyPool, PoolRules
from websearch_core import deadline, outcome
from websearch_core.circuit import CircuitRules
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    CircuitOpen,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    QueueTimeout,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.testing.fakes import FakeCache, FakeClock
from websearch_core.values import Secret

pytestmark = pytest.mark.anyio

A, B, C = "tvly-alpha-0123456789", "tvly-bravo-0123456789", "tvly-charlie-012345678"
DOWN = Unreachable("tavily answers 500", provider="tavily", http_status=500)
SILENT = Unreachable("tavily: silent", provider="tavily", diagnostics={"exception_type": "ReadTimeout"})
Tried = dict[Secret | None, WebSearchError]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def pool(clock: FakeClock, keys: Sequence[str] = (A, B, C), cache: Any = None, **rules: Any) -> KeyPool:
    return KeyPool({"tavily": keys}, cache, rules={"tavily": PoolRules(**rules)}, now=clock, clock=clock)


@pytest.fixture
def keys(clock: FakeClock) -> KeyPool:
    return pool(clock)


async def call(keys: KeyPool, upstream: Mapping[str, ProviderError | None], asked: list[str]) -> None:
    """One keyed call as the HTTP client makes it: on with another key as long as the credentials say so."""
    tried: Tried = {}
    while True:
        async with keys.lease("tavily", tried=tried) as lease:
            assert lease.secret is not None
            asked.append(lease.secret.value)
            error = upstream[lease.secret.value]
            if error is None:
                return
            again = await lease.failed(error)
            tried[lease.secret] = error
        if not again:
            raise error


async def fails(keys: KeyPool, key: str, error: ProviderError) -> bool:
    """A call whose first turn is the one of `key`, which fails."""
    tried: Tried = {Secret(other): BadReply("not this one") for other in (A, B, C) if other != key}
    async with keys.lease("tavily", tried=tried) as lease:
        assert lease.secret == Secret(key)
        return await lease.failed(error)


async def works(keys: KeyPool) -> str:
    async with keys.lease("tavily") as lease:
        assert lease.secret is not None
        return lease.secret.value


def states(keys: KeyPool) -> list[object]:
    return [row["state"] for row in keys.statuses("tavily")]


class TestKeys:
    @pytest.mark.requirement("P5-TAVILY-03", "P5-POOL-03", "P5-POOL-05")
    async def test_each_failure_is_treated_by_its_kind_and_each_key_is_asked_once(self, keys: KeyPool, clock: FakeClock) -> None:
        refused, limited, used_up = AuthRejected("401"), RateLimited("429", retry_after_s=30.0), OutOfCredit("432")
        asked: list[str] = []
        with pytest.raises(OutOfCredit):
            await call(keys, {A: refused, B: limited, C: used_up}, asked)
        assert asked == [A, B, C]
        assert states(keys) == ["invalid", "cooldown", "quota_exhausted"]

        clock.advance(60)
        for error in (DOWN, SILENT):
            asked = []
            with pytest.raises(Unreachable):
                await call(keys, {B: error}, asked)
            assert asked == [B], "only B is back, and asking it again is for another call"
        assert states(keys) == ["invalid", "healthy", "quota_exhausted"]

        clock.advance(3600)
        asked = []
        await call(keys, {B: None, C: None}, asked)
        await call(keys, {B: None, C: None}, asked)
        assert sorted(asked) == [B, C]
        assert states(keys) == ["invalid", "healthy", "healthy"], "a refused key stays away until the next start"

    @pytest.mark.requirement("P5-POOL-01", "P5-CONFIG-05")
    async def test_healthy_keys_take_turns_in_the_order_in_which_they_are_written(self, keys: KeyPool) -> None:
        assert [await works(keys) for _ in range(6)] == [A, B, C, A, B, C]

    async def test_says_whether_another_key_can_be_tried(self, keys: KeyPool) -> None:
        tried: Tried = {}
        told = []
        for error in (AuthRejected("401"), RateLimited("429"), OutOfCredit("432")):
            async with keys.lease("tavily", tried=tried) as lease:
                told.append(await lease.failed(error))
                tried[lease.secret] = error
        assert told == [True, True, False]

    @pytest.mark.requirement("P5-TAVILY-05", "P5-TAVILY-06", "P5-POOL-06")
    @pytest.mark.parametrize("error", [DOWN, SILENT])
    async def test_a_failure_of_the_service_goes_on_with_the_next_key_and_leaves_all_healthy(
        self, keys: KeyPool, error: ProviderError
    ) -> None:
        asked: list[str] = []
        await call(keys, {A: error, B: None}, asked)
        assert asked == [A, B]
        assert states(keys) == ["healthy"] * 3

    @pytest.mark.requirement("P5-TAVILY-07", "P5-TAVILY-08")
    @pytest.mark.parametrize(
        "error",
        [
            BadReply("not JSON", http_status=200),
            RequestRejected("400", http_status=400),
            RequestRejected("422", http_status=422),
            RequestRejected("404", http_status=404),
            ModelRejected("model", http_status=403),
            RequestRejected("503, not to be repeated", http_status=503),
        ],
    )
    async def test_what_another_key_cannot_change_ends_the_call(self, keys: KeyPool, error: ProviderError) -> None:
        asked: list[str] = []
        with pytest.raises(type(error)):
            await call(keys, {A: error}, asked)
        assert asked == [A]
        assert states(keys) == ["healthy"] * 3
        assert not error.exhausted

    @pytest.mark.requirement("P5-TAVILY-09")
    async def test_the_same_odd_status_from_every_key_speaks_for_itself(self, keys: KeyPool) -> None:
        odd = BadReply("tavily answers 418", provider="tavily", http_status=418)
        asked: list[str] = []
        with pytest.raises(BadReply) as caught:
            await call(keys, {A: odd, B: odd, C: odd}, asked)
        assert (caught.value, asked) == (odd, [A, B, C])

    async def test_odd_statuses_that_differ_are_a_fault_of_the_upstream(self, keys: KeyPool) -> None:
        odd, other = BadReply("418", http_status=418), RequestRejected("405", http_status=405)
        with pytest.raises(ProviderError) as caught:
            await call(keys, {A: odd, B: other, C: AuthRejected("401", http_status=401)}, [])
        assert type(caught.value) is ProviderError
        assert outcome.code_of(caught.value, "fetch") == "tavily_upstream_error"
        assert "405, 418" in caught.value.message

    async def test_an_outage_whose_words_speak_of_a_key_does_not_drop_it_for_good(self, keys: KeyPool, clock: FakeClock) -> None:
        asked: list[str] = []
        await call(keys, {A: AuthRejected("500", http_status=500), B: None}, asked)
        assert (asked, states(keys)) == ([A, B], ["cooldown", "healthy", "healthy"])
        clock.advance(30)
        assert states(keys) == ["healthy"] * 3

    async def test_an_unknown_provider_has_no_keys(self, keys: KeyPool) -> None:
        assert keys.statuses("nobody") == ()
        with pytest.raises(NotConfigured, match="nobody"):
            async with keys.lease("nobody"):
                pass

    async def test_an_only_key_is_asked_again_by_the_call_that_was_limited_and_by_others_after_its_rest(
        self, clock: FakeClock
    ) -> None:
        keys = pool(clock, [A])
        limited = RateLimited("429", retry_after_s=30.0)
        assert await fails(keys, A, limited) is False
        assert states(keys) == ["cooldown"]
        with pytest.raises(RateLimited) as caught:
            await works(keys)
        assert caught.value.retry_after_s == pytest.approx(30.0)
        async with keys.lease("tavily", tried={Secret(A): limited}) as lease:
            assert lease.secret == Secret(A)
        assert states(keys) == ["healthy"], "it worked"

    async def test_an_only_key_that_was_limited_without_a_time_stays_in_use(self, clock: FakeClock) -> None:
        keys = pool(clock, [A])
        await fails(keys, A, RateLimited("429"))
        assert await works(keys) == A

    async def test_a_call_that_has_tried_every_key_is_told_how_it_failed_and_that_it_is_over(self, keys: KeyPool) -> None:
        tried: Tried = {Secret(key): Unreachable(f"silence of {key[:6]}") for key in (A, B, C)}
        with pytest.raises(Unreachable, match="silence of tvly-c"):
            async with keys.lease("tavily", tried=tried):
                pass

    @pytest.mark.requirement("P5-TAVILY-10")
    async def test_when_all_keys_rest_it_says_when_the_first_one_is_back(self, keys: KeyPool, clock: FakeClock) -> None:
        await fails(keys, A, OutOfCredit("432"))
        await fails(keys, B, RateLimited("429", retry_after_s=20.0))
        await fails(keys, C, RateLimited("429"))
        clock.advance(5)
        with pytest.raises(RateLimited) as caught:
            await works(keys)
        error = caught.value
        assert error.retry_after_s == pytest.approx(15.0)
        assert error.exhausted
        assert "1 (tv…89) used up, 2 (tv…89) rate-limited, 3 (tv…78) rate-limited" in error.message
        assert [row["state"] for row in error.diagnostics["key_statuses"]] == states(keys)  # type: ignore[attr-defined]
        assert error.diagnostics["service_circuit"] == {"state": "closed", "retry_after_seconds": 0.0}
        detail = outcome.detail_of(error, "fetch")
        assert (detail.code, detail.retryable) == ("tavily_all_keys_unavailable", True)

    async def test_when_all_keys_are_used_up_or_refused_credit_is_what_is_missing(self, keys: KeyPool) -> None:
        await fails(keys, A, OutOfCredit("432", retry_after_s=100.0))
        await fails(keys, B, AuthRejected("401"))
        await fails(keys, C, AuthRejected("401"))
        with pytest.raises(OutOfCredit) as caught:
            await works(keys)
        assert caught.value.retry_after_s == pytest.approx(100.0)
        assert outcome.detail_of(caught.value, "fetch").retryable, "a plan is renewed some day"

    @pytest.mark.requirement("EDGE-12")
    async def test_when_all_keys_are_refused_it_names_positions_and_fingerprints_and_no_key(self, keys: KeyPool) -> None:
        for key in (A, B, C):
            await fails(keys, key, AuthRejected("401"))
        with pytest.raises(AuthRejected) as caught:
            await works(keys)
        error = caught.value
        said = f"{error.message} {error.hint} {dict(error.diagnostics)}"
        assert "1 (tv…89) refused" in said
        assert (error.provider, error.retry_after_s) == ("tavily", None)
        assert not any(key in said for key in (A, B, C))
        assert not outcome.detail_of(error, "fetch").retryable

    async def test_the_last_failure_of_a_call_tells_how_all_keys_stand(self, keys: KeyPool) -> None:
        last = OutOfCredit("432", http_status=432)
        with pytest.raises(OutOfCredit):
            await call(keys, {A: AuthRejected("401"), B: RateLimited("429"), C: last}, [])
        assert last.diagnostics["key_statuses"] == list(keys.statuses("tavily"))
        assert (last.http_status, last.exhausted) == (432, True)

    async def test_its_own_key_does_not_look_busy_to_a_call_that_ends(self, clock: FakeClock) -> None:
        keys = pool(clock, [A], per_key=1)
        error = Unreachable("500", http_status=500)
        await fails(keys, A, error)
        assert error.diagnostics["key_statuses"] == [{"position": 1, "fingerprint": "tv…89", "state": "healthy"}]

    async def test_without_a_key_it_names_the_setting_and_its_variables(self) -> None:
        with pytest.raises(NotConfigured) as caught:
            await works(KeyPool({"tavily": ["", "  "]}))
        assert caught.value.hint == (
            "Set tavily.api_keys in the configuration file or TAVILY_API_KEYS or TAVILY_API_KEY or WEBSEARCH_TAVILY_API_KEYS "
            "in the environment."
        )

    @pytest.mark.parametrize(
        ("provider", "named"),
        [
            ("xai", ["XAI_API_KEY"]),
            ("chat", ["GROK_API_KEY"]),
            ("firecrawl", ["FIRECRAWL_API_KEY"]),
            ("grok", ["XAI_API_KEY", "GROK_API_KEY"]),
            ("of-a-plugin", ["Set a key for of-a-plugin."]),
        ],
    )
    async def test_a_provider_without_a_key_is_named_with_its_variables(self, provider: str, named: list[str]) -> None:
        with pytest.raises(NotConfigured, match=provider) as caught:
            async with KeyPool({}).lease(provider):
                pass
        assert all(name in (caught.value.hint or "") for name in named)

    async def test_takes_a_single_key_as_text_and_counts_duplicates_once(self, clock: FakeClock) -> None:
        keys = KeyPool({"xai": "xai-only-key-0123456789", "tavily": [A, f" {A} ", B]}, now=clock, clock=clock)
        async with keys.lease("xai") as lease:
            assert lease.secret == Secret("xai-only-key-0123456789")
        assert len(keys.statuses("tavily")) == 2

    async def test_reports_each_key_by_position_fingerprint_state_wait_and_last_error(
        self, keys: KeyPool, clock: FakeClock
    ) -> None:
        await fails(keys, B, RateLimited("429", retry_after_s=30.0))
        clock.advance(0.5)
        assert keys.statuses("tavily")[:2] == (
            {"position": 1, "fingerprint": "tv…89", "state": "healthy"},
            {
                "position": 2,
                "fingerprint": "tv…89",
                "state": "cooldown",
                "retry_after_seconds": 29.5,
                "last_error": "rate_limited",
            },
        )

    async def test_the_lengths_of_rests_can_be_set(self, clock: FakeClock) -> None:
        keys = pool(clock, [A, B], cooldown_s=5, quota_cooldown_s=50)
        await fails(keys, A, RateLimited("429"))
        await fails(keys, B, OutOfCredit("432"))
        assert [row["retry_after_seconds"] for row in keys.statuses("tavily")] == [5.0, 50.0]

    async def test_one_provider_does_not_touch_the_keys_of_another(self, clock: FakeClock) -> None:
        keys = KeyPool({"tavily": [A, B], "firecrawl": [A, B]}, now=clock, clock=clock)
        await fails(keys, A, AuthRejected("401"))
        assert [row["state"] for row in keys.statuses("firecrawl")] == ["healthy", "healthy"]

    async def test_what_is_reported_after_the_request_changes_nothing(self, keys: KeyPool) -> None:
        async with keys.lease("tavily") as lease:
            pass
        await lease.accepted()
        assert await lease.failed(AuthRejected("401")) is False
        assert (lease.secret, states(keys)) == (None, ["healthy"] * 3)


class Held:
    """A request that is under way until it is told to end."""

    def __init__(self, keys: KeyPool, provider: str = "tavily", **more: Any) -> None:
        self.secret: Secret | None = None
        self.entered = asyncio.Event()
        self.over = asyncio.Event()
        self.lease = keys.lease(provider, **more)
        self.task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        async with self.lease:
            self.secret = self.lease.secret
            self.entered.set()
            await self.over.wait()

    async def end(self) -> None:
        self.over.set()
        await self.task

    async def cancel(self) -> None:
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class TestQueue:
    @pytest.mark.requirement("HEAD-11", "HEAD-12", "HEAD-13")
    async def test_a_key_carries_one_request_and_the_next_one_waits_while_other_keys_work(self, clock: FakeClock) -> None:
        keys = pool(clock, [A, B], per_key=1)
        first, second, third = (Held(keys) for _ in range(3))
        await settled()
        assert (first.secret, second.secret, third.entered.is_set()) == (Secret(A), Secret(B), False)
        assert states(keys) == ["busy", "busy"]
        await second.end()
        await settled()
        assert third.secret == Secret(B)
        for one in (first, third):
            await one.end()
        assert states(keys) == ["healthy", "healthy"]

    @pytest.mark.requirement("HEAD-04")
    async def test_requests_to_a_provider_never_exceed_its_limit_with_keys_and_without(self, clock: FakeClock) -> None:
        keys = pool(clock, at_once=2)
        requests = [Held(keys, keyed=keyed) for keyed in (False, True, True, False)]
        await settled()
        assert [one.entered.is_set() for one in requests] == [True, True, False, False]
        for done, one in enumerate(requests):
            await one.end()
            await settled()
            assert sum(other.entered.is_set() for other in requests) == min(done + 3, 4)

    async def test_those_who_wait_are_served_in_the_order_of_their_coming(self, clock: FakeClock) -> None:
        """Also against one that comes back at once: it queues behind them."""
        keys = pool(clock, [A], per_key=1)
        order: list[int] = []

        async def work(name: int) -> None:
            for _ in range(3):
                async with keys.lease("tavily"):
                    order.append(name)
                    await asyncio.sleep(0)

        await asyncio.gather(*(work(name) for name in range(3)))
        assert order == [0, 1, 2] * 3

    @pytest.mark.requirement("HEAD-06")
    @pytest.mark.parametrize("code", ["tavily_concurrency_timeout", "grok_concurrency_timeout"])
    async def test_waiting_is_part_of_the_calls_time(self, clock: FakeClock, code: str) -> None:
        provider = code.partition("_")[0]
        keys = KeyPool({provider: [A]}, rules={provider: PoolRules(per_key=1, at_once=1)}, clock=clock)
        busy = Held(keys, provider)
        await busy.entered.wait()
        with deadline.within(0.05), pytest.raises(QueueTimeout) as caught:
            async with keys.lease(provider):
                pass
        assert outcome.detail_of(caught.value, "search").code == code
        assert outcome.detail_of(caught.value, "search").retryable
        await busy.end()
        async with keys.lease(provider):
            pass

    @pytest.mark.requirement("HEAD-07", "HEAD-14", "EDGE-11")
    async def test_whoever_is_cancelled_in_the_queue_or_with_the_key_leaves_nothing_behind(self, clock: FakeClock) -> None:
        keys = pool(clock, [A], per_key=1)
        holding, waiting, next_one = (Held(keys) for _ in range(3))
        await settled()
        await waiting.cancel()
        await holding.cancel()
        await settled()
        assert next_one.secret == Secret(A)
        await next_one.end()
        assert states(keys) == ["healthy"]

    @pytest.mark.requirement("EDGE-11")
    async def test_whoever_is_cancelled_in_the_moment_of_its_turn_passes_it_on(self, clock: FakeClock) -> None:
        keys = pool(clock, [A], per_key=1)
        async with keys.lease("tavily"):
            waiting, next_one = (Held(keys) for _ in range(2))
            await settled()
        waiting.task.cancel()  # its turn has come, and it has not run since
        await settled()
        assert (waiting.task.cancelled(), next_one.secret) == (True, Secret(A))
        await next_one.end()

    async def test_those_who_wait_hear_at_once_that_there_is_nothing_to_wait_for(self, clock: FakeClock) -> None:
        keys = pool(clock, [A, B], per_key=1)
        first, second, waiting = Held(keys), Held(keys), Held(keys)
        await settled()
        for one in (first, second):
            await one.lease.failed(AuthRejected("401"))
            await one.end()
        with pytest.raises(AuthRejected):
            await waiting.task

    async def test_a_key_that_nobody_knows_is_tried_by_one_request_at_a_time(self, clock: FakeClock) -> None:
        """Without a limit of its own: a bad key is then tried once, and not by everybody at the same moment."""
        keys = pool(clock, [A, B])
        first, second = (Held(keys, tried={Secret(B): DOWN}) for _ in range(2))
        await settled()
        assert (first.entered.is_set(), second.entered.is_set()) == (True, False)
        await first.lease.accepted()
        await settled()
        assert second.secret == Secret(A), "the first one is not over yet, but its key was taken"
        for one in (first, second):
            await one.end()

    async def test_nobody_waits_for_the_verdict_on_an_only_key(self, clock: FakeClock) -> None:
        """A request that hangs would hold up all others, and there is no other key to spare this one for."""
        cache = MemoryCache(now=clock)
        requests = [Held(pool(clock, [A], cache)), Held(pool(clock, [A], cache))]
        await settled()
        assert [one.secret for one in requests] == [Secret(A)] * 2
        for one in requests:
            await one.end()


class TestCircuit:
    @pytest.mark.requirement("P5-POOL-07", "P5-TAVILY-11")
    async def test_keys_that_fail_alike_open_it_and_end_the_call_at_once(self, keys: KeyPool) -> None:
        asked: list[str] = []
        with pytest.raises(CircuitOpen) as caught:
            await call(keys, {A: DOWN, B: DOWN}, asked)
        error = caught.value
        assert asked == [A, B], "the third key is left alone with the service"
        assert (error.http_status, error.retry_after_s, error.__cause__) == (500, 30.0, DOWN)
        assert outcome.code_of(error, "fetch") == "tavily_service_unavailable"
        assert error.diagnostics["service_circuit"] == {"state": "open", "retry_after_seconds": 30.0}
        assert not error.unsent
        with pytest.raises(CircuitOpen) as shut:
            await call(keys, {}, asked)
        assert shut.value.unsent
        assert len(asked) == 2
        assert states(keys) == ["healthy"] * 3

    async def test_an_only_key_opens_it_after_five_failed_calls(self, clock: FakeClock) -> None:
        keys = pool(clock, [A])
        for _ in range(4):
            assert await fails(keys, A, DOWN) is False
        with pytest.raises(CircuitOpen):
            await fails(keys, A, SILENT)

    async def test_so_does_the_last_key_that_is_left(self, keys: KeyPool) -> None:
        await fails(keys, A, AuthRejected("401"))
        await fails(keys, B, OutOfCredit("432"))
        for _ in range(4):
            await fails(keys, C, DOWN)
        with pytest.raises(CircuitOpen):
            await fails(keys, C, DOWN)

    async def test_so_does_a_service_without_keys(self, clock: FakeClock) -> None:
        keys = pool(clock, [])
        for number in range(5):
            async with keys.lease("tavily", keyed=False) as lease:
                try:
                    assert await lease.failed(DOWN) is False
                except CircuitOpen:
                    assert number == 4
        with pytest.raises(CircuitOpen):
            async with keys.lease("tavily", keyed=False):
                pass

    async def test_the_repetitions_of_a_call_are_one_failure(self, clock: FakeClock) -> None:
        keys = pool(clock, [A])
        for _ in range(20):
            async with keys.lease("tavily", tried={Secret(A): DOWN}) as lease:
                await lease.failed(DOWN)
        assert keys.circuit("tavily")["state"] == "closed"

    @pytest.mark.requirement("P5-POOL-09", "P5-TAVILY-12")
    async def test_after_its_time_one_probe_goes_through_and_its_success_closes_it(self, keys: KeyPool, clock: FakeClock) -> None:
        await self._open(keys)
        clock.advance(30)
        probe = Held(keys)
        await settled()
        assert keys.circuit("tavily") == {"state": "half_open", "retry_after_seconds": 0.0}
        for _ in range(3):
            with pytest.raises(CircuitOpen):
                await works(keys)
        await probe.end()
        assert keys.circuit("tavily")["state"] == "closed"

    @pytest.mark.requirement("P5-POOL-10")
    async def test_a_failed_probe_opens_it_for_another_period(self, keys: KeyPool, clock: FakeClock) -> None:
        await self._open(keys)
        clock.advance(30)
        with pytest.raises(CircuitOpen):
            await call(keys, dict.fromkeys((A, B, C), SILENT), [])
        assert keys.circuit("tavily") == {"state": "open", "retry_after_seconds": 30.0}

    @pytest.mark.requirement("EDGE-01")
    @pytest.mark.parametrize(
        ("ending", "state"),
        [
            (AuthRejected("401"), "due"),
            (RateLimited("429"), "due"),
            (OutOfCredit("432"), "due"),
            (RequestRejected("400", http_status=400), "due"),
            (RequestRejected("404", http_status=404), "due"),
            (BadReply("not JSON", http_status=200), "open"),
            (BadReply("418", http_status=418), "open"),
            (RequestRejected("503, not to be repeated", http_status=503), "due"),
            (DOWN, "open"),
            (ZeroDivisionError(), "due"),
            (asyncio.CancelledError(), "due"),
        ],
    )
    async def test_no_ending_of_the_probe_leaves_it_half_open(
        self, keys: KeyPool, clock: FakeClock, ending: BaseException, state: str
    ) -> None:
        await self._open(keys)
        clock.advance(30)
        with pytest.raises((type(ending), CircuitOpen)):
            await self._probe(keys, ending)
        assert keys.circuit("tavily")["state"] == "open"
        if state == "open":
            with pytest.raises(CircuitOpen):
                await works(keys)
            clock.advance(30)
        assert await works(keys) in {A, B, C}
        assert keys.circuit("tavily")["state"] == "closed"

    @pytest.mark.requirement("P5-TAVILY-03")
    async def test_a_probe_with_a_bad_key_is_followed_by_one_with_a_good_key_in_the_same_call(
        self, keys: KeyPool, clock: FakeClock
    ) -> None:
        await self._open(keys)
        clock.advance(30)
        asked: list[str] = []
        await call(keys, {C: AuthRejected("401"), A: None}, asked)
        assert asked == [C, A]
        assert keys.circuit("tavily")["state"] == "closed"

    @pytest.mark.requirement("P5-POOL-11")
    async def test_a_success_that_was_sent_before_does_not_close_it(self, keys: KeyPool) -> None:
        early = Held(keys)
        await settled()
        await fails(keys, B, DOWN)
        with pytest.raises(CircuitOpen):
            await fails(keys, C, DOWN)
        await early.end()
        assert keys.circuit("tavily")["state"] == "open"

    @pytest.mark.requirement("P5-POOL-12")
    async def test_it_is_half_open_only_when_a_key_can_probe_it(self, keys: KeyPool, clock: FakeClock) -> None:
        await self._open(keys)
        clock.advance(30)
        for key in (A, B, C):
            await fails(keys, key, RateLimited("429", retry_after_s=600.0))
        with pytest.raises(RateLimited):
            await works(keys)
        assert keys.circuit("tavily")["state"] == "open"

    async def test_those_who_wait_hear_at_once_that_it_is_open(self, clock: FakeClock) -> None:
        keys = pool(clock, [A, B], per_key=1)
        first, second, waiting = (Held(keys) for _ in range(3))
        await settled()
        await first.lease.failed(DOWN)
        with pytest.raises(CircuitOpen):
            await second.lease.failed(DOWN)
        await first.end()
        with pytest.raises(CircuitOpen):
            await waiting.task
        await second.end()

    async def _probe(self, keys: KeyPool, ending: BaseException) -> None:
        async with keys.lease("tavily") as lease:
            if isinstance(ending, ProviderError):
                await lease.failed(ending)
            raise ending

    async def _open(self, keys: KeyPool) -> None:
        with pytest.raises(CircuitOpen):
            await call(keys, {A: DOWN, B: DOWN, C: DOWN}, [])


class Slow(FakeCache):
    """Answers each call only when it is let go on."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.calls: list[tuple[str, asyncio.Event]] = []
        self.is_slow = False

    async def _pass(self, name: str) -> None:
        if self.is_slow:
            gate = asyncio.Event()
            self.calls.append((name, gate))
            await gate.wait()

    async def get(self, key: str, kind: Any, /) -> Any:
        await self._pass("get")
        return await super().get(key, kind)

    async def put(self, key: str, value: object, /, *, ttl_s: float) -> None:
        await self._pass("put")
        await super().put(key, value, ttl_s=ttl_s)

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        if is_absent := key not in self.keys:  # as a thread does it: also when nobody waits for the result any more
            await FakeCache.put(self, key, value, ttl_s=ttl_s)
        await self._pass("add")
        return is_absent

    async def drop(self, key: str, /) -> None:
        await self._pass("drop")
        await super().drop(key)

    def let_go(self) -> None:
        for _, gate in self.calls:
            gate.set()
        self.calls.clear()


class Counting(FakeCache):
    """Counts what it is asked."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.asked: list[str] = []

    async def get(self, key: str, kind: Any, /) -> Any:
        self.asked.append("get")
        return await super().get(key, kind)

    async def put(self, key: str, value: object, /, *, ttl_s: float) -> None:
        self.asked.append("put")
        await super().put(key, value, ttl_s=ttl_s)

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        self.asked.append("add")
        return await super().add(key, value, ttl_s=ttl_s)


class TestSharing:
    """Two pools over one cache stand for two processes of one user."""

    @pytest.mark.requirement("P5-POOL-02")
    @pytest.mark.parametrize(
        ("error", "state"),
        [
            (AuthRejected("401"), "invalid"),
            (RateLimited("429", retry_after_s=20.0), "cooldown"),
            (OutOfCredit("432"), "quota_exhausted"),
        ],
    )
    async def test_a_key_that_is_parked_in_one_is_parked_in_all(self, clock: FakeClock, error: ProviderError, state: str) -> None:
        cache = MemoryCache(now=clock)
        one, other = (pool(clock, [A, B], cache) for _ in range(2))
        assert await works(other) == A, "it knows the key as a good one"
        await fails(one, A, error)
        assert [await works(other) for _ in range(4)] == [B] * 4
        assert states(other) == [state, "healthy"]

    async def test_a_rest_ends_for_all_at_the_same_time(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        one, other = (pool(clock, [A], cache) for _ in range(2))
        await fails(one, A, RateLimited("429", retry_after_s=20.0))
        clock.advance(5)
        with pytest.raises(RateLimited) as caught:
            await works(other)
        assert caught.value.retry_after_s == pytest.approx(15.0)
        clock.advance(15)
        assert await works(other) == A

    async def test_a_refusal_concerns_the_same_configuration_only(self, clock: FakeClock) -> None:
        """Whoever changes the keys wants them tried."""
        cache = MemoryCache(now=clock)
        await fails(pool(clock, [A, B], cache), A, AuthRejected("401"))
        again, changed = pool(clock, [B, A], cache), pool(clock, [A, C], cache)
        assert [await works(again) for _ in range(2)] == [B, B]
        assert await works(changed) == A

    async def test_a_key_that_nobody_knows_is_tried_by_one_process_at_a_time(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        one, other = (pool(clock, [A, B], cache) for _ in range(2))
        trying = Held(one)
        await trying.entered.wait()
        assert [await works(other) for _ in range(3)] == [B] * 3, "A is being tried, and B is known by now"
        await trying.lease.failed(AuthRejected("401"))
        await trying.end()
        assert await works(other) == B
        assert states(one)[0] == "invalid"

    async def test_without_another_key_it_waits_for_the_verdict(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        one, other = (pool(clock, [A, B], cache) for _ in range(2))
        trying, waiting = (Held(keys, tried={Secret(B): DOWN}) for keys in (one, other))
        await trying.entered.wait()
        await settled()
        assert not waiting.entered.is_set()
        await trying.lease.accepted()
        async with asyncio.timeout(30):
            await waiting.entered.wait()
        for request in (trying, waiting):
            await request.end()

    async def test_or_hears_that_the_key_is_bad_and_never_tries_it(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        one, other = (pool(clock, [A, B], cache) for _ in range(2))
        trying, waiting = (Held(keys, tried={Secret(B): DOWN}) for keys in (one, other))
        await trying.entered.wait()
        assert trying.secret == Secret(A)
        await trying.lease.failed(AuthRejected("401"))
        await trying.end()
        async with asyncio.timeout(30):
            with pytest.raises(ProviderError):
                await waiting.task
        assert not waiting.entered.is_set()

    async def test_a_key_whose_rest_is_over_is_tried_by_one_process_too(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        one, other = (pool(clock, [A, B], cache) for _ in range(2))
        await fails(one, A, RateLimited("429"))
        await works(other)
        clock.advance(30)
        trying = Held(one, tried={Secret(B): DOWN})
        await trying.entered.wait()
        assert trying.secret == Secret(A)
        assert [await works(other) for _ in range(3)] == [B] * 3
        await trying.end()

    @pytest.mark.requirement("P5-POOL-02", "P5-POOL-09")
    async def test_an_open_circuit_is_open_for_all_and_one_of_all_probes_it(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        one, other, third = (pool(clock, [A, B], cache) for _ in range(3))
        await works(other)
        with pytest.raises(CircuitOpen):
            await call(one, {A: DOWN, B: DOWN}, [])
        for keys in (other, third):
            with pytest.raises(CircuitOpen) as caught:
                await works(keys)
            assert caught.value.retry_after_s == 30.0
        clock.advance(30)
        probe = Held(other)
        await probe.entered.wait()
        for keys in (one, third):
            with pytest.raises(CircuitOpen):
                await works(keys)
        await probe.end()
        for keys in (one, third):
            await works(keys)
            assert keys.circuit("tavily")["state"] == "closed"

    async def test_a_failed_probe_keeps_all_away_for_another_period(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        one, other = (pool(clock, [A, B], cache) for _ in range(2))
        with pytest.raises(CircuitOpen):
            await call(one, {A: DOWN, B: DOWN}, [])
        clock.advance(30)
        with pytest.raises(CircuitOpen):
            await call(one, {A: DOWN, B: DOWN}, [])
        with pytest.raises(CircuitOpen) as caught:
            await works(other)
        assert caught.value.retry_after_s == 30.0

    async def test_a_process_that_comes_later_finds_the_circuit_due_and_not_closed(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        with pytest.raises(CircuitOpen):
            await call(pool(clock, [A, B], cache), {A: DOWN, B: DOWN}, [])
        clock.advance(60)
        late = pool(clock, [A, B], cache)
        probe = Held(late)
        await probe.entered.wait()
        assert late.circuit("tavily")["state"] == "half_open"
        await probe.end()

    async def test_in_peace_a_request_costs_two_looks_and_no_note(self, clock: FakeClock) -> None:
        cache = Counting(clock)
        keys = pool(clock, [A, B], cache)
        for _ in range(2):
            await works(keys)
        cache.asked.clear()
        for _ in range(10):
            await works(keys)
        assert cache.asked == ["get"] * 20

    async def test_nothing_that_is_kept_shows_a_key(self, clock: FakeClock) -> None:
        cache = FakeCache(clock)
        keys = pool(clock, [A, B, C], cache)
        await fails(keys, A, AuthRejected("401"))
        await fails(keys, B, OutOfCredit("432"))
        await works(keys)
        kept = str(cache._kept)
        assert len(cache.keys) == 3
        assert not any(part in kept for key in (A, B, C) for part in (key, key[5:12]))

    async def test_the_notes_of_one_provider_say_nothing_of_another(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        keys = KeyPool({"tavily": [A], "firecrawl": [A]}, cache, now=clock, clock=clock)
        await fails(keys, A, AuthRejected("401"))
        async with KeyPool({"firecrawl": [A]}, cache, now=clock, clock=clock).lease("firecrawl") as lease:
            assert lease.secret == Secret(A)

    async def test_a_claim_is_given_up_by_its_owner_only(self, clock: FakeClock) -> None:
        cache = MemoryCache(now=clock)
        one, other = (Notes(cache, "tavily", [Secret(A)]) for _ in range(2))
        assert await one.claim_key(0, ttl_s=10)
        clock.advance(11)
        assert await other.claim_key(0, ttl_s=10)
        await one.drop_key_claim(0)
        assert not await one.claim_key(0, ttl_s=10)
        await other.drop_key_claim(0)
        assert await one.claim_key(0, ttl_s=10)

    async def test_a_verdict_that_comes_while_it_claims_a_key_is_not_missed(self, clock: FakeClock) -> None:
        cache = Slow(clock)
        keys, other = (pool(clock, [A, B], cache) for _ in range(2))
        cache.is_slow = True
        request = Held(keys)
        for _ in range(2):  # the circuit and the key are looked at; the claim is next
            await settled()
            cache.let_go()
        await settled()
        cache.is_slow = False
        await fails(other, A, AuthRejected("401"))
        cache.let_go()
        await request.entered.wait()
        assert request.secret == Secret(B)
        await request.end()

    @pytest.mark.requirement("EDGE-11")
    @pytest.mark.parametrize("steps", range(9))
    async def test_cancelled_while_it_looks_it_leaves_neither_turn_nor_claim(self, clock: FakeClock, steps: int) -> None:
        """At each call to the cache in turn, with the probe of a circuit and an unknown key to find out about."""
        cache = Slow(clock)
        with pytest.raises(CircuitOpen):
            await call(pool(clock, [A, B], cache), {A: DOWN, B: DOWN}, [])
        clock.advance(30)
        keys, other = (pool(clock, [A, B], cache) for _ in range(2))
        cache.is_slow = True
        request = Held(keys)
        for _ in range(steps):
            await settled()
            cache.let_go()
        await settled()
        await request.cancel()
        cache.is_slow = False
        cache.let_go()
        await keys.aclose()
        assert [key for key in cache.keys if key.endswith(":claim")] == []
        assert states(keys) == ["healthy", "healthy"]
        assert keys.circuit("tavily")["state"] != "half_open"
        async with asyncio.timeout(30):
            assert await works(other) in {A, B}
            assert await works(keys) in {A, B}

    @pytest.mark.requirement("EDGE-11")
    async def test_what_one_found_out_is_told_although_it_is_cancelled(self, clock: FakeClock) -> None:
        cache = Slow(clock)
        keys, other = (pool(clock, [A, B], cache) for _ in range(2))
        started = asyncio.Event()

        async def request() -> None:
            async with keys.lease("tavily") as lease:
                cache.is_slow = True
                started.set()
                await lease.failed(AuthRejected("401"))

        task = asyncio.ensure_future(request())
        await started.wait()
        await settled()
        assert [name for name, _ in cache.calls] == ["put"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cache.is_slow = False
        cache.let_go()
        await keys.aclose()
        assert await works(other) == B
        assert states(other) == ["invalid", "healthy"]

    async def test_a_cache_that_keeps_nothing_leaves_each_process_with_what_it_knows(self, clock: FakeClock) -> None:
        cache = FakeCache(clock, forgetful=True)
        one, other = (pool(clock, [A, B], cache) for _ in range(2))
        await fails(one, A, AuthRejected("401"))
        assert [await works(one) for _ in range(2)] == [B, B]
        assert await works(other) == A

    def test_looking_again_is_no_load(self) -> None:
        assert LOOK_AGAIN_S >= 0.05


async def test_a_pool_serves_one_event_loop_after_another(clock: FakeClock) -> None:
    """A key that was being tried when its loop ended is free in the next one."""
    keys = pool(clock, [A], per_key=1, circuit=CircuitRules(cooldown_s=1.0))

    async def leaving() -> None:
        Held(keys)
        await settled()

    def in_a_loop_of_its_own() -> None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(leaving())
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()

    await asyncio.to_thread(in_a_loop_of_its_own)
    async with asyncio.timeout(30):
        assert await works(keys) == A
