"""How far a command has come, for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from websearch_core import progress

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["shown"]


@contextmanager
def shown() -> Iterator[None]:
    """A line on stderr that lives while the work inside goes on: a sign of life, then counts, a bar once the total is known.

    Nothing where stderr is no terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    with _bar() as bar, progress.heard_by(_drawer(bar)):
        yield


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    counts = TextColumn("{task.fields[counts]}", markup=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20), counts, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _drawer(bar: Progress) -> progress.Listener:
    task = bar.add_task("working …", total=None, counts="")

    def draw(text: str, done: int, total: int | None) -> None:
        counts = f"{done}" if total is None else f"{done} of {total}"
        bar.update(task, description=text, completed=done, total=total, counts=counts)

    return draw
