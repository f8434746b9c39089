"""The simulated services are what the vendors' own SDKs expect of the real ones.

Every scenario of the manifest but the OAuth ones is served on a loopback port and read by openai, tavily-python or
firecrawl-py: the request must be the documented one, a good answer must arrive whole, a bad one must become the
documented exception. Then the answers that the simulators make themselves are read in the same way.
"""

from __future__ import annotations

import inspect
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, get_args

import firecrawl
import httpx
import openai
import openai.types.responses as types
import pytest
import tavily
from firecrawl.v1 import V1FirecrawlApp
from firecrawl.v2.types import ScrapeOptions

from upstreams import examples
from upstreams.chat_completions import RELAY_ERRORS, ChatUpstream, Citations, relay_error
from upstreams.examples import Scenario
from upstreams.exchange import Recorded
from upstreams.firecrawl import FirecrawlUpstream, Scraped, rate_limited
from upstreams.script import Script, hang, html_page, not_json, ok, scenario, sse_quirk, stall_after, status
from upstreams.serve import serving
from upstreams.simulator import Simulator
from upstreams.sources import Source
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream

KEY = "example-key"
WITHIN_S = 30.0
pytestmark = [
    # openai keeps unknown xAI tools as they came, and says so when asked for plain data
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    # firecrawl's client for v1 was written for an older pydantic
    pytest.mark.filterwarnings("ignore:The `dict` method is deprecated:DeprecationWarning"),
]


