"""`websearch search`."""

from __future__ import annotations

import argparse

from websearch_core.search import Search
from websearch_core.values import SearchQuery
from websearch_mcp.cli import session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    options.query = " ".join(options.query)
    options.include_domains = session.listed(options.include_domains)
    options.exclude_domains = session.listed(options.exclude_domains)
    return session.use(options, SearchQuery, Search)
