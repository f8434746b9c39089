"""Statuses, words and transport faults as our errors."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upstreams import examples
from websearch_adapters.http import failures
from websearch_adapters.http.egress import GuardedTransport
from websearch_adapters.http.failures import PHRASES, Phrases
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RedirectRefused,
    RequestRejected,
    Unreachable,
    WebSearchError,
    WrongAddress,
)
from websearch_core.retry import RetryPolicy, repeatable
from websearch_core.testing.strategies import json_values

BASE = "https://relay.example/v1"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
XAI = {
    "400.invalid-argument": RequestRejected,
    "400.bad-api-key": AuthRejected,
    "400.bare-string": AuthRejected,
    "400.include": RequestRejected,
    "400.context-length": RequestRejected,
    "401.missing-auth": AuthRejected,
    "402.spending-limit": OutOfCredit,
    "403.spending-limit": OutOfCredit,
    "403.oauth-token-rejected": AuthRejected,
    "403.permission-denied": AuthRejected,
    "404.model": ModelRejected,
    "404.response-id": RequestRejected,
    "410.live-search": RequestRejected,
    "413.too-large": RequestRejected,
    "415.media-type": RequestRejected,
    "422.deserialize": RequestRejected,
    "429.rate-limit": RateLimited,
    "429.no-retry-after": RateLimited,
    "429.out-of-credits": OutOfCredit,
    "429.free-usage": OutOfCredit,
    "429.capacity": RateLimited,
    "500.internal": Unreachable,
    "502.cloudflare": Unreachable,
    "503.unavailable": Unreachable,
    "529.overloaded": Unreachable,
}
CHAT = {
    "400.invalid": RequestRejected,
    "400.context-length": RequestRejected,
    "400.google-array": AuthRejected,
    "401.invalid-key": AuthRejected,
    "401.new-api-token": AuthRejected,
    "402.openrouter-credits": OutOfCredit,
    "403.proxy-quota": OutOfCredit,
    "404.model": ModelRejected,
    "408.timeout": Unreachable,
    "410.live-search": RequestRejected,
    "422.detail-list": RequestRejected,
    "429.rate-limit": RateLimited,
    "429.insufficient-quota": OutOfCredit,
    "429.no-available-account": Unreachable,
    "500.server": Unreachable,
    "500.double-encoded": Unreachable,
    "502.html": Unreachable,
    "503.no-available-accounts": Unreachable,
    "503.no-available-compatible-accounts": Unreachable,
    "503.no-available-channel": ModelRejected,
    "503.no-available-channel.zh": ModelRejected,
}
EXPECTED: dict[str, type[WebSearchError]] = {
    **{f"xai-responses.error.{name}": kind for name, kind in XAI.items()},
    **{f"chat.error.{name}": kind for name, kind in CHAT.items()},
}


def judged(status: int, body: Any = b"", headers: dict[str, str] | None = None, phrases: Phrases = PHRASES) -> WebSearchError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return failures.from_response(status, headers or {}, raw, "grok", BASE, phrases)


def in_200(error: object, phrases: Phrases = PHRASES) -> ProviderError:
    found = failures.error_in_body({"error": error}, "grok", BASE, phrases)
    assert found is not None
    return found


class TestResponses:
    @pytest.mark.parametrize(
        "row", [row for prefix in ("xai-responses.", "chat.") for row in examples.scenarios(prefix) if row.status != 200]
    , ids=lambda row: row.id)  # fmt: skip
    def test_every_error_of_the_manifest_has_its_class_and_shows_nothing_of_its_body(self, row: examples.Scenario) -> None:
        body = examples.read(row.response_body)
        error = failures.from_response(row.status, row.headers, body, "grok", BASE)
        assert type(error) is EXPECTED[row.id]
        assert (error.provider, error.http_status) == ("grok", row.status)
        assert error.message == f"grok answers {row.status}"
        assert error.hint

    @pytest.mark.requirement("EDGE-05")
    @pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
    def test_a_redirect_is_a_wrong_address(self, status: int) -> None:
        error = judged(status, headers={"location": "https://login.example/?token=secret"})
        assert type(error) is RedirectRefused
        assert BASE in error.message
        assert "login.example" not in f"{error.message} {error.hint}"

    @pytest.mark.requirement("EDGE-05")
    @pytest.mark.parametrize("status", [401, 403, 404, 405])
    def test_a_page_for_people_is_a_wrong_address(self, status: int) -> None:
        assert type(judged(status, b"\n<html>Not here</html>")) is WrongAddress

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (408, Unreachable),
            (409, RequestRejected),
            (425, Unreachable),
            (429, RateLimited),
            (500, Unreachable),
            (520, Unreachable),
            (530, Unreachable),
            (404, RequestRejected),
            (418, BadReply),
            (204, BadReply),
            (432, OutOfCredit),
        ],
    )
    def test_without_words_the_status_decides(self, status: int, kind: type[WebSearchError]) -> None:
        assert type(judged(status)) is kind

    @pytest.mark.parametrize(
        ("status", "words", "kind"),
        [
            (401, "上游账号不可用", Unreachable),
            (403, "Dead account, retry", Unreachable),
            (400, "The model `grok-9` does not exist", ModelRejected),
            (403, "You do not have access to model X: model_access_denied", ModelRejected),
            (429, "You exceeded your current quota", OutOfCredit),
            (400, "API key not valid. Please pass a valid API key.", AuthRejected),
            (403, "This site is not supported.", Declined),
            (403, "Please contact support", AuthRejected),
            (503, "the model did not respond", Unreachable),
        ],
    )
    def test_words_decide_before_the_status(self, status: int, words: str, kind: type[WebSearchError]) -> None:
        assert type(judged(status, {"error": {"message": words}})) is kind

    @pytest.mark.parametrize(
        ("status", "should", "repeats"), [(503, "false", False), (429, "false", False), (400, "true", True), (503, "true", True)]
    )
    def test_the_upstreams_word_on_retrying_is_obeyed(self, status: int, should: str, repeats: bool) -> None:
        assert judged(status, headers={"X-Should-Retry": should}).repeatable is repeats

    def test_the_code_is_a_short_slug(self) -> None:
        assert judged(400, {"error": {"code": "bad <b>thing</b>\n" + "x" * 100}}).upstream_code == f"bad_b_thing_b_{'x' * 66}"
        assert judged(400, {"error": {"code": 1234, "message": "x"}}).upstream_code == "1234"
        assert judged(400, {"error": {"code": {"deep": "text"}, "type": "kind"}}).upstream_code == "kind"
        assert judged(400, {"error": {"code": "", "type": None}}).upstream_code is None


class TestPhrases:
    """The built-in words, in their order: relay, credit, model, key; then the status."""

    @pytest.mark.requirement("P5-CLIENT-09")
    @pytest.mark.parametrize("words", failures.RELAY_ACCOUNT)
    @pytest.mark.parametrize("status", [400, 401, 403, 429, 503])
    def test_a_relay_without_an_account_passes_whatever_the_status(self, status: int, words: str) -> None:
        error = judged(status, {"error": {"message": f"Sorry: {words.upper()} (request id: 1)"}}, {"retry-after": "3"})
        assert type(error) is Unreachable
        assert (error.diagnostics["error_type"], error.retry_after_s) == ("relay_upstream_account_unavailable", 3.0)

    @pytest.mark.requirement("P5-CLIENT-10")
    @pytest.mark.parametrize(
        ("words", "error_type"),
        [
            *((words, "model_not_found") for words in failures.UNKNOWN_MODEL),
            *((words, "model_permission_denied") for words in failures.FORBIDDEN_MODEL),
            *((words, "model_unavailable") for words in failures.UNAVAILABLE_MODEL),
        ],
    )
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 503])
    def test_a_model_at_fault_is_known_by_its_words_whatever_the_status(self, status: int, words: str, error_type: str) -> None:
        for error in (judged(status, {"error": {"code": words}}), in_200({"message": words})):
            assert type(error) is ModelRejected
            assert error.diagnostics["error_type"] == error_type
            assert error.repeatable is (error_type == "model_unavailable")

    @pytest.mark.requirement("EDGE-06")
    @pytest.mark.parametrize(
        ("words", "error_type"),
        [
            ("The model `grok-9` does not exist or you do not have access to it.", "model_not_found"),
            ("model 'demo-model' not found", "model_not_found"),
            ("Model grok-9 is not supported here", "model_not_found"),
            ("模型 grok-9 不存在", "model_not_found"),
            ("Project `p` does not have access to model `grok-9`", "model_permission_denied"),
            ("You do not have permission to use the model grok-9", "model_permission_denied"),
            ("This key is not authorized for the model grok-9", "model_permission_denied"),
            ("Access to model grok-9 is denied", "model_permission_denied"),
            ("模型 grok-9 无权限", "model_permission_denied"),
            ("Model grok-9 is temporarily unavailable", "model_unavailable"),
            ("The model `grok-9` is currently overloaded", "model_unavailable"),
            ("模型「grok-9」暂时不可用", "model_unavailable"),
        ],
    )
    def test_a_model_named_inside_the_phrase_hides_nothing(self, words: str, error_type: str) -> None:
        error = judged(403, {"error": {"message": words}})
        assert type(error) is ModelRejected
        assert error.diagnostics["error_type"] == error_type

    @pytest.mark.parametrize(
        ("status", "words", "kind"),
        [
            (503, "The service is currently unavailable", Unreachable),
            (403, "The caller does not have permission to execute the operation", AuthRejected),
            (500, "The model did not respond to this request", Unreachable),
            (400, "This model's maximum prompt length is 131072", RequestRejected),
            (429, "Some resource has been exhausted: the model is at capacity", RateLimited),
        ],
    )
    def test_words_near_a_model_are_not_about_the_model(self, status: int, words: str, kind: type[WebSearchError]) -> None:
        assert type(judged(status, {"error": words})) is kind

    @pytest.mark.requirement("P5-CLIENT-12", "P5-POOL-17")
    @pytest.mark.parametrize("words", failures.AUTH)
    @pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 422, 429])
    def test_a_refused_key_is_known_by_its_words_whatever_the_status(self, status: int, words: str) -> None:
        error = in_200(words) if status == 200 else judged(status, {"error": {"message": words}})
        assert type(error) is AuthRejected
        assert error.diagnostics["error_type"] == "authentication_error"

    @pytest.mark.requirement("P5-POOL-18")
    @pytest.mark.parametrize("words", failures.CREDIT)
    def test_used_up_credit_is_no_passing_limit(self, words: str) -> None:
        assert type(judged(429, {"error": {"message": words}}, {"retry-after": "3"})) is OutOfCredit

    @pytest.mark.requirement("P5-POOL-18", "P5-TAVILY-04")
    @pytest.mark.parametrize(
        ("words", "kind"),
        [
            ("Monthly quota exceeded", OutOfCredit),
            ("Billing hard limit reached", OutOfCredit),
            ("You have reached your plan limit", OutOfCredit),
            ("Usage limit reached, please upgrade", OutOfCredit),
            ("Insufficient balance", OutOfCredit),
            ("Quota exceeded for requests per minute", RateLimited),
            ("Usage limit: 100 requests/min", RateLimited),
            ("Your credits allow 20 RPM", RateLimited),
            ("Please reduce rate of requests.", RateLimited),
        ],
    )
    def test_a_plan_that_is_used_up_is_told_from_a_limit_by_the_minute(self, words: str, kind: type[WebSearchError]) -> None:
        assert type(judged(429, {"detail": {"error": words}})) is kind
        assert type(judged(503, {"detail": {"error": words}})) is Unreachable

    @pytest.mark.requirement("P5-POOL-17")
    @pytest.mark.parametrize(
        "words",
        [
            "API key has been revoked",
            "Your api_key is expired.",
            "API key missing",
            "revoked API key",
            "This api-key is disabled",
        ],
    )
    def test_a_key_that_is_no_more_is_known_by_other_words_too_but_not_in_an_outage(self, words: str) -> None:
        assert type(judged(400, {"error": words})) is AuthRejected
        assert type(judged(429, {"error": words})) is AuthRejected
        assert type(judged(500, {"error": words})) is Unreachable

    @pytest.mark.parametrize(
        "words", ["Invalid date", "invalid value for max_tokens", "the page lists api keys, 3 of them invalid"]
    )
    def test_what_is_invalid_beside_a_key_is_not_the_key(self, words: str) -> None:
        assert type(judged(400, {"error": words})) is RequestRejected

    @pytest.mark.parametrize(
        ("words", "kind"),
        [
            ("no available account: model not found, incorrect api key", Unreachable),
            ("insufficient credits: model not found, incorrect api key", OutOfCredit),
            ("model not found, incorrect api key", ModelRejected),
            ("incorrect api key, rate_limit", AuthRejected),
        ],
    )
    def test_of_several_the_first_in_order_counts(self, words: str, kind: type[WebSearchError]) -> None:
        assert type(judged(400, {"error": {"message": words}})) is kind

    @pytest.mark.requirement("P5-CLIENT-11")
    @pytest.mark.parametrize("status", [400, 422])
    def test_a_wrong_request_is_wrong_whatever_its_code(self, status: int) -> None:
        error = judged(status, {"error": {"code": "rate_limit_exceeded", "message": "overloaded"}})
        assert type(error) is RequestRejected
        assert error.diagnostics["error_type"] == "request_invalid"

    @pytest.mark.requirement("P5-CLIENT-07")
    @pytest.mark.parametrize(("status", "error_type"), [(408, "upstream_unavailable"), (429, "rate_limited")] + [
        (status, "upstream_unavailable") for status in range(500, 505)
    ])  # fmt: skip
    def test_the_statuses_that_pass(self, status: int, error_type: str) -> None:
        error = judged(status, headers={"retry-after": "7"})
        assert error.repeatable
        assert (error.diagnostics["error_type"], error.retry_after_s) == (error_type, 7.0)


class TestRetryableCodes:
    @pytest.mark.requirement("HEAD-18", "HEAD-19")
    @pytest.mark.parametrize("code", PHRASES.retryable_codes)
    @pytest.mark.parametrize("field", ["code", "type"])
    @pytest.mark.parametrize("status", [200, 404, 409, 418, 429, 503])
    def test_a_code_or_type_of_the_list_passes_whatever_the_status(self, status: int, field: str, code: str) -> None:
        error = in_200({field: code.upper()}) if status == 200 else judged(status, {"error": {field: code.upper()}})
        is_rate = "rate_limit" in code or code == "too_many_requests" or status == 429
        assert type(error) is (RateLimited if is_rate else Unreachable)

    @pytest.mark.requirement("HEAD-18", "HEAD-21")
    def test_another_list_takes_the_place_of_the_built_in_one(self) -> None:
        mine = Phrases(retryable_codes=("My_Code",))
        assert type(in_200({"code": "MY_CODE"}, mine)) is Unreachable
        assert type(judged(404, {"error": {"type": "my_code"}}, phrases=mine)) is Unreachable
        assert type(in_200({"code": "overloaded_error"}, mine)) is BadReply
        assert type(in_200({"code": "my_code_too"}, mine)) is BadReply
        assert type(in_200({"code": "rate_limit"}, Phrases(retryable_codes=()))) is BadReply

    def test_prose_and_status_count_without_any_code(self) -> None:
        none = Phrases(retryable_codes=())
        assert type(in_200({"message": "Rate limit reached"}, none)) is RateLimited
        assert type(in_200({"code": "Internal error"}, none)) is Unreachable
        assert type(judged(503, {"error": {"code": "server_error"}}, phrases=none)) is Unreachable

    @pytest.mark.requirement("HEAD-21")
    @pytest.mark.parametrize("error", [{"code": "odd_code"}, {"type": "odd", "message": "it is odd"}, {"code": 999}])
    def test_an_unknown_code_in_a_200_is_final(self, error: object) -> None:
        found = in_200(error)
        assert type(found) is BadReply
        assert found.repeatable is False

    def test_a_code_inside_a_message_that_is_json_counts(self) -> None:
        assert type(in_200({"message": '{"error": {"code": "overloaded"}}'})) is Unreachable


class TestOperatorsPhrases:
    MINE = Phrases(retry=("No free slot", "  "), switch=("wrong engine",), stop=("account closed",))

    @pytest.mark.parametrize("status", [200, 400, 401, 402, 403, 404, 500])
    @pytest.mark.parametrize(
        ("words", "kind", "repeats"),
        [
            ("no free SLOT, invalid_api_key", Unreachable, True),
            ("Wrong engine. insufficient_quota", ModelRejected, True),
            ("Account closed; no available account", RequestRejected, False),
        ],
    )
    def test_they_come_before_every_built_in_word_and_status(
        self, status: int, words: str, kind: type[WebSearchError], repeats: bool
    ) -> None:
        error = in_200(words, self.MINE) if status == 200 else judged(status, {"error": words}, phrases=self.MINE)
        assert type(error) is kind
        assert error.repeatable is repeats

    def test_they_come_before_the_upstreams_word_on_retrying(self) -> None:
        error = judged(401, {"error": "no free slot"}, {"x-should-retry": "false"}, self.MINE)
        assert type(error) is Unreachable

    def test_a_blank_phrase_is_none(self) -> None:
        assert self.MINE.retry == ("no free slot",)
        assert type(judged(401, {"error": "anything"}, phrases=self.MINE)) is AuthRejected


class TestErrorsIn200:
    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            ({"code": "rate_limit_exceeded"}, RateLimited),
            ("Too many requests", RateLimited),
            ({"code": "upstream_error"}, Unreachable),
            ({"code": 502, "message": "Provider disconnected"}, Unreachable),
            ({"code": "429", "message": "slow down"}, RateLimited),
            ({"code": 401, "message": "who are you"}, AuthRejected),
            ({"code": 400, "message": "bad field"}, RequestRejected),
            ("The service is currently unavailable", Unreachable),
            ({"message": "Incorrect API key provided"}, AuthRejected),
            ({"message": "something odd"}, BadReply),
            (["odd"], BadReply),
        ],
    )
    def test_an_error_object_is_judged_by_its_words_and_codes(self, error: object, kind: type[ProviderError]) -> None:
        found = in_200(error)
        assert type(found) is kind
        assert found.http_status == 200

    @pytest.mark.parametrize("payload", [{}, {"error": None}, {"error": ""}, {"error": {}}, [], "error", None, {"a": 1}])
    def test_no_error_is_none(self, payload: object) -> None:
        assert failures.error_in_body(payload, "grok") is None

    def test_a_message_that_is_json_again_is_read(self) -> None:
        assert type(in_200({"message": '{"error": {"message": "insufficient credits"}}'})) is OutOfCredit


class TestRetryAfter:
    @pytest.mark.requirement("P5-POOL-13", "P5-POOL-14", "P5-POOL-15", "P5-POOL-16", "EDGE-02")
    @pytest.mark.parametrize(
        ("value", "seconds"),
        [
            ("2", 2.0),
            ("0", 0.0),
            ("1.5", 1.5),
            (" 7 ", 7.0),
            ("1e9", 1e9),
            ("Mon, 30 Nov 2026 12:01:00 GMT", 60.0),
            ("Mon, 30 Nov 2026 14:01:00 +0200", 60.0),
            ("Mon, 30 Nov 2026 12:01:00", 60.0),
            ("Sun, 29 Nov 2026 12:00:00 GMT", 0.0),
            ("inf", None),
            ("-inf", None),
            ("nan", None),
            ("-1", None),
            ("soon", None),
            ("", None),
            ("Mon, 99 Nov 2026 12:00:00 GMT", None),
            ("Mon, 30 Nov 99999 12:00:00 GMT", None),
            ("30.11.2026 12:01", None),
        ],
    )
    def test_seconds_and_dates_are_read_and_garbage_is_none(self, value: str, seconds: float | None) -> None:
        assert failures.retry_after_s({"Retry-After": value}, now=NOW) == seconds

    def test_milliseconds_win(self) -> None:
        assert failures.retry_after_s({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
        assert failures.retry_after_s({"retry-after-ms": "nan", "retry-after": "9"}) == 9.0

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("Resets in: 3m 4s", 184.0),
            ("resets in 9s", 9.0),
            ("Please retry after 30 s", 30.0),
            ("Please try again in 20s.", 20.0),
            ("try again in 1.5s", 1.5),
            ("try again in 2 seconds", 2.0),
            ("try again in a few minutes", None),
            ("try again in 120ms", None),
        ],
    )
    def test_the_words_of_the_error_are_the_last_resort(self, text: str, seconds: float | None) -> None:
        assert failures.retry_after_s({}, text) == seconds
        assert failures.retry_after_s({"retry-after": "1"}, text) == 1.0

    @given(st.text(max_size=60) | st.floats().map(str) | st.datetimes().map(str))
    def test_whatever_comes_is_none_or_a_wait(self, value: str) -> None:
        wait = failures.retry_after_s({"retry-after": value}, value, now=NOW)
        assert wait is None or 0.0 <= wait < float("inf")

    def test_a_wait_beyond_patience_ends_the_attempts(self) -> None:
        error = judged(429, headers={"retry-after": "1e9"})
        assert error.retry_after_s == 1e9
        assert not repeatable(error, RetryPolicy())
        assert repeatable(judged(429, headers={"retry-after": "60"}), RetryPolicy())


class TestTransportFaults:
    @pytest.mark.requirement("P5-CLIENT-08")
    @pytest.mark.parametrize(
        ("fault", "word"),
        [
            (httpx.ConnectTimeout("x"), "connection_failure"),
            (httpx.ConnectError("x"), "connection_failure"),
            (httpx.ReadTimeout("x"), "read_timeout"),
            (httpx.PoolTimeout("x"), "timeout"),
            (httpx.WriteTimeout("x"), "timeout"),
            (httpx.ReadError("x"), "network_failure"),
            (httpx.RemoteProtocolError("x"), "network_failure"),
            (httpx.DecodingError("x"), "network_failure"),
        ],
    )
    def test_every_fault_can_be_repeated_and_has_its_word(self, fault: httpx.HTTPError, word: str) -> None:
        error = failures.from_exception(fault, "grok", BASE)
        assert isinstance(error, Unreachable)
        assert error.repeatable
        assert error.diagnostics == {"error_type": word, "exception_type": type(fault).__name__}
        assert BASE in error.message

    @pytest.mark.anyio
    async def test_a_name_without_an_address_is_said_to_be_unknown(self) -> None:
        """The reader's own connections, with a resolver that fails as the system's does."""

        async def nobody(host: str, port: int) -> list[str]:
            raise socket.gaierror(socket.EAI_NONAME, f"{host}:{port} not known")

        transport = GuardedTransport(resolver=nobody)
        with pytest.raises(httpx.ConnectError) as caught:
            await transport.handle_async_request(httpx.Request("GET", "https://nowhere.example/page"))
        await transport.aclose()
        error = failures.from_exception(caught.value, "local", "https://nowhere.example/page", whose="nowhere.example")
        assert error.message == "nowhere.example: the host name is not known"
        assert error.hint is not None
        assert error.hint.startswith("Check the spelling of the host name")

    @pytest.mark.parametrize("fault", [httpx.InvalidURL("x"), httpx.UnsupportedProtocol("x")])
    def test_an_address_that_is_none_is_a_setting(self, fault: httpx.HTTPError | httpx.InvalidURL) -> None:
        error = failures.from_exception(fault, "grok", "relay")
        assert isinstance(error, NotConfigured)
        assert "://" not in error.message

    @pytest.mark.parametrize(
        ("base_url", "shown"),
        [
            ("https://user:pass@h.example:8443/v1?key=k#f", "https://h.example:8443/v1"),
            ("http://[::1]:9/v1", "http://[::1]:9/v1"),
            ("", "the configured address"),
            ("relay", "the configured address"),
            ("https://h.example:99999/", "the configured address"),
            ("http://[", "the configured address"),
        ],
    )
    def test_an_address_is_shown_without_user_and_query(self, base_url: str, shown: str) -> None:
        assert failures.shown_base(base_url) == shown


class TestJsonObject:
    def test_a_byte_order_mark_and_blanks_are_no_harm(self) -> None:
        assert failures.json_object(b'\xef\xbb\xbf \n{"a": 1}', provider="grok") == {"a": 1}

    @pytest.mark.parametrize("body", [b"", b"x", b"[]", b'"x"', b"1", b"null", b"{", b'{"a": ' + b"[" * 100_000])
    def test_anything_but_an_object_is_a_bad_reply(self, body: bytes) -> None:
        with pytest.raises(BadReply) as caught:
            failures.json_object(body, provider="grok")
        assert caught.value.diagnostics["error_type"] == "invalid_response"

    @pytest.mark.requirement("EDGE-05")
    def test_a_page_is_a_wrong_address_with_its_title_cleaned_and_cut(self) -> None:
        page = f"<html><title> Log\x00in <script>{'x' * 300}</title></html>".encode()
        with pytest.raises(WrongAddress) as caught:
            failures.json_object(page, provider="grok", base_url=BASE)
        assert caught.value.message.startswith(f"grok: {BASE} answers with an HTML page titled “Log in  script")
        assert len(caught.value.message) < 300


@given(status=st.integers(100, 599), body=json_values() | st.text() | st.binary(), header=st.text(max_size=20))
def test_any_reply_at_all_is_an_error_of_ours(status: int, body: Any, header: str) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    error = failures.from_response(status, {"retry-after": header, "x-should-retry": header}, raw, "grok", BASE)
    assert isinstance(error, WebSearchError)
    assert error.message.startswith("grok")
