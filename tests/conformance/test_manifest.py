"""The manifest and the tests agree: every requirement is shown by a test, and no test cites one that does not exist."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.requirements import REQUIREMENTS

TESTS = Path(__file__).resolve().parent.parent


def citations(source: str) -> Iterator[str]:
    """Every id that a `pytest.mark.requirement(…)` above a test, a class of tests or one case of a table names.

    Raises:
        TypeError: an id is not written out as a text, so nobody could find it.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _is_mark(node.func):
            for argument in node.args:
                if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                    raise TypeError(f"line {node.lineno}: write the id out")
                yield argument.value


def _is_mark(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr != "requirement":
        return False
    return isinstance(function.value, ast.Attribute) and function.value.attr == "mark"


def cited() -> dict[str, set[str]]:
    """id → the files, relative to `tests`, whose tests cite it."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        if path == Path(__file__).resolve():
            continue
        for one in citations(path.read_text(encoding="utf-8")):
            found.setdefault(one, set()).add(str(path.relative_to(TESTS)))
    return found


def uncited() -> list[str]:
    """The ids that no test cites, in the order of the manifest."""
    known = cited()
    return [one.id for one in REQUIREMENTS if one.id not in known]


def test_every_requirement_is_cited_by_a_test() -> None:
    assert uncited() == []


def test_no_test_cites_a_requirement_that_does_not_exist() -> None:
    known = {one.id for one in REQUIREMENTS}

    assert {one: files for one, files in cited().items() if one not in known} == {}


def test_no_id_and_no_sentence_is_given_twice() -> None:
    ids = Counter(one.id for one in REQUIREMENTS)
    sentences = Counter(one.sentence for one in REQUIREMENTS)

    assert [one for one, times in (ids + sentences).items() if times > 1] == []


def test_every_decision_that_is_named_as_a_source_has_its_page() -> None:
    pages = {path.name[:4] for path in (TESTS.parent / "docs" / "adr").glob("0*.md")}
    named = {one.source.removeprefix("ADR ") for one in REQUIREMENTS if one.source.startswith("ADR ")}

    assert named <= pages


def test_citations_are_found_on_tests_classes_modules_and_single_cases() -> None:
    source = """
pytestmark = [pytest.mark.anyio, pytest.mark.requirement("A-1")]

@pytest.mark.requirement("A-2", "A-3")
def test_one(): ...

class TestMore:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("A-4"))])
    async def test_two(self, x): ...

def test_three():
    manifest.requirement("no mark")
"""
    assert sorted(citations(source)) == ["A-1", "A-2", "A-3", "A-4"]


def test_an_id_that_is_computed_is_refused() -> None:
    with pytest.raises(TypeError, match="line 1"):
        list(citations("pytest.mark.requirement(f'A-{n}')"))
