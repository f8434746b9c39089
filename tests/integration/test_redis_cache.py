"""The cache in Redis, against a real server: gone, slow, killed and back, with a wrong password, and full of what others wrote."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from upstreams.ports import free_port
from upstreams.redis_server import RedisServer, Wire
from websearch_adapters.cache import codec
from websearch_adapters.cache.memory import MemoryCache
from websearch_adapters.cache.redis import PAUSE_S, RedisCache
from websearch_core.errors import NotConfigured
from websearch_core.testing.fakes import FakeClock
from websearch_core.values import Note, Page, SourceList

pytestmark = pytest.mark.anyio
PASSWORD = "redis-canary-0123456789"
WHILE_S = 30.0
"""Longer than anything here takes; a call that comes back earlier has not waited for the server."""


def note(text: str = "kept") -> Note:
    return Note(code="test", text=text)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def server(running: RedisServer) -> RedisServer:
    running.clear()
    return running


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that the test may kill."""
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def cache(server: RedisServer, clock: FakeClock) -> AsyncIterator[RedisCache]:
    cache = made(server.url, clock)
    yield cache
    await cache.aclose()


def made(url: str, clock: FakeClock, **more: Any) -> RedisCache:
    return RedisCache(url, MemoryCache(now=clock), clock=clock, **{"timeout_s": 10.0, **more})


async def looked_again(clock: FakeClock, cache: RedisCache) -> None:
    """Let the pause pass, have a call notice it, and wait until the look that it caused is over."""
    before = asyncio.all_tasks()
    clock.advance(PAUSE_S)
    await cache.get("nothing", Note)
    if looks := asyncio.all_tasks() - before:
        await asyncio.wait(looks, timeout=WHILE_S)


async def answered(cache: RedisCache) -> None:
    """Wait until a cache that waits for little has had an answer: on a busy machine the first may come too late."""
    for _ in range(200):
        if (await cache.probe()).state == "ok":
            return
    pytest.fail("the server never answered in time")


async def is_back(cache: RedisCache, clock: FakeClock, value: Note) -> bool:
    """Whether the cache finds its server again by itself and gives what stands there, each time that it looks or soon after."""
    for _ in range(200):
        await looked_again(clock, cache)
        if await cache.get("key", Note) == value:
            return True
    return False


# --- what is kept


async def test_two_caches_share_what_either_keeps(cache: RedisCache, server: RedisServer, clock: FakeClock) -> None:
    other = made(server.url, clock)
    await cache.put("key", note("from one"), ttl_s=60)
    assert await other.get("key", Note) == note("from one")
    assert await other.add("key", note("other"), ttl_s=60) is False
    await other.drop("key")
    assert await cache.get("key", Note) is None
    await other.aclose()


async def test_one_of_many_callers_in_several_caches_adds(server: RedisServer, clock: FakeClock) -> None:
    caches = [made(server.url, clock) for _ in range(4)]
    added = await asyncio.gather(*(cache.add("key", note(str(place)), ttl_s=60) for place, cache in enumerate(caches * 10)))
    assert added.count(True) == 1
    assert await caches[0].get("key", Note) == note(str(added.index(True)))
    for cache in caches:
        await cache.aclose()


async def test_what_stands_in_the_server_is_json_under_a_digest_with_an_end(cache: RedisCache, server: RedisServer) -> None:
    await cache.put("what a user asked", note(), ttl_s=60)
    assert await cache.add("who asked", note(), ttl_s=0.0001) is True
    with server.client() as client:
        names = {name.decode() for name in client.scan_iter()}
        assert f"websearch:{codec.name('what a user asked')}" in names
        assert not any("asked" in name for name in names)
        assert client.get(f"websearch:{codec.name('what a user asked')}") == codec.encode(note())
        assert 0 < client.pttl(f"websearch:{codec.name('what a user asked')}") <= 60_000


async def test_prefixes_keep_apart(server: RedisServer, clock: FakeClock) -> None:
    one, other = made(server.url, clock, prefix="one:"), made(server.url, clock, prefix="other:")
    await one.put("key", note(), ttl_s=60)
    assert await other.get("key", Note) is None
    await one.aclose()
    await other.aclose()


