"""The composition root: lazy, replaceable by port, closed in one place, and never with a child container."""

from __future__ import annotations

from pathlib import Path

import pytest

from websearch_adapters import settings
from websearch_adapters.extract.worker import Worker
from websearch_adapters.library.files import FileFolder
from websearch_core.chain import ExtractorChain, FinderChain, NoEngine
from websearch_core.configuration import ConfigInfo, SwitchModel
from websearch_core.doctor import Doctor
from websearch_core.errors import AllFailed
from websearch_core.fetch import Fetch
from websearch_core.library import ManageLibrary
from websearch_core.map import Map
from websearch_core.ports import AnswerEngine, Cache, Extractor, Mapper, SourceFinder
from websearch_core.posts import Posts
from websearch_core.search import Search
from websearch_core.sources import Sources
from websearch_core.testing.fakes import FakeCache, FakeEngine
from websearch_core.values import ConfigRequest, SearchQuery
from websearch_mcp.container import Closing, build

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[3]


def configured(home: Path, **environ: str) -> settings.LoadedConfiguration:
    return settings.read(environ={"WEBSEARCH_HOME": str(home), **environ})


@pytest.mark.parametrize("use_case", [Search, Posts, Sources, Fetch, Map, ManageLibrary, ConfigInfo, SwitchModel, Doctor])
async def test_every_use_case_can_be_made_without_any_key(use_case: type, tmp_path: Path) -> None:
    box = build(configured(tmp_path))
    assert isinstance(box.resolve(use_case), use_case)
    assert box.resolve(use_case) is box.resolve(use_case)
    await box.resolve(Closing).aclose()


async def test_a_provider_is_swapped_in_one_line(tmp_path: Path) -> None:
    box = build(configured(tmp_path)).register(AnswerEngine, instance=FakeEngine()).register(Cache, instance=FakeCache())
    result = await box.resolve(Search)(SearchQuery(query="q", extra_sources=0))
    assert (result.status, result.search_provider) == ("success", "fake_engine")


@pytest.mark.requirement("OURS-08")
@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"XAI_API_KEY": "xai-0123456789abcdef"}, "grok_responses"),
        ({"GROK_API_URL": "https://relay.example/v1", "GROK_API_KEY": "sk-0123456789abcdef"}, "openai_compatible"),
        ({"GROK_API_URL": "https://api.x.ai/v1", "GROK_API_KEY": "xai-0123456789abcdef"}, "grok_responses"),
        ({"WEBSEARCH_ENGINE_KIND": "echo"}, "echo"),
        ({}, "none"),
    ],
)
def test_the_engine_is_chosen_by_what_is_configured(environ: dict[str, str], name: str, tmp_path: Path) -> None:
    assert build(configured(tmp_path, **environ)).resolve(AnswerEngine).name == name


@pytest.mark.requirement("RS-SERVICE-04", "OURS-24", "OURS-26")
def test_chains_hold_what_is_ready_in_the_configured_order(tmp_path: Path) -> None:
    box = build(configured(tmp_path, TAVILY_API_KEY="tvly-0123456789", FIRECRAWL_API_KEY="fc-0123456789"))
    finder, extractor, mapper = box.resolve(SourceFinder), box.resolve(Extractor), box.resolve(Mapper)
    assert [one.name for one in finder.finders] == ["tavily", "firecrawl", "keyless", "library"]
    sites = ["github", "stackexchange", "arxiv", "wikipedia"]
    assert [one.name for one in extractor.extractors] == [*sites, "tavily", "firecrawl", "local"]
    assert [one.name for one in mapper.mappers] == ["tavily", "firecrawl", "local"]
    assert finder.finders[0] is extractor.extractors[4] is mapper.mappers[0]
    bare = build(configured(tmp_path))
    assert [one.name for one in bare.resolve(Extractor).extractors] == [*sites, "local"]
    assert [one.name for one in bare.resolve(SourceFinder).finders] == ["keyless", "library"]


def test_an_instance_of_ones_own_comes_first_and_the_free_allowance_is_used_only_when_asked_for(tmp_path: Path) -> None:
    own = build(configured(tmp_path, SEARXNG_URL="http://127.0.0.1:8888", WEBSEARCH_TAVILY_KEYLESS="true"))
    assert [one.name for one in own.resolve(SourceFinder).finders] == ["searxng", "tavily", "keyless", "library"]
    off = {"WEBSEARCH_SEARXNG_ENABLED": "false", "WEBSEARCH_KEYLESS_ENABLED": "false", "SEARXNG_URL": "http://127.0.0.1:8888"}
    finder = build(configured(tmp_path, **off)).resolve(SourceFinder)
    assert [one.name for one in finder.finders] == ["library"]


@pytest.mark.parametrize(
    ("environ", "pages"),
    [({}, 0), ({"SEARXNG_URL": "http://127.0.0.1:8888"}, 3), ({"TAVILY_API_KEY": "tvly-0123456789"}, 3)],
)
def test_public_result_pages_are_not_read_beside_every_answer(environ: dict[str, str], pages: int, tmp_path: Path) -> None:
    assert configured(tmp_path, **environ).settings.extra_sources() == pages


