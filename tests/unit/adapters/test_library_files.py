"""Which files of a folder become pages, and what the pages say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared_worker import WORKER
from websearch_adapters.extract.worker import Limits, Worker
from websearch_adapters.library.files import FileFolder, address_of, path_of
from websearch_core.errors import InvalidInput, NotAllowed
from websearch_core.values import Page

pytestmark = pytest.mark.anyio

HTML = """<!doctype html><html lang="en"><head><title>Ferry times</title></head><body><article><h1>Ferry times</h1>
<p>The ferry leaves every hour on the hour, in winter only until six in the evening, and it takes bicycles.</p>
<p>Tickets are sold on board; a return ticket is valid until the last crossing of the following day.</p>
</article></body></html>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "notes"
    place.mkdir()
    return place


def put(folder: Path, name: str, body: str | bytes = "Some text.") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body.encode() if isinstance(body, str) else body)
    return file


async def pages_under(path: Path, *, max_bytes: int = 5_000_000) -> list[Page]:
    """What every file of the folder comes to, in their order."""
    folder = FileFolder(path, WORKER, max_bytes=max_bytes)
    found = [await folder.page(address) for address, _ in folder.files()]
    return [page for page in found if page is not None]


async def only(folder: Path) -> Page:
    (page,) = await pages_under(folder)
    return page


async def names(folder: Path) -> list[str]:
    return [Path(page.url.removeprefix(folder.as_uri())).as_posix().lstrip("/") for page in await pages_under(folder)]


async def test_readable_files_come_in_the_order_of_their_paths(folder: Path) -> None:
    for name in ["b.md", "a.txt", "c.MARKDOWN", "deep/z.rst", "deep/er/y.json", "x.xml", "deep/a.md"]:
        put(folder, name)
    put(folder, "p.html", HTML)
    put(folder, "q.htm", HTML)
    found = ["a.txt", "b.md", "c.MARKDOWN", "p.html", "q.htm", "x.xml", "deep/a.md", "deep/z.rst", "deep/er/y.json"]
    assert await names(folder) == found


@pytest.mark.parametrize(
    "name",
    [
        ".hidden.md",
        ".git/notes.md",
        ".venv/lib/readme.md",
        "venv/lib/readme.md",
        "node_modules/pack/readme.md",
        "__pycache__/x.txt",
        "picture.png",
        "program.py",
        "noending",
    ],
)
async def test_what_is_hidden_or_no_text_is_left_out(folder: Path, name: str) -> None:
    put(folder, name)
    put(folder, "seen.md")
    assert await names(folder) == ["seen.md"]


@pytest.mark.parametrize(
    "body", [b"", b"  \n\t\n", b"PK\x03\x04\x00\x00binary", b"text and then \x00"], ids=["empty", "blank", "zip", "nul"]
)
async def test_what_holds_no_text_is_left_out(folder: Path, body: bytes) -> None:
    put(folder, "file.txt", body)
    assert await names(folder) == []


async def test_html_without_content_is_left_out(folder: Path) -> None:
    put(folder, "empty.html", "<html><head><title>Nothing</title></head><body></body></html>")
    assert await names(folder) == []


async def test_too_large_a_file_is_named(folder: Path) -> None:
    large = put(folder, "large.txt", "x" * 1_001)
    put(folder, "small.txt", "x" * 1_000)
    found = FileFolder(folder, WORKER, max_bytes=1_000)
    assert len(found.files()) == 2
    with pytest.raises(NotAllowed, match=r"large\.txt has more than 1,000 bytes"):
        await found.page(large.as_uri())


async def test_a_file_that_cannot_be_opened_is_named(folder: Path) -> None:
    file = put(folder, "gone.txt")
    found = FileFolder(folder, WORKER)
    assert len(found.files()) == 1
    file.unlink()
    with pytest.raises(NotAllowed, match=r"gone\.txt cannot be opened: No such file"):
        await found.page(file.as_uri())


