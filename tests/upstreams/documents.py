"""Documents of other kinds than HTML, made byte by byte: PDF and office files, whole, damaged and hostile ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

__all__ = ["docx", "epub", "office", "open_document", "pdf", "relations", "zipped"]


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    title: str = "",
    bookmarks: Sequence[tuple[str, int]] = (),
    encrypted: bool = False,
    created: str = "",
) -> bytes:
    """A PDF with these lines on its pages, in Helvetica; bookmarks are titles with the index of their page."""
    objects: list[bytes] = []

    def add(body: str | bytes) -> int:
        objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(objects)

    def text(value: str) -> str:
        return value.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")

    font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    tree = len(objects) + 2 * len(pages) + 1
    numbers = []
    for lines in pages:
        rows = "".join(f"({text(line)}) Tj T*\n" for line in lines)
        stream = f"BT /F1 12 Tf 72 720 Td 14 TL\n{rows}ET".encode("cp1252")
        content = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        resources = f"/Resources << /Font << /F1 {font} 0 R >> >>"
        page = f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R {resources} >>"
        numbers.append(add(page))
    kids = " ".join(f"{number} 0 R" for number in numbers)
    assert add(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>") == tree
    outlines = ""
    if bookmarks:
        first = len(objects) + 2
        last = first + len(bookmarks) - 1
        root = add(f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R /Count {len(bookmarks)} >>")
        for at, (name, page_index) in enumerate(bookmarks, first):
            siblings = (f"/Prev {at - 1} 0 R " if at > first else "") + (f"/Next {at + 1} 0 R " if at < last else "")
            add(f"<< /Title ({text(name)}) /Parent {root} 0 R {siblings}/Dest [{numbers[page_index]} 0 R /Fit] >>")
        outlines = f" /Outlines {root} 0 R"
    catalog = add(f"<< /Type /Catalog /Pages {tree} 0 R{outlines} >>")
    info = add(f"<< /Title ({text(title)}) /CreationDate ({created}) >>")
    trailer = f"/Root {catalog} 0 R /Info {info} 0 R"
    if encrypted:
        lock = add(f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{'5a' * 32}> /U <{'a5' * 32}> >>")
        trailer += f" /Encrypt {lock} 0 R /ID [<{'01' * 16}> <{'01' * 16}>]"
    return _file(objects, trailer)


def _file(objects: Sequence[bytes], trailer: str) -> bytes:
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode())
    out.write(f"trailer\n<< /Size {len(objects) + 1} {trailer} >>\nstartxref\n{table}\n%%EOF\n".encode())
    return out.getvalue()


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """A package of these parts, in their order."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return out.getvalue()


RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="' + RELATION + '"'
MAINS = {
    "word/document.xml": "wordprocessingml.document.main+xml",
    "xl/workbook.xml": "spreadsheetml.sheet.main+xml",
    "ppt/presentation.xml": "presentationml.presentation.main+xml",
}


def office(main: str, parts: Mapping[str, str | bytes]) -> bytes:
    """A package of Office Open XML that begins with the part `main`."""
    kind = f"application/vnd.openxmlformats-officedocument.{MAINS[main]}"
    types = f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/{main}" ContentType="{kind}"/></Types>'
    return zipped({"[Content_Types].xml": types, "_rels/.rels": relations({"rId1": main}, kind="officeDocument"), **parts})


def relations(targets: Mapping[str, str], *, kind: str = "any") -> str:
    """What a part refers to; addresses with a scheme lie outside of the package."""
    rows = "".join(
        f'<Relationship Id="{key}" Type="{RELATION}/{kind}" Target="{target}"{" TargetMode=" + chr(34) + "External" + chr(34) if ":" in target else ""}/>'
        for key, target in targets.items()
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{rows}</Relationships>'


def docx(body: str, parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """A Word document with this body, in WordprocessingML with the prefixes `w` and `r`."""
    return office(
        "word/document.xml", {"word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>", **(parts or {})}
    )


def open_document(kind: str, body: str, parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """An OpenDocument file: `kind` is text, spreadsheet or presentation; `body` is what lies inside of it."""
    names = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "draw", "style")
    )
    whole = f'<office:document-content{names} xmlns:xlink="http://www.w3.org/1999/xlink"><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>'
    return zipped({"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": whole, **(parts or {})})


def epub(chapters: Mapping[str, str], parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """A book with these chapters, by name, in their order."""
    items = "".join(f'<item id="c{at}" href="{name}" media-type="application/xhtml+xml"/>' for at, name in enumerate(chapters))
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(chapters)))
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The sea</dc:title>'
        f"<dc:language>en</dc:language><dc:date>2019-04-01</dc:date></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    bodies = {
        f"OEBPS/{name}": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'
        for name, body in chapters.items()
    }
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OEBPS/book.opf": opf,
            **bodies,
            **(parts or {}),
        }
    )
