"""The life of one upstream's connection: a pure machine, `step(machine, event, now) -> (machine, effects)`.

All policy is here: when to connect, how long to wait, when to give up, what a refused login means. Whoever performs the effects
(one task per upstream, which enters *and* leaves the connection) has no opinion of its own and keeps four promises:

- `Connect(generation)`: open a connection and list its tools, then send `Opened`; or leave it and send `Closed` with the cause.
- `Disconnect(generation)`: leave it, or stop opening it, then send `Closed`. Until then the machine connects nowhere.
- After `Closed`, nothing of that connection is left: it is the last event of its generation.
- `WaitUntil(at)`: send `Tick` at that time; a newer `WaitUntil` replaces an older one, and a superfluous `Tick` does no harm.

A generation is the number of a connection. Events of a connection that is not the current one are stale and change nothing, so
a late disconnect cannot hurt the connection that came after it. What the machine does is a table (`TABLE`), and the state diagram
of the documentation is drawn from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from websearch_core.hub.values import (
    Cause,
    HttpTransport,
    StdioTransport,
    Transport,
    UpstreamSpec,
    UpstreamState,
    UpstreamStatus,
    UpstreamTool,
)

__all__ = [
    "HTTP_RULES",
    "STDIO_RULES",
    "TABLE",
    "AskLogin",
    "CallWaits",
    "Changed",
    "Closed",
    "Connect",
    "Disabled",
    "Disconnect",
    "Effect",
    "Enabled",
    "Event",
    "LinkEvent",
    "ListFailed",
    "ListTools",
    "Listed",
    "LoggedIn",
    "LoginNeeded",
    "Machine",
    "Opened",
    "Phase",
    "Publish",
    "Reason",
    "Removed",
    "RetryAsked",
    "Row",
    "Rules",
    "SessionLost",
    "Tick",
    "ToolsChanged",
    "WaitUntil",
    "Withdraw",
    "diagram",
    "machine_for",
    "rules_for",
    "state_of",
    "status_of",
    "step",
]

Phase: TypeAlias = Literal[
    "disabled", "initializing", "ready", "refreshing", "needs_auth", "waiting", "parked", "closing", "removed"
]
Reason: TypeAlias = Literal[
    "disabled",
    "config_added",
    "config_changed",
    "config_removed",
    "retry",
    "initialized",
    "reconnected",
    "tools_changed",
    "listing_failed",
    "handshake_failed",
    "transport_closed",
    "session_lost",
    "auth_required",
    "exhausted",
]
SHOWN: dict[Phase, UpstreamState] = {
    "disabled": "disabled",
    "initializing": "initializing",
    "ready": "ready",
    "refreshing": "ready",
    "needs_auth": "needs_auth",
    "waiting": "unavailable",
    "parked": "unavailable",
    "removed": "unavailable",
}
"""Which of the five shown states a phase is; a closing connection shows where it leads."""


# --- rules --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How patient the machine is with one kind of transport."""

    waits_s: tuple[float, ...]
    """Before each new connection after a loss. After the last one it gives up."""
    lazy: bool = False
    """Given up, the tools stay published and the next call tries once more."""
    healthy_s: float = 60.0
    """A connection that was ready for so long starts the waits anew when it is lost; a shorter one goes on where they were."""
    relist_s: float = 30.0
    """After a list of tools that failed on a good connection, the next one is asked for after so long."""


STDIO_RULES = Rules(waits_s=(1.0, 4.0, 16.0))
HTTP_RULES = Rules(waits_s=(0.0, 1.0, 4.0, 16.0, 30.0, 30.0, 30.0, 30.0), lazy=True)


def rules_for(transport: Transport) -> Rules:
    """The rules of a kind of transport."""
    return STDIO_RULES if isinstance(transport, StdioTransport) else HTTP_RULES


# --- events -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Enabled:
    """A person or the configuration wants it connected."""


