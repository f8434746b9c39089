"""Logins at upstreams over HTTP: the SDK's OAuth flow on a credentials file that processes share.

Two halves that never mix. A *connection* (`StoredAuth`) sends the stored token, renews it ahead of its end or when it is
refused, once for all processes, and never asks a person; what it cannot do ends in "wants a login". A *login* (`log_in`) asks a
person, with a browser that comes back to a port on this machine.

The SDK alone forgets when a stored token ends and where it is renewed, takes every failed renewal for a refusal, and holds its
lock for as long as a request takes; hence the overrides of its private steps.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth, union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from websearch_adapters.credentials.token_file import TokenFile
from websearch_adapters.upstream.session import Session
from websearch_core.errors import AuthRejected, NotConfigured, OutOfTime
from websearch_core.fence import clean
from websearch_core.hub.ports import SERVICE
from websearch_core.hub.values import HttpTransport, OAuthClient, UpstreamSpec

__all__ = ["Logins", "StoredAuth", "log_in"]

M = TypeVar("M", bound=BaseModel)
HOST = "127.0.0.1"
PATH = "/callback"
CONSENT_S = 600.0
AHEAD_S = 30.0
"""A token that ends within so long is renewed before it is used."""
MAX_HEAD_BYTES = 16_384
HEAD_LIMIT_S = 10.0
SAID_CHARS = 200
REFUSALS = frozenset({400, 401, 403})
"""Of a renewal: the grant is no good any more. Every other failure passes."""


class Logins:
    """Where the logins at upstreams are kept: one file each, for its owner alone."""

    def __init__(self, folder: Path, *, learn: Callable[[str], None] = lambda _: None) -> None:
        """`learn` is told every secret before it is used, to keep it out of texts."""
        self._folder = folder
        self._learn = learn

    def of(self, spec: UpstreamSpec) -> Stored | None:
        """The login at this upstream; None where none is possible: a child process, or a configured authorization."""
        way = spec.transport
        if not isinstance(way, HttpTransport) or way.has_authorization:
            return None
        key = hashlib.sha256(way.url.encode()).hexdigest()[:12]
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", spec.name)[:64]
        return Stored(TokenFile(self._folder / f"{stem}-{key}.json", owner=SERVICE), self._learn)

    def auth(self, spec: UpstreamSpec) -> StoredAuth | None:
        """What signs the requests of a connection."""
        stored = self.of(spec)
        return None if stored is None else StoredAuth(_http(spec), stored)


class Stored:
    """One login as it is kept; implements the SDK's storage."""

    def __init__(self, file: TokenFile, learn: Callable[[str], None]) -> None:
        self.file = file
        self._learn = learn

    def read(self) -> dict[str, Any]:
        """All that is kept; empty where there is nothing.

        Raises:
            NotConfigured: the file cannot be used.
        """
        found = self.file.read() or {}
        tokens = found.get("tokens") or {}
        for secret in (tokens.get("access_token"), tokens.get("refresh_token"), (found.get("client") or {}).get("client_secret")):
            if isinstance(secret, str):
                self._learn(secret)
        return found

    def change(self, **facts: Any) -> None:
        """Keep these too; None takes one away. Only for the holder of the lock."""
        found = {**(self.file.read() or {}), **facts}
        self.file.write({name: value for name, value in found.items() if value is not None and name != "format"})

    async def forget(self) -> bool:
        """Log out; whether there was a login."""
        async with self.file.locked():
            return self.file.remove()

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, with the seconds that are left of their life."""
        found = self.read()
        tokens = _valid(OAuthToken, found.get("tokens"))
        if tokens is not None and tokens.expires_in is not None:
            tokens.expires_in = round(tokens.expires_in + float(found.get("received_at", 0)) - time.time())
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep them, and when they came."""
        self._learn(tokens.access_token)
        self.change(tokens=_plain(tokens), received_at=time.time())

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client that registered itself."""
        return _valid(OAuthClientInformationFull, self.read().get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep it. Takes the lock, for it is called in the middle of a login, which must not hold it so long."""
        async with self.file.locked():
            self.change(client=_plain(client_info))


