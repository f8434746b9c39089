"""HTML pages as Markdown: what is kept, what is dropped, and what is no page."""

from __future__ import annotations

from random import Random
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_adapters.extract import forest, markup
from websearch_adapters.extract.html import moved_to, read_html, read_links
from websearch_core.errors import NotAllowed

URL = "https://docs.example.org/guide/intro.html"
PROSE = "<p>Some honest prose, with commas, clauses, and words enough to be kept as the content of the page.</p>"


def markdown(content: str, *, url: str = URL) -> str:
    return read_html(f"<html><body><main><article>{content}</article></main></body></html>", url).markdown


def framed(content: str, head: str = "") -> str:
    return f"""<html><head>{head}</head><body>
<header><a href="/">Site</a><nav><a href="/a">Navigation A</a><a href="/b">Navigation B</a></nav></header>
<div class="cookie-banner">We use cookies</div><main>{content}</main>
<aside><h2>Newsletter</h2><p>Subscribe now.</p></aside><footer><p>Imprint and contact</p></footer>
<script>var secret = "never shown";</script></body></html>"""


class TestBlocks:
    def test_headings_keep_their_level_and_lose_their_permalink(self) -> None:
        text = markdown('<h1>One</h1><h3 id="x">Three <code>f()</code><a class="headerlink" href="#x">¶</a></h3>' + PROSE)
        assert "# One\n\n### Three `f()`\n\n" in text

    def test_code_stays_verbatim_with_its_language(self) -> None:
        code = "def f(x):\n\n    return {  # *not* _markup_\n        'a': x < 1 and x > 0,\n    }\n\n\n# ```\n"
        escaped = code.replace("<", "&lt;").replace(">", "&gt;")
        for box in (
            f'<pre><code class="language-python">{escaped}</code></pre>',
            f'<div class="highlight-python"><div class="highlight"><pre><span></span>{escaped}</pre></div></div>',
            f'<pre data-lang="python">{escaped}</pre>',
        ):
            assert f"````python\n{code.strip()}\n````" in markdown(PROSE + box + PROSE)

    def test_line_numbers_are_not_code(self) -> None:
        table = (
            '<table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre></td>'
            '<td class="code"><div class="highlight-c"><pre>int a;\nint b;</pre></div></td></tr></table>'
        )
        assert "```c\nint a;\nint b;\n```" in markdown(PROSE + table + PROSE)
        inline = '<pre><span class="lineno">1 </span>a = 1\n<span class="lineno">2 </span>b = 2</pre>'
        assert "```\na = 1\nb = 2\n```" in markdown(PROSE + inline)

    def test_code_with_a_row_for_each_line_is_code(self) -> None:
        rows = "".join(
            f'<tr><td class="blob-num" data-line-number="{number}"></td><td class="blob-code">{line}\n</td></tr>'
            for number, line in enumerate(("if a:", "", "    b()"))
        )
        assert "```\nif a:\n\n    b()\n```" in markdown(f"{PROSE}<table>{rows}</table>{PROSE}")
        other = '<table><tr><td class="lineno">x</td><td>1</td></tr><tr><td>y</td><td>2</td></tr></table>'
        assert "| y | 2 |" in markdown(PROSE + other + PROSE)

    def test_code_lines_that_are_elements_stay_lines(self) -> None:
        box = '<pre><code><span class="line">one</span><span class="line">  two</span></code></pre>'
        assert "```\none\n  two\n```" in markdown(PROSE + box)

    def test_tables_are_github_tables(self) -> None:
        table = """<table><caption>Sizes</caption><thead><tr><th>Name</th><th>Size | unit</th></tr></thead>
        <tbody><tr><td>a</td><td><code>1|2</code></td></tr><tr><td>b</td><td>line<br>break</td></tr></tbody></table>"""
        text = markdown(PROSE + table)
        assert "Sizes\n\n| Name | Size \\| unit |\n| --- | --- |\n| a | `1\\|2` |\n| b | line break |" in text

    def test_spans_keep_the_columns_in_place(self) -> None:
        table = (
            "<table><tr><th>A</th><th>B</th><th>C</th></tr><tr><td rowspan=2>x</td><td colspan=2>wide</td></tr>"
            "<tr><td>y</td><td>z</td></tr></table>"
        )
        assert "| A | B | C |\n| --- | --- | --- |\n| x | wide |  |\n|  | y | z |" in markdown(PROSE + table)

    def test_a_span_at_the_end_of_a_row_moves_no_cell_of_a_later_one(self) -> None:
        table = (
            '<table><tr><th colspan="2">A</th><th rowspan="2">B</th></tr><tr><th>C</th><th>D</th></tr>'
            "<tr><td>1</td><td>2</td><td>3</td></tr></table>"
        )
        assert "| A |  | B |\n| --- | --- | --- |\n| C | D |  |\n| 1 | 2 | 3 |" in markdown(PROSE + table)

    def test_a_table_without_header_gets_an_empty_one(self) -> None:
        assert "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |" in markdown(PROSE + "<table><tr><td>1<td>2<tr><td>3<td>4</table>")

    def test_a_table_for_layout_is_no_table(self) -> None:
        text = markdown(f"<table><tr><td>{PROSE}<pre>code</pre></td><td>{PROSE}</td></tr></table>")
        assert "|" not in text
        assert text.count("honest prose") == 2

    def test_lists_nest_and_keep_their_numbers(self) -> None:
        items = """<ol start="3"><li>three<ul><li>inner <b>bold</b></li><li>second</li></ul></li>
        <li><p>four</p><pre>code</pre></li></ol>"""
        assert "3. three\n   - inner **bold**\n   - second\n4. four\n\n   ```\n   code\n   ```" in markdown(PROSE + items)

    def test_an_item_may_say_its_number(self) -> None:
        assert "3. c\n7. d\n8. e" in markdown(f'{PROSE}<ol start="3"><li>c</li><li value="7">d</li><li>e</li></ol>')

    def test_breaks_inside_code_are_lines(self) -> None:
        assert "```\na\nb\n```" in markdown(PROSE + "<pre>a<br>b</pre>")

    def test_empty_items_rows_and_links_leave_nothing_behind(self) -> None:
        text = markdown(
            PROSE
            + "<ul><li></li><li>one</li></ul><table><tr><td></td><td></td></tr><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>"
            '<p><a href="/x"></a><code> </code><a href="http://[bad">bad</a></p>'
        )
        assert "- one\n\n|  |  |\n| --- | --- |\n| a | b |\n| c |  |\n\nbad" in text

    def test_code_in_a_cell_stays_in_its_row(self) -> None:
        table = (
            "<table><tr><th>Syntax:</th><td><code>proxy <em>host</em><br>  [port|socket];</code></td></tr>"
            "<tr><th>Default:</th><td><pre>proxy a|b;</pre></td></tr></table>"
        )
        assert "| Syntax: | `proxy host`<br>`[port\\|socket];` |\n| Default: | `proxy a\\|b;` |" in markdown(
            PROSE + table + PROSE
        )

    def test_code_that_no_cell_can_hold_follows_its_table_verbatim(self) -> None:
        rows = (
            '<tr><td>map</td><td>Each.</td><td><pre class="language-python">for x in xs:\n    f(x) | g</pre></td></tr>'
            "<tr><td>any</td><td>One.</td><td><ul><li>See <pre>a  =  b</pre></li></ul></td></tr>"
        )
        table = f"<table><tr><th>Name</th><th>Calls</th><th>Like</th></tr>{rows}</table>"
        other = "<table><tr><th>Before</th><th>After</th></tr><tr><td><pre>a\nb</pre></td><td><pre>c\nd</pre></td></tr></table>"
        text = markdown(f"{PROSE}{table}{PROSE}{other}")
        assert (
            "| Name | Calls | Like |\n| --- | --- | --- |\n| map | Each. | (code 1) |\n| any | One. | - See (code 2) |\n\n"
            "Code 1:\n\n```python\nfor x in xs:\n    f(x) | g\n```\n\nCode 2:\n\n```\na  =  b\n```\n\nSome honest"
        ) in text
        assert "| (code 3) | (code 4) |\n\nCode 3:\n\n```\na\nb\n```\n\nCode 4:\n\n```\nc\nd\n```" in text

    def test_what_stands_beside_long_code_is_kept(self) -> None:
        row = "<tr><td>map</td><td><pre>" + "for each of them\n" * 20 + "</pre></td></tr>"
        text = markdown(f"{PROSE}<table>{row}{row.replace('map', 'filter')}</table>{PROSE}")
        assert "| map | (code 1) |\n| filter | (code 2) |" in text
        numbered = "<table><tr><td>1\n2</td><td><pre>int a;\nint b;</pre></td></tr></table>"
        assert "page.\n\n```\nint a;\nint b;\n```\n\nSome" in markdown(PROSE + numbered + PROSE)

    @pytest.mark.parametrize("cell", [f"<h3>Part</h3>{PROSE}", PROSE * 6])
    def test_a_table_that_arranges_code_and_text_is_no_grid(self, cell: str) -> None:
        text = markdown(f"<table><tr><td>{cell}</td><td><pre>a\nb</pre></td></tr><tr><td>c</td><td>d</td></tr></table>")
        assert "|" not in text
        assert "\n\n```\na\nb\n```\n\n" in text
        assert "(code" not in text

    def test_lines_of_inline_code_stay_lines(self) -> None:
        assert "Type `a b`\n`c` now." in markdown(f"<p>Type <code>a\nb<br>\n c</code> now.</p>{PROSE}")

    def test_a_table_of_very_long_cells_is_shown_as_text(self) -> None:
        text = markdown(f"<table><tr><th>Key</th><th>Value</th></tr><tr><td>a</td><td>{'long ' * 400}</td></tr></table>")
        assert "|" not in text

    def test_quotes_are_quoted(self) -> None:
        assert "> First.\n>\n> - a" in markdown(PROSE + "<blockquote><p>First.</p><ul><li>a</li></ul></blockquote>")

    def test_definitions_follow_their_terms(self) -> None:
        text = markdown(
            PROSE + "<dl><dt><code>--all</code></dt><dd>Everything.</dd><dt>Key</dt><dd><p>A</p><pre>b</pre></dd></dl>"
        )
        assert "`--all`\n: Everything.\n\nKey\n\nA\n\n```\nb\n```" in text

    def test_definitions_in_boxes_are_definitions(self) -> None:
        groups = "<dl><div><dt>Term</dt><dd>Meaning</dd></div><div><dt>Other</dt><dd>More</dd></div></dl>"
        assert "Term\n: Meaning\n\nOther\n: More" in markdown(PROSE + groups)

    def test_a_heading_that_unfolds_its_text_keeps_its_words(self) -> None:
        faq = "<h2><button>How long is a token valid?</button></h2><div>Three days.</div><button>Send</button>"
        text = markdown(PROSE + faq + PROSE)
        assert "## How long is a token valid?\n\nThree days." in text
        assert "Send" not in text


