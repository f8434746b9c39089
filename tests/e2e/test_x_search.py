"""x_search as it is installed: listed where it can work, run over stdio and from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.wire import Wire, environment
from upstreams.script import hang
from upstreams.xai import X_POSTS, XaiUpstream

COMMAND = str(Path(sys.executable).with_name("websearch"))
QUERY = "Is the footbridge open?"


@pytest.mark.requirement("X-TOOL-01")
def test_over_stdio_posts_are_listed_searched_and_read_on(keyed: dict[str, str], xai: XaiUpstream) -> None:
    with Wire(keyed) as wire:
        assert "x_search" in wire.initialize()["instructions"]
        names = [tool["name"] for tool in wire.tools()]
        assert names == ["web_search", "get_sources", "web_fetch", "web_map", "x_search", "get_config_info", "switch_model"]
        result = wire.result("x_search", query=QUERY, to_date="2025-11-30", allowed_x_handles=["examplevalley"])
        found = result["structuredContent"]
        assert (found["status"], [quote["url"] for quote in found["quotes"]]) == ("success", list(X_POSTS))
        assert "quote, listed: https://x.com/i/status/1990000000000000001" in result["content"][0]["text"]
        rest = wire.result("get_sources", session_id=found["session_id"])["structuredContent"]
        assert [source["url"] for source in rest["sources"]] == list(X_POSTS)
        refused = wire.result("x_search", query=QUERY, from_date="2026-02-30")
        assert (refused["isError"], refused["structuredContent"]["error"]) == (True, "invalid_input")
    assert len(xai.requests) == 1


@pytest.mark.requirement("X-TOOL-01")
def test_without_a_key_the_list_is_the_same_as_ever(tmp_path: Path) -> None:
    with Wire(environment(tmp_path)) as wire:
        assert "x_search" not in wire.initialize()["instructions"]
        names = [tool["name"] for tool in wire.tools()]
    assert names == ["web_search", "get_sources", "web_fetch", "web_map", "get_config_info", "switch_model"]


def test_who_takes_no_progress_gets_the_result_by_the_same_call_later(keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.follow(hang())
    with Wire({**keyed, "WEBSEARCH_SEARCH_DEADLINE_NO_PROGRESS_S": "1"}) as wire:
        wire.initialize()
        found = wire.result("x_search", query=QUERY)["structuredContent"]
        assert found["error"] == "xai_total_budget_exhausted"
        assert found["pending_until"]
        assert "same arguments" in found["next_action"]


def run(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "x", *arguments], env=env, capture_output=True, text=True, timeout=300, check=False)


def test_from_the_command_line_quotes_come_with_their_links(keyed: dict[str, str], xai: XaiUpstream) -> None:
    options = ("--exclude-handles", "@spam,bots", "--from", "2025-11-01", "--to", "2025-11-30", "--no-videos", "--images")
    shown = run(keyed, "Is", "the", "footbridge", "open?", *options)

    assert (shown.returncode, X_POSTS[0] in shown.stdout, "Quotes: 2 listed" in shown.stdout) == (0, True, True)
    assert xai.requests[0].json["input"] == QUERY
    assert xai.requests[0].json["tools"] == [
        {
            "type": "x_search",
            "excluded_x_handles": ["spam", "bots"],
            "from_date": "2025-11-01",
            "to_date": "2025-12-01",
            "enable_image_understanding": True,
            "enable_video_understanding": False,
        }
    ]


def test_from_the_command_line_the_result_is_that_of_the_tool(keyed: dict[str, str]) -> None:
    found = json.loads(run(keyed, QUERY, "--json").stdout)

    assert (found["status"], found["quotes_count"], found["usage"]["posts_read"]) == ("success", 2, 12)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("--handles", "a", "--exclude-handles", "b"), 2), (("--to", "soon"), 2), (("--from", "2999-01-01"), 2)],
)
def test_wrong_arguments_end_with_the_status_of_wrong_arguments(
    arguments: tuple[str, ...], status: int, keyed: dict[str, str], xai: XaiUpstream
) -> None:
    done = run(keyed, QUERY, *arguments)

    assert (done.returncode, done.stdout, xai.requests) == (status, "", [])
    assert done.stderr.startswith("error: ")


def test_without_a_key_the_command_names_the_setting(tmp_path: Path) -> None:
    done = run(environment(tmp_path), QUERY)

    assert done.returncode == 3
    assert "XAI_API_KEY" in done.stderr
