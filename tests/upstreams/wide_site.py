"""A generated site of several hundred pages with the traps of real ones, whose true list of pages is known.

The documentation is a tree, the blog is reached through monthly archives, the shop through lists with parameters, the news
through numbered lists. Around them: a calendar that never ends, addresses with session ids, relative links that go round,
redirects in chains, in circles, to other hosts and into the forbidden, links marked `nofollow`, dead links, files for machines,
and a robots.txt. `forbidden_hits` counts the requests that a polite crawler does not make.
"""

from __future__ import annotations

import gzip
import itertools
import random
from collections.abc import Iterable, Sequence

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from upstreams.simulator import Simulator

ROBOTS = """\
User-agent: *
Disallow: /private/
Disallow: /search
Disallow: /*.cgi$
Allow: /private/welcome
"""
SITEMAPS = """
Sitemap: {base}/sitemaps/index.xml
Sitemap: {base}/sitemaps/feed.atom
"""
DISALLOWED = ("/private/", "/search")
NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
EXTRAS = (
    "<lastmod>2026-11-01</lastmod>",
    "<image:image><image:loc>{base}/logo.png</image:loc></image:image>",
    "<news:news><news:publication><news:name>Paper</news:name></news:publication><news:title>A &amp; B</news:title></news:news>",
    "<video:video><video:player_loc>{base}/player</video:player_loc></video:video>",
    '<xhtml:link rel="alternate" hreflang="de" href="{base}/de"/>',
)


