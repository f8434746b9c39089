"""What gets past the guard of pages.

`python bench/egress.py` prints `egress_leaks`: of a table of spellings of addresses that must not be reached, each asked for
directly, by a redirect and by a name that resolves to it the second time, those that were not refused or touched anything but
the site. The same again with the switch for fake addresses, with an HTTP proxy and with SOCKS5 proxies of both kinds.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from integration.egress_table import FAKES, SPELLINGS, WAYS, Ground, ground, leaks, socks


def egress_leaks() -> float:
    """Cells of the table that leak."""
    return len(_found()[0])


def egress_cells() -> float:
    """Cells of the table."""
    return _found()[1]


def _found() -> tuple[list[str], int]:
    with asyncio.Runner() as runner:
        return runner.run(_all())


async def _all() -> tuple[list[str], int]:
    """Every leak, and how many cells were tried."""
    found: list[str] = []
    cells = 0
    forms = [one for one in SPELLINGS if one.form]
    unlike_fakes = [one for one in SPELLINGS if not one.address.startswith(FAKES)]

    async def tried(here: Ground, spellings: Any, ways: Any, **options: Any) -> None:
        nonlocal cells, found
        for way in ways:
            found += await leaks(here, way, spellings, **options)
            cells += len(spellings)

    async with ground() as here, socks(here) as proxy:
        await tried(here, SPELLINGS, WAYS)
        await tried(here, SPELLINGS, WAYS[:2], fake_ip=True)
        await tried(here, unlike_fakes, WAYS[2:], fake_ip=True)
        await tried(here, forms, WAYS[:2], proxy=f"socks5h://127.0.0.1:{proxy.port}")
        await tried(here, SPELLINGS, WAYS, proxy=f"socks5://127.0.0.1:{proxy.port}")
        here.doors |= {here.site_port}
        await tried(here, forms, WAYS[:2], proxy=f"http://127.0.0.1:{here.site_port}")
    return found, cells


if __name__ == "__main__":
    leaking, cells = _found()
    print(*leaking, sep="\n", file=sys.stderr)
    print(f"egress_leaks {len(leaking)}\negress_cells {cells}")
