"""What an installation brings: under which licences, and how much of it the keyless core needs."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def licences() -> dict[str, Any]:
    return runpy.run_path(str(BENCH / "licences.py"))


def test_nothing_is_under_the_gpl_and_every_licence_is_known(licences: dict[str, Any]) -> None:
    kinds = {one.name: one.kind for one in licences["packages"]()}
    assert set(kinds.values()) <= {"permissive", "weak copyleft"}
    assert [name for name, kind in kinds.items() if kind == "weak copyleft"] == ["certifi"]
    assert licences["copyleft_runtime"]() == 0


def test_the_walk_finds_what_our_packages_need_in_turn(licences: dict[str, Any]) -> None:
    brought = {one.name: one.brought_by for one in licences["packages"]()}
    assert brought["pydantic-core"] == brought["h11"] == brought["socksio"] == brought["pywin32"] == ()
    assert brought["pypdfium2"] == ("pdf",)
    assert brought["redis"] == ("redis",)
    assert not {"pytest", "hypothesis", "mypy", "websearch-mcp"} & set(brought)


@pytest.mark.parametrize(
    ("licence", "kind"),
    [
        ("MIT", "permissive"),
        ("BSD-3-Clause AND Apache-2.0", "permissive"),
        ("MPL-2.0 AND MIT", "weak copyleft"),
        ("LGPL-2.1-or-later", "weak copyleft"),
        ("GNU Lesser General Public License v3 (LGPLv3)", "weak copyleft"),
        ("GPL-3.0-or-later", "strong copyleft"),
        ("GPLv2", "strong copyleft"),
        ("GNU General Public License v3 (GPLv3)", "strong copyleft"),
        ("AGPL-3.0-only", "strong copyleft"),
        ("GNU Affero General Public License v3", "strong copyleft"),
        ("MIT AND GPL-3.0-only", "strong copyleft"),
        ("MIT OR GPL-3.0-only", "permissive"),
        ("", "unknown"),
    ],
)
def test_kinds_of_licences_are_told_apart(licences: dict[str, Any], licence: str, kind: str) -> None:
    assert licences["Package"](name="x", licence=licence, brought_by=()).kind == kind


def test_the_keyless_core_is_small_and_works_alone() -> None:
    core = runpy.run_path(str(BENCH / "keyless_core.py"))
    assert core["keyless_core_megabytes"]() <= 30
    assert core["keyless_core_packages"]() <= 6
