"""One connection to one upstream, entered and left by one task of its own.

The SDK's client has to be left by the task that entered it, and a connection that breaks cancels that task. So it lives in a task
that does nothing else; calls come from other tasks and get errors of ours. Who enters `Session.connect` may be any task.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.client.auth import OAuthFlowError
from mcp.client.session import ElicitationFnT, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from websearch_adapters.upstream.process import UNREAD, Child, Command, Log, speaking
from websearch_adapters.upstream.wire import FATE, Fate, event_stream, streamable
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.fence import clean
from websearch_core.hub.ports import SERVICE
from websearch_core.hub.values import (
    Cause,
    CauseKind,
    HttpTransport,
    Part,
    StdioTransport,
    ToolReply,
    UpstreamInfo,
    UpstreamSpec,
    UpstreamTool,
)
from websearch_core.redaction import Redactor
from websearch_core.values import Json

__all__ = ["INHERITED", "Link", "Session", "cause_of", "reply_from_wire", "tool_from_wire"]

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""Variables that every child process gets; all others only where they are named."""
WINDOWS_INHERITED = ("APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE")
MAX_PAGES = 100
MAX_TOOLS = 10_000
CAUSE_CHARS = 200
SAID_CHARS = 1_000
PING_EVERY_S = 30.0
PONG_WITHIN_S = 10.0
UNANSWERED = 2
"""Pings in a row without any answer, after which an idle connection is taken for dead."""
RELISTEN_S = 1.0
FAILED_GRACE_S = 0.3
"""For a process that never spoke to us to leave by itself."""
ENDING_S = 0.3
"""For the system to tell how a process ended, after its pipes closed."""
CUT = ("Connection closed", "SSE stream")
"""How the SDK begins its own errors of a lost reply; a server may use their code for something else."""


