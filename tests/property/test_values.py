"""Laws of the values: our limits are the schema's limits, JSON is always possible, a secret stays one."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from websearch_core import values
from websearch_core.errors import InvalidInput
from websearch_core.testing.strategies import (
    answers,
    fetch_requests,
    hostile_text,
    json_values,
    map_requests,
    pages,
    search_queries,
    site_maps,
    source_lists,
    sources_requests,
    switch_requests,
)
from websearch_core.values import (
    ConfigRequest,
    FedQuery,
    FetchRequest,
    Health,
    MapRequest,
    Outcome,
    PostQuery,
    SearchQuery,
    Secret,
    SourcesRequest,
    SwitchRequest,
    as_plain,
)

REQUESTS: dict[type[Any], st.SearchStrategy[Any]] = {
    SearchQuery: search_queries(),
    SourcesRequest: sources_requests(),
    FetchRequest: fetch_requests(),
    MapRequest: map_requests(),
    ConfigRequest: st.just(ConfigRequest()),
    SwitchRequest: switch_requests(),
}
NUMBERS = [
    -1, 0, 1, 5, 6, 9, 10, 20, 21, 150, 151, 200, 201, 500, 501, 999, 1_000, 100_000, 100_001, 200_000, 200_001, 50_000_000,
    50_000_001, 10**30,
]  # fmt: skip
TEXTS = [
    "", " ", "\n", "x", "day", "DAY", "deep", "https://example.org/", " https://example.org/ ", "example.org", "ftp://example.org/",
    "https://", "\ud800", "5", "true",
    *("x" * size for size in (64, 65, 200, 201, 400, 401, 2_048, 2_049, 4_000, 4_001)),
]  # fmt: skip
DOMAINS = [
    "example.org",
    "*.example.org",
    "example",
    "https://example.org",
    "a.b/c",
    "a@b.c",
    "a.b:80",
    "a.b?c",
    "..",
    "",
    "\udfff.org",
]
JUNK = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(TEXTS),
    hostile_text(),
    st.lists(st.sampled_from(DOMAINS), max_size=3),
    st.sampled_from([["example.org"] * 50, ["example.org"] * 51, [1], [None], {}, {"a": "b"}, None, True, False, 1.0, 2.5]),
)


def _arguments(request: object) -> dict[str, Any]:
    plain = dataclasses.asdict(request)  # type: ignore[call-overload]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


@st.composite
def _candidates(draw: st.DrawFn) -> tuple[type[Any], dict[str, Any]]:
    """A request's class with arguments of which none, one or two are anything."""
    kind = draw(st.sampled_from([each for each in REQUESTS if dataclasses.fields(each)]))
    arguments = _arguments(draw(REQUESTS[kind]))
    spoilt = draw(st.lists(st.sampled_from(sorted(arguments)), max_size=2, unique=True))
    return kind, arguments | {name: draw(JUNK) for name in spoilt}


def _ours(kind: type[Any], arguments: dict[str, Any]) -> Any:
    try:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in arguments.items()})
    except InvalidInput:
        return None


def _theirs(kind: type[Any], arguments: dict[str, Any]) -> Any:
    try:
        return TypeAdapter(kind).validate_json(json.dumps(arguments), strict=True)
    except ValidationError:
        return None


def test_every_request_is_examined_here() -> None:
    named = (getattr(values, name) for name in values.__all__)
    requests = {each for each in named if isinstance(each, type) and hasattr(each, "__pydantic_config__")}
    assert requests - {FedQuery, PostQuery} == set(REQUESTS), "the one is never asked with, the other has suites of its own"


