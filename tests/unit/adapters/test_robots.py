"""robots.txt: who may crawl what, and what its failures mean."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from upstreams.pages import Page, PagesSite, Served
from upstreams.script import Script, Step, cut_after, hang_up, redirect, status
from upstreams.serve import transport
from websearch_adapters.extract.robots import KEPT_S, MAX_SITES, RETRY_AFTER_S, Robots
from websearch_adapters.http.pages import PageClient
from websearch_core.errors import NotAllowed, Unreachable
from websearch_core.testing.fakes import FakeClock

pytestmark = pytest.mark.anyio

PLAIN = "text/plain; charset=utf-8"
RULES = """User-agent: *
Disallow: /private/
Disallow: /*.cgi$
Allow: /private/open
Crawl-delay: 1.5

User-agent: greedybot
Disallow: /

Sitemap: /sitemap.xml
Sitemap: https://cdn.example.org/more.xml
"""


def asking(robots: Served | None, clock: FakeClock | None = None, **more: Served) -> tuple[Robots, PagesSite]:
    """Robots over a site with this robots.txt; none is a 404."""
    site = PagesSite({**({"/robots.txt": robots} if robots else {}), **{f"/{name}": page for name, page in more.items()}})
    return Robots(PageClient(transport=transport(site)), now=clock or FakeClock()), site


def text(body: str | bytes) -> Page:
    return Page(body, PLAIN)


async def test_the_rules_for_everyone_hold_for_us() -> None:
    robots, _ = asking(text(RULES))
    assert (await robots.verdict("http://site.example/docs")).allowed
    assert (await robots.verdict("http://site.example/private/open")).allowed
    assert not (await robots.verdict("http://site.example/private/x")).allowed
    assert await robots.allows("http://site.example/docs")
    assert not await robots.allows("http://site.example/private/x")


async def test_rules_that_name_us_come_before_those_for_everyone() -> None:
    robots, _ = asking(text("User-agent: *\nDisallow: /\n\nUser-agent: WebSearch\nDisallow: /secret\n"))
    assert (await robots.verdict("http://site.example/x")).allowed
    refused = await robots.verdict("http://site.example/secret/x")
    assert refused.reason.endswith("(Disallow: /secret)")


@pytest.mark.parametrize(("path", "rule"), [("/private/x", "/private/"), ("/a/b.cgi", "/*.cgi$")])
async def test_the_refusal_names_host_and_rule(path: str, rule: str) -> None:
    robots, _ = asking(text(RULES))
    verdict = await robots.verdict(f"http://site.example{path}")
    assert verdict.reason == f"robots.txt of site.example forbids it (Disallow: {rule})"
    assert verdict.failure is None


async def test_sitemaps_and_crawl_delay_come_along() -> None:
    robots, _ = asking(text(RULES))
    verdict = await robots.verdict("http://site.example/docs")
    assert verdict.sitemaps == ("http://site.example/sitemap.xml", "https://cdn.example.org/more.xml")
    assert verdict.crawl_delay_s == 1.5


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 451])
async def test_a_client_error_means_that_there_are_no_rules(code: int) -> None:
    robots, _ = asking(status(code, body="<h1>No</h1>"))
    assert (await robots.verdict("http://site.example/x")).allowed


@pytest.mark.parametrize(
    "step", [status(500, body="<p>No"), status(503, body="<p>Down"), hang_up(), cut_after(3)], ids=lambda s: s.name
)
async def test_a_server_error_or_a_broken_reply_forbids_crawling_for_now(step: Step) -> None:
    robots, _ = asking(step)
    verdict = await robots.verdict("http://site.example/x")
    assert not verdict.allowed
    assert isinstance(verdict.failure, Unreachable)
    assert "could not be read" in verdict.reason
    assert "site.example" in verdict.reason


class Silent(httpx.AsyncBaseTransport):
    """A network on which nothing answers in time."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("silent", request=request)


async def test_silence_forbids_crawling_for_now() -> None:
    robots = Robots(PageClient(transport=Silent()), now=FakeClock())
    verdict = await robots.verdict("http://site.example/x")
    assert not verdict.allowed
    assert isinstance(verdict.failure, Unreachable)


async def test_a_failure_is_asked_again_after_a_minute() -> None:
    clock = FakeClock()
    robots, site = asking(Script(status(503, body="down"), status(404, body="none")), clock)
    assert not await robots.allows("http://site.example/x")
    clock.advance(RETRY_AFTER_S - 1)
    assert not await robots.allows("http://site.example/x")
    assert len(site.requests) == 1
    clock.advance(1)
    assert await robots.allows("http://site.example/x")
    assert len(site.requests) == 2


async def test_rules_are_kept_for_an_hour_and_per_site() -> None:
    clock = FakeClock()
    robots, site = asking(text(RULES), clock)
    for url in ("http://site.example/a", "http://SITE.example/b", "http://site.example/c?d"):
        await robots.verdict(url)
    assert len(site.requests) == 1
    await robots.verdict("http://other.example/a")
    assert len(site.requests) == 2
    clock.advance(KEPT_S)
    await robots.verdict("http://site.example/a")
    assert len(site.requests) == 3


async def test_the_rules_of_500_sites_are_remembered() -> None:
    robots, site = asking(None)
    for number in range(MAX_SITES + 1):
        await robots.allows(f"http://site{number}.example/")
    await robots.allows("http://site1.example/")
    assert len(site.requests) == MAX_SITES + 1
    await robots.allows("http://site0.example/")
    assert len(site.requests) == MAX_SITES + 2


async def test_many_questions_at_once_make_one_request() -> None:
    robots, site = asking(text(RULES))
    await asyncio.gather(*(robots.allows(f"http://site.example/{i}") for i in range(20)))
    assert len(site.requests) == 1


async def test_redirects_are_followed() -> None:
    robots, _ = asking(redirect("http://www.site.example/rules"), rules=text("User-agent: *\nDisallow: /moved"))
    assert not await robots.allows("http://site.example/moved")
    assert await robots.allows("http://site.example/other")


async def test_a_redirect_to_an_inner_address_is_refused_and_forbids_crawling() -> None:
    robots, site = asking(redirect("http://127.0.0.1/robots.txt"))
    verdict = await robots.verdict("http://site.example/x")
    assert not verdict.allowed
    assert isinstance(verdict.failure, NotAllowed)
    assert len(site.requests) == 1


async def test_a_byte_order_mark_does_not_hide_the_first_line() -> None:
    robots, _ = asking(text("\ufeffUser-agent: *\nDisallow: /x".encode()))
    assert not await robots.allows("http://site.example/x")


async def test_only_the_first_500_kb_count() -> None:
    filler = "# comment\n" * 52_000
    robots, _ = asking(text(f"User-agent: *\nDisallow: /early\n{filler}Disallow: /late\n"))
    assert not await robots.allows("http://site.example/early")
    assert await robots.allows("http://site.example/late")


async def test_a_page_in_place_of_rules_allows_everything() -> None:
    robots, _ = asking("<html><body>Welcome</body></html>")
    assert await robots.allows("http://site.example/x")


@pytest.mark.parametrize("delay", ["-1", "nan", "inf", "soon"])
async def test_a_senseless_crawl_delay_is_none(delay: str) -> None:
    robots, _ = asking(text(f"User-agent: *\nCrawl-delay: {delay}\nDisallow: /x"))
    assert (await robots.verdict("http://site.example/")).crawl_delay_s is None


@pytest.mark.parametrize("rules", [5, 5_000], ids=["few", "thousands"])
async def test_others_work_between_any_two_addresses_however_many_rules_there_are(rules: int) -> None:
    """A site may publish thousands of rules and tens of thousands of addresses; nothing else may stand still for that."""
    robots, _ = asking(text("User-agent: *\n" + "".join(f"Disallow: /*a{number}\n" for number in range(rules))))
    await robots.verdict("http://site.example/first")
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    working = asyncio.create_task(others())
    for number in range(30):
        before = turns
        assert await robots.allows(f"http://site.example/{number}")
        assert turns > before
    working.cancel()
