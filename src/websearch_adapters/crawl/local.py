"""The built-in mapper: lists a site's pages from its sitemaps and, where they do not suffice, by following links.

A polite guest: robots.txt is obeyed, also at each redirect, at most four requests run at once and so many a second as the
operator allows, and a crawl delay is kept up to thirty seconds. When the time is up, the map holds what was found so far and says
so.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from websearch_adapters.crawl.sitemap import MAX_FILES, MAX_URLS, Sitemaps
from websearch_adapters.extract.reading import Document
from websearch_core import progress, urls
from websearch_core.errors import Blocked, EmptyResult, NotAllowed, ProviderError, RequestRejected, Unreachable, WebSearchError
from websearch_core.values import Link, MapRequest, Note, SiteMap

if TYPE_CHECKING:
    from websearch_adapters.extract.html import PageLinks
    from websearch_adapters.extract.robots import Robots, RobotsVerdict
    from websearch_adapters.extract.worker import Worker
    from websearch_adapters.http.pages import Admit, PageClient

__all__ = ["LocalMapper", "ranked"]

NAME = "local"
AT_ONCE = 4
MAX_DELAY_S = 30.0
RICH = 2
"""Sitemaps that list so many times as many pages as the start page links to list the site; links are not looked at then."""
MAX_ALIKE = 50
"""Pages that pages like them lead to, alike but for numbers or their query: a calendar or a sorted list goes on for ever."""
MAX_SEGMENTS = 16
SESSION = re.compile(
    r"(?:phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken|sid|sessionid|session_id|zenid|oscsid)", re.IGNORECASE
)
"""Parameters that stand for a visit, not for a page."""
_PATH_SESSION = re.compile(r";(?:jsessionid|sid|phpsessid)=[^/?#;]*", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
ACCEPT = "text/html, application/xhtml+xml, */*;q=0.1"
SWITCH = "An operator who may crawl this site can set map.ignore_robots."
FILES = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|css|m?js|json|map|woff2?|ttf|otf|eot|zip|gz|tgz|bz2|xz|7z|rar|tar|jar|whl"
    r"|exe|msi|dmg|iso|deb|rpm|apk|mp[34]|m4[av]|ogg|wav|flac|webm|mov|avi|mkv)$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class LocalMapper:
    """Maps one site per call; keeps nothing between calls but what `robots` remembers."""

    def __init__(
        self,
        pages: PageClient,
        robots: Robots,
        worker: Worker,
        *,
        ignore_robots: bool = False,
        pages_per_s: float = math.inf,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        limit: Callable[[float], asyncio.Timeout] = asyncio.timeout,
    ) -> None:
        """`sleep` and `limit` are replaced where time shall not pass."""
        self._pages = pages
        self._robots = robots
        self._ignore_robots = ignore_robots
        self._pause_s = 1 / pages_per_s
        self._sleep = sleep
        self._limit = limit
        self._worker = worker

    @property
    def name(self) -> str:
        return NAME

    async def map(self, request: MapRequest, /) -> SiteMap:
        """Pages of the start page's host: the start page, those below its path, the others; or by `instructions`.

        Raises:
            NotAllowed: policy or robots.txt forbids the start page.
            ProviderError: nothing was found, and the start page cannot be had.
        """
        survey = _Survey(
            request,
            self._pages,
            self._robots,
            ignore_robots=self._ignore_robots,
            pause_s=self._pause_s,
            sleep=self._sleep,
            worker=self._worker,
        )
        try:
            async with self._limit(request.timeout):
                await survey.run()
        except TimeoutError:
            survey.out_of_time = True
        return survey.result()


class _Survey:
    """One mapping: what was found, and what was left out and why."""

    def __init__(
        self,
        request: MapRequest,
        pages: PageClient,
        robots: Robots,
        *,
        ignore_robots: bool,
        pause_s: float,
        sleep: Callable[[float], Awaitable[None]],
        worker: Worker,
    ) -> None:
        self._request = request
        self._pages = pages
        self._robots = robots
        self._ignore_robots = ignore_robots
        self._sleep = sleep
        self._worker = worker
        self._pause_s = pause_s
        self._wanted = request.offset + request.limit
        self._site = _site(request.url)
        self._section = _section(request.url)
        self._delay_s = 0.0
        self._sitemaps = Sitemaps(
            pages,
            worker,
            self._is_listed,
            key=_key,
            admit=None if ignore_robots else self._admit,
            most_pages=max(MAX_URLS, self._wanted),
            most_files=max(MAX_FILES, self._wanted // 100),
        )
        self._linked: dict[str, Link] = {}
        self._seen: set[str] = set()
        """Keys of all links ever taken, also of those that led nowhere."""
        self._alike: Counter[str] = Counter()
        self._forbidden: set[str] = set()
        self._start: Link | None = None
        self._start_error: WebSearchError | None = None
        self._more = False
        self.out_of_time = False

    async def run(self) -> None:
        """Start page, sitemaps, then links until there is enough."""
        verdict = await self._admitted()
        first = await self._visited_start()
        await self._read_sitemaps(verdict)
        await self._without_forbidden()
        self._tell()
        if first is None:
            return
        if self._is_listed_whole(first.links):
            self._learn_titles(first.links)
        else:
            await self._follow(await self._taken(first, parent=""))

    def result(self) -> SiteMap:
        """The map as it stands.

        Raises:
            ProviderError: there is nothing to put into it.
        """
        found = self._found()
        if not found:
            raise self._start_error or self._nothing()
        chosen = ranked(found, self._request.instructions)
        return SiteMap(
            root=self._request.url,
            links=tuple(chosen[: self._wanted]),
            provider=NAME,
            truncated=len(chosen) > self._wanted or self._more or self._sitemaps.truncated or self.out_of_time,
            crawl_delay_s=self._delay_s,
            notes=tuple(self._notes()),
        )

    def _nothing(self) -> ProviderError:
        """Why there is nothing to list, where the site answers."""
        host, seen = urls.host(self._request.url), len(self._linked.keys() | self._sitemaps.found.keys())
        if self._start is not None and not self.out_of_time:
            return EmptyResult(
                f"{host}: no page matches the patterns",
                provider=NAME,
                hint=f"Loosen or leave out the patterns, which stand for whole paths (/docs/*); {seen} other pages were seen.",
            )
        return Unreachable(
            f"{host}: no page within {self._request.timeout} s",
            provider=NAME,
            hint="The site is slow or does not answer; try again later or with another mapper.",
        )

    # --- steps

    async def _admitted(self) -> RobotsVerdict:
        """Ask robots.txt about the start page."""
        verdict = await self._robots.verdict(self._request.url)
        if self._ignore_robots or verdict.allowed:
            self._delay_s = min(verdict.crawl_delay_s or 0.0, MAX_DELAY_S)
            return verdict
        if verdict.failure is not None and verdict.failure.diagnostics.get("error_type") == "connection_failure":
            raise verdict.failure
        if isinstance(verdict.failure, NotAllowed):
            refusal = verdict.failure
            raise NotAllowed(
                f"{refusal.message} (asked for robots.txt)", hint=refusal.hint, provider=refusal.provider
            ) from refusal
        raise NotAllowed(f"not mapped: {verdict.reason}", provider=NAME, hint=SWITCH)

    async def _visited_start(self) -> PageLinks | None:
        """The start page; where it leads elsewhere, that host is the site. A fault is kept for the end."""
        try:
            address, page = await self._page(self._request.url, admit=self._admit)
        except ProviderError as error:
            self._start_error = error
            return None
        if _site(address) != self._site:
            self._site, self._section = _site(address), _section(address)
            verdict = await self._robots.verdict(address)
            if not (self._ignore_robots or verdict.allowed):
                raise NotAllowed(f"not mapped: {verdict.reason}", provider=NAME, hint=SWITCH)
        if page.blocked:
            self._start_error = Blocked(
                f"{urls.host(address)} shows a check for humans instead of the page", provider=NAME, hint="Use another mapper."
            )
            return None
        self._start = Link(url=address, title=page.title)
        return page

    async def _read_sitemaps(self, verdict: RobotsVerdict) -> None:
        if verdict.sitemaps:
            await self._sitemaps.read(verdict.sitemaps)
            return
        base = self._start.url if self._start else self._request.url
        await self._sitemaps.read([f"{_origin(base)}/sitemap.xml"], promised=False)

    async def _follow(self, level: Sequence[Link]) -> None:
        """Level by level and in order, so that the map does not depend on who answers first."""
        for _ in range(1, self._request.max_depth):
            found: list[Link] = []
            for batch in _batches(level, 1 if self._delay_s else AT_ONCE):
                if self._enough():
                    return
                for address, page in await self._visited(batch):
                    found += await self._taken(page, parent=address)
                self._tell()
            level = found

    async def _visited(self, batch: Sequence[Link]) -> list[tuple[str, PageLinks]]:
        """Where these pages are and what they link to; the map learns titles, new addresses and which pages do not exist."""
        if pause_s := self._delay_s or self._pause_s * len(batch):
            await self._sleep(pause_s)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._visit(link)) for link in batch]
        pages = []
        for link, task in zip(batch, tasks, strict=True):
            address, page = task.result()
            if address != link.url:
                self._linked.pop(_key(link.url), None)
                self._sitemaps.found.pop(_key(link.url), None)
            if page is not None and self._belongs(address):
                self._linked[_key(address)] = Link(url=_without_session(address), title=link.title or page.title)
                self._seen.add(_key(address))
                pages.append((address, page))
        return pages

    async def _visit(self, link: Link) -> tuple[str, PageLinks | None]:
        """Where the page is, and what it holds; no address for a page that does not exist."""
        try:
            return await self._page(link.url, admit=self._admit_page)
        except (RequestRejected, _Elsewhere):
            return "", None
        except (ProviderError, NotAllowed) as error:
            return "" if error.diagnostics.get("error_type") == "redirects" else link.url, None

    async def _page(self, url: str, *, admit: Admit) -> tuple[str, PageLinks]:
        reply = await self._pages.get(url, accept=ACCEPT, admit=admit)
        page = Document(body=reply.body, url=reply.final_url, content_type=reply.content_type, status=reply.status)
        return reply.final_url, await self._worker.links(page)

    async def _admit(self, url: str) -> None:
        """Let a request to this address go on, or raise what robots.txt of its host says."""
        if self._ignore_robots:
            return
        verdict = await self._robots.verdict(url)
        if not verdict.allowed:
            raise NotAllowed(f"not mapped: {verdict.reason}", provider=NAME, hint=SWITCH)

    async def _admit_page(self, url: str) -> None:
        """As `_admit`, for the target of a link's redirect: on another site it is none of ours."""
        if _site(url) != self._site:
            raise _Elsewhere(f"{urls.host(url)} is another site", provider=NAME)
        try:
            await self._admit(url)
        except NotAllowed as error:
            self._forbidden.add(_key(url))
            raise _Elsewhere(error.message, provider=NAME) from error

    async def _without_forbidden(self) -> None:
        """Take what robots.txt forbids out of what the sitemaps list: who reads the map will ask for its pages."""
        if self._ignore_robots:
            return
        for key, url in list(self._sitemaps.found.items()):
            if not await self._robots.allows(url):
                del self._sitemaps.found[key]
                self._forbidden.add(key)

    def _tell(self) -> None:
        found = len(self._sitemaps.found.keys() | self._linked.keys()) + (self._start is not None)
        progress.tell("pages found", done=found)

    # --- choosing

    async def _taken(self, page: PageLinks, *, parent: str) -> list[Link]:
        """Note the new pages among the links of the page at `parent`, at most `max_breadth`; returns those to follow."""
        new: dict[str, Link] = {}
        for link in page.links:
            key = _key(link.url)
            if key not in self._seen and self._belongs(link.url) and self._may_follow(link.url):
                new.setdefault(key, Link(url=_without_session(link.url), title=link.title))
        candidates = ranked(list(new.values()), self._request.instructions)
        taken: list[Link] = []
        for link in candidates:
            if not (self._ignore_robots or await self._robots.allows(link.url)):
                self._forbidden.add(_key(link.url))
                continue
            if self._is_endless(link.url, parent):
                continue
            if len(taken) >= self._request.max_breadth:
                self._more = True
                break
            self._linked[_key(link.url)] = link
            self._seen.add(_key(link.url))
            taken.append(link)
        return taken

    def _belongs(self, url: str) -> bool:
        """Whether this is a page of the site, and not the start page."""
        if _site(url) != self._site or FILES.search(urlsplit(url).path):
            return False
        return self._start is None or _key(url) != _key(self._start.url)

    def _is_listed(self, url: str) -> bool:
        """Whether the map has room for this page by the request's patterns."""
        return self._belongs(url) and urls.path_matches(url, self._request.patterns)

    def _may_follow(self, url: str) -> bool:
        """Pages that are not wanted may lead to wanted ones; those that are excluded by name are left alone."""
        excluded = [pattern for pattern in self._request.patterns if pattern.startswith("!")]
        return urls.path_matches(url, excluded) and not _goes_round(url)

    def _is_listed_whole(self, links: Iterable[Link]) -> bool:
        """Whether the sitemaps have said what the pages of this site are."""
        linked = {_key(link.url) for link in links if self._is_listed(link.url)}
        return len(self._sitemaps.found) >= RICH * len(linked) > 0

    def _learn_titles(self, links: Iterable[Link]) -> None:
        for link in links:
            if (key := _key(link.url)) in self._sitemaps.found:
                self._linked.setdefault(key, link)

    def _is_endless(self, url: str, parent: str) -> bool:
        """Whether this is one too many of the pages that lead from one to the next like it."""
        shape = _shape(url)
        if parent and _shape(parent) == shape != urlsplit(url).path:
            self._alike[shape] += 1
            self._more = self._more or self._alike[shape] > MAX_ALIKE
        return self._alike[shape] > MAX_ALIKE

    def _enough(self) -> bool:
        listed = sum(1 for url in self._sitemaps.found.values() if self._in_section(url))
        linked = sum(
            1
            for key, link in self._linked.items()
            if key not in self._sitemaps.found and self._in_section(link.url) and self._is_listed(link.url)
        )
        return listed + linked > self._wanted

    def _in_section(self, url: str) -> bool:
        path = urlsplit(url).path or "/"
        return path.startswith(self._section) or path == self._section.rstrip("/")

    def _found(self) -> list[Link]:
        """Each page once: the start page, then those of the section, then the others; sitemaps before links."""
        listed = {
            key: Link(url=url, title=self._linked[key].title if key in self._linked else "")
            for key, url in self._sitemaps.found.items()
        }
        others = {**listed, **{key: link for key, link in self._linked.items() if key not in listed}}
        ordered = sorted(others.values(), key=lambda link: not self._in_section(link.url))
        every = [self._start, *ordered] if self._start is not None else ordered
        return [link for link in every if urls.path_matches(link.url, self._request.patterns)]

    def _notes(self) -> Iterator[Note]:
        if len(self._found()) > self._wanted or self._more or self._sitemaps.truncated:
            yield Note(
                code="more_pages",
                text="The site has more pages: raise limit, max_depth or max_breadth, or give patterns.",
                provider=NAME,
            )
        if self._forbidden:
            yield Note(
                code="robots_disallowed",
                text=f"Links not listed because robots.txt forbids them: {len(self._forbidden)}. {SWITCH}",
                provider=NAME,
            )
        if self._sitemaps.unreadable:
            yield Note(
                code="sitemap_unreadable",
                text=f"Sitemaps of this site that could not be read: {len(self._sitemaps.unreadable)}.",
                provider=NAME,
            )
        if self._start_error is not None:
            yield Note(
                code="start_unreadable", text=f"The start page could not be read: {self._start_error.message}.", provider=NAME
            )
        if self.out_of_time:
            yield Note(
                code="partial", text=f"The time of {self._request.timeout} s was up before the map was complete.", provider=NAME
            )


