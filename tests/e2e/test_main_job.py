"""The main job through a real MCP client, against simulated upstreams, in both eras of the protocol."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters

from e2e.wire import SERVER, environment
from upstreams.pages import build_site
from upstreams.script import status
from upstreams.serve import serve
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]


def server(env: dict[str, str]) -> StdioServerParameters:
    return StdioServerParameters(command=SERVER[0], env=env)


async def called(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    reply = await client.call_tool(name, arguments)
    assert reply.structured_content is not None
    assert reply.content[0].text  # type: ignore[union-attr]
    result: dict[str, Any] = reply.structured_content
    return result


@pytest.mark.requirement("P5-STDIO-01", "OURS-14")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_search_with_a_key_gives_answer_sources_and_pages_of_sources(
    mode: Literal["auto", "legacy"], keyed: dict[str, str], xai: XaiUpstream, tavily: TavilyUpstream
) -> None:
    async with Client(server(keyed), mode=mode) as client:
        found = await called(client, "web_search", query="When did the bridge reopen?", extra_sources=10)
        assert (found["status"], found["search_provider"], found["fallback_used"]) == ("success", "grok_responses", False)
        assert found["content"]
        assert len(found["sources"]) <= 5
        seen: list[dict[str, Any]] = []
        page: dict[str, Any] = {}
        offset: int | None = 0
        while offset is not None:
            page = await called(client, "get_sources", session_id=found["session_id"], offset=offset, limit=3)
            seen += page["sources"]
            offset = page["next_offset"]
        assert len(seen) == found["sources_count"] == page["total_sources"]
        assert len({source["url"] for source in seen}) == len(seen)
        assert {source["provider"] for source in seen} == {"grok_responses", "tavily_enrichment"}
        assert seen[: len(found["sources"])] == found["sources"]
    assert len([one for one in xai.requests if one.path == "/v1/responses"]) == 1
    assert len([one for one in tavily.requests if one.path == "/search"]) == 1


async def test_a_failing_engine_leaves_sources_and_an_honest_flag(keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.follow(status(503))
    async with Client(server(keyed)) as client:
        reply = await client.call_tool("web_search", {"query": "When did the bridge reopen?"})
        assert reply.is_error is False
        found = reply.structured_content or {}
        assert (found["status"], found["fallback_used"]) == ("partial_success", True)
        assert "not an answer" in found["content"].split(".")[0]
        assert {source["provider"] for source in found["sources"]} == {"tavily_fallback"}


async def test_a_failing_everything_is_an_error_that_hosts_recognise(
    keyed: dict[str, str], xai: XaiUpstream, tavily: TavilyUpstream
) -> None:
    xai.follow(status(401))
    tavily.follow(status(401))
    async with Client(server(keyed)) as client:
        reply = await client.call_tool("web_search", {"query": "q"})
        assert reply.is_error is True
        found = reply.structured_content or {}
        assert (found["status"], found["error"]) == ("error", "grok_authentication_error")
        assert found["session_id"]
        assert found["next_action"]
        text = reply.content[0].text  # type: ignore[union-attr]
        assert "canary" not in text + str(found)
        assert found["error"] in text
        assert len((await client.list_tools()).tools) == 7


@pytest.mark.requirement("OURS-25", "OURS-27")
async def test_fetch_and_map_without_any_key_read_a_loopback_site(tmp_path: Path) -> None:
    site = build_site()
    env = environment(tmp_path, WEBSEARCH_FETCH_ALLOW_HOSTS="127.0.0.1")
    async with serve(site) as base, Client(server(env)) as client:
        mapped = await called(client, "web_map", url=f"{base}/", limit=50, max_depth=2)
        assert (mapped["status"], mapped["provider"]) == ("success", "local")
        assert mapped["results"]
        page = await called(client, "web_fetch", url=mapped["results"][0])
        assert (page["status"], page["provider"], page["kind"]) == ("success", "local", "html")
        assert page["content"].strip()


@pytest.mark.requirement("OURS-29", "OURS-30")
async def test_search_without_any_key_quotes_the_library(tmp_path: Path) -> None:
    import subprocess

    env = environment(tmp_path)
    command = Path(sys.executable).with_name("websearch")
    subprocess.run([command, "library", "add", str(ROOT / "docs")], env=env, check=True, capture_output=True)
    async with Client(server(env)) as client:
        found = await called(client, "web_search", query="Which decision forbids pickle in the cache?")
        assert (found["status"], found["search_provider"]) == ("success", "library")
        assert "no model wrote" in found["content"]
        first = found["sources"][0]
        source = Path(first["url"].removeprefix("file://")).read_text(encoding="utf-8")
        assert " ".join(first["description"].removesuffix("…").split())[:80] in " ".join(source.split())


@pytest.mark.requirement("P5-TOOLS-08", "P5-PROTOCOL-25")
async def test_switching_the_model_lasts_and_the_next_search_uses_it(keyed: dict[str, str], xai: XaiUpstream) -> None:
    async with Client(server(keyed)) as client:
        switched = await called(client, "switch_model", model="grok-next")
        assert (switched["status"], switched["current_model"]) == ("success", "grok-next")
        await called(client, "web_search", query="q", extra_sources=0)
        assert xai.last.json["model"] == "grok-next"
    async with Client(server(keyed)) as again:
        info = await called(again, "get_config_info")
        assert (info["status"], info["configuration"]["engine.primary_model"]) == ("success", "grok-next")
        assert info["connection_test"]["status"] == "ok"
        assert "canary" not in str(info)


async def test_each_piece_of_a_long_answer_fits_and_all_of_them_are_the_answer(keyed: dict[str, str], xai: XaiUpstream) -> None:
    long = "\n".join(f'Line {number} says "世界" \\ 😀.' for number in range(9_000))
    xai.answer_text = long
    async with Client(server(keyed)) as client:
        found = await called(client, "web_search", query="q", extra_sources=0)
        joined, start = found["content"], found["next_start"]
        while start is not None:
            page = await called(client, "get_sources", session_id=found["session_id"], start=start, limit=1)
            joined, start = joined + page["content"], page["next_start"]
        assert re.sub(r"\[\[\d+\]\]\([^)]*\)", "", joined) == long


@pytest.mark.requirement("OURS-01")
async def test_the_same_search_gives_the_same_result_by_the_command_line(keyed: dict[str, str]) -> None:
    import json
    import subprocess

    command = Path(sys.executable).with_name("websearch")
    run = subprocess.run(
        [command, "search", "--json", "When", "did", "the", "bridge", "reopen?"],
        env=keyed,
        capture_output=True,
        check=True,
        text=True,
    )
    by_command = json.loads(run.stdout)
    async with Client(server(keyed)) as client:
        by_tool = await called(client, "web_search", query="When did the bridge reopen?")
    assert by_tool.pop("notes")[-1]["code"] == "from_cache"
    by_command.pop("notes")
    assert by_tool == by_command
