"""xAI's API with server-side search: `/v1/responses` plain and streamed, stored responses, models, key status.

Shapes follow the vendor's documents and published recordings up to 30 November 2026. What surprises clients is kept:
a wrong key is 400, an expired OAuth token 403, and only a missing Authorization header 401; raw results never appear,
X search shows up as `custom_tool_call`, and `search_parameters` is answered with 410.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams import examples
from upstreams.exchange import event_stream, json_response
from upstreams.script import Script, Step
from upstreams.simulator import Keys, Refusal, Simulator
from upstreams.sources import Source, invented, is_on, slug

Json = dict[str, Any]
Shape = Literal["2026", "2025", "relay"]
CREATED_AT = 1_796_040_000
MODELS = ("grok-4.3", "grok-4.7")
INCLUDES = frozenset({"no_inline_citations", "reasoning.encrypted_content", "file_search_call.results"})
FIELDS = frozenset(
    {
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "max_turns",
        "max_output_tokens",
        "temperature",
        "top_p",
        "reasoning",
        "include",
        "previous_response_id",
        "store",
        "stream",
        "text",
        "metadata",
        "user",
        "prompt_cache_key",
        "service_tier",
        "background",
        "truncation",
        "logprobs",
        "top_logprobs",
    }
)
WEB_FIELDS = frozenset(
    {
        "type",
        "filters",
        "allowed_domains",
        "excluded_domains",
        "enable_image_understanding",
        "enable_image_search",
        "user_location",
        "search_context_size",
        "external_web_access",
    }
)
X_FIELDS = frozenset(
    {
        "type",
        "allowed_x_handles",
        "excluded_x_handles",
        "from_date",
        "to_date",
        "enable_image_understanding",
        "enable_video_understanding",
    }
)
TOOL_FIELDS = {"web_search": WEB_FIELDS, "x_search": X_FIELDS}
OTHER_TOOLS = frozenset({"function", "code_interpreter", "file_search", "mcp", "collections_search", "code_execution"})
X_POSTS = ("https://x.com/i/status/1990000000000000001", "https://x.com/i/status/1990000000000000002")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
INVALID = "Client specified an invalid argument"
NOT_FOUND = "Some requested entity was not found"


class XaiUpstream(Simulator):
    """`api.x.ai`, as far as a search client sees it.

    Args:
        answer_text: what the model says, without markers; by default it repeats the question.
        sources: pages the web search finds, before domain filters; by default invented from the question.
        posts: addresses of the X posts that an X search finds.
        quotes: words of posts in the order of `posts`, for an answer that is told to quote; by default invented.
        searched: False for an answer from memory: no tool item, no citation, counters at 0.
        citations: whether the answer has the top-level list that the vendor documents but normally leaves out.
        shape: `2025` for the shape recorded before 2026, `relay` for a gateway that keeps only text and citations.
        expired: OAuth access tokens that are not valid any more.
    """

    error_examples: ClassVar = {
        400: "xai-responses/error.400.invalid-argument.json",
        401: "xai-responses/error.401.missing-auth.json",
        402: "xai-responses/error.402.spending-limit.json",
        403: "xai-responses/error.403.permission-denied.json",
        404: "xai-responses/error.404.model.json",
        410: "xai-responses/error.410.live-search.json",
        413: "xai-responses/error.413.too-large.json",
        415: "xai-responses/error.415.media-type.json",
        422: "xai-responses/error.422.deserialize.json",
        429: "xai-responses/error.429.no-retry-after.json",
        500: "xai-responses/error.500.internal.json",
        502: "xai-responses/error.502.cloudflare.html",
        503: "xai-responses/error.503.unavailable.json",
        529: "xai-responses/error.529.overloaded.json",
    }

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        keys: Keys | None = None,
        answer_text: str | None = None,
        sources: Sequence[Source] | None = None,
        posts: Sequence[str] = X_POSTS,
        quotes: Sequence[str] | None = None,
        searched: bool = True,
        citations: bool = False,
        shape: Shape = "2026",
        models: Sequence[str] = MODELS,
        expired: Collection[str] = (),
    ) -> None:
        super().__init__(script=script, paths=paths, keys=keys)
        self.answer_text = answer_text
        self.sources = sources
        self.posts = posts
        self.quotes = quotes
        self.searched = searched
        self.citations = citations
        self.shape: Shape = shape
        self.models = tuple(models)
        self.expired = set(expired)
        self.stored: dict[str, Json] = {}
        self._made = 0

    def error_body(self, status: int) -> object:
        return {"code": "Internal error", "error": f"The service answered with status {status}."}

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/responses", self._create, methods=["POST"]),
            Route("/v1/responses/{id}", self._read, methods=["GET"]),
            Route("/v1/responses/{id}", self._delete, methods=["DELETE"]),
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/v1/api-key", self._api_key, methods=["GET"]),
            Route("/v1/me", self._me, methods=["GET"]),
            Route("/v1/messages", self._messages, methods=["POST"]),
        ]

    # ---- endpoints

    async def _create(self, request: Request) -> Response:
        self._authorise(request)
        body = await self._body(request)
        self._check(body)
        self._made += 1
        response = self._response(body)
        if body.get("store", True):
            self.stored[response["id"]] = response
        return event_stream(_events(response)) if body.get("stream") else json_response(response)

    async def _read(self, request: Request) -> Response:
        self._authorise(request)
        return json_response(self._stored(request.path_params["id"]))

    async def _delete(self, request: Request) -> Response:
        self._authorise(request)
        found = self.stored.pop(self._stored(request.path_params["id"])["id"])
        return json_response({"id": found["id"], "object": "response", "deleted": True})

    async def _models(self, request: Request) -> Response:
        self._authorise(request)
        data = [{"id": name, "created": 1_777_000_000, "object": "model", "owned_by": "xai"} for name in self.models]
        return json_response({"object": "list", "data": data})

    async def _api_key(self, request: Request) -> Response:
        key = self._authorise(request)
        return json_response({**examples.read_json("xai-responses/api-key.json"), "redacted_api_key": f"xai-...{key[-4:]}"})

    async def _me(self, request: Request) -> Response:
        self._authorise(request)
        return json_response(examples.read_json("xai-oauth/me.json"))

    async def _messages(self, request: Request) -> Response:
        self._authorise(request)
        raise _refusal("The messages endpoint was removed. Use /v1/responses.", status=410, code="Gone")

    # ---- what is refused

    def _authorise(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise self.refusal("xai-responses/error.401.missing-auth.json", 401)
        if token in self.expired:
            raise self.refusal("xai-responses/error.403.oauth-token-rejected.json", 403)
        if self.keys is not None and token not in self.keys:
            raise _refusal(
                f"Incorrect API key provided: {token[:2]}***{token[-2:]}. You can obtain an API key from https://console.x.ai."
            )
        return token

    async def _body(self, request: Request) -> Json:
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise self.refusal("xai-responses/error.415.media-type.json", 415)
        try:
            body = await request.json()
        except ValueError:
            raise _refusal("Failed to parse the request body as JSON", code=None) from None
        if not isinstance(body, dict):
            raise _malformed("invalid type: expected a map")
        return body

    def _check(self, body: Json) -> None:
        if "search_parameters" in body:
            raise self.refusal("xai-responses/error.410.live-search.json", 410)
        _check_fields(body)
        if not set(body.get("include") or []) <= INCLUDES:
            raise self.refusal("xai-responses/error.400.include.json", 400)
        if body["model"] not in self.models:
            raise _refusal(
                f"The model {body['model']} does not exist or your team does not have access to it.",
                status=404,
                code=NOT_FOUND,
            )
        if body.get("previous_response_id"):
            if body.get("instructions"):
                raise _refusal("Invalid arguments: instructions cannot be used with previous_response_id.")
            self._stored(body["previous_response_id"])
        for index, tool in enumerate(body.get("tools") or []):
            _check_tool(tool, index)

    def _stored(self, response_id: str) -> Json:
        if response_id not in self.stored:
            raise _refusal(f"Response with id={response_id} not found", status=404, code=NOT_FOUND)
        return self.stored[response_id]

    # ---- what is answered

    def _response(self, body: Json) -> Json:
        query = question(body["input"])
        response_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._made}:{query}"))
        web, x = (_tool(body, kind) if self.searched else None for kind in ("web_search", "x_search"))
        pages = self._pages(query, web) if web is not None else []
        posts = list(self.posts) if x is not None else []
        calls = [
            *(_web_calls(response_id, query, pages, rounds=body.get("max_turns") or 3) if web is not None else []),
            *(_x_calls(response_id, query, posts, tool=x) if x is not None else []),
        ]
        cited = [page.url for page in pages] + posts
        text = self.answer_text or f"Here is what is known about {query!r}. The sources agree with each other."
        if x is not None and body.get("instructions"):
            text = _quoting(text, query, posts, self.quotes)
        said, incomplete = _shortened(text, body.get("max_output_tokens"))
        inline = "no_inline_citations" not in (body.get("include") or [])
        content = _cited_text(said, cited, inline=inline)
        output = [*_reasoning(response_id, query, body, searching=web is not None), *calls]
        output.append(_message(response_id, content, incomplete=incomplete))
        response = _envelope(body, response_id, output, incomplete=incomplete)
        response["usage"] = _usage(query, text, calls=calls, posts=len(posts))
        if self.citations:
            response["citations"] = cited
        return _in_shape(self.shape, response, cited)

    def _pages(self, query: str, tool: Json) -> list[Source]:
        allowed, excluded = domain_lists(tool)
        found = list(self.sources) if self.sources is not None else invented(query)[:3]
        if allowed and self.sources is None:
            found = invented(query, hosts=allowed)
        elif allowed:
            found = [page for page in found if is_on(page.url, allowed)]
        return [page for page in found if not is_on(page.url, excluded)]


# --------------------------------------------------------------------------- reading a request


def question(given: Any) -> str:
    """The text of the last user message of an `input`, or the input itself when it is a string."""
    if isinstance(given, str):
        return given
    content = next(item["content"] for item in reversed(given) if item.get("role") == "user")
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part.get("type") == "input_text")


def domain_lists(tool: Json) -> tuple[list[str], list[str]]:
    """Allowed and excluded domains of a `web_search` tool, from `filters` or from the tool itself."""
    filters = {**tool, **(tool.get("filters") or {})}
    return list(filters.get("allowed_domains") or []), list(filters.get("excluded_domains") or [])


def _tool(body: Json, kind: str) -> Json | None:
    if body.get("tool_choice") == "none":
        return None
    return next((tool for tool in body.get("tools") or [] if tool["type"] == kind), None)


def _check_fields(body: Json) -> None:
    if unknown := sorted(set(body) - FIELDS):
        raise _malformed(f"unknown field `{unknown[0]}`")
    for name in ("model", "input"):
        if name not in body:
            raise _malformed(f"missing field `{name}`")
    if not isinstance(body["model"], str):
        raise _malformed("model: invalid type, expected a string")
    if isinstance(body["input"], list):
        _check_items(body["input"])
    elif not isinstance(body["input"], str):
        raise _malformed("input: data did not match any variant of untagged enum ModelInput")


def _check_items(items: list[Any]) -> None:
    for index, item in enumerate(items):
        if not isinstance(item, dict) or not ({"role", "content"} <= set(item) or "type" in item):
            raise _malformed(f"input[{index}]: data did not match any variant of untagged enum ModelInputItem")
        if "role" in item and item["role"] not in {"system", "developer", "user", "assistant"}:
            raise _malformed(f"input[{index}].role: unknown variant `{item['role']}`")
    if not any(item.get("role") == "user" for item in items):
        raise _refusal("Invalid arguments: input needs at least one user message.")


def _check_tool(tool: Any, index: int) -> None:
    kind = tool.get("type") if isinstance(tool, dict) else None
    if kind in OTHER_TOOLS:
        return
    if kind not in TOOL_FIELDS:
        raise _malformed(f"tools[{index}].type: unknown variant `{kind}`")
    if unknown := sorted(set(tool) - TOOL_FIELDS[kind]):
        raise _malformed(f"tools[{index}]: unknown field `{unknown[0]}`")
    if kind == "web_search":
        _check_lists(*domain_lists(tool), limit=5, names=("allowed_domains", "excluded_domains"))
        _check_domains([*domain_lists(tool)[0], *domain_lists(tool)[1]])
    else:
        allowed, excluded = tool.get("allowed_x_handles") or [], tool.get("excluded_x_handles") or []
        _check_lists(allowed, excluded, limit=20, names=("allowed_x_handles", "excluded_x_handles"))


def _check_lists(allowed: list[str], excluded: list[str], *, limit: int, names: tuple[str, str]) -> None:
    if allowed and excluded:
        raise _refusal(f"Invalid arguments: {names[0]} and {names[1]} cannot both be set.")
    for name, values in zip(names, (allowed, excluded), strict=True):
        if len(values) > limit:
            raise _refusal(f"Invalid arguments: {name} takes at most {limit} entries, {len(values)} were given.")


def _check_domains(domains: list[str]) -> None:
    for domain in domains:
        if "/" in domain or ":" in domain:
            raise _refusal(f"Invalid arguments: {domain} is not a domain.")


def _refusal(message: str, *, status: int = 400, code: str | None = INVALID) -> Refusal:
    body = {"error": message} if code is None else {"code": code, "error": message}
    return Refusal(json_response(body, status=status))


def _malformed(what: str) -> Refusal:
    return _refusal(f"Failed to deserialize the JSON body into the target type: {what}", status=422, code=None)


# --------------------------------------------------------------------------- building a response


def _reasoning(response_id: str, query: str, body: Json, *, searching: bool) -> list[Json]:
    effort = (body.get("reasoning") or {}).get("effort")
    if not searching and not effort:
        return []
    summary = f"The user asks: {query} I will look at what the pages say."
    item: Json = {
        "id": f"rs_{response_id}",
        "summary": [{"text": summary, "type": "summary_text"}],
        "type": "reasoning",
        "status": "completed",
    }
    if "reasoning.encrypted_content" in (body.get("include") or []):
        item["encrypted_content"] = "b3BhcXVlIHJlYXNvbmluZw=="
    return [item]


def _web_calls(response_id: str, query: str, pages: list[Source], *, rounds: int) -> list[Json]:
    """A search that tells its query and sources, a page that is opened, and a search that tells nothing."""
    found = [{"type": "url", "url": page.url} for page in pages]
    actions: list[Json] = [{"type": "search", "query": query, "sources": found}]
    actions += [{"type": "open_page", "url": page.url} for page in pages[:1]]
    actions += [{"type": "search", "query": "", "sources": []}]
    return [
        {
            "id": f"ws_{response_id}_call_{10_293_847 + number}",
            "type": "web_search_call",
            "status": "completed",
            "action": action,
        }
        for number, action in enumerate(actions[:rounds])
    ]


def _x_calls(response_id: str, query: str, posts: list[str], *, tool: Json) -> list[Json]:
    """A keyword search and the thread of its first post; dates in another form than `YYYY-MM-DD` are ignored."""
    senders = " OR ".join(f"from:{handle}" for handle in tool.get("allowed_x_handles") or [])
    dates = [("since", tool.get("from_date")), ("until", tool.get("to_date"))]
    days = [f"{word}:{day}" for word, day in dates if day and DAY.fullmatch(day)]
    asked = " ".join(filter(None, [senders, query, *days]))
    inputs: list[tuple[str, Json]] = [("x_keyword_search", {"query": asked, "limit": 10, "mode": "Latest"})]
    inputs += [("x_thread_fetch", {"post_id": post.rsplit("/", 1)[1]}) for post in posts[:1]]
    return [
        {
            "call_id": f"xs_call_{31_415_926 + number}",
            "input": json.dumps(given, ensure_ascii=False, separators=(",", ":")),
            "name": name,
            "type": "custom_tool_call",
            "id": f"ctc_{response_id}_xs_call_{31_415_926 + number}",
            "status": "completed",
        }
        for number, (name, given) in enumerate(inputs)
    ]


def _shortened(text: str, limit_tokens: int | None) -> tuple[str, bool]:
    """The text within this many tokens, a word counting as one, and whether something had to go."""
    words = text.split(" ")
    if limit_tokens is None or len(words) <= limit_tokens:
        return text, False
    return " ".join(words[:limit_tokens]), True


def _quoting(text: str, query: str, posts: list[str], quotes: Sequence[str] | None) -> str:
    """The text with a block of quotes at its end, each followed by its post's address."""
    words = [f"Post {number} about {query!r}." for number in range(1, len(posts) + 1)] if quotes is None else quotes
    blocks = [
        "\n".join(f"> {line}" for line in said.splitlines()) + f"\n{post}" for said, post in zip(words, posts, strict=False)
    ]
    return "\n\n".join([text, *blocks])


