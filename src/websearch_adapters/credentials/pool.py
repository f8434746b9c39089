"""Keys that stand in the settings, used in turn and shared fairly; implements `ports.Credentials`.

One `_Service` per provider holds how its keys and its circuit stand, and who waits; all of it changes between two awaits, so
tasks of one loop need no lock. With a cache, processes tell each other what they find out (`notes`): a key that is parked in one
is parked in all, and one that nobody knows yet is tried by a single process at a time.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, Self

from websearch_adapters.credentials.notes import CircuitNote, KeyNote, Notes
from websearch_core import circuit as breaker
from websearch_core import deadline, rotation
from websearch_core.circuit import Circuit, CircuitRules
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    CircuitOpen,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    QueueTimeout,
    RateLimited,
    RequestRejected,
    WebSearchError,
)
from websearch_core.ports import Cache
from websearch_core.values import Json, Secret

__all__ = ["KeyPool", "PoolRules"]

TRIAL_S = 10.0
"""How long one request may keep the others from a key, or from a service, that is being tried out."""
LOOK_AGAIN_S = 0.1
"""How often to look whether another process has found out about a key that is needed here."""
ORDINARY = frozenset({400, 401, 402, 403, 404, 408, 422, 425, 429})
"""Refusals (4xx) whose cause is known, whatever class they have here; every other one may have to do with the key after all."""
KEY_FAULTS = (AuthRejected, OutOfCredit, RateLimited)
NOTHING_TRIED: Mapping[Secret | None, WebSearchError] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRules:
    """How the keys of a provider are used."""

    per_key: int | None = None
    """Requests that a key carries at once."""
    at_once: int | None = None
    """Requests to the provider at once, with whatever key or none."""
    cooldown_s: float = 30.0
    """Rest of a rate-limited key, when the provider names none."""
    quota_cooldown_s: float = 3600.0
    """The same for a used-up one."""
    circuit: CircuitRules = field(default_factory=CircuitRules)


class KeyPool:
    """Hands out keys in turn, lets rate-limited and used-up ones rest, drops refused ones, and leaves a dead provider alone."""

    def __init__(
        self,
        keys: Mapping[str, Sequence[str]],
        cache: Cache | None = None,
        *,
        rules: Mapping[str, PoolRules] = MappingProxyType({}),
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`keys` maps a provider to its keys, or to its only key; blanks and duplicates do not count.

        `cache` is what the processes of a user share; without one, this pool is on its own. `now` counts seconds since 1970,
        for what is shared; `clock` for what is not.
        """
        self._secrets = {provider: _secrets(values) for provider, values in keys.items()}
        self._cache = cache
        self._rules = rules
        self._now = now
        self._clock = clock
        self._services: dict[str, _Service] = {}
        self._telling: set[asyncio.Task[None]] = set()

    def lease(
        self, provider: str, /, *, keyed: bool = True, tried: Mapping[Secret | None, WebSearchError] = NOTHING_TRIED
    ) -> _Lease:
        """A turn at the provider, with the key whose turn it is.

        Raises, on entering:
            NotConfigured: no key is set; the hint names the setting and its variables.
            RateLimited, OutOfCredit, AuthRejected: no key can be used now. The first of these that fits at least one key, with
                the seconds until the first key is back, and positions and fingerprints of all keys.
            CircuitOpen, QueueTimeout: the provider is left alone for a while, or the time of the call is over.
        """
        return _Lease(self, self._service(provider), keyed=keyed, tried=tried)

    def statuses(self, provider: str) -> tuple[dict[str, Json], ...]:
        """How each key stands: `position` (from 1), `fingerprint`, `state` (also `busy`), and where there is one
        `retry_after_seconds` (3 decimals) and `last_error`; empty for a provider without keys.
        """
        return self._service(provider).statuses()

    def circuit(self, provider: str) -> dict[str, Json]:
        """How the provider's circuit stands: `state` and `retry_after_seconds`."""
        return self._service(provider).circuit_status()

    async def aclose(self) -> None:
        """Wait until everything that others should know is told."""
        while self._telling:
            await asyncio.wait(self._telling)

    def tell(self, telling: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
        """Do it to the end, although whoever awaits it may be cancelled meanwhile."""
        task = asyncio.ensure_future(telling)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)
        return asyncio.shield(task)

    def _service(self, provider: str) -> _Service:
        if provider not in self._services:
            secrets = self._secrets.get(provider, ())
            self._services[provider] = _Service(
                name=provider,
                secrets=secrets,
                rules=self._rules.get(provider, PoolRules()),
                clock=self._clock,
                now=self._now,
                ring=rotation.ring_of(len(secrets)),
                notes=Notes(self._cache, provider, secrets) if self._cache is not None else None,
            )
        return self._services[provider]


