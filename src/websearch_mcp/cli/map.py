"""`websearch map`."""

from __future__ import annotations

import argparse

from websearch_core.map import Map
from websearch_core.values import MapRequest
from websearch_mcp.cli import session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    options.patterns = (*options.include, *(f"!{pattern}" for pattern in options.exclude))
    return session.use(options, MapRequest, Map)
