"""What a reply is, and how texts that are not HTML are read."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_adapters.extract.text import Kind, kind_of, read_text

URL = "https://example.org/files/report"
RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title><description>Daily</description>
<language>de</language><pubDate>Sat, 14 Nov 2026 09:30:00 GMT</pubDate>
<item><title>One [1]</title><link>/one</link><pubDate>Fri, 13 Nov 2026 23:30:00 -0500</pubDate>
<description><![CDATA[<p>First <b>story</b>.</p>]]></description></item>
<item><title>Two</title><guid>https://example.org/two</guid></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>Notes</title><updated>2026-11-14T00:00:00Z</updated>
<entry><title type="html">A &lt;b&gt;bold&lt;/b&gt; one</title><link rel="self" href="/self"/><link href="https://example.org/a"/>
<published>2026-11-13T12:00:00Z</published><summary>Short.</summary></entry></feed>"""


@pytest.mark.parametrize(
    ("body", "content_type", "url", "kind"),
    [
        (b"<!doctype html><p>x", "text/html", URL, "html"),
        (b"  \n<!-- c --><HTML>", "text/plain", URL, "html"),
        (b"<html>", "", URL, "html"),
        (b"plain words", "text/html; charset=utf-8", URL, "html"),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", "application/xhtml+xml", URL, "html"),
        (b"%PDF-1.7\n", "text/html", URL, "pdf"),
        (b"\n%PDF-1.4", "application/octet-stream", URL, "pdf"),
        (b"# Title", "text/markdown", URL, "markdown"),
        (b"<p>inline html first</p>\n\n# Title", "text/markdown", URL, "markdown"),
        (b"# Title", "text/plain", "https://example.org/README.md", "markdown"),
        (b"# comment", "text/plain", "https://example.org/x.txt", "text"),
        (b'{"a": 1}', "application/json", URL, "json"),
        (b'{"a": 1}', "application/ld+json; charset=utf-8", URL, "json"),
        (b'{"a": 1}', "", URL, "json"),
        (b"[1]", "application/octet-stream", "https://example.org/x.json", "json"),
        (RSS, "application/rss+xml", URL, "feed"),
        (RSS, "text/html", URL, "feed"),
        (RSS, "text/xml", URL, "feed"),
        (ATOM, "application/atom+xml", URL, "feed"),
        (ATOM, "", URL, "feed"),
        (b"<?xml version='1.0'?><note/>", "application/xml", URL, "xml"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", URL, "xml"),
        (b"print(1)", "text/x-python", URL, "text"),
        (b"let a = 1", "application/javascript", URL, "text"),
        (b"words", "", URL, "text"),
        (b"words", "application/octet-stream", URL, "text"),
        ("слова".encode("utf-16"), "text/plain", URL, "text"),
        ("words and words".encode("utf-16-le"), "text/plain", URL, "text"),
        (b"\x89PNG\r\n\x1a\n", "text/html", URL, "binary"),
        (b"anything", "image/png", URL, "binary"),
        (b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", URL, "binary"),
        (b"\x00\x01\x02\x03 bytes", "text/plain", URL, "binary"),
        (b"<html><body>\x00<p>" + b"words " * 20, "text/html", URL, "html"),
        (b"<html><body>" + b"\x00\x00\x01" * 60, "text/html", URL, "binary"),
        (b"\x01\x02\x03\x04\x05\x06", "application/octet-stream", URL, "binary"),
        (b"x", "application/zip", URL, "binary"),
        (b"{\\rtf1 x}", "text/rtf", URL, "binary"),
        (b"select 1", "application/sql", URL, "text"),
        (b'{"nbformat": 4}', "text/plain", "https://example.org/x.ipynb", "json"),
        (b"\x01\x02\x03\x04", "application/sql", URL, "binary"),
        (b"From: a", "multipart/related", URL, "text"),
        (b'{"a": 1}', "text/html", URL, "json"),
        (b"{not json}", "text/html", URL, "html"),
        (ATOM, "text/html", URL, "feed"),
        (b'<h1 align="center">Project</h1>\n\n## Install', "text/plain", "https://example.org/README.md", "markdown"),
        (b"<p align=center>x</p>\n\n# Title", "text/plain", "https://example.org/README", "text"),
        (b"<html> = 1", "text/plain", "https://example.org/x.py", "text"),
        (b"<script>let a</script>", "text/x-vue", "https://example.org/x.vue", "text"),
        ("<!doctype html><p>一丁丂七丄丅".encode("utf-16"), "", URL, "html"),
        ("<!doctype html><p>一丁丂七丄丅".encode("utf-16-be"), "text/html", URL, "html"),
        (("<p>" + "一丁丂七丄丅" * 40).encode("utf-16-le"), "text/html; charset=utf-16", URL, "html"),
        ('<?xml version="1.0"?><rss version="2.0"/>'.encode("utf-16"), "application/xml", URL, "feed"),
    ],
)
def test_bytes_and_content_type_together_say_what_it_is(body: bytes, content_type: str, url: str, kind: Kind) -> None:
    assert kind_of(body, content_type, url) == kind


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"<!---->" * 600 + b"x", "text/html", "html"),
        (b"<!-- a -->\n" * 300 + b"x", "text/plain", "text"),
        (b"<?a?> <!-- b -->" * 200 + b"x", "application/xml", "xml"),
        (b"<!DOCTYPE a [" * 200, "application/xml", "xml"),
        (b"<!-- a -->" * 30 + b"<html>", "text/plain", "html"),
    ],
)
def test_a_head_of_comments_is_read_once(body: bytes, content_type: str, kind: Kind) -> None:
    """A pattern that tries every way to divide them would never come to an end."""
    assert kind_of(body, content_type, URL) == kind


