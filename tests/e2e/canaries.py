"""Keys that can be recognised in whatever form they come out, planted wherever a key can stand, and what comes out then.

Each walk runs real processes at their most talkative and returns place → what was found there. `leaks` says what of it holds
more of a key than a fingerprint may show. It knows nothing of how keys are taken out.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from e2e.wire import WAIT_S, Wire, environment
from upstreams.chat_completions import ChatUpstream
from upstreams.firecrawl import FirecrawlUpstream
from upstreams.pages import PagesSite
from upstreams.script import Step, answering, ok, redirect, status
from upstreams.serve import serving
from upstreams.sources import Source
from upstreams.tavily import TavilyUpstream
from upstreams.xai import XaiUpstream
from websearch_adapters import settings
from websearch_core.ports import AnswerEngine, Extractor, Mapper, SourceFinder
from websearch_core.values import FetchRequest, MapRequest, SearchQuery
from websearch_mcp.container import Closing, build

CANARIES = {
    "xai": "xai-Kq7&Zt2/Wv9+Rb4%41m_6=Px8Ls3Jd",
    "chat": "sk-Hn5~Gy1/Qc8+Tk3%2Fw_9=Ve6Bz7Xf",
    "tavily": "tvly-Ur4!Dm9/Lh2+Sj7%25p_3=Fa8Ck5Yt",
    "tavily, second": "tvly-Oi8$Ex3/Nb6+Wg1%3Dq_5=Rz2Hv9Mu",
    "firecrawl": "fc-Ya2@Pj7/Xs5+Kd9%7Ec_1=Gt4Lw6Qn",
    "password": "pw-Bf6?Vu1/Zr8+Ne3#9kt_7=Jm5Sx2Ho",
    "query": "qs-Tw9:Cl4/Ig7+Mf2%20y_8=Da3Uk6Ep",
}
WINDOW = 8
ANSWER_URL = "https://council.example.org/bridge"
ADDRESSES = ("GROK_SEARCH_URL", "GROK_API_URL", "TAVILY_API_URL", "FIRECRAWL_API_URL")
COMMAND = str(Path(sys.executable).with_name("websearch"))


@dataclass(frozen=True, slots=True)
class Loud:
    """The upstreams of a walk, and the environment that leads to them."""

    xai: XaiUpstream
    chat: ChatUpstream
    tavily: TavilyUpstream
    firecrawl: FirecrawlUpstream
    site: str
    env: dict[str, str]

    def follow(self, *steps: Step) -> None:
        """Let every upstream do the same."""
        for upstream in (self.xai, self.chat, self.tavily, self.firecrawl):
            upstream.follow(*steps)

    def heard(self) -> int:
        """Requests since the last `follow`."""
        return sum(len(one.requests) for one in (self.xai, self.chat, self.tavily, self.firecrawl))


# --- looking


def written(canary: str) -> dict[str, str]:
    """The canary in the forms in which an upstream can echo it."""
    octets = canary.encode()
    return {
        "raw": canary,
        "URL": quote(canary, safe=""),
        "lower-case URL": "".join(f"%{ord(one):02x}" if not one.isalnum() else one for one in canary),
        "JSON": json.dumps(canary).replace("/", "\\/")[1:-1],
        "hexadecimal": octets.hex(),
        **{f"Base64 after {n}": base64.b64encode(b"user:"[:n] + octets).decode() for n in range(3)},
        "URL-safe Base64": base64.urlsafe_b64encode(octets).decode().rstrip("="),
    }


ECHO = " | ".join(form for canary in CANARIES.values() for form in written(canary).values())


def _needles() -> Iterator[tuple[str, bytes]]:
    """Pieces of every form: whoever shows 11 characters in a row shows one of them, and no fingerprint does."""
    for name, canary in CANARIES.items():
        for form, text in written(canary).items():
            pure = text[3:-3] if "Base64" in form else text  # its edges depend on what stands beside it
            for at in range(0, len(pure) - WINDOW + 1, 4):
                yield f"{name}, {form}", pure[at : at + WINDOW].encode()


NEEDLES = tuple(_needles())


def leaks(places: Mapping[str, bytes]) -> list[str]:
    """`place: canary, form` for each place in which more of a canary stands than a fingerprint may show."""
    return sorted({f"{place}: {what}" for place, data in places.items() for what, needle in NEEDLES if needle in data})


def files(home: Path) -> dict[str, bytes]:
    """Everything below the home but the configuration file, in which keys may stand."""
    found = [path for path in home.rglob("*") if path.is_file() and path.name != "config.toml"]
    return {f"file {path.relative_to(home)}": path.read_bytes() for path in found}


# --- planting


def echoes(text: str = ECHO, code: str = CANARIES["xai"]) -> dict[str, Step]:
    """Replies that repeat keys, by default all of them in all forms: failures, and what only looks like a success."""
    error = {"error": {"message": text, "code": code, "type": code}, "detail": {"error": text}}
    page = f"<!doctype html><title>{text[:300]}</title><p>{text}</p>"
    headers = {"x-request-id": quote(code), "retry-after": code, "set-cookie": f"k={code}"}
    event = f"event: error\ndata: {json.dumps(error)}\n\n"
    return {
        "an error in a success": ok(error),
        "a page in place of an API": status(200, body=page),
        "no JSON": answering("no JSON", lambda _: Response(f'{{"answer": {text}', 200, None, "application/json")),
        "an error event": answering("event", lambda _: Response(event, 200, None, "text/event-stream")),
        "a redirect": redirect(f"http://127.0.0.1:9/login?token={quote(code)}&key={quote(code)}"),
        "400": status(400, body=error),
        "404": status(404, body=page),
        "422": status(422, body={"detail": [{"msg": text, "input": code}]}),
        "500": status(500, body=page, headers=headers),
        "429": status(429, body=error, headers=headers),
        "403": status(403, body=error),
        "401": status(401, body=error),
    }


def _site() -> PagesSite:
    forms = "".join(f"<p>{form}</p>" for form in ECHO.split(" | "))
    links = "".join(f'<a href="/page?k={quote(canary)}">{canary}</a> ' for canary in CANARIES.values())
    article = f"<p>{'The bridge was closed for a year and is open again. ' * 40}</p>"
    to = f"/page?token={quote(CANARIES['xai'])}"
    return PagesSite(
        {
            "/": f"<title>{CANARIES['xai']}</title><main>{article}{links}{forms}</main>",
            "/page": f"<title>Page</title><main>{article}{forms}</main>",
            "/away": redirect(to, 302),
            "/refused": status(403, body=f"<p>{ECHO}</p>"),
        }
    )


def _environment(home: Path, urls: Mapping[str, str], **more: str) -> dict[str, str]:
    """All keys in use, everything logged, no waiting; the chat endpoint's key stands in the file."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(f"[chat]\napi_key = {json.dumps(CANARIES['chat'])}\n", encoding="utf-8")
    quick = {
        "WEBSEARCH_ENGINE_RETRY_MULTIPLIER_S": "0",
        "WEBSEARCH_ENGINE_MAX_ATTEMPTS": "1",
        "TAVILY_KEY_COOLDOWN": "0",
        "TAVILY_QUOTA_COOLDOWN": "0",
        "TAVILY_SERVICE_COOLDOWN": "0",
        "WEBSEARCH_FETCH_ALLOW_HOSTS": "127.0.0.1",
    }
    keys = {
        "XAI_API_KEY": CANARIES["xai"],
        "TAVILY_API_KEYS": f"{CANARIES['tavily']},{CANARIES['tavily, second']}",
        "FIRECRAWL_API_KEY": CANARIES["firecrawl"],
    }
    talk = {"GROK_DEBUG": "1", "WEBSEARCH_LOG_LEVEL": "DEBUG"}
    return environment(home, **{**quick, **keys, **talk, **urls, **more})


