"""Laws of an upstream's life, for every order of what people, calls, time and connections do.

`Life` performs the effects of the machine as one owner task would, slowly and in any order, and counts what must not be.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from websearch_core.hub.lifecycle import (
    HTTP_RULES,
    STDIO_RULES,
    AskLogin,
    CallWaits,
    Changed,
    Closed,
    Connect,
    Disabled,
    Disconnect,
    Effect,
    Enabled,
    Event,
    Listed,
    ListFailed,
    ListTools,
    LoggedIn,
    LoginNeeded,
    Machine,
    Opened,
    Publish,
    Removed,
    RetryAsked,
    Rules,
    SessionLost,
    Tick,
    ToolsChanged,
    WaitUntil,
    Withdraw,
    state_of,
    step,
)
from websearch_core.hub.values import Cause, UpstreamTool

CAUSES = {kind: Cause(kind=kind) for kind in ("closed", "auth", "network")}
TOOLS = st.sampled_from([(), (UpstreamTool(name="a"),), (UpstreamTool(name="a"), UpstreamTool(name="b"))])
SECONDS = st.integers(0, 400).map(lambda quarters: quarters / 4)
"""Sums of quarters are exact, so times can be compared."""
RULES = st.one_of(
    st.sampled_from([STDIO_RULES, HTTP_RULES]),
    st.builds(
        lambda first, waits, lazy: Rules(waits_s=(*first, *sorted(waits)), lazy=lazy),
        st.sampled_from([(), (0.0,)]),
        st.lists(st.integers(2, 240).map(lambda quarters: quarters / 4), max_size=4),
        st.booleans(),
    ),
)


class Life(RuleBasedStateMachine):
    """One upstream; `links` holds the connections that are not left yet, by generation."""

    @initialize(rules=RULES)
    def begin(self, rules: Rules) -> None:
        self.now = 1_000.0
        self.machine = Machine(rules=rules)
        self.links: dict[int, str] = {}
        """`opening`, `open` or `leaving`."""
        self.used: list[int] = []
        self.tools: tuple[UpstreamTool, ...] | None = None
        self.wanted, self.removed = False, False
        self.waits: list[float] = []
        """Of this episode: since the last good connection or the last wish of a person."""
        self.timer: float | None = None
        self.lists = 0

    def say(self, event: Event) -> None:
        before = self.machine
        self.machine, effects = step(before, event, self.now)
        assert self.machine.generation >= before.generation
        for effect in effects:
            self.perform(effect)
        if self.machine.phase == "waiting" and before.phase != "waiting":
            assert self.machine.until is not None
            self.note_wait(self.machine.until - self.now)

    def perform(self, effect: Effect) -> None:
        match effect:
            case Connect(generation=generation):
                assert self.wanted, "it connects although nobody wants it to"
                assert not self.links, "two live links"
                assert generation not in self.used, "a generation is used twice"
                self.used.append(generation)
                self.links[generation] = "opening"
                self.lists = 0
            case Disconnect(generation=generation):
                assert self.links[generation] != "leaving", "asked to leave twice"
                self.links[generation] = "leaving"
            case ListTools(generation=generation):
                assert self.links[generation] == "open"
                self.lists += 1
                assert self.lists == 1, "two lists at once"
            case WaitUntil(at=at):
                self.timer = at
            case Publish(tools=tools):
                assert self.wanted
                self.tools = tools
            case Withdraw():
                assert self.tools is not None, "nothing was published"
                self.tools = None
            case AskLogin():
                assert self.machine.phase == "needs_auth"

    def note_wait(self, wait: float) -> None:
        assert 0 <= wait <= max(self.machine.rules.waits_s), "a wait above the cap"
        assert not self.waits or wait >= self.waits[-1], "a wait that shrinks"
        self.waits.append(wait)
        assert len(self.waits) <= len(self.machine.rules.waits_s), "more waits than there are"

    # people, calls and time

    @rule()
    def enable(self) -> None:
        self.wanted = not self.removed
        self.waits.clear()
        self.say(Enabled())

    @rule()
    def disable(self) -> None:
        self.wanted = False
        self.say(Disabled())

    @precondition(lambda self: len(self.used) > 3)
    @rule()
    def remove(self) -> None:
        self.wanted, self.removed = False, True
        self.say(Removed())

    @rule(rules=RULES)
    def change(self, rules: Rules) -> None:
        self.waits.clear()
        self.say(Changed(rules))

    @rule(event=st.sampled_from([RetryAsked(), LoggedIn()]))
    def ask_again(self, event: Event) -> None:
        self.waits.clear()
        self.say(event)

    @rule()
    def call(self) -> None:
        self.say(CallWaits())

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.say(Tick())

    @rule()
    def wait_for_what_is_due(self) -> None:
        if self.timer is not None:
            self.now = max(self.now, self.timer)
            self.timer = None
            self.say(Tick())

    # what connections do, the current one and those long gone

    @precondition(lambda self: "opening" in self.links.values())
    @rule(tools=TOOLS)
    def open(self, tools: tuple[UpstreamTool, ...]) -> None:
        (generation,) = self.links
        self.links[generation] = "open"
        self.say(Opened(generation=generation, tools=tools))
        assert (self.machine.phase, self.tools) == ("ready", tools), "open, and not published"

    @precondition(lambda self: self.links)
    @rule(cause=st.sampled_from(sorted(CAUSES)))
    def close(self, cause: str) -> None:
        (generation,) = self.links
        healthy = self.machine.ready_at is not None and self.now - self.machine.ready_at >= self.machine.rules.healthy_s
        if healthy:
            self.waits.clear()
        del self.links[generation]
        self.say(Closed(generation=generation, cause=CAUSES[cause]))

    @precondition(lambda self: "open" in self.links.values())
    @rule(event=st.sampled_from([SessionLost, ToolsChanged]))
    def notice(self, event: type[Any]) -> None:
        if event is SessionLost and self.machine.ready_at is not None:
            healthy = self.now - self.machine.ready_at >= self.machine.rules.healthy_s
            self.waits = [] if healthy else self.waits
        self.say(event(generation=next(iter(self.links))))

    @precondition(lambda self: "open" in self.links.values())
    @rule()
    def need_login(self) -> None:
        self.say(LoginNeeded(generation=next(iter(self.links)), cause=CAUSES["auth"]))

    @precondition(lambda self: self.lists and "open" in self.links.values())
    @rule(tools=TOOLS, works=st.booleans())
    def answer_list(self, tools: tuple[UpstreamTool, ...], works: bool) -> None:
        generation = next(iter(self.links))
        self.lists -= 1
        if works:
            self.say(Listed(generation=generation, tools=tools))
            assert self.tools == tools
        else:
            self.say(ListFailed(generation=generation, cause=CAUSES["network"]))

    @precondition(lambda self: len(self.used) > 1)
    @rule(data=st.data(), tools=TOOLS)
    def hear_from_the_past(self, data: st.DataObject, tools: tuple[UpstreamTool, ...]) -> None:
        generation = data.draw(st.sampled_from(self.used[:-1]))
        before, links = self.machine, dict(self.links)
        for event in (
            Opened(generation=generation, tools=tools),
            Closed(generation=generation, cause=CAUSES["closed"]),
            SessionLost(generation=generation),
            LoginNeeded(generation=generation, cause=CAUSES["auth"]),
            ToolsChanged(generation=generation),
            Listed(generation=generation, tools=tools),
        ):
            self.say(event)
        assert (self.machine, self.links) == (before, links), "a stale event changed something"

    # what holds at all times

    @invariant()
    def ready_means_connected_and_published(self) -> None:
        if state_of(self.machine) == "ready":
            assert self.links == {self.machine.generation: "open"}
            assert self.tools is not None

    @invariant()
    def what_is_switched_off_or_removed_has_no_tools_and_leads_to_no_connection(self) -> None:
        if not self.wanted:
            assert self.tools is None
            assert set(self.links.values()) <= {"leaving"}
            assert state_of(self.machine) in {"disabled", "unavailable"}

    @invariant()
    def a_wanted_upstream_is_never_forgotten(self) -> None:
        """It has a connection, or waits for a time, for a person or for a call."""
        if self.wanted and not self.links:
            assert self.machine.phase in {"waiting", "needs_auth", "parked"}
            assert self.machine.phase != "waiting" or self.timer is not None

    @invariant()
    def the_machine_knows_what_is_published(self) -> None:
        assert self.machine.published == (self.tools is not None)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
