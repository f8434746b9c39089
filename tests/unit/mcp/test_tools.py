"""The tool table: schemas that every host takes, limits that hold before anything is paid for, names that forgive."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from mcp import Client

from websearch_core.chain import ExtractorChain, FinderChain, MapperChain
from websearch_core.errors import InvalidInput, Unreachable
from websearch_core.fetch import Fetch
from websearch_core.map import Map
from websearch_core.search import Search
from websearch_core.sources import Sources
from websearch_core.testing.fakes import FakeCache, FakeEngine, FakeExtractor, FakeFinder, FakeMapper, Gate
from websearch_core.values import Answer
from websearch_mcp import tools
from websearch_mcp.server import make_server

pytestmark = pytest.mark.anyio
ROWS = {row.name: row for row in tools.TOOLS}
SCHEMAS = {name: tools.input_schema(row) for name, row in ROWS.items()}
KEYWORDS = {
    "type",
    "description",
    "enum",
    "items",
    "minimum",
    "maximum",
    "default",
    "properties",
    "required",
    "additionalProperties",
}
TYPES = {"string", "integer", "boolean", "array", "object", "number"}


def nodes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return [schema, *(node for one in inner for node in nodes(one))]


@pytest.mark.requirement("P5-SCHEMA-03", "OURS-38")
@pytest.mark.parametrize("name", SCHEMAS)
def test_input_schemas_use_only_what_every_host_accepts(name: str) -> None:
    """Gemini wants plain types and items; OpenAI's strict reading a closed object; LangChain no unions; older ones no formats."""
    schema = SCHEMAS[name]
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    for node in nodes(schema):
        assert set(node) <= KEYWORDS, node
        assert node["type"] in TYPES
        assert ("items" in node) == (node["type"] == "array")
        assert node.get("default", 1) not in ("", None, [])
        for bound in ("minimum", "maximum"):
            assert isinstance(node.get(bound, 0), int)
        if "enum" in node:
            assert all(isinstance(value, str) and value for value in node["enum"])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.requirement("P5-SCHEMA-07")
@pytest.mark.parametrize("name", SCHEMAS)
def test_only_what_must_be_given_is_required(name: str) -> None:
    wanted = {
        "web_search": ["query"],
        "get_sources": ["session_id"],
        "web_fetch": ["url"],
        "web_map": ["url"],
        "x_search": ["query"],
        "switch_model": ["model"],
        "find_tools": ["need"],
        "plan_intent": ["core_question", "query_type", "time_sensitivity"],
        "plan_complexity": ["session_id", "level", "estimated_sub_queries", "estimated_tool_calls", "justification"],
        "plan_sub_query": ["session_id", "id", "goal", "expected_output", "boundary"],
        "plan_search_term": ["session_id", "term", "purpose", "round"],
        "plan_tool_mapping": ["session_id", "sub_query_id", "tool", "reason"],
        "plan_execution": ["session_id", "parallel_groups", "sequential", "estimated_rounds"],
    }
    assert SCHEMAS[name].get("required", []) == wanted.get(name, [])


@pytest.mark.requirement("OURS-16", "RS-MCP-04")
def test_the_model_is_the_operators_choice() -> None:
    hidden = tools.input_schema(ROWS["web_search"], frozenset({"model"}))
    assert "model" not in hidden["properties"]
    assert "model" in SCHEMAS["web_search"]["properties"]
    with pytest.raises(InvalidInput, match="unknown argument 'model'"):
        tools.read(ROWS["web_search"], {"query": "q", "model": "gpt-9"}, hidden=frozenset({"model"}))


@pytest.mark.requirement("OURS-35")
def test_toolsets_choose_rows_in_the_order_of_the_table() -> None:
    assert [row.name for row in tools.rows(("admin",))] == ["get_config_info", "switch_model"]
    assert len(tools.rows(("admin", "core"))) == 6
    assert [row.name for row in tools.rows(("core", "x"))][-1] == "x_search"


