"""Articles of Wikipedia in any language through its action API, as Markdown without navigation and footnotes.

Source: mediawiki.org, API:Parsing wikitext and API:Query; read 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from websearch_adapters.extract.public_api import asked, json_of, object_of
from websearch_adapters.extract.reading import Document
from websearch_adapters.provider import page_text, snippet, stamp, utc_now
from websearch_core.errors import BadReply, EmptyResult, NotFound
from websearch_core.values import FetchRequest, Page

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element
    from websearch_adapters.extract.worker import Worker
    from websearch_adapters.http.pages import Fetched, PageClient

__all__ = ["Target", "Wikipedia", "WikipediaSettings", "target_of", "to_text"]

NAME = "wikipedia"
OTHER_NAMESPACES = frozenset({
    "talk", "user", "user talk", "wikipedia", "wikipedia talk", "wp", "wt", "project", "project talk", "file", "file talk",
    "image", "image talk", "mediawiki", "mediawiki talk", "template", "template talk", "tm", "help", "help talk", "category",
    "category talk", "cat", "portal", "portal talk", "draft", "draft talk", "mos", "module", "module talk", "timedtext",
    "timedtext talk", "special", "media", "book", "book talk", "gadget", "gadget talk", "topic", "event", "event talk",
    "benutzer", "benutzerin", "benutzer diskussion", "diskussion", "datei", "vorlage", "hilfe", "kategorie", "spezial",
    "utilisateur", "utilisatrice", "discussion", "fichier", "modèle", "aide", "catégorie", "spécial", "projet", "portail",
    "usuario", "usuaria", "discusión", "archivo", "plantilla", "ayuda", "categoría", "especial", "usuário", "discussão",
    "ficheiro", "predefinição", "ajuda", "categoria", "utente", "discussione", "speciale", "aiuto", "gebruiker", "overleg",
    "bestand", "sjabloon", "speciaal", "categorie", "участник", "участница", "обсуждение", "файл", "шаблон", "справка",
    "категория", "служебная", "википедия", "портал", "wikipédia", "利用者", "ノート", "ファイル",
    "テンプレート", "カテゴリ", "特別",
    "用户", "用戶", "讨论", "討論", "文件", "檔案", "模板", "分类", "分類", "特殊", "帮助", "幫助", "维基百科", "維基百科",
    "사용자", "토론", "파일", "틀", "분류", "특수", "위키백과",
})  # fmt: skip
"""Prefixes that begin no article's title, in lower case; English ones hold in every language. The API decides on others."""
MAX_QUERY_BYTES = 262_144
"""Of the reply that says in which namespace a title is, which takes some hundred."""
NO_LANGUAGES = frozenset({"www", "api", "m", "test", "test2", "ten", "donate", "nostalgia", "wikimania"})
ELSEWHERE = frozenset({"action", "oldid", "diff", "curid", "search", "veaction", "redlink"})
"""Parameters that ask for something else than the article as it stands."""
CLUTTER = (
    "navbox", "vertical-navbox", "navbox-styles", "metadata", "ambox", "mbox-small", "sistersitebox", "noprint", "hatnote",
    "mw-editsection", "mw-empty-elt", "mw-jump-link", "mw-cite-backlink", "reference", "references", "reflist", "toc",
    "mw-authority-control", "portalbox", "printfooter", "catlinks", "stub",
)  # fmt: skip

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,12}){0,3}|simple")
_LEVEL = re.compile(r"(#{1,6}) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class WikipediaSettings:
    """How to read Wikipedia."""

    base_url: str = "https://{language}.wikipedia.org"
    """`{language}` stands for the language of the asked address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An article."""

    language: str
    title: str
    """With blanks, as people read it."""
    variant: str = ""
    """Of the script or region, such as `zh-tw`, where the address names one."""


# --- translations -------------------------------------------------------------------------------------------------


def target_of(url: str) -> Target | None:
    """What the address means; None for other namespaces, older versions, edits, and other hosts."""
    parts = urlsplit(url)
    language = _language((parts.hostname or "").rstrip("."))
    query = parse_qs(parts.query)
    if not language or parts.port not in {None, 80, 443} or ELSEWHERE & query.keys():
        return None
    place, _, rest = parts.path.removeprefix("/").partition("/")
    if place == "w":
        rest, place = query.get("title", [""])[-1] if rest == "index.php" else "", "wiki"
    title = " ".join(_decoded(rest).replace("_", " ").split()).strip(":")
    is_variant = place.startswith(f"{language}-")
    if not title or not (place == "wiki" or is_variant) or _namespace(title) in OTHER_NAMESPACES:
        return None
    return Target(language=language, title=title, variant=place if is_variant else "")


def _language(host: str) -> str:
    if not host.endswith(".wikipedia.org"):
        return ""
    language = host.removesuffix(".wikipedia.org").removesuffix(".m")
    return language if _LANGUAGE.fullmatch(language) and language not in NO_LANGUAGES else ""


def _decoded(text: str) -> str:
    """Without escapes, also where somebody escaped the escapes; empty where the bytes are no UTF-8."""
    for _ in range(2):
        try:
            text = unquote(text, errors="strict")
        except UnicodeDecodeError:
            return ""
    return text


def _namespace(title: str) -> str:
    """What stands before the first colon; empty without one."""
    prefix, colon, _ = title.partition(":")
    return " ".join(prefix.split()).casefold() if colon else ""


def parse_to_wire(target: Target) -> str:
    """The query string that asks for the article as HTML."""
    asked_for = {"action": "parse", "page": target.title, "prop": "text|revid", "redirects": "1"}
    shape = {"disableeditsection": "1", "disabletoc": "1", "format": "json", "formatversion": "2"}
    return urlencode({**asked_for, **({"variant": target.variant} if target.variant else {}), **shape})


def namespace_to_wire(target: Target) -> str:
    """The query string that asks in which namespace a title is."""
    return urlencode({"action": "query", "titles": target.title, "redirects": "1", "format": "json", "formatversion": "2"})


def is_article(reply: Mapping[str, Any]) -> bool:
    """Whether the asked title is one of an article: in namespace 0 of this wiki."""
    query = reply.get("query")
    pages = query.get("pages") if isinstance(query, Mapping) else None
    return isinstance(pages, list) and any(isinstance(page, Mapping) and page.get("ns") == 0 for page in pages)


def article_from_wire(reply: Mapping[str, Any]) -> tuple[str, str]:
    """Title and HTML of the article, redirects followed.

    Raises:
        NotFound: there is no such article.
        BadReply: no article in it.
    """
    error = reply.get("error")
    if isinstance(error, Mapping) and error.get("code") in {"missingtitle", "invalidtitle"}:
        raise NotFound("wikipedia has no such article", provider=NAME, hint="Check the title, or search for it.")
    parsed = reply.get("parse")
    title = snippet(parsed.get("title"), limit=300) if isinstance(parsed, Mapping) else ""
    text = parsed.get("text") if isinstance(parsed, Mapping) else None
    if not title or not isinstance(text, str):
        raise BadReply("wikipedia: the reply holds no article", provider=NAME)
    return title, text


def to_text(title: str, text: str, base_url: str) -> str:
    """The article's HTML as Markdown; for the process that reads documents.

    Raises:
        EmptyResult: nothing to read in it.
    """
    from websearch_adapters.extract.content import stripped
    from websearch_adapters.extract.markdown import render
    from websearch_adapters.extract.markup import body_of, parse, remove

    root = parse(text)
    if root is None:
        raise EmptyResult("wikipedia: the article has no text", provider=NAME)
    body = body_of(root)
    for element in list(body.iter()):
        if element is not body and not set((element.get("class") or "").split()).isdisjoint(CLUTTER):
            remove(element)
    for element in list(body.iter("math")):
        remove(element)
    _write_formulas(body)
    for element in list(body.iter("img")):
        remove(element)
    body = stripped(root)
    blocks = _without_bare_headings(page_text(render(body, base_url)).split("\n\n"))
    if not blocks:
        raise EmptyResult("wikipedia: the article has no text", provider=NAME)
    return "\n\n".join([f"# {title}", *blocks])


def _write_formulas(body: Element) -> None:
    """A formula comes as MathML that nobody sees and an image; its TeX stands in the image's alternative text."""
    for image in list(body.iter("img")):
        tex = (image.get("alt") or "").strip()
        if "mwe-math-fallback-image" in (image.get("class") or "") and tex:
            block = "display" in (image.get("class") or "")
            image.attrib.clear()
            image.tag = "math"
            image.text = tex.removeprefix("{").removesuffix("}").removeprefix(chr(92) + "displaystyle").strip()
            if block:
                image.set("display", "block")


def _without_bare_headings(blocks: list[str]) -> list[str]:
    """The blocks without headings that nothing stands under, such as those of the footnotes that were taken out."""
    kept: list[str] = []
    below = 0
    for block in reversed([block for block in blocks if block.strip()]):
        level = len(found.group(1)) if (found := _LEVEL.match(block)) else 0
        bare = level and (not kept or (below and below <= level))
        if not bare:
            kept.append(block)
            below = level
    return kept[::-1]


# --- the reader ---------------------------------------------------------------------------------------------------


class Wikipedia:
    """Extractor for articles."""

    name = NAME

    def __init__(
        self,
        pages: PageClient,
        worker: Worker,
        settings: WikipediaSettings | None = None,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._pages = pages
        self._worker = worker
        self._settings = settings or WikipediaSettings()
        self._now = now

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """The article as Markdown; None for other addresses and for pages that are no articles.

        Raises:
            NotFound: there is no such article.
            ProviderError, NotAllowed: as `PageClient.get`.
        """
        target = target_of(request.url)
        if target is None:
            return None
        self._worker.warm()
        if ":" in target.title and not await self._is_article(target):
            return None
        fetched = await self._asked(target, parse_to_wire(target))
        site = f"https://{target.language}.wikipedia.org"
        document = Document(body=fetched.body, url=fetched.final_url)
        about, text = await self._worker.ask("article", document, reader=NAME, base_url=f"{site}/wiki/")
        title: str = about["title"]
        return Page(
            url=request.url,
            final_url=f"{site}/{target.variant or 'wiki'}/{quote(title.replace(' ', '_'), safe='/:(),')}",
            title=title,
            text=text.decode("utf-8", "surrogatepass"),
            kind="markdown",
            provider=NAME,
            language="en" if target.language == "simple" else target.variant or target.language,
            fetched_at=stamp(self._now()),
        )

    async def _is_article(self, target: Target) -> bool:
        fetched = await self._asked(target, namespace_to_wire(target), max_bytes=MAX_QUERY_BYTES)
        return is_article(object_of(json_of(fetched.body, reader=NAME), reader=NAME))

    async def _asked(self, target: Target, query: str, *, max_bytes: int | None = None) -> Fetched:
        base = self._settings.base_url.replace("{language}", target.language)
        return await asked(self._pages, f"{base}/w/api.php?{query}", reader=NAME, max_bytes=max_bytes)
