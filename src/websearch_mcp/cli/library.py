"""`websearch library`: your own pages and files, searchable without network."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websearch_core.errors import InvalidInput
from websearch_core.library import ManageLibrary
from websearch_core.urls import is_web_url
from websearch_core.values import Outcome
from websearch_mcp.cli import session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""

    async def work(resolve: Callable[[type[Any]], Any]) -> Outcome:
        manage: ManageLibrary = resolve(ManageLibrary)
        if options.action == "list":
            return await manage.entries(offset=options.offset, limit=options.limit)
        if options.action == "remove":
            return await manage.remove([_address(target) for target in options.target])
        return await manage.add(_pages(options.target), [target for target in options.target if is_web_url(target)])

    return session.run(options, work)


def _address(target: str) -> str:
    return target if "://" in target else Path(target).expanduser().resolve().as_uri()


def _pages(targets: list[str]) -> Any:
    """The pages of every path among the targets, read one by one."""
    from websearch_adapters.library.files import pages_under

    for target in targets:
        if is_web_url(target):
            continue
        path = Path(target).expanduser()
        if not path.exists():
            raise InvalidInput(f"{target} is neither a path nor an http(s) address")
        yield from pages_under(path)