class _Remembering(OAuthClientProvider):
    """The SDK's flow, which forgets neither when a token ends nor where it is renewed."""

    def __init__(self, way: HttpTransport, stored: Stored, redirect_uri: str, **handlers: Any) -> None:
        metadata = OAuthClientMetadata(
            client_name="websearch", redirect_uris=[AnyUrl(redirect_uri)], scope=" ".join(way.oauth.scopes) or None
        )
        super().__init__(way.url, metadata, stored, **handlers)
        self._stored = stored
        self._client = way.oauth

    async def _initialize(self) -> None:
        context, found = self.context, self._stored.read()
        await super()._initialize()
        context.client_info = _configured(self._client) or context.client_info
        context.oauth_metadata = _valid(OAuthMetadata, found.get("server"))
        context.protected_resource_metadata = _valid(ProtectedResourceMetadata, found.get("resource"))
        if (resource := context.protected_resource_metadata) is not None and resource.authorization_servers:
            context.auth_server_url = str(resource.authorization_servers[0])
        if context.current_tokens is not None and context.current_tokens.expires_in is not None:
            context.token_expiry_time = time.time() + context.current_tokens.expires_in

    def _choose_authentication(self) -> None:
        """How a configured secret is sent: as the server says, and by its header when it says nothing."""
        info, server = self.context.client_info, self.context.oauth_metadata
        if info is not None and self._client.client_secret is not None:
            taken = (server.token_endpoint_auth_methods_supported if server else None) or ["client_secret_basic"]
            info.token_endpoint_auth_method = "client_secret_basic" if "client_secret_basic" in taken else "client_secret_post"


