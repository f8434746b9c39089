"""What five families of hosts take as a tool, each as a validator that lists what it would refuse.

The rules are those that hosts and their model vendors state or enforce, as of 2026-11: what one of them refuses often takes
every tool of the server with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["DIALECTS", "Complaints"]

Complaints = list[str]
PREFIX = "websearch"
"""The server's name, which hosts put before the tools' names."""


def nodes(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a schema with its place, the root first."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for name, item in schema.get("properties", {}).items():
        yield from nodes(item, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")


def function_calling(tool: dict[str, Any]) -> Complaints:
    """Function tools of OpenAI's APIs and of the relays and editors that copy them."""
    found = [] if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"]) else ["name"]
    found += ["description too long"] * (len(tool["description"]) > 1_024)
    found += _root(tool["inputSchema"])
    found += [f"{path}: an array without items" for path, node in nodes(tool["inputSchema"]) if _bare_array(node)]
    return found + [f"{path}: a $ref" for path, node in nodes(tool["inputSchema"]) if "$ref" in node or "$defs" in node]


def openapi_subset(tool: dict[str, Any]) -> Complaints:
    """Function declarations of Gemini: a subset of OpenAPI 3.0; closing the root is taken off by its clients."""
    known = {"type", "description", "enum", "items", "properties", "required", "minimum", "maximum", "default"}
    found = [] if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}", tool["name"]) else ["name"]
    for path, node in nodes(tool["inputSchema"]):
        found += [f"{path}: {key}" for key in node.keys() - known - ({"additionalProperties"} if not path else set())]
        found += [f"{path}: a union of types"] * (not isinstance(node.get("type"), str))
        found += [f"{path}: an enum that is not of texts"] * (
            "enum" in node and (node["type"] != "string" or not all(isinstance(one, str) and one for one in node["enum"]))
        )
        found += [f"{path}: a bound that is no number"] * any(isinstance(node.get(key), str) for key in ("minimum", "maximum"))
    return found


def claude(tool: dict[str, Any]) -> Complaints:
    """Anthropic's API and Claude Code, which writes `mcp__server__tool`."""
    found = [] if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", f"mcp__{PREFIX}__{tool['name']}") else ["name"]
    found += _root(tool["inputSchema"])
    names = tool["inputSchema"].get("properties", {})
    return found + [f"property {name}" for name in names if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name)]


def editors(tool: dict[str, Any]) -> Complaints:
    """VS Code and Cursor: every tool and property described, names short under their prefix, draft-07 keywords alone."""
    found = ["name too long"] * (len(f"{PREFIX}_{tool['name']}") > 60)
    found += ["no description"] * (not tool["description"])
    newer = {"$defs", "prefixItems", "unevaluatedProperties", "unevaluatedItems", "dependentRequired", "dependentSchemas"}
    for path, node in nodes(tool["inputSchema"]):
        found += [f"{path}: {key}" for key in newer & node.keys()]
        found += [f"{path}: an array without items"] * _bare_array(node)
    return found


def terminal_agents(tool: dict[str, Any]) -> Complaints:
    """Codex and its kin: every node has one plain type, a text for `pattern` or `format` is read by nobody."""
    plain = {"object", "array", "string", "integer", "number", "boolean"}
    found = ["a longer name is cut and hashed"] * (len(f"mcp__{PREFIX}__{tool['name']}") > 64)
    for path, node in nodes(tool["inputSchema"]):
        found += [f"{path}: type {node.get('type')!r}"] * (node.get("type") not in plain)
        found += [f"{path}: {key}" for key in {"anyOf", "oneOf", "allOf", "not", "pattern", "format", "const"} & node.keys()]
    return found


def _root(schema: dict[str, Any]) -> Complaints:
    found = ["the root is no object"] * (schema.get("type") != "object")
    return found + [f"the root has {key}" for key in {"anyOf", "oneOf", "allOf", "not", "enum"} & schema.keys()]


def _bare_array(node: dict[str, Any]) -> bool:
    return node.get("type") == "array" and "type" not in node.get("items", {})


DIALECTS: dict[str, Callable[[dict[str, Any]], Complaints]] = {
    "function calling": function_calling,
    "openapi subset": openapi_subset,
    "claude": claude,
    "editors": editors,
    "terminal agents": terminal_agents,
}
