"""Logins at upstreams: asked for once, renewed once for all, kept over restarts, and lost only when they are refused."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from upstreams.lab_oauth import OAuthLab
from upstreams.labs import lab, lab_at
from upstreams.serve import serve
from websearch_adapters.upstream.auth import Logins, log_in
from websearch_adapters.upstream.session import Session
from websearch_adapters.upstream.supervisor import Supervisor
from websearch_core.errors import AuthRejected, NotConfigured, OutOfTime, Unreachable
from websearch_core.hub.values import HttpTransport, OAuthClient, UpstreamSpec
from websearch_core.values import Secret

pytestmark = pytest.mark.anyio


async def consent(url: str) -> None:
    """A browser that follows the way back, and tries two wrong ways first."""
    async with httpx.AsyncClient() as browser:
        answer = await browser.get(url)
        back = answer.headers["location"]
        assert (await browser.get(back.partition("?")[0] + "?code=stolen&state=guessed")).status_code == 400
        assert (await browser.get(back.replace("/callback", "/favicon.ico"))).status_code == 404
        assert (await browser.get(back)).status_code == 200


async def login(spec: UpstreamSpec, logins: Logins) -> bool:
    return await log_in(spec, logins, consent, environment=os.environ, limit_s=10)


async def echoed(spec: UpstreamSpec, logins: Logins, text: str = "hello") -> str:
    """A call over a connection of its own, as of another process."""
    async with Session(spec, environment=os.environ, auth=logins.auth(spec)).connect(lambda: None) as link:
        await link.tools()
        return (await link.call("echo", {"text": text})).parts[0].text


def stored(folder: Path) -> dict[str, object]:
    (file,) = folder.glob("*.json")
    found: dict[str, object] = json.loads(file.read_text(encoding="utf-8"))
    return found


def age(folder: Path, seconds: float) -> None:
    """Let the stored token grow older."""
    (file,) = folder.glob("*.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**found, "received_at": found["received_at"] - seconds}), encoding="utf-8")


@pytest.mark.requirement("HUB-AUTH-04")
async def test_a_login_is_kept_for_its_owner_alone_and_used_by_the_next_connection(tmp_path: Path) -> None:
    app, learnt = OAuthLab(), list[str]()
    logins = Logins(tmp_path, learn=learnt.append)
    async with serve(app) as url:
        spec = lab_at(url)
        with pytest.raises(AuthRejected, match="wants a login"):
            await echoed(spec, logins)
        assert await login(spec, logins)
        assert await echoed(spec, Logins(tmp_path), "signed") == "signed"
    (file,) = tmp_path.glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {"access-1-0123456789"} <= set(learnt)
    assert len(app.asked) == 1
    assert app.asked[0]["resource"] == f"{url}/mcp"
    assert app.registered["client-1"]["client_name"] == "websearch"


@pytest.mark.requirement("HUB-AUTH-01")
async def test_a_token_that_has_ended_is_renewed_where_it_came_from_after_a_restart(tmp_path: Path) -> None:
    app = OAuthLab()
    async with serve(app) as url:
        spec = lab_at(url)
        await login(spec, Logins(tmp_path))
        app.end_tokens()
        age(tmp_path, 3_600)
        assert await echoed(spec, Logins(tmp_path)) == "hello"
    assert (app.renewals, app.reuses, len(app.asked)) == (1, 0, 1)


async def test_a_token_that_is_refused_early_is_renewed_once_and_the_request_repeated(tmp_path: Path) -> None:
    app = OAuthLab()
    async with serve(app) as url:
        spec, logins = lab_at(url), Logins(tmp_path)
        await login(spec, logins)
        async with Session(spec, environment=os.environ, auth=logins.auth(spec)).connect(lambda: None) as link:
            await link.tools()
            app.end_tokens()
            replies = await asyncio.gather(*(link.call("echo", {"text": str(number)}) for number in range(5)))
    assert [reply.parts[0].text for reply in replies] == ["0", "1", "2", "3", "4"]
    assert (app.renewals, app.reuses) == (1, 0)


async def test_a_slow_call_does_not_hold_up_the_others(tmp_path: Path) -> None:
    app = OAuthLab()
    async with serve(app) as url:
        spec, logins = lab_at(url), Logins(tmp_path)
        await login(spec, logins)
        async with Session(spec, environment=os.environ, auth=logins.auth(spec)).connect(lambda: None) as link:
            await link.tools()
            slow = asyncio.create_task(link.call("sleep", {}))
            async with asyncio.timeout(30):
                assert (await link.call("echo", {"text": "quick"})).parts[0].text == "quick"
            assert not slow.done()
            slow.cancel()


@pytest.mark.requirement("HUB-AUTH-03")
async def test_a_renewal_without_a_verdict_leaves_the_login_and_a_refused_one_ends_it(tmp_path: Path) -> None:
    app = OAuthLab()
    async with serve(app) as url:
        spec = lab_at(url)
        await login(spec, Logins(tmp_path))
        app.end_tokens()
        app.token_status = 503
        with pytest.raises(Unreachable):
            await echoed(spec, Logins(tmp_path))
        assert "tokens" in stored(tmp_path)
        app.token_status = 200
        assert await echoed(spec, Logins(tmp_path)) == "hello"
        app.end_tokens()
        app.refresh = "revoked"
        with pytest.raises(AuthRejected):
            await echoed(spec, Logins(tmp_path))
        assert "tokens" not in stored(tmp_path)
        assert "client" in stored(tmp_path)
    assert len(app.asked) == 1


PROCESS = """
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from upstreams.labs import lab_at
from websearch_adapters.upstream.auth import Logins
from websearch_adapters.upstream.session import Session

