"""A small web of pages: the site of an invented library, with the faults that real sites have.

`build_site()` gives the whole site, `build_site({"/x": Page("…")})` adds or replaces pages, `PagesSite({...})` has
nothing but what it is given. A path may also lead to a step or a script: `{"/flaky": Script(status(503), ok("…"))}`.

`{{base}}` in a text is replaced by scheme and host of the request, so that sitemaps can hold whole addresses.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams.exchange import Recorded
from upstreams.script import Script, Step, answering, delay, html_page
from upstreams.simulator import Simulator

HTML = "text/html; charset=utf-8"
FRAGMENTS = Path(__file__).resolve().parent / "site"
BASE = b"{{base}}"
CHARSET_AFTER_BYTES = 13_000
DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} | Tidepool</title>
<meta name="description" content="{title}, from the documentation of an invented task queue.">
<link rel="canonical" href="{{{{base}}}}{path}">
<link rel="alternate" type="application/rss+xml" href="/feed.xml">
<style>nav a {{ margin-right: 1em }}</style>
</head>
<body>
<header><a href="/">Tidepool</a>
<nav><a href="/docs/">Docs</a> <a href="/docs/install">Install</a> <a href="/docs/quickstart">Quickstart</a>
<a href="/docs/tasks">Tasks</a> <a href="/docs/retries">Retries</a> <a href="/docs/api">API</a>
<a href="/blog/release-2-0">Blog</a></nav></header>
<div class="cookie-banner" role="dialog">We use two cookies. <button>Accept</button></div>
<main><article>
{content}
</article></main>
<aside><h2>Newsletter</h2><p>Subscribe for one letter a year.</p></aside>
<footer><p>Tidepool is free software. <a href="/private/notes">Notes</a> <a href="/docs/faq">Questions</a></p></footer>
<script>window.visited = true;</script>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Page:
    """One address of a site. `gzipped` serves the body as a `.gz` file, not as a content encoding."""

    body: bytes | str = b""
    content_type: str = HTML
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    gzipped: bool = False

    def response(self, base_url: str) -> Response:
        """The page as a server at this address sends it."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        body = body.replace(BASE, base_url.encode())
        body = gzip.compress(body, mtime=0) if self.gzipped else body
        return Response(body, self.status, {**self.headers, "content-type": self.content_type})


Served = Page | Step | Script | str


class PagesSite(Simulator):
    """A site of exactly these pages; everything else is a 404 page.

    Keys are paths, or paths with a query string where the query matters. A `str` is the whole HTML of a page.
    """

    def __init__(self, pages: Mapping[str, Served], *, script: Script | Step | None = None) -> None:
        super().__init__(script=script)
        self.acts = {
            path: page if isinstance(page, Script) else Script(page)
            for path, page in pages.items()
            if isinstance(page, Step | Script)
        }
        self.pages = {
            path: Page(page) if isinstance(page, str) else page
            for path, page in pages.items()
            if not isinstance(page, Step | Script)
        }

    def routes(self) -> list[BaseRoute]:
        return [Route("/{path:path}", self._page, methods=["GET"])]

    def _step(self, request: Recorded) -> Step:
        act = self.acts.get(request.path)
        return super()._step(request) if act is None else act.next()

    async def _page(self, request: Request) -> Response:
        path = request.url.path
        found = self.pages.get(f"{path}?{request.url.query}", self.pages.get(path))
        page = found or Page(_document("Page not found", "<p>There is nothing here.</p>", path), status=404)
        return page.response(f"{request.url.scheme}://{request.url.netloc}")


def build_site(pages: Mapping[str, Served] | None = None, *, slow_s: float = 2.0) -> PagesSite:
    """The documentation site with all its faults, plus these pages. `/slow` answers after `slow_s` seconds."""
    return PagesSite({**documentation(), **_for_machines(), **_faults(slow_s), **(pages or {})})


def documentation() -> dict[str, Served]:
    """The thirteen pages that people read: documents with code, tables, lists, and links to each other."""
    return {_path_of(file): Page(_framed(file)) for file in sorted(FRAGMENTS.rglob("*.html"))}


def article(title: str, content: str, *, path: str = "/") -> Page:
    """A page of this site around some HTML of the test's own."""
    return Page(_document(title, content, path))


# --------------------------------------------------------------------------- pages for machines


def _for_machines() -> dict[str, Served]:
    docs = [path for path in documentation() if not path.startswith("/blog/")]
    blog = [path for path in documentation() if path.startswith("/blog/")]
    return {
        "/robots.txt": Page(ROBOTS, "text/plain; charset=utf-8"),
        "/sitemap.xml": Page(_sitemap_index("/sitemap-docs.xml", "/sitemap-blog.xml.gz"), "application/xml"),
        "/sitemap-docs.xml": Page(_sitemap(docs), "application/xml"),
        "/sitemap-blog.xml.gz": Page(_sitemap(blog), "application/gzip", gzipped=True),
        "/feed.xml": Page(FEED, "application/rss+xml; charset=utf-8"),
        "/atom.xml": Page(ATOM, "application/atom+xml; charset=utf-8"),
        "/notes.txt": Page("Tidepool notes\n\n* 900 tasks a second\n* one SQLite file\n", "text/plain; charset=utf-8"),
        "/docs/quickstart.md": Page(
            "# Quickstart\n\nWrite a task:\n\n```python\n@queue.task\n```\n", "text/markdown; charset=utf-8"
        ),
        "/api/tasks.json": Page(
            '{"tasks": [{"name": "resize", "waiting": 3}, {"name": "rotate", "waiting": 0}]}', "application/json"
        ),
        "/logo.png": Page(PNG, "image/png"),
    }


