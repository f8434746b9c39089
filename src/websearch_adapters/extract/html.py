"""Reads an HTML page: its content as Markdown, what it says about itself, its links, and whether it is a page at all.

Pure functions on text; the parser is imported on first use. The parts: `markup` parses under guards, `metadata` reads what the
page says, `content` chooses, `markdown` renders. Shells that need a script and human checks are recognised here by structure
and by how little else there is, so that a page *about* such things is read as any other; pages that say that they are not there,
by `notfound`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from websearch_adapters.extract import content, markdown, metadata, notfound
from websearch_adapters.extract.markup import body_of, parse, text_of, words_of
from websearch_core import urls
from websearch_core.values import Link

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element
    from websearch_adapters.extract.notfound import Absence

__all__ = ["REFRESH_CHARS", "HtmlDocument", "PageLinks", "ReadOutcome", "moved_to", "read_html", "read_links", "read_selected"]

ReadOutcome: TypeAlias = Literal["content", "empty", "script_shell", "blocked", "consent", "not_found"]

MEAGRE_CHARS = 250
"""Markdown below this may mean that the choice of content missed the page."""
SHELL_CHARS = 300
CHECK_CHARS = 1_500
MARKUP_CHARS = 500_000
FEW_LINKS = 3
MAX_LINKS = 5_000
MAX_ANCHORS = 50_000
MAX_FRAMES = 20
BRACKETS = re.compile(r"[\[\]\\]")
MAX_LINK_TEXT_CHARS = 200

CHECK_TITLE = re.compile(
    r"^(?:just a moment|attention required|access (?:to this page has been )?denied|pardon our interruption|robot check"
    r"|are you (?:a )?(?:human|robot)|verify(?:ing)? you are human|human verification|security check|please wait"
    r"|one moment,? please|making sure you're not a bot|checking your browser|ddos-guard|bot verification|captcha"
    r"|client challenge|blocked\s*$|安全验证|人机验证|百度安全验证|请稍候)",
    re.IGNORECASE,
)
CHECK_MARKUP = re.compile(
    r"_cf_chl_opt|cf-challenge|challenge-form|/cdn-cgi/challenge-platform/h/|px-captcha|captcha-delivery\.com|_Incapsula_Resource"
    r"|awsWafCookieDomainList|aws-waf-token|anubis_challenge|ddos-guard|/sorry/index|anomaly-modal|errors/validateCaptcha"
    r"|secitptpage|errors\.edgesuite\.net",
    re.IGNORECASE,
)
CHECK_WIDGET = re.compile(r"cf-turnstile|g-recaptcha|h-captcha|hcaptcha\.com/1|geetest_|captcha-container", re.IGNORECASE)
"""What ordinary forms have too."""
FIELDS = re.compile(r"<textarea|<select|type\s*=\s*[\"']?(?:email|tel|password|date|number)\b", re.IGNORECASE)
"""What a form asks for that is no check."""
CHECK_WORDS = re.compile(
    r"verify (?:that )?you(?:'re| are) (?:a )?(?:human|not a (?:ro)?bot)|unusual traffic|complete the (?:security check|captcha)"
    r"|checking your browser|enable javascript and cookies to continue|confirm (?:that )?you(?:'re| are) (?:a )?human"
    r"|prove (?:that )?you(?:'re| are) (?:a )?human|press (?:&|and) hold|make sure you(?:['’]re| are) not a (?:ro)?bot"
    r"|security service to protect itself|you have been blocked|request has been blocked"
    r"|don['’]t have permission to access [^\n]{0,300} on this server|请完成安全验证|拖动滑块|完成验证后",
    re.IGNORECASE,
)
SCRIPT_WORDS = re.compile(
    r"(?:enable|requires?|needs?|without|turn on|activate|activer|aktivieren|启用|開啟|有効)[^.<>]{0,60}javascript"
    r"|javascript[^.<>]{0,60}(?:enabled?|required|disabled|erforderlich|无法|有効|to (?:run|use|view|continue))",
    re.IGNORECASE,
)
LOADING = re.compile(
    r"loading|please wait|one moment|initiali[sz]ing|chargement|wird geladen|加载|載入|読み込み|©", re.IGNORECASE
)
DRAWN_CHARS = 12
"""So many in a paragraph that speaks of no loading are something to read."""
REFRESH = re.compile(r"http-equiv\s*=\s*[\"']?\s*refresh", re.IGNORECASE)
REFRESH_TARGET = re.compile(r"\s*(\d{1,4})(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
REFRESH_CHARS = 20_000
REFRESH_LIMIT_S = 10
"""A page that waits longer wants to be read first."""
MEDIA = ("img", "picture", "iframe", "frame", "video", "audio", "object", "embed")
CONSENT_URL = re.compile(r"//(?:consent|guce)\.[^/?#]+|/collectConsent\b|/zustimmung\b", re.IGNORECASE)
"""Where sites send who has not yet agreed to their cookies; seen 2026-11-30."""
APP_ROOT_IDS = frozenset(
    {"root", "app", "__next", "__nuxt", "___gatsby", "svelte", "app-root", "main-app", "react-root", "q-app"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlDocument:
    """A page as read."""

    title: str = ""
    markdown: str = ""
    """The content; blank when `outcome` is not `content`."""
    published: str = ""
    """YYYY-MM-DD."""
    published_stated: bool = False
    """Whether metadata says so; otherwise the day is read off the page."""
    author: str = ""
    canonical: str = ""
    """The absolute address that the page gives as its own; empty when it gives none."""
    language: str = ""
    outcome: ReadOutcome = "content"
    """`script_shell`: the content is drawn by a script. `blocked`: a check for humans stands in its place. `consent`: a form
    that asks for consent to cookies does. `not_found`: the page says that there is no such page."""
    doubtful: bool = False
    """Content that may be nothing but a word that there is no such page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """What a crawler needs of a page."""

    title: str = ""
    links: tuple[Link, ...] = ()
    """Every link of the page, boilerplate included, each once, in document order; empty where it asks crawlers not to follow."""
    blocked: bool = False
    """A check for humans stands in place of the page."""


