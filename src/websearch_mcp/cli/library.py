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
from websearch_core.values import MapRequest, Outcome, Page
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
            change = await _changed(manage, target, options)
            if change.status == "error":
                return change
            whole = _together(whole, change)
        return whole

    return session.run(options, work)


async def _changed(manage: ManageLibrary, target: str, options: argparse.Namespace) -> LibraryChange:
    """Forget a target; or index an address, the site there, or every readable file at a path."""
    from websearch_adapters.library.files import address_of

    if options.action == "remove":
        return await manage.remove(target if "://" in target else address_of(Path(target)))
    if is_web_url(target):
        return await (manage.add_site(MapRequest(url=target, max_depth=3, limit=500)) if options.site else manage.add_url(target))
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
