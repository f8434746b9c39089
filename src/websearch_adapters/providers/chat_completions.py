"""Chat completions: answers from any endpoint of OpenAI's shape, such as relays, gateways, OpenRouter and local servers.

There is no standard for searching here. A search tool or OpenRouter's `:online` asks for it; whether a search ran shows
only in the citations, and those may stand in any of six places.
Source: OpenAI's API specification, the code and tests of relays, OpenRouter's documents; read 2026-11-30.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from websearch_adapters.http import failures
from websearch_adapters.http.client import Attempts, Http, JsonReply, Request, api_base
from websearch_adapters.http.sse import (
    DONE,
    Event,
    ReplyBuffer,
    empty_reply,
    entries,
    error_in_event,
    fields,
    interrupted,
    json_fields,
    model_names,
    words,
)
from websearch_adapters.provider import Provider, examined, number
from websearch_core import citations, profile, urls
from websearch_core.depth import Policy
from websearch_core.errors import BadReply, Declined, RequestRejected, Unreachable
from websearch_core.fence import clean
from websearch_core.ports import AnswerEngine, Probe
from websearch_core.retry import RetryPolicy
from websearch_core.values import Answer, Health, Note, SearchQuery, Source, Usage

__all__ = ["PROVIDER", "ChatCompletions", "ChatReply", "ChatSettings", "filter_notes", "from_wire", "model_name", "to_wire"]

NAME = "grok"
"""Names the key, the errors and the spans."""
LABEL = "openai_compatible"
"""Names the engine and its sources."""
MAX_SOURCES = 200
TICKS_PER_USD = 10_000_000_000
PROBE_QUESTION = "Reply with the single word: ready"
IN_MESSAGE = ("annotations", "citations")
ON_TOP = ("citations", "search_sources", "search_results")
EARLY_ENDS = frozenset({"length", "max_tokens", "content_filter"})
TEXT_PARTS = ("text", "output_text", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """How to use an endpoint."""

    base_url: str = ""
    """A bare host, its /v1 or the whole endpoint; kept as the base."""
    model: str = ""
    """The model to use where nobody chooses one at run time."""
    fallback_model: str = ""
    """The model to go on with when the first one fails; empty: none."""
    keyed: bool = True
    """Send a key; local servers often want none."""
    web_search_tool: bool = True
    """Send `{"type": "web_search"}` among the tools: relays for Grok search by it, others ignore or refuse it."""
    stream_options: bool = False
    """Ask for usage in streams; some servers answer 400 to the question."""
    read_timeout_s: float = 120.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    """For each model."""
    phrases: failures.Phrases = failures.PHRASES
    """How errors are to be understood."""
    policies: tuple[Policy, ...] | None = None
    """Subjects with rules of their own; None for the shipped ones."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", api_base(self.base_url))


# --- translations -------------------------------------------------------------------------------------------------


def to_wire(query: SearchQuery, *, model: str, settings: ChatSettings, now: datetime) -> dict[str, Any]:
    """The body of `POST /chat/completions`; at OpenRouter the model's `:online` stands for the search tool."""
    system, user = profile.request_messages(query, now=now, policies=settings.policies)
    body: dict[str, Any] = {
        "model": model_name(model, settings),
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        "stream": True,
    }
    if settings.stream_options:
        body["stream_options"] = {"include_usage": True}
    if settings.web_search_tool and not _is_openrouter(settings):
        body["tools"] = [{"type": "web_search"}]
    return body


def model_name(model: str, settings: ChatSettings) -> str:
    """The model as it is sent; two spellings of one model come to the same."""
    name = model.strip()
    return f"{name}:online" if name and ":online" not in name and _is_openrouter(settings) else name


def _is_openrouter(settings: ChatSettings) -> bool:
    return urls.host_matches(settings.base_url, "openrouter.ai")


def filter_notes(query: SearchQuery) -> tuple[Note, ...]:
    """The note on the query's filters, none of which this protocol knows; empty without filters."""
    asked = {
        "include_domains": bool(query.include_domains),
        "exclude_domains": bool(query.exclude_domains),
        "fresh_within": query.fresh_within != "any",
    }
    unkept = ", ".join(name for name, is_set in asked.items() if is_set)
    text = f"{unkept}: asked for in words; kept by leaving out sources afterwards"
    return (Note(code="filter_post_applied", text=text, provider=NAME),) if unkept else ()


