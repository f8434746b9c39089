"""The product as it is installed, pointed at a generated web: its container with an environment of its own."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from websearch_adapters import settings
from websearch_mcp.container import Closing, build

__all__ = ["installed"]


@asynccontextmanager
async def installed(base: str, *, engine: bool = False, **environ: str) -> AsyncIterator[Any]:
    """The container; finder, pages and, with `engine`, the answer engine are those of the web at `base`."""
    with tempfile.TemporaryDirectory() as home:
        env = {
            "WEBSEARCH_HOME": home,
            "WEBSEARCH_CACHE_KIND": "memory",
            "SEARXNG_URL": base,
            "WEBSEARCH_SEARCH_FINDERS": "searxng",
            "WEBSEARCH_FETCH_EXTRACTORS": "local",
            "WEBSEARCH_NETWORK_PAGE_PROXY": base,
            "WEBSEARCH_LIBRARY_PATH": str(Path(home, "library.sqlite3")),
            **environ,
        }
        if engine:
            env |= {"GROK_API_URL": f"{base}/v1", "GROK_API_KEY": "sk-generated-web", "OPENAI_COMPATIBLE_MODEL": "reader"}
        loaded = settings.read(environ=env)
        if problems := loaded.problems():
            raise SystemExit("\n".join(problems))
        box = build(loaded)
        try:
            yield box
        finally:
            await box.resolve(Closing).aclose()
