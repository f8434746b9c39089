"""What is told while work goes on: spans to an observer, steps to whoever waits.

The observer port has named spans with a few facts, and an observer that does nothing. Facts are scalars from a short list
(provider, outcome, attempts, status, chars, host): never a query, page text, a whole address or a header. Steps say how far one
call has come; they reach the caller alone, so they may name addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeAlias

__all__ = ["SILENT", "Fact", "Observer", "Span", "Step", "listening", "report"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How far a call has come."""

    stage: str
    """What is being done: `mapping`, `reading`, `indexing`."""
    done: int
    """Never falls within a stage."""
    total: int | None = None
    """None while nobody knows."""
    detail: str = ""
    """The address at hand; third-party text."""


_LISTENER: ContextVar[Callable[[Step], None] | None] = ContextVar("websearch_listener", default=None)


def report(step: Step, /) -> None:
    """Tell the one who waits for this call, if anybody listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(step)


@contextmanager
def listening(listener: Callable[[Step], None]) -> Iterator[None]:
    """Be told of the steps of what is called inside, and of the tasks started there; `listener` must neither wait nor raise."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
