"""The composition root: the only module that knows every class, and the only one that imports punq.

Keys are ports and use cases. Factories take no arguments, say which port they make, and import their adapter inside, so
that building the container costs nothing and resolving a port loads that port's adapter alone. Constructing opens nothing;
what was made and can be closed is in one list. Replace a port by registering another before the first resolve.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.metadata
import logging
import platform
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, cast

import punq

from websearch_adapters.settings import LoadedConfiguration, Settings
from websearch_core.chain import ExtractorChain, FinderChain, MapperChain, NoEngine
from websearch_core.configuration import ConfigInfo, SwitchModel
from websearch_core.depth import Policy
from websearch_core.doctor import Doctor
from websearch_core.errors import NotConfigured
from websearch_core.events import SILENT, Observer
from websearch_core.fetch import Fetch, FetchRules
from websearch_core.hub.call import CallTool
from websearch_core.hub.find import FindTools
from websearch_core.hub.ports import Upstreams
from websearch_core.library import Folder, Folders, ManageLibrary
from websearch_core.map import Map, MapRules
from websearch_core.planning.record import RecordPlan
from websearch_core.planning.run import RunPlan
from websearch_core.ports import (
    AnswerEngine,
    Cache,
    Configuration,
    Credentials,
    Extractor,
    Filter,
    Library,
    Mapper,
    PostFinder,
    Probe,
    SourceFinder,
)
from websearch_core.posts import PostRules, Posts
from websearch_core.ranking import Ranking
from websearch_core.redaction import RedactedCache
from websearch_core.retry import RetryPolicy
from websearch_core.search import Search, SearchRules
from websearch_core.sources import Sources
from websearch_core.values import (
    Answer,
    FetchRequest,
    Health,
    MapRequest,
    Note,
    Page,
    PostQuery,
    SearchQuery,
    SiteMap,
    SourceList,
)

__all__ = ["Closing", "build"]

log = logging.getLogger(__name__)
T = TypeVar("T")
Capability: TypeAlias = Literal["answer", "find", "find_posts", "extract", "map"]
"""Also the name of the port's method."""


class Closable(Protocol):
    """Something opened that has to be closed."""

    def aclose(self) -> Awaitable[None]:
        """Close it; closing twice is harmless."""
        ...


class Closing:
    """What was made and can be closed, in order."""

    def __init__(self) -> None:
        self._owned: list[Closable] = []

    def own(self, one: T) -> T:
        """Remember `one`, if it can be closed."""
        if hasattr(one, "aclose"):
            self._owned.append(cast("Closable", one))
        return one

    async def aclose(self) -> None:
        """Close everything, the newest first; a failure to close does not keep the others open."""
        while self._owned:
            with contextlib.suppress(Exception):  # the process is ending; nobody is left to tell
                await self._owned.pop().aclose()


def build(configuration: LoadedConfiguration, *, observe: Observer = SILENT) -> punq.Container:
    """Register every port and use case. Opens nothing and imports no adapter but the settings."""
    box, closing = punq.Container(), Closing()
    parts = _Parts(configuration, box, closing, observe)
    ports: dict[type, Callable[[], object]] = {
        AnswerEngine: parts.engine,
        SourceFinder: parts.finder,
        PostFinder: parts.post_finder,
        Extractor: parts.extractor,
        Mapper: parts.mapper,
        Cache: parts.cache,
        Credentials: parts.credentials,
        Library: parts.library,
        Search: parts.search,
        Posts: parts.posts,
        Sources: parts.sources,
        Fetch: parts.fetch,
        Map: parts.map,
        RecordPlan: parts.record_plan,
        RunPlan: parts.run_plan,
        ManageLibrary: parts.manage_library,
        Folders: parts.folders,
        ConfigInfo: parts.config_info,
        SwitchModel: parts.switch_model,
        Doctor: parts.doctor,
        Upstreams: parts.upstreams,
        FindTools: parts.find_tools,
        CallTool: parts.call_tool,
    }
    for key, make in ports.items():
        box.register(key, factory=make, scope=punq.Scope.singleton)
    box.register(Configuration, instance=configuration)
    box.register(Closing, instance=closing)
    return box


