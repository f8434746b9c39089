"""No success with nothing in it: each mix of dead providers is an error that names each reason and the one remedy."""

from __future__ import annotations

import itertools

import pytest

from websearch_core.chain import ExtractorChain, FinderChain, NoEngine
from websearch_core.errors import AuthRejected, NotConfigured, OutOfCredit, RateLimited, Unreachable, WebSearchError
from websearch_core.search import Search
from websearch_core.testing.fakes import FakeCache, FakeEngine, FakeExtractor, FakeFinder
from websearch_core.values import Note, SearchQuery, Source, SourceList

pytestmark = pytest.mark.anyio
KEY = "tvly-canary-0123456789"
STATES: dict[str, SourceList | WebSearchError] = {
    "empty": SourceList(provider="p"),
    "blank_urls": SourceList(items=(Source(url=""), Source(url="  "), Source(url="about:blank")), provider="p"),
    "elsewhere": SourceList(items=(Source(url="https://other.example/"),), provider="p"),
    "no_key": NotConfigured("no key is set", provider="p", hint="Set P_API_KEY."),
    "unauthorised": AuthRejected("p answers 401", provider="p", http_status=401),
    "limited": RateLimited("p answers 429", provider="p", http_status=429, retry_after_s=30),
    "used_up": OutOfCredit("p answers 432", provider="p", http_status=432),
    "down": Unreachable("p answers 503", provider="p", http_status=503),
}
ENGINES = {"down": Unreachable("grok answers 503", provider="grok", http_status=503), "none": None}


@pytest.mark.requirement("RS-SERVICE-08", "RS-SERVICE-10", "OURS-07")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(STATES, 2)))
async def test_a_dead_end_is_loud_bounded_and_says_what_could_help(engine: str, first: str, second: str) -> None:
    error = ENGINES[engine]
    off = [Note(code="not_configured", text="switched off", provider="d")]
    finders = [FakeFinder(STATES[state], name=f"p{number}", keeps=()) for number, state in enumerate((first, second))]
    use = Search(
        engine=FakeEngine(error) if error else NoEngine(),
        finder=FinderChain(finders, off=off),
        extractor=ExtractorChain([FakeExtractor({})]),
        cache=FakeCache(),
    )
    result = await use(SearchQuery(query="q", include_domains=("wanted.example",)))
    assert result.status == "error"
    assert result.error
    assert (result.content, result.sources, result.sources_count) == ("", (), 0)
    assert result.next_action
    assert len(result.next_action) <= 300
    said = " ".join([*(f"{note.provider} {note.text}" for note in result.notes), str(result.error_detail)])
    assert len(said) <= 4_000
    for number, state in enumerate((first, second)):
        reached = number == 0 or first != "elsewhere"
        if reached and isinstance(STATES[state], WebSearchError):
            assert "p answers" in said or "no key is set" in said
    if engine == "down" or {first, second} & {"empty", "blank_urls", "elsewhere"}:
        assert (
            "fails the same way" in result.next_action
            or "find nothing again" in result.next_action
            or result.next_action.endswith(".")
        )
    assert KEY not in said


async def test_a_finder_that_cannot_keep_a_filter_is_named_among_the_reasons() -> None:
    blind = FakeFinder(SourceList(items=(Source(url="https://a.example/"),), provider="p"), name="blind", keeps=())
    use = Search(engine=NoEngine(), finder=FinderChain([blind]), extractor=ExtractorChain([]), cache=FakeCache())
    result = await use(SearchQuery(query="q", fresh_within="day"))
    assert (result.status, blind.asked) == ("error", [])
    assert [(note.code, note.provider) for note in result.notes] == [("filter_unsupported", "blind")]
