"""The keyless web finder: result pages of public search engines, read as a person's browser without scripts gets them.

Source: the pages of DuckDuckGo (html.duckduckgo.com), Mojeek and Bing as described by programs that read them; read 2026-11-30.
What a page is, its body decides: results, an honest "nothing found", or a check for humans, whatever the status says.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from websearch_adapters.extract.reading import Document
from websearch_adapters.extract.results import Hit, Layout, ResultPage
from websearch_adapters.provider import examined, shortening, snippet, utc_now
from websearch_adapters.search_box import kept, typed, unsaid
from websearch_core import fusion, outcome
from websearch_core.errors import BadReply, Declined, OutOfTime, ProviderError, RateLimited, WebSearchError
from websearch_core.inflight import settled, stopped
from websearch_core.ports import Filter
from websearch_core.values import Freshness, Health, Note, SearchQuery, Source, SourceList

if TYPE_CHECKING:
    from websearch_adapters.extract.worker import Worker
    from websearch_adapters.http.pages import PageClient

__all__ = ["ENGINES", "Engine", "Keyless", "KeylessSettings", "to_sources"]

NAME = "keyless"
MAX_QUERY_CHARS = 480
"""DuckDuckGo takes 499."""
DEFAULT_RESULTS = 5
ACCEPT = "text/html, application/xhtml+xml;q=0.9"
WHAT_TO_SET = "Set searxng.url, TAVILY_API_KEY or FIRECRAWL_API_KEY for searches that do not depend on public result pages."


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """How one engine is asked, and how its result page is read."""

    name: str
    url: str
    """The address of its result pages, without a query."""
    freshness: Callable[[Freshness, date], Mapping[str, str]]
    """Parameters that ask for recent pages."""
    layout: Layout


# --- the engines --------------------------------------------------------------------------------------------------


def _has_class(name: str) -> str:
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


def _duckduckgo_freshness(within: Freshness, _: date) -> Mapping[str, str]:
    return {} if within == "any" else {"df": within[0]}


def _mojeek_freshness(within: Freshness, today: date) -> Mapping[str, str]:
    return {} if within == "any" else {"since": f"{today - timedelta(days=AGES_DAYS[within]):%Y%m%d}"}


def _bing_freshness(within: Freshness, today: date) -> Mapping[str, str]:
    if within == "any":
        return {}
    day_number = today.toordinal() - date(1970, 1, 1).toordinal()
    code = {"day": "1", "week": "2", "month": "3"}.get(within, f"5_{day_number - 365}_{day_number}")
    return {"filters": f'ex1:"ez{code}"'}


AGES_DAYS: Mapping[str, int] = {"day": 1, "week": 7, "month": 31, "year": 366}
ENGINES: Mapping[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            name="duckduckgo",
            url="https://html.duckduckgo.com/html/",
            freshness=_duckduckgo_freshness,
            layout=Layout(
                hit=f"//*[@id='links']//div[{_has_class('web-result')} and not({_has_class('result--ad')})]",
                link=".//h2//a[@href]",
                text=f".//*[{_has_class('result__snippet')}]",
                nothing=f"//*[{_has_class('no-results')} or {_has_class('result--no-result')}]",
                check="//form[@id='challenge-form'] | //form[contains(@action, '/anomaly.js')]"
                f" | //*[{_has_class('anomaly-modal__title')}]",
            ),
        ),
        Engine(
            name="mojeek",
            url="https://www.mojeek.com/search",
            freshness=_mojeek_freshness,
            layout=Layout(
                hit=f"//ul[{_has_class('results-standard')}]/li",
                link=".//h2//a[@href]",
                text=f".//p[{_has_class('s')}]",
                nothing="//*[self::p or self::h2][starts-with(normalize-space(.), 'No pages found')]",
                check=f"//*[{_has_class('captcha')} or @id='captcha' or {_has_class('cf-turnstile')}"
                f" or {_has_class('h-captcha')}]",
            ),
        ),
        Engine(
            name="bing",
            url="https://www.bing.com/search",
            freshness=_bing_freshness,
            layout=Layout(
                hit=f"//*[@id='b_results']/li[{_has_class('b_algo')}]",
                link=".//h2//a[@href]",
                text=".//p",
                nothing=f"//*[@id='b_results']/li[{_has_class('b_no')}]",
                check=f"//*[{_has_class('captcha')} or @id='turnstile-widget' or {_has_class('cf-turnstile')}]"
                " | //iframe[contains(@src, '/turing/captcha')]",
            ),
        ),
    )
}
"""Name → engine. DuckDuckGo's index is mostly Bing's, Mojeek has its own."""


# --- translations -------------------------------------------------------------------------------------------------


def address_of(engine: Engine, query: SearchQuery, *, today: date) -> str:
    """Where the engine's first page for the query is."""
    asked = {"q": typed(query, limit=MAX_QUERY_CHARS), **engine.freshness(query.fresh_within, today)}
    return f"{engine.url}?{urlencode(asked)}"


