"""The suites refuse implementations that break a promise: each test of a suite is seen to fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import pytest

from websearch_core import fusion
from websearch_core.errors import (
    AuthRejected,
    InvalidInput,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    Unreachable,
    WebSearchError,
)
from websearch_core.ports import Filter
from websearch_core.testing import contracts
from websearch_core.testing.contracts import (
    AnswerEngineContract,
    CacheContract,
    ConfigurationContract,
    ExtractorContract,
    Hanging,
    KeyPoolContract,
    LibraryContract,
    MapperContract,
    OfflineAnswerEngineContract,
    OfflinePostFinderContract,
    PostFinderContract,
    ProbeContract,
    SelectiveExtractorContract,
    SourceFinderContract,
)
from websearch_core.testing.fakes import (
    FakeCache,
    FakeClock,
    FakeConfiguration,
    FakeCredentials,
    FakeEngine,
    FakeExtractor,
    FakeFinder,
    FakeLease,
    FakeLibrary,
    FakeMapper,
    FakePostFinder,
    FakeProbe,
    Gate,
)
from websearch_core.values import (
    Answer,
    FetchRequest,
    Health,
    IndexRun,
    LibraryEntry,
    Link,
    MapRequest,
    Page,
    Passage,
    PostQuery,
    SearchQuery,
    Secret,
    Setting,
    SiteMap,
    Source,
    SourceList,
)

pytestmark = pytest.mark.anyio

T = TypeVar("T")
QUERY = SearchQuery(query="bridges")
URL = "https://docs.example.org/page"
REQUEST = FetchRequest(url=URL)
SITE = MapRequest(url="https://docs.example.org/")
A, B = Source(url="https://a.example/", evidence="cited"), Source(url="https://b.example/")
ANSWER = Answer(text="It reopened.", sources=(A, B), engine="fake_engine")
PAGE = Page(url=URL, text="It reopened.", provider="fake_extractor")
MAP = SiteMap(root=SITE.url, links=tuple(Link(url=f"https://docs.example.org/{n}") for n in range(5)), provider="fake_mapper")
KEYS = ("tvly-first-key-4711", "tvly-second-key-0815")


async def refused(check: Awaitable[object]) -> None:
    """The test of the suite must fail, by an assertion or by an exception that it did not expect."""
    with pytest.raises((AssertionError, pytest.fail.Exception, ProviderError, ValueError, KeyError, TimeoutError)):
        async with asyncio.timeout(1):
            await check


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ("test_answers_with_text", replace(ANSWER, text=" \n")),
        ("test_names_each_source_once_by_a_usable_address", replace(ANSWER, sources=(A, A))),
        (
            "test_names_each_source_once_by_a_usable_address",
            replace(ANSWER, sources=(A, replace(A, url="https://A.example:443/#x"))),
        ),
        ("test_names_each_source_once_by_a_usable_address", replace(ANSWER, sources=(Source(url="javascript:alert(1)"),))),
        ("test_names_cited_sources_first", replace(ANSWER, sources=(B, A))),
        ("test_gives_an_answer_that_is_json", replace(ANSWER, text="lone \ud800")),
        ("test_answers_several_at_once", [ANSWER, ANSWER, replace(ANSWER, text="")]),
        ("test_answers_several_at_once", [ANSWER, ANSWER, Unreachable("busy")]),
    ],
)
async def test_a_bad_answer_is_noticed(test: str, answer: Answer | list[Answer | Exception]) -> None:
    suite = OfflineAnswerEngineContract()
    await getattr(suite, test)(FakeEngine(), QUERY)
    await refused(getattr(suite, test)(FakeEngine(answer), QUERY))


class Renaming(FakeEngine):
    async def answer(self, query: SearchQuery, /) -> Answer:
        self.name += "!"
        return await super().answer(query)


async def test_an_engine_that_changes_its_name_or_signs_with_another_is_noticed() -> None:
    suite = AnswerEngineContract()
    await refused(suite.test_keeps_its_name(Renaming(), QUERY))
    await refused(suite.test_keeps_its_name(FakeEngine(name=" "), QUERY))
    await refused(suite.test_signs_the_answer(FakeEngine(ANSWER), QUERY, {"another"}))


@pytest.mark.parametrize("failure", [ValueError("a bug"), InvalidInput("not the caller's fault"), ANSWER])
async def test_an_engine_that_fails_in_other_words_or_not_at_all_is_noticed(failure: Exception | Answer) -> None:
    await refused(AnswerEngineContract().test_fails_only_in_our_words(FakeEngine(failure), QUERY, ()))


async def test_a_failure_that_shows_a_secret_is_noticed_wherever_it_stands() -> None:
    caused = Unreachable("no reply")
    caused.__cause__ = OSError(f"refused with {KEYS[0]}")
    for error in (
        Unreachable(f"{KEYS[0]} failed"),
        Unreachable("x", hint=KEYS[0]),
        Unreachable("x", diagnostics={"k": KEYS[0]}),
        caused,
    ):
        await refused(AnswerEngineContract().test_fails_only_in_our_words(FakeEngine(error), QUERY, KEYS))
    await refused(AnswerEngineContract().test_fails_only_in_our_words(FakeEngine(Unreachable(" ")), QUERY, ()))


class Leaking:
    """Lets its work go on behind the caller's back."""

    name = "leaking"

    def __init__(self, gate: Gate[Answer]) -> None:
        self.gate = gate
        self.work: asyncio.Future[Answer] | None = None

    async def answer(self, query: SearchQuery, /) -> Answer:
        self.work = asyncio.ensure_future(self.gate.passed())
        return await asyncio.shield(self.work)


