"""How far a command has come, for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from websearch_core import events, fence

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["shown"]

MAX_DETAIL_CHARS = 60


@contextmanager
def shown() -> Iterator[None]:
    """A line on stderr that lives while the work inside goes on: a sign of life, then counts, a bar once the total is known.

    Nothing where stderr is no terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    with _bar() as bar, events.listening(_drawer(bar)):
        yield


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    counts = TextColumn("{task.fields[counts]}", markup=False)
    detail = TextColumn("{task.fields[detail]}", markup=False, style="dim")
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        counts,
        TimeRemainingColumn(),
        detail,
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _drawer(bar: Progress) -> Callable[[events.Step], None]:
    task = bar.add_task("working …", total=None, counts="", detail="")

    def draw(step: events.Step) -> None:
        counts = f"{step.done}" if step.total is None else f"{step.done} of {step.total}"
        detail = fence.clean(step.detail, limit=MAX_DETAIL_CHARS).replace("\n", " ")
        bar.update(task, description=step.stage, completed=step.done, total=step.total, counts=counts, detail=detail)

    return draw
