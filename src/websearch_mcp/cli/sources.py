"""`websearch sources`."""

from __future__ import annotations

import argparse

from websearch_core.sources import Sources
from websearch_core.values import SourcesRequest
from websearch_mcp.cli import session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    return session.use(options, SourcesRequest, Sources)
