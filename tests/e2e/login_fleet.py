"""Many processes that share one login, whose token ends again and again, and of which one is killed in the middle of each renewal.

The kill comes at one of two moments, in turn. Either the issuer has just counted the refresh and has not yet answered, and the
process that waits for the renewal is killed: whoever renews in that process has lost the login. Or the renewing process itself
is killed before the issuer has counted anything: whoever leaves its lock behind stops all the others. The issuer waits for the
kill, so that it hits the moment on a machine of any speed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from e2e.login_browser import configured
from upstreams.issuer import CLIENT_ID, IssuerUpstream
from upstreams.serve import serving
from websearch_adapters.credentials import oauth
from websearch_adapters.credentials.token_file import TokenFile

__all__ = ["Tally", "killed_while_renewing"]

DRIVER = Path(__file__).with_name("login_driver.py")
MODULE = b"websearch_adapters.credentials.renewal"
WAIT_S = 60.0


@dataclass
class Tally:
    """What came of all rounds."""

    expiries: int = 0
    refreshes: int = 0
    reuses: int = 0
    calls: int = 0
    kills: int = 0
    failures: list[str] = field(default_factory=list)


def killed_while_renewing(home: Path, *, processes: int, rounds: int) -> Tally:
    """Let `processes` survivors and a victim ask in each round, whose token has just ended."""
    upstream, tally = IssuerUpstream(), Tally()
    with serving(upstream) as url:
        file = TokenFile(home / "data" / "login.json")
        _sign_in(upstream, url, file)
        env = configured(home, url, WEBSEARCH_CACHE_KIND="memory", GROK_RETRY_MULTIPLIER="0.1")
        with _Fleet(env, processes + 1) as fleet:
            for number in range(rounds):
                _round(number, upstream, file, fleet, tally)
    tally.refreshes, tally.reuses = upstream.rotations, upstream.reuses
    return tally


def _round(number: int, upstream: IssuerUpstream, file: TokenFile, fleet: _Fleet, tally: Tally) -> None:
    kills_asker, by_the_clock = number % 2 == 0, number % 4 < 2
    gate = upstream.answering if kills_asker else upstream.counting
    before, asked, left = upstream.rotations, _token_requests(upstream), upstream.disconnects
    gate.clear()
    if by_the_clock:
        _age(file)
    else:
        upstream.expire()
    tally.expiries += 1
    fleet.ask(number)
    if kills_asker:
        upstream.wait_until(lambda _: upstream.rotations > before, within_s=WAIT_S)
    else:
        upstream.wait_until(lambda _: _token_requests(upstream) > asked, within_s=WAIT_S)
    renewing, parent = _renewal(file.path)
    victim = parent if kills_asker else renewing
    os.kill(victim, signal.SIGKILL)
    tally.kills += 1
    if not kills_asker:
        upstream.wait_until(lambda it: it.disconnects > left, within_s=WAIT_S)
    gate.set()
    said = fleet.answers(without=victim)
    tally.calls += len(said)
    tally.failures += [f"round {number}: {line}" for line in said if line != "answered True"]
    fleet.replace(victim)


def _token_requests(upstream: IssuerUpstream) -> int:
    return sum(request.path == "/oauth2/token" for request in tuple(upstream.requests))


def _sign_in(upstream: IssuerUpstream, url: str, file: TokenFile) -> None:
    issuer = oauth.issuer_at(url)
    endpoints = oauth.endpoints_from_wire({}, issuer)
    login = oauth.login_from_wire(upstream.sign_in(), issuer=issuer, client_id=CLIENT_ID, endpoints=endpoints, now=time.time())
    file.write(oauth.to_file(login))


def _age(file: TokenFile) -> None:
    """Let the token end by its own word; nobody is at work between two rounds."""
    stored = file.read()
    assert stored is not None
    file.write({**stored, "expires_at": time.time() - 1})


def _renewal(path: Path) -> tuple[int, int]:
    """The process that renews the login of this file, and its parent."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if MODULE in words and os.fsencode(path) in words:
                    return int(folder.name), int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):  # it ended meanwhile
                continue
    raise AssertionError("nobody renews")


class _Fleet:
    """The processes, and one more that is warm."""

    def __init__(self, env: dict[str, str], size: int) -> None:
        self._env = env
        self._running = [self._started() for _ in range(size)]
        self._spare, self._warm = self._started(), True

    def __enter__(self) -> _Fleet:
        for process in (*self._running, self._spare):
            _expect(process, "ready")
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._running, self._spare):
            process.kill()
            process.communicate()

    def ask(self, number: int) -> None:
        for process in self._running:
            assert process.stdin is not None
            process.stdin.write(f"{number}\n")
            process.stdin.flush()

    def answers(self, *, without: int) -> list[str]:
        """What each survivor says."""
        return [_said(process) for process in self._running if process.pid != without]

    def replace(self, pid: int) -> None:
        """Let the warm one take the place of the dead one, and warm up another."""
        dead = [process for process in self._running if process.pid == pid]
        for process in dead:
            process.communicate()
            self._running.remove(process)
            if not self._warm:
                _expect(self._spare, "ready")
            self._running.append(self._spare)
            self._spare = self._started()
            self._warm = False

    def _started(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, str(DRIVER)], env=self._env, stdin=pipe, stdout=pipe, text=True)


def _said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip() or "died"


def _expect(process: subprocess.Popen[str], word: str) -> None:
    said = _said(process)
    assert said == word, said
