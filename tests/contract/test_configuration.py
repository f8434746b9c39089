"""Every configuration keeps the promises of `Configuration`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from websearch_adapters import settings
from websearch_core.errors import WebSearchError
from websearch_core.ports import Configuration
from websearch_core.testing.contracts import ConfigurationContract
from websearch_core.testing.fakes import FakeConfiguration
from websearch_core.values import Secret, Setting


class TestFake(ConfigurationContract):
    @pytest.fixture
    def configuration(self, secrets: Sequence[str]) -> Configuration:
        shown = Secret(secrets[0]).fingerprint
        return FakeConfiguration([Setting(name="tavily.api_key", value=shown, origin="environment TAVILY_API_KEY")])

    @pytest.fixture
    def unwritable_configuration(self) -> Configuration:
        return FakeConfiguration(failure=WebSearchError("the file is read-only"))


class _Loaded(ConfigurationContract):
    """The settings as read, with a file in the test's folder."""

    @pytest.fixture
    def unwritable_configuration(self, tmp_path: Path) -> Configuration:
        (tmp_path / "no-folder").write_text("a file where the folder should be", encoding="utf-8")
        return settings.read(environ={}, file=tmp_path / "no-folder" / "config.toml")


class TestFromTheEnvironment(_Loaded):
    @pytest.fixture
    def configuration(self, tmp_path: Path, secrets: Sequence[str]) -> Configuration:
        environ = {"TAVILY_API_KEY": secrets[0], "WEBSEARCH_TAVILLY_API_KEY": secrets[0], "FIRECRAWL_API_URL": "no address"}
        return settings.read(environ=environ, file=tmp_path / "config.toml")


class TestFromAFile(_Loaded):
    @pytest.fixture
    def configuration(self, tmp_path: Path, secrets: Sequence[str]) -> Configuration:
        file = tmp_path / "config.toml"
        file.write_text(f'# mine\n[tavily]\napi_key = "{secrets[0]}"\nfantasy = "{secrets[0]}"\n', encoding="utf-8")
        return settings.read(environ={}, file=file)


class TestFromArguments(_Loaded):
    @pytest.fixture
    def configuration(self, tmp_path: Path, secrets: Sequence[str]) -> Configuration:
        arguments = {"tavily.api_key": secrets[0], "engine.primary_model": "grok-of-today"}
        return settings.read(arguments, environ={}, file=tmp_path / "config.toml")
