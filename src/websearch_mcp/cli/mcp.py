"""`websearch mcp`: serve MCP on stdin and stdout."""

from __future__ import annotations

import argparse
import asyncio
import gc
import io
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from websearch_adapters.settings import LoadedConfiguration
    from websearch_adapters.upstream.supervisor import Supervisor
    from websearch_core.redaction import Redactor
    from websearch_mcp.changes import ToolListChanges
    from websearch_mcp.consent import Consent

__all__ = ["run"]

PROTOCOL_ERROR = '"error":{'


def run(options: argparse.Namespace) -> int:
    """Serve until the client leaves.

    Standard output is taken aside before anything heavy is imported: whatever a dependency, a warning or a child process
    prints from then on goes to standard error. Garbage collection rests during the imports, which saves a quarter of the start.
    """
    incoming, outgoing = _taken_aside()
    gc.disable()
    from websearch_core.hub.ports import Upstreams
    from websearch_mcp import stdio
    from websearch_mcp.changes import ToolListChanges
    from websearch_mcp.cli import output, session
    from websearch_mcp.container import Closing, build
    from websearch_mcp.server import make_server

    configuration = session.configuration(options)
    chosen, redact = configuration.settings, configuration.redact
    box = build(configuration, observe=session.observer(chosen))
    toolsets = session.toolsets(configuration)
    changes = ToolListChanges()
    hub: Supervisor | None = box.resolve(Upstreams) if "hub" in toolsets else None
    server = make_server(
        box.resolve,
        name=chosen.server.name,
        toolsets=toolsets,
        expose_model=chosen.search.expose_model,
        budgets=session.budgets(chosen),
        patience_s=chosen.search.deadline_no_progress_s,
        redact=redact,
        limited=session.token_limit(chosen),
        datamarking=chosen.fence.datamarking,
        upstreams=hub.names if hub else tuple,
        changes=changes if hub else None,
        consent=box.resolve(Closing).own(_consent(hub, configuration)) if hub else None,
    )
    gc.freeze()
    gc.enable()
    wire = output.filtered(outgoing, lambda line: _without_secrets(line, redact))
    stdio.serve(
        server,
        incoming=incoming,
        outgoing=wire,
        close=box.resolve(Closing).aclose,
        begin=_beginning(hub, changes) if hub else None,
    )


def _consent(hub: Supervisor, configuration: LoadedConfiguration) -> Consent:
    """Who asks for logins, and how one is made."""
    from websearch_mcp.consent import Consent

    async def log_in(name: str, show: Callable[[str], Awaitable[None]]) -> bool:
        from websearch_adapters.upstream import auth
        from websearch_adapters.upstream.parts import HubParts

        parts = HubParts(configuration)
        return await auth.log_in(hub.spec(name), parts.logins, show, environment=configuration.environment)

    return Consent(hub, log_in, patience_s=configuration.settings.search.deadline_no_progress_s)


def _beginning(hub: Supervisor, changes: ToolListChanges) -> Callable[[], None]:
    """Connect the upstreams, and tell clients when others are configured."""
    telling: set[asyncio.Task[None]] = set()

    def tell() -> None:
        task = asyncio.get_running_loop().create_task(changes.tell())
        telling.add(task)
        task.add_done_callback(telling.discard)

    hub.on_names = tell
    return hub.start


def _taken_aside() -> tuple[io.TextIOWrapper, io.TextIOWrapper]:
    """The real standard input and output as UTF-8.

    From now on descriptor 1 and `sys.stdout` lead to standard error, and descriptor 0 to nothing, for us and our children.
    """
    reading, writing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.flush()
    sys.stdout = sys.stderr
    return (
        io.TextIOWrapper(reading, encoding="utf-8", errors="replace"),
        io.TextIOWrapper(writing, encoding="utf-8", errors="replace", newline="\n"),
    )


def _without_secrets(line: str, redact: Redactor) -> str:
    """A message whose protocol error holds no secret: the SDK repeats in it what the client sent, such as a method's name.

    Results have been cleaned where they were made; only errors are read here.
    """
    before, found, _ = line.partition(PROTOCOL_ERROR)
    if not found or '"result":' in before:
        return line
    import json

    message = json.loads(line)
    message["error"] = redact.plain(message["error"])
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n"