@dataclass(frozen=True)
class Service:
    """A simulator and its address."""

    upstream: Simulator
    url: str

    def plays(self, row: Scenario) -> None:
        """Answer from now on with this row of the manifest."""
        self.upstream.follow(scenario(row.id))


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().endswith("_PROXY") or name.startswith(("OPENAI_", "TAVILY_", "FIRECRAWL_", "XAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture(scope="module")
def services() -> Iterator[dict[str, Service]]:
    """One running simulator for each service, by the first part of the paths of its payloads."""
    upstreams = {
        "xai-responses": XaiUpstream(),
        "chat-completions": ChatUpstream(),
        "tavily": TavilyUpstream(),
        "firecrawl": FirecrawlUpstream(),
    }
    with ExitStack() as running:
        yield {name: Service(each, running.enter_context(serving(each))) for name, each in upstreams.items()}


def rows(*clients: str, fails: bool | None = None) -> Any:
    """The manifest's rows for these clients; `fails` picks those that end in an exception, or those that do not."""
    chosen = [
        row
        for row in examples.scenarios()
        if row.client in clients and fails in {None, "exception" in row.expect} and not row.id.startswith("xai-oauth")
    ]
    assert chosen
    return pytest.mark.parametrize("row", chosen, ids=lambda row: row.id)


def service_of(row: Scenario, services: dict[str, Service]) -> Service:
    service = services[row.response_body.split("/", 1)[0]]
    service.plays(row)
    return service


# --------------------------------------------------------------------------- comparing


def lost(sent: Any, got: Any, path: str = "") -> list[str]:
    """Where `got` misses or changes something of `sent`; more than was sent is no loss."""
    if isinstance(sent, dict) and isinstance(got, dict):
        missing = [f"{path}.{key} is missing" for key in sent if key not in got]
        return missing + [loss for key in sent if key in got for loss in lost(sent[key], got[key], f"{path}.{key}")]
    if isinstance(sent, list) and isinstance(got, list):
        if len(sent) != len(got):
            return [f"{path} has {len(got)} of {len(sent)} items"]
        return [loss for at, pair in enumerate(zip(sent, got, strict=True)) for loss in lost(*pair, f"{path}.{at}")]
    same = sent == got and isinstance(sent, bool) == isinstance(got, bool)
    return [] if same else [f"{path}: {sent!r} became {got!r}"]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value below, with its dotted path; empty and null ones left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from leaves(item, f"{path}.{at}")
    elif value is not None:
        yield path, value


def sse_payloads(body: bytes) -> list[Any]:
    """The JSON data of each event, in any of the line ends and with or without names; `[DONE]` left out."""
    text = body.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    data = [line.removeprefix("data:").strip() for line in text.split("\n") if line.startswith("data:")]
    return [json.loads(each) for each in data if each not in {"", "[DONE]"}]


def assert_documented_request(
    row: Scenario, seen: Recorded, *, keyless: bool = False, extra: frozenset[str] = frozenset()
) -> None:
    assert (seen.method, seen.path) == (row.method, row.path)
    assert seen.key == (None if keyless else KEY)
    if row.request_body is None:
        return
    documented = examples.read_json(row.request_body)
    assert seen.headers["content-type"].startswith("application/json")
    assert lost(documented, seen.json) == []
    assert set(seen.json) - set(documented) <= extra


# --------------------------------------------------------------------------- openai: Responses and chat completions


@contextmanager
def openai_client(url: str, *, key: str = KEY, timeout_s: float = WITHIN_S) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0, timeout=timeout_s) as client:
        yield client


def ask(client: openai.OpenAI, row: Scenario) -> Any:
    """Send a row's request in the way the SDK has for it."""
    if row.client == "openai.models":
        return client.models.list()
    if row.client == "openai.responses.get":
        return client.responses.retrieve(row.path.rsplit("/", 1)[1])
    body = examples.read_json(row.request_body or "")
    extra = {name: body.pop(name) for name in ("search_parameters",) if name in body}
    create = client.responses.create if row.client.startswith("openai.responses") else client.chat.completions.create
    return create(**body, extra_body=extra or None)


def as_sent(thing: Any) -> Any:
    return thing.to_dict(mode="json", exclude_unset=False)


@rows("openai.responses", "openai.chat", "openai.models", fails=False)
def test_openai_keeps_every_value_of_a_good_answer(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    with openai_client(service.url) as client:
        answer = ask(client, row)
    assert lost(examples.read_json(row.response_body), as_sent(answer)) == []
    assert_documented_request(row, service.upstream.last)


@rows("openai.responses", "openai.responses.get", "openai.chat", fails=True)
def test_openai_raises_the_documented_error(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    with openai_client(service.url) as client, pytest.raises(openai.APIStatusError) as caught:
        ask(client, row)
    assert type(caught.value).__name__ == row.expect["exception"]
    assert caught.value.status_code == row.expect["status"]
    assert caught.value.response.content == examples.read(row.response_body)
    assert_documented_request(row, service.upstream.last)
    assert len(service.upstream.requests) == 1


@rows("openai.responses", fails=False)
def test_openai_recognises_the_items_of_a_response(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    with openai_client(service.url) as client:
        response = ask(client, row)
    assert_known_items(response)
    assert response.output_text == said(examples.read_json(row.response_body))


@rows("openai.responses.stream")
def test_openai_reads_a_stream_as_far_as_documented(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    payloads = sse_payloads(examples.read(row.response_body))
    with openai_client(service.url) as client:
        events, raised = drained(lambda: ask(client, row))
    assert raised == row.expect.get("exception")
    assert len(events) == row.expect.get("events_before", len(events))
    for event, payload in zip(events, payloads, strict=False):
        assert_known_event(event, payload)
    if raised is None:
        assert events[-1].type == row.expect.get("last_event", "response.completed")
    assert_documented_request(row, service.upstream.last)


@rows("openai.chat.stream")
def test_openai_reads_chat_chunks_as_far_as_documented(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    payloads = sse_payloads(examples.read(row.response_body))
    with openai_client(service.url) as client:
        chunks, raised = drained(lambda: ask(client, row))
    assert raised == row.expect.get("exception")
    assert len(chunks) == row.expect.get("events_before", len(payloads))
    for chunk, payload in zip(chunks, payloads, strict=False):
        assert lost(payload, as_sent(chunk)) == []
    assert_documented_request(row, service.upstream.last)


def drained(call: Callable[[], Any]) -> tuple[list[Any], str | None]:
    """The events of a stream, and the name of the exception that ended it."""
    events: list[Any] = []
    try:
        with call() as stream:
            events.extend(stream)
    except (openai.OpenAIError, json.JSONDecodeError, httpx.HTTPError) as error:
        return events, type(error).__name__
    return events, None


def assert_known_event(event: Any, payload: Any) -> None:
    """The SDK chose the class of exactly this event type, and kept all values."""
    assert get_args(type(event).model_fields["type"].annotation) == (payload["type"],)
    assert lost(payload, as_sent(event)) == []


def assert_known_items(response: types.Response) -> None:
    kinds = {
        "reasoning": types.ResponseReasoningItem,
        "web_search_call": types.ResponseFunctionWebSearch,
        "custom_tool_call": types.ResponseCustomToolCall,
        "message": types.ResponseOutputMessage,
    }
    assert all(isinstance(item, kinds[item.type]) for item in response.output)


def said(response: Any) -> str:
    messages = [item for item in response["output"] if item["type"] == "message"]
    return "".join(content["text"] for message in messages for content in message["content"])


# --------------------------------------------------------------------------- tavily-python


@contextmanager
def tavily_client(url: str, *, key: str | None = KEY) -> Iterator[Any]:
    with tavily.TavilyClient(api_key=key, api_base_url=url) as client:
        yield client


@rows("tavily.search", "tavily.search.keyless", "tavily.extract", "tavily.map", "tavily.crawl", fails=False)
def test_tavily_hands_on_a_good_answer_unchanged(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    with tavily_client(service.url, key=None if is_keyless(row) else KEY) as client:
        answer = tavily_call(client, row)
    assert answer == examples.read_json(row.response_body)
    assert_tavily_request(row, service.upstream.last)


@rows("tavily.search", "tavily.search.keyless", "tavily.extract", "tavily.map", fails=True)
def test_tavily_raises_the_documented_error(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    key = None if is_keyless(row) else KEY
    with tavily_client(service.url, key=key) as client, pytest.raises(Exception) as caught:  # noqa: PT011 - see below
        tavily_call(client, row)
    assert type(caught.value).__name__ == row.expect["exception"]
    assert str(caught.value) == row.expect.get("message", str(caught.value))
    if is_keyless(row):
        envelope = examples.read_json(row.response_body)["error"]
        assert {name: getattr(caught.value, name) for name in envelope} == envelope
    assert_tavily_request(row, service.upstream.last)


def is_keyless(row: Scenario) -> bool:
    return row.client.endswith(".keyless")


def tavily_call(client: Any, row: Scenario) -> Any:
    method = getattr(client, row.client.split(".")[1])
    body = examples.read_json(row.request_body or "")
    assert set(body) <= set(inspect.signature(method).parameters) | {"include_image_descriptions"}
    return method(**body)


def assert_tavily_request(row: Scenario, seen: Recorded) -> None:
    own = frozenset() if row.client.startswith("tavily.search") else frozenset({"timeout"})
    assert_documented_request(row, seen, keyless=is_keyless(row), extra=own)
    assert seen.headers.get("x-tavily-access-mode") == ("keyless" if is_keyless(row) else None)


# --------------------------------------------------------------------------- firecrawl-py

SNAKE = {
    "includeDomains": "include_domains",
    "excludeDomains": "exclude_domains",
    "ignoreInvalidURLs": "ignore_invalid_urls",
    "scrapeOptions": "scrape_options",
    "onlyMainContent": "only_main_content",
    "maxAge": "max_age",
    "includeSubdomains": "include_subdomains",
}
SDK_DEFAULTS = frozenset(
    {"origin", "timeout", "ignoreInvalidURLs", "limit", "sitemap", "onlyMainContent", "maxAge", "mobile"}
    | {"storeInCache", "removeBase64Images", "blockAds", "fastMode"}
)
V2 = ("firecrawl.search", "firecrawl.scrape", "firecrawl.scrape.keyless", "firecrawl.map", "firecrawl.credit_usage")
METHODS = {"credit_usage": "get_credit_usage"}


@rows(*V2, fails=False)
def test_firecrawl_loses_only_what_the_manifest_says(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    answer = firecrawl_call(service.url, row).model_dump(mode="json", exclude_none=True)
    have = Counter(json.dumps(value) for _, value in leaves(answer))
    drops, moves = row.expect.get("sdk_drops", []), row.expect.get("sdk_moves", [])
    for path, value in leaves(examples.read_json(row.response_body)):
        if any(path == drop or path.startswith(f"{drop}.") for drop in drops):
            continue
        assert have[json.dumps(value)] >= 1, f"lost {path}"
        moved = path.rsplit(".", 1)[-1] in moves and ".metadata." not in path
        have[json.dumps(value)] -= 0 if moved else 1
    assert_documented_request(row, service.upstream.last, extra=SDK_DEFAULTS)


@rows(*V2, fails=True)
def test_firecrawl_raises_the_documented_error(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its name, status and code are compared below
        firecrawl_call(service.url, row)
    error: Any = caught.value
    assert type(error).__name__ == row.expect["exception"]
    assert (error.status_code, error.code) == (row.expect["status"], row.expect.get("code"))
    if row.response_body.endswith(".json"):
        assert examples.read_json(row.response_body)["error"] in str(error)
    assert_documented_request(row, service.upstream.last, keyless=is_keyless(row), extra=SDK_DEFAULTS)
    assert len(service.upstream.requests) == 1


@rows("firecrawl.v1.search", "firecrawl.v1.map", "firecrawl.v1.scrape")
def test_firecrawl_reads_the_old_forms(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    body = snake(examples.read_json(row.request_body or ""))
    subject = body.pop("query", None) or body.pop("url")
    app = V1FirecrawlApp(api_key=KEY, api_url=service.url)
    method = {"search": app.search, "map": app.map_url, "scrape": app.scrape_url}[row.client.rsplit(".", 1)[1]]
    answer = method(subject, **body).model_dump(mode="json")
    whole = {**answer, "data": answer} if row.client.endswith(".scrape") else answer
    assert lost(examples.read_json(row.response_body), whole) == []
    assert_documented_request(row, service.upstream.last, extra=frozenset({"origin", "timeout"}))


def firecrawl_client(url: str, *, key: str | None = KEY) -> Any:
    return firecrawl.Firecrawl(api_key=key, api_url=url, max_retries=1, timeout=WITHIN_S)


def firecrawl_call(url: str, row: Scenario) -> Any:
    arguments = snake(examples.read_json(row.request_body)) if row.request_body else {}
    if "scrape_options" in arguments:
        arguments["scrape_options"] = ScrapeOptions(**arguments["scrape_options"])
    name = row.client.split(".")[1]
    client = firecrawl_client(url, key=None if is_keyless(row) else KEY)
    return getattr(client, METHODS.get(name, name))(**arguments)


def snake(value: Any) -> Any:
    return {SNAKE.get(key, key): snake(item) for key, item in value.items()} if isinstance(value, dict) else value


# --------------------------------------------------------------------------- plain HTTP, and completeness


@rows("raw")
def test_what_no_sdk_reads_arrives_byte_by_byte(row: Scenario, services: dict[str, Service]) -> None:
    service = service_of(row, services)
    body = examples.read(row.request_body) if row.request_body else None
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    reply = httpx.request(row.method, service.url + row.path, content=body, headers=headers, timeout=WITHIN_S)
    assert (reply.status_code, reply.content) == (row.status, examples.read(row.response_body))
    assert_documented_request(row, service.upstream.last)


def test_every_client_of_the_manifest_is_covered() -> None:
    """A new kind of scenario must get a reader here."""
    known = {"openai.responses", "openai.responses.get", "openai.responses.stream", "openai.chat", "openai.chat.stream"}
    known |= {"openai.models", "raw", "tavily.search", "tavily.search.keyless", "tavily.extract", "tavily.map", "tavily.crawl"}
    known |= {*V2, "firecrawl.v1.search", "firecrawl.v1.map", "firecrawl.v1.scrape"}
    assert {row.client for row in examples.scenarios() if not row.id.startswith("xai-oauth")} == known


def test_every_payload_belongs_to_a_scenario() -> None:
    """Nothing on disk that no scenario sends or answers, but the four OAuth helper files and the index."""
    helpers = {
        f"xai-oauth/{name}"
        for name in ("access-token.claims.json", "authorize.params.json", "pkce.vector.json", "callbacks.json")
    }
    used = {path for row in examples.scenarios() for path in (row.request_body, row.response_body) if path}
    on_disk = {file.relative_to(examples.PAYLOADS).as_posix() for file in examples.PAYLOADS.rglob("*") if file.is_file()}
    assert on_disk == used | helpers | {"manifest.json", "README.md"}


# --------------------------------------------------------------------------- xAI's own answers

QUESTION = "Who repaired the footbridge?"
WEB: Any = {"type": "web_search", "filters": {"allowed_domains": ["council.example.org"]}}
X: Any = {"type": "x_search", "allowed_x_handles": ["examplevalley"], "from_date": "2026-11-01", "to_date": "2026-12-01"}


@contextmanager
def xai(upstream: XaiUpstream, *, key: str = KEY) -> Iterator[openai.OpenAI]:
    with serving(upstream) as url, openai_client(url, key=key) as client:
        yield client


def respond(client: openai.OpenAI, **changes: Any) -> Any:
    return client.responses.create(**{"model": "grok-4.3", "input": QUESTION, "tools": [WEB], "store": False, **changes})


def test_an_xai_answer_echoes_the_request_and_cites_by_position() -> None:
    with xai(XaiUpstream()) as client:
        response = respond(client)
    assert_known_items(response)
    assert QUESTION in response.output_text
    assert response.tools[0].to_dict() == WEB
    notes = response.output[-1].content[0].annotations
    assert [note.url for note in notes] == ["https://council.example.org/who-repaired-the-footbridge"]
    for note in notes:
        assert response.output_text[note.start_index : note.end_index] == f"[[{note.title}]]({note.url})"


def test_an_xai_answer_counts_its_tools_and_its_cost() -> None:
    with xai(XaiUpstream()) as client:
        usage = respond(client, tools=[WEB, X]).to_dict()["usage"]
    details = usage["server_side_tool_usage_details"]
    dollars = (usage["input_tokens"] * 1.25 + usage["output_tokens"] * 2.5) / 1e6
    dollars += details["web_search_calls"] * 0.005 + details["x_posts_fetched"] * 0.005 + details["x_users_fetched"] * 0.01
    assert round(dollars * 1e10) == usage["cost_in_usd_ticks"]
    assert usage["num_server_side_tools_used"] == details["web_search_calls"] + details["x_search_calls"] > 0


def test_an_x_search_shows_up_as_custom_tool_calls() -> None:
    with xai(XaiUpstream()) as client:
        response = respond(client, tools=[X], include=["no_inline_citations"])
    assert [item.type for item in response.output] == ["custom_tool_call", "custom_tool_call", "message"]
    assert "from:examplevalley" in json.loads(response.output[0].input)["query"]
    assert "[[" not in response.output_text
    assert all(note.end_index == 0 for note in response.output[-1].content[0].annotations)


def test_an_answer_from_memory_has_no_sign_of_a_search() -> None:
    with xai(XaiUpstream(searched=False)) as client:
        response = respond(client)
    assert [item.type for item in response.output] == ["message"]
    assert response.output[0].content[0].annotations == []
    assert response.to_dict()["usage"]["num_server_side_tools_used"] == 0


def test_given_text_and_sources_are_what_is_answered() -> None:
    sources = [Source(url="https://a.example.org/1", title="One"), Source(url="https://b.example.com/2", title="Two")]
    with xai(XaiUpstream(answer_text="It was Ada. Then Ben.", sources=sources)) as client:
        response = respond(client, tools=[{"type": "web_search"}])
    assert response.output_text == "It was Ada.[[1]](https://a.example.org/1) Then Ben.[[2]](https://b.example.com/2)"


@pytest.mark.parametrize("tools", [[WEB], [X], [WEB, X], []], ids=["web", "x", "both", "none"])
def test_an_xai_stream_adds_up_to_its_final_response(tools: list[Any]) -> None:
    """The SDK rebuilds the response from the deltas; sequence numbers have no gap; usage comes last."""
    with xai(XaiUpstream()) as client:
        events = list(respond(client, tools=tools, stream=True))
        with client.responses.stream(model="grok-4.3", input=QUESTION, tools=tools, store=False) as stream:
            rebuilt = stream.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[0].response.usage is None
    final = events[-1].response
    assert final.usage is not None
    for event in events:
        assert get_args(type(event).model_fields["type"].annotation) == (event.type,)
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == final.output_text
    assert rebuilt.output_text == final.output_text
    done = {event.output_index: event.item.to_dict() for event in events if event.type == "response.output_item.done"}
    assert [done[at] for at in range(len(done))] == [item.to_dict() for item in final.output]


def test_an_answer_that_must_be_short_is_incomplete() -> None:
    with xai(XaiUpstream()) as client:
        response = respond(client, max_output_tokens=3)
        events = list(respond(client, max_output_tokens=3, stream=True))
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert events[-1].type == "response.incomplete"


def test_a_stored_response_can_be_read_and_forgotten() -> None:
    with xai(XaiUpstream()) as client:
        kept, passing = respond(client, store=True), respond(client, store=False)
        assert client.responses.retrieve(kept.id).output_text == kept.output_text
        client.responses.delete(kept.id)
        for response in (kept, passing):
            with pytest.raises(openai.NotFoundError):
                client.responses.retrieve(response.id)


def test_the_2025_shape_has_no_actions_and_bare_annotations() -> None:
    with xai(XaiUpstream(shape="2025")) as client:
        response = respond(client).to_dict()
    calls = [item for item in response["output"] if item["type"] == "web_search_call"]
    assert calls
    assert all("action" not in call and json.loads(call["arguments"]) for call in calls)
    assert set(response["output"][-1]["content"][0]["annotations"][0]) == {"type", "url"}


def test_a_relayed_answer_keeps_its_sources_in_citations_only() -> None:
    with xai(XaiUpstream(shape="relay")) as client:
        response = respond(client, tools=[{"type": "web_search"}]).to_dict()
    assert [item["type"] for item in response["output"]] == ["message"]
    assert {type(each) for each in response["citations"]} == {str, dict}
    assert isinstance(response["usage"]["cost_in_usd_ticks"], str)


REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "both domain lists": (
        {"tools": [{"type": "web_search", "filters": {"allowed_domains": ["a.org"], "excluded_domains": ["b.org"]}}]},
        400,
    ),
    "six domains": ({"tools": [{"type": "web_search", "filters": {"allowed_domains": list("abcdef")}}]}, 400),
    "a URL for a domain": ({"tools": [{"type": "web_search", "filters": {"allowed_domains": ["https://a.org"]}}]}, 400),
    "both handle lists": ({"tools": [{"type": "x_search", "allowed_x_handles": ["a"], "excluded_x_handles": ["b"]}]}, 400),
    "21 handles": ({"tools": [{"type": "x_search", "allowed_x_handles": [f"h{n}" for n in range(21)]}]}, 400),
    "an unknown include": ({"include": ["web_search_call.action.sources"]}, 400),
    "an unknown tool": ({"tools": [{"type": "websearch"}]}, 422),
    "an unknown field": ({"extra_body": {"max_search_results": 3}}, 422),
    "live search": ({"extra_body": {"search_parameters": {"mode": "on"}}}, 410),
    "an unknown model": ({"model": "grok-9"}, 404),
    "an unknown earlier response": ({"previous_response_id": "nothing"}, 404),
}


@pytest.mark.parametrize("case", REFUSED)
def test_xai_refuses_what_the_vendor_refuses(case: str) -> None:
    changes, expected = REFUSED[case]
    with xai(XaiUpstream()) as client, pytest.raises(openai.APIStatusError) as caught:
        respond(client, **changes)
    assert caught.value.status_code == expected


def test_xai_tells_a_wrong_key_from_an_expired_token_and_from_none() -> None:
    upstream = XaiUpstream(keys={"xai-good"}, expired={"old-token"})
    with serving(upstream) as url:
        answers = {
            token: httpx.get(f"{url}/v1/models", headers={"authorization": f"Bearer {token}"})
            for token in ("xai-good", "xai-bad", "old-token")
        }
        answers["none"] = httpx.get(f"{url}/v1/models")
    assert {name: answer.status_code for name, answer in answers.items()} == {
        "xai-good": 200,
        "xai-bad": 400,
        "old-token": 403,
        "none": 401,
    }


@pytest.mark.parametrize("quirk", ["crlf", "cr-only", "comments", "no-event-names", "bom"])
def test_harmless_damage_leaves_an_xai_stream_readable(quirk: Any) -> None:
    with xai(XaiUpstream(script=Script(sse_quirk(quirk)))) as client:
        events, raised = drained(lambda: respond(client, stream=True))
    assert (raised, events[-1].type) == (None, "response.completed")


@pytest.mark.parametrize(
    ("quirk", "expected"),
    [("truncated", None), ("error-flat", "APIError"), ("error-object", "APIError"), ("done-event", "JSONDecodeError")],
)
def test_harmful_damage_is_seen_in_an_xai_stream(quirk: Any, expected: str | None) -> None:
    with xai(XaiUpstream(script=Script(sse_quirk(quirk)))) as client:
        events, raised = drained(lambda: respond(client, stream=True))
    assert raised == expected
    assert (events[-1].type == "response.completed") == (quirk == "done-event")


def test_a_silent_upstream_ends_in_the_clients_own_time_out() -> None:
    upstream = XaiUpstream(script=Script(hang()))
    with serving(upstream) as url, openai_client(url, timeout_s=1.0) as client:
        with pytest.raises(openai.APITimeoutError):
            respond(client)
        upstream.wait_until(lambda it: it.in_flight == 0)
    assert upstream.disconnects == 1


def test_a_stream_left_open_after_its_end_is_noticed_by_the_clients_time_out() -> None:
    upstream = XaiUpstream(script=Script(stall_after()))
    with serving(upstream) as url, openai_client(url, timeout_s=2.0) as client:
        events, raised = drained(lambda: respond(client, stream=True))
        upstream.wait_until(lambda it: it.disconnects == 1)
    assert events[-1].type == "response.completed"
    assert raised is not None


def test_a_script_is_consumed_request_by_request() -> None:
    with xai(XaiUpstream(script=Script(status(429, retry_after_s=2), status(503)).then_always(ok()))) as client:
        with pytest.raises(openai.RateLimitError) as caught:
            respond(client)
        assert caught.value.response.headers["retry-after"] == "2"
        with pytest.raises(openai.InternalServerError):
            respond(client)
        assert respond(client).output_text == respond(client).output_text


# --------------------------------------------------------------------------- chat completions: own answers

MESSAGES: Any = [{"role": "user", "content": QUESTION}]


def complete(client: openai.OpenAI, **changes: Any) -> Any:
    return client.chat.completions.create(**{"model": "demo-model", "messages": MESSAGES, **changes})


def urls_in(completion: Any, citations: Citations) -> list[str]:
    answer = completion.to_dict()
    message = answer["choices"][0]["message"]
    places: dict[str, Callable[[], list[Any]]] = {
        "annotations": lambda: [note["url_citation"] for note in message["annotations"]],
        "flat-annotations": lambda: message["annotations"],
        "message-citations": lambda: message["citations"],
        "top-level-citations": lambda: answer["citations"],
        "search_sources": lambda: answer["search_sources"],
        "search_results": lambda: answer["search_results"],
    }
    return [each if isinstance(each, str) else each["url"] for each in places[citations]()]


@pytest.mark.parametrize(
    "citations",
    ["annotations", "flat-annotations", "message-citations", "top-level-citations", "search_sources", "search_results"],
)
def test_a_chat_answer_has_its_sources_where_it_was_told_to(citations: Any) -> None:
    with serving(ChatUpstream(citations=citations)) as url, openai_client(url) as client:
        completion = complete(client)
    assert urls_in(completion, citations) == [
        "https://council.example.org/who-repaired-the-footbridge",
        "https://gazette.example.com/who-repaired-the-footbridge",
    ]


def test_a_chat_answer_can_be_bare() -> None:
    with serving(ChatUpstream(searched=False, answer_text="No idea.")) as url, openai_client(url) as client:
        completion = complete(client)
    assert completion.choices[0].message.content == "No idea."
    assert not completion.choices[0].message.annotations


@pytest.mark.parametrize("asked", [True, False])
def test_a_chat_stream_sends_usage_only_if_asked(asked: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if asked else {}
    with serving(ChatUpstream(answer_text="Ada did.")) as url, openai_client(url) as client:
        chunks = list(complete(client, stream=True, **options))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Ada did."
    assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [asked]


def test_an_xai_style_chat_stream_has_usage_on_its_finishing_chunk() -> None:
    with serving(ChatUpstream(usage_style="xai", citations="top-level-citations")) as url, openai_client(url) as client:
        last = list(complete(client, stream=True))[-1]
    assert last.choices[0].finish_reason == "stop"
    assert last.usage.total_tokens > last.usage.prompt_tokens + last.usage.completion_tokens
    assert len(last.to_dict()["citations"]) == 2


def test_a_chat_answer_in_parts_adds_up() -> None:
    with serving(ChatUpstream(content_parts=True, answer_text="Ada did it.")) as url, openai_client(url) as client:
        parts: Any = complete(client).choices[0].message.content
    assert "".join(part["text"] for part in parts) == "Ada did it."


CHAT_REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "options without a stream": ({"stream_options": {"include_usage": True}}, 400),
    "no messages": ({"messages": []}, 400),
    "an unknown role": ({"messages": [{"role": "bot", "content": "hi"}]}, 400),
    "an unknown model": ({"model": "nothing"}, 404),
    "live search": ({"model": "grok-4.3", "extra_body": {"search_parameters": {"mode": "on"}}}, 410),
}


@pytest.mark.parametrize("case", CHAT_REFUSED)
def test_a_gateway_refuses_what_is_documented(case: str) -> None:
    changes, expected = CHAT_REFUSED[case]
    with serving(ChatUpstream()) as url, openai_client(url) as client, pytest.raises(openai.APIStatusError) as caught:
        complete(client, **changes)
    assert caught.value.status_code == expected


def test_a_gateway_serves_one_path_and_knows_its_keys() -> None:
    with serving(ChatUpstream(keys={"good"})) as url:
        with openai_client(url, key="good") as client:
            assert [model.id for model in client.models.list()] == ["demo-model", "grok-4.3"]
        with openai_client(url, key="bad") as client, pytest.raises(openai.AuthenticationError):
            complete(client)
        with openai_client(f"{url}/v1", key="good") as client, pytest.raises(openai.NotFoundError):
            complete(client)


@pytest.mark.parametrize("family", RELAY_ERRORS)
def test_relays_fail_in_their_own_words(family: str) -> None:
    expected, body = RELAY_ERRORS[family]
    upstream = ChatUpstream(script=relay_error(family))
    with serving(upstream) as url, openai_client(url) as client, pytest.raises(openai.APIStatusError) as caught:
        complete(client)
    assert (caught.value.status_code, caught.value.response.json()) == (expected, body)


# --------------------------------------------------------------------------- Tavily's own answers


@contextmanager
def tavily_on(upstream: TavilyUpstream, *, key: str | None = KEY) -> Iterator[Any]:
    with serving(upstream) as url, tavily_client(url, key=key) as client:
        yield client


def test_a_tavily_search_is_plain_unless_more_is_asked() -> None:
    with tavily_on(TavilyUpstream()) as client:
        plain = client.search(QUESTION)
        full = client.search(
            QUESTION,
            include_answer=True,
            include_raw_content="markdown",
            include_images=True,
            include_usage=True,
            topic="news",
            max_results=2,
        )
    assert (plain["query"], plain["answer"], plain["images"]) == (QUESTION, None, [])
    assert len(plain["results"]) == 5
    assert "usage" not in plain
    assert all("published_date" not in result and QUESTION in result["title"] for result in plain["results"])
    scores = [result["score"] for result in plain["results"]]
    assert scores == sorted(scores, reverse=True)
    assert full["answer"]
    assert full["images"]
    assert full["usage"] == {"credits": 1}
    assert [bool(result["raw_content"] and result["published_date"]) for result in full["results"]] == [True, True]


def test_tavily_include_domains_only_moves_pages_up_unless_a_mode_restricts() -> None:
    with serving(TavilyUpstream()) as url:
        hosts = {}
        for mode in (None, "prefer", "restrict", "filter"):
            body = {
                "query": QUESTION,
                "include_domains": ["wiki.example.net"],
                **({"include_domains_mode": mode} if mode else {}),
            }
            reply = httpx.post(f"{url}/search", json=body, headers={"authorization": f"Bearer {KEY}"}).json()
            hosts[mode] = [httpx.URL(result["url"]).host for result in reply["results"]]
    assert hosts[None] == hosts["prefer"]
    assert hosts[None][0] == "wiki.example.net"
    assert len(set(hosts[None])) == 5
    assert hosts["restrict"] == hosts["filter"] == ["wiki.example.net"]


def test_tavily_extract_lists_good_and_failed_pages() -> None:
    upstream = TavilyUpstream(
        pages={"https://a.example.org/x": "# X\n\nText."}, failing={"https://b.example.org/y": "403 Forbidden"}
    )
    with tavily_on(upstream) as client:
        answer = client.extract(["https://a.example.org/x", "https://b.example.org/y", "https://c.invalid/z"], include_usage=True)
    assert [(page["url"], page["raw_content"]) for page in answer["results"]] == [("https://a.example.org/x", "# X\n\nText.")]
    assert [page["error"] for page in answer["failed_results"]] == ["403 Forbidden", "Failed to fetch url"]
    assert answer["usage"] == {"credits": 1}


def test_tavily_map_follows_depth_paths_and_limit() -> None:
    with tavily_on(TavilyUpstream()) as client:
        shallow = client.map("https://council.example.org")
        news = client.map("https://council.example.org", max_depth=2, select_paths=["/news/.*"], limit=1)
        crawled = client.crawl("https://council.example.org", limit=2)
    assert "https://council.example.org/news/library-hours" not in shallow["results"]
    assert news["results"] == ["https://council.example.org/news/footbridge-reopens"]
    assert [page["url"] for page in crawled["results"]] == shallow["results"][:2]


def test_each_tavily_key_has_its_own_fate() -> None:
    upstream = TavilyUpstream(keys={"tvly-good": ok(), "tvly-spent": status(432)})
    with serving(upstream) as url:
        with tavily_client(url, key="tvly-good") as client:
            assert client.search(QUESTION)["results"]
        with tavily_client(url, key="tvly-spent") as client, pytest.raises(tavily.errors.ForbiddenError):
            client.search(QUESTION)
        with tavily_client(url, key="tvly-unknown") as client, pytest.raises(tavily.InvalidAPIKeyError):
            client.search(QUESTION)
    assert [request.key for request in upstream.requests] == ["tvly-good", "tvly-spent", "tvly-unknown"]


def test_tavily_counts_credits_by_depth_until_the_plan_ends() -> None:
    upstream = TavilyUpstream(plan_limit=3)
    with serving(upstream) as url, tavily_client(url) as client:
        client.search(QUESTION, search_depth="advanced")
        client.search(QUESTION)
        with pytest.raises(tavily.errors.ForbiddenError):
            client.search(QUESTION)
        usage = httpx.get(f"{url}/usage", headers={"authorization": f"Bearer {KEY}"}).json()
    assert upstream.credits_used(KEY) == usage["key"]["search_usage"] == usage["key"]["limit"] == 3


def test_tavily_without_a_key_searches_until_the_cap_and_does_not_map() -> None:
    with serving(TavilyUpstream(keyless_limit=1)) as url:
        with tavily_client(url, key=None) as client:
            assert client.search(QUESTION)["results"]
            with pytest.raises(Exception, match="hourly limit") as caught:
                client.search(QUESTION)
        assert type(caught.value).__name__ == "TavilyKeylessLimitError"
        assert (
            httpx.post(f"{url}/map", json={"url": "a.example.org"}, headers={"x-tavily-access-mode": "keyless"}).status_code
            == 401
        )
        assert httpx.post(f"{url}/search", json={"query": QUESTION}).status_code == 401


TAVILY_REFUSED: dict[str, tuple[str, dict[str, Any], int]] = {
    "a long query": ("/search", {"query": "x" * 401}, 400),
    "an unknown topic": ("/search", {"query": "x", "topic": "sports"}, 400),
    "21 results": ("/search", {"query": "x", "max_results": 21}, 400),
    "a day that is none": ("/search", {"query": "x", "start_date": "14.11.2026"}, 400),
    "a number as text": ("/search", {"query": "x", "max_results": "many"}, 422),
    "a text as list": ("/search", {"query": "x", "include_domains": "a.org"}, 422),
    "no query": ("/search", {}, 422),
    "21 pages": ("/extract", {"urls": [f"https://a.example.org/{n}" for n in range(21)]}, 400),
    "a deep map": ("/map", {"url": "a.example.org", "max_depth": 6}, 400),
    "a site that cannot be": ("/map", {"url": "ftp://a.example.org"}, 403),
}


@pytest.mark.parametrize("case", TAVILY_REFUSED)
def test_tavily_refuses_what_is_documented(case: str, services: dict[str, Service]) -> None:
    path, body, expected = TAVILY_REFUSED[case]
    services["tavily"].upstream.follow(ok())
    reply = httpx.post(services["tavily"].url + path, json=body, headers={"authorization": f"Bearer {KEY}"})
    assert reply.status_code == expected
    assert reply.json()["detail"]


# --------------------------------------------------------------------------- Firecrawl's own answers


def test_a_firecrawl_search_is_grouped_by_source() -> None:
    with serving(FirecrawlUpstream()) as url:
        answer = firecrawl_client(url).search(QUESTION, limit=2, sources=["web", "news", "images"])
        flat = V1FirecrawlApp(api_key=KEY, api_url=url).search(QUESTION, limit=2)
    assert [hit.position for hit in answer.web] == [1, 2]
    assert all(QUESTION in hit.title for hit in answer.web)
    assert len(answer.news) == len(answer.images) == len(flat.data) == 2


@pytest.mark.parametrize("nothing", ["group", "object"])
def test_an_empty_firecrawl_search_has_an_empty_group_or_none(nothing: Any) -> None:
    with serving(FirecrawlUpstream(sources=[], nothing=nothing)) as url:
        assert not firecrawl_client(url).search(QUESTION).web


def test_a_firecrawl_search_can_read_its_hits() -> None:
    with serving(FirecrawlUpstream()) as url:
        options = ScrapeOptions(formats=["markdown"])
        answer = firecrawl_client(url).search(QUESTION, limit=1, include_domains=["docs.example.org"], scrape_options=options)
    assert "docs.example.org" in answer.web[0].markdown
    assert answer.web[0].metadata.status_code == 200


def test_a_firecrawl_scrape_tells_a_missing_page_from_a_missing_host() -> None:
    with serving(FirecrawlUpstream(pages={"https://a.example.org/x": Scraped(markdown="Nothing here", status=404)})) as url:
        client = firecrawl_client(url)
        missing = client.scrape("https://a.example.org/x", formats=["markdown"])
        with pytest.raises(Exception, match="DNS resolution failed") as caught:
            client.scrape("https://nowhere.invalid/", formats=["markdown"])
    assert (missing.metadata.status_code, missing.metadata.error, missing.markdown) == (404, "Not Found", "Nothing here")
    assert type(caught.value).__name__ == "DNSResolutionError"


def test_a_firecrawl_page_is_cached_unless_a_fresh_one_is_wanted() -> None:
    with serving(FirecrawlUpstream()) as url:
        client = firecrawl_client(url)
        states = [client.scrape("https://a.example.org/x", max_age=age).metadata.cache_state for age in (1000, 1000, 0)]
        only_cached = httpx.post(f"{url}/v2/scrape", json={"url": "https://a.example.org/y", "minAge": 1000})
    assert states == ["miss", "hit", "miss"]
    assert (only_cached.status_code, only_cached.json()["code"]) == (404, "SCRAPE_NO_CACHED_DATA")


def test_a_firecrawl_map_filters_by_a_word() -> None:
    with serving(FirecrawlUpstream()) as url:
        links = firecrawl_client(url).map("https://council.example.org", search="docs").links
        old = V1FirecrawlApp(api_key=KEY, api_url=url).map_url("https://council.example.org", search="docs").links
    assert [link.url for link in links] == old == ["https://council.example.org/docs", "https://council.example.org/docs/install"]


def test_firecrawl_spends_credits_until_payment_is_required() -> None:
    with serving(FirecrawlUpstream(credits=2)) as url:
        client = firecrawl_client(url)
        client.scrape("https://a.example.org/x")
        assert client.get_credit_usage().remaining_credits == 1
        with pytest.raises(Exception, match="Insufficient credits") as caught:
            client.search(QUESTION)
    assert type(caught.value).__name__ == "PaymentRequiredError"


def test_firecrawl_writes_the_wait_of_a_429_into_its_text() -> None:
    with serving(FirecrawlUpstream(script=Script(rate_limited(wait_s=7), rate_limited(wait_s=7, in_header=True)))) as url:
        first, second = (httpx.post(f"{url}/v2/search", json={"query": "x"}) for _ in range(2))
    assert "retry after 7s" in first.json()["error"]
    assert (first.headers.get("retry-after"), second.headers.get("retry-after")) == (None, "7")


FIRECRAWL_CREDENTIALS: dict[str, tuple[str, dict[str, str], str | None]] = {
    "a wrong key": ("/v2/search", {"authorization": "Bearer fc-bad"}, "Unauthorized: Invalid token"),
    "no key for a map": ("/v2/map", {}, "Unauthorized: Token missing"),
    "another scheme": ("/v2/search", {"authorization": "Basic abc"}, "Unauthorized"),
    "no key for a search": ("/v2/search", {}, None),
    "the right key": ("/v2/search", {"authorization": "Bearer fc-good"}, None),
}


@pytest.mark.parametrize("case", FIRECRAWL_CREDENTIALS)
def test_firecrawl_says_unauthorized_in_three_spellings(case: str) -> None:
    path, headers, expected = FIRECRAWL_CREDENTIALS[case]
    with serving(FirecrawlUpstream(keys={"fc-good"})) as url:
        reply = httpx.post(url + path, json={"query": "x", "url": "https://a.example.org"}, headers=headers)
    assert (reply.status_code, reply.json().get("error")) == ((200, None) if expected is None else (401, expected))


def test_a_self_hosted_firecrawl_needs_no_key_and_says_that_it_is_ready() -> None:
    with serving(FirecrawlUpstream(self_hosted=True)) as url:
        assert httpx.get(f"{url}/v0/health/readiness").json() == {"status": "ok"}
        assert set(httpx.post(f"{url}/v2/search", json={"query": "x"}).json()) == {"success", "data"}
        assert httpx.post(f"{url}/v2/map", json={"url": "https://a.example.org"}).json()["success"] is True


FIRECRAWL_REFUSED: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "a limit of 101": ("/v2/search", {"query": "x", "limit": 101}, None),
    "both domain lists": ("/v2/search", {"query": "x", "includeDomains": ["a.org"], "excludeDomains": ["b.org"]}, None),
    "an unknown category": ("/v2/search", {"query": "x", "categories": ["blogs"]}, None),
    "the category that is gone": ("/v2/search", {"query": "x", "categories": [{"type": "github"}]}, "CATEGORY_REMOVED"),
    "a long query": ("/v2/search", {"query": "x" * 501}, None),
    "a period that is none": ("/v2/search", {"query": "x", "tbs": "yesterday"}, None),
    "an unknown format": ("/v2/scrape", {"url": "https://a.example.org", "formats": ["docx"]}, None),
    "no address": ("/v2/scrape", {}, "BAD_REQUEST"),
    "half an address": ("/v2/scrape", {"url": "a.example.org"}, None),
}


@pytest.mark.parametrize("case", FIRECRAWL_REFUSED)
def test_firecrawl_refuses_what_is_documented(case: str, services: dict[str, Service]) -> None:
    path, body, code = FIRECRAWL_REFUSED[case]
    services["firecrawl"].upstream.follow(ok())
    reply = httpx.post(services["firecrawl"].url + path, json=body, headers={"authorization": f"Bearer {KEY}"})
    assert (reply.status_code, reply.json()["success"], reply.json().get("code")) == (400, False, code)


# --------------------------------------------------------------------------- answers that are no answers


@pytest.mark.parametrize("step", [not_json(), html_page()], ids=lambda step: step.name)
def test_sdks_do_not_take_a_page_for_data(step: Any, services: dict[str, Service]) -> None:
    service = services["tavily"]
    service.upstream.follow(step)
    with tavily_client(service.url) as client, pytest.raises(ValueError, match="Expecting"):
        client.search(QUESTION)
