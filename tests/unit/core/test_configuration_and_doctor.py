"""Showing settings, switching the model, probing the parts."""

from __future__ import annotations

import pytest

from websearch_core.configuration import ConfigInfo, SwitchModel
from websearch_core.doctor import Doctor
from websearch_core.errors import NotConfigured
from websearch_core.testing.fakes import FakeConfiguration, FakeProbe, Gate
from websearch_core.values import ConfigRequest, Health, SwitchRequest

pytestmark = pytest.mark.anyio
OK = Health(part="engine", state="ok", detail="3 models", latency_ms=12.0, models=("a", "b", "c"))


@pytest.mark.requirement("P5-PROTOCOL-22")
async def test_config_info_shows_settings_and_a_passing_test() -> None:
    result = await ConfigInfo(configuration=FakeConfiguration(), probes=[FakeProbe(OK)])(ConfigRequest())
    assert result.status == "success"
    assert result.connection_test["available_models"] == ["a", "b", "c"]
    assert result.configuration


@pytest.mark.requirement("P5-PROTOCOL-23")
@pytest.mark.parametrize(
    ("health", "code"),
    [
        (Health(part="engine", state="failing", detail="no connection"), "grok_connection_error"),
        (Health(part="engine", state="off", detail="no key"), "grok_configuration_error"),
    ],
)
async def test_config_info_is_partial_when_the_test_fails(health: Health, code: str) -> None:
    result = await ConfigInfo(configuration=FakeConfiguration(), probes=[FakeProbe(health)])(ConfigRequest())
    assert (result.status, result.error_detail.code if result.error_detail else None) == ("partial_success", code)
    assert result.configuration


async def test_config_info_without_an_engine_and_with_one_that_hangs() -> None:
    none = await ConfigInfo(configuration=FakeConfiguration(), probes=[])(ConfigRequest())
    assert none.connection_test["status"] == "off"
    assert none.next_action is not None
    assert "XAI_API_KEY" in none.next_action
    gate: Gate[Health] = Gate(OK)
    slow = await ConfigInfo(configuration=FakeConfiguration(), probes=[FakeProbe(gate)])(ConfigRequest(), within_s=0.01)
    assert slow.connection_test["status"] == "failing"
    assert gate.cancelled == 1


async def test_problems_of_the_settings_are_shown() -> None:
    shown = FakeConfiguration(problems=("unknown key taivly; did you mean tavily?",))
    result = await ConfigInfo(configuration=shown, probes=[FakeProbe(OK)])(ConfigRequest())
    assert result.configuration["problems"] == ["unknown key taivly; did you mean tavily?"]


@pytest.mark.requirement("P5-PROTOCOL-25")
async def test_switching_the_model_tells_before_and_after() -> None:
    configuration = FakeConfiguration()
    before = configuration.primary_model()
    result = await SwitchModel(configuration=configuration)(SwitchRequest(model=" new-model "))
    assert (result.status, result.previous_model, result.current_model) == ("success", before, "new-model")
    assert configuration.primary_model() == "new-model"


@pytest.mark.requirement("P5-PROTOCOL-26")
async def test_a_failed_switch_changes_nothing_and_says_so() -> None:
    class Stuck(FakeConfiguration):
        def switch_model(self, name: str, /) -> str:
            raise NotConfigured("the file cannot be written")

    configuration = Stuck()
    result = await SwitchModel(configuration=configuration)(SwitchRequest(model="new"))
    assert (result.status, result.error) == ("error", "model_switch_failed")
    assert result.current_model == result.previous_model == configuration.primary_model()


async def test_the_doctor_reports_every_part_and_passes_live_on() -> None:
    gate: Gate[Health] = Gate(OK)
    probes = [FakeProbe(OK), FakeProbe(gate, part="slow")]
    off = [Health(part="tavily", state="off", detail="no key is set")]
    report = await Doctor(configuration=FakeConfiguration(), probes=probes, off=off, limit_s=0.01)(live=True)
    assert [(part.state) for part in report.parts] == ["ok", "failing", "off"]
    assert (report.status, report.partial) == ("partial_success", True)
    well = await Doctor(configuration=FakeConfiguration(), probes=[FakeProbe(OK)])()
    assert (well.status, well.next_action) == ("success", None)
