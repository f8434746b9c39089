"""The readers of single sites keep the promises of `Extractor`, and that of GitHub those of `Probe`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack

import pytest

from contract.parts import FAULTS, KEY, hanging, named
from shared_worker import WORKER
from upstreams.arxiv import ArxivUpstream
from upstreams.github import GitHubUpstream
from upstreams.script import Step, hang, ok
from upstreams.serve import transport
from upstreams.simulator import Simulator
from upstreams.stackexchange import StackExchangeUpstream
from upstreams.wikipedia import WikipediaUpstream
from websearch_adapters.extract.arxiv import Arxiv
from websearch_adapters.extract.github import GitHub, GitHubSettings
from websearch_adapters.extract.stackexchange import StackExchange
from websearch_adapters.extract.wikipedia import Wikipedia
from websearch_adapters.http.client import Http
from websearch_adapters.http.pages import PageClient
from websearch_core.ports import Extractor, Probe
from websearch_core.testing.contracts import Hanging, ProbeContract, SelectiveExtractorContract
from websearch_core.testing.fakes import FakeCredentials
from websearch_core.values import FetchRequest

Clients = Callable[[Simulator], tuple[PageClient, Http]]


@pytest.fixture
async def clients() -> AsyncIterator[Clients]:
    """Both clients, reaching the simulated service under any address."""
    async with AsyncExitStack() as stack:

        def both(upstream: Simulator) -> tuple[PageClient, Http]:
            pages = PageClient(transport=transport(upstream))
            http = Http(FakeCredentials({"github": KEY}), transport=transport(upstream))
            stack.push_async_callback(pages.aclose)
            stack.push_async_callback(http.aclose)
            return pages, http

        yield both


class _Reading(SelectiveExtractorContract):
    """A reader with a simulated API: each suite gives the address, the service, the reader, and a reply with nothing in it."""

    address: str
    blank: Step

    @pytest.fixture
    def page_request(self) -> FetchRequest:
        return FetchRequest(url=self.address)

    @pytest.fixture
    def upstream(self) -> Simulator:
        raise NotImplementedError("the simulated service")

    @pytest.fixture
    def make(self, clients: Clients) -> Callable[[Simulator], Extractor]:
        raise NotImplementedError("a reader over it")

    @pytest.fixture
    def extractor(self, make: Callable[[Simulator], Extractor], upstream: Simulator) -> Extractor:
        return make(upstream)

    @pytest.fixture
    def blank_extractor(self, make: Callable[[Simulator], Extractor], upstream: Simulator) -> Extractor:
        return make(upstream.follow(self.blank))

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_extractor(
        self, make: Callable[[Simulator], Extractor], upstream: Simulator, request: pytest.FixtureRequest
    ) -> Extractor:
        return make(upstream.follow(request.param))

    @pytest.fixture
    def hanging_extractor(self, make: Callable[[Simulator], Extractor], upstream: Simulator) -> Hanging[Extractor]:
        return hanging(make(upstream.follow(hang())), upstream)


class TestGitHub(_Reading):
    address = "https://github.com/acme/footbridge/pull/12"
    blank = ok({"number": 12, "title": " "})
    keyed = False

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture
    def upstream(self) -> Simulator:
        return GitHubUpstream(keys=[KEY])

    @pytest.fixture
    def make(self, clients: Clients) -> Callable[[Simulator], Extractor]:
        return lambda upstream: _github(clients, upstream, keyed=self.keyed)


class TestGitHubWithAToken(TestGitHub):
    keyed = True


class TestGitHubFile(TestGitHub):
    """Its failures are those of another host; what a file says is no failure, so only failing statuses count."""

    address = "https://github.com/acme/footbridge/blob/main/README.md"
    blank = ok({"not": "reached"})

    @pytest.fixture
    def upstream(self) -> Simulator:
        return GitHubUpstream()

    @pytest.fixture
    def blank_extractor(self, make: Callable[[Simulator], Extractor], upstream: Simulator) -> Extractor:
        return make(GitHubUpstream(files={"README.md": " \n"}))

    @pytest.fixture(params=FAULTS[:11], ids=named)
    def failing_extractor(
        self, make: Callable[[Simulator], Extractor], upstream: Simulator, request: pytest.FixtureRequest
    ) -> Extractor:
        return make(upstream.follow(request.param))


class TestStackExchange(_Reading):
    address = "https://stackoverflow.com/questions/11/how-to"
    blank = ok({"items": []})

    @pytest.fixture
    def upstream(self) -> Simulator:
        return StackExchangeUpstream()

    @pytest.fixture
    def make(self, clients: Clients) -> Callable[[Simulator], Extractor]:
        return lambda upstream: StackExchange(clients(upstream)[0], WORKER)


class TestArxiv(_Reading):
    address = "https://arxiv.org/abs/2606.01234"
    blank = ok({"not": "a feed"})

    @pytest.fixture
    def upstream(self) -> Simulator:
        return ArxivUpstream()

    @pytest.fixture
    def make(self, clients: Clients) -> Callable[[Simulator], Extractor]:
        return lambda upstream: Arxiv(clients(upstream)[0], WORKER)


class TestWikipedia(_Reading):
    address = "https://en.wikipedia.org/wiki/Footbridge"
    blank = ok({"parse": {"title": "Blank", "text": "<div class='navbox'>Only navigation</div>"}})

    @pytest.fixture
    def upstream(self) -> Simulator:
        return WikipediaUpstream()

    @pytest.fixture
    def make(self, clients: Clients) -> Callable[[Simulator], Extractor]:
        return lambda upstream: Wikipedia(clients(upstream)[0], WORKER)


class TestGitHubProbe(ProbeContract):
    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return (KEY,)

    @pytest.fixture(params=[False, True], ids=["keyless", "token"])
    def keyed(self, request: pytest.FixtureRequest) -> bool:
        return bool(request.param)

    @pytest.fixture
    def probe(self, clients: Clients, keyed: bool) -> Probe:
        return _github(clients, GitHubUpstream(keys=[KEY]), keyed=keyed)

    @pytest.fixture(params=FAULTS, ids=named)
    def failing_probe(self, clients: Clients, keyed: bool, request: pytest.FixtureRequest) -> Probe:
        return _github(clients, GitHubUpstream(script=request.param), keyed=keyed)

    @pytest.fixture
    def hanging_probe(self, clients: Clients, keyed: bool) -> Hanging[Probe]:
        upstream = GitHubUpstream(script=hang())
        return hanging(_github(clients, upstream, keyed=keyed), upstream)


def _github(clients: Clients, upstream: Simulator, *, keyed: bool) -> GitHub:
    pages, http = clients(upstream)
    return GitHub(pages, http, WORKER, GitHubSettings(keyed=keyed))
