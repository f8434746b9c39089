"""The language of the sign-in service: what is asked, what answers mean, and that no address leads away from the issuer."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upstreams import examples
from websearch_adapters.credentials import oauth
from websearch_adapters.credentials.loopback import pasted_code
from websearch_adapters.credentials.oauth import Endpoints, Login, Proof
from websearch_adapters.http.forms import FormReply
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    InvalidInput,
    NotConfigured,
    OutOfCredit,
    ProviderError,
    RateLimited,
    Unreachable,
    WebSearchError,
)
from websearch_core.values import Secret

NOW = 1_796_040_000.0
XAI = oauth.issuer_at("https://auth.x.ai")
HERE = oauth.issuer_at("http://127.0.0.1:4711/")
ENDPOINTS = oauth.endpoints_from_wire({}, XAI)
PROOF = Proof(verifier=Secret("v" * 43), state="the-state", nonce="bm9uY2UtZXhhbXBsZS0wMDE")
CLIENT = examples.read_json("xai-oauth/authorize.params.json")["client_id"]


def read(name: str, **more: Any) -> Login:
    """The sign-in of an example."""
    reply = examples.read_json(f"xai-oauth/{name}")
    return oauth.login_from_wire(reply, issuer=XAI, client_id=CLIENT, endpoints=ENDPOINTS, now=NOW, **more)


class TestAsking:
    def test_the_challenge_is_the_one_of_the_standard(self) -> None:
        vector = examples.read_json("xai-oauth/pkce.vector.json")
        assert oauth.challenge_of(vector["code_verifier"]) == vector["code_challenge"]

    def test_the_browser_is_sent_with_exactly_the_documented_parameters(self) -> None:
        wanted = examples.read_json("xai-oauth/authorize.params.json") | {"referrer": "websearch"}
        vector = examples.read_json("xai-oauth/pkce.vector.json")
        proof = Proof(verifier=Secret(vector["code_verifier"]), state=wanted["state"], nonce=wanted["nonce"])
        address = oauth.authorize_address(
            ENDPOINTS.authorization,
            client_id=wanted["client_id"],
            redirect_uri=wanted["redirect_uri"],
            scope=wanted["scope"],
            proof=proof,
        )
        assert address.startswith("https://auth.x.ai/oauth2/authorize?")
        assert dict(parse_qsl(urlsplit(address).query)) == wanted

    def test_every_sign_in_has_fresh_values_that_nobody_guesses(self) -> None:
        one, other = oauth.new_proof(), oauth.new_proof()
        values = {one.state, one.nonce, one.verifier.value, other.state, other.nonce, other.verifier.value}
        assert len(values) == 6
        assert all(len(value) == 43 for value in values)
        assert one.verifier.value not in repr(one)


class TestAddresses:
    @pytest.mark.parametrize(
        "address",
        [
            "https://auth.x.ai/oauth2/token",
            "https://x.ai/token",
            "https://accounts.x.ai/device?user_code=A",
            "https://AUTH.X.AI/oauth2/token",
            "https://auth.x.ai:443/oauth2/token",
        ],
    )
    def test_the_issuers_own_hosts_are_taken(self, address: str) -> None:
        assert oauth.pinned(XAI, address) == address

    @pytest.mark.parametrize(
        "address",
        [
            "http://auth.x.ai/oauth2/token",
            "https://auth.x.ai.evil.example/token",
            "https://evilx.ai/token",
            "https://evil.example/x.ai/token",
            "https://auth.x.ai@evil.example/token",
            "https://user@auth.x.ai/token",
            "https://auth.x.ai:8443/token",
            "https://evil.example#.x.ai/",
            "https://evil.example\\.x.ai/",
            "javascript:alert(1)",
            "//auth.x.ai/token",
            "/oauth2/token",
            "",
            None,
            7,
            ["https://auth.x.ai/oauth2/token"],
        ],
    )
    def test_every_other_address_is_refused(self, address: object) -> None:
        with pytest.raises(BadReply, match="own hosts"):
            oauth.pinned(XAI, address)

    def test_an_issuer_on_this_machine_is_its_one_origin(self) -> None:
        assert oauth.pinned(HERE, "http://127.0.0.1:4711/oauth2/token")
        for other in ("http://127.0.0.1:4712/token", "http://localhost:4711/token", "https://auth.x.ai/oauth2/token"):
            with pytest.raises(BadReply):
                oauth.pinned(HERE, other)

    @pytest.mark.parametrize(
        "url", ["https://auth.evil.example", "http://auth.x.ai", "https://127.0.0.1:1", "", "http://10.0.0.1"]
    )
    def test_no_other_issuer_is_spoken_to(self, url: str) -> None:
        with pytest.raises(NotConfigured, match="issuer"):
            oauth.issuer_at(url)

    @pytest.mark.requirement("LOGIN-07")
    def test_discovery_may_name_addresses_but_not_lead_away(self) -> None:
        document = examples.read_json("xai-oauth/discovery.json")
        assert oauth.endpoints_from_wire(document, XAI) == ENDPOINTS
        moved = document | {"token_endpoint": "https://login.x.ai/t"}
        assert oauth.endpoints_from_wire(moved, XAI).token == "https://login.x.ai/t"
        for name in (
            "authorization_endpoint",
            "token_endpoint",
            "device_authorization_endpoint",
            "revocation_endpoint",
            "issuer",
        ):
            with pytest.raises(BadReply):
                oauth.endpoints_from_wire(document | {name: "https://auth.evil.example/x"}, XAI)


class TestAnswersToTheBrowser:
    def test_the_state_is_looked_at_before_anything_else(self) -> None:
        for answer in (
            {"code": "c"},
            {"code": "c", "state": "the-statf"},
            {"error": "access_denied"},
            {"state": "", "code": "c"},
        ):
            with pytest.raises(InvalidInput):
                oauth.callback_code(answer, PROOF, XAI)

    def test_a_code_with_our_state_is_taken(self) -> None:
        assert oauth.callback_code({"code": "c-1", "state": "the-state"}, PROOF, XAI) == "c-1"
        assert oauth.callback_code({"code": "c-1", "state": "the-state", "iss": "https://auth.x.ai"}, PROOF, XAI) == "c-1"

    def test_an_answer_of_another_issuer_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="another issuer"):
            oauth.callback_code({"code": "c", "state": "the-state", "iss": "https://auth.evil.example"}, PROOF, XAI)

    def test_a_denial_says_why_without_control_characters(self) -> None:
        answer = {"error": "access_denied", "error_description": "The user \x1b]0;x\x07declined\u202e", "state": "the-state"}
        with pytest.raises(Declined) as caught:
            oauth.callback_code(answer, PROOF, XAI)
        assert caught.value.message == "the sign-in was declined: The user declined"

    def test_an_answer_without_a_code_is_a_bad_one(self) -> None:
        with pytest.raises(BadReply, match="no code"):
            oauth.callback_code({"state": "the-state"}, PROOF, XAI)

    @pytest.mark.parametrize(
        "text",
        [
            "code-1",
            "  code-1 \n",
            '"code-1"',
            "code=code-1",
            "?code=code-1&state=the-state",
            "code=code-1&state=the-state",
            "http://127.0.0.1:56121/callback?code=code-1&state=the-state",
            "<http://127.0.0.1:56121/callback?code=code-1&state=the-state#>",
        ],
    )
    @pytest.mark.requirement("LOGIN-05")
    def test_a_pasted_code_query_or_address_is_understood(self, text: str) -> None:
        assert pasted_code(text, PROOF, XAI) == "code-1"

    @pytest.mark.parametrize(
        "text",
        [
            "http://127.0.0.1:56121/callback?code=code-1&state=somebody-else",
            "http://127.0.0.1:56121/callback?code=code-1",
            "?code=code-1&state=x",
            "two words",
            "cöde",
            "x" * 3_000,
            "",
        ],
    )
    def test_anything_else_that_is_pasted_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidInput):
            pasted_code(text, PROOF, XAI)

    def test_a_pasted_denial_ends_the_sign_in(self) -> None:
        with pytest.raises(Declined):
            pasted_code("http://127.0.0.1:56121/callback?error=access_denied&state=the-state", PROOF, XAI)

    @given(st.text(max_size=200))
    def test_whatever_is_pasted_is_a_code_or_refused(self, text: str) -> None:
        try:
            code = pasted_code(text, PROOF, XAI)
        except (InvalidInput, ProviderError):
            return
        assert code.isascii()
        assert " " not in code


class TestTokens:
    def test_an_answer_with_everything_is_read(self) -> None:
        login = read("token.authorization_code.json", nonce=PROOF.nonce)
        assert (login.expires_at, login.account, login.generation) == (NOW + 21_600, "reader@example.org", 1)
        assert login.access_token.only_for == "https://api.x.ai"
        assert login.refresh_token == Secret("example-refresh-1")
        assert "example-refresh-1" not in repr(login)

    def test_without_a_life_the_tokens_own_end_counts_else_an_hour(self) -> None:
        assert read("token.no-expires-in.json").expires_at == 1_796_082_600
        opaque = oauth.login_from_wire({"access_token": "opaque"}, issuer=XAI, client_id=CLIENT, endpoints=ENDPOINTS, now=NOW)
        assert opaque.expires_at == NOW + 3_600

    def test_a_renewal_without_a_new_refresh_token_keeps_the_old_one(self) -> None:
        before = read("token.authorization_code.json")
        after = read("token.refresh-not-rotated.json", before=before)
        assert after.refresh_token == before.refresh_token
        assert (after.generation, after.account, after.scope) == (2, before.account, before.scope)
        assert read("token.refresh.json", before=before).refresh_token == Secret("example-refresh-2")

    @pytest.mark.requirement("LOGIN-04")
    @pytest.mark.parametrize(
        "change", [{"nonce": "another"}, {"nonce": None}, {"aud": "another-client"}, {"iss": "https://evil.example"}]
    )
    def test_an_id_token_of_another_sign_in_is_refused(self, change: dict[str, Any]) -> None:
        reply = examples.read_json("xai-oauth/token.authorization_code.json")
        said = {**oauth.claims(reply["id_token"]), **change}
        forged = f"e30.{base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip('=')}.c2ln"
        with pytest.raises(BadReply, match="another sign-in"):
            oauth.login_from_wire(
                {**reply, "id_token": forged}, issuer=XAI, client_id=CLIENT, endpoints=ENDPOINTS, now=NOW, nonce=PROOF.nonce
            )

    @pytest.mark.parametrize(
        "reply",
        [
            {},
            {"access_token": ""},
            {"access_token": "two words"},
            {"access_token": 7},
            {"access_token": "a", "token_type": "mac"},
        ],
    )
    def test_an_answer_without_a_usable_token_is_a_bad_one(self, reply: dict[str, Any]) -> None:
        with pytest.raises(BadReply):
            oauth.login_from_wire(reply, issuer=XAI, client_id=CLIENT, endpoints=ENDPOINTS, now=NOW)

    @given(
        st.dictionaries(
            st.sampled_from(["access_token", "refresh_token", "expires_in", "id_token", "scope"]),
            st.none() | st.text() | st.floats() | st.lists(st.integers()),
        )
    )
    def test_whatever_comes_is_read_or_refused(self, reply: dict[str, Any]) -> None:
        try:
            login = oauth.login_from_wire(reply, issuer=XAI, client_id=CLIENT, endpoints=ENDPOINTS, now=NOW)
        except BadReply:
            return
        assert math.isfinite(login.expires_at)
        assert login.access_token.value.isascii()

    @given(st.text(max_size=200))
    def test_claims_of_anything_are_an_object(self, token: str) -> None:
        assert isinstance(oauth.claims(token), dict)

    def test_tokens_are_renewed_five_minutes_ahead_or_a_fifth_of_a_short_life(self) -> None:
        login = read("token.authorization_code.json")
        assert not login.is_due(login.expires_at - 301)
        assert login.is_due(login.expires_at - 300)
        short = dataclasses.replace(login, expires_at=NOW + 100)
        assert not short.is_due(NOW + 79)
        assert short.is_due(NOW + 80)
        assert not short.has_ended(NOW + 99)
        assert short.has_ended(NOW + 100)


class TestTheFile:
    def test_a_sign_in_comes_back_from_its_file_as_it_was(self) -> None:
        login = read("token.authorization_code.json")
        assert oauth.from_file(json.loads(json.dumps(oauth.to_file(login))), XAI) == login

    @pytest.mark.parametrize(
        "change",
        [
            {"issuer": "https://evil.example"},
            {"access_token": ""},
            {"access_token": None},
            {"expires_at": "soon"},
            {"generation": None},
            {"account": 7},
            {"token_endpoint": "https://evil.example/token"},
            {"revocation_endpoint": "http://auth.x.ai/revoke"},
        ],
    )
    def test_a_file_that_was_tampered_with_leads_nowhere(self, change: dict[str, Any]) -> None:
        with pytest.raises(NotConfigured):
            oauth.from_file({**oauth.to_file(read("token.authorization_code.json")), **change}, XAI)


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "status", "kind"),
        [
            ("error.400.invalid_grant.revoked.json", 400, AuthRejected),
            ("error.400.invalid_grant.not-found.json", 400, AuthRejected),
            ("error.400.invalid_grant.code.json", 400, AuthRejected),
            ("error.401.invalid_client.json", 401, AuthRejected),
            ("error.403.entitlement.json", 403, OutOfCredit),
            ("error.403.challenge.html", 403, Unreachable),
            ("error.403.challenge.html", 503, Unreachable),
            ("error.429.rate.json", 429, RateLimited),
            ("error.400.invalid_request.pkce.json", 400, BadReply),
        ],
    )
    def test_each_refusal_says_who_must_act(self, name: str, status: int, kind: type[WebSearchError]) -> None:
        error = oauth.error_from_wire(FormReply(status=status, body=examples.read(f"xai-oauth/{name}")))
        assert type(error) is kind
        assert error.provider == "login"
        assert error.hint

    def test_a_redirect_is_a_refusal_and_is_not_followed(self) -> None:
        assert isinstance(oauth.error_from_wire(FormReply(status=302)), BadReply)


class TestDeviceCodes:
    def test_both_documented_forms_are_read(self) -> None:
        device = oauth.device_from_wire(examples.read_json("xai-oauth/device.code.json"), XAI)
        assert (device.user_code, device.interval_s, device.expires_in_s) == ("BCDF-GHJK", 5.0, 900.0)
        assert device.complete_address == "https://accounts.x.ai/oauth2/device?user_code=BCDF-GHJK"
        assert oauth.device_from_wire(examples.read_json("xai-oauth/device.code.minimal.json"), XAI).complete_address == ""

    @pytest.mark.parametrize("name", ["verification_uri", "verification_uri_complete"])
    def test_nobody_is_sent_to_a_strange_address(self, name: str) -> None:
        reply = examples.read_json("xai-oauth/device.code.json") | {name: "https://accounts.x.ai.evil.example/"}
        with pytest.raises(BadReply):
            oauth.device_from_wire(reply, XAI)

    def test_without_codes_there_is_nothing_to_wait_for(self) -> None:
        with pytest.raises(BadReply):
            oauth.device_from_wire({"verification_uri": "https://x.ai/"}, XAI)


def test_endpoints_are_known_without_discovery() -> None:
    assert (
        Endpoints(
            authorization="https://auth.x.ai/oauth2/authorize",
            token="https://auth.x.ai/oauth2/token",
            device="https://auth.x.ai/oauth2/device/code",
            revocation="https://auth.x.ai/oauth2/revoke",
        )
        == ENDPOINTS
    )
