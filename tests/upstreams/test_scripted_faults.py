"""Each step of a script does on the wire what its name says, and the simulator notices who leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import anyio
import httpx
import pytest

from upstreams.chat_completions import ChatUpstream
from upstreams.script import (
    Script,
    Step,
    cut_after,
    delay,
    drip,
    endless_comments,
    example,
    gzip_bomb,
    hang,
    hang_up,
    huge,
    ok,
    redirect,
    reset,
    scenario,
    stall_after,
    status,
    stream_anyway,
    wrong_charset,
)
from upstreams.serve import serve, serving, transport
from upstreams.tavily import TavilyUpstream

pytestmark = pytest.mark.anyio
SEARCH = {"query": "Who repaired the footbridge?"}
ASK = {"model": "demo-model", "messages": [{"role": "user", "content": "Who repaired the footbridge?"}]}
AUTHORISED = {"authorization": "Bearer tvly-good"}


@pytest.fixture
def upstream() -> TavilyUpstream:
    return TavilyUpstream()


@pytest.fixture
def client(upstream: TavilyUpstream) -> Iterator[httpx.Client]:
    with serving(upstream) as url, httpx.Client(base_url=url, headers=AUTHORISED, timeout=5) as client:
        yield client


def in_process(upstream: TavilyUpstream) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=transport(upstream), base_url="http://tavily.test", headers=AUTHORISED)


# --------------------------------------------------------------------------- scripts


def test_steps_are_consumed_one_per_request_and_the_last_repeats(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(status(503), example("tavily/search.empty.json"), ok())
    replies = [client.post("/search", json=SEARCH) for _ in range(4)]
    assert [reply.status_code for reply in replies] == [503, 200, 200, 200]
    assert [len(reply.json().get("results", [])) for reply in replies] == [0, 0, 5, 5]


def test_then_always_adds_the_step_that_repeats() -> None:
    script = Script(reset()).then_always(ok())
    assert [script.next().name for _ in range(3)] == ["reset", "ok", "ok"]


def test_a_path_or_a_key_may_have_a_script_of_its_own() -> None:
    upstream = TavilyUpstream(keys={"tvly-good": ok(), "tvly-slow": status(429)}, paths={"/map": status(500)})
    with serving(upstream) as url, httpx.Client(base_url=url) as client:
        statuses = [
            client.post(path, json={**SEARCH, "url": "a.example.org"}, headers={"authorization": f"Bearer {key}"}).status_code
            for path in ("/search", "/map")
            for key in ("tvly-good", "tvly-slow")
        ]
    assert statuses == [200, 429, 500, 500]


def test_requests_are_recorded_as_they_came(upstream: TavilyUpstream, client: httpx.Client) -> None:
    client.post("/search?x=1", json=SEARCH)
    seen = upstream.last
    assert (seen.method, seen.path, seen.params, seen.key, seen.json) == ("POST", "/search", {"x": "1"}, "tvly-good", SEARCH)


def test_a_status_without_a_body_speaks_the_vendors_language(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(status(432), status(502), status(418), status(400, body={"own": "words"}), status(429, retry_after_s=1.5))
    spent, gateway, unknown, own, limited = (client.post("/search", json=SEARCH) for _ in range(5))
    assert "usage limit" in spent.json()["detail"]["error"]
    assert gateway.headers["content-type"].startswith("text/html")
    assert unknown.json()["detail"]["error"]
    assert own.json() == {"own": "words"}
    assert limited.headers["retry-after"] == "1.5"


# --------------------------------------------------------------------------- bodies


def test_a_huge_body_is_as_large_as_it_was_ordered(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(huge(1_000_000), huge(200_000, declared=True))
    undeclared, declared = (client.post("/search", json=SEARCH) for _ in range(2))
    assert (len(undeclared.content), undeclared.headers.get("content-length")) == (1_000_000, None)
    assert (len(declared.content), declared.headers.get("content-length")) == (200_000, "200000")
    assert set(undeclared.json()) == {"padding"}


def test_a_gzip_bomb_is_small_until_it_is_opened(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(gzip_bomb(10_000_000))
    reply = client.post("/search", json=SEARCH)
    assert int(reply.headers["content-length"]) < 20_000
    assert len(reply.content) == 10_000_000


def test_a_wrong_charset_cannot_be_read_under_its_declared_name(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(wrong_charset())
    body = client.post("/search", json=SEARCH).content
    with pytest.raises(UnicodeDecodeError):
        body.decode("utf-8")
    assert json.loads(body.decode("gbk"))


def test_a_redirect_names_its_target(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(redirect("/elsewhere"), redirect("http://127.0.0.1:1/", status=301))
    replies = [client.post("/search", json=SEARCH) for _ in range(2)]
    assert [(reply.status_code, reply.headers["location"]) for reply in replies] == [
        (307, "/elsewhere"),
        (301, "http://127.0.0.1:1/"),
    ]


def test_a_dripping_or_late_answer_is_the_same_answer(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(ok(), drip(100, 0.001), delay(0.01))
    at_once, dripped, late = (client.post("/search", json=SEARCH).json() for _ in range(3))
    assert at_once == dripped == late


def test_an_event_stream_can_come_unasked() -> None:
    with serving(ChatUpstream(script=stream_anyway())) as url:
        reply = httpx.post(f"{url}/v1/chat/completions", json=ASK, headers=AUTHORISED)
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.text.startswith("data: {")
    assert reply.text.endswith("data: [DONE]\n\n")


# --------------------------------------------------------------------------- broken connections


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (reset(), httpx.ReadError),
        (hang_up(), httpx.RemoteProtocolError),
        (cut_after(100), httpx.RemoteProtocolError),
        (cut_after(10**9), httpx.RemoteProtocolError),
        (scenario("xai-responses.stream.aborted"), httpx.RemoteProtocolError),
    ],
    ids=lambda value: value.name if isinstance(value, Step) else "",
)
async def test_a_broken_connection_looks_the_same_on_a_port_and_in_process(
    step: Step, expected: type[Exception], upstream: TavilyUpstream
) -> None:
    async with serve(upstream) as url, httpx.AsyncClient(base_url=url, headers=AUTHORISED) as on_port:
        for client in (on_port, in_process(upstream)):
            upstream.follow(step)
            with pytest.raises(expected):
                await client.post("/search", json=SEARCH)
            await upstream.until(lambda it: it.in_flight == 0)
            assert upstream.disconnects == 0


def test_a_cut_body_arrives_up_to_the_cut(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(cut_after(bytes=100))
    arrived: list[bytes] = []
    with client.stream("POST", "/search", json=SEARCH) as reply, pytest.raises(httpx.RemoteProtocolError):
        arrived.extend(reply.iter_raw())
    assert reply.status_code == 200
    assert len(b"".join(arrived)) == 100


def test_a_connection_serves_the_next_request_after_an_ordinary_one(upstream: TavilyUpstream, client: httpx.Client) -> None:
    upstream.follow(ok(), reset(), ok())
    assert client.post("/search", json=SEARCH).status_code == 200
    with pytest.raises(httpx.ReadError):
        client.post("/search", json=SEARCH)
    assert client.post("/search", json=SEARCH).status_code == 200


# --------------------------------------------------------------------------- clients that leave


@pytest.mark.parametrize("step", [hang(), endless_comments(0.001), stall_after(50)], ids=lambda step: step.name)
async def test_a_client_that_leaves_early_is_counted_and_let_go(step: Step, upstream: TavilyUpstream) -> None:
    upstream.follow(step)
    async with serve(upstream) as url, httpx.AsyncClient(base_url=url, headers=AUTHORISED) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: client.post("/search", json=SEARCH))
            await upstream.until(lambda it: it.in_flight == 1)
            group.cancel_scope.cancel()
        await upstream.until(lambda it: it.in_flight == 0)
    assert upstream.disconnects == 1


async def test_a_client_that_gives_up_in_process_is_counted_too(upstream: TavilyUpstream) -> None:
    upstream.follow(hang())
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: in_process(upstream).post("/search", json=SEARCH))
        await upstream.until(lambda it: it.in_flight == 1)
        group.cancel_scope.cancel()
    assert (upstream.disconnects, upstream.in_flight) == (1, 0)


async def test_a_server_stops_while_an_answer_hangs_and_calls_no_client_unfaithful(upstream: TavilyUpstream) -> None:
    upstream.follow(hang())

    async def ask(client: httpx.AsyncClient, url: str) -> None:
        with pytest.raises(httpx.TransportError):
            await client.post(f"{url}/search", json=SEARCH)

    async with httpx.AsyncClient() as client, anyio.create_task_group() as group, serve(upstream) as url:
        group.start_soon(ask, client, url)
        await upstream.until(lambda it: it.in_flight == 1)
    assert (upstream.disconnects, upstream.in_flight) == (0, 0)


async def test_waiting_for_what_does_not_happen_fails_with_the_state(upstream: TavilyUpstream) -> None:
    with pytest.raises(AssertionError, match="0 requests"):
        await upstream.until(lambda it: it.disconnects == 1, within_s=0.01)


def test_another_process_reaches_the_simulator(upstream: TavilyUpstream) -> None:
    program = (
        "import sys, urllib.request as r; print(r.urlopen(r.Request(sys.argv[1], headers={'authorization': 'Bearer k'})).status)"
    )
    with serving(upstream) as url:
        done = subprocess.run(
            [sys.executable, "-c", program, f"{url}/usage"], capture_output=True, text=True, check=True, timeout=120
        )
    assert done.stdout.strip() == "200"
    assert upstream.last.key == "k"
