"""Results within a budget of tokens, over real stdio."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from e2e.wire import SERVER
from upstreams.xai import XaiUpstream
from websearch_adapters.tokens import counter

pytestmark = pytest.mark.anyio


async def test_an_operators_limit_in_tokens_holds_for_both_forms_of_a_result(keyed: dict[str, str], xai: XaiUpstream) -> None:
    xai.answer_text = "\n".join(f"Line {number} says 世界 and 😀." for number in range(3_000))
    count = counter()
    async with Client(StdioServerParameters(command=SERVER[0], env={**keyed, "WEBSEARCH_SERVER_MAX_TOKENS": "2000"})) as client:
        reply = await client.call_tool("web_search", {"query": "q", "extra_sources": 0})
        plain: dict[str, Any] = reply.structured_content or {}
        assert plain["next_start"] is not None
        assert count(json.dumps(plain, ensure_ascii=False, separators=(",", ":"))) <= 2_000
        assert count(reply.content[0].text) <= 2_000  # type: ignore[union-attr]
        again = await client.call_tool("get_sources", {"session_id": plain["session_id"], "start": plain["next_start"]})
        shown = plain["content"] + (again.structured_content or {})["content"]
        assert xai.answer_text.startswith(re.sub(r"\[\[\d+\]\]\([^)]*\)", "", shown))
