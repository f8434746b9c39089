"""Settings: which place counts, what is reported, what is shown, and the one line that is written."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import websearch_core
from websearch_adapters.settings import (
    PARTS,
    Declared,
    LoadedConfiguration,
    Settings,
    declared,
    find_nearest,
    init_file,
    read,
    reference,
    template,
)
from websearch_core.errors import InvalidInput, NotConfigured
from websearch_core.ports import Configuration
from websearch_core.values import as_plain

SOURCES = Path(websearch_core.__file__).parents[1]
ROWS = declared()
NAMES = [row.name for row in ROWS]
KEY = "xai-0123456789abcdefghij"
every_row = pytest.mark.parametrize("row", ROWS, ids=NAMES)


def sample(row: Declared) -> Any:
    """A usable value that is not the default, as a TOML file has it."""
    known = row.option
    if known.choices:
        other = next(choice for choice in known.choices if choice != known.default)
        return [other] if isinstance(known.default, tuple) else other
    if row.kind == "bool":
        return not known.default
    if known.ge is not None:
        return math.ceil(known.ge) + (known.ge == known.default)
    url = "https://other.example/v1"
    forms: dict[str, Any] = {"url": url, "api_base": url, "redis": "redis://other.example/1", "hosts": ["10.0.0.0/8"]}
    forms["issuer"] = "http://127.0.0.1:4711"
    if known.form in forms:
        return forms[known.form]
    return ["one", "two"] if row.kind.startswith("tuple") else f"other-{row.key}".lower()


@contextlib.contextmanager
def started(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCES)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def as_text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def configured(
    tmp_path: Path, toml: str = "", arguments: dict[str, object] | None = None, /, **environ: str
) -> LoadedConfiguration:
    if toml:
        (tmp_path / "config.toml").write_text(toml, encoding="utf-8")
    return read(arguments or {}, environ={"WEBSEARCH_HOME": str(tmp_path), **environ})


def value_of(configuration: LoadedConfiguration, row: Declared) -> Any:
    return getattr(getattr(configuration.settings, row.section), row.key)


def toml_of(row: Declared, value: Any) -> str:
    return f"[{row.section}]\n{row.key} = {json.dumps(value)}\n"


# --- which place counts -------------------------------------------------------------------------------------------


@every_row
def test_without_anything_the_default_stands(tmp_path: Path, row: Declared) -> None:
    configuration = configured(tmp_path)
    assert value_of(configuration, row) == row.option.default == getattr(getattr(Settings(), row.section), row.key)
    assert configuration.origin(row.name) == "default"
    assert configuration.problems() == ()


@pytest.mark.requirement("RS-CONFIG-01", "RS-CONFIG-02", "OURS-31")
@every_row
def test_each_place_sets_it_and_the_stronger_one_wins(tmp_path: Path, row: Declared) -> None:
    value = sample(row)
    file = f"file {tmp_path / 'config.toml'}"
    from_file = configured(tmp_path, toml_of(row, value))
    assert from_file.problems() == ()
    assert value_of(from_file, row) != row.option.default
    assert from_file.origin(row.name) == file
    for number, variable in enumerate(row.variables):
        weaker = dict.fromkeys(row.variables[number + 1 :], "unusable\x00")
        said = as_text(value - 1 if variable == "GROK_RETRY_MAX_ATTEMPTS" else value)
        from_variable = configured(tmp_path, f"[{row.section}]\n", None, **{variable: said}, **weaker)
        assert value_of(from_variable, row) == value_of(from_file, row)
        assert from_variable.origin(row.name) == f"environment {variable}"
        assert from_variable.problems() == ()
    from_argument = configured(tmp_path, toml_of(row, ["\x00"]), {row.name: value}, **dict.fromkeys(row.variables, "\x00"))
    assert value_of(from_argument, row) == value_of(from_file, row)
    assert from_argument.origin(row.name) == "argument"
    assert from_argument.problems() == ()


@pytest.mark.requirement("OURS-33")
@pytest.mark.parametrize(("repetitions", "attempts"), [("3", 4), ("0", 1), (" 19 ", 20)])
def test_the_older_name_of_the_attempts_does_not_count_the_first_one(tmp_path: Path, repetitions: str, attempts: int) -> None:
    configuration = configured(tmp_path, GROK_RETRY_MAX_ATTEMPTS=repetitions)
    assert configuration.settings.engine.max_attempts == attempts
    assert configuration.origin("engine.max_attempts") == "environment GROK_RETRY_MAX_ATTEMPTS"
    assert configured(tmp_path, GROK_RETRY_MAX_ATTEMPTS="3", GROK_MODEL_MAX_ATTEMPTS="3").settings.engine.max_attempts == 3


@pytest.mark.parametrize("wrong", ["-1", "20", "many", "1.5"])
def test_repetitions_out_of_range_are_reported_and_count_as_unset(tmp_path: Path, wrong: str) -> None:
    configuration = configured(tmp_path, GROK_RETRY_MAX_ATTEMPTS=wrong)
    assert configuration.settings.engine.max_attempts == 3
    (problem,) = configuration.problems()
    assert problem.startswith("engine.max_attempts (environment GROK_RETRY_MAX_ATTEMPTS)")


def test_phrases_keep_their_blanks_and_lose_their_case(tmp_path: Path) -> None:
    in_file = configured(tmp_path, '[engine]\nretry_phrases = ["No free slot", "忙，稍后"]\n').settings.engine
    assert in_file.retry_phrases == ("no free slot", "忙", "稍后")
    in_variable = configured(tmp_path, WEBSEARCH_ENGINE_STOP_PHRASES="Account closed; banned,banned").settings.engine
    assert in_variable.stop_phrases == ("account closed", "banned")


@pytest.mark.requirement("HEAD-18")
def test_the_codes_worth_another_attempt_are_replaced_and_not_added_to(tmp_path: Path) -> None:
    assert "rate_limit" in configured(tmp_path).settings.engine.retryable_codes
    chosen = configured(tmp_path, GROK_RETRYABLE_UPSTREAM_CODES="My_Code;other").settings.engine
    assert chosen.retryable_codes == ("my_code", "other")
    assert configured(tmp_path, GROK_RETRYABLE_UPSTREAM_CODES="none").settings.engine.retryable_codes == ()


@pytest.mark.requirement("EDGE-13", "RS-CONFIG-05")
@every_row
@pytest.mark.parametrize("blank", ["", "  ", "\t\n", [], [" "]], ids=repr)
def test_a_blank_value_is_unset_everywhere(tmp_path: Path, row: Declared, blank: Any) -> None:
    environ = dict.fromkeys(row.variables, as_text(blank))
    configuration = configured(tmp_path, toml_of(row, blank), {row.name: blank}, **environ)
    assert value_of(configuration, row) == row.option.default
    assert configuration.origin(row.name) == "default"
    assert configuration.problems() == ()


@pytest.mark.requirement("OURS-31")
@every_row
def test_a_blank_stronger_place_lets_the_weaker_one_through(tmp_path: Path, row: Declared) -> None:
    configuration = configured(
        tmp_path, toml_of(row, sample(row)), {row.name: " ", "engine.kind": None}, **dict.fromkeys(row.variables, "  ")
    )
    assert value_of(configuration, row) != row.option.default
    assert configuration.origin(row.name) == f"file {tmp_path / 'config.toml'}"


@every_row
def test_a_flat_key_means_the_same_as_a_section(tmp_path: Path, row: Declared) -> None:
    in_section = configured(tmp_path, toml_of(row, sample(row)))
    flat = configured(tmp_path, f"{row.section}_{row.key} = {json.dumps(sample(row))}\n")
    assert flat.problems() == ()
    assert value_of(flat, row) == value_of(in_section, row)


def test_between_flat_and_section_the_section_counts_unless_it_is_blank(tmp_path: Path) -> None:
    both = 'engine_kind = "chat"\n[engine]\nkind = "{}"\n'
    assert configured(tmp_path, both.format("xai")).settings.engine.kind == "xai"
    assert configured(tmp_path, both.format("")).settings.engine.kind == "chat"


def test_a_value_of_zero_or_false_is_a_value(tmp_path: Path) -> None:
    configuration = configured(tmp_path, "[search]\nextra_sources = 3\ncache_ttl_s = 5\n", {"search.cache_ttl_s": 0})
    assert configuration.settings.search.cache_ttl_s == 0
    assert configured(tmp_path, GROK_SEARCH_EXTRA_SOURCES="0").settings.search.extra_sources == 0
    assert configured(tmp_path, "[tavily]\nenabled = false\n").settings.tavily.enabled is False


def test_reads_the_environment_of_the_process_when_none_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEBSEARCH_HOME", str(tmp_path))
    monkeypatch.setenv("GROK_MODEL_MAX_ATTEMPTS", "7")
    assert read().settings.engine.max_attempts == 7


# --- files and folders --------------------------------------------------------------------------------------------


@pytest.mark.requirement("RS-CONFIG-03", "OURS-42")
def test_one_variable_moves_configuration_data_and_cache(tmp_path: Path) -> None:
    settings = configured(tmp_path).settings
    assert settings.config_file == tmp_path / "config.toml"
    assert settings.data_dir == tmp_path / "data"
    assert settings.cache_dir == tmp_path / "cache"
    assert settings.library_file == tmp_path / "data/library.sqlite3"


@pytest.mark.requirement("RS-CONFIG-03")
def test_without_that_variable_the_platform_says_where() -> None:
    settings = read(environ={}).settings
    assert settings.config_file.name == "config.toml"
    assert all("websearch" in str(path) for path in (settings.config_file, settings.data_dir, settings.cache_dir))


@pytest.mark.requirement("RS-CONFIG-03")
def test_the_file_can_be_named_by_argument_before_variable(tmp_path: Path) -> None:
    for name, attempts in (("one.toml", 4), ("two.toml", 5), ("config.toml", 6)):
        (tmp_path / name).write_text(f"[engine]\nmax_attempts = {attempts}\n")
    environ = {"WEBSEARCH_HOME": str(tmp_path), "WEBSEARCH_CONFIG": str(tmp_path / "two.toml")}
    assert read(environ=environ, file=tmp_path / "one.toml").settings.engine.max_attempts == 4
    assert read(environ=environ).settings.engine.max_attempts == 5
    assert read(environ={**environ, "WEBSEARCH_CONFIG": " "}).settings.engine.max_attempts == 6


@pytest.mark.parametrize(
    ("environ", "named", "origin"),
    [
        ({}, False, "default"),
        ({"WEBSEARCH_HOME": "here"}, False, "environment WEBSEARCH_HOME"),
        ({"WEBSEARCH_HOME": "here", "WEBSEARCH_CONFIG": "there.toml"}, False, "environment WEBSEARCH_CONFIG"),
        ({"WEBSEARCH_CONFIG": "there.toml"}, True, "argument"),
    ],
)
def test_the_listing_begins_with_the_file(tmp_path: Path, environ: dict[str, str], named: bool, origin: str) -> None:
    configuration = read(environ=environ, file=tmp_path / "mine.toml" if named else None)
    first = configuration.listing()[0]
    assert (first.name, first.value, first.origin) == ("config_file", str(configuration.config_file), origin)
    assert configuration.config_file.is_absolute()


def test_the_default_file_may_be_missing_a_named_one_may_not(tmp_path: Path) -> None:
    assert configured(tmp_path).problems() == ()
    missing = tmp_path / "missing.toml"
    assert read(environ={"WEBSEARCH_HOME": str(tmp_path)}, file=missing).problems() == (f"{missing}: no such file",)


@pytest.mark.parametrize(
    "content",
    [
        b"[engine\n",
        b"engine.kind = 'a'\n[engine]\n",
        b"\xff\xfe",
        b"a = " + b"[" * 50_000,
        b"a = 1\na = 2\n",
        b"a = " + b"9" * 5_000,
    ],
    ids=["syntax", "twice", "not UTF-8", "deep", "duplicate", "digits"],
)
def test_a_malformed_file_is_one_problem_and_defaults_stand(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(content + f'\n[xai]\napi_key = "{KEY}"\n'.encode())
    configuration = configured(tmp_path)
    (problem,) = configuration.problems()
    assert problem.startswith(f"{tmp_path / 'config.toml'}: not valid TOML (")
    assert KEY not in problem
    assert configuration.settings == read(environ={"WEBSEARCH_HOME": str(tmp_path)}, file=None).settings
    assert configuration.settings.engine_kind() == "none"


def test_a_file_that_cannot_be_read_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    (problem,) = configured(tmp_path).problems()
    assert "cannot be read" in problem


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xef\xbb\xbf[engine]\r\nmax_attempts = 4\r\n")
    configuration = configured(tmp_path)
    assert configuration.problems() == ()
    assert configuration.settings.engine.max_attempts == 4


# --- problems -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("OURS-32")
@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("[engine]\nmax_attempt = 4\n", "unknown setting 'engine.max_attempt'; did you mean engine.max_attempts?"),
        ("[tavily]\napi_key = 'x'\n", "unknown setting 'tavily.api_key'; did you mean tavily.api_keys?"),
        ("[tavly]\napi_url = 'x'\n", "unknown setting 'tavly.api_url'; did you mean tavily.api_url?"),
        ("fetch_max_char = 4\n", "unknown setting 'fetch_max_char'; did you mean fetch.max_chars?"),
        ("zzz = 4\n", "unknown setting 'zzz'; it is ignored"),
        ("engine = 4\n", "unknown setting 'engine'; engine is a section: write [engine]"),
        ("[engine.kind]\nx = 1\n", "engine.kind (file "),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one_and_voids_nothing(tmp_path: Path, toml: str, expected: str) -> None:
    configuration = configured(tmp_path, f"search_inline_sources = 9\n{toml}")
    (problem,) = configuration.problems()
    assert expected in problem
    assert configuration.settings.search.inline_sources == 9


def test_an_unknown_variable_of_ours_is_named_with_the_nearest_known_one(tmp_path: Path) -> None:
    configuration = configured(tmp_path, WEBSEARCH_TOOLSET="core", WEBSEARCH_HOMME="x", WEBSEARCHED="x", GROK_UNHEARD_OF="x")
    assert configuration.problems() == (
        "environment: unknown variable 'WEBSEARCH_HOMME'; did you mean WEBSEARCH_HOME?",
        "environment: unknown variable 'WEBSEARCH_TOOLSET'; did you mean WEBSEARCH_TOOLSETS?",
    )


def test_an_unknown_argument_is_named_too(tmp_path: Path) -> None:
    (problem,) = configured(tmp_path, "", {"engine.modell": "x"}).problems()
    assert problem.startswith("argument: unknown setting 'engine.modell'")


UNUSABLE = [
    ("engine.max_attempts", "abc", "'abc' is not a whole number from 1 to 20"),
    ("engine.max_attempts", "0", "'0' is not a whole number from 1 to 20"),
    ("engine.max_attempts", "2.5", "'2.5' is not a whole number from 1 to 20"),
    ("engine.max_attempts", True, "True is not a whole number from 1 to 20"),
    ("engine.max_attempts", [3], "[3] is not a whole number from 1 to 20"),
    ("engine.retry_max_wait_s", "nan", "'nan' is not a number from 0 to 600"),
    ("engine.retry_max_wait_s", "-1", "'-1' is not a number from 0 to 600"),
    ("engine.retry_max_wait_s", "1e999", "'1e999' is not a number from 0 to 600"),
    ("engine.retry_max_wait_s", 10**400, "is not a number from 0 to 600"),
    ("xai.web_search", "maybe", "'maybe' is not true or false"),
    ("xai.web_search", 2, "2 is not true or false"),
    ("search.source_fallback", "source", "'source' is not one of sources, never (did you mean sources?)"),
    ("search.source_fallback", 1, "1 is not text one of sources, never"),
    ("server.toolsets", "core,admn", "'admn' is not one of core, x, admin, planning, hub (did you mean admin?)"),
    ("log.level", "LOUD", "'LOUD' is not one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
    ("engine.kind", "x\x1b[31m", "holds control characters"),
    ("engine.primary_model", "m" * 201, "not a model's name"),
    ("search.finders", [1], "[1] is not a list of texts"),
    ("fetch.allow_hosts", "10.0.0.0/99", "'10.0.0.0/99' is not a host, host:port or network"),
    ("fetch.allow_hosts", "user@host", "'user@host' is not a host"),
    ("chat.api_url", "ftp://user:password@host", "not an absolute http:// or https:// address"),
    ("cache.redis_url", "http://user:hunter2@host", "not an address such as redis://host:6379/0"),
    ("cache.redis_url", "redis://", "not an address such as redis://host:6379/0"),
    ("cache.redis_url", "redis://:hunter2@host:port", "not an address such as redis://host:6379/0"),
    ("cache.redis_url", "redis://:hunter2 x@host", "not an address such as redis://host:6379/0"),
    ("cache.redis_url", "unix://", "not an address such as redis://host:6379/0"),
    ("cache.redis_url", "redis://:hunter2@host?socket_timeout=99", "may have the options db, username, password"),
    ("xai.api_key", "two words", "a key has no blanks and only ASCII characters"),
    ("xai.api_key", "schlüssel", "a key has no blanks and only ASCII characters"),
    ("xai.api_key", 5, "not text"),
    ("tavily.api_keys", [5], "the value is not a list of texts"),
]


@pytest.mark.requirement("P5-CONFIG-03")
@pytest.mark.parametrize(("name", "raw", "fault"), UNUSABLE, ids=[f"{name} {str(raw)[:20]!r}" for name, raw, _ in UNUSABLE])
def test_a_bad_value_is_a_problem_that_says_what_where_and_why_and_counts_as_unset(
    tmp_path: Path, name: str, raw: object, fault: str
) -> None:
    configuration = configured(tmp_path, "", {name: raw})
    (problem,) = configuration.problems()
    assert problem.startswith(f"{name} (argument): ")
    assert fault in problem
    assert configuration.settings == configured(tmp_path).settings
    row = ROWS[NAMES.index(name)]
    if row.option.secret or row.option.form == "url":
        assert str(raw) not in problem
    assert "hunter2" not in problem


def test_a_bad_value_lets_the_next_place_through(tmp_path: Path) -> None:
    configuration = configured(tmp_path, "[engine]\nmax_attempts = 5\n", GROK_MODEL_MAX_ATTEMPTS="many")
    assert configuration.settings.engine.max_attempts == 5
    assert len(configuration.problems()) == 1


@pytest.mark.parametrize(
    ("texts", "expected"),
    [(("1", "true", "YES", " on "), True), (("0", "false", "No", "off"), False)],
)
def test_the_words_for_true_and_false(tmp_path: Path, texts: tuple[str, ...], expected: bool) -> None:
    for text in texts:
        assert configured(tmp_path, GROK_DEBUG=text).settings.log.debug is expected


@pytest.mark.requirement("RS-CONFIG-06")
def test_choices_and_names_are_taken_in_any_case(tmp_path: Path) -> None:
    settings = configured(
        tmp_path, GROK_LOG_LEVEL="debug", GROK_SEARCH_SOURCE_PROVIDERS="Tavily; LIBRARY,tavily", WEBSEARCH_ENGINE_KIND="XAI"
    ).settings
    assert settings.log.level == "DEBUG"
    assert settings.search.finders == ("tavily", "library")
    assert settings.engine_kind() == "xai"


@pytest.mark.parametrize("raw", ["none", " NONE ", "[none]", '["none"]', ["none"]])
def test_the_word_none_empties_a_list_of_names(tmp_path: Path, raw: object) -> None:
    configuration = configured(tmp_path, "", {"search.finders": raw})
    assert configuration.settings.search.finders == ()
    assert configuration.problems() == ()


def test_hosts_and_networks_are_brought_into_one_form(tmp_path: Path) -> None:
    hosts = configured(tmp_path, WEBSEARCH_FETCH_ALLOW_HOSTS="Wiki.Corp, wiki.corp:8080 10.1.2.3/8 [::1] fd00::/8").settings
    assert hosts.fetch.allow_hosts == ("wiki.corp", "wiki.corp:8080", "10.0.0.0/8", "::1", "fd00::/8")


# --- keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P5-CONFIG-04")
@pytest.mark.parametrize(
    "text",
    [
        "a-1,b-2,c-3",
        "a-1;b-2;c-3",
        " a-1  b-2\tc-3 ",
        "a-1\r\nb-2\nc-3\n",
        '["a-1", "b-2", "c-3"]',
        "('a-1', 'b-2'), c-3",
        "a-1,,b-2; ,c-3,a-1",
        "a-1，b-2；c-3",
    ],
)
def test_keys_are_found_however_they_are_listed(tmp_path: Path, text: str) -> None:
    assert configured(tmp_path, TAVILY_API_KEYS=text).settings.keys()["tavily"] == ("a-1", "b-2", "c-3")
    assert configured(tmp_path, "", {"firecrawl.api_keys": [text, "a-1"]}).settings.keys()["firecrawl"] == (
        "a-1",
        "b-2",
        "c-3",
    )


@pytest.mark.requirement("P5-CONFIG-05")
def test_the_plural_comes_first_and_only_when_it_holds_a_key(tmp_path: Path) -> None:
    assert configured(tmp_path, TAVILY_API_KEYS="a,b", TAVILY_API_KEY="c").settings.keys()["tavily"] == ("a", "b")
    for nothing in ("", " ", ",", "[]", '""'):
        configuration = configured(tmp_path, TAVILY_API_KEYS=nothing, TAVILY_API_KEY="c")
        assert configuration.settings.keys()["tavily"] == ("c",)
        assert configuration.origin("tavily.api_keys") == "environment TAVILY_API_KEY"


@pytest.mark.parametrize("quoted", [f'"{KEY}"', f"'{KEY}'", f"  {KEY}\n", f'" {KEY} "'])
def test_quotes_around_a_key_do_not_belong_to_it(tmp_path: Path, quoted: str) -> None:
    assert configured(tmp_path, XAI_API_KEY=quoted).settings.keys()["xai"] == (KEY,)
    assert configured(tmp_path, XAI_API_KEY='""').settings.xai.api_key is None


@pytest.mark.requirement("P5-CONFIG-06")
def test_a_disabled_provider_hands_out_no_key(tmp_path: Path) -> None:
    settings = configured(tmp_path, TAVILY_API_KEY="a", TAVILY_ENABLED="false", FIRECRAWL_API_KEY="b").settings
    assert settings.keys()["tavily"] == ()
    assert settings.ready(("tavily", "firecrawl", "of-a-plugin", "library")) == ("firecrawl", "of-a-plugin", "library")


@pytest.mark.requirement("P5-CONFIG-08", "RS-CONFIG-07")
def test_no_secret_is_shown_anywhere(tmp_path: Path) -> None:
    """Keys where they belong, in an address, and where they were put by mistake."""
    secrets = {
        "XAI_API_KEY": KEY,
        "GROK_API_KEY": "sk-" + "c" * 30,
        "TAVILY_API_KEY": "tvly-" + "t" * 30,
        "GITHUB_TOKEN": "ghp_" + "g" * 30,
    }
    configuration = configured(
        tmp_path,
        GROK_API_URL=f"https://user:{KEY}@relay.example/{KEY}/v1?key={KEY}",
        GROK_MODEL_MAX_ATTEMPTS=KEY,
        **secrets,
    )
    shown = f"{configuration!r} {configuration.settings!r} {configuration.listing()!r} {configuration.problems()}"
    shown += json.dumps(as_plain(configuration.listing()))
    assert not any(secret in shown for secret in secrets.values())
    listing = {setting.name: setting.value for setting in configuration.listing()}
    assert listing["xai.api_key"] == "xai…hij"
    assert listing["tavily.api_keys"] == "tvly…tttt"
    assert listing["chat.api_url"] == "https://relay.example/xai…hij/v1"
    assert listing["firecrawl.api_keys"] == ""


@pytest.mark.requirement("RS-CONFIG-07")
def test_a_key_that_was_put_in_the_wrong_place_is_not_shown_either(tmp_path: Path) -> None:
    configuration = configured(
        tmp_path, TAVILY_API_KEY=KEY, TAVILY_ENABLED="no", GROK_FALLBACK_MODEL=KEY, WEBSEARCH_SERVER_NAME=KEY
    )
    assert {setting.value for setting in configuration.listing() if setting.origin.startswith("environment")} >= {"xai…hij"}
    assert KEY not in repr(configuration.listing())


@pytest.mark.requirement("OURS-34")
def test_the_listing_has_every_setting_in_the_order_of_the_reference(tmp_path: Path) -> None:
    listing = configured(tmp_path).listing()
    assert [setting.name for setting in listing] == ["config_file", *NAMES]
    positions = [reference().index(f"| `{name}` |") for name in NAMES]
    assert positions == sorted(positions)


# --- engine -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("OURS-08")
@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({}, "none"),
        ({"XAI_API_KEY": KEY}, "xai"),
        ({"GROK_SEARCH_API_KEY": KEY}, "xai"),
        ({"XAI_API_KEY": KEY, "GROK_API_URL": "https://relay.example/v1", "GROK_API_KEY": "k"}, "xai"),
        ({"GROK_API_URL": "https://relay.example/v1", "GROK_API_KEY": "k"}, "chat"),
        ({"OPENAI_COMPATIBLE_API_URL": "https://relay.example/v1", "OPENAI_COMPATIBLE_API_KEY": "k"}, "chat"),
        ({"GROK_API_URL": "https://relay.example/v1"}, "none"),
        ({"GROK_API_KEY": "k"}, "none"),
        ({"GROK_API_URL": "http://localhost:11434/v1"}, "chat"),
        ({"GROK_API_URL": "http://127.0.0.2:8080/v1"}, "chat"),
        ({"GROK_API_URL": "http://[::1]:8080/v1"}, "chat"),
        ({"GROK_API_URL": "http://localhost.example/v1"}, "none"),
        ({"GROK_API_URL": "http://127.0.0.1.example/v1"}, "none"),
        ({"GROK_API_URL": "https://api.x.ai/v1", "GROK_API_KEY": "k"}, "xai"),
        ({"GROK_API_URL": "https://api.x.ai.evil.example/v1", "GROK_API_KEY": "k"}, "chat"),
        ({"XAI_API_KEY": KEY, "WEBSEARCH_ENGINE_KIND": "none"}, "none"),
        ({"WEBSEARCH_ENGINE_KIND": "of-a-plugin"}, "of-a-plugin"),
    ],
)
def test_auto_takes_the_first_engine_that_can_work(tmp_path: Path, environ: dict[str, str], kind: str) -> None:
    settings = configured(tmp_path, **environ).settings
    assert settings.engine_kind() == kind
    assert settings.keys()["grok"] == {"xai": settings.keys()["xai"], "chat": settings.keys()["chat"]}.get(kind, ())


def test_at_the_host_of_xai_the_old_pair_configures_the_first_engine_and_not_the_second(tmp_path: Path) -> None:
    configuration = configured(
        tmp_path, GROK_API_URL="https://api.x.ai/v1/", GROK_API_KEY=KEY, OPENAI_COMPATIBLE_API_URL="https://relay.example/v1"
    )
    settings = configuration.settings
    assert settings.xai.api_url == "https://api.x.ai/v1"
    assert settings.keys()["xai"] == (KEY,)
    assert settings.chat.api_url == "https://relay.example/v1"
    assert settings.chat.api_key is None
    assert configuration.origin("xai.api_key") == "environment GROK_API_KEY"
    newer = configured(tmp_path, GROK_API_URL="https://api.x.ai", GROK_API_KEY="old-key", XAI_API_KEY=KEY)
    assert newer.settings.keys()["xai"] == (KEY,)


@pytest.mark.requirement("RS-ADAPTER-11")
@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("https://api.x.ai", "https://api.x.ai/v1"),
        ("https://api.x.ai/v1/", "https://api.x.ai/v1"),
        ("https://host.example/v1/responses", "https://host.example/v1"),
        ("https://host.example/v1/chat/completions", "https://host.example/v1"),
        ("https://host.example/api", "https://host.example/api/v1"),
    ],
)
def test_the_address_of_xai_gets_its_version(tmp_path: Path, given: str, used: str) -> None:
    assert configured(tmp_path, GROK_SEARCH_URL=given).settings.xai.api_url == used


def test_any_other_address_stays_as_it_is_but_for_the_last_slash(tmp_path: Path) -> None:
    assert configured(tmp_path, GROK_API_URL="https://relay.example/api/").settings.chat.api_url == "https://relay.example/api"


@pytest.mark.requirement("P5-CONFIG-01", "P5-CONFIG-02")
@pytest.mark.parametrize(
    ("environ", "toml", "model"),
    [
        ({"XAI_API_KEY": KEY}, "", "grok-4.3"),
        ({"XAI_API_KEY": KEY, "OPENAI_COMPATIBLE_MODEL": "relay-model"}, "", "grok-4.3"),
        ({"XAI_API_KEY": KEY, "GROK_SEARCH_MODEL": "c", "GROK_MODEL": "b", "GROK_PRIMARY_MODEL": "a"}, "", "a"),
        ({"XAI_API_KEY": KEY, "GROK_SEARCH_MODEL": "c", "GROK_MODEL": "b", "GROK_PRIMARY_MODEL": " "}, "", "b"),
        ({"GROK_API_URL": "http://localhost/v1"}, "", "grok-4.3"),
        ({"GROK_API_URL": "http://localhost/v1", "OPENAI_COMPATIBLE_MODEL": "relay-model"}, "", "relay-model"),
        ({"GROK_API_URL": "http://localhost/v1", "OPENAI_COMPATIBLE_MODEL": "relay-model", "GROK_MODEL": "b"}, "", "b"),
        (
            {"GROK_API_URL": "http://localhost/v1", "OPENAI_COMPATIBLE_MODEL": "relay-model"},
            "[engine]\nprimary_model='f'\n",
            "relay-model",
        ),
        ({"GROK_API_URL": "http://localhost/v1"}, "[engine]\nprimary_model='f'\n[chat]\nmodel='g'\n", "f"),
    ],
)
def test_which_model_is_the_primary_one(tmp_path: Path, environ: dict[str, str], toml: str, model: str) -> None:
    configuration = configured(tmp_path, toml, **environ)
    assert configuration.primary_model() == configuration.settings.primary_model() == model
    assert {setting.name: setting.value for setting in configuration.listing()}["engine.primary_model"] == model


@pytest.mark.requirement("OURS-12")
def test_extra_sources_are_three_when_a_web_finder_is_ready(tmp_path: Path) -> None:
    assert configured(tmp_path).settings.extra_sources() == 0, "the library alone is no web finder"
    assert configured(tmp_path, TAVILY_API_KEY="k").settings.extra_sources() == 3
    assert configured(tmp_path, TAVILY_API_KEY="k", GROK_SEARCH_EXTRA_SOURCES="0").settings.extra_sources() == 0
    assert configured(tmp_path, TAVILY_API_KEY="k", GROK_SEARCH_SOURCE_PROVIDERS="library").settings.extra_sources() == 0
    assert configured(tmp_path, GROK_SEARCH_EXTRA_SOURCES="7").settings.extra_sources() == 7


# --- the pages made from the table --------------------------------------------------------------------------------


@pytest.mark.requirement("RS-CONFIG-04")
def test_the_template_changes_nothing(tmp_path: Path) -> None:
    with_template = configured(tmp_path, template())
    assert with_template.problems() == ()
    assert all(with_template.origin(name) == "default" for name in NAMES)
    assert set(tomllib.loads(template())) == {row.section for row in ROWS}


@pytest.mark.requirement("RS-CONFIG-04")
def test_the_template_with_every_setting_uncommented_still_changes_nothing(tmp_path: Path) -> None:
    keys = {row.key for row in ROWS}
    lines = [
        line.removeprefix("# ") if line.removeprefix("# ").split(" = ")[0] in keys else line for line in template().splitlines()
    ]
    uncommented = configured(tmp_path, "\n".join(lines))
    assert uncommented.problems() == ()
    assert uncommented.settings == configured(tmp_path / "elsewhere").settings.__class__(
        **{section: getattr(Settings(), section) for section in tomllib.loads(template())}, home=tmp_path
    )
    set_ones = [row for row in ROWS if row.option.default not in (None, "", ())]
    assert all(uncommented.origin(row.name).startswith("file ") for row in set_ones)


@pytest.mark.requirement("OURS-34")
@every_row
def test_template_and_reference_name_each_setting_with_all_its_variables(row: Declared) -> None:
    (line,) = (line for line in reference().splitlines() if line.startswith(f"| `{row.name}` |"))
    assert all(f"`{variable}`" in line for variable in row.variables)
    assert line.count(" | ") == 3, "a cell must not break the table"
    assert ", ".join(row.variables) in template()
    assert row.option.help.endswith(".")


def test_no_variable_names_two_settings() -> None:
    variables = [variable for row in ROWS for variable in row.variables]
    assert len(variables) == len(set(variables))


@pytest.mark.requirement("RS-CONFIG-04")
def test_the_template_is_written_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new/config.toml"
    assert init_file(path) is True
    assert path.read_text(encoding="utf-8") == template()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("mine")
    assert init_file(path) is False
    assert path.read_text() == "mine"
    with pytest.raises(NotConfigured, match="cannot be written"):
        init_file(path / "config.toml")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("max_attempt", "max_attempts"), ("MAX_ATTEMPTS", "max_attempts"), ("timeuot", "timeout"), ("zebra", None), ("", None)],
)
def test_finds_the_nearest_name(name: str, nearest: str | None) -> None:
    assert find_nearest(name, ["max_attempts", "timeout"]) == nearest


def test_reading_needs_nothing_heavy() -> None:
    """Importing loads only the standard library and our core; TOML, platform folders and close matches come when used."""
    script = "import sys; import websearch_adapters.settings; print(*sorted(name.split('.')[0] for name in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SOURCES)}
    ).stdout.split()
    assert "websearch_adapters" in loaded
    assert not {"pydantic", "httpx", "platformdirs", "tomllib", "difflib", "asyncio", "mcp", "rich"} & set(loaded)


# --- switching the model ------------------------------------------------------------------------------------------

COMMENTED = """# mine
title_of_nothing = 1

