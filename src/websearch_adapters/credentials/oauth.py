"""Signing in with a subscription: OAuth 2.0 with PKCE or a device code, as xAI's sign-in service speaks it.

Source: the vendor's open-source command line of August 2026 and programs of others that agree with it, read 2026-11-30; RFC
6749, 7636, 8628, 7009 and 9207 for the rest. No page of the vendor documents this for others. Every address is held against
the issuer's own hosts before anything is sent there.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hashlib
import hmac
import json
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from websearch_adapters.http.forms import FormClient, FormReply
from websearch_core import urls
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    InvalidInput,
    NotConfigured,
    OutOfCredit,
    OutOfTime,
    ProviderError,
    RateLimited,
    Unreachable,
    WebSearchError,
)
from websearch_core.fence import clean
from websearch_core.values import Secret

__all__ = [
    "NAME",
    "REFERRER",
    "DeviceCode",
    "Endpoints",
    "Issuer",
    "Login",
    "OAuthClient",
    "Proof",
    "authorize_address",
    "callback_code",
    "challenge_of",
    "claims",
    "device_from_wire",
    "endpoints_from_wire",
    "error_from_wire",
    "from_file",
    "issuer_at",
    "login_from_wire",
    "new_proof",
    "pinned",
    "shown",
    "to_file",
]

NAME = "login"
"""Names errors and the part of the doctor's report."""
REFERRER = "websearch"
VENDOR = "https://auth.x.ai"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
MAX_SHOWN_CHARS = 200
DEFAULT_LIFE_S = 3_600.0
"""Of an access token that says nothing of its end."""
LONGEST_LIFE_S = 366 * 86_400.0
DEFAULT_INTERVAL_S = 5.0
SLOWER_BY_S = 5.0
LONGEST_DEVICE_WAIT_S = 1_800.0
REPETITIONS = 2
REPETITION_WAITS_S = (0.2, 2.0)
SIGN_IN = "Sign in again: run `websearch login`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Who issues tokens, and where these may be sent."""

    url: str
    domain: str
    """Its addresses are on this host and its subdomains; empty for an issuer on this machine, whose origin is the only one."""
    api_origin: str
    """Where an access token may be sent, and nowhere else."""
    pages_origin: str
    """Where its pages are shown from, which may look whether we listen."""


XAI = Issuer(url=VENDOR, domain="x.ai", api_origin="https://api.x.ai", pages_origin="https://accounts.x.ai")


