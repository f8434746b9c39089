"""The depth of a question by its words: the reference cases in both languages, and no long Chinese question taken for a short one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from websearch_core import profile
from websearch_core.depth import CATEGORIES, judged
from websearch_core.values import SearchQuery

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.requirement("P5-PROMPT-01")
@pytest.mark.parametrize(
    ("question", "depth", "category"),
    [
        ("What is the capital of France?", "fast", "simple_fact"),
        ("法国的首都是哪里？", "fast", "simple_fact"),
        ("pathlib official docs", "fast", "single_official_document"),
        ("pathlib 官方文档", "fast", "single_official_document"),
        ("GitHub SDK migration error after the upgrade", "deep", "software_and_github"),
        ("GitHub SDK 迁移报错怎么办", "deep", "software_and_github"),
        ("squat with a knee injury while on a diet", "deep", "health_fitness_nutrition"),
        ("膝盖受伤还能深蹲吗，饮食怎么安排", "deep", "health_fitness_nutrition"),
        ("compare the crash tests of two family cars", "deep", "vehicle_safety"),
        ("对比两款车的碰撞测试", "deep", "vehicle_safety"),
        ("an obscure claim about tides, with counterexamples", "deep", "niche_or_evidence_sparse"),
        ("should I take out a mortgage at this interest rate", "deep", "financial_safety"),
        ("latest release of a Python library", "deep", "time_sensitive"),
        ("How do I write a very plain letter to the owner of the small shop across the street from my house", "standard", ""),
        ("请问如何给住在街对面的那家小店的老板写一封语气平和内容简短而且不失礼貌的感谢信并且亲手送到他手里", "standard", ""),
        ("current weather in Oslo", "standard", "time_sensitive"),
    ],
)
def test_a_question_falls_into_its_depth(question: str, depth: str, category: str) -> None:
    judgement = judged(question)
    assert judgement.depth == depth
    assert not category or category in judgement.categories
    assert set(judgement.categories) <= set(CATEGORIES)


def test_words_are_whole_words_and_the_caller_has_the_last_word() -> None:
    assert judged("What is an apiary?").categories == ("simple_fact",)
    assert judged("Who wrote the novel Emma, and when?").depth == "fast"
    assert profile.resolved_depth(SearchQuery(query="capital of France", depth="deep")) == "deep"
    assert profile.resolved_depth(SearchQuery(query="capital of France")) == "fast"


def test_the_request_tells_categories_checks_and_freshness() -> None:
    _, message = profile.request_messages(SearchQuery(query="current latest stable version of Django, compared"), now=NOW)
    for part in (
        '"depth": "deep"',
        '"freshness_check": true',
        '"counterevidence_check": true',
        '"cross_validation": true',
        '"comparison"',
    ):
        assert part in message
