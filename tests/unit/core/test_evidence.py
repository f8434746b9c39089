"""A quote is a quote: near misses, swaps, denials and plans are none."""

from __future__ import annotations

import pytest

from websearch_core.evidence import ReadPage, claims, summary, weakest
from websearch_core.values import Evidence

PAGE = """# The Halden Bridge

The Halden Bridge reopened to traffic on 3 May 2026, said the [council](https://x.example/c).
Its deck is **1.2 km** long. The works did not disturb the ferry.
The Norby Tunnel, unlike the Alder Tunnel, closed on 7 June 2026.
Norby beats Halden in ferry traffic. The museum counted 1.240.000 visitors last year.
The old signal box was expected to reopen on 9 July 2026.
Entry costs 5 euros for adults and 3 euros for children.
"""
CHINESE = "城石大桥于2026年5月3日恢复通车。成人每日服用昌和青片的最大剂量为205毫克。王丽敏担任城石集团的首席执行官。"


@pytest.mark.parametrize(
    ("claim", "state"),
    [
        ("The Halden Bridge reopened to traffic on 3 May 2026.", "quoted"),
        ("the Halden Bridge reopened to traffic on May 3, 2026", "quoted"),
        ("On 3 May 2026 the Halden Bridge reopened to traffic", "quoted"),
        ("Its deck is 1,200 m long", "quoted"),
        ("The museum counted 1.24 million visitors last year.", "quoted"),
        ("The Halden Bridge has reopened to cars and other traffic since 3 May 2026.", "supports"),
        ("The Halden Bridge reopened to traffic on 4 May 2026.", "contradicted"),
        ("The museum counted 1,250,000 visitors last year.", "contradicted"),
        ("The Halder Bridge reopened to traffic on 3 May 2026.", "listed"),
        ("The Halden Bridge closed to traffic on 3 May 2026.", "supports"),
        ("The Alder Tunnel closed on 7 June 2026.", "listed"),
        ("Halden beats Norby in ferry traffic.", "supports"),
        ("The works did disturb the ferry.", "listed"),
        ("The old signal box reopened on 9 July 2026.", "listed"),
        ("Entry costs 3 euros for adults.", "supports"),
        ("Nothing of the kind was ever written here.", "listed"),
        ("Yes.", "listed"),
    ],
)
@pytest.mark.requirement("OURS-EVIDENCE-01")
def test_what_the_page_says_of_a_claim(claim: str, state: Evidence) -> None:
    assert ReadPage(PAGE, title="The Halden Bridge").on(claim).state == state


@pytest.mark.parametrize(
    ("claim", "state"),
    [
        ("城石大桥于2026年5月3日恢复通车。", "quoted"),
        ("城石大桥于2026年5月4日恢复通车。", "contradicted"),
        ("城山大桥于2026年5月3日恢复通车。", "listed"),
        ("城石集团的首席执行官是赵丽敏。", "listed"),
        ("成人每日服用昌达青片的最大剂量为205毫克。", "listed"),
        ("城石大桥预计于2026年5月3日恢复通车。", "listed"),
    ],
)
def test_chinese_is_judged_by_its_characters(claim: str, state: Evidence) -> None:
    assert ReadPage(CHINESE).on(claim).state == state


def test_a_contradiction_names_the_pages_figure() -> None:
    finding = ReadPage(PAGE).on("The Halden Bridge reopened to traffic on 4 May 2026.")
    assert finding.figure == "3 May 2026"


def test_claims_are_what_stands_before_each_link() -> None:
    answer = (
        "Intro without a link. The bridge reopened on 3 May.[[1]](https://a.example/1) It cost 4 million euros "
        "[[2]](https://b.example/2)[[3]](https://c.example/3). The [town hall](https://d.example/4) paid a third of it. "
        "`[x](https://code.example)` ![i](https://image.example/i.png)"
    )
    assert [(claim.text, claim.url) for claim in claims(answer)] == [
        ("The bridge reopened on 3 May.", "https://a.example/1"),
        ("It cost 4 million euros", "https://b.example/2"),
        ("It cost 4 million euros", "https://c.example/3"),
        ("The town hall paid a third of it.", "https://d.example/4"),
    ]


def test_two_claims_of_one_sentence_are_told_apart() -> None:
    answer = (
        "The bridge reopened on 3 May [source](https://a.example) and the tunnel closed on 4 May [source](https://b.example)."
    )
    assert [claim.text for claim in claims(answer)] == ["The bridge reopened on 3 May", "and the tunnel closed on 4 May"]


def test_a_source_is_as_good_as_its_weakest_claim() -> None:
    assert weakest(["quoted", "supports"]) == "supports"
    assert weakest(["quoted", "contradicted", "listed"]) == "contradicted"
    assert weakest([]) == "cited"


def test_the_summary_is_one_line() -> None:
    states: list[Evidence] = ["quoted", "quoted", "contradicted", "unreachable"]
    assert summary(states) == "Evidence: 4 citations: 2 quoted, 1 page unreachable, 1 contradicted."
    assert summary(["supports"]) == "Evidence: 1 citation: 1 supported."