class TestInline:
    def test_places_where_a_word_may_break_are_no_part_of_it(self) -> None:
        assert "Donaudampfschiff" in markdown(f"{PROSE}<p>Donau&shy;dampf&#173;<wbr>schiff</p>{PROSE}")

    def test_labels_stand_apart(self) -> None:
        assert "Go Rust" in markdown(f"{PROSE}<div><label>Go</label><label>Rust</label></div>{PROSE}")

    @pytest.mark.parametrize("mark", ["↩", "↩︎", "^", "↑"])
    def test_the_way_back_from_a_footnote_is_no_text(self, mark: str) -> None:
        note = f'<ol><li id="fn1"><p>The note. <a href="#ref1">{mark}</a></p></li></ol>'
        assert "1. The note.\n" in markdown(PROSE + note) + "\n"
        assert f"[{mark.rstrip('︎')}" in markdown(f'{PROSE}<p>Up <a href="/up">{mark}</a></p>')

    def test_words_of_pictures_do_not_run_into_others(self) -> None:
        text = markdown(f'{PROSE}<p><img src="data:," alt="One"><img src="data:," alt="Two">three</p>')
        assert "One Two three" in text

    def test_pictures_that_load_late_have_their_address(self) -> None:
        text = markdown(f'{PROSE}<p><img src="data:," data-src="/a.png" alt="A"> <img srcset="/b.png 1x, /c.png 2x" alt="B"></p>')
        assert "![A](https://docs.example.org/a.png) ![B](https://docs.example.org/b.png)" in text

    def test_links_are_absolute(self) -> None:
        text = markdown(
            PROSE
            + '<p><a href="net.html#x">Net</a> <a href="/api">API</a> <a href="../up">Up</a> <a href="//cdn.example/x y">CDN</a>'
            + ' <a href="https://a.example/(b)">B</a></p>'
        )
        for link in (
            "[Net](https://docs.example.org/guide/net.html#x)",
            "[API](https://docs.example.org/api)",
            "[Up](https://docs.example.org/up)",
            "[CDN](https://cdn.example/x%20y)",
            "[B](https://a.example/%28b%29)",
        ):
            assert link in text

    def test_a_base_element_is_obeyed(self) -> None:
        html = f'<html><head><base href="/other/"></head><body><main>{PROSE}<p>See <a href="x">X</a>.</p></main></body></html>'
        assert "[X](https://docs.example.org/other/x)" in read_html(html, URL).markdown

    def test_links_that_lead_nowhere_are_text(self) -> None:
        text = markdown(
            PROSE + '<p><a href="javascript:alert(1)">Run</a> <a href="#top">Top</a> <a href="data:text/html,x">Data</a></p>'
        )
        assert "Run Top Data" in text
        assert "javascript" not in text

    def test_emphasis_code_and_small_marks(self) -> None:
        text = markdown(
            PROSE + "<p><strong>b</strong> <em>i</em> <code>a`b</code> <del>old</del> 10<sup>6</sup> 1<sup>st</sup>"
            " <kbd>Ctrl</kbd> <q>said</q></p>"
        )
        assert "**b** *i* ``a`b`` ~~old~~ 10^6 1st `Ctrl` “said”" in text

    def test_text_that_looks_like_markup_is_escaped(self) -> None:
        text = markdown(PROSE + "<p># no heading</p><p>1. no list</p><p>a*b [c] &lt;tag&gt; snake_case _x_ `y`</p>")
        assert "\\# no heading" in text
        assert "1\\. no list" in text
        assert "a\\*b \\[c\\] \\<tag> snake_case \\_x\\_ \\`y\\`" in text

    def test_images_show_their_alternative_text(self) -> None:
        text = markdown(
            PROSE
            + '<p><img src="/img/a.png" alt="A diagram"> <a href="/big"><img src="/i.png" alt="Big"></a>'
            + ' <img src="data:image/png;base64,AAAA" alt="Inline"> <img src="/decor.png" alt=""></p>'
        )
        assert "![A diagram](https://docs.example.org/img/a.png) [Big](https://docs.example.org/big) Inline" in text
        assert "decor" not in text

    @pytest.mark.parametrize(
        ("code", "text"),
        [
            ('<code><a href="/f">run</a>()</code>', "[`run()`](https://docs.example.org/f)"),
            ('<code>*<span><a href="/f">Tide</a></span></code>', "[`*Tide`](https://docs.example.org/f)"),
            ('<code>Map&lt;<a href="/k">K</a>, <a href="/v">V</a>&gt;</code>', "`Map<K, V>`"),
            ('<code>new <a href="/t">Tide</a>()</code>', "`new Tide()`"),
        ],
    )
    def test_code_is_a_link_when_the_link_is_all_of_its_letters(self, code: str, text: str) -> None:
        assert f"Call {text} now." in markdown(f"<p>Call {code} now.</p>{PROSE}")

    def test_boxes_in_a_heading_do_not_run_into_its_words(self) -> None:
        assert "#### fn f() -> bool where F: Fn\n" in markdown(f"<h4>fn f() -&gt; bool<div>where F: Fn</div></h4>{PROSE}")


