"""The list of tools, as a client of the server receives it, and the codes that the tools may answer."""

from __future__ import annotations

import dataclasses
import re
import warnings
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp import Client

from websearch_adapters import settings
from websearch_core.errors import WebSearchError
from websearch_core.outcome import CODES, detail_of
from websearch_core.ports import Extractor
from websearch_core.values import ErrorDetail, Status
from websearch_mcp import tools
from websearch_mcp.container import Closing, build
from websearch_mcp.server import make_server

pytestmark = pytest.mark.anyio
SITES = {"github", "stackexchange", "arxiv", "wikipedia"}
CORE, ADMIN = ["web_search", "get_sources", "web_fetch", "web_map"], ["get_config_info", "switch_model"]


async def listed(home: Path, **environ: str) -> list[dict[str, Any]]:
    """The tools as JSON, with the server's own settings."""
    loaded = settings.read(environ={"WEBSEARCH_HOME": str(home), **environ})
    chosen = loaded.settings
    server = make_server(
        build(loaded).resolve,
        toolsets=chosen.toolsets(),
        expose_model=chosen.search.expose_model,
    )
    async with Client(server) as client:
        result = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in result.tools]


@pytest.mark.requirement("P5-SCHEMA-01", "P5-SCHEMA-02", "OURS-35")
@pytest.mark.parametrize(
    ("toolsets", "names"), [("core", CORE), ("admin", ADMIN), ("core,admin", CORE + ADMIN), ("", CORE + ADMIN)]
)
async def test_the_tools_are_those_of_the_chosen_sets_and_none_touches_the_client(
    toolsets: str, names: list[str], tmp_path: Path
) -> None:
    found = await listed(tmp_path, WEBSEARCH_TOOLSETS=toolsets)
    assert [tool["name"] for tool in found] == names
    assert not any(re.search(r"toggle|builtin|permission", str(tool), re.IGNORECASE) for tool in found)


@pytest.mark.requirement("X-TOOL-01")
@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({"XAI_API_KEY": "xai-0123456789abcdef"}, [*CORE, "x_search", *ADMIN]),
        ({"GROK_API_URL": "https://api.x.ai/v1", "GROK_API_KEY": "xai-0123456789abcdef"}, [*CORE, "x_search", *ADMIN]),
        ({"GROK_API_URL": "https://relay.example/v1", "GROK_API_KEY": "sk-0123456789abcdef"}, CORE + ADMIN),
        ({"XAI_API_KEY": "xai-0123456789abcdef", "WEBSEARCH_TOOLSETS": "core,admin"}, CORE + ADMIN),
        ({"WEBSEARCH_TOOLSETS": "x"}, ["x_search"]),
    ],
)
async def test_posts_are_offered_where_xai_has_a_key_or_they_are_asked_for(
    environ: dict[str, str], names: list[str], tmp_path: Path
) -> None:
    found = await listed(tmp_path, **environ)
    assert [tool["name"] for tool in found] == names
    assert [tool for tool in found if tool["name"] != "x_search"] == [
        tool for tool in await listed(tmp_path) if tool["name"] in names
    ]


@pytest.mark.requirement("P5-SCHEMA-03", "P5-SCHEMA-07", "P5-SCHEMA-08", "P5-SCHEMA-09")
async def test_inputs_are_closed_and_ask_for_nothing_but_what_the_caller_knows(tmp_path: Path) -> None:
    inputs = {tool["name"]: tool["inputSchema"] for tool in await listed(tmp_path)}
    assert all((schema["type"], schema["additionalProperties"]) == ("object", False) for schema in inputs.values())
    assert {name: schema.get("required", []) for name, schema in inputs.items()} == {
        "web_search": ["query"],
        "get_sources": ["session_id"],
        "web_fetch": ["url"],
        "web_map": ["url"],
        "get_config_info": [],
        "switch_model": ["model"],
    }
    arguments = {argument for schema in inputs.values() for argument in schema["properties"]}
    assert not arguments & {"thought", "thinking", "reasoning", "confidence"}
    assert not arguments & {"context", "ctx", "within_s", "request_context", "session", "progress_token"}


