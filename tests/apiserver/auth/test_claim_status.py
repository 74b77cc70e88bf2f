"""Rights on claims; tests/adversary/object_attacks.py compares more with kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.auth.claim_status import check_rights, drop_deallocated
from mooring.apiserver.auth.tokens import NODE_NAME
from mooring.apiserver.bodies import WriteOptions
from mooring.apiserver.http import ApiRequest, RequestUser
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.write import Write
from tests.apiserver.api_server import ApiServer, grant_cluster

Object = dict[str, Any]

NAME = "system:serviceaccount:n:driver"
ONE = {"driver": "d.io", "pool": "p", "device": "one"}
TWO = ONE | {"device": "two"}
OTHER = ONE | {"driver": "other.io"}


def _allocation(*devices: Object, node: str = "") -> Object:
    made: Object = {"devices": {"results": [{"request": "r", **one} for one in devices]}}
    if node:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        made["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return made


def _claim(allocation: Object | None, *devices: Object) -> Object:
    status: Object = {"devices": list(devices)} if devices else {}
    return {"status": status | ({"allocation": allocation} if allocation else {})}


def _problems(new: Object, old: Object, verb: str = "", *, node: str = "") -> list[str]:
    """Return the problems of a status by an account that may use a verb on the driver d.io."""
    server = ApiServer()
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims/driver"],
        "resourceNames": ["d.io"],
        "verbs": [verb],
    }
    grant_cluster(server, NAME, rule)
    user = RequestUser(NAME, extra={NODE_NAME: (node,)} if node else {})
    info = RequestInfo(
        "update",
        "",
        "resource.k8s.io",
        "v1",
        "resourceclaims",
        "status",
        "n",
        "c",
        is_resource=True,
    )
    served = server.served("resource.k8s.io/v1/resourceclaims")
    request = ApiRequest("PUT", "", {}, {}, user=user)
    write = Write(server.cluster, request, info, served, WriteOptions())
    return [one.message for one in check_rights(write, new, old)]


def test_driver_on_the_node_of_the_allocation() -> None:
    on_node = _allocation(ONE, node="n1")
    new, old = _claim(on_node, ONE), _claim(on_node)
    verb = "associated-node:update"
    assert _problems(new, old, verb, node="n1") == []
    assert _problems(new, old, "arbitrary-node:update", node="n1") == []
    (other_node,) = _problems(new, old, verb, node="n2")
    assert 'verb="[arbitrary-node:update]"' in other_node
    (no_right,) = _problems(new, old, "update", node="n1")
    assert 'verb="[associated-node:update arbitrary-node:update]"' in no_right
    assert f'User "{NAME}" cannot associated-node:update resource' in no_right


@pytest.mark.parametrize(
    "allocation",
    [
        _allocation(ONE),
        {"nodeSelector": {"nodeSelectorTerms": []}},
        {
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}
                        ]
                    }
                ]
            }
        },
        {
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["n1", "n2"]}
                        ]
                    }
                ]
            }
        },
    ],
    ids=["no node", "no term", "all nodes but one", "two nodes"],
)
def test_allocation_that_is_not_for_one_node(allocation: Object) -> None:
    new, old = _claim(allocation, ONE), _claim(allocation)
    assert len(_problems(new, old, "associated-node:update", node="n1")) == 1


CHANGES: dict[str, tuple[list[Object], list[Object], int]] = {
    "nothing": ([ONE], [ONE], 0),
    "a device of the driver": ([ONE, TWO], [ONE], 0),
    "a device is removed": ([], [ONE], 0),
    "a device of another driver": ([ONE, OTHER], [ONE], 1),
    "a device of another driver is removed": ([ONE], [ONE, OTHER], 1),
    "the data of another driver": ([OTHER | {"data": {"a": 1}}], [OTHER], 1),
    "a share of another driver": ([OTHER | {"shareID": "s"}], [OTHER], 1),
}


@pytest.mark.parametrize(("new", "old", "count"), CHANGES.values(), ids=CHANGES)
def test_drivers_of_changed_devices(new: list[Object], old: list[Object], count: int) -> None:
    allocation = _allocation(ONE, TWO, OTHER)
    found = _problems(_claim(allocation, *new), _claim(allocation, *old), "arbitrary-node:update")
    assert len(found) == count


def test_devices_of_a_claim_without_allocation_need_no_right() -> None:
    assert _problems(_claim(None), _claim(None, OTHER)) == []


def test_status_of_deallocated_devices_is_dropped() -> None:
    claim = _claim(_allocation(ONE), ONE, TWO)
    drop_deallocated(claim, _claim(_allocation(ONE, TWO)))
    assert claim["status"]["devices"] == [ONE]
    drop_deallocated(empty := _claim(None, ONE), _claim(_allocation(ONE)))
    assert empty == {"status": {}}
