"""What of the settings must not be shown: every key, and what addresses carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from websearch_adapters import settings
from websearch_core.values import Secret

KEY = "xai-0123456789abcdef"


@pytest.mark.requirement("P5-CONFIG-08")
@pytest.mark.parametrize(
    ("environ", "secrets"),
    [
        ({}, ()),
        ({"XAI_API_KEY": KEY, "GROK_API_KEY": "sk-1"}, (KEY, "sk-1")),
        ({"TAVILY_API_KEYS": "tvly-a,tvly-b", "TAVILY_ENABLED": "0"}, ("tvly-a", "tvly-b")),
        ({"GROK_API_URL": "https://me:p%40ss@relay.example/v1"}, ("p%40ss", "p@ss")),
        ({"GROK_API_URL": "https://ghp_0123456789abcdef:x-oauth@relay.example"}, ("x-oauth", "ghp_0123456789abcdef")),
        ({"GROK_API_URL": "https://token-alone@relay.example"}, ("token-alone",)),
        ({"GROK_API_URL": "https://relay.example/v1?key=a%2Fb&api-version=2026-11-30&x="}, ("a%2Fb", "a/b")),
        ({"REDIS_URL": "redis://app:p%40ss-0123@cache.example:6379/2"}, ("p%40ss-0123", "p@ss-0123")),
        ({"REDIS_URL": "rediss://cache.example?ssl_cert_reqs=none&password=p-0123"}, ("p-0123",)),
    ],
)
def test_keys_and_what_addresses_carry_are_secrets(environ: dict[str, str], secrets: tuple[str, ...], tmp_path: Path) -> None:
    """Also the keys of what is switched off; a user beside a password is a name, and a version is none."""
    loaded = settings.read(environ={"WEBSEARCH_HOME": str(tmp_path), **environ})
    assert loaded.settings.secrets() == secrets


@pytest.mark.parametrize("address", ["rediss://app:{}@cache.example:6380/2", "rediss://cache.example:6380/2?password={}"])
def test_the_password_of_redis_is_in_nothing_that_is_shown(address: str, tmp_path: Path) -> None:
    loaded = settings.read(environ={"WEBSEARCH_HOME": str(tmp_path), "REDIS_URL": address.format("redis-0123456789")})
    shown = {row.name: row.value for row in loaded.listing()}
    assert shown["cache.redis_url"] == "rediss://cache.example:6380/2"
    assert "0123456789" not in f"{loaded.listing()} {loaded.settings!r} {loaded.redact.text('redis-0123456789 is wrong')}"


def test_the_configuration_takes_its_own_secrets_out(tmp_path: Path) -> None:
    loaded = settings.read(environ={"WEBSEARCH_HOME": str(tmp_path), "XAI_API_KEY": KEY})
    assert loaded.redact.content(f"a {KEY}") == f"a {Secret(KEY).fingerprint}"
    assert loaded.redact is loaded.redact
