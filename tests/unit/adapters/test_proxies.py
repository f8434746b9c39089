"""Which proxy a request takes, and how a proxy is written."""

from __future__ import annotations

import pytest

from websearch_adapters.http.proxies import Proxies, Proxy, inherited
from websearch_core.errors import NotConfigured


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://proxy.example:3128", "http://proxy.example:3128"),
        ("proxy.example:3128", "http://proxy.example:3128"),
        ("HTTP://Proxy.Example", "http://proxy.example:80"),
        ("https://proxy.example/", "https://proxy.example:443"),
        ("socks5://127.0.0.1:7890", "socks5://127.0.0.1:7890"),
        ("socks5h://127.0.0.1", "socks5h://127.0.0.1:1080"),
        ("socks://127.0.0.1:7891/", "socks5h://127.0.0.1:7891"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_a_proxy_is_read_as_people_write_it(text: str, url: str) -> None:
    assert Proxy.read(text).url == url
    assert Proxy.read(text).auth is None


def test_user_and_password_are_decoded_and_never_shown() -> None:
    proxy = Proxy.read("http://user:p%40ss@proxy.example:3128")
    assert proxy.auth == ("user", "p@ss")
    assert "ss" not in f"{proxy!r}".replace("pass", "").replace("class", "") + proxy.url
    assert Proxy.read("user@proxy.example").auth == ("user", "")


@pytest.mark.parametrize(
    "text", ["", "ftp://hunter2@host", "socks4://host", "http://", "http://host:port", "http://[::1", "://x"]
)
def test_what_is_no_proxy_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(NotConfigured) as caught:
        Proxy.read(text)
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def taken(direct: tuple[str, ...], host: str, port: int = 443) -> bool:
    return Proxies(by_scheme={"all": "proxy.example:3128"}, direct=direct).of("https", host, port) is not None


@pytest.mark.parametrize(
    ("entry", "host", "direct"),
    [
        ("example.org", "example.org", True),
        ("example.org", "www.example.org", True),
        ("example.org", "wwwexample.org", False),
        (".example.org", "example.org", True),
        ("*.example.org", "www.example.org", True),
        ("example.org", "EXAMPLE.org.", True),
        ("example.org:443", "example.org", True),
        ("example.org:80", "example.org", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.0.0.0/8", "ten.example", False),
        ("2001:db8::/32", "[2001:db8::1]", True),
        ("[2001:db8::1]", "2001:db8::1", True),
        ("93.184.216.34", "93.184.216.34", True),
        ("*", "anything.example", True),
        (".", "anything.example", False),
    ],
)
def test_an_entry_of_no_proxy_stands_for_a_host_a_domain_a_port_or_a_network(entry: str, host: str, direct: bool) -> None:
    assert taken((entry,), host) is not direct


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1", "relay.localhost"])
def test_this_machine_takes_none(host: str) -> None:
    assert not taken((), host)


def test_the_scheme_of_the_request_chooses_before_the_one_for_all() -> None:
    proxies = Proxies(by_scheme={"http": "a.example", "all": "b.example"})
    assert [str((proxies.of(scheme, "x.example", 1) or Proxy.read("none")).host) for scheme in ("http", "https")] == [
        "a.example",
        "b.example",
    ]
    assert Proxies().of("https", "x.example", 443) is None


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


def test_the_environment_counts_in_either_case(variables: pytest.MonkeyPatch) -> None:
    variables.setenv("https_proxy", "https.example:1")
    variables.setenv("HTTP_PROXY", "http.example:1")
    variables.setenv("FTP_PROXY", "ftp.example:1")
    variables.setenv("NO_PROXY", "Inner.Example, ,10.0.0.0/8")
    chosen = Proxies.chosen("environment")
    assert dict(chosen.by_scheme) == {"http": "http.example:1", "https": "https.example:1"}
    assert chosen.direct == ("inner.example", "10.0.0.0/8")
    assert Proxies.chosen("none") == Proxies()


def test_an_address_stands_for_all_requests_but_those_that_need_no_proxy(variables: pytest.MonkeyPatch) -> None:
    variables.setenv("HTTPS_PROXY", "other.example:1")
    variables.setenv("NO_PROXY", "inner.example")
    chosen = Proxies.chosen("socks5://proxy.example:1080")
    assert (chosen.of("https", "site.example", 443) or Proxy.read("none")).url == "socks5://proxy.example:1080"
    assert chosen.of("https", "inner.example", 443) is None
    with pytest.raises(NotConfigured):
        Proxies.chosen("ftp://proxy.example")


def test_a_process_that_is_started_finds_the_chosen_proxy(variables: pytest.MonkeyPatch) -> None:
    variables.setenv("HTTPS_PROXY", "https.example:1")
    variables.setenv("NO_PROXY", "inner.example")
    assert inherited("environment")["HTTPS_PROXY"] == "https.example:1"
    assert "HTTPS_PROXY" not in inherited("none")
    chosen = inherited("socks5h://proxy.example:1080")
    assert (chosen.get("HTTPS_PROXY"), chosen["ALL_PROXY"]) == (None, "socks5h://proxy.example:1080")
    assert chosen["NO_PROXY"] == "inner.example"