def issuer_at(url: str) -> Issuer:
    """The vendor's issuer, or one on this machine.

    Raises:
        NotConfigured: any other address; no token is fetched from or sent to it.
    """
    if urls.origin(url) == VENDOR:
        return XAI
    origin = urls.origin(url)
    if origin.startswith("http://") and urls.host(url) in {"127.0.0.1", "localhost", "::1"}:
        return Issuer(url=origin, domain="", api_origin=origin, pages_origin=origin)
    raise NotConfigured(
        "xai.oauth_issuer names neither the vendor's issuer nor one on this machine", provider=NAME, hint=f"Set it to {VENDOR}."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Addresses of an issuer, all of them on its own hosts; empty: it has none."""

    authorization: str
    token: str
    device: str = ""
    revocation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What shows that an answer belongs to our question, fresh for every sign-in."""

    verifier: Secret
    state: str
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """A code to be typed in a browser, anywhere."""

    device_code: Secret
    user_code: str
    address: str
    """Where to type it."""
    complete_address: str
    """The same with the code in it, or empty."""
    expires_in_s: float
    interval_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A sign-in as it is kept: two tokens and what belongs to them."""

    issuer: str
    client_id: str
    access_token: Secret
    refresh_token: Secret | None
    expires_at: float
    """When the access token ends, in seconds since 1970."""
    renewed_at: float
    token_endpoint: str
    revocation_endpoint: str = ""
    scope: str = ""
    account: str = ""
    """Whose it is, for people; may be empty."""
    generation: int = 1
    """Counts how often the tokens were replaced, so that nobody takes an older one for a newer."""
    refused: str = ""
    """Why the issuer renews it no longer; empty while it does."""

    def is_due(self, now: float) -> bool:
        """Whether to renew ahead of the end: five minutes before, or a fifth of a shorter life."""
        return now >= self.expires_at - min(300.0, max(self.expires_at - self.renewed_at, 0.0) / 5)

    def has_ended(self, now: float) -> bool:
        """Whether the access token is worthless by its own word."""
        return now >= self.expires_at


# --- translations -------------------------------------------------------------------------------------------------


def pinned(issuer: Issuer, address: object) -> str:
    """The address, if it lies on the issuer's hosts, without user and on the usual port.

    Raises:
        BadReply: it does not; whoever sent it wants us elsewhere.
    """
    text = address if isinstance(address, str) else ""
    origin = urls.origin(text)
    is_own = origin == issuer.url
    if issuer.domain and origin:
        is_own = origin == f"https://{urls.host(text)}" and urls.host_matches(text, issuer.domain)
    if not is_own or "@" in urlsplit(text).netloc:
        raise BadReply(
            f"the issuer names an address that is not on its own hosts: {origin or 'none at all'}",
            provider=NAME,
            hint="Nothing was sent there. Check the network; something may stand between you and the issuer.",
        )
    return text


def endpoints_from_wire(document: Mapping[str, Any], issuer: Issuer) -> Endpoints:
    """The addresses of a discovery document; what it does not name is where it is known to be.

    Raises:
        BadReply: an address is not on the issuer's hosts, or the document is another issuer's.
    """
    if "issuer" in document and urls.origin(str(document["issuer"])) != issuer.url:
        raise BadReply("the discovery document is another issuer's", provider=NAME, hint="Check the network.")
    known = {
        "authorization": ("authorization_endpoint", "/oauth2/authorize"),
        "token": ("token_endpoint", "/oauth2/token"),
        "device": ("device_authorization_endpoint", "/oauth2/device/code"),
        "revocation": ("revocation_endpoint", "/oauth2/revoke"),
    }
    return Endpoints(
        **{field: pinned(issuer, document.get(name) or f"{issuer.url}{path}") for field, (name, path) in known.items()}
    )


def new_proof() -> Proof:
    """Fresh random values: 32 bytes each, unguessable."""
    return Proof(verifier=Secret(secrets.token_urlsafe(32)), state=secrets.token_urlsafe(32), nonce=secrets.token_urlsafe(32))


def challenge_of(verifier: str) -> str:
    """The S256 challenge of RFC 7636."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def authorize_address(endpoint: str, *, client_id: str, redirect_uri: str, scope: str, proof: Proof) -> str:
    """Where to send the browser. `plan` and `referrer` are said to be necessary."""
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": scope,
        "code_challenge": challenge_of(proof.verifier.value),
        "code_challenge_method": "S256",
        "state": proof.state,
        "nonce": proof.nonce,
        "plan": "generic",
        "referrer": REFERRER,
    }
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"


def callback_code(answer: Mapping[str, str], proof: Proof, issuer: Issuer) -> str:
    """The code that an answer to our question brings; the state is looked at before anything else.

    Raises:
        InvalidInput: the answer belongs to another question, or to another issuer.
        Declined: the issuer says no, and why.
        BadReply: there is no code in it.
    """
    if not hmac.compare_digest(answer.get("state", "").encode(), proof.state.encode()):
        raise InvalidInput(
            "this answer does not belong to the sign-in that is waiting: its state is wrong",
            hint="Use the address that was shown last, in one tab.",
        )
    if (named := answer.get("iss")) and urls.origin(named) != issuer.url:
        raise InvalidInput("this answer comes from another issuer", hint="Start again: run `websearch login`.")
    if error := answer.get("error"):
        raise _denied(error, answer.get("error_description", ""))
    if not (code := answer.get("code", "").strip()):
        raise BadReply("the answer holds no code", provider=NAME, hint=SIGN_IN)
    return code


