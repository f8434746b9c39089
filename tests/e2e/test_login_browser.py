"""The whole sign-in in a real browser, with consent, with a shown code, with a denial, with a state that was tampered with."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from e2e.login_browser import COMMAND, SignIn, chromium, configured
from upstreams.issuer import IssuerUpstream
from upstreams.ports import free_port
from upstreams.serve import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def upstream() -> IssuerUpstream:
    return IssuerUpstream(device_interval_s=1)


@pytest.fixture
def env(upstream: IssuerUpstream, tmp_path: Path) -> Iterator[dict[str, str]]:
    with serving(upstream) as url:
        yield configured(tmp_path, url, WEBSEARCH_XAI_OAUTH_PORT=str(free_port()))


def stored(tmp_path: Path) -> dict[str, object]:
    file = tmp_path / "data" / "login.json"
    assert sys.platform == "win32" or stat.S_IMODE(file.stat().st_mode) == 0o600
    found: dict[str, object] = json.loads(file.read_text(encoding="utf-8"))
    return found


def command(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.requirement("LOGIN-01", "LOGIN-06", "LOGIN-21")
def test_consent_with_a_redirect_signs_in_until_signed_out(
    page: Page, upstream: IssuerUpstream, env: dict[str, str], tmp_path: Path
) -> None:
    with SignIn(env, "--no-browser") as sign_in:
        page.goto(sign_in.address())
        page.click("#allow")
        page.wait_for_selector("h1:has-text('You are signed in')")
        assert (tmp_path / "data" / "login.json").exists()  # before the browser said so
        assert "Signed in as reader@example.org" in page.inner_text("main")
        assert "code=" not in page.url  # neither in the address bar nor in the history
        status, out, err = sign_in.ended()
    assert (status, "signed in" in out, "reader@example.org" in out) == (0, True, True)
    tokens = stored(tmp_path)
    for secret in (str(tokens["access_token"]), str(tokens["refresh_token"])):
        assert secret not in out + err
    asked = command(env, "search", "--json", "Who repaired the footbridge?")
    assert json.loads(asked.stdout)["status"] == "success"
    assert {request.key for request in upstream.requests if request.key} == {tokens["access_token"]}
    left = command(env, "logout")
    assert (left.returncode, upstream.revoked) == (0, [tokens["refresh_token"]])
    assert not (tmp_path / "data" / "login.json").exists()
    assert command(env, "login", "status").returncode == 3


@pytest.mark.requirement("LOGIN-05")
@pytest.mark.parametrize("whole", [False, True])
def test_a_shown_code_is_pasted(page: Page, env: dict[str, str], tmp_path: Path, whole: bool) -> None:
    with SignIn(env, "--no-browser", "--json") as sign_in:
        address = sign_in.address()
        page.goto(address)
        page.click("#show")
        code = page.inner_text("#code")
        state = address.split("state=")[1].split("&")[0]
        sign_in.type("no code at all")
        sign_in.type(f"http://127.0.0.1/callback?code={code}&state={state}" if whole else code)
        status, out, err = sign_in.ended()
    assert (status, json.loads(out)["signed_in"]) == (0, True)
    assert "neither a code nor the address" in err
    assert stored(tmp_path)["account"] == "reader@example.org"


@pytest.mark.requirement("LOGIN-03")
def test_a_denial_is_shown_on_both_sides(page: Page, env: dict[str, str], tmp_path: Path) -> None:
    with SignIn(env, "--no-browser", "--json") as sign_in:
        page.goto(sign_in.address())
        page.click("#deny")
        page.wait_for_selector("h1:has-text('You are not signed in')")
        assert "The user <b>declined</b>" in page.inner_text(".said")
        status, out, _ = sign_in.ended()
    assert status == 6
    assert json.loads(out)["error"] == "login_denied"
    assert not (tmp_path / "data" / "login.json").exists()


@pytest.mark.requirement("LOGIN-04")
def test_a_tampered_state_is_refused_and_the_right_answer_still_counts(page: Page, env: dict[str, str], tmp_path: Path) -> None:
    with SignIn(env, "--no-browser") as sign_in:
        address = sign_in.address()
        page.goto(address)
        page.click("#tamper")
        page.wait_for_selector("h1:has-text('This does not belong to your sign-in')")
        sign_in.until("its state is wrong.* ignored")
        assert not (tmp_path / "data" / "login.json").exists()
        page.goto(address)
        page.click("#allow")
        page.wait_for_selector("h1:has-text('You are signed in')")
        assert sign_in.ended()[0] == 0


def test_the_page_loads_nothing_and_runs_nothing_of_others(page: Page, env: dict[str, str]) -> None:
    """A script in the issuer's words is text, and no request leaves the page, not even for an icon."""
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    with SignIn(env, "--no-browser") as sign_in:
        address = sign_in.address()
        port, state = env["WEBSEARCH_XAI_OAUTH_PORT"], address.split("state=")[1].split("&")[0]
        told = "%3Cscript%3Edocument.title='owned'%3C/script%3E%3Cimg%20src=http://127.0.0.1:9/x%3E"
        page.goto(f"http://127.0.0.1:{port}/callback?error=server_error&error_description={told}&state={state}")
        page.wait_for_selector("h1:has-text('You are not signed in')")
        assert "owned" not in page.title()
        assert "<script>" in page.inner_text(".said")
        assert sign_in.ended()[0] != 0
    assert len([url for url in asked if url.startswith("http")]) == 1
    assert not [text for text in complaints if "Content Security Policy" in text]


