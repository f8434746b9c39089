"""Counting the values of a JSON document without reading it: never too few, never twice too many."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from websearch_adapters import bounded_json
from websearch_core.testing.strategies import json_values
from websearch_core.values import Json


def count(value: Json) -> int:
    """All values, the outermost one included; the names in objects are none."""
    match value:
        case list():
            return 1 + sum(map(count, value))
        case dict():
            return 1 + sum(map(count, value.values()))
        case _:
            return 1


@given(value=json_values(), ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_a_document_is_judged_by_its_values_and_by_nothing_else(value: Json, ascii_only: bool, indent: int | None) -> None:
    document = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    held = count(value)
    assert bounded_json.too_many(document, held - 1)
    assert not bounded_json.too_many(document, 2 * held)


@given(text=st.text(st.sampled_from('\\",[{:]}n x\u4e00'), max_size=60), ascii_only=st.booleans())
def test_what_a_text_holds_counts_as_one_value(text: str, ascii_only: bool) -> None:
    document = json.dumps([text], ensure_ascii=ascii_only)
    assert not bounded_json.too_many(document, 3)
    assert bounded_json.loads(document) == [text]


@given(value=json_values(max_leaves=5), rest=st.text(st.sampled_from('\\",[{:]}0'), max_size=20))
def test_damage_hides_nothing_of_what_stands_before_it(value: Json, rest: str) -> None:
    assert bounded_json.too_many(json.dumps([value]) + rest, count(value))
