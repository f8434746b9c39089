"""Splitting a page and reading its words."""

from __future__ import annotations

import pytest

from websearch_core.passages import first_heading, searchable, split, stretch

PROSE = "The ferry crosses the river every hour, also in winter, unless the water stands too high for it. "
FENCE = "```python\n" + "x = 1\n\n# not a heading\n" * 100 + "```\n"
TABLE = "| name | size |\n| --- | --- |\n" + "| row | 1 |\n" * 200


def test_a_short_page_is_one_passage() -> None:
    (only,) = split("Just a line.")
    assert (only.heading, only.text) == ("", "Just a line.")


def test_an_empty_page_has_no_passage() -> None:
    assert split("") == ()


def test_passages_keep_the_path_of_their_headings() -> None:
    text = f"# Ferries\n\n{PROSE * 6}\n\n## Winter\n\n{PROSE * 6}\n\n### Ice\n\n{PROSE * 6}\n\n## Summer\n\n{PROSE * 6}\n"
    assert [piece.heading for piece in split(text)] == [
        "Ferries",
        "Ferries › Winter",
        "Ferries › Winter › Ice",
        "Ferries › Summer",
    ]


def test_a_passage_with_several_short_sections_is_named_by_what_they_share() -> None:
    (only,) = split("# Ferries\n\n## Winter\n\nSlow.\n\n## Summer\n\nFast.\n")
    assert only.heading == "Ferries"


def test_a_heading_is_never_parted_from_what_follows_it() -> None:
    text = f"{PROSE * 12}\n\n# Winter\n\n{PROSE * 12}\n"
    assert [piece.text.startswith("# Winter\n\nThe ferry") for piece in split(text)] == [False, True]


def test_underlined_headings_count() -> None:
    text = f"Ferries\n=======\n\n{PROSE * 6}\n\nWinter\n------\n\n{PROSE * 6}\n"
    assert [piece.heading for piece in split(text)] == ["Ferries", "Ferries › Winter"]


def test_long_prose_is_cut_at_paragraphs_between_800_and_1200_characters() -> None:
    paragraph = PROSE * 3 + "\n\n"
    pieces = split(paragraph * 20)
    assert all(800 <= len(piece.text) <= 1_200 for piece in pieces[:-1])
    assert all(piece.text.endswith("\n\n") for piece in pieces)


def test_a_paragraph_without_end_is_cut_at_sentences() -> None:
    pieces = split(PROSE * 50)
    assert len(pieces) > 3
    assert all(piece.text.endswith("for it. ") for piece in pieces)
    assert all(len(piece.text) <= 1_200 for piece in pieces)


def test_a_text_without_any_place_to_cut_is_cut_all_the_same() -> None:
    assert [len(piece.text) for piece in split("x" * 3_000)] == [1_200, 1_200, 600]


@pytest.mark.parametrize("solid", [FENCE, TABLE, FENCE.replace("```", "~~~~")], ids=["fence", "table", "tildes"])
def test_nothing_is_cut_inside_a_code_fence_or_a_table(solid: str) -> None:
    text = f"{PROSE * 4}\n\n{solid}\n{PROSE * 4}\n"
    pieces = split(text)
    assert len(pieces) > 1
    assert any(solid in piece.text for piece in pieces)


def test_comments_in_code_are_no_headings() -> None:
    assert {piece.heading for piece in split(f"# Real\n\n{FENCE}\n{PROSE * 20}")} == {"Real"}


def test_a_fence_that_nothing_closes_swallows_nothing() -> None:
    text = f"```\n\n{PROSE * 6}\n\n# After\n\n{PROSE * 6}\n"
    assert split(text)[-1].heading == "After"


def test_front_matter_is_no_heading() -> None:
    text = "---\ntitle: Ferries\n---\n\n# Boats\n\nText.\n"
    assert first_heading(text) == "Boats"
    assert [piece.heading for piece in split(text + PROSE * 20)] == ["", "Boats", "Boats"]


def test_first_heading_is_empty_where_there_is_none() -> None:
    assert first_heading("No heading\nat all") == ""


def test_a_rule_below_a_list_makes_no_heading_of_the_item() -> None:
    assert first_heading("- item\n---\n") == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, WORLD!", "hello world"),
        ("snake_case", "snake_case snake case"),
        ("parseHTMLPage", "parsehtmlpage parse html page"),
        ("os.path.join", "os.path.join os path join"),
        ("End of it.", "end of it"),
        ("Straße ﬁne Ｗｉｄｅ", "strasse fine wide"),
        ("Café Zürich", "cafe zurich"),
        ("数据库", "数据 据库 库"),
        ("猫", "猫"),
        ("Python入门2024年", "python 入门 门 2024 年"),
        ("ｶﾀｶﾅ", "カタ タカ カナ ナ"),
        ("한국어", "한국 국어 어"),
        ("हिन्दी", "हिन्दी"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zerowidth"),
        ("💥 !? — …", ""),
    ],
)
def test_words_are_kept_as_the_index_wants_them(text: str, words: str) -> None:
    assert searchable(text) == words


def test_a_word_without_end_is_cut() -> None:
    assert searchable("y" * 10_000) == "y" * 64


def test_a_stretch_of_a_short_text_is_the_text() -> None:
    assert stretch("short", "anything") == "short"


def test_the_stretch_of_a_long_table_holds_the_lines_that_match() -> None:
    table = "| a | b |\n| - | - |\n" + "".join(f"| key{number} | value |\n" for number in range(500))
    found = stretch(table, "what is key417")
    assert "| key417 |" in found
    assert found in table
    assert len(found) <= 1_200


def test_a_stretch_of_one_endless_line_is_its_beginning() -> None:
    assert stretch("z" * 5_000, "z") == "z" * 1_200


def test_long_runs_of_blanks_and_dots_are_read_once() -> None:
    assert first_heading("| a |\n-" + " " * 150_000 + "x\n\n# Title") == "Title"
    assert len(split("a" + "." * 150_000 + "b")) > 1
