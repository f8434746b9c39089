"""Results of every kind, made of hard text at random: how often one exceeds its budget, or its pieces do not join."""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Iterator

from websearch_core import budget, fence
from websearch_core.hub.call import CallTool
from websearch_core.hub.values import CallRequest, Part, ToolReply
from websearch_core.testing.fakes import FakeCache, FakeUpstreamLink, FakeUpstreams
from websearch_core.values import FetchResult, MapResult, Note, PostResult, PostSource, Quote, SearchResult, Source, SourcesResult

__all__ = ["budget_overruns", "budget_rejoin_failures"]

SEED = 20_261_130
RESULTS = 3_000
HARD = (
    '"', "\\", "\n", "\t", "\u2028", "世界。", "é", "e\u0301", "😀", "👨\u200d👩\u200d👧", "🏽", "ﷺ", "\x00", "word ", " ",
    "https://a.example/path?q=1&b=2 ", "| a | b |\n", "|---|---|\n", "```\n", "\n\n## Part\n\n",
)  # fmt: skip


@functools.cache
def _measured() -> tuple[int, int]:
    """(overruns, pieces that do not join) of 500 results of each of six kinds."""
    chance = random.Random(SEED)
    overruns = failures = 0
    for _ in range(RESULTS // 6):
        limit = chance.randint(1_000, 30_000)
        for kind in (_search, _fetch, _map, _sources, _posts, _reply):
            sizes, whole = kind(chance, limit)
            overruns += sum(size > limit for size in sizes)
            failures += not whole
    return overruns, failures


def budget_overruns() -> float:
    """Results whose serialised form is longer than was asked for."""
    return _measured()[0]


def budget_rejoin_failures() -> float:
    """Texts and lists whose pieces, joined, are not the whole."""
    return _measured()[1]


def _text(chance: random.Random, most: int = 6_000) -> str:
    favourites = chance.sample(HARD, chance.randint(1, len(HARD)))
    return "".join(chance.choice(favourites) for _ in range(chance.randint(0, most)))


def _some_sources(chance: random.Random) -> tuple[Source, ...]:
    numbers = range(chance.randint(0, 40))
    return tuple(
        Source(
            url=f"https://s.example/{number}{'/p' * chance.choice((0, 0, 0, 20, 600))}",
            title=_text(chance, 60),
            description=_text(chance, 200),
            content=_text(chance, 2_000),
        )
        for number in numbers
    )


def _search(chance: random.Random, limit: int) -> tuple[list[int], bool]:
    """A search and the rest of its answer, read on with get_sources."""
    content, sources = _text(chance), _some_sources(chance)
    notes = tuple(Note(code="content_missing", text=_text(chance, 100)[:300]) for _ in range(chance.choice((0, 0, 3, 20))))
    whole = SearchResult(session_id="a" * 12, content=content, sources=sources, unverified_answer=_text(chance, 500), notes=notes)
    fitted = budget.fit_search(whole, limit, inline=5, query="word 世界")
    return _read_on(fitted, content, limit)


def _read_on(fitted: SearchResult | PostResult, content: str, limit: int) -> tuple[list[int], bool]:
    """The sizes of a result and of the rest of its answer, read on with get_sources; whether they join to the whole."""
    joined, start, sizes = fitted.content, fitted.next_start, [budget.json_chars(fitted)]
    while start is not None:
        page = budget.fit_sources(SourcesResult(session_id="a" * 12), (), content, start, limit)
        joined, start = joined + page.content, page.next_start
        sizes.append(budget.json_chars(page))
    return sizes, joined == content


def _fetch(chance: random.Random, limit: int) -> tuple[list[int], bool]:
    text = _text(chance)
    pieces = list(_read(text, limit))
    return [budget.json_chars(piece) for piece in pieces], "".join(piece.content for piece in pieces) == text


def _read(text: str, limit: int) -> Iterator[FetchResult]:
    start: int | None = 0
    while start is not None and start < len(text):
        piece = budget.fit_fetch(FetchResult(url="https://a.example/", content=text, start=start), limit)
        yield piece
        start = piece.next_start


def _map(chance: random.Random, limit: int) -> tuple[list[int], bool]:
    links = tuple(f"https://s.example/{number}/{'p' * chance.randint(0, 300)}" for number in range(chance.randint(0, 400)))
    seen, offset, sizes = list[str](), 0, list[int]()
    while True:
        page = budget.fit_map(MapResult(base_url="https://s.example/", results=links, offset=offset), limit)
        sizes.append(budget.json_chars(page))
        seen += page.results
        if page.next_offset is None:
            return sizes, tuple(seen) == links
        offset = page.next_offset


def _sources(chance: random.Random, limit: int) -> tuple[list[int], bool]:
    everything = _some_sources(chance)
    seen, offset, sizes = list[str](), 0, list[int]()
    while True:
        asked = SourcesResult(session_id="a" * 12, sources=everything[offset:], total_sources=len(everything), offset=offset)
        page = budget.fit_sources(asked, everything, "", None, limit)
        sizes.append(budget.json_chars(page))
        seen += [source.url for source in page.sources]
        if page.next_offset is None:
            return sizes, seen == [
                source.url for source in everything if budget.json_chars(source.url) < limit // 2 or source.url in seen
            ]
        offset = page.next_offset


def _posts(chance: random.Random, limit: int) -> tuple[list[int], bool]:
    """A search on X and the rest of its answer, read on with get_sources."""
    content = _text(chance)
    sources = tuple(PostSource(url=f"https://x.com/i/status/{number}") for number in range(chance.randint(0, 30)))
    quotes = tuple(
        Quote(text=_text(chance, 60)[:280], url=f"https://x.com/a/status/{number}", post_id=str(number))
        for number in range(chance.randint(0, 30))
    )
    whole = PostResult(session_id="a" * 12, content=content, sources=sources, quotes=quotes)
    fitted = budget.fit_posts(whole, limit)
    return _read_on(fitted, content, limit)


def _reply(chance: random.Random, limit: int) -> tuple[list[int], bool]:
    """An upstream tool's reply, read on by its reply_id."""
    text = fence.clean(_text(chance))
    reply = ToolReply(parts=(Part(kind="text", text=text),), structured={"text": _text(chance, 500)})
    return asyncio.run(_replied(reply, text, limit))  # noqa: TID251 - a bench is an entry point


async def _replied(reply: ToolReply, text: str, limit: int) -> tuple[list[int], bool]:
    upstreams = FakeUpstreams(links={"fake": [FakeUpstreamLink(script=reply)]})
    call = CallTool(upstreams=upstreams, cache=FakeCache())
    result = await call(CallRequest(tool="fake__echo", max_chars=limit))
    joined, sizes = result.content, [budget.json_chars(result)]
    while result.next_start is not None:
        result = await call(CallRequest(reply_id=result.reply_id, start=result.next_start, max_chars=limit))
        joined += result.content
        sizes.append(budget.json_chars(result))
    return sizes, text.strip() in joined and result.total_chars == len(joined)
