"""Spellings of addresses that must not be reached, in every way to get there; what reaches one is a leak.

All sockets are real and on loopback: a public address leads to the site, and every other one to the victim, which counts who
comes. Names are looked up in a table that each case brings.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import httpcore
from starlette.responses import Response

from upstreams.pages import PagesSite, Served
from upstreams.script import Step, answering, ok
from upstreams.serve import serve
from upstreams.socks import SocksProxy
from websearch_adapters.http.pages import PageClient
from websearch_core.errors import NotAllowed, WebSearchError

__all__ = ["FAKES", "PUBLIC", "SPELLINGS", "WAYS", "Ground", "Spelling", "Way", "ground", "leaks", "socks"]

Way: TypeAlias = Literal["direct", "redirect", "rebinding"]
WAYS: tuple[Way, ...] = ("direct", "redirect", "rebinding")
PUBLIC = "93.184.216.34"
SITE = "site.example"
FAKES = ("198.18.", "198.19.", "fc00:")
"""How addresses begin that proxies in TUN mode give for names."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A host as an address can name it, and the address that it would lead to."""

    host: str
    address: str = "127.0.0.1"
    form: bool = True
    """Its form alone gives it away; else only the look-up does."""


def _all(address: str, *hosts: str) -> Iterable[Spelling]:
    return (Spelling(host, address) for host in hosts)


