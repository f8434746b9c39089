"""Agreement, match, place and age decide; copies are folded, hosts take turns."""

from __future__ import annotations

import dataclasses
from datetime import date

import pytest

from websearch_core.ranking import Ranking, SourceClass, Weights
from websearch_core.values import Source

TODAY = date(2026, 11, 30)
QUESTION = "When did the Halden Bridge reopen to traffic?"
STORY = (
    "Engineers replaced the deck in eleven weeks, working at night so that boats could pass by day. Two floods held them up, "
    "and the town paid a third of the cost. Shops on both banks had asked for the work to be done in winter."
)


def page(url: str, title: str = "", text: str = "", published: str = "") -> Source:
    return Source(url=url, title=title, description=text, published=published, provider="tavily")


def order(sources: list[Source], question: str = QUESTION, **given: object) -> list[str]:
    return [source.url for source in Ranking()([sources], question, today=TODAY, **given).sources]  # type: ignore[arg-type] # keywords


@pytest.mark.requirement("OURS-RANK-01")
def test_a_page_that_two_finders_bring_comes_before_those_that_one_brings() -> None:
    both, one, other = (page(f"https://{name}.example/", "Halden Bridge") for name in ("both", "one", "other"))
    found = Ranking()([[one, both], [other, both]], QUESTION, today=TODAY)
    assert found.sources[0].url == "https://both.example/"


@pytest.mark.requirement("OURS-RANK-01")
def test_the_page_that_answers_comes_before_pages_that_repeat_the_question() -> None:
    bait = page("https://bait.example/", QUESTION, f"{QUESTION} People ask it often. {QUESTION}")
    answer = page("https://answer.example/", "Halden Bridge", "The Halden Bridge reopened to traffic on 3 May 2026.")
    assert order([bait, bait, answer])[0] == "https://answer.example/"


@pytest.mark.parametrize("figure", ["3.5 years", "8:30 on 3.5.2026", "9.30, says town.example"])
def test_a_point_inside_of_a_word_or_figure_ends_no_sentence(figure: str) -> None:
    other = page("https://a.example/", "", "The Halden Bridge is long.")
    whole = page("https://b.example/", "", f"The Halden Bridge did reopen to traffic after {figure}.")
    assert order([other, whole])[0] == "https://b.example/"


def test_chinese_is_matched_by_its_characters() -> None:
    other = page("https://a.example/", "石云大桥", "石云大桥全长三百米。")
    right = page("https://b.example/", "城石大桥", "城石大桥于2026年5月3日恢复通车。")
    assert order([other, right], "城石大桥什么时候恢复通车？")[0] == "https://b.example/"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.halden.gov.example/a", "official"),
        ("https://www.gov.uk/x", "official"),
        ("https://www.service.gouv.fr/", "official"),
        ("https://www.mlit.go.jp/", "official"),
        ("https://www.rfc-editor.org/rfc/rfc9110", "standard"),
        ("https://arxiv.org/abs/1706.03762", "paper"),
        ("https://docs.python.org/3/", "maintainer"),
        ("https://github.com/python/cpython/releases", "maintainer"),
        ("https://www.morning-herald.example/", "press"),
        ("https://news.example.org/", "press"),
        ("https://forum.example.org/t/1", "forum"),
        ("https://stackoverflow.com/q/1", "forum"),
        ("https://notgov.example/", "other"),
        ("file:///home/me/notes.md", "other"),
    ],
)
def test_a_host_tells_by_its_labels_what_it_is(url: str, expected: SourceClass) -> None:
    assert Ranking().class_of(url) == expected


def test_the_operators_own_hosts_stand_above_the_labels_and_the_longest_wins() -> None:
    ranking = Ranking(hosts={"example.org": "paper", "forum.example.org": "official"})
    assert ranking.class_of("https://forum.example.org/t/1") == "official"
    assert ranking.class_of("https://news.example.org/") == "paper"
    assert ranking.class_of("https://notexample.org/") == "other"


