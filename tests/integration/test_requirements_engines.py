"""What both engines promise of attempts, waits and hostile streams, seen through the MCP server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from conformance.connected import CHAT_KEY, TAVILY_KEY, called, connected
from upstreams.chat_completions import ChatUpstream
from upstreams.exchange import Pieces
from upstreams.script import Step, answering, cut_after, delay, endless_comments, html_page, huge, ok, redirect, status
from upstreams.serve import serve
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream

pytestmark = pytest.mark.anyio
ENGINES = ["xai", "chat"]


def upstream_of(kind: str, *steps: Step) -> XaiUpstream | ChatUpstream:
    upstream = XaiUpstream(models=["one", "two"]) if kind == "xai" else ChatUpstream(models=["one", "two"])
    upstream.follow(*(steps or (ok(),)))
    return upstream


def stream(*events: str) -> Step:
    """An event stream with status 200."""
    data = [f"{event}\n\n".encode() for event in events]
    return answering("stream", lambda _: Pieces(data, headers={"content-type": "text/event-stream"}))


def error(code: str, http_status: int = 200) -> Step:
    return status(http_status, body={"error": {"code": code, "message": "as the code says"}})


@pytest.mark.requirement("OURS-22", "P5-CLIENT-03", "P5-CLIENT-07")
@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
async def test_both_engines_repeat_what_can_pass(kind: str, code: int, tmp_path: Path) -> None:
    fault = error("not_now", code)  # without the vendor's own wish to wait
    upstream = upstream_of(kind, fault, fault, ok())
    services: dict[str, Any] = {kind: upstream}
    async with connected(tmp_path, **services, GROK_PRIMARY_MODEL="one") as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
    assert (result["status"], len(upstream.requests)) == ("success", 3)


@pytest.mark.requirement("HEAD-04", "HEAD-05")
@pytest.mark.parametrize("limit", [1, 2])
async def test_no_more_requests_than_allowed_run_at_once_repetitions_included(limit: int, tmp_path: Path) -> None:
    chat = upstream_of("chat", *(delay(0.1, error("not_now", 503)) for _ in range(4)), delay(0.1))
    most = 0

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        nonlocal most
        most = max(most, chat.in_flight + (scope["type"] == "http"))
        await chat(scope, receive, send)

    async with serve(watched) as base:
        more = {"GROK_API_URL": f"{base}/v1", "GROK_API_KEY": CHAT_KEY, "GROK_PRIMARY_MODEL": "one"}
        limits: dict[str, Any] = {**more, "GROK_MAX_CONCURRENCY": str(limit), "GROK_MODEL_MAX_ATTEMPTS": "5"}
        async with connected(tmp_path, **limits) as client:
            asked = (called(client, "web_search", query=f"question {number}") for number in range(5))
            results = await asyncio.gather(*asked)
    assert {result["status"] for result in results} == {"success"}
    assert (most, len(chat.requests)) == (limit, 9)


@pytest.mark.requirement("OURS-22", "P5-CLIENT-04", "P5-CLIENT-10")
@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize(
    ("fault", "models"),
    [(status(503), ["one", "one", "one", "two"]), (error("model_not_found", 404), ["one", "two"])],
    ids=["down", "unknown"],
)
async def test_both_engines_go_on_with_the_second_model(kind: str, fault: Step, models: list[str], tmp_path: Path) -> None:
    upstream = upstream_of(kind, *[fault] * (len(models) - 1), ok())
    services: dict[str, Any] = {kind: upstream}
    async with connected(tmp_path, **services, GROK_PRIMARY_MODEL="one", GROK_FALLBACK_MODEL="two") as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
    assert result["status"] == "success"
    assert [request.json["model"] for request in upstream.requests] == models
    assert "fallback_model" in {note["code"] for note in result["notes"]}


@pytest.mark.requirement("P5-CLIENT-06")
@pytest.mark.parametrize("fallback", ["", "one", " one "])
async def test_a_second_model_that_is_none_or_the_first_is_not_asked(fallback: str, tmp_path: Path) -> None:
    chat = upstream_of("chat", status(503))
    services: dict[str, Any] = {"chat": chat}
    async with connected(tmp_path, **services, GROK_PRIMARY_MODEL="one", GROK_FALLBACK_MODEL=fallback) as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
    assert (result["error"], len(chat.requests)) == ("grok_primary_failed", 3)


@pytest.mark.requirement("HEAD-18", "HEAD-19", "HEAD-20", "HEAD-21")
@pytest.mark.parametrize("framed", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize(
    ("code", "attempts"), [("rate_limit_exceeded", 2), ("overloaded", 2), ("of_our_relay", 2), ("nobody_knows_it", 1)]
)
async def test_errors_under_status_200_are_judged_by_their_code(framed: bool, code: str, attempts: int, tmp_path: Path) -> None:
    body = {"error": {"code": code, "message": "as the code says"}}
    fault = stream(f"data: {json.dumps(body)}") if framed else ok(body)
    chat = upstream_of("chat", fault, ok())
    services: dict[str, Any] = {"chat": chat}
    codes = "rate_limit_exceeded,overloaded,of_our_relay"
    async with connected(tmp_path, **services, GROK_PRIMARY_MODEL="one", GROK_RETRYABLE_UPSTREAM_CODES=codes) as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
    assert len(chat.requests) == attempts
    assert result["status"] == ("success" if attempts == 2 else "error")


@pytest.mark.requirement("P5-CLIENT-15")
async def test_a_connection_lost_after_the_finish_reason_spoils_nothing(tmp_path: Path) -> None:
    piece = json.dumps({"choices": [{"delta": {"content": "It is so."}, "finish_reason": "stop"}]})
    size = len(f"data: {piece}\n\n")
    chat = upstream_of("chat", cut_after(bytes=size, then=stream(f"data: {piece}", "data: [DONE]")))
    services: dict[str, Any] = {"chat": chat}
    async with connected(tmp_path, **services) as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
    assert (result["status"], result["content"], len(chat.requests)) == ("success", "It is so.", 1)


@pytest.mark.requirement("RS-SERVICE-06", "RS-ADAPTER-10")
@pytest.mark.parametrize("text", ["", " \n"])
async def test_citations_without_prose_are_no_answer(text: str, tmp_path: Path) -> None:
    bare = ok({"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "citations": ["https://one.example/"]})
    services: dict[str, Any] = {"chat": upstream_of("chat", bare), "tavily": TavilyUpstream()}
    async with connected(tmp_path, **services) as client:
        helped = await called(client, "web_search", query="footbridge", extra_sources=2)
    assert (helped["status"], helped["fallback_used"]) == ("partial_success", True)
    assert {source["provider"] for source in helped["sources"]} == {"tavily_fallback"}
    async with connected(tmp_path, chat=ChatUpstream(script=bare)) as client:
        alone = await called(client, "web_search", query="footbridge", extra_sources=0)
    assert (alone["status"], alone["content"], alone["sources"]) == ("error", "", [])


@pytest.mark.requirement("P5-CLIENT-13")
@pytest.mark.parametrize("kind", ENGINES)
async def test_a_stream_cut_before_any_text_is_left_and_asked_for_again(kind: str, tmp_path: Path) -> None:
    upstream = upstream_of(kind, cut_after(bytes=5), ok())
    services: dict[str, Any] = {kind: upstream}
    async with connected(tmp_path, **services, GROK_PRIMARY_MODEL="one") as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
        assert (result["status"], len(upstream.requests), upstream.in_flight) == ("success", 2, 0)


@pytest.mark.requirement("EDGE-14", "HEAD-17")
@pytest.mark.parametrize("kind", ENGINES)
async def test_comments_without_end_meet_the_deadline(kind: str, tmp_path: Path) -> None:
    upstream = upstream_of(kind, endless_comments(0.01))
    services: dict[str, Any] = {kind: upstream}
    limits: dict[str, Any] = {"WEBSEARCH_SEARCH_DEADLINE_S": "1", "WEBSEARCH_SEARCH_SOURCE_FALLBACK": "never"}
    async with connected(tmp_path, **services, **limits, GROK_PRIMARY_MODEL="one") as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
        assert (result["status"], result["error"]) == ("error", "grok_total_budget_exhausted")
        await upstream.until(lambda it: it.in_flight == 0)


@pytest.mark.requirement("EDGE-14")
async def test_a_huge_body_meets_the_limit(tmp_path: Path) -> None:
    tavily, chat = TavilyUpstream(script=huge(bytes=40_000_000)), upstream_of("chat", huge(bytes=40_000_000))
    services: dict[str, Any] = {"chat": chat, "tavily": tavily}
    async with connected(tmp_path, **services, GROK_PRIMARY_MODEL="one") as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=2)
        fetched = await called(client, "web_fetch", url="https://docs.example.org/", provider="tavily")
    assert result["status"] == fetched["status"] == "error"
    assert "more than" in fetched["error_detail"]["message"]


@pytest.mark.requirement("EDGE-05")
@pytest.mark.parametrize("kind", ENGINES)
async def test_a_login_page_is_a_wrong_address(kind: str, tmp_path: Path) -> None:
    upstream = upstream_of(kind, html_page())
    services: dict[str, Any] = {kind: upstream}
    async with connected(tmp_path, **services) as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
    assert (result["error"], result["error_detail"]["retryable"]) == ("grok_configuration_error", False)
    assert len(upstream.requests) == 1


@pytest.mark.requirement("EDGE-05")
@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_a_redirect_to_a_login_host_never_carries_a_key(code: int, tmp_path: Path) -> None:
    elsewhere = ChatUpstream()
    async with serve(elsewhere) as other:
        services: dict[str, Any] = {
            "chat": upstream_of("chat", redirect(f"{other}/login", code)),
            "tavily": TavilyUpstream(script=redirect(f"{other}/login", code)),
        }
        async with connected(tmp_path, **services) as client:
            result = await called(client, "web_search", query="footbridge", extra_sources=2)
            mapped = await called(client, "web_map", url="https://docs.example.org/", provider="tavily")
    assert result["error"] == "grok_configuration_error"
    assert mapped["error"] == "tavily_api_configuration_error"
    assert elsewhere.requests == []


@pytest.mark.requirement("EDGE-06", "P5-CLIENT-10")
@pytest.mark.parametrize(
    "words",
    ["The model `one` does not exist or you do not have access to it.", "Model one not found", "模型 one 不存在"],
)
async def test_a_model_error_with_the_name_inside_leads_to_the_second_model(words: str, tmp_path: Path) -> None:
    chat = upstream_of("chat", status(400, body={"error": {"message": words}}), ok())
    services: dict[str, Any] = {"chat": chat}
    async with connected(tmp_path, **services, GROK_PRIMARY_MODEL="one", GROK_FALLBACK_MODEL="two") as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=0)
    assert (result["status"], [request.json["model"] for request in chat.requests]) == ("success", ["one", "two"])


@pytest.mark.requirement("EDGE-02", "HEAD-10")
@pytest.mark.parametrize("wish", ["inf", "nan", "1e9", "-5", "Montag, 30. November 2026", "999999999"])
async def test_a_senseless_wish_to_wait_blocks_nothing(wish: str, tmp_path: Path) -> None:
    limited = answering("limited", lambda _: Response("{}", 429, {"retry-after": wish}, "application/json"))
    upstreams: dict[str, Any] = {"chat": upstream_of("chat", limited, ok()), "tavily": TavilyUpstream()}
    upstreams["tavily"].follow(limited, ok())
    async with connected(
        tmp_path, **upstreams, GROK_PRIMARY_MODEL="one", TAVILY_API_KEYS=f"{TAVILY_KEY},{TAVILY_KEY}2"
    ) as client:
        result = await called(client, "web_search", query="footbridge", extra_sources=2)
    assert result["status"] in {"success", "partial_success"}
    assert result["sources"]
