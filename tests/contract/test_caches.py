"""Every cache keeps the promises of `Cache`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from upstreams.redis_server import RedisServer
from websearch_adapters.cache.disk import DiskCache
from websearch_adapters.cache.memory import MemoryCache
from websearch_adapters.cache.redis import PAUSE_S, RedisCache
from websearch_core.ports import Cache
from websearch_core.testing.contracts import CacheContract
from websearch_core.testing.fakes import FakeCache, FakeClock


class TestFake(CacheContract):
    @pytest.fixture
    def cache(self, clock: FakeClock) -> Cache:
        return FakeCache(clock)


class TestMemory(CacheContract):
    @pytest.fixture
    def cache(self, clock: FakeClock) -> Cache:
        return MemoryCache(now=clock)


class TestDisk(CacheContract):
    @pytest.fixture
    async def cache(self, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Cache]:
        cache = DiskCache(tmp_path / "cache", now=clock)
        yield cache
        await cache.aclose()


class AgeingClock(FakeClock):
    """Takes the values of a server along: they are as much older as time has passed."""

    def __init__(self, server: RedisServer) -> None:
        super().__init__()
        self._server = server

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        self._server.age(seconds)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


class TestRedis(CacheContract):
    @pytest.fixture
    def clock(self, server: RedisServer) -> FakeClock:
        server.clear()
        return AgeingClock(server)

    @pytest.fixture
    async def cache(self, clock: FakeClock, server: RedisServer) -> AsyncIterator[Cache]:
        cache = RedisCache(server.url, MemoryCache(now=clock), timeout_s=10.0, clock=clock)
        yield cache
        assert (await cache.probe()).state == "ok", "all of it was in the server"
        await cache.aclose()


class TestRedisThatIsGone(CacheContract):
    """Whoever asks for it keeps all promises to its own process."""

    @pytest.fixture
    async def cache(self, clock: FakeClock) -> AsyncIterator[Cache]:
        cache = RedisCache("redis://127.0.0.1:1/0", MemoryCache(now=clock), timeout_s=10.0, clock=clock)
        yield cache
        clock.advance(PAUSE_S)
        await cache.aclose()
