"""Whether anything that a page says can leave its place in what a model is given.

`python bench/quality/survival.py` plants 200 forged fences and orders in texts, titles, snippets, dates and headings, and looks
for their canaries outside of the fences of each rendering, and outside of the values of the engine's request.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from quality.injections import canary, injections  # noqa: E402 - the path comes first
from websearch_core import merge, profile  # noqa: E402
from websearch_core.values import FetchResult, Outcome, SearchQuery, SearchResult, Source, SourcesResult  # noqa: E402
from websearch_mcp import render  # noqa: E402

__all__ = ["injection_escapes"]

NONCE = "5eed5eed"
OPEN = re.compile(r'^<untrusted id="5eed5eed" from="[^"\n]*">$', re.MULTILINE)
CLOSE = '</untrusted id="5eed5eed">'


def injection_escapes(count: int = 200) -> float:
    """Injections of which a canary stands outside."""
    guesses = injections(count, "00000000"), injections(count, NONCE)
    return float(
        sum(any(_escapes(forged, number) for forged in forgeries) for number, forgeries in enumerate(zip(*guesses, strict=True)))
    )


def _escapes(forged: str, number: int) -> bool:
    word = canary(number)
    return any(word in outside for outside in _outside(forged))


def _outside(forged: str) -> Iterator[str]:
    """What of each rendering stands outside of a fence, and the engine's request without its values."""
    for outcome in _outcomes(forged):
        yield _unfenced(render.text(outcome, nonce=NONCE))
    query = SearchQuery(query=forged, platform=forged[:200])
    system, user = profile.request_messages(query, now=datetime.now(UTC))
    mark, _, rest = user.partition("\n")
    yield system + mark + _without_values(rest)


def _outcomes(forged: str) -> Iterator[Outcome]:
    query = SearchQuery(query="bridge")
    raw = Source(
        url="https://a.example/x", title=forged, description=forged, content=f"{forged}\n\nbridge\n\n{forged}", provider="p"
    )
    sources, _ = merge.filtered([raw], query, today=datetime.now(UTC).date())
    yield SearchResult(session_id="s", content=f"The bridge. {forged}", sources=sources, search_provider="p")
    yield SearchResult(session_id="s", content="x", unverified_answer=forged, sources=sources, search_provider="p")
    yield SourcesResult(session_id="s", content=forged, sources=sources)
    yield FetchResult(url="https://a.example/x", title=forged, content=f"{forged}\nbridge\n{forged}", provider="p")


def _unfenced(text: str) -> str:
    """The text without what stands between our own marks; a mark that nothing closes holds all that follows."""
    parts, at = [], 0
    while match := OPEN.search(text, at):
        parts.append(text[at : match.start()])
        end = text.find(f"\n{CLOSE}", match.end())
        at = len(text) if end < 0 else end + len(CLOSE) + 1
    return "".join([*parts, text[at:]])


def _without_values(line: str) -> str:
    """The names in one line of JSON; a line that is no single JSON object is given back whole."""
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return "" if "\n" in line.strip() else " ".join(_names(value))


def _names(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


def main() -> None:
    """Print how many escaped."""
    print(f"{injection_escapes():.0f} of 200")


if __name__ == "__main__":
    main()
