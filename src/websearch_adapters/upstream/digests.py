"""Which words of upstream tools were accepted, kept over restarts: a JSON file of upstream → raw tool name → digest.

A file that cannot be read counts as empty: then what upstreams say at the next start is what is accepted.
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


class DigestFile:
    """Accepted words by upstream. Constructing touches nothing; failing to keep them is not an error."""

    def __init__(self, path: Path, *, lock_wait_s: float = atomic_file.LOCK_WAIT_S) -> None:
        self.path = Path(os.path.realpath(path))
        self._lock_wait_s = lock_wait_s

    def read(self) -> dict[str, dict[str, str]]:
        """All that was kept."""
        with suppress(OSError, ValueError, RecursionError):
            if self.path.stat().st_size <= MAX_BYTES:
                found = json.loads(self.path.read_bytes())
                return {str(name): _texts(tools) for name, tools in found.items()} if isinstance(found, dict) else {}
        return {}

    def keep(self, upstream: str, digests: Mapping[str, str]) -> bool:
        """Replace what is kept of an upstream; whether that went well."""
        return self._change(lambda kept: kept.update({upstream: dict(digests)}))

    def forget(self, upstream: str) -> bool:
        """Keep nothing of an upstream; whether that went well."""
        return self._change(lambda kept: kept.pop(upstream, None))

    def _change(self, change: Callable[[dict[str, dict[str, str]]], object]) -> bool:
        try:
            with atomic_file.locked(self.path, self._lock_wait_s):
                before = self.read()
                after = dict(before)
                change(after)
                if after != before:
                    atomic_file.replace(self.path, json.dumps(after, ensure_ascii=True, indent=0, sort_keys=True))
        except OSError:
            return False
        return True


def _texts(tools: object) -> dict[str, str]:
    return {name: digest for name, digest in tools.items() if isinstance(digest, str)} if isinstance(tools, dict) else {}