class Stubborn(Leaking):
    """Answers although nobody wants to know any more."""

    async def answer(self, query: SearchQuery, /) -> Answer:
        try:
            return await self.gate.passed()
        except asyncio.CancelledError:
            return ANSWER


@pytest.mark.parametrize("kind", [Leaking, Stubborn])
async def test_an_engine_that_does_not_let_go_is_noticed(kind: type[Leaking]) -> None:
    gate = Gate(ANSWER)
    engine = kind(gate)
    held = Hanging(part=engine, entered=gate.until_entered, left=gate.until_cancelled)
    await refused(AnswerEngineContract().test_leaves_nothing_open_when_cancelled(held, QUERY))
    gate.release()
    if engine.work is not None:
        await engine.work


POSTS = PostQuery(query="bridges")
QUOTED = Answer(text="> It is open.", sources=(A, B), engine="fake_posts", searched=True)


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ("test_answers_with_text_that_rests_on_a_search", replace(QUOTED, text=" \n")),
        ("test_answers_with_text_that_rests_on_a_search", replace(QUOTED, searched=False)),
        ("test_names_each_source_once_by_a_usable_address", replace(QUOTED, sources=())),
        ("test_names_each_source_once_by_a_usable_address", replace(QUOTED, sources=(A, A))),
        ("test_takes_a_query_with_every_filter", replace(QUOTED, searched=False)),
        ("test_takes_a_query_with_every_filter", InvalidInput("no filters here")),
        ("test_gives_an_answer_that_is_json", replace(QUOTED, text="lone \ud800")),
        ("test_finds_for_several_at_once", [QUOTED, replace(QUOTED, text="")]),
        ("test_finds_for_several_at_once", [QUOTED, Unreachable("busy")]),
    ],
)
async def test_a_bad_answer_of_posts_is_noticed(test: str, answer: Answer | Exception | list[Answer | Exception]) -> None:
    suite = OfflinePostFinderContract()
    await getattr(suite, test)(FakePostFinder(), POSTS)
    await refused(getattr(suite, test)(FakePostFinder(answer), POSTS))


class RenamingPosts(FakePostFinder):
    async def find_posts(self, query: PostQuery, /) -> Answer:
        self.name += "!"
        return await super().find_posts(query)


