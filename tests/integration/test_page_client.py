"""The client for pages: where it goes, what it sends along, and how much it takes."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import Response

from upstreams.exchange import Exchange, Pieces
from upstreams.pages import Page, PagesSite, Served
from upstreams.script import Step, answering, cut_after, gzip_bomb, hang, hang_up, huge, redirect, reset, stall_after, status
from upstreams.serve import serve, transport
from websearch_adapters.http.egress import GuardedTransport, Resolver, system_resolver
from websearch_adapters.http.pages import MAX_BYTES, PageClient
from websearch_core.errors import (
    BadReply,
    Declined,
    NotAllowed,
    NotFound,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024
LOOPBACK = ("127.0.0.0/8",)


class Names:
    """A resolver that follows a script; the last answer repeats."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@asynccontextmanager
async def client(**options: object) -> AsyncIterator[PageClient]:
    pages = PageClient(**options)  # type: ignore[arg-type]  # each test gives what it needs
    try:
        yield pages
    finally:
        await pages.aclose()


@asynccontextmanager
async def site(pages: dict[str, Served]) -> AsyncIterator[tuple[PagesSite, str]]:
    served = PagesSite(pages)
    async with serve(served) as url:
        yield served, url


def in_process(pages: dict[str, Served]) -> PageClient:
    return PageClient(transport=transport(PagesSite(pages)))


def encoded(body: bytes, encoding: str) -> Step:
    return answering(encoding, lambda _: Response(body, 200, {"content-encoding": encoding, "content-type": "text/html"}))


