"""Upstreams of the lab, as they are configured."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from websearch_core.hub.values import HttpTransport, StdioTransport, UpstreamSpec
from websearch_core.values import Secret

__all__ = ["LAB", "alive", "lab", "lab_at", "ledger_lines"]

LAB = Path(__file__).with_name("lab.py")


def lab(name: str = "lab", *, timeout_s: float = 30.0, ledger: Path | None = None, **script: Any) -> UpstreamSpec:
    """A server over stdio that does what the script says."""
    noted = {"ledger": str(ledger)} if ledger else {}
    return UpstreamSpec(
        name=name,
        startup_timeout_s=timeout_s,
        transport=StdioTransport(command=sys.executable, args=("-S", "-E", str(LAB), json.dumps({**noted, **script}))),
    )


def lab_at(url: str, name: str = "lab", **headers: str) -> UpstreamSpec:
    """A server at an address."""
    secret = {key: Secret(value) for key, value in headers.items()}
    return UpstreamSpec(name=name, transport=HttpTransport(url=f"{url}/mcp", headers=secret))


def ledger_lines(ledger: Path) -> list[str]:
    """What happened, in order."""
    return ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and only not collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