async def test_a_finder_of_posts_that_breaks_a_promise_is_noticed() -> None:
    suite = PostFinderContract()
    await refused(suite.test_keeps_its_name(RenamingPosts(), POSTS))
    await refused(suite.test_keeps_its_name(FakePostFinder(name=" "), POSTS))
    await refused(suite.test_signs_the_answer(FakePostFinder(QUOTED), POSTS, {"another"}))
    await refused(suite.test_says_so_when_nobody_searched(FakePostFinder(), POSTS))
    await refused(suite.test_nothing_found_is_an_answer_without_sources(FakePostFinder(QUOTED), POSTS))
    await refused(suite.test_nothing_found_is_an_answer_without_sources(FakePostFinder(replace(QUOTED, searched=False)), POSTS))
    for failure in (ValueError("a bug"), InvalidInput("not the caller's fault"), QUOTED, Unreachable(f"{KEYS[0]} failed")):
        await refused(suite.test_fails_only_in_our_words(FakePostFinder(failure), POSTS, KEYS))
    gate = Gate(QUOTED)
    held = Hanging(part=FakePostFinder(QUOTED), entered=gate.until_entered, left=gate.until_cancelled)
    await refused(suite.test_leaves_nothing_open_when_cancelled(held, POSTS))


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("test_finds_pages_each_once_by_a_usable_address", SourceList(provider="fake_finder")),
        ("test_finds_pages_each_once_by_a_usable_address", SourceList(items=(A, A), provider="fake_finder")),
        ("test_takes_a_query_with_every_filter", SourceList(items=(A,))),
        ("test_gives_a_list_that_is_json", SourceList(items=(replace(A, title="\ud800"),), provider="fake_finder")),
    ],
)
async def test_a_bad_list_is_noticed(test: str, found: SourceList) -> None:
    suite = SourceFinderContract()
    await getattr(suite, test)(FakeFinder(), QUERY)
    await refused(getattr(suite, test)(FakeFinder(found), QUERY))


class Boasting(FakeFinder):
    """Claims filters that it does not keep, and does not count."""

    keeps: frozenset[Filter] = frozenset({"include_domains", "exclude_domains"})

    async def find(self, query: SearchQuery, /) -> SourceList:
        return SourceList(items=(A, B), provider="somebody")


class Flooding(FakeFinder):
    """Brings as much as many lists hold."""

    async def find(self, query: SearchQuery, /) -> SourceList:
        items = tuple(Source(url=f"https://{number}.example/") for number in range(fusion.MOST_JOINED + 1))
        return SourceList(items=items, provider=self.name)


async def test_a_finder_that_breaks_a_promise_is_noticed() -> None:
    suite, finder = SourceFinderContract(), Boasting()
    finder.keeps = Boasting.keeps
    await refused(suite.test_keeps_the_domain_filters_that_it_claims(finder, QUERY))
    await refused(suite.test_finds_at_most_what_was_asked_for(finder, QUERY, 1, 1))
    await refused(suite.test_finds_at_most_what_was_asked_for(FakeFinder(SourceList(provider="x")), QUERY, 1, 1))
    await refused(suite.test_finds_at_most_what_was_asked_for(Flooding(), QUERY, 50, 20))
    await refused(suite.test_signs_what_it_found(finder, QUERY, {"fake_finder"}))
    await refused(suite.test_nothing_found_is_an_empty_list(finder, QUERY))
    await refused(suite.test_nothing_found_is_an_empty_list(FakeFinder(Unreachable("nothing")), QUERY))
    await refused(suite.test_fails_only_in_our_words(FakeFinder(SourceList(provider="x")), QUERY, ()))
    await refused(suite.test_keeps_its_name(FakeFinder(name=""), QUERY))
    finder.keeps = frozenset({"language"})  # type: ignore[arg-type]
    await refused(suite.test_claims_only_filters_that_exist(finder))


