"""A SearXNG instance: `/search` with its JSON format, `/config`, and the refusal where that format is off.

Shapes follow docs.searxng.org as of 30 November 2026; hits are invented from the query. An instance does not limit hits to the
hosts of `site:` terms by itself, and has no parameter for their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams.exchange import json_response
from upstreams.script import Script, Step
from upstreams.simulator import Simulator
from upstreams.sources import Source, invented

FORBIDDEN = (
    "<!doctype html>\n<html lang=en>\n<title>403 Forbidden</title>\n<h1>Forbidden</h1>\n<p>You don't have the permission.</p>\n"
)


class SearXngUpstream(Simulator):
    """An instance at the root of its host.

    Args:
        formats: the formats that are on.
        sources: what a search finds, best first; by default invented from the query.
        unresponsive: engines that did not answer, with their reasons.
        engines: who found the pages, in turn.
    """

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        formats: Sequence[str] = ("html", "json"),
        sources: Sequence[Source] | None = None,
        unresponsive: Sequence[tuple[str, str]] = (),
        engines: Sequence[str] = ("mojeek",),
    ) -> None:
        super().__init__(script=script, paths=paths)
        self.formats = tuple(formats)
        self.sources = sources
        self.unresponsive = tuple(unresponsive)
        self.engines = tuple(engines)

    def routes(self) -> list[BaseRoute]:
        return [Route("/search", self._search), Route("/config", self._config)]

    async def _search(self, request: Request) -> Response:
        asked = request.query_params
        if asked.get("format", "html") not in self.formats:
            return Response(FORBIDDEN, 403, None, "text/html; charset=utf-8")
        if asked.get("time_range", "") not in {"", "day", "week", "month", "year"}:
            return Response(FORBIDDEN.replace("403", "400"), 400, None, "text/html; charset=utf-8")
        found = list(invented(asked["q"]) if self.sources is None else self.sources)
        return json_response(
            {
                "query": asked["q"],
                "number_of_results": 0,
                "results": [
                    _result(source, rank, self.engines[rank % len(self.engines)]) for rank, source in enumerate(found, 1)
                ],
                "answers": [],
                "corrections": [],
                "infoboxes": [],
                "suggestions": [],
                "unresponsive_engines": [list(pair) for pair in self.unresponsive],
            }
        )

    async def _config(self, _: Request) -> Response:
        engines = [
            {"name": "duckduckgo", "enabled": True},
            {"name": "mojeek", "enabled": True},
            {"name": "bing", "enabled": False},
        ]
        return json_response({"instance_name": "SearXNG", "categories": ["general"], "engines": engines, "version": "2026.11.2"})


def _result(source: Source, rank: int, engine: str) -> dict[str, Any]:
    return {
        "url": source.url,
        "title": source.title,
        "content": source.text,
        "publishedDate": source.published.isoformat() if source.published else None,
        "engine": engine,
        "engines": [engine],
        "positions": [rank],
        "score": 1.0 / rank,
        "category": "general",
        "template": "default.html",
        "parsed_url": [*urlsplit(source.url), ""],
    }
