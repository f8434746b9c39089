"""Performs what the machines of `websearch_core.hub.lifecycle` ask for: one keeper per upstream, and no keeper waits for another.

A keeper's connection lives in a task of its own, from its opening to the moment when nothing of it is left. What an upstream
offers is published when that upstream is ready, whatever the others do.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from websearch_adapters.upstream.session import cause_of
from websearch_core.errors import AuthRejected, NotAllowed, Unreachable, WebSearchError
from websearch_core.hub import lifecycle, registry, window
from websearch_core.hub.lifecycle import (
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
    Machine,
    Opened,
    Publish,
    Removed,
    RetryAsked,
    Rules,
    Tick,
    ToolsChanged,
    WaitUntil,
    Withdraw,
)
from websearch_core.hub.ports import SERVICE, Upstream, UpstreamLink
from websearch_core.hub.registry import Diff, Registry
from websearch_core.hub.values import Catalog, Cause, Transport, UpstreamSpec, UpstreamStatus, UpstreamTool
from websearch_core.hub.window import Notice, Window

__all__ = ["Endable", "Supervisor"]

SOON_S = 5.0
"""A call waits for a connection that is tried within so long."""
LEAVING_S = 0.7
"""For all upstreams to be left in peace when the process ends; what is still there then is killed."""
KILLED_S = 0.4
SETTLE_S = 0.1
"""For a connection that failed under a call to turn out to be gone."""


class Endable(Upstream, Protocol):
    """An upstream whose process can be ended at once."""

    def kill(self) -> None:
        """End it and its children now."""
        ...


class Supervisor:
    """All upstreams as they stand; implements `websearch_core.hub.ports.Upstreams`."""

    def __init__(
        self,
        specs: Iterable[UpstreamSpec],
        upstream: Callable[[UpstreamSpec], Endable],
        *,
        digests: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        rules: Callable[[Transport], Rules] = lifecycle.rules_for,
        now: Callable[[], float] = time.monotonic,
        on_status: Callable[[UpstreamStatus], None] = lambda _: None,
        on_tools: Callable[[Diff], None] = lambda _: None,
        on_digests: Callable[[str, Mapping[str, str]], object] = lambda _name, _digests: None,
    ) -> None:
        """Opens nothing.

        `digests`: upstream → raw tool → the words that were accepted in an earlier life. `on_digests` is told when others are.
        `on_status` is told each change of a status, `on_tools` each change of what a model can find.
        """
        self._upstream = upstream
        self._digests = digests
        self._rules = rules
        self._now = now
        self._on_status = on_status
        self._on_tools = on_tools
        self._on_digests = on_digests
        self._registry = Registry()
        self._notices: Window[None] = Window()
        self._shown: dict[str, UpstreamStatus] = {}
        self._generations: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_names: Callable[[], None] = lambda: None
        """Is told when other upstreams are switched on than before."""
        self._started = False
        self._beside: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._helpers: list[asyncio.Task[None]] = []
        self._leaving: set[_Keeper] = set()
        self._keepers: dict[str, _Keeper] = {}
        for spec in specs:
            self._add(spec)

    # Upstreams

    def catalog(self) -> Catalog:
        """The tools of now."""
        return self._registry.catalog

    @property
    def registry(self) -> Registry:
        """All that was listed, for explanations."""
        return self._registry

    def statuses(self) -> tuple[UpstreamStatus, ...]:
        """One for each configured upstream, by name."""
        return tuple(self._status(self._keepers[name]) for name in sorted(self._keepers))

    def spec(self, upstream: str, /) -> UpstreamSpec:
        """How it is configured."""
        return self._keepers[upstream].spec

    async def link(self, upstream: str, /, *, after: UpstreamLink | None = None) -> UpstreamLink:
        """The live connection, once there is one. Before `start`, only the upstreams that are asked for are connected.

        Raises:
            AuthRejected: it waits for a login.
            NotAllowed: it is disabled.
            Unreachable: it is gone and no connection is being opened or planned soon.
        """
        keeper = self._keepers[upstream]
        if not self._started and keeper.spec.enabled:
            keeper.send(Enabled())
        if after is not None and keeper.link is after and not await _is_gone(after):
            return after
        keeper.send(CallWaits())
        while (link := keeper.link) is None or link is after or not _is_alive(link):
            self._require_hope(keeper)
            await keeper.news()
        return link

    # control

    def names(self) -> tuple[str, ...]:
        """The upstreams that are switched on."""
        return tuple(sorted(name for name, keeper in self._keepers.items() if keeper.spec.enabled))

    def beside(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run this too, from `start` until the end."""
        self._beside.append(work)

    def start(self) -> None:
        """Begin to connect all that are enabled, all at once; returns before any of them is."""
        self._started = True
        self._helpers = [asyncio.create_task(work()) for work in self._beside]
        for keeper in self._keepers.values():
            self._begin(keeper)

    def enable(self, upstream: str) -> None:
        """Connect it from now on."""
        self._keepers[upstream].send(Enabled())

    def disable(self, upstream: str) -> None:
        """Disconnect it until it is enabled again."""
        self._keepers[upstream].send(Disabled())

    def retry(self, upstream: str) -> None:
        """Try again now."""
        self._keepers[upstream].send(RetryAsked())

    def accept(self, upstream: str, tool: str | None = None) -> None:
        """Take the present words of its tools, or of one, for good."""
        self._now_listed(registry.accepted(self._registry, upstream, tool))
        self._on_digests(upstream, self._registry.listings[upstream].digests)
        self.stepped(self._keepers[upstream])

    def reaccept(self, digests: Mapping[str, Mapping[str, str]]) -> None:
        """Take what another process accepted: upstream → raw tool → words."""
        for name in digests.keys() & self._keepers.keys():
            self._now_listed(registry.reaccepted(self._registry, name, digests[name]))
            self.stepped(self._keepers[name])

    def logged_in(self, upstream: str) -> None:
        """There are credentials that were not there before."""
        self._keepers[upstream].note_login()

    def apply(self, specs: Iterable[UpstreamSpec]) -> None:
        """Another configuration: what did not change keeps its connection."""
        before = self.names()
        wanted = {spec.name: spec for spec in specs}
        for name in [name for name in self._keepers if name not in wanted]:
            self._remove(name)
        for name, spec in wanted.items():
            keeper = self._keepers.get(name)
            if keeper is None:
                self._begin(self._add(spec))
            elif keeper.spec != spec:
                self._reconfigure(keeper, spec)
        if self.names() != before:
            self.on_names()

    async def until_settled(self) -> None:
        """Wait until no upstream's first connection is under way any more."""
        for keeper in list(self._keepers.values()):
            while keeper.machine.phase == "initializing":
                await keeper.news()

    async def aclose(self) -> None:
        """Leave all upstreams; what does not leave within a second is killed. Nothing is left behind."""
        for helper in self._helpers:
            helper.cancel()
        for name in list(self._keepers):
            self._remove(name)
        try:
            await self._ended(LEAVING_S)
        finally:
            for keeper in self._leaving:
                keeper.upstream.kill()
        await self._ended(KILLED_S)
        for task in self._tasks:
            task.cancel()
        if left := {*self._tasks, *self._helpers}:
            await asyncio.wait(left, timeout=KILLED_S)

    # what keepers ask for

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run it; it is awaited when the hub is closed."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def note_change(self, upstream: str, generation: int) -> None:
        """An upstream says that its tools changed: all that say so within 50 ms are told of once."""
        opens = self._notices.opened_at is None
        notice: Notice[None] = Notice(upstream=upstream, kind="tools", generation=generation, what=None)
        self._notices = window.noted(self._notices, notice, self._now())
        if opens:
            asyncio.get_running_loop().call_later(window.WINDOW_S, self._flush)

    def published(self, keeper: _Keeper, tools: tuple[UpstreamTool, ...]) -> None:
        """These are its tools now; none when they are withdrawn."""
        name = keeper.spec.name
        before = self._registry.listings[name].digests
        self._now_listed(registry.listed(self._registry, name, tools, instructions=keeper.instructions if tools else ""))
        if (digests := self._registry.listings[name].digests) != before:
            self._on_digests(name, digests)

    def stepped(self, keeper: _Keeper) -> None:
        """Its machine moved: show it."""
        name = keeper.spec.name
        self._generations[name] = max(self._generations.get(name, 0), keeper.machine.generation)
        if keeper.machine.phase == "removed":
            self._leaving.discard(keeper)
        if self._keepers.get(name) is not keeper:
            return
        if self._registry.listings[name].awaited and lifecycle.state_of(keeper.machine) not in {"initializing", "ready"}:
            self._respecify(keeper.spec, awaited=False)
        if (shown := self._status(keeper)) != self._shown.get(name):
            self._shown[name] = shown
            self._on_status(shown)

    # own

    def _add(self, spec: UpstreamSpec) -> _Keeper:
        self._respecify(spec)
        machine = Machine(rules=self._rules(spec.transport), generation=self._generations.get(spec.name, 0))
        self._keepers[spec.name] = keeper = _Keeper(spec, self._upstream(spec), machine, self, self._now)
        return keeper

    def _respecify(self, spec: UpstreamSpec, *, awaited: bool = True) -> None:
        """`awaited`: whether its first list is to come soon."""
        digests = self._digests.get(spec.name, {})
        self._now_listed(registry.respecified(self._registry, spec, awaited=awaited and spec.enabled, digests=digests))

    def _now_listed(self, change: tuple[Registry, Diff]) -> None:
        self._registry, diff = change
        if diff:
            self._on_tools(diff)

    def _begin(self, keeper: _Keeper) -> None:
        if keeper.spec.enabled:
            keeper.send(Enabled())
        else:
            self.stepped(keeper)

    def _remove(self, name: str) -> None:
        keeper = self._keepers.pop(name)
        self._leaving.add(keeper)
        keeper.send(Removed())
        self._shown.pop(name, None)
        self._now_listed(registry.forgotten(self._registry, name))

    def _reconfigure(self, keeper: _Keeper, spec: UpstreamSpec) -> None:
        """Other tools or time-outs need no new connection."""
        before, keeper.spec = keeper.spec, spec
        self._respecify(spec)
        if spec.transport != before.transport:
            keeper.next_upstream = self._upstream(spec)
            keeper.send(Changed(self._rules(spec.transport)))
        if spec.enabled != before.enabled:
            keeper.send(Enabled() if spec.enabled else Disabled())
        self.stepped(keeper)

    def _status(self, keeper: _Keeper) -> UpstreamStatus:
        """As it is shown: a connection that has just ended is not ready, also before the machine knows."""
        status = self._standing(keeper)
        if status.state != "ready" or _is_alive(keeper.link):
            return status
        return dataclasses.replace(status, state="unavailable", reason="transport_closed", detail="the connection ended")

    def _standing(self, keeper: _Keeper) -> UpstreamStatus:
        """As the machine has it."""
        name = keeper.spec.name
        visible = sum(entry.standing == "visible" for entry in self._registry.judged.get(name, ()))
        return lifecycle.status_of(keeper.machine, keeper.spec, tools=visible)

    def _flush(self) -> None:
        self._notices, due = window.flushed(self._notices, self._now(), ending=True)
        for notice in due:
            if (keeper := self._keepers.get(notice.upstream)) is not None:
                keeper.send(ToolsChanged(generation=notice.generation))

    def _require_hope(self, keeper: _Keeper) -> None:
        status, name = self._standing(keeper), keeper.spec.name
        facts: Mapping[str, object] = {"upstream": name, "state": status.state}
        if status.state == "needs_auth":
            raise AuthRejected(
                f"upstream {name} wants a login",
                provider=SERVICE,
                hint=f"Run: websearch upstream login {name}",
                diagnostics={**facts, "login_url": status.login_url},
            )
        if status.state == "disabled":
            raise NotAllowed(f"upstream {name} is switched off", provider=SERVICE, diagnostics=facts)
        soon = status.retry_at is not None and status.retry_at - self._now() <= SOON_S
        if status.state == "unavailable" and not soon:
            raise Unreachable(
                f"upstream {name} is unavailable: {status.detail or status.reason}", provider=SERVICE, diagnostics=facts
            )

    async def _ended(self, within_s: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)