@pytest.mark.requirement("X-TOOL-01", "OURS-37")
def test_the_instructions_speak_of_x_only_where_it_is_offered() -> None:
    assert tools.instructions(("core", "admin")) == tools.INSTRUCTIONS
    assert "x_search" in tools.instructions(("core", "x", "admin"))
    assert "x_search" not in tools.INSTRUCTIONS
    assert len(tools.instructions(("core", "x", "admin")).encode()) <= 2_048


@pytest.mark.requirement("OURS-37")
def test_instructions_are_short_enough_to_be_shown() -> None:
    assert len(tools.INSTRUCTIONS.encode()) <= 2_048
    assert all(name in tools.INSTRUCTIONS for name in ("web_search", "get_sources", "web_fetch", "web_map"))


# --- reading arguments


@pytest.mark.parametrize("value", [-1, 21, 1.5, True, 10**12, "many", [], {}])
def test_a_value_out_of_its_range_names_argument_range_and_type(value: object) -> None:
    with pytest.raises(InvalidInput, match="extra_sources must be") as caught:
        tools.read(ROWS["web_search"], {"query": "q", "extra_sources": value})
    if isinstance(value, int) and not isinstance(value, bool):
        assert "0 to 20; nearest valid value" in str(caught.value)


@pytest.mark.requirement("OURS-39")
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"recency_days": 1}, "day"),
        ({"recency_days": 6}, "week"),
        ({"recency_days": 30}, "month"),
        ({"recency_days": 365}, "year"),
        ({"recency_days": 4000}, "any"),
        ({"fresh_within": None}, "any"),
        ({"fresh_within": ""}, "any"),
    ],
)
def test_other_systems_names_and_blanks_are_understood(given: dict[str, Any], wanted: str) -> None:
    assert tools.read(ROWS["web_search"], {"query": "q", **given}).fresh_within == wanted


@pytest.mark.requirement("OURS-39")
def test_forms_that_clients_send_are_taken() -> None:
    query = tools.read(ROWS["web_search"], {"query": "q", "include_domains": "a.example, b.example", "extra_sources": 3.0})
    assert (query.include_domains, query.extra_sources) == (("a.example", "b.example"), 3)
    assert tools.read(ROWS["web_map"], {"url": "https://a.example", "max_results": 7}).limit == 7
    assert tools.read(ROWS["get_config_info"], None) is not None
    assert tools.read(ROWS["web_fetch"], {"url": " https://a.example "}, max_chars=5_000).max_chars == 5_000


