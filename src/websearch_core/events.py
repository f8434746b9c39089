"""The observer port: named spans with a few facts, and the observer that does nothing.

Facts are scalars from a short list (provider, outcome, attempts, status, chars, host): never a query, page text,
a whole address or a header.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeAlias

__all__ = ["SILENT", "Fact", "Observer", "Span"]

Fact: TypeAlias = "str | int | float | bool | None"


class Span(Protocol):
    """One stretch of work."""

    def note(self, **facts: Fact) -> None:
        """Add facts that are known only later."""
        ...


class Observer(Protocol):
    """Told of every span."""

    def span(self, name: str, /, **facts: Fact) -> AbstractContextManager[Span]:
        """Enter a span; an exception that leaves it is the span's outcome."""
        ...


class _Silent:
    def note(self, **facts: Fact) -> None:
        """Drop the facts."""

    def span(self, name: str, /, **facts: Fact) -> AbstractContextManager[Span]:
        """Observe nothing."""
        return nullcontext(self)


SILENT: Observer = _Silent()
