"""Providers by name: the built-in table, and plugins that are looked up only when named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from websearch_adapters import catalog
from websearch_adapters.provider import Provider
from websearch_core.errors import NotConfigured

ASK = """
import json, sys
from websearch_adapters import catalog
from websearch_core.errors import NotConfigured
from websearch_adapters.provider import Provider
try:
    found = catalog.provider(sys.argv[1])
    said = {"name": found.name, "offers": sorted(found.offers)}
except NotConfigured as error:
    said = {"error": error.message, "hint": error.hint, "provider": error.provider}
print(json.dumps({**said, "modules": sorted(sys.modules)}))
"""
ACME = """
from websearch_adapters.provider import Provider
PROVIDER = Provider(
    name="acme", offers=frozenset({"find"}), settings=dict, make=lambda settings, http: object(), needs_key=False, source="acme.test"
)
"""


def install(site: Path, package: str, code: str, offers: dict[str, str]) -> None:
    """Put a distribution on disk as an installer would: its module, and metadata that names its entry points."""
    (site / f"{package}.py").write_text(textwrap.dedent(code), encoding="utf-8")
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{name} = {value}" for name, value in offers.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{catalog.GROUP}]", *lines, ""]), encoding="utf-8")


def ask(name: str, *sites: Path) -> dict[str, Any]:
    """What a fresh interpreter gets for this name, with these places on its path."""
    source = Path(catalog.__file__).resolve().parents[1]
    path = os.pathsep.join([str(source), *map(str, sites)])
    run = subprocess.run(
        [sys.executable, "-c", ASK, name],
        env={"PYTHONPATH": path, "PATH": os.environ.get("PATH", "")},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


class TestBuiltIn:
    def test_the_tables_name_every_provider_of_the_house(self) -> None:
        assert set(catalog.BUILT_IN) == {"xai", "chat", "tavily", "firecrawl", "searxng", "echo"}
        assert set(catalog.COMPOSED) == {"library", "local", "keyless", "github", "stackexchange", "arxiv", "wikipedia"}

    @pytest.mark.parametrize("name", sorted(catalog.COMPOSED))
    def test_a_part_that_is_built_elsewhere_says_so(self, name: str) -> None:
        with pytest.raises(NotConfigured, match="not built by name"):
            catalog.provider(name)

    @pytest.mark.parametrize("name", sorted(catalog.BUILT_IN))
    def test_a_name_leads_to_the_declaration_of_that_name(self, name: str) -> None:
        found = catalog.provider(name)
        assert isinstance(found, Provider)
        assert found.name == name
        assert found.source
        assert found.settings() == found.settings()

    def test_a_name_nobody_offers_is_answered_with_the_nearest_and_all_known_ones(self) -> None:
        with pytest.raises(NotConfigured, match="no provider is called 'tavly'") as caught:
            catalog.provider("tavly")
        assert caught.value.hint is not None
        assert caught.value.hint.startswith("Did you mean 'tavily'? ")
        assert all(name in caught.value.hint for name in {*catalog.BUILT_IN, *catalog.COMPOSED})

    @pytest.mark.parametrize("name", ["", "a b", "../x", "名"])
    def test_any_text_may_be_asked_for(self, name: str) -> None:
        with pytest.raises(NotConfigured):
            catalog.provider(name)


class TestLaziness:
    def test_one_name_imports_one_provider_and_no_http_library(self) -> None:
        modules = ask("tavily")["modules"]
        provider_modules = [name for name in modules if name.startswith("websearch_adapters.providers.")]
        assert provider_modules == ["websearch_adapters.providers.tavily"]
        assert not {"httpx", "backoff", "importlib.metadata", "pydantic", "lxml"} & set(modules)

    def test_the_catalogue_alone_imports_no_provider(self) -> None:
        modules = ask("nobody")["modules"]
        assert not [name for name in modules if name.startswith("websearch_adapters.providers")]


class TestPlugins:
    def test_a_plugin_is_found_by_its_name_and_no_other_one_is_loaded(self, tmp_path: Path) -> None:
        install(tmp_path, "acme_websearch", ACME, {"acme": "acme_websearch:PROVIDER"})
        install(tmp_path, "other_websearch", "raise RuntimeError('never import me')", {"other": "other_websearch:PROVIDER"})
        answer = ask("acme", tmp_path)
        assert (answer["name"], answer["offers"]) == ("acme", ["find"])
        assert "other_websearch" not in answer["modules"]

    @pytest.mark.parametrize("name", ["echo", "local"])
    def test_a_plugin_cannot_take_the_place_of_a_built_in(self, tmp_path: Path, name: str) -> None:
        install(tmp_path, "acme_websearch", ACME, {name: "acme_websearch:PROVIDER"})
        assert ask(name, tmp_path).get("name") in {"echo", None}
        assert "acme_websearch" not in ask(name, tmp_path)["modules"]

    @pytest.mark.parametrize(
        ("code", "value", "what"),
        [
            ("raise RuntimeError('secret words')", "acme_websearch:PROVIDER", "fails to load (RuntimeError)"),
            ("import sys; sys.exit(3)", "acme_websearch:PROVIDER", "fails to load (SystemExit)"),
            ("import no_such_module_anywhere", "acme_websearch:PROVIDER", "fails to load (ModuleNotFoundError)"),
            ("def broken(:", "acme_websearch:PROVIDER", "fails to load (SyntaxError)"),
            ("OTHER = 1", "acme_websearch:PROVIDER", "fails to load (AttributeError)"),
            ("PROVIDER = 'acme'", "acme_websearch:PROVIDER", "is not a websearch_adapters.provider.Provider"),
            (ACME, "no_such_module_anywhere:PROVIDER", "fails to load (ModuleNotFoundError)"),
        ],
    )
    def test_a_broken_plugin_is_an_error_that_names_it(self, tmp_path: Path, code: str, value: str, what: str) -> None:
        install(tmp_path, "acme_websearch", code, {"acme": value})
        answer = ask("acme", tmp_path)
        assert answer["error"] == f"the plugin for provider 'acme', {value}, {what}"
        assert value in answer["hint"]
        assert answer["provider"] == "acme"

    def test_two_packages_of_one_name_are_an_error_that_names_both(self, tmp_path: Path) -> None:
        for package in ("acme_one", "acme_two"):
            install(tmp_path, package, ACME, {"acme": f"{package}:PROVIDER"})
        answer = ask("acme", tmp_path)
        assert "acme_one:PROVIDER, acme_two:PROVIDER" in answer["error"]
        assert not {"acme_one", "acme_two"} & set(answer["modules"])
