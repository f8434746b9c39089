"""The plain values of the hub: an upstream and its limits, its tools, what a tool replies, and how the upstream stands.

An *upstream* is an MCP server that we are the client of. Mappings in these values are read, never written.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from websearch_core.values import Json, Secret, as_plain

__all__ = [
    "Catalog",
    "CatalogTool",
    "Cause",
    "CauseKind",
    "HttpTransport",
    "OAuthClient",
    "Part",
    "PartKind",
    "Standing",
    "StdioTransport",
    "ToolReply",
    "Transport",
    "UpstreamInfo",
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
HTTP_KINDS: tuple[Literal["http", "sse"], ...] = ("http", "sse")


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
    startup_timeout_s: float = 30.0
    """For start, handshake and the first list of tools."""
    tool_timeout_s: float = 300.0
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
    data: str = ""
    """Base64, of an image, a sound or a resource that is bytes."""
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
    """Upstreams whose first tools are still awaited."""


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
