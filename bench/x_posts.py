"""What of a hostile answer about X reaches a terminal or a model.

`python bench/x_posts.py` prints `x_sanitiser_escapes`: of 5,000 answers that are made of terminal commands, direction marks and
what else nobody sees, in text, quotes, titles and addresses, those of which anything is left in the structured result, in the
text for the model or in the text for a person. Every one of them goes the whole way: reply, translation, use case, rendering.

`fuzz_posts.py` beside it looks for crashes of the same way by coverage, for as long as one lets it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from property.test_x_posts import hostile_replies, left_over

EXAMPLES = 5_000


def x_sanitiser_escapes() -> float:
    """Hostile answers of which something is left."""
    escaped = tried = 0

    @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(hostile_replies())
    def count(reply: dict[str, object]) -> None:
        nonlocal escaped, tried
        tried += 1
        escaped += bool(left_over(reply))

    count()
    if tried < EXAMPLES:
        raise SystemExit(f"only {tried} answers were tried")
    return escaped


if __name__ == "__main__":
    print("x_sanitiser_escapes", x_sanitiser_escapes())