async def test_a_value_that_is_too_large_replaces_the_old_one_by_nothing(server: RedisServer, clock: FakeClock) -> None:
    cache = made(server.url, clock, value_limit_bytes=1_000)
    await cache.put("key", note("small"), ttl_s=60)
    await cache.put("key", note("x" * 1_000), ttl_s=60)
    assert await cache.get("key", Note) is None
    assert await cache.add("key", note("x" * 1_000), ttl_s=60) is True
    with server.client() as client:
        assert client.dbsize() == 0
    await cache.aclose()


# --- what others wrote


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.trace,))


async def test_pickled_bytes_read_as_absent_and_are_never_unpickled(
    cache: RedisCache, server: RedisServer, tmp_path: Path
) -> None:
    trace = tmp_path / "exploded"
    bomb = pickle.dumps(Bomb(trace))
    pickle.loads(bomb)
    assert trace.exists(), "the bomb works"
    trace.unlink()
    with server.client() as client:
        client.set(f"websearch:{codec.name('key')}", bomb)
    assert await cache.get("key", Note) is None
    assert await cache.add("key", note("new"), ttl_s=60) is True
    assert await cache.get("key", Note) == note("new")
    assert not trace.exists()


GARBAGE = {
    "blank": ("set", b""),
    "bytes": ("set", bytes(range(256))),
    "another version": ("set", codec.encode(note()).replace(b"Note 1", b"Note 0")),
    "half of a value": ("set", codec.encode(note())[:-4]),
    "more than a value may be": ("set", b'"' + b"x" * 3_000_000 + b'"'),
    "a list": ("lpush", b"one"),
    "a set": ("sadd", b"one"),
}


@pytest.mark.parametrize("kind", GARBAGE)
async def test_garbage_is_a_miss_and_stands_in_nobodys_way(kind: str, server: RedisServer, clock: FakeClock) -> None:
    """One caller of many replaces it, and all others find what that one put."""
    caches = [made(server.url, clock, value_limit_bytes=2_000_000) for _ in range(3)]
    how, value = GARBAGE[kind]
    with server.client() as client:
        getattr(client, how)(f"websearch:{codec.name('key')}", value)
    assert await caches[0].get("key", Note) is None
    added = await asyncio.gather(*(cache.add("key", note(str(place)), ttl_s=60) for place, cache in enumerate(caches)))
    assert added.count(True) == 1
    assert await caches[1].get("key", Note) == note(str(added.index(True)))
    await caches[0].put("key", note("over it"), ttl_s=60)
    assert await caches[2].get("key", Note) == note("over it")
    assert (await caches[0].probe()).state == "ok", "a strange value is no fault of the server"
    for cache in caches:
        await cache.aclose()


# --- other ways to the server


async def test_a_socket_of_this_machine_is_an_address(tmp_path_factory: pytest.TempPathFactory, clock: FakeClock) -> None:
    folder = tmp_path_factory.mktemp("r")  # the path of a socket may be a hundred characters long
    server = RedisServer(folder, options={"unixsocket": str(folder / "redis.sock")})
    server.start()
    cache = made(f"unix://{folder}/redis.sock?db=1", clock)
    await cache.put("key", note(), ttl_s=60)
    assert await cache.get("key", Note) == note()
    assert (await cache.probe()).state == "ok"
    await cache.aclose()
    with server.client() as client:
        assert client.dbsize() == 0, "it is the other database"
    server.kill()


async def test_with_tls_the_certificate_is_checked(tmp_path: Path, clock: FakeClock) -> None:
    certificate, key = self_signed(tmp_path, "127.0.0.1")
    port = free_port()
    tls = {"tls-port": str(port), "tls-cert-file": str(certificate), "tls-key-file": str(key), "tls-auth-clients": "no"}
    server = RedisServer(tmp_path, options={**tls, "tls-ca-cert-file": str(certificate)})
    server.start()
    trusting = made(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificate}", clock)
    await trusting.put("key", note(), ttl_s=60)
    assert (await trusting.probe()).state == "ok"
    wary = made(f"rediss://127.0.0.1:{port}/0", clock)
    assert await wary.get("key", Note) is None
    assert (await wary.probe()).state == "failing"
    await trusting.aclose()
    await wary.aclose()
    server.kill()


