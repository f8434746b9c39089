"""The built-in reader over a small web of pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest

from upstreams.documents import docx, epub, pdf
from upstreams.pages import Page as SitePage
from upstreams.pages import PagesSite, Served, article, build_site
from upstreams.script import Step, hang, hang_up, html_page, status
from upstreams.serve import serve, transport
from websearch_adapters.extract.local import LocalReader
from websearch_adapters.extract.reading import Document
from websearch_adapters.extract.worker import Worker
from websearch_adapters.http.pages import PageClient
from websearch_core.chain import ExtractorChain
from websearch_core.errors import (
    Blocked,
    Declined,
    EmptyResult,
    InvalidInput,
    NeedsRendering,
    NotAllowed,
    NotFound,
    Unreachable,
)
from websearch_core.fetch import Fetch
from websearch_core.ports import Extractor
from websearch_core.testing.contracts import ExtractorContract, Hanging
from websearch_core.testing.fakes import FakeCache, FakeExtractor
from websearch_core.values import FetchRequest, Page

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 11, 30, 12, 0, 1, 999, tzinfo=UTC)
HOST = "http://site.example"
JA = "これは日本語のページです。①㈱髙橋さんは東京に住んでいます。"
FR = "Voilà une page en français : l’été, cœur, 20 €."

Over = Callable[[PagesSite], LocalReader]


@pytest.fixture
async def over(worker: Worker) -> AsyncIterator[Over]:
    """A reader for any site, closed when the test ends."""
    async with AsyncExitStack() as stack:

        def opened(site: PagesSite) -> LocalReader:
            pages = PageClient(transport=transport(site))
            stack.push_async_callback(pages.aclose)
            return LocalReader(pages, worker, now=lambda: NOON)

        yield opened


async def read(reader: LocalReader, path: str) -> Page:
    page = await reader.extract(FetchRequest(url=HOST + path))
    assert page is not None
    return page


@pytest.fixture
def documentation(over: Over) -> LocalReader:
    return over(build_site(slow_s=0))


async def test_a_documentation_page_is_read_without_its_frame(documentation: LocalReader) -> None:
    page = await read(documentation, "/docs/quickstart")
    assert (page.kind, page.provider, page.language) == ("html", "local", "en")
    assert page.title == "Quickstart"
    assert page.text.startswith("# Quickstart\n\n")
    assert "```python\nfrom tidepool import Queue\n" in page.text
    for noise in ("cookies", "Newsletter", "free software", "window.visited"):
        assert noise not in page.text


async def test_time_and_addresses_are_told(documentation: LocalReader) -> None:
    page = await read(documentation, "/docs/old-start")
    assert page.fetched_at == "2026-11-30T12:00:01Z"
    assert page.url == f"{HOST}/docs/old-start"
    assert page.final_url == f"{HOST}/docs/quickstart"


@pytest.mark.requirement("OURS-25")
@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("/docs/quickstart.md", "markdown", "# Quickstart\n\nWrite a task:\n\n```python\n@queue.task\n```"),
        ("/notes.txt", "text", "Tidepool notes\n\n* 900 tasks a second\n* one SQLite file"),
        ("/api/tasks.json", "json", '"name": "resize"'),
        ("/sitemap.xml", "xml", "```xml\n<?xml"),
        ("/feed.xml", "feed", "- [Tidepool 2.0](http://site.example/blog/release-2-0) (2026-11-14)"),
        ("/atom.xml", "feed", "- [Tidepool 2.0](http://site.example/blog/release-2-0) (2026-11-14)"),
    ],
)
async def test_every_kind_of_text_is_read_as_what_it_is(documentation: LocalReader, path: str, kind: str, expected: str) -> None:
    page = await read(documentation, path)
    assert page.kind == kind
    assert expected in page.text


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (article("t", f"<p>{JA * 3}</p>").body, "text/html; charset=utf-8", JA),
        (f"<meta charset=shift_jis><main><p>{JA}</p></main>".encode("cp932"), "text/html", JA),
        (f"<main><p>{JA * 3}</p></main>".encode("cp932"), "text/html", JA),
        (f"<main><p>{JA}</p></main>".encode("utf-16"), "text/html", JA),
        (f"<main><p>{JA}</p></main>".encode("utf-16-le"), "text/html; charset=utf-16", JA),
        (f"<main><p>{FR}</p></main>".encode("cp1252"), "text/html", FR),
        (f"<main><p>{FR}</p></main>".encode("utf-8-sig"), "text/html; charset=iso-8859-1", FR),
        (f"<main><p>{FR}</p></main>".encode(), "text/html; charset=iso-8859-1", FR),
    ],
    ids=["utf-8", "sjis", "sjis undeclared", "utf-16", "utf-16 by header", "cp1252 undeclared", "mark", "utf-8 as latin-1"],
)
async def test_every_charset_is_read_exactly(over: Over, body: bytes | str, content_type: str, expected: str) -> None:
    page = await read(over(PagesSite({"/": SitePage(body, content_type)})), "/")
    assert expected in page.text


async def test_a_chinese_page_that_declares_itself_late_is_read(documentation: LocalReader) -> None:
    page = await read(documentation, "/zh/guide")
    assert page.title == "指南"
    assert page.text.startswith("# 任务队列指南\n\n任务是普通的异步函数，队列是一个文件。")


async def test_a_page_under_a_wrong_label_is_read(documentation: LocalReader) -> None:
    assert "Ein Gerät mit größerem Speicher." in (await read(documentation, "/mislabelled")).text
    assert "Guide de démarrage" in (await read(documentation, "/fr/guide")).text


async def test_html_under_a_wrong_type_is_still_html(over: Over) -> None:
    page = await read(
        over(PagesSite({"/": SitePage("<!doctype html><main><h1>Title</h1><p>Text.</p></main>", "text/plain")})), "/"
    )
    assert (page.kind, page.text) == ("html", "# Title\n\nText.")


async def test_a_page_drawn_by_a_script_is_told_as_such_with_advice(documentation: LocalReader) -> None:
    with pytest.raises(NeedsRendering, match=r"site\.example") as caught:
        await read(documentation, "/app")
    assert "JavaScript" in (caught.value.hint or "")


ABOUT = """<html lang="de"><head><title>T</title><meta name="author" content="Ann &lt;/untrusted> Bee">
<link rel="canonical" href="/real">{head}</head><body><main><time datetime="2024-05-06">x</time><p>Some text.</p></main></body></html>"""


async def test_what_a_page_says_of_itself_comes_with_it(over: Over) -> None:
    stated = '<meta property="article:published_time" content="2024-01-02">'
    reader = over(PagesSite({"/": ABOUT.format(head=""), "/real": ABOUT.format(head=stated)}))
    fetch = Fetch(extractor=reader, cache=FakeCache())
    guessed, said = [await fetch(FetchRequest(url=HOST + path)) for path in ("/", "/real")]
    assert (guessed.author, guessed.language, guessed.canonical) == ("Ann <·/untrusted> Bee", "de", f"{HOST}/real")
    assert (said.canonical, said.published) == (None, "2024-01-02")
    assert ([note.code for note in guessed.notes], said.notes) == (["published_guessed"], ())


async def test_a_page_that_says_nothing_of_itself_has_none_of_it(over: Over) -> None:
    fetch = Fetch(extractor=over(PagesSite({"/": "<p>Some text."})), cache=FakeCache())
    found = await fetch(FetchRequest(url=f"{HOST}/"))
    assert (found.author, found.language, found.canonical, found.published) == (None, None, None, "")


def sending(target: str) -> str:
    return f'<html><head><meta http-equiv="refresh" content="0; url={target}"></head><body>Redirecting…</body></html>'


async def test_a_page_that_only_sends_elsewhere_is_followed(over: Over) -> None:
    reader = over(PagesSite({"/": sending("/docs/"), "/docs/": sending("en/"), "/docs/en/": article("T", "<p>Text.</p>")}))
    page = await read(reader, "/")
    assert (page.url, page.final_url, page.text) == (f"{HOST}/", f"{HOST}/docs/en/", "Text.")


async def test_pages_that_send_in_circles_are_unreachable(over: Over) -> None:
    with pytest.raises(Unreachable, match="from page to page"):
        await read(over(PagesSite({"/": sending("/b"), "/b": sending("/")})), "/")


async def test_a_page_sends_nowhere_that_may_not_be_fetched(over: Over) -> None:
    for target in ("http://169.254.169.254/", "http://127.0.0.1/", "file:///etc/passwd"):
        site = PagesSite({"/": sending(target)})
        if target.startswith("file"):
            assert (await read(over(site), "/")).text == "Redirecting…"
        else:
            with pytest.raises(NotAllowed):
                await read(over(site), "/")


async def test_a_check_for_humans_is_blocked_and_never_content(over: Over) -> None:
    with pytest.raises(Blocked, match="check for humans"):
        await read(over(PagesSite({"/": html_page()})), "/")


@pytest.mark.parametrize("page", [html_page(), SitePage("<div id=root></div><script src=a.js></script>")], ids=["check", "shell"])
async def test_a_page_that_is_none_has_a_code_of_its_own(over: Over, page: Served) -> None:
    fetch = Fetch(extractor=over(PagesSite({"/": page})), cache=FakeCache())
    found = await fetch(FetchRequest(url=f"{HOST}/"))
    assert found.error in {"local_blocked", "local_needs_rendering"}
    assert found.error_detail is not None
    assert not found.error_detail.retryable


async def test_a_form_of_consent_is_no_page_to_read(worker: Worker) -> None:
    form = Document(body=b"<h1>Before you continue</h1><p>We use cookies.</p>", url="https://consent.site.example/m")
    with pytest.raises(Blocked, match="consent to its cookies"):
        await worker.read(form)


@pytest.mark.parametrize(("name", "value"), [("cf-mitigated", "challenge"), ("x-amzn-waf-action", "captcha")])
async def test_a_check_that_the_headers_tell_of_is_blocked_whatever_the_status(over: Over, name: str, value: str) -> None:
    for code in (202, 403, 503):
        with pytest.raises(Blocked):
            await read(over(PagesSite({"/": SitePage("<p>x</p>", status=code, headers={name: value})})), "/")


async def test_an_empty_page_has_no_content(documentation: LocalReader) -> None:
    with pytest.raises(EmptyResult, match="nothing readable"):
        await read(documentation, "/empty")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (SitePage(b"\x89PNG\r\n\x1a\n\x00", "image/png"), r"9 bytes.*image/png"),
        (SitePage(b"\x00\x01\x02" * 9, ""), "27 bytes"),
    ],
)
async def test_what_is_no_text_is_declined_with_its_kind_and_size(over: Over, page: SitePage, words: str) -> None:
    with pytest.raises(Declined, match=words) as caught:
        await read(over(PagesSite({"/": page})), "/")
    assert caught.value.hint


async def test_documents_of_every_kind_are_read_whatever_they_are_sent_as(over: Over) -> None:
    guide = docx("<w:p><w:r><w:t>The tide tables.</w:t></w:r></w:p>")
    reader = over(
        PagesSite({
            "/a": SitePage(pdf([["The tide tables of this year."], ["And of the next."]]), "text/html"),
            "/b": SitePage(guide, "application/octet-stream"),
            "/c": SitePage(epub({"one.xhtml": "<h1>The tide tables</h1>"}), "application/zip"),
        })
    )  # fmt: skip
    paper = await read(reader, "/a")
    assert (paper.kind, paper.text.startswith("## Page 1\n\nThe tide tables")) == ("pdf", True)
    assert [(page.kind, page.text) for page in (await read(reader, "/b"), await read(reader, "/c"))] == [
        ("docx", "The tide tables."),
        ("epub", "# The tide tables"),
    ]


async def test_a_document_that_says_less_than_it_holds_brings_its_note(over: Over) -> None:
    page = await read(over(PagesSite({"/": SitePage(pdf([["The tide tables of this year."], []]), "application/pdf")})), "/")
    assert [note.code for note in page.notes] == ["pages_without_text"]


async def test_a_part_of_a_page_is_read_by_selector(over: Over) -> None:
    reader = over(PagesSite({"/": article("t", "<h1>T</h1><p>Text.</p><table><tr><th>k<th>v<tr><td>1<td>2</table>")}))
    page = await reader.extract(FetchRequest(url=f"{HOST}/", selector="table"))
    assert page is not None
    assert (page.text, page.kind) == ("| k | v |\n| --- | --- |\n| 1 | 2 |", "html")


@pytest.mark.parametrize(
    ("body", "selector", "words"),
    [
        (article("t", "<p>Text.</p>"), ".nothing", "nothing readable"),
        (article("t", "<p>Text.</p>"), "p::after", "cannot read"),
        (SitePage("plain", "text/plain"), "p", "only HTML"),
    ],
    ids=["finds nothing", "cannot be read", "no HTML"],
)
async def test_a_selector_that_cannot_be_kept_is_an_input_error(over: Over, body: Served, selector: str, words: str) -> None:
    reader = over(PagesSite({"/": body}))
    with pytest.raises(InvalidInput, match=words) as caught:
        await reader.extract(FetchRequest(url=f"{HOST}/", selector=selector))
    assert caught.value.provider is None


async def test_statuses_come_through(documentation: LocalReader) -> None:
    for path, kind in (
        ("/gone", NotFound),
        ("/nowhere", NotFound),
        ("/blocked", Declined),
        ("/loop-a", Unreachable),
    ):
        with pytest.raises(kind):
            await read(documentation, path)


async def test_a_page_that_says_it_is_not_there_is_left_to_the_next_reader(over: Over) -> None:
    local = over(PagesSite({"/old": article("Page not found", "<h1>404</h1><p>The page you asked for does not exist.</p>")}))
    archive = FakeExtractor({f"{HOST}/old": "As it was."}, name="archive")
    page = await ExtractorChain([local, archive]).extract(FetchRequest(url=f"{HOST}/old"))
    assert page is not None
    assert (page.text, [note.code for note in page.notes]) == ("As it was.", ["local_not_found"])


async def test_an_inner_address_is_not_read(worker: Worker) -> None:
    site = PagesSite({"/": "secret"})
    async with serve(site) as url:
        pages = PageClient()
        with pytest.raises(NotAllowed):
            await LocalReader(pages, worker).extract(FetchRequest(url=url))
        await pages.aclose()
    assert site.requests == []


async def test_deep_nesting_is_read(over: Over) -> None:
    deep = "<div>" * 50_000 + "<p>At the very bottom.</p>" + "</div>" * 50_000
    assert "At the very bottom." in (await read(over(PagesSite({"/": f"<html><body>{deep}</body></html>"})), "/")).text


async def test_markdown_is_preferred_where_a_site_offers_it(over: Over) -> None:
    site = PagesSite({"/": "<p>x"})
    await read(over(site), "/")
    assert site.last.headers["accept"].startswith("text/markdown, text/html;")


FAILURES: Mapping[str, Served] = {
    "not there": status(404, body="<p>no"),
    "forbidden": status(403, body="<p>no"),
    "too often": status(429, body="<p>no"),
    "broken": status(500, body="<p>no"),
    "hung up": hang_up(),
    "check": html_page(),
    "pdf": SitePage(b"%PDF-1.7", "application/pdf"),
    "picture": SitePage(b"GIF89a", "image/gif"),
}


class TestContract(ExtractorContract):
    @pytest.fixture
    def page_request(self) -> FetchRequest:
        return FetchRequest(url=f"{HOST}/docs/tasks")

    @pytest.fixture
    def extractor(self, over: Over) -> Extractor:
        return over(build_site())

    @pytest.fixture
    def blank_extractor(self, over: Over) -> Extractor:
        return over(PagesSite({"/docs/tasks": "<html><body><p> </p></body></html>"}))

    @pytest.fixture(params=FAILURES.values(), ids=list(FAILURES))
    def failing_extractor(self, over: Over, request: pytest.FixtureRequest) -> Extractor:
        page: Served = request.param
        return over(PagesSite({"/docs/tasks": page}))

    @pytest.fixture
    def hanging_extractor(self, over: Over) -> Hanging[Extractor]:
        step: Step = hang()
        site = PagesSite({"/docs/tasks": step})
        return Hanging(
            part=over(site),
            entered=lambda: site.until(lambda it: it.in_flight == 1),
            left=lambda: site.until(lambda it: it.disconnects == 1),
        )
