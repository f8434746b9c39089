"""What may be fetched and what never is."""

from __future__ import annotations

import pytest

from websearch_core.egress import verdict
from websearch_core.errors import NotAllowed, NotConfigured

PUBLIC = "93.184.216.34"
PUBLIC_V6 = "2606:2800:220:1:248:1893:25c8:1946"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://EXAMPLE.org:8443/a?b=c#d",
        "https://example.org./",
        "https://bücher.example.org/",
        "https://xn--bcher-kva.example.org/",
        f"http://{PUBLIC}/",
        f"http://[{PUBLIC_V6}]:8080/",
        "https://127.example.org/",
        "https://1.2.3.4.example/",
        "https://sub_domain.example.org/",
    ],
)
def test_public_addresses_are_fetched(url: str) -> None:
    verdict(url, [PUBLIC, PUBLIC_V6])


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("ftp://example.org/", "http and https"),
        ("file:///etc/passwd", "http and https"),
        ("gopher://example.org/", "http and https"),
        ("//example.org/", "http and https"),
        ("https://user:secret@example.org/", "user"),
        ("https://example.org@evil.example/", "user"),
        ("https://", "not a plain"),
        ("https://example.org\\@127.0.0.1/", "user"),
        ("https://exa mple.org/", "not a plain"),
        ("https://example.org:0/", "not a plain"),
        ("https://example.org:65536/", "not a web address"),
        ("https://example.org:22/", "port 22"),
        ("https://[::1/", "not a web address"),
        ("https://[::1]evil.example/", "not a plain"),
        ("https://ex%61mple.org/", "not a plain"),
        ("https://-bad-.example/", "host name"),
        ("https://a..example/", "host name"),
    ],
)
def test_what_is_no_plain_web_address_is_refused(url: str, rule: str) -> None:
    with pytest.raises(NotAllowed, match=rule):
        verdict(url)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "127%2e0.0.1",
        "１２７.0.0.1",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::FFFF:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[fd00::1]",
        "[ff02::1]",
        "10.0.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "203.0.113.9",
        "999.1.1.1",
    ],
)
def test_inner_addresses_are_refused_in_every_spelling(host: str) -> None:
    with pytest.raises(NotAllowed):
        verdict(f"http://{host}/")


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "168.63.129.16",
        "100.100.100.200",
        "[fd00:ec2::254]",
        "[::ffff:a9fe:a9fe]",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "metadata",
    ],
)
def test_metadata_services_are_refused_even_inside_an_allowed_network(host: str) -> None:
    with pytest.raises(NotAllowed, match="metadata"):
        verdict(f"http://{host}/", allow=["0.0.0.0/0", "::/0"])


def test_a_metadata_service_is_reached_only_by_naming_it() -> None:
    verdict("http://169.254.169.254/", allow=["169.254.169.254"])


@pytest.mark.parametrize("host", ["localhost", "LocalHost.", "app.localhost", "printer.local", "db.internal", "intranet"])
def test_names_of_the_local_network_are_refused_before_any_lookup(host: str) -> None:
    with pytest.raises(NotAllowed, match="local network"):
        verdict(f"http://{host}/")


def test_one_inner_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(NotAllowed, match="private"):
        verdict("http://example.org/", [PUBLIC, "10.1.2.3"])


def test_the_refusal_names_the_rule_and_never_the_resolved_address() -> None:
    with pytest.raises(NotAllowed) as caught:
        verdict("http://example.org/", ["10.1.2.3"])
    assert "private address" in caught.value.message
    assert "10.1.2.3" not in f"{caught.value.message} {caught.value.hint}"


def test_dns_that_answers_with_the_benchmark_network_is_named_and_can_be_allowed() -> None:
    with pytest.raises(NotAllowed, match=r"198\.18\.0\.0/15") as caught:
        verdict("https://example.org/", ["198.18.3.4"])
    assert "network" in (caught.value.hint or "")
    verdict("https://example.org/", ["198.18.3.4"], allow=["198.18.0.0/15"])


