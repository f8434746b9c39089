"""`websearch login`: sign in with a subscription, in a browser here or anywhere; and see how the sign-in stands."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from websearch_adapters.credentials import oauth, renewal
from websearch_adapters.credentials.login import state_of
from websearch_adapters.credentials.oauth import Login, OAuthClient
from websearch_adapters.credentials.token_file import TokenFile
from websearch_adapters.http.forms import FormClient
from websearch_adapters.settings import LoadedConfiguration
from websearch_core import outcome
from websearch_core.errors import NotConfigured, OutOfTime, WebSearchError
from websearch_core.values import LoginReport
from websearch_mcp.cli import output, session

__all__ = ["busy", "kept", "open_browser", "run", "stored"]

RISK = (
    "note: a sign-in uses a client id that the vendor gave to a program of its own; that may breach its terms, and it can end "
    "at any time. See docs/login.md."
)


def run(options: argparse.Namespace) -> int:
    """Sign in, or show how the sign-in stands."""
    loaded = session.configuration(options)
    if options.action == "status":
        return session.finish(_status(loaded), as_json=options.json, redact=loaded.redact)
    output.notice(RISK)
    with asyncio.Runner() as runner:
        report = runner.run(_signed_in(loaded, options))
    return session.finish(report, as_json=options.json, redact=loaded.redact)


def stored(loaded: LoadedConfiguration) -> Login | None:
    """The sign-in of the file, or None.

    Raises:
        NotConfigured: the file cannot be used.
    """
    found = TokenFile(loaded.settings.login_file).read()
    return None if found is None else oauth.from_file(found, oauth.issuer_at(loaded.settings.xai.oauth_issuer))


async def kept(loaded: LoadedConfiguration, login: Login) -> None:
    """Keep a new sign-in in place of whatever was there.

    Raises:
        NotConfigured: it cannot be kept.
        OutOfTime: another process keeps the file locked.
    """
    file, before = TokenFile(loaded.settings.login_file), None
    try:
        async with file.locked(renewal.LOCK):
            with contextlib.suppress(NotConfigured):
                before = stored(loaded)
            file.write(oauth.to_file(dataclasses.replace(login, generation=before.generation + 1 if before else 1)))
    except TimeoutError as error:
        raise busy() from error


def busy() -> OutOfTime:
    """Another process has had the file to itself for a minute."""
    return OutOfTime("the login's file is locked by another process", provider=oauth.NAME, hint="Try again in a minute.")


def _status(loaded: LoadedConfiguration) -> LoginReport:
    try:
        login = stored(loaded)
    except NotConfigured as error:
        return outcome.failed(LoginReport(file=str(loaded.settings.login_file)), error, "login")
    return _report(loaded, login)


def _report(loaded: LoadedConfiguration, login: Login | None) -> LoginReport:
    chosen = loaded.settings
    health = state_of(login, is_used=chosen.xai_auth() == "oauth", now=time.time())
    report = LoginReport(signed_in=health.state == "ok", detail=health.detail, file=str(chosen.login_file))
    if login is not None:
        until = datetime.fromtimestamp(login.expires_at, UTC).isoformat(timespec="seconds")
        report = dataclasses.replace(report, account=login.account, token_until=until)
    if health.state == "ok":
        return report
    return outcome.failed(report, NotConfigured(health.detail, provider=oauth.NAME, hint="Run `websearch login`."), "login")


async def _signed_in(loaded: LoadedConfiguration, options: argparse.Namespace) -> LoginReport:
    forms = FormClient(oauth.NAME, proxy=loaded.settings.network.proxy)
    try:
        client = _client(loaded, forms)
        login = await (_by_device(loaded, client) if options.device else _by_browser(loaded, client, options))
    except WebSearchError as error:
        return outcome.failed(LoginReport(file=str(loaded.settings.login_file)), error, "login")
    finally:
        await forms.aclose()
    if loaded.settings.xai.api_key and loaded.settings.xai_auth() == "oauth":
        output.notice("note: xai.api_key is set too; the login pays from now on. To keep to the key, set xai.auth to api_key.")
    if loaded.settings.xai_auth() != "oauth":
        output.notice("note: the login is not used yet: xai.auth is api_key, or xai.api_url is not the vendor's.")
    output.notice("note: servers that are running find the login when they are started again.")
    return _report(loaded, login)


def _client(loaded: LoadedConfiguration, forms: FormClient) -> OAuthClient:
    """The client for a sign-in, once it is clear that there is a client id and a place for the tokens.

    Raises:
        NotConfigured: no client id is set, or the file is another program's.
    """
    chosen = loaded.settings.xai
    if not chosen.oauth_client_id:
        raise NotConfigured(
            "no client id is set, and none comes with websearch",
            provider=oauth.NAME,
            hint="Set xai.oauth_client_id (WEBSEARCH_XAI_OAUTH_CLIENT_ID); docs/login.md says what others use, and the risk.",
        )
    TokenFile(loaded.settings.login_file).require_own()
    return OAuthClient(forms, oauth.issuer_at(chosen.oauth_issuer), client_id=chosen.oauth_client_id, scope=chosen.oauth_scope)


async def _by_browser(loaded: LoadedConfiguration, client: OAuthClient, options: argparse.Namespace) -> Login:
    from websearch_adapters.credentials.loopback import browser_login

    def show(address: str) -> None:
        output.notice(f"\nSign in with a browser on this computer:\n\n  {address}\n")
        output.notice("If the page shows a code instead of coming back, paste the code, or the whole address, here.")
        if options.browser:
            open_browser(address)

    async def keep(login: Login) -> None:
        _hide(loaded, login)
        await kept(loaded, login)

    return await browser_login(
        client,
        port=loaded.settings.xai.oauth_port,
        show=show,
        keep=keep,
        lines=_typed_lines(),
        tell=output.notice,
        limit_s=options.timeout,
    )


async def _by_device(loaded: LoadedConfiguration, client: OAuthClient) -> Login:
    endpoints = await client.endpoints()
    device = await client.device_code(endpoints)
    output.notice(f"\nOpen in any browser:  {device.complete_address or device.address}")
    output.notice(f"Code:                 {device.user_code}\n")
    output.notice(f"Waiting for up to {device.expires_in_s / 60:.0f} minutes.")
    login = await client.finished(device, endpoints)
    _hide(loaded, login)
    await kept(loaded, login)
    return login


def _hide(loaded: LoadedConfiguration, login: Login) -> None:
    for secret in (login.access_token, login.refresh_token):
        if secret is not None:
            loaded.redact.learn(secret.value)


def open_browser(address: str) -> None:
    """Open the browser, unless nobody would see it. In a process of its own: some browsers block, and talk."""
    is_remote = bool(os.environ.get("SSH_CONNECTION"))
    has_screen = sys.platform in {"win32", "darwin"} or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    if is_remote or not has_screen:
        return
    nothing = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        command = [sys.executable, "-P", "-m", "webbrowser", "-t", address]
        opener = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)  # noqa: S603 - our own interpreter
        threading.Thread(target=opener.wait, name="websearch-browser", daemon=True).start()


async def _typed_lines() -> AsyncIterator[str]:
    """What a person types or pastes; ends with standard input."""
    loop, typed = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def read() -> None:  # unbuffered: a thread that waits inside of sys.stdin would hold up the end of the process
        rest = ""
        with contextlib.suppress(OSError, ValueError, RuntimeError, AttributeError):
            descriptor = sys.stdin.fileno()
            while piece := os.read(descriptor, 65_536):
                *lines, rest = (rest + piece.decode("utf-8", "replace")).replace("\r", "\n").split("\n")
                for line in lines:
                    loop.call_soon_threadsafe(typed.put_nowait, line)
            loop.call_soon_threadsafe(typed.put_nowait, rest)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(typed.put_nowait, None)

    threading.Thread(target=read, name="websearch-typed", daemon=True).start()
    while (line := await typed.get()) is not None:
        yield line
