"""What bad keys and a dead provider cost.

`python bench/key_pool.py` prints three figures:

`bad_key_tries_per_cooldown`: 20 processes of one user, started together, make 50 calls each with four good keys, one used up
and one refused; how often the bad key that was tried more often was tried, before its rest is over.

`dead_provider_extra_load`: 1,000 calls, one a second of a simulated clock, to a provider that answers 503 to everything; requests
sent by call, the worst of one key, three keys and none. All of them are in vain, so all of them are extra. Without a circuit it
is 3, the attempts of a call.

`dead_provider_memory_growth_bytes`: what the library's own code holds in memory after the last of these calls more than after
the hundredth.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from e2e.fleet import REFUSED, SPENT, requests_by_key
from upstreams.script import status
from upstreams.serve import transport
from upstreams.tavily import TavilyUpstream
from websearch_adapters.cache.memory import MemoryCache
from websearch_adapters.credentials.pool import KeyPool, PoolRules
from websearch_adapters.http.client import Http
from websearch_adapters.providers.tavily import Tavily, TavilySettings
from websearch_core.errors import Unreachable
from websearch_core.retry import RetryPolicy
from websearch_core.testing.fakes import FakeClock
from websearch_core.values import SearchQuery

SOURCE = Path(__file__).resolve().parent.parent / "src"
PROCESSES, CALLS = 20, 50
CALLS_TO_THE_DEAD = 1_000
KEYS: tuple[Sequence[str], ...] = ((), ("tvly-one",), ("tvly-one", "tvly-two", "tvly-three"))
QUERY = SearchQuery(query="Is anybody there?")


def bad_key_tries_per_cooldown() -> float:
    """Most tries of one bad key by all processes together."""
    with tempfile.TemporaryDirectory() as home:
        tries = requests_by_key(Path(home), (PROCESSES, CALLS))
    return max(tries[SPENT], tries[REFUSED])


def dead_provider_extra_load() -> float:
    """Requests to a dead provider by call, for the set of keys with which it is worst."""
    with asyncio.Runner() as runner:
        return max(runner.run(_dead(keys)) for keys in KEYS) / CALLS_TO_THE_DEAD


def dead_provider_memory_growth_bytes() -> float:
    """Memory of our own code that is still held, from the hundredth call to the last."""
    tracemalloc.start(1)
    held: list[int] = []

    async def weigh(call: int) -> None:
        if call in {100, CALLS_TO_THE_DEAD - 1}:
            gc.collect()
            ours = tracemalloc.Filter(True, str(SOURCE / "*"))
            held.append(sum(one.size for one in tracemalloc.take_snapshot().filter_traces([ours]).statistics("filename")))

    try:
        with asyncio.Runner() as runner:
            runner.run(_dead(KEYS[-1], after_each=weigh))
    finally:
        tracemalloc.stop()
    return max(held[-1] - held[0], 0)


async def _nothing(_: int) -> None:
    return


async def _dead(keys: Sequence[str], after_each: Callable[[int], Awaitable[None]] = _nothing) -> int:
    """Requests that a dead provider gets."""
    upstream, clock = TavilyUpstream(script=status(503)), FakeClock()
    pool = KeyPool({"tavily": keys}, MemoryCache(now=clock), rules={"tavily": PoolRules(per_key=1)}, now=clock, clock=clock)
    http = Http(pool, transport=transport(upstream))
    chosen = TavilySettings(base_url="http://tavily.test", keyless=not keys, retry=RetryPolicy(max_attempts=3, multiplier_s=0.0))
    finder = Tavily(http, chosen)
    for call in range(CALLS_TO_THE_DEAD):
        try:
            await finder.find(QUERY)
        except Unreachable:
            clock.advance(1.0)
        await after_each(call)
    await http.aclose()
    await pool.aclose()
    return len(upstream.requests)


FIGURES = (bad_key_tries_per_cooldown, dead_provider_extra_load, dead_provider_memory_growth_bytes)


if __name__ == "__main__":
    for figure in FIGURES:
        print(f"{figure.__name__} {figure():g}")
