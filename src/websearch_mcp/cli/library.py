"""`websearch library`: your own pages and files, searchable without network."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websearch_core.errors import InvalidInput
from websearch_core.library import Folders, LibraryChange, ManageLibrary
from websearch_core.urls import is_web_url
from websearch_core.values import MapRequest, Outcome
from websearch_mcp.cli import session

__all__ = ["run"]

MOST_PAGES = 100_000


def run(options: argparse.Namespace) -> int:
    """Run the chosen action; the first failure ends it."""

    async def work(resolve: Callable[[type[Any]], Any]) -> Outcome:
        if options.action == "list":
            manage: ManageLibrary = resolve(ManageLibrary)
            return await manage.entries(offset=options.offset, limit=options.limit)
        whole = LibraryChange()
        for target in options.target:
            change = await _changed(resolve, target, options)
            if change.status == "error":
                return change
            whole = _together(whole, change)
        return whole

    return session.run(options, work)


async def _changed(resolve: Callable[[type[Any]], Any], target: str, options: argparse.Namespace) -> LibraryChange:
    """Forget a target; or index an address, the site there, or every readable file at a path."""
    manage: ManageLibrary = resolve(ManageLibrary)
    if options.action == "remove":
        from websearch_adapters.library.files import address_of

        return await manage.remove(target if "://" in target else address_of(Path(target)))
    if is_web_url(target):
        return await (
            manage.add_site(_whole_site(target, options), most=options.limit) if options.site else manage.add_url(target)
        )
    folders: Folders = resolve(Folders)
    return await manage.add_folder(folders(target), retry=options.retry)


def _whole_site(url: str, options: argparse.Namespace) -> MapRequest:
    """As wide and deep as a map can be; `limit` is what is shown of one at once."""
    if not 1 <= options.limit <= MOST_PAGES:
        raise InvalidInput(f"--limit must be from 1 to {MOST_PAGES}")
    patterns = (*options.include, *(f"!{pattern}" for pattern in options.exclude))
    return MapRequest(url=url, patterns=patterns, max_depth=options.max_depth, max_breadth=500, limit=min(500, options.limit))


def _together(one: LibraryChange, other: LibraryChange) -> LibraryChange:
    """Both changes as one; what failed beside the first is not forgotten over the second."""
    failed = one if one.partial else other
    return dataclasses.replace(
        failed,
        added=one.added + other.added,
        skipped=one.skipped + other.skipped,
        removed=one.removed + other.removed,
        total=other.total,
        notes=(*one.notes, *other.notes),
    )
