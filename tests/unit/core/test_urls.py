"""Web addresses, case by case; the laws are in tests/property/test_urls.py."""

from __future__ import annotations

import pytest

from websearch_core import urls
from websearch_core.errors import InvalidInput


@pytest.mark.parametrize(
    "text",
    [
        "http://example.org",
        "HTTPS://Example.ORG/a?b#c",
        "https://user:pass@example.org:8443/",
        "https://bücher.example/ä",
        "https://例え.テスト/桥",
        "http://[2001:db8::1]:8080/",
        "http://192.0.2.7/",
        "http://localhost:1/",
        "https://example.org/Bridge_(structure)",
        "https://example.org/%E6%A1%A5",
        "https://example.org:/",
        "https://example.org./",
        "https://example.org/" + "x" * (2_048 - len("https://example.org/")),
    ],
)
def test_a_web_address_is_one(text: str) -> None:
    assert urls.is_web_url(text)
    assert urls.web_url(f"\n {text} ") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "example.org",
        "//example.org/",
        "/path",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "mailto:a@example.org",
        "data:text/html,x",
        "http:example.org",
        "http:///path",
        "http://",
        "http://:80/",
        "http://user@/",
        "http://./",
        "http://。/",
        "http://example.org:99999/",
        "http://example.org:port/",
        "http://[::1/",
        "http://[nonsense]/",
        "http://example.org／path",
        "http://example.org/a b",
        "http://example.org/a\nb",
        "http://example.org/\x00",
        "http://example.org/\x7f",
        "http://example.org/\u3000x",
        "http://example.org/\ud800",
        "http://example.org\\@evil.example/",
        "http://example.org/<script>",
        'http://example.org/"',
        "http://example.org/`",
        "https://example.org/" + "x" * (2_049 - len("https://example.org/")),
    ],
)
def test_what_is_no_web_address_is_refused(text: str) -> None:
    assert not urls.is_web_url(text)
    with pytest.raises(InvalidInput, match="absolute http") as caught:
        urls.web_url(text)
    assert caught.value.hint


def test_a_file_is_refused_with_where_its_text_is_found() -> None:
    """A search lists files of the library under such addresses."""
    with pytest.raises(InvalidInput, match="absolute http") as caught:
        urls.web_url("file:///home/me/notes.md")
    assert "a search quotes those that the local library holds" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://user:pass@WWW.Example.ORG:8443/x", "www.example.org"),
        ("https://example.org./", "example.org"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://BÜCHER.example/", "xn--bcher-kva.example"),
        ("https://example。org/", "example.org"),
        ("https://example。org。/", "example.org"),
        ("http://[2001:DB8::1]:80/", "2001:db8::1"),
        ("https://" + "ü" * 80 + ".example/", "ü" * 80 + ".example"),
        ("//example.org/x", "example.org"),
        ("http://[broken/", ""),
        ("http://example.org:nonsense/", ""),
        ("not an address", ""),
        ("", ""),
    ],
)
def test_the_host_is_lower_case_ascii_without_user_and_port(url: str, host: str) -> None:
    assert urls.host(url) == host


@pytest.mark.parametrize(
    "domain",
    ["example.org", "EXAMPLE.org", "*.example.org", ".example.org", " example.org ", "example.org/path", "example.org:443",
     "https://example.org/x", "https://user@example.org:1/", "example.org."],
)  # fmt: skip
def test_a_domain_is_understood_in_any_spelling(domain: str) -> None:
    assert urls.host_matches("https://docs.example.org/page", domain)
    assert urls.host_matches("example.org", domain)
    assert not urls.host_matches("https://notexample.org/", domain)


@pytest.mark.parametrize(
    "url",
    [
        "https://notexample.org/",
        "https://example.org.evil.example/",
        "https://example.org@evil.example/",
        "https://evil.example/example.org",
        "https://evil.example/?example.org",
        "https://evil.example/#.example.org",
        "https://example.org%2f@evil.example/",
        "https://examp1e.org/",
        "https://exаmple.org/",  # the third letter is Cyrillic
        "https://org/",
        "notexample.org",
        "",
    ],
)
def test_an_impostor_is_no_subdomain(url: str) -> None:
    assert not urls.host_matches(url, "example.org")


@pytest.mark.parametrize("domain", ["", " ", "*.", ".", "/path", "https:///path"])
def test_no_domain_matches_nothing(domain: str) -> None:
    assert not urls.host_matches("https://example.org/", domain)
    assert not urls.host_matches("", domain)