def test_long_runs_of_blanks_are_read_once() -> None:
    blanks = " " * 300_000
    body = f"---\ntitle: 'a{blanks}b'\n---\n# a{blanks}b #\n".encode()
    assert read_text(body, "", URL, "markdown").title == f"a{blanks}b"[:300]
    feed = f"<rss version='2.0'><channel><title>T</title><description>&lt;b&gt;{blanks}x</description></channel></rss>"
    assert read_text(feed.encode(), "", URL, "feed").text == "# T\n\nx"


class TestFeedsInJson:
    FEED: ClassVar[dict[str, object]] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Tides",
        "language": "en",
        "items": [
            {"id": "1", "url": "/one", "title": "High [1]", "content_html": "<p>At <b>noon</b>.</p>", "date_published": "2026-11-13"},
            {"id": "2", "content_text": "Low at six."},
            "broken",
        ],
    }  # fmt: skip

    def test_entries_are_listed_as_those_of_other_feeds(self) -> None:
        found = read_text(json.dumps(self.FEED).encode(), "application/feed+json", URL, "json")
        assert (found.kind, found.title, found.language) == ("feed", "Tides", "en")
        assert found.text == dedent(
            """\
            # Tides

            - [High \\[1\\]](https://example.org/one) (2026-11-13)
              At noon.
            - (untitled)
              Low at six."""
        )

    def test_what_only_speaks_of_them_is_json(self) -> None:
        body = json.dumps({"see": "https://jsonfeed.org/version/1.1"}).encode()
        assert read_text(body, "application/json", URL, "json").kind == "json"


class TestNotebooks:
    BOOK: ClassVar[dict[str, object]] = {
        "nbformat": 4,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Tides\n", "Of the *harbour*."]},
            {
                "cell_type": "code",
                "source": "print(1)\n",
                "outputs": [
                    {"output_type": "stream", "text": ["1\n"]},
                    {"output_type": "display_data", "data": {"text/plain": "<Figure>", "image/png": "iVBORw0KGgo="}},
                    {"output_type": "error", "traceback": ["\x1b[31mKeyError\x1b[0m"]},
                ],
            },
            {"cell_type": "raw", "source": "as it is"},
        ],
    }  # fmt: skip

    def test_text_code_and_what_was_printed_are_read(self) -> None:
        found = read_text(json.dumps(self.BOOK).encode(), "application/json", URL, "json")
        assert (found.kind, found.title) == ("markdown", "Tides")
        assert found.text == dedent(
            """\
            # Tides
            Of the *harbour*.

            ```python
            print(1)
            ```

            ```
            1
            <Figure>
            KeyError
            ```

            ```
            as it is
            ```"""
        )

    def test_one_of_the_older_format_is_read(self) -> None:
        sheet = {"cells": [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "1"}]}
        book = {"nbformat": 3, "metadata": {"kernelspec": {"language": "Julia"}}, "worksheets": [sheet]}
        assert read_text(json.dumps(book).encode(), "", URL, "json").text == "## Old\n\n```julia\n1\n```"

    @given(cells=st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["cell_type", "source", "outputs", "text", "data", "traceback", "level", "text/plain"]), inner)))  # fmt: skip
    def test_a_broken_one_is_json_or_read_but_never_a_fault(self, cells: object) -> None:
        body = json.dumps({"nbformat": 4, "cells": [{"cell_type": "code"}, cells], "metadata": cells}).encode()
        assert read_text(body, "application/json", URL, "json").kind in {"json", "markdown"}


def test_a_language_that_only_the_type_names_is_kept() -> None:
    assert read_text(b"import os", "text/x-python; charset=utf-8", URL, "text").text == "```python\nimport os\n```"


def test_the_colours_of_a_log_are_gone() -> None:
    assert read_text(b"\x1b[31mred\x1b[0m plain\r\n", "text/plain", URL, "text").text == "red plain"