def test_an_unreadable_resolved_address_is_refused() -> None:
    with pytest.raises(NotAllowed):
        verdict("http://example.org/", ["not-an-address"])


class TestExceptions:
    def test_a_host_is_opened_on_every_port(self) -> None:
        verdict("http://localhost:8000/", ["127.0.0.1"], allow=["localhost"])
        verdict("http://LOCALHOST:9000/", ["127.0.0.1"], allow=["localhost"])

    def test_a_host_with_a_port_is_opened_on_that_port_only(self) -> None:
        verdict("http://127.0.0.1:8000/", allow=["127.0.0.1:8000"])
        with pytest.raises(NotAllowed):
            verdict("http://127.0.0.1:8001/", allow=["127.0.0.1:8000"])

    def test_an_address_entry_does_not_open_names_that_lead_there(self) -> None:
        with pytest.raises(NotAllowed):
            verdict("http://rebound.example:8000/", ["127.0.0.1"], allow=["127.0.0.1:8000", "127.0.0.1"])

    def test_a_network_opens_literals_and_names_that_lead_into_it(self) -> None:
        verdict("http://10.1.2.3/", allow=["10.0.0.0/8"])
        verdict("http://wiki.internal/", ["10.1.2.3"], allow=["10.0.0.0/8"])
        with pytest.raises(NotAllowed):
            verdict("http://wiki.internal/", ["10.1.2.3", "192.168.0.1"], allow=["10.0.0.0/8"])

    def test_an_ipv6_host_may_be_written_bare_or_in_brackets(self) -> None:
        for entry in ("::1", "[::1]", "[::1]:80", "0:0:0:0:0:0:0:1"):
            verdict("http://[::1]/", allow=[entry])

    def test_a_network_of_embedding_addresses_does_not_open_what_they_embed(self) -> None:
        verdict("http://[64:ff9b::5db8:d822]/", allow=["64:ff9b::/96"])
        with pytest.raises(NotAllowed):
            verdict("http://[64:ff9b::7f00:1]/", allow=["64:ff9b::/96"])

    def test_port_of_another_protocol_can_be_opened_by_name(self) -> None:
        verdict("http://example.org:6000/", allow=["example.org:6000"])

    @pytest.mark.parametrize("entry", ["http://x/", "10.0.0.0/99", "a b", "", "x:y"])
    def test_a_malformed_entry_is_the_operators_to_correct(self, entry: str) -> None:
        with pytest.raises(NotConfigured, match="no exception"):
            verdict("http://example.org/", allow=[entry])


class TestFakeAddresses:
    """Those that proxies in TUN mode give for every name."""

    @pytest.mark.parametrize("address", ["198.18.0.1", "198.19.255.255", "fc00::1", "fc00:3fff::1"])
    def test_a_name_may_lead_to_one_where_the_switch_is_on_and_the_refusal_names_it(self, address: str) -> None:
        with pytest.raises(NotAllowed) as caught:
            verdict("https://site.example/", [address])
        assert "network.fake_ip" in (caught.value.hint or "")
        verdict("https://site.example/", [address], fake_ip=True)

    @pytest.mark.parametrize(
        ("url", "addresses"),
        [
            ("http://198.18.0.1/", []),
            ("http://198.18.0.1/", ["198.18.0.1"]),
            ("http://[fc00::1]/", []),
            ("http://localhost/", ["198.18.0.1"]),
            ("http://site.example/", ["198.18.0.1", "10.0.0.1"]),
            ("http://site.example/", ["198.20.0.1", "127.0.0.1"]),
            ("http://site.example/", ["fc00:4000::1"]),
            ("http://site.example/", ["::ffff:198.18.0.1"]),
            ("http://site.example:22/", ["198.18.0.1"]),
        ],
    )
    def test_the_switch_opens_nothing_else(self, url: str, addresses: list[str]) -> None:
        with pytest.raises(NotAllowed):
            verdict(url, addresses, fake_ip=True)
