"""Counting tokens, for operators who budget in them."""

from __future__ import annotations

from collections.abc import Callable

from websearch_core.errors import NotConfigured

__all__ = ["counter"]


def counter() -> Callable[[str], int]:
    """Text → its tokens in cl100k, which lies within some per cent of what other models count.

    Raises:
        NotConfigured: the extra is not installed.
    """
    try:
        import bpe_openai
    except ImportError as error:
        hint = "Install it with: pip install 'websearch-mcp[tokens]'"
        raise NotConfigured("server.max_tokens needs the package bpe-openai", hint=hint) from error
    encode = bpe_openai.get_encoding("cl100k_base").encode_ordinary
    return lambda text: len(encode(text))
