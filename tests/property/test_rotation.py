"""Laws of the keys' ring and of the whole pool, for every order of requests, failures, waits and cancellations."""

from __future__ import annotations

import asyncio
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from still_loop import StillLoop
from websearch_adapters.cache.memory import MemoryCache
from websearch_adapters.credentials.pool import KeyPool, PoolRules
from websearch_core.circuit import CircuitRules
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.rotation import MAX_REST_S, MIN_REST_S, KeyRing, after, choose, put_back, ring_of, status, succeeded
from websearch_core.values import Secret

COOLDOWN_S, QUOTA_S = 30.0, 3600.0
BLAMELESS = (Unreachable, BadReply, RequestRejected, Declined)
waits = st.one_of(st.none(), st.floats(0, 7200), st.sampled_from([-1.0, 1e9, float("nan"), float("inf"), float("-inf")]))


class Ring(RuleBasedStateMachine):
    """A ring beside a ledger that knows three facts of each key: dead or not, until when it rests, and how often it is in use.

    An only key keeps other laws, being never out of use for long; the unit tests show them.
    """

    @initialize(count=st.integers(2, 5), per_key=st.one_of(st.none(), st.integers(1, 3)))
    def fill(self, count: int, per_key: int | None) -> None:
        self.now = 1_000.0
        self.ring = ring_of(count)
        self.per_key = per_key
        self.dead: set[int] = set()
        self.rests: dict[int, tuple[float, str]] = {}
        self.in_use: Counter[int] = Counter()

    @rule(seconds=st.floats(0, 4000))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        tried = data.draw(st.sets(st.integers(0, len(self.ring.keys) - 1)))
        held = data.draw(st.sets(st.integers(0, len(self.ring.keys) - 1), max_size=1))
        index, self.ring = choose(self.ring, self.now, tried=tried, per_key=self.per_key, held=held)
        usable = {key for key in range(len(self.ring.keys)) if key not in tried and self._is_healthy(key)}
        usable = {key for key in usable - held if self.per_key is None or self.in_use[key] < self.per_key}
        if index is None:
            assert not usable
            return
        assert index in usable, "a resting, refused, tried or busy key was taken"
        self.in_use[index] += 1

    @precondition(lambda self: self.in_use.total())
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        index = data.draw(st.sampled_from(sorted(key for key, count in self.in_use.items() if count)))
        self.ring = put_back(self.ring, index)
        self.in_use[index] -= 1

    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.ring.keys) - 1))
        self.ring = succeeded(self.ring, index)

    @rule(data=st.data(), wish=waits)
    def refuse(self, data: st.DataObject, wish: float | None) -> None:
        self.dead.add(self._fail(data, AuthRejected, wish))

    @rule(data=st.data(), wish=waits)
    def limit(self, data: st.DataObject, wish: float | None) -> None:
        self._rest(self._fail(data, RateLimited, wish), wish, COOLDOWN_S, "cooldown")

    @rule(data=st.data(), wish=waits)
    def use_up(self, data: st.DataObject, wish: float | None) -> None:
        self._rest(self._fail(data, OutOfCredit, wish), wish, QUOTA_S, "quota_exhausted")

    @rule(data=st.data(), kind=st.sampled_from(BLAMELESS), wish=waits)
    def break_down(self, data: st.DataObject, kind: type[ProviderError], wish: float | None) -> None:
        before = self.ring
        self._fail(data, kind, wish)
        assert self.ring == before, "the key was not to blame"

    @invariant()
    def shows_what_the_ledger_says(self) -> None:
        for index in range(len(self.ring.keys)):
            shown = status(self.ring, index, self.now)
            assert shown.in_flight == self.in_use[index]
            if index in self.dead:
                assert shown.state == "invalid"
            elif self._is_healthy(index):
                assert shown.state == "healthy"
            else:
                assert (shown.until, shown.state) == self.rests[index]

    @invariant()
    def every_key_that_is_not_refused_comes_back_and_is_used(self) -> None:
        later = self.now + max(MAX_REST_S.values()) + QUOTA_S
        ring = self.ring
        used: set[int | None] = set()
        for _ in ring.keys:
            index, ring = choose(ring, later)
            used.add(index)
        alive: set[int | None] = {index for index in range(len(ring.keys)) if index not in self.dead}
        assert used == (alive or {None})

    def _fail(self, data: st.DataObject, kind: type[ProviderError], wish: float | None) -> int:
        index = data.draw(st.integers(0, len(self.ring.keys) - 1))
        self.ring = after(
            self.ring, index, kind, now=self.now, retry_after_s=wish, cooldown_s=COOLDOWN_S, quota_cooldown_s=QUOTA_S
        )
        return index

    def _rest(self, index: int, wish: float | None, default: float, state: str) -> None:
        if index in self.dead:
            return
        rest_s = min(wish, MAX_REST_S[state]) if wish is not None and _named(wish) else default
        until = self.now + max(rest_s, MIN_REST_S)
        if self._is_healthy(index) or until > self.rests[index][0]:
            self.rests[index] = (until, state)

    def _is_healthy(self, index: int) -> bool:
        return index not in self.dead and (index not in self.rests or self.now >= self.rests[index][0])


