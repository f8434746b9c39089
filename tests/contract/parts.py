"""What the contract tests share: faults of a simulated service, and what hangs on it. Nothing is retried, so nothing waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from upstreams.script import Step, hang_up, html_page, not_json, ok, reset, status
from upstreams.simulator import Simulator
from websearch_adapters.http.client import Http
from websearch_core.retry import RetryPolicy
from websearch_core.testing.contracts import Hanging

__all__ = ["FAULTS", "KEY", "ONCE", "Over", "hanging", "named"]

T = TypeVar("T")
Over: TypeAlias = Callable[[Simulator], Http]
"""The fixture `over`: a client for a simulated service."""
KEY = "key-4711-that-must-not-be-seen-0815"
ONCE = RetryPolicy(max_attempts=1)
STATUSES = [status(code) for code in (400, 401, 402, 403, 404, 429, 500, 502, 503)]
NO_ANSWERS = [not_json(), html_page(), ok([]), ok({}), ok({"error": {"message": f"no more of {KEY}", "code": "x"}})]
"""Replies with status 200 that answer no question."""
FAULTS: list[Step] = [*STATUSES, reset(), hang_up(), *NO_ANSWERS]


def named(step: Step) -> str:
    """The step's name, as the id of a test."""
    return step.name


def hanging(part: T, upstream: Simulator) -> Hanging[T]:
    """A part whose simulated service hangs."""
    return Hanging(
        part=part,
        entered=lambda: upstream.until(lambda it: it.in_flight == 1),
        left=lambda: upstream.until(lambda it: it.disconnects == 1 and it.in_flight == 0),
    )
