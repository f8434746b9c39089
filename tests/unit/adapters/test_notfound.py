"""Pages under status 200 that say that they are not there, and pages about that matter."""

from __future__ import annotations

import pytest

from websearch_adapters.extract.html import HtmlDocument, read_html
from websearch_adapters.extract.reading import Document, read
from websearch_core.errors import NotFound

URL = "https://shop.example/catalogue/lamps/4711"
SENTENCE = "A server that knows the path but has nothing there answers so, and says nothing about whether that will change. "
MENU = '<header><nav><a href="/a">Lamps</a> <a href="/b">Chairs</a></nav></header>'
FOOT = '<footer><p>© 2026 Shop. <a href="/imprint">Imprint</a></p></footer>'


def page(title: str, content: str, head: str = "") -> str:
    return f"<html><head><title>{title}</title>{head}</head><body>{MENU}<main>{content}</main>{FOOT}</body></html>"


def found(title: str, content: str, head: str = "", *, url: str = URL) -> HtmlDocument:
    return read_html(page(title, content, head), url)


GONE = {
    "en": ("Page not found | Shop", "<h1>Page not found</h1><p>The page you are looking for does not exist.</p>"),
    "en oops": ("Shop", "<h1>Oops! That page can&rsquo;t be found.</h1><p>It looks like nothing was found at this location.</p>"),
    "en number": ("404 - Shop", "<h1>404</h1><h2>This page could not be found.</h2>"),
    "en server": ("404 Not Found", "<center><h1>404 Not Found</h1></center><hr><center>nginx/1.25.3</center>"),
    "en apache": ("404 Not Found", "<h1>Not Found</h1><p>The requested URL /x was not found on this server.</p><hr>Apache/2.4"),
    "en help": (
        "Error 404 – Shop",
        "<h1>Sorry, we can’t find that page</h1><p>You may have followed an old link. Try the search above, or one of these:</p>"
        "<ul>" + "".join(f'<li><a href="/lamps/{n}">A lamp for the hall, number {n}</a></li>' for n in range(40)) + "</ul>",
    ),
    "de": ("Seite nicht gefunden – Laden", "<h1>Fehler 404</h1><p>Die angeforderte Seite konnte nicht gefunden werden.</p>"),
    "fr": ("Page introuvable | Magasin", "<h1>Page introuvable</h1><p>La page que vous recherchez n’existe plus.</p>"),
    "es": ("Página no encontrada - Tienda", "<h1>404</h1><p>Lo sentimos, la página que buscas no existe.</p>"),
    "pt": ("Página não encontrada", "<h1>Erro 404</h1><p>A página que você procura não foi encontrada.</p>"),
    "it": ("Pagina non trovata", "<h1>Errore 404</h1><p>La pagina che stai cercando non esiste.</p>"),
    "nl": ("Pagina niet gevonden", "<h1>404</h1><p>De opgevraagde pagina bestaat niet meer.</p>"),
    "pl": ("Nie znaleziono strony", "<h1>Błąd 404</h1><p>Strona, której szukasz, nie istnieje.</p>"),
    "ru": ("Страница не найдена", "<h1>Ошибка 404</h1><p>Запрашиваемая страница не существует.</p>"),
    "zh": ("页面不存在 - 商店", "<h1>404</h1><p>抱歉，您访问的页面不存在或已被删除。</p>"),
    "zh number": ("404_商店", "<h1>出错了</h1><p>找不到您要的网页。</p>"),
    "zh-hant": ("找不到網頁 | 商店", "<h1>404</h1><p>很抱歉，您要找的頁面不存在。</p>"),
    "ja": ("ページが見つかりません | 店", "<h1>404 Not Found</h1><p>お探しのページは見つかりませんでした。</p>"),
    "ko": ("페이지를 찾을 수 없습니다", "<h1>404</h1><p>요청하신 페이지를 찾을 수 없습니다.</p>"),
}