@pytest.mark.requirement("OURS-40")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "query is required"),
        ({"query": "  "}, "query must not be blank"),
        ({"qurey": "x"}, "did you mean query"),
        ({"query": "q", "zzz": 1}, "known: query"),
        ({"query": 7}, "query must be text"),
        ({"query": "q", "include_domains": [1]}, "list of texts"),
        ({"query": "q", "include_domains": ["https://a.example/x"]}, "host name"),
        ({"query": "q", "fresh_within": "decade"}, "one of: any, day"),
        ({"query": "q", "recency_days": 0}, "recency_days"),
        ({"query": "q", "include_content": "yes"}, "true or false"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        tools.read(ROWS["web_search"], arguments)


def test_schema_and_code_give_the_same_verdict() -> None:
    cases: list[dict[str, Any]] = [
        {"query": "q", "extra_sources": value} for value in (-1, 0, 1.5, 20, 21, True)
    ] + [{"query": "q", "fresh_within": "day"}, {"query": "q", "fresh_within": "x"}, {"query": "q", "x": 1}]  # fmt: skip
    for case in cases:
        valid = jsonschema.Draft202012Validator(SCHEMAS["web_search"]).is_valid(case)
        try:
            tools.read(ROWS["web_search"], case)
        except InvalidInput:
            assert not valid, case
        else:
            assert valid, case


# --- the server, in memory, in both eras


def use_cases(engine: FakeEngine | None = None) -> Any:
    cache = FakeCache()
    made: dict[type, Any] = {
        Search: Search(
            engine=engine or FakeEngine(), finder=FinderChain([FakeFinder()]), extractor=ExtractorChain([]), cache=cache
        ),
        Sources: Sources(cache=cache),
        Fetch: Fetch(extractor=ExtractorChain([FakeExtractor({"https://a.example/": "# Page\n\nText."})]), cache=cache),
        Map: Map(mapper=MapperChain([FakeMapper()]), cache=cache),
    }
    return made.__getitem__


CALLS = [
    ("web_search", {"query": "q"}),
    ("web_search", {"query": "q", "extra_sources": 99}),
    ("get_sources", {"session_id": "nope"}),
    ("web_fetch", {"url": "https://a.example/"}),
    ("web_fetch", {"url": "https://unknown.example/"}),
    ("web_fetch", {"url": "ftp://a.example/"}),
    ("web_map", {"url": "https://a.example/"}),
    ("web_map", {}),
]


@pytest.mark.requirement("OURS-01", "OURS-03", "OURS-04", "OURS-05", "OURS-06")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_every_outcome_keeps_the_contract(mode: Any, name: str, arguments: dict[str, Any]) -> None:
    """The published schema, the envelope, the error flag, and a text that says the same, whatever the outcome."""
    async with Client(make_server(use_cases()), mode=mode) as client:
        tool = next(tool for tool in (await client.list_tools()).tools if tool.name == name)
        reply = await client.call_tool(name, arguments)
    result = reply.structured_content
    assert result is not None
    jsonschema.validate(result, tool.output_schema or {})
    assert set(result) >= {"status", "error", "error_detail", "partial", "next_action", "notes"}
    assert reply.is_error == (result["status"] == "error") == (result["error"] is not None)
    assert result["partial"] == (result["status"] == "partial_success")
    text = reply.content[0].text  # type: ignore[union-attr]
    if result["status"] == "error":
        assert result["error_detail"]["code"] == result["error"]
        assert result["error"] in text
        assert result["next_action"]
        assert result["next_action"] in text
    assert len(json.dumps(result, ensure_ascii=False)) <= 24_000


async def test_invalid_input_costs_nothing() -> None:
    engine = FakeEngine()
    async with Client(make_server(use_cases(engine))) as client:
        for value in (-1, 21, 1.5, True, 10**12):
            reply = await client.call_tool("web_search", {"query": "q", "extra_sources": value})
            assert reply.is_error
    assert engine.asked == []


async def test_a_fault_of_ours_is_an_incident_number_and_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(make_server(use_cases(FakeEngine(ZeroDivisionError("secret detail"))))) as client:
        reply = await client.call_tool("web_search", {"query": "q"})
        assert reply.is_error
        result = reply.structured_content or {}
        assert result["error"] == "search_internal_error"
        assert "secret detail" not in str(reply)
        assert result["error_detail"]["diagnostics"]["incident"] in caplog.text
        assert (await client.call_tool("get_sources", {"session_id": "x"})).is_error  # and the server goes on


@pytest.mark.requirement("OURS-18")
async def test_a_caller_without_progress_gets_its_result_before_it_gives_up() -> None:
    gate: Gate[Answer] = Gate(Answer(text="late", engine="x"))
    made = use_cases(FakeEngine(gate))
    async with Client(make_server(made, patience_s=0.05)) as client:
        reply = await client.call_tool("web_search", {"query": "q"})
    result = reply.structured_content or {}
    assert (result["status"], result["fallback_reason"]) == ("partial_success", "grok_timeout")
    assert result["pending_until"]
    assert result["session_id"] in result["next_action"]
    await made(Search).running.aclose()
    assert gate.cancelled == 1


async def test_the_engines_failure_text_never_carries_a_key() -> None:
    broken = FakeEngine(Unreachable("grok answers 503", provider="grok"))
    async with Client(make_server(use_cases(broken))) as client:
        reply = await client.call_tool("web_search", {"query": "q"})
    assert (reply.structured_content or {})["status"] == "partial_success"
