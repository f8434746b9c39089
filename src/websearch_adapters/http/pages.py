"""Gets pages of the open web: every hop judged, bodies bounded after decompression, nothing of ours sent along.

Requests carry no credentials, and no cookies but those that a redirect of the same call has just set: many sites look for them
before they show a page. Redirects are followed by hand, so that each target is judged before it is asked. Bodies are inflated
here piece by piece: a small body that inflates without end is given up at the size limit.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, TypeAlias

from websearch_adapters.http import failures
from websearch_core import egress, urls
from websearch_core.errors import (
    BadReply,
    Blocked,
    Declined,
    NotAllowed,
    NotFound,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.events import SILENT, Observer

if TYPE_CHECKING:
    import httpcore
    import httpx

    from websearch_adapters.http.egress import Resolver
    from websearch_adapters.http.proxies import Proxies

__all__ = ["Admit", "Fetched", "PageClient"]

Admit: TypeAlias = Callable[[str], Awaitable[None]]
"""Asked about an address; raises when it is not to be asked for."""

PROVIDER = "local"
MAX_BYTES = 10 * 1024 * 1024
MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
CONNECT_TIMEOUT_S = 6.0
READ_TIMEOUT_S = 20.0
CHECKED = {"cf-mitigated": {"challenge"}, "x-amzn-waf-action": {"challenge", "captcha"}}
"""Headers by which Cloudflare and AWS WAF say that a check stands in place of the page; their documentation, 2026-11-30."""
ELSEWHERE = "Use another provider for this page, or another page with the same content."
GZIP = b"\x1f\x8b"
ACCEPT = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, */*;q=0.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """One reply with its body, decompressed."""

    url: str
    """As asked."""
    final_url: str
    """After redirects, without a fragment."""
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    content_type: str = ""
    """The header as it came."""
    cut: bool = False
    """The body went on; only where the caller allowed that."""


class PageClient:
    """Owns the connections to pages. Constructing it opens nothing."""

    def __init__(
        self,
        *,
        allow: Sequence[str] = (),
        max_bytes: int = MAX_BYTES,
        observe: Observer = SILENT,
        fake_ip: bool = False,
        resolver: Resolver | None = None,
        sockets: httpcore.AsyncNetworkBackend | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        proxy: str = "none",
        user_agent: str = "",
    ) -> None:
        """`allow` and `fake_ip` are those of `core.egress`. `proxy`: `none`, `environment`, or an address.

        `resolver` looks names up, `sockets` opens connections; `transport` replaces both, the judgement of addresses stays.
        `user_agent` replaces the honest default.
        """
        self._allow = tuple(allow)
        self._fake_ip = fake_ip
        self._sockets = sockets
        self._max_bytes = max_bytes
        self._observe = observe
        self._resolver = resolver
        self._given = transport
        self._proxy = proxy
        self._user_agent = user_agent
        self._transport: httpx.AsyncBaseTransport | None = None

    async def aclose(self) -> None:
        """Close every connection; the object can be used again afterwards."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def get(
        self,
        url: str,
        *,
        accept: str = ACCEPT,
        max_bytes: int | None = None,
        cut: bool = False,
        admit: Admit | None = None,
    ) -> Fetched:
        """One page, after at most five redirects. With `cut` a longer body is cut at `max_bytes`, else it is refused.

        `admit` is asked about the target of each redirect before that is asked for; what it raises ends the call.

        Raises:
            NotAllowed: policy forbids the address, that of a redirect, or the size.
            NotFound: 404, 410.
            RequestRejected: other refusals of the request.
            Declined: 401, 403, 451.
            Blocked: a check for humans, as its headers say.
            RateLimited: 429.
            Unreachable: no usable reply, 5xx, too many redirects, a body that breaks off.
            BadReply: a redirect without target, an unknown content encoding.
        """
        limit = self._max_bytes if max_bytes is None else max_bytes
        async with self._answer(url, accept, admit) as (final_url, response):
            return await _fetched(url, final_url, response, limit=limit, cut=cut)

    @asynccontextmanager
    async def stream(
        self, url: str, *, accept: str = ACCEPT, max_bytes: int, admit: Admit | None = None
    ) -> AsyncIterator[tuple[str, AsyncIterator[bytes]]]:
        """The final address and the body piece by piece, decompressed, so that no more than a piece is in memory.

        The pieces end after `max_bytes`. Leaving the block early drops the connection. `admit` and errors as with `get`.
        """
        async with self._answer(url, accept, admit) as (final_url, response):
            _check_status(urls.host(final_url), response)
            yield final_url.partition("#")[0], _pieces(response, max_bytes)

    @asynccontextmanager
    async def _answer(self, url: str, accept: str, admit: Admit | None) -> AsyncIterator[tuple[str, httpx.Response]]:
        """The first reply that is no redirect, and whose it is."""
        import httpx

        current, jar = url, httpx.Cookies()
        with self._observe.span("page.get", provider=PROVIDER, host=urls.host(url)) as span:
            for _ in range(MAX_REDIRECTS + 1):
                self._check(current, came_from=url)
                async with self._reply(current, accept, jar) as response:
                    span.note(status=response.status_code)
                    if response.status_code not in REDIRECTS:
                        yield current, response
                        return
                    jar.extract_cookies(response)
                    current = _target(current, response)
                if admit is not None:
                    await admit(current)
        raise Unreachable(
            f"{urls.host(url)} redirected more than {MAX_REDIRECTS} times",
            provider=PROVIDER,
            diagnostics={"error_type": "redirects"},
        )

    def _check(self, url: str, *, came_from: str) -> None:
        """Refuse what policy forbids; where another page was asked for, the caller learns which one leads there."""
        try:
            egress.verdict(url, allow=self._allow)
        except NotAllowed as error:
            if url == came_from:
                raise
            hint = "Use another page; this one leads to where nothing may be read."
            raise NotAllowed(f"{error.message}, and {urls.host(came_from)} redirects there", hint=hint) from error

    @asynccontextmanager
    async def _reply(self, url: str, accept: str, jar: httpx.Cookies) -> AsyncIterator[httpx.Response]:
        import httpx

        response = None
        try:
            request = httpx.Request("GET", url, headers=self._headers(accept), extensions={"timeout": _timeouts()})
            jar.set_cookie_header(request)
            response = await self._opened().handle_async_request(request)
            response.request = request
            yield response
        except httpx.InvalidURL as error:
            raise NotAllowed("not fetched: this is not a web address") from error
        except httpx.HTTPError as error:
            raise self._explained(failures.from_exception(error, PROVIDER, url, whose=urls.host(url))) from error
        finally:
            if response is not None:
                await response.aclose()

    def _explained(self, fault: WebSearchError) -> WebSearchError:
        """A page that cannot be reached, with a word on the proxy that it did not take."""
        from websearch_adapters.http.proxies import Proxies

        if self._proxy == "none" and self._given is None and Proxies.chosen("environment").by_scheme:
            fault.hint = "Pages do not take the proxy of the environment unless network.page_proxy is `environment`."
        return fault

    def _headers(self, accept: str) -> dict[str, str]:
        self._user_agent = self._user_agent or f"websearch/{_version()} (+local reader)"
        return {"User-Agent": self._user_agent, "Accept": accept, "Accept-Encoding": "gzip, deflate"}

    def _opened(self) -> httpx.AsyncBaseTransport:
        if self._transport is None:
            from websearch_adapters.http.egress import GuardedTransport

            self._transport = self._given or GuardedTransport(
                allow=self._allow,
                fake_ip=self._fake_ip,
                resolver=self._resolver,
                sockets=self._sockets,
                proxies=self._proxies(),
            )
        return self._transport

    def _proxies(self) -> Proxies:
        from websearch_adapters.http.proxies import Proxies

        return Proxies.chosen(self._proxy)


