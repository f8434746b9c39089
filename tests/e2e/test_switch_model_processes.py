"""Ten processes switch the model of one file at once: it stays whole, and keeps everything that is not the model."""

from __future__ import annotations

import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.wire import WAIT_S, environment

NAMES = [f"grok-of-process-{number}" for number in range(10)]
TIMES = 15
FILE = """\
# mine, do not touch
[engine] # the engine
# the model
primary_model = "grok-before" # switched by hand
max_attempts = 7

[tavily] # finds
api_keys = ["tvly-0123456789abcdef", "tvly-fedcba9876543210"]
"""
SWITCH = """
import sys
from pathlib import Path
from websearch_adapters import settings

loaded = settings.read(environ={}, file=Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    loaded.switch_model(sys.argv[2])
print(loaded.primary_model())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


@contextmanager
def watched(file: Path) -> Iterator[set[str]]:
    """Every text that the file has meanwhile."""
    seen: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            seen.add(file.read_text(encoding="utf-8"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join(WAIT_S)


def model_of(text: str) -> str:
    """The model in the file, if all of the rest is as it was."""
    model = str(tomllib.loads(text)["engine"]["primary_model"])
    assert text == FILE.replace("grok-before", model)
    return model


@pytest.mark.requirement("EDGE-07", "OURS-17")
def test_ten_processes_at_once_leave_the_file_whole_at_every_moment(file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SWITCH, str(file)]
    running = [
        subprocess.Popen([*command, name, str(TIMES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in NAMES
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    with watched(file) as seen:
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=WAIT_S)[0].strip() for process in running]
    assert said == NAMES
    assert [process.returncode for process in running] == [0] * len(NAMES)
    assert model_of(file.read_text(encoding="utf-8")) in NAMES
    models = {model_of(text) for text in seen}
    assert models <= {*NAMES, "grok-before"}
    assert len(models) > 2, "the watcher saw no change"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "config.toml.lock"]


@pytest.mark.requirement("OURS-17")
def test_ten_commands_at_once_all_succeed_and_one_of_them_stands(file: Path, tmp_path: Path) -> None:
    command = str(Path(sys.executable).with_name("websearch"))
    env = environment(tmp_path, WEBSEARCH_CONFIG=str(file))
    running = [
        subprocess.Popen([command, "config", "model", name], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for name in NAMES
    ]
    told = [process.communicate(timeout=WAIT_S) for process in running]
    assert [process.returncode for process in running] == [0] * len(NAMES), told
    assert model_of(file.read_text(encoding="utf-8")) in NAMES
