"""The cache in Redis or Valkey, shared by all processes that are given its address; implements `ports.Cache`.

Nothing waits for a server that is gone or slow: the first call that finds it so waits `timeout_s`, all others go on at once in
the memory of this process, and whether the server is back is found out beside them. What others stored under our names is never
opened as anything but our JSON, so a value of a foreign kind, pickled ones included, reads as absent.

The client is the extra `redis` (redis-py 7 or later; read on 2026-11-30 in version 8.1), imported by the constructor.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from websearch_adapters.cache import codec
from websearch_core.errors import NotConfigured
from websearch_core.ports import Cache
from websearch_core.values import Health

__all__ = ["RedisCache"]

T = TypeVar("T")
Ask: TypeAlias = Callable[[Any], Awaitable[Any]]
"""What to ask the client for."""
log = logging.getLogger(__name__)
PAUSE_S = 5.0
"""How long a server that failed is left alone before it is tried again."""
AT_ONCE = 16
"""Most requests of one process at once; further ones wait for their turn."""
SLOW_SHARE, SLOW_ANSWERS = 0.25, 4
"""After so many answers in a row that took more than this share of the limit, a server is as good as silent."""
LONGEST_TTL_S = 366 * 86_400.0
REPLACE = """
local standing = redis.pcall('GETRANGE', KEYS[1], 0, ARGV[4])
if type(standing) == 'table' then standing = '' end
if standing ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""
"""Put a value where a certain foreign one stands, or none; in one step, so that a single one of several callers does it."""


