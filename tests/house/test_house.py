"""The rules that keep the house simple, checked by machine."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import websearch_adapters
import websearch_core
import websearch_mcp
from house.frames import frames_of_a_search

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (websearch_core, websearch_adapters, websearch_mcp)
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


def modules() -> list[ModuleType]:
    names = [info.name for package in PACKAGES for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


def test_the_packages_under_test_are_those_of_this_checkout() -> None:
    for package in PACKAGES:
        assert Path(inspect.getfile(package)).is_relative_to(ROOT / "src")


# --- import rules


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(folder / 'src')!r}); from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_all_import_contracts_hold() -> None:
    run = lint(ROOT)
    assert run.returncode == 0, run.stdout
    kept = re.search(r"Contracts: (\d+) kept, 0 broken", run.stdout)
    assert kept is not None
    assert int(kept.group(1)) >= 10


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("websearch_core/retry.py", "import httpx"),
        ("websearch_core/urls.py", "from websearch_core import search"),
        ("websearch_core/merge.py", "def late() -> None:\n    import pydantic"),
        ("websearch_core/search.py", "from websearch_core import fetch"),
        ("websearch_adapters/providers/xai.py", "from websearch_adapters.providers import tavily"),
        ("websearch_adapters/http/client.py", "import mcp"),
        ("websearch_adapters/settings.py", "from websearch_mcp import tools"),
        ("websearch_mcp/server.py", "import punq"),
        ("websearch_core/helpers.py", '"""A room that nobody planned."""'),
    ],
)
def test_a_planted_violation_is_caught(copy: Path, file: str, line: str) -> None:
    path = copy / "src" / file
    before = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n", encoding="utf-8")
    try:
        run = lint(copy)
        assert run.returncode != 0, f"not caught: {line} in {file}\n{run.stdout}"
    finally:
        path.unlink() if before is None else path.write_text(before, encoding="utf-8")


# --- cold start


def loaded_after(program: str, tmp_path: Path) -> set[str]:
    """Top-level modules that a fresh interpreter holds after running `program`."""
    from e2e.wire import environment

    report = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}"], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


def third_parties(names: set[str]) -> set[str]:
    own = {"websearch_core", "websearch_adapters", "websearch_mcp"}
    tops = {name.partition(".")[0] for name in names}
    return {top for top in tops if top not in sys.stdlib_module_names and top not in own and not top.startswith("_")}


HEAVY = {"httpx", "httpcore", "diskcache", "backoff", "lxml", "charset_normalizer", "protego", "redis", "sqlite3", "rich"}


def test_importing_the_core_loads_no_third_party_but_annotated_types(tmp_path: Path) -> None:
    names = [
        module.__name__
        for module in modules()
        if module.__name__.startswith("websearch_core") and ".testing" not in module.__name__
    ]
    loaded = third_parties(loaded_after(f"import websearch_core, {', '.join(names)}", tmp_path))
    alone = third_parties(loaded_after("import annotated_types", tmp_path))
    assert "annotated_types" in loaded
    assert loaded == alone  # annotated_types itself looks for typing_extensions


def test_help_costs_an_interpreter_and_argparse(tmp_path: Path) -> None:
    loaded = loaded_after("from websearch_mcp.cli.main import parser\nparser().format_help()", tmp_path)
    assert not {"mcp", "pydantic", "httpx", "punq", "asyncio", "websearch_core", "websearch_adapters"} & loaded


def test_building_the_container_loads_no_adapter_but_the_settings(tmp_path: Path) -> None:
    program = "import websearch_mcp.stdio\nfrom websearch_adapters import settings\nfrom websearch_mcp.container import build\nbuild(settings.read())"
    loaded = loaded_after(program, tmp_path)
    assert not HEAVY & loaded
    assert {name for name in loaded if name.startswith("websearch_adapters.")} == {"websearch_adapters.settings"}


LIST_TOOLS = """
import asyncio
from websearch_adapters import settings
from websearch_mcp.container import build
from websearch_mcp.server import make_server
from mcp.server.stdio import stdio_server
import io, json, sys, anyio

class Input:
    # Lines that end only when the reply is there: the end of input cancels what is under way.

    async def __aiter__(self):
        for line in wire:
            yield line
        while '"web_search"' not in out.getvalue():
            await asyncio.sleep(0.01)

async def main():
    global wire, out
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    wire, out = [json.dumps(line) + chr(10) for line in lines], io.StringIO()
    server = make_server(build(settings.read()).resolve)
    async with stdio_server(Input(), anyio.wrap_file(out)) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
    assert '"web_search"' in out.getvalue(), out.getvalue()

anyio.run(main)
"""


def test_a_round_trip_of_the_tool_list_loads_no_provider_and_no_parser(tmp_path: Path) -> None:
    loaded = loaded_after(LIST_TOOLS, tmp_path)
    assert not HEAVY & loaded
    assert not any(name.startswith(("websearch_adapters.providers.", "websearch_adapters.extract.")) for name in loaded)


@pytest.mark.parametrize("words", [["config", "show"], ["upstream", "list"]], ids=" ".join)
def test_commands_that_serve_nobody_never_load_the_protocol_library(tmp_path: Path, words: list[str]) -> None:
    program = f"import sys\nfrom websearch_mcp.cli.main import main\nassert main({words}) == 0"
    assert "mcp" not in loaded_after(program, tmp_path)


# --- names, frames, packaging


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_what_a_module_offers_is_what_it_says(module: ModuleType) -> None:
    if not hasattr(module, "__all__"):
        assert Path(inspect.getfile(module)).name == "__init__.py", f"{module.__name__} has no __all__"
        return
    offered = list(module.__all__)
    assert len(set(offered)) == len(offered)
    for name in offered:
        assert hasattr(module, name), f"{module.__name__}.{name} is offered and not there"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_every_module_says_what_it_is(module: ModuleType) -> None:
    source = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    assert not source.strip() or ast.get_docstring(ast.parse(source))


@pytest.mark.anyio
async def test_a_search_passes_four_frames_of_ours() -> None:
    frames = await frames_of_a_search()
    assert sorted(frames) == [
        "websearch_adapters/http/client.py:exchange",
        "websearch_adapters/providers/xai.py:answer",
        "websearch_core/search.py:__call__",
        "websearch_mcp/server.py:call_tool",
    ]


@pytest.mark.requirement("OURS-41")
def test_the_console_scripts_are_the_two_that_runners_know() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["scripts"]) == {"websearch", "websearch-mcp"}
    assert project["license"] == "MIT"


def test_no_room_has_a_name_that_says_nothing() -> None:
    banned = {"utils", "util", "helpers", "helper", "common", "base", "misc", "manager", "service", "models"}
    assert not [path for path in (ROOT / "src").rglob("*.py") if path.stem in banned]


def test_nothing_is_unfinished_or_faked() -> None:
    words = re.compile("TO" + r"DO|FIX" + r"ME|XX" + r"X\b|unittest\.mo" + r"ck|Magic" + r"Mock|monkeypatch\.set" + "attr")
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").iterdir()]
    found = [
        f"{path}:{number}"
        for path in files
        if path.is_file()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line)
    ]
    assert not found


@pytest.mark.requirement("OURS-34")
def test_generated_pages_are_fresh() -> None:
    run = subprocess.run([sys.executable, ROOT / "scripts" / "docs", "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_network_guard_guards() -> None:
    import socket

    with socket.socket() as one, pytest.raises(BaseException, match="a test tried to connect"):
        one.connect(("192.0.2.1", 9))
