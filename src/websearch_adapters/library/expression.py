"""The terms of a query as an expression of SQLite's FTS5."""

from __future__ import annotations

from collections.abc import Iterable

from websearch_core.passages import is_unspaced

__all__ = ["match_expression"]


def match_expression(terms: Iterable[str]) -> str:
    """An FTS5 expression that finds any of the terms of `query_terms`; empty, and no expression, when there is none.

    Every term is data: each is quoted, and no word holds a quote.
    """
    return " OR ".join(map(_quoted, terms))


def _quoted(term: str) -> str:
    """The term as a string of FTS5; a lone character of an unspaced script also finds what begins with it."""
    return f'"{term}"*' if len(term) == 1 and is_unspaced(term) else f'"{term}"'