class TestWhereItGoes:
    @pytest.mark.parametrize(
        "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "0"]
    )
    async def test_an_inner_address_is_refused_before_a_byte_is_sent(self, host: str) -> None:
        async with site({"/": "secret"}) as (served, url), client() as pages:
            with pytest.raises(NotAllowed):
                await pages.get(f"http://{host}:{urlsplit(url).port}/")
            assert served.requests == []

    async def test_a_name_that_leads_inside_is_refused_before_a_byte_is_sent(self) -> None:
        async with site({"/": "secret"}) as (served, url), client(resolver=Names(["127.0.0.1"])) as pages:
            with pytest.raises(NotAllowed, match="loopback"):
                await pages.get(f"http://public.example:{urlsplit(url).port}/")
            assert served.requests == []

    async def test_one_inner_address_among_others_is_enough(self) -> None:
        names = Names(["93.184.216.34", "10.0.0.7"])
        async with client(resolver=names) as pages:
            with pytest.raises(NotAllowed, match="private"):
                await pages.get("http://public.example/")
        assert names.asked == ["public.example"]

    async def test_a_redirect_inside_is_refused_and_the_target_sees_nothing(self) -> None:
        async with site({"/": "secret"}) as (inner, inner_url):
            ways: dict[str, Served] = {
                "/": redirect(inner_url),
                "/name": redirect("http://localhost/x"),
                "/file": redirect("file:///etc/passwd"),
            }
            async with site(ways) as (_, url), client(allow=[url.removeprefix("http://")]) as pages:
                for path in ways:
                    with pytest.raises(NotAllowed):
                        await pages.get(url + path)
            assert inner.requests == []

    async def test_who_asked_for_a_public_page_learns_that_a_redirect_is_what_is_refused(self) -> None:
        async with site({"/": redirect("http://10.0.0.7/")}) as (_, url), client(allow=[url.removeprefix("http://")]) as pages:
            with pytest.raises(NotAllowed, match=r"private address, and 127\.0\.0\.1 redirects there$") as caught:
                await pages.get(url)
            assert caught.value.hint == "Use another page; this one leads to where nothing may be read."

    async def test_an_address_with_a_password_is_told_to_lose_it(self) -> None:
        async with client() as pages:
            with pytest.raises(NotAllowed) as caught:
                await pages.get("https://user:secret@a.example/")
        assert caught.value.hint == "Leave user and password out of the address."
        assert "secret" not in caught.value.message

    async def test_the_connection_goes_to_the_address_that_was_checked(self) -> None:
        """A name that answers differently the second time gains nothing: there is no second look-up for a connection."""
        names = Names(["127.0.0.1"], ["127.0.0.2"])
        async with site({"/": "<p>first"}) as (served, url):
            port = urlsplit(url).port
            async with client(resolver=names, allow=["127.0.0.1/32"]) as pages:
                assert (await pages.get(f"http://rebinding.example:{port}/")).body == b"<p>first"
                assert names.asked == ["rebinding.example"]
                await pages.aclose()
                with pytest.raises(NotAllowed, match="loopback"):
                    await pages.get(f"http://rebinding.example:{port}/")
            assert len(served.requests) == 1

    async def test_the_host_header_keeps_the_name(self) -> None:
        async with site({"/": "<p>x"}) as (served, url), client(resolver=Names(["127.0.0.1"]), allow=LOOPBACK) as pages:
            await pages.get(f"http://Bücher.example:{urlsplit(url).port}/")
            assert served.last.headers["host"] == f"xn--bcher-kva.example:{urlsplit(url).port}"

    async def test_tls_keeps_the_name(self) -> None:
        seen: list[str | None] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = lambda _socket, name, _context: seen.append(name)
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        async with server, client(resolver=Names(["127.0.0.1"]), allow=LOOPBACK) as pages:
            with pytest.raises(Unreachable):
                await pages.get(f"https://named.example:{port}/")
        assert seen == ["named.example"]

    async def test_a_dead_address_does_not_hide_a_living_one(self) -> None:
        async with site({"/": "<p>alive"}) as (_, url):
            names = Names(["127.0.0.99", "127.0.0.1"])
            async with client(resolver=names, allow=LOOPBACK) as pages:
                assert (await pages.get(f"http://two.example:{urlsplit(url).port}/")).body == b"<p>alive"

    async def test_an_unknown_name_is_unreachable(self) -> None:
        async def unknown(host: str, port: int) -> Sequence[str]:
            raise OSError("no such name")

        resolvers: list[Resolver] = [unknown, Names([])]
        for resolver in resolvers:
            async with client(resolver=resolver) as pages:
                with pytest.raises(Unreachable):
                    await pages.get("http://nowhere.example/")

    async def test_a_look_up_that_never_ends_is_given_up(self) -> None:
        """The limit of connecting counts the look-up in; here it has passed when the look-up begins."""

        async def silent(host: str, port: int) -> Sequence[str]:
            await asyncio.Event().wait()
            return []

        request = httpx.Request("GET", "http://slow.example/", extensions={"timeout": {"connect": 0.0}})
        async with GuardedTransport(resolver=silent) as guarded:
            with pytest.raises(httpx.ConnectTimeout):
                await guarded.handle_async_request(request)

    async def test_the_system_resolver_gives_each_address_once(self) -> None:
        assert list(await system_resolver("127.0.0.1", 80)) == ["127.0.0.1"]

    async def test_with_a_proxy_the_proxy_looks_up_and_literals_are_still_judged(self) -> None:
        proxy = PagesSite({}, script=answering("forwarded", lambda _: Response(b"<p>through the proxy")))
        async with serve(proxy) as url:
            names = Names(["10.0.0.1"])
            async with client(proxy=url, resolver=names) as pages:
                assert (await pages.get("http://public.example/page")).body == b"<p>through the proxy"
                with pytest.raises(NotAllowed):
                    await pages.get("http://127.0.0.1/page")
            assert names.asked == []
            assert [request.headers["host"] for request in proxy.requests] == ["public.example"]

    async def test_proxies_of_the_environment_are_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with site({}) as (proxy, proxy_url), site({"/": "<p>direct"}) as (_, url):
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy_url)
            async with client(allow=LOOPBACK) as pages:
                assert (await pages.get(url)).body == b"<p>direct"
            assert proxy.requests == []


