"""Nodes."""

from __future__ import annotations

import pytest

from mooring.api import Node, Taint, decode_as


@pytest.mark.parametrize(
    ("taint", "text"),
    [
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, "a=b:NoSchedule"),
        ({"key": "a", "effect": "NoExecute"}, "a:NoExecute"),
        ({"key": "a"}, "a"),
        ({"key": "a", "value": "b"}, "a=b:"),
    ],
)
def test_a_taint_as_text(taint, text):
    # kube-scheduler: api/core/v1, Taint.ToString
    assert Taint(**taint).to_string() == text


def test_names_of_the_wire_that_are_not_plain_camel_case():
    raw = {
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": "p", "externalID": "e"},
        "status": {"nodeInfo": {"machineID": "m", "systemUUID": "u", "bootID": "b"}},
    }
    node = decode_as(raw, Node)
    assert (node.spec.pod_cidr, node.spec.provider_id, node.spec.external_id) == (
        "10.0.0.0/24",
        "p",
        "e",
    )
    info = node.status.node_info
    assert (info.machine_id, info.system_uuid, info.boot_id) == ("m", "u", "b")