def self_signed(folder: Path, address: str) -> tuple[Path, Path]:
    """A certificate for an address and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "redis of a test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    return files


# --- a server that is gone, slow, or not for us


async def test_a_killed_server_breaks_nothing_and_is_used_again_when_it_is_back(
    own: RedisServer, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    cache = made(own.url, clock)
    await cache.put("before", note(), ttl_s=60)
    own.kill()
    assert await cache.get("before", Note) is None
    await cache.put("during", note("kept in memory"), ttl_s=60)
    assert await cache.get("during", Note) == note("kept in memory")
    assert [await cache.add("claim", note(), ttl_s=60) for _ in range(2)] == [True, False]
    await looked_again(clock, cache)
    health = await cache.probe()
    assert (health.part, health.state) == ("cache", "failing")
    assert health.detail == f"Redis at 127.0.0.1:{own.port}/0 cannot be reached; going on in the memory of this process"

    own.start()
    await looked_again(clock, cache)
    await cache.put("after", note("in the server"), ttl_s=60)
    other = made(own.url, clock)
    assert await other.get("after", Note) == note("in the server")
    assert await cache.get("during", Note) == note("kept in memory"), "what was kept meanwhile is still known here"
    assert await cache.add("claim", note(), ttl_s=60) is False
    assert (await cache.probe()).state == "ok"
    said = [record.getMessage() for record in caplog.records if record.name.startswith("websearch_adapters")]
    assert said == [
        f"cache: Redis at 127.0.0.1:{own.port}/0 cannot be reached; going on in the memory of this process",
        f"cache: Redis at 127.0.0.1:{own.port}/0 answers again",
    ]
    await cache.aclose()
    await other.aclose()


async def test_a_connection_that_was_cut_while_nobody_used_it_is_no_failure(cache: RedisCache, server: RedisServer) -> None:
    await cache.put("key", note(), ttl_s=60)
    with server.client() as client:
        client.client_kill_filter(_type="normal", skipme=True)
    assert await cache.get("key", Note) == note()
    assert await cache.add("other", note(), ttl_s=60) is True


async def test_a_silent_server_is_waited_for_once_and_then_by_nobody(
    cache: RedisCache, server: RedisServer, clock: FakeClock
) -> None:
    """All further calls return although the server would still not answer; even the one that causes a new look."""
    await cache.put("key", note("in the server"), ttl_s=60)
    async with Wire.to(server.url) as wire:
        hasty = made(wire.url, clock, timeout_s=0.05)
        await answered(hasty)
        wire.hold()
        async with asyncio.timeout(WHILE_S):
            assert await asyncio.gather(*(hasty.get("key", Note) for _ in range(100))) == [None] * 100
        patient = made(wire.url, clock, timeout_s=WHILE_S * 10)
        patient._leave(TimeoutError())
        async with asyncio.timeout(WHILE_S):
            clock.advance(PAUSE_S)
            assert await patient.get("key", Note) is None
            await patient.put("key", note("kept in memory"), ttl_s=60)
            assert await patient.get("key", Note) == note("kept in memory")
            await patient.aclose()
        wire.release()
        assert await is_back(hasty, clock, note("in the server"))
        await hasty.aclose()


class TickingClock(FakeClock):
    """Goes on by itself, each time that somebody looks at it."""

    step_s = 0.0

    def __call__(self) -> float:
        self.advance(self.step_s)
        return super().__call__()


async def test_a_server_that_answers_slowly_time_after_time_is_left_alone_until_it_is_quick(server: RedisServer) -> None:
    clock = TickingClock()
    cache = made(server.url, clock, timeout_s=10.0)
    clock.step_s = 3.0
    for _ in range(3):
        await cache.put("key", note("in the server"), ttl_s=600)
    assert (await cache.probe()).state == "ok", "a slow answer or two are none"
    for _ in range(3):  # the probe's was slow too
        assert await cache.get("key", Note) == note("in the server")
    assert await cache.get("key", Note) is None
    await looked_again(clock, cache)
    health = await cache.probe()
    assert "took more than 2.5 s for each of 4 answers" in health.detail
    clock.step_s = 0.0
    await looked_again(clock, cache)
    assert await cache.get("key", Note) == note("in the server")
    await cache.aclose()


async def test_a_failed_server_is_not_tried_again_before_its_time(server: RedisServer, clock: FakeClock) -> None:
    async with Wire.to("redis://127.0.0.1:1/0") as wire:
        cache = made(wire.url, clock)
        await cache.get("key", Note)
        tried = wire.connections
        for _ in range(50):
            await cache.get("key", Note)
        assert wire.connections == tried
        await looked_again(clock, cache)
        assert wire.connections > tried
        await cache.aclose()


@pytest.mark.parametrize("warm", [True, False], ids=["connected", "connecting"])
async def test_a_call_that_is_cancelled_ends_and_leaves_no_reply_behind_for_the_next(
    warm: bool, server: RedisServer, clock: FakeClock
) -> None:
    """Cancelled at every turn of the event loop that a call takes."""
    async with Wire.to(server.url) as wire:
        cache = made(server.url, clock)
        for number in range(40):
            await cache.put(str(number), note(str(number)), ttl_s=60)
        await cache.aclose()
        cache = made(wire.url, clock, timeout_s=WHILE_S * 10)
        if warm:
            await cache.get("0", Note)
        wire.hold()
        for number in range(40):
            call = asyncio.ensure_future(cache.get(str(number), Note))
            for _ in range(number):
                await asyncio.sleep(0)
            call.cancel()
            done, _ = await asyncio.wait({call}, timeout=WHILE_S)
            assert done
            assert call.cancelled()
        wire.release()
        assert [await cache.get(str(number), Note) for number in range(40)] == [note(str(number)) for number in range(40)]
        await cache.aclose()


@pytest.mark.parametrize("address", ["redis://:wrong-0123456789@127.0.0.1:{}/0", "redis://127.0.0.1:{}/0"])
async def test_a_wrong_password_is_told_without_showing_it(
    address: str, tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    server = RedisServer(tmp_path, password=PASSWORD)
    server.start()
    right, wrong = made(server.url, clock), made(address.format(server.port), clock)
    assert (await right.probe()).state == "ok"
    await wrong.put("key", note(), ttl_s=60)
    assert await wrong.get("key", Note) == note()
    assert await right.get("key", Note) is None
    health = await wrong.probe()
    assert (health.state, "refuses the user or the password" in health.detail) == ("failing", True)
    assert "0123456789" not in caplog.text + health.detail
    await right.aclose()
    await wrong.aclose()
    server.kill()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (("maxmemory", "1"), "is full"),
        (("replica-read-only", "yes"), "is read-only"),
    ],
)
async def test_a_server_that_takes_no_value_is_left_alone(
    setting: tuple[str, str], words: str, own: RedisServer, clock: FakeClock
) -> None:
    cache = made(own.url, clock)
    with own.client() as client:
        client.config_set(*setting)
        if setting[0].startswith("replica"):
            client.replicaof("127.0.0.1", "1")
    await cache.put("key", Page(url="https://a.example/", text="x" * 10_000, provider="p"), ttl_s=60)
    assert await cache.get("key", Page) is not None
    assert words in (await cache.probe()).detail
    await cache.aclose()


async def test_a_server_of_another_kind_is_left_alone(clock: FakeClock) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    cache = made(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0", clock)
    await cache.put("key", SourceList(), ttl_s=60)
    assert await cache.get("key", SourceList) == SourceList()
    assert (await cache.probe()).state == "failing"
    await cache.aclose()
    server.close()
    await server.wait_closed()


def test_it_serves_one_event_loop_after_another(server: RedisServer, clock: FakeClock) -> None:
    cache = made(server.url, clock)

    async def closed_after(number: int) -> Note | None:
        await cache.put(str(number), note(str(number)), ttl_s=60)
        kept = await cache.get("0", Note)
        await cache.aclose()
        return kept

    for number in range(3):
        with asyncio.Runner() as runner:
            assert runner.run(closed_after(number)) == note("0")


@pytest.mark.parametrize("address", ["", "host:6379", "http://host/", "redis://host:port/0"])
def test_what_is_no_address_is_told_at_once(address: str, clock: FakeClock) -> None:
    with pytest.raises(NotConfigured, match="address") as caught:
        made(address, clock)
    assert "redis://host:6379/0" in (caught.value.hint or "")


async def test_closing_while_it_is_looking_leaves_nothing_behind(
    cache: RedisCache, server: RedisServer, clock: FakeClock
) -> None:
    await cache.put("key", note(), ttl_s=60)
    async with Wire.to(server.url) as wire:
        hasty = made(wire.url, clock, timeout_s=0.05)
        await answered(hasty)
        wire.hold()
        before = asyncio.all_tasks()
        assert await hasty.get("key", Note) is None
        clock.advance(PAUSE_S)
        await hasty.get("key", Note)
        await hasty.aclose()
        await hasty.aclose()
        assert {task for task in asyncio.all_tasks() - before if "_look" in repr(task)} == set()
