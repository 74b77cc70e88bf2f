"""The parts of a pod's signature that several plugins share."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod, decode_as
from mooring.plugins.signing import sign_node_affinity, sign_tolerations
from tests.plugins.clusters import make_pod

A = {"key": "a", "operator": "In", "values": ["1", "2"]}
B = {"key": "b", "operator": "Exists"}


def affinity(required: Any = None, preferred: Any = ()) -> dict[str, Any]:
    section: dict[str, Any] = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "preference": {"matchExpressions": [one]}}
            for weight, one in preferred
        ]
    }
    if required is not None:
        section["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    return {"affinity": {"nodeAffinity": section}}


def term(*expressions: Any, fields: Any = ()) -> dict[str, Any]:
    return {"matchExpressions": list(expressions), "matchFields": list(fields)}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        pytest.param({}, {}, True, id="nothing"),
        pytest.param(
            {"nodeSelector": {"a": "1", "b": "2"}},
            {"nodeSelector": {"b": "2", "a": "1"}},
            True,
            id="a selector in another order",
        ),
        pytest.param(
            {"nodeSelector": {"a": "1"}}, {"nodeSelector": {"a": "2"}}, False, id="values"
        ),
        pytest.param(
            affinity([term(A), term(B)]),
            affinity([term(B), term(A)]),
            True,
            id="terms in another order",
        ),
        pytest.param(
            affinity([term(A, B)]),
            affinity([term(B, A)]),
            False,
            id="requirements in another order",
        ),
        pytest.param(
            affinity([term({**A, "values": ["1", "2"]})]),
            affinity([term({**A, "values": ["2", "1"]})]),
            False,
            id="values in another order",
        ),
        pytest.param(affinity([term(A)]), affinity([term(B)]), False, id="other requirements"),
        pytest.param(
            affinity([term(A)]), affinity([term(fields=[A])]), False, id="labels are no fields"
        ),
        pytest.param(affinity([]), affinity(None), False, id="no term is not no selector"),
        pytest.param(
            affinity(None, [(1, A)]), affinity(None, [(2, A)]), False, id="weights of preferences"
        ),
        pytest.param(
            affinity(None, [(1, A), (2, B)]),
            affinity(None, [(2, B), (1, A)]),
            False,
            id="preferences in another order",
        ),
    ],
)
def test_signatures_of_node_affinity(
    one: dict[str, Any], other: dict[str, Any], equal: bool
) -> None:
    first, second = (sign_node_affinity(make_pod("p", **spec)) for spec in (one, other))
    assert (first == second) is equal
    assert hash(first) is not None


def test_signatures_of_tolerations() -> None:
    a, b = {"key": "a", "value": "1"}, {"key": "b", "operator": "Exists"}

    def sign(*tolerations: Any) -> Any:
        return sign_tolerations(make_pod("p", tolerations=list(tolerations)))

    assert sign(a, b) == sign(b, a)
    assert sign(a) != sign(b)
    assert sign() != sign(a)
    assert sign(a) == sign(a, a)


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
