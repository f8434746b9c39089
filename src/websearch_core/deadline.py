"""How long the work around us may still take.

A use case sets the limit; whatever it starts sees it, across tasks, without a parameter on any port. Cancellation enforces
it; asking for what is left only saves a wait that could not be worth its end.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["left_s", "now", "within"]

_ends: ContextVar[float] = ContextVar("ends", default=math.inf)


def now() -> float:
    """Seconds by the clock that runs our timers: the event loop's, and outside of every loop the one it is made of."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Everything started inside has at most `seconds`, and never more than what surrounds it has left."""
    token = _ends.set(min(now() + seconds, _ends.get()))
    try:
        yield
    finally:
        _ends.reset(token)


def left_s() -> float:
    """Seconds left, at least 0; infinite where nobody set a limit."""
    return max(_ends.get() - now(), 0.0)
