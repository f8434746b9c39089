"""The program that the official conformance suite starts as a client: the hub's own session and login, with a quick person.

Run by the suite with an address as its last argument, and `MCP_CONFORMANCE_SCENARIO` and `MCP_CONFORMANCE_CONTEXT` in its
environment. It connects, lists, calls what is listed, and logs in when that is wanted, three times at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp.client.session import ClientRequestContext

from websearch_adapters.upstream.auth import Logins, log_in
from websearch_adapters.upstream.session import Link, Session
from websearch_core.errors import AuthRejected, WebSearchError
from websearch_core.hub.values import HttpTransport, OAuthClient, UpstreamSpec, UpstreamTool
from websearch_core.values import Secret

STUBS: dict[str, Any] = {"string": "x", "integer": 1, "number": 1, "boolean": False, "object": {}, "array": []}
METADATA_URL = "https://conformance-test.local/client-metadata.json"
LOGINS = 3


async def consent(url: str) -> None:
    """A browser in which somebody agrees at once."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(url)


async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Somebody who agrees with whatever is proposed."""
    schema = params.requested_schema if isinstance(params, types.ElicitRequestFormParams) else {}
    properties: dict[str, Any] = schema.get("properties", {})
    proposed = {name: one["default"] for name, one in properties.items() if "default" in one}
    agreed = {name: True for name, one in properties.items() if one.get("type") == "boolean" and name not in proposed}
    return types.ElicitResult(action="accept", content={**proposed, **agreed})


async def use(link: Link, context: dict[str, Any]) -> None:
    """Call every tool, or what the suite says; a call that fails is no failure of the client."""
    tools = {tool.name: tool for tool in await link.tools()}
    wanted = context.get("toolCalls") or [{"name": name, "arguments": arguments(tool, tools)} for name, tool in tools.items()]
    for call in wanted:
        if call["name"] not in tools:
            continue
        try:
            await link.call(call["name"], call.get("arguments") or {})
        except AuthRejected:
            raise
        except WebSearchError as error:
            print(f"{call['name']}: {error.message}", file=sys.stderr)


def arguments(tool: UpstreamTool, tools: dict[str, UpstreamTool]) -> dict[str, Any]:
    """What the schema requires, and nothing else; the echo of a schema gets the schema."""
    if tool.name == "json_schema_echo":
        return {"schema": tools["json_schema_2020_12_tool"].input_schema}
    properties: Any = tool.input_schema.get("properties") or {}
    required: Any = tool.input_schema.get("required") or []
    return {name: STUBS.get(properties.get(name, {}).get("type"), "x") for name in required}


async def main(url: str) -> None:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    secret = Secret(context["client_secret"]) if context.get("client_secret") else None
    client = OAuthClient(client_id=context.get("client_id"), client_secret=secret)
    spec = UpstreamSpec(name="conformance", transport=HttpTransport(url=url, oauth=client))
    with tempfile.TemporaryDirectory() as folder:
        logins = Logins(Path(folder))
        for _ in range(LOGINS):
            session = Session(spec, environment=os.environ, auth=logins.auth(spec), elicit=elicit)
            try:
                async with asyncio.timeout(60), session.connect(lambda: None) as link:
                    await use(link, context)
                    return
            except AuthRejected:
                with contextlib.suppress(AuthRejected) if "retry-limit" in scenario else contextlib.nullcontext():
                    await log_in(spec, logins, consent, environment=os.environ, limit_s=30, metadata_url=METADATA_URL)
    sys.exit("the login does not help")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))  # noqa: TID251 - a program of its own
