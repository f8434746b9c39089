"""A real server process over stdio keeps working, whatever its upstreams do."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.wire import Wire
from upstreams.script import hang, ok, status
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream

KNOWN = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}


def structured(reply: dict[str, Any]) -> dict[str, Any]:
    """The structured result; the flag says the same."""
    result: dict[str, Any] = reply["structuredContent"]
    assert reply["isError"] is (result["status"] == "error")
    return result


@pytest.mark.requirement("P5-STDIO-02")
def test_every_key_refused(keyed: dict[str, str], xai: XaiUpstream, tavily: TavilyUpstream) -> None:
    keys = ["tvly-canary-0123456789", "tvly-canary-9876543210"]
    xai.follow(status(401))
    tavily.follow(status(401))
    with Wire({**keyed, "TAVILY_API_KEYS": ",".join(keys)}) as wire:
        wire.initialize()
        reply = wire.result("web_search", query="footbridge", extra_sources=2)
        assert structured(reply)["error"] == "grok_authentication_error"
        assert "canary" not in str(wire.messages)
        assert "canary" not in wire.stderr
        assert len(wire.tools()) == 7
    assert {request.key for request in tavily.requests} == set(keys)


@pytest.mark.requirement("P5-STDIO-03", "P5-CLIENT-05")
def test_failover_used_up(keyed: dict[str, str], xai: XaiUpstream) -> None:
    """One attempt and one: each model is asked once, and the server answers the next call."""
    xai.follow(status(503))
    models = {"GROK_PRIMARY_MODEL": "grok-4.7", "GROK_FALLBACK_MODEL": "grok-4.3", "GROK_MODEL_MAX_ATTEMPTS": "1"}
    with Wire({**keyed, **models, "WEBSEARCH_SEARCH_SOURCE_FALLBACK": "never"}) as wire:
        wire.initialize()
        result = structured(wire.result("web_search", query="footbridge", extra_sources=0))
        assert (result["status"], result["error"]) == ("error", "grok_primary_and_fallback_failed")
        told = result["error_detail"]["diagnostics"]
        assert (told["primary_attempts"], told["fallback_attempts"], told["total_attempts"]) == (1, 1, 2)
        assert [request.json["model"] for request in xai.requests] == ["grok-4.7", "grok-4.3"]
        xai.follow(ok())
        assert structured(wire.result("web_search", query="another", extra_sources=0))["status"] == "success"


@pytest.mark.requirement("P5-STDIO-01", "P5-STDIO-04")
def test_every_outcome_in_one_session(keyed: dict[str, str], xai: XaiUpstream, tavily: TavilyUpstream) -> None:
    env = {**keyed, "GROK_SEARCH_SOURCE_PROVIDERS": "tavily"}
    with Wire(env) as wire:
        wire.initialize()
        whole = structured(wire.result("web_search", query="one", extra_sources=2))
        tavily.follow(status(400))
        partial = structured(wire.result("web_search", query="two", extra_sources=2))
        xai.follow(status(400))
        error = structured(wire.result("web_search", query="three", extra_sources=2))
        refused = structured(wire.result("web_search", query="four", extra_sources=99))
        assert [one["status"] for one in (whole, partial, error, refused)] == ["success", "partial_success", "error", "error"]
        assert (partial["error_detail"]["code"], error["error"]) == ("tavily_request_invalid", "grok_request_invalid")
        assert refused["error"] == "invalid_input"
        xai.follow(ok())
        tavily.follow(ok())
        assert structured(wire.result("web_search", query="five", extra_sources=2))["status"] == "success"
        assert len(wire.tools()) == 7
        wire.end_input()
        assert wire.ended() == 0
        wire.assert_only_protocol()


@pytest.mark.requirement("HEAD-17", "OURS-18")
def test_a_call_that_runs_out_of_time(keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.follow(hang())
    with Wire({**keyed, "WEBSEARCH_SEARCH_DEADLINE_S": "1", "WEBSEARCH_SEARCH_SOURCE_FALLBACK": "never"}) as wire:
        wire.initialize()
        result = structured(wire.result("web_search", query="slow", extra_sources=0))
        assert (result["status"], result["error"]) == ("error", "grok_total_budget_exhausted")
        assert result["error_detail"]["retryable"] is True
        xai.wait_until(lambda it: it.in_flight == 0)
        xai.follow(ok())
        assert structured(wire.result("web_search", query="quick", extra_sources=0))["status"] == "success"


@pytest.mark.requirement("RS-MCP-01")
@pytest.mark.parametrize("version", [*sorted(KNOWN), "1999-01-01", "2999-12-31"])
def test_the_protocol_version_is_the_clients_if_known(version: str, keyed: dict[str, str]) -> None:
    with Wire(keyed) as wire:
        answered = wire.initialize(version)["protocolVersion"]
        assert answered == version if version in KNOWN else answered in KNOWN
        assert wire.tools()


@pytest.mark.requirement("RS-MCP-02", "RS-MCP-03")
def test_notifications_are_silent_and_a_ping_is_answered(keyed: dict[str, str]) -> None:
    with Wire(keyed) as wire:
        wire.initialize()
        for method in ("notifications/initialized", "notifications/of-the-future", "notifications/cancelled"):
            wire.send({"jsonrpc": "2.0", "method": method, "params": {"requestId": 4711} if "cancelled" in method else {}})
        before = len(wire.messages)
        assert wire.reply(wire.request("ping"))["result"] == {}
        assert len(wire.messages) == before + 1
