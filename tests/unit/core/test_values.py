"""Values, case by case: limits with their words, JSON, secrets; the laws are in tests/property/test_values.py."""

from __future__ import annotations

import copy
import dataclasses
import logging
import pickle
import traceback
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import pytest

from websearch_core import values
from websearch_core.errors import InvalidInput, WebSearchError
from websearch_core.values import (
    Answer,
    ErrorDetail,
    FetchRequest,
    FetchResult,
    Link,
    MapRequest,
    Note,
    Outcome,
    Passage,
    SearchQuery,
    SearchResult,
    Secret,
    SiteMap,
    Source,
    SourcesRequest,
    SwitchRequest,
    Usage,
    as_plain,
    within_limits,
)

URL = "https://example.org/"


def test_a_query_takes_what_lies_on_its_limits() -> None:
    query = SearchQuery(
        query="x" * 4_000, extra_sources=20, include_domains=("example.org",) * 50, max_chars=200_000, model="m" * 200
    )
    assert query.extra_sources == 20
    assert SearchQuery(query="x", extra_sources=0, max_chars=1_000).max_chars == 1_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": ""}, "query must have 1 to 4000 characters; it has 0"),
        ({"query": " \n"}, "query must not be blank"),
        ({"query": "x" * 4_001}, "query must have 1 to 4000 characters; it has 4001"),
        ({"query": 5}, "query must be text"),
        ({"query": None}, "query must be text"),
        ({"query": "lone \ud800"}, "query must be Unicode text without lone surrogates"),
        ({"extra_sources": 21}, "extra_sources must be from 0 to 20; nearest valid value: 20"),
        ({"extra_sources": -1}, "extra_sources must be from 0 to 20; nearest valid value: 0"),
        ({"extra_sources": True}, "extra_sources must be a whole number"),
        ({"extra_sources": 2.0}, "extra_sources must be a whole number"),
        ({"max_chars": None}, "max_chars must be a whole number"),
        ({"fresh_within": "hour"}, "fresh_within must be one of: any, day, week, month, year"),
        ({"fresh_within": ["day"]}, "fresh_within must be one of"),
        ({"depth": None}, "depth must be one of: auto, fast, standard, deep"),
        ({"include_content": 1}, "include_content must be true or false"),
        ({"include_domains": "example.org"}, "include_domains must be a list of texts"),
        ({"include_domains": (1,)}, "include_domains must be a list of texts"),
        ({"include_domains": ("\udc00.org",)}, "include_domains must be Unicode text"),
        ({"exclude_domains": ("example.org",) * 51}, "exclude_domains must have 0 to 50 items; it has 51"),
        ({"exclude_domains": ("example",)}, "exclude_domains: 'example' is not a host name; write it like example.org"),
    ],
)
def test_a_refusal_names_the_field_and_its_range(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        SearchQuery(**{"query": "x", **arguments})
    assert words in caught.value.message


@pytest.mark.parametrize("domain", ["example.org", "*.example.org", " example.org ", "xn--bcher-kva.example", "bücher.example"])
def test_a_host_name_is_a_domain(domain: str) -> None:
    assert SearchQuery(query="x", include_domains=(domain,)).include_domains == (domain,)


@pytest.mark.parametrize(
    "domain", ["", "example", "*.", "..", "a.b/c", "a@b.c", "a.b:80", "a.b?c", "a.b#c", "https://a.b", "a b.c", "a.b\x00"]
)
def test_what_is_no_host_name_is_no_domain(domain: str) -> None:
    with pytest.raises(InvalidInput, match="is not a host name"):
        SearchQuery(query="x", exclude_domains=(domain,))


def test_a_long_wrong_domain_is_quoted_in_part() -> None:
    with pytest.raises(InvalidInput) as caught:
        SearchQuery(query="x", include_domains=("x" * 5_000,))
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("kind", [FetchRequest, MapRequest])
def test_an_address_is_trimmed_and_must_be_one(kind: type[Any]) -> None:
    assert kind(url=f" {URL}\n").url == URL
    for wrong in ("example.org", "ftp://example.org/", "x" * 2_049, "", None):
        with pytest.raises(InvalidInput):
            kind(url=wrong)


@pytest.mark.parametrize(
    "wrong", [{"session_id": " "}, {"session_id": ""}, {"session_id": "x" * 65}, {"start": -1}, {"limit": 0}]
)
def test_a_request_for_sources_keeps_its_limits(wrong: dict[str, Any]) -> None:
    assert SourcesRequest(session_id="x", start=0).start == 0
    with pytest.raises(InvalidInput):
        SourcesRequest(**{"session_id": "x", **wrong})


def test_a_model_must_have_a_name() -> None:
    assert SwitchRequest(model="grok").model == "grok"
    with pytest.raises(InvalidInput, match="model must not be blank"):
        SwitchRequest(model=" ")


def test_limits_leave_alone_what_has_none() -> None:
    within_limits(Passage(url=URL, text="text", score=0.5))
    within_limits(Source(url=URL, next_start=None))
    within_limits(Source(url=URL, next_start=5))
    with pytest.raises(InvalidInput, match="next_start must be a whole number"):
        within_limits(Source(url=URL, next_start="5"))  # type: ignore[arg-type]


def test_every_value_is_frozen_and_slotted() -> None:
    kinds = [each for each in map(vars(values).get, values.__all__) if isinstance(each, type)]
    assert len(kinds) > 20
    for kind in kinds:
        assert dataclasses.is_dataclass(kind), kind
        assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]
        assert "__slots__" in vars(kind), kind