def claims(token: str) -> dict[str, Any]:
    """What a JWT says, unverified, for its end and for display; empty where it is none."""
    parts = token.split(".")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        found = json.loads(base64.urlsafe_b64decode(padded))
    except (IndexError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def login_from_wire(
    reply: Mapping[str, Any],
    *,
    issuer: Issuer,
    client_id: str,
    endpoints: Endpoints,
    now: float,
    nonce: str = "",
    before: Login | None = None,
) -> Login:
    """The sign-in that a token answer brings; `before` is the one that it renews, `nonce` what its id token must repeat.

    Raises:
        BadReply: tokens are missing or of another kind, or the id token belongs to another question.
    """
    access = _token(reply.get("access_token"))
    refresh = _token(reply.get("refresh_token")) or (before.refresh_token if before else None)
    kind = reply.get("token_type", "Bearer")
    if access is None or not isinstance(kind, str) or kind.lower() != "bearer":
        raise BadReply("the issuer answered without an access token", provider=NAME, hint=SIGN_IN)
    said = claims(reply["id_token"]) if isinstance(reply.get("id_token"), str) else {}
    if nonce and said:
        _require_own(said, issuer=issuer, client_id=client_id, nonce=nonce)
    return Login(
        issuer=issuer.url,
        client_id=client_id,
        access_token=dataclasses.replace(access, only_for=issuer.api_origin),
        refresh_token=refresh,
        expires_at=_end(reply, access.value, now),
        renewed_at=now,
        token_endpoint=endpoints.token,
        revocation_endpoint=endpoints.revocation,
        scope=shown(reply.get("scope")) or (before.scope if before else ""),
        account=shown(said.get("email") or said.get("name")) or (before.account if before else ""),
        generation=before.generation + 1 if before else 1,
    )


def device_from_wire(reply: Mapping[str, Any], issuer: Issuer) -> DeviceCode:
    """A device code; only addresses on the issuer's hosts are shown.

    Raises:
        BadReply: codes are missing, or the address is not on the issuer's hosts.
    """
    code, user_code = _token(reply.get("device_code")), shown(reply.get("user_code"))
    if code is None or not user_code:
        raise BadReply("the issuer answered without a device code", provider=NAME, hint="Use `websearch login` without --device.")
    complete = reply.get("verification_uri_complete")
    return DeviceCode(
        device_code=code,
        user_code=user_code,
        address=pinned(issuer, reply.get("verification_uri") or reply.get("verification_url")),
        complete_address=pinned(issuer, complete) if complete else "",
        expires_in_s=min(_seconds(reply.get("expires_in")) or 900.0, LONGEST_DEVICE_WAIT_S),
        interval_s=min(_seconds(reply.get("interval")) or DEFAULT_INTERVAL_S, 60.0),
    )


def error_from_wire(reply: FormReply) -> WebSearchError:
    """What a refusal of the issuer means; its words are shown only where a person has to read them, cleaned and cut."""
    word, told = shown(reply.fields.get("error")), shown(reply.fields.get("error_description"))
    common: dict[str, Any] = {"provider": NAME, "http_status": reply.status, "upstream_code": word or None}
    if reply.status == 429 or word == "temporarily_unavailable":
        return RateLimited("the issuer asks for patience", hint="Try again in a minute.", **common)
    if reply.status >= 500 or (not word and reply.body.lstrip()[:1] == b"<"):
        return Unreachable(f"the issuer answers {reply.status} without a verdict", hint="Try again in a minute.", **common)
    if word == "invalid_grant":
        return AuthRejected(
            f"the issuer does not take this sign-in any more{f' ({told})' if told else ''}", hint=SIGN_IN, **common
        )
    if word in {"invalid_client", "unauthorized_client"}:
        return AuthRejected(
            "the issuer does not know the client id", hint="Check xai.oauth_client_id; docs/login.md explains it.", **common
        )
    if reply.status == 403:
        return OutOfCredit(
            f"the subscription does not include this{f' ({told})' if told else ''}",
            hint="You stay signed in. Use an account whose plan includes the API, or a key: set xai.auth to api_key.",
            **common,
        )
    if 300 <= reply.status < 400:
        return BadReply("the issuer redirects where it should answer", hint="Check the network and the proxy.", **common)
    return BadReply(f"the issuer refuses ({' '.join(filter(None, [word or str(reply.status), told]))})", hint=SIGN_IN, **common)


def to_file(login: Login) -> dict[str, Any]:
    """A sign-in as plain data, for its file alone: the tokens are in the clear."""
    plain = {field.name: getattr(login, field.name) for field in dataclasses.fields(login)}
    refresh = login.refresh_token.value if login.refresh_token else ""
    return {**plain, "access_token": login.access_token.value, "refresh_token": refresh}


def from_file(stored: Mapping[str, Any], issuer: Issuer) -> Login:
    """A sign-in from its file.

    Raises:
        NotConfigured: it is another issuer's, or incomplete.
    """
    if stored.get("issuer") != issuer.url:
        raise NotConfigured("the stored login is of another issuer", provider=NAME, hint=SIGN_IN)
    access = _token(stored.get("access_token"))
    texts = {name: stored.get(name) for name in ("client_id", "scope", "account", "refused")}
    numbers = {name: stored.get(name) for name in ("expires_at", "renewed_at", "generation")}
    if access is None or not all(isinstance(one, str) for one in texts.values()) or not all(map(_is_number, numbers.values())):
        raise NotConfigured("the stored login is incomplete", provider=NAME, hint=SIGN_IN)
    endpoints = {name: stored.get(name) or "" for name in ("token_endpoint", "revocation_endpoint")}
    endpoints["token_endpoint"] = endpoints["token_endpoint"] or f"{issuer.url}/oauth2/token"
    try:
        ends = {name: pinned(issuer, address) if address else "" for name, address in endpoints.items()}
    except BadReply as error:
        raise NotConfigured(error.message, provider=NAME, hint=SIGN_IN) from error
    fields: dict[str, Any] = {**texts, **numbers, **ends}
    return Login(
        issuer=issuer.url,
        access_token=dataclasses.replace(access, only_for=issuer.api_origin),
        refresh_token=_token(stored.get("refresh_token")),
        **fields,
    )


def _require_own(said: Mapping[str, Any], *, issuer: Issuer, client_id: str, nonce: str) -> None:
    audience = said.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    is_own = urls.origin(str(said.get("iss", issuer.url))) == issuer.url and client_id in audiences
    if not is_own or not hmac.compare_digest(str(said.get("nonce", "")).encode(), nonce.encode()):
        raise BadReply("the id token belongs to another sign-in; the tokens are not kept", provider=NAME, hint=SIGN_IN)


def _denied(word: str, told: str) -> ProviderError:
    word, told = shown(word), shown(told)
    if word in {"access_denied", "authorization_denied"}:
        return Declined(f"the sign-in was declined{f': {told}' if told else ''}", provider=NAME, hint="Nothing was changed.")
    return BadReply(f"the issuer refuses the sign-in: {' '.join(filter(None, [word, told]))}", provider=NAME, hint=SIGN_IN)


def _end(reply: Mapping[str, Any], access_token: str, now: float) -> float:
    """When the access token ends: by the answer, else by its own claim, else within the hour."""
    if life_s := _seconds(reply.get("expires_in")):
        return now + min(life_s, LONGEST_LIFE_S)
    claimed = claims(access_token).get("exp")
    if _is_number(claimed) and isinstance(claimed, (int, float)) and claimed > 0:
        return min(float(claimed), now + LONGEST_LIFE_S)
    return now + DEFAULT_LIFE_S


def _token(value: object) -> Secret | None:
    """A token of visible ASCII characters; None for anything else."""
    is_one = isinstance(value, str) and value and value.isascii() and value.isprintable() and " " not in value
    return Secret(str(value)) if is_one else None


def _seconds(value: object) -> float | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:12])
    return float(value) if _is_number(value) and isinstance(value, (int, float)) and 0 < value < 1e12 else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def shown(value: object) -> str:
    """Words of the issuer fit for a person: one line, cleaned, cut; empty for anything but a text."""
    return " ".join(clean(value).split())[:MAX_SHOWN_CHARS] if isinstance(value, str) else ""


