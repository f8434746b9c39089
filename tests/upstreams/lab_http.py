"""The lab's server over Streamable HTTP, as the revision of 2025-06-18 has it: sessions, one JSON reply for each request.

What it does can be changed between two requests: what it refuses, whether it knows its sessions, which token it wants.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from upstreams.lab import OWN_TOOLS

__all__ = ["LabHttp"]


class LabHttp:
    """An ASGI application at any path."""

    def __init__(self, *, token: str = "") -> None:
        self.token = token
        self.sessions: set[str] = set()
        self.calls: list[str] = []
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.refuse: dict[str, tuple[int, dict[str, str]]] = {}
        """Method → status and headers of its refusal."""
        self.slow = "sleep"
        """The tool that never answers."""
        self.clings = False
        """Does not answer who says goodbye."""
        self.thinks = False
        """Lets who has no right to be here wait for the refusal."""
        self.cancelled = 0
        self.tools = list(OWN_TOOLS)

    def restart(self) -> None:
        """Know no session any more."""
        self.sessions.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await (await self.answer(Request(scope, receive)))(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        while request.method == "DELETE" and self.clings and not await request.is_disconnected():
            await asyncio.sleep(0.02)
        if request.method != "POST":
            return Response(status_code=200 if request.method == "DELETE" else 405)
        self.headers.append(dict(request.headers))
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            while self.thinks:
                await asyncio.sleep(0.005)
            return Response(status_code=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
        message: dict[str, Any] = json.loads(await request.body())
        method, asked, params = message["method"], message.get("id"), message.get("params") or {}
        self.requests.append(method)
        if method in self.refuse:
            status, headers = self.refuse[method]
            return Response(status_code=status, headers=headers)
        if asked is None:
            self.cancelled += method == "notifications/cancelled"
            return Response(status_code=202)
        if method == "initialize":
            session = secrets.token_hex(8)
            self.sessions.add(session)
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "lab", "version": "1"},
            }
            return _reply(asked, result, {"mcp-session-id": session})
        if method != "server/discover" and request.headers.get("mcp-session-id") not in self.sessions:
            return JSONResponse(
                {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}}, status_code=404
            )
        match method:
            case "ping":
                return _reply(asked, {})
            case "tools/list":
                return _reply(asked, {"tools": self.tools})
            case "tools/call":
                return await self.call(request, asked, params)
            case _:
                return JSONResponse({"jsonrpc": "2.0", "id": asked, "error": {"code": -32601, "message": "Method not found"}})

    async def call(self, request: Request, asked: Any, params: dict[str, Any]) -> Response:
        name, arguments = params["name"], params.get("arguments") or {}
        self.calls.append(name)
        while name == self.slow and not await request.is_disconnected():
            await asyncio.sleep(0.02)
        if name not in {tool["name"] for tool in self.tools}:
            error = {"code": -32602, "message": "Unknown tool; Authorization: Bearer sk-of-theirs-123456"}
            return JSONResponse({"jsonrpc": "2.0", "id": asked, "error": error})
        return _reply(asked, {"content": [{"type": "text", "text": str(arguments.get("text", ""))}]})


def _reply(asked: Any, result: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": asked, "result": result}, headers=headers)
