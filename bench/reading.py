"""Two figures of the built-in reader: pages of every charset read exactly, and hostile pages that break something.

`python bench/reading.py` prints each page that is not read exactly, and each hostile page with its outcome, time and memory.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from upstreams.hostile import CASES, PROSE, Case
from websearch_adapters.extract.charset import decode
from websearch_adapters.extract.reading import Document
from websearch_adapters.extract.worker import Limits, Worker
from websearch_core.errors import WebSearchError

LIMIT_S = 20.0
PATIENCE_S = 60.0
"""A call that takes longer hangs."""
MEMORY_BYTES = 1_024 * 1_024 * 1_024
GROWTH_BYTES = 80 * 1_024 * 1_024
"""Our own process may hold this much more afterwards: the largest page's copies, not yet given back."""
TEXTS = {
    "zh-Hans": "这是一个关于中文网页编码的测试页面，内容包括新闻、天气与体育。北京的天气今天很好，适合出门散步。",
    "zh-Hant": "這是一個關於中文網頁編碼的測試頁面，內容包括新聞、天氣與體育。台北今天的天氣很好，適合出門散步。",
    "ja": "これは日本語のページです。東京の天気は今日とても良いので、散歩に出かけましょう。新聞とスポーツもあります。",
    "ko": "이 페이지는 한국어로 작성되었습니다. 오늘 서울의 날씨는 맑고 따뜻합니다. 산책하기 좋은 날입니다.",
    "ru": "Это тестовая страница на русском языке о погоде и новостях. Сегодня в Москве хорошая погода для прогулки.",
    "uk": "Це тестова сторінка українською мовою про погоду й новини. Сьогодні в Києві гарна погода, їжак і ґанок.",
    "el": "Αυτή είναι μια δοκιμαστική σελίδα στα ελληνικά για τον καιρό. Σήμερα στην Αθήνα ο καιρός είναι καλός.",
    "fr": "Voilà une page en français : l’été, les élèves étudient à l’école, « déjà vu », et l'île où naît le maïs.",
    "de": "Dies ist eine Seite auf Deutsch über das Wetter: schöne Grüße aus München, wo die Straßen heute trocken bleiben.",
    "pl": "Zażółć gęślą jaźń. Pogoda w Warszawie jest dziś piękna, więc idziemy na spacer do łazienek królewskich.",
    "tr": "Bu sayfa Türkçe olarak yazılmıştır. Bugün İstanbul'da hava çok güzel, şehirde yürüyüş yapıyoruz, ağaçlar yeşil.",
    "he": "זהו דף בדיקה בעברית על מזג האוויר ועל החדשות. היום בתל אביב מזג האוויר נעים ומתאים לטיול.",
    "ar": "هذه صفحة تجريبية باللغة العربية عن الطقس والأخبار. الطقس في القاهرة اليوم جميل ومناسب للمشي.",
    "th": "นี่คือหน้าทดสอบภาษาไทยเกี่ยวกับสภาพอากาศและข่าว วันนี้อากาศที่กรุงเทพดีมากเหมาะสำหรับการเดินเล่น",
}
CHARSETS = (
    ("zh-Hans", "gbk"), ("zh-Hans", "gb18030"), ("zh-Hant", "big5"), ("ja", "shift_jis"), ("ja", "euc_jp"), ("ko", "euc_kr"),
    ("ru", "windows-1251"), ("ru", "koi8-r"), ("uk", "windows-1251"), ("el", "windows-1253"), ("fr", "windows-1252"),
    ("ja", "iso-2022-jp"), ("de", "iso-8859-1"), ("pl", "windows-1250"), ("pl", "iso-8859-2"), ("tr", "windows-1254"),
    ("he", "windows-1255"), ("ar", "windows-1256"), ("th", "tis-620"), ("ja", "utf-8"),
)  # fmt: skip
WAYS = ("header", "meta", "undeclared")


def pages() -> list[tuple[str, str, bytes, str]]:
    """Name, text, bytes and content type of 60 pages: 14 languages, 20 charsets, declared in the header, in the page, or not."""
    found = []
    for language, charset in CHARSETS:
        for way in WAYS:
            meta = f"<meta charset='{charset}'>" if way == "meta" else ""
            text = "".join(f"<p>{TEXTS[language]}</p>" for _ in range(6))
            html = f"<html lang='{language}'><head>{meta}<title>t</title></head><body>{text}</body></html>"
            kind = f"text/html; charset={charset}" if way == "header" else "text/html"
            found.append((f"{language} {charset} {way}", html, html.encode(charset), kind))
    return found


def not_exact() -> list[str]:
    """The pages whose text comes out other than it was written."""
    return [name for name, html, body, kind in pages() if decode(body, kind)[0] != html]


def charset_exact() -> float:
    """Pages, of 60, whose text comes out exactly."""
    return len(pages()) - len(not_exact())


def hostile_failures() -> float:
    """Hostile pages after which something is wrong."""
    return len(asyncio.run(faults()))  # noqa: TID251 - a program of its own


async def faults(*, tell: bool = False) -> list[str]:
    """`page: what is wrong`: no typed outcome, prose lost, limit passed, the next page not read, memory not given back."""
    worker = Worker(Limits(time_s=LIMIT_S, memory_bytes=MEMORY_BYTES), processes=1)
    wrong: list[str] = []
    await _honest(worker)
    before = _held_bytes()
    for name, case in CASES.items():
        began = time.perf_counter()
        came, fault = await _outcome(worker, case)
        took = time.perf_counter() - began
        if tell:
            print(f"{took:6.2f} s  {(_held_bytes() - before) >> 20:5} MiB  {name}: {came}", flush=True)
        if fault or not await _honest(worker):
            wrong.append(f"{name}: {fault or 'the next page was not read'}")
    await worker.aclose()
    if _held_bytes() - before > GROWTH_BYTES:
        wrong.append(f"all: {(_held_bytes() - before) >> 20} MiB more than before")
    return wrong


async def _outcome(worker: Worker, case: Case) -> tuple[str, str]:
    """What came, and what is wrong with it."""
    made = case.make()
    body = made.encode("utf-8", "surrogatepass") if isinstance(made, str) else made
    try:
        async with asyncio.timeout(PATIENCE_S):
            found = await worker.read(Document(body=body, url="https://hostile.example/", content_type=case.content_type))
    except WebSearchError as error:
        broken = "breaks the reader" in error.message
        return f"{type(error).__name__} {dict(error.diagnostics) or ''}", error.message if case.prose or broken else ""
    except TimeoutError:
        return "nothing", "hangs"
    lost = case.prose and PROSE not in " ".join(found.text.split())
    return f"{len(found.text):,} characters", "the prose is lost" if lost else ""


async def _honest(worker: Worker) -> bool:
    page = Document(body=f"<main><p>{PROSE}</p></main>".encode(), url="https://honest.example/", content_type="text/html")
    return PROSE in (await worker.read(page)).text


def _held_bytes() -> int:
    """Memory that our own process holds now; 0 where the system does not tell."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4_096 if status.exists() else 0


if __name__ == "__main__":
    inexact = not_exact()
    print(*inexact, f"{len(pages()) - len(inexact)} of {len(pages())} pages exact", sep="\n")
    failed = asyncio.run(faults(tell=True))  # noqa: TID251 - a program of its own
    print(*failed, f"{len(failed)} hostile failures of {len(CASES)}", sep="\n")
    sys.exit(bool(inexact or failed))
