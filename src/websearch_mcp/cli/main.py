"""The command line: argparse and nothing else; each command imports what it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

__all__ = ["main", "parser"]

FRESH = ("any", "day", "week", "month", "year")
DEPTHS = ("auto", "fast", "standard", "deep")
CHECKS = ("off", "cheap", "full")


def main(arguments: Sequence[str]) -> int:
    """Run one command; the exit status of `docs/reference/errors.md`."""
    options = parser().parse_args(arguments)
    if options.command is None:
        parser().print_help(sys.stderr)
        return 2
    from importlib import import_module

    from websearch_mcp.cli import output

    if options.command != "mcp":  # the server takes standard output aside first; what is buffered in it must not get out
        output.use_utf8()
    run: Callable[[argparse.Namespace], int] = import_module(f"websearch_mcp.cli.{options.command}").run
    return output.guarded(lambda: run(options))


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="websearch",
        description="Search the web, read pages and map sites from the command line, or serve all of it over MCP.",
        epilog="Data goes to stdout, everything else to stderr. Settings: websearch config reference. Exit status: "
        "0 done, or in part; 2 wrong arguments; 3 not set up; 4 not allowed; 5 unknown session; 6 failed elsewhere; "
        "70 a fault of websearch.",
    )
    top.add_argument("--version", action="store_const", const="version", dest="command", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    _search(commands.add_parser("search", help="answer a question with sources"))
    _x(commands.add_parser("x", help="search X and quote its posts with their links"))
    _sources(commands.add_parser("sources", help="page through the sources of an earlier search"))
    _fetch(commands.add_parser("fetch", help="read a page as Markdown"))
    _map(commands.add_parser("map", help="list the pages of a site"))
    _library(commands.add_parser("library", help="your own pages and files, searchable without network"))
    doctor = _common(commands.add_parser("doctor", help="check every part, show where settings come from"))
    doctor.add_argument("--live", action="store_true", help="probe the way a real call would; may cost")
    _upstream(commands.add_parser("upstream", help="other MCP servers whose tools are served too"))
    _login(commands.add_parser("login", help="sign in with a subscription instead of a key"))
    _common(commands.add_parser("logout", help="forget the sign-in, here and at the issuer"))
    _config(commands.add_parser("config", help="show, explain or change settings"))
    mcp = commands.add_parser("mcp", help="serve MCP on stdin and stdout")
    mcp.add_argument("--config", metavar="FILE", help="settings file (WEBSEARCH_CONFIG)")
    mcp.add_argument(
        "--toolsets", metavar="LIST", help="toolsets to publish: core,x,admin,planning,hub (WEBSEARCH_TOOLSETS, server.toolsets)"
    )
    return top


def _common(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("--json", action="store_true", help="print the structured result of the MCP tool as one JSON line")
    command.add_argument("--config", metavar="FILE", help="settings file (WEBSEARCH_CONFIG)")
    return command


def _search(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("query", nargs="+", help="what to find out")
    command.add_argument("--platform", default="", help="site or community to focus on")
    command.add_argument("--extra-sources", type=int, metavar="N", help="further sources, 0 to 20 (search.extra_sources)")
    command.add_argument("--fresh-within", choices=FRESH, default="any", help="only material this recent")
    command.add_argument("--include-domains", default="", metavar="A,B", help="only these hosts")
    command.add_argument("--exclude-domains", default="", metavar="A,B", help="never these hosts")
    command.add_argument("--depth", choices=DEPTHS, default="auto", help="how thorough")
    command.add_argument("--include-content", action="store_true", help="read the first sources too")
    command.add_argument("--verify", choices=CHECKS, help="check cited pages (search.verify)")
    command.add_argument("--model", default="", help="model for this call (engine.primary_model)")
    command.add_argument("--engine", metavar="NAME", help="auto, xai, chat, echo or none (WEBSEARCH_ENGINE_KIND, engine.kind)")
    _size(command)


def _x(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("query", nargs="+", help="what to find out")
    command.add_argument("--handles", dest="allowed_x_handles", default="", metavar="A,B", help="only posts of these accounts")
    command.add_argument(
        "--exclude-handles", dest="excluded_x_handles", default="", metavar="A,B", help="never posts of these accounts"
    )
    command.add_argument("--from", dest="from_date", default="", metavar="YYYY-MM-DD", help="first day, UTC")
    command.add_argument("--to", dest="to_date", default="", metavar="YYYY-MM-DD", help="last day, included")
    switch = argparse.BooleanOptionalAction
    command.add_argument("--images", dest="enable_image_understanding", action=switch, help="also look at images")
    command.add_argument("--videos", dest="enable_video_understanding", action=switch, help="also watch videos")
    command.add_argument("--verify", action="store_true", help="look quotes up on their posts' pages")
    _size(command)


def _sources(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("session_id", help="from an earlier search")
    command.add_argument("--offset", type=int, default=0, help="first source")
    command.add_argument("--limit", type=int, default=50, help="most sources")
    command.add_argument("--start", type=int, help="also the answer's text from this character")
    _size(command)


def _fetch(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("url", help="absolute http(s) address")
    command.add_argument("--start", type=int, default=0, help="character to start from")
    command.add_argument("--section", default="", help="only this section: its number or heading, as the outline has it")
    command.add_argument("--query", default="", help="only the passages about this")
    command.add_argument("--selector", default="", help="only what this CSS selector matches")
    command.add_argument("--provider", default="", help="only this reader, such as local; a name of fetch.extractors")
    _size(command, "fetch.max_chars")


def _map(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("url", help="absolute http(s) address")
    command.add_argument("--instructions", default="", help="what pages are wanted")
    command.add_argument("--max-depth", type=int, default=1, help="links to follow from the start, 1 to 5")
    command.add_argument("--max-breadth", type=int, default=20, help="links to follow per page, 1 to 500")
    command.add_argument("--limit", type=int, default=50, help="most pages, 1 to 500")
    command.add_argument("--offset", type=int, default=0, help="where to read on")
    command.add_argument("--timeout", type=int, default=150, help="seconds for the crawl, 10 to 150")
    command.add_argument("--provider", default="", help="only this mapper, such as local; a name of map.mappers")
    _patterns(command)
    _size(command)


def _patterns(command: argparse.ArgumentParser) -> None:
    about = "only pages whose path fits, such as '/docs/*'; may be given again"
    command.add_argument("--include", action="append", default=[], metavar="GLOB", help=about)
    command.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="no pages whose path fits")


def _size(command: argparse.ArgumentParser, setting: str = "search.max_chars") -> None:
    command.add_argument("--max-chars", type=int, metavar="N", help=f"longest result, 1000 to 200000 ({setting})")


def _library(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = _common(actions.add_parser("add", help="index a file, a folder or a page"))
    add.add_argument("target", nargs="+", help="path or http(s) address")
    add.add_argument(
        "--site", action="store_true", help="map each address and index all pages found; goes on where it was stopped"
    )
    _patterns(add)
    add.add_argument("--max-depth", type=int, default=5, help="with --site: links to follow from the start, 1 to 5")
    add.add_argument("--limit", type=int, default=10_000, help="with --site: most pages, 1 to 100000")
    add.add_argument("--retry", action="store_true", help="try files again that could not be read and have not changed")
    listing = _common(actions.add_parser("list", help="what is in it"))
    listing.add_argument("--offset", type=int, default=0, help="first entry")
    listing.add_argument("--limit", type=int, default=100, help="most entries")
    remove = _common(actions.add_parser("remove", help="forget a page, a file or all below a folder or address"))
    remove.add_argument("target", nargs="+", help="path or address")


def _upstream(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = _common(actions.add_parser("add", help="name one, by a program to run or by its address"))
    add.add_argument("name", help="letters, digits, - and single _")
    add.add_argument("--url", help="address of the server")
    add.add_argument("--type", choices=("stdio", "http", "sse"), help="transport, where the rest does not tell")
    add.add_argument(
        "--env", action="append", default=[], metavar="A=B", help="variable of the child; ${NAME} is put in at its start"
    )
    add.add_argument("--inherit-env", action="append", default=[], metavar="A", help="variable of ours that the child gets")
    add.add_argument("--header", action="append", default=[], metavar="A=B", help="sent with each request; ${NAME} is put in")
    add.add_argument("--cwd", help="folder of the child")
    add.add_argument("--allow", action="append", default=[], metavar="TOOL", help="only these tools, such as 'get_*'")
    add.add_argument("--deny", action="append", default=[], metavar="TOOL", help="none of these tools")
    add.add_argument("--tool-timeout", type=float, metavar="S", help="seconds that a call may take")
    add.add_argument("--replace", action="store_true", help="also when there is one of this name")
    add.add_argument("--run", nargs=argparse.REMAINDER, metavar="PROGRAM", help="program with its arguments; comes last")
    _common(actions.add_parser("list", help="what is configured, and what is wrong with it; connects to nobody"))
    status = _common(actions.add_parser("status", help="connect, and show how each stands"))
    status.add_argument("name", nargs="*", help="only these")
    login = _common(actions.add_parser("login", help="log in at one, in a browser"))
    login.add_argument("name")
    login.add_argument("--no-browser", action="store_false", dest="browser", help="show the address, open nothing")
    login.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds to wait for the browser")
    for action, about in (
        ("enable", "connect it from now on"),
        ("disable", "leave it unconnected, its entry kept"),
        ("remove", "forget it, its login and what was accepted of it"),
        ("logs", "what its process wrote last"),
    ):
        _common(actions.add_parser(action, help=about)).add_argument("name")
    explain = _common(actions.add_parser("explain", help="why a tool is or is not there for a model"))
    explain.add_argument("tool", help="its id, or its raw name")
    accept = _common(actions.add_parser("accept", help="take the present words of its tools, after reading them"))
    accept.add_argument("name")
    accept.add_argument("tool", nargs="?", help="only of this tool, by its raw name")


def _login(command: argparse.ArgumentParser) -> None:
    _common(command)
    command.add_argument("action", nargs="?", choices=("status",), help="show how the sign-in stands, and change nothing")
    command.add_argument("--device", action="store_true", help="type a code in a browser anywhere; for SSH and containers")
    command.add_argument("--no-browser", action="store_false", dest="browser", help="show the address, open nothing")
    command.add_argument("--client-id", metavar="ID", help="client id (WEBSEARCH_XAI_OAUTH_CLIENT_ID, xai.oauth_client_id)")
    command.add_argument("--port", type=int, metavar="N", help="port for the browser's answer (xai.oauth_port)")
    command.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds to wait for the browser")


def _config(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    _common(actions.add_parser("show", help="every setting, its value and where it comes from"))
    _common(actions.add_parser("path", help="the settings file"))
    _common(actions.add_parser("init", help="write a commented settings file, if there is none"))
    _common(actions.add_parser("reference", help="the reference page of all settings"))
    switch = _common(actions.add_parser("model", help="set the engine's primary model"))
    switch.add_argument("model", help="name as the engine knows it")
