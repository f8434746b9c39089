"""What an installation weighs that reads, maps and searches without any key.

The keyless core is the core, the readers, the mapper's reading of sitemaps and robots.txt, and the library: what turns bytes
into text, and finds it again. Its packages are copied, compiled as an installer does, into an empty folder, where an interpreter
that sees nothing else reads a page, a robots.txt and a sitemap, and finds a word in a library.

`python bench/keyless_core.py` prints `keyless_core_megabytes` and `keyless_core_packages`, ourselves included, and for
comparison both with the client that fetches pages (`with_client`).
"""

from __future__ import annotations

import compileall
import functools
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
CORE = ("annotated-types", "charset-normalizer", "lxml", "protego")
CLIENT = ("anyio", "certifi", "h11", "httpcore", "httpx", "idna", "typing-extensions")
READS = """
import sys

sys.path.insert(0, sys.argv[1])

import asyncio
import pathlib

from protego import Protego

from websearch_adapters.extract.sitemap import read_sitemap
from websearch_adapters.extract.reading import Document, read
from websearch_adapters.library.index import SqliteLibrary
from websearch_core.values import Page

words = "编程语言的历史与设计，" * 40
page = f"<html><title>page</title><body>{'<nav>menu</nav>' * 999}<article><h1>title</h1><p>{words}</p></article>"
body = page.encode("gb18030")
reading = read(Document(body=body, url="https://site.example/", content_type="text/html", status=200))
assert words[:40] in reading.text, reading.text
assert not Protego.parse("User-agent: *\\nDisallow: /no").can_fetch("https://site.example/no", "websearch")
sitemap = b"<urlset><url><loc>https://site.example/a</loc></url></urlset>"
assert read_sitemap(sitemap, "https://site.example/sitemap.xml").pages


async def found():
    library = SqliteLibrary(pathlib.Path(sys.argv[1]) / "library.sqlite3")
    await library.add([Page(url="https://site.example/", title="title", text=reading.text, provider="local")])
    passages = await library.search("编程语言")
    await library.aclose()
    pathlib.Path(sys.argv[1], "library.sqlite3").unlink()
    return passages


assert asyncio.run(found())
if "httpx" in sys.argv[2:]:
    import httpx
    import websearch_adapters.http.egress
strange = [name for name, one in sys.modules.items() if (getattr(one, "__file__", "") or "").find("site-packages") >= 0]
assert not strange, strange
"""


def keyless_core_megabytes() -> float:
    """Size of the keyless core on disk, in millions of bytes."""
    return _measured(CORE)[0]


def keyless_core_packages() -> float:
    """Packages of the keyless core, ourselves included."""
    return _measured(CORE)[1]


@functools.cache
def _measured(names: tuple[str, ...]) -> tuple[float, int]:
    """Megabytes and packages of an installation that has been seen to work."""
    with tempfile.TemporaryDirectory() as place:
        target = Path(place)
        for name in names:
            _copy(name, target)
        for package in SOURCE.iterdir():
            if package.is_dir() and package.name != "websearch_mcp":
                shutil.copytree(package, target / package.name, ignore=shutil.ignore_patterns("__pycache__", "testing"))
        compileall.compile_dir(target, quiet=2)
        _seen_to_work(target, names)
        size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    return round(size / 1_000_000, 1), len(names) + 1


def _copy(name: str, target: Path) -> None:
    """The files of an installed package, without what was compiled here and without scripts."""
    for file in metadata.files(name) or ():
        if ".." in file.parts or file.suffix == ".pyc":
            continue
        place = target / file
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.locate(), place)


def _seen_to_work(target: Path, names: tuple[str, ...]) -> None:
    """Read and find with these packages alone.

    Raises:
        CalledProcessError: it does not work, so the size says nothing.
    """
    command = [sys.executable, "-I", "-S", "-B", "-c", READS, str(target), *names]
    subprocess.run(command, check=True, capture_output=True, text=True, cwd=target)


if __name__ == "__main__":
    for what, size in (("keyless_core", _measured(CORE)), ("with_client", _measured((*CORE, *CLIENT)))):
        print(f"{what}_megabytes {size[0]:g}\n{what}_packages {size[1]}")
