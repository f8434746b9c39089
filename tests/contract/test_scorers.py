"""Every scorer keeps the port's promise."""

from __future__ import annotations

import pytest

from websearch_core.errors import NotConfigured, WebSearchError
from websearch_core.ports import Scorer
from websearch_core.testing.contracts import ScorerContract
from websearch_core.testing.fakes import FakeScorer


class TestFake(ScorerContract):
    @pytest.fixture
    def scorer(self) -> Scorer:
        return FakeScorer()

    @pytest.fixture
    def failing_scorer(self) -> Scorer:
        return FakeScorer(NotConfigured("no model is there"))


@pytest.mark.anyio
async def test_the_suite_notices_a_number_too_few_and_one_that_is_none() -> None:
    class Short(FakeScorer):
        async def score(self, question: str, texts: object, /) -> list[float]:
            return [1.0]

    class Endless(FakeScorer):
        async def score(self, question: str, texts: object, /) -> list[float]:
            return [float("nan")] * 3

    for broken in (Short(), Endless()):
        with pytest.raises(AssertionError):
            await ScorerContract().test_gives_a_finite_number_for_each_text(broken)
    with pytest.raises(pytest.fail.Exception):
        await ScorerContract().test_fails_with_an_error_of_ours(FakeScorer())
    assert issubclass(NotConfigured, WebSearchError)
