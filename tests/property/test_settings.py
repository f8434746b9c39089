"""Laws of the settings, for every text that an environment, a file or a person can hold."""

from __future__ import annotations

import json
import math
import string
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from websearch_adapters.settings import REPETITIONS_VARIABLE, Declared, LoadedConfiguration, declared, read
from websearch_core.values import Secret

ROWS = declared()
rows = st.sampled_from(ROWS)
variables = st.sampled_from([name for row in ROWS for name in row.variables])
environment_text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=80)
blanks = st.text(" \t\r\n\u3000", max_size=4)
keys = st.lists(
    st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=40), min_size=1, max_size=6, unique=True
)
separators = st.sampled_from([",", ";", " ", "\n", "\r\n", "\t", ", ", " ; ", ",,", "\n\n", "，", "] [", '", "', "', '"])
model_names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=60)


@contextmanager
def home(toml: str = "") -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        if toml:
            (Path(folder) / "config.toml").write_bytes(toml.encode("utf-8", "surrogatepass"))
        yield Path(folder)


def value_of(configuration: LoadedConfiguration, row: Declared) -> Any:
    return getattr(getattr(configuration.settings, row.section), row.key)


def usable(row: Declared) -> st.SearchStrategy[str]:
    """Values of a setting, as text."""
    known = row.option
    if known.choices:
        return st.sampled_from(known.choices)
    if known.form in {"url", "api_base"}:
        return st.integers(1, 65_535).map(lambda port: f"https://host.example:{port}/v1")
    if known.form in {"issuer", "proxy"}:
        return st.integers(1, 65_535).map(lambda port: f"http://127.0.0.1:{port}")
    if known.form == "redis":
        return st.integers(1, 65_535).map(lambda port: f"redis://host.example:{port}/1")
    if known.form == "hosts":
        return st.integers(1, 255).map(lambda byte: f"10.0.0.{byte}")
    if known.ge is not None and known.le is not None:
        return st.integers(math.ceil(known.ge), int(known.le)).map(str)
    return st.sampled_from(["true", "false"]) if row.kind == "bool" else st.text("abcdefgh", min_size=1, max_size=20)


def usable_at(row: Declared, place: str) -> st.SearchStrategy[str]:
    """Values of a setting, as this place has them: one variable does not count the first attempt."""
    if place != REPETITIONS_VARIABLE:
        return usable(row)
    assert row.option.ge is not None
    assert row.option.le is not None
    return st.integers(int(row.option.ge) - 1, int(row.option.le) - 1).map(str)


def is_sound(configuration: LoadedConfiguration) -> bool:
    """Every value has its type and lies in its range."""
    for row in ROWS:
        value, known = value_of(configuration, row), row.option
        parts = value if isinstance(value, tuple) else (value,)
        kinds = {"bool": bool, "float": float, "int": int, "str": str, "tuple[str, ...]": str, "tuple[Secret, ...]": Secret}
        kind = {"int | None": int, "Secret | None": Secret}.get(row.kind, kinds.get(row.kind, object))
        fits = value is None or all(type(part) in {kind, int if kind is float else kind} for part in parts)
        inside = known.ge is None or value is None or known.ge <= value <= (known.le or 0)
        chosen = not known.choices or set(parts) <= set(known.choices)
        if not (fits and inside and chosen):
            return False
    return True


@given(st.dictionaries(variables, environment_text, max_size=8))
def test_no_environment_stops_or_spoils_anything(environ: dict[str, str]) -> None:
    with home() as folder:
        configuration = read(environ={**environ, "WEBSEARCH_HOME": str(folder)})
        assert is_sound(configuration)
        assert configuration.listing()
        assert configuration.settings.engine_kind()


@given(st.text(max_size=200))
@example("[engine]\nmax_attempts = 1e400")
@example("[xai]\nweb_search = 1979-05-27")
@example("[engine]\nkind = {a = [1, {b = 2}]}")
@example("\ud800")
def test_no_file_stops_or_spoils_anything(toml: str) -> None:
    with home(toml) as folder:
        assert is_sound(read(environ={"WEBSEARCH_HOME": str(folder)}))