def test_international_domains_match_in_both_forms() -> None:
    assert urls.host_matches("https://www.bücher.example/", "xn--bcher-kva.example")
    assert urls.host_matches("https://www.xn--bcher-kva.example/", "BÜCHER.example")


@pytest.mark.requirement("P5-PROMPT-05")
@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("https://www.example.org/", "https://example.org/"),
        ("https://www.www.example.org/", "https://example.org/"),
        ("https://www.com/", "https://www.com/"),
        ("https://wwwx.example.org/", "https://wwwx.example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:/", "https://example.org/"),
        ("https://example.org./", "https://example.org/"),
        ("https://user@www.example.org:8443/", "https://user@example.org:8443/"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/"),
        ("http://[v1.a]/", "http://[v1.a]/"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example.org/a/#part", "https://example.org/a"),
        ("https://example.org//a///b//", "https://example.org/a/b"),
        ("https://example.org/A/b", "https://example.org/A/b"),
        ("https://example.org/%7euser/%41%2f%e6", "https://example.org/~user/A%2F%E6"),
        ("https://example.org/100%", "https://example.org/100%25"),
        ("https://example.org/%4%31", "https://example.org/%2541"),
        ("https://example.org/桥", "https://example.org/%E6%A1%A5"),
        ("https://example.org/Bridge_(structure)", "https://example.org/Bridge_(structure)"),
        ("https://example.org/?b=2&a=1&b=1", "https://example.org/?a=1&b=1&b=2"),
        ("https://example.org/?a=x+y&b=x%20y", "https://example.org/?a=x%20y&b=x%20y"),
        ("https://example.org/?q=%d6%d0", "https://example.org/?q=%D6%D0"),
        ("https://example.org/?q=1%262", "https://example.org/?q=1%262"),
        ("https://example.org/?a=b=c", "https://example.org/?a=b%3Dc"),
        ("https://example.org/?a&&b=", "https://example.org/?a=&b="),
        ("https://example.org/?utm_source=x&UTM_Campaign=y&fbclid=1&q=z&gclid=2&ref_src=t", "https://example.org/?q=z"),
        ("https://example.org/?utm=1&xutm_source=2", "https://example.org/?utm=1&xutm_source=2"),
        ("https://example.org/?utm%5Fsource=1", "https://example.org/"),
        ("  https://example.org/  ", "https://example.org/"),
    ],
)
def test_the_canonical_form(url: str, canonical: str) -> None:
    assert urls.canonical(url) == canonical
    assert urls.canonical(canonical) == canonical


@pytest.mark.parametrize(
    "text", ["", "not an address", "ftp://Example.org/", "mailto:A@example.org", "http:///x", "http://[::1", "//Example.org/"]
)
def test_what_is_no_web_address_has_no_other_form(text: str) -> None:
    assert urls.canonical(text) == text


def test_queries_in_other_encodings_stay_apart() -> None:
    """Two GBK words are two pages, though neither is UTF-8."""
    one, other = (urls.canonical(f"https://example.org/s?wd={word}") for word in ("%D6%D0", "%B9%FA"))
    assert one != other


def test_http_and_https_stay_apart() -> None:
    assert urls.canonical("http://example.org/") != urls.canonical("https://example.org/")


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("c", "https://example.org/a/c"),
        ("/c", "https://example.org/c"),
        ("../c", "https://example.org/c"),
        ("?q=1", "https://example.org/a/b?q=1"),
        ("#part", "https://example.org/a/b?x=1"),
        ("", "https://example.org/a/b?x=1"),
        ("  c \n", "https://example.org/a/c"),
        ("//other.example/c", "https://other.example/c"),
        ("http://other.example/c#part", "http://other.example/c"),
        ("桥 (x)", "https://example.org/a/%E6%A1%A5%20(x)"),
        ("a|b", "https://example.org/a/a%7Cb"),
        ("%41%zz", "https://example.org/a/%41%zz"),
        ("https://bücher.example:8080/ä", "https://xn--bcher-kva.example:8080/%C3%A4"),
        ("https://ä@bücher.example/", "https://%C3%A4@xn--bcher-kva.example/"),
        ("http://[2001:db8::1]/", "http://[2001:db8::1]/"),
        ("\ud800", "https://example.org/a/%ED%A0%80"),
    ],
)
def test_a_link_is_joined_to_its_page(reference: str, url: str) -> None:
    assert urls.absolute("https://example.org/a/b?x=1", reference) == url


