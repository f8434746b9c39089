"""Every setting, once: from this table come the typed values, the template file, the reference page and the doctor's listing.

A value is taken from the first place that has a usable one: argument, environment, TOML file, default. A blank value is unset
everywhere; a bad one is reported and counts as unset. Each value remembers where it came from. This is the only module that
reads the environment. Importing it costs nothing; reading opens one file and no connection.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from websearch_core import urls
from websearch_core.errors import InvalidInput, NotConfigured
from websearch_core.redaction import Redactor
from websearch_core.retry import RETRYABLE_CODES
from websearch_core.values import Json, Secret, Setting

__all__ = [
    "CacheSettings",
    "ChatSettings",
    "Declared",
    "EngineSettings",
    "FetchSettings",
    "FirecrawlSettings",
    "HubSettings",
    "KeylessSettings",
    "LibrarySettings",
    "LoadedConfiguration",
    "LogSettings",
    "MapSettings",
    "NetworkSettings",
    "Option",
    "SearXngSettings",
    "SearchSettings",
    "ServerSettings",
    "Settings",
    "TavilySettings",
    "XSettings",
    "XaiSettings",
    "declared",
    "find_nearest",
    "how_to_set_key",
    "init_file",
    "option",
    "read",
    "reference",
    "template",
]

Form: TypeAlias = Literal["", "name", "model", "url", "api_base", "issuer", "redis", "proxy", "hosts", "phrases", "paths"]
ADDRESSES = frozenset({"url", "api_base", "redis", "proxy"})
"""Forms whose value may hold a password."""
APP = "websearch"
PREFIX = "WEBSEARCH_"
HOME_VARIABLE = "WEBSEARCH_HOME"
FILE_VARIABLE = "WEBSEARCH_CONFIG"
DEFAULT_MODEL = "grok-4.3"
FIRECRAWL_HOST = "firecrawl.dev"
XAI_HOST = "api.x.ai"
XAI_ISSUER = "https://auth.x.ai"
REPETITIONS_VARIABLE = "GROK_RETRY_MAX_ATTEMPTS"
"""An older name that does not count the first attempt."""
REDIS_OPTIONS = ("db", "username", "password", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")
LOCK_WAIT_S = 10.0
MAX_MODEL_CHARS = 200
ELSEWHERE = frozenset({"providers", "upstreams"})
"""Sections of the file that others read."""
LONG_USER_CHARS = 16
"""A user of an address from this length on is taken for a key."""
MIB = 1024 * 1024
DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What is known of a setting beside its name, its type and its value."""

    default: Any
    env: tuple[str, ...] = ()
    """Variables that name it, first one first; `WEBSEARCH_SECTION_KEY` follows by itself."""
    help: str
    secret: bool = False
    choices: tuple[str, ...] = ()
    ge: float | None = None
    le: float | None = None
    form: Form = ""


def option(
    default: Any,
    *,
    env: tuple[str, ...] = (),
    help: str,  # noqa: A002 - argparse's word for the same thing
    secret: bool = False,
    choices: tuple[str, ...] = (),
    ge: float | None = None,
    le: float | None = None,
    form: Form = "",
) -> Any:
    """Declare a setting as a dataclass field."""
    known = Option(default=default, env=env, help=help, secret=secret, choices=choices, ge=ge, le=le, form=form)
    shown = not secret and form not in ADDRESSES
    return field(default=default, repr=shown, metadata={"option": known})


