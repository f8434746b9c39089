"""Which part of a page is its content: boilerplate goes, the smallest element that holds the text stays.

Four steps on the tree, in place: what is never content; boilerplate by tag, role, class and link density, but never a part
that holds half of the prose; the smallest element with most of the good text; link lists and "related" sections inside it.
Class names are matched as whole words, and ids that are slugs not at all: `api_metadata` is no metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from websearch_adapters.extract.markup import body_of, remove, text_of, words_of

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["GUTTER", "Layout", "drop", "layout_of", "main_content", "role_of", "strip_hidden"]

Layout: TypeAlias = Literal["article", "forum", "page"]

NEVER_CONTENT = (
    "script", "style", "template", "noscript", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "button",
    "input", "select", "textarea", "dialog", "map", "link", "meta", "datalist", "progress", "head", "frameset", "math",
)  # fmt: skip
BLOCKS = frozenset({
    "p", "pre", "li", "td", "th", "dd", "dt", "blockquote", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "caption",
    "summary",
})  # fmt: skip
CELLS = frozenset({"li", "td", "th", "dd"})
CONTAINERS = frozenset({"div", "section", "span", "article"})
INLINE = frozenset({"a", "b", "strong", "em", "i", "code", "span", "tt"})
UNDIVIDED = frozenset({"p", "pre", "table", "tbody", "tr", "li", "ul", "ol", "dl"})
NEVER_NOISE = frozenset({"pre", "code", "tr", "tbody", "html", "body", "main", "article", "h1", "h2", "h3"})
NOISE_ROLES = frozenset({
    "navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar", "tablist",
})  # fmt: skip


def _words(*alternatives: str) -> re.Pattern[str]:
    """Matches one of the alternatives as a whole word of a class list."""
    return re.compile(rf"(?:^|[\s_-])(?:{'|'.join(alternatives)})(?:$|[\s_-])", re.IGNORECASE)


NOISE = _words(
    r"nav(?:bar|igation|header|footer|box|links)?|menu\w*|breadcrumbs?|crumbs?|sidebars?|side-?(?:bar|nav|menu)|bs-sidebar",
    r"footer\w*|site-?(?:header|footer|nav)|masthead|navheader|navfooter|sphinxsidebar\w*|topbar|top-?bar|toolbar",
    r"cookies?\w*|consent|gdpr|newsletter\w*|subscri\w+|sign-?up|promo\w*|popup|modal|overlay|lightbox|announcement\w*",
    r"alert-?bar|drawer|offcanvas|mega-?menu|log-?in-?(?:form|box|link)?|search-?(?:box|form|bar)|searchbox",
    r"shar(?:e|ing)(?:-?(?:bar|buttons?|links?|tools?|daddy|this))?|socials?|sociallinks|feedback|rating-?widget",
    r"related\w*|recommend\w*|recirc\w*|read-?(?:more|next)|more-?(?:stories|from|posts|articles)|popular|trending",
    r"sponsor\w*|sponsored|advert\w*|ads?|adsense|banner|outbrain|taboola|disqus\w*|livefyre",
    r"pagination|pager|paging|prev-?next\w*|next-?prev\w*|toc|table-?of-?contents|tableofcontents|on-?this-?page",
    r"skip-?(?:link|to)?\w*|jump-?to|back-?to-?top|version-?switcher|language-?(?:switcher|selector)",
    r"author-?(?:bio|box|card|info)|about-?(?:the-?)?author|bio|byline|post-?meta|entry-?meta|entry-?footer",
    r"tags?-?(?:list|links)|tagcloud|sr-only|screen-?reader\w*|visually-?hidden|noprint|print-?only",
    r"mw-editsection|editsection|mw-jump-link|catlinks|printfooter|hatnote|navbox|vertical-navbox|mbox-small",
    r"reference-?tooltip|headerlink|copy-?btn|copy-?code",
    r"upsell|cart|wishlist|cross-?sell|you-?may-?also|mini-?cart|filters?|facets?|sort-?by",
)
COMMENTS = _words(
    r"comments?(?:-?(?:list|area|section|wrap\w*|form|respond))?|respond|responses|reply-?(?:form|title)",
)
FORUM_POSTS = _words(
    r"topic-?post|post-?(?:body|content|text|message|stream|\d+)|message-?(?:body|content|cell)|answer(?:cell)?|question",
    r"comment-?tree|postbody|postcell|js-post-body|crawler-post|thread\w*|reply",
)
CAPTIONS = _words(
    r"captions?|credits?|byline|dateline|timestamp|pub-?date|published|photo-?credit|wp-caption-text|kicker|dek|sub-?title",
    r"standfirst",
)
GUTTER = _words(r"linenos?|lineno|line-?numbers?(?:-rows)?|gutter|ln-num|hljs-ln-numbers|blob-num|lnt")
JUNK_HEADING = re.compile(
    r"^(?:related|recommended|read (?:more|next|also)|you (?:may|might) (?:also )?(?:like|enjoy)|latest|popular|trending"
    r"|more (?:from|stories|news|articles|posts|in|like)|most (?:read|popular)|share (?:this|on|via)|comments?"
    r"|leave a (?:reply|comment)|join the (?:discussion|conversation)|subscribe|newsletter|sign up|about the author|follow us"
    r"|recent (?:posts|articles)|further reading on|similar|also on|don't miss|advertisement|sponsored|tags|categories"
    r"|keep reading|next (?:article|post|up)|previous (?:article|post))\b",
    re.IGNORECASE,
)
FORUM_SOFTWARE = re.compile(
    r"discourse|phpbb|vbulletin|xenforo|invision|nodebb|flarum|mybb|smf|simple machines|vanilla|stack ?(?:exchange|overflow)"
    r"|lemmy",
    re.IGNORECASE,
)
HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
STREAMED = re.compile(r"[SB]:\d")
"""Ids under which React sends content in hidden elements."""


def main_content(root: Element, layout: Layout) -> Element:
    """The element with the content, cleaned in place; the whole body where no part stands out."""
    body = body_of(root)
    _unwrap_noscript(body)
    if layout == "article":
        _drop_captions(body)
    strip_hidden(body)
    _drop_noise(body, forum=layout == "forum")
    content = _smallest_holder(body, article=layout == "article")
    _prune(content, layout)
    return content


def layout_of(root: Element, types: frozenset[str]) -> Layout:
    """What kind of page this is, from its metadata and the types of its structured data."""
    if _is_forum(root, types):
        return "forum"
    return "article" if _is_article(root, types) else "page"


def role_of(element: Element) -> str:
    """Class and id as one text; a long hyphenated id is the slug of a heading and tells nothing."""
    name = element.get("id") or ""
    return f"{element.get('class') or ''} {name if name.count('-') < 3 else ''}".strip()


def strip_hidden(body: Element) -> None:
    """Remove what is never content and what a reader does not see."""
    drop(body, *NEVER_CONTENT)
    for element in [found for found in body.iter() if found is not body and _hidden(found)]:
        remove(element)


def drop(body: Element, *tags: str) -> None:
    """Remove every element with one of these tags."""
    for element in list(body.iter(*tags)):
        if element is not body:
            remove(element)


@dataclass(slots=True)
class _Sizes:
    """Characters of text, characters of link text and number of links under each element."""

    text: dict[Element, int] = field(default_factory=dict)
    links: dict[Element, int] = field(default_factory=dict)
    count: dict[Element, int] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Element) -> _Sizes:
        sizes = cls()
        for element in reversed(list(root.iter())):
            sizes._add(element, root)
        return sizes

    def prose(self, element: Element) -> int:
        return self.text.get(element, 0) - self.links.get(element, 0)

    def density(self, element: Element) -> float:
        size = self.text.get(element, 0)
        return self.links.get(element, 0) / size if size else 0.0

    def _add(self, element: Element, root: Element) -> None:
        """Children come before their parents."""
        text = self.text.get(element, 0) + len((element.text or "").strip())
        is_link = element.tag == "a"
        links = text if is_link else self.links.get(element, 0)
        count = 1 if is_link else self.count.get(element, 0)
        self.text[element], self.links[element], self.count[element] = text, links, count
        parent = element.getparent()
        if parent is None or element is root:
            return
        self.text[parent] = self.text.get(parent, 0) + text + len((element.tail or "").strip())
        self.links[parent] = self.links.get(parent, 0) + links
        self.count[parent] = self.count.get(parent, 0) + count


# --- what kind of page --------------------------------------------------------------------------------------------


def _is_forum(root: Element, types: frozenset[str]) -> bool:
    if types & {"DiscussionForumPosting", "QAPage"}:
        return True
    generators = (meta.get("content") or "" for meta in root.iter("meta") if (meta.get("name") or "").lower() == "generator")
    if any(FORUM_SOFTWARE.search(name) for name in generators):
        return True
    boxes = root.iter("div", "article", "li", "td", "section", "tr")
    return sum(1 for box in boxes if FORUM_POSTS.search(box.get("class") or "")) >= 4


def _is_article(root: Element, types: frozenset[str]) -> bool:
    """News and blogs; a page with code blocks is rather documentation, whatever it says."""
    if root.find(".//pre") is not None:
        return False
    kinds = ((meta.get("content") or "").strip().lower() for meta in root.iter("meta") if meta.get("property") == "og:type")
    if any(kind in {"article", "blog", "news"} for kind in kinds):
        return True
    return (
        any(name.endswith(("Article", "BlogPosting")) for name in types) or root.find(".//*[@itemprop='articleBody']") is not None
    )


# --- cleaning -----------------------------------------------------------------------------------------------------


def _hidden(element: Element) -> bool:
    if element.get("hidden") is not None:
        return not STREAMED.match(element.get("id") or "")
    return bool(HIDING.search(element.get("style") or ""))


def _unwrap_noscript(body: Element) -> None:
    """Pages drawn by a script often carry their text in <noscript>; it counts when it is most of the page."""
    blocks = [block for block in body.iter("noscript") if len(text_of(block)) > 400]
    if not blocks:
        return
    code = sum(len(text_of(element)) for element in body.iter("script", "style", "template"))
    if sum(len(text_of(block)) for block in blocks) > 0.5 * (len(text_of(body)) - code):
        for block in blocks:
            block.tag = "div"


def _drop_captions(body: Element) -> None:
    """An article's headline travels as its title; captions and credits are not its text."""
    marked = [element for element in body.iter("p", "div", "span") if CAPTIONS.search(role_of(element))]
    for element in [*body.iter("figcaption", "h1"), *marked]:
        if len(text_of(element)) < 400:
            remove(element)


