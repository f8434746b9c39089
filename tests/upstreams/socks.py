"""A SOCKS5 proxy on loopback (RFC 1928, RFC 1929) that remembers whom it was asked for, and leads everybody to one port."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["SocksProxy"]


class SocksProxy:
    """Takes connections; with `auth`, only from those who sign in with that user and password."""

    def __init__(self, leads_to: int, *, auth: tuple[str, str] | None = None, reply: int = 0) -> None:
        """`leads_to` is a port of this machine; `reply` is what every request is answered with, 0 for success."""
        self._leads_to = leads_to
        self._auth = auth
        self._reply = reply
        self.port = 0
        self.connections = 0
        self.asked: list[tuple[str, int]] = []
        """Names or addresses, and ports, in the order of coming."""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Run it; gives `host:port`."""
        tasks: set[asyncio.Task[None]] = set()

        async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            self.connections += 1
            try:
                await self._lead(reader, writer)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()
                tasks.discard(task)

        server = await asyncio.start_server(lead, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield f"127.0.0.1:{self.port}"
        finally:
            server.close()
            if tasks:
                await asyncio.wait(tasks)
            await server.wait_closed()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        method = 2 if self._auth else 0
        if method not in methods:
            writer.write(b"\x05\xff")
            return
        writer.write(bytes([5, method]))
        if self._auth and not await self._signed_in(reader, writer):
            return
        self.asked.append(await _target(reader))
        writer.write(bytes([5, self._reply, 0, 3, 4]) + b"name\x00\x00")  # a bound name: rare, and allowed
        if self._reply == 0:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._leads_to)
            await asyncio.gather(_pass(reader, far_writer), _pass(far_reader, writer))

    async def _signed_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        user = (await reader.readexactly((await reader.readexactly(2))[1])).decode()
        password = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        right = (user, password) == self._auth
        writer.write(bytes([1, 0 if right else 1]))
        return right


async def _target(reader: asyncio.StreamReader) -> tuple[str, int]:
    kind = (await reader.readexactly(4))[3]
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
    return host, int.from_bytes(await reader.readexactly(2), "big")


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
