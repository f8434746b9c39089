"""Names, lives and search of upstream tools.

`python bench/hub_tools.py` prints, beside its three figures, what a plain search by substrings finds, and the times of both
searches.

`hub_live_link_violations`: 2,000 random lives of an upstream, of up to 50 events each (`tests/property/test_hub_lifecycle.py`),
that break a law: two connections at once, a wait that shrinks or passes its cap, a connection to what is switched off or removed,
ready without tools, an event of the past that changes something.

`hub_names_over_limit`: of 20,000 tools with whatever names, the ids that are too long behind some host's prefix, not legal,
without exactly one separator, or another tool's.

`hub_search_recall5`: of questions that people put (`hub_search_set.py`), how many have their tool among the first five of 10,000.
"""

from __future__ import annotations

import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from hub_search_set import NAMES, QUESTIONS, tools
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from property.test_hub_lifecycle import Life
from websearch_core.hub.index import ToolIndex
from websearch_core.hub.names import HOST_PREFIXES, tool_id
from websearch_core.hub.registry import Registry, findable, listed, respecified
from websearch_core.hub.values import Catalog, CatalogTool, StdioTransport, UpstreamSpec

LIVES, EVENTS = 2_000, 50
PAIRS = 20_000
TOOLS = 10_000
LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def hub_live_link_violations() -> float:
    """0, or 1 when some life broke a law; which one is told on standard error."""
    many = settings(
        max_examples=LIVES,
        stateful_step_count=EVENTS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(Life, settings=many)
    except AssertionError as broken:
        print(f"a law is broken: {broken}", file=sys.stderr)
        return 1
    return 0


def hub_names_over_limit() -> float:
    """Ids that some host would not take, and those that two tools share."""
    chance = random.Random(7)
    pairs = {(_name(chance, 80), _name(chance, 140)) for _ in range(PAIRS)}
    ids = [tool_id(upstream, tool) for upstream, tool in pairs]
    bad = [
        one
        for one in ids
        if not LEGAL.fullmatch(one)
        or len(re.findall("(?=__)", one)) != 1
        or any(len(prefix + one) > limit for _, prefix, limit in HOST_PREFIXES)
    ]
    return len(bad) + len(ids) - len(set(ids))


def hub_search_recall5() -> float:
    """How many questions have their tool among the first five."""
    index = ToolIndex()
    index.update(_catalog())
    return _recall(lambda need: [one.entry.id for one in index.search(need).items])


def _name(chance: random.Random, most: int) -> str:
    """A name as upstreams have them: words and separators, other scripts, nothing at all, or noise."""
    kind = chance.random()
    if kind < 0.6:
        words = chance.choices(NAMES, k=chance.randint(1, 6))
        return chance.choice(["_", "-", ".", " ", "__", "/", ""]).join(words)[:most]
    if kind < 0.8:
        return "".join(chance.choices("abc_-0", k=chance.randint(0, 12)))
    return "".join(chr(chance.randint(1, 0x3000)) for _ in range(chance.randint(0, most)))


def _catalog() -> Catalog:
    registry = Registry()
    for upstream, its_tools in tools(TOOLS).items():
        spec = UpstreamSpec(name=upstream, transport=StdioTransport(command=upstream))
        registry, _ = respecified(registry, spec)
        registry, _ = listed(registry, upstream, its_tools)
    return registry.catalog


def _recall(search: Callable[[str], Sequence[str]]) -> float:
    hits = [wanted in search(need)[:5] for need, wanted in QUESTIONS]
    return sum(hits) / len(hits)


class _Substrings:
    """What a search without an index does: how many words of the question stand somewhere in the tool's text."""

    def __init__(self, entries: Sequence[CatalogTool]) -> None:
        self._texts = [(one.id, f"{one.id} {one.tool.description}".casefold()) for one in entries]

    def search(self, need: str) -> list[str]:
        words = need.casefold().split()
        scored = [(-sum(word in text for word in words), name) for name, text in self._texts]
        return [name for score, name in sorted(scored)[:5] if score]


def _timed(search: Callable[[str], object]) -> list[float]:
    times = []
    for need, _ in QUESTIONS:
        begun = time.perf_counter()
        search(need)
        times.append((time.perf_counter() - begun) * 1_000)
    return times


def main() -> None:
    """All of it, beside the plain search."""
    catalog, index = _catalog(), ToolIndex()
    begun = time.perf_counter()
    index.update(catalog)
    print(f"{len(index)} tools indexed in {time.perf_counter() - begun:.2f} s, {len(QUESTIONS)} questions")
    plain = _Substrings(findable(catalog))

    def ours(need: str) -> list[str]:
        return [one.entry.id for one in index.search(need).items]

    for name, search in (("bm25", ours), ("substrings", plain.search)):
        times = _timed(search)
        p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        print(f"{name}: recall@5 {_recall(search):.3f}, p50 {p50:.2f} ms, p95 {p95:.2f} ms")
    for need, wanted in QUESTIONS:
        if wanted not in ours(need)[:5]:
            print(f"missed: {need!r} → {wanted}; found {ours(need)[:3]}")
    print(f"hub_names_over_limit {hub_names_over_limit():g}")
    print(f"hub_live_link_violations {hub_live_link_violations():g}")


if __name__ == "__main__":
    main()