class Link:
    """One live connection."""

    def __init__(self, name: str, redact: Redactor, *, over_http: bool) -> None:
        self._name = name
        self._redact = redact
        self._over_http = over_http
        self._client: Client | None = None
        self._under_way = 0
        self._spoke_at = 0.0
        self._ended: asyncio.Future[Cause] = asyncio.get_running_loop().create_future()
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.gone = asyncio.Event()
        """Set when the wire has ended, or has to."""
        self.cause: Cause | None = None
        """Why, where that is known before the wire ends."""
        self.child: Child | None = None
        self.handshake = Fate()

    # the port

    @property
    def info(self) -> UpstreamInfo:
        """What the upstream said of itself."""
        client = self._connected()
        about = client.server_info
        return UpstreamInfo(
            name=clean(about.name, limit=CAUSE_CHARS) if about else "",
            version=clean(about.version, limit=CAUSE_CHARS) if about else "",
            protocol=client.protocol_version,
            instructions=client.instructions or "",
        )

    async def tools(self) -> tuple[UpstreamTool, ...]:
        """All tools, over at most 100 pages; a list that never ends is refused.

        Raises:
            ProviderError: the list could not be had.
        """
        listed: list[UpstreamTool] = []
        cursor, seen = None, set[str]()
        for _ in range(MAX_PAGES):
            page = await self._asked(self._connected().list_tools(cursor=cursor, cache_mode="bypass"), "the list of tools")
            listed += [tool_from_wire(tool) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor or len(listed) > MAX_TOOLS:
                break
            if cursor in seen:
                raise self._error(BadReply, "its list of tools never ends")
            seen.add(cursor)
        if len(listed) > MAX_TOOLS or cursor:
            raise self._error(BadReply, f"it lists more than {MAX_TOOLS} tools, or more than {MAX_PAGES} pages of them")
        return tuple(listed)

    async def call(self, tool: str, arguments: Mapping[str, Json], /) -> ToolReply:
        """Run a tool by its raw name.

        Raises:
            Unreachable: surely not run.
            OutcomeUnknown: it may have run.
            AuthRejected, RequestRejected, RateLimited, BadReply, ProviderError: as the upstream answered.
        """
        self._under_way += 1
        try:
            return reply_from_wire(await self._asked(self._connected().call_tool(tool, dict(arguments)), f"the tool {tool!r}"))
        finally:
            self._under_way -= 1

    async def closed(self) -> Cause:
        """Wait until the connection is gone; why."""
        return await asyncio.shield(self._ended)

    @property
    def alive(self) -> bool:
        """Whether a call would be sent; false as soon as the wire has ended, before it is known why."""
        return not self.gone.is_set()

    # the owner's side

    def open(self, client: Client) -> None:
        """The handshake is done."""
        self._client = client
        if not self.opened.done():
            self.opened.set_result(None)

    def lose(self, cause: Cause) -> None:
        """The connection is of no use any more."""
        self.cause = self.cause or cause
        self.gone.set()

    def end(self, cause: Cause) -> None:
        """Nothing can be sent from now on."""
        self.gone.set()
        if not self._ended.done():
            self._ended.set_result(self.cause or cause)

    def idle_for(self) -> float:
        """Seconds without an answer; none while a call is under way."""
        return 0.0 if self._under_way else asyncio.get_running_loop().time() - self._spoke_at

    async def ping(self, within_s: float) -> bool:
        """Whether any answer came by then, an error included."""
        client = self._connected()
        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        ask: Awaitable[object] = client.session.send_discover(client.protocol_version) if modern else client.session.send_ping()
        try:
            async with asyncio.timeout(within_s):
                await self._asked(ask, "a ping")
        except TimeoutError:
            return False
        except WebSearchError:
            return True
        return True

    # asking

    def _connected(self) -> Client:
        if self._client is None or self.gone.is_set():
            raise self._error(Unreachable, "the connection is gone; nothing was sent")
        return self._client

    async def _asked(self, ask: Awaitable[Any], what: str) -> Any:
        """The answer; every failure as an error of ours."""
        fate = Fate(sent=not self._over_http)
        token = FATE.set(fate)
        try:
            answer = await ask
        except WebSearchError:
            raise
        except MCPError as error:
            raise self._refusal(error, fate, what) from error
        except (ValidationError, RuntimeError) as error:
            raise self._error(BadReply, f"its reply to {what} is malformed, or breaks the schema that it declares") from error
        except (httpx2.HTTPError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise self._cut(fate, what) from error
        finally:
            FATE.reset(token)
        self._spoke_at = asyncio.get_running_loop().time()
        return answer

    def _refusal(self, error: MCPError, fate: Fate, what: str) -> WebSearchError:
        said = self._redact.text(clean(error.message, limit=SAID_CHARS))
        if error.message.startswith(UNREAD):
            return self._error(BadReply, f"{what} answered, but {said}")
        if fate.wants_login:
            self.lose(Cause(kind="auth", text="it wants a login"))
            return self._error(AuthRejected, f"it wants a login before {what}", http_status=fate.status)
        if fate.in_session and (fate.status == 404 or (fate.status == 400 and "session" in said.lower())):
            self.lose(Cause(kind="session_lost", text="it knows our session no more"))
            return self._error(Unreachable, f"it knew our session no more and refused {what}", http_status=fate.status)
        if error.code == types.CONNECTION_CLOSED and error.message.startswith(CUT):
            return self._cut(fate, what)
        return self._answered(error, fate, what, said)

    def _answered(self, error: MCPError, fate: Fate, what: str, said: str) -> WebSearchError:
        self._spoke_at = asyncio.get_running_loop().time()
        status = fate.status or 200
        if status == 429:
            wait = float(fate.retry_after) if fate.retry_after.isdecimal() else None
            return self._error(RateLimited, f"it had too many requests to take {what}", http_status=status, retry_after_s=wait)
        if status >= 500 and error.message == "Server returned an error response":
            return self._error(OutcomeUnknown, f"status {status} came in place of a reply to {what}", http_status=status)
        wrong = error.code in {types.INVALID_PARAMS, types.METHOD_NOT_FOUND, types.INVALID_REQUEST} or 400 <= status < 500
        kind = RequestRejected if wrong else ProviderError
        return self._error(kind, f"it refused {what} with error {error.code}", said=said, http_status=fate.status)

    def _cut(self, fate: Fate, what: str) -> WebSearchError:
        if not fate.sent:
            return self._error(Unreachable, f"the connection broke before {what} was sent")
        return self._error(OutcomeUnknown, f"the connection broke before the reply to {what} came; it may have been carried out")

    def _error(self, kind: type[WebSearchError], text: str, *, said: str = "", **facts: Any) -> WebSearchError:
        diagnostics = {"upstream": self._name, **({"said": said} if said else {})}
        return kind(f"upstream {self._name}: {text}", provider=SERVICE, diagnostics=diagnostics, **facts)


class Session:
    """A way to one upstream over the official client."""

    def __init__(
        self,
        spec: UpstreamSpec,
        *,
        environment: Mapping[str, str],
        log: Log | None = None,
        auth: httpx2.Auth | None = None,
        redact: Redactor | None = None,
        elicit: ElicitationFnT | None = None,
        ping_every_s: float = PING_EVERY_S,
        pong_within_s: float = PONG_WITHIN_S,
    ) -> None:
        """`environment` is ours, of which a child gets what it may have. `auth` answers for logins where none is configured.

        `elicit` answers questions that the upstream has for a person; without it we do not claim that there is one.
        """
        self._spec = spec
        self._environment = environment
        self._auth = auth
        self._redact = redact or Redactor()
        self._elicit = elicit
        self._ping_every_s = ping_every_s
        self._pong_within_s = pong_within_s
        self._child: Child | None = None
        self._mode: str | None = None
        """How it is spoken to first; None until that is known."""
        self.log = log or Log()

    @property
    def spec(self) -> UpstreamSpec:
        """How it is configured."""
        return self._spec

    @property
    def pid(self) -> int | None:
        """Of the running child process; None over HTTP, and while there is none."""
        return self._child.pid if self._child else None

    @contextlib.asynccontextmanager
    async def connect(self, changed: Callable[[], None], /) -> AsyncIterator[Link]:
        """Open a connection; leaving it waits until nothing of it is left.

        Raises:
            AuthRejected: a login is needed.
            ProviderError: every other way in which it can fail.
        """
        link = Link(self._spec.name, self._redact, over_http=isinstance(self._spec.transport, HttpTransport))
        holder = asyncio.create_task(self._hold(link, changed), name=f"upstream {self._spec.name}")
        try:
            await asyncio.wait({holder, link.opened}, return_when=asyncio.FIRST_COMPLETED)
            if not link.opened.done():
                holder.result()
                raise self._error(Unreachable, "the connection was left before it was open", "closed")
            yield link
        finally:
            link.lose(Cause(kind="closed", text="left"))
            if not link.opened.done():
                holder.cancel()
                link.opened.cancel()
            await _finished(holder)

    def kill(self) -> None:
        """End the child process and its group at once, if there is one."""
        if self._child is not None:
            self._child.kill()

    # the owner

    async def _hold(self, link: Link, changed: Callable[[], None]) -> None:
        """The task that enters and leaves the client. Raises only where the connection could not be opened."""
        try:
            await self._entered(link, changed)
        except asyncio.CancelledError:
            link.end(Cause(kind="closed", text="left"))
            raise
        except BaseException as error:
            failure = self._failure(error, link)
            link.end(cause_of(failure))
            if not link.opened.done():
                raise failure from error
        finally:
            link.end(Cause(kind="closed", text="the connection ended"))

    async def _entered(self, link: Link, changed: Callable[[], None]) -> None:
        """Some servers leave on any first message but `initialize`: one that does is started again, once, and spoken to so."""
        try:
            await self._conversed(link, changed, self._mode or "auto")
        except BaseException:
            tried, self._mode = self._mode, self._mode or "auto"
            if tried or link.child is None or not link.child.ending() or _cancelled():
                raise
            link.gone.clear()
            link.cause = None
            await self._conversed(link, changed, "legacy")

    async def _conversed(self, link: Link, changed: Callable[[], None], mode: str) -> None:
        FATE.set(link.handshake)
        async with self._transport(link) as transport, self._client(_watched(transport, link.gone), changed, mode) as client:
            self._mode = mode
            link.open(client)
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen, client, changed)
                group.start_soon(self._ping, link)
                await link.gone.wait()
                group.cancel_scope.cancel()
            link.end(await self._why(link))

    def _client(self, transport: Transport, changed: Callable[[], None], mode: str) -> Client:
        async def notice(message: IncomingMessage) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                changed()

        return Client(
            transport,
            mode=mode,
            cache=None,
            client_info=types.Implementation(name="websearch", version=importlib.metadata.version("websearch-mcp")),
            message_handler=notice,
            elicitation_callback=self._elicit,
        )

    @contextlib.asynccontextmanager
    async def _transport(self, link: Link) -> AsyncIterator[Transport]:
        way = self._spec.transport
        if isinstance(way, StdioTransport):
            async with speaking(self._command(way), self.log) as child:
                self._child = link.child = child
                try:
                    yield contextlib.nullcontext((child.reading, child.writing))
                finally:
                    if not link.opened.done():
                        child.hurry(FAILED_GRACE_S)
            return
        headers = {name: secret.value for name, secret in way.headers.items()}
        if way.kind == "sse":
            undelivered = Cause(kind="network", text="a message could not be delivered")
            async with event_stream(way.url, headers, self._auth, lambda: link.lose(undelivered)) as transport:
                yield transport
        else:
            async with streamable(way.url, headers, self._auth) as transport:
                yield transport

    def _command(self, way: StdioTransport) -> Command:
        names = (*INHERITED, *WINDOWS_INHERITED, *way.inherit)
        inherited = {name: self._environment[name] for name in names if name in self._environment}
        return Command(
            program=way.command,
            arguments=way.args,
            environment=inherited | {name: secret.value for name, secret in way.env.items()},
            folder=way.cwd,
        )

    async def _why(self, link: Link) -> Cause:
        """What is known of a wire that ended by itself."""
        if link.child is None or link.cause is not None:
            return Cause(kind="closed", text="the connection ended")
        return Cause(kind="closed", text=await link.child.ended_within(ENDING_S) or "it closed its output")

    async def _listen(self, client: Client, changed: Callable[[], None]) -> None:
        """Notices of the revisions that send them only to those who ask. A stream that broke may have lost one."""
        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not tools or not tools.list_changed:
            return
        while True:
            with contextlib.suppress(MCPError, SubscriptionLost, TimeoutError):
                async with client.listen(tools_list_changed=True) as notices:
                    async for _ in notices:
                        changed()
            await anyio.sleep(RELISTEN_S)
            changed()

    async def _ping(self, link: Link) -> None:
        """Find out about a dead connection that nobody uses."""
        unanswered = 0
        while unanswered < UNANSWERED:
            await anyio.sleep(self._ping_every_s)
            if link.idle_for() >= self._ping_every_s / 2:
                unanswered = 0 if await link.ping(self._pong_within_s) else unanswered + 1
        link.lose(Cause(kind="timeout", text="it answers nothing any more"))

    # failures

    def _failure(self, error: BaseException, link: Link) -> WebSearchError:
        """Why the connection could not be opened, or broke."""
        first = _first(error)
        fate = link.handshake
        if isinstance(first, WebSearchError):
            kind: CauseKind = "auth" if isinstance(first, AuthRejected) else "start"
            ours = type(first) if isinstance(first, ProviderError) else Unreachable
            return self._error(ours, first.message, kind, hint=first.hint)
        if isinstance(first, httpx2.HTTPStatusError):
            fate.note(first.response)
        if isinstance(first, OAuthFlowError):
            return self._error(AuthRejected, f"the login failed ({type(first).__name__})", "auth")
        if fate.wants_login:
            return self._error(AuthRejected, "it wants a login", "auth", hint=f"Run: websearch upstream login {self._spec.name}")
        if link.child is not None and (ending := link.child.ending()):
            return self._error(Unreachable, f"{ending}{self._last_words()}", "start")
        if isinstance(first, (httpx2.HTTPError, OSError)) or fate.failure is not None:
            return self._error(Unreachable, f"it cannot be reached ({type(fate.failure or first).__name__})", "network")
        if isinstance(first, MCPError):
            said = self._redact.text(clean(first.message, limit=CAUSE_CHARS))
            return self._error(BadReply, f"its handshake failed: {said}", "handshake")
        return self._error(BadReply, f"it breaks the protocol ({type(first).__name__})", "protocol")

    def _last_words(self) -> str:
        said = [line for line in self.log.lines() if not line.startswith("the process ")]
        return f": {self._redact.text(said[-1])}" if said else ""

    def _error(self, kind: type[WebSearchError], text: str, cause: CauseKind, *, hint: str | None = None) -> WebSearchError:
        facts = {"upstream": self._spec.name, "cause": cause, "why": text[:CAUSE_CHARS]}
        return kind(f"upstream {self._spec.name}: {text}", provider=SERVICE, hint=hint, diagnostics=facts)


def cause_of(error: WebSearchError) -> Cause:
    """The cause that an error of this module stands for."""
    kind: Any = error.diagnostics.get("cause") or ("auth" if isinstance(error, AuthRejected) else "protocol")
    return Cause(kind=kind, text=str(error.diagnostics.get("why", error.message))[:CAUSE_CHARS])


# --- translations -------------------------------------------------------------------------------------------------


def tool_from_wire(tool: types.Tool) -> UpstreamTool:
    """A tool as listed."""
    hints = tool.annotations
    ui = (tool.meta or {}).get("ui")
    ui = ui if isinstance(ui, Mapping) else {}
    visibility, page = ui.get("visibility"), ui.get("resourceUri")
    return UpstreamTool(
        name=tool.name,
        description=tool.description or "",
        title=tool.title or (hints.title if hints else None) or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        read_only=bool(hints and hints.read_only_hint),
        idempotent=bool(hints and hints.idempotent_hint),
        visibility=tuple(map(str, visibility)) if isinstance(visibility, list) else None,
        ui_resource=page if isinstance(page, str) else "",
    )


def reply_from_wire(result: types.CallToolResult) -> ToolReply:
    """A result with everything that it holds."""
    return ToolReply(parts=tuple(_parts(result.content)), structured=result.structured_content, failed=bool(result.is_error))


def _parts(content: Iterable[types.ContentBlock]) -> Iterable[Part]:
    for block in content:
        match block:
            case types.TextContent():
                yield Part(kind="text", text=block.text)
            case types.ImageContent():
                yield Part(kind="image", data=block.data, size_bytes=_bytes(block.data), mime_type=block.mime_type)
            case types.AudioContent():
                yield Part(kind="audio", data=block.data, size_bytes=_bytes(block.data), mime_type=block.mime_type)
            case types.ResourceLink():
                yield Part(
                    kind="link",
                    uri=str(block.uri),
                    title=block.title or block.name,
                    size_bytes=block.size or 0,
                    mime_type=block.mime_type or "",
                )
            case types.EmbeddedResource():
                yield _resource(block.resource)


def _resource(inside: types.TextResourceContents | types.BlobResourceContents) -> Part:
    uri, mime_type = str(inside.uri), inside.mime_type or ""
    if isinstance(inside, types.TextResourceContents):
        return Part(kind="resource", uri=uri, text=inside.text, mime_type=mime_type)
    return Part(kind="resource", uri=uri, data=inside.blob, size_bytes=_bytes(inside.blob), mime_type=mime_type)


def _bytes(data: str) -> int:
    """How much Base64 stands for."""
    return len(data.rstrip("=")) * 3 // 4


# --- tasks --------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _watched(transport: Transport, gone: asyncio.Event) -> AsyncIterator[Any]:
    """The transport, with `gone` set when it ends: the SDK tells nobody when that happens between two calls."""
    async with transport as (reading, writing):
        onward, received = anyio.create_memory_object_stream[Any](0)

        async def pump() -> None:
            async with onward:
                with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    async for item in reading:
                        await onward.send(item)
                gone.set()  # before any call hears of it

        async with anyio.create_task_group() as group:
            group.start_soon(pump)
            try:
                yield received, writing
            finally:
                gone.set()
                group.cancel_scope.cancel()
                received.close()


def _first(error: BaseException) -> BaseException:
    """The first error of a group of groups that is no mere cancellation."""
    while isinstance(error, BaseExceptionGroup):
        error = next((one for one in error.exceptions if not isinstance(one, asyncio.CancelledError)), error.exceptions[0])
    return error


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _finished(holder: asyncio.Task[None]) -> None:
    """Wait for the owner; whoever is impatient with us makes it leave at once, and still waits."""
    try:
        await asyncio.wait({holder})
    except asyncio.CancelledError:
        while not holder.done():
            holder.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({holder})
        raise
    finally:
        if holder.done() and not holder.cancelled():
            holder.exception()
