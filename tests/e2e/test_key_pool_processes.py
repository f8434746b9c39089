"""Twenty processes of one user, started together, share what they find out about their keys; a dead provider costs little."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from e2e.fleet import GOOD, REFUSED, SPENT, requests_by_key
from upstreams.redis_server import RedisServer
from upstreams.tavily import TavilyUpstream

BENCH = Path(__file__).resolve().parents[2] / "bench" / "key_pool.py"
PROCESSES, CALLS = 20, 50
REDIS_PROCESSES, REDIS_CALLS = 8, 25
"""Fewer, so that on a busy machine each gets to its answers within the ten seconds that a Redis may take."""


@pytest.mark.requirement("P5-POOL-02")
def test_a_bad_key_is_tried_once_by_all_of_them_together(tmp_path: Path) -> None:
    """And not again by processes that come later."""
    tries = requests_by_key(tmp_path, (PROCESSES, CALLS), (2, 10))
    assert (tries.pop(SPENT), tries.pop(REFUSED)) == (1, 1)
    assert set(tries) == set(GOOD)
    assert sum(tries.values()) == PROCESSES * CALLS + 2 * 10


def test_and_by_processes_that_share_nothing_but_a_redis(tmp_path: Path) -> None:
    """As on several machines: no file is shared."""
    server = RedisServer(tmp_path)
    server.start()
    try:
        shared = {"WEBSEARCH_CACHE_KIND": "redis", "REDIS_URL": server.url, "WEBSEARCH_CACHE_REDIS_TIMEOUT_S": "10"}
        tries = requests_by_key(tmp_path, (REDIS_PROCESSES, REDIS_CALLS), (2, 5), more=shared)
    finally:
        server.kill()
    assert not list(tmp_path.rglob("cache.db"))
    assert (tries.pop(SPENT), tries.pop(REFUSED)) == (1, 1)
    assert sum(tries.values()) == REDIS_PROCESSES * REDIS_CALLS + 2 * 5


def test_no_call_fails_while_the_redis_is_killed_and_comes_back(tmp_path: Path) -> None:
    """Each process goes on alone, so a bad key is tried by each of them at most once more."""
    server = RedisServer(tmp_path)
    server.start()

    def killed(upstream: TavilyUpstream) -> None:
        upstream.wait_until(lambda it: len(it.requests) >= 20, within_s=120)
        server.kill()
        upstream.wait_until(lambda it: len(it.requests) >= 100, within_s=120)
        server.start()

    try:
        shared = {"WEBSEARCH_CACHE_KIND": "redis", "REDIS_URL": server.url, "WEBSEARCH_CACHE_REDIS_TIMEOUT_S": "10"}
        tries = requests_by_key(tmp_path, (6, 40), meanwhile=killed, complaint="cache: Redis at 127.0.0.1:", more=shared)
    finally:
        server.kill()
    assert max(tries.pop(SPENT), tries.pop(REFUSED)) <= 7
    assert sum(tries.values()) == 6 * 40


def test_a_thousand_calls_to_a_dead_provider_are_few_requests_and_hold_no_memory() -> None:
    bench = runpy.run_path(str(BENCH))
    assert bench["dead_provider_extra_load"]() <= 0.2
    assert bench["dead_provider_memory_growth_bytes"]() <= 64 * 1024
