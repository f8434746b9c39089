"""The depth of a question by its words: the reference cases in both languages, and no long Chinese question taken for a short one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from unit.core.depth_reference import REFERENCE
from websearch_core import profile
from websearch_core.depth import Policy, judged, policy, shipped
from websearch_core.errors import InvalidInput
from websearch_core.values import SearchQuery

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.requirement("P5-PROMPT-01")
@pytest.mark.parametrize(("question", "depth", "category"), REFERENCE)
def test_a_question_falls_into_its_depth(question: str, depth: str, category: str) -> None:
    judgement = judged(question)
    assert judgement.depth == depth
    assert not category or category in judgement.categories
    shown = {one.name for one in shipped() if not one.hidden}
    assert set(judgement.categories) <= shown | {"simple_fact"}


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


def test_a_policy_of_ones_own_is_recognised_and_told_in_the_same_way() -> None:
    bees = policy('name = "bees"\ndeep = true\nwords = ["Hive", "蜂箱"]\nrule = """Bees:\n  ask a keeper."""')
    assert bees == Policy(name="bees", deep=True, words=("hive", "蜂箱"), rule="Bees: ask a keeper.")
    mine = (*shipped(), bees)
    assert judged("where to put a hive", mine).categories == ("bees",)
    assert judged("蜂箱放哪里", mine).depth == "deep"
    assert judged("where to put a hive").depth == "fast"
    system, user = profile.request_messages(SearchQuery(query="where to put a hive"), now=NOW, policies=mine)
    assert "- Bees: ask a keeper.\n" in system
    assert '"bees"' in user


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "no TOML"),
        ('name = "x"\nwords = ["a"]\ncolour = 1', "unknown field 'colour'"),
        ('name = "Has Space"\nwords = ["a"]', "lower-case words"),
        ('words = ["a"]', "lower-case words"),
        ('name = "x"', "1 to 500 texts"),
        ('name = "x"\nwords = ["a", " "]', "none of them blank"),
        ('name = "x"\nwords = "a"', "words must be a list of texts"),
        ('name = "x"\nwords = [1]', "words must be a list of texts"),
        ('name = "x"\nwords = ["a"]\ndeep = "yes"', "deep must be true or false"),
        (f'name = "x"\nwords = ["a"]\nrule = "{"r" * 601}"', "at most 600 characters; it has 601"),
    ],
)
def test_a_policy_that_cannot_be_used_is_refused_by_the_name_of_its_field(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        policy(text)


def test_shipped_policies_are_sound() -> None:
    names = [one.name for one in shipped()]
    assert len(names) == len(set(names)) == 10
    assert all(set(one.deep_with) <= set(names) for one in shipped())