class Planted:
    """Upstreams on loopback that answer with every key in their text; a context manager."""

    def __init__(self, home: Path, **more: str) -> None:
        self._home, self._more = home, more
        self._stack = ExitStack()

    def __enter__(self) -> Loud:
        sources = [Source(url=f"{ANSWER_URL}?k={quote(canary)}", title=ECHO, text=ECHO) for canary in CANARIES.values()]
        xai, chat = XaiUpstream(answer_text=ECHO, sources=sources, quotes=[ECHO]), ChatUpstream(answer_text=ECHO, sources=sources)
        tavily, firecrawl = TavilyUpstream(sources=sources, pages={ANSWER_URL: ECHO}), FirecrawlUpstream(sources=sources)
        urls = {
            "GROK_SEARCH_URL": f"{self._stack.enter_context(serving(xai))}/v1",
            "GROK_API_URL": f"{self._stack.enter_context(serving(chat))}/v1",
            "TAVILY_API_URL": self._stack.enter_context(serving(tavily)),
            "FIRECRAWL_API_URL": self._stack.enter_context(serving(firecrawl)),
        }
        site = self._stack.enter_context(serving(_site()))
        env = _environment(self._home, urls, **self._more)
        return Loud(xai, chat, tavily, firecrawl, site, env)

    def __exit__(self, *failure: object) -> None:
        self._stack.close()


