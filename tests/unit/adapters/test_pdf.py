"""PDF as text."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upstreams.documents import pdf
from websearch_adapters.extract.reading import Document, Reading, read
from websearch_core.errors import BadReply, Declined, EmptyResult, WebSearchError

PROSE = "The tide rises twice a day, and the pilots know the hour."


def reading(body: bytes) -> Reading:
    return read(Document(body=body, url="https://port.example/files/tide%20tables.pdf", content_type="application/pdf"))


def text_or_error(body: bytes) -> str:
    try:
        return reading(body).text
    except WebSearchError as error:
        return error.message


def test_pages_carry_their_numbers() -> None:
    found = reading(pdf([[PROSE, "It falls again."], ["Boats wait for it."]]))
    assert found.kind == "pdf"
    assert found.text == f"## Page 1\n\n{PROSE}\nIt falls again.\n\n## Page 2\n\nBoats wait for it."
    assert found.title == "tide tables.pdf"
    assert found.notes == ()


def test_bookmarks_become_headings_where_they_stand_on_the_page() -> None:
    body = pdf(
        [[PROSE, "1. Tides", "They rise.", "2. Boats", "They wait."], ["Nothing else."]],
        title="Harbour guide",
        bookmarks=[("Tides", 0), ("Boats", 0), ("Annex", 1)],
        created="D:20260305120000Z",
    )
    found = reading(body)
    assert found.text == (
        f"[page 1]\n\n{PROSE}\n\n# Tides\n\nThey rise.\n\n# Boats\n\nThey wait.\n\n[page 2]\n\n# Annex\n\nNothing else."
    )
    assert (found.title, found.published) == ("Harbour guide", "2026-03-05")


def test_what_looks_like_a_heading_is_none() -> None:
    assert "\\# not a heading" in reading(pdf([[PROSE, "# not a heading"]])).text


def test_running_heads_and_page_numbers_are_left_out() -> None:
    found = reading(pdf([["Port of Example", f"{PROSE} Entry {page}.", f"{page} of 9"] for page in range(1, 10)]))
    assert "Port of Example" not in found.text
    assert " of 9" not in found.text
    assert all(f"Entry {page}." in found.text for page in range(1, 10))


def test_a_few_pages_keep_their_first_lines() -> None:
    found = reading(pdf([["Port of Example", PROSE]] * 3))
    assert found.text.count("Port of Example") == 3


def test_pages_without_text_are_told() -> None:
    found = reading(pdf([[PROSE] * 3, [], [PROSE] * 3]))
    assert [note.code for note in found.notes] == ["pages_without_text"]
    assert found.notes[0].text.startswith("1 pages have no text")
    assert "## Page 2" not in found.text
    assert "## Page 3" in found.text


def test_a_long_document_is_read_from_the_beginning_and_says_so() -> None:
    found = reading(pdf([[PROSE]] * 2_005))
    assert found.notes[0].code == "document_cut"
    assert found.notes[0].text == "only the first 2,000 of 2,005 pages were read"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (pdf([[PROSE]], encrypted=True), Declined, "asks for a password"),
        (pdf([[], [], []]), EmptyResult, "3 pages without text"),
        (pdf([["7"], ["8"]]), EmptyResult, "2 pages without text"),
        (b"%PDF-1.7\nnothing more", BadReply, "damaged PDF"),
        (pdf([[PROSE]])[:300], BadReply, "damaged PDF"),
    ],
    ids=["locked", "scanned", "scanned with numbers", "no PDF", "cut"],
)
def test_what_cannot_be_read_is_told_as_what_it_is(body: bytes, kind: type[WebSearchError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        reading(body)
    assert type(caught.value) is kind
    assert caught.value.hint


def test_without_the_extra_the_operator_is_told_how_to_install_it() -> None:
    """In an interpreter of its own, where the library cannot be imported."""
    code = (
        "import sys; sys.modules['pypdfium2'] = None\n"
        "from websearch_adapters.extract.reading import Document, read\n"
        "from websearch_core.errors import NotConfigured\n"
        "try:\n    read(Document(body=b'%PDF-1.7', url='https://port.example/a.pdf'))\n"
        "except NotConfigured as error:\n    print(error.message, '|', error.hint)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("PDF reading is not installed | Install it with: pip install 'websearch-mcp[pdf]'.")


WHOLE = pdf([[PROSE, "1. Tides"], [PROSE]], title="T", bookmarks=[("Tides", 0)])


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=30))
@settings(max_examples=60)
def test_no_damage_leads_to_anything_but_a_text_or_a_typed_error(changes: list[tuple[int, int]]) -> None:
    body = bytearray(WHOLE)
    for place, value in changes:
        body[place] = value
    assert text_or_error(bytes(body)).strip()
