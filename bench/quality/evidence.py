"""How far the check of citations can be trusted: true and false claims against pages read by the product.

`python bench/quality/evidence.py` prints the section of `bench/results.md`. Each claim is held against the pages around its
question. A page says a claim when it states this value of this very subject, in the claim's words or in the other ones that the
web knows. Beside the pages of the web there are sentences that hold all of a claim's words and yet do not say it: denials,
rumours, plans, and the same said of a namesake.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from quality import metrics  # noqa: E402 - the path comes first
from quality.host import running  # noqa: E402
from quality.phrases import TOPICS  # noqa: E402
from quality.product import installed  # noqa: E402
from quality.web import Document, Question, World, build  # noqa: E402
from websearch_core.errors import WebSearchError  # noqa: E402
from websearch_core.evidence import ReadPage  # noqa: E402
from websearch_core.ports import Extractor  # noqa: E402
from websearch_core.values import Evidence, FetchRequest  # noqa: E402

__all__ = ["evidence_false_quotes", "evidence_precision"]

SEED, QUESTIONS, AT_ONCE = 11, 90, 6
ROLES = ("official", "press", "forum", "old", "rumour", "namesake", "background", "refused")
TURNS = {
    "en": ("It is not true that {f}.", "According to a rumour, {f}.", "It was expected that {f}.", "Unlike {s}, {n}"),
    "de": ("Es ist falsch, dass gilt: {f}.", "Angeblich: {f}.", "Geplant war: {f}.", "Anders als {s}: {n}"),
    "fr": ("Il est faux que {f}.", "Fausse nouvelle : {f}.", "Il était prévu que {f}.", "Contrairement à {s} : {n}"),
    "es": ("Es falso que {f}.", "Según una noticia falsa, {f}.", "Estaba previsto que {f}.", "A diferencia de {s}: {n}"),
    "zh": ("有谣言称{f}。", "{f}的说法没有根据。", "预计{f}。", "与{s}不同，{n}"),
    "ja": ("{f}という情報は誤りである。", "{f}という事実はない。", "{f}という予定である。", "{s}とは違い、{n}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One claim against one page."""

    language: str
    role: str
    said: bool
    """Whether the page says it."""
    verbatim: bool
    """Whether it says it in these words."""
    against: bool
    """Whether it gives the same subject another value."""
    state: Evidence


def evidence_precision() -> float:
    """Share of `quoted` that is right."""
    return round(metrics.interval([float(one.said) for one in verdicts() if one.state == "quoted"]).mean, 4)


def evidence_false_quotes() -> float:
    """Decoys that count as `quoted`."""
    return float(sum(one.state == "quoted" and not one.said for one in verdicts()))


@cache
def verdicts() -> tuple[Verdict, ...]:
    """Every claim against every page around its question."""
    world = build(SEED, QUESTIONS)
    return tuple(asyncio.run(_judged(world)))  # noqa: TID251 - an entry point


async def _judged(world: World) -> list[Verdict]:
    found: list[Verdict] = []
    with running(world) as (base, _):
        async with installed(base) as box:
            pages = await _read(world, box.resolve(Extractor))
    for question in world.questions:
        for document in _around(world, question):
            page = pages.get(document.url)
            found += [_verdict(question, claim, document, page) for claim in _claims(question)]
        found += list(_turned(question))
    return found


async def _read(world: World, extractor: Extractor) -> dict[str, ReadPage]:
    gate = asyncio.Semaphore(AT_ONCE)
    wanted = [document for question in world.questions for document in _around(world, question)]

    async def one(document: Document) -> tuple[str, ReadPage | None]:
        async with gate:
            try:
                page = await extractor.extract(FetchRequest(url=document.url))
            except WebSearchError:
                return document.url, None
        return document.url, ReadPage(page.text, title=page.title) if page else None

    return {url: page for url, page in await asyncio.gather(*map(one, wanted)) if page}


