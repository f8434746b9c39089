"""An event loop whose time passes only when there is nothing else to do, and then at once.

For tests of pure code: what is at its deadline is decided by what the others do, never by how busy the machine is. Work in
threads is waited for while time stands still; sockets and processes are not, so tests with those need a real loop.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar, TypeVarTuple

__all__ = ["STILL", "StillLoop"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class StillLoop(asyncio.SelectorEventLoop):
    """Goes on to the next timer as soon as everybody waits."""

    def __init__(self) -> None:
        self._now = 1_000.0
        self._in_threads = 0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass although somebody could go on."""
        self._now += seconds

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """As of every loop; counted until it is done."""
        self._in_threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._back)
        return future

    def _back(self, _: object) -> None:
        self._in_threads -= 1

    def wait(self, seconds: float | None) -> float | None:
        """Let the time pass, unless a thread works; how long the selector has to wait for real."""
        if self._in_threads or seconds is None:
            return None
        self.advance(max(seconds, 0.0))
        return 0.0


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: StillLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        return super().select(0) or super().select(self._loop.wait(timeout))


STILL = ("asyncio", {"loop_factory": StillLoop})
"""For an `anyio_backend` fixture."""
