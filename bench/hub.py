"""What the hub promises, counted.

`python bench/hub.py` prints three figures:

`hub_lab_cases`: how many of the six cases of the laboratory hold, each by its tests: from the configuration to a call; three
ways of tools; two tools of one name; a hundred notices in a window; a late end of a replaced connection; recovery and its end,
over a process and over HTTP.

`hub_ready_with_broken`: of fifty upstreams that are started together, three of them broken in different ways, how many answer a
call within the time of one handshake.

`hub_double_runs`: calls of tools that change something and that ran more often than they were called, while their servers die
under them at random: 200 calls from ten callers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from upstreams.labs import lab, ledger_lines
from websearch_adapters.cache.memory import MemoryCache
from websearch_adapters.upstream.session import Session
from websearch_adapters.upstream.supervisor import Supervisor
from websearch_core.errors import WebSearchError
from websearch_core.hub.call import CallTool
from websearch_core.hub.lifecycle import Rules
from websearch_core.hub.values import CallRequest, UpstreamSpec

ROOT = Path(__file__).resolve().parent.parent
CASES: tuple[tuple[str, ...], ...] = (
    ("e2e/test_hub_over_stdio.py::test_from_the_configuration_to_a_call_and_back_after_a_kill",),
    ("integration/test_hub.py::test_disabled_app_only_and_visible_tools_go_three_ways",),
    ("integration/test_hub.py::test_two_tools_of_one_name_are_both_there_and_each_call_reaches_its_own",),
    (
        "integration/test_hub.py::test_a_hundred_notices_in_one_window_are_one_list_and_one_change",
        "integration/test_hub.py::test_notices_of_two_upstreams_and_of_a_replaced_connection_are_kept_apart",
    ),
    ("integration/test_hub.py::test_a_late_end_of_a_replaced_connection_does_not_hurt_the_new_one",),
    (
        "integration/test_hub.py::test_a_killed_child_comes_back_with_the_tools_of_then",
        "integration/test_hub.py::test_a_child_that_dies_at_each_start_is_given_up_and_its_tools_are_withdrawn",
        "integration/test_hub.py::test_an_address_comes_back_in_place_and_its_tools_stay_published_meanwhile",
        "integration/test_hub.py::test_an_address_that_wants_a_login_is_not_knocked_at_again_until_there_is_one",
    ),
)
GOOD = 47
HANDSHAKE_S = 30.0
CALLERS, CALLS = 10, 20


def hub_lab_cases() -> float:
    """Cases whose tests all pass."""
    return sum(_pass(case) for case in CASES)


def hub_ready_with_broken() -> float:
    """Upstreams of fifty that answered in time."""
    return asyncio.run(_answering())  # noqa: TID251 - a bench is an entry point


def hub_double_runs() -> float:
    """Runs beyond the calls."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_runs_too_many(Path(folder) / "ledger"))  # noqa: TID251 - a bench is an entry point


def _pass(tests: tuple[str, ...]) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", *(f"tests/{test}" for test in tests)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _session(spec: UpstreamSpec) -> Session:
    return Session(spec, environment=dict(os.environ))


async def _answering() -> int:
    broken = [lab(name, behaviour=name) for name in ("silent", "crash", "garbage")]
    hub = Supervisor([*broken, *(lab(f"good{number}") for number in range(GOOD))], _session)
    hub.start()
    try:
        return sum(await asyncio.gather(*(_answers(hub, status.name) for status in hub.statuses())))
    finally:
        await hub.aclose()


async def _answers(hub: Supervisor, name: str) -> bool:
    with contextlib.suppress(WebSearchError, TimeoutError):
        async with asyncio.timeout(HANDSHAKE_S):
            reply = await (await hub.link(name)).call("echo", {"text": name})
            return reply.parts[0].text == name
    return False


async def _runs_too_many(ledger: Path) -> int:
    """`count_N` and `die` write a line for each run; every name is called once. `die` takes the server along."""
    names = [f"count_{number}" for number in range(CALLERS * CALLS)]
    rules = Rules(waits_s=(0.01,) * 1_000)
    hub = Supervisor([lab(ledger=ledger, tools=names)], _session, rules=lambda _: rules)
    hub.start()
    call = CallTool(upstreams=hub, cache=MemoryCache())
    chance = random.Random(20261130)
    deaths = Counter[str]()

    async def caller(mine: list[str]) -> None:
        for name in mine:
            await call(CallRequest(tool=f"lab__{name}"), within_s=10)
            if chance.random() < 0.2:
                deaths["die"] += 1
                await call(CallRequest(tool="lab__die"), within_s=10)

    await hub.until_settled()
    await asyncio.gather(*(caller(names[start::CALLERS]) for start in range(CALLERS)))
    await hub.aclose()
    ran = Counter(line.removeprefix("call ") for line in ledger_lines(ledger) if line.startswith("call "))
    assert deaths["die"] > 0, "nothing died"
    assert len(ran) > CALLERS, "nothing ran"
    called = Counter(dict.fromkeys(names, 1)) + deaths
    return (ran - called).total()


if __name__ == "__main__":
    print(f"hub_lab_cases {hub_lab_cases():g}")
    print(f"hub_ready_with_broken {hub_ready_with_broken():g}")
    print(f"hub_double_runs {hub_double_runs():g}")
