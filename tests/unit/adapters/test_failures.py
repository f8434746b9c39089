"""Statuses, words and transport faults as our errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upstreams import examples
from websearch_adapters.http import failures
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    ModelRejected,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    RateLimited,
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


def judged(status: int, body: Any = b"", headers: dict[str, str] | None = None) -> WebSearchError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return failures.from_response(status, headers or {}, raw, "grok", BASE)


def in_200(error: object, **more: object) -> ProviderError:
    found = failures.error_in_body({"error": error, **more}, "grok", BASE)
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

    @pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
    def test_a_redirect_is_a_wrong_address(self, status: int) -> None:
        error = judged(status, headers={"location": "https://login.example/?token=secret"})
        assert type(error) is WrongAddress
        assert BASE in error.message
        assert "login.example" not in f"{error.message} {error.hint}"

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
