"""A login that the client's person is asked for: in the middle of a call, or as the result of it, by the client's revision."""

from __future__ import annotations

from pathlib import Path

import httpx
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext

from e2e.test_hub_over_stdio import configure
from e2e.wire import SERVER
from upstreams.lab_oauth import OAuthLab
from upstreams.serve import serve

pytestmark = pytest.mark.anyio


class Person:
    """Somebody at the client who says yes or no."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.asked: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestURLParams)
        self.asked.append(params.message)
        if self.action == "accept":
            async with httpx.AsyncClient(follow_redirects=True) as browser:
                await browser.get(params.url)
        return types.ElicitResult(action=self.action)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.requirement("HUB-AUTH-05")
async def test_somebody_who_agrees_is_logged_in_within_the_call(mode: str, tmp_path: Path) -> None:
    app, person = OAuthLab(), Person("accept")
    async with serve(app) as url:
        server = StdioServerParameters(command=SERVER[0], env=configure(tmp_path, vault={"url": f"{url}/mcp"}))
        async with Client(server, mode=mode, elicitation_callback=person) as client:
            await client.list_tools()
            found: list[str] = []
            while "vault__echo" not in found:
                reply = await client.call_tool("find_tools", {"need": "say the same"})
                found = [tool["id"] for tool in (reply.structured_content or {})["tools"]]
            said = await client.call_tool("call_tool", {"tool": "vault__echo", "arguments": {"text": "inside"}})
            assert (said.structured_content or {})["content"] == "inside"
            app.end_tokens()
            app.refresh = "revoked"
            again = await client.call_tool("call_tool", {"tool": "vault__count", "arguments": {"text": "once"}})
            assert (again.structured_content or {})["content"] == "once", again.structured_content
    assert person.asked == ["Log in at vault?"] * 2
    assert app.calls == ["echo", "count"]


async def test_somebody_who_declines_is_told_and_not_asked_again_by_a_find(tmp_path: Path) -> None:
    app, person = OAuthLab(), Person("decline")
    async with serve(app) as url:
        server = StdioServerParameters(command=SERVER[0], env=configure(tmp_path, vault={"url": f"{url}/mcp"}))
        async with Client(server, elicitation_callback=person) as client:
            while not person.asked:
                await client.call_tool("find_tools", {"need": "echo"})
            reply = await client.call_tool("find_tools", {"need": "echo"})
    assert "vault (needs_auth)" in str(reply.structured_content)
    assert person.asked == ["Log in at vault?"]
    assert app.valid == set()
