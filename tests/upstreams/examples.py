"""The example payloads on disk, and the manifest that says which request each one answers.

Every body is under `payloads/`; `payloads/README.md` explains the manifest's keys.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAYLOADS = Path(__file__).resolve().parent / "payloads"
CONTENT_TYPES = {
    ".json": "application/json",
    ".html": "text/html; charset=utf-8",
    ".sse": "text/event-stream",
    ".form": "application/x-www-form-urlencoded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One row of the manifest: a request, the answer to it, and what a vendor's SDK makes of the answer."""

    id: str
    client: str
    method: str
    path: str
    request_body: str | None
    status: int
    headers: dict[str, str]
    response_body: str
    wire: str | None
    expect: dict[str, Any]


def read(path: str) -> bytes:
    """The bytes of one payload, by its path below `payloads/`."""
    return (PAYLOADS / path).read_bytes()


def read_json(path: str) -> Any:
    """One payload as JSON; a byte-order mark is tolerated."""
    return json.loads(read(path).decode("utf-8-sig"))


def content_type(path: str) -> str:
    """The media type that a payload of this name is served with."""
    return CONTENT_TYPES[Path(path).suffix]


@functools.cache
def scenarios(prefix: str = "") -> tuple[Scenario, ...]:
    """All manifest rows whose id starts with `prefix`, in the manifest's order."""
    rows = read_json("manifest.json")["scenarios"]
    return tuple(_scenario(row) for row in rows if row["id"].startswith(prefix))


def scenario(scenario_id: str) -> Scenario:
    """The manifest row with exactly this id; `LookupError` when there is none."""
    for row in scenarios():
        if row.id == scenario_id:
            return row
    raise LookupError(f"no scenario is called {scenario_id!r}")


def _scenario(row: dict[str, Any]) -> Scenario:
    request, response = row["request"], row["response"]
    return Scenario(
        id=row["id"],
        client=row["client"],
        method=request["method"],
        path=request["path"],
        request_body=request["body"],
        status=response["status"],
        headers=response["headers"],
        response_body=response["body"],
        wire=response.get("wire"),
        expect=row["expect"],
    )
