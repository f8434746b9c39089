"""Which tools fit a need, as a model is told."""

from __future__ import annotations

import json

import pytest

from websearch_core import budget
from websearch_core.errors import InvalidInput
from websearch_core.hub.find import FindTools
from websearch_core.hub.registry import MAX_TOOLS
from websearch_core.hub.values import FindRequest, StdioTransport, UpstreamSpec, UpstreamState, UpstreamTool
from websearch_core.testing.fakes import ECHO, FakeUpstreams, RecordingObserver
from websearch_core.values import Json, as_plain

pytestmark = pytest.mark.anyio


def tool(name: str, about: str = "", *, schema: dict[str, Json] | None = None) -> UpstreamTool:
    return UpstreamTool(name=name, description=about, input_schema=schema or {"type": "object", "properties": {}})


def wordy(count: int) -> dict[str, Json]:
    properties: dict[str, Json] = {f"p{number}": {"type": "string", "description": "word " * 100} for number in range(count)}
    return {"type": "object", "properties": properties, "required": ["p0"]}


MAIL = (tool("send", "Send a mail."), tool("read.mail", "Read a mail."))


async def test_tools_come_with_what_a_call_needs() -> None:
    observer = RecordingObserver()
    find = FindTools(upstreams=FakeUpstreams({"post": MAIL, "fake": (ECHO,)}), observe=observer)
    result = await find(FindRequest(need="repeat a text"))

    (found,) = result.tools
    assert (found.id, found.upstream, found.description) == ("fake__echo", "fake", "Repeat the text.")
    assert found.input_schema == ECHO.input_schema
    assert (result.status, result.total, result.searched, result.next_offset) == ("success", 1, 3, None)
    assert observer.spans[0].facts == {"tools": 3, "outcome": "success", "found": 1}


@pytest.mark.requirement("HUB-NAME-01")
async def test_the_raw_name_stands_beside_an_alias() -> None:
    result = await FindTools(upstreams=FakeUpstreams({"post": MAIL}))(FindRequest(need="mail"))
    assert {(one.name, one.id.startswith("post__read_mail_")) for one in result.tools} == {("", False), ("read.mail", True)}


async def test_an_exact_name_has_no_score_and_the_rest_can_be_paged() -> None:
    find = FindTools(upstreams=FakeUpstreams({"a": MAIL, "b": MAIL}))
    first = await find(FindRequest(need="send", limit=2))
    assert [(one.id, one.score) for one in first.tools] == [("a__send", None), ("b__send", None)]
    page = await find(FindRequest(need="mail", limit=3))
    assert (len(page.tools), page.total, page.next_offset) == (3, 4, 3)
    assert len((await find(FindRequest(need="mail", limit=3, offset=3))).tools) == 1


@pytest.mark.requirement("HUB-TOOLS-06")
async def test_while_tools_are_awaited_a_result_is_partial_and_says_of_whom() -> None:
    upstreams = FakeUpstreams({"post": MAIL, "slow": ()}, states={"slow": "initializing"})
    result = await FindTools(upstreams=upstreams)(FindRequest(need="mail"))

    assert (result.status, result.partial, result.discovering) == ("partial_success", True, ("slow",))
    assert result.error_detail is not None
    assert (result.error_detail.code, result.error_detail.retryable) == ("upstreams_connecting", True)
    nothing = await FindTools(upstreams=upstreams)(FindRequest(need="zeppelin"))
    assert (nothing.status, nothing.error) == ("error", "upstreams_connecting")


async def test_an_upstream_that_failed_before_it_listed_anything_is_not_waited_for() -> None:
    upstreams = FakeUpstreams({"post": MAIL, "broken": ()}, states={"broken": "initializing"})
    upstreams.states["broken"] = "unavailable"
    result = await FindTools(upstreams=upstreams)(FindRequest(need="mail"))
    assert upstreams.catalog().discovering == ("broken",)
    assert (result.status, result.discovering) == ("success", ())


async def test_tools_beyond_those_that_are_kept_are_told() -> None:
    many = [tool(f"mail_{number}") for number in range(MAX_TOOLS + 3)]
    result = await FindTools(upstreams=FakeUpstreams({"post": many}))(FindRequest(need="mail"))
    assert [note.text for note in result.notes] == ["post lists 3 tools more than are kept"]