def ranked(links: Sequence[Link], wish: str) -> list[Link]:
    """Best matches of the words of address and title first, by BM25; equal ones keep their order, as all do without a wish."""
    if not wish.strip():
        return list(links)
    bags = [Counter(_tokens(f"{unquote(urlsplit(link.url).path)} {link.title}")) for link in links]
    mean = sum(bag.total() for bag in bags) / len(bags) if bags else 0.0
    seen = Counter(token for bag in bags for token in bag)
    weights = {
        token: math.log(1 + (len(bags) - seen[token] + 0.5) / (seen[token] + 0.5))
        for token in dict.fromkeys(_tokens(wish))
        if token in seen
    }
    scores = [_score(bag, weights, mean) for bag in bags]
    return [links[at] for at in sorted(range(len(links)), key=lambda at: -scores[at])]


def _score(bag: Counter[str], weights: dict[str, float], mean: float) -> float:
    damping = 1.2 * (0.25 + 0.75 * bag.total() / mean) if mean else 0.0
    return sum(weight * bag[token] * 2.2 / (bag[token] + damping) for token, weight in weights.items() if bag[token])


def _tokens(text: str) -> list[str]:
    """Lower-case words without the ending of a plural; pairs of characters for scripts without blanks."""
    tokens = []
    for word in _WORD.findall(_CAMEL.sub(" ", text).lower()):
        if _CJK.search(word):
            tokens += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            tokens.append(_singular(word))
    return tokens


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word.removesuffix("s") if len(word) > 3 and not word.endswith("ss") else word


