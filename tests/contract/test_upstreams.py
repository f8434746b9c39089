"""Upstreams keep their promises: the fakes here; the connections to real ones beside their simulators."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest

from websearch_core.errors import AuthRejected, RequestRejected, Unreachable
from websearch_core.hub.ports import SERVICE, Upstream, UpstreamLink, Upstreams
from websearch_core.hub.values import Catalog, Cause, Part, ToolReply, UpstreamSpec, UpstreamTool
from websearch_core.testing.contracts import Hanging, UpstreamContract, UpstreamsContract
from websearch_core.testing.fakes import ECHO, FakeUpstream, FakeUpstreamLink, FakeUpstreams, Gate
from websearch_core.values import Json

pytestmark = pytest.mark.anyio


class TestFake(UpstreamContract):
    @pytest.fixture
    def upstream(self) -> Upstream:
        return FakeUpstream()

    @pytest.fixture
    def mortal_upstream(self) -> tuple[Upstream, Callable[[], object]]:
        link = FakeUpstreamLink()
        return FakeUpstream(script=link), link.drop

    @pytest.fixture(params=[Unreachable, AuthRejected])
    def failing_upstream(self, request: pytest.FixtureRequest) -> Upstream:
        return FakeUpstream(script=request.param("not to be had", provider=SERVICE))

    @pytest.fixture
    def hanging_link(self) -> Hanging[UpstreamLink]:
        gate: Gate[ToolReply] = Gate(ToolReply())
        link = FakeUpstreamLink(script=gate)
        return Hanging(part=link, entered=gate.until_entered, left=gate.until_cancelled)


class TestFakes(UpstreamsContract):
    @pytest.fixture
    def upstreams(self) -> Upstreams:
        tools = {"ready": (ECHO,), "off": (), "locked": (), "lost": ()}
        return FakeUpstreams(tools, states={"off": "disabled", "locked": "needs_auth", "lost": "unavailable"})


# --- the suites refuse what breaks a promise ----------------------------------------------------------------------


async def refused(check: Awaitable[object]) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, RequestRejected, Unreachable, KeyError, TimeoutError)):
        async with asyncio.timeout(1):
            await check


TEXT = ToolReply(parts=(Part(kind="text", text="x"),))
ARGUMENTS: Mapping[str, Json] = {"text": "x"}


@pytest.mark.parametrize("tools", [(), (ECHO, ECHO), (ECHO, UpstreamTool(name=""))], ids=["none", "twice", "without a name"])
async def test_a_bad_list_of_tools_is_noticed(tools: Sequence[UpstreamTool]) -> None:
    suite = UpstreamContract()
    await refused(suite.test_lists_each_tool_once_by_its_name(FakeUpstream(script=FakeUpstreamLink(tools)), "echo"))


async def test_bad_replies_are_noticed() -> None:
    suite = UpstreamContract()

    def giving(*replies: ToolReply) -> FakeUpstream:
        return FakeUpstream(script=FakeUpstreamLink(script=list(replies)))

    await refused(suite.test_replies_with_something(giving(ToolReply()), "echo", ARGUMENTS))
    await refused(suite.test_replies_with_something(giving(ToolReply(parts=TEXT.parts, failed=True)), "echo", ARGUMENTS))
    several = giving(TEXT, TEXT, ToolReply(failed=True))
    await refused(suite.test_replies_to_several_at_once_from_other_tasks(several, "echo", ARGUMENTS))
    bad = ToolReply(parts=(Part(kind="text", text="\ud800"),))
    with pytest.raises(UnicodeEncodeError):
        await suite.test_gives_tools_and_replies_that_are_json(giving(bad), "echo", ARGUMENTS)
    everything = FakeUpstreamLink((ECHO, UpstreamTool(name="no such tool")))
    await refused(suite.test_a_tool_that_is_not_there_is_refused(FakeUpstream(script=everything)))


class Deathless(FakeUpstreamLink):
    """Says nothing of its end, and goes on."""

    def drop(self, cause: Cause | None = None) -> None:
        self._closed.set()


class Hushed(FakeUpstreamLink):
    def drop(self, cause: Cause | None = None) -> None:
        """Never closed."""


async def test_a_connection_that_hides_its_end_is_noticed() -> None:
    suite = UpstreamContract()
    hushed, deathless = Hushed(), Deathless()
    told = suite.test_tells_that_the_other_side_is_gone_without_being_asked
    await refused(told((FakeUpstream(script=hushed), hushed.drop)))
    called = suite.test_a_call_of_one_that_is_gone_is_an_error_of_ours
    await refused(called((FakeUpstream(script=deathless), deathless.drop), "echo", ARGUMENTS))


async def test_an_upstream_that_fails_in_other_words_or_works_only_once_is_noticed() -> None:
    suite = UpstreamContract()
    await refused(suite.test_fails_only_in_our_words(FakeUpstream(), ()))
    await refused(suite.test_fails_only_in_our_words(FakeUpstream(script=Unreachable("x")), ()))
    await refused(suite.test_fails_only_in_our_words(FakeUpstream(script=Unreachable("key-1", provider=SERVICE)), ("key-1",)))
    once = FakeUpstream(script=[FakeUpstreamLink(), Unreachable("x")])
    await refused(suite.test_can_be_connected_to_again_after_it_was_left(once, "echo", ARGUMENTS))


class Littering(FakeUpstreamLink):
    """Leaves a task behind."""

    def drop(self, cause: Cause | None = None) -> None:
        self.litter = asyncio.ensure_future(asyncio.Event().wait())


async def test_what_is_left_behind_is_noticed() -> None:
    suite = UpstreamContract()
    litter = Littering()
    await refused(suite.test_leaves_nothing_running(FakeUpstream(script=litter)))
    litter.litter.cancel()
    gate: Gate[ToolReply] = Gate(TEXT)

    async def never() -> None:
        await asyncio.Event().wait()

    deaf = Hanging(part=FakeUpstreamLink(script=gate), entered=gate.until_entered, left=never)
    await refused(suite.test_a_cancelled_call_ends_at_once_and_the_other_side_is_told(deaf, "echo", ARGUMENTS))


class Changeable(FakeUpstreams):
    """Makes a catalog and a connection each time, knows everybody, and connects to whatever is asked for."""

    def catalog(self) -> Catalog:
        return Catalog()

    def spec(self, upstream: str, /) -> UpstreamSpec:
        return self._specs.get(upstream) or next(iter(self._specs.values()))

    async def link(self, upstream: str, /, *, after: UpstreamLink | None = None) -> UpstreamLink:
        return FakeUpstreamLink()


async def test_upstreams_that_break_a_promise_are_noticed() -> None:
    suite = UpstreamsContract()
    bad = Changeable({"ready": (), "off": ()})
    await refused(suite.test_shows_the_state_of_each_by_name(bad))
    await refused(suite.test_has_the_tools_of_what_is_ready(FakeUpstreams({"ready": ()})))
    await refused(suite.test_gives_the_same_catalog_until_something_changes(bad))
    await refused(suite.test_gives_a_connection_that_works(bad))
    await refused(suite.test_says_why_there_is_no_connection(bad, "off", Unreachable))
    await refused(suite.test_knows_how_each_is_configured_and_no_others(bad))
