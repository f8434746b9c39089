"""The site of pages is a whole small web: linked documents, files for machines, and the faults of real sites."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import httpx
import lxml.etree
import lxml.html
import pytest

from upstreams.pages import CHARSET_AFTER_BYTES, Page, PagesSite, build_site, documentation
from upstreams.script import Script, ok, status
from upstreams.serve import serving, transport

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def site() -> Iterator[httpx.Client]:
    with serving(build_site(slow_s=0)) as url, httpx.Client(base_url=url) as client:
        yield client


def links(page: httpx.Response) -> set[str]:
    """Paths on the same host that a page links to."""
    anchors = lxml.html.fromstring(page.content).iter("a")
    found = {urljoin(str(page.url), anchor.get("href", "")) for anchor in anchors}
    return {urlsplit(url).path for url in found if urlsplit(url).netloc == page.url.netloc.decode()}


def test_every_document_is_reached_from_the_front_page_and_no_link_is_dead(site: httpx.Client) -> None:
    seen, left = set[str](), ["/"]
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        page = site.get(path)
        assert page.status_code == 200, path
        left.extend(links(page))
    assert seen == {*documentation(), "/private/notes"}
    assert len(documentation()) == 13


def test_the_documents_have_code_tables_lists_and_headings(site: httpx.Client) -> None:
    everything = "".join(site.get(path).text for path in documentation())
    for tag in ("<pre><code", "<table>", "<ul>", "<ol>", "<dl>", "<blockquote>", "<h2", "<h3"):
        assert everything.count(tag) >= 1, tag


def test_the_sitemap_index_leads_to_every_document_and_one_file_is_packed(site: httpx.Client) -> None:
    index = lxml.etree.fromstring(site.get("/sitemap.xml").content)
    files = [site.get(loc.text or "").content for loc in index.iter("{*}loc")]
    opened = [gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data for data in files]
    assert [data != plain for data, plain in zip(files, opened, strict=True)] == [False, True]
    paths = {urlsplit(url).path for data in opened for url in re.findall(r"<loc>(.*?)</loc>", data.decode())}
    assert paths == set(documentation())


def test_robots_txt_names_the_sitemap_by_its_whole_address(site: httpx.Client) -> None:
    robots = site.get("/robots.txt").text
    assert f"Sitemap: {site.base_url.scheme}://{site.base_url.netloc.decode()}/sitemap.xml" in robots
    assert "Disallow: /private/" in robots


def test_feeds_are_well_formed_and_hold_whole_addresses(site: httpx.Client) -> None:
    for path in ("/feed.xml", "/atom.xml"):
        text = site.get(path).content
        assert b"{{base}}" not in text
        assert lxml.etree.fromstring(text).find(".//{*}title") is not None


def test_the_gbk_page_names_its_charset_late(site: httpx.Client) -> None:
    page = site.get("/zh/guide")
    assert page.headers["content-type"] == "text/html"
    assert page.content.index(b"charset=gbk") > CHARSET_AFTER_BYTES
    assert page.content[:CHARSET_AFTER_BYTES].isascii()
    assert "任务队列指南" in page.content.decode("gbk")


def test_pages_lie_about_their_charset_or_tell_it_in_the_header_only(site: httpx.Client) -> None:
    assert "Une tâche" in site.get("/fr/guide").text
    assert "größerem" in site.get("/mislabelled").content.decode("utf-8")


def test_moved_missing_and_closed_pages_say_so(site: httpx.Client) -> None:
    moved = site.get("/docs/old-start")
    assert (moved.status_code, moved.headers["location"]) == (301, "/docs/quickstart")
    assert site.get("/docs/old-start", follow_redirects=True).text == site.get("/docs/quickstart").text
    assert [site.get(path).status_code for path in ("/for-now", "/nowhere", "/gone", "/blocked", "/empty")] == [
        302,
        404,
        410,
        403,
        200,
    ]
    with pytest.raises(httpx.TooManyRedirects):
        site.get("/loop-a", follow_redirects=True)


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/notes.txt", "text/plain; charset=utf-8"),
        ("/api/tasks.json", "application/json"),
        ("/docs/quickstart.md", "text/markdown; charset=utf-8"),
        ("/logo.png", "image/png"),
        ("/app", "text/html; charset=utf-8"),
        ("/slow", "text/html; charset=utf-8"),
    ],
)
def test_other_kinds_of_files_are_served_under_their_type(path: str, content_type: str, site: httpx.Client) -> None:
    page = site.get(path)
    assert (page.status_code, page.headers["content-type"]) == (200, content_type)
    assert page.content


def test_a_head_request_tells_the_size_without_the_page(site: httpx.Client) -> None:
    head = site.head("/docs/api")
    assert (head.content, int(head.headers["content-length"])) == (b"", len(site.get("/docs/api").content))


async def test_a_test_brings_its_own_pages_under_any_host() -> None:
    site = PagesSite(
        {
            "/": "<h1>Mine</h1>",
            "/list?page=2": Page("second", "text/plain"),
            "/list": Page("first", "text/plain"),
            "/flaky": Script(status(503), ok("back")),
        }
    )
    async with httpx.AsyncClient(transport=transport(site), base_url="https://any.example.org") as client:
        texts = [(await client.get(path)).text for path in ("/", "/list", "/list?page=2")]
        statuses = [(await client.get(path)).status_code for path in ("/flaky", "/flaky", "/docs/api")]
    assert texts == ["<h1>Mine</h1>", "first", "second"]
    assert statuses == [503, 200, 404]
    assert [request.headers["host"] for request in site.requests] == ["any.example.org"] * 6


async def test_the_whole_site_can_be_told_to_fail() -> None:
    site = build_site().follow(status(503))
    async with httpx.AsyncClient(transport=transport(site), base_url="https://any.example.org") as client:
        assert (await client.get("/docs/")).status_code == 503
