"""Fragments of signatures: which pods share results."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod, decode_as
from mooring.plugins.signing import sign_node_affinity, sign_tolerations


def _pod(**spec: Any) -> Pod:
    return decode_as({"spec": spec}, Pod)


def test_the_order_of_tolerations_does_not_matter() -> None:
    one, two = {"key": "a", "operator": "Exists"}, {"key": "b", "value": "x"}
    first, second = _pod(tolerations=[one, two]), _pod(tolerations=[two, one])
    assert sign_tolerations(first) == sign_tolerations(second)
    assert sign_tolerations(first) != sign_tolerations(_pod(tolerations=[one]))


def test_node_affinity_is_signed_whatever_the_order_of_its_required_terms() -> None:
    def affinity(*keys: str, preferred: int = 1) -> dict[str, Any]:
        terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in keys]
        weighted = [{"weight": preferred, "preference": terms[0]}]
        return {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms[1:]},
                "preferredDuringSchedulingIgnoredDuringExecution": weighted,
            }
        }

    signed = sign_node_affinity(_pod(affinity=affinity("x", "a", "b")))
    assert signed == sign_node_affinity(_pod(affinity=affinity("x", "b", "a")))
    different = [
        _pod(affinity=affinity("x", "a")),
        _pod(affinity=affinity("y", "a", "b")),
        _pod(affinity=affinity("x", "a", "b", preferred=2)),
        _pod(affinity=affinity("x", "a", "b"), nodeSelector={"a": "b"}),
        _pod(),
        _pod(nodeSelector={"a": "b"}),
        _pod(nodeSelector={"a": "c"}),
    ]
    assert len({signed, *map(sign_node_affinity, different)}) == 1 + len(different)