class TestChoosing:
    def test_boilerplate_goes_and_content_stays(self) -> None:
        text = read_html(framed(f"<h1>Title</h1>{PROSE * 3}"), URL).markdown
        assert text.startswith("# Title")
        assert text.count("honest prose") == 3
        for noise in ("Navigation", "cookies", "Newsletter", "Imprint", "never shown"):
            assert noise not in text

    def test_hidden_parts_are_not_read(self) -> None:
        text = read_html(
            framed(
                f'{PROSE}<p hidden>trap one</p><p style="display: none">trap two</p><template>trap three</template>'
                f'<div style="visibility:hidden">trap four</div>{PROSE}'
            ),
            URL,
        ).markdown
        assert "trap" not in text

    def test_a_part_with_most_of_the_prose_is_never_boilerplate(self) -> None:
        html = f'<html><body><div class="sidebar-layout"><div class="footer">{PROSE * 5}</div></div></body></html>'
        assert read_html(html, URL).markdown.count("honest prose") == 5

    @pytest.mark.parametrize("start", ["<main>", "<header><h1>x</h1></header><article>", "<section>", "text first <main>"])
    def test_a_page_without_body_tags_is_read(self, start: str) -> None:
        text = read_html(
            f"<!doctype html><meta charset=utf-8><title>T</title>{start}{PROSE}<p>Second.</p></main>tail", URL
        ).markdown
        assert "honest prose" in text
        assert text.index("honest") < text.index("Second.")

    def test_ids_that_are_slugs_are_not_taken_for_roles(self) -> None:
        html = framed(f'{PROSE * 4}<section id="s-using-managers-for-related-object-access"><h2>Related</h2>{PROSE}</section>')
        assert read_html(html, URL).markdown.count("honest prose") == 5

    def test_sections_about_other_pages_go(self) -> None:
        more = "".join(f'<li><a href="/s/{i}">A story about something else, number {i}</a></li>' for i in range(5))
        text = read_html(framed(f"<article>{PROSE * 8}<div><h3>Read more</h3><ul>{more}</ul></div></article>"), URL).markdown
        assert "something else" not in text
        assert text.count("honest prose") == 8

    @pytest.mark.parametrize("box", ["<h2>Related</h2>{}", '<div class="extra"><h2>Read next</h2>{}</div>'])
    def test_prose_under_a_heading_about_other_pages_goes(self, box: str) -> None:
        teaser = "<p>A teaser for another story, which has nothing to do with this page.</p>"
        text = read_html(framed(f"<article>{PROSE * 10}{box.format(teaser)}<h2>Sources</h2>{PROSE}</article>"), URL).markdown
        assert "teaser" not in text
        assert "Related" not in text
        assert text.endswith("## Sources\n\n" + markdown(PROSE))

    @pytest.mark.parametrize(
        "heading",
        [
            "Related stories",
            "Latest from the city",
            "Comments (12)",
            "Tags",
            "Mehr zum Thema",
            "Kommentare (3)",
            "À lire aussi",
            "Te puede interesar",
            "Leggi anche",
            "Читайте также",
            "相关阅读",
            "評論",
            "あわせて読みたい",
        ],
    )
    def test_sections_over_other_pages_are_known_in_many_languages(self, heading: str) -> None:
        teaser = "<p>A teaser for another story, which has nothing to do with this page.</p>"
        text = read_html(framed(f"<article>{PROSE * 10}<h2>{heading}</h2>{teaser}</article>"), URL).markdown
        assert "teaser" not in text
        assert heading not in text

    @pytest.mark.parametrize(
        "heading",
        [
            "Related work",
            "Popular misconceptions",
            "Latest version",
            "Comments on the budget",
            "Tags in HTML",
            "Categories of risk",
            "Kommentar: Was jetzt zählt",
            "Nächster Schritt",
            "Partager des fichiers",
            "Voir aussi",
            "Etiquetas de HTML",
            "分享经验",
            "标签选择器",
            "相关系数",
            "おすすめの店",
            "ランキングの仕組み",
            "Компоненты",
            "Теги HTML",
        ],
    )
    def test_words_that_only_begin_alike_do_not(self, heading: str) -> None:
        text = read_html(framed(f"<article>{PROSE * 10}<h2>{heading}</h2>{PROSE}</article>"), URL).markdown
        assert text.count("honest prose") == 11
        assert heading in text

    def test_a_long_section_stays_whatever_its_heading_says(self) -> None:
        text = read_html(framed(f"<article>{PROSE * 8}<h2>Comments</h2>{PROSE * 6}</article>"), URL).markdown
        assert text.count("honest prose") == 14

    def test_an_article_leaves_headline_captions_and_credits_to_its_metadata(self) -> None:
        head = '<meta property="og:type" content="article"><title>Headline</title>'
        body = f"""<article><h1>Headline</h1><p class="byline">By A. Writer</p>{PROSE * 4}
        <figure><img src="/x.jpg"><figcaption>A caption below</figcaption></figure><p>Middle. {"Words follow. " * 8}</p>
        <ul><li><a href="/1">Another story of today</a></li><li><a href="/2">One more story of today</a></li></ul>
        <div itemprop="articleBody">{PROSE * 2}</div></article>"""
        text = read_html(framed(body, head), URL).markdown
        assert text.count("honest prose") == 6
        for left_out in ("Headline", "A. Writer", "A caption", "story of today"):
            assert left_out not in text

    @pytest.mark.parametrize(
        "head",
        [
            '<meta name="generator" content="Discourse 3.4">',
            '<script type="application/ld+json">{"@type": ["WebPage", "https://schema.org/QAPage"]}</script>',
        ],
    )
    def test_a_forum_is_known_by_its_software_or_its_data(self, head: str) -> None:
        answers = f'<div class="comments">{PROSE}<p>An answer.</p></div><div id="content-1">{PROSE * 3}</div>'
        assert "An answer." in read_html(framed(answers, head), URL).markdown
        assert "An answer." not in read_html(framed(answers), URL).markdown

    @pytest.mark.parametrize(
        "noise",
        [
            '<div role="navigation"><p>noise</p></div>',
            '<div role="complementary"><a href="/n">noise</a></div>',
            '<span aria-hidden="true">noise</span>',
            '<aside class="promo"><p>noise</p></aside>',
            "<header><span>noise</span></header>",
            "<footer><p>noise</p></footer>",
            '<div class="share-buttons"><p>noise</p></div>',
            '<div class="comments-area"><p>noise</p></div>',
        ],
    )
    def test_frames_around_the_content_go_even_inside_it(self, noise: str) -> None:
        assert "noise" not in read_html(framed(f"<article>{noise}{PROSE * 4}</article>"), URL).markdown

    def test_asides_and_footers_with_content_stay_inside_it(self) -> None:
        parts = f"<aside><p>Note: {PROSE}</p></aside><footer>{PROSE * 3}</footer>"
        assert read_html(framed(f"<article>{PROSE * 4}{parts}</article>"), URL).markdown.count("honest prose") == 8

    def test_a_page_of_links_keeps_them(self) -> None:
        links = "".join(f'<li><a href="/docs/{i}">Chapter {i}</a></li>' for i in range(30))
        text = read_html(framed(f"<h1>Contents</h1><ul>{links}</ul>"), URL).markdown
        assert text.count("](https://docs.example.org/docs/") == 30

    def test_a_forum_keeps_its_answers(self) -> None:
        posts = "".join(f'<div class="comment-list"><div class="post-body">{PROSE}<p>Post {i}</p></div></div>' for i in range(5))
        text = read_html(framed(f"<h1>Question</h1>{posts}"), URL).markdown
        assert all(f"Post {i}" in text for i in range(5))

    def test_text_that_only_noscript_has_is_read(self) -> None:
        html = f"<html><body><div id=app></div><noscript>{PROSE * 6}</noscript><script>x</script></body></html>"
        assert read_html(html, URL).markdown.count("honest prose") == 6

    def test_text_that_only_the_structured_data_has_is_read(self) -> None:
        body = "Long text of the article. " * 40
        html = (
            f'<html><head><script type="application/ld+json">{{"@type": "NewsArticle", "articleBody": "{body}"}}</script></head>'
            "<body><p>Teaser.</p></body></html>"
        )
        assert read_html(html, URL).markdown == body.strip()


