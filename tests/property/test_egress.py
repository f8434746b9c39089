"""No address that is not public is ever allowed, in any spelling."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from websearch_core.egress import verdict
from websearch_core.errors import NotAllowed

INNER_V4 = [ipaddress.IPv4Network(n) for n in (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.2.0/24",
    "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
)]  # fmt: skip
INNER_V6 = [ipaddress.IPv6Network(n) for n in ("::1/128", "::/128", "fc00::/7", "fe80::/10", "ff00::/8", "2001:db8::/32")]


def _within(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> st.SearchStrategy[int]:
    return st.integers(int(network.network_address), int(network.broadcast_address))


inner_v4 = st.sampled_from(INNER_V4).flatmap(_within)
inner_v6 = st.sampled_from(INNER_V6).flatmap(_within)


def _number(draw: st.DrawFn, value: int) -> str:
    zeros = "0" * draw(st.integers(0, 4))
    return draw(st.sampled_from([str(value), f"0{zeros}{value:o}", f"0x{zeros}{value:x}", f"0X{zeros}{value:X}"]))


@st.composite
def spellings_v4(draw: st.DrawFn) -> str:
    """An inner IPv4 address as `inet_aton` reads it: 1 to 4 parts, each decimal, octal or hexadecimal."""
    value, parts = draw(inner_v4), draw(st.integers(1, 4))
    heads = [(value >> (24 - 8 * i)) & 0xFF for i in range(parts - 1)]
    tail = value & ((1 << (32 - 8 * (parts - 1))) - 1)
    text = ".".join(_number(draw, part) for part in [*heads, tail])
    assert socket.inet_aton(text) == value.to_bytes(4, "big")
    return text


@st.composite
def disguised(draw: st.DrawFn, plain: st.SearchStrategy[str]) -> str:
    """The same text with characters that some programs fold back: full-width, circled, escaped, other dots, other case."""

    def one(char: str) -> str:
        wide = chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char
        circled = {"0": "⓪"}.get(char, chr(0x2460 + int(char) - 1) if char.isdigit() and char != "0" else char)
        dots = draw(st.sampled_from("。．｡")) if char == "." else char
        return draw(st.sampled_from([char, char, char, char.upper(), wide, circled, dots, quote(char), f"%{ord(char):02x}"]))

    return "".join(one(char) for char in draw(plain)) + draw(st.sampled_from(["", "", ".", "\u00ad", "\u200b"]))


@st.composite
def spellings_v6(draw: st.DrawFn) -> str:
    """An inner address as an IPv6 literal: itself, or an inner IPv4 one mapped, compatible, translated or tunnelled."""
    v4 = draw(inner_v4)
    value = draw(
        st.one_of(
            inner_v6,
            st.just(0xFFFF << 32 | v4),
            st.just(v4),
            st.just((0x64FF9B << 96) | v4),
            st.just((0x2002 << 112) | (v4 << 80)),
            st.just((0x20010000 << 96) | (v4 ^ 0xFFFFFFFF)),
        )
    )
    address = ipaddress.IPv6Address(value)
    dotted = f"{address.exploded[:30]}{ipaddress.IPv4Address(value & 0xFFFFFFFF)}"
    text = draw(st.sampled_from([address.compressed, address.exploded, address.compressed.upper(), dotted]))
    return f"[{text}{draw(st.sampled_from(['', '', '%25eth0', '%1']))}]"


def _refused(url: str) -> None:
    with pytest.raises(NotAllowed):
        verdict(url)


@given(host=spellings_v4(), port=st.sampled_from(["", ":80", ":8080", ":"]), scheme=st.sampled_from(["http", "HTTPS"]))
@example(host="127.1", port="", scheme="http")
def test_an_inner_ipv4_address_is_refused_in_every_number_form(host: str, port: str, scheme: str) -> None:
    _refused(f"{scheme}://{host}{port}/")


@given(host=disguised(spellings_v4()))
def test_an_inner_ipv4_address_is_refused_in_every_disguise(host: str) -> None:
    _refused(f"http://{host}/")


@given(host=spellings_v6())
def test_an_inner_address_is_refused_in_every_ipv6_form(host: str) -> None:
    _refused(f"http://{host}/")


@given(
    inner=st.one_of(inner_v4.map(ipaddress.IPv4Address), inner_v6.map(ipaddress.IPv6Address)),
    public=st.lists(st.sampled_from(["93.184.216.34", "1.1.1.1", "2606:4700::1111"]), max_size=3),
    at=st.integers(0, 3),
)
def test_a_name_is_refused_when_any_of_its_addresses_is_inner(
    inner: ipaddress.IPv4Address | ipaddress.IPv6Address, public: list[str], at: int
) -> None:
    addresses = [*public[:at], str(inner), *public[at:]]
    with pytest.raises(NotAllowed) as caught:
        verdict("http://example.org/", addresses)
    assert str(inner) not in caught.value.message.replace("198.18.0.0/15", "")


@given(address=st.ip_addresses())
def test_what_passes_is_public_by_the_standard_library_too(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """Our list is stricter than `is_global`; never laxer."""
    try:
        verdict("http://example.org/", [str(address)])
    except NotAllowed:
        return
    assert address.is_global
    assert not address.is_multicast


@given(text=st.text(max_size=60))
def test_any_text_gets_a_verdict_and_nothing_else(text: str) -> None:
    for url in (text, f"http://{text}", f"http://{text}/", f"https://example.org:{text}/"):
        try:
            verdict(url)
        except NotAllowed:
            continue
