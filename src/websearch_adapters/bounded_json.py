"""JSON that others wrote, taken apart where everything else waits: on the event loop.

A long text costs its length, 4 ms for a megabyte. What costs are many values: each becomes an object of its own, so that ten
megabytes of `[],[],…` take seconds, in which nobody else is served and no limit of time is kept. So they are counted first.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["MAX_VALUES", "TooManyValues", "check", "loads", "too_many"]

MAX_VALUES = 100_000
"""A release of GitHub with all the thousand files that it may have holds a third of it, whatever its notes say."""
SHORTEST_CHARS = 2
"""Of a value with what parts it from the next."""


class TooManyValues(ValueError):
    """More than `MAX_VALUES` values."""


def loads(document: str) -> Any:
    """The value that a document holds.

    Raises:
        TooManyValues: it holds more values than anybody has to say.
        ValueError: no JSON, or too deep to read.
    """
    check(document)
    try:
        return json.loads(document)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def check(document: str) -> None:
    """For those who leave the reading to another parser.

    Raises:
        TooManyValues: it holds more values than anybody has to say.
    """
    if len(document) > MAX_VALUES * SHORTEST_CHARS and too_many(document, MAX_VALUES):
        raise TooManyValues(f"more than {MAX_VALUES:,} values")


def too_many(document: str, most: int) -> bool:
    """Whether a JSON document holds more than `most` values, told without making any of them.

    Always so for one that does; never for one that holds half as many, however long its texts are. What is no JSON is judged
    by what stands in front of the place where a parser gives up, at least.
    """
    plain = document.replace("\\\\", "").replace('\\"', "")
    if plain.count('"') > 4 * most:  # a value comes with its name at most, so with two strings
        return True
    outside = "".join(plain.split('"')[::2])
    return 1 + sum(map(outside.count, ",[{")) > most