class TestManuals:
    """Pages with code that are no articles: nearly all inside the content is content."""

    CODE = "<pre>tide --run</pre>"

    def manual(self, *parts: str) -> str:
        return read_html(framed(f"<h1>Tide</h1>{PROSE * 12}{self.CODE}{''.join(parts)}"), URL).markdown

    @pytest.mark.parametrize("name", ["about-responses", "cookies", "filters", "Skip_packages", "search-box"])
    def test_an_id_that_repeats_its_heading_says_nothing_about_the_section(self, name: str) -> None:
        title = name.replace("-", " ").replace("_", " ").title()
        text = self.manual(f'<section id="{name}"><span id="id5"></span><h2>{title}</h2>{PROSE}</section>')
        assert f"## {title}\n\nSome honest prose" in text

    @pytest.mark.parametrize("name", ["comments", "related"])
    def test_an_id_that_repeats_a_heading_about_other_pages_still_says_so(self, name: str) -> None:
        box = f'<div id="{name}"><h2>{name.title()}</h2><p><a href="/x">Elsewhere</a></p></div>'
        assert "Elsewhere" not in self.manual(box, PROSE)

    def test_headings_that_lead_back_to_the_contents_stay(self) -> None:
        heading = '<h2><a class="toc-backref" href="#id1">Part one</a><a class="headerlink" href="#part-one">¶</a></h2>'
        assert "## Part one\n\n" in self.manual(heading, PROSE)

    def test_classes_that_tell_how_a_link_looks_do_not_drop_it(self) -> None:
        link = '<a class="underline links-accent:underline print:hidden" href="/read">read it here</a>'
        assert "Please [read it here](https://docs.example.org/read)." in self.manual(f"<p>Please {link}.</p>")

    @pytest.mark.parametrize(
        "box",
        [
            '<h2>See also</h2><div class="paragraph"><p>{}</p></div>',
            '<div class="sect1"><h2>SEE ALSO</h2><div class="sectionbody"><div class="paragraph"><p>{}</p></div></div></div>',
            "<section><h2>See also</h2><ul><li>{}</li></ul></section>",
            '<div class="mw-heading"><h2>See also</h2><span>edit</span></div><ul><li>{}</li></ul>',
            '<h2>Parts</h2><p>In short:</p><div class="compound"><ul><li>{}</li></ul></div>',
            "<h2>Crates</h2><dl><dt>{}</dt></dl>",
        ],
    )
    def test_links_under_a_heading_of_their_own_stay(self, box: str) -> None:
        links = ", ".join(f'<a href="/p/{n}">page {n}</a>' for n in range(5))
        assert "[page 3](https://docs.example.org/p/3)" in self.manual(box.format(links))

    def test_a_table_of_contents_of_the_page_goes(self) -> None:
        links = "".join(f'<a href="#part-{n}">Part {n}</a> ' for n in range(5))
        assert "Part 3" not in self.manual(f"<h3>Directives</h3><div>{links}</div>", PROSE)

    @pytest.mark.parametrize("title", ["Comments", "Tags", "Sign up for an account", "Related to Tide"])
    @pytest.mark.parametrize("what", [PROSE, "<pre># a comment</pre>"])
    def test_a_chapter_with_prose_or_code_stays_whatever_its_heading_says(self, title: str, what: str) -> None:
        assert f"## {title}\n\n" in self.manual(f"<h2>{title}</h2>{what}", f"<h2>Next steps</h2>{PROSE}")


