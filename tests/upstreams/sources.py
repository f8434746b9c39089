"""Pages that a simulated search finds: given by the test, or invented from the question."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

NEWEST = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
HOSTS = (
    "council.example.org",
    "gazette.example.com",
    "wiki.example.net",
    "docs.example.org",
    "blog.example.com",
    "archive.example.net",
    "forum.example.org",
    "journal.example.com",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page in a search result; `published` in UTC, None when the page does not tell."""

    url: str
    title: str
    text: str = ""
    published: datetime | None = None


def invented(query: str, *, hosts: Sequence[str] = HOSTS) -> list[Source]:
    """One page per host about this query, the newest first, a day between two."""
    return [_page(query, host, age_days) for age_days, host in enumerate(hosts)]


def host_of(url: str) -> str:
    """The host of a URL in lower case, without its port."""
    return urlsplit(url).hostname or ""


def is_on(url: str, domains: Iterable[str]) -> bool:
    """Whether the page is on one of these domains or below one; `*.` in front of a domain is allowed."""
    host = host_of(url)
    bare = [domain.lower().removeprefix("*.") for domain in domains]
    return any(host == domain or host.endswith(f".{domain}") for domain in bare)


def slug(text: str) -> str:
    """A short path segment for a text; text without Latin letters gets a checksum."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "-".join(words)[:60].rstrip("-") or f"topic-{zlib.crc32(text.encode()):08x}"


def _page(query: str, host: str, age_days: int) -> Source:
    return Source(
        url=f"https://{host}/{slug(query)}",
        title=f"{query} | {host}",
        text=f"{host} on {query}: the page says what is known, who said it, and on which day.",
        published=NEWEST - timedelta(days=age_days),
    )
