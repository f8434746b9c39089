"""What every implementation of a port must do: one suite of tests per port, for our adapters, fakes, composites and your plugins.

Subclass the suite in a test module, with a name that starts with `Test`, and give the fixtures that it lists:

    class TestMine(AnswerEngineContract):
        @pytest.fixture
        def engine(self) -> AnswerEngine:
            return MyEngine(...)

A fixture that a suite has without a default fails by name until it is given. Fixtures may be async, and may have `params`: a
`failing_…` fixture usually has one for every way in which the other side can fail. The suites bring the `anyio_backend` fixture
and the mark of anyio's pytest plugin; nothing waits longer than half a minute. An `Offline…` suite is the half of a suite that
needs no other side: for implementations that speak to nobody, so can neither fail nor hang.

For readable failures, `pytest.register_assert_rewrite("websearch_core.testing.contracts")` in a `conftest.py`.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar, Generic, TypeVar

import pytest

from websearch_core import fusion, urls
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    NotAllowed,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.hub.ports import SERVICE, Upstream, UpstreamLink, Upstreams
from websearch_core.hub.values import Cause
from websearch_core.ports import (
    AnswerEngine,
    Cache,
    Configuration,
    Credentials,
    Extractor,
    Library,
    Mapper,
    PostFinder,
    Probe,
    Scorer,
    SourceFinder,
)
from websearch_core.testing.fakes import FakeClock
from websearch_core.values import (
    Answer,
    FetchRequest,
    Json,
    Link,
    MapRequest,
    Note,
    Page,
    PostQuery,
    ReadFailure,
    SearchQuery,
    Secret,
    SiteMap,
    Source,
    SourceList,
    Usage,
    as_plain,
)

__all__ = [
    "AnswerEngineContract",
    "CacheContract",
    "ConfigurationContract",
    "CredentialsContract",
    "ExtractorContract",
    "Hanging",
    "KeyPoolContract",
    "LibraryContract",
    "MapperContract",
    "OfflineAnswerEngineContract",
    "OfflineExtractorContract",
    "OfflineMapperContract",
    "OfflinePostFinderContract",
    "OfflineProbeContract",
    "OfflineSourceFinderContract",
    "PostFinderContract",
    "ProbeContract",
    "ScorerContract",
    "SelectiveExtractorContract",
    "SourceFinderContract",
    "UpstreamContract",
    "UpstreamsContract",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
WAIT_S = 30.0
PROBLEMATIC = ("", "plain", "ключ:ключ", "键/键", "../../etc/passwd", "nul\x00nul", "line\nline", "🙂", "k" * 5_000)
"""Cache keys that a file system, a protocol or an encoding may stumble over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hanging(Generic[T_co]):
    """A part whose other side takes the question and never answers."""

    part: T_co
    entered: Callable[[], Awaitable[object]]
    """Returns once the other side has the question."""
    left: Callable[[], Awaitable[object]]
    """Returns once the other side has seen that nobody waits any more."""