@dataclass(frozen=True, slots=True)
class Disabled:
    """Switched off."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Taken out of the configuration, or the process ends. Nothing comes after it."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Configured in another way now, by these rules."""

    rules: Rules


@dataclass(frozen=True, slots=True)
class RetryAsked:
    """A person wants another try, now."""


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """There are credentials that were not there before."""


@dataclass(frozen=True, slots=True)
class CallWaits:
    """A call wants the connection."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A time that was waited for has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEvent:
    """Something that the connection of this generation did."""

    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened(LinkEvent):
    """The handshake is done, and these are the tools."""

    tools: tuple[UpstreamTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed(LinkEvent):
    """The connection is left, or could not be had; nothing of it remains. The cause tells a refused login from the rest."""

    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLost(LinkEvent):
    """The connection stands, but the other side knows our session no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginNeeded(LinkEvent):
    """A request on the open connection was refused for want of a login."""

    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsChanged(LinkEvent):
    """The upstream says that its list of tools is another now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(LinkEvent):
    """The tools, after `ListTools`."""

    tools: tuple[UpstreamTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFailed(LinkEvent):
    """The tools could not be listed, and the connection stands."""

    cause: Cause


Event: TypeAlias = (
    Enabled
    | Disabled
    | Removed
    | Changed
    | RetryAsked
    | LoggedIn
    | CallWaits
    | Tick
    | Opened
    | Closed
    | SessionLost
    | LoginNeeded
    | ToolsChanged
    | Listed
    | ListFailed
)


# --- effects ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """Open a connection; answer with `Opened` or `Closed`."""

    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """Leave the connection; answer with `Closed`."""

    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTools:
    """List the tools again; answer with `Listed` or `ListFailed`."""

    generation: int


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Send `Tick` at this time."""

    at: float


@dataclass(frozen=True, slots=True)
class AskLogin:
    """Tell whoever can log in that a login is needed, and where."""

    url: str


@dataclass(frozen=True, slots=True)
class Publish:
    """These are the tools now, all of them."""

    tools: tuple[UpstreamTool, ...]


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The upstream has no tools now."""


Effect: TypeAlias = Connect | Disconnect | ListTools | WaitUntil | AskLogin | Publish | Withdraw


# --- the machine --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One upstream's connection, as it stands. Times are seconds on the clock of `now`."""

    rules: Rules
    phase: Phase = "disabled"
    reason: Reason = "disabled"
    cause: Cause | None = None
    """Of the last thing that went wrong; None when all is well."""
    after: Phase = "disabled"
    """While closing: where it leads. `waiting` stands for another try by the rules."""
    generation: int = 0
    """Of the current connection, or of the last one."""
    tries: int = 0
    """Waits that are used up."""
    until: float | None = None
    """When something is due: the next connection, or the next list of tools."""
    ready_at: float | None = None
    """When the connection became ready; None when it is not."""
    stale: bool = False
    """While the tools are listed: they changed again meanwhile."""
    published: bool = False
    """Whether its tools are published."""


Result: TypeAlias = tuple[Machine, tuple[Effect, ...]]
E = TypeVar("E")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """In this phase, on this event, if it holds: do that and be in the other phase."""

    phase: Phase
    event: type[Any]
    to: Phase
    do: Callable[[Machine, Any, float], Result]
    when: Callable[[Machine, Any, float], bool] | None = None
    says: str = ""
    """`when` in words, for the diagram."""


def machine_for(spec: UpstreamSpec, *, generation: int = 0) -> Machine:
    """The machine of an upstream that was just configured; it does nothing until `Enabled`.

    `generation`: the highest that was ever used for this name, so that an event of an earlier life is stale.
    """
    return Machine(rules=rules_for(spec.transport), generation=generation)


