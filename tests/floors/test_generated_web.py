"""The generated web is what the figures say it is, and its measures can fail."""

from __future__ import annotations

import html
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
web: Any = import_module("quality.web")
finder: Any = import_module("quality.finder")
host: Any = import_module("quality.host")
metrics: Any = import_module("quality.metrics")
stand_in: Any = import_module("quality.stand_in")
survival: Any = import_module("quality.survival")
injections: Any = import_module("quality.injections")


@pytest.fixture(scope="module")
def world() -> Any:
    return web.build(3)


def test_there_are_two_thousand_pages_in_six_languages_and_many_charsets(world: Any) -> None:
    documents = world.documents.values()
    assert len(documents) >= 2_000
    assert {document.language for document in documents} == {"en", "de", "fr", "es", "zh", "ja"}
    assert {"utf-8", "gbk", "gb18030", "shift_jis", "euc_jp", "iso-8859-1", "windows-1252"} <= {one.charset for one in documents}
    assert {"official", "copy", "old", "rumour", "namesake", "bait", "injected", "refused"} <= {one.role for one in documents}
    for document in documents:
        assert document.title in html.unescape(document.body().decode(document.charset))


def test_the_same_seed_makes_the_same_web(world: Any) -> None:
    again, other = web.build(3, 12), web.build(4, 12)
    assert again.questions == web.build(3, 12).questions
    assert {url: one.body() for url, one in again.documents.items()} == {
        url: one.body() for url, one in web.build(3, 12).documents.items()
    }
    assert again.questions != other.questions


def test_each_question_has_its_page_and_its_sentence(world: Any) -> None:
    for question in world.questions:
        pages = [one for one in world.documents.values() if one.question == question.number]
        (official,) = [one for one in pages if one.role == "official"]
        assert question.sentences[0] in official.sentences
        assert stand_in.is_right(question, stand_in.answered(question, official.text))
        assert not set(question.false_sentences) & set(official.sentences)


def test_the_reader_answers_from_what_it_is_given_alone(world: Any) -> None:
    question = world.questions[0]
    assert stand_in.answered(question, "Nothing of the kind.").text == stand_in.NOT_FOUND
    (rumour,) = [one for one in world.documents.values() if one.question == 0 and one.role == "rumour"]
    assert not stand_in.is_right(question, stand_in.answered(question, rumour.text))


def test_a_perfect_list_gains_all_and_copies_gain_nothing(world: Any) -> None:
    question = world.questions[0]
    pages = [one for one in world.documents.values() if one.question == 0 and one.grade]
    best = sorted(pages, key=lambda one: -one.grade)
    unique = list({one.cluster: one for one in reversed(best)}.values())
    assert metrics.ndcg(sorted(unique, key=lambda one: -one.grade), question, world) == pytest.approx(1.0)
    assert metrics.ndcg([], question, world) == 0.0
    copies = [one for one in pages if one.role in {"press", "copy"}]
    assert metrics.duplicate_rate(copies) == pytest.approx(1 - 1 / len(copies))


def test_bounds_hold_the_mean_and_widen_with_the_spread() -> None:
    narrow, wide = metrics.interval([0.5] * 50), metrics.interval([0.0, 1.0] * 25)
    assert (narrow.low, narrow.mean, narrow.high) == (0.5, 0.5, 0.5)
    assert wide.low < wide.mean < wide.high
    assert metrics.interval([1.0] * 9).above(narrow)
    assert not wide.above(narrow)


def test_the_finder_finds_twenty_pages_at_most_each_once(world: Any) -> None:
    small = web.build(3, 24)
    hits = finder.Finder(small).search(small.questions[4].text)
    urls = [hit.document.url for hit in hits]
    assert 0 < len(urls) == len(set(urls)) <= 20
    assert any(hit.document.question == 4 for hit in hits[:5])


def test_an_order_outside_a_fence_is_seen_and_inside_is_not() -> None:
    forged = injections.injections(1)[0]
    word = injections.canary(0)
    fenced = f'<untrusted id="{survival.NONCE}" from="x">\n{word}\n{survival.CLOSE}\nafter'
    assert word in survival._unfenced(f"before {forged}")
    assert survival._unfenced(fenced).strip() == "after"
    assert word in survival._without_values(f"no json: {word}")
    assert survival._without_values(f'{{"query": "{word}"}}') == "query"


@pytest.mark.requirement("OURS-EVIDENCE-04")
def test_no_forged_fence_and_no_order_leaves_its_place() -> None:
    assert len(set(injections.injections(200))) == 200
    assert survival.injection_escapes(200) == 0
