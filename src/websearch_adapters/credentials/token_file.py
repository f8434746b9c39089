"""A file with tokens that only its owner can read, replaced in one step, and a lock on it across processes.

A file without our mark belongs to another program and is neither used nor overwritten: a refresh token that two programs use
signs one of them out.
"""

from __future__ import annotations

import asyncio
import contextlib
import glob
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from websearch_adapters.atomic_file import settle
from websearch_core.errors import NotConfigured

__all__ = ["TokenFile"]

T = TypeVar("T")
MARK = "websearch.tokens.1"
"""Stands in the file under `format`."""
MAX_BYTES = 256 * 1024
POLL_S = 0.05
"""How often a waiter looks whether the lock is free; it is polled, so that waiting can be cancelled and needs no thread."""
SHARING_WAIT_S = 2.0
"""Windows refuses to open or to replace a file while another process does either; that passes within milliseconds."""


class TokenFile:
    """One JSON object of strings and numbers, among them secrets. Constructing it touches nothing."""

    def __init__(self, path: Path, *, owner: str = "login") -> None:
        """`owner` names the errors. A link stays a link: the file that it leads to is replaced."""
        self.path = path
        self._owner = owner

    def read(self) -> dict[str, Any] | None:
        """The object, or None where there is no file. A mode that lets others in is tightened.

        Raises:
            NotConfigured: the file cannot be read, is damaged, or belongs to another program.
        """
        try:
            text = _patiently(self._text)
            found = None if text is None else json.loads(text)
        except OSError as error:
            raise self._unusable(f"cannot be read ({type(error).__name__})") from error
        except (ValueError, RecursionError) as error:
            raise self._unusable("is damaged") from error
        if found is None:
            return None
        if not isinstance(found, dict) or found.get("format") != MARK:
            raise self._unusable("belongs to another program")
        return found

    def require_own(self) -> None:
        """Make sure that there is no file, or one that may be replaced.

        Raises:
            NotConfigured: it belongs to another program.
        """
        with contextlib.suppress(OSError, ValueError, RecursionError):
            text = _patiently(self._text)
            found = json.loads(text) if text else {"format": MARK}
            if not isinstance(found, dict) or found.get("format") != MARK:
                raise self._unusable("belongs to another program")

    def write(self, tokens: Mapping[str, Any]) -> None:
        """Replace the object; on any failure the old one stands. Only for the holder of the lock.

        Raises:
            NotConfigured: it cannot be written, or what is there belongs to another program.
        """
        self.require_own()
        content = json.dumps({"format": MARK, **tokens}, ensure_ascii=False, indent=1).encode()
        try:
            self._replace(self._target(), content)
        except OSError as error:
            raise self._unusable(f"cannot be written ({type(error).__name__})") from error

    def remove(self) -> bool:
        """Delete the file, if it is ours or damaged; whether there was one. Only for the holder of the lock.

        Raises:
            NotConfigured: it cannot be deleted, or belongs to another program.
        """
        self.require_own()
        try:
            return _patiently(lambda: _unlinked(self._target()))
        except OSError as error:
            raise self._unusable(f"cannot be deleted ({type(error).__name__})") from error

    @asynccontextmanager
    async def locked(
        self, name: str = "lock", *, wait_s: float = 60.0, unless: Callable[[], bool] = lambda: False
    ) -> AsyncIterator[bool]:
        """Keep every other process and task from the same; the lock dies with its holder.

        `name` tells locks on the same file apart. Gives False, without the lock, as soon as `unless` says that there is nothing
        left to do.

        Raises:
            TimeoutError: another one held it all the time.
            NotConfigured: the lock file cannot be made.
        """
        import filelock

        path = self._target()
        lock = filelock.FileLock(f"{path}.{name}", mode=0o600, thread_local=False)
        until = time.monotonic() + wait_s
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            while not _acquired(lock):
                if unless():
                    break
                if time.monotonic() >= until:
                    raise TimeoutError(f"{path.name} is locked")
                await asyncio.sleep(POLL_S)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise self._unusable(f"cannot be locked ({type(error).__name__})") from error
        try:
            yield lock.is_locked
        finally:
            if lock.is_locked:
                lock.release()

    def _target(self) -> Path:
        return Path(os.path.realpath(self.path))

    def _text(self) -> str | None:
        try:
            with self.path.open("rb") as opened:
                if sys.platform != "win32" and stat.S_IMODE(os.fstat(opened.fileno()).st_mode) & 0o077:
                    os.fchmod(opened.fileno(), 0o600)
                content = opened.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
        if len(content) > MAX_BYTES:
            raise ValueError("too long")
        return content.decode("utf-8")

    def _replace(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):  # of a process that was killed while writing
            left.unlink(missing_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")  # mode 0600
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
            _patiently(lambda: Path(temporary).replace(path))
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        settle(path.parent)

    def _unusable(self, what: str) -> NotConfigured:
        hint = "Sign in again with `websearch login`."
        if "another program" in what:
            hint = "Name a file of its own in xai.oauth_file; other programs' logins are never used."
        elif "cannot" in what:
            hint = "Make the file and its folder readable and writable for you."
        return NotConfigured(f"{self.path} {what}", provider=self._owner, hint=hint)


def _acquired(lock: Any) -> bool:
    import filelock

    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        return False
    return True


def _unlinked(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def _patiently(work: Callable[[], T]) -> T:
    """Do it, and on Windows again while another process has the file open."""
    until = time.monotonic() + SHARING_WAIT_S
    while True:
        try:
            return work()
        except PermissionError:
            if sys.platform != "win32" or time.monotonic() >= until:
                raise
            time.sleep(0.01)
