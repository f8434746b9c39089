"""The plugin contract: what a provider declares, and how every provider reads what strangers send.

A provider's module exports one `Provider`; importing it must be cheap and open nothing. The functions below serve the
translations of such a module; those that read a reply take any JSON value and never raise.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from websearch_core import urls
from websearch_core.errors import NotConfigured, WebSearchError, WrongAddress
from websearch_core.fence import clean
from websearch_core.values import Health, Note, SearchQuery

if TYPE_CHECKING:
    from websearch_adapters.http.client import Http

__all__ = [
    "Capability",
    "Provider",
    "bare_hosts",
    "day",
    "examined",
    "instant",
    "number",
    "on_hosts",
    "page_text",
    "search_words",
    "shortening",
    "snippet",
    "stamp",
    "utc_now",
    "web_address",
]

Capability: TypeAlias = Literal["answer", "find", "find_posts", "extract", "map"]
"""What a provider is good for: to be an AnswerEngine, SourceFinder, PostFinder, Extractor or Mapper."""

MAX_SNIPPET_CHARS = 2_000
LOOKED_AT = 50
"""Times the length of a snippet that may be blanks, tags of terminals and what nobody sees."""
MAX_PAGE_CHARS = 5_000_000
MAX_DATE_CHARS = 64
BELIEVABLE_YEARS = range(1900, 2200)
MAX_NUMBER = 1e15
UNCUT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What a provider declares."""

    name: str
    """How the configuration calls it; also names its key, its errors and its sources."""
    offers: frozenset[Capability]
    settings: type[Any]
    """A frozen dataclass whose fields all have defaults."""
    make: Callable[[Any, Http], object]
    """Settings and the shared client → an object that satisfies the ports of `offers`. Opens nothing."""
    needs_key: bool
    """Whether it is useless without a key, unless its settings say otherwise."""
    source: str
    """Which API description it follows, and the day on which that was read."""


# --- asking -------------------------------------------------------------------------------------------------------


def search_words(query: SearchQuery, *, limit: int) -> str:
    """The query as one line for a search box, the wanted platform behind it; the query is cut at a word to fit `limit`."""
    platform = " ".join(query.platform.split())
    words = _cut_at_word(query.query, limit - len(platform) - 1 if platform else limit)
    return f"{words} {platform}" if platform else words


def shortening(query: SearchQuery, *, limit: int, provider: str) -> tuple[Note, ...]:
    """The note that the provider saw a cut query; empty when all of it fits."""
    if len(search_words(query, limit=UNCUT)) <= limit:
        return ()
    return (Note(code="query_shortened", text=f"{provider} takes {limit} characters; the query was cut.", provider=provider),)


def bare_hosts(domains: Iterable[str]) -> list[str]:
    """Domains of a query as lower-case ASCII hosts, without `*.` and port."""
    return [urls.host(f"https://{domain.strip().removeprefix('*.')}") for domain in domains]


def on_hosts(url: str, domains: Iterable[str]) -> bool:
    """Whether the address lies on one of these hosts or their subdomains."""
    return any(urls.host_matches(url, domain) for domain in domains)


async def examined(part: str, ask: Awaitable[Health]) -> Health:
    """What the probe `ask` finds, with its duration; a failure of ours becomes a state. No key is `off`."""
    started = time.monotonic()
    try:
        health = await ask
    except WebSearchError as error:
        off = isinstance(error, NotConfigured) and not isinstance(error, WrongAddress)
        detail = f"{error.message}. {error.hint or ''}".strip()
        health = Health(part=part, state="off" if off else "failing", detail=detail)
    return dataclasses.replace(health, latency_ms=round((time.monotonic() - started) * 1000, 1))


# --- reading replies ----------------------------------------------------------------------------------------------


def snippet(value: object, *, limit: int = MAX_SNIPPET_CHARS) -> str:
    """A text on one line, cleaned and cut; the first text of a list; empty for anything else.

    Only the beginning of a long one is looked at, so that a name of megabytes costs no more than a name.
    """
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, str) and item.strip()), "")
    return " ".join(clean(value[: LOOKED_AT * limit]).split())[:limit].rstrip() if isinstance(value, str) else ""


def page_text(value: object) -> str:
    """The text of a whole page, cleaned; empty for blanks and for anything but a text."""
    return clean(value, limit=MAX_PAGE_CHARS).strip() if isinstance(value, str) else ""


def web_address(value: object) -> str:
    """A usable http(s) address, trimmed; the first text of a list; empty for anything else."""
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, str)), "")
    text = value.strip() if isinstance(value, str) else ""
    return text if urls.is_web_url(text) else ""


def number(value: object) -> float | None:
    """A finite number of believable size; None for anything else, truth values included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < MAX_NUMBER:
        return None
    return float(value)


def instant(value: object) -> datetime | None:
    """A moment in UTC from ISO 8601 or RFC 1123 text, without a zone taken as UTC; None for anything else."""
    text = snippet(value, limit=MAX_DATE_CHARS)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            when = read(text)
            when = when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        if when.year in BELIEVABLE_YEARS:
            return when
    return None


def day(value: object) -> str:
    """The day of `instant` as YYYY-MM-DD, or empty."""
    when = instant(value)
    return when.date().isoformat() if when else ""


def utc_now() -> datetime:
    """The present moment in UTC."""
    return datetime.now(UTC)


def stamp(when: datetime) -> str:
    """A UTC moment as ISO 8601 to the second, ending in Z."""
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")


def _cut_at_word(text: str, limit: int) -> str:
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    head = text[: limit + 1].rpartition(" ")[0]
    return head if len(head) > limit // 2 else text[:limit]
