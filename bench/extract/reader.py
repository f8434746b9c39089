"""Entry point of the built-in reader for an extraction harness: `(html, url) -> Markdown`."""

from __future__ import annotations

from websearch_adapters.extract.html import read_html


def markdown(html: str, url: str) -> str:
    """The content of a page as the built-in reader gives it out."""
    return read_html(html, url).markdown
