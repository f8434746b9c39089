"""May this address be fetched? A pure verdict on scheme, host, port and what the host resolves to.

Callers ask twice: once with the address alone, before a name is looked up, and once with everything it resolves to; then
they connect to one of exactly those. Redirects are new addresses and are asked about again.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from websearch_core import urls
from websearch_core.errors import NotAllowed, NotConfigured

__all__ = ["verdict"]

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

HINT = "Only public addresses are read; an operator can add a host, host:port or network to fetch.allow_hosts."
FAKE_HINT = (
    "Where a proxy in TUN mode answers every name with such an address, set network.fake_ip (WEBSEARCH_NETWORK_FAKE_IP) to true."
)

# IANA special-purpose address registries, read 2026-11-30; the first match names the rule.
NOT_PUBLIC: tuple[tuple[Network, str], ...] = tuple(
    (ipaddress.ip_network(text), rule)
    for text, rule in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "an address of a carrier's shared network"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "an address reserved for protocols"),
        ("192.0.2.0/24", "a documentation address"),
        ("192.88.99.0/24", "a relay address of 6to4"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address of the benchmark network 198.18.0.0/15, which some proxies' DNS gives for every name"),
        ("198.51.100.0/24", "a documentation address"),
        ("203.0.113.0/24", "a documentation address"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("::/128", "an unspecified address"),
        ("::1/128", "a loopback address"),
        ("::ffff:0:0/96", "an IPv4 address inside an IPv6 address"),
        ("::/96", "an IPv4 address inside an IPv6 address"),
        ("64:ff9b::/96", "an IPv4 address inside an IPv6 address (NAT64)"),
        ("64:ff9b:1::/48", "an IPv4 address inside an IPv6 address (NAT64)"),
        ("2001::/32", "an IPv4 address inside an IPv6 address (Teredo)"),
        ("2001::/23", "an address reserved for protocols"),
        ("2001:db8::/32", "a documentation address"),
        ("2002::/16", "an IPv4 address inside an IPv6 address (6to4)"),
        ("3fff::/20", "a documentation address"),
        ("fc00::/7", "a unique local address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    )
)
GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
FAKE: tuple[Network, ...] = (ipaddress.IPv4Network("198.18.0.0/15"), ipaddress.IPv6Network("fc00::/18"))
"""What proxies in TUN mode give for every name: the usual ranges of Clash, mihomo, sing-box and Surge, as of 2026-11-30."""
IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")

# Where clouds answer with credentials; the Azure one looks public. A network exception does not open them.
METADATA_ADDRESSES = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
    )
)
METADATA_NAMES = frozenset({"metadata", "metadata.goog", "metadata.google.internal", "metadata.azure.internal", "instance-data"})
LOCAL_SUFFIXES = (".localhost", ".localdomain", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".onion")

# Ports of other protocols, from the Fetch standard's port blocking, read 2026-11-30.
OTHER_PROTOCOLS = frozenset({
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
    113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
    554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566,
    6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
})  # fmt: skip

_NETLOC = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\[\]:@%/]+)(?::[0-9]{0,5})?")
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
_DEFAULT_PORTS = {"http": 80, "https": 443}


def verdict(url: str, addresses: Sequence[str] = (), *, allow: Sequence[str] = (), fake_ip: bool = False) -> None:
    """Return if `url` may be fetched, given every address that its host resolves to.

    A name without `addresses` is judged by its form alone. `allow` holds an operator's exceptions: `host` (any port),
    `host:port`, or a network such as `127.0.0.0/8`, which opens addresses in it, literal or resolved. With `fake_ip`, a name may
    resolve to the addresses that proxies in TUN mode give for every name; such an address itself is still refused.

    Raises:
        NotAllowed: says which rule forbids it; never shows a resolved address.
        NotConfigured: an entry of `allow` is none of the three forms.
    """
    host, port = _host_and_port(url)
    exceptions = _exceptions(allow)
    if exceptions.hold_for(host, port):
        return
    if port in OTHER_PROTOCOLS:
        raise _refused(f"port {port} belongs to another protocol")
    literal = _literal(host)
    if literal is None:
        _judge_name(host, exceptions)
    else:
        _judge_address(literal, "the address is", exceptions)
    for text in addresses:
        address = _address(text)
        if not (fake_ip and literal is None and _is_fake(address)):
            _judge_address(address, "the host resolves to", exceptions, hint=FAKE_HINT if _is_fake(address) else HINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exceptions:
    """What an operator opens."""

    hosts: frozenset[tuple[str, int | None]]
    """Host and port; None stands for every port."""
    networks: tuple[Network, ...]

    def hold_for(self, host: str, port: int) -> bool:
        return (host, port) in self.hosts or (host, None) in self.hosts

    def cover(self, address: Address) -> bool:
        """Whether a network holds the address, and also the IPv4 address inside it unless that one is public."""
        inner = _embedded(address)
        covered = any(address in network for network in self.networks)
        return covered and (inner is None or _rule(inner) is None or any(inner in network for network in self.networks))


def _host_and_port(url: str) -> tuple[str, int]:
    """The host in its one ASCII form and the port; everything that two programs could read differently is refused."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused("this is not a web address") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise _refused("only http and https addresses are read")
    if "@" in parts.netloc:
        raise _refused("addresses with a user or password are not read", "Leave user and password out of the address.")
    if not urls.is_web_url(url) or not _NETLOC.fullmatch(parts.netloc) or port == 0:
        raise _refused("this is not a plain web address")
    return _ascii(parts.hostname or ""), port or _DEFAULT_PORTS[parts.scheme]