toml_values = st.recursive(
    st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab1,.[] ", max_size=10),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(rows, toml_values, max_size=6))
def test_no_value_of_a_file_stops_or_spoils_anything(values: dict[Declared, object]) -> None:
    toml = "".join(f"{row.section}_{row.key} = {json.dumps(value)}\n" for row, value in values.items())
    with home(toml) as folder:
        configuration = read(environ={"WEBSEARCH_HOME": str(folder)})
        assert is_sound(configuration)
        assert all(problem.partition(" ")[0] in {row.name for row in values} for problem in configuration.problems())


@pytest.mark.requirement("OURS-31")
@given(rows, st.data())
def test_the_first_place_with_a_value_counts(row: Declared, data: st.DataObject) -> None:
    """Argument, then each variable in its order, then the file; blanks in between change nothing."""
    places = ["argument", *row.variables, "file"]
    filled = {place: data.draw(usable_at(row, place) if data.draw(st.booleans(), label=place) else blanks) for place in places}
    file = {"file": f"{row.section}_{row.key} = {json.dumps(filled['file'])}\n"}["file"]
    with home(file) as folder:
        environ = {name: filled[name] for name in row.variables}
        configuration = read({row.name: filled["argument"]}, environ={**environ, "WEBSEARCH_HOME": str(folder)})
        first = next((place for place in places if filled[place].strip()), None)
        origins = {None: "default", "argument": "argument", "file": f"file {folder / 'config.toml'}"}
        assert configuration.origin(row.name) == origins.get(first, f"environment {first}")
        with home() as empty:
            written = str(int(filled[first]) + 1) if first == REPETITIONS_VARIABLE else filled.get(first or "", "")
            alone = read({row.name: written} if first else {}, environ={"WEBSEARCH_HOME": str(empty)})
        assert value_of(configuration, row) == value_of(alone, row)
        assert configuration.problems() == ()


@given(rows, blanks, st.data())
def test_blanks_in_every_place_are_the_default(row: Declared, blank: str, data: st.DataObject) -> None:
    environ = {name: data.draw(blanks) for name in row.variables}
    with home(f"[{row.section}]\n{row.key} = {json.dumps(blank)}\n") as folder:
        configuration = read({row.name: data.draw(blanks)}, environ={**environ, "WEBSEARCH_HOME": str(folder)})
        assert value_of(configuration, row) == row.option.default
        assert configuration.problems() == ()


@pytest.mark.requirement("P5-CONFIG-04", "P5-CONFIG-05")
@given(keys, st.data())
def test_a_list_of_keys_is_read_back_in_order_whatever_separates_them(wanted: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(["", "[", '["', " "]))
    for key in [*wanted, *data.draw(st.lists(st.sampled_from(wanted), max_size=3))]:
        text += key + data.draw(separators)
    with home() as folder:
        configuration = read(environ={"TAVILY_API_KEYS": text, "WEBSEARCH_HOME": str(folder)})
        assert configuration.settings.keys()["tavily"] == tuple(wanted)
        assert configuration.problems() == ()


comments = st.sampled_from(["", "# note", "# primary_model = 'x'", "  # [engine]"])
tables = st.dictionaries(
    st.sampled_from(["engine", "xai", "search", "other", "engine.sub", '"engine"']),
    st.dictionaries(st.sampled_from(["primary_model", "kind", "x", "'primary_model'"]), toml_values, max_size=3),
    max_size=4,
)


@given(tables, st.lists(comments, min_size=12, max_size=12), st.sampled_from(["\n", "\r\n"]), model_names)
def test_switching_the_model_changes_that_value_and_keeps_every_other_and_every_comment(
    content: dict[str, dict[str, object]], remarks: list[str], end: str, model: str
) -> None:
    remark = iter(remarks * 3)
    lines = []
    for section, values in content.items():
        lines += [next(remark), f"[{section}] {next(remark)}"]
        lines += [f"{key} = {json.dumps(value)} {next(remark)}" for key, value in values.items()]
    toml = end.join(lines)
    try:
        wanted = tomllib.loads(toml)
    except tomllib.TOMLDecodeError:
        return  # two spellings of one table in one file
    wanted.setdefault("engine", {})["primary_model"] = model
    with home(toml) as folder:
        configuration = read(environ={"WEBSEARCH_HOME": str(folder)})
        after = Path(configuration.switch_model(model)).read_bytes().decode()
        assert tomllib.loads(after) == wanted
        assert [line for line in after.splitlines() if line.strip().startswith("#")] == [
            line for line in toml.splitlines() if line.strip().startswith("#")
        ]
        assert read(environ={"WEBSEARCH_HOME": str(folder)}).primary_model() == model
