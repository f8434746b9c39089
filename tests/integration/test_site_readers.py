"""The readers of single sites over their simulated APIs: what a page says, what is folded, what happens without a token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest

from shared_worker import WORKER
from upstreams.arxiv import ArxivUpstream
from upstreams.github import GitHubUpstream
from upstreams.script import Script, ok, redirect, status
from upstreams.serve import serve, transport
from upstreams.simulator import Simulator
from upstreams.stackexchange import StackExchangeUpstream
from upstreams.wikipedia import WikipediaUpstream
from websearch_adapters.extract import stackexchange, wikipedia
from websearch_adapters.extract.arxiv import Arxiv
from websearch_adapters.extract.github import GitHub, GitHubSettings
from websearch_adapters.extract.stackexchange import StackExchange
from websearch_adapters.extract.wikipedia import Wikipedia
from websearch_adapters.extract.worker import Limits, Worker
from websearch_adapters.http.client import Http
from websearch_adapters.http.pages import PageClient
from websearch_core.chain import ExtractorChain
from websearch_core.errors import BadReply, Declined, EmptyResult, RateLimited, RequestRejected, TooCostly, Unreachable
from websearch_core.testing.fakes import FakeClock, FakeCredentials, FakeExtractor
from websearch_core.values import FetchRequest, Page

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TOKEN = "ghp_0123456789abcdefghij"
REPO = "https://github.com/acme/footbridge"
Clients = Callable[[Simulator], tuple[PageClient, Http]]


@pytest.fixture
async def clients() -> AsyncIterator[Clients]:
    async with AsyncExitStack() as stack:

        def both(upstream: Simulator) -> tuple[PageClient, Http]:
            pages = PageClient(transport=transport(upstream))
            http = Http(FakeCredentials({"github": TOKEN}), transport=transport(upstream))
            stack.push_async_callback(pages.aclose)
            stack.push_async_callback(http.aclose)
            return pages, http

        yield both


def github(clients: Clients, upstream: Simulator, *, keyed: bool = False) -> GitHub:
    return GitHub(*clients(upstream), WORKER, GitHubSettings(keyed=keyed), now=lambda: NOON)


async def read(reader: GitHub | StackExchange | Arxiv | Wikipedia, url: str) -> Page:
    page = await reader.extract(FetchRequest(url=url))
    assert page is not None
    return page


class TestGitHub:
    @pytest.mark.requirement("RS-SPECIALIST-02")
    async def test_an_issue_comes_with_its_state_and_comments(self, clients: Clients) -> None:
        page = await read(github(clients, GitHubUpstream()), f"{REPO}/issues/7")
        assert page.text == (
            "# The bridge does not close (#7)\n\n"
            "Issue in acme/footbridge · closed as not planned · opened by walker on 2026-11-01 · labels: bug, river\n\n"
            "It stays **open** after dusk.\n\n```\nbridge: stuck\n```\n\n"
            "## Comments\n\n### user1, 2026-11-02\n\nComment 1\n\n### user2, 2026-11-02\n\nComment 2"
        )
        assert (page.title, page.kind, page.provider) == ("The bridge does not close", "markdown", "github")
        assert (page.final_url, page.published, page.fetched_at) == (f"{REPO}/issues/7", "2026-11-01", "2026-11-30T12:00:00Z")

    @pytest.mark.requirement("RS-SPECIALIST-03", "RS-SPECIALIST-04")
    async def test_comments_beyond_thirty_are_folded_and_the_page_asked_for_is_bounded(self, clients: Clients) -> None:
        upstream = GitHubUpstream(comments=75)
        page = await read(github(clients, upstream), f"{REPO}/issues/7")
        assert upstream.last.params == {"per_page": "31"}
        assert page.text.count("\n\nComment ") == 30
        assert page.text.endswith(f"*45 more comments are not shown: {REPO}/issues/7*")

    async def test_no_comments_cost_no_request(self, clients: Clients) -> None:
        upstream = GitHubUpstream(comments=0)
        page = await read(github(clients, upstream), f"{REPO}/issues/7")
        assert len(upstream.requests) == 1
        assert "Comments" not in page.text

    @pytest.mark.parametrize(("number", "state"), [(12, "merged by keeper on 2026-11-06"), (13, "closed without merging")])
    async def test_a_pull_request_says_whether_it_was_merged(self, clients: Clients, number: int, state: str) -> None:
        page = await read(github(clients, GitHubUpstream()), f"{REPO}/pull/{number}")
        facts = page.text.split("\n\n")[1]
        assert facts == (
            f"Pull request in acme/footbridge · {state} · opened by builder on 2026-11-03 · builder:dusk into main"
            " · +12 −3 in 2 files"
        )
        assert "### reviewer1: approved, 2026-11-01" in page.text
        assert "### reviewer2: changes requested, 2026-11-02\n\nPlease add a test." in page.text
        assert "reviewer3" not in page.text  # it only carried the remarks
        assert "### reviewer1 at `src/bridge.py` line 1, 2026-11-04\n\nRemark 1" in page.text
        assert "### reviewer1 at `src/bridge.py` line 42, 2026-11-04\n\nRemark 2" in page.text

    async def test_remarks_beyond_thirty_are_folded(self, clients: Clients) -> None:
        page = await read(github(clients, GitHubUpstream(remarks=100)), f"{REPO}/pull/12")
        assert f"*70 more review comments are not shown: {REPO}/pull/12*" in page.text

    async def test_an_issue_address_of_a_pull_request_is_read_as_one(self, clients: Clients) -> None:
        page = await read(github(clients, GitHubUpstream()), f"{REPO}/issues/1000")
        assert "Pull request in acme/footbridge · merged" in page.text

    @pytest.mark.parametrize(
        ("address", "path", "before"),
        [
            ("releases/latest", "/repos/acme/footbridge/releases/latest", "published"),
            ("releases/tag/v1.0.0", "/repos/acme/footbridge/releases/tags/v1.0.0", "published"),
            ("releases/tag/pkg%2Fv2-rc1", "/repos/acme/footbridge/releases/tags/pkg/v2-rc1", "pre-release · published"),
        ],
    )
    async def test_a_release_says_whether_it_is_a_pre_release(
        self, clients: Clients, address: str, path: str, before: str
    ) -> None:
        upstream = GitHubUpstream()
        page = await read(github(clients, upstream), f"{REPO}/{address}")
        assert upstream.last.path == path
        assert f"of acme/footbridge · {before} by keeper on 2026-10-02" in page.text
        assert "(12,345 bytes)" in page.text
        assert page.published == "2026-10-02"

    async def test_a_file_comes_from_the_raw_host_in_a_fence(self, clients: Clients) -> None:
        upstream = GitHubUpstream()
        page = await read(github(clients, upstream), f"{REPO}/blob/feature/dusk/src/bridge.py")
        assert upstream.last.path == "/acme/footbridge/feature/dusk/src/bridge.py"
        assert page.text.startswith("```python\ndef reopen() -> str:")
        assert page.kind == "text"

    async def test_a_readme_is_markdown_of_the_asked_branch(self, clients: Clients) -> None:
        upstream = GitHubUpstream()
        page = await read(github(clients, upstream), f"{REPO}/tree/v1")
        assert upstream.last.params == {"ref": "v1"}
        assert (page.title, page.kind) == ("acme/footbridge: README.md", "markdown")
        assert "```python\nimport footbridge\n```" in page.text

    @pytest.mark.parametrize(
        ("path", "error"), [("logo.png", Declined), ("docs/empty.md", EmptyResult), ("no.py", RequestRejected)]
    )
    async def test_what_is_no_text_is_an_error(self, clients: Clients, path: str, error: type[Exception]) -> None:
        with pytest.raises(error):
            await read(github(clients, GitHubUpstream()), f"{REPO}/blob/main/{path}")

    async def test_a_readme_that_the_api_holds_back_is_empty(self, clients: Clients) -> None:
        upstream = GitHubUpstream(readme={"name": "README.md", "encoding": "none", "content": ""})
        with pytest.raises(EmptyResult):
            await read(github(clients, upstream), REPO)

    async def test_the_token_goes_to_the_api_and_to_no_other_host(self, clients: Clients) -> None:
        upstream = GitHubUpstream(keys=[TOKEN])
        reader = github(clients, upstream, keyed=True)
        await read(reader, f"{REPO}/pull/12")
        assert {(request.headers["host"], request.key) for request in upstream.requests} == {("api.github.com", TOKEN)}
        assert {request.headers["x-github-api-version"] for request in upstream.requests} == {"2022-11-28"}
        await read(reader, f"{REPO}/blob/feature/dusk/src/bridge.py")
        hosts = [(request.headers["host"], request.key) for request in upstream.requests[-2:]]
        assert hosts == [("api.github.com", TOKEN), ("raw.githubusercontent.com", None)]

    async def test_a_token_opens_private_repositories(self, clients: Clients) -> None:
        upstream = GitHubUpstream(keys=[TOKEN], private="acme/footbridge")
        assert "open" in (await read(github(clients, upstream, keyed=True), f"{REPO}/blob/main/src/bridge.py")).text
        with pytest.raises(RequestRejected, match="404"):
            await read(github(clients, upstream), f"{REPO}/issues/7")

    async def test_without_a_token_nothing_is_sent_along(self, clients: Clients) -> None:
        upstream = GitHubUpstream()
        await read(github(clients, upstream), f"{REPO}/issues/7")
        assert {request.key for request in upstream.requests} == {None}

    async def test_a_refused_token_does_not_close_public_pages(self, clients: Clients) -> None:
        upstream = GitHubUpstream(keys=["another"])
        page = await read(github(clients, upstream, keyed=True), f"{REPO}/issues/7")
        assert "Comment 2" in page.text
        assert upstream.last.key is None

    async def test_a_moved_repository_is_followed_without_the_token(self, clients: Clients) -> None:
        moved = redirect("https://api.github.com/repos/acme/renamed/issues/7", status=301)
        upstream = GitHubUpstream(keys=[TOKEN], comments=0, paths={"/repos/acme/footbridge/issues/7": moved})
        page = await read(github(clients, upstream, keyed=True), f"{REPO}/issues/7")
        assert page.final_url == "https://github.com/acme/renamed/issues/7"
        assert [request.key for request in upstream.requests] == [TOKEN, None, None]

    async def test_the_hourly_limit_names_the_token(self, clients: Clients) -> None:
        with pytest.raises(RateLimited) as caught:
            await read(github(clients, GitHubUpstream(keyless_limit=0)), f"{REPO}/issues/7")
        assert "GITHUB_TOKEN" in (caught.value.hint or "")
        assert caught.value.provider == "github"

    async def test_a_limited_token_is_no_wrong_token(self, clients: Clients) -> None:
        limited = status(403, body={"message": "You have exceeded a secondary rate limit."})
        reader = github(clients, GitHubUpstream(script=Script(limited, ok())), keyed=True)
        with pytest.raises(Unreachable):
            await read(reader, f"{REPO}/issues/7")
        assert "Comment 2" in (await read(reader, f"{REPO}/issues/7")).text

    async def test_the_next_reader_takes_over_from_one_that_fails(self, clients: Clients) -> None:
        spare = Page(url=f"{REPO}/issues/7", text="As the page itself shows it.", provider="fake_extractor")
        limited = github(clients, GitHubUpstream(keyless_limit=0))
        chain = ExtractorChain([limited, FakeExtractor({spare.url: spare})])
        page = await chain.extract(FetchRequest(url=spare.url))
        assert page is not None
        assert (page.provider, [note.code for note in page.notes]) == ("fake_extractor", ["github_rate_limited"])

    @pytest.mark.parametrize("place", ["issues/7", "issues/7/comments"])
    async def test_a_reply_of_nothing_but_values_is_refused_unread(self, clients: Clients, place: str) -> None:
        """Ten megabytes of empty lists would keep everybody else waiting for seconds."""
        upstream = GitHubUpstream(paths={f"/repos/acme/footbridge/{place}": ok({"labels": [[[], []]] * 900_000})})
        with pytest.raises(BadReply, match="more than 100,000 values") as caught:
            await read(github(clients, upstream), f"{REPO}/issues/7")
        assert caught.value.provider == "github"

    async def test_what_people_wrote_is_made_into_a_page_where_it_can_be_stopped(self, clients: Clients) -> None:
        """Comments of two megabytes, every second character of which nobody sees, take seconds to clean."""
        said = [{"body": "a\u200d" * 32_768, "user": {"login": "walker"}, "created_at": "2026-11-02T00:00:00Z"}] * 30
        upstream = GitHubUpstream(paths={"/repos/acme/footbridge/issues/7/comments": ok(said)})
        hasty = Worker(Limits(time_s=0.05), processes=1)
        try:
            reader = GitHub(*clients(upstream), hasty, GitHubSettings(), now=lambda: NOON)
            with pytest.raises(TooCostly, match=r"takes more than 0\.05 s to read") as caught:
                await read(reader, f"{REPO}/issues/7")
        finally:
            await hasty.aclose()
        assert caught.value.provider == "github"
        assert (await read(github(clients, upstream), f"{REPO}/issues/7")).text.count("a" * 32_768) == 30

    async def test_works_over_a_real_connection(self) -> None:
        upstream = GitHubUpstream()
        async with serve(upstream) as base_url:
            pages, http = PageClient(allow=("127.0.0.1",)), Http(FakeCredentials({}))
            reader = GitHub(pages, http, WORKER, GitHubSettings(api_url=base_url, raw_url=base_url))
            assert "Comment 2" in (await read(reader, f"{REPO}/issues/7")).text
            await pages.aclose()
            await http.aclose()

    async def test_the_probe_tells_what_is_left(self, clients: Clients) -> None:
        assert "60 requests an hour" in (await github(clients, GitHubUpstream()).probe()).detail
        health = await github(clients, GitHubUpstream(keys=[TOKEN]), keyed=True).probe()
        assert (health.state, health.detail) == ("ok", "4,990 of 5,000 requests left this hour")
        refused = await github(clients, GitHubUpstream(keys=["another"]), keyed=True).probe()
        assert refused.state == "failing"


class TestStackExchange:
    @pytest.mark.requirement("RS-SPECIALIST-02")
    async def test_the_accepted_answer_comes_first_then_the_others_by_votes(self, clients: Clients) -> None:
        upstream = StackExchangeUpstream()
        page = await read(
            StackExchange(clients(upstream)[0], WORKER, now=lambda: NOON), "https://stackoverflow.com/questions/11/how-to"
        )
        assert page.title == 'How to write <b> & "x"?'
        assert page.text == (
            '# How to write <b> & "x"?\n\n'
            "Question on stackoverflow.com · score 7 · asked by Anna & Bob on 2026-10-26 · tags: html, escaping\n\n"
            'I want `<b>` as *text*.\n\n```\nprint("<b>")\n```\n\n'
            "## Answers\n\n"
            "### Accepted answer by Answerer 2 · score 98 · 2026-10-26\n\nAnswer 2: escape it.\n\n"
            "#### Comments\n\n"
            "- Commenter 1 (2026-10-26): Comment 1 with `a < b`\n- Commenter 2 (2026-10-26): Comment 2 with `a < b`\n\n"
            "### Answer by Answerer 1 · score 99 · 2026-10-26\n\nAnswer 1: escape it.\n\n"
            "### Answer by Answerer 3 · score 97 · 2026-10-26\n\nAnswer 3: escape it."
        )
        assert {request.params["site"] for request in upstream.requests} == {"stackoverflow.com"}

    @pytest.mark.requirement("RS-SPECIALIST-03")
    async def test_answers_beyond_five_are_folded_and_an_accepted_one_far_down_is_not(self, clients: Clients) -> None:
        upstream = StackExchangeUpstream(answers=12, accepted=9)
        page = await read(StackExchange(clients(upstream)[0], WORKER), "https://math.stackexchange.com/q/11")
        heads = [line for line in page.text.splitlines() if line.startswith("### ")]
        assert [head.split(" · ")[0].removeprefix("### ") for head in heads] == [
            "Accepted answer by Answerer 9", "Answer by Answerer 1", "Answer by Answerer 2", "Answer by Answerer 3",
            "Answer by Answerer 4",
        ]  # fmt: skip
        assert page.text.endswith("*7 more answers are not shown: https://math.stackexchange.com/questions/11/how-to*")
        sizes = [request.params.get("pagesize") for request in upstream.requests]
        assert sizes == [None, "6", None, "31"]

    @pytest.mark.parametrize(("site", "shown"), [("math.stackexchange.com", r"$\pi_{1}$"), ("stackoverflow.com", r"$\\pi\_{1}$")])
    async def test_formulas_stay_tex_where_the_site_writes_them(self, site: str, shown: str) -> None:
        thread = stackexchange.Thread(question={"title": "T", "body": r"<p>Why is $\pi_{1}$ so?</p>"})
        assert f"Why is {shown} so?" in stackexchange.to_text(thread, site)

    async def test_the_answer_that_the_address_names_is_shown(self, clients: Clients) -> None:
        upstream = StackExchangeUpstream(answers=12, accepted=0)
        page = await read(StackExchange(clients(upstream)[0], WORKER), "https://mathoverflow.net/a/1111")
        assert "### Answer by Answerer 11 · score 89" in page.text
        assert page.text.index("Answerer 11") < page.text.index("Answerer 1 ")
        assert "Comments" not in page.text

    async def test_comments_beyond_thirty_are_folded(self, clients: Clients) -> None:
        page = await read(StackExchange(clients(StackExchangeUpstream(comments=31))[0], WORKER), "https://stackoverflow.com/q/11")
        assert page.text.count("- Commenter ") == 30
        assert "- *more comments are not shown: https://stackoverflow.com/questions/11/how-to*" in page.text

    async def test_a_question_without_answers_says_so(self, clients: Clients) -> None:
        page = await read(
            StackExchange(clients(StackExchangeUpstream(answers=0, accepted=0))[0], WORKER), "https://stackoverflow.com/q/11"
        )
        assert page.text.endswith("*No answers.*")

    @pytest.mark.parametrize("path", ["q/404", "a/1199"])
    async def test_what_does_not_exist_is_an_error(self, clients: Clients, path: str) -> None:
        with pytest.raises(EmptyResult):
            await read(StackExchange(clients(StackExchangeUpstream())[0], WORKER), f"https://stackoverflow.com/{path}")

    async def test_a_method_that_asks_for_rest_gets_it(self, clients: Clients) -> None:
        clock, upstream = FakeClock(), StackExchangeUpstream(answers=0, accepted=0, backoff_s=10)
        reader = StackExchange(clients(upstream)[0], WORKER, clock=clock)
        await read(reader, "https://stackoverflow.com/q/11")
        with pytest.raises(RateLimited) as caught:
            await read(reader, "https://stackoverflow.com/q/12")
        assert (caught.value.retry_after_s, len(upstream.requests)) == (10.0, 1)
        clock.advance(10)
        await read(reader, "https://stackoverflow.com/q/12")


class TestArxiv:
    @pytest.mark.requirement("RS-SPECIALIST-02")
    async def test_a_paper_comes_with_everything_that_arxiv_says_of_it(self, clients: Clients) -> None:
        upstream = ArxivUpstream()
        page = await read(Arxiv(clients(upstream)[0], WORKER, now=lambda: NOON), "https://arxiv.org/abs/hep-th/9901001v3")
        assert upstream.last.params == {"id_list": "hep-th/9901001v3", "max_results": "1"}
        assert page.text == (
            "# All About Footbridges\n\n"
            "- Authors: Ada Example, Björn Beispiel\n"
            "- Categories: cs.CL, cs.LG\n"
            "- Published: 2026-06-12 (this version 2026-08-02)\n"
            "- Comment: 15 pages, 5 figures\n"
            "- Journal: Journal of Bridges 4 (2026)\n"
            "- DOI: 10.5555/example\n"
            "- Abstract page: https://arxiv.org/abs/hep-th/9901001v3\n"
            "- PDF: https://arxiv.org/pdf/hep-th/9901001v3\n\n"
            "## Abstract\n\nBridges are closed & opened. We show how."
        )
        assert (page.published, page.notes) == ("2026-06-12", ())

    async def test_the_address_of_a_pdf_gives_the_abstract_and_says_so(self, clients: Clients) -> None:
        page = await read(Arxiv(clients(ArxivUpstream())[0], WORKER), "https://arxiv.org/pdf/2606.01234v2.pdf")
        assert [note.code for note in page.notes] == ["abstract_only"]

    @pytest.mark.parametrize("reply", [{"missing": ("2606.99999",)}, {"malformed": ("2606.99999",)}])
    async def test_a_paper_that_does_not_exist_is_an_error(self, clients: Clients, reply: dict[str, tuple[str, ...]]) -> None:
        upstream = ArxivUpstream(missing=reply.get("missing", ()), malformed=reply.get("malformed", ()))
        with pytest.raises(EmptyResult):
            await read(Arxiv(clients(upstream)[0], WORKER), "https://arxiv.org/abs/2606.99999")


class TestWikipedia:
    @pytest.mark.requirement("RS-SPECIALIST-02")
    async def test_an_article_comes_without_navigation_and_footnotes(self, clients: Clients) -> None:
        upstream = WikipediaUpstream()
        page = await read(
            Wikipedia(clients(upstream)[0], WORKER, now=lambda: NOON), "https://en.m.wikipedia.org/wiki/Pedestrian_bridge"
        )
        assert page.text == (
            "# Footbridge\n\n"
            "|  |  |\n| --- | --- |\n| Material | Wood |\n| Length | 40 m |\n\n"
            "A **footbridge** is a [bridge](https://en.wikipedia.org/wiki/Bridge) for people on foot.\n\n"
            "## Load\n\nThe load is $q=5$ kN.\n\n"
            "The bridge at dusk"
        )
        assert (page.title, page.language) == ("Footbridge", "en")
        assert page.final_url == "https://en.wikipedia.org/wiki/Footbridge"
        assert upstream.last.headers["host"] == "en.wikipedia.org"
        assert "websearch" in upstream.last.headers["user-agent"]

    def test_formulas_are_tex(self) -> None:
        mathml = '<span style="display: none;"><math><semantics><mi>x</mi></semantics></math></span>'
        image = '<img class="mwe-math-fallback-image-inline" src="//wikimedia.example/1" alt="{\\displaystyle x_{1}^{*}}">'
        block = '<img class="mwe-math-fallback-image-display" src="//wikimedia.example/2" alt="{\\displaystyle \\frac {a}{b}}">'
        text = wikipedia.to_text("T", f"<p>So {mathml}{image} and</p><p>{block}</p>", "https://en.wikipedia.org/wiki/")
        assert text == "# T\n\nSo $x_{1}^{*}$ and\n\n$$\\frac {a}{b}$$"

    async def test_every_language_has_its_own_host(self, clients: Clients) -> None:
        upstream = WikipediaUpstream()
        page = await read(Wikipedia(clients(upstream)[0], WORKER), "https://zh.wikipedia.org/zh-tw/%E8%A1%8C%E4%BA%BA%E6%A1%A5")
        assert (upstream.last.headers["host"], upstream.last.params["variant"]) == ("zh.wikipedia.org", "zh-tw")
        assert page.text == "# 行人桥\n\n行人桥是供行人使用的桥。"
        assert page.language == "zh-tw"

    @pytest.mark.requirement("RS-SPECIALIST-05")
    @pytest.mark.parametrize("title", ["2001: A Space Odyssey", "AC/DC"])
    async def test_colons_and_slashes_may_stand_in_a_title(self, clients: Clients, title: str) -> None:
        page = await read(
            Wikipedia(clients(WikipediaUpstream())[0], WORKER), f"https://en.wikipedia.org/wiki/{title.replace(' ', '_')}"
        )
        assert page.title == title

    async def test_a_prefix_that_the_wiki_knows_as_another_namespace_is_declined(self, clients: Clients) -> None:
        upstream = WikipediaUpstream()
        reader = Wikipedia(clients(upstream)[0], WORKER)
        assert await reader.extract(FetchRequest(url="https://de.wikipedia.org/wiki/Wikiprojekt:Br%C3%BCcken")) is None
        assert [request.params["action"] for request in upstream.requests] == ["query"]

    async def test_an_article_that_does_not_exist_is_an_error(self, clients: Clients) -> None:
        with pytest.raises(RequestRejected):
            await read(Wikipedia(clients(WikipediaUpstream())[0], WORKER), "https://en.wikipedia.org/wiki/Nowhere")

    async def test_an_article_of_navigation_alone_is_empty(self, clients: Clients) -> None:
        with pytest.raises(EmptyResult):
            await read(Wikipedia(clients(WikipediaUpstream())[0], WORKER), "https://en.wikipedia.org/wiki/Blank")