@pytest.mark.requirement("P5-SCHEMA-04", "P5-SCHEMA-05")
async def test_outputs_are_published_and_their_status_is_one_of_three(tmp_path: Path) -> None:
    for tool in await listed(tmp_path):
        schema = tool["outputSchema"]
        assert schema["type"] == "object"
        assert "status" in schema["required"]
        assert schema["properties"]["status"]["enum"] == ["success", "partial_success", "error"] == list(get_args(Status))


@pytest.mark.requirement("P5-SCHEMA-06", "OURS-02")
def test_an_error_detail_always_says_code_message_service_and_retryable() -> None:
    needed = [field.name for field in dataclasses.fields(ErrorDetail) if field.default is field.default_factory]
    assert needed == ["code", "message", "service", "retryable"]
    kinds = {WebSearchError, *(kind for kind, _, _ in CODES)}
    for kind in kinds:
        for provider in (None, "grok", "tavily", "of-a-plugin"):
            detail = detail_of(kind("what happened", provider=provider), "search")
            assert re.fullmatch(r"[a-z][a-z0-9_-]+", detail.code)
            assert all((detail.message, detail.service, isinstance(detail.retryable, bool)))


@pytest.mark.requirement("OURS-16", "RS-MCP-04")
@pytest.mark.parametrize(("exposed", "shown"), [("false", False), ("true", True), ("", False)])
async def test_a_model_can_be_chosen_only_where_the_operator_says_so(exposed: str, shown: bool, tmp_path: Path) -> None:
    (search, *_) = await listed(tmp_path, WEBSEARCH_SEARCH_EXPOSE_MODEL=exposed)
    assert ("model" in search["inputSchema"]["properties"]) is shown


@pytest.mark.requirement("OURS-39", "OURS-40", "RS-BUDGET-04")
async def test_second_names_are_taken_unpublished_and_unknown_ones_refused_with_the_nearest(tmp_path: Path) -> None:
    published = {name for tool in await listed(tmp_path) for name in tool["inputSchema"]["properties"]}
    assert not published & {"recency_days", "max_results"}
    loaded = settings.read(environ={"WEBSEARCH_HOME": str(tmp_path), "WEBSEARCH_ENGINE_KIND": "none"})
    async with Client(make_server(build(loaded).resolve)) as client:
        for name, arguments, said in (
            ("web_search", {"query": "q", "include_domain": ["a.example"]}, "include_domains"),
            ("web_search", {"query": "q", "response_format": "verbose"}, "unknown argument 'response_format'"),
            ("web_search", {"query": "q", "include_content": "all of it"}, "include_content must be true or false"),
            ("web_map", {"url": "https://a.example/", "max_dept": 2}, "did you mean max_depth?"),
        ):
            reply = await client.call_tool(name, arguments)
            assert reply.is_error
            assert (reply.structured_content or {})["error"] == "invalid_input"
            assert said in (reply.structured_content or {})["error_detail"]["message"]


@pytest.mark.requirement("OURS-36", "OURS-37")
async def test_the_list_is_small_and_never_announced_as_changing(tmp_path: Path) -> None:
    loaded = settings.read(environ={"WEBSEARCH_HOME": str(tmp_path)})
    async with Client(make_server(build(loaded).resolve)) as client:
        text = (await client.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
        announced = client.server_capabilities.tools
        assert announced is not None
        assert not announced.list_changed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the tokeniser's own way of reading its tables
        import bpe_openai

        tokens = bpe_openai.get_encoding("cl100k_base").encode(text)
    assert 500 < len(tokens) <= 1_500
    assert len(tools.INSTRUCTIONS.encode()) <= 2_048


@pytest.mark.requirement("OURS-43", "OURS-24")
async def test_readers_of_single_sites_come_before_the_general_ones(tmp_path: Path) -> None:
    loaded = settings.read(environ={"WEBSEARCH_HOME": str(tmp_path), "TAVILY_API_KEY": "tvly-0123456789abcdef"})
    box = build(loaded)
    names = [one.name for one in box.resolve(Extractor).extractors]
    assert names == [*sorted(SITES, key=names.index), "tavily", "local"]
    await box.resolve(Closing).aclose()
