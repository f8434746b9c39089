"""The hub's client in the official conformance suite: one scenario of each kind here, all of them in `bench/client_conformance.py`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from upstreams import real

BENCH = Path(__file__).resolve().parents[2] / "bench" / "client_conformance.py"


@pytest.fixture(scope="module")
def suite() -> ModuleType:
    real.install()
    spec = importlib.util.spec_from_file_location("client_conformance", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [
        ("2025-11-25", "sse-retry"),
        ("2025-11-25", "auth/scope-step-up"),
        ("2026-07-28", "http-custom-headers"),
        ("2026-07-28", "auth/authorization-server-migration"),
    ],
)
@pytest.mark.requirement("HUB-LINK-10")
def test_a_required_scenario_passes(suite: ModuleType, revision: str, scenario: str) -> None:
    assert scenario in suite.scenarios(revision)
    passed, checks = suite.ran(revision, scenario)
    assert passed, checks


def test_all_required_scenarios_are_known(suite: ModuleType) -> None:
    assert [len(suite.scenarios(revision)) for revision in suite.REVISIONS] == [18, 32]
