"""Filters kept, provenance kept, duplicates united."""

from __future__ import annotations

from datetime import date

import pytest

from websearch_core import merge
from websearch_core.values import SearchQuery, Source

TODAY = date(2026, 11, 30)


@pytest.mark.requirement("EDGE-10")
def test_a_duplicate_fills_what_the_first_lacks_and_changes_nothing_else() -> None:
    first = Source(url="https://www.a.example/x/", provider="grok_responses", evidence="cited")
    later = Source(url="https://a.example/x?utm_source=y", title="Title", description="d", provider="tavily")
    (one,) = merge.merged([first], [later])
    assert (one.url, one.provider, one.evidence) == ("https://www.a.example/x/", "grok_responses", "cited")
    assert (one.title, one.description) == ("Title", "d")


@pytest.mark.requirement("EDGE-10")
def test_an_extra_that_is_cited_already_fills_its_source_and_takes_no_place() -> None:
    cited = Source(url="https://a.example/x", provider="grok_responses", evidence="cited")
    extras = [Source(url="https://a.example/x", title="X"), *(Source(url=f"https://{name}.example") for name in "bcd")]
    united = merge.enriched([cited], extras, wanted=2)
    assert [source.url for source in united] == ["https://a.example/x", "https://b.example", "https://c.example"]
    assert united[0] == Source(url="https://a.example/x", title="X", provider="grok_responses", evidence="cited")


def test_subdomains_pass_and_impostors_do_not() -> None:
    sources = [Source(url=url) for url in ("https://docs.a.example/", "https://nota.example/", "https://a.example/")]
    kept, notes = merge.filtered(sources, SearchQuery(query="q", include_domains=("a.example",)), today=TODAY)
    assert [source.url for source in kept] == ["https://docs.a.example/", "https://a.example/"]
    assert [note.code for note in notes] == ["filtered_by_domain"]


@pytest.mark.requirement("RS-PARSE-05")
def test_the_window_of_each_freshness() -> None:
    days = ["2026-11-30", "2026-11-24", "2026-11-01", "2026-01-01", "2020-01-01"]
    sources = [Source(url=f"https://a.example/{day}", published=day) for day in days]
    for window, left in (("day", 1), ("week", 2), ("month", 3), ("year", 4), ("any", 5)):
        kept, _ = merge.filtered(sources, SearchQuery(query="q", fresh_within=window), today=TODAY)  # type: ignore[arg-type]
        assert len(kept) == left


def test_a_label_is_the_provenance() -> None:
    (one,) = merge.labelled([Source(url="https://a.example", provider="tavily")], "tavily_enrichment")
    assert one.provider == "tavily_enrichment"
