"""Name → provider: the table of built-in ones first, then one entry point of exactly that name.

Nothing is imported but the provider that is asked for, so a broken plugin harms only the setup that names it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from websearch_adapters.provider import Provider
from websearch_core.errors import NotConfigured

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["BUILT_IN", "COMPOSED", "GROUP", "provider"]

GROUP = "websearch.providers"
"""Entry-point group in which a package offers its providers: `acme = "acme_websearch:PROVIDER"`."""

BUILT_IN = {
    "xai": "websearch_adapters.providers.xai:PROVIDER",
    "chat": "websearch_adapters.providers.chat_completions:PROVIDER",
    "tavily": "websearch_adapters.providers.tavily:PROVIDER",
    "firecrawl": "websearch_adapters.providers.firecrawl:PROVIDER",
    "searxng": "websearch_adapters.providers.searxng:PROVIDER",
    "echo": "websearch_adapters.providers.echo:PROVIDER",
}
"""Name → `module:attribute`. A plugin cannot take one of these names."""

COMPOSED = frozenset({"library", "local", "keyless", "github", "stackexchange", "arxiv", "wikipedia"})
"""Names of parts that need more than settings and HTTP, so that the composition root builds them; no plugin can take them."""


def provider(name: str) -> Provider:
    """The provider of this name.

    Raises:
        NotConfigured: nobody offers it, two packages do, the plugin that does is broken, or it is one of `COMPOSED`.
    """
    if name in COMPOSED:
        raise NotConfigured(f"{name!r} is a part of this program and not built by name", provider=name)
    if (place := BUILT_IN.get(name)) is not None:
        module, attribute = place.split(":")
        built_in: Provider = getattr(importlib.import_module(module), attribute)
        return built_in
    return _loaded(name, _entry_point(name))


def _entry_point(name: str) -> EntryPoint:
    from importlib.metadata import entry_points

    offers = {entry.value: entry for entry in entry_points(group=GROUP, name=name)}
    if not offers:
        raise NotConfigured(f"no provider is called {name[:80]!r}", provider=name, hint=_nearest(name))
    if len(offers) > 1:
        raise NotConfigured(
            f"{len(offers)} installed packages offer a provider called {name!r}: {', '.join(sorted(offers))}",
            provider=name,
            hint="Uninstall all but one of them.",
        )
    return next(iter(offers.values()))


def _loaded(name: str, entry: EntryPoint) -> Provider:
    try:
        plugin = entry.load()
    except (Exception, SystemExit) as error:  # a stranger's module may raise anything while it is imported
        raise _broken(name, entry, f"fails to load ({type(error).__name__})") from error
    if not isinstance(plugin, Provider):
        raise _broken(name, entry, "is not a websearch_adapters.provider.Provider")
    return plugin


def _broken(name: str, entry: EntryPoint, what: str) -> NotConfigured:
    return NotConfigured(
        f"the plugin for provider {name!r}, {entry.value}, {what}",
        provider=name,
        hint=f"Repair, update or uninstall the package that offers {entry.value}, or take {name!r} out of the configuration.",
    )


def _nearest(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name.lower(), [*BUILT_IN, *sorted(COMPOSED)], n=1)
    guess = f"Did you mean {near[0]!r}? " if near else ""
    known = ", ".join([*BUILT_IN, *sorted(COMPOSED)])
    return f"{guess}Built in are {known}; other names need a package with an entry point in group {GROUP}."
