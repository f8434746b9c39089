"""The library as a whole: files in, passages out; several processes at once; death in the middle of writing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared_worker import WORKER
from websearch_adapters.library.files import FileFolder, address_of
from websearch_adapters.library.index import SqliteLibrary
from websearch_adapters.providers.library import LibraryFinder
from websearch_core import outcome
from websearch_core.chain import FinderChain
from websearch_core.errors import AllFailed, NotConfigured, Unreachable
from websearch_core.library import Folder, ManageLibrary
from websearch_core.ports import Probe, SourceFinder
from websearch_core.testing.contracts import Hanging, ProbeContract, SourceFinderContract
from websearch_core.testing.fakes import FakeExtractor, FakeFinder, FakeLibrary, FakeMapper, Gate
from websearch_core.values import Page, Passage, SearchQuery

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
BRIDGES = [
    Page(
        url=f"https://city{n}.example/bridges", title=f"Bridges of city {n}", text="All bridges reopened this year.", provider="t"
    )
    for n in range(30)
]

ADD_PAGES = """
import asyncio, sys
from pathlib import Path
from typing import Any
from websearch_adapters.library.index import SqliteLibrary
from websearch_core.values import Page

async def main():
    library, name = SqliteLibrary(Path(sys.argv[1])), sys.argv[2]
    print("ready", flush=True)
    sys.stdin.readline()
    for first in range(0, 40, 4):
        pages = [Page(url=f"https://{name}.example/{n}", text=f"{name}word{n} " * 50, provider="t") for n in range(first, first + 4)]
        assert await library.add(pages) == 4
        await library.search(f"{name}word{first}")

asyncio.run(main())
"""

DIE_WHILE_WRITING = """
import asyncio, os, signal, sys, threading
from pathlib import Path
from typing import Any
from websearch_adapters.library.index import SqliteLibrary
from websearch_core.values import Page

written = 0

def die_at_the_fifth_page(frame, event, argument):
    global written
    if event == "return" and frame.f_code.co_name == "_put":
        written += 1
        if written == 5:
            os.kill(os.getpid(), signal.SIGKILL)

async def main():
    library = SqliteLibrary(Path(sys.argv[1]))
    await library.add([Page(url=f"https://before.example/{n}", text="kept pages", provider="t") for n in range(3)])
    pages = [Page(url=f"https://during.example/{n}", text="lost pages " * 5000, provider="t") for n in range(10)]
    await library.add(pages)

threading.setprofile(die_at_the_fifth_page)
asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "library.db"


@pytest.fixture
async def library(path: Path) -> AsyncIterator[SqliteLibrary]:
    kept = SqliteLibrary(path)
    yield kept
    await kept.aclose()