async def test_nothing_that_fits_is_a_failure_that_says_what_is_out_of_reach() -> None:
    upstreams = FakeUpstreams({"post": MAIL, "web": ()}, states={"web": "needs_auth"})
    result = await FindTools(upstreams=upstreams)(FindRequest(need="zeppelin"))
    assert (result.error, result.searched) == ("tools_not_found", 2)
    assert result.next_action == "Describe in other words what the tool should do. Out of reach now: web (needs_auth)."


async def test_what_is_wrong_with_the_question_is_said() -> None:
    find = FindTools(upstreams=FakeUpstreams({"post": MAIL}))
    assert "one of: post" in str((await find(FindRequest(need="mail", upstream="pots"))).next_action)
    assert (await find(FindRequest(need="mail", offset=7))).next_action == "Use an offset below 2."
    none = await FindTools(upstreams=FakeUpstreams({}))(FindRequest(need="mail"))
    assert none.error == "upstream_not_configured"
    with pytest.raises(InvalidInput, match="blank"):
        FindRequest(need="  ")


async def test_the_state_of_an_upstream_that_is_not_ready_stands_at_its_tools() -> None:
    upstreams = FakeUpstreams({"post": MAIL}, states={"post": "unavailable"})
    result = await FindTools(upstreams=upstreams)(FindRequest(need="send"))
    assert result.tools[0].state == "unavailable"


@pytest.mark.requirement("HUB-FIND-05")
@pytest.mark.parametrize("max_chars", [2_000, 3_000, 24_000])
async def test_a_result_fits_its_budget_and_the_rest_is_found_by_offset(max_chars: int) -> None:
    tools = [tool(f"mail_{number}", "Mail. " * 300, schema=wordy(20)) for number in range(12)]
    slow: dict[str, UpstreamState] = {"slow" * 8 + str(number): "initializing" for number in range(6)}
    find = FindTools(upstreams=FakeUpstreams({"post": tools, **dict.fromkeys(slow, ())}, states=slow))
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        result = await find(FindRequest(need="mail", limit=20, offset=offset, max_chars=max_chars))
        assert budget.json_chars(result) <= max_chars
        seen += [one.id for one in result.tools]
        offset = result.next_offset
    assert sorted(seen) == sorted(f"post__mail_{number}" for number in range(12))


async def test_a_schema_too_large_loses_its_words_and_never_the_names_of_its_arguments() -> None:
    schema = wordy(5)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    properties["title"] = {"type": "string", "title": "T" * 2_000}
    find = FindTools(upstreams=FakeUpstreams({"post": [tool("send", schema=schema)]}))
    (found,) = (await find(FindRequest(need="send", max_chars=1_500))).tools

    assert found.schema_cut
    assert found.input_schema["properties"] == {**{f"p{n}": {"type": "string"} for n in range(5)}, "title": {"type": "string"}}
    huge = FindTools(upstreams=FakeUpstreams({"post": [tool("send", schema=wordy(300))]}))
    (found,) = (await huge(FindRequest(need="send", max_chars=2_000))).tools
    assert found.input_schema["required"] == ["p0"]


async def test_text_of_upstreams_is_made_harmless() -> None:
    nasty = tool("send", "a\x1b]52;c;x\x07b\u202ec", schema={"type": "object", "properties": {"x": {"description": "\x1b[2J!"}}})
    result = await FindTools(upstreams=FakeUpstreams({"post": [nasty]}))(FindRequest(need="send"))
    text = json.dumps(as_plain(result), ensure_ascii=False)
    assert result.tools[0].description == "abc"
    assert "\\u001b" not in text


@pytest.mark.requirement("HUB-TOOLS-02", "HUB-TOOLS-03")
async def test_disabled_and_app_only_tools_are_not_found() -> None:
    spec = UpstreamSpec(name="post", transport=StdioTransport(command="x"), tools_deny=("send",))
    tools = {"post": [*MAIL, UpstreamTool(name="mail_view", visibility=("app",), ui_resource="ui://x")]}
    result = await FindTools(upstreams=FakeUpstreams(tools, specs=[spec]))(FindRequest(need="mail", limit=20))
    assert [one.name for one in result.tools] == ["read.mail"]


async def test_a_change_of_tools_is_found_at_once() -> None:
    upstreams = FakeUpstreams({"post": MAIL})
    find = FindTools(upstreams=upstreams)
    await find(FindRequest(need="mail"))
    upstreams.list("post", [tool("fax", "Send a fax.")])
    assert [one.id for one in (await find(FindRequest(need="fax mail"))).tools] == ["post__fax"]
