"""Which words of upstream tools were accepted, kept over restarts: a JSON file of upstream → raw tool name → digest.

A file that cannot be read counts as empty: then what upstreams say at the next start is what is accepted. Several processes keep
theirs in the same file: each writes only what it changed itself, so that none takes back what another one accepted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from websearch_adapters import atomic_file

__all__ = ["DigestFile"]

MAX_BYTES = 64 * 1024 * 1024
MAX_TOOLS = 20_000
"""Of one upstream; the names that were written first go first."""


class DigestFile:
    """Accepted words by upstream. Constructing touches nothing; failing to keep them is not an error."""

    def __init__(self, path: Path, *, lock_wait_s: float = atomic_file.LOCK_WAIT_S) -> None:
        self.path = Path(os.path.realpath(path))
        self._lock_wait_s = lock_wait_s
        self._seen: dict[str, dict[str, str]] = {}
        """As it was when we last read or wrote it."""

    def read(self) -> dict[str, dict[str, str]]:
        """All that was kept, by whichever process."""
        self._seen = self._read()
        return {name: dict(tools) for name, tools in self._seen.items()}

    def _read(self) -> dict[str, dict[str, str]]:
        with suppress(OSError, ValueError, RecursionError):
            if self.path.stat().st_size <= MAX_BYTES:
                found = json.loads(self.path.read_bytes())
                return {str(name): _texts(tools) for name, tools in found.items()} if isinstance(found, dict) else {}
        return {}

    def keep(self, upstream: str, digests: Mapping[str, str]) -> bool:
        """Keep these of an upstream, as far as they are others than we last saw; whether that went well."""
        seen = self._seen.setdefault(upstream, {})
        new = {tool: digest for tool, digest in digests.items() if seen.get(tool) != digest}

        def change(kept: dict[str, dict[str, str]]) -> None:
            both = {**kept.get(upstream, {}), **new}
            kept[upstream] = dict(list(both.items())[-MAX_TOOLS:])

        done = not new or self._change(change)
        seen.update(new if done else {})
        return done

    def forget(self, upstream: str) -> bool:
        """Keep nothing of an upstream; whether that went well."""
        self._seen.pop(upstream, None)
        return self._change(lambda kept: kept.pop(upstream, None))

    def _change(self, change: Callable[[dict[str, dict[str, str]]], object]) -> bool:
        try:
            with atomic_file.locked(self.path, self._lock_wait_s):
                before = self._read()
                after = dict(before)
                change(after)
                if after != before:
                    atomic_file.replace(self.path, json.dumps(after, ensure_ascii=True, indent=0))
        except OSError:
            return False
        return True


def _texts(tools: object) -> dict[str, str]:
    return {name: digest for name, digest in tools.items() if isinstance(digest, str)} if isinstance(tools, dict) else {}
