"""`websearch library`: your own pages and files, searchable without network."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from websearch_core.errors import InvalidInput
from websearch_core.library import LibraryChange, ManageLibrary
from websearch_core.urls import is_web_url
from websearch_core.values import Outcome, Page
from websearch_mcp.cli import session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run the chosen action; the first failure ends it."""

    async def work(resolve: Callable[[type[Any]], Any]) -> Outcome:
        manage: ManageLibrary = resolve(ManageLibrary)
        if options.action == "list":
            return await manage.entries(offset=options.offset, limit=options.limit)
        whole = LibraryChange()
        for target in options.target:
            change = await (manage.remove(_address(target)) if options.action == "remove" else _added(manage, target))
            if change.status == "error":
                return change
            whole = _together(whole, change)
        return whole

    return session.run(options, work)


async def _added(manage: ManageLibrary, target: str) -> LibraryChange:
    """Index an address, or every readable file at a path."""
    if is_web_url(target):
        return await manage.add_url(target)
    return await manage.add_pages(_pages(target))


def _pages(target: str) -> Iterator[Page]:
    path = Path(target).expanduser()
    if not path.exists():
        raise InvalidInput(f"{target} is neither a path nor an http(s) address")
    from websearch_adapters.library.files import pages_under

    return pages_under(path)


def _together(one: LibraryChange, other: LibraryChange) -> LibraryChange:
    return dataclasses.replace(
        other, added=one.added + other.added, skipped=one.skipped + other.skipped, removed=one.removed + other.removed
    )


def _address(target: str) -> str:
    return target if "://" in target else Path(target).expanduser().resolve().as_uri()
