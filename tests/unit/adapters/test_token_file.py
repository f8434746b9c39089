"""The file with the tokens: private from its first byte, replaced in one step, locked, and never another program's."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from websearch_adapters.credentials.token_file import TokenFile
from websearch_core.errors import NotConfigured

pytestmark = pytest.mark.anyio
WINDOWS = sys.platform == "win32"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def file(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "data" / "login.json")


def test_what_is_written_is_read_again_and_lies_alone(file: TokenFile) -> None:
    assert file.read() is None
    file.write({"access_token": "a"})
    file.write({"access_token": "b"})
    assert file.read() == {"format": "websearch.tokens.1", "access_token": "b"}
    assert [path.name for path in file.path.parent.iterdir()] == ["login.json"]


@pytest.mark.requirement("LOGIN-10")
def test_file_and_folder_are_their_owners_alone(file: TokenFile) -> None:
    before = os.umask(0)
    try:
        file.write({"access_token": "a"})
    finally:
        os.umask(before)
    assert WINDOWS or (mode(file.path), mode(file.path.parent)) == (0o600, 0o700)


@pytest.mark.requirement("LOGIN-10")
def test_the_tokens_are_private_from_their_first_byte(tmp_path: Path) -> None:
    """Every file that is opened for writing is watched, the temporary one included."""
    program = f"""
import os, sys, stat
os.umask(0)
seen = []
def watch(event, args):
    if event == "os.rename" or event == "open" and isinstance(args[0], str) and ".tmp" in args[0]:
        name = args[0]
        if os.path.exists(name):
            seen.append(stat.S_IMODE(os.stat(name).st_mode))
sys.addaudithook(watch)
from pathlib import Path
from websearch_adapters.credentials.token_file import TokenFile
TokenFile(Path({str(tmp_path / "login.json")!r})).write({{"access_token": "secret"}})
print(sorted(set(seen)))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert WINDOWS or told == "[384]"  # 0600


def test_a_mode_that_lets_others_in_is_tightened(file: TokenFile) -> None:
    file.write({"access_token": "a"})
    file.path.chmod(0o644)
    assert file.read()
    assert WINDOWS or mode(file.path) == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]x", '{"format": "websearch.tokens.1", ', "\xff"])
def test_a_damaged_file_is_told_and_may_be_replaced(file: TokenFile, text: str) -> None:
    file.path.parent.mkdir()
    file.path.write_bytes(text.encode("latin-1"))
    with pytest.raises(NotConfigured, match="damaged"):
        file.read()
    file.write({"access_token": "a"})
    assert file.read()


def test_an_endless_file_is_not_read_to_its_end(file: TokenFile) -> None:
    file.path.parent.mkdir()
    file.path.write_bytes(b" " * 300_000)
    with pytest.raises(NotConfigured, match="damaged"):
        file.read()


@pytest.mark.requirement("LOGIN-09")
@pytest.mark.parametrize("foreign", [{"access_token": "theirs", "refresh_token": "theirs"}, [], {"format": "other"}])
def test_another_programs_file_is_neither_used_nor_changed(file: TokenFile, foreign: object) -> None:
    file.path.parent.mkdir()
    file.path.write_text(json.dumps(foreign), encoding="utf-8")
    for use in (file.read, file.remove, lambda: file.write({"access_token": "ours"}), file.require_own):
        with pytest.raises(NotConfigured, match="another program"):
            use()
    assert json.loads(file.path.read_text(encoding="utf-8")) == foreign


def test_a_link_stays_a_link(file: TokenFile, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere.json"
    file.path.parent.mkdir()
    file.path.symlink_to(real)
    file.write({"access_token": "a"})
    assert file.path.is_symlink()
    assert TokenFile(real).read() == file.read()
    assert file.remove()
    assert not real.exists()


def test_what_a_killed_writer_left_is_swept_up(file: TokenFile) -> None:
    file.write({"access_token": "a"})
    left = file.path.parent / ".login.json.abcdef.tmp"
    left.write_text("half", encoding="utf-8")
    file.write({"access_token": "b"})
    assert not left.exists()


def test_a_folder_in_its_place_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "login.json").mkdir()
    with pytest.raises(NotConfigured):
        TokenFile(tmp_path / "login.json").read()
    with pytest.raises(NotConfigured):
        TokenFile(tmp_path / "login.json").write({"access_token": "a"})


def test_removing_says_whether_there_was_one(file: TokenFile) -> None:
    assert not file.remove()
    file.write({"access_token": "a"})
    assert file.remove()
    assert file.read() is None


async def test_one_holds_the_lock_and_the_next_waits(file: TokenFile) -> None:
    order: list[str] = []

    async def second() -> None:
        async with TokenFile(file.path).locked():
            order.append("second")

    async with anyio.create_task_group() as group, file.locked():
        group.start_soon(second)
        with pytest.raises(TimeoutError):
            async with TokenFile(file.path).locked(wait_s=0.0):
                raise AssertionError("two hold it")
        async with file.locked("turn", wait_s=0.0) as held:  # another lock on the same file
            assert held
        order.append("first")
    assert order == ["first", "second"]


async def test_whoever_finds_nothing_left_to_do_goes_on_without_the_lock(file: TokenFile) -> None:
    async with file.locked(), TokenFile(file.path).locked(unless=lambda: True) as held:
        assert not held
    async with TokenFile(file.path).locked() as held:
        assert held


@pytest.mark.requirement("LOGIN-15")
async def test_the_lock_of_a_killed_process_is_taken_over(file: TokenFile) -> None:
    with lock_held_by_another_process(file), pytest.raises(TimeoutError):
        async with file.locked(wait_s=0.0):
            raise AssertionError("two hold it")
    async with file.locked(wait_s=5.0) as held:
        assert held


@contextlib.contextmanager
def lock_held_by_another_process(file: TokenFile) -> Iterator[None]:
    """A process that holds the lock until it is killed."""
    program = f"""
import asyncio
from pathlib import Path
from websearch_adapters.credentials.token_file import TokenFile
async def main():
    async with TokenFile(Path({str(file.path)!r})).locked():
        print("held", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
    finally:
        holder.kill()
        holder.communicate()