@pytest.mark.parametrize(
    ("test", "page"),
    [
        ("test_reads_text", None),
        ("test_reads_text", replace(PAGE, text=" \n")),
        ("test_reads_text", replace(PAGE, kind="spreadsheet")),
        ("test_says_which_page_it_read", replace(PAGE, url="https://elsewhere.example/")),
        ("test_says_which_page_it_read", replace(PAGE, final_url="about:blank")),
        ("test_says_when_in_utc", replace(PAGE, fetched_at="2026-02-01T00:00:00+01:00")),
        ("test_says_when_in_utc", replace(PAGE, fetched_at="2026-02-01T00:00:00.5Z")),
        ("test_gives_a_page_that_is_json", replace(PAGE, title="\udc00")),
        ("test_gives_the_whole_page_whatever_piece_is_asked_for", [PAGE, replace(PAGE, text="reopened.")]),
        ("test_reads_several_at_once", [PAGE, PAGE, None]),
        ("test_reads_several_at_once", [PAGE, replace(PAGE, text="Another."), PAGE]),
    ],
)
async def test_a_bad_page_is_noticed(test: str, page: Any) -> None:
    suite = ExtractorContract()
    await getattr(suite, test)(FakeExtractor(PAGE), REQUEST)
    await refused(getattr(suite, test)(FakeExtractor(page), REQUEST))


async def test_an_extractor_that_breaks_a_promise_is_noticed() -> None:
    suite = SelectiveExtractorContract()
    await refused(suite.test_says_who_extracted(FakeExtractor(PAGE), REQUEST, {"another"}))
    await refused(suite.test_keeps_its_name(FakeExtractor(PAGE, name=""), REQUEST))
    await refused(suite.test_nothing_readable_is_an_error(FakeExtractor(replace(PAGE, text="")), REQUEST))
    await refused(suite.test_nothing_readable_is_an_error(FakeExtractor(None), REQUEST))
    await refused(suite.test_a_failure_is_an_error_and_never_an_empty_page(FakeExtractor(None), REQUEST, ()))
    await refused(suite.test_declines_what_it_does_not_read(FakeExtractor(PAGE), REQUEST))


@pytest.mark.parametrize(
    ("test", "site"),
    [
        ("test_lists_each_page_once_by_a_usable_address", replace(MAP, links=MAP.links[:3])),
        ("test_lists_each_page_once_by_a_usable_address", replace(MAP, links=MAP.links + MAP.links[:1])),
        ("test_lists_each_page_once_by_a_usable_address", replace(MAP, links=(*MAP.links, Link(url="mailto:x@example.org")))),
        ("test_lists_in_the_same_order_every_time", [MAP, replace(MAP, links=MAP.links[::-1])]),
        ("test_reading_on_continues_the_same_map", [MAP, replace(MAP, links=MAP.links[::-1])]),
        ("test_gives_a_map_that_is_json", replace(MAP, root="\udc00")),
    ],
)
async def test_a_bad_map_is_noticed(test: str, site: SiteMap | list[SiteMap | Exception | Gate[SiteMap]]) -> None:
    suite = MapperContract()
    await getattr(suite, test)(FakeMapper(MAP), SITE)
    await refused(getattr(suite, test)(FakeMapper(site), SITE))


class Overlong(FakeMapper):
    async def map(self, request: MapRequest, /) -> SiteMap:
        return replace(MAP, truncated=True)


async def test_a_mapper_that_breaks_a_promise_is_noticed() -> None:
    suite = MapperContract()
    await refused(suite.test_lists_at_most_offset_and_limit(Overlong(), SITE, 1, 2))
    await refused(suite.test_lists_at_most_offset_and_limit(FakeMapper(replace(MAP, links=())), SITE, 1, 2))
    await refused(suite.test_signs_the_map_of_the_site_that_was_asked_for(FakeMapper(MAP), SITE, {"another"}))
    elsewhere = replace(MAP, root="https://elsewhere.example/")
    await refused(suite.test_signs_the_map_of_the_site_that_was_asked_for(FakeMapper(elsewhere), SITE, {"fake_mapper"}))
    await refused(suite.test_keeps_its_name(FakeMapper(name=""), SITE))
    await refused(suite.test_a_site_without_links_is_an_empty_map(Overlong(), SITE))
    await refused(suite.test_a_site_without_links_is_an_empty_map(FakeMapper(replace(MAP, links=(), truncated=True)), SITE))
    await refused(suite.test_fails_only_in_our_words(FakeMapper(replace(MAP, links=())), SITE, ()))


