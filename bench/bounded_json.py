"""How long the largest replies, made to be as slow as can be, keep the event loop from everything else.

`python bench/bounded_json.py` prints, of each of ten megabytes, the milliseconds that `json` alone takes and those that reading
with a bound takes; `json_blocked_ms` is the most of the latter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

from websearch_adapters import bounded_json

SIZE = 10 * 1_024 * 1_024


def hostile() -> dict[str, str]:
    """Documents of ten megabytes: as many values of a kind as fit, one text of what is slow to read, and just below the bound."""
    below = bounded_json.MAX_VALUES
    kinds = {"lists": "[]", "objects": "{}", "numbers": "0", "texts": '""', "inside": '{"a":{"a":{"a":[]}}}', "reals": "1.1e1"}
    texts = {"newlines": r"\n", "escapes": r"\u4e00", "quotes": r"\"", "backslashes": "\\\\", "commas": ",", "chinese": "桥"}
    return {
        **{name: "[" + ",".join([unit] * (SIZE // (len(unit) + 1))) + "]" for name, unit in kinds.items()},
        "names": "{" + ",".join(f'"{at}":0' for at in range(SIZE // 11)) + "}",
        **{name: '{"body":"' + unit * (SIZE // len(unit.encode())) + '"}' for name, unit in texts.items()},
        "digits": "[0." + "1" * SIZE + "]",
        "below": "[" + ",".join(['{"a":[]}'] * (below // 3)) + ',"' + r"\n" * (SIZE // 2) + '"]',
    }


def took_ms(read: Callable[[str], object], document: str) -> float:
    """The time of one reading, whatever it comes to, and of forgetting what it made."""
    started = time.perf_counter()
    with suppress(ValueError):
        read(document)
    return 1_000 * (time.perf_counter() - started)


def json_blocked_ms() -> float:
    """The longest of them."""
    return round(max(took_ms(bounded_json.loads, document) for document in hostile().values()))


def main() -> None:
    """A table."""
    for name, document in hostile().items():
        print(f"{name:12} {took_ms(json.loads, document):7.0f} {took_ms(bounded_json.loads, document):7.0f}")


if __name__ == "__main__":
    main()
