"""No token of a login leaves a server, also the one that came while it ran, and whatever form an upstream repeats it in."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from e2e.canaries import WINDOW, echoes, written
from e2e.login_browser import COMMAND, SignIn, configured
from e2e.wire import Wire
from upstreams.issuer import IssuerUpstream
from upstreams.serve import serving


def tokens_of(home: Path) -> list[str]:
    """What makes the tokens in the file worth something: the signature of one, the whole of the other."""
    stored = json.loads((home / "data" / "login.json").read_text(encoding="utf-8"))
    return [str(stored["access_token"]).rpartition(".")[2], str(stored["refresh_token"])]


def found(text: str, tokens: list[str]) -> list[str]:
    """Pieces of tokens in any form that stand in the text."""
    pieces = []
    for token in tokens:
        for form, shown in written(token).items():
            pure = shown[3:-3] if "Base64" in form else shown
            pieces += [
                f"{form}: {pure[at : at + WINDOW]}"
                for at in range(0, len(pure) - WINDOW + 1, 4)
                if pure[at : at + WINDOW] in text
            ]
    return pieces


def everything_in(home: Path) -> str:
    files = [path for path in home.rglob("*") if path.is_file() and path.name != "login.json"]
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


def test_no_token_leaves_a_server(tmp_path: Path) -> None:
    upstream = IssuerUpstream(device=("tokens",), device_interval_s=1)
    with serving(upstream) as url:
        env = configured(tmp_path, url, GROK_DEBUG="1", GROK_MODEL_MAX_ATTEMPTS="1")
        with SignIn(env, "--device") as sign_in:
            assert sign_in.ended()[0] == 0
        tokens = tokens_of(tmp_path)
        with Wire(env) as wire:
            wire.initialize()
            assert wire.result("web_search", query="before")["structuredContent"]["status"] == "success"
            upstream.expire()
            assert wire.result("web_search", query="after")["structuredContent"]["status"] == "success"
            tokens += tokens_of(tmp_path)
            assert len(set(tokens)) == 4
            stored = json.loads((tmp_path / "data" / "login.json").read_text(encoding="utf-8"))
            text = " | ".join(form for token in (*tokens, stored["access_token"]) for form in written(token).values())
            upstream.answer_text = text
            for number, step in enumerate([*echoes(text, tokens[-1]).values()]):
                upstream.follow(step)
                wire.result("web_search", query=f"repeat {number}")
            wire.result("get_config_info")
            wire.end_input()
            wire.ended()
            told = b"".join(wire.lines).decode() + wire.stderr + everything_in(tmp_path)
    assert "signed in, used for searches" in told
    assert found(text, tokens)
    assert found(told, tokens) == []


def test_no_token_leaves_a_command(tmp_path: Path) -> None:
    import subprocess

    upstream = IssuerUpstream(device=("tokens",), device_interval_s=1)
    with serving(upstream) as url:
        env = configured(tmp_path, url, GROK_DEBUG="1")
        told, tokens = "", list[str]()
        for words in (
            ["login", "--device"],
            ["login", "status", "--json"],
            ["doctor", "--json"],
            ["config", "show"],
            ["search", "q"],
            ["logout"],
        ):
            done = subprocess.run([COMMAND, *words], env=env, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            told += done.stdout + done.stderr
            tokens = tokens or tokens_of(tmp_path)
    assert upstream.revoked == [tokens[1]]
    assert found(told + everything_in(tmp_path), tokens) == []
    assert sys.platform == "win32" or not list((tmp_path / "data").glob("*.json"))
