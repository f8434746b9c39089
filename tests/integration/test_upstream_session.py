"""One connection to one upstream: real child processes and real sockets."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from upstreams.lab_http import LabHttp
from upstreams.labs import alive, lab, lab_at, ledger_lines
from upstreams.serve import serve
from websearch_adapters.upstream.process import Log
from websearch_adapters.upstream.session import Link, Session, cause_of
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    OutcomeUnknown,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.hub.values import HttpTransport, StdioTransport, UpstreamSpec
from websearch_core.redaction import Redactor
from websearch_core.values import Secret

pytestmark = pytest.mark.anyio
WHILE_S = 60.0
"""Only bounds a failure: longer than anything here takes."""


def session(spec: UpstreamSpec, **options: object) -> Session:
    return Session(spec, environment=dict(os.environ), **options)  # type: ignore[arg-type]


def nothing() -> None:
    """Nobody listens."""


async def text_of(link: Link, tool: str, text: str = "") -> str:
    reply = await link.call(tool, {"text": text})
    return reply.parts[0].text


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WHILE_S):
        while not condition():
            await asyncio.sleep(0.005)


async def given_up(call: asyncio.Future[Any], under_way: Callable[[], bool]) -> None:
    """Cancel a call that is held, once it is under way."""
    await until(under_way)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


# --- stdio


async def test_a_child_process_is_connected_listed_called_and_gone_afterwards(tmp_path: Path) -> None:
    one = session(lab(ledger=tmp_path / "ledger"))
    async with one.connect(nothing) as link:
        assert link.info.name == "lab"
        assert {"echo", "rich"} <= {tool.name for tool in await link.tools()}
        assert await text_of(link, "echo", "héllo ✓") == "héllo ✓"
        pid = one.pid
        assert pid is not None
        assert alive(pid)
    await until(lambda: not alive(pid))


async def test_every_kind_of_content_arrives() -> None:
    async with session(lab()).connect(nothing) as link:
        await link.tools()
        reply = await link.call("rich", {})
        failed = await link.call("wrong", {"text": "no"})
    assert [part.kind for part in reply.parts] == ["text", "image", "audio", "link", "resource"]
    assert reply.parts[3].uri == "file:///lab/note.txt"
    assert reply.parts[4].text == "inside"
    assert reply.structured == {"answer": 42}
    assert (failed.failed, reply.failed) == (True, False)


async def test_a_tool_keeps_its_promises_and_its_audience() -> None:
    ui = {"ui": {"resourceUri": "ui://lab/view", "visibility": ["app"]}}
    app = {"name": "app", "inputSchema": {"type": "object"}, "_meta": ui}
    async with session(lab(tools=[app])).connect(nothing) as link:
        tools = {tool.name: tool for tool in await link.tools()}
    assert (tools["echo"].read_only, tools["count"].read_only, tools["count"].repeatable) == (True, False, False)
    assert (tools["app"].for_models, tools["app"].ui_resource) == (False, "ui://lab/view")


async def test_a_list_over_many_pages_is_read_to_its_end_and_one_without_end_is_refused() -> None:
    async with session(lab(page=2, tools=[f"t{number}" for number in range(20)])).connect(nothing) as link:
        assert [tool.name for tool in await link.tools()][-1] == "t19"
    async with session(lab(page=2, loop=True)).connect(nothing) as link:
        with pytest.raises(BadReply, match="never ends"):
            await link.tools()


@pytest.mark.requirement("HUB-LINK-04")
async def test_the_folder_the_named_variables_and_nothing_else_reach_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-must-not-leak")
    monkeypatch.setenv("WANTED", "yes")
    way = lab().transport
    assert isinstance(way, StdioTransport)
    way = StdioTransport(
        command=way.command, args=way.args, env={"OWN": Secret("1")}, inherit=("WANTED", "ABSENT"), cwd=str(tmp_path)
    )
    async with session(UpstreamSpec(name="lab", transport=way)).connect(nothing) as link:
        await link.tools()
        facts = (await link.call("whoami", {})).structured
    assert isinstance(facts, dict)
    environment = facts["environment"]
    assert isinstance(environment, dict)
    assert facts["cwd"] == str(tmp_path)
    assert (environment["OWN"], environment["WANTED"], environment["PATH"]) == ("1", "yes", os.environ["PATH"])
    assert not {"TAVILY_API_KEY", "ABSENT"} & set(environment)


@pytest.mark.parametrize(
    ("way", "words"),
    [
        (StdioTransport(command="/no/such/program"), "is not there"),
        (StdioTransport(command=sys.executable, cwd="/no/such/folder"), "folder /no/such/folder"),
        (StdioTransport(command="/etc/passwd"), "may not be run"),
    ],
)
async def test_a_program_or_folder_that_is_not_there_is_the_operators_matter(way: StdioTransport, words: str) -> None:
    with pytest.raises(Unreachable, match=words) as caught:
        async with session(UpstreamSpec(name="x", transport=way)).connect(nothing):
            pass
    assert cause_of(caught.value).kind == "start"


async def test_a_child_that_leaves_at_once_says_how_and_its_last_words() -> None:
    with pytest.raises(Unreachable, match="ended with status 3: I shall not run"):
        async with session(lab(behaviour="crash")).connect(nothing):
            pass


async def test_a_child_that_takes_no_other_first_message_than_the_old_one_is_spoken_to_in_the_old_way() -> None:
    async with session(lab(behaviour="strict")).connect(nothing) as link:
        await link.tools()
        assert await text_of(link, "echo", "old") == "old"


@pytest.mark.parametrize("behaviour", ["silent", "garbage"])
async def test_a_child_that_never_answers_is_given_up_when_the_caller_gives_up(behaviour: str) -> None:
    one = session(lab(behaviour=behaviour))
    connection = one.connect(nothing)
    await given_up(asyncio.ensure_future(connection.__aenter__()), lambda: "lab is up" in one.log.lines())
    assert one.pid is not None
    await until(lambda pid=one.pid: not alive(pid))  # type: ignore[misc]


async def test_noise_between_messages_is_counted_and_harms_nothing() -> None:
    one = session(lab(behaviour="noisy"))
    async with one.connect(nothing) as link:
        await link.tools()
        assert await text_of(link, "echo", "clear") == "clear"
    assert any("no message on standard output" in line for line in one.log.lines())


@pytest.mark.parametrize("more", [{}, {"last": True}], ids=["number first", "number last"])
async def test_a_reply_of_nothing_but_values_is_refused_at_once_and_the_next_one_read(more: dict[str, bool]) -> None:
    """Reading ten megabytes of empty lists would keep everybody else waiting for seconds."""
    one = session(lab())
    async with one.connect(nothing) as link:
        with pytest.raises(BadReply, match=r"the tool 'echo' answered, but .* more than 100,000 values"):
            await link.call("echo", {"lists": 2_500_000, **more})
        assert await text_of(link, "echo", "clear") == "clear"
        assert (await link.call("echo", {"lists": 30_000, **more})).structured == {"items": [[]] * 30_000}
    assert any("left unread: more than 100,000 values" in line for line in one.log.lines())


async def test_what_a_child_writes_to_standard_error_is_kept_for_this_and_other_processes(tmp_path: Path) -> None:
    log = Log(tmp_path / "logs" / "lab.log")
    async with session(lab(), log=log).connect(nothing) as link:
        await link.tools()
        await until(lambda: "lab is up" in log.lines())
    written = (tmp_path / "logs" / "lab.log").read_text(encoding="utf-8").splitlines()
    assert written == ["lab is up", "the process ended with status 0"]


def test_a_log_keeps_its_last_lines_and_its_file_stays_small(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    for number in range(1_600):
        log.add(f"{number} \x1b[31mred\x1b[0m {'x' * 3_000}")
    assert len(log.lines()) == 500
    assert log.lines()[-1].startswith("1599 red ")
    assert max(map(len, log.lines())) == 2_000
    assert (tmp_path / "log").stat().st_size < 3 * 500 * 2_001


@pytest.mark.requirement("HUB-LINK-02")
async def test_death_in_the_middle_of_a_call_leaves_its_outcome_unknown_and_the_next_call_is_not_sent(tmp_path: Path) -> None:
    async with session(lab(ledger=tmp_path / "ledger")).connect(nothing) as link:
        await link.tools()
        with pytest.raises(OutcomeUnknown, match="may have been carried out"):
            await link.call("die", {})
        assert (await link.closed()).text == "the process ended with status 9"
        with pytest.raises(Unreachable, match="nothing was sent"):
            await link.call("count", {})
    assert "call count" not in ledger_lines(tmp_path / "ledger")


@pytest.mark.requirement("HUB-LINK-03")
async def test_the_death_of_an_idle_child_is_noticed_without_any_call() -> None:
    one = session(lab())
    async with one.connect(nothing) as link:
        await link.tools()
        assert one.pid is not None
        os.kill(one.pid, signal.SIGKILL)
        async with asyncio.timeout(WHILE_S):
            assert (await link.closed()).text == "the process was killed by signal 9"


async def test_a_cancelled_call_is_cancelled_at_the_upstream_and_the_connection_stays(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    async with session(lab(ledger=ledger)).connect(nothing) as link:
        await link.tools()
        sleeping = asyncio.ensure_future(link.call("sleep", {"text": "30"}))
        await given_up(sleeping, lambda: "call sleep" in ledger_lines(ledger))
        await until(lambda: "cancelled" in ledger_lines(ledger))
        assert await text_of(link, "echo", "still there") == "still there"


async def test_each_notice_of_a_changed_list_is_passed_on() -> None:
    heard: list[int] = []
    async with session(lab()).connect(lambda: heard.append(1)) as link:
        await link.tools()
        await link.call("flood", {"text": "100"})
        await until(lambda: len(heard) == 100)


@pytest.mark.requirement("HUB-LINK-05")
async def test_a_child_that_will_not_leave_is_killed_with_its_grandchildren(tmp_path: Path) -> None:
    for behaviour in ("deaf", "parent"):
        ledger = tmp_path / behaviour
        one = session(lab(behaviour=behaviour, ledger=ledger))
        async with one.connect(nothing) as link:
            await link.tools()
        family = [int(line.split()[1]) for line in ledger_lines(ledger) if line.startswith(("start", "grandchild"))]
        assert len(family) == (2 if behaviour == "parent" else 1)
        await until(lambda family=family: not any(map(alive, family)))  # type: ignore[misc]


async def test_a_child_whose_grandchild_holds_its_pipes_is_known_to_be_dead(tmp_path: Path) -> None:
    one = session(lab(behaviour="parent", ledger=tmp_path / "ledger"))
    async with one.connect(nothing) as link:
        await link.tools()
        assert one.pid is not None
        os.kill(one.pid, signal.SIGKILL)
        async with asyncio.timeout(WHILE_S):
            assert "signal 9" in (await link.closed()).text


async def test_a_child_that_stops_answering_while_idle_is_taken_for_dead() -> None:
    one = session(lab(), ping_every_s=0.05, pong_within_s=1.0)
    async with one.connect(nothing) as link:
        await link.tools()
        assert one.pid is not None
        os.kill(one.pid, signal.SIGSTOP)
        async with asyncio.timeout(WHILE_S):
            assert (await link.closed()).kind == "timeout"
    await until(lambda pid=one.pid: not alive(pid))  # type: ignore[misc]


# --- HTTP


async def test_an_address_is_connected_listed_and_called_with_the_configured_headers() -> None:
    app = LabHttp(token="sesame")
    async with serve(app) as url, session(lab_at(url, Authorization="Bearer sesame")).connect(nothing) as link:
        await link.tools()
        assert await text_of(link, "echo", "over HTTP") == "over HTTP"


async def test_a_missing_login_is_told_from_every_other_failure() -> None:
    app = LabHttp(token="sesame")
    async with serve(app) as url:
        with pytest.raises(AuthRejected) as caught:
            async with session(lab_at(url)).connect(nothing):
                pass
    assert cause_of(caught.value).kind == "auth"
    with pytest.raises(Unreachable) as gone:
        async with session(lab_at(url)).connect(nothing):
            pass
    assert cause_of(gone.value).kind == "network"


async def test_a_login_that_ends_in_the_middle_is_told_and_ends_the_connection() -> None:
    app = LabHttp(token="sesame")
    async with serve(app) as url, session(lab_at(url, Authorization="Bearer sesame")).connect(nothing) as link:
        await link.tools()
        app.token = "another"
        with pytest.raises(AuthRejected):
            await link.call("count", {})
        assert (await link.closed()).kind == "auth"
        assert app.calls == []


async def test_a_session_that_the_server_forgot_was_surely_not_used() -> None:
    app = LabHttp()
    async with serve(app) as url, session(lab_at(url)).connect(nothing) as link:
        await link.tools()
        app.restart()
        with pytest.raises(Unreachable, match="knew our session no more"):
            await link.call("count", {})
        assert (await link.closed()).kind == "session_lost"
    assert app.calls == []


@pytest.mark.parametrize(
    ("status", "headers", "kind"),
    [
        (429, {"retry-after": "7"}, RateLimited),
        (500, {}, OutcomeUnknown),
        (502, {}, OutcomeUnknown),
        (403, {}, RequestRejected),
        (403, {"www-authenticate": 'Bearer error="insufficient_scope", scope="write"'}, AuthRejected),
    ],
)
async def test_a_status_in_place_of_a_reply_says_who_must_act(
    status: int, headers: dict[str, str], kind: type[WebSearchError]
) -> None:
    app = LabHttp()
    async with serve(app) as url, session(lab_at(url)).connect(nothing) as link:
        await link.tools()
        app.refuse["tools/call"] = (status, headers)
        with pytest.raises(kind) as caught:
            await link.call("count", {})
    assert type(caught.value) is kind
    assert caught.value.http_status == status
    assert caught.value.retry_after_s == (7.0 if status == 429 else None)


async def test_what_an_upstream_says_of_an_error_is_kept_apart_and_without_secrets() -> None:
    app = LabHttp()
    own = Redactor(["sk-of-theirs-123456"])
    async with serve(app) as url, session(lab_at(url), redact=own).connect(nothing) as link:
        await link.tools()
        with pytest.raises(RequestRejected) as caught:
            await link.call("unknown", {})
    said = str(caught.value.diagnostics["said"])
    assert said.startswith("Unknown tool")
    assert "sk-of-theirs" not in said + caught.value.message
    assert "Unknown tool" not in caught.value.message


@pytest.mark.requirement("HUB-LINK-02")
async def test_a_server_that_dies_in_the_middle_of_a_call_leaves_its_outcome_unknown_and_others_unsent() -> None:
    app = LabHttp()
    async with serve(app) as url:
        connection = session(lab_at(url)).connect(nothing)
        link = await connection.__aenter__()
        await link.tools()
        call = asyncio.create_task(link.call("sleep", {}))
        await until(lambda: app.calls == ["sleep"])
    with pytest.raises(OutcomeUnknown):
        await call
    with pytest.raises(Unreachable, match=r"was sent|nothing was sent"):
        await link.call("count", {})
    async with asyncio.timeout(WHILE_S):
        assert (await link.closed()).kind in {"network", "closed"}
    await connection.__aexit__(None, None, None)
    assert app.calls == ["sleep"]


@pytest.mark.requirement("HUB-LINK-03")
async def test_an_idle_connection_to_a_server_that_is_gone_is_noticed() -> None:
    async with serve(LabHttp()) as url:
        connection = session(lab_at(url), ping_every_s=0.05).connect(nothing)
        link = await connection.__aenter__()
        await link.tools()
    async with asyncio.timeout(WHILE_S):
        assert (await link.closed()).kind == "network"
    await connection.__aexit__(None, None, None)


async def test_a_server_that_does_not_answer_a_goodbye_does_not_hold_us() -> None:
    app = LabHttp()
    async with serve(app) as url, asyncio.timeout(20), session(lab_at(url)).connect(nothing) as link:  # less than clients wait
        await link.tools()
        app.clings = True


async def test_something_that_is_no_mcp_server_is_no_upstream() -> None:
    async def page(scope: object, receive: object, send: Callable[..., object]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})  # type: ignore[misc]
        await send({"type": "http.response.body", "body": b"<html>hello</html>"})  # type: ignore[misc]

    async with serve(page) as url:
        with pytest.raises(BadReply, match="handshake failed"):
            async with session(lab_at(url)).connect(nothing):
                pass


@pytest.mark.requirement("HUB-LINK-01")
async def test_a_connection_may_be_entered_and_left_by_different_tasks() -> None:
    connection = session(lab()).connect(nothing)
    link = await asyncio.create_task(_entered(connection))
    await asyncio.create_task(connection.__aexit__(None, None, None))
    with pytest.raises(Unreachable):
        await link.call("echo", {})


async def _entered(connection: object) -> Link:
    entered: Link = await connection.__aenter__()  # type: ignore[attr-defined]
    return entered


@pytest.mark.requirement("HUB-LINK-01")
async def test_two_connections_are_closed_in_any_order() -> None:
    first, second = session(lab("a")).connect(nothing), session(lab("b")).connect(nothing)
    a, b = await first.__aenter__(), await second.__aenter__()
    await a.tools()
    await first.__aexit__(None, None, None)
    await b.tools()
    assert await text_of(b, "echo", "b lives") == "b lives"
    await second.__aexit__(None, None, None)


def test_a_transport_without_a_header_of_its_own_has_no_authorization() -> None:
    assert not HttpTransport(url="https://example.org/mcp").has_authorization
