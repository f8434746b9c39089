"""The fault matrix: every operation × every fault × one key or three, each through the real server and a real client.

A cell calls the tool once while its upstream is faulty and once after that, and collects what is wrong with what came.
Nothing here asserts: `run` returns reports, so that a test and a figure can both read them.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import re
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias
from urllib.parse import urlsplit

import jsonschema
import mcp_types as types
from mcp import Client

from integration.fault_table import ASKED, KINDS, OWN, Area, Fault, Kind, Place, Subject, Told, Verdict, faults_of
from upstreams.chat_completions import ChatUpstream
from upstreams.firecrawl import FirecrawlUpstream
from upstreams.pages import Page, PagesSite, article
from upstreams.script import ok
from upstreams.serve import serving
from upstreams.simulator import Simulator
from upstreams.sources import Source
from upstreams.tavily import TavilyUpstream
from upstreams.xai import X_POSTS, XaiUpstream
from websearch_adapters.settings import read
from websearch_mcp.cli import session
from websearch_mcp.container import Closing, build
from websearch_mcp.server import make_server

__all__ = ["GROUPS", "Channels", "Complaint", "Group", "Operation", "Report", "Summary", "faults_in", "run", "run_all", "unsound"]

WORKING = 6
"""Cells at once that cost work."""
WAITING = 26
"""Cells at once that cost only time."""
HANG_S = 120.0
"""A call that is not back by then hangs."""
CELL_S = 600.0
PATIENCE_S = 60.0
SHORT_PATIENCE_S = 1.5
"""Of cells that only a deadline ends."""
LONG_PATIENCE_S = 9.0
"""Of such a cell that failed: on a busy machine, what comes beside the fault may need more. Less than a page may take."""
TRIES = 3
HEALTHY_S = 60.0
CANARY = "canary"
"""Stands in every key, so in no channel it may stand."""

Keys: TypeAlias = Literal["one key", "three keys", "three keys, one fault"]
Wrong: TypeAlias = Literal["lie", "hang", "dead", "leak", "class", "envelope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One row of the matrix."""

    name: str
    subject: Subject
    tool: str
    service: str
    """As error codes spell it."""
    arguments: Mapping[str, Any]
    finder: bool = False
    """A healthy source finder stands beside a faulty engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The cells that run beside each other."""

    operation: Operation
    keys: Keys

    def __str__(self) -> str:
        return f"{self.operation.name}, {self.keys}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing that is wrong with a cell."""

    wrong: Wrong
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of a cell."""

    cell: str
    complaints: tuple[Complaint, ...] = ()
    healed: Literal["same server", "new server", "not"] = "not"
    """Where the next call succeeded: a server that rests its only key, or its service, needs a new start."""
    outcome: str = ""

    def __str__(self) -> str:
        return f"{self.cell}: " + "; ".join(f"[{one.wrong}] {one.text}" for one in self.complaints)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All cells."""

    cells: int
    reports: tuple[Report, ...]

    def count(self, *wrong: Wrong) -> int:
        """Cells with at least one complaint of these sorts."""
        return sum(any(one.wrong in wrong for one in report.complaints) for report in self.reports)


# --- the rows -----------------------------------------------------------------------------------------------------

TEXT = "The footbridge reopened on 14 November 2026. The works took eleven weeks. Größe und Kosten: 步行桥, 2.1 million."
WIKI = Source(url="https://wiki.example.net/footbridge", title="Footbridge", text="A timber footbridge.")
FOUND = [
    Source(url=f"https://docs.example.org/{name}", title=f"Notes {name}", text=f"What the notes {name} say of the bridge.")
    for name in ("a", "b", "c")
]
QUOTED = "The footbridge is open again."
ENGINE_TEXTS: Mapping[Subject, str] = {
    "xai": f"{TEXT}[[1]]({WIKI.url})",
    "xai-posts": f"{TEXT}\n\n> {QUOTED}\n{X_POSTS[0]}",
    "chat": TEXT,
}
ASKED_AGAIN = f"{ASKED}/again"
PAGE_TEXT = "# Footbridge reopens\n\nIt opened to walkers again on Saturday.\n\n" + "The works took eleven weeks. " * 20
PAGE_TEXT = PAGE_TEXT.strip()
SITE_PATHS = ("/news/a", "/news/b", "/news/c")
QUESTION = "When did the Example Valley footbridge reopen?"
SEARCH = {"query": QUESTION}


def _fetching(provider: str) -> dict[str, str]:
    return {"url": ASKED, "provider": provider}


