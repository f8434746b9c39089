"""Stand-ins for every port that keep the ports' promises and do what a script says.

A script is one step or a list of steps, one per call, the last repeating. A step is a value to give, an exception to raise, or
a `Gate` that holds the call open until the test lets it go. Every fake passes the contract suite of its port.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import MappingProxyType
from typing import Generic, TypeAlias, TypeVar

from websearch_core import urls
from websearch_core.errors import (
    AuthRejected,
    NotAllowed,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.events import Fact
from websearch_core.hub import registry
from websearch_core.hub.ports import SERVICE, UpstreamLink
from websearch_core.hub.values import (
    Catalog,
    Cause,
    Part,
    StdioTransport,
    ToolReply,
    UpstreamInfo,
    UpstreamSpec,
    UpstreamState,
    UpstreamStatus,
    UpstreamTool,
)
from websearch_core.ports import Filter
from websearch_core.values import (
    Answer,
    FetchRequest,
    Health,
    IndexRun,
    Json,
    LibraryEntry,
    Link,
    MapRequest,
    Page,
    Passage,
    PostQuery,
    ReadFailure,
    SearchQuery,
    Secret,
    Setting,
    SiteMap,
    Source,
    SourceList,
    Usage,
)

__all__ = [
    "FakeCache",
    "FakeClock",
    "FakeConfiguration",
    "FakeCredentials",
    "FakeEngine",
    "FakeExtractor",
    "FakeFinder",
    "FakeLease",
    "FakeLibrary",
    "FakeMapper",
    "FakePostFinder",
    "FakeProbe",
    "FakeScorer",
    "FakeUpstream",
    "FakeUpstreamLink",
    "FakeUpstreams",
    "Gate",
    "RecordedSpan",
    "RecordingObserver",
    "Script",
    "Step",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
ALL_FILTERS: frozenset[Filter] = frozenset({"fresh_within", "include_domains", "exclude_domains"})
WAIT_S = 30.0
"""How long `Gate.until_entered` and `Gate.until_cancelled` wait before they call the test failed."""


class FakeClock:
    """Seconds that pass only when told to; call it for the time."""

    def __init__(self, start_s: float = 1_000_000.0) -> None:
        self.now_s = start_s

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds


class Gate(Generic[T_co]):
    """Holds calls open; after `release` each ends with `then`, a value or an exception."""

    def __init__(self, then: T_co | Exception) -> None:
        self._then = then
        self._open = asyncio.Event()
        self._changed = asyncio.Event()
        self.entered = 0
        """Calls that have arrived."""
        self.cancelled = 0
        """Calls that were cancelled while they waited."""

    def release(self) -> None:
        """Let every waiting and coming call through."""
        self._open.set()

    async def until_entered(self, calls: int = 1) -> None:
        """Wait until this many calls have arrived; TimeoutError after half a minute."""
        await self._until(lambda: self.entered >= calls)

    async def until_cancelled(self, calls: int = 1) -> None:
        """Wait until this many calls were cancelled; TimeoutError after half a minute."""
        await self._until(lambda: self.cancelled >= calls)

    async def passed(self) -> T_co:
        """What a held call awaits."""
        self.entered += 1
        self._changed.set()
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            self._changed.set()
            raise
        return _given(self._then)

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


Step: TypeAlias = T | Exception | Gate[T]
Script: TypeAlias = Step[T] | Sequence[Step[T]]


class _Play(Generic[T]):
    """Performs a script, one step per call."""

    def __init__(self, script: Script[T]) -> None:
        steps = script if isinstance(script, (list, tuple)) else (script,)
        if not steps:
            raise ValueError("a script needs a step")
        self._left: deque[Step[T]] = deque(steps)

    async def next(self) -> T:
        step = self._left.popleft() if len(self._left) > 1 else self._left[0]
        return await step.passed() if isinstance(step, Gate) else _given(step)


def _given(outcome: T | Exception) -> T:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


class FakeEngine:
    """An answer engine by script; without one it answers every question with two sources."""

    def __init__(self, script: Script[Answer] | None = None, *, name: str = "fake_engine") -> None:
        self.name = name
        self.asked: list[SearchQuery] = []
        self._play = None if script is None else _Play(script)

    async def answer(self, query: SearchQuery, /) -> Answer:
        """The next step of the script, as it is."""
        self.asked.append(query)
        if self._play is not None:
            return await self._play.next()
        sources = (
            Source(url="https://cited.example/page", title="A cited page", provider=self.name, evidence="cited"),
            Source(url="https://listed.example/page", title="A listed page", provider=self.name),
        )
        return Answer(text=f"What is known about {query.query}.", sources=sources, engine=self.name, searched=True)


class FakePostFinder:
    """Searches X by script; without one every search brings one quoted post."""

    def __init__(self, script: Script[Answer] | None = None, *, name: str = "fake_posts") -> None:
        self.name = name
        self.asked: list[PostQuery] = []
        self._play = None if script is None else _Play(script)

    async def find_posts(self, query: PostQuery, /) -> Answer:
        """The next step of the script, as it is."""
        self.asked.append(query)
        if self._play is not None:
            return await self._play.next()
        url = "https://x.com/examplevalley/status/1990000000000000001"
        text = f"About {query.query}:\n\n> The footbridge is open again.\n{url}"
        source = Source(url=url, provider=self.name, evidence="cited")
        usage = Usage(searches=1, posts_read=1, cost_usd=0.005)
        return Answer(text=text, sources=(source,), engine=self.name, searched=True, usage=usage)


class FakeFinder:
    """A finder by script; without one it knows ten pages. Cuts to what was asked for and keeps the filters that it claims.

    `extra_sources` of None or 0 means all it has. `fresh_within` compares nothing: give pages that are recent enough.
    """

    def __init__(
        self, script: Script[SourceList] | None = None, *, name: str = "fake_finder", keeps: Iterable[Filter] = ALL_FILTERS
    ) -> None:
        self.name = name
        self.keeps: frozenset[Filter] = frozenset(keeps)
        self.asked: list[SearchQuery] = []
        self._play = _Play(SourceList(items=_ten_sources(name), provider=name) if script is None else script)

    async def find(self, query: SearchQuery, /) -> SourceList:
        """The next step of the script, filtered and cut."""
        self.asked.append(query)
        found = await self._play.next()
        fitting = [source for source in found.items if self._wanted(source.url, query)]
        return dataclasses.replace(found, items=tuple(fitting[: query.extra_sources or len(fitting)]))

    def _wanted(self, url: str, query: SearchQuery) -> bool:
        only = query.include_domains if "include_domains" in self.keeps else ()
        never = query.exclude_domains if "exclude_domains" in self.keeps else ()
        if any(urls.host_matches(url, domain) for domain in never):
            return False
        return not only or any(urls.host_matches(url, domain) for domain in only)


class FakeExtractor:
    """An extractor that reads the pages given by address, declining others; or follows one script for every address.

    A page may be given as its text, as a value or as a script; a step None declines.
    """

    def __init__(
        self,
        pages: Mapping[str, str | Script[Page | None]] | Script[Page | None] = None,
        *,
        name: str = "fake_extractor",
        selects: bool = False,
    ) -> None:
        self.name = name
        self.selects = selects
        self.asked: list[FetchRequest] = []
        self._every = None if isinstance(pages, Mapping) else _Play[Page | None](pages)
        given = pages.items() if isinstance(pages, Mapping) else ()
        self._pages = {urls.canonical(url): self._playing(url, page) for url, page in given}

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """The page, or None for an address that was not given."""
        self.asked.append(request)
        play = self._every or self._pages.get(urls.canonical(request.url))
        return None if play is None else await play.next()

    def _playing(self, url: str, page: str | Script[Page | None]) -> _Play[Page | None]:
        return _Play(Page(url=url, final_url=url, text=page, provider=self.name) if isinstance(page, str) else page)


class FakeMapper:
    """A mapper by script; without one every site has ten pages below its root. Cuts to `offset + limit`."""

    def __init__(self, script: Script[SiteMap] | None = None, *, name: str = "fake_mapper") -> None:
        self.name = name
        self.asked: list[MapRequest] = []
        self._play = None if script is None else _Play(script)

    async def map(self, request: MapRequest, /) -> SiteMap:
        """The next step of the script, cut."""
        self.asked.append(request)
        site = self._ten_pages(request.url) if self._play is None else await self._play.next()
        most = request.offset + request.limit
        return dataclasses.replace(site, links=site.links[:most], truncated=site.truncated or len(site.links) > most)

    def _ten_pages(self, root: str) -> SiteMap:
        pages = (urls.absolute(root, f"/pages/{number}") for number in range(10))
        return SiteMap(root=root, links=tuple(Link(url=page) for page in pages if page), provider=self.name)


class FakeCache:
    """A cache in a dictionary. `forgetful` makes one that keeps nothing and never complains."""

    def __init__(self, now: Callable[[], float] = time.monotonic, *, forgetful: bool = False) -> None:
        self.forgetful = forgetful
        self._now = now
        self._kept: dict[str, tuple[object, float]] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """What is kept and not expired, oldest first."""
        return tuple(key for key in self._kept if self._value(key) is not None)

    async def get(self, key: str, kind: type[T], /) -> T | None:
        """The value, if it is of exactly this kind."""
        value = self._value(key)
        return value if isinstance(value, kind) and type(value) is kind else None

    async def put(self, key: str, value: object, /, *, ttl_s: float) -> None:
        """Keep, in place of what was there."""
        if not self.forgetful:
            self._kept[key] = (value, self._now() + ttl_s)

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        """Keep, unless something is there."""
        if self._value(key) is not None:
            return False
        await self.put(key, value, ttl_s=ttl_s)
        return True

    async def drop(self, key: str, /) -> None:
        """Forget."""
        self._kept.pop(key, None)

    def _value(self, key: str) -> object | None:
        value, until = self._kept.get(key, (None, 0.0))
        return value if self._now() < until else None


class FakeCredentials:
    """Keys by provider, used in the order given, without any queue.

    A refused or used-up key stays out; a limited one rests as long as it was told to, or a second, unless it is the only one.
    """

    def __init__(self, keys: Mapping[str, str | Sequence[str]], *, now: Callable[[], float] = time.monotonic) -> None:
        self._keys = {name: [given] if isinstance(given, str) else list(given) for name, given in keys.items()}
        self._now = now
        self._out: dict[tuple[str, str], tuple[ProviderError, float]] = {}
        self.told: list[tuple[str, Secret | None, ProviderError]] = []
        """What was reported as failed, in order."""
        self.succeeded: list[Secret | None] = []
        """The keys of requests that ended well, in order."""
        self.leased = 0
        """Leases that are not given back."""

    @asynccontextmanager
    async def lease(
        self,
        provider: str,
        /,
        *,
        keyed: bool = True,
        tried: Mapping[Secret | None, WebSearchError] = MappingProxyType({}),
    ) -> AsyncIterator[FakeLease]:
        """The first key that is not out, and if possible not tried."""
        lease = FakeLease(self, provider, self._chosen(provider, tried) if keyed else None, tried)
        self.leased += 1
        try:
            yield lease
            if not lease.has_failed:
                self.succeeded.append(lease.secret)
        finally:
            self.leased -= 1

    def note(self, provider: str, secret: Secret | None, error: ProviderError) -> None:
        """Put the key out where the error blames the key."""
        self.told.append((provider, secret, error))
        if secret is None or not isinstance(error, (AuthRejected, OutOfCredit, RateLimited)):
            return
        rest_s = (error.retry_after_s or 1.0) if isinstance(error, RateLimited) else float("inf")
        self._out[provider, secret.value] = (error, self._now() + rest_s)

    def usable(self, provider: str, tried: Iterable[Secret | None] = ()) -> list[str]:
        """The keys that are neither out nor tried."""
        keys, free = self._keys.get(provider, []), (None, 0.0)
        named = {secret.value for secret in tried if secret is not None}
        return [key for key in keys if key not in named and self._out.get((provider, key), free)[1] <= self._now()]

    def _chosen(self, provider: str, tried: Iterable[Secret | None]) -> Secret:
        keys = self._keys.get(provider) or []
        if not keys:
            raise NotConfigured(f"no key is set for {provider}", provider=provider, hint=f"Set the key of {provider}.")
        if usable := self.usable(provider, tried) or self.usable(provider):
            return Secret(usable[0])
        if len(keys) == 1 and isinstance(self._out[provider, keys[0]][0], RateLimited):
            return Secret(keys[0])
        raise self._all_out(provider, keys)

    def _all_out(self, provider: str, keys: Sequence[str]) -> ProviderError:
        error, until = min((self._out[provider, key] for key in keys), key=lambda out: out[1])
        wait_s = until - self._now() if isinstance(error, RateLimited) else None
        return type(error)(f"every key of {provider} is out of use", provider=provider, retry_after_s=wait_s)


class FakeLease:
    """What `FakeCredentials` hands out."""

    def __init__(
        self, credentials: FakeCredentials, provider: str, secret: Secret | None, tried: Mapping[Secret | None, WebSearchError]
    ) -> None:
        self.secret = secret
        self.has_failed = False
        self.was_accepted = False
        self._credentials = credentials
        self._provider = provider
        self._tried = (*tried, secret)

    async def accepted(self) -> None:
        """Keep it in mind."""
        self.was_accepted = True

    async def failed(self, error: ProviderError, /) -> bool:
        """Report it; True when there is another usable key, and the failure one that another key may cure."""
        self.has_failed = True
        self._credentials.note(self._provider, self.secret, error)
        if self.secret is None or not isinstance(error, (AuthRejected, OutOfCredit, RateLimited, Unreachable)):
            return False
        return bool(self._credentials.usable(self._provider, self._tried))


class FakeLibrary:
    """Pages in a dictionary; the score of a page is the number of times a word of the query occurs in it.

    A word of a script without blanks is one character. `failure` is raised by every call until it is set to None.
    """

    def __init__(
        self,
        pages: Sequence[Page] = (),
        *,
        failure: WebSearchError | None = None,
        added_at: str = "2026-01-01T00:00:00Z",
    ) -> None:
        self.failure = failure
        self._added_at = added_at
        self._pages = {page.url: page for page in pages}
        self._stamps: dict[str, str] = {}
        self._failures: dict[str, ReadFailure] = {}
        self._runs: dict[str, IndexRun] = {}
        self._met: dict[str, set[str]] = {}
        """Root → pages that its present run added."""
        self._ever: dict[str, set[str]] = {}

    async def add(
        self,
        pages: Sequence[Page],
        /,
        *,
        root: str = "",
        done: Sequence[str] = (),
        stamps: Mapping[str, str] = MappingProxyType({}),
        failures: Sequence[ReadFailure] = (),
    ) -> int:
        """Keep each page under its address."""
        self._check()
        self._failures |= {failure.url: failure for failure in failures}
        for page in pages:
            self._failures.pop(page.url, None)
        changed = {page.url: page for page in pages if self._pages.get(page.url) != page}
        self._pages |= changed
        self._stamps |= {page.url: stamps.get(page.url, "") for page in pages}
        if root:
            self._met.setdefault(root, set()).update(page.url for page in pages)
            self._ever.setdefault(root, set()).update(page.url for page in pages)
        if root in self._runs:
            run = self._runs[root]
            self._runs[root] = dataclasses.replace(run, pending=tuple(url for url in run.pending if url not in done))
        return len(changed)

    async def remove(self, prefix: str, /) -> int:
        """Forget the address and everything below it."""
        self._check()
        self._failures = {url: failure for url, failure in self._failures.items() if not _is_below(url, prefix)}
        return self._drop([url for url in self._pages if _is_below(url, prefix)])

    async def discard(self, addresses: Sequence[str], /) -> int:
        """Forget exactly these addresses."""
        self._check()
        for url in addresses:
            self._failures.pop(url, None)
        return self._drop([url for url in dict.fromkeys(addresses) if url in self._pages])

    async def entries(self, *, offset: int = 0, limit: int = 100) -> tuple[LibraryEntry, ...]:
        """What is kept, by address."""
        self._check()
        pages = [self._pages[url] for url in sorted(self._pages)][offset : offset + limit]
        return tuple(
            LibraryEntry(url=page.url, title=page.title, chars=len(page.text), added_at=self._added_at) for page in pages
        )

    async def count(self) -> int:
        """How many pages are kept."""
        self._check()
        return len(self._pages)

    async def stamps(self, prefix: str, /) -> Mapping[str, str]:
        """Address → stamp, as given."""
        self._check()
        return {url: self._stamps.get(url, "") for url in self._pages if _is_below(url, prefix)}

    async def failures(self, prefix: str, /) -> Mapping[str, ReadFailure]:
        """Address → failure, as given."""
        self._check()
        return {url: failure for url, failure in self._failures.items() if _is_below(url, prefix)}

    async def search(
        self,
        text: str,
        /,
        *,
        limit: int = 10,
        since: str = "",
        include_domains: Sequence[str] = (),
        exclude_domains: Sequence[str] = (),
    ) -> tuple[Passage, ...]:
        """The best paragraph of each page in which a word occurs."""
        self._check()
        words = set(_words(text))
        pages = [
            page
            for page in self._pages.values()
            if (page.published or page.fetched_at[:10]) >= since
            and (not include_domains or any(urls.host_matches(page.url, domain) for domain in include_domains))
            and not any(urls.host_matches(page.url, domain) for domain in exclude_domains)
        ]
        found = [passage for page in pages if (passage := _best_passage(page, words)).score > 0]
        return tuple(sorted(found, key=lambda passage: (-passage.score, passage.url))[:limit])

    async def begin(
        self, root: str, addresses: Sequence[str], /, *, options: str = "", complete: bool = True, delay_s: float = 0.0
    ) -> IndexRun:
        """Keep the note in place of an earlier one."""
        self._check()
        pending = tuple(dict.fromkeys(addresses))
        self._met[root] = set()
        run = IndexRun(root=root, options=options, complete=complete, delay_s=delay_s, total=len(pending), pending=pending)
        self._runs[root] = run
        return run

    async def unfinished(self, root: str, /) -> IndexRun | None:
        """The note, if there is one."""
        self._check()
        return self._runs.get(root)

    async def finish(self, root: str, /, *, drop: bool) -> int:
        """Forget the note, and what the run did not add."""
        self._check()
        if self._runs.pop(root, None) is None or not drop:
            return 0
        return self._drop(sorted((self._ever.get(root, set()) - self._met[root]) & set(self._pages)))

    def _drop(self, addresses: Sequence[str]) -> int:
        for url in addresses:
            del self._pages[url]
        return len(addresses)

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure


def _is_below(url: str, prefix: str) -> bool:
    return url == prefix or url.startswith(prefix.rstrip("/") + "/")


ECHO = UpstreamTool(
    name="echo",
    description="Repeat the text.",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}},
    read_only=True,
)
FAKE_INFO = UpstreamInfo(name="fake", version="1")
CONNECTION_GONE = Cause(kind="closed", text="the connection is gone")


class FakeUpstreamLink:
    """A live connection by script; without one every tool repeats its arguments as text."""

    def __init__(
        self,
        tools: Sequence[UpstreamTool] = (ECHO,),
        script: Script[ToolReply] | None = None,
        *,
        info: UpstreamInfo = FAKE_INFO,
    ) -> None:
        self.info = info
        self.listed = tuple(tools)
        self.called: list[tuple[str, Mapping[str, Json]]] = []
        self._play = None if script is None else _Play(script)
        self._gone: Cause | None = None
        self._closed = asyncio.Event()

    async def tools(self) -> tuple[UpstreamTool, ...]:
        """What is in `listed`."""
        self._require_open()
        return self.listed

    async def call(self, tool: str, arguments: Mapping[str, Json], /) -> ToolReply:
        """The next step of the script, as it is."""
        self._require_open()
        if tool not in {one.name for one in self.listed}:
            raise RequestRejected("there is no such tool", provider=SERVICE)
        self.called.append((tool, arguments))
        if self._play is not None:
            return await self._play.next()
        return ToolReply(parts=(Part(kind="text", text=json.dumps(arguments, sort_keys=True)),))

    async def closed(self) -> Cause:
        """Wait for `drop`."""
        await self._closed.wait()
        return self._gone or CONNECTION_GONE

    def drop(self, cause: Cause = CONNECTION_GONE) -> None:
        """The other side is gone."""
        self._gone = self._gone or cause
        self._closed.set()

    def _require_open(self) -> None:
        if self._gone is not None:
            raise Unreachable(self._gone.text or "the connection is gone", provider=SERVICE)


class FakeUpstream:
    """A way to an upstream: each connection is the next step of the script; without one a new `FakeUpstreamLink` each time."""

    def __init__(self, spec: UpstreamSpec | None = None, script: Script[FakeUpstreamLink] | None = None) -> None:
        self.spec = spec or UpstreamSpec(name="fake", transport=StdioTransport(command="fake"))
        self.links: list[FakeUpstreamLink] = []
        """All that were opened."""
        self.open: list[FakeUpstreamLink] = []
        self.notify: Callable[[], None] = lambda: None
        """Tells that the list of tools is another now."""
        self._play = None if script is None else _Play(script)

    @asynccontextmanager
    async def connect(self, changed: Callable[[], None], /) -> AsyncIterator[FakeUpstreamLink]:
        """Open the next connection; leaving drops it."""
        link = FakeUpstreamLink() if self._play is None else await self._play.next()
        self.notify = changed
        self.links.append(link)
        self.open.append(link)
        try:
            yield link
        finally:
            self.open.remove(link)
            link.drop()


class FakeUpstreams:
    """Upstreams as they stand: tools by upstream, and for each the connections that it will have, one after the other."""

    def __init__(
        self,
        tools: Mapping[str, Sequence[UpstreamTool]] = MappingProxyType({"fake": (ECHO,)}),
        *,
        links: Mapping[str, Sequence[UpstreamLink]] = MappingProxyType({}),
        states: Mapping[str, UpstreamState] = MappingProxyType({}),
        specs: Iterable[UpstreamSpec] = (),
    ) -> None:
        """`states`: of those that are not ready; `initializing` awaits its first tools."""
        self.states = dict(states)
        self._specs = {name: UpstreamSpec(name=name, transport=StdioTransport(command=name)) for name in tools}
        self._specs |= {spec.name: spec for spec in specs}
        self._links = {name: list(links.get(name, (FakeUpstreamLink(tools.get(name, ())),))) for name in self._specs}
        self.registry = registry.Registry()
        for name, spec in self._specs.items():
            self.registry, _ = registry.respecified(self.registry, spec)
            if self.states.get(name) != "initializing":
                self.list(name, tools.get(name, ()))

    def list(self, upstream: str, tools: Sequence[UpstreamTool]) -> None:
        """The upstream lists these now."""
        self.registry, _ = registry.listed(self.registry, upstream, tools)

    def catalog(self) -> Catalog:
        """What the lists come to."""
        return self.registry.catalog

    def statuses(self) -> tuple[UpstreamStatus, ...]:
        """As told."""
        return tuple(
            UpstreamStatus(name=name, transport="stdio", state=self.states.get(name, "ready")) for name in sorted(self._specs)
        )

    def spec(self, upstream: str, /) -> UpstreamSpec:
        """As given, or one that was made up."""
        return self._specs[upstream]

    async def link(self, upstream: str, /, *, after: UpstreamLink | None = None) -> UpstreamLink:
        """The first connection; after one, the next, and when there is none any more it is out of reach."""
        state = self.states.get(upstream, "ready")
        if state == "disabled":
            raise NotAllowed(f"{upstream} is disabled", provider=SERVICE)
        if state == "needs_auth":
            raise AuthRejected(f"{upstream} needs a login", provider=SERVICE)
        if state == "initializing":
            await asyncio.Event().wait()
        links = self._links[upstream]
        if after is not None and links and links[0] is after:
            del links[0]
        if state == "unavailable" or not links:
            raise Unreachable(f"{upstream} is out of reach", provider=SERVICE)
        return links[0]


class FakeProbe:
    """A probe by script; without one its part is well. An exception in the script is reported as a failing part."""

    def __init__(self, script: Script[Health] | None = None, *, part: str = "fake_part") -> None:
        self.asked: list[bool] = []
        """The value of `live` of every call."""
        self._part = part
        self._play = _Play(Health(part=part, state="ok") if script is None else script)

    async def probe(self, *, live: bool = False) -> Health:
        """The next step of the script."""
        self.asked.append(live)
        try:
            return await self._play.next()
        except WebSearchError as error:
            return Health(part=self._part, state="failing", detail=error.message)
        except Exception as error:  # noqa: BLE001 - a probe never raises, whatever the script holds
            return Health(part=self._part, state="failing", detail=type(error).__name__)


class FakeScorer:
    """Scores texts by the share of the question's words that they hold; with a failure it fails with that."""

    name = "fake_scorer"

    def __init__(self, failure: WebSearchError | None = None) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._failure = failure

    async def score(self, question: str, texts: Sequence[str], /) -> Sequence[float]:
        """A number from 0 to 1 for each text."""
        self.asked.append((question, tuple(texts)))
        if self._failure:
            raise self._failure
        words = set(question.casefold().split())
        return [len(words & set(text.casefold().split())) / max(len(words), 1) for text in texts]