async def test_the_doctor_and_the_log_name_a_policy_file_that_cannot_be_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    box = build(configured(tmp_path, WEBSEARCH_SEARCH_POLICIES=str(tmp_path / "Absent.toml")))
    report = await box.resolve(Doctor)()
    assert [part.detail for part in report.parts if part.part == "policies"] == [f"{tmp_path / 'Absent.toml'}: FileNotFoundError"]
    assert [one.message for one in caplog.records] == [f"a policy is not used: {tmp_path / 'Absent.toml'}: FileNotFoundError"]
    await box.resolve(Closing).aclose()


async def test_the_doctor_knows_the_parts_that_need_no_key(tmp_path: Path) -> None:
    box = build(configured(tmp_path, WEBSEARCH_KEYLESS_ENGINES="mojeek"))
    parts = {part.part: (part.state, part.detail) for part in (await box.resolve(Doctor)()).parts}
    assert parts["keyless"] == ("ok", "asks mojeek")
    assert parts["searxng"] == ("off", "no address is set")
    assert parts["github"][0] == "ok"
    await box.resolve(Closing).aclose()


def test_the_token_of_github_is_a_key_like_others(tmp_path: Path) -> None:
    loaded = configured(tmp_path, GITHUB_TOKEN="ghp_0123456789abcdefghij")
    assert loaded.settings.keys()["github"] == ("ghp_0123456789abcdefghij",)
    assert "ghp_0123456789abcdefghij" in loaded.settings.secrets()
    assert "ghp_0123456789abcdefghij" not in repr(loaded.settings)


async def test_a_provider_that_cannot_be_made_harms_only_itself(tmp_path: Path) -> None:
    box = build(
        configured(tmp_path, WEBSEARCH_SEARCH_FINDERS="no-such-plugin,library", WEBSEARCH_FETCH_EXTRACTORS="library,local")
    )
    with pytest.raises(AllFailed) as caught:
        await box.resolve(SourceFinder).find(SearchQuery(query="q"))
    assert [attempt.provider for attempt in caught.value.attempts] == ["no-such-plugin", "library"]
    report = await box.resolve(Doctor)()
    assert ("no-such-plugin", "failing") in [(part.part, part.state) for part in report.parts]
    assert isinstance(box.resolve(Extractor), ExtractorChain)
    assert isinstance(box.resolve(SourceFinder), FinderChain)
    await box.resolve(Closing).aclose()


async def test_without_an_engine_the_configuration_is_still_shown(tmp_path: Path) -> None:
    box = build(configured(tmp_path))
    assert isinstance(box.resolve(AnswerEngine), NoEngine)
    result = await box.resolve(ConfigInfo)(ConfigRequest())
    assert (result.status, result.connection_test["status"]) == ("partial_success", "off")


@pytest.mark.requirement("P5-TOOLS-07")
async def test_closing_goes_on_when_one_part_fails() -> None:
    closed: list[str] = []

    class Part:
        def __init__(self, name: str) -> None:
            self.name = name

        async def aclose(self) -> None:
            closed.append(self.name)
            if self.name == "b":
                raise OSError

    closing = Closing()
    for name in ("a", "b", "c"):
        closing.own(Part(name))
    closing.own(object())
    await closing.aclose()
    await closing.aclose()
    assert closed == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("environ", "probed"),
    [
        ({"XAI_API_KEY": "xai-0123456789abcdef"}, ["grok_responses"]),
        ({"XAI_API_KEY": "xai-0123456789abcdef", "WEBSEARCH_ENGINE_KIND": "echo"}, ["echo", "grok_responses"]),
        ({"WEBSEARCH_ENGINE_KIND": "echo"}, ["echo"]),
    ],
)
def test_the_doctor_looks_at_xai_also_where_only_posts_come_from_it(
    environ: dict[str, str], probed: list[str], tmp_path: Path
) -> None:
    doctor = build(configured(tmp_path, WEBSEARCH_SEARCH_FINDERS="none", **environ)).resolve(Doctor)
    names = [getattr(probe, "name", "") for probe in doctor.probes]
    assert [name for name in names if name in {"echo", "grok_responses"}] == probed


def test_nobody_makes_a_child_container() -> None:
    """A dropped child's instances come back in another child (punq 0.9): a leak between tenants."""
    calls = [path for path in (ROOT / "src").rglob("*.py") if ".child(" in path.read_text(encoding="utf-8")]
    assert not calls


async def test_finders_that_are_off_are_noted_where_the_operator_named_them(tmp_path: Path) -> None:
    """A search that nobody configured does not tell, each time, of services that nobody asked for."""
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tides.md").write_text("# Tides\n\nThe tide turns at noon.\n", encoding="utf-8")

    async def noted(**environ: str) -> list[str | None]:
        box = build(configured(tmp_path, WEBSEARCH_KEYLESS_ENABLED="false", **environ))
        worker = Worker()
        try:
            await box.resolve(ManageLibrary).add_folder(FileFolder(pages, worker))
            found = await box.resolve(SourceFinder).find(SearchQuery(query="When does the tide turn?"))
        finally:
            await worker.aclose()
            await box.resolve(Closing).aclose()
        assert len(found.items) == 1
        return [note.provider for note in found.notes if note.code == "not_configured"]

    assert await noted() == []
    assert await noted(WEBSEARCH_SEARCH_FINDERS="tavily,library") == ["tavily"]
