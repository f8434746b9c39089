"""A search on X: searched or asked again, quotes with what supports them, paid for once, cut from the right end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from websearch_core import budget
from websearch_core.errors import BadReply, NotConfigured, Unreachable
from websearch_core.ports import Extractor, PostFinder
from websearch_core.posts import PostRules, Posts
from websearch_core.sources import Sources
from websearch_core.testing.fakes import FakeCache, FakeExtractor, FakePostFinder, Gate, RecordingObserver
from websearch_core.values import Answer, FetchRequest, Note, Page, PostQuery, PostResult, Source, SourcesRequest, Usage

pytestmark = pytest.mark.anyio

A = "https://x.com/examplevalley/status/1990000000000000001"
B = "https://x.com/i/status/1990000000000000002"
FUTURE = "https://x.com/a/status/9000000000000000000"
QUERY = PostQuery(query="Is the footbridge open?")
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
IDLE = Answer(text="It has not occurred.", engine="fake_posts", searched=False, usage=Usage(input_tokens=10, cost_usd=0.25))


def source(url: str, title: str = "") -> Source:
    return Source(url=url, title=title, evidence="cited")


def answer(text: str = f"Yes.\n\n> It is open.\n{A}\n\n> Come and see.\n{B}", *urls: str, **more: Any) -> Answer:
    given: dict[str, Any] = {"engine": "fake_posts", "searched": True, **more}
    return Answer(text=text, sources=tuple(map(source, urls or (A,))), **given)


def made(finder: PostFinder, extractor: Extractor | None = None, **more: Any) -> Posts:
    given: dict[str, Any] = {"cache": FakeCache(), "now": lambda: NOW, **more}
    return Posts(finder=finder, extractor=extractor or FakeExtractor(), **given)


def codes(result: PostResult) -> list[str]:
    return [note.code for note in result.notes]


class TestGuard:
    @pytest.mark.requirement("X-GUARD-01")
    async def test_an_answer_that_nobody_searched_for_is_asked_for_once_more(self) -> None:
        finder = FakePostFinder([IDLE, answer(usage=Usage(searches=2, cost_usd=0.5))])
        result = await made(finder)(QUERY)

        assert finder.asked == [QUERY, QUERY]
        assert (result.status, result.content[:4]) == ("success", "Yes.")
        assert result.usage == Usage(input_tokens=10, searches=2, cost_usd=0.75)

    @pytest.mark.requirement("X-GUARD-02")
    async def test_twice_without_a_search_is_an_error_that_keeps_the_text_to_itself(self) -> None:
        finder, cache = FakePostFinder(IDLE), FakeCache()
        result = await made(finder, cache=cache)(QUERY)

        assert len(finder.asked) == 2
        assert (result.status, result.error) == ("error", "xai_no_search_evidence")
        assert "not occurred" not in str(result)
        assert result.usage == Usage(input_tokens=20, cost_usd=0.5)
        assert cache.keys == ()

    @pytest.mark.requirement("X-GUARD-03")
    @pytest.mark.parametrize("error", [Unreachable("down", provider="xai"), BadReply("garbled", provider="xai")])
    async def test_another_failure_is_told_at_once(self, error: Exception) -> None:
        finder = FakePostFinder(error)
        result = await made(finder)(QUERY)

        assert len(finder.asked) == 1
        assert result.error in {"xai_unreachable", "xai_invalid_response"}

    async def test_a_failure_of_the_second_request_is_told_as_it_is(self) -> None:
        assert (await made(FakePostFinder([IDLE, Unreachable("down", provider="xai")]))(QUERY)).error == "xai_unreachable"

    @pytest.mark.requirement("X-GUARD-04")
    async def test_a_search_that_names_nothing_is_a_success_without_matches(self) -> None:
        found_nothing = Answer(text="No post was found.", engine="fake_posts", searched=True)
        result = await made(FakePostFinder(found_nothing))(QUERY)

        assert (result.status, result.no_matches, result.error) == ("success", True, None)
        assert codes(result) == ["no_matches"]
        assert not (await made(FakePostFinder())(QUERY)).no_matches

    async def test_an_engine_that_cannot_show_a_search_is_believed(self) -> None:
        finder = FakePostFinder(answer(searched=None))

        assert (await made(finder)(QUERY)).status == "success"
        assert len(finder.asked) == 1

    async def test_an_answer_without_text_is_an_error(self) -> None:
        assert (await made(FakePostFinder(answer(" \n ")))(QUERY)).error == "xai_empty_answer"

    async def test_without_a_key_it_says_so(self) -> None:
        result = await made(FakePostFinder(NotConfigured("no key", provider="xai")))(QUERY)

        assert (result.error, result.error_detail and result.error_detail.retryable) == ("xai_configuration_error", False)

    @pytest.mark.requirement("X-INPUT-04")
    async def test_days_that_are_still_to_come_are_refused_before_anything_is_paid(self) -> None:
        finder = FakePostFinder()
        result = await made(finder)(replace(QUERY, from_date="2026-12-01"))

        assert (result.error, finder.asked) == ("invalid_input", [])
        assert result.error_detail is not None
        assert "today is 2026-11-30" in result.error_detail.message
        assert (await made(finder)(replace(QUERY, from_date="2026-11-30", to_date="2030-01-01"))).status == "success"

    async def test_an_answer_that_ends_early_is_a_partial_success_and_not_kept_as_one(self) -> None:
        cut = Note(code="answer_incomplete", text="the answer ends early: max_output_tokens", provider="xai")
        finder = FakePostFinder(answer(notes=(cut,)))
        posts = made(finder)
        results = [await posts(QUERY), await posts(QUERY)]

        assert [result.status for result in results] == ["partial_success", "partial_success"]
        assert results[0].error_detail is not None
        assert results[0].error_detail.code == "xai_answer_incomplete"
        assert len(finder.asked) == 2


class TestQuotes:
    @pytest.mark.requirement("X-QUOTE-03")
    async def test_each_quote_has_its_link_and_says_whether_the_search_names_its_post(self) -> None:
        result = await made(FakePostFinder(answer()))(QUERY)

        assert [(quote.text, quote.url, quote.state) for quote in result.quotes] == [
            ("It is open.", A, "listed"),
            ("Come and see.", B, "unlisted"),
        ]
        assert codes(result) == ["quotes_unlisted"]
        assert result.notes[0].text.startswith("1 of 2 quotes")

    async def test_the_spelling_of_an_address_does_not_matter(self) -> None:
        listed = "https://twitter.com/ExampleValley/status/1990000000000000001?s=20"
        result = await made(FakePostFinder(answer(f"> It is open.\n{A}", listed, A, "https://example.org/")))(QUERY)

        assert [quote.state for quote in result.quotes] == ["listed"]
        assert [(one.url, one.handle) for one in result.sources] == [(listed, "ExampleValley"), ("https://example.org/", "")]
        assert result.sources_count == 2

    async def test_a_post_from_the_future_is_not_listed_whoever_names_it(self) -> None:
        (quote,) = (await made(FakePostFinder(answer(f"> It will be.\n{FUTURE}", FUTURE)))(QUERY)).quotes

        assert (quote.state, quote.published[:4]) == ("unlisted", "2078")

    @pytest.mark.requirement("X-CLEAN-02")
    async def test_answer_quotes_and_titles_come_out_clean(self) -> None:
        hostile = answer(f"Yes\x1b]0;title.\n\n> It \x9b31mis\x1b[0m op\u200ben.\n{A}")
        named = replace(hostile, sources=(source(A, "a \x1bPpayload\x1b\\title\u202e"),))
        result = await made(FakePostFinder(named))(QUERY)

        assert result.content == f"Yes\n\n> It is open.\n{A}"
        assert result.quotes[0].text == "It is open."
        assert result.sources[0].title == "a title"

    async def test_sources_outside_of_the_filters_are_counted(self) -> None:
        finder = FakePostFinder(answer("Yes.", A, B, "https://example.org/"))

        async def noted(**filters: Any) -> list[str]:
            return [note.text[:2] for note in (await made(finder)(replace(QUERY, **filters))).notes]

        assert await noted(allowed_x_handles=("ExampleValley",), from_date="2025-11-16", to_date="2025-11-16") == []
        assert await noted(allowed_x_handles=("another",)) == ["1 "]
        assert await noted(excluded_x_handles=("EXAMPLEVALLEY",)) == ["1 "]
        assert await noted(from_date="2025-11-17") == ["2 "]
        assert await noted(to_date="2025-11-15") == ["2 "]


class TestLookingUp:
    @pytest.mark.requirement("X-QUOTE-02")
    async def test_a_quote_whose_words_stand_on_the_page_is_verified(self) -> None:
        pages = {A: "Example Valley: “It is OPEN.” 14 Nov", B: "Log in to X"}
        extractor = FakeExtractor(pages)
        result = await made(FakePostFinder(answer()), extractor)(replace(QUERY, verify=True))

        assert [quote.state for quote in result.quotes] == ["verified", "unlisted"]
        assert codes(result) == ["quotes_unlisted", "quotes_not_found"]
        assert sorted(request.url for request in extractor.asked) == sorted([A, B])

    async def test_without_being_asked_no_page_is_read(self) -> None:
        extractor = FakeExtractor({A: "It is open."})
        result = await made(FakePostFinder(answer()), extractor)(QUERY)

        assert (extractor.asked, [quote.state for quote in result.quotes]) == ([], ["listed", "unlisted"])

    async def test_a_page_that_cannot_be_read_leaves_the_state_and_a_note(self) -> None:
        extractor = FakeExtractor({A: Unreachable("down", provider="local")})
        result = await made(FakePostFinder(answer()), extractor)(replace(QUERY, verify=True))

        assert [quote.state for quote in result.quotes] == ["listed", "unlisted"]
        assert codes(result)[-1] == "posts_unread"
        assert result.notes[-1].text == "2 of 2 posts could not be read (local_unreachable)"

    async def test_the_canonical_address_is_read_whatever_stands_beside_the_quote(self) -> None:
        strange = "https://mobile.twitter.com/ExampleValley/statuses/1990000000000000001/photo/1?s=20"
        extractor = FakeExtractor()
        await made(FakePostFinder(answer(f"> It is open.\n{strange}", A)), extractor)(replace(QUERY, verify=True))

        assert extractor.asked == [FetchRequest(url="https://x.com/ExampleValley/status/1990000000000000001")]

    async def test_pages_that_are_not_there_in_time_cost_nothing_else(self) -> None:
        gate = Gate(Page(url=A, text="It is open.", provider="fake"))
        posts = made(FakePostFinder(answer()), FakeExtractor(gate), rules=PostRules(deadline_s=0.2))
        result = await posts(replace(QUERY, verify=True))

        assert (result.status, [quote.state for quote in result.quotes]) == ("success", ["listed", "unlisted"])
        assert codes(result)[-1] == "posts_unread"
        assert gate.cancelled == 2

    async def test_only_so_many_posts_are_looked_up(self) -> None:
        urls = [f"https://x.com/a/status/{number}" for number in range(1, 6)]
        finder = FakePostFinder(answer("\n\n".join(f"> the word {url[-1]}\n{url}" for url in urls), *urls))
        extractor = FakeExtractor({url: f"the word {url[-1]}" for url in urls})
        result = await made(finder, extractor, rules=PostRules(posts_read=2))(replace(QUERY, verify=True))

        assert [quote.state for quote in result.quotes] == ["verified"] * 2 + ["listed"] * 3
        assert result.notes[-1].text == "3 of 5 posts were not looked up; there are too many"

    async def test_the_result_of_a_moment_ago_is_looked_up_all_the_same(self) -> None:
        finder = FakePostFinder(answer())
        posts = made(finder, FakeExtractor({A: "It is open."}))
        await posts(QUERY)
        result = await posts(replace(QUERY, verify=True))

        assert len(finder.asked) == 1
        assert [quote.state for quote in result.quotes] == ["verified", "unlisted"]


class TestPayingOnce:
    async def test_the_same_search_of_a_moment_ago_is_told_again(self) -> None:
        finder = FakePostFinder(answer())
        posts = made(finder)
        first, again = await posts(QUERY), await posts(replace(QUERY, query="is the FOOTBRIDGE open?"))

        assert len(finder.asked) == 1
        assert (again.content, again.quotes, again.session_id) == (first.content, first.quotes, first.session_id)
        assert "from_cache" in codes(again)

    async def test_where_nothing_is_kept_every_search_is_made(self) -> None:
        finder = FakePostFinder(answer())
        posts = made(finder, rules=PostRules(cache_ttl_s=0))
        await posts(QUERY)
        await posts(QUERY)

        assert len(finder.asked) == 2

    async def test_two_who_ask_at_once_share_a_search(self) -> None:
        gate = Gate(answer())
        finder = FakePostFinder(gate)
        posts = made(finder)
        asking = [asyncio.ensure_future(posts(QUERY)) for _ in range(2)]
        await gate.until_entered()
        gate.release()
        results = await asyncio.gather(*asking)

        assert len(finder.asked) == 1
        assert [result.status for result in results] == ["success", "success"]

    @pytest.mark.requirement("X-GUARD-05")
    async def test_a_caller_that_leaves_ends_the_search(self) -> None:
        gate = Gate(answer())
        asking = asyncio.ensure_future(made(FakePostFinder(gate))(QUERY))
        await gate.until_entered()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

        assert gate.cancelled == 1

    async def test_who_cannot_wait_gets_the_result_by_the_same_call_later(self) -> None:
        gate = Gate(answer())
        finder, cache = FakePostFinder(gate), FakeCache()
        posts = made(finder, cache=cache, rules=PostRules(cache_ttl_s=0))
        early = await posts(QUERY, within_s=0.05)

        assert (early.error, bool(early.pending_until)) == ("xai_total_budget_exhausted", True)
        assert early.next_action is not None
        assert "same arguments" in early.next_action

        gate.release()
        await until(lambda: len(cache.keys) == 2)
        late = await posts(QUERY)
        assert (late.status, len(finder.asked)) == ("success", 1)
        await posts.running.aclose()

    async def test_a_late_search_that_fails_is_made_again(self) -> None:
        gate: Gate[Answer] = Gate(Unreachable("down", provider="xai"))
        finder = FakePostFinder([gate, answer()])
        posts = made(finder)
        await posts(QUERY, within_s=0.05)
        gate.release()
        await until(lambda: not posts.running._tasks)
        assert (await posts(QUERY)).status == "success"

    async def test_the_operators_limit_ends_the_search_for_good(self) -> None:
        gate = Gate(answer())
        result = await made(FakePostFinder(gate), rules=PostRules(deadline_s=0.05))(QUERY, within_s=9)

        assert (result.error, result.pending_until) == ("xai_total_budget_exhausted", "")
        assert gate.cancelled == 1

    async def test_the_span_says_how_it_went(self) -> None:
        observer = RecordingObserver()
        await made(FakePostFinder(answer()), observe=observer)(QUERY)
        (span,) = observer.named("posts")

        assert (span.facts["outcome"], span.facts["quotes"]) == ("success", 2)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a state that tasks of ours bring about; thirty seconds at most."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


class TestCutting:
    LONG = answer(
        "word " * 20_000
        + "\n\n"
        + "\n\n".join(f"> quote {number} {'x' * 200}\nhttps://x.com/a/status/{number}" for number in range(1, 41)),
        *[f"https://x.com/a/status/{number}" for number in range(1, 41)],
    )

    @pytest.mark.requirement("X-RESULT-01")
    @pytest.mark.parametrize("max_chars", [1_000, 2_000, 5_000, 24_000, 120_000, 200_000])
    async def test_a_result_keeps_its_size_and_sources_are_cut_last(self, max_chars: int) -> None:
        result = await made(FakePostFinder(self.LONG))(replace(QUERY, max_chars=max_chars))

        assert budget.json_chars(result) <= max_chars
        assert (result.sources_count, result.quotes_count) == (40, 40)
        assert result.next_start is not None or len(result.quotes) == 40
        assert len(result.sources) == 40 or max_chars < 6_000
        if len(result.sources) < 40:
            assert result.next_offset == len(result.sources)
            assert result.next_start is not None

    async def test_what_fits_is_not_cut_and_not_noted(self) -> None:
        result = await made(FakePostFinder(answer()))(QUERY)

        assert (result.next_start, result.next_offset) == (None, None)
        assert "result_cut" not in codes(result)

    async def test_what_was_cut_is_read_on_by_its_session(self) -> None:
        cache = FakeCache()
        result = await made(FakePostFinder(self.LONG), cache=cache)(replace(QUERY, max_chars=3_000))
        assert "result_cut" in codes(result)
        assert result.next_offset is not None
        rest = await Sources(cache=cache)(
            SourcesRequest(session_id=result.session_id, offset=result.next_offset, start=result.next_start, max_chars=200_000)
        )

        assert [one.url for one in result.sources] + [one.url for one in rest.sources] == [one.url for one in self.LONG.sources]
        assert result.content + rest.content == self.LONG.text.strip()