class Careless(FakeCache):
    """Minds neither kind nor key nor time, and always adds."""

    async def get(self, key: str, kind: type[T], /) -> T | None:
        value, _ = next(iter(reversed(self._kept.values())), (None, 0.0))
        return value  # type: ignore[return-value]

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        await self.put(key, value, ttl_s=ttl_s)
        return True

    async def drop(self, key: str, /) -> None:
        raise KeyError(key)


async def test_a_cache_that_breaks_a_promise_is_noticed() -> None:
    suite, clock = CacheContract(), FakeClock()
    await refused(suite.test_gives_back_what_was_put(FakeCache(clock, forgetful=True), SourceList()))
    await refused(suite.test_overwriting_replaces_value_kind_and_time(FakeCache(clock, forgetful=True), clock))
    await refused(suite.test_adds_nothing_over_what_was_put(FakeCache(clock, forgetful=True)))
    await refused(suite.test_takes_any_text_as_key(Careless(clock), "key"))
    await refused(suite.test_another_kind_is_none(Careless(clock)))
    await refused(suite.test_forgets_when_the_time_is_over(Careless(clock), clock))
    await refused(suite.test_adds_exactly_one_of_many(Careless(clock)))
    await refused(suite.test_drops_what_is_there_and_does_not_mind_what_is_not(Careless(clock)))
    await refused(suite.test_keys_do_not_share_values(Careless(clock)))
    filled = Careless(clock)
    await filled.put("other", SourceList(), ttl_s=60)
    await refused(suite.test_an_absent_key_is_none(filled))
    sticky = FakeCache(lambda: 0.0)
    await refused(suite.test_adds_again_after_expiry_and_after_dropping(sticky, clock))


class Forgetful(FakeCredentials):
    """Hands out the same key whatever happened to it, blames the keys for everything, and gives no key without one."""

    @asynccontextmanager
    async def lease(
        self, provider: str, /, *, keyed: bool = True, tried: Mapping[Secret | None, WebSearchError] = MappingProxyType({})
    ) -> AsyncIterator[FakeLease]:
        if provider not in self._keys:
            raise NotConfigured("no key", provider="another")
        yield Blaming(self, provider, Secret(self._keys[provider][0]), {})


class Blaming(FakeLease):
    async def failed(self, error: ProviderError, /) -> bool:
        await super().failed(error)
        return len(self._credentials.told) < 3


class Chatty(FakeCredentials):
    """Shows its keys when it has none left."""

    def _all_out(self, provider: str, keys: Sequence[str]) -> ProviderError:
        error = super()._all_out(provider, keys)
        return type(error)(f"no more of {KEYS[0]}", retry_after_s=error.retry_after_s)


class Losing(FakeCredentials):
    """Has two leases, and gets back only those that end in peace."""

    @asynccontextmanager
    async def lease(
        self, provider: str, /, *, keyed: bool = True, tried: Mapping[Secret | None, WebSearchError] = MappingProxyType({})
    ) -> AsyncIterator[FakeLease]:
        if self.leased == 2:
            await asyncio.Event().wait()
        self.leased += 1
        yield FakeLease(self, provider, self._chosen(provider, tried), tried)
        self.leased -= 1


class Burning(FakeCredentials):
    """Drops a key for whatever reason."""

    def note(self, provider: str, secret: Secret | None, error: ProviderError) -> None:
        super().note(provider, secret, OutOfCredit("burnt", provider=provider))


class Resigned(FakeCredentials):
    """Never goes on with another key after a failure that is no key's."""

    def usable(self, provider: str, tried: Iterable[Secret | None] = ()) -> list[str]:
        return super().usable(provider)


