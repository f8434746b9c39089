"""One login, many processes, and one of them killed in the middle of each renewal."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.login_fleet import killed_while_renewing


@pytest.mark.requirement("LOGIN-14", "LOGIN-15")
def test_a_kill_in_mid_renewal_costs_neither_the_login_nor_a_second_refresh(tmp_path: Path) -> None:
    """Both moments of the kill, and both ways in which a token ends."""
    tally = killed_while_renewing(tmp_path, processes=5, rounds=4)
    assert tally.failures == []
    assert (tally.expiries, tally.kills, tally.refreshes, tally.reuses) == (4, 4, 4, 0)
    assert tally.calls >= 20
    assert not list((tmp_path / "data").glob("*.tmp"))
