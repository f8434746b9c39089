"""Hostile pages, one after the other, through the processes that read pages: each costs its own call and nothing else."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from e2e.test_reader_worker import heavy
from upstreams.hostile import CASES, Case
from websearch_adapters.extract.worker import Limits, Worker

pytestmark = pytest.mark.anyio
BENCH = Path(__file__).resolve().parents[2] / "bench" / "reading.py"


@pytest.fixture(scope="module")
def bench() -> dict[str, Any]:
    return runpy.run_path(str(BENCH))


@pytest.fixture
async def reader() -> AsyncIterator[Worker]:
    made = Worker(Limits(time_s=20.0), processes=1)
    yield made
    await made.aclose()


def test_the_pages_are_many_and_of_every_kind() -> None:
    assert len(CASES) == 54
    assert {case.content_type.partition(";")[0] for case in CASES.values()} >= {
        "text/html",
        "application/pdf",
        "application/json",
    }


async def test_every_hostile_page_ends_in_a_text_or_a_typed_outcome_and_the_next_one_is_read(bench: dict[str, Any]) -> None:
    """The figure itself: bounded in time, prose kept, memory given back, the next page read after each."""
    assert await bench["faults"]() == []


async def test_a_page_that_loses_its_prose_would_be_noticed(bench: dict[str, Any], reader: Worker) -> None:
    assert (await bench["_outcome"](reader, Case(lambda: "<main><p>Something else entirely.</p></main>")))[
        1
    ] == "the prose is lost"


async def test_a_page_that_ends_without_a_text_would_be_noticed(bench: dict[str, Any], reader: Worker) -> None:
    came, fault = await bench["_outcome"](reader, Case(lambda: b"\x89PNG\r\n\x1a\n\x00", content_type="image/png"))
    assert came.startswith("Declined")
    assert "no text" in fault


async def test_other_calls_go_on_while_one_reads_a_hostile_page(bench: dict[str, Any]) -> None:
    """Two processes: the second page does not wait for the first."""
    both = Worker(Limits(time_s=20.0), processes=2)
    await asyncio.gather(*(bench["_honest"](both) for _ in range(2)))  # both are there
    reading = asyncio.create_task(both.read(heavy()))
    assert await bench["_honest"](both)
    assert not reading.done()
    reading.cancel()
    await asyncio.wait({reading})
    await both.aclose()


def test_sixty_pages_in_every_charset_are_read_exactly(bench: dict[str, Any]) -> None:
    assert len(bench["pages"]()) == 60
    assert bench["not_exact"]() == []
