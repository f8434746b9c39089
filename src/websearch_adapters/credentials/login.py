"""A subscription in place of a key; implements `ports.Credentials` around the pool of keys, and `ports.Probe`.

A provider that uses the login never gets a key, whatever becomes of the login: who pays with a subscription is not to be billed
by surprise. Turns and circuits stay the pool's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from types import MappingProxyType, TracebackType
from typing import Any, Self

from websearch_adapters.credentials.oauth import NAME, Login
from websearch_adapters.credentials.renewal import Renewal
from websearch_core.errors import AuthRejected, NotConfigured, OutOfCredit, ProviderError, Unreachable, WebSearchError
from websearch_core.ports import Credentials, Lease
from websearch_core.values import Health, Secret

__all__ = ["LoginCredentials", "LoginProbe", "state_of"]

BAD_TOKEN_CODES = frozenset({"unauthenticated:bad-credentials", "unauthenticated"})
NOTHING_TRIED: Mapping[Secret | None, WebSearchError] = MappingProxyType({})
ENDED = "Sign in again: run `websearch login`."


class LoginCredentials:
    """Hands out the access token of a sign-in, renewed ahead of its end and once when it is refused."""

    def __init__(
        self,
        pool: Credentials,
        renewal: Renewal,
        *,
        providers: frozenset[str],
        learn: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`providers` are those that use the sign-in; `learn` is told every token before it is used, to keep it out of texts."""
        self._pool = pool
        self._renewal = renewal
        self._providers = providers
        self._learn = learn
        self._now = now

    def lease(
        self, provider: str, /, *, keyed: bool = True, tried: Mapping[Secret | None, WebSearchError] = NOTHING_TRIED
    ) -> AbstractAsyncContextManager[Lease]:
        """A turn at the provider, with the token where it uses the sign-in.

        Raises, on entering:
            NotConfigured: nobody is signed in, or the file cannot be used.
            AuthRejected: the sign-in has ended, or its newest token was refused in this call.
            OutOfCredit, Unreachable: the token has ended and cannot be renewed, for good or for now.
            CircuitOpen, QueueTimeout: as the pool.
        """
        if not keyed or provider not in self._providers:
            return self._pool.lease(provider, keyed=keyed, tried=tried)
        return _LoginLease(self, self._pool.lease(provider, keyed=False), tried)

    async def current(self) -> Login:
        """The sign-in with a token that is still good.

        Raises:
            NotConfigured, AuthRejected, OutOfCredit, Unreachable: there is none.
        """
        login = self._renewal.read()
        if login is None:
            raise NotConfigured("nobody is signed in", provider=NAME, hint="Run `websearch login`, or set xai.auth to api_key.")
        if login.refused:
            raise AuthRejected(login.refused, provider=NAME, hint=ENDED)
        if login.is_due(self._now()):
            try:
                login = await self._renewal(login)
            except (NotConfigured, OutOfCredit, Unreachable):
                if login.has_ended(self._now()) or self._renewal.read() is None:
                    raise  # else the token at hand is good for a while yet
        return self._known(login)

    async def renewed(self, login: Login) -> Login:
        """A newer sign-in than one whose token was refused, by whomever it was renewed.

        Raises:
            NotConfigured, AuthRejected, OutOfCredit, Unreachable: there is none.
        """
        return self._known(await self._renewal(login))

    def _known(self, login: Login) -> Login:
        self._learn(login.access_token.value)
        if login.refresh_token is not None:
            self._learn(login.refresh_token.value)
        return login


