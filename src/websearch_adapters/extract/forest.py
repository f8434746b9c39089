"""The scoring of text blocks: a small forest of decision trees, read from `weights.json`.

The trees answer how likely a block is content, given its row of `features`. They were grown by gradient boosting on the
development pages of the Web Content Extraction Benchmark (CC BY 4.0), and on nothing else; `bench/extract/grow.py` grows them.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Sequence
from functools import cache
from math import exp
from typing import Any, TypeAlias

__all__ = ["likelihoods", "tokens"]

Node: TypeAlias = tuple[int | None, float, Any, Any]
"""Number of the feature, largest value that goes left, left, right; a leaf has no feature, its value, and nothing below.

With nodes and leaves of one shape, going down a tree is nothing but unpacking.
"""


def likelihoods(rows: list[list[float]], page: Sequence[float]) -> list[float]:
    """For each row, how likely the block is content; `page` is what all rows go on with."""
    trees = _trees()
    if not rows:
        return []
    own = len(rows[0])
    trees = tuple(_on_page(tree, page, own) for tree in trees)
    return [1.0 / (1.0 + exp(-_sum(trees, row))) for row in rows]


def _on_page(tree: Node, page: Sequence[float], own: int) -> Node:
    """What is left of a tree once everything is decided that holds of the whole page: features from number `own` on."""
    feature, value, left, right = tree
    if feature is None:
        return tree
    if feature >= own:
        return _on_page(left if page[feature - own] <= value else right, page, own)
    return feature, value, _on_page(left, page, own), _on_page(right, page, own)


def _sum(trees: tuple[Node, ...], row: list[float]) -> float:
    total = 0.0
    for tree in trees:
        feature, value, left, right = tree
        while feature is not None:
            feature, value, left, right = left if row[feature] <= value else right
        total += value
    return total


@cache
def tokens() -> dict[str, float]:
    """What words of class lists say about what stands inside: above zero content, below zero boilerplate."""
    return {str(word): float(value) for word, value in _weights()["tokens"].items()}


@cache
def _trees() -> tuple[Node, ...]:
    return tuple(_node(tree) for tree in _weights()["trees"])


def _node(node: Any) -> Node:
    return (node[0], node[1], _node(node[2]), _node(node[3])) if isinstance(node, list) else (None, float(node), None, None)


@cache
def _weights() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pkgutil.get_data(__name__, "weights.json") or b"")
    return found
