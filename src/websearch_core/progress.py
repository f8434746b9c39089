"""Where a long call stands, told from inside and heard by whoever shows it, without a parameter on any port.

Like the deadline, the listener reaches everything that the call starts, across tasks. Where nobody listens, telling costs
one look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

__all__ = ["Listener", "heard_by", "tell"]

Listener: TypeAlias = Callable[[str, int, int | None], None]
"""(what happens now, steps done, steps in all or None); called in the event loop's thread, must not wait or raise."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Everything started inside tells this listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(text: str, *, done: int = 0, total: int | None = None) -> None:
    """Say where the work stands. `text` is for people and holds no query, no secret and no text of a page."""
    listener = _listener.get()
    if listener is not None:
        listener(text, done, total)
