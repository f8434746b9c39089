"""How a test says what a simulated service does: `Script(status(429, retry_after_s=2), ok())`.

Each request consumes one step; the last step repeats. `ok()` is the simulator's own answer, made from the request and
checked as the vendor would check it; all other steps answer whatever was asked.

Steps that take `then` shape the answer of another step, by default the simulator's own:
`cut_after(bytes=512, then=scenario("tavily.search.success"))`.
"""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio
from starlette.responses import Response
from starlette.types import Message, Send

from upstreams import examples
from upstreams.exchange import Exchange, Pieces, json_response

Quirk = Literal[
    "bom",
    "comments",
    "cr-only",
    "crlf",
    "done-event",
    "error-flat",
    "error-object",
    "no-done",
    "no-event-names",
    "no-final-blank-line",
    "response-done",
    "truncated",
]
CHUNK_BYTES = 65_536
GZIP_WINDOW = 16 + zlib.MAX_WBITS
CHALLENGE = "<!doctype html><html><head><title>Just a moment...</title></head><body><h1>Checking your browser</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Step:
    """One act of a script; `name` is for the reader of a failing test."""

    name: str
    perform: Callable[[Exchange], Awaitable[None]]


class Script:
    """Steps in the order in which requests meet them; the last one repeats. No step at all means `ok()`."""

    def __init__(self, *steps: Step) -> None:
        self._left = deque(steps or (ok(),))

    def then_always(self, step: Step) -> Script:
        """The same script, with this step repeated once the others are used up."""
        self._left.append(step)
        return self

    def next(self) -> Step:
        """The step for the request that has just come."""
        return self._left.popleft() if len(self._left) > 1 else self._left[0]

    def __repr__(self) -> str:
        return f"Script({', '.join(step.name for step in self._left)})"


# --------------------------------------------------------------------------- whole answers


def ok(body: Any = None, *, headers: Mapping[str, str] | None = None) -> Step:
    """The simulator's own answer, or this JSON body with status 200."""
    if body is None:
        return Step("ok", Exchange.answer)
    return answering("ok", lambda _: json_response(body, headers=headers))


def answering(name: str, response: Callable[[Exchange], Response]) -> Step:
    """A step that sends the response this function makes."""

    async def perform(exchange: Exchange) -> None:
        await exchange.respond(response(exchange))

    return Step(name, perform)


