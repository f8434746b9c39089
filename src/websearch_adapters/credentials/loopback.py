"""Signing in by a browser on this machine: a server on 127.0.0.1 waits for the issuer's answer, or a person pastes it.

Whoever else knocks is answered and forgotten: favicons, previews, port scans, slow talkers, answers to other questions. Only an
answer with our state ends the waiting, and the browser is told how it ended after the tokens are kept, not before.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from websearch_adapters.credentials import oauth
from websearch_adapters.credentials.callback_page import page
from websearch_adapters.credentials.oauth import Issuer, Login, OAuthClient, Proof
from websearch_core import urls
from websearch_core.errors import InvalidInput, NotConfigured, OutOfTime, ProviderError, WebSearchError

__all__ = ["CallbackServer", "browser_login", "pasted_code"]

HOST = "127.0.0.1"
PATH = "/callback"
MAX_HEAD_BYTES = 16_384
HEAD_LIMIT_S = 10.0
"""How long a connection may take to say what it wants."""
WRITE_LIMIT_S = 5.0
FAREWELL_S = 3.0
"""How long a browser that waits for its page keeps us from ending."""
MAX_CONNECTIONS = 64
"""One more ends the oldest that has not said what it wants."""
MAX_CODE_CHARS = 2_048


@dataclass(frozen=True, slots=True)
class _Asked:
    """The head of one request."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]


