"""`websearch doctor`: the first thing to run when something does not work."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from websearch_core.doctor import Doctor
from websearch_core.values import Outcome
from websearch_mcp.cli import session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Probe every part, show each setting with its origin. Fails when a part does."""

    async def work(resolve: Callable[[type[Any]], Any]) -> Outcome:
        report: Outcome = await resolve(Doctor)(live=options.live)
        return report

    return session.run(options, work)