def _drop_noise(body: Element, *, forum: bool) -> None:
    sizes = _Sizes.of(body)
    half = 0.5 * max(1, sizes.prose(body))
    stack = [body]
    while stack:
        for child in list(stack.pop()):
            if sizes.prose(child) < half and _noise(child, sizes, forum=forum):
                remove(child)
            else:
                stack.append(child)


def _noise(element: Element, sizes: _Sizes, *, forum: bool) -> bool:
    role = (element.get("role") or "").lower()
    if element.tag == "nav" or role in NOISE_ROLES:
        return True
    if element.tag in {"footer", "header", "aside"}:
        return _noisy_section(element, sizes)
    if element.tag in NEVER_NOISE:
        return False
    if role == "complementary" and (sizes.density(element) > 0.3 or not _inside_main(element)):
        return True
    if element.get("aria-hidden") == "true" and sizes.text.get(element, 0) < 400:
        return True
    return _noisy_name(element, forum=forum)


def _noisy_section(element: Element, sizes: _Sizes) -> bool:
    inside, dense, text = _inside_main(element), sizes.density(element), sizes.text.get(element, 0)
    if element.tag == "footer":
        return not inside or dense > 0.3 or text < 200
    if element.tag == "aside":
        return not inside or dense > 0.4 or bool(NOISE.search(role_of(element)))
    if inside:
        return text < 400 and element.find(".//p") is None and element.find(".//h1") is None
    return dense > 0.3 or element.find(".//h1") is None


