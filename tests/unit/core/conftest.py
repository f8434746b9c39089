"""The core waits for nothing but its own timers, so its tests need no real time."""

from __future__ import annotations

import pytest

from still_loop import STILL, StillLoop


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, type[StillLoop]]]:
    return STILL