def _mapping(provider: str) -> dict[str, object]:
    return {"url": "https://council.example.org", "provider": provider, "max_depth": 2, "timeout": 10}


OPERATIONS: tuple[Operation, ...] = (
    Operation(name="answer by xai", subject="xai", tool="web_search", service="grok", arguments=SEARCH),
    Operation(
        name="answer by xai, with a finder", subject="xai", tool="web_search", service="grok", arguments=SEARCH, finder=True
    ),
    Operation(name="posts by xai", subject="xai-posts", tool="x_search", service="xai", arguments=SEARCH),
    Operation(name="answer by chat", subject="chat", tool="web_search", service="grok", arguments=SEARCH),
    Operation(
        name="answer by chat, with a finder", subject="chat", tool="web_search", service="grok", arguments=SEARCH, finder=True
    ),
    Operation(name="extra sources by tavily", subject="tavily-search", tool="web_search", service="tavily", arguments=SEARCH),
    Operation(
        name="extra sources by firecrawl", subject="firecrawl-search", tool="web_search", service="firecrawl", arguments=SEARCH
    ),
    Operation(name="fetch by tavily", subject="tavily-fetch", tool="web_fetch", service="tavily", arguments=_fetching("tavily")),
    Operation(
        name="fetch by firecrawl",
        subject="firecrawl-fetch",
        tool="web_fetch",
        service="firecrawl",
        arguments=_fetching("firecrawl"),
    ),
    Operation(
        name="fetch by the local reader",
        subject="local-fetch",
        tool="web_fetch",
        service="local",
        arguments={"provider": "local"},
    ),
    Operation(name="map by tavily", subject="tavily-map", tool="web_map", service="tavily", arguments=_mapping("tavily")),
    Operation(
        name="map by firecrawl", subject="firecrawl-map", tool="web_map", service="firecrawl", arguments=_mapping("firecrawl")
    ),
    Operation(
        name="map by the local mapper",
        subject="local-map",
        tool="web_map",
        service="local",
        arguments={"provider": "local", "max_depth": 2, "timeout": 10},
    ),
)
POOLED: frozenset[Subject] = frozenset(
    {"tavily-search", "tavily-fetch", "tavily-map", "firecrawl-search", "firecrawl-fetch", "firecrawl-map"}
)
ONCE: frozenset[Kind] = frozenset({"auth", "credit", "rate", "down"})
"""What another key or another attempt heals within the call."""
OUTER: frozenset[Area] = frozenset({"example", "transport"})
OF_THE_KEY: frozenset[Kind] = frozenset({"auth", "credit", "rate"})
RESTING: frozenset[Kind] = frozenset({"auth", "credit", "rate", "down", "late"})
"""What the next call may meet where a key or a service was sent to rest, or has to wait for it."""


SILENCE_BROKEN = frozenset({"no_search_evidence", "no_matches"})
"""Notes that tell why an answer has no source."""
OWN_LOGGERS = ("websearch", "websearch_core", "websearch_adapters", "websearch_mcp")


def _groups() -> Iterator[Group]:
    for operation in OPERATIONS:
        yield Group(operation=operation, keys="one key")
        if operation.subject in POOLED:
            yield Group(operation=operation, keys="three keys")
            yield Group(operation=operation, keys="three keys, one fault")


GROUPS: tuple[Group, ...] = tuple(_groups())


def faults_in(group: Group) -> tuple[Fault, ...]:
    """The faults of a group, each where it can make a difference.

    Statuses are read in one place for all operations of a provider; bodies and shapes do not depend on the number of keys, nor
    on the finder. A single fault before health is one that another key or attempt can heal.
    """
    subject = group.operation.subject
    faults = tuple(faults_of(subject))
    if group.keys == "three keys, one fault":
        healing = (fault for fault in faults if fault.area in OUTER and fault.verdict.told is None and not fault.refuses)
        return tuple(replace(fault, verdict=Verdict(told=OWN)) for fault in healing if fault.verdict.kinds <= ONCE)
    if group.keys == "three keys" or (subject in {"xai", "chat"} and not group.operation.finder):
        return tuple(fault for fault in faults if fault.area in OUTER and not fault.heavy)
    if subject == "xai-posts":
        return tuple(
            fault for fault in faults if fault.area not in {"shape", "echo"} and not fault.name.startswith("gzip bomb under")
        )
    if subject in POOLED and group.operation.tool != "web_search":
        return tuple(fault for fault in faults if fault.area != "status")
    return faults


# --- one group ----------------------------------------------------------------------------------------------------


