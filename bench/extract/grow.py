"""Grows the forest that scores blocks of text, from the development pages of WCXB; writes the reader's `weights.json`.

    python bench/extract/grow.py WCXB [--check] [--out src/websearch_adapters/extract/weights.json]

WCXB is a clone of Murrough-Foley/web-content-extraction-benchmark (CC BY 4.0); only its folder `dev` is read. Needs lightgbm and
numpy. A block counts as content by the share of its words that stand, in runs of four, in the page's true text. Class words are
weighed on other sites than those they are used on. `--check` grows without one fifth of the sites and scores that fifth instead.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import lightgbm
import numpy as np

from websearch_adapters.extract import content, features, forest, markup, metadata, names, rules
from websearch_adapters.extract.survey import Survey

FOLDS = 5
TREES, LEAVES, RATE = 28, 24, 0.2
LEAST_PAGES = 8
"""Pages on which a class word must stand to be weighed."""
LEAST_WEIGHT = 0.6
MAX_BLOCK_WEIGHT = 300.0
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Sample:
    """A page, its boxes, and how much of each is content."""

    fold: int
    survey: Survey
    verdict: rules.Verdict
    facts: list[float]
    title: str
    words: list[int]
    share: list[float]
    spoken: dict[str, float]
    """Class word → share of the text under it that is content."""
    truth: Counter[str]


def samples(folder: Path) -> list[Sample]:
    """Every development page that can be parsed."""
    found = []
    for path in sorted((folder / "dev" / "ground-truth").glob("*.json")):
        about = json.loads(path.read_text("utf-8"))
        html = gzip.decompress((folder / "dev" / "html" / f"{path.stem}.html.gz").read_bytes()).decode("utf-8", "replace")
        sample = _sample(html, about.get("url") or "", about["ground_truth"].get("main_content") or "")
        if sample is not None:
            found.append(sample)
    return found


def _sample(html: str, url: str, truth: str) -> Sample | None:
    root = markup.parse(html)
    if root is None:
        return None
    about = metadata.of_page(root)
    survey = Survey(content.stripped(root))
    kind = content.kind_of(root, survey, about, url)
    verdict = rules.judge(survey, article=kind.layout == "article", forum=kind.layout == "forum")
    said = _WORD.findall(truth.lower())
    runs = {tuple(said[at : at + 4]) for at in range(len(said) - 3)}
    joined = f" {' '.join(said)} "
    marked = [_marked(_WORD.findall(text.lower()), runs, joined) for text in survey.own]
    words, share = [count for count, _ in marked], [part for _, part in marked]
    fold = zlib.crc32(urlsplit(url).netloc.encode()) % FOLDS
    spoken = _spoken(survey, words, share)
    return Sample(fold, survey, verdict, kind.facts, about.title, words, share, spoken, Counter(said))


def _marked(words: list[str], runs: set[tuple[str, ...]], joined: str) -> tuple[int, float]:
    """How many words, and which share of them is content."""
    if len(words) < 4:
        return len(words), float(bool(words) and f" {' '.join(words)} " in joined)
    hit = bytearray(len(words))
    for at in range(len(words) - 3):
        if tuple(words[at : at + 4]) in runs:
            hit[at : at + 4] = b"\1\1\1\1"
    return len(words), sum(hit) / len(words)


def _spoken(survey: Survey, words: list[int], share: list[float]) -> dict[str, float]:
    kept = [count * part for count, part in zip(words, share, strict=True)]
    total = list(words)
    for box in range(len(total) - 1, 0, -1):
        kept[survey.parent[box]] += kept[box]
        total[survey.parent[box]] += total[box]
    good, all_words = Counter[str](), Counter[str]()
    for box, name in enumerate(survey.names):
        for word in names.parts_of(name) if total[box] else ():
            good[word] += kept[box]  # type: ignore[assignment]
            all_words[word] += total[box]
    return {word: good[word] / count for word, count in all_words.items()}


def weigh(pages: list[Sample]) -> dict[str, float]:
    """Class word → logarithm of the odds that text under it is content; weak and rare words are left out."""
    good, count = Counter[str](), Counter[str]()
    for page in pages:
        for word, share in page.spoken.items():
            good[word] += share  # type: ignore[assignment]
            count[word] += 1
    odds = {word: math.log((good[word] + 0.6) / (pages_with - good[word] + 0.6)) for word, pages_with in count.items()}
    return {
        word: round(max(-3.0, min(3.0, value)), 1)
        for word, value in sorted(odds.items())
        if count[word] >= LEAST_PAGES and abs(value) > LEAST_WEIGHT
    }


def rows_of(page: Sample, weights: dict[str, float]) -> tuple[list[int], list[list[float]]]:
    """The feature rows of a page under these weights of class words."""
    survey = page.survey
    for box, name in enumerate(survey.names):
        found = [weights[word] for word in names.parts_of(name) if word in weights]
        low, high = min(0.0, *found, 0.0), max(0.0, *found, 0.0)
        above = survey.parent[box]
        survey.low[box] = min(low, survey.low[above]) if above >= 0 else low
        survey.high[box] = max(high, survey.high[above]) if above >= 0 else high
        survey.score[box] = low + high + (survey.score[above] if above >= 0 else 0.0)
    blocks, rows, page_facts = features.rows(survey, page.verdict, page.facts, page.title)
    return blocks, [row + page_facts for row in rows]


def grow(pages: list[Sample], every: list[Sample]) -> lightgbm.Booster:
    """A forest on `pages`, class words weighed on the other folds of `every`."""
    weights = {fold: weigh([page for page in every if page.fold != fold]) for fold in range(FOLDS)}
    table: list[list[float]] = []
    labels: list[float] = []
    importance: list[float] = []
    for page in pages:
        blocks, rows = rows_of(page, weights[page.fold])
        size = max(200, sum(page.words[box] for box in blocks)) / 1_000
        table += rows
        labels += [page.share[box] for box in blocks]
        importance += [min(MAX_BLOCK_WEIGHT, page.words[box] / size) for box in blocks]
    settings = {
        "objective": "cross_entropy", "num_leaves": LEAVES, "learning_rate": RATE, "min_data_in_leaf": 40,
        "feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 5, "max_bin": 63,
        "force_col_wise": True, "num_threads": 1, "seed": 1, "verbose": -1,
    }  # fmt: skip
    data = lightgbm.Dataset(np.array(table, dtype=np.float32), np.array(labels), weight=np.array(importance))
    return lightgbm.train(settings, data, TREES)


def as_lists(node: dict[str, Any]) -> Any:
    """A tree as `forest` reads it."""
    if "leaf_value" in node:
        return round(node["leaf_value"], 3)
    most = float(f"{node['threshold']:.4g}")
    return [node["split_feature"], most, as_lists(node["left_child"]), as_lists(node["right_child"])]


def checked(pages: list[Sample]) -> float:
    """Mean word F1 of fold 0, grown on the others; blocks kept from a likelihood of 0.4 on."""
    known = [page for page in pages if page.fold]
    booster = grow(known, known)
    weights = weigh(known)
    scores = [_word_f1(page, booster, weights) for page in pages if not page.fold]
    return sum(scores) / len(scores)


def _word_f1(page: Sample, booster: lightgbm.Booster, weights: dict[str, float]) -> float:
    blocks, rows = rows_of(page, weights)
    likely = booster.predict(np.array(rows, dtype=np.float32)) if rows else []
    kept = [box for box, chance in zip(blocks, likely, strict=True) if chance >= 0.4]
    found = Counter(word for box in kept for word in _WORD.findall(page.survey.own[box].lower()))
    both = sum((found & page.truth).values())
    return 2 * both / max(1, sum(found.values()) + sum(page.truth.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wcxb", type=Path)
    parser.add_argument("--out", type=Path, default=Path(forest.__file__).with_name("weights.json"))
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    pages = samples(given.wcxb)
    if given.check:
        print(f"word F1 {checked(pages):.3f}")
        return
    trees = [as_lists(tree["tree_structure"]) for tree in grow(pages, pages).dump_model()["tree_info"]]
    given.out.write_text(json.dumps({"tokens": weigh(pages), "trees": trees}, separators=(",", ":")), "utf-8")


if __name__ == "__main__":
    main()