class TestMetadata:
    def test_title_language_and_day(self) -> None:
        head = '<title>Raw | Site</title><meta property="og:title" content="Clean &amp; short">'
        date = '<meta property="article:published_time" content="2026-03-01T23:30:00-05:00">'
        found = read_html(f'<html lang="en_US"><head>{head}{date}</head><body><main>{PROSE}</main></body></html>', URL)
        assert (found.title, found.language, found.published) == ("Clean & short", "en-US", "2026-03-02")

    @pytest.mark.parametrize(
        "mark",
        [
            '<meta name="date" content="2026/02/03">',
            '<meta name="DC.date.issued" content="2026-02-03">',
            '<meta itemprop="datePublished" content="20260203">',
            '<meta name="pubdate" content="Tue, 03 Feb 2026 10:00:00 GMT">',
            '<time itemprop="datePublished" datetime="2026-02-03T10:00:00Z">3 Feb</time>',
            '<article><time datetime="2026-02-03">3 Feb</time></article>',
            (
                '<script type="application/ld+json">{"@graph": [{"@type": "WebPage"}, {"datePublished": "2026-02-03T08:00:00+01:00"}]}'
                "</script>"
            ),
            '<span itemprop="datePublished">2026年2月3日</span>',
        ],
    )
    def test_the_day_is_found_in_every_usual_place(self, mark: str) -> None:
        assert read_html(f"<html><head></head><body>{mark}<main>{PROSE}</main></body></html>", URL).published == "2026-02-03"

    @pytest.mark.parametrize("date", ["yesterday", "2026-13-45", "0001-01-01", "9999999", "", "12:30"])
    def test_a_date_that_is_none_is_no_day(self, date: str) -> None:
        assert (
            read_html(f'<html><head><meta name="date" content="{date}"></head><body>{PROSE}</body></html>', URL).published == ""
        )

    def test_broken_structured_data_is_passed_over(self) -> None:
        deep = "[" * 100_000
        html = f'<html><head><script type="application/ld+json">{deep}</script></head><body><main>{PROSE}</main></body></html>'
        assert "honest prose" in read_html(html, URL).markdown

    def test_a_title_has_no_control_characters(self) -> None:
        title = read_html(f"<html><head><title>A\u202e\x07 B\n C</title></head><body>{PROSE}</body></html>", URL).title
        assert title == "A B C"

    def test_links_are_absolute_each_once_and_with_their_words(self) -> None:
        html = framed('<p><a href="/x#one"><img src="i.png" alt=""></a> <a href="/x">The X</a> <a href="mailto:a@b">m</a></p>')
        links = {link.url: link.title for link in read_links(html, URL).links}
        assert links["https://docs.example.org/x"] == "The X"
        assert "https://docs.example.org/a" in links
        assert not any("mailto" in url for url in links)


class TestNoPage:
    @pytest.mark.parametrize(
        "html",
        [
            '<html><head><title>App</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>',
            "<html><body><noscript>You need to enable JavaScript to run this app.</noscript><div></div><script>1</script></body></html>",
            "<html><body><app-root></app-root><script src=main.js></script></body></html>",
            "<html><body><p>This site requires JavaScript.</p><script>boot()</script></body></html>",
            '<html><body><div id="mount"></div><script type="module" src="/index.js"></script></body></html>',
            "<html><body><my-shop></my-shop><script src=main.js></script></body></html>",
            '<html><head><script>window.location = "/new"</script></head><body></body></html>',
            '<html><body><div id="app"><h1>Shop</h1><p>Loading the shop…</p></div><script src=a.js></script></body></html>',
            '<html><body><div id="root"><footer><p>All rights reserved.</p></footer></div><script src=a.js></script></body></html>',
        ],
    )
    def test_a_shell_for_a_script_is_no_content(self, html: str) -> None:
        found = read_html(html, URL)
        assert (found.outcome, found.markdown) == ("script_shell", "")

    @pytest.mark.parametrize(
        "html",
        [
            "<html><head><title>Just a moment...</title></head><body><p>Checking your browser</p></body></html>",
            "<html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}</script></body></html>",
            (
                '<html><head><title>example.org</title></head><body><div class="px-captcha"></div>'
                "<p>Press &amp; Hold to confirm you are a human.</p></body></html>"
            ),
            "<html><head><title>百度安全验证</title></head><body><script>x</script></body></html>",
            (
                "<html><head><title>Sorry</title></head><body><form action='/sorry/index'>"
                "<p>Our systems have detected unusual traffic.</p></form></body></html>"
            ),
            (
                "<html><head><title>Shop</title></head><body><h4>Enter the characters you see below</h4><p>Sorry, we just need to "
                "make sure you're not a robot.</p><form action='/errors/validateCaptcha'><input></form></body></html>"
            ),
            (
                "<html><head><title>Access Denied</title></head><body><h1>Access Denied</h1>You don't have permission to access "
                '"http://shop.example/" on this server.<p>Reference #18.8d</body></html>'
            ),
            (
                "<html><head><title>Attention Required! | Cloudflare</title></head><body><h1>Sorry, you have been blocked</h1>"
                "<p>This website is using a security service to protect itself from online attacks.</p></body></html>"
            ),
            "<html><body><h2>环境异常</h2><p>完成验证后即可继续访问。</p><script>var secitptpage = 1</script></body></html>",
            '<html><body><h1>Verify</h1><div class="g-recaptcha"></div></body></html>',
        ],
    )
    def test_a_check_for_humans_is_blocked(self, html: str) -> None:
        found = read_html(html, URL)
        assert (found.outcome, found.markdown) == ("blocked", "")

    @pytest.mark.parametrize(
        "html",
        [
            f"<html><head><title>Just a moment: a novel</title></head><body><main>{PROSE * 20}</main><script>x</script></body></html>",
            (
                "<html><head><title>How captchas work</title></head><body><main><p>A page may ask you to verify you are human."
                "</p></main></body></html>"
            ),
            '<html><head><title>Short</title></head><body><main><p>It works!</p></main><script src="/a.js"></script></body></html>',
            "<html><body><p>Learn JavaScript: it is enabled in every browser.</p></body></html>",
            f'<html><body><main>{PROSE * 3}</main><form class="g-recaptcha"><p>Leave a note.</p></form></body></html>',
            (
                "<html><body><main><h1>Contact</h1><p>Write to us.</p><form><textarea></textarea>"
                '<div class="g-recaptcha"></div></form></main></body></html>'
            ),
            '<html><body><div id="root"><h1>Hello</h1><p>Small but real.</p></div><script>count()</script></body></html>',
            "<html><head><title>Blocked drains</title></head><body><p>Call a plumber.</p><script>count()</script></body></html>",
        ],
    )
    def test_a_page_about_such_things_is_read(self, html: str) -> None:
        found = read_html(html, URL)
        assert found.outcome == "content"
        assert found.markdown

    @pytest.mark.parametrize("url", ["https://consent.site.example/m?continue=x", "https://news.example/zustimmung?url=x"])
    def test_a_form_of_consent_is_no_page(self, url: str) -> None:
        html = "<html><body><h1>Before you continue</h1><p>We use cookies to measure what you do.</p></body></html>"
        assert (read_html(html, url).outcome, read_html(html, "https://news.example/cookies").outcome) == ("consent", "content")

    @pytest.mark.parametrize("html", ["", "   \n", "<html></html>", "<!-- only -->", "<html><body><img src=x></body></html>"])
    def test_nothing_is_empty(self, html: str) -> None:
        assert read_html(html, URL).outcome == "empty"


