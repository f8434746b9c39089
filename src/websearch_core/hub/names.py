"""Ids of upstream tools: `upstream__tool`, legal and short in every host, the same for ever, different for different tools.

An id is a function of the upstream's name and the tool's raw name alone, so neither a restart nor the order of upstreams changes
it. A pair that makes a legal id is its own id. Any other pair gets an alias: a readable stem of both parts and eight hex digits
of a hash over the raw names. A pair that only looks like an alias gets one too, so that nobody can name a tool to be taken for
another. The raw name goes on the wire.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata

__all__ = ["HOST_PREFIXES", "MAX_CHARS", "SEPARATOR", "is_upstream_name", "tool_id"]

SEPARATOR = "__"
HOST_PREFIXES: tuple[tuple[str, str, int], ...] = (
    ("Claude Code", "mcp__websearch__", 64),
    ("Codex", "websearch__", 64),
    ("Cursor", "websearch:", 60),
    ("Gemini CLI", "mcp_websearch_", 63),
    ("VS Code", "mcp_websearch_", 64),
    ("a model's own limit", "", 64),
)
"""What hosts put in front of a tool's name, and the longest name that they or their models take; as of 2026-11."""
MAX_CHARS = min(limit - len(prefix) for _, prefix, limit in HOST_PREFIXES)
HASH_CHARS = 8
LEAST_UPSTREAM_CHARS = 18
"""Of an upstream's stem, when a long tool name wants the room."""
_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ALIAS = re.compile(rf".*_[0-9a-f]{{{HASH_CHARS}}}", re.DOTALL)
_SEPARATORS = re.compile("(?=__)")
"""Overlapping ones count, so `a___b` has two."""
_UPSTREAM = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_)){0,62}(?<!_)")


def is_upstream_name(name: str) -> bool:
    """Whether a person may give an upstream this name: letters, digits, `-` and single `_` inside, at most 63 characters."""
    return _UPSTREAM.fullmatch(name) is not None


def tool_id(upstream: str, tool: str) -> str:
    """The id under which a model finds and calls the tool."""
    plain = f"{upstream}{SEPARATOR}{tool}"
    return plain if upstream and tool and _is_plain(plain) else _alias(upstream, tool)


def _is_plain(name: str) -> bool:
    if len(name) > MAX_CHARS or not _LEGAL.fullmatch(name) or _ALIAS.fullmatch(name):
        return False
    return len(_SEPARATORS.findall(name)) == 1 and not name.startswith(SEPARATOR) and not name.endswith(SEPARATOR)


def _alias(upstream: str, tool: str) -> str:
    raw = json.dumps([upstream, tool], ensure_ascii=True)
    digits = hashlib.sha256(raw.encode()).hexdigest()[:HASH_CHARS]
    room = MAX_CHARS - len(SEPARATOR) - 1 - HASH_CHARS
    left, right = _stem(upstream, "upstream"), _stem(tool, "tool")
    left = left[: max(room - len(right), LEAST_UPSTREAM_CHARS)].rstrip("_")
    right = right[: room - len(left)].rstrip("_")
    return f"{left}{SEPARATOR}{right}_{digits}"


def _stem(text: str, otherwise: str) -> str:
    """What is legal of `text`, in single pieces joined by `_`, beginning with a letter."""
    ascii_text = unicodedata.normalize("NFKD", text[:200]).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9-]+", "_", ascii_text).strip("_-")
    if not stem:
        return otherwise
    return stem if stem[0].isalpha() else f"n{stem}"