[search]   # how I search
inline_sources = 7 # lucky

[engine] # the engine
# primary_model = "commented"
kind = "auto"
{line}
max_attempts = 4

[xai]
api_key = "xai-0123456789abcdefghij"
"""


@pytest.mark.requirement("OURS-17")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[engine]\nprimary_model = "new"\n'),
        ("# only a comment", '# only a comment\n\n[engine]\nprimary_model = "new"\n'),
        ("[engine]", '[engine]\nprimary_model = "new"\n'),
        ("[xai]\r\nx_search = true\r\n", '[xai]\r\nx_search = true\r\n\r\n[engine]\r\nprimary_model = "new"\r\n'),
        (COMMENTED.format(line='primary_model = "old" # fast'), COMMENTED.format(line='primary_model = "new" # fast')),
        (COMMENTED.format(line="primary_model   =   'old'"), COMMENTED.format(line='primary_model   =   "new"')),
        ('[other]\nprimary_model = "x"\n[engine]\n', '[other]\nprimary_model = "x"\n[engine]\nprimary_model = "new"\n'),
        ('engine.primary_model = "old"\nengine.kind = "xai"\n', 'engine.primary_model = "new"\nengine.kind = "xai"\n'),
        ('engine.kind = "xai"\n[xai]\n', 'engine.primary_model = "new"\nengine.kind = "xai"\n[xai]\n'),
        ('engine = {kind = "xai"}\n', 'engine = { primary_model = "new", kind = "xai"}\n'),
        ("engine = {}\n", 'engine = { primary_model = "new"}\n'),
        ('engine = {kind = "a", primary_model = "old"}\n', 'engine = {kind = "a", primary_model = "new"}\n'),
        (
            'name = """\n[engine]\nprimary_model = "no"\n"""\n[ "engine" ]\nprimary_model = "old"\n',
            'name = """\n[engine]\nprimary_model = "no"\n"""\n[ "engine" ]\nprimary_model = "new"\n',
        ),
        ('engine_primary_model = "flat"\n', 'engine_primary_model = "flat"\n\n[engine]\nprimary_model = "new"\n'),
    ],
)
def test_only_the_line_of_the_model_changes(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())
    configuration = configured(tmp_path)
    assert configuration.switch_model("new") == str(path)
    assert path.read_bytes().decode() == after
    assert configuration.primary_model() == "new"
    assert configured(tmp_path).primary_model() == "new", "after a restart too"
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix == ".tmp"] == []


def test_switching_makes_the_file_and_its_folder_for_their_owner_only(tmp_path: Path) -> None:
    configuration = read(environ={"WEBSEARCH_HOME": str(tmp_path / "not/yet")})
    path = Path(configuration.switch_model("new"))
    assert tomllib.loads(path.read_text()) == {"engine": {"primary_model": "new"}}
    assert configuration.origin("engine.primary_model") == f"file {path}"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        configuration.switch_model("newer")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    (tmp_path / "config.toml").symlink_to(real)
    configured(tmp_path).switch_model("new")
    assert (tmp_path / "config.toml").is_symlink()
    assert real.read_text() == '# mine\n\n[engine]\nprimary_model = "new"\n'


@pytest.mark.requirement("P5-CONFIG-01", "P5-TOOLS-08")
def test_after_a_restart_the_environment_still_comes_first(tmp_path: Path) -> None:
    configuration = configured(tmp_path, GROK_PRIMARY_MODEL="of-the-environment")
    configuration.switch_model("switched")
    assert configuration.primary_model() == "switched"
    assert configured(tmp_path, GROK_PRIMARY_MODEL="of-the-environment").primary_model() == "of-the-environment"


@pytest.mark.parametrize("name", ["", "   ", "two\nlines", "\x00", "m" * 201, "\ud800", "esc\x1b"])
def test_what_is_no_model_is_refused_and_writes_nothing(tmp_path: Path, name: str) -> None:
    configuration = configured(tmp_path)
    with pytest.raises(InvalidInput, match="model"):
        configuration.switch_model(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["[engine\n", "engine = 1\n", 'engine = [{kind = "x"}]\n', "[[engine]]\nkind = 'x'\n"])
def test_a_file_that_cannot_be_understood_is_not_touched(tmp_path: Path, content: str) -> None:
    configuration = configured(tmp_path, content)
    with pytest.raises(NotConfigured, match="nothing was changed"):
        configuration.switch_model("new")
    assert (tmp_path / "config.toml").read_text() == content
    assert configuration.primary_model() == "grok-4.3"


@pytest.mark.requirement("OURS-17")
def test_when_the_file_cannot_be_written_the_process_keeps_its_model(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    configuration = read(environ={"WEBSEARCH_HOME": str(tmp_path)}, file=tmp_path / "file/config.toml")
    with pytest.raises(NotConfigured, match="cannot be written") as caught:
        configuration.switch_model("new")
    assert "GROK_PRIMARY_MODEL" in (caught.value.hint or "")
    assert configuration.primary_model() == "grok-4.3"
    assert configuration.origin("engine.primary_model") == "default"


HOLDER = """
import sys
from pathlib import Path
from websearch_adapters import atomic_file

