"""Laws of web addresses: one form per page, and that form is still the page."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from websearch_core import urls
from websearch_core.testing.strategies import domains, hostile_text, web_urls

TRACKING = ("utm_source", "UTM_Medium", "utm_id", "fbclid", "gclid", "mc_cid", "mc_eid", "ref_src")


def _is_tracking(name: str) -> bool:
    return name.lower().startswith("utm_") or name.lower() in TRACKING


def _bytes(text: str) -> bytes:
    return unquote_to_bytes(text)


def _pairs(query: str) -> list[tuple[str, str]]:
    found = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
    return sorted(pair for pair in found if not _is_tracking(pair[0]))


def _path(url: str) -> list[bytes]:
    """The path's segments as a server reads them; empty ones do not count."""
    return [_bytes(segment) for segment in urlsplit(url).path.split("/") if segment]


@given(web_urls())
def test_normalising_twice_is_normalising_once(url: str) -> None:
    assert urls.canonical(urls.canonical(url)) == urls.canonical(url)


@given(web_urls())
def test_the_canonical_form_is_a_web_address(url: str) -> None:
    canonical = urls.canonical(url)
    assume(len(canonical) <= urls.MAX_URL_CHARS)
    assert urls.is_web_url(canonical)


@given(web_urls())
def test_the_canonical_form_is_ascii_but_for_the_user(url: str) -> None:
    assert urls.canonical(url).isascii()


@given(web_urls())
def test_the_canonical_form_points_at_the_same_page(url: str) -> None:
    before, after = urlsplit(url), urlsplit(urls.canonical(url))
    default = {"http": 80, "https": 443}[before.scheme]
    assert after.scheme == before.scheme
    assert after.hostname is not None
    assert urls.host(url) in {after.hostname, *(f"{'www.' * times}{after.hostname}" for times in (1, 2, 3))}
    assert (after.port or default) == (before.port if before.port is not None else default)
    assert (after.username, after.password) == (before.username or None, before.password)
    assert _path(after.geturl()) == _path(url)
    assert _pairs(after.query) == _pairs(before.query)


@pytest.mark.requirement("P5-PROMPT-05")
@given(web_urls(), st.sampled_from(TRACKING), st.text("abc123", max_size=5), st.sampled_from(["#", "#part"]))
def test_what_makes_no_other_page_makes_no_other_form(url: str, name: str, value: str, fragment: str) -> None:
    bare = url.partition("#")[0]
    spelled = f"{bare}{'&' if '?' in bare else '?'}{name}={value}{fragment}"
    assert urls.canonical(spelled) == urls.canonical(url)


@given(web_urls(), web_urls())
def test_other_hosts_have_other_forms(one: str, other: str) -> None:
    hosts = [urls.host(url).removeprefix("www.").removeprefix("www.").removeprefix("www.") for url in (one, other)]
    assume(hosts[0] != hosts[1])
    assert urls.canonical(one) != urls.canonical(other)


@given(hostile_text(max_size=80))
def test_no_text_breaks_anything(text: str) -> None:
    for candidate in (text, f"http://{text}", f"https://example.org/{text}", f"https://example.org/?q={text}#{text}"):
        urls.host(candidate)
        urls.host_matches(candidate, text)
        urls.absolute("https://example.org/a/b", candidate)
        once = urls.canonical(candidate)
        assert urls.canonical(once) == once
        assert all(urls.is_web_url(url) for url in urls.find_urls(f"{text} {candidate} {text}"))


@given(hostile_text(max_size=80))
def test_what_is_a_web_address_is_taken_as_it_is(text: str) -> None:
    candidate = f"https://example.org/{text}"
    if urls.is_web_url(candidate):
        assert urls.web_url(f"  {candidate}\n") == candidate
        assert not set(candidate) & set(' \t\r\n\x00"<>\\`')


@given(web_urls(), hostile_text(max_size=40))
def test_a_joined_link_is_an_ascii_address_without_fragment_or_nothing(base: str, reference: str) -> None:
    joined = urls.absolute(base, reference)
    assert joined is None or (urls.is_web_url(joined) and joined.isascii() and "#" not in joined)


@given(web_urls(), st.text("abcxyz0123/-._~%20()", max_size=20))
def test_a_joined_link_stays_on_its_host(base: str, path: str) -> None:
    joined = urls.absolute(base, "/" + path.lstrip("/"))
    assert joined is not None
    assert urls.host(joined) == urls.host(base)


@given(web_urls())
def test_joining_a_page_with_itself_is_the_same_page(url: str) -> None:
    assume(";" not in url)  # joining drops an empty parameter, which no server tells from none
    assume(not {".", ".."} & set(urlsplit(url).path.split("/")))
    joined = urls.absolute(url, url)
    assert joined is not None
    assert urls.canonical(joined) == urls.canonical(url)


@given(domains(), st.text("abcdefghij-", min_size=1, max_size=8).filter(lambda label: label.strip("-") == label))
def test_a_domain_matches_itself_and_below_and_no_impostor(domain: str, label: str) -> None:
    bare = domain.removeprefix("*.")
    for good in (bare, f"{label}.{bare}", f"https://{label}.{bare}/x", f"https://user@{bare}:8443/", f"https://{bare.upper()}./"):
        assert urls.host_matches(good, domain), good
    for bad in (f"{label}{bare}", f"{bare}.{label}.example", f"https://{bare}@evil.example/", f"https://evil.example/{bare}"):
        assert not urls.host_matches(bad, domain), bad


@given(st.lists(web_urls(), max_size=4))
def test_addresses_in_brackets_or_between_blanks_are_found_whole(listed: list[str]) -> None:
    simple = [url for url in listed if url.isascii() and not url.endswith(tuple(".,;:!?'*_~()[]")) and "](" not in url]
    simple = [url for url in simple if all(url.count(a) == url.count(b) for a, b in ("()", "[]"))]
    text = " ".join(f"see <{url}>, {url} or ({url})." for url in simple)
    assert list(urls.find_urls(text)) == [url for url in simple for _ in range(3)]