def _ascii(host: str) -> str:
    name = unicodedata.normalize("NFKC", host).translate(_DOTS).lower()
    try:
        name = name if name.isascii() else name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise _refused("the host is not a host name") from None
    name = name.removesuffix(".")
    if ":" not in name and (len(name) > 253 or not _NAME.fullmatch(name)):
        raise _refused("the host is not a host name")
    return str(_address(name)) if ":" in name else name


def _literal(host: str) -> Address | None:
    """The address that `host` spells; None for a name. Only the plain spelling of IPv4 is accepted: four decimal numbers."""
    if ":" in host:
        return _address(host)
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return None
    return _address(host)


def _address(text: str) -> Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise _refused("the host is an address in an unusual spelling") from None
    return address


def _judge_name(name: str, exceptions: _Exceptions) -> None:
    if name in METADATA_NAMES:
        raise _refused("the host is a cloud's metadata service")
    local = "." not in name or name.endswith(LOCAL_SUFFIXES)
    if local and not exceptions.networks:
        raise _refused("the host is a name of the local network")


def _judge_address(address: Address, what: str, exceptions: _Exceptions, *, hint: str = HINT) -> None:
    if address in METADATA_ADDRESSES or _embedded(address) in METADATA_ADDRESSES:
        raise _refused(f"{what} a cloud's metadata service")
    rule = _rule(address)
    if rule is not None and not exceptions.cover(address):
        raise _refused(f"{what} {rule}", hint)


def _is_fake(address: Address) -> bool:
    return any(address in network for network in FAKE)


def _rule(address: Address) -> str | None:
    """Why the address is not public; None when it is."""
    for network, rule in NOT_PUBLIC:
        if address in network:
            return rule
    if isinstance(address, ipaddress.IPv6Address) and address not in GLOBAL_IPV6:
        return "a reserved address"
    return None


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in NAT64 or address in IPV4_COMPATIBLE:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def _exceptions(allow: Iterable[str]) -> _Exceptions:
    hosts: set[tuple[str, int | None]] = set()
    networks: list[Network] = []
    for entry in allow:
        try:
            if "/" in entry:
                networks.append(ipaddress.ip_network(entry.strip(), strict=False))
            else:
                hosts.add(_host_entry(entry.strip()))
        except (ValueError, NotAllowed) as error:
            raise NotConfigured(
                f"{entry[:80]!r} is no exception for fetching",
                hint="Write a host, host:port or a network such as 10.0.0.0/8.",
            ) from error
    return _Exceptions(hosts=frozenset(hosts), networks=tuple(networks))


def _host_entry(entry: str) -> tuple[str, int | None]:
    bare_ipv6 = entry.count(":") > 1 and not entry.startswith("[")
    parts = urlsplit(f"//[{entry}]" if bare_ipv6 else f"//{entry}")
    if not _NETLOC.fullmatch(parts.netloc):
        raise ValueError(entry)
    return _ascii(parts.hostname or ""), parts.port


def _refused(reason: str, hint: str = HINT) -> NotAllowed:
    return NotAllowed(f"not fetched: {reason}", hint=hint)