class _Suite:
    """What all suites share."""

    pytestmark: ClassVar[pytest.MarkDecorator] = pytest.mark.anyio
    failures: ClassVar[tuple[type[WebSearchError], ...]] = (ProviderError, NotConfigured)
    """What a failure of the other side may be raised as; a composite adds `AllFailed`."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return ()


# --- answers ------------------------------------------------------------------------------------------------------


class OfflineAnswerEngineContract(_Suite):
    """Every `AnswerEngine`, one that speaks to nobody included.

    Fixtures to give:
        engine: answers `query`.
    Fixtures with a default:
        query: a question.
        names: who may sign the answer; a composite gives the names of its parts.
    """

    @pytest.fixture
    def engine(self) -> AnswerEngine:
        raise NotImplementedError("give this suite an engine that answers `query`")

    @pytest.fixture
    def query(self) -> SearchQuery:
        return SearchQuery(query="Which bridges reopened this year?")

    @pytest.fixture
    def names(self, engine: AnswerEngine) -> Iterable[str]:
        return {engine.name}

    async def test_answers_with_text(self, engine: AnswerEngine, query: SearchQuery) -> None:
        answer = await _soon(engine.answer(query))
        assert answer.text.strip()

    async def test_names_each_source_once_by_a_usable_address(self, engine: AnswerEngine, query: SearchQuery) -> None:
        answer = await _soon(engine.answer(query))
        _each_usable_and_once(source.url for source in answer.sources)

    async def test_names_cited_sources_first(self, engine: AnswerEngine, query: SearchQuery) -> None:
        evidence = [source.evidence for source in (await _soon(engine.answer(query))).sources]
        assert evidence == sorted(evidence), "`cited` before `listed`"

    async def test_signs_the_answer(self, engine: AnswerEngine, query: SearchQuery, names: Iterable[str]) -> None:
        assert (await _soon(engine.answer(query))).engine in set(names)

    async def test_keeps_its_name(self, engine: AnswerEngine, query: SearchQuery) -> None:
        before = engine.name
        await _soon(engine.answer(query))
        assert before.strip()
        assert engine.name == before

    async def test_gives_an_answer_that_is_json(self, engine: AnswerEngine, query: SearchQuery) -> None:
        _is_json(await _soon(engine.answer(query)))

    async def test_answers_several_at_once(self, engine: AnswerEngine, query: SearchQuery) -> None:
        answers = await _soon(asyncio.gather(*(engine.answer(query) for _ in range(3))))
        assert all(answer.text.strip() for answer in answers)


class AnswerEngineContract(OfflineAnswerEngineContract):
    """Every `AnswerEngine` with another side.

    Fixtures to give, beside those of `OfflineAnswerEngineContract`:
        failing_engine: its other side fails; usually with one parameter for every way to fail.
        hanging_engine: a `Hanging` engine.
    Fixtures with a default:
        secrets: texts that must not occur in any error, such as the keys in use.
    """

    @pytest.fixture
    def failing_engine(self) -> AnswerEngine:
        raise NotImplementedError("give this suite an engine whose other side fails")

    @pytest.fixture
    def hanging_engine(self) -> Hanging[AnswerEngine]:
        raise NotImplementedError("give this suite an engine whose other side never answers")

    async def test_fails_only_in_our_words(
        self, failing_engine: AnswerEngine, query: SearchQuery, secrets: Sequence[str]
    ) -> None:
        """A failure of the other side is an error of ours, never an answer."""
        with pytest.raises(self.failures) as caught:
            await _soon(failing_engine.answer(query))
        _is_presentable(caught.value, secrets)

    async def test_leaves_nothing_open_when_cancelled(self, hanging_engine: Hanging[AnswerEngine], query: SearchQuery) -> None:
        await _cancelled(hanging_engine, lambda engine: engine.answer(query))


# --- posts --------------------------------------------------------------------------------------------------------


class OfflinePostFinderContract(_Suite):
    """Every `PostFinder`, one that speaks to nobody included.

    Fixtures to give:
        post_finder: finds posts for `query`, and its search is seen to have run.
        idle_post_finder: answers `query` without having searched.
        empty_post_finder: searches for `query` and finds nothing.
    Fixtures with a default:
        query: a question for X.
        names: who may sign the answer; a composite gives the names of its parts.
    """

    @pytest.fixture
    def post_finder(self) -> PostFinder:
        raise NotImplementedError("give this suite a finder that finds posts for `query`")

    @pytest.fixture
    def idle_post_finder(self) -> PostFinder:
        raise NotImplementedError("give this suite a finder that answers without a search")

    @pytest.fixture
    def empty_post_finder(self) -> PostFinder:
        raise NotImplementedError("give this suite a finder that finds nothing")

    @pytest.fixture
    def query(self) -> PostQuery:
        return PostQuery(query="Which bridges reopened this year?")

    @pytest.fixture
    def names(self, post_finder: PostFinder) -> Iterable[str]:
        return {post_finder.name}

    async def test_answers_with_text_that_rests_on_a_search(self, post_finder: PostFinder, query: PostQuery) -> None:
        answer = await _soon(post_finder.find_posts(query))
        assert answer.text.strip()
        assert answer.searched is not False

    async def test_names_each_source_once_by_a_usable_address(self, post_finder: PostFinder, query: PostQuery) -> None:
        answer = await _soon(post_finder.find_posts(query))
        assert answer.sources
        _each_usable_and_once(source.url for source in answer.sources)

    async def test_signs_the_answer(self, post_finder: PostFinder, query: PostQuery, names: Iterable[str]) -> None:
        assert (await _soon(post_finder.find_posts(query))).engine in set(names)

    async def test_keeps_its_name(self, post_finder: PostFinder, query: PostQuery) -> None:
        before = post_finder.name
        await _soon(post_finder.find_posts(query))
        assert before.strip()
        assert post_finder.name == before

    async def test_takes_a_query_with_every_filter(self, post_finder: PostFinder, query: PostQuery) -> None:
        full = replace(
            query,
            allowed_x_handles=("examplevalley",),
            from_date="2025-11-01",
            to_date="2025-11-30",
            enable_image_understanding=True,
            enable_video_understanding=False,
        )
        assert (await _soon(post_finder.find_posts(full))).searched is not False

    async def test_gives_an_answer_that_is_json(self, post_finder: PostFinder, query: PostQuery) -> None:
        _is_json(await _soon(post_finder.find_posts(query)))

    async def test_says_so_when_nobody_searched(self, idle_post_finder: PostFinder, query: PostQuery) -> None:
        assert (await _soon(idle_post_finder.find_posts(query))).searched is False

    async def test_nothing_found_is_an_answer_without_sources(self, empty_post_finder: PostFinder, query: PostQuery) -> None:
        answer = await _soon(empty_post_finder.find_posts(query))
        assert answer.searched is not False
        assert answer.sources == ()

    async def test_finds_for_several_at_once(self, post_finder: PostFinder, query: PostQuery) -> None:
        answers = await _soon(asyncio.gather(*(post_finder.find_posts(query) for _ in range(3))))
        assert all(answer.text.strip() for answer in answers)


class PostFinderContract(OfflinePostFinderContract):
    """Every `PostFinder` with another side.

    Fixtures to give, beside those of `OfflinePostFinderContract`:
        failing_post_finder: its other side fails; usually with one parameter for every way to fail.
        hanging_post_finder: a `Hanging` finder.
    Fixtures with a default:
        secrets: texts that must not occur in any error, such as the keys in use.
    """

    @pytest.fixture
    def failing_post_finder(self) -> PostFinder:
        raise NotImplementedError("give this suite a finder whose other side fails")

    @pytest.fixture
    def hanging_post_finder(self) -> Hanging[PostFinder]:
        raise NotImplementedError("give this suite a finder whose other side never answers")

    async def test_fails_only_in_our_words(
        self, failing_post_finder: PostFinder, query: PostQuery, secrets: Sequence[str]
    ) -> None:
        """A failure of the other side is an error of ours, never an answer."""
        with pytest.raises(self.failures) as caught:
            await _soon(failing_post_finder.find_posts(query))
        _is_presentable(caught.value, secrets)

    async def test_leaves_nothing_open_when_cancelled(self, hanging_post_finder: Hanging[PostFinder], query: PostQuery) -> None:
        await _cancelled(hanging_post_finder, lambda finder: finder.find_posts(query))


# --- sources ------------------------------------------------------------------------------------------------------


class OfflineSourceFinderContract(_Suite):
    """Every `SourceFinder`, one that speaks to nobody included.

    Fixtures to give:
        finder: finds pages for `query`.
        empty_finder: finds nothing for it, and that is no failure.
    Fixtures with a default:
        query: a question, without a wish for a number.
        names: who may sign the list and its items; a composite gives the names of its parts.
        lists: how many lists the finder joins; 1 for a finder that asks one other side.
    """

    @pytest.fixture
    def finder(self) -> SourceFinder:
        raise NotImplementedError("give this suite a finder that finds pages for `query`")

    @pytest.fixture
    def empty_finder(self) -> SourceFinder:
        raise NotImplementedError("give this suite a finder that finds nothing")

    @pytest.fixture
    def query(self) -> SearchQuery:
        return SearchQuery(query="Which bridges reopened this year?")

    @pytest.fixture
    def names(self, finder: SourceFinder) -> Iterable[str]:
        return {finder.name}

    @pytest.fixture
    def lists(self) -> int:
        return 1

    async def test_finds_pages_each_once_by_a_usable_address(self, finder: SourceFinder, query: SearchQuery) -> None:
        found = await _soon(finder.find(query))
        assert found.items
        _each_usable_and_once(source.url for source in found.items if not source.url.startswith("file://"))

    @pytest.mark.parametrize("most", [1, 2, 20])
    async def test_finds_at_most_what_was_asked_for(
        self, finder: SourceFinder, query: SearchQuery, lists: int, most: int
    ) -> None:
        """Of each list that it joins, and no more than is worth ordering."""
        found = await _soon(finder.find(replace(query, extra_sources=most)))
        assert 1 <= len(found.items) <= min(most * lists, fusion.MOST_JOINED)

    async def test_signs_what_it_found(self, finder: SourceFinder, query: SearchQuery, names: Iterable[str]) -> None:
        found = await _soon(finder.find(query))
        assert found.provider in set(names)
        assert {source.provider for source in found.items} <= {*names, ""}

    async def test_keeps_its_name(self, finder: SourceFinder, query: SearchQuery) -> None:
        before = finder.name
        await _soon(finder.find(query))
        assert before.strip()
        assert finder.name == before

    async def test_claims_only_filters_that_exist(self, finder: SourceFinder) -> None:
        assert finder.keeps <= {"fresh_within", "include_domains", "exclude_domains"}

    async def test_keeps_the_domain_filters_that_it_claims(self, finder: SourceFinder, query: SearchQuery) -> None:
        domain = urls.host((await _soon(finder.find(query))).items[0].url)
        excluding = await _soon(finder.find(replace(query, exclude_domains=(domain,))))
        including = await _soon(finder.find(replace(query, include_domains=(domain,))))
        if "exclude_domains" in finder.keeps:
            assert not any(urls.host_matches(source.url, domain) for source in excluding.items)
        if "include_domains" in finder.keeps:
            assert all(urls.host_matches(source.url, domain) for source in including.items)
            assert including.items

    async def test_takes_a_query_with_every_filter(self, finder: SourceFinder, query: SearchQuery) -> None:
        """A filter that it does not keep is no error either."""
        filtered = replace(
            query, fresh_within="year", include_domains=("example.com", "example.org"), exclude_domains=("example.net",)
        )
        found = await _soon(finder.find(filtered))
        assert found.provider.strip()

    async def test_gives_a_list_that_is_json(self, finder: SourceFinder, query: SearchQuery) -> None:
        _is_json(await _soon(finder.find(query)))

    async def test_nothing_found_is_an_empty_list(self, empty_finder: SourceFinder, query: SearchQuery) -> None:
        found = await _soon(empty_finder.find(query))
        assert found.items == ()
        assert found.provider.strip()


class SourceFinderContract(OfflineSourceFinderContract):
    """Every `SourceFinder` with another side.

    Fixtures to give, beside those of `OfflineSourceFinderContract`:
        failing_finder: its other side fails; usually with one parameter for every way to fail.
        hanging_finder: a `Hanging` finder.
    Fixtures with a default:
        secrets: texts that must not occur in any error, such as the keys in use.
    """

    @pytest.fixture
    def failing_finder(self) -> SourceFinder:
        raise NotImplementedError("give this suite a finder whose other side fails")

    @pytest.fixture
    def hanging_finder(self) -> Hanging[SourceFinder]:
        raise NotImplementedError("give this suite a finder whose other side never answers")

    async def test_fails_only_in_our_words(
        self, failing_finder: SourceFinder, query: SearchQuery, secrets: Sequence[str]
    ) -> None:
        """A failure of the other side is an error of ours, never an empty list."""
        with pytest.raises(self.failures) as caught:
            await _soon(failing_finder.find(query))
        _is_presentable(caught.value, secrets)

    async def test_leaves_nothing_open_when_cancelled(self, hanging_finder: Hanging[SourceFinder], query: SearchQuery) -> None:
        await _cancelled(hanging_finder, lambda finder: finder.find(query))


# --- pages --------------------------------------------------------------------------------------------------------


class OfflineExtractorContract(_Suite):
    """Every `Extractor`, one that speaks to nobody included.

    Fixtures to give:
        extractor: reads the page of `page_request`.
    Fixtures with a default:
        page_request: a page.
        names: who may sign the page; a composite gives the names of its parts.
    """

    failures: ClassVar[tuple[type[WebSearchError], ...]] = (ProviderError, NotAllowed, NotConfigured)

    @pytest.fixture
    def extractor(self) -> Extractor:
        raise NotImplementedError("give this suite an extractor that reads the page of `page_request`")

    @pytest.fixture
    def page_request(self) -> FetchRequest:
        return FetchRequest(url="https://docs.example.org/page")

    @pytest.fixture
    def names(self, extractor: Extractor) -> Iterable[str]:
        return {extractor.name}

    async def test_reads_text(self, extractor: Extractor, page_request: FetchRequest) -> None:
        page = await _read(extractor, page_request)
        assert page.text.strip()
        assert page.kind in {"html", "pdf", "text", "json", "xml", "feed", "markdown"}

    async def test_says_which_page_it_read(self, extractor: Extractor, page_request: FetchRequest) -> None:
        page = await _read(extractor, page_request)
        assert page.url == page_request.url
        assert page.final_url == "" or urls.is_web_url(page.final_url)

    async def test_says_who_extracted(self, extractor: Extractor, page_request: FetchRequest, names: Iterable[str]) -> None:
        assert (await _read(extractor, page_request)).provider in set(names)

    async def test_says_when_in_utc(self, extractor: Extractor, page_request: FetchRequest) -> None:
        page = await _read(extractor, page_request)
        assert page.fetched_at == "" or _is_utc(page.fetched_at)

    async def test_keeps_its_name(self, extractor: Extractor, page_request: FetchRequest) -> None:
        before = extractor.name
        await _read(extractor, page_request)
        assert before.strip()
        assert extractor.name == before

    async def test_gives_the_whole_page_whatever_piece_is_asked_for(
        self, extractor: Extractor, page_request: FetchRequest
    ) -> None:
        """Cutting is the use case's business."""
        whole = await _read(extractor, page_request)
        piece = await _read(extractor, replace(page_request, start=7, max_chars=1_000))
        assert piece.text == whole.text

    async def test_gives_a_page_that_is_json(self, extractor: Extractor, page_request: FetchRequest) -> None:
        _is_json(await _read(extractor, page_request))

    async def test_reads_several_at_once(self, extractor: Extractor, page_request: FetchRequest) -> None:
        pages = await _soon(asyncio.gather(*(extractor.extract(page_request) for _ in range(3))))
        assert len({page.text for page in pages if page is not None}) == 1
        assert None not in pages


