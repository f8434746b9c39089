"""Sections of a page, by number and by name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_core import outline
from websearch_core.errors import InvalidInput
from websearch_core.values import Section

PAGE = """Before.

# Ferries

Intro.

## Install

### On Linux

apt.

### On `macOS`

brew.

## [Use](https://a.example/use) it

```
# no heading
```

# Annex

### Deep

End.
"""


def test_sections_have_numbers_places_and_sizes() -> None:
    found = outline.sections(PAGE)
    assert [(one.number, one.title) for one in found] == [
        ("1", "Ferries"),
        ("1.1", "Install"),
        ("1.1.1", "On Linux"),
        ("1.1.2", "On macOS"),
        ("1.2", "Use it"),
        ("2", "Annex"),
        ("2.1", "Deep"),
    ]
    texts = {one.number: PAGE[one.start : one.start + one.chars] for one in found}
    assert texts["1"] + texts["2"] == PAGE.removeprefix("Before.\n\n")
    assert texts["1.1"] == "## Install\n\n### On Linux\n\napt.\n\n### On `macOS`\n\nbrew.\n\n"
    assert texts["1.1.2"] == "### On `macOS`\n\nbrew.\n\n"
    assert texts["2.1"] == "### Deep\n\nEnd.\n"


def test_a_text_without_headings_has_no_sections() -> None:
    assert outline.sections("Just a line.") == ()


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("1.1.2", "1.1.2"),
        ("1.1.", "1.1"),
        ("§ 2", "2"),
        ("install", "1.1"),
        ("## Install", "1.1"),
        ("ON LINUX", "1.1.1"),
        ("On macOS", "1.1.2"),
        ("Install › On Linux", "1.1.1"),
        ("ferries > install", "1.1"),
        ("#on-linux", "1.1.1"),
        ("use-it", "1.2"),
        ("Dee", "2.1"),
    ],
)
def test_a_section_is_found_by_number_heading_path_fragment_and_beginning(name: str, number: str) -> None:
    assert outline.find(outline.sections(PAGE), name).number == number


def test_of_several_with_one_heading_the_path_decides() -> None:
    known = outline.sections("# A\n\n## Example\n\nx\n\n# B\n\n## Example\n\ny\n")
    assert outline.find(known, "Example").number == "1.1"
    assert outline.find(known, "B › Example").number == "2.1"


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("Instal on Linux", "1.1.1"), ("Quite another", "1, 2"), ("On", "1.1.1"), ("9.9", "1, 2")],
)
def test_an_unknown_section_gives_the_numbers_of_those_that_are_near(name: str, numbers: str) -> None:
    known = outline.sections(PAGE)
    with pytest.raises(InvalidInput, match=r"^section: the page has no ") as caught:
        outline.find(known, name)
    offered = ", ".join(section.number for section in outline.near(known, name))
    assert offered.startswith(numbers)
    assert caught.value.hint == f"Use the number of a section in the outline: {offered}."


def test_of_a_page_that_is_one_section_those_below_it_are_offered() -> None:
    known = outline.sections("# Manual\n\n## One\n\n### Inner\n\n## Two\n\n")
    assert [section.number for section in outline.near(known, "99")] == ["1", "1.1", "1.2"]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("The `switch_model` tool", "The switch_model tool"),
        (r"The switch\_model tool", "The switch_model tool"),
        ("_Very_ __new__ *words*", "Very new words"),
        ("[Install_on](/a_b) ![x](y.png)", "Install_on x"),
        (r"Stars \* and more", "Stars * and more"),
    ],
)
def test_names_in_a_heading_keep_their_underscores(heading: str, title: str) -> None:
    known = outline.sections(f"# {heading}\n\nx\n")
    assert [section.title for section in known] == [title]
    assert outline.find(known, title).number == "1"


def test_a_heading_that_is_offered_is_cut() -> None:
    assert [len(section.title) for section in outline.near(outline.sections(f"# {'long ' * 20}\n\nx\n"), "7")] == [80]


def test_a_page_without_headings_says_how_else_to_read() -> None:
    with pytest.raises(InvalidInput) as caught:
        outline.find((), "Install")
    assert "query" in (caught.value.hint or "")


def test_a_long_outline_loses_its_depth_first() -> None:
    known = outline.sections(PAGE)

    def numbers(room: int, of: Sequence[Section] = known) -> list[str]:
        return [one.number for one in outline.shown(of, room, lambda _: 1)]

    assert numbers(7) == [one.number for one in known]
    assert numbers(6) == ["1", "1.1", "1.2", "2", "2.1"]
    assert numbers(3) == ["1", "1.1", "2"]
    assert numbers(1) == ["1"]
    assert numbers(0) == []
    assert numbers(3, known[1:5]) == ["1.1", "1.1.1", "1.2"]


def test_an_outline_below_one_title_shows_its_first_parts() -> None:
    known = outline.sections("# Book\n\n" + "".join(f"## Part {n}\n\nText.\n\n" for n in range(40)))
    assert [one.number for one in outline.shown(known, 10, lambda _: 1)] == ["1", *(f"1.{n}" for n in range(1, 10))]


@given(st.lists(st.sampled_from(["# A", "## B", "### C", "###### F", "text", "", "```", "Title\n=====", "| a |"]), max_size=40))
def test_sections_tile_the_page_from_the_first_heading_on(lines: list[str]) -> None:
    text = "\n".join(lines)
    known = outline.sections(text)
    top = [one for one in known if "." not in one.number]
    assert "".join(text[one.start : one.start + one.chars] for one in top) == (text[known[0].start :] if known else "")
    for one in known:
        assert outline.find(known, one.number) == one
        inner = [other for other in known if other.number.startswith(f"{one.number}.")]
        assert all(one.start < other.start and other.start + other.chars <= one.start + one.chars for other in inner)


def test_links_in_a_heading_are_their_words() -> None:
    (section,) = outline.sections("# " + "[" * 200 + "\n\nText")
    assert section.title == "[" * 200
    assert outline.sections("# See [the docs](https://a.example) now")[0].title == "See the docs now"
