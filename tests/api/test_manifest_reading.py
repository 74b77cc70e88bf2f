"""Reading manifests."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import CustomResource, Node, Pod, read_manifests
from mooring.errors import MooringError, ObjectError

CLUSTER = """\
# a comment first
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: a
    creationTimestamp: 2024-01-01T00:00:00Z
    labels: {1: one, on-time: "1:30"}
    annotations: {start: 1:30}
  status: {startTime: null}
- apiVersion: v1
  kind: PodList
  items:
  - metadata: {name: b}
---
---
apiVersion: v1
kind: Node
metadata: {name: node}
status: {allocatable: {cpu: 4, memory: 1.5Gi, example.com/x: 1e3}}
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: t}
spec: {requests: not a map, capacity: {a: nonsense}}
"""


def test_lists_and_documents_are_read_in_order():
    found = read_manifests(CLUSTER, "cluster.yaml")
    assert [(type(obj), obj.name) for obj, _ in found] == [
        (Pod, "a"),
        (Pod, "b"),
        (Node, "node"),
        (CustomResource, "t"),
    ]
    assert [(w.document, w.line, w.path) for _, w in found] == [
        (1, 6, "items[0]"),
        (1, 17, "items[1].items[0]"),
        (3, 20, ""),
        (4, 25, ""),
    ]
    assert str(found[1][1]) == "cluster.yaml:17: document 1: items[1].items[0]"


def test_yaml_means_what_it_means_to_kubernetes():
    pod = read_manifests(CLUSTER)[0][0]
    assert pod.metadata.creation_timestamp == "2024-01-01T00:00:00Z"
    assert pod.labels == {"1": "one", "on-time": "1:30"}
    assert pod.annotations == {"start": "1:30"}


def test_json_is_read_too():
    raw = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}] * 2}
    assert [obj.name for obj, _ in read_manifests(json.dumps(raw))] == ["a", "a"]
    assert read_manifests(json.dumps({"apiVersion": "v1", "kind": "List", "items": None})) == []
    assert read_manifests("") == read_manifests("---\n# nothing\n") == []
    assert len(read_manifests("{apiVersion: v1, kind: Pod, metadata: {name: flow}}")) == 1


def test_anchors_and_merges_are_written_out():
    text = """\
apiVersion: v1
kind: Pod
metadata: &m {name: a, labels: &l {x: v}}
spec: {nodeSelector: {<<: *l, z: w}}
"""
    assert read_manifests(text)[0][0].spec.node_selector == {"x": "v", "z": "w"}


def pod(spec):
    return f"---\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n{spec}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "f.yaml:2: document 1: not valid YAML", id="broken YAML"),
        pytest.param(
            "a: 1\nb: 2\na: 3", "f.yaml:3: document 1: key 'a' stands here twice", id="a key twice"
        ),
        pytest.param("just words", "an object must be a map, got text", id="text"),
        pytest.param("[1]", "an object must be a map, got a list", id="a list"),
        pytest.param("kind: Pod", "apiVersion: apiVersion is missing", id="no apiVersion"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}",
            "f.yaml:4: document 1: metadata.name: Pod: metadata.name is missing",
            id="no name",
        ),
        pytest.param(
            "apiVersion: v1\nkind: PodList\nitems: 3",
            "f.yaml:3: document 1: items: items must be a list, got an integer",
            id="items that are no list",
        ),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n- 3\n",
            "f.yaml:4: document 1: items[0].metadata.name",
            id="the first bad item of a list",
        ),
        pytest.param(
            pod("  nodeName: n\n"),
            "spec.nodeName: Pod: expected text, got true or false; quote it to make it text",
            id="a bare n is no text to Kubernetes",
        ),
        pytest.param(
            pod("  containers:\n  - name: c\n    image: 3\n"),
            "f.yaml:10: document 2: spec.containers[0].image: Pod: expected text, got an integer; "
            "quote it to make it text",
            id="a field of the wrong type",
        ),
        pytest.param(
            pod("  containers:\n  - name: c\n    resources:\n      requests: {cpu: 1 core}\n"),
            "f.yaml:11: document 2: spec.containers[0].resources.requests[cpu]: "
            "quantity '1 core' is malformed",
            id="a malformed quantity",
        ),
        pytest.param(
            pod("  containers:\n  - name: c\n    resources:\n      limits: {cpu: -1}\n"),
            'spec.containers[0].resources.limits[cpu]: Invalid value: "-1": '
            "must be greater than or equal to 0",
            id="a negative quantity",
        ),
        pytest.param(
            pod("  tolerations:\n  - key: a\n    operator: Equals\n"),
            "f.yaml:10: document 2: spec.tolerations[0].operator: Unsupported value",
            id="a misspelt operator",
        ),
        pytest.param("from a import b\nclass C(D):\n  x: 1\n", "must be a map", id="no YAML"),
        pytest.param("a: &a [*a]", "unknown anchor", id="an alias of itself"),
        pytest.param("{[]: 1}", "a key must be text", id="a key that is a list"),
        pytest.param("{~: 1}", "a key must be text", id="a key that is nothing"),
        pytest.param("!!python/name:os.system x", "not valid YAML", id="a foreign tag"),
        pytest.param("\x00", "not valid YAML", id="a control character"),
        pytest.param("a: !!int x", "not valid YAML", id="a number that is none"),
    ],
)
def test_a_bad_manifest_is_answered_with_its_place(text, message):
    with pytest.raises(ObjectError) as caught:
        read_manifests(text, "f.yaml")
    assert str(caught.value).startswith("f.yaml")
    assert message in str(caught.value)


def test_aliases_that_multiply_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(ObjectError, match="too large"):
        read_manifests("\n".join(lines))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 50_000, id="lists in YAML"),
        pytest.param("a: " + "{a: " * 300 + "}" * 300, id="maps in YAML"),
        pytest.param("- " * 50_000, id="lists by indentation"),
        pytest.param('{"a": ' + "[" * 50_000, id="JSON that does not end"),
        pytest.param('{"a": ' + "[" * 900 + "]" * 900 + "}", id="JSON"),
        pytest.param(
            "a0: &a0 []\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300)),
            id="lists made deep by aliases",
        ),
    ],
)
def test_what_nests_too_deep_is_refused(text):
    with pytest.raises(ObjectError, match="must nest at most 200 levels deep"):
        read_manifests(text, "f.yaml")


@given(st.text(alphabet="a:-[]{}&*!|>'\"# \n\t1,~?%@`", max_size=40) | st.text(max_size=20))
def test_only_our_errors_escape(text):
    try:
        read_manifests(text, "f.yaml")
    except MooringError as error:
        assert str(error).startswith("f.yaml")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["spec", "items", "kind", "metadata"]), inner)
        ),
        max_leaves=10,
    )
)
def test_only_our_errors_escape_from_json(value):
    try:
        read_manifests(json.dumps(value), "f.json")
    except MooringError as error:
        assert str(error).startswith("f.json")
