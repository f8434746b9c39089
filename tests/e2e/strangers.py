"""Every place that takes apart what strangers wrote, each asked for one piece of it over a wire that sends that piece.

As a program it asks all of them, and prints which parsers its own process has loaded.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from websearch_adapters.crawl.local import LocalMapper
from websearch_adapters.crawl.sitemap import Sitemaps
from websearch_adapters.extract.arxiv import Arxiv
from websearch_adapters.extract.github import GitHub, GitHubSettings
from websearch_adapters.extract.local import LocalReader
from websearch_adapters.extract.robots import Robots
from websearch_adapters.extract.stackexchange import StackExchange
from websearch_adapters.extract.wikipedia import Wikipedia
from websearch_adapters.extract.worker import Worker
from websearch_adapters.http.client import Http
from websearch_adapters.http.pages import PageClient
from websearch_adapters.providers.keyless import ENGINES, Keyless, KeylessSettings
from websearch_core.testing.fakes import FakeCredentials
from websearch_core.values import FetchRequest, MapRequest, SearchQuery

__all__ = ["PLACES", "Place"]

PARSERS = ("lxml", "pypdfium2", "charset_normalizer")
POST = {"question_id": 11, "title": "How?", "link": "https://stackoverflow.com/questions/11/how", "answer_count": 0}
FEED = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/2606.01234v1</id><title>Bridges</title>'
    "<summary>They open.</summary>{}</entry></feed>"
)
HIT = '<div id="links"><div class="web-result"><h2><a href="https://a.example/">A</a></h2>{}</div></div>'
PART = "<div class='post'><p>A sentence with <b>some</b> <a href='/x'>marks</a>, and so on and on.</p></div>\n"
PIECE_BYTES = 65_536
HONEST, HEAVY = "<p>Fine.</p>", PART * (8_000_000 // len(PART))


@dataclass(frozen=True)
class Place:
    """One of them: what it is sent, and how it is asked; the name in which it fails."""

    name: str
    ask: Callable[[PageClient, Worker], Awaitable[object]]
    body: Callable[[str], str] = lambda text: text
    kind: str = "text/html; charset=utf-8"
    heavy: str = HEAVY


async def _keyless(pages: PageClient, worker: Worker) -> object:
    engine = dataclasses.replace(ENGINES["duckduckgo"], url="http://engines.test/html/")
    return (await Keyless(pages, worker, KeylessSettings(engines=(engine,))).find(SearchQuery(query="x"))).items


async def _wikipedia(pages: PageClient, worker: Worker) -> object:
    return await Wikipedia(pages, worker).extract(FetchRequest(url="https://en.wikipedia.org/wiki/Footbridge"))


async def _stackexchange(pages: PageClient, worker: Worker) -> object:
    return await StackExchange(pages, worker).extract(FetchRequest(url="https://stackoverflow.com/q/11"))


async def _arxiv(pages: PageClient, worker: Worker) -> object:
    return await Arxiv(pages, worker).extract(FetchRequest(url="https://arxiv.org/abs/2606.01234"))


async def _github(pages: PageClient, worker: Worker) -> object:
    reader = GitHub(pages, Http(FakeCredentials({})), worker, GitHubSettings())
    return await reader.extract(FetchRequest(url="https://github.com/acme/footbridge/blob/main/README.md"))


async def _reader(pages: PageClient, worker: Worker) -> object:
    return await LocalReader(pages, worker).extract(FetchRequest(url="http://site.test/"))


async def _mapper(pages: PageClient, worker: Worker) -> object:
    mapper = LocalMapper(pages, Robots(pages), worker, ignore_robots=True)
    return (await mapper.map(MapRequest(url="http://site.test/", max_depth=1))).links


async def _sitemaps(pages: PageClient, worker: Worker) -> object:
    walk = Sitemaps(pages, worker, lambda _: True)
    await walk.read(["http://site.test/sitemap.xml"])
    return walk.found


PLACES: Mapping[str, Place] = {
    "result page": Place("keyless", _keyless, HIT.format),
    "article": Place(
        "wikipedia", _wikipedia, lambda text: json.dumps({"parse": {"title": "T", "text": text}}), "application/json"
    ),
    "question": Place(
        "stackexchange",
        _stackexchange,
        lambda text: json.dumps({"items": [{**POST, "body": text}]}),
        "application/json",
        heavy=HEAVY[:1_500_000],
    ),
    "paper": Place("arxiv", _arxiv, FEED.format, "application/atom+xml", heavy="<category term='a'/>" * 480_000),
    "file of a repository": Place("github", _github, kind="text/plain", heavy="[a](https://b.example/c) " * 400_000),
    "page": Place("local", _reader),
    "links of a page": Place("local", _mapper, heavy="<a href=/x>y</a>" * 600_000),
    "sitemap": Place(
        "local",
        _sitemaps,
        lambda text: f"<urlset><url><loc>/a</loc></url>{text}</urlset>",
        "application/xml",
        heavy="<x/>" * 5_000_000,
    ),
}


class _Wire(httpx.AsyncBaseTransport):
    """Sends one body whatever is asked."""

    def __init__(self, body: str, kind: str) -> None:
        self._body, self._kind = body.encode(), kind

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": self._kind}, content=self._pieces(), request=request)

    async def _pieces(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), PIECE_BYTES):
            yield self._body[at : at + PIECE_BYTES]


@asynccontextmanager
async def sending(place: Place, text: str) -> AsyncIterator[PageClient]:
    """A client that gets the place's body around `text`."""
    pages = PageClient(transport=_Wire(place.body(text), place.kind))
    try:
        yield pages
    finally:
        await pages.aclose()


async def main() -> None:
    """Ask every place for an honest piece."""
    worker = Worker(processes=1)
    for name, place in PLACES.items():
        async with sending(place, HONEST) as pages:
            assert await place.ask(pages, worker), name
    await worker.aclose()
    print(json.dumps({"places": len(PLACES), "parsers": [name for name in PARSERS if name in sys.modules]}))


if __name__ == "__main__":
    asyncio.run(main())  # noqa: TID251 - a program of its own
