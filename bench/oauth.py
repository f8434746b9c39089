"""What a shared login costs and survives.

`python bench/oauth.py` prints three figures:

`oauth_refreshes_per_expiry`: 20 processes that pay with one login, and in each of 100 rounds one more that is killed in the
middle of the renewal (see `e2e.login_fleet` for the two moments); refreshes that the issuer counted, for each end of a token.

`oauth_lost_logins`: of the 2,000 calls of those that were not killed, how many failed for want of a token.

`token_foreign_origins`: origins other than the issuer's API that were sent anything of a token, when the API redirects in every
way, when the address is a relay's or looks like the vendor's, and when there is a proxy for everything.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from e2e.login_fleet import Tally, killed_while_renewing
from integration.login_origins import ATTEMPTS, origins_that_saw_the_token

PROCESSES, ROUNDS = 20, 100


@functools.cache
def tally() -> Tally:
    """All rounds, once for both figures."""
    with tempfile.TemporaryDirectory() as home:
        return killed_while_renewing(Path(home), processes=PROCESSES, rounds=ROUNDS)


def oauth_refreshes_per_expiry() -> float:
    """Refreshes that the issuer counted for each end of a token; a second use of a refresh token counts as one too."""
    found = tally()
    return (found.refreshes + found.reuses) / found.expiries


def oauth_lost_logins() -> float:
    """Calls that failed, of at least 2,000."""
    found = tally()
    if found.calls < PROCESSES * ROUNDS:
        raise SystemExit(f"only {found.calls} calls were made")
    for line in found.failures[:20]:
        print(line, file=sys.stderr)
    return len(found.failures)


def token_foreign_origins() -> float:
    """Other origins than the API's that saw a token, of all attempts to lead it there."""
    with asyncio.Runner() as runner:
        return sum(len(runner.run(origins_that_saw_the_token(attempt))) for attempt in ATTEMPTS)


FIGURES = (oauth_refreshes_per_expiry, oauth_lost_logins, token_foreign_origins)


if __name__ == "__main__":
    for figure in FIGURES:
        print(f"{figure.__name__} {figure():g}", flush=True)
