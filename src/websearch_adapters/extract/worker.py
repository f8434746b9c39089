"""Takes what strangers wrote apart in processes of their own, which can be killed: pages, files, result pages, sitemaps.

A parser written in C cannot be interrupted: cancelling the thread that it runs in leaves it running. Here a page that takes too
long or too much costs its process, and one call. Processes start on first use, are used again, and are replaced after a kill;
they hold none of our environment's secrets, and end by themselves when we are gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, cast

from websearch_adapters.extract import frames
from websearch_adapters.extract.reading import NAME, Document, Reading, failure
from websearch_core import errors
from websearch_core.errors import BadReply, NotConfigured, ProviderError, TooCostly, WebSearchError
from websearch_core.values import Link, Note

if TYPE_CHECKING:
    from collections.abc import Callable

    from websearch_adapters.extract.html import PageLinks

__all__ = ["Limits", "Worker"]

OUT_OF_MEMORY = 87
"""As in `extract.worker_process`, which only its own process imports."""
MIB = 1_024 * 1_024
START_LIMIT_S = 30.0
GRACE_S = 2.0
"""After its limit a process ends itself; only one that is stopped or stuck needs its owner for that."""
RETIRE_SHARE = 0.5
"""A process that once held this share of its memory is not used again, so that the system gets it back."""
KEPT_VARIABLES = frozenset({
    "PATH", "SYSTEMROOT", "WINDIR", "TEMP", "TMP", "TMPDIR", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "PYTHONHOME", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX",
})  # fmt: skip
FROM_OUTSIDE = frozenset({-1, -2, -9, -15})
"""Exit statuses of a process that somebody else ended: a terminal, an operator, or a system that ran short of memory."""
ELSEWHERE = "Use another page or provider; reading this one was stopped."
SPLIT = "Split the file, or allow it more with {}; reading it was stopped."


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one document may take."""

    time_s: float = 20.0
    memory_bytes: int = 1_024 * MIB
    """Beside what a process needs anyway. Linux keeps it, elsewhere the process itself does, and Windows has no such limit."""


class Worker:
    """Owns the processes. Constructing it starts nothing; the object can be used again after `aclose`."""

    def __init__(self, limits: Limits = Limits(), *, processes: int = 2, python: str = "") -> None:
        """`python`: the interpreter to run, for programs that are none themselves; unset, the one that runs us."""
        self.limits = limits
        self._python = python or sys.executable
        self._most = processes
        self._idle: deque[_Process] = deque()
        self._starting = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._calls: set[_Call] = set()

    def warm(self) -> None:
        """Begin to start a process, if there is none yet."""
        if self._threads is None:
            self._pool().submit(self._warmed)

    async def read(self, document: Document) -> Reading:
        """The text of the document. Cancelling kills the process that reads it.

        Raises:
            TooCostly: it took more time or memory than a document may take.
            BadReply: it broke the reader.
            NotConfigured: no process can be started here, or a part is missing that reads this kind of document.
            WebSearchError: as `reading.read` has it.
        """
        return _reading(*await self.ask("read", document))

    async def file(self, document: Document) -> Reading:
        """As `read`, but an HTML page without content has a blank text.

        Raises:
            WebSearchError: as in `read`.
        """
        return _reading(*await self.ask("file", document))

    async def links(self, document: Document) -> PageLinks:
        """The title and links of an HTML page; nothing where it is of another kind.

        Raises:
            WebSearchError: as in `read`.
        """
        from websearch_adapters.extract.html import PageLinks

        head, _ = await self.ask("links", document)
        found = tuple(Link(url=url, title=title) for url, title in head["links"])
        return PageLinks(title=head["title"], links=found, blocked=head["blocked"])

    async def ask(self, task: str, document: Document, /, *, reader: str = NAME, **arguments: str) -> frames.Frame:
        """The answer to one of `extract.tasks`, for whoever knows its form. Cancelling kills the process that works on it.

        Raises:
            WebSearchError: as in `read`, or what the task raises, in the name of `reader`.
        """
        call = _Call(self.limits)
        self._calls.add(call)
        head = {"task": task, "document": _head(document), "arguments": arguments}
        running = self._pool().submit(self._served, call, head, document)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            call.kill()
            raise
        except ProviderError as error:
            error.provider = reader
            raise
        finally:
            self._calls.discard(call)

    async def aclose(self) -> None:
        """End every process; calls that still run fail."""
        threads, self._threads = self._threads, None
        for call in tuple(self._calls):
            call.kill()
        if threads is not None:
            await asyncio.to_thread(threads.shutdown)
        while self._idle:
            self._idle.pop().end()

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="reader")
        return self._threads

    # in a thread

    def _warmed(self) -> None:
        with contextlib.suppress(WebSearchError):  # whoever needs the process is told
            self._idle.append(self._free())

    def _served(self, call: _Call, head: dict[str, Any], document: Document) -> frames.Frame:
        if call.unwanted:
            raise _stopped(document)
        process = self._free()
        if not call.begin(process):
            self._idle.append(process)
            raise _stopped(document)
        try:
            reply = process.ask(head, document.body)
        finally:
            call.end()
        if reply is None:
            raise call.why_over(document, process.end())
        told, _ = reply
        if told["peak_bytes"] < RETIRE_SHARE * self.limits.memory_bytes and self._threads is not None:
            self._idle.append(process)
        else:
            process.end()
        _raise_told(told, document)
        return reply

    def _free(self) -> _Process:
        with self._starting:  # so that a process on its way is waited for, and not doubled
            while self._idle:
                process = self._idle.pop()
                if process.alive:
                    return process
                process.end()
            return _Process(self._python, self.limits)


