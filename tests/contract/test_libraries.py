"""Every library keeps the promises of `Library`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from websearch_adapters.library.index import SqliteLibrary
from websearch_core.ports import Library
from websearch_core.testing.contracts import LibraryContract
from websearch_core.testing.fakes import FakeLibrary


class TestFake(LibraryContract):
    @pytest.fixture
    def library(self) -> Library:
        return FakeLibrary()


class TestSqlite(LibraryContract):
    @pytest.fixture
    async def library(self, tmp_path: Path) -> AsyncIterator[Library]:
        library = SqliteLibrary(tmp_path / "library.db")
        yield library
        await library.aclose()
