"""What the commands share: settings read, container built, one use case run on an event loop, everything closed."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from websearch_adapters import settings
from websearch_adapters.observe import logs
from websearch_core.errors import NotConfigured
from websearch_core.events import SILENT, Observer
from websearch_core.outcome import Operation
from websearch_core.redaction import Redactor
from websearch_core.values import Outcome
from websearch_mcp import render
from websearch_mcp.cli import output, progress

__all__ = ["budgets", "configuration", "finish", "listed", "observer", "run", "token_limit", "toolsets", "use"]

T = TypeVar("T")


def configuration(options: argparse.Namespace) -> settings.LoadedConfiguration:
    """The settings for this command; faults in them go to stderr. From then on no secret leaves the process."""
    named = {
        "engine.kind": "engine",
        "server.toolsets": "toolsets",
        "xai.oauth_client_id": "client_id",
        "xai.oauth_port": "port",
    }
    arguments = {name: getattr(options, option, None) for name, option in named.items()}
    file = Path(options.config) if getattr(options, "config", None) else None
    loaded = settings.read(arguments, file=file)
    log = loaded.settings.log
    logs.configure(level=log.least, form=log.format, redact=loaded.redact, stream=sys.stderr)
    output.hide_secrets(loaded.redact)
    for problem in loaded.problems():
        output.notice(f"setting: {problem}")
    return loaded


def observer(chosen: settings.Settings) -> Observer:
    """Who is told of calls: the log, where it is detailed enough to hold them."""
    return logs.LogObserver() if chosen.log.least in {"DEBUG", "INFO"} else SILENT


def budgets(chosen: settings.Settings) -> dict[Operation, int]:
    """Operation → longest result of a call that does not say."""
    search, fetch = chosen.search.max_chars, chosen.fetch.max_chars
    return {"search": search, "posts": search, "sources": search, "map": search, "fetch": fetch}


def toolsets(loaded: settings.LoadedConfiguration) -> tuple[str, ...]:
    """The groups of tools to offer: those that were chosen, else the default ones and, where an upstream is configured, `hub`."""
    from websearch_adapters.upstream.config import configured

    chosen = loaded.settings.toolsets()
    return (*chosen, "hub") if not loaded.settings.server.toolsets and configured(loaded).specs else chosen


def token_limit(chosen: settings.Settings) -> Callable[[], AbstractContextManager[None]]:
    """What to enter around a call so that its result is counted in tokens too; nothing where the operator set no limit."""
    if not chosen.server.max_tokens:
        return contextlib.nullcontext
    from websearch_adapters import tokens
    from websearch_core import budget

    try:
        count = tokens.counter()
    except NotConfigured as error:
        output.notice(f"setting: {error.message}; results are counted in characters only. {error.hint}")
        return contextlib.nullcontext
    return functools.partial(budget.in_tokens, count, chosen.server.max_tokens)


def run(
    options: argparse.Namespace,
    work: Callable[[Callable[[type[T]], T]], Awaitable[Outcome]],
    *,
    loaded: settings.LoadedConfiguration | None = None,
) -> int:
    """Run `work` with a resolver of use cases, show its outcome, close what was opened."""
    import asyncio

    from websearch_mcp.container import Closing, build

    loaded = loaded or configuration(options)
    box = build(loaded, observe=observer(loaded.settings))

    async def whole() -> Outcome:
        try:
            return await work(box.resolve)
        finally:
            await box.resolve(Closing).aclose()

    with progress.shown():
        outcome = asyncio.run(whole())  # noqa: TID251 - the command line is an entry point
    return finish(outcome, as_json=options.json, redact=loaded.redact)


def use(options: argparse.Namespace, request: type, use_case: type, operation: Operation | None = None) -> int:
    """Run the use case on the request that the options spell out; `operation` where the command is called otherwise."""
    operation = operation or options.command
    loaded = configuration(options)
    names = {field.name for field in dataclasses.fields(request)}
    given: dict[str, Any] = {name: value for name, value in vars(options).items() if name in names and value is not None}
    if "max_chars" in names:
        given.setdefault("max_chars", budgets(loaded.settings)[operation])

    async def work(resolve: Callable[[type[Any]], Any]) -> Outcome:
        outcome: Outcome = await resolve(use_case)(request(**given))
        return outcome

    return run(options, work, loaded=loaded)


def finish(outcome: Outcome, *, as_json: bool, redact: Redactor) -> int:
    """Show an outcome without secrets, and say by the exit status how it went."""
    outcome = redact.value(outcome)
    if as_json:
        output.plain(outcome)
    elif outcome.status == "error" and outcome.error_detail is not None:
        for line in render.remarks(outcome):
            output.notice(line)
        return output.failure(outcome.error_detail.message, outcome.next_action, output.exit_status(outcome))
    else:
        output.markdown(render.for_people(outcome))
    return output.exit_status(outcome)


def listed(text: str) -> tuple[str, ...]:
    """`a, b` as a tuple."""
    return tuple(part.strip() for part in text.split(",") if part.strip())
