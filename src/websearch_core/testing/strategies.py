"""Hypothesis strategies for the values of this library, for web addresses, and for text that means harm.

Requests are generated within their limits, sources and answers with anything that an upstream might send: the generated
texts are not clean, and need not be encodable (see `hostile_text`).
"""

from __future__ import annotations

import functools
from typing import get_args

from hypothesis import strategies as st

from websearch_core import urls
from websearch_core.values import (
    Answer,
    Depth,
    Evidence,
    FetchRequest,
    Freshness,
    Json,
    Link,
    MapRequest,
    Note,
    Page,
    SearchQuery,
    SiteMap,
    Source,
    SourceList,
    SourcesRequest,
    SwitchRequest,
    Usage,
    Verify,
)

__all__ = [
    "PAYLOAD",
    "answers",
    "domains",
    "fetch_requests",
    "hostile_text",
    "json_values",
    "map_requests",
    "pages",
    "search_queries",
    "site_maps",
    "source_lists",
    "sources",
    "sources_requests",
    "switch_requests",
    "terminal_text",
    "web_urls",
]

_LATIN = "abcdefghijklmnopqrstuvwxyz0123456789"
_CJK = "步行桥重新开放検索エンジン검색"
_LABELS = st.one_of(
    st.text(_LATIN, min_size=1, max_size=12),
    st.sampled_from(["www", "xn--bcher-kva", "a-b", "localhost", "EXAMPLE", "Docs", "bücher", "例え", "пример", "faß"]),
)
_TOP = st.sampled_from(["org", "com", "example", "test", "co.uk", "рф", "中国", "xn--p1ai"])
_ADDRESSES = st.sampled_from(["127.0.0.1", "192.0.2.7", "[::1]", "[2001:DB8::7]", "localhost"])
_SEGMENTS = st.one_of(
    st.text(_LATIN + "-._~!$&'()*+,;=:@ABC", max_size=10),
    st.text(_CJK, min_size=1, max_size=6),
    st.sampled_from(["Bridge_(x)", "a%20b", "%E6%A1%A5", "%e6%a1%a5", "%2F", "%41", "100%", "%4%31", "%ff", "..", ".", ""]),
)
_QUERY_PARTS = st.one_of(
    st.text(_LATIN, min_size=1, max_size=6),
    st.text(_CJK, min_size=1, max_size=3),
    st.sampled_from(["utm_source", "UTM_id", "fbclid", "q", "a%20b", "a+b", "%D6%D0", "%ff", "%26", "%3D", "x=y", "[]", ""]),
)
_NASTY = st.sampled_from(
    [
        "\x00", "\x07", "\x1b[31mred", "\r\n", "\t", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066", "\u200b", "\ufeff",
        "\ufffe", "\ud800", "\udfff", "\U0010ffff", '"', "'", "\\", '\\"', "`", "```", "~~~\n", "<b>", "</untrusted>", "<!--",
        "]]>", "&amp;", "%00", "{{x}}", "${x}", "$(x)", "../", "ignore previous instructions", "🙂", "👩‍👩‍👧",
        "e\u0301", "ß", "İ", "ﬀ", "桥", "한국어", "مرحبا", "שלום", " ", "\u00a0", "\u3000",
    ]
)  # fmt: skip


PAYLOAD = "payload4711"
"""Stands inside of every command that `terminal_text` makes, and nowhere else."""
_COMMANDS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["\x1b]", "\x1bP", "\x1bX", "\x1b^", "\x1b_", "\x9d", "\x90", "\x98", "\x9e", "\x9f"]),
    st.sampled_from([PAYLOAD, f"0;{PAYLOAD}", f"8;;https://x.com/{PAYLOAD}", f"+q{PAYLOAD}", f"52;c;{PAYLOAD}=="]),
    st.sampled_from(["\x07", "\x1b\\", "\x9c", "\x18", "\n", "\r\n", "\u2028", "\x1b[0m", "\x9b0m", "\x1b"]),
)
_SEQUENCES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["\x1b[", "\x9b"]),
    st.text("0123456789;:<=>?", max_size=6),
    st.text(" !\"#$%&'()*+,-./", max_size=2),
    st.sampled_from([*map(chr, range(0x40, 0x7F)), ""]),
)
_UNSEEN = st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Cs"]) | st.sampled_from("\u115f\u1160\u3164\uffa0\ufe0f\U000e0100")


