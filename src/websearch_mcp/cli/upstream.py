"""`websearch upstream`: name other MCP servers, see how they stand, log in, and ask why a tool is or is not there."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from websearch_adapters.settings import LoadedConfiguration
from websearch_adapters.upstream.config import Configured, UpstreamsFile
from websearch_adapters.upstream.parts import HubParts
from websearch_core import outcome
from websearch_core.errors import EmptyResult, InvalidInput, WebSearchError
from websearch_core.hub import registry
from websearch_core.hub.values import (
    HttpTransport,
    ToolExplanation,
    Transport,
    UpstreamEntry,
    UpstreamReport,
    UpstreamSpec,
)
from websearch_mcp.cli import output, session
from websearch_mcp.cli.login import open_browser

if TYPE_CHECKING:
    from websearch_adapters.upstream.supervisor import Supervisor

__all__ = ["run"]

SHOWN_CHARS = 200
_SECRET_NAME = re.compile(r"token|key|secret|passw|auth|credential", re.IGNORECASE)
_RANDOM = re.compile(r"(?=[^/@.]*\d)(?=[^/@.]*[A-Za-z])[A-Za-z0-9_+=-]{20,}")


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    loaded = session.configuration(options)
    action = ACTIONS[options.action]
    with asyncio.Runner() as runner:
        report = runner.run(_guarded(action, loaded, options))
    return session.finish(report, as_json=options.json, redact=loaded.redact)


async def _guarded(action: Action, loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    try:
        return await action(HubParts(loaded), loaded, options)
    except WebSearchError as error:
        return outcome.failed(UpstreamReport(), error, "hub")


# --- the configuration --------------------------------------------------------------------------------------------


async def _add(parts: HubParts, loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    if bool(options.run) == bool(options.url):
        raise InvalidInput("give --url ADDRESS, or --run PROGRAM with its arguments", hint="See: websearch upstream add --help")
    values: dict[str, Any] = {"url": options.url} if options.url else {"command": options.run[0], "args": options.run[1:]}
    further = {
        "type": options.type,
        "env": _pairs("--env", options.env),
        "headers": _pairs("--header", options.header),
        "inherit_env": options.inherit_env,
        "cwd": options.cwd,
        "tools_allow": options.allow,
        "tools_deny": options.deny,
        "tool_timeout_s": options.tool_timeout,
    }
    values |= {key: value for key, value in further.items() if value}
    _file(loaded).add(options.name, values, replace=options.replace)
    found = parts.read()
    hidden = found.files.get(options.name) != loaded.settings.upstreams_file
    where = f"; {found.files[options.name]} has an entry of this name too, and that one counts" if hidden else ""
    return _report(found, only=options.name, detail=f"{options.name} added{where}")


async def _list(parts: HubParts, _loaded: LoadedConfiguration, _options: argparse.Namespace) -> UpstreamReport:
    found = parts.read()
    return _report(found, detail="" if found.files else "no upstream is configured; add one with: websearch upstream add")


async def _enable(parts: HubParts, loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    return _switched(parts, loaded, options.name, on=True)


async def _disable(parts: HubParts, loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    return _switched(parts, loaded, options.name, on=False)


async def _remove(parts: HubParts, loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    found = parts.read()
    file = found.files.get(options.name)
    if file is not None and file != loaded.settings.upstreams_file:
        hint = f"Take it out of that file, or switch it off with: websearch upstream disable {options.name}"
        raise InvalidInput(f"{options.name} is configured in {file}", hint=hint)
    if file is None:
        found.spec(options.name)
    for spec in found.specs:
        stored = parts.logins.of(spec) if spec.name == options.name else None
        if stored is not None:
            await stored.forget()
    _file(loaded).remove(options.name)
    parts.digests.forget(options.name)
    return UpstreamReport(detail=f"{options.name} removed")


def _switched(parts: HubParts, loaded: LoadedConfiguration, name: str, *, on: bool) -> UpstreamReport:
    if name not in parts.read().files:
        parts.read().spec(name)
    _file(loaded).switch(name, on=on)
    return _report(parts.read(), only=name, detail=f"{name} {'enabled' if on else 'disabled'}")


def _file(loaded: LoadedConfiguration) -> UpstreamsFile:
    return UpstreamsFile(loaded.settings.upstreams_file)


def _pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if not all(name and equals for name, equals, _ in pairs):
        raise InvalidInput(f"{option} must be like NAME=VALUE")
    return {name: value for name, _, value in pairs}


# --- live ---------------------------------------------------------------------------------------------------------


async def _status(parts: HubParts, _loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    found = parts.read()
    specs = [found.spec(name) for name in options.name] if options.name else found.specs
    async with AsyncExitStack() as stack:
        hub = await _connected(parts, specs, stack)
        return UpstreamReport(statuses=hub.statuses(), problems=_problems(found, options.name))


async def _explain(parts: HubParts, _loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    found = parts.read()
    async with AsyncExitStack() as stack:
        hub = await _connected(parts, found.specs, stack)
        told = registry.explained(hub.registry, options.tool, hub.statuses())
        out = [f"{status.name} ({status.state})" for status in hub.statuses() if status.state != "ready"]
    if not told:
        hint = f"Out of reach now: {', '.join(out)}." if out else "See all tools of an upstream in its own documentation."
        raise EmptyResult(f"no upstream lists a tool {options.tool[:100]!r}", hint=hint)
    tools = (ToolExplanation(id=one.entry.id, standing=one.entry.standing, steps=one.steps) for one in told)
    return UpstreamReport(tools=tuple(tools), problems=_problems(found, ()))


async def _accept(parts: HubParts, _loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    spec = parts.read().spec(options.name)
    async with AsyncExitStack() as stack:
        hub = await _connected(parts, [spec], stack)
        (status,) = hub.statuses()
        if status.state != "ready":
            raise InvalidInput(
                f"{spec.name} is {status.state}, so what its tools say now is not known", hint=status.detail or None
            )
        waiting = [one for one in hub.catalog().tools if one.standing == "changed" and options.tool in {None, one.tool.name}]
        hub.accept(spec.name, options.tool)
    tools = tuple(ToolExplanation(id=one.id, standing="visible", steps=(f"says now: {one.tool.description}",)) for one in waiting)
    return UpstreamReport(tools=tools, detail=f"{len(waiting)} changed tools of {spec.name} accepted")


async def _connected(parts: HubParts, specs: Iterable[UpstreamSpec], stack: AsyncExitStack) -> Supervisor:
    """These upstreams, each as far as it came with its first connection; left with the stack."""
    from websearch_adapters.upstream.supervisor import Supervisor

    def keep(upstream: str, digests: Mapping[str, str]) -> None:
        parts.digests.keep(upstream, digests)

    hub = Supervisor(specs, parts.session, digests=parts.digests.read(), on_digests=keep)
    stack.push_async_callback(hub.aclose)
    hub.start()
    await hub.until_settled()
    return hub


async def _login(parts: HubParts, loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    from websearch_adapters.upstream.auth import log_in

    spec = parts.read().spec(options.name)

    async def show(address: str) -> None:
        output.notice(f"\nLog in with a browser on this computer:\n\n  {address}\n")
        if options.browser:
            open_browser(address)

    asked = await log_in(spec, parts.logins, show, environment=loaded.environment, limit_s=options.timeout)
    return UpstreamReport(detail=f"logged in at {spec.name}" if asked else f"{spec.name} wants no login, or knows this one")


async def _logs(parts: HubParts, _loaded: LoadedConfiguration, options: argparse.Namespace) -> UpstreamReport:
    spec = parts.read().spec(options.name)
    try:
        lines = parts.log_file(spec.name).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return UpstreamReport(log=tuple(lines), detail="" if lines else f"{spec.name} has written nothing yet")


Action = Callable[[HubParts, LoadedConfiguration, argparse.Namespace], Awaitable[UpstreamReport]]
ACTIONS: dict[str, Action] = {
    "add": _add,
    "list": _list,
    "status": _status,
    "login": _login,
    "enable": _enable,
    "disable": _disable,
    "remove": _remove,
    "explain": _explain,
    "accept": _accept,
    "logs": _logs,
}


# --- what is shown ------------------------------------------------------------------------------------------------


def _report(found: Configured, *, only: str = "", detail: str = "") -> UpstreamReport:
    entries = tuple(_entry(spec, found) for spec in found.specs if only in {"", spec.name})
    return UpstreamReport(entries=entries, problems=_problems(found, (only,) if only else ()), detail=detail)


def _problems(found: Configured, names: Iterable[str]) -> tuple[str, ...]:
    """Of these upstreams, or of all and of whole files."""
    wanted = set(names)
    return tuple(str(one) for one in found.problems if not wanted or one.upstream in wanted)


def _entry(spec: UpstreamSpec, found: Configured) -> UpstreamEntry:
    way = spec.transport
    return UpstreamEntry(
        name=spec.name,
        transport=way.kind if isinstance(way, HttpTransport) else "stdio",
        target=_target(way)[:SHOWN_CHARS],
        enabled=spec.enabled,
        file=str(found.files[spec.name]),
    )


def _target(way: Transport) -> str:
    """The address without user and query, or the command without what may be a secret in its arguments."""
    if isinstance(way, HttpTransport):
        from websearch_adapters.http.failures import shown_base

        return shown_base(way.url)
    shown, before = [way.command], ""
    for argument in way.args:
        name, equals, _ = argument.partition("=")
        if equals and _SECRET_NAME.search(name):
            shown.append(f"{name}=…")
        else:
            is_secret = (before.startswith("-") and _SECRET_NAME.search(before)) or _RANDOM.fullmatch(argument)
            shown.append("…" if is_secret else argument)
        before = argument
    return " ".join(shown)
