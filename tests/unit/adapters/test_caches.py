"""What the caches keep, for how long, where, and what they refuse to open."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import pickle
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import websearch_core
from websearch_adapters.cache import codec
from websearch_adapters.cache.disk import DiskCache
from websearch_adapters.cache.memory import MemoryCache
from websearch_core.testing.fakes import FakeClock
from websearch_core.values import (
    Answer,
    ConfigResult,
    ErrorDetail,
    FetchRequest,
    FetchResult,
    Health,
    Link,
    Note,
    Page,
    Report,
    SearchQuery,
    SearchResult,
    Secret,
    Setting,
    SiteMap,
    Source,
    SourceList,
    SourcesResult,
    Usage,
)

pytestmark = pytest.mark.anyio

SOURCES = Path(websearch_core.__file__).parents[1]
ANSWER = Answer(
    text="Ünïcode, 中文 und \x00 \ud800",
    sources=(Source(url="https://a.example/", evidence="cited", next_start=0), Source(url="https://b.example/")),
    engine="grok_responses",
    searched=False,
    usage=Usage(input_tokens=1, cost_usd=0.5),
    notes=(Note(code="a", text="b"),),
)
VALUES = [
    ANSWER,
    dataclasses.replace(ANSWER, usage=None, searched=None),
    SourceList(),
    SearchQuery(query="what", extra_sources=3, include_domains=("a.example",)),
    FetchRequest(url="https://a.example/"),
    Page(url="https://a.example/", text="text", provider="local"),
    SiteMap(root="https://a.example/", links=(Link(url="https://a.example/b"),), provider="local"),
    Health(part="xai", state="ok", latency_ms=1.5, models=("grok",)),
    SearchResult(session_id="0" * 12, sources=(Source(url="https://a.example/"),), next_offset=None),
    SourcesResult(session_id="0" * 12),
    FetchResult(
        url="https://a.example/",
        status="error",
        error="x",
        error_detail=ErrorDetail(code="x", message="m", service="s", retryable=True, diagnostics={"a": [1, {"b": None}]}),
    ),
    ConfigResult(configuration={"a": 1, "b": ["c", 2.5, True]}),
    Report(settings=(Setting(name="a", value={"deep": [1, None]}, origin="default"),), versions={"python": "3"}),
]


def note(text: str = "kept") -> Note:
    return Note(code="test", text=text)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def disk(tmp_path: Path, clock: FakeClock) -> AsyncIterator[DiskCache]:
    cache = DiskCache(tmp_path / "cache", now=clock)
    yield cache
    await cache.aclose()


@pytest.fixture(params=["memory", "disk"])
async def cache(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[MemoryCache | DiskCache]:
    if request.param == "memory":
        yield MemoryCache(3, size_limit_bytes=10_000, now=clock)
        return
    on_disk = DiskCache(tmp_path / "cache", 3, 1_000_000, now=clock)
    yield on_disk
    await on_disk.aclose()


# --- the codec ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_every_value_comes_back_as_it_was(value: object) -> None:
    assert codec.decode(codec.encode(value), type(value)) == value


def test_bytes_are_json_with_the_name_of_the_class_and_a_version() -> None:
    document = json.loads(codec.encode(note()))
    assert document == {"tag": "Note 1", "value": {"code": "test", "text": "kept", "provider": ""}}


GOOD = json.loads(codec.encode(Health(part="xai", state="ok", latency_ms=1.0, models=("a",))))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        pickle.dumps("x"),
        codec.encode(note())[:-3],
        *(
            json.dumps(changed).encode()
            for changed in [
                {**GOOD, "tag": "Health 2"},
                {**GOOD, "tag": "Note 1"},
                {"tag": GOOD["tag"]},
                {**GOOD, "value": []},
                {**GOOD, "value": {**GOOD["value"], "new": 1}},
                {**GOOD, "value": {"part": "xai", "state": "ok"}},
                {**GOOD, "value": {**GOOD["value"], "part": 1}},
                {**GOOD, "value": {**GOOD["value"], "state": "unheard-of"}},
                {**GOOD, "value": {**GOOD["value"], "latency_ms": True}},
                {**GOOD, "value": {**GOOD["value"], "latency_ms": "1"}},
                {**GOOD, "value": {**GOOD["value"], "models": "a"}},
                {**GOOD, "value": {**GOOD["value"], "models": [1]}},
            ]
        ),
    ],
)
def test_anything_that_is_not_exactly_such_a_value_reads_as_absent(data: bytes) -> None:
    assert codec.decode(json.dumps(GOOD).encode(), Health) is not None
    assert codec.decode(data, Health) is None


def test_a_value_that_breaks_its_own_limits_reads_as_absent() -> None:
    data = codec.encode(SearchQuery(query="what")).replace(b'"query": "what"', b'"query": "    "')
    assert codec.decode(data, SearchQuery) is None


def test_a_class_that_is_no_value_reads_as_absent() -> None:
    assert codec.decode(b'{"tag": "str 1", "value": "text"}', dict) is None


@dataclass(frozen=True)
class Holder:
    """Holds anything."""

    item: Any
    table: Mapping[str, object] = field(default_factory=dict)


SECRET = Secret("xai-0123456789abcdef")


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        Holder(SECRET),
        Holder(item=(1, [SECRET])),
        Holder(item=None, table={"deep": {"key": SECRET}}),
        Holder(item=b"bytes"),
        Holder(item={1: "a key that is no text"}),
        Holder(item=float("nan")),
        "text",
        Holder,
        None,
    ],
)
async def test_secrets_and_what_is_no_plain_value_are_never_kept(cache: MemoryCache | DiskCache, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        codec.encode(value)
    await cache.put("key", value, ttl_s=60)
    assert await cache.get("key", type(value)) is None


# --- both ---------------------------------------------------------------------------------------------------------


async def test_a_value_that_cannot_be_kept_replaces_the_old_one_by_nothing(cache: MemoryCache | DiskCache) -> None:
    await cache.put("key", note(), ttl_s=60)
    await cache.put("key", Holder(SECRET), ttl_s=60)
    assert await cache.get("key", Note) is None


@pytest.mark.requirement("HEAD-01")
async def test_a_value_is_there_until_its_time_is_over_and_not_at_that_moment(
    cache: MemoryCache | DiskCache, clock: FakeClock
) -> None:
    await cache.put("key", note(), ttl_s=10)
    clock.advance(9.5)
    assert await cache.get("key", Note) == note()
    clock.advance(0.5)
    assert await cache.get("key", Note) is None


@pytest.mark.parametrize("ttl_s", [0, -1])
async def test_no_time_to_live_means_not_kept(cache: MemoryCache | DiskCache, ttl_s: float) -> None:
    await cache.put("key", note("old"), ttl_s=60)
    await cache.put("key", note(), ttl_s=ttl_s)
    assert await cache.get("key", Note) is None


async def test_adds_exactly_one_of_many_tasks(cache: MemoryCache | DiskCache) -> None:
    won = await asyncio.gather(*(cache.add("key", note(str(number)), ttl_s=60) for number in range(30)))
    assert won.count(True) == 1
    assert await cache.get("key", Note) == note(str(won.index(True)))


async def test_adds_over_an_expired_value(cache: MemoryCache | DiskCache, clock: FakeClock) -> None:
    assert await cache.add("key", note("first"), ttl_s=10)
    clock.advance(10)
    assert await cache.add("key", note("second"), ttl_s=10)
    assert await cache.get("key", Note) == note("second")


@pytest.mark.requirement("HEAD-02")
async def test_keeps_no_more_values_than_it_may(cache: MemoryCache | DiskCache) -> None:
    for number in range(6):
        await cache.put(f"key {number}", note(str(number)), ttl_s=60)
    kept = [number for number in range(6) if await cache.get(f"key {number}", Note)]
    assert kept == [3, 4, 5]


async def test_a_value_that_was_put_again_is_not_the_oldest(cache: MemoryCache | DiskCache) -> None:
    for key in ("a", "b", "c", "a", "d"):
        await cache.put(key, note(key), ttl_s=60)
    assert [key for key in "abcd" if await cache.get(key, Note)] == ["a", "c", "d"]


async def test_a_value_larger_than_the_cache_is_not_kept_and_pushes_nothing_out(cache: MemoryCache | DiskCache) -> None:
    await cache.put("small", note(), ttl_s=60)
    await cache.put("large", note("x" * 1_000_001), ttl_s=60)
    assert await cache.get("large", Note) is None
    assert await cache.get("small", Note) == note()


async def test_a_changed_original_does_not_change_what_is_kept(cache: MemoryCache | DiskCache) -> None:
    table: dict[str, Any] = {"a": 1}
    await cache.put("key", ConfigResult(configuration=table), ttl_s=60)
    table["a"] = 2
    kept = await cache.get("key", ConfigResult)
    assert kept is not None
    assert kept.configuration == {"a": 1}


# --- memory -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HEAD-02")
async def test_reading_keeps_a_value_young(clock: FakeClock) -> None:
    cache = MemoryCache(2, now=clock)
    await cache.put("a", note("a"), ttl_s=60)
    await cache.put("b", note("b"), ttl_s=60)
    await cache.get("a", Note)
    await cache.put("c", note("c"), ttl_s=60)
    assert [key for key in "abc" if await cache.get(key, Note)] == ["a", "c"]


async def test_the_oldest_make_room_when_the_bytes_run_out(clock: FakeClock) -> None:
    cache = MemoryCache(100, size_limit_bytes=3_000, now=clock)
    for key in "abcd":
        await cache.put(key, note("x" * 900), ttl_s=60)
    assert [key for key in "abcd" if await cache.get(key, Note)] == ["b", "c", "d"]
    await cache.drop("b")
    await cache.put("e", note("x" * 900), ttl_s=60)
    assert [key for key in "abcde" if await cache.get(key, Note)] == ["c", "d", "e"], "dropped bytes are free again"


# --- disk ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(folder / "cache.db")) as database, database:
        yield database


def rows(folder: Path) -> list[tuple[Any, ...]]:
    with opened(folder) as database:
        return database.execute("SELECT key, raw, mode, filename, value FROM Cache").fetchall()


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.trace,))


@pytest.mark.parametrize("size", [10, 100_000], ids=["in the row", "in a file"])
async def test_a_pickled_row_is_absent_and_never_unpickled(disk: DiskCache, tmp_path: Path, size: int) -> None:
    """Both ways in which diskcache stores pickles, planted under a key that is asked for."""
    folder, trace = tmp_path / "cache", tmp_path / "exploded"
    await disk.put("key", note("x" * size), ttl_s=60)
    bomb = pickle.dumps(Bomb(trace))
    pickle.loads(bomb)
    assert trace.exists(), "the bomb works"
    trace.unlink()
    with opened(folder) as database:
        ((filename,),) = database.execute("SELECT filename FROM Cache").fetchall()
        assert (filename is None) == (size == 10)
        if filename is None:
            database.execute("UPDATE Cache SET mode = 4, value = ?", (bomb,))
        else:
            (folder / filename).write_bytes(bomb)
            database.execute("UPDATE Cache SET mode = 4")
    assert await disk.get("key", Note) is None
    assert await disk.add("key", note("new"), ttl_s=60) is True
    assert await disk.get("key", Note) == note("new")
    assert not trace.exists()


async def test_a_pickled_key_is_never_unpickled_and_all_of_a_foreign_database_goes(tmp_path: Path, clock: FakeClock) -> None:
    cache, trace = DiskCache(tmp_path / "cache", 2, now=clock), tmp_path / "exploded"
    await cache.put("first", note(), ttl_s=60)
    with opened(tmp_path / "cache") as database:
        database.execute("UPDATE Cache SET raw = 0, key = ?", (pickle.dumps(Bomb(trace)),))
    for number in range(4):
        await cache.put(str(number), note(str(number)), ttl_s=60)
    assert len(rows(tmp_path / "cache")) <= 2
    await cache.aclose()
    assert not trace.exists()


@pytest.mark.parametrize(("mode", "value"), [(1, "text"), (1, 7), (3, "x"), (9, b"x"), (1, b"short")])
async def test_a_row_of_any_other_kind_is_absent(disk: DiskCache, tmp_path: Path, mode: int, value: object) -> None:
    await disk.put("key", note(), ttl_s=60)
    with opened(tmp_path / "cache") as database:
        database.execute("UPDATE Cache SET mode = ?, value = ?", (mode, value))
    assert await disk.get("key", Note) is None


async def test_stores_bytes_only_and_no_word_of_the_key(disk: DiskCache, tmp_path: Path) -> None:
    await disk.put("what a user asked", note("small"), ttl_s=60)
    await disk.put("another question", note("x" * 100_000), ttl_s=60)
    assert {mode for _, _, mode, _, _ in rows(tmp_path / "cache")} == {1, 2}
    assert all(raw == 1 and len(key) == 64 for key, raw, *_ in rows(tmp_path / "cache"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
async def test_the_folder_is_closed_to_others_even_where_it_was_open(tmp_path: Path) -> None:
    for folder in (tmp_path / "new/deep/cache", tmp_path / "old"):
        if folder.name == "old":
            folder.mkdir(mode=0o755)
        cache = DiskCache(folder)
        await cache.put("key", note(), ttl_s=60)
        await cache.aclose()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_making_one_opens_nothing(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache")
    await cache.aclose()
    assert not (tmp_path / "cache").exists()


async def test_values_outlive_the_process_and_closing(tmp_path: Path, clock: FakeClock) -> None:
    cache = DiskCache(tmp_path / "cache", now=clock)
    await cache.put("key", ANSWER, ttl_s=60)
    await cache.aclose()
    await cache.aclose()
    assert await cache.get("key", Answer) == ANSWER, "it can be used again"
    other = DiskCache(tmp_path / "cache", now=clock)
    assert await other.get("key", Answer) == ANSWER
    await cache.aclose()
    await other.aclose()


async def test_without_a_usable_folder_calls_go_on_as_if_nothing_was_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = DiskCache(tmp_path / "file/cache")
    await cache.put("key", note(), ttl_s=60)
    assert await cache.get("key", Note) is None
    assert await cache.add("key", note(), ttl_s=60) is True
    await cache.drop("key")
    await cache.aclose()


async def test_a_damaged_database_is_replaced(tmp_path: Path, clock: FakeClock) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "cache.db").write_bytes(b"this was a database once" * 500)
    cache = DiskCache(folder, now=clock)
    assert await cache.get("key", Note) is None
    await cache.put("key", note(), ttl_s=60)
    assert await cache.get("key", Note) == note()
    await cache.aclose()


async def test_a_deleted_value_file_is_absent(disk: DiskCache, tmp_path: Path) -> None:
    await disk.put("key", note("x" * 100_000), ttl_s=60)
    (stored,) = (tmp_path / "cache").rglob("*.val")
    stored.unlink()
    assert await disk.get("key", Note) is None


async def test_expired_rows_do_not_keep_others_out(tmp_path: Path, clock: FakeClock) -> None:
    cache = DiskCache(tmp_path / "cache", 2, now=clock)
    await cache.put("a", note("a"), ttl_s=60)
    await cache.put("b", note("b"), ttl_s=60)
    with opened(tmp_path / "cache") as database:
        database.execute("UPDATE Cache SET expire_time = 1")
    for key in "cd":
        await cache.put(key, note(key), ttl_s=60)
    assert [key for key in "abcd" if await cache.get(key, Note)] == ["c", "d"]
    await cache.aclose()


ADDER = """
import asyncio, sys
from pathlib import Path
from websearch_adapters.cache.disk import DiskCache
from websearch_core.values import Note

