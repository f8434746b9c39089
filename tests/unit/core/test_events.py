"""The observer that observes nothing disturbs nothing."""

from __future__ import annotations

import pytest

from websearch_core.events import SILENT, Observer
from websearch_core.testing.fakes import RecordingObserver


@pytest.fixture(params=[SILENT, RecordingObserver()], ids=["silent", "recording"])
def observer(request: pytest.FixtureRequest) -> Observer:
    observer: Observer = request.param
    return observer


def test_a_span_runs_its_block_and_takes_facts(observer: Observer) -> None:
    ran = []
    with observer.span("search", provider="tavily", attempts=1) as span:
        span.note(status=200, outcome=None, ok=True, share=0.5)
        ran.append("block")
    assert ran == ["block"]


def test_spans_nest_and_repeat(observer: Observer) -> None:
    depth = 0
    with observer.span("outer"), observer.span("inner"), observer.span("inner") as span:
        span.note()
        depth = 3
    assert depth == 3


def test_a_failure_passes_through_a_span_unchanged(observer: Observer) -> None:
    failure = KeyError("lost")
    with pytest.raises(KeyError) as caught, observer.span("search"):
        raise failure
    assert caught.value is failure


def test_a_fact_may_be_called_name(observer: Observer) -> None:
    with observer.span("search", name="x") as span:
        span.note(name="y")
