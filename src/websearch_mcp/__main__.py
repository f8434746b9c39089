"""`websearch …`, and `websearch-mcp`, which is `websearch mcp`."""

from __future__ import annotations

import sys

from websearch_mcp.cli.main import main as run

__all__ = ["main", "serve"]


def main() -> None:
    """The command line."""
    sys.exit(run(sys.argv[1:]))


def serve() -> None:
    """The MCP server on stdio, for runners that know only the distribution's name."""
    sys.exit(run(["mcp", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