async def main():
    cache = DiskCache(Path(sys.argv[1]))
    await cache.get("warm", Note)
    print("ready", flush=True)
    sys.stdin.readline()
    won = [key for key in range(40) if await cache.add(str(key), Note(code="by", text=sys.argv[2]), ttl_s=60)]
    print(*won, flush=True)
    await cache.aclose()

asyncio.run(main())
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCES)},
    )


async def test_adds_exactly_one_of_several_processes(tmp_path: Path) -> None:
    adders = [start(ADDER, str(tmp_path / "cache"), str(number)) for number in range(3)]
    for adder in adders:
        assert adder.stdout
        assert adder.stdout.readline() == "ready\n"
    for adder in adders:
        assert adder.stdin
        adder.stdin.write("go\n")
        adder.stdin.flush()
    won = [adder.communicate(timeout=300)[0].split() for adder in adders]
    assert sorted(int(key) for keys in won for key in keys) == list(range(40))
    cache = DiskCache(tmp_path / "cache")
    for number, keys in enumerate(won):
        for key in keys:
            assert await cache.get(key, Note) == Note(code="by", text=str(number))
    await cache.aclose()


WRITER = """
import asyncio, sys
from pathlib import Path
from websearch_adapters.cache.disk import DiskCache
from websearch_core.values import Note

async def main():
    cache = DiskCache(Path(sys.argv[1]))
    number = 0
    while True:
        await cache.put(str(number % 5), Note(code=str(number % 5), text=str(number) * 20_000), ttl_s=600)
        number += 1
        print(number, flush=True)

asyncio.run(main())
"""


async def test_a_writer_that_is_killed_leaves_whole_values_and_a_working_cache(tmp_path: Path) -> None:
    writer = start(WRITER, str(tmp_path / "cache"))
    assert writer.stdout
    for _ in range(20):
        assert writer.stdout.readline()
    writer.kill()
    writer.communicate(timeout=300)
    cache = DiskCache(tmp_path / "cache")
    kept = [await cache.get(str(key), Note) for key in range(5)]
    assert sum(value is not None for value in kept) >= 4, "at most the value that was being written is missing"
    for key, value in enumerate(kept):
        assert value is None or (value.code == str(key) and len(value.text) % 20_000 == 0)
    await cache.put("after", note(), ttl_s=60)
    assert await cache.get("after", Note) == note()
    await cache.aclose()
