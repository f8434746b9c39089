"""Many processes of one user that search at the same moment, with some good keys and some bad ones."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType

from e2e.wire import environment
from upstreams.script import delay, ok, status
from upstreams.serve import serving
from upstreams.tavily import TavilyUpstream

__all__ = ["GOOD", "REFUSED", "SPENT", "requests_by_key"]

DRIVER = Path(__file__).with_name("key_pool_driver.py")
SPENT, REFUSED = "tvly-spent-0123456789", "tvly-refused-0123456789"
GOOD = tuple(f"tvly-good-{number}-0123456789" for number in range(4))
WAIT_S = 120.0


def requests_by_key(
    home: Path,
    *waves: tuple[int, int],
    meanwhile: Callable[[TavilyUpstream], None] | None = None,
    complaint: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
) -> Counter[str | None]:
    """How often each key was sent, after waves of so many processes with so many calls each; `more` is for their environment.

    A bad key is refused slowly, so that all processes are there before the first verdict. `meanwhile` runs beside them; with
    `complaint`, a process may write lines that begin so to standard error.
    """
    bad = {SPENT: delay(0.05, status(432)), REFUSED: delay(0.05, status(401))}
    upstream = TavilyUpstream(keys={**bad, **dict.fromkeys(GOOD, ok())})
    with serving(upstream) as url:
        written = " ".join([GOOD[0], SPENT, GOOD[1], REFUSED, *GOOD[2:]])
        for processes, calls in waves:
            env = environment(home, TAVILY_API_URL=url, TAVILY_API_KEYS=written, **more)
            with _beside(partial(meanwhile, upstream) if meanwhile else None):
                _run(env, processes, calls, complaint)
    return Counter(request.key for request in upstream.requests)


@contextmanager
def _beside(work: Callable[[], None] | None) -> Iterator[None]:
    """Do the work at the same time, and be done with it at the end."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        working = thread.submit(work) if work else None
        yield
        if working:
            working.result()


def _run(env: dict[str, str], processes: int, calls: int, complaint: str) -> None:
    """Start them, let them go when all are ready, and wait until each has made its calls."""
    started = [_started(env, calls) for _ in range(processes)]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in started:
            told, complaints = process.communicate(timeout=WAIT_S)
            assert (process.returncode, told) == (0, f"{calls} calls found something\n"), complaints
            assert all(complaint and line.startswith(complaint) for line in complaints.splitlines()), complaints
    finally:
        for process in started:
            process.kill()
            process.communicate()  # closes its pipes, also after a failure


def _started(env: dict[str, str], calls: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(DRIVER), str(calls)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
