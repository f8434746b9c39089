"""When a service is left alone, and how it is found to be well again."""

from __future__ import annotations

import pytest

from websearch_core import circuit
from websearch_core.circuit import Circuit, CircuitRules
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    EmptyResult,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)

RULES = CircuitRules(threshold=2, calls_in_a_row=5, window_s=60.0, cooldown_s=30.0)
NETWORK = Unreachable("no connection", diagnostics={"error_type": "connection_failure", "exception_type": "ConnectError"})


def failing(
    state: Circuit, key: str, *, now: float = 0.0, kind: str = "http:503", alone: bool = False, first: bool = True
) -> Circuit:
    return circuit.failed(state, kind, key, now=now, rules=RULES, alone=alone, first=first)


def open_circuit(now: float = 0.0) -> Circuit:
    return failing(failing(Circuit(), "a", now=now), "b", now=now)


@pytest.mark.parametrize(
    ("error", "signature"),
    [
        (Unreachable("x", http_status=503), "http:503"),
        (Unreachable("x", http_status=408), "http:408"),
        (NETWORK, "network:ConnectError"),
        (Unreachable("x", diagnostics={"error_type": "stream_interrupted"}), "network:stream_interrupted"),
        (Unreachable("x"), "network:Unreachable"),
        (AuthRejected("x", http_status=401), None),
        (RateLimited("x", http_status=429), None),
        (OutOfCredit("x", http_status=432), None),
        (RequestRejected("x", http_status=400), None),
        (BadReply("x", http_status=200), None),
        (WebSearchError("x"), None),
    ],
)
def test_only_what_the_service_is_to_blame_for_has_a_signature(error: WebSearchError, signature: str | None) -> None:
    assert circuit.signature(error) == signature


@pytest.mark.requirement("P5-POOL-07")
def test_the_same_failure_of_enough_keys_opens_it() -> None:
    state = failing(Circuit(), "a")
    assert circuit.gate(state, 0.0) == "through"
    state = failing(state, "b", now=1.0)
    assert (state.phase, circuit.gate(state, 1.0), circuit.wait_s(state, 11.0)) == ("open", "shut", 20.0)


def test_different_failures_are_not_the_same() -> None:
    assert failing(failing(Circuit(), "a"), "b", kind="http:500").phase == "closed"


@pytest.mark.requirement("P5-POOL-08")
def test_one_key_among_others_never_opens_it() -> None:
    state = Circuit()
    for second in range(50):
        state = failing(state, "a", now=float(second))
    assert state.phase == "closed"
    assert len(state.failures) == 1


def test_an_only_key_opens_it_by_calls_that_fail_in_a_row() -> None:
    state = Circuit()
    for second in range(4):
        state = failing(state, "a", now=float(second), alone=True)
    assert state.phase == "closed"
    assert failing(state, "a", now=5.0, alone=True, kind="network:ReadTimeout").phase == "open"


def test_the_repetitions_of_one_call_are_not_failures_in_a_row() -> None:
    state = failing(Circuit(), "a", alone=True)
    for _ in range(20):
        state = failing(state, "a", alone=True, first=False)
    assert (state.phase, state.row) == ("closed", 1)


def test_a_success_in_between_starts_the_count_anew() -> None:
    state = Circuit()
    for _ in range(4):
        state = failing(state, "a", alone=True)
    state = failing(circuit.succeeded(state, probe=False), "b", alone=True)
    assert (state.phase, state.row, len(state.failures)) == ("closed", 1, 1)


@pytest.mark.parametrize(("later", "phase"), [(59.9, "open"), (60.0, "closed")])
def test_failures_age(later: float, phase: str) -> None:
    """One failure today and another one next week are not an outage."""
    assert failing(failing(Circuit(), "a"), "b", now=later).phase == phase
    state = Circuit(row=4, row_at=0.0)
    assert failing(state, "a", now=later, alone=True).phase == phase


def test_a_threshold_below_two_counts_as_two() -> None:
    state = circuit.failed(Circuit(), "http:500", "a", now=0.0, rules=CircuitRules(threshold=1), alone=False)
    assert state.phase == "closed"


def test_what_is_remembered_is_bounded() -> None:
    state = Circuit()
    for number in range(1_000):
        state = failing(state, "a", kind=f"network:{number}")
    assert len(state.failures) == circuit.MAX_FAILURES


@pytest.mark.requirement("P5-TAVILY-12", "P5-POOL-09")
def test_after_its_time_a_single_probe_goes_through_and_its_success_closes_it() -> None:
    state = open_circuit()
    assert [circuit.gate(state, now) for now in (29.9, 30.0)] == ["shut", "probe"]
    state = circuit.probing(state)
    assert (circuit.gate(state, 1e9), circuit.wait_s(state, 30.0)) == ("shut", 0.0)
    assert circuit.succeeded(state, probe=True) == Circuit()


@pytest.mark.requirement("P5-POOL-10")
def test_a_failed_probe_opens_it_for_a_whole_period() -> None:
    state = failing(circuit.probing(open_circuit()), "c", now=40.0, kind="http:500")
    assert (state.phase, state.until) == ("open", 70.0)


@pytest.mark.requirement("EDGE-01")
@pytest.mark.parametrize(
    ("error", "spoils"),
    [
        (Unreachable("x", http_status=503), True),
        (BadReply("not JSON"), True),
        (EmptyResult("no text"), False),
        (AuthRejected("x"), False),
        (RateLimited("x"), False),
        (OutOfCredit("x"), False),
        (RequestRejected("x", http_status=400), False),
    ],
)
def test_a_probe_that_shows_only_a_bad_key_or_question_leaves_its_place_to_the_next(error: ProviderError, spoils: bool) -> None:
    assert circuit.spoils_probe(error) is spoils
    freed = circuit.released(circuit.probing(open_circuit()), probe=True, now=31.0)
    assert circuit.gate(freed, 31.0) == "probe"


@pytest.mark.requirement("P5-POOL-11")
def test_a_success_that_was_sent_before_does_not_close_it() -> None:
    state = open_circuit()
    assert circuit.succeeded(state, probe=False) == state
    assert circuit.succeeded(circuit.probing(state), probe=False).phase == "half_open"


def test_a_late_failure_prolongs_it() -> None:
    assert failing(open_circuit(), "c", now=10.0).until == 40.0


def test_whoever_is_not_the_probe_frees_nothing() -> None:
    state = circuit.probing(open_circuit())
    assert circuit.released(state, probe=False, now=31.0) is state
    assert circuit.released(Circuit(), probe=True, now=31.0) == Circuit()
