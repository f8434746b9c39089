"""Pages of every kind, made by rule: what a reader should keep is known word by word, and so is what it should drop.

Each kind comes in several frames (how sites wrap their content) and sizes. Nothing here is taken from a site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle

__all__ = ["Sample", "samples"]

SUBJECTS = ("The harbour", "A lighthouse", "The tide table", "Every pilot", "The old ferry", "A survey vessel", "The new pier")
VERBS = ("keeps", "measures", "records", "crosses", "repairs", "describes", "follows")
OBJECTS = (
    "the northern channel",
    "a row of buoys",
    "its own timetable",
    "the winter storms",
    "the depth of the basin",
    "three islands",
)
ENDINGS = (
    "before noon",
    "with great care",
    "according to the log",
    "since the last flood",
    "as the crew expected",
    "without a pause",
)


class Words:
    """Sentences that do not repeat within a few hundred."""

    def __init__(self, seed: int) -> None:
        self._count = seed * 101

    def sentence(self) -> str:
        self._count += 1
        n = self._count
        return f"{SUBJECTS[n % 7]} {VERBS[n // 7 % 7]} {OBJECTS[n // 3 % 6]} {ENDINGS[n // 5 % 6]}, and entry number {n} says so."

    def paragraph(self, sentences: int = 3) -> str:
        return " ".join(self.sentence() for _ in range(sentences))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A page with what its content is and is not."""

    name: str
    kind: str
    html: str
    content: tuple[str, ...]
    noise: tuple[str, ...]
    code: tuple[str, ...] = ()
    tables: int = 0


NAVIGATION = "".join(f'<li><a href="/section/{n}">Section of the site {n}</a></li>' for n in range(14))
RELATED = "".join(
    f'<div class="card"><a href="/story/{n}"><h3>Unrelated story number {n}</h3></a><p>A teaser of story {n}, to be clicked.</p></div>'
    for n in range(6)
)
COOKIES = '<div class="cookie-consent"><p>We value your privacy and use cookies.</p><button>Accept</button></div>'
NOISE = ("Section of the site 3", "Unrelated story number 2", "We value your privacy", "All rights reserved")


def _semantic(main: str) -> str:
    return (
        f"<header><a href='/'>Site</a><nav><ul>{NAVIGATION}</ul></nav></header><main>{main}</main>"
        f'<aside class="related-stories"><h2>Related stories</h2>{RELATED}</aside><footer><p>© Site. All rights reserved.</p></footer>{COOKIES}'
    )


def _divs(main: str) -> str:
    return (
        f'<div id="header"><div class="menu"><ul>{NAVIGATION}</ul></div></div><div id="wrapper"><div class="content">{main}</div>'
        f'<div class="sidebar"><div class="related-posts">{RELATED}</div></div></div>'
        f'<div id="footer"><p>© Site. All rights reserved.</p></div>{COOKIES}'
    )


def _tables(main: str) -> str:
    return (
        f'{COOKIES}<table width="100%"><tr><td class="navigation"><ul>{NAVIGATION}</ul></td><td>{main}</td>'
        f'<td class="sidebar">{RELATED}</td></tr></table><div class="footer"><p>© Site. All rights reserved.</p></div>'
    )


FRAMES: dict[str, Callable[[str], str]] = {"semantic": _semantic, "divs": _divs, "tables": _tables}


def _page(body: str, head: str = "") -> str:
    return f"<!doctype html><html lang='en'><head><title>A page | Site</title>{head}</head><body>{body}</body></html>"


def _article(words: Words, size: int) -> tuple[str, str, tuple[str, ...]]:
    texts = [words.paragraph() for _ in range(size)]
    inner = "".join(f"<h2>Part {n}</h2><p>{text}</p>" if n % 4 == 3 else f"<p>{text}</p>" for n, text in enumerate(texts))
    return '<meta property="og:type" content="article">', f"<article><h1>A headline</h1>{inner}</article>", tuple(texts)