@dataclass(slots=True, kw_only=True, eq=False)
class _Turn:
    """A request that may be sent, or is under way."""

    index: int | None
    """Position of its key."""
    probing: Circuit | None = None
    """The half-open circuit that it is the probe of; void once the circuit is another one."""
    again: bool = False
    """The call has tried this key before, and there is no other."""
    has_key_claim: bool = False
    has_probe_claim: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class _Caller:
    """Somebody who waits for a turn."""

    keyed: bool
    tried: Mapping[Secret | None, WebSearchError]
    turn: asyncio.Future[_Turn]


@dataclass(slots=True, kw_only=True, eq=False)
class _Service:
    """One provider: how its keys and its circuit stand, and who waits. Nothing here awaits anything but a turn."""

    name: str
    secrets: tuple[Secret, ...]
    rules: PoolRules
    clock: Callable[[], float]
    now: Callable[[], float]
    ring: rotation.KeyRing
    notes: Notes | None
    circuit: Circuit = field(default_factory=Circuit)
    circuit_at: float = -math.inf
    """When the circuit's last change was that was told or heard, in seconds since 1970."""
    in_flight: int = 0
    held: dict[int, asyncio.TimerHandle] = field(default_factory=dict)
    """Keys that wait for a verdict, and what ends the waiting at the latest."""
    callers: deque[_Caller] = field(default_factory=deque)

    # --- turns

    async def turn(self, *, keyed: bool, tried: Mapping[Secret | None, WebSearchError]) -> _Turn:
        """A turn at once or, in the order of coming, when there is one."""
        caller = _Caller(keyed=keyed, tried=tried, turn=asyncio.get_running_loop().create_future())
        self.callers.append(caller)
        self.settle()
        if caller.turn.done():
            return caller.turn.result()
        try:
            async with asyncio.timeout(_patience_s()):
                return await caller.turn
        except TimeoutError:
            self._leave(caller)
            raise self._queue_timeout() from None
        except BaseException:
            self._leave(caller)
            raise

    def settle(self) -> None:
        """Give turns to those who wait, as far as there are any."""
        for caller in tuple(self.callers):
            if caller.turn.done():  # cancelled, and about to leave
                continue
            try:
                turn = self._take(caller)
            except WebSearchError as error:
                self.callers.remove(caller)
                caller.turn.set_exception(error)
            else:
                if turn is not None:
                    self.callers.remove(caller)
                    caller.turn.set_result(turn)

    def give_back(self, turn: _Turn, *, hold_s: float = 0.0) -> None:
        """End a turn; `hold_s` keeps everybody from its key for a while."""
        self.in_flight -= 1
        if self._is_probe(turn):
            self.circuit = breaker.released(self.circuit, probe=True, now=self.clock())
        if turn.index is not None:
            self.ring = rotation.put_back(self.ring, turn.index)
            self._hold(turn.index, hold_s)
        self.settle()

    def _take(self, caller: _Caller) -> _Turn | None:
        """A turn for this caller; None while it has to wait.

        Raises:
            WebSearchError: there is nothing to wait for.
        """
        now, index, again, tried = self.clock(), None, False, self._places(caller.tried)
        if caller.keyed and not self.secrets:
            raise _missing(self.name)
        gate = breaker.gate(self.circuit, now)
        if gate == "shut":
            raise self.shut()
        if caller.keyed and not rotation.usable(self.ring, now, tried=tried):
            raise self.none_left(caller.tried)
        if self.rules.at_once is not None and self.in_flight >= self.rules.at_once:
            return None
        if caller.keyed:
            index, ring = rotation.choose(self.ring, now, tried=tried, per_key=self.rules.per_key, held=self._held())
            if index is None:
                return None
            self.ring, again = ring, index in tried
            if not ring.keys[index].trusted and len(self.secrets) > 1:  # with an only key there is none to spare meanwhile
                self._hold(index, TRIAL_S)
        self.in_flight += 1
        turn = _Turn(index=index, again=again)
        if gate == "probe":
            turn.probing = self.circuit = breaker.probing(self.circuit)
        return turn

    def _hold(self, index: int, seconds: float) -> None:
        """Keep everybody from a key until there is a verdict on it, or the time is over; 0 ends that."""
        if index in self.held:
            self.held.pop(index).cancel()
        if seconds:
            self.held[index] = asyncio.get_running_loop().call_later(seconds, self._let_go, index)

    def _let_go(self, index: int) -> None:
        self.held.pop(index, None)
        self.settle()

    def _leave(self, caller: _Caller) -> None:
        """Nobody waits for this turn any more; it may have come in the same moment."""
        if caller in self.callers:
            self.callers.remove(caller)
        elif not caller.turn.cancelled() and caller.turn.exception() is None:
            self.give_back(caller.turn.result())

    def _is_probe(self, turn: _Turn) -> bool:
        return turn.probing is not None and turn.probing is self.circuit

    def _held(self) -> set[int]:
        """Keys that wait for a verdict; what an event loop left behind that is no more does not count."""
        now = asyncio.get_running_loop().time()
        return {place for place, timer in self.held.items() if timer.when() > now}

    def _places(self, tried: Mapping[Secret | None, WebSearchError]) -> set[int]:
        return {place for place, secret in enumerate(self.secrets) if secret in tried}

    def may_go(self, turn: _Turn) -> bool:
        """Whether the turn still stands after all that was learnt since it was given."""
        if turn.probing is not self.circuit and (turn.probing is not None or self.circuit.phase != "closed"):
            return False
        return turn.index is None or turn.again or self._state(turn.index) == "healthy"

    # --- verdicts

    def accept(self, turn: _Turn) -> bool:
        """The provider took the key; whether that is news."""
        if turn.index is None or self._state(turn.index) != "healthy" or self.ring.keys[turn.index].trusted:
            return False
        self.ring = rotation.trusted(self.ring, turn.index)
        self._hold(turn.index, 0.0)
        self.settle()
        return True

    def succeed(self, turn: _Turn) -> tuple[bool, bool]:
        """The request succeeded; whether that is news of the key, and of the circuit."""
        before, probe = self.circuit, self._is_probe(turn)
        key = self.ring.keys[turn.index] if turn.index is not None else None
        self.circuit = breaker.succeeded(self.circuit, probe=probe)
        if turn.index is None or key is None:
            return False, probe
        self.ring = rotation.succeeded(self.ring, turn.index)
        is_news = self._state(turn.index) == "healthy" and (key.state != "healthy" or not key.trusted)
        return is_news, before.phase != self.circuit.phase

    def fail(self, turn: _Turn, error: ProviderError, *, first: bool) -> tuple[bool, bool]:
        """The request failed; whether that is news of the key, and of the circuit."""
        before, key, now = self.circuit, self.ring.keys[turn.index] if turn.index is not None else None, self.clock()
        kind = breaker.signature(error)
        if kind is not None or (self._is_probe(turn) and breaker.spoils_probe(error)):
            name = "" if turn.index is None else str(turn.index)
            alone = turn.index is None or len(rotation.usable(self.ring, now)) <= 1
            self.circuit = breaker.failed(
                self.circuit, kind or error.code, name, now=now, rules=self.rules.circuit, alone=alone, first=first
            )
        opened = self.circuit.phase == "open" and before.phase != "open"
        if turn.index is None:
            return False, opened
        self.ring = rotation.after(
            self.ring,
            turn.index,
            RateLimited if _is_doubtful(error) else type(error),
            now=now,
            retry_after_s=error.retry_after_s,
            cooldown_s=self.rules.cooldown_s,
            quota_cooldown_s=self.rules.quota_cooldown_s,
        )
        return self.ring.keys[turn.index] != key and self._state(turn.index) != "healthy", opened

    def another_key(self, turn: _Turn, error: ProviderError, tried: Mapping[Secret | None, WebSearchError]) -> bool:
        """Whether the call goes on with another key at once.

        Raises:
            CircuitOpen: it is over, because the service is left alone.
            ProviderError: it is over, and the keys were answered differently.
        """
        if breaker.signature(error) is not None and self.circuit.phase != "closed":
            raise self.shut(error, mine=turn.index) from error
        if turn.index is None or not _may_be_the_key(error):
            return False
        if len(self.secrets) > 1 and rotation.usable(self.ring, self.clock(), tried=self._places(tried)):
            return True
        self._tell_in(error, mine=turn.index)
        error.exhausted = len(self.secrets) > 1
        if (odd := self._odd(tried)) is not None and odd is not error:
            raise odd from error
        return False

    # --- what others know

    def heed_circuit(self, note: CircuitNote | None) -> None:
        """Take over what another process saw of the service after this one did."""
        if note is None or note.at <= self.circuit_at:
            return
        self.circuit_at = note.at
        left_s = min(note.until - self.now(), self.rules.circuit.cooldown_s)
        self.circuit = breaker.opened(self.clock() + left_s) if note.until else Circuit()
        self.settle()

    def heed_key(self, index: int, note: KeyNote | None) -> None:
        """Take over what another process found out about a key."""
        if note is None:
            return
        if note.state == "healthy":
            if self._state(index) == "healthy":
                self.ring = rotation.trusted(self.ring, index)
                self._hold(index, 0.0)
            return
        left_s = note.until - self.now()
        if note.state == "invalid" or left_s > 0:
            now, until = self.clock(), self.clock() + min(left_s, rotation.MAX_REST_S.get(note.state, 0.0))
            self.ring = rotation.parked(self.ring, index, note.state, now=now, until=until, last_error=note.last_error)

    async def tell_key(self, index: int) -> None:
        """Tell others how a key stands."""
        key = rotation.status(self.ring, index, self.clock())
        rest_s = max(key.until - self.clock(), 0.0) if key.state in rotation.RESTING else 0.0
        if self.notes is not None:
            until = self.now() + rest_s if rest_s else 0.0
            await self.notes.tell_key(index, key.state, rest_s=rest_s, until=until, last_error=key.last_error)

    async def tell_circuit(self) -> None:
        """Tell others that the circuit has opened or closed."""
        self.circuit_at = at = self.now()
        until = at + breaker.wait_s(self.circuit, self.clock()) if self.circuit.phase != "closed" else 0.0
        if self.notes is not None:
            await self.notes.tell_circuit(CircuitNote(until=until, at=at))

    # --- errors and reports

    def shut(self, cause: ProviderError | None = None, *, mine: int | None = None) -> CircuitOpen:
        """Why nothing is sent now; `mine` is the key that the asking call still has."""
        wait_s = max(breaker.wait_s(self.circuit, self.clock()), rotation.MIN_REST_S)
        last = f"; the last answer: {cause.message}" if cause else ""
        error = CircuitOpen(
            f"{self.name} failed repeatedly and is left alone for {wait_s:.0f} s{last}",
            provider=self.name,
            hint=f"Call again in {math.ceil(wait_s)} s, or use another provider.",
            http_status=cause.http_status if cause else None,
            upstream_code=cause.upstream_code if cause else None,
            retry_after_s=wait_s,
            diagnostics={"error_type": "service_unavailable", **(cause.diagnostics if cause else {})},
        )
        self._tell_in(error, mine=mine)
        return error

    def none_left(self, tried: Mapping[Secret | None, WebSearchError]) -> WebSearchError:
        """Why there is no key for a call."""
        if rotation.usable(self.ring, self.clock()):  # but this call has tried them all
            return self._odd(tried) or list(tried.values())[-1]
        error = self._all_parked()
        error.exhausted = len(self.secrets) > 1
        return error

    def statuses(self, *, mine: int | None = None) -> tuple[dict[str, Json], ...]:
        """How each key stands, for a call that has the key `mine`."""
        ring = self.ring if mine is None else rotation.put_back(self.ring, mine)
        return tuple(self._row(ring, index) for index in range(len(self.secrets)))

    def circuit_status(self) -> dict[str, Json]:
        """How the circuit stands."""
        return {
            "state": self.circuit.phase,
            "retry_after_seconds": round(breaker.wait_s(self.circuit, self.clock()), 3),
        }

    def _all_parked(self) -> ProviderError:
        now = self.clock()
        keys = [rotation.status(self.ring, index, now) for index in range(len(self.secrets))]
        states = {key.state for key in keys}
        wait_s = min((key.until - now for key in keys if key.state != "invalid"), default=None)
        kind, hint = _REMEDIES["cooldown" if "cooldown" in states else min(states, key=list(_REMEDIES).index)]
        shown = ", ".join(f"{row['position']} ({row['fingerprint']}) {_WORDS[str(row['state'])]}" for row in self.statuses())
        error = kind(
            f"{self.name}: no key can be used now: {shown}",
            provider=self.name,
            hint=hint.format(provider=self.name),
            retry_after_s=wait_s,
        )
        self._tell_in(error)
        return error

    def _odd(self, tried: Mapping[Secret | None, WebSearchError]) -> ProviderError | None:
        """What odd statuses of some keys make of the call: the same one from every key speaks for itself."""
        odd = [error for error in tried.values() if _is_odd(error)]
        if not odd:
            return None
        statuses = {error.http_status for error in odd}
        last = odd[-1]
        if len(statuses) == 1 and len(odd) == len(self.secrets) and isinstance(last, ProviderError):
            return last
        shown = ", ".join(sorted(str(status) for status in statuses))
        error = ProviderError(
            f"{self.name} answers its keys differently, also with status {shown}",
            provider=self.name,
            hint=f"Check the address and the keys of {self.name}.",
            http_status=last.http_status,
            upstream_code=last.upstream_code,
        )
        error.exhausted = True
        self._tell_in(error)
        return error

    def _queue_timeout(self) -> QueueTimeout:
        return QueueTimeout(
            f"{self.name}: the call's time ran out before it was its turn; {self.in_flight} are under way",
            provider=self.name,
            hint="Send fewer calls at once, or call again with a longer limit.",
            diagnostics={"error_type": "concurrency_queue_timeout"},
        )

    def _tell_in(self, error: ProviderError, *, mine: int | None = None) -> None:
        """Add to an error how keys and circuit stand."""
        told: dict[str, object] = {"service_circuit": self.circuit_status()}
        if self.secrets:
            told["key_statuses"] = list(self.statuses(mine=mine))
        error.diagnostics = MappingProxyType({**error.diagnostics, **told})

    def _row(self, ring: rotation.KeyRing, index: int) -> dict[str, Json]:
        key = rotation.status(ring, index, self.clock())
        busy = key.state == "healthy" and rotation.is_busy(ring, index, per_key=self.rules.per_key)
        fingerprint = self.secrets[index].fingerprint
        row: dict[str, Json] = {"position": index + 1, "fingerprint": fingerprint, "state": "busy" if busy else key.state}
        if key.state in rotation.RESTING:
            row["retry_after_seconds"] = round(key.until - self.clock(), 3)
        if key.last_error:
            row["last_error"] = key.last_error
        return row

    def _state(self, index: int) -> rotation.KeyState:
        return rotation.status(self.ring, index, self.clock()).state