SPELLINGS: tuple[Spelling, ...] = (
    # loopback in the forms that C libraries, browsers and other parsers read
    *_all("127.0.0.1", "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.1", "0x7f.0.0.1"),
    *_all("127.0.0.1", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "0177.1", "017700000001", "127.0x0.0.1", "127.000.000.001"),
    *_all("127.0.0.1", "00000177.0.0.1", "127.0.0.0x1", "6425673729", "127.0.0.1%00", "%31%32%37.0.0.1", "127%2e0%2e0%2e1"),
    *_all("127.0.0.1", "１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1"),
    *_all("127.127.127.127", "127.127.127.127"),
    *_all("127.255.255.254", "127.255.255.254"),
    # the unspecified address
    *_all("0.0.0.0", "0", "0.0.0.0", "0x0", "00000000", "0.0.0.0."),
    Spelling("0.1.2.3", "0.1.2.3"),
    # networks of one's own
    *_all("10.0.0.1", "10.0.0.1", "012.0.0.1", "0xa000001", "167772161", "10.1"),
    Spelling("10.255.255.255", "10.255.255.255"),
    Spelling("172.16.0.1", "172.16.0.1"),
    Spelling("172.31.255.255", "172.31.255.255"),
    *_all("192.168.1.1", "192.168.1.1", "3232235777", "0xc0a80101", "0300.0250.0001.0001", "192.168.257"),
    Spelling("100.64.0.1", "100.64.0.1"),
    Spelling("169.254.1.1", "169.254.1.1"),
    # metadata services
    *_all("169.254.169.254", "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518"),
    *_all("169.254.169.254", "metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data"),
    Spelling("169.254.170.2", "169.254.170.2"),
    Spelling("100.100.100.200", "100.100.100.200"),
    Spelling("192.0.0.192", "192.0.0.192"),
    Spelling("168.63.129.16", "168.63.129.16"),
    Spelling("[fd00:ec2::254]", "fd00:ec2::254"),
    Spelling("[::ffff:a9fe:a9fe]", "::ffff:a9fe:a9fe"),
    # other special networks
    *(Spelling(one, one) for one in ("192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1")),
    *(Spelling(one, one) for one in ("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255")),
    # IPv6, and IPv4 inside of it
    *_all("::1", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::0.0.0.1]"),
    Spelling("[::]", "::"),
    *_all("::ffff:127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "[::FFFF:127.0.0.1]"),
    Spelling("[::ffff:10.0.0.1]", "::ffff:10.0.0.1"),
    Spelling("[::127.0.0.1]", "::7f00:1"),
    Spelling("[::ffff:0:127.0.0.1]", "::ffff:0:7f00:1"),
    *_all("64:ff9b::7f00:1", "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]"),
    Spelling("[64:ff9b:1::7f00:1]", "64:ff9b:1::7f00:1"),
    Spelling("[2002:7f00:1::]", "2002:7f00:1::"),
    Spelling("[2001:0:0:0:0:0:80ff:fffe]", "2001::80ff:fffe"),
    *(Spelling(f"[{one}]", one) for one in ("fe80::1", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1", "100::1")),
    Spelling("[fe80::1%25lo]", "fe80::1"),
    Spelling("[::1%25lo]", "::1"),
    # names
    *_all("127.0.0.1", "localhost", "LOCALHOST", "localhost.", "some.localhost", "localhost.localdomain", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"),
    *_all("192.168.1.1", "router.local", "printer.lan", "intranet", "router.home.arpa", "host.docker.internal"),
    *_all("10.0.0.1", "kubernetes.default.svc.cluster.local", "wiki.intranet"),
    Spelling("127.0.0.1.nip.example", "127.0.0.1", form=False),
    Spelling("inner.example", "10.0.0.1", form=False),
    Spelling("mapped.example", "::ffff:169.254.169.254", form=False),
    Spelling("bücher.example", "192.168.1.1", form=False),
    # what two programs read differently
    *_all("127.0.0.1", "user@127.0.0.1", "site.example@127.0.0.1", "127.0.0.1#@site.example", "127.0.0.1\\@site.example"),
    *_all("127.0.0.1", "site.example\\@127.0.0.1", "127.0.0.1\t", " 127.0.0.1", "127.0.0.1\u200b", "127.0.0.1\u00ad"),
)


@dataclass(slots=True)
class Ground:
    """The site, the victim and the proxies, and what was opened."""

    site: PagesSite
    site_port: int
    victim_port: int
    visits: int = 0
    """Connections that the victim has seen."""
    opened: list[str] = field(default_factory=list)
    """Addresses that connections were opened to."""
    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    """What each name resolves to, time after time; the last answer repeats."""
    doors: frozenset[int] = frozenset()
    """Ports of proxies on this machine."""
    public: set[str] = field(default_factory=lambda: {PUBLIC})
    """Addresses that lead to the site."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Look a name up."""
        answers = self.names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def client(self, **options: Any) -> PageClient:
        """A client of pages that looks up and connects here."""
        return PageClient(resolver=self.resolve, sockets=_Sockets(self), **options)


class _Sockets(httpcore.AsyncNetworkBackend):
    """Opens real sockets, all of them on loopback."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._real = httpcore.AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        if host == "127.0.0.1" and port in self._ground.doors:
            return await self._real.connect_tcp(host, port, *args, **options)
        self._ground.opened.append(host)
        port = self._ground.site_port if host in self._ground.public else self._ground.victim_port
        return await self._real.connect_tcp("127.0.0.1", port, *args, **options)


@asynccontextmanager
async def ground(pages: dict[str, Served] | None = None) -> AsyncIterator[Ground]:
    """A site with a page and a way to redirect, and a victim that answers nobody."""
    site = PagesSite({"/": "<p>the site</p>", **(pages or {})})

    async def visited(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        here.visits += 1
        writer.close()

    victim = await asyncio.start_server(visited, "127.0.0.1", 0)
    async with serve(site) as url:
        here = Ground(site, int(url.rpartition(":")[2]), victim.sockets[0].getsockname()[1])
        yield here
    victim.close()
    await victim.wait_closed()


async def leaks(here: Ground, way: Way, spellings: Iterable[Spelling] = SPELLINGS, **options: Any) -> list[str]:
    """What was not refused, or touched anything but the site; the client is made with `options`."""
    found, pages = [], here.client(**options)
    for number, spelling in enumerate(spellings):
        here.opened.clear()
        visits = here.visits
        ended = await _ended(here, way, spelling, pages, number)
        reached = {address for address in here.opened if address not in here.public}
        if ended != "refused" or reached or here.visits != visits:
            found.append(f"{way} {spelling.host!r}: {ended}, opened {sorted(reached)}, {here.visits - visits} visits")
    await pages.aclose()
    return found


async def _ended(here: Ground, way: Way, spelling: Spelling, pages: PageClient, number: int) -> str:
    """How it ends; a rebinding name is another one each time, as its first connection might still be open."""
    target, rebinding = f"http://{spelling.host}:8080/", f"rebinding-{number}.example"
    here.names = _Lookups({SITE: [[PUBLIC]], rebinding: [[PUBLIC], [spelling.address]]}, [[spelling.address]])
    start = {"direct": target, "redirect": f"http://{SITE}/", "rebinding": f"http://{rebinding}/"}[way]
    elsewhere = {"direct": ok(), "redirect": _redirect(target), "rebinding": _redirect(f"http://{rebinding}:8080/")}[way]
    here.site.follow(elsewhere)
    try:
        await pages.get(start)
    except NotAllowed:
        return "refused"
    except WebSearchError as error:
        return error.code
    finally:
        here.site.follow(ok())
    return "fetched"


class _Lookups(dict[str, list[Sequence[str]]]):
    """Answers for some names, and one answer for all others."""

    def __init__(self, known: dict[str, list[Sequence[str]]], other: list[Sequence[str]]) -> None:
        super().__init__(known)
        self._other = other

    def __missing__(self, host: str) -> list[Sequence[str]]:
        return self._other


def _redirect(target: str) -> Step:
    """To an address as it is, in the bytes that most servers would send."""

    def elsewhere(_: Any) -> Response:
        response = Response(b"", 302)
        response.raw_headers.append((b"location", target.encode()))
        return response

    return answering("redirect", elsewhere)


@asynccontextmanager
async def socks(here: Ground, **options: Any) -> AsyncIterator[SocksProxy]:
    """A SOCKS proxy that leads to the site, and is known to the ground."""
    proxy = SocksProxy(here.site_port, **options)
    async with proxy.serve():
        here.doors |= {proxy.port}
        yield proxy