async def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.txt", "secret")
    put(folder, "inside.txt", "inside")
    (folder / "file.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (folder / "folder").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder)
    (folder / "again.txt").symlink_to(folder / "inside.txt")
    (folder / "broken.txt").symlink_to(folder / "nowhere.txt")
    assert await names(folder) == ["inside.txt"]


async def test_a_pipe_is_never_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    put(folder, "file.txt")
    assert await names(folder) == ["file.txt"]


async def test_a_folder_that_is_a_link_is_read_where_it_leads(folder: Path, tmp_path: Path) -> None:
    file = put(folder, "note.txt")
    (tmp_path / "link").symlink_to(folder)
    assert (await only(tmp_path / "link")).url == file.as_uri()


async def test_a_single_file_is_a_page(folder: Path) -> None:
    file = put(folder, "note.md", "# Notes\n\nText.")
    page = await only(file)
    assert (page.url, page.title, page.text, page.kind) == (file.as_uri(), "Notes", "# Notes\n\nText.", "markdown")
    assert page.provider == "library"
    assert page.fetched_at.endswith("Z")


async def test_names_beyond_ascii_are_escaped_in_the_address(folder: Path) -> None:
    file = put(folder, "猫 & dog?#.txt")
    page = await only(folder)
    assert page.url == file.as_uri() == address_of(file)
    assert page.url.isascii()
    assert page.title == "猫 & dog?#"


@pytest.mark.parametrize("name", ["missing.md", "missing"])
async def test_what_does_not_exist_is_the_callers_mistake(folder: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="no file or folder") as caught:
        await pages_under(folder / name)
    assert caught.value.hint


async def test_a_single_file_of_another_kind_is_the_callers_mistake(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="no readable kind"):
        await pages_under(put(folder, "tool.py", "x = 1"))


@pytest.mark.parametrize(("name", "body"), [("data.txt", b"\x00\x01"), ("blank.md", " ")])
async def test_a_single_file_without_text_is_no_page(folder: Path, name: str, body: str | bytes) -> None:
    assert await pages_under(put(folder, name, body)) == []


async def test_html_becomes_markdown(folder: Path) -> None:
    put(folder, "times.html", HTML)
    page = await only(folder)
    assert (page.title, page.kind, page.language) == ("Ferry times", "html", "en")
    assert "every hour on the hour" in page.text
    assert "<p>" not in page.text


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# First\n\n# Second", "First"),
        ("intro\n\nUnderlined\n==========\n", "Underlined"),
        ("```\n# code\n```\n\n## Real", "Real"),
        ('---\ntitle: "From above"\ndate: 2026-05-04\n---\n# Below', "From above"),
        ("no heading", "file"),
        ("# " + "long " * 50, ("long " * 50).strip()),
    ],
)
async def test_the_title_is_found(folder: Path, body: str, title: str) -> None:
    put(folder, "file.md", body)
    assert (await only(folder)).title == title


async def test_the_day_of_front_matter_is_the_day_of_publication(folder: Path) -> None:
    put(folder, "file.md", "---\r\nlayout: post\r\nDate: 2026-05-04 12:00\r\n---\r\nText.")
    assert (await only(folder)).published == "2026-05-04"


async def test_a_date_elsewhere_is_no_day_of_publication(folder: Path) -> None:
    put(folder, "file.md", "Text.\n\ndate: 2026-05-04\n\n---\n")
    assert (await only(folder)).published == ""


@pytest.mark.parametrize(
    "body",
    [
        "Grüße, 猫!".encode(),
        "\ufeffGrüße, 猫!".encode(),
        "Grüße, 猫!".encode("utf-16"),
        "\ufeffGrüße, 猫!".encode("utf-16-be"),
    ],
    ids=["utf-8", "signed", "utf-16", "utf-16-be"],
)
async def test_encodings_are_recognised(folder: Path, body: bytes) -> None:
    put(folder, "file.txt", body)
    assert (await only(folder)).text == "Grüße, 猫!"


async def test_json_and_xml_stay_as_they_are(folder: Path) -> None:
    put(folder, "a.json", '{"ferry": true}')
    put(folder, "b.xml", "<ferry/>")
    assert [(page.kind, page.title, page.text) for page in await pages_under(folder)] == [
        ("json", "a", '{"ferry": true}'),
        ("xml", "b", "<ferry/>"),
    ]


async def test_a_file_is_read_when_it_is_asked_for(folder: Path) -> None:
    """One that comes late may still be changed while the first ones are written."""
    late = put(folder, "b.txt", "second")
    found = FileFolder(folder, WORKER)
    found.files()
    late.write_text("changed")
    page = await found.page(late.as_uri())
    assert page is not None
    assert page.text == "changed"


def test_importing_the_library_loads_no_database_and_no_parser() -> None:
    modules = "websearch_adapters.library.index, websearch_adapters.library.files, websearch_adapters.providers.library"
    script = f"import sys, {modules}; print(sorted({{'sqlite3', 'lxml', 'httpx', 'pydantic', 'charset_normalizer'}} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"


async def test_a_notebook_is_read_as_its_text_and_code(folder: Path) -> None:
    cells = '[{"cell_type": "markdown", "source": "# Tides"}, {"cell_type": "code", "source": "1 + 1"}]'
    put(folder, "tides.ipynb", f'{{"nbformat": 4, "metadata": {{}}, "cells": {cells}}}')
    (page,) = await pages_under(folder)
    assert (page.title, page.text) == ("Tides", "# Tides\n\n```\n1 + 1\n```")


def test_its_reader_is_another_one_with_other_limits(folder: Path) -> None:
    """What failed under one may succeed under the other."""
    with_own = [FileFolder(folder, Worker(limits)).reader for limits in (Limits(), Limits(time_s=30), Limits(memory_bytes=1))]
    assert len(set(with_own)) == 3
    assert FileFolder(folder, WORKER).reader == with_own[0]
    assert "lxml " in with_own[0]


@pytest.mark.parametrize("name", ["notes.md", "渡船 & ferry %20.md"])
def test_a_path_is_also_meant_by_its_address(folder: Path, name: str) -> None:
    assert path_of((folder / name).as_uri()) == folder / name
    assert path_of(str(folder / name)) == folder / name
    assert path_of("File://" + (folder / name).as_uri().removeprefix("file://")) == folder / name
