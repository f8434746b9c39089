"""Notices that come thick are few."""

from __future__ import annotations

import pytest

from websearch_core.hub.window import WINDOW_S, Notice, Window, due_at, flushed, noted


def notice(upstream: str = "a", kind: str = "tools", generation: int = 1, what: str = "") -> Notice[str]:
    return Notice(upstream=upstream, kind=kind, generation=generation, what=what)


def played(*timed: tuple[float, Notice[str]]) -> list[Notice[str]]:
    """All that is flushed when each notice comes at its time, in milliseconds, and each window is flushed when it is due."""
    window: Window[str] = Window()
    out: list[Notice[str]] = []
    for at_ms, one in timed:
        window, due = flushed(window, at_ms / 1_000)
        out += due
        window = noted(window, one, at_ms / 1_000)
    return [*out, *flushed(window, 0.0, ending=True)[1]]


@pytest.mark.requirement("HUB-WINDOW-01")
def test_a_hundred_notices_in_one_window_are_one() -> None:
    (only,) = played(*((number * 0.1, notice()) for number in range(100)))
    assert only.times == 100


@pytest.mark.requirement("HUB-WINDOW-01")
def test_a_hundred_notices_a_millisecond_apart_are_two() -> None:
    assert [one.times for one in played(*((float(number), notice()) for number in range(100)))] == [50, 50]


@pytest.mark.requirement("HUB-WINDOW-02")
def test_upstreams_and_kinds_have_notices_of_their_own_and_the_last_write_wins() -> None:
    out = played((0, notice("a", what="first")), (1, notice("b")), (2, notice("a", "resources")), (3, notice("a", what="last")))
    assert [(one.upstream, one.kind, one.what) for one in out] == [
        ("a", "tools", "last"),
        ("b", "tools", ""),
        ("a", "resources", ""),
    ]


@pytest.mark.requirement("HUB-LIFE-09")
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_of_two_connections_that_close_in_one_window_the_newer_is_never_lost(order: tuple[int, int]) -> None:
    (only,) = played(*((float(at), notice(kind="closed", generation=one)) for at, one in enumerate(order)))
    assert only.generation == 2


def test_the_window_opens_with_its_first_notice_and_no_time_runs_while_it_is_empty() -> None:
    window: Window[str] = Window()
    assert due_at(window) is None
    assert flushed(window, 1_000.0) == (window, ())
    window = noted(window, notice(), 7.0)
    window = noted(window, notice(), 7.04)
    assert due_at(window) == 7.0 + WINDOW_S
    assert flushed(window, 7.049) == (window, ())
    assert flushed(window, 7.05)[0] == Window()