def test_a_browser_is_opened_by_itself_where_there_is_a_screen(env: dict[str, str], tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    opener = tmp_path / "browser"
    opener.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n', encoding="utf-8")
    opener.chmod(0o755)
    env = {name: value for name, value in env.items() if name != "SSH_CONNECTION"}
    with SignIn({**env, "BROWSER": f"{opener} %s"}, "--timeout", "3") as sign_in:
        address = sign_in.address()
        status, _, err = sign_in.ended()
    assert (status, "nobody signed in within 3 s" in err) == (6, True)
    assert opened.read_text(encoding="utf-8").strip() == address


@pytest.mark.requirement("LOGIN-08")
@pytest.mark.parametrize(
    ("polls", "status", "code"),
    [
        (("authorization_pending", "tokens"), 0, None),
        (("authorization_pending", "access_denied"), 6, "login_denied"),
        (("expired_token",), 6, "login_timeout"),
    ],
)
def test_a_device_code_signs_in_or_says_why_not(
    upstream: IssuerUpstream, env: dict[str, str], tmp_path: Path, polls: tuple[str, ...], status: int, code: str | None
) -> None:
    upstream.device = list(polls)
    done = command(env, "login", "--device", "--json")
    assert "BCDF-GHJK" in done.stderr
    assert (done.returncode, json.loads(done.stdout)["error"]) == (status, code)
    assert (tmp_path / "data" / "login.json").exists() == (status == 0)


@pytest.mark.requirement("LOGIN-20")
def test_without_a_client_id_the_refusal_names_the_setting_and_the_page(env: dict[str, str]) -> None:
    done = command({**env, "WEBSEARCH_XAI_OAUTH_CLIENT_ID": ""}, "login")
    assert done.returncode == 3
    assert "xai.oauth_client_id" in done.stderr
    assert "docs/login.md" in done.stderr


@pytest.mark.requirement("LOGIN-20")
def test_no_client_id_is_shipped() -> None:
    """Neither in a default nor anywhere in what is installed."""
    from websearch_adapters import settings

    assert settings.Settings().xai.oauth_client_id == ""
    sources = Path(settings.__file__).resolve().parents[1]
    shape = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
    assert not [path for path in sources.rglob("*.py") if shape.search(path.read_text(encoding="utf-8"))]


@pytest.mark.requirement("LOGIN-09")
def test_another_programs_file_is_refused_before_the_browser_opens(env: dict[str, str], tmp_path: Path) -> None:
    theirs = tmp_path / "auth.json"
    theirs.write_text('{"access_token": "theirs", "refresh_token": "theirs"}', encoding="utf-8")
    env = {**env, "GROK_SEARCH_AUTH_FILE": str(theirs)}
    for words in (["login"], ["logout"], ["login", "status"]):
        done = command(env, *words)
        assert (done.returncode, "another program" in done.stderr) == (3, True), done.stderr
    assert "theirs" in theirs.read_text(encoding="utf-8")
