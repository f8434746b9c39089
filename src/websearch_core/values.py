"""The plain values that travel through the house: questions, answers, sources, pages, maps and the outcome of a call.

All are frozen, slotted and keyword-only. What a person may choose carries its limits as `Annotated`; the same class is
the MCP input schema, the command line's arguments and the use case's parameter. `as_plain` is the only way to JSON.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import typing
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, ClassVar, Literal, NoReturn, TypeAlias, get_args, get_origin, get_type_hints

from annotated_types import Interval, Len

from websearch_core import fence, urls
from websearch_core.errors import InvalidInput, WebSearchError

__all__ = [
    "Answer",
    "ConfigRequest",
    "ConfigResult",
    "Depth",
    "ErrorDetail",
    "Evidence",
    "FedQuery",
    "FetchRequest",
    "FetchResult",
    "Freshness",
    "Health",
    "IndexRun",
    "Json",
    "LibraryEntry",
    "Link",
    "LoginReport",
    "MapRequest",
    "MapResult",
    "Note",
    "Outcome",
    "Page",
    "Passage",
    "PostQuery",
    "PostResult",
    "PostSource",
    "Quote",
    "QuoteState",
    "ReadFailure",
    "Report",
    "SearchQuery",
    "SearchResult",
    "Secret",
    "Section",
    "Setting",
    "SiteMap",
    "Source",
    "SourceList",
    "SourcesRequest",
    "SourcesResult",
    "Status",
    "SwitchRequest",
    "SwitchResult",
    "Usage",
    "Verify",
    "as_plain",
]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Freshness: TypeAlias = Literal["any", "day", "week", "month", "year"]
Depth: TypeAlias = Literal["auto", "fast", "standard", "deep"]
Verify: TypeAlias = Literal["off", "cheap", "full"]
Evidence: TypeAlias = Literal["cited", "listed", "quoted", "supports", "contradicted", "unreachable"]
"""`cited`: the answer marks this source at a claim. `listed`: it came along without such a mark, or, after a check, does not say
it. After a check also `quoted`: it says each claim in these words; `supports`: in other words; `contradicted`: it says otherwise;
`unreachable`: it could not be read."""
QuoteState: TypeAlias = Literal["verified", "listed", "unlisted"]
"""`verified`: the words stand on the post's page. `listed`: the search names the post as a source. `unlisted`: neither."""
_HANDLE = re.compile(r"[A-Za-z0-9_]{1,15}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NO_HOST = frozenset("/@?#:")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
Status: TypeAlias = Literal["success", "partial_success", "error"]
SCHEMA: dict[str, object] = {"use_attribute_docstrings": True, "extra": "forbid"}
"""What pydantic needs to read a value as a closed schema with its docstrings; a plain dict, so the core stays pure."""


# --- what a caller asks -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A question for the web."""

    __pydantic_config__: ClassVar = SCHEMA

    query: Annotated[str, Len(1, 4_000)]
    """What to find out, in any language."""
    platform: Annotated[str, Len(0, 200)] = ""
    """Site to focus on, e.g. GitHub."""
    extra_sources: Annotated[int, Interval(ge=0, le=20)] | None = None
    """Further sources."""
    fresh_within: Freshness = "any"
    """Only material this recent."""
    include_domains: Annotated[tuple[str, ...], Len(0, 50)] = ()
    """Only these hosts and their subdomains."""
    exclude_domains: Annotated[tuple[str, ...], Len(0, 50)] = ()
    """Never these hosts."""
    depth: Depth = "auto"
    """How thorough."""
    include_content: bool = False
    """Read the first sources too."""
    verify: Verify | None = None
    """Check citations."""
    max_chars: Annotated[int, Interval(ge=1_000, le=200_000)] = 24_000
    """Longest result."""
    plan: Annotated[str, Len(0, 64)] = ""
    """Run this finished plan."""
    model: Annotated[str, Len(0, 200)] = ""
    """Model for this call; published only where the operator allows it."""

    def __post_init__(self) -> None:
        within_limits(self)
        _require_text("query", self.query)
        _require_domains("include_domains", self.include_domains)
        _require_domains("exclude_domains", self.exclude_domains)


@dataclass(frozen=True, slots=True, kw_only=True)
class FedQuery(SearchQuery):
    """A question together with what finders found for it, for the engine; nobody asks with it from outside."""

    found: Sequence[Source] = ()
    """Best first."""

    def __post_init__(self) -> None:
        """The question was checked when it came in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesRequest:
    """More of an earlier answer: its sources, or its text read on."""

    __pydantic_config__: ClassVar = SCHEMA

    session_id: Annotated[str, Len(1, 64)]
    """From web_search."""
    offset: Annotated[int, Interval(ge=0, le=100_000)] = 0
    """First source to return."""
    limit: Annotated[int, Interval(ge=1, le=200)] = 50
    """Most sources to return."""
    start: Annotated[int, Interval(ge=0, le=50_000_000)] | None = None
    """Also return the answer's text from this character."""
    max_chars: Annotated[int, Interval(ge=1_000, le=200_000)] = 24_000
    """Longest result."""

    def __post_init__(self) -> None:
        within_limits(self)
        _require_text("session_id", self.session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """One page to read."""

    __pydantic_config__: ClassVar = SCHEMA

    url: Annotated[str, Len(1, 2_048)]
    """Absolute http(s) address."""
    start: Annotated[int, Interval(ge=0, le=50_000_000)] = 0
    """Character to start from, for reading on."""
    max_chars: Annotated[int, Interval(ge=1_000, le=200_000)] = 24_000
    """Longest result."""
    section: Annotated[str, Len(0, 300)] = ""
    """Number or heading from outline."""
    query: Annotated[str, Len(0, 1_000)] = ""
    """Only passages on this."""
    selector: Annotated[str, Len(0, 500)] = ""
    """CSS selector."""
    provider: Annotated[str, Len(0, 64)] = ""
    """Only this reader."""

    def __post_init__(self) -> None:
        within_limits(self)
        object.__setattr__(self, "url", urls.web_url(self.url))


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRequest:
    """A site whose pages to list."""

    __pydantic_config__: ClassVar = SCHEMA

    url: Annotated[str, Len(1, 2_048)]
    """Absolute http(s) address."""
    instructions: Annotated[str, Len(0, 400)] = ""
    """What pages are wanted; best matches first."""
    max_depth: Annotated[int, Interval(ge=1, le=5)] = 1
    """Links to follow from the start."""
    max_breadth: Annotated[int, Interval(ge=1, le=500)] = 20
    """Links to follow per page."""
    limit: Annotated[int, Interval(ge=1, le=500)] = 50
    """Most pages."""
    offset: Annotated[int, Interval(ge=0, le=100_000)] = 0
    """Where to read on in the same map."""
    timeout: Annotated[int, Interval(ge=10, le=150)] = 150
    """Seconds for the crawl."""
    max_chars: Annotated[int, Interval(ge=1_000, le=200_000)] = 24_000
    """Longest result."""
    provider: Annotated[str, Len(0, 64)] = ""
    """Only this mapper."""
    patterns: Annotated[tuple[str, ...], Len(0, 50)] = ()
    """Path globs; ! excludes."""

    def __post_init__(self) -> None:
        within_limits(self)
        object.__setattr__(self, "url", urls.web_url(self.url))


@dataclass(frozen=True, slots=True, kw_only=True)
class PostQuery:
    """A question for X. Handles are kept without `@`, each once; days are UTC and both included."""

    __pydantic_config__: ClassVar = SCHEMA

    query: Annotated[str, Len(1, 2_000)]
    """What to find out on X."""
    allowed_x_handles: Annotated[tuple[str, ...], Len(0, 20)] = ()
    """Only posts of these accounts."""
    excluded_x_handles: Annotated[tuple[str, ...], Len(0, 20)] = ()
    """Never posts of these accounts."""
    from_date: Annotated[str, Len(0, 10)] = ""
    """First day, YYYY-MM-DD, UTC."""
    to_date: Annotated[str, Len(0, 10)] = ""
    """Last day, included."""
    enable_image_understanding: bool | None = None
    """Also look at images."""
    enable_video_understanding: bool | None = None
    """Also watch videos."""
    verify: bool = False
    """Look quotes up on their pages."""
    max_chars: Annotated[int, Interval(ge=1_000, le=200_000)] = 24_000
    """Longest result."""

    def __post_init__(self) -> None:
        if isinstance(self.query, str):
            object.__setattr__(self, "query", fence.clean(self.query).strip())
        within_limits(self)
        for name in ("allowed_x_handles", "excluded_x_handles"):
            object.__setattr__(self, name, _handles(name, getattr(self, name)))
        if self.allowed_x_handles and self.excluded_x_handles:
            raise InvalidInput("allowed_x_handles and excluded_x_handles exclude each other; give one of them")
        for name in ("from_date", "to_date"):
            object.__setattr__(self, name, _real_day(name, getattr(self, name)))
        if self.to_date and self.from_date > self.to_date:
            raise InvalidInput("from_date must not be after to_date")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRequest:
    """The settings as they stand."""

    __pydantic_config__: ClassVar = SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchRequest:
    """Another primary model."""

    __pydantic_config__: ClassVar = SCHEMA

    model: Annotated[str, Len(1, 200)]
    """Name as the engine knows it."""

    def __post_init__(self) -> None:
        within_limits(self)
        _require_text("model", self.model)


# --- what the ports give ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Why something is missing, cut or second-best."""

    code: str
    text: str
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One web page behind an answer."""

    url: str
    title: str = ""
    description: str = ""
    """A passage or summary as the provider gives it."""
    published: str = ""
    """Publication day as YYYY-MM-DD, UTC; empty when unknown."""
    provider: str = ""
    """Who found it: `grok_responses`, `openai_compatible`, `NAME_enrichment`, `NAME_fallback` or the finder's own name."""
    evidence: Evidence = "listed"
    content: str = ""
    """The page's text, only when asked for."""
    next_start: int | None = None
    """Where web_fetch reads on in `content`, when it was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceList:
    """What a finder found, best first; empty with a note is a result, not an error."""

    items: tuple[Source, ...] = ()
    provider: str = ""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a call consumed; None where the engine does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    searches: int | None = None
    cost_usd: float | None = None
    posts_read: int | None = None
    """Posts on X that were read; billed each, like the profiles."""
    profiles_read: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an engine wrote, with the sources that it named."""

    text: str
    sources: tuple[Source, ...] = ()
    engine: str
    """`grok_responses` or `openai_compatible`, or a plugin's own name."""
    model: str = ""
    """The model that answered, as the engine reports it."""
    searched: bool | None = None
    """Whether a search is seen to have run; None where the protocol cannot show it."""
    usage: Usage | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page read whole."""

    url: str
    final_url: str = ""
    title: str = ""
    text: str
    """Markdown, or the plain text of a text format; never blank."""
    kind: str = "html"
    """html, pdf, text, json, xml, feed, markdown, docx, xlsx, pptx, odt, ods, odp or epub."""
    provider: str
    """Who read it."""
    published: str = ""
    author: str = ""
    language: str = ""
    canonical: str = ""
    """The address that the page gives as its own, where it is another one."""
    fetched_at: str = ""
    """UTC, ISO 8601 to the second."""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One page of a site."""

    url: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteMap:
    """Pages of a site, in a stable order."""

    root: str
    links: tuple[Link, ...] = ()
    provider: str
    truncated: bool = False
    """More pages exist than were listed."""
    ignored: int = 0
    """Entries that the provider sent and that are not web addresses."""
    crawl_delay_s: float = 0.0
    """What the site asks for between two requests; 0 when it does not say."""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One heading of a page with everything below it."""

    number: str
    """Its place among the headings, such as `2.1`."""
    title: str
    start: int
    """Where it begins in the page's text."""
    chars: int
    """Its length, that of the sections inside it included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostSource:
    """A post, or another page, that a search on X names."""

    url: str
    """As it was named first."""
    title: str = ""
    post_id: str = ""
    """The post's number, the same in every spelling of its address; empty for other pages."""
    handle: str = ""
    """The account, where the address tells it."""
    published: str = ""
    """The post's day as its number tells it, YYYY-MM-DD, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Words that an answer quotes from a post."""

    text: str
    url: str
    """The post's address as it stands beside the quote."""
    post_id: str
    handle: str = ""
    published: str = ""
    state: QuoteState = "unlisted"


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryEntry:
    """One page or file of the local library."""

    url: str
    """Its address; files have `file://` addresses."""
    title: str = ""
    chars: int = 0
    added_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of a library page that matches a query, verbatim."""

    url: str
    title: str = ""
    heading: str = ""
    text: str
    score: float = 0.0
    """Larger is better; comparable only within one query."""
    published: str = ""
    fetched_at: str = ""
    """When the page was read, of a file when it was last changed; UTC, empty when unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRun:
    """The reading of a site into the library, as far as it has come."""

    root: str
    """The address that was asked for."""
    options: str = ""
    """What the caller noted, to know whether it is the same reading."""
    complete: bool = True
    """The addresses are all that the site has."""
    delay_s: float = 0.0
    """What the site asks for between two requests."""
    total: int = 0
    """Addresses in all."""
    pending: tuple[str, ...] = ()
    """Those that are still to be read, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFailure:
    """Why there is no page of a file, so that it is not tried again while it and its reader stay the same."""

    url: str
    stamp: str
    """What the file's stamp was."""
    reader: str
    """What tells this reader from one that may fare better."""
    kind: str = ""
    """The name of the error's class; empty where the file holds no text, which is none."""
    message: str = ""
    hint: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One part of the system, as a probe found it."""

    part: str
    state: Literal["ok", "failing", "off"]
    detail: str = ""
    latency_ms: float | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting as it stands, safe to show: a secret's value is its fingerprint."""

    name: str
    value: Json
    origin: str
    """`argument`, `environment NAME`, `file PATH` or `default`."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential. Hidden from repr, str and error messages; refuses pickling."""

    value: str = dataclasses.field(repr=False)
    only_for: str = ""
    """The only origin that it may be sent to, such as `https://api.x.ai`; empty: where the operator says."""

    def __str__(self) -> str:
        return self.fingerprint

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")

    @property
    def fingerprint(self) -> str:
        """At most a quarter of the key, for keys of 16 characters and more; otherwise `***`."""
        shown = len(self.value) // 8
        return f"{self.value[: min(shown, 4)]}…{self.value[-min(shown, 4) :]}" if shown >= 2 else "***"


# --- what a call comes to -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDetail:
    """What went wrong, for a program; `code` is stable."""

    code: str
    message: str
    service: str
    retryable: bool
    http_status: int | None = None
    upstream_code: str | None = None
    diagnostics: Mapping[str, object] = dataclasses.field(default_factory=dict)
    exit_code: int = dataclasses.field(default=70, metadata={"plain": False})
    """What a command that ends with this error exits with: the error class says who must act."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The envelope that every call's result carries."""

    status: Status = "success"
    error: str | None = None
    """`error_detail.code` when `status` is `error`, else None."""
    error_detail: ErrorDetail | None = None
    """Also set on a partial success, for the part that failed."""
    partial: bool = False
    next_action: str | None = None
    """One sentence that a model can act on; None on success."""
    notes: tuple[Note, ...] = ()

    def raise_for_status(self) -> None:
        """Raise when the call failed; a partial success passes.

        Raises:
            WebSearchError: with the message, service and next action of this outcome.
        """
        if self.status == "error" and self.error_detail is not None:
            raise WebSearchError(
                self.error_detail.message,
                provider=self.error_detail.service,
                hint=self.next_action,
                diagnostics={"code": self.error_detail.code},
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(Outcome):
    """The outcome of a search."""

    session_id: str
    """Handle for get_sources: 12 hex digits, also on errors."""
    content: str = ""
    """The answer; or, when `search_provider` is no engine, verbatim extracts or a notice, saying so first."""
    next_start: int | None = None
    """Where get_sources reads on when `content` was cut."""
    sources: tuple[Source, ...] = ()
    """The first sources; the rest by get_sources from `next_offset`."""
    sources_count: int = 0
    next_offset: int | None = None
    search_provider: str = ""
    model: str = ""
    fallback_used: bool = False
    fallback_reason: str | None = None
    unverified_answer: str = ""
    """What the engine wrote without any sign of a search; not to be relied on."""
    usage: Usage | None = None
    pending_until: str = ""
    """Set while the engine's answer is still coming: it is under this session by then (UTC, ISO 8601), or has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesResult(Outcome):
    """A page of the sources of an earlier search."""

    session_id: str
    sources: tuple[Source, ...] = ()
    sources_count: int = 0
    """Sources on this page."""
    total_sources: int = 0
    offset: int = 0
    next_offset: int | None = None
    content: str = ""
    next_start: int | None = None
    pending_until: str = ""
    """As in the search's result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult(Outcome):
    """A page, or the piece of it that was asked for."""

    url: str
    final_url: str = ""
    title: str = ""
    content: str = ""
    provider: str | None = None
    kind: str = ""
    published: str = ""
    author: str | None = None
    """As the page says; None where it does not, as with the next two."""
    language: str | None = None
    canonical: str | None = None
    """The address that the page gives as its own, where it is another one."""
    fetched_at: str = ""
    start: int = 0
    next_start: int | None = None
    """Where to read on; None at the end."""
    total_chars: int = 0
    """Of the whole page."""
    outline: tuple[Section, ...] = ()
    """What a text that was cut consists of, for reading on by `section`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapResult(Outcome):
    """Pages of a site."""

    base_url: str
    results: tuple[str, ...] = ()
    total: int = 0
    """Pages found, over all pieces."""
    offset: int = 0
    next_offset: int | None = None
    truncated: bool = False
    """The site has more pages than were looked for."""
    ignored_results: int = 0
    provider: str | None = None
    response_time: float = 0.0
    """Seconds that the mapping took; 0 when it came from the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostResult(Outcome):
    """The outcome of a search on X."""

    session_id: str
    """Handle for get_sources: 12 hex digits."""
    sources: tuple[PostSource, ...] = ()
    """Posts and pages that the search names; the rest by get_sources from `next_offset`."""
    sources_count: int = 0
    next_offset: int | None = None
    quotes: tuple[Quote, ...] = ()
    """Quoted words, each with its post and what supports it."""
    quotes_count: int = 0
    """Quotes in the whole answer."""
    content: str = ""
    """The answer as it was written."""
    next_start: int | None = None
    """Where get_sources reads on when `content` was cut."""
    no_matches: bool = False
    """The search ran and names no post: an answer, not a failure."""
    search_provider: str = ""
    model: str = ""
    usage: Usage | None = None
    """Of all requests together."""
    pending_until: str = ""
    """Set while the search goes on: the same call gets its result by then (UTC, ISO 8601), or it has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigResult(Outcome):
    """The settings as they stand, and how the engine's connection test went."""

    configuration: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    """Setting → value; secrets are fingerprints."""
    connection_test: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    """`status` (ok, failing, off), `message`, `response_time_ms`, `available_models`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchResult(Outcome):
    """The change of the primary model."""

    previous_model: str = ""
    current_model: str = ""
    config_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Outcome):
    """What the doctor found."""

    parts: tuple[Health, ...] = ()
    settings: tuple[Setting, ...] = ()
    problems: tuple[str, ...] = ()
    """Configuration faults in plain words: unknown keys, bad values."""
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginReport(Outcome):
    """How the sign-in with a subscription stands, without a secret."""

    signed_in: bool = False
    account: str = ""
    """Whose it is, where the issuer said so."""
    token_until: str = ""
    """When the access token ends and is renewed, ISO 8601; the sign-in outlives it."""
    detail: str = ""
    file: str = ""
    """Where it is kept."""


# --- JSON and limits ----------------------------------------------------------------------------------------------


def as_plain(value: object) -> Json:
    """The JSON form of a value: every field of an outcome and of its error, only the filled ones of what lies inside.

    A field with the metadata `{"plain": False}` has none; what it holds travels in another way.
    A secret becomes its fingerprint; a number that JSON does not know (NaN, infinity) becomes None.
    """
    if value is None or isinstance(value, (str, bool, int)):  # first, for most are
        return value
    if isinstance(value, Secret):
        return value.fingerprint
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        keep_all = isinstance(value, (Outcome, ErrorDetail))
        pairs = ((name, getattr(value, name)) for name in _plain_names(typing.cast("Hashable", type(value))))
        return {name: as_plain(item) for name, item in pairs if keep_all or item not in ("", None, ())}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


@functools.cache
def _plain_names(cls: Hashable) -> tuple[str, ...]:
    """Fields that have a JSON form."""
    assert isinstance(cls, type)
    return tuple(field.name for field in dataclasses.fields(cls) if field.metadata.get("plain", True))


def within_limits(value: object) -> None:
    """Check the annotated types and limits of a value's fields, as a schema would.

    Raises:
        InvalidInput: names the field, its range and the nearest valid value.
    """
    for name, promise in _promises(typing.cast("Hashable", type(value))).items():
        promise.check(name, getattr(value, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promise:
    """What the annotated type of a field promises, taken apart once."""

    kind: object
    """The type without None and limits; `tuple` for a tuple of texts."""
    optional: bool = False
    options: tuple[object, ...] = ()
    """Of a Literal."""
    limits: tuple[object, ...] = ()

    def check(self, name: str, item: object) -> None:
        if item is None and self.optional:
            return
        if self.options:
            if item not in self.options or not isinstance(item, str):
                raise InvalidInput(f"{name} must be one of: {', '.join(map(str, self.options))}")
        elif self.kind is tuple:
            if not isinstance(item, tuple) or not all(isinstance(part, str) for part in item):
                raise InvalidInput(f"{name} must be a list of texts")
            _require_encoding(name, "".join(item))
        else:
            _check_type(name, item, self.kind)
        for limit in self.limits:
            _check_limit(name, item, limit)


@functools.cache
def _promises(cls: Hashable) -> dict[str, _Promise]:
    assert isinstance(cls, type)
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: _promise(hints[field.name]) for field in dataclasses.fields(cls)}


def _promise(hint: object) -> _Promise:
    options = get_args(hint)
    if get_origin(hint) is Annotated:
        inner = _promise(options[0])
        return dataclasses.replace(inner, limits=(*inner.limits, *options[1:]))
    if get_origin(hint) is Literal:
        return _Promise(kind=str, options=options)
    if type(None) in options:
        return dataclasses.replace(_promise(next(one for one in options if one is not type(None))), optional=True)
    return _Promise(kind=tuple if get_origin(hint) is tuple else hint)


def _check_type(name: str, item: object, kind: object) -> None:
    words: dict[type, str] = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    if not isinstance(kind, type) or kind not in words:
        return
    fits = isinstance(item, (int, float) if kind is float else kind)
    if not fits or (kind in {int, float} and isinstance(item, bool)):
        raise InvalidInput(f"{name} must be {words[kind]}")
    if isinstance(item, str):
        _require_encoding(name, item)


def _check_limit(name: str, item: object, limit: object) -> None:
    if isinstance(limit, Interval) and isinstance(item, (int, float)):
        low, high = typing.cast("int", limit.ge), typing.cast("int", limit.le)
        if not low <= item <= high:  # nor is "not a number" between them
            nearest = min(max(item, low), high)
            raise InvalidInput(f"{name} must be from {low} to {high}; nearest valid value: {nearest}")
    if isinstance(limit, Len) and isinstance(item, (str, tuple)):
        high = limit.max_length or 0
        if not limit.min_length <= len(item) <= high:
            unit = "characters" if isinstance(item, str) else "items"
            raise InvalidInput(f"{name} must have {limit.min_length} to {high} {unit}; it has {len(item)}")


def _require_encoding(name: str, text: str) -> None:
    if _SURROGATE.search(text):
        raise InvalidInput(f"{name} must be Unicode text without lone surrogates")


def _require_text(name: str, text: str) -> None:
    if not text.strip():
        raise InvalidInput(f"{name} must not be blank")


def _require_domains(name: str, domains: tuple[str, ...]) -> None:
    for domain in domains:
        bare = domain.strip().removeprefix("*.")
        if "." not in bare or not urls.is_web_url(f"https://{bare}") or not _NO_HOST.isdisjoint(bare):
            raise InvalidInput(f"{name}: {domain[:80]!r} is not a host name; write it like example.org")


def _handles(name: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Without `@`, each once whatever its case, in the first spelling."""
    bare = [handle.strip().removeprefix("@") for handle in given]
    if not all(_HANDLE.fullmatch(handle) for handle in bare):
        raise InvalidInput(f"{name} takes handles of 1 to 15 letters, digits and underscores, with or without @")
    return tuple({handle.lower(): handle for handle in reversed(bare)}[key] for key in dict.fromkeys(map(str.lower, bare)))


def _real_day(name: str, text: str) -> str:
    day = text.strip()
    if day and not _DAY.fullmatch(day):
        raise InvalidInput(f"{name} must be a day like 2026-11-30")
    try:
        return date.fromisoformat(day).isoformat() if day else ""
    except ValueError:
        raise InvalidInput(f"{name} is not a day of the calendar") from None
