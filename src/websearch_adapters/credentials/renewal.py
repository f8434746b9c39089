"""Renewing a sign-in: once for all processes of a user, to the end although whoever asked for it is killed.

A refresh token counts once. Between the issuer's taking it and our keeping its successor, a killed process would lose the
sign-in for good, and hosts kill their servers all the time. So the request is sent by a small process of its own that no
terminal and no parent takes down: `python -P -m websearch_adapters.credentials.renewal PATH ISSUER GENERATION`. The lock is its
lock; whoever waits reads the file again, and a second one finds that there is nothing left to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from websearch_core.errors import AuthRejected, NotConfigured, OutOfCredit, Unreachable, WebSearchError

if TYPE_CHECKING:
    from websearch_adapters.credentials.oauth import Issuer, Login, OAuthClient
    from websearch_adapters.credentials.token_file import TokenFile

__all__ = ["LOCK", "Renewal", "main", "renew"]

Ending: TypeAlias = Literal["renewed", "refused", "not_entitled", "unreachable", "unusable"]
STATUSES: dict[Ending, int] = {"renewed": 0, "refused": 21, "not_entitled": 22, "unreachable": 23, "unusable": 24}
"""How the process of a renewal ends; any other status is a death."""
LOCK = "lock"
"""Held by whoever changes the file: a renewal, a sign-in, a sign-out."""
TURN = "turn"
"""Held by whoever waits for the process of a renewal, so that not all processes start one."""
LIMIT_S = 60.0
PROCESS_LIMIT_S = 45.0
POLL_S = 0.02
STARTS = 3
"""Processes to start when one after the other is killed."""


class Renewal:
    """Gets newer tokens than those at hand."""

    def __init__(
        self, file: TokenFile, issuer: Issuer, client: OAuthClient, *, proxy: str = "environment", detached: bool = True
    ) -> None:
        """`client` is for renewing in this process, where no other can be started, or where `detached` is off.

        `proxy` is the one of `http.proxies` for a process that is started.
        """
        self._proxy = proxy
        self._file = file
        self._issuer = issuer
        self._client = client
        self._detached = detached and _is_interpreter()

    def read(self) -> Login | None:
        """The sign-in as it stands in the file, or None.

        Raises:
            NotConfigured: the file cannot be used.
        """
        from websearch_adapters.credentials import oauth

        stored = self._file.read()
        return None if stored is None else oauth.from_file(stored, self._issuer)

    async def __call__(self, stale: Login) -> Login:
        """A sign-in that is newer than `stale`, whoever renewed it.

        Raises:
            NotConfigured: signed out meanwhile, or the file cannot be used.
            AuthRejected: the issuer has ended the sign-in.
            OutOfCredit: the plan does not allow it.
            Unreachable: no verdict; the sign-in stands.
        """

        def newer() -> Login | None:
            now = self.read()
            if now is None:
                raise _signed_out()
            return now if now.generation != stale.generation else None

        ending: Ending = "unreachable"
        try:
            async with self._file.locked(TURN, wait_s=LIMIT_S, unless=lambda: newer() is not None):
                for _ in range(STARTS):
                    if (found := newer()) is not None:
                        return found
                    status = await self._ended(stale.generation)
                    ending = next((name for name, known in STATUSES.items() if known == status), "unreachable")
                    if status in STATUSES.values():
                        break
                if (found := newer()) is not None:
                    return found
        except TimeoutError:
            pass
        raise _error(ending, self.read())

    async def _ended(self, generation: int) -> int:
        """The status of a renewal, in a process of its own where one can be started."""
        if self._detached:
            with contextlib.suppress(OSError):
                return await _waited(self._start(generation))
        # Cancelled or not, a renewal that has begun is finished.
        return STATUSES[await asyncio.shield(asyncio.ensure_future(renew(self._file, self._client, replacing=generation)))]

    def _start(self, generation: int) -> subprocess.Popen[bytes]:
        from websearch_adapters.http.proxies import inherited

        command = [sys.executable, "-P", "-m", __name__, str(self._file.path), self._issuer.url, str(generation)]
        own: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            own = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
        own |= dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL) | {"env": inherited(self._proxy)}
        return subprocess.Popen(command, cwd=self._file.path.parent, **own)  # noqa: S603 - our own interpreter and module


async def renew(file: TokenFile, client: OAuthClient, *, replacing: int) -> Ending:
    """Renew the sign-in in the file, unless it is another one than that of generation `replacing`."""
    from websearch_adapters.credentials import oauth

    def stands() -> Login | None:
        stored = file.read()
        login = oauth.from_file(stored, client.issuer) if stored is not None else None
        return login if login is not None and login.generation == replacing else None

    try:
        async with file.locked(LOCK, wait_s=LIMIT_S):
            login = stands()
            if login is None:
                return "renewed"
            if login.refused:
                return "refused"
            try:
                file.write(oauth.to_file(await client.renewed(login)))
            except AuthRejected as error:
                if (login := stands()) is None:  # somebody who knows no lock was faster
                    return "renewed"
                file.write(oauth.to_file(dataclasses.replace(login, refused=error.message)))
                return "refused"
    except (NotConfigured, OutOfCredit) as error:
        return "not_entitled" if isinstance(error, OutOfCredit) else "unusable"
    except (WebSearchError, TimeoutError):
        return "unreachable"
    return "renewed"


def _is_interpreter() -> bool:
    """Whether another process like us can be started: a program that embeds Python may name itself as the interpreter."""
    name = Path(sys.executable or "").name.lower()
    return not getattr(sys, "frozen", False) and name.startswith(("python", "pypy"))


async def _waited(process: subprocess.Popen[bytes]) -> int:
    """The status of the process; who is cancelled leaves it to end by itself."""
    try:
        while process.poll() is None:  # noqa: ASYNC110 - a process has no event; asyncio's own would be killed with the loop
            await asyncio.sleep(POLL_S)
        return process.returncode
    finally:
        if process.returncode is None:
            threading.Thread(target=process.wait, name="websearch-renewal", daemon=True).start()


def _signed_out() -> NotConfigured:
    return NotConfigured("nobody is signed in", provider="login", hint="Run `websearch login`.")


def _error(ending: Ending, login: Login | None) -> WebSearchError:
    if ending == "refused":
        why = login.refused if login and login.refused else "the issuer does not take this sign-in any more"
        return AuthRejected(why, provider="login", hint="Sign in again: run `websearch login`.")
    if ending == "not_entitled":
        return OutOfCredit(
            "the subscription does not allow to renew the login",
            provider="login",
            hint="You stay signed in. Check the plan, or use a key: set xai.auth to api_key.",
        )
    if ending == "unusable":
        return NotConfigured("the login's file cannot be used", provider="login", hint="See `websearch login status`.")
    error = Unreachable("the login could not be renewed now", provider="login", hint="Try again in a minute; you stay signed in.")
    error.exhausted = True  # it was repeated already
    return error


def main(arguments: Sequence[str]) -> int:
    """The process of a renewal. Deaf to the signals that end its parent, for a minute at most."""
    from websearch_adapters.credentials.oauth import OAuthClient, issuer_at
    from websearch_adapters.credentials.token_file import TokenFile
    from websearch_adapters.http.forms import FormClient

    path, issuer, generation = arguments
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    async def whole() -> Ending:
        forms = FormClient("login")
        try:
            async with asyncio.timeout(PROCESS_LIMIT_S):
                client = OAuthClient(forms, issuer_at(issuer), client_id="")
                return await renew(TokenFile(Path(path)), client, replacing=int(generation))
        finally:
            await forms.aclose()

    with asyncio.Runner() as runner, contextlib.suppress(TimeoutError):
        return STATUSES[runner.run(whole())]
    return STATUSES["unreachable"]


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(sys.argv[1:]))
