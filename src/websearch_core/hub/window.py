"""Calms notices: all that come within 50 ms of the first are one per upstream and kind. Pure; time is an argument.

The window tumbles: its first notice opens it, `WINDOW_S` later it is due, and the next notice opens another one. Nothing runs
while it is empty. The last write wins, and of the generations the highest is kept, for only the newest connection can be the
current one: in whichever order two connections' notices come, the newer one's is not lost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["WINDOW_S", "Notice", "Window", "due_at", "flushed", "noted"]

T = TypeVar("T")
WINDOW_S = 0.050


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Generic[T]):
    """Something that happened at an upstream, once or often."""

    upstream: str
    kind: str
    generation: int
    what: T
    times: int = 1
    """How many notices it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Generic[T]):
    """The notices since the window was opened, by upstream and kind, in the order of their first."""

    opened_at: float | None = None
    notices: Mapping[tuple[str, str], Notice[T]] = dataclasses.field(default_factory=dict)


def noted(window: Window[T], notice: Notice[T], now: float) -> Window[T]:
    """The window with the notice; an empty one opens now."""
    key = (notice.upstream, notice.kind)
    before = window.notices.get(key)
    if before is not None:
        newest = max(before.generation, notice.generation)
        notice = dataclasses.replace(notice, generation=newest, times=before.times + notice.times)
    opened_at = now if window.opened_at is None else window.opened_at
    return Window(opened_at=opened_at, notices={**window.notices, key: notice})


def due_at(window: Window[T]) -> float | None:
    """When it is to be flushed; None while it is empty."""
    return None if window.opened_at is None else window.opened_at + WINDOW_S


def flushed(window: Window[T], now: float, *, ending: bool = False) -> tuple[Window[T], tuple[Notice[T], ...]]:
    """The window without what is due, and that; `ending` flushes before its time."""
    due = due_at(window)
    if due is None or (now < due and not ending):
        return window, ()
    return Window(), tuple(window.notices.values())
