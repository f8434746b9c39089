"""Log records on standard error without secrets, and spans as records: one line for each finished call.

A line holds facts from a short list: who did it, how it ended, how long it took, how much came back. Never a question, a page's
text, a whole address or a header; so only our own loggers speak below WARNING, for libraries write such things there.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

from websearch_core import fence
from websearch_core.errors import WebSearchError
from websearch_core.events import Fact
from websearch_core.redaction import Redactor

__all__ = ["FACTS", "LogObserver", "RedactingFormatter", "configure"]

LOGGER = "websearch"
OWN = (LOGGER, "websearch_core", "websearch_adapters", "websearch_mcp")
FACTS = ("outcome", "provider", "engine", "cached", "attempts", "status", "host", "chars", "sources", "links")
"""What may be told of a span, in the order of a line; other facts are dropped."""
REQUESTS = frozenset({"http.request", "page.get"})
"""Spans that are one request each."""
LONGEST_FACT_CHARS = 100
TEXT = "%(levelname)s %(name)s: %(message)s"


def configure(*, level: str, form: str, redact: Redactor, stream: TextIO) -> None:
    """Send every record of the process to `stream`: ours from `level` on, those of libraries from WARNING on at least.

    `form` is `text` or `json`. For entry points; it replaces what was configured before.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(RedactingFormatter(redact, form))
    logging.basicConfig(handlers=[handler], force=True)
    logging.raiseExceptions = False  # else a record that cannot be written is printed as it is, with its arguments
    wanted = logging.getLevelNamesMapping()[level]
    logging.getLogger().setLevel(max(wanted, logging.WARNING))
    for name in OWN:
        logging.getLogger(name).setLevel(wanted)


class RedactingFormatter(logging.Formatter):
    """A record as one line of text or JSON, with its traceback; message, arguments and traceback without secrets."""

    def __init__(self, redact: Redactor, form: str = "text") -> None:
        super().__init__(TEXT)
        self._redact = redact
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """The whole record; in the text form the traceback follows on lines of its own."""
        return self._redact.text(super().format(record)) if self._form == "text" else self._json(record)

    def _json(self, record: logging.LogRecord) -> str:
        told = getattr(record, "facts", None) or {"message": record.getMessage()}
        row = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            **told,
        }
        if record.exc_info:
            row["traceback"] = self.formatException(record.exc_info)
        return json.dumps(self._redact.plain(row), ensure_ascii=False, default=str)


class LogObserver:
    """Writes a record at INFO for each span that lies in no other, with what the requests inside of it came to.

    Spans inside of others, such as each request, are written at DEBUG. Implements `events.Observer`.
    """

    def __init__(self, *, log: logging.Logger | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds."""
        self._log = log or logging.getLogger(LOGGER)
        self._clock = clock
        self._outer: ContextVar[_Span | None] = ContextVar("outer", default=None)

    @contextmanager
    def span(self, name: str, /, **facts: Fact) -> Iterator[_Span]:
        """Enter a span; it is told when it is left, however that happens."""
        outer, span, started = self._outer.get(), _Span(name, facts), self._clock()
        if outer is not None and outer.ended:  # work that outlives its call, and tells of itself
            outer = None
        token = self._outer.set(span)
        try:
            yield span
        except BaseException as error:
            span.note(outcome=_code(error))
            raise
        finally:
            self._outer.reset(token)
            span.ended = True
            self._tell(span, duration_s=self._clock() - started, inner=outer is not None)
            if outer is not None:
                outer.take(span)

    def _tell(self, span: _Span, *, duration_s: float, inner: bool) -> None:
        told: dict[str, Fact] = {"span": span.name, **span.told(), "duration_ms": round(1000 * duration_s, 1)}
        shown = " ".join(f"{key}={_shown(fact)}" for key, fact in told.items() if key != "span")
        self._log.log(logging.DEBUG if inner else logging.INFO, "%s %s", span.name, shown, extra={"facts": told})


class _Span:
    """The facts of one span, and the requests inside of it."""

    def __init__(self, name: str, facts: dict[str, Fact]) -> None:
        self.name = name
        self.ended = False
        self.requests: Counter[str] = Counter()
        self._facts = facts

    def note(self, **facts: Fact) -> None:
        """Add facts."""
        self._facts.update(facts)

    def take(self, inner: _Span) -> None:
        """Count a finished span inside of this one: each request by its status, or by how it failed without one."""
        self.requests += inner.requests
        if inner.name in REQUESTS:
            facts = inner.told()
            self.requests[str(facts.get("status") or facts.get("outcome") or "none")] += 1

    def told(self) -> dict[str, Fact]:
        """The facts that may be told, and the count and statuses of the requests (`200:2,503:1`) where there were any."""
        facts = {name: _capped(self._facts[name]) for name in FACTS if self._facts.get(name) not in (None, "")}
        if not self.requests:
            return facts
        statuses = ",".join(f"{status}:{times}" for status, times in sorted(self.requests.items()))
        return {**facts, "requests": self.requests.total(), "statuses": statuses}


def _code(error: BaseException) -> str:
    """How a span ended that an exception left: its code, `cancelled`, or `internal` for a fault of ours."""
    if isinstance(error, WebSearchError):
        return error.code
    return "internal" if isinstance(error, Exception) else "cancelled"


def _capped(fact: Fact) -> Fact:
    return fence.clean(fact, limit=LONGEST_FACT_CHARS) if isinstance(fact, str) else fact


def _shown(fact: Fact) -> str:
    text = str(fact).lower() if isinstance(fact, bool) else str(fact)
    return json.dumps(text, ensure_ascii=False) if any(one in text for one in ' "=\n\t') else text
