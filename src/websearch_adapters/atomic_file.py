"""A small file of ours that several processes change: replaced in one step, under a lock that dies with its holder."""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["LOCK_WAIT_S", "locked", "replace", "settle"]

LOCK_WAIT_S = 10.0
"""How long a change waits for another process that changes the same file."""


def replace(path: Path, text: str) -> None:
    """Replace the file in one step, readable by its owner only; on any failure the old file stands.

    For the holder of the lock: what lies about under a temporary name then belongs to a process that was killed.
    """
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        left.unlink(missing_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(text.encode())
            opened.flush()
            os.fsync(opened.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    settle(path.parent)


def settle(folder: Path) -> None:
    """Make a replacement survive a power cut where folders can be synchronised."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Keep every other process and thread from changing the file; the lock dies with its holder.

    Raises:
        TimeoutError: another one held it all the time.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait_for(path, descriptor, wait_s)
        yield
    finally:
        os.close(descriptor)


def _wait_for(path: Path, descriptor: int, wait_s: float) -> None:
    until = time.monotonic() + wait_s
    while not _try_lock(descriptor):
        if time.monotonic() >= until:
            raise TimeoutError(f"{path.name} is locked")
        time.sleep(0.01)


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
