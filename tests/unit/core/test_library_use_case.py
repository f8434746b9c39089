"""What filling, emptying and listing the library comes to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from websearch_core.errors import (
    BadReply,
    Declined,
    InvalidInput,
    NotAllowed,
    NotConfigured,
    RequestRejected,
    Unreachable,
    WebSearchError,
)
from websearch_core.library import LibraryChange, ManageLibrary
from websearch_core.progress import heard_by
from websearch_core.testing.fakes import FakeExtractor, FakeLibrary, FakeMapper
from websearch_core.values import Link, MapRequest, Note, Page, SiteMap, as_plain

pytestmark = pytest.mark.anyio

SITE = "https://site.example"
DOWN = Unreachable("no route", provider="net")


def page(number: int) -> Page:
    return Page(url=f"{SITE}/{number:04}", title=f"Page {number}", text=f"Text {number}.", provider="test")


def manage(library: FakeLibrary, extractor: FakeExtractor | None = None, mapper: FakeMapper | None = None) -> ManageLibrary:
    return ManageLibrary(library=library, extractor=extractor or FakeExtractor(), mapper=mapper or FakeMapper())


async def test_a_page_is_read_and_put_in() -> None:
    library = FakeLibrary()
    use = manage(library, FakeExtractor({f"{SITE}/a": "A ferry."}))
    assert await use.add_url(f"{SITE}/a") == LibraryChange(added=1, total=1)
    assert len(await library.search("ferry")) == 1


async def test_a_page_that_is_in_it_unchanged_is_skipped() -> None:
    use = manage(FakeLibrary(), FakeExtractor({f"{SITE}/a": "A ferry."}))
    await use.add_url(f"{SITE}/a")
    assert await use.add_url(f"{SITE}/a") == LibraryChange(skipped=1, total=1)


@pytest.mark.parametrize(
    ("extractor", "url", "code"),
    [
        (FakeExtractor(None), f"{SITE}/a", "empty_result"),
        (FakeExtractor({f"{SITE}/a": "  \n "}), f"{SITE}/a", "empty_result"),
        (FakeExtractor(DOWN), f"{SITE}/a", "net_unreachable"),
        (FakeExtractor(), "not an address", "invalid_input"),
        (FakeExtractor(), "file:///etc/passwd", "invalid_input"),
    ],
    ids=["declined", "blank", "down", "no address", "file"],
)
async def test_a_page_that_cannot_be_read_is_an_error_with_a_way_out(extractor: FakeExtractor, url: str, code: str) -> None:
    library = FakeLibrary()
    change = await manage(library, extractor).add_url(url)
    assert (change.status, change.error, change.added) == ("error", code, 0)
    assert change.next_action
    assert await library.entries() == ()


async def test_pages_are_taken_fifty_at_a_time() -> None:
    """So that a large folder is never held in memory."""
    asked: list[int] = []

    def pages() -> Iterator[Page]:
        for number in range(120):
            asked.append(number)
            yield page(number)

    class Watched(FakeLibrary):
        async def add(self, pages: Sequence[Page], /, **options: Any) -> int:
            batches.append(len(asked))
            return await super().add(pages, **options)

    batches: list[int] = []
    change = await manage(Watched()).add_pages(pages())
    assert change.added == 120
    assert batches == [50, 100, 120]


async def test_pages_known_and_new_are_told_apart() -> None:
    library = FakeLibrary([page(number) for number in range(60)])
    assert await manage(library).add_pages(page(number) for number in range(70)) == LibraryChange(added=10, skipped=60, total=70)


async def test_no_page_at_all_is_a_failure() -> None:
    change = await manage(FakeLibrary()).add_pages([])
    assert (change.status, change.error) == ("error", "empty_result")


async def test_a_folder_that_fails_half_way_tells_what_was_written() -> None:
    def pages() -> Iterator[Page]:
        yield from (page(number) for number in range(50))
        raise DOWN

    library = FakeLibrary()
    change = await manage(library).add_pages(pages())
    assert (change.status, change.added, change.total) == ("error", 50, 50)
    assert await library.count() == 50


async def test_a_site_is_mapped_and_read() -> None:
    links = tuple(Link(url=f"{SITE}/{number}") for number in range(10))
    note = Note(code="robots", text="one page is closed")
    mapper = FakeMapper(SiteMap(root=SITE, links=links, provider="map", notes=(note,)))
    extractor = FakeExtractor({link.url: f"Text of {link.url}" for link in links})
    change = await manage(FakeLibrary(), extractor, mapper).add_site(MapRequest(url=SITE, offset=2, limit=5))
    assert change == LibraryChange(added=5, total=5, notes=(note,))
    assert sorted(request.url for request in extractor.asked) == [f"{SITE}/{number}" for number in range(2, 7)]


async def test_a_site_of_which_some_pages_fail_is_a_partial_success() -> None:
    links = tuple(Link(url=f"{SITE}/{number}") for number in range(3))
    mapper = FakeMapper(SiteMap(root=SITE, links=links, provider="map"))
    extractor = FakeExtractor({f"{SITE}/0": "Good.", f"{SITE}/1": DOWN})
    change = await manage(FakeLibrary(), extractor, mapper).add_site(MapRequest(url=SITE))
    assert (change.status, change.added, change.partial) == ("partial_success", 1, True)
    assert change.error_detail is not None
    assert [(note.code, note.text) for note in change.notes] == [
        ("pages_unreadable", "2 pages could not be read"),
        ("page_unreadable", f"{SITE}/1: no route."),
        (
            "page_unreadable",
            f"{SITE}/2: nothing readable was found at the address. Choose another address, or configure another reader.",
        ),
    ]


async def test_a_site_of_which_no_page_can_be_read_is_an_error() -> None:
    change = await manage(FakeLibrary(), FakeExtractor(DOWN)).add_site(MapRequest(url=SITE))
    assert (change.status, change.error, change.total) == ("error", "net_unreachable", 0)


async def test_a_site_that_cannot_be_mapped_is_an_error() -> None:
    change = await manage(FakeLibrary(), mapper=FakeMapper(DOWN)).add_site(MapRequest(url=SITE))
    assert (change.status, change.error) == ("error", "net_unreachable")


def missing(url: str) -> RequestRejected:
    return RequestRejected(f"{url} answers 404", provider="local", http_status=404)


def site_of(*numbers: int, **more: Any) -> SiteMap:
    return SiteMap(root=SITE, links=tuple(Link(url=f"{SITE}/{number}") for number in numbers), provider="map", **more)


def texts(*numbers: int) -> dict[str, Any]:
    return {f"{SITE}/{number}": f"Text of {number}." for number in numbers}


async def addresses(library: FakeLibrary) -> list[str]:
    return [entry.url.removeprefix(f"{SITE}/") for entry in await library.entries()]


async def test_a_site_that_was_broken_off_goes_on_where_it_stopped() -> None:
    """Neither mapped again nor read again."""

    class Dying(FakeLibrary):
        dies = True

        async def add(self, pages: Sequence[Page], /, **options: Any) -> int:
            if self.dies and "/16" in pages[0].url:
                raise DOWN
            return await super().add(pages, **options)

    library, wanted = Dying(), MapRequest(url=SITE)
    mapper, extractor = FakeMapper(site_of(*range(40))), FakeExtractor(texts(*range(40)))
    broken = await manage(library, extractor, mapper).add_site(wanted)
    assert (broken.status, broken.added, broken.total) == ("error", 16, 16)
    library.dies = False
    extractor.asked.clear()
    change = await manage(library, extractor, mapper).add_site(wanted)
    assert (change.status, change.added, change.total) == ("success", 24, 40)
    assert [note.code for note in change.notes] == ["run_resumed"]
    assert len(mapper.asked) == 1
    assert [request.url for request in extractor.asked] == [f"{SITE}/{number}" for number in range(16, 40)]


async def test_other_wishes_begin_the_site_anew() -> None:
    library = FakeLibrary()
    await library.begin(SITE, [f"{SITE}/7"], options="of another time")
    change = await manage(library, FakeExtractor(texts(1)), FakeMapper(site_of(1))).add_site(MapRequest(url=SITE))
    assert (await addresses(library), change.notes) == (["1"], ())


async def test_of_a_site_with_more_pages_the_note_names_options_of_the_command() -> None:
    more = Note(code="more_pages", text="raise max_breadth, read on with offset", provider="map")
    mapper = FakeMapper(site_of(1, notes=(more,), truncated=True))
    change = await manage(FakeLibrary(), FakeExtractor(texts(1)), mapper).add_site(MapRequest(url=SITE))
    assert [(note.code, note.provider) for note in change.notes] == [("more_pages", "library")]
    assert "--limit" in change.notes[0].text
    assert "offset" not in change.notes[0].text


async def test_what_a_whole_site_no_longer_has_is_taken_out() -> None:
    library = FakeLibrary()
    await manage(library, FakeExtractor(texts(1, 2, 3)), FakeMapper(site_of(1, 2, 3))).add_site(MapRequest(url=SITE))
    now = FakeExtractor({**texts(1), f"{SITE}/2": missing(f"{SITE}/2")})
    change = await manage(library, now, FakeMapper(site_of(1, 2))).add_site(MapRequest(url=SITE))
    assert (change.skipped, change.removed, await addresses(library)) == (1, 2, ["1"])


@pytest.mark.parametrize("site", [site_of(1, truncated=True), site_of(1, notes=(Note(code="partial", text="late"),))])
async def test_of_a_map_that_may_lack_pages_nothing_is_taken_out(site: SiteMap) -> None:
    library = FakeLibrary()
    await manage(library, FakeExtractor(texts(1, 2)), FakeMapper(site_of(1, 2))).add_site(MapRequest(url=SITE))
    change = await manage(library, FakeExtractor(texts(1)), FakeMapper(site)).add_site(MapRequest(url=SITE))
    assert (change.removed, await addresses(library)) == (0, ["1", "2"])


async def test_a_page_that_fails_for_now_keeps_what_was_read_of_the_site() -> None:
    library = FakeLibrary()
    await manage(library, FakeExtractor(texts(1, 2)), FakeMapper(site_of(1, 2))).add_site(MapRequest(url=SITE))
    down = FakeExtractor({**texts(1), f"{SITE}/2": DOWN})
    change = await manage(library, down, FakeMapper(site_of(1, 2))).add_site(MapRequest(url=SITE))
    assert (change.removed, await addresses(library)) == (0, ["1", "2"])


async def test_addresses_that_lead_to_one_page_make_one_page() -> None:
    target = Page(url=f"{SITE}/old", final_url=f"{SITE}/new", text="Moved.", provider="test")
    library = FakeLibrary()
    extractor = FakeExtractor({f"{SITE}/1": target, f"{SITE}/2": target})
    await manage(library, extractor, FakeMapper(site_of(1, 2))).add_site(MapRequest(url=SITE))
    assert await addresses(library) == ["new"]


async def test_a_site_that_asks_for_a_delay_is_read_page_by_page() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    use = replace(
        manage(FakeLibrary(), FakeExtractor(texts(1, 2, 3)), FakeMapper(site_of(1, 2, 3, crawl_delay_s=1.5))), sleep=sleep
    )
    assert (await use.add_site(MapRequest(url=SITE))).added == 3
    assert waited == [1.5, 1.5, 1.5]


async def test_more_pages_than_a_map_shows_can_be_asked_for() -> None:
    mapper = FakeMapper(site_of(*range(1_200)))
    change = await manage(FakeLibrary(), FakeExtractor(texts(*range(1_200))), mapper).add_site(
        MapRequest(url=SITE, limit=500), most=1_100
    )
    assert change.total == 1_100
    assert (
        await manage(FakeLibrary(), FakeExtractor(texts(*range(9))), mapper).add_site(MapRequest(url=SITE), most=9)
    ).total == 9


async def test_who_waits_is_told_how_far_it_has_come() -> None:
    steps: list[tuple[str, int, int | None]] = []
    use = manage(FakeLibrary(), FakeExtractor(texts(*range(20))), FakeMapper(site_of(*range(20))))
    with heard_by(lambda *step: steps.append(step)):
        await use.add_site(MapRequest(url=SITE))
    assert steps == [("reading pages", done, 20) for done in (0, 16, 20)]


class Shelf:
    """A folder in memory: the text of each file, or why it cannot be read; None for one without text."""

    root = "file:///shelf"

    def __init__(self, files: dict[str, str | WebSearchError | None]) -> None:
        self.held = {f"{self.root}/{name}": what for name, what in files.items()}
        self.stamp = self.reader = "1"
        self.reading = self.most = 0
        self.read: list[str] = []

    def files(self) -> list[tuple[str, str]]:
        return [(address, self.stamp) for address in self.held]

    async def page(self, address: str, /) -> Page | None:
        self.read.append(address.rpartition("/")[2])
        self.reading += 1
        self.most = max(self.most, self.reading)
        await asyncio.sleep(0)
        self.reading -= 1
        what = self.held[address]
        if isinstance(what, WebSearchError):
            raise what
        return None if what is None else Page(url=address, text=what, provider="library")


LOCKED = Declined("a.pdf is a PDF that asks for a password", provider="local", hint="Look for an open version.")


async def test_files_are_read_four_at_a_time_and_a_folder_that_goes_in_whole_is_a_success() -> None:
    shelf = Shelf({f"{number}.md": f"Text {number}." for number in range(60)} | {"blank.md": None})
    assert await manage(FakeLibrary()).add_folder(shelf) == LibraryChange(added=60, total=60)
    assert shelf.most == 4


async def test_a_file_that_cannot_be_read_is_named_with_the_reason_and_the_way_out() -> None:
    change = await manage(FakeLibrary()).add_folder(Shelf({"a.pdf": LOCKED, "b.md": "Text."}))
    assert (change.status, change.partial, change.added, change.total) == ("partial_success", True, 1, 1)
    assert change.next_action == "Look for an open version."
    assert [(note.code, note.text, note.provider) for note in change.notes] == [
        ("files_unreadable", "1 file could not be read", ""),
        (
            "file_unreadable",
            "file:///shelf/a.pdf: a.pdf is a PDF that asks for a password. Look for an open version.",
            "local",
        ),
    ]


async def test_of_many_files_that_cannot_be_read_all_are_counted_and_twenty_named() -> None:
    change = await manage(FakeLibrary()).add_folder(Shelf({f"{number}.pdf": LOCKED for number in range(70)} | {"b.md": "Text."}))
    assert change.notes[0].text == "70 files could not be read"
    assert [note.text.partition(": ")[0] for note in change.notes[1:]] == [f"file:///shelf/{number}.pdf" for number in range(20)]


async def test_a_folder_of_which_no_file_can_be_read_is_an_error() -> None:
    change = await manage(FakeLibrary()).add_folder(Shelf({"a.pdf": LOCKED}))
    assert (change.status, change.error, change.total) == ("error", "local_declined", 0)
    empty = await manage(FakeLibrary()).add_folder(Shelf({"blank.md": None}))
    assert (empty.status, empty.error) == ("error", "empty_result")


async def test_what_the_library_has_of_a_file_stays_until_the_file_can_be_read_again() -> None:
    """It goes when the file says that it has no text."""
    library, shelf = FakeLibrary(), Shelf({"a.pdf": "The ferry.", "b.md": "Text."})
    use = manage(library)
    await use.add_folder(shelf)
    shelf.held[f"{shelf.root}/a.pdf"], shelf.stamp = LOCKED, "2"
    change = await use.add_folder(shelf)
    assert (change.status, change.removed, change.total) == ("partial_success", 0, 2)
    assert len(await library.search("ferry")) == 1
    shelf.held[f"{shelf.root}/a.pdf"], shelf.stamp = None, "3"
    assert (await use.add_folder(shelf)).removed == 1


async def test_a_file_that_could_not_be_read_is_left_alone_until_it_changes_and_is_still_named() -> None:
    shelf, use = Shelf({"a.pdf": LOCKED, "b.md": "Text."}), manage(FakeLibrary())
    first = await use.add_folder(shelf)
    again = await use.add_folder(shelf)
    assert shelf.read == ["a.pdf", "b.md"]
    assert (again.status, again.skipped, again.total, again.error_detail) == ("partial_success", 1, 1, first.error_detail)
    assert again.notes[1:] == first.notes[1:]
    assert again.notes[0].text == (
        "1 file could not be read; 1 unchanged since the last try, so not tried again: add --retry to try"
    )
    shelf.stamp = "2"
    await use.add_folder(shelf)
    assert shelf.read == ["a.pdf", "b.md"] * 2


async def test_a_file_without_text_is_read_once_and_again_when_it_has_changed() -> None:
    shelf, use = Shelf({"a.html": None, "b.md": "Text."}), manage(FakeLibrary())
    await use.add_folder(shelf)
    assert await use.add_folder(shelf) == LibraryChange(skipped=1, total=1)
    assert shelf.read == ["a.html", "b.md"]
    shelf.held[f"{shelf.root}/a.html"], shelf.stamp = "Text at last.", "2"
    assert (await use.add_folder(shelf)).added == 1
    shelf.held[f"{shelf.root}/a.html"], shelf.stamp = None, "3"
    assert ((await use.add_folder(shelf)).removed, (await use.add_folder(shelf)).total) == (1, 1)
    assert shelf.read == ["a.html", "b.md"] * 3


async def test_a_failed_file_alone_stays_a_failure_without_being_read() -> None:
    shelf, use = Shelf({"a.pdf": LOCKED}), manage(FakeLibrary())
    first, again = await use.add_folder(shelf), await use.add_folder(shelf)
    assert (again.status, again.error, again.next_action) == ("error", "local_declined", first.next_action)
    assert shelf.read == ["a.pdf"]


async def test_another_reader_or_the_wish_to_retry_reads_a_failed_file_again() -> None:
    shelf, use = Shelf({"a.pdf": LOCKED}), manage(FakeLibrary())
    await use.add_folder(shelf)
    await use.add_folder(shelf, retry=True)
    assert shelf.read == ["a.pdf"] * 2
    shelf.reader = "2"
    shelf.held[f"{shelf.root}/a.pdf"] = "Unlocked."
    assert await use.add_folder(shelf) == LibraryChange(added=1, total=1)
    assert await use.add_folder(shelf) == LibraryChange(skipped=1, total=1)


def passing() -> BadReply:
    error = BadReply("the process was ended", provider="local")
    error.repeatable = True
    return error


@pytest.mark.parametrize(
    "error", [NotConfigured("no reader for it"), NotAllowed("no permission"), InvalidInput("no"), DOWN, passing()], ids=repr
)
async def test_what_is_not_the_fault_of_the_file_is_tried_again_in_every_run(error: WebSearchError) -> None:
    shelf, use = Shelf({"a.pdf": error}), manage(FakeLibrary())
    for _ in range(2):
        assert "--retry" not in (await use.add_folder(shelf)).notes[0].text
    assert shelf.read == ["a.pdf"] * 2


async def test_a_file_without_a_stamp_may_have_changed() -> None:
    shelf, use = Shelf({"a.pdf": LOCKED}), manage(FakeLibrary())
    shelf.stamp = ""
    for _ in range(2):
        await use.add_folder(shelf)
    assert shelf.read == ["a.pdf"] * 2


async def test_of_a_file_that_is_gone_nothing_stays_noted() -> None:
    library, shelf = FakeLibrary(), Shelf({"a.pdf": LOCKED, "b.md": "Text."})
    await manage(library).add_folder(shelf)
    assert list(await library.failures(shelf.root)) == [f"{shelf.root}/a.pdf"]
    del shelf.held[f"{shelf.root}/a.pdf"]
    assert await manage(library).add_folder(shelf) == LibraryChange(skipped=1, total=1)
    assert await library.failures(shelf.root) == {}


async def test_pages_are_removed_by_prefix() -> None:
    change = await manage(FakeLibrary([page(1), page(2)])).remove(f"{SITE}/0001")
    assert change == LibraryChange(removed=1, total=1)


async def test_removing_what_is_not_there_is_a_failure() -> None:
    change = await manage(FakeLibrary([page(1)])).remove("https://nowhere.example")
    assert (change.status, change.error, change.removed) == ("error", "empty_result", 0)


async def test_entries_are_listed_piece_by_piece() -> None:
    use = manage(FakeLibrary([page(number) for number in range(5)]))
    first = await use.entries(limit=3)
    assert ([entry.title for entry in first.entries], first.total, first.next_offset) == (["Page 0", "Page 1", "Page 2"], 5, 3)
    rest = await use.entries(offset=3, limit=3)
    assert ([entry.title for entry in rest.entries], rest.next_offset) == (["Page 3", "Page 4"], None)


async def test_an_empty_library_says_how_to_fill_it() -> None:
    change = await manage(FakeLibrary()).entries()
    assert [note.code for note in change.notes] == ["library_empty"]
    assert "websearch library add PATH_OR_URL" in change.notes[0].text


@pytest.mark.parametrize("call", ["add_url", "add_pages", "remove", "entries", "add_site"])
async def test_a_library_out_of_order_is_an_error_and_not_an_exception(call: str) -> None:
    links = (Link(url=f"{SITE}/a"),)
    broken = manage(
        FakeLibrary(failure=Unreachable("in use", provider="library")),
        FakeExtractor({f"{SITE}/a": "Text."}),
        FakeMapper(SiteMap(root=SITE, links=links, provider="map")),
    )
    calls: dict[str, Callable[[], Awaitable[LibraryChange]]] = {
        "add_url": lambda: broken.add_url(f"{SITE}/a"),
        "add_pages": lambda: broken.add_pages([page(1)]),
        "remove": lambda: broken.remove(SITE),
        "entries": broken.entries,
        "add_site": lambda: broken.add_site(MapRequest(url=SITE)),
    }
    change = await calls[call]()
    assert (change.status, change.error) == ("error", "library_unreachable")


async def test_a_change_is_json() -> None:
    plain = as_plain(await manage(FakeLibrary([page(1)])).entries())
    assert isinstance(plain, dict)
    assert plain["entries"] == [{"url": f"{SITE}/0001", "title": "Page 1", "chars": 7, "added_at": "2026-01-01T00:00:00Z"}]
