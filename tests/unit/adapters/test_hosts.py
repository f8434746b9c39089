"""Hosts for ranking come from data files; the operator's add to the product's."""

from __future__ import annotations

from pathlib import Path

import pytest

from websearch_adapters import hosts
from websearch_core.ranking import Ranking


@pytest.mark.requirement("OURS-RANK-04")
def test_the_operators_file_adds_and_overrules(tmp_path: Path) -> None:
    own = tmp_path / "hosts.toml"
    own.write_text('official = ["www.Town.example", "medium.com"]\n', encoding="utf-8")
    ranking = Ranking(hosts=hosts.read([hosts.BUILT_IN, own]))
    assert ranking.class_of("https://town.example/a") == "official"
    assert ranking.class_of("https://medium.com/a") == "official"
    assert ranking.class_of("https://stats.who.int/a") == "official"
    assert ranking.class_of("https://old.reddit.com/r/a") == "forum"


def test_no_file_is_no_fault(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert hosts.read([tmp_path / "none.toml"]) == {}
    assert caplog.messages == []


@pytest.mark.parametrize(
    "text",
    [
        "official = [",
        'good = ["a.example"]',
        'official = "a.example"',
        "official = [3]",
        "official = ['" + "a" * 1_100_000 + "']",
    ],
)
def test_what_cannot_be_used_is_told_and_left_out(text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text(text, encoding="utf-8")
    assert hosts.read([file]) == {}
    assert str(file) in caplog.text


def test_the_products_own_file_is_sound(caplog: pytest.LogCaptureFixture) -> None:
    assert len(hosts.read()) > 100
    assert caplog.messages == []
