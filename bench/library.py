"""Fill a library with generated pages, English and Chinese, and ask it for pages that are known to be in it.

`python bench/library.py [PAGES [SEED]]`, 100,000 and 1 by default: prints pages a second, bytes on disk, the time of a query
(50th and 95th percentile) and hit@5: the share of known-item questions whose page is among the first five. Half of the pages
are English, half Chinese. A page tells of one matter of one thing; other pages tell of the same thing or of the same matter of
another, in the same words, and every page is padded with sentences drawn from one stock. A question names thing and matter in
words of its own, as a person would.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from websearch_adapters.library.index import SqliteLibrary
from websearch_adapters.provider import search_words
from websearch_core.values import Page, SearchQuery

PAGES = 100_000
FIGURE_PAGES = 20_000
BATCH = 200
QUESTIONS = 400
"""In each language."""
HIT = 5


@dataclass(frozen=True)
class Language:
    """What pages and questions of one language are made of."""

    code: str
    heads: tuple[str, ...]
    tails: tuple[str, ...]
    kinds: tuple[str, ...]
    matters: tuple[tuple[str, str, str], ...]
    """Heading, sentence with {thing} and {value}, question with {thing}."""
    values: tuple[str, ...]
    stock: tuple[str, ...]
    title: str
    joint: str
    """Between words and between sentences."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _rows(text: str) -> tuple[tuple[str, str, str], ...]:
    heads, sentences, questions = zip(*(line.split(" | ") for line in text.strip().splitlines()), strict=True)
    return tuple(zip(heads, sentences, questions, strict=True))


