"""The vendor's sign-in service and the API that takes its tokens, both on one origin, as a stand-in on this machine is.

Refresh tokens count once: a second use of an old one ends the whole sign-in. Codes count once, PKCE and the redirect address
are checked, access tokens are real-looking JWTs that end when the issuer says so, also before their time.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal
from urllib.parse import urlencode

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from upstreams import examples
from upstreams.exchange import json_response
from upstreams.script import Script, Step
from upstreams.simulator import Refusal
from upstreams.xai import XaiUpstream

__all__ = ["CLIENT_ID", "IssuerUpstream"]

CLIENT_ID = "client-for-tests-4711"
SCOPE = "openid profile email offline_access grok-cli:access api:access"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
Json = dict[str, Any]
Rotation = Literal["strict", "none"]


class IssuerUpstream(XaiUpstream):
    """`auth.x.ai` and `api.x.ai`.

    Args:
        life_s: how long an access token counts; None leaves `expires_in` and the claim out.
        rotation: `strict` replaces the refresh token at each use and ends the sign-in at a second use; `none` gives no new one.
        nonce: what the id token repeats instead of the nonce that was asked with.
        device: what a device poll is answered, one after the other; the last one stays. `tokens` signs in.
        device_interval_s, device_life_s: what the device code says.
        entitled: whether the plan includes the API; else 403.
        denial: the words with which a denial comes back.

    `rotations` counts refreshes, `reuses` second uses of a refresh token, `ended` sign-ins that ended by one. A refresh
    waits until `counting` is set before it counts, and until `answering` is set before it is answered.
    """

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        life_s: float | None = 21_600,
        rotation: Rotation = "strict",
        nonce: str | None = None,
        device: Sequence[str] = ("authorization_pending", "authorization_pending", "slow_down", "tokens"),
        device_interval_s: int | None = None,
        device_life_s: int = 900,
        entitled: bool = True,
        denial: str = "The user <b>declined</b>",
        now: Callable[[], float] = time.time,
        **xai: Any,
    ) -> None:
        super().__init__(script=script, paths=paths, **xai)
        self.life_s = life_s
        self.rotation = rotation
        self.nonce = nonce
        self.device = list(device)
        self.device_interval_s = device_interval_s
        self.device_life_s = device_life_s
        self.entitled = entitled
        self.counting, self.answering = threading.Event(), threading.Event()
        self.counting.set()
        self.answering.set()
        self.denial = denial
        self.now = now
        self.rotations = 0
        self.reuses = 0
        self.ended: set[str] = set()
        self.revoked: list[str] = []
        self.codes: dict[str, Json] = {}
        self.refresh: dict[str, str] = {}
        """Refresh token → sign-in; the current ones."""
        self.spent: dict[str, str] = {}
        self.access: dict[str, tuple[float, str]] = {}
        """Access token → end, sign-in."""

    def routes(self) -> list[BaseRoute]:
        return [
            *super().routes(),
            Route("/.well-known/openid-configuration", self._discovery, methods=["GET"]),
            Route("/oauth2/authorize", self._authorize, methods=["GET"]),
            Route("/oauth2/consent", self._consent, methods=["GET"]),
            Route("/oauth2/token", self._token, methods=["POST"]),
            Route("/oauth2/device/code", self._device_code, methods=["POST"]),
            Route("/oauth2/device", self._device_page, methods=["GET"]),
            Route("/oauth2/revoke", self._revoke, methods=["POST"]),
        ]

    # ---- for tests

    def expire(self) -> None:
        """End every access token now, whatever it says of itself."""
        with self._change():
            self.access.clear()

    def sign_in(self) -> Json:
        """Tokens of a new sign-in, as the token endpoint gives them."""
        return self._tokens(secrets.token_hex(4))

    # ---- the API side

    def _authorise(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise self.refusal("xai-responses/error.401.missing-auth.json", 401)
        if not self.entitled:
            raise self.refusal("xai-responses/error.403.permission-denied.json", 403)
        end, family = self.access.get(token, (0.0, ""))
        if end <= self.now() or family in self.ended:
            raise self.refusal("xai-responses/error.403.oauth-token-rejected.json", 403)
        return token

    # ---- pages

    async def _discovery(self, request: Request) -> Response:
        text = examples.read("xai-oauth/discovery.json").decode()
        return json_response(json.loads(text.replace("https://auth.x.ai", self._origin(request))))

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        wanted = {"response_type": "code", "client_id": CLIENT_ID, "code_challenge_method": "S256", "plan": "generic"}
        wrong = [name for name, value in wanted.items() if asked.get(name) != value]
        wrong += [name for name in ("state", "nonce", "code_challenge", "referrer", "scope") if not asked.get(name)]
        if wrong or not asked.get("redirect_uri", "").startswith("http://127.0.0.1:"):
            return HTMLResponse(f"<h1>Bad request</h1><p>{html.escape(', '.join(wrong or ['redirect_uri']))}</p>", 400)
        ways = {"allow": "Allow", "show": "Allow and show the code", "deny": "Deny", "tamper": "Allow, tampered with"}
        forms = "".join(
            f'<p><a id="{way}" href="/oauth2/consent?{html.escape(urlencode({**asked, "decision": way}))}">{words}</a></p>'
            for way, words in ways.items()
        )
        return HTMLResponse(f"<h1>Do you allow {html.escape(asked['referrer'])} to use your subscription?</h1>{forms}")

    async def _consent(self, request: Request) -> Response:
        asked = dict(request.query_params)
        decision, back = asked.pop("decision"), asked["redirect_uri"]
        if decision == "deny":
            told = {"error": "access_denied", "error_description": self.denial, "state": asked["state"]}
            return RedirectResponse(f"{back}?{urlencode(told)}", 302)
        code = secrets.token_urlsafe(24)
        self.codes[code] = asked
        if decision == "show":
            return HTMLResponse(f'<h1>Your code</h1><code id="code">{code}</code>')
        state = "somebody-elses-state" if decision == "tamper" else asked["state"]
        return RedirectResponse(f"{back}?{urlencode({'code': code, 'state': state})}", 302)

    async def _device_page(self, _: Request) -> Response:
        return HTMLResponse("<h1>Type your code</h1>")

    # ---- tokens

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        if form.get("client_id") != CLIENT_ID:
            raise self.refusal("xai-oauth/error.401.invalid_client.json", 401)
        grants = {"authorization_code": self._by_code, "refresh_token": self._by_refresh, DEVICE_GRANT: self._by_device}
        if form["grant_type"] == "refresh_token":
            await _opened(self.counting)
        answer = grants[form["grant_type"]](form)
        if form["grant_type"] == "refresh_token":
            await _opened(self.answering)
        return json_response(answer, headers={"Cache-Control": "no-store"})

    def _by_code(self, form: Json) -> Json:
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).decode().rstrip("=")
        if asked is None or asked["redirect_uri"] != form.get("redirect_uri") or asked["code_challenge"] != challenge:
            raise self.refusal("xai-oauth/error.400.invalid_grant.code.json", 400)
        return self._tokens(secrets.token_hex(4), nonce=asked["nonce"])

    def _by_refresh(self, form: Json) -> Json:
        with self._change():
            token = form.get("refresh_token", "")
            if token in self.spent:
                self.reuses += 1
                self.ended.add(self.spent[token])
            family = self.refresh.get(token)
            if family is None or family in self.ended:
                raise self.refusal("xai-oauth/error.400.invalid_grant.revoked.json", 400)
            self.rotations += 1
            if self.rotation == "none":
                return {name: value for name, value in self._tokens(family).items() if name != "refresh_token"}
            self.spent[token] = self.refresh.pop(token)
            return self._tokens(family)

    def _by_device(self, _: Json) -> Json:
        word = self.device.pop(0) if len(self.device) > 1 else self.device[0]
        if word != "tokens":
            raise Refusal(json_response({"error": word, "error_description": "as the script says"}, status=400))
        return self._tokens(secrets.token_hex(4))

    def _tokens(self, family: str, *, nonce: str = "") -> Json:
        now = self.now()
        end = now + (self.life_s if self.life_s is not None else 3_600)
        said = {**examples.read_json("xai-oauth/access-token.claims.json"), "aud": CLIENT_ID, "client_id": CLIENT_ID}
        said |= {"iat": int(now), "exp": end, "jti": secrets.token_hex(8)}
        if self.life_s is None:
            said.pop("exp")
        access, refresh = _jwt(said), secrets.token_urlsafe(32)
        self.access[access] = (end, family)
        if self.rotation == "strict" or family not in self.refresh.values():
            self.refresh[refresh] = family
        answer: Json = {"access_token": access, "token_type": "Bearer", "refresh_token": refresh, "scope": SCOPE}
        if self.life_s is not None:
            answer["expires_in"] = int(self.life_s)
        if nonce:
            person = {"sub": said["sub"], "aud": CLIENT_ID, "email": "reader@example.org", "nonce": self.nonce or nonce}
            answer["id_token"] = _jwt(person)
        return answer

    async def _device_code(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        if not {"client_id", "scope", "referrer"} <= form.keys():
            raise self.refusal("xai-oauth/error.401.invalid_client.json", 401)
        page = f"{self._origin(request)}/oauth2/device"
        answer = {**examples.read_json("xai-oauth/device.code.minimal.json"), "verification_uri": page}
        answer |= {"verification_uri_complete": f"{page}?user_code=BCDF-GHJK", "expires_in": self.device_life_s}
        if self.device_interval_s is not None:
            answer["interval"] = self.device_interval_s
        return json_response(answer)

    async def _revoke(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        with self._change():
            self.revoked.append(form.get("token", ""))
            if (family := self.refresh.pop(form.get("token", ""), None)) is not None:
                self.ended.add(family)
        return json_response({})

    @staticmethod
    def _origin(request: Request) -> str:
        return f"http://{request.headers['host']}"


async def _opened(gate: threading.Event) -> None:
    """Wait for a gate that another thread opens; a client that leaves ends the waiting."""
    while not gate.is_set():
        await anyio.sleep(0.005)


def _jwt(said: Json) -> str:
    parts = ({"alg": "ES256", "typ": "JWT", "kid": "example"}, said)
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join([*encoded, secrets.token_urlsafe(64)])
