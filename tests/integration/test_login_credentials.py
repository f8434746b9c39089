"""Paying with a sign-in: tokens are renewed in time and once, go to one origin, and no key ever steps in."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from integration.login_origins import ATTEMPTS, origins_that_saw_the_token
from integration.login_setup import PAID_KEY, QUERY, at_vendor, listening_proxy, signed_in
from upstreams.issuer import CLIENT_ID, IssuerUpstream
from upstreams.script import example, hang_up, ok, redirect, status
from upstreams.serve import serve, serving
from upstreams.xai import XaiUpstream
from websearch_adapters import settings
from websearch_adapters.credentials import oauth, renewal
from websearch_adapters.credentials.login import LoginProbe
from websearch_adapters.credentials.oauth import Login, OAuthClient
from websearch_adapters.credentials.token_file import TokenFile
from websearch_adapters.http.forms import FormClient
from websearch_core.doctor import Doctor
from websearch_core.errors import AuthRejected, NotConfigured, OutOfCredit, Unreachable, WebSearchError, WrongAddress
from websearch_core.outcome import code_of
from websearch_core.ports import AnswerEngine
from websearch_core.posts import Posts
from websearch_core.search import Search
from websearch_core.values import PostQuery, SearchQuery
from websearch_mcp.container import Closing, build

pytestmark = pytest.mark.anyio


class TestRenewing:
    async def test_a_good_token_is_used_as_it_is(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            assert await it.ask()
            assert it.sent() == [it.login().access_token.value]
            assert it.renewals() == 0

    @pytest.mark.requirement("LOGIN-11")
    @pytest.mark.parametrize("detached", [False, True])
    async def test_a_token_near_its_end_is_renewed_ahead_and_kept_before_it_is_used(self, tmp_path: Path, detached: bool) -> None:
        async with signed_in(tmp_path, detached=detached) as it:
            old = it.store(expires_at=time.time() + 200, renewed_at=time.time() - 20_000)
            assert await it.ask()
            new = it.login()
            assert (new.generation, it.renewals(), it.upstream.reuses) == (old.generation + 1, 1, 0)
            assert it.sent() == [new.access_token.value]
            assert new.refresh_token != old.refresh_token

    @pytest.mark.requirement("LOGIN-12")
    async def test_a_refused_token_is_renewed_once_and_the_call_goes_on(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            old = it.login()
            it.upstream.expire()
            assert await it.ask()
            assert it.sent() == [old.access_token.value, it.login().access_token.value]
            assert it.renewals() == 1

    async def test_the_doctor_renews_a_refused_token_too(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            it.upstream.expire()
            assert (await it.engine.probe()).state == "ok"
            assert it.renewals() == 1

    @pytest.mark.requirement("LOGIN-12")
    @pytest.mark.parametrize("name", ["error.403.oauth-token-rejected.json", "error.401.missing-auth.json"])
    async def test_a_token_that_is_refused_after_its_renewal_ends_the_call(self, tmp_path: Path, name: str) -> None:
        refusal = example(f"xai-responses/{name}", status=int(name.split(".")[1]))
        async with signed_in(tmp_path, IssuerUpstream(paths={"/v1/responses": refusal})) as it:
            with pytest.raises(AuthRejected) as caught:
                await it.ask()
            assert (it.renewals(), len(it.sent())) == (1, 2)
            assert code_of(caught.value, "search") == "login_expired"
            assert "websearch login" in str(caught.value.hint)

    @pytest.mark.requirement("LOGIN-13")
    async def test_a_plan_without_the_api_is_no_reason_to_renew(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path, IssuerUpstream(entitled=False)) as it:
            with pytest.raises(OutOfCredit) as caught:
                await it.ask()
            assert (it.renewals(), len(it.sent())) == (0, 1)
            assert code_of(caught.value, "search") == "tier_not_entitled"

    async def test_a_used_up_plan_is_no_reason_to_renew(self, tmp_path: Path) -> None:
        spent = example("xai-responses/error.402.spending-limit.json", status=402)
        async with signed_in(tmp_path, IssuerUpstream(paths={"/v1/responses": spent})) as it:
            with pytest.raises(OutOfCredit):
                await it.ask()
            assert it.renewals() == 0

    async def test_whoever_was_refused_with_an_old_token_uses_the_newer_one_of_another_process(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            old = it.login()
            it.upstream.expire()
            async with it.credentials.lease("grok") as lease:
                it.store(**_tokens(await it.renewal(old)))  # meanwhile another process renewed it
                assert await lease.failed(AuthRejected("refused", provider="grok", http_status=401))
            assert it.renewals() == 1

    @pytest.mark.requirement("LOGIN-14")
    @pytest.mark.parametrize("detached", [False, True])
    async def test_many_calls_at_once_renew_it_once(self, tmp_path: Path, detached: bool) -> None:
        async with signed_in(tmp_path, detached=detached) as it:
            it.upstream.expire()
            assert all(await asyncio.gather(*(it.ask() for _ in range(10))))
            assert (it.renewals(), it.upstream.reuses) == (1, 0)

    async def test_ahead_of_the_end_a_failed_renewal_does_no_harm(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path, IssuerUpstream(paths={"/oauth2/token": status(503)})) as it:
            old = it.store(expires_at=time.time() + 100, renewed_at=time.time() - 20_000)
            assert await it.ask()
            assert it.sent() == [old.access_token.value]

    @pytest.mark.requirement("LOGIN-16")
    @pytest.mark.parametrize(
        ("answer", "kind", "code"),
        [
            (status(503), Unreachable, "login_refresh_failed"),
            (hang_up(), Unreachable, "login_refresh_failed"),
            (example("xai-oauth/error.403.challenge.html", status=403), Unreachable, "login_refresh_failed"),
            (example("xai-oauth/error.403.entitlement.json", status=403), OutOfCredit, "tier_not_entitled"),
            (example("xai-oauth/error.400.invalid_grant.revoked.json", status=400), AuthRejected, "login_expired"),
            (ok({"no": "tokens"}), Unreachable, "login_refresh_failed"),
        ],
        ids=lambda value: getattr(value, "name", getattr(value, "__name__", value)),
    )
    async def test_a_failed_renewal_fails_the_call_and_never_costs_a_key(
        self, tmp_path: Path, answer: Any, kind: type[WebSearchError], code: str
    ) -> None:
        async with signed_in(tmp_path, IssuerUpstream(paths={"/oauth2/token": answer})) as it:
            it.store(expires_at=time.time() - 1)
            with pytest.raises(kind) as caught:
                await it.ask()
            assert code_of(caught.value, "search") == code
            assert it.sent() == []

    async def test_ahead_of_the_end_a_folder_that_cannot_be_written_does_no_harm(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            old = it.store(expires_at=time.time() + 100, renewed_at=time.time() - 20_000)
            (tmp_path / "login.json.turn").mkdir()  # where the lock would have to be
            assert await it.ask()
            assert it.sent() == [old.access_token.value]
            it.store(expires_at=time.time() - 1)
            with pytest.raises(NotConfigured, match="cannot be locked"):
                await it.ask()

    async def test_an_ended_sign_in_is_remembered_and_not_tried_again(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            old = it.login()
            it.upstream.ended.update(it.upstream.refresh.values())
            for _ in range(3):
                with pytest.raises(AuthRejected, match="does not take this sign-in") as caught:
                    await it.ask()
                assert "websearch login" in str(caught.value.hint)
            assert it.renewals() == 1
            assert it.login().refresh_token == old.refresh_token
            assert (await LoginProbe(it.renewal, is_used=True).probe()).state == "failing"

    async def test_a_refusal_that_a_newer_sign_in_overtook_clears_nothing(self, tmp_path: Path) -> None:
        """Somebody signs in while the issuer refuses the old token: the new sign-in stands."""
        async with signed_in(tmp_path) as it:
            old = it.login()
            fresh = _tokens(
                oauth.login_from_wire(
                    it.upstream.sign_in(),
                    issuer=oauth.issuer_at(it.url),
                    client_id=CLIENT_ID,
                    endpoints=oauth.endpoints_from_wire({}, oauth.issuer_at(it.url)),
                    now=time.time(),
                    before=old,
                )
            )

            class Overtaken(OAuthClient):
                async def renewed(self, login: Login) -> Login:
                    it.store(**fresh)
                    raise AuthRejected("dead", provider="login", upstream_code="invalid_grant")

            client = Overtaken(FormClient("login"), oauth.issuer_at(it.url), client_id=CLIENT_ID)
            assert await renewal.renew(it.file, client, replacing=old.generation) == "renewed"
            assert it.login().refused == ""
            assert await it.ask()

    async def test_an_answer_without_a_new_refresh_token_keeps_the_old_one(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path, IssuerUpstream(rotation="none")) as it:
            old = it.login()
            for _ in range(2):
                it.upstream.expire()
                assert await it.ask()
            assert it.login().refresh_token == old.refresh_token
            assert it.renewals() == 2

    async def test_signed_out_while_it_is_renewed_means_signed_out(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            it.upstream.expire()
            old = it.login()
            it.file.remove()
            with pytest.raises(NotConfigured) as caught:
                await it.renewal(old)
            assert code_of(caught.value, "search") == "not_logged_in"
            assert it.file.read() is None

    async def test_a_call_that_is_given_up_leaves_the_renewal_to_end(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path, detached=True) as it:
            it.upstream.answering.clear()
            old = it.store(expires_at=time.time() - 1)
            call = asyncio.ensure_future(it.ask())
            await it.upstream.until(lambda _: it.upstream.rotations == 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            it.upstream.answering.set()
            assert await it.ask()
            assert (it.login().generation, it.renewals(), it.upstream.reuses) == (old.generation + 1, 1, 0)

    async def test_nobody_signed_in_says_how(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            it.file.remove()
            with pytest.raises(NotConfigured) as caught:
                await it.ask()
            assert code_of(caught.value, "search") == "not_logged_in"
            assert "websearch login" in str(caught.value.hint)

    async def test_other_providers_keep_their_keys(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it, it.credentials.lease("tavily") as lease:
            assert lease.secret is not None
            assert lease.secret.value == "tvly-key-0123456789"

    async def test_every_token_is_learnt_before_it_is_used(self, tmp_path: Path) -> None:
        async with signed_in(tmp_path) as it:
            it.upstream.expire()
            await it.ask()
            assert set(filter(None, it.sent())) <= set(it.learnt)
            assert it.login().refresh_token is not None
            assert it.login().refresh_token.value in it.learnt  # type: ignore[union-attr] # asserted above


def _tokens(login: Login) -> dict[str, Any]:
    names = ("access_token", "refresh_token", "expires_at", "renewed_at", "generation")
    return {name: getattr(login, name) for name in names}


# --- where the token goes


class TestTheTokenGoesNowhereElse:
    @pytest.mark.requirement("LOGIN-17")
    @pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
    async def test_a_redirect_is_not_followed(self, tmp_path: Path, code: int) -> None:
        other = XaiUpstream()
        async with serve(other) as elsewhere:
            upstream = IssuerUpstream(paths={"/v1/responses": redirect(f"{elsewhere}/v1/responses", code)})
            async with signed_in(tmp_path, upstream) as it:
                with pytest.raises(WrongAddress, match="redirect"):
                    await it.ask()
        assert other.requests == []

    @pytest.mark.requirement("LOGIN-17")
    async def test_a_relay_is_refused_before_anything_is_sent(self, tmp_path: Path) -> None:
        relay = XaiUpstream()
        async with serve(relay) as elsewhere, signed_in(tmp_path, base_url=f"{elsewhere}/v1") as it:
            with pytest.raises(WrongAddress) as caught:
                await it.ask()
        assert relay.requests == []
        assert code_of(caught.value, "search") == "login_address_refused"
        assert "xai.api_url" in str(caught.value.hint)
        assert "api_key" in str(caught.value.hint)

    @pytest.mark.parametrize(
        "base_url",
        [
            "https://api.x.ai.evil.example/v1",
            "https://api.x.ai:8443/v1",
            "http://api.x.ai/v1",
            "https://x.ai/v1",
            "https://u:p@evil.example/v1",
        ],
    )
    async def test_the_vendors_token_is_for_one_origin(self, tmp_path: Path, base_url: str) -> None:
        async with signed_in(tmp_path) as it:
            engine, http, _ = at_vendor(it, base_url)
            with pytest.raises(WrongAddress, match=r"api\.x\.ai alone"):
                await engine.answer(QUERY)
            await http.aclose()

    @pytest.mark.requirement("LOGIN-17")
    async def test_a_proxy_sees_a_tunnel_and_no_token(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with listening_proxy() as (proxy, heard):
            for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
                monkeypatch.setenv(name, proxy)
            monkeypatch.delenv("NO_PROXY", raising=False)
            monkeypatch.delenv("no_proxy", raising=False)
            async with signed_in(tmp_path) as it:
                assert await it.ask()  # this machine is not asked through a proxy
                assert heard == []
                engine, http, login = at_vendor(it, "https://api.x.ai/v1")
                with pytest.raises(Unreachable):
                    await engine.answer(QUERY)
                await http.aclose()
            assert heard
            assert heard[0].startswith(b"CONNECT api.x.ai:443 ")
            assert login.access_token.value.encode() not in b"".join(heard)
            assert b"authorization" not in b"".join(heard).lower()

    @pytest.mark.requirement("LOGIN-17")
    @pytest.mark.parametrize("attempt", ATTEMPTS)
    async def test_no_attempt_to_lead_it_elsewhere_succeeds(self, attempt: str) -> None:
        assert await origins_that_saw_the_token(attempt) == set()

    async def test_the_watch_for_tokens_is_awake(self) -> None:
        """The same watch sees a token that is sent elsewhere on purpose."""
        assert len(await origins_that_saw_the_token("on purpose")) == 1


# --- as it is configured


def configured(home: Path, url: str, **environ: str) -> settings.LoadedConfiguration:
    named = {"WEBSEARCH_XAI_OAUTH_ISSUER": url, "WEBSEARCH_XAI_API_URL": f"{url}/v1", "WEBSEARCH_CACHE_KIND": "memory"}
    return settings.read(environ={"WEBSEARCH_HOME": str(home), "WEBSEARCH_KEYLESS_ENABLED": "false", **named, **environ})


def store(home: Path, upstream: IssuerUpstream, url: str) -> Login:
    issuer = oauth.issuer_at(url)
    endpoints = oauth.endpoints_from_wire({}, issuer)
    login = oauth.login_from_wire(upstream.sign_in(), issuer=issuer, client_id=CLIENT_ID, endpoints=endpoints, now=time.time())
    TokenFile(home / "data" / "login.json").write(oauth.to_file(login))
    return login


class TestAsConfigured:
    @pytest.mark.requirement("LOGIN-18")
    async def test_a_stored_sign_in_pays_and_a_key_does_not(self, tmp_path: Path) -> None:
        upstream = IssuerUpstream()
        async with serve(upstream) as url:
            login = store(tmp_path, upstream, url)
            box = build(configured(tmp_path, url, XAI_API_KEY=PAID_KEY))
            assert (await box.resolve(Search)(QUERY)).status == "success"
            upstream.ended.update(upstream.refresh.values())
            upstream.expire()
            result = await box.resolve(Search)(SearchQuery(query="another question", extra_sources=0))
            await box.resolve(Closing).aclose()
        assert result.error_detail is not None
        assert result.error_detail.code == "login_expired"
        assert result.error_detail.service == "login"
        assert {request.key for request in upstream.requests if request.key} == {login.access_token.value}

    @pytest.mark.parametrize("url_of_chat", ["", "https://relay.example/v1"])
    async def test_the_search_of_posts_pays_with_it_too_beside_any_engine(self, tmp_path: Path, url_of_chat: str) -> None:
        upstream = IssuerUpstream()
        chat = {"GROK_API_URL": url_of_chat, "GROK_API_KEY": "sk-0123456789abcdef", "WEBSEARCH_ENGINE_KIND": "chat"}
        async with serve(upstream) as url:
            store(tmp_path, upstream, url)
            loaded = configured(tmp_path, url, XAI_API_KEY=PAID_KEY, **(chat if url_of_chat else {}))
            box = build(loaded)
            upstream.expire()
            result = await box.resolve(Posts)(PostQuery(query="What do people say of the footbridge?"))
            await box.resolve(Closing).aclose()
        assert result.status == "success"
        assert "x" in loaded.settings.toolsets()
        assert upstream.rotations == 1
        assert PAID_KEY not in {request.key for request in upstream.requests}

    @pytest.mark.requirement("LOGIN-18")
    @pytest.mark.parametrize(
        ("environ", "signed", "way", "kind"),
        [
            ({}, True, "oauth", "xai"),
            ({}, False, "none", "none"),
            ({"XAI_API_KEY": PAID_KEY}, False, "api_key", "xai"),
            ({"XAI_API_KEY": PAID_KEY}, True, "oauth", "xai"),
            ({"XAI_API_KEY": PAID_KEY, "GROK_SEARCH_AUTH_MODE": "api_key"}, True, "api_key", "xai"),
            ({"XAI_API_KEY": PAID_KEY, "GROK_SEARCH_AUTH_MODE": "oauth"}, False, "oauth", "xai"),
            ({"XAI_API_KEY": PAID_KEY, "GROK_SEARCH_URL": "https://relay.example"}, True, "api_key", "xai"),
            ({"GROK_SEARCH_AUTH_MODE": "api_key"}, True, "none", "none"),
        ],
    )
    def test_what_pays_follows_from_what_is_set(
        self, tmp_path: Path, environ: dict[str, str], signed: bool, way: str, kind: str
    ) -> None:
        if signed:
            TokenFile(tmp_path / "data" / "login.json").write({})
        found = settings.read(environ={"WEBSEARCH_HOME": str(tmp_path), **environ}).settings
        assert (found.xai_auth(), found.engine_kind()) == (way, kind)
        assert (PAID_KEY in found.keys()["grok"]) == (way == "api_key")

    @pytest.mark.requirement("LOGIN-19")
    async def test_doctor_and_config_show_the_sign_in_without_a_secret(self, tmp_path: Path) -> None:
        from websearch_core.configuration import ConfigInfo
        from websearch_core.values import ConfigRequest, as_plain

        upstream = IssuerUpstream()
        async with serve(upstream) as url:
            login = store(tmp_path, upstream, url)
            box = build(configured(tmp_path, url))
            report, info = await box.resolve(Doctor)(), await box.resolve(ConfigInfo)(ConfigRequest())
            await box.resolve(Closing).aclose()
        part = next(part for part in report.parts if part.part == "login")
        assert (part.state, info.configuration["login"]) == ("ok", {"state": "ok", "detail": part.detail})
        assert "used for searches" in part.detail
        shown = json.dumps([as_plain(report), as_plain(info)])
        assert login.refresh_token is not None
        for secret in (login.access_token.value, login.refresh_token.value):
            assert secret not in shown
        assert login.access_token.value.rpartition(".")[2] not in shown

    async def test_an_echoed_token_leaves_in_no_form(self, tmp_path: Path) -> None:
        upstream = IssuerUpstream()
        async with serve(upstream) as url:
            login = store(tmp_path, upstream, url)
            token = login.access_token.value
            upstream.answer_text = f"Your token is {token}, or …{token[-60:]}"
            loaded = configured(tmp_path, url)
            box = build(loaded)
            result = loaded.redact.value(await box.resolve(Search)(QUERY))
            await box.resolve(Closing).aclose()
        assert token not in result.content
        assert token[-40:] not in result.content

    async def test_no_engine_names_the_sign_in_as_a_way(self, tmp_path: Path) -> None:
        loaded = settings.read(environ={"WEBSEARCH_HOME": str(tmp_path), "WEBSEARCH_KEYLESS_ENABLED": "false"})
        box = build(loaded)
        parts = {part.part: part for part in (await box.resolve(Doctor)()).parts}
        await box.resolve(Closing).aclose()
        assert "websearch login" in parts["engine"].detail
        assert (parts["login"].state, box.resolve(AnswerEngine).name) == ("off", "none")

    def test_a_foreign_issuer_in_a_setting_is_reported_and_ignored(self, tmp_path: Path) -> None:
        loaded = settings.read(
            environ={"WEBSEARCH_HOME": str(tmp_path), "WEBSEARCH_XAI_OAUTH_ISSUER": "https://auth.evil.example"}
        )
        assert loaded.settings.xai.oauth_issuer == "https://auth.x.ai"
        assert any("oauth_issuer" in problem for problem in loaded.problems())


def test_the_renewal_process_reads_nothing_but_its_arguments_and_the_file(tmp_path: Path) -> None:
    """As it is started: a module of the interpreter, deaf to signals, telling its end by its status."""
    import subprocess
    import sys

    upstream = IssuerUpstream()
    with serving(upstream) as url:
        store(tmp_path, upstream, url)
        path = tmp_path / "data" / "login.json"
        command = [sys.executable, "-P", "-m", "websearch_adapters.credentials.renewal", str(path), url]
        for generation, ended, rotations in (("1", 0, 1), ("1", 0, 1), ("2", 0, 2)):
            done = subprocess.run([*command, generation], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout, done.stderr) == (ended, "", "")
            assert upstream.rotations == rotations
        upstream.ended.update(upstream.refresh.values())
        assert subprocess.run([*command, "3"], check=False).returncode == renewal.STATUSES["refused"]
        path.write_text("{", encoding="utf-8")
        assert subprocess.run([*command, "3"], check=False).returncode == renewal.STATUSES["unusable"]
