"""`websearch --version`."""

from __future__ import annotations

import argparse
import importlib.metadata

from websearch_mcp.cli import output

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:  # noqa: ARG001 - every command takes its options
    """Print the version."""
    output.data(importlib.metadata.version("websearch-mcp"))
    return 0