def step(machine: Machine, event: Event, now: float) -> Result:
    """What becomes of the machine, and what is to be done, in this order. An event that has no row changes nothing."""
    if isinstance(event, LinkEvent) and event.generation != machine.generation:
        return machine, ()
    for row in TABLE:
        if row.phase == machine.phase and row.event is type(event) and (row.when is None or row.when(machine, event, now)):
            then, effects = row.do(machine, event, now)
            return dataclasses.replace(then, phase=row.to), effects
    return machine, ()


def state_of(machine: Machine) -> UpstreamState:
    """The shown state."""
    return SHOWN[machine.after if machine.phase == "closing" else machine.phase]


def status_of(machine: Machine, spec: UpstreamSpec, *, tools: int = 0) -> UpstreamStatus:
    """The machine, fit to be shown; `tools` is how many of its tools a model can find."""
    transport = spec.transport
    return UpstreamStatus(
        name=spec.name,
        transport=transport.kind if isinstance(transport, HttpTransport) else "stdio",
        state=state_of(machine),
        reason=machine.reason,
        detail=machine.cause.text if machine.cause else "",
        tools=tools,
        generation=machine.generation,
        retry_at=machine.until if machine.phase == "waiting" else None,
        login_url=machine.cause.login_url if machine.cause else "",
    )


# --- what is done -------------------------------------------------------------------------------------------------


def _connect(machine: Machine) -> Result:
    """The next connection."""
    then = dataclasses.replace(machine, generation=machine.generation + 1, until=None, ready_at=None, stale=False)
    return then, (Connect(generation=then.generation),)


def _afresh(machine: Machine, reason: Reason) -> Result:
    """A first connection: all waits are ahead, but not the one of no time, which this connection is."""
    first = 1 if machine.rules.waits_s[:1] == (0.0,) else 0
    return _connect(dataclasses.replace(machine, tries=first, reason=reason, cause=None))


def _withdrawn(machine: Machine) -> Result:
    """Without its tools, if any are published."""
    return dataclasses.replace(machine, published=False), (Withdraw(),) if machine.published else ()


def _start(machine: Machine, _event: Enabled, _now: float) -> Result:
    return _afresh(machine, "config_added")


def _retry(machine: Machine, _event: RetryAsked | LoggedIn, _now: float) -> Result:
    return _afresh(machine, "retry")


def _try_once(machine: Machine, _event: CallWaits, _now: float) -> Result:
    """One connection for the call that waits; the waits stay used up."""
    return _connect(dataclasses.replace(machine, reason="retry"))


def _due(machine: Machine, _event: Tick, _now: float) -> Result:
    return _connect(machine)


def _early(machine: Machine, _event: Tick, _now: float) -> Result:
    return machine, (WaitUntil(machine.until or 0.0),)


def _reconfigure(machine: Machine, event: Changed, _now: float) -> Result:
    """With other rules, from the start; there is no connection to close."""
    bare, withdrawn = _withdrawn(dataclasses.replace(machine, rules=event.rules))
    then, connect = _afresh(bare, "config_changed")
    return then, (*withdrawn, *connect)


def _note_rules(machine: Machine, event: Changed, _now: float) -> Result:
    return dataclasses.replace(machine, rules=event.rules), ()


def _switch_off(machine: Machine, _event: Disabled, _now: float) -> Result:
    return _withdrawn(dataclasses.replace(machine, reason="disabled", cause=None, until=None))


def _remove(machine: Machine, _event: Removed, _now: float) -> Result:
    return _withdrawn(dataclasses.replace(machine, reason="config_removed", cause=None, until=None))


def _leave_for(after: Phase, reason: Reason) -> Callable[[Machine, Any, float], Result]:
    """Close the connection and withdraw the tools, on the way to `after`."""

    def leave(machine: Machine, event: Any, _now: float) -> Result:
        rules = event.rules if isinstance(event, Changed) else machine.rules
        then, withdrawn = _withdrawn(
            dataclasses.replace(machine, rules=rules, after=after, reason=reason, cause=None, until=None, ready_at=None)
        )
        return then, (*withdrawn, Disconnect(generation=machine.generation))

    return leave