class StoredAuth(_Remembering):
    """Signs the requests of a connection with what is stored. Asks nobody."""

    def __init__(self, way: HttpTransport, stored: Stored) -> None:
        super().__init__(way, stored, f"http://{HOST}{PATH}")

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The lock is held while a token changes, and not while the request runs."""
        context = self.context
        if not self._initialized:
            await self._initialize()
        if self._is_due():
            async with self._alone(context.current_tokens):
                if self._is_due():
                    await self._renewed((yield await self._refresh_token()))
        used = context.current_tokens
        self._sign(request)
        response = yield request
        if response.status_code == 401:
            async with self._alone(used):
                tried = self._is_same(used) and context.can_refresh_token()
                if tried:
                    await self._renewed((yield await self._refresh_token()))
            if tried or not self._is_same(used):  # the last answer of a flow has to be that to the request itself
                self._sign(request)
                response = yield request
        if response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope":
            await self._want(extract_field_from_www_auth(response, "scope"))

    def _is_due(self) -> bool:
        end = self.context.token_expiry_time
        return end is not None and time.time() >= end - AHEAD_S and self.context.can_refresh_token()

    def _is_same(self, used: OAuthToken | None) -> bool:
        now = self.context.current_tokens
        return (now.access_token if now else None) == (used.access_token if used else None)

    @contextlib.asynccontextmanager
    async def _alone(self, used: OAuthToken | None) -> AsyncIterator[None]:
        """With the lock, and with what others may have stored meanwhile."""
        async with self.context.lock, self._stored.file.locked():
            if self._is_same(used):
                await self._initialize()
            self._choose_authentication()
            self.context.protocol_version = "2025-06-18"
            yield

    async def _renewed(self, response: httpx2.Response) -> None:
        """Take the new token. A grant that is refused for good is forgotten; every other failure leaves it.

        Raises:
            httpx2.ReadError: no verdict came.
        """
        if response.status_code in REFUSALS:
            self.context.clear_tokens()
            self._stored.change(tokens=None)
        elif response.status_code != 200 or not await self._handle_refresh_response(response):
            raise httpx2.ReadError("the login could not be renewed", request=response.request)

    def _sign(self, request: httpx2.Request) -> None:
        request.headers.pop("Authorization", None)
        if self.context.current_tokens is not None:
            self._add_auth_header(request)

    async def _want(self, scope: str | None) -> None:
        """Remember for the next login what the token did not allow."""
        if scope:
            async with self._stored.file.locked():
                self._stored.change(wanted=union_scopes(self._stored.read().get("wanted"), scope))


class _LoginAuth(_Remembering):
    """The whole flow with a person. Begins without tokens, so that it always ends with new ones."""

    def __init__(self, way: HttpTransport, stored: Stored, redirect_uri: str, metadata_url: str | None, **handlers: Any) -> None:
        super().__init__(way, stored, redirect_uri, client_metadata_url=metadata_url, **handlers)
        self._wanted: str | None = None

    async def _initialize(self) -> None:
        await super()._initialize()
        granted = self.context.current_tokens.scope if self.context.current_tokens else None
        self._wanted = union_scopes(granted, wanted) if (wanted := self._stored.read().get("wanted")) else None
        self.context.clear_tokens()
        self.context.oauth_metadata = None
        info, here = self.context.client_info, self.context.client_metadata.redirect_uris
        if info is not None and self._client.client_id is None and info.redirect_uris != here:
            self.context.client_info = None  # it was registered to come back elsewhere

    async def _perform_authorization(self) -> httpx2.Request:
        metadata = self.context.client_metadata
        if self._client.scopes:
            metadata.scope = " ".join(self._client.scopes)
        metadata.scope = union_scopes(metadata.scope, self._wanted) if self._wanted else metadata.scope
        self._choose_authentication()
        return await super()._perform_authorization()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        async with self._stored.file.locked():
            await super()._handle_token_response(response)
            self._remember()

    def _remember(self) -> None:
        context = self.context
        self._stored.change(
            client=_plain(context.client_info) if context.client_info and self._client.client_id is None else None,
            server=_plain(context.oauth_metadata),
            resource=_plain(context.protected_resource_metadata),
            url=context.server_url,
            wanted=None,
        )


async def log_in(
    spec: UpstreamSpec,
    logins: Logins,
    show: Callable[[str], Awaitable[None]],
    *,
    environment: Mapping[str, str],
    limit_s: float = CONSENT_S,
    metadata_url: str | None = None,
) -> bool:
    """Log in with a person: `show` gets the address for the browser. False when the upstream wants no login.

    Raises:
        NotConfigured: no login is possible there, or the port or the file cannot be used.
        AuthRejected: the person or the server said no.
        OutOfTime: nothing came within `limit_s`.
        ProviderError: the upstream, or its authorization server, failed.
    """
    stored = logins.of(spec)
    if stored is None:
        raise NotConfigured(
            f"upstream {spec.name} takes no login",
            provider=SERVICE,
            hint="Logins are for addresses without an Authorization header of yours.",
        )
    way = _http(spec)
    try:
        async with (
            asyncio.timeout(limit_s),
            stored.file.locked("login", wait_s=limit_s),
            _Callback(_port(way, stored)) as callback,
        ):

            async def ask(url: str) -> None:
                callback.expect(url)
                await show(url)

            handlers = {"redirect_handler": ask, "callback_handler": callback.result}
            auth = _LoginAuth(way, stored, callback.uri, metadata_url, **handlers)
            async with Session(spec, environment=environment, auth=auth).connect(lambda: None):
                return callback.asked
    except TimeoutError:
        raise OutOfTime(f"nobody logged in at {spec.name} within {limit_s:g} s", provider=SERVICE) from None


class _Callback:
    """Waits on loopback for the browser to come back with the answer to our question; all others are sent away."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.asked = False

    @property
    def uri(self) -> str:
        """Where the browser comes back to."""
        return f"http://{HOST}:{self._port}{PATH}"

    def expect(self, url: str) -> None:
        """The question that is answered."""
        self._state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        self._answer = asyncio.get_running_loop().create_future()
        self.asked = True

    async def result(self) -> AuthorizationCodeResult:
        """The answer.

        Raises:
            AuthRejected: it says no.
        """
        answer = await self._answer
        if error := answer.get("error"):
            said = clean(f"{error} {answer.get('error_description', '')}", limit=SAID_CHARS).strip()
            raise AuthRejected(f"the authorization server says no: {said}", provider=SERVICE)
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss"))

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._met, HOST, self._port, limit=MAX_HEAD_BYTES)
        except OSError as error:
            raise NotConfigured(
                f"port {self._port} of {HOST} cannot be listened at", provider=SERVICE, hint="Perhaps another login waits there."
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._answer.cancel()

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_LIMIT_S):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                status, text = self._taken(head.split("\r\n", 1)[0])
                body = f"<!doctype html><meta charset=utf-8><title>websearch</title><p>{text}".encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                    "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode("latin-1")
                    + body
                )
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a scan, a slow talker, or somebody who left
        finally:
            writer.close()

    def _taken(self, line: str) -> tuple[str, str]:
        """The reply to a request by its first line."""
        method, _, rest = line.partition(" ")
        parts = urlsplit(rest.partition(" ")[0])
        if method != "GET" or parts.path != PATH:
            return "404 Not Found", "Nothing is here."
        answer = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=50))
        if not self._state or answer.get("state") != self._state:
            return "400 Bad Request", "This answers another question and was ignored."
        if not self._answer.done():
            self._answer.set_result(answer)
        if "error" in answer:
            return "200 OK", "The authorization server said no. You can close this window."
        return "200 OK", "Thank you. You can close this window and go back."


def _http(spec: UpstreamSpec) -> HttpTransport:
    assert isinstance(spec.transport, HttpTransport)
    return spec.transport


def _port(way: HttpTransport, stored: Stored) -> int:
    """The configured port, or the one that a registered client comes back to, or any."""
    if way.oauth.callback_port is not None:
        return way.oauth.callback_port
    registered = (stored.read().get("client") or {}).get("redirect_uris") or [""]
    return urlsplit(str(registered[0])).port or 0


def _configured(client: OAuthClient) -> OAuthClientInformationFull | None:
    if client.client_id is None:
        return None
    secret = client.client_secret.value if client.client_secret else None
    return OAuthClientInformationFull(client_id=client.client_id, client_secret=secret, token_endpoint_auth_method="none")  # noqa: S106 - the name of a method


def _valid(kind: type[M], value: object) -> M | None:
    """The stored value, or None where it is absent or damaged."""
    if value is None:
        return None
    try:
        return kind.model_validate(value)
    except ValidationError:
        return None


def _plain(value: BaseModel | None) -> dict[str, Any] | None:
    return None if value is None else value.model_dump(mode="json", exclude_none=True)
