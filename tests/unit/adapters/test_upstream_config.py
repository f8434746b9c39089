"""How upstreams are configured: read with every fault reported, changed in one step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from websearch_adapters.settings import read
from websearch_adapters.upstream.config import Configured, Entry, UpstreamsFile, configured, secrets_of, spec_of
from websearch_adapters.upstream.digests import MAX_TOOLS, DigestFile
from websearch_core.errors import InvalidInput, NotConfigured
from websearch_core.hub.values import HttpTransport, OAuthClient, StdioTransport, UpstreamSpec
from websearch_core.testing.strategies import json_values
from websearch_core.values import Secret


def one(values: Mapping[str, Any], /, *, file: Path = Path("/conf/x.json"), **environment: str) -> UpstreamSpec:
    spec, problems = spec_of(Entry(name="a", file=file, values=values), environment)
    assert not [problem for problem in problems if problem.severity == "error"]
    assert spec is not None
    return spec


def faults(values: Mapping[str, Any], /, *, name: str = "a", **environment: str) -> list[str]:
    _, problems = spec_of(Entry(name=name, file=Path("/conf/x.json"), values=values), environment)
    return [f"{problem.severity} {problem.field}: {problem.text}" for problem in problems]


def stdio(spec: UpstreamSpec) -> StdioTransport:
    assert isinstance(spec.transport, StdioTransport)
    return spec.transport


def http(spec: UpstreamSpec) -> HttpTransport:
    assert isinstance(spec.transport, HttpTransport)
    return spec.transport


class Home:
    """A home folder with settings, the file of the command line and files of others."""

    def __init__(self, folder: Path, *, toml: str = "", **environment: str) -> None:
        self.folder = folder
        self.environment = {"WEBSEARCH_HOME": str(folder), **environment}
        (folder / "config.toml").write_text(toml)
        self.file = UpstreamsFile(folder / "upstreams.json")

    def other(self, name: str, servers: Mapping[str, Any], *, key: str = "mcpServers") -> Path:
        path = self.folder / name
        path.write_text(json.dumps({key: servers}))
        return path

    def read(self, *files: Path) -> Configured:
        loaded = read({"hub.files": [str(file) for file in files] or None}, environ=self.environment)
        assert loaded.problems() == ()
        return configured(loaded)


# --- one entry ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HUB-CONFIG-01")
def test_a_child_process_with_everything(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    spec = one(
        {
            "command": "npx",
            "args": ["-y", "server", 7],
            "env": {"TOKEN": "${SECRET}", "LEVEL": 3},
            "inherit_env": ["HTTPS_PROXY"],
            "cwd": "work",
            "startup_timeout_s": 5,
            "tool_timeout_s": 2.5,
            "tool_timeouts_s": {"slow": 60},
            "tools_allow": ["get_*"],
            "tools_deny": "get_all",
            "accept_changes": True,
        },
        file=tmp_path / "config.toml",
        SECRET="s3cret",
    )
    assert spec == UpstreamSpec(
        name="a",
        transport=StdioTransport(
            command="npx",
            args=("-y", "server", "7"),
            env={"TOKEN": Secret("s3cret"), "LEVEL": Secret("3")},
            inherit=("HTTPS_PROXY",),
            cwd=str(tmp_path / "work"),
        ),
        startup_timeout_s=5,
        tool_timeout_s=2.5,
        tool_timeouts_s={"slow": 60},
        tools_allow=("get_*",),
        tools_deny=("get_all",),
        accept_changes=True,
    )
    assert (spec.timeout_of("slow"), spec.timeout_of("other")) == (60, 2.5)
    assert "s3cret" not in repr(spec)


@pytest.mark.requirement("HUB-CONFIG-01")
def test_a_web_address_with_everything() -> None:
    spec = one(
        {
            "url": "https://mcp.example.com/mcp",
            "headers": {"X-Key": "${KEY:-none}"},
            "bearer_token_env_var": "TOKEN",
            "oauth": {"clientId": "me", "clientSecretEnvVar": "CLIENT", "scopes": ["read"], "callbackPort": 8_123},
        },
        TOKEN="t0ken",
        CLIENT="cl1ent",
    )
    assert http(spec) == HttpTransport(
        url="https://mcp.example.com/mcp",
        headers={"X-Key": Secret("none"), "Authorization": Secret("Bearer t0ken")},
        oauth=OAuthClient(client_id="me", client_secret=Secret("cl1ent"), scopes=("read",), callback_port=8_123),
    )
    assert http(spec).has_authorization
    assert {secret.value for secret in secrets_of([spec])} == {"none", "Bearer t0ken", "t0ken", "cl1ent"}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"url": "https://a.example/mcp"}, "http"),
        ({"url": "https://a.example/sse"}, "sse"),
        ({"url": "https://a.example/sse/?x=1"}, "sse"),
        ({"url": "https://a.example/sse", "type": "streamable-http"}, "http"),
        ({"url": "https://a.example/mcp", "type": "SSE"}, "sse"),
        ({"httpUrl": "https://a.example/mcp"}, "http"),
        ({"serverUrl": "https://a.example/mcp", "transport": "http"}, "http"),
    ],
)
def test_which_transport_a_web_address_is_for(values: dict[str, Any], kind: str) -> None:
    assert http(one(values)).kind == kind


def test_the_words_of_other_programs_are_understood() -> None:
    spec = one(
        {
            "command": "x",
            "disabled": True,
            "startupTimeoutMs": 1_500,
            "tool_timeout_sec": 9,
            "includeTools": ["a"],
            "disabledTools": ["b"],
            "alwaysAllow": ["c"],
            "timeout": 30_000,
        }
    )
    assert (spec.enabled, spec.startup_timeout_s, spec.tool_timeout_s) == (False, 1.5, 9)
    assert (spec.tools_allow, spec.tools_deny) == (("a",), ("b",))


@pytest.mark.requirement("HUB-CONFIG-02")
def test_variables_are_put_in_once_and_what_comes_out_is_not_looked_at_again() -> None:
    spec = one(
        {"command": "${BIN}/run", "args": ["${A}", "$A", "${env:A}", "${NONE:-b}", "${EMPTY:-c}", "${EMPTY}", "${NONE:-}"]},
        BIN="/opt",
        A="${BIN}",
        EMPTY="",
    )
    assert stdio(spec).command == "/opt/run"
    assert stdio(spec).args == ("${BIN}", "$A", "${BIN}", "b", "c", "", "")


@pytest.mark.requirement("HUB-CONFIG-02")
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"command": "${GONE}"}, "command"),
        ({"command": "x", "args": ["${GONE}"]}, "args"),
        ({"command": "x", "env": {"TOKEN": "a${GONE}"}}, "env.TOKEN"),
        ({"url": "https://${GONE}/mcp"}, "url"),
        ({"url": "https://a.example/", "headers": {"X": "${GONE}"}}, "headers.X"),
        ({"url": "https://a.example/", "bearer_token_env_var": "GONE"}, "bearer_token_env_var"),
        ({"url": "https://a.example/", "oauth_client_secret_env_var": "GONE"}, "oauth_client_secret_env_var"),
    ],
)
def test_a_variable_that_is_not_set_is_a_problem_of_its_entry(values: dict[str, Any], field: str) -> None:
    assert f"error {field}: the variable GONE is not set" in faults(values)


@pytest.mark.requirement("HUB-CONFIG-03")
@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({}, "error : needs a command or a url; to keep it for later, set enabled = false beside it"),
        ({"type": "stdio", "url": "https://a.example/"}, "error command: is missing"),
        ({"type": "http", "command": "x"}, "error url: is missing"),
        ({"type": "carrier pigeon", "command": "x"}, "error type: must be one of: stdio, http, sse"),
        ({"command": "KEY=value"}, "error command: is an assignment; put variables in env"),
        ({"command": 7}, "error command: must be text"),
        ({"command": "x", "args": {"a": 1}}, "error args: must be a list of texts"),
        ({"command": "x", "env": ["A=b"]}, "error env: must be an object of texts"),
        ({"command": "x", "env": {"A": None}}, "error env.A: must be text"),
        ({"command": "x", "cwd": "/no/such/folder"}, "error cwd: is no folder"),
        ({"command": "x", "enabled": "yes"}, "error enabled: must be true or false"),
        ({"command": "x", "tool_timeout_s": 0}, "error tool_timeout_s: must be a number of seconds above 0, at most 86400"),
        (
            {"command": "x", "tool_timeouts_s": {"t": -1}},
            "error tool_timeouts_s.t: must be a number of seconds above 0, at most 86400",
        ),
        ({"url": "ftp://a.example/"}, "error url: is no http(s) address"),
        (
            {"url": "https://a.example/", "headers": {"a b": "x"}},
            "error headers: 'a b' has a name or value that HTTP does not allow",
        ),
        (
            {"url": "https://a.example/", "headers": {"A": "x\r\nB: y"}},
            "error headers: 'A' has a name or value that HTTP does not allow",
        ),
        (
            {"url": "https://a.example/", "oauth": {"callbackPort": 0}},
            "error oauth_callback_port: must be a port from 1 to 65535",
        ),
        ({"command": "x", "comand": 1}, "warning comand: unknown key; did you mean command?"),
        ({"command": "x", "zzz": 1}, "warning zzz: unknown key; it is ignored"),
        ({"command": "x", "headers": {"A": "b"}}, "warning headers: means nothing for a child process; it is ignored"),
        ({"url": "https://a.example/", "args": ["x"]}, "warning args: means nothing for a web address; it is ignored"),
        ({"command": "x", "url": "https://a.example/"}, "warning : has a command and a url; as stdio it uses the command"),
    ],
)
def test_each_fault_is_told_where_it_is(values: dict[str, Any], fault: str) -> None:
    assert fault in faults(values)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101])
def test_a_name_that_cannot_be_shown_is_a_fault(name: str) -> None:
    assert faults({"command": "x"}, name=name)[0].startswith("error : an upstream needs a printable name")


@given(
    values=st.dictionaries(
        st.sampled_from(["command", "url", "type", "args", "env", "headers", "oauth", "cwd", "enabled"]), json_values()
    )
)
@settings(deadline=None)
def test_whatever_stands_in_an_entry_nothing_is_raised_and_no_value_is_shown(values: dict[str, Any]) -> None:
    values["env"] = {"TOKEN": "canary-4711-canary", "bad": None}
    _, problems = spec_of(Entry(name="a", file=Path("/conf/x.json"), values=values), {})
    assert problems
    assert "canary-4711" not in " ".join(map(str, problems))


# --- all entries --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HUB-CONFIG-04")
def test_a_stronger_place_replaces_an_entry_as_a_whole(tmp_path: Path) -> None:
    home = Home(tmp_path, toml='[upstreams.toml]\ncommand = "toml"\n[upstreams.all]\ncommand = "toml"\n')
    first = home.other("first.json", {"all": {"command": "1"}, "own": {"command": "1"}, "files": {"command": "1", "args": ["x"]}})
    second = home.other("second.json", {"files": {"command": "2"}, "last": {"command": "2"}}, key="servers")
    home.file.add("own", {"command": "own"})
    home.file.add("all", {"command": "own"})
    found = home.read(first, second)

    assert {spec.name: stdio(spec).command for spec in found.specs} == {
        "all": "toml",
        "files": "2",
        "last": "2",
        "own": "own",
        "toml": "toml",
    }
    assert stdio(found.spec("files")).args == ()
    assert (found.files["all"].name, found.files["last"].name) == ("config.toml", "second.json")
    assert found.problems == ()


@pytest.mark.requirement("HUB-CONFIG-03")
def test_a_bad_entry_voids_no_other_and_a_bad_file_no_other_file(tmp_path: Path) -> None:
    home = Home(tmp_path, toml='[upstreams.good]\ncommand = "x"\n[upstreams.bad]\nargs = ["s3cret"]\n')
    (tmp_path / "broken.json").write_text('{"mcpServers": {"a": {"env": {"K": "s3cret"}},,}}')
    (tmp_path / "list.json").write_text("[]")
    found = home.read(tmp_path / "broken.json", tmp_path / "list.json", tmp_path / "gone.json")

    assert [spec.name for spec in found.specs] == ["good"]
    told = [str(problem) for problem in found.problems]
    assert told[0] == f"{tmp_path}/broken.json: not valid JSON (line 1, column 47); it is ignored"
    assert told[1:3] == [f"{tmp_path}/list.json: not an object; it is ignored", f"{tmp_path}/gone.json: no such file"]
    assert told[3].startswith("upstreams.bad: needs a command or a url")
    assert "s3cret" not in " ".join(told)


def test_the_settings_do_not_take_upstreams_for_unknown_settings(tmp_path: Path) -> None:
    Home(tmp_path, toml='[upstreams.good]\ncommand = "x"\n').read()
    Home(tmp_path, toml="upstreams = 3\n")
    loaded = read(environ={"WEBSEARCH_HOME": str(tmp_path)})
    assert [str(problem) for problem in configured(loaded).problems] == [
        f"{tmp_path}/config.toml: upstreams is not a section; write [upstreams.NAME]"
    ]


def test_two_upstreams_at_one_address_are_both_used_and_reported(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.file.add("one", {"url": "https://a.example/mcp"})
    home.file.add("two", {"url": "https://a.example/mcp/"})
    found = home.read()
    assert [spec.name for spec in found.specs] == ["one", "two"]
    assert [str(problem) for problem in found.problems] == ["upstreams.two.url: has the same address as one; both are used"]


def test_an_upstream_that_is_asked_for_by_name_is_there_or_it_is_said_why_not(tmp_path: Path) -> None:
    home = Home(tmp_path, toml='[upstreams.good]\ncommand = "x"\n[upstreams.bad]\nargs = []\n')
    found = home.read()
    assert found.spec("good").name == "good"
    with pytest.raises(InvalidInput, match="needs a command"):
        found.spec("bad")
    with pytest.raises(InvalidInput) as caught:
        found.spec("goot")
    assert caught.value.hint == "Did you mean good?"


# --- changes ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HUB-CONFIG-05")
def test_added_switched_and_removed(tmp_path: Path) -> None:
    home = Home(tmp_path, toml='[upstreams.fixed]\ncommand = "x"\nenabled = false\n')
    home.file.add("mine", {"command": "y", "env": {"TOKEN": "${TOKEN:-}"}})
    home.file.switch("mine", on=False)
    home.file.switch("fixed", on=True)
    assert {spec.name: spec.enabled for spec in home.read().specs} == {"fixed": True, "mine": False}

    assert home.file.remove("mine")
    assert not home.file.remove("mine")
    home.file.remove("fixed")
    assert {spec.name: spec.enabled for spec in home.read().specs} == {"fixed": False}
    assert home.file.path.stat().st_mode & 0o777 == 0o600


def test_a_name_is_given_once_unless_it_is_replaced_and_must_be_one(tmp_path: Path) -> None:
    file = Home(tmp_path).file
    file.add("a", {"command": "x"})
    with pytest.raises(InvalidInput, match="already"):
        file.add("a", {"command": "y"})
    file.switch("a", on=False)
    file.add("a", {"command": "y"}, replace=True)
    assert json.loads(file.path.read_text()) == {"mcpServers": {"a": {"command": "y"}}, "enabled": {}}
    with pytest.raises(InvalidInput, match="no name"):
        file.add("a__b", {"command": "x"})


@pytest.mark.requirement("HUB-CONFIG-05")
def test_a_file_that_is_damaged_or_cannot_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    file = Home(tmp_path).file
    file.path.write_text("{broken")
    with pytest.raises(NotConfigured, match="damaged"):
        file.add("a", {"command": "x"})
    assert file.path.read_text() == "{broken"
    file.path.write_text('{"mcpServers": []}')
    with pytest.raises(NotConfigured, match="damaged"):
        file.remove("a")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NotConfigured, match="cannot be written"):
        UpstreamsFile(tmp_path / "file" / "upstreams.json").switch("a", on=True)


def test_what_else_stands_in_the_file_stays(tmp_path: Path) -> None:
    file = Home(tmp_path).file
    file.path.write_text('{"note": "mine", "mcpServers": {"b": {"command": "b"}}}')
    file.add("a", {"command": "x"})
    assert json.loads(file.path.read_text()) == {
        "note": "mine",
        "mcpServers": {"b": {"command": "b"}, "a": {"command": "x"}},
    }


def test_accepted_words_outlive_the_process_and_a_damaged_file(tmp_path: Path) -> None:
    digests = DigestFile(tmp_path / "digests.json")
    assert digests.read() == {}
    assert digests.keep("a", {"t": "1"})
    assert digests.keep("b", {"t": "2"})
    assert DigestFile(tmp_path / "digests.json").read() == {"a": {"t": "1"}, "b": {"t": "2"}}
    assert digests.forget("a")
    assert digests.read() == {"b": {"t": "2"}}
    (tmp_path / "digests.json").write_text('{"a": {"t": 1, "u": "x"}, "b": 7}')
    assert digests.read() == {"a": {"u": "x"}, "b": {}}
    (tmp_path / "digests.json").write_text("[")
    assert digests.read() == {}
    (tmp_path / "file").write_text("in the way")
    assert not DigestFile(tmp_path / "file" / "digests.json").keep("a", {"t": "1"})


def test_a_process_does_not_take_back_what_another_one_accepted(tmp_path: Path) -> None:
    server, person = DigestFile(tmp_path / "digests.json"), DigestFile(tmp_path / "digests.json")
    server.keep("a", {"pay": "old"})
    person.read()
    person.keep("a", {"pay": "new"})
    server.keep("a", {"pay": "old", "further": "1"})
    assert person.read() == {"a": {"pay": "new", "further": "1"}}


def test_names_without_end_are_forgotten_from_the_oldest(tmp_path: Path) -> None:
    digests = DigestFile(tmp_path / "digests.json")
    digests.keep("a", {"first": "0"})
    digests.keep("a", {f"t{number}": "1" for number in range(MAX_TOOLS)})
    kept = digests.read()["a"]
    assert (len(kept), "first" in kept) == (MAX_TOOLS, False)
