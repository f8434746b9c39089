"""The server process keeps the manners that hosts rely on: clean output, UTF-8, no orphans, a tool list before anything else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from e2e.wire import SERVER, WAIT_S, Wire, environment
from upstreams.exchange import Exchange
from upstreams.script import Step, hang, ok
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream

HARD_TEXT = "价格 “quoted” \u00a0no-break ✓ 😀 naïve"

CHATTER = """
import builtins, os, subprocess, sys, warnings

class Loud:
    def find_spec(self, name, path=None, target=None):
        if name in {"mcp", "websearch_adapters.settings"}:
            print("starting up ✔", flush=True)
            os.write(1, b"raw bytes on descriptor 1\\n")
            warnings.warn("a warning at import")
            subprocess.run([sys.executable, "-S", "-c", "print('a child speaks')"])
        return None

sys.meta_path.insert(0, Loud())
print("buffered chatter of a start-up hook")
"""


def test_nothing_but_protocol_reaches_standard_output(tmp_path: Path) -> None:
    """A start-up hook, a dependency, a warning and a child process chatter; the host sees none of it."""
    (tmp_path / "sitecustomize.py").write_text(CHATTER, encoding="utf-8")
    env = environment(tmp_path, PYTHONPATH=str(tmp_path), PYTHONWARNINGS="always", PYTHONIOENCODING="utf-8")
    with Wire(env) as wire:
        wire.initialize()
        wire.tools()
        wire.result("web_search", query="nothing is in the library")
        wire.end_input()
        assert wire.ended() == 0
        wire.assert_only_protocol()
        assert "a child speaks" in wire.stderr
        assert "raw bytes" in wire.stderr
        assert "buffered chatter" in wire.stderr


@pytest.mark.parametrize("encoding", ["gbk", "cp1252", "ascii"])
def test_the_wire_is_utf8_whatever_the_locale(encoding: str, tmp_path: Path, keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.answer_text = HARD_TEXT
    env = {**keyed, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C", "LANG": "C"}
    with Wire(env) as wire:
        wire.initialize()
        reply = wire.result("web_search", query=HARD_TEXT, extra_sources=0)
        assert HARD_TEXT.replace("✓", "✓") in reply["structuredContent"]["content"]
        sent = xai.last.json["input"][-1]["content"]
        assert HARD_TEXT in (sent if isinstance(sent, str) else sent[0]["text"])
        broken = wire.result("web_search", query="half a pair \ud800 here", extra_sources=0)
        assert broken["structuredContent"]["status"] in {"success", "partial_success", "error"}
        wire.end_input()
        wire.ended()
        wire.assert_only_protocol()


@pytest.mark.parametrize("encoding", ["gbk", "cp1252", "ascii"])
def test_the_command_line_writes_utf8_whatever_the_locale(encoding: str, keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.answer_text = HARD_TEXT
    env = {**keyed, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    run = subprocess.run(
        [Path(sys.executable).with_name("websearch"), "search", "--json", "--extra-sources", "0", "question"],
        env=env, capture_output=True, timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr.decode()
    assert HARD_TEXT in run.stdout.decode("utf-8")


@pytest.mark.requirement("P5-SCHEMA-01", "OURS-36", "OURS-41")
def test_the_tool_list_comes_before_any_network(keyed: dict[str, str], xai: XaiUpstream, tavily: TavilyUpstream) -> None:
    """Every upstream hangs; the handshake and the list do not care, and nobody was asked."""
    xai.follow(hang())
    tavily.follow(hang())
    with Wire(keyed) as wire:
        assert wire.initialize()["serverInfo"]["name"] == "websearch"
        names = [tool["name"] for tool in wire.tools()]
        assert names == ["web_search", "get_sources", "web_fetch", "web_map", "x_search", "get_config_info", "switch_model"]
        assert (xai.requests, tavily.requests) == ([], [])


@pytest.mark.requirement("OURS-36")
def test_the_tool_list_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    with Wire(environment(tmp_path)) as one, Wire(environment(tmp_path, TAVILY_API_KEY="tvly-other")) as other:
        for wire in (one, other):
            wire.initialize()
            wire.tools()
        lists = {line for wire in (one, other) for line in wire.lines if b'"inputSchema"' in line}
        assert len(lists) == 1


# --- ending


@contextmanager
def busy(env: dict[str, str], xai: XaiUpstream, *, in_call: bool) -> Iterator[Wire]:
    """A server that is idle, or in the middle of a slow upstream call."""
    xai.follow(hang())
    with Wire(env) as wire:
        wire.initialize()
        if in_call:
            wire.call("web_search", query="slow", extra_sources=0)
            xai.wait_until(lambda it: it.in_flight == 1)
        yield wire


@pytest.mark.parametrize("in_call", [False, True])
def test_the_end_of_input_ends_the_server(in_call: bool, keyed: dict[str, str], xai: XaiUpstream) -> None:
    with busy(keyed, xai, in_call=in_call) as wire:
        wire.end_input()
        assert wire.ended() == 0
    xai.wait_until(lambda it: it.in_flight == 0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can catch")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("in_call", [False, True])
def test_a_signal_ends_the_server(in_call: bool, number: int, keyed: dict[str, str], xai: XaiUpstream) -> None:
    with busy(keyed, xai, in_call=in_call) as wire:
        wire.process.send_signal(number)
        assert wire.ended() == 0
    xai.wait_until(lambda it: it.in_flight == 0)


CLIENT = """
import json, os, subprocess, sys, time
reading, writing = os.pipe()
server = subprocess.Popen(sys.argv[2:], stdin=reading, stdout=subprocess.PIPE)
os.close(reading)
if sys.argv[1] == "sibling":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], pass_fds=(writing,), stdout=subprocess.DEVNULL)
    os.set_inheritable(writing, False)
hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
         "clientInfo": {"name": "c", "version": "1"}}}
os.write(writing, json.dumps(hello).encode() + b"\\n")
server.stdout.readline()
os.write(writing, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\\n')
if len(sys.argv) and os.environ.get("IN_CALL"):
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "web_search", "arguments": {"query": "slow"}}}
    os.write(writing, json.dumps(call).encode() + b"\\n")
print(server.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at the process table in /proc")
@pytest.mark.parametrize("in_call", [False, True])
@pytest.mark.parametrize("who", ["alone", "sibling"])
def test_a_killed_client_takes_the_server_with_it(
    who: str, in_call: bool, keyed: dict[str, str], xai: XaiUpstream, tmp_path: Path
) -> None:
    """Also when another process still holds the input open, so that no end of file ever comes."""
    xai.follow(hang())
    script = tmp_path / "client.py"
    script.write_text(textwrap.dedent(CLIENT), encoding="utf-8")
    env = {**keyed, **({"IN_CALL": "1"} if in_call else {})}
    client = subprocess.Popen([sys.executable, script, who, *SERVER], env=env, stdout=subprocess.PIPE, start_new_session=True)
    assert client.stdout is not None
    try:
        server = int(client.stdout.readline())
        if in_call:
            xai.wait_until(lambda it: it.in_flight == 1)
        client.kill()
        client.wait(WAIT_S)
        assert gone(server)
    finally:
        with closing(client.stdout):
            kill_group(client.pid)
    xai.wait_until(lambda it: it.in_flight == 0)


def gone(pid: int) -> bool:
    """Whether the process ends within the bound; a zombie has ended."""
    import time

    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.mark.requirement("EDGE-11")
def test_a_cancelled_call_drops_its_upstream_request(keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.follow(hang())
    with Wire(keyed) as wire:
        wire.initialize()
        number = wire.call("web_search", query="slow", extra_sources=0)
        xai.wait_until(lambda it: it.in_flight == 1)
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        xai.wait_until(lambda it: it.in_flight == 0 and it.disconnects == 1)
        assert wire.tools()  # and the server goes on


@pytest.mark.requirement("OURS-18")
def test_a_slow_call_tells_of_its_progress_at_once_and_never_after_its_result(keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.follow(hang())
    env = {**keyed, "WEBSEARCH_SEARCH_DEADLINE_S": "5", "WEBSEARCH_SEARCH_EXTRAS_ALLOWANCE_S": "1"}
    with Wire(env) as wire:
        wire.initialize()
        number = wire.call("web_search", progress="token", query="slow", extra_sources=0)
        first = wire.until("notifications/progress")["params"]
        assert (first["progressToken"], first["progress"] < 1) == ("token", True)
        result = wire.reply(number)["result"]
        assert result["structuredContent"]["fallback_reason"] == "grok_timeout"
        told = [one["params"]["progress"] for one in wire.messages if one.get("method") == "notifications/progress"]
        assert told == sorted(set(told))
        wire.tools()
        assert wire.messages[-1].get("method") != "notifications/progress"


@pytest.mark.requirement("OURS-18", "OURS-19")
def test_a_client_that_stops_waiting_gets_a_handle_and_later_the_answer_for_one_charge(
    keyed: dict[str, str], xai: XaiUpstream
) -> None:
    ready = threading.Event()

    async def when_ready(exchange: Exchange) -> None:
        await anyio.to_thread.run_sync(ready.wait, abandon_on_cancel=True)
        await ok().perform(exchange)

    xai.follow(Step("when_ready", when_ready))
    with Wire({**keyed, "WEBSEARCH_SEARCH_DEADLINE_NO_PROGRESS_S": "3"}) as wire:
        wire.initialize()
        early = wire.result("web_search", query="slow")["structuredContent"]
        assert (early["status"], early["fallback_used"]) == ("partial_success", True)
        assert early["pending_until"]
        ready.set()
        late = early
        while late["pending_until"]:
            late = wire.result("get_sources", session_id=early["session_id"], start=0)["structuredContent"]
        assert late["status"] == "success"
        assert late["content"]
        assert late["total_sources"] > early["sources_count"]
    assert [request.path for request in xai.requests] == ["/v1/responses"]


def test_calls_run_side_by_side(keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.follow(hang())
    with Wire(keyed) as wire:
        wire.initialize()
        wire.call("web_search", query="slow", extra_sources=0)
        xai.wait_until(lambda it: it.in_flight == 1)
        assert wire.result("get_sources", session_id="unknown")["isError"] is True


def test_an_unknown_tool_is_a_protocol_error_and_the_server_goes_on(tmp_path: Path) -> None:
    with Wire(environment(tmp_path)) as wire:
        wire.initialize()
        error: dict[str, Any] = wire.reply(wire.call("web_serch", query="x"))["error"]
        assert error["code"] == -32602
        assert "web_search" in error["message"]
        wire.send(b"this is not json\n")
        assert wire.tools()
