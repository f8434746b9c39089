"""Signing in against the simulated issuer: by a browser on this machine, by a pasted code, by a device code."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from upstreams.issuer import CLIENT_ID, IssuerUpstream
from upstreams.script import example, hang_up, html_page, ok, redirect, status
from upstreams.serve import serve
from websearch_adapters.credentials import oauth
from websearch_adapters.credentials.loopback import CallbackServer, browser_login
from websearch_adapters.credentials.oauth import Login, OAuthClient
from websearch_adapters.http.forms import FormClient
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    NotConfigured,
    OutOfCredit,
    OutOfTime,
    Unreachable,
    WebSearchError,
)
from websearch_core.testing.fakes import FakeClock

pytestmark = pytest.mark.anyio
SCOPE = "openid offline_access"


class Waits:
    """Sleeping that takes no time and is written down."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.clock.advance(seconds)


@asynccontextmanager
async def signing_in_at(upstream: IssuerUpstream) -> AsyncIterator[tuple[OAuthClient, Waits]]:
    """A client of the issuer, and how long it waited."""
    forms, waits = FormClient("login"), Waits(FakeClock())
    async with serve(upstream) as url:
        issuer = oauth.issuer_at(url)
        try:
            yield OAuthClient(forms, issuer, client_id=CLIENT_ID, scope=SCOPE, clock=waits.clock, sleep=waits), waits
        finally:
            await forms.aclose()


class Browser:
    """What a person's browser does with the address, told in steps."""

    def __init__(self, decision: str = "allow") -> None:
        self.decision = decision
        self.pages: list[httpx.Response] = []
        self.going: list[asyncio.Task[None]] = []
        self.address = ""

    def show(self, address: str) -> None:
        self.address = address
        self.going.append(asyncio.ensure_future(self._go()))

    async def _go(self) -> None:
        async with httpx.AsyncClient(follow_redirects=True, timeout=20) as client:
            consent = await client.get(self.address)
            assert consent.status_code == 200, consent.text
            link = re.search(rf'id="{self.decision}" href="([^"]+)"', consent.text)
            assert link is not None
            self.pages.append(
                await client.get(urlsplit(self.address)._replace(path="", query="").geturl() + link[1].replace("&amp;", "&"))
            )

    async def page(self) -> httpx.Response:
        await asyncio.gather(*self.going)
        return self.pages[-1]


async def typed(*lines: str) -> AsyncIterator[str]:
    for line in lines:
        yield line


async def signed_in(client: OAuthClient, browser: Browser, **more: Any) -> tuple[Login, list[Login]]:
    kept: list[Login] = []

    async def keep(login: Login) -> None:
        kept.append(login)

    more.setdefault("keep", keep)
    return await browser_login(client, port=0, show=browser.show, **more), kept