class ExtractorContract(OfflineExtractorContract):
    """Every `Extractor` with another side; one that reads only some pages passes `SelectiveExtractorContract`.

    Fixtures to give, beside those of `OfflineExtractorContract`:
        blank_extractor: its other side gives the page with nothing readable in it.
        failing_extractor: its other side fails; usually with one parameter for every way to fail.
        hanging_extractor: a `Hanging` extractor.
    Fixtures with a default:
        secrets: texts that must not occur in any error, such as the keys in use.
    """

    @pytest.fixture
    def blank_extractor(self) -> Extractor:
        raise NotImplementedError("give this suite an extractor whose other side has nothing readable")

    @pytest.fixture
    def failing_extractor(self) -> Extractor:
        raise NotImplementedError("give this suite an extractor whose other side fails")

    @pytest.fixture
    def hanging_extractor(self) -> Hanging[Extractor]:
        raise NotImplementedError("give this suite an extractor whose other side never answers")

    async def test_nothing_readable_is_an_error(self, blank_extractor: Extractor, page_request: FetchRequest) -> None:
        with pytest.raises(self.failures):
            await _soon(blank_extractor.extract(page_request))

    async def test_a_failure_is_an_error_and_never_an_empty_page(
        self, failing_extractor: Extractor, page_request: FetchRequest, secrets: Sequence[str]
    ) -> None:
        with pytest.raises(self.failures) as caught:
            await _soon(failing_extractor.extract(page_request))
        _is_presentable(caught.value, secrets)

    async def test_leaves_nothing_open_when_cancelled(
        self, hanging_extractor: Hanging[Extractor], page_request: FetchRequest
    ) -> None:
        await _cancelled(hanging_extractor, lambda extractor: extractor.extract(page_request))


class SelectiveExtractorContract(ExtractorContract):
    """Every `Extractor` that reads only some kinds of page.

    Fixtures with a default, beside those of `ExtractorContract`:
        foreign_request: a page that is not of its kind.
    """

    @pytest.fixture
    def foreign_request(self) -> FetchRequest:
        return FetchRequest(url="https://elsewhere.example/page")

    async def test_declines_what_it_does_not_read(self, extractor: Extractor, foreign_request: FetchRequest) -> None:
        assert await _soon(extractor.extract(foreign_request)) is None


# --- maps ---------------------------------------------------------------------------------------------------------


class OfflineMapperContract(_Suite):
    """Every `Mapper`, one that speaks to nobody included.

    Fixtures to give:
        mapper: lists at least four pages of the site of `map_request`.
        empty_mapper: that site has no links.
    Fixtures with a default:
        map_request: a site.
        names: who may sign the map; a composite gives the names of its parts.
    """

    failures: ClassVar[tuple[type[WebSearchError], ...]] = (ProviderError, NotAllowed, NotConfigured)

    @pytest.fixture
    def mapper(self) -> Mapper:
        raise NotImplementedError("give this suite a mapper that lists at least four pages")

    @pytest.fixture
    def empty_mapper(self) -> Mapper:
        raise NotImplementedError("give this suite a mapper whose site has no links")

    @pytest.fixture
    def map_request(self) -> MapRequest:
        return MapRequest(url="https://docs.example.org/")

    @pytest.fixture
    def names(self, mapper: Mapper) -> Iterable[str]:
        return {mapper.name}

    async def test_lists_each_page_once_by_a_usable_address(self, mapper: Mapper, map_request: MapRequest) -> None:
        site = await _soon(mapper.map(map_request))
        assert len(site.links) >= 4
        _each_usable_and_once(link.url for link in site.links)

    async def test_lists_in_the_same_order_every_time(self, mapper: Mapper, map_request: MapRequest) -> None:
        first, second = await _soon(mapper.map(map_request)), await _soon(mapper.map(map_request))
        assert first.links == second.links

    @pytest.mark.parametrize(("offset", "limit"), [(0, 1), (0, 3), (1, 2)])
    async def test_lists_at_most_offset_and_limit(self, mapper: Mapper, map_request: MapRequest, offset: int, limit: int) -> None:
        site = await _soon(mapper.map(replace(map_request, offset=offset, limit=limit)))
        assert 1 <= len(site.links) <= offset + limit

    async def test_reading_on_continues_the_same_map(self, mapper: Mapper, map_request: MapRequest) -> None:
        """What a smaller map lists is the beginning of what a larger one lists, so that pieces join."""
        small = await _soon(mapper.map(replace(map_request, limit=2)))
        large = await _soon(mapper.map(replace(map_request, offset=2, limit=2)))
        assert large.links[:2] == small.links

    async def test_signs_the_map_of_the_site_that_was_asked_for(
        self, mapper: Mapper, map_request: MapRequest, names: Iterable[str]
    ) -> None:
        site = await _soon(mapper.map(map_request))
        assert site.provider in set(names)
        assert urls.canonical(site.root) == urls.canonical(map_request.url)

    async def test_keeps_its_name(self, mapper: Mapper, map_request: MapRequest) -> None:
        before = mapper.name
        await _soon(mapper.map(map_request))
        assert before.strip()
        assert mapper.name == before

    async def test_gives_a_map_that_is_json(self, mapper: Mapper, map_request: MapRequest) -> None:
        _is_json(await _soon(mapper.map(map_request)))

    async def test_a_site_without_links_is_an_empty_map(self, empty_mapper: Mapper, map_request: MapRequest) -> None:
        """The start page itself may be listed."""
        site = await _soon(empty_mapper.map(map_request))
        assert {urls.canonical(link.url) for link in site.links} <= {urls.canonical(map_request.url)}
        assert site.truncated is False


