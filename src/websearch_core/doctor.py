"""Use case: probe every part and report."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from websearch_core.ports import Configuration, Probe
from websearch_core.values import Health, Report

__all__ = ["Doctor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor:
    """`await doctor()`; `live=True` asks the way a real call would, which may cost."""

    configuration: Configuration
    probes: Sequence[Probe]
    off: Sequence[Health] = ()
    """Parts that are not configured, with what to set."""
    versions: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 15.0

    async def __call__(self, *, live: bool = False) -> Report:
        """What works, what does not, and where each setting comes from."""
        found = await asyncio.gather(*(self._probed(probe, live=live) for probe in self.probes))
        failing = any(health.state == "failing" for health in found)
        return Report(
            status="partial_success" if failing else "success",
            partial=failing,
            next_action="See the failing parts." if failing else None,
            parts=(*found, *self.off),
            settings=self.configuration.listing(),
            problems=self.configuration.problems(),
            versions=self.versions,
        )

    async def _probed(self, probe: Probe, *, live: bool) -> Health:
        try:
            async with asyncio.timeout(self.limit_s):
                return await probe.probe(live=live)
        except TimeoutError:
            name = str(getattr(probe, "name", type(probe).__name__))
            return Health(part=name, state="failing", detail=f"no reply within {self.limit_s:g} s")
