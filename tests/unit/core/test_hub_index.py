"""The search over tools."""

from __future__ import annotations

import math

import pytest

from websearch_core.hub.index import ToolIndex, tokens
from websearch_core.hub.registry import Registry, listed, respecified
from websearch_core.hub.values import Catalog, StdioTransport, UpstreamSpec, UpstreamTool
from websearch_core.values import Json


def catalog(*tools: tuple[str, str, str], deny: tuple[str, ...] = ()) -> Catalog:
    """Of (upstream, raw name, description)."""
    registry = Registry()
    for upstream in dict.fromkeys(tool[0] for tool in tools):
        spec = UpstreamSpec(name=upstream, transport=StdioTransport(command="x"), tools_deny=deny)
        registry, _ = respecified(registry, spec)
        mine = [UpstreamTool(name=name, description=about) for owner, name, about in tools if owner == upstream]
        registry, _ = listed(registry, upstream, mine)
    return registry.catalog


def indexed(*tools: tuple[str, str, str]) -> ToolIndex:
    index = ToolIndex()
    index.update(catalog(*tools))
    return index


def ids(index: ToolIndex, need: str, *, upstream: str = "", limit: int = 5) -> list[str]:
    return [one.entry.id for one in index.search(need, upstream=upstream, limit=limit).items]


TOOLS = (
    ("a", "fetch", "Read a web page."),
    ("b", "fetch", "Get a row of the table."),
    ("github", "create_issue", "Open an issue in a repository."),
    ("github", "listPullRequests", "Pull requests of a repository."),
    ("maps", "weather", "查询城市天气预报"),
    ("mail", "send", "Send an e-mail to somebody."),
)


@pytest.mark.requirement("HUB-FIND-01")
@pytest.mark.parametrize("need", ["fetch", " FETCH "])
def test_a_bare_name_finds_every_tool_of_that_name_first(need: str) -> None:
    found = indexed(*TOOLS).search(need)
    assert [(one.entry.id, one.exact) for one in found.items] == [("a__fetch", True), ("b__fetch", True)]


@pytest.mark.requirement("HUB-FIND-01")
def test_a_qualified_name_finds_its_tool_first_under_its_id_and_under_its_raw_name() -> None:
    index = indexed(*TOOLS, ("my.docs", "read page", "Reads."))
    assert ids(index, "b__fetch")[0] == "b__fetch"
    assert ids(index, "my.docs__read page")[0] == ids(index, "read page")[0] == ids(index, ids(index, "read page")[0])[0]


def test_after_exact_names_come_those_that_fit_by_words() -> None:
    found = indexed(*TOOLS, ("c", "page_reader", "To fetch a page."), ("c", "other", "Nothing.")).search("fetch")
    assert [(one.entry.id, one.exact) for one in found.items][2:] == [("c__page_reader", False)]
    assert found.total == 3


@pytest.mark.requirement("HUB-FIND-02")
@pytest.mark.parametrize(
    ("need", "first"),
    [
        ("open a new issue", "github__create_issue"),
        ("creating issues", "github__create_issue"),
        ("createIssue", "github__create_issue"),
        ("pull request list", "github__listPullRequests"),
        ("read pages", "a__fetch"),
        ("天气", "maps__weather"),
        ("城市的天气怎么样", "maps__weather"),
        ("sending e-mails", "mail__send"),
    ],
)
def test_words_are_found_in_any_form_inside_identifiers_and_in_chinese(need: str, first: str) -> None:
    assert ids(indexed(*TOOLS), need)[0] == first


def test_a_single_chinese_character_is_found_and_one_that_occurs_nowhere_is_not() -> None:
    assert ids(indexed(*TOOLS), "雨") == []
    assert ids(indexed(*TOOLS), "城") == ["maps__weather"]


def test_what_fits_nowhere_is_not_shown_and_words_that_say_nothing_find_nothing() -> None:
    assert indexed(*TOOLS).search("zeppelin").total == 0
    assert indexed(*TOOLS).search("the of and").total == 0
    assert ToolIndex().search("fetch").items == ()


def test_scores_are_those_of_bm25() -> None:
    index = indexed(("a", "x1", "alpha beta"), ("a", "x2", "beta"))
    (found,) = index.search("alpha").items
    # terms of a document: upstream, raw name twice, description; "a" is a stop word
    lengths, idf = (4, 3), math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    norm = 1.2 * (1 - 0.75 + 0.75 * lengths[0] / (sum(lengths) / 2))
    assert found.score == pytest.approx(idf * 2.2 / (1 + norm))


@pytest.mark.requirement("HUB-FIND-03")
def test_equal_scores_are_in_the_order_of_ids_whatever_came_first() -> None:
    tools = [(name, "tool", "Equal words.") for name in ("u3", "u1", "u2")]
    assert ids(indexed(*tools), "equal") == ids(indexed(*reversed(tools)), "equal") == ["u1__tool", "u2__tool", "u3__tool"]


@pytest.mark.requirement("HUB-FIND-04")
def test_it_is_updated_by_what_changed_alone() -> None:
    index = ToolIndex()
    first = catalog(*TOOLS)
    assert index.update(first) == 6
    assert index.update(first) == 0
    second = catalog(*TOOLS[:-1], ("mail", "send", "Post a letter."))
    assert index.update(second) == 2
    assert (ids(index, "letter"), ids(index, "somebody")) == (["mail__send"], [])


def test_a_tool_that_a_model_may_not_see_is_not_found() -> None:
    index = ToolIndex()
    index.update(catalog(*TOOLS, deny=("weather",)))
    assert (len(index), ids(index, "weather")) == (5, [])


def test_one_upstream_alone_can_be_searched_and_results_can_be_paged() -> None:
    index = indexed(*TOOLS)
    assert ids(index, "fetch", upstream="b") == ["b__fetch"]
    page = index.search("repository", offset=1, limit=1)
    assert ([one.entry.id for one in page.items], page.total) == (["github__listPullRequests"], 2)


def test_parameter_names_are_words_of_a_tool() -> None:
    registry, _ = respecified(Registry(), UpstreamSpec(name="a", transport=StdioTransport(command="x")))
    schema: dict[str, Json] = {"type": "object", "properties": {"postalCode": {"type": "string"}}}
    registry, _ = listed(
        registry, "a", [UpstreamTool(name="look", input_schema=schema), UpstreamTool(name="other", input_schema={})]
    )
    index = ToolIndex()
    index.update(registry.catalog)
    assert ids(index, "postal code") == ["a__look"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("save_issue", ["sav", "issu", "saveissue"]),
        ("notion-search", ["notion", "search"]),
        ("getByUID", ["get", "uid", "getbyuid"]),
        ("HTMLParser", ["html", "pars", "htmlparser"]),
        ("Crème brûlée", ["crem", "brule"]),
        ("ＡＰＩ", ["api"]),
        ("creates creation creator", ["creat"] * 3),
        ("queries queried", ["query"] * 2),
        ("v2 of 10", ["v2", "10"]),
    ],
)
def test_how_text_becomes_terms(text: str, terms: list[str]) -> None:
    assert list(tokens(text)) == terms


def test_chinese_is_asked_by_pairs_and_kept_by_pairs_and_characters() -> None:
    assert list(tokens("天气图")) == ["天气", "气图", "天", "气", "图"]
    assert list(tokens("天气图", asking=True)) == ["天气", "气图"]
    assert list(tokens("图", asking=True)) == ["图"]
