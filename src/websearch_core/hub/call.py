"""Use case: run one tool of an upstream, at most once unless running it twice does no harm."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from websearch_core import budget, deadline, fence, outcome
from websearch_core.errors import (
    AuthRejected,
    InvalidInput,
    NotAllowed,
    OutcomeUnknown,
    OutOfTime,
    ToolFailed,
    UnknownSession,
    Unreachable,
    WebSearchError,
)
from websearch_core.events import SILENT, Observer
from websearch_core.hub.ports import SERVICE, UpstreamLink, Upstreams
from websearch_core.hub.values import CallRequest, CallResult, CatalogTool, KeptReply, Part, ToolReply
from websearch_core.ports import Cache
from websearch_core.values import Json, Note, as_plain

__all__ = ["CallRules", "CallTool"]

RESERVE_CHARS = 300
"""Kept free for a note and the numbers of a cut."""
MAX_PARTS = 50
MAX_DATA_CHARS = 14_000_000
"""Of base64 in one part: 10 MiB of bytes."""
MAX_BLOCKS = 5
"""Parts with data in one result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRules:
    """What the operator decides."""

    keep_s: float = 3_600.0
    """How long a reply that was cut can be read on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTool:
    """`await call(CallRequest(tool="github__create_issue", arguments={…}))`."""

    upstreams: Upstreams
    cache: Cache
    rules: CallRules = CallRules()
    observe: Observer = SILENT

    async def __call__(self, request: CallRequest, /, *, within_s: float | None = None) -> CallResult:
        """The tool's reply, cut to `max_chars`; `reply_id` reads on without running anything.

        A call that surely did not run is sent once more over a new connection. One that may have run is sent again only when its
        tool is read-only or idempotent; otherwise the failure says that the outcome is unknown.
        """
        if request.reply_id:
            return await self._read_on(request)
        with self.observe.span("call", tool=request.tool) as span:
            try:
                entry = self._entry(request.tool)
            except WebSearchError as error:
                span.note(outcome=error.code)
                return outcome.failed(CallResult(tool=request.tool), error, "call")
            base = CallResult(tool=entry.id, upstream=entry.upstream)
            try:
                reply = await self._run(entry, cast("dict[str, Json]", request.arguments), within_s)
            except WebSearchError as error:
                span.note(outcome=error.code)
                return outcome.failed(base, error, "call")
            span.note(outcome="failed" if reply.failed else "success")
        max_chars = request.max_chars
        result = await self._told(base, reply, max_chars)
        while (less := budget.fewer(result, max_chars)) is not None:
            max_chars = less
            result = await self._told(base, reply, max_chars)
        return result

    def _entry(self, word: str) -> CatalogTool:
        """The tool of this id, or the only one that has this raw name."""
        wanted = word.strip()
        tools = self.upstreams.catalog().tools
        found = [one for one in tools if one.id == wanted] or [
            one for one in tools if one.standing == "visible" and wanted in {one.tool.name, f"{one.upstream}__{one.tool.name}"}
        ]
        able = [one for one in found if one.standing == "visible"]
        if len(able) == 1:
            return able[0]
        if able:
            raise InvalidInput(
                f"several upstreams have a tool named {wanted[:100]!r}",
                provider=SERVICE,
                hint=f"Use one of these ids: {', '.join(one.id for one in able[:10])}.",
            )
        if found:
            raise NotAllowed(f"the tool is not available: {found[0].why}", provider=SERVICE, hint="Use another tool.")
        raise InvalidInput(
            f"there is no tool with the id {wanted[:100]!r}",
            provider=SERVICE,
            hint="Find the tool with find_tools and use an id of its result.",
        )

    async def _run(self, entry: CatalogTool, arguments: dict[str, Json], within_s: float | None) -> ToolReply:
        """One reply, by two attempts at most, within the time of the tool and of the caller."""
        limit_s = min(self.upstreams.spec(entry.upstream).timeout_of(entry.tool.name), within_s or math.inf)
        sent: list[UpstreamLink] = []
        try:
            with deadline.within(limit_s):
                async with asyncio.timeout(limit_s):
                    return await self._attempts(entry, arguments, sent)
        except TimeoutError as error:
            raise _too_late(entry, limit_s, sent=bool(sent)) from error
        except AuthRejected as error:
            hint = f"Ask the operator to run: websearch upstream login {entry.upstream}"
            raise AuthRejected(error.message, provider=SERVICE, hint=hint, diagnostics=error.diagnostics) from error

    async def _attempts(self, entry: CatalogTool, arguments: dict[str, Json], sent: list[UpstreamLink]) -> ToolReply:
        """`sent` holds the links over which the call went out."""
        link = await self.upstreams.link(entry.upstream)
        try:
            sent.append(link)
            return await link.call(entry.tool.name, arguments)
        except Unreachable as error:
            first: WebSearchError = error
            sent.clear()
        except OutcomeUnknown as error:
            if not entry.tool.repeatable:
                raise
            first = error
        try:
            link = await self.upstreams.link(entry.upstream, after=link)
        except WebSearchError:
            raise first from None
        sent.append(link)
        return await link.call(entry.tool.name, arguments)

    async def _told(self, base: CallResult, reply: ToolReply, max_chars: int) -> CallResult:
        """The reply inside the budget; what does not fit can be read on."""
        parts, notes = _parts(reply)
        base = dataclasses.replace(base, parts=parts, notes=notes)
        text = "\n\n".join(_texts(reply))
        room = max_chars - RESERVE_CHARS - budget.json_chars(base)
        structured = fence.clean_json(as_plain(reply.structured))
        as_text = json.dumps(structured, ensure_ascii=False) if structured is not None else ""
        if structured is not None and budget.json_chars(structured) <= room * 2 // 3:
            base = dataclasses.replace(base, structured=structured)
            text = "" if _is_json_of(text, structured) else text
            room -= budget.json_chars(structured)
        elif as_text and not _is_json_of(text, structured):
            text = f"{text}\n\n{as_text}".strip()
        base = await self._cut(base, text, 0, room)
        if reply.failed:
            error = ToolFailed(f"{base.tool} says that it failed", provider=SERVICE, diagnostics={"upstream": base.upstream})
            return outcome.failed(base, error, "call")
        if not (base.content or base.parts or base.structured is not None):
            note = Note(code="reply_empty", text="The tool ran and replied nothing.", provider=SERVICE)
            return dataclasses.replace(base, notes=(*base.notes, note))
        return base

    async def _cut(self, base: CallResult, text: str, start: int, room: int) -> CallResult:
        content, next_start = budget.piece(text, start, room) if text else ("", None)
        result = dataclasses.replace(base, content=content, next_start=next_start, total_chars=len(text))
        if next_start is None or result.reply_id:
            return result
        reply_id = secrets.token_hex(6)
        kept = KeptReply(tool=base.tool, upstream=base.upstream, text=text)
        await self.cache.put(f"reply:{reply_id}", kept, ttl_s=self.rules.keep_s)
        note = Note(
            code="reply_cut",
            text=f"text cut after {next_start} of {len(text)} characters; "
            f"call_tool with reply_id={reply_id} and start={next_start} reads on without running the tool again",
            provider=SERVICE,
        )
        return dataclasses.replace(result, reply_id=reply_id, notes=(*result.notes, note))

    async def _read_on(self, request: CallRequest) -> CallResult:
        kept = await self.cache.get(f"reply:{request.reply_id}", KeptReply)
        base = CallResult(tool=request.tool, reply_id=request.reply_id)
        if kept is None:
            hint = "Call the tool again if running it twice does no harm."
            return outcome.failed(base, UnknownSession("this reply is unknown or has expired", hint=hint), "call")
        base = dataclasses.replace(base, tool=kept.tool, upstream=kept.upstream)
        if request.start >= len(kept.text):
            error = InvalidInput(f"start must be below {len(kept.text)}, the length of the reply")
            return outcome.failed(base, error, "call")
        used, max_chars = RESERVE_CHARS + budget.json_chars(base), request.max_chars
        result = await self._cut(base, kept.text, request.start, max_chars - used)
        while (less := budget.fewer(result, max_chars)) is not None:
            max_chars = less
            result = await self._cut(base, kept.text, request.start, max_chars - used)
        return result


def _too_late(entry: CatalogTool, limit_s: float, *, sent: bool) -> WebSearchError:
    facts = {"upstream": entry.upstream}
    if not sent:
        message = f"{entry.upstream} was not ready within {limit_s:g} s; nothing was sent"
        return OutOfTime(message, provider=SERVICE, hint="Call again in a little while.", diagnostics=facts)
    message = f"{entry.id} did not reply within {limit_s:g} s"
    if entry.tool.repeatable:
        return OutOfTime(message, provider=SERVICE, diagnostics=facts)
    return OutcomeUnknown(f"{message}; it may have been carried out", provider=SERVICE, diagnostics=facts)


def _texts(reply: ToolReply) -> Iterator[str]:
    """The text of a reply; a resource that is text says where it is from."""
    for part in reply.parts:
        text = fence.clean(part.text)
        if part.kind == "text" and text:
            yield text
        elif part.kind == "resource" and text:
            yield f"[{fence.clean(part.uri, limit=500)}]\n{text}"


def _parts(reply: ToolReply) -> tuple[tuple[Part, ...], tuple[Note, ...]]:
    """Everything but text, the data of the first few within bounds, and what was left out."""
    kept: list[Part] = []
    left_out = blocks = 0
    for part in reply.parts:
        if part.kind == "text":
            continue
        blocks += bool(part.data)
        if len(kept) == MAX_PARTS:
            left_out += 1
            continue
        if part.data and (blocks > MAX_BLOCKS or len(part.data) > MAX_DATA_CHARS):
            left_out += 1
            part = dataclasses.replace(part, data="")  # noqa: PLW2901 - the part without what is too much
        kept.append(_shown(part))
    note = Note(
        code="parts_left_out", text=f"{left_out} images, sounds or resources were too many or too large", provider=SERVICE
    )
    return tuple(kept), (note,) if left_out else ()


def _shown(part: Part) -> Part:
    """Without its text, which is in the content, and with texts fit to be shown."""
    return dataclasses.replace(
        part,
        text="" if part.kind == "resource" else fence.clean(part.text, limit=2_000),
        uri=fence.clean(part.uri, limit=2_048),
        title=fence.clean(part.title, limit=300),
        mime_type=fence.clean(part.mime_type, limit=100),
    )


def _is_json_of(text: str, value: Json) -> bool:
    """Whether a text says the same as the structured content beside it, as many servers do for older clients."""
    try:
        return bool(text) and json.loads(text) == value
    except ValueError:
        return False