TestRing = Ring.TestCase


class Pool(RuleBasedStateMachine):
    """Two pools over one cache, as two processes have them, used by requests that overlap and end in every way."""

    @initialize(count=st.integers(1, 4), per_key=st.integers(1, 2), at_once=st.integers(1, 4))
    def open(self, count: int, per_key: int, at_once: int) -> None:
        self.loop = StillLoop()
        self.keys = [f"tvly-key-number-{number:04}" for number in range(count)]
        self.per_key, self.at_once = per_key, at_once
        rules = {"p": PoolRules(per_key=per_key, at_once=at_once, circuit=CircuitRules(cooldown_s=30.0))}
        cache = MemoryCache(now=self.loop.time)
        self.pools = [KeyPool({"p": self.keys}, cache, rules=rules, now=self.loop.time, clock=self.loop.time) for _ in range(2)]
        self.requests: list[Request] = []
        self.refused: set[str] = set()

    @rule(which=st.integers(0, 1), tried=st.sets(st.integers(0, 3), max_size=2))
    def send(self, which: int, tried: set[int]) -> None:
        failed: dict[Secret | None, WebSearchError] = {
            Secret(self.keys[number]): Unreachable("x") for number in tried if number < len(self.keys)
        }
        self.requests.append(Request(self.pools[which], failed, self.loop))
        self._settle()

    @precondition(lambda self: self._under_way())
    @rule(data=st.data(), ending=st.sampled_from(["success", "accepted", "cancel", "foreign"]))
    def end(self, data: st.DataObject, ending: str) -> None:
        request = data.draw(st.sampled_from(self._under_way()))
        if ending == "accepted":
            self.loop.run_until_complete(request.lease.accepted())
        elif ending == "cancel":
            request.task.cancel()
        else:
            request.over.set_result(None if ending == "success" else ZeroDivisionError())
        self._settle()

    @precondition(lambda self: self._under_way())
    @rule(
        data=st.data(),
        kind=st.sampled_from([AuthRejected, OutOfCredit, RateLimited, *BLAMELESS]),
        wish=waits,
        code=st.sampled_from([None, 418, 500]),
    )
    def fail(self, data: st.DataObject, kind: type[ProviderError], wish: float | None, code: int | None) -> None:
        request = data.draw(st.sampled_from(self._under_way()))
        assert request.secret is not None
        if kind is AuthRejected:
            self.refused.add(request.secret.value)
        request.over.set_result(kind("it failed", provider="p", retry_after_s=wish, http_status=code))
        self._settle()

    @precondition(lambda self: self._waiting())
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self._waiting())).task.cancel()
        self._settle()

    @rule(seconds=st.sampled_from([0.5, 5.0, 31.0, 3601.0]))
    def wait(self, seconds: float) -> None:
        self.loop.advance(seconds)
        self._settle()

    @invariant()
    def limits_are_kept(self) -> None:
        for pool in self.pools:
            mine = [request.secret for request in self._under_way() if request.pool is pool]
            assert len(mine) <= self.at_once
            assert all(count <= self.per_key for count in Counter(mine).values())

    @invariant()
    def nobody_waits_without_a_reason(self) -> None:
        """Whoever waits in one pool does so because something in that pool is under way, or has just been claimed by the other."""
        for pool in self.pools:
            if any(request.pool is pool for request in self._waiting()):
                service = pool._service("p")
                assert service.in_flight or service.held

    @invariant()
    def half_open_means_that_its_probe_is_under_way(self) -> None:
        for pool in self.pools:
            busy = [request for request in self._under_way() if request.pool is pool]
            assert pool.circuit("p")["state"] != "half_open" or busy

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        try:
            self._close()
        finally:
            self.loop.close()

    def _close(self) -> None:
        for request in self.requests:
            request.task.cancel()
        self._settle(200)
        for pool in self.pools:
            service = pool._service("p")
            assert (service.in_flight, len(service.callers)) == (0, 0)
            assert all(key.in_flight == 0 for key in service.ring.keys)
            assert pool.circuit("p")["state"] != "half_open"
            self.loop.run_until_complete(pool.aclose())
        self.loop.advance(max(MAX_REST_S.values()) + 1)
        self._every_key_that_is_not_refused_is_used_again()

    def _every_key_that_is_not_refused_is_used_again(self) -> None:
        """Soon: a key that the other pool claimed a moment ago is left alone for a tenth of a second."""
        alive = {key for key in self.keys if key not in self.refused}

        async def use_all(pool: KeyPool) -> None:
            used: set[str] = set()
            while not used >= alive:
                async with pool.lease("p") as lease:
                    assert lease.secret is not None
                    used.add(lease.secret.value)
                await asyncio.sleep(0)

        for pool in self.pools:
            self.loop.run_until_complete(asyncio.wait_for(use_all(pool), 5))

    def _under_way(self) -> list[Request]:
        return [one for one in self.requests if one.is_under_way]

    def _waiting(self) -> list[Request]:
        return [one for one in self.requests if not one.task.done() and not one.is_under_way]

    def _settle(self, rounds: int = 25) -> None:
        """Let every task come to rest; nothing in it waits for a time."""

        async def rest() -> None:
            for _ in range(rounds):
                await asyncio.sleep(0)

        self.loop.run_until_complete(rest())
        for one in self.requests:
            if one.task.done():
                one.check()
        self.requests = [one for one in self.requests if not one.task.done()]


