"""robots.txt: may a crawler visit this address? One request per site, remembered.

As RFC 9309 has it: a client error means that there are no rules, a server error or silence means that nothing may be
crawled for now; that is asked again after a minute. Only crawling asks here; reading one page that a person named does not.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from websearch_core import urls
from websearch_core.errors import NotAllowed, ProviderError, WebSearchError

if TYPE_CHECKING:
    from protego import Protego

    from websearch_adapters.http.pages import PageClient

__all__ = ["Robots", "RobotsVerdict"]

AGENT = "websearch"
MAX_BYTES = 500 * 1024
LONG_CHARS = 20_000
"""From here on rules are looked through in a thread; so long they take some milliseconds."""
MAX_SITES = 500
MAX_SITEMAPS = 50
MAX_RULE_CHARS = 200
KEPT_S = 3_600.0
RETRY_AFTER_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsVerdict:
    """What a site says about one address."""

    allowed: bool
    reason: str = ""
    """Why not: the rule, or how reading robots.txt failed; empty when allowed."""
    failure: WebSearchError | None = None
    """Set when the refusal stands for a robots.txt that could not be read."""
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy:
    """A site's robots.txt, as it was or was not to be had."""

    rules: Protego | None
    """None where there are no rules, or none could be read."""
    text: str = ""
    failure: WebSearchError | None = None
    expires: float


class Robots:
    """Remembers the rules of sites; keeps at most 500."""

    def __init__(self, pages: PageClient, *, now: Callable[[], float] = time.monotonic) -> None:
        self._pages = pages
        self._now = now
        self._policies: dict[str, _Policy] = {}
        self._fetching: dict[str, asyncio.Lock] = {}

    async def verdict(self, url: str) -> RobotsVerdict:
        """Whether a crawler may visit `url`; a failure to find out is a refusal, never an exception."""
        policy = await self._policy(_origin(url))
        host = urls.host(url)
        if policy.failure is not None:
            reason = f"robots.txt of {host} could not be read ({policy.failure.message}), so crawling is off for now"
            return RobotsVerdict(allowed=False, reason=reason, failure=policy.failure)
        if policy.rules is None:
            return RobotsVerdict(allowed=True)
        allowed = await _can_fetch(policy.rules, policy.text, url)
        shown = "" if allowed else await asyncio.to_thread(_shown_rule, policy.text, url)
        return RobotsVerdict(
            allowed=allowed,
            reason="" if allowed else f"robots.txt of {host} forbids it{shown}",
            crawl_delay_s=_delay(policy.rules.crawl_delay(AGENT)),
            sitemaps=tuple(_sitemaps(policy.rules, url)),
        )

    async def allows(self, url: str) -> bool:
        """`verdict` without its reasons, for many addresses."""
        policy = await self._policy(_origin(url))
        return policy.failure is None and (policy.rules is None or await _can_fetch(policy.rules, policy.text, url))

    async def _policy(self, origin: str) -> _Policy:
        """The remembered policy, or a fresh one; several callers at once make one request."""
        lock = self._fetching.setdefault(origin, asyncio.Lock())
        async with lock:
            kept = self._policies.get(origin)
            if kept is None or kept.expires <= self._now():
                kept = await self._fetched(origin)
                self._remember(origin, kept)
        return kept

    def _remember(self, origin: str, policy: _Policy) -> None:
        self._policies.pop(origin, None)
        self._policies[origin] = policy
        while len(self._policies) > MAX_SITES:
            oldest = next(iter(self._policies))
            del self._policies[oldest]
            self._fetching.pop(oldest, None)

    async def _fetched(self, origin: str) -> _Policy:
        try:
            reply = await self._pages.get(f"{origin}/robots.txt", accept="text/plain, */*;q=0.5", max_bytes=MAX_BYTES, cut=True)
        except (ProviderError, NotAllowed) as error:
            if error.http_status is not None and 400 <= error.http_status < 500:
                return _Policy(rules=None, expires=self._now() + KEPT_S)
            return _Policy(rules=None, failure=error, expires=self._now() + RETRY_AFTER_S)
        text = reply.body.decode("utf-8-sig", "replace")
        return _Policy(rules=await asyncio.to_thread(_parsed, text), text=text, expires=self._now() + KEPT_S)


async def _can_fetch(rules: Protego, text: str, url: str) -> bool:
    """Lets others work before or meanwhile: thousands of rules take a tenth of a second for each of thousands of addresses."""
    if len(text) > LONG_CHARS:
        return await asyncio.to_thread(rules.can_fetch, url, AGENT)
    await asyncio.sleep(0)
    return rules.can_fetch(url, AGENT)


def _parsed(text: str) -> Protego:
    from protego import Protego

    return Protego.parse(text)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _sitemaps(rules: Protego, url: str) -> Iterator[str]:
    for found, _ in zip(rules.sitemaps, range(MAX_SITEMAPS), strict=False):
        address = urls.absolute(url, found)
        if address is not None:
            yield address


def _delay(seconds: float | None) -> float | None:
    return seconds if seconds is not None and math.isfinite(seconds) and seconds > 0 else None


def _shown_rule(text: str, url: str) -> str:
    """The longest rule for us that forbids the address; empty when it is not to be found."""
    from protego import Protego

    parts = urlsplit(url)
    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    candidates = sorted(
        (rule for rule in _disallowed(text) if path.startswith(rule.split("*")[0].rstrip("$"))), key=len, reverse=True
    )
    for rule in candidates[:20]:
        if not Protego.parse(f"User-agent: *\nDisallow: {rule}").can_fetch(url, AGENT):
            return f" (Disallow: {''.join(char for char in rule if char.isprintable())[:MAX_RULE_CHARS]})"
    return ""


def _disallowed(text: str) -> list[str]:
    """The Disallow lines of the groups that are meant for us: those that name us, else those for everyone."""
    groups: dict[bool, list[str]] = {True: [], False: []}
    agents: list[str] = []
    in_rules = False
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        if name.lower() in {"user-agent", "useragent"}:
            agents = [value.lower()] if in_rules else [*agents, value.lower()]
            in_rules = False
        elif name.lower() in {"allow", "disallow", "crawl-delay"}:
            in_rules = True
            if name.lower() == "disallow" and value and {"*", AGENT} & set(agents):
                groups[AGENT in agents].append(value)
    return groups[True] or groups[False]
