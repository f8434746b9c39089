"""Web search as a library: pure values, use cases and ports, free of any framework.

What is here: the questions and answers (`values`), the ports to the outside (`ports`), the policies (`retry`, `merge`,
`budget`, …) and the use cases (`search`, `fetch`, `map`, `sources`, `doctor`). What is not: HTTP, vendors, MCP, files.
Start reading at `search`; fakes for tests are in `websearch_core.testing`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from websearch_core.chain import ExtractorChain, FinderChain, MapperChain, NoEngine
    from websearch_core.doctor import Doctor
    from websearch_core.errors import WebSearchError
    from websearch_core.fetch import Fetch, FetchRules
    from websearch_core.library import ManageLibrary
    from websearch_core.map import Map, MapRules
    from websearch_core.posts import PostRules, Posts
    from websearch_core.search import Search, SearchRules
    from websearch_core.sources import Sources
    from websearch_core.values import (
        Answer,
        FetchRequest,
        FetchResult,
        MapRequest,
        MapResult,
        Page,
        PostQuery,
        PostResult,
        SearchQuery,
        SearchResult,
        Source,
        SourceList,
        SourcesRequest,
        SourcesResult,
    )

__all__ = [
    "Answer",
    "Doctor",
    "ExtractorChain",
    "Fetch",
    "FetchRequest",
    "FetchResult",
    "FetchRules",
    "FinderChain",
    "ManageLibrary",
    "Map",
    "MapRequest",
    "MapResult",
    "MapRules",
    "MapperChain",
    "NoEngine",
    "Page",
    "PostQuery",
    "PostResult",
    "PostRules",
    "Posts",
    "Search",
    "SearchQuery",
    "SearchResult",
    "SearchRules",
    "Source",
    "SourceList",
    "Sources",
    "SourcesRequest",
    "SourcesResult",
    "WebSearchError",
]

_ROOMS = {
    "Answer": "values",
    "Doctor": "doctor",
    "ExtractorChain": "chain",
    "Fetch": "fetch",
    "FetchRequest": "values",
    "FetchResult": "values",
    "FetchRules": "fetch",
    "FinderChain": "chain",
    "ManageLibrary": "library",
    "Map": "map",
    "MapRequest": "values",
    "MapResult": "values",
    "MapRules": "map",
    "MapperChain": "chain",
    "NoEngine": "chain",
    "Page": "values",
    "PostQuery": "values",
    "PostResult": "values",
    "PostRules": "posts",
    "Posts": "posts",
    "Search": "search",
    "SearchQuery": "values",
    "SearchResult": "values",
    "SearchRules": "search",
    "Source": "values",
    "SourceList": "values",
    "Sources": "sources",
    "SourcesRequest": "values",
    "SourcesResult": "values",
    "WebSearchError": "errors",
}


def __getattr__(name: str) -> object:
    """A public name from its room, loaded when first asked for, so that importing one room loads only what it needs."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
