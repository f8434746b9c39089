"""The product beside two programs of the same kind, on one generated web, with one finder, in one run.

`python bench/quality/neighbours.py --kit PYTHON --plus PYTHON [--questions N]` prints the table of `bench/results.md`. PYTHON is
an interpreter that has websearch-kit 0.40.1, or web-search-plus-mcp 5.1.2, installed; without one the run fails. Each program is
asked by its own Python interface for ten sources with their texts, and what it hands to a model is measured.

- websearch-kit reads pages through the same loopback proxy as the product.
- web-search-plus-mcp reads by a service; it gets a Firecrawl-shaped one that reads every page without fault. Its search and its
  extraction of the first five pages with semantic spans are taken together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SEED, SOURCES, READ, MAX_CHARS = 11, 10, 5, 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What a model is handed for one question."""

    urls: list[str]
    """The sources, in order."""
    text: str


# --- inside the neighbours' interpreters: nothing of ours can be imported there -----------------------------------


async def _kit(base: str, questions: list[str]) -> list[dict[str, Any]]:
    from websearch_kit import SearchKit

    names = {"provider": "searxng", "searxng_base_url": base, "proxy_url": base, "expander": "noop"}
    async with SearchKit(**names, allow_private_ips=True, allowed_hosts=[".example", "127.0.0.1"]) as kit:
        reports = [await kit.research(question, count=SOURCES) for question in questions]
    return [{"urls": [source.url for source in report.sources], "text": report.context} for report in reports]


async def _plus(_: str, questions: list[str]) -> list[dict[str, Any]]:
    from web_search_plus_mcp import server

    done = []
    for question in questions:
        asked = {"query": question, "provider": "searxng", "count": SOURCES, "no_cache": True}
        found = json.loads((await server.call_tool("web_search", asked))[0].text)
        urls = [result["url"] for result in found.get("results", [])]
        wanted = {"urls": urls[:READ], "provider": "firecrawl", "spans": True, "spans_query": question}
        read = (await server.call_tool("web_extract", wanted))[0].text if urls else ""
        done.append({"urls": urls, "text": json.dumps(found, ensure_ascii=False) + "\n" + _plain(read)})
    return done


def _plain(text: str) -> str:
    """JSON with its escapes undone, so that nobody is charged for them."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def _inside(name: str, base: str) -> None:
    questions = json.loads(sys.stdin.read())
    run = {"kit": _kit, "plus": _plus}[name]
    print("\x1e" + json.dumps(asyncio.run(run(base, questions))))  # noqa: TID251 - an entry point


# --- outside ------------------------------------------------------------------------------------------------------


def _asked(name: str, python: str, base: str, questions: list[str]) -> list[Handed]:
    with tempfile.TemporaryDirectory() as home:
        config = Path(home, "config.json")
        config.write_text(json.dumps({"firecrawl": {"scrape_url": f"{base}/v2/scrape"}, "extract": {"allow_private_urls": True}}))
        own = {"SEARXNG_INSTANCE_URL": base, "SEARXNG_ALLOW_PRIVATE": "1", "FIRECRAWL_API_KEY": "fc-generated-web"}
        env = {**os.environ, **own, "HOME": home, "WEB_SEARCH_PLUS_CONFIG": str(config)}
        command = [python, __file__, "--inside", name, base]
        done = subprocess.run(
            command, input=json.dumps(questions), env=env, cwd=home, capture_output=True, text=True, check=False
        )
    if done.returncode or "\x1e" not in done.stdout:
        raise SystemExit(f"{name} did not run with {python}:\n{done.stderr[-2_000:]}")
    return [Handed(**one) for one in json.loads(done.stdout.rpartition("\x1e")[2])]


async def _product(base: str, questions: list[str]) -> list[Handed]:
    from quality.product import installed
    from websearch_core.search import Search
    from websearch_core.values import SearchQuery
    from websearch_mcp import render

    wanted = {"WEBSEARCH_SEARCH_INLINE_SOURCES": str(SOURCES), "WEBSEARCH_SEARCH_CANDIDATES": "20"}
    handed = []
    async with installed(base, **wanted) as box:
        search = box.resolve(Search)
        for question in questions:
            query = SearchQuery(query=question, include_content=True, extra_sources=SOURCES, max_chars=MAX_CHARS)
            result = await search(query)
            text = render.text(result, max_chars=MAX_CHARS)
            handed.append(Handed(urls=[source.url for source in result.sources], text=text))
    return handed


def _rows(world: Any, runs: dict[str, list[Handed]]) -> Iterator[str]:
    from quality import metrics
    from quality.stand_in import answered, is_right

    questions = world.questions[: len(next(iter(runs.values())))]
    yield "| program | span recall | nDCG@10 | duplicates in ten | right | wrong | tokens | tokens per right answer |"
    yield "| --- | --- | --- | --- | --- | --- | ---: | --- |"
    for name, handed in runs.items():
        pages = [[world.of(url) for url in one.urls] for one in handed]
        pairs = list(zip(questions, handed, strict=True))
        spans = [float(any(_flat(sentence) in _flat(one.text) for sentence in question.sentences)) for question, one in pairs]
        gains = [metrics.ndcg(listed, question, world) for listed, question in zip(pages, questions, strict=True)]
        doubles = [metrics.duplicate_rate(listed) for listed in pages]
        replies = [answered(question, one.text) for question, one in pairs]
        right = [float(is_right(question, reply)) for question, reply in zip(questions, replies, strict=True)]
        wrong = [float(bool(reply.value)) - good for reply, good in zip(replies, right, strict=True)]
        spent = [metrics.tokens(one.text) for one in handed]
        cells = [metrics.interval(column) for column in (spans, gains, doubles, right, wrong)]
        each = metrics.ratio([float(count) for count in spent], right)
        costs = f"{sum(spent) / len(spent):.0f} | {each.mean:.0f} ({each.low:.0f} to {each.high:.0f})"
        yield f"| {name} | {' | '.join(map(str, cells))} | {costs} |"


def _flat(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


def main() -> None:
    """Run all three and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kit", required=True, metavar="PYTHON")
    parser.add_argument("--plus", required=True, metavar="PYTHON")
    parser.add_argument("--questions", type=int, default=180)
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
    from quality.host import running
    from quality.web import build

    world = build(SEED)
    texts = [question.text for question in world.questions[: options.questions]]
    with running(world) as (base, _):
        runs = {"websearch": asyncio.run(_product(base, texts))}  # noqa: TID251 - an entry point
        runs["websearch-kit 0.40.1"] = _asked("kit", options.kit, base, texts)
        runs["web-search-plus-mcp 5.1.2"] = _asked("plus", options.plus, base, texts)
    print(*_rows(world, runs), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).parent]
        _inside(*sys.argv[2:4])
    else:
        main()