@cache
def _by_question(world_seed: int, questions: int) -> dict[int, list[Document]]:
    found: dict[int, list[Document]] = {}
    for document in build(world_seed, questions).documents.values():
        if document.role in ROLES:
            found.setdefault(document.question, []).append(document)
    return found


def _around(_: World, question: Question) -> list[Document]:
    return _by_question(SEED, QUESTIONS)[question.number]


def _claims(question: Question) -> Iterator[str]:
    yield from question.sentences
    yield from question.false_sentences


def _verdict(question: Question, claim: str, document: Document, page: ReadPage | None) -> Verdict:
    told = _told(question, claim)
    held = [_told(question, sentence) for sentence in document.sentences]
    said = told in held
    return Verdict(
        language=question.language,
        role=document.role,
        said=said,
        verbatim=claim in document.sentences,
        against=any(one and told and one[0] == told[0] and one[1] != told[1] for one in held),
        state=page.on(claim).state if page else "unreachable",
    )


@cache
def _known(question: Question) -> dict[str, tuple[str, str]]:
    """Every sentence of the question's subject and its namesake with any of its values → subject and value."""
    facts = next(topic.facts for topic in TOPICS[question.language] if topic.kind == question.kind)
    namesake = _namesake(question)
    return {
        fact.format(s=subject, v=value): (subject, value)
        for fact in facts
        for subject in (question.subject, namesake)
        for value in (question.answer, *question.wrong)
    }


def _told(question: Question, sentence: str) -> tuple[str, str] | None:
    return _known(question).get(sentence)


@cache
def _namesake(question: Question) -> str:
    """The subject of the last false sentence, which is told of a namesake."""
    facts = next(topic.facts for topic in TOPICS[question.language] if topic.kind == question.kind)
    before, _, rest = facts[1].format(s="\0", v=question.answer).partition("\0")
    return question.false_sentences[-1].removeprefix(before).removesuffix(rest)


def _turned(question: Question) -> Iterator[Verdict]:
    """The claim against a page that has its words and does not say it."""
    stop = question.sentences[0][-1]
    bare = question.sentences[0].removesuffix(stop)
    of_namesake = question.sentences[0].replace(question.subject, _namesake(question))
    for pattern in TURNS[question.language]:
        page = ReadPage(pattern.format(f=bare, s=question.subject, n=of_namesake), title=question.subject)
        state = page.on(question.sentences[0]).state
        yield Verdict(language=question.language, role="turned", said=False, verbatim=False, against=False, state=state)


def main() -> None:
    """Print the section."""
    found = verdicts()
    decoys = [one for one in found if not one.said]
    print(f"{len(found)} verdicts, {len(decoys)} of them on pages that do not say the claim")
    right = [float(one.said) for one in found if one.state == "quoted"]
    supported = [float(one.said) for one in found if one.state == "supports"]
    against = [float(one.against) for one in found if one.state == "contradicted"]
    verbatim = [float(one.state == "quoted") for one in found if one.verbatim and one.state != "unreachable"]
    other = [one for one in found if one.said and not one.verbatim and one.state != "unreachable"]
    reworded = [float(one.state in {"quoted", "supports"}) for one in other]
    print(f"| `quoted` that is right | {len(right)} | {metrics.interval(right)} |")
    print(f"| false `quoted` on decoys | {len(decoys)} | {sum(one.state == 'quoted' for one in decoys)} |")
    print(f"| `supports` that is right | {len(supported)} | {metrics.interval(supported)} |")
    print(f"| `contradicted` that is right | {len(against)} | {metrics.interval(against)} |")
    print(f"| said word for word and `quoted` | {len(verbatim)} | {metrics.interval(verbatim)} |")
    print(f"| said in other words and found | {len(reworded)} | {metrics.interval(reworded)} |")
    for language in dict.fromkeys(one.language for one in found):
        mine = [one for one in found if one.language == language]
        print(language, dict(Counter(("said" if one.said else "decoy", one.state) for one in mine)))
    print("turned", dict(Counter((one.language, one.state) for one in found if one.role == "turned")))


if __name__ == "__main__":
    main()
