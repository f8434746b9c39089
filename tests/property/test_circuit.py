"""Laws of the circuit, for every order of requests, endings and waits."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from websearch_core import circuit
from websearch_core.circuit import Circuit, CircuitRules

SIGNATURES = ("http:500", "http:503", "network:ReadTimeout")
ENDINGS = ("success", "service", "blameless")


class Service(RuleBasedStateMachine):
    """A service whose requests overlap and end in any way; the ledger knows when it opened last and who may probe."""

    @initialize(threshold=st.integers(0, 4), row=st.integers(1, 5), cooldown_s=st.floats(0, 60), alone=st.booleans())
    def begin(self, threshold: int, row: int, cooldown_s: float, alone: bool) -> None:
        self.limits = CircuitRules(threshold=threshold, calls_in_a_row=row, window_s=60.0, cooldown_s=cooldown_s)
        self.alone = alone
        self.now = 1_000.0
        self.circuit = Circuit()
        self.running: list[tuple[str, Circuit | None]] = []
        self.opened_at = 0.0

    @rule(seconds=st.floats(0, 100))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(key=st.sampled_from("abc"))
    def send(self, key: str) -> None:
        gate = circuit.gate(self.circuit, self.now)
        if gate == "shut":
            return
        probe = None
        if gate == "probe":
            assert self.now >= self.opened_at + self.limits.cooldown_s or self.freed, "a probe before its time"
            assert not any(self._is_probe(one) for one in self.running), "two probes"
            probe = self.circuit = circuit.probing(self.circuit)
        else:
            assert self.circuit.phase == "closed"
        self.running.append((key, probe))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), ending=st.sampled_from(ENDINGS), kind=st.sampled_from(SIGNATURES), first=st.booleans())
    def end(self, data: st.DataObject, ending: str, kind: str, first: bool) -> None:
        key, _ = one = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        before, is_probe = self.circuit, self._is_probe(one)
        if ending == "success":
            self.circuit = circuit.succeeded(before, probe=is_probe)
            assert self.circuit.phase == ("closed" if is_probe else before.phase)
        elif ending == "service":
            self.circuit = circuit.failed(before, kind, key, now=self.now, rules=self.limits, alone=self.alone, first=first)
            if self.circuit.phase == "open":
                self.opened_at = self.now
            assert before.phase == "closed" or self.circuit.phase == "open"
        if self._is_probe(one):
            self.circuit = circuit.released(self.circuit, probe=True, now=self.now)
        self.freed = self.circuit.phase == "open" and self.circuit.until == self.now

    freed = False

    @invariant()
    def half_open_means_that_its_probe_is_under_way(self) -> None:
        if self.circuit.phase == "half_open":
            assert sum(self._is_probe(one) for one in self.running) == 1

    @invariant()
    def it_is_never_shut_for_longer_than_its_time_once_nothing_is_under_way(self) -> None:
        if not self.running:
            assert circuit.gate(self.circuit, self.now + self.limits.cooldown_s) != "shut"

    @invariant()
    def what_is_remembered_is_bounded(self) -> None:
        assert len(self.circuit.failures) <= len(SIGNATURES) * 3
        assert self.circuit.phase == "closed" or not self.circuit.failures

    def _is_probe(self, one: tuple[str, Circuit | None]) -> bool:
        return one[1] is not None and one[1] is self.circuit


TestService = Service.TestCase
TestService.settings = settings(max_examples=1_000, stateful_step_count=40)