class WideSite(Simulator):
    """The site; with `sitemaps` it lists itself in files of every kind, without it only links lead to its pages."""

    def __init__(self, *, sitemaps: bool, seed: int = 1) -> None:
        super().__init__()
        self._chance = random.Random(seed)
        self._sitemaps = sitemaps
        self._visits = itertools.count()
        self._links = _tree(self._chance)

    @property
    def pages(self) -> list[str]:
        """The paths of all pages of the site, traps left out."""
        return list(self._links)

    @property
    def forbidden_hits(self) -> list[str]:
        """Requests for what robots.txt forbids, and for what only a link marked `nofollow` leads to."""
        asked = [request.path for request in self.requests]
        return [path for path in asked if _is_forbidden(path) or path.startswith("/unfollowed/")]

    def routes(self) -> list[BaseRoute]:
        return [Route("/{path:path}", self._answer, methods=["GET"])]

    async def _answer(self, request: Request) -> Response:
        base = f"{request.url.scheme}://{request.url.netloc}"
        path, query = request.url.path, request.url.query
        page = f"{path}?{query}" if query and not query.startswith("sid=") else path
        if path == "/robots.txt":
            return Response(ROBOTS + (SITEMAPS.format(base=base) if self._sitemaps else ""), media_type="text/plain")
        if page in self._links:
            return self._document(page, self._links[page])
        if self._sitemaps and path.startswith("/sitemaps/"):
            return self._sitemap(path.removeprefix("/sitemaps/"), base)
        return self._trap(path, query, base)

    def _document(self, path: str, links: Iterable[str], head: str = "") -> Response:
        """A page; on every third one the links carry the session of this visit."""
        visit = next(self._visits)

        def href(link: str) -> str:
            if visit % 3 or link not in self._links:
                return link
            return f"{link}{'&amp;' if '?' in link else '?'}sid={visit:08x}"

        items = "".join(f'<li><a href="{href(link)}">{_words(link)}</a></li>' for link in [*links, *TRAPS])
        body = f"<h1>{_words(path)}</h1><p>{'A sentence about the matter of this page. ' * 8}</p><ul>{items}</ul>"
        html = f"<!doctype html><html><head><title>{_words(path)}</title>{head}</head><body>{body}{UNFOLLOWED}</body></html>"
        return Response(html, media_type="text/html")

    # --- what lists the site

    def _sitemap(self, name: str, base: str) -> Response:
        """One file of each kind; together they list every page."""
        docs, blog, shop, news = (
            [path for path in self._links if path.startswith(f"/{part}")] for part in ("docs", "blog", "shop", "news")
        )
        others = [path for path in self._links if not path.startswith(("/docs", "/blog", "/shop", "/news"))]
        elsewhere = [*others, "/private/secret", "//other.example/page", "/logo.png"]
        match name:
            case "index.xml":
                return _xml(_index(base, ["/sitemaps/nested.xml", "/sitemaps/others.xml", "/sitemaps/gone.xml"]))
            case "nested.xml":
                names = ("docs.xml.gz", "blog.xml", "shop.txt", "news.rss")
                return Response(
                    b"\xef\xbb\xbf" + _index(base, [f"/sitemaps/{each}" for each in names]).encode(), media_type="text/html"
                )
            case "docs.xml.gz":
                return Response(gzip.compress(_urlset(base, docs).encode(), mtime=0), media_type="application/octet-stream")
            case "blog.xml":
                return Response(_urlset(base, blog).encode("utf-16"), media_type="application/xml")
            case "shop.txt":
                return Response("\r\n".join(base + path for path in shop), media_type="application/xml")
            case "news.rss":
                items = "".join(f"<item><title>{_words(path)}</title><link>{base}{path}</link></item>" for path in news)
                return _xml(f'<rss version="2.0"><channel><link>{base}/</link>{items}</channel></rss>')
            case "others.xml":
                return _xml(_urlset(base, elsewhere))
            case "feed.atom":
                entries = "".join(f'<entry><link rel="alternate" href="{path}"/></entry>' for path in others)
                return _xml(f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>')
            case _:
                return _missing()

    # --- traps

    def _trap(self, path: str, query: str, base: str) -> Response:
        head, _, rest = path.lstrip("/").partition("/")
        match head:
            case "calendar":
                year, _, month = rest.strip("/").partition("/")
                number = int(year or 2026) * 12 + int(month or 1)
                links = [f"/calendar/{(number + step) // 12}/{(number + step) % 12 + 1}/" for step in (-1, 1)]
                return self._document(path, links)
            case "round":
                return self._document(path, ["deeper/", "round/deeper/", "./again/"])
            case "moved":
                return RedirectResponse({"1": "/moved/2", "2": "/docs/", "circle": "/moved/circle"}.get(rest, "/"), 301)
            case "into":
                return RedirectResponse("/private/secret", 302)
            case "away":
                return RedirectResponse("http://other.example/", 302)
            case "quiet":
                return self._document(path, ["/unfollowed/by-meta"], head='<meta name="robots" content="noindex, nofollow">')
            case "private" | "search" | "unfollowed":
                return self._document(path, [f"/private/{query or 'more'}"])
            case _:
                return _missing()


TRAPS = (
    "/calendar/2026/11/", "/round/", "/moved/1", "/moved/circle", "/into/private", "/away", "/quiet", "/private/secret", "/search?q=a",
    "/tool.cgi", "/dead", "/logo.png", "mailto:a@b.example", "javascript:void(0)", "http://other.example/", "#top",
)  # fmt: skip
UNFOLLOWED = '<a rel="sponsored nofollow" href="/unfollowed/by-link">not this way</a>'


def _tree(chance: random.Random) -> dict[str, list[str]]:
    """Path → links to other pages. Every page is within four links of the start."""
    links: dict[str, list[str]] = {"/": ["/docs/", "/blog/", "/shop/", "/news/", "/about", "/关于", "/private/welcome"]}
    links |= {"/about": ["/"], "/关于": ["/about"], "/private/welcome": ["/"]}
    chapters = [f"/docs/chapter-{chapter}/" for chapter in range(1, 13)]
    links["/docs/"] = chapters
    for chapter in chapters:
        links[chapter] = [f"{chapter}section-{section}" for section in range(1, 10)]
        links |= {section: [chapter, chance.choice(chapters)] for section in links[chapter]}
    months = [f"/blog/2026/{month:02}/" for month in range(1, 13)]
    links["/blog/"] = months
    for month in months:
        links[month] = [f"{month}{day:02}-story-of-the-day" for day in range(2, 10)]
        links |= {story: ["/blog/", chance.choice(months)] for story in links[month]}
    lists = [f"/shop/list?kind={kind}" for kind in ("lamp", "rope", "sail", "tar")]
    links["/shop/"] = lists
    for number, each in enumerate(lists):
        links[each] = [f"/shop/item?id={number * 20 + item}" for item in range(20)]
        links |= {item: [each] for item in links[each]}
    numbered = ["/news/", *(f"/news/page/{number}" for number in range(2, 4))]
    for number, each in enumerate(numbered):
        links[each] = [*numbered, *(f"/news/{chance.getrandbits(20):05x}-item-{number}-{item}" for item in range(15))]
        links |= {item: [each] for item in links[each] if "-item-" in item}
    return links


def _is_forbidden(path: str) -> bool:
    return path != "/private/welcome" and (path.startswith(DISALLOWED) or path.endswith(".cgi"))


def _index(base: str, names: Sequence[str]) -> str:
    rows = "".join(f"<sitemap><loc>{base}{name}</loc></sitemap>" for name in names)
    return f'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</sitemapindex>'


def _urlset(base: str, paths: Sequence[str]) -> str:
    rows = "".join(
        f"<url>{extra.format(base=base)}<loc>{path if path.startswith('//') else base + path.replace('&', '&amp;')}</loc></url>"
        for path, extra in zip(paths, itertools.cycle(EXTRAS))
    )
    return f"<urlset {NAMESPACES}>{rows}</urlset>"


def _xml(text: str) -> Response:
    return Response(text, media_type="application/xml")


def _missing() -> Response:
    return Response("<html><title>Not found</title><p>There is nothing here.</p></html>", 404, media_type="text/html")


def _words(path: str) -> str:
    return path.strip("/").replace("/", " ").replace("-", " ").replace("&", "+") or "Start"