with atomic_file.locked(Path(sys.argv[1]), 10):
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_while_another_process_changes_the_file_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    impatient = LoadedConfiguration(Settings(file=path), lock_wait_s=0)
    with started(HOLDER, str(path)) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(NotConfigured, match="TimeoutError"):
            impatient.switch_model("new")
        assert not path.exists()
        holder.communicate("release\n")
    impatient.switch_model("new")
    assert path.exists()


def test_a_holder_that_is_killed_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    with started(HOLDER, str(path)) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "locked\n"
        holder.kill()
        holder.communicate()
    LoadedConfiguration(Settings(file=path), lock_wait_s=0).switch_model("new")
    assert path.exists()


SWITCHER = """
import sys
from pathlib import Path
from websearch_adapters.settings import read

configuration = read(environ={}, file=Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    configuration.switch_model(f"{sys.argv[2]}-{number}")
"""


@pytest.fixture
def switchers(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED.format(line='primary_model = "old" # fast'))
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(started(SWITCHER, str(path), name)) for name in ("one", "two", "three")]


@pytest.mark.requirement("EDGE-07", "OURS-17")
def test_processes_that_switch_at_once_lose_and_break_nothing(tmp_path: Path, switchers: list[subprocess.Popen[str]]) -> None:
    path, allowed = (
        tmp_path / "config.toml",
        {"old", *(f"{name}-{number}" for name in ("one", "two", "three") for number in range(40))},
    )
    for process in switchers:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in switchers:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    while any(process.poll() is None for process in switchers):
        seen = path.read_text()
        model = tomllib.loads(seen)["engine"]["primary_model"]
        assert model in allowed
        assert seen == COMMENTED.format(line=f'primary_model = "{model}" # fast')
    assert [process.wait() for process in switchers] == [0, 0, 0]
    assert tomllib.loads(path.read_text())["engine"]["primary_model"].endswith("-39")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["config.toml", "config.toml.lock"]


