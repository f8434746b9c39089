"""The processes that read pages: bounded, killable, used again, and never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from websearch_adapters.extract.reading import Document, Reading
from websearch_adapters.extract.worker import Limits, Worker
from websearch_core.errors import BadReply, Declined, NotConfigured, TooCostly

pytestmark = pytest.mark.anyio

PATIENCE_S = 60.0
"""Only bounds a failure: longer than anything here takes."""
MIB = 1_024 * 1_024


def document(html: str = "<main><h1>The bridge</h1><p>It reopened.</p></main>") -> Document:
    return Document(body=html.encode(), url="https://site.example/page", content_type="text/html; charset=utf-8")


def heavy(size: int = 8_000_000) -> Document:
    """A page that takes seconds to read."""
    part = "<div class='post'><p>A sentence with <b>some</b> <a href='/x'>marks</a>, and so on and on.</p></div>\n"
    return document(f"<main>{part * (size // len(part))}</main>")


def long() -> Document:
    """A page of one paragraph: it takes some 350 MiB, and little time."""
    return document("<main><p>" + "雪\U0001f6f3 " * 2_000_000 + "</p></main>")


def children(of: int) -> set[int]:
    """The processes that this process has started and that have not been collected."""
    listing = subprocess.run(["ps", "-Ao", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listing.splitlines()]
    return {int(pid) for pid, parent, name in rows if int(parent) == of and "python" in name}


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not state.strip() or state.startswith("Z")


def until_gone(pid: int) -> bool:
    end = time.monotonic() + PATIENCE_S
    while not is_gone(pid):
        if time.monotonic() > end:
            return False
    return True


@pytest.fixture
async def own() -> AsyncIterator[Worker]:
    """A worker with one process, closed when the test ends."""
    made = Worker(processes=1)
    yield made
    await made.aclose()


async def read_at_last(worker: Worker) -> Reading:
    """An honest page. Where each gets little time, a machine that stops for a while costs one that is asked for again."""
    for _ in range(20):
        with contextlib.suppress(TooCostly):
            return await worker.read(document())
    return await worker.read(document())


async def pid_of(worker: Worker) -> int:
    """The one process of this worker, once it has read a page."""
    before = children(os.getpid())
    await read_at_last(worker)
    (pid,) = children(os.getpid()) - before
    return pid


async def test_a_page_is_read_and_the_process_used_again(own: Worker) -> None:
    before = children(os.getpid())
    first = await own.read(document())
    started = children(os.getpid()) - before
    second = await own.read(document("<main><h1>Ferry</h1><p>Every hour. 渡船 \U0001f6f3</p></main>"))
    assert (first.kind, first.text) == ("html", "# The bridge\n\nIt reopened.")
    assert second.text == "# Ferry\n\nEvery hour. 渡船 \U0001f6f3"
    assert children(os.getpid()) - before == started
    assert len(started) == 1


async def test_nothing_is_started_before_it_is_needed() -> None:
    before = children(os.getpid())
    made = Worker()
    assert children(os.getpid()) == before
    await made.aclose()


async def test_outcomes_of_a_page_cross_the_pipe_as_what_they_are(own: Worker) -> None:
    with pytest.raises(Declined, match=r"^site\.example sends a file of 9 bytes") as caught:
        await own.read(Document(body=b"\x89PNG\r\n\x1a\n\x00", url="https://site.example/", content_type="image/png", status=203))
    assert (caught.value.provider, caught.value.http_status) == ("local", 203)
    assert caught.value.hint == "Only text can be read; use a page that describes this file."


async def test_links_are_read_for_crawlers(own: Worker) -> None:
    found = await own.links(document("<title>T</title><a href='/a'>A</a><a href='b#c'>B</a>"))
    assert (found.title, [(link.url, link.title) for link in found.links]) == (
        "T",
        [("https://site.example/a", "A"), ("https://site.example/b", "B")],
    )


async def test_a_page_that_takes_too_long_costs_its_process_and_one_call() -> None:
    quick = Worker(Limits(time_s=0.5), processes=1)
    pid = await pid_of(quick)
    with pytest.raises(TooCostly, match=r"^site\.example takes more than 0\.5 s to read$"):
        await quick.read(heavy())
    assert until_gone(pid)
    assert (await read_at_last(quick)).title == "The bridge"
    await quick.aclose()


async def test_a_page_that_takes_too_much_memory_costs_its_process_and_one_call() -> None:
    small = Worker(Limits(memory_bytes=320 * MIB), processes=1)
    pid = await pid_of(small)
    with pytest.raises(TooCostly, match=r"^site\.example takes more than 320 MiB of memory to read$"):
        await small.read(long())
    assert until_gone(pid)
    assert (await small.read(document())).title == "The bridge"
    await small.aclose()


async def test_memory_that_a_page_took_is_given_back() -> None:
    """The process stays alive, but is not used again."""
    roomy = Worker(Limits(memory_bytes=600 * MIB), processes=1)
    pid = await pid_of(roomy)
    assert (await roomy.read(long())).text
    assert until_gone(pid)
    await roomy.aclose()


async def test_cancelling_kills_what_reads_the_page(own: Worker) -> None:
    pid = await pid_of(own)
    reading = asyncio.create_task(own.read(heavy(16_000_000)))
    while not any(call._process for call in own._calls):
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (await own.read(document())).title == "The bridge"
    assert until_gone(pid)


async def test_a_process_that_was_stopped_is_ended_by_its_owner() -> None:
    quick = Worker(Limits(time_s=0.1), processes=1)
    pid = await pid_of(quick)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(TooCostly):
        await quick.read(document())
    assert until_gone(pid)
    await quick.aclose()


async def test_a_process_that_died_between_two_pages_is_replaced_in_silence(own: Worker) -> None:
    pid = await pid_of(own)
    os.kill(pid, signal.SIGKILL)
    assert until_gone(pid)
    assert (await own.read(document())).title == "The bridge"


async def test_a_process_that_dies_over_a_page_is_a_typed_outcome(own: Worker) -> None:
    pid = await pid_of(own)
    os.kill(pid, signal.SIGSTOP)
    reading = asyncio.create_task(own.read(document()))
    while not any(call._process for call in own._calls):
        await asyncio.sleep(0)
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)
    with pytest.raises(BadReply, match="breaks the reader") as caught:
        await reading
    assert "site.example" in caught.value.message
    assert (await own.read(document())).title == "The bridge"


async def test_closing_ends_every_process_and_the_worker_can_be_used_again() -> None:
    made = Worker()
    before = children(os.getpid())
    await asyncio.gather(made.read(document()), made.read(document()), made.read(document()))
    started = children(os.getpid()) - before
    assert 1 <= len(started) <= 2
    await made.aclose()
    assert children(os.getpid()) == before
    assert (await made.read(document())).title == "The bridge"
    await made.aclose()
    assert children(os.getpid()) == before


async def test_closing_ends_the_calls_that_run_and_those_that_wait() -> None:
    made = Worker(processes=1)
    before = children(os.getpid())
    calls = [asyncio.ensure_future(made.read(heavy(16_000_000))) for _ in range(4)]
    while len(made._calls) < 4 or children(os.getpid()) == before:
        await asyncio.sleep(0)
    await made.aclose()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [BadReply] * 4
    assert all("the reader was closed" in str(outcome) for outcome in outcomes)
    assert children(os.getpid()) == before


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/false"])
async def test_where_no_process_can_be_started_the_operator_is_told(python: str) -> None:
    made = Worker(python=python)
    with pytest.raises(NotConfigured, match="no process can be started"):
        await made.read(document())
    await made.aclose()


async def test_the_process_knows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XAI_API_KEY", "xai-canary-0123456789")
    monkeypatch.setenv("WEBSEARCH_TAVILY_API_KEY", "tvly-canary-0123456789")
    made = Worker(processes=1)
    pid = await pid_of(made)
    shown = subprocess.run(["ps", "eww", "-p", str(pid)], capture_output=True, text=True, check=True).stdout
    assert "PYTHONPATH=" in shown
    assert "canary" not in shown
    await made.aclose()


OWNER = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from e2e.test_reader_worker import Limits, Worker, children, document, heavy
import os

async def main():
    worker = Worker(Limits(time_s=300), processes=1)
    await worker.read(document())
    (pid,) = children(os.getpid())
    busy = asyncio.create_task(worker.read(heavy(16_000_000))) if {busy} else None
    while {busy} and not worker._calls:
        await asyncio.sleep(0)
    print(pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_killed_owner_leaves_no_process_behind(busy: bool) -> None:
    script = OWNER.format(tests=str(Path(__file__).resolve().parents[1]), busy=busy)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        owner.kill()
        owner.wait()
    assert until_gone(pid)
