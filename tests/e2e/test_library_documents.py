"""PDF, office documents and books in the library: found by what they say, brought up to date, and each alone where it breaks."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from e2e.test_reader_worker import heavy, pid_of, until_gone
from e2e.wire import environment
from upstreams.documents import pdf
from upstreams.pages import Page, PagesSite, article
from upstreams.papers import PAPERS, WORDS
from upstreams.serve import serving
from websearch_adapters.extract.worker import Limits, Worker
from websearch_adapters.library.files import FileFolder
from websearch_adapters.library.index import SqliteLibrary
from websearch_core.library import LibraryChange, ManageLibrary
from websearch_core.testing.fakes import FakeExtractor, FakeMapper

pytestmark = pytest.mark.anyio

COMMAND = str(Path(sys.executable).with_name("websearch"))
HONEST = 12
NO_PDF = "raise ImportError('not here')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "papers"
    place.mkdir()
    for name, body in PAPERS.items():
        (place / name).write_bytes(body)
    return place


def home(tmp_path: Path, **more: str) -> dict[str, str]:
    allowed = {"WEBSEARCH_MAP_MAPPERS": "local", "WEBSEARCH_FETCH_ALLOW_HOSTS": "127.0.0.1"}
    return environment(tmp_path / "home", WEBSEARCH_LIBRARY_PATH=str(tmp_path / "library.sqlite3"), **allowed, **more)


def add(env: dict[str, str], *targets: str, code: int = 0) -> dict[str, Any]:
    command = [COMMAND, "library", "add", "--json", *targets]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == code, run.stdout + run.stderr
    told: dict[str, Any] = json.loads(run.stdout)
    return told


def counts(told: dict[str, Any]) -> tuple[int, int, int, int]:
    return told["added"], told["skipped"], told["removed"], told["total"]


async def found(tmp_path: Path, word: str) -> list[tuple[str, str, str]]:
    """File, title and heading of what has the word."""
    library = SqliteLibrary(tmp_path / "library.sqlite3")
    passages = await library.search(word)
    await library.aclose()
    return [(one.url.rpartition("/")[2], one.title, one.heading) for one in passages]


@pytest.mark.requirement("OURS-47")
async def test_every_kind_of_document_goes_in_and_is_found_by_its_words(folder: Path, tmp_path: Path) -> None:
    told = add(home(tmp_path), str(folder))
    assert (told["status"], counts(told)) == ("success", (8, 0, 0, 8))
    for name, word in WORDS.items():
        assert [file for file, _, _ in await found(tmp_path, word)] == [name]
    assert await found(tmp_path, "capstan") == [("harbour.pdf", "Harbour rules", "Winter service")]
    assert await found(tmp_path, "bollard") == [("ferry.docx", "ferry", "Winter service")]
    assert await found(tmp_path, "kelp") == [("sea.epub", "The sea", "Winter service")]


async def test_documents_are_brought_up_to_date(folder: Path, tmp_path: Path) -> None:
    env = home(tmp_path)
    add(env, str(folder))
    assert counts(add(env, str(folder))) == (0, 8, 0, 8)
    (folder / "harbour.pdf").write_bytes(pdf([["The windlass replaces it."]], title="Harbour rules"))
    (folder / "sea.epub").unlink()
    assert counts(add(env, str(folder))) == (1, 6, 1, 7)
    assert [await found(tmp_path, word) for word in ("capstan", "kelp")] == [[], []]
    assert await found(tmp_path, "windlass") == [("harbour.pdf", "Harbour rules", "Page 1")]


@pytest.mark.requirement("OURS-47")
async def test_without_the_extra_each_pdf_is_told_with_the_command_and_goes_in_later(folder: Path, tmp_path: Path) -> None:
    """The extra is hidden by a module of its name that comes first."""
    hiding = tmp_path / "hiding"
    hiding.mkdir()
    (hiding / "pypdfium2.py").write_text(NO_PDF, encoding="utf-8")
    told = add(home(tmp_path, PYTHONPATH=str(hiding)), str(folder))
    assert (told["status"], counts(told)) == ("partial_success", (7, 0, 0, 7))
    assert [note["code"] for note in told["notes"]] == ["files_unreadable", "file_unreadable"]
    text = told["notes"][1]["text"]
    assert text.startswith(f"{(folder / 'harbour.pdf').as_uri()}: PDF reading is not installed. Install it with: ")
    assert "pip install 'websearch-mcp[pdf]'" in text
    assert counts(add(home(tmp_path), str(folder))) == (1, 7, 0, 8)


async def test_a_file_alone_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "locked.pdf"
    file.write_bytes(pdf([["Secret."]], encrypted=True))
    told = add(home(tmp_path), str(file), code=6)
    assert (told["status"], told["total"]) == ("error", 0)
    assert "locked.pdf is a PDF that asks for a password" in told["error_detail"]["message"]


async def test_what_is_damaged_locked_or_pictures_is_told_file_by_file_and_the_rest_goes_in(folder: Path, tmp_path: Path) -> None:
    broken = {
        "damaged.docx": (PAPERS["ferry.docx"][:300], "no text"),
        "locked.pdf": (pdf([["Secret."]], encrypted=True), "locked.pdf is a PDF that asks for a password"),
        "scan.pdf": (pdf([[]]), "scan.pdf is a PDF of 1 page without text: pictures of pages"),
    }
    for name, (body, _) in broken.items():
        (folder / name).write_bytes(body)
    told = add(home(tmp_path), str(folder), str(folder / "ferry.docx"))
    assert (told["status"], counts(told)) == ("partial_success", (8, 1, 0, 8))
    notes = [note["text"] for note in told["notes"] if note["code"] == "file_unreadable"]
    assert len(notes) == len(broken)
    for note, (name, (_, said)) in zip(notes, broken.items(), strict=True):
        assert note.startswith(f"{(folder / name).as_uri()}: ")
        assert said in note


async def test_of_several_targets_one_that_fails_costs_the_others_nothing(folder: Path, tmp_path: Path) -> None:
    (folder / "locked.pdf").write_bytes(pdf([["Secret."]], encrypted=True))
    names = ["ferry.docx", "locked.pdf", "nowhere.md", "harbour.pdf"]
    told = add(home(tmp_path), *(str(folder / name) for name in names))
    assert (told["status"], told["error"], counts(told)) == ("partial_success", None, (2, 0, 0, 2))
    assert told["error_detail"]["code"] == "local_declined"
    assert [note["code"] for note in told["notes"]] == ["files_unreadable", "file_unreadable", "target_failed"]
    assert told["notes"][2]["text"].startswith(f"{folder / 'nowhere.md'}: there is no file or folder")
    none = add(home(tmp_path), str(folder / "a"), str(folder / "b"), code=2)
    assert (none["status"], none["error"], len(none["notes"])) == ("error", "invalid_input", 2)


async def test_a_library_that_cannot_be_used_ends_the_command_at_the_first_target(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "library.sqlite3").mkdir()
    told = add(home(tmp_path), str(folder / "ferry.docx"), str(folder / "harbour.pdf"), code=3)
    assert (told["error"], told["notes"]) == ("library_not_configured", [])


async def test_a_file_can_be_given_and_forgotten_by_the_address_that_lists_show(folder: Path, tmp_path: Path) -> None:
    named = folder / "渡船 & ferry.md"
    named.write_text("The kittiwake nests here.", encoding="utf-8")
    assert counts(add(home(tmp_path), named.as_uri())) == (1, 0, 0, 1)
    command = [COMMAND, "library", "remove", "--json", named.as_uri()]
    run = subprocess.run(command, env=home(tmp_path), capture_output=True, text=True, timeout=120, check=True)
    assert counts(json.loads(run.stdout)) == (0, 0, 1, 0)


async def test_patterns_without_a_site_are_an_error_and_not_passed_over(folder: Path, tmp_path: Path) -> None:
    command = [COMMAND, "library", "add", str(folder), "--exclude", "*.pdf"]
    run = subprocess.run(command, env=home(tmp_path), capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 2
    assert "Give --site too" in run.stderr
    assert not (tmp_path / "library.sqlite3").exists()


@pytest.mark.requirement("OURS-46")
async def test_a_poisoned_file_costs_itself_alone(tmp_path: Path) -> None:
    place = notes(tmp_path)
    (place / "05-poison.html").write_bytes(heavy(4_900_000).body)
    env = home(tmp_path, WEBSEARCH_FETCH_READING_LIMIT_S="1")
    told = add(env, str(place))
    for _ in range(5):
        if told["total"] < HONEST:  # a machine that stops for a while costs one more, which the next run reads
            told = add(env, str(place))
    added, skipped, removed, total = counts(told)
    assert (told["status"], added + skipped, removed, total) == ("partial_success", HONEST, 0, HONEST)
    (note,) = [note["text"] for note in told["notes"] if note["code"] == "file_unreadable"]
    assert "05-poison.html takes more than 1 s to read" in note
    assert [file for file, _, _ in await found(tmp_path, "lantern11")] == ["11.html"]


@pytest.mark.requirement("OURS-46")
async def test_a_poisoned_file_costs_its_time_once_and_goes_in_when_it_may_take_longer(tmp_path: Path) -> None:
    place = notes(tmp_path)
    (place / "05-poison.html").write_bytes(heavy(4_900_000).body)
    hasty, patient = (home(tmp_path, WEBSEARCH_FETCH_READING_LIMIT_S=limit) for limit in ("1", "100"))
    first, again = add(hasty, str(place)), add(hasty, str(place))
    assert "05-poison.html takes more than 1 s to read" in again["notes"][1]["text"]
    assert again["notes"][1:] == first["notes"][1:]
    assert "Split the file, or allow it more with fetch.reading_limit_s" in again["notes"][1]["text"]
    told = "1 file could not be read; 1 unchanged since the last try, so not tried again: add --retry to try"
    assert again["notes"][0]["text"] == told
    assert "--retry" not in add(hasty, "--retry", str(place))["notes"][0]["text"]
    assert (add(patient, str(place))["status"], counts(add(patient, str(place)))) == ("success", (0, HONEST + 1, 0, HONEST + 1))


@pytest.fixture
async def own() -> AsyncIterator[Worker]:
    made = Worker(Limits(time_s=60.0), processes=1)
    yield made
    await made.aclose()


async def test_a_process_killed_in_the_middle_of_a_run_costs_one_file_which_the_next_run_reads(
    own: Worker, tmp_path: Path
) -> None:
    """The process is stopped, so that it is certain to hold a file when it is killed."""
    place, library = notes(tmp_path), SqliteLibrary(tmp_path / "library.sqlite3")
    manage = ManageLibrary(library=library, extractor=FakeExtractor(), mapper=FakeMapper())
    pid = await pid_of(own)
    os.kill(pid, signal.SIGSTOP)
    running = asyncio.create_task(manage.add_folder(FileFolder(place, own)))
    while not any(call._process for call in own._calls):
        await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    first = await running
    assert until_gone(pid)
    assert (first.status, first.added, first.total) == ("partial_success", HONEST - 1, HONEST - 1)
    assert [note.code for note in first.notes] == ["files_unreadable", "file_unreadable"]
    assert first.error_detail is not None
    assert first.error_detail.retryable
    second = await manage.add_folder(FileFolder(place, own))
    await library.aclose()
    assert second == LibraryChange(added=1, skipped=HONEST - 1, total=HONEST)


@pytest.mark.requirement("OURS-47")
async def test_a_site_that_serves_documents_is_indexed_with_them(tmp_path: Path) -> None:
    links = "".join(f'<p><a href="/files/{name}">{name}</a> is one of the papers of the harbour office.</p>' for name in PAPERS)
    pages = {f"/files/{name}": Page(body, "application/octet-stream") for name, body in PAPERS.items()}
    site = PagesSite({"/": article("Papers", links), **pages})
    with serving(site) as base:
        told = add(home(tmp_path), "--site", f"{base}/")
    assert (told["status"], told["added"]) == ("success", 1 + len(PAPERS))
    for name, word in WORDS.items():
        assert [file for file, _, _ in await found(tmp_path, word)] == [name]
    assert await found(tmp_path, "capstan") == [("harbour.pdf", "Harbour rules", "Winter service")]


def notes(tmp_path: Path) -> Path:
    place = tmp_path / "notes"
    place.mkdir()
    for number in range(HONEST):
        text = f"The lantern{number} hangs at gate {number % 7} of the old town wall, and is lit in winter from four o'clock. "
        (place / f"{number:02}.html").write_text(f"<h1>Note {number}</h1><p>{text * 3}</p>", encoding="utf-8")
    return place
