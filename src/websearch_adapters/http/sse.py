"""Replies whose form only their content tells: server-sent events, or one JSON body, whatever was asked for.

Sans I/O. Gateways stream unasked, answer a stream request with one object, or send a page; so nothing here looks at
headers. Event framing follows the WHATWG HTML standard, section 9.2, read 2026-11-30, and forgives what relays get wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from websearch_adapters import bounded_json
from websearch_adapters.http import failures
from websearch_core.errors import BadReply, ProviderError, Unreachable

__all__ = [
    "DONE",
    "Event",
    "EventReader",
    "ReplyBuffer",
    "empty_reply",
    "entries",
    "error_in_event",
    "fields",
    "interrupted",
    "is_event_stream",
    "json_fields",
    "model_names",
    "words",
]

DONE = "[DONE]"
"""Data of the event that ends a stream of chat completions."""
BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_STREAM_START = re.compile(rb"(?:data|event|id|retry)?:")
LONGEST_START = len(b"event:")
MAX_MODELS = 500


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `name` is empty where the stream gives none."""

    name: str
    data: str


class EventReader:
    """Cuts bytes into events, wherever the chunks happen to end."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []
        self.chars = 0
        self.broken = 0
        """Characters so far, and how many of them stand for bytes that are no UTF-8."""

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes. A line ends with CR, LF or CRLF, also across chunks."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk, self._after_cr = chunk[1:], False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        head, *tails = _LINE_END.split(chunk)
        self._line += head
        events: list[Event] = []
        for tail in tails:
            events += self._end_line()
            self._line += tail
        return events

    def flush(self) -> list[Event]:
        """The last event, where the stream ended without the blank line that completes it."""
        return [*self._end_line(), *self._end_event()] if self._line else self._end_event()

    def _end_line(self) -> list[Event]:
        line = bytes(self._line)
        self._line.clear()
        if self._first:
            line, self._first = line.removeprefix(BOM), False
        if not line:
            return self._end_event()
        text = line.decode("utf-8", "replace")
        self.chars += len(text)
        self.broken += failures.broken_chars(line, text)
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return []

    def _end_event(self) -> list[Event]:
        """The event so far; one without data is told too, because its name alone can end a stream."""
        if not self._data and not self._name:
            return []
        event = Event(self._name, "\n".join(self._data))
        self._name, self._data = "", []
        return [event]


class ReplyBuffer:
    """Takes the bytes of a reply and hands out events if it is a stream, else the one JSON object."""

    def __init__(self, provider: str, base_url: str = "", phrases: failures.Phrases = failures.PHRASES) -> None:
        self._provider = provider
        self._base_url = base_url
        self._phrases = phrases
        self._body = bytearray()
        self._events = EventReader()
        self._streamed: bool | None = None

    @property
    def streamed(self) -> bool:
        """Whether the reply has shown itself to be an event stream."""
        return bool(self._streamed)

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes; none while it is no stream.

        Raises:
            Unreachable: the stream is in another encoding than UTF-8.
        """
        if self._streamed:
            return self._legible(self._events.feed(chunk))
        self._body += chunk
        if self._streamed is None:
            self._body = self._body.lstrip()  # blanks may come as signs of life before the body
            self._streamed = is_event_stream(bytes(self._body[:64]))
        if not self._streamed:
            return []
        start = bytes(self._body)
        self._body.clear()
        return self._legible(self._events.feed(start))

    def flush(self) -> list[Event]:
        """A last event that no blank line ended.

        Raises:
            Unreachable: as `feed`.
        """
        return self._legible(self._events.flush())

    def body(self) -> dict[str, Any]:
        """The object of a reply that is no stream.

        Raises:
            WrongAddress: an HTML page came instead.
            ProviderError: neither JSON nor a stream (Unreachable, because relays recover from it), or an error with status 200.
        """
        try:
            return failures.json_object(
                bytes(self._body), provider=self._provider, base_url=self._base_url, phrases=self._phrases
            )
        except BadReply as error:
            if error.diagnostics.get("error_type") != "invalid_response":
                raise
            raise self._illegible("neither JSON nor an event stream") from error

    def _legible(self, events: list[Event]) -> list[Event]:
        if failures.in_another_encoding(self._events.broken, self._events.chars):
            raise self._illegible("a stream in another encoding than UTF-8")
        return events

    def _illegible(self, what: str) -> Unreachable:
        return Unreachable(
            f"{self._provider} sent {what}",
            provider=self._provider,
            hint="Try again later.",
            http_status=200,
            diagnostics={"error_type": "invalid_response"},
        )


def is_event_stream(head: bytes) -> bool | None:
    """Whether a reply that starts like this is an event stream; None while that is still open."""
    start = head.removeprefix(BOM).lstrip()
    if _STREAM_START.match(start):
        return True
    open_still = len(start) < LONGEST_START and not start.startswith((b"{", b"[", b"<", b'"'))
    return None if open_still else False


def error_in_event(
    event: Event, payload: dict[str, Any], *, provider: str, base_url: str, phrases: failures.Phrases = failures.PHRASES
) -> ProviderError | None:
    """The error that an event reports: an `error` field, or an event or type that is called so."""
    if payload.get("error"):
        return failures.error_in_body(payload, provider, base_url, phrases)
    if event.name != "error" and payload.get("type") != "error":
        return None
    told = {key: value for key, value in payload.items() if key != "type"} or event.data
    return failures.error_in_body({"error": told or failures.UNEXPLAINED}, provider, base_url, phrases)


def interrupted(provider: str, *, after_content: bool) -> Unreachable:
    """A stream that ended before its end: what came of it is no answer."""
    word = "stream_interrupted_after_content" if after_content else "stream_interrupted"
    return Unreachable(
        f"{provider} broke off its reply",
        provider=provider,
        hint="Try again later.",
        http_status=200,
        diagnostics={"error_type": word},
    )


def empty_reply(provider: str) -> Unreachable:
    """A complete reply without a word in it; relays are known to recover from it."""
    return Unreachable(
        f"{provider} sent an empty answer",
        provider=provider,
        hint="Try again later, or ask in other words.",
        http_status=200,
        diagnostics={"error_type": "empty_response", "reason": "grok_content_empty"},
    )


# --- JSON from strangers: any value in, the wanted shape out --------------------------------------------------------


def json_fields(data: str) -> dict[str, Any]:
    """A JSON object, or an empty one for anything else."""
    try:
        return fields(bounded_json.loads(data))
    except ValueError:
        return {}


def fields(value: object) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def entries(value: object) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def words(value: object) -> str:
    """`value` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def model_names(listing: dict[str, Any]) -> tuple[str, ...]:
    """The ids of a `GET /models` reply; entries of another shape are passed over."""
    names = (words(fields(entry).get("id")).strip() for entry in entries(listing.get("data")))
    return tuple(name[:200] for name in names if name)[:MAX_MODELS]
