"""Asks the person at the client to log in at an upstream, where the client can show an address and this server can be told.

Clients of the older revisions are asked in the middle of the call. Those of the newer ones get the question as the result and
make the call again with the answer. Whoever can do neither reads in the error which command logs in.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from websearch_core.errors import WebSearchError
from websearch_core.hub.values import CallResult, FindResult, UpstreamStatus
from websearch_core.values import Outcome

__all__ = ["Consent", "LogIn"]

log = logging.getLogger(__name__)
LogIn = Callable[[str, Callable[[str], Awaitable[None]]], Awaitable[bool]]
"""An upstream's name and who shows an address → whether a login was made. Raises WebSearchError."""
KEY = "login"
REFUSED = "upstream_auth_rejected"
ASKING_S = 20.0
"""For the upstream to say where one logs in."""


class Hub(Protocol):
    """What is asked of the hub."""

    def statuses(self) -> tuple[UpstreamStatus, ...]: ...

    def logged_in(self, upstream: str) -> None: ...


class Consent:
    """One question for each upstream that wants a login; a find asks once, a call whenever it was refused."""

    def __init__(self, hub: Hub, log_in: LogIn, *, patience_s: float) -> None:
        """`patience_s`: how long a call waits for somebody who agreed."""
        self._hub = hub
        self._log_in = log_in
        self._patience_s = patience_s
        self._offered: set[str] = set()
        self._logins: dict[str, _Login] = {}

    async def ask(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams, result: Outcome
    ) -> bool | types.InputRequiredResult:
        """Whether there is a login now that was not there before; or the question, for the client to come back with."""
        if not _is_refused(result):
            return False
        if (answer := (params.input_responses or {}).get(KEY)) is not None:
            return await self._answered(params.request_state or "", answer)
        name = self._wanted(result)
        elicitation = context.session.client_capabilities and context.session.client_capabilities.elicitation
        if name is None or not elicitation or elicitation.url is None:
            return False
        self._offered.add(name)
        login = self._logins[name] = _Login(name, self._log_in)
        if not (address := await login.address()):
            return False
        question = types.ElicitRequestURLParams(message=f"Log in at {name}?", url=address, elicitation_id=login.id)
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            question.elicitation_id = None
            return types.InputRequiredResult(input_requests={KEY: types.ElicitRequest(params=question)}, request_state=name)
        try:
            answer = await context.session.elicit_url(question.message, address, login.id, context.request_id)
        except MCPError:  # the client cannot ask after all
            login.give_up()
            return False
        return await self._answered(name, answer)

    async def aclose(self) -> None:
        """Ask nobody any more."""
        for login in self._logins.values():
            login.give_up()

    def _wanted(self, result: Outcome) -> str | None:
        """The upstream whose login would help."""
        if isinstance(result, CallResult):
            return result.upstream
        waiting = (one.name for one in self._hub.statuses() if one.state == "needs_auth" and one.name not in self._offered)
        return next(waiting, None)

    async def _answered(self, name: str, answer: object) -> bool:
        login = self._logins.get(name)
        if login is None:
            return False
        if not isinstance(answer, types.ElicitResult) or answer.action != "accept":
            login.give_up()
            return False
        if not await login.made_within(self._patience_s):
            return False
        self._hub.logged_in(name)
        return True


def _is_refused(result: Outcome) -> bool:
    """A call that was not made for want of a login, or a find that came back with too little; nothing else is ever made again."""
    if isinstance(result, CallResult):
        return result.error == REFUSED
    return isinstance(result, FindResult) and not (result.status == "success" and result.total)


class _Login:
    """A login under way."""

    def __init__(self, name: str, log_in: LogIn) -> None:
        self.id = uuid.uuid4().hex
        self._address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._made(name, log_in))

    async def address(self) -> str:
        """Where one logs in; empty where that is not said in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ASKING_S):
                return await asyncio.shield(self._address)
        self.give_up()
        return ""

    async def made_within(self, seconds: float) -> bool:
        """Whether it was made by then; otherwise it goes on."""
        done, _ = await asyncio.wait({self._task}, timeout=seconds)
        return bool(done) and not self._task.cancelled() and self._task.result()

    def give_up(self) -> None:
        """Wait for nobody any more."""
        self._task.cancel()

    async def _made(self, name: str, log_in: LogIn) -> bool:
        async def show(address: str) -> None:
            if not self._address.done():
                self._address.set_result(address)

        try:
            return await log_in(name, show)
        except WebSearchError as error:
            log.warning("login at %s: %s", name, error.message)
            return False
        finally:
            await show("")