def _cited_text(text: str, urls: list[str], *, inline: bool) -> Json:
    """An `output_text` part: the n-th sentence is followed by the n-th marker, the last one by all that are left."""
    if not inline:
        notes = [_annotation(url, url, 0, 0) for url in urls]
        return {"type": "output_text", "text": text, "logprobs": [], "annotations": notes}
    sentences = re.split(r"(?<=[.!?。])(?=\s)", text)
    said, notes = "", []
    for number, url in enumerate(urls, start=1):
        said += sentences.pop(0) if sentences else ""
        if number == len(urls):
            said, sentences = said + "".join(sentences), []
        start, marker = len(said), f"[[{number}]]({url})"
        said += marker
        notes.append(_annotation(url, str(number), start, len(said)))
    return {"type": "output_text", "text": said + "".join(sentences), "logprobs": [], "annotations": notes}


def _annotation(url: str, title: str, start: int, end: int) -> Json:
    return {"type": "url_citation", "url": url, "start_index": start, "end_index": end, "title": title}


def _message(response_id: str, content: Json, *, incomplete: bool) -> Json:
    return {
        "content": [content],
        "id": f"msg_{response_id}",
        "role": "assistant",
        "type": "message",
        "status": "incomplete" if incomplete else "completed",
    }


def _envelope(body: Json, response_id: str, output: list[Json], *, incomplete: bool) -> Json:
    template = examples.read_json("xai-responses/response.empty.json")
    reasoning = body.get("reasoning") or {}
    return {
        **template,
        "id": response_id,
        "created_at": CREATED_AT,
        "completed_at": CREATED_AT + 9,
        "model": body["model"],
        "output": output,
        "max_output_tokens": body.get("max_output_tokens"),
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "temperature": body.get("temperature", 1),
        "top_p": body.get("top_p", 1),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "user": body.get("user"),
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if incomplete else None,
        "store": body.get("store", True),
        "instructions": body.get("instructions"),
        "prompt_cache_key": body.get("prompt_cache_key"),
    }


