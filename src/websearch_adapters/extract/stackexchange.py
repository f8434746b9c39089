"""Questions of the Stack Exchange network through its API: Stack Overflow, its siblings, their meta sites, MathOverflow.

Source: api.stackexchange.com, version 2.3; read 2026-11-30. Without a key it allows 300 requests a day for an address; a page
costs two to four of them. A reply may ask to leave its method alone for some seconds (`backoff`).
"""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from websearch_adapters.extract.public_api import asked, folded, items_of, json_of, line, object_of
from websearch_adapters.extract.reading import Document
from websearch_adapters.provider import number, page_text, snippet, stamp, utc_now, web_address
from websearch_core.errors import BadReply, EmptyResult, RateLimited
from websearch_core.values import FetchRequest, Page

if TYPE_CHECKING:
    from websearch_adapters.extract.worker import Worker
    from websearch_adapters.http.pages import PageClient

__all__ = ["StackExchange", "StackExchangeSettings", "Target", "target_of"]

NAME = "stackexchange"
MAX_ANSWERS = 5
MAX_COMMENTS = 30
MAX_REPLY_BYTES = 2 * 1_024 * 1_024
"""Posts have at most 30,000 characters, comments 600: six of the one and thirty-one of the other take half of it at most."""
SITES = ("stackoverflow.com", "serverfault.com", "superuser.com", "askubuntu.com", "stackapps.com", "mathoverflow.net")
"""The sites with a name of their own."""
NO_SITES = frozenset({"api", "area51", "blog", "chat", "data", "openid", "stackauth", "winterbash", "www"})
"""Hosts of the network without questions."""

WITH_FORMULAS = ("mathoverflow.net", ".stackexchange.com")
"""Hosts whose sites write TeX between dollar signs; those of the rest hardly do, but prices and variables."""