class FakeConfiguration:
    """Settings as given, with the primary model among them. `failure` is what writing the file fails with."""

    def __init__(
        self,
        settings: Sequence[Setting] = (),
        *,
        problems: Sequence[str] = (),
        model: str = "fake-model",
        path: str = "/fake/config.toml",
        failure: WebSearchError | None = None,
    ) -> None:
        self.failure = failure
        self._settings = tuple(settings)
        self._problems = tuple(problems)
        self._model = Setting(name="primary_model", value=model, origin="default")
        self._path = path

    def listing(self) -> tuple[Setting, ...]:
        """The model, then the settings given."""
        return (self._model, *self._settings)

    def problems(self) -> tuple[str, ...]:
        """The problems given."""
        return self._problems

    def primary_model(self) -> str:
        """The model given, or switched to."""
        return str(self._model.value)

    def switch_model(self, name: str, /) -> str:
        """Change the model, unless there is a failure."""
        if self.failure is not None:
            raise self.failure
        self._model = dataclasses.replace(self._model, value=name, origin=f"file {self._path}")
        return self._path


@dataclasses.dataclass(slots=True)
class RecordedSpan:
    """A span that an observer saw, with the facts as they stand now."""

    name: str
    facts: dict[str, Fact]
    error: BaseException | None = None
    """What left the span, cancellation included."""
    ended: bool = False

    def note(self, **facts: Fact) -> None:
        """Add facts."""
        self.facts.update(facts)


