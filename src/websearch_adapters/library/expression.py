"""A query as an expression of SQLite's FTS5."""

from __future__ import annotations

from websearch_core.passages import is_unspaced, query_terms

__all__ = ["match_expression"]


def match_expression(query: str) -> str | None:
    """An FTS5 expression that finds any of the query's words; None when it has none.

    Everything in the query is data: each term is quoted, and no word holds a quote.
    """
    return " OR ".join(_quoted(term) for term in query_terms(query)) or None


def _quoted(term: str) -> str:
    """The term as a string of FTS5; a lone character of an unspaced script also finds what begins with it."""
    return f'"{term}"*' if len(term) == 1 and is_unspaced(term) else f'"{term}"'
