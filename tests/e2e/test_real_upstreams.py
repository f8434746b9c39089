"""MCP servers that nobody here wrote: discovered, searched, called, killed and back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from upstreams import real
from upstreams.labs import alive
from upstreams.serve import serve
from upstreams.tavily import TavilyUpstream
from websearch_adapters.upstream.session import Session
from websearch_adapters.upstream.supervisor import Supervisor
from websearch_core.hub.index import ToolIndex
from websearch_core.hub.lifecycle import Rules
from websearch_core.hub.values import HttpTransport, UpstreamSpec

pytestmark = pytest.mark.anyio
QUICK, QUICK_LAZY = Rules(waits_s=(0.1, 0.5, 1.0)), Rules(waits_s=(0.0, 0.2, 0.5, 1.0, 1.0, 1.0, 2.0, 4.0), lazy=True)


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    real.install()


class Hub:
    """A running supervisor and the sessions that it made."""

    def __init__(self, specs: tuple[UpstreamSpec, ...]) -> None:
        self.sessions: dict[str, Session] = {}
        self.index = ToolIndex()
        rules: Callable[[object], Rules] = lambda way: QUICK_LAZY if isinstance(way, HttpTransport) else QUICK  # noqa: E731
        self.supervisor = Supervisor(specs, self._session, rules=rules)

    def _session(self, spec: UpstreamSpec) -> Session:
        self.sessions[spec.name] = Session(spec, environment=os.environ, ping_every_s=0.5)
        return self.sessions[spec.name]

    async def until_ready(self, name: str, generation: int = 1) -> None:
        async with asyncio.timeout(60):
            while True:
                status = next(one for one in self.supervisor.statuses() if one.name == name)
                if status.state == "ready" and status.generation >= generation:
                    return
                await asyncio.sleep(0.02)

    def found(self, need: str) -> list[str]:
        self.index.update(self.supervisor.catalog())
        return [match.entry.id for match in self.index.search(need).items]

    async def call(self, upstream: str, tool: str, **arguments: Any) -> str:
        reply = await (await self.supervisor.link(upstream)).call(tool, arguments)
        return "\n".join(part.text for part in reply.parts)


@contextlib.asynccontextmanager
async def running(*specs: UpstreamSpec) -> AsyncIterator[Hub]:
    hub = Hub(specs)
    hub.supervisor.start()
    try:
        yield hub
    finally:
        await hub.supervisor.aclose()
        async with asyncio.timeout(60):
            while any(alive(one.pid) for one in hub.sessions.values() if one.pid is not None):
                await asyncio.sleep(0.02)


async def killed_and_back(hub: Hub, name: str) -> None:
    first = hub.sessions[name].pid
    assert first is not None
    os.killpg(first, signal.SIGKILL)
    await hub.until_ready(name, generation=2)
    assert hub.sessions[name].pid != first


@pytest.mark.requirement("HUB-LINK-09")
async def test_the_everything_server_works_over_stdio_and_comes_back() -> None:
    async with running(real.everything()) as hub:
        await hub.until_ready("everything")
        assert hub.found("echo") == ["everything__echo"]
        assert await hub.call("everything", "echo", message="here") == "Echo: here"
        reply = await (await hub.supervisor.link("everything")).call("get-tiny-image", {})
        assert {"text", "image"} <= {part.kind for part in reply.parts}
        await killed_and_back(hub, "everything")
        assert await hub.call("everything", "echo", message="again") == "Echo: again"


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_the_everything_server_works_at_an_address_and_comes_back(kind: str) -> None:
    with contextlib.ExitStack() as stack:
        port, process = await asyncio.to_thread(stack.enter_context, real.serving_everything(kind))
        async with running(real.everything_at(port, kind)) as hub:
            await hub.until_ready("everything")
            assert await hub.call("everything", "echo", message="here") == "Echo: here"
            process.kill()
            async with asyncio.timeout(30):
                while next(iter(hub.supervisor.statuses())).state == "ready":
                    await asyncio.sleep(0.02)
            assert hub.found("echo") == ["everything__echo"]
            await asyncio.to_thread(stack.enter_context, real.serving_everything(kind, port))
            await hub.until_ready("everything", generation=2)
            assert await hub.call("everything", "echo", message="again") == "Echo: again"


async def test_the_filesystem_server_reads_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("words in a file", encoding="utf-8")
    async with running(real.filesystem(tmp_path)) as hub:
        await hub.until_ready("filesystem")
        assert "filesystem__read_text_file" in hub.found("read the text of a file")
        assert await hub.call("filesystem", "read_text_file", path=str(tmp_path / "note.txt")) == "words in a file"
        assert "denied" in (await hub.call("filesystem", "read_text_file", path="/etc/hostname")).lower()
        await killed_and_back(hub, "filesystem")
        assert "note.txt" in await hub.call("filesystem", "list_directory", path=str(tmp_path))


async def test_the_memory_server_remembers_over_a_kill(tmp_path: Path) -> None:
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    async with running(real.memory(tmp_path / "memory.json")) as hub:
        await hub.until_ready("memory")
        assert "memory__search_nodes" in hub.found("search the knowledge graph")
        await hub.call("memory", "create_entities", entities=[entity])
        await killed_and_back(hub, "memory")
        assert "wrote the first program" in await hub.call("memory", "read_graph")


async def test_the_fetch_server_reads_a_page_and_comes_back() -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send(
            {"type": "http.response.body", "body": b"<html><body><article><p>Words of a page.</p></article></body></html>"}
        )

    async with serve(page) as url, running(real.fetch()) as hub:
        await hub.until_ready("fetch")
        assert hub.found("fetch a URL") == ["fetch__fetch"]
        assert "Words of a page." in await hub.call("fetch", "fetch", url=f"{url}/page", raw=True)
        await killed_and_back(hub, "fetch")
        assert "Words of a page." in await hub.call("fetch", "fetch", url=f"{url}/page", raw=True)


@pytest.mark.requirement("HUB-LINK-09")
async def test_a_search_server_searches_and_comes_back() -> None:
    app = TavilyUpstream()
    async with serve(app) as url, running(real.tavily(url)) as hub:
        await hub.until_ready("tavily")
        assert hub.found("search the web")[0] == "tavily__tavily_search"
        assert "URL: https://" in await hub.call("tavily", "tavily_search", query="footbridge")
        await killed_and_back(hub, "tavily")
        assert "URL: https://" in await hub.call("tavily", "tavily_search", query="library")
    assert [request.json["query"] for request in app.requests] == ["footbridge", "library"]