def child(script: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def run_together(path: Path, names: Sequence[str]) -> list[tuple[int, str]]:
    """Start the writers, let them go at the same moment, and wait: exit status and complaint of each."""
    children = [child(ADD_PAGES, str(path), name) for name in names]
    try:
        for one in children:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        for one in children:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        return [(one.returncode, errors) for one in children for _, errors in [one.communicate(timeout=300)]]
    finally:
        for one in children:
            one.kill()
            one.communicate()


def is_whole(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        return db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_processes_that_add_at_once_lose_nothing(library: SqliteLibrary, path: Path) -> None:
    """The file does not exist when they start: they create it together, too."""
    names = ("alpha", "beta", "gamma")
    assert await asyncio.to_thread(run_together, path, names) == [(0, "")] * 3
    assert await library.count() == 120
    for name in names:
        for number in range(40):
            (found,) = await library.search(f"{name}word{number}")
            assert found.url == f"https://{name}.example/{number}"
    assert is_whole(path)


async def test_a_process_killed_while_it_writes_leaves_what_was_there(library: SqliteLibrary, path: Path) -> None:
    with child(DIE_WHILE_WRITING, str(path)) as dying:
        _, errors = await asyncio.to_thread(dying.communicate, timeout=300)
    assert (dying.returncode, errors) == (-signal.SIGKILL, "")
    assert {entry.url.split("/")[2] for entry in await library.entries()} == {"before.example"}
    assert len(await library.search("pages", limit=50)) == 3
    assert await library.search("lost") == ()
    assert is_whole(path)
    assert await library.add([Page(url="https://after.example/", text="new pages", provider="t")]) == 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "notes"
    (place / "deep").mkdir(parents=True)
    (place / "ferry.md").write_text("# The ferry\n\n## Winter\n\nIn winter the ferry leaves at noon.\n", encoding="utf-8")
    (place / "deep" / "猫.txt").write_text("我家的猫喜欢晒太阳。", encoding="utf-8")
    return place


async def test_a_folder_goes_in_and_its_passages_come_out(library: SqliteLibrary, folder: Path) -> None:
    manage = ManageLibrary(library=library, extractor=FakeExtractor(), mapper=FakeMapper())
    assert (await manage.add_folder(FileFolder(folder, WORKER))).added == 2
    found = await LibraryFinder(library).find(SearchQuery(query="When does the ferry leave in winter?"))
    (source,) = found.items
    assert source.url == (folder / "ferry.md").as_uri()
    assert source.title == "The ferry › Winter"
    assert source.description == "# The ferry\n\n## Winter\n\nIn winter the ferry leaves at noon."
    assert (source.provider, found.provider, found.notes) == ("library", "library", ())
    assert [item.url for item in (await LibraryFinder(library).find(SearchQuery(query="晒太阳"))).items] == [
        address_of(folder / "deep" / "猫.txt")
    ]
    assert (await manage.add_folder(FileFolder(folder, WORKER))).skipped == 2
    assert (await manage.remove(address_of(folder / "deep"))).removed == 1
    assert (await manage.remove(address_of(folder))).total == 0


# --- the finder ---------------------------------------------------------------------------------------------------


class BlockedLibrary(FakeLibrary):
    """A library whose search takes as long as its gate says."""

    def __init__(self, gate: Gate[tuple[Passage, ...]]) -> None:
        super().__init__(BRIDGES)
        self._gate = gate

    async def search(self, text: str, /, **options: Any) -> tuple[Passage, ...]:
        return await self._gate.passed()


def hanging() -> Hanging[LibraryFinder]:
    gate: Gate[tuple[Passage, ...]] = Gate(())
    return Hanging(part=LibraryFinder(BlockedLibrary(gate)), entered=gate.until_entered, left=gate.until_cancelled)


def failing() -> LibraryFinder:
    error = Unreachable("the library is in use by another process", provider="library")
    return LibraryFinder(FakeLibrary(failure=error))


class TestLibraryFinder(SourceFinderContract):
    @pytest.fixture
    async def finder(self, library: SqliteLibrary) -> SourceFinder:
        await library.add(BRIDGES)
        return LibraryFinder(library)

    @pytest.fixture
    async def empty_finder(self, library: SqliteLibrary) -> SourceFinder:
        await library.add([Page(url="https://tides.example/", title="Tides", text="High water at noon.", provider="local")])
        return LibraryFinder(library)

    @pytest.fixture
    def failing_finder(self) -> SourceFinder:
        return failing()

    @pytest.fixture
    def hanging_finder(self) -> Hanging[SourceFinder]:
        found = hanging()
        return Hanging(part=found.part, entered=found.entered, left=found.left)


class TestLibraryProbe(ProbeContract):
    @pytest.fixture
    async def probe(self, library: SqliteLibrary) -> Probe:
        await library.add(BRIDGES)
        return LibraryFinder(library)

    @pytest.fixture
    def failing_probe(self) -> Probe:
        return failing()

    @pytest.fixture
    def hanging_probe(self) -> Hanging[Probe]:
        found = hanging()
        return Hanging(part=found.part, entered=found.entered, left=found.left)


def dated(name: str, published: str) -> Page:
    return Page(url=f"https://{name}.example/", title=name, text="All bridges.", published=published, provider="t")


async def test_an_empty_library_says_how_to_fill_it(library: SqliteLibrary) -> None:
    with pytest.raises(NotConfigured, match="empty") as caught:
        await LibraryFinder(library).find(SearchQuery(query="bridges"))
    assert "websearch library add PATH_OR_URL" in (caught.value.hint or "")


async def test_an_empty_library_beside_a_dead_finder_does_not_blame_the_question(library: SqliteLibrary) -> None:
    dead = FakeFinder([Unreachable("no connection", provider="web")], name="web")
    with pytest.raises(AllFailed) as caught:
        await FinderChain([dead, LibraryFinder(library)]).find(SearchQuery(query="bridges"))
    assert "query" not in outcome.next_action_of(caught.value)


async def test_a_library_without_a_match_is_no_empty_library(library: SqliteLibrary) -> None:
    await library.add(BRIDGES)
    found = await LibraryFinder(library).find(SearchQuery(query="zeppelin"))
    assert (found.items, found.notes) == ((), ())


async def test_five_pages_are_found_when_nobody_says_how_many(library: SqliteLibrary) -> None:
    await library.add(BRIDGES)
    assert len((await LibraryFinder(library).find(SearchQuery(query="bridges"))).items) == 5
    assert len((await LibraryFinder(library).find(SearchQuery(query="bridges", extra_sources=0))).items) == 5


async def test_hosts_are_kept_and_left_out_however_far_down_they_stand(library: SqliteLibrary) -> None:
    await library.add(BRIDGES)
    finder = LibraryFinder(library)
    only = await finder.find(SearchQuery(query="bridges", include_domains=("city9.example",), extra_sources=1))
    assert [item.url for item in only.items] == ["https://city9.example/bridges"]
    without = await finder.find(SearchQuery(query="bridges", exclude_domains=("city0.example",), extra_sources=20))
    assert len(without.items) == 20
    assert "https://city0.example/bridges" not in {item.url for item in without.items}


async def test_files_belong_to_no_host(library: SqliteLibrary) -> None:
    await library.add([Page(url="file:///notes/bridges.md", text="All bridges.", provider="library")])
    finder = LibraryFinder(library)
    assert (await finder.find(SearchQuery(query="bridges", include_domains=("a.example",)))).items == ()
    assert len((await finder.find(SearchQuery(query="bridges", exclude_domains=("a.example",)))).items) == 1


async def test_only_pages_known_to_be_recent_enough_are_fresh(library: SqliteLibrary) -> None:
    """A page that does not say when it was published is as old as its reading."""
    read = replace(dated("read", ""), fetched_at="2026-06-02T08:00:00Z")
    await library.add([dated("old", "2026-01-01"), dated("new", "2026-06-01"), dated("unknown", ""), read])
    finder = LibraryFinder(library, now=lambda: datetime(2026, 6, 3, tzinfo=UTC))
    fresh = await finder.find(SearchQuery(query="bridges", fresh_within="week"))
    assert {(item.title, item.published) for item in fresh.items} == {("new", "2026-06-01"), ("read", "")}
    assert len((await finder.find(SearchQuery(query="bridges"))).items) == 4
    assert "fresh_within" in finder.keeps


async def test_the_search_asks_the_library_for_recent_pages_too(library: SqliteLibrary) -> None:
    """It would be passed over if it did not keep the filter."""
    await library.add([dated("new", "2026-06-01")])
    chain = FinderChain([LibraryFinder(library, now=lambda: datetime(2026, 6, 3, tzinfo=UTC))])
    assert len((await chain.find(SearchQuery(query="bridges", fresh_within="week"))).items) == 1


async def test_a_file_is_as_old_as_its_last_change(library: SqliteLibrary, folder: Path) -> None:
    long_ago = datetime(2020, 5, 6, tzinfo=UTC).timestamp()
    os.utime(folder / "ferry.md", (long_ago, long_ago))
    manage = ManageLibrary(library=library, extractor=FakeExtractor(), mapper=FakeMapper())
    await manage.add_folder(FileFolder(folder, WORKER))
    (passage,) = await library.search("ferry")
    assert passage.fetched_at == "2020-05-06T00:00:00Z"
    assert await library.search("ferry", since="2020-05-07") == ()


async def test_a_folder_is_brought_up_to_date(library: SqliteLibrary, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """New and changed files go in, files that are gone or no text any more go out, the others are not read."""
    manage = ManageLibrary(library=library, extractor=FakeExtractor(), mapper=FakeMapper())
    (folder / "old.md").write_text("An old anchor.", encoding="utf-8")
    (folder / "same.md").write_text("The same sail.", encoding="utf-8")
    before = (await manage.add_folder(FileFolder(folder, WORKER))).total
    (folder / "old.md").unlink()
    (folder / "ferry.md").write_bytes(b"\0\1\2")
    (folder / "new.md").write_text("A new rudder.", encoding="utf-8")
    watched = _Watched(FileFolder(folder, WORKER))
    change = await manage.add_folder(watched)
    assert (change.added, change.skipped, change.removed, change.total) == (1, before - 2, 2, before - 1)
    assert sorted(address.rpartition("/")[2] for address in watched.read) == ["ferry.md", "new.md"]
    assert [bool(await library.search(word)) for word in ("anchor", "ferry", "rudder", "sail")] == [False, False, True, True]
    assert (await manage.add_folder(FileFolder(folder, WORKER))).removed == 0


async def test_a_file_that_was_touched_is_read_and_found_unchanged(library: SqliteLibrary, folder: Path) -> None:
    manage = ManageLibrary(library=library, extractor=FakeExtractor(), mapper=FakeMapper())
    first = await manage.add_folder(FileFolder(folder, WORKER))
    os.utime(folder / "ferry.md", (1_700_000_000, 1_700_000_000))
    again = await manage.add_folder(FileFolder(folder, WORKER))
    assert (again.added, again.skipped) == (0, first.added)
    watched = _Watched(FileFolder(folder, WORKER))
    await manage.add_folder(watched)
    assert watched.read == []


class _Watched:
    """A folder that keeps in mind what was read."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.read: list[str] = []
        self.root, self.reader = folder.root, folder.reader

    def files(self) -> Sequence[tuple[str, str]]:
        return self._folder.files()

    async def page(self, address: str, /) -> Page | None:
        self.read.append(address)
        return await self._folder.page(address)


async def test_a_passage_is_shown_verbatim_without_control_characters_and_at_most_1200_long(library: SqliteLibrary) -> None:
    await library.add(
        [Page(url="https://a.example/", text="bridges\x1b[31m red\n\n" + "bridge " * 160, title="A\x07", provider="t")]
    )
    (source,) = (await LibraryFinder(library).find(SearchQuery(query="bridges"))).items
    assert source.description.startswith("bridges red\n\nbridge bridge")
    assert len(source.description) <= 1_200
    assert source.title == "A"


@pytest.mark.parametrize(
    ("pages", "state", "detail"), [(0, "off", "websearch library add"), (1, "ok", "1 page"), (30, "ok", "30 pages")]
)
async def test_the_probe_counts_pages(library: SqliteLibrary, pages: int, state: str, detail: str) -> None:
    await library.add(BRIDGES[:pages])
    health = await LibraryFinder(library).probe()
    assert (health.part, health.state) == ("library", state)
    assert detail in health.detail


async def test_a_library_whose_file_cannot_be_used_is_failing_not_off(tmp_path: Path) -> None:
    health = await LibraryFinder(SqliteLibrary(tmp_path)).probe()
    assert health.state == "failing"
    assert "cannot be used" in health.detail
