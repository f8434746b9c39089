"""The action API of one language's Wikipedia: `action=parse` and `action=query`, in format version 2.

Shapes follow mediawiki.org as of 30 November 2026; the articles are our own, with the marks that real ones carry: navigation
boxes, footnotes, edit links, formulas. Errors are 200 with an `error` object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams.exchange import json_response
from upstreams.script import Script, Step
from upstreams.simulator import Simulator

Json = dict[str, Any]
ARTICLE = """<div class="mw-content-ltr mw-parser-output" lang="en" dir="ltr">
<style data-mw-deduplicate="x">.mw-parser-output .hatnote{font-style:italic}</style>
<div role="note" class="hatnote navigation-not-searchable">For other uses, see <a href="/wiki/Bridge">Bridge</a>.</div>
<p class="mw-empty-elt"></p>
<table class="infobox"><tbody><tr><th>Material</th><td>Wood</td></tr><tr><th>Length</th><td>40 m</td></tr></tbody></table>
<p>A <b>footbridge</b> is a <a href="/wiki/Bridge" title="Bridge">bridge</a> for people on foot.<sup id="cite_ref-1"
class="reference"><a href="#cite_note-1">[1]</a></sup></p>
<div class="mw-heading mw-heading2"><h2 id="Load">Load</h2><span class="mw-editsection">[<a href="/w/index.php">edit</a>]</span></div>
<p>The load is <span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="display: none;"><math><mi>q</mi>
</math></span><img src="https://wikimedia.org/api/rest_v1/media/math/render/svg/1" class="mwe-math-fallback-image-inline"
alt="{\\displaystyle q=5}" /></span> kN.</p>
<figure><img src="//upload.wikimedia.org/bridge.jpg" alt="a bridge" /><figcaption>The bridge at dusk</figcaption></figure>
<div class="mw-heading mw-heading2"><h2 id="References">References</h2></div>
<div class="reflist"><ol class="references"><li id="cite_note-1">Some book.</li></ol></div>
<div class="navbox" role="navigation"><table><tr><td>Bridges of the world</td></tr></table></div>
</div>"""
ARTICLES = {
    "Footbridge": ARTICLE,
    "2001: A Space Odyssey": "<div class='mw-parser-output'><p>A film of 1968.</p></div>",
    "AC/DC": "<div class='mw-parser-output'><p>A band.</p></div>",
    "行人桥": "<div class='mw-parser-output'><p>行人桥是供行人使用的桥。</p></div>",
    "Blank": "<div class='mw-parser-output'><div class='navbox'>Only navigation</div></div>",
}


class WikipediaUpstream(Simulator):
    """`xx.wikipedia.org/w/api.php`.

    Args:
        articles: HTML by title.
        redirects: title by title.
        namespaces: number by the prefix of a title, as the language's wiki knows it.
    """

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        articles: Mapping[str, str] | None = None,
        redirects: Mapping[str, str] | None = None,
        namespaces: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(script=script)
        self.articles = dict(ARTICLES if articles is None else articles)
        self.redirects = dict({"Pedestrian bridge": "Footbridge"} if redirects is None else redirects)
        self.namespaces = dict({"Wikiprojekt": 102} if namespaces is None else namespaces)

    def routes(self) -> list[BaseRoute]:
        return [Route("/w/api.php", self._api)]

    async def _api(self, request: Request) -> Response:
        asked = request.query_params
        if asked.get("format") != "json" or asked.get("formatversion") != "2":
            return Response("<html>MediaWiki API help</html>", 200, None, "text/html")
        return json_response(self._parse(asked["page"]) if asked["action"] == "parse" else self._query(asked["titles"]))

    def _parse(self, title: str) -> Json:
        title = self.redirects.get(title, title)
        if title not in self.articles:
            return {"error": {"code": "missingtitle", "info": "The page you specified doesn't exist.", "docref": "See …"}}
        return {"parse": {"title": title, "pageid": 4711, "revid": 815, "text": self.articles[title]}}

    def _query(self, title: str) -> Json:
        namespace = self.namespaces.get(title.partition(":")[0], 0)
        page: Json = {"ns": namespace, "title": title}
        return {"batchcomplete": True, "query": {"pages": [page if title in self.articles else {**page, "missing": True}]}}
