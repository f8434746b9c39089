"""Upstreams on loopback and the settings that lead a server process to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.wire import environment
from upstreams.serve import serving
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream


@pytest.fixture
def xai() -> XaiUpstream:
    return XaiUpstream()


@pytest.fixture
def tavily() -> TavilyUpstream:
    return TavilyUpstream()


@pytest.fixture
def keyed(tmp_path: Path, xai: XaiUpstream, tavily: TavilyUpstream) -> Iterator[dict[str, str]]:
    """The environment of a server with an xAI and a Tavily key."""
    with serving(xai) as engine, serving(tavily) as finder:
        yield environment(
            tmp_path,
            XAI_API_KEY="xai-canary-0123456789",
            GROK_SEARCH_URL=f"{engine}/v1",
            TAVILY_API_KEYS="tvly-canary-0123456789",
            TAVILY_API_URL=finder,
            WEBSEARCH_FETCH_ALLOW_HOSTS="127.0.0.1",
            WEBSEARCH_ENGINE_RETRY_MULTIPLIER_S="0",
        )
