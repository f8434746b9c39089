"""Sitemaps: every form they come in, and where reading them ends."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_worker import WORKER
from upstreams.pages import Page, PagesSite, Served
from upstreams.script import status
from upstreams.serve import transport
from websearch_adapters.crawl import sitemap
from websearch_adapters.crawl.sitemap import Sitemaps
from websearch_adapters.extract.sitemap import MAX_FILE_BYTES, MAX_FILE_URLS, may_be_sitemap, read_sitemap
from websearch_adapters.http.pages import PageClient
from websearch_core.errors import BadReply

URL = "https://example.org/maps/sitemap.xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*addresses: str, attributes: str = NAMESPACE) -> str:
    rows = "".join(f"<url><loc>{address}</loc><lastmod>2026-01-01</lastmod></url>" for address in addresses)
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset {attributes}>{rows}</urlset>'


def index(*addresses: str) -> str:
    rows = "".join(f"<sitemap><loc>{address}</loc></sitemap>" for address in addresses)
    return f"<sitemapindex {NAMESPACE}>{rows}</sitemapindex>"


class TestFiles:
    @pytest.mark.parametrize(
        "body",
        [
            urlset("https://example.org/a", " https://example.org/b?x=1&amp;y=2\n"),
            urlset("https://example.org/a", "https://example.org/b?x=1&y=2"),
            urlset("https://example.org/a", "https://example.org/b?x=1&amp;y=2", attributes=""),
            urlset("https://example.org/a", "https://example.org/b?x=1&amp;y=2", attributes='xmlns="http://other.example/ns"'),
            urlset("/a", "../b?x=1&amp;y=2"),
            "\ufeff" + urlset("https://example.org/a", "https://example.org/b?x=1&amp;y=2"),
            " \ufeff\r\n" + urlset("https://example.org/a", "https://example.org/b?x=1&amp;y=2"),
            "https://example.org/a\r\nnot an address\n  https://example.org/b?x=1&y=2  \n",
            (
                f"<x:urlset xmlns:x='u'><x:URL><x:Loc>{'https://example.org/a'}</x:Loc></x:URL>"
                "<x:url><x:loc>https://example.org/b?x=1&amp;y=2</x:loc></x:url></x:urlset>"
            ),
            (
                "<rss><channel><item><link>https://example.org/a</link></item>"
                "<item><link>https://example.org/b?x=1&amp;y=2</link></item></channel></rss>"
            ),
            '<feed><entry><link href="https://example.org/a"/></entry><entry><link href="/b?x=1&amp;y=2"/></entry></feed>',
        ],
    )
    def test_every_form_gives_the_same_addresses_in_order(self, body: str) -> None:
        expected = ("https://example.org/a", "https://example.org/b?x=1&y=2")
        for data in (body.encode(), gzip.compress(body.encode())):
            assert read_sitemap(data, URL).pages == expected

    def test_utf16_is_read(self) -> None:
        body = '<?xml version="1.0" encoding="UTF-16"?><urlset><url><loc>https://example.org/ä</loc></url></urlset>'
        assert read_sitemap(body.encode("utf-16"), URL).pages == ("https://example.org/%C3%A4",)

    def test_an_index_gives_further_sitemaps(self) -> None:
        file = read_sitemap(index("https://example.org/1.xml", "/2.xml.gz").encode(), URL)
        assert file.nested == ("https://example.org/1.xml", "https://example.org/2.xml.gz")
        assert file.pages == ()

    def test_images_and_alternates_are_no_pages(self) -> None:
        row = (
            "<url><loc>https://example.org/a</loc><image:image><image:loc>https://example.org/i.png</image:loc></image:image>"
            '<xhtml:link rel="alternate" href="https://example.org/de/a"/></url>'
        )
        body = f'<urlset {NAMESPACE} xmlns:image="i" xmlns:xhtml="x">{row}</urlset>'
        assert read_sitemap(body.encode(), URL).pages == ("https://example.org/a",)

    def test_translations_that_stand_before_the_address_are_not_taken_for_it(self) -> None:
        row = '<url><xhtml:link rel="alternate" hreflang="de" href="/de/a"/><loc>https://example.org/a</loc></url>'
        assert read_sitemap(f'<urlset xmlns:xhtml="x">{row}</urlset>'.encode(), URL).pages == ("https://example.org/a",)

    def test_of_the_links_of_a_feed_the_one_to_the_page_counts(self) -> None:
        entry = '<entry><link rel="edit" href="/edit"/><link rel="alternate" href="/a"/></entry>'
        assert read_sitemap(f"<feed>{entry}</feed>".encode(), URL).pages == ("https://example.org/a",)

    @given(
        piece_bytes=st.integers(4, 400),
        form=st.sampled_from(["xml", "gzip", "utf-16", "text", "mark"]),
        rows=st.lists(st.sampled_from(["/a", "/b?x=1&y=2", "/c?x=1&amp;y=2", "/ä", "/d?q=&lt;&#38;"]), min_size=1, max_size=30),
    )
    def test_wherever_its_pieces_end_the_file_reads_the_same(self, piece_bytes: int, form: str, rows: list[str]) -> None:
        text = urlset(*rows) if form != "text" else "\n".join(f"https://example.org{row}" for row in rows)
        body = text.replace("UTF-8", "UTF-16").encode("utf-16") if form == "utf-16" else text.encode()
        body = gzip.compress(body) if form == "gzip" else b"\xef\xbb\xbf\n " + body if form == "mark" else body
        whole = read_sitemap(body, URL)
        assert whole.pages
        assert read_sitemap(body, URL, piece_bytes=piece_bytes) == whole

    def test_what_follows_the_end_of_a_gzip_is_left_alone(self) -> None:
        file = read_sitemap(gzip.compress(urlset("https://example.org/a").encode()) + b"\0" * 100, URL, piece_bytes=16)
        assert file.pages == ("https://example.org/a",)
        assert not file.truncated

    def test_an_address_without_end_is_none_and_the_addresses_of_a_file_have_an_end_together(self) -> None:
        long = "/" + "a" * 8_000
        assert read_sitemap(urlset("/a", "/" + "b" * 9_000, "/c").encode(), URL).pages == (
            "https://example.org/a",
            "https://example.org/c",
        )
        file = read_sitemap(urlset(*(f"{long}{number}" for number in range(1_500))).encode(), URL)
        assert file.truncated
        assert sum(map(len, file.pages)) < 11_000_000

    @pytest.mark.parametrize("filling", [b" ", b"a", b"\0", b"<urlset>" + b"a" * 100, b"<urlset>&", b"<urlset><!"])
    def test_of_a_large_file_of_anything_no_more_than_a_few_pieces_are_held(self, filling: bytes) -> None:
        """Nothing waits for an end that never comes: neither a line, nor a reference, nor the beginning of the file."""
        body = filling[:8] + filling * (5_000_000 // len(filling))
        tracemalloc.start()
        try:
            with suppress(BadReply):
                read_sitemap(body, URL)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < 3_000_000

    def test_each_address_comes_once_and_what_is_none_is_left_out(self) -> None:
        body = urlset("https://example.org/a", "https://example.org/a#x", "mailto:a@b.example", "", "ftp://example.org/")
        assert read_sitemap(body.encode(), URL).pages == ("https://example.org/a",)

    def test_a_damaged_file_is_read_up_to_the_damage(self) -> None:
        body = urlset(*(f"https://example.org/{i}" for i in range(100))).encode()
        assert len(read_sitemap(body[: len(body) // 2], URL).pages) == 49
        packed = read_sitemap(gzip.compress(body)[:-12], URL)
        assert len(packed.pages) >= 90
        assert packed.truncated

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"   ",
            b"no address in here",
            b"<!doctype html><html><body><a href='https://example.org/a'>page</a></body></html>",
            b"<note><loc>https://example.org/a</loc></note>",
            b"<",
            b"\x1f\x8bnot gzip",
        ],
    )
    def test_what_is_no_sitemap_is_a_bad_reply(self, body: bytes) -> None:
        with pytest.raises(BadReply):
            read_sitemap(body, URL)

    def test_entities_are_refused(self) -> None:
        bomb = '<!DOCTYPE urlset [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>https://example.org/&b;</loc></url></urlset>'
        with pytest.raises(BadReply, match="entities"):
            read_sitemap(bomb.encode(), URL)

    def test_more_than_fifty_thousand_addresses_are_cut(self) -> None:
        file = read_sitemap(urlset(*(f"https://example.org/{i}" for i in range(50_001))).encode(), URL)
        assert len(file.pages) == 50_000
        assert file.truncated

    def test_a_gzip_bomb_stops_at_the_limit(self) -> None:
        head = urlset("https://example.org/a").removesuffix("</urlset>").encode()
        file = read_sitemap(gzip.compress(head + b" " * (MAX_FILE_BYTES + 10)), URL)
        assert file.pages == ("https://example.org/a",)
        assert file.truncated

    @given(
        body=st.one_of(st.binary(max_size=200), st.text(st.sampled_from("<>/urlsetloc &;!?\"'x:"), max_size=200).map(str.encode))
    )
    def test_any_bytes_are_a_sitemap_or_a_bad_reply(self, body: bytes) -> None:
        try:
            read_sitemap(body, URL)
        except BadReply:
            return


@pytest.mark.anyio
class TestWalks:
    def over(self, pages: dict[str, Served]) -> Sitemaps:
        site = PagesSite({path: Page(page, "application/xml") if isinstance(page, str) else page for path, page in pages.items()})
        return Sitemaps(PageClient(transport=transport(site)), WORKER, lambda url: "/skip" not in url)

    async def test_an_index_is_followed_in_order_and_only_wanted_pages_are_kept(self) -> None:
        walk = self.over(
            {
                "/s.xml": index("/1.xml", "/2.xml.gz"),
                "/1.xml": urlset("/a", "/skip"),
                "/2.xml.gz": Page(urlset("/b", "http://www.site.example/a"), "application/gzip", gzipped=True),
            }
        )
        await walk.read(["http://site.example/s.xml"])
        assert list(walk.found.values()) == ["http://site.example/a", "http://site.example/b"]
        assert walk.unreadable == []
        assert not walk.truncated

    async def test_an_index_of_itself_ends(self) -> None:
        walk = self.over({"/s.xml": index("/s.xml", "/s.xml?again", "/t.xml"), "/t.xml": index("/s.xml")})
        await walk.read(["http://site.example/s.xml"])
        assert list(walk.found) == []

    async def test_nesting_ends_at_three_levels(self) -> None:
        walk = self.over(
            {
                "/1.xml": index("/2.xml"),
                "/2.xml": index("/3.xml"),
                "/3.xml": "<sitemapindex><sitemap><loc>/4.xml</loc></sitemap><url><loc>/kept</loc></url></sitemapindex>",
                "/4.xml": urlset("/too-deep"),
            }
        )
        await walk.read(["http://site.example/1.xml"])
        assert list(walk.found.values()) == ["http://site.example/kept"]
        assert walk.truncated

    async def test_what_cannot_be_read_is_noted_and_the_rest_goes_on(self) -> None:
        walk = self.over(
            {"/s.xml": index("/broken.xml", "/missing.xml", "/ok.xml"), "/broken.xml": status(500), "/ok.xml": urlset("/a")}
        )
        await walk.read(["http://site.example/s.xml"])
        assert walk.unreadable == ["http://site.example/broken.xml", "http://site.example/missing.xml"]
        assert list(walk.found.values()) == ["http://site.example/a"]

    async def test_one_that_nobody_promised_may_be_missing(self) -> None:
        walk = self.over({})
        await walk.read(["http://site.example/sitemap.xml"], promised=False)
        assert walk.unreadable == []

    async def test_the_number_of_files_is_bounded(self) -> None:
        files: dict[str, Served] = {f"/{i}.xml": urlset(f"/page-{i}") for i in range(40)}
        walk = self.over({"/s.xml": index(*files), **files})
        await walk.read(["http://site.example/s.xml"])
        assert len(walk.found) == sitemap.MAX_FILES - 1
        assert walk.truncated

    @pytest.mark.parametrize("piece", [b"<html><p>a page</p>", b"x"], ids=["a page", "anything"])
    async def test_what_does_not_begin_like_a_sitemap_is_left_at_once(self, piece: bytes) -> None:
        sent: list[int] = []

        async def for_ever() -> AsyncIterator[bytes]:
            for number in itertools.count():
                sent.append(number)
                yield piece * (16_384 // len(piece))

        class Endless(httpx.AsyncBaseTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                return httpx.Response(200, content=for_ever())

        walk = Sitemaps(PageClient(transport=Endless()), WORKER, lambda _: True)
        await walk.read(["http://site.example/s.xml"])
        assert walk.unreadable == ["http://site.example/s.xml"]
        assert len(sent) < 10

    @pytest.mark.parametrize(
        "head",
        [
            b"\xef\xbb\xbf\n<?xml version='1.0'?><!-- made by hand --><URLSET>",
            b"<sm:sitemapindex xmlns:sm='x'>",
            b"<rss version='2.0'>",
            b"<feed>",
            b"<rdf:RDF>",
            b"\n https://a.example/",
            b"\x1f\x8b\x08",
            "<urlset>".encode("utf-16"),
        ],
    )
    def test_every_form_of_a_sitemap_begins_like_one(self, head: bytes) -> None:
        assert may_be_sitemap(head)

    async def test_a_file_that_goes_on_is_left_when_it_is_full(self) -> None:
        """Nobody waits for its end."""

        async def for_ever() -> AsyncIterator[bytes]:
            yield b"<urlset>"
            for number in itertools.count():
                sent.append(number)
                yield "".join(f"<url><loc>/{number}/{each}</loc></url>" for each in range(500)).encode()

        sent: list[int] = []

        class Endless(httpx.AsyncBaseTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                return httpx.Response(200, content=for_ever())

        walk = Sitemaps(PageClient(transport=Endless()), WORKER, lambda _: True, most_pages=60_000)
        await walk.read(["http://site.example/s.xml"])
        assert len(walk.found) == MAX_FILE_URLS
        assert walk.truncated
        assert len(sent) <= 102

    async def test_the_number_of_pages_is_bounded(self) -> None:
        walk = self.over({"/s.xml": urlset(*(f"/{i}" for i in range(sitemap.MAX_URLS + 5)))})
        await walk.read(["http://site.example/s.xml"])
        assert len(walk.found) == sitemap.MAX_URLS
        assert walk.truncated