def _forum(words: Words, size: int) -> tuple[str, str, tuple[str, ...]]:
    texts = [words.paragraph(2) for _ in range(size)]
    posts = "".join(
        f'<div class="post"><div class="post-author">user{n}</div><div class="post-body"><p>{text}</p></div></div>'
        for n, text in enumerate(texts)
    )
    return '<meta name="generator" content="phpBB">', f"<h1>A question about tides</h1>{posts}", tuple(texts)


def _product(words: Words, size: int) -> tuple[str, str, tuple[str, ...]]:
    texts = [words.paragraph() for _ in range(max(3, size // 2))]
    inner = "".join(f"<p>{text}</p>" for text in texts)
    sheet = "".join(f"<tr><th>Property {n}</th><td>{n * 7} mm</td></tr>" for n in range(5))
    main = f'<h1>Tide gauge</h1><div class="product-description">{inner}</div><table class="specs">{sheet}</table>'
    return '<meta property="og:type" content="product">', main, (*texts, "28 mm")


def _service(words: Words, size: int) -> tuple[str, str, tuple[str, ...]]:
    texts = [words.paragraph(2) for _ in range(size)]
    return "", "".join(f"<section><h2>Offer {n}</h2><p>{text}</p></section>" for n, text in enumerate(texts)), tuple(texts)


def _listing(words: Words, size: int) -> tuple[str, str, tuple[str, ...]]:
    texts = [words.sentence() for _ in range(size * 2)]
    items = "".join(f'<li><a href="/entry/{n}">Entry {n}</a><p>{text}</p></li>' for n, text in enumerate(texts))
    return "", f"<h1>All entries</h1><ul>{items}</ul>", ("All entries", *(f"Entry {n}" for n in range(len(texts))), *texts)


def _collection(words: Words, size: int) -> tuple[str, str, tuple[str, ...]]:
    texts = [words.sentence() for _ in range(size * 2)]
    cards = "".join(
        f'<div class="item"><h3><a href="/i/{n}">Item {n}</a></h3><p>{text}</p></div>' for n, text in enumerate(texts)
    )
    intro = words.paragraph()
    return (
        "",
        f'<h1>The collection</h1><p>{intro}</p><div class="grid">{cards}</div>',
        (intro, *(f"Item {n}" for n in range(len(texts))), *texts),
    )


CODE = "def gauge(depth: int) -> str:\n    # a comment, *not* emphasis\n    return f'{depth} m'"


def _manual(words: Words, size: int) -> tuple[str, str, tuple[str, ...]]:
    texts = [words.paragraph() for _ in range(size)]
    rows = "".join(f"<tr><td><code>--flag-{n}</code></td><td>Sets the value {n}.</td></tr>" for n in range(4))
    table = f"<table><thead><tr><th>Option</th><th>Meaning</th></tr></thead><tbody>{rows}</tbody></table>"
    block = f'<pre><code class="language-python">{CODE.replace(">", "&gt;")}</code></pre>'
    inner = "".join(f"<h2>Step {n}</h2><p>{text}</p>{block if n == 1 else ''}" for n, text in enumerate(texts))
    return "", f"<h1>Manual</h1>{inner}{table}", (*texts, "Sets the value 3.")


KINDS: dict[str, Callable[[Words, int], tuple[str, str, tuple[str, ...]]]] = {
    "article": _article,
    "forum": _forum,
    "product": _product,
    "service": _service,
    "listing": _listing,
    "collection": _collection,
    "documentation": _manual,
}


def samples() -> Iterator[Sample]:
    """Every kind in every frame, small and large by turns, in an order that never changes."""
    sizes = cycle((8, 24))
    for seed, (kind, make) in enumerate(KINDS.items()):
        for frame, wrap in FRAMES.items():
            for size in (next(sizes), next(sizes)) if frame != "tables" else (next(sizes),):
                head, main, content = make(Words(seed * 7 + size), size)
                manual = kind == "documentation"
                yield Sample(
                    name=f"{kind}-{frame}-{size}",
                    kind=kind,
                    html=_page(wrap(main), head),
                    content=content,
                    noise=NOISE,
                    code=(CODE,) if manual else (),
                    tables=1 if manual else 0,
                )
