"""One process that pays with a sign-in at the simulated issuer, and a proxy that writes down what it hears."""

from __future__ import annotations

import dataclasses
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from upstreams.issuer import CLIENT_ID, IssuerUpstream
from upstreams.serve import serve
from websearch_adapters.credentials import oauth
from websearch_adapters.credentials.login import LoginCredentials
from websearch_adapters.credentials.oauth import Login, OAuthClient
from websearch_adapters.credentials.pool import KeyPool
from websearch_adapters.credentials.renewal import Renewal
from websearch_adapters.credentials.token_file import TokenFile
from websearch_adapters.http.client import Http
from websearch_adapters.http.forms import FormClient
from websearch_adapters.providers.xai import XaiResponses, XaiSettings
from websearch_core.retry import RetryPolicy
from websearch_core.values import SearchQuery

__all__ = ["PAID_KEY", "QUERY", "Setup", "at_vendor", "listening_proxy", "signed_in"]

PAID_KEY = "xai-a-key-that-costs-money-0123456789"
QUERY = SearchQuery(query="Who repaired the footbridge?")


@dataclasses.dataclass
class Setup:
    """One process that pays with a sign-in."""

    upstream: IssuerUpstream
    url: str
    file: TokenFile
    renewal: Renewal
    client: OAuthClient
    credentials: LoginCredentials
    engine: XaiResponses
    learnt: list[str]

    def login(self) -> Login:
        login = self.renewal.read()
        assert login is not None
        return login

    def store(self, **change: Any) -> Login:
        """Keep another sign-in, as if it had been there."""
        login = dataclasses.replace(self.login(), **change)
        self.file.write(oauth.to_file(login))
        return login

    async def ask(self) -> str:
        return (await self.engine.answer(QUERY)).text

    def sent(self) -> list[str | None]:
        """Bearers that the API was sent, in order."""
        return [request.key for request in self.upstream.requests if request.path == "/v1/responses"]

    def renewals(self) -> int:
        return [request.path for request in self.upstream.requests].count("/oauth2/token")


@asynccontextmanager
async def signed_in(
    home: Path, upstream: IssuerUpstream | None = None, *, base_url: str = "", detached: bool = False
) -> AsyncIterator[Setup]:
    upstream = upstream or IssuerUpstream()
    async with serve(upstream) as url:
        issuer, file, forms = oauth.issuer_at(url), TokenFile(home / "login.json"), FormClient("login")
        client = OAuthClient(forms, issuer, client_id=CLIENT_ID, sleep=_at_once)
        endpoints = oauth.endpoints_from_wire({}, issuer)
        first = oauth.login_from_wire(
            upstream.sign_in(), issuer=issuer, client_id=CLIENT_ID, endpoints=endpoints, now=time.time()
        )
        file.write(oauth.to_file(first))
        renew, learnt = Renewal(file, issuer, client, detached=detached), list[str]()
        pool = KeyPool({"grok": [PAID_KEY], "xai": [PAID_KEY], "tavily": ["tvly-key-0123456789"]})
        credentials = LoginCredentials(pool, renew, providers=frozenset({"grok", "xai"}), learn=learnt.append)
        http = Http(credentials)
        policy = RetryPolicy(max_attempts=2, multiplier_s=0.0)
        engine = XaiResponses(http, XaiSettings(base_url=base_url or f"{url}/v1", retry=policy), lambda: "grok-4.3")
        try:
            yield Setup(upstream, url, file, renew, client, credentials, engine, learnt)
        finally:
            await http.aclose()
            await forms.aclose()
            assert PAID_KEY not in [request.key for request in upstream.requests]


async def _at_once(_: float) -> None:
    return


def at_vendor(it: Setup, base_url: str) -> tuple[XaiResponses, Http, Login]:
    """An engine at `base_url` that pays with the same tokens, as if the vendor's own issuer had given them."""
    issuer = oauth.issuer_at("https://auth.x.ai")
    login = dataclasses.replace(
        it.login(), issuer=issuer.url, token_endpoint="https://auth.x.ai/oauth2/token", revocation_endpoint=""
    )
    it.file.write(oauth.to_file(login))
    renewal = Renewal(it.file, issuer, OAuthClient(FormClient("login"), issuer, client_id=CLIENT_ID), detached=False)
    http = Http(LoginCredentials(KeyPool({"grok": [PAID_KEY]}), renewal, providers=frozenset({"grok"})))
    settings = XaiSettings(base_url=base_url, retry=RetryPolicy(max_attempts=1))
    return XaiResponses(http, settings, lambda: "grok-4.3"), http, login


@contextmanager
def listening_proxy() -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that writes down what it is told, and refuses."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(65_536))
                    connection.sendall(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heard
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)
