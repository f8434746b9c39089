"""What the processes of one user tell each other about a provider's keys, through the cache.

Nothing depends on it: a cache that forgets or fails leaves each process with what it has seen itself. A key is named by a keyed
hash and never written down.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from websearch_core.ports import Cache
from websearch_core.rotation import KeyState
from websearch_core.values import Secret

__all__ = ["CircuitNote", "Claim", "KeyNote", "Notes"]

TRUST_S = 86_400.0
"""How long a key that worked is taken for a good one by processes that have not used it."""
REFUSAL_S = 3_600.0
"""How long a refusal holds for processes that have not seen it; the keys may be renewed at the provider meanwhile."""
AFTER_OPEN_S = 300.0
"""How long an open circuit is remembered after its time, so that a single process probes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNote:
    """How a key stands, for whoever asks next."""

    state: KeyState
    until: float = 0.0
    """When its rest is over, in seconds since 1970."""
    last_error: str = ""
    keys: str = ""
    """Which set of keys was configured; a refusal is of no concern to another configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitNote:
    """That a circuit opened or closed."""

    until: float
    """When it takes a probe, in seconds since 1970; 0: it is closed."""
    at: float
    """When that happened; of two notes the later one counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """That somebody is finding out something, and all others better wait."""

    by: str


class Notes:
    """The notes on one provider."""

    def __init__(self, cache: Cache, provider: str, secrets: Sequence[Secret]) -> None:
        self._cache = cache
        self._place = f"keys:{provider}"
        self._names = tuple(_digest(provider, secret.value) for secret in secrets)
        self._keys = _digest(provider, *sorted(self._names))
        self._me = Claim(by=uuid.uuid4().hex)

    async def key(self, index: int) -> KeyNote | None:
        """The note on a key."""
        note = await self._cache.get(f"{self._place}:{self._names[index]}", KeyNote)
        return None if note is None or (note.state == "invalid" and note.keys != self._keys) else note

    async def tell_key(
        self, index: int, state: KeyState, *, rest_s: float = 0.0, until: float = 0.0, last_error: str = ""
    ) -> None:
        """Leave a note on a key; `until` is when its rest of `rest_s` is over."""
        note = KeyNote(state=state, until=until, last_error=last_error, keys=self._keys)
        ttl_s = {"healthy": TRUST_S, "invalid": REFUSAL_S}.get(state, rest_s)
        await self._cache.put(f"{self._place}:{self._names[index]}", note, ttl_s=ttl_s)

    async def circuit(self) -> CircuitNote | None:
        """The note on the circuit."""
        return await self._cache.get(f"{self._place}:circuit", CircuitNote)

    async def tell_circuit(self, note: CircuitNote) -> None:
        """Leave a note on the circuit."""
        await self._cache.put(f"{self._place}:circuit", note, ttl_s=max(note.until - note.at, 0.0) + AFTER_OPEN_S)

    async def claim_key(self, index: int, *, ttl_s: float) -> bool:
        """Whether it is on this process to find out if a key is good; until it says so, or `ttl_s` are over."""
        return await self._claim(self._names[index], ttl_s)

    async def claim_probe(self, *, ttl_s: float) -> bool:
        """Whether it is on this process to send the probe."""
        return await self._claim("probe", ttl_s)

    async def drop_key_claim(self, index: int) -> None:
        """Let others find out."""
        await self._drop(self._names[index])

    async def drop_probe_claim(self) -> None:
        """Let others send the probe."""
        await self._drop("probe")

    async def _claim(self, what: str, ttl_s: float) -> bool:
        name = f"{self._place}:{what}:claim"
        if await self._cache.get(name, Claim) is not None:  # reading is cheaper than writing
            return False
        return await self._cache.add(name, self._me, ttl_s=ttl_s)

    async def _drop(self, what: str) -> None:
        name = f"{self._place}:{what}:claim"
        if await self._cache.get(name, Claim) == self._me:  # an expired claim may be somebody else's by now
            await self._cache.drop(name)


def _digest(*parts: str) -> str:
    keyed = hashlib.blake2b(key=b"websearch keys", digest_size=16)
    for part in parts:
        keyed.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return keyed.hexdigest()
