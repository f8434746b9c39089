"""What every test gets: asyncio only, and no network beyond this machine."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from shared_worker import WORKER
from websearch_adapters.extract.worker import Worker

settings.register_profile("explore", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", settings.get_profile("explore"), derandomize=True)
"""The same examples in every run, so that a change is judged by what it changes; `explore` draws new ones."""
settings.load_profile("house")
pytest.register_assert_rewrite("websearch_core.testing.contracts")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def worker() -> Iterator[Worker]:
    """One reader's processes for all tests that read pages; they differ in their pages."""
    yield WORKER
    asyncio.run(WORKER.aclose())  # noqa: TID251 - outside of every loop


class BeyondLoopback(BaseException):
    """A test tried to leave the machine; not an Exception, so that no code under test can swallow it."""


def _is_loopback(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a path: a socket of this machine
    host = str(address[0])
    try:
        return ipaddress.ip_address(host.split("%", maxsplit=1)[0]).is_loopback
    except ValueError:
        return host in {"localhost", ""}


@pytest.fixture(autouse=True, scope="session")
def _no_network_beyond_loopback() -> Iterator[None]:
    """Every connect of this process is checked; child processes get no proxy and no name that resolves."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(original: Any) -> Any:
        def call(self: socket.socket, address: Any) -> Any:
            if not _is_loopback(address):
                raise BeyondLoopback(f"a test tried to connect to {address!r}")
            return original(self, address)

        return call

    socket.socket.connect = guarded(connect)  # type: ignore[method-assign]
    socket.socket.connect_ex = guarded(connect_ex)  # type: ignore[method-assign]
    yield
    socket.socket.connect = connect  # type: ignore[method-assign]
    socket.socket.connect_ex = connect_ex  # type: ignore[method-assign]
