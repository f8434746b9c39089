"""How many frames of ours a search passes, counted where its request leaves for the network."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from mcp import Client
from starlette.types import Receive, Scope, Send

import websearch_core
from upstreams.serve import transport
from upstreams.xai import XaiUpstream
from websearch_adapters.credentials.pool import KeyPool
from websearch_adapters.http.client import Http
from websearch_adapters.providers.xai import XaiResponses, XaiSettings
from websearch_core.chain import ExtractorChain, FinderChain
from websearch_core.search import Search
from websearch_core.testing.fakes import FakeCache
from websearch_mcp.server import make_server

SOURCE = Path(websearch_core.__file__).resolve().parent.parent


async def frames_of_a_search() -> list[str]:
    """`file:function` of each frame of ours between the protocol's library and the HTTP library, outermost task last."""
    seen: list[str] = []
    upstream = XaiUpstream()

    async def spying(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            seen.extend(_ours(sys._getframe(), asyncio.all_tasks()))
        await upstream(scope, receive, send)

    http = Http(KeyPool({"grok": ["xai-key"]}), transport=transport(spying))
    engine = XaiResponses(http, XaiSettings(base_url="http://xai.test/v1"), lambda: "grok-4.3")
    search = Search(engine=engine, finder=FinderChain([]), extractor=ExtractorChain([]), cache=FakeCache())
    async with Client(make_server(lambda _: search)) as client:
        reply = await client.call_tool("web_search", {"query": "When did the bridge reopen?"})
    assert reply.structured_content is not None
    assert reply.structured_content["status"] == "success", reply.structured_content
    await http.aclose()
    return seen


def _ours(running: FrameType | None, tasks: set[asyncio.Task[Any]]) -> list[str]:
    frames: list[FrameType] = []
    while running is not None:
        frames.append(running)
        running = running.f_back
    for task in tasks - {asyncio.current_task()}:
        frames.extend(_suspended(task.get_coro()))
    files = [(Path(frame.f_code.co_filename).resolve(), frame.f_code.co_name) for frame in frames]
    return [f"{file.relative_to(SOURCE)}:{name}" for file, name in files if file.is_relative_to(SOURCE)]


def _suspended(awaited: Any) -> list[FrameType]:
    """The frames of a coroutine that waits, from the outside in."""
    frames: list[FrameType] = []
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is not None:
            frames.append(frame)
        awaited = (
            getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None) or getattr(awaited, "gi_yieldfrom", None)
        )
    return frames