def _timeouts() -> dict[str, float | None]:
    return {"connect": CONNECT_TIMEOUT_S, "read": READ_TIMEOUT_S, "write": READ_TIMEOUT_S, "pool": None}


def _version() -> str:
    try:
        return metadata.version("websearch-mcp")
    except metadata.PackageNotFoundError:
        return "0"


def _target(url: str, response: httpx.Response) -> str:
    location = response.headers.get("location", "").strip()
    if not location:
        raise BadReply(
            f"{urls.host(url)} answers {response.status_code} without saying where to",
            provider=PROVIDER,
            http_status=response.status_code,
        )
    target = urls.absolute(url, location)
    if target is None:
        raise NotAllowed("not fetched: the page redirects to something that is no http or https address")
    return target


def _check_status(host: str, response: httpx.Response) -> None:
    """Raise unless this is a page."""
    status = response.status_code
    if any(response.headers.get(name, "").lower() in said for name, said in CHECKED.items()):
        raise Blocked(f"{host} wants to check that a human asks", provider=PROVIDER, hint=ELSEWHERE, http_status=status)
    if status >= 400:
        raise _status_error(host, status, response.headers)
    if status >= 300 or status == 206:  # a part that nobody asked for is not the page
        raise BadReply(f"{host} answers {status} to a plain request", provider=PROVIDER, http_status=status)


async def _fetched(asked: str, url: str, response: httpx.Response, *, limit: int, cut: bool) -> Fetched:
    host = urls.host(url)
    _check_status(host, response)
    length = response.headers.get("content-length", "")
    if not cut and length.isdecimal() and int(length) > limit:
        raise _too_large(host, limit)
    body = await _body(response, limit + 1)
    if len(body) > limit and not cut:
        raise _too_large(host, limit)
    return Fetched(
        url=asked,
        final_url=url.partition("#")[0],
        status=response.status_code,
        headers=dict(response.headers.items()),
        body=body[:limit],
        content_type=response.headers.get("content-type", ""),
        cut=len(body) > limit,
    )