def to_sources(page: ResultPage) -> tuple[Source, ...]:
    """The hits of a page, in its order."""
    return tuple(
        Source(url=hit.url, title=snippet(hit.title, limit=300), description=snippet(hit.text), provider=NAME)
        for hit in page.hits
    )


# --- the finder ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class KeylessSettings:
    """Whom to ask, and how patiently."""

    engines: tuple[Engine, ...] = field(default_factory=lambda: tuple(ENGINES.values()))
    patience_s: float = 2.5
    """Longest wait for the next engine once one has brought results."""
    cooldown_s: float = 1_200.0
    """How long an engine that shows a check for humans is left alone."""


class Keyless:
    """SourceFinder and Probe over public result pages."""

    name = NAME
    keeps: frozenset[Filter] = frozenset({"fresh_within", "include_domains", "exclude_domains"})

    def __init__(
        self,
        pages: PageClient,
        worker: Worker,
        settings: KeylessSettings | None = None,
        *,
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pages = pages
        self._worker = worker
        self._settings = settings or KeylessSettings()
        self._now = now
        self._clock = clock
        self._resting: dict[str, float] = {}
        """Engine → until when it is left alone, by the clock."""

    async def find(self, query: SearchQuery, /) -> SourceList:
        """What the engines find together, 5 for each of them unless the query wants more or fewer; notes tell who failed.

        Raises:
            Declined: an engine shows a check for humans, and none brought anything; engines that do so rest for 20 minutes.
            ProviderError: every engine failed otherwise.
        """
        engines = [engine for engine in self._settings.engines if self._rest_s(engine.name) <= 0]
        if not engines:
            raise self._blocked([engine.name for engine in self._settings.engines])
        found, failures = await self._asked(engines, query)
        if not found:
            raise self._overall(failures)
        most = min((query.extra_sources or DEFAULT_RESULTS) * sum(map(bool, found)), fusion.MOST_JOINED)
        items = kept(fusion.agreed(found), query)[:most]
        notes = [*shortening(query, limit=MAX_QUERY_CHARS, provider=NAME), *unsaid(query, provider=NAME)]
        notes += [outcome.note_of(error, "search") for error in failures]
        return SourceList(items=items, provider=NAME, notes=(*notes, *self._resting_notes(engines)))

    async def probe(self, *, live: bool = False) -> Health:
        """Which engines may be asked now; `live` searches for one hit."""
        return await examined(NAME, self._tried() if live else self._told())

    async def _tried(self) -> Health:
        found = await self.find(SearchQuery(query="example domain", extra_sources=1))
        return Health(part=NAME, state="ok", detail=f"a search brought {len(found.items)} result(s)")

    async def _told(self) -> Health:
        names = [engine.name for engine in self._settings.engines]
        resting = [name for name in names if self._rest_s(name) > 0]
        if len(resting) == len(names):
            raise self._blocked(names)
        free = ", ".join(name for name in names if name not in resting)
        return Health(part=NAME, state="ok", detail=f"asks {free}" + (f"; resting: {', '.join(resting)}" if resting else ""))

    async def _asked(
        self, engines: Sequence[Engine], query: SearchQuery
    ) -> tuple[list[tuple[Source, ...]], list[WebSearchError]]:
        """The lists of the engines that answered, in the order of the engines, and why the others did not."""
        tasks = {asyncio.ensure_future(self._results(engine, query)): engine.name for engine in engines}
        try:
            await self._until_enough(set(tasks))
            outcomes = [_outcome_of(task, name) for task, name in tasks.items()]
        finally:
            await stopped(tasks)
        found = [one for one in outcomes if not isinstance(one, WebSearchError)]
        return found, [one for one in outcomes if isinstance(one, WebSearchError)]

    async def _until_enough(self, running: set[asyncio.Task[tuple[Source, ...]]]) -> None:
        """Wait for all, or once one has results, for as long as the patience for the next goes."""
        patience_s: float | None = None
        while running:
            done, running = await asyncio.wait(running, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                return
            if any(not task.cancelled() and task.exception() is None and task.result() for task in done):
                patience_s = self._settings.patience_s

    async def _results(self, engine: Engine, query: SearchQuery) -> tuple[Source, ...]:
        """What one engine finds.

        Raises:
            Declined: it shows a check for humans; it rests from now on.
            ProviderError: as `PageClient.get`, or a page that is none of the known ones.
        """
        page = await self._page(engine, address_of(engine, query, today=self._now().date()))
        if page.found == "blocked":
            raise self._rested(engine)
        if page.found == "unknown":
            raise BadReply(f"{engine.name} sent a page that is no list of results", provider=NAME)
        return to_sources(page)

    async def _page(self, engine: Engine, address: str) -> ResultPage:
        self._worker.warm()
        try:
            fetched = await self._pages.get(address, accept=ACCEPT)
        except (Declined, RateLimited) as error:
            raise self._rested(engine) from error
        except ProviderError as error:
            error.provider = NAME
            raise
        page = Document(body=fetched.body, url=engine.url, content_type=fetched.content_type, status=fetched.status)
        head, _ = await self._worker.ask("results", page, reader=NAME, **asdict(engine.layout))
        hits = tuple(Hit(url=url, title=title, text=text) for url, title, text in head["hits"])
        return ResultPage(found=head["found"], hits=hits)

    # --- engines that rest

    def _rest_s(self, name: str) -> float:
        return self._resting.get(name, 0.0) - self._clock()

    def _rested(self, engine: Engine) -> Declined:
        self._resting[engine.name] = self._clock() + self._settings.cooldown_s
        return self._blocked([engine.name])

    def _blocked(self, names: Sequence[str]) -> Declined:
        wait_s = min((self._rest_s(name) for name in names), default=0.0)
        verb = "shows" if len(names) == 1 else "show"
        return Declined(
            f"{', '.join(names)} {verb} a check for humans; not asked again for {max(wait_s, 0) / 60:.0f} minutes",
            provider=NAME,
            hint=WHAT_TO_SET,
            upstream_code="blocked",
            retry_after_s=max(wait_s, 0.0),
            diagnostics={"reason": "blocked", "engines": list(names)},
        )

    def _overall(self, failures: Sequence[WebSearchError]) -> WebSearchError:
        """One error for all: the check, if an engine shows one, because somebody can do something about that."""
        blocked = [error for error in failures if isinstance(error, Declined)]
        if not blocked:
            return failures[0]
        return self._blocked([engine.name for engine in self._settings.engines if self._rest_s(engine.name) > 0])

    def _resting_notes(self, asked: Sequence[Engine]) -> tuple[Note, ...]:
        names = {engine.name for engine in asked}
        left_out = [engine.name for engine in self._settings.engines if engine.name not in names]
        if not left_out:
            return ()
        text = f"Not asked, because of a check for humans a while ago: {', '.join(left_out)}."
        return (Note(code="engines_resting", text=text, provider=NAME),)


def _outcome_of(task: asyncio.Task[tuple[Source, ...]], engine: str) -> tuple[Source, ...] | WebSearchError:
    if task.done():
        return settled(task, NAME)
    return OutOfTime(f"{engine} was slower than the others", provider=NAME, hint="Nothing needs to be done.")
