"""arXiv's query API: an Atom feed with the papers of `id_list`.

Shapes follow the user's manual at info.arxiv.org as of 30 November 2026; the papers are our own. An unknown identifier is a feed
without entries, a malformed one a feed whose only entry reports the error, both with status 200.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams.script import Script, Step
from upstreams.simulator import Simulator

FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom"
      xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">
  <title type="html">ArXiv Query: search_query=&amp;id_list={identifier}</title>
  <id>http://arxiv.org/api/x</id>
  <opensearch:totalResults>1</opensearch:totalResults>
  {entry}
</feed>
"""
PAPER = """<entry>
    <id>http://arxiv.org/abs/{identifier}</id>
    <updated>2026-08-02T00:41:18Z</updated>
    <published>2026-06-12T17:57:34Z</published>
    <title>{title}</title>
    <summary>  Bridges are
closed &amp; opened. We show how.
    </summary>
    <author><name>Ada Example</name></author>
    <author><name>Björn Beispiel</name></author>
    <arxiv:comment>15 pages, 5 figures</arxiv:comment>
    <arxiv:journal_ref>Journal of Bridges 4 (2026)</arxiv:journal_ref>
    <arxiv:doi>10.5555/example</arxiv:doi>
    <arxiv:primary_category term="cs.CL" scheme="http://arxiv.org/schemas/atom"/>
    <category term="cs.LG" scheme="http://arxiv.org/schemas/atom"/>
    <category term="cs.CL" scheme="http://arxiv.org/schemas/atom"/>
    <link href="http://arxiv.org/abs/{identifier}" rel="alternate" type="text/html"/>
    <link title="pdf" href="http://arxiv.org/pdf/{identifier}" rel="related" type="application/pdf"/>
  </entry>"""
ERROR = """<entry>
    <id>http://arxiv.org/api/errors#incorrect_id_format_for_x</id>
    <title>Error</title>
    <summary>incorrect id format</summary>
  </entry>"""


class ArxivUpstream(Simulator):
    """`export.arxiv.org/api/query`.

    Args:
        title: of every paper.
        missing: identifiers without a paper.
        malformed: identifiers that the API does not take for ones.
    """

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        title: str = "All About\n  Footbridges",
        missing: tuple[str, ...] = (),
        malformed: tuple[str, ...] = (),
    ) -> None:
        super().__init__(script=script)
        self.title = title
        self.missing = missing
        self.malformed = malformed

    def routes(self) -> list[BaseRoute]:
        return [Route("/api/query", self._query)]

    async def _query(self, request: Request) -> Response:
        identifier = request.query_params["id_list"]
        entry = "" if identifier in self.missing else ERROR if identifier in self.malformed else PAPER
        filled = entry.replace("{identifier}", escape(identifier)).replace("{title}", escape(self.title))
        feed = FEED.replace("{identifier}", escape(identifier)).replace("{entry}", filled)
        return Response(feed.encode(), 200, None, "application/atom+xml; charset=UTF-8")
