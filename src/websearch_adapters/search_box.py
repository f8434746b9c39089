"""Queries as people type them into the box of a search engine: words, then `site:` terms for the wanted hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from websearch_adapters.provider import bare_hosts, on_hosts, search_words
from websearch_core.values import Note, SearchQuery, Source

__all__ = ["MOST_SITES", "kept", "typed", "unsaid"]

MOST_SITES = 8
"""More terms than that an engine leaves unread, or takes for an attack."""
_BANG = re.compile(r"(?<!\S)!+(?=\S)")


def typed(query: SearchQuery, *, limit: int) -> str:
    """The query for the box, at most `limit` characters; the words are cut rather than the hosts left out.

    A leading `!` is taken from each word: it would send the query, and its reader, to another site.
    """
    terms = " ".join(_terms(query))
    words = _BANG.sub("", search_words(query, limit=max(limit - len(terms) - 1, limit // 2)))
    whole = f"{words} {terms}".strip()
    return whole if len(whole) <= limit else words


def unsaid(query: SearchQuery, *, provider: str) -> tuple[Note, ...]:
    """The note that the wanted hosts were too many for the box, so that only hits from elsewhere were left out."""
    if len(query.include_domains) <= MOST_SITES:
        return ()
    text = f"More than {MOST_SITES} hosts cannot be asked for; hits of other hosts were left out instead."
    return (Note(code="filter_afterwards", text=text, provider=provider),)


def kept(sources: Iterable[Source], query: SearchQuery) -> tuple[Source, ...]:
    """The sources that keep the query's lists of hosts; an engine takes a term as a wish."""
    return tuple(
        source
        for source in sources
        if not on_hosts(source.url, query.exclude_domains)
        and (not query.include_domains or on_hosts(source.url, query.include_domains))
    )


def _terms(query: SearchQuery) -> list[str]:
    wanted = bare_hosts(query.include_domains) if len(query.include_domains) <= MOST_SITES else []
    unwanted = bare_hosts(query.exclude_domains)[:MOST_SITES]
    sites = " OR ".join(f"site:{host}" for host in wanted)
    return [*([f"({sites})" if len(wanted) > 1 else sites] if wanted else []), *(f"-site:{host}" for host in unwanted)]