def test_it_is_the_port(tmp_path: Path) -> None:
    port: Configuration = configured(tmp_path)
    assert port.primary_model() == "grok-4.3"


@pytest.mark.parametrize(
    ("environ", "model", "toolsets"),
    [
        ({}, "grok-4.3", ("core", "admin")),
        ({"XAI_API_KEY": KEY}, "grok-4.3", ("core", "x", "admin")),
        ({"XAI_API_KEY": KEY, "GROK_PRIMARY_MODEL": "grok-4.7"}, "grok-4.7", ("core", "x", "admin")),
        ({"XAI_API_KEY": KEY, "GROK_PRIMARY_MODEL": "m", "WEBSEARCH_ENGINE_KIND": "chat"}, "grok-4.3", ("core", "x", "admin")),
        ({"XAI_API_KEY": KEY, "WEBSEARCH_X_MODEL": "grok-4.5", "WEBSEARCH_TOOLSETS": "core"}, "grok-4.5", ("core",)),
        ({"WEBSEARCH_TOOLSETS": "x, core"}, "grok-4.3", ("x", "core")),
    ],
)
def test_x_is_offered_where_it_can_work_and_asked_by_a_model_that_xai_knows(
    environ: dict[str, str], model: str, toolsets: tuple[str, ...], tmp_path: Path
) -> None:
    chosen = configured(tmp_path, **environ).settings

    assert (chosen.posts_model(), chosen.toolsets()) == (model, toolsets)


def test_x_is_offered_to_a_login_too(tmp_path: Path) -> None:
    login = configured(tmp_path).settings.login_file
    login.parent.mkdir(parents=True)
    login.write_text("{}", encoding="utf-8")

    assert configured(tmp_path).settings.toolsets() == ("core", "x", "admin")


def test_every_section_of_the_settings_can_be_set() -> None:
    """A section that is missing in the table keeps its defaults whatever the environment says."""
    sections = {item.name for item in dataclasses.fields(Settings) if dataclasses.is_dataclass(getattr(Settings(), item.name))}
    assert sections == set(PARTS)
