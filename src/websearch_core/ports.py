"""What the core needs from outside: one Protocol per capability.

Ports take no time-out: whoever calls them cancels. Every implementation, fakes included, passes the suite of its port in
`websearch_core.testing.contracts`. Composites (a chain of finders) implement the port that they compose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, TypeVar

from websearch_core.errors import ProviderError, WebSearchError
from websearch_core.values import (
    Answer,
    FetchRequest,
    Health,
    IndexRun,
    LibraryEntry,
    MapRequest,
    Page,
    Passage,
    PostQuery,
    ReadFailure,
    SearchQuery,
    Secret,
    Setting,
    SiteMap,
    SourceList,
)

__all__ = [
    "AnswerEngine",
    "Cache",
    "Configuration",
    "Credentials",
    "Extractor",
    "Filter",
    "Lease",
    "Library",
    "Mapper",
    "PostFinder",
    "Probe",
    "Scorer",
    "SourceFinder",
]

T = TypeVar("T")
Filter: TypeAlias = Literal["fresh_within", "include_domains", "exclude_domains"]


class AnswerEngine(Protocol):
    """A model that searches the web by itself and writes an answer."""

    @property
    def name(self) -> str:
        """What `Answer.engine` says."""
        ...

    async def answer(self, query: SearchQuery, /) -> Answer:
        """Answer with the sources that the engine names, each once, cited ones first.

        Raises:
            ProviderError: every way in which the engine can fail; a cut stream is Unreachable, never an answer.
            NotConfigured: the address leads to something that is no engine.
        """
        ...


class PostFinder(Protocol):
    """Searches X and writes an answer that quotes posts."""

    @property
    def name(self) -> str:
        """What `Answer.engine` says."""
        ...

    async def find_posts(self, query: PostQuery, /) -> Answer:
        """An answer that quotes posts word for word, each with its address, and the sources that the search names, each once.

        `searched` is False where nobody searched: then neither text nor sources count. A search that found nothing is an
        answer without sources.

        Raises:
            ProviderError: every way in which the search can fail; a cut stream is Unreachable, never an answer.
            NotConfigured: no key is set, or the address leads to something else.
        """
        ...


class SourceFinder(Protocol):
    """Finds pages, without a written answer."""

    @property
    def name(self) -> str: ...

    @property
    def keeps(self) -> frozenset[Filter]:
        """The filters that this finder keeps by itself; the others are not to be relied on."""
        ...

    async def find(self, query: SearchQuery, /) -> SourceList:
        """Pages that match, best first, each with a usable address; at most `query.extra_sources` or the finder's own number.

        A finder that joins several lists brings at most so many for each of them, and at most `fusion.MOST_JOINED`: the pages
        are filtered, ordered and folded after it, and only who does that can tell which ones to leave out.

        Raises:
            ProviderError, NotConfigured: no result could be had. Nothing found is an empty list.
            AllFailed: a composite whose parts all failed; so do the other composites.
        """
        ...


class Scorer(Protocol):
    """Says how well texts fit a question, by means of its own, such as embeddings."""

    @property
    def name(self) -> str: ...

    async def score(self, question: str, texts: Sequence[str], /) -> Sequence[float]:
        """A finite number for each text, in order; larger is better, comparable within one call only. No texts: no numbers.

        Raises:
            ProviderError, NotConfigured: it cannot say.
        """
        ...


class Extractor(Protocol):
    """Reads one page."""

    @property
    def name(self) -> str: ...

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """The whole page as text; `start`, `max_chars`, `section` and `query` are not its business. None: not my kind of page.

        A reader that keeps `selector` says so by an attribute `selects`; no other is asked when there is one.

        Raises:
            ProviderError: unreachable, refused, or nothing readable in it (BadReply).
            NotAllowed: policy forbids the address.
        """
        ...


class Mapper(Protocol):
    """Lists the pages of a site."""

    @property
    def name(self) -> str: ...

    async def map(self, request: MapRequest, /) -> SiteMap:
        """Pages in a stable order, each once, at most `offset + limit`.

        Raises:
            ProviderError, NotAllowed: no page could be listed. A site without links is an empty map.
        """
        ...


class Cache(Protocol):
    """Keeps values for a while. May forget at any time, may never break a call."""

    async def get(self, key: str, kind: type[T], /) -> T | None:
        """What was put, or None: absent, expired, another kind, damaged or of another version."""
        ...

    async def put(self, key: str, value: object, /, *, ttl_s: float) -> None:
        """Keep a dataclass value of this library; failing to keep it is not an error."""
        ...

    async def add(self, key: str, value: object, /, *, ttl_s: float) -> bool:
        """Keep only if the key is absent; True for exactly one of several callers."""
        ...

    async def drop(self, key: str, /) -> None:
        """Forget the key, if it is there."""
        ...


class Lease(Protocol):
    """Leave to send one request with one key."""

    @property
    def secret(self) -> Secret | None:
        """The key to send; None for a request without one."""
        ...

    async def accepted(self) -> None:
        """Take note that the provider took the key, while its reply is still coming; others may then use the key too."""
        ...

    async def failed(self, error: ProviderError, /) -> bool:
        """Take note that the request failed with `error`; True when another key can be tried at once.

        The error of a call that is over tells in its diagnostics how the keys stand (`key_statuses`, `service_circuit`).

        Raises:
            CircuitOpen: the service is left alone from now on, so the call is over although there may be another key.
            ProviderError: another sum of all that this call was answered, once no key is left.
        """
        ...


class Credentials(Protocol):
    """Hands out leave to send a request, and the key for it, and is told how it went."""

    def lease(
        self,
        provider: str,
        /,
        *,
        keyed: bool = True,
        tried: Mapping[Secret | None, WebSearchError] = MappingProxyType({}),
    ) -> AbstractAsyncContextManager[Lease]:
        """Wait until the provider and a key are free, for as long as the call has time; give both back on leaving.

        Leaving in peace without `failed` is a success. Leaving by cancellation or by another exception says nothing about the
        key or the provider. `tried`: the keys that failed in this call, and how; none of them is handed out again while
        there is another. Without `keyed` no key is needed or given.

        Raises, on entering:
            NotConfigured: no key is set for this provider.
            AuthRejected, OutOfCredit, RateLimited: every key is refused, used up or cooling down.
            CircuitOpen: the provider failed so often that it is left alone for a while.
            QueueTimeout: the time of the call ran out before it was its turn.
        """
        ...


class Library(Protocol):
    """The user's own pages and files, searchable without any network.

    A whole site is read in a run, which survives the death of the process: `begin` notes its addresses, `add` ticks them off in
    the same transaction in which it keeps their pages, `unfinished` tells what is left, `finish` forgets the note.
    """

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
        """Index pages, replacing those of the same address; how many were new or changed.

        With `root` they belong to that site's run, whose addresses `done` are ticked off. `stamps` holds by address what tells
        later that a page has changed. `failures` are noted, each until a page of its address is added or the address forgotten.
        """
        ...

    async def remove(self, prefix: str, /) -> int:
        """Forget the pages whose address is `prefix` or lies below it; how many went."""
        ...

    async def discard(self, addresses: Sequence[str], /) -> int:
        """Forget the pages at exactly these addresses; how many went."""
        ...

    async def entries(self, *, offset: int = 0, limit: int = 100) -> tuple[LibraryEntry, ...]:
        """What is in it, ordered by address."""
        ...

    async def count(self) -> int:
        """How many pages are in it."""
        ...

    async def stamps(self, prefix: str, /) -> Mapping[str, str]:
        """Address → stamp of every page whose address is `prefix` or lies below it."""
        ...

    async def failures(self, prefix: str, /) -> Mapping[str, ReadFailure]:
        """Address → what was noted of it as a failure; of `prefix` and of all that lies below it."""
        ...

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
        """The best passages, at most one per page, best first; empty when no word of `text` occurs.

        `since`, YYYY-MM-DD: only pages published then or later; one that does not say when counts by the day of `fetched_at`.
        """
        ...

    async def begin(
        self, root: str, addresses: Sequence[str], /, *, options: str = "", complete: bool = True, delay_s: float = 0.0
    ) -> IndexRun:
        """Note that these addresses are to be read for `root`, in place of what was noted for it before."""
        ...

    async def unfinished(self, root: str, /) -> IndexRun | None:
        """What was begun for `root` and not finished."""
        ...

    async def finish(self, root: str, /, *, drop: bool) -> int:
        """Forget the note; with `drop` also those pages of `root` that the run did not add; how many went."""
        ...


class Probe(Protocol):
    """Anything that the doctor may ask whether it works."""

    async def probe(self, *, live: bool = False) -> Health:
        """Ask without cost; with `live`, ask the way a real call would, which may cost. Never raises."""
        ...


class Configuration(Protocol):
    """The settings as they stand."""

    def listing(self) -> tuple[Setting, ...]:
        """Every setting with its origin, secrets as fingerprints, in the order of the reference page."""
        ...

    def problems(self) -> tuple[str, ...]:
        """Faults found while reading: unknown keys with the nearest known name, bad values, unreadable files."""
        ...

    def primary_model(self) -> str:
        """The model that engines use now."""
        ...

    def switch_model(self, name: str, /) -> str:
        """Make `name` the primary model of this process and of the file, atomically; the file's path.

        Raises:
            WebSearchError: the file cannot be written; then nothing has changed.
        """
        ...
