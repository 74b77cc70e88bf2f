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


class Detail(msgspec.Struct, frozen=True):
    """A text about one node, with the keys of labels and taints that it is about.

    A user who may not list nodes sees the keys and not the text. The keys may depend on the pod and
    on the keys of the node's labels and taints. They must not depend on their values: otherwise the
    user can find the values out by guessing.
    """

    text: str
    keys: tuple[str, ...] = ()


#: The result of `diagnose`: a text, the resources that are short, or None for nothing to add.
Diagnosis = str | Detail | Sequence[Shortfall] | None


def keys_of(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return the keys that a diagnosis is about."""
    return diagnosis.keys if isinstance(diagnosis, Detail) else ()