@pytest.mark.requirement("OURS-RANK-03")
def test_of_two_like_pages_the_official_one_and_then_the_newer_one_comes_first() -> None:
    text = "The Halden Bridge reopened to traffic."
    shop = page("https://shop.example/", "Halden Bridge", text, "2026-05-03")
    official = page("https://www.halden.gov.example/", "Halden Bridge", text, "2026-05-03")
    old = page("https://old.example/", "Halden Bridge", text, "2019-05-03")
    assert order([old, shop, official]) == ["https://www.halden.gov.example/", "https://shop.example/", "https://old.example/"]


def test_where_the_question_asks_for_now_age_counts_for_more() -> None:
    old = page("https://www.tool.gov.example/", "Tool", "The version of Tool is 1.0.", "2020-01-01")
    new = page("https://tool.example/", "Tool", "The version of Tool is 2.0.", "2026-11-20")
    weights = Weights(fresh_age=3.0)
    ranking = Ranking(weights=weights)
    asked = ranking([[old, new]], "What is the latest version of Tool?", today=TODAY)
    still = ranking([[old, new]], "What is the version of Tool?", today=TODAY)
    fresh = ranking([[old, new]], "What is the version of Tool?", today=TODAY, fresh=True)
    assert [found.sources[0].url for found in (asked, still, fresh)] == [new.url, old.url, new.url]


@pytest.mark.requirement("OURS-RANK-02")
def test_a_syndicated_copy_is_folded_and_what_it_knows_is_kept() -> None:
    first = page("https://a.example/1", "", STORY)
    copy = page("https://b.example/2", "Bridge open again", f"By our agency. {STORY}", "2026-05-03")
    found = Ranking()([[first, copy]], QUESTION, today=TODAY)
    (one,) = found.sources
    assert (found.folded, one.title, one.published) == (1, "Bridge open again", "2026-05-03")


def test_the_same_page_by_http_and_https_is_one() -> None:
    assert len(order([page("https://a.example/x"), page("http://a.example/x")])) == 1


def test_pages_of_one_host_with_other_titles_are_made_of_one_template_and_stay() -> None:
    first, other = (page(f"https://a.example/{name}", f"Notes {name}", f"The notes {name}. {STORY}") for name in ("a", "b"))
    printed = dataclasses.replace(first, url="https://a.example/a?print=1")
    assert sorted(order([first, other, printed])) == ["https://a.example/a", "https://a.example/b"]


def test_one_long_headline_within_a_week_is_one_story_and_later_another() -> None:
    headline = "Halden Bridge opens after eleven weeks of night work by the town"
    first = page("https://a.example/", headline, "Boats pass by day.", "2026-05-03")
    copy = page("https://b.example/", headline, "Shops are glad.", "2026-05-05")
    later = page("https://c.example/", headline, "Again this year.", "2026-11-05")
    assert sorted(order([first, copy, later])) == ["https://a.example/", "https://c.example/"]


def test_the_question_as_a_headline_joins_nobody() -> None:
    first, other = (page(f"https://{host}.example/", QUESTION, f"{host} says little.") for host in ("a", "b"))
    assert len(order([first, other])) == 2


@pytest.mark.requirement("OURS-RANK-03")
def test_hosts_take_turns_where_pages_are_nearly_as_good() -> None:
    same = [page(f"https://a.example/{number}", "Halden Bridge", f"The Halden Bridge, part {number}.") for number in range(3)]
    other = page("https://b.example/", "Halden Bridge", "The Halden Bridge, another view.")
    assert order([*same, other]).index("https://b.example/") < 3


def test_nothing_found_stays_nothing_and_the_order_never_changes_by_itself() -> None:
    assert order([]) == []
    sources = [page(f"https://{number}.example/", f"Bridge {number}", STORY[number * 9 :]) for number in range(9)]
    assert order(sources) == order(sources)


def test_a_limit_cuts_the_end_off() -> None:
    sources = [page(f"https://{number}.example/", "Halden Bridge") for number in range(5)]
    whole = Ranking()([sources], QUESTION, today=TODAY).sources
    assert Ranking()([sources], QUESTION, today=TODAY, limit=2).sources == whole[:2]


def test_contents_are_compared_where_pages_were_read() -> None:
    first = dataclasses.replace(page("https://a.example/", "One"), content=STORY)
    second = dataclasses.replace(page("https://b.example/", "Two"), content=STORY)
    assert Ranking()([[first, second]], QUESTION, today=TODAY).folded == 1