@pytest.mark.parametrize(
    "reference",
    ["javascript:alert(1)", "mailto:a@example.org", "data:,x", "ftp://x.example/", "tel:1", "http://[::1", "http://", "https://x.example:99999/",
     "x" * 2_048],
)  # fmt: skip
def test_a_link_that_leads_to_no_web_page_is_none(reference: str) -> None:
    assert urls.absolute("https://example.org/", reference) is None


def test_a_base_that_is_no_web_page_gives_none() -> None:
    assert urls.absolute("file:///home/x", "c") is None


@pytest.mark.requirement("EDGE-08")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://example.org/a.", ["https://example.org/a"]),
        ("(https://example.org/a)", ["https://example.org/a"]),
        ("https://example.org/Bridge_(structure)", ["https://example.org/Bridge_(structure)"]),
        ("(see https://example.org/Bridge_(structure)).", ["https://example.org/Bridge_(structure)"]),
        ("https://example.org/a), and", ["https://example.org/a"]),
        ("[text](https://example.org/a)", ["https://example.org/a"]),
        ("[https://example.org/a](https://example.org/b)", ["https://example.org/a", "https://example.org/b"]),
        ("![x](https://example.org/a.png)**", ["https://example.org/a.png"]),
        ("<https://example.org/a>", ["https://example.org/a"]),
        ("**https://example.org/a**", ["https://example.org/a"]),
        ("`https://example.org/a`", ["https://example.org/a"]),
        ('{"url":"https://example.org/a"}', ["https://example.org/a"]),
        ("|https://example.org/a|https://example.org/b|", ["https://example.org/a", "https://example.org/b"]),
        ("{https://example.org/a}", ["https://example.org/a"]),
        ("参见https://example.org/a。下一句", ["https://example.org/a"]),
        ("参见（https://example.org/a），还有https://example.org/b、", ["https://example.org/a", "https://example.org/b"]),
        ("「https://example.org/桥」", ["https://example.org/桥"]),
        ("“https://example.org/a”", ["https://example.org/a"]),
        ("HTTPS://EXAMPLE.ORG/A!?", ["HTTPS://EXAMPLE.ORG/A"]),
        ("https://example.org/?a=1&b=[2]; x", ["https://example.org/?a=1&b=[2]"]),
        ("[1]https://example.org/a]", ["https://example.org/a"]),
        (
            "https://a.example https://b.example\nhttps://a.example",
            ["https://a.example", "https://b.example", "https://a.example"],
        ),
        ("https://archive.example/2020/https://example.org/a", ["https://archive.example/2020/https://example.org/a"]),
        ("https:// http://: ftp://example.org example.org", []),
        ("http://...", []),
        ("", []),
    ],
)
def test_bare_addresses_are_found_in_prose(text: str, found: list[str]) -> None:
    assert list(urls.find_urls(text)) == found


@pytest.mark.parametrize(
    ("path", "patterns", "fits"),
    [
        ("/docs/a", (), True),
        ("/docs/a", ("/docs/*",), True),
        ("/docs/", ("/docs/*",), True),
        ("/docs", ("/docs/*",), False),
        ("/docs/a", ("/docs",), False),
        ("/docs/a/b", ("/docs/*/b",), True),
        ("/a?x=1&y=2", ("*x=1*",), True),
        ("/a.html", ("*.html", "*.md"), True),
        ("/a.htm", ("*.html", "*.md"), False),
        ("/docs/old/a", ("/docs/*", "!/docs/old/*"), False),
        ("/a", ("!/docs/*",), True),
        ("", ("/",), True),
        ("/ab", ("/a*b*b",), False),
        ("/a[1]+", ("/a[1]+",), True),
        ("/aba", ("/ab*ba",), False),
        ("/%E5%85%B3%E4%BA%8E/a", ("/关于/*",), True),
        ("/关于", ("/%E5%85%B3%E4%BA%8E",), True),
    ],
)
def test_patterns_choose_paths(path: str, patterns: tuple[str, ...], fits: bool) -> None:
    assert urls.path_matches(f"https://a.example{path}", patterns) is fits


def test_a_hostile_pattern_costs_little() -> None:
    """One pass for each, however many stars: no trying again."""
    assert not urls.path_matches("https://a.example/" + "a" * 5_000, ("*a" * 2_000 + "b",))
