"""Figures of the fault matrix; all three come from one run, which takes minutes. Needs `tests` on the path."""

from __future__ import annotations

import functools

import anyio

from integration.fault_matrix import Summary, run_all

__all__ = ["fault_cells", "fault_hangs", "fault_lies"]


def fault_cells() -> float:
    """Cells of the matrix: operations × faults × one key or three."""
    return _summary().cells


def fault_lies() -> float:
    """Cells whose failure was told as a success, in silence, or whose content was cut without a word."""
    return _summary().count("lie")


def fault_hangs() -> float:
    """Cells with a call that was not back within 10 s, though its own limit is shorter."""
    return _summary().count("hang")


@functools.cache
def _summary() -> Summary:
    return anyio.run(run_all)
