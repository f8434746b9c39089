"""Where pages may come from, on sockets: every spelling in every way, fake addresses of TUN proxies, and proxies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from integration.egress_table import FAKES, PUBLIC, SPELLINGS, WAYS, Ground, Way, ground, leaks, socks
from upstreams.pages import PagesSite
from upstreams.script import redirect
from upstreams.serve import serve
from upstreams.socks import SocksProxy
from websearch_adapters.http.pages import PageClient
from websearch_core.errors import NotAllowed, NotConfigured, Unreachable

pytestmark = pytest.mark.anyio
FORMS = [spelling for spelling in SPELLINGS if spelling.form]


@pytest.fixture
async def here() -> AsyncIterator[Ground]:
    async with ground({"/to-literal": redirect("http://198.18.0.9/"), "/to-name": redirect("http://other.example/")}) as here:
        yield here


async def body(pages: PageClient, url: str) -> str:
    try:
        return (await pages.get(url)).body.decode()
    finally:
        await pages.aclose()


async def refusal(pages: PageClient, url: str) -> NotAllowed:
    with pytest.raises(NotAllowed) as caught:
        await body(pages, url)
    return caught.value


# --- the table


def test_the_table_is_long_enough_and_says_nothing_twice() -> None:
    assert len({spelling.host for spelling in SPELLINGS}) == len(SPELLINGS) >= 80


@pytest.mark.parametrize("way", WAYS)
async def test_no_spelling_is_reached_in_any_way(here: Ground, way: Way) -> None:
    """Refused before a byte is sent, each time; a redirect and a second look-up are judged like the first address."""
    assert await leaks(here, way) == []


@pytest.mark.parametrize("way", WAYS)
async def test_a_guard_with_a_hole_would_be_noticed(here: Ground, way: Way) -> None:
    found = await leaks(here, way, allow=["127.0.0.0/8"])
    assert any("1 visits" in leak for leak in found)


async def test_the_ground_leads_to_the_site_where_nothing_forbids_it(here: Ground) -> None:
    here.names = {"site.example": [[PUBLIC]]}
    assert await body(here.client(), "http://site.example/") == "<p>the site</p>"
    assert (here.opened, here.visits) == ([PUBLIC], 0)


# --- fake addresses


@pytest.mark.parametrize("fake", [["198.18.0.5"], ["198.19.255.254"], ["198.18.0.5", "fc00::5"]])
async def test_a_name_with_a_fake_address_is_fetched_only_when_the_operator_says_so(here: Ground, fake: list[str]) -> None:
    here.names = {"site.example": [fake]}
    here.public |= set(fake)
    refused = await refusal(here.client(), "http://site.example/")
    assert "network.fake_ip" in (refused.hint or "")
    assert here.opened == []
    assert await body(here.client(fake_ip=True), "http://site.example/") == "<p>the site</p>"
    assert here.opened == [fake[0]]


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("http://198.18.0.5/", {}),
        ("http://[fc00::5]/", {}),
        ("http://[::ffff:198.18.0.5]/", {}),
        ("http://localhost/", {"localhost": [["198.18.0.5"]]}),
        ("http://metadata.google.internal/", {"metadata.google.internal": [["198.18.0.5"]]}),
        ("http://mixed.example/", {"mixed.example": [["198.18.0.5", "10.0.0.1"]]}),
        ("http://mapped.example/", {"mapped.example": [["::ffff:198.18.0.5"]]}),
        ("http://near.example/", {"near.example": [["198.20.0.1", "198.17.255.255", "127.0.0.1"]]}),
    ],
)
async def test_the_switch_opens_names_and_nothing_else(here: Ground, url: str, names: dict[str, Any]) -> None:
    here.names = names
    await refusal(here.client(fake_ip=True), url)
    assert here.opened == []


async def test_a_page_behind_a_fake_address_cannot_send_on_to_one(here: Ground) -> None:
    here.names = {"site.example": [["198.18.0.5"]]}
    here.public.add("198.18.0.5")
    await refusal(here.client(fake_ip=True), "http://site.example/to-literal")
    assert here.opened == ["198.18.0.5"]


@pytest.mark.parametrize("way", WAYS)
async def test_with_the_switch_only_fake_addresses_behind_names_get_through(here: Ground, way: Way) -> None:
    rest = [one for one in SPELLINGS if not one.address.startswith(FAKES) or way != "rebinding"]
    assert await leaks(here, way, rest, fake_ip=True) == []


# --- proxies


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
@pytest.mark.parametrize("way", ["direct", "redirect"])
async def test_forms_are_judged_before_a_proxy_that_looks_names_up_hears_of_them(here: Ground, way: Way, scheme: str) -> None:
    async with socks(here) as proxy:
        door = f"{scheme}://127.0.0.1:{proxy.port}" if scheme == "socks5h" else f"http://127.0.0.1:{here.site_port}"
        here.doors |= {here.site_port}
        assert await leaks(here, way, FORMS, proxy=door) == []
        assert {host for host, _ in proxy.asked} <= {"site.example"}


@pytest.mark.parametrize("way", WAYS)
async def test_a_proxy_that_is_given_addresses_is_given_none_that_is_forbidden(here: Ground, way: Way) -> None:
    """With `socks5`, names are looked up here, so that nothing of the guard is lost."""
    async with socks(here) as proxy:
        assert await leaks(here, way, proxy=f"socks5://127.0.0.1:{proxy.port}") == []
        assert {host for host, _ in proxy.asked} <= {PUBLIC}
        assert bool(proxy.asked) == (way != "direct")


@pytest.mark.parametrize(("scheme", "asked"), [("socks5", PUBLIC), ("socks5h", "site.example"), ("socks", "site.example")])
@pytest.mark.parametrize("auth", [None, ("user", "pass word:@")])
async def test_who_looks_the_name_up_is_in_the_scheme(
    here: Ground, scheme: str, asked: str, auth: tuple[str, str] | None
) -> None:
    here.names = {"site.example": [[PUBLIC]]}
    async with socks(here, auth=auth) as proxy:
        user = "user:pass%20word%3A%40@" if auth else ""
        pages = here.client(proxy=f"{scheme}://{user}127.0.0.1:{proxy.port}")
        assert await body(pages, "http://site.example/") == "<p>the site</p>"
        assert proxy.asked == [(asked, 80)]
    assert here.opened == []


@pytest.mark.parametrize("address", [PUBLIC, "2606:2800:220:1::5"])
async def test_both_kinds_of_addresses_go_through_a_proxy(here: Ground, address: str) -> None:
    here.names = {"site.example": [[address]]}
    async with socks(here) as proxy:
        assert await body(here.client(proxy=f"socks5://127.0.0.1:{proxy.port}"), "http://site.example/") == "<p>the site</p>"
        assert proxy.asked == [(address, 80)]


@pytest.mark.parametrize(
    "options", [{"auth": ("user", "right")}, {"reply": 2}, {"reply": 99}], ids=["signing in", "its rules", "a failure"]
)
@pytest.mark.parametrize("user", ["", "user:wrong@"])
async def test_a_proxy_that_refuses_makes_the_page_unreachable(here: Ground, options: dict[str, Any], user: str) -> None:
    here.names = {"site.example": [[PUBLIC]]}
    async with socks(here, **options) as proxy:
        with pytest.raises(Unreachable) as caught:
            await body(here.client(proxy=f"socks5://{user}127.0.0.1:{proxy.port}"), "http://site.example/")
    assert "wrong" not in f"{caught.value} {caught.value.hint} {caught.value.diagnostics}"


async def test_a_proxy_that_is_gone_makes_the_page_unreachable(here: Ground) -> None:
    here.names = {"site.example": [[PUBLIC]]}
    here.doors = frozenset({1})
    with pytest.raises(Unreachable):
        await body(here.client(proxy="socks5://127.0.0.1:1"), "http://site.example/")
    assert here.opened == []


@pytest.mark.parametrize("proxy", ["ftp://proxy.example", "socks4://proxy.example:1080", "http://"])
async def test_what_is_no_proxy_is_the_operators_to_correct(here: Ground, proxy: str) -> None:
    with pytest.raises(NotConfigured, match="proxy"):
        await body(here.client(proxy=proxy), "http://site.example/")


class TestOfTheEnvironment:
    @pytest.fixture
    async def proxy(self, here: Ground, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SocksProxy]:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "no_proxy", "NO_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        async with socks(here) as proxy:
            monkeypatch.setenv("ALL_PROXY", f"socks5h://127.0.0.1:{proxy.port}")
            yield proxy

    async def test_it_is_taken_where_the_operator_says_so(self, here: Ground, proxy: SocksProxy) -> None:
        here.names = {"site.example": [[PUBLIC]]}
        assert await body(here.client(), "http://site.example/") == "<p>the site</p>"
        assert proxy.asked == []
        assert await body(here.client(proxy="environment"), "http://site.example/") == "<p>the site</p>"
        assert proxy.asked == [("site.example", 80)]

    @pytest.mark.parametrize("entry", ["site.example", ".example", "example", "*", "other, site.example:80", PUBLIC])
    async def test_hosts_without_proxy_are_reached_directly_and_judged_in_full(
        self, here: Ground, proxy: SocksProxy, entry: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NO_PROXY", entry)
        here.names = {"site.example": [[PUBLIC], ["10.0.0.1"]]}
        url = "http://site.example/" if entry != PUBLIC else f"http://{PUBLIC}/"
        here.names[PUBLIC] = [[PUBLIC]]
        assert await body(here.client(proxy="environment"), url) == "<p>the site</p>"
        assert (proxy.asked, here.opened) == ([], [PUBLIC])
        if entry != PUBLIC:
            await refusal(here.client(proxy="environment"), url)

    async def test_a_page_that_cannot_be_reached_without_it_says_which_setting_there_is(
        self, here: Ground, proxy: SocksProxy
    ) -> None:
        here.names = {"site.example": [[]]}
        with pytest.raises(Unreachable) as caught:
            await body(here.client(), "http://site.example/")
        assert "network.page_proxy" in (caught.value.hint or "")

    async def test_this_machine_is_never_reached_through_it(self, proxy: SocksProxy) -> None:
        async with serve(PagesSite({"/": "<p>mine</p>"})) as url:
            pages = PageClient(allow=["127.0.0.0/8"], proxy="environment")
            assert await body(pages, url) == "<p>mine</p>"
        assert proxy.connections == 0
