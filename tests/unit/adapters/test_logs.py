"""Log lines tell what happened in a few harmless facts, one line a call, and no secret in any part of a record."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from websearch_adapters.observe.logs import LogObserver, RedactingFormatter, configure
from websearch_core.errors import RateLimited
from websearch_core.redaction import Redactor
from websearch_core.testing.fakes import FakeClock

KEY = "xai-c4nary-0123456789abcdef"
REDACT = Redactor([KEY])


class Lines(logging.Handler):
    """Keeps records as they were made."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def texts(self, level: int = logging.INFO) -> list[str]:
        return [record.getMessage() for record in self.records if record.levelno == level]


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def observer(lines: Lines, clock: FakeClock) -> Iterator[LogObserver]:
    log = logging.getLogger("a-log-of-its-own")
    log.setLevel(logging.DEBUG)
    log.addHandler(lines)
    yield LogObserver(log=log, clock=clock)
    log.removeHandler(lines)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


# --- spans


def test_a_call_is_one_line_with_its_requests_summed_up(observer: LogObserver, lines: Lines, clock: FakeClock) -> None:
    with observer.span("search", engine="grok_responses") as search:
        for status in (503, 503, 200):
            with observer.span("http.request", provider="grok") as request:
                request.note(status=status)
        with observer.span("cache.get", cached=True):
            clock.advance(0.25)
        search.note(outcome="success", sources=5)
    assert lines.texts() == [
        "search outcome=success engine=grok_responses sources=5 requests=3 statuses=200:1,503:2 duration_ms=250.0"
    ]
    assert lines.texts(logging.DEBUG)[0] == "http.request provider=grok status=503 duration_ms=0.0"


def test_a_request_outside_of_any_call_has_its_own_line(observer: LogObserver, lines: Lines) -> None:
    with observer.span("page.get", provider="local", host="a.example") as span:
        span.note(status=200)
    assert lines.texts() == ["page.get provider=local status=200 host=a.example duration_ms=0.0"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(RateLimited("slow down"), "rate_limited"), (KeyError("lost"), "internal"), (asyncio.CancelledError(), "cancelled")],
)
def test_an_exception_is_the_outcome_and_passes_through(
    error: BaseException, outcome: str, observer: LogObserver, lines: Lines
) -> None:
    with pytest.raises(type(error)), observer.span("fetch"), observer.span("page.get"):
        raise error
    assert lines.texts() == [f"fetch outcome={outcome} requests=1 statuses={outcome}:1 duration_ms=0.0"]


def test_only_facts_of_the_short_list_are_told(observer: LogObserver, lines: Lines) -> None:
    with observer.span("search", query="who am I?", url="https://a.example/?q=1", provider="tavily") as span:
        span.note(headers="Cookie: 1", text="page", model="m", status=None, engine="")
    assert lines.texts() == ["search provider=tavily duration_ms=0.0"]


def test_a_fact_cannot_forge_a_line(observer: LogObserver, lines: Lines) -> None:
    with observer.span("fetch", provider='a b"\nERROR websearch: no', host="x" * 500, cached=True):
        pass
    (line,) = lines.texts()
    assert "\n" not in line
    assert r'provider="a b\"\nERROR websearch: no" cached=true' in line
    assert "x" * 101 not in line


@pytest.mark.anyio
async def test_requests_of_tasks_count_for_the_call_that_started_them(observer: LogObserver, lines: Lines) -> None:
    async def request(status: int) -> None:
        with observer.span("http.request") as span:
            await asyncio.sleep(0)
            span.note(status=status)

    async def call(name: str, *statuses: int) -> None:
        with observer.span(name) as span:
            await asyncio.gather(*(request(status) for status in statuses))
            span.note(outcome="success")

    await asyncio.gather(call("search", 200, 200), call("fetch", 404))
    assert sorted(lines.texts()) == [
        "fetch outcome=success requests=1 statuses=404:1 duration_ms=0.0",
        "search outcome=success requests=2 statuses=200:2 duration_ms=0.0",
    ]


