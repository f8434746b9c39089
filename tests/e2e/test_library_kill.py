"""Filling the library survives `kill -9`: the next run goes on, and the index is the one of a run that nobody disturbed."""

from __future__ import annotations

import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from e2e.wire import environment
from upstreams.pages import Page, PagesSite, Served, article
from upstreams.script import Script, answering, hang
from upstreams.serve import serving

COMMAND = str(Path(sys.executable).with_name("websearch"))
FILES = 160
PAGES = 45
HELD = 38
"""The page in whose reading the process is killed: two batches are kept by then."""
KEPT = 32

DIE_WHILE_WRITING = """
import os, signal, sys, threading
from websearch_mcp.cli.main import main

written = 0

def die(frame, event, argument):
    global written
    if event == "return" and frame.f_code.co_name == "_put" and frame.f_code.co_filename.endswith("index.py"):
        written += 1
        if written == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)

threading.setprofile(die)
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "notes"
    place.mkdir()
    for number in range(FILES):
        text = f"# Note {number}\n\nThe lantern number{number} hangs at gate {number % 7}.\n"
        (place / f"{number:03}.md").write_text(text, encoding="utf-8")
    return place


def home(tmp_path: Path, name: str) -> dict[str, str]:
    library = str(tmp_path / name / "library.sqlite3")
    allowed = {"WEBSEARCH_MAP_MAPPERS": "local", "WEBSEARCH_FETCH_ALLOW_HOSTS": "127.0.0.1"}
    return environment(tmp_path / name, WEBSEARCH_LIBRARY_PATH=library, **allowed)


def add(env: dict[str, str], *arguments: str) -> str:
    run = subprocess.run(
        [COMMAND, "library", "add", *arguments], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def index_of(env: dict[str, str]) -> dict[str, list[tuple[object, ...]]]:
    """Everything that a search can see, row by row."""
    with closing(sqlite3.connect(env["WEBSEARCH_LIBRARY_PATH"])) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (0,)
        statements = {
            "pages": "SELECT id, url, title, chars, digest, root FROM pages ORDER BY id",
            "passages": "SELECT * FROM passages ORDER BY id",
            "words": "SELECT rowid, * FROM words ORDER BY rowid",
        }
        return {name: db.execute(statement).fetchall() for name, statement in statements.items()}


@pytest.mark.parametrize("page", [3, 77, 130])
def test_a_folder_that_was_broken_off_ends_as_if_nothing_had_happened(page: int, folder: Path, tmp_path: Path) -> None:
    undisturbed, killed = home(tmp_path, "a"), home(tmp_path, "b")
    add(undisturbed, str(folder))
    died = subprocess.run(
        [sys.executable, "-c", DIE_WHILE_WRITING, str(page), "library", "add", str(folder)],
        env=killed, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert died.returncode == -9
    add(killed, str(folder))
    assert len(index_of(killed)["pages"]) == FILES
    assert index_of(killed) == index_of(undisturbed)


def site(*, held: bool) -> PagesSite:
    """A site with a sitemap; `held`: one page is not answered when it is asked for the first time."""
    addresses = "\n".join(f"{{{{base}}}}/p/{number}" for number in range(PAGES))
    pages: dict[str, Served] = {
        "/": article("Start", "<p>Pages about lanterns.</p>"),
        "/sitemap.xml": Page(addresses, "text/plain"),
    }
    for number in range(PAGES):
        content = f"<p>{f'The lantern number{number} hangs at gate {number % 7} of the old town wall. ' * 6}</p>"
        pages[f"/p/{number}"] = article(f"Lantern {number}", content)
    if held:
        answer = pages[f"/p/{HELD}"]
        assert isinstance(answer, Page)
        pages[f"/p/{HELD}"] = Script(hang(), answering("page", lambda _: answer.response("http://127.0.0.1")))
    return PagesSite(pages)


@pytest.fixture
def sites() -> Iterator[tuple[tuple[PagesSite, str], tuple[PagesSite, str]]]:
    quiet, holding = site(held=False), site(held=True)
    with serving(quiet) as first, serving(holding) as second:
        yield (quiet, first), (holding, second)


def test_a_site_that_was_broken_off_goes_on(sites: tuple[tuple[PagesSite, str], tuple[PagesSite, str]], tmp_path: Path) -> None:
    """Pages that are kept are not asked for again, and none is kept twice or by halves."""
    (_, first), (holding, second) = sites
    undisturbed, killed = home(tmp_path, "a"), home(tmp_path, "b")
    add(undisturbed, "--site", f"{first}/")
    with subprocess.Popen([COMMAND, "library", "add", "--site", f"{second}/"], env=killed) as process:
        holding.wait_until(lambda it: any(request.path == f"/p/{HELD}" for request in it.requests), within_s=120)
        process.kill()
    before = len(holding.requests)
    said = add(killed, "--site", f"{second}/")
    asked = [request.path for request in holding.requests[before:]]
    assert "run_resumed" in said
    assert "/sitemap.xml" not in asked
    assert len(asked) == 1 + PAGES - KEPT
    assert without_ports(index_of(killed)) == without_ports(index_of(undisturbed))


def without_ports(index: dict[str, list[tuple[object, ...]]]) -> list[tuple[object, ...]]:
    """Pages by path, size and text; their ids, in order."""
    pages = [(row[0], str(row[1]).split("/", 3)[3], row[2], row[3]) for row in index["pages"]]
    return [*pages, *index["passages"], *index["words"]]


def test_a_person_at_a_terminal_sees_how_far_it_has_come(folder: Path, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    try:
        run = subprocess.run(
            [COMMAND, "library", "add", str(folder)],
            env={**home(tmp_path, "a"), "TERM": "xterm", "COLUMNS": "120"},
            stdout=subprocess.PIPE, stderr=follower, timeout=300, check=True,
        )  # fmt: skip
        shown = os.read(leader, 100_000).decode()
    finally:
        os.close(leader)
        os.close(follower)
    assert f"{FILES} of {FILES}" in shown
    assert "indexing" in shown
    assert f"{FILES} added" in run.stdout.decode()
