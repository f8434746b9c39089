"""Laws of the search over tools, for every history of a catalog."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from websearch_core.hub.index import ToolIndex, tokens
from websearch_core.hub.registry import Registry, findable, listed, respecified
from websearch_core.hub.values import StdioTransport, UpstreamSpec, UpstreamTool
from websearch_core.testing.strategies import hostile_text

WORDS = st.lists(st.sampled_from(["send", "mail", "read", "file", "天气", "预报", "list", "page"]), max_size=4).map(" ".join)
LISTS = st.lists(
    st.builds(lambda name, about: UpstreamTool(name=name, description=about), st.sampled_from(["a", "b.c", "send", "x"]), WORDS),
    max_size=4,
)
HISTORY = st.lists(st.tuples(st.sampled_from(["one", "two"]), LISTS), max_size=6)


@given(history=HISTORY, need=WORDS)
@settings(deadline=None)
def test_an_index_that_was_updated_is_one_that_was_built_anew(history: list[tuple[str, list[UpstreamTool]]], need: str) -> None:
    registry, updated = Registry(), ToolIndex()
    for upstream, tools in history:
        spec = UpstreamSpec(name=upstream, transport=StdioTransport(command="x"), accept_changes=True)
        registry, _ = respecified(registry, spec)
        registry, _ = listed(registry, upstream, tools)
        updated.update(registry.catalog)
    anew = ToolIndex()
    anew.update(registry.catalog)
    updated.update(registry.catalog)

    assert updated.search(need, limit=100) == anew.search(need, limit=100)
    assert len(updated) == len(findable(registry.catalog))


@given(text=hostile_text(max_size=200))
def test_any_text_becomes_terms_without_blanks_and_a_question_has_no_others_than_a_document(text: str) -> None:
    terms = list(tokens(text))
    assert all(term and not term.isspace() for term in terms)
    assert set(tokens(text, asking=True)) <= set(terms)