class _Lease:
    """A turn at a provider, as a context; see `ports.Lease`."""

    def __init__(self, pool: KeyPool, service: _Service, *, keyed: bool, tried: Mapping[Secret | None, WebSearchError]) -> None:
        self._pool = pool
        self._service = service
        self._keyed = keyed
        self._tried = dict(tried)
        self._turn: _Turn | None = None
        self._has_failed = False

    @property
    def secret(self) -> Secret | None:
        """The key to send."""
        turn = self._turn
        return None if turn is None or turn.index is None else self._service.secrets[turn.index]

    async def accepted(self) -> None:
        """Trust the key from now on."""
        turn = self._turn
        if turn is not None and self._service.accept(turn):
            await self._shared(turn, key=True, circuit=False, is_over=False)

    async def failed(self, error: ProviderError, /) -> bool:
        """Note the failure; True when another key can be tried at once.

        Raises:
            CircuitOpen, ProviderError: what the call comes to instead.
        """
        turn = self._turn
        if turn is None:
            return False
        self._has_failed = True
        key, circuit = self._service.fail(turn, error, first=self.secret not in self._tried)
        await self._shared(turn, key=key, circuit=circuit)
        return self._service.another_key(turn, error, {**self._tried, self.secret: error})

    async def __aenter__(self) -> Self:
        try:
            return await self._entered()
        except ProviderError as error:
            error.unsent = True
            raise

    async def _entered(self) -> Self:
        while True:
            turn = await self._service.turn(keyed=self._keyed, tried=self._tried)
            try:
                obstacle_s = await self._obstacle_s(turn)
            except BaseException:
                self._service.give_back(turn)
                self._share(turn)
                raise
            if obstacle_s is None:
                self._turn = turn
                return self
            self._service.give_back(turn, hold_s=obstacle_s)
            await self._shared(turn)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        key = circuit = False
        if kind is None and not self._has_failed:
            key, circuit = self._service.succeed(turn)
        self._service.give_back(turn)
        telling = self._share(turn, key=key, circuit=circuit)
        if telling is not None and (kind is None or issubclass(kind, Exception)):  # who is cancelled waits for nothing any more
            await telling

    async def _obstacle_s(self, turn: _Turn) -> float | None:
        """None where nothing that other processes know is in the way; else how long nobody here should ask for this key.

        Raises:
            CircuitOpen: another process is probing the service.
        """
        service, notes, index = self._service, self._service.notes, turn.index
        if notes is None:
            return None
        service.heed_circuit(await notes.circuit())
        if not service.may_go(turn):
            return 0.0
        if turn.probing is not None:
            turn.has_probe_claim = True  # before the claim: it may be made although we are cancelled meanwhile
            turn.has_probe_claim = await notes.claim_probe(ttl_s=TRIAL_S)
            if not turn.has_probe_claim:
                raise service.shut()
        if index is None or turn.again:
            return None
        service.heed_key(index, await notes.key(index))
        if not service.may_go(turn):
            return 0.0
        if service.ring.keys[index].trusted or len(service.secrets) == 1:
            return None
        turn.has_key_claim = True
        turn.has_key_claim = await notes.claim_key(index, ttl_s=TRIAL_S)
        if not turn.has_key_claim:
            return LOOK_AGAIN_S
        service.heed_key(index, await notes.key(index))  # the verdict may have come between note and claim
        return None if service.may_go(turn) else 0.0

    async def _shared(self, turn: _Turn, *, key: bool = False, circuit: bool = False, is_over: bool = True) -> None:
        if (telling := self._share(turn, key=key, circuit=circuit, is_over=is_over)) is not None:
            await telling

    def _share(
        self, turn: _Turn, *, key: bool = False, circuit: bool = False, is_over: bool = True
    ) -> asyncio.Future[None] | None:
        """Tell other processes what is new, and then let them find out the rest; under way whether or not it is awaited."""
        drop_key, turn.has_key_claim = turn.has_key_claim, False
        drop_probe = is_over and turn.has_probe_claim
        turn.has_probe_claim = turn.has_probe_claim and not drop_probe
        service, notes, index = self._service, self._service.notes, turn.index
        if notes is None or not (key or circuit or drop_key or drop_probe):
            return None

        async def telling() -> None:
            if index is not None and key:
                await service.tell_key(index)
            if circuit:
                await service.tell_circuit()
            if index is not None and drop_key:
                await notes.drop_key_claim(index)
            if drop_probe:
                await notes.drop_probe_claim()

        return self._pool.tell(telling())


