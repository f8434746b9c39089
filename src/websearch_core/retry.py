"""Which failures to repeat, and after how long. No clock, no sleeping, no I/O."""

from __future__ import annotations

import math
from dataclasses import dataclass

from websearch_core.errors import ProviderError, WebSearchError

__all__ = ["RETRYABLE_CODES", "RetryPolicy", "delay_s", "repeatable"]

RETRYABLE_CODES = (
    "rate_limit", "rate_limit_exceeded", "too_many_requests", "upstream_error", "server_error", "service_unavailable",
    "temporarily_unavailable", "overloaded", "overloaded_error", "internal_error",
)  # fmt: skip
"""Codes and types of upstreams' errors that tell of a failure that passes, where nothing else is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently to try."""

    max_attempts: int = 3
    multiplier_s: float = 1.0
    max_wait_s: float = 10.0
    max_retry_after_s: float = 60.0
    """A longer wish of the upstream ends the attempts instead of blocking the call."""


def repeatable(error: WebSearchError, policy: RetryPolicy) -> bool:
    """Whether the same request may be sent again: by the error's class and the wait it asks for, never by its text."""
    if isinstance(error, ProviderError) and error.exhausted:
        return False
    return error.repeatable and _wish(error.retry_after_s) <= policy.max_retry_after_s


def delay_s(policy: RetryPolicy, *, failed: int, chance: float, retry_after_s: float | None = None) -> float:
    """Seconds to wait after the `failed`-th failure (1-based); `chance` is uniform in [0, 1].

    Exponential, capped, with the lower half as jitter; the upstream's wish wins when it is longer. A wish that is not a
    finite number of at least 0 is ignored.
    """
    base = min(policy.max_wait_s, policy.multiplier_s * 2.0 ** min(failed - 1, 60))
    jittered = base * (0.5 + 0.5 * min(max(chance, 0.0), 1.0))
    return max(jittered, _wish(retry_after_s))


def _wish(retry_after_s: float | None) -> float:
    return retry_after_s if retry_after_s is not None and math.isfinite(retry_after_s) and retry_after_s > 0 else 0.0