async def test_credentials_that_break_a_promise_are_noticed() -> None:
    suite, clock = KeyPoolContract(), FakeClock()

    def having(kind: type[FakeCredentials], keys: Sequence[str] = KEYS) -> FakeCredentials:
        return kind({"tavily": list(keys)}, now=clock)

    await refused(suite.test_hands_out_a_key_that_is_set(having(FakeCredentials, ["other"]), "tavily", KEYS))
    await refused(suite.test_without_a_key_it_is_not_configured(having(Forgetful), "nobody"))
    await refused(suite.test_a_request_without_a_key_needs_none(having(Forgetful), "tavily", "nobody"))
    at_fault = suite.test_a_key_at_fault_is_not_handed_out_again_while_another_exists
    await refused(at_fault(having(Forgetful), "tavily", KEYS, AuthRejected))
    await refused(at_fault(having(FakeCredentials, KEYS[:1]), "tavily", KEYS, AuthRejected))
    silent = suite.test_with_every_key_at_fault_it_says_why_and_shows_none
    await refused(silent(having(Forgetful), "tavily", KEYS, AuthRejected))
    await refused(silent(having(Chatty), "tavily", KEYS, AuthRejected))
    await refused(suite.test_a_failure_that_is_not_the_keys_costs_no_key(having(Forgetful), "tavily", KEYS))
    await refused(suite.test_a_passing_failure_costs_no_key(having(Burning, KEYS[:1]), "tavily", KEYS))
    await refused(suite.test_a_limited_key_is_not_handed_out_while_another_is_free(having(Forgetful), "tavily", clock))
    limited = suite.test_with_every_key_limited_it_says_so_until_the_time_is_over
    await refused(limited(having(Forgetful), "tavily", KEYS, clock))
    await refused(limited(having(Chatty), "tavily", KEYS, clock))
    frozen = FakeCredentials({"tavily": list(KEYS)}, now=lambda: 0.0)
    await refused(suite.test_a_limited_key_is_back_after_the_time_that_it_was_told(frozen, "tavily", KEYS, clock))
    await refused(suite.test_many_may_ask_at_once(having(FakeCredentials, ["other"]), "tavily", KEYS))
    await refused(suite.test_a_cancelled_request_gives_its_key_back(having(Losing), "tavily", KEYS))
    foreign = suite.test_a_request_that_ends_in_a_foreign_exception_gives_its_key_back
    await refused(foreign(having(Losing), "tavily", KEYS))
    await refused(suite.test_a_call_goes_on_with_a_key_that_it_has_not_tried(having(Resigned), "tavily"))


class Sloppy(FakeLibrary):
    """Counts nothing, sorts nothing, quotes freely, removes by any beginning and keeps no note of a run."""

    async def add(self, pages: Sequence[Page], /, **options: Any) -> int:
        await super().add(pages)
        return len(pages)

    async def discard(self, addresses: Sequence[str], /) -> int:
        return len(addresses)

    async def count(self) -> int:
        return 7

    async def stamps(self, prefix: str, /) -> Mapping[str, str]:
        return self._stamps

    async def unfinished(self, root: str, /) -> IndexRun | None:
        return None

    async def finish(self, root: str, /, *, drop: bool) -> int:
        return 0

    async def remove(self, prefix: str, /) -> int:
        gone = [url for url in self._pages if url.startswith(prefix) or prefix in "%_"]
        for url in gone:
            del self._pages[url]
        return len(gone)

    async def entries(self, *, offset: int = 0, limit: int = 100) -> tuple[LibraryEntry, ...]:
        return tuple(LibraryEntry(url=url) for url in self._pages)

    async def search(self, text: str, /, **options: Any) -> tuple[Passage, ...]:
        return tuple(Passage(url=page.url, title="?", text="In other words.") for page in self._pages.values()) * 2


class Unchanging(Sloppy):
    """Does not replace, and has something in it from the beginning."""

    def __init__(self) -> None:
        super().__init__([Page(url="https://old.example/", text="Tickets here.", provider="local")])

    async def add(self, pages: Sequence[Page], /, **options: Any) -> int:
        self._pages = {page.url: page for page in pages} | self._pages
        return 1


