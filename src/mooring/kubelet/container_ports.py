"""Ports on this machine for containers, which all share one address."""

from __future__ import annotations

import socket
from ipaddress import ip_address

from mooring.app.flag_table import ALL
from mooring.app.flags import parse_flags
from mooring.errors import ConfigError

_HOST = "127.0.0.1"
_LAST = 65535


class Ports:
    """The ports in use, so that containers that ask for the same port can run side by side."""

    def __init__(self) -> None:
        self._taken: dict[int, str] = {}

    def adapt(self, words: list[str], owner: str) -> list[str]:
        """Return a scheduler's arguments, changed to serve on loopback and on free ports.

        The ports are reserved for `owner` until `release`.
        """
        if words[:1] != ["run"]:
            return words
        try:
            flags = parse_flags(ALL, words[1:], program="mooring run")
        except ConfigError:
            # The process reports the mistake and ends. The last word may be a flag that takes the
            # next word as its value, so nothing may be added.
            return words
        changed = [*words]
        for port_flag, address_flag in (("secure-port", "bind-address"), ("port", "address")):
            given: int = flags[port_flag]
            if not 0 < given <= _LAST:
                # Port 0 serves nothing, and the scheduler itself reports an invalid port.
                continue
            if _is_reachable(flags[address_flag]):
                changed.append(f"--{address_flag}={_HOST}")
            port = self._free(given, owner)
            if port != given:
                changed.append(f"--{port_flag}={port}")
        return changed

    def release(self, owner: str) -> None:
        """Release the ports of an owner."""
        self._taken = {port: who for port, who in self._taken.items() if who != owner}

    def _free(self, wanted: int, owner: str) -> int:
        port = 0 if wanted in self._taken else _bind(wanted)
        while not port or port in self._taken:
            port = _bind(0)
        self._taken[port] = owner
        return port


def _is_reachable(address: str) -> bool:
    """Return whether others can reach an address; the scheduler itself reports an invalid one."""
    try:
        return not address or not ip_address(address).is_loopback
    except ValueError:
        return False


def _bind(port: int) -> int:
    """Return the port if it is free, any free port for 0, and otherwise 0."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((_HOST, port))
        except OSError:
            return 0
        return int(tried.getsockname()[1])