def example(path: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    """One payload file, such as `tavily/error.432.plan-limit.json`."""
    body, media_type = examples.read(path), examples.content_type(path)
    return answering(f"example({path})", lambda _: Response(body, status, headers, media_type))


def scenario(scenario_id: str) -> Step:
    """One row of the manifest: its status, headers, body, and an aborted body where it says so."""
    row = examples.scenario(scenario_id)
    body = examples.read(row.response_body)
    half = len(body) // 2  # in the middle of an event on purpose
    step = answering(
        f"scenario({scenario_id})",
        lambda _: (
            Pieces([body[:half], body[half:]], status=row.status, headers=row.headers)
            if row.headers["content-type"] == "text/event-stream"
            else Response(body, row.status, row.headers)
        ),
    )
    return replace(cut_after(bytes=len(body), then=step), name=step.name) if row.wire == "chunked-abort" else step


def status(code: int, *, retry_after_s: float | None = None, body: Any = None, headers: Mapping[str, str] | None = None) -> Step:
    """An answer with this status; without `body` in the shape in which this vendor reports it.

    A `str` body is sent as HTML, anything else as JSON. `retry_after_s` becomes the `retry-after` header.
    """
    extra = dict(headers or {})
    if retry_after_s is not None:
        extra["retry-after"] = f"{retry_after_s:g}"

    def respond(exchange: Exchange) -> Response:
        response = exchange.error_response(code) if body is None else _with_body(body, code)
        response.headers.update(extra)
        return response

    return answering(f"status({code})", respond)


def not_json() -> Step:
    """Status 200 and a JSON content type, but a body that no JSON reader accepts."""
    return answering("not_json", lambda _: Response(b'{"answer": <<<upstream said nothing', 200, None, "application/json"))


def html_page(*, code: int = 200) -> Step:
    """A page for people where a program expected data, as edge networks send it."""
    return answering("html_page", lambda _: Response(CHALLENGE, code, None, "text/html"))


def redirect(to_url: str, status: int = 307) -> Step:
    """Send the client elsewhere."""
    return answering(f"redirect({to_url})", lambda _: Response(b"", status, {"location": to_url}))


def huge(bytes: int, *, declared: bool = False) -> Step:  # noqa: A002 - reads as a sentence in a script
    """Valid JSON of this many bytes; `declared` announces the size in `content-length`."""
    head, tail = b'{"padding": "', b'"}'
    fill = max(0, bytes - len(head) - len(tail))
    pieces = [head, *_filling(fill), tail]
    length = {"content-length": str(len(head) + fill + len(tail))} if declared else {}
    headers = {"content-type": "application/json", **length}
    return answering(f"huge({bytes})", lambda _: Pieces(pieces, headers=headers))


def gzip_bomb(bytes: int) -> Step:  # noqa: A002 - reads as a sentence in a script
    """A small compressed body that inflates to JSON of this many bytes."""
    head, tail = b'{"padding": "', b'"}'
    squeeze = zlib.compressobj(9, zlib.DEFLATED, GZIP_WINDOW)
    parts = [head, *_filling(max(0, bytes - len(head) - len(tail))), tail]
    packed = b"".join([*(squeeze.compress(part) for part in parts), squeeze.flush()])
    headers = {"content-encoding": "gzip"}
    return answering(f"gzip_bomb({bytes})", lambda _: Response(packed, 200, headers, "application/json"))


def wrong_charset(*, declared: str = "utf-8", actual: str = "gbk") -> Step:
    """JSON in one encoding under the name of another."""
    body = json.dumps({"answer": "步行桥已重新开放"}, ensure_ascii=False).encode(actual)
    headers = {"content-type": f"application/json; charset={declared}"}
    return answering(f"wrong_charset({actual} as {declared})", lambda _: Response(body, 200, headers))


# --------------------------------------------------------------------------- silence and broken connections


def hang() -> Step:
    """Take the request and never say a word, until the client leaves."""

    async def perform(exchange: Exchange) -> None:
        await anyio.sleep_forever()

    return Step("hang", perform)


def reset() -> Step:
    """Break the connection with a TCP reset, without a response."""

    async def perform(exchange: Exchange) -> None:
        raise exchange.severed("reset")

    return Step("reset", perform)


def hang_up() -> Step:
    """Close the connection politely, without a response."""

    async def perform(exchange: Exchange) -> None:
        raise exchange.severed("close")

    return Step("hang_up", perform)


def endless_comments(every_s: float) -> Step:
    """An event stream of keep-alive comments that never gets to the point."""

    async def perform(exchange: Exchange) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await exchange.send({"type": "http.response.start", "status": 200, "headers": headers})
        while True:
            await exchange.send({"type": "http.response.body", "body": b": keep-alive\n\n", "more_body": True})
            await anyio.sleep(every_s)

    return Step("endless_comments", perform)


def delay(seconds: float, then: Step | None = None) -> Step:
    """Answer, but later."""
    following = then or ok()

    async def perform(exchange: Exchange) -> None:
        await anyio.sleep(seconds)
        await following.perform(exchange)

    return Step(f"delay({seconds:g}, {following.name})", perform)


# --------------------------------------------------------------------------- answers changed on their way


def cut_after(bytes: int = 512, then: Step | None = None) -> Step:  # noqa: A002 - reads as a sentence in a script
    """Send the headers and this much of the body without announcing a length, then close the connection."""

    def through(exchange: Exchange) -> Send:
        return _limited(exchange, bytes, _severing)

    return _filtered(f"cut_after({bytes})", then, through)


def stall_after(bytes: int | None = None, then: Step | None = None) -> Step:  # noqa: A002 - as in `cut_after`
    """Send this much of the body, or all of it, and then keep the connection open in silence."""

    def through(exchange: Exchange) -> Send:
        return _limited(exchange, bytes, _silence)

    return _filtered(f"stall_after({bytes})", then, through)


def drip(bytes_per_chunk: int, every_s: float, then: Step | None = None) -> Step:
    """Send the body in small chunks with a pause before each."""

    def through(exchange: Exchange) -> Send:
        async def send(message: Message) -> None:
            if message["type"] != "http.response.body":
                await exchange.send(_unsized(message))
                return
            body = message.get("body", b"")
            for start in range(0, len(body), bytes_per_chunk):
                await anyio.sleep(every_s)
                chunk = body[start : start + bytes_per_chunk]
                await exchange.send({"type": "http.response.body", "body": chunk, "more_body": True})
            if not message.get("more_body", False):
                await exchange.send({"type": "http.response.body", "body": b"", "more_body": False})

        return send

    return _filtered(f"drip({bytes_per_chunk}, {every_s:g})", then, through)


def sse_quirk(quirk: Quirk, then: Step | None = None) -> Step:
    """Damage an event stream in one of the ways that gateways are known to.

    `truncated`, `error-flat` and `error-object` replace the second half; the rest keep every event.
    """

    def through(exchange: Exchange) -> Send:
        return _rewritten(exchange, lambda body: _quirky(body.decode(), quirk).encode())

    return _filtered(f"sse_quirk({quirk})", then, through)


def stream_anyway() -> Step:
    """The simulator's own answer as an event stream, whether or not one was asked for."""

    async def perform(exchange: Exchange) -> None:
        body = json.dumps({**exchange.request.json, "stream": True}).encode()
        await replace(exchange, request=replace(exchange.request, body=body)).answer()

    return Step("stream_anyway", perform)


def _filtered(name: str, then: Step | None, through: Callable[[Exchange], Send]) -> Step:
    following = then or ok()

    async def perform(exchange: Exchange) -> None:
        await following.perform(replace(exchange, send=through(exchange)))

    return Step(f"{name} of {following.name}", perform)


def _limited(exchange: Exchange, limit_bytes: int | None, at_limit: Callable[[Exchange], Awaitable[None]]) -> Send:
    """Let through `limit_bytes` of the body (None: all of it), then do `at_limit` instead of ending the response."""
    left = limit_bytes

    async def send(message: Message) -> None:
        nonlocal left
        if message["type"] != "http.response.body":
            await exchange.send(_unsized(message))
            return
        body = message.get("body", b"")[:left]
        await exchange.send({"type": "http.response.body", "body": body, "more_body": True})
        left = None if left is None else left - len(body)
        if left == 0 or not message.get("more_body", False):
            await at_limit(exchange)

    return send


async def _severing(exchange: Exchange) -> None:
    raise exchange.severed("close")


async def _silence(_: Exchange) -> None:
    await anyio.sleep_forever()


def _rewritten(exchange: Exchange, change: Callable[[bytes], bytes]) -> Send:
    """Collect the whole body, change it, send it in one piece."""
    collected = bytearray()

    async def send(message: Message) -> None:
        if message["type"] != "http.response.body":
            await exchange.send(_unsized(message))
            return
        collected.extend(message.get("body", b""))
        if not message.get("more_body", False):
            await exchange.send({**message, "body": change(bytes(collected))})

    return send


def _quirky(text: str, quirk: Quirk) -> str:
    events = [event for event in text.split("\n\n") if event.strip()]
    return REWRITTEN_TEXT[quirk](text) if quirk in REWRITTEN_TEXT else _joined(REWRITTEN_EVENTS[quirk](events))


def _broken_off(events: list[str], *last: str) -> list[str]:
    return [*events[: max(1, len(events) // 2)], *last]


def _joined(events: list[str]) -> str:
    return "".join(f"{event}\n\n" for event in events)


def _nameless(event: str) -> str:
    return "\n".join(line for line in event.split("\n") if not line.startswith("event:"))


def _unsized(message: Message) -> Message:
    """A response start without its `content-length`: what follows may have another size."""
    headers = [(name, value) for name, value in message["headers"] if name.lower() != b"content-length"]
    return {**message, "headers": headers}


def _with_body(body: Any, code: int) -> Response:
    return Response(body, code, None, "text/html") if isinstance(body, str) else json_response(body, status=code)


def _filling(size_bytes: int) -> list[bytes]:
    whole, rest = divmod(size_bytes, CHUNK_BYTES)
    return [b"x" * CHUNK_BYTES] * whole + [b"x" * rest]


FLAT_ERROR = 'data: {"code":"resource-exhausted","error":"Too many requests"}'
ERROR_OBJECT = 'data: {"error":{"message":"Upstream request failed","type":"upstream_error","code":"upstream_error"}}'
REWRITTEN_TEXT: dict[Quirk, Callable[[str], str]] = {
    "bom": lambda text: "\ufeff" + text,
    "cr-only": lambda text: text.replace("\n", "\r"),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "done-event": lambda text: text + "event: done\ndata:\n\n",
    "no-final-blank-line": lambda text: text.rstrip("\n"),
    "response-done": lambda text: text.replace("response.completed", "response.done"),
}
REWRITTEN_EVENTS: dict[Quirk, Callable[[list[str]], list[str]]] = {
    "comments": lambda events: [": keep-alive", *(f"{event}\n\n: still working" for event in events)],
    "error-flat": lambda events: _broken_off(events, FLAT_ERROR),
    "error-object": lambda events: _broken_off(events, ERROR_OBJECT, "data: [DONE]"),
    "no-done": lambda events: [event for event in events if event != "data: [DONE]"],
    "no-event-names": lambda events: [*map(_nameless, events), "data: [DONE]"],
    "truncated": _broken_off,
}
