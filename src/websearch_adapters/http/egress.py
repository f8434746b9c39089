"""The transport for pages: it looks names up itself, asks `core.egress` about every address, and connects to one of those.

No second look-up happens between the verdict and the connection. TLS and the Host header keep the name. With an explicit
proxy the proxy looks names up, so only the literal address is judged; proxies of the environment are not used.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import httpcore
import httpx

from websearch_core import egress

if TYPE_CHECKING:
    import ssl

__all__ = ["GuardedTransport", "Resolver", "system_resolver"]

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to addresses, best first; raises OSError when the name is unknown."""

MAX_CONNECTIONS = 20
MAX_KEEPALIVE_CONNECTIONS = 10
KEEPALIVE_EXPIRY_S = 5.0


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """What the operating system says, each address once."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends a request only where `core.egress` lets it go.

    Raises, beside httpx's own exceptions: NotAllowed, before a byte is sent.
    """

    def __init__(
        self,
        *,
        allow: Sequence[str] = (),
        resolver: Resolver | None = None,
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`proxy` is an address like `http://proxy.example:3128`; `tls` replaces the certificates that are trusted."""
        self._allow = tuple(allow)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or httpx.create_ssl_context(trust_env=False),
            proxy=httpcore.Proxy(proxy) if proxy else None,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_KEEPALIVE_CONNECTIONS,
            keepalive_expiry=KEEPALIVE_EXPIRY_S,
            network_backend=None if proxy else _CheckedBackend(resolver or system_resolver, self._allow),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; redirects are the caller's business."""
        egress.verdict(_origin(request.url.scheme, request.url.raw_host.decode("ascii"), request.url.port), allow=self._allow)
        with _as_httpx(request):
            response = await self._pool.handle_async_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(
                        scheme=request.url.raw_scheme,
                        host=request.url.raw_host,
                        port=request.url.port,
                        target=request.url.raw_path,
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Stream(response.stream, request),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to checked addresses."""

    def __init__(self, resolve: Resolver, allow: Sequence[str]) -> None:
        self._resolve = resolve
        self._allow = allow
        self._sockets = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._addresses(host, port)
                return await self._first_open(addresses, port, timeout, local_address=local_address, options=socket_options)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("no connection in time") from error
        except OSError as error:
            raise httpcore.ConnectError("the name is unknown") from error

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        addresses = await self._resolve(host, port)
        if not addresses:
            raise httpcore.ConnectError("the name has no address")
        egress.verdict(_origin("http", host, port), addresses, allow=self._allow)
        return addresses

    async def _first_open(
        self,
        addresses: Sequence[str],
        port: int,
        limit_s: float | None,
        *,
        local_address: str | None,
        options: Iterable[Any] | None,
    ) -> httpcore.AsyncNetworkStream:
        """The first address that accepts; each but the last gets an equal share of the time, so that a dead one can't eat it."""
        share_s = None if limit_s is None else limit_s / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._sockets.connect_tcp(address, port, share_s, local_address, options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._sockets.connect_tcp(addresses[-1], port, limit_s, local_address, options)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Stream(httpx.AsyncByteStream):
    """A body as it comes, with httpx's exceptions."""

    def __init__(self, body: Any, request: httpx.Request) -> None:
        self._body = body
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx(self._request):
            async for chunk in self._body:
                yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


def _origin(scheme: str, host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{scheme}://{name}{f':{port}' if port is not None else ''}/"


@contextmanager
def _as_httpx(request: httpx.Request) -> Iterator[None]:
    """httpcore's exceptions as httpx's, which carry the same names."""
    try:
        yield
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.ProxyError,
        httpcore.UnsupportedProtocol,
    ) as error:
        raise getattr(httpx, type(error).__name__)(str(error), request=request) from error
