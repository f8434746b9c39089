"""Which post an address names, what is quoted beside it, and whether a page holds the words."""

from __future__ import annotations

import pytest

from websearch_core import quotes
from websearch_core.values import PostSource

A = "https://x.com/examplevalley/status/1990000000000000001"
B = "https://x.com/i/status/1990000000000000002"
NUMBER = "1990000000000000001"


@pytest.mark.requirement("X-PARSE-03")
@pytest.mark.parametrize(
    ("url", "number", "handle"),
    [
        (f"https://x.com/i/status/{NUMBER}", NUMBER, ""),
        (f"https://x.com/i/web/status/{NUMBER}", NUMBER, ""),
        (f"https://x.com/ExampleValley/status/{NUMBER}", NUMBER, "ExampleValley"),
        (f"https://twitter.com/ExampleValley/status/{NUMBER}?s=20&t=abc", NUMBER, "ExampleValley"),
        (f"https://mobile.twitter.com/ExampleValley/statuses/{NUMBER}", NUMBER, "ExampleValley"),
        (f"http://www.x.com/a_1/status/{NUMBER}/photo/1#top", NUMBER, "a_1"),
        ("https://x.com/jack/status/20", "20", "jack"),
        ("https://x.com/jack/status/0020", "20", "jack"),
    ],
)
def test_every_spelling_of_an_address_names_the_same_post(url: str, number: str, handle: str) -> None:
    assert quotes.post_of(url) == quotes.Post(number, handle)


@pytest.mark.parametrize(
    "url",
    [
        "https://x.com/examplevalley",
        "https://x.com/examplevalley/status/",
        "https://x.com/examplevalley/status/12a",
        "https://x.com/a-name/status/12",
        "https://x.com/sixteen_letters_/status/12",
        "https://x.com/a/status/123456789012345678901",
        f"https://notx.com/i/status/{NUMBER}",
        f"https://x.com.example.org/i/status/{NUMBER}",
        f"https://example.org/?u=https://x.com/i/status/{NUMBER}",
        f"ftp://x.com/i/status/{NUMBER}",
        "x.com/i/status/12",
        "",
    ],
)
def test_other_addresses_name_no_post(url: str) -> None:
    assert quotes.post_of(url) is None


@pytest.mark.parametrize(
    ("number", "day"),
    [
        ("20", ""),
        ("29700859246", ""),
        ("29700859247", "2010-11-04"),
        ("1212092628029698048", "2019-12-31"),
        (NUMBER, "2025-11-16"),
        ("9999999999999999999", "2086-05-23"),
    ],
)
def test_a_posts_number_tells_its_day(number: str, day: str) -> None:
    assert quotes.Post(number, "").published == day


def test_a_source_shows_what_its_address_tells() -> None:
    assert quotes.sourced(A, "A title") == PostSource(
        url=A, title="A title", post_id=NUMBER, handle="examplevalley", published="2025-11-16"
    )
    assert quotes.sourced("https://example.org/") == PostSource(url="https://example.org/")
    assert quotes.Post(NUMBER, "").url == f"https://x.com/i/status/{NUMBER}"
    assert quotes.Post(NUMBER, "a").url == f"https://x.com/a/status/{NUMBER}"