def moved_to(text: str, url: str) -> str:
    """Where a page that says little else sends its reader at once; empty for every other page.

    Raises:
        NotAllowed: more than 20 million characters.
    """
    if not REFRESH.search(text[:REFRESH_CHARS]):
        return ""
    root = parse(text)
    target = _refresh(root, url) if root is not None else ""
    if root is None or not target:
        return ""
    body = content.stripped(root)
    return target if len(words_of(body)) < SHELL_CHARS else ""


def read_html(text: str, url: str) -> HtmlDocument:
    """Read a page that came from `url`.

    Raises:
        NotAllowed: more than 20 million characters.
    """
    root = parse(text)
    if root is None:
        return HtmlDocument(outcome="empty")
    about = metadata.of_page(root)
    base_url = _base(root, url)
    scripted = _is_scripted(root)
    frames = _frames(root, base_url)
    heading = words_of(next(root.iter("h1"), root.makeelement("h1")))
    body = _content(root, text, base_url, about) or frames
    absence = notfound.absence(about, heading, body, url)
    outcome = _outcome(about.title, body, text, url, scripted=scripted, absence=absence)
    return HtmlDocument(
        title=about.title,
        markdown=body if outcome == "content" else "",
        published=about.published,
        published_stated=about.published_stated,
        author=about.author,
        canonical=_canonical(about, base_url),
        language=about.language,
        outcome=outcome,
        doubtful=outcome == "content" and absence == "doubtful",
    )


def read_selected(text: str, url: str, selector: str) -> HtmlDocument:
    """The parts of a page that a CSS selector finds, whatever else would be its content; blank where it finds none.

    Raises:
        NotAllowed: more than 20 million characters.
        InvalidInput: the selector cannot be read.
    """
    from websearch_adapters.extract.selectors import matching

    root = parse(text)
    if root is None:
        return HtmlDocument(outcome="empty")
    about = metadata.of_page(root)
    base_url = _base(root, url)
    content.stripped(root)
    parts = (markdown.render_one(element, base_url) for element in matching(root, selector))
    return HtmlDocument(
        title=about.title,
        markdown="\n\n".join(part for part in parts if part),
        published=about.published,
        published_stated=about.published_stated,
        author=about.author,
        canonical=_canonical(about, base_url),
        language=about.language,
    )


def read_links(text: str, url: str) -> PageLinks:
    """The title and links of a page that came from `url`, without reading its content.

    Raises:
        NotAllowed: more than 20 million characters.
    """
    root = parse(text)
    if root is None:
        return PageLinks()
    title = metadata.of_page(root).title
    sent = _refresh(root, url)
    links = (
        ()
        if _says_nofollow(root)
        else tuple(_links(chain(_anchors(root, followed=True), [(sent, "")] if sent else []), _base(root, url)))
    )
    return PageLinks(title=title, links=links, blocked=len(links) <= FEW_LINKS and _blocks_crawler(root, title, text))


# --- content ------------------------------------------------------------------------------------------------------


def _content(root: Element, text: str, base_url: str, about: metadata.Metadata) -> str:
    """The content as Markdown; the whole body where the choice left next to nothing, the structured text where that is more."""
    chosen = content.main_content(root, about, base_url)
    body = markdown.render(chosen, base_url)
    if len(body) < MEAGRE_CHARS:
        whole = _whole_body(text, base_url)
        body = whole if len(whole) > 4 * len(body) + 200 or not body else body
    return about.article_body.strip() if len(about.article_body) > 2 * len(body) + 200 else body


def _frames(root: Element, base_url: str) -> str:
    """The pages that a page is only the frame of, as a list of links."""
    frames = ((frame, urls.absolute(base_url, frame.get("src") or "")) for frame in islice(root.iter("frame"), MAX_FRAMES))
    named = ((frame.get("title") or frame.get("name") or "frame", address) for frame, address in frames if address)
    return "\n".join(f"- [{' '.join(BRACKETS.sub(' ', name).split())}]({address})" for name, address in named)


def _whole_body(text: str, base_url: str) -> str:
    root = parse(text)
    if root is None:
        return ""
    body = body_of(root)
    content.stripped(root)
    content.drop(body, "nav", "footer", "aside")
    return markdown.render(body, base_url)


