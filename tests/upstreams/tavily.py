"""Tavily's API: `/search`, `/extract`, `/map`, `/crawl`, `/usage`, with keys and without.

Shapes follow the vendor's documents and SDK sources up to 30 November 2026. What surprises clients is kept:
`include_domains` only moves pages to the front unless a mode restricts, 432 and 433 are quota errors, publication
dates are opt-in, and pages that fail to extract are still a 200.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from email.utils import format_datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams.exchange import json_response
from upstreams.script import Script, Step
from upstreams.simulator import Keys, Refusal, Simulator
from upstreams.sources import Source, host_of, invented, is_on

Json = dict[str, Any]
KEYLESS = "(keyless)"
KEYLESS_PATHS = frozenset({"/search", "/extract"})
RESTRICTING = frozenset({"restrict", "filter"})
SITE_PATHS = ("/", "/news", "/news/footbridge-reopens", "/news/library-hours", "/about", "/contact", "/docs", "/docs/install")

STRING, BOOLEAN, INTEGER = (str,), (bool,), (int,)
TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("query", "topic", "search_depth", "extract_depth", "format", "country", "url", "instructions"), STRING),
    **dict.fromkeys(("time_range", "start_date", "end_date", "include_domains_mode"), STRING),
    **dict.fromkeys(("include_images", "include_image_descriptions", "include_favicon", "include_usage"), BOOLEAN),
    **dict.fromkeys(("auto_parameters", "exact_match", "include_published_date", "allow_external"), BOOLEAN),
    **dict.fromkeys(("max_results", "chunks_per_source", "max_depth", "max_breadth", "limit", "days"), INTEGER),
    **dict.fromkeys(("include_domains", "exclude_domains", "select_paths", "exclude_paths"), (list,)),
    **dict.fromkeys(("include_answer", "include_raw_content"), (bool, str)),
    "urls": (str, list),
    "timeout": (int, float),
}
PYDANTIC = {str: "string", bool: "bool", int: "int", list: "list", float: "float"}
CHOICES: dict[str, tuple[Any, ...]] = {
    "search_depth": ("basic", "advanced", "fast", "ultra-fast"),
    "topic": ("general", "news", "finance"),
    "time_range": ("day", "week", "month", "year", "d", "w", "m", "y"),
    "include_answer": (True, False, "basic", "advanced"),
    "include_raw_content": (True, False, "markdown", "text"),
    "include_domains_mode": ("restrict", "prefer", "filter", "boost"),
    "extract_depth": ("basic", "advanced"),
    "format": ("markdown", "text"),
}
RANGES: dict[str, dict[str, tuple[int, int]]] = {
    "/search": {"max_results": (0, 20), "chunks_per_source": (1, 3)},
    "/extract": {"chunks_per_source": (1, 5), "timeout": (1, 60)},
    "/map": {"max_depth": (1, 5), "max_breadth": (1, 500), "timeout": (10, 150)},
    "/crawl": {"max_depth": (1, 5), "max_breadth": (1, 500), "timeout": (10, 150), "chunks_per_source": (1, 5)},
}
MOST = {"include_domains": 300, "exclude_domains": 150}
DAY = re.compile(r"\d{4}-\d\d-\d\d")


class TavilyUpstream(Simulator):
    """`api.tavily.com`, as far as a search client sees it.

    Args:
        keys: known keys, or a script for each: `{"tvly-good": ok(), "tvly-spent": status(432)}`.
        answer_text: the short answer, sent when `include_answer` asks for one.
        sources: what a search finds, best first; by default invented from the query.
        pages: text by address, for `/extract`; other addresses get invented text.
        failing: errors by address, for `/extract`; hosts below `.invalid` always fail.
        site: paths that `/map` and `/crawl` find on every site.
        plan_limit: credits a key may use before 432; None for no limit.
        keyless_limit: requests without a key before the keyless cap; 0 for a server without keyless access.
    """

    error_examples: ClassVar = {
        400: "tavily/error.400.invalid-topic.json",
        401: "tavily/error.401.invalid-key.json",
        403: "tavily/error.403.unsupported-url.json",
        422: "tavily/error.422.validation.json",
        429: "tavily/error.429.rate-limit.json",
        432: "tavily/error.432.plan-limit.json",
        433: "tavily/error.433.paygo-limit.json",
        500: "tavily/error.500.internal.json",
        502: "tavily/error.502.html.html",
    }

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        keys: Keys | None = None,
        answer_text: str | None = None,
        sources: Sequence[Source] | None = None,
        pages: Mapping[str, str] | None = None,
        failing: Mapping[str, str] | None = None,
        site: Sequence[str] = SITE_PATHS,
        plan_limit: int | None = None,
        keyless_limit: int = 100,
    ) -> None:
        super().__init__(script=script, paths=paths, keys=keys)
        self.answer_text = answer_text
        self.sources = sources
        self.pages = dict(pages or {})
        self.failing = dict(failing or {})
        self.site = tuple(site)
        self.plan_limit = plan_limit
        self.keyless_limit = keyless_limit
        self.credits: dict[str, Counter[str]] = {}
        self._keyless = 0

    def error_body(self, status: int) -> object:
        return {"detail": {"error": f"The service answered with status {status}."}}

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/search", self._search, methods=["POST"]),
            Route("/extract", self._extract, methods=["POST"]),
            Route("/map", self._map, methods=["POST"]),
            Route("/crawl", self._crawl, methods=["POST"]),
            Route("/usage", self._usage, methods=["GET"]),
        ]

    def credits_used(self, key: str = KEYLESS) -> int:
        """Credits that answered requests with this key have cost so far."""
        return self.credits.get(key, Counter()).total()

    # ---- endpoints

    async def _search(self, request: Request) -> Response:
        key, body = await self._accepted(request, "query")
        if len(body["query"]) > 400:
            raise _bad("Query is too long. Max query length is 400 characters.")
        depth = "advanced" if body.get("auto_parameters") and "search_depth" not in body else body.get("search_depth", "basic")
        cost = 2 if depth == "advanced" else 1
        self._bill(key, "search", cost)
        found = self._found(body)
        answer = self.answer_text or f"According to {len(found)} pages, this is what is known about {body['query']}."
        reply: Json = {
            "query": body["query"],
            "follow_up_questions": None,
            "answer": answer if body.get("include_answer") and found else None,
            "images": _images(body, found),
            "results": [_result(source, body, rank, depth) for rank, source in enumerate(found)],
            "response_time": 0.94,
        }
        if body.get("auto_parameters"):
            reply["auto_parameters"] = {"topic": body.get("topic", "general"), "search_depth": depth}
        return _reply(body, reply, cost)

    async def _extract(self, request: Request) -> Response:
        key, body = await self._accepted(request, "urls")
        urls = [body["urls"]] if isinstance(body["urls"], str) else body["urls"]
        if len(urls) > 20:
            raise _bad("Max 20 URLs are allowed.")
        good = [url for url in urls if self._fault(url) is None]
        cost = -(-len(good) // 5) * (2 if body.get("extract_depth") == "advanced" else 1)
        self._bill(key, "extract", cost)
        failed = [{"url": url, "error": self._fault(url)} for url in urls if url not in good]
        results = [self._extracted(url, body) for url in good]
        return _reply(body, {"results": results, "failed_results": failed, "response_time": 0.48}, cost)

    async def _map(self, request: Request) -> Response:
        key, body = await self._accepted(request, "url")
        urls = self._site_urls(body)
        cost = -(-len(urls) // 10) * (2 if body.get("instructions") else 1)
        self._bill(key, "map", cost)
        return _reply(body, {"base_url": host_of(_absolute(body["url"])), "results": urls, "response_time": 3.1}, cost)

    async def _crawl(self, request: Request) -> Response:
        key, body = await self._accepted(request, "url")
        urls = self._site_urls(body)
        cost = -(-len(urls) // 10) * (2 if body.get("instructions") else 1) + -(-len(urls) // 5)
        self._bill(key, "crawl", cost)
        results: list[Json] = [{"url": url, "raw_content": self._text(url), "images": [], "favicon": None} for url in urls]
        reply = {"base_url": host_of(_absolute(body["url"])), "results": results, "response_time": 4.4}
        return _reply(body, reply, cost)

    async def _usage(self, request: Request) -> Response:
        key = self._authorise(request)
        used = self.credits.get(key, Counter())
        counters = {f"{name}_usage": used[name] for name in ("search", "extract", "crawl", "map", "research")}
        plan = {"current_plan": "Bootstrap", "plan_usage": used.total(), "plan_limit": self.plan_limit or 15_000}
        account = {**plan, "paygo_usage": 0, "paygo_limit": None, **counters}
        return json_response({"key": {"usage": used.total(), "limit": self.plan_limit, **counters}, "account": account})

    # ---- what is refused

    async def _accepted(self, request: Request, required: str) -> tuple[str, Json]:
        key = self._authorise(request)
        try:
            body = await request.json()
        except ValueError:
            raise _invalid([], "json_invalid", "JSON decode error", {}) from None
        if not isinstance(body, dict):
            raise _invalid([], "dict_type", "Input should be a valid dictionary", body)
        if required not in body:
            raise _invalid([required], "missing", "Field required", body)
        _check(request.url.path, body)
        return key, body

    def _authorise(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token and (self.keys is None or token in self.keys):
            return token
        if token or request.headers.get("x-tavily-access-mode") != "keyless":
            raise Refusal(self.error_response(401))
        if request.url.path not in KEYLESS_PATHS or self.keyless_limit == 0:
            raise Refusal(self.error_response(401))
        self._keyless += 1
        if self._keyless > self.keyless_limit:
            raise self.refusal("tavily/error.429.keyless-cap.json", 429)
        return KEYLESS

    def _bill(self, key: str, kind: str, cost: int) -> None:
        used = self.credits.setdefault(key, Counter())
        if key != KEYLESS and self.plan_limit is not None and used.total() + cost > self.plan_limit:
            raise Refusal(self.error_response(432))
        used[kind] += cost

    # ---- what is answered

    def _found(self, body: Json) -> list[Source]:
        wanted, unwanted = body.get("include_domains") or [], body.get("exclude_domains") or []
        found = list(self.sources) if self.sources is not None else invented(body["query"])
        if wanted and self.sources is None:
            bare = [domain.removeprefix("*.") for domain in wanted]
            found = [*invented(body["query"], hosts=bare), *(page for page in found if not is_on(page.url, bare))]
        if body.get("include_domains_mode") in RESTRICTING:
            found = [page for page in found if not wanted or is_on(page.url, wanted)]
        found = [page for page in found if not is_on(page.url, unwanted)]
        found.sort(key=lambda page: not is_on(page.url, wanted))
        return found[: body.get("max_results", 5)]

    def _fault(self, url: str) -> str | None:
        if url in self.failing:
            return self.failing[url]
        if urlsplit(_absolute(url)).scheme not in {"http", "https"} or host_of(_absolute(url)).endswith(".invalid"):
            return "Failed to fetch url"
        return None

    def _text(self, url: str) -> str:
        if url in self.pages:
            return self.pages[url]
        name = urlsplit(url).path.strip("/").rsplit("/", 1)[-1].replace("-", " ") or host_of(url)
        return f"# {name.capitalize()}\n\nThis is the page at {url}.\n\n## Details\n\nIt has two sections and {len(name)} letters of title."

    def _extracted(self, url: str, body: Json) -> Json:
        text = self._text(url)
        if body.get("query"):
            passages = [part for part in text.split("\n\n") if not part.startswith("#")]
            text = " [...] ".join(passages[: body.get("chunks_per_source", 3)])
        if body.get("format") == "text":
            text = re.sub(r"(?m)^#+ ", "", text)
        page: Json = {"url": url, "title": self._text(url).splitlines()[0].lstrip("# "), "raw_content": text}
        page["images"] = [f"https://{host_of(url)}/img/page.jpg"] if body.get("include_images") else []
        if body.get("include_favicon"):
            page["favicon"] = f"https://{host_of(url)}/favicon.ico"
        return page

    def _site_urls(self, body: Json) -> list[str]:
        root = urlsplit(_absolute(body["url"]))
        if root.scheme not in {"http", "https"} or not root.hostname or root.hostname.endswith(".invalid"):
            raise Refusal(self.error_response(403))
        deep = [path for path in self.site if path.count("/") <= body.get("max_depth", 1)]
        chosen = [path for path in deep if _selected(path, body.get("select_paths"), body.get("exclude_paths"))]
        return [f"{root.scheme}://{root.netloc}{path}" for path in chosen][: body.get("limit", 50)]


# --------------------------------------------------------------------------- checking a request


def _check(path: str, body: Json) -> None:
    for name, value in body.items():
        if value is None:
            continue
        _check_type(name, value)
        if name in CHOICES and value not in CHOICES[name]:
            words = ", ".join(f"'{choice}'" for choice in CHOICES[name][:-1])
            raise _bad(f"Invalid {name.replace('_', ' ')}. Must be {words} or '{CHOICES[name][-1]}'.")
        lowest, highest = RANGES[path].get(name, (None, None))
        if lowest is not None and highest is not None and not lowest <= value <= highest:
            raise _bad(f"{name} must be between {lowest} and {highest}.")
        if name in MOST and len(value) > MOST[name]:
            raise _bad(f"Max {MOST[name]} {name} are allowed.")
        if name in {"start_date", "end_date"} and not DAY.fullmatch(value):
            raise _bad(f"Invalid {name}. Must be YYYY-MM-DD.")
    if body.get("country") and body.get("topic", "general") != "general":
        raise _bad("Country is only available with topic 'general'.")


def _check_type(name: str, value: Any) -> None:
    expected = TYPES.get(name)
    if expected is None or (isinstance(value, expected) and not (isinstance(value, bool) and bool not in expected)):
        return
    word = PYDANTIC[expected[0]]
    if word == "int" and isinstance(value, str):
        message = "Input should be a valid integer, unable to parse string as an integer"
        raise _invalid([name], "int_parsing", message, value)
    raise _invalid([name], f"{word}_type", f"Input should be a valid {word}", value)


def _bad(message: str) -> Refusal:
    return Refusal(json_response({"detail": {"error": message}}, status=400))


def _invalid(where: list[str], kind: str, message: str, value: Any) -> Refusal:
    detail = [{"type": kind, "loc": ["body", *where], "msg": message, "input": value}]
    return Refusal(json_response({"detail": detail}, status=422))


def _selected(path: str, wanted: list[str] | None, unwanted: list[str] | None) -> bool:
    if wanted and not any(re.search(pattern, path) for pattern in wanted):
        return False
    return not any(re.search(pattern, path) for pattern in unwanted or [])


def _absolute(url: str) -> str:
    return url if "://" in url else f"https://{url}"


# --------------------------------------------------------------------------- building an answer


def _reply(body: Json, reply: Json, cost: int) -> Response:
    if body.get("include_usage"):
        reply["usage"] = {"credits": cost}
    seed = f"{body.get('query')}{body.get('url')}{body.get('urls')}"
    reply["request_id"] = str(uuid.uuid5(uuid.NAMESPACE_URL, seed))
    return json_response(reply)


def _images(body: Json, found: list[Source]) -> list[Any]:
    if not body.get("include_images"):
        return []
    urls = [f"https://{host_of(source.url)}/img/page.jpg" for source in found]
    if not body.get("include_image_descriptions"):
        return list(urls)
    return [{"url": url, "description": f"A picture about {body['query']}."} for url in urls]


def _result(source: Source, body: Json, rank: int, depth: str) -> Json:
    passages = body.get("chunks_per_source", 3) if depth in {"advanced", "fast"} else 1
    content = " [...] ".join([source.text, f"More from {host_of(source.url)}.", f"And more on {body['query']}."][:passages])
    wants_raw = body.get("include_raw_content")
    result: Json = {
        "url": source.url,
        "title": source.title,
        "content": content,
        "score": round(0.95 * 0.9**rank, 5),
        "raw_content": f"# {source.title}\n\n{source.text}" if wants_raw else None,
    }
    if body.get("include_favicon"):
        result["favicon"] = f"https://{host_of(source.url)}/favicon.ico"
    if source.published and (body.get("topic") == "news" or body.get("include_published_date")):
        result["published_date"] = format_datetime(source.published, usegmt=True)
    return result
