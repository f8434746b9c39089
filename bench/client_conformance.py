"""The official conformance suite against the hub's client.

`python bench/client_conformance.py` runs, for both revisions of the protocol, every scenario for clients that the revision
requires, each in a process of its own, and prints how each went. It ends with 1 when one did not pass.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from upstreams import real

ROOT = Path(__file__).resolve().parent.parent
REVISIONS = ("2025-11-25", "2026-07-28")
CLIENT = ROOT / "tests" / "conformance" / "upstream_client.py"
SUITE = real.PLACE / "node_modules" / "@modelcontextprotocol" / "conformance"
AT_ONCE = 3
LIMIT_S = 90
VERDICT = re.compile(r"Passed: (\d+)/(\d+), (\d+) failed")


def scenarios(revision: str) -> list[str]:
    """What a revision requires of clients."""
    text = (SUITE / "requirements" / f"{revision}.yaml").read_text(encoding="utf-8")
    (section,) = re.findall(r"^client:\n((?:  - .*\n|\s*#.*\n|\n)+)", text, re.MULTILINE)
    return [name.strip("'\"") for name in re.findall(r"^  - (\S+)", section, re.MULTILINE)]


def ran(revision: str, scenario: str) -> tuple[bool, str]:
    """Whether a scenario passed, and its checks in words."""
    command = [
        *(str(real.NODE), str(SUITE / "dist" / "index.js"), "client", "--command", f"{sys.executable} {CLIENT}"),
        *("--scenario", scenario, "--spec-version", revision, "--timeout", str(LIMIT_S * 1_000)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S * 2, cwd=real.PLACE)
    verdict = VERDICT.search(done.stdout + done.stderr)
    if verdict is None:
        return False, f"no verdict (status {done.returncode})"
    return done.returncode == 0 and verdict[3] == "0", f"{verdict[1]} of {verdict[2]} checks"


def all_of(revision: str) -> Iterator[tuple[str, bool, str]]:
    """Each required scenario and how it went."""
    names = scenarios(revision)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name, (passed, checks) in zip(names, pool.map(lambda name: ran(revision, name), names), strict=True):
            yield name, passed, checks


def main() -> int:
    """Run everything."""
    real.install()
    failed = 0
    for revision in REVISIONS:
        print(f"## {revision}")
        for name, passed, checks in all_of(revision):
            failed += not passed
            print(f"{'pass' if passed else 'FAIL'} {name}: {checks}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
