"""The way over HTTP to an upstream, watched: what became of each request, and streams that are reopened too fast.

The SDK tells a caller neither the status of a refused request nor whether it was sent at all, and it reopens a notice stream once
a second for ever. Both matter: 401 means a login, 404 a lost session, and a call that was never sent may be repeated.

Its HTTP library is httpx2; nothing of it leaves this folder.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

__all__ = ["FATE", "NOT_SENT", "Fate", "WatchedClient", "event_stream", "streamable"]

MAX_EVENT_BYTES = 16 * 1024 * 1024
CONNECT_TIMEOUT_S = 15.0
GOODBYE_S = 2.0
"""For a server to take note that we leave its session; one that does not answer must not hold us."""
LIVED_S = 2.0
"""A notice stream that lived this long was a good one."""
QUICK_DEATHS_FREE = 2
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol, httpx2.ProxyError)
"""Failures before the first byte of a request."""
SESSION_HEADER = "mcp-session-id"


@dataclass(slots=True)
class Fate:
    """What became of one request; filled in while it runs."""

    sent: bool = False
    status: int | None = None
    wants_login: bool = False
    """Refused for want of a login, or of a scope of it; once said, that stays so for all requests of a handshake."""
    retry_after: str = ""
    in_session: bool = False
    failure: Exception | None = None

    def note(self, response: httpx2.Response) -> None:
        """The request was sent, and this came back."""
        self.sent, self.status = True, response.status_code
        self.retry_after = response.headers.get("retry-after", "")
        short = response.status_code == 403 and "insufficient_scope" in response.headers.get("www-authenticate", "")
        self.wants_login = self.wants_login or response.status_code == 401 or short


FATE: ContextVar[Fate | None] = ContextVar("fate", default=None)
"""Set by whoever makes a request; the SDK carries its sender's context to where the request is sent."""


class WatchedClient(httpx2.AsyncClient):
    """Notes the fate of requests, slows down the reopening of streams, and tells when a message could not be delivered."""

    def __init__(self, *, undelivered: Callable[[], None] | None = None, **options: Any) -> None:
        """`undelivered` is told of a POST that failed or was refused, for transports that keep silent about it."""
        super().__init__(**options)
        self._undelivered = undelivered
        self._quick_deaths = 0
        self._opened_at: float | None = None

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """As of the library."""
        if request.method == "GET" and "text/event-stream" in request.headers.get("accept", ""):
            await self._wait_turn()
        if request.method == "DELETE":
            request.extensions["timeout"] = httpx2.Timeout(GOODBYE_S).as_dict()
        # A stream that is reopened to hear the rest of a reply says nothing about the request.
        fate = (FATE.get() if request.method == "POST" else None) or Fate()
        fate.in_session = SESSION_HEADER in request.headers
        try:
            response = await super().send(request, **options)
        except BaseException as error:
            fate.sent = fate.sent or not isinstance(error, NOT_SENT)
            fate.failure = error if isinstance(error, Exception) else None
            self._tell(request)
            raise
        fate.note(response)
        if response.is_error:
            self._tell(request)
        return response

    def _tell(self, request: httpx2.Request) -> None:
        if self._undelivered is not None and request.method == "POST":
            self._undelivered()

    async def _wait_turn(self) -> None:
        """Streams that die young are reopened at once twice, then after 0.5 s, 1 s, 2 s … 30 s."""
        now = asyncio.get_running_loop().time()
        died_young = self._opened_at is not None and now - self._opened_at < LIVED_S
        self._quick_deaths = self._quick_deaths + 1 if died_young else 0
        if self._quick_deaths > QUICK_DEATHS_FREE:
            wait = FIRST_WAIT_S * 2 ** min(self._quick_deaths - QUICK_DEATHS_FREE - 1, 10)
            await asyncio.sleep(min(wait, LONGEST_WAIT_S))
        self._opened_at = asyncio.get_running_loop().time()


@contextlib.asynccontextmanager
async def streamable(url: str, headers: Mapping[str, str], auth: httpx2.Auth | None) -> AsyncIterator[Transport]:
    """Streamable HTTP. A reply may take as long as its caller waits."""
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=None, write=None, pool=None)
    async with WatchedClient(headers=dict(headers), auth=auth, timeout=timeout) as client:
        yield streamable_http_client(url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES)


@contextlib.asynccontextmanager
async def event_stream(
    url: str, headers: Mapping[str, str], auth: httpx2.Auth | None, undelivered: Callable[[], None]
) -> AsyncIterator[Transport]:
    """The HTTP with server-sent events of 2024-11-05. A stream that is silent for ten minutes is taken for dead."""

    def client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        return WatchedClient(undelivered=undelivered, headers=headers, timeout=timeout, auth=auth)

    yield sse_client(
        url,
        headers=dict(headers),
        timeout=CONNECT_TIMEOUT_S,
        sse_read_timeout=SILENCE_S,
        httpx_client_factory=client,
        auth=auth,
    )


SILENCE_S = 600.0
