"""Coverage-guided fuzzing of the sanitiser, the reader of xAI's replies and the search for quotes.

Needs `atheris`, which the project does not depend on; run it from an environment of its own that also sees the project:

    python bench/fuzz_posts.py CORPUS_FOLDER -max_total_time=600 -print_final_stats=1

The folder keeps the inputs that reach new code; it starts with the recorded replies. An input is a byte that chooses what to
feed and the bytes to feed. Only errors of ours may come out; what is cleaned must be clean, and stay as it is when cleaned again.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parent.parent
SEEDS = ROOT / "tests" / "upstreams" / "payloads" / "xai-responses"

with atheris.instrument_imports(include=["websearch_core", "websearch_adapters"]):
    from websearch_adapters.providers.xai import ResponsesReply, posts_from_wire
    from websearch_core import budget, fence, quotes, urls
    from websearch_core.errors import WebSearchError
    from websearch_core.values import PostResult

BASE = "https://api.x.ai/v1"
KEPT = frozenset("\n\t\u00ad\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
HISTORICAL = range(0x1_1000, 0xE_0000)
"""Format characters of old scripts, which have a shape."""


def unseen(text: str) -> bool:
    """Whether there is anything that a terminal obeys or that nobody sees."""
    harmful = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return any(unicodedata.category(c) in harmful and c not in KEPT and ord(c) not in HISTORICAL for c in text)


def cleaned(text: str) -> str:
    """The text, cleaned and judged."""
    clean = fence.clean(text)
    assert not unseen(clean), repr(clean)
    assert fence.clean(clean) == clean, repr(clean)
    return clean


def quoted(text: str) -> None:
    """The quotes of a clean text, judged, and the text cut to size."""
    found = quotes.quotes_in(text)
    for quote in found:
        assert quote.url in text
        assert quote.text
        quotes.holds(text, quote.text)
    result = PostResult(session_id="0" * 12, content=text, quotes=found, sources=tuple(quotes.sourced(q.url) for q in found))
    assert budget.json_chars(budget.fit_posts(result, 8_000)) <= 8_000


def replied(body: bytes, size: int) -> None:
    """The reply in pieces of this size, as an answer."""
    reader, answer, fault = ResponsesReply(BASE, provider="xai", translate=posts_from_wire), None, ""
    try:
        for start in range(0, len(body), size):
            if reader.feed(body[start : start + size]):
                break
        answer = reader.close()
    except WebSearchError as error:
        fault = error.message
    assert not unseen(fault), repr(fault)
    if answer is not None:
        assert all(urls.is_web_url(source.url) and not unseen(source.url + source.title) for source in answer.sources)
        quoted(cleaned(answer.text))


def one(data: bytes) -> None:
    """One input."""
    kind, rest = data[:1], data[1:]
    if kind < b"\x55":
        replied(rest, 1 + kind[0] if kind else 64)
    else:
        text = cleaned(rest.decode("utf-16-le" if kind > b"\xaa" else "utf-8", "surrogatepass" if kind > b"\xaa" else "replace"))
        quoted(text)


def tried(data: bytes) -> None:
    """One input; bytes that are no text in its encoding are none."""
    try:
        one(data)
    except UnicodeDecodeError:
        return


def main() -> None:
    """Fill an empty corpus with the recorded replies, then fuzz."""
    folder = next((Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")), None)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for seed in (*SEEDS.glob("response.*"), *SEEDS.glob("stream.*"), *SEEDS.glob("error.*")):
            (folder / seed.name).write_bytes(b"\x40" + seed.read_bytes())
        texts = (
            "> It is open.\nhttps://x.com/a/status/1990000000000000001",
            '"one" — [@a](https://x.com/i/status/20)',
            "a\x1b]0;t\x07b\x9b31m",
        )
        for number, text in enumerate(texts):
            (folder / f"text-{number}").write_bytes(b"\x60" + text.encode())
    atheris.Setup(sys.argv, tried)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
