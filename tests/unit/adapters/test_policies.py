"""A user's own policies: read beside the shipped ones; what cannot be used is said and harms no other."""

from __future__ import annotations

from pathlib import Path

from websearch_adapters import policies
from websearch_core.depth import judged, shipped


def test_a_folder_of_policies_stands_beside_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text('name = "bees"\ndeep = true\nwords = ["hive"]\n', encoding="utf-8")
    (tmp_path / "a.toml").write_text('name = "ants"\nwords = ["蚂蚁"]\n', encoding="utf-8")
    (tmp_path / "notes.md").write_text("not a policy", encoding="utf-8")
    found, problems = policies.load([str(tmp_path)])
    assert ([one.name for one in found[len(shipped()) :]], problems) == (["ants", "bees"], ())
    assert judged("a hive", found).depth == "deep"


def test_a_policy_with_a_shipped_name_takes_its_place(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('name = "comparison"\nwords = ["vis-a-vis"]\n', encoding="utf-8")
    found, problems = policies.load([str(own)])
    assert ([one.name for one in found], problems) == ([one.name for one in shipped()], ())
    assert judged("compare two plain things", found).depth == "fast"


def test_files_that_cannot_be_used_are_named_and_leave_the_others(tmp_path: Path) -> None:
    good, bad, huge = tmp_path / "good.toml", tmp_path / "bad.toml", tmp_path / "huge.toml"
    good.write_text('name = "bees"\nwords = ["hive"]\n', encoding="utf-8")
    bad.write_bytes(b'name = "\xff"')
    huge.write_bytes(b"#" * 100_001)
    found, problems = policies.load([str(one) for one in (bad, tmp_path / "absent.toml", huge, good)])
    assert [one.name for one in found][-1] == "bees"
    assert [problem.partition(": ")[2] for problem in problems] == [
        "UnicodeDecodeError",
        "FileNotFoundError",
        "larger than 100000 bytes",
    ]


def test_rules_that_go_with_every_question_are_bounded_in_number(tmp_path: Path) -> None:
    for number in range(22):
        (tmp_path / f"{number:02d}.toml").write_text(f'name = "own_{number}"\nwords = ["w{number}"]\n', encoding="utf-8")
    found, problems = policies.load([str(tmp_path)])
    assert (len(found), len(problems)) == (len(shipped()) + 20, 2)
    assert "at most 20" in problems[0]