class TestNoSuchPage:
    @pytest.mark.parametrize("language", GONE)
    def test_a_page_that_says_it_is_not_there_is_no_content(self, language: str) -> None:
        document = found(*GONE[language])
        assert (document.outcome, document.markdown, document.doubtful) == ("not_found", "", False)

    def test_a_page_that_a_script_draws_after_the_fact_is_told_by_what_it_shows(self) -> None:
        shell = (
            '<div id="__next"><div><h1>404</h1><h2>This page could not be found.</h2></div></div><script src="/a.js"></script>'
        )
        assert read_html(f"<html><head><title>404</title></head><body>{shell}</body></html>", URL).outcome == "not_found"
        empty = '<html><head><title>404</title></head><body><div id="root"></div><script src="/a.js"></script></body></html>'
        assert read_html(empty, URL).outcome == "script_shell"

    @pytest.mark.parametrize(
        "head",
        [
            '<meta name="prerender-status-code" content="404">',
            '<link rel="canonical" href="https://shop.example/404">',
            '<link rel="canonical" href="/en/page-not-found/">',
            '<meta property="og:url" content="https://shop.example/errors/404.html">',
        ],
    )
    def test_metadata_counts_with_such_words_or_without_any_text(self, head: str) -> None:
        assert found("Shop", "<p>That page does not exist.</p>", head).outcome == "not_found"
        assert found("Shop", "<p>Back to the lamps.</p>", head).outcome == "not_found"
        middling = found("Shop", f"<h1>Lamps</h1><p>{SENTENCE * 5}</p>", head)
        assert (middling.outcome, middling.doubtful) == ("content", True)
        full = found("Shop", f"<h1>Lamps</h1><p>{SENTENCE * 20}</p>", head)
        assert (full.outcome, full.doubtful) == ("content", False)

    def test_the_reader_says_so_as_for_status_404(self) -> None:
        body = page(*GONE["en"]).encode()
        with pytest.raises(NotFound, match=r"shop\.example sends a page that says that there is no such page") as caught:
            read(Document(body=body, url=URL, content_type="text/html"))
        assert (caught.value.provider, caught.value.http_status) == ("local", 200)
        assert caught.value.hint == "The page does not exist; check the address or search for it."


class TestDoubt:
    @pytest.mark.parametrize(
        ("title", "content"),
        [
            ("404 | Films", "<h1>404</h1><p>A film of 2011 by a first-time director, with a cast of students and one song.</p>"),
            ("Not Found", f"<h1>Not Found</h1><p>{SENTENCE * 8}</p>"),
            (
                "Shop",
                "<p>Sorry, this page is no longer available.</p><p>Write to us, and we find you another lamp with a shade of the same glass.</p>",
            ),
        ],
    )
    def test_what_may_be_a_short_page_is_read_with_a_note(self, title: str, content: str) -> None:
        reading = read(Document(body=page(title, content).encode(), url=URL, content_type="text/html"))
        assert reading.text
        assert [note.code for note in reading.notes] == ["maybe_not_found"]


class TestAbout:
    @pytest.mark.parametrize(
        ("url", "title", "content", "head"),
        [
            (
                "https://en.wikipedia.example/wiki/HTTP_404",
                "HTTP 404 - Wikipedia",
                f"<h1>HTTP 404</h1><p>The page you requested could not be found.</p><h2>Overview</h2><p>{SENTENCE * 40}</p>",
                "",
            ),
            (
                "https://developer.mozilla.example/en-US/docs/Web/HTTP/Reference/Status/404",
                "404 Not Found - HTTP | MDN",
                "<h1>404 Not Found</h1><p>The client error response 404 says that the server cannot find the resource.</p>",
                "",
            ),
            (
                "https://stackoverflow.example/questions/4711/404-not-found-in-nginx",
                "404 not found in nginx - Stack Overflow",
                "<h1>404 not found in nginx</h1><p>My page is not found, although the file exists.</p><pre>location / {}</pre>",
                "",
            ),
            (
                "https://ask.example/q/4711",
                "404 Not Found - Ask",
                "<h1>404 Not Found</h1><p>The page I put on my server was not found. What is wrong?</p>",
                '<script type="application/ld+json">{"@type": "QAPage"}</script>',
            ),
            (
                "https://words.example/w/4711",
                "404 Not Found",
                "<h1>404 Not Found</h1><p>It means that the requested page was not found on the server.</p>",
                "",
            ),
            ("https://states.example/404", "404 Not Found", f"<h1>404 Not Found</h1><p>{SENTENCE * 20}</p>", ""),
            (
                "https://news.example/a",
                "Page not found",
                "<h1>Page not found</h1><p>The band split yesterday; the page you see does not exist any more.</p>",
                '<meta property="article:published_time" content="2026-11-30">',
            ),
            (
                URL,
                "Lamp 4711",
                "<h1>Lamp 4711</h1><p>This product is no longer available.</p><p>It had a shade of glass.</p>",
                "",
            ),
            ("https://blog.example/b", "How we draw our page not found", f"<p>{SENTENCE}</p>", ""),
            (
                "https://blog.example/c",
                "Room 404",
                "<h1>Room 404</h1><p>The best room of the house, with a view of the sea.</p>",
                "",
            ),
            ("https://blog.example/d", "Lost and found", "<p>Our page lists what was found on trains, and who lost it.</p>", ""),
        ],
    )
    def test_a_page_about_it_is_read_as_any_other(self, url: str, title: str, content: str, head: str) -> None:
        document = found(title, content, head, url=url)
        assert (document.outcome, document.doubtful) == ("content", False)
        assert document.markdown

    def test_an_address_that_cannot_be_read_decides_nothing(self) -> None:
        head = '<meta property="og:url" content="http://[bad">'
        assert found("Lamps", "<p>Fifty lamps for the hall.</p>", head).outcome == "content"
