"""Keys that stand in the settings, used in turn; implements `ports.Credentials`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from websearch_core import rotation
from websearch_core.errors import AuthRejected, NotConfigured, OutOfCredit, ProviderError, RateLimited
from websearch_core.values import Json, Secret

__all__ = ["StaticKeys"]


@dataclass(slots=True)
class _Pool:
    """The keys of one provider; the ring is replaced, never changed, so tasks of one loop need no lock."""

    secrets: tuple[Secret, ...]
    ring: rotation.KeyRing


class StaticKeys:
    """Hands out keys in turn, lets rate-limited and used-up ones rest, and drops refused ones until the next start."""

    def __init__(
        self,
        keys: Mapping[str, Sequence[str]],
        *,
        now: Callable[[], float] = time.monotonic,
        cooldown_s: float = 30.0,
        quota_cooldown_s: float = 3600.0,
    ) -> None:
        """`keys` maps a provider to its keys, or to its only key; blanks and duplicates do not count."""
        self._pools = {provider: _pool(values) for provider, values in keys.items()}
        self._now = now
        self._cooldown_s = cooldown_s
        self._quota_cooldown_s = quota_cooldown_s

    async def current(self, provider: str, /) -> Secret:
        """The key whose turn it is.

        Raises:
            NotConfigured: no key is set; the hint names the setting and its variables.
            RateLimited, OutOfCredit, AuthRejected: no key can be used now. The first of these that fits at least one key, with
                the seconds until the first key is back, and positions and fingerprints of all keys.
        """
        pool = self._pools.get(provider)
        if pool is None or not pool.secrets:
            raise _missing(provider)
        index, pool.ring = rotation.choose(pool.ring, self._now())
        if index is None:
            raise self._exhausted(provider, pool)
        return pool.secrets[index]

    async def rejected(self, provider: str, secret: Secret, error: ProviderError, /) -> bool:
        """Note the failure; True when the key was to blame and another one is healthy."""
        pool, now = self._pools.get(provider), self._now()
        if pool is None or secret not in pool.secrets or not isinstance(error, (AuthRejected, OutOfCredit, RateLimited)):
            return False
        pool.ring = rotation.after(
            pool.ring,
            pool.secrets.index(secret),
            type(error),
            now=now,
            retry_after_s=error.retry_after_s,
            cooldown_s=self._cooldown_s,
            quota_cooldown_s=self._quota_cooldown_s,
        )
        return bool(rotation.free(pool.ring, now))

    def statuses(self, provider: str) -> tuple[dict[str, Json], ...]:
        """How each key stands: `position` (from 1), `fingerprint`, `state`, and where there is one `retry_after_seconds`
        (3 decimals) and `last_error`; empty for a provider without keys.
        """
        pool, now = self._pools.get(provider), self._now()
        return () if pool is None else tuple(_report(pool, index, now) for index in range(len(pool.secrets)))

    def _exhausted(self, provider: str, pool: _Pool) -> ProviderError:
        now = self._now()
        keys = [rotation.status(pool.ring, index, now) for index in range(len(pool.secrets))]
        states = {key.state for key in keys}
        wait_s = min((key.until - now for key in keys if key.state != "invalid"), default=None)
        kind, hint = _REMEDIES["cooldown" if "cooldown" in states else min(states, key=list(_REMEDIES).index)]
        shown = ", ".join(
            f"{row['position']} ({row['fingerprint']}) {_WORDS[str(row['state'])]}" for row in self.statuses(provider)
        )
        return kind(
            f"{provider}: no key can be used now: {shown}",
            provider=provider,
            hint=hint.format(provider=provider),
            retry_after_s=wait_s,
            diagnostics={"key_statuses": list(self.statuses(provider))},
        )


_WORDS = {"healthy": "free", "cooldown": "rate-limited", "quota_exhausted": "used up", "invalid": "refused"}
_REMEDIES: dict[str, tuple[type[ProviderError], str]] = {
    "cooldown": (RateLimited, "Wait, or add another key for {provider}."),
    "quota_exhausted": (OutOfCredit, "Add credit or another key for {provider}, then start again; or wait for the reset."),
    "invalid": (AuthRejected, "Replace the keys of {provider}, then start again."),
}


def _pool(values: Sequence[str]) -> _Pool:
    keys = [values] if isinstance(values, str) else values
    secrets = tuple(Secret(key) for key in dict.fromkeys(key.strip() for key in keys) if key)
    return _Pool(secrets=secrets, ring=rotation.ring_of(len(secrets)))


def _report(pool: _Pool, index: int, now: float) -> dict[str, Json]:
    key = rotation.status(pool.ring, index, now)
    row: dict[str, Json] = {"position": index + 1, "fingerprint": pool.secrets[index].fingerprint, "state": key.state}
    if key.state in {"cooldown", "quota_exhausted"}:
        row["retry_after_seconds"] = round(key.until - now, 3)
    if key.last_error:
        row["last_error"] = key.last_error
    return row


def _missing(provider: str) -> NotConfigured:
    from websearch_adapters.settings import how_to_set_key

    return NotConfigured(f"no key is set for {provider}", provider=provider, hint=how_to_set_key(provider))
