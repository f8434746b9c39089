"""One process of many: searches as often as it is told, three calls at a time, with the keys of its environment.

Says `ready`, waits for a line, and in the end says how many calls found something.
"""

from __future__ import annotations

import asyncio
import sys

from websearch_adapters import settings
from websearch_core.ports import SourceFinder
from websearch_core.values import SearchQuery
from websearch_mcp.container import Closing, build

AT_ONCE = 3


async def main(calls: int) -> None:
    """Make the calls."""
    box = build(settings.read())
    finder = box.resolve(SourceFinder)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    left = iter(range(calls))

    async def work() -> int:
        return sum([bool((await finder.find(SearchQuery(query=f"question {number}"))).items) for number in left])

    found = await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    await box.resolve(Closing).aclose()
    print(f"{sum(found)} calls found something")


if __name__ == "__main__":
    with asyncio.Runner() as runner:
        runner.run(main(int(sys.argv[1])))