def _turn_to(after: Phase, reason: Reason) -> Callable[[Machine, Any, float], Result]:
    """While closing: lead elsewhere."""

    def turn(machine: Machine, event: Any, _now: float) -> Result:
        rules = event.rules if isinstance(event, Changed) else machine.rules
        then = dataclasses.replace(machine, rules=rules, after=after, reason=reason, cause=None)
        return (then, ()) if reason == "retry" else _withdrawn(then)

    return turn


def _publish(machine: Machine, event: Opened, now: float) -> Result:
    reason: Reason = "initialized" if machine.reason in {"config_added", "config_changed"} else "reconnected"
    then = dataclasses.replace(machine, reason=reason, cause=None, ready_at=now, published=True)
    return then, (Publish(event.tools),)


def _relist(machine: Machine, _event: ToolsChanged | Tick | ListFailed, _now: float) -> Result:
    return dataclasses.replace(machine, stale=False, until=None), (ListTools(generation=machine.generation),)


def _mark_stale(machine: Machine, _event: ToolsChanged, _now: float) -> Result:
    return dataclasses.replace(machine, stale=True), ()


def _republish(machine: Machine, event: Listed, _now: float) -> Result:
    then = dataclasses.replace(machine, reason="tools_changed", cause=None)
    return then, (Publish(event.tools),)


def _republish_and_relist(machine: Machine, event: Listed, now: float) -> Result:
    then, publish = _republish(machine, event, now)
    then = dataclasses.replace(then, stale=False)
    return then, (*publish, ListTools(generation=machine.generation))


def _keep_tools(machine: Machine, event: ListFailed, now: float) -> Result:
    """The old tools stay; the list is asked for again."""
    at = now + machine.rules.relist_s
    return dataclasses.replace(machine, reason="listing_failed", cause=event.cause, stale=False, until=at), (WaitUntil(at),)


def _ask_login(machine: Machine, event: Closed, _now: float) -> Result:
    """The tools stay as they are: a call of one says that a login is needed. Knocking again would be of no use."""
    cause = event.cause if event.cause.kind == "auth" else machine.cause
    then = dataclasses.replace(machine, reason="auth_required", cause=cause, until=None, ready_at=None)
    return then, (AskLogin(cause.login_url if cause else ""),)


def _leave_for_login(machine: Machine, event: LoginNeeded, _now: float) -> Result:
    then = dataclasses.replace(machine, after="needs_auth", reason="auth_required", cause=event.cause, until=None, ready_at=None)
    return then, (Disconnect(generation=machine.generation),)


def _leave_for_session(machine: Machine, _event: SessionLost, now: float) -> Result:
    """Leave a connection that is of no use any more; the tools stay, and it is replaced by the rules."""
    lost = Cause(kind="session_lost", text="the upstream does not know our session any more")
    then = dataclasses.replace(_forgiven(machine, now), after="waiting", reason="session_lost", cause=lost, until=None)
    return dataclasses.replace(then, ready_at=None), (Disconnect(generation=machine.generation),)


def _forgiven(machine: Machine, now: float) -> Machine:
    """With all waits ahead again, if the connection was good for long enough."""
    if machine.ready_at is None or now - machine.ready_at < machine.rules.healthy_s:
        return machine
    return dataclasses.replace(machine, tries=0)


def _lost(machine: Machine, event: Closed, now: float) -> Machine:
    reason: Reason = "handshake_failed" if machine.phase == "initializing" else "transport_closed"
    if machine.phase == "closing":
        return machine
    return dataclasses.replace(_forgiven(machine, now), reason=reason, cause=event.cause, ready_at=None, stale=False, until=None)


def _next_wait(machine: Machine, now: float) -> float | None:
    """Seconds until the next connection; None when all waits are used up."""
    waits, tries = machine.rules.waits_s, _forgiven(machine, now).tries
    return waits[tries] if tries < len(waits) else None


