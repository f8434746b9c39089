"""One small file of every kind that is a document, each with a title, a heading and a sentence of its own."""

from __future__ import annotations

from collections.abc import Mapping

from upstreams.documents import RELATION, W, docx, epub, office, open_document, pdf, relations

__all__ = ["PAPERS", "WORDS"]

A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
WORDS: Mapping[str, str] = {
    "harbour.pdf": "capstan",
    "ferry.docx": "bollard",
    "boats.xlsx": "coracle",
    "slides.pptx": "halyard",
    "letter.odt": "spinnaker",
    "stores.ods": "oakum",
    "talk.odp": "topsail",
    "sea.epub": "kelp",
}
"""The word that only this file has."""


RULES = [f"Rule {number} of the harbour says who may moor at which quay, and for how long." for number in range(30)]
"""A page long enough to be passages of its own."""


def _said(name: str) -> str:
    return f"The {WORDS[name]} is kept in the shed behind the harbour office."


def _word(name: str) -> bytes:
    heading = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Winter service</w:t></w:r></w:p>'
    styles = f'<w:styles {W}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>'
    parts = {"word/styles.xml": styles, "word/_rels/document.xml.rels": relations({"s1": "styles.xml"}, kind="styles")}
    return docx(f"{heading}<w:p><w:r><w:t>{_said(name)}</w:t></w:r></w:p>", parts)


def _sheet(name: str) -> bytes:
    cells = "".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in ("Name", WORDS[name]))
    return office(
        "xl/workbook.xml",
        {
            "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{RELATION}"><sheets><sheet name="Boats" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations({"r1": "worksheets/sheet1.xml"}),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData><row>{cells}</row></sheetData></worksheet>',
        },
    )


def _slides(name: str) -> bytes:
    names = f'xmlns:a="{A}" xmlns:p="{P}" xmlns:r="{RELATION}"'
    text = f"<p:txBody><a:p><a:r><a:t>{_said(name)}</a:t></a:r></a:p></p:txBody>"
    shape = f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr>{text}</p:sp>'
    return office(
        "ppt/presentation.xml",
        {
            "ppt/presentation.xml": f'<p:presentation {names}><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>',
            "ppt/_rels/presentation.xml.rels": relations({"r1": "slides/a.xml"}),
            "ppt/slides/a.xml": f"<p:sld {names}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>",
        },
    )


def _open(kind: str, name: str) -> bytes:
    paragraph = f"<text:p>{_said(name)}</text:p>"
    bodies = {
        "text": f'<text:h text:outline-level="1">Winter service</text:h>{paragraph}',
        "spreadsheet": f'<table:table table:name="Stores"><table:table-row><table:table-cell>{paragraph}</table:table-cell>'
        "</table:table-row></table:table>",
        "presentation": f'<draw:page draw:name="One"><draw:frame><draw:text-box>{paragraph}</draw:text-box></draw:frame></draw:page>',
    }
    return open_document(kind, bodies[kind])


PAPERS: Mapping[str, bytes] = {
    "harbour.pdf": pdf([RULES, [_said("harbour.pdf"), *RULES]], title="Harbour rules", bookmarks=[("Winter service", 1)]),
    "ferry.docx": _word("ferry.docx"),
    "boats.xlsx": _sheet("boats.xlsx"),
    "slides.pptx": _slides("slides.pptx"),
    "letter.odt": _open("text", "letter.odt"),
    "stores.ods": _open("spreadsheet", "stores.ods"),
    "talk.odp": _open("presentation", "talk.odp"),
    "sea.epub": epub({"one.xhtml": f"<html><body><h1>Winter service</h1><p>{_said('sea.epub')}</p></body></html>"}),
}
"""File name → bytes."""
