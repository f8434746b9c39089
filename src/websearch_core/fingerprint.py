"""Stable cache keys of questions: the same question in another spelling has the same key, any other field another key."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import unicodedata

from websearch_core import urls
from websearch_core.values import MapRequest, PostQuery, SearchQuery, as_plain

__all__ = ["of_map", "of_page", "of_posts", "of_query"]


def of_query(query: SearchQuery, *, model: str = "") -> str:
    """Key of a search; case, white space, Unicode form and the order of domains do not matter, nor how much is shown."""
    plain = dataclasses.replace(
        query,
        query=_folded(query.query),
        platform=_folded(query.platform) if query.platform.strip() else "",
        include_domains=_sorted(query.include_domains),
        exclude_domains=_sorted(query.exclude_domains),
        model=query.model or model,
        max_chars=24_000,
    )
    return f"query:{_digest(plain)}"


def of_page(url: str, provider: str = "", selector: str = "") -> str:
    """Key of a page, or of a selected part of it, as read by anyone or by the one reader that the caller named."""
    return f"page:{_digest([urls.canonical(url), provider, *([selector] if selector else [])])}"


def of_map(request: MapRequest) -> str:
    """Key of a site map; the piece of it that is shown does not matter."""
    fields = [urls.canonical(request.url), request.instructions, request.max_depth, request.max_breadth, request.limit]
    return f"map:{_digest([*fields, request.provider, *request.patterns])}"


def of_posts(query: PostQuery) -> str:
    """Key of a search on X; spelling and order do not matter, nor how much is shown, nor whether quotes are looked up."""
    plain = dataclasses.replace(
        query,
        query=_folded(query.query),
        allowed_x_handles=tuple(sorted(map(str.lower, query.allowed_x_handles))),
        excluded_x_handles=tuple(sorted(map(str.lower, query.excluded_x_handles))),
        verify=False,
        max_chars=24_000,
    )
    return f"posts:{_digest(plain)}"


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()) or text


def _sorted(domains: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({domain.strip().lower().removeprefix("*.").removeprefix("www.") for domain in domains}))


def _digest(value: object) -> str:
    text = json.dumps(as_plain(value), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
