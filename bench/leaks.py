"""How many places show a key: real processes, every key in every position, every form.

`python bench/leaks.py` prints each place that holds more of a key than a fingerprint may show, and their number.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from e2e import canaries


def found() -> list[str]:
    """`place: canary, form`, over all walks."""
    with tempfile.TemporaryDirectory() as folder:
        places = {
            **canaries.of_a_server(Path(folder, "server")),
            **canaries.of_commands(Path(folder, "commands")),
            **{f"{place}, keys in addresses": data for place, data in canaries.of_addresses(Path(folder, "addresses")).items()},
            **asyncio.run(canaries.of_exceptions(Path(folder, "exceptions"))),  # noqa: TID251 - a program of its own
        }
    return canaries.leaks(places)


def secret_leaks() -> float:
    """The number of places."""
    return len({leak.rpartition(": ")[0] for leak in found()})


if __name__ == "__main__":
    leaks = found()
    print(*leaks, f"{len(leaks)} leaks", sep="\n")
    sys.exit(bool(leaks))