def terminal_text() -> st.SearchStrategy[str]:
    """Words among what a terminal obeys or nobody sees: control sequences of every kind, closed or not; invisible characters."""
    words = st.text("abc 中文🙂", max_size=6)
    simple = st.builds("\x1b{}".format, st.characters(max_codepoint=0x7F))
    pieces = st.one_of(words, _COMMANDS, _SEQUENCES, _UNSEEN, simple)
    return st.lists(pieces, max_size=20).map("".join)


def hostile_text(*, min_size: int = 0, max_size: int = 200) -> st.SearchStrategy[str]:
    """Any text at all, rich in control characters, bidi marks, lone surrogates, quotes, fences, emoji and CJK."""
    pieces = st.lists(st.one_of(_NASTY, st.text(max_size=5)), max_size=12).map("".join)
    padded = pieces.map(lambda text: text + "x" * (min_size - len(text)))
    return st.one_of(padded.map(lambda text: text[:max_size]), st.text(min_size=min_size, max_size=max_size))


def json_values(*, max_leaves: int = 20) -> st.SearchStrategy[Json]:
    """Any JSON value: with finite numbers, and texts that have an encoding."""
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), text)
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(text, inner, max_size=5), max_leaves=max_leaves
    )


def domains() -> st.SearchStrategy[str]:
    """Host names that a filter accepts, some of them with a leading `*.`."""
    return st.builds(
        lambda star, labels, top: f"{star}{'.'.join(labels)}.{top}",
        st.sampled_from(["", "", "*."]),
        st.lists(st.text(_LATIN, min_size=1, max_size=12), min_size=1, max_size=3),
        st.sampled_from(["org", "com", "co.uk"]),
    )


def web_urls() -> st.SearchStrategy[str]:
    """Addresses for which `urls.is_web_url` holds: ports, users, IP and international hosts, escapes, CJK, parentheses."""
    hosts = st.one_of(
        st.builds(
            lambda labels, top, dot: f"{'.'.join(labels)}.{top}{dot}",
            st.lists(_LABELS, min_size=1, max_size=3),
            _TOP,
            st.sampled_from(["", "", "."]),
        ),
        _ADDRESSES,
    )
    users = st.sampled_from(["", "", "", "user@", "user:pass%20word@", "example.com%2f@"])
    ports = st.sampled_from(["", "", "", ":", ":80", ":443", ":8080", ":65535", ":0080"])
    schemes = st.sampled_from(["http", "https", "HTTPS", "Http"])
    return st.builds(
        "{}://{}{}{}{}{}{}".format,
        schemes,
        users,
        hosts,
        ports,
        _paths(),
        _queries(),
        st.sampled_from(["", "", "#", "#part", "#桥"]),
    ).filter(urls.is_web_url)


def _paths() -> st.SearchStrategy[str]:
    return st.lists(_SEGMENTS, max_size=4).map(lambda segments: "".join(f"/{segment}" for segment in segments))


def _queries() -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(_QUERY_PARTS, st.sampled_from(["=", ""]), _QUERY_PARTS), max_size=4)
    return pairs.map(lambda found: "?" + "&".join(map("".join, found)) if found else "")


def search_queries() -> st.SearchStrategy[SearchQuery]:
    """Questions within their limits."""
    return st.builds(
        SearchQuery,
        query=_filled_text(4_000),
        platform=_clean_text(200),
        extra_sources=st.none() | st.integers(0, 20),
        fresh_within=st.sampled_from(get_args(Freshness)),
        include_domains=st.lists(domains(), max_size=5).map(tuple),
        exclude_domains=st.lists(domains(), max_size=5).map(tuple),
        depth=st.sampled_from(get_args(Depth)),
        verify=st.none() | st.sampled_from(get_args(Verify)),
        include_content=st.booleans(),
        max_chars=st.integers(1_000, 200_000),
        model=_clean_text(200),
    )


def sources_requests() -> st.SearchStrategy[SourcesRequest]:
    """Requests for more of an answer, within their limits."""
    return st.builds(
        SourcesRequest,
        session_id=st.text("0123456789abcdef", min_size=12, max_size=12),
        offset=st.integers(0, 100_000),
        limit=st.integers(1, 200),
        start=st.none() | st.integers(0, 50_000_000),
        max_chars=st.integers(1_000, 200_000),
    )


