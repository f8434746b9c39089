"""A client of the real MCP server, with the real adapters against simulated services on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
from mcp import Client

from upstreams.chat_completions import ChatUpstream
from upstreams.firecrawl import FirecrawlUpstream
from upstreams.serve import serve
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream
from websearch_adapters import settings
from websearch_mcp.container import Closing, build
from websearch_mcp.server import make_server

__all__ = ["CHAT_KEY", "FIRECRAWL_KEY", "TAVILY_KEY", "XAI_KEY", "called", "connected"]

XAI_KEY, CHAT_KEY, TAVILY_KEY, FIRECRAWL_KEY = (
    "xai-canary-0123456789abcdef",
    "sk-canary-0123456789abcdef",
    "tvly-canary-0123456789abcdef",
    "fc-canary-0123456789abcdef",
)


@asynccontextmanager
async def connected(
    home: Path,
    *,
    xai: XaiUpstream | None = None,
    chat: ChatUpstream | None = None,
    tavily: TavilyUpstream | None = None,
    firecrawl: FirecrawlUpstream | None = None,
    toolsets: tuple[str, ...] = ("core", "admin"),
    **environ: str,
) -> AsyncIterator[Client]:
    """A client of the real server; the given services run on loopback and are configured, every other one is not.

    No wait between attempts, and no finder but the web services, so that an empty library hides no failure.
    """
    env = {
        "WEBSEARCH_HOME": str(home),
        "WEBSEARCH_CACHE_KIND": "memory",
        "GROK_RETRY_MULTIPLIER": "0",
        "GROK_SEARCH_SOURCE_PROVIDERS": "tavily,firecrawl",
    }
    async with AsyncExitStack() as stack:
        if xai:
            env |= {"XAI_API_KEY": XAI_KEY, "GROK_SEARCH_URL": await stack.enter_async_context(serve(xai))}
        if chat:
            env |= {"GROK_API_KEY": CHAT_KEY, "GROK_API_URL": await stack.enter_async_context(serve(chat)) + "/v1"}
        if tavily:
            env |= {"TAVILY_API_KEY": TAVILY_KEY, "TAVILY_API_URL": await stack.enter_async_context(serve(tavily))}
        if firecrawl:
            env |= {"FIRECRAWL_API_KEY": FIRECRAWL_KEY, "FIRECRAWL_API_URL": await stack.enter_async_context(serve(firecrawl))}
        box = build(settings.read(environ={**env, **environ}))
        try:
            yield await stack.enter_async_context(Client(make_server(box.resolve, toolsets=toolsets)))
        finally:
            await box.resolve(Closing).aclose()


async def called(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The structured result; the flag and the published schema are checked each time."""
    reply = await client.call_tool(name, arguments)
    result: dict[str, Any] = reply.structured_content or {}
    tool = next(tool for tool in (await client.list_tools()).tools if tool.name == name)
    jsonschema.validate(result, tool.output_schema or {})
    assert reply.is_error == (result["status"] == "error")
    assert "canary" not in str(reply)
    return result
