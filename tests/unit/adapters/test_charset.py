"""Bytes to text: every page exactly as its author wrote it."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from websearch_adapters.extract.charset import LABELS, WEB_NAMES, clean, decode

ZH = "这是一个关于中文网页编码的测试页面，内容包括新闻、天气与体育。北京的天气今天很好，适合出门散步。"
TW = "這是一個關於中文網頁編碼的測試頁面，內容包括新聞、天氣與體育。台北今天的天氣很好。"
JA = "これは日本語のページです。①㈱髙橋さんは東京に住んでいます。天気がいいから散歩しましょう。"
KO = "이 페이지는 한국어로 작성되었습니다. 오늘 서울의 날씨는 맑고 따뜻합니다. 똠방각하 펲시콜라"
RU = "Это тестовая страница на русском языке о погоде и новостях. Сегодня хорошая погода в Москве."
FR = "Voilà une page en français : l’été, les élèves étudient à l’école — « déjà vu », cœur, 20 €."
TR = "Bu sayfa Türkçe olarak yazılmıştır. Bugün İstanbul'da hava çok güzel, şehirde yürüyüş yapıyoruz."
PL = "Zażółć gęślą jaźń. Pogoda w Warszawie jest dziś piękna, więc idziemy na spacer do łazienek."
NAVIGATION = "<ul>" + "<li><a href='/navigation/item'>Navigation item</a></li>" * 260 + "</ul>"
LEGACY = [
    (ZH, "gbk", "zh"),
    (ZH + "𠮷", "gb18030", "zh"),
    (TW, "big5", "zh"),
    (JA, "cp932", "ja"),
    ("これは日本語のページです。天気がいいから散歩しましょう。", "euc_jp", "ja"),
    ("これは日本語のページです。天気がいいから散歩しましょう。", "iso2022_jp", "ja"),
    (KO, "cp949", "ko"),
    (RU, "cp1251", "ru"),
    (RU, "koi8-r", "ru"),
    (FR, "cp1252", "fr"),
    (TR, "cp1254", "tr"),
    (PL, "cp1250", "pl"),
    (PL, "iso8859-2", "pl"),
    ("Šis miestas yra didžiausias šalyje, jame gyvena daug žmonių, čia veikia įmonės ir ūkiai.", "cp1257", "lt"),
]


def page(text: str, *, before: str = "", head: str = "", lang: str = "en") -> str:
    return f"<html lang='{lang}'><head>{head}<title>t</title></head><body>{before}<p>{text}</p></body></html>"


@pytest.mark.parametrize("before", ["", NAVIGATION], ids=["at once", "behind 13 kB of ASCII"])
@pytest.mark.parametrize(("text", "encoding", "lang"), LEGACY, ids=[encoding for _, encoding, _ in LEGACY])
def test_an_undeclared_legacy_page_is_read_exactly(text: str, encoding: str, lang: str, before: str) -> None:
    html = page(text, before=before, lang=lang)
    assert decode(html.encode(encoding), "text/html")[0] == html


def test_a_western_page_is_told_from_a_baltic_one_by_its_language() -> None:
    html = page("l'élève naïf à l'île où naît le maïs, çà et là " * 6, lang="fr")
    assert decode(html.encode("cp1252"), "text/html") == (html, "windows-1252")


def test_a_western_page_that_tells_no_language_is_not_taken_for_baltic() -> None:
    words = "<p>“Café” — naïve déjà vu costs 5€ – it’s fine.</p>"
    assert decode(f"<html><body>{words * 5}</body></html>".encode("cp1252"), "text/html")[0].count(words) == 5


def test_utf8_with_a_stretch_of_something_else_stays_utf8() -> None:
    body = f"<p>{'这是一个段落。' * 6}</p>".encode() + "<p>尾部是国标</p>".encode("gbk")
    assert decode(body, "text/html; charset=utf-8")[0].count("这是一个段落。") == 6


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("label", ["", "; charset=utf-16", "; charset=utf-8", "; charset=gbk"])
def test_utf16_shows_by_its_zeros_whatever_is_declared(encoding: str, label: str) -> None:
    html = f"<html><head><title>Title</title></head><body><p>{'一丁丂七' * 9}</p></body></html>"
    assert decode(html.encode(encoding), f"text/html{label}")[0] == html


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("gb2312", "gb18030", ZH + "镕𠮷"),
        ("GBK", "gb18030", ZH + "𠮷"),
        ("latin-1", "cp1252", FR),
        ("iso-8859-1", "cp1252", FR),
        ("us-ascii", "cp1252", FR),
        ("iso-8859-9", "cp1254", TR + "“”"),
        ("shift_jis", "cp932", JA),
        ("x-sjis", "cp932", JA),
        ("ks_c_5601-1987", "cp949", KO),
        ("euc-kr", "cp949", KO),
        ("big5", "big5hkscs", TW + "喺嘅"),
        ("windows-1251", "cp1251", RU),
    ],
)
def test_labels_mean_what_browsers_take_them_for(label: str, encoding: str, text: str) -> None:
    html = page(text)
    assert decode(html.encode(encoding), f"text/html; charset={label}")[0] == html
    declared = page(text, head=f'<meta http-equiv="Content-Type" content="text/html; charset={label}">')
    assert decode(declared.encode(encoding), "text/html")[0] == declared


@pytest.mark.parametrize("label", sorted({*LABELS, *WEB_NAMES}))
def test_every_label_of_the_table_can_be_decoded(label: str) -> None:
    assert decode(b"plain", f"text/plain; charset={label}")[0]


class TestOrder:
    def test_a_mark_beats_the_header(self) -> None:
        html = page(FR)
        for mark, encoding in (
            (codecs.BOM_UTF8, "utf-8"),
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
        ):
            assert decode(mark + html.encode(encoding), "text/html; charset=iso-8859-1") == (html, encoding)

    def test_the_header_beats_the_page(self) -> None:
        html = page(RU, head="<meta charset=koi8-r>")
        assert decode(html.encode("cp1251"), 'text/html; charset="windows-1251"') == (html, "windows-1251")

    def test_the_page_beats_detection(self) -> None:
        html = page("äöü", head="<meta charset=cp866>")
        assert decode("<meta charset=cp866>Да".encode("cp866"), "")[0].endswith("Да")
        assert decode(html.encode("cp1252"), "text/html; charset=windows-1252")[0] == html

    def test_a_late_declaration_is_found_behind_ascii(self) -> None:
        html = page(ZH, head=f"<!-- {'x' * 13_000} --><meta http-equiv=content-type content='text/html; charset=gb2312'>")
        assert decode(html.encode("gb18030"), "text/html") == (html, "gb18030")

    def test_a_declaration_inside_a_comment_does_not_count(self) -> None:
        html = page(ZH, head="<!-- <meta charset=windows-1252> --><meta charset=gbk>")
        assert decode(html.encode("gbk"), "")[0] == html

    def test_an_xml_declaration_counts(self) -> None:
        xml = f'<?xml version="1.0" encoding="windows-1251"?><a>{RU}</a>'
        assert decode(xml.encode("cp1251"), "application/xml")[0] == xml

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    @pytest.mark.parametrize("text", [ZH, FR, RU])
    def test_utf16_is_known_without_any_mark(self, encoding: str, text: str) -> None:
        html = page(text)
        assert decode(html.encode(encoding), "text/html") == (html, encoding)


class TestWrongDeclarations:
    @pytest.mark.parametrize("label", ["utf-8", "euc-jp", "no-such-charset", "utf-7", "hex", "unicode_escape"])
    def test_one_that_does_not_fit_falls_to_detection(self, label: str) -> None:
        html = page(ZH * 3)
        assert decode(html.encode("gbk"), f"text/html; charset={label}")[0] == html

    def test_a_header_that_does_not_fit_falls_to_the_page(self) -> None:
        html = page(KO, head="<meta charset=euc-kr>")
        assert decode(html.encode("cp949"), "text/html; charset=utf-8") == (html, "cp949")

    @pytest.mark.parametrize("text", [FR, ZH, RU, "café"])
    def test_utf8_under_a_single_byte_label_is_utf8(self, text: str) -> None:
        html = page(text)
        assert decode(html.encode(), "text/html; charset=ISO-8859-1") == (html, "utf-8")

    def test_utf8_under_an_east_asian_label_is_utf8_when_the_page_or_the_bytes_say_so(self) -> None:
        german = page("Größe über Straße", head="<meta charset=utf-8>")
        assert decode(german.encode(), "text/html; charset=gbk") == (german, "utf-8")
        chinese = page(ZH)
        assert decode(chinese.encode(), "text/html; charset=gbk") == (chinese, "utf-8")

    def test_gbk_text_that_happens_to_be_valid_utf8_stays_gbk(self) -> None:
        assert decode("联通".encode("gbk"), "text/html; charset=gbk")[0] == "联通"

    def test_a_few_bad_bytes_do_not_change_a_declaration(self) -> None:
        body = page(ZH * 10).encode() + b"\xff"
        text, name = decode(body, "text/html; charset=utf-8")
        assert name == "utf-8"
        assert text == page(ZH * 10) + "\ufffd"

    def test_a_meta_that_claims_utf16_means_utf8(self) -> None:
        html = page(FR, head="<meta charset=utf-16>")
        assert decode(html.encode(), "") == (html, "utf-8")


def test_zeros_go_and_lone_surrogates_become_replacements() -> None:
    assert clean("a\x00b\ud800c\udfff😀") == "ab\ufffdc\ufffd😀"
    assert decode(b"a\x00b", "text/plain; charset=utf-8")[0] == "ab"


@given(body=st.binary(max_size=300), content_type=st.sampled_from(["", "text/html; charset=gbk", "text/html; charset=utf-16"]))
def test_any_bytes_give_text_that_can_be_written_as_utf8(body: bytes, content_type: str) -> None:
    text, name = decode(body, content_type)
    assert "\x00" not in text
    text.encode("utf-8")
    codecs.lookup(name)


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff")))
def test_declared_utf8_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode(), "text/plain; charset=utf-8")[0] == text