_WORDS = {
    "healthy": "free",
    "busy": "busy",
    "cooldown": "rate-limited",
    "quota_exhausted": "used up",
    "invalid": "refused",
}
_REMEDIES: dict[str, tuple[type[ProviderError], str]] = {
    "cooldown": (RateLimited, "Wait, or add another key for {provider}."),
    "quota_exhausted": (OutOfCredit, "Add credit or another key for {provider}, or wait for the reset."),
    "invalid": (AuthRejected, "Replace the keys of {provider}, then start again."),
}


def _secrets(values: Sequence[str]) -> tuple[Secret, ...]:
    keys = [values] if isinstance(values, str) else values
    return tuple(Secret(key) for key in dict.fromkeys(key.strip() for key in keys) if key)


def _may_be_the_key(error: ProviderError) -> bool:
    """Whether another key may get another answer."""
    return isinstance(error, KEY_FAULTS) or breaker.signature(error) is not None or _is_odd(error)


def _is_doubtful(error: ProviderError) -> bool:
    """Whether the words of an outage (5xx) speak of a bad key, which is no reason to drop it for good."""
    return isinstance(error, AuthRejected) and (error.http_status or 0) >= 500


def _is_odd(error: WebSearchError) -> bool:
    """Whether the status is one that neither a wrong request nor a bad key gets."""
    is_kind = isinstance(error, (RequestRejected, BadReply)) and not isinstance(error, ModelRejected)
    return is_kind and 400 <= (error.http_status or 0) < 500 and error.http_status not in ORDINARY


def _patience_s() -> float | None:
    """How long to wait for a turn: to the end of the call, but for the moment that it takes to say so."""
    left_s = deadline.left_s()
    return None if math.isinf(left_s) else left_s - min(0.25, left_s / 20)


def _missing(provider: str) -> NotConfigured:
    from websearch_adapters.settings import how_to_set_key

    return NotConfigured(f"no key is set for {provider}", provider=provider, hint=how_to_set_key(provider))
