"""The plain values of the hub: an upstream and its limits, its tools, what a tool replies, and how the upstream stands.

An *upstream* is an MCP server that we are the client of. Mappings in these values are read, never written.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from annotated_types import Interval, Len

from websearch_core.errors import InvalidInput
from websearch_core.values import SCHEMA, Json, Outcome, Secret, as_plain, within_limits

__all__ = [
    "STARTUP_TIMEOUT_S",
    "TOOL_TIMEOUT_S",
    "CallRequest",
    "CallResult",
    "Catalog",
    "CatalogTool",
    "Cause",
    "CauseKind",
    "FindRequest",
    "FindResult",
    "FoundTool",
    "HttpTransport",
    "KeptReply",
    "OAuthClient",
    "Part",
    "PartKind",
    "Standing",
    "StdioTransport",
    "ToolExplanation",
    "ToolReply",
    "Transport",
    "UpstreamEntry",
    "UpstreamInfo",
    "UpstreamReport",
    "UpstreamSpec",
    "UpstreamState",
    "UpstreamStatus",
    "UpstreamTool",
]

UpstreamState: TypeAlias = Literal["initializing", "ready", "needs_auth", "unavailable", "disabled"]
"""The five states that are shown. Only `ready` promises that a call is sent."""
CauseKind: TypeAlias = Literal["start", "handshake", "timeout", "auth", "network", "closed", "session_lost", "protocol"]
PartKind: TypeAlias = Literal["text", "image", "audio", "link", "resource"]
Standing: TypeAlias = Literal["visible", "app_only", "disabled", "changed", "clashing"]
"""Of a tool: found and called by a model; for apps alone; switched off; withdrawn because its words changed; without a name."""
STARTUP_TIMEOUT_S = 30.0
TOOL_TIMEOUT_S = 300.0


# --- what is configured -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioTransport:
    """A server that we start as a child process and speak to on its standard streams."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, Secret] = dataclasses.field(default_factory=dict)
    """Set for the child, above what it inherits."""
    inherit: tuple[str, ...] = ()
    """Names of further variables of ours that the child gets; without them only the few that every program needs."""
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """A client that is registered with the upstream's authorization server already."""

    client_id: str | None = None
    """None: register ourselves."""
    client_secret: Secret | None = None
    scopes: tuple[str, ...] = ()
    callback_port: int | None = None
    """Of the loopback address that the browser comes back to; None for any free one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTransport:
    """A server at a web address."""

    url: str
    kind: Literal["http", "sse"] = "http"
    """`http` is Streamable HTTP; `sse` the transport of 2024-11-05."""
    headers: Mapping[str, Secret] = dataclasses.field(default_factory=dict)
    oauth: OAuthClient = dataclasses.field(default_factory=OAuthClient)

    @property
    def has_authorization(self) -> bool:
        """Whether the operator set the Authorization header, so that no login is tried."""
        return any(name.lower() == "authorization" for name in self.headers)


Transport: TypeAlias = StdioTransport | HttpTransport


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSpec:
    """An upstream as configured. Two equal specs need no new connection."""

    name: str
    transport: Transport
    enabled: bool = True
    startup_timeout_s: float = STARTUP_TIMEOUT_S
    """For start, handshake and the first list of tools."""
    tool_timeout_s: float = TOOL_TIMEOUT_S
    tool_timeouts_s: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """By raw tool name, above `tool_timeout_s`."""
    tools_allow: tuple[str, ...] = ()
    """Raw tool names or patterns with `*`; empty allows all."""
    tools_deny: tuple[str, ...] = ()
    """Wins over `tools_allow`."""
    accept_changes: bool = False
    """Whether a tool whose words changed stays visible; otherwise it is withdrawn until a person accepts it."""

    def timeout_of(self, tool: str) -> float:
        """Seconds that a call of the raw tool may take."""
        return self.tool_timeouts_s.get(tool, self.tool_timeout_s)


# --- what an upstream says ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamInfo:
    """What an upstream said of itself in the handshake; untrusted text."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTool:
    """A tool as an upstream lists it; untrusted text. A hint that is not given is False, which is the careful reading."""

    name: str
    """Raw, as on the wire."""
    description: str = ""
    title: str = ""
    input_schema: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    output_schema: Mapping[str, Json] | None = None
    read_only: bool = False
    idempotent: bool = False
    visibility: tuple[str, ...] | None = None
    """`_meta.ui.visibility`; None when it is missing or no list."""
    ui_resource: str = ""
    """`_meta.ui.resourceUri`; empty when there is none."""

    @property
    def for_models(self) -> bool:
        """Whether a model may see it: yes, unless its visibility says who and leaves models out."""
        return self.visibility is None or "model" in self.visibility

    @property
    def repeatable(self) -> bool:
        """Whether running it twice does no more than running it once."""
        return self.read_only or self.idempotent

    @property
    def digest(self) -> str:
        """16 hex digits over the words that a model reads and the promises that we rely on; the order of keys is no matter."""
        seen = [self.name, self.title, self.description, self.read_only, self.idempotent]
        seen += [as_plain(self.input_schema), as_plain(self.output_schema)]
        text = json.dumps(seen, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One block of a reply. Text of an upstream is untrusted."""

    kind: PartKind
    text: str = ""
    """Of a text block, or of a resource that is text."""
    data: str = dataclasses.field(default="", metadata={"plain": False})
    """Base64, of an image, a sound or a resource that is bytes; in a block of its own beside the structured content."""
    size_bytes: int = 0
    """Of what `data` holds, or of what a link leads to as far as it is said."""
    mime_type: str = ""
    uri: str = ""
    """Of a link or a resource."""
    title: str = ""
    """Of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """What a tool replied. `failed` is the tool's own word for it; the connection worked."""

    parts: tuple[Part, ...] = ()
    structured: Json = None
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTool:
    """A tool in the catalog: its id, whose it is, and whether a model may see it."""

    id: str
    """`upstream__tool`, legal and short everywhere; not always the raw name."""
    upstream: str
    tool: UpstreamTool
    standing: Standing = "visible"
    why: str = ""
    """In words, when it is not simply visible under its own name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All tools of all upstreams at one moment, in the order of their ids."""

    tools: tuple[CatalogTool, ...] = ()
    instructions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What an upstream that has tools says of itself; untrusted text."""
    discovering: tuple[str, ...] = ()
    """Upstreams that have not listed any tools yet, whether they will or not."""
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Upstreams that list more tools than are kept, and how many."""


# --- how an upstream stands ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a connection could not be had or is gone, fit to be shown."""

    kind: CauseKind
    text: str = ""
    """At most 200 characters, without secrets."""
    login_url: str = ""
    """With `auth`: where a person can log in, if that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamStatus:
    """An upstream as it stands, fit to be shown."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    state: UpstreamState
    reason: str = ""
    """Why it is in this state: a word of `lifecycle.Reason`."""
    detail: str = ""
    tools: int = 0
    """That a model can find."""
    generation: int = 0
    """How many connections were begun."""
    retry_at: float | None = None
    """When the next connection is tried, in seconds of the clock of the machine; None when none is planned."""
    login_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamEntry:
    """An upstream as it is configured, fit to be shown."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    target: str
    """Its command or address, without secrets."""
    enabled: bool
    file: str
    """Where its entry stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExplanation:
    """Why a tool is or is not there for a model, step by step."""

    id: str
    standing: Standing
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamReport(Outcome):
    """What a person is told of upstreams; each command fills its own part."""

    entries: tuple[UpstreamEntry, ...] = ()
    statuses: tuple[UpstreamStatus, ...] = ()
    tools: tuple[ToolExplanation, ...] = ()
    log: tuple[str, ...] = ()
    """What a child process wrote to standard error last."""
    detail: str = ""
    """What was done."""
    problems: tuple[str, ...] = ()
    """Of the configuration."""


# --- what a model asks of the hub, and what comes of it ------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FindRequest:
    """What a tool is wanted for."""

    __pydantic_config__: ClassVar = SCHEMA

    need: Annotated[str, Len(1, 1_000)]
    """What it should do, or its name."""
    upstream: Annotated[str, Len(0, 200)] = ""
    """Only tools of this upstream."""
    limit: Annotated[int, Interval(ge=1, le=20)] = 5
    """Most tools to return."""
    offset: Annotated[int, Interval(ge=0, le=100_000)] = 0
    """First tool to return."""
    max_chars: Annotated[int, Interval(ge=1_000, le=200_000)] = 24_000
    """Longest result."""

    def __post_init__(self) -> None:
        within_limits(self)
        if not self.need.strip():
            raise InvalidInput("need must not be blank")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTool:
    """A tool that fits. Everything but `id`, `upstream`, `score` and `state` is untrusted text."""

    id: str
    upstream: str
    score: float | None = None
    """Of BM25; None for an exact name."""
    name: str = ""
    """Raw, where it is not the second half of `id`."""
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    schema_cut: bool = False
    """Descriptions inside of the schema were left out for want of room."""
    state: UpstreamState | Literal[""] = ""
    """Of its upstream, where that is not ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindResult(Outcome):
    """Tools that fit, best first."""

    tools: tuple[FoundTool, ...] = ()
    total: int = 0
    """How many fit."""
    next_offset: int | None = None
    searched: int = 0
    """How many tools there are."""
    discovering: tuple[str, ...] = ()
    """The first few upstreams whose tools are still awaited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """One call of a tool, or the rest of an earlier reply."""

    __pydantic_config__: ClassVar = SCHEMA

    tool: Annotated[str, Len(0, 300)] = ""
    """Its id, from find_tools."""
    arguments: dict[str, object] = dataclasses.field(default_factory=dict)
    """By the tool's input_schema."""
    reply_id: Annotated[str, Len(0, 64)] = ""
    """Instead of tool: reply to read on."""
    start: Annotated[int, Interval(ge=0, le=50_000_000)] = 0
    """Character to read on from."""
    max_chars: Annotated[int, Interval(ge=1_000, le=200_000)] = 24_000
    """Longest result."""

    def __post_init__(self) -> None:
        within_limits(self)
        if isinstance(self.arguments, str):
            object.__setattr__(self, "arguments", _decoded(self.arguments))
        if not isinstance(self.arguments, dict):
            raise InvalidInput("arguments must be an object")
        if not self.tool.strip() and not self.reply_id:
            raise InvalidInput("tool is required; find its id with find_tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult(Outcome):
    """What a tool replied. Text and parts are untrusted."""

    tool: str = ""
    upstream: str = ""
    content: str = ""
    """Its text, from `start`."""
    next_start: int | None = None
    """Where call_tool with `reply_id` reads on."""
    reply_id: str = ""
    """Of a text that was cut."""
    total_chars: int = 0
    """Of the whole text."""
    structured: Json = None
    parts: tuple[Part, ...] = ()
    """Images, sounds, links and resources; what they hold is in blocks of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReply:
    """The text of a reply that was cut, to be read on."""

    tool: str
    upstream: str
    text: str


def _decoded(text: str) -> object:
    """Arguments that came as a text of JSON."""
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise InvalidInput("arguments must be an object, not a text") from error
