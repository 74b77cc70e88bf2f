"""The table of resources, decoding and encoding."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod, PodDisruptionBudget, decode, decode_as, encode
from mooring.api.kinds import BY_KIND, KINDS, encode_json, find_kind
from mooring.errors import MooringError, ObjectError


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_kind_survives_the_way_to_the_wire_and_back(kind):
    raw = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": "a",
            "labels": {"x": "y"},
            "ownerReferences": [{"kind": "K", "name": "o", "uid": "u", "controller": True}],
        },
    }
    obj = decode(raw)
    assert type(obj) is kind.struct
    assert encode(obj) == raw
    assert json.loads(encode_json(obj)) == raw
    assert list(encode(obj))[:2] == ["apiVersion", "kind"]
    assert decode(encode_json(obj)) == obj
    assert encode(kind.struct()) == {"apiVersion": kind.api_version, "kind": kind.kind}


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "uid": "u", "annotations": {"a": "b"}},
    "spec": {
        "hostPID": True,
        "setHostnameAsFQDN": True,
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "resources": {"requests": {"cpu": 1, "memory": "1Gi"}},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.1"}],
            }
        ],
        "volumes": [
            {"name": "d", "configMap": {"name": "m"}},
            {"name": "e", "awsElasticBlockStore": {"volumeID": "v"}},
            {"name": "f", "downwardAPI": {"items": []}},
        ],
        "overhead": {"cpu": 0.5},
    },
    "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "qosClass": "Burstable"},
}


def test_a_pod_keeps_every_field_under_its_python_name():
    pod = decode(POD)
    assert pod.spec.host_pid and pod.spec.set_hostname_as_fqdn
    assert pod.spec.containers[0].ports[0].host_ip == "127.0.0.1"
    assert pod.spec.containers[0].env[0].value_from["fieldRef"]["fieldPath"] == "spec.nodeName"
    assert pod.spec.volumes[0].config_map == {"name": "m"}
    assert pod.spec.volumes[1].aws_elastic_block_store.volume_id == "v"
    assert pod.spec.volumes[2].downward_api == {"items": []}
    assert pod.status.pod_ips[0].ip == pod.status.pod_ip == "10.0.0.1"
    assert (pod.key, pod.name, pod.namespace, pod.uid) == ("shop/web", "web", "shop", "u")
    assert (pod.priority, pod.is_terminating, pod.is_finished) == (0, False, False)
    assert encode(pod) == POD


def test_nulls_are_absent_as_in_go():
    raw = {
        "metadata": {"name": "a", "creationTimestamp": None, "labels": {"x": None}},
        "spec": {"containers": None, "nodeName": None},
        "status": None,
    }
    pod = decode_as(raw, Pod)
    assert pod == decode_as(json.dumps(raw), Pod)
    assert pod.spec.containers == ()
    assert pod.labels == {"x": ""}


@pytest.mark.parametrize(
    ("raw", "path", "message"),
    [
        pytest.param(
            {"spec": {"containers": [{"name": 3}]}},
            "spec.containers[0].name",
            "Pod: expected text, got an integer; quote it to make it text",
            id="a wrong type says what was found and where",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "1", "b": 1}}},
            "metadata.labels[b]",
            "Pod: expected text, got an integer; quote it to make it text",
            id="a map names the key",
        ),
        pytest.param(
            {"spec": {"containers": [{"resources": {"requests": {"cpu": "1", "x": []}}}]}},
            "spec.containers[0].resources.requests[x]",
            "Pod: expected a quantity, got a list",
            id="so does a map of quantities",
        ),
        pytest.param(
            {"spec": []}, "spec", "Pod: expected a map, got a list", id="a list for a map"
        ),
        pytest.param(
            {"spec": {"hostNetwork": "yes"}},
            "spec.hostNetwork",
            "Pod: expected true or false, got text",
            id="text for a boolean",
        ),
    ],
)
def test_a_malformed_object_says_what_is_wrong_and_where(raw, path, message):
    for given_as in (raw, json.dumps(raw)):
        with pytest.raises(ObjectError) as caught:
            decode_as(given_as, Pod)
        assert (caught.value.path, caught.value.message) == (path, message)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "an object must be a map, got a list"),
        ({"kind": "Pod"}, "apiVersion: apiVersion is missing"),
        ({"apiVersion": "v1"}, "kind: kind is missing"),
        ({"apiVersion": "v1", "kind": 3}, "kind: kind must be text, got 3"),
        (b"{", "not valid JSON"),
        ("nonsense", "not valid JSON"),
        (
            {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": 3}},
            "metadata.name: ObjectMeta: expected text, got an integer; quote it to make it text",
        ),
    ],
)
def test_what_is_no_object_is_refused(raw, message):
    with pytest.raises(ObjectError) as caught:
        decode(raw)
    assert message in str(caught.value)


def test_older_versions_of_the_same_shape_are_read():
    budget = decode(
        {
            "apiVersion": "policy/v1beta1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "status": {"disruptionsAllowed": 2},
        }
    )
    assert isinstance(budget, PodDisruptionBudget)
    assert budget.status.disruptions_allowed == 2
    assert (
        find_kind("storage.k8s.io/v1beta1", "CSIStorageCapacity") is BY_KIND["CSIStorageCapacity"]
    )
    assert find_kind("example.com/v1", "Pod") is None


def test_paths_of_collections():
    assert BY_KIND["Pod"].path == "/api/v1/pods"
    assert BY_KIND["CSINode"].path == "/apis/storage.k8s.io/v1/csinodes"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "containers", "name", "labels", "resources", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values, st.sampled_from([kind.kind for kind in KINDS]))
def test_only_our_errors_escape(value, kind):
    raw = value
    if isinstance(value, dict):
        raw = {**value, "apiVersion": BY_KIND[kind].api_version, "kind": kind}
    try:
        obj = decode(raw)
    except MooringError:
        return
    assert decode(encode(obj)) == obj


@given(st.binary(max_size=40))
def test_only_our_errors_escape_from_bytes(data):
    with pytest.raises(MooringError):
        decode(data)
