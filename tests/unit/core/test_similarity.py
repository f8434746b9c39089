"""One text twice is known again; two texts on one subject are not taken for one."""

from __future__ import annotations

import pytest

from websearch_core.similarity import MAX_CHARS, alike, distance, sketch

STORY = (
    "The council said on Monday that the bridge will be closed for three weeks while its deck is replaced. Buses take the old "
    "road along the river, and walkers may cross by the mill. The works were delayed twice by floods in the spring."
)
CHINESE = "市政府周一宣布，大桥将封闭三周以更换桥面，公交车改走沿河的旧路，行人可以从磨坊旁边通过，工程因春季洪水两次推迟。"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (STORY, STORY),
        (STORY, f"Agency report. {STORY}"),
        (STORY, STORY.replace("walkers", "cyclists")),
        (STORY, STORY.upper()),
        (CHINESE, f"本报讯：{CHINESE}"),
        (CHINESE, CHINESE.replace("磨坊", "车站")),
    ],
)
@pytest.mark.requirement("OURS-RANK-02")
def test_a_copy_with_a_line_more_or_a_word_changed_is_the_same_text(one: str, other: str) -> None:
    assert alike(sketch(one), sketch(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (STORY, "Bees keep the hives at an even warmth all winter by trembling, and eat the honey that they stored in summer."),
        (CHINESE, "蜜蜂整个冬天都靠颤动来保持蜂巢的温度，并吃掉夏天储存下来的蜂蜜，养蜂人只在春天打开蜂箱检查。"),
        (f"{STORY} It cost 3 million.", f"{STORY} It cost 4 million."),
        ("Notes on the bridge, part a.", "Notes on the bridge, part b."),
        ("", ""),
    ],
)
def test_other_texts_other_figures_and_texts_too_short_to_judge_are_not(one: str, other: str) -> None:
    assert not alike(sketch(one), sketch(other))


def test_bits_of_like_texts_are_near_and_of_unlike_ones_far() -> None:
    near = distance(sketch(STORY), sketch(STORY.replace("walkers", "cyclists")))
    far = distance(sketch(STORY), sketch(CHINESE))
    assert near < 16 < 20 < far


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    long = " ".join(f"word{number}" for number in range(MAX_CHARS))
    assert sketch(long) == sketch(long[:MAX_CHARS])