NUMBERS = tuple(str(number) for number in range(11, 1990, 7))
ENGLISH = Language(
    code="en",
    heads=_words("Al Bel Cor Dan El Fal Gor Har Il Jor Kal Lor Mar Nor Or Pel Quin Ros Sel Tor Ul Var Wes Xan Yor Zel"),
    tails=_words("adon berry cliffe dale enby fold garth holm ingham jarrow kirk low mere nock oak port quay rigg stow thorpe"),
    kinds=_words("lighthouse viaduct reservoir observatory tramway monastery power-station library archive shipyard"),
    matters=_rows("""
Opening | The {thing} was opened to the public in {value} after long delays. | when did the {thing} open
Design | The drawings of the {thing} are by the engineer {value}. | who was the engineer behind the {thing}
Cost | Building the {thing} cost {value} thousand crowns in all. | what did it cost to build the {thing}
Repairs | A storm damaged the {thing}; repairs took {value} months. | how long did repairs of the {thing} take after the storm
Visitors | In a good year {value} thousand visitors come to the {thing}. | number of visitors to the {thing} per year
Height | Measured from the ground the {thing} is {value} feet tall. | how tall is the {thing} in feet
Staff | The {thing} is kept by a staff of {value} people. | how many people are on the staff of the {thing}
Access | Buses to the {thing} leave every {value} minutes. | how often do buses go to the {thing}
Ownership | The {thing} belongs to the county, which bought it in {value}. | which county owns the {thing}
Fire | A fire destroyed the roof of the {thing} in {value}. | fire at the {thing}: what was destroyed
"""),
    values=NUMBERS,
    stock=(
        "The weather on this coast changes within the hour, and old guide books say as much.",
        "A visit takes half a day; tickets are sold at the gate and in the town.",
        "Letters in the county archive describe the years before the war in some detail.",
        "The engineer of a neighbouring site used the same stone and the same masons.",
        "In winter the road is closed at night and buses take the longer way.",
        "Several buildings nearby were opened in the same decade and share their history.",
        "The repairs of recent years were paid for by a fund that visitors support.",
        "From the hill one sees the harbour, the mill and, on clear days, the islands.",
        "Its cost was discussed for years, as the minutes of the council show.",
        "Local people still tell how the storm of that autumn took the roofs of three farms.",
        "The staff offer a tour in the morning and a longer one in the afternoon.",
        "Photographs from the time show a height that later drawings do not confirm.",
    ),
    title="{thing}: {matter}",
    joint=" ",
)
CHINESE = Language(
    code="zh",
    heads=_words("青 白 赤 玄 金 银 云 雾 霜 雪 松 竹 梅 兰 菊 荷 鹤 龙 凤 鹿 石 泉 溪 潭 岭 峰 谷 原"),
    tails=_words("岚山 川镇 河口 湖畔 峡谷 石桥 门关 林场 沙洲 风台 月湾 阳坡 阴沟 水寨 田庄 井坊 塘头 坝上 城南 港北"),
    kinds=_words("灯塔 高架桥 水库 天文台 电车线 寺院 发电站 图书馆 档案馆 船厂"),
    matters=_rows("""
开放 | {thing}在拖延多时之后，于{value}年向公众开放。 | {thing}是哪一年开放的？
设计 | {thing}的图纸出自{value}号工程师之手。 | {thing}的工程师是谁？
造价 | 修建{thing}总共花费{value}万元。 | 修建{thing}花费了多少钱？
维修 | 暴雨冲坏了{thing}，维修持续了{value}个月。 | 暴雨之后{thing}的维修持续了多久？
游客 | 年景好的时候，每年有{value}万名游客来到{thing}。 | 每年有多少游客去{thing}？
高度 | 从地面量起，{thing}高达{value}尺。 | {thing}从地面算起有多高？
员工 | {thing}共有{value}名员工看守。 | {thing}有多少名员工？
交通 | 开往{thing}的班车每{value}分钟一班。 | 去{thing}的班车多长时间一班？
归属 | {thing}归县政府所有，是{value}年买下的。 | {thing}归谁所有，什么时候买下的？
火灾 | {value}年的一场火灾烧毁了{thing}的屋顶。 | {thing}的屋顶是在哪场火灾中烧毁的？
"""),
    values=NUMBERS,
    stock=(
        "这一带的天气说变就变，旧时的旅行指南里也这样写。",
        "参观大约需要半天，门票在大门口和镇上都可以买到。",
        "县档案馆收藏的书信详细描述了战前的那些年月。",
        "附近另一处工程用的是同样的石料，请的也是同一批工匠。",
        "冬天夜里道路封闭，班车要绕远路。",
        "周围有好几座建筑也是在那十年里开放的，历史相近。",
        "近年的维修由一个基金出资，游客也常常捐款。",
        "站在山上可以看见港口、磨坊，晴天还能望见海岛。",
        "从会议记录看，造价的问题讨论了许多年。",
        "当地人至今还会讲起那年秋天的暴雨怎样掀掉了三户人家的屋顶。",
        "员工上午带一次短程讲解，下午带一次长程讲解。",
        "当时的照片显示的高度与后来的图纸并不一致。",
    ),
    title="{thing}的{matter}",
    joint="",
)
LANGUAGES = (ENGLISH, CHINESE)


@dataclass(frozen=True)
class Result:
    """What a run measured."""

    pages: int
    pages_per_s: float
    disk_bytes: int
    p50_ms: float
    p95_ms: float
    hits: dict[str, float]
    """Language → hit@5."""

    def row(self) -> str:
        """The measurements as a line of a table."""
        hits = " | ".join(f"{self.hits[language.code]:.3f}" for language in LANGUAGES)
        size = f"{self.disk_bytes / 1e6:.0f}"
        return f"| {self.pages:,} | {self.pages_per_s:.0f} | {size} | {self.p50_ms:.1f} | {self.p95_ms:.1f} | {hits} |"


def main(pages: int, seed: int) -> int:
    """Print the measurements."""
    print("| Pages | pages/s | MB on disk | p50 ms | p95 ms | hit@5 en | hit@5 zh |", "|---|---|---|---|---|---|---|", sep="\n")
    print(measured(pages, seed).row())
    return 0


