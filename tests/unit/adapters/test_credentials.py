"""Keys from the settings: who is used when, who rests, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from websearch_adapters.credentials.static import StaticKeys
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    RateLimited,
    Unreachable,
    WebSearchError,
)
from websearch_core.ports import Credentials
from websearch_core.testing.fakes import FakeClock
from websearch_core.values import Secret

pytestmark = pytest.mark.anyio

A, B, C = "tvly-alpha-0123456789", "tvly-bravo-0123456789", "tvly-charlie-012345678"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def keys(clock: FakeClock) -> StaticKeys:
    return StaticKeys({"tavily": [A, B, C]}, now=clock)


async def call(keys: Credentials, upstream: Mapping[str, ProviderError | None], asked: list[str]) -> None:
    """One keyed call as the HTTP client makes it: on with another key as long as the credentials say so."""
    while True:
        secret = await keys.current("tavily")
        asked.append(secret.value)
        error = upstream[secret.value]
        if error is None:
            return
        if not await keys.rejected("tavily", secret, error):
            raise error


def states(keys: StaticKeys) -> list[object]:
    return [row["state"] for row in keys.statuses("tavily")]


async def test_each_kind_of_failure_is_treated_by_its_kind_and_each_key_is_asked_once(keys: StaticKeys, clock: FakeClock) -> None:
    refused, limited, used_up = AuthRejected("401"), RateLimited("429", retry_after_s=30.0), OutOfCredit("432")
    asked: list[str] = []
    with pytest.raises(OutOfCredit):
        await call(keys, {A: refused, B: limited, C: used_up}, asked)
    assert asked == [A, B, C]
    assert states(keys) == ["invalid", "cooldown", "quota_exhausted"]

    clock.advance(60)
    down, silent = Unreachable("500", http_status=500), Unreachable("no reply in time")
    for error in (down, silent):
        asked = []
        with pytest.raises(Unreachable):
            await call(keys, {B: error}, asked)
        assert asked == [B], "only B is back, and another key would not help"
    assert states(keys) == ["invalid", "healthy", "quota_exhausted"]

    clock.advance(3600)
    asked = []
    await call(keys, {B: None, C: None}, asked)
    await call(keys, {B: None, C: None}, asked)
    assert sorted(asked) == [B, C]
    assert states(keys) == ["invalid", "healthy", "healthy"], "a refused key stays away until the next start"


async def test_healthy_keys_take_turns(keys: StaticKeys) -> None:
    assert [(await keys.current("tavily")).value for _ in range(6)] == [A, B, C, A, B, C]


async def test_says_whether_another_key_can_be_tried(keys: StaticKeys) -> None:
    assert await keys.rejected("tavily", Secret(A), AuthRejected("401")) is True
    assert await keys.rejected("tavily", Secret(B), RateLimited("429")) is True
    assert await keys.rejected("tavily", Secret(C), OutOfCredit("432")) is False


@pytest.mark.parametrize("error", [Unreachable("500"), BadReply("not JSON")])
async def test_a_key_that_is_not_to_blame_is_not_changed_for_another(keys: StaticKeys, error: ProviderError) -> None:
    assert await keys.rejected("tavily", Secret(A), error) is False
    assert states(keys) == ["healthy"] * 3


async def test_a_late_failure_of_a_key_that_others_already_reported_still_leads_to_a_healthy_one(keys: StaticKeys) -> None:
    assert await keys.rejected("tavily", Secret(A), AuthRejected("401")) is True
    assert await keys.rejected("tavily", Secret(A), RateLimited("429")) is True
    assert states(keys) == ["invalid", "healthy", "healthy"]


async def test_an_unknown_key_or_provider_changes_nothing(keys: StaticKeys) -> None:
    assert await keys.rejected("tavily", Secret("tvly-of-an-earlier-life"), AuthRejected("401")) is False
    assert await keys.rejected("nobody", Secret(A), AuthRejected("401")) is False
    assert states(keys) == ["healthy"] * 3
    assert keys.statuses("nobody") == ()


async def test_a_limited_only_key_stays_in_use_and_its_error_is_the_answer(clock: FakeClock) -> None:
    keys = StaticKeys({"tavily": [A]}, now=clock)
    assert await keys.rejected("tavily", await keys.current("tavily"), RateLimited("429", retry_after_s=30.0)) is False
    assert (await keys.current("tavily")).value == A
    assert states(keys) == ["cooldown"]


async def test_when_all_keys_rest_it_says_when_the_first_one_is_back(keys: StaticKeys, clock: FakeClock) -> None:
    await keys.rejected("tavily", Secret(A), OutOfCredit("432"))
    await keys.rejected("tavily", Secret(B), RateLimited("429", retry_after_s=20.0))
    await keys.rejected("tavily", Secret(C), RateLimited("429"))
    clock.advance(5)
    with pytest.raises(RateLimited) as caught:
        await keys.current("tavily")
    assert caught.value.retry_after_s == pytest.approx(15.0)
    assert "1 (tv…89) used up, 2 (tv…89) rate-limited, 3 (tv…78) rate-limited" in caught.value.message


async def test_when_all_keys_are_used_up_or_refused_credit_is_what_is_missing(keys: StaticKeys) -> None:
    await keys.rejected("tavily", Secret(A), OutOfCredit("432", retry_after_s=100.0))
    await keys.rejected("tavily", Secret(B), AuthRejected("401"))
    await keys.rejected("tavily", Secret(C), AuthRejected("401"))
    with pytest.raises(OutOfCredit) as caught:
        await keys.current("tavily")
    assert caught.value.retry_after_s == pytest.approx(100.0)


async def test_when_all_keys_are_refused_it_names_positions_and_fingerprints_and_no_key(keys: StaticKeys) -> None:
    for key in (A, B, C):
        await keys.rejected("tavily", Secret(key), AuthRejected("401"))
    with pytest.raises(AuthRejected) as caught:
        await keys.current("tavily")
    error = caught.value
    said = f"{error.message} {error.hint} {dict(error.diagnostics)}"
    assert "1 (tv…89) refused" in said
    assert error.provider == "tavily"
    assert error.retry_after_s is None
    assert not any(key in said for key in (A, B, C))


async def test_without_a_key_it_names_the_setting_and_its_variables() -> None:
    keys = StaticKeys({"tavily": ["", "  "]})
    with pytest.raises(NotConfigured) as caught:
        await keys.current("tavily")
    assert caught.value.hint == (
        "Set tavily.api_keys in the configuration file or TAVILY_API_KEYS or TAVILY_API_KEY or WEBSEARCH_TAVILY_API_KEYS "
        "in the environment."
    )


@pytest.mark.parametrize(
    ("provider", "named"),
    [("xai", "XAI_API_KEY"), ("chat", "GROK_API_KEY"), ("firecrawl", "FIRECRAWL_API_KEY")],
)
async def test_a_provider_that_nobody_mentioned_is_named_with_its_variable(provider: str, named: str) -> None:
    with pytest.raises(NotConfigured, match=provider) as caught:
        await StaticKeys({}).current(provider)
    assert named in (caught.value.hint or "")


async def test_the_engine_without_a_key_is_told_both_ways() -> None:
    with pytest.raises(NotConfigured) as caught:
        await StaticKeys({}).current("grok")
    assert "XAI_API_KEY" in (caught.value.hint or "")
    assert "GROK_API_KEY" in (caught.value.hint or "")


async def test_a_plugin_without_a_key_is_at_least_named() -> None:
    with pytest.raises(NotConfigured) as caught:
        await StaticKeys({}).current("of-a-plugin")
    assert caught.value.hint == "Set a key for of-a-plugin."


async def test_takes_a_single_key_as_text_and_counts_duplicates_once(clock: FakeClock) -> None:
    keys = StaticKeys({"xai": "xai-only-key-0123456789", "tavily": [A, f" {A} ", B]}, now=clock)
    assert (await keys.current("xai")).value == "xai-only-key-0123456789"
    assert len(keys.statuses("tavily")) == 2


async def test_reports_each_key_by_position_fingerprint_state_wait_and_last_error(keys: StaticKeys, clock: FakeClock) -> None:
    await keys.rejected("tavily", Secret(B), RateLimited("429", retry_after_s=30.0))
    clock.advance(0.5)
    assert keys.statuses("tavily")[:2] == (
        {"position": 1, "fingerprint": "tv…89", "state": "healthy"},
        {
            "position": 2,
            "fingerprint": "tv…89",
            "state": "cooldown",
            "retry_after_seconds": 29.5,
            "last_error": "rate_limited",
        },
    )


async def test_the_lengths_of_rests_can_be_set(clock: FakeClock) -> None:
    keys = StaticKeys({"tavily": [A, B]}, now=clock, cooldown_s=5, quota_cooldown_s=50)
    await keys.rejected("tavily", Secret(A), RateLimited("429"))
    await keys.rejected("tavily", Secret(B), OutOfCredit("432"))
    assert [row["retry_after_seconds"] for row in keys.statuses("tavily")] == [5.0, 50.0]


async def test_one_provider_does_not_touch_the_keys_of_another(clock: FakeClock) -> None:
    keys = StaticKeys({"tavily": [A, B], "firecrawl": [A, B]}, now=clock)
    await keys.rejected("tavily", Secret(A), AuthRejected("401"))
    assert [row["state"] for row in keys.statuses("firecrawl")] == ["healthy", "healthy"]


async def test_every_error_that_leaves_is_one_of_ours(keys: StaticKeys) -> None:
    for key in (A, B, C):
        await keys.rejected("tavily", Secret(key), OutOfCredit("432"))
    with pytest.raises(WebSearchError) as caught:
        await keys.current("tavily")
    assert isinstance(caught.value, ProviderError)
