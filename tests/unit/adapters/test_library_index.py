"""The library's file: what it keeps, finds and survives."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FrameType

import pytest

from websearch_adapters.library.index import SECOND, TABLES, SqliteLibrary
from websearch_core.errors import NotConfigured, Unreachable
from websearch_core.ports import Library
from websearch_core.testing.contracts import LibraryContract
from websearch_core.values import LibraryEntry, Page, ReadFailure

pytestmark = pytest.mark.anyio

FERRY = Page(url="https://a.example/ferry", title="Ferry", text="# Ferry\n\nThe ferry leaves at noon.\n", provider="test")
DIGIT_PAGES = [Page(url=f"https://n.example/{n:02}", title=f"Page {n}", text="same words", provider="test") for n in range(20)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "library.db"


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.fixture
async def library(path: Path) -> AsyncIterator[SqliteLibrary]:
    kept = SqliteLibrary(path, now=lambda: 1_790_000_000.0)
    yield kept
    await kept.aclose()


def page(name: str, text: str) -> Page:
    return dataclasses.replace(FERRY, url=f"https://a.example/{name}", title=name, text=text)


def modes_of(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in (folder, *folder.iterdir())}


def write(path: Path, body: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(body)


def damage(path: Path, *, keep_bytes: int) -> bytes:
    whole = path.read_bytes()
    damaged = whole[:keep_bytes] + b"\xa5" * (len(whole) - keep_bytes)
    path.write_bytes(damaged)
    return damaged


class TestSqliteLibrary(LibraryContract):
    @pytest.fixture
    def library(self, tmp_path: Path) -> Library:
        return SqliteLibrary(tmp_path / "library.db")


async def test_what_was_added_is_there_for_another_reader(library: SqliteLibrary, path: Path) -> None:
    await library.add([FERRY])
    (found,) = await SqliteLibrary(path).search("ferry noon")
    assert (found.url, found.title, found.heading, found.text) == (FERRY.url, "Ferry", "Ferry", FERRY.text)
    assert await SqliteLibrary(path).entries() == (
        LibraryEntry(url=FERRY.url, title="Ferry", chars=len(FERRY.text), added_at="2026-09-21T14:13:20Z"),
    )


async def test_folder_and_files_are_private(library: SqliteLibrary, path: Path) -> None:
    await library.add([FERRY])
    keeper = sqlite3.connect(path)
    keeper.execute("SELECT count(*) FROM pages").fetchone()
    modes = modes_of(path.parent)
    keeper.close()
    assert modes.pop("home") == 0o700
    assert "library.db-wal" in modes
    assert set(modes.values()) == {0o600}


async def test_a_folder_that_was_there_keeps_its_mode(open_folder: Path) -> None:
    await SqliteLibrary(open_folder / "library.db").add([FERRY])
    assert modes_of(open_folder) == {open_folder.name: 0o755, "library.db": 0o600}


async def test_reading_creates_nothing(library: SqliteLibrary, path: Path) -> None:
    assert await library.search("ferry") == ()
    assert await library.entries() == ()
    assert await library.remove("https://a.example") == 0
    assert await library.count() == 0
    assert not path.parent.exists()


async def test_unchanged_pages_keep_their_day(path: Path) -> None:
    await SqliteLibrary(path, now=lambda: 0.0).add([FERRY])
    assert await SqliteLibrary(path, now=lambda: 86_400.0).add([FERRY]) == 0
    (entry,) = await SqliteLibrary(path).entries()
    assert entry.added_at == "1970-01-01T00:00:00Z"


async def test_a_page_given_twice_is_kept_as_it_was_given_last(library: SqliteLibrary) -> None:
    assert await library.add([FERRY, dataclasses.replace(FERRY, text="The boat sank.")]) == 1
    assert await library.search("noon") == ()
    assert len(await library.search("sank")) == 1


async def test_counts_its_pages(library: SqliteLibrary) -> None:
    await library.add(DIGIT_PAGES)
    assert await library.count() == 20


async def test_equal_passages_come_in_the_order_of_their_addresses(library: SqliteLibrary) -> None:
    await library.add(DIGIT_PAGES[::-1])
    found = await library.search("words", limit=20)
    assert [passage.url for passage in found] == [page.url for page in DIGIT_PAGES]


async def test_a_match_in_the_title_comes_before_one_in_the_text(library: SqliteLibrary) -> None:
    await library.add([page("aaa", "Notes on the weather of last week."), page("weather", "Notes on the rest of last week.")])
    assert [passage.title for passage in await library.search("weather")] == ["weather", "aaa"]


async def test_inflected_words_are_found(library: SqliteLibrary) -> None:
    await library.add([page("install", "Installing the packages takes a minute.")])
    assert len(await library.search("install package")) == 1


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("本项目的数据库连接池可以配置最大连接数。", "连接池"),
        ("本项目的数据库连接池可以配置最大连接数。", "池"),
        ("本项目的数据库连接池可以配置最大连接数。", "数"),
        ("本项目的数据库连接池可以配置最大连接数。", "如何配置数据库？"),
        ("東京タワーへの行き方", "タワー"),
        ("東京タワーへの行き方", "ﾀﾜｰ"),
        ("한국어 문서를 검색합니다", "문서"),
        ("ยินดีต้อนรับสู่ประเทศไทย", "ประเทศ"),
        ("用Python写的", "python"),
        ("𠀀𠀁𠀂𠀃", "𠀁𠀂"),
    ],
)
async def test_substrings_of_scripts_without_blanks_are_found(library: SqliteLibrary, text: str, query: str) -> None:
    await library.add([page("it", text), page("other", "Nothing of the kind. 完全无关。")])
    found = await library.search(query)
    assert [passage.title for passage in found][:1] == ["it"]


async def test_the_whole_run_counts_more_than_its_pairs(library: SqliteLibrary) -> None:
    await library.add([page("a", "数据与据库与数据与据库"), page("b", "一个很普通的数据库的说明")])
    assert [passage.title for passage in await library.search("数据库")] == ["b", "a"]


@pytest.mark.parametrize(
    "query",
    [
        'ferry"',
        '"ferry',
        "ferry AND OR NOT",
        "NEAR(ferry noon, 5)",
        "ferry*",
        "((((ferry",
        "{title heading} : ferry",
        "^ferry + noon",
        "-ferry",
        "ferry'; DROP TABLE pages; --",
        "ferry \x00\ud800\ufffe\U0010ffff",
        "ferry " * 2_000,
        "ferry " + "(" * 10_000,
        "ferry " + "数" * 10_000,
        "ferry " + "a.b_c-" * 2_000,
    ],
)
async def test_a_hostile_query_is_words_like_any_other(library: SqliteLibrary, query: str) -> None:
    await library.add([FERRY])
    assert [passage.url for passage in await library.search(query[:10_000])] == [FERRY.url]


async def test_a_text_that_no_file_can_hold_is_kept_with_replacements(library: SqliteLibrary) -> None:
    await library.add([page("odd\ud800", "zero\x00byte and lone \udfff surrogate, then a ferry")])
    (found,) = await library.search("ferry")
    assert found.text == "zero\x00byte and lone ? surrogate, then a ferry"
    assert await library.add([page("odd\ud800", "zero\x00byte and lone \udfff surrogate, then a ferry")]) == 0


async def test_of_a_long_table_the_matching_rows_are_shown(library: SqliteLibrary) -> None:
    table = "| key | value |\n| --- | --- |\n" + "".join(f"| setting{n} | {n} |\n" for n in range(400))
    await library.add([page("table", table)])
    (found,) = await library.search("setting333")
    assert "| setting333 | 333 |" in found.text
    assert len(found.text) <= 1_200


async def test_a_limit_of_nothing_finds_nothing(library: SqliteLibrary) -> None:
    await library.add([FERRY])
    assert await library.search("ferry", limit=0) == ()


@pytest.mark.parametrize("keep_bytes", [0, 100, 5_000])
async def test_a_damaged_file_is_set_aside_and_a_new_one_begun(
    library: SqliteLibrary, path: Path, caplog: pytest.LogCaptureFixture, keep_bytes: int
) -> None:
    await library.add([FERRY, *DIGIT_PAGES])
    damaged = damage(path, keep_bytes=keep_bytes)
    with caplog.at_level(logging.WARNING):
        assert await library.search("ferry") == ()
    assert path.with_name("library.db.damaged").read_bytes() == damaged
    assert "library.db.damaged" in caplog.text
    assert await library.add([FERRY]) == 1
    assert len(await library.search("ferry")) == 1


async def test_a_second_damaged_file_does_not_replace_the_first(library: SqliteLibrary, path: Path) -> None:
    for filler in (b"first ", b"second "):
        write(path, filler * 1_000)
        assert await library.count() == 0
    assert path.with_name("library.db.damaged").read_bytes().startswith(b"first")
    assert path.with_name("library.db.2.damaged").read_bytes().startswith(b"second")


async def test_a_file_of_a_newer_program_is_left_alone(library: SqliteLibrary, path: Path) -> None:
    await library.add([FERRY])
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(NotConfigured, match="version 99") as caught:
        await library.search("ferry")
    assert caught.value.hint
    assert [file.name for file in path.parent.iterdir()] == ["library.db"]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_library_of_an_earlier_version_is_brought_up(library: SqliteLibrary, path: Path, version: int) -> None:
    """What was in it is found as before, and can be dated, stamped, belong to a run and be noted as a failure from then on."""
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as db:
        for statement in (*TABLES, *(SECOND if version > 1 else ()), f"PRAGMA user_version = {version}"):
            db.execute(statement)
        row = (FERRY.url, FERRY.title, "", len(FERRY.text), b"digest of then", "2026-01-01T00:00:00Z")
        db.execute("INSERT INTO pages (url, title, published, chars, digest, added_at) VALUES (?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO passages (page, position, heading, text) VALUES (1, 0, 'Ferry', ?)", (FERRY.text,))
        db.execute("INSERT INTO words (rowid, title, heading, text) VALUES (1, 'ferry', 'ferry', 'ferry leaves noon')")
        db.commit()
    assert [passage.url for passage in await library.search("noon")] == [FERRY.url]
    assert await library.stamps("https://a.example") == {FERRY.url: ""}
    assert await library.add([FERRY], stamps={FERRY.url: "s"}) == 1
    assert await library.stamps(FERRY.url) == {FERRY.url: "s"}
    failure = ReadFailure(
        url="file:///a.pdf", stamp="1", reader="r", kind="Declined", message="no \ud800", hint="h", provider="p"
    )
    await library.add([], failures=[failure])
    assert await library.failures("file:///") == {failure.url: dataclasses.replace(failure, message="no ?")}
    assert await library.count() == 1


async def test_words_that_stand_together_come_before_words_that_stand_apart(library: SqliteLibrary) -> None:
    apart = "The ferry is old. " + "Nobody knows the name of its builder. " * 8 + "In winter it rests."
    together = "Nobody knows the name of its builder. " * 8 + "The ferry rests in winter. It is old."
    await library.add([page("a", apart), page("b", together)])
    assert [passage.title for passage in await library.search("ferry winter")] == ["b", "a"]


async def test_in_a_large_library_words_of_nearly_every_page_still_tell_pages_apart(library: SqliteLibrary) -> None:
    """They are not looked for, but rank what the others found."""
    pages = [page(f"{n:05}", f"The harbour of town{n // 4} has a {'crane' if n % 4 == 3 else 'pier'}.") for n in range(12_000)]
    await library.add(pages)
    found = await library.search("crane in the harbour of town2000", limit=4)
    assert sorted(passage.title for passage in found) == ["08000", "08001", "08002", "08003"]
    assert found[0].title == "08003"
    assert await library.search("harbour", limit=1)


async def test_filters_reach_as_far_down_as_needed(library: SqliteLibrary) -> None:
    pages = [page(f"{n}", "ferry " * 20) for n in range(700)]
    last = dataclasses.replace(
        FERRY, url="https://b.example/", title="", text="a ferry among many other words", published="2026-06-01"
    )
    await library.add([*pages, last])
    assert [passage.url for passage in await library.search("ferry", include_domains=["b.example"])] == [last.url]
    assert [passage.url for passage in await library.search("ferry", since="2026-01-01")] == [last.url]


async def test_a_place_that_cannot_be_written_is_said_to_the_operator(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(NotConfigured, match="cannot be used") as caught:
        await SqliteLibrary(tmp_path / "file" / "library.db").add([FERRY])
    assert caught.value.provider == "library"


async def test_a_folder_in_the_place_of_the_file_is_said_to_the_operator(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="cannot be used"):
        await SqliteLibrary(tmp_path).search("ferry")


@pytest.fixture
async def queued() -> AsyncIterator[asyncio.Event]:
    """Set when a thread of the library comes to the point where it asks to write."""
    event, loop = asyncio.Event(), asyncio.get_running_loop()

    def watch(frame: FrameType, what: str, _: object) -> None:
        if what == "call" and frame.f_code.co_name == "_writing":
            loop.call_soon_threadsafe(event.set)

    threading.setprofile(watch)
    yield event
    threading.setprofile(None)


@contextlib.contextmanager
def writing_elsewhere(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program in the middle of writing."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        yield writer


async def test_a_cancelled_addition_leaves_nothing_behind(path: Path, library: SqliteLibrary, queued: asyncio.Event) -> None:
    """It stands in the queue of writers when it is cancelled, and leaves it at once, not after its hour of patience."""
    await library.add([FERRY])
    patient = SqliteLibrary(path, patience_s=3_600.0)
    queued.clear()
    with writing_elsewhere(path):
        adding = asyncio.create_task(patient.add(DIGIT_PAGES))
        await asyncio.wait_for(queued.wait(), 30)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(adding, 30)
        assert await library.count() == 1
    await asyncio.wait_for(patient.aclose(), 30)
    assert await library.count() == 1
    assert await library.add(DIGIT_PAGES) == 20


async def test_an_addition_waits_for_its_turn(path: Path, library: SqliteLibrary, queued: asyncio.Event) -> None:
    await library.add([FERRY])
    queued.clear()
    with writing_elsewhere(path) as writer:
        adding = asyncio.create_task(library.add(DIGIT_PAGES))
        await asyncio.wait_for(queued.wait(), 30)
        assert not adding.done()
        writer.execute("COMMIT")
        assert await asyncio.wait_for(adding, 30) == 20


async def test_an_addition_whose_turn_does_not_come_says_so(path: Path, library: SqliteLibrary) -> None:
    await library.add([FERRY])
    with writing_elsewhere(path), pytest.raises(Unreachable, match="in use") as caught:
        await SqliteLibrary(path, patience_s=0.0).add(DIGIT_PAGES)
    assert caught.value.repeatable
    assert await library.count() == 1


async def test_readers_are_not_held_up_by_a_writer(library: SqliteLibrary, path: Path) -> None:
    await library.add([FERRY])
    with writing_elsewhere(path) as writer:
        writer.execute("DELETE FROM pages")
        assert len(await asyncio.wait_for(library.search("ferry"), 30)) == 1


async def test_many_calls_at_once_lose_nothing(library: SqliteLibrary) -> None:
    async with asyncio.TaskGroup() as group:
        for one in DIGIT_PAGES:
            group.create_task(library.add([one]))
            group.create_task(library.search("words"))
    assert await library.count() == len(DIGIT_PAGES)
    assert len(await library.search("words", limit=50)) == len(DIGIT_PAGES)
