"""Ids that every host takes, of whatever upstreams call their tools."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_core.hub.names import HOST_PREFIXES, MAX_CHARS, is_upstream_name, tool_id
from websearch_core.testing.strategies import hostile_text

LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def seams(name: str) -> int:
    return len(re.findall("(?=__)", name))


def test_a_pair_that_makes_a_legal_id_is_its_own_id() -> None:
    assert tool_id("linear", "list_issues") == "linear__list_issues"
    assert tool_id("s" * 30, "t" * 16) == "s" * 30 + "__" + "t" * 16


@pytest.mark.requirement("HUB-NAME-01")
@pytest.mark.parametrize(
    ("upstream", "tool", "stem"),
    [
        ("123", "lookup", "n123__lookup"),
        ("server:scope", "tool", "server_scope__tool"),
        ("server__part", "tool", "server_part__tool"),
        ("server", "tool__part", "server__tool_part"),
        ("foo_", "bar", "foo__bar"),
        ("foo", "_bar", "foo__bar"),
        ("a", "_b", "a__b"),
        ("", "bar", "upstream__bar"),
        ("foo", "", "foo__tool"),
        ("docs", "read.page now", "docs__read_page_now"),
        ("docs", "搜索", "docs__tool"),
        ("café", "crème", "cafe__creme"),
        ("research-tools-production", "search" * 12, "research-tools-pro__searchsearchsearchs"),
        ("a" * 60, "b", "a" * 36 + "__b"),
        ("docs", "tool_0123abcd", "docs__tool_0123abcd"),
    ],
)
def test_any_other_pair_gets_an_alias_with_a_readable_stem(upstream: str, tool: str, stem: str) -> None:
    name = tool_id(upstream, tool)
    assert re.fullmatch(re.escape(stem) + "_[0-9a-f]{8}", name)
    assert LEGAL.fullmatch(name)


@pytest.mark.requirement("HUB-NAME-02")
@given(upstream=hostile_text(max_size=80), tool=hostile_text(max_size=120))
def test_every_id_is_legal_and_short_behind_every_hosts_prefix_with_exactly_one_separator(upstream: str, tool: str) -> None:
    name = tool_id(upstream, tool)
    assert LEGAL.fullmatch(name)
    assert seams(name) == 1
    assert name == tool_id(upstream, tool)
    assert all(len(prefix + name) <= limit for _, prefix, limit in HOST_PREFIXES)


PART = st.text("ab_.-0", max_size=4)


@pytest.mark.requirement("HUB-NAME-03")
@given(one=st.tuples(PART, PART), other=st.tuples(PART, PART))
def test_different_tools_have_different_ids(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (tool_id(*one) == tool_id(*other)) == (one == other)


@pytest.mark.requirement("HUB-NAME-03")
def test_nobody_can_name_a_tool_to_be_taken_for_another() -> None:
    alias = tool_id("docs", "read.page")
    upstream, _, tool = alias.partition("__")
    assert tool_id(upstream, tool) != alias


@pytest.mark.parametrize("name", ["a", "github", "my-tools", "my_tools", "x" * 63, "3d"])
def test_names_that_a_person_may_give(name: str) -> None:
    assert is_upstream_name(name)


@pytest.mark.parametrize("name", ["", "a__b", "_a", "a_", "-a", "a b", "a.b", "x" * 64, "ü", "a\n"])
def test_names_that_a_person_may_not_give(name: str) -> None:
    assert not is_upstream_name(name)


def test_the_limit_is_what_the_strictest_host_leaves() -> None:
    assert MAX_CHARS == 48