def _noisy_name(element: Element, *, forum: bool) -> bool:
    name = role_of(element)
    if not name:
        return False
    if NOISE.search(name) and element.find(".//pre") is None:
        return True
    return not forum and COMMENTS.search(name) is not None


def _inside_main(element: Element) -> bool:
    return any(above.tag in {"main", "article"} or above.get("role") in {"main", "article"} for above in element.iterancestors())


# --- choosing -----------------------------------------------------------------------------------------------------


def _smallest_holder(body: Element, *, article: bool) -> Element:
    sizes = _Sizes.of(body)
    good = _good_text(body, sizes, article=article)
    total = good.get(body, 0)
    if total == 0:
        return body
    current = body
    while True:
        best = max(current, key=lambda child: good.get(child, 0), default=None)
        if best is None or good.get(best, 0) < (0.7 if article else 0.85) * total or best.tag in UNDIVIDED:
            break
        current = best
    return _climbed(current, body, sizes, good, article=article)


def _good_text(body: Element, sizes: _Sizes, *, article: bool) -> dict[Element, int]:
    """Characters of good text under each element: long enough runs, and in articles not mostly links."""
    good: dict[Element, int] = {}
    least = 60 if article else 20
    for element in body.iter():
        own = _own_text(element, sizes)
        if own < least or (article and sizes.density(element) >= 0.4):
            continue
        good[element] = good.get(element, 0) + own
        for above in element.iterancestors():
            good[above] = good.get(above, 0) + own
            if above is body:
                break
    return good


