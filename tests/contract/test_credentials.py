"""All credentials keep the promises of `Credentials`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from websearch_adapters.cache.memory import MemoryCache
from websearch_adapters.credentials.login import LoginCredentials
from websearch_adapters.credentials.oauth import OAuthClient, issuer_at
from websearch_adapters.credentials.pool import KeyPool, PoolRules
from websearch_adapters.credentials.renewal import Renewal
from websearch_adapters.credentials.token_file import TokenFile
from websearch_adapters.http.forms import FormClient
from websearch_core.ports import Credentials
from websearch_core.testing.contracts import CredentialsContract, KeyPoolContract
from websearch_core.testing.fakes import FakeCache, FakeClock, FakeCredentials


class TestFake(KeyPoolContract):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return FakeCredentials({provider: keys}, now=clock)


class TestFakeWithOneKey(CredentialsContract):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return FakeCredentials({provider: keys[0]}, now=clock)


class TestKeyPool(KeyPoolContract):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return KeyPool({provider: keys, "firecrawl": ["fc-another-providers-key"]}, now=clock, clock=clock)


class TestKeyPoolWithOneKey(CredentialsContract):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return KeyPool({provider: keys}, now=clock, clock=clock)


class TestKeyPoolWithManyKeys(TestKeyPool):
    @pytest.fixture
    def keys(self) -> Sequence[str]:
        return tuple(f"tvly-key-number-{number:04}" for number in range(12))


class TestSharedKeyPool(KeyPoolContract):
    """One request a key and two at once, through a cache that others use too."""

    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        rules = {provider: PoolRules(per_key=1, at_once=2)}
        return KeyPool({provider: keys}, MemoryCache(now=clock), rules=rules, now=clock, clock=clock)


class TestKeyPoolBesideALogin(KeyPoolContract):
    """Providers that do not use the login notice nothing of it."""

    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock, tmp_path: Path) -> Credentials:
        issuer = issuer_at("https://auth.x.ai")
        client = OAuthClient(FormClient("login"), issuer, client_id="client")
        renewal = Renewal(TokenFile(tmp_path / "login.json"), issuer, client)
        pool = KeyPool({provider: keys}, now=clock, clock=clock)
        return LoginCredentials(pool, renewal, providers=frozenset({"grok"}), now=clock)


class TestKeyPoolOverACacheThatForgets(TestKeyPoolWithOneKey):
    @pytest.fixture
    def credentials(self, provider: str, keys: Sequence[str], clock: FakeClock) -> Credentials:
        return KeyPool({provider: keys}, FakeCache(clock, forgetful=True), now=clock, clock=clock)
