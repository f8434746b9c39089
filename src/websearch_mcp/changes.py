"""Tells clients that the list of tools is another now, in the way of their revision of the protocol."""

from __future__ import annotations

import contextlib
import weakref

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

__all__ = ["ToolListChanges"]


class ToolListChanges:
    """Those who want to know of it."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self.listen = ListenHandler(self._bus)
        """Serves the requests of those who ask for notices, as the newer revisions have it."""

    def met(self, session: ServerSession, protocol_version: str) -> None:
        """A client is there; those of older revisions get notices without asking."""
        if protocol_version not in MODERN_PROTOCOL_VERSIONS:
            # A session lives for one request, its connection for as long as the client.
            self._connections.add(session._connection)  # noqa: SLF001 - nothing public leads from the one to the other

    async def tell(self) -> None:
        """Tell all; one that has left is no failure."""
        await self._bus.publish(ToolsListChanged())
        for connection in list(self._connections):
            with contextlib.suppress(Exception):  # it left; nobody is there to be told
                await connection.send_tool_list_changed()
