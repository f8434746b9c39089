"""An OpenAI-compatible gateway: `/v1/chat/completions` plain and streamed, and `/v1/models`.

There is no standard for search here: the answer is text, and sources come in whichever place `citations` names.
Shapes follow OpenAI's specification, the source of relays and what their users report, up to 30 November 2026.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upstreams import examples
from upstreams.exchange import event_stream, json_response
from upstreams.script import Script, Step, status
from upstreams.simulator import Keys, Refusal, Simulator
from upstreams.sources import Source, invented

Json = dict[str, Any]
Citations = Literal[
    "annotations",  # nested, as OpenAI has it
    "flat-annotations",  # relays
    "message-citations",
    "top-level-citations",  # xAI's retired live search
    "search_sources",
    "search_results",  # Perplexity
    "inline",  # only markers in the text
    "none",
]
UsageStyle = Literal["openai", "xai"]
CREATED = 1_796_040_000
MODELS = ("demo-model", "grok-4.3")
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
REQUEST_ID = "(request id: 20261130123616123456789abcdEFGH)"

RELAY_ERRORS: dict[str, tuple[int, Any]] = {
    "sub2api": (503, {"error": {"message": "Service temporarily unavailable", "type": "api_error"}}),
    "gpt-load": (503, {"error": {"message": "No available upstream candidate.", "type": "api_error"}}),
    "v-api": (
        503,
        {
            "error": {
                "message": f"当前分组 default 下对于模型 demo-model 无可用渠道 {REQUEST_ID}",
                "message_zh": "无可用渠道",
                "type": "v_api_error",
            }
        },
    ),
    "fastapi": (404, {"detail": "Not Found"}),
    "gateway": (500, {"message": "Internal server error"}),
    "ollama": (404, {"error": "model 'demo-model' not found"}),
}


def relay_error(family: str) -> Step:
    """An error in the words of one relay family; those with a payload file are reached by `scenario("chat.error…")`."""
    code, body = RELAY_ERRORS[family]
    return status(code, body=body)


class ChatUpstream(Simulator):
    """A gateway that serves exactly `/v1/chat/completions`.

    Args:
        answer_text: what the model says, without markers; by default it repeats the question.
        sources: pages that the answer cites; by default two, invented from the question.
        citations: where the sources are put.
        searched: False for an answer without any source, wherever they would have been.
        usage_style: `xai` puts usage on the finishing chunk, asked for or not, and counts reasoning in the total.
        content_parts: the message's content is a list of parts instead of a string.
        stream_options: False for a server that refuses that field.
        key_required: False for a local server that needs no credential.
    """

    error_examples: ClassVar = {
        400: "chat-completions/error.400.invalid.json",
        401: "chat-completions/error.401.invalid-key.json",
        402: "chat-completions/error.402.openrouter-credits.json",
        403: "chat-completions/error.403.proxy-quota.json",
        404: "chat-completions/error.404.model.json",
        408: "chat-completions/error.408.timeout.json",
        410: "chat-completions/error.410.live-search.json",
        422: "chat-completions/error.422.detail-list.json",
        429: "chat-completions/error.429.rate-limit.json",
        500: "chat-completions/error.500.server.json",
        502: "chat-completions/error.502.html.html",
        503: "chat-completions/error.503.no-available-accounts.json",
    }

    def __init__(
        self,
        *,
        script: Script | Step | None = None,
        paths: dict[str, Script | Step] | None = None,
        keys: Keys | None = None,
        answer_text: str | None = None,
        sources: Sequence[Source] | None = None,
        citations: Citations = "annotations",
        searched: bool = True,
        usage_style: UsageStyle = "openai",
        content_parts: bool = False,
        stream_options: bool = True,
        key_required: bool = True,
        models: Sequence[str] = MODELS,
    ) -> None:
        super().__init__(script=script, paths=paths, keys=keys)
        self.answer_text = answer_text
        self.sources = sources
        self.citations: Citations = citations
        self.searched = searched
        self.usage_style: UsageStyle = usage_style
        self.content_parts = content_parts
        self.stream_options = stream_options
        self.key_required = key_required
        self.models = tuple(models)

    def error_body(self, status: int) -> object:
        error = {"message": f"Request failed with status {status}.", "type": "api_error", "param": None, "code": None}
        return {"error": error}

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/{anything:path}", _not_here, methods=["GET", "POST"]),
        ]

    # ---- endpoints

    async def _complete(self, request: Request) -> Response:
        self._authorise(request)
        body = await _json_object(request)
        self._check(body)
        completion = self._completion(body)
        return event_stream(self._chunks(body, completion)) if body.get("stream") else json_response(completion)

    async def _models(self, request: Request) -> Response:
        self._authorise(request)
        data = [{"id": name, "object": "model", "created": CREATED, "owned_by": "demo"} for name in self.models]
        return json_response({"object": "list", "data": data})

    # ---- what is refused

    def _authorise(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not token and not self.key_required:
            return
        if scheme.lower() != "bearer" or not token:
            raise _refusal("You didn't provide an API key.", status=401, param=None)
        if self.keys is not None and token not in self.keys:
            masked = f"{token[:5]}****{token[-4:]}"
            message = f"Incorrect API key provided: {masked}."
            raise _refusal(message, status=401, param=None, code="invalid_api_key")

    def _check(self, body: Json) -> None:
        missing = [name for name in ("model", "messages") if name not in body]
        if missing:
            raise _validation(missing[0], "missing", "Field required")
        _check_messages(body["messages"])
        if "search_parameters" in body and body["model"].startswith("grok"):
            raise Refusal(self.error_response(410))
        if body["model"] not in self.models:
            message = f"The model `{body['model']}` does not exist or you do not have access to it."
            raise _refusal(message, status=404, param=None, code="model_not_found")
        if "stream_options" in body and not self.stream_options:
            raise _refusal("Unrecognized request argument supplied: stream_options", param="stream_options")
        if "stream_options" in body and not body.get("stream"):
            raise _refusal("The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options")

    # ---- what is answered

    def _completion(self, body: Json) -> Json:
        query = question(body["messages"])
        given = list(self.sources) if self.sources is not None else invented(query)[:2]
        sources = given if self.searched else []
        said = self.answer_text or f"Here is what is known about {query!r}. The sources agree with each other."
        text, complete = _shortened(said, body.get("max_completion_tokens") or body.get("max_tokens"))
        if self.citations == "inline":
            text += "".join(f"[[{number}]]({source.url})" for number, source in enumerate(sources, start=1))
        message: Json = {"role": "assistant", "content": self._content(text), "refusal": None}
        message |= _in_message(self.citations, sources, text)
        finish = "stop" if complete else "length"
        completion = {
            "id": f"chatcmpl-{uuid.uuid5(uuid.NAMESPACE_URL, query).hex[:8]}",
            "object": "chat.completion",
            "created": CREATED,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
            "usage": _usage(self.usage_style, query, text, len(sources)),
            "system_fingerprint": "fp_demo",
        }
        return completion | _on_top(self.citations, sources)

    def _content(self, text: str) -> str | list[Json]:
        if not self.content_parts:
            return text
        half = len(text) // 2
        return [{"type": "text", "text": text[:half]}, {"type": "output_text", "text": text[half:]}]

    def _chunks(self, body: Json, completion: Json) -> list[bytes]:
        asked = bool((body.get("stream_options") or {}).get("include_usage"))
        choice, message = completion["choices"][0], completion["choices"][0]["message"]
        text = "".join(part["text"] for part in message["content"]) if self.content_parts else message["content"]
        extras = {key: message[key] for key in ("annotations", "citations") if key in message}
        deltas: list[Json] = [{"role": "assistant", "content": "", "refusal": None}]
        deltas += [{"content": text[start : start + 16]} for start in range(0, len(text), 16)]
        deltas += [{"content": "", **extras}] if extras else []
        envelope = {
            "id": completion["id"],
            "object": "chat.completion.chunk",
            "created": completion["created"],
            "model": completion["model"],
            "system_fingerprint": completion["system_fingerprint"],
        }
        chunks = [{**envelope, "choices": [_delta(delta)]} for delta in deltas]
        last = {**envelope, "choices": [_delta({}, finish_reason=choice["finish_reason"])]}
        last |= {key: value for key, value in completion.items() if key in TOP_LEVEL}
        if self.usage_style == "xai":
            chunks.append({**last, "usage": completion["usage"]})
        elif asked:
            chunks = [{**chunk, "usage": None} for chunk in [*chunks, last]]
            chunks.append({**envelope, "choices": [], "usage": completion["usage"]})
        else:
            chunks.append(last)
        return [*(_event(chunk) for chunk in chunks), b"data: [DONE]\n\n"]


TOP_LEVEL = ("citations", "search_sources", "search_results")


def question(messages: list[Json]) -> str:
    """The text of the last user message."""
    content = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part.get("type") == "text")


async def _json_object(request: Request) -> Json:
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise _refusal("Unsupported media type.", status=415, param=None)
    try:
        body = await request.json()
    except ValueError:
        raise _refusal("We could not parse the JSON body of your request.", param=None) from None
    if not isinstance(body, dict):
        raise _validation("", "dict_type", "Input should be a valid dictionary")
    return body


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise _refusal("Invalid 'messages': expected a non-empty array.", param="messages")
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            raise _refusal(f"Invalid value: {role!r}. Supported values are: {sorted(ROLES)}.", param=f"messages[{index}].role")
    if not any(message["role"] == "user" for message in messages):
        raise _refusal("'messages' must contain a user message.", param="messages")


async def _not_here(_: Request) -> Response:
    return json_response({"detail": "Not Found"}, status=404)


def _refusal(message: str, *, param: str | None, status: int = 400, code: str | None = None) -> Refusal:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Refusal(json_response({"error": error}, status=status))


def _validation(field: str, kind: str, message: str) -> Refusal:
    detail = [{"type": kind, "loc": ["body", *filter(None, [field])], "msg": message, "input": {}}]
    return Refusal(json_response({"detail": detail}, status=422))


def _shortened(text: str, limit_tokens: int | None) -> tuple[str, bool]:
    """The text within this many tokens, a word counting as one, and whether that is all of it."""
    words = text.split(" ")
    if limit_tokens is None or len(words) <= limit_tokens:
        return text, True
    return " ".join(words[:limit_tokens]), False


def _in_message(citations: Citations, sources: list[Source], text: str) -> Json:
    if citations == "annotations":
        span = {"start_index": 0, "end_index": len(text)}
        notes = [{"url": source.url, "title": source.title, **span} for source in sources]
        return {"annotations": [{"type": "url_citation", "url_citation": note} for note in notes]}
    if citations == "flat-annotations":
        return {"annotations": [{"type": "url_citation", "url": each.url, "title": each.title} for each in sources]}
    if citations == "message-citations":
        return {"citations": _mixed(sources)}
    return {}


def _on_top(citations: Citations, sources: list[Source]) -> Json:
    if citations == "top-level-citations":
        return {"citations": [source.url for source in sources]}
    if citations == "search_sources":
        return {"search_sources": [{"url": each.url, "title": each.title, "type": "web"} for each in sources]}
    if citations == "search_results":
        return {"search_results": [{"title": each.title, "url": each.url, "date": _day(each)} for each in sources]}
    return {}


def _mixed(sources: list[Source]) -> list[str | Json]:
    """Strings and objects in turn, as relays mix them."""
    return [s.url if number % 2 == 0 else {"url": s.url, "title": s.title} for number, s in enumerate(sources)]


def _day(source: Source) -> str | None:
    return source.published.date().isoformat() if source.published else None


def _usage(style: UsageStyle, query: str, text: str, sources: int) -> Json:
    entered, left = 20 + len(query) // 4, 1 + len(text) // 4
    template = "response.success.json" if style == "openai" else "response.xai.json"
    usage: Json = examples.read_json(f"chat-completions/{template}")["usage"]
    reasoned = usage["completion_tokens_details"]["reasoning_tokens"]
    usage |= {"prompt_tokens": entered, "completion_tokens": left, "total_tokens": entered + left + reasoned}
    if style == "xai":
        cost = 12_500 * entered + 25_000 * (left + reasoned)
        usage |= {"num_sources_used": sources, "cost_in_usd_ticks": cost}
    return usage


def _delta(delta: Json, *, finish_reason: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _event(chunk: Json) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