class TestByBrowser:
    @pytest.mark.requirement("LOGIN-01", "LOGIN-06")
    async def test_an_allowed_sign_in_keeps_tokens_and_shows_a_page(self) -> None:
        upstream, browser = IssuerUpstream(), Browser()
        async with signing_in_at(upstream) as (client, _):
            login, kept = await signed_in(client, browser)
            page = await browser.page()
        assert kept == [login]
        assert (login.account, login.refresh_token is not None) == ("reader@example.org", True)
        assert login.access_token.value in upstream.access
        assert page.status_code == 200
        assert "You are signed in" in page.text
        assert "Signed in as reader@example.org" in page.text

    @pytest.mark.requirement("LOGIN-03")
    async def test_a_denial_is_shown_in_the_browser_and_in_the_terminal(self) -> None:
        browser = Browser("deny")
        async with signing_in_at(IssuerUpstream()) as (client, _):
            with pytest.raises(Declined, match="The user <b>declined</b>"):
                await signed_in(client, browser)
            page = await browser.page()
        assert page.status_code == 400
        assert "You are not signed in" in page.text
        assert "The user &lt;b&gt;declined&lt;/b&gt;" in page.text
        assert "<b>" not in page.text

    @pytest.mark.requirement("LOGIN-04")
    async def test_an_answer_with_another_state_is_ignored_and_the_right_one_still_counts(self) -> None:
        told, going = list[str](), list[asyncio.Task[None]]()
        tampered, right = Browser("tamper"), Browser()

        async def one_after_the_other(address: str) -> None:
            tampered.show(address)
            await tampered.page()
            right.show(address)
            await right.page()

        def show(address: str) -> None:
            going.append(asyncio.ensure_future(one_after_the_other(address)))

        async with signing_in_at(IssuerUpstream()) as (client, _):
            login = await browser_login(client, port=0, show=show, keep=_kept_nowhere, tell=told.append)
            await asyncio.gather(*going)
            page, end = await tampered.page(), await right.page()
        assert login.refresh_token is not None
        assert (page.status_code, end.status_code) == (400, 200)
        assert "does not belong to your sign-in" in page.text
        assert len(told) == 1
        assert "state is wrong" in told[0]

    @pytest.mark.requirement("LOGIN-05")
    @pytest.mark.parametrize(
        "form", ["{code}", "http://127.0.0.1/callback?code={code}&state={state}", "?code={code}&state={state}"]
    )
    async def test_a_shown_code_can_be_pasted_in_every_form(self, form: str) -> None:
        browser, told = Browser("show"), list[str]()

        async def lines() -> AsyncIterator[str]:
            yield "\n"
            yield "what am I to paste?"
            page = await browser.page()
            code = re.search(r'<code id="code">([^<]+)', page.text)
            assert code is not None
            state = parse_qs(urlsplit(browser.address).query)["state"][0]
            yield form.format(code=code[1], state=state)

        async with signing_in_at(IssuerUpstream()) as (client, _):
            login, kept = await signed_in(client, browser, lines=lines(), tell=told.append)
        assert kept == [login]
        assert told == ["that is neither a code nor the address that the browser ended at"]

    async def test_closed_input_leaves_the_browser_to_answer(self) -> None:
        browser = Browser()
        async with signing_in_at(IssuerUpstream()) as (client, _):
            login, kept = await signed_in(client, browser, lines=typed())
            await browser.page()
        assert kept == [login]

    async def test_nobody_who_comes_is_waited_for_to_the_limit(self) -> None:
        async with signing_in_at(IssuerUpstream()) as (client, _):
            with pytest.raises(OutOfTime, match="nobody signed in"):
                await browser_login(client, port=0, show=lambda _: None, keep=_kept_nowhere, limit_s=0.05)

    async def test_the_browser_is_told_of_a_failure_to_keep_the_tokens(self) -> None:
        async def keep(_: Login) -> None:
            raise NotConfigured("the disk is full", provider="login", hint="Make room.")

        browser = Browser()
        async with signing_in_at(IssuerUpstream()) as (client, _):
            with pytest.raises(NotConfigured, match="disk is full"):
                await signed_in(client, browser, keep=keep)
            page = await browser.page()
        assert page.status_code == 400
        assert "the disk is full" in page.text

    @pytest.mark.requirement("LOGIN-04")
    async def test_tokens_with_a_foreign_nonce_are_revoked_and_not_kept(self) -> None:
        upstream, browser = IssuerUpstream(nonce="another"), Browser()
        async with signing_in_at(upstream) as (client, _):
            with pytest.raises(BadReply, match="another sign-in"):
                await signed_in(client, browser)
            assert (await browser.page()).status_code == 400
        assert len(upstream.revoked) == 1

    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            (example("xai-oauth/error.403.challenge.html", status=403), Unreachable),
            (example("xai-oauth/error.403.entitlement.json", status=403), OutOfCredit),
            (example("xai-oauth/error.401.invalid_client.json", status=401), AuthRejected),
            (redirect("http://127.0.0.1:9/elsewhere", 307), BadReply),
            (hang_up(), Unreachable),
        ],
        ids=lambda value: getattr(value, "name", getattr(value, "__name__", "")),
    )
    async def test_a_refused_exchange_is_told_on_both_sides(self, answer: Any, kind: type[WebSearchError]) -> None:
        upstream, browser = IssuerUpstream(paths={"/oauth2/token": answer}), Browser()
        async with signing_in_at(upstream) as (client, _):
            with pytest.raises(kind):
                await signed_in(client, browser)
            assert "You are not signed in" in (await browser.page()).text
        assert [request.path for request in upstream.requests].count("/oauth2/token") == 1  # a code counts once

    @pytest.mark.requirement("LOGIN-07")
    async def test_discovery_that_leads_away_ends_the_sign_in_before_the_browser_opens(self) -> None:
        moved = {"authorization_endpoint": "https://auth.evil.example/authorize"}
        upstream = IssuerUpstream(paths={"/.well-known/openid-configuration": ok(moved)})
        browser = Browser()
        async with signing_in_at(upstream) as (client, _):
            with pytest.raises(BadReply, match="own hosts"):
                await signed_in(client, browser)
        assert browser.address == ""

    @pytest.mark.parametrize(
        "answer", [status(503), html_page(), hang_up(), redirect("http://127.0.0.1:9/", 302)], ids=lambda one: one.name
    )
    async def test_without_discovery_the_known_addresses_serve(self, answer: Any) -> None:
        browser = Browser()
        async with signing_in_at(IssuerUpstream(paths={"/.well-known/openid-configuration": answer})) as (client, _):
            login, kept = await signed_in(client, browser)
            await browser.page()
        assert kept == [login]


