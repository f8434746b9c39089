"""What the built-in reader keeps of documentation, on pages where every block, cell and link is known; floors, not exact scores."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections import Counter

import pytest

from floors.manuals import GENERATORS, Manual, manuals
from websearch_adapters.extract.html import read_html

PAGES = tuple(manuals())
DIGEST = "a66ac98b762e9128"
"""Of all pages: a floor means nothing when the pages below it change."""
FLOORS = {"f1": 0.97, "code": 0.97, "language": 0.98, "tables": 0.96, "headings": 0.975, "links": 0.97, "inline": 0.99}
_FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]\(([^()\s]*)\)")
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| (.*) \|$", re.MULTILINE)
_CODE = re.compile(r"(`+) ?(.+?) ?\1")


def read(page: Manual) -> str:
    return read_html(page.html, f"https://docs.example/{page.name}").markdown


def kept(wanted: list[object], got: list[object]) -> tuple[int, int]:
    """How many of the wanted came, each as often as it was wanted, and how many were wanted."""
    return sum((Counter(wanted) & Counter(got)).values()), len(wanted)


def plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def measures(page: Manual) -> dict[str, tuple[int, int]]:
    """Measure → (kept, wanted)."""
    text = read(page)
    blocks = [(match[2], match[3]) for match in _FENCE.finditer(text)]
    rest = _FENCE.sub("", text)
    cells = [tuple(plain(cell.strip().strip("`")) for cell in re.split(r"(?<!\\) \| ", row)) for row in _ROW.findall(rest)]
    inline = [match[2] for match in _CODE.finditer(re.sub(r"^\|.*$", "", rest, flags=re.MULTILINE))]
    return {
        "code": kept([code for _, code in page.code], [code for _, code in blocks]),
        "language": kept(list(page.code), [(language, code) for language, code in blocks]),
        "tables": kept(list(page.rows), list(cells)),
        "headings": kept(list(page.headings), [(len(marks), plain(words)) for marks, words in _HEADING.findall(rest)]),
        "links": kept(list(page.links), [(plain(words), address) for words, address in _LINK.findall(rest)]),
        "inline": kept(list(page.inline), inline),
    }


def word_f1(page: Manual) -> float:
    """Balance of precision and recall over the words of the page, code included."""
    parts = [*page.prose, *(code for _, code in page.code), *(cell for row in page.rows for cell in row)]
    parts += [words for _, words in page.headings] + [words for words, _ in page.links] + list(page.inline)
    wanted = Counter(re.findall(r"\w+", " ".join([*parts, *(["See or call by hand"] * len(page.links))]).lower()))
    got = Counter(re.findall(r"\w+", re.sub(r"\]\([^)]*\)|^```.*$", " ", read(page), flags=re.MULTILINE).lower()))
    return 2 * sum((wanted & got).values()) / (sum(wanted.values()) + sum(got.values()))


def test_the_pages_are_those_on_which_the_floors_stand() -> None:
    assert len(PAGES) == 2 * len(GENERATORS) == 24
    assert hashlib.sha256("\n".join(page.html for page in PAGES).encode()).hexdigest()[:16] == DIGEST


@pytest.mark.parametrize("measure", [name for name in FLOORS if name != "f1"])
def test_structure_is_kept_at_least_as_well_as_the_floor(measure: str) -> None:
    counts = {page.name: measures(page)[measure] for page in PAGES}
    share = sum(got for got, _ in counts.values()) / sum(wanted for _, wanted in counts.values())
    assert share >= FLOORS[measure], {name: count for name, count in counts.items() if count[0] < count[1]}


def test_the_words_are_those_of_the_content() -> None:
    scores = {page.name: word_f1(page) for page in PAGES}
    assert sum(scores.values()) / len(scores) >= FLOORS["f1"], {name: round(score, 3) for name, score in scores.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_of_the_frame_is_in_the_text(page: Manual) -> None:
    text = read(page)
    assert [noise for noise in page.noise if noise in text] == []


@pytest.mark.parametrize("measure", [name for name in FLOORS if name != "f1"])
def test_a_page_without_its_structure_falls_below_the_floor(measure: str) -> None:
    """The measures see what is lost: the same words without their elements."""
    page = PAGES[0]
    bare = dataclasses.replace(page, html=re.sub(r"</?(?:pre|code|table|tr|h\d|a)\b[^>]*>", " ", page.html))
    got, wanted = measures(bare)[measure]
    assert got < FLOORS[measure] * wanted
