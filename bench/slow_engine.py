"""A slow engine and a client that stops waiting: what the client gets in time, and what the finished answer costs.

`python bench/slow_engine.py [ENGINE_S] [CLIENT_S]`, 150 and 60 by default, in real time: prints when the partial result
came, when the answer was there, and how many upstream calls were counted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from e2e.wire import Wire, environment
from upstreams.script import delay
from upstreams.serve import serving
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream


def main(engine_s: float, client_s: float) -> int:
    """Fails when the client would have given up, or the answer was paid for twice."""
    xai, tavily = XaiUpstream(script=delay(engine_s)), TavilyUpstream()
    with tempfile.TemporaryDirectory() as home, serving(xai) as engine, serving(tavily) as finder:
        env = environment(
            Path(home),
            XAI_API_KEY="xai-0123456789abcdef",
            GROK_SEARCH_URL=f"{engine}/v1",
            TAVILY_API_KEY="tvly-0123456789abcdef",
            TAVILY_API_URL=finder,
            GROK_SINGLE_ATTEMPT_TIMEOUT=str(2 * engine_s),
        )
        with Wire(env) as wire:
            wire.initialize()
            started = time.monotonic()
            early = wire.result_within(client_s, "web_search", query="A slow question")["structuredContent"]
            early_s = time.monotonic() - started
            late = early
            while late.get("pending_until"):
                time.sleep(1)
                late = wire.result("get_sources", session_id=early["session_id"], start=0)["structuredContent"]
            late_s = time.monotonic() - started
    calls = sum(request.path == "/v1/responses" for request in xai.requests)
    print(f"partial_result_s {early_s:.1f} ({early['status']}, {early['sources_count']} sources)")
    print(f"full_answer_s {late_s:.1f} ({late['status']}, {len(late['content'])} characters)")
    print(f"upstream_calls {calls}")
    in_time = early["status"] == "partial_success" and early_s < client_s - 5
    return 0 if in_time and late["status"] == "success" and late["content"] and calls == 1 else 1


if __name__ == "__main__":
    given = [float(argument) for argument in sys.argv[1:]]
    sys.exit(main(*(given or (150.0, 60.0))))
