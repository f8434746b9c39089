"""What strangers wrote is parsed in the process that can be killed, wherever it comes from; a hostile piece costs one call."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e.strangers import HONEST, PLACES, Place, sending
from e2e.test_reader_worker import children
from e2e.wire import Wire, environment
from websearch_adapters.extract.worker import Limits, Worker
from websearch_core.errors import TooCostly

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.requirement("OURS-46")
def test_our_own_process_loads_no_parser_wherever_the_text_comes_from() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
    program = str(ROOT / "tests" / "e2e" / "strangers.py")
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, env=environment)
    assert ran.stderr == ""
    assert json.loads(ran.stdout) == {"places": len(PLACES), "parsers": []}


def test_a_server_that_has_read_nothing_has_no_process_for_it(tmp_path: Path) -> None:
    with Wire(environment(tmp_path)) as server:
        server.initialize()
        assert server.tools()
        assert children(server.process.pid) == set()


@pytest.fixture
async def hasty() -> AsyncIterator[Worker]:
    """A worker whose documents get less time than the least of the hostile ones takes on a fast machine."""
    made = Worker(Limits(time_s=0.15), processes=1)
    yield made
    await made.aclose()


@pytest.mark.requirement("OURS-46")
@pytest.mark.parametrize("name", sorted(PLACES.keys() - {"sitemap"}))
async def test_a_hostile_piece_is_a_failure_of_its_place_and_the_next_is_read(name: str, hasty: Worker) -> None:
    place = PLACES[name]
    async with sending(place, place.heavy) as pages:
        with pytest.raises(TooCostly, match=r"takes more than 0\.15 s to read$") as caught:
            await place.ask(pages, hasty)
    assert caught.value.provider == place.name
    assert await reads_an_honest_piece(place, hasty)


async def test_a_hostile_sitemap_lists_nothing_and_the_next_is_read(hasty: Worker) -> None:
    place = PLACES["sitemap"]
    async with sending(place, place.heavy) as pages:
        assert not await place.ask(pages, hasty)
    assert await reads_an_honest_piece(place, hasty)


async def reads_an_honest_piece(place: Place, worker: Worker) -> bool:
    """A machine that stops for a while costs a piece that gets so little time; it is sent again."""
    for _ in range(60):
        async with sending(place, HONEST) as pages:
            with contextlib.suppress(TooCostly):
                if await place.ask(pages, worker):
                    return True
    return False
