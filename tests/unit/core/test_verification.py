"""A search checks what its answer cites, within its time, and says how each citation fared."""

from __future__ import annotations

import pytest

from websearch_core.chain import NoEngine
from websearch_core.errors import RequestRejected, WebSearchError
from websearch_core.search import Search, SearchRules
from websearch_core.testing.fakes import FakeCache, FakeEngine, FakeExtractor, FakeFinder, Gate
from websearch_core.values import Answer, Page, SearchQuery, SearchResult, Source, SourceList

pytestmark = pytest.mark.anyio
TEXTS: dict[str, str | WebSearchError] = {
    "https://a.example/1": "The Halden Bridge reopened to traffic on 3 May 2026.",
    "https://b.example/2": "The Halden Museum counted 5,000 visitors last year.",
    "https://c.example/3": RequestRejected("the site answers 403", provider="local", http_status=403),
    "https://d.example/4": "Nothing to see.",
}
TEXT = (
    "The Halden Bridge reopened to traffic on 3 May 2026.[[1]](https://a.example/1) The Halden Museum counted 6,000 visitors "
    "last year [[2]](https://b.example/2). The ferry between the towns is free [[3]](https://c.example/3). The mill is for sale "
    "since Monday [[4]](https://d.example/4)."
)
ANSWER = Answer(
    text=TEXT,
    sources=(*(Source(url=url, evidence="cited") for url in TEXTS), Source(url="https://e.example/5")),
    engine="grok_responses",
    searched=True,
)


RULES = SearchRules()


def pages() -> FakeExtractor:
    return FakeExtractor(TEXTS)


def read(reader: FakeExtractor) -> list[str]:
    return [request.url for request in reader.asked]


async def searched(reader: FakeExtractor, answer: Answer = ANSWER, rules: SearchRules = RULES, **asked: object) -> SearchResult:
    use = Search(
        engine=FakeEngine(answer),
        finder=FakeFinder(SourceList()),
        extractor=reader,
        cache=FakeCache(),
        rules=rules,
    )
    return await use(SearchQuery(query="what is new in Halden?", **asked))  # type: ignore[arg-type] # keywords


@pytest.mark.requirement("OURS-EVIDENCE-02")
async def test_each_cited_source_gets_its_state_and_the_answer_one_line() -> None:
    result = await searched(pages(), verify="full")
    assert [source.evidence for source in result.sources] == ["quoted", "contradicted", "unreachable", "listed", "listed"]
    notes = {note.code: note.text for note in result.notes}
    assert notes["evidence_checked"] == (
        "Evidence: 4 citations: 1 quoted, 1 not found on the page, 1 page unreachable, 1 contradicted."
    )
    assert notes["claim_contradicted"] == "https://b.example/2 says 5,000 where the answer cites it for another figure"
    assert result.content == TEXT


@pytest.mark.requirement("OURS-EVIDENCE-03")
async def test_cheap_reads_three_pages_and_off_none() -> None:
    cheap, off, by_setting = pages(), pages(), pages()
    result = await searched(cheap, verify="cheap")
    assert read(cheap) == list(TEXTS)[:3]
    assert result.sources[3].evidence == "cited"
    await searched(off, verify="off", rules=SearchRules(verify="full"))
    await searched(by_setting, rules=SearchRules(verify="full"))
    assert (read(off), read(by_setting)) == ([], list(TEXTS))


async def test_a_page_is_read_once_for_all_its_claims_and_for_its_content() -> None:
    reader = pages()
    text = "The Halden Bridge reopened on 3 May 2026 [a](https://a.example/1). It reopened to traffic on 4 May [b](https://a.example/1)."
    answer = Answer(text=text, sources=(Source(url="https://a.example/1", evidence="cited"),), engine="e", searched=True)
    result = await searched(reader, answer, verify="full", include_content=True)
    assert read(reader) == ["https://a.example/1"]
    assert (result.sources[0].evidence, bool(result.sources[0].content)) == ("contradicted", True)


async def test_a_page_that_does_not_come_in_time_is_not_checked_and_is_let_go() -> None:
    gate: Gate[Page | None] = Gate(None)
    result = await searched(FakeExtractor(gate), verify="full", rules=SearchRules(deadline_s=0.3))
    assert {source.evidence for source in result.sources[:4]} == {"cited"}
    assert gate.cancelled == gate.entered


async def test_an_answer_without_links_and_a_list_without_an_answer_are_left_as_they_are() -> None:
    reader = pages()
    plain = Answer(text="It is so.", sources=(Source(url="https://a.example/1", evidence="cited"),), engine="e", searched=True)
    result = await searched(reader, plain, verify="full")
    assert (result.sources[0].evidence, result.notes, read(reader)) == ("cited", (), [])
    finder = FakeFinder(SourceList(items=(Source(url="https://a.example/1", description="It is."),), provider="tavily"))
    use = Search(engine=NoEngine(), finder=finder, extractor=FakeExtractor(), cache=FakeCache())
    result = await use(SearchQuery(query="q", verify="full"))
    assert result.sources[0].evidence == "listed"
