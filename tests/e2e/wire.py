"""A strict MCP client on raw pipes: every byte of standard output must be a protocol message."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

WAIT_S = 60.0
SERVER = [str(Path(sys.executable).with_name("websearch-mcp"))]


def environment(home: Path, **more: str) -> dict[str, str]:
    """The process's environment without anything that configures us, plus what the test sets."""
    prefixes = (
        "PYTHON",
        "WEBSEARCH_",
        "GROK_",
        "TAVILY_",
        "FIRECRAWL_",
        "SEARXNG_",
        "XAI_",
        "OPENAI_",
        "GITHUB_TOKEN",
        "REDIS_URL",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    )
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(prefixes)}
    offline = {"WEBSEARCH_KEYLESS_ENABLED": "false", "NO_PROXY": "127.0.0.1,localhost"}  # a child is not held back by conftest
    return {**kept, "WEBSEARCH_HOME": str(home), **offline, **more}


class Wire:
    """One server process; as a context manager it ends the process."""

    def __init__(self, env: Mapping[str, str], *, command: list[str] | None = None) -> None:
        self.process = subprocess.Popen(
            command or SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(env)
        )
        self.lines: list[bytes] = []
        self.messages: list[dict[str, Any]] = []
        self._arrived: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._errors: list[bytes] = []
        self._readers = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._drain, daemon=True)]
        for reader in self._readers:
            reader.start()
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue

    @property
    def stderr(self) -> str:
        """What was written to standard error so far; all of it once the process has ended."""
        return b"".join(self._errors).decode("utf-8", "replace")

    def send(self, message: Mapping[str, Any] | bytes) -> None:
        """Write one message, or raw bytes."""
        assert self.process.stdin is not None
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request; its id."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}})
        return self._next

    def reply(self, number: int, *, within_s: float = WAIT_S) -> dict[str, Any]:
        """The reply to a request; other messages are kept."""
        while True:
            found = next((one for one in self.messages if one.get("id") == number and "method" not in one), None)
            if found is not None:
                return found
            message = self._arrived.get(timeout=within_s)
            assert message is not None, f"the server ended:\n{self.stderr}"
            self.messages.append(message)

    def until(self, method: str, holds: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """The first notification of this method of which that holds."""
        while True:
            found = next((one for one in self.messages if one.get("method") == method and holds(one)), None)
            if found is not None:
                return found
            message = self._arrived.get(timeout=WAIT_S)
            assert message is not None, f"the server ended:\n{self.stderr}"
            self.messages.append(message)

    def initialize(self, version: str = "2025-06-18") -> dict[str, Any]:
        """The handshake of the older protocol era."""
        client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "strict", "version": "1"}}
        reply = self.reply(self.request("initialize", client))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        result: dict[str, Any] = reply["result"]
        return result

    def tools(self) -> list[dict[str, Any]]:
        """The tool list."""
        result: list[dict[str, Any]] = self.reply(self.request("tools/list"))["result"]["tools"]
        return result

    def call(self, name: str, *, progress: str | None = None, **arguments: Any) -> int:
        """Start a tool call; its id."""
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        if progress is not None:
            params["_meta"] = {"progressToken": progress}
        return self.request("tools/call", params)

    def result(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        result: dict[str, Any] = self.reply(self.call(name, **arguments))["result"]
        return result

    def result_within(self, within_s: float, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call, by a client that waits so long and no longer."""
        result: dict[str, Any] = self.reply(self.call(name, **arguments), within_s=within_s)["result"]
        return result

    def end_input(self) -> None:
        """Close the server's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def ended(self) -> int:
        """The exit status, once the process and its output have ended."""
        code = self.process.wait(WAIT_S)
        for reader in self._readers:
            reader.join(WAIT_S)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            try:
                message = json.loads(line.decode("utf-8"))
            except ValueError:
                continue
            self._arrived.put(message)
        self._arrived.put(None)

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors.append(line)

    def assert_only_protocol(self) -> None:
        """Every line parsed and carried the protocol's version."""
        for line in self.lines:
            assert json.loads(line.decode("utf-8"))["jsonrpc"] == "2.0", line