class RedisCache:
    """Opens its connection with the first call; a value that cannot be kept there is kept by `spare` meanwhile."""

    def __init__(
        self,
        address: str,
        spare: Cache,
        *,
        prefix: str = "websearch:",
        timeout_s: float = 0.5,
        value_limit_bytes: int = 8 * 1024 * 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`address`: `redis://`, `rediss://` or `unix://`, with user and password in it. `timeout_s`: longest wait for a reply.

        Raises:
            NotConfigured: the extra is not installed, or the address is none.
        """
        self._redis = _imported()
        self._address = address
        self._shown = _shown(address)
        self._spare = spare
        self._prefix = prefix
        self._timeout_s = timeout_s
        self._value_limit_bytes = value_limit_bytes
        self._clock = clock
        self._link: _Link | None = self._new_link()
        self._fault = ""
        """Why the server is left alone now; blank while it is not."""
        self._until = 0.0
        self._slow = 0
        """Answers in a row that were slow."""

    async def get(self, key: str, kind: type[T], /) -> T | None:
        """What was put, or None."""
        try:
            value = codec.decode(await self._standing(self._name(key)), kind)
        except _Away:
            value = None
        return value if value is not None else await self._spare.get(key, kind)

    async def put(self, key: str, value: object, /, *, ttl_s: float) -> None:
        """Keep a value; one that cannot be encoded, or is larger than a value may be, is as good as forgotten."""
        data = self._encoded(value, ttl_s)
        if data is None:
            await self.drop(key)
            return
        try:
            await self._ask(lambda client: client.set(self._name(key), data, px=_milliseconds(ttl_s)))
        except _Away:
            await self._spare.put(key, value, ttl_s=ttl_s)
        else:
            await self._spare.drop(key)

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        """Keep a value if the key is absent; True for exactly one of several callers, in whatever process.

        Without the server, for exactly one of this process.
        """
        data = self._encoded(value, ttl_s)
        if await self._spare.get(key, type(value)) is not None:
            return False
        if data is None:
            return True
        try:
            return await self._added(self._name(key), data, kind=type(value), ttl_s=ttl_s)
        except _Away:
            return await self._spare.add(key, value, ttl_s=ttl_s)

    async def drop(self, key: str, /) -> None:
        """Forget the key, if it is there; without the server, only here."""
        await self._spare.drop(key)
        try:
            await self._ask(lambda client: client.delete(self._name(key)))
        except _Away:
            return

    async def probe(self, *, live: bool = False) -> Health:  # noqa: ARG002 - both ways of asking cost the same here
        """Whether the server takes a value now; it is asked although it may have failed a moment ago."""
        started = time.perf_counter()
        await self._look()
        if self._fault:
            detail = f"{self._shown} {self._fault}; going on in the memory of this process"
            return Health(part="cache", state="failing", detail=detail)
        latency_ms = round(1_000 * (time.perf_counter() - started), 1)
        return Health(part="cache", state="ok", detail=f"{self._shown} answers", latency_ms=latency_ms)

    async def aclose(self) -> None:
        """Close the connections; the object can be used again afterwards."""
        link, self._link = self._link, None
        if link is not None and link.loop is asyncio.get_running_loop():
            await link.aclose()

    # --- asking

    async def _added(self, name: str, data: bytes, *, kind: type, ttl_s: float) -> bool:
        """Whether the value was put; nothing that `get` would not give back stands in its way."""
        ms, limit = _milliseconds(ttl_s), self._value_limit_bytes
        if await self._ask(lambda client: client.set(name, data, nx=True, px=ms)):
            return True
        standing = await self._standing(name)
        if codec.decode(standing, kind) is not None:
            return False
        return bool(await self._ask(lambda client: client.eval(REPLACE, 1, name, standing, data, ms, limit)))

    async def _standing(self, name: str) -> bytes:
        """The bytes under a name, blank where there are none; of a value that is too large, the beginning."""
        reply = await self._ask(lambda client: client.getrange(name, 0, self._value_limit_bytes))
        return reply if isinstance(reply, bytes) else b""

    async def _ask(self, question: Ask) -> Any:
        """The server's reply; None where something of another type than text stands under the name.

        Raises:
            _Away: it is left alone, or has just failed.
        """
        link = self._linked()
        if self._fault:
            self._look_later(link)
            raise _Away

        async def unless_away(client: Any) -> Any:
            if self._fault:  # found out while this one waited for its turn
                raise _Away
            return await question(client)

        reply = await self._asked(link, unless_away)
        if self._slow >= SLOW_ANSWERS and not self._fault:
            self._leave(_TooSlow())
        return reply

    async def _asked(self, link: _Link, question: Ask) -> Any:
        async def timed(client: Any) -> Any:
            started = self._clock()
            reply = await question(client)
            self._slow = self._slow + 1 if self._clock() - started > SLOW_SHARE * self._timeout_s else 0
            return reply

        try:
            return await link.ask(timed, within_s=self._timeout_s)
        except (self._redis.RedisError, OSError, ValueError) as error:  # asyncio's TimeoutError is an OSError
            if isinstance(error, self._redis.ResponseError) and str(error).startswith("WRONGTYPE"):
                return None
            self._leave(error)
            raise _Away from error

    def _leave(self, error: Exception) -> None:
        """Leave the server alone for a while."""
        self._until = self._clock() + PAUSE_S
        fault = self._in_words(error)
        if fault != self._fault:
            log.warning("cache: %s %s; going on in the memory of this process", self._shown, fault)
        self._fault = fault

    def _look_later(self, link: _Link) -> None:
        """See whether the server is back, if it is time, without anybody waiting for it."""
        if link.looking is None and self._clock() >= self._until:
            link.looking = asyncio.ensure_future(self._look())
            link.looking.add_done_callback(link.looked)

    async def _look(self) -> None:
        """Put a small value, as every kind of failure may concern writing alone; the server is back when it does so quickly."""
        self._slow = 0
        try:
            await self._asked(self._linked(), lambda client: client.set(f"{self._prefix}probe", b"", px=1_000))
        except _Away:
            return
        if self._fault and self._slow:
            self._until = self._clock() + PAUSE_S
            return
        if self._fault:
            log.warning("cache: %s answers again", self._shown)
        self._fault = ""

    def _linked(self) -> _Link:
        """The connections of this event loop; those of another one cannot be used in it."""
        loop = asyncio.get_running_loop()
        if self._link is None or self._link.loop not in {None, loop}:
            self._link = self._new_link()
        self._link.loop = loop
        return self._link

    def _new_link(self) -> _Link:
        try:
            return _Link(_client(self._address, timeout_s=self._timeout_s))
        except (ValueError, TypeError) as error:
            raise NotConfigured(
                "the address of the cache is none", hint="Write cache.redis_url as redis://host:6379/0, rediss:// or unix://."
            ) from error

    def _name(self, key: str) -> str:
        return self._prefix + codec.name(key)

    def _encoded(self, value: object, ttl_s: float) -> bytes | None:
        try:
            data = codec.encode(value)
        except (TypeError, ValueError, RecursionError):
            return None
        return data if ttl_s > 0 and len(data) <= self._value_limit_bytes else None

    def _in_words(self, error: Exception) -> str:
        """What is wrong; never the error's own words, which others wrote."""
        words: dict[type[BaseException], str] = {
            _TooSlow: f"took more than {SLOW_SHARE * self._timeout_s:g} s for each of {SLOW_ANSWERS} answers",
            TimeoutError: f"does not answer within {self._timeout_s:g} s",
            self._redis.TimeoutError: f"does not answer within {self._timeout_s:g} s",
            self._redis.AuthenticationError: "refuses the user or the password",
            self._redis.BusyLoadingError: "is still starting",
            self._redis.ConnectionError: "cannot be reached",
            self._redis.NoPermissionError: "does not permit this user to keep values",
            self._redis.OutOfMemoryError: "is full",
            self._redis.ReadOnlyError: "is read-only",
            OSError: "cannot be reached",
        }
        kind = next((kind for kind in words if isinstance(error, kind)), None)
        return words[kind] if kind else f"answers with an error ({type(error).__name__})"


class _Away(Exception):
    """The server is left alone, or has just failed."""


class _TooSlow(Exception):
    """It answers, and nobody should wait for that."""


class _Link:
    """A client, and all questions to it that are open, in one event loop."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.loop: asyncio.AbstractEventLoop | None = None
        self.looking: asyncio.Future[None] | None = None
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._open: set[asyncio.Future[Any]] = set()

    async def ask(self, question: Ask, *, within_s: float) -> Any:
        """The reply to a question, which has so much time once it is its turn.

        The client can lose a cancellation (version 8.1 on Python 3.11, while it connects), so nobody awaits it directly.

        Raises:
            TimeoutError: there is none.
        """
        await self._gate.acquire()
        asked = asyncio.ensure_future(question(self.client))
        self._open.add(asked)
        asked.add_done_callback(self._ended)
        try:
            await asyncio.wait({asked}, timeout=within_s)
            if not asked.done():
                raise TimeoutError
            return asked.result()
        finally:
            asked.cancel()

    def _ended(self, asked: asyncio.Future[Any]) -> None:
        self._gate.release()
        self._open.discard(asked)
        if not asked.cancelled():
            asked.exception()  # else it is complained about where nobody waits for it any more

    def looked(self, looking: asyncio.Future[None]) -> None:
        """Make room for another look."""
        if self.looking is looking:
            self.looking = None

    async def aclose(self) -> None:
        """End what is under way, and close the connections."""
        under_way = {*self._open, *([self.looking] if self.looking else [])}
        for one in under_way:
            one.cancel()
        if under_way:
            await asyncio.wait(under_way)
        await self.client.aclose()


def _imported() -> Any:
    try:
        import redis.asyncio
        import redis.exceptions
    except ImportError as error:
        raise NotConfigured(
            "cache.kind is redis, and its client is not installed", hint="Install it: pip install 'websearch-mcp[redis]'."
        ) from error
    return redis.exceptions


def _client(address: str, *, timeout_s: float) -> Any:
    """A client that opens nothing yet. A connection that was cut while nobody used it is opened anew, once.

    Raises:
        ValueError, TypeError: not an address of Redis.
    """
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError as CannotConnect

    return Redis.from_url(
        address,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        max_connections=AT_ONCE,
        retry=Retry(NoBackoff(), 1, supported_errors=(CannotConnect,)),
    )


def _shown(address: str) -> str:
    """The server's name without user, password and options."""
    try:
        parts = urlsplit(address)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        return f"Redis at {host}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "Redis"


def _milliseconds(ttl_s: float) -> int:
    return max(1, math.ceil(1_000 * min(ttl_s, LONGEST_TTL_S)))
