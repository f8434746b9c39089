"""What a running hub is made of: settings read, files found, sessions, logins and logs put together. Nothing is started here.

The server and the command line build it in the same way, so that they agree on where a login, a log and an accepted word is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from websearch_adapters.settings import LoadedConfiguration
from websearch_adapters.upstream.binding import Binding, bindings
from websearch_adapters.upstream.config import Configured, configured, secrets_of
from websearch_adapters.upstream.digests import DigestFile
from websearch_core.hub.values import UpstreamSpec

if TYPE_CHECKING:
    from websearch_adapters.upstream.auth import Logins
    from websearch_adapters.upstream.session import Session
    from websearch_adapters.upstream.supervisor import Supervisor

__all__ = ["HubParts", "Watch"]

LOOK_EVERY_S = 2.0


class HubParts:
    """The parts of the hub by the settings."""

    def __init__(self, loaded: LoadedConfiguration) -> None:
        self._loaded = loaded

    def read(self) -> Configured:
        """The upstreams as they are configured now; their secrets are not shown from then on."""
        found = configured(self._loaded)
        for secret in secrets_of(found.specs):
            self._loaded.redact.learn(secret.value)
        return found

    @functools.cached_property
    def logins(self) -> Logins:
        """The logins at upstreams, beside the file of the upstreams."""
        from websearch_adapters.upstream.auth import Logins

        return Logins(self._loaded.settings.upstreams_file.parent / "upstream-logins", learn=self._loaded.redact.learn)

    @functools.cached_property
    def bound(self) -> dict[str, Binding]:
        """The providers that are tools of upstreams, by name."""
        return bindings(self._loaded.settings.config_file)[0]

    def problems(self) -> tuple[str, ...]:
        """What is wrong with upstreams and bound providers, without any value."""
        read = (str(one) for one in configured(self._loaded).problems)
        return (*read, *bindings(self._loaded.settings.config_file)[1])

    @functools.cached_property
    def digests(self) -> DigestFile:
        """The words of tools that were accepted."""
        return DigestFile(self._loaded.settings.upstreams_file.parent / "upstream-tools.json")

    def log_file(self, upstream: str) -> Path:
        """What a child process wrote to standard error last."""
        stem = re.sub(r"[^A-Za-z0-9._-]", "_", upstream)[:96]
        return self._loaded.settings.cache_dir / "upstreams" / f"{stem}.log"

    def session(self, spec: UpstreamSpec) -> Session:
        """A way to an upstream."""
        from websearch_adapters.upstream.process import Log
        from websearch_adapters.upstream.session import Session

        redact = self._loaded.redact
        log = Log(self.log_file(spec.name), redact=redact.text)
        return Session(spec, environment=self._loaded.environment, log=log, auth=self.logins.auth(spec), redact=redact)

    def supervisor(self) -> Supervisor:
        """All upstreams, not started."""
        from websearch_adapters.upstream.supervisor import Supervisor

        # What the library logs of broken connections, tracebacks included, the statuses say in words.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
        hub = Supervisor(
            self.read().specs,
            self.session,
            digests=self.digests.read(),
            on_digests=self.digests.keep,
        )
        hub.beside(Watch(self, hub).run)
        return hub

    @property
    def files(self) -> tuple[Path, ...]:
        """Where upstreams are configured."""
        settings = self._loaded.settings
        return (*(Path(name).expanduser() for name in settings.hub.files), settings.upstreams_file, settings.config_file)


class Watch:
    """Looks every two seconds whether the configuration, a login or accepted words changed, and tells the hub."""

    def __init__(self, parts: HubParts, hub: Supervisor) -> None:
        self._parts = parts
        self._hub = hub
        self._files = self._state(parts.files)
        self._words = self._state((parts.digests.path,))
        self._logins: dict[str, tuple[object, ...]] = {}

    async def run(self) -> None:
        """Look until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def look(self) -> None:
        """Look once."""
        if (files := self._state(self._parts.files)) != self._files:
            self._files = files
            self._hub.apply(self._parts.read().specs)
        if (words := self._state((self._parts.digests.path,))) != self._words:
            self._words = words
            self._hub.reaccept(self._parts.digests.read())
        for status in self._hub.statuses():
            if status.state == "needs_auth":
                self._look_for_login(status.name)

    def _look_for_login(self, name: str) -> None:
        """One that was there before we looked may be newer than the refusal, so it is tried once."""
        stored = self._parts.logins.of(self._hub.spec(name))
        now = self._state((stored.file.path,)) if stored is not None else ()
        if now != self._logins.get(name, ()):
            self._logins[name] = now
            self._hub.logged_in(name)

    @staticmethod
    def _state(files: tuple[Path, ...]) -> tuple[object, ...]:
        state: list[object] = []
        for file in files:
            with contextlib.suppress(OSError):
                about = file.stat()
                state.append((str(file), about.st_mtime_ns, about.st_size))
        return tuple(state)
