"""Every code block of README and guides runs as it stands, and the embedding examples without what they promise to do without."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.wire import environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FORBID = """
import sys

class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ImportError("this example must do without " + name)

sys.meta_path.insert(0, Forbidden())
"""


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match.group(1), match.group(2)) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


ALL = [
    pytest.param(kind, code, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, (kind, code) in enumerate(blocks(page), 1)
]


def run(kind: str, code: str, home: Path) -> str:
    env = environment(home)
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    command = [sys.executable, "-c", code] if kind == "python" else ["bash", "-euo", "pipefail", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(("kind", "code"), ALL)
def test_the_block_runs(kind: str, code: str, tmp_path: Path) -> None:
    run(kind, code, tmp_path)


def test_every_python_block_is_typed(tmp_path: Path) -> None:
    """Whoever copies one into a strictly typed program has nothing to add."""
    files = []
    for page in PAGES:
        for number, (kind, code) in enumerate(blocks(page), 1):
            if kind == "python":
                files.append(tmp_path / f"{page.stem.replace('-', '_').lower()}_{number}.py")
                files[-1].write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache' / 'documents'}"]
    done = subprocess.run([*command, *map(str, files)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def readme(number: int) -> str:
    kind, code = blocks(ROOT / "README.md")[number]
    assert kind == "python"
    return code


def test_the_core_embeds_without_any_framework(tmp_path: Path) -> None:
    forbidden = FORBID.replace("{names}", repr({"mcp", "punq", "pydantic", "httpx", "backoff", "diskcache", "anyio"}))
    assert "QUIC" in run("python", forbidden + readme(0), tmp_path)


def test_the_real_adapters_embed_without_protocol_and_container(tmp_path: Path) -> None:
    forbidden = FORBID.replace("{names}", repr({"mcp", "mcp_types", "punq"}))
    assert "grok_primary_failed" in run("python", forbidden + readme(1), tmp_path)


def test_the_one_line_swap_of_the_readme_is_used_here_too(tmp_path: Path) -> None:
    assert ".register(AnswerEngine, instance=" in readme(2)
    run("python", readme(2), tmp_path)


def test_links_between_the_pages_lead_somewhere() -> None:
    links = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
    found = [
        (page, target) for page in [*PAGES, *(ROOT / "docs").rglob("*.md")] for target in links.findall(page.read_text("utf-8"))
    ]
    broken = [f"{page.relative_to(ROOT)} → {target}" for page, target in found if not (page.parent / target).exists()]
    assert not broken