class MapperContract(OfflineMapperContract):
    """Every `Mapper` with another side.

    Fixtures to give, beside those of `OfflineMapperContract`:
        failing_mapper: its other side fails; usually with one parameter for every way to fail.
        hanging_mapper: a `Hanging` mapper.
    Fixtures with a default:
        secrets: texts that must not occur in any error, such as the keys in use.
    """

    @pytest.fixture
    def failing_mapper(self) -> Mapper:
        raise NotImplementedError("give this suite a mapper whose other side fails")

    @pytest.fixture
    def hanging_mapper(self) -> Hanging[Mapper]:
        raise NotImplementedError("give this suite a mapper whose other side never answers")

    async def test_fails_only_in_our_words(self, failing_mapper: Mapper, map_request: MapRequest, secrets: Sequence[str]) -> None:
        """A failure of the other side is an error of ours, never an empty map."""
        with pytest.raises(self.failures) as caught:
            await _soon(failing_mapper.map(map_request))
        _is_presentable(caught.value, secrets)

    async def test_leaves_nothing_open_when_cancelled(self, hanging_mapper: Hanging[Mapper], map_request: MapRequest) -> None:
        await _cancelled(hanging_mapper, lambda mapper: mapper.map(map_request))


# --- caches -------------------------------------------------------------------------------------------------------

RICH_ANSWER = Answer(
    text='Строка, 一行\n"quoted" \\ back 🙂 ```fence``` \u202eright to left',
    sources=(
        Source(url="https://example.org/桥?a=1", title="桥", evidence="cited", published="2026-02-01"),
        Source(url="https://example.org/long", content="x" * 100_000, next_start=100_000),
    ),
    engine="grok_responses",
    searched=True,
    usage=Usage(input_tokens=1, output_tokens=0, cost_usd=0.25),
    notes=(Note(code="cut", text="Only the beginning."),),
)
VALUES: tuple[object, ...] = (
    RICH_ANSWER,
    SourceList(),
    SourceList(items=(Source(url="https://example.org/"),), provider="tavily"),
    Page(url="https://example.org/", text="text", provider="local", fetched_at="2026-02-01T00:00:00Z"),
    SiteMap(root="https://example.org/", links=(Link(url="https://example.org/a", title="A"),), provider="local", ignored=2),
)


