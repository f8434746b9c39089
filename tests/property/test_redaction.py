"""Whatever the secrets are and wherever they stand, none of them gets out; and everything else stays as it was."""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from websearch_core.redaction import Redactor

KEY_CHARS = string.ascii_letters + string.digits + "!\"#$%&'()+,-./:;<=>?@[\\]^_`{|}~"
"""What the settings take for a key, but for the star, of which `***` is made."""
KEYS = st.text(KEY_CHARS, min_size=8, max_size=100)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def in_base64(secret: str, before: int, encode: Callable[[bytes], bytes]) -> str:
    """Base64 of the secret in the middle of something longer; the characters that it alone decides."""
    encoded = encode(b"\x00" * before + secret.encode() + b"\x00\x00").decode()
    return encoded[-(-8 * before // 6) : 8 * (before + len(secret.encode())) // 6]


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "URL-encoded": lambda secret: quote(secret, safe=""),
    "URL-encoded, slashes kept": quote,
    "URL-encoded, lower-case digits": lambda secret: lowered(quote(secret, safe="")),
    "as a form": quote_plus,
    "URL-encoded twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "in JSON": lambda secret: json.dumps(secret)[1:-1],
    "in JSON in JSON": lambda secret: json.dumps(json.dumps(secret)[1:-1])[1:-1],
    "in HTML": lambda secret: secret.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace("'", "&#x27;"),
    "in Markdown": lambda secret: "".join(f"\\{one}" if one in "\\`*_{}[]()#+-.!<>|" else one for one in secret),
    "in hexadecimal digits": lambda secret: secret.encode().hex(),
    "in upper-case hexadecimal digits": lambda secret: secret.encode().hex().upper(),
    "as a representation": lambda secret: repr(secret)[1:-1],
    "in Base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "in Base64 without padding": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
    **{f"in Base64 after {n}": lambda secret, n=n: in_base64(secret, n, base64.b64encode) for n in range(3)},  # type: ignore[misc]
    **{f"in URL-safe Base64 after {n}": lambda secret, n=n: in_base64(secret, n, base64.urlsafe_b64encode) for n in range(3)},  # type: ignore[misc]
}


def lowered(escaped: str) -> str:
    parts = escaped.split("%")
    return parts[0] + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts[1:])


def fragments(secret: str) -> set[str]:
    """Every piece of the secret that is longer than what a fingerprint may show, and than what two secrets share by chance."""
    size = max(len(secret) // 4 + 1, 8)
    return {secret[at : at + size] for at in range(len(secret) - size + 1)}


@pytest.mark.requirement("P5-PROTOCOL-27")
@pytest.mark.parametrize("form", FORMS)
@given(secret=KEYS, before=TEXTS, after=TEXTS)
def test_no_form_of_a_secret_survives_at_any_place(form: str, secret: str, before: str, after: str) -> None:
    written = FORMS[form](secret)
    redact = Redactor([secret])
    for clean in (redact.text, redact.content):
        cleaned = clean(before + written + after)
        assert written not in cleaned
        assert secret not in cleaned


@pytest.mark.requirement("EDGE-12")
@given(secrets=st.lists(KEYS, min_size=1, max_size=4), parts=st.lists(TEXTS, min_size=2, max_size=5), data=st.data())
def test_secrets_side_by_side_inside_each_other_and_overlapping_leave_nothing_behind(
    secrets: list[str], parts: list[str], data: st.DataObject
) -> None:
    longest = max(secrets, key=len)
    inner = longest[1:-1] if len(longest) >= 10 else longest
    overlapping = longest[-6:] + data.draw(KEYS)
    secrets = [*secrets, inner, overlapping]
    text = longest[:-6] + overlapping
    for part in parts:
        text += data.draw(st.sampled_from(secrets)) + part
    cleaned = Redactor(data.draw(st.permutations(secrets))).content(text)
    for secret in secrets:
        assert secret not in cleaned
    assert longest[:-6] not in cleaned or len(longest) - 6 < 8


@given(secrets=st.lists(KEYS, max_size=4), text=TEXTS)
def test_a_text_without_secrets_is_unchanged(secrets: list[str], text: str) -> None:
    pieces = {secret[:8] for secret in secrets} | {secret[-8:] for secret in secrets}
    forms = {form(secret) for secret in secrets for form in FORMS.values()}
    assume(not any(form in text for form in pieces | forms))
    assert Redactor(secrets).content(text) == text


@given(secrets=st.lists(st.text(KEY_CHARS + "*", min_size=1, max_size=40), max_size=4), data=st.data())
def test_twice_is_the_same_as_once(secrets: list[str], data: st.DataObject) -> None:
    pieces = st.sampled_from([*secrets, "token=", "Bearer ", "https://", "@", "?key=", "…", "*", " "]) | TEXTS
    text = "".join(data.draw(st.lists(pieces, max_size=8)))
    redact = Redactor(secrets)
    for clean in (redact.text, redact.content):
        assert clean(clean(text)) == clean(text)


@given(secret=KEYS.filter(lambda one: len(one) >= 16), text=TEXTS, cut=st.integers(1, 100))
def test_a_secret_that_a_cut_went_through_shows_no_more_than_a_fingerprint_may(secret: str, text: str, cut: int) -> None:
    cut = min(cut, len(secret) - 1)
    assume(not any(piece in text for piece in fragments(secret)))
    redact = Redactor([secret])
    for piece in (f"{text} {secret[:cut]}", f"{text} {secret[:cut]}…", f"{secret[cut:]} {text}"):
        assert not any(fragment in redact.content(piece) for fragment in fragments(secret))


@given(
    secret=KEYS,
    document=st.recursive(
        TEXTS | st.integers(-999, 999) | st.none(), lambda part: st.lists(part) | st.dictionaries(TEXTS, part), max_leaves=8
    ),
)
def test_a_document_is_cleaned_in_names_and_values_and_keeps_its_shape(secret: str, document: object) -> None:
    planted = {"clean": document, f"x{secret}": [secret, {"inner": f"a {secret} b", secret: secret}], "n": 1}
    cleaned = Redactor([secret]).plain(planted)  # type: ignore[arg-type]
    assert json.dumps(secret)[1:-1] not in json.dumps(cleaned)
    assert isinstance(cleaned, dict)
    assert cleaned["n"] == 1