class _Elsewhere(NotAllowed):
    """A link leads to what is not to be asked for."""


def _without_session(url: str) -> str:
    """The address without what stands for a visit."""
    parts = urlsplit(url)
    query = "&".join(one for one in parts.query.split("&") if not SESSION.fullmatch(one.partition("=")[0]))
    return urlunsplit(parts._replace(path=_PATH_SESSION.sub("", parts.path), query=query))


def _key(url: str) -> str:
    """The same for addresses of one page."""
    return urls.canonical(_without_session(url))


def _shape(url: str) -> str:
    """The same for addresses that differ in numbers, or in the query, alone; itself for one with neither."""
    parts = urlsplit(url)
    return f"{_DIGITS.sub('#', parts.path)}?" if parts.query else _DIGITS.sub("#", parts.path)


def _goes_round(url: str) -> bool:
    """Whether the path repeats itself, as relative links of a page make it that answers below itself, or is absurdly deep."""
    segments = [segment for segment in urlsplit(url).path.split("/") if segment]
    words = [segment for segment in segments if not segment.isdecimal()]
    return len(segments) > MAX_SEGMENTS or len(words) - len(set(words)) > 1


def _batches(links: Sequence[Link], size: int) -> Iterator[list[Link]]:
    rest = iter(links)
    while batch := list(islice(rest, size)):
        yield batch


def _site(url: str) -> str:
    """The host that decides what belongs together, with its port; `www.` makes no difference."""
    port = urlsplit(url).port
    return f"{urls.host(url).removeprefix('www.')}:{'' if port in {None, 80, 443} else port}"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _section(url: str) -> str:
    """The path that the pages of a section begin with, ending in a slash: of `/docs/intro.html` as of `/docs` it is `/docs/`."""
    path = urlsplit(url).path or "/"
    head, _, last = path.rpartition("/")
    return f"{head}/" if "." in last or not last else f"{path}/"
