"""The proxy from the environment variables, interpreted as in Go."""

from __future__ import annotations

import ipaddress
import urllib.request
from urllib.parse import urlsplit


def environment_proxy(server: str) -> str:
    """Return the proxy that the environment sets for a server, or ""."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    proxy = urllib.request.getproxies().get(parts.scheme, "")
    if not proxy or _is_loopback(host) or _is_excepted(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_excepted(host: str) -> bool:
    """Return whether no_proxy covers a host: by name, by domain or, as in Go, by network."""
    if urllib.request.proxy_bypass(host):
        return True
    for entry in urllib.request.getproxies().get("no", "").split(","):
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip(), strict=False):
                return True
        except ValueError:
            # The host or the entry is a name.
            pass
    return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