def _reconnect(machine: Machine, event: Closed, now: float) -> Result:
    lost = _lost(machine, event, now)
    return _connect(dataclasses.replace(lost, tries=lost.tries + 1))


def _wait(machine: Machine, event: Closed, now: float) -> Result:
    lost = _lost(machine, event, now)
    at = now + (_next_wait(lost, now) or 0.0)
    return dataclasses.replace(lost, tries=lost.tries + 1, until=at), (WaitUntil(at),)


def _give_up(machine: Machine, event: Closed, now: float) -> Result:
    """Lazy rules keep the tools, so that a call can try again."""
    lost = dataclasses.replace(_lost(machine, event, now), reason="exhausted")
    return (lost, ()) if machine.rules.lazy else _withdrawn(lost)


def _switched_off(machine: Machine, _event: Closed, _now: float) -> Result:
    return machine, ()


def _restart(machine: Machine, _event: Closed, _now: float) -> Result:
    return _afresh(machine, machine.reason)


# --- what holds ---------------------------------------------------------------------------------------------------


def _refused(_machine: Machine, event: Closed, _now: float) -> bool:
    return event.cause.kind == "auth"


def _at_once(machine: Machine, _event: Closed, now: float) -> bool:
    return _next_wait(machine, now) == 0.0


def _after_a_wait(machine: Machine, _event: Closed, now: float) -> bool:
    return _next_wait(machine, now) is not None


def _leads_to(after: Phase) -> Callable[[Machine, Any, float], bool]:
    return lambda machine, _event, _now: machine.after == after


def _open_end(machine: Machine, _event: Any, _now: float) -> bool:
    """While closing: nobody has switched it off or removed it."""
    return machine.after not in {"disabled", "removed"}


def _not_removed(machine: Machine, _event: Any, _now: float) -> bool:
    return machine.after != "removed"


def _time_has_come(machine: Machine, _event: Tick, now: float) -> bool:
    return machine.until is not None and now >= machine.until


def _too_early(machine: Machine, _event: Tick, now: float) -> bool:
    return machine.until is not None and now < machine.until


def _is_lazy(machine: Machine, _event: CallWaits, _now: float) -> bool:
    return machine.rules.lazy


def _is_stale(machine: Machine, _event: Any, _now: float) -> bool:
    return machine.stale


# --- the table ----------------------------------------------------------------------------------------------------


def _row(
    phase: Phase,
    event: type[E],
    to: Phase,
    do: Callable[[Machine, E, float], Result],
    *,
    when: Callable[[Machine, E, float], bool] | None = None,
    says: str = "",
) -> Row:
    return Row(phase=phase, event=event, to=to, do=do, when=when, says=says)


def _when_gone(phase: Phase) -> tuple[Row, ...]:
    """A connection that is lost, or was not to be had."""
    at_once = _row(phase, Closed, "initializing", _reconnect, when=_at_once, says="next try at once")
    return (
        _row(phase, Closed, "needs_auth", _ask_login, when=_refused, says="login refused"),
        *(() if phase == "initializing" else (at_once,)),
        _row(phase, Closed, "waiting", _wait, when=_after_a_wait, says="tries left"),
        _row(phase, Closed, "parked", _give_up, says="no try left"),
    )


def _when_connected(phase: Phase) -> tuple[Row, ...]:
    """What a person can do to an upstream that has a connection."""
    return (
        _row(phase, Disabled, "closing", _leave_for("disabled", "disabled")),
        _row(phase, Removed, "closing", _leave_for("removed", "config_removed")),
        _row(phase, Changed, "closing", _leave_for("initializing", "config_changed")),
    )


def _when_unconnected(phase: Phase) -> tuple[Row, ...]:
    """What a person can do to an upstream that is wanted and has no connection."""
    return (
        _row(phase, RetryAsked, "initializing", _retry),
        _row(phase, LoggedIn, "initializing", _retry),
        _row(phase, Changed, "initializing", _reconfigure),
        _row(phase, Disabled, "disabled", _switch_off),
        _row(phase, Removed, "removed", _remove),
    )


