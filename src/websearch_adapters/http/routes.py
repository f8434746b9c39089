"""Requests directly or through a proxy, each by its own connections, with httpx's exceptions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import httpcore
import httpx

from websearch_adapters.http.proxies import Proxies, Proxy
from websearch_adapters.http.socks import SocksBackend

if TYPE_CHECKING:
    import ssl

__all__ = ["RoutedTransport"]

Backend: TypeAlias = httpcore.AsyncNetworkBackend
MAX_CONNECTIONS = 20
MAX_KEEPALIVE_CONNECTIONS = 10
KEEPALIVE_EXPIRY_S = 5.0
DEFAULT_PORTS = {"http": 80, "https": 443}


class RoutedTransport(httpx.AsyncBaseTransport):
    """Sends a request on the way that is meant for it.

    Raises, beside httpx's own exceptions: NotConfigured, where a proxy's address is none.
    """

    def __init__(
        self,
        proxies: Proxies,
        *,
        sockets: Backend | None = None,
        judged: Callable[[Backend], Backend] = lambda sockets: sockets,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`sockets` opens connections; `judged` looks names up and judges them, where it is not left to a proxy.

        Without `tls`, the usual certificates are trusted, or those of SSL_CERT_FILE and SSL_CERT_DIR.
        """
        self._proxies = proxies
        self._sockets = sockets or httpcore.AnyIOBackend()
        self._judged = judged
        self._tls = tls or httpx.create_ssl_context()
        self._pools: dict[Proxy | None, httpcore.AsyncConnectionPool] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request."""
        url = request.url
        pool = self._pool(self._proxies.of(url.scheme, url.host, url.port or DEFAULT_PORTS.get(url.scheme, 0)))
        with _as_httpx(request):
            response = await pool.handle_async_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
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
        while self._pools:
            await self._pools.popitem()[1].aclose()

    def _pool(self, proxy: Proxy | None) -> httpcore.AsyncConnectionPool:
        if proxy not in self._pools:
            by_name = proxy is not None and proxy.scheme in {"http", "https"}
            self._pools[proxy] = httpcore.AsyncConnectionPool(
                ssl_context=self._tls,
                proxy=httpcore.Proxy(proxy.url, auth=proxy.auth) if proxy is not None and by_name else None,
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_KEEPALIVE_CONNECTIONS,
                keepalive_expiry=KEEPALIVE_EXPIRY_S,
                network_backend=self._way(proxy),
            )
        return self._pools[proxy]

    def _way(self, proxy: Proxy | None) -> Backend:
        """How a connection is opened; an HTTP proxy is spoken to by the pool."""
        match proxy and proxy.scheme:
            case None:
                return self._judged(self._sockets)
            case "socks5":
                return self._judged(SocksBackend(proxy, self._sockets))  # type: ignore[arg-type]  # a scheme has a proxy
            case "socks5h":
                return SocksBackend(proxy, self._sockets)  # type: ignore[arg-type]  # as above
            case _:
                return self._sockets


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