# --- JSON -----------------------------------------------------------------------------------------------------------


def test_an_outcome_shows_every_field_and_what_lies_inside_only_the_filled_ones() -> None:
    result = SearchResult(
        session_id="0123456789ab",
        sources=(Source(url=URL, evidence="cited"),),
        error_detail=ErrorDetail(code="x", message="m", service="s", retryable=False),
        usage=Usage(output_tokens=0, searches=None),
        notes=(Note(code="cut", text="Shortened."),),
    )
    plain = as_plain(result)
    assert isinstance(plain, dict)
    assert set(plain) == {field.name for field in dataclasses.fields(SearchResult)}
    assert plain["sources"] == [{"url": URL, "evidence": "cited"}]
    assert plain["usage"] == {"output_tokens": 0}
    assert plain["notes"] == [{"code": "cut", "text": "Shortened."}]
    assert plain["error_detail"] == {
        "code": "x",
        "message": "m",
        "service": "s",
        "retryable": False,
        "http_status": None,
        "upstream_code": None,
        "diagnostics": {},
    }
    assert plain["next_action"] is None


def test_false_and_zero_are_filled() -> None:
    plain = as_plain(SiteMap(root=URL, provider="local", links=(Link(url=URL),)))
    filled = {"truncated": False, "ignored": 0, "crawl_delay_s": 0.0}
    assert plain == {"root": URL, "links": [{"url": URL}], "provider": "local", **filled}


def test_what_json_does_not_know_becomes_text_a_list_or_nothing() -> None:
    day = datetime(2026, 2, 1, tzinfo=UTC)
    assert as_plain({1: (day, PurePosixPath("/x")), "set": {1}, "none": None}) == {
        "1": ["2026-02-01 00:00:00+00:00", "/x"],
        "set": [1],
        "none": None,
    }
    assert as_plain([float("nan"), float("inf"), -float("inf"), 1.5]) == [None, None, None, 1.5]
    assert as_plain(Source) == str(Source)


def test_json_never_shows_a_secret() -> None:
    plain = as_plain({"key": Secret("tvly-0123456789abcdef"), "keys": (Secret("short"),)})
    assert plain == {"key": "tv…ef", "keys": ["***"]}


# --- secrets --------------------------------------------------------------------------------------------------------

KEY = "xai-0123456789-the-secret-part-0123456789"


def test_a_secret_is_in_no_traceback_log_or_format() -> None:
    secret = Secret(KEY)
    record = logging.LogRecord("x", logging.INFO, "x", 1, "key %s %r", (secret, secret), None)
    try:
        raise WebSearchError(f"{secret} was refused")
    except WebSearchError as error:
        shown = "".join(traceback.format_exception(error))
    shown += record.getMessage() + f"{secret:}" + str([secret]) + str({"key": secret})
    assert KEY not in shown
    assert "the-secret-part" not in shown


@pytest.mark.requirement("P5-POOL-19")
@pytest.mark.parametrize(
    ("key", "fingerprint"),
    [
        ("", "***"),
        ("x" * 15, "***"),
        ("ab3456789012cdef", "ab…ef"),
        ("abc" + "x" * 18 + "def", "abc…def"),
        ("abcd" + "x" * 100 + "wxyz", "abcd…wxyz"),
    ],
)
def test_the_fingerprint_grows_with_the_key(key: str, fingerprint: str) -> None:
    assert Secret(key).fingerprint == fingerprint
    assert str(Secret(key)) == fingerprint


def test_a_secret_is_neither_pickled_nor_copied() -> None:
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps({"key": Secret(KEY)})
    with pytest.raises(TypeError, match="not pickled"):
        copy.deepcopy(Secret(KEY))


def test_secrets_compare_by_value() -> None:
    assert Secret(KEY) == Secret(KEY)
    assert Secret(KEY) != Secret(KEY + "x")
    assert len({Secret(KEY), Secret(KEY)}) == 1


# --- outcomes -------------------------------------------------------------------------------------------------------


def test_a_failed_outcome_raises_what_it_says() -> None:
    detail = ErrorDetail(code="tavily_no_content", message="Nothing readable.", service="tavily", retryable=False)
    outcome = FetchResult(url=URL, status="error", error=detail.code, error_detail=detail, next_action="Try another page.")
    with pytest.raises(WebSearchError, match=r"Nothing readable\.") as caught:
        outcome.raise_for_status()
    error = caught.value
    assert (error.provider, error.hint, error.diagnostics["code"]) == ("tavily", "Try another page.", "tavily_no_content")


def test_a_good_or_partial_outcome_raises_nothing() -> None:
    detail = ErrorDetail(code="x", message="m", service="s", retryable=True)
    Outcome().raise_for_status()
    Outcome(status="partial_success", partial=True, error_detail=detail).raise_for_status()


def test_values_compare_by_content() -> None:
    assert Answer(text="a", engine="x") == Answer(text="a", engine="x")
    assert Answer(text="a", engine="x") != Answer(text="b", engine="x")
