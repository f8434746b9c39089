"""Work that several callers may wait for: one run per question, ended when nobody wants it any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["InFlight"]


class InFlight:
    """The runs of one process. A caller that leaves last cancels its run; `keep` hands a run over to the background."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._waiting: dict[str, int] = {}
        self._kept: set[asyncio.Task[Any]] = set()

    @contextmanager
    def joined(self, key: str, start: Callable[[], Coroutine[Any, Any, Any]]) -> Iterator[asyncio.Task[Any]]:
        """The run of `key`, begun unless it is under way. Wait for it by `asyncio.wait`, which leaves it running."""
        task = self._tasks.get(key)
        if task is None or task.done():
            task = self._tasks[key] = asyncio.ensure_future(start())
            self._waiting[key] = 0
        self._waiting[key] += 1
        try:
            yield task
        finally:
            self._leave(key, task)

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Let `work` go on after its caller has left, until it ends or `aclose`."""
        task = asyncio.ensure_future(work)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)

    async def aclose(self) -> None:
        """Cancel every run and wait for its end."""
        running = [task for task in (*self._kept, *self._tasks.values()) if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        self._tasks.clear()

    def _leave(self, key: str, task: asyncio.Task[Any]) -> None:
        if self._tasks.get(key) is not task:
            return
        self._waiting[key] -= 1
        if self._waiting[key] == 0:
            del self._tasks[key], self._waiting[key]
            task.cancel()
