"""Web addresses: judge their form, compare them, join them.

Pure string work. Whether an address may be *fetched* is `egress`' question.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit, urlunsplit

from websearch_core.errors import InvalidInput

__all__ = ["absolute", "canonical", "find_urls", "host", "host_matches", "is_web_url", "origin", "path_matches", "web_url"]

_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING = re.compile(r"^(utm_.*|fbclid|gclid|mc_cid|mc_eid|ref_src)$", re.IGNORECASE)
_FORBIDDEN = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
    r"\\<>\"`{}|^]"
)
"""What no address holds as it is; characters that nobody sees are escaped in honest ones."""
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_PATH_CHARS = "%/:=&~+!$,;'@()*[]"
_DOTS = ".。．｡"  # all of them separate the labels of an international host
_BARE_URL = re.compile(
    r"https?://(?:(?!\]\()[^\s\x00-\x1f\x7f<>\"`{}|\\^\u3000-\u303f\uff00-\uffef\u2018-\u201f])+", re.IGNORECASE
)
MAX_URL_CHARS = 2_048
QUOTED_ONLY = "Files are not fetched; a search quotes those that the local library holds."
LATELY = 512
"""Addresses whose judgement is remembered: in one search each of them is looked at several times."""


def web_url(text: str) -> str:
    """Return `text` trimmed if it is an absolute http(s) address with a host.

    Raises:
        InvalidInput: another scheme, no host, a bad port, blanks, control or invisible characters, over 2,048 characters.
    """
    url = text.strip()
    if not is_web_url(url):
        is_file = url.lower().startswith("file:")
        raise InvalidInput(
            "url must be an absolute http:// or https:// address",
            hint=QUOTED_ONLY if is_file else "Give the whole address, with http:// or https://.",
        )
    return url


def is_web_url(text: str) -> bool:
    """Whether `text` is an absolute http(s) address with a host and a legal port."""
    return 0 < len(text) <= MAX_URL_CHARS and _is_web_url(text)


@functools.lru_cache(LATELY)
def _is_web_url(text: str) -> bool:
    if _FORBIDDEN.search(text):
        return False
    parts = _split(text)
    return parts is not None and parts.scheme.lower() in _DEFAULT_PORTS and bool(_ascii_host(parts.hostname or ""))


def host(url: str) -> str:
    """The lower-case host in its ASCII form, without port and user; empty when there is none."""
    parts = _split(url)
    return _ascii_host(parts.hostname or "") if parts else ""


def host_matches(url_or_host: str, domain: str) -> bool:
    """Whether the host is `domain` or one of its subdomains; `notexample.com` is not `example.com`.

    `domain` may carry a leading `*.` or `.`, a scheme or a path; only its host counts.
    """
    wanted = _bare_domain(domain)
    have = host(url_or_host) if "//" in url_or_host else _ascii_host(url_or_host.lower())
    return bool(wanted) and (have == wanted or have.endswith("." + wanted))


def path_matches(url: str, patterns: Sequence[str]) -> bool:
    """Whether the path, with its query, fits one of the patterns without `!`, if there are any, and none of the others.

    `*` stands for any characters, also slashes; everything else for itself, escaped or not. A pattern fits from the path's
    first slash to its end: `/docs/*` means everything below `/docs/`.
    """
    parts = _split(url)
    path = unquote(f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}") if parts else ""
    wanted = [unquote(pattern) for pattern in patterns if not pattern.startswith("!")]
    unwanted = [unquote(pattern[1:]) for pattern in patterns if pattern.startswith("!")]
    return (not wanted or any(_fits(path, pattern) for pattern in wanted)) and not any(_fits(path, one) for one in unwanted)


def _fits(path: str, pattern: str) -> bool:
    """Piece by piece from the left: no pattern costs more than one pass."""
    first, *rest = pattern.split("*")
    if not rest:
        return path == pattern
    if not path.startswith(first) or len(path) < len(first) + len(rest[-1]) or not path.endswith(rest[-1]):
        return False
    at, end = len(first), len(path) - len(rest[-1])
    for piece in rest[:-1]:
        found = path.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end


def origin(url: str) -> str:
    """Scheme, host and port in their normal form, such as `https://api.x.ai`; empty where `url` is no web address."""
    if not is_web_url(url) or (parts := _split(url)) is None:
        return ""
    name = host(url)
    port = f":{parts.port}" if parts.port not in (None, _DEFAULT_PORTS[parts.scheme.lower()]) else ""
    return f"{parts.scheme.lower()}://{f'[{name}]' if ':' in name else name}{port}"


def canonical(url: str) -> str:
    """The form under which two addresses of one page compare equal; not for fetching.

    Scheme and host in lower case, no leading `www.`, default port or fragment; escapes normalised; repeated and trailing
    slashes folded; query sorted, tracking parameters dropped. http and https stay different; path case is kept.
    Anything unparseable comes back unchanged.
    """
    parts = _split(url.strip())
    name = parts.hostname if parts is not None else None
    if parts is None or not name or parts.scheme.lower() not in _DEFAULT_PORTS:
        return url
    scheme = parts.scheme.lower()
    path = re.sub(r"/{2,}", "/", _normal_escapes(parts.path, _PATH_CHARS)).rstrip("/") or "/"
    return urlunsplit((scheme, _netloc(parts, name, scheme), path, _sorted_query(parts.query), ""))


def absolute(base: str, reference: str) -> str | None:
    """Join a link found on page `base`; None unless the result is a web address. The fragment is dropped."""
    try:
        joined = urlsplit(urljoin(base, reference.strip()))
    except ValueError:
        return None
    url = urlunsplit(joined._replace(netloc=_ascii_netloc(joined.netloc), fragment=""))
    url = quote(url, safe=_PATH_CHARS + "?#", errors="surrogatepass")
    return url if is_web_url(url) else None


def find_urls(text: str) -> tuple[str, ...]:
    """Bare web addresses in prose, in order; closing punctuation is left out, balanced parentheses are kept."""
    return tuple(url for url in (_trim_tail(match.group()) for match in _BARE_URL.finditer(text)) if is_web_url(url))


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _ascii_host(name: str) -> str:
    name = name.lower().rstrip(_DOTS)
    try:
        return name.encode("idna").decode("ascii") if not name.isascii() else name
    except UnicodeError:
        return name


def _ascii_netloc(netloc: str) -> str:
    if netloc.isascii():
        return netloc
    user, at, address = netloc.rpartition("@")
    name, colon, port = address.partition(":")
    return f"{user}{at}{_ascii_host(name)}{colon}{port}"


def _bare_domain(domain: str) -> str:
    text = domain.strip().lower()
    text = host(text) if "//" in text else text.split("/")[0].split(":")[0]
    return _ascii_host(text.removeprefix("*.").removeprefix("."))


def _netloc(parts: SplitResult, name: str, scheme: str) -> str:
    name = _ascii_host(name)
    name = f"[{name}]" if "[" in parts.netloc else name
    while name.startswith("www.") and name.count(".") > 1:
        name = name.removeprefix("www.")
    user = parts.netloc.rpartition("@")[0]
    number = parts.port
    port = f":{number}" if number not in (None, _DEFAULT_PORTS[scheme]) else ""
    return f"{user}@{name}{port}" if user else f"{name}{port}"


def _normal_escapes(text: str, safe: str) -> str:
    """Escapes in upper case and only where needed; a percent sign that begins none is itself escaped, as servers read it."""

    def one(match: re.Match[str]) -> str:
        char = chr(int(match.group(1) or "25", 16))
        return char if char in _UNRESERVED else f"%{ord(char):02X}"

    return quote(_PERCENT.sub(one, text), safe=safe, errors="surrogatepass")


def _sorted_query(query: str) -> str:
    """The pairs in order; bytes stay as they are, for not every query is UTF-8."""
    pairs = (pair.replace("+", "%20").partition("=") for pair in query.split("&") if pair)
    normal = [(_normal_escapes(name, "%"), _normal_escapes(value, "%")) for name, _, value in pairs]
    return "&".join(sorted(f"{name}={value}" for name, value in normal if not _TRACKING.match(name)))


def _trim_tail(url: str) -> str:
    while True:
        shorter = url.rstrip(".,;:!?'*_~")
        if shorter.endswith((")", "]")) and shorter.count(shorter[-1]) > shorter.count({")": "(", "]": "["}[shorter[-1]]):
            shorter = shorter[:-1]
        if shorter == url:
            return url
        url = shorter
