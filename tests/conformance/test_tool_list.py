"""The tool list: the same bytes as the file that readers review, and a list that every family of hosts takes whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from conformance.dialects import DIALECTS
from e2e.wire import Wire, environment
from websearch_mcp import tools

GOLDEN = Path(__file__).with_name("tools_list.json")


def listed(home: Path, **environ: str) -> list[dict[str, Any]]:
    with Wire(environment(home, **environ)) as wire:
        wire.initialize()
        return list(wire.tools())


def test_the_default_list_is_the_reviewed_one(tmp_path: Path) -> None:
    """`scripts/docs` writes the file; a change of it is a change of what every conversation pays for."""
    assert listed(tmp_path) == json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_tool_of_every_toolset_is_taken_by_every_family_of_hosts(dialect: str, tmp_path: Path) -> None:
    environ = {"WEBSEARCH_TOOLSETS": ",".join(get_args(tools.Toolset)), "XAI_API_KEY": "xai-canary-0123456789"}
    every = listed(tmp_path, **environ)
    assert {tool["name"]: DIALECTS[dialect](tool) for tool in every} == {tool["name"]: [] for tool in every}
    assert len(every) >= 12


@pytest.mark.parametrize(
    ("dialect", "change"),
    [
        ("function calling", {"name": "web search"}),
        ("function calling", {"inputSchema": {"type": "object", "properties": {"a": {"type": "array"}}}}),
        ("function calling", {"inputSchema": {"type": "object", "anyOf": []}}),
        ("openapi subset", {"inputSchema": {"type": "object", "properties": {"a": {"type": ["array", "null"]}}}}),
        ("openapi subset", {"inputSchema": {"type": "object", "properties": {"a": {"type": "string", "format": "uri"}}}}),
        ("openapi subset", {"inputSchema": {"type": "object", "properties": {"a": {"type": "integer", "exclusiveMinimum": 0}}}}),
        ("openapi subset", {"inputSchema": {"type": "object", "properties": {"a": {"type": "string", "enum": [""]}}}}),
        ("claude", {"name": "x" * 60}),
        ("claude", {"inputSchema": {"type": "object", "properties": {"a b": {"type": "string"}}}}),
        ("editors", {"description": ""}),
        ("editors", {"inputSchema": {"type": "object", "$defs": {}}}),
        ("terminal agents", {"inputSchema": {"type": "object", "properties": {"a": {"anyOf": []}}}}),
    ],
)
def test_a_validator_refuses_what_its_hosts_refuse(dialect: str, change: dict[str, Any]) -> None:
    tool = {"name": "web_search", "description": "Search.", "inputSchema": {"type": "object", "properties": {}}}
    assert DIALECTS[dialect](tool) == []
    assert DIALECTS[dialect]({**tool, **change})