def _own_text(element: Element, sizes: _Sizes) -> int:
    """Characters that count for this element and not for one inside it."""
    if element.tag not in BLOCKS and element.tag not in CONTAINERS:
        return 0
    if element.tag in BLOCKS and element.tag not in CELLS:
        return 0 if _within_block(element) else sizes.prose(element)
    own = len((element.text or "").strip()) + sum(len((child.tail or "").strip()) for child in element)
    if element.tag in CELLS:
        own += sum(sizes.prose(child) for child in element if child.tag in INLINE)
    return own


def _within_block(element: Element) -> bool:
    counted = BLOCKS - CELLS - {"blockquote"}
    return any(above.tag in counted for above, _ in zip(element.iterancestors(), range(3), strict=False))


def _climbed(current: Element, body: Element, sizes: _Sizes, good: dict[Element, int], *, article: bool) -> Element:
    """Up again, as long as the parent adds prose and not links."""
    while current is not body and not _declared_main(current):
        parent = current.getparent()
        if parent is None:
            break
        text, links = sizes.text[parent] - sizes.text[current], sizes.links[parent] - sizes.links[current]
        added = good.get(parent, 0) - good.get(current, 0)
        if text > 0 and (links > (0.2 if article else 0.4) * text or added < (0.5 if article else 0.3) * text):
            break
        current = parent
    return current


def _declared_main(element: Element) -> bool:
    return element.tag in {"main", "article"} or element.get("role") == "main" or element.get("itemprop") == "articleBody"


# --- pruning ------------------------------------------------------------------------------------------------------


def _prune(content: Element, layout: Layout) -> None:
    """Take link lists and sections about other pages out of a page of prose; a page of links stays as it is."""
    sizes = _Sizes.of(content)
    if sizes.prose(content) < 600 or sizes.density(content) >= 0.5:
        return
    for element in list(content.iter("ul", "ol", "div", "section", "table", "dl")):
        attached = element is not content and element.getparent() is not None
        if attached and _link_list(element, sizes, sizes.text[content], article=layout == "article"):
            remove(element)
    if layout == "forum":
        return
    for heading in list(content.iter("h2", "h3", "h4", "h5", "h6")):
        if heading.getparent() is not None and _junk_heading(heading):
            _drop_section(heading, content, sizes)


def _link_list(element: Element, sizes: _Sizes, total: int, *, article: bool) -> bool:
    text, links, count = sizes.text.get(element, 0), sizes.links.get(element, 0), sizes.count.get(element, 0)
    if not text or count < 2 or element.find(".//pre") is not None:
        return False
    belongs = element.tag in {"ul", "ol"} and _belongs_to_text(element)
    if article and links > 0.5 * text and text < 0.2 * total and element.tag not in {"table", "dl"}:
        return not (belongs and links < 0.8 * text)
    return count >= 3 and links > 0.8 * text and text < 0.3 * total and links / count < 60 and not belongs


def _belongs_to_text(element: Element) -> bool:
    """A list inside a list item, or right behind a paragraph or heading, was put there by the author."""
    parent, before = element.getparent(), element.getprevious()
    return (parent is not None and parent.tag in {"li", "dd"}) or (before is not None and before.tag in {"p", "h2", "h3", "h4"})


def _junk_heading(heading: Element) -> bool:
    words = words_of(heading)
    return len(words) <= 60 and JUNK_HEADING.match(words) is not None


def _drop_section(heading: Element, content: Element, sizes: _Sizes) -> None:
    """The box that the heading stands in; without a box, what follows up to the next heading. Never a quarter of the page."""
    quarter = 0.25 * sizes.text[content]
    box = heading
    for above in heading.iterancestors():
        if above is content or sizes.text.get(above, 0) >= quarter:
            break
        box = above
    if box is not heading:
        remove(box)
        return
    section = list(_until_next_heading(heading))
    if sum(sizes.text.get(element, 0) for element in section) < quarter:
        for element in (*section, heading):
            remove(element)


def _until_next_heading(heading: Element) -> Iterator[Element]:
    for sibling in heading.itersiblings():
        if sibling.tag in {"h1", "h2", "h3"} and str(sibling.tag) <= str(heading.tag):
            return
        yield sibling
