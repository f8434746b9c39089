"""A child process that speaks MCP on its standard streams.

Everything about the process is here: its environment and folder, what it writes to standard error, lines that are no messages,
how it ends and that its whole process group ends with it. The SDK's own stdio transport keeps the process to itself, so nobody
could end it in the time that our own shutdown has, nor its grandchildren after it left in peace.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import re
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from websearch_adapters import bounded_json
from websearch_core.errors import NotConfigured, Unreachable
from websearch_core.fence import clean

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

__all__ = ["UNREAD", "Child", "Command", "Log", "speaking"]

LINES_KEPT = 500
LINE_CHARS = 2_000
CHUNK_BYTES = 65_536
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
SAMPLE_CHARS = 200
INTERNAL_ERROR = -32603
"""Of JSON-RPC 2.0."""
UNREAD = "the reply was left unread, because it holds"
"""How our own error begins that stands in the place of such a reply."""
_VERSION = r'"jsonrpc"\s*:\s*"2\.0"'
_ID = r'"id"\s*:\s*([0-9]{1,18}|"[^"\\]{1,100}")'
_FIRST_ID = re.compile(rf"\{{\s*(?:{_VERSION}\s*,\s*)?{_ID}\s*,")
_LAST_ID = re.compile(rf",\s*{_ID}\s*(?:,\s*{_VERSION}\s*)?\}}\Z")
LOOK_EVERY_S = 0.01
"""How often is looked whether a process that has to leave is gone."""
EXIT_CHECK_S = 0.5
"""How often an exit is looked for that the pipes do not tell of, because a grandchild holds them open."""
KILL_AFTER_S = 0.5
"""From the polite signal to the one that nobody can ignore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run."""

    program: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """All of it: nothing else is inherited."""
    folder: str | None = None
    grace_s: float = 2.0
    """How long it may take to leave after its input has ended."""


class Log:
    """The last lines that an upstream wrote to standard error, and what we saw of it: 500 lines of 2,000 characters."""

    def __init__(self, file: Path | None = None, *, redact: Callable[[str], str] = str) -> None:
        """`file` gets the same lines, for readers in other processes; it starts over with each process.

        `redact` takes secrets out before anything is kept.
        """
        self._redact = redact
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._file = file
        self._written = 0

    def add(self, text: str) -> None:
        """Keep the lines of `text`, made printable."""
        lines = [self._redact(clean(line, limit=LINE_CHARS)) for line in text.splitlines() if line.strip()]
        self._lines.extend(lines)
        self._write(lines)

    def lines(self) -> tuple[str, ...]:
        """What is kept, the oldest first."""
        return tuple(self._lines)

    def _write(self, lines: list[str]) -> None:
        """Append to the file, which starts over once it holds twice what is kept; a log that cannot be written is only lost."""
        if self._file is None or not lines:
            return
        starts_over = self._written == 0 or self._written > 2 * LINES_KEPT
        shown = list(self._lines) if starts_over else lines
        self._written = len(shown) if starts_over else self._written + len(lines)
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if starts_over else os.O_APPEND)
            with os.fdopen(os.open(self._file, flags, 0o600), "w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in shown)


class Child:
    """A running child process and the streams between it and a protocol session."""

    def __init__(self, process: asyncio.subprocess.Process, command: Command, log: Log) -> None:
        import anyio

        self._process = process
        self._grace_s = command.grace_s
        self._log = log
        self.garbage = 0
        """Lines on standard output that were no messages."""
        arriving: tuple[MemoryObjectSendStream[SessionMessage | Exception], MemoryObjectReceiveStream[SessionMessage | Exception]]
        leaving: tuple[MemoryObjectSendStream[SessionMessage], MemoryObjectReceiveStream[SessionMessage]]
        arriving = anyio.create_memory_object_stream(0)
        leaving = anyio.create_memory_object_stream(0)
        self._arriving, self.reading = arriving
        self.writing, self._leaving = leaving
        pumps = (self._read(), self._write(), self._listen(), self._watch())
        self._tasks = [asyncio.create_task(pump) for pump in pumps]

    @property
    def pid(self) -> int:
        """Also the number of its process group."""
        return self._process.pid

    def ending(self) -> str:
        """How it ended, in words; empty while it runs."""
        code = self._process.returncode
        if code is None:
            return ""
        return f"the process was killed by signal {-code}" if code < 0 else f"the process ended with status {code}"

    async def ended_within(self, seconds: float) -> str:
        """How it ended, if that is known by then."""
        await self._gone_within(seconds)
        return self.ending()

    def hurry(self, grace_s: float) -> None:
        """It has so much time to leave, in place of what was said at the start."""
        self._grace_s = grace_s

    async def end(self) -> None:
        """Close its input, wait, terminate the group, kill what is left of it; then everything of it is gone."""
        try:
            self._close_input()
            if not await self._gone_within(self._grace_s):
                self.send(signal.SIGTERM)
                await self._gone_within(KILL_AFTER_S)
        finally:
            self.kill()
            await self._settled()

    def kill(self) -> None:
        """End the whole group at once, grandchildren of a process that left in peace included."""
        self.send(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

    def send(self, sign: signal.Signals) -> None:
        """Send a signal to the group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.send_signal(sign)
            else:
                os.killpg(self.pid, sign)

    async def _settled(self) -> None:
        """Let go of pipes and tasks."""
        await self._gone_within(KILL_AFTER_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        for stream in (self._arriving, self.reading, self.writing, self._leaving):
            await stream.aclose()
        # A survivor outside the group can hold the pipes; the transport would warn about them when it is collected.
        self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - nothing public closes it
        self._log.add(self.ending())

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.close()

    async def _gone_within(self, seconds: float) -> bool:
        """Whether it is gone by then; not by waiting for it, because that also waits for the pipes of its grandchildren.

        Counted in looks: while the machine sleeps, the process has no time to leave, and nobody would hear that it has.
        """
        for _ in range(math.ceil(seconds / LOOK_EVERY_S)):
            if self._process.returncode is not None:
                return True
            await asyncio.sleep(LOOK_EVERY_S)
        return self._process.returncode is not None

    # pumps

    async def _read(self) -> None:
        """Lines of standard output → messages; a line that is none is counted and noted, and harms nothing."""
        import anyio

        try:
            async for line in _lines(self._process.stdout):
                if (message := self._message(line)) is not None:
                    await self._arriving.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return
        finally:
            await self._arriving.aclose()

    def _message(self, line: bytes) -> SessionMessage | None:
        import mcp_types
        from mcp.shared.message import SessionMessage

        text = line.decode("utf-8", "replace").strip()
        if not text:
            return None
        try:
            bounded_json.check(text)
            return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False))
        except bounded_json.TooManyValues as error:
            self._log.add(f"[a message left unread: {error}] {text[:SAMPLE_CHARS]}")
            refusal = _unread(text, str(error))
            return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_python(refusal)) if refusal else None
        except ValueError:
            self.garbage += 1
            self._log.add(f"[no message on standard output] {text[:SAMPLE_CHARS]}")
            return None

    async def _write(self) -> None:
        import anyio

        pipe = self._process.stdin
        assert pipe is not None
        try:
            async for one in self._leaving:
                pipe.write((one.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n").encode())
                await pipe.drain()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await self._arriving.aclose()

    async def _listen(self) -> None:
        async for line in _lines(self._process.stderr):
            self._log.add(line.decode("utf-8", "replace"))

    async def _watch(self) -> None:
        """Tell the session of an exit also where a grandchild keeps the pipe open."""
        while self._process.returncode is None:  # noqa: ASYNC110 - waiting for the process waits for the pipes too
            await asyncio.sleep(EXIT_CHECK_S)
        await asyncio.sleep(EXIT_CHECK_S)
        await self._arriving.aclose()


@contextlib.asynccontextmanager
async def speaking(command: Command, log: Log) -> AsyncIterator[Child]:
    """Start the command and end it, with its group, on leaving.

    Raises:
        NotConfigured: there is no such program or folder, or it may not be run.
        Unreachable: the system could not start another process.
    """
    child = Child(await _started(command), command, log)
    try:
        yield child
    finally:
        await _uninterrupted(child)


async def _started(command: Command) -> asyncio.subprocess.Process:
    if command.folder is not None and not _is_folder(command.folder):
        raise NotConfigured(f"its folder {command.folder} is not there", hint="Correct cwd.")
    try:
        return await asyncio.create_subprocess_exec(
            command.program,
            *command.arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(command.environment),
            cwd=command.folder,
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError, NotADirectoryError, ValueError) as error:
        reason = "may not be run" if isinstance(error, PermissionError) else "is not there"
        raise NotConfigured(f"the program {command.program[:200]!r} {reason}", hint="Correct command, or PATH in env.") from error
    except OSError as error:
        raise Unreachable(f"the process could not be started: {error.strerror}") from error


def _is_folder(path: str) -> bool:
    """One look at the file system; starting a process blocks for longer."""
    return Path(path).is_dir()


async def _uninterrupted(child: Child) -> None:
    """End the child whatever happens to us meanwhile; a second interruption kills it at once."""
    ending = asyncio.create_task(child.end())
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        child.kill()
        while not ending.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({ending})
        raise


def _unread(text: str, why: str) -> dict[str, object] | None:
    """The error for whoever waits for a reply that is not read; None where its id stands neither first nor last."""
    found = _FIRST_ID.match(text[:SAMPLE_CHARS]) or _LAST_ID.search(text[-SAMPLE_CHARS:])
    if found is None:
        return None
    error = {"code": INTERNAL_ERROR, "message": f"{UNREAD} {why}"}
    return {"jsonrpc": "2.0", "id": json.loads(found.group(1)), "error": error}


async def _lines(pipe: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    """Lines of any length up to 32 MiB; longer ones are left out. The last needs no line end."""
    assert pipe is not None
    parts: list[bytes] = []
    size = 0
    while chunk := await pipe.read(CHUNK_BYTES):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            parts.append(end)
            if size + len(end) <= MAX_MESSAGE_BYTES:
                yield b"".join(parts)
            parts, size = [], 0
        size += len(rest)
        parts.append(rest)
        if size > MAX_MESSAGE_BYTES:
            parts.clear()
    if parts and size <= MAX_MESSAGE_BYTES:
        yield b"".join(parts)