class _Process:
    """One process with its pipes."""

    def __init__(self, python: str, limits: Limits) -> None:
        """Started, and ready for its first document.

        Raises:
            NotConfigured: it cannot be started, or does not get ready.
        """
        module = "websearch_adapters.extract.worker_process"
        try:
            self._popen = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [python, "-P", "-s", "-m", module, str(limits.time_s), str(limits.memory_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except (OSError, ValueError) as error:
            raise _no_process() from error
        self._requests = cast("IO[bytes]", self._popen.stdin)
        self._replies = cast("IO[bytes]", self._popen.stdout)
        timer = _timer(START_LIMIT_S, self.kill)
        ready = frames.receive(self._replies)
        timer.cancel()
        if ready is None:
            self.end()
            raise _no_process()

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    def ask(self, head: dict[str, Any], body: bytes) -> frames.Frame | None:
        """The reply; None when the process ended instead."""
        try:
            frames.send(self._requests, head, body)
            return frames.receive(self._replies)
        except (OSError, ValueError):  # a closed pipe, or half a frame of a dying process
            return None

    def kill(self) -> None:
        """End it at once; may be called from any thread."""
        with contextlib.suppress(OSError):
            self._popen.kill()

    def end(self) -> int:
        """End it, close its pipes and give its exit status; that is its own where it had ended already."""
        self.kill()
        status = self._popen.wait()
        with contextlib.suppress(OSError):  # what was not written yet has no reader
            self._requests.close()
        self._replies.close()
        return status


class _Call:
    """One document in a process, which either side may end."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._timer: threading.Timer | None = None
        self._began = 0.0
        self.unwanted = False

    def begin(self, process: _Process) -> bool:
        """Whether the call is still wanted; from now on to kill it is to kill the process."""
        with self._lock:
            if self.unwanted:
                return False
            self._process, self._began = process, time.monotonic()
            self._timer = _timer(self._limits.time_s + GRACE_S, process.kill)
            return True

    def end(self) -> None:
        """From now on the process is somebody else's."""
        with self._lock:
            self._process = None
            if self._timer is not None:
                self._timer.cancel()

    def kill(self) -> None:
        """The call is no longer wanted."""
        with self._lock:
            self.unwanted = True
            if self._process is not None:
                self._process.kill()

    def why_over(self, document: Document, status: int) -> WebSearchError:
        """Why the process ended instead of replying."""
        if self.unwanted:
            return _stopped(document)
        if time.monotonic() - self._began >= self._limits.time_s:
            what = f"takes more than {self._limits.time_s:g} s to read"
            return failure(TooCostly, document, what, ELSEWHERE, of_file=SPLIT.format("fetch.reading_limit_s"))
        if status in {OUT_OF_MEMORY, -9}:
            size = self._limits.memory_bytes // MIB
            what = f"takes more than {size:,} MiB of memory to read"
            error = failure(TooCostly, document, what, ELSEWHERE, of_file=SPLIT.format("fetch.reading_memory_bytes"))
        else:
            error = _broken(document, f"exit status {status}")
        error.repeatable = status in FROM_OUTSIDE
        return error


def _environment() -> dict[str, str]:
    """What an interpreter needs to run, and where ours finds its modules; no key of any service."""
    kept = {name: value for name, value in os.environ.items() if name.upper() in KEPT_VARIABLES}
    return {**kept, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}


def _reading(head: dict[str, Any], text: bytes) -> Reading:
    fields = head["reading"]
    notes = tuple(Note(**note) for note in fields.pop("notes"))
    return Reading(**fields, notes=notes, text=text.decode("utf-8", "surrogatepass"))


def _head(document: Document) -> dict[str, Any]:
    return {
        "url": document.url,
        "content_type": document.content_type,
        "status": document.status,
        "selector": document.selector,
    }


def _raise_told(head: dict[str, Any], document: Document) -> None:
    """Raise what the process told instead of an answer."""
    if "fault" in head:
        raise _broken(document, head["fault"])
    if told := head.get("error"):
        kind = getattr(errors, told["class"] if told["class"] in errors.__all__ else "BadReply")
        raise kind(told["message"], provider=told["provider"], hint=told["hint"], http_status=told["http_status"])


def _stopped(document: Document) -> WebSearchError:
    what = "was not read to the end, because the reader was closed"
    error = failure(BadReply, document, what, "Call again.", of_file="Add it again.")
    error.repeatable = True
    return error


def _broken(document: Document, fault: str) -> ProviderError:
    what, hint = "sends something that breaks the reader", "Use another page or provider."
    error = failure(BadReply, document, what, hint, of_file="Save it anew, or as text or PDF, and add that.")
    error.diagnostics = MappingProxyType({"fault": fault})
    return error


def _no_process() -> NotConfigured:
    return NotConfigured(
        "pages cannot be read here: no process can be started for it",
        provider=NAME,
        hint="Allow this program to start its own Python interpreter, or configure another reader.",
    )


def _timer(seconds: float, action: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer
