"""How upstreams are configured: sections of our TOML file, and JSON files with `mcpServers` as other programs write them.

From the weakest: the files of `hub.files` in their order, our own `upstreams.json` that the command line writes, the sections
`[upstreams.NAME]` of the settings file. An entry replaces a weaker one of the same name as a whole. Which upstreams are switched
on is the entry's word unless the command line said otherwise; that is kept in `upstreams.json` too, beside the entries.

Reading never raises: a bad entry is a problem of its own and voids no other, and no message shows a value, which may be a secret.
Constructing reads nothing; nothing is started here.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from websearch_adapters import atomic_file
from websearch_adapters.settings import LoadedConfiguration, Settings, find_nearest
from websearch_core.errors import InvalidInput, NotConfigured
from websearch_core.hub import names
from websearch_core.hub.values import (
    STARTUP_TIMEOUT_S,
    TOOL_TIMEOUT_S,
    HttpTransport,
    OAuthClient,
    StdioTransport,
    Transport,
    UpstreamSpec,
)
from websearch_core.urls import is_web_url
from websearch_core.values import Secret

__all__ = ["Configured", "Entry", "Problem", "UpstreamsFile", "configured", "secrets_of", "spec_of"]

Severity: TypeAlias = Literal["error", "warning"]
MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_NAME_CHARS = 100
MAX_TIMEOUT_S = 86_400.0
MS = 1_000.0
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_LOOKS_SECRET = re.compile(r"token|key|secret|passw|auth|credential|(?:^|_)pat(?:$|_)|cookie|session", re.IGNORECASE)

KEYS: dict[str, tuple[str, float]] = {
    "command": ("command", 1),
    "args": ("args", 1),
    "env": ("env", 1),
    "inherit_env": ("inherit_env", 1),
    "cwd": ("cwd", 1),
    "url": ("url", 1),
    "serverUrl": ("url", 1),
    "httpUrl": ("url", 1),
    "urlTemplate": ("url", 1),
    "url_template": ("url", 1),
    "type": ("type", 1),
    "transport": ("type", 1),
    "headers": ("headers", 1),
    "http_headers": ("headers", 1),
    "bearer_token_env_var": ("bearer_token_env_var", 1),
    "oauth": ("oauth", 1),
    "oauth_client_id": ("oauth_client_id", 1),
    "oauth_client_secret_env_var": ("oauth_client_secret_env_var", 1),
    "oauth_scopes": ("oauth_scopes", 1),
    "oauth_callback_port": ("oauth_callback_port", 1),
    "enabled": ("enabled", 1),
    "disabled": ("disabled", 1),
    "startup_timeout_s": ("startup_timeout_s", 1),
    "startup_timeout_sec": ("startup_timeout_s", 1),
    "startup_timeout_ms": ("startup_timeout_s", MS),
    "startupTimeoutMs": ("startup_timeout_s", MS),
    "tool_timeout_s": ("tool_timeout_s", 1),
    "tool_timeout_sec": ("tool_timeout_s", 1),
    "toolTimeoutMs": ("tool_timeout_s", MS),
    "tool_timeouts_s": ("tool_timeouts_s", 1),
    "tool_timeouts": ("tool_timeouts_s", 1),
    "tools_allow": ("tools_allow", 1),
    "enabled_tools": ("tools_allow", 1),
    "includeTools": ("tools_allow", 1),
    "tools_deny": ("tools_deny", 1),
    "disabled_tools": ("tools_deny", 1),
    "disabledTools": ("tools_deny", 1),
    "excludeTools": ("tools_deny", 1),
    "accept_changes": ("accept_changes", 1),
}
"""Every key that is understood → our name of it, and by what its seconds are divided."""
IGNORED = frozenset(
    {
        "alwaysAllow",
        "autoApprove",
        "description",
        "disabledReason",
        "gallery",
        "icon",
        "iconUrl",
        "name",
        "timeout",
        "trust",
        "version",
    }
)
"""Keys of other programs that mean nothing here. `timeout` is seconds to some and milliseconds to others."""
OAUTH_KEYS = {
    "clientId": "client_id",
    "client_id": "client_id",
    "clientSecretEnvVar": "client_secret_env_var",
    "client_secret_env_var": "client_secret_env_var",
    "scopes": "scopes",
    "callbackPort": "callback_port",
    "callback_port": "callback_port",
}
KINDS: dict[str, Literal["stdio", "http", "sse"]] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that is wrong with one entry, or with a whole file; shows no value of it."""

    upstream: str = ""
    """Empty: the file as a whole."""
    field: str = ""
    severity: Severity
    text: str
    file: str = ""

    def __str__(self) -> str:
        place = ".".join(part for part in (f"upstreams.{self.upstream}" if self.upstream else "", self.field) if part)
        return f"{place or self.file}: {self.text}" + (f" ({self.file})" if place and self.file else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry as written, and where."""

    name: str
    file: Path
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """All upstreams that can be used, by name, and what is wrong with the others."""

    specs: tuple[UpstreamSpec, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    """Name → where its entry stands, also of those that cannot be used."""

    def spec(self, name: str) -> UpstreamSpec:
        """The upstream of this name.

        Raises:
            InvalidInput: there is none, or its entry is bad; says which.
        """
        found = next((one for one in self.specs if one.name == name), None)
        if found is not None:
            return found
        bad = [str(one) for one in self.problems if one.upstream == name and one.severity == "error"]
        if bad:
            raise InvalidInput(bad[0], hint="Repair the entry, then try again.")
        near = find_nearest(name, [one.name for one in self.specs])
        hint = f"Did you mean {near}?" if near else "See what there is with: websearch upstream list"
        raise InvalidInput(f"there is no upstream {name[:MAX_NAME_CHARS]!r}", hint=hint)


def configured(loaded: LoadedConfiguration) -> Configured:
    """All upstreams of the settings. Never raises."""
    layers, problems, switches = _layers(loaded.settings)
    entries: dict[str, Entry] = {}
    for entry in layers:
        entries[entry.name] = entry
    specs: list[UpstreamSpec] = []
    for name in sorted(entries):
        spec, found = spec_of(entries[name], loaded.environment)
        problems += found
        if spec is not None:
            specs.append(dataclasses.replace(spec, enabled=switches.get(name, spec.enabled)))
    problems += _twins(specs)
    return Configured(specs=tuple(specs), problems=tuple(problems), files={name: one.file for name, one in entries.items()})


def secrets_of(specs: Iterable[UpstreamSpec]) -> Iterator[Secret]:
    """What must not be shown: headers, the token in them, variables that sound like secrets, secrets of clients."""
    for spec in specs:
        way = spec.transport
        if isinstance(way, StdioTransport):
            yield from (value for name, value in way.env.items() if value.value and _LOOKS_SECRET.search(name))
            continue
        for value in way.headers.values():
            yield value
            _, _, token = value.value.partition(" ")
            if token:
                yield Secret(token)
        if way.oauth.client_secret is not None:
            yield way.oauth.client_secret


# --- files --------------------------------------------------------------------------------------------------------


def _layers(settings: Settings) -> tuple[list[Entry], list[Problem], dict[str, bool]]:
    """Entries from the weakest place to the strongest, faults of whole files, and what the command line switched."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for name in settings.hub.files:
        path = Path(os.path.expanduser(name)).absolute()  # noqa: PTH111 - Path.expanduser raises when there is no such user
        document, faults = _json(path, required=True)
        entries += _servers(document, path)
        problems += faults
    own, faults = _json(settings.upstreams_file, required=False)
    entries += _servers(own, settings.upstreams_file)
    problems += faults
    sections, faults = _sections(settings.config_file)
    entries += sections
    problems += faults
    switched = own.get("enabled")
    switches = {name: on for name, on in switched.items() if isinstance(on, bool)} if isinstance(switched, dict) else {}
    return entries, problems, switches


def _json(path: Path, *, required: bool) -> tuple[dict[str, Any], list[Problem]]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return {}, [_whole(path, "is too large; it is ignored")]
        found = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}, [_whole(path, "no such file")] if required else []
    except OSError as error:
        return {}, [_whole(path, f"cannot be read ({type(error).__name__}); it is ignored")]
    except json.JSONDecodeError as error:
        return {}, [_whole(path, f"not valid JSON (line {error.lineno}, column {error.colno}); it is ignored")]
    except (ValueError, RecursionError):
        return {}, [_whole(path, "not valid JSON; it is ignored")]
    return (found, []) if isinstance(found, dict) else ({}, [_whole(path, "not an object; it is ignored")])


def _servers(document: Mapping[str, Any], path: Path) -> Iterator[Entry]:
    """The entries of a JSON file; editors call the same object `servers`."""
    found = document.get("mcpServers", document.get("servers"))
    if isinstance(found, dict):
        yield from (Entry(name=str(name), file=path, values=_object(values)) for name, values in found.items())


def _sections(path: Path) -> tuple[list[Entry], list[Problem]]:
    """`[upstreams.NAME]` of the settings file; that the file itself cannot be read is told by the settings."""
    import tomllib

    with suppress(OSError, ValueError, RecursionError):
        parsed = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        found = parsed.get("upstreams", {})
        if not isinstance(found, dict):
            return [], [_whole(path, "upstreams is not a section; write [upstreams.NAME]")]
        return [Entry(name=name, file=path, values=_object(values)) for name, values in found.items()], []
    return [], []


def _object(values: Any) -> Mapping[str, Any]:
    """An entry that is no object has none of the keys that it needs."""
    return values if isinstance(values, dict) else {"": values}


def _whole(path: Path, text: str) -> Problem:
    return Problem(severity="error", text=text, file=str(path))


def _twins(specs: Iterable[UpstreamSpec]) -> Iterator[Problem]:
    """Two upstreams at one address are both kept: they may have different logins."""
    seen: dict[str, str] = {}
    for spec in specs:
        if isinstance(spec.transport, HttpTransport):
            address = spec.transport.url.rstrip("/")
            if address in seen:
                text = f"has the same address as {seen[address]}; both are used"
                yield Problem(upstream=spec.name, field="url", severity="warning", text=text)
            seen.setdefault(address, spec.name)


# --- one entry ----------------------------------------------------------------------------------------------------


def spec_of(entry: Entry, environment: Mapping[str, str]) -> tuple[UpstreamSpec | None, list[Problem]]:
    """The upstream of an entry, or None and why; warnings come along with one that can be used."""
    reader = _Reader(entry, environment)
    return reader.spec(), reader.problems


class _Reader:
    """Reads one entry and notes what is wrong with it."""

    def __init__(self, entry: Entry, environment: Mapping[str, str]) -> None:
        self._entry = entry
        self._environment = environment
        self.problems: list[Problem] = []
        self._values: dict[str, Any] = {}
        for key, value in entry.values.items():
            if key in KEYS:
                name, divisor = KEYS[key]
                self._values.setdefault(name, value / divisor if divisor != 1 and _is_number(value) else value)
            elif key == "":
                self._fault("", "is not an object")
            elif key not in IGNORED:
                near = find_nearest(key, list(KEYS))
                self._fault(key[:60], "unknown key; " + (f"did you mean {near}?" if near else "it is ignored"), "warning")

    def spec(self) -> UpstreamSpec | None:
        """What the entry says, once nothing in it is wrong."""
        name = self._entry.name
        if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
            self._fault("", f"an upstream needs a printable name of at most {MAX_NAME_CHARS} characters")
        spec = UpstreamSpec(
            name=name,
            transport=self._transport(),
            enabled=self._switch("enabled", default=True) and not self._switch("disabled", default=False),
            startup_timeout_s=self._seconds("startup_timeout_s", STARTUP_TIMEOUT_S),
            tool_timeout_s=self._seconds("tool_timeout_s", TOOL_TIMEOUT_S),
            tool_timeouts_s=self._timeouts(),
            tools_allow=self._texts("tools_allow"),
            tools_deny=self._texts("tools_deny"),
            accept_changes=self._switch("accept_changes", default=False),
        )
        return None if any(one.severity == "error" for one in self.problems) else spec

    def _transport(self) -> Transport:
        has_command, has_url = bool(self._values.get("command")), bool(self._values.get("url"))
        kind = self._kind(default="stdio" if has_command else "http")
        if not has_command and not has_url:
            self._fault("", "needs a command or a url; to keep it for later, set enabled = false beside it")
        elif kind == "stdio" and not has_command:
            self._fault("command", "is missing")
        elif kind != "stdio" and not has_url:
            self._fault("url", "is missing")
        if has_command and has_url:
            self._fault(
                "", f"has a command and a url; as {kind} it uses the {'command' if kind == 'stdio' else 'url'}", "warning"
            )
        return self._stdio() if kind == "stdio" else self._http(kind)

    def _kind(self, *, default: Literal["stdio", "http"]) -> Literal["stdio", "http", "sse"]:
        raw = self._values.get("type")
        if raw is None:
            address = self._values.get("url")
            is_sse = default == "http" and isinstance(address, str) and address.split("?")[0].rstrip("/").endswith("/sse")
            return "sse" if is_sse else default
        kind = KINDS.get(raw.strip().lower()) if isinstance(raw, str) else None
        if kind is None:
            self._fault("type", "must be one of: stdio, http, sse")
        return kind or default

    def _stdio(self) -> StdioTransport:
        self._misplaced(("headers", "bearer_token_env_var", "oauth", "oauth_client_id", "oauth_scopes"), "a child process")
        command = self._text("command")
        if command and "=" in command.split("/")[0] and not command.startswith(("/", ".")):
            self._fault("command", "is an assignment; put variables in env")
        return StdioTransport(
            command=os.path.expanduser(command),  # noqa: PTH111 - Path.expanduser raises when there is no such user
            args=self._texts("args", expand=True),
            env=self._secrets("env"),
            inherit=self._texts("inherit_env"),
            cwd=self._folder(),
        )

    def _folder(self) -> str | None:
        """An absolute folder; a relative one is looked for beside the file."""
        text = self._text("cwd")
        if not text:
            return None
        folder = self._entry.file.parent / os.path.expanduser(text)  # noqa: PTH111 - Path.expanduser raises when there is no such user
        if not folder.is_dir():
            self._fault("cwd", "is no folder")
        return str(folder)

    def _http(self, kind: Literal["http", "sse"]) -> HttpTransport:
        self._misplaced(("args", "env", "inherit_env", "cwd"), "a web address")
        url = self._text("url")
        if url and not is_web_url(url):
            self._fault("url", "is no http(s) address")
        headers = self._secrets("headers")
        headers.update(self._bearer())
        for name, value in headers.items():
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not re.fullmatch(
                r"[\x20-\x7e\x80-\xff\t]*", value.value
            ):
                self._fault("headers", f"{name[:60]!r} has a name or value that HTTP does not allow")
        return HttpTransport(url=url, kind=kind, headers=headers, oauth=self._oauth())

    def _bearer(self) -> dict[str, Secret]:
        name = self._text("bearer_token_env_var", expand=False)
        if not name:
            return {}
        token = self._environment.get(name, "").strip()
        if not token:
            self._fault("bearer_token_env_var", f"the variable {name[:60]} is not set")
        return {"Authorization": Secret(f"Bearer {token}")}

    def _oauth(self) -> OAuthClient:
        raw = self._values.get("oauth") or {}
        if not isinstance(raw, dict):
            self._fault("oauth", "must be an object")
            raw = {}
        for key in raw.keys() - OAUTH_KEYS.keys():
            self._fault(f"oauth.{key[:60]}", "unknown key; it is ignored", "warning")
        for key, value in raw.items():
            if key in OAUTH_KEYS:
                self._values.setdefault(f"oauth_{OAUTH_KEYS[key]}", value)
        variable = self._text("oauth_client_secret_env_var", expand=False)
        secret = self._environment.get(variable, "").strip() if variable else ""
        if variable and not secret:
            self._fault("oauth_client_secret_env_var", f"the variable {variable[:60]} is not set")
        return OAuthClient(
            client_id=self._text("oauth_client_id") or None,
            client_secret=Secret(secret) if secret else None,
            scopes=self._texts("oauth_scopes"),
            callback_port=self._port(),
        )

    def _port(self) -> int | None:
        value = self._values.get("oauth_callback_port")
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65_535:
            self._fault("oauth_callback_port", "must be a port from 1 to 65535")
            return None
        return value

    def _text(self, field: str, *, expand: bool = True) -> str:
        value = self._values.get(field)
        if value is None:
            return ""
        if not isinstance(value, str) or "\0" in value:
            self._fault(field, "must be text")
            return ""
        return self._expanded(field, value.strip()) if expand else value.strip()

    def _texts(self, field: str, *, expand: bool = False) -> tuple[str, ...]:
        value = self._values.get(field)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, (str, int, float)) and not isinstance(item, bool) for item in items):
            self._fault(field, "must be a list of texts")
            return ()
        texts = [str(item) for item in items]
        return tuple(self._expanded(field, text) if expand else text for text in texts)

    def _secrets(self, field: str) -> dict[str, Secret]:
        value = self._values.get(field)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._fault(field, "must be an object of texts")
            return {}
        found: dict[str, Secret] = {}
        for name, item in value.items():
            if isinstance(item, bool) or not isinstance(item, (str, int, float)):
                self._fault(f"{field}.{name[:60]}", "must be text")
                continue
            found[name] = Secret(self._expanded(f"{field}.{name[:60]}", str(item)))
        return found

    def _switch(self, field: str, *, default: bool) -> bool:
        value = self._values.get(field, default)
        if not isinstance(value, bool):
            self._fault(field, "must be true or false")
            return default
        return value

    def _seconds(self, field: str, default: float) -> float:
        return self._number(field, self._values.get(field, default), default)

    def _number(self, field: str, value: Any, default: float) -> float:
        if not _is_number(value) or not 0 < value <= MAX_TIMEOUT_S:
            self._fault(field, f"must be a number of seconds above 0, at most {MAX_TIMEOUT_S:g}")
            return default
        return float(value)

    def _timeouts(self) -> dict[str, float]:
        value = self._values.get("tool_timeouts_s", {})
        if not isinstance(value, dict):
            self._fault("tool_timeouts_s", "must be an object of seconds by tool")
            return {}
        return {name: self._number(f"tool_timeouts_s.{name[:60]}", seconds, TOOL_TIMEOUT_S) for name, seconds in value.items()}

    def _expanded(self, field: str, text: str) -> str:
        """With `${NAME}` and `${NAME:-otherwise}` replaced, once; what comes out is not looked at again."""

        def value(found: re.Match[str]) -> str:
            name, otherwise = found[1], found[2]
            known = self._environment.get(name)
            if known is None and otherwise is None:
                self._fault(field, f"the variable {name[:60]} is not set")
            return (known or otherwise or "") if otherwise is not None else (known or "")

        return _VARIABLE.sub(value, text)

    def _misplaced(self, fields: tuple[str, ...], for_what: str) -> None:
        for field in fields:
            if self._values.get(field):
                self._fault(field, f"means nothing for {for_what}; it is ignored", "warning")

    def _fault(self, field: str, text: str, severity: Severity = "error") -> None:
        name = self._entry.name[:MAX_NAME_CHARS]
        self.problems.append(Problem(upstream=name, field=field, severity=severity, text=text, file=str(self._entry.file)))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


# --- changes ------------------------------------------------------------------------------------------------------


class UpstreamsFile:
    """`upstreams.json`: entries that the command line added, and which upstreams are switched on. Changed in one step each."""

    def __init__(self, path: Path, *, lock_wait_s: float = atomic_file.LOCK_WAIT_S) -> None:
        # a link stays a link: the file that it leads to is replaced
        self.path = Path(os.path.realpath(path))
        self._lock_wait_s = lock_wait_s

    def add(self, name: str, values: Mapping[str, Any], *, replace: bool = False) -> None:
        """Put an entry in, switched on.

        Raises:
            InvalidInput: not a name, or taken.
            NotConfigured: the file cannot be read or written; then nothing has changed.
        """
        if not names.is_upstream_name(name):
            raise InvalidInput(
                f"{name[:MAX_NAME_CHARS]!r} is no name for an upstream",
                hint="Use letters, digits, - and single _ inside, at most 63 characters.",
            )

        def change(document: dict[str, Any]) -> None:
            servers = document.setdefault("mcpServers", {})
            if name in servers and not replace:
                raise InvalidInput(f"there is an upstream {name} already", hint="Give --replace, or another name.")
            servers[name] = dict(values)
            document.get("enabled", {}).pop(name, None)

        self._change(change)

    def remove(self, name: str) -> bool:
        """Take an entry out, and what was switched; whether there was one.

        Raises:
            NotConfigured: the file cannot be read or written; then nothing has changed.
        """
        found = False

        def change(document: dict[str, Any]) -> None:
            nonlocal found
            found = document.get("mcpServers", {}).pop(name, None) is not None
            document.get("enabled", {}).pop(name, None)

        self._change(change)
        return found

    def switch(self, name: str, *, on: bool) -> None:
        """Switch an upstream on or off, wherever its entry stands.

        Raises:
            NotConfigured: the file cannot be read or written; then nothing has changed.
        """
        self._change(lambda document: document.setdefault("enabled", {}).update({name: on}))

    def _change(self, change: Callable[[dict[str, Any]], None]) -> None:
        try:
            with atomic_file.locked(self.path, self._lock_wait_s):
                document, problems = _json(self.path, required=False)
                if problems or not all(isinstance(document.get(key, {}), dict) for key in ("mcpServers", "enabled")):
                    raise NotConfigured(f"{self.path} is damaged; nothing was changed", hint="Repair or delete the file.")
                change(document)
                atomic_file.replace(self.path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        except OSError as error:
            raise NotConfigured(
                f"{self.path} cannot be written ({type(error).__name__}); nothing was changed", hint="Make the file writable."
            ) from error
