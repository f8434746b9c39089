"""What a reader of an error or a page sees in place of a secret, and what stays readable."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from websearch_core import outcome
from websearch_core.errors import AllFailed, AuthRejected
from websearch_core.ports import Cache
from websearch_core.redaction import MOST_LEARNT, RedactedCache, Redactor
from websearch_core.testing.contracts import CacheContract
from websearch_core.testing.fakes import FakeCache, FakeClock
from websearch_core.values import (
    ConfigResult,
    FetchResult,
    Health,
    Json,
    Note,
    Outcome,
    Page,
    Report,
    SearchResult,
    Secret,
    Setting,
    Source,
)

KEY = "xai-c4nary/0123456789+abcdefghijk"
SHOWN = Secret(KEY).fingerprint


@pytest.mark.requirement("P5-POOL-19")
def test_a_secret_is_replaced_by_a_fingerprint_of_at_most_a_quarter() -> None:
    assert Redactor([KEY]).content(f"the key {KEY}.") == f"the key {SHOWN}."
    assert len(SHOWN.replace("…", "")) <= len(KEY) / 4
    assert Redactor(["12345678"]).content("a12345678b") == "a***b"


@pytest.mark.requirement("EDGE-12")
@pytest.mark.parametrize(
    ("secrets", "text", "cleaned"),
    [
        ([KEY, KEY + "-longer"], f"{KEY}-longer", "***"),
        ([KEY, KEY[4:]], f"{KEY} {KEY[4:]}", f"*** {Secret(KEY[4:]).fingerprint}"),
        (["abcdefgh12345678", "12345678ijklmnop"], "abcdefgh12345678ijklmnop", "***"),
        (["aaaaaaaa"], "b" + "a" * 11 + "b", "b***b"),
        (["abcdefgh", "ijklmnop"], "abcdefghijklmnop", "******"),
        ([], KEY, KEY),
        (["", "  "], "  ", "  "),
    ],
)
def test_secrets_inside_of_each_other_leave_no_rest(secrets: Sequence[str], text: str, cleaned: str) -> None:
    assert Redactor(secrets).content(text) == cleaned


@pytest.mark.requirement("EDGE-12")
@pytest.mark.parametrize(
    ("secret", "text", "in_diagnostics", "in_content"),
    [
        ("k3y-9", "key k3y-9, no", "key ***, no", "key ***, no"),
        ("k3y-9", "密钥k3y-9。", "密钥***。", "密钥***。"),
        ("k3y-9", "ak3y-9 k3y-99", "ak3y-9 k3y-99", "ak3y-9 k3y-99"),
        ("ollama", "ollama says no to ollamas", "*** says no to ollamas", "ollama says no to ollamas"),
        ("1234", "in 1234, not 12345", "in ***, not 12345", "in 1234, not 12345"),
        ("x", "x is no secret", "x is no secret", "x is no secret"),
        ("a1", "is a1 one", "is *** one", "is *** one"),
    ],
)
def test_a_short_secret_is_replaced_only_where_it_stands_alone(
    secret: str, text: str, in_diagnostics: str, in_content: str
) -> None:
    redact = Redactor([secret])
    assert (redact.text(text), redact.content(text)) == (in_diagnostics, in_content)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
        ("{'authorization': 'Basic dXNlcjpwYXNz'}", "{'authorization': 'Basic [redacted]'}"),
        ("[(b'Proxy-Authorization', b'x'), bearer tok-1]", "[(b'Proxy-Authorization', b'x'), bearer [redacted]"),
        ("api_key=abc&x=1", "api_key=[redacted]&x=1"),
        ("XAI_API_KEY=abc", "XAI_API_KEY=[redacted]"),
        ('{"access_token": "abc", "n": 1}', '{"access_token": "[redacted]", "n": 1}'),
        ("password: hunter2; user: me", "password: [redacted]; user: me"),
        ("token: Bearer abc", "token: Bearer [redacted]"),
        ("client secret = abc", "client secret = [redacted]"),
        ("GET https://me:pw@host.example/p?q=1", "GET https://[redacted]@host.example/p?q=1"),
        ("https://h.example/?q=1&key=abc&sig=d#f", "https://h.example/?q=1&key=[redacted]&sig=[redacted]"),
        ("the token is gone; mail me@host.example", "the token is gone; mail me@host.example"),
        ("set xai.api_key in the file, or XAI_API_KEY", "set xai.api_key in the file, or XAI_API_KEY"),
        ("tokens: 12, http://host.example:80/a@b", "tokens: 12, http://host.example:80/a@b"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_in_diagnostics_and_stays_in_content(text: str, cleaned: str) -> None:
    assert Redactor().text(text) == cleaned
    assert Redactor([KEY]).content(text) == text


def test_a_document_hides_what_stands_under_a_name_like_a_keys() -> None:
    given: Json = {"api_key": "abc", "api_keys": "ab…yz", "password": 123456, "tokens": 5, "on": {"secret": True, "token": ""}}
    wanted: Json = {**given, "api_key": "[redacted]", "password": "[redacted]"}  # type: ignore[dict-item]
    assert Redactor().plain(given) == wanted


# --- values of the library


def test_a_clean_value_is_the_same_object() -> None:
    page = Page(
        url="https://a.example/", text="Send `Authorization: Bearer x`.", provider="local", notes=(Note(code="c", text="t"),)
    )
    assert Redactor([KEY]).value(page) is page


@pytest.mark.requirement("P5-PROTOCOL-27")
def test_a_page_keeps_its_examples_and_loses_our_key() -> None:
    text = f"curl -H 'Authorization: Bearer x' https://u:p@h.example/?key=1 # {KEY}"
    result = FetchResult(
        url=f"https://a.example/?token=1&k={KEY}", content=text, notes=(Note(code="c", text="https://a.example/?token=1"),)
    )
    cleaned = Redactor([KEY]).value(result)
    assert cleaned.content == text.replace(KEY, SHOWN)
    assert cleaned.url == f"https://a.example/?token=1&k={SHOWN}"
    assert cleaned.notes[0].text == "https://a.example/?token=[redacted]"


@pytest.mark.requirement("P5-PROTOCOL-27")
def test_an_error_loses_secrets_in_every_field_and_keeps_the_words_that_programs_read() -> None:
    refused = AuthRejected(
        f"tavily says {KEY}", provider="tavily", hint=f"Bearer {KEY}", upstream_code=KEY, diagnostics={KEY: [f"token={KEY}"]}
    )
    failed = outcome.failed(SearchResult(session_id="abc"), AllFailed("all", (refused, refused), hint=KEY), "search")
    cleaned = Redactor([KEY, "tavily"]).value(failed)
    detail = cleaned.error_detail
    assert detail is not None
    assert KEY not in str(cleaned)
    assert (detail.code, cleaned.error, cleaned.status) == ("all_failed", "all_failed", "error")
    attempts = detail.diagnostics["attempts"]
    assert isinstance(attempts, list)
    assert attempts[0]["service"] == "tavily"
    assert attempts[0]["message"] == f"*** says {SHOWN}"


@pytest.mark.requirement("P5-CONFIG-08")
def test_listings_and_reports_lose_secrets_and_keep_fingerprints() -> None:
    listing = ConfigResult(
        configuration={"xai.api_key": SHOWN, "engine.primary_model": KEY, "problems": [f"password={1}"]},
        connection_test={"status": "failing", "message": f"key={KEY} token=abc", "available_models": [KEY]},
    )
    report = Report(
        parts=(Health(part="tavily", state="ok", detail=f"as https://me:{KEY}@h"),),
        settings=(
            Setting(name="xai.api_key", value=SHOWN, origin="default"),
            Setting(name="a", value=KEY, origin=f"file /{KEY}"),
        ),
        problems=(f"token={KEY}",),
    )
    for shown in (listing, report):
        cleaned: Outcome = Redactor([KEY]).value(shown)
        assert KEY not in str(cleaned)
        assert SHOWN in str(cleaned)
    assert Redactor([KEY]).value(listing).configuration["problems"] == ["password=[redacted]"]


def test_a_secret_of_the_house_is_left_to_itself() -> None:
    secret = Secret(KEY)
    assert Redactor([KEY]).value([secret]) == [secret]


@pytest.mark.anyio
async def test_what_is_kept_holds_no_secret() -> None:
    inner = FakeCache()
    cache = RedactedCache(inner, Redactor([KEY]))
    page = Page(url="https://a.example/", text=f"echo {KEY}", provider="local")
    await cache.put("page", page, ttl_s=60)
    assert await cache.add("other", Source(url="https://a.example/", title=KEY), ttl_s=60)
    kept, added = await inner.get("page", Page), await inner.get("other", Source)
    assert kept is not None
    assert added is not None
    assert (kept.text, added.title) == (f"echo {SHOWN}", SHOWN)


class TestRedactedCache(CacheContract):
    @pytest.fixture
    def cache(self, clock: FakeClock) -> Cache:
        return RedactedCache(FakeCache(clock), Redactor([KEY]))


TOKEN = f"{'eyJhbGciOiJFUzI1NiJ9' * 3}.{'eyJpc3MiOiJodHRwczovL2F1dGgueC5haSJ9' * 12}.{'Qk3vZ9_xT-' * 8}"


class TestLearning:
    """A token that came while we run is taken out from then on."""

    @pytest.fixture
    def redact(self) -> Redactor:
        redact = Redactor(["xai-configured-0123456789"])
        redact.learn(TOKEN)
        return redact

    def test_a_whole_token_becomes_one_mark(self, redact: Redactor) -> None:
        assert redact.text(f"sent {TOKEN} to") == redact.content(f"sent {TOKEN} to") == "sent *** to"

    def test_its_signature_alone_and_a_cut_token_leave_nothing_of_use(self, redact: Redactor) -> None:
        signature = TOKEN.rpartition(".")[2]
        assert signature[:12] not in redact.content(f"ends in {signature} here")
        for length in range(80, len(TOKEN), 37):
            cut = redact.content(f"begins {TOKEN[:length]}…")
            assert len(cut) < 60, cut

    def test_what_is_configured_is_still_taken_out(self, redact: Redactor) -> None:
        assert "configured" not in redact.content("xai-configured-0123456789")

    def test_the_last_few_are_remembered_and_blanks_are_none(self, redact: Redactor) -> None:
        redact.learn("  ")
        assert redact.content("a  b") == "a  b"
        for number in range(MOST_LEARNT):
            redact.learn(f"refresh-token-number-{number}-0123456789")
        assert redact.content(TOKEN) == TOKEN
        assert "number-11" not in redact.content("refresh-token-number-11-0123456789")
