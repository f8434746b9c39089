"""What a search costs in CPU time, beside the least that a search server does.

`python bench/search_cpu.py` prints milliseconds of CPU time for each search of two servers over stdio, and their ratio: websearch
as it is installed, without an engine, and a bare server on the same SDK that asks the same metasearch engine once and hands on
the first ten hits as they are. Both get the same questions, block by block in turn, so that a busy machine slows both. The
times are those of the whole process as `/proc` tells them, so it takes Linux.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from quality.host import running  # noqa: E402
from quality.web import build  # noqa: E402

from e2e.wire import Wire, environment  # noqa: E402 - the path comes first

__all__ = ["search_cpu_ratio"]

SEED = 11
BLOCK = 20
"""Questions of one server before it is the other's turn; the first block only warms both up."""
HITS = 10


def search_cpu_ratio() -> float:
    """CPU time of a search, as a multiple of the bare server's."""
    ours_ms, bare_ms = measured()
    return round(ours_ms / bare_ms, 2)


def measured() -> tuple[float, float]:
    """Milliseconds of CPU time for each search: websearch's, the bare server's."""
    world = build(SEED)
    questions = [question.text for question in world.questions]
    blocks = [questions[at : at + BLOCK] for at in range(0, len(questions), BLOCK)]
    with tempfile.TemporaryDirectory() as home, running(world) as (base, _):
        env = environment(Path(home), SEARXNG_URL=base, WEBSEARCH_SEARCH_FINDERS="searxng")
        with Wire(env) as ours, Wire(env, command=[sys.executable, __file__, base]) as bare:
            servers = (ours, bare)
            used_s = [0.0, 0.0]
            for server in servers:
                server.initialize()
                _ask(server, blocks[0])
            for block in blocks[1:]:
                used_s = [used + _ask(server, block) for used, server in zip(used_s, servers, strict=True)]
    ours_ms, bare_ms = (1_000 * used / (len(questions) - BLOCK) for used in used_s)
    return ours_ms, bare_ms


def _ask(server: Wire, questions: list[str]) -> float:
    """CPU seconds that the process spends on the questions."""
    before = _cpu_s(server.process.pid)
    for question in questions:
        if server.result("web_search", query=question).get("isError"):
            raise SystemExit(f"a search failed: {question}")
    return _cpu_s(server.process.pid) - before


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- the bare server


def bare(base: str) -> None:
    """Serve one tool on stdin and stdout, from the metasearch engine at `base`."""
    import httpx
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="web_search", input_schema={"type": "object"})])

    async def serve() -> None:
        async with httpx.AsyncClient(base_url=base) as client:

            async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
                asked = {"q": (params.arguments or {})["query"], "format": "json"}
                hits = (await client.get("/search", params=asked)).json()["results"][:HITS]
                text = "\n\n".join(f"{hit['title']}\n{hit['url']}\n{hit['content']}" for hit in hits)
                found = [{name: hit[name] for name in ("title", "url", "content")} for hit in hits]
                return types.CallToolResult(
                    content=[types.TextContent(type="text", text=text)], structured_content={"results": found}
                )

            server: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
            async with stdio_server() as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(serve())  # noqa: TID251 - a process of its own


def main() -> None:
    """Print both times and their ratio."""
    ours_ms, bare_ms = measured()
    print(f"websearch_ms {ours_ms:.2f}", f"bare_ms {bare_ms:.2f}", f"search_cpu_ratio {ours_ms / bare_ms:.2f}", sep="\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        bare(sys.argv[1])
    else:
        main()
