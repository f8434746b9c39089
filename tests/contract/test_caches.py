"""Every cache keeps the promises of `Cache`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from websearch_adapters.cache.disk import DiskCache
from websearch_adapters.cache.memory import MemoryCache
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