class TestWhatItSends:
    async def test_an_honest_name_and_nothing_of_ours(self) -> None:
        cookie = Page("<p>x", headers={"set-cookie": "session=1; Path=/"})
        async with site({"/": cookie, "/go": redirect("/")}) as (served, url), client(allow=LOOPBACK) as pages:
            for path in ("/", "/", "/go"):
                await pages.get(url + path)
        for request in served.requests:
            assert set(request.headers) == {"host", "user-agent", "accept", "accept-encoding"}
            assert request.headers["user-agent"].startswith("websearch/")
            assert request.headers["user-agent"].endswith(" (+local reader)")

    async def test_a_cookie_lives_from_a_redirect_to_the_end_of_the_call(self) -> None:
        """Many sites send who has no cookie in a circle."""

        def gate(exchange: Exchange) -> Response:
            if "seen=1" in exchange.request.headers.get("cookie", ""):
                return Response(b"<p>in", 200, media_type="text/html")
            return Response(b"", 302, {"location": "/", "set-cookie": "seen=1; Path=/; HttpOnly"})

        async with site({"/": answering("gate", gate)}) as (served, url), client(allow=LOOPBACK) as pages:
            for _ in range(2):
                assert (await pages.get(url)).body == b"<p>in"
        assert [request.headers.get("cookie") for request in served.requests] == [None, "seen=1", None, "seen=1"]

    async def test_a_cookie_stays_with_its_host(self) -> None:
        async with site({"/": "<p>x"}) as (other, elsewhere):
            place = elsewhere.replace("127.0.0.1", "localhost")
            away = answering("away", lambda _: Response(b"", 302, {"location": place, "set-cookie": "mine=1"}))
            async with site({"/": away}) as (_, url), client(allow=(*LOOPBACK, "localhost")) as pages:
                await pages.get(url)
        assert "cookie" not in other.last.headers

    async def test_the_callers_wish_and_the_operators_name_are_sent(self) -> None:
        async with site({"/": "<p>x"}) as (served, url), client(allow=LOOPBACK, user_agent="ours/1") as pages:
            await pages.get(url, accept="text/plain")
        assert served.last.headers["accept"] == "text/plain"
        assert served.last.headers["user-agent"] == "ours/1"

    async def test_an_address_with_credentials_is_refused(self) -> None:
        with pytest.raises(NotAllowed, match="password"):
            await in_process({"/": "x"}).get("http://user:secret@site.example/")


class TestRedirects:
    async def test_up_to_five_are_followed_and_the_last_address_is_told(self) -> None:
        hops: dict[str, Served] = {f"/{i}": redirect(f"/{i + 1}", status=[301, 302, 303, 307, 308][i]) for i in range(5)}
        found = await in_process({**hops, "/5": "<p>there"}).get("http://site.example/0#part")
        assert (found.url, found.final_url) == ("http://site.example/0#part", "http://site.example/5")
        assert found.body == b"<p>there"

    async def test_the_sixth_is_one_too_many(self) -> None:
        hops: dict[str, Served] = {f"/{i}": redirect(f"/{i + 1}") for i in range(6)}
        with pytest.raises(Unreachable, match="more than 5"):
            await in_process({**hops, "/6": "x"}).get("http://site.example/0")

    async def test_other_hosts_and_relative_addresses_are_followed(self) -> None:
        pages = in_process({"/a/b": redirect("../c?d=e"), "/c": redirect("//Bücher.example/ä"), "/ä": "<p>x"})
        assert (await pages.get("http://site.example/a/b")).final_url == "http://xn--bcher-kva.example/%C3%A4"

    @pytest.mark.parametrize("step", [status(302, body=""), status(304, body=""), status(300, body="")], ids=lambda s: s.name)
    async def test_one_that_says_not_where_to_is_a_bad_reply(self, step: Step) -> None:
        with pytest.raises(BadReply, match=r"site\.example"):
            await in_process({"/": step}).get("http://site.example/")