def in_addresses(env: Mapping[str, str], *names: str) -> dict[str, str]:
    """The environment with a user, a password and a query in these addresses of upstreams."""
    user, key = quote(CANARIES["password"], safe=""), quote(CANARIES["query"], safe="")
    return {**env, **{name: f"{env[name].replace('://', f'://me:{user}@')}?api_key={key}&api-version=1" for name in names}}


# --- the walks


def of_a_server(home: Path) -> dict[str, bytes]:
    """One session over stdio: echoes of upstreams, pages, every argument, broken messages, the listing, another model."""
    with Planted(home) as loud, Wire(in_addresses(loud.env, "GROK_API_URL")) as wire:
        wire.initialize()
        found = wire.result("web_search", query="bridge", extra_sources=5, include_content=True)["structuredContent"]
        wire.result("get_sources", session_id=found["session_id"], start=0)
        wire.result("x_search", query="bridge")
        for number, step in enumerate(echoes().values()):
            loud.follow(step)
            wire.result("web_search", query=f"bridge {number}", extra_sources=3)
            wire.result("x_search", query=f"bridge {number}")
            for provider in ("tavily", "firecrawl"):
                wire.result("web_fetch", url=f"{ANSWER_URL}/{number}", provider=provider)
                wire.result("web_map", url=f"{ANSWER_URL}/{number}", provider=provider)
        _read_pages(wire, loud.site)
        wire.result("get_config_info")
        _say_keys(wire)
        wire.end_input()
        wire.ended()
        return {"the server's stdout": b"".join(wire.lines), "the server's stderr": wire.stderr.encode(), **files(home)}


def _read_pages(wire: Wire, site: str) -> None:
    for path in ("/", "/away", "/refused"):
        wire.result("web_fetch", url=site + path, provider="local")
    whole = wire.result("web_fetch", url=f"{site}/page", provider="local", max_chars=100_000)["structuredContent"]
    for start in range(0, whole["total_chars"], 1_013):  # cuts that go through keys
        wire.result("web_fetch", url=f"{site}/page", provider="local", start=start, max_chars=1_000)
    wire.result("web_map", url=f"{site}/", provider="local")


def _say_keys(wire: Wire) -> None:
    """Every key in every argument, in names, and in messages that are none."""
    for canary in CANARIES.values():
        url = f"https://me:{quote(canary, safe='')}@host.invalid/?key={quote(canary)}"
        wire.result("web_search", query=f"what is {canary}?", platform=canary, extra_sources=1)
        wire.result("web_search", query="q", include_domains=[canary], fresh_within=canary)
        wire.result("web_search", query="q", **{canary: canary})
        wire.result("get_sources", session_id=canary)
        wire.result("x_search", query=f"what is {canary}?", to_date=canary[:10], allowed_x_handles=[canary])
        wire.result("x_search", query=f"what is {canary}?", excluded_x_handles=["a"])
        wire.result("web_fetch", url=url)
        wire.result("web_fetch", url=f"ftp://host.invalid/{canary}", provider=canary)
        wire.result("web_map", url=url, instructions=canary, provider=canary)
        for params in ({"name": canary}, {"name": "web_search", "arguments": canary}, {canary: canary}):
            wire.reply(wire.request("tools/call", params))
        wire.reply(wire.request(canary, {}))
        wire.send(f'{{"jsonrpc": "2.0", "id": 1, "method": "{canary}'.encode() + b"\n")
        wire.send({"jsonrpc": "1.0", "method": canary, "params": canary})
    wire.result("switch_model", model=CANARIES["xai"])
    wire.result("web_search", query="with a key for a model", extra_sources=0)


