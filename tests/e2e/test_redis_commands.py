"""Commands of different homes that share a Redis; a Redis that is gone, locked or not installed for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.wire import environment
from upstreams.redis_server import RedisServer

PASSWORD = "redis-canary-0123456789"
GONE = f"redis://:{PASSWORD}@127.0.0.1:1/0"
COMMAND = (sys.executable, "-m", "websearch_mcp")
WITHOUT_CLIENT = "import sys; sys.modules['redis'] = None; from websearch_mcp.cli.main import main; sys.exit(main(sys.argv[1:]))"


def run(home: Path, url: str, *words: str, program: tuple[str, ...] = COMMAND) -> subprocess.CompletedProcess[str]:
    env = environment(home, WEBSEARCH_CACHE_KIND="redis", REDIS_URL=url, WEBSEARCH_ENGINE_KIND="echo")
    env |= {"WEBSEARCH_CACHE_REDIS_TIMEOUT_S": "10"}  # the machine may be busy with other tests
    env |= {"WEBSEARCH_SEARCH_FINDERS": "none", "WEBSEARCH_FETCH_EXTRACTORS": "none", "WEBSEARCH_MAP_MAPPERS": "none"}
    done = subprocess.run([*program, *words], env=env, capture_output=True, text=True, timeout=300, check=False)
    assert PASSWORD not in done.stdout + done.stderr
    return done


def plain(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path, password=PASSWORD)
    server.start()
    yield server
    server.kill()


def test_the_sources_of_a_search_are_known_wherever_the_same_redis_is(server: RedisServer, tmp_path: Path) -> None:
    found = plain(run(tmp_path / "one", server.url, "search", "--json", "Is it shared?"))
    other = run(tmp_path / "other", server.url, "sources", "--json", found["session_id"])
    assert (other.returncode, plain(other)["status"]) == (0, "success"), other.stderr
    assert plain(other)["session_id"] == found["session_id"]
    assert not list(tmp_path.rglob("cache.db"))
    report = plain(run(tmp_path / "one", server.url, "doctor", "--json"))
    assert [(one["state"], one["detail"]) for one in report["parts"] if one["part"] == "cache"] == [
        ("ok", f"Redis at 127.0.0.1:{server.port}/0 answers")
    ]


def test_a_redis_that_is_gone_costs_a_line_and_nothing_else(tmp_path: Path) -> None:
    done = run(tmp_path, GONE, "search", "--json", "Is it there?")
    assert (done.returncode, plain(done)["status"]) == (0, "success")
    assert done.stderr.count("Redis at 127.0.0.1:1/0 cannot be reached; going on in the memory of this process") == 1
    report = plain(run(tmp_path, GONE, "doctor", "--json"))
    assert report["status"] == "partial_success"
    assert [one["state"] for one in report["parts"] if one["part"] == "cache"] == ["failing"]


def test_no_command_shows_the_password(server: RedisServer, tmp_path: Path) -> None:
    shown = [run(tmp_path, server.url, *words) for words in (("doctor",), ("config", "show"), ("doctor", "--live", "--json"))]
    assert all(f"redis://127.0.0.1:{server.port}/0" in done.stdout for done in shown)
    wrong = run(tmp_path, server.url.replace(PASSWORD, f"{PASSWORD}-x"), "doctor")
    assert "refuses the user or the password" in wrong.stdout


@pytest.mark.parametrize(
    ("program", "url", "hint"),
    [
        ((sys.executable, "-c", WITHOUT_CLIENT), GONE, "pip install 'websearch-mcp[redis]'"),
        (COMMAND, "", "cache.redis_url"),
        (COMMAND, f"http://:{PASSWORD}@127.0.0.1:1/0", "cache.redis_url"),
    ],
    ids=["no client", "no address", "not an address"],
)
def test_what_is_missing_is_named_with_its_remedy(program: tuple[str, ...], url: str, hint: str, tmp_path: Path) -> None:
    done = run(tmp_path, url, "search", "Is it installed?", program=program)
    assert (done.returncode, done.stdout) == (3, "")
    assert hint in done.stderr
    report = plain(run(tmp_path, url, "doctor", "--json", program=program))
    assert [(one["part"], one["state"]) for one in report["parts"]] == [("cache", "failing")]
    assert hint in report["parts"][0]["detail"]