def library_hit5_en() -> float:
    """Hit@5 of English questions in a library of 20,000 pages."""
    return measured(FIGURE_PAGES, seed=1).hits["en"]


def library_hit5_zh() -> float:
    """Hit@5 of Chinese questions in a library of 20,000 pages."""
    return measured(FIGURE_PAGES, seed=1).hits["zh"]


@cache
def measured(pages: int, seed: int) -> Result:
    """Fill a library of that many pages and question it."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measured(Path(folder, "library.sqlite3"), pages, seed))  # noqa: TID251 - a bench is an entry point


# --- the corpus


def corpus(pages: int, seed: int) -> Iterator[Page]:
    """So many pages, English and Chinese in turn; the same for the same seed."""
    chance = random.Random(seed)
    for number in range(pages):
        language = LANGUAGES[number % 2]
        yield _page(language, number // 2, chance)


def questions(pages: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Language, question and the address of the page that it asks for."""
    chance = random.Random(seed + 1)
    for language in LANGUAGES:
        for number in chance.sample(range(pages // 2), min(QUESTIONS, pages // 2)):
            thing, (_, _, question) = _subject(language, number)
            yield language.code, question.format(thing=thing), _address(language, number)


def _subject(language: Language, number: int) -> tuple[str, tuple[str, str, str]]:
    """The thing and the matter of the page with this number; ten pages in a row tell of one thing."""
    rest, matter = divmod(number, len(language.matters))
    rest, kind = divmod(rest, len(language.kinds))
    rest, tail = divmod(rest, len(language.tails))
    again, head = divmod(rest, len(language.heads))
    place = f"{language.heads[head]}{language.tails[tail]}{again or ''}"
    return f"{place}{language.joint}{language.kinds[kind]}", language.matters[matter]


def _address(language: Language, number: int) -> str:
    return f"https://{language.code}.guide.example/{number // 1_000:03}/{number:06}"


def _page(language: Language, number: int, chance: random.Random) -> Page:
    thing, (matter, sentence, _) = _subject(language, number)
    told = sentence.format(thing=thing, value=chance.choice(language.values))
    paragraphs = [language.joint.join(chance.sample(language.stock, 5)) for _ in range(4)]
    paragraphs[chance.randrange(4)] += language.joint + told
    heading = language.title.format(thing=thing, matter=matter)
    text = f"# {heading}\n\n{paragraphs[0]}\n\n{paragraphs[1]}\n\n## {chance.choice(language.matters)[0]}\n\n" + "\n\n".join(
        paragraphs[2:]
    )
    return Page(url=_address(language, number), title=heading, text=text, provider="bench", language=language.code)


# --- the run


async def _measured(path: Path, pages: int, seed: int) -> Result:
    library = SqliteLibrary(path)
    began = time.perf_counter()
    batch: list[Page] = []
    for page in corpus(pages, seed):
        batch.append(page)
        if len(batch) == BATCH:
            await library.add(batch)
            batch.clear()
    await library.add(batch)
    filled = time.perf_counter() - began
    times: list[float] = []
    hits: dict[str, list[bool]] = {language.code: [] for language in LANGUAGES}
    for code, question, address in questions(pages, seed):
        asked = time.perf_counter()
        found = await library.search(search_words(SearchQuery(query=question), limit=4_000), limit=HIT)
        times.append(1_000 * (time.perf_counter() - asked))
        hits[code].append(any(passage.url == address for passage in found))
    await library.aclose()
    times.sort()
    return Result(
        pages=pages,
        pages_per_s=pages / filled,
        disk_bytes=sum(file.stat().st_size for file in path.parent.iterdir()),
        p50_ms=times[len(times) // 2],
        p95_ms=times[int(len(times) * 0.95)],
        hits={code: sum(found) / len(found) for code, found in hits.items()},
    )


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in (*sys.argv[1:], *("100000", "1")[len(sys.argv) - 1 :]))))
