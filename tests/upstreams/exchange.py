"""One request at a simulator: what came in, the way out, and how a connection is broken off."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import parse_qsl

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONNECTION = "upstreams.connection"  # name of the ASGI extension under which `serve` offers the socket
Ending = Literal["close", "reset"]


class Connection(Protocol):
    """The socket below one exchange, when there is one; in process there is none."""

    stopping: bool

    def close(self) -> None:
        """Send what is buffered, then close."""

    def reset(self) -> None:
        """Close at once with a TCP reset."""


class Severed(BaseException):
    """The script wants the connection broken off here, without a proper end of the response.

    An order to the runner and no `Exception`, so that no framework layer turns it into a 500.
    """

    def __init__(self, ending: Ending, *, started: bool) -> None:
        super().__init__(f"the script ends this exchange by a {ending}")
        self.ending = ending
        self.started = started


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A request as it arrived; header names in lower case, `key` from the bearer token if there is one."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def key(self) -> str | None:
        """The bearer token, None without an Authorization header or with another scheme."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" and token.strip() else None

    @property
    def json(self) -> Any:
        """The body as JSON; `ValueError` if it is not."""
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        """The body as a form, last value of each name."""
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    @property
    def params(self) -> dict[str, str]:
        """The query string, last value of each name."""
        return dict(parse_qsl(self.query, keep_blank_values=True))


@dataclass(slots=True)
class Wire:
    """The way back to the client; knows how far the response has come."""

    outward: Send
    started: bool = False
    finished: bool = False

    async def send(self, message: Message) -> None:
        self.started = True
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.finished = True
        await self.outward(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a step works with: the request, the simulator's own answer, its error bodies, and the way out.

    `wire` is the real end of the line; `send` may be a filter in front of it.
    """

    request: Recorded
    app: ASGIApp
    error_response: Callable[[int], Response]
    scope: Scope
    wire: Wire
    send: Send = field(repr=False)

    async def answer(self) -> None:
        """Let the simulator answer by itself, from the request."""
        await self.app(self.scope, replayed(self.request.body), self.send)

    async def respond(self, response: Response) -> None:
        """Send this response."""
        await response(self.scope, replayed(b""), self.send)

    def severed(self, ending: Ending) -> Severed:
        """The order to break off the connection."""
        return Severed(ending, started=self.wire.started)


class Pieces(Response):
    """A body sent piece by piece, without a length unless `headers` has one, so that faults can fall between the pieces."""

    def __init__(self, pieces: list[bytes], *, status: int = 200, headers: Mapping[str, str]) -> None:
        super().__init__(status_code=status, headers=headers)
        if "content-length" not in headers:
            del self.headers["content-length"]
        self.pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in self.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def event_stream(events: list[bytes]) -> Pieces:
    """A server-sent event stream, one piece per event."""
    return Pieces(events, headers={"content-type": "text/event-stream"})


def json_response(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Compact UTF-8 JSON."""
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(data, status, headers, "application/json")


async def recorded(scope: Scope, receive: Receive) -> Recorded:
    """Read the whole request; `ClientDisconnect` if the client leaves meanwhile."""
    request = Request(scope, receive)
    return Recorded(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=dict(request.headers),
        body=await request.body(),
    )


def replayed(body: bytes) -> Receive:
    """A receive channel that tells this body once and then stays silent."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    return receive
