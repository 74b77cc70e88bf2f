"""Amounts of resources in texts: whole where they are whole, otherwise rounded to read easily."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.api.pod_resource_requests import CPU, is_bytes, quantity_of
from mooring.framework.diagnosis import Detail, Diagnosis, Shortfall

_MEBI = 2**20


def amount_text(resource: str, amount: int, *, up: bool = False) -> str:
    """Return an amount as Kubernetes writes it; bytes are rounded down (or up) to whole Mi.

    >>> amount_text("cpu", 1500), amount_text("memory", 2**30), amount_text("pods", 3)
    ('1500m', '1Gi', '3')
    >>> amount_text("memory", 2**30 + 1), amount_text("memory", 2**30 + 1, up=True)
    ('1Gi', '1025Mi')
    """
    if is_bytes(resource):
        if abs(amount) >= _MEBI:
            amount = (-(-amount // _MEBI) if up else amount // _MEBI) * _MEBI
    elif resource != CPU:
        return str(amount)
    return str(quantity_of(resource, amount))


def shortfall_text(shortfalls: tuple[Shortfall, ...]) -> str:
    """Return what a node lacks; one resource with what is asked and free, several without.

    >>> shortfall_text((Shortfall.of("memory", 40 << 30, 32 << 30),))
    'memory 8Gi short (asks 40Gi, 32Gi free)'
    >>> shortfall_text((Shortfall.of("memory", 2 << 30, 1 << 30), Shortfall.of("cpu", 150, 100)))
    'memory 1Gi, cpu 50m short'
    """
    parts = [
        f"{short.resource} {amount_text(short.resource, short.missing, up=True)}"
        for short in shortfalls
    ]
    text = f"{', '.join(parts)} short"
    if len(shortfalls) > 1:
        return text
    (short,) = shortfalls
    asked = amount_text(short.resource, short.asked, up=True)
    return f"{text} (asks {asked}, {amount_text(short.resource, short.free)} free)"


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as text; empty if there is none."""
    if not diagnosis:
        return ""
    if isinstance(diagnosis, Detail):
        return diagnosis.text
    return diagnosis if isinstance(diagnosis, str) else shortfall_text(tuple(diagnosis))


def missing_text(missing: Mapping[str, int]) -> str:
    """Return amounts joined by "and", for a sentence.

    >>> missing_text({"memory": 9 << 30, "cpu": 50})
    '9Gi of memory and 50m of cpu'
    """
    parts = [
        f"{amount_text(resource, amount, up=True)} of {resource}"
        for resource, amount in missing.items()
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
