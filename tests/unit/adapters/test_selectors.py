"""Parts of a page by CSS selector."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_adapters.extract.html import read_selected
from websearch_adapters.extract.markup import parse, words_of
from websearch_adapters.extract.selectors import matching, to_xpath
from websearch_core.errors import InvalidInput

HTML = """<html><head><title>Ferry</title></head><body>
<main id=main><h1>Ferry</h1>
<div class="box big" data-kind="note-1" lang="en-GB"><p>One</p><p title='say "hi"'>Two</p><p>Three</p></div>
<div class=box><ul><li>a<li class=x>b<li>c</ul></div>
<table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table>
<script>alert(1)</script></main>
<footer><p>Four <a href="/docs/a">link</a></p></footer></body></html>"""


def words(selector: str) -> list[str]:
    root = parse(HTML)
    assert root is not None
    return [words_of(element) for element in matching(root, selector)]


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("h1", ["Ferry"]),
        ("#main h1", ["Ferry"]),
        ("footer p", ["Four link"]),
        ("main > p", []),
        (".big p:first-child", ["One"]),
        ("div.big > p:last-child", ["Three"]),
        ("div p:nth-child(2)", ["Two"]),
        ("div p:nth-of-type(3)", ["Three"]),
        ("p:not(:first-child):not([title])", ["Three"]),
        ("li.x ~ li", ["c"]),
        ("li + .x", ["b"]),
        ("[title]", ["Two"]),
        ("""[title='say "hi"']""", ["Two"]),
        ("[data-kind^=note]", ["One Two Three"]),
        ("[data-kind$='-1']", ["One Two Three"]),
        ("[data-kind*='te-']", ["One Two Three"]),
        ("[class~=big]", ["One Two Three"]),
        ("[lang|=en]", ["One Two Three"]),
        ("div:not([lang|=en])", ["a b c"]),
        ("h1, .x , footer a[href^='/docs']", ["Ferry", "b", "link"]),
        (".box, .box p", ["One Two Three", "a b c"]),
        ("MAIN H1", ["Ferry"]),
        ("*.x", ["b"]),
        ("[title='']", []),
        ("[title^='']", []),
        (".nothing", []),
    ],
)
def test_a_selector_finds_what_a_browser_would(selector: str, found: list[str]) -> None:
    assert [text.replace("OneTwoThree", "One Two Three").replace("abc", "a b c") for text in words(selector)] == found


@pytest.mark.parametrize(
    "selector",
    ["", "  ", "a >", "> a", "a::before", "a:hover", "a[", "a[b=", "{}", "a,,b", "a)", ":not(", "p:nth-child(2n)", "a b c " * 60],
)
def test_what_cannot_be_read_is_an_input_error(selector: str) -> None:
    with pytest.raises(InvalidInput, match=r"^selector"):
        to_xpath(selector)


@given(st.text(alphabet=st.sampled_from("ab#.[]='\"() >+~,:*^$|not-child1x "), max_size=30))
def test_no_selector_breaks_the_page(selector: str) -> None:
    """Every text is a selector that can be run, or an input error."""
    root = parse(HTML)
    assert root is not None
    try:
        expression = to_xpath(selector)
    except InvalidInput:
        return
    assert isinstance(root.xpath(expression), list)


def test_the_selected_part_is_markdown_with_its_own_marks() -> None:
    read = read_selected(HTML, "https://port.example/", "h1, table, footer")
    assert read.title == "Ferry"
    assert read.markdown == "# Ferry\n\n| k | v |\n| --- | --- |\n| 1 | 2 |\n\nFour [link](https://port.example/docs/a)"


def test_scripts_and_what_is_hidden_cannot_be_selected() -> None:
    assert read_selected(HTML, "https://port.example/", "script").markdown == ""
