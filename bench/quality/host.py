"""The generated web on one loopback port: its pages, its search, and an answer engine that knows no more than they do.

- `GET /search?format=json` answers as a SearXNG instance; `engines` narrows it to one of `finder.ENGINES`.
- A request for any other host, as a proxy gets it, answers with that host's page.
- `POST /v2/scrape` reads a page as Firecrawl does, without fault, for programs that read by a service only.
- `POST /v1/chat/completions` is the answer engine. With `found` in its request it answers from that alone; else it searches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.types import Receive, Scope, Send

from quality.finder import ENGINES, Finder, Hit
from quality.stand_in import answered
from quality.web import Question, World

__all__ = ["GeneratedWeb", "running"]

OWN_SEARCH_PAGES = 5


class GeneratedWeb:
    """An ASGI app over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.finder = Finder(world)
        self.fetched: list[str] = []
        """Addresses that were asked for, in order."""
        self.prompts: list[str] = []
        """User messages that the engine got."""
        self._questions = {question.text: question for question in world.questions}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        target = urlsplit(scope["path"] if "://" in scope["path"] else f"http://{headers.get('host', '')}{scope['path']}")
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()}
        status, kind, body = self._reply(target.netloc, target.path, query, await _body(receive))
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind.encode())]})
        await send({"type": "http.response.body", "body": body})

    def _reply(self, host: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
        if host.partition(":")[0].endswith(".example"):
            return self._page(f"http://{host}{path}")
        if path.endswith("/chat/completions"):
            return 200, "text/event-stream", self._completion(json.loads(body))
        if path.endswith("/scrape"):
            return _json(self._scraped(json.loads(body)["url"]))
        if path.endswith("/config"):
            return _json({"engines": [{"name": name, "enabled": True} for name in ENGINES]})
        if path.endswith("/search"):
            return _json(self._found(query))
        return 404, "text/plain", b"no such page"

    def _page(self, url: str) -> tuple[int, str, bytes]:
        self.fetched.append(url)
        document = self.world.of(url)
        if document is None:
            return 404, "text/plain", b"no such page"
        if document.status != 200:
            return document.status, "text/html", b"<title>Refused</title><p>Not for robots.</p>"
        declared = f"; charset={document.charset}" if document.question % 2 else ""
        return 200, f"text/html{declared}", document.body()

    def _found(self, query: dict[str, str]) -> dict[str, Any]:
        text = query.get("q", "")
        engines = tuple(name for name in query.get("engines", "").split(",") if name) or ENGINES
        hits = self.finder.search(text, engines=engines) if query.get("pageno", "1") == "1" else []
        return {
            "query": text,
            "results": [_result(hit, place) for place, hit in enumerate(hits, start=1)],
            "unresponsive_engines": [],
        }

    def _scraped(self, url: str) -> dict[str, Any]:
        document = self.world.of(url)
        if document is None or document.status != 200:
            return {"success": False, "error": "the page could not be read"}
        metadata = {"title": document.title, "sourceURL": url, "statusCode": 200}
        return {"success": True, "data": {"markdown": document.text, "metadata": metadata}}

    def _completion(self, asked: dict[str, Any]) -> bytes:
        user = asked["messages"][-1]["content"]
        self.prompts.append(user)
        request = json.loads(user.partition("\n")[2])
        question = self._questions.get(request["query"])
        passages = list(_given(request)) or list(self._searched(request["query"]))
        text = _told(question, passages)
        chunk = {
            "object": "chat.completion.chunk",
            "model": asked["model"],
            "choices": [{"index": 0, "delta": {"content": text}}],
        }
        end = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        return b"".join(f"data: {json.dumps(part)}\n\n".encode() for part in (chunk, end)) + b"data: [DONE]\n\n"

    def _searched(self, query: str) -> Iterator[tuple[str, str]]:
        for hit in self.finder.search(query)[:OWN_SEARCH_PAGES]:
            yield hit.document.url, hit.snippet


@contextmanager
def running(world: World) -> Iterator[tuple[str, GeneratedWeb]]:
    """The web on a free loopback port: its base address, which is also its proxy's, and the app."""
    from upstreams.serve import serving

    app = GeneratedWeb(world)
    with serving(app) as base:
        yield base, app


def _given(request: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for entry in request.get("found") or ():
        yield entry.get("url", ""), f"{entry.get('title', '')}. {entry.get('text', '')}"


def _told(question: Question | None, passages: list[tuple[str, str]]) -> str:
    if question is None:
        return "The question is not one of this web."
    reply = answered(question, "\n".join(text for _, text in passages))
    words = " ".join(reply.text.split())
    cited = next((url for url, text in passages if words in " ".join(text.replace("\u00a0", " ").split())), "")
    return f"{words} [source]({cited})" if cited else words


def _result(hit: Hit, place: int) -> dict[str, Any]:
    document = hit.document
    return {
        "url": document.url,
        "title": document.title,
        "content": hit.snippet,
        "publishedDate": f"{document.published}T08:00:00" if document.published else None,
        "engine": hit.engines[0],
        "engines": list(hit.engines),
        "positions": list(hit.positions),
        "score": round(len(hit.engines) / place, 4),
        "category": "general",
    }


def _json(value: object) -> tuple[int, str, bytes]:
    return 200, "application/json", json.dumps(value, ensure_ascii=False).encode()


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body