@given(_candidates())
def test_our_limits_and_the_schemas_are_the_same(candidate: tuple[type[Any], dict[str, Any]]) -> None:
    """An embedding program gets the verdict that an MCP client gets."""
    kind, arguments = candidate
    assert _ours(kind, arguments) == _theirs(kind, arguments)


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_schemas_defaults_and_limits_are_what_the_fields_say(kind: type[Any]) -> None:
    schema = TypeAdapter(kind).json_schema()
    assert schema["additionalProperties"] is False
    assert set(schema.get("properties", {})) == {field.name for field in dataclasses.fields(kind)}
    for field in dataclasses.fields(kind):
        assert schema["properties"][field.name]["description"], field.name


@given(st.sampled_from(list(REQUESTS)).flatmap(lambda kind: REQUESTS[kind]))
def test_a_request_read_back_from_its_json_is_the_same_request(request: Any) -> None:
    again = TypeAdapter(type(request)).validate_json(json.dumps(_arguments(request)), strict=True)
    assert again == request


@given(st.one_of(answers(), pages(), site_maps(), source_lists(), *REQUESTS.values()))
def test_every_value_is_json(value: object) -> None:
    plain = as_plain(value)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


@given(json_values())
def test_json_stays_as_it_is(value: Any) -> None:
    assert as_plain(value) == value


@given(
    st.recursive(
        st.floats() | st.binary(max_size=5) | st.frozensets(st.integers()),
        lambda inner: st.lists(inner) | st.dictionaries(st.integers(), inner),
    )
)
def test_anything_becomes_json(value: object) -> None:
    assert json.loads(json.dumps(as_plain(value), allow_nan=False)) == as_plain(value)


@given(st.one_of(answers(), pages(), site_maps(), source_lists()))
def test_json_keeps_every_filled_field_and_no_other(value: Any) -> None:
    plain = as_plain(value)
    assert isinstance(plain, dict)
    assert set(plain) == {field.name for field in dataclasses.fields(value) if getattr(value, field.name) not in ("", None, ())}


@given(st.data(), st.integers(0, 20), st.integers(20, 60))
def test_hostile_text_keeps_its_sizes(data: st.DataObject, least: int, most: int) -> None:
    assert least <= len(data.draw(hostile_text(min_size=least, max_size=most))) <= most


# Letters only: a digit or a dot would be found in any message about anything.
KEYS = st.text("ABCDEFGHJKLMNPQRSTUVWXYZ桥", min_size=4, max_size=120)


@given(KEYS)
def test_a_secret_hides_itself(key: str) -> None:
    secret = Secret(key)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r}", "%s" % secret, repr((secret,)), json.dumps(as_plain(secret))]  # noqa: UP031 - the old way must hide it, too
    shown += [str(Health(part=str(secret), state="ok")), json.dumps(as_plain({"key": [secret]}), ensure_ascii=False)]
    assert not any(key in text for text in shown)


@given(KEYS, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_a_secret_is_not_pickled(key: str, protocol: int) -> None:
    with pytest.raises(TypeError, match="a secret is not pickled") as caught:
        pickle.dumps(Secret(key), protocol)
    assert key not in str(caught.value)


@pytest.mark.requirement("P5-POOL-19")
@given(st.text(max_size=200))
def test_a_fingerprint_shows_at_most_a_quarter_and_never_more_than_four_at_each_end(key: str) -> None:
    fingerprint = Secret(key).fingerprint
    if len(key) < 16:
        assert fingerprint == "***"
        return
    head, _, tail = (fingerprint[: (len(fingerprint) - 1) // 2], "…", fingerprint[(len(fingerprint) + 1) // 2 :])
    assert fingerprint == f"{head}…{tail}"
    assert key.startswith(head)
    assert key.endswith(tail)
    assert 4 <= len(head) + len(tail) <= min(8, len(key) / 4)


@given(st.booleans(), st.text(max_size=5))
def test_an_outcome_keeps_all_its_fields(partial: bool, text: str) -> None:
    plain = as_plain(Outcome(partial=partial, next_action=text or None))
    assert isinstance(plain, dict)
    assert set(plain) == {field.name for field in dataclasses.fields(Outcome)}
