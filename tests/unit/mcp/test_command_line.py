"""What the command line says of itself."""

from __future__ import annotations

import inspect
import re

from websearch_core import errors
from websearch_mcp.cli.main import parser


def test_help_names_every_exit_status_of_an_error() -> None:
    raised = {
        kind.exit_code for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.WebSearchError)
    }
    _, _, told = " ".join(parser().format_help().split()).partition("Exit status: ")
    assert {int(status) for status in re.findall(r"\d+", told)} == {0, *raised}
