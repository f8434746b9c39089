"""The cache on disk, shared by all processes of a user; implements `ports.Cache`.

diskcache would unpickle what it finds in its rows, which turns write access to the folder into code execution (CVE-2025-69872).
So only bytes go in, rows that say "pickle" are treated as absent and never opened, and the folder is closed to others before
anything is in it.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import sqlite3
import struct
import time
from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import diskcache
from diskcache.core import MODE_BINARY, MODE_RAW

from websearch_adapters.cache import codec

__all__ = ["BytesDisk", "DiskCache"]

T = TypeVar("T")
R = TypeVar("R")
BUSY_S = 5.0
"""How long a call waits for another process before it does without the cache."""
SWEEP_AFTER_S = 60.0
"""diskcache removes a row this long after it expired; whether it has expired is judged here, by our own clock."""
FAULTS = (sqlite3.Error, OSError, diskcache.Timeout, TypeError, ValueError, LookupError, RecursionError)
"""Everything that a full, locked, damaged or foreign folder can raise."""


class BytesDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Stores bytes under text keys; refuses every other row instead of unpickling it."""

    def put(self, key: object) -> tuple[object, bool]:
        """A key for the database.

        Raises:
            TypeError: not text.
        """
        if not isinstance(key, str):
            raise TypeError("keys are text")
        return key, True

    def get(self, key: object, raw: object) -> object:
        """A key from the database.

        Raises:
            TypeError: not text as it stands.
        """
        if not raw or not isinstance(key, str):
            raise TypeError("a row that is not ours")
        return key

    def store(self, value: object, read: object, key: object = None) -> Any:
        """A value for the database.

        Raises:
            TypeError: not bytes.
        """
        if read or not isinstance(value, bytes):
            raise TypeError("values are bytes")
        return super().store(value, False, key=key)

    def fetch(self, mode: object, filename: object, value: object, read: object) -> bytes | None:
        """A value from the database; None for a row of any other kind, which is not opened."""
        if read or mode not in {MODE_RAW, MODE_BINARY} or (mode == MODE_RAW and not isinstance(value, bytes)):
            return None
        fetched = super().fetch(mode, filename, value, False)
        return fetched if isinstance(fetched, bytes) else None


class DiskCache:
    """Opens its folder with the first call, and does all its work in one thread of its own.

    Whatever goes wrong with the disk, a call goes on as if nothing had been kept: `get` gives None, `add` True.
    """

    def __init__(
        self,
        folder: Path,
        entries: int = 256,
        size_limit_bytes: int = 200 * 1024 * 1024,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`now` counts seconds since 1970, for all processes alike."""
        self._folder = folder
        self._entries = entries
        self._size_limit_bytes = size_limit_bytes
        self._now = now
        self._cache: diskcache.Cache | None = None
        self._thread: ThreadPoolExecutor | None = None

    async def get(self, key: str, kind: type[T], /) -> T | None:
        """What was put, or None."""
        return await self._do(lambda cache: self._read(cache, codec.name(key), kind), otherwise=None)

    async def put(self, key: str, value: object, /, *, ttl_s: float) -> None:
        """Keep a value; one that cannot be encoded, or is larger than the whole cache, is as good as forgotten."""
        await self._do(lambda cache: self._put(cache, codec.name(key), value, ttl_s), otherwise=None)

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        """Keep a value if the key is absent; True for exactly one of several callers, in whatever process."""
        return await self._do(lambda cache: self._add(cache, codec.name(key), value, ttl_s), otherwise=True)

    async def drop(self, key: str, /) -> None:
        """Forget the key, if it is there."""
        await self._do(lambda cache: cache.delete(codec.name(key)), otherwise=None)

    async def aclose(self) -> None:
        """Close the database and end the thread; the object can be used again afterwards."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await get_running_loop().run_in_executor(thread, self._close)
            thread.shutdown()

    async def _do(self, work: Callable[[diskcache.Cache], R], *, otherwise: R) -> R:
        # One thread, because a connection of SQLite belongs to the thread that opened it and is closed only there.
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="websearch-cache")
        return await get_running_loop().run_in_executor(self._thread, self._guarded, work, otherwise)

    def _guarded(self, work: Callable[[diskcache.Cache], R], otherwise: R) -> R:
        try:
            return work(self._opened())
        except FAULTS as fault:
            if type(fault) is sqlite3.DatabaseError:  # not locked or full, which are subclasses: damaged, or no database
                self._discard()
            return otherwise

    def _opened(self) -> diskcache.Cache:
        if self._cache is None:
            _close_to_others(self._folder)
            self._cache = diskcache.Cache(
                os.fspath(self._folder),
                timeout=BUSY_S,
                disk=BytesDisk,
                size_limit=self._size_limit_bytes,
                eviction_policy="least-recently-stored",
                statistics=0,
            )
        return self._cache

    def _discard(self) -> None:
        """Remove a damaged database; the next call begins a new one."""
        self._close()
        for name in ("cache.db", "cache.db-wal", "cache.db-shm"):
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()

    def _close(self) -> None:
        cache, self._cache = self._cache, None
        if cache is not None:
            with contextlib.suppress(*FAULTS):
                cache.close()

    def _read(self, cache: diskcache.Cache, name: str, kind: type[T]) -> T | None:
        data = self._live(cache, name)
        return None if data is None else codec.decode(data, kind)

    def _live(self, cache: diskcache.Cache, name: str) -> bytes | None:
        """The bytes under a key, without their time, while that time lasts."""
        kept = cache.get(name)
        if not isinstance(kept, bytes) or len(kept) < _TIME.size:
            return None
        (until,) = _TIME.unpack_from(kept)
        return kept[_TIME.size :] if self._now() < until and math.isfinite(until) else None

    def _put(self, cache: diskcache.Cache, name: str, value: object, ttl_s: float) -> None:
        with cache.transact():
            cache.delete(name)
            self._keep(cache, name, value, ttl_s)

    def _add(self, cache: diskcache.Cache, name: str, value: object, ttl_s: float) -> bool:
        with cache.transact():
            if self._live(cache, name) is not None:
                return False
            cache.delete(name)
            self._keep(cache, name, value, ttl_s)
        return True

    def _keep(self, cache: diskcache.Cache, name: str, value: object, ttl_s: float) -> None:
        try:
            data = codec.encode(value)
        except (TypeError, ValueError, RecursionError):
            return
        if ttl_s <= 0 or len(data) > self._size_limit_bytes:
            return
        cache.set(name, _TIME.pack(self._now() + ttl_s) + data, expire=ttl_s + SWEEP_AFTER_S)
        if len(cache) > self._entries:
            _make_room(cache, self._entries)


_TIME = struct.Struct(">d")


def _close_to_others(folder: Path) -> None:
    """Make the folder, for its owner only; an existing one is narrowed.

    Raises:
        OSError: it cannot be made, or belongs to somebody else.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)


def _make_room(cache: diskcache.Cache, entries: int) -> None:
    """Remove what is expired, then what was stored first. A row whose key cannot be read is not ours: then all of it goes."""
    cache.expire()
    try:
        for name in list(itertools.islice(cache, max(0, len(cache) - entries))):
            cache.delete(name)
    except TypeError:
        cache.clear()
