"""Firecrawl's API, v2 and the v1 forms: search, scrape, map, credit usage, and the probe of self-hosted servers.

Shapes follow the published OpenAPI files, server and SDK sources up to 30 November 2026. What surprises clients is
kept: a host that does not resolve is a 200 with `success: false`, a target's 404 is `success: true`, the wait of a 429
is in its text, `github` is gone as a category, and `research` answers in a group of its own.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams import examples
from upstreams.exchange import json_response
from upstreams.script import Script, Step, status
from upstreams.simulator import Keys, Refusal, Simulator
from upstreams.sources import Source, host_of, invented, is_on

Json = dict[str, Any]
Version = Literal["v1", "v2"]
KEYLESS_PATHS = frozenset({"/v2/search", "/v2/scrape"})
SOURCES = ("web", "news", "images")
CATEGORIES = frozenset({"research", "pdf", "developer", "gov"})
FORMATS = frozenset(
    {"markdown", "summary", "html", "rawHtml", "links", "images", "screenshot", "json", "changeTracking", "branding"}
    | {"product", "menu", "audio", "video", "question", "highlights", "screenshot@fullPage", "extract"}
)
TBS = re.compile(r"(qdr:[hdwmy]|cdr:1,cd_min:\d+/\d+/\d{4},cd_max:\d+/\d+/\d{4}|sbd:1)(,|$)")
SITE_PATHS = ("/news/footbridge-reopens", "/news", "/about", "/docs", "/docs/install", "/contact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scraped:
    """A target page: its Markdown, and the status with which its own server answered."""

    markdown: str
    status: int = 200
    title: str | None = None


def rate_limited(*, wait_s: int = 23, in_header: bool = False) -> Step:
    """A 429 whose wait is in its text, as the hosted service sends it, or in `retry-after` as well."""
    body = examples.read_json("firecrawl/error.429.rate-limit.json")
    body["error"] = re.sub(r"retry after \d+s", f"retry after {wait_s}s", body["error"])
    return status(429, body=body, retry_after_s=wait_s if in_header else None)


def still_processing(*, retry_after_s: int = 5) -> Step:
    """A 408 for a large document that the service goes on reading."""
    details = {
        "state": "processing_continues",
        "documentPages": 412,
        "jobStatus": "active",
        "estimatedRemainingSeconds": retry_after_s * 3,
        "retryAfterSeconds": retry_after_s,
    }
    body = {"success": False, "code": "SCRAPE_TIMEOUT", "error": "Request timed out", "details": details}
    return status(408, body=body, retry_after_s=retry_after_s)


class FirecrawlUpstream(Simulator):
    """`api.firecrawl.dev`, or a self-hosted server.

    Args:
        sources: what a search finds; by default invented from the query.
        pages: target pages by address, for scraping; other addresses get invented text, those below `.invalid` fail.
        site: paths that a map finds on every site.
        credits: what the key may spend before 402.
        keyless: whether search and scrape work without a key.
        self_hosted: no credential is needed anywhere, and search answers carry neither `id` nor `creditsUsed`.
        nothing: how an empty search looks, an empty group or no group at all.
    """

    error_examples: ClassVar = {
        400: "firecrawl/error.400.validation.json",
        401: "firecrawl/error.401.invalid-token.json",
        402: "firecrawl/error.402.credits.json",
        403: "firecrawl/error.403.blocklist.json",
        404: "firecrawl/error.404.no-cached-data.json",
        408: "firecrawl/error.408.timeout.json",
        409: "firecrawl/error.409.idempotency.json",
        429: "firecrawl/error.429.rate-limit.json",
        500: "firecrawl/error.500.unknown.json",
        502: "firecrawl/error.502.html.html",
        503: "firecrawl/error.503.unavailable.json",
    }

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        keys: Keys | None = None,
        sources: Sequence[Source] | None = None,
        pages: Mapping[str, Scraped | str] | None = None,
        site: Sequence[str] = SITE_PATHS,
        credits: int = 1000,  # noqa: A002 - the service's own word
        keyless: bool = True,
        self_hosted: bool = False,
        nothing: Literal["group", "object"] = "group",
    ) -> None:
        super().__init__(script=script, paths=paths, keys=keys)
        self.sources = sources
        self.pages = {url: Scraped(markdown=page) if isinstance(page, str) else page for url, page in (pages or {}).items()}
        self.site = tuple(site)
        self.credits = credits
        self.keyless = keyless
        self.self_hosted = self_hosted
        self.nothing = nothing
        self.plan_credits = credits
        self._cached: set[str] = set()
        self._idempotency: set[str] = set()

    def error_body(self, status: int) -> object:
        return {"success": False, "error": f"The service answered with status {status}."}

    def routes(self) -> list[BaseRoute]:
        endpoints = {"search": self._search, "scrape": self._scrape, "map": self._map}
        return [
            *(Route(f"/{{version}}/{name}", endpoint, methods=["POST"]) for name, endpoint in endpoints.items()),
            Route("/{version}/team/credit-usage", self._credit_usage, methods=["GET"]),
            Route("/v0/health/readiness", self._readiness, methods=["GET"]),
        ]

    # ---- endpoints

    async def _search(self, request: Request) -> Response:
        body = await self._accepted(request, "query")
        version = _version(request)
        _check_search(body)
        limit = body.get("limit", 10 if version == "v2" else 5)
        found = self._found(body)[:limit]
        scraping = body.get("scrapeOptions")
        cost = -(-len(found) // 10) * 2 + (len(found) if scraping else 0)
        self._spend(cost)
        hits = [self._hit(page, rank, scraping) for rank, page in enumerate(found, start=1)]
        if version == "v1":
            return json_response({"success": True, "data": [_without(hit, "position") for hit in hits]})
        reply: Json = {"success": True, "data": self._grouped(body, hits, found)}
        if not self.self_hosted:
            reply |= {"creditsUsed": cost, "id": _id(body["query"])}
        return json_response(reply)

    async def _scrape(self, request: Request) -> Response:
        body = await self._accepted(request, "url")
        _check_formats(body.get("formats") or [])
        url = body["url"]
        if host_of(url).endswith(".invalid"):
            return json_response(_unresolved(url))
        cached = url in self._cached and body.get("maxAge", 172_800_000 if _version(request) == "v2" else 0) > 0
        if "minAge" in body and url not in self._cached:
            raise Refusal(self.error_response(404))
        self._spend(1)
        self._cached.add(url)
        return json_response({"success": True, "data": self._document(url, body, cached=cached), "scrape_id": _id(url)})

    async def _map(self, request: Request) -> Response:
        body = await self._accepted(request, "url")
        _check_number(body, "limit", 1, 100_000 if _version(request) == "v2" else 30_000)
        self._spend(1)
        urls = [f"{body['url'].rstrip('/')}{path}" for path in self.site if body.get("search", "").lower() in path]
        urls = urls[: body.get("limit", 5000)]
        if _version(request) == "v1":
            return json_response({"success": True, "links": urls})
        links = [{"url": url, "title": _title_of(url), "description": f"About {_title_of(url)}."} for url in urls]
        reply: Json = {"success": True, "id": _id(body["url"]), "links": links}
        if not links:
            reply["warning"] = "Only a few links were found; check the address."
        return json_response(reply)

    async def _credit_usage(self, request: Request) -> Response:
        self._authorise(request)
        _version(request)
        if self.self_hosted:
            raise self.refusal("firecrawl/error.404.credit-usage.json", 404)
        spoken = "v1.credit-usage.json" if _version(request) == "v1" else "v2.credit-usage.json"
        reply = examples.read_json(f"firecrawl/{spoken}")
        remaining, plan = list(reply["data"])[:2]
        reply["data"] |= {remaining: self.credits, plan: self.plan_credits}
        return json_response(reply)

    async def _readiness(self, _: Request) -> Response:
        return json_response({"status": "ok"})

    # ---- what is refused

    async def _accepted(self, request: Request, required: str) -> Json:
        self._authorise(request)
        try:
            body = await request.json()
        except ValueError:
            raise _refusal("Bad Request", code="BAD_REQUEST") from None
        if not isinstance(body, dict) or not isinstance(body.get(required), str) or not body[required]:
            issue = {"code": "invalid_type", "expected": "string", "received": "undefined", "message": "Required"}
            raise _refusal("Bad Request", code="BAD_REQUEST", details=[{**issue, "path": [required]}])
        if required == "url" and urlsplit(body["url"]).scheme not in {"http", "https"}:
            raise _issue("url", "invalid_string", "Invalid URL")
        self._check_idempotency(request.headers.get("x-idempotency-key"))
        return body

    def _authorise(self, request: Request) -> None:
        if self.self_hosted:
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            if self.keyless and request.url.path in KEYLESS_PATHS:
                return
            raise self.refusal("firecrawl/error.401.token-missing.json", 401)
        if scheme.lower() != "bearer" or not token:
            raise _refusal("Unauthorized", status=401)
        if self.keys is not None and token not in self.keys:
            raise Refusal(self.error_response(401))

    def _check_idempotency(self, key: str | None) -> None:
        if key is None:
            return
        if key in self._idempotency:
            raise Refusal(self.error_response(409))
        self._idempotency.add(key)

    def _spend(self, cost: int) -> None:
        if self.self_hosted:
            return
        if cost > self.credits:
            raise Refusal(self.error_response(402))
        self.credits -= cost

    # ---- what is answered

    def _found(self, body: Json) -> list[Source]:
        wanted, unwanted = body.get("includeDomains") or [], body.get("excludeDomains") or []
        found = list(self.sources) if self.sources is not None else invented(body["query"])
        if wanted and self.sources is None:
            found = invented(body["query"], hosts=wanted)
        return [page for page in found if (not wanted or is_on(page.url, wanted)) and not is_on(page.url, unwanted)]

    def _hit(self, page: Source, rank: int, scraping: Json | None) -> Json:
        hit: Json = {"url": page.url, "title": page.title, "description": page.text, "position": rank}
        return hit if scraping is None else {**hit, **self._document(page.url, scraping, cached=False)}

    def _grouped(self, body: Json, hits: list[Json], found: list[Source]) -> Json:
        asked = _names(body.get("sources")) or ["web"]
        if not hits:
            return {} if self.nothing == "object" else {group: [] for group in asked}
        groups: Json = {"web": hits} if "web" in asked else {}
        if "research" in _names(body.get("categories")):
            groups = {"research": [_paper(page) for page in found]}
        if "news" in asked:
            groups["news"] = [_news(page, rank) for rank, page in enumerate(found, start=1)]
        if "images" in asked:
            groups["images"] = [_image(page, rank) for rank, page in enumerate(found, start=1)]
        return groups

    def _document(self, url: str, options: Json, *, cached: bool) -> Json:
        page = self.pages.get(url) or Scraped(markdown=_invented_markdown(url))
        title = page.title or _title_of(url)
        made = {
            "markdown": page.markdown,
            "html": f"<h1>{title}</h1><p>{page.markdown}</p>",
            "rawHtml": f"<html><head><title>{title}</title></head><body><p>{page.markdown}</p></body></html>",
            "links": re.findall(r"\]\((https?://[^)\s]+)\)", page.markdown),
            "images": [f"https://{host_of(url)}/img/page.jpg"],
            "summary": f"{title}: a page on {host_of(url)}.",
            "screenshot": f"https://storage.example.com/{_id(url)}.png",
            "json": {"title": title},
        }
        asked = _names(options.get("formats")) or ["markdown"]
        document: Json = {name: made[name] for name in asked if name in made}
        document["metadata"] = _metadata(url, title, page.status, cached=cached)
        if page.status >= 400:
            document["warning"] = f"The page returned HTTP status {page.status}."
        return document


# --------------------------------------------------------------------------- checking a request


def _version(request: Request) -> Version:
    version = request.path_params["version"]
    if version not in {"v1", "v2"}:
        raise _refusal("Not Found", status=404)
    return "v1" if version == "v1" else "v2"


def _check_search(body: Json) -> None:
    if len(body["query"]) > 500:
        raise _issue("query", "too_big", "String must contain at most 500 character(s)")
    _check_number(body, "limit", 1, 100)
    if body.get("includeDomains") and body.get("excludeDomains"):
        raise _issue("includeDomains", "custom", "includeDomains and excludeDomains cannot both be specified")
    for domain in [*(body.get("includeDomains") or []), *(body.get("excludeDomains") or [])]:
        if "/" in domain or ":" in domain:
            raise _issue("includeDomains", "invalid_string", "Domain must be a bare host")
    for name in _names(body.get("sources")):
        if name not in SOURCES:
            raise _issue("sources", "invalid_union", f"Invalid source: {name}")
    _check_categories(_names(body.get("categories")))
    if body.get("tbs") and not TBS.match(body["tbs"]):
        raise _issue("tbs", "invalid_string", "Invalid tbs")
    _check_formats((body.get("scrapeOptions") or {}).get("formats") or [])


def _check_categories(names: list[str]) -> None:
    if "github" in names:
        raise _refusal("The github category is no longer available; use developer.", code="CATEGORY_REMOVED")
    for name in names:
        if name not in CATEGORIES:
            raise _issue("categories", "invalid_enum_value", f"Invalid category: {name}")
    if len(names) > 1 and {"developer", "gov"} & set(names):
        raise _issue("categories", "custom", "developer and gov cannot be combined with other categories")


def _check_formats(formats: list[Any]) -> None:
    for name in _names(formats):
        if name not in FORMATS:
            raise _issue("formats", "invalid_enum_value", f"Invalid format: {name}")


def _check_number(body: Json, name: str, lowest: int, highest: int) -> None:
    value = body.get(name, lowest)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _issue(name, "invalid_type", f"Expected number, received {type(value).__name__}")
    if value > highest:
        raise _issue(name, "too_big", f"Number must be less than or equal to {highest}")
    if value < lowest:
        raise _issue(name, "too_small", f"Number must be greater than or equal to {lowest}")


def _names(given: Sequence[Any] | None) -> list[str]:
    """Names from a list of strings or of `{type: …}` objects."""
    return [each["type"] if isinstance(each, dict) else each for each in given or []]


def _issue(field: str, code: str, message: str) -> Refusal:
    return _refusal("Invalid request body", details=[{"code": code, "message": message, "path": [field]}])


def _refusal(message: str, *, status: int = 400, code: str | None = None, details: list[Json] | None = None) -> Refusal:
    body: Json = {"success": False, "error": message}
    body |= {"code": code} if code else {}
    body |= {"details": details} if details else {}
    return Refusal(json_response(body, status=status))


# --------------------------------------------------------------------------- building an answer


def _unresolved(url: str) -> Json:
    error = f"DNS resolution failed for hostname: {host_of(url)}. Check the address."
    return {"success": False, "code": "SCRAPE_DNS_RESOLUTION_ERROR", "error": error}


def _metadata(url: str, title: str, code: int, *, cached: bool) -> Json:
    metadata: Json = {
        "title": title,
        "description": f"About {title}.",
        "language": "en",
        "sourceURL": url,
        "url": url,
        "statusCode": code,
        "contentType": "text/html; charset=utf-8",
        "scrapeId": _id(url),
        "proxyUsed": "basic",
        "cacheState": "hit" if cached else "miss",
        "creditsUsed": 1,
        "ogTitle": [title, f"{title} | {host_of(url)}"],  # a list, as when a page repeats the tag
        "concurrencyLimited": False,
    }
    if cached:
        metadata["cachedAt"] = "2026-11-29T08:00:00.000Z"
    if code >= 400:
        metadata["error"] = {403: "Forbidden", 404: "Not Found", 410: "Gone"}.get(code, "Error")
    return metadata


def _news(page: Source, rank: int) -> Json:
    news: Json = {"title": page.title, "url": page.url, "snippet": page.text, "position": rank}
    return {**news, "date": f"{rank} days ago", "imageUrl": f"https://{host_of(page.url)}/img/page.jpg"}


def _image(page: Source, rank: int) -> Json:
    size = {"imageUrl": f"https://{host_of(page.url)}/img/page.jpg", "imageWidth": 1200, "imageHeight": 800}
    return {"title": page.title, **size, "url": page.url, "position": rank}


def _paper(page: Source) -> Json:
    number = f"2611.{int(uuid.uuid5(uuid.NAMESPACE_URL, page.url)) % 100_000:05d}"
    names = {"paperId": f"p-{number}", "primaryId": f"arxiv:{number}", "ids": {"arxiv": number}}
    return {**names, "title": page.title, "abstract": page.text, "score": 0.83}


def _title_of(url: str) -> str:
    name = urlsplit(url).path.strip("/").rsplit("/", 1)[-1].replace("-", " ")
    return (name or host_of(url)).capitalize()


def _invented_markdown(url: str) -> str:
    return f"# {_title_of(url)}\n\nThis is the page at {url}.\n\nSee also [the front page](https://{host_of(url)}/)."


def _without(hit: Json, name: str) -> Json:
    return {key: value for key, value in hit.items() if key != name}


def _id(seed: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, seed))
