"""The page that a browser shows at the end of a sign-in: one file, no outside address, light and dark.

What comes from others is text in it and never markup; its headers let it load nothing, run nothing of others and be framed by
nobody. A script of two lines takes the code out of the address bar and the history.
"""

from __future__ import annotations

import html
import secrets
from typing import Literal, TypeAlias

from websearch_core.fence import clean

__all__ = ["Mood", "page"]

Mood: TypeAlias = Literal["good", "bad", "strange"]
MAX_CHARS = 400
_MARKS: dict[Mood, str] = {
    "good": '<path d="M20 33.5 28.5 42 45 24"/>',
    "bad": '<path d="M23 23 42 42M42 23 23 42"/>',
    "strange": '<path d="M32.5 19v17M32.5 44.5v.5"/>',
}
_COLOURS: dict[Mood, tuple[str, str]] = {
    "good": ("#117a4d", "#4cd497"),
    "bad": ("#b3261e", "#ff8a80"),
    "strange": ("#8a5a00", "#ffc95c"),
}
_ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 65 65'%3E"
_STYLE = """
:root{color-scheme:light dark;--ground:#f3f4f7;--card:#fff;--ink:#16181d;--soft:#5a6070;--line:#e2e5ec;--mark:LIGHT}
@media (prefers-color-scheme:dark){
:root{--ground:#111318;--card:#1a1d24;--ink:#f1f3f8;--soft:#a3abbd;--line:#2b303b;--mark:DARK}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--ground);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{width:100%;max-width:27rem;padding:2.75rem 2.25rem 2rem;text-align:center;background:var(--card);
border:1px solid var(--line);border-radius:1.25rem;box-shadow:0 1px 2px #0000000d,0 16px 40px -16px #0000002e}
svg{width:4.5rem;height:4.5rem;margin-bottom:1.25rem;fill:none;stroke:var(--mark);stroke-width:3.5;
stroke-linecap:round;stroke-linejoin:round}
circle{opacity:.28}
h1{margin:0 0 .6rem;font-size:1.55rem;line-height:1.25;letter-spacing:-.015em;text-wrap:balance}
p{margin:0 0 .6rem;color:var(--soft);overflow-wrap:anywhere;text-wrap:pretty}
p.said{margin:1.1rem 0;padding:.75rem 1rem;text-align:left;color:var(--ink);background:var(--ground);
border-left:3px solid var(--mark);border-radius:.5rem}
footer{margin-top:1.75rem;padding-top:1.1rem;border-top:1px solid var(--line);font-size:.82rem;color:var(--soft)}
@media (prefers-reduced-motion:no-preference){
path{stroke-dasharray:70;animation:draw .55s .1s ease-out both}@keyframes draw{from{stroke-dashoffset:70}to{stroke-dashoffset:0}}}
"""


def page(mood: Mood, title: str, *, text: str, said: str = "") -> tuple[bytes, dict[str, str]]:
    """The page and its headers. `said` is a stranger's words, shown apart; every text is cleaned, cut and escaped."""
    nonce = secrets.token_urlsafe(16)
    light, dark = _COLOURS[mood]
    style = _STYLE.replace("LIGHT", light).replace("DARK", dark).strip()
    quoted = f'<p class="said">{_safe(said)}</p>' if said else ""
    icon = f"{_ICON}%3Ccircle cx='32.5' cy='32.5' r='30' fill='%23{light[1:]}'/%3E%3C/svg%3E"
    body = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<title>{_safe(title)} · websearch</title>
<link rel="icon" href="{icon}">
<style nonce="{nonce}">{style}</style>
</head>
<body>
<main role="{"status" if mood == "good" else "alert"}">
<svg viewBox="0 0 65 65" aria-hidden="true"><circle cx="32.5" cy="32.5" r="30"/>{_MARKS[mood]}</svg>
<h1>{_safe(title)}</h1>
{quoted}
<p>{_safe(text)}</p>
<footer>websearch on this computer</footer>
</main>
<script nonce="{nonce}">history.replaceState(null, "", "/");</script>
</body>
</html>
"""
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    return body.encode(), headers


def _safe(text: str) -> str:
    return html.escape(" ".join(clean(text).split())[:MAX_CHARS])
