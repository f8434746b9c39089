"""Use cases: show the settings, and change the primary model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from websearch_core import outcome
from websearch_core.errors import NotConfigured, Unreachable, WebSearchError
from websearch_core.ports import Configuration, Probe
from websearch_core.values import ConfigRequest, ConfigResult, Health, Json, SwitchRequest, SwitchResult

__all__ = ["ConfigInfo", "SwitchModel"]

NO_ENGINE = "Searching lists sources without one; for answers set XAI_API_KEY, or GROK_API_URL and GROK_API_KEY."


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigInfo:
    """The settings and a free connection test of the engine."""

    configuration: Configuration
    probes: Sequence[Probe]
    """The first one is the engine's."""
    login: Probe | None = None
    """Tells how the sign-in with a subscription stands, without asking anybody."""
    limit_s: float = 10.0

    async def __call__(self, _: ConfigRequest, /, *, within_s: float | None = None) -> ConfigResult:
        """The settings always; a failing test makes a partial success."""
        settings: dict[str, Json] = {setting.name: setting.value for setting in self.configuration.listing()}
        if problems := self.configuration.problems():
            settings["problems"] = list(problems)
        if self.login is not None:
            login = await self.login.probe()
            settings["login"] = {"state": login.state, "detail": login.detail}
        health = await self._tested(min(self.limit_s, within_s or self.limit_s))
        test: dict[str, Json] = {
            "status": health.state,
            "message": health.detail,
            "response_time_ms": health.latency_ms,
            "available_models": list(health.models),
        }
        result = ConfigResult(configuration=settings, connection_test=test)
        if health.state == "ok":
            return result
        error = Unreachable if health.state == "failing" else NotConfigured
        hint = "Check the engine's address and key." if self.probes else NO_ENGINE
        return outcome.partly(result, error(health.detail, provider="grok", hint=hint), "config")

    async def _tested(self, limit_s: float) -> Health:
        if not self.probes:
            return Health(part="engine", state="off", detail="no answer engine is configured")
        try:
            async with asyncio.timeout(limit_s):
                return await self.probes[0].probe()
        except TimeoutError:
            return Health(part="engine", state="failing", detail=f"no reply within {limit_s:g} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchModel:
    """Another primary model, for this process and for the file."""

    configuration: Configuration

    async def __call__(self, request: SwitchRequest, /, *, within_s: float | None = None) -> SwitchResult:  # noqa: ARG002 - all use cases take it
        """The change, or the reason why nothing changed. The name is not checked against the engine's list."""
        previous = self.configuration.primary_model()
        try:
            path = await asyncio.to_thread(self.configuration.switch_model, request.model.strip())
        except WebSearchError as error:
            return outcome.failed(SwitchResult(previous_model=previous, current_model=previous), error, "switch")
        return SwitchResult(previous_model=previous, current_model=self.configuration.primary_model(), config_file=path)
