"""The built-in mapper over small sites."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shared_worker import WORKER
from upstreams.exchange import Recorded
from upstreams.pages import Page, PagesSite, Served, build_site
from upstreams.script import Step, answering, hang, hang_up, html_page, redirect, status
from upstreams.serve import transport
from upstreams.wide_site import WideSite
from websearch_adapters.crawl.local import AT_ONCE, MAX_ALIKE, LocalMapper, ranked
from websearch_adapters.extract.robots import Robots
from websearch_adapters.http.pages import MAX_REDIRECTS, PageClient
from websearch_core import urls
from websearch_core.errors import Declined, EmptyResult, NotAllowed, RequestRejected, Unreachable
from websearch_core.ports import Mapper
from websearch_core.progress import heard_by
from websearch_core.testing.contracts import Hanging, MapperContract
from websearch_core.values import Link, MapRequest, SiteMap

pytestmark = pytest.mark.anyio

HOST = "http://site.example"


class Budget:
    """A time limit that runs out when the test says so."""

    def __init__(self) -> None:
        self.asked_s: list[float] = []
        self._timeout = asyncio.timeout(None)

    def __call__(self, seconds: float) -> asyncio.Timeout:
        self.asked_s.append(seconds)
        return self._timeout

    def run_out(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time())


def mapper(site: PagesSite, **options: object) -> LocalMapper:
    pages = PageClient(transport=transport(site))
    return LocalMapper(pages, Robots(pages), WORKER, **options)  # type: ignore[arg-type]  # each test gives what it needs


def page(*links: str, title: str = "") -> str:
    items = "".join(f'<li><a href="{link}">to {link}</a></li>' for link in links)
    return f"<html><head><title>{title}</title></head><body><ul>{items}</ul></body></html>"


async def paths(site: PagesSite, path: str = "/", **request: object) -> list[str]:
    found = await mapper(site).map(MapRequest(url=HOST + path, **request))  # type: ignore[arg-type]
    return [link.url.removeprefix(HOST) for link in found.links]


def codes(found: SiteMap) -> list[str]:
    return [note.code for note in found.notes]


@pytest.mark.requirement("OURS-27")
class TestSitemaps:
    async def test_the_site_lists_itself(self) -> None:
        found = await mapper(build_site()).map(MapRequest(url=f"{HOST}/docs/"))
        urls = [link.url.removeprefix(HOST) for link in found.links]
        assert urls[0] == "/docs/"
        assert set(urls) >= {"/docs/install", "/docs/api", "/", "/blog/release-2-0"}
        assert urls.index("/blog/release-2-0") > urls.index("/docs/tasks")
        assert not found.truncated
        assert found.provider == "local"
        assert found.root == f"{HOST}/docs/"

    async def test_titles_come_from_the_links_of_the_start_page(self) -> None:
        found = await mapper(build_site()).map(MapRequest(url=f"{HOST}/docs/"))
        titles = {link.url.removeprefix(HOST): link.title for link in found.links}
        assert titles["/docs/install"] == "Install"
        assert titles["/docs/"] == "Documentation"

    async def test_enough_from_sitemaps_means_that_no_further_page_is_visited(self) -> None:
        site = build_site()
        found = await mapper(site).map(MapRequest(url=f"{HOST}/", limit=3, max_depth=3))
        assert len(found.links) == 3
        assert found.truncated
        assert [request.path for request in site.requests if not request.path.startswith("/sitemap")] == ["/robots.txt", "/"]

    async def test_other_hosts_and_files_for_machines_are_left_out(self) -> None:
        body = "http://site.example/a\nhttp://other.example/b\nhttp://site.example/c.PNG\nhttp://www.site.example/d\n"
        site = PagesSite({"/": page(), "/sitemap.xml": Page(body, "text/plain")})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/"))
        assert [link.url for link in found.links] == [f"{HOST}/", f"{HOST}/a", "http://www.site.example/d"]

    async def test_one_that_robots_names_and_that_cannot_be_read_is_noted(self) -> None:
        site = PagesSite(
            {
                "/": page("/a"),
                "/robots.txt": Page("Sitemap: /gone.xml\n", "text/plain"),
                "/sitemap.xml": Page("http://site.example/b"),
            }
        )
        found = await mapper(site).map(MapRequest(url=f"{HOST}/"))
        assert codes(found) == ["sitemap_unreadable"]
        assert [link.url for link in found.links] == [f"{HOST}/", f"{HOST}/a"]

    async def test_one_that_nobody_named_is_not_missed(self) -> None:
        assert codes(await mapper(PagesSite({"/": page("/a")})).map(MapRequest(url=f"{HOST}/"))) == []

    async def test_a_start_page_that_is_missing_does_not_hide_the_sitemap(self) -> None:
        site = PagesSite({"/sitemap.xml": Page("http://site.example/a", "text/plain")})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/old"))
        assert [link.url for link in found.links] == [f"{HOST}/a"]
        assert codes(found) == ["start_unreadable"]


@pytest.mark.requirement("OURS-27")
class TestLinks:
    SITE: Mapping[str, Served] = {
        "/": page("/a", "/b#part", "/a?utm_source=x", "/logo.png", "http://other.example/", "mailto:a@b.example"),
        "/a": page("/c", "/", title="Page A"),
        "/b": page("/d", "/c"),
        "/c": page("/e"),
        "/d": page(),
        "/e": page(),
    }

    async def test_one_level_are_the_links_of_the_start_page_each_once(self) -> None:
        assert await paths(PagesSite(self.SITE)) == ["/", "/a", "/b"]

    async def test_each_level_adds_the_links_of_the_one_before_in_order(self) -> None:
        assert await paths(PagesSite(self.SITE), max_depth=2) == ["/", "/a", "/b", "/c", "/d"]
        assert await paths(PagesSite(self.SITE), max_depth=3) == ["/", "/a", "/b", "/c", "/d", "/e"]

    async def test_no_page_is_visited_twice(self) -> None:
        site = PagesSite(self.SITE)
        await paths(site, max_depth=5)
        visited = [request.path for request in site.requests]
        assert len(visited) == len(set(visited))

    async def test_breadth_is_bounded_per_page_and_the_rest_is_told(self) -> None:
        site = PagesSite({"/": page("/a", "/b", "/c")})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/", max_breadth=2))
        assert [link.url for link in found.links] == [f"{HOST}/", f"{HOST}/a", f"{HOST}/b"]
        assert found.truncated

    async def test_the_limit_ends_the_crawl(self) -> None:
        pages: dict[str, Served] = {f"/{i}": page(f"/{i + 1}", f"/x{i}") for i in range(50)}
        site = PagesSite({"/": page("/1"), **pages})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/", max_depth=5, limit=3))
        assert len(found.links) == 3
        assert found.truncated
        assert len(site.requests) < 8

    async def test_pages_of_the_section_come_first(self) -> None:
        site = PagesSite({"/docs/intro.html": page("/blog", "/docs/a", "/about", "/docs/b")})
        assert await paths(site, "/docs/intro.html") == ["/docs/intro.html", "/docs/a", "/docs/b", "/blog", "/about"]

    async def test_dead_and_moved_links_are_put_right_when_they_are_visited(self) -> None:
        site = PagesSite({"/": page("/dead", "/old", "/away"), "/old": redirect("/new"), "/new": page("/x", title="New"),
                          "/away": redirect("http://other.example/")})  # fmt: skip
        assert await paths(site, max_depth=2) == ["/", "/new", "/x"]

    async def test_a_start_page_that_moved_decides_what_the_site_is(self) -> None:
        site = PagesSite({"/": redirect("http://moved.example/home"), "/home": page("/a", "http://site.example/b")})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/"))
        assert [link.url for link in found.links] == ["http://moved.example/home", "http://moved.example/a"]

    async def test_broken_pages_and_pages_of_other_kinds_do_not_end_the_crawl(self) -> None:
        site = PagesSite(
            {
                "/": page("/broken", "/text", "/ok"),
                "/broken": status(500),
                "/text": Page("<a href=/no>", "text/plain"),
                "/ok": page("/x"),
            }
        )
        assert await paths(site, max_depth=2) == ["/", "/broken", "/text", "/ok", "/x"]


@pytest.mark.requirement("OURS-27")
class TestRobots:
    RULES = Page("User-agent: *\nDisallow: /private\n", "text/plain")

    async def test_forbidden_links_are_neither_visited_nor_listed_and_that_is_noted(self) -> None:
        site = PagesSite({"/robots.txt": self.RULES, "/": page("/private/a", "/b"), "/b": page("/private/c")})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/", max_depth=2))
        assert [link.url for link in found.links] == [f"{HOST}/", f"{HOST}/b"]
        assert codes(found) == ["robots_disallowed"]
        assert "map.ignore_robots" in found.notes[0].text
        assert not any(request.path.startswith("/private") for request in site.requests)

    async def test_rules_behind_an_inner_address_are_refused_and_named(self) -> None:
        site = PagesSite({"/robots.txt": redirect("http://10.0.0.1/robots.txt"), "/": page("/a")})
        with pytest.raises(NotAllowed, match=r"a private address, and site\.example redirects there \(asked for robots\.txt\)"):
            await mapper(site).map(MapRequest(url=f"{HOST}/"))

    async def test_a_forbidden_start_page_is_refused_with_rule_and_switch(self) -> None:
        site = PagesSite({"/robots.txt": self.RULES, "/private/x": page("/b")})
        with pytest.raises(NotAllowed, match=r"site\.example forbids it \(Disallow: /private\)") as caught:
            await mapper(site).map(MapRequest(url=f"{HOST}/private/x"))
        assert "map.ignore_robots" in (caught.value.hint or "")
        assert [request.path for request in site.requests] == ["/robots.txt"]

    async def test_rules_that_cannot_be_read_are_a_refusal_that_says_so(self) -> None:
        site = PagesSite({"/robots.txt": status(503, body="<p>down"), "/": page("/a")})
        with pytest.raises(NotAllowed, match=r"could not be read .*answers 503"):
            await mapper(site).map(MapRequest(url=f"{HOST}/"))
        assert len(site.requests) == 1

    async def test_an_operator_can_ignore_them(self) -> None:
        site = PagesSite({"/robots.txt": status(503, body="<p>down"), "/": page("/private/a")})
        found = await mapper(site, ignore_robots=True).map(MapRequest(url=f"{HOST}/"))
        assert [link.url for link in found.links] == [f"{HOST}/", f"{HOST}/private/a"]
        assert codes(found) == []

    async def test_the_rules_of_the_host_that_the_start_leads_to_hold_too(self) -> None:
        class TwoHosts(PagesSite):
            """Forbids crawling under one of its names."""

            def _step(self, request: Recorded) -> Step:
                forbidden = request.path == "/robots.txt" and request.headers["host"] == "moved.example"
                return self.acts["/forbid"].next() if forbidden else super()._step(request)

        forbid = answering("forbid", lambda _: Response("User-agent: *\nDisallow: /", 200, None, "text/plain"))
        site = TwoHosts({"/": redirect("http://moved.example/home"), "/home": page("/a"), "/forbid": forbid})
        with pytest.raises(NotAllowed, match=r"moved\.example"):
            await mapper(site).map(MapRequest(url=f"{HOST}/"))

    async def test_a_crawl_delay_is_kept_up_to_thirty_seconds_and_one_page_at_a_time(self) -> None:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        rules = Page("User-agent: *\nCrawl-delay: 600\nDisallow:\n", "text/plain")
        site = PagesSite({"/robots.txt": rules, "/": page("/a", "/b", "/c")})
        found = await mapper(site, sleep=sleep).map(MapRequest(url=f"{HOST}/", max_depth=2))
        assert slept == [30.0, 30.0, 30.0]
        assert found.crawl_delay_s == 30.0

    async def test_no_more_pages_a_second_than_the_operator_allows(self) -> None:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        site = PagesSite({"/": page(*(f"/{number}" for number in range(6)))})
        await mapper(site, sleep=sleep, pages_per_s=8.0).map(MapRequest(url=f"{HOST}/", max_depth=2))
        assert slept == [0.5, 0.25]

    async def test_what_a_sitemap_lists_and_robots_forbids_is_not_listed(self) -> None:
        """Who reads the map asks for its pages."""
        rules = Page("User-agent: *\nDisallow: /private/\nSitemap: /all.txt\n", "text/plain")
        listed = Page("http://site.example/a\nhttp://site.example/private/b\n", "text/plain")
        found = await mapper(PagesSite({"/robots.txt": rules, "/all.txt": listed, "/": page()})).map(MapRequest(url=f"{HOST}/"))
        assert [link.url for link in found.links] == [f"{HOST}/", f"{HOST}/a"]
        assert codes(found) == ["robots_disallowed"]

    async def test_a_sitemap_that_robots_forbids_is_not_asked_for(self) -> None:
        rules = Page("User-agent: *\nDisallow: /maps/\nSitemap: /maps/all.txt\n", "text/plain")
        site = PagesSite({"/robots.txt": rules, "/maps/all.txt": Page("http://site.example/a"), "/": page("/b")})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/"))
        assert "/maps/all.txt" not in [request.path for request in site.requests]
        assert codes(found) == ["sitemap_unreadable"]

    @pytest.mark.parametrize("target", ["/private/a", "http://elsewhere.example/"])
    async def test_a_redirect_into_the_forbidden_or_to_another_site_is_not_followed(self, target: str) -> None:
        rules = Page("User-agent: *\nDisallow: /private/\n", "text/plain")
        site = PagesSite({"/robots.txt": rules, "/": page("/a", "/b"), "/a": redirect(target), "/b": page("/c"), "/c": page()})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/", max_depth=3))
        assert [link.url for link in found.links] == [f"{HOST}/", f"{HOST}/b", f"{HOST}/c"]
        assert [request.path for request in site.requests] == ["/robots.txt", "/", "/sitemap.xml", "/a", "/b", "/c"]

    async def test_links_that_say_nofollow_are_not_followed(self) -> None:
        site = PagesSite({"/": '<html><body><a href="/a">a</a> <a rel="UGC nofollow" href="/b">b</a></body></html>'})
        assert [link.url for link in (await mapper(site).map(MapRequest(url=f"{HOST}/"))).links] == [f"{HOST}/", f"{HOST}/a"]

    async def test_never_more_than_four_requests_run_at_once(self) -> None:
        class Counting(PagesSite):
            """Remembers how many requests it had at once, at most."""

            now = most = 0

            async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
                self.now += 1
                self.most = max(self.most, self.now)
                await asyncio.sleep(0)
                await super().__call__(scope, receive, send)
                self.now -= 1

        links = [f"/{i}" for i in range(19)]
        site = Counting({"/": page(*links), **{link: page() for link in links}})
        await mapper(site).map(MapRequest(url=f"{HOST}/", max_depth=2))
        assert site.most == AT_ONCE


class TestTraps:
    async def test_addresses_that_differ_in_the_visit_alone_are_one_page(self) -> None:
        links = ("/a?sid=1", "/a?sid=2", "/a;jsessionid=77", "/b?x=1&PHPSESSID=3", "/b?x=1", "/c?side=1")
        assert await paths(PagesSite({"/": page(*links)})) == ["/", "/a", "/b?x=1", "/c?side=1"]

    async def test_a_calendar_ends(self) -> None:
        """A year of days is linked from every day."""
        days = [f"/day/{number}" for number in range(400)]
        site = PagesSite({"/": page("/day/0"), **{day: page(*days) for day in days}})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/", max_depth=3, max_breadth=500, limit=500))
        assert len(found.links) == 2 + MAX_ALIKE
        assert codes(found) == ["more_pages"]

    async def test_many_pages_alike_in_one_list_are_no_calendar(self) -> None:
        site = PagesSite({"/": page("/items"), "/items": page(*(f"/item?id={number}" for number in range(300)))})
        assert len(await paths(site, max_depth=2, max_breadth=500, limit=500)) == 302

    async def test_links_that_go_round_end(self) -> None:
        class Round(PagesSite):
            """Answers everything with a link below itself."""

            def _step(self, request: Recorded) -> Step:
                if request.path.startswith("/round"):
                    return answering("round", lambda _: Response(page("deeper/", "round/"), media_type="text/html"))
                return super()._step(request)

        site = Round({"/": page("/round/")})
        assert len(await paths(site, max_depth=5, limit=500)) < 12

    async def test_a_circle_of_redirects_is_no_page_and_asked_for_once(self) -> None:
        site = PagesSite({"/": page("/a", "/b"), "/a": redirect("/a"), "/b": page("/a", "/c"), "/c": page("/a")})
        assert await paths(site, max_depth=4) == ["/", "/b", "/c"]
        assert [request.path for request in site.requests].count("/a") == 1 + MAX_REDIRECTS

    @pytest.mark.parametrize("sitemaps", [True, False])
    async def test_a_wide_site_is_found_whole_in_the_same_order_and_nothing_forbidden_is_asked_for(self, sitemaps: bool) -> None:
        site = WideSite(sitemaps=sitemaps)
        request = MapRequest(url=f"{HOST}/", limit=500, max_breadth=500, max_depth=1 if sitemaps else 5)
        first = await wide(site).map(request)
        found = {urls.canonical(link.url) for link in first.links}
        real = {urls.canonical(urls.absolute(HOST, path) or path) for path in site.pages}
        assert real <= found
        assert found == real or not sitemaps
        assert site.forbidden_hits == []
        assert (await wide(site).map(request)).links == first.links


def wide(site: WideSite) -> LocalMapper:
    pages = PageClient(transport=transport(site))
    return LocalMapper(pages, Robots(pages), WORKER)


class TestPatterns:
    SITE: Mapping[str, Served] = {
        "/": page("/docs/", "/old/", "/blog/"),
        "/docs/": page("/docs/a", "/docs/b"),
        "/old/": page("/docs/old"),
        "/blog/": page("/docs/c", "/blog/x"),
        **dict.fromkeys(("/docs/a", "/docs/b", "/docs/c", "/docs/old", "/blog/x"), page()),
    }

    async def test_pages_that_are_not_wanted_lead_to_wanted_ones(self) -> None:
        found = await paths(PagesSite(self.SITE), max_depth=3, patterns=("/docs/*",))
        assert found == ["/docs/", "/docs/a", "/docs/b", "/docs/old", "/docs/c"]

    async def test_what_is_excluded_is_neither_listed_nor_visited(self) -> None:
        site = PagesSite(self.SITE)
        assert await paths(site, max_depth=3, patterns=("!/old*", "!*/b")) == [
            "/",
            "/docs/",
            "/blog/",
            "/docs/a",
            "/docs/c",
            "/blog/x",
        ]
        assert "/old/" not in [request.path for request in site.requests]

    async def test_patterns_that_no_page_fits_are_said_to_be_the_cause(self) -> None:
        with pytest.raises(EmptyResult, match="no page matches the patterns") as caught:
            await paths(PagesSite(self.SITE), patterns=("nowhere",))
        assert "3 other pages were seen" in (caught.value.hint or "")

    async def test_the_limit_counts_wanted_pages_alone(self) -> None:
        sitemap = Page("\n".join(f"http://site.example/{part}/{n}" for n in range(40) for part in ("a", "b")), "text/plain")
        site = PagesSite({"/": page(), "/sitemap.xml": sitemap})
        assert await paths(site, limit=30, patterns=("/b/*",)) == [f"/b/{number}" for number in range(30)]


LIST = Page("http://site.example/a", "text/plain")


class TestSitemapsAndLinks:
    async def test_sitemaps_that_list_much_more_than_the_start_page_are_the_sites_own_list(self) -> None:
        sitemap = Page("\n".join(f"http://site.example/{n}" for n in range(10)), "text/plain")
        site = PagesSite({"/": page("/1", "/trap", "/2", title="Start"), "/sitemap.xml": sitemap, "/1": page("/more")})
        found = await mapper(site).map(MapRequest(url=f"{HOST}/", max_depth=3))
        assert [link.url for link in found.links] == [f"{HOST}/", *(f"{HOST}/{number}" for number in range(10))]
        assert found.links[2].title == "to /1"

    async def test_sitemaps_that_list_less_are_completed_by_links(self) -> None:
        site = PagesSite({"/": page("/a", "/b"), "/sitemap.xml": LIST, "/a": page(), "/b": page("/c")})
        assert await paths(site, max_depth=2) == ["/", "/a", "/b", "/c"]

    async def test_who_waits_is_told_how_many_pages_were_found(self) -> None:
        steps: list[tuple[str, int, int | None]] = []
        with heard_by(lambda *step: steps.append(step)):
            await paths(PagesSite(TestLinks.SITE), max_depth=3)
        assert steps[0] == ("pages found", 1, None)
        assert steps[-1] == ("pages found", 6, None)
        assert [done for _, done, _ in steps] == sorted(done for _, done, _ in steps)


class TestTime:
    async def test_the_requests_own_time_is_the_limit(self) -> None:
        budget = Budget()
        await mapper(PagesSite({"/": page("/a")}), limit=budget).map(MapRequest(url=f"{HOST}/", timeout=23))
        assert budget.asked_s == [23]

    async def test_what_was_found_is_returned_when_the_time_is_up(self) -> None:
        budget = Budget()
        site = PagesSite({"/": page("/a", "/b"), "/a": page("/c"), "/b": hang()})
        task = asyncio.create_task(mapper(site, limit=budget).map(MapRequest(url=f"{HOST}/", max_depth=2)))
        await site.until(lambda it: bool(it.requests) and it.last.path == "/b")
        budget.run_out()
        found = await task
        assert [link.url for link in found.links] == [f"{HOST}/", f"{HOST}/a", f"{HOST}/b"]
        assert codes(found) == ["partial"]
        assert found.truncated
        await site.until(lambda it: it.in_flight == 0)

    async def test_nothing_found_in_time_is_an_error(self) -> None:
        budget = Budget()
        site = PagesSite({"/": hang()})
        task = asyncio.create_task(mapper(site, limit=budget).map(MapRequest(url=f"{HOST}/")))
        await site.until(lambda it: bool(it.requests) and it.last.path == "/")
        budget.run_out()
        with pytest.raises(Unreachable, match="within 150 s"):
            await task


class TestFailures:
    @pytest.mark.parametrize(
        ("start", "kind"),
        [
            (status(404), RequestRejected),
            (status(403), Declined),
            (status(500), Unreachable),
            (hang_up(), Unreachable),
            (html_page(), Declined),
        ],
    )
    async def test_a_start_page_that_cannot_be_had_is_the_error_when_nothing_else_is_found(
        self, start: Step, kind: type[Exception]
    ) -> None:
        with pytest.raises(kind):
            await mapper(PagesSite({"/": start})).map(MapRequest(url=f"{HOST}/"))

    async def test_an_inner_address_is_refused(self) -> None:
        for ignore in (False, True):
            with pytest.raises(NotAllowed, match="loopback"):
                await mapper(PagesSite({}), ignore_robots=ignore).map(MapRequest(url="http://127.0.0.1/"))

    async def test_a_host_that_does_not_answer_is_unreachable_and_not_forbidden(self) -> None:
        async def unknown(host: str, port: int) -> list[str]:
            raise OSError("unknown")

        pages = PageClient(resolver=unknown)
        with pytest.raises(Unreachable):
            await LocalMapper(pages, Robots(pages), WORKER).map(MapRequest(url="http://nowhere.example/"))
        await pages.aclose()


class TestRanking:
    def links(self, *urls: str) -> list[Link]:
        return [Link(url=HOST + url) for url in urls]

    def test_matches_in_the_address_come_first(self) -> None:
        links = self.links("/about", "/docs/retry-policy", "/docs/install")
        assert ranked(links, "retries policies")[0].url == f"{HOST}/docs/retry-policy"

    def test_matches_in_the_title_count(self) -> None:
        links = [*self.links("/a", "/b"), Link(url=f"{HOST}/p?id=7", title="Preise und Tarife")]
        assert ranked(links, "preise")[0].title == "Preise und Tarife"

    def test_words_run_together_and_scripts_without_blanks_match(self) -> None:
        assert ranked(self.links("/x", "/getUserName"), "user name")[0].url == f"{HOST}/getUserName"
        assert ranked(self.links("/x", "/%E4%BB%BB%E5%8A%A1%E9%98%9F%E5%88%97"), "任务")[0].url.endswith("%97")

    def test_rare_words_weigh_more_than_common_ones(self) -> None:
        links = self.links("/docs/a", "/docs/b", "/docs/c", "/sqlite")
        assert ranked(links, "docs sqlite")[0].url == f"{HOST}/sqlite"

    def test_order_stays_where_nothing_matches(self) -> None:
        links = self.links("/c", "/a", "/b")
        assert ranked(links, "zzz") == links
        assert ranked(links, "  ") == links
        assert ranked([], "x") == []

    async def test_instructions_choose_which_pages_make_the_map(self) -> None:
        site = PagesSite({"/": page("/a", "/b", "/pricing")})
        assert (await paths(site, instructions="pricing", limit=1)) == ["/pricing"]
        assert "/pricing" in await paths(site, instructions="pricing", max_breadth=1)


FAILURES: list[Step] = [status(500, body="<p>x"), status(403, body="<p>x"), status(429, body="<p>x"), hang_up(), html_page()]


class TestContract(MapperContract):
    @pytest.fixture
    def map_request(self) -> MapRequest:
        return MapRequest(url=f"{HOST}/docs/")

    @pytest.fixture
    def mapper(self) -> Mapper:
        return mapper(build_site())

    @pytest.fixture
    def empty_mapper(self) -> Mapper:
        return mapper(PagesSite({"/docs/": page()}))

    @pytest.fixture(params=FAILURES, ids=lambda step: step.name)
    def failing_mapper(self, request: pytest.FixtureRequest) -> Mapper:
        return mapper(PagesSite({}, script=request.param))

    @pytest.fixture
    def hanging_mapper(self) -> Hanging[Mapper]:
        site = PagesSite({"/docs/": hang()})
        return Hanging(
            part=mapper(site),
            entered=lambda: site.until(lambda it: bool(it.requests) and it.last.path == "/docs/"),
            left=lambda: site.until(lambda it: it.disconnects == 1),
        )
