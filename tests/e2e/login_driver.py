"""One process of many that pay with the same login: asks the API once for every line that it is given, and says how it went."""

from __future__ import annotations

import asyncio
import sys

from websearch_adapters import settings
from websearch_adapters.http.client import Http, JsonReply, Request
from websearch_core.errors import WebSearchError
from websearch_core.ports import Credentials
from websearch_core.retry import RetryPolicy
from websearch_mcp.container import Closing, build


async def main() -> None:
    """Ask until the input ends."""
    loaded = settings.read()
    box = build(loaded)
    http = Http(box.resolve(Credentials))
    wanted = Request(provider="grok", base_url=loaded.settings.xai.api_url, path="/models", method="GET")
    print("ready", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        try:
            reply = await http.retrying(RetryPolicy(max_attempts=1))(wanted, lambda: JsonReply("grok"))
            print(f"answered {bool(reply['data'])}", flush=True)
        except WebSearchError as error:
            print(f"failed {type(error).__name__}: {error.message}", flush=True)
    await http.aclose()
    await box.resolve(Closing).aclose()


if __name__ == "__main__":
    with asyncio.Runner() as runner:
        runner.run(main())
