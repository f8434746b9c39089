"""Laws of the key pool, for every order of failures, waits and choices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
)
from websearch_core.rotation import MIN_REST_S, KeyRing, after, choose, free, ring_of, status

COOLDOWN_S, QUOTA_S = 30.0, 3600.0
BLAMELESS = (Unreachable, BadReply, RequestRejected, Declined)
waits = st.one_of(st.none(), st.floats(0, 7200), st.sampled_from([-1.0, float("nan"), float("inf"), float("-inf")]))


class Pool(RuleBasedStateMachine):
    """A pool beside a ledger that knows only two facts of each key: dead or not, and until when it rests."""

    @initialize(count=st.integers(1, 5))
    def fill(self, count: int) -> None:
        self.now = 1_000.0
        self.ring = ring_of(count)
        self.dead: set[int] = set()
        self.rests: dict[int, tuple[float, str]] = {}

    @rule(seconds=st.floats(0, 4000))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(data=st.data())
    def use(self, data: st.DataObject) -> None:
        tried = data.draw(st.sets(st.integers(0, len(self.ring.keys) - 1)))
        index, self.ring = choose(self.ring, self.now, tried=tried)
        usable = [key for key in range(len(self.ring.keys)) if key not in tried and self._is_free(key)]
        only_one_that_cools = len(self.ring.keys) == 1 and not tried and 0 in self.rests and self.rests[0][1] == "cooldown"
        if usable:
            assert index in usable, "a resting, refused or tried key was taken while another was free"
        elif only_one_that_cools and not self.dead:
            assert index == 0
        else:
            assert index is None

    @rule(data=st.data(), wish=waits)
    def refuse(self, data: st.DataObject, wish: float | None) -> None:
        index = self._fail(data, AuthRejected, wish)
        self.dead.add(index)

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
            if index in self.dead:
                assert shown.state == "invalid"
            elif self._is_free(index):
                assert shown.state == "healthy"
            else:
                assert (shown.until, shown.state) == self.rests[index]

    @invariant()
    def every_key_that_is_not_refused_comes_back_and_is_used(self) -> None:
        later = self.now + 7200 + QUOTA_S
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
        named = wish is not None and 0 <= wish < float("inf")
        until = self.now + max(wish if named and wish is not None else default, MIN_REST_S)
        if self._is_free(index) or until > self.rests[index][0]:
            self.rests[index] = (until, state)

    def _is_free(self, index: int) -> bool:
        return index not in self.dead and (index not in self.rests or self.now >= self.rests[index][0])


TestPool = Pool.TestCase


@given(st.integers(1, 6), st.integers(1, 5))
def test_healthy_keys_take_turns(count: int, rounds: int) -> None:
    ring, used = ring_of(count), []
    for _ in range(count * rounds):
        index, ring = choose(ring, 0.0)
        used.append(index)
    assert used == list(range(count)) * rounds


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


def test_an_empty_ring_has_nothing_to_choose() -> None:
    assert choose(ring_of(0), 0.0) == (None, ring_of(0))


def test_the_longer_rest_counts() -> None:
    ring = after(ring_of(2), 0, OutOfCredit, now=0.0, quota_cooldown_s=3600.0)
    ring = after(ring, 0, RateLimited, now=1.0, retry_after_s=5.0)
    assert status(ring, 0, 100.0).state == "quota_exhausted"
    assert status(ring, 0, 3600.0).state == "healthy"


@pytest.mark.parametrize("wish", [0.0, 0.2])
def test_a_wish_to_retry_at_once_does_not_send_a_request_round_and_round(wish: float) -> None:
    ring = after(after(ring_of(2), 0, RateLimited, now=0.0, retry_after_s=wish), 1, RateLimited, now=0.0, retry_after_s=wish)
    assert free(ring, 0.5) == ()
    assert free(ring, MIN_REST_S) == (0, 1)


def test_an_only_key_that_is_used_up_or_refused_is_not_offered() -> None:
    assert choose(after(ring_of(1), 0, OutOfCredit, now=0.0), 1.0)[0] is None
    assert choose(after(ring_of(1), 0, AuthRejected, now=0.0), 1e9)[0] is None


def test_the_last_error_stays_visible_after_the_rest() -> None:
    ring = after(ring_of(2), 0, RateLimited, now=0.0, retry_after_s=5.0)
    assert status(ring, 0, 5.0).last_error == "rate_limited"
