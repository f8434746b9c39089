"""Planning through a real MCP client: off unless chosen, six steps, and a run of the plan."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from e2e.wire import SERVER
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream

pytestmark = pytest.mark.anyio


async def called(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    reply = await client.call_tool(name, arguments)
    assert reply.structured_content is not None
    return dict(reply.structured_content)


@pytest.mark.requirement("P5-PLAN-07")
async def test_planning_is_published_only_where_it_is_chosen(keyed: dict[str, str]) -> None:
    async with Client(StdioServerParameters(command=SERVER[0], env=keyed)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert not [name for name in tools if name.startswith("plan_")]
        assert "plan" not in tools["web_search"].input_schema["properties"]
        assert (await client.call_tool("web_search", {"query": "q", "plan": "x"})).is_error is True


@pytest.mark.requirement("P5-PLAN-07")
async def test_a_plan_is_made_in_steps_and_run_with_one_call(
    keyed: dict[str, str], xai: XaiUpstream, tavily: TavilyUpstream
) -> None:
    env = {**keyed, "WEBSEARCH_TOOLSETS": "core,planning"}
    async with Client(StdioServerParameters(command=SERVER[0], env=env)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len([name for name in tools if name.startswith("plan_")]) == 6
        assert not any("thought" in tool.input_schema.get("required", []) for tool in tools.values())
        asked = {"core_question": "When did it reopen?", "query_type": "factual", "time_sensitivity": "recent"}
        session = (await called(client, "plan_intent", **asked, ambiguities="which bridge, which year"))["session_id"]
        level = {"level": 1, "estimated_sub_queries": 2, "estimated_tool_calls": 2, "justification": "two parts"}
        await called(client, "plan_complexity", session_id=session, **level)
        part = {"goal": "When did the bridge reopen?", "expected_output": "a date", "boundary": "nothing else"}
        await called(client, "plan_sub_query", session_id=session, id="q1", **part)
        plan = await called(client, "plan_sub_query", session_id=session, id="q2", depends_on="q1", **part)
        assert (plan["status"], plan["plan_complete"]) == ("success", True)
        assert plan["executable_plan"]["intent_analysis"]["ambiguities"] == ["which bridge", "which year"]
        found = await called(client, "web_search", query="When did it reopen?", plan=session, extra_sources=0)
        assert (found["status"], found["search_provider"]) == ("success", "plan")
        assert found["content"].count("## q") == 2
        more = await called(client, "get_sources", session_id=found["session_id"])
        assert more["total_sources"] == found["sources_count"]