class TestMoved:
    @pytest.mark.parametrize(
        "rule", ["0; url=/new", "0;URL='/new'", "5 ; /new", "0.5, url=https://docs.example.org/new", " 1;url = &quot;/new&quot;"]
    )
    def test_a_page_that_only_sends_elsewhere_says_where(self, rule: str) -> None:
        html = f'<html><head><meta http-equiv="Refresh" content="{rule}"></head><body><p>Redirecting…</p></body></html>'
        assert moved_to(html, URL) == "https://docs.example.org/new"
        assert "https://docs.example.org/new" in [link.url for link in read_links(html, URL).links]

    @pytest.mark.parametrize(
        "head",
        [
            '<meta http-equiv="refresh" content="300; url=/new">',
            '<meta http-equiv="refresh" content="0; url=#top">',
            f'<meta http-equiv="refresh" content="0; url={URL}">',
            '<meta http-equiv="refresh" content="0; url=javascript:x">',
            '<meta http-equiv="refresh" content="5">',
            "<title>http-equiv=refresh</title>",
        ],
    )
    def test_every_other_page_stays(self, head: str) -> None:
        assert moved_to(f"<html><head>{head}</head><body><p>Text.</p></body></html>", URL) == ""

    def test_a_page_with_something_to_say_is_read(self) -> None:
        head = '<meta http-equiv="refresh" content="0; url=/new">'
        assert moved_to(f"<html><head>{head}</head><body>{PROSE * 4}</body></html>", URL) == ""


class TestLinks:
    def test_a_crawler_gets_title_and_links(self) -> None:
        found = read_links(framed('<a href="/x">X</a>', head="<title>T</title>"), URL)
        assert found.title == "T"
        assert "https://docs.example.org/x" in [link.url for link in found.links]

    def test_a_page_that_says_nofollow_gives_no_links(self) -> None:
        for rule in ("nofollow", "noindex, NOFOLLOW", "none"):
            assert read_links(framed('<a href="/x">X</a>', head=f'<meta name="robots" content="{rule}">'), URL).links == ()


def long_page(content: str, head: str = "") -> str:
    """A page with enough around its content to be judged by scores."""
    links = "".join(f'<li><a href="/s/{n}">Section of the site {n}</a></li>' for n in range(30))
    teasers = "".join(f'<div class="card"><a href="/t/{n}"><h3>Teaser number {n}</h3></a></div>' for n in range(20))
    return f"""<html><head>{head}</head><body><nav><ul>{links}</ul></nav><main>{content}</main>
<div class="related-posts"><h2>Related</h2>{teasers}</div><footer><p>All rights reserved.</p></footer></body></html>"""


def paragraphs(count: int) -> str:
    return "".join(
        f"<p>Paragraph {n} is honest prose, with commas, clauses, and words enough to be kept.</p>" for n in range(count)
    )


class TestScoring:
    def test_the_text_of_a_long_article_stays_and_the_site_around_it_goes(self) -> None:
        head = '<meta property="og:type" content="article">'
        text = read_html(long_page(f"<article><h1>T</h1>{paragraphs(20)}</article>", head), URL).markdown
        assert all(f"Paragraph {n} is" in text for n in range(20))
        for noise in ("Section of the site", "Teaser number", "All rights"):
            assert noise not in text

    def test_a_table_of_data_stays_whole(self) -> None:
        rows = "".join(f"<tr><td>Key {n}</td><td>{n}</td></tr>" for n in range(9))
        table = f"<table><tr><th>Name</th><th>Value</th></tr>{rows}</table>"
        text = read_html(long_page(f"{paragraphs(12)}{table}{paragraphs(12)}"), URL).markdown
        assert "| Name | Value |\n| --- | --- |\n| Key 0 | 0 |" in text
        assert "| Key 8 | 8 |" in text

    def test_headings_stay_with_their_text(self) -> None:
        parts = "".join(f"<h2>Part {n}</h2>{paragraphs(3)}" for n in range(8))
        text = read_html(long_page(f"<h1>Whole</h1>{parts}"), URL).markdown
        assert [f"## Part {n}" in text for n in range(8)] == [True] * 8

    def test_reading_twice_gives_the_same(self) -> None:
        html = long_page(paragraphs(30))
        assert read_html(html, URL) == read_html(html, URL)


class TestWhatAReaderCanReach:
    @pytest.mark.parametrize(
        "box",
        [
            '<div role="tabpanel" style="display:none">{}</div>',
            '<div class="tab-pane" hidden>{}</div>',
            '<section class="accordion-content" style="display: none">{}</section>',
            '<div hidden id="S:1">{}</div>',
        ],
    )
    def test_what_a_click_unfolds_or_a_script_streams_is_read(self, box: str) -> None:
        assert "Behind it." in read_html(framed(PROSE * 4 + box.format("<p>Behind it.</p>")), URL).markdown

    def test_a_page_hidden_until_its_script_runs_is_read(self) -> None:
        html = f'<html><body><p>Loading</p><div style="display:none"><h1>Title</h1>{PROSE * 6}</div></body></html>'
        assert read_html(html, URL).markdown.count("honest prose") == 6

    def test_a_button_without_its_end_does_not_swallow_the_page(self) -> None:
        html = f"<html><body><header><button><span>Menu</span><main>{PROSE * 6}</main></body></html>"
        assert read_html(html, URL).markdown.count("honest prose") == 6

    def test_markup_behind_an_early_end_of_the_body_is_read(self) -> None:
        html = f"<html><body><header><p>Top</p></header></body></html><main>{PROSE * 20}</main></body></html>"
        assert read_html(html, URL).markdown.count("honest prose") == 20


KATEX = '<math><semantics><mi>y</mi><annotation encoding="application/x-tex">y_0</annotation></semantics></math>'
PICTURE = '<img class="mwe-math-fallback-image-inline" alt="picture of z" src="/z.svg">'