def _sitemap_index(*paths: str) -> str:
    rows = "".join(f"<sitemap><loc>{{{{base}}}}{path}</loc></sitemap>" for path in paths)
    return f'<?xml version="1.0" encoding="UTF-8"?><sitemapindex xmlns="{SITEMAPS}">{rows}</sitemapindex>'


def _sitemap(paths: list[str]) -> str:
    rows = "".join(f"<url><loc>{{{{base}}}}{path}</loc><lastmod>2026-11-14</lastmod></url>" for path in paths)
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{SITEMAPS}">{rows}</urlset>'


SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
ROBOTS = """User-agent: *
Disallow: /private/
Allow: /

User-agent: GreedyBot
Disallow: /

Sitemap: {{base}}/sitemap.xml
"""
FEED = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>Tidepool news</title><link>{{base}}/</link><description>Releases</description>
<item><title>Tidepool 2.0</title><link>{{base}}/blog/release-2-0</link><pubDate>Sat, 14 Nov 2026 09:30:00 GMT</pubDate>
<description>Version 2.0 is out &amp; forgets results after a day.</description></item>
<item><title>Tidepool 1.9</title><link>{{base}}/docs/changelog#v1-9-0</link><pubDate>Tue, 02 Jun 2026 08:00:00 GMT</pubDate>
<description><![CDATA[<p>New: <b>tidepool backup</b>.</p>]]></description></item>
</channel></rss>
"""
ATOM = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>Tidepool news</title><id>{{base}}/</id><updated>2026-11-14T09:30:00Z</updated>
<entry><title>Tidepool 2.0</title><id>{{base}}/blog/release-2-0</id><link href="{{base}}/blog/release-2-0"/>
<updated>2026-11-14T09:30:00Z</updated><summary>Version 2.0 is out.</summary></entry></feed>
"""
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c635068580000020401415581"
    "b05d0000000049454e44ae426082"
)


# --------------------------------------------------------------------------- faults


def _faults(slow_s: float) -> dict[str, Served]:
    slow = _document("Slow", "<h1>Slow</h1><p>This page took its time.</p>", "/slow")
    return {
        "/docs/old-start": Page(status=301, headers={"location": "/docs/quickstart"}),
        "/for-now": Page(status=302, headers={"location": "/docs/install"}),
        "/loop-a": Page(status=302, headers={"location": "/loop-b"}),
        "/loop-b": Page(status=302, headers={"location": "/loop-a"}),
        "/gone": Page("<h1>Gone</h1><p>This page was removed.</p>", status=410),
        "/private/notes": article("Notes", "<h1>Notes</h1><p>Robots do not read this.</p>", path="/private/notes"),
        "/zh/guide": Page(_late_charset(), "text/html"),
        "/fr/guide": Page(_latin(), "text/html; charset=iso-8859-1"),
        "/mislabelled": Page(
            article("Größe", "<h1>Größe</h1><p>Ein Gerät mit größerem Speicher.</p>").body, "text/html; charset=gbk"
        ),
        "/app": Page(SCRIPT_SHELL),
        "/empty": Page(b""),
        "/blocked": html_page(code=403),
        "/slow": delay(slow_s, answering("slow page", lambda _: Response(slow, 200, None, "text/html"))),
    }


def _late_charset() -> bytes:
    """A GBK page that names its charset only after 13 kB of ASCII, where a reader of the first bytes misses it."""
    filler = "<!-- " + "x" * CHARSET_AFTER_BYTES + " -->"
    head = f'<html><head>{filler}<meta http-equiv="Content-Type" content="text/html; charset=gbk"><title>指南</title></head>'
    text = "<h1>任务队列指南</h1><p>任务是普通的异步函数，队列是一个文件。</p><p>工作进程每秒大约处理九百个任务。</p>"
    return f"{head}<body><article>{text}</article></body></html>".encode("gbk")


def _latin() -> bytes:
    text = "<h1>Guide de démarrage</h1><p>Une tâche est une fonction asynchrone; la file est un fichier à part.</p>"
    return f"<html lang=fr><head><title>Guide</title></head><body><article>{text}</article></body></html>".encode("iso-8859-1")


SCRIPT_SHELL = """<!doctype html><html><head><title>Tidepool dashboard</title><script src="/static/app.js" defer></script></head>
<body><div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript></body></html>
"""


# --------------------------------------------------------------------------- building documents


def _path_of(file: Path) -> str:
    name = file.relative_to(FRAGMENTS).with_suffix("").as_posix()
    return "/" + (name.removesuffix("index") if name.split("/")[-1] == "index" else name)


def _framed(file: Path) -> str:
    content = file.read_text(encoding="utf-8")
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", content)
    assert heading is not None, f"{file} has no heading"
    return _document(heading[1], content, _path_of(file))


def _document(title: str, content: str, path: str) -> str:
    return DOCUMENT.format(title=title, content=content, path=path)