class TestStatuses:
    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            (400, RequestRejected),
            (401, Declined),
            (403, Declined),
            (404, NotFound),
            (410, NotFound),
            (408, Unreachable),
            (429, RateLimited),
            (451, Declined),
            (500, Unreachable),
            (503, Unreachable),
        ],
    )
    async def test_each_is_our_error_and_names_host_and_status(self, code: int, kind: type[ProviderError]) -> None:
        with pytest.raises(kind) as caught:
            await in_process({"/": status(code, body="<p>secret words of the page")}).get("http://site.example/?token=hidden")
        assert type(caught.value) is kind
        assert caught.value.message == f"site.example answers {code}"
        assert caught.value.http_status == code
        assert caught.value.hint
        assert "secret" not in caught.value.hint

    async def test_the_wish_to_wait_is_passed_on(self) -> None:
        with pytest.raises(RateLimited) as caught:
            await in_process({"/": status(429, retry_after_s=30, body="slow down")}).get("http://site.example/")
        assert caught.value.retry_after_s == 30

    @pytest.mark.parametrize(
        "step",
        [reset(), hang_up(), cut_after(2, then=answering("page", lambda _: Response(b"<p>x")))],
        ids=lambda step: step.name,
    )
    async def test_a_broken_connection_is_unreachable(self, step: Step) -> None:
        async with site({"/": step}) as (_, url), client(allow=LOOPBACK) as pages:
            with pytest.raises(Unreachable):
                await pages.get(url)

    async def test_nobody_listening_is_unreachable(self) -> None:
        async with site({}) as (_, url):
            pass
        async with client(allow=LOOPBACK) as pages:
            with pytest.raises(Unreachable):
                await pages.get(url)

    async def test_a_caller_who_gives_up_leaves_no_connection(self) -> None:
        async with site({"/": hang()}) as (served, url), client(allow=LOOPBACK) as pages:
            task = asyncio.create_task(pages.get(url))
            await served.until(lambda it: it.in_flight == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await served.until(lambda it: it.disconnects == 1)


class TestBodies:
    async def test_headers_come_in_lower_case_with_the_content_type_as_sent(self) -> None:
        found = await in_process({"/": Page("x", "Text/HTML; Charset=GBK", headers={"X-Thing": "1"})}).get("http://site.example/")
        assert found.content_type == "Text/HTML; Charset=GBK"
        assert found.headers["x-thing"] == "1"
        assert found.status == 200
        assert not found.cut

    @pytest.mark.parametrize(
        ("encoding", "body"),
        [
            ("gzip", gzip.compress(b"<p>text")),
            ("x-gzip", gzip.compress(b"<p>text")),
            ("GZIP", gzip.compress(b"<p>") + gzip.compress(b"text")),
            ("gzip", gzip.compress(b"<p>text") + b"\x00\x00trailing"),
            ("gzip", gzip.compress(b"") * 5_000 + gzip.compress(b"<p>text")),
            ("deflate", zlib.compress(b"<p>text")),
            ("deflate", zlib.compress(b"<p>text", wbits=-15)),
            ("identity", b"<p>text"),
        ],
    )
    async def test_compressed_bodies_are_unpacked(self, encoding: str, body: bytes) -> None:
        assert (await in_process({"/": encoded(body, encoding)}).get("http://site.example/")).body == b"<p>text"

    @pytest.mark.parametrize("encoding", ["gzip", "deflate"])
    async def test_packed_bodies_in_many_pieces_are_unpacked(self, encoding: str) -> None:
        text = bytes(range(256)) * 2_000
        packed = gzip.compress(text) if encoding == "gzip" else zlib.compress(text)
        pieces = [packed[at : at + 100] for at in range(0, len(packed), 100)]
        step = answering("pieces", lambda _: Pieces(pieces, headers={"content-encoding": encoding}))
        assert (await in_process({"/": step}).get("http://site.example/")).body == text

    @pytest.mark.parametrize("body", [b"not packed at all", gzip.compress(b"<p>text" * 100)[:-20]], ids=["never", "cut"])
    async def test_a_body_that_does_not_unpack_is_unreachable(self, body: bytes) -> None:
        with pytest.raises(Unreachable, match="decompress"):
            await in_process({"/": encoded(body, "gzip")}).get("http://site.example/")

    async def test_an_encoding_that_was_not_asked_for_is_a_bad_reply(self) -> None:
        with pytest.raises(BadReply, match="encoding"):
            await in_process({"/": encoded(b"x", "br")}).get("http://site.example/")

    async def test_a_bomb_is_given_up_at_the_limit_with_little_memory(self) -> None:
        bomb = gzip_bomb(200 * MIB)
        async with site({"/": bomb}) as (_, url), client(allow=LOOPBACK) as pages:
            tracemalloc.start()
            try:
                with pytest.raises(NotAllowed, match="bytes"):
                    await pages.get(url)
                assert tracemalloc.get_traced_memory()[1] < 6 * MAX_BYTES
            finally:
                tracemalloc.stop()

    async def test_a_body_that_announces_fifty_megabytes_is_refused(self) -> None:
        async with site({"/": huge(50 * MIB, declared=True)}) as (_, url), client(allow=LOOPBACK) as pages:
            with pytest.raises(NotAllowed, match="10,485,760 bytes"):
                await pages.get(url)

    async def test_a_body_without_end_is_given_up_at_the_limit_and_the_connection_is_dropped(self) -> None:
        endless = stall_after(12 * MIB, then=huge(50 * MIB))
        async with site({"/": endless}) as (served, url), client(allow=LOOPBACK) as pages:
            with pytest.raises(NotAllowed, match="10,485,760 bytes"):
                await pages.get(url)
            await served.until(lambda it: it.disconnects == 1)

    async def test_packed_bytes_that_stand_for_nothing_are_given_up_too(self) -> None:
        empty = gzip.compress(b"") * 200
        step = answering("empty", lambda _: Pieces([empty] * 50, headers={"content-encoding": "gzip"}))
        with pytest.raises(Unreachable, match="decompress"):
            await in_process({"/": step}).get("http://site.example/", max_bytes=20_000)

    async def test_a_body_of_exactly_the_limit_is_taken(self) -> None:
        for size, fits in ((1_000, True), (1_001, False)):
            pages = in_process({"/": "x" * size})
            if fits:
                assert len((await pages.get("http://site.example/", max_bytes=1_000)).body) == size
            else:
                with pytest.raises(NotAllowed):
                    await pages.get("http://site.example/", max_bytes=1_000)

    async def test_a_caller_may_want_only_the_beginning(self) -> None:
        found = await in_process({"/": "x" * 5_000}).get("http://site.example/", max_bytes=1_000, cut=True)
        assert (found.body, found.cut) == (b"x" * 1_000, True)
        whole = await in_process({"/": "x" * 1_000}).get("http://site.example/", max_bytes=1_000, cut=True)
        assert (len(whole.body), whole.cut) == (1_000, False)


async def test_constructing_opens_nothing_and_a_closed_client_can_be_used_again() -> None:
    pages = PageClient(allow=LOOPBACK)
    await pages.aclose()
    async with site({"/": "<p>x"}) as (_, url):
        await pages.get(url)
        await pages.aclose()
        assert (await pages.get(url)).body == b"<p>x"
        await pages.aclose()


async def test_every_fault_of_the_transport_is_one_of_ours() -> None:
    class Broken(httpx.AsyncBaseTransport):
        def __init__(self, error: Exception) -> None:
            self.error = error

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise self.error

    for error in (httpx.ReadTimeout("x"), httpx.PoolTimeout("x"), httpx.RemoteProtocolError("x"), httpx.ProxyError("x")):
        with pytest.raises(WebSearchError) as caught:
            await PageClient(transport=Broken(error)).get("http://site.example/")
        assert isinstance(caught.value, Unreachable)
