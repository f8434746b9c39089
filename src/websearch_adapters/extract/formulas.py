"""Formulas as TeX: what MathML, KaTeX and MathJax leave in a page becomes one `math` element with the source as its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from websearch_adapters.extract.markup import remove, select, words_of

if TYPE_CHECKING:
    from websearch_adapters.extract.markup import Element

__all__ = ["simplify", "split"]

MAX_CHARS = 2_000
_ANNOTATIONS = ".//annotation[@encoding='application/x-tex' or @encoding='TeX' or @encoding='LaTeX']"
_PICTURES = (
    ".//*[contains(@class, 'katex-html') or contains(@class, 'mwe-math-fallback') or contains(@class, 'MathJax_Preview')"
    " or contains(@class, 'MathJax_SVG') or contains(@class, 'MathJax_CHTML')]"
)
CONTAINERS = ("mjx-container", "mjx-assistive-mml")
_MARKED = re.compile(r"(?:^|\s)(?:math|math-container|arithmatex|js-(?:inline|display)-math)(?:\s|$)")
"""Classes by Sphinx and Pandoc, Stack Exchange, PyMdown and GitHub."""
_ENGINE_FILES = re.compile(r"mathjax|MathJax|katex")
_TEX = (
    r"\\\(((?:\\\\|[^$\\]|\\(?!\()){1,2000}?)\\\)|\\\[((?:\\\\|[^$\\]|\\(?!\[)){1,2000}?)\\\]|\$\$([^$]{1,2000}?)\$\$"
    r"|(\\begin\{(?P<name>(?:equation|align|gather|multline|eqnarray)\*?)\}(?:[^\\]|\\(?!begin\{(?P=name)\})){1,2000}?"
    r"\\end\{(?P=name)\})"
)
_DELIMITED = re.compile(rf"{_TEX}|\A\$([^$]{{1,2000}})\$\Z", re.DOTALL)
_WITH_DOLLARS = re.compile(rf"{_TEX}|(?<![\\$\w])\$(?=\S)([^$\n]{{1,300}}?)(?<=\S)\$(?![\w$])", re.DOTALL)
_DOLLARS = re.compile(r"['\"]\$['\"]")
"""How a page says that single dollar signs enclose formulas: they do not by default."""
VERBATIM = frozenset({"pre", "code", "kbd", "samp", "tt", "script", "style", "textarea", "math", "svg", "annotation"})
_STYLE = re.compile(r"^\{\\(?:display|text)style (.*)\}$", re.DOTALL)


def simplify(body: Element) -> None:
    """Turn every formula into `<math>` with TeX, or with its plain text where the page has no TeX; in place."""
    _find(body)
    formulas = [element for element in body.iter("math", "script") if element.tag == "math" or _is_tex(element)]
    if not formulas:
        return
    for picture in select(body, _PICTURES):
        if picture.find(".//math") is None:
            remove(picture)
    for formula in formulas:
        _simplify(formula)


def _is_tex(script: Element) -> bool:
    return (script.get("type") or "").startswith("math/tex")


def _simplify(formula: Element) -> None:
    block = formula.get("display") == "block" or "mode=display" in (formula.get("type") or "")
    tex = _tex(formula)
    for around, _ in zip(formula.iterancestors("span", *CONTAINERS), range(3), strict=False):
        block = block or (around.tag == "mjx-container" and around.get("display") == "true")
        around.tag = "span"
        around.attrib.pop("style", "")
    tail = formula.tail
    formula.clear()
    formula.tag, formula.text, formula.tail = "math", tex, tail
    if block:
        formula.set("display", "block")


def split(body: Element, *, dollars: bool) -> None:
    """Make formulas of the TeX in the text, but for code; with `dollars` also of what stands between single ones."""
    for element in list(body.iter()):
        if element.tag not in VERBATIM:
            _split(element, _WITH_DOLLARS if dollars else _DELIMITED)


def _find(body: Element) -> None:
    """Make formulas of TeX that a script would draw: in elements marked so, and in all text of pages that load such a script."""
    childless = (element for element in body.iter("span", "div") if len(element) == 0)
    for element in [one for one in childless if "mat" in (said := one.get("class") or "") and _MARKED.search(said)]:
        match = _DELIMITED.fullmatch((element.text or "").strip())
        if match:
            _become(element, match)
    scripts = [script for script in body.getroottree().iter("script") if _draws(script)]
    if scripts:
        split(body, dollars=any(_DOLLARS.search(script.text or "") for script in scripts))


def _draws(script: Element) -> bool:
    """Whether it is an engine that draws formulas, or starts one; no path of XPath tells it as fast."""
    code = script.text or ""
    return "MathJax" in code or "renderMathInElement" in code or _ENGINE_FILES.search(script.get("src") or "") is not None


def _become(element: Element, match: re.Match[str]) -> None:
    tex = next(part for part in match.groups() if part is not None)
    element.tag, element.text = "math", tex.strip()[:MAX_CHARS]
    if not match[0].startswith(("\\(", "$")) or match[0].startswith("$$"):
        element.set("display", "block")


def _split(element: Element, pattern: re.Pattern[str]) -> None:
    """Elements of their own for the formulas in the text at the beginning and behind each child."""
    if _may_hold(element.text):
        text = element.text or ""
        element.text = None
        element.text = _insert(element, 0, text, pattern)
    for child in list(element):
        if _may_hold(child.tail) and child.tag != "math":
            text = child.tail or ""
            child.tail = None
            child.tail = _insert(element, element.index(child) + 1, text, pattern)


def _may_hold(text: str | None) -> bool:
    return text is not None and ("$" in text or "\\" in text)


def _insert(parent: Element, at: int, text: str, pattern: re.Pattern[str]) -> str:
    """Put the formulas into the parent from this place on; the text before the first one."""
    before, end, last = "", 0, None
    for match in pattern.finditer(text):
        formula, plain = parent.makeelement("math"), text[end : match.start()]
        if last is None:
            before = plain
            parent.insert(at, formula)
        else:
            last.addnext(formula)
            last.tail = plain
        _become(formula, match)
        last, end = formula, match.end()
    if last is None:
        return text
    last.tail = text[end:]
    return before


def _tex(formula: Element) -> str:
    if formula.tag == "script":
        return (formula.text or "").strip()[:MAX_CHARS]
    said = next((words_of(found) for found in select(formula, _ANNOTATIONS)), "") or formula.get("alttext") or ""
    if not said:
        for annotation in list(formula.iter("annotation", "annotation-xml")):
            remove(annotation)
    match = _STYLE.match(said.strip())
    return (match.group(1) if match else said or words_of(formula)).strip()[:MAX_CHARS]
