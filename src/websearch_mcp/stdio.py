"""Run the server on stdin and stdout, and end when the client does."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, NoReturn, TextIO, cast

import anyio
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server

__all__ = ["serve"]

log = logging.getLogger(__name__)
ESCAPES = re.compile(r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""In JSON text: an escaped backslash, a surrogate pair, or half of one."""
HALF_PAIR_CHARS = len("\\ud800")
PARENT_CHECK_S = 2.0
CLOSING_LIMIT_S = 1.5


def serve(
    server: Server[Any],
    *,
    incoming: TextIO,
    outgoing: TextIO,
    close: Callable[[], Awaitable[None]],
    begin: Callable[[], None] | None = None,
) -> NoReturn:
    """Serve until end of input, SIGTERM, SIGINT, a broken pipe or the parent's death; then close and leave the process.

    `incoming` and `outgoing` are the real standard streams; descriptors 0 and 1 already lead elsewhere. `begin` starts what
    runs beside the server and may change its list of tools; without it the list never changes.
    """
    anyio.run(_served, server, incoming, outgoing, close, begin)
    raise AssertionError("the process has left")


async def _served(
    server: Server[Any],
    incoming: TextIO,
    outgoing: TextIO,
    close: Callable[[], Awaitable[None]],
    begin: Callable[[], None] | None,
) -> None:
    lines = cast("anyio.AsyncFile[str]", _Repaired(anyio.wrap_file(incoming)))
    async with stdio_server(lines, anyio.wrap_file(outgoing)) as (reading, writing):
        code = 0
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_until_signal, group.cancel_scope)
                group.start_soon(_until_orphaned, group.cancel_scope)
                if begin is not None:
                    begin()
                changing = NotificationOptions(tools_changed=begin is not None)
                await server.run(reading, writing, server.create_initialization_options(changing))
                group.cancel_scope.cancel()
        except Exception:
            log.exception("the server stopped")
            code = 1
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_LIMIT_S):
                await close()
            with suppress(OSError, ValueError):
                outgoing.flush()
            # Leave from inside: the SDK's reader thread may sit in a read that never returns, and leaving waits for it.
            os._exit(code)


class _Repaired:
    """Lines of input in which escapes of half a surrogate pair are replaced: the SDK drops such a line without an answer."""

    def __init__(self, lines: anyio.AsyncFile[str]) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            yield ESCAPES.sub(_whole, line) if "\\ud" in line or "\\uD" in line else line


def _whole(match: re.Match[str]) -> str:
    found = match.group()
    return "\\ufffd" if len(found) == HALF_PAIR_CHARS else found


async def _until_signal(scope: anyio.CancelScope) -> None:
    """SIGTERM and SIGINT end the group, so that what is open gets closed."""
    if sys.platform == "win32":
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


async def _until_orphaned(scope: anyio.CancelScope) -> None:
    """The parent's death ends the group, also where somebody else still holds our input open.

    A process whose parent cannot be told (process 1 from the start, as in a container) is left alone.
    """
    parent = os.getppid()
    if parent <= 1:
        return
    while os.getppid() == parent:  # noqa: ASYNC110 - the system tells of it in no other way
        await asyncio.sleep(PARENT_CHECK_S)
    scope.cancel()
