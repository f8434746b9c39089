"""The cache of one process: least recently used values go first; implements `ports.Cache`."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from websearch_adapters.cache import codec

__all__ = ["MemoryCache"]

T = TypeVar("T")


class MemoryCache:
    """Keeps values as bytes, like its sister on disk, so that a kept value cannot change behind the cache's back."""

    def __init__(
        self, entries: int = 256, *, size_limit_bytes: int = 64 * 1024 * 1024, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._entries = entries
        self._size_limit_bytes = size_limit_bytes
        self._now = now
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._size_bytes = 0

    async def get(self, key: str, kind: type[T], /) -> T | None:
        """What was put, or None; reading makes a value the most recently used."""
        data = self._live(key)
        if data is None:
            return None
        self._kept.move_to_end(key)
        return codec.decode(data, kind)

    async def put(self, key: str, value: object, /, *, ttl_s: float) -> None:
        """Keep a value; one that cannot be encoded, or is larger than the whole cache, is as good as forgotten."""
        self._keep(key, value, ttl_s)

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        """Keep a value if the key is absent; True for exactly one of several callers."""
        if self._live(key) is not None:
            return False
        self._keep(key, value, ttl_s)
        return True

    async def drop(self, key: str, /) -> None:
        """Forget the key, if it is there."""
        self._forget(key)

    def _live(self, key: str) -> bytes | None:
        until, data = self._kept.get(key, (0.0, None))
        if data is not None and until <= self._now():
            self._forget(key)
            return None
        return data

    def _keep(self, key: str, value: object, ttl_s: float) -> None:
        self._forget(key)
        try:
            data = codec.encode(value)
        except (TypeError, ValueError, RecursionError):
            return
        if ttl_s <= 0 or len(data) > self._size_limit_bytes:
            return
        self._kept[key] = (self._now() + ttl_s, data)
        self._size_bytes += len(data)
        while len(self._kept) > self._entries or self._size_bytes > self._size_limit_bytes:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: str) -> None:
        _, data = self._kept.pop(key, (0.0, b""))
        self._size_bytes -= len(data)
