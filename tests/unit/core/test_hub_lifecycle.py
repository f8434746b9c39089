"""The life of an upstream's connection, event by event."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from websearch_core.hub import lifecycle
from websearch_core.hub.lifecycle import (
    HTTP_RULES,
    STDIO_RULES,
    TABLE,
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
    Row,
    Rules,
    SessionLost,
    Tick,
    ToolsChanged,
    WaitUntil,
    Withdraw,
    state_of,
    step,
)
from websearch_core.hub.values import Cause, HttpTransport, StdioTransport, UpstreamSpec, UpstreamTool

TOOLS = (UpstreamTool(name="fetch"),)
OTHER_TOOLS = (UpstreamTool(name="fetch"), UpstreamTool(name="post"))
GONE = Cause(kind="closed", text="the process ended")
REFUSED = Cause(kind="auth", text="401", login_url="https://auth.example/login")


class Life:
    """A machine, its clock and everything it asked for."""

    def __init__(self, rules: Rules, *events: Event, machine: Machine | None = None) -> None:
        self.now = 0.0
        self.machine = machine or Machine(rules=rules)
        self.asked: list[Effect] = []
        self.say(*events)

    def say(self, *events: Event) -> list[Effect]:
        """What the last of the events led to."""
        effects: tuple[Effect, ...] = ()
        for event in events:
            self.machine, effects = step(self.machine, event, self.now)
            self.asked += effects
        return list(effects)

    def connected(self, *, for_s: float = 0.0) -> Life:
        """Opened, and ready for so long."""
        self.say(Opened(generation=self.machine.generation, tools=TOOLS))
        self.now += for_s
        return self

    def lost(self, cause: Cause = GONE) -> list[Effect]:
        return self.say(Closed(generation=self.machine.generation, cause=cause))

    def tick(self) -> list[Effect]:
        """Wait until what is due, and say so."""
        assert self.machine.until is not None
        self.now = self.machine.until
        return self.say(Tick())

    @property
    def shown(self) -> tuple[str, str]:
        return state_of(self.machine), self.machine.reason


def ready(rules: Rules = STDIO_RULES, *, for_s: float = 100.0) -> Life:
    return Life(rules, Enabled()).connected(for_s=for_s)


def waits_until_parked(life: Life) -> Iterable[float]:
    while life.machine.phase != "parked":
        before = life.now
        life.lost()
        if life.machine.phase == "waiting":
            life.tick()
            yield life.now - before


@pytest.mark.requirement("HUB-LIFE-01")
def test_from_configured_to_ready_the_tools_are_published_in_the_step_that_says_ready() -> None:
    life = Life(STDIO_RULES)
    assert life.shown == ("disabled", "disabled")
    assert life.say(Enabled()) == [Connect(generation=1)]
    assert life.shown == ("initializing", "config_added")
    assert life.say(Opened(generation=1, tools=TOOLS)) == [Publish(TOOLS)]
    assert life.shown == ("ready", "initialized")


@pytest.mark.requirement("HUB-LIFE-02")
def test_a_process_that_dies_is_started_again_after_one_second_and_listed_again() -> None:
    life = ready()

    assert life.lost() == [WaitUntil(101.0)]
    assert life.shown == ("unavailable", "transport_closed")
    assert life.tick() == [Connect(generation=2)]
    assert life.say(Opened(generation=2, tools=OTHER_TOOLS)) == [Publish(OTHER_TOOLS)]
    assert life.shown == ("ready", "reconnected")


@pytest.mark.requirement("HUB-LIFE-03")
def test_a_process_that_stays_dead_is_started_after_1_4_and_16_seconds_and_then_given_up_without_its_tools() -> None:
    life = ready()

    assert list(waits_until_parked(life)) == [1.0, 4.0, 16.0]
    assert life.asked[-1] == Withdraw()
    assert life.shown == ("unavailable", "exhausted")
    assert life.say(CallWaits()) == []
    assert life.say(RetryAsked()) == [Connect(generation=5)]


@pytest.mark.requirement("HUB-LIFE-04")
def test_a_process_that_starts_well_and_dies_at_once_does_not_restart_for_ever() -> None:
    life = ready(for_s=1.0)
    waits = []
    while life.lost() != [Withdraw()]:
        waits.append(life.tick())
        life.connected(for_s=1.0)

    assert len(waits) == 3


def test_a_process_that_was_well_for_a_minute_starts_the_waits_anew() -> None:
    life = ready(for_s=1.0)
    for _ in range(10):
        assert life.lost() == [WaitUntil(life.now + 1.0)]
        life.tick()
        life.connected(for_s=60.0)


@pytest.mark.requirement("HUB-LIFE-05")
def test_a_lost_http_connection_is_replaced_at_once_with_its_tools_kept_and_then_by_the_ladder() -> None:
    life = ready(HTTP_RULES)

    assert life.lost() == [Connect(generation=2)]
    assert life.shown == ("initializing", "transport_closed")
    assert list(waits_until_parked(life)) == [1.0, 4.0, 16.0, 30.0, 30.0, 30.0, 30.0]
    assert Withdraw() not in life.asked
    assert life.machine.published


@pytest.mark.requirement("HUB-LIFE-06")
def test_after_the_ladder_the_next_call_tries_http_once_more() -> None:
    life = ready(HTTP_RULES)
    list(waits_until_parked(life))

    assert life.say(CallWaits()) == [Connect(generation=life.machine.generation)]
    assert life.lost() == []
    assert life.shown == ("unavailable", "exhausted")
    life.say(CallWaits())
    assert life.connected().shown == ("ready", "reconnected")


def test_a_first_http_connection_that_fails_waits_for_a_second_before_the_next() -> None:
    life = Life(HTTP_RULES, Enabled())

    assert life.lost() == [WaitUntil(1.0)]
    assert life.shown == ("unavailable", "handshake_failed")


@pytest.mark.requirement("HUB-LIFE-07")
@pytest.mark.parametrize("rules", [STDIO_RULES, HTTP_RULES])
def test_a_refused_login_is_not_repeated_and_asks_for_a_person(rules: Rules) -> None:
    life = Life(rules, Enabled())

    assert life.lost(REFUSED) == [AskLogin("https://auth.example/login")]
    assert life.shown == ("needs_auth", "auth_required")
    assert life.say(Tick(), CallWaits()) == []
    assert life.say(LoggedIn()) == [Connect(generation=2)]


@pytest.mark.requirement("HUB-LIFE-07")
def test_a_login_that_runs_out_on_an_open_connection_closes_it_and_asks_for_a_person() -> None:
    life = ready(HTTP_RULES)

    assert life.say(LoginNeeded(generation=1, cause=REFUSED)) == [Disconnect(generation=1)]
    assert life.shown == ("needs_auth", "auth_required")
    assert life.lost() == [AskLogin("https://auth.example/login")]
    assert life.machine.published, "a call can still say what is missing"


@pytest.mark.requirement("HUB-LIFE-08")
def test_a_lost_session_is_left_and_replaced_at_once() -> None:
    life = ready(HTTP_RULES)

    assert life.say(SessionLost(generation=1)) == [Disconnect(generation=1)]
    assert life.shown == ("unavailable", "session_lost")
    assert life.lost() == [Connect(generation=2)]


@pytest.mark.requirement("HUB-LIFE-09")
def test_a_disconnect_that_comes_late_cannot_hurt_the_connection_that_came_after() -> None:
    life = ready()
    life.lost()
    life.tick()
    life.connected()
    before = life.machine

    for stale in (
        Closed(generation=1, cause=GONE),
        SessionLost(generation=1),
        LoginNeeded(generation=1, cause=REFUSED),
        Listed(generation=1, tools=()),
        ToolsChanged(generation=1),
    ):
        assert life.say(stale) == []
    assert life.machine == before


@pytest.mark.requirement("HUB-LIFE-10")
@pytest.mark.parametrize("rules", [STDIO_RULES, HTTP_RULES])
@pytest.mark.parametrize("event", [Disabled(), Removed()])
def test_switched_off_or_removed_while_waiting_it_stops_at_once(rules: Rules, event: Event) -> None:
    life = Life(rules, Enabled())
    life.lost()
    life.say(event)

    life.now += 1_000
    assert life.say(Tick(), CallWaits(), RetryAsked(), LoggedIn()) == []
    assert life.machine.phase in {"disabled", "removed"}


@pytest.mark.requirement("HUB-LIFE-10")
def test_switched_off_while_connected_the_tools_go_first_and_the_connection_next() -> None:
    life = ready()

    assert life.say(Disabled()) == [Withdraw(), Disconnect(generation=1)]
    assert life.shown == ("disabled", "disabled")
    assert life.lost() == []
    assert life.say(Enabled()) == [Connect(generation=2)]


@pytest.mark.requirement("HUB-LIFE-11")
def test_enabled_again_while_it_still_closes_it_connects_only_when_that_is_done() -> None:
    life = ready()
    life.say(Disabled())

    assert life.say(Enabled()) == []
    assert life.shown == ("initializing", "config_added")
    assert life.lost() == [Connect(generation=2)]


def test_removed_while_it_closes_nothing_brings_it_back() -> None:
    life = ready()
    life.say(Removed())

    assert life.say(Enabled(), Changed(STDIO_RULES), RetryAsked(), Disabled()) == []
    assert life.lost() == []
    assert life.machine.phase == "removed"


@pytest.mark.requirement("HUB-LIFE-12")
def test_changed_in_the_configuration_it_starts_from_the_beginning_with_the_new_rules() -> None:
    life = ready()

    assert life.say(Changed(HTTP_RULES)) == [Withdraw(), Disconnect(generation=1)]
    assert life.lost() == [Connect(generation=2)]
    assert (life.machine.rules, life.shown) == (HTTP_RULES, ("initializing", "config_changed"))


def test_changed_while_it_is_off_it_stays_off_with_the_new_rules() -> None:
    life = Life(STDIO_RULES)
    life.say(Changed(HTTP_RULES))
    assert (life.machine.rules, life.machine.phase) == (HTTP_RULES, "disabled")

    life = ready()
    life.say(Disabled(), Changed(HTTP_RULES))
    assert life.lost() == []
    assert (life.machine.rules, life.machine.phase) == (HTTP_RULES, "disabled")


@pytest.mark.requirement("HUB-LIFE-13")
def test_a_changed_list_is_listed_again_and_published_whole() -> None:
    life = ready()

    assert life.say(ToolsChanged(generation=1)) == [ListTools(generation=1)]
    assert life.shown[0] == "ready"
    assert life.say(Listed(generation=1, tools=OTHER_TOOLS)) == [Publish(OTHER_TOOLS)]
    assert life.shown == ("ready", "tools_changed")


def test_a_list_that_changes_while_it_is_listed_is_listed_once_more_however_often_it_changed() -> None:
    life = ready()
    life.say(*[ToolsChanged(generation=1)] * 5)

    assert life.say(Listed(generation=1, tools=TOOLS)) == [Publish(TOOLS), ListTools(generation=1)]
    assert life.say(Listed(generation=1, tools=OTHER_TOOLS)) == [Publish(OTHER_TOOLS)]


def test_a_list_that_cannot_be_had_leaves_the_old_one_and_is_asked_for_again_later() -> None:
    life = ready()
    life.say(ToolsChanged(generation=1))

    assert life.say(ListFailed(generation=1, cause=Cause(kind="protocol", text="no list"))) == [WaitUntil(130.0)]
    assert life.shown == ("ready", "listing_failed")
    assert life.say(Tick()) == [WaitUntil(130.0)], "too early"
    assert life.tick() == [ListTools(generation=1)]


def test_a_superfluous_tick_does_no_harm() -> None:
    life = ready()
    before = life.machine
    assert life.say(Tick()) == []
    assert life.machine == before

    life.lost()
    assert life.say(Tick()) == [WaitUntil(life.now + 1.0)]


def test_the_status_tells_the_state_the_reason_and_when_the_next_try_is() -> None:
    spec = UpstreamSpec(name="files", transport=StdioTransport(command="files"))
    life = Life(STDIO_RULES, Enabled(), machine=lifecycle.machine_for(spec, generation=7))
    life.lost()
    status = lifecycle.status_of(life.machine, spec, tools=3)

    assert (status.state, status.reason, status.detail) == ("unavailable", "handshake_failed", "the process ended")
    assert (status.retry_at, status.generation, status.tools, status.transport) == (1.0, 8, 3, "stdio")
    assert lifecycle.machine_for(UpstreamSpec(name="web", transport=HttpTransport(url="https://a.example"))).rules.lazy


# --- the table ----------------------------------------------------------------------------------------------------


def _at(row: Row) -> Iterable[tuple[Machine, Event, float]]:
    """Machines, events and times among which each row of the table finds its own."""
    for rules in (STDIO_RULES, HTTP_RULES):
        for tries in (0, 1, len(rules.waits_s)):
            for stale in (False, True):
                for after in ("disabled", "removed", "initializing", "needs_auth", "waiting"):
                    machine = Machine(
                        rules=rules, phase=row.phase, after=after, generation=1, tries=tries, stale=stale, until=5.0
                    )
                    yield from ((machine, event, now) for event in _events(row) for now in (0.0, 9.0))


def _events(row: Row) -> Iterable[Event]:
    made: dict[type, tuple[Event, ...]] = {
        Changed: (Changed(HTTP_RULES),),
        Opened: (Opened(generation=1, tools=TOOLS),),
        Closed: (Closed(generation=1, cause=GONE), Closed(generation=1, cause=REFUSED)),
        SessionLost: (SessionLost(generation=1),),
        LoginNeeded: (LoginNeeded(generation=1, cause=REFUSED),),
        ToolsChanged: (ToolsChanged(generation=1),),
        Listed: (Listed(generation=1, tools=TOOLS),),
        ListFailed: (ListFailed(generation=1, cause=GONE),),
    }
    return made[row.event] if row.event in made else (row.event(),)


@pytest.mark.requirement("HUB-LIFE-14")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.phase}-{row.event.__name__}-{row.says or 'always'}-{row.to}")
def test_every_arrow_of_the_diagram_can_be_walked(row: Row) -> None:
    def chosen(machine: Machine, event: Event, now: float) -> Row | None:
        rows = (one for one in TABLE if (one.phase, one.event) == (machine.phase, type(event)))
        return next((one for one in rows if one.when is None or one.when(machine, event, now)), None)

    walks = [(machine, event, now) for machine, event, now in _at(row) if chosen(machine, event, now) is row]
    assert walks, "a row above it takes all of its events"
    assert {step(machine, event, now)[0].phase for machine, event, now in walks} == {row.to}
    assert f"    {row.phase} --> {row.to}: " in lifecycle.diagram()


@pytest.mark.requirement("HUB-LIFE-14")
def test_each_of_the_five_states_is_shown_by_some_phase_that_can_be_reached() -> None:
    reached = {"disabled", *(row.to for row in TABLE)}
    assert {lifecycle.SHOWN[phase] for phase in lifecycle.SHOWN if phase in reached and phase != "removed"} == {
        "initializing",
        "ready",
        "needs_auth",
        "unavailable",
        "disabled",
    }