class _Parts:
    """How each part is made; parts find each other by port, so that a replaced port is used everywhere."""

    def __init__(self, configuration: LoadedConfiguration, box: punq.Container, closing: Closing, observe: Observer) -> None:
        self._configuration = configuration
        self._settings: Settings = configuration.settings
        self._box = box
        self._own = closing.own
        self._observe = observe
        self._made: dict[str, object] = {}

    # ports

    def engine(self) -> AnswerEngine:
        kind = self._settings.engine_kind()
        return NoEngine() if kind == "none" else cast("AnswerEngine", self._provider(kind, "answer"))

    def finder(self) -> SourceFinder:
        names = self._settings.search.finders
        ready = self._settings.ready(names)
        chosen = names if names != type(self._settings.search)().finders else ()  # nobody misses what nobody asked for
        off = [Note(code="not_configured", text=_why_off(name), provider=name) for name in chosen if name not in ready]
        finders = [cast("SourceFinder", self._provider(name, "find")) for name in ready]
        return FinderChain(finders, off=off, at_once=self._settings.search.finders_at_once)

    def post_finder(self) -> PostFinder:
        return cast("PostFinder", self._provider("xai", "find_posts"))

    def extractor(self) -> Extractor:
        names = self._settings.ready(self._settings.fetch.extractors)
        readers = [cast("Extractor", self._provider(name, "extract")) for name in names]
        return ExtractorChain(readers, hedge_after_s=self._settings.fetch.hedge_after_s or None)

    def mapper(self) -> Mapper:
        names = self._settings.ready(self._settings.map.mappers)
        return MapperChain([cast("Mapper", self._provider(name, "map")) for name in names])

    def cache(self) -> Cache:
        chosen = self._settings.cache
        if chosen.kind == "memory":
            from websearch_adapters.cache.memory import MemoryCache

            return RedactedCache(MemoryCache(entries=chosen.entries), self._configuration.redact)
        if chosen.kind == "redis":
            return RedactedCache(self._own(self._redis), self._configuration.redact)
        from websearch_adapters.cache.disk import DiskCache

        folder = self._settings.cache_dir / "values"
        disk = self._own(DiskCache(folder, entries=chosen.entries, size_limit_bytes=chosen.size_limit_bytes))
        return RedactedCache(disk, self._configuration.redact)

    @functools.cached_property
    def _redis(self) -> Any:
        from websearch_adapters.cache.memory import MemoryCache
        from websearch_adapters.cache.redis import RedisCache

        chosen = self._settings.cache
        if not chosen.redis_url:
            hint = "Set cache.redis_url, for example redis://127.0.0.1:6379/0, or cache.kind to disk."
            raise NotConfigured("cache.kind is redis, and no address is set", hint=hint)
        return RedisCache(
            chosen.redis_url,
            MemoryCache(entries=chosen.entries),
            prefix=chosen.redis_prefix,
            timeout_s=chosen.redis_timeout_s,
            value_limit_bytes=chosen.redis_value_limit_bytes,
        )

    def credentials(self) -> Credentials:
        from websearch_adapters.credentials.pool import KeyPool, PoolRules
        from websearch_core.circuit import CircuitRules

        engine, tavily, firecrawl = self._settings.engine, self._settings.tavily, self._settings.firecrawl
        common = PoolRules(
            cooldown_s=tavily.key_cooldown_s,
            quota_cooldown_s=tavily.quota_cooldown_s,
            circuit=CircuitRules(threshold=tavily.service_failure_threshold, cooldown_s=tavily.service_cooldown_s),
        )
        rules = {
            "grok": dataclasses.replace(common, at_once=engine.max_concurrency),
            "xai": dataclasses.replace(common, at_once=engine.max_concurrency),
            "tavily": dataclasses.replace(common, per_key=tavily.per_key_max_concurrency),
            "firecrawl": dataclasses.replace(common, per_key=firecrawl.per_key_max_concurrency),
        }
        pool = self._own(KeyPool(self._settings.keys(), self._box.resolve(Cache), rules=rules))
        if not self._pays_by_login:
            return pool
        from websearch_adapters.credentials.login import LoginCredentials

        users = frozenset({"xai", "grok"} if self._settings.engine_kind() == "xai" else {"xai"})
        return LoginCredentials(pool, self._renewal, providers=users, learn=self._configuration.redact.learn)

    def library(self) -> Library:
        from websearch_adapters.library.index import SqliteLibrary

        return self._own(SqliteLibrary(self._settings.library_file))

    # use cases

    def search(self) -> Search:
        chosen = self._settings.search
        rules = SearchRules(
            source_fallback=chosen.source_fallback,  # type: ignore[arg-type] # checked by its choices
            require_sources=chosen.require_sources,  # type: ignore[arg-type] # checked by its choices
            extra_sources=self._settings.extra_sources(),
            fallback_sources=chosen.fallback_sources,
            candidates=chosen.candidates,
            feed=chosen.feed,
            verify=chosen.verify,  # type: ignore[arg-type] # checked by its choices
            inline_sources=chosen.inline_sources,
            deadline_s=chosen.deadline_s,
            extras_allowance_s=chosen.extras_allowance_s,
            contents_at_once=chosen.content_concurrency,
            content_chars=chosen.content_max_chars,
            cache_ttl_s=chosen.cache_ttl_s,
            sources_ttl_s=chosen.sources_ttl_s,
            page_ttl_s=self._settings.fetch.cache_ttl_s,
        )
        use = Search(
            engine=self._box.resolve(AnswerEngine),
            finder=self._box.resolve(SourceFinder),
            extractor=self._box.resolve(Extractor),
            cache=self._box.resolve(Cache),
            rules=rules,
            ranking=self._ranking(),
            observe=self._observe,
        )
        self._own(use.running)
        return use

    def _ranking(self) -> Ranking:
        from websearch_adapters import hosts

        return Ranking(hosts=hosts.read([hosts.BUILT_IN, self._settings.hosts_file]))

    def posts(self) -> Posts:
        chosen = self._settings.search
        rules = PostRules(
            deadline_s=self._settings.x.deadline_s,
            reads_at_once=chosen.content_concurrency,
            cache_ttl_s=chosen.cache_ttl_s,
            sources_ttl_s=chosen.sources_ttl_s,
            page_ttl_s=self._settings.fetch.cache_ttl_s,
        )
        use = Posts(
            finder=self._box.resolve(PostFinder),
            extractor=self._box.resolve(Extractor),
            cache=self._box.resolve(Cache),
            rules=rules,
            observe=self._observe,
        )
        self._own(use.running)
        return use

    def sources(self) -> Sources:
        return Sources(cache=self._box.resolve(Cache))

    def fetch(self) -> Fetch:
        chosen = self._settings.fetch
        rules = FetchRules(deadline_s=chosen.deadline_s, cache_ttl_s=chosen.cache_ttl_s, allow_hosts=chosen.allow_hosts)
        return Fetch(extractor=self._box.resolve(Extractor), cache=self._box.resolve(Cache), rules=rules, observe=self._observe)

    def map(self) -> Map:
        chosen = self._settings.map
        rules = MapRules(
            deadline_extra_s=chosen.deadline_extra_s,
            cache_ttl_s=chosen.cache_ttl_s,
            allow_hosts=self._settings.fetch.allow_hosts,
        )
        use = Map(mapper=self._box.resolve(Mapper), cache=self._box.resolve(Cache), rules=rules, observe=self._observe)
        self._own(use.running)
        return use

    def record_plan(self) -> RecordPlan:
        return RecordPlan(cache=self._box.resolve(Cache))

    def run_plan(self) -> RunPlan:
        return RunPlan(
            search=self._box.resolve(Search),
            fetch=self._box.resolve(Fetch),
            map=self._box.resolve(Map),
            cache=self._box.resolve(Cache),
        )

    def manage_library(self) -> ManageLibrary:
        return ManageLibrary(
            library=self._box.resolve(Library), extractor=self._box.resolve(Extractor), mapper=self._box.resolve(Mapper)
        )

    def folders(self) -> Folders:
        from pathlib import Path

        from websearch_adapters.library.files import FileFolder

        def opened(path: str, /) -> Folder:
            return FileFolder(Path(path), self._worker)

        return opened

    def config_info(self) -> ConfigInfo:
        engine = self._box.resolve(AnswerEngine)
        return ConfigInfo(configuration=self._configuration, probes=_probes([engine]), login=self._login)

    def switch_model(self) -> SwitchModel:
        return SwitchModel(configuration=self._configuration)

    def doctor(self) -> Doctor:
        try:
            kept = [self._redis] if self._settings.cache.kind == "redis" else []
        except NotConfigured as error:  # nothing can be made without its cache, so there is nothing else to ask
            return Doctor(configuration=self._configuration, probes=[_Unavailable("cache", error)], versions=_versions())
        wanted: dict[str, Capability] = {
            **dict.fromkeys(self._settings.map.mappers, "map"),
            **dict.fromkeys(self._settings.fetch.extractors, "extract"),
            **dict.fromkeys(self._settings.search.finders, "find"),
        }
        named = sorted(wanted)
        ready = self._settings.ready(named)
        if self._settings.xai_auth() != "none" and self._settings.engine_kind() != "xai":
            ready, wanted = ("xai", *ready), {**wanted, "xai": "find_posts"}
        parts = (self._provider(name, wanted[name]) for name in ready)
        probes = _probes([self._box.resolve(AnswerEngine), self._login, *parts, *kept, *self._upstream_probes()])
        off = [Health(part=name, state="off", detail=_why_off(name)) for name in named if name not in ready]
        off += [Health(part="policies", state="failing", detail=problem) for problem in self._policies[1]]
        off += [Health(part="upstreams", state="failing", detail=problem) for problem in self._hub.problems()]
        if isinstance(self._box.resolve(AnswerEngine), NoEngine):
            off.insert(0, Health(part="engine", state="off", detail=_NO_ENGINE))
        return Doctor(configuration=self._configuration, probes=probes, off=off, versions=_versions())

    # the login

    @property
    def _pays_by_login(self) -> bool:
        return self._settings.xai_auth() == "oauth"

    @functools.cached_property
    def _renewal(self) -> Any:
        from websearch_adapters.credentials.oauth import OAuthClient, issuer_at
        from websearch_adapters.credentials.renewal import Renewal
        from websearch_adapters.credentials.token_file import TokenFile
        from websearch_adapters.http.forms import FormClient

        issuer, proxy = issuer_at(self._settings.xai.oauth_issuer), self._settings.network.proxy
        forms = self._own(FormClient("login", proxy=proxy))
        client = OAuthClient(forms, issuer, client_id=self._settings.xai.oauth_client_id)
        return Renewal(TokenFile(self._settings.login_file), issuer, client, proxy=proxy)

    @functools.cached_property
    def _login(self) -> Probe:
        from websearch_adapters.credentials.login import LoginProbe

        try:
            return LoginProbe(self._renewal, is_used=self._pays_by_login)
        except NotConfigured as error:
            return _Unavailable("login", error)

    # the hub

    @functools.cached_property
    def _hub(self) -> Any:
        from websearch_adapters.upstream.parts import HubParts

        return HubParts(self._configuration)

    def upstreams(self) -> Upstreams:
        """Not started; whoever serves starts it."""
        return self._own(cast("Upstreams", self._hub.supervisor()))

    def _upstream_probes(self) -> list[object]:
        specs = self._hub.read().specs
        if not specs:
            return []
        from websearch_adapters.upstream.binding import UpstreamProbe

        return [UpstreamProbe(spec.name, self._box.resolve(Upstreams)) for spec in specs]

    def find_tools(self) -> FindTools:
        return FindTools(upstreams=self._box.resolve(Upstreams), observe=self._observe)

    def call_tool(self) -> CallTool:
        return CallTool(upstreams=self._box.resolve(Upstreams), cache=self._box.resolve(Cache), observe=self._observe)

    # providers

    def _provider(self, name: str, capability: Capability) -> object:
        """The provider of this name for this capability; one object serves several where it can.

        A name that nobody offers, or that cannot do what it is named for, fails when it is used and harms nothing else.
        """
        own = {
            "xai": self._xai,
            "chat": self._chat,
            "tavily": self._tavily,
            "firecrawl": self._firecrawl,
            "searxng": self._searxng,
            "keyless": self._keyless,
            "library": self._library_finder,
            "github": self._github,
            "stackexchange": self._stackexchange,
            "arxiv": self._arxiv,
            "wikipedia": self._wikipedia,
            "local": self._local_mapper if capability == "map" else self._local_reader,
        }
        if capability == "find_posts":
            own["xai"] = self._xai_posts
        key = f"{name} {capability}" if name == "local" or capability == "find_posts" else name
        if key not in self._made:
            try:
                self._made[key] = self._own(own[name]() if name in own else self._plugin(name))
            except NotConfigured as error:
                self._made[key] = _Unavailable(name, error)
        made = self._made[key]
        if not hasattr(made, capability):
            return _Unavailable(name, NotConfigured(f"provider {name!r} cannot {capability}", provider=name))
        return made

    def _plugin(self, name: str) -> object:
        if name in self._hub.bound:
            from websearch_adapters.upstream.binding import bound

            return bound(self._hub.bound[name], self._box.resolve(Upstreams))
        from websearch_adapters import catalog

        provider = catalog.provider(name)
        return provider.make(provider.settings(), self._http)

    @functools.cached_property
    def _http(self) -> Any:
        from websearch_adapters.http.client import Http

        proxy = self._settings.network.proxy
        return self._own(Http(self._box.resolve(Credentials), proxy=proxy, observe=self._observe))

    @functools.cached_property
    def _pages(self) -> Any:
        from websearch_adapters.http.pages import PageClient

        chosen, network = self._settings.fetch, self._settings.network
        return self._own(
            PageClient(
                allow=chosen.allow_hosts,
                fake_ip=network.fake_ip,
                proxy=network.page_proxy,
                max_bytes=chosen.max_bytes,
                observe=self._observe,
            )
        )

    @functools.cached_property
    def _worker(self) -> Any:
        from websearch_adapters.extract.worker import Limits, Worker

        chosen = self._settings.fetch
        return self._own(Worker(Limits(time_s=chosen.reading_limit_s, memory_bytes=chosen.reading_memory_bytes)))

    @property
    def _retry(self) -> RetryPolicy:
        chosen = self._settings.engine
        return RetryPolicy(
            max_attempts=chosen.max_attempts,
            multiplier_s=chosen.retry_multiplier_s,
            max_wait_s=chosen.retry_max_wait_s,
            max_retry_after_s=chosen.max_retry_after_s,
        )

    @property
    def _phrases(self) -> Any:
        from websearch_adapters.http.failures import Phrases

        chosen = self._settings.engine
        return Phrases(
            retry=chosen.retry_phrases,
            switch=chosen.switch_phrases,
            stop=chosen.stop_phrases,
            retryable_codes=chosen.retryable_codes,
        )

    @functools.cached_property
    def _policies(self) -> tuple[tuple[Policy, ...] | None, tuple[str, ...]]:
        """Policies for the engines, and the problems of the user's own."""
        paths = self._settings.search.policies
        if not paths:
            return None, ()
        from websearch_adapters import policies

        loaded, problems = policies.load(paths)
        for problem in problems:
            log.warning("a policy is not used: %s", problem)
        return loaded, problems

    def _xai(self) -> object:
        from websearch_adapters.providers.xai import XaiResponses

        return XaiResponses(self._http, self._xai_settings, self._configuration.primary_model)

    def _xai_posts(self) -> object:
        """Searches X with xAI's own key and, where xAI is not the engine, with models that xAI knows."""
        from websearch_adapters.providers.xai import XaiResponses

        is_engine = self._settings.engine_kind() == "xai"
        settings = dataclasses.replace(
            self._xai_settings, provider="xai", fallback_model=self._settings.engine.fallback_model if is_engine else ""
        )
        own = self._settings.x.model or (None if is_engine else self._settings.posts_model())
        return XaiResponses(self._http, settings, self._configuration.primary_model if own is None else lambda: own)

    @property
    def _xai_settings(self) -> Any:
        from websearch_adapters.providers.xai import XaiSettings

        chosen = self._settings.xai
        return XaiSettings(
            base_url=chosen.api_url,
            fallback_model=self._settings.engine.fallback_model,
            web_search=chosen.web_search,
            x_search=chosen.x_search,
            retry=self._retry,
            phrases=self._phrases,
            policies=self._policies[0],
            read_timeout_s=self._settings.engine.single_attempt_timeout_s,
        )

    def _chat(self) -> object:
        from websearch_adapters.providers.chat_completions import ChatCompletions, ChatSettings

        chosen = self._settings.chat
        settings = ChatSettings(
            base_url=chosen.api_url,
            fallback_model=self._settings.engine.fallback_model,
            keyed=chosen.api_key is not None,
            retry=self._retry,
            phrases=self._phrases,
            policies=self._policies[0],
            read_timeout_s=self._settings.engine.single_attempt_timeout_s,
        )
        return ChatCompletions(self._http, settings, self._configuration.primary_model)

    def _tavily(self) -> object:
        from websearch_adapters.providers.tavily import Tavily, TavilySettings

        chosen = self._settings.tavily
        keyless = chosen.keyless and not chosen.api_keys
        return Tavily(self._http, TavilySettings(base_url=chosen.api_url, keyless=keyless, retry=self._retry))

    def _firecrawl(self) -> object:
        from websearch_adapters.providers.firecrawl import Firecrawl, FirecrawlSettings

        chosen = self._settings.firecrawl
        return Firecrawl(self._http, FirecrawlSettings(base_url=chosen.api_url, keyed=bool(chosen.api_keys), retry=self._retry))

    def _searxng(self) -> object:
        from websearch_adapters.providers.searxng import SearXng, SearXngSettings

        return SearXng(self._http, SearXngSettings(base_url=self._settings.searxng.url, retry=self._retry))

    def _keyless(self) -> object:
        from websearch_adapters.providers.keyless import ENGINES, Keyless, KeylessSettings

        engines = tuple(ENGINES[name] for name in self._settings.keyless.engines)
        return Keyless(self._pages, self._worker, KeylessSettings(engines=engines))

    def _github(self) -> object:
        from websearch_adapters.extract.github import GitHub, GitHubSettings

        chosen = GitHubSettings(keyed=self._settings.fetch.github_token is not None)
        return GitHub(self._pages, self._http, self._worker, chosen)

    def _stackexchange(self) -> object:
        from websearch_adapters.extract.stackexchange import StackExchange

        return StackExchange(self._pages, self._worker)

    def _arxiv(self) -> object:
        from websearch_adapters.extract.arxiv import Arxiv

        return Arxiv(self._pages, self._worker)

    def _wikipedia(self) -> object:
        from websearch_adapters.extract.wikipedia import Wikipedia

        return Wikipedia(self._pages, self._worker)

    def _library_finder(self) -> object:
        from websearch_adapters.providers.library import LibraryFinder

        return LibraryFinder(self._box.resolve(Library))

    def _local_reader(self) -> object:
        from websearch_adapters.extract.local import LocalReader

        return LocalReader(self._pages, self._worker)

    def _local_mapper(self) -> object:
        from websearch_adapters.crawl.local import LocalMapper
        from websearch_adapters.extract.robots import Robots

        chosen = self._settings.map
        return LocalMapper(
            self._pages,
            Robots(self._pages),
            self._worker,
            ignore_robots=chosen.ignore_robots,
            pages_per_s=chosen.pages_per_s,
        )


