"""What known hosts are, from data files: the one that comes with the product, and the operator's own.

A file is TOML: the name of a class, and a list of hosts. Later files overrule earlier ones, host by host.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from websearch_core.ranking import CLASSES, SourceClass

__all__ = ["BUILT_IN", "read"]

BUILT_IN = Path(__file__).with_name("hosts.toml")
MAX_BYTES = 1_048_576


def read(files: Iterable[Path] = (BUILT_IN,)) -> dict[str, SourceClass]:
    """Host → class. Never raises: a file or an entry that cannot be used is logged and left out; no file is no fault."""
    return {host: name for file in files for host, name in _entries(file)}


def _entries(file: Path) -> Iterator[tuple[str, SourceClass]]:
    known: dict[str, SourceClass] = {name: name for name in CLASSES}
    for name, hosts in _document(file).items():
        if name not in known or not isinstance(hosts, list):
            _complain(file, f"{name!r} is none of {', '.join(CLASSES)}, or holds no list")
            continue
        for host in hosts:
            if isinstance(host, str) and host.strip():
                yield host.strip().lower().removeprefix("*.").removeprefix("www.").rstrip("."), known[name]
            else:
                _complain(file, f"an entry of {name!r} is no host")


def _document(file: Path) -> dict[str, object]:
    import tomllib

    try:
        with file.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            _complain(file, f"it is larger than {MAX_BYTES} bytes")
            return {}
        return tomllib.loads(raw.decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        _complain(file, f"it cannot be read: {type(error).__name__}")
        return {}


def _complain(file: Path, why: str) -> None:
    logging.getLogger(__name__).warning("hosts for ranking, %s: %s", file, why)
