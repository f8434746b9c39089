"""A hub that runs hears what a person accepted in another process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from upstreams.labs import LAB
from websearch_adapters.settings import read
from websearch_adapters.upstream.config import UpstreamsFile
from websearch_adapters.upstream.digests import DigestFile
from websearch_adapters.upstream.parts import HubParts, Watch

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("HUB-TOOLS-05")
async def test_words_that_were_accepted_elsewhere_count_from_then_on(tmp_path: Path) -> None:
    tool = {"name": "pay", "description": "Pay all.", "inputSchema": {"type": "object"}}
    script = json.dumps({"tools": [tool]})
    loaded = read(environ={"WEBSEARCH_HOME": str(tmp_path)})
    file = UpstreamsFile(loaded.settings.upstreams_file)
    file.add("shop", {"command": sys.executable, "args": ["-S", "-E", str(LAB), script]})
    parts = HubParts(loaded)
    parts.digests.keep("shop", {"pay": "of other words"})
    hub = parts.supervisor()
    watch = Watch(parts, hub)
    try:
        hub.start()
        await hub.until_settled()
        (pay,) = (one for one in hub.catalog().tools if one.tool.name == "pay")
        assert pay.standing == "changed"
        watch.look()
        assert pay in hub.catalog().tools

        person = DigestFile(parts.digests.path)
        person.read()
        person.keep("shop", {"pay": pay.tool.digest})
        watch.look()
        assert [one.standing for one in hub.catalog().tools if one.tool.name == "pay"] == ["visible"]
    finally:
        await hub.aclose()
    assert DigestFile(parts.digests.path).read()["shop"]["pay"] == pay.tool.digest
