"""Run a simulator: on a loopback port, or inside the test's own HTTP client.

`serve` and `serving` use a thread with an event loop of its own, so that subprocesses and blocking clients reach the
simulator too. `transport` needs no socket, but delivers a response only when it is complete: a body that is cut,
stalls or drips is seen as such on a port only.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import httpx
import uvicorn
from anyio import to_thread
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from upstreams.exchange import CONNECTION, Severed

STOP_WITHIN_S = 5.0
NO_LINGER = struct.pack("ii", 1, 0)  # a close then sends RST instead of FIN


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Run an app on a free loopback port; gives the base URL without a slash at its end."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = _Server(app)
    thread = threading.Thread(target=server.run, args=([listener],), name="simulator", daemon=True)
    thread.start()
    try:
        server.ready.wait(STOP_WITHIN_S)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.stop()
        thread.join(STOP_WITHIN_S)
        listener.close()
    assert not thread.is_alive(), "the simulator's thread did not end"


@asynccontextmanager
async def serve(app: ASGIApp) -> AsyncIterator[str]:
    """As `serving`, for async tests."""
    running = serving(app)
    url = await to_thread.run_sync(running.__enter__)
    try:
        yield url
    finally:
        await to_thread.run_sync(partial(running.__exit__, None, None, None))


def transport(app: ASGIApp) -> httpx.ASGITransport:
    """A transport for `httpx.AsyncClient` that calls the app directly; hosts in URLs are free to choose."""
    return _InProcess(app)


class _InProcess(httpx.ASGITransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except Severed as order:
            raise _seen_by_client(order, request) from None


def _seen_by_client(order: Severed, request: httpx.Request) -> httpx.TransportError:
    if order.ending == "reset":
        return httpx.ReadError("Connection reset by peer", request=request)
    if order.started:
        return httpx.RemoteProtocolError("peer closed connection without sending complete message body", request=request)
    return httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)


class _Socket:
    """What a step may do to the connection it answers on."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.stopping = False
        self.transport = transport

    def close(self) -> None:
        self.transport.close()

    def reset(self) -> None:
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.transport.abort()


class _Protocol(H11Protocol):
    """HTTP/1.1 whose requests carry their connection as an ASGI extension."""

    link: _Socket

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.link = _Socket(transport)
        app, link = self.app, self.link

        async def linked(scope: Scope, receive: Receive, send: Send) -> None:
            extensions = {**(scope.get("extensions") or {}), CONNECTION: link}
            await app({**scope, "extensions": extensions}, receive, send)

        self.app = linked


class _Server(uvicorn.Server):
    """A server that starts and stops at once instead of looking around ten times a second."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Protocol,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
            )
        )
        self.ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None

    def stop(self) -> None:
        """End the server from another thread."""
        if self._loop is not None and self._stopped is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def main_loop(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self.ready.set()
        await self._stopped.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in self.servers:
            listening.close()
        for connection in list(self.server_state.connections):
            assert isinstance(connection, _Protocol)
            connection.link.stopping = True
            connection.link.transport.abort()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=STOP_WITHIN_S)