def from_wire(completion: Mapping[str, Any], *, base_url: str = "", phrases: failures.Phrases = failures.PHRASES) -> Answer:
    """An answer from a completion object, or from a stream put together to one.

    Sources come from annotations, citations in the message and on top, `search_sources`, `search_results`, inline links and a
    closing list, cited ones first. `searched` stays open without a citation field: text alone proves nothing.

    Raises:
        Declined: nothing came because of a content filter or a refusal.
        BadReply: the model wants a tool to be run that only its own server could run.
        Unreachable: the completion is empty.
        ProviderError: the completion reports a failure, by its code.
    """
    if error := failures.error_in_body(completion, NAME, base_url, phrases):
        raise error
    message, finish = _message(completion), _finish(completion)
    if finish == "error" and (error := failures.error_in_body({"error": failures.UNEXPLAINED}, NAME, base_url, phrases)):
        raise error
    text = citations.without_thinking(clean(_content(message.get("content")))).strip()
    prose, listed = citations.split_sources(text, provider=LABEL)
    if not prose:
        raise _blank(message, finish)
    structured = tuple(_structured_sources(completion, message))
    found = citations.unite((*structured, *citations.inline(prose, provider=LABEL), *listed))
    return Answer(
        text=prose,
        sources=citations.cited_first(found)[:MAX_SOURCES],
        engine=LABEL,
        model=clean(words(completion.get("model")), limit=200),
        searched=True if structured else None,
        usage=_usage(fields(completion.get("usage"))),
        notes=_incomplete(finish),
    )


class ChatReply:
    """Reads the reply to `POST /chat/completions`: a stream of chunks or one object, whichever comes.

    Chunks may carry no text, no choice, only a role, reasoning, usage or citations; each is kept from whichever brings it.
    """

    def __init__(self, base_url: str = "", phrases: failures.Phrases = failures.PHRASES) -> None:
        self._base_url = base_url
        self._phrases = phrases
        self._reply = ReplyBuffer(NAME, base_url, phrases)
        self._ended = False
        self._text: list[str] = []
        self._whole = ""
        self._message: dict[str, Any] = {name: [] for name in IN_MESSAGE}
        self._top: dict[str, Any] = {name: [] for name in ON_TOP}
        self._finish = ""

    def feed(self, chunk: bytes, /) -> bool:
        """Take the next bytes; True at `[DONE]`, however long the line stays open.

        Raises:
            ProviderError: the stream reports a failure.
        """
        self._ended = any(self._take(event) for event in self._reply.feed(chunk))
        return self._ended

    def close(self) -> Answer:
        """The answer; a stream is whole once `[DONE]` or a finish reason came.

        Raises:
            Unreachable: the stream broke off; what came of it is no answer.
            WrongAddress, ProviderError: as `from_wire`, or a page came instead of a reply.
        """
        if not self._reply.streamed:
            return from_wire(self._reply.body(), base_url=self._base_url, phrases=self._phrases)
        if not self._ended:
            self._ended = any(self._take(event) for event in self._reply.flush())
        if not self._ended and not self._finish:
            raise interrupted(NAME, after_content=bool(self._content().strip()))
        return from_wire(self._completion(), base_url=self._base_url, phrases=self._phrases)

    def _take(self, event: Event) -> bool:
        if event.data.strip() == DONE or (event.name in {"done", "end"} and not event.data.strip()):
            return True
        chunk = json_fields(event.data)
        if error := error_in_event(event, chunk, provider=NAME, base_url=self._base_url, phrases=self._phrases):
            raise error
        for name in ON_TOP:
            self._top[name] += entries(chunk.get(name))
        for name in ("usage", "model"):
            self._top[name] = chunk.get(name) or self._top.get(name)
        self._finish = _finish(chunk) or self._finish
        self._take_choice(_choice(chunk))
        return False

    def _take_choice(self, choice: Mapping[str, Any]) -> None:
        """Pieces come as `delta`; a whole `message` in a stream repeats them, so its text counts only where none came."""
        delta, whole = fields(choice.get("delta")), fields(choice.get("message"))
        self._text.append(_content(delta.get("content")))
        self._whole = _content(whole.get("content")) or self._whole
        for part in (delta, whole):
            for name in IN_MESSAGE:
                self._message[name] += entries(part.get(name))
            for name in ("refusal", "tool_calls"):
                self._message[name] = part.get(name) or self._message.get(name)

    def _content(self) -> str:
        return "".join(self._text) or self._whole

    def _completion(self) -> dict[str, Any]:
        message = {**self._message, "content": self._content()}
        return {**self._top, "choices": [{"message": message, "finish_reason": self._finish or "stop"}]}


def _choice(completion: Mapping[str, Any]) -> dict[str, Any]:
    return fields(next(iter(entries(completion.get("choices"))), None))


def _message(completion: Mapping[str, Any]) -> dict[str, Any]:
    choice = _choice(completion)
    return fields(choice.get("message")) or fields(choice.get("delta"))


def _finish(completion: Mapping[str, Any]) -> str:
    return words(_choice(completion).get("finish_reason"))


def _content(value: object) -> str:
    """Text as it is or in parts; parts of reasoning and pictures say nothing."""
    if isinstance(value, str):
        return value
    parts = (part if isinstance(part, dict) else {"text": part} for part in entries(value))
    return "".join(words(part.get("text")) for part in parts if part.get("type") in TEXT_PARTS)