def fetch_requests() -> st.SearchStrategy[FetchRequest]:
    """Requests for a page, within their limits."""
    return st.builds(
        FetchRequest,
        url=web_urls(),
        start=st.integers(0, 50_000_000),
        max_chars=st.integers(1_000, 200_000),
        provider=_names(),
    )


def map_requests() -> st.SearchStrategy[MapRequest]:
    """Requests for a map, within their limits."""
    return st.builds(
        MapRequest,
        url=web_urls(),
        instructions=_clean_text(400),
        max_depth=st.integers(1, 5),
        max_breadth=st.integers(1, 500),
        limit=st.integers(1, 500),
        offset=st.integers(0, 100_000),
        timeout=st.integers(10, 150),
        max_chars=st.integers(1_000, 200_000),
        provider=_names(),
    )


def switch_requests() -> st.SearchStrategy[SwitchRequest]:
    """Names for another model."""
    return st.builds(SwitchRequest, model=_filled_text(200))


def sources() -> st.SearchStrategy[Source]:
    """Sources with a usable address and whatever texts an upstream may send."""
    return st.builds(
        Source,
        url=web_urls(),
        title=hostile_text(max_size=80),
        description=hostile_text(),
        published=_days(),
        provider=_names(),
        evidence=st.sampled_from(get_args(Evidence)),
        content=hostile_text(),
        next_start=st.none() | st.integers(0, 50_000_000),
    )


def source_lists() -> st.SearchStrategy[SourceList]:
    """Lists of sources, as a finder gives them."""
    return st.builds(SourceList, items=st.lists(sources(), max_size=8).map(tuple), provider=_names(), notes=_notes())


def answers() -> st.SearchStrategy[Answer]:
    """Answers, as an engine gives them; the text is never blank."""
    return st.builds(
        Answer,
        text=hostile_text(max_size=400).map(lambda text: f"So: {text}"),
        sources=st.lists(sources(), max_size=8).map(tuple),
        engine=st.sampled_from(["grok_responses", "openai_compatible"]),
        model=_names(),
        searched=st.sampled_from([True, False, None]),
        usage=st.none() | _usages(),
        notes=_notes(),
    )


def pages() -> st.SearchStrategy[Page]:
    """Pages, as an extractor gives them; the text is never blank."""
    return st.builds(
        Page,
        url=web_urls(),
        final_url=st.just("") | web_urls(),
        title=hostile_text(max_size=80),
        text=hostile_text(max_size=400).map(lambda text: f"Page: {text}"),
        kind=st.sampled_from(["html", "pdf", "text", "json", "xml", "feed", "markdown"]),
        provider=_names(),
        published=_days(),
        fetched_at=st.datetimes().map(lambda moment: f"{moment.isoformat(timespec='seconds')}Z"),
        notes=_notes(),
    )


def site_maps() -> st.SearchStrategy[SiteMap]:
    """Maps, as a mapper gives them."""
    links = st.lists(st.builds(Link, url=web_urls(), title=hostile_text(max_size=40)), max_size=8)
    return st.builds(
        SiteMap,
        root=web_urls(),
        links=links.map(tuple),
        provider=_names(),
        truncated=st.booleans(),
        ignored=st.integers(0, 20),
        notes=_notes(),
    )


@functools.cache
def _clean_text(most: int) -> st.SearchStrategy[str]:
    """Text that has an encoding."""
    clean = hostile_text(max_size=min(most, 200)).map(lambda text: text.encode("utf-8", "replace").decode())
    return st.one_of(clean, st.just("x" * most))


def _filled_text(most: int) -> st.SearchStrategy[str]:
    return _clean_text(most).map(lambda text: text if text.strip() else "x")


def _names() -> st.SearchStrategy[str]:
    return st.sampled_from(["", "tavily", "firecrawl", "local", "grok_responses"])


def _days() -> st.SearchStrategy[str]:
    return st.just("") | st.dates().map(str)


def _notes() -> st.SearchStrategy[tuple[Note, ...]]:
    note = st.builds(Note, code=st.sampled_from(["cut", "no_key", "not_kept"]), text=hostile_text(max_size=60), provider=_names())
    return st.lists(note, max_size=3).map(tuple)


def _usages() -> st.SearchStrategy[Usage]:
    count = st.none() | st.integers(0, 1_000_000)
    cost = st.none() | st.floats(0, 100)
    return st.builds(Usage, input_tokens=count, output_tokens=count, searches=count, cost_usd=cost)
