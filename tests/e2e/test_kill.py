"""A process that is killed while it writes leaves behind what the next one can read."""

from __future__ import annotations

import asyncio
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from websearch_adapters.cache.disk import DiskCache
from websearch_core.values import Page

BENCH = Path(__file__).resolve().parents[2] / "bench" / "kill.py"
KILLS = 24


@pytest.fixture(scope="module")
def kill() -> dict[str, Any]:
    return runpy.run_path(str(BENCH))


@pytest.mark.requirement("OURS-17")
@pytest.mark.parametrize("seed", [7, 11])
def test_every_state_that_a_killed_writer_leaves_is_valid(seed: int) -> None:
    """Cache and configuration, each killed at 24 moments; the bench does it 200 times."""
    run = subprocess.run([sys.executable, BENCH, str(KILLS), str(seed)], capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout == f"0 invalid states after {2 * KILLS} kills\n", run.stdout + run.stderr
    assert run.returncode == 0


@pytest.mark.parametrize(
    "text",
    ["", "[engine", '[engine]\nprimary_model = "gr', '[engine]\nprimary_model = "grok-1"\n', '[engine]\nprimary_model = "x"\n'],
)
def test_half_a_configuration_would_be_noticed(text: str, kill: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    assert kill["_read_configuration"](tmp_path)


def test_a_whole_configuration_passes(kill: dict[str, Any], tmp_path: Path) -> None:
    whole = kill["CONFIGURATION"].replace("grok-0", "grok-3")
    (tmp_path / "config.toml").write_text(whole, encoding="utf-8")
    assert kill["_read_configuration"](tmp_path) == ""


def test_a_page_that_was_never_put_would_be_noticed(kill: dict[str, Any], tmp_path: Path) -> None:
    async def put(text: str) -> None:
        cache = DiskCache(tmp_path)
        page = Page(url=kill["ADDRESSES"][1], title="7", text=text, provider="local")
        await cache.put(page.url, page, ttl_s=60)
        await cache.aclose()

    asyncio.run(put("half of i"))  # noqa: TID251 - beside the reader's own loop
    assert "never put" in kill["_read_cache"](tmp_path)
    asyncio.run(put(kill["_page"](kill["ADDRESSES"][1], 7).text))  # noqa: TID251 - as above
    assert kill["_read_cache"](tmp_path) == ""
