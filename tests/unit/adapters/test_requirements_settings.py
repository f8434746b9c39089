"""Names and values of settings that other systems' users bring along."""

from __future__ import annotations

from pathlib import Path

import pytest

from websearch_adapters.settings import declared, read

ROWS = declared()
PREDECESSORS = {
    "GROK_API_URL": "https://relay.example/v1",
    "GROK_API_KEY": "key-0123456789abcdef",
    "GROK_PRIMARY_MODEL": "a-model",
    "GROK_FALLBACK_MODEL": "a-model",
    "GROK_MODEL_MAX_ATTEMPTS": "7",
    "GROK_MODEL": "a-model",
    "GROK_RETRY_MULTIPLIER": "7",
    "GROK_RETRY_MAX_WAIT": "7",
    "GROK_DEBUG": "true",
    "GROK_LOG_LEVEL": "DEBUG",
    "TAVILY_API_KEY": "key-0123456789abcdef",
    "TAVILY_API_KEYS": "key-0123456789abcdef",
    "TAVILY_API_URL": "https://relay.example/v1",
    "TAVILY_ENABLED": "false",
    "TAVILY_KEY_COOLDOWN": "7",
    "TAVILY_QUOTA_COOLDOWN": "7",
    "TAVILY_SERVICE_FAILURE_THRESHOLD": "7",
    "TAVILY_SERVICE_COOLDOWN": "7",
    "FIRECRAWL_API_URL": "https://relay.example/v1",
    "FIRECRAWL_API_KEY": "key-0123456789abcdef",
    "FIRECRAWL_ENABLED": "false",
    "GROK_SEARCH_URL": "https://relay.example/v1",
    "GROK_SEARCH_API_KEY": "key-0123456789abcdef",
    "GROK_SEARCH_MODEL": "a-model",
    "GROK_SEARCH_WEB_SEARCH": "false",
    "GROK_SEARCH_X_SEARCH": "true",
    "GROK_SEARCH_SOURCE_PROVIDERS": "firecrawl,tavily",
    "GROK_SEARCH_EXTRA_SOURCES": "7",
    "GROK_SEARCH_FALLBACK_SOURCES": "7",
    "GROK_SEARCH_FETCH_MAX_CHARS": "9000",
    "GROK_SEARCH_CACHE_SIZE": "7",
    "GROK_SEARCH_MAX_INLINE_SOURCES": "7",
    "GROK_SEARCH_RESPONSE_MAX_CHARS": "9000",
    "OPENAI_COMPATIBLE_API_URL": "https://relay.example/v1",
    "OPENAI_COMPATIBLE_API_KEY": "key-0123456789abcdef",
    "OPENAI_COMPATIBLE_MODEL": "a-model",
    "XAI_API_KEY": "key-0123456789abcdef",
}


@pytest.mark.requirement("OURS-33")
@pytest.mark.parametrize(("variable", "value"), PREDECESSORS.items())
def test_a_predecessors_variable_sets_its_setting(variable: str, value: str, tmp_path: Path) -> None:
    (row,) = (row for row in ROWS if variable in row.variables)
    loaded = read(environ={"WEBSEARCH_HOME": str(tmp_path), variable: value})
    assert loaded.origin(row.name) == f"environment {variable}"
    assert loaded.problems() == ()
    chosen = loaded.settings
    assert getattr(getattr(chosen, row.section), row.key) != row.option.default


@pytest.mark.requirement("P5-CONFIG-02", "EDGE-13")
@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_a_blank_primary_model_leaves_the_place_to_its_second_name(blank: str, tmp_path: Path) -> None:
    loaded = read(environ={"WEBSEARCH_HOME": str(tmp_path), "GROK_PRIMARY_MODEL": blank, "GROK_MODEL": "second"})
    assert loaded.settings.engine.primary_model == "second"


@pytest.mark.requirement("P5-CONFIG-03")
def test_attempts_are_three_unless_set(tmp_path: Path) -> None:
    home = {"WEBSEARCH_HOME": str(tmp_path)}
    assert read(environ=home).settings.engine.max_attempts == 3
    assert read(environ={**home, "GROK_MODEL_MAX_ATTEMPTS": "1"}).settings.engine.max_attempts == 1


@pytest.mark.requirement("RS-SERVICE-09", "OURS-12")
@pytest.mark.parametrize(
    ("variable", "wrong"),
    [("GROK_SEARCH_FALLBACK_SOURCES", "0"), ("GROK_SEARCH_EXTRA_SOURCES", "21"), ("GROK_SEARCH_EXTRA_SOURCES", "-1")],
)
def test_numbers_of_sources_have_their_limits(variable: str, wrong: str, tmp_path: Path) -> None:
    loaded = read(environ={"WEBSEARCH_HOME": str(tmp_path), variable: wrong})
    (problem,) = loaded.problems()
    assert variable in problem
    assert loaded.settings == read(environ={"WEBSEARCH_HOME": str(tmp_path)}).settings


@pytest.mark.requirement("OURS-18")
def test_both_deadlines_of_a_search_are_settings(tmp_path: Path) -> None:
    home = {"WEBSEARCH_HOME": str(tmp_path)}
    chosen = read(environ=home).settings.search
    assert (chosen.deadline_s, chosen.deadline_no_progress_s) == (270.0, 50.0)
    more = {"WEBSEARCH_SEARCH_DEADLINE_S": "100", "WEBSEARCH_SEARCH_DEADLINE_NO_PROGRESS_S": "20"}
    chosen = read(environ={**home, **more}).settings.search
    assert (chosen.deadline_s, chosen.deadline_no_progress_s) == (100.0, 20.0)


@pytest.mark.requirement("RS-CONFIG-06")
def test_names_in_a_list_are_trimmed_lower_case_and_single(tmp_path: Path) -> None:
    loaded = read(
        environ={"WEBSEARCH_HOME": str(tmp_path), "GROK_SEARCH_SOURCE_PROVIDERS": " Tavily ;LIBRARY, tavily,, library "}
    )
    assert loaded.settings.search.finders == ("tavily", "library")