class CallbackServer:
    """Waits on loopback for the answer to one question; an async context."""

    def __init__(self, proof: Proof, issuer: Issuer, *, port: int, tell: Callable[[str], None] = lambda _: None) -> None:
        """`port` 0 takes a free one; `tell` hears of answers that are not ours."""
        self._proof = proof
        self._issuer = issuer
        self._port = port
        self._tell = tell
        self._server: asyncio.Server | None = None
        self._silent: dict[asyncio.Task[None], None] = {}
        self._waiting: set[asyncio.Task[None]] = set()

    @property
    def redirect_uri(self) -> str:
        """Where the issuer sends the browser."""
        return f"http://{HOST}:{self._port}{PATH}"

    async def code(self) -> str:
        """The code of the first answer that is ours.

        Raises:
            Declined, BadReply: the answer says no, or holds no code.
        """
        return await asyncio.shield(self._code)

    def finish(self, end: Login | WebSearchError) -> None:
        """Tell the browser that waits how it ended."""
        if not self._end.done():
            self._end.set_result(end)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._code: asyncio.Future[str] = loop.create_future()
        self._end: asyncio.Future[Login | WebSearchError] = loop.create_future()
        listening = _listening(self._port)
        self._port = listening.getsockname()[1]
        self._server = await asyncio.start_server(self._met, sock=listening, limit=MAX_HEAD_BYTES)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.finish(OutOfTime("the sign-in was given up", provider=oauth.NAME, hint="Start again: run `websearch login`."))
        if self._waiting:
            await asyncio.wait(self._waiting, timeout=FAREWELL_S)
        left = [*self._silent, *self._waiting]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._code.cancel()
        if self._code.done() and not self._code.cancelled():
            self._code.exception()  # seen, even where nobody waited for it

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._silent) >= MAX_CONNECTIONS:
            next(iter(self._silent)).cancel()
        self._silent[task] = None
        try:
            async with asyncio.timeout(HEAD_LIMIT_S):
                asked = await _head(reader)
            self._silent.pop(task, None)
            self._waiting.add(task)
            if asked is not None:
                await self._answer(asked, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a scan, a slow talker, or somebody who left
        except asyncio.CancelledError:
            if not self._is_closing:
                return  # one of too many; the server goes on
            raise
        finally:
            self._silent.pop(task, None)
            self._waiting.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    @property
    def _is_closing(self) -> bool:
        return self._server is None or not self._server.is_serving()

    async def _answer(self, asked: _Asked, writer: asyncio.StreamWriter) -> None:
        allowed = self._cross_origin(asked)
        if asked.headers.get("host", "") not in {f"{HOST}:{self._port}", f"localhost:{self._port}"}:
            await _reply(writer, HTTPStatus.MISDIRECTED_REQUEST)
        elif asked.method == "OPTIONS":
            await _reply(writer, HTTPStatus.NO_CONTENT, headers=allowed)
        elif asked.method not in {"GET", "HEAD"}:
            await _reply(writer, HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD, OPTIONS"})
        elif asked.path == "/favicon.ico":
            await _reply(writer, HTTPStatus.NO_CONTENT)
        elif asked.path != PATH:
            await _reply(writer, HTTPStatus.NOT_FOUND)
        elif asked.method == "HEAD" or "prefetch" in asked.headers.get("sec-purpose", asked.headers.get("purpose", "")):
            await _reply(writer, HTTPStatus.OK)  # a preview is no answer
        else:
            await self._called_back(asked, writer, allowed)

    async def _called_back(self, asked: _Asked, writer: asyncio.StreamWriter, allowed: Mapping[str, str]) -> None:
        """Take the answer, wait how it ends, and show that."""
        try:
            code: str | ProviderError = oauth.callback_code(asked.query, self._proof, self._issuer)
        except InvalidInput as error:
            said = asked.query.get("error_description") or asked.query.get("error", "")
            self._tell(f"{error.message}{f' (it says: {oauth.shown(said)})' if said else ''}; it is ignored")
            body, headers = page(
                "strange",
                "This does not belong to your sign-in",
                text="The answer that led here was made for another attempt and was ignored. The terminal still waits for yours.",
                said=said,
            )
            await _reply(writer, HTTPStatus.BAD_REQUEST, body, {**headers, **allowed})
            return
        except ProviderError as error:
            code = error
        if not self._code.done():
            if isinstance(code, ProviderError):
                self._code.set_exception(code)
            else:
                self._code.set_result(code)
        end = await asyncio.shield(self._end)
        body, headers = _end_page(end)
        await _reply(writer, HTTPStatus.OK if isinstance(end, Login) else HTTPStatus.BAD_REQUEST, body, {**headers, **allowed})

    def _cross_origin(self, asked: _Asked) -> dict[str, str]:
        """The issuer's pages may look whether we listen."""
        origin = asked.headers.get("origin", "")
        if not origin or urls.origin(origin) not in {self._issuer.pages_origin, self._issuer.url}:
            return {}
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": "GET, OPTIONS",
            "Access-Control-Allow-Private-Network": "true",
            "Vary": "Origin",
        }


async def browser_login(
    client: OAuthClient,
    *,
    port: int,
    show: Callable[[str], None],
    keep: Callable[[Login], Awaitable[None]],
    lines: AsyncIterator[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    limit_s: float = 600.0,
) -> Login:
    """The whole sign-in: `show` is given the address for the browser, `lines` is what a person types, `keep` stores the tokens.

    Raises:
        Declined: the person, or the issuer, said no.
        OutOfTime: nothing came within `limit_s`.
        NotConfigured: the port is taken, or the tokens cannot be kept.
        AuthRejected, OutOfCredit, BadReply, RateLimited, Unreachable: the issuer does not give tokens.
    """
    endpoints = await client.endpoints()
    proof = oauth.new_proof()
    async with CallbackServer(proof, client.issuer, port=port, tell=tell) as server:
        show(client.authorize_address(endpoints, redirect_uri=server.redirect_uri, proof=proof))
        try:
            async with asyncio.timeout(limit_s):
                code = await _first_code(server, lines, proof, client.issuer, tell)
            login = await client.exchanged(code, endpoints, redirect_uri=server.redirect_uri, proof=proof)
            await keep(login)
        except TimeoutError:
            raise OutOfTime(
                f"nobody signed in within {limit_s:.0f} s", provider=oauth.NAME, hint="Start again: run `websearch login`."
            ) from None
        except WebSearchError as error:
            server.finish(error)
            raise
        server.finish(login)
        return login


def pasted_code(text: str, proof: Proof, issuer: Issuer) -> str:
    """The code out of what a person pasted: the code alone, the query, or the whole address that the browser ended at.

    Raises:
        InvalidInput: it is none of these, or belongs to another sign-in.
        Declined, BadReply: the issuer says no.
    """
    pasted = text.strip().strip("\"'<>")
    query = urlsplit(pasted).query if "://" in pasted else pasted.lstrip("?")
    answer = dict(parse_qsl(query, keep_blank_values=True))
    if {"state", "error"} & answer.keys() or "://" in pasted:
        return oauth.callback_code({"state": proof.state, **answer} if "error" in answer else answer, proof, issuer)
    code = answer.get("code", pasted)
    if not code.isascii() or not code.isprintable() or " " in code or not 0 < len(code) <= MAX_CODE_CHARS:
        raise InvalidInput("that is neither a code nor the address that the browser ended at")
    return code


async def _first_code(
    server: CallbackServer, lines: AsyncIterator[str] | None, proof: Proof, issuer: Issuer, tell: Callable[[str], None]
) -> str:
    """The browser's code or the pasted one, whichever comes first."""
    ways = [asyncio.ensure_future(server.code())]
    if lines is not None:
        ways.append(asyncio.ensure_future(_pasted(lines, proof, issuer, tell)))
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        return next(iter(done)).result()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pasted(lines: AsyncIterator[str], proof: Proof, issuer: Issuer, tell: Callable[[str], None]) -> str:
    """The first line with a code; whoever closes the input waits for the browser."""
    async for line in lines:
        if not line.strip():
            continue
        try:
            return pasted_code(line, proof, issuer)
        except InvalidInput as error:
            tell(error.message)
    code: str = await asyncio.get_running_loop().create_future()
    return code


def _listening(port: int) -> socket.socket:
    """A socket that nobody else can take over.

    Raises:
        NotConfigured: the port is taken.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise NotConfigured(
            f"port {port} on {HOST} cannot be listened at ({type(error).__name__}); perhaps another sign-in waits there",
            provider=oauth.NAME,
            hint="End the other one, or use `websearch login --device`.",
        ) from error
    return listening


async def _head(reader: asyncio.StreamReader) -> _Asked | None:
    """The head of a request; None for what is no HTTP."""
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = text.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    pairs = (line.partition(":") for line in rest if line)
    try:
        parts = urlsplit(words[1])
        query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=50))
    except ValueError:
        return None
    return _Asked(words[0], parts.path, query, {name.strip().lower(): value.strip() for name, _, value in pairs})


async def _reply(writer: asyncio.StreamWriter, status: HTTPStatus, body: bytes = b"", headers: Mapping[str, str] = {}) -> None:
    told = {"Content-Length": str(len(body)), "Cache-Control": "no-store", "Connection": "close", **headers}
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in told.items())
    writer.write(head.encode("latin-1") + b"\r\n" + body)
    async with asyncio.timeout(WRITE_LIMIT_S):
        await writer.drain()


def _end_page(end: Login | WebSearchError) -> tuple[bytes, dict[str, str]]:
    if isinstance(end, Login):
        who = f"Signed in as {end.account}. " if end.account else ""
        return page("good", "You are signed in", text=f"{who}You can close this tab and go back to the terminal.")
    return page("bad", "You are not signed in", said=end.message, text=end.hint or "Go back to the terminal and start again.")
