"""Under which licences the packages stand that an installation brings, with and without extras.

`python bench/licences.py` prints `copyleft_runtime`: the packages that may be had only under the GPL or AGPL, and those whose
licence nobody can tell. Everything is read from what is installed: each package's own metadata, then its licence file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PRODUCT = "websearch-mcp"
PROJECT = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = tuple(extra for extra in PROJECT["optional-dependencies"] if extra not in {"dev", "testing"})
"""Those that bring something to whoever uses the product."""
PLATFORMS: tuple[Mapping[str, str], ...] = (
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
)
PYTHONS = ("3.11", "3.14")
ELSEWHERE = {"pywin32": "PSF-2.0", "colorama": "BSD-3-Clause", "pywin32-ctypes": "BSD-3-Clause"}
"""Packages that only other systems get, by their pages on the index, read 2026-11-30."""
FILES = ((re.compile(r"\bMIT License\b|Permission is hereby granted, free of charge"), "MIT"),)
SPELLED = {
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "BSD-3-Clause, Apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",
}
STRONG = re.compile(r"(?<!L)A?GPL|(?<!Lesser )General Public License|Affero", re.IGNORECASE)
WEAK = re.compile(r"LGPL|Lesser General Public|MPL|Mozilla|EPL|CDDL|EUPL", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package that an installation brings."""

    name: str
    licence: str
    """As an SPDX expression where that is known; blank where nothing is."""
    brought_by: tuple[str, ...]
    """The extras that bring it; empty where every installation has it."""

    @property
    def kind(self) -> str:
        """`permissive`, `weak copyleft`, `strong copyleft` or `unknown`, of the kindest licence to choose."""
        kinds = [_kind(choice) for choice in re.split(r"\s+OR\s+", self.licence)]
        return min(kinds, key=("permissive", "weak copyleft", "strong copyleft", "unknown").index)


def copyleft_runtime() -> float:
    """Packages under the GPL or AGPL alone, or under nobody knows what."""
    return sum(package.kind in {"strong copyleft", "unknown"} for package in packages())


def packages() -> tuple[Package, ...]:
    """What an installation with all extras brings on any system, without ourselves, by name."""
    base = _closure(())
    brought = {extra: _closure((extra,)) - base for extra in EXTRAS}
    names = base.union(*brought.values()) - {PRODUCT}
    return tuple(
        Package(name=name, licence=licence(name), brought_by=tuple(extra for extra in EXTRAS if name in brought[extra]))
        for name in sorted(names)
    )


def licence(name: str) -> str:
    """What a package says of itself."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    about = metadata.metadata(name)
    classifiers = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or () if one.startswith("License ::")]
    said = (about.get("License-Expression"), _short(about.get("License")), *classifiers)
    found = next((one for one in said if one), "")
    return SPELLED.get(found, found) or _by_file(name)


def _kind(choice: str) -> str:
    if not choice:
        return "unknown"
    if STRONG.search(choice):
        return "strong copyleft"
    return "weak copyleft" if WEAK.search(choice) else "permissive"


def _short(text: str | None) -> str:
    """The field `License` where it is a name and not a whole text, nor a word that says nothing."""
    line = (text or "").strip()
    return "" if len(line) > 60 or "\n" in line or line.upper() == "UNKNOWN" else line


def _by_file(name: str) -> str:
    for path in metadata.files(name) or ():
        if re.match(r"(?i)licen[cs]e|copying", path.name):
            text = path.locate().read_text(encoding="utf-8", errors="replace")
            return next((spdx for words, spdx in FILES if words.search(text)), "")
    return ""


def _closure(extras: Iterable[str]) -> set[str]:
    """Every package that is needed, on any of the systems; names as the index has them."""
    seen: set[tuple[str, str]] = set()
    left = [(PRODUCT, extra) for extra in ("", *extras)]
    while left:
        name, extra = left.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for needed in _needed(name, extra):
            left += [(str(canonicalize_name(needed.name)), one) for one in ("", *needed.extras)]
    return {name for name, _ in seen}


def _needed(name: str, extra: str) -> list[Requirement]:
    if name == PRODUCT:
        ours = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
        return [Requirement(one) for one in ours]
    try:
        written = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        if name in ELSEWHERE:
            return []
        raise
    return [one for one in map(Requirement, written) if _holds(one, extra)]


def _holds(requirement: Requirement, extra: str) -> bool:
    """Whether it is wanted for this extra on some system; a requirement without a marker belongs to no extra."""
    marker = requirement.marker
    if marker is None:
        return not extra
    places = [{**place, "python_version": python, "extra": extra} for place in PLATFORMS for python in PYTHONS]
    return any(marker.evaluate(place) for place in places)


def page() -> str:
    """The licences as a page."""
    found = packages()
    weak = [f"`{one.name}` ({one.licence})" for one in found if one.kind == "weak copyleft"]
    lines = [
        "# Licences",
        "",
        f"What an installation brings: {sum(not one.brought_by for one in found)} packages, and the extras the others.",
        "Each is installed as its authors publish it and is used unchanged; nothing of theirs is copied into this project.",
        "",
        f"Under the GPL or AGPL: {', '.join(f'`{one.name}`' for one in found if one.kind == 'strong copyleft') or 'none'}.",
        f"Under a licence with weak copyleft, which concerns changes to their own files alone: {', '.join(weak)}.",
        "What a package carries inside, such as PDFium in `pypdfium2`, is named in its own licence files.",
        "",
        "| Package | Licence | Kind | Comes with |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{one.name}` | {one.licence} | {one.kind} | {_with(one)} |" for one in found]
    return "\n".join(lines) + "\n"


def _with(package: Package) -> str:
    where = ", ".join(f"extra `{extra}`" for extra in package.brought_by) or "every installation"
    return f"{where}, on some systems" if package.name in ELSEWHERE else where


if __name__ == "__main__":
    for package in packages():
        if package.kind != "permissive":
            print(f"{package.name}: {package.licence or 'unknown'} ({package.kind})")
    print(f"copyleft_runtime {copyleft_runtime():g}")
