"""Recognises a page that says there is no such page, although its status says that there is one.

Titles and headings count only where they say nothing else, sentences only on a page with hardly any others, so that a page
*about* status 404 is read as any other. What its metadata says counts with such words or without any text, never against text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from websearch_adapters.extract.metadata import Metadata

__all__ = ["Absence", "absence"]

Absence: TypeAlias = Literal["", "doubtful", "sure"]

BODY_CHARS = 20_000
"""Markdown longer than this is no such page, however much of it is links."""
PROSE_CHARS = 1_500
"""The same for text outside of links."""
UNNAMED_CHARS = 1_500
"""The first again, for a page whose title says something else."""
SURE_CHARS = 600
FEW_CHARS = 300
BARE_CHARS = 40
"""Letters beside "404 Not Found" that still say nothing: the name of a server or a site."""
MAX_LINE_CHARS = 160

_PAGE = (
    r"(?:web ?)?(?:page|site|url|file|document|content|resource|address|link|article|post|entry|item|location|path|route|topic"
    r"|listing|profile|user|account|video)s?"
)
_YOU = r"(?: (?:that |which )?you(?:'re| are| were|'ve| have)?\b[^.!?\n]{0,60}?| requested)?"
_NOT = r"(?:not|cannot be|can't be|can not be|couldn't be|could not be|wasn't|isn't|has not been|was not|is not)"
_SAID = re.compile(
    rf"\b{_PAGE}{_YOU},? {_NOT} (?:found|available|exist)\b(?: on this server)?"
    rf"|\b{_PAGE}{_YOU},? (?:(?:does not|doesn't|did not|didn't|may not|might not) exists?|no longer exists?)(?: any ?more)?\b"
    rf"|\b{_PAGE}{_YOU},? (?:is |has been |have been |was |were )?(?:no longer (?:available|here)|missing|removed|deleted)\b"
    r"|\b(?:cannot|can't|can not|couldn't|could not|unable to) (?:seem to )?(?:find|locate) (?:the |that |this |your |a )?"
    rf"(?:requested )?(?:{_PAGE}\b{_YOU}|what you(?:'re| are| were) looking for)"
    rf"|\bno such {_PAGE}|\b(?:there(?:'s| is) )?nothing (?:here|(?:was |to be )?found (?:here|at this (?:location|address)))\b"
    # German
    r"|\bseite(?: [^.!?\n]{0,50}?)? (?:nicht (?:gefunden|vorhanden|mehr (?:vorhanden|verfügbar))"
    r"|(?:existiert|gibt es) (?:leider )?nicht(?: mehr)?)|\bseite (?:leider )?nicht finden\b"
    # French
    r"|\bpage(?: [^.!?\n]{0,50}?)? (?:introuvable|inexistante|non trouvée|n'existe (?:pas|plus)"
    r"|n'(?:a (?:pas|pu)|est (?:pas|plus))[^.!?\n]{0,20} (?:trouvée|disponible))"
    # Spanish
    r"|\bpágina(?: [^.!?\n]{0,50}?)? (?:no (?:se (?:ha )?)?(?:encontrad[ao]|encontró|encuentra|existe|está disponible|disponible)"
    r"|ya no (?:existe|está disponible))|\bno (?:se )?(?:ha |hemos |pudimos |podemos |puede )?(?:encontr\w+) (?:la|esta) página"
    # Portuguese
    r"|\bpágina(?: [^.!?\n]{0,50}?)? (?:não (?:foi )?(?:encontrada|existe|está disponível)|já não existe)"
    r"|\bnão (?:foi possível |conseguimos |pudemos )?encontr\w+ (?:a|esta|essa) página"
    # Italian
    r"|\bpagina(?: [^.!?\n]{0,50}?)? (?:non (?:è stata )?(?:trovata|esiste(?: più)?)|non (?:è )?(?:più )?disponibile"
    r"|inesistente)"
    # Dutch, Polish
    r"|\bpagina(?: [^.!?\n]{0,50}?)? (?:(?:is )?niet (?:gevonden|beschikbaar)|bestaat niet(?: meer)?)"
    r"|\bstrona(?: [^.!?\n]{0,50}?)? nie (?:została znaleziona|znaleziona|istnieje)"
    r"|\bnie (?:znaleziono|można znaleźć)(?: \w+)? strony"
    # Russian
    r"|\bстраниц\w?(?: [^.!?\n]{0,50}?)? не (?:найден\w?|существует|была найдена)|\bстраницы (?:больше )?(?:нет|не существует)"
    # Chinese, in both scripts
    r"|(?:页面|网页|頁面|網頁|文章|内容|內容)[^。！？\n]{0,12}(?:不存在|未找到|[没沒]有找到|找不到|[无無]法找到|丢失了?|走丢了?|不見了"
    r"|已[经經]?被?(?:删除|刪除|移除|下线|下架))|(?:找不到|未找到|[没沒]有找到|[无無]法找到)[^。！？\n]{0,12}(?:页面|网页|頁面|網頁|文章|内容|內容)"
    # Japanese
    r"|(?:ページ|記事|コンテンツ|url)[^。！？\n]{0,20}"
    r"(?:(?:見つかり|みつかり|存在し|あり|表示でき)ません(?:でした)?|見つけることができません(?:でした)?)"
    # Korean
    r"|페이지[를가을이는은]?[^.!?\n]{0,20}?(?:찾을 수 (?:없습니다|없음|없어요)|존재하지 않습니다|없습니다|삭제되었)"
    r"|존재하지 않는 페이지(?:입니다)?"
)
"""That there is no such page, in thirteen languages; for lower case and straight apostrophes."""
_NAMED = re.compile(
    r"\b(?:404|410)\b|\b(?:not found|nicht gefunden|introuvable|no encontrad[oa]|não encontrad[oa]|non trovat[oa]|niet gevonden"
    r"|nie znaleziono|не найден[оа]?)\b|未找到|找不到|見つかりません(?:でした)?|찾을 수 없(?:습니다|음)"
)
"""The same in a title, where it need not say what is not found."""
_FILLING = re.compile(
    r"\b(?:o+ps|wh?o+ps|uh|oh|no|sorry|hm+|ouch|error|err|http|status|code|page|we|we're|the|this|that|your|has|been|are|were|is|it"
    r"|looks|seems|like|afraid|but|and|you|requested|looking|for|fehler|leider|die|erreur|la|désolée?|cette|errore|erro"
    r"|lo sentimos|desculpe|fout|błąd|ошибка|извините|запрашиваемая|[45]\d\d)\b"
    r"|抱歉|对不起|對不起|很遗憾|错误|錯誤|出错了|您|你|访问|訪問|请求|要|查找|浏览|瀏覽|的|该|該|此|エラー|お探しの|指定された|ご指定の|申し訳"
    r"|오류|요청하신|찾으시는|해당|죄송합니다"
)
_DEFINES = re.compile(
    r"\b(?:means|refers? to|indicates?|occurs?|(?:status|response) codes?|client error|webmasters?|how to (?:fix|solve|resolve)"
    r"|bedeutet|statuscode|signifie|code d'état|significa"
    r"|código de estado|código de status|codice di stato|означает|код состояния)\b"
    r"|是指|代表|状态码|狀態碼|意味|ステータスコード|상태 코드|의미"
)
"""What a page says that is about the status."""
_WORKS = frozenset({
    "Article", "BlogPosting", "Book", "Comment", "Dataset", "DefinedTerm", "DiscussionForumPosting", "Event", "FAQPage", "HowTo",
    "JobPosting", "Movie", "MusicAlbum", "MusicGroup", "MusicRecording", "NewsArticle", "Product", "QAPage", "Question", "Recipe",
    "SoftwareApplication", "TechArticle", "VideoGame", "VideoObject",
})  # fmt: skip
"""Types of data that a page gives of something that is there."""
_PLACE = re.compile(
    r"(?:/[a-z]{2}(?:[-_][a-z]{2})?)?(?:/errors?)?/(?:(?:error|http|page)?[-_]?404(?:[-_]?(?:error|page|not[-_]?found))?"
    r"|(?:page[-_]?)?not[-_]?found)(?:\.[a-z]{3,5})?/?",
    re.IGNORECASE,
)
"""The path at which sites keep their page for what is not there."""
_TOPIC = re.compile(r"404|not[-_+ ]?found", re.IGNORECASE)
_LINK = re.compile(r"!?\[(?:[^\[\]\\]|\\.){0,500}\]\([^()\s]{0,2000}\)")
_MARKUP = re.compile(r"^[#>*\-+|\s]+|\*\*|`|\\", re.MULTILINE)
_PARTS = re.compile(r"\s+[-|–—·•:»«/]+\s+|[|｜_]")


def absence(about: Metadata, heading: str, body: str, url: str) -> Absence:
    """Whether the page says that it is not there.

    `heading`: the text of its first `<h1>`. `body`: its content as Markdown. Doubtful: it may be a short page of another kind.
    """
    if len(body) > BODY_CHARS or "```" in body or about.published_stated or about.types & _WORKS or _is_topic(url):
        return ""
    opening = body.partition("\n")[0].lstrip("# ") if body.startswith("#") else ""
    named = any(_says_only_that(line) for line in {about.title, heading, opening})
    stated = about.status in {"404", "410"} or _is_kept_elsewhere(about, url)
    if not named and not stated and len(body) > UNNAMED_CHARS:
        return ""
    prose = _plain(_MARKUP.sub("", _LINK.sub("", body)))
    return "" if len(prose) >= PROSE_CHARS or _DEFINES.search(prose) else _weighed(prose, named=named, stated=stated)


def _weighed(prose: str, *, named: bool, stated: bool) -> Absence:
    """What a short text amounts to, beside a title that says so and metadata that do."""
    said = _SAID.search(prose) is not None
    if (named or said) and (stated or _is_bare(prose)):
        return "sure"
    if stated:
        return "sure" if len(prose) < FEW_CHARS else "doubtful"
    if named:
        return "sure" if said and len(prose) < SURE_CHARS else "doubtful"
    return "doubtful" if said and len(prose) < FEW_CHARS else ""


def _plain(text: str) -> str:
    """Lower case, straight apostrophes, no blank lines."""
    lines = (" ".join(line.split()) for line in text.lower().replace("’", "'").split("\n"))
    return "\n".join(line for line in lines if line)


def _says_only_that(line: str) -> bool:
    """Whether a title or a part of it says that nothing was found, and nothing else."""
    if len(line) > MAX_LINE_CHARS:
        return False
    line = _plain(line)
    return _is_named(line) and any(_is_named(part) and not _rest([part]) for part in (line, *_PARTS.split(line)))


def _is_named(text: str) -> bool:
    return _SAID.search(text) is not None or _NAMED.search(text) is not None


def _rest(lines: Iterable[str]) -> str:
    """The letters and digits beside what says that nothing was found."""
    rest = (_FILLING.sub(" ", _NAMED.sub(" ", _SAID.sub(" ", line))) for line in lines)
    return "".join(character for line in rest for character in line if character.isalnum())


def _is_bare(prose: str) -> bool:
    return bool(prose) and len(_rest(prose.split("\n"))) < BARE_CHARS


def _is_topic(url: str) -> bool:
    """Whether the address names the matter, and is not where a site keeps its own page for it."""
    path = _path(url)
    return _TOPIC.search(path) is not None and not _PLACE.fullmatch(path)


def _is_kept_elsewhere(about: Metadata, url: str) -> bool:
    """Whether the page gives a page for what is not there as its own address, and does not come from there."""
    said = (_path(address) for address in (about.canonical, about.og_url))
    return not _PLACE.fullmatch(_path(url)) and any(_PLACE.fullmatch(path) for path in said)


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""
