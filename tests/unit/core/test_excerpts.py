"""Excerpts: the passages that answer, in the page's order, gaps visible, code and tables whole or properly closed."""

from __future__ import annotations

import re

from websearch_core.excerpts import excerpt, table_header
from websearch_core.passages import split

FILLER = "It goes on about other matters for a good while, without a single telling word. " * 12
SECTIONS = [f"## Part {number}\n\nThe pump of part {number} is {colour}. {FILLER}\n\n" for number, colour in enumerate(
    ["red", "green", "blue", "amber", "violet", "ivory"])]  # fmt: skip
PAGE = "".join(SECTIONS)
TABLE = "| city | height |\n|---|---|\n" + "".join(f"| town {number} | {number * 3} m |\n" for number in range(300))
CODE = "```python\n" + "".join(f"value_{number} = compute({number})\n" for number in range(300)) + "```\n"


def test_a_page_that_fits_is_given_whole() -> None:
    assert excerpt(PAGE, "amber", len(PAGE)).text == PAGE
    assert excerpt(PAGE, "amber", len(PAGE)).next_start is None


def test_the_passage_that_answers_is_shown_wherever_it_stands() -> None:
    found = excerpt(PAGE, "which pump is violet?", 2_600)
    assert "The pump of part 4 is violet." in found.text
    assert found.next_start is not None
    assert len(found.text) <= 2_600


def test_passages_keep_the_order_of_the_page_and_every_gap_says_its_size_and_place() -> None:
    found = excerpt(PAGE, "violet or green", 4_000)
    assert found.text.index("green") < found.text.index("violet")
    for size, start in re.findall(r"\[… (\d+) characters left out, from start=(\d+) …\]", found.text):
        assert PAGE[int(start) : int(start) + int(size)] not in found.text
    left_out = sum(int(size) for size, _ in re.findall(r"\[… (\d+) characters left out, from start=(\d+) …\]", found.text))
    shown = re.sub(r"\n*\[… \d+ characters left out, from start=\d+ …\]\n\n", "", found.text)
    assert abs(len(PAGE) - left_out - len(shown)) <= 8  # blank lines at the marks


def test_what_is_shown_stands_in_the_page_word_for_word() -> None:
    found = excerpt(PAGE, "amber", 2_000)
    for part in re.split(r"\n*\[… [^]]+ …\]\n\n", found.text):
        assert part.strip() in PAGE


def test_without_a_telling_word_the_page_is_read_from_its_beginning() -> None:
    found = excerpt(PAGE, "zebra", 3_000)
    assert PAGE.startswith(found.text)
    assert found.next_start == len(found.text) > 1_000


def test_a_table_that_is_too_long_keeps_its_header_and_the_rows_that_answer() -> None:
    found = excerpt(f"Heights\n\n{TABLE}\n{FILLER}", "how high is town 250", 900)
    assert "| city | height |\n|---|---|\n" in found.text
    assert "| town 250 | 750 m |" in found.text
    assert "| … |\n" in found.text


def test_code_that_is_too_long_is_cut_between_lines_and_closed() -> None:
    found = excerpt(f"Listing\n\n{CODE}\n{FILLER}", "compute value_250", 900)
    assert "value_250 = compute(250)\n" in found.text
    assert found.text.count("```") == 2


def test_a_table_that_fits_is_never_cut() -> None:
    small = "| a | b |\n|---|---|\n| pump | red |\n| pump | blue |\n"
    found = excerpt(f"{FILLER}\n\n{small}\n{FILLER}\n\n{FILLER}", "pump blue", 1_600)
    assert small in found.text


def test_chinese_passages_are_found_by_their_words() -> None:
    filler = "这里讨论的是其他事情，与问题完全无关。" * 60
    page = "".join(f"## 第{number}节\n\n{filler}\n\n" for number in range(6)) + f"水泵的颜色是琥珀色。{filler}"
    assert "琥珀色" in excerpt(page, "水泵是什么颜色？", 1_800).text


def test_the_measure_of_the_room_is_the_callers() -> None:
    page = '"' * 5_000 + "\n\nthe answer is amber\n\n" + '"' * 5_000
    found = excerpt(page, "amber", 2_000, measure=lambda text: 2 * len(text))
    assert 2 * len(found.text) <= 2_000


def test_a_header_is_a_header_only_above_a_rule() -> None:
    assert table_header(TABLE) == "| city | height |\n|---|---|\n"
    assert table_header("| a | b |\n| c | d |\n| e | f |\n") == ""
    assert table_header("no table") == ""
    assert all(table_header(piece.text) == "" for piece in split(PAGE))