class Request:
    """One request, held open until it is told how to end."""

    def __init__(self, pool: KeyPool, tried: dict[Secret | None, WebSearchError], loop: asyncio.AbstractEventLoop) -> None:
        self.pool = pool
        self.secret: Secret | None = None
        self.is_under_way = False
        self.over: asyncio.Future[Exception | None] = loop.create_future()
        self.task = loop.create_task(self._run(tried))

    async def _run(self, tried: dict[Secret | None, WebSearchError]) -> None:
        async with self.pool.lease("p", tried=tried) as self.lease:
            self.secret, self.is_under_way = self.lease.secret, True
            assert len(self.pool.statuses("p")) == 1 or self.secret not in tried
            try:
                ending = await self.over
                if isinstance(ending, ProviderError):
                    await self.lease.failed(ending)
                elif ending is not None:
                    raise ending
            finally:
                self.is_under_way = False

    def check(self) -> None:
        """It ended by cancellation, or by what the pool or the test may raise."""
        error = None if self.task.cancelled() else self.task.exception()
        assert error is None or isinstance(error, (WebSearchError, ZeroDivisionError)), error


TestPool = Pool.TestCase
TestPool.settings = settings(max_examples=1_000, stateful_step_count=20)


@pytest.mark.requirement("P5-POOL-01")
@given(st.integers(1, 6), st.integers(1, 5))
def test_healthy_keys_take_turns(count: int, rounds: int) -> None:
    assert choose_many(ring_of(count), now=0.0, times=count * rounds) == list(range(count)) * rounds


@given(st.integers(2, 6), st.data())
def test_a_key_that_comes_back_does_not_push_in(count: int, data: st.DataObject) -> None:
    """Between two uses of one key every other free key is used once."""
    ring = ring_of(count)
    for _ in range(data.draw(st.integers(0, 10))):
        _, ring = choose(ring, 0.0)
    limited = data.draw(st.integers(0, count - 1))
    ring = after(ring, limited, RateLimited, now=0.0, retry_after_s=5.0)
    assert sorted(choose_many(ring, now=6.0, times=count)) == list(range(count))


def choose_many(ring: KeyRing, *, now: float, times: int) -> list[int]:
    used = []
    for _ in range(times):
        index, ring = choose(ring, now)
        assert index is not None
        used.append(index)
    return used


def _named(wish: float | None) -> bool:
    return wish is not None and math.isfinite(wish) and wish >= 0
