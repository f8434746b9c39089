"""Clients for the adapters under test, closed after each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from contract.parts import KEY, Over
from upstreams.serve import transport
from upstreams.simulator import Simulator
from websearch_adapters.http.client import Http
from websearch_core.testing.fakes import FakeCredentials


@pytest.fixture
async def over() -> AsyncIterator[Over]:
    """A client that reaches the given simulated service under any address, with `KEY` for every provider."""
    async with AsyncExitStack() as stack:

        def client(upstream: Simulator) -> Http:
            http = Http(
                FakeCredentials(dict.fromkeys(("grok", "xai", "tavily", "firecrawl"), KEY)), transport=transport(upstream)
            )
            stack.push_async_callback(http.aclose)
            return http

        yield client
