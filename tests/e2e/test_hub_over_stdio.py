"""The hub as hosts see it: two tools, upstreams that come and go, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.wire import SERVER, Wire, environment
from upstreams.lab_oauth import OAuthLab
from upstreams.labs import LAB, alive, ledger_lines
from upstreams.serve import serving

LIMIT_S = 60.0


def entry(ledger: Path, **script: Any) -> dict[str, Any]:
    """A lab server as an entry of a configuration file."""
    return {"command": sys.executable, "args": ["-S", "-E", str(LAB), json.dumps({"ledger": str(ledger), **script})]}


def configure(home: Path, **entries: dict[str, Any]) -> dict[str, str]:
    """A home with these upstreams in a JSON file, as other programs have them."""
    (home / "mcp.json").write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    (home / "config.toml").write_text(f"[hub]\nfiles = [{json.dumps(str(home / 'mcp.json'))}]\n", encoding="utf-8")
    return environment(home, WEBSEARCH_CONFIG=str(home / "config.toml"))


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < give_up, "it never came true"
        time.sleep(0.02)


def found(wire: Wire, need: str) -> list[str]:
    plain = wire.result("find_tools", need=need)["structuredContent"]
    return [tool["id"] for tool in plain["tools"]]


def started(ledger: Path) -> list[int]:
    return [int(line.split()[1]) for line in ledger_lines(ledger) if line.startswith("start")]


def test_from_the_configuration_to_a_call_and_back_after_a_kill(tmp_path: Path) -> None:
    """The first case of the laboratory: configured, connected, discovered, searched, called; then killed and back."""
    ledger = tmp_path / "ledger"
    with Wire(configure(tmp_path, lab=entry(ledger, tools=["paint_fence"]))) as wire:
        opening = wire.initialize()
        assert "lab" in opening["instructions"]
        tools = {tool["name"]: tool for tool in wire.tools()}
        assert {"find_tools", "call_tool", "web_search"} <= set(tools)
        assert tools["find_tools"]["description"].endswith("Servers: lab.")
        until(lambda: found(wire, "paint a fence")[:1] == ["lab__paint_fence"])
        reply = wire.result("call_tool", tool="lab__paint_fence", arguments={"text": "green"})
        assert json.loads(reply["structuredContent"]["content"]) == {"tool": "paint_fence", "arguments": {"text": "green"}}
        os.kill(started(ledger)[-1], signal.SIGKILL)
        until(lambda: len(started(ledger)) == 2)
        again = wire.result("call_tool", tool="paint_fence", arguments={"text": "blue"})
        assert again["structuredContent"]["status"] == "success"
    until(lambda: not any(map(alive, started(ledger))))


def test_without_upstreams_there_is_no_hub_and_the_list_never_changes(tmp_path: Path) -> None:
    with Wire(environment(tmp_path)) as wire:
        assert wire.initialize()["capabilities"]["tools"] == {"listChanged": False}
        assert not {"find_tools", "call_tool"} & {tool["name"] for tool in wire.tools()}


def test_every_kind_of_content_reaches_the_host(tmp_path: Path) -> None:
    with Wire(configure(tmp_path, lab=entry(tmp_path / "ledger"))) as wire:
        wire.initialize()
        reply = wire.result("call_tool", tool="lab__rich", arguments={})
        until(lambda: wire.result("call_tool", tool="lab__rich", arguments={})["structuredContent"]["status"] == "success")
        reply = wire.result("call_tool", tool="lab__rich", arguments={})
    assert [block["type"] for block in reply["content"]] == ["text", "image", "audio", "resource_link"]
    assert reply["structuredContent"]["structured"] == {"answer": 42}
    assert [part["kind"] for part in reply["structuredContent"]["parts"]] == ["image", "audio", "link", "resource"]


def test_a_tool_that_does_something_is_never_run_twice(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with Wire(configure(tmp_path, lab=entry(ledger))) as wire:
        wire.initialize()
        until(lambda: found(wire, "die")[:1] == ["lab__die"])
        lost = wire.result("call_tool", tool="lab__die", arguments={})
        assert lost["structuredContent"]["error"] == "upstream_outcome_unknown"
        saved = wire.result("call_tool", tool="lab__die_once", arguments={"text": "read only"})
        assert saved["structuredContent"]["content"] == "read only"
    lines = ledger_lines(ledger)
    assert (lines.count("call die"), lines.count("call die_once")) == (1, 2)


def test_an_upstream_that_is_added_while_the_server_runs_is_told_of_and_used(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    env = configure(tmp_path, one=entry(ledger, tools=["apricot"]))
    with Wire(env) as wire:
        assert wire.initialize()["capabilities"]["tools"] == {"listChanged": True}
        wire.tools()
        configure(tmp_path, one=entry(ledger, tools=["apricot"]), two=entry(ledger, tools=["banana"]))
        wire.until("notifications/tools/list_changed")
        described = next(tool["description"] for tool in wire.tools() if tool["name"] == "find_tools")
        assert described.endswith("Servers: one, two.")
        until(lambda: found(wire, "banana")[:1] == ["two__banana"])
        configure(tmp_path, two=entry(ledger, tools=["banana"]))
        until(lambda: found(wire, "apricot") == [])
        assert "one" not in json.dumps(next(tool for tool in wire.tools() if tool["name"] == "find_tools")["description"])


@pytest.mark.parametrize("way", ["end of input", "signal"])
@pytest.mark.requirement("HUB-LINK-08")
def test_two_seconds_are_enough_to_leave_and_no_process_stays(tmp_path: Path, way: str) -> None:
    took = [seconds_to_leave(tmp_path, way)]
    while min(took) >= 2.5 and len(took) < 3:  # the machine may have been busy with something else
        took.append(seconds_to_leave(tmp_path, way))
    assert min(took) < 2.5


def seconds_to_leave(home: Path, way: str) -> float:
    """Of a server with upstreams that resist; none of their processes is left."""
    ledger = home / "ledger"
    ledger.unlink(missing_ok=True)
    entries = {name: entry(ledger, behaviour=name) for name in ("deaf", "parent", "silent", "good")}
    with Wire(configure(home, **entries)) as wire:
        wire.initialize()
        until(lambda: len(started(ledger)) == 4 and bool(found(wire, "echo")))
        begun = time.monotonic()
        if way == "signal":
            wire.process.send_signal(signal.SIGTERM)
        else:
            wire.end_input()
        assert wire.ended() == 0
        took = time.monotonic() - begun
    family = [int(line.split()[1]) for line in ledger_lines(ledger) if line.startswith(("start", "grandchild"))]
    assert len(family) == 5
    until(lambda: not any(map(alive, family)))
    return took


def test_a_broken_upstream_is_told_of_and_harms_no_other(tmp_path: Path) -> None:
    entries = {
        "good": entry(tmp_path / "good"),
        "crash": entry(tmp_path / "crash", behaviour="crash"),
        "gone": {"command": "/no/such/program"},
    }
    with Wire(configure(tmp_path, **entries)) as wire:
        wire.initialize()
        until(lambda: found(wire, "echo")[:1] == ["good__echo"])
        nothing = wire.result("find_tools", need="zzz qqq")["structuredContent"]
        assert nothing["status"] == "error"
        unknown = wire.result("call_tool", tool="gone__anything", arguments={})["structuredContent"]
        assert unknown["error"] == "tool_unknown"


def test_a_login_made_by_another_process_is_noticed(tmp_path: Path) -> None:
    from websearch_adapters import settings
    from websearch_adapters.upstream.auth import log_in
    from websearch_adapters.upstream.parts import HubParts

    async def consent(url: str) -> None:
        import httpx

        async with httpx.AsyncClient(follow_redirects=True) as browser:
            await browser.get(url)

    with serving(OAuthLab()) as url, Wire(env := configure(tmp_path, vault={"url": f"{url}/mcp"})) as wire:
        wire.initialize()
        until(lambda: "vault (needs_auth)" in json.dumps(wire.result("find_tools", need="echo")))
        parts = HubParts(settings.read(environ=env))
        (spec,) = parts.read().specs
        assert asyncio.run(log_in(spec, parts.logins, consent, environment=env, limit_s=LIMIT_S))  # noqa: TID251 - a person's own process
        until(lambda: found(wire, "echo")[:1] == ["vault__echo"])


def test_the_doctor_looks_at_each_upstream(tmp_path: Path) -> None:
    import subprocess

    env = configure(tmp_path, lab=entry(tmp_path / "ledger"), crash=entry(tmp_path / "crash", behaviour="crash"), bad={})
    command = [SERVER[0].removesuffix("-mcp"), "doctor", "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
    states = {part["part"]: part for part in json.loads(done.stdout)["parts"]}
    assert (states["upstream lab"]["state"], states["upstream crash"]["state"]) == ("ok", "failing")
    assert states["upstream lab"]["detail"].startswith("11 tools; lab 1")
    assert "I shall not run" in states["upstream crash"]["detail"]
    assert "upstreams.bad" in states["upstreams"]["detail"]


@pytest.mark.requirement("HUB-BIND-01")
def test_tools_of_an_upstream_find_read_and_map_in_the_place_of_providers(tmp_path: Path) -> None:
    import subprocess

    env = configure(tmp_path, lab=entry(tmp_path / "ledger"))
    bound = '[providers.{name}]\nkind = "mcp"\nupstream = "lab"\ntool = "echo"\nserves = "{serves}"\narguments = {{ text = "{text}" }}\n'
    sections = [
        bound.format(name="labfinder", serves="find", text="[About {words}](https://docs.example.org/about)"),
        bound.format(name="labreader", serves="extract", text="# Read\\n\\nThe page at {url}."),
        bound.format(name="labmapper", serves="map", text="{url}one {url}two"),
        '[search]\nfinders = ["labfinder"]\n[fetch]\nextractors = ["labreader"]\n[map]\nmappers = ["labmapper"]\n',
    ]
    with (tmp_path / "config.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(sections))

    def ran(*arguments: str) -> dict[str, Any]:
        command = [SERVER[0].removesuffix("-mcp"), *arguments, "--json"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
        plain: dict[str, Any] = json.loads(done.stdout)
        return plain

    found = ran("search", "bridges", "--engine", "none")
    assert [source["url"] for source in found["sources"]] == ["https://docs.example.org/about"]
    page = ran("fetch", "https://docs.example.org/page")
    assert (page["content"], page["provider"]) == ("# Read\n\nThe page at https://docs.example.org/page.", "labreader")
    mapped = ran("map", "https://docs.example.org/")
    assert mapped["results"] == ["https://docs.example.org/one", "https://docs.example.org/two"]
    until(lambda: not any(map(alive, started(tmp_path / "ledger"))))