def _structured_sources(completion: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[Source]:
    """What the reply names outside of its text, in order of trust."""
    yield from _named(message.get("annotations"), cited=True)
    yield from _named(message.get("citations"), cited=False)
    for name in ON_TOP:
        yield from _named(completion.get(name), cited=False)


def _named(listed: object, *, cited: bool) -> Iterator[Source]:
    for entry in entries(listed):
        if source := citations.source_of(entry, provider=LABEL, evidence="cited" if cited else "listed"):
            yield source


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    if not usage:
        return None
    ticks, dollars = number(usage.get("cost_in_usd_ticks")), number(usage.get("cost"))
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cost_usd=ticks / TICKS_PER_USD if ticks is not None else dollars,
    )


def _count(value: object) -> int | None:
    amount = number(value)
    return int(amount) if amount is not None and amount >= 0 else None


def _incomplete(finish: str) -> tuple[Note, ...]:
    if finish not in EARLY_ENDS:
        return ()
    return (Note(code="answer_incomplete", text=f"the answer ends early: {finish}", provider=NAME),)


def _blank(message: Mapping[str, Any], finish: str) -> Declined | BadReply | Unreachable:
    if finish == "content_filter" or words(message.get("refusal")).strip():
        return Declined(
            f"{NAME} declined to answer",
            provider=NAME,
            hint="Ask in other words.",
            http_status=200,
            diagnostics={"error_type": "content_filter"},
        )
    if entries(message.get("tool_calls")):
        return BadReply(
            f"{NAME} asks for a tool instead of answering",
            provider=NAME,
            hint="This endpoint does not search by itself; use another one, or a model that does.",
            http_status=200,
            diagnostics={"error_type": "empty_response", "reason": "grok_content_empty"},
        )
    return empty_reply(NAME)


# --- the engine ---------------------------------------------------------------------------------------------------


def _local_now() -> datetime:
    return datetime.now(UTC).astimezone()


class ChatCompletions(AnswerEngine, Probe):
    """Answers with whatever search the endpoint brings along."""

    name = LABEL

    def __init__(
        self, http: Http, settings: ChatSettings, model: Callable[[], str], now: Callable[[], datetime] = _local_now
    ) -> None:
        """`model` is asked at every call for the model to use; `now` tells the time with its zone."""
        self._http = http
        self._settings = settings
        self._model = model
        self._now = now

    async def answer(self, query: SearchQuery, /) -> Answer:
        """Answer with the sources that the reply names, by the fallback model where the first one fails.

        Raises:
            ProviderError: every way in which the engine can fail, with the attempts in the diagnostics.
            OutOfTime: it failed, and no time was left to try again.
            WrongAddress: the address leads to a page or a redirect.
        """
        settings = self._settings
        primary, fallback = (model_name(one, settings) for one in (query.model or self._model(), settings.fallback_model))
        tries = Attempts(settings.retry, primary=primary, fallback=fallback)
        answer = await self._http.retrying(tries)(lambda: self._request(query, tries.model), self._reader)
        return dataclasses.replace(
            answer, model=answer.model or tries.model, notes=(*tries.notes, *filter_notes(query), *answer.notes)
        )

    async def probe(self, *, live: bool = False) -> Health:
        """List the models, which is free; with `live`, also answer a question of one word, which may be billed."""
        return await examined(self.name, self._examine(live=live))

    async def _examine(self, *, live: bool) -> Health:
        models, detail = await self._models()
        if live:
            asked = self._request(SearchQuery(query=PROBE_QUESTION, depth="fast"), self._model())
            await self._http.exchange(asked, self._reader)
        return Health(part=self.name, state="ok", detail=f"{'answers; ' if live else ''}{detail}", models=models)

    async def _models(self) -> tuple[tuple[str, ...], str]:
        """The models and a word on them. Some relays have no such list; that alone is no failure."""
        base_url, keyed = self._settings.base_url, self._settings.keyed
        request = Request(provider=NAME, base_url=base_url, path="/models", method="GET", keyed=keyed, read_timeout_s=10.0)
        try:
            models = model_names(await self._http.exchange(request, lambda: JsonReply(NAME, base_url)))
        except RequestRejected as error:
            if error.http_status not in {404, 405}:
                raise
            return (), "does not list its models"
        return models, f"lists {len(models)} models"

    def _request(self, query: SearchQuery, model: str) -> Request:
        settings = self._settings
        return Request(
            provider=NAME,
            base_url=settings.base_url,
            path="/chat/completions",
            body=to_wire(query, model=model, settings=settings, now=self._now()),
            keyed=settings.keyed,
            read_timeout_s=settings.read_timeout_s,
            phrases=settings.phrases,
        )

    def _reader(self) -> ChatReply:
        return ChatReply(self._settings.base_url, self._settings.phrases)


def _make(settings: ChatSettings, http: Http) -> ChatCompletions:
    return ChatCompletions(http, settings, lambda: settings.model)


PROVIDER = Provider(
    name="chat",
    offers=frozenset({"answer"}),
    settings=ChatSettings,
    make=_make,
    needs_key=True,
    source="OpenAI's specification of chat completions and openai-python 3.57.0; read 2026-11-30",
)
