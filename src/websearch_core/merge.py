"""Keep the promises of a query's filters, and join what several providers found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import date, timedelta

from websearch_core import fence, urls
from websearch_core.citations import unite
from websearch_core.values import Freshness, Note, SearchQuery, Source

__all__ = ["DAYS", "enriched", "filtered", "labelled", "merged"]

DAYS: dict[Freshness, int] = {"day": 1, "week": 7, "month": 31, "year": 366}


def merged(*groups: Iterable[Source]) -> tuple[Source, ...]:
    """All sources once, in the order of the groups; the first keeps place and provenance, later ones fill what it lacks."""
    return unite(source for group in groups for source in group)


def enriched(sources: Iterable[Source], extras: Iterable[Source], *, wanted: int) -> tuple[Source, ...]:
    """The sources, then the first `wanted` extras that are not among them; an extra that is fills what its source lacks."""
    known, further = tuple(sources), tuple(extras)
    keys = {urls.canonical(source.url) for source in known}
    new = [extra for extra in further if urls.canonical(extra.url) not in keys]
    return merged(known, (extra for extra in further if urls.canonical(extra.url) in keys), new[:wanted])


def labelled(sources: Iterable[Source], provider: str, use: str = "") -> tuple[Source, ...]:
    """The sources with `provider` and `use` as their provenance; where several providers are joined by `+`, each with its own."""
    names = provider.split("+")

    def name(source: Source) -> str:
        return source.provider if source.provider in names else provider

    return tuple(dataclasses.replace(source, provider=f"{name(source)}{use}") for source in sources)


def filtered(sources: Iterable[Source], query: SearchQuery, *, today: date) -> tuple[tuple[Source, ...], tuple[Note, ...]]:
    """Sources that keep the query's filters, their texts made harmless, and a note for each filter that took some away.

    A source of unknown date passes `fresh_within`: most pages carry no date, and the note says how many could not be judged.
    """
    everything = tuple(_harmless(source) for source in sources)
    kept = tuple(source for source in everything if _wanted_host(source, query))
    notes: list[Note] = []
    if gone := len(everything) - len(kept):
        notes.append(Note(code="filtered_by_domain", text=f"{gone} sources outside the asked hosts were left out"))
    if query.fresh_within != "any":
        oldest = (today - timedelta(days=DAYS[query.fresh_within])).isoformat()
        fresh = tuple(source for source in kept if not source.published or source.published >= oldest)
        if gone := len(kept) - len(fresh):
            notes.append(Note(code="filtered_by_date", text=f"{gone} sources older than a {query.fresh_within} were left out"))
        if unknown := sum(not source.published for source in fresh):
            notes.append(Note(code="date_unknown", text=f"{unknown} sources carry no date; their age could not be checked"))
        kept = fresh
    return kept, tuple(notes)


def _wanted_host(source: Source, query: SearchQuery) -> bool:
    if query.include_domains and not any(urls.host_matches(source.url, domain) for domain in query.include_domains):
        return False
    return not any(urls.host_matches(source.url, domain) for domain in query.exclude_domains)


def _harmless(source: Source) -> Source:
    return dataclasses.replace(
        source,
        title=fence.clean(source.title, limit=300),
        description=fence.clean(source.description, limit=4_000),
        content=fence.clean(source.content),
    )
