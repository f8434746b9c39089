"""`websearch login` as a person uses it: the command in a process, and a real Chromium at the address that it shows."""

from __future__ import annotations

import queue
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from e2e.wire import environment
from upstreams.issuer import CLIENT_ID

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["SignIn", "chromium", "configured"]

COMMAND = str(Path(sys.executable).with_name("websearch"))
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
WAIT_S = 60.0


def configured(home: Path, url: str, **more: str) -> dict[str, str]:
    """An environment whose issuer and API are at `url`."""
    own = {"WEBSEARCH_XAI_OAUTH_ISSUER": url, "WEBSEARCH_XAI_API_URL": f"{url}/v1", "WEBSEARCH_XAI_OAUTH_CLIENT_ID": CLIENT_ID}
    return environment(home, **own, **more)


class SignIn:
    """The command while it waits; as a context manager it ends the process."""

    def __init__(self, env: Mapping[str, str], *options: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [COMMAND, "login", *options], env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(WAIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def until(self, pattern: str) -> str:
        """The first group of the first line on standard error that matches."""
        while (line := self._lines.get(timeout=WAIT_S)) is not None:
            if found := re.search(pattern, line):
                return found[found.lastindex or 0]
        raise AssertionError(f"{pattern} was never said: {''.join(self.said)}")

    def address(self) -> str:
        """Where the browser is sent."""
        return self.until(r"(http\S+/oauth2/authorize\S+)")

    def type(self, line: str) -> None:
        """Paste a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def ended(self) -> tuple[int, str, str]:
        """Status, standard output and standard error."""
        status = self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        assert self.process.stdout is not None
        return status, self.process.stdout.read(), "".join(self.said)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            self._lines.put(line)
        self._lines.put(None)


@contextmanager
def chromium(*, dark: bool = False, scale: float = 1.0) -> Iterator[Page]:
    """A page of a real browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            scheme = "dark" if dark else "light"
            context = browser.new_context(
                color_scheme=scheme,  # type: ignore[arg-type] # a literal, chosen above
                viewport={"width": 560, "height": 460},
                device_scale_factor=scale,
                reduced_motion="reduce",
            )
            yield context.new_page()
        finally:
            browser.close()
