"""How well the built-in reader keeps content and drops the rest, on pages whose content is known; floors, not exact scores."""

from __future__ import annotations

import re
from collections import Counter
from statistics import mean

import pytest

from floors.pages import KINDS, Sample, samples
from websearch_adapters.extract.html import read_html

SAMPLES = tuple(samples())
FLOORS = {
    "article": 0.97, "forum": 0.90, "product": 0.90, "service": 0.93, "listing": 0.90, "collection": 0.90, "documentation": 0.90,
}  # fmt: skip
"""Least mean word F1 by kind of page."""


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def read(sample: Sample) -> str:
    return read_html(sample.html, f"https://site.example/{sample.name}").markdown


def word_f1(sample: Sample) -> float:
    """Balance of precision and recall over the words of the page's content."""
    wanted, got = words(" ".join(sample.content)), words(re.sub(r"\]\([^)]*\)", "]", read(sample)))
    both = sum((wanted & got).values())
    return 2 * both / (sum(wanted.values()) + sum(got.values()))


def test_there_are_pages_of_every_kind() -> None:
    assert {sample.kind for sample in SAMPLES} == set(KINDS) == set(FLOORS)
    assert len(SAMPLES) >= 30
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES)


@pytest.mark.parametrize("kind", FLOORS)
def test_each_kind_of_page_is_read_well(kind: str) -> None:
    scores = {sample.name: round(word_f1(sample), 3) for sample in SAMPLES if sample.kind == kind}
    assert mean(scores.values()) >= FLOORS[kind], scores


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_most_of_the_content_is_kept_and_the_frame_is_not(sample: Sample) -> None:
    text = re.sub(r"[\\*]", "", read(sample))
    kept = [part for part in sample.content if part in text]
    assert len(kept) >= 0.9 * len(sample.content)
    assert [noise for noise in sample.noise if noise in text] == []


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.code], ids=lambda sample: sample.name)
def test_code_and_tables_survive_as_they_are(sample: Sample) -> None:
    text = read(sample)
    assert all(f"```python\n{code}\n```" in text for code in sample.code)
    assert text.count("| --- | --- |") == sample.tables
