"""A generated web: pages in six languages and several charsets, and questions whose page and sentence are known.

Everything follows from the seed. Around each question lie an official page, a press report with its syndicated copies, a
forum post, an older page, rumours with another value, pages on subjects of nearly the same name, pages that repeat the
question and answer nothing, and now and then a page that is refused to readers or that gives orders to models.
Hosts end in `.example`, so nothing here can be mistaken for a real site.
"""

from __future__ import annotations

import html
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal, TypeAlias

from quality.injections import injections
from quality.phrases import CHARSETS, GRAMMARS, LANGUAGES, TOPICS, Grammar, Kind, Topic

__all__ = ["FAMILY", "GIVEN", "TODAY", "Document", "Question", "Role", "World", "build"]

Role: TypeAlias = Literal[
    "official", "press", "copy", "forum", "old", "rumour", "namesake", "bait", "background", "injected", "refused"
]
TODAY = date(2026, 11, 30)
GRADES: dict[Role, int] = {"official": 3, "press": 2, "copy": 2, "forum": 1, "refused": 0}
PAPERS = [f"{first}-{last}" for first in ("morning", "evening", "harbour", "valley", "northern", "coast", "city", "lake")
          for last in ("herald", "gazette", "courier", "tagblatt", "ribao", "shimbun")]  # fmt: skip
