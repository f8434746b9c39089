"""Data to stdout, everything else to stderr; errors as one line, a blank line and a hint; exit statuses."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, cast

from websearch_core.errors import WebSearchError

if TYPE_CHECKING:
    from websearch_core.redaction import Redactor
    from websearch_core.values import Outcome

__all__ = ["data", "exit_status", "failure", "filtered", "guarded", "hide_secrets", "markdown", "notice", "plain", "use_utf8"]

INTERRUPTED = 130
BROKEN_PIPE = 141


def use_utf8() -> None:
    """Write UTF-8 whatever the locale; a character that cannot be written becomes `?` instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def hide_secrets(redact: Redactor) -> None:
    """Let no secret out of `sys.stdout` and `sys.stderr`, whoever writes: commands, tracebacks, warnings, libraries.

    Standard output holds content, unless it leads to standard error.
    """
    errors = filtered(sys.stderr, redact.text)
    sys.stdout = errors if sys.stdout is sys.stderr else filtered(sys.stdout, redact.content)
    sys.stderr = errors


def filtered(stream: TextIO, clean: Callable[[str], str]) -> TextIO:
    """The stream, with `clean` applied to each text that is written to it."""
    return cast("TextIO", _Filtered(stream, clean))


class _Filtered:
    """Looks like the stream behind it."""

    def __init__(self, stream: TextIO, clean: Callable[[str], str]) -> None:
        self._stream = stream
        self._clean = clean

    def write(self, text: str) -> int:
        self._stream.write(self._clean(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(run: Callable[[], int]) -> int:
    """Run a command; each error of ours as a line and a hint, a closed pipe and Ctrl-C without a traceback."""
    try:
        status = run()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except WebSearchError as error:
        return failure(error.message, error.hint, error.exit_code)
    except Exception as error:
        logging.getLogger(__name__).debug("a fault of ours", exc_info=True)
        return failure(f"a fault of websearch ({type(error).__name__})", "Report it; GROK_DEBUG=1 shows where it happened.", 70)
    except KeyboardInterrupt:
        return INTERRUPTED


def data(text: str) -> None:
    """One piece of the result."""
    print(text)


def notice(text: str) -> None:
    """Something about the work, for a person."""
    print(text, file=sys.stderr)


def failure(message: str, hint: str | None, status: int) -> int:
    """An error: one line, a blank line, a hint."""
    notice(f"error: {message}")
    if hint:
        notice(f"\nhint: {hint}")
    return status


def plain(outcome: Outcome) -> None:
    """The structured result as one JSON line, the same as the MCP tool's."""
    from websearch_core.values import as_plain

    data(json.dumps(as_plain(outcome), ensure_ascii=False, separators=(",", ":")))


def markdown(text: str) -> None:
    """Markdown, rendered where a person looks at it, as it is in a pipe; `NO_COLOR` is respected."""
    if not sys.stdout.isatty():
        data(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def exit_status(outcome: Outcome) -> int:
    """0 for a success, also a partial one; else that of the error."""
    return outcome.error_detail.exit_code if outcome.status == "error" and outcome.error_detail is not None else 0
