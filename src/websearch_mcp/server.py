"""The MCP server: list the table, run a row. Two handlers on the SDK's low-level server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from types import MappingProxyType
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from websearch_core import fence, outcome, progress
from websearch_core.errors import WebSearchError
from websearch_core.hub.values import CallResult, Part
from websearch_core.outcome import Operation
from websearch_core.planning.values import PlanResult
from websearch_core.redaction import Redactor
from websearch_core.values import FetchResult, MapResult, Outcome, PostResult, SearchResult, SourcesResult, as_plain
from websearch_mcp import render, tools
from websearch_mcp.changes import ToolListChanges
from websearch_mcp.consent import Consent

__all__ = ["make_server"]

log = logging.getLogger(__name__)
SHORTEST_PAUSE_S = 0.5
"""Between two progress messages, however fast the steps follow each other."""
Resolve = Callable[[type], Any]
"""A use case's class → the use case, built on first request."""


def make_server(
    resolve: Resolve,
    *,
    name: str = "websearch",
    toolsets: tuple[str, ...] = ("core", "admin"),
    expose_model: bool = False,
    budgets: Mapping[Operation, int] = MappingProxyType({}),
    patience_s: float = 50.0,
    progress_every_s: float = 3.0,
    redact: Redactor | None = None,
    limited: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    datamarking: bool = False,
    upstreams: Callable[[], tuple[str, ...]] = tuple,
    changes: ToolListChanges | None = None,
    consent: Consent | None = None,
) -> Server[Any]:
    """A server over the chosen toolsets.

    `budgets`: operation → longest result of a call that does not say. `patience_s`: longest call of a caller that takes
    no progress. `limited` is entered around each call, to count its result in tokens too. `redact` takes secrets out of
    results and errors. `datamarking` writes a sign for each blank of fenced text. The tool list is a constant of the
    arguments: the same bytes every time, whatever the network does; only the names of the `upstreams` come and go with the
    configuration, and `changes` tells of it. `consent` asks the person at the client for logins at upstreams.
    """
    rows = {row.name: row for row in tools.rows(toolsets)}
    unpublished = {"model": expose_model, "plan": "planning" in toolsets}
    hidden = frozenset(name for name, published in unpublished.items() if not published)
    listed: dict[tuple[str, ...], list[types.Tool]] = {}
    redact = redact or Redactor()

    async def list_tools(context: ServerRequestContext[Any], _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if changes is not None:
            changes.met(context.session, context.protocol_version)
        if (names := upstreams()) not in listed:
            listed.clear()
            listed[names] = [_tool(row, _hidden(row, hidden), names) for row in rows.values()]
        return types.ListToolsResult(tools=listed[names])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        row = rows.get(params.name)
        if row is None:
            asked = redact.text(params.name)[:64]
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {asked!r}; known: {', '.join(rows)}")
        patient = "progress_token" in (context.meta or {})
        max_chars = 24_000
        try:
            budget = budgets.get(row.operation)
            request = tools.read(row, params.arguments, hidden=_hidden(row, hidden), max_chars=budget)
            max_chars = getattr(request, "max_chars", max_chars)
            async with _progress(context, row, every_s=progress_every_s if patient else None):
                with limited():
                    result = await resolve(row.serving(request))(request, within_s=None if patient else patience_s)
                    if consent is not None and row.toolset == "hub":
                        answer = await consent.ask(context, params, result)
                        if isinstance(answer, types.InputRequiredResult):
                            return answer
                        if answer:
                            result = await resolve(row.use_case)(request, within_s=None if patient else patience_s)
        except WebSearchError as error:
            result = outcome.failed(_blank(row, params.arguments), error, row.operation)
        except Exception:
            incident = uuid.uuid4().hex[:8]
            log.exception("incident %s in %s", incident, row.name)
            fault = WebSearchError(f"a fault of the server, incident {incident}", diagnostics={"incident": incident})
            result = outcome.failed(_blank(row, params.arguments), fault, row.operation)
        with limited():
            return _reply(redact.value(result), max_chars, datamarking=datamarking)

    return Server(
        name,
        version=importlib.metadata.version("websearch-mcp"),
        title="websearch",
        instructions=tools.instructions(toolsets, upstreams()),
        cache_hints={"tools/list": CacheHint(ttl_ms=3_600_000, scope="public")},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=changes.listen if changes is not None else None,
    )


def _tool(row: tools.Row, hidden: frozenset[str], upstreams: tuple[str, ...]) -> types.Tool:
    return types.Tool(
        name=row.name,
        description=tools.about(row, upstreams),
        input_schema=tools.input_schema(row, hidden),
        output_schema=tools.output_schema(row),
        annotations=types.ToolAnnotations(
            title=row.title, read_only_hint=row.read_only, idempotent_hint=row.idempotent, open_world_hint=row.open_world
        ),
    )


def _hidden(row: tools.Row, hidden: frozenset[str]) -> frozenset[str]:
    """The operator's fields of a question; switch_model's own argument stays."""
    return hidden if row.operation == "search" else frozenset()


def _reply(result: Outcome, max_chars: int, *, datamarking: bool) -> types.CallToolResult:
    blocks = [_block(part) for part in result.parts] if isinstance(result, CallResult) else []
    return types.CallToolResult(
        content=[
            types.TextContent(type="text", text=render.text(result, max_chars=max_chars, datamarking=datamarking)),
            *(block for block in blocks if block is not None),
        ],
        structured_content=as_plain(result),
        is_error=result.status == "error",
    )


def _block(part: Part) -> types.ContentBlock | None:
    """An upstream's image, sound, link or resource as it came; None where only its name is left."""
    if part.kind == "link":
        return types.ResourceLink(
            type="resource_link", uri=part.uri, name=part.title or part.uri, mime_type=part.mime_type or None
        )
    if not part.data:
        return None
    if part.kind == "image":
        return types.ImageContent(type="image", data=part.data, mime_type=part.mime_type)
    if part.kind == "audio":
        return types.AudioContent(type="audio", data=part.data, mime_type=part.mime_type)
    inside = types.BlobResourceContents(uri=part.uri, blob=part.data, mime_type=part.mime_type or None)
    return types.EmbeddedResource(type="resource", resource=inside)


def _blank(row: tools.Row, arguments: dict[str, Any] | None) -> Outcome:
    """The row's result with nothing in it but what names the call."""
    given = arguments or {}
    url = fence.clean(str(given.get("url", "")), limit=2_048)
    match row.operation:
        case "search":
            return SearchResult(session_id=uuid.uuid4().hex[:12])
        case "posts":
            return PostResult(session_id=uuid.uuid4().hex[:12])
        case "sources":
            return SourcesResult(session_id=fence.clean(str(given.get("session_id", "")), limit=64))
        case "fetch":
            return FetchResult(url=url)
        case "map":
            return MapResult(base_url=url)
        case "plan":
            return PlanResult(session_id=fence.clean(str(given.get("session_id", "")), limit=64))
        case _:
            return row.result()


@asynccontextmanager
async def _progress(context: ServerRequestContext[Any], row: tools.Row, *, every_s: float | None) -> AsyncIterator[None]:
    """Say at once, then every few seconds and at each step that the call goes on; never after its result.

    The number is always seconds, since the protocol wants it to grow; the message says which step it is.
    """
    if every_s is None:
        yield
        return
    started = time.monotonic()
    step, news = "", asyncio.Event()

    def hear(text: str, done: int, total: int | None) -> None:
        nonlocal step
        step = f" · {text}" + (f" ({done}/{total})" if total else f" ({done})" if done else "")
        news.set()

    async def report() -> None:
        while True:
            seconds = time.monotonic() - started
            news.clear()
            await context.session.report_progress(round(seconds, 3), None, f"{row.title}: {seconds:.0f} s{step}")
            await asyncio.sleep(min(every_s, SHORTEST_PAUSE_S))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), max(every_s - SHORTEST_PAUSE_S, 0))

    reporting = asyncio.create_task(report())
    try:
        with progress.heard_by(hear):
            yield
    finally:
        reporting.cancel()
        await asyncio.wait({reporting})
