"""Result pages of public search engines: DuckDuckGo without scripts, Mojeek and Bing, each with its block page.

The structure follows what programs that read these pages looked for on 30 November 2026; titles, texts and addresses are our own.
Both the check for humans and an honest "nothing found" may come with status 200 and 202.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from html import escape
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams.script import Script, Step
from upstreams.simulator import Simulator
from upstreams.sources import Source, invented

PATHS = {"duckduckgo": "/html/", "mojeek": "/search", "bing": "/bing/search"}
TILE = (
    '<div class="anomaly-modal__box" data-index="{at}"><button class="anomaly-modal__image_btn" name="img_click">'
    + "x" * 900
    + "</button></div>"
)


class ResultPagesUpstream(Simulator):
    """All three engines on one host, by path.

    Args:
        sources: what each engine finds, best first, by its name; by default invented from the query.
        shown: what each engine shows, by its name: `results`, `nothing`, `check`, or HTML of the test's own.
        code: status of every page.
    """

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        sources: Mapping[str, Sequence[Source]] | None = None,
        shown: Mapping[str, str] | None = None,
        code: int = 200,
    ) -> None:
        super().__init__(script=script, paths=paths)
        self.sources = dict(sources or {})
        self.shown = dict(shown or {})
        self.code = code

    def routes(self) -> list[BaseRoute]:
        return [Route(path, self._showing(name)) for name, path in PATHS.items()]

    def asked(self, engine: str) -> int:
        """How often an engine was asked."""
        return sum(request.path == PATHS[engine] for request in self.requests)

    def _showing(self, engine: str) -> Callable[[Request], object]:
        async def show(request: Request) -> Response:
            return Response(self._page(engine, request.query_params["q"]), self.code, None, "text/html; charset=utf-8")

        return show

    def _page(self, engine: str, query: str) -> str:
        shown = self.shown.get(engine, "results")
        if shown == "results":
            return results(engine, query, self.sources.get(engine, invented(query)))
        return {"nothing": nothing, "check": check}[shown](engine, query) if shown in {"nothing", "check"} else shown


def results(engine: str, query: str, sources: Sequence[Source]) -> str:
    """A page of results, with an advertisement on top."""
    make = {"duckduckgo": _duckduckgo_hit, "mojeek": _mojeek_hit, "bing": _bing_hit}[engine]
    hits = "\n".join(make(source) for source in sources)
    head = f"<!doctype html><html><head><title>{escape(query)} at {engine}</title></head><body>"
    form = f'<form id="search_form"><input name="q" value="{escape(query)}"></form>'
    body = {
        "duckduckgo": f'<div id="links" class="results">{_advertisement()}{hits}</div>',
        "mojeek": f'<div class="results"><ul class="results-standard">{hits}</ul></div>' if sources else "",
        "bing": f'<ol id="b_results"><li class="b_ad"><h2><a href="https://www.bing.com/aclick?ld=x">Buy</a></h2></li>{hits}</ol>',
    }
    return f"{head}{form}{body[engine]}</body></html>"


def nothing(engine: str, query: str) -> str:
    """The honest page of an engine that found nothing; it repeats the query."""
    told = {
        "duckduckgo": '<div id="links" class="results"><div class="result result--no-result"><div class="no-results">No results.'
        "</div></div></div>",
        "mojeek": f'<div class="results"><p>No pages found matching: <strong>{escape(query)}</strong></p></div>',
        "bing": f'<ol id="b_results"><li class="b_no"><h1>There are no results for <strong>{escape(query)}</strong></h1></li></ol>',
    }
    return f"<!doctype html><html><head><title>{escape(query)}</title></head><body>{told[engine]}</body></html>"


def check(engine: str, query: str) -> str:
    """The check for humans of an engine, in DuckDuckGo's case of about 14 kB."""
    tiles = "".join(TILE.replace("{at}", str(at)) for at in range(9))
    told = {
        "duckduckgo": '<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&cc=sre" method="POST">'
        '<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>'
        f'<div class="anomaly-modal__description">Please complete the following challenge.</div>{tiles}</form>',
        "mojeek": '<div class="captcha"><h1>Automated queries</h1><form method="post"><input name="answer"></form></div>',
        "bing": '<div class="captcha"><h1>One last step</h1><iframe src="https://www.bing.com/turing/captcha/challenge"></iframe></div>',
    }
    return f"<!doctype html><html><head><title>{escape(query)}</title></head><body>{told[engine]}</body></html>"


def _duckduckgo_hit(source: Source) -> str:
    link = f"//duckduckgo.com/l/?uddg={quote(source.url, safe='')}&amp;rut=0123abc"
    return (
        '<div class="result results_links results_links_deep web-result"><div class="links_main links_deep result__body">'
        f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">{escape(source.title)}</a></h2>'
        f'<a class="result__snippet" href="{link}">{escape(source.text)}</a></div></div>'
    )


def _advertisement() -> str:
    return (
        '<div class="result results_links results_links_deep result--ad web-result"><h2 class="result__title">'
        '<a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy a bridge</a></h2></div>'
    )


def _mojeek_hit(source: Source) -> str:
    url = escape(source.url)
    return f'<li class="r1"><a class="ob" href="{url}">{url}</a><h2><a class="title" href="{url}">{escape(source.title)}</a></h2><p class="s">{escape(source.text)}</p></li>'


def _bing_hit(source: Source) -> str:
    packed = base64.urlsafe_b64encode(source.url.encode()).decode().rstrip("=")
    link = f"https://www.bing.com/ck/a?!&amp;&amp;p=0123&amp;u=a1{packed}&amp;ntb=1"
    return f'<li class="b_algo"><h2><a href="{link}">{escape(source.title)}</a></h2><div class="b_caption"><p>{escape(source.text)}</p></div></li>'
