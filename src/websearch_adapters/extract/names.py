"""What the names of an element say: tags, roles, class names.

Class names are matched as whole words; ids that are slugs are not matched at all: `api_metadata` is no metadata.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from websearch_adapters.extract.forest import tokens

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = [
    "ARTICLE",
    "ASIDE",
    "CAPTION",
    "COMMENT",
    "FOOTER",
    "FORM",
    "FRAME",
    "GUTTER",
    "HEADER",
    "ITEM",
    "LINK",
    "MAIN",
    "NAV",
    "NOISE",
    "POST",
    "ROLE_FLAGS",
    "TAG_FLAGS",
    "flags_of",
    "is_junk_heading",
    "parts_of",
    "role_of",
    "score_of",
]  # fmt: skip

NAV, HEADER, FOOTER, ASIDE, MAIN, ARTICLE, FORM, ITEM = (1 << n for n in range(8))
NOISE, COMMENT, POST, LINK, CAPTION, FRAME = (1 << n for n in range(10, 16))
"""The forest was grown on the values of `MAIN`, `ARTICLE`, `COMMENT` and `POST`: those must stay what they are."""
TAG_FLAGS = {
    "nav": NAV, "header": HEADER, "footer": FOOTER, "aside": ASIDE, "main": MAIN, "article": ARTICLE, "form": FORM, "li": ITEM,
}  # fmt: skip
ROLE_FLAGS = {
    "navigation": NAV, "banner": FRAME, "contentinfo": FRAME, "search": FRAME, "dialog": FRAME, "alertdialog": FRAME,
    "menu": NAV, "menubar": NAV, "toolbar": FRAME, "tablist": FRAME, "complementary": ASIDE, "main": MAIN, "article": ARTICLE,
}  # fmt: skip


def _words(*alternatives: str) -> re.Pattern[str]:
    """For whole words in lower case: without regard to case a match takes twice as long."""
    return re.compile("|".join(alternatives))


NOISE_NAMES = _words(
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
    r"captions?|credits?|byline|dateline|timestamp|pub-?date|published|photo-?credit|kicker|dek|sub-?title",
    r"standfirst",
)
GUTTER = re.compile(
    r"(?:^|[\s_-])(?:linenos?|lineno|line-?numbers?(?:-rows)?|gutter|ln-num|hljs-ln-numbers|blob-num|lnt)(?:$|[\s_-])",
    re.IGNORECASE,
)
_OTHER_PAGES = (
    r"(?:articles?|blogs?|content|courses|coverage|documents?|entries|events|guides|items|jobs|links|news|pages?|posts?|products?"
    r"|publications?|questions|reading|reads|resources?|searches|stor(?:y|ies)|topics?|videos?)"
)
_JUNK_HEADING = re.compile(
    rf"(?:related|recommended|similar|popular|latest|trending)(?:$|:| (?:\w+ )?{_OTHER_PAGES}\b| (?:for you|from|in|now|on)\b)"
    r"|comments?(?:$|:| ?\(| \d| (?:are|policy|section)\b)|(?:tags|categories)(?:$|:)"
    r"|(?:read (?:more|next|also)|you (?:may|might) (?:also )?(?:like|enjoy)|more (?:from|stories|news|articles|posts|in|like)"
    r"|most (?:read|popular)|share (?:this|on|via)|leave a (?:reply|comment)|join the (?:discussion|conversation)|subscribe"
    r"|newsletter|sign up|about the author|follow us|recent (?:posts|articles)|further reading on|also on|don't miss"
    r"|advertisement|sponsored|keep reading|next (?:article|post|up)|previous (?:article|post))\b",
    re.IGNORECASE,
)
_FOREIGN_JUNK = re.compile(
    r"(?:mehr (?:zum thema|aus|von|artikel)|das könnte (?:sie|dich|ihnen)|weitere (?:artikel|themen|beiträge|nachrichten)"
    r"|(?:ähnliche|verwandte) (?:artikel|beiträge|themen)|auch interessant|lesen sie auch|meistgelesen|meist gelesen"
    r"|schreibe? einen kommentar|artikel teilen|diesen artikel|über (?:den autor|die autorin)|zu[mr] autor(?:in)?"
    r"|(?:vorheriger|nächster) (?:artikel|beitrag)|à lire (?:aussi|également)|lire aussi|sur le même (?:sujet|thème)"
    r"|articles? (?:similaires?|liés?|connexes?|récents?)|les plus (?:lus|populaires)|vous aimerez|laisser un commentaire"
    r"|à propos de l'auteur|article (?:précédent|suivant)|suivez-nous|abonnez-vous|(?:también )?te puede interesar"
    r"|(?:lea|leer|lee) también|noticias relacionadas|(?:artículo|entrada)s? relacionad[ao]s?|lo más (?:leído|visto)"
    r"|deja (?:un comentario|una respuesta)|sobre el autor|síguenos|suscríbete|leggi anche|articoli correlati"
    r"|potrebbe interessarti|ti potrebbe|i più letti|lascia un commento|leia (?:também|mais)|notícias relacionadas"
    r"|artigos relacionados|mais lidas|lees ook|meest gelezen|czytaj (?:także|też)|читайте (?:также|ещ[её])"
    r"|похожие (?:статьи|материалы|новости|записи)|материалы по теме|об авторе)\b"
    r"|(?:kommentare|schlagw[oö]rter?|commentaires?|partager|mots-clés|comentarios?|compart(?:ir?|e|ilhe?)|etiquetas|commenti"
    r"|condividi|comentários|gerelateerd|reacties|komentarze|udostępnij|комментарии|поделиться|теги)(?:$|:| ?\(| \d)"
    r"|(?:相关(?:阅读|文章|新闻|推荐|报道|内容)|相關(?:閱讀|文章|新聞|報導)|延伸阅读|延伸閱讀|推荐阅读|热门(?:文章|新闻|推荐|话题)"
    r"|熱門(?:文章|新聞|話題)|更多(?:新闻|文章|内容)|(?:网友|发表|最新)?(?:评论|評論)|标签|上一篇|下一篇|責任編輯|责任编辑"
    r"|関連(?:記事|リンク|キーワード|ニュース)|あわせて読みたい|おすすめ(?:記事|コンテンツ)|人気記事|コメント(?:を書く|を残す)?"
    r"|シェア(?:する)?|前の記事|次の記事|ランキング)(?:$|[\W\d])"
)
"""What stands over other pages, comments and buttons in eleven languages; for text in lower case."""
_FLAGS = ((NOISE_NAMES, NOISE), (COMMENTS, COMMENT), (FORUM_POSTS, POST), (CAPTIONS, CAPTION))
_PAIRED = frozenset({
    "about", "alert", "author", "back", "bs", "comment", "comments", "copy", "crawler", "cross", "entry", "js", "jump",
    "language", "log", "may", "mbox", "mega", "message", "mini", "more", "mw", "next", "of", "on", "photo", "post", "prev",
    "print", "pub", "rating", "read", "reference", "reply", "screen", "search", "share", "sharing", "side", "sign", "site",
    "skip", "sort", "sub", "table", "tag", "tags", "the", "this", "to", "top", "topic", "version", "vertical", "visually",
    "you",
})  # fmt: skip
"""Words that mean something together with the next one."""
_NO_NAME = re.compile(r"[:\[/]|^toc-backref$")
"""Classes that tell how a thing looks (`print:hidden`, `links-accent:underline`), and the one that docutils gives to headings."""
_PART = re.compile(r"[a-z]{2,}|[A-Z][a-z]+|[A-Z]+(?![a-z])")


def is_junk_heading(text: str) -> bool:
    """Whether it stands over other pages, comments or buttons."""
    return _JUNK_HEADING.match(text) is not None or _FOREIGN_JUNK.match(text.lower()) is not None


@lru_cache(maxsize=2048)
def flags_of(name: str) -> int:
    """What a class list says, as flags."""
    flags, last, before = 0, "", ""
    for whole in name.lower().split():
        for word in _words_in(whole):
            flags |= _flags_of_word(word)
            if last in _PAIRED:
                flags |= _flags_of_word(f"{last}-{word}")
                if before in _PAIRED:
                    flags |= _flags_of_word(f"{before}-{last}-{word}")
            before, last = last, word
    return flags


@lru_cache(maxsize=2048)
def _words_in(whole: str) -> tuple[str, ...]:
    """What a class in lower case is made of; nothing where it is no name."""
    return () if _NO_NAME.search(whole) else tuple(whole.replace("-", " ").replace("_", " ").split())


@lru_cache(maxsize=16384)
def _flags_of_word(word: str) -> int:
    return sum(flag for pattern, flag in _FLAGS if pattern.fullmatch(word))


def parts_of(name: str) -> frozenset[str]:
    """The words of a class list: whole class names, and the words that these are made of."""
    whole = [word for word in name.lower().split() if 2 < len(word) < 40]
    return frozenset([*whole, *" ".join(_PART.findall(name)).lower().split()])


@lru_cache(maxsize=2048)
def score_of(name: str) -> tuple[float, float]:
    """The worst and the best that a word of a class list says."""
    worst = best = 0.0
    for whole in name.split():
        low, high = _score_of_class(whole)
        worst, best = min(worst, low), max(best, high)
    return worst, best


@lru_cache(maxsize=2048)
def _score_of_class(whole: str) -> tuple[float, float]:
    scores = tokens()
    found = [scores[word] for word in parts_of(whole) & scores.keys()]
    return min(0.0, *found, 0.0), max(0.0, *found, 0.0)


def role_of(element: Element) -> str:
    """Class and id as one text; a long hyphenated id is the slug of a heading and tells nothing."""
    name = element.get("id") or ""
    return f"{element.get('class') or ''} {name if name.count('-') < 3 else ''}".strip()
