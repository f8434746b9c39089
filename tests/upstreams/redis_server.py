"""A real Redis on a free loopback port, which can be killed and started again, and a wire to it that can fall silent."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from upstreams.ports import free_port

__all__ = ["RedisServer", "Wire"]

START_TRIES, START_EVERY_S = 3_000, 0.02


class RedisServer:
    """One process; nothing that it holds outlives it."""

    def __init__(self, folder: Path, *, password: str = "", options: Mapping[str, str] = MappingProxyType({})) -> None:
        """`options` are further ones of the server's own."""
        self._options = options
        self.port = free_port()
        self.url = f"redis://{f':{password}@' if password else ''}127.0.0.1:{self.port}/0"
        self._folder = folder
        self._password = password
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and come back when it answers."""
        program = shutil.which("redis-server")
        assert program, "redis-server is missing: scripts/system-packages installs it"
        options = {"port": self.port, "bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": self._folder}
        options |= self._options
        command = [program, *(part for name, value in options.items() for part in (f"--{name}", str(value)))]
        if self._password:
            command += ["--requirepass", self._password]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with self.client() as client:
            client.ping()

    def kill(self) -> None:
        """End it as a crash would; all it held is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> Any:
        """A client of our own, to plant, look and age; patient while the server starts."""
        return redis.Redis.from_url(self.url, retry=Retry(ConstantBackoff(START_EVERY_S), START_TRIES), protocol=2)

    def age(self, seconds: float) -> None:
        """Let all values grow older, as time would."""
        with self.client() as client:
            for name in client.scan_iter():
                left_ms = client.pttl(name)
                if left_ms >= 0:
                    client.pexpire(name, int(left_ms - 1_000 * seconds))

    def clear(self) -> None:
        """Forget everything."""
        with self.client() as client:
            client.flushall()


class Wire:
    """A port that leads to another one, and can stop to deliver in either direction."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._open = asyncio.Event()
        self._open.set()
        self._over = False
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._leading: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.url = ""

    @classmethod
    @asynccontextmanager
    async def to(cls, url: str) -> AsyncIterator[Wire]:
        """A wire to the port of `url`, with an address of its own."""
        wire = cls(url)
        wire._server = await asyncio.start_server(wire._lead, "127.0.0.1", 0)
        port = wire._server.sockets[0].getsockname()[1]
        wire.url = f"redis://127.0.0.1:{port}/0"
        try:
            yield wire
        finally:
            wire._server.close()
            wire._over = True
            wire.release()
            for writer in wire._writers:
                writer.close()
            if wire._leading:
                await asyncio.wait(wire._leading)
            await wire._server.wait_closed()

    def hold(self) -> None:
        """Deliver nothing from now on."""
        self._open.clear()

    def release(self) -> None:
        """Deliver what was held, and go on."""
        self._open.set()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._leading.add(task)
        task.add_done_callback(self._leading.discard)
        try:
            far_reader, far_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, far_writer}
        if self._over:  # it was still connecting when all others were closed
            writer.close()
            far_writer.close()
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
