"""Outcomes as text for a model or a person: the same facts as the structured content, readable, inside one budget.

Third-party text stands between markers with a value that no page can know, so that it cannot pass for ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from websearch_core import budget, fence
from websearch_core.hub.values import CallResult, FindResult, FoundTool, UpstreamReport, UpstreamStatus
from websearch_core.library import LibraryChange
from websearch_core.outcome import counted
from websearch_core.values import (
    ConfigResult,
    FetchResult,
    LoginReport,
    MapResult,
    Note,
    Outcome,
    PostResult,
    PostSource,
    Report,
    SearchResult,
    Source,
    SourcesResult,
    SwitchResult,
    as_plain,
)

__all__ = ["for_people", "remarks", "text"]


def text(outcome: Outcome, *, max_chars: int = 24_000, nonce: str | None = None, datamarking: bool = False) -> str:
    """A readable rendering, at most `max_chars` long after serialisation; `nonce` marks the fences.

    Whatever a line holds that stands in no fence is on that line alone and cannot look like a marker. `datamarking`: fenced
    text has a sign for each blank, which its marker names.
    """
    nonce = nonce or fence.new_nonce()
    lines = "\n".join(line if fence.is_fence(line, nonce) else fence.inline(line) for line in _lines(outcome, nonce))
    lines = fence.datamarked(lines, nonce) if datamarking else lines
    return budget.within(lambda room: _cut(lines, nonce, room), max_chars)


def _cut(lines: str, nonce: str, max_chars: int) -> str:
    cut, more = budget.piece(lines, 0, max_chars - 120)
    return cut if more is None else f"{fence.closed(cut, nonce)}\n[text cut; the structured content goes on]"


def for_people(outcome: Outcome) -> str:
    """Markdown for a person at a terminal: no fences, what went wrong first."""
    lines = [f"> {line}" for line in _status(outcome)]
    match outcome:
        case SearchResult():
            lines += [outcome.content or outcome.unverified_answer, "", *_numbered(outcome.sources, first=1)]
            lines += [
                "",
                f"session `{outcome.session_id}` · {outcome.search_provider} · {counted(outcome.sources_count, 'source')}",
            ]
        case PostResult():
            lines += [outcome.content, "", *_stated(outcome), "", *_posts(outcome.sources)]
            lines += ["", f"{outcome.search_provider} · {outcome.sources_count} sources · {outcome.quotes_count} quotes"]
        case SourcesResult():
            lines += [*_numbered(outcome.sources, first=outcome.offset + 1), *(["", outcome.content] if outcome.content else [])]
            lines += ["", f"{_place(outcome)}{_on_from(outcome.next_offset)}"]
        case FetchResult():
            read_on = f" · read on with --start {outcome.next_start}" if outcome.next_start is not None else ""
            about = " · ".join(filter(None, (outcome.title, outcome.author, outcome.published)))
            lines += [
                *(f"> {one.number} {one.title} · {one.chars} characters" for one in outcome.outline),
                *([""] if outcome.outline else []),
                outcome.content,
                "",
                *([about] if about else []),
                f"{outcome.final_url} · {outcome.provider} · {outcome.total_chars} characters{read_on}",
            ]
        case MapResult():
            lines += [
                *(f"- {url}" for url in outcome.results),
                "",
                f"{counted(outcome.total, 'page')} · {outcome.provider}{_on_from(outcome.next_offset)}",
            ]
        case LibraryChange():
            lines += [f"- {entry.title or entry.url}: {entry.url} ({entry.chars} characters)" for entry in outcome.entries]
            done = {"added": outcome.added, "unchanged": outcome.skipped, "removed": outcome.removed}
            changes = [f"{count} {what} · " for what, count in done.items()] if any(done.values()) else []
            lines += [*([""] if outcome.entries else []), f"{''.join(changes)}{outcome.total} in all"]
        case Report():
            lines += [f"- **{part.state}** {part.part}: {part.detail}" for part in outcome.parts]
            lines += ["", *(f"- `{one.name}` = {one.value} ({one.origin})" for one in outcome.settings)]
            lines += ["", *(f"- problem: {problem}" for problem in outcome.problems)]
            lines += ["", " · ".join(f"{name} {version}" for name, version in outcome.versions.items())]
        case LoginReport():
            lines += [f"{outcome.detail}{f' ({outcome.account})' if outcome.account else ''}"]
            lines += ["", f"kept in {outcome.file}"] if outcome.signed_in else []
        case UpstreamReport():
            lines += list(_upstreams(outcome))
        case SwitchResult():
            lines += [f"model: {outcome.previous_model} → {outcome.current_model}, kept in {outcome.config_file}"]
        case _:
            lines += list(_lines(outcome, ""))
    lines += [f"> {_note(note)}" for note in outcome.notes]
    return fence.clean("\n".join(lines))


def _note(note: Note) -> str:
    return f"note {note.code}{f' ({note.provider})' if note.provider else ''}: {note.text}"


def _on_from(offset: int | None) -> str:
    return "" if offset is None else f" · read on with --offset {offset}"


def remarks(outcome: Outcome) -> list[str]:
    """What a person is told beside an error: its notes, and the sections that may have been meant."""
    outlined = outcome.outline if isinstance(outcome, FetchResult) else ()
    told = [_note(note) for note in outcome.notes]
    return [fence.inline(line) for line in (*told, *(f"section {one.number} {one.title}" for one in outlined))]


def _numbered(sources: tuple[Source, ...], *, first: int) -> list[str]:
    return [
        f"{number}. [{source.title or source.url}]({source.url}) {source.published}"
        for number, source in enumerate(sources, first)
    ]


def _lines(outcome: Outcome, nonce: str) -> Iterator[str]:
    yield from _status(outcome)
    match outcome:
        case SearchResult():
            yield from _search(outcome, nonce)
        case PostResult():
            yield from _quoted(outcome, nonce)
        case SourcesResult():
            yield from _sources(outcome, nonce)
        case FetchResult():
            yield from _fetch(outcome, nonce)
        case MapResult():
            yield from _map(outcome, nonce)
        case ConfigResult():
            yield from (f"{name}: {value}" for name, value in {**outcome.configuration, **outcome.connection_test}.items())
        case FindResult():
            yield from _tools(outcome, nonce)
        case CallResult():
            yield from _reply(outcome, nonce)
        case SwitchResult(status="error"):
            pass
        case SwitchResult():
            yield f"model: {outcome.previous_model} → {outcome.current_model}"
        case Report():
            yield from (f"{health.state:8} {health.part}: {health.detail}" for health in outcome.parts)
        case _:
            yield from (f"{name}: {value}" for name, value in dict(as_plain(outcome)).items())  # type: ignore[arg-type]
    yield from map(_note, outcome.notes)


def _status(outcome: Outcome) -> Iterator[str]:
    if outcome.error_detail is not None:
        detail = outcome.error_detail
        yield f"{outcome.status}: {detail.code} ({detail.service}): {detail.message}"
        for attempt in _attempts(outcome):
            yield f"- {attempt}"
    if outcome.next_action:
        yield f"next: {outcome.next_action}"


def _attempts(outcome: Outcome) -> Iterator[str]:
    attempts = outcome.error_detail.diagnostics.get("attempts", ()) if outcome.error_detail else ()
    for attempt in attempts if isinstance(attempts, list) else ():
        yield f"{attempt['service'] or 'search'}: {attempt['code']}: {attempt['message']}"


def _search(result: SearchResult, nonce: str) -> Iterator[str]:
    if result.content:
        yield fence.fenced(result.content, origin=result.search_provider, nonce=nonce)
    if result.unverified_answer:
        yield "unverified, no search was seen:"
        yield fence.fenced(result.unverified_answer, origin="unverified", nonce=nonce)
    if result.status == "error" and not result.sources_count:
        return
    yield f"session_id: {result.session_id}; provider: {result.search_provider or 'none'}; sources: {result.sources_count}"
    yield from _listed(result.sources, nonce, first=1)
    if result.next_offset is not None:
        yield f"more sources: get_sources with offset={result.next_offset}"


def _quoted(result: PostResult, nonce: str) -> Iterator[str]:
    """Sources first, so that a cut never takes them before the text."""
    if result.no_matches:
        yield "the search ran and names no post"
    if result.sources:
        yield f"sources ({result.sources_count}):"
        yield from _posts(result.sources)
    for quote in result.quotes:
        yield f"quote, {quote.state}: {quote.url}"
        yield fence.fenced(quote.text, origin=quote.url, nonce=nonce)
    if result.content:
        yield "answer:"
        yield fence.fenced(result.content, origin=result.search_provider, nonce=nonce)
    yield f"session_id: {result.session_id}"
    if result.next_offset is not None:
        yield f"more sources: get_sources with offset={result.next_offset}"
    if result.next_start is not None:
        yield f"more text: get_sources with start={result.next_start}"


def _posts(sources: tuple[PostSource, ...]) -> list[str]:
    facts = [", ".join(fact for fact in (source.handle and f"@{source.handle}", source.published) if fact) for source in sources]
    return [
        f"{number}. {fence.clean(source.url)}{f' ({fact})' if fact else ''}"
        for number, (source, fact) in enumerate(zip(sources, facts, strict=True), 1)
    ]


def _stated(result: PostResult) -> list[str]:
    """For people: how many quotes are supported by what, and which by nothing."""
    counted = [(state, sum(quote.state == state for quote in result.quotes)) for state in ("verified", "listed", "unlisted")]
    told = ", ".join(f"{count} {state}" for state, count in counted if count)
    doubtful = [f"- unlisted: {quote.url}" for quote in result.quotes if quote.state == "unlisted"]
    return [f"Quotes: {told}", *doubtful] if told else []


def _sources(result: SourcesResult, nonce: str) -> Iterator[str]:
    if result.sources or result.status != "error":
        yield _place(result)
    yield from _listed(result.sources, nonce, first=result.offset + 1)
    if result.content:
        yield fence.fenced(result.content, origin="answer", nonce=nonce)
    if result.next_start is not None:
        yield f"more text: get_sources with start={result.next_start}"
    if result.next_offset is not None:
        yield f"more sources: get_sources with offset={result.next_offset}"


def _place(result: SourcesResult) -> str:
    if not result.sources:
        return f"no sources from offset={result.offset}; {result.total_sources} in all"
    return f"sources {result.offset + 1}-{result.offset + len(result.sources)} of {result.total_sources}"


def _fetch(result: FetchResult, nonce: str) -> Iterator[str]:
    if result.content:
        yield f"{result.kind} page, read by {result.provider}, {result.total_chars} characters"
        yield from _outlined(result, nonce)
        head = [result.title, " · ".join(filter(None, (result.author, result.published)))] if not result.start else []
        yield fence.fenced(
            "\n\n".join([*filter(None, head), result.content]),
            origin=result.final_url or result.url,
            nonce=nonce,
        )
    else:
        yield f"url: {result.url}"
        yield from _outlined(result, nonce)


def _outlined(result: FetchResult, nonce: str) -> Iterator[str]:
    if result.outline:
        lines = (f"{one.number} {one.title} (start {one.start}, {one.chars} characters)" for one in result.outline)
        yield fence.fenced("\n".join(["Outline", *lines]), origin=result.final_url or result.url, nonce=nonce)


def _map(result: MapResult, nonce: str) -> Iterator[str]:
    if result.status == "error" and not result.total:
        yield f"url: {result.base_url}"
        return
    yield f"{result.base_url}: {counted(result.total, 'page')}" + (f", mapped by {result.provider}" if result.provider else "")
    if result.results:
        yield fence.fenced("\n".join(map(fence.inline, result.results)), origin=result.base_url, nonce=nonce)


def _tools(result: FindResult, nonce: str) -> Iterator[str]:
    yield f"{result.total} of {result.searched} tools fit"
    for tool in result.tools:
        yield f"- {tool.id}" + (f" ({tool.upstream} is {tool.state})" if tool.state else "")
        yield fence.fenced(_card(tool), origin=tool.upstream, nonce=nonce)
    if result.tools:
        yield "run one with call_tool"
    if result.next_offset is not None:
        yield f"more tools: find_tools with offset={result.next_offset}"


def _upstreams(report: UpstreamReport) -> Iterator[str]:
    yield from (f"- problem: {problem}" for problem in report.problems)
    for entry in report.entries:
        off = "" if entry.enabled else " · disabled"
        yield f"- **{entry.name}** {entry.transport}{off}: {entry.target} · {entry.file}"
    yield from (f"- **{status.name}** {_state(status)}" for status in report.statuses)
    for tool in report.tools:
        yield f"**{tool.id}** is {tool.standing.replace('_', ' ')}"
        yield from (f"- {step}" for step in tool.steps)
    yield from (f"    {line}" for line in report.log)
    if report.detail:
        yield report.detail


def _state(status: UpstreamStatus) -> str:
    facts = [f"{status.state} ({status.reason})" if status.reason else status.state, status.detail]
    facts += [
        f"{status.tools} tools" if status.state == "ready" else "",
        f"log in: {status.login_url}" if status.login_url else "",
    ]
    return " · ".join(fact for fact in facts if fact)


def _card(tool: FoundTool) -> str:
    """What an upstream says of its tool."""
    schema = json.dumps(as_plain(tool.input_schema), ensure_ascii=False, separators=(",", ":"))
    words = [f"named {tool.name!r}" if tool.name else "", tool.title, tool.description]
    return "\n".join([*(one for one in words if one), f"input_schema: {schema}"])


def _reply(result: CallResult, nonce: str) -> Iterator[str]:
    if result.content:
        yield fence.fenced(result.content, origin=result.tool, nonce=nonce)
    if result.structured is not None:
        text = json.dumps(as_plain(result.structured), ensure_ascii=False, separators=(",", ":"))
        yield fence.fenced(text, origin=f"{result.tool} structured", nonce=nonce)
    for part in result.parts:
        facts = ", ".join(fact for fact in (part.mime_type, f"{part.size_bytes} bytes" if part.size_bytes else "") if fact)
        yield f"{part.kind} ({facts})" if facts else part.kind
        words = "\n".join(word for word in (part.title, part.text, part.uri) if word)
        if words:
            yield fence.fenced(words, origin=result.tool, nonce=nonce)
    if result.next_start is not None:
        yield f"more text: call_tool with reply_id={result.reply_id} and start={result.next_start}"


def _listed(sources: tuple[Source, ...], nonce: str, *, first: int) -> Iterator[str]:
    for number, source in enumerate(sources, first):
        facts = ", ".join(fact for fact in (source.provider, source.published, source.evidence) if fact)
        yield f"[{number}] {source.url} ({facts})"
        body = "\n".join(part for part in (source.title, source.content or source.description) if part)
        if body:
            yield fence.fenced(body, origin=source.url, nonce=nonce)