def _canonical(about: metadata.Metadata, base_url: str) -> str:
    return (urls.absolute(base_url, about.canonical) or "") if about.canonical else ""


def _refresh(root: Element, url: str) -> str:
    """The target of a refresh within seconds, unless it is the page itself."""
    for meta in root.iter("meta"):
        if (meta.get("http-equiv") or "").strip().lower() == "refresh":
            match = REFRESH_TARGET.match(meta.get("content") or "")
            if match and int(match[1]) <= REFRESH_LIMIT_S:
                target = urls.absolute(_base(root, url), match[2].strip())
                return target if target and target.partition("#")[0] != url.partition("#")[0] else ""
    return ""


# --- links --------------------------------------------------------------------------------------------------------


def _base(root: Element, url: str) -> str:
    element = root.find(".//base[@href]")
    return (urls.absolute(url, element.get("href") or "") if element is not None else None) or url


def _anchors(root: Element, *, followed: bool = False) -> Iterator[tuple[str, str]]:
    for element in islice(root.iter("a", "area"), MAX_ANCHORS):
        if followed and "nofollow" in (element.get("rel") or "").lower().split():
            continue
        reference = (element.get("href") or "").strip()
        if reference and not reference.startswith("#"):
            yield reference, (words_of(element) or element.get("title") or element.get("alt") or "")[:MAX_LINK_TEXT_CHARS]


def _links(anchors: Iterable[tuple[str, str]], base_url: str) -> list[Link]:
    found: dict[str, Link] = {}
    for reference, words in anchors:
        address = urls.absolute(base_url, reference)
        if address is None:
            continue
        if address not in found or not found[address].title:
            found[address] = Link(url=address, title=words)
        if len(found) >= MAX_LINKS:
            break
    return list(found.values())


def _says_nofollow(root: Element) -> bool:
    metas = (meta for meta in root.iter("meta") if (meta.get("name") or "").lower() == "robots")
    return any({"nofollow", "none"} & set(re.findall(r"[a-z]+", (meta.get("content") or "").lower())) for meta in metas)


# --- no page at all -----------------------------------------------------------------------------------------------


def _outcome(title: str, body: str, text: str, url: str, *, scripted: bool, absence: Absence) -> ReadOutcome:
    """A page with enough content is one, whatever words stand in it; only a meagre one is looked at again."""
    if len(body) >= CHECK_CHARS:
        return "not_found" if absence == "sure" else "content"
    if _is_check(title, body, text, scripted=scripted):
        return "blocked"
    if CONSENT_URL.search(url):
        return "consent"
    if absence == "sure" and (body.strip() or not scripted):
        return "not_found"
    if len(body) < SHELL_CHARS and scripted and _is_shell(text, body):
        return "script_shell"
    return "content" if body.strip() else "empty"


def _is_check(title: str, body: str, text: str, *, scripted: bool) -> bool:
    """The markup is searched last: of all of this it takes by far the longest."""
    worded = CHECK_WORDS.search(body) is not None
    if CHECK_TITLE.match(title):
        return scripted or worded or _has_check_markup(text)
    return (worded or len(body) < 100) and _has_check_markup(text)


def _has_check_markup(text: str) -> bool:
    head = text[:MARKUP_CHARS]
    return CHECK_MARKUP.search(head) is not None or (CHECK_WIDGET.search(head) is not None and not FIELDS.search(head))


def _blocks_crawler(root: Element, title: str, text: str) -> bool:
    body = body_of(root)
    scripted = _is_scripted(root)
    content.stripped(root)
    words = words_of(body)
    return len(words) < CHECK_CHARS and _is_check(title, words, text, scripted=scripted)


def _is_scripted(root: Element) -> bool:
    """Whether there is a script that does something; descriptions for search engines do not."""
    return any("ld+json" not in (script.get("type") or "") for script in root.iter("script"))


def _is_shell(text: str, body: str) -> bool:
    """Of a page with a script and hardly any text: a place for it to draw into, a plea for it, or nothing else at all."""
    root = parse(text)
    if root is None:
        return False
    pleas = " ".join([body, *(text_of(element) for element in root.iter("noscript"))])
    if SCRIPT_WORDS.search(pleas) is not None or any(
        _is_app_root(element) for element in body_of(root).iter("div", "main", "app-root")
    ):
        return True
    return not body.strip() and next(body_of(root).iter(*MEDIA), None) is None


def _is_app_root(element: Element) -> bool:
    named = (element.get("id") or "").lower() in APP_ROOT_IDS or element.get("data-reactroot") is not None
    return (named or element.tag == "app-root") and len(text_of(element).strip()) < SHELL_CHARS and not _is_drawn(element)


def _is_drawn(root: Element) -> bool:
    """Whether a server has put something to read into the place."""
    for paragraph in root.iter("p", "dd", "td", "blockquote", "pre"):
        words = words_of(paragraph)
        around = next(paragraph.iterancestors("header", "footer", "nav"), None)
        if len(words) >= DRAWN_CHARS and around is None and not LOADING.search(words):
            return True
    return False