STATE = {"en": "gov", "de": "bund", "fr": "gouv", "es": "gob", "zh": "gov", "ja": "go"}
MONTHS = {
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "de": ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
    "fr": [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ],
    "es": [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
}
ONSETS = ["b", "br", "d", "dr", "f", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w"]
VOWELS = ["a", "e", "i", "o", "u"]
CODAS = ["l", "n", "r", "s", "nd", "rk", "lt", "m"]
HAN = "云江山海林石川平安永清和新东南北长青白金玉龙泉桥河田城秀华宁远福光春松竹梅兰景明德仁义信诚达通顺昌隆盛茂荣"
KANJI = "山川田村松石原北南東西青白金高中大小森林池島谷沢浜崎藤井上岡宮本橋口坂熊鶴亀竹梅桜菊若富福吉永久保"
FAMILY = {"zh": "王李张刘陈杨赵黄周吴", "ja": ["佐藤", "鈴木", "高橋", "田中", "渡辺", "伊藤", "山本", "中村", "小林", "加藤"]}
GIVEN = {"zh": "敏静丽强磊洋艳勇军杰", "ja": ["美咲", "陽菜", "健太", "翔太", "直樹", "由美", "恵子", "大輔", "拓也", "愛"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One page of the web."""

    url: str
    title: str
    language: str
    charset: str
    role: Role
    question: int
    """Number of the question it was written around."""
    sentences: tuple[str, ...]
    published: str
    """Day of publication, told in the page and by the finder; empty where the page does not tell."""
    cluster: str
    """The same for a report and its copies."""
    grade: int
    """3 the official page, 2 the report or a copy of it, 1 a right remark or an older page that still holds, else 0."""
    popularity: float
    status: int = 200

    @property
    def gap(self) -> str:
        """What stands between two sentences of its language."""
        return "" if self.language in {"zh", "ja"} else " "

    @property
    def text(self) -> str:
        """Its sentences, without menu and marks."""
        return self.gap.join(self.sentences)

    def body(self) -> bytes:
        """The page as it is served."""
        grammar = GRAMMARS[self.language]
        dated = f'<meta property="article:published_time" content="{self.published}T08:00:00Z">' if self.published else ""
        menu = " ".join(f'<a href="/{number}">{entry}</a>' for number, entry in enumerate(grammar.menu))
        paragraphs = "\n".join(f"<p>{html.escape(self.gap.join(chunk))}</p>" for chunk in _chunks(self.sentences, 3))
        page = (
            f'<!doctype html><html lang="{self.language}"><head><meta charset="{self.charset}">'
            f"<title>{html.escape(self.title)}</title>{dated}</head><body><header><nav>{menu}</nav></header>"
            f"<main><article><h1>{html.escape(self.title)}</h1>\n{paragraphs}\n</article></main>"
            f"<footer><p>{grammar.menu[3]} · {grammar.menu[4]}</p></footer></body></html>"
        )
        return page.encode(self.charset, "xmlcharrefreplace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, and what a right answer to it is."""

    number: int
    language: str
    kind: Kind
    text: str
    subject: str
    answer: str
    """The value as the pages write it."""
    wrong: tuple[str, ...]
    """Values that other pages state: rumours, older values, those of namesakes."""
    sentences: tuple[str, ...]
    """The sentences that state the answer, in the words of the pages."""
    false_sentences: tuple[str, ...]
    """The same sentences with another number, date or name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All pages by address, and all questions."""

    documents: dict[str, Document]
    questions: tuple[Question, ...]
    clusters: dict[int, dict[str, int]] = field(default_factory=dict)
    """Question → cluster → grade, of what answers it."""

    def of(self, url: str) -> Document | None:
        """The page of an address."""
        return self.documents.get(url)


def build(seed: int = 7, questions: int = 180) -> World:
    """The web of this seed; 180 questions make some 2,300 pages."""
    rng = random.Random(seed)
    names = _Names(rng)
    orders = iter(injections(200))
    documents: list[Document] = []
    asked: list[Question] = []
    for number in range(questions):
        language = LANGUAGES[number % len(LANGUAGES)]
        topic = TOPICS[language][number // len(LANGUAGES) % len(TOPICS[language])]
        place = _Place(rng, language, topic, number, names)
        asked.append(place.question())
        documents += place.documents(next(orders, ""))
    clusters: dict[int, dict[str, int]] = {}
    for document in documents:
        if document.grade:
            clusters.setdefault(document.question, {})[document.cluster] = document.grade
    return World(documents={document.url: document for document in documents}, questions=tuple(asked), clusters=clusters)


class _Names:
    """Invented names, each given once, and names that differ from one in a single letter."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._given: set[str] = set()

    def new(self, language: str) -> str:
        """A name that nobody has."""
        while True:
            name = self._made(language)
            if name not in self._given:
                self._given.add(name)
                return name

    def near(self, name: str, language: str) -> str:
        """The name with one letter changed."""
        letters = {"zh": HAN, "ja": KANJI}.get(language, "abdegiklmnoprstuv")
        while True:
            at = self._rng.randrange(1, len(name))
            other = name[:at] + self._rng.choice(letters) + name[at + 1 :]
            if other not in self._given:
                self._given.add(other)
                return other

    def slug(self) -> str:
        """A name for a host."""
        return self.new("en").lower()

    def _made(self, language: str) -> str:
        rng = self._rng
        if language in {"zh", "ja"}:
            return "".join(rng.sample(HAN if language == "zh" else KANJI, 3 + rng.randrange(2)))
        syllables = [rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(2)]
        return ("".join(syllables) + rng.choice(CODAS)).capitalize()


class _Place:
    """One question and the pages around it."""

    def __init__(self, rng: random.Random, language: str, topic: Topic, number: int, names: _Names) -> None:
        self.rng, self.language, self.topic, self.number, self.names = rng, language, topic, number, names
        self.name, self.slug = names.new(language), names.slug()
        self.subject = topic.subject.format(n=self.name)
        self.namesake = topic.subject.format(n=names.near(self.name, language))
        values = list(_values(rng, topic.kind, language))
        self.value, self.wrong = values[0], tuple(values[1:])
        self.grammar: Grammar = GRAMMARS[language]

    def question(self) -> Question:
        facts = tuple(fact.format(s=self.subject, v=self.value) for fact in self.topic.facts)
        others = [fact.format(s=self.subject, v=value) for fact in self.topic.facts for value in self.wrong]
        others += [fact.format(s=self.namesake, v=self.value) for fact in self.topic.facts]
        return Question(
            number=self.number,
            language=self.language,
            kind=self.topic.kind,
            text=self.topic.question.format(s=self.subject),
            subject=self.subject,
            answer=self.value,
            wrong=self.wrong,
            sentences=facts,
            false_sentences=tuple(others),
        )

    def documents(self, order: str) -> Iterator[Document]:
        rng, topic = self.rng, self.topic
        recent = TODAY - timedelta(days=rng.randrange(5, 200))
        earlier = recent - timedelta(days=rng.randrange(500, 1500))
        yield self._page(
            "official", self._official_host(), self.subject, self._told(0, rng.randrange(5, 30)), recent, popularity=0.9
        )
        report = self._told(rng.randrange(2), rng.randrange(14, 60))
        title = f"{self.subject}: {self._filler()}"[:90] if rng.random() < 0.5 else self._fact(rng.randrange(2))
        yield self._page("press", self._paper(), title, report, recent, popularity=rng.random())
        for copy in range(2 + rng.randrange(2)):
            told = self._edited(report)
            day = recent + timedelta(days=rng.randrange(3))
            host = self._paper() if copy else f"feeds{rng.randrange(90)}.example"
            yield self._page("copy", host, title, told, day, popularity=rng.random())
        answer = [f"{self._fact(1)}", *self._lines(3)]
        title = topic.question.format(s=self.subject) if rng.random() < 0.5 else f"{self.subject}?"
        yield self._page("forum", f"forum.{self.names.slug()}.example", title, answer, recent, popularity=0.3)
        old = self._told(0, rng.randrange(10, 40), value=self.wrong[0] if topic.changes else None)
        title = f"{self.subject}: {self._filler()}"[:90]
        yield self._page("old", self._paper(), title, old, earlier, popularity=rng.random() + 0.3)
        rumour = self._told(rng.randrange(2), rng.randrange(6, 20), value=self.wrong[1])
        yield self._page("rumour", f"blog{rng.randrange(90)}.example", f"{self.subject}?", rumour, recent, popularity=0.4)
        for index in (0, 1):
            told = self._told(index, rng.randrange(6, 30), subject=self.namesake, value=self.wrong[2])
            host = self._official_host() if index else self._paper()
            yield self._page("namesake", host, self.namesake, told, recent, popularity=rng.random())
        for _ in range(2):
            text = topic.question.format(s=self.subject)
            baited = [self._about(), text, *self._lines(8), text]
            host = f"best-answers{rng.randrange(90)}.example"
            yield self._page("bait", host, text, baited, TODAY - timedelta(days=2), popularity=0.0)
        for _ in range(2):
            yield self._page("background", self._paper(), self._about(), [self._about(), *self._lines(20)], earlier)
        if order and self.number % 2:
            told = [self._about(), order, *self._lines(6), order]
            yield self._page("injected", f"blog{rng.randrange(90)}.example", self.subject, told, recent, popularity=0.8)
        if self.number % 3 == 0:
            told = self._told(0, 8)
            yield self._page("refused", self._paper(), self.subject, told, recent, popularity=rng.random(), status=403)

    def _page(
        self,
        role: Role,
        host: str,
        title: str,
        sentences: list[str],
        day: date,
        *,
        popularity: float = 0.5,
        status: int = 200,
    ) -> Document:
        rng = self.rng
        grade = 1 if role == "old" and not self.topic.changes else GRADES.get(role, 0)
        path = f"{self.slug}-{rng.randrange(10**6):06d}"
        return Document(
            url=f"http://{host}/{day.year}/{path}",
            title=title,
            language=self.language,
            charset=rng.choice(CHARSETS[self.language]),
            role=role,
            question=self.number,
            sentences=tuple(sentences),
            published=day.isoformat() if rng.random() < 0.8 else "",
            cluster=f"{self.number}:report" if role in {"press", "copy"} else f"{self.number}:{path}",
            grade=grade,
            popularity=popularity,
            status=status,
        )

    def _told(self, fact: int, lines: int, *, subject: str = "", value: str | None = None) -> list[str]:
        """Filler with the fact in it, mostly far from the head."""
        told = self._lines(lines)
        told.insert(self.rng.randrange(len(told) // 4, len(told) + 1), self._fact(fact, subject, value))
        return told

    def _fact(self, index: int, subject: str = "", value: str | None = None) -> str:
        return self.topic.facts[index].format(s=subject or self.subject, v=self.value if value is None else value)

    def _edited(self, report: list[str]) -> list[str]:
        """The report as another house prints it: a line dropped, one put before it."""
        kept = list(report)
        droppable = [index for index, line in enumerate(kept) if self.subject not in line]
        kept.pop(self.rng.choice(droppable))
        return [self._filler(), *kept] if self.rng.random() < 0.5 else kept

    def _lines(self, count: int) -> list[str]:
        return [self._about() if self.rng.random() < 0.12 else self._filler() for _ in range(count)]

    def _filler(self) -> str:
        rng, grammar = self.rng, self.grammar
        return grammar.sentence.format(
            opening=rng.choice(grammar.openings),
            happening=rng.choice(grammar.happenings),
            thing=rng.choice(grammar.things),
            place=rng.choice(grammar.places),
        )

    def _about(self) -> str:
        return self.rng.choice(self.grammar.about).format(s=self.subject)

    def _paper(self) -> str:
        return f"www.{self.rng.choice(PAPERS)}{self.rng.randrange(8)}.example"

    def _official_host(self) -> str:
        state = STATE[self.language]
        return {
            "date": f"www.{self.names.slug()}.{state}.example",
            "length": f"transport.{state}.example",
            "dose": f"medicines.{state}.example",
            "version": f"docs.{self.slug}.example",
        }.get(self.topic.kind, f"www.{self.slug}.example")


def _values(rng: random.Random, kind: Kind, language: str) -> Iterator[str]:
    """The right value and three others, all of one form."""
    seen: set[str] = set()
    while len(seen) < 4:
        value = _value(rng, kind, language)
        if value not in seen:
            seen.add(value)
            yield value


def _value(rng: random.Random, kind: Kind, language: str) -> str:
    if kind == "date":
        return _day(TODAY - timedelta(days=rng.randrange(210, 600)), language)
    if kind == "count":
        return _grouped(rng.randrange(120, 24_000) * 100 + rng.randrange(100), language)
    if kind == "dose":
        return str(rng.randrange(2, 180) * 5)
    if kind == "length":
        number = f"{rng.randrange(110, 4_900) / 10:.1f}"
        return number.replace(".", ",") if language in {"de", "fr", "es"} else number
    if kind == "version":
        return f"{rng.randrange(1, 12)}.{rng.randrange(20)}.{rng.randrange(1, 20)}"
    if language in {"zh", "ja"}:
        given = rng.choice(GIVEN[language])
        return rng.choice(FAMILY[language]) + given + (rng.choice(GIVEN["zh"]) if language == "zh" else "")
    parts = [rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(2)]
    return " ".join(part.capitalize() for part in parts)


def _day(day: date, language: str) -> str:
    if language in {"zh", "ja"}:
        return f"{day.year}年{day.month}月{day.day}日"
    month = MONTHS[language][day.month - 1]
    shapes = {"de": f"{day.day}. {month} {day.year}", "es": f"{day.day} de {month} de {day.year}"}
    return shapes.get(language, f"{day.day} {month} {day.year}")


def _grouped(number: int, language: str) -> str:
    mark = {"en": ",", "de": ".", "fr": "\u00a0", "es": ".", "ja": ","}.get(language, "")
    return f"{number:,}".replace(",", mark)


def _chunks(lines: tuple[str, ...], size: int) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(lines), size):
        yield lines[start : start + size]