def _status_error(host: str, status: int, headers: Mapping[str, str]) -> ProviderError:
    kind, hint = _class_of(status)
    return kind(
        f"{host} answers {status}",
        provider=PROVIDER,
        hint=hint,
        http_status=status,
        retry_after_s=failures.retry_after_s(headers),
        diagnostics={"error_type": "page_status"},
    )


def _class_of(status: int) -> tuple[type[ProviderError], str]:
    if status in {404, 410}:
        return NotFound, "The page does not exist; check the address or search for it."
    if status in {401, 403, 451}:
        return Declined, "The site does not show this page to programs; use another provider or another page."
    if status == 429:
        return RateLimited, "The site wants fewer requests; try again later."
    if status == 408 or status >= 500:
        return Unreachable, "The site has a fault; try again later."
    return RequestRejected, "The site refuses this request; use another address."


def _too_large(host: str, limit: int) -> NotAllowed:
    return NotAllowed(
        f"{host} sends more than {limit:,} bytes",
        provider=PROVIDER,
        hint="The page is too large to read; look for a smaller page with the same content.",
    )


async def _body(response: httpx.Response, limit: int) -> bytes:
    """At most `limit` bytes, decompressed; the connection is dropped where it goes on."""
    import httpx

    try:
        return await _inflated(response, limit)
    except zlib.error as error:
        raise httpx.DecodingError("does not decompress") from error


async def _inflated(response: httpx.Response, limit: int) -> bytes:
    parts = bytearray()
    async for piece in _plain_pieces(response, limit):
        parts += piece
    return bytes(parts)


async def _pieces(response: httpx.Response, limit: int) -> AsyncIterator[bytes]:
    import httpx

    try:
        async for piece in _plain_pieces(response, limit):
            yield piece
    except zlib.error as error:
        raise httpx.DecodingError("does not decompress") from error


async def _plain_pieces(response: httpx.Response, limit: int) -> AsyncIterator[bytes]:
    """At most `limit` bytes in all."""
    inflate = _Inflater.named(response.headers.get("content-encoding", ""))
    taken = raw_bytes = 0
    async for chunk in response.aiter_raw():
        raw_bytes += len(chunk)
        piece = inflate.feed(chunk, limit - taken)
        taken += len(piece)
        yield piece
        if taken >= limit:
            return
        if raw_bytes > limit:
            raise zlib.error("more bytes than they stand for")
    inflate.close()


class _Inflater:
    """Undoes one content encoding, at most so many bytes at a time."""

    def __init__(self, windows: Sequence[int]) -> None:
        """`windows` are zlib's window sizes to try in this order; none at all passes bytes through."""
        self._windows = list(windows)
        self._inside = zlib.decompressobj(self._windows[0]) if windows else None
        self._begun = False

    @classmethod
    def named(cls, encoding: str) -> _Inflater:
        """For a Content-Encoding header.

        Raises:
            BadReply: an encoding that was not asked for.
        """
        name = encoding.strip().lower()
        windows = {"": (), "identity": (), "gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}.get(name)
        if windows is None:
            raise BadReply("the page comes in a content encoding that was not asked for", provider=PROVIDER)
        return cls(windows)

    def feed(self, chunk: bytes, room: int) -> bytes:
        """The next bytes, at most `room`; what lies beyond is lost.

        Raises:
            zlib.error: this is not the announced encoding.
        """
        if self._inside is None:
            return chunk[:room]
        parts = self._first(chunk, room) if chunk and not self._begun else self._inside.decompress(chunk, room)
        while self._inside.eof and self._inside.unused_data.startswith(GZIP) and len(parts) < room:
            rest = self._inside.unused_data  # gzip files may stand one behind the other; other bytes behind the end are noise
            self._inside = zlib.decompressobj(self._windows[0])
            parts += self._inside.decompress(rest, room - len(parts))
        return parts

    def close(self) -> None:
        """The body has ended.

        Raises:
            zlib.error: in the middle of the compressed data.
        """
        if self._inside is not None and self._begun and not self._inside.eof:
            raise zlib.error("cut")

    def _first(self, chunk: bytes, room: int) -> bytes:
        """Deflate comes with a wrapper or, from some servers, without; the first bytes decide."""
        self._begun = True
        for window in self._windows[:-1]:
            try:
                self._inside = zlib.decompressobj(window)
                return self._inside.decompress(chunk, room)
            except zlib.error:
                self._windows = self._windows[1:]
        self._inside = zlib.decompressobj(self._windows[-1])
        return self._inside.decompress(chunk, room)
