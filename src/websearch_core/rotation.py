"""Which of several keys to use now: pure policy, without clock and I/O.

A ring is a value. `choose` takes the next free key in turn, `put_back` gives it back, `after` and `succeeded` note how it went.
Only what a key itself is to blame for changes its state: time-outs and 5xx leave it healthy, and so does being busy.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from websearch_core.errors import AuthRejected, OutOfCredit, RateLimited, WebSearchError

__all__ = [
    "KeyRing",
    "KeyState",
    "KeyStatus",
    "after",
    "choose",
    "free",
    "is_busy",
    "parked",
    "put_back",
    "ring_of",
    "status",
    "succeeded",
    "trusted",
    "usable",
]

KeyState: TypeAlias = Literal["healthy", "cooldown", "quota_exhausted", "invalid"]
MIN_REST_S = 1.0
"""Shortest rest of a key; without it, "retry after 0 s" would send a request round all keys for ever."""
MAX_REST_S = {"cooldown": 86_400.0, "quota_exhausted": 31 * 86_400.0}
"""Longest rest, whatever the provider says: no limit is longer than a day, no plan longer than a month."""
FINAL = frozenset({AuthRejected.code, OutOfCredit.code})
"""Errors of a key that asking again in the same call cannot mend."""
RESTING = frozenset(MAX_REST_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStatus:
    """How one key stands."""

    state: KeyState = "healthy"
    until: float = 0.0
    """When a resting key is healthy again, on the clock of `now`; without meaning for the other states."""
    last_error: str = ""
    """Code of the last failure that the key was to blame for."""
    trusted: bool = False
    """The provider took the key lately. One that is healthy and not trusted was never tried, or has rested since."""
    in_flight: int = 0
    """Requests that use it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """The keys of one provider, by position, and whose turn it is."""

    keys: tuple[KeyStatus, ...] = ()
    turn: int = 0


def ring_of(count: int) -> KeyRing:
    """A ring of healthy keys that nobody has tried."""
    return KeyRing(keys=(KeyStatus(),) * count)


def status(ring: KeyRing, index: int, now: float) -> KeyStatus:
    """How a key stands at `now`: a rest that is over is health, though not yet trust."""
    key = ring.keys[index]
    rested = key.state in RESTING and now >= key.until
    return dataclasses.replace(key, state="healthy", until=0.0) if rested else key


def usable(ring: KeyRing, now: float, *, tried: Collection[int] = ()) -> tuple[int, ...]:
    """Positions of the healthy keys that are not tried, busy ones included, beginning with the one whose turn it is.

    An only key may be tried again by the same call, also while it is cooling down: with nothing to change to, how long to wait
    is that call's own decision.
    """
    if len(ring.keys) == 1 and 0 in tried:
        key = status(ring, 0, now)
        return (0,) if key.state in {"healthy", "cooldown"} and key.last_error not in FINAL else ()
    count = len(ring.keys)
    order = (index % count for index in range(ring.turn, ring.turn + count))
    return tuple(index for index in order if index not in tried and status(ring, index, now).state == "healthy")


def is_busy(ring: KeyRing, index: int, *, per_key: int | None, held: Collection[int] = ()) -> bool:
    """Whether a key has to be waited for; `held` are those that wait for somebody's verdict."""
    return index in held or (per_key is not None and ring.keys[index].in_flight >= per_key)


def free(
    ring: KeyRing, now: float, *, tried: Collection[int] = (), per_key: int | None = None, held: Collection[int] = ()
) -> tuple[int, ...]:
    """The usable keys that are not busy, in turn."""
    return tuple(index for index in usable(ring, now, tried=tried) if not is_busy(ring, index, per_key=per_key, held=held))


def choose(
    ring: KeyRing, now: float, *, tried: Collection[int] = (), per_key: int | None = None, held: Collection[int] = ()
) -> tuple[int | None, KeyRing]:
    """The key to use and the ring in which it is in use; None when every key is tried, resting, refused or busy."""
    index = next(iter(free(ring, now, tried=tried, per_key=per_key, held=held)), None)
    if index is None:
        return None, ring
    key = status(ring, index, now)
    kept = ring.keys[index] if key.state != "healthy" else key
    taken = dataclasses.replace(kept, in_flight=key.in_flight + 1, trusted=key.trusted)
    return index, dataclasses.replace(_with(ring, index, taken), turn=(index + 1) % len(ring.keys))


def put_back(ring: KeyRing, index: int) -> KeyRing:
    """The ring once a request with the key has ended, in whatever way."""
    key = ring.keys[index]
    return _with(ring, index, dataclasses.replace(key, in_flight=max(key.in_flight - 1, 0)))


def trusted(ring: KeyRing, index: int) -> KeyRing:
    """The ring once the provider has taken the key."""
    return _with(ring, index, dataclasses.replace(ring.keys[index], trusted=True))


def succeeded(ring: KeyRing, index: int) -> KeyRing:
    """The ring after a success. A rest that began meanwhile stands, unless it is that of an only key, and so does a refusal."""
    key = ring.keys[index]
    if key.state != "healthy" and not (key.state == "cooldown" and len(ring.keys) == 1):
        return ring
    return _with(ring, index, dataclasses.replace(key, state="healthy", until=0.0, last_error="", trusted=True))


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

    Refused is for good. Rate-limited and used-up keys rest for the time that the provider named, else for ours. An only key is
    never refused for good, and rests only for a time that was named: with nothing to change to, a guess of ours would only turn
    a fault that may have passed into one that lasts. Every other error leaves the ring as it is.
    """
    if issubclass(error, (AuthRejected, OutOfCredit)) and len(ring.keys) == 1 and not _is_named(retry_after_s):
        return _with(ring, index, dataclasses.replace(ring.keys[index], last_error=error.code))
    if issubclass(error, AuthRejected):
        return parked(ring, index, "invalid", now=now, last_error=error.code)
    if not issubclass(error, (OutOfCredit, RateLimited)):
        return ring
    is_passing = issubclass(error, RateLimited)
    if is_passing and len(ring.keys) == 1 and not _is_named(retry_after_s):
        return _with(ring, index, dataclasses.replace(ring.keys[index], last_error=error.code))
    state: KeyState = "cooldown" if is_passing else "quota_exhausted"
    wish_s = retry_after_s if retry_after_s is not None and _is_named(retry_after_s) else None
    rest_s = (cooldown_s if is_passing else quota_cooldown_s) if wish_s is None else min(wish_s, MAX_REST_S[state])
    return parked(ring, index, state, now=now, until=now + max(rest_s, MIN_REST_S), last_error=error.code)


def parked(ring: KeyRing, index: int, state: KeyState, *, now: float, until: float = 0.0, last_error: str = "") -> KeyRing:
    """The ring with a key out of use; of two rests the one that ends later counts, and nothing undoes a refusal."""
    key = status(ring, index, now)
    if key.state == "invalid" or (key.state != "healthy" and state in RESTING and key.until >= until):
        return ring
    return _with(ring, index, KeyStatus(state=state, until=until, last_error=last_error, in_flight=key.in_flight))


def _is_named(wish: float | None) -> bool:
    return wish is not None and math.isfinite(wish) and wish >= 0


def _with(ring: KeyRing, index: int, key: KeyStatus) -> KeyRing:
    return dataclasses.replace(ring, keys=(*ring.keys[:index], key, *ring.keys[index + 1 :]))