class _LoginLease:
    """The pool's turn, and the token for it; see `ports.Lease`."""

    def __init__(
        self, owner: LoginCredentials, turn: AbstractAsyncContextManager[Lease], tried: Mapping[Secret | None, WebSearchError]
    ) -> None:
        self._owner = owner
        self._turn = turn
        self._tried = dict(tried)
        self._inner: Lease | None = None
        self._login: Login | None = None

    @property
    def secret(self) -> Secret | None:
        """The access token."""
        return self._login.access_token if self._login else None

    async def accepted(self) -> None:
        """Pass it on; nothing is learnt of a token by its being taken."""
        if self._inner is not None:
            await self._inner.accepted()

    async def failed(self, error: ProviderError, /) -> bool:
        """Note the failure; True when there is a newer token to try at once, which is so once in a call.

        Raises:
            AuthRejected, OutOfCredit, NotConfigured, Unreachable: the token was refused and there is no other.
            CircuitOpen: as the pool.
        """
        if self._inner is None or self._login is None:
            return False
        await self._inner.failed(error)
        if not isinstance(error, AuthRejected):
            return False
        if not _is_bad_token(error):
            raise _not_entitled(error)
        if any(isinstance(one, AuthRejected) for one in self._tried.values()):
            raise _ended(error)
        await self._owner.renewed(self._login)
        return True

    def _require_untried(self, login: Login) -> None:
        refusal = self._tried.get(login.access_token)
        if isinstance(refusal, AuthRejected):
            raise _ended(refusal)

    async def __aenter__(self) -> Self:
        self._inner = await self._turn.__aenter__()
        try:
            self._login = await self._owner.current()
            self._require_untried(self._login)
        except BaseException as error:
            await self._turn.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._turn.__aexit__(kind, error, trace)


class LoginProbe:
    """What the doctor says of the sign-in. Reads its file, asks nobody."""

    name = NAME

    def __init__(self, renewal: Renewal, *, is_used: bool, now: Callable[[], float] = time.time) -> None:
        """`is_used`: whether searches pay with it."""
        self._renewal = renewal
        self._is_used = is_used
        self._now = now

    async def probe(self, *, live: bool = False) -> Health:  # noqa: ARG002 - its state costs nothing to know
        """`ok` when signed in, `failing` when it has ended or cannot be read, `off` when nobody is."""
        try:
            login = self._renewal.read()
        except NotConfigured as error:
            return Health(part=NAME, state="failing", detail=f"{error.message}. {error.hint or ''}".strip())
        return state_of(login, is_used=self._is_used, now=self._now())


def state_of(login: Login | None, *, is_used: bool, now: float) -> Health:
    """How a sign-in stands, in words without a secret."""
    if login is None:
        state: Any = "failing" if is_used else "off"
        return Health(part=NAME, state=state, detail="nobody is signed in; `websearch login` signs in with a subscription")
    if login.refused:
        return Health(part=NAME, state="failing", detail=f"{login.refused}. {ENDED}")
    if login.refresh_token is None and login.has_ended(now):
        return Health(part=NAME, state="failing", detail=f"ended on {_moment(login.expires_at)}. {ENDED}")
    used = "used for searches" if is_used else "not used (xai.auth, xai.api_url)"
    until = "renewed when next used" if login.is_due(now) else f"token good until {_moment(login.expires_at)}"
    return Health(part=NAME, state="ok", detail=f"signed in, {used}; {until}, renewed {login.generation - 1} times")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _is_bad_token(error: AuthRejected) -> bool:
    """Whether a newer token may cure it: 401, or 403 by its code; another 403 is a matter of the plan."""
    return error.http_status != 403 or error.upstream_code in BAD_TOKEN_CODES


def _not_entitled(error: AuthRejected) -> OutOfCredit:
    return OutOfCredit(
        f"the subscription does not include this (status {error.http_status})",
        provider=NAME,
        hint="You stay signed in. Use an account whose plan includes the API, or a key: set xai.auth to api_key.",
        http_status=error.http_status,
        upstream_code=error.upstream_code,
        diagnostics={**error.diagnostics, "error_type": "tier_not_entitled"},
    )


def _ended(error: WebSearchError) -> AuthRejected:
    return AuthRejected(
        "a token that was just renewed is refused",
        provider=NAME,
        hint=ENDED,
        http_status=error.http_status,
        upstream_code=error.upstream_code,
        diagnostics=error.diagnostics,
    )
