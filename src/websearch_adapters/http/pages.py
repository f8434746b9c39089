"""Gets pages of the open web: every hop judged, bodies bounded after decompression, nothing of ours sent along.

Requests carry neither cookies nor credentials. Redirects are followed by hand, so that each target is judged before it is
asked. Bodies are inflated here piece by piece: a small body that inflates without end is given up at the size limit.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from websearch_adapters.http import failures
from websearch_core import egress, urls
from websearch_core.errors import (
    BadReply,
    Declined,
    NotAllowed,
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

__all__ = ["Fetched", "PageClient"]

PROVIDER = "local"
MAX_BYTES = 10 * 1024 * 1024
MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
CONNECT_TIMEOUT_S = 6.0
READ_TIMEOUT_S = 20.0
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

    async def get(self, url: str, *, accept: str = ACCEPT, max_bytes: int | None = None, cut: bool = False) -> Fetched:
        """One page, after at most five redirects. With `cut` a longer body is cut at `max_bytes`, else it is refused.

        Raises:
            NotAllowed: policy forbids the address, that of a redirect, or the size.
            RequestRejected: 404, 410 and other refusals of the request.
            Declined: 401, 403, 451.
            RateLimited: 429.
            Unreachable: no usable reply, 5xx, too many redirects, a body that breaks off.
            BadReply: a redirect without target, an unknown content encoding.
        """
        limit = self._max_bytes if max_bytes is None else max_bytes
        current = url
        with self._observe.span("page.get", provider=PROVIDER, host=urls.host(url)) as span:
            for _ in range(MAX_REDIRECTS + 1):
                egress.verdict(current, allow=self._allow)
                async with self._reply(current, accept) as response:
                    span.note(status=response.status_code)
                    if response.status_code not in REDIRECTS:
                        return await _fetched(url, current, response, limit=limit, cut=cut)
                    current = _target(current, response)
        raise Unreachable(f"{urls.host(url)} redirected more than {MAX_REDIRECTS} times", provider=PROVIDER)

    @asynccontextmanager
    async def _reply(self, url: str, accept: str) -> AsyncIterator[httpx.Response]:
        import httpx

        response = None
        try:
            request = httpx.Request("GET", url, headers=self._headers(accept), extensions={"timeout": _timeouts()})
            response = await self._opened().handle_async_request(request)
            response.request = request
            yield response
        except httpx.InvalidURL as error:
            raise NotAllowed("not fetched: this is not a web address") from error
        except httpx.HTTPError as error:
            raise self._explained(failures.from_exception(error, PROVIDER, url)) from error
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


async def _fetched(asked: str, url: str, response: httpx.Response, *, limit: int, cut: bool) -> Fetched:
    host, status = urls.host(url), response.status_code
    if status >= 400:
        raise _status_error(host, status, response.headers)
    if status >= 300 or status == 206:  # a part that nobody asked for is not the page
        raise BadReply(f"{host} answers {status} to a plain request", provider=PROVIDER, http_status=status)
    length = response.headers.get("content-length", "")
    if not cut and length.isdecimal() and int(length) > limit:
        raise _too_large(host, limit)
    body = await _body(response, limit + 1)
    if len(body) > limit and not cut:
        raise _too_large(host, limit)
    return Fetched(
        url=asked,
        final_url=url.partition("#")[0],
        status=status,
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
        return RequestRejected, "The page does not exist; check the address or search for it."
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
    inflate = _Inflater.named(response.headers.get("content-encoding", ""))
    parts, raw_bytes = bytearray(), 0
    async for chunk in response.aiter_raw():
        raw_bytes += len(chunk)
        parts += inflate.feed(chunk, limit - len(parts))
        if len(parts) >= limit:
            return bytes(parts)
        if raw_bytes > limit:
            raise zlib.error("more bytes than they stand for")
    inflate.close()
    return bytes(parts)


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
