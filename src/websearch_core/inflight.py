"""Work that several callers may wait for: one run per question, ended when nobody wants it any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from websearch_core.errors import OutOfTime, WebSearchError

__all__ = ["InFlight", "settled", "stopped"]

T = TypeVar("T")


class InFlight:
    """The runs of one process."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._waiting: dict[str, int] = {}
        self._kept: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def joined(self, key: str, start: Callable[[], Coroutine[Any, Any, T]]) -> AsyncIterator[asyncio.Task[T]]:
        """The run of `key`, begun unless it is under way; who leaves last cancels it.

        Wait for it by `asyncio.wait`: that leaves it running when the waiter is cancelled or out of time.
        """
        task = self._tasks.get(key)
        if task is None or task.done():
            task = self._tasks[key] = asyncio.ensure_future(start())
            task.add_done_callback(_noticed)
            self._waiting[key] = 0
        self._waiting[key] += 1
        try:
            yield task
        finally:
            if self._leave(key, task):
                await stopped([task])

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Let `work` go on after its caller has left, until it ends or `aclose`."""
        task = asyncio.ensure_future(work)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)

    async def aclose(self) -> None:
        """Cancel every run and wait for its end."""
        await stopped([*self._kept, *self._tasks.values()])
        self._tasks.clear()
        self._waiting.clear()

    def _leave(self, key: str, task: asyncio.Task[Any]) -> bool:
        """Whether nobody waits for the run any more."""
        if self._tasks.get(key) is not task:
            return False
        self._waiting[key] -= 1
        if self._waiting[key]:
            return False
        del self._tasks[key], self._waiting[key]
        return True


def _noticed(task: asyncio.Task[Any]) -> None:
    """Take note of a failure, or asyncio would log the failure of a run that everybody has left."""
    if task.done() and not task.cancelled():
        task.exception()


def settled(task: asyncio.Task[T], provider: str | None) -> T | WebSearchError:
    """The task's value or error; a task that is not done is out of time. A fault of ours passes through."""
    if not task.done() or task.cancelled():
        return OutOfTime("not done within the time of the call", provider=provider)
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, WebSearchError):
        return error
    raise error


async def stopped(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel what still runs and wait for its end; not by `gather`, which would cancel it again while it closes its socket."""
    known = tuple(tasks)
    running = [task for task in known if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in known:
        _noticed(task)
