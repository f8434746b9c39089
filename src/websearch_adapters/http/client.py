"""The one HTTP client: time limits per operation, size caps, retries at call time, statuses as our errors.

The only module that imports httpx and backoff for talking to providers. `exchange` sends one keyed request and feeds the
reply to a sans-IO reader until the reader says that it is complete, so a stream that never closes costs nothing.
"""

from __future__ import annotations

import functools
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from websearch_adapters.http import failures
from websearch_core import deadline, failover, urls
from websearch_core.errors import AuthRejected, BadReply, OutOfTime, ProviderError, WebSearchError, WrongAddress
from websearch_core.events import SILENT, Observer
from websearch_core.ports import Credentials, Lease
from websearch_core.redaction import Redactor
from websearch_core.retry import RetryPolicy
from websearch_core.values import Note, Secret

if TYPE_CHECKING:
    import httpx

__all__ = ["Attempts", "Http", "JsonReply", "Reader", "Request", "api_base"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
ERROR_BODY_BYTES = 65_536
SHORTEST_KEY_CHARS = 4
"""Shorter texts are ordinary words as often as keys."""
VERSION = re.compile(r"v\d{1,3}[a-z0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to a provider."""

    provider: str
    """Names errors, spans and the key."""
    base_url: str
    """The configured address; error hints name it without user and query."""
    path: str
    """Appended to `base_url`, with its leading slash."""
    method: str = "POST"
    body: Mapping[str, object] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    keyed: bool = True
    """Send `Authorization: Bearer` with the current key of `provider`."""
    read_timeout_s: float = 120.0
    """Longest silence between two bytes; frees the socket, is no deadline."""
    max_bytes: int = 16 * 1024 * 1024
    """Largest decoded reply."""
    phrases: failures.Phrases = failures.PHRASES
    """How this provider's errors are to be understood."""


class Reader(Protocol[T_co]):
    """Turns the bytes of one reply into a value, without any I/O."""

    def feed(self, chunk: bytes, /) -> bool:
        """Take the next bytes; True when the reply is complete and the rest does not matter.

        Raises:
            ProviderError: the reply reports a failure.
        """
        ...

    def close(self) -> T_co:
        """The value, once `feed` said so or the upstream ended the reply.

        Raises:
            ProviderError: the reply ended before it was complete, or is not in the agreed shape.
        """
        ...


class JsonReply:
    """Reads a reply that is one JSON object."""

    def __init__(self, provider: str, base_url: str = "") -> None:
        self._provider = provider
        self._base_url = base_url
        self._parts = bytearray()

    def feed(self, chunk: bytes, /) -> bool:
        """Collect; a JSON reply ends with the body."""
        self._parts += chunk
        return False

    def close(self) -> dict[str, Any]:
        """The object.

        Raises:
            NotConfigured: an HTML page came instead.
            BadReply: not JSON, or not an object.
        """
        return failures.json_object(bytes(self._parts), provider=self._provider, base_url=self._base_url)


class Attempts:
    """One call's way through attempts and models; gives the machine of `core.failover` its clock."""

    def __init__(self, policy: RetryPolicy, *, primary: str = "", fallback: str = "") -> None:
        """`primary` and `fallback` as they are sent; a fallback that is none, or the same, leaves the primary alone."""
        self._state = failover.State(policy=policy, primary=primary, fallback=fallback)
        self._started = time.monotonic()
        self.wait_s = 0.0
        """Seconds to wait before the next request."""

    @property
    def model(self) -> str:
        """The model that the next request is for, and in the end the one that answered."""
        return self._state.model

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the reader of an answer must know about how it came."""
        return failover.notes(self._state)

    def go_on_after(self, error: WebSearchError, *, chance: float) -> bool:
        """Take note of a failure; whether another request follows."""
        failed = failover.Failed(error=error, chance=chance, left_s=deadline.left_s())
        self._state, effect = failover.step(self._state, failed)
        if isinstance(effect, failover.End):
            return False
        self.wait_s = effect.after_s
        return True

    def final_error(self, error: WebSearchError) -> WebSearchError:
        """What to raise once no request follows: `error` with the history of the call, or OutOfTime."""
        return failover.final_error(self._state, error, elapsed_s=time.monotonic() - self._started)


class Http:
    """Owns the connections of a process. Constructing it opens nothing; `aclose` closes what was opened."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        observe: Observer = SILENT,
        transport: httpx.AsyncBaseTransport | None = None,
        proxy: str = "environment",
        connect_timeout_s: float = 6.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`transport` replaces the network, for tests in process. `proxy`: `environment`, `none`, or an address."""
        self._credentials = credentials
        self._observe = observe
        self._transport = transport
        self._proxy = proxy
        self._connect_timeout_s = connect_timeout_s
        self._chance = chance
        self._client: httpx.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close every connection; the object can be used again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def retrying(
        self, plan: RetryPolicy | Attempts
    ) -> Callable[[Request | Callable[[], Request], Callable[[], Reader[T]]], Awaitable[T]]:
        """`exchange`, repeated by the plan of one call; a policy alone is a plan for a provider without models.

        What comes back raises what `exchange` raises, with the history of the call in the diagnostics, or OutOfTime where no time
        is left to try again.
        """
        import backoff

        attempts = plan if isinstance(plan, Attempts) else Attempts(plan)

        def give_up(error: WebSearchError) -> bool:
            return not attempts.go_on_after(error, chance=self._chance())

        def waits() -> Generator[float, None, None]:
            while True:
                yield attempts.wait_s

        def end(details: Any) -> None:
            error = details["exception"]
            if (told := attempts.final_error(error)) is not error:
                raise told from error

        faults = (ProviderError, WrongAddress, OutOfTime)
        again = backoff.on_exception(waits, faults, giveup=cast("Any", give_up), on_giveup=end, jitter=None, logger=None)
        return again(functools.partial(self.exchange, tried={}))

    async def exchange(
        self,
        request: Request | Callable[[], Request],
        read: Callable[[], Reader[T]],
        *,
        tried: dict[Secret | None, WebSearchError] | None = None,
    ) -> T:
        """Send one request, or the one to be made now, and read its reply to the end that the reader sees.

        `tried` holds the keys that failed earlier in the same call, and takes up the one that fails now.

        Raises:
            ProviderError: by status, transport fault or the reader's verdict.
            NotConfigured: no key, or the address leads to a page or a redirect instead of an API.
            QueueTimeout: the call's time ran out before it was its turn.
        """
        import httpx

        tried = {} if tried is None else tried
        request = request if isinstance(request, Request) else request()
        async with self._credentials.lease(request.provider, keyed=request.keyed, tried=tried) as lease:
            reader, response, size = read(), None, 0
            with self._observe.span("http.request", provider=request.provider) as span:
                try:
                    response = await self._opened().send(self._message(request, lease.secret), stream=True)
                    span.note(status=response.status_code)
                    if response.status_code != 200:
                        raise failures.from_response(
                            response.status_code,
                            response.headers,
                            await _head(response),
                            request.provider,
                            request.base_url,
                            request.phrases,
                        )
                    await lease.accepted()
                    async for chunk in response.aiter_bytes():
                        size += len(chunk)
                        if size > request.max_bytes:
                            raise _too_long(request)
                        if reader.feed(chunk):
                            break
                    return reader.close()
                except WebSearchError as error:
                    await _note(error, lease, tried)
                    raise
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    with suppress(WebSearchError):
                        if size:  # a line that breaks after a whole reply has done no harm
                            return reader.close()
                    fault = failures.from_exception(error, request.provider, request.base_url)
                    await _note(fault, lease, tried)
                    raise fault from error
                finally:
                    if response is not None:
                        await response.aclose()

    def _message(self, request: Request, secret: Secret | None) -> httpx.Request:
        import httpx

        if not urls.is_web_url(request.base_url):
            raise httpx.InvalidURL("the base is no web address")
        headers = {"Accept": "application/json, text/event-stream", **request.headers}
        if secret is not None:
            _require_own_origin(secret, request)
            headers["Authorization"] = f"Bearer {_header_value(secret, request.provider)}"
        body = None if request.body is None else json.dumps(request.body, ensure_ascii=False).encode("utf-8", "replace")
        if body is not None:
            headers["Content-Type"] = "application/json"
        return self._opened().build_request(
            request.method,
            _address(request.base_url, request.path, keyed=secret is not None),
            content=body,
            headers=headers,
            timeout=httpx.Timeout(request.read_timeout_s, connect=self._connect_timeout_s, write=10.0, pool=None),
        )

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                transport=self._transport or self._routes(),
                trust_env=False,
                follow_redirects=False,
                headers={"User-Agent": "websearch"},
            )
        return self._client

    def _routes(self) -> httpx.AsyncBaseTransport:
        from websearch_adapters.http.proxies import Proxies
        from websearch_adapters.http.routes import RoutedTransport

        return RoutedTransport(Proxies.chosen(self._proxy))


def api_base(url: str) -> str:
    """The base of an OpenAI-shaped API from whatever was pasted: a bare host, with or without /v1, or a whole endpoint.

    Ends without a slash. `/v1` is added unless the path names a version already, such as `/v1beta/openai` or `/api/v4`.
    """
    base = url.strip().rstrip("/")
    if not base:
        return ""
    for endpoint in ("/chat/completions", "/responses", "/models"):
        base = base.removesuffix(endpoint).rstrip("/")
    path = base.partition("://")[2].partition("/")[2]
    return base if any(VERSION.fullmatch(segment) for segment in path.split("/")) else f"{base}/v1"


def _address(base_url: str, path: str, *, keyed: bool) -> str:
    """Where the request goes: the path below the base's own path, its query kept.

    A user in the base would become a second Authorization header and take the key's place, so a keyed request goes without.
    """
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2] if keyed else parts.netloc
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/") + path, parts.query, ""))


def _too_long(request: Request) -> BadReply:
    return BadReply(
        f"more than {request.max_bytes:,} bytes came",
        provider=request.provider,
        diagnostics={"error_type": "invalid_response"},
    )


def _require_own_origin(secret: Secret, request: Request) -> None:
    """Let a secret that is meant for one origin go nowhere else.

    Raises:
        WrongAddress: the configured address is another one.
    """
    if not secret.only_for or urls.origin(request.base_url) == secret.only_for:
        return
    raise WrongAddress(
        f"the login's token is for {secret.only_for} alone, and the address set for {request.provider} is "
        f"{failures.shown_base(request.base_url)}",
        provider="login",
        hint="Unset xai.api_url (GROK_SEARCH_URL), or use a key there: set xai.auth to api_key.",
    )


def _header_value(secret: Secret, provider: str) -> str:
    if secret.value.isascii() and secret.value.isprintable():
        return secret.value
    raise AuthRejected(
        f"the key set for {provider} holds characters that no key has",
        provider=provider,
        hint=f"Set the key of {provider} again, without line breaks.",
        diagnostics={"error_type": "authentication_error"},
    )


async def _note(error: WebSearchError, lease: Lease, tried: dict[Secret | None, WebSearchError]) -> None:
    """Take the key out of a failure's words, and tell the credentials of it.

    Raises:
        ProviderError: what the call comes to instead.
    """
    if lease.secret is not None:
        _forget(lease.secret, error)
    if isinstance(error, ProviderError):
        error.another_key = await lease.failed(error)
        tried[lease.secret] = error


def _forget(secret: Secret, error: WebSearchError) -> None:
    """Take the key out of what an upstream echoed into an error."""
    if len(secret.value) < SHORTEST_KEY_CHARS:
        return
    message = Redactor([secret.value]).text(error.message)
    error.message, error.args = message, (message,)
    pieces = [secret.value[at : at + 8] for at in range(max(len(secret.value) - 7, 1))]
    if error.upstream_code and any(re.sub(r"[^A-Za-z0-9_.:-]+", "_", piece) in error.upstream_code for piece in pieces):
        error.upstream_code = None


async def _head(response: httpx.Response) -> bytes:
    """The first 64 KiB of an error's body; a body that breaks off is as good as short."""
    import httpx

    parts = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            parts += chunk
            if len(parts) >= ERROR_BODY_BYTES:
                break
    except httpx.HTTPError:
        return bytes(parts)
    return bytes(parts[:ERROR_BODY_BYTES])
