"""Which of several keys to use now: pure policy, without clock and I/O.

A ring is a value. `choose` takes the next free key in turn; `after` notes how a key failed. Only what a key itself is to blame
for changes its state: time-outs and 5xx leave it healthy.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from websearch_core.errors import AuthRejected, OutOfCredit, RateLimited, WebSearchError

__all__ = ["KeyRing", "KeyState", "KeyStatus", "after", "choose", "free", "ring_of", "status"]

KeyState: TypeAlias = Literal["healthy", "cooldown", "quota_exhausted", "invalid"]
MIN_REST_S = 1.0
"""Shortest rest of a key; without it, "retry after 0 s" would send a request round all keys for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStatus:
    """How one key stands."""

    state: KeyState = "healthy"
    until: float = 0.0
    """When a resting key is healthy again, on the clock of `now`; without meaning for the other states."""
    last_error: str = ""
    """Code of the last failure that the key was to blame for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """The keys of one provider, by position, and whose turn it is."""

    keys: tuple[KeyStatus, ...] = ()
    turn: int = 0


def ring_of(count: int) -> KeyRing:
    """A ring of healthy keys."""
    return KeyRing(keys=(KeyStatus(),) * count)


def status(ring: KeyRing, index: int, now: float) -> KeyStatus:
    """How a key stands at `now`: a rest that is over is health."""
    key = ring.keys[index]
    resting = key.state in {"cooldown", "quota_exhausted"}
    return KeyStatus(last_error=key.last_error) if resting and now >= key.until else key


def free(ring: KeyRing, now: float) -> tuple[int, ...]:
    """Positions of the healthy keys, beginning with the one whose turn it is."""
    count = len(ring.keys)
    order = (index % count for index in range(ring.turn, ring.turn + count))
    return tuple(index for index in order if status(ring, index, now).state == "healthy")


def choose(ring: KeyRing, now: float, *, tried: Collection[int] = ()) -> tuple[int | None, KeyRing]:
    """The key to use and the ring after it; None when every key is tried, resting or refused.

    An only key that is merely cooling down stays in use: with nothing to change to, the provider's own answer says more.
    """
    index = next((index for index in free(ring, now) if index not in tried), None)
    if index is None and len(ring.keys) == 1 and not tried and ring.keys[0].state == "cooldown":
        index = 0
    if index is None:
        return None, ring
    return index, dataclasses.replace(ring, turn=(index + 1) % len(ring.keys))


def after(
    ring: KeyRing,
    index: int,
    error: type[WebSearchError],
    *,
    now: float,
    retry_after_s: float | None = None,
    cooldown_s: float = 30.0,
    quota_cooldown_s: float = 3600.0,
) -> KeyRing:
    """The ring after key `index` failed with `error`.

    Refused is for good. Rate-limited and used-up keys rest for the time that the provider named, else for ours; of two rests
    the one that ends later counts. Every other error leaves the ring as it is.
    """
    key = status(ring, index, now)
    if key.state == "invalid":
        return ring
    if issubclass(error, AuthRejected):
        return _with(ring, index, KeyStatus(state="invalid", last_error=error.code))
    if issubclass(error, OutOfCredit):
        rest = KeyStatus(state="quota_exhausted", until=now + _rest_s(retry_after_s, quota_cooldown_s), last_error=error.code)
    elif issubclass(error, RateLimited):
        rest = KeyStatus(state="cooldown", until=now + _rest_s(retry_after_s, cooldown_s), last_error=error.code)
    else:
        return ring
    return ring if key.state != "healthy" and key.until >= rest.until else _with(ring, index, rest)


def _rest_s(wish: float | None, default: float) -> float:
    named = wish is not None and math.isfinite(wish) and wish >= 0
    return max(wish if named and wish is not None else default, MIN_REST_S)


def _with(ring: KeyRing, index: int, key: KeyStatus) -> KeyRing:
    return dataclasses.replace(ring, keys=(*ring.keys[:index], key, *ring.keys[index + 1 :]))