async def _kept_nowhere(_: Login) -> None:
    return


# --- who else knocks


@asynccontextmanager
async def waiting() -> AsyncIterator[tuple[CallbackServer, str, Callable[..., Awaitable[httpx.Response]]]]:
    """A server that waits, the address of a right answer, and a way to ask it."""
    issuer = oauth.issuer_at("https://auth.x.ai")
    proof = oauth.new_proof()
    async with CallbackServer(proof, issuer, port=0) as server, httpx.AsyncClient(timeout=20) as client:
        base = server.redirect_uri.removesuffix("/callback")

        async def ask(method: str, path: str, **headers: str) -> httpx.Response:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.request(method, f"{base}{path}", headers=named)

        yield server, f"/callback?code=the-code&state={proof.state}", ask


class TestWhoElseKnocks:
    @pytest.mark.requirement("LOGIN-02")
    async def test_nobody_but_the_right_answer_ends_the_waiting(self) -> None:
        async with waiting() as (server, right, ask):
            assert (await ask("GET", "/favicon.ico")).status_code == 204
            assert (await ask("GET", "/")).status_code == 404
            assert (await ask("GET", "/callback")).status_code == 400
            assert (await ask("HEAD", right)).status_code == 200
            assert (await ask("GET", right, sec_purpose="prefetch;prerender")).status_code == 200
            assert (await ask("POST", right)).status_code == 405
            assert (await ask("GET", right, host="evil.example")).status_code == 421
            assert not server._code.done()
            answered = asyncio.ensure_future(ask("GET", right))
            assert await server.code() == "the-code"
            server.finish(NotConfigured("as the test says", provider="login"))
            assert "as the test says" in (await answered).text

    @pytest.mark.requirement("LOGIN-02")
    async def test_silent_and_slow_connections_keep_nobody_waiting(self) -> None:
        """More of them than are allowed: the oldest go, and the browser is served all the same."""
        async with waiting() as (server, right, ask):
            port = int(server.redirect_uri.split(":")[2].split("/")[0])
            slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(80)]
            for _, writer in slow:
                writer.write(b"GET /callback?code=x HTTP/1.1\r\nX-Slow: ")
            answered = asyncio.ensure_future(ask("GET", right))
            assert await asyncio.wait_for(server.code(), 30) == "the-code"
            server.finish(NotConfigured("done", provider="login"))
            assert (await answered).status_code == 400
            for _, writer in slow:
                writer.close()

    @pytest.mark.parametrize(
        "noise",
        [
            b"",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            b"hello\r\n\r\n",
            b"A" * 40_000,
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
        ],
    )
    async def test_noise_is_no_answer_and_no_harm(self, noise: bytes) -> None:
        async with waiting() as (server, right, ask):
            port = int(server.redirect_uri.split(":")[2].split("/")[0])
            with socket.create_connection(("127.0.0.1", port)) as knocking:
                knocking.sendall(noise)
            answered = asyncio.ensure_future(ask("GET", right))
            assert await asyncio.wait_for(server.code(), 30) == "the-code"
            server.finish(NotConfigured("done", provider="login"))
            await answered

    async def test_a_reloaded_answer_gets_the_same_page(self) -> None:
        async with waiting() as (server, right, ask):
            first, again = asyncio.ensure_future(ask("GET", right)), asyncio.ensure_future(ask("GET", right))
            await server.code()
            server.finish(NotConfigured("once", provider="login"))
            assert [("once" in (await one).text) for one in (first, again)] == [True, True]

    async def test_the_issuers_pages_may_look_whether_we_listen_and_no_others(self) -> None:
        async with waiting() as (_, _, ask):
            asked = {"access_control_request_private_network": "true"}
            own = await ask("OPTIONS", "/callback", origin="https://accounts.x.ai", **asked)
            assert own.status_code == 204
            assert own.headers["access-control-allow-origin"] == "https://accounts.x.ai"
            assert own.headers["access-control-allow-private-network"] == "true"
            strange = await ask("OPTIONS", "/callback", origin="https://accounts.x.ai.evil.example", **asked)
            assert "access-control-allow-origin" not in strange.headers

    async def test_a_strangers_words_are_text_on_the_page(self) -> None:
        async with waiting() as (_, _, ask):
            page = await ask("GET", "/callback?error=x&error_description=%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE")
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
        assert "\u202e" not in page.text
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["cache-control"] == "no-store"

    async def test_a_taken_port_is_told_with_a_way_out(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            proof = oauth.new_proof()
            with pytest.raises(NotConfigured, match="cannot be listened at") as caught:
                async with CallbackServer(proof, oauth.issuer_at("https://auth.x.ai"), port=taken.getsockname()[1]):
                    raise AssertionError("two listen")
        assert "--device" in str(caught.value.hint)


# --- by a device code


class TestByDevice:
    async def finished(self, upstream: IssuerUpstream) -> tuple[Login | WebSearchError, list[float]]:
        async with signing_in_at(upstream) as (client, waits):
            endpoints = await client.endpoints()
            try:
                return await client.finished(await client.device_code(endpoints), endpoints), waits.seconds
            except WebSearchError as error:
                return error, waits.seconds

    @pytest.mark.requirement("LOGIN-08")
    async def test_slow_down_makes_the_polls_slower_for_good(self) -> None:
        polls = ("authorization_pending", "slow_down", "authorization_pending", "slow_down", "authorization_pending", "tokens")
        end, waits = await self.finished(IssuerUpstream(device=polls))
        assert isinstance(end, Login)
        assert waits == [5.0, 5.0, 10.0, 10.0, 15.0, 15.0]

    async def test_the_interval_is_the_issuers(self) -> None:
        _, waits = await self.finished(IssuerUpstream(device_interval_s=2, device=("authorization_pending", "tokens")))
        assert waits == [2.0, 2.0]

    @pytest.mark.requirement("LOGIN-08")
    @pytest.mark.parametrize("word", ["access_denied", "authorization_denied"])
    async def test_a_denial_ends_the_waiting(self, word: str) -> None:
        end, waits = await self.finished(IssuerUpstream(device=("authorization_pending", word)))
        assert isinstance(end, Declined)
        assert len(waits) == 2

    @pytest.mark.requirement("LOGIN-08")
    async def test_an_expired_code_ends_the_waiting_by_the_issuers_word_or_by_our_clock(self) -> None:
        by_word, _ = await self.finished(IssuerUpstream(device=("expired_token",)))
        by_clock, waits = await self.finished(IssuerUpstream(device=("authorization_pending",), device_life_s=31))
        assert isinstance(by_word, OutOfTime)
        assert isinstance(by_clock, OutOfTime)
        assert sum(waits) == 30
        assert "again" in str(by_clock.hint)

    @pytest.mark.parametrize(
        "fault",
        [status(503), status(429), example("xai-oauth/error.403.challenge.html", status=403), hang_up()],
        ids=lambda one: one.name,
    )
    async def test_faults_that_pass_do_not_end_the_waiting(self, fault: Any) -> None:
        upstream = IssuerUpstream(device=("tokens",))
        async with signing_in_at(upstream) as (client, _):
            endpoints = await client.endpoints()
            device = await client.device_code(endpoints)
            upstream.follow(fault, fault, ok())
            assert isinstance(await client.finished(device, endpoints), Login)

    async def test_an_unknown_client_is_told_at_once(self) -> None:
        end, _ = await self.finished(IssuerUpstream(device=("invalid_client",)))
        assert isinstance(end, AuthRejected)
        assert "xai.oauth_client_id" in str(end.hint)

    async def test_an_issuer_without_device_codes_is_told_with_the_other_way(self) -> None:
        gone = example("xai-oauth/error.404.device-disabled.json", status=404)
        end, _ = await self.finished(IssuerUpstream(paths={"/oauth2/device/code": gone}))
        assert isinstance(end, NotConfigured)
        assert "without --device" in str(end.hint)


class TestRenewing:
    @pytest.mark.parametrize("fault", [status(503), status(429), hang_up()], ids=lambda one: one.name)
    async def test_a_fault_that_passes_is_repeated_twice_at_most(self, fault: Any) -> None:
        upstream = IssuerUpstream()
        login = oauth.login_from_wire
        async with signing_in_at(upstream) as (client, waits):
            endpoints = await client.endpoints()
            before = login(upstream.sign_in(), issuer=client.issuer, client_id=CLIENT_ID, endpoints=endpoints, now=0.0)
            upstream.follow(fault, fault, ok())
            assert (await client.renewed(before)).generation == 2
            assert len(upstream.requests) == 3
            assert len(waits.seconds) == 2
            assert all(0.1 <= seconds <= 2.0 for seconds in waits.seconds)
            upstream.follow(fault)
            with pytest.raises(WebSearchError):
                await client.renewed(before)
            assert len(upstream.requests) == 3

    async def test_revoking_never_fails_for_what_the_issuer_does(self) -> None:
        upstream = IssuerUpstream()
        async with signing_in_at(upstream) as (client, _):
            endpoints = await client.endpoints()
            login = oauth.login_from_wire(
                upstream.sign_in(), issuer=client.issuer, client_id=CLIENT_ID, endpoints=endpoints, now=0.0
            )
            assert await client.revoked(login)
            for fault in (status(500), hang_up(), html_page(code=404)):
                upstream.follow(fault)
                assert not await client.revoked(login)
