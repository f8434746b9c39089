"""Pages of manuals as twelve generators write them: code with its language, tables, headings, links and inline code, all known.

Each generator has its own markup around the same content: highlighters cut code into pieces, number its lines and add buttons;
headings carry permalinks; tables sit in boxes. The pages never change; their digest stands in the test.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from floors.pages import COOKIES, NAVIGATION, RELATED, Words

__all__ = ["Manual", "manuals"]

CODE = {
    "python": "import tide\n\n\ndef gauge(depth: int) -> str:\n    # a comment, *not* emphasis\n    if depth < 4 and tide.low():\n        return f'{depth} m <low>'\n    return \"fine\"",
    "bash": "pip install tide\nexport TIDE_HOME=\"$HOME/.tide\"\ntide run --port 8080 \\\n    --log info | tee log.txt",
    "go": "package main\n\nfunc main() {\n\tfor i := 0; i < 3; i++ {\n\t\tprintln(\"tide\", i)\n\t}\n}",
    "sql": "SELECT name, MAX(depth) AS deepest\nFROM gauges\nWHERE depth > 4\n  AND name LIKE 'North_%'\nGROUP BY name;",
    "yaml": "tide:\n  gauges:\n    - name: north\n      depth: 4.5\n  # every hour\n  interval: 3600",
    "rust": "fn main() {\n    let depth: Option<u8> = Some(4);\n    if let Some(d) = depth && d > 3 {\n        println!(\"{d}\");\n    }\n}",
}  # fmt: skip
INLINE = ("tide.run()", "--port", "Vec<u8>", "a | b", "__init__", "$HOME")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual:
    """One page with everything that a reader should keep of it."""

    name: str
    html: str
    prose: tuple[str, ...]
    code: tuple[tuple[str, str], ...]
    """Language and text of each block, in order."""
    rows: tuple[tuple[str, ...], ...]
    headings: tuple[tuple[int, str], ...]
    links: tuple[tuple[str, str], ...]
    """Words and absolute address."""
    inline: tuple[str, ...]
    noise: tuple[str, ...]


def _pieces(code: str, mark: str = "k") -> str:
    """The code as highlighters cut it."""
    tokens = [html.escape(token.group()) for token in _TOKEN.finditer(code)]
    return "".join(
        f'<span class="{mark}{n % 3}">{token}</span>' if not token.isspace() else token for n, token in enumerate(tokens)
    )


def _lines(code: str, line: Callable[[int, str], str], joint: str = "\n") -> str:
    return joint.join(line(number, _pieces(text)) for number, text in enumerate(code.split("\n"), 1))


def _sphinx(code: str, language: str) -> str:
    return f'<div class="highlight-{language} notranslate"><div class="highlight"><pre><span></span>{_pieces(code)}\n</pre></div></div>'


def _mkdocs(code: str, language: str) -> str:
    inner = _lines(code, lambda number, text: f'<a id="__codelineno-0-{number}" href="#__codelineno-0-{number}"></a>{text}')
    return f'<div class="language-{language} highlight"><pre><span></span><code>{inner}\n</code></pre></div>'


def _docusaurus(code: str, language: str) -> str:
    inner = _lines(code, lambda _, text: f'<span class="token-line" style="color:#393A34">{text}<br></span>', "")
    return (
        f'<div class="language-{language} codeBlockContainer_Ckt0 theme-code-block"><div class="codeBlockContent_biex"><pre tabindex="0" '
        f'class="prism-code language-{language} codeBlock_bY9V"><code class="codeBlockLines_e6Vv">{inner}</code></pre>'
        '<div class="buttonGroup__atx"><button type="button" aria-label="Copy code">Copy</button></div></div></div>'
    )


def _github(code: str, language: str) -> str:
    name = {"bash": "shell"}.get(language, language)
    return f'<div class="highlight highlight-source-{name}"><pre>{_pieces(code, "pl-")}</pre><div class="zeroclipboard-container"></div></div>'


def _hugo(code: str, language: str) -> str:
    numbers = "".join(f'<span class="lnt">{number}\n</span>' for number in range(1, code.count("\n") + 2))
    lines = _lines(code, lambda _, text: f'<span class="line"><span class="cl">{text}\n</span></span>', "")
    return (
        '<div class="highlight"><div class="chroma"><table class="lntable"><tr><td class="lntd"><pre tabindex="0" class="chroma"><code>'
        f'{numbers}</code></pre></td><td class="lntd"><pre tabindex="0" class="chroma"><code class="language-{language}" '
        f'data-lang="{language}">{lines}</code></pre></td></tr></table></div></div>'
    )


def _highlight_js(code: str, language: str) -> str:
    return f'<pre><code class="hljs language-{language}">{_pieces(code, "hljs-")}\n</code></pre>'


def _pandoc(code: str, language: str) -> str:
    inner = _lines(
        code, lambda number, text: f'<span id="cb1-{number}"><a href="#cb1-{number}" aria-hidden="true"></a>{text}</span>'
    )
    return f'<div class="sourceCode" id="cb1"><pre class="sourceCode {language}"><code class="sourceCode {language}">{inner}</code></pre></div>'


def _asciidoctor(code: str, language: str) -> str:
    return (
        f'<div class="listingblock"><div class="title">Example 1. A listing</div><div class="content"><pre class="highlight"><code '
        f'class="language-{language}" data-lang="{language}">{html.escape(code)}</code></pre></div></div>'
    )


def _wordpress(code: str, language: str) -> str:
    return f'<pre class="brush: {language}; title: ; notranslate" title="">\n{html.escape(code)}\n</pre>'


def _vitepress(code: str, language: str) -> str:
    inner = _lines(code, lambda _, text: f'<span class="line">{text}</span>')
    return (
        f'<div class="language-{language} vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">{language}'
        f'</span><pre class="shiki vp-code"><code>{inner}</code></pre></div>'
    )


def _mdbook(code: str, language: str) -> str:
    buttons = '<div class="buttons"><button class="fa fa-copy clip-button" title="Copy to clipboard"></button></div>'
    return f'<pre><pre class="playground">{buttons}<code class="language-{language} hljs">{_pieces(code)}\n</code></pre></pre>'


def _jekyll(code: str, language: str) -> str:
    return (
        f'<div class="language-{language} highlighter-rouge"><div class="highlight"><pre class="highlight"><code>{_pieces(code)}\n'
        "</code></pre></div></div>"
    )


GENERATORS: dict[str, Callable[[str, str], str]] = {
    "sphinx": _sphinx,
    "mkdocs": _mkdocs,
    "docusaurus": _docusaurus,
    "github": _github,
    "hugo": _hugo,
    "highlight.js": _highlight_js,
    "pandoc": _pandoc,
    "asciidoctor": _asciidoctor,
    "wordpress": _wordpress,
    "vitepress": _vitepress,
    "mdbook": _mdbook,
    "jekyll": _jekyll,
}
PERMALINKS = (
    '<a class="headerlink" href="#part-{n}" title="Permalink">¶</a>',
    '<a class="anchor" aria-hidden="true" href="#part-{n}"><svg><path d="M4"/></svg></a>',
    '<a href="#part-{n}" class="hash-link" aria-label="Direct link">&#8203;</a>',
    "",
)
NOISE = ("Section of the site 3", "Unrelated story number 2", "We value your privacy", "Copy to clipboard", "Edit this page")


def manuals() -> Iterator[Manual]:
    """Two pages of each generator, in an order that never changes."""
    for at, (name, block) in enumerate(GENERATORS.items()):
        for size in (3, 6):
            yield _manual(f"{name}-{size}", block, at * 10 + size, size)


def _manual(name: str, block: Callable[[str, str], str], seed: int, size: int) -> Manual:
    words, languages = Words(seed * 5), list(CODE)
    headings: list[tuple[int, str]] = [(1, f"The tide manual {seed}")]
    prose, code, links, inline, parts = [], list[tuple[str, str]](), list[tuple[str, str]](), list[str](), list[str]()
    for n in range(size):
        level, language = 2 + n % 2, languages[(seed + n) % len(languages)]
        headings.append((level, f"Part {n} of {seed}"))
        texts = [words.paragraph() for _ in range(2)]
        link, mark = (f"chapter {n} of {seed}", f"https://docs.example/{seed}/chapter-{n}.html"), INLINE[(seed + n) % len(INLINE)]
        linked = f'<a class="reference internal" href="/{seed}/chapter-{n}.html">{link[0]}</a>'
        permalink = PERMALINKS[seed % len(PERMALINKS)].format(n=n)
        parts.append(
            f'<h{level} id="part-{n}">{headings[-1][1]}{permalink}</h{level}><p>{texts[0]}</p>{block(CODE[language], language)}'
            f"<p>{texts[1]} See {linked}, or call <code>{html.escape(mark)}</code> by hand.</p>"
        )
        prose += texts
        code.append(("shell" if block is _github and language == "bash" else language, CODE[language]))
        links.append(link)
        inline.append(mark)
    rows = (
        ("Option", "Default", "Meaning"),
        *((f"--flag-{n}", str(n * seed), f"Sets the value {n} of {seed}.") for n in range(4)),
    )
    return Manual(
        name=name,
        html=_framed(seed, headings[0][1], "".join(parts) + _table(rows)),
        prose=tuple(prose),
        code=tuple(code),
        rows=rows,
        headings=tuple(headings),
        links=tuple(links),
        inline=tuple(inline),
        noise=NOISE,
    )


def _table(rows: tuple[tuple[str, ...], ...]) -> str:
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join(
        f"<tr><td><code>{row[0]}</code></td>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>" for row in rows[1:]
    )
    return f'<div class="table-wrapper"><table class="docutils"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _framed(seed: int, title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><title>{title} | Tide documentation</title><meta name="generator" content="Manual {seed}">'
        f'</head><body><header class="navbar"><a href="/">Tide</a></header><div class="wrapper"><nav class="sidebar"><ul>{NAVIGATION}</ul></nav>'
        f'<main><article class="markdown"><h1>{title}</h1>{body}<footer><a href="/edit/{seed}">Edit this page</a></footer></article></main>'
        f'<aside class="related-stories">{RELATED}</aside></div><footer><p>© Tide. All rights reserved.</p></footer>{COOKIES}</body></html>'
    )
