"""Formulas as TeX: what MathML, KaTeX and MathJax leave in a page becomes one `math` element with the source as its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from websearch_adapters.extract.markup import remove, select, words_of

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["simplify"]

MAX_CHARS = 2_000
_ANNOTATIONS = ".//annotation[@encoding='application/x-tex' or @encoding='TeX' or @encoding='LaTeX']"
_SCRIPTS = ".//script[starts-with(@type, 'math/tex')]"
_PICTURES = (
    ".//*[contains(@class, 'katex-html') or contains(@class, 'mwe-math-fallback') or contains(@class, 'MathJax_Preview')"
    " or contains(@class, 'MathJax_SVG') or contains(@class, 'MathJax_CHTML')]"
)
_STYLE = re.compile(r"^\{\\(?:display|text)style (.*)\}$", re.DOTALL)


def simplify(body: Element) -> None:
    """Turn every formula into `<math>` with TeX, or with its plain text where the page has no TeX; in place."""
    formulas = [*body.iter("math"), *select(body, _SCRIPTS)]
    if not formulas:
        return
    for picture in select(body, _PICTURES):
        if picture.find(".//math") is None:
            remove(picture)
    for formula in formulas:
        _simplify(formula)


def _simplify(formula: Element) -> None:
    block = formula.get("display") == "block" or "mode=display" in (formula.get("type") or "")
    tex = _tex(formula)
    for around, _ in zip(formula.iterancestors("span"), range(3), strict=False):
        around.attrib.pop("style", "")
    tail = formula.tail
    formula.clear()
    formula.tag, formula.text, formula.tail = "math", tex, tail
    if block:
        formula.set("display", "block")


def _tex(formula: Element) -> str:
    if formula.tag == "script":
        return (formula.text or "").strip()[:MAX_CHARS]
    said = next((words_of(found) for found in select(formula, _ANNOTATIONS)), "") or formula.get("alttext") or ""
    if not said:
        for annotation in list(formula.iter("annotation", "annotation-xml")):
            remove(annotation)
    match = _STYLE.match(said.strip())
    return (match.group(1) if match else said or words_of(formula)).strip()[:MAX_CHARS]