class CacheContract(_Suite):
    """Every `Cache`.

    Fixtures to give:
        cache: empty, and going by `clock` for the time.
    Fixtures with a default:
        clock: a `FakeClock`; a cache that goes by seconds since 1970 works with it as well.
    """

    @pytest.fixture
    def cache(self, clock: FakeClock) -> Cache:
        raise NotImplementedError("give this suite an empty cache that goes by `clock`")

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
    async def test_gives_back_what_was_put(self, cache: Cache, value: object) -> None:
        await cache.put("key", value, ttl_s=60)
        assert await cache.get("key", type(value)) == value

    @pytest.mark.parametrize("key", PROBLEMATIC, ids=lambda key: ascii(key[:20]))
    async def test_takes_any_text_as_key(self, cache: Cache, key: str) -> None:
        await cache.put(key, SourceList(provider="this"), ttl_s=60)
        await cache.put(key + "2", SourceList(provider="other"), ttl_s=60)
        assert await cache.get(key, SourceList) == SourceList(provider="this")

    async def test_an_absent_key_is_none(self, cache: Cache) -> None:
        assert await cache.get("absent", Page) is None

    async def test_another_kind_is_none(self, cache: Cache) -> None:
        await cache.put("key", SourceList(), ttl_s=60)
        assert await cache.get("key", SiteMap) is None
        assert await cache.get("key", SourceList) == SourceList()

    async def test_forgets_when_the_time_is_over(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put("key", SourceList(), ttl_s=60)
        clock.advance(59)
        assert await cache.get("key", SourceList) == SourceList()
        clock.advance(2)
        assert await cache.get("key", SourceList) is None

    async def test_overwriting_replaces_value_kind_and_time(self, cache: Cache, clock: FakeClock) -> None:
        await cache.put("key", SourceList(provider="old"), ttl_s=10)
        await cache.put("key", RICH_ANSWER, ttl_s=60)
        clock.advance(30)
        assert await cache.get("key", Answer) == RICH_ANSWER
        assert await cache.get("key", SourceList) is None

    async def test_drops_what_is_there_and_does_not_mind_what_is_not(self, cache: Cache) -> None:
        await cache.put("key", SourceList(), ttl_s=60)
        await cache.drop("key")
        await cache.drop("key")
        assert await cache.get("key", SourceList) is None

    async def test_adds_exactly_one_of_many(self, cache: Cache) -> None:
        candidates = [SourceList(provider=str(number)) for number in range(20)]
        added = await _soon(asyncio.gather(*(cache.add("key", each, ttl_s=60) for each in candidates)))
        assert sorted(added) == [False] * 19 + [True]
        assert await cache.get("key", SourceList) == candidates[added.index(True)]

    async def test_adds_nothing_over_what_was_put(self, cache: Cache) -> None:
        await cache.put("key", SourceList(provider="first"), ttl_s=60)
        assert await cache.add("key", SourceList(provider="second"), ttl_s=60) is False
        assert await cache.get("key", SourceList) == SourceList(provider="first")

    async def test_adds_again_after_expiry_and_after_dropping(self, cache: Cache, clock: FakeClock) -> None:
        assert await cache.add("key", SourceList(), ttl_s=60) is True
        clock.advance(61)
        assert await cache.add("key", SourceList(), ttl_s=60) is True
        await cache.drop("key")
        assert await cache.add("key", SourceList(), ttl_s=60) is True

    async def test_keys_do_not_share_values(self, cache: Cache) -> None:
        await cache.put("one", SourceList(provider="one"), ttl_s=60)
        await cache.put("two", SourceList(provider="two"), ttl_s=60)
        await cache.drop("one")
        assert await cache.get("two", SourceList) == SourceList(provider="two")

    async def test_text_that_has_no_encoding_is_kept_or_forgotten_but_never_breaks(self, cache: Cache) -> None:
        odd = SourceList(provider="lone \ud800 surrogate")
        await cache.put("key", odd, ttl_s=60)
        assert await cache.get("key", SourceList) in (odd, None)

    async def test_a_key_that_has_no_encoding_never_breaks(self, cache: Cache) -> None:
        await cache.put("\udcff", SourceList(), ttl_s=60)
        assert await cache.get("\udcff", SourceList) in (SourceList(), None)
        await cache.drop("\udcff")
        assert await cache.get("\udcff", SourceList) is None


# --- credentials --------------------------------------------------------------------------------------------------


class CredentialsContract(_Suite):
    """Every `Credentials`; those with several keys pass `KeyPoolContract`.

    Fixtures to give:
        credentials: has exactly the keys `keys` for `provider` and none for `stranger`, and goes by `clock` for the time.
    Fixtures with a default:
        keys: one key, or more.
        provider, stranger: names.
        clock: a `FakeClock`.
    """

    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        raise NotImplementedError("give this suite credentials with `keys` for `provider`")

    @pytest.fixture
    def keys(self) -> Sequence[str]:
        return ("tvly-the-only-key-1234",)

    @pytest.fixture
    def provider(self) -> str:
        return "tavily"

    @pytest.fixture
    def stranger(self) -> str:
        return "nobody"

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    async def test_hands_out_a_key_that_is_set(self, credentials: Credentials, provider: str, keys: Sequence[str]) -> None:
        assert await _used(credentials, provider) in keys

    async def test_without_a_key_it_is_not_configured(self, credentials: Credentials, stranger: str) -> None:
        with pytest.raises(NotConfigured) as caught:
            await _used(credentials, stranger)
        assert stranger in f"{caught.value.message} {caught.value.provider}"

    async def test_a_request_without_a_key_needs_none(self, credentials: Credentials, provider: str, stranger: str) -> None:
        for name in (provider, stranger):
            async with credentials.lease(name, keyed=False) as lease:
                await lease.accepted()
                assert lease.secret is None

    @pytest.mark.parametrize("kind", [AuthRejected, OutOfCredit])
    async def test_a_key_at_fault_is_not_handed_out_again_while_another_exists(
        self, credentials: Credentials, provider: str, keys: Sequence[str], kind: type[ProviderError]
    ) -> None:
        seen = await _tried_out(credentials, provider, kind("refused", provider=provider))
        assert len(set(seen)) == len(seen)
        assert sorted(seen) == sorted(keys)

    @pytest.mark.parametrize("kind", [AuthRejected, OutOfCredit])
    async def test_with_every_key_at_fault_it_says_why_and_shows_none(
        self, credentials: Credentials, provider: str, keys: Sequence[str], kind: type[ProviderError]
    ) -> None:
        for key in await _tried_out(credentials, provider, kind("refused", provider=provider, retry_after_s=30.0)):
            assert key in keys
        with pytest.raises(kind) as caught:
            await _used(credentials, provider)
        _is_presentable(caught.value, keys)

    async def test_a_limited_key_is_back_after_the_time_that_it_was_told(
        self, credentials: Credentials, provider: str, keys: Sequence[str], clock: FakeClock
    ) -> None:
        await _tried_out(credentials, provider, RateLimited("slow down", provider=provider, retry_after_s=30.0))
        clock.advance(31)
        assert await _used(credentials, provider) in keys

    async def test_a_failure_that_is_not_the_keys_costs_no_key(
        self, credentials: Credentials, provider: str, keys: Sequence[str]
    ) -> None:
        for _ in range(len(keys) + 1):
            async with credentials.lease(provider) as lease:
                assert await lease.failed(BadReply("nonsense", provider=provider)) is False
        assert await _used(credentials, provider) in keys

    async def test_a_passing_failure_costs_no_key(self, credentials: Credentials, provider: str, keys: Sequence[str]) -> None:
        async with credentials.lease(provider) as lease:
            await lease.failed(Unreachable("silent", provider=provider))
        assert await _used(credentials, provider) in keys

    async def test_many_may_ask_at_once(self, credentials: Credentials, provider: str, keys: Sequence[str]) -> None:
        used = await _soon(asyncio.gather(*(_used(credentials, provider) for _ in range(10))))
        assert set(used) <= set(keys)

    async def test_a_cancelled_request_gives_its_key_back(
        self, credentials: Credentials, provider: str, keys: Sequence[str]
    ) -> None:
        """Whoever hands a key to one request at a time must get it back from every one."""
        for _ in range(2 * len(keys)):
            entered = asyncio.Event()
            request = asyncio.ensure_future(_holding(credentials, provider, entered))
            await _soon(entered.wait())
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
        assert await _soon(_used(credentials, provider)) in keys

    async def test_a_request_that_ends_in_a_foreign_exception_gives_its_key_back(
        self, credentials: Credentials, provider: str, keys: Sequence[str]
    ) -> None:
        for _ in range(2 * len(keys)):
            with pytest.raises(ZeroDivisionError):
                async with credentials.lease(provider):
                    raise ZeroDivisionError
        assert await _soon(_used(credentials, provider)) in keys


class KeyPoolContract(CredentialsContract):
    """Every `Credentials` with several keys. (An only key that is merely limited may stay in use.)"""

    @pytest.fixture
    def keys(self) -> Sequence[str]:
        return ("tvly-first-key-4711-aaaaaaaa", "tvly-second-key-0815-bbbbbbbb")

    async def test_a_limited_key_is_not_handed_out_while_another_is_free(
        self, credentials: Credentials, provider: str, clock: FakeClock
    ) -> None:
        async with credentials.lease(provider) as lease:
            limited = lease.secret
            assert await lease.failed(RateLimited("slow down", provider=provider, retry_after_s=30.0)) is True
        clock.advance(29)
        assert limited is not None
        assert limited.value not in [await _used(credentials, provider) for _ in range(3)]

    async def test_with_every_key_limited_it_says_so_until_the_time_is_over(
        self, credentials: Credentials, provider: str, keys: Sequence[str], clock: FakeClock
    ) -> None:
        await _tried_out(credentials, provider, RateLimited("slow down", provider=provider, retry_after_s=30.0))
        clock.advance(29)
        with pytest.raises(RateLimited) as caught:
            await _used(credentials, provider)
        _is_presentable(caught.value, keys)
        assert caught.value.retry_after_s is not None
        assert 0 < caught.value.retry_after_s <= 30

    async def test_a_call_goes_on_with_a_key_that_it_has_not_tried(self, credentials: Credentials, provider: str) -> None:
        """Also after a failure that no key is to blame for, and although the key that failed stays healthy."""
        error = Unreachable("silent", provider=provider)
        async with credentials.lease(provider) as lease:
            first = lease.secret
            assert await lease.failed(error) is True
        async with credentials.lease(provider, tried={first: error}) as lease:
            assert lease.secret != first


async def _used(credentials: Credentials, provider: str) -> str:
    """The key of a request that ends well."""
    async with credentials.lease(provider) as lease:
        assert lease.secret is not None
        await lease.accepted()
        return lease.secret.value


async def _holding(credentials: Credentials, provider: str, entered: asyncio.Event) -> None:
    async with credentials.lease(provider):
        entered.set()
        await asyncio.Event().wait()


async def _tried_out(credentials: Credentials, provider: str, error: ProviderError) -> list[str]:
    """The keys that one call goes through when each of them fails with `error`."""
    tried: dict[Secret | None, WebSearchError] = {}
    seen: list[str] = []
    more = True
    while more and len(seen) < 100:
        async with credentials.lease(provider, tried=tried) as lease:
            assert lease.secret is not None
            more = await lease.failed(error)
            tried[lease.secret] = error
            seen.append(lease.secret.value)
    return seen


# --- library ------------------------------------------------------------------------------------------------------

BRIDGE = Page(
    url="https://library.example/city/bridge",
    title="The footbridge",
    text="# The footbridge\n\nThe footbridge over the river reopened in spring.\n\nTickets are not needed.",
    provider="local",
)
MUSEUM = Page(
    url="https://library.example/city/museum",
    title="The museum",
    text="# The museum\n\nThe museum shows bridges, boats and more bridges; the footbridge is drawn on its wall.",
    provider="local",
)
CHINESE = Page(url="https://library.example/zh/桥", title="步行桥", text="河上的步行桥已于春天重新开放。", provider="local")
SHELF = (BRIDGE, MUSEUM, CHINESE)


def _failure(url: str) -> ReadFailure:
    return ReadFailure(url=url, stamp="one", reader="eyes", kind="TooCostly", message="too much", provider="local")


class LibraryContract(_Suite):
    """Every `Library`.

    Fixtures to give:
        library: empty.
    """

    @pytest.fixture
    def library(self) -> Library:
        raise NotImplementedError("give this suite an empty library")

    async def test_counts_new_and_changed_pages(self, library: Library) -> None:
        assert await library.add([BRIDGE, MUSEUM]) == 2
        assert await library.add([BRIDGE, MUSEUM]) == 0
        assert await library.add([replace(BRIDGE, text="Closed again."), MUSEUM, CHINESE]) == 2

    async def test_adding_nothing_changes_nothing(self, library: Library) -> None:
        assert await library.add([]) == 0
        assert await library.entries() == ()

    async def test_lists_entries_by_address_with_their_size(self, library: Library) -> None:
        await library.add([MUSEUM, CHINESE, BRIDGE])
        entries = await library.entries()
        assert [entry.url for entry in entries] == sorted(page.url for page in SHELF)
        assert {entry.url: entry.chars for entry in entries} == {page.url: len(page.text) for page in SHELF}
        assert {entry.title for entry in entries} == {page.title for page in SHELF}

    async def test_lists_entries_piece_by_piece(self, library: Library) -> None:
        await library.add(SHELF)
        pieces = [await library.entries(offset=offset, limit=2) for offset in (0, 2, 4)]
        assert [len(piece) for piece in pieces] == [2, 1, 0]
        assert (*pieces[0], *pieces[1]) == await library.entries()

    async def test_finds_a_page_by_a_word_of_it(self, library: Library) -> None:
        await library.add(SHELF)
        found = await library.search("tickets")
        assert [passage.url for passage in found] == [BRIDGE.url]
        assert found[0].title == BRIDGE.title

    async def test_finds_without_regard_to_case(self, library: Library) -> None:
        await library.add(SHELF)
        assert [passage.url for passage in await library.search("TICKETS")] == [BRIDGE.url]

    async def test_finds_a_page_in_a_script_without_blanks(self, library: Library) -> None:
        await library.add(SHELF)
        assert [passage.url for passage in await library.search("步行桥")] == [CHINESE.url]

    async def test_quotes_verbatim(self, library: Library) -> None:
        await library.add(SHELF)
        texts = {page.url: page.text for page in SHELF}
        found = await library.search("footbridge")
        assert len(found) == 2
        assert all(passage.text.strip() and passage.text in texts[passage.url] for passage in found)

    async def test_gives_one_passage_per_page_best_first(self, library: Library) -> None:
        await library.add(SHELF)
        found = await library.search("footbridge")
        assert sorted(passage.url for passage in found) == [BRIDGE.url, MUSEUM.url]
        assert [passage.score for passage in found] == sorted((passage.score for passage in found), reverse=True)
        assert found[0].url == BRIDGE.url

    async def test_gives_at_most_what_was_asked_for(self, library: Library) -> None:
        await library.add(SHELF)
        assert len(await library.search("footbridge", limit=1)) == 1

    @pytest.mark.parametrize("text", ["zeppelin", "", "   ", '"', "AND", "(", "*", "a:b", "\x00", "\ud800", "-"])
    async def test_finds_nothing_for_words_that_do_not_occur(self, library: Library, text: str) -> None:
        """Not even where the text looks like the syntax of a query language."""
        await library.add([BRIDGE])
        assert await library.search(text) == ()

    async def test_an_empty_library_finds_nothing(self, library: Library) -> None:
        assert await library.search("footbridge") == ()

    async def test_replaces_a_page_of_the_same_address(self, library: Library) -> None:
        await library.add([BRIDGE])
        await library.add([replace(BRIDGE, text="Only a ferry is left.")])
        assert await library.search("tickets") == ()
        assert [passage.url for passage in await library.search("ferry")] == [BRIDGE.url]
        assert len(await library.entries()) == 1

    async def test_removes_an_address_and_what_lies_below_it(self, library: Library) -> None:
        beside = replace(MUSEUM, url="https://library.example/city-hall")
        await library.add([*SHELF, beside])
        assert await library.remove("https://library.example/city") == 2
        assert {entry.url for entry in await library.entries()} == {CHINESE.url, beside.url}
        assert await library.search("tickets") == ()

    async def test_removes_a_single_page(self, library: Library) -> None:
        await library.add(SHELF)
        assert await library.remove(BRIDGE.url) == 1
        assert {entry.url for entry in await library.entries()} == {MUSEUM.url, CHINESE.url}

    async def test_counts_its_pages(self, library: Library) -> None:
        assert await library.count() == 0
        await library.add(SHELF)
        assert await library.count() == len(SHELF)

    async def test_discards_exactly_the_addresses_that_are_named(self, library: Library) -> None:
        below = replace(MUSEUM, url=f"{BRIDGE.url}/below")
        await library.add([*SHELF, below])
        assert await library.discard([BRIDGE.url, CHINESE.url, "https://nowhere.example/"]) == 2
        assert {entry.url for entry in await library.entries()} == {MUSEUM.url, below.url}

    async def test_remembers_the_stamps_of_an_address_and_of_what_lies_below_it(self, library: Library) -> None:
        beside = replace(MUSEUM, url="https://library.example/city-hall")
        await library.add([BRIDGE, beside], stamps={BRIDGE.url: "one", beside.url: "two"})
        await library.add([MUSEUM])
        assert await library.stamps("https://library.example/city") == {BRIDGE.url: "one", MUSEUM.url: ""}
        await library.add([BRIDGE], stamps={BRIDGE.url: "three"})
        assert await library.stamps(BRIDGE.url) == {BRIDGE.url: "three"}

    async def test_notes_what_could_not_be_read_below_an_address(self, library: Library) -> None:
        first, beside = _failure(BRIDGE.url), _failure("https://library.example/city-hall")
        assert await library.add([], failures=[first, beside]) == 0
        assert await library.failures("https://library.example/city") == {first.url: first}
        second = replace(first, stamp="two", hint="Try another one.")
        assert await library.add([MUSEUM], failures=[second]) == 1
        assert await library.failures(first.url) == {first.url: second}
        assert await library.count() == 1

    async def test_forgets_a_failure_with_its_address_or_over_a_page(self, library: Library) -> None:
        held = [BRIDGE.url, MUSEUM.url, CHINESE.url]
        await library.add([], failures=[_failure(url) for url in held])
        await library.add([BRIDGE], stamps={BRIDGE.url: "one"})
        assert list(await library.failures("https://library.example")) == held[1:]
        assert await library.discard([MUSEUM.url]) == 0
        assert list(await library.failures("https://library.example")) == held[2:]
        assert await library.remove("https://library.example/zh") == 0
        assert await library.failures("https://library.example") == {}

    async def test_searches_only_what_is_recent_enough(self, library: Library) -> None:
        """By the day of publication, or, where that is unknown, by the day of reading."""
        days = [("2026-03-01", "2026-06-01T10:00:00Z"), ("2026-05-02", ""), ("", "2026-05-01T23:59:59Z"), ("", "")]
        pages = [
            replace(BRIDGE, url=f"https://library.example/{at}", published=published, fetched_at=fetched_at)
            for at, (published, fetched_at) in enumerate(days)
        ]
        await library.add(pages)
        recent = {passage.url for passage in await library.search("tickets", since="2026-05-01")}
        assert recent == {"https://library.example/1", "https://library.example/2"}
        assert len(await library.search("tickets", since="")) == 4

    async def test_searches_only_the_hosts_that_are_wanted(self, library: Library) -> None:
        hosts = ["a.example", "www.b.example", "c.example"]
        await library.add([replace(BRIDGE, url=f"https://{host}/") for host in hosts])
        within = await library.search("tickets", include_domains=["b.example", "c.example"], exclude_domains=["c.example"])
        assert [passage.url for passage in within] == ["https://www.b.example/"]

    async def test_a_run_goes_on_where_it_stopped(self, library: Library) -> None:
        root, addresses = "https://library.example/", [page.url for page in SHELF]
        begun = await library.begin(root, [*addresses, addresses[0]], options="deep", complete=False, delay_s=0.5)
        assert (begun.total, begun.pending) == (3, tuple(addresses))
        await library.add([SHELF[1]], root=root, done=[addresses[1]])
        left = await library.unfinished(root)
        assert left == replace(begun, pending=(addresses[0], addresses[2]))
        assert await library.unfinished("https://library.example/other") is None

    async def test_a_run_that_is_finished_is_forgotten_and_drops_what_it_did_not_meet(self, library: Library) -> None:
        root = "https://library.example/"
        await library.add([CHINESE])
        await library.begin(root, [BRIDGE.url, MUSEUM.url])
        await library.add([BRIDGE, MUSEUM], root=root, done=[BRIDGE.url, MUSEUM.url])
        assert await library.finish(root, drop=True) == 0
        await library.begin(root, [BRIDGE.url])
        assert await library.add([BRIDGE], root=root, done=[BRIDGE.url]) == 0
        assert await library.finish(root, drop=True) == 1
        assert await library.unfinished(root) is None
        assert {entry.url for entry in await library.entries()} == {BRIDGE.url, CHINESE.url}

    async def test_a_run_that_is_begun_again_starts_over_and_may_drop_nothing(self, library: Library) -> None:
        root = "https://library.example/"
        await library.begin(root, [BRIDGE.url, MUSEUM.url], options="first")
        await library.add([BRIDGE, MUSEUM], root=root, done=[BRIDGE.url])
        again = await library.begin(root, [MUSEUM.url], options="second")
        assert await library.unfinished(root) == again
        assert (again.options, again.pending) == ("second", (MUSEUM.url,))
        assert await library.finish(root, drop=False) == 0
        assert await library.count() == 2

    @pytest.mark.parametrize("prefix", ["https://nowhere.example/", "https://library.example/cit", "%", "_"])
    async def test_removes_nothing_that_is_not_below_the_address(self, library: Library, prefix: str) -> None:
        await library.add(SHELF)
        assert await library.remove(prefix) == 0
        assert len(await library.entries()) == 3


# --- upstreams ----------------------------------------------------------------------------------------------------


class UpstreamContract(_Suite):
    """Every `Upstream`, and the `UpstreamLink` that it opens.

    Fixtures to give:
        upstream: can be connected to, and has at least one tool; `tool` with `arguments` works.
        mortal_upstream: one, and a function that kills its other side.
        failing_upstream: cannot be connected to; usually with one parameter for every way to fail.
        hanging_link: a `Hanging` live connection whose `tool` never replies.
    Fixtures with a default:
        tool, arguments: `echo` of a text.
        secrets: texts that must not occur in any error.
    """

    @pytest.fixture
    def upstream(self) -> Upstream:
        raise NotImplementedError("give this suite an upstream that can be connected to")

    @pytest.fixture
    def mortal_upstream(self) -> tuple[Upstream, Callable[[], object]]:
        raise NotImplementedError("give this suite an upstream and a function that kills its other side")

    @pytest.fixture
    def failing_upstream(self) -> Upstream:
        raise NotImplementedError("give this suite an upstream that cannot be connected to")

    @pytest.fixture
    def hanging_link(self) -> Hanging[UpstreamLink]:
        raise NotImplementedError("give this suite a live connection whose tool never replies")

    @pytest.fixture
    def tool(self) -> str:
        return "echo"

    @pytest.fixture
    def arguments(self) -> Mapping[str, Json]:
        return {"text": "hello"}

    async def test_lists_each_tool_once_by_its_name(self, upstream: Upstream, tool: str) -> None:
        async with _patient(), upstream.connect(_deaf) as link:
            names = [one.name for one in await link.tools()]
        assert tool in names
        assert all(names)
        assert len(set(names)) == len(names)

    async def test_gives_tools_and_replies_that_are_json(
        self, upstream: Upstream, tool: str, arguments: Mapping[str, Json]
    ) -> None:
        async with _patient(), upstream.connect(_deaf) as link:
            for one in await link.tools():
                _is_json(one)
            _is_json(await link.call(tool, arguments))
            _is_json(link.info)

    async def test_replies_with_something(self, upstream: Upstream, tool: str, arguments: Mapping[str, Json]) -> None:
        async with _patient(), upstream.connect(_deaf) as link:
            reply = await link.call(tool, arguments)
        assert reply.parts or reply.structured is not None
        assert not reply.failed

    async def test_replies_to_several_at_once_from_other_tasks(
        self, upstream: Upstream, tool: str, arguments: Mapping[str, Json]
    ) -> None:
        async with _patient(), upstream.connect(_deaf) as link:
            replies = await asyncio.gather(*(link.call(tool, arguments) for _ in range(5)))
        assert not any(reply.failed for reply in replies)

    async def test_a_tool_that_is_not_there_is_refused(self, upstream: Upstream) -> None:
        """By an error of ours or by the tool's own word; never by a success."""
        async with _patient(), upstream.connect(_deaf) as link:
            try:
                reply = await link.call("no such tool", {})
            except RequestRejected as error:
                _is_presentable(error, ())
            else:
                assert reply.failed

    async def test_can_be_connected_to_again_after_it_was_left(
        self, upstream: Upstream, tool: str, arguments: Mapping[str, Json]
    ) -> None:
        for _ in range(2):
            async with _patient(), upstream.connect(_deaf) as link:
                assert not (await link.call(tool, arguments)).failed

    async def test_leaves_nothing_running(self, upstream: Upstream) -> None:
        running = asyncio.all_tasks()
        async with _patient(), upstream.connect(_deaf):
            pass
        left = asyncio.all_tasks() - running
        assert not left, f"still running: {left}"

    async def test_tells_that_the_other_side_is_gone_without_being_asked(
        self, mortal_upstream: tuple[Upstream, Callable[[], object]]
    ) -> None:
        upstream, kill = mortal_upstream
        async with _patient(), upstream.connect(_deaf) as link:
            gone = asyncio.ensure_future(link.closed())
            await asyncio.sleep(0)
            assert not gone.done()
            kill()
            cause = await gone
        assert isinstance(cause, Cause)

    async def test_a_call_of_one_that_is_gone_is_an_error_of_ours(
        self, mortal_upstream: tuple[Upstream, Callable[[], object]], tool: str, arguments: Mapping[str, Json]
    ) -> None:
        upstream, kill = mortal_upstream
        async with _patient(), upstream.connect(_deaf) as link:
            kill()
            await link.closed()
            with pytest.raises(ProviderError) as caught:
                await link.call(tool, arguments)
            assert caught.value.provider == SERVICE
            with pytest.raises(ProviderError):
                await link.tools()

    async def test_fails_only_in_our_words(self, failing_upstream: Upstream, secrets: Sequence[str]) -> None:
        with pytest.raises(ProviderError) as caught:
            async with _patient(), failing_upstream.connect(_deaf):
                pass
        _is_presentable(caught.value, secrets)
        assert caught.value.provider == SERVICE

    async def test_a_cancelled_call_ends_at_once_and_the_other_side_is_told(
        self, hanging_link: Hanging[UpstreamLink], tool: str, arguments: Mapping[str, Json]
    ) -> None:
        """What the connection runs for it meanwhile is the connection's, and ends with it at the latest."""
        call = asyncio.ensure_future(hanging_link.part.call(tool, arguments))
        await _soon(hanging_link.entered())
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await _soon(call)
        await _soon(hanging_link.left())


class UpstreamsContract(_Suite):
    """Every `Upstreams`.

    Fixtures to give:
        upstreams: `ready` is ready with the tool `echo`; `off` is disabled; `locked` needs a login; `lost` is out of reach.
    """

    @pytest.fixture
    def upstreams(self) -> Upstreams:
        raise NotImplementedError("give this suite upstreams of which one is ready, one off, one locked and one lost")

    async def test_shows_the_state_of_each_by_name(self, upstreams: Upstreams) -> None:
        states = [(status.name, status.state) for status in upstreams.statuses()]
        assert states == [("locked", "needs_auth"), ("lost", "unavailable"), ("off", "disabled"), ("ready", "ready")]
        for status in upstreams.statuses():
            _is_json(status)

    async def test_has_the_tools_of_what_is_ready(self, upstreams: Upstreams) -> None:
        catalog = upstreams.catalog()
        assert "ready__echo" in {one.id for one in catalog.tools if one.standing == "visible"}
        assert [one.id for one in catalog.tools] == sorted(one.id for one in catalog.tools)

    async def test_gives_the_same_catalog_until_something_changes(self, upstreams: Upstreams) -> None:
        assert upstreams.catalog() is upstreams.catalog()

    async def test_gives_a_connection_that_works(self, upstreams: Upstreams) -> None:
        link = await _soon(upstreams.link("ready"))
        assert not (await _soon(link.call("echo", {"text": "hello"}))).failed
        assert await _soon(upstreams.link("ready")) is link

    @pytest.mark.parametrize(("name", "kind"), [("off", NotAllowed), ("locked", AuthRejected), ("lost", Unreachable)])
    async def test_says_why_there_is_no_connection(self, upstreams: Upstreams, name: str, kind: type[WebSearchError]) -> None:
        with pytest.raises(kind) as caught:
            await _soon(upstreams.link(name))
        _is_presentable(caught.value, ())
        assert name in caught.value.message

    async def test_knows_how_each_is_configured_and_no_others(self, upstreams: Upstreams) -> None:
        assert all(upstreams.spec(status.name).name == status.name for status in upstreams.statuses())
        with pytest.raises(KeyError):
            upstreams.spec("nobody")


# --- probes -------------------------------------------------------------------------------------------------------


class OfflineProbeContract(_Suite):
    """Every `Probe`, one of a part that speaks to nobody included.

    Fixtures to give:
        probe: its part works.
    """

    @pytest.fixture
    def probe(self) -> Probe:
        raise NotImplementedError("give this suite a probe of a part that works")

    @pytest.mark.parametrize("live", [False, True])
    async def test_reports_a_part_that_works(self, probe: Probe, live: bool) -> None:
        health = await _soon(probe.probe(live=live))
        assert health.part.strip()
        assert health.state == "ok"

    @pytest.mark.parametrize("live", [False, True])
    async def test_gives_a_report_that_is_json(self, probe: Probe, live: bool) -> None:
        _is_json(await _soon(probe.probe(live=live)))


class ProbeContract(OfflineProbeContract):
    """Every `Probe` of a part with another side.

    Fixtures to give, beside those of `OfflineProbeContract`:
        failing_probe: its part does not work; usually with one parameter for every way to fail.
        hanging_probe: a `Hanging` probe; the call is made with `live`.
    Fixtures with a default:
        secrets: texts that no report may show, such as the keys in use.
    """

    @pytest.fixture
    def failing_probe(self) -> Probe:
        raise NotImplementedError("give this suite a probe of a part that fails")

    @pytest.fixture
    def hanging_probe(self) -> Hanging[Probe]:
        raise NotImplementedError("give this suite a probe whose other side never answers")

    async def test_reports_a_part_that_fails_without_raising(self, failing_probe: Probe, secrets: Sequence[str]) -> None:
        """Without `live` it may not notice; it must not raise either way."""
        await _soon(failing_probe.probe())
        health = await _soon(failing_probe.probe(live=True))
        assert health.state == "failing"
        assert health.detail.strip()
        assert not any(secret in repr(health) for secret in secrets)
        _is_json(health)

    async def test_leaves_nothing_open_when_cancelled(self, hanging_probe: Hanging[Probe]) -> None:
        """Being cancelled is the one thing that it passes on."""
        await _cancelled(hanging_probe, lambda probe: probe.probe(live=True))


# --- scorers ------------------------------------------------------------------------------------------------------


class ScorerContract(_Suite):
    """Every `Scorer`.

    Fixtures to give:
        scorer: it works.
        failing_scorer: it cannot say; usually with one parameter for every way to fail.
    """

    @pytest.fixture
    def scorer(self) -> Scorer:
        raise NotImplementedError("give this suite a scorer that works")

    @pytest.fixture
    def failing_scorer(self) -> Scorer:
        raise NotImplementedError("give this suite a scorer that fails")

    async def test_gives_a_finite_number_for_each_text(self, scorer: Scorer) -> None:
        scores = await _soon(scorer.score("When did the bridge open?", ["The bridge opened in May.", "", "桥梁开放了。"]))
        assert len(scores) == 3
        assert all(math.isfinite(score) for score in scores)

    async def test_gives_the_same_numbers_again_and_none_for_none(self, scorer: Scorer) -> None:
        texts = ["The bridge opened in May.", "Bees make honey."]
        first, again = await _soon(scorer.score("bridge", texts)), await _soon(scorer.score("bridge", texts))
        assert list(first) == list(again)
        assert list(await _soon(scorer.score("bridge", []))) == []

    async def test_fails_with_an_error_of_ours(self, failing_scorer: Scorer) -> None:
        with pytest.raises(WebSearchError):
            await _soon(failing_scorer.score("bridge", ["The bridge opened in May."]))


# --- configuration ------------------------------------------------------------------------------------------------


class ConfigurationContract(_Suite):
    """Every `Configuration`.

    Fixtures to give:
        configuration: holds the secrets `secrets`, and can be written.
        unwritable_configuration: its file cannot be written.
    Fixtures with a default:
        secrets: one key.
    """

    @pytest.fixture
    def configuration(self, secrets: Sequence[str]) -> Configuration:
        raise NotImplementedError("give this suite a configuration that holds `secrets`")

    @pytest.fixture
    def unwritable_configuration(self) -> Configuration:
        raise NotImplementedError("give this suite a configuration whose file cannot be written")

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return ("tvly-0123456789abcdef-topsecret",)

    def test_lists_each_setting_once_with_its_origin(self, configuration: Configuration) -> None:
        listing = configuration.listing()
        assert listing
        assert len({setting.name for setting in listing}) == len(listing)
        assert all(setting.origin.split(" ")[0] in {"argument", "environment", "file", "default"} for setting in listing)

    def test_lists_no_secret(self, configuration: Configuration, secrets: Sequence[str]) -> None:
        shown = json.dumps(as_plain(configuration.listing()), ensure_ascii=False) + repr(configuration.listing())
        assert secrets
        assert not any(secret in shown for secret in secrets)
        assert any(secret[-2:] in shown for secret in secrets), "the fingerprint is missing: is the secret in it at all?"

    def test_shows_no_secret_of_its_own(self, configuration: Configuration, secrets: Sequence[str]) -> None:
        shown = f"{configuration!r} {configuration} {configuration.problems()}"
        assert not any(secret in shown for secret in secrets)

    def test_lists_in_the_same_order_every_time(self, configuration: Configuration) -> None:
        assert configuration.listing() == configuration.listing()

    def test_switches_the_model(self, configuration: Configuration) -> None:
        before = configuration.primary_model()
        path = configuration.switch_model("grok-of-tomorrow")
        assert path.strip()
        assert before.strip()
        assert before != "grok-of-tomorrow"
        assert configuration.primary_model() == "grok-of-tomorrow"
        assert "grok-of-tomorrow" in {setting.value for setting in configuration.listing()}

    def test_switching_changes_no_other_setting(self, configuration: Configuration) -> None:
        before = {setting.name: setting.value for setting in configuration.listing()}
        configuration.switch_model("grok-of-tomorrow")
        after = {setting.name: setting.value for setting in configuration.listing()}
        assert before.keys() == after.keys()
        assert {after[name] for name in after if after[name] != before[name]} == {"grok-of-tomorrow"}

    def test_a_failed_switch_changes_nothing(self, unwritable_configuration: Configuration) -> None:
        before = unwritable_configuration.listing()
        with pytest.raises(WebSearchError):
            unwritable_configuration.switch_model("grok-of-tomorrow")
        assert unwritable_configuration.primary_model() != "grok-of-tomorrow"
        assert unwritable_configuration.listing() == before


# --- what the suites check with -----------------------------------------------------------------------------------


def _deaf() -> None:
    """Hears that tools changed, and does nothing."""


def _patient() -> asyncio.Timeout:
    """Longer than a call: a connection may be a process that starts."""
    return asyncio.timeout(2 * WAIT_S)


async def _soon(call: Awaitable[T]) -> T:
    async with asyncio.timeout(WAIT_S):
        return await call


async def _read(extractor: Extractor, request: FetchRequest) -> Page:
    page = await _soon(extractor.extract(request))
    assert page is not None, "declined the page that it should read"
    return page


async def _cancelled(hanging: Hanging[T], call: Callable[[T], Awaitable[object]]) -> None:
    """Cancel a call that the other side holds; it must end at once, with nothing left running or open."""
    running = asyncio.all_tasks()
    task = asyncio.ensure_future(call(hanging.part))
    await _soon(hanging.entered())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await _soon(task)
    left = asyncio.all_tasks() - running
    assert not left, f"still running: {left}"
    await _soon(hanging.left())


def _each_usable_and_once(addresses: Iterable[str]) -> None:
    listed = list(addresses)
    assert all(urls.is_web_url(address) for address in listed), f"not all are web addresses: {listed}"
    assert len({urls.canonical(address) for address in listed}) == len(listed), f"some occur twice: {listed}"


def _is_presentable(error: WebSearchError, secrets: Sequence[str]) -> None:
    """The error has words for a person, and neither it nor what caused it shows a secret."""
    assert error.message.strip()
    seen: BaseException | None = error
    while seen is not None:
        shown = f"{seen} {seen!r} {getattr(seen, 'hint', '')} {getattr(seen, 'diagnostics', '')}"
        assert not any(secret in shown for secret in secrets)
        seen = seen.__cause__ or seen.__context__


def _is_json(value: object) -> None:
    plain = as_plain(value)
    assert json.loads(json.dumps(plain, ensure_ascii=False, allow_nan=False).encode()) == plain


def _is_utc(text: str) -> bool:
    moment = datetime.fromisoformat(text)
    return moment.utcoffset() == timedelta(0) and moment.microsecond == 0