async def main():
    spec = lab_at(sys.argv[1])
    session = Session(spec, environment=os.environ, auth=Logins(Path(sys.argv[2])).auth(spec))
    print("ready", flush=True)
    sys.stdin.readline()
    async with session.connect(lambda: None) as link:
        await link.tools()
        print((await link.call("echo", {"text": "shared"})).parts[0].text)

asyncio.run(main())
"""


def together(command: list[str]) -> list[str]:
    """What five of them say, let go at the same moment."""
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(5)]
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    return [one.communicate(timeout=300)[0] for one in started]


@pytest.mark.requirement("HUB-AUTH-02")
async def test_five_processes_with_one_ended_token_renew_it_once(tmp_path: Path) -> None:
    app = OAuthLab()
    tests = str(Path(__file__).resolve().parents[1])
    async with serve(app) as url:
        await login(lab_at(url), Logins(tmp_path))
        app.end_tokens()
        age(tmp_path, 3_600)
        told = await asyncio.to_thread(together, [sys.executable, "-c", PROCESS, url, str(tmp_path), tests])
    assert told == ["shared\n"] * 5
    assert (app.renewals, app.reuses) == (1, 0)


async def test_an_upstream_that_waits_for_a_login_is_ready_after_it(tmp_path: Path) -> None:
    app = OAuthLab()
    async with serve(app) as url:
        spec, logins = lab_at(url), Logins(tmp_path)
        hub = Supervisor([spec], lambda one: Session(one, environment=os.environ, auth=logins.auth(one)))
        hub.start()
        await hub.until_settled()
        assert hub.statuses()[0].state == "needs_auth"
        await login(spec, logins)
        hub.logged_in("lab")
        link = await hub.link("lab")
        assert hub.statuses()[0].state == "ready"
        assert (await link.call("echo", {"text": "in"})).parts[0].text == "in"
        await hub.aclose()


async def test_a_scope_that_a_call_wanted_is_asked_for_at_the_next_login(tmp_path: Path) -> None:
    app = OAuthLab()
    async with serve(app) as url:
        spec, logins = lab_at(url), Logins(tmp_path)
        await login(spec, logins)
        app.refuse["tools/call"] = (403, {"www-authenticate": 'Bearer error="insufficient_scope", scope="write"'})
        with pytest.raises(AuthRejected):
            await echoed(spec, logins)
        app.refuse.clear()
        await login(spec, logins)
        assert await echoed(spec, logins) == "hello"
    assert [set(asked["scope"].split()) for asked in app.asked] == [{"read"}, {"read", "write"}]
    assert len(app.registered) == 1
    assert "wanted" not in stored(tmp_path)


async def test_a_configured_client_is_used_as_it_is_configured(tmp_path: Path) -> None:
    app = OAuthLab()
    client = OAuthClient(client_id="mine", client_secret=Secret("my-secret-0123456789"), scopes=("a", "b"))
    async with serve(app) as url:
        spec = UpstreamSpec(name="lab", transport=HttpTransport(url=f"{url}/mcp", oauth=client))
        await login(spec, Logins(tmp_path))
    assert app.registered == {}
    assert (app.asked[0]["client_id"], app.asked[0]["scope"]) == ("mine", "a b")
    assert "my-secret" not in json.dumps(stored(tmp_path))


async def test_a_no_and_a_silence_leave_nothing_behind(tmp_path: Path) -> None:
    app = OAuthLab()
    app.denied = True

    async def silence(_: str) -> None:
        """Nobody is there."""

    async with serve(app) as url:
        spec, logins = lab_at(url), Logins(tmp_path)
        with pytest.raises(AuthRejected, match="access_denied"):
            await login(spec, logins)
        with pytest.raises(OutOfTime, match="nobody logged in"):
            await log_in(spec, logins, silence, environment=os.environ, limit_s=0.5)
    assert "tokens" not in stored(tmp_path)


async def test_logging_out_forgets_and_an_upstream_without_logins_takes_none(tmp_path: Path) -> None:
    app, logins = OAuthLab(), Logins(tmp_path)
    async with serve(app) as url:
        await login(lab_at(url), logins)
        kept = logins.of(lab_at(url))
        assert kept is not None
        assert await kept.forget()
        assert not await kept.forget()
        with pytest.raises(AuthRejected):
            await echoed(lab_at(url), logins)
    for spec in (lab(), lab_at("http://127.0.0.1:1", Authorization="Bearer x")):
        assert logins.auth(spec) is None
        with pytest.raises(NotConfigured, match="takes no login"):
            await login(spec, logins)


async def test_an_upstream_that_wants_no_login_says_so(tmp_path: Path) -> None:
    from upstreams.lab_http import LabHttp

    async with serve(LabHttp()) as url:
        assert not await login(lab_at(url), Logins(tmp_path))