class RecordingObserver:
    """Keeps every span in the order of entering."""

    def __init__(self) -> None:
        self.spans: list[RecordedSpan] = []

    def named(self, name: str) -> list[RecordedSpan]:
        """The spans of this name."""
        return [span for span in self.spans if span.name == name]

    @contextmanager
    def span(self, name: str, /, **facts: Fact) -> Iterator[RecordedSpan]:
        """Record from entering to leaving."""
        recorded = RecordedSpan(name, dict(facts))
        self.spans.append(recorded)
        try:
            yield recorded
        except BaseException as error:
            recorded.error = error
            raise
        finally:
            recorded.ended = True


def _ten_sources(provider: str) -> tuple[Source, ...]:
    return tuple(
        Source(url=f"https://site{number}.example/page", title=f"Page {number}", description="A page.", provider=provider)
        for number in range(10)
    )


def _words(text: str) -> list[str]:
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", text.lower())


def _best_passage(page: Page, words: set[str]) -> Passage:
    def score(text: str) -> int:
        return sum(word in words for word in _words(text))

    paragraph = max(page.text.split("\n\n"), key=score)
    total = float(score(page.text) + score(page.title))
    return Passage(
        url=page.url, title=page.title, text=paragraph, score=total, published=page.published, fetched_at=page.fetched_at
    )