def _usage(query: str, text: str, *, calls: list[Json], posts: int) -> Json:
    """Counters and the cost at grok-4.3's prices of November 2026; 10^10 ticks are one US dollar."""
    web = sum(call["type"] == "web_search_call" for call in calls)
    x, fetched, people = len(calls) - web, posts * 6, min(posts, 1)
    entered, left = 400 + len(query) // 4 + 3000 * len(calls), 20 + len(text) // 4
    zeros = ("code_interpreter_calls", "file_search_calls", "mcp_calls", "document_search_calls", "image_generation_calls")
    return {
        "input_tokens": entered,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": left,
        "output_tokens_details": {"reasoning_tokens": 10 * len(calls)},
        "total_tokens": entered + left,
        "num_sources_used": 0,
        "num_server_side_tools_used": len(calls),
        "cost_in_usd_ticks": 12_500 * entered + 25_000 * left + 50_000_000 * (web + fetched) + 100_000_000 * people,
        "server_side_tool_usage_details": {
            "web_search_calls": web,
            "x_search_calls": x,
            "x_posts_fetched": fetched,
            "x_users_fetched": people,
            **dict.fromkeys(zeros, 0),
        },
        "context_details": {"input_tokens": entered // 2, "output_tokens": left // 2},
    }


def _in_shape(shape: Shape, response: Json, cited: list[str]) -> Json:
    if shape == "2025":
        return _as_of_2025(response)
    if shape == "relay":
        return _as_relayed(response, cited)
    return response


def _as_of_2025(response: Json) -> Json:
    """Tool calls with `arguments` instead of an action, annotations with nothing but an address, fewer echoes."""
    kept = examples.read_json("xai-responses/response.web_search.2025-shape.json").keys()
    output: list[Json] = []
    for number, item in enumerate(response["output"]):
        if item["type"] == "web_search_call":
            arguments = json.dumps({"query": item["action"].get("query", ""), "num_results": 5})
            output.append(
                {
                    "arguments": arguments,
                    "call_id": "",
                    "name": "web_search",
                    "type": "web_search_call",
                    "id": f"fc_{response['id']}_{number}",
                    "status": "completed",
                }
            )
            continue
        for content in item.get("content", []):
            content["annotations"] = [{"type": note["type"], "url": note["url"]} for note in content["annotations"]]
        output.append(item)
    usage = {k: v for k, v in response["usage"].items() if k not in {"cost_in_usd_ticks", "server_side_tool_usage_details"}}
    return {**{k: v for k, v in response.items() if k in kept}, "output": output, "usage": usage}


def _as_relayed(response: Json, cited: list[str]) -> Json:
    """Only the message is left; sources are in `citations`, strings and objects mixed, and the cost is a string."""
    usage = dict(response["usage"])
    details = usage.pop("server_side_tool_usage_details")
    usage["cost_in_usd_ticks"] = str(usage["cost_in_usd_ticks"])
    usage["server_side_tool_usage"] = {
        "SERVER_SIDE_TOOL_WEB_SEARCH": details["web_search_calls"],
        "SERVER_SIDE_TOOL_X_SEARCH": details["x_search_calls"],
    }
    messages = [item for item in response["output"] if item["type"] == "message"]
    for content in messages[0]["content"]:
        content["annotations"] = []
    citations = [url if number % 2 == 0 else {"url": url, "title": slug(url)} for number, url in enumerate(cited)]
    text = messages[0]["content"][0]["text"]
    return {**response, "output": messages, "usage": usage, "citations": citations, "output_text": text}


# --------------------------------------------------------------------------- streaming a response


def _events(response: Json) -> list[bytes]:
    """The event stream of a response: every item opens, tools overlap and end in reverse order, the message is last."""
    unknown_yet: Json = {"output": [], "status": "in_progress", "completed_at": None, "usage": None, "incomplete_details": None}
    started = {key: unknown_yet.get(key, value) for key, value in response.items() if key not in {"citations", "output_text"}}
    events: list[Json] = [{"type": f"response.{name}", "response": started} for name in ("created", "in_progress")]
    tools = [_tool_events(item, at) for at, item in enumerate(response["output"]) if item["type"].endswith("_call")]
    for at, item in enumerate(response["output"]):
        if item["type"] == "reasoning":
            events += _reasoning_events(item, at)
    for opening, _ in tools:
        events += opening
    for _, closing in reversed(tools):
        events += closing
    for at, item in enumerate(response["output"]):
        if item["type"] == "message":
            events += _message_events(item, at)
    events.append({"type": f"response.{response['status']}", "response": response})
    return [_event(number, event) for number, event in enumerate(events)]


def _event(number: int, event: Json) -> bytes:
    data = json.dumps({"sequence_number": number, **event}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def _framed(item: Json, at: int, opened: Json) -> tuple[Json, Json]:
    added = {"type": "response.output_item.added", "item": {**item, **opened, "status": "in_progress"}, "output_index": at}
    return added, {"type": "response.output_item.done", "item": item, "output_index": at}


def _reasoning_events(item: Json, at: int) -> list[Json]:
    added, done = _framed(item, at, {"summary": []})
    text = item["summary"][0]["text"]
    where = {"item_id": item["id"], "output_index": at, "summary_index": 0}
    deltas = [{"type": "response.reasoning_summary_text.delta", "delta": part, **where} for part in _parts(text)]
    part = {"text": text, "type": "summary_text"}
    return [
        added,
        {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}},
        *deltas,
        {"type": "response.reasoning_summary_text.done", **where, "text": text},
        {"type": "response.reasoning_summary_part.done", **where, "part": part},
        done,
    ]


def _tool_events(item: Json, at: int) -> tuple[list[Json], list[Json]]:
    where = {"item_id": item["id"], "output_index": at}
    if item["type"] == "custom_tool_call":
        added, done = _framed(item, at, {"input": ""})
        delta = {"type": "response.custom_tool_call_input.delta", **where, "delta": item["input"]}
        return [added, delta, {"type": "response.custom_tool_call_input.done", **where, "input": item["input"]}], [done]
    hidden = {"action": {"type": "search", "query": "", "sources": []}} if "action" in item else {}
    added, done = _framed(item, at, hidden)
    running = [{"type": f"response.web_search_call.{state}", **where} for state in ("in_progress", "searching")]
    return [added, *running], [{"type": "response.web_search_call.completed", **where}, done]


def _message_events(item: Json, at: int) -> list[Json]:
    added, done = _framed(item, at, {"content": []})
    part = item["content"][0]
    where = {"content_index": 0, "item_id": item["id"], "output_index": at}
    deltas = [{"type": "response.output_text.delta", **where, "delta": text, "logprobs": []} for text in _parts(part["text"])]
    notes = [
        {"type": "response.output_text.annotation.added", **where, "annotation": note, "annotation_index": number}
        for number, note in enumerate(part["annotations"])
    ]
    return [
        added,
        {"type": "response.content_part.added", **where, "part": {**part, "text": "", "annotations": []}},
        *deltas,
        *notes,
        {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **where, "part": part},
        done,
    ]


def _parts(text: str, size_chars: int = 40) -> list[str]:
    return [text[start : start + size_chars] for start in range(0, len(text), size_chars)]
