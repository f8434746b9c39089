"""Attempts to lead a login's tokens away from the issuer, and which origins saw anything of them."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

import httpx

from integration.login_setup import QUERY, Setup, at_vendor, listening_proxy, signed_in
from upstreams.issuer import IssuerUpstream
from upstreams.script import Script, ok, redirect
from upstreams.serve import serve
from upstreams.xai import XaiUpstream
from websearch_adapters.credentials.oauth import new_proof
from websearch_core.errors import WebSearchError

__all__ = ["ATTEMPTS", "origins_that_saw_the_token"]

CODES = (301, 302, 303, 307, 308)
LOOKALIKES = (
    "https://api.x.ai.evil.example/v1",
    "https://api.x.ai:8443/v1",
    "http://api.x.ai/v1",
    "https://xapi.x.ai/v1",
    "https://x.ai/v1",
    "https://api.x.ai@evil.example/v1",
    "https://evil.example/api.x.ai/v1",
    "https://evil.example?https://api.x.ai/v1",
    "https://api.x.ai\\@evil.example/v1",
)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
ATTEMPTS = (
    *(f"the API redirects with {code}" for code in CODES),
    *(f"the token endpoint redirects with {code}" for code in CODES),
    "the address is a relay",
    "discovery names another token endpoint",
    "the file names another token endpoint",
    "a proxy for the vendor",
    "a proxy for this machine",
    *(f"the address is {address}" for address in LOOKALIKES),
)


async def origins_that_saw_the_token(attempt: str) -> set[str]:
    """Origins other than the issuer's that were sent a token, or its signature, in whatever part of a request."""
    elsewhere, upstream = XaiUpstream(), IssuerUpstream()
    with tempfile.TemporaryDirectory() as home, listening_proxy() as (proxy, heard):
        async with serve(elsewhere) as other, signed_in(Path(home), upstream) as it:
            # Every origin that does not exist here is reached through the proxy, which sees what would have gone there.
            proxied = {} if attempt == "the address is a relay" else dict.fromkeys(PROXIES, proxy)
            with _environment(proxied), suppress(WebSearchError, httpx.HTTPError):
                await _attempts(attempt)(it, other)
            needles = [*upstream.access, *upstream.refresh, *upstream.spent]
        seen = {other for request in elsewhere.requests if _holds([repr(request)], needles)}
        return seen | ({proxy} if _holds([one.decode("latin-1") for one in heard], needles) else set())


def _attempts(attempt: str) -> Callable[[Setup, str], Awaitable[object]]:
    words, _, last = attempt.rpartition(" ")
    by_name: Mapping[str, Callable[[Setup, str], Awaitable[object]]] = {
        "the API redirects with": lambda it, other: _redirected(it, "/v1/responses", other, int(last)),
        "the token endpoint redirects with": lambda it, other: _redirected(it, "/oauth2/token", other, int(last)),
        "the address is a": lambda it, other: at_vendor(it, f"{other}/v1")[0].answer(QUERY),
        "discovery names another token": _misled,
        "the file names another token": _tampered,
        "a proxy for the": lambda it, _: at_vendor(it, "https://api.x.ai/v1")[0].answer(QUERY),
        "a proxy for this": lambda it, _: it.ask(),
        "the address is": lambda it, _: at_vendor(it, last)[0].answer(QUERY),
        "on": _on_purpose,
    }
    return by_name[words]


async def _redirected(it: Setup, path: str, other: str, code: int) -> None:
    it.upstream.paths[path] = Script(redirect(f"{other}{path}", code))
    if path == "/oauth2/token":
        it.store(expires_at=time.time() - 1)
    await it.ask()


async def _misled(it: Setup, other: str) -> None:
    it.upstream.paths["/.well-known/openid-configuration"] = Script(ok({"token_endpoint": f"{other}/oauth2/token"}))
    client = it.client
    await client.exchanged("a-code", await client.endpoints(), redirect_uri="http://127.0.0.1/", proof=new_proof())


async def _tampered(it: Setup, other: str) -> None:
    it.store(expires_at=time.time() - 1, token_endpoint=f"{other}/oauth2/token")
    await it.ask()


async def _on_purpose(it: Setup, other: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        await client.get(f"{other}/v1/models", headers={"Authorization": f"Bearer {it.login().access_token.value}"})


def _holds(texts: list[str], needles: list[str]) -> bool:
    """Whether a token, or the part of it that makes it one, stands in a text, also URL-encoded."""
    parts = [needle.rpartition(".")[2] for needle in needles]
    return any(part in form for text in texts for form in (text, unquote(text)) for part in parts)


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    """The environment without exceptions from the proxy, and with these variables."""
    names = {*PROXIES, "NO_PROXY", *(name.lower() for name in (*PROXIES, "NO_PROXY"))}
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ.update(more)
    try:
        yield
    finally:
        for name in more:
            del os.environ[name]
        os.environ.update(before)
