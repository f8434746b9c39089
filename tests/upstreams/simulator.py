"""What every simulated service has in common: it records requests, follows a script, and notices who leaves.

A simulator is an ASGI application. Subclasses give `routes`, their own way to refuse, and the vendor's error bodies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import ClassVar, Self

import anyio
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from upstreams import examples
from upstreams.exchange import CONNECTION, Connection, Exchange, Recorded, Severed, Wire, json_response, recorded
from upstreams.script import Script, Step, ok

Keys = Mapping[str, Script | Step] | Collection[str]


class Refusal(Exception):
    """A request the service does not accept, with the response that says so."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


class Simulator:
    """A service on loopback or in process.

    `script` is followed by all requests, unless `paths` has one for the request's path or `keys` one for its bearer
    token. `keys` also is the set of credentials the service knows; None accepts every one.

    `requests` grows by one per request, `disconnects` by one each time a client leaves before its response was
    complete, `in_flight` is the number of requests being answered. All may be read from any thread.
    """

    error_examples: ClassVar[Mapping[int, str]] = {}

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: Mapping[str, Script | Step] | None = None,
        keys: Keys | None = None,
    ) -> None:
        self.script = _script(script or ok())
        self.paths = {path: _script(each) for path, each in (paths or {}).items()}
        self.key_scripts = {k: _script(s) for k, s in keys.items()} if isinstance(keys, Mapping) else {}
        self.keys = None if keys is None else set(keys)
        self.requests: list[Recorded] = []
        self.disconnects = 0
        self.in_flight = 0
        self._changed = threading.Condition()
        self._app = Starlette(routes=self.routes(), exception_handlers={Refusal: _refused})

    # ---- for subclasses

    def routes(self) -> list[BaseRoute]:
        """The service's endpoints; handlers raise `Refusal` for what they do not accept."""
        raise NotImplementedError

    def error_body(self, status: int) -> object:
        """The JSON with which this vendor reports a status that has no example."""
        return {"error": f"status {status}"}

    def error_response(self, status: int) -> Response:
        """How this vendor reports a status, from the examples where there is one."""
        path = self.error_examples.get(status)
        if path is None:
            return json_response(self.error_body(status), status=status)
        return Response(examples.read(path), status, None, examples.content_type(path))

    def refusal(self, path: str, status: int) -> Refusal:
        """A refusal with the body of an example."""
        return Refusal(Response(examples.read(path), status, None, examples.content_type(path)))

    # ---- for tests

    @property
    def last(self) -> Recorded:
        """The most recent request."""
        return self.requests[-1]

    def follow(self, *steps: Step) -> Self:
        """Start over: no requests, no disconnects, and a new script for all paths and keys."""
        with self._change():
            self.script, self.paths, self.key_scripts = Script(*steps), {}, {}
            self.requests.clear()
            self.disconnects = 0
        return self

    async def until(self, condition: Callable[[Self], bool], *, within_s: float = 30.0) -> None:
        """Wait for a state of this simulator, such as `lambda it: it.disconnects == 1`."""
        wait = partial(self.wait_until, condition, within_s=within_s)
        await to_thread.run_sync(wait, abandon_on_cancel=True)

    def wait_until(self, condition: Callable[[Self], bool], *, within_s: float = 30.0) -> None:
        """As `until`, for code that is not async; the simulator must then run in a thread of its own."""
        with self._changed:
            seen = self._changed.wait_for(lambda: condition(self), within_s)
        assert seen, f"not within {within_s} s: {self!r}"

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self.requests)} requests, {self.in_flight} in flight, "
            f"{self.disconnects} disconnects, {self.script!r}>"
        )

    # ---- the ASGI side

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            request = await recorded(scope, receive)
        except ClientDisconnect:
            return
        exchange = self._exchange(request, scope, send)
        with self._counted(request):
            await self._run(self._step(request), exchange, receive)

    def _exchange(self, request: Recorded, scope: Scope, send: Send) -> Exchange:
        wire = Wire(send)
        return Exchange(
            request=request,
            app=self._app,
            error_response=self.error_response,
            scope=scope,
            wire=wire,
            send=wire.send,
        )

    def _step(self, request: Recorded) -> Step:
        by_key = self.key_scripts.get(request.key or "", self.script)
        return self.paths.get(request.path, by_key).next()

    async def _run(self, step: Step, exchange: Exchange, receive: Receive) -> None:
        connection: Connection | None = exchange.scope.get("extensions", {}).get(CONNECTION)
        try:
            failure = await self._performed(step, exchange, receive, connection)
        except anyio.get_cancelled_exc_class():
            if connection is None:  # in process, a client that gives up cancels us
                self._left(exchange.wire)
            raise
        if isinstance(failure, Severed) and connection is not None:
            await _sever(connection, failure, receive)
        elif failure is not None:
            raise failure

    async def _performed(
        self, step: Step, exchange: Exchange, receive: Receive, connection: Connection | None
    ) -> BaseException | None:
        """Perform the step beside a watch for the client's leaving; returns what the step raised."""
        failure: BaseException | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, exchange.wire, receive, connection, group.cancel_scope)
            try:
                await step.perform(exchange)
            except (Exception, Severed) as error:  # noqa: BLE001 - raised again outside of the task group
                failure = error
            exchange.wire.finished = True
            group.cancel_scope.cancel()
        return failure

    async def _watch(self, wire: Wire, receive: Receive, connection: Connection | None, performing: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            continue
        if connection is None or not connection.stopping:
            self._left(wire)
        performing.cancel()

    def _left(self, wire: Wire) -> None:
        if wire.finished:
            return
        wire.finished = True
        with self._change():
            self.disconnects += 1

    @contextmanager
    def _counted(self, request: Recorded) -> Iterator[None]:
        with self._change():
            self.requests.append(request)
            self.in_flight += 1
        try:
            yield
        finally:
            with self._change():
                self.in_flight -= 1

    @contextmanager
    def _change(self) -> Iterator[None]:
        with self._changed:
            yield
            self._changed.notify_all()


async def _sever(connection: Connection, order: Severed, receive: Receive) -> None:
    if order.ending == "reset":
        connection.reset()
    else:
        connection.close()
    while (await receive())["type"] != "http.disconnect":  # the server must know before we return
        continue


async def _refused(_: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    return refusal.response


def _script(given: Script | Step) -> Script:
    return given if isinstance(given, Script) else Script(given)
