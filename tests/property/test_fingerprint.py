"""The same question in another spelling has the same key; any other question another."""

from __future__ import annotations

import dataclasses

from hypothesis import given

from websearch_core import fingerprint
from websearch_core.testing import strategies
from websearch_core.values import MapRequest, SearchQuery


@given(strategies.search_queries())
def test_spelling_does_not_matter(query: SearchQuery) -> None:
    other = dataclasses.replace(
        query,
        query=f"  {query.query} ".replace(" ", "  ")[:4_000] if len(query.query) < 1_000 else query.query,
        include_domains=tuple(reversed([domain.upper() for domain in query.include_domains])),
        max_chars=5_000,
    )
    assert fingerprint.of_query(query) == fingerprint.of_query(other)


def test_every_field_matters() -> None:
    base = SearchQuery(query="what is it")
    changes: dict[str, object] = {
        "query": "what is that",
        "platform": "GitHub",
        "extra_sources": 2,
        "fresh_within": "day",
        "include_domains": ("a.example",),
        "exclude_domains": ("a.example",),
        "depth": "deep",
        "include_content": True,
        "verify": "full",
        "plan": "0123456789ab",
        "model": "m",
    }
    keys = {fingerprint.of_query(dataclasses.replace(base, **{name: value})) for name, value in changes.items()}  # type: ignore[arg-type]
    assert len(keys | {fingerprint.of_query(base)}) == len(changes) + 1
    assert set(changes) | {"max_chars"} == {field.name for field in dataclasses.fields(SearchQuery)}


def test_a_map_is_one_map_whatever_piece_of_it_is_shown() -> None:
    base = MapRequest(url="https://a.example/")
    assert fingerprint.of_map(base) == fingerprint.of_map(dataclasses.replace(base, offset=7, max_chars=9_000))
    assert fingerprint.of_map(base) != fingerprint.of_map(dataclasses.replace(base, limit=7))
