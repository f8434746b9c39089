"""No key leaves a process, wherever it stands and whatever form it takes: results, errors, logs, listings, kept values."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from e2e import canaries
from e2e.canaries import CANARIES, leaks, written
from e2e.wire import WAIT_S, environment
from websearch_core.values import Secret

TALK_AT_EXIT = """
import atexit, logging, os, sys, threading, warnings

key = os.environ["XAI_API_KEY"]

def fail():
    raise RuntimeError(f"in a thread: {key}")

def late():
    print("a print", key, file=sys.stderr)
    print("on stdout", key)
    warnings.warn(f"a warning: {key}")
    logging.getLogger("a.library").warning("a record: %s", key)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    raise ValueError(f"at exit: {key}")

atexit.register(late)
"""


@pytest.mark.parametrize("name", CANARIES)
def test_the_search_for_leaks_finds_every_form_and_every_large_piece(name: str) -> None:
    canary = CANARIES[name]
    for form, text in written(canary).items():
        assert leaks({"log": f"before {text} after".encode()}), form
    for at in range(len(canary) - 11):
        assert leaks({"log": canary[at : at + 12].encode()})
    assert not leaks({"log": Secret(canary).fingerprint.encode()})


@pytest.mark.requirement("P5-PROTOCOL-27", "EDGE-12")
def test_no_key_leaves_a_server(tmp_path: Path) -> None:
    """Every upstream and every page repeats every key in every form, and the caller says it in every argument."""
    places = canaries.of_a_server(tmp_path)
    assert leaks(places) == []
    shown = places["the server's stdout"].decode()
    for canary in CANARIES.values():
        assert Secret(canary).fingerprint in shown
    assert "file cache/values/cache.db" in places


def test_the_log_of_a_server_holds_no_question_no_text_and_no_address(tmp_path: Path) -> None:
    log = canaries.of_a_server(tmp_path)["the server's stderr"].decode()
    assert "INFO websearch: search outcome=success" in log
    assert "INFO websearch: fetch outcome=bad_reply" in log
    for private in ("bridge", "council.example.org", "http:", "https:", "earer", "xai-", "tvly"):
        assert private not in log


@pytest.mark.requirement("P5-PROTOCOL-27", "EDGE-12")
def test_no_key_leaves_a_command(tmp_path: Path) -> None:
    places = canaries.of_commands(tmp_path)
    assert leaks(places) == []
    shown = b"".join(places.values()).decode("utf-8", "replace")
    for canary in CANARIES.values():
        assert Secret(canary).fingerprint in shown


@pytest.mark.requirement("P5-CONFIG-08", "EDGE-12")
def test_no_key_in_an_address_is_shown(tmp_path: Path) -> None:
    places = canaries.of_addresses(tmp_path)
    assert leaks(places) == []
    listing = places["stdout of `config show` "].decode()
    assert 'tavily.api_url = "http://127.0.0.1:' in listing
    assert "api-version" not in listing
    assert places["the server's stdout"].count(b"127.0.0.1") > 4


@pytest.mark.requirement("P5-CLIENT-20")
def test_no_error_of_the_library_holds_the_key_in_use(tmp_path: Path) -> None:
    places = asyncio.run(canaries.of_exceptions(tmp_path))  # noqa: TID251 - a whole program, as an application would be one
    assert leaks(places) == []
    failed = [place for place, told in places.items() if told]
    assert len(failed) >= len(canaries.echoes()) * 3


def test_nothing_that_libraries_say_on_their_own_holds_a_key(tmp_path: Path) -> None:
    """Prints, warnings, records, threads that fail and a traceback at the very end."""
    (tmp_path / "sitecustomize.py").write_text(TALK_AT_EXIT, encoding="utf-8")
    env = environment(tmp_path, PYTHONPATH=str(tmp_path), XAI_API_KEY=CANARIES["xai"])
    run = subprocess.run(
        [canaries.COMMAND, "config", "path"], env=env, capture_output=True, timeout=WAIT_S, check=False, text=True
    )
    assert leaks({"stdout": run.stdout.encode(), "stderr": run.stderr.encode()}) == []
    shown = Secret(CANARIES["xai"]).fingerprint
    assert f"on stdout {shown}" in run.stdout
    for said in ("a print", "a warning:", "WARNING a.library: a record:", "RuntimeError: in a thread:", "ValueError: at exit:"):
        assert f"{said} {shown}" in run.stderr
