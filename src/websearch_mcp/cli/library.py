"""`websearch library`: your own pages and files, searchable without network."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from websearch_core.errors import InvalidInput
from websearch_core.library import Folders, LibraryChange, ManageLibrary
from websearch_core.urls import is_web_url
from websearch_core.values import MapRequest, Note, Outcome
from websearch_mcp.cli import session

__all__ = ["run"]

MOST_PAGES = 100_000
ENDING = frozenset({"library_unreachable", "library_not_configured"})
"""Failures that every further target would meet too."""


def run(options: argparse.Namespace) -> int:
    """Run the chosen action; with several targets, what one of them cannot do costs the others nothing."""

    async def work(resolve: Callable[[type[Any]], Any]) -> Outcome:
        if options.action == "list":
            manage: ManageLibrary = resolve(ManageLibrary)
            return await manage.entries(offset=options.offset, limit=options.limit)
        if options.action == "add" and not options.site and (options.include or options.exclude):
            raise InvalidInput("--include and --exclude choose pages of a site", hint="Give --site too, or leave them out.")
        changes: list[LibraryChange] = []
        for target in options.target:
            changes.append(await _changed(resolve, target, options))
            if changes[-1].error in ENDING:
                break
        return _together(list(zip(options.target, changes, strict=False)))

    return session.run(options, work)


async def _changed(resolve: Callable[[type[Any]], Any], target: str, options: argparse.Namespace) -> LibraryChange:
    """Forget a target; or index an address, the site there, or every readable file at a path."""
    manage: ManageLibrary = resolve(ManageLibrary)
    from websearch_adapters.library.files import address_of, path_of

    if options.action == "remove":
        return await manage.remove(target if is_web_url(target) else address_of(path_of(target)))
    if is_web_url(target):
        return await (
            manage.add_site(_whole_site(target, options), most=options.limit) if options.site else manage.add_url(target)
        )
    folders: Folders = resolve(Folders)
    return await manage.add_folder(folders(str(path_of(target))), retry=options.retry)


def _whole_site(url: str, options: argparse.Namespace) -> MapRequest:
    """As wide and deep as a map can be; `limit` is what is shown of one at once."""
    if not 1 <= options.limit <= MOST_PAGES:
        raise InvalidInput(f"--limit must be from 1 to {MOST_PAGES}")
    patterns = (*options.include, *(f"!{pattern}" for pattern in options.exclude))
    return MapRequest(url=url, patterns=patterns, max_depth=options.max_depth, max_breadth=500, limit=min(500, options.limit))


def _together(changes: Sequence[tuple[str, LibraryChange]]) -> LibraryChange:
    """What became of all targets; where some failed and some did not, a partial success that names those that failed."""
    if len(changes) == 1:
        return changes[0][1]
    told = [(change, (*change.notes, *_named(target, change))) for target, change in changes]
    first = next((change for change, _ in told if change.error_detail is not None), told[0][0])
    whole = dataclasses.replace(
        first,
        added=sum(change.added for change, _ in told),
        skipped=sum(change.skipped for change, _ in told),
        removed=sum(change.removed for change, _ in told),
        total=next((change.total for change, _ in reversed(told) if change.status != "error" or change.total), 0),
        notes=tuple(note for _, notes in told for note in notes),
    )
    if first.status == "error" and any(change.status != "error" for change, _ in told):
        return dataclasses.replace(whole, status="partial_success", error=None, partial=True)
    return whole


def _named(target: str, change: LibraryChange) -> Iterator[Note]:
    """That a target failed, unless its notes say so already."""
    if change.status == "error" and change.error_detail is not None and not change.notes:
        text = f"{target}: {change.error_detail.message}. {change.next_action or ''}".strip()
        yield Note(code="target_failed", text=text, provider="library")