class TestJson:
    def test_it_is_indented_and_fenced(self) -> None:
        found = read_text('{"ä":[1,{"b":null}]}'.encode(), "application/json", URL, "json")
        assert found.text == '```json\n{\n  "ä": [\n    1,\n    {\n      "b": null\n    }\n  ]\n}\n```'

    @pytest.mark.parametrize(
        "body",
        ["{broken", "[" * 100_000, '{"n": NaN}', '{"n": 1.00000000000000000001}', '{"n": 1e999}', "[" + "9" * 5_000 + "]"],
    )
    def test_what_reading_would_change_stays_as_it_is(self, body: str) -> None:
        assert read_text(body.encode(), "application/json", URL, "json").text == f"```json\n{body}\n```"

    def test_backticks_inside_cannot_close_the_fence(self) -> None:
        text = read_text(b'{"a": "```\\n# forged"}', "application/json", URL, "json").text
        assert text.startswith("````json\n")
        assert text.endswith("\n````")

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        )
    )
    def test_the_value_is_the_same_afterwards(self, value: object) -> None:
        text = read_text(json.dumps(value).encode(), "application/json", URL, "json").text
        assert json.loads(text.split("\n", 1)[1].rsplit("\n", 1)[0]) == value


class TestTexts:
    def test_plain_text_stays_and_takes_the_files_name(self) -> None:
        found = read_text(b"a\r\nb\rc\x0c*d*\n", "text/plain", "https://example.org/x/notes.txt?v=1", "text")
        assert (found.kind, found.title, found.text) == ("text", "notes.txt", "a\nb\nc*d*")

    def test_source_code_is_fenced_with_its_language(self) -> None:
        found = read_text(b"\n    def f():\n        pass\n", "text/plain", "https://example.org/a.py", "text")
        assert found.text == "```python\n    def f():\n        pass\n```"

    def test_markdown_stays_and_its_front_matter_is_read(self) -> None:
        body = '---\ntitle: "The guide"\ndate: 2026-02-03\nlang: fr\n---\n# Other\n\nSee https://example.org/x.\n'
        found = read_text(body.encode(), "text/markdown", URL, "markdown")
        assert (found.title, found.published, found.language) == ("The guide", "2026-02-03", "fr")
        assert found.text == body.strip()
        assert [link.url for link in found.links] == ["https://example.org/x"]

    def test_markdown_without_front_matter_takes_its_heading_as_title(self) -> None:
        assert read_text(b"intro\n\n# The *heading* #\n", "text/markdown", URL, "markdown").title == "The *heading*"

    def test_legacy_charsets_are_decoded(self) -> None:
        assert read_text("текст".encode("cp1251"), "text/plain; charset=windows-1251", URL, "text").text == "текст"

    def test_xml_is_one_code_block(self) -> None:
        found = read_text(b"<?xml version='1.0'?>\n<a><b>1</b></a>\n", "application/xml", URL, "xml")
        assert found.text == "```xml\n<?xml version='1.0'?>\n<a><b>1</b></a>\n```"


class TestFeeds:
    def test_rss_becomes_a_list_with_links_and_days(self) -> None:
        found = read_text(RSS, "application/rss+xml", "https://example.org/feed.xml", "feed")
        assert (found.kind, found.title, found.language, found.published) == ("feed", "News & more", "de", "2026-11-14")
        assert found.text == dedent("""\
            # News & more

            Daily

            - [One \\[1\\]](https://example.org/one) (2026-11-14)
              First story.
            - [Two](https://example.org/two)""")
        assert [link.url for link in found.links] == ["https://example.org/one", "https://example.org/two"]

    def test_atom_becomes_a_list_with_links_and_days(self) -> None:
        found = read_text(ATOM, "application/atom+xml", URL, "feed")
        assert found.language == "en"
        assert found.text == "# Notes\n\n- [A bold one](https://example.org/a) (2026-11-13)\n  Short."

    def test_a_feed_that_is_cut_is_read_up_to_the_cut(self) -> None:
        found = read_text(RSS[: RSS.index(b"<item><title>Two")], "application/rss+xml", URL, "feed")
        assert "One" in found.text

    def test_a_feed_in_a_legacy_charset_is_read(self) -> None:
        body = '<?xml version="1.0" encoding="windows-1251"?><rss><channel><title>Новости</title></channel></rss>'
        assert read_text(body.encode("cp1251"), "text/xml", URL, "feed").title == "Новости"

    def test_entities_are_not_expanded_and_nothing_is_loaded(self) -> None:
        bomb = (
            b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">'
            b'<!ENTITY f SYSTEM "file:///etc/passwd">]><rss><channel><title>T &b; &f;</title></channel></rss>'
        )
        text = read_text(bomb, "text/xml", URL, "feed").text
        assert "aaaaaaaaaa" not in text
        assert "root:" not in text

    def test_what_only_begins_as_a_feed_is_shown_as_xml(self) -> None:
        assert read_text(b"<rss", "text/xml", URL, "feed").kind == "xml"
