"""`websearch config`: show, explain and change settings. Touches no network."""

from __future__ import annotations

import argparse
import json

from websearch_adapters import settings
from websearch_core.configuration import SwitchModel
from websearch_core.values import SwitchRequest, as_plain
from websearch_mcp.cli import output, session

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    if options.action == "model":
        return session.use(options, SwitchRequest, SwitchModel)
    if options.action == "reference":
        output.markdown(settings.reference())
        return 0
    loaded = session.configuration(options)
    if options.action == "init":
        written = settings.init_file(loaded.config_file)
        output.notice("written" if written else "already there; left as it is")
    if options.action in {"init", "path"}:
        output.data(str(loaded.config_file))
        return 0
    listing = loaded.listing()
    if options.json:
        output.data(json.dumps(as_plain(listing), ensure_ascii=False))
    else:
        output.data("\n".join(f"{one.name} = {json.dumps(one.value, ensure_ascii=False)}  # {one.origin}" for one in listing))
    return 0
