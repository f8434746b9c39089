"""A user's own policies, read from TOML files; a file that cannot be used is a problem and harms no other."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from websearch_core.depth import Policy, policy, shipped
from websearch_core.errors import InvalidInput

__all__ = ["load"]

MAX_BYTES = 100_000
MAX_OWN = 20
"""Each rule goes with every question, so their number has a price."""


def load(paths: Iterable[str]) -> tuple[tuple[Policy, ...], tuple[str, ...]]:
    """The shipped policies with the user's, and what is wrong with some of these.

    A path is a TOML file, or a folder whose `*.toml` are read in the order of their names. A policy with the name of a
    shipped one takes its place.
    """
    own: dict[str, Policy] = {}
    problems: list[str] = []
    for file in [file for path in paths for file in _files(Path(path).expanduser())]:
        try:
            found = policy(_text(file))
        except (OSError, UnicodeDecodeError, InvalidInput) as error:
            problems.append(f"{file}: {error.message if isinstance(error, InvalidInput) else type(error).__name__}")
            continue
        if len(own) >= MAX_OWN and found.name not in own:
            problems.append(f"{file}: at most {MAX_OWN} policies of your own are read; this one is left out")
            continue
        own[found.name] = found
    kept = [own.pop(one.name, one) for one in shipped()]
    return (*kept, *own.values()), tuple(problems)


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.toml")) if path.is_dir() else [path]


def _text(file: Path) -> str:
    with file.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"larger than {MAX_BYTES} bytes")
    return data.decode("utf-8")