def _simulator(subject: Subject) -> Simulator:
    match subject:
        case "xai":
            return XaiUpstream(answer_text=TEXT, sources=[WIKI])
        case "xai-posts":
            return XaiUpstream(answer_text=TEXT, posts=X_POSTS[:1], quotes=[QUOTED])
        case "chat":
            return ChatUpstream(answer_text=TEXT, sources=[WIKI])
        case "tavily-search" | "tavily-fetch" | "tavily-map":
            return TavilyUpstream(sources=FOUND, pages={ASKED: PAGE_TEXT, ASKED_AGAIN: PAGE_TEXT}, site=SITE_PATHS)
        case "firecrawl-search" | "firecrawl-fetch" | "firecrawl-map":
            return FirecrawlUpstream(sources=FOUND, pages={ASKED: PAGE_TEXT, ASKED_AGAIN: PAGE_TEXT}, site=SITE_PATHS)
        case "local-fetch":
            page = article("Footbridge", f"<h1>Footbridge reopens</h1><p>{TEXT}</p>", path="/page")
            return PagesSite({"/page": page, "/again": page})
        case "local-map":
            return _site()


def _site() -> PagesSite:
    links = '<a href="/a">First</a> <a href="/b">Second</a>'
    start = f"<html><head><title>Start</title></head><body><h1>Start</h1><p>{TEXT}</p>{links}</body></html>"
    page = f"<html><head><title>Page</title></head><body><p>{TEXT}</p></body></html>"
    return PagesSite({"/": start, "/a": page, "/b": page, "/robots.txt": Page("User-agent: *\nAllow: /\n", "text/plain")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One simulator that is faulty in one cell after the other."""

    simulator: Simulator
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What the cells of a group share: everything that is healthy."""

    group: Group
    engine_url: str
    finder_url: str
    elsewhere: Simulator
    elsewhere_url: str
    channels: Channels
    home: str
    """A folder in which nothing is kept: cells remember in memory."""
    hang_s: float


class Channels(logging.Handler):
    """Listens to every log record that the process lets out, and to standard error, while the cells run."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.leaks: list[str] = []
        self.errors: list[str] = []
        self._stderr = io.StringIO()
        self._redirected = contextlib.redirect_stderr(self._stderr)
        self._levels: dict[str, int] = {}

    def __enter__(self) -> Self:
        for name in OWN_LOGGERS:
            self._levels[name] = logging.getLogger(name).level
            logging.getLogger(name).setLevel(logging.DEBUG)
        logging.getLogger().addHandler(self)
        self._redirected.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._redirected.__exit__(kind, error, trace)
        logging.getLogger().removeHandler(self)
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)
        self.leaks += [line[:300] for line in self._stderr.getvalue().splitlines() if CANARY in line]

    def emit(self, record: logging.LogRecord) -> None:
        own = record.name.partition(".")[0] in OWN_LOGGERS
        if not own and (record.levelno < logging.WARNING or record.name.startswith("uvicorn")):
            return  # the process lets libraries speak from WARNING on only; uvicorn is the simulators' server
        text = self.format(record)
        if CANARY in text:
            self.leaks.append(text[:300])
        if record.levelno >= logging.ERROR:
            self.errors.append(text[-600:])


async def run(group: Group, faults: Sequence[Fault] = (), *, hang_s: float = HANG_S) -> tuple[Report, ...]:
    """The cells of a group, all of them unless some are named; the last report is that of the channels they share."""
    faults = faults or faults_in(group)
    with contextlib.ExitStack() as opened:
        opened.enter_context(_brisk())
        channels = opened.enter_context(Channels())
        elsewhere = PagesSite({})
        stage = Stage(
            group=group,
            engine_url=opened.enter_context(serving(_simulator("xai"))),
            finder_url=opened.enter_context(serving(_simulator("tavily-search"))),
            elsewhere=elsewhere,
            elsewhere_url=opened.enter_context(serving(elsewhere)),
            channels=channels,
            home=opened.enter_context(tempfile.TemporaryDirectory()),
            hang_s=hang_s,
        )
        pace = {"heavy": 1, "late": WAITING, "": WORKING}
        needed = Counter(map(_pace, faults))
        slots = {name: _slots(opened, group.operation.subject, min(most, needed[name])) for name, most in pace.items()}
        cells = [(fault, _reported(stage, slots[_pace(fault)], fault, number)) for number, fault in enumerate(faults)]
        heavy = [cell for fault, cell in cells if fault.heavy]
        first, *others = [cell for fault, cell in cells if not fault.heavy]
        reports = [await first, *await asyncio.gather(*others)]  # the first one pays for the imports
        reports += [await cell for cell in heavy]
    return (*reports, _of_channels(stage))


@contextmanager
def _brisk() -> Iterator[None]:
    """Two hundred servers in a row: hand over between threads quickly, and load one root certificate, not all of them."""
    import certifi

    interval_s, given = sys.getswitchinterval(), os.environ.get("SSL_CERT_FILE")
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        head, mark, _ = Path(certifi.where()).read_text(encoding="ascii").partition("-----END CERTIFICATE-----\n")
        file.write(head + mark)
        file.flush()
        os.environ["SSL_CERT_FILE"] = file.name
        sys.setswitchinterval(0.001)
        try:
            yield
        finally:
            sys.setswitchinterval(interval_s)
            del os.environ["SSL_CERT_FILE"]
            if given is not None:
                os.environ["SSL_CERT_FILE"] = given


def _pace(fault: Fault) -> str:
    return "heavy" if fault.heavy else "late" if fault.late else ""


def _slots(opened: contextlib.ExitStack, subject: Subject, count: int) -> asyncio.Queue[Slot]:
    slots: asyncio.Queue[Slot] = asyncio.Queue()
    for _ in range(count):
        simulator = _simulator(subject)
        slots.put_nowait(Slot(simulator=simulator, url=opened.enter_context(serving(simulator))))
    return slots


async def _reported(stage: Stage, slots: asyncio.Queue[Slot], fault: Fault, number: int) -> Report:
    slot = await slots.get()
    cell = f"{stage.group} × {fault.name}"
    try:
        async with asyncio.timeout(CELL_S):
            report = await Cell(stage=stage, slot=slot, fault=fault, number=number, name=cell).run()
            for _ in range(TRIES - 1):
                if report.complaints and fault.late:
                    again = Cell(stage=stage, slot=slot, fault=fault, number=number, name=cell, patience_s=LONG_PATIENCE_S)
                    report = await again.run()
            return report
    except TimeoutError:
        return Report(cell=cell, complaints=(Complaint(wrong="hang", text="the cell did not end"),))
    finally:
        slots.put_nowait(slot)


def _of_channels(stage: Stage) -> Report:
    followed = [request for request in stage.elsewhere.requests if "authorization" in request.headers or CANARY in request.query]
    complaints = [Complaint(wrong="leak", text=f"logged: {text}") for text in stage.channels.leaks]
    complaints += [Complaint(wrong="leak", text=f"a key went elsewhere: {request.path}") for request in followed]
    complaints += [Complaint(wrong="dead", text=f"logged as an error: {text}") for text in stage.channels.errors]
    return Report(cell=f"{stage.group}: logs, standard error, other hosts", complaints=tuple(complaints), healed="same server")


# --- one cell -----------------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Cell:
    """One fault in one operation."""

    stage: Stage
    slot: Slot
    fault: Fault
    number: int
    name: str
    patience_s: float | None = None
    complaints: list[Complaint] = field(default_factory=list)

    async def run(self) -> Report:
        """Call while it is faulty, heal it, call again."""
        place = Place(elsewhere=self.stage.elsewhere_url)
        step = self.fault.make(place)
        self.slot.simulator.follow(*([step, ok()] if self.once else [step]))
        with _door() as door:
            address = door.url if self.fault.refuses else self.slot.url
            async with self._client(address) as client:
                schema = await _schema(client, self.operation.tool)
                reply = await self._called(client, patient=False)
                if reply is None:
                    return self._report("nothing", healed="not")
                self._judge(reply, schema)
                self.slot.simulator.follow(ok())
                async with door.opened(self.slot.url) if self.fault.refuses else contextlib.nullcontext():
                    healed = await self._healed(client, schema)
            data = reply.structured_content or {}
            detail = data.get("error_detail") or {}
        return self._report(f"{data.get('status')} {detail.get('code', '')}".strip(), healed=healed)

    @property
    def operation(self) -> Operation:
        return self.stage.group.operation

    @property
    def once(self) -> bool:
        return self.stage.group.keys == "three keys, one fault"

    def _report(self, outcome: str, *, healed: Literal["same server", "new server", "not"]) -> Report:
        return Report(cell=self.name, complaints=tuple(self.complaints), outcome=outcome, healed=healed)

    def _complain(self, wrong: Wrong, text: str) -> None:
        self.complaints.append(Complaint(wrong=wrong, text=text))

    # --- calling

    @asynccontextmanager
    async def _client(self, address: str) -> AsyncIterator[Client]:
        configuration = read(environ=self._environment(address))
        if problems := configuration.problems():
            self._complain("dead", f"problems of the configuration: {problems}")
        chosen = configuration.settings
        box = build(configuration, observe=session.observer(chosen))
        patience_s, redact = chosen.search.deadline_no_progress_s, configuration.redact
        server = make_server(box.resolve, toolsets=("core", "x"), patience_s=patience_s, redact=redact)
        try:
            async with Client(server) as client:
                yield client
        finally:
            await box.resolve(Closing).aclose()

    def _environment(self, address: str) -> dict[str, str]:
        """The settings of a server whose faulty part is at `address`."""
        subject, finder = self.operation.subject, self.operation.finder
        keys = self._keys(3 if self.stage.group.keys != "one key" else 1)
        host = f"{urlsplit(address).hostname}:{urlsplit(address).port}"
        tavily = address if subject.startswith("tavily") else self.stage.finder_url if finder else ""
        firecrawl = address if subject.startswith("firecrawl") else ""
        engine = {"GROK_API_URL": address, "GROK_API_KEY": keys} if subject == "chat" else {
            "GROK_SEARCH_URL": address if subject in {"xai", "xai-posts"} else self.stage.engine_url, "XAI_API_KEY": self._keys(1)}  # fmt: skip
        return {
            "WEBSEARCH_HOME": self.stage.home,
            "WEBSEARCH_CACHE_KIND": "memory",
            "WEBSEARCH_LIBRARY_ENABLED": "false",
            "WEBSEARCH_SEARCH_FINDERS": "firecrawl" if firecrawl else "tavily" if tavily else "none",
            "WEBSEARCH_FETCH_EXTRACTORS": self.operation.arguments.get("provider", "none"),
            "WEBSEARCH_MAP_MAPPERS": self.operation.arguments.get("provider", "none"),
            "WEBSEARCH_KEYLESS_ENABLED": "false",
            "WEBSEARCH_MAP_PAGES_PER_S": "1000",
            "WEBSEARCH_ENGINE_RETRY_MULTIPLIER_S": "0",
            "WEBSEARCH_LOG_LEVEL": "DEBUG",
            "WEBSEARCH_SEARCH_DEADLINE_S": f"{HEALTHY_S}",
            "WEBSEARCH_X_DEADLINE_S": f"{HEALTHY_S}",
            "WEBSEARCH_SEARCH_EXTRAS_ALLOWANCE_S": f"{HEALTHY_S}",
            "WEBSEARCH_SEARCH_DEADLINE_NO_PROGRESS_S": f"{self._patience_s}",
            "WEBSEARCH_FETCH_DEADLINE_S": f"{HEALTHY_S}",
            "WEBSEARCH_FETCH_ALLOW_HOSTS": host,
            **engine,
            **({"TAVILY_API_URL": tavily, "TAVILY_API_KEYS": keys} if tavily else {}),
            **({"FIRECRAWL_API_URL": firecrawl, "FIRECRAWL_API_KEY": keys} if firecrawl else {}),
        }

    @property
    def _patience_s(self) -> float:
        """What a late cell waits for beside the fault, an engine's answer or a process that reads pages, must come within it too."""
        if not self.fault.late:
            return PATIENCE_S
        slower: dict[Subject, int] = {"tavily-search": 2, "firecrawl-search": 2, "local-fetch": 3, "local-map": 4}
        return self.patience_s or SHORT_PATIENCE_S * slower.get(self.operation.subject, 1)

    def _keys(self, count: int) -> str:
        """Keys that no other cell and no other position has."""
        return ",".join(f"tvly-{CANARY}-{self.number:04}-{CANARY}-{position}" for position in range(count))

    async def _called(self, client: Client, *, patient: bool, again: bool = False) -> types.CallToolResult | None:
        """The one result of a call; None when it did not come in time."""
        arguments = dict(self.operation.arguments)
        if self.operation.subject.startswith("local"):
            arguments["url"] = self.slot.url + ("/page" if self.operation.tool == "web_fetch" else "/")
        if again and (self.fault.late or self.fault.verdict.told is not None or "incomplete" in self.fault.verdict.kinds):
            arguments |= self._other_question()
        progress = _silent_progress if patient else None
        try:
            async with asyncio.timeout(HEALTHY_S + 5 if patient else self.stage.hang_s):
                return await client.call_tool(self.operation.tool, arguments, progress_callback=progress)
        except TimeoutError:
            self._complain("hang", "the call after it hangs" if patient else "the call hangs")
        except Exception as error:  # noqa: BLE001 - whatever comes instead of a result is a finding
            self._complain("lie", f"no result, but {type(error).__name__}: {str(error)[:200]}")
        return None

    def _other_question(self) -> dict[str, Any]:
        """Arguments that nothing is kept for, and nothing is on its way."""
        if self.operation.tool in {"web_search", "x_search"}:
            return {"query": f"{QUESTION} Exactly?"}
        if self.operation.tool == "web_map":
            return {"limit": 49}
        return {"url": self.slot.url + "/again" if self.operation.subject == "local-fetch" else ASKED_AGAIN}

    async def _healed(self, client: Client, schema: Mapping[str, Any]) -> Literal["same server", "new server", "not"]:
        """Where the next call is fine: on this server, or, where a key or the service rests, on a new one."""
        reply = await self._called(client, patient=True, again=True)
        if reply is not None and self._fine(reply, schema):
            return "same server"
        if reply is not None and self._rests(_kinds_of(reply, self.operation.service)):
            async with self._client(self.slot.url) as fresh:
                reply = await self._called(fresh, patient=True, again=True)
                if reply is not None and self._fine(reply, schema):
                    return "new server"
        told = "nothing" if reply is None else json.dumps(reply.structured_content, ensure_ascii=False)[:400]
        self._complain("dead", f"the next call is not fine: {told}")
        return "not"

    def _rests(self, met: set[Kind]) -> bool:
        """Whether what the next call met is a rest that the fault gave cause for; robots.txt out of reach closes a site."""
        if self.operation.subject == "local-map":
            return bool(self.fault.verdict.kinds & {"down", "policy", "reply"} and "policy" in met)
        return bool((self.once or self.fault.verdict.kinds & RESTING) and met & RESTING)

    def _fine(self, reply: types.CallToolResult, schema: Mapping[str, Any]) -> bool:
        data = reply.structured_content or {}
        self._check_leaks(reply)
        return (
            not list(unsound(reply, schema))
            and data["status"] == "success"
            and _told(self.operation, data) == _own(self.operation)
        )

    # --- judging

    def _judge(self, reply: types.CallToolResult, schema: Mapping[str, Any]) -> None:
        self._check_leaks(reply)
        self.complaints += unsound(reply, schema)
        data = reply.structured_content
        if data is None or data.get("status") not in {"success", "partial_success", "error"}:
            self._complain("lie", "no structured outcome")
            return
        if data["status"] == "success":
            self._judge_success(data)
        else:
            self._judge_failure(reply, data)
        self._check_keys()

    def _check_leaks(self, reply: types.CallToolResult) -> None:
        if CANARY in reply.model_dump_json():
            self._complain("leak", "a key stands in the result")

    def _judge_success(self, data: Mapping[str, Any]) -> None:
        expected = self.fault.verdict.told
        told = _told(self.operation, data)
        if expected is None:
            self._complain("lie", f"told as success: {str(told)[:200]!r}")
            return
        wanted = _own(self.operation) if expected == OWN else expected
        if told != wanted:
            self._complain("lie", f"cut or changed: {str(told)[:200]!r} instead of {str(wanted)[:200]!r}")
        if self.operation.subject not in POOLED and data.get("sources_count") == 0 and not _codes(data) & SILENCE_BROKEN:
            self._complain("lie", "silent about an answer without a source")

    def _judge_failure(self, reply: types.CallToolResult, data: Mapping[str, Any]) -> None:
        verdict, detail = self.fault.verdict, data.get("error_detail") or {}
        if not verdict.kinds:
            self._complain("class", f"should succeed, but: {data['status']} {detail.get('code')}: {detail.get('message')}")
            return
        for text in _misnamed(detail, verdict.kinds, self.operation.service):
            self._complain("class", text)
        if self.fault.status is not None and detail.get("http_status") not in {None, self.fault.status}:
            self._complain("class", f"status {detail.get('http_status')} is told, {self.fault.status} was sent")
        if verdict.unverified is not None and data.get("unverified_answer") != verdict.unverified:
            self._complain("lie", f"the unverified answer is lost: {data.get('unverified_answer')!r}")
        for text in _misplaced(self.operation, data, verdict):
            self._complain("lie", text)

    def _check_keys(self) -> None:
        """A refused, used-up or rate-limited key is used once a call; a fault of one key is healed by another."""
        group = self.stage.group
        if group.keys == "one key" or self.fault.refuses:
            return
        used = [request.key for request in self.slot.simulator.requests if request.key]
        kinds = self.fault.cause
        if kinds and kinds <= OF_THE_KEY and max(Counter(used).values(), default=0) > 1:
            self._complain("class", f"a key is used more than once: {len(used)} requests by {len(set(used))} keys")
        if kinds and kinds <= {"auth", "credit"} and not self.once and len(set(used)) != 3:
            self._complain("class", f"{len(set(used))} of three keys were tried")


def _told(operation: Operation, data: Mapping[str, Any]) -> Told:
    """What a result tells: the text, or the addresses that the faulty part added to it."""
    match operation.subject:
        case "tavily-search" | "firecrawl-search":
            label = f"{operation.service}_enrichment"
            return tuple(source["url"] for source in data["sources"] if source["provider"] == label)
        case "tavily-map" | "firecrawl-map":
            return tuple(data["results"])
        case "local-map":
            return tuple(urlsplit(url).path for url in data["results"])
        case _:
            return str(data["content"])


def _own(operation: Operation) -> Told:
    """What a healthy upstream has to tell."""
    owns: Mapping[Subject, Told] = {
        **ENGINE_TEXTS,
        "tavily-search": tuple(source.url for source in FOUND),
        "firecrawl-search": tuple(source.url for source in FOUND),
        "tavily-fetch": PAGE_TEXT,
        "firecrawl-fetch": PAGE_TEXT,
        "local-fetch": f"# Footbridge reopens\n\n{TEXT}",
        "tavily-map": tuple(f"https://council.example.org{path}" for path in SITE_PATHS),
        "firecrawl-map": tuple(f"https://council.example.org{path}" for path in SITE_PATHS),
        "local-map": ("/", "/a", "/b"),
    }
    return owns[operation.subject]


def _misnamed(detail: Mapping[str, Any], kinds: Iterable[Kind], service: str) -> Iterator[str]:
    """Where code, error type or repeatability say something else than any of these kinds."""
    codes = {code.format(service) for kind in kinds for code in KINDS[kind][0]}
    words = {word for kind in kinds for word in KINDS[kind][1]}
    shown = {key: detail.get(key) for key in ("code", "message", "http_status", "retryable", "diagnostics")}
    if detail.get("code") not in codes:
        yield f"not {'/'.join(sorted(kinds))}: {json.dumps(shown, ensure_ascii=False)[:500]}"
    diagnostics = detail.get("diagnostics") or {}
    word = diagnostics.get("last_error_type") or diagnostics.get("error_type")
    if word is not None and words and word not in words:
        yield f"error type {word} is not one of {'/'.join(sorted(kinds))}"
    final = set(kinds) <= {"request", "address", "policy", "declined"}
    if final and detail.get("retryable"):
        yield f"a repetition cannot help, but {detail.get('code')} is called retryable"
    if set(kinds) <= {"down", "rate", "late"} and not detail.get("retryable"):
        yield f"a repetition can help, but {detail.get('code')} is not called retryable"


def _kinds_of(reply: types.CallToolResult, service: str) -> set[Kind]:
    """The kinds that a failure may be."""
    detail = (reply.structured_content or {}).get("error_detail") or {}
    return {kind for kind, (codes, _) in KINDS.items() if detail.get("code") in {code.format(service) for code in codes}}


def _misplaced(operation: Operation, data: Mapping[str, Any], verdict: Verdict) -> Iterator[str]:
    """Where a failure is not told at the place and in the form that its operation has for it."""
    if operation.subject in {"tavily-search", "firecrawl-search"}:
        if data["status"] != "partial_success" or data["content"] != ENGINE_TEXTS["xai"] or data["fallback_used"]:
            yield f"the engine's answer does not stand: {data['status']} {data['content'][:100]!r}"
    elif operation.tool == "web_search":
        yield from _misled(operation, data, verdict)
    elif data["status"] == "partial_success" and "incomplete" not in verdict.kinds:
        yield "told as a partial success"
    elif data["status"] == "error" and (data.get("content") or data.get("results")):
        yield "an error that carries content"


def _misled(operation: Operation, data: Mapping[str, Any], verdict: Verdict) -> Iterator[str]:
    """Where a failed engine is told as an answer."""
    code = (data.get("error_detail") or {}).get("code")
    if "incomplete" in verdict.kinds and data["status"] == "partial_success" and code == "grok_answer_incomplete":
        return
    if data["status"] == "error":
        if data["content"] or data["sources"] or data["sources_count"]:
            yield "an error that carries content or sources"
        if operation.finder:
            yield f"the finder's sources are lost: {data['error']}"
        return
    if not operation.finder:
        yield "a partial success without any finder"
    if not (data["fallback_used"] and data["fallback_reason"] and data["search_provider"] == "tavily_fallback"):
        yield "sources that do not say that they are a fallback"
    if not re.match(r"This is a list of \d+ sources?, not an answer", data["content"]) or not data["sources"]:
        yield f"a list that does not say that it is one: {data['content'][:100]!r}"
    if any(source["provider"] != "tavily_fallback" for source in data["sources"]):
        yield "sources that pose as the engine's"


def _codes(data: Mapping[str, Any]) -> set[str]:
    return {note["code"] for note in data.get("notes", ())}


def unsound(reply: types.CallToolResult, schema: Mapping[str, Any]) -> Iterator[Complaint]:
    """Every rule of the envelope that a result breaks."""
    data = reply.structured_content
    if data is None:
        yield Complaint(wrong="lie", text="no structured content")
        return
    texts = [block.text for block in reply.content if isinstance(block, types.TextContent)]
    broken = [f"against the schema: {error.message[:200]}" for error in jsonschema.Draft202012Validator(schema).iter_errors(data)]
    if len(reply.content) != 1 or len(texts) != 1 or not texts[0].strip():
        broken.append(f"{len(reply.content)} blocks of content instead of one text")
    if reply.is_error != (data["status"] == "error"):
        broken.append(f"isError is {reply.is_error} under status {data['status']}")
    yield from (Complaint(wrong="envelope", text=text) for text in (*broken, *_relations(data)))
    yield from (Complaint(wrong="lie", text=text) for text in _silences(data, "".join(texts)))


def _relations(data: Mapping[str, Any]) -> Iterator[str]:
    status, detail = data["status"], data.get("error_detail")
    if data["partial"] != (status == "partial_success"):
        yield f"partial is {data['partial']} under {status}"
    if data["error"] != (detail["code"] if status == "error" and detail else None):
        yield f"error is {data['error']!r} under {status}"
    if (detail is None) != (status == "success"):
        yield f"error_detail is {detail} under {status}"
    if bool((data["next_action"] or "").strip()) != (status != "success"):
        yield f"next_action is {data['next_action']!r} under {status}"
    if detail is not None:
        if not re.fullmatch(r"[a-z0-9_]+", detail["code"]) or not detail["message"].strip() or not detail["service"].strip():
            yield f"a detail without code, message or service: {detail}"
        if not isinstance(detail["retryable"], bool) or not isinstance(detail["http_status"], int | None):
            yield f"a detail of wrong types: {detail}"
        if "internal" in detail["code"]:
            yield f"a fault of our own: {detail}"


def _silences(data: Mapping[str, Any], text: str) -> Iterator[str]:
    """What is kept from a reader: a success without anything in it, or a text that says less than the structured content."""
    if data["status"] != "error" and not (data.get("content") or data.get("results")):
        yield f"{data['status']} with nothing in it"
    detail = data.get("error_detail")
    if detail is not None and detail["code"] not in text:
        yield f"the text is silent about {detail['code']}"
    if data["next_action"] and data["next_action"][:60] not in text:
        yield "the text is silent about the next action"
    if any(ord(char) < 32 and char not in "\n\t" for char in text):
        yield "the text holds control characters"


async def _silent_progress(progress: float, total: float | None, message: str | None) -> None:
    """Take the progress and say nothing."""


async def _schema(client: Client, tool: str) -> Mapping[str, Any]:
    listed = (await client.list_tools()).tools
    schema = next(one.output_schema for one in listed if one.name == tool)
    assert schema is not None, f"{tool} publishes no output schema"
    return schema


class Door:
    """An address at which nobody listens until it is opened."""

    def __init__(self, closed: socket.socket) -> None:
        self._closed = closed
        self.url = f"http://127.0.0.1:{closed.getsockname()[1]}"

    @asynccontextmanager
    async def opened(self, to_url: str) -> AsyncIterator[None]:
        """Pass every connection on to a simulator."""
        port = urlsplit(to_url).port

        async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_copied(reader, inner_writer), _copied(inner_reader, writer))

        server = await asyncio.start_server(passed, sock=self._closed.dup())
        try:
            yield
        finally:
            server.close()
            await server.wait_closed()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    writer.close()


@contextmanager
def _door() -> Iterator[Door]:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield Door(closed)


async def run_all(groups: Sequence[Group] = GROUPS) -> Summary:
    """Every group, one after the other."""
    reports = [report for group in groups for report in await run(group)]
    return Summary(cells=len(reports) - len(groups), reports=tuple(reports))
