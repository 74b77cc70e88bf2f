"""Fields that the API server drops from requests."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.defaults import set_defaults


@pytest.mark.parametrize(
    ("lifecycle", "kept"),
    [
        pytest.param({"stopSignal": "SIGTERM"}, None, id="a lifecycle of a stop signal alone goes"),
        pytest.param({}, {}, id="a lifecycle that was empty stays"),
        pytest.param(
            {"stopSignal": "SIGTERM", "preStop": {"sleep": {"seconds": 1}}},
            {"preStop": {"sleep": {"seconds": 1}}},
            id="what else a lifecycle has stays",
        ),
    ],
)
def test_stop_signals_are_dropped(lifecycle: dict[str, Any], kept: dict[str, Any] | None) -> None:
    container = {"name": "c", "image": "i", "resources": {}, "lifecycle": lifecycle}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    set_defaults("v1", "Pod", pod)
    assert container.get("lifecycle") == kept


def test_a_lease_keeps_its_holder_alone() -> None:
    lease = {
        "metadata": {},
        "spec": {"holderIdentity": "h", "strategy": "s", "preferredHolder": "x"},
    }
    set_defaults("coordination.k8s.io/v1", "Lease", lease)
    assert lease["spec"] == {"holderIdentity": "h"}


def test_fields_of_features_that_are_off_go() -> None:
    volumes = [
        {"name": "a", "emptyDir": {"mode": 511}},
        {
            "name": "b",
            "secret": {"defaultUser": 1, "items": [{"key": "k", "path": "p", "user": 1}]},
        },
        {"name": "c", "projected": {"sources": [{"clusterTrustBundle": {"path": "p", "user": 1}}]}},
    ]
    mount = {"name": "a", "mountPath": "/a", "bindMountOptions": ["noexec"]}
    probe = {"httpGet": {"port": 1, "protocol": "HTTP1"}}
    container = {"name": "c", "resources": {}, "volumeMounts": [mount], "livenessProbe": probe}
    spec: dict[str, Any] = {"containers": [container], "volumes": volumes}
    spec["evictionResponders"] = [{"name": "a.b/c", "priority": 1}]
    set_defaults("v1", "Pod", {"metadata": {"name": "p"}, "spec": spec})
    assert "evictionResponders" not in spec
    assert "protocol" not in probe["httpGet"]
    assert mount == {"name": "a", "mountPath": "/a"}
    assert volumes == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "secret": {"defaultMode": 420, "items": [{"key": "k", "path": "p"}]}},
        {
            "name": "c",
            "projected": {"defaultMode": 420, "sources": [{"clusterTrustBundle": {"path": "p"}}]},
        },
    ]
