"""An MCP server over stdio that does what its script says, in the standard library alone, so that fifty of them start at once.

Run as `python -S -E lab.py SCRIPT`, the script being JSON:

- `behaviour`: `good` (default), `silent` (reads, never answers), `crash` (leaves at once), `garbage` (writes noise and no message),
  `noisy` (noise around good messages), `strict` (leaves when the first request is not `initialize`), `deaf` (ignores the end of its
  input and SIGTERM), `mute` (lists its tools and answers no call), `parent` (starts a grandchild that holds its pipes).
- `tools`: names of further tools, each answering with its own name and its arguments; or whole tool objects as of `tools/list`.
- `page`: tools per page; 0 for all in one. `loop`: the cursor never ends.
- `ledger`: a file that gets a line for each start and each call of a tool.
- `handshake_s`: seconds before `initialize` is answered. `lives`: after this many starts (lines in the ledger) it crashes at once.

Arguments of every call: `lists` adds so many empty lists to its structured content; with `last` the reply's number comes last.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
OWN_TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "description": "Say the same.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "count", "description": "Write a line into the ledger.", "inputSchema": TEXT},
    {"name": "die", "description": "Write a line into the ledger and leave.", "inputSchema": TEXT},
    {"name": "die_once", "description": "As die, the first time.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "sleep", "description": "Answer after `text` seconds.", "inputSchema": TEXT},
    {"name": "flood", "description": "Send `text` notices of a changed list.", "inputSchema": TEXT},
    {"name": "grow", "description": "Offer a tool called `text` from now on.", "inputSchema": TEXT},
    {"name": "reword", "description": "Change what echo says of itself to `text`.", "inputSchema": TEXT},
    {"name": "rich", "description": "Every kind of content.", "inputSchema": TEXT},
    {"name": "whoami", "description": "Process, folder and environment.", "inputSchema": TEXT},
    {"name": "wrong", "description": "Fail.", "inputSchema": TEXT},
]


class Lab:
    """The server."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.behaviour = script.get("behaviour", "good")
        named = [
            one if isinstance(one, dict) else {"name": one, "description": f"The tool {one}.", "inputSchema": TEXT}
            for one in script.get("tools", [])
        ]
        self.tools = [*OWN_TOOLS, *named]
        self.lock = threading.Lock()
        self.cancelled: set[Any] = set()

    def ledger(self, line: str) -> None:
        if path := self.script.get("ledger"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def entries(self, line: str) -> int:
        with Path(self.script["ledger"]).open(encoding="utf-8") as file:
            return sum(one.strip() == line for one in file)

    def send(self, message: dict[str, Any]) -> None:
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def run(self) -> None:
        self.ledger(f"start {os.getpid()}")
        if self.behaviour == "crash" or ("lives" in self.script and self._starts() > self.script["lives"]):
            sys.stderr.write("I shall not run\n")
            sys.exit(3)
        if self.behaviour == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.behaviour == "parent":
            child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
            self.ledger(f"grandchild {child.pid}")
        if self.behaviour == "garbage":
            self.noise(100)
        sys.stderr.write("lab is up\n")
        sys.stderr.flush()
        first = True
        for line in sys.stdin:
            message = json.loads(line)
            if self.behaviour == "strict" and first and message.get("method") != "initialize":
                sys.exit(4)
            first = False
            if self.behaviour in {"silent", "garbage"}:
                continue
            threading.Thread(target=self.answer, args=(message,), daemon=True).start()
        if self.behaviour == "deaf":
            time.sleep(600)

    def _starts(self) -> int:
        with Path(self.script["ledger"]).open(encoding="utf-8") as file:
            return sum(one.startswith("start") for one in file)

    def noise(self, lines: int) -> None:
        sys.stdout.flush()
        for number in range(lines):
            sys.stdout.buffer.write(b'{"half": \xff\xfe' + str(number).encode() + b"\n")
        sys.stdout.flush()

    def answer(self, message: dict[str, Any]) -> None:
        method, asked, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "notifications/cancelled":
            self.cancelled.add(params.get("requestId"))
            self.ledger("cancelled")
        if asked is None:
            return
        if self.behaviour == "noisy":
            self.noise(3)
        match method:
            case "initialize":
                time.sleep(self.script.get("handshake_s", 0))
                capabilities = {"tools": {"listChanged": True}}
                about = {"name": "lab", "version": "1"}
                version = {"protocolVersion": params["protocolVersion"]}
                self.send({"id": asked, "result": {**version, "capabilities": capabilities, "serverInfo": about}})
            case "ping":
                self.send({"id": asked, "result": {}})
            case "tools/list":
                self.ledger("list")
                self.send({"id": asked, "result": self.page(params.get("cursor"))})
            case "tools/call":
                self.call(asked, params["name"], params.get("arguments") or {})
            case _:
                self.send({"id": asked, "error": {"code": -32601, "message": "Method not found"}})

    def page(self, cursor: str | None) -> dict[str, Any]:
        size = self.script.get("page", 0) or len(self.tools)
        start = int(cursor or 0)
        more = {"nextCursor": str(start + size)} if start + size < len(self.tools) else {}
        if self.script.get("loop"):
            more = {"nextCursor": "0"}
        return {"tools": self.tools[start : start + size], **more}

    def call(self, asked: Any, name: str, arguments: dict[str, Any]) -> None:  # noqa: C901 - one case for each tool
        text = str(arguments.get("text", ""))
        self.ledger(f"call {name}")
        if self.behaviour == "mute":
            return
        if name not in {tool["name"] for tool in self.tools}:
            self.send({"id": asked, "error": {"code": -32602, "message": "Unknown tool"}})
            return
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        more: dict[str, Any] = {}
        match name:
            case "die":
                os._exit(9)
            case "die_once" if self.entries("call die_once") == 1:
                os._exit(9)
            case "sleep":
                time.sleep(float(text))
            case "flood":
                for _ in range(int(text)):
                    self.send({"method": "notifications/tools/list_changed"})
            case "grow":
                self.tools.append({"name": text, "description": f"The tool {text}.", "inputSchema": TEXT})
                self.send({"method": "notifications/tools/list_changed"})
            case "reword":
                self.tools[0] = {**self.tools[0], "description": text}
                self.send({"method": "notifications/tools/list_changed"})
            case "wrong":
                more = {"isError": True}
            case "whoami":
                facts = {"pid": os.getpid(), "cwd": str(Path.cwd()), "environment": dict(os.environ)}
                content, more = [{"type": "text", "text": json.dumps(facts)}], {"structuredContent": facts}
            case "rich":
                content = [
                    {"type": "text", "text": "words"},
                    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                    {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                    {"type": "resource_link", "uri": "file:///lab/note.txt", "name": "note"},
                    {"type": "resource", "resource": {"uri": "file:///lab/page.txt", "mimeType": "text/plain", "text": "inside"}},
                ]
                more = {"structuredContent": {"answer": 42}}
            case "echo" | "count" | "die_once":
                pass
            case _:
                content = [{"type": "text", "text": json.dumps({"tool": name, "arguments": arguments})}]
        if "lists" in arguments:
            more = {"structuredContent": {"items": [[]] * arguments["lists"]}}
        result = {"result": {"content": content, **more}}
        if asked not in self.cancelled:
            self.send({**result, "id": asked} if arguments.get("last") else {"id": asked, **result})


if __name__ == "__main__":
    Lab(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}).run()
