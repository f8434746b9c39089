"""How the readers of single sites ask public APIs: one guarded request without a key, its reply as checked JSON.

A reader of a single site answers for the addresses that it knows by their form and declines all others. Whatever its API sends
that is not as agreed is an error, so that the next reader of the chain takes over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from websearch_adapters import bounded_json
from websearch_core.errors import BadReply, ProviderError

if TYPE_CHECKING:
    from websearch_adapters.http.pages import Fetched, PageClient

__all__ = ["JSON", "asked", "folded", "items_of", "json_of", "line", "object_of"]

JSON = "application/json"


async def asked(pages: PageClient, url: str, *, reader: str, accept: str = JSON, max_bytes: int | None = None) -> Fetched:
    """The reply of a public API; without `max_bytes` as large as a page may be.

    Raises:
        ProviderError: what `PageClient.get` raises, in the name of `reader`.
        NotAllowed: policy forbids the address or the size.
    """
    try:
        return await pages.get(url, accept=accept, max_bytes=max_bytes)
    except ProviderError as error:
        error.provider = reader
        raise


def json_of(body: bytes, *, reader: str) -> Any:
    """The value that a body holds.

    Raises:
        BadReply: not JSON, or too much of it.
    """
    try:
        return bounded_json.loads(body.decode("utf-8-sig", "replace"))
    except bounded_json.TooManyValues as error:
        raise BadReply(f"{reader}: the reply holds {error}", provider=reader) from error
    except ValueError as error:
        raise BadReply(f"{reader}: the reply is not JSON", provider=reader) from error


def object_of(value: object, *, reader: str) -> Mapping[str, Any]:
    """The value as an object.

    Raises:
        BadReply: it is none.
    """
    if not isinstance(value, Mapping):
        raise BadReply(f"{reader}: the reply is not the expected object", provider=reader)
    return value


def items_of(value: object, *, reader: str) -> tuple[Mapping[str, Any], ...]:
    """The objects of a list; what is no object is left out.

    Raises:
        BadReply: it is no list.
    """
    if not isinstance(value, list):
        raise BadReply(f"{reader}: the reply is not the expected list", provider=reader)
    return tuple(item for item in value if isinstance(item, Mapping))


def line(parts: Iterable[str]) -> str:
    """The parts that are not blank, as one line."""
    return " · ".join(part for part in parts if part)


def folded(shown: Sequence[str], *, total: int, what: str, url: str) -> str:
    """The blocks of a section one below the other, and how many more there are where the page shows them all."""
    left = max(0, total - len(shown))
    more = [f"*{left:,} more {what} are not shown: {url}*"] if left else []
    return "\n\n".join([*shown, *more])
