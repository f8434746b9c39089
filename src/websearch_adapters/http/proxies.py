"""Which proxy a request takes: an address for everything, what the environment says, or none.

This machine is never reached through a proxy. Of the environment count `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in
either case, and what the operating system has set, as far as the standard library reads it.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from websearch_core.errors import NotConfigured

__all__ = ["LOOPBACK", "SCHEMES", "Proxies", "Proxy", "inherited"]

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SCHEMES = ("http", "https", "socks5", "socks5h")
DEFAULT_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
HINT = "Write it as http://host:port, https://host:port, socks5://host:port or socks5h://host:port."


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """One proxy."""

    scheme: str
    """`socks5` is given addresses; all others are given names, and look them up."""
    host: str
    port: int
    auth: tuple[str, str] | None = field(default=None, repr=False)
    """User and password."""

    @property
    def url(self) -> str:
        """Its address, without user and password."""
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @classmethod
    def read(cls, text: str) -> Proxy:
        """A proxy as it is written in settings and variables; without a scheme it is an HTTP proxy.

        Raises:
            NotConfigured: it is none of the known kinds. The text is not shown, as it may hold a password.
        """
        try:
            parts = urlsplit(text if "://" in text else f"http://{text}")
            scheme = {"socks": "socks5h"}.get(parts.scheme, parts.scheme)
            host, port = parts.hostname, parts.port or DEFAULT_PORTS[scheme]
        except (ValueError, KeyError):
            raise NotConfigured("the proxy's address is none that can be used", hint=HINT) from None
        if scheme not in SCHEMES or not host:
            raise NotConfigured("the proxy's address is none that can be used", hint=HINT)
        auth = (unquote(parts.username or ""), unquote(parts.password or "")) if "@" in parts.netloc else None
        return cls(scheme=scheme, host=host, port=port, auth=auth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """Where requests go out."""

    by_scheme: Mapping[str, str] = field(default_factory=dict, repr=False)
    """`http`, `https` or `all` → a proxy's address."""
    direct: tuple[str, ...] = ()
    """Hosts, `host:port`, domains with all below them, addresses and networks that take no proxy; `*` is every one."""

    @classmethod
    def chosen(cls, setting: str) -> Proxies:
        """By the word `environment`, the word `none`, or an address.

        Raises:
            NotConfigured: see `Proxy.read`.
        """
        if setting == "none":
            return cls()
        found = _environment()
        direct = tuple(entry.strip().lower() for entry in found.pop("no", "").split(",") if entry.strip())
        if setting == "environment":
            return cls(by_scheme={name: found[name] for name in ("http", "https", "all") if found.get(name)}, direct=direct)
        Proxy.read(setting)
        return cls(by_scheme={"all": setting}, direct=direct)

    def of(self, scheme: str, host: str, port: int) -> Proxy | None:
        """The proxy for requests to this origin; None: none is taken.

        Raises:
            NotConfigured: see `Proxy.read`.
        """
        text = self.by_scheme.get(scheme) or self.by_scheme.get("all")
        name = host.strip("[]").removesuffix(".").lower()
        if not text or _is_loopback(name) or any(_covers(entry, name, port) for entry in self.direct):
            return None
        return Proxy.read(text)


def inherited(setting: str) -> dict[str, str]:
    """The environment of this process, changed so that one that it starts finds in it the proxy of this setting."""
    kept = dict(os.environ)
    if setting == "environment":
        return kept
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        kept.pop(name, None)
        kept.pop(name.upper(), None)
    return kept if setting == "none" else {**kept, "ALL_PROXY": setting}


def _environment() -> dict[str, str]:
    from urllib.request import getproxies

    return getproxies()


def _is_loopback(host: str) -> bool:
    if host in LOOPBACK or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of NO_PROXY names this host: `example.org` and `.example.org` alike stand for all below it too."""
    if entry == "*":
        return True
    if (network := _network(entry)) is not None:
        return (address := _address(host)) is not None and address in network
    name, colon, number = entry.rpartition(":")
    if colon and number.isdecimal():
        if int(number) != port:
            return False
        entry = name
    domain = entry.strip("[]").removeprefix("*").removeprefix(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _network(entry: str) -> Network | None:
    try:
        return ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return None
