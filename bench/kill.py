"""Kill writers at random moments, and look whether what they leave behind can be read.

`python bench/kill.py [KILLS [SEED]]`, 200 and 1 by default: each writer, one of the cache on disk and one of the configuration,
is killed that often by signal 9 while it writes without a pause. After each death a new process reads. It prints each state that
is not valid, and their number. A valid cache gives a value that was once put, or none, and goes on working. A valid
configuration is whole TOML with one of the models written, and with everything else as it was; the next change of it leaves no
unfinished file in its folder.
"""

from __future__ import annotations

import asyncio
import os
import random
import select
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from websearch_adapters import settings
from websearch_adapters.cache.disk import DiskCache
from websearch_core.values import Page

KILLS = 200
LONGEST_S = 0.03
"""A moment lies within so many seconds of the writer's beginning: the time of several tens of writes."""
FRESH_EVERY = 8
"""So often a writer finds nothing yet, and is killed while it begins the files."""
ADDRESSES = [f"https://a.example/{number}" for number in range(4)]
TTL_S = 3_600.0
MODELS = [f"grok-{number}" for number in range(8)]
CONFIGURATION = """\
# mine
[engine] # the engine
primary_model = "grok-0" # switched
max_attempts = 7

[tavily]
# two keys
api_keys = ["tvly-a", "tvly-b"]
"""


def main(kills: int, seed: int) -> int:
    """Print what is not valid."""
    faults = invalid_states(kills, seed)
    print(*faults, f"{len(faults)} invalid states after {2 * kills} kills", sep="\n")
    return bool(faults)


def kill_invalid_states() -> float:
    """How many of the states that killed writers leave behind are not valid."""
    return len(invalid_states(KILLS, seed=1))


def invalid_states(kills: int, seed: int) -> list[str]:
    """What readers found wrong after each of `kills` deaths of either writer."""
    chance = random.Random(seed)
    faults: list[str] = []
    for write, read in ((_write_cache, _read_cache), (_write_configuration, _read_configuration)):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(kills):
                place = Path(folder, str(number // FRESH_EVERY))
                _kill(partial(write, place), chance.uniform(0.0, LONGEST_S))
                if fault := _told(partial(read, place)):
                    faults.append(f"{write.__name__.strip('_')} {number}: {fault}")
    return faults


# --- the writers, which write below a folder for ever, and the readers, which say what is wrong there


def _write_cache(folder: Path, begin: Callable[[], None]) -> None:
    async def put_for_ever() -> None:
        cache = DiskCache(folder, entries=3)  # fewer than addresses, so that room is made too
        begin()
        for number in range(sys.maxsize):
            page = _page(ADDRESSES[number % len(ADDRESSES)], number)
            await cache.put(page.url, page, ttl_s=TTL_S)

    asyncio.run(put_for_ever())  # noqa: TID251 - a process of its own


def _read_cache(folder: Path) -> str:
    async def read() -> str:
        cache = DiskCache(folder, entries=3)
        for address in ADDRESSES:
            page = await cache.get(address, Page)
            if page is not None and page != _page(address, int(page.title)):
                return f"{address} holds something that was never put"
        written = _page(ADDRESSES[0], -1)
        await cache.put(written.url, written, ttl_s=TTL_S)
        kept = await cache.get(written.url, Page)
        await cache.aclose()
        return "" if kept == written else "the cache keeps nothing any more"

    return asyncio.run(read())  # noqa: TID251 - a process of its own


def _page(address: str, number: int) -> Page:
    """Mostly small enough for a row of the database, sometimes so large that it becomes a file."""
    return Page(
        url=address, title=str(number), text=f"{number} {address} " * (2_500 if number % 3 == 0 else 50), provider="local"
    )


def _write_configuration(folder: Path, begin: Callable[[], None]) -> None:
    file = folder / "config.toml"
    if not file.exists():
        folder.mkdir()
        (folder / "first").write_text(CONFIGURATION, encoding="utf-8")
        (folder / "first").replace(file)
    loaded = settings.read(environ={}, file=file)
    begin()
    for number in range(sys.maxsize):
        loaded.switch_model(MODELS[number % len(MODELS)])


def _read_configuration(folder: Path) -> str:
    file = folder / "config.toml"
    loaded = settings.read(environ={}, file=file)
    model, text = loaded.primary_model(), file.read_text(encoding="utf-8")
    if loaded.problems():
        return f"problems: {loaded.problems()}"
    if model not in MODELS or text.replace(f'"{model}"', '"grok-0"') != CONFIGURATION:
        return f"the file is {text!r}"
    loaded.switch_model(MODELS[0])  # raises when a lock stays behind
    left = [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]
    return f"left behind: {left}" if left else ""


# --- processes


def _kill(write: Callable[[Callable[[], None]], None], moment_s: float) -> None:
    """Let a process write until `moment_s` seconds after it began, and kill it.

    Raises:
        RuntimeError: it ended by itself.
    """
    hearing, saying = os.pipe()
    child = os.fork()
    if child == 0:
        _end_after(lambda: write(lambda: _say(saying, "!")), saying)
    os.close(saying)
    said = os.read(hearing, 1_000).decode()
    select.select([hearing], [], [], moment_s)  # nothing more comes, unless it ends
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(hearing)
    if said != "!" or not os.WIFSIGNALED(status):
        raise RuntimeError(f"the writer ended by itself: {said}")


def _told(read: Callable[[], str]) -> str:
    """What a new process finds wrong; its exception, if it fails."""
    hearing, saying = os.pipe()
    child = os.fork()
    if child == 0:
        _end_after(lambda: _say(saying, read()), saying)
    os.close(saying)
    with os.fdopen(hearing, encoding="utf-8") as told:
        said = told.read()
    _, status = os.waitpid(child, 0)
    return said or ("" if status == 0 else f"the reader ended with {status}")


def _say(saying: int, text: str) -> None:
    if text:
        os.write(saying, text.encode())


def _end_after(work: Callable[[], None], saying: int) -> None:
    """Do a child's work and leave, never back into the parent's program."""
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:  # noqa: BLE001 - the parent is told
        _say(saying, f"{type(error).__name__}: {error}")
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS, int(sys.argv[2]) if len(sys.argv) > 2 else 1))
