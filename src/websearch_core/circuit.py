"""Whether a service is to be left alone for a while: pure policy, without clock and I/O.

A circuit is a value. What a key is to blame for never counts here; what passes by itself (5xx, time-outs, broken lines) does:
the same failure from several keys opens the circuit, and where there is only one key to ask with, failures of several calls
in a row. An open circuit lets nobody through until its time is over, and then a single probe, whose every ending is an answer:
it closes the circuit, opens it again, or leaves the place to the next probe.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, TypeAlias

from websearch_core.errors import BadReply, Unreachable, WebSearchError

__all__ = [
    "Circuit",
    "CircuitRules",
    "Gate",
    "Phase",
    "failed",
    "gate",
    "opened",
    "probing",
    "released",
    "signature",
    "spoils_probe",
    "succeeded",
    "wait_s",
]

Phase: TypeAlias = Literal["closed", "open", "half_open"]
Gate: TypeAlias = Literal["through", "probe", "shut"]
"""For a request now: send it; send it as the probe; send nothing."""
MAX_FAILURES = 64
"""Most failures that are remembered; a service that fails in more ways at once opens its circuit anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitRules:
    """When a circuit opens, and for how long."""

    threshold: int = 2
    """Distinct keys that must fail alike; fewer than two count as two."""
    calls_in_a_row: int = 5
    """Calls that must fail one after the other where only one key is left to ask with."""
    window_s: float = 60.0
    """Older failures do not count."""
    cooldown_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a key failed, and when."""

    signature: str
    key: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """The circuit of one service."""

    phase: Phase = "closed"
    until: float = 0.0
    """When an open circuit takes a probe, on the clock of `now`."""
    failures: tuple[Failure, ...] = ()
    """Each key's last failure of each kind."""
    row: int = 0
    """Calls that failed one after the other."""
    row_at: float = 0.0
    """When the last of them did."""


def signature(error: WebSearchError) -> str | None:
    """`http:503` or `network:ConnectError` for a failure that counts against the service; None for any other."""
    if not isinstance(error, Unreachable):
        return None
    if error.http_status is not None:
        return f"http:{error.http_status}"
    return f"network:{error.diagnostics.get('exception_type') or error.diagnostics.get('error_type') or type(error).__name__}"


def spoils_probe(error: WebSearchError) -> bool:
    """Whether a probe that ends so has shown that the service is still out of order, and not merely that a key is."""
    return isinstance(error, Unreachable) or type(error) is BadReply


def gate(circuit: Circuit, now: float) -> Gate:
    """What a request may do now."""
    if circuit.phase == "closed":
        return "through"
    return "probe" if circuit.phase == "open" and now >= circuit.until else "shut"


def wait_s(circuit: Circuit, now: float) -> float:
    """Seconds until the next probe; 0 while it is due, under way or not needed."""
    return max(circuit.until - now, 0.0) if circuit.phase == "open" else 0.0


def probing(circuit: Circuit) -> Circuit:
    """The circuit once its probe is sent."""
    return dataclasses.replace(circuit, phase="half_open")


def succeeded(circuit: Circuit, *, probe: bool) -> Circuit:
    """After a success. One that was sent before the circuit opened proves nothing."""
    if circuit.phase == "closed" or (probe and circuit.phase == "half_open"):
        return Circuit()
    return circuit


def failed(
    circuit: Circuit, error_signature: str, key: str, *, now: float, rules: CircuitRules, alone: bool, first: bool = True
) -> Circuit:
    """After a failure that counts against the service.

    `alone`: there was no other key to ask with. `first`: the call had not failed with this key before; a call's own
    repetitions are not failures in a row. A late failure prolongs an open circuit, and whoever fails ends a probe's time.
    """
    if circuit.phase != "closed":
        return opened(now + rules.cooldown_s)
    recent = (
        one for one in circuit.failures if now - one.at < rules.window_s and (one.signature, one.key) != (error_signature, key)
    )
    failures = (*recent, Failure(signature=error_signature, key=key, at=now))[-MAX_FAILURES:]
    row = circuit.row if circuit.row and now - circuit.row_at < rules.window_s else 0
    row += first or not row
    alike = {one.key for one in failures if one.signature == error_signature}
    if len(alike) >= max(rules.threshold, 2) or (alone and row >= rules.calls_in_a_row):
        return opened(now + rules.cooldown_s)
    return Circuit(failures=failures, row=row, row_at=now)


def opened(until: float) -> Circuit:
    """An open circuit; nothing is remembered in it."""
    return Circuit(phase="open", until=until)


def released(circuit: Circuit, *, probe: bool, now: float) -> Circuit:
    """After a request that ended without a verdict on the service: the next probe may be sent at once."""
    return opened(now) if probe and circuit.phase == "half_open" else circuit