@pytest.mark.requirement("X-QUOTE-01")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(f"> It is open.\n> Come.\n{A}\n\nAlso:\n\n> Two.\n{B}\n", ["It is open.\nCome.|A", "Two.|B"], id="as told"),
        pytest.param(f"> one\n\n{A}\n\n> two\n\n— @b, 14 Nov: {B}", ["one|A", "two|B"], id="blank line and attribution between"),
        pytest.param(f"> one\n> \n> two\n> {A}", ["one\n\ntwo|A"], id="address inside of the block"),
        pytest.param(f"> one\n> — @a, [14 Nov]({A})", ["one|A"], id="link inside of the block"),
        pytest.param(f"> “**It is open**”\n> — @a {A}", ["It is open|A"], id="marks and emphasis go"),
        pytest.param(f"- > one\n  {A}\n- > two — {B}", ["one|A", "two|B"], id="blocks in a list"),
        pytest.param(f'"It is open." {A}\n“Two” — @b ([post]({B}))', ["It is open.|A", "Two|B"], id="in quotation marks"),
        pytest.param(f"«Открыт» <{A}> 「開いた」（{B}）", ["Открыт|A", "開いた|B"], id="other quotation marks"),
        pytest.param(f"“It is\nopen”\n{A}", ["It is\nopen|A"], id="over a line end"),
        pytest.param(f'- [@a]({A}): "one"\n- [@b]({B}): "two"', ["one|A", "two|B"], id="link first, in a list"),
        pytest.param(f'[@a]({A}): "one"; [@b]({B}): "two"', ["one|A", "two|B"], id="link first, on a line"),
        pytest.param(f"[@a]({A})\n> one\n\n[@b]({B})\n> two", ["one|A", "two|B"], id="link first, blocks"),
        pytest.param(f"@a ({A}):\n\n> one\n\n@b ({B}):\n\n> two", ["one|A", "two|B"], id="link first, with a colon"),
        pytest.param(f'"one" {A} and he said: "two" {B}', ["one|A", "two|B"], id="a colon that announces words, not a link"),
        pytest.param(f"> one\n{A}\n\nHe also said:\n\n> two\n{B}", ["one|A", "two|B"], id="a colon of another paragraph"),
        pytest.param(f"> one\n{A}\n\n> one\n{A}?s=20", ["one|A"], id="the same again"),
        pytest.param(f'The "bridge" was opened by the council on Friday ({A}).', [], id="words that are no quote"),
        pytest.param(f"> one\n\nAnother user disagreed with that view here: {A}", [], id="a link of the next sentence"),
        pytest.param(f'- said "one"\n- and this: {A}', [], id="a link of the next item"),
        pytest.param(f"> one\n{'x' * 300} {A}", [], id="a link far away"),
        pytest.param("> one\nhttps://example.org/", [], id="no post"),
        pytest.param(f"Just a link {A}", [], id="no quote"),
        pytest.param(f"> {A}\n\n> \n{B}", [], id="nothing in it"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_quotes_belong_to_the_link_beside_them(text: str, found: list[str]) -> None:
    names = {NUMBER: "A", "1990000000000000002": "B"}

    assert [f"{quote.text}|{names[quote.post_id]}" for quote in quotes.quotes_in(text)] == found


def test_a_quote_carries_its_post() -> None:
    (quote,) = quotes.quotes_in(f"> It is open.\n{A}?s=20")

    assert (quote.url, quote.post_id, quote.handle) == (f"{A}?s=20", NUMBER, "examplevalley")
    assert (quote.published, quote.state) == ("2025-11-16", "unlisted")


def test_no_more_quotes_than_can_be_of_use_are_taken() -> None:
    text = "\n\n".join(f"> number {number}\nhttps://x.com/a/status/{number}" for number in range(1, 1_000))

    assert len(quotes.quotes_in(text)) == quotes.MAX_QUOTES


@pytest.mark.parametrize(
    "hostile", ['"', "“", "> ", "- > a\n", f"[a]({A})\n> x\n\n", f'{A}: "x" ', "[", f"> x\n{A}\n", '"a"\n\n']
)
def test_a_hostile_answer_is_searched_to_its_end(hostile: str) -> None:
    """Nothing in it makes the search quadratic: then these texts would take hours."""
    text = hostile * (quotes.MAX_SEARCHED_CHARS // len(hostile))

    assert len(quotes.quotes_in(text + text)) <= 2


@pytest.mark.requirement("X-QUOTE-02")
@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("…\nThe council: It’s **OPEN** again,\n come!\n…", "It's open again, come!"),
        ("The bridge is open https://t.co/abc today", "The bridge is open today https://t.co/xyz"),
        ("桥重新开放了。", "重新开放"),
        ("The bridge is, after weeks, open again", "The bridge … open again"),
        ("ＦＵＬＬ width and “marks”", "full width and marks"),
    ],
)
def test_a_page_holds_a_quote_whatever_its_typography(page: str, quote: str) -> None:
    assert quotes.holds(page, quote)


@pytest.mark.parametrize(
    ("page", "quote"),
    [
        ("The bridge is not open", "The bridge is open"),
        ("The bridges are open", "The bridge"),
        ("open again … The bridge", "The bridge … open again"),
        ("", "The bridge is open"),
        ("It is 🙂", "🙂"),
        ("a b", "a"),
        ("Log in to X", ""),
    ],
)
def test_a_page_does_not_hold_what_was_not_said(page: str, quote: str) -> None:
    assert not quotes.holds(page, quote)
