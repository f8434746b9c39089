"""`websearch fetch`."""

from __future__ import annotations

import argparse

from websearch_core.fetch import Fetch
from websearch_core.values import FetchRequest
from websearch_mcp.cli import session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    return session.use(options, FetchRequest, Fetch)
