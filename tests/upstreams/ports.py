"""Ports for processes that have to be told theirs before they listen."""

from __future__ import annotations

import random
import socket

__all__ = ["free_port"]

FIRST, LAST = 20_000, 32_000
"""Below the range from which systems take the ports of outgoing connections, so that none of those takes it meanwhile."""


def free_port() -> int:
    """A loopback port at which nobody listens now."""
    for _ in range(1_000):
        port = random.SystemRandom().randint(FIRST, LAST)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise OSError("no port is free")
