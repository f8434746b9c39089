"""Connections through a SOCKS5 proxy (RFC 1928, RFC 1929).

The one of httpcore reads a reply as if it came in one piece, and leaves the connection open when the proxy refuses.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Iterable
from typing import Any

import httpcore

from websearch_adapters.http.proxies import Proxy

__all__ = ["SocksBackend"]

REPLIES = {2: "not allowed by its rules", 3: "the network is unreachable", 4: "the host is unreachable", 5: "refused"}


class SocksBackend(httpcore.AsyncNetworkBackend):
    """Connects to an address, or to a name that the proxy then looks up."""

    def __init__(self, proxy: Proxy, sockets: httpcore.AsyncNetworkBackend) -> None:
        self._proxy = proxy
        self._sockets = sockets

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._sockets.connect_tcp(self._proxy.host, self._proxy.port, timeout, local_address, socket_options)
        try:
            await self._greet(stream, timeout)
            await self._ask(stream, _spelled(host), port, timeout)
        except BaseException:
            await stream.aclose()
            raise
        return stream

    async def _greet(self, stream: httpcore.AsyncNetworkStream, limit_s: float | None) -> None:
        auth = self._proxy.auth
        await stream.write(b"\x05\x01\x02" if auth else b"\x05\x01\x00", limit_s)
        if await _exactly(stream, 2, limit_s) != (b"\x05\x02" if auth else b"\x05\x00"):
            raise httpcore.ProxyError("the proxy wants another way of signing in")
        if auth:
            user, password = (part.encode()[:255] for part in auth)
            await stream.write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password, limit_s)
            if (await _exactly(stream, 2, limit_s))[1]:
                raise httpcore.ProxyError("the proxy refuses the user or the password")

    async def _ask(self, stream: httpcore.AsyncNetworkStream, host: bytes, port: int, limit_s: float | None) -> None:
        await stream.write(b"\x05\x01\x00" + host + port.to_bytes(2, "big"), limit_s)
        version, reply, _, bound = await _exactly(stream, 4, limit_s)
        if (version, reply) != (5, 0):
            raise httpcore.ProxyError(f"the proxy did not connect: {REPLIES.get(reply, 'a general failure')}")
        left = {1: 4, 4: 16}.get(bound)
        if left is None:
            left = (await _exactly(stream, 1, limit_s))[0]
        await _exactly(stream, left + 2, limit_s)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _spelled(host: str) -> bytes:
    """The kind of a host and the host, as the protocol writes them."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("idna" if not host.isascii() else "ascii")[:255]
        return b"\x03" + bytes([len(name)]) + name
    return (b"\x01" if address.version == 4 else b"\x04") + address.packed


async def _exactly(stream: httpcore.AsyncNetworkStream, count: int, limit_s: float | None) -> bytes:
    """So many bytes; none that come after them."""
    read = b""
    while len(read) < count:
        more = await stream.read(count - len(read), limit_s)
        if not more:
            raise httpcore.ProxyError("the proxy ended the connection")
        read += more
    return read
