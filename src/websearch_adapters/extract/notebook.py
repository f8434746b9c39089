"""Jupyter notebooks as Markdown: text as it stands, code in blocks, and what the code printed, without pictures.

By the format's version 4 (nbformat 5.10, read 2026-11-30); version 3 keeps its cells in worksheets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from websearch_adapters.extract.markdown import fence
from websearch_core.fence import clean

__all__ = ["is_notebook", "render"]

MAX_OUTPUT_CHARS = 5_000
"""Of what one cell printed."""


def is_notebook(data: Any) -> bool:
    """Whether this is a notebook's JSON."""
    return isinstance(data, dict) and isinstance(data.get("nbformat"), int) and next(_cells(data), None) is not None


def render(data: dict[str, Any]) -> str:
    """The cells one after the other."""
    language = _language(data)
    return "\n\n".join(part for cell in _cells(data) for part in _parts(cell, language) if part.strip())


def _cells(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for holder in [data, *_dicts(data.get("worksheets"))]:
        yield from _dicts(holder.get("cells"))


def _parts(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input")))
    kind = cell.get("cell_type")
    if kind == "heading":
        level = cell.get("level")
        yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {source}"
    elif kind != "code":
        yield source.strip("\n") if kind == "markdown" else fence(source.strip("\n"))
    else:
        yield fence(source.strip("\n"), language)
        yield fence(clean("".join(_printed(cell)), limit=MAX_OUTPUT_CHARS).strip("\n"))


def _printed(cell: dict[str, Any]) -> Iterator[str]:
    for output in _dicts(cell.get("outputs")):
        data = output.get("data")
        plain = data.get("text/plain") if isinstance(data, dict) else None
        said = _joined(output.get("text")) or _joined(plain) or _joined(output.get("traceback"), "\n")
        yield f"{said}\n" if said and not said.endswith("\n") else said


def _language(data: dict[str, Any]) -> str:
    about = data.get("metadata")
    for holder, key in (("language_info", "name"), ("kernelspec", "language")):
        found = about.get(holder) if isinstance(about, dict) else None
        name = found.get(key) if isinstance(found, dict) else None
        if isinstance(name, str) and name.isalnum():
            return name.lower()
    return ""


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _joined(value: Any, between: str = "") -> str:
    """A text, or its lines."""
    if isinstance(value, str):
        return value
    return between.join(line for line in value if isinstance(line, str)) if isinstance(value, list) else ""
