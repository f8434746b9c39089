"""`websearch x`."""

from __future__ import annotations

import argparse

from websearch_core.posts import Posts
from websearch_core.values import PostQuery
from websearch_mcp.cli import session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    options.query = " ".join(options.query)
    options.allowed_x_handles = session.listed(options.allowed_x_handles)
    options.excluded_x_handles = session.listed(options.excluded_x_handles)
    return session.use(options, PostQuery, Posts, "posts")
