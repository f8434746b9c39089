"""Running a tool once, and telling what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest

from websearch_core import budget
from websearch_core.errors import AuthRejected, BadReply, InvalidInput, OutcomeUnknown, RequestRejected, Unreachable
from websearch_core.hub.call import MAX_BLOCKS, CallTool
from websearch_core.hub.values import (
    CallRequest,
    CallResult,
    Part,
    StdioTransport,
    ToolReply,
    UpstreamSpec,
    UpstreamState,
    UpstreamTool,
)
from websearch_core.testing.fakes import ECHO, FakeCache, FakeUpstreamLink, FakeUpstreams, Gate, RecordingObserver, Script
from websearch_core.values import Json, as_plain

pytestmark = pytest.mark.anyio

PAY = UpstreamTool(name="pay")
SET = UpstreamTool(name="set", idempotent=True)
TOOLS = (ECHO, PAY, SET)
UNKNOWN, REFUSED = OutcomeUnknown("cut off", provider="upstream"), Unreachable("no session", provider="upstream")


def text(value: str) -> ToolReply:
    return ToolReply(parts=(Part(kind="text", text=value),))


class Desk:
    """A caller with an upstream `a` whose connections do what they are told, one after the other."""

    def __init__(self, *scripts: Script[ToolReply], tools: Sequence[UpstreamTool] = TOOLS, timeout_s: float = 60.0) -> None:
        self.links = [FakeUpstreamLink(tools, script) for script in scripts]
        spec = UpstreamSpec(
            name="a", transport=StdioTransport(command="a"), tool_timeouts_s={"pay": timeout_s, "echo": timeout_s}
        )
        upstreams = FakeUpstreams({"a": tools}, links={"a": self.links} if scripts else {}, specs=[spec])
        self.observer = RecordingObserver()
        self.use_case = CallTool(upstreams=upstreams, cache=FakeCache(), observe=self.observer)

    async def call(self, tool: str = "a__echo", *, max_chars: int = 24_000, **arguments: object) -> CallResult:
        result = await self.use_case(CallRequest(tool=tool, arguments=arguments, max_chars=max_chars))
        assert budget.json_chars(result) <= max_chars
        return result

    @property
    def runs(self) -> list[tuple[str, Mapping[str, Json]]]:
        return [call for link in self.links for call in link.called]


@pytest.mark.requirement("HUB-CALL-01")
async def test_the_call_goes_to_its_upstream_by_the_raw_name_with_its_arguments() -> None:
    tools = (UpstreamTool(name="read.page now"),)
    links = {name: FakeUpstreamLink(tools, text(name)) for name in ("a", "b")}
    upstreams = FakeUpstreams({"a": tools, "b": tools}, links={name: [link] for name, link in links.items()})
    call = CallTool(upstreams=upstreams, cache=FakeCache())
    (name,) = (one.id for one in upstreams.catalog().tools if one.upstream == "b")

    result = await call(CallRequest(tool=name, arguments={"x": 1}))
    assert (result.status, result.content, result.upstream, result.tool) == ("success", "b", "b", name)
    assert (links["a"].called, links["b"].called) == ([], [("read.page now", {"x": 1})])


async def test_a_bare_name_is_enough_where_it_is_the_only_one() -> None:
    assert (await Desk().call("echo", text="x")).tool == "a__echo"
    both = CallTool(upstreams=FakeUpstreams({"a": TOOLS, "b": TOOLS}), cache=FakeCache())
    result = await both(CallRequest(tool="echo"))
    assert (result.error, result.next_action) == ("tool_unknown", "Use one of these ids: a__echo, b__echo.")


async def test_a_tool_that_is_not_there_or_not_to_be_seen_is_refused_with_what_to_do() -> None:
    desk = Desk(tools=(UpstreamTool(name="view", visibility=("app",)),))
    hidden = await desk.call("a__view")
    assert (hidden.error, desk.runs) == ("tool_not_allowed", [])
    assert "apps only" in (hidden.error_detail.message if hidden.error_detail else "")
    gone = await desk.call("a__nothing")
    assert gone.error == "tool_unknown"
    assert "find_tools" in str(gone.next_action)


@pytest.mark.parametrize("given", ['{"text": "x"}', {"text": "x"}])
async def test_arguments_may_come_as_a_text_of_json(given: dict[str, object]) -> None:
    assert CallRequest(tool="a__echo", arguments=given).arguments == {"text": "x"}


@pytest.mark.parametrize("given", ["[1]", "not json", [1], 7])
def test_other_arguments_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="arguments must be an object"):
        CallRequest(tool="a__echo", arguments=given)


def test_a_call_needs_a_tool_or_a_reply() -> None:
    with pytest.raises(InvalidInput, match="tool is required"):
        CallRequest(arguments={})


# --- at most once -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HUB-CALL-02")
async def test_a_call_that_surely_did_not_run_is_sent_again_over_a_new_connection_whatever_the_tool() -> None:
    desk = Desk(REFUSED, text("paid"))
    result = await desk.call("a__pay")
    assert (result.status, result.content, len(desk.links[1].called)) == ("success", "paid", 1)


@pytest.mark.requirement("HUB-CALL-02")
async def test_a_call_that_may_have_run_is_not_sent_again_and_says_so() -> None:
    desk = Desk(UNKNOWN, text("paid"))
    result = await desk.call("a__pay")

    assert (result.status, result.error, len(desk.runs)) == ("error", "upstream_outcome_unknown", 1)
    assert result.error_detail is not None
    assert not result.error_detail.retryable
    assert result.next_action == "Check whether it was carried out before calling again; a repetition may do it twice."


@pytest.mark.requirement("HUB-CALL-03")
@pytest.mark.parametrize("tool", ["a__echo", "a__set"])
async def test_a_tool_that_reads_or_may_be_repeated_is_sent_again_once(tool: str) -> None:
    desk = Desk(UNKNOWN, text("done"))
    assert (await desk.call(tool)).content == "done"
    assert len(desk.runs) == 2

    desk = Desk(UNKNOWN, UNKNOWN, text("done"))
    assert (await desk.call(tool)).error == "upstream_outcome_unknown"
    assert len(desk.runs) == 2


async def test_when_no_other_connection_is_to_be_had_the_first_failure_is_told() -> None:
    assert (await Desk(REFUSED).call("a__pay")).error == "upstream_unreachable"
    assert (await Desk(UNKNOWN).call("a__echo")).error == "upstream_outcome_unknown"


@pytest.mark.parametrize("failure", [RequestRejected, BadReply, AuthRejected])
async def test_nothing_else_is_sent_again(failure: type[Exception]) -> None:
    desk = Desk(failure("x"), text("y"))
    assert (await desk.call()).status == "error"
    assert len(desk.runs) == 1


@pytest.mark.requirement("HUB-CALL-04")
async def test_too_late_is_a_time_out_for_a_tool_that_reads_and_an_unknown_outcome_for_any_other() -> None:
    async def late(tool: str) -> tuple[str | None, CallResult]:
        gate: Gate[ToolReply] = Gate(text("late"))
        result = await Desk(gate, timeout_s=0.01).call(tool)
        await gate.until_cancelled()
        return result.error, result

    assert (await late("a__echo"))[0] == "upstream_out_of_time"
    error, result = await late("a__pay")
    assert error == "upstream_outcome_unknown"
    assert "may have been carried out" in (result.error_detail.message if result.error_detail else "")


async def test_the_callers_time_counts_too_and_what_was_never_sent_is_no_unknown_outcome() -> None:
    upstreams = FakeUpstreams({"a": (PAY,)})
    upstreams.states["a"] = "initializing"
    result = await CallTool(upstreams=upstreams, cache=FakeCache())(CallRequest(tool="a__pay"), within_s=0.01)
    assert result.error == "upstream_out_of_time"
    assert "nothing was sent" in (result.error_detail.message if result.error_detail else "")


async def test_a_cancelled_call_is_cancelled_at_its_tool() -> None:
    gate: Gate[ToolReply] = Gate(text("late"))
    task = asyncio.ensure_future(Desk(gate).call("a__pay"))
    await gate.until_entered()
    task.cancel()
    await gate.until_cancelled()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("state", "code"),
    [("needs_auth", "upstream_auth_rejected"), ("disabled", "tool_not_allowed"), ("unavailable", "upstream_unreachable")],
)
async def test_an_upstream_that_is_not_ready_says_why(state: UpstreamState, code: str) -> None:
    upstreams = FakeUpstreams({"a": (PAY,)}, states={"a": state})
    result = await CallTool(upstreams=upstreams, cache=FakeCache())(CallRequest(tool="a__pay"))
    assert result.error == code
    if state == "needs_auth":
        assert result.next_action == "Ask the operator to run: websearch upstream login a"


# --- what came of it ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("HUB-CALL-05")
async def test_everything_that_a_tool_can_reply_is_kept() -> None:
    image = Part(kind="image", data="aGVsbG8=", mime_type="image/png", size_bytes=5)
    parts = (
        Part(kind="text", text="one"),
        image,
        Part(kind="audio", data="aGVsbG8=", mime_type="audio/wav"),
        Part(kind="link", uri="https://a.example/x", title="X", text="About x."),
        Part(kind="resource", uri="file:///y", mime_type="text/plain", text="inside"),
        Part(kind="text", text="two"),
    )
    result = await Desk(ToolReply(parts=parts, structured={"n": 1})).call()

    assert result.content == "one\n\n[file:///y]\ninside\n\ntwo"
    assert result.structured == {"n": 1}
    assert [part.kind for part in result.parts] == ["image", "audio", "link", "resource"]
    assert (result.parts[0], result.parts[2].title, result.parts[2].text) == (image, "X", "About x.")
    assert as_plain(result.parts[0]) == {"kind": "image", "mime_type": "image/png", "size_bytes": 5}


async def test_structured_content_that_stands_in_the_text_again_is_told_once() -> None:
    both = ToolReply(parts=(Part(kind="text", text='{\n "n": [1, 2]\n}'),), structured={"n": [1, 2]})
    result = await Desk(both).call()
    assert (result.content, result.structured) == ("", {"n": [1, 2]})


@pytest.mark.requirement("HUB-CALL-06")
async def test_a_long_reply_is_cut_and_read_on_without_running_the_tool_again() -> None:
    whole = "".join(f"line {number}\n" for number in range(2_000))
    desk = Desk(text(whole))
    result = await desk.call(max_chars=2_000)
    seen = result.content
    assert (result.total_chars, result.notes[0].code) == (len(whole), "reply_cut")
    start = result.next_start
    while start is not None:
        more = await desk.use_case(CallRequest(reply_id=result.reply_id, start=start, max_chars=5_000))
        assert budget.json_chars(more) <= 5_000
        assert (more.tool, more.upstream, more.status) == ("a__echo", "a", "success")
        seen += more.content
        start = more.next_start
    assert seen == whole
    assert len(desk.runs) == 1


async def test_structured_content_too_large_for_the_result_is_read_as_text() -> None:
    desk = Desk(ToolReply(parts=(Part(kind="text", text="see below"),), structured={"rows": list(range(2_000))}))
    result = await desk.call(max_chars=1_500)
    seen, start = result.content, result.next_start
    while start is not None:
        more = await desk.use_case(CallRequest(reply_id=result.reply_id, start=start))
        seen, start = seen + more.content, more.next_start
    head, _, rest = seen.partition("\n\n")
    assert (result.structured, head, json.loads(rest)) == (None, "see below", {"rows": list(range(2_000))})


async def test_a_reply_that_is_not_kept_any_more_or_shorter_is_said() -> None:
    desk = Desk(text("x" * 5_000))
    gone = await desk.use_case(CallRequest(reply_id="0" * 12))
    assert gone.error == "reply_not_found_or_expired"
    cut = await desk.call(max_chars=1_000)
    past = await desk.use_case(CallRequest(reply_id=cut.reply_id, start=5_000))
    assert (past.error, "below 5000" in (past.error_detail.message if past.error_detail else "")) == ("invalid_input", True)


async def test_a_tool_that_says_that_it_failed_is_a_failure_with_its_words() -> None:
    result = await Desk(ToolReply(parts=(Part(kind="text", text="no such file"),), failed=True)).call()
    assert (result.status, result.error, result.content) == ("error", "upstream_tool_failed", "no such file")


async def test_a_tool_that_replies_nothing_is_said_to_have_run() -> None:
    result = await Desk(ToolReply()).call()
    assert (result.status, result.notes[0].code) == ("success", "reply_empty")


async def test_too_much_and_too_many_are_left_out_and_said() -> None:
    image = Part(kind="image", data="aGVsbG8=", mime_type="image/png")
    result = await Desk(ToolReply(parts=(image,) * (MAX_BLOCKS + 2))).call()
    assert [bool(part.data) for part in result.parts] == [True] * MAX_BLOCKS + [False] * 2
    assert result.notes[0].text.startswith("2 images")


async def test_text_of_tools_is_made_harmless() -> None:
    nasty = "a\x1b]0;title\x07b\u202ec"
    parts = (Part(kind="text", text=nasty), Part(kind="link", uri=nasty, title=nasty, text=nasty))
    result = await Desk(ToolReply(parts=parts, structured={nasty: [nasty]})).call()
    assert (result.content, result.structured, result.parts[0].title) == ("abc", {"abc": ["abc"]}, "abc")


async def test_a_call_is_observed_with_its_outcome() -> None:
    desk = Desk(text("x"), tools=TOOLS)
    await desk.call()
    await desk.call("a__nothing")
    assert [(span.name, span.facts["outcome"]) for span in desk.observer.spans] == [
        ("call", "success"),
        ("call", "invalid_input"),
    ]
