"""What a long call tells reaches the one who listens around it, and nobody else."""

from __future__ import annotations

import asyncio

import pytest

from websearch_core import progress

pytestmark = pytest.mark.anyio


async def test_what_a_task_tells_is_heard_by_the_listener_around_it() -> None:
    heard: list[tuple[str, int, int | None]] = []

    async def work() -> None:
        progress.tell("page read", done=1, total=2)

    with progress.heard_by(lambda *told: heard.append(told)):
        await asyncio.create_task(work())
    progress.tell("nobody listens any more")
    assert heard == [("page read", 1, 2)]


async def test_two_calls_side_by_side_hear_their_own_steps_alone() -> None:
    heard: dict[str, list[str]] = {"a": [], "b": []}

    async def call(name: str) -> None:
        with progress.heard_by(lambda text, _done, _total: heard[name].append(text)):
            progress.tell(f"{name} 1")
            await asyncio.sleep(0)
            progress.tell(f"{name} 2")

    await asyncio.gather(call("a"), call("b"))
    assert heard == {"a": ["a 1", "a 2"], "b": ["b 1", "b 2"]}