# --- the client ---------------------------------------------------------------------------------------------------


class OAuthClient:
    """Speaks with one issuer for one client id. Opens nothing until it is used."""

    def __init__(
        self,
        forms: FormClient,
        issuer: Issuer,
        *,
        client_id: str,
        scope: str = "",
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._forms = forms
        self.issuer = issuer
        self._client_id = client_id
        self._scope = scope
        self._now = now
        self._clock = clock
        self._sleep = sleep

    async def endpoints(self) -> Endpoints:
        """The issuer's addresses, by its discovery document where it has one to give.

        Raises:
            BadReply: the document leads away from the issuer.
        """
        try:
            reply = await self._forms.get(f"{self.issuer.url}/.well-known/openid-configuration")
        except Unreachable:
            return endpoints_from_wire({}, self.issuer)
        return endpoints_from_wire(reply.fields if reply.status == 200 else {}, self.issuer)

    def authorize_address(self, endpoints: Endpoints, *, redirect_uri: str, proof: Proof) -> str:
        """Where to send the browser."""
        return authorize_address(
            endpoints.authorization, client_id=self._client_id, redirect_uri=redirect_uri, scope=self._scope, proof=proof
        )

    async def exchanged(self, code: str, endpoints: Endpoints, *, redirect_uri: str, proof: Proof) -> Login:
        """The sign-in for a code, which can be used once. Tokens that belong to another sign-in are revoked and refused.

        Raises:
            AuthRejected, OutOfCredit, BadReply, RateLimited, Unreachable: the issuer does not give one.
        """
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._client_id,
            "code_verifier": proof.verifier.value,
        }
        reply = await self._accepted(endpoints.token, form)
        try:
            return self._login(reply.fields, endpoints, nonce=proof.nonce)
        except BadReply:
            await self._revoked(_token(reply.fields.get("refresh_token")), endpoints.revocation, self._client_id)
            raise

    async def device_code(self, endpoints: Endpoints) -> DeviceCode:
        """Begin a sign-in that is finished in a browser anywhere.

        Raises:
            NotConfigured: the issuer does not offer it.
            ProviderError: as `exchanged`.
        """
        form = {"client_id": self._client_id, "scope": self._scope, "referrer": REFERRER}
        reply = await self._forms.post(endpoints.device, form)
        if reply.status == 404:
            raise NotConfigured(
                "the issuer offers no device codes",
                provider=NAME,
                hint="Use `websearch login` without --device.",
                http_status=404,
            )
        if reply.status != 200:
            raise error_from_wire(reply)
        return device_from_wire(reply.fields, self.issuer)

    async def finished(self, device: DeviceCode, endpoints: Endpoints) -> Login:
        """Wait until the person has typed the code.

        Raises:
            Declined: the person, or the issuer, said no.
            OutOfTime: the code ended before.
            AuthRejected, BadReply: the issuer refuses.
        """
        form = {"grant_type": DEVICE_GRANT, "device_code": device.device_code.value, "client_id": self._client_id}
        interval_s, until = device.interval_s, self._clock() + device.expires_in_s
        while self._clock() + interval_s < until:
            await self._sleep(interval_s)
            reply = await self._polled(endpoints.token, form)
            word = reply.fields.get("error") if reply.status != 200 else None
            if reply.status == 200:
                return self._login(reply.fields, endpoints)
            if word == "slow_down":
                interval_s += SLOWER_BY_S
            elif word == "expired_token":
                break
            elif word in {"access_denied", "authorization_denied"}:
                raise _denied(str(word), str(reply.fields.get("error_description") or ""))
            elif word != "authorization_pending" and not isinstance(error := error_from_wire(reply), (RateLimited, Unreachable)):
                raise error
        raise OutOfTime("the code has expired before it was used", provider=NAME, hint="Start again: `websearch login --device`.")

    async def renewed(self, login: Login) -> Login:
        """The same sign-in with new tokens; the old refresh token is dead from now on.

        A failure that passes is repeated twice at most: where the answer was lost, the old token may still count for a moment.

        Raises:
            AuthRejected: the sign-in has ended (`upstream_code` is `invalid_grant`), or the client id is unknown.
            OutOfCredit: the plan does not allow it; the sign-in stands.
            RateLimited, Unreachable, BadReply: for now.
        """
        if login.refresh_token is None:
            raise AuthRejected("the login has ended and cannot be renewed", provider=NAME, hint=SIGN_IN)
        form = {"grant_type": "refresh_token", "refresh_token": login.refresh_token.value, "client_id": login.client_id}
        reply = await self._accepted(login.token_endpoint, form, repetitions=REPETITIONS)
        endpoints = Endpoints(authorization="", token=login.token_endpoint, revocation=login.revocation_endpoint)
        return login_from_wire(
            reply.fields, issuer=self.issuer, client_id=login.client_id, endpoints=endpoints, now=self._now(), before=login
        )

    async def revoked(self, login: Login) -> bool:
        """Let the issuer forget the sign-in; whether it said so. Never raises what the issuer does."""
        return await self._revoked(login.refresh_token, login.revocation_endpoint, login.client_id)

    async def _revoked(self, token: Secret | None, endpoint: str, client_id: str) -> bool:
        if token is None or not endpoint:
            return False
        form = {"token": token.value, "token_type_hint": "refresh_token", "client_id": client_id}
        try:
            return (await self._forms.post(endpoint, form)).status == 200
        except WebSearchError:
            return False

    async def _polled(self, endpoint: str, form: Mapping[str, str]) -> FormReply:
        try:
            return await self._forms.post(endpoint, form)
        except Unreachable:
            return FormReply(status=503)

    async def _accepted(self, endpoint: str, form: Mapping[str, str], *, repetitions: int = 0) -> FormReply:
        for again in range(repetitions + 1):
            try:
                reply = await self._forms.post(endpoint, form)
                if reply.status == 200:
                    return reply
                raise error_from_wire(reply)
            except (RateLimited, Unreachable):
                if again == repetitions:
                    raise
            await self._sleep(random.uniform(*REPETITION_WAITS_S) / 2 ** (repetitions - again - 1))  # noqa: S311 - a wait
        raise AssertionError("unreachable: the last repetition returns or raises")

    def _login(self, reply: Mapping[str, Any], endpoints: Endpoints, *, nonce: str = "") -> Login:
        return login_from_wire(
            reply, issuer=self.issuer, client_id=self._client_id, endpoints=endpoints, now=self._now(), nonce=nonce
        )