@pytest.mark.anyio
async def test_work_that_outlives_its_call_has_its_own_line(observer: LogObserver, lines: Lines) -> None:
    go_on = asyncio.Event()

    async def late() -> None:
        await go_on.wait()
        with observer.span("http.request") as span:
            span.note(status=200)

    with observer.span("search"):
        task = asyncio.create_task(late())
    go_on.set()
    await task
    assert lines.texts() == ["search duration_ms=0.0", "http.request status=200 duration_ms=0.0"]


# --- records


def record(message: str, *arguments: object, error: BaseException | None = None, **extra: Any) -> logging.LogRecord:
    exc_info = (type(error), error, error.__traceback__) if error else None
    made = logging.LogRecord("websearch_mcp.server", logging.ERROR, __file__, 1, message, arguments, exc_info)
    made.__dict__.update(extra)
    return made


def raised(message: str) -> BaseException:
    try:
        raise ValueError(message) from KeyError(message)
    except ValueError as error:
        return error


@pytest.mark.requirement("P5-PROTOCOL-27")
@pytest.mark.parametrize("form", ["text", "json"])
def test_message_arguments_and_traceback_hold_no_secret(form: str) -> None:
    made = record("%s and %r", f"Bearer {KEY}", {"key": KEY}, error=raised(f"https://me:{KEY}@host.example/?token=abc"))
    line = RedactingFormatter(REDACT, form).format(made)
    assert KEY not in line
    assert "abc" not in line
    assert "ValueError" in line
    assert "Traceback" in line


def test_a_json_line_is_one_object_with_the_facts_of_a_span() -> None:
    facts = {"span": "search", "outcome": "success", "requests": 2}
    row = json.loads(RedactingFormatter(REDACT, "json").format(record("search %s", "x", facts=facts)))
    assert row.pop("time").endswith("+00:00")
    assert row == {"level": "ERROR", "logger": "websearch_mcp.server", **facts}
    plain = json.loads(RedactingFormatter(REDACT, "json").format(record("two\nlines “%s”", KEY)))
    assert plain["message"].startswith("two\nlines “xai…")


@contextlib.contextmanager
def configured(level: str, form: str = "text") -> Iterator[io.StringIO]:
    """The process's logging set up for a test, and put back afterwards."""
    root, stream = logging.getLogger(), io.StringIO()
    before, handlers, raising = root.level, root.handlers[:], logging.raiseExceptions
    root.handlers = []
    configure(level=level, form=form, redact=REDACT, stream=stream)
    try:
        yield stream
    finally:
        root.handlers, logging.raiseExceptions = handlers, raising
        root.setLevel(before)
        for name in ("websearch", "websearch_core", "websearch_adapters", "websearch_mcp"):
            logging.getLogger(name).setLevel(logging.NOTSET)


def test_libraries_do_not_tell_what_they_send() -> None:
    with configured("DEBUG") as stream:
        logging.getLogger("httpx").info("HTTP Request: GET https://a.example/?q=secret+question")
        logging.getLogger("mcp.server").debug("params: a question")
        logging.getLogger("websearch_mcp.server").debug("ours")
        logging.getLogger("httpx").warning("a warning for %s", KEY)
    assert stream.getvalue() == "DEBUG websearch_mcp.server: ours\nWARNING httpx: a warning for xai…def\n"


def test_a_level_above_warning_holds_for_libraries_too() -> None:
    with configured("ERROR") as stream:
        logging.getLogger("httpx").warning("no")
        logging.getLogger("websearch").warning("no")
    assert not stream.getvalue()


def test_a_record_that_cannot_be_written_is_not_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with configured("DEBUG"):
        logging.getLogger("websearch").warning("%d", KEY)
    assert KEY not in capsys.readouterr().err