# --- the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The answer engine: which one, which model, how patiently."""

    kind: str = option(
        "auto",
        form="name",
        help="`auto`, `xai`, `chat`, `none`, `echo` or a plugin's name. `auto`: xai if it has a key or a login, else chat if it "
        "has an address and a key (on this machine the address is enough), else none.",
    )
    primary_model: str = option(
        "",
        env=("GROK_PRIMARY_MODEL", "GROK_MODEL", "GROK_SEARCH_MODEL"),
        form="model",
        help=f"Model that answers; `switch_model` writes it here. Unset: `chat.model` on that engine, else `{DEFAULT_MODEL}`.",
    )
    fallback_model: str = option(
        "",
        env=("GROK_FALLBACK_MODEL",),
        form="model",
        help="Model to go on with when the primary one keeps failing, with attempts of its own. Unset: none.",
    )
    max_attempts: int = option(
        3,
        env=("GROK_MODEL_MAX_ATTEMPTS", REPETITIONS_VARIABLE),
        ge=1,
        le=20,
        help=f"Attempts per model. `{REPETITIONS_VARIABLE}` does not count the first one.",
    )
    retry_multiplier_s: float = option(
        1.0, env=("GROK_RETRY_MULTIPLIER",), ge=0, le=60, help="Seconds before the second attempt; doubled for each further one."
    )
    retry_max_wait_s: float = option(
        10.0, env=("GROK_RETRY_MAX_WAIT",), ge=0, le=600, help="Longest wait between two attempts, in seconds."
    )
    max_retry_after_s: float = option(
        60.0,
        ge=0,
        le=3600,
        help="Longest wait that an upstream may ask for, in seconds; one that asks for more is given up at once.",
    )
    retryable_codes: tuple[str, ...] = option(
        RETRYABLE_CODES,
        env=("GROK_RETRYABLE_UPSTREAM_CODES",),
        help="Codes and types of the engine's errors that are worth another attempt, also inside a reply with status 200.",
    )
    retry_phrases: tuple[str, ...] = option(
        (),
        form="phrases",
        help="Words in an error of the engine that make it worth another attempt, whatever its status; separated by commas.",
    )
    switch_phrases: tuple[str, ...] = option(
        (), form="phrases", help="Words in an error of the engine that leave the model for the fallback; separated by commas."
    )
    stop_phrases: tuple[str, ...] = option(
        (), form="phrases", help="Words in an error of the engine that end the call; separated by commas."
    )
    max_concurrency: int = option(
        8, env=("GROK_MAX_CONCURRENCY",), ge=1, le=100, help="Requests to the engine at once; the others wait for their turn."
    )
    single_attempt_timeout_s: float = option(
        120.0,
        env=("GROK_SINGLE_ATTEMPT_TIMEOUT",),
        ge=1,
        le=3600,
        help="Longest silence of the engine in one attempt, in seconds.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class XaiSettings:
    """xAI's Responses API: the first choice of answer engine."""

    api_url: str = option(
        "https://api.x.ai/v1",
        env=("GROK_SEARCH_URL",),
        form="api_base",
        help="Base address; a missing `/v1` is added. `GROK_API_URL` sets it when its host is api.x.ai.",
    )
    api_key: Secret | None = option(  # noqa: RUF009 - a field, which ruff cannot see
        None,
        env=("XAI_API_KEY", "GROK_SEARCH_API_KEY"),
        secret=True,
        help="API key. `GROK_API_KEY` sets it when the host of `GROK_API_URL` is api.x.ai.",
    )
    auth: str = option(
        "auto",
        env=("GROK_SEARCH_AUTH_MODE",),
        choices=("auto", "api_key", "oauth"),
        help="What to pay with: a key, or the subscription that `websearch login` signed in. `auto`: the subscription while "
        "somebody is signed in and `api_url` is the vendor's, else the key. Neither ever stands in for the other in a call.",
    )
    oauth_client_id: str = option(
        "", help="Client id for `websearch login`. None is shipped; docs/login.md says what others use, and the risk."
    )
    oauth_scope: str = option(
        "openid profile email offline_access grok-cli:access api:access", help="What `websearch login` asks for."
    )
    oauth_port: int = option(
        56_121, ge=1_024, le=65_535, help="Port on 127.0.0.1 at which `websearch login` waits for the browser's answer."
    )
    oauth_file: str = option(
        "",
        env=("GROK_SEARCH_AUTH_FILE",),
        help="The login's file. Unset: `login.json` in the data folder. Another program's is never used.",
    )
    oauth_issuer: str = option(
        XAI_ISSUER, form="issuer", help="Who signs in: the vendor, or a stand-in on this machine; no other is asked."
    )
    web_search: bool = option(True, env=("GROK_SEARCH_WEB_SEARCH",), help="Let the engine search the web.")
    x_search: bool = option(False, env=("GROK_SEARCH_X_SEARCH",), help="Let the engine search posts on X too.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """Any OpenAI-compatible chat endpoint: the second choice of answer engine."""

    api_url: str = option(
        "",
        env=("GROK_API_URL", "OPENAI_COMPATIBLE_API_URL"),
        form="url",
        help="Base address, with or without `/v1`; `/chat/completions` is appended to it.",
    )
    api_key: Secret | None = option(  # noqa: RUF009 - a field, which ruff cannot see
        None, env=("GROK_API_KEY", "OPENAI_COMPATIBLE_API_KEY"), secret=True, help="API key; not needed on this machine."
    )
    model: str = option(
        "", env=("OPENAI_COMPATIBLE_MODEL",), form="model", help="Model of this endpoint, when `engine.primary_model` is unset."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """What a search returns, and how long it may take."""

    policies: tuple[str, ...] = option(
        (),
        form="paths",
        help="Files or folders with your own policies (TOML): subjects with their words, depth and a rule for the engine.",
    )
    source_fallback: str = option(
        "sources", choices=("sources", "never"), help="When the engine fails: return found pages, labelled as such, or nothing."
    )
    require_sources: str = option(
        "auto",
        choices=("auto", "always", "never"),
        help="Whether an answer without any sign of a search counts as failed; `auto`: where the engine can show it.",
    )
    extra_sources: int | None = option(
        None,
        env=("GROK_SEARCH_EXTRA_SOURCES",),
        ge=0,
        le=20,
        help="Further pages beside each answer. Unset: 3 when a web finder with a key or an address is configured, else 0.",
    )
    fallback_sources: int = option(
        5, env=("GROK_SEARCH_FALLBACK_SOURCES",), ge=1, le=20, help="Pages to return when the engine fails."
    )
    feed: bool = option(
        False,
        help="Ask the finders first and give what they found to the engine as data; for engines that search badly or not at all. "
        "The engine starts up to 8 s later.",
    )
    verify: str = option(
        "off",
        choices=("off", "cheap", "full"),
        help="Check what is cited: read up to 3 of the cited pages (`cheap`) or 20 (`full`), when the call does not say.",
    )
    candidates: int = option(
        10, ge=1, le=20, help="Pages to ask a finder for at least; the best of them are returned, and copies left out."
    )
    hosts: str = option(
        "",
        help="File that says what hosts are, for ranking. Unset: `hosts.toml` beside the configuration file.",
    )
    inline_sources: int = option(
        5, env=("GROK_SEARCH_MAX_INLINE_SOURCES",), ge=0, le=20, help="Sources listed with an answer; the rest by `get_sources`."
    )
    finders: tuple[str, ...] = option(
        ("searxng", "tavily", "firecrawl", "keyless", "library"),
        env=("GROK_SEARCH_SOURCE_PROVIDERS",),
        help="Who finds pages, in order; what is not configured is skipped. `none`: nobody.",
    )
    finders_at_once: int = option(
        1, ge=1, le=8, help="Finders to ask at the same time; their lists become one. Each of them may be billed."
    )
    deadline_s: float = option(
        270.0,
        env=("WEB_SEARCH_TOTAL_TIMEOUT", "GROK_SEARCH_TIMEOUT_SECONDS"),
        ge=1,
        le=3600,
        help="Longest search, in seconds, when the caller takes progress reports.",
    )
    deadline_no_progress_s: float = option(50.0, ge=1, le=3600, help="Longest search, in seconds, when it does not.")
    content_concurrency: int = option(
        3, env=("GROK_SEARCH_ENRICH_CONCURRENCY",), ge=1, le=5, help="Pages read at once for `include_content`."
    )
    content_max_chars: int = option(
        15_000, env=("GROK_SEARCH_ENRICH_MAX_CHARS",), ge=200, le=200_000, help="Longest text of one page in a search result."
    )
    extras_allowance_s: float = option(20.0, ge=1, le=300, help="Longest wait for extra sources, in seconds.")
    cache_ttl_s: float = option(300.0, ge=0, le=7 * DAY_S, help="How long an answer is reused, in seconds; 0: never.")
    sources_ttl_s: float = option(3600.0, ge=60, le=30 * DAY_S, help="How long `get_sources` knows an answer, in seconds.")
    expose_model: bool = option(False, help="Let callers choose the model of a search.")
    max_chars: int = option(
        24_000, env=("GROK_SEARCH_RESPONSE_MAX_CHARS",), ge=1_000, le=200_000, help="Longest result, when the call does not say."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TavilySettings:
    """Tavily: finds, reads and maps."""

    api_keys: tuple[Secret, ...] = option(
        (),
        env=("TAVILY_API_KEYS", "TAVILY_API_KEY"),
        secret=True,
        help="API keys, used in turn; separated by commas, semicolons or blanks.",
    )
    api_url: str = option("https://api.tavily.com", env=("TAVILY_API_URL",), form="url", help="Base address.")
    enabled: bool = option(True, env=("TAVILY_ENABLED",), help="Use Tavily where a key is set.")
    keyless: bool = option(
        False, help="Where no key is set, use its small free allowance, which finds and reads pages but maps no sites."
    )
    key_cooldown_s: float = option(
        30.0,
        env=("TAVILY_KEY_COOLDOWN",),
        ge=0,
        le=DAY_S,
        help="Rest of a rate-limited key, in seconds, when the provider names none.",
    )
    per_key_max_concurrency: int = option(
        1,
        env=("TAVILY_PER_KEY_MAX_CONCURRENCY",),
        ge=1,
        le=100,
        help="Requests that a key carries at once; further ones use another key, or wait.",
    )
    quota_cooldown_s: float = option(
        3600.0,
        env=("TAVILY_QUOTA_COOLDOWN",),
        ge=0,
        le=31 * DAY_S,
        help="Rest of a key whose plan is used up, in seconds, when the provider names none.",
    )
    service_failure_threshold: int = option(
        2,
        env=("TAVILY_SERVICE_FAILURE_THRESHOLD",),
        ge=2,
        le=100,
        help="Keys that must fail alike before the service is left alone; where there is one key, five failed calls in a row do.",
    )
    service_cooldown_s: float = option(
        30.0, env=("TAVILY_SERVICE_COOLDOWN",), ge=0, le=DAY_S, help="How long it is left alone, in seconds."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FirecrawlSettings:
    """Firecrawl: finds, reads and maps."""

    api_keys: tuple[Secret, ...] = option(
        (),
        env=("FIRECRAWL_API_KEYS", "FIRECRAWL_API_KEY"),
        secret=True,
        help="API keys, used in turn; separated like Tavily's.",
    )
    api_url: str = option("https://api.firecrawl.dev", env=("FIRECRAWL_API_URL",), form="url", help="Base address.")
    enabled: bool = option(True, env=("FIRECRAWL_ENABLED",), help="Use Firecrawl where a key is set.")
    per_key_max_concurrency: int = option(
        2, ge=1, le=100, help="Requests that a key carries at once; further ones use another key, or wait."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearXngSettings:
    """SearXNG: a metasearch engine of one's own; finds pages without a key."""

    url: str = option(
        "", env=("SEARXNG_URL",), form="url", help="Address of an instance whose `json` format is on. Unset: none is asked."
    )
    enabled: bool = option(True, help="Use the instance where an address is set.")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeylessSettings:
    """The keyless web finder: reads the result pages of public search engines."""

    enabled: bool = option(True, help="Use it; not for the further pages beside an answer, unless their number is set.")
    engines: tuple[str, ...] = option(
        ("duckduckgo", "mojeek", "bing"), choices=("duckduckgo", "mojeek", "bing"), help="Whom to ask, all at the same time."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """Reading one page."""

    extractors: tuple[str, ...] = option(
        ("github", "stackexchange", "arxiv", "wikipedia", "tavily", "firecrawl", "local"),
        help="Who reads pages, in order; what is not configured, or not made for a page, is skipped. `none`: nobody.",
    )
    github_token: Secret | None = option(  # noqa: RUF009 - a field, which ruff cannot see
        None,
        env=("GITHUB_TOKEN",),
        secret=True,
        help="Token for api.github.com, and for no other host. Unset: public pages, 60 requests an hour.",
    )
    deadline_s: float = option(50.0, ge=1, le=3600, help="Longest fetch, in seconds.")
    hedge_after_s: float = option(
        8.0, ge=0, le=3600, help="Ask the next reader too when one is silent for this long, in seconds; 0: never."
    )
    max_chars: int = option(
        24_000, env=("GROK_SEARCH_FETCH_MAX_CHARS",), ge=1_000, le=200_000, help="Longest result, when the call does not say."
    )
    max_bytes: int = option(10 * MIB, ge=1_024, le=1_024 * MIB, help="Largest page that the built-in reader takes, in bytes.")
    reading_limit_s: float = option(
        20.0, ge=1, le=600, help="Longest that the built-in reader works at one page once it is here, in seconds."
    )
    reading_memory_bytes: int = option(
        1_024 * MIB, ge=128 * MIB, le=64 * 1_024 * MIB, help="Most memory that reading one page may take, in bytes."
    )
    allow_hosts: tuple[str, ...] = option(
        (), form="hosts", help="Hosts, `host:port` or networks that may be fetched although they are private."
    )
    cache_ttl_s: float = option(3600.0, ge=0, le=30 * DAY_S, help="How long a page is reused, in seconds; 0: never.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSettings:
    """Listing the pages of a site."""

    mappers: tuple[str, ...] = option(
        ("tavily", "firecrawl", "local"), help="Who maps sites, in order; what is not configured is skipped. `none`: nobody."
    )
    ignore_robots: bool = option(False, help="Let the built-in mapper visit pages that robots.txt forbids.")
    pages_per_s: float = option(8.0, ge=0.1, le=1_000, help="Most pages of one site that the built-in mapper visits in a second.")
    cache_ttl_s: float = option(3600.0, ge=0, le=30 * DAY_S, help="How long a map is reused, in seconds; 0: never.")
    deadline_extra_s: float = option(10.0, ge=0, le=300, help="Seconds that a map may take beyond its own `timeout`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """How requests leave this machine."""

    proxy: str = option(
        "environment",
        env=("GROK_SEARCH_PROXY",),
        form="proxy",
        help="Proxy for requests to engines and services: `environment` (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), "
        "`none`, or an address with `http`, `https`, `socks5` or `socks5h`.",
    )
    page_proxy: str = option(
        "none",
        form="proxy",
        help="Proxy for pages, in the same words. It looks names up itself, and where they lead is its to judge; "
        "with `socks5`, names are looked up and judged here.",
    )
    fake_ip: bool = option(
        False, help="Let names lead to 198.18.0.0/15 and fc00::/18, the addresses that proxies in TUN mode give for every name."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySettings:
    """The user's own pages and folders."""

    path: str = option("", help="The index file. Unset: `library.sqlite3` in the data folder.")
    enabled: bool = option(True, help="Search the library.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """What is kept between calls."""

    kind: str = option(
        "disk",
        choices=("disk", "memory", "redis"),
        help="Keep it on disk, in this process only, or in the Redis or Valkey of `cache.redis_url`, for several machines.",
    )
    entries: int = option(
        256, env=("GROK_SEARCH_CACHE_SIZE",), ge=1, le=100_000, help="Most values to keep; Redis has a limit of its own."
    )
    size_limit_bytes: int = option(
        200 * MIB, ge=MIB, le=100 * 1_024 * MIB, help="Most bytes to keep; Redis has a limit of its own."
    )
    redis_url: str = option(
        "",
        env=("WEBSEARCH_CACHE_REDIS_URL", "REDIS_URL"),
        form="redis",
        help="Address of Redis or Valkey: `redis://user:password@host:6379/0`, `rediss://` for TLS, or `unix://`.",
    )
    redis_prefix: str = option("websearch:", help="What the name of every value in Redis begins with.")
    redis_timeout_s: float = option(
        0.5, ge=0.01, le=10, help="Longest wait for Redis, in seconds; then calls go on without it until it is back."
    )
    redis_value_limit_bytes: int = option(8 * MIB, ge=1_024, le=512 * MIB, help="Largest value that is put into Redis.")


@dataclass(frozen=True, slots=True, kw_only=True)
class XSettings:
    """Searching X and quoting its posts: `x_search` and `websearch x`. Uses the key and the address of `xai`."""

    model: str = option(
        "",
        form="model",
        help=f"Model that searches X. Unset: the engine's primary model where that engine is xAI, else `{DEFAULT_MODEL}`.",
    )
    deadline_s: float = option(240.0, ge=1, le=3600, help="Longest search of X, its repetition included, in seconds.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The MCP server."""

    toolsets: tuple[str, ...] = option(
        (),
        env=("WEBSEARCH_TOOLSETS",),
        choices=("core", "x", "admin", "planning", "hub"),
        help="Groups of tools to offer. Unset: `core` and `admin`, `x` when xAI has a key or a login, `hub` when an upstream is "
        "configured.",
    )
    name: str = option(APP, help="Name of the server on the wire.")
    max_tokens: int = option(
        0,
        ge=0,
        le=200_000,
        help="Most tokens (cl100k) of a result, beside its characters; 0: characters only. Needs the extra `tokens`.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceSettings:
    """The marks around third-party text in the text blocks of results."""

    datamarking: bool = option(
        False, help="Write a sign for each blank of fenced text, which is harder to mistake for an instruction; costs tokens."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings:
    """Upstream MCP servers: where they are configured, beside the sections `[upstreams.NAME]` of the file."""

    files: tuple[str, ...] = option(
        (),
        form="paths",
        help="JSON files with `mcpServers` whose servers are upstreams too; later ones win. They say which programs are started.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is written to stderr."""

    level: str = option(
        "WARNING",
        env=("GROK_LOG_LEVEL",),
        choices=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
        help="Least severity to log.",
    )
    format: str = option("text", choices=("text", "json"), help="One line of text, or one JSON object, for each record.")
    debug: bool = option(False, env=("GROK_DEBUG",), help="Log everything, as with level DEBUG.")

    @property
    def least(self) -> str:
        """The least severity that is logged."""
        return "DEBUG" if self.debug else self.level


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings; `Settings()` holds the defaults and reads nothing."""

    engine: EngineSettings = field(default_factory=EngineSettings)
    xai: XaiSettings = field(default_factory=XaiSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    tavily: TavilySettings = field(default_factory=TavilySettings)
    firecrawl: FirecrawlSettings = field(default_factory=FirecrawlSettings)
    searxng: SearXngSettings = field(default_factory=SearXngSettings)
    keyless: KeylessSettings = field(default_factory=KeylessSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    map: MapSettings = field(default_factory=MapSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    library: LibrarySettings = field(default_factory=LibrarySettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    x: XSettings = field(default_factory=XSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    fence: FenceSettings = field(default_factory=FenceSettings)
    hub: HubSettings = field(default_factory=HubSettings)
    log: LogSettings = field(default_factory=LogSettings)
    home: Path | None = None
    """Holds configuration, data and cache together; None: the platform's folders."""
    file: Path | None = None
    """The configuration file, when it is not the one of the home."""

    @property
    def config_file(self) -> Path:
        """The TOML file to read, and to write by `switch_model`; it need not exist."""
        return self.file or self._folder("config") / "config.toml"

    @property
    def data_dir(self) -> Path:
        """Where things are kept that nobody can get again; it need not exist."""
        return self.home / "data" if self.home else self._folder("data")

    @property
    def cache_dir(self) -> Path:
        """Where things are kept that may be deleted at any time; it need not exist."""
        return self.home / "cache" if self.home else self._folder("cache")

    @property
    def library_file(self) -> Path:
        """The index of the local library; it need not exist."""
        return _path(self.library.path) if self.library.path else self.data_dir / "library.sqlite3"

    @property
    def upstreams_file(self) -> Path:
        """The upstreams that the command line added, and which of all are switched on and off."""
        return self._folder("config") / "upstreams.json"

    @property
    def login_file(self) -> Path:
        """The login of `websearch login`; it need not exist."""
        return _path(self.xai.oauth_file) if self.xai.oauth_file else self.data_dir / "login.json"

    def xai_auth(self) -> Literal["api_key", "oauth", "none"]:
        """What `xai.auth` comes to: how requests to xAI are paid for. Looks whether the login's file is there."""
        if self.xai.auth == "oauth" or (self.xai.auth == "auto" and self._at_issuer and self._has_login):
            return "oauth"
        return "api_key" if self.xai.api_key else "none"

    @property
    def _has_login(self) -> bool:
        """Whether there is a login's file; a folder that may not be looked into holds none of ours."""
        return os.path.isfile(self.login_file)  # noqa: PTH113 - Path.is_file raises where the folder is closed to us

    @property
    def _at_issuer(self) -> bool:
        """Whether the address is one that a login's token may go to: the vendor's, or where a stand-in on this machine is."""
        own = self.xai.oauth_issuer if _is_loopback(urls.host(self.xai.oauth_issuer)) else f"https://{XAI_HOST}"
        return urls.origin(self.xai.api_url) == urls.origin(own)

    @property
    def hosts_file(self) -> Path:
        """The operator's own hosts for ranking; it need not exist."""
        return _path(self.search.hosts) if self.search.hosts else self.config_file.with_name("hosts.toml")

    def engine_kind(self) -> str:
        """`xai`, `chat`, `none`, `echo` or a plugin's name: what `engine.kind` comes to."""
        if self.engine.kind != "auto":
            return self.engine.kind
        if self.xai_auth() != "none":
            return "xai"
        if self.chat.api_url and (self.chat.api_key or _is_loopback(urls.host(self.chat.api_url))):
            return "chat"
        return "none"

    def primary_model(self) -> str:
        """The model to ask first."""
        own = self.chat.model if self.engine_kind() == "chat" else ""
        return self.engine.primary_model or own or DEFAULT_MODEL

    def posts_model(self) -> str:
        """The model that searches X; another engine's model is not known to xAI."""
        if self.x.model:
            return self.x.model
        return self.primary_model() if self.engine_kind() == "xai" else DEFAULT_MODEL

    def toolsets(self) -> tuple[str, ...]:
        """The groups of tools that are offered: those that were chosen, else the default ones and `x` where it can work."""
        return self.server.toolsets or (("core", "admin") if self.xai_auth() == "none" else ("core", "x", "admin"))

    def extra_sources(self) -> int:
        """Extra sources of a search that does not say: the setting, else 3 when a web finder is ready.

        The library alone does not count: nobody asked for its passages beside a web answer. Neither does the keyless finder:
        public result pages stand it only so often, and a search without an engine needs it more.
        """
        if self.search.extra_sources is not None:
            return self.search.extra_sources
        return 3 if any(name not in {"library", "keyless"} for name in self.ready(self.search.finders)) else 0

    def ready(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of `names`, in order, that can be used as configured; a plugin's name is taken at its word."""
        unready = {
            "tavily": not (self.tavily.enabled and (self.tavily.api_keys or self.tavily.keyless)),
            "firecrawl": not (self.firecrawl.enabled and (self.firecrawl.api_keys or self._own_firecrawl)),
            "searxng": not (self.searxng.enabled and self.searxng.url),
            "keyless": not (self.keyless.enabled and self.keyless.engines),
            "library": not self.library.enabled,
        }
        return tuple(name for name in names if not unready.get(name, False))

    @property
    def _own_firecrawl(self) -> bool:
        """Whether the address is not the vendor's: a server of one's own may need no key."""
        return not urls.host_matches(self.firecrawl.api_url, FIRECRAWL_HOST)

    def keys(self) -> dict[str, tuple[str, ...]]:
        """Provider → its keys in the clear, for `KeyPool`. `grok` is the engine in use; a disabled provider has none.

        Nor has xAI, where the login is to pay.
        """
        xai, chat = ((secret.value,) if secret else () for secret in (self.xai.api_key, self.chat.api_key))
        xai = () if self.xai_auth() == "oauth" else xai
        return {
            "grok": {"xai": xai, "chat": chat}.get(self.engine_kind(), ()),
            "xai": xai,
            "chat": chat,
            "tavily": tuple(key.value for key in self.tavily.api_keys if self.tavily.enabled),
            "firecrawl": tuple(key.value for key in self.firecrawl.api_keys if self.firecrawl.enabled),
            "github": (self.fetch.github_token.value,) if self.fetch.github_token else (),
        }

    def secrets(self) -> tuple[str, ...]:
        """Everything that must not be shown, in the clear, for `Redactor`: all keys, also of what is switched off or not in use,
        and what the addresses carry as user, password and query.
        """
        found = [secret.value for secret in _all_secrets(self)]
        for row in declared():
            if row.option.form in ADDRESSES:
                found += _hidden_in(getattr(getattr(self, row.section), row.key))
        return tuple(dict.fromkeys(found))

    def _folder(self, kind: Literal["config", "data", "cache"]) -> Path:
        if self.home:
            return self.home
        import platformdirs

        folders = {
            "config": platformdirs.user_config_path,
            "data": platformdirs.user_data_path,
            "cache": platformdirs.user_cache_path,
        }
        return folders[kind](APP, appauthor=False)


PARTS: dict[str, type[Any]] = {
    "engine": EngineSettings,
    "xai": XaiSettings,
    "chat": ChatSettings,
    "search": SearchSettings,
    "tavily": TavilySettings,
    "firecrawl": FirecrawlSettings,
    "searxng": SearXngSettings,
    "keyless": KeylessSettings,
    "fetch": FetchSettings,
    "map": MapSettings,
    "network": NetworkSettings,
    "library": LibrarySettings,
    "cache": CacheSettings,
    "x": XSettings,
    "server": ServerSettings,
    "fence": FenceSettings,
    "hub": HubSettings,
    "log": LogSettings,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One row of the table."""

    section: str
    key: str
    kind: str
    """The annotation of its field, as text."""
    option: Option

    @property
    def name(self) -> str:
        """`section.key`."""
        return f"{self.section}.{self.key}"

    @property
    def variables(self) -> tuple[str, ...]:
        """Environment variables that set it, in order of precedence."""
        own = f"{PREFIX}{self.section}_{self.key}".upper()
        return self.option.env if own in self.option.env else (*self.option.env, own)


@functools.cache
def declared() -> tuple[Declared, ...]:
    """Every setting, in the order of the reference page."""
    return tuple(
        Declared(section=section, key=one.name, kind=str(one.type), option=one.metadata["option"])
        for section, part in PARTS.items()
        for one in dataclasses.fields(part)
    )


def find_nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most likely stands for; None when none is near."""
    import difflib

    by_lower = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


def how_to_set_key(provider: str) -> str:
    """One sentence that names the setting and the variables of a provider's key; `grok` stands for both engines."""
    wanted = {"grok": ("xai.api_key", "chat.api_key")}.get(provider, (f"{provider}.api_key", f"{provider}.api_keys"))
    rows = [row for row in declared() if row.name in wanted]
    if not rows:
        return f"Set a key for {provider}."
    ways = [f"{row.name} in the configuration file or {' or '.join(row.variables)} in the environment" for row in rows]
    return f"Set {'; or '.join(ways)}.{' Or sign in: websearch login.' if provider in {'grok', 'xai'} else ''}"


# --- reading ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """A usable value; `rank` counts the places that come before its own."""

    value: Any
    origin: str
    rank: int


def read(
    arguments: Mapping[str, object] = {},
    *,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> LoadedConfiguration:
    """Read all settings. Never raises: whatever is wrong is a problem of the result, and the next place's value stands.

    `arguments` maps `section.key` to a value; None is unset. `file` names the TOML file, before `WEBSEARCH_CONFIG`. Without
    `environ`, the process' environment is read.
    """
    environ = os.environ if environ is None else environ
    places = _places(environ, file)
    document, problems = _document(places.config_file, required=places.file is not None)
    problems += _unknown("argument", arguments, [row.name for row in declared()])
    problems += _unknown_variables(environ)
    at_xai = urls.host_matches(environ.get("GROK_API_URL", "").strip(), XAI_HOST)
    found: dict[str, _Found] = {}
    for row in declared():
        layers = [(arguments.get(row.name), "argument", 0)]
        layers += [(_variable(environ, name), f"environment {name}", 1) for name in _variables(row, at_xai=at_xai)]
        layers += [(document.get(row.name), f"file {places.config_file}", 2)]
        found[row.name], faults = _first_usable(row, layers)
        problems += faults
    settings = _model_of_chat(_assembled(found, places), found)
    origins = {"config_file": _origin_of_file(environ, file), **{name: one.origin for name, one in found.items()}}
    problems = [_scrubbed(text, settings) for text in problems]
    return LoadedConfiguration(settings, origins, tuple(problems), environment=MappingProxyType(dict(environ)))


def _places(environ: Mapping[str, str], file: Path | None) -> Settings:
    home, named = environ.get(HOME_VARIABLE, "").strip(), environ.get(FILE_VARIABLE, "").strip()
    chosen = str(file) if file else named
    return Settings(home=_path(home) if home else None, file=_path(chosen) if chosen else None)


def _origin_of_file(environ: Mapping[str, str], file: Path | None) -> str:
    if file:
        return "argument"
    return next((f"environment {name}" for name in (FILE_VARIABLE, HOME_VARIABLE) if environ.get(name, "").strip()), "default")


def _path(text: str) -> Path:
    """An absolute path; `~` stands for the user's folder where there is one."""
    return Path(os.path.expanduser(text)).absolute()  # noqa: PTH111 - Path.expanduser raises when there is no such user


def _variables(row: Declared, *, at_xai: bool) -> tuple[str, ...]:
    """The variables of a row; at xAI's own host the `GROK_API_` pair means the first engine, not the second."""
    pair = {"api_url": "GROK_API_URL", "api_key": "GROK_API_KEY"}.get(row.key, "")
    if not at_xai or not pair or row.section not in {"xai", "chat"}:
        return row.variables
    if row.section == "chat":
        return tuple(name for name in row.variables if name != pair)
    return (*row.option.env, pair, *row.variables[len(row.option.env) :])


def _variable(environ: Mapping[str, str], name: str) -> str | None:
    raw = environ.get(name)
    if name == REPETITIONS_VARIABLE and raw and re.fullmatch(r"\s*[0-9]{1,9}\s*", raw):
        return str(int(raw) + 1)
    return raw


def _first_usable(row: Declared, layers: list[tuple[object, str, int]]) -> tuple[_Found, list[str]]:
    faults: list[str] = []
    for raw, origin, rank in layers:
        if _is_blank(raw):
            continue
        try:
            value = _READERS[row.kind](raw, row)
        except ValueError as fault:
            faults.append(f"{row.name} ({origin}): {fault}; it is ignored")
            continue
        if value is not None and value != "":
            return _Found(value, origin, rank), faults
    return _Found(row.option.default, "default", 3), faults


def _assembled(found: Mapping[str, _Found], places: Settings) -> Settings:
    parts = {
        section: part(**{one.name: found[f"{section}.{one.name}"].value for one in dataclasses.fields(part)})
        for section, part in PARTS.items()
    }
    return Settings(**parts, home=places.home, file=places.file)


def _model_of_chat(settings: Settings, found: dict[str, _Found]) -> Settings:
    """Let the chat engine's own model through where it stands in a stronger place than the general one."""
    if settings.engine_kind() != "chat" or found["chat.model"].rank >= found["engine.primary_model"].rank:
        return settings
    found["engine.primary_model"] = found["chat.model"]
    return dataclasses.replace(settings, engine=dataclasses.replace(settings.engine, primary_model=settings.chat.model))


def _document(path: Path, *, required: bool) -> tuple[dict[str, object], list[str]]:
    """The file's values by `section.key`, and its faults; a file that is not there is a fault only when it was named."""
    try:
        parsed = _parsed(_text_of(path))
    except FileNotFoundError:
        return {}, [f"{path}: no such file"] if required else []
    except OSError as error:
        return {}, [f"{path}: cannot be read ({type(error).__name__}); the file is ignored"]
    except ValueError as error:
        return {}, [f"{path}: not valid TOML ({_place_of(error)}); the whole file is ignored"]
    return _by_name(parsed, path)


def _by_name(parsed: Mapping[str, object], path: Path) -> tuple[dict[str, object], list[str]]:
    flat = {f"{row.section}_{row.key}": row.name for row in declared()}
    values: dict[str, object] = {flat.get(key, key): value for key, value in parsed.items() if not isinstance(value, dict)}
    for section, table in parsed.items():
        if isinstance(table, dict) and section not in ELSEWHERE:
            named = {f"{section}.{key}": value for key, value in table.items()}
            values |= {name: value for name, value in named.items() if name not in values or not _is_blank(value)}
    return values, _unknown(str(path), values, [row.name for row in declared()])


def _unknown(where: str, names: Iterable[str], known: list[str]) -> list[str]:
    return [f"{where}: unknown setting {_shown(name)}{_hint(name, known)}" for name in names if name not in known]


def _unknown_variables(environ: Mapping[str, str]) -> list[str]:
    known = [HOME_VARIABLE, FILE_VARIABLE, *(name for row in declared() for name in row.variables)]
    strange = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return [f"environment: unknown variable {_shown(name)}{_hint(name, known)}" for name in strange]


def _hint(name: str, known: list[str]) -> str:
    if name in PARTS:
        return f"; {name} is a section: write [{name}]"
    nearest = find_nearest(name, known)
    return f"; did you mean {nearest}?" if nearest else "; it is ignored"


def _text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _place_of(error: ValueError) -> str:
    """Where the fault is, without the file's words: they may hold a key."""
    place = re.search(r"\(at ([a-z0-9 ,]{1,60})\)$", str(error))
    return place.group(1) if place else "not UTF-8" if isinstance(error, UnicodeDecodeError) else "unknown place"


# --- values -------------------------------------------------------------------------------------------------------


def _is_blank(raw: object) -> bool:
    if isinstance(raw, (list, tuple)):
        return all(_is_blank(item) for item in raw)
    return raw is None or (isinstance(raw, str) and not raw.strip())


def _text(raw: object, row: Declared) -> str:
    if not isinstance(raw, str):
        raise ValueError(_misfit(raw, row, "text"))  # noqa: TRY004 - a fault of the value like any other
    text = raw.strip()
    if row.option.form == "redis":
        return _redis_address(text)
    if row.option.form == "proxy":
        return _proxy(text)
    if row.option.form in ADDRESSES:
        return _address(text, row.option.form)
    if row.option.form == "model":
        return _model_name(text)
    if row.option.form == "issuer":
        return _issuer(text)
    if not text.isprintable():
        raise ValueError("holds control characters")
    if row.option.choices:
        return _choice(text, row)
    return text.lower() if row.option.form == "name" else text


def _choice(text: str, row: Declared) -> str:
    by_lower = {one.lower(): one for one in row.option.choices}
    if text.lower() not in by_lower:
        raise ValueError(f"{_shown(text)} is not {_range(row)}{_nearest_of(text, row.option.choices)}")
    return by_lower[text.lower()]


def _nearest_of(text: str, choices: tuple[str, ...]) -> str:
    nearest = find_nearest(text, choices)
    return f" (did you mean {nearest}?)" if nearest else ""


def _address(text: str, form: Form) -> str:
    """A base address without its closing slash; never shown in a fault, for it may hold a password."""
    if not urls.is_web_url(text):
        raise ValueError("not an absolute http:// or https:// address")
    base = text.rstrip("/")
    if form == "url":
        return base
    base = base.removesuffix("/chat/completions").removesuffix("/responses").rstrip("/")
    return base if base.endswith("/v1") else f"{base}/v1"


def _redis_address(text: str) -> str:
    """An address of Redis with the options that its client may be given; never shown in a fault."""
    from urllib.parse import parse_qs, urlsplit

    fault = ValueError("not an address such as redis://host:6379/0, rediss://host:6379/0 or unix:///path")
    if not text.isprintable() or " " in text:
        raise fault
    try:
        parts = urlsplit(text)
        place = parts.path if parts.scheme == "unix" else parts.hostname and parts.port != 0
    except ValueError:
        raise fault from None
    if not place or parts.scheme not in {"redis", "rediss", "unix"}:
        raise fault
    if not parse_qs(parts.query, keep_blank_values=True).keys() <= set(REDIS_OPTIONS):
        raise ValueError(f"may have the options {', '.join(REDIS_OPTIONS)}, and no other")
    return text


def _issuer(text: str) -> str:
    """The vendor's issuer, or one on this machine: a login is not to be sent elsewhere by a line in a file."""
    origin = urls.origin(text)
    if origin != XAI_ISSUER and not (origin.startswith("http://") and _is_loopback(urls.host(text))):
        raise ValueError(f"neither {XAI_ISSUER} nor an http:// address on this machine")
    return origin


def _proxy(text: str) -> str:
    """A word, or a proxy's address; never shown in a fault."""
    from websearch_adapters.http.proxies import Proxy

    word = {"auto": "environment", "off": "none"}.get(text.lower(), text.lower())
    if word in {"environment", "none"}:
        return word
    try:
        Proxy.read(text)
    except NotConfigured:
        raise ValueError("not environment, none, or an address such as http://host:3128 or socks5h://host:1080") from None
    return text if "://" in text else f"http://{text}"


def _model_name(text: str) -> str:
    if not text.isprintable() or len(text) > MAX_MODEL_CHARS:
        raise ValueError(f"not a model's name: at most {MAX_MODEL_CHARS} printable characters")
    return text


def _whole(raw: object, row: Declared) -> int:
    number = _number(raw, row, "a whole number")
    if number != int(number):
        raise ValueError(_misfit(raw, row, "a whole number"))
    return int(number)


def _number(raw: object, row: Declared, what: str = "a number") -> float:
    fault = ValueError(_misfit(raw, row, what))
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        raise fault
    try:
        number = float(raw)
    except (ValueError, OverflowError):
        raise fault from None
    low, high = row.option.ge, row.option.le
    if not math.isfinite(number) or (low is not None and number < low) or (high is not None and number > high):
        raise fault
    return number


def _switch(raw: object, row: Declared) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    word = str(raw).strip().lower() if isinstance(raw, (bool, int, str)) else ""
    if word not in words:
        raise ValueError(_misfit(raw, row, "true or false (1, yes, on; 0, no, off)"))
    return words[word]


def _names(raw: object, row: Declared) -> tuple[str, ...] | None:
    """The names, in lower case, each once; empty for the word `none`; None when there is not a single name."""
    if row.option.form == "phrases":
        return _phrases(raw, row)
    if row.option.form == "paths":
        return _paths(raw, row)
    text = _joined(raw, row).strip().lower()
    inner = text[1:-1] if text[:1] == "[" and text[-1:] == "]" and text.count("[") == 1 else text
    names = [name.strip("\"'") for name in re.split(r"[,;\s，；]+", inner)]
    unique = tuple(dict.fromkeys(name for name in names if name))
    if not unique or unique == ("none",):
        return () if unique else None
    if row.option.form == "hosts":
        return tuple(_host_or_network(name) for name in unique)
    return tuple(_choice(name, row) for name in unique) if row.option.choices else unique


def _phrases(raw: object, row: Declared) -> tuple[str, ...] | None:
    """The phrases, in lower case, each once; blanks belong to them."""
    parts = (part.strip().lower() for part in re.split(r"[,;，；\n]+", _joined(raw, row)))
    unique = tuple(dict.fromkeys(part for part in parts if part))
    return () if unique == ("none",) else unique or None


def _paths(raw: object, row: Declared) -> tuple[str, ...] | None:
    """The paths as written, each once; a path may hold blanks."""
    parts = (part.strip() for part in re.split(r"[,;，；\n]+", _joined(raw, row)))
    unique = tuple(dict.fromkeys(part for part in parts if part))
    return () if unique == ("none",) else unique or None


def _host_or_network(text: str) -> str:
    import ipaddress

    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_network(text, strict=False)) if "/" in text else str(ipaddress.ip_address(text.strip("[]")))
    if "/" in text or "@" in text or not urls.is_web_url(f"http://{text}"):
        raise ValueError(f"{_shown(text)} is not a host, host:port or network such as 10.0.0.0/8")
    return text


def _secret(raw: object, _row: Declared) -> Secret | None:
    """One key; quotes around it, as environment files leave them, do not belong to it."""
    if not isinstance(raw, str):
        raise ValueError("not text; the value is not shown")  # noqa: TRY004 - a fault of the value like any other
    value = raw.strip().strip("\"'").strip()
    if re.search(r"[^\x21-\x7e]", value):
        raise ValueError("a key has no blanks and only ASCII characters; the value is not shown")
    return Secret(value) if value else None


def _secrets(raw: object, row: Declared) -> tuple[Secret, ...] | None:
    """The keys, each once, however they are separated, quoted or bracketed; None when there is not a single key."""
    parts = re.split(r"[\s,;，；、\[\](){}\"']+", _joined(raw, row))
    keys = (_secret(part, row) for part in dict.fromkeys(parts))
    return tuple(key for key in keys if key) or None


def _joined(raw: object, row: Declared) -> str:
    items = raw if isinstance(raw, (list, tuple)) else [raw]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise ValueError(_misfit(raw, row, "a list of texts"))
    return "\n".join(texts)


_READERS: dict[str, Callable[[object, Declared], Any]] = {
    "str": _text,
    "int": _whole,
    "int | None": _whole,
    "float": _number,
    "bool": _switch,
    "tuple[str, ...]": _names,
    "Secret | None": _secret,
    "tuple[Secret, ...]": _secrets,
}


def _misfit(raw: object, row: Declared, what: str) -> str:
    said = "the value" if row.option.secret or row.option.form in ADDRESSES else _shown(raw)
    limits = _range(row)
    return f"{said} is not {what}{f' {limits}' if limits else ''}"


def _range(row: Declared) -> str:
    known = row.option
    if known.choices:
        return f"one of {', '.join(known.choices)}"
    if known.ge is None or known.le is None:
        return ""
    return f"from {known.ge:,} to {known.le:,}"


def _shown(raw: object) -> str:
    text = repr(raw)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _is_loopback(host: str) -> bool:
    import ipaddress

    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# --- the configuration as the use cases see it --------------------------------------------------------------------


class LoadedConfiguration:
    """The settings as they were read, and the one change that is allowed at run time; implements `ports.Configuration`."""

    def __init__(
        self,
        settings: Settings,
        origins: Mapping[str, str] = {},
        problems: tuple[str, ...] = (),
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        """`lock_wait_s`: how long `switch_model` waits for another process that is changing the file."""
        self.environment = environment
        """The variables that were read, for what else is configured by them."""
        self._lock_wait_s = lock_wait_s
        self.settings = settings
        self._origins = dict(origins)
        self._problems = problems
        self._switched = ""

    @property
    def config_file(self) -> Path:
        """The TOML file; it need not exist."""
        return self.settings.config_file

    def origin(self, name: str) -> str:
        """Where the value of `section.key` came from: `argument`, `environment NAME`, `file PATH` or `default`."""
        return self._origins.get(name, "default")

    def listing(self) -> tuple[Setting, ...]:
        """The file and every setting with its origin; secrets as fingerprints, addresses without user and query, lists joined."""
        rows = [Setting(name=row.name, value=self._shown_value(row), origin=self.origin(row.name)) for row in declared()]
        return (Setting(name="config_file", value=str(self.config_file), origin=self.origin("config_file")), *rows)

    def problems(self) -> tuple[str, ...]:
        """Faults found while reading, in plain words, without any secret."""
        return self._problems

    @functools.cached_property
    def redact(self) -> Redactor:
        """What takes the secrets of these settings out of everything that leaves the process."""
        return Redactor(self.settings.secrets())

    def primary_model(self) -> str:
        """The model that engines use now."""
        return self._switched or self.settings.primary_model()

    def switch_model(self, name: str, /) -> str:
        """Make `name` the primary model of this process and of the file, atomically; the file's path.

        Everything else in the file stays as it is, comments included. The process changes only after the file did. At the
        next start an environment variable or argument that names a model still comes first.

        Raises:
            InvalidInput: not a model's name.
            NotConfigured: the file cannot be written, or is no TOML; then nothing has changed.
        """
        try:
            model = _model_name(name.strip())
        except ValueError as error:
            raise InvalidInput(f"model: {error}") from error
        if not model:
            raise InvalidInput("model must not be blank")
        from websearch_adapters import atomic_file

        # A link stays a link: the file that it leads to is replaced, and shares its lock with every other link to it.
        path = Path(os.path.realpath(self.config_file))
        try:
            with atomic_file.locked(path, self._lock_wait_s):
                atomic_file.replace(path, _with_model(_text_of(path) if path.exists() else "", model))
        except _Uneditable as error:
            raise NotConfigured(f"{path}: {error}; nothing was changed", hint="Write [engine] as a section.") from error
        except ValueError as error:
            raise NotConfigured(
                f"{path} is not valid TOML ({_place_of(error)}); nothing was changed", hint="Repair the file, then try again."
            ) from error
        except OSError as error:
            raise NotConfigured(
                f"{path} cannot be written ({type(error).__name__}); nothing was changed",
                hint="Make the file writable, or set GROK_PRIMARY_MODEL and start again.",
            ) from error
        self._switched = model
        self._origins["engine.primary_model"] = f"file {path}"
        return str(path)

    def _shown_value(self, row: Declared) -> Json:
        if row.name == "engine.primary_model":
            return self.primary_model()
        value = getattr(getattr(self.settings, row.section), row.key)
        if row.option.form in ADDRESSES and "://" in str(value):
            from websearch_adapters.http.failures import shown_base

            value = shown_base(value)
        return _plain(value, self.settings)


def _plain(value: object, settings: Settings) -> Json:
    if isinstance(value, Secret):
        return value.fingerprint
    if isinstance(value, tuple):
        return ", ".join(str(_plain(item, settings)) for item in value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _scrubbed(str(value), settings)


def _scrubbed(text: str, settings: Settings) -> str:
    """`text` with every configured key in it replaced by its fingerprint; a key of fewer than 8 characters is no needle."""
    for secret in sorted(_all_secrets(settings), key=lambda one: len(one.value), reverse=True):
        if len(secret.value) >= 8:
            text = text.replace(secret.value, secret.fingerprint)
    return text


def _all_secrets(settings: Settings) -> Iterator[Secret]:
    for row in declared():
        value = getattr(getattr(settings, row.section), row.key) if row.option.secret else None
        yield from value if isinstance(value, tuple) else [value] if value else []


def _hidden_in(address: str) -> Iterator[str]:
    """Secrets of an address, as written and decoded. A user beside a password is a name; so are versions and certificates."""
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(address)
    except ValueError:
        return
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    pairs = [pair.partition("=") for pair in parts.query.split("&")]
    values = [value for name, _, value in pairs if "version" not in name.lower() and not name.startswith("ssl_")]
    hidden = [password, *values, *([user] if not password or len(user) >= LONG_USER_CHARS else [])]
    yield from (form for one in hidden for form in (one, unquote(one)) if form)


# --- the file -----------------------------------------------------------------------------------------------------


def template() -> str:
    """A configuration file that names every setting and changes none: only the section headers are not comments."""
    lines = [
        "# Configuration of websearch. Every line below is its default: take the `#` away to change it.",
        "# A command-line argument comes before an environment variable, which comes before this file.",
        "# A blank value is the same as none.",
    ]
    for section, part in PARTS.items():
        lines += ["", f"# {_first_line(part)}", f"[{section}]"]
        for row in (row for row in declared() if row.section == section):
            lines += ["", f"# {row.option.help.replace('`', '')}", f"# ({_kind_words(row)}; {', '.join(row.variables)})"]
            lines += [f"# {row.key} = {_toml(row.option.default)}"]
    return "\n".join(lines) + "\n"


def reference() -> str:
    """The reference page, Markdown: a table for each section."""
    lines = [
        "# Settings",
        "",
        "A value is taken from the first place that has one: argument, environment, configuration file, default.",
        "A blank value is unset everywhere; a bad one is reported and counts as unset. `websearch doctor` shows every value and",
        "where it came from.",
        "",
        f"`{HOME_VARIABLE}` names one folder for configuration, data and cache; without it the platform's folders are used.",
        f"`{FILE_VARIABLE}` names the configuration file; without it, it is `config.toml` in the configuration folder.",
        "In the file, `max_attempts = 3` under `[engine]` and `engine_max_attempts = 3` at the top mean the same.",
    ]
    for section, part in PARTS.items():
        lines += ["", f"## `[{section}]`", "", _first_line(part), ""]
        lines += ["| Setting | Environment | Default | Meaning |", "|---|---|---|---|"]
        lines += [_table_row(row) for row in declared() if row.section == section]
    return "\n".join(lines) + "\n"


def init_file(path: Path) -> bool:
    """Write the template to a new file that only its owner can read; False when there is a file already.

    Raises:
        NotConfigured: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            return False
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise NotConfigured(f"{path} cannot be written ({type(error).__name__})", hint="Name another file.") from error
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as opened:
        opened.write(template())
    return True


def _first_line(part: type[Any]) -> str:
    return (part.__doc__ or "").strip().splitlines()[0]


def _kind_words(row: Declared) -> str:
    words = {
        "str": "text",
        "int": "whole number",
        "int | None": "whole number",
        "float": "number",
        "bool": "true or false",
        "tuple[str, ...]": "list",
        "Secret | None": "secret",
        "tuple[Secret, ...]": "secret list",
    }
    return " ".join(filter(None, [words[row.kind], _range(row)]))


def _toml(value: object) -> str:
    """A default as TOML; unset is the blank text, which means unset."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value if value is not None else "", ensure_ascii=False)


def _table_row(row: Declared) -> str:
    default = "unset" if row.option.default in (None, "", ()) else f"`{_toml(row.option.default)}`"
    variables = ", ".join(f"`{name}`" for name in row.variables)
    meaning = f"{row.option.help} ({_kind_words(row)})".replace("|", "\\|")
    return f"| `{row.name}` | {variables} | {default} | {meaning} |"


class _Uneditable(ValueError):
    """The file is valid, but a model cannot be written into it."""


_HEADER = re.compile(r"^\s*\[\s*([^\[\]]*?)\s*\]\s*(#.*)?$")
_QUOTED = r"""("(?:[^"\\]|\\.)*"|'[^']*')"""
_MODEL_KEY = r"""^(\s*(?:engine\s*\.\s*)?["']?primary_model["']?\s*=\s*)"""
_MODEL_VALUES = (
    re.compile(_MODEL_KEY + _QUOTED),
    re.compile(_MODEL_KEY + r"[^#\r\n]+?(?=\s*(?:#.*)?$)"),  # a value of a wrong type
    re.compile(_MODEL_KEY + r"[^\r\n]+"),  # the same, with a hash in it; a comment behind it goes with it
    re.compile(rf"^(\s*engine\s*=\s*\{{.*?\bprimary_model\s*=\s*){_QUOTED}"),
)
_INLINE = re.compile(r"^(\s*engine\s*=\s*\{)")


def _with_model(text: str, model: str) -> str:
    """The file's text with `[engine] primary_model` set, and nothing else changed.

    Every way of writing it down is tried and read back; the first whose meaning is exactly the wanted one is taken.

    Raises:
        _Uneditable: `engine` is written in an unusual form.
        ValueError: the text is not TOML.
    """
    wanted = _parsed(text)
    if not isinstance(wanted.setdefault("engine", {}), dict):
        raise _Uneditable("engine is not a section")
    wanted["engine"]["primary_model"] = model
    for edited in _edits(text, json.dumps(model, ensure_ascii=False)):
        with contextlib.suppress(ValueError):
            if _parsed(edited) == wanted:
                return edited
    raise _Uneditable("engine is written in a form that cannot be edited")


def _edits(text: str, quoted: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    end = "\r\n" if "\r\n" in text else "\n"
    for pattern in _MODEL_VALUES:
        for at, line in enumerate(lines):
            if pattern.match(line):
                yield "".join([*lines[:at], pattern.sub(lambda found: found[1] + quoted, line), *lines[at + 1 :]])
    for at, line in enumerate(lines):
        if (header := _HEADER.match(line)) and header[1].strip("\"'") == "engine":
            yield "".join([*lines[:at], line.rstrip("\r\n"), end, f"primary_model = {quoted}{end}", *lines[at + 1 :]])
        if _INLINE.match(line):
            for comma in (", ", ""):
                inline = _INLINE.sub(lambda found, comma=comma: f"{found[1]} primary_model = {quoted}{comma}", line)  # type: ignore[misc]
                yield "".join([*lines[:at], inline, *lines[at + 1 :]])
    gap = "" if not text else end if text.endswith("\n") else end * 2
    yield f"{text}{gap}[engine]{end}primary_model = {quoted}{end}"
    yield f"engine.primary_model = {quoted}{end}{text}"
