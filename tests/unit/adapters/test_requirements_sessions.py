"""Kept sessions on a real disk cache."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from websearch_adapters.cache.disk import DiskCache
from websearch_core.sources import Sources
from websearch_core.values import SearchResult, Source, SourcesRequest

pytestmark = pytest.mark.anyio
KEPT = SearchResult(
    session_id="0123456789ab",
    content="It is so.",
    sources=tuple(Source(url=f"https://s{number}.example/", title="a title") for number in range(3)),
)


@pytest.mark.requirement("P5-PROTOCOL-20")
@pytest.mark.parametrize(
    ("whole", "damaged"),
    [(b"https://s1.example/", b"https://s1.exa\xff\xfele/"), (b'"title": "a title"', b'"title": 4711     '), (b"]", b" ")],
)
async def test_a_damaged_session_is_unknown_and_never_half_of_itself(whole: bytes, damaged: bytes, tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache", 10)
    use, request = Sources(cache=cache), SourcesRequest(session_id=KEPT.session_id, start=0)
    await cache.put(f"session:{KEPT.session_id}", KEPT, ttl_s=60)
    assert (await use(request)).total_sources == 3
    (file,) = (tmp_path / "cache").rglob("cache.db")
    with closing(sqlite3.connect(file)) as database, database:
        (value,) = database.execute("SELECT value FROM Cache").fetchone()
        assert whole in value
        database.execute("UPDATE Cache SET value = ?", (value.replace(whole, damaged, 1),))
    page = await use(request)
    assert (page.status, page.error) == ("error", "session_id_not_found_or_expired")
    assert (page.sources, page.content) == ((), "")
    await cache.aclose()
