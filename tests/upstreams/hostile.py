"""Pages that want to break a reader: deep, huge, endless, broken, lying. Made by rule, one at a time, for some are large."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from upstreams.documents import W, docx, epub, office, open_document, pdf, zipped

__all__ = ["CASES", "PROSE", "Case"]

PROSE = "Some honest prose, with commas, clauses, and words enough to be kept as the content of the page."
P = f"<p>{PROSE}</p>"


@dataclass(frozen=True, slots=True)
class Case:
    """One page and what is to come of it."""

    make: Callable[[], str | bytes]
    prose: bool = True
    """Whether the reader has to find the honest prose in it; otherwise a typed outcome will do."""
    content_type: str = "text/html; charset=utf-8"


def _noise(size: int, seed: int = 7) -> bytes:
    return random.Random(seed).randbytes(size)


def _page(body: str) -> str:
    return f"<html><body>{body}</body></html>"


def _article(body: str) -> str:
    return _page(f"<article>{P * 3}{body}</article>")


def _document(parts: Mapping[str, str | bytes]) -> bytes:
    return docx(f"<w:p><w:r><w:t>{PROSE}</w:t></w:r></w:p>", parts)


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
BOMB = f'<!DOCTYPE d [<!ENTITY e0 "boom">{ENTITIES}]>'
FILE = "application/octet-stream"
CASES: Mapping[str, Case] = {
    "100,000 elements deep": Case(lambda: _page("<div>" * 100_000 + P * 5 + "</div>" * 100_000)),
    "3,000 elements deep": Case(lambda: _page("<div>" * 3_000 + P * 5 + "</div>" * 3_000)),
    "10,000 bold marks deep": Case(lambda: _article("<b>" * 10_000 + "x" + P)),
    "2,000 lists deep": Case(lambda: _article("<ul><li>a" * 2_000)),
    "500 tables deep": Case(lambda: _article("<table><tr><td>a" * 500)),
    "1,000 quotes deep": Case(lambda: _article("<blockquote>q" * 1_000)),
    "20,000 unclosed fonts": Case(lambda: _article("<font color=red>" * 20_000 + P)),
    "a million attributes": Case(lambda: _article(f"<div {' '.join(f'a{n}=1' for n in range(1_000_000))}>{P * 5}</div>")),
    "an attribute of 9 MB": Case(lambda: _article(f"<div data-x='{'y' * 9_000_000}'>{P * 5}</div>")),
    "an attribute without an end": Case(lambda: _article("") + "<a href='" + "x" * 500_000),
    "nothing closed": Case(
        lambda: _article("<h1>T<p>" + "<p>one, two <b>bold <i>it <a href=x>link <td>cell <li>item <pre>code" * 2_000)
    ),
    "one paragraph of 5 MB": Case(lambda: _page(f"<p>{PROSE} {'word ' * 1_000_000}</p>")),
    "50,000 links": Case(lambda: _page(P * 3 + "".join(f"<a href='/x/{n}'>Link number {n}</a> " for n in range(50_000))), prose=False),
    "10,000 paragraphs": Case(lambda: _page(f"<article>{P * 10_000}</article>")),
    "a table of 5,000 rows": Case(lambda: _article(f"<table>{'<tr><td>a</td><td>b</td><td>c</td></tr>' * 5_000}</table>")),
    "200,000 cells with a style": Case(lambda: _article(f"<table>{'<tr><td style=color:red>a<td style=color:blue>b' * 100_000}</table>")),
    "100,000 marked elements": Case(lambda: _article("<p itemprop=a><a itemprop=b>x</a>" * 50_000)),
    "spans of a million": Case(lambda: _article(f"<table>{'<tr><td colspan=1000000 rowspan=1000000>a</td></tr>' * 50}</table>")),
    "an ordered list from 10^300": Case(lambda: _article(f"<ol start=1{'0' * 300}><li>a</ol>")),
    "random bytes": Case(lambda: _noise(500_000), prose=False),
    "random bytes as a page": Case(lambda: b"<html><body>" + P.encode() + _noise(300_000), prose=False),
    "zero bytes": Case(lambda: _page("\x00\x00<article>" + (P + "\x00") * 5 + "</article>")),
    "lone surrogates": Case(lambda: _page(f"<article>{P * 5}").encode() + b"\xed\xa0\x80 \xed\xbf\xbf</article>"),
    "a charset that is none": Case(lambda: f"<html><head><meta charset='no-such-charset'></head><body>{P * 5}</body></html>"),
    "entities of entities": Case(lambda: f"{BOMB}{_page(P * 5 + '&e11;' * 1_000)}"),
    "nothing": Case(lambda: "", prose=False),
    "one comment of 2 MB": Case(lambda: f"<!-- {'x' * 2_000_000} -->", prose=False),
    "a comment without an end": Case(lambda: _article("") + "<!-- " + "x-" * 500_000),
    "a script of 5 MB": Case(lambda: _page(f"<script>{'var a=1;' * 600_000}</script><article>{P * 5}</article>")),
    "a script without an end": Case(lambda: _article("") + "<script>" + "if (a < b) " * 100_000),
    "20,000 marks of Markdown": Case(lambda: _article(f"<p>{'*_[`<' * 20_000}</p>")),
    "a megabyte of blanks": Case(lambda: _article(f"<p>{' ' * 1_000_000}x</p>")),
    "a picture of 5 MB in the page": Case(lambda: _page(f"<article>{P * 5}<img src='data:image/png;base64,{'A' * 5_000_000}'></article>")),
    "10,000 nested brackets in a link": Case(lambda: _article(f"<a href='/{'(' * 10_000}'>{'[' * 10_000}</a>")),
    "structured data 50,000 deep": Case(lambda: _page(f"<script type='application/ld+json'>{'[' * 50_000}</script>{P * 5}")),
    "a base address that is none": Case(lambda: f"<base href='http://[::1'>{_page(P * 5)}"),
    "JSON 100,000 deep": Case(lambda: "[" * 100_000 + "]" * 100_000, prose=False, content_type="application/json"),
    "JSON with a number without end": Case(lambda: f'{{"a": 1{"0" * 1_000_000}}}', prose=False, content_type="application/json"),
    "XML of entities": Case(lambda: f"<?xml version='1.0'?>{BOMB}<d>&e11;</d>", prose=False, content_type="application/xml"),
    "a feed of entities": Case(
        lambda: f"<?xml version='1.0'?>{BOMB}<rss><channel><title>&e11;</title><item><title>{PROSE}</title></item></channel></rss>",
        content_type="application/rss+xml",
    ),
    "XML 100,000 deep": Case(lambda: "<?xml version='1.0'?>" + "<a>" * 100_000, prose=False, content_type="application/xml"),
    "front matter without an end": Case(lambda: "---\n" + "a: b\n" * 100_000 + PROSE, content_type="text/markdown"),
    "one line of Markdown marks": Case(lambda: f"{PROSE}\n{'[' * 100_000}", content_type="text/markdown"),
    "a PDF of 2,000 pages": Case(lambda: pdf([[PROSE]] * 2_000), content_type="application/pdf"),
    "a cut PDF": Case(lambda: pdf([[PROSE]] * 50)[:20_000], prose=False, content_type="application/pdf"),
    "a PDF that counts a billion pages": Case(
        lambda: pdf([[PROSE]]).replace(b"/Count 1 ", b"/Count 1000000000 "), prose=False, content_type="application/pdf"
    ),
    "a PDF that is its own page": Case(
        lambda: pdf([[PROSE]]).replace(b"/Kids [3 0 R]", b"/Kids [4 0 R]"), prose=False, content_type="application/pdf"
    ),
    "a document that inflates to 70 MB": Case(
        lambda: _document({"word/styles.xml": b" " * (70 << 20)}), prose=False, content_type=FILE
    ),
    "a document of entities": Case(
        lambda: office(
            "word/document.xml",
            {"word/document.xml": f"{BOMB}<w:document {W}><w:body><w:p><w:r><w:t>{PROSE}&e11;</w:t></w:r></w:p></w:body></w:document>"},
        ),
        content_type=FILE,
    ),
    "a document 5,000 elements deep": Case(
        lambda: docx(f"<w:p><w:r><w:t>{PROSE}</w:t></w:r></w:p>" + "<w:tbl><w:tr><w:tc>" * 5_000), prose=False, content_type=FILE
    ),
    "a sheet of a billion rows": Case(
        lambda: open_document(
            "spreadsheet",
            f'<table:table table:name="T"><table:table-row table:number-rows-repeated="999999999"><table:table-cell table:number-columns-repeated="999999999"><text:p>{PROSE}</text:p></table:table-cell></table:table-row></table:table>',
        ),
        content_type=FILE,
    ),
    "a book whose chapters are one": Case(lambda: epub({"a.xhtml": f"{P}{'<div>' * 20_000}"}), content_type=FILE),
    "a zip in a zip": Case(lambda: zipped({"a.zip": zipped({"b.txt": "x"})}), prose=False, content_type="application/zip"),
    "a packed page sent as one": Case(lambda: gzip.compress(P.encode() * 1_000), prose=False),
}  # fmt: skip
