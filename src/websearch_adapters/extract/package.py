"""Zipped packages of XML, as office programs and book makers write them, opened under guards.

What a part inflates to is counted while it inflates, whatever its header says; XML loads nothing and expands no entity.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote

from websearch_core.errors import NotAllowed

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = [
    "DamagedError",
    "LockedError",
    "OfficeKind",
    "Package",
    "attribute",
    "children",
    "first",
    "kind_of",
    "name_of",
    "resolved",
    "words",
]

OfficeKind: TypeAlias = Literal["docx", "xlsx", "pptx", "odt", "ods", "odp", "epub"]

MAX_PARTS = 20_000
MAX_PART_BYTES = 64 * 1_024 * 1_024
MAX_BYTES = 192 * 1_024 * 1_024
"""All parts that are read, together."""
CHUNK_BYTES = 256 * 1_024
OPENING: Mapping[str, OfficeKind] = {"wordprocessingml.document": "docx", "spreadsheetml.sheet": "xlsx", "presentationml": "pptx"}
"""A piece of the content type of a package's main part; templates and files with macros have it too."""
MIMETYPES: Mapping[str, OfficeKind] = {
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/epub+zip": "epub",
}


class LockedError(Exception):
    """The file is encrypted."""


class DamagedError(Exception):
    """The file is not what it begins as."""


class Package:
    """The parts of a package."""

    def __init__(self, body: bytes) -> None:
        """
        Raises:
            DamagedError: it is no zip file, or its list of parts is broken.
            NotAllowed: it has too many parts.
        """
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
            raise DamagedError from error
        self._names = {info.filename: info for info in self._zip.infolist()}
        if len(self._names) > MAX_PARTS:
            raise NotAllowed(f"the file has more than {MAX_PARTS:,} parts")
        self._left = MAX_BYTES

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def read(self, name: str) -> bytes:
        """A part; empty where there is none of this name.

        Raises:
            LockedError: it is encrypted.
            DamagedError: it cannot be inflated.
            NotAllowed: it, or all that was read together, inflates to too much.
        """
        info = self._names.get(name)
        if info is None:
            return b""
        if info.flag_bits & 1:
            raise LockedError
        most = min(MAX_PART_BYTES, self._left)
        try:
            body = b"".join(_inflated(self._zip, info, most))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as error:
            raise DamagedError from error
        self._left -= len(body)
        return body

    def xml(self, name: str) -> _Element | None:
        """A part as a tree; None where there is none, or no XML in it."""
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
        body = self.read(name)
        try:
            return etree.fromstring(body, parser) if body.strip() else None
        except (etree.XMLSyntaxError, ValueError) as error:
            if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
                raise MemoryError from error
            return None

    def related(self, name: str) -> dict[str, str]:
        """What a part of Office Open XML refers to: id → name of a part, or an address outside."""
        folder, _, file = name.rpartition("/")
        root = self.xml(posixpath.join(folder, "_rels", f"{file}.rels"))
        found: dict[str, str] = {}
        for element in root if root is not None else ():
            target = element.get("Target") or ""
            outside = element.get("TargetMode") == "External"
            found[element.get("Id") or ""] = target if outside else resolved(name, target)
        return found

    def main(self) -> str:
        """The part that an Office Open XML package begins with; empty where it names none."""
        root = self.xml("_rels/.rels")
        for element in root if root is not None else ():
            if (element.get("Type") or "").endswith("/officeDocument"):
                return resolved("", element.get("Target") or "")
        return ""


def _inflated(package: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
    size = 0
    with package.open(info) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            size += len(chunk)
            if size > most:
                raise NotAllowed(
                    f"the file unpacks to more than {MAX_BYTES >> 20} MiB, or a part of it to {MAX_PART_BYTES >> 20}"
                )
            yield chunk


def kind_of(body: bytes) -> OfficeKind | None:
    """What kind of document a zip file is; None for any other zip file, and for one that is broken.

    Raises:
        NotAllowed: it has too many parts, or its first ones inflate to too much.
    """
    try:
        package = Package(body)
        said = package.read("mimetype")[:100].decode("ascii", "replace").strip()
        if said in MIMETYPES:
            return MIMETYPES[said]
        main = f"/{package.main()}"
        types = package.xml("[Content_Types].xml")
        for element in types if types is not None else ():
            if element.get("PartName") == main:
                return next((kind for mark, kind in OPENING.items() if mark in (element.get("ContentType") or "").lower()), None)
    except (LockedError, DamagedError):
        return None
    return None


def resolved(name: str, target: str) -> str:
    """A reference inside a package as the name of a part."""
    path = target if target.startswith("/") else posixpath.join("/", posixpath.dirname(name), target)
    return unquote(posixpath.normpath(path)).lstrip("/")


# --- trees whose namespaces differ by edition: names without them --------------------------------------------------


def name_of(element: _Element) -> str:
    """The name without its namespace; empty for comments."""
    tag: object = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: _Element | None, name: str) -> str:
    """The value of an attribute of any namespace; empty where there is none."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.items() if key == name or str(key).endswith(f"}}{name}")), "")


def children(element: _Element | None, *names: str) -> Iterator[_Element]:
    """The children with one of these names."""
    for child in element if element is not None else ():
        if name_of(child) in names:
            yield child


def first(element: _Element | None, *path: str) -> _Element | None:
    """The first child along a path of names."""
    for name in path:
        element = next(children(element, name), None)
    return element


def words(element: _Element | None) -> str:
    """All text inside, on one line."""
    return " ".join("".join(str(part) for part in element.itertext()).split()) if element is not None else ""