TABLE: tuple[Row, ...] = (
    _row("disabled", Enabled, "initializing", _start),
    _row("disabled", Changed, "disabled", _note_rules),
    _row("disabled", Removed, "removed", _remove),
    _row("initializing", Opened, "ready", _publish),
    *_when_gone("initializing"),
    *_when_connected("initializing"),
    _row("ready", ToolsChanged, "refreshing", _relist),
    _row("ready", Tick, "refreshing", _relist, when=_time_has_come, says="list had failed"),
    _row("ready", Tick, "ready", _early, when=_too_early, says="too early"),
    _row("ready", SessionLost, "closing", _leave_for_session),
    _row("ready", LoginNeeded, "closing", _leave_for_login),
    *_when_gone("ready"),
    *_when_connected("ready"),
    _row("refreshing", Listed, "refreshing", _republish_and_relist, when=_is_stale, says="changed meanwhile"),
    _row("refreshing", Listed, "ready", _republish),
    _row("refreshing", ToolsChanged, "refreshing", _mark_stale),
    _row("refreshing", ListFailed, "refreshing", _relist, when=_is_stale, says="changed meanwhile"),
    _row("refreshing", ListFailed, "ready", _keep_tools),
    _row("refreshing", SessionLost, "closing", _leave_for_session),
    _row("refreshing", LoginNeeded, "closing", _leave_for_login),
    *_when_gone("refreshing"),
    *_when_connected("refreshing"),
    *_when_unconnected("needs_auth"),
    _row("waiting", Tick, "initializing", _due, when=_time_has_come, says="time has come"),
    _row("waiting", Tick, "waiting", _early, when=_too_early, says="too early"),
    *_when_unconnected("waiting"),
    _row("parked", CallWaits, "initializing", _try_once, when=_is_lazy, says="HTTP"),
    *_when_unconnected("parked"),
    _row("closing", Closed, "disabled", _switched_off, when=_leads_to("disabled"), says="switched off"),
    _row("closing", Closed, "removed", _switched_off, when=_leads_to("removed"), says="removed"),
    _row("closing", Closed, "initializing", _restart, when=_leads_to("initializing"), says="wanted again"),
    _row("closing", Closed, "needs_auth", _ask_login, when=_leads_to("needs_auth"), says="login needed"),
    *_when_gone("closing"),
    _row("closing", Enabled, "closing", _turn_to("initializing", "config_added"), when=_leads_to("disabled"), says="enabled"),
    _row("closing", Changed, "closing", _turn_to("initializing", "config_changed"), when=_open_end, says="changed"),
    _row("closing", Changed, "closing", _note_rules, when=_leads_to("disabled"), says="changed while off"),
    _row("closing", RetryAsked, "closing", _turn_to("initializing", "retry"), when=_open_end, says="retry"),
    _row("closing", LoggedIn, "closing", _turn_to("initializing", "retry"), when=_open_end, says="logged in"),
    _row("closing", Disabled, "closing", _turn_to("disabled", "disabled"), when=_not_removed, says="disabled"),
    _row("closing", Removed, "closing", _turn_to("removed", "config_removed")),
)
"""Read from the top: the first row whose phase, event and condition hold is taken."""


def diagram() -> str:
    """The table as a Mermaid state diagram: one arrow for each two phases, with what leads along it."""
    arrows: dict[tuple[Phase, Phase], list[str]] = {}
    for row in TABLE:
        label = f"{row.event.__name__} ({row.says})" if row.says else row.event.__name__
        arrows.setdefault((row.phase, row.to), []).append(label)
    lines = ["stateDiagram-v2", "    [*] --> disabled"]
    lines += [f"    {phase} --> {to}: {', '.join(labels)}" for (phase, to), labels in arrows.items()]
    return "\n".join([*lines, "    removed --> [*]"])