class TestFrames:
    def test_a_page_of_frames_lists_them(self) -> None:
        frames = '<frame src="list.html" title="All [classes]"><frame src="main.html" name="main"><frame src="javascript:x">'
        found = read_html(f"<html><head><title>API</title></head><frameset>{frames}</frameset></html>", URL)
        base = "https://docs.example.org/guide"
        assert found.markdown == f"- [All classes]({base}/list.html)\n- [main]({base}/main.html)"


class TestComponents:
    CARD = (
        '<x-card><template shadowrootmode="open"><style>p</style><h2><slot name="title">Untitled</slot></h2>'
        "<div><slot></slot></div></template>{light}</x-card>"
    )

    def test_a_shadow_tree_is_read_with_what_is_slotted_in(self) -> None:
        light = '<p>First of the body.</p><p>Second of the body.</p><b slot="title">Slotted title</b>'
        text = markdown(PROSE + self.CARD.format(light=light) + PROSE)
        assert "## **Slotted title**\n\nFirst of the body.\n\nSecond of the body." in text

    def test_a_slot_without_anything_shows_its_own_words(self) -> None:
        text = markdown(PROSE + self.CARD.format(light="Loose words of the host.") + PROSE)
        assert "## Untitled\n\nLoose words of the host.\n\n" in text

    def test_other_templates_are_not_read(self) -> None:
        assert "hidden row" not in markdown(f"{PROSE}<template><p>A hidden row.</p></template>{PROSE}")

    def test_an_inline_element_of_ones_own_splits_no_paragraph(self) -> None:
        text = f"<p>Done <g-emoji>👍</g-emoji> on <relative-time>Jan 1</relative-time>.</p>{PROSE}"
        assert "Done 👍 on Jan 1." in markdown(text)
        assert "Alone\n\nNext" in markdown(f"{PROSE}<x-a>Alone</x-a><x-a>Next</x-a>{PROSE}")

    def test_pictures_of_amp_are_pictures(self) -> None:
        text = markdown(f'{PROSE}<p>See <amp-img src="/a.png" alt="A"></amp-img>.</p>{PROSE}')
        assert "See ![A](https://docs.example.org/a.png)." in text


class TestFormulas:
    @pytest.mark.parametrize(
        ("formula", "expected"),
        [
            (
                '<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x_1^2</annotation></semantics></math>',
                "$x_1^2$",
            ),
            ('<math alttext="{\\displaystyle a*b}"><mi>a</mi></math>', "$a*b$"),
            ("<math><mi>x</mi><mo>=</mo><mn>2</mn></math>", "$x=2$"),
            ('<script type="math/tex; mode=display">\\int f</script>', "$$\\int f$$"),
            (
                f'<span class="katex"><span class="katex-mathml">{KATEX}</span><span class="katex-html" aria-hidden="true">y0</span></span>',
                "$y_0$",
            ),
            (
                f'<span style="display: none;"><math alttext="z"><mi>z</mi></math></span>{PICTURE}',
                "$z$",
            ),
        ],
    )
    def test_formulas_are_tex_once(self, formula: str, expected: str) -> None:
        assert markdown(f"{PROSE}<p>See {formula} here.</p>").endswith(f"See {expected} here.")

    @pytest.mark.parametrize(
        ("box", "expected"),
        [
            (r'<p>So <span class="math notranslate">\(y_{1}\)</span>.</p>', "So $y_{1}$."),
            (r'<p>So <span class="math-container">$\pi_{1}$</span>.</p>', r"So $\pi_{1}$."),
            (r'<div class="math">\[a_{1} &amp; b \\ c\]</div>', r"$$a_{1} & b \\ c$$"),
            (
                "<p>So <mjx-container><mjx-assistive-mml><math><mi>q</mi></math></mjx-assistive-mml></mjx-container>.</p>",
                "So $q$.",
            ),
            (r'<p>So <span class="math">not \(x\) alone</span>.</p>', r"So not \\(x\\) alone."),
        ],
    )
    def test_formulas_that_a_script_would_draw_are_kept_as_tex(self, box: str, expected: str) -> None:
        assert expected in markdown(PROSE + box + PROSE)

    def test_tex_in_the_text_is_kept_where_the_page_loads_what_draws_it(self) -> None:
        text = r"<p>Area \(\pi r^2_{i}\), $x_{1}$ for $5, <b>and</b> $$\sum_{i}$$ but <code>\(no\)</code>.</p>"
        script = "<script>MathJax = {tex: {}}</script>"
        assert r"Area $\pi r^2_{i}$, $x\_{1}$ for $5, **and** $$\sum_{i}$$ but `\(no\)`." in markdown(PROSE + text + script)
        assert r"Area \\(\pi" in markdown(PROSE + text).replace(r"\\pi", r"\pi")
        dollars = "<script>MathJax = {tex: {inlineMath: [['$', '$']]}}</script>"
        assert "$x_{1}$ for $5, **and**" in markdown(PROSE + text + dollars)

    def test_environments_of_tex_are_formulas(self) -> None:
        text = r"<p>Then \begin{align*} a &amp;= b_{1} \end{align*} holds.</p><script src='/mathjax/tex-chtml.js'></script>"
        assert r"Then $$\begin{align*} a &= b_{1} \end{align*}$$ holds." in markdown(PROSE + text)

    def test_a_footnote_mark_is_told_from_an_exponent(self) -> None:
        assert "end\\[1\\]." in markdown(PROSE + '<p>The end<sup><a href="#fn1">1</a></sup>.</p>')