class _Unavailable(AnswerEngine, SourceFinder, PostFinder, Extractor, Mapper, Probe):
    """Stands where a configured provider could not be made; every use says why."""

    keeps: frozenset[Filter] = frozenset()

    def __init__(self, name: str, error: NotConfigured) -> None:
        self._name = name
        self._error = error

    @property
    def name(self) -> str:
        return self._name

    async def answer(self, query: SearchQuery, /) -> Answer:
        raise self._error

    async def find(self, query: SearchQuery, /) -> SourceList:
        raise self._error

    async def find_posts(self, query: PostQuery, /) -> Answer:
        raise self._error

    async def extract(self, request: FetchRequest, /) -> Page | None:
        raise self._error

    async def map(self, request: MapRequest, /) -> SiteMap:
        raise self._error

    async def probe(self, *, live: bool = False) -> Health:
        return Health(part=self._name, state="failing", detail=f"{self._error.message}. {self._error.hint or ''}".strip())


def _versions() -> dict[str, str]:
    versions = {name: importlib.metadata.version(name) for name in ("websearch-mcp", "mcp", "httpx", "pydantic")}
    return {"python": platform.python_version(), **versions}


_NO_ENGINE = "set XAI_API_KEY, or GROK_API_URL and GROK_API_KEY, or sign in with `websearch login`"


def _why_off(name: str) -> str:
    return {"searxng": "no address is set", "keyless": "switched off", "library": "switched off"}.get(name, "no key is set")


def _probes(parts: Iterable[object]) -> list[Probe]:
    return [cast("Probe", part) for part in parts if hasattr(part, "probe")]