class _Keeper:
    """One upstream in one pair of hands."""

    def __init__(
        self, spec: UpstreamSpec, upstream: Endable, machine: Machine, hub: Supervisor, now: Callable[[], float]
    ) -> None:
        self.spec = spec
        self.upstream = upstream
        self.next_upstream: Endable | None = None
        """After a change of the configuration: for the next connection."""
        self.machine = machine
        self.link: UpstreamLink | None = None
        self.instructions = ""
        self._hub = hub
        self._now = now
        self._timer: asyncio.TimerHandle | None = None
        self._connection: asyncio.Task[None] | None = None
        self._listing: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._login_is_newer = False
        self._news: asyncio.Future[None] | None = None

    def send(self, event: Event) -> None:
        """Let the machine take a step and do what it asks for."""
        self.machine, effects = lifecycle.step(self.machine, event, self._now())
        for effect in effects:
            self._perform(effect)
        if self._login_is_newer and self.machine.phase == "needs_auth":
            self.note_login()
            return
        if isinstance(event, Opened):
            self._login_is_newer = False
        self._hub.stepped(self)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def note_login(self) -> None:
        """Try again with it; a refusal of a connection that began without it means nothing any more."""
        self._login_is_newer = self.machine.phase != "needs_auth"
        self.send(LoggedIn())

    async def news(self) -> None:
        """Wait for the next step."""
        if self._news is None or self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._news)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Connect():
                self.upstream, self.next_upstream = self.next_upstream or self.upstream, None
                self._leave = asyncio.Event()
                self._connection = self._hub.spawn(self._connected(effect.generation, self._leave))
            case Disconnect():
                self._leave.set()
                if self.link is None and self._connection is not None:
                    self._connection.cancel()
                self.link = None
            case ListTools():
                self._listing = self._hub.spawn(self._listed(effect.generation))
            case WaitUntil():
                self._wait(effect.at)
            case Publish():
                self._hub.published(self, effect.tools)
            case Withdraw():
                self._hub.published(self, ())
            case AskLogin():
                pass  # the status says it

    def _wait(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(max(at - self._now(), 0.0), self.send, Tick())

    async def _connected(self, generation: int, leave: asyncio.Event) -> None:
        """One connection from its opening to the moment when nothing of it is left."""
        cause = Cause(kind="closed", text="left")
        try:
            cause = await self._lived(generation, leave)
        except TimeoutError:
            cause = Cause(kind="timeout", text=f"it did not answer within {self.spec.startup_timeout_s:g} s")
        except WebSearchError as error:
            cause = cause_of(error)
        except asyncio.CancelledError:
            if not leave.is_set():
                raise
        finally:
            self.link = None
            self.send(Closed(generation=generation, cause=cause))

    async def _lived(self, generation: int, leave: asyncio.Event) -> Cause:
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(self.spec.startup_timeout_s):
                changed = lambda: self._hub.note_change(self.spec.name, generation)  # noqa: E731 - a name for one argument
                link = await stack.enter_async_context(self.upstream.connect(changed))
                tools = await link.tools()
            self.link, self.instructions = link, link.info.instructions
            self.send(Opened(generation=generation, tools=tools))
            cause = await _first(link.closed(), leave)
            self.link = None
            return cause

    async def _listed(self, generation: int) -> None:
        try:
            if (link := self.link) is None:
                return
            async with asyncio.timeout(self.spec.startup_timeout_s):
                tools = await link.tools()
        except (WebSearchError, TimeoutError) as error:
            cause = cause_of(error) if isinstance(error, WebSearchError) else Cause(kind="timeout", text="no list of tools came")
            self.send(ListFailed(generation=generation, cause=cause))
        else:
            self.send(Listed(generation=generation, tools=tools))


async def _first(closed: Coroutine[Any, Any, Cause], leave: asyncio.Event) -> Cause:
    """The cause for which the connection closed, or that we leave it."""
    closing, leaving = asyncio.ensure_future(closed), asyncio.ensure_future(leave.wait())
    try:
        await asyncio.wait({closing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return closing.result() if closing.done() else Cause(kind="closed", text="left")
    finally:
        closing.cancel()
        leaving.cancel()


def _is_alive(link: UpstreamLink | None) -> bool:
    """Whether a call would be sent; a link that cannot tell is taken for alive."""
    return link is not None and getattr(link, "alive", True)


async def _is_gone(link: UpstreamLink) -> bool:
    closing = asyncio.ensure_future(link.closed())
    try:
        done, _ = await asyncio.wait({closing}, timeout=SETTLE_S)
        return bool(done)
    finally:
        closing.cancel()
