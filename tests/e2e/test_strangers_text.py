"""Whatever strangers wrote is parsed in the process that can be killed, wherever it comes from; a hostile piece costs one call."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio
