"""GitHub through its REST API: issues, pull requests, releases, files and the README of a repository.

Source: docs.github.com, REST API of version 2022-11-28; read 2026-11-30. Without a token it allows 60 requests an hour for an
address, with one 5,000. A page costs one to four of them.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from websearch_adapters.extract.public_api import asked, folded, items_of, json_of, line, object_of
from websearch_adapters.extract.reading import Document
from websearch_adapters.extract.text import WRITTEN
from websearch_adapters.http.client import Request
from websearch_adapters.http.failures import Phrases
from websearch_adapters.provider import day, examined, number, page_text, snippet, stamp, utc_now, web_address
from websearch_core.errors import (
    AuthRejected,
    BadReply,
    Declined,
    EmptyResult,
    ProviderError,
    RateLimited,
    RequestRejected,
    WrongAddress,
)
from websearch_core.retry import RetryPolicy
from websearch_core.values import FetchRequest, Health, Page

if TYPE_CHECKING:
    from websearch_adapters.extract.worker import Worker
    from websearch_adapters.http.client import Http
    from websearch_adapters.http.pages import PageClient

__all__ = ["GitHub", "GitHubSettings", "Target", "talk_to_text", "target_of"]

NAME = "github"
HOSTS = frozenset({"github.com", "www.github.com"})
RAW_HOST = "raw.githubusercontent.com"
JSON = "application/vnd.github+json"
RAW = "application/vnd.github.raw+json"
VERSION = {"X-GitHub-Api-Version": "2022-11-28"}
MAX_COMMENTS = 30
PER_PAGE = MAX_COMMENTS + 1
"""One more than is shown tells that there are more."""
MAX_ASSETS = 30
PHRASES = Phrases(retry=("rate limit",), stop=("not accessible by", "saml"))
"""The API sends 403 for a limit, and for what this token alone may not see; neither makes the token a wrong one."""

Kind: TypeAlias = Literal["issue", "pull", "release", "file", "readme"]

NOT_OWNERS = frozenset({
    "about", "account", "apps", "blog", "codespaces", "collections", "contact", "copilot", "customer-stories", "dashboard",
    "discussions", "edu", "education", "enterprise", "enterprises", "events", "explore", "features", "gist", "issues", "join",
    "login", "logout", "marketplace", "mobile", "models", "new", "newsroom", "nonprofit", "notifications", "open-source",
    "organizations", "orgs", "partners", "premium-support", "pricing", "pulls", "readme", "repos", "resources", "search",
    "security", "sessions", "settings", "signup", "site", "solutions", "sponsors", "stars", "team", "topics", "trending",
    "users", "watching", "why-github",
})  # fmt: skip
"""First segments of GitHub's own pages."""
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_REPOSITORY = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubSettings:
    """How to read GitHub."""

    api_url: str = "https://api.github.com"
    """The only address that sees the token."""
    raw_url: str = "https://raw.githubusercontent.com"
    keyed: bool = False
    """Send the token of the credentials `github`."""
    read_timeout_s: float = 20.0
    retry: RetryPolicy = field(default_factory=lambda: RetryPolicy(max_attempts=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an address of GitHub means."""

    kind: Kind
    owner: str
    repository: str
    number: int = 0
    """Of the issue or pull request."""
    ref: str = ""
    """Branch, tag or commit; empty for the latest release and for the default branch."""
    path: str = ""
    """Of the file; where a branch has slashes in its name, its end stands here."""

    @property
    def name(self) -> str:
        """`owner/repository`."""
        return f"{self.owner}/{self.repository}"


# --- translations -------------------------------------------------------------------------------------------------


def target_of(url: str) -> Target | None:
    """What the address means; None for lists, diffs, settings, and whatever is not one of the five kinds."""
    parts = urlsplit(url)
    segments = [unquote(segment) for segment in parts.path.split("/") if segment]
    host = (parts.hostname or "").rstrip(".")
    if parts.port not in {None, 80, 443} or len(segments) < 2 or host not in HOSTS | {RAW_HOST}:
        return None
    owner, repository, rest = segments[0], segments[1].removesuffix(".git"), segments[2:]
    if not _OWNER.fullmatch(owner) or owner.lower() in NOT_OWNERS or not _REPOSITORY.fullmatch(repository):
        return None
    if any(segment in {".", ".."} for segment in rest):
        return None
    found = _file_in(rest) if host == RAW_HOST else _meaning(rest)
    return Target(owner=owner, repository=repository, **found) if found else None


def _meaning(rest: list[str]) -> dict[str, Any] | None:
    match rest:
        case []:
            return {"kind": "readme"}
        case ["issues", value] if _NUMBER.fullmatch(value):
            return {"kind": "issue", "number": int(value)}
        case ["pull", value] if _NUMBER.fullmatch(value):
            return {"kind": "pull", "number": int(value)}
        case ["releases", "latest"]:
            return {"kind": "release"}
        case ["releases", "tag", *tag] if tag:
            return {"kind": "release", "ref": "/".join(tag)}
        case ["tree", ref]:
            return {"kind": "readme", "ref": ref}
        case ["blob" | "raw", *file]:
            return _file_in(file)
        case _:
            return None


def _file_in(rest: list[str]) -> dict[str, Any] | None:
    if len(rest) >= 4 and rest[:2] in (["refs", "heads"], ["refs", "tags"]):
        rest = rest[2:]
    return {"kind": "file", "ref": rest[0], "path": "/".join(rest[1:])} if len(rest) >= 2 else None


def issue_to_text(issue: Mapping[str, Any], comments: tuple[Mapping[str, Any], ...], target: Target) -> str:
    """An issue with the first 30 of its comments, as Markdown."""
    reason = snippet(issue.get("state_reason")).replace("_", " ")
    facts = line([
        f"Issue in {target.name}",
        " as ".join(filter(None, [snippet(issue.get("state")), reason])),
        _opened(issue),
        _labels(issue),
    ])  # fmt: skip
    head = [f"# {_title(issue)} (#{target.number})", facts, page_text(issue.get("body")) or "*No description.*"]
    return "\n\n".join([*head, *_comments(comments, issue.get("comments"), _address(target))])


def pull_to_text(
    pull: Mapping[str, Any],
    target: Target,
    *,
    comments: tuple[Mapping[str, Any], ...],
    reviews: tuple[Mapping[str, Any], ...],
    remarks: tuple[Mapping[str, Any], ...],
) -> str:
    """A pull request with its comments, reviews and the remarks at lines of code, up to 30 of each, as Markdown."""
    address = _address(target)
    head = [
        f"# {_title(pull)} (#{target.number})",
        line([f"Pull request in {target.name}", _pull_state(pull), _opened(pull), _branches(pull), _size(pull), _labels(pull)]),
        page_text(pull.get("body")) or "*No description.*",
    ]
    told = [_review(one) for one in reviews if _says_something(one)][:MAX_COMMENTS]
    if told:
        head += ["## Reviews", folded(told, total=len(told) + max(0, len(reviews) - MAX_COMMENTS), what="reviews", url=address)]
    if remarks:
        shown = [_remark(one) for one in remarks[:MAX_COMMENTS]]
        total = _total(pull.get("review_comments"), len(remarks))
        head += ["## Review comments", folded(shown, total=total, what="review comments", url=address)]
    return "\n\n".join([*head, *_comments(comments, pull.get("comments"), address)])


def release_to_text(release: Mapping[str, Any], target: Target) -> str:
    """A release with its notes and files, as Markdown."""
    tag = snippet(release.get("tag_name"), limit=300)
    facts = line([
        f"Release {tag} of {target.name}",
        "pre-release" if release.get("prerelease") is True else "",
        "draft" if release.get("draft") is True else "",
        f"published by {_author(release.get('author'))} on {day(release.get('published_at'))}".removesuffix(" on "),
    ])  # fmt: skip
    blocks = [f"# {snippet(release.get('name'), limit=300) or tag}", facts, page_text(release.get("body")) or "*No notes.*"]
    assets = release.get("assets")
    files = [one for one in assets if isinstance(one, Mapping)] if isinstance(assets, list) else []
    if files:
        shown = "\n".join(_asset(one) for one in files[:MAX_ASSETS])
        blocks += ["## Files", folded([shown], total=1 + max(0, len(files) - MAX_ASSETS), what="files", url=_address(target))]
    return "\n\n".join(blocks)


def talk_to_text(
    target: Target,
    subject: Mapping[str, Any],
    *,
    comments: Sequence[Mapping[str, Any]] = (),
    reviews: Sequence[Mapping[str, Any]] = (),
    remarks: Sequence[Mapping[str, Any]] = (),
) -> str:
    """An issue, a pull request or a release with what was said about it; for the process that reads documents."""
    if target.kind == "release":
        return release_to_text(subject, target)
    if target.kind == "issue":
        return issue_to_text(subject, tuple(comments), target)
    return pull_to_text(subject, target, comments=tuple(comments), reviews=tuple(reviews), remarks=tuple(remarks))


def readme_from_wire(reply: Mapping[str, Any]) -> tuple[str, bytes]:
    """Name and bytes of a README.

    Raises:
        EmptyResult: too large for the API, or blank.
        BadReply: not as described.
    """
    name, content = snippet(reply.get("name"), limit=300), reply.get("content")
    if not name or not isinstance(content, str):
        raise BadReply("github: the reply holds no file", provider=NAME)
    try:
        body = base64.b64decode(content, validate=False) if reply.get("encoding") == "base64" else b""
    except (binascii.Error, ValueError) as error:
        raise BadReply("github: the file does not decode", provider=NAME) from error
    if not body.strip():
        raise EmptyResult("github: the README has no text", provider=NAME, hint="Read another file of the repository.")
    return name, body


def _comments(comments: tuple[Mapping[str, Any], ...], count: object, address: str) -> list[str]:
    if not comments:
        return []
    shown = [_comment(one) for one in comments[:MAX_COMMENTS]]
    return ["## Comments", folded(shown, total=_total(count, len(comments)), what="comments", url=address)]


def _comment(one: Mapping[str, Any]) -> str:
    return f"### {_author(one.get('user'))}, {day(one.get('created_at'))}\n\n{page_text(one.get('body')) or '*Nothing.*'}"


def _review(one: Mapping[str, Any]) -> str:
    state = snippet(one.get("state"), limit=40).lower().replace("_", " ")
    head = f"### {_author(one.get('user'))}: {state}, {day(one.get('submitted_at'))}"
    return f"{head}\n\n{page_text(one.get('body'))}".rstrip()


def _says_something(review: Mapping[str, Any]) -> bool:
    """A review that only carries remarks at lines has state COMMENTED and no text."""
    return bool(page_text(review.get("body"))) or review.get("state") in {"APPROVED", "CHANGES_REQUESTED", "DISMISSED"}


def _remark(one: Mapping[str, Any]) -> str:
    at = number(one.get("line")) or number(one.get("original_line"))
    place = f"`{snippet(one.get('path'), limit=300).replace('`', '')}`" + (f" line {at:.0f}" if at else "")
    text = page_text(one.get("body")) or "*Nothing.*"
    return f"### {_author(one.get('user'))} at {place}, {day(one.get('created_at'))}\n\n{text}"


def _pull_state(pull: Mapping[str, Any]) -> str:
    if pull.get("merged") is True:
        by = _author(pull.get("merged_by"))
        return f"merged by {by} on {day(pull.get('merged_at'))}".removesuffix(" on ")
    if pull.get("state") == "closed":
        return "closed without merging"
    return "open, draft" if pull.get("draft") is True else "open"


def _branches(pull: Mapping[str, Any]) -> str:
    base, head = (snippet(_inner(pull, side, "label" if side == "head" else "ref"), limit=200) for side in ("base", "head"))
    return f"{head} into {base}" if base and head else ""


def _size(pull: Mapping[str, Any]) -> str:
    added, deleted, files = (number(pull.get(name)) for name in ("additions", "deletions", "changed_files"))
    return f"+{added:.0f} −{deleted:.0f} in {files:.0f} files" if None not in {added, deleted, files} else ""


def _asset(one: Mapping[str, Any]) -> str:
    name, url, size = snippet(one.get("name"), limit=200), web_address(one.get("browser_download_url")), number(one.get("size"))
    bytes_ = f" ({size:,.0f} bytes)" if size is not None else ""
    return f"- [{name}]({url}){bytes_}" if url else f"- {name}{bytes_}"


def _title(one: Mapping[str, Any]) -> str:
    """The title.

    Raises:
        BadReply: there is none, so this is no issue and no pull request.
    """
    title = snippet(one.get("title"), limit=300)
    if not title:
        raise BadReply("github: the reply is neither issue nor pull request", provider=NAME)
    return title


def _opened(one: Mapping[str, Any]) -> str:
    return f"opened by {_author(one.get('user'))} on {day(one.get('created_at'))}".removesuffix(" on ")


def _labels(one: Mapping[str, Any]) -> str:
    labels = one.get("labels")
    names = [snippet(_inner({"it": each}, "it", "name"), limit=60) for each in labels] if isinstance(labels, list) else []
    return f"labels: {', '.join(filter(None, names))}" if any(names) else ""


def _author(value: object) -> str:
    """A login; people who left are called ghost, as on the pages."""
    return snippet(_inner({"it": value}, "it", "login"), limit=100) or "ghost"


def _inner(value: Mapping[str, Any], name: str, key: str) -> object:
    inner = value.get(name)
    return inner.get(key) if isinstance(inner, Mapping) else None


def _total(count: object, got: int) -> int:
    """How many there are: the API's count, which does not lag behind what it sent."""
    return max(int(number(count) or 0), got)


def _address(target: Target) -> str:
    base = f"https://github.com/{target.name}"
    tail = {
        "issue": f"/issues/{target.number}",
        "pull": f"/pull/{target.number}",
        "release": f"/releases/tag/{quote(target.ref)}" if target.ref else "/releases/latest",
        "file": f"/blob/{quote(target.ref)}/{quote(target.path)}",
        "readme": f"/tree/{quote(target.ref)}" if target.ref else "",
    }
    return base + tail[target.kind]


# --- the reader ---------------------------------------------------------------------------------------------------


class GitHub:
    """Extractor and Probe for github.com and raw.githubusercontent.com."""

    name = NAME

    def __init__(
        self,
        pages: PageClient,
        http: Http,
        worker: Worker,
        settings: GitHubSettings,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._pages = pages
        self._worker = worker
        self._http = http
        self._settings = settings
        self._now = now

    async def extract(self, request: FetchRequest, /) -> Page | None:
        """An issue, pull request, release, file or README as Markdown; None for other addresses.

        Raises:
            RateLimited: no request is left this hour.
            RequestRejected: it does not exist, or is private and the token may not see it.
            ProviderError, NotAllowed: as `PageClient.get` and `Http.exchange`.
        """
        target = target_of(request.url)
        if target is None:
            return None
        self._worker.warm()
        if target.kind == "file":
            return await self._file(request, target)
        if target.kind == "readme":
            return await self._readme(request, target)
        return await self._release(request, target) if target.kind == "release" else await self._talk(request, target)

    async def probe(self, *, live: bool = False) -> Health:
        """How many requests are left, which costs none; without token only when `live`."""
        if not live and not self._settings.keyed:
            return Health(part=NAME, state="ok", detail="reads public pages without a token, 60 requests an hour")
        return await examined(NAME, self._left())

    async def _left(self) -> Health:
        reply = object_of(await self._json("/rate_limit", keyless_too=False), reader=NAME)
        rate = object_of(reply.get("rate"), reader=NAME)
        left, most = number(rate.get("remaining")), number(rate.get("limit"))
        if left is None or most is None:
            raise BadReply("github does not say how many requests are left", provider=NAME)
        return Health(part=NAME, state="ok" if left else "failing", detail=f"{left:,.0f} of {most:,.0f} requests left this hour")

    async def _talk(self, request: FetchRequest, target: Target) -> Page:
        """An issue or a pull request; each may stand under the other's address."""
        if target.kind == "issue":
            issue = object_of(await self._json(_api(target, f"issues/{target.number}")), reader=NAME)
            if not isinstance(issue.get("pull_request"), Mapping):
                return await self._told(request, target, issue, comments=await self._said(target, issue))
            target = Target(kind="pull", owner=target.owner, repository=target.repository, number=target.number)
        pull = object_of(await self._json(_api(target, f"pulls/{target.number}")), reader=NAME)
        _title(pull)
        return await self._told(
            request,
            target,
            pull,
            comments=await self._said(target, pull),
            reviews=await self._list(target, f"pulls/{target.number}/reviews"),
            remarks=await self._list(target, f"pulls/{target.number}/comments") if pull.get("review_comments") else (),
        )

    async def _said(self, target: Target, subject: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        return await self._list(target, f"issues/{target.number}/comments") if subject.get("comments") else ()

    async def _list(self, target: Target, path: str) -> tuple[Mapping[str, Any], ...]:
        return items_of(await self._json(f"{_api(target, path)}?per_page={PER_PAGE}"), reader=NAME)[:PER_PAGE]

    async def _release(self, request: FetchRequest, target: Target) -> Page:
        path = f"releases/tags/{quote(target.ref, safe='')}" if target.ref else "releases/latest"
        release = object_of(await self._json(_api(target, path)), reader=NAME)
        if not snippet(release.get("tag_name")):
            raise BadReply("github: the reply is no release", provider=NAME)
        return await self._told(request, target, release, published=day(release.get("published_at")))

    async def _readme(self, request: FetchRequest, target: Target) -> Page:
        at = f"?ref={quote(target.ref, safe='')}" if target.ref else ""
        reply = object_of(await self._json(f"{_api(target, 'readme')}{at}"), reader=NAME)
        name, body = readme_from_wire(reply)
        return await self._document(
            request, body, name=name, title=f"{target.name}: {name}", url=web_address(reply.get("html_url"))
        )

    async def _file(self, request: FetchRequest, target: Target) -> Page:
        body = await self._raw(target)
        name = target.path.rpartition("/")[2]
        return await self._document(request, body, name=name, title=f"{target.name}: {target.path}", url=_address(target))

    async def _raw(self, target: Target) -> bytes:
        """The file's bytes; the raw host alone understands branches with slashes, the API alone a token."""
        if self._settings.keyed:
            try:
                path = f"{_api(target, 'contents/' + quote(target.path))}?ref={quote(target.ref, safe='')}"
                return await self._with_token(path, RAW)
            except (AuthRejected, RequestRejected, WrongAddress):
                pass
        url = f"{self._settings.raw_url}/{target.name}/{quote(target.ref)}/{quote(target.path)}"
        return (await asked(self._pages, url, reader=NAME, accept="*/*")).body

    async def _document(self, request: FetchRequest, body: bytes, *, name: str, title: str, url: str) -> Page:
        """A file as a page: Markdown as it stands, code in a fence with its language.

        Raises:
            Declined: no text. EmptyResult: nothing in it.
            WebSearchError: as with `Worker.ask`.
        """
        media = "text/markdown" if name.lower().endswith((".md", ".markdown")) else "text/plain"
        found, text = await self._worker.ask("written", Document(body=body, url=name, content_type=media), reader=NAME)
        if found["kind"] not in WRITTEN:
            raise Declined(f"github: {name} is no text", provider=NAME, hint="Only text can be read; use another file.")
        if not text.strip():
            raise EmptyResult(f"github: {name} is empty", provider=NAME, hint="Read another file of the repository.")
        return Page(
            url=request.url,
            final_url=url,
            title=title,
            text=text.decode("utf-8", "surrogatepass"),
            kind=found["kind"],
            provider=NAME,
            fetched_at=stamp(self._now()),
        )

    async def _told(
        self, request: FetchRequest, target: Target, subject: Mapping[str, Any], *, published: str = "", **said: Any
    ) -> Page:
        """What people wrote, made into a page where it can be stopped."""
        body = json.dumps({"target": asdict(target), "subject": subject, **said}).encode("ascii")
        _, text = await self._worker.ask("talk", Document(body=body, url=_address(target)), reader=NAME)
        return Page(
            url=request.url,
            final_url=web_address(subject.get("html_url")),
            title=snippet(subject.get("title") or subject.get("name") or subject.get("tag_name"), limit=300),
            text=text.decode("utf-8", "surrogatepass"),
            kind="markdown",
            provider=NAME,
            published=published or day(subject.get("created_at")),
            fetched_at=stamp(self._now()),
        )

    # --- requests

    async def _json(self, path: str, *, keyless_too: bool = True) -> Any:
        """The JSON at a path of the API; a token that is refused, or would have to follow a redirect, stays behind."""
        if self._settings.keyed:
            try:
                return json_of(await self._with_token(path, JSON), reader=NAME)
            except (AuthRejected, WrongAddress):
                if not keyless_too:
                    raise
        try:
            fetched = await asked(self._pages, f"{self._settings.api_url}{path}", reader=NAME, accept=JSON)
        except (Declined, RateLimited) as error:
            if error.http_status in {403, 429}:
                raise _limited(error) from error
            raise
        return json_of(fetched.body, reader=NAME)

    async def _with_token(self, path: str, accept: str) -> bytes:
        settings = self._settings
        request = Request(
            provider=NAME,
            base_url=settings.api_url,
            path=path,
            method="GET",
            headers={"Accept": accept, **VERSION},
            read_timeout_s=settings.read_timeout_s,
            phrases=PHRASES,
        )
        try:
            return await self._http.retrying(settings.retry)(request, _Whole)
        except RequestRejected as error:
            error.hint = "It does not exist, or the token may not see it; check the address."
            raise


class _Whole:
    """Reads a reply as it is."""

    def __init__(self) -> None:
        self._parts = bytearray()

    def feed(self, chunk: bytes, /) -> bool:
        """Collect."""
        self._parts += chunk
        return False

    def close(self) -> bytes:
        """Everything."""
        return bytes(self._parts)


def _api(target: Target, path: str) -> str:
    return f"/repos/{quote(target.owner)}/{quote(target.repository)}/{path}"


def _limited(error: ProviderError) -> RateLimited:
    """Without a token 403 and 429 both mean that the hour's requests are used up."""
    return RateLimited(
        "github allows no more requests without a token for now",
        provider=NAME,
        hint="Set GITHUB_TOKEN, or wait for the next hour.",
        http_status=error.http_status,
        retry_after_s=error.retry_after_s,
    )
