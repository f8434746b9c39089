"""Where an answer's sources hide."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from websearch_core import citations
from websearch_core.values import Evidence, Source

A, B, C = "https://a.example/page", "https://b.example/page", "https://c.example/page"


def found(text: str) -> list[tuple[str, str]]:
    return [(source.url, source.title) for source in citations.inline(text)]


def split(text: str) -> tuple[str, list[tuple[str, str]]]:
    prose, sources = citations.split_sources(text)
    return prose, [(source.url, source.title) for source in sources]


def source(url: str, title: str = "", evidence: Evidence = "listed", provider: str = "") -> Source:
    return Source(url=url, title=title, evidence=evidence, provider=provider)


class TestInline:
    def test_markers_come_before_links_and_numbers_are_no_titles(self) -> None:
        assert found(f"See [the page]({B}). It reopened.[[1]]({A})") == [(A, ""), (B, "the page")]

    def test_everything_in_the_text_counts_as_cited_and_carries_the_provider(self) -> None:
        (only,) = citations.inline(f"So it is [there]({A}).", provider="grok_responses")
        assert (only.evidence, only.provider) == ("cited", "grok_responses")

    @pytest.mark.requirement("EDGE-08")
    @pytest.mark.parametrize(
        ("text", "url"),
        [
            ("[[1]](https://en.wikipedia.org/wiki/Rust_(language))", "https://en.wikipedia.org/wiki/Rust_(language)"),
            ("([x](https://h.example/a_(b)_(c)))", "https://h.example/a_(b)_(c)"),
            ('[x](https://h.example/a "A title")', "https://h.example/a"),
            ("[x](<https://h.example/a>)", "https://h.example/a"),
            (r"[x](https://h.example/a\_b)", "https://h.example/a_b"),
            ("[步行桥](https://h.example/桥)。", "https://h.example/桥"),
            ("[x](https://münchen.example:8443/a)", "https://münchen.example:8443/a"),
        ],
    )
    def test_an_address_ends_where_markdown_ends_it(self, text: str, url: str) -> None:
        assert [found_url for found_url, _ in found(text)] == [url]

    @pytest.mark.requirement("RS-ADAPTER-07")
    @pytest.mark.parametrize(
        "malformed",
        ["[[1](https://bad.example", "[[1]](https://bad.example and on", "[[1]]()", "[[1]](ftp://bad.example)", "](", "[["],
    )
    def test_a_malformed_marker_does_not_stop_the_scan(self, malformed: str) -> None:
        assert found(f"One.{malformed} Two.[[2]]({B})") == [(B, "")]

    def test_a_marker_that_lacks_a_bracket_is_still_a_link(self) -> None:
        assert found(f"One.[[1]({A}) Two.[[2]]({B})") == [(B, ""), (A, "")]

    def test_code_and_images_are_no_sources(self) -> None:
        text = f"`[x]({A})`\n\n```md\n[y]({B})\n```\n![z]({C})\n\n~~~\n[w]({C})\n"
        assert found(text) == []

    def test_a_backtick_that_nothing_closes_hides_nothing(self) -> None:
        assert found(f"A ` alone. [x y]({A})\n\nmore `code`") == [(A, "x y")]

    def test_a_page_is_told_once_with_its_best_title(self) -> None:
        assert found(f"One.[[1]]({A}) More: [the page]({A}#part).") == [(A, "the page")]

    def test_markers_are_counted(self) -> None:
        assert citations.markers(f"a[[1]]({A}) b[[2]]({B}) c[x]({C}) d[[3]] `[[4]]({C})`") == 2


class TestTitles:
    @pytest.mark.requirement("RS-ADAPTER-08")
    @pytest.mark.parametrize("junk", ["", " ", "1", "[12]", "x", "—", "2026", A, "a.example/page", "http://else.example", "水"])
    def test_what_says_nothing_is_dropped(self, junk: str) -> None:
        assert not citations.title_of(junk, A)

    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("**Footbridge** reopens", "Footbridge reopens"),
            ("a\n b\x07\u200b", "a b"),
            ("x" * 400, "x" * 300),
            ("步行桥", "步行桥"),
        ],
    )
    def test_others_are_put_on_one_line_and_capped(self, given: str, shown: str) -> None:
        assert citations.title_of(given, A) == shown


class TestThinking:
    @pytest.mark.requirement("HEAD-25")
    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            ("<think>hm</think>Yes.", "Yes."),
            ('<THINK type="x">hm\n\nhm</think>\n\nYes.', "Yes."),
            ("Yes.<think>hm</think> Sure.", "Yes. Sure."),
            ("Yes.<think>hm", "Yes."),
            ("<think>hm", ""),
            ("hm hm</think>Yes.", "Yes."),
            ("<think>a<think>b</think>c</think>Yes.", "Yes."),
            ("<thinking>hm</thinking>Yes.", "Yes."),
            ("<think>```\nnever closed</think>Yes.", "Yes."),
            ("I think so.", "I think so."),
            (" thinkers ", " thinkers "),
        ],
    )
    def test_thinking_is_taken_out(self, text: str, answer: str) -> None:
        assert citations.without_thinking(text) == answer

    @pytest.mark.parametrize("text", ["Use `<think>` tags.", "```\n<think>\n```\nThat is all.", "A tag `</think>` ends it."])
    def test_code_that_names_the_tag_stays(self, text: str) -> None:
        assert citations.without_thinking(text) == text


class TestSplitSections:
    @pytest.mark.parametrize(
        "heading",
        [
            "Sources",
            "Sources:",
            "## Sources",
            "**Sources:**",
            "**References**:",
            "### Citations (3)",
            "参考资料",
            "**引用：**",
            "## 来源列表（共2条）",
            "信源",
            "SOURCES",
        ],
    )
    def test_a_heading_starts_a_list(self, heading: str) -> None:
        text = f"It reopened.\n\n{heading}\n- [Council]({A})\n- [Gazette]({B})"
        assert split(text) == ("It reopened.", [(A, "Council"), (B, "Gazette")])

    def test_listed_sources_are_not_cited(self) -> None:
        _, sources = citations.split_sources(f"Yes.\n\nSources:\n- [A page]({A}) – what it says", provider="grok_responses")
        assert sources == (
            Source(url=A, title="A page", description="what it says", provider="grok_responses", evidence="listed"),
        )

    @pytest.mark.requirement("EDGE-09")
    def test_prose_after_the_list_stays(self) -> None:
        text = f"First part.\n\nSources\n1. [Council]({A})\n\n2. {B}\n\nA last remark."
        prose, sources = split(text)
        assert prose == "First part.\n\nA last remark."
        assert sources == [(A, "Council"), (B, "")]

    @pytest.mark.requirement("EDGE-09")
    def test_two_lists_are_both_taken(self) -> None:
        text = f"One.\n\n## Sources\n- {A}\n\n## More\nTwo.\n\n---\n\n## References\n- {B}"
        assert split(text) == ("One.\n\n## More\nTwo.", [(A, ""), (B, "")])

    @pytest.mark.requirement("EDGE-09")
    def test_a_heading_in_code_is_code(self) -> None:
        text = f"Write it so:\n\n```md\n## Sources\n- [x]({A})\n```"
        assert split(text) == (text, [])

    def test_a_heading_without_addresses_is_prose(self) -> None:
        text = "## Sources\nThe river rises in two places.\n\n- one\n- two"
        assert split(text) == (text, [])

    @pytest.mark.requirement("HEAD-28")
    def test_labels_titles_on_their_own_line_and_tables_are_understood(self) -> None:
        text = f"Yes.\n\nSources:\nCouncil: {A}\n- A title\n  {B}\n| # | page |\n|---|---|\n| 1 | [Third page]({C}) |"
        assert split(text) == ("Yes.", [(A, "Council"), (B, "A title"), (C, "Third page")])

    def test_a_list_on_the_line_of_its_heading_is_taken(self) -> None:
        assert split(f"Yes.\n\n**来源：** [甲页]({A})、[乙页]({B})") == ("Yes.", [(A, "甲页"), (B, "乙页")])

    def test_a_list_may_be_all_there_is(self) -> None:
        assert split(f"Sources:\n- {A}") == ("", [(A, "")])

    @pytest.mark.requirement("EDGE-08")
    def test_addresses_keep_their_parentheses_and_lose_punctuation(self) -> None:
        assert split("Yes.\n\n参考\n1. https://zh.wikipedia.org/wiki/桥_(建筑)。\n2. https://h.example/x, 2026")[1] == [
            ("https://zh.wikipedia.org/wiki/桥_(建筑)", ""),
            ("https://h.example/x", ""),
        ]


class TestSplitOtherForms:
    @pytest.mark.parametrize(
        "payload",
        [
            json.dumps([{"title": "Council", "url": A}, {"name": "Gazette", "link": B}]),
            json.dumps({"sources": [["Council", A], ["Gazette", B]]}),
        ],
    )
    def test_a_final_call_is_a_list(self, payload: str) -> None:
        assert split(f"It reopened.\n\nsources({payload})") == ("It reopened.", [(A, "Council"), (B, "Gazette")])

    def test_a_call_that_is_no_json_gives_its_addresses(self) -> None:
        assert [url for url, _ in split(f"Yes.\nciteme\ncitation_card([('x (y)', '{A}'), ('z', '{B}')])")[1]] == [A, B]

    @pytest.mark.parametrize("text", [f"Yes.\nsources({A}) and more", f"Yes.\nsources(({A})", "sources()", f"`sources({A})`"])
    def test_what_only_resembles_a_call_is_prose(self, text: str) -> None:
        assert split(text) == (text, [])

    def test_a_final_details_block_with_two_links_is_a_list(self) -> None:
        text = f"Yes.\n\n<details><summary>More</summary>\n\n[Council]({A})\n[Gazette]({B})\n</details>\n"
        assert split(text) == ("Yes.", [(A, "Council"), (B, "Gazette")])
        assert split(f"Yes.\n<details>[Council]({A})</details>")[1] == []

    def test_final_lines_of_links_are_a_list(self) -> None:
        assert split(f"It reopened.\n\n- [Council]({A})\n- {B}") == ("It reopened.", [(A, "Council"), (B, "")])

    @pytest.mark.parametrize(
        "facts",
        [
            f"- It reopened.[[1]]({A})\n- It cost 2 million.[[2]]({B})",
            f"- Use [uv]({A}) now\n- Not [pip]({B})",
            f"- [uv]({A}) is fast\n- [pip]({B}) is old",
            f"It reopened.[[1]]({A})\nIt cost 2 million.[[2]]({B})",
        ],
    )
    def test_final_lines_that_say_something_are_prose_however_short(self, facts: str) -> None:
        text = f"What is known\n\n{facts}"
        assert split(text) == (text, [])

    def test_a_short_remark_with_a_marker_after_a_section_is_prose(self) -> None:
        text = f"Yes.\n\nSources:\n- {A}\n\nIt cost 2 million.[[1]]({B})"
        assert split(text) == (f"Yes.\n\nIt cost 2 million.[[1]]({B})", [(A, "")])

    def test_links_below_a_heading_of_another_name_stay(self) -> None:
        text = f"## Official pages\n\n- [Council]({A})\n- [Gazette]({B}) – the paper"
        assert split(text) == (text, [(A, "Council"), (B, "Gazette")])

    @pytest.mark.parametrize(
        "text",
        [
            "](" * 200_000,
            "[x](" + " " * 300_000,
            "<details" * 40_000,
            " " * 250_000 + "x",
            "`" * 100 + " ``" * 50_000,
            "Sources\n" * 30_000,
            "[[1]](https://a.example/" + "(" * 200_000,
            "x" * 400_000 + f"\n\nSources:\n- {A}",
        ],
        ids=lambda text: f"{text[:12]!r}",
    )
    def test_texts_made_to_take_long_do_not(self, text: str) -> None:
        citations.split_sources(citations.without_thinking(text))
        citations.inline(text)

    def test_one_final_link_is_prose(self) -> None:
        text = f"It reopened.\n\n[Council]({A})"
        assert split(text) == (text, [])

    def test_a_final_line_of_prose_with_a_link_is_prose(self) -> None:
        text = f"Yes.\n- [A]({A}) explains in great detail how and why the bridge was closed for works.\n- [Gazette]({B})"
        assert split(text) == (text, [])

    @pytest.mark.requirement("EDGE-09")
    def test_an_answer_that_is_only_links_stays_and_its_links_are_sources(self) -> None:
        text = f"- [Council]({A})\n- [Gazette]({B})"
        assert split(text) == (text, [(A, "Council"), (B, "Gazette")])

    def test_links_that_the_prose_announces_stay(self) -> None:
        text = f"The official pages are:\n\n- [Council]({A})\n- [Gazette]({B})"
        assert split(text) == (text, [(A, "Council"), (B, "Gazette")])

    def test_an_answer_without_any_list_is_untouched(self) -> None:
        text = f"  It [reopened]({A}) then.\n"
        assert split(text) == (text, [])


class TestSourceOf:
    @pytest.mark.parametrize(
        "entry",
        [
            A,
            f" {A} ",
            {"url": A},
            {"uri": A},
            {"href": A},
            {"link": A},
            {"type": "url_citation", "url": A, "title": "1"},
            {"type": "url_citation", "url_citation": {"url": A}},
            ("", A),
        ],
    )
    def test_an_address_is_read_from_every_usual_shape(self, entry: object) -> None:
        assert citations.source_of(entry) == Source(url=A)

    @pytest.mark.parametrize(
        "entry", [None, 1, "", "a.example", "ftp://a.example", {}, {"url": 1}, [], [A], {"url": "http://\ud800"}]
    )
    def test_anything_else_is_none(self, entry: object) -> None:
        assert citations.source_of(entry) is None

    def test_all_that_is_told_is_kept(self) -> None:
        entry = {"url": A, "name": "Council", "snippet": "It\nreopened.", "publishedDate": "2026-11-14T09:00:00Z"}
        assert citations.source_of(entry, provider="p", evidence="cited") == Source(
            url=A, title="Council", description="It reopened.", published="2026-11-14", provider="p", evidence="cited"
        )

    def test_a_date_that_is_none_is_left_out(self) -> None:
        only = citations.source_of({"url": A, "date": "yesterday"})
        assert only is not None
        assert not only.published


class TestUnite:
    @pytest.mark.requirement("EDGE-10", "RS-ADAPTER-09")
    def test_the_first_mention_keeps_place_address_and_provider_and_later_ones_fill_it(self) -> None:
        first = Source(url="https://www.a.example/page/?utm_source=x", provider="first")
        later = Source(url=A, title="A", evidence="cited", provider="second", description="d", published="2026-11-14")
        assert citations.unite([first, source(B, "B"), later]) == (
            replace(first, title="A", evidence="cited", description="d", published="2026-11-14"),
            source(B, "B"),
        )

    def test_a_title_is_never_overwritten(self) -> None:
        assert citations.unite([source(A, "one"), source(A, "two")]) == (source(A, "one"),)

    def test_different_queries_are_different_pages(self) -> None:
        assert len(citations.unite([source(f"{A}?version=1"), source(f"{A}?version=2")])) == 2

    def test_cited_sources_move_to_the_front_in_order(self) -> None:
        ordered = citations.cited_first([source(A), source(B, evidence="cited"), source(C, evidence="cited")])
        assert [each.url for each in ordered] == [B, C, A]


def test_a_final_call_may_hold_a_python_literal() -> None:
    text = (
        "It is so.\n\nsources([{'title': 'The \\'old\\' bridge', 'url': 'https://a.example/1'}, ('Two', 'https://b.example/2')])"
    )
    prose, found = citations.split_sources(text)
    assert prose == "It is so."
    assert [(source.title, source.url) for source in found] == [
        ("The 'old' bridge", "https://a.example/1"),
        ("Two", "https://b.example/2"),
    ]


def test_a_final_call_that_is_code_is_never_run_and_only_its_addresses_are_read() -> None:
    text = 'It is so.\n\nsources(open("https://a.example/1").read())'
    assert [source.url for source in citations.split_sources(text)[1]] == ["https://a.example/1"]


def test_brackets_in_thousands_are_no_literal() -> None:
    text = "It is so.\n\nsources(" + "[" * 5_000 + "'https://a.example/1'" + "]" * 5_000 + ")"
    assert len(citations.split_sources(text)[1]) == 1
