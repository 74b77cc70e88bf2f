"""Diagnosis: what a plugin says about one node that it refuses, beyond its reasons.

A reason is one of few fixed texts, so that kube-scheduler's message can count nodes by it. The
optional method `diagnose` of a Filter plugin names the amounts, labels or pods of one node. It is
called only for nodes that are shown to somebody, never in a scheduling cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Shortfall(msgspec.Struct, frozen=True):
    """How much of one resource a node lacks for a pod: cpu in thousandths, others in whole units.

    >>> Shortfall.of("cpu", asked=1500, free=1000)
    Shortfall(resource='cpu', asked=1500, free=1000, missing=500)
    """

    resource: str
    asked: int
    #: Negative if the pods on the node request more than it offers.
    free: int
    missing: int

    @classmethod
    def of(cls, resource: str, asked: int, free: int) -> Shortfall:
        """Return the shortfall of a node on which `free` is left, less than the pod asks for."""
        return cls(resource, asked, free, asked - free)


#: The result of `diagnose`: a text, the resources that are short, or None for nothing to add.
Diagnosis = str | Sequence[Shortfall] | None