class TestAbout:
    @pytest.mark.parametrize(
        ("head", "title"),
        [
            ("<title>Quickstart | Site</title><meta property='og:site_name' content='Site'>", "Quickstart"),
            ("<title>Site - Quickstart</title><meta property='og:site_name' content='site'>", "Quickstart"),
            ("<title>The heading — Some Blog</title>", "The heading"),
            ("<title>Rust - a language</title>", "Rust - a language"),
        ],
    )
    def test_the_name_of_the_site_is_no_part_of_the_title(self, head: str, title: str) -> None:
        assert read_html(f"<html><head>{head}</head><body><h1>The heading</h1>{PROSE}</body></html>", URL).title == title

    def test_author_and_own_address(self) -> None:
        head = '<link rel="canonical" href="/x"><script type="application/ld+json">{"author": [{"name": "Ann Writer"}]}</script>'
        found = read_html(framed(PROSE, head), URL)
        assert (found.author, found.canonical) == ("Ann Writer", "https://docs.example.org/x")

    def test_authors_are_found_by_every_mark(self) -> None:
        for mark in ('itemprop="author"', 'rel="author"'):
            assert read_html(framed(f"<p><a {mark}>Ann  Writer</a></p>{PROSE}"), URL).author == "Ann Writer"

    def test_an_element_marked_as_the_day_goes_before_any_other_time(self) -> None:
        times = '<time datetime="2026-01-01">1 Jan</time>'
        for mark in ('itemprop="datePublished" content="2026-02-03"', 'pubdate datetime="2026-02-03"'):
            found = read_html(framed(f"<article>{times}<p><span {mark}>3 Feb</span></p>{PROSE}</article>"), URL)
            assert found.published == "2026-02-03"

    def test_a_stated_day_is_told_from_one_read_off_the_page(self) -> None:
        stated = read_html(framed(PROSE, '<meta name="date" content="2026-02-03">'), URL)
        found = read_html(framed(f'<article><time datetime="2026-02-03">3 Feb</time>{PROSE}</article>'), URL)
        assert (stated.published, stated.published_stated) == ("2026-02-03", True)
        assert (found.published, found.published_stated) == ("2026-02-03", False)

    @pytest.mark.parametrize(
        ("box", "language"),
        [
            ('<div class="highlight highlight-source-shell"><pre>ls</pre></div>', "shell"),
            ('<pre class="src src-python">ls</pre>', "python"),
            ('<pre><code class="hljs rust">ls</code></pre>', "rust"),
            ('<pre class="brush: js">ls</pre>', "js"),
            ('<div data-lang="toml"><pre>ls</pre></div>', "toml"),
            ('<pre class="wide">ls</pre>', ""),
        ],
    )
    def test_the_language_of_code_is_found_where_highlighters_write_it(self, box: str, language: str) -> None:
        assert f"```{language}\nls\n```" in markdown(PROSE + box)


# What hangs or loses the text in readers without guards; a fault shows as a test that does not end.
HOSTILE = {
    "nested div": "<div>" * 100_000 + PROSE + "</div>" * 100_000,
    "nested bold": PROSE + "<b>" * 10_000 + "x",
    "nested lists": PROSE + "<ul><li>a" * 2_000,
    "nested tables": PROSE + "<table><tr><td>a" * 500,
    "nested quotes": PROSE + "<blockquote>q" * 1_000,
    "a million attributes": "<div " + " ".join(f"a{i}=1" for i in range(1_000_000)) + ">" + PROSE + "</div>",
    "attributes behind a trap": "<script>a<b=\"</script><div x=\">\" " + " ".join(f"a{i}=1" for i in range(100_000)) + ">" + PROSE,
    "attributes behind a comment": "<!-- a -- b - -> <b x=\" --><div " + " ".join(f"a{i}=1" for i in range(100_000)) + ">" + PROSE,
    "attributes behind a style": "<style></b></script><!--</STYLE ><div " + " ".join(f"a{i}=1" for i in range(100_000)) + ">" + PROSE,
    "a script without an end": PROSE + "<script>" + "</s" * 300_000,
    "dashes": PROSE + "<!--" + "- -" * 300_000,
    "many big tags": ("<div " + " ".join(f"a{i}=1" for i in range(1_000)) + ">x</div>") * 500 + PROSE,
    "an attribute of 5 MB": "<div data-x='" + "y" * 5_000_000 + "'>" + PROSE + "</div>",
    "an image of 5 MB": PROSE + "<img alt=x src='data:image/png;base64," + "A" * 5_000_000 + "'>",
    "colspan bomb": PROSE + "<table>" + "<tr><td colspan=1000000 rowspan=1000000>a</td></tr>" * 50 + "</table>",
    "lines of inline code": PROSE + "<code>" + "x<br>" * 40_000 + "</code>",
    "code in every row": PROSE + "<table>" + "<tr><td>a<td><pre>b\nc</pre>" * 5_000 + "</table>",
    "entities": "<!DOCTYPE html [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>" + PROSE + "&b;" * 1_000,
    "blanks": PROSE + "<p>" + " " * 1_000_000 + "x</p>",
    "stars": PROSE + "<p>" + "*_[`<" * 20_000 + "</p>",
    "zeros and surrogates": PROSE.replace("honest", "hon\x00est") + "\ud800",
    "unclosed quote": PROSE + "<a href=\"x" * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_markup_is_read_to_the_end_without_losing_the_text(body: str) -> None:
    found = read_html(f"<html><body><article>{body}</article></body></html>", URL)
    assert "honest prose" in found.markdown


def test_a_body_that_hides_itself_until_a_script_has_run_is_read() -> None:
    html = f'<html><body style="visibility:hidden"><main>{PROSE}<p hidden>Secret.</p></main></body></html>'
    text = read_html(html, URL).markdown
    assert "honest prose" in text
    assert "Secret" not in text


@pytest.mark.parametrize(
    "control", ["\x01", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff"], ids=lambda control: f"{ord(control):04X}"
)
def test_control_characters_anywhere_break_nothing(control: str) -> None:
    """Beside elements that are taken out, whose text around them is put together again."""
    parts = f"before{control}<script>x</script>{control}behind<nav>menu</nav>{control}"
    text = read_html(f"<main><h1>T</h1>{PROSE}{parts * 3}{control}{PROSE}</main>", URL).markdown
    assert text.count("honest prose") == 2


def test_a_page_beyond_the_limit_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(NotAllowed, match="characters"):
        read_html("x" * (markup.MAX_CHARS + 1), URL)


@given(text=st.text(st.sampled_from("<>/='\" abdivptrlsc!-&;#`|\n\x01\x0c"), max_size=400))
def test_any_markup_is_read_without_a_fault(text: str) -> None:
    read_html(text, URL).markdown.encode("utf-8")
    read_links(text, URL)


def test_the_whole_of_a_documentation_page() -> None:
    html = framed(
        dedent("""\
        <h1>Retries<a class="headerlink" href="#retries">¶</a></h1>
        <p>A task that fails is <em>run again</em>; see <a href="tasks.html">tasks</a>.</p>
        <div class="highlight-python"><pre>queue.retry(times=3)</pre></div>
        <table><tr><th>Option</th><th>Default</th></tr><tr><td><code>times</code></td><td>3</td></tr></table>""")
    )
    assert read_html(html, URL).markdown == dedent("""\
        # Retries

        A task that fails is *run again*; see [tasks](https://docs.example.org/guide/tasks.html).

        ```python
        queue.retry(times=3)
        ```

        | Option | Default |
        | --- | --- |
        | `times` | 3 |""")


class TestForest:
    def test_deciding_once_for_the_page_what_all_of_its_blocks_share_changes_no_likelihood(self) -> None:
        draw = Random(7)
        rows = [[draw.choice((0, 1, draw.random(), draw.uniform(0, 100))) for _ in range(48)] for _ in range(100)]
        page = [draw.choice((0, 1, draw.random(), draw.uniform(0, 10))) for _ in range(24)]
        told = forest.likelihoods(rows, page)
        assert len(set(told)) > 50
        assert told == forest.likelihoods([row + page for row in rows], [])
