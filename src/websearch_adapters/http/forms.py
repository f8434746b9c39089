"""Posts forms to a sign-in service, and reads its small replies, whatever their status.

Nothing is followed, kept or retried here: a redirect is a reply like any other, there are no cookies, and a service on this
machine is never asked through a proxy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from websearch_adapters.http import failures
from websearch_core.errors import BadReply

if TYPE_CHECKING:
    import httpx

__all__ = ["FormClient", "FormReply"]

MAX_BYTES = 256 * 1024
"""Far above every document that a sign-in service is known to send."""
CONNECT_TIMEOUT_S = 6.0
READ_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FormReply:
    """What came back."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)

    @property
    def fields(self) -> dict[str, Any]:
        """The JSON object of the body; empty for anything else."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class FormClient:
    """Owns its connections. Constructing it opens nothing; `aclose` closes what was opened."""

    def __init__(self, name: str, *, proxy: str = "environment", transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`name` names errors; `proxy`: `environment`, `none`, or an address; `transport` replaces the network, for tests."""
        self._name = name
        self._proxy = proxy
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close every connection; the object can be used again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def post(self, address: str, form: Mapping[str, str]) -> FormReply:
        """Send a form.

        Raises:
            Unreachable: no reply, or one that broke off.
            WrongAddress: the address is none.
            BadReply: the reply is longer than such replies are.
        """
        content = urlencode(form).encode()
        return await self._sent("POST", address, content, {"Content-Type": "application/x-www-form-urlencoded"})

    async def get(self, address: str) -> FormReply:
        """Ask for a document.

        Raises:
            Unreachable, WrongAddress, BadReply: as `post`.
        """
        return await self._sent("GET", address, None, {})

    async def _sent(self, method: str, address: str, content: bytes | None, headers: Mapping[str, str]) -> FormReply:
        import httpx

        try:
            wanted = self._opened().build_request(method, address, content=content, headers=headers)
            response = await self._opened().send(wanted, stream=True)
            try:
                return FormReply(status=response.status_code, headers=dict(response.headers), body=await self._body(response))
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failures.from_exception(error, self._name, address) from error

    async def _body(self, response: httpx.Response) -> bytes:
        parts = bytearray()
        async for chunk in response.aiter_bytes():
            parts += chunk
            if len(parts) > MAX_BYTES:
                raise BadReply(f"more than {MAX_BYTES:,} bytes came", provider=self._name)
        return bytes(parts)

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                transport=self._transport or self._routes(),
                trust_env=False,
                follow_redirects=False,
                timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
                headers={"User-Agent": "websearch", "Accept": "application/json"},
            )
        return self._client

    def _routes(self) -> httpx.AsyncBaseTransport:
        from websearch_adapters.http.proxies import Proxies
        from websearch_adapters.http.routes import RoutedTransport

        return RoutedTransport(Proxies.chosen(self._proxy))
