"""Whatever an upstream does, a call ends in one true outcome and the next call is fine."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from typing import Any

import mcp_types as types
import pytest

from integration.fault_matrix import GROUPS, Channels, Group, Wrong, faults_in, run, unsound
from integration.fault_table import Fault, Kind, Verdict
from upstreams.script import Step, hang, ok, status

pytestmark = pytest.mark.anyio


@pytest.mark.requirement(
    "EDGE-02",
    "EDGE-04",
    "EDGE-05",
    "EDGE-14",
    "EDGE-15",
    "OURS-02",
    "OURS-03",
    "OURS-04",
    "OURS-05",
    "OURS-07",
    "OURS-23",
    "P5-PROTOCOL-04",
    "P5-PROTOCOL-27",
    "P5-TAVILY-03",
    "P5-TAVILY-05",
    "P5-TAVILY-06",
    "P5-TOOLS-05",
    "P5-TOOLS-06",
    "RS-ROTATION-02",
)
@pytest.mark.parametrize("group", GROUPS, ids=str)
async def test_every_fault_ends_in_one_true_outcome_and_the_next_call_is_fine(group: Group) -> None:
    reports = await run(group)

    wrong = [str(report) for report in reports if report.complaints]
    healed = Counter(report.healed for report in reports[:-1])
    print(f"{group}: {len(reports) - 1} cells; the next call is fine on the {dict(healed)}")
    assert wrong == [], "\n".join(["", *wrong])


async def test_the_matrix_has_at_least_600_cells_and_no_two_of_one_name() -> None:
    names = [f"{group} × {fault.name}" for group in GROUPS for fault in faults_in(group)]

    print(f"{len(names)} cells")
    assert len(names) >= 600
    assert [name for name, times in Counter(names).items() if times > 1] == []


# --- the judge is no rubber stamp ---------------------------------------------------------------------------------

SOUND: dict[str, Any] = {
    "status": "partial_success",
    "error": None,
    "error_detail": {"code": "x_failed", "message": "x failed", "service": "x", "retryable": False, "http_status": None},
    "partial": True,
    "next_action": "Do something.",
    "content": "text",
}


def told(text: str = "partial_success: x_failed. Do something.", *, is_error: bool = False, **changes: Any) -> list[str]:
    """The kinds of wrong that the judge sees in a result."""
    content = [types.TextContent(type="text", text=text)]
    reply = types.CallToolResult(content=list(content), structured_content={**SOUND, **changes}, is_error=is_error)
    return [one.wrong for one in unsound(reply, {"type": "object", "required": ["status"]})]


async def test_a_sound_result_is_not_complained_of() -> None:
    assert told() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"is_error": True},
        {"partial": False},
        {"error": "x_failed"},
        {"error_detail": None},
        {"next_action": " "},
        {"error_detail": {**SOUND["error_detail"], "code": "x_internal_error"}},
        {"error_detail": {**SOUND["error_detail"], "retryable": None}},
    ],
    ids=str,
)
async def test_a_broken_envelope_is_complained_of(changes: dict[str, Any]) -> None:
    assert "envelope" in told(**changes)


async def test_an_empty_success_and_a_text_that_says_less_are_lies() -> None:
    assert "lie" in told(content="")
    assert "lie" in told(text="text")


def cell(name: str, step: Step, *kinds: Kind, late: bool = False) -> Fault:
    return Fault(name=name, make=lambda _: step, verdict=Verdict(kinds=frozenset(kinds)), late=late)


async def complained(*faults: Fault, hang_s: float = 10.0) -> list[list[Wrong]]:
    """The kinds of wrong in each cell of a fetch."""
    group = next(group for group in GROUPS if str(group) == "fetch by firecrawl, one key")
    return [[one.wrong for one in report.complaints] for report in await run(group, faults, hang_s=hang_s)][:-1]


async def test_a_success_where_none_can_be_a_wrong_class_and_a_late_return_are_complained_of() -> None:
    assert await complained(cell("told as success", ok(), "down")) == [["lie"]]
    assert "class" in (await complained(cell("misnamed", status(500), "auth")))[0]
    assert (await complained(cell("hangs", hang(), "late"), hang_s=0.2))[0] == ["hang"]


async def test_a_key_in_a_log_record_or_on_standard_error_is_seen() -> None:
    with Channels() as channels:
        logging.getLogger("websearch_core.search").debug("sent tvly-%s", "canary-0001-canary-0")
        logging.getLogger("elsewhere").debug("libraries are silent below WARNING: canary")
        print("Bearer tvly-canary-0002-canary-0", file=sys.stderr)

    assert len(channels.leaks) == 2
