"""The provider for people who build on this library: offline, the same every time, and open about it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_adapters.http.client import Http
from websearch_adapters.providers import echo
from websearch_adapters.providers.echo import PROVIDER, Echo, EchoSettings
from websearch_core import urls
from websearch_core.ports import AnswerEngine, Extractor, Mapper, Probe, SourceFinder
from websearch_core.testing.fakes import FakeCredentials
from websearch_core.values import FetchRequest, MapRequest, SearchQuery

pytestmark = pytest.mark.anyio

QUERY = SearchQuery(query="Who opened\n the footbridge?")


def made(**settings: Any) -> Echo:
    provider = PROVIDER.make(EchoSettings(**settings), Http(FakeCredentials({})))
    assert isinstance(provider, Echo)
    return provider


async def test_an_answer_repeats_the_question_and_cites_every_source() -> None:
    answer = await made().answer(QUERY)
    assert answer.text.startswith("Echo, without any search: Who opened the footbridge? [1](https://example.org/echo/")
    assert (answer.engine, answer.searched, len(answer.sources)) == ("echo", None, 3)
    assert all(f"]({source.url})" in answer.text and source.evidence == "cited" for source in answer.sources)
    assert [note.code for note in answer.notes] == ["echo"]


async def test_a_search_makes_up_as_many_sources_as_are_wanted() -> None:
    found = await made(sources=2).find(QUERY)
    more = await made(sources=2).find(SearchQuery(query="x", extra_sources=7))
    assert (len(found.items), len(more.items)) == (2, 7)
    assert all(urls.host_matches(source.url, "example.org") and "Made-up" in source.description for source in more.items)
    assert [note.code for note in found.notes] == ["echo"]


async def test_the_domains_of_a_query_are_kept() -> None:
    provider = made()
    assert (await provider.find(SearchQuery(query="x", exclude_domains=("example.org",)))).items == ()
    assert (await provider.find(SearchQuery(query="x", include_domains=("example.com",)))).items == ()
    assert len((await provider.find(SearchQuery(query="x", include_domains=("example.org",)))).items) == 3


async def test_a_page_says_that_it_was_not_read() -> None:
    page = await made().extract(FetchRequest(url="https://council.example.org/news"))
    assert "https://council.example.org/news" in page.text
    assert "did not read this page" in page.text
    assert [note.code for note in page.notes] == ["echo"]


async def test_a_site_has_numbered_pages_below_its_root() -> None:
    provider = made(pages=3)
    whole = await provider.map(MapRequest(url="https://council.example.org/news?x=1"))
    piece = await provider.map(MapRequest(url="https://council.example.org/news", limit=2))
    assert [link.url for link in whole.links] == [f"https://council.example.org/echo/{number}" for number in (1, 2, 3)]
    assert (whole.truncated, len(piece.links), piece.truncated) == (False, 2, True)


async def test_it_is_always_well() -> None:
    health = await made().probe(live=True)
    assert (health.part, health.state) == ("echo", "ok")


async def test_it_satisfies_every_port_that_it_offers() -> None:
    provider = made()
    engine: AnswerEngine = provider
    finder: SourceFinder = provider
    extractor: Extractor = provider
    mapper: Mapper = provider
    probe: Probe = provider
    assert {each.name for each in (engine, finder, extractor, mapper)} == {"echo"}
    assert callable(probe.probe)
    assert set(PROVIDER.offers) == {"answer", "find", "extract", "map"}
    assert not PROVIDER.needs_key


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300).filter(str.strip))
def test_any_question_gives_usable_addresses_and_the_same_ones_again(question: str) -> None:
    query = SearchQuery(query=question)
    sources = echo.sources_for(query, 3)
    assert all(urls.is_web_url(source.url) for source in sources)
    assert len({source.url for source in sources}) == 3
    assert echo.sources_for(query, 3) == sources
