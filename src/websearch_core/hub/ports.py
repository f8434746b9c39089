"""What the hub needs from outside: a way to connect, a live connection, and the upstreams as they stand.

Errors that leave these ports say `provider="upstream"` and name the upstream in the message and in `diagnostics["upstream"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from websearch_core.hub.values import Catalog, Cause, ToolReply, UpstreamInfo, UpstreamSpec, UpstreamStatus, UpstreamTool
from websearch_core.values import Json

__all__ = ["SERVICE", "Upstream", "UpstreamLink", "Upstreams"]

SERVICE = "upstream"
"""The `provider` of every error of an upstream, so that its codes are few and known."""


class UpstreamLink(Protocol):
    """One live connection. Any task may use it; only the task that entered it leaves it."""

    @property
    def info(self) -> UpstreamInfo: ...

    async def tools(self) -> tuple[UpstreamTool, ...]:
        """All tools, over all pages of the list, in the upstream's order.

        Raises:
            ProviderError: the list could not be had; Unreachable when the connection is gone.
        """
        ...

    async def call(self, tool: str, arguments: Mapping[str, Json], /) -> ToolReply:
        """Run a tool by its raw name. Cancelling tells the upstream to stop.

        Raises:
            Unreachable: surely not run: nothing was sent, or the upstream refused it because it knows our session no more.
            OutcomeUnknown: it was sent and no reply came, so it may have run.
            AuthRejected: the upstream wants a login; not run.
            RequestRejected: the upstream refused the name or the arguments.
            BadReply, ProviderError: it replied with something else than a result.
        """
        ...

    async def closed(self) -> Cause:
        """Wait until the connection is gone, with or without traffic on it; why."""
        ...


class Upstream(Protocol):
    """A way to one upstream."""

    @property
    def spec(self) -> UpstreamSpec: ...

    def connect(self, changed: Callable[[], None], /) -> AbstractAsyncContextManager[UpstreamLink]:
        """Open a connection with its handshake; leaving closes it, child process included.

        `changed` is called, in the loop, for each notice that the list of tools is another now.

        Raises, on entering:
            AuthRejected: a login is needed.
            ProviderError: every other way in which it can fail, start of the process included.
        """
        ...


class Upstreams(Protocol):
    """All upstreams as they stand; what the two use cases see of the hub."""

    def catalog(self) -> Catalog:
        """The tools of now; the same object until something changed."""
        ...

    def statuses(self) -> tuple[UpstreamStatus, ...]:
        """One for each configured upstream, by name."""
        ...

    def spec(self, upstream: str, /) -> UpstreamSpec:
        """How it is configured.

        Raises:
            KeyError: there is none of this name.
        """
        ...

    async def link(self, upstream: str, /, *, after: UpstreamLink | None = None) -> UpstreamLink:
        """The live connection, once there is one; an upstream that was given up for the moment is tried again.

        `after`: the connection that just failed under the caller; another one is waited for.

        Raises:
            AuthRejected: it waits for a login.
            NotAllowed: it is disabled.
            Unreachable: it is gone and no connection is being opened or planned soon.
        """
        ...
