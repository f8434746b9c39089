"""The lab's server behind OAuth: resource metadata, an authorization server with registration, PKCE and rotating refresh tokens.

A refresh token counts once; a second use signs the whole family out, as careful servers do.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from upstreams.lab_http import LabHttp

__all__ = ["OAuthLab"]


class OAuthLab(LabHttp):
    """One origin that is both the upstream and its authorization server."""

    def __init__(self) -> None:
        super().__init__()
        self.expires_in = 3_600
        self.scopes = "read"
        self.valid: set[str] = set()
        self.refresh = ""
        self.registered: dict[str, dict[str, Any]] = {}
        self.asked: list[dict[str, str]] = []
        self.renewals = 0
        self.reuses = 0
        self.token_status = 200
        self.denied = False
        self._codes: dict[str, dict[str, str]] = {}
        self._issued = 0

    async def answer(self, request: Request) -> Response:
        base, path = str(request.base_url).rstrip("/"), request.url.path
        if path.startswith("/.well-known/oauth-protected-resource"):
            return JSONResponse({"resource": f"{base}/mcp", "authorization_servers": [base], "scopes_supported": ["read"]})
        if path.startswith("/.well-known/"):
            return JSONResponse(
                {
                    "issuer": base,
                    "authorization_endpoint": f"{base}/authorize",
                    "token_endpoint": f"{base}/oauth/token",
                    "registration_endpoint": f"{base}/register",
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                }
            )
        if path == "/register":
            return self._register(json.loads(await request.body()))
        if path == "/authorize":
            return self._authorize(dict(request.query_params))
        if path == "/oauth/token":
            return self._token({name: values[0] for name, values in parse_qs((await request.body()).decode()).items()})
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in self.valid:
            where = f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"'
            return Response(status_code=401, headers={"WWW-Authenticate": where})
        return await super().answer(request)

    def end_tokens(self) -> None:
        """The access tokens are worth nothing any more; the refresh token still is."""
        self.valid.clear()

    def _register(self, asked: dict[str, Any]) -> Response:
        client = f"client-{len(self.registered) + 1}"
        self.registered[client] = asked
        return JSONResponse({**asked, "client_id": client}, status_code=201)

    def _authorize(self, asked: dict[str, str]) -> Response:
        self.asked.append(asked)
        code = f"code-{len(self.asked)}"
        self._codes[code] = asked
        answer = {"error": "access_denied"} if self.denied else {"code": code}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({**answer, 'state': asked['state']})}", status_code=302)

    def _token(self, asked: dict[str, str]) -> Response:
        if self.token_status != 200:
            return Response(status_code=self.token_status)
        if asked["grant_type"] == "refresh_token":
            if asked["refresh_token"] != self.refresh:
                self.reuses += 1
                self.valid.clear()
                self.refresh = ""
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            self.renewals += 1
        else:
            question = self._codes.pop(asked["code"])
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == question["code_challenge"]
            self.scopes = question.get("scope", "")
        self._issued += 1
        access, self.refresh = f"access-{self._issued}-0123456789", f"refresh-{self._issued}-0123456789"
        self.valid.add(access)
        return JSONResponse(
            {
                "access_token": access,
                "refresh_token": self.refresh,
                "token_type": "Bearer",
                "expires_in": self.expires_in,
                "scope": self.scopes,
            }
        )
