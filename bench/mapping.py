"""Map a generated site on loopback and compare with the pages that it really has.

`python bench/mapping.py` prints a line for the site that lists itself in sitemaps and one for the site that has links only:
pages, recall, precision, requests, and requests that robots.txt or `nofollow` forbid. The simulator is in `tests/upstreams`.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from upstreams.serve import serve
from upstreams.wide_site import WideSite
from websearch_adapters.crawl.local import LocalMapper
from websearch_adapters.extract.robots import Robots
from websearch_adapters.extract.worker import Worker
from websearch_adapters.http.pages import PageClient
from websearch_core import urls
from websearch_core.values import MapRequest


@dataclass(frozen=True)
class Result:
    """What one map came to."""

    pages: int
    recall: float
    precision: float
    requests: int
    forbidden: int
    stable: bool
    """A second map is the same, in the same order."""


def main() -> int:
    """Print both."""
    for sitemaps in (True, False):
        print("sitemaps" if sitemaps else "links", measured(sitemaps=sitemaps))
    return 0


def map_recall_sitemap() -> float:
    """Recall on the site with sitemaps; 0 when a page is listed that is none, the order changes or robots.txt is not obeyed."""
    result = measured(sitemaps=True)
    return result.recall if result.precision == 1.0 and result.stable and not result.forbidden else 0.0


def map_recall_links() -> float:
    """Recall on the site without sitemaps; 0 when the order changes or robots.txt is not obeyed."""
    result = measured(sitemaps=False)
    return result.recall if result.stable and not result.forbidden else 0.0


@cache
def measured(*, sitemaps: bool) -> Result:
    """Map the site twice."""
    return asyncio.run(_measured(sitemaps=sitemaps))  # noqa: TID251 - a bench is an entry point


async def _measured(*, sitemaps: bool) -> Result:
    site = WideSite(sitemaps=sitemaps)
    async with serve(site) as base:
        first = await _mapped(base, deep=not sitemaps)
        requests, forbidden = len(site.requests), len(site.forbidden_hits)
        second = await _mapped(base, deep=not sitemaps)
        real = {urls.canonical(urls.absolute(base, path) or path) for path in site.pages}
    found = {urls.canonical(url) for url in first}
    return Result(
        pages=len(real),
        recall=len(found & real) / len(real),
        precision=len(found & real) / len(found),
        requests=requests,
        forbidden=forbidden,
        stable=first == second,
    )


async def _mapped(base: str, *, deep: bool) -> list[str]:
    pages, worker = PageClient(allow=["127.0.0.1"]), Worker()
    try:
        request = MapRequest(url=f"{base}/", limit=500, max_depth=5 if deep else 1, max_breadth=500)
        return [link.url for link in (await LocalMapper(pages, Robots(pages), worker).map(request)).links]
    finally:
        await worker.aclose()
        await pages.aclose()


if __name__ == "__main__":
    sys.exit(main())
