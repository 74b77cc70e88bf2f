"""The names that an attribute has in Go or in JSON: using one says what the Python name is.

Each such name is a descriptor of the class that raises AttributeError. A `__getattr__` would do the
same with less code, but it makes every attribute access of the class slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

C = TypeVar("C", bound=type)

_INITIALISMS = {
    "api": "API",
    "cidr": "CIDR",
    "cidrs": "CIDRs",
    "fqdn": "FQDN",
    "id": "ID",
    "io": "IO",
    "ip": "IP",
    "ipc": "IPC",
    "ips": "IPs",
    "pid": "PID",
    "uri": "URI",
    "uuid": "UUID",
}


def wire_name(name: str) -> str:
    """Return the JSON name of a Python field name.

    >>> wire_name("node_selector_terms"), wire_name("pod_ips"), wire_name("provider_id")
    ('nodeSelectorTerms', 'podIPs', 'providerID')
    """
    first, *rest = name.split("_")
    return first + "".join(_INITIALISMS.get(part, part.capitalize()) for part in rest)


class OtherSpelling:
    """An attribute that does not exist, and the expression to use in its place."""

    __slots__ = ("instead", "name")

    def __init__(self, name: str, instead: str) -> None:
        self.name = name
        self.instead = instead

    def __get__(self, obj: object, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self.name!r}: in Python use "
            f"{self.instead!r}",
            name=self.name,
            obj=obj,
        )


@cache
def _spelling(name: str, instead: str) -> OtherSpelling:
    return OtherSpelling(name, instead)


def add_spellings(
    owner: type, names: Iterable[str], others: Mapping[str, str] | None = None
) -> None:
    """Explain the JSON and the Go spelling of some attributes of a class, and `others`.

    `others` maps a name to the expression to use in its place.
    """
    found = dict(others or {})
    for name in names:
        if not name.startswith("_"):
            wire = wire_name(name)
            found.setdefault(wire, name)
            found.setdefault("UID" if name == "uid" else wire[0].upper() + wire[1:], name)
    defined = {name for base in owner.__mro__ for name in vars(base)}
    for other, name in found.items():
        if other != name and other not in defined:
            setattr(owner, other, _spelling(other, name))


def spelled(**others: str) -> Callable[[C], C]:
    """Explain, as a class decorator, the Go spellings of a class's attributes, and `others`.

    >>> @spelled(Weight="mass()")
    ... class Boat:
    ...     max_speed = 3
    >>> Boat().MaxSpeed
    Traceback (most recent call last):
      ...
    AttributeError: 'Boat' object has no attribute 'MaxSpeed': in Python use 'max_speed'
    """

    def add(owner: C) -> C:
        slots: Iterable[str] = getattr(owner, "__slots__", ())
        add_spellings(owner, [*vars(owner), *slots], others)
        return owner

    return add