@pytest.mark.parametrize("test", [name for name in vars(LibraryContract) if name.startswith("test_")])
async def test_a_sloppy_library_passes_no_test(test: str) -> None:
    suite = LibraryContract()
    sloppy = Unchanging() if test in {"test_adding_nothing_changes_nothing", "test_an_empty_library_finds_nothing"} else Sloppy()
    arguments: dict[str, Any] = {
        "test_finds_nothing_for_words_that_do_not_occur": ("zeppelin",),
        "test_removes_nothing_that_is_not_below_the_address": ("%",),
    }
    if test == "test_removes_a_single_page":  # which even a sloppy library manages
        sloppy = Unchanging()
    await refused(getattr(suite, test)(sloppy, *arguments.get(test, ())))


class Raising:
    def __init__(self, health: Health | Exception) -> None:
        self._health = health

    async def probe(self, *, live: bool = False) -> Health:
        if isinstance(self._health, Exception):
            raise self._health
        return self._health


async def test_a_probe_that_breaks_a_promise_is_noticed() -> None:
    suite = ProbeContract()
    await refused(suite.test_reports_a_part_that_works(Raising(Unreachable("x")), live=True))
    await refused(suite.test_reports_a_part_that_works(FakeProbe(Health(part="p", state="off")), live=True))
    await refused(suite.test_reports_a_part_that_works(FakeProbe(Health(part=" ", state="ok")), live=True))
    await refused(suite.test_gives_a_report_that_is_json(FakeProbe(Health(part="\ud800", state="ok")), live=True))
    await refused(suite.test_reports_a_part_that_fails_without_raising(Raising(Unreachable("x")), ()))
    await refused(suite.test_reports_a_part_that_fails_without_raising(FakeProbe(), ()))
    await refused(suite.test_reports_a_part_that_fails_without_raising(FakeProbe(Health(part="p", state="failing")), ()))
    shown = FakeProbe(Health(part="p", state="failing", detail=f"{KEYS[0]} refused"))
    await refused(suite.test_reports_a_part_that_fails_without_raising(shown, KEYS))


class Forgetting(FakeConfiguration):
    """Switches although it could not write, or does not switch although it did."""

    def switch_model(self, name: str, /) -> str:
        if self.failure is None:
            return "/file"
        failure, self.failure = self.failure, None
        super().switch_model(name)
        raise failure


def test_a_configuration_that_breaks_a_promise_is_noticed() -> None:
    suite = ConfigurationContract()
    setting = Setting(name="tavily.api_key", value=Secret(KEYS[0]).fingerprint, origin="default")
    with pytest.raises(AssertionError):
        suite.test_lists_each_setting_once_with_its_origin(FakeConfiguration([setting, setting]))
    with pytest.raises(AssertionError):
        suite.test_lists_each_setting_once_with_its_origin(FakeConfiguration([replace(setting, origin="somewhere")]))
    with pytest.raises(AssertionError):
        suite.test_lists_no_secret(FakeConfiguration([replace(setting, value=KEYS[0])]), KEYS[:1])
    with pytest.raises(AssertionError):
        suite.test_lists_no_secret(FakeConfiguration(), KEYS[:1])
    with pytest.raises(AssertionError):
        suite.test_shows_no_secret_of_its_own(FakeConfiguration(problems=[f"bad: {KEYS[0]}"]), KEYS[:1])
    with pytest.raises(AssertionError):
        suite.test_switches_the_model(Forgetting())
    with pytest.raises(AssertionError):
        suite.test_a_failed_switch_changes_nothing(Forgetting(failure=Unreachable("read-only")))
    with pytest.raises(pytest.fail.Exception):
        suite.test_a_failed_switch_changes_nothing(FakeConfiguration())


def test_every_suite_is_public() -> None:
    suites = {name for name, each in vars(contracts).items() if isinstance(each, type) and name.endswith("Contract")}
    assert suites <= set(contracts.__all__)
