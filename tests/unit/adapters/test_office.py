"""Office documents and books as Markdown."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upstreams.documents import W, docx, epub, office, open_document, relations, zipped
from websearch_adapters.extract.package import Package
from websearch_adapters.extract.reading import Document, Reading, read
from websearch_core.errors import BadReply, Declined, EmptyResult, NotAllowed, WebSearchError

URL = "https://port.example/files/report.bin"


def reading(body: bytes) -> Reading:
    return read(Document(body=body, url=URL, content_type="application/octet-stream"))


def text_or_error(body: bytes) -> str:
    try:
        return reading(body).text
    except WebSearchError as error:
        return error.message


def run(text: str, look: str = "") -> str:
    return f'<w:r><w:rPr>{look}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(inner: str, *, style: str = "", look: str = "") -> str:
    chosen = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{chosen}{look}</w:pPr>{inner}</w:p>"


def item(text: str, number: int, level: int) -> str:
    return paragraph(run(text), look=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


STYLES = f"""<w:styles {W}>
<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Ueber"><w:name w:val="Kapitel"/><w:basedOn w:val="H2"/></w:style>
<w:style w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:styleId="Code"><w:name w:val="Source Code"/></w:style>
<w:style w:styleId="Q"><w:name w:val="Quote"/></w:style>
</w:styles>"""
NUMBERING = f"""<w:numbering {W}>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>
</w:numbering>"""
PARTS = {"word/styles.xml": STYLES, "word/numbering.xml": NUMBERING}


class TestWord:
    def test_headings_come_from_styles_their_ancestors_and_outline_levels(self) -> None:
        body = (
            paragraph(run("Harbour"), style="T")
            + paragraph(run("Tides"), style="Ueber")
            + paragraph(run("Depth"), look='<w:outlineLvl w:val="2"/>')
            + paragraph(run("Text."))
        )
        assert reading(docx(body, PARTS)).text == "# Harbour\n\n## Tides\n\n### Depth\n\nText."

    def test_looks_links_and_line_breaks_are_kept(self) -> None:
        inner = (
            run("The ")
            + run("tide", "<w:b/>")
            + run(" is ")
            + run("calm", "<w:i/>")
            + run(", not ")
            + run("wild", '<w:b w:val="0"/>')
            + run(": ")
            + run("depth = 4", '<w:rFonts w:ascii="Courier New"/>')
            + '<w:hyperlink r:id="r7">'
            + run("table")
            + "</w:hyperlink><w:r><w:br/><w:t>Next</w:t></w:r>"
        )
        links = {"word/_rels/document.xml.rels": relations({"r7": "https://port.example/tides"})}
        assert reading(docx(paragraph(inner), links)).text == (
            "The **tide** is *calm*, not wild: `depth = 4`[table](https://port.example/tides)\nNext"
        )

    def test_lists_keep_their_levels_and_their_kind(self) -> None:
        body = item("one", 1, 0) + item("deep", 1, 1) + item("two", 1, 0) + item("first", 2, 0) + item("second", 2, 0)
        assert reading(docx(body, PARTS)).text == "- one\n  - deep\n- two\n\n1. first\n2. second"

    def test_tables_keep_rows_spans_and_merged_cells(self) -> None:
        def cell(text: str, look: str = "") -> str:
            return f"<w:tc><w:tcPr>{look}</w:tcPr>{paragraph(run(text))}</w:tc>"

        table = (
            f"<w:tbl><w:tr>{cell('Name')}{cell('Depth | m')}{cell('Sea')}</w:tr>"
            f"<w:tr>{cell('Basin', '<w:vMerge w:val=' + chr(34) + 'restart' + chr(34) + '/>')}{cell('4', '<w:gridSpan w:val=' + chr(34) + '2' + chr(34) + '/>')}</w:tr>"
            f"<w:tr>{cell('again', '<w:vMerge/>')}{cell('5')}{cell('north')}</w:tr></w:tbl>"
        )
        assert reading(docx(table)).text == (
            "| Name | Depth \\| m | Sea |\n| --- | --- | --- |\n| Basin | 4 |  |\n|  | 5 | north |"
        )

    def test_code_paragraphs_are_one_block_and_verbatim(self) -> None:
        body = "".join(paragraph(run(line), style="Code") for line in ("def f():", "    return *x*")) + paragraph(run("So."))
        assert reading(docx(body, PARTS)).text == "```\ndef f():\n    return *x*\n```\n\nSo."

    def test_quotes_are_quotes(self) -> None:
        assert reading(docx(paragraph(run("Calm."), style="Q"), PARTS)).text == "> Calm."

    def test_footnotes_stand_below_with_their_numbers(self) -> None:
        notes = f'<w:footnotes {W}><w:footnote w:id="4">{paragraph(run("By the log."))}</w:footnote></w:footnotes>'
        body = paragraph(run("It rose") + '<w:r><w:footnoteReference w:id="4"/></w:r>' + run("."))
        assert reading(docx(body, {"word/footnotes.xml": notes})).text == "It rose\\[1\\].\n\n\\[1\\] By the log."

    def test_what_was_deleted_or_hidden_is_not_read(self) -> None:
        body = paragraph(
            run("Kept ")
            + f"<w:del>{run('gone ').replace('w:t', 'w:delText')}</w:del>"
            + f"<w:ins>{run('new ')}</w:ins>"
            + run("secret", "<w:vanish/>")
            + "<w:r><w:instrText>PAGE</w:instrText></w:r>"
        )
        assert reading(docx(body)).text == "Kept new"

    def test_the_text_of_a_box_is_read_once(self) -> None:
        box = f"<w:txbxContent>{paragraph(run('In a box'))}</w:txbxContent>"
        body = paragraph(
            f'<w:r><mc:AlternateContent xmlns:mc="urn:mc"><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>'
            "</mc:AlternateContent></w:r>"
        )
        assert reading(docx(body)).text.count("In a box") == 1

    def test_properties_give_title_and_day(self) -> None:
        about = (
            '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
            "<dc:title>Report</dc:title><dcterms:modified>2026-03-05T10:00:00Z</dcterms:modified><dc:language>en-GB</dc:language>"
            "</cp:coreProperties>"
        )
        found = reading(docx(paragraph(run("Text.")), {"docProps/core.xml": about}))
        assert (found.kind, found.title, found.published, found.language) == ("docx", "Report", "2026-03-05", "en-GB")

    def test_a_document_in_the_strict_namespace_is_read_too(self) -> None:
        body = docx(paragraph(run("Strict.")))
        parts = {name: zipfile.ZipFile(io.BytesIO(body)).read(name) for name in zipfile.ZipFile(io.BytesIO(body)).namelist()}
        strict = {
            name: part.replace(
                b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
                b"http://purl.oclc.org/ooxml/wordprocessingml/main",
            )
            for name, part in parts.items()
        }
        assert reading(zipped(strict)).text == "Strict."


def workbook(rows: str, *, state: str = "visible", extra: str = "", parts: dict[str, str] | None = None) -> bytes:
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    links = {"r1": "worksheets/sheet1.xml", "r2": "sharedStrings.xml", "r3": "styles.xml", "r4": "worksheets/sheet2.xml"}
    return office(
        "xl/workbook.xml",
        {
            "xl/workbook.xml": f'<workbook {main} xmlns:r="{W.rsplit(chr(34), 2)[1]}">{extra}<sheets><sheet name="Boats" r:id="r1"/>'
            f'<sheet name="Other" state="{state}" r:id="r4"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(links),
            "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>",
            "xl/worksheets/sheet2.xml": f'<worksheet {main}><sheetData><row><c t="inlineStr"><is><t>other</t></is></c><c><v>1</v></c></row><row><c><v>2</v></c><c><v>3</v></c></row></sheetData></worksheet>',
            "xl/sharedStrings.xml": f"<sst {main}><si><t>Name</t></si><si><r><t>Ad</t></r><r><t>a</t></r><rPh><t>reading</t></rPh></si></sst>",
            "xl/styles.xml": f'<styleSheet {main}><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm"/><numFmt numFmtId="165" formatCode="0.0 &quot;days&quot;"/></numFmts>'
            '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>',
            **(parts or {}),
        },
    )


class TestExcel:
    def test_values_are_read_as_what_they_are(self) -> None:
        rows = (
            '<row><c r="A1" t="s"><v>0</v></c><c r="B1" t="str"><v>Built</v></c><c r="C1" t="inlineStr"><is><t>Price</t></is></c><c r="D1"><v>1</v></c></row>'
            '<row><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>43895</v></c><c r="C2"><v>0.30000000000000004</v></c><c r="D2" t="b"><v>1</v></c></row>'
            '<row><c r="A3" t="e"><v>#N/A</v></c><c r="B3" s="2"><v>43895.5</v></c><c r="C3" s="3"><v>2.5</v></c><c r="D3" s="4"><v>0.75</v></c></row>'
        )
        found = reading(workbook(rows, state="hidden"))
        assert found.kind == "xlsx"
        assert found.text == (
            "## Boats\n\n| Name | Built | Price | 1 |\n| --- | --- | --- | --- |\n"
            "| Ada | 2020-03-05 | 0.3 | TRUE |\n| #N/A | 2020-03-05 12:00:00 | 2.5 | 18:00:00 |"
        )

    def test_cells_stand_in_their_columns_and_empty_rows_and_columns_go(self) -> None:
        rows = (
            '<row><c r="B1"><v>1</v></c><c r="D1"><v>2</v></c></row><row/>'
            '<row><c r="D3"><v>3</v></c></row><row><c r="B4"><v>4</v></c></row>'
        )
        assert "| 1 | 2 |\n| --- | --- |\n|  | 3 |\n| 4 |  |" in reading(workbook(rows)).text

    def test_hidden_sheets_are_not_read(self) -> None:
        rows = '<row><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'
        assert "other" in reading(workbook(rows)).text
        assert "other" not in reading(workbook(rows, state="veryHidden")).text

    def test_dates_of_old_macs_count_from_1904(self) -> None:
        rows = '<row><c r="A1" s="1"><v>1</v></c><c r="B1"><v>2</v></c></row><row><c><v>3</v></c></row>'
        assert "1904-01-02" in reading(workbook(rows, extra='<workbookPr date1904="1"/>')).text

    def test_a_long_sheet_is_cut_and_says_so(self) -> None:
        found = reading(workbook('<row><c><v>1</v></c><c t="str"><v>x</v></c></row>' * 5_100))
        assert [(note.code, note.text) for note in found.notes] == [("document_cut", "only the first rows of: Boats")]
        assert found.text.count("| 1 | x |") == 5_000


class TestPowerPoint:
    def test_slides_have_titles_lists_links_tables_and_notes(self) -> None:
        names = f'xmlns:a="urn:a" xmlns:p="urn:p" xmlns:r="{W.rsplit(chr(34), 2)[1]}"'

        def shape(kind: str, *paragraphs: str) -> str:
            return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>{"".join(paragraphs)}</p:txBody></p:sp>'

        def text(words: str, level: int = 0, look: str = "") -> str:
            return f'<a:p><a:pPr lvl="{level}"/><a:r><a:rPr {look}/><a:t>{words}</a:t></a:r></a:p>'

        linked = '<a:p><a:r><a:rPr><a:hlinkClick r:id="r2"/></a:rPr><a:t>here</a:t></a:r></a:p>'
        cells = "".join(
            f"<a:tr>{''.join(f'<a:tc><a:txBody>{text(word)}</a:txBody></a:tc>' for word in row)}</a:tr>"
            for row in (("k", "v"), ("1", "2"))
        )
        table = f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{cells}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
        one = (
            shape("title", text("Plan"))
            + shape("body", text("Alpha"), text("Beta", 1, 'b="1"'), linked)
            + shape("sldNum", text("7"))
        )
        body = office(
            "ppt/presentation.xml",
            {
                "ppt/presentation.xml": f'<p:presentation {names}><p:sldIdLst><p:sldId id="256" r:id="r1"/><p:sldId id="257" r:id="r3"/>'
                '<p:sldId id="258" r:id="r2"/></p:sldIdLst></p:presentation>',
                "ppt/_rels/presentation.xml.rels": relations({"r1": "slides/b.xml", "r2": "slides/a.xml", "r3": "slides/c.xml"}),
                "ppt/slides/b.xml": f"<p:sld {names}><p:cSld><p:spTree>{one}</p:spTree></p:cSld></p:sld>",
                "ppt/slides/_rels/b.xml.rels": relations({"r2": "https://port.example/x", "r9": "../notesSlides/n.xml"}),
                "ppt/notesSlides/n.xml": f"<p:notes {names}><p:cSld><p:spTree>{shape('body', text('Say hello.'))}</p:spTree></p:cSld></p:notes>",
                "ppt/slides/a.xml": f"<p:sld {names}><p:cSld><p:spTree><p:grpSp>{table}</p:grpSp></p:spTree></p:cSld></p:sld>",
                "ppt/slides/c.xml": f'<p:sld {names} show="0"><p:cSld><p:spTree>{shape("title", text("Hidden"))}</p:spTree></p:cSld></p:sld>',
            },
        )
        found = reading(body)
        assert found.kind == "pptx"
        assert found.text == (
            "## Slide 1: Plan\n\n- Alpha\n  - **Beta**\n- [here](https://port.example/x)\n\nNotes: Say hello.\n\n"
            "## Slide 3\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"
        )


class TestOpenDocument:
    def test_a_text_keeps_headings_lists_links_tables_and_notes(self) -> None:
        body = (
            '<text:h text:outline-level="2">Tides</text:h>'
            '<text:p>It is<text:s/><text:a xlink:href="https://port.example/x">here</text:a>'
            "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>By the log.</text:p></text:note-body></text:note>.</text:p>"
            "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
            "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list>"
            "</text:list-item></text:list>"
            "<table:table><table:table-row><table:table-cell><text:p>k</text:p></table:table-cell><table:table-cell><text:p>v</text:p></table:table-cell></table:table-row>"
            '<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>1</text:p></table:table-cell></table:table-row></table:table>'
        )
        found = reading(open_document("text", body))
        assert found.kind == "odt"
        assert found.text == (
            "## Tides\n\nIt is [here](https://port.example/x)\\[1\\].\n\n- one\n  - deep\n\n| k | v |\n| --- | --- |\n| 1 | 1 |\n\n\\[1\\] By the log."
        )

    def test_sheets_are_tables_and_repetition_is_bounded(self) -> None:
        def row(words: str, times: int) -> str:
            cell = f'<table:table-cell table:number-columns-repeated="{times}"><text:p>{words}</text:p></table:table-cell>'
            return f'<table:table-row table:number-rows-repeated="{times}">{cell}</table:table-row>'

        found = reading(
            open_document("spreadsheet", f'<table:table table:name="Boats">{row("x", 2)}{row("y", 1_000_000_000)}</table:table>')
        )
        assert (found.kind, found.text.startswith("## Boats\n\n| x | x |")) == ("ods", True)
        assert [note.code for note in found.notes] == ["document_cut"]
        assert len(found.text) < 2_000_000

    def test_slides_are_headings(self) -> None:
        found = reading(
            open_document(
                "presentation",
                '<draw:page draw:name="Plan"><draw:frame><draw:text-box><text:p>Alpha</text:p></draw:text-box></draw:frame></draw:page>',
            )
        )
        assert (found.kind, found.text) == ("odp", "## Plan\n\nAlpha")


class TestBooks:
    def test_chapters_follow_the_spine(self) -> None:
        found = reading(epub({"b.xhtml": "<h1>One</h1><p>It began.</p>", "a.xhtml": "<h1>Two</h1><p>It <b>ended</b>.</p>"}))
        assert found.kind == "epub"
        assert found.text == "# One\n\nIt began.\n\n# Two\n\nIt **ended**."
        assert (found.title, found.language, found.published) == ("The sea", "en", "2019-04-01")

    @pytest.mark.parametrize(("target", "locked"), [("OEBPS/b.xhtml", True), ("OEBPS/fonts/a.otf", False)])
    def test_a_locked_book_is_told_from_one_with_scrambled_fonts(self, target: str, locked: bool) -> None:
        parts = {"META-INF/encryption.xml": f'<encryption xmlns="urn:e"><CipherReference URI="{target}"/></encryption>'}
        body = epub({"b.xhtml": "<p>It began.</p>"}, parts)
        if locked:
            with pytest.raises(Declined, match="password"):
                reading(body)
        else:
            assert reading(body).text == "It began."


class TestHostile:
    def test_a_part_that_inflates_without_end_is_refused(self) -> None:
        body = docx(paragraph(run("Text.")), {"word/styles.xml": b" " * (65 * 1_024 * 1_024)})
        assert len(body) < 200_000
        with pytest.raises(NotAllowed, match="unpacks to more than"):
            reading(body)

    def test_what_is_read_together_is_counted_together(self) -> None:
        package = Package(zipped({"part": b" " * (60 * 1_024 * 1_024)}))
        for _ in range(3):
            assert len(package.read("part")) == 60 * 1_024 * 1_024
        with pytest.raises(NotAllowed, match="unpacks to more than 192 MiB"):
            package.read("part")

    def test_too_many_parts_are_refused(self) -> None:
        with pytest.raises(NotAllowed, match="20,000 parts"):
            reading(zipped({f"{at}": "" for at in range(20_001)}))

    def test_entities_are_not_expanded_and_nothing_is_loaded(self) -> None:
        entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
        text = f'<!DOCTYPE d [<!ENTITY e0 "boom"><!ENTITY f SYSTEM "file:///etc/passwd">{entities}]><w:document {W}><w:body><w:p><w:r><w:t>Text &e11; &f;</w:t></w:r></w:p></w:body></w:document>'
        found = reading(office("word/document.xml", {"word/document.xml": text}))
        assert "Text" in found.text
        assert "boom" not in found.text
        assert "root:" not in found.text

    def test_deep_nesting_ends(self) -> None:
        nested = "<w:tbl><w:tr><w:tc>" * 200 + paragraph(run("deep")) + "</w:tc></w:tr></w:tbl>" * 200
        assert reading(docx(paragraph(run("Text.")) + nested)).text.startswith("Text.")

    @pytest.mark.parametrize(
        ("body", "kind", "words"),
        [
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512, Declined, "old Office"),
            (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), Declined, "password"),
            (office("word/document.xml", {"word/document.xml": "no markup"}), BadReply, "damaged"),
            (docx(""), EmptyResult, "nothing readable"),
            (zipped({"a.txt": "text"}), Declined, "no text"),
            (b"PK\x03\x04 and nothing", Declined, "no text"),
        ],
        ids=["old", "locked", "no body", "blank", "another zip", "no zip"],
    )
    def test_what_cannot_be_read_is_told_as_what_it_is(self, body: bytes, kind: type[WebSearchError], words: str) -> None:
        with pytest.raises(kind, match=words) as caught:
            reading(body)
        assert type(caught.value) is kind

    def test_an_encrypted_part_is_told(self) -> None:
        body = bytearray(docx(paragraph(run("Text."))))
        for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
            place = body.find(mark)
            while place >= 0:
                if b"word/document.xml" in body[place : place + 80]:
                    body[place + offset] |= 1
                place = body.find(mark, place + 1)
        with pytest.raises(Declined, match="password"):
            reading(bytes(body))


@pytest.mark.parametrize(
    "whole",
    [
        docx(paragraph(run("Text.")) + item("one", 1, 0), PARTS),
        workbook('<row><c r="A1"><v>1</v></c><c r="B1" s="1"><v>2</v></c></row>'),
        open_document("text", "<text:p>Text.</text:p>"),
        epub({"a.xhtml": "<p>Text.</p>"}),
    ],
    ids=["docx", "xlsx", "odt", "epub"],
)
@given(data=st.data())
@settings(max_examples=60)
def test_no_damage_leads_to_anything_but_a_text_or_a_typed_error(whole: bytes, data: st.DataObject) -> None:
    body = bytearray(whole)
    for place, value in data.draw(st.lists(st.tuples(st.integers(4, len(whole) - 1), st.integers(0, 255)), max_size=12)):
        body[place] = value
    assert text_or_error(bytes(body)).strip()
