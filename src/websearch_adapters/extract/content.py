"""Which part of a page is its content.

The tree loses what a reader never sees; `survey` turns the rest into lists; `rules` give a first verdict; `forest` scores every
block of text; the blocks that together promise the best balance of precision and recall stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit

from websearch_adapters.extract import components, features, forest, formulas, names, rules
from websearch_adapters.extract.markup import attributes, body_of, remove, select, text_of
from websearch_adapters.extract.survey import HEADINGS, INLINE, Survey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from websearch_adapters.extract.markup import Element
    from websearch_adapters.extract.metadata import Metadata
    from websearch_adapters.extract.rules import Verdict

__all__ = ["Kind", "Layout", "drop", "kind_of", "main_content", "stripped"]

Layout: TypeAlias = Literal["article", "forum", "page"]

LOWEST, HIGHEST = 0.2, 0.5
"""Bounds of the likelihood from which on a block is kept."""
SHARE = 0.6
"""Least likelihood of a block as a share of what is typical for the kept text."""
INSIDE_SHARE, OUTSIDE_SHARE, SURE_SHARE = 0.75, 0.8, 0.92
"""In articles: the same within and around the text, and what counts as surely text."""
SURE = 0.8
"""In articles, a block that the rules drop stays from this likelihood on."""
TOLD_ELSEWHERE = frozenset({"h1", "figcaption"})
"""An article's headline travels as its title; captions are not its text."""
SENTENCE_WORDS = 15
MANY_BLOCKS = 5_000
"""More take too long to score."""
HEADING_CHANCE = 0.1
"""A heading less likely than this goes even where the text below it stays, unless the rules keep it."""
KEPT_EMPTY = frozenset({"td", "th", "tr", "tbody", "thead", "hr"})
NEVER_CONTENT = (
    "script", "style", "template", "noscript", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "button",
    "input", "select", "textarea", "dialog", "map", "link", "meta", "datalist", "progress", "head", "frameset", "symbol",
)  # fmt: skip
OPENING = frozenset({"button", "object", "canvas", "dialog", "audio", "video", "map"})
"""Without its end tag such an element holds the rest of the page."""
HEADLINES = HEADINGS | {"dt", "summary"}
"""A button inside of them is what unfolds the text below, and holds their words."""
FORUM_SOFTWARE = re.compile(
    r"discourse|phpbb|vbulletin|xenforo|invision|nodebb|flarum|mybb|smf|simple machines|vanilla|stack ?(?:exchange|overflow)"
    r"|lemmy",
    re.IGNORECASE,
)
HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
STREAMED = re.compile(r"[SB]:\d")
"""Ids under which React sends content in hidden elements."""
UNFOLDS = re.compile(
    r"(?:^|[\s_-])(?:tab\w*|accordions?|collaps\w+|panel\w*|faq\w*|toggle\w*|expand\w*|details|answer)", re.IGNORECASE
)
UNFOLDING = frozenset({"div", "section", "dd", "ul", "li"})
THREAD_URL = re.compile(r"forum|thread|topic|question|viewtopic|discuss|community|/r/|/t/")
SHOP_URL = re.compile(r"product|/p/|/dp/|shop|store|item")
LIST_URL = re.compile(r"categor|collection|/c/|tag/|archive|browse|search")
MANUAL_URL = re.compile(r"docs|doc\.|api|reference|guide|manual|tutorial")
NEWS_URL = re.compile(r"blog|news|/20[012]\d/|article|story")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What kind of page this is, from what it says about itself and its address."""

    layout: Layout
    facts: list[float]
    """The same as numbers, for the scoring."""


def kind_of(root: Element, survey: Survey, about: Metadata, url: str) -> Kind:
    """Judge by metadata, structured data, classes and address."""
    og_type = about.og_type
    layout = _layout(root, survey, about, url)
    path = [part for part in urlsplit(url).path.split("/") if part]
    last = path[-1] if path else ""
    types = about.types
    facts = [
        ("article", "forum", "page").index(layout),
        "product" in og_type or "Product" in types,
        bool(types & {"Article", "NewsArticle", "BlogPosting"}),
        bool(types & {"CollectionPage", "ItemList", "CategoryCollection"}),
        1 if og_type == "article" else 2 if og_type == "website" else 0,
        len(path), last.count("-"), sum(character.isdigit() for character in last),
        *(pattern.search(url) is not None for pattern in (THREAD_URL, SHOP_URL, LIST_URL, MANUAL_URL, NEWS_URL)),
    ]  # fmt: skip
    return Kind(layout=layout, facts=[float(fact) for fact in facts])


def _layout(root: Element, survey: Survey, about: Metadata, url: str) -> Layout:
    if about.types & {"DiscussionForumPosting", "QAPage"} or FORUM_SOFTWARE.search(about.generator):
        return "forum"
    article = _says_article(root, about)
    if sum(1 for flags in survey.own_flags if flags & names.POST) >= 4 and (not article or THREAD_URL.search(url)):
        return "forum"
    return "article" if article and not survey.code[0] else "page"


def _says_article(root: Element, about: Metadata) -> bool:
    if about.og_type in {"article", "blog", "news"} or any(name.endswith(("Article", "BlogPosting")) for name in about.types):
        return True
    return bool(select(root, "//@itemprop[.='articleBody']"))


def main_content(root: Element, about: Metadata, url: str) -> Element:
    """The element with the content, cleaned in place; the whole body where no part stands out."""
    body = stripped(root)
    survey = Survey(body)
    for element in survey.drops:
        remove(element)
    kind = kind_of(root, survey, about, url)
    verdict = rules.judge(survey, article=kind.layout == "article", forum=kind.layout == "forum")
    blocks = sum(1 for size in survey.size if size)
    if (kind.layout == "page" and survey.code[0]) or not rules.FEW_BLOCKS <= blocks <= MANY_BLOCKS:
        return _cut(survey, _kept_by_rules(verdict))
    return _cut(survey, _kept_by_score(survey, verdict, kind, about.title))


def _kept_by_rules(verdict: Verdict) -> bytearray:
    return bytearray(1 if fate == 1 else 0 for fate in verdict.fate)


def _kept_by_score(survey: Survey, verdict: Verdict, kind: Kind, title: str) -> bytearray:
    blocks, rows, page = features.rows(survey, verdict, kind.facts, title)
    likely = forest.likelihoods(rows, page)
    sizes = [survey.own[box].count(" ") + 1 for box in blocks]
    article = kind.layout == "article"
    chosen = _chosen_of_article(survey, verdict, blocks, likely, sizes) if article else _chosen(likely, sizes)
    keep = bytearray(len(survey.boxes))
    following = False
    for box, chance, kept in zip(reversed(blocks), reversed(likely), reversed(chosen), strict=True):
        heading = following and survey.tags[box] in HEADINGS and not (article and survey.tags[box] == "h1")
        following = kept or (heading and (chance > HEADING_CHANCE or verdict.fate[box] == 1))
        keep[box] = following
    _keep_tables_whole(survey, verdict, keep)
    return keep


def _chosen(likely: list[float], sizes: list[int]) -> list[bool]:
    least, typical = _threshold(likely, sizes)
    least = max(least, SHARE * typical)
    return [chance >= least for chance in likely]


def _chosen_of_article(survey: Survey, verdict: Verdict, blocks: list[int], likely: list[float], sizes: list[int]) -> list[bool]:
    """The text of an article is all of one kind, and runs from its first to its last sentence."""
    least, typical = _threshold(likely, sizes)
    text = _span(likely, sizes, SURE_SHARE * typical)
    inside, outside = max(least, INSIDE_SHARE * typical), max(least, OUTSIDE_SHARE * typical)
    return [
        chance >= (inside if at in text else outside)
        and survey.tags[box] not in TOLD_ELSEWHERE
        and (chance >= SURE or verdict.fate[box] == 1)
        for at, (box, chance) in enumerate(zip(blocks, likely, strict=True))
    ]


def _threshold(likely: list[float], sizes: list[int]) -> tuple[float, float]:
    """The likelihood from which on to keep blocks, for the best expected balance of precision and recall; the typical one."""
    everything = sum(chance * size for chance, size in zip(likely, sizes, strict=True))
    best, least = 0.0, HIGHEST
    hit = kept = 0.0
    for chance, size in sorted(zip(likely, sizes, strict=True), reverse=True):
        hit += chance * size
        kept += size
        if hit > best * (kept + everything):
            best, least = hit / (kept + everything), chance
    least = min(HIGHEST, max(LOWEST, least))
    return least, _typical(likely, sizes, least)


def _span(likely: list[float], sizes: list[int], sure: float) -> range:
    """From the first to the last block that is surely content."""
    found = [at for at, (chance, size) in enumerate(zip(likely, sizes, strict=True)) if chance >= sure and size > SENTENCE_WORDS]
    return range(found[0], found[-1] + 1) if found else range(0)


def _typical(likely: list[float], sizes: list[int], least: float) -> float:
    """The likelihood of the word in the middle of what is kept, by likelihood."""
    kept = sorted((chance, size) for chance, size in zip(likely, sizes, strict=True) if chance >= least)
    half = sum(size for _, size in kept) / 2
    for chance, size in kept:
        half -= size
        if half <= 0:
            return chance
    return 0.0


def _keep_tables_whole(survey: Survey, verdict: Verdict, keep: bytearray) -> None:
    """A table of data stays or goes as one, and without links where the rules say; one with most of the page arranges it."""
    for box, tag in enumerate(survey.tags):
        if tag != "table" or survey.total[box] > 0.6 * survey.total[0] or "table" in survey.tags[box + 1 : survey.end[box]]:
            continue
        inside = range(box, survey.end[box])
        kept = sum(survey.size[cell] for cell in inside if keep[cell])
        plain = verdict.fate[box] == 1 and not survey.linked[box]
        whole = plain or kept > 0.5 * survey.total[box]
        for cell in inside:
            keep[cell] = whole and survey.size[cell] > 0


def _cut(survey: Survey, keep: bytearray) -> Element:
    """Remove what is not kept; the smallest box around the rest."""
    alive = bytearray(keep)
    for box in range(len(alive) - 1, 0, -1):
        if alive[box]:
            alive[survey.parent[box]] = 1
    if not any(alive):
        return survey.boxes[0]
    root = _top(survey, keep, alive)
    box, end = root, survey.end[root]
    while box < end:
        if not alive[box] and survey.tags[box] not in KEPT_EMPTY:
            remove(survey.boxes[box])
            box = survey.end[box]
            continue
        if not keep[box] and survey.size[box]:
            _clear(survey.boxes[box])
        box += 1
    return survey.boxes[root]


def _top(survey: Survey, keep: bytearray, alive: bytearray) -> int:
    """The box below which the kept text divides."""
    root = 0
    while not keep[root] and survey.tags[root] not in {"table", "ul", "ol", "dl"}:
        inside, box = [], root + 1
        while box < survey.end[root]:
            if alive[box]:
                inside.append(box)
            box = survey.end[box]
        if len(inside) != 1:
            break
        root = inside[0]
    return root


def _clear(box: Element) -> None:
    """Without its own text; boxes inside stay."""
    todo = [box]
    while todo:
        element = todo.pop()
        element.text = None
        for child in list(element):
            child.tail = None
            if child.tag not in INLINE:
                continue
            if all(inner.tag in INLINE for inner in child.iterdescendants()):
                element.remove(child)
            else:
                todo.append(child)


# --- what a reader never sees -------------------------------------------------------------------------------------


def stripped(root: Element) -> Element:
    """The body, in place, without what is never content and what is hidden."""
    body = body_of(root)
    _unwrap_noscript(body)
    components.compose(body)
    formulas.simplify(body)
    for element in list(body.iter(*OPENING)):
        if _holds_page(element):
            element.tag = "div"
        elif element.tag == "button" and next(element.iterancestors(*HEADLINES), None) is not None:
            element.tag = "span"
    drop(body, *NEVER_CONTENT)
    hidden = [element for element in _hiding(body) if _hidden(element)]
    shown = _shown_by_script(body, hidden) if hidden else ()
    for element in hidden:
        if element not in shown:
            remove(element)
    return body


def drop(body: Element, *tags: str) -> None:
    """Remove every element with one of these tags; the text behind it stays."""
    from lxml import etree

    etree.strip_elements(body, *tags, with_tail=False)


def _holds_page(element: Element) -> bool:
    return len(element) > 1 and _prose(element) > 400


def _prose(element: Element) -> int:
    sizes = (len(text_of(paragraph)) for paragraph in element.iter("p"))
    return sum(size for size in sizes if size > 80)


def _hiding(body: Element) -> Iterable[Element]:
    """The elements with `hidden` or with a style that hides.

    Not by paths that end at elements, nor by one for both: XPath looks for each of their nodes among all that it has, and a table
    may have a style in each of a hundred thousand cells.
    """
    marks = (*attributes(body, ".//*/@hidden"), *filter(HIDING.search, attributes(body, ".//*/@style")))
    return dict.fromkeys(element for mark in marks if (element := mark.getparent()) is not None)


def _hidden(element: Element) -> bool:
    """Hidden, and not as a tab, an answer or a section that a click unfolds."""
    if element.get("hidden") is not None:
        if STREAMED.match(element.get("id") or ""):
            return False
    elif not HIDING.search(element.get("style") or ""):
        return False
    if element.get("role") in {"tabpanel", "region"} or element.get("aria-labelledby"):
        return False
    name = f"{element.get('class') or ''} {element.get('id') or ''}"
    return element.tag not in UNFOLDING or not len(element) or not UNFOLDS.search(name)


def _shown_by_script(body: Element, hidden: list[Element]) -> Iterable[Element]:
    """Some pages hide all of their content until a script has run: the hidden part has the heading and most of the prose."""
    parts = [
        element
        for element in hidden
        if element.tag in {"main", "article"} or any(element.find(f".//{tag}") is not None for tag in ("h1", "article", "main"))
    ]
    sizes = {element: _prose(element) for element in parts}
    if not parts or max(sizes.values()) < 400:
        return ()
    visible = _prose(body) - sum(_prose(element) for element in hidden)
    return [element for element, size in sizes.items() if size > max(400, visible)]


def _unwrap_noscript(body: Element) -> None:
    """Pages drawn by a script often carry their text in <noscript>; it counts when it is most of the page."""
    blocks = [block for block in body.iter("noscript") if len(text_of(block)) > 400]
    if not blocks:
        return
    code = sum(len(text_of(element)) for element in body.iter("script", "style", "template"))
    if sum(len(text_of(block)) for block in blocks) > 0.5 * (len(text_of(body)) - code):
        for block in blocks:
            block.tag = "div"
