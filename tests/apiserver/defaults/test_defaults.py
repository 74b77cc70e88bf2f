"""Defaults; test_real_server.py compares nearly every kind with a real server."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mooring.apiserver.defaults import set_defaults
from mooring.apiserver.schema.canonical import canonical
from mooring.apiserver.schema.decoding import decode_object
from mooring.apiserver.validation import check_create
from mooring.controlplane.type_table import types
from tests.apiserver.defaults.objects import defaulted

ACCEPTED = list(yaml.safe_load_all((Path(__file__).parent / "accepted.yaml").read_text()))


def test_amounts_are_rounded_up_to_thousandths() -> None:
    node = defaulted("v1", "Node", status={"capacity": {"cpu": "0.0001"}})
    assert node["status"] == {
        "capacity": {"cpu": "1m"},
        "allocatable": {"cpu": "1m"},
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": node["status"]["nodeInfo"],
    }


@pytest.mark.parametrize("at", range(len(ACCEPTED)), ids=lambda at: ACCEPTED[at]["kind"])
def test_defaulting_is_done_once_and_leaves_objects_canonical_and_valid(at: int) -> None:
    manifest = ACCEPTED[at]
    version, kind = manifest["apiVersion"], manifest["kind"]
    found = types().find(version, kind)
    assert found is not None
    obj = decode_object(manifest, found, kind, version).object
    obj["metadata"].setdefault("namespace", "default")
    set_defaults(version, kind, obj)
    assert canonical(found, obj) == obj
    again = canonical(found, obj)
    set_defaults(version, kind, again)
    assert again == obj
    if version == "events.k8s.io/v1":
        return  # Events are checked as objects of the core group
    if any(one.kind == kind and one.namespaced for one in types().resources(version)):
        assert check_create(version, kind, obj) == []
