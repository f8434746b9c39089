"""Limits that reach everything started inside, and runs that callers share."""

from __future__ import annotations

import asyncio
import math

import pytest

from websearch_core import deadline
from websearch_core.errors import OutOfTime, Unreachable
from websearch_core.inflight import InFlight, settled, stopped
from websearch_core.testing.fakes import Gate

pytestmark = pytest.mark.anyio


async def test_a_limit_reaches_tasks_and_never_grows_inside() -> None:
    assert deadline.left_s() == math.inf
    with deadline.within(10):
        with deadline.within(1_000):
            assert deadline.left_s() <= 10
        with deadline.within(1):
            inner = asyncio.create_task(left())
        assert await inner <= 1
        assert 1 < deadline.left_s() <= 10
    assert deadline.left_s() == math.inf
    with deadline.within(-5):
        assert deadline.left_s() == 0


async def left() -> float:
    return deadline.left_s()


async def test_who_leaves_last_cancels_the_run() -> None:
    runs, gate = InFlight(), Gate("done")
    async with runs.joined("key", gate.passed) as first:
        async with runs.joined("key", gate.passed) as second:
            assert first is second
            await gate.until_entered()
        assert not first.done()
    assert first.cancelled()
    assert gate.entered == 1


async def test_a_finished_run_is_not_joined_again() -> None:
    runs = InFlight()
    gate = Gate(7)
    gate.release()
    for entered in (1, 2):
        async with runs.joined("key", gate.passed) as run:
            assert await run == 7
        assert gate.entered == entered


async def test_work_in_the_background_ends_with_the_process() -> None:
    runs, gate = InFlight(), Gate(None)
    runs.keep(gate.passed())
    await gate.until_entered()
    async with runs.joined("key", gate.passed):
        await gate.until_entered(2)
        await runs.aclose()
    assert gate.cancelled == 2
    runs.keep(asyncio.sleep(0))
    await runs.aclose()


async def test_a_task_is_read_without_waiting() -> None:
    gate = Gate(1)
    held = asyncio.ensure_future(gate.passed())
    assert isinstance(settled(held, "p"), OutOfTime)
    await stopped([held])
    assert isinstance(settled(held, "p"), OutOfTime)
    failed, broken = asyncio.ensure_future(failing(Unreachable("x"))), asyncio.ensure_future(failing(ZeroDivisionError()))
    await asyncio.wait([failed, broken])
    assert isinstance(settled(failed, "p"), Unreachable)
    with pytest.raises(ZeroDivisionError):
        settled(broken, "p")


async def failing(error: Exception) -> int:
    raise error
