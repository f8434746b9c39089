"""What it brings to give the engine the finders' pages: the same questions with `search.feed` off and on.

`python bench/quality/feeding.py [QUESTIONS]` prints the table. The engine is the reader of `stand_in`: without pages it looks at
the first five snippets of its own search, which is the finder's order; with them at what it is given, and at nothing else.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from quality import metrics  # noqa: E402 - the path comes first
from quality.host import GeneratedWeb, running  # noqa: E402
from quality.product import installed  # noqa: E402
from quality.stand_in import Reply, answered, is_right  # noqa: E402
from quality.web import Question, build  # noqa: E402
from websearch_core import citations  # noqa: E402
from websearch_core.search import Search  # noqa: E402
from websearch_core.values import SearchQuery, SearchResult  # noqa: E402

SEED = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One question answered."""

    right: bool
    answered: bool
    cited_right: bool
    """Whether the page that is cited is one that answers."""
    tokens: int
    """Of the message to the engine."""


async def runs(count: int, **environ: str) -> list[Run]:
    """The first questions of the web, answered by the product with this environment."""
    world = build(SEED)
    found: list[Run] = []
    with running(world) as (base, app):
        async with installed(base, engine=True, WEBSEARCH_SEARCH_CANDIDATES="20", **environ) as box:
            search = box.resolve(Search)
            for question in world.questions[:count]:
                result = await search(SearchQuery(query=question.text, extra_sources=5))
                found.append(_run(question, result, app))
    return found


def _run(question: Question, result: SearchResult, app: GeneratedWeb) -> Run:
    reply: Reply = answered(question, result.content)
    cited = [app.world.of(url) for _, _, _, url in citations.links(result.content)]
    return Run(
        right=is_right(question, reply),
        answered=bool(reply.value),
        cited_right=any(page is not None and page.question == question.number and page.grade > 0 for page in cited),
        tokens=metrics.tokens(app.prompts[-1]),
    )


async def _both(count: int) -> None:
    print("| `search.feed` | right | wrong | cited page answers, of answers | tokens to the engine | tokens per right answer |")
    print("| --- | --- | --- | --- | ---: | ---: |")
    for name, value in (("off", "false"), ("on", "true")):
        done = await runs(count, WEBSEARCH_SEARCH_FEED=value)
        right = metrics.interval([float(one.right) for one in done])
        wrong = metrics.interval([float(one.answered and not one.right) for one in done])
        cited = metrics.interval([float(one.cited_right) for one in done if one.answered] or [0.0])
        spent = sum(one.tokens for one in done)
        per_right = spent / max(sum(one.right for one in done), 1)
        print(f"| {name} | {right} | {wrong} | {cited} | {spent / len(done):.0f} | {per_right:.0f} |", flush=True)


if __name__ == "__main__":
    asyncio.run(_both(int(sys.argv[1]) if len(sys.argv) > 1 else 180))  # noqa: TID251 - an entry point
