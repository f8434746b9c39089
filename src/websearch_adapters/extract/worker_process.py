"""The inside of a worker process: takes one document after another from its standard input, and writes what it read.

Started by `extract.worker` and by nobody else. It bounds itself, for its owner may be gone: a job that takes too long ends the
process by a timer that needs no interpreter, too much memory by the system's limit or by a watch over what it holds, and the
end of the input or of the owner ends it too.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from websearch_adapters.extract import frames
from websearch_adapters.extract.reading import Document
from websearch_adapters.extract.tasks import TASKS
from websearch_core.errors import WebSearchError

if TYPE_CHECKING:
    from websearch_adapters.extract.frames import Frame

__all__ = ["OUT_OF_MEMORY", "main"]

OUT_OF_MEMORY = 87
"""Exit status of a process that held too much."""
WATCH_EVERY_S = 0.1
MAPPED_BYTES = 512 * 1_024 * 1_024
"""Taken for the address space in use where the system does not tell."""
SHORT_OF_MEMORY = 0.6
"""A fault in a process that holds this share of what it may is taken for a failed allocation; libxml2 names many kinds."""


def main(arguments: list[str]) -> None:
    """Serve until the input ends. `arguments`: seconds and bytes that one job may take."""
    limit_s, memory_bytes = float(arguments[0]), int(arguments[1])
    requests, replies = _own_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the owner decides
    _warm()
    _bound(memory_bytes)
    frames.send(replies, {"ready": True})
    while (request := frames.receive(requests)) is not None:
        faulthandler.dump_traceback_later(limit_s, exit=True)
        reply = _reply(*request, memory_bytes)
        faulthandler.cancel_dump_traceback_later()
        frames.send(replies, *reply)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes, taken aside: what a library prints must not land between frames."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    return requests, replies


def _bound(memory_bytes: int) -> None:
    """Limits that the system keeps, and a watch for where it keeps none."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limits, macOS refuses some
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = _mapped_bytes() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    threading.Thread(target=_watch, args=(memory_bytes, os.getppid()), daemon=True).start()


def _watch(memory_bytes: int, owner: int) -> None:
    while os.getppid() == owner:
        if _peak_bytes() > memory_bytes:
            os._exit(OUT_OF_MEMORY)
        time.sleep(WATCH_EVERY_S)
    os._exit(0)


def _mapped_bytes() -> int:
    """Address space in use; the interpreter and its libraries take a few hundred MiB of it, and next to no memory."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return MAPPED_BYTES


def _peak_bytes() -> int:
    """The most memory that this process ever held; 0 where the system does not tell.

    On Linux not by `getrusage`: its figure survives `exec`, so that a new process has the peak of the one that started it.
    """
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as status:  # noqa: PTH123 - ten times a second
        return next((int(line.split()[1]) * 1_024 for line in status if line.startswith(b"VmHWM:")), 0)
    return 0


def _warm() -> None:
    """Load what nearly every page needs, while its bytes are still on their way."""
    from websearch_adapters.extract import html
    from websearch_adapters.extract.forest import likelihoods

    html.read_html("<p>warm</p>", "http://localhost/")
    likelihoods([], [])


def _reply(head: dict[str, Any], body: bytes, memory_bytes: int) -> Frame:
    try:
        task = TASKS[head["task"]]
        answer, text = task(Document(body=body, **head["document"]), **head["arguments"])
    except WebSearchError as error:
        return {"error": _plain(error), "peak_bytes": _peak_bytes()}, b""
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - a page that breaks the reader costs one call, and is told as such
        if _peak_bytes() > SHORT_OF_MEMORY * memory_bytes:
            os._exit(OUT_OF_MEMORY)
        return {"fault": _place(error), "peak_bytes": _peak_bytes()}, b""
    return {**answer, "peak_bytes": _peak_bytes()}, text


def _plain(error: WebSearchError) -> dict[str, Any]:
    return {
        "class": type(error).__name__,
        "message": error.message,
        "hint": error.hint,
        "provider": error.provider,
        "http_status": error.http_status,
    }


def _place(error: Exception) -> str:
    """The kind of a fault and where in our code it arose; never its message, which may hold text of the page."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
    return f"{type(error).__name__} at {where}"


if __name__ == "__main__":
    main(sys.argv[1:])
