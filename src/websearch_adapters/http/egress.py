"""The transport for pages: it looks names up itself, asks `core.egress` about every address, and connects to one of those.

No second look-up happens between the verdict and the connection. TLS and the Host header keep the name. A `socks5` proxy is
given the address that was judged. All other proxies look names up themselves, so of a name only its form is judged, and a
literal address as ever; where the name leads is then the proxy's to judge.
"""

from __future__ import annotations

import asyncio
import functools
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import httpcore
import httpx

from websearch_adapters.http.proxies import Proxies
from websearch_adapters.http.routes import RoutedTransport
from websearch_core import egress

if TYPE_CHECKING:
    import ssl

__all__ = ["GuardedTransport", "Resolver", "system_resolver"]

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to addresses, best first; raises OSError when the name is unknown."""


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
        fake_ip: bool = False,
        resolver: Resolver | None = None,
        sockets: httpcore.AsyncNetworkBackend | None = None,
        proxies: Proxies | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`fake_ip`: see `core.egress`; `sockets` opens the connections; `tls` replaces the certificates that are trusted."""
        self._allow = tuple(allow)
        judged = functools.partial(_Checked, resolve=resolver or system_resolver, allow=self._allow, fake_ip=fake_ip)
        self._routes = RoutedTransport(proxies or Proxies(), sockets=sockets, judged=judged, tls=tls)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; redirects are the caller's business."""
        url = request.url
        egress.verdict(_origin(url.scheme, url.raw_host.decode("ascii"), url.port), allow=self._allow)
        return await self._routes.handle_async_request(request)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._routes.aclose()


class _Checked(httpcore.AsyncNetworkBackend):
    """Opens connections to checked addresses."""

    def __init__(self, sockets: httpcore.AsyncNetworkBackend, *, resolve: Resolver, allow: Sequence[str], fake_ip: bool) -> None:
        self._sockets = sockets
        self._resolve = resolve
        self._allow = allow
        self._fake_ip = fake_ip

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
        egress.verdict(_origin("http", host, port), addresses, allow=self._allow, fake_ip=self._fake_ip)
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


def _origin(scheme: str, host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{scheme}://{name}{f':{port}' if port is not None else ''}/"
