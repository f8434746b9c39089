"""`websearch logout`: forget the sign-in, here and at the issuer."""

from __future__ import annotations

import argparse
import asyncio

from websearch_adapters.credentials import oauth, renewal
from websearch_adapters.credentials.oauth import Login, OAuthClient
from websearch_adapters.credentials.token_file import TokenFile
from websearch_adapters.http.forms import FormClient
from websearch_adapters.settings import LoadedConfiguration
from websearch_core import outcome
from websearch_core.errors import NotConfigured, WebSearchError
from websearch_core.values import LoginReport
from websearch_mcp.cli import output, session
from websearch_mcp.cli.login import busy, stored

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Delete the tokens, then have them revoked; whoever is not signed in is told so."""
    loaded = session.configuration(options)
    with asyncio.Runner() as runner:
        report = runner.run(_signed_out(loaded))
    return session.finish(report, as_json=options.json, redact=loaded.redact)


async def _signed_out(loaded: LoadedConfiguration) -> LoginReport:
    report = LoginReport(file=str(loaded.settings.login_file))
    file, login = TokenFile(loaded.settings.login_file), None
    try:
        file.require_own()
        async with file.locked(renewal.LOCK):
            try:
                login = stored(loaded)
            except NotConfigured as error:
                output.notice(f"note: {error.message}; it is deleted all the same")
            was_there = file.remove()
    except WebSearchError as error:
        return outcome.failed(report, error, "login")
    except TimeoutError:
        return outcome.failed(report, busy(), "login")
    if login is not None and not await _revoked(loaded, login):
        output.notice("note: the issuer did not confirm; the tokens are deleted here, and end there by themselves.")
    return LoginReport(file=report.file, detail="signed out" if was_there else "nobody was signed in")


async def _revoked(loaded: LoadedConfiguration, login: Login) -> bool:
    for secret in (login.access_token, login.refresh_token):
        if secret is not None:
            loaded.redact.learn(secret.value)
    forms = FormClient(oauth.NAME, proxy=loaded.settings.network.proxy)
    try:
        issuer = oauth.issuer_at(loaded.settings.xai.oauth_issuer)
        return await OAuthClient(forms, issuer, client_id=login.client_id).revoked(login)
    finally:
        await forms.aclose()
