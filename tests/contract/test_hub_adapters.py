"""Connections to upstreams, the keeper of them all, and tools in the place of providers keep the promises of their ports."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from upstreams.lab_http import LabHttp
from upstreams.labs import lab, lab_at, ledger_lines
from upstreams.serve import serve
from websearch_adapters.upstream.binding import Binding, BoundFinder, BoundMapper, BoundReader, UpstreamProbe
from websearch_adapters.upstream.session import Session
from websearch_adapters.upstream.supervisor import Supervisor
from websearch_core.errors import AuthRejected, BadReply, OutcomeUnknown, ProviderError, Unreachable
from websearch_core.hub.lifecycle import Rules
from websearch_core.hub.ports import Upstream, UpstreamLink, Upstreams
from websearch_core.hub.values import HttpTransport, Part, StdioTransport, ToolReply, UpstreamSpec, UpstreamTool
from websearch_core.ports import Extractor, Mapper, Probe, SourceFinder
from websearch_core.testing.contracts import (
    ExtractorContract,
    Hanging,
    MapperContract,
    ProbeContract,
    SourceFinderContract,
    UpstreamContract,
    UpstreamsContract,
)
from websearch_core.testing.fakes import FakeUpstreamLink, FakeUpstreams, Gate


def session(spec: UpstreamSpec) -> Session:
    return Session(spec, environment=dict(os.environ), ping_every_s=0.2)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


class TestChildProcess(UpstreamContract):
    @pytest.fixture
    def upstream(self) -> Upstream:
        return session(lab())

    @pytest.fixture
    def mortal_upstream(self) -> tuple[Upstream, Callable[[], object]]:
        one = session(lab())
        return one, one.kill

    @pytest.fixture(params=[lab(behaviour="crash"), UpstreamSpec(name="x", transport=StdioTransport(command="/no/program"))])
    def failing_upstream(self, request: pytest.FixtureRequest) -> Upstream:
        return session(request.param)

    @pytest.fixture
    async def hanging_link(self, tmp_path: Path) -> AsyncIterator[Hanging[UpstreamLink]]:
        ledger = tmp_path / "ledger"
        async with session(lab(behaviour="mute", ledger=ledger)).connect(lambda: None) as link:
            yield Hanging(
                part=link,
                entered=lambda: until(lambda: "call echo" in ledger_lines(ledger)),
                left=lambda: until(lambda: "cancelled" in ledger_lines(ledger)),
            )


class TestAddress(UpstreamContract):
    @pytest.fixture
    async def served(self) -> AsyncIterator[tuple[LabHttp, str]]:
        app = LabHttp()
        async with serve(app) as url:
            yield app, url

    @pytest.fixture
    def upstream(self, served: tuple[LabHttp, str]) -> Upstream:
        return session(lab_at(served[1]))

    @pytest.fixture
    def mortal_upstream(self, served: tuple[LabHttp, str]) -> tuple[Upstream, Callable[[], object]]:
        return session(lab_at(served[1])), served[0].restart

    @pytest.fixture(params=["gone", 401, 503])
    def failing_upstream(self, request: pytest.FixtureRequest, served: tuple[LabHttp, str]) -> Upstream:
        app, url = served
        if request.param == "gone":
            return session(UpstreamSpec(name="x", transport=HttpTransport(url="http://127.0.0.1:9/mcp")))
        app.refuse = dict.fromkeys(("initialize", "server/discover"), (request.param, {}))
        return session(lab_at(url))

    @pytest.fixture
    async def hanging_link(self, served: tuple[LabHttp, str]) -> AsyncIterator[Hanging[UpstreamLink]]:
        app, url = served
        app.slow = "echo"
        async with session(lab_at(url)).connect(lambda: None) as link:
            yield Hanging(
                part=link,
                entered=lambda: until(lambda: app.calls == ["echo"]),
                left=lambda: until(lambda: app.cancelled > 0),
            )


class TestSupervisor(UpstreamsContract):
    @pytest.fixture
    async def upstreams(self) -> AsyncIterator[Upstreams]:
        async with serve(LabHttp(token="sesame")) as url:
            ready, off, lost = lab("ready"), lab("off"), lab("lost", behaviour="crash")
            off = UpstreamSpec(name="off", transport=off.transport, enabled=False)
            hub = Supervisor([ready, off, lost, lab_at(url, "locked")], session, rules=lambda _: Rules(waits_s=()))
            hub.start()
            await hub.until_settled()
            yield hub
            await hub.aclose()


# --- tools in the place of providers ------------------------------------------------------------------------------

PAGES = [
    {"url": f"https://docs.example.org/{number}", "title": f"Page {number}", "description": "About it.", "date": "2026-11-30"}
    for number in range(8)
]
ARGUMENTS: dict[str, Mapping[str, Any]] = {
    "find": {"q": "{query}", "count": "{limit}", "since": "{fresh_within}"},
    "extract": {"url": "{url}"},
    "map": {"site": "{url}", "most": "{limit}"},
}
FAILURES = [Unreachable("x"), OutcomeUnknown("x"), AuthRejected("x"), BadReply("x"), ToolReply(failed=True)]


def structured(data: Any) -> ToolReply:
    return ToolReply(structured=data)


def text(said: str) -> ToolReply:
    return ToolReply(parts=(Part(kind="text", text=said),))


def upstreams(script: Any) -> FakeUpstreams:
    """One upstream with one tool that plays the script; a second connection plays it too."""
    tool = UpstreamTool(name="tool")
    links = [FakeUpstreamLink((tool,), script) for _ in range(2)]
    return FakeUpstreams({"up": (tool,)}, links={"up": links})


def binding(serves: Any, **result: str) -> Binding:
    return Binding(name="bound", upstream="up", tool="tool", serves=serves, arguments=ARGUMENTS[serves], result=result)


def forever(reply: ToolReply) -> list[ToolReply]:
    return [reply] * 10


class TestBoundFinder(SourceFinderContract):
    @pytest.fixture(
        params=[structured({"results": PAGES}), text("\n".join(f"- [{one['title']}]({one['url']})" for one in PAGES))]
    )
    def finder(self, request: pytest.FixtureRequest) -> SourceFinder:
        return BoundFinder(binding("find"), upstreams(forever(request.param)))

    @pytest.fixture(params=[structured({"results": []}), text("Nothing was found.")])
    def empty_finder(self, request: pytest.FixtureRequest) -> SourceFinder:
        return BoundFinder(binding("find"), upstreams(forever(request.param)))

    @pytest.fixture(params=[*FAILURES, structured({"error": "no"})])
    def failing_finder(self, request: pytest.FixtureRequest) -> SourceFinder:
        return BoundFinder(binding("find"), upstreams(request.param))

    @pytest.fixture
    def hanging_finder(self) -> Hanging[SourceFinder]:
        gate: Gate[ToolReply] = Gate(ToolReply())
        return Hanging(part=BoundFinder(binding("find"), upstreams(gate)), entered=gate.until_entered, left=gate.until_cancelled)


class TestBoundReader(ExtractorContract):
    @pytest.fixture(params=[text("# Title\n\nWords."), structured({"markdown": "# Title\n\nWords.", "title": "Title"})])
    def extractor(self, request: pytest.FixtureRequest) -> Extractor:
        return BoundReader(binding("extract"), upstreams(forever(request.param)))

    @pytest.fixture(params=[text(" "), structured({"markdown": ""})])
    def blank_extractor(self, request: pytest.FixtureRequest) -> Extractor:
        return BoundReader(binding("extract"), upstreams(forever(request.param)))

    @pytest.fixture(params=FAILURES)
    def failing_extractor(self, request: pytest.FixtureRequest) -> Extractor:
        return BoundReader(binding("extract"), upstreams(request.param))

    @pytest.fixture
    def hanging_extractor(self) -> Hanging[Extractor]:
        gate: Gate[ToolReply] = Gate(ToolReply())
        part = BoundReader(binding("extract"), upstreams(gate))
        return Hanging(part=part, entered=gate.until_entered, left=gate.until_cancelled)


class TestBoundMapper(MapperContract):
    @pytest.fixture(params=[structured({"links": [one["url"] for one in PAGES]}), text("\n".join(one["url"] for one in PAGES))])
    def mapper(self, request: pytest.FixtureRequest) -> Mapper:
        return BoundMapper(binding("map"), upstreams(forever(request.param)))

    @pytest.fixture
    def empty_mapper(self) -> Mapper:
        return BoundMapper(binding("map"), upstreams(forever(structured({"links": []}))))

    @pytest.fixture(params=FAILURES)
    def failing_mapper(self, request: pytest.FixtureRequest) -> Mapper:
        return BoundMapper(binding("map"), upstreams(request.param))

    @pytest.fixture
    def hanging_mapper(self) -> Hanging[Mapper]:
        gate: Gate[ToolReply] = Gate(ToolReply())
        return Hanging(part=BoundMapper(binding("map"), upstreams(gate)), entered=gate.until_entered, left=gate.until_cancelled)


class TestUpstreamProbe(ProbeContract):
    @pytest.fixture(params=["upstream", "provider"])
    def probe(self, request: pytest.FixtureRequest) -> Probe:
        hub = upstreams(ToolReply())
        return UpstreamProbe("up", hub) if request.param == "upstream" else BoundFinder(binding("find"), hub)

    @pytest.fixture(params=["needs_auth", "unavailable", "nobody", "no tool"])
    def failing_probe(self, request: pytest.FixtureRequest) -> Probe:
        if request.param == "nobody":
            return UpstreamProbe("nobody", upstreams(ToolReply()))
        if request.param == "no tool":
            return UpstreamProbe("up", upstreams(ToolReply()), tool="another")
        return UpstreamProbe("up", FakeUpstreams({"up": ()}, states={"up": request.param}))

    @pytest.fixture
    def hanging_probe(self) -> Hanging[Probe]:
        hub = _Waiting()
        return Hanging(part=UpstreamProbe("up", hub), entered=hub.gate.until_entered, left=hub.gate.until_cancelled)


class _Waiting(FakeUpstreams):
    """Upstreams whose connection never comes."""

    def __init__(self) -> None:
        super().__init__({"up": ()})
        self.gate: Gate[UpstreamLink] = Gate(ProviderError("never"))

    async def link(self, upstream: str, /, *, after: UpstreamLink | None = None) -> UpstreamLink:
        return await self.gate.passed()
