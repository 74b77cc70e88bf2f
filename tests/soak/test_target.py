from __future__ import annotations

import pytest

from tests.soak.object_store import PODS, Refusal
from tests.soak.target import Target, matcher


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("/api/v1/pods", Target(PODS), id="a collection"),
        pytest.param(
            "/api/v1/namespaces/default/pods/a/binding",
            Target(PODS, "default", "a", "binding"),
            id="a part of an object",
        ),
        pytest.param(
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x",
            Target("/apis/coordination.k8s.io/v1/leases", "kube-system", "x"),
            id="an object of a group",
        ),
        pytest.param("/api/v1/pods?watch=1", Target(PODS, query={"watch": "1"}), id="a query"),
    ],
)
def test_a_path_says_what_a_request_is_about(text: str, expected: Target) -> None:
    assert Target.of(text) == expected


def test_other_paths_are_not_known() -> None:
    with pytest.raises(Refusal, match="could not find"):
        Target.of("/version")


def test_a_selector_leaves_out_what_it_names() -> None:
    matches = matcher("status.phase!=Failed,status.phase!=Succeeded")
    assert matches({"status": {"phase": "Running"}})
    assert not matches({"status": {"phase": "Failed"}})
    assert matcher("")({})
