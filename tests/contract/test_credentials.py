"""All credentials keep the promises of `Credentials`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from websearch_adapters.credentials.static import StaticKeys
from websearch_core.ports import Credentials
from websearch_core.testing.contracts import CredentialsContract, KeyPoolContract
from websearch_core.testing.fakes import FakeClock, FakeCredentials


class TestFake(KeyPoolContract):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return FakeCredentials({provider: keys}, now=clock)


class TestFakeWithOneKey(CredentialsContract):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return FakeCredentials({provider: keys[0]}, now=clock)


class TestStaticKeys(KeyPoolContract):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return StaticKeys({provider: keys, "firecrawl": ["fc-another-providers-key"]}, now=clock)


class TestStaticKeysWithOneKey(CredentialsContract):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return StaticKeys({provider: keys}, now=clock)


class TestStaticKeysWithManyKeys(TestStaticKeys):
    @pytest.fixture
    def keys(self) -> Sequence[str]:
        return tuple(f"tvly-key-number-{number:04}" for number in range(12))