_LANGUAGE_SITE = re.compile(r"(?:es|ja|pt|ru)(?:\.meta)?\.stackoverflow\.com")
_NETWORK_SITE = re.compile(r"(?P<older>meta\.)?(?P<site>[a-z0-9-]+)(?P<newer>\.meta)?\.stackexchange\.com")
_NUMBER = re.compile(r"[1-9][0-9]{0,11}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StackExchangeSettings:
    """How to read the network."""

    api_url: str = "https://api.stackexchange.com/2.3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A question, or an answer to one."""

    site: str
    """The host, which the API takes as the name of a site."""
    question: int = 0
    """0 where the address names an answer alone."""
    answer: int = 0
    """The answer that the address is about."""


# --- translations -------------------------------------------------------------------------------------------------


def target_of(url: str) -> Target | None:
    """What the address means; None for lists, tags, users, chat, and whatever is no question and no answer."""
    parts = urlsplit(url)
    site = _site((parts.hostname or "").rstrip("."))
    if not site or parts.port not in {None, 80, 443}:
        return None
    match [segment for segment in parts.path.split("/") if segment]:
        case ["questions", question, _, answer] if _NUMBER.fullmatch(question) and _NUMBER.fullmatch(answer):
            return Target(site=site, question=int(question), answer=int(answer))
        case ["questions", question] | ["questions", question, _] | ["q", question] | ["q", question, _]:
            named = parts.fragment if _NUMBER.fullmatch(parts.fragment) else "0"
            return Target(site=site, question=int(question), answer=int(named)) if _NUMBER.fullmatch(question) else None
        case ["a", answer] | ["a", answer, _]:
            return Target(site=site, answer=int(answer)) if _NUMBER.fullmatch(answer) else None
        case _:
            return None


def _site(host: str) -> str:
    """The site's name for the API; empty for a host that is none."""
    host = host.removeprefix("www.")
    if host.removeprefix("meta.") in SITES or _LANGUAGE_SITE.fullmatch(host):
        return host
    found = _NETWORK_SITE.fullmatch(host)
    if found is None or found["site"] in NO_SITES:
        return ""
    meta = ".meta" if found["older"] or found["newer"] else ""
    return f"{found['site']}{meta}.stackexchange.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A question with what is shown of its answers, as the API sends them."""

    question: Mapping[str, Any]
    answers: Sequence[Mapping[str, Any]] = ()
    """The accepted one, the one that was asked for, the others by votes."""
    comments: Sequence[Mapping[str, Any]] = ()
    """On the accepted answer; one more than is shown where there are more."""


def chosen(answers: Sequence[Mapping[str, Any]], *, accepted: int, wanted: int) -> tuple[Mapping[str, Any], ...]:
    """At most five answers, each once: the accepted one, the wanted one, then the others by votes."""
    once = {int(number(one.get("answer_id")) or 0): one for one in answers}
    first = [once.pop(key) for key in dict.fromkeys((accepted, wanted)) if key in once]
    rest = sorted(once.values(), key=lambda one: -(number(one.get("score")) or 0.0))
    return (*first, *rest)[:MAX_ANSWERS]


def to_text(thread: Thread, site: str) -> str:
    """The thread as Markdown; parses HTML, for the process that reads documents.

    Raises:
        BadReply: the question has no title.
    """
    question = thread.question
    title, url = _plain(question.get("title"), limit=300), web_address(question.get("link")) or f"https://{site}"
    if not title:
        raise BadReply("stackexchange: the reply holds no question", provider=NAME)
    facts = line([
        f"Question on {site}",
        _score(question),
        f"asked by {_owner(question)} on {_day(question.get('creation_date'))}",
        _tags(question.get("tags")),
        f"closed: {reason}" if (reason := _plain(question.get("closed_reason"), limit=200)) else "",
    ])  # fmt: skip
    blocks = [f"# {title}", facts, _markdown(question.get("body"), url) or "*No text.*"]
    if not thread.answers:
        return "\n\n".join([*blocks, "*No answers.*"])
    shown = [_answer(one, thread.comments, url) for one in thread.answers]
    total = max(int(number(question.get("answer_count")) or 0), len(shown))
    return "\n\n".join([*blocks, "## Answers", folded(shown, total=total, what="answers", url=url)])


def _answer(one: Mapping[str, Any], comments: Sequence[Mapping[str, Any]], url: str) -> str:
    accepted = one.get("is_accepted") is True
    head = f"### {'Accepted answer' if accepted else 'Answer'} by {_owner(one)}"
    blocks = [line([head, _score(one), _day(one.get("creation_date"))]), _markdown(one.get("body"), url) or "*No text.*"]
    if accepted and comments:
        blocks += ["#### Comments", _comments(comments, url)]
    return "\n\n".join(blocks)


def _comments(comments: Sequence[Mapping[str, Any]], url: str) -> str:
    lines = [
        f"- {_owner(one)} ({_day(one.get('creation_date'))}): {' '.join(_markdown(one.get('body'), url).split())}"
        for one in comments[:MAX_COMMENTS]
    ]
    if len(comments) > MAX_COMMENTS:
        lines.append(f"- *more comments are not shown: {url}*")
    return "\n".join(lines)


def _markdown(value: object, url: str) -> str:
    from websearch_adapters.extract import formulas
    from websearch_adapters.extract.content import stripped
    from websearch_adapters.extract.markdown import render
    from websearch_adapters.extract.markup import body_of, parse

    root = parse(value) if isinstance(value, str) else None
    if root is None:
        return ""
    if (urlsplit(url).hostname or "").endswith(WITH_FORMULAS):
        formulas.split(body_of(root), dollars=True)
    return page_text(render(stripped(root), url))


def _plain(value: object, *, limit: int) -> str:
    """Titles and names come with entities, even in JSON."""
    return snippet(html.unescape(value), limit=limit) if isinstance(value, str) else ""


def _owner(one: Mapping[str, Any]) -> str:
    owner = one.get("owner")
    return _plain(owner.get("display_name"), limit=100) or "someone" if isinstance(owner, Mapping) else "someone"


def _score(one: Mapping[str, Any]) -> str:
    score = number(one.get("score"))
    return "" if score is None else f"score {score:.0f}"


def _tags(value: object) -> str:
    tags = [snippet(tag, limit=60) for tag in value] if isinstance(value, list) else []
    return f"tags: {', '.join(filter(None, tags))}" if any(tags) else ""


def _day(value: object) -> str:
    """The day of a moment in seconds since 1970; `an unknown day` for anything else."""
    seconds = number(value)
    if seconds is None or not 0 < seconds < 1e11:
        return "an unknown day"
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


# --- the reader ---------------------------------------------------------------------------------------------------


class StackExchange:
    """Extractor for the questions of the network."""

    name = NAME

    def __init__(
        self,
        pages: PageClient,
        worker: Worker,
        settings: StackExchangeSettings | None = None,
        *,
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pages = pages
        self._worker = worker
        self._settings = settings or StackExchangeSettings()
        self._now = now
        self._clock = clock
        self._resting: dict[str, float] = {}
        """Method → until when it is to be left alone, by the clock."""

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """A question with at most five answers as Markdown; None for other addresses.

        Raises:
            RateLimited: the API asked to be left alone for some seconds.
            EmptyResult: there is no such question.
            ProviderError, NotAllowed: as `PageClient.get`.
        """
        target = target_of(request.url)
        if target is None:
            return None
        self._worker.warm()
        thread = await self._thread(target)
        document = Document(body=json.dumps(asdict(thread)).encode("ascii"), url=f"https://{target.site}")
        _, text = await self._worker.ask("thread", document, reader=NAME, site=target.site)
        asked_on = _day(thread.question.get("creation_date"))
        return Page(
            url=request.url,
            final_url=web_address(thread.question.get("link")),
            title=_plain(thread.question.get("title"), limit=300),
            text=text.decode("utf-8", "surrogatepass"),
            kind="markdown",
            provider=NAME,
            published=asked_on if asked_on[0].isdecimal() else "",
            fetched_at=stamp(self._now()),
        )

    async def _thread(self, target: Target) -> Thread:
        question_id = target.question or await self._question_of(target)
        found = await self._items("questions", f"/questions/{question_id}", target.site)
        if not found:
            raise EmptyResult("stackexchange: there is no such question", provider=NAME, hint="Check the address.")
        question = found[0]
        accepted = int(number(question.get("accepted_answer_id")) or 0)
        answers = await self._answers(question_id, target, accepted) if question.get("answer_count") else ()
        comments: Sequence[Mapping[str, Any]] = ()
        if accepted and any(one.get("answer_id") == accepted for one in answers):
            path = f"/answers/{accepted}/comments"
            comments = await self._items("comments", path, target.site, order="asc", sort="creation", pagesize=MAX_COMMENTS + 1)
        return Thread(question=question, answers=answers, comments=comments)

    async def _question_of(self, target: Target) -> int:
        found = await self._items("answers", f"/answers/{target.answer}", target.site)
        question = number(found[0].get("question_id")) if found else None
        if not question:
            raise EmptyResult("stackexchange: there is no such answer", provider=NAME, hint="Check the address.")
        return int(question)

    async def _answers(self, question_id: int, target: Target, accepted: int) -> tuple[Mapping[str, Any], ...]:
        """The best by votes, and the two that must not be missing however few votes they have."""
        found = await self._items(
            "question answers",
            f"/questions/{question_id}/answers",
            target.site,
            order="desc",
            sort="votes",
            pagesize=MAX_ANSWERS + 1,
        )
        have = {one.get("answer_id") for one in found}
        missing = [str(one) for one in dict.fromkeys((accepted, target.answer)) if one and one not in have]
        if missing:
            more = await self._items("answers", f"/answers/{';'.join(missing)}", target.site)
            found = (*found, *(one for one in more if one.get("question_id", question_id) == question_id))
        return chosen(found, accepted=accepted, wanted=target.answer)

    async def _items(self, method: str, path: str, site: str, **more: object) -> tuple[Mapping[str, Any], ...]:
        """The items of a reply, with their text as HTML.

        Raises:
            RateLimited: this method is to be left alone.
            BadReply: no list of items.
        """
        left_s = self._resting.get(method, 0.0) - self._clock()
        if left_s > 0:
            raise RateLimited("stackexchange asked to wait", provider=NAME, hint="Try again later.", retry_after_s=left_s)
        url = f"{self._settings.api_url}{path}?{urlencode({**more, 'site': site, 'filter': 'withbody'})}"
        reply = object_of(
            json_of((await asked(self._pages, url, reader=NAME, max_bytes=MAX_REPLY_BYTES)).body, reader=NAME), reader=NAME
        )
        if (wait_s := number(reply.get("backoff"))) is not None:
            self._resting[method] = self._clock() + wait_s
        return items_of(reply.get("items"), reader=NAME)