def of_commands(home: Path) -> dict[str, bytes]:
    """Every command once, then failing searches; refused keys come last, for they are remembered from process to process."""
    places: dict[str, bytes] = {}
    with Planted(home) as loud:
        env = in_addresses(loud.env, "GROK_API_URL")
        url = f"https://me:{quote(CANARIES['xai'], safe='')}@host.invalid/"
        places |= command(env, "search", "bridge", "--include-content")
        places |= command({**env, "GROK_MODEL": CANARIES["chat"]}, "search", *CANARIES.values(), "--platform", CANARIES["xai"])
        places |= command(env, "x", *CANARIES.values())
        places |= command(env, "x", "bridge", "--handles", CANARIES["xai"], place="a handle")
        places |= command(env, "fetch", f"{loud.site}/away", "--provider", "local")
        places |= command(env, "fetch", url, "--provider", CANARIES["xai"])
        places |= command(env, "map", f"{loud.site}/", "--provider", "local")
        places |= command(env, "config", "show")
        places |= command(env, "config", "show", "--json", place="as JSON")
        echoed = echoes()
        for name in ("a page in place of an API", "500", "401"):
            loud.follow(echoed[name])
            places |= command(env, "doctor", place=f"after {name}")
            places |= command({**env, "WEBSEARCH_LOG_FORMAT": "json"}, "search", "--json", name, place=f"after {name}")
        places |= command(env, "config", "model", CANARIES["tavily"])
        return places | files(home)


def of_addresses(home: Path) -> dict[str, bytes]:
    """Keys in the addresses of upstreams, for each engine; a second spelling of a setting's name and a value of a wrong type."""
    places: dict[str, bytes] = {}
    wrong = {"WEBSEARCH_XAI_API_KEYS": CANARIES["xai"], "WEBSEARCH_ENGINE_MAX_ATTEMPTS": CANARIES["tavily"]}
    with Planted(home, **wrong) as loud:
        env = in_addresses(loud.env, *ADDRESSES)
        for engine in ("xai", "chat"):
            chosen = {**env, "WEBSEARCH_ENGINE_KIND": engine}
            places |= command(chosen, "search", "--json", "bridge", place=engine)
            places |= command(chosen, "doctor", "--live", place=engine)
        places |= command(env, "config", "show")
        with Wire(env) as wire:
            wire.initialize()
            wire.result("get_config_info")
            wire.result("web_search", query="bridge", extra_sources=3)
            wire.result("web_fetch", url=ANSWER_URL, provider="tavily")
            wire.end_input()
            wire.ended()
            places |= {"the server's stdout": b"".join(wire.lines), "the server's stderr": wire.stderr.encode()}
        return places | files(home)


async def of_exceptions(home: Path) -> dict[str, bytes]:
    """What an application that embeds the library gets to see: the error with its traceback, for each key in use."""
    places: dict[str, bytes] = {}
    with Planted(home) as loud:
        for engine in ("xai", "chat"):
            for name, step in echoes(CANARIES[engine], CANARIES[engine]).items():
                loud.follow(step)
                box = build(settings.read(environ={**loud.env, "WEBSEARCH_ENGINE_KIND": engine}))
                places[f"{engine} after {name}"] = await _error_of(box.resolve(AnswerEngine).answer(SearchQuery(query="q")))
                await box.resolve(Closing).aclose()
        for name, step in echoes(CANARIES["tavily"], CANARIES["tavily"]).items():
            loud.follow(step)
            box = build(settings.read(environ={**loud.env, "TAVILY_API_KEYS": CANARIES["tavily"], "FIRECRAWL_ENABLED": "0"}))
            calls = {
                "finder": box.resolve(SourceFinder).find(SearchQuery(query="q")),
                "extractor": box.resolve(Extractor).extract(FetchRequest(url=f"{loud.site}/refused")),
                "mapper": box.resolve(Mapper).map(MapRequest(url=f"{loud.site}/refused")),
            }
            for part, call in calls.items():
                places[f"{part} after {name}"] = await _error_of(call)
            await box.resolve(Closing).aclose()
    return places


async def _error_of(call: Any) -> bytes:
    try:
        await call
    except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
        told = "".join(traceback.format_exception(error))
        return f"{told}\n{error!r}\n{vars(error)!r}".encode("utf-8", "replace")
    return b""


def command(env: Mapping[str, str], *arguments: str, place: str = "") -> dict[str, bytes]:
    """Run `websearch`; both of its outputs."""
    run = subprocess.run([COMMAND, *arguments], env=dict(env), capture_output=True, timeout=WAIT_S, check=False)
    what = f"`{' '.join(arguments[:2])}` {place}"
    return {f"stdout of {what}": run.stdout, f"stderr of {what}": run.stderr}
