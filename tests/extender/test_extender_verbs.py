"""The verbs of an extender: requests of extender/v1 in, results out."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring import Plugin, Status
from mooring.errors import ExtenderError, PluginError
from mooring.extender.extender_verbs import NAMES_ONLY, NO_NODES, UNKNOWN_NODE, ExtenderVerbs
from mooring.extenders.extender_results import read_filter, read_preemption, read_priorities
from mooring.testing import make_node, make_pod
from tests.extender.extender_scenes import (
    CLOSED,
    OpenNodes,
    Stars,
    body,
    make_cluster,
    make_verbs,
    verbs_of,
)

#: Names of fields, so that generated requests come close to valid ones.
FIELDS = [
    *("Pod", "Nodes", "NodeNames", "NodeNameToVictims", "NodeNameToMetaVictims", "Pods", "UID"),
    *(
        "items",
        "metadata",
        "name",
        "labels",
        "stars",
        "spec",
        "containers",
        "resources",
        "requests",
    ),
    *("requests", "a", "b", "cpu", "status", "allocatable", "priority", "NumPDBViolations"),
]

POD = make_pod("web")
NODES = [
    make_node("a", labels={"closed": "true", "stars": "30"}),
    make_node("b", labels={"stars": "100"}),
    make_node("c"),
]
NAMES = ["c", "b", "a"]


class Broken(Plugin):
    """A plugin with a bug at every point."""

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        raise ValueError("no such node")

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        raise ValueError("no such score")


class Narrow(Plugin):
    """A plugin that names the only nodes in question, or refuses the pod."""

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        if pod.metadata.name == "never":
            return Status.unresolvable("nowhere")
        if pod.metadata.name == "broken":
            return Status.error("the list of nodes is lost")
        return {"b", "c"}

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return Status.unschedulable("too small", "too old") if node.name == "b" else None

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 50


def ask(verbs: ExtenderVerbs, verb: str, **fields: Any) -> Any:
    return json.loads(getattr(verbs, verb)(body(**fields)))


# Filter.


def test_the_refused_nodes_have_their_reasons_and_the_others_keep_their_order() -> None:
    verbs = make_verbs([OpenNodes], NODES)
    assert ask(verbs, "filter", Pod=POD, NodeNames=NAMES) == {
        "Nodes": None,
        "NodeNames": ["c", "b"],
        "FailedNodes": {"a": CLOSED},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


def test_a_refusal_may_name_each_node() -> None:
    class Far(Plugin):
        def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            refusal = Status.unschedulable("{node} is too far").per_node()
            yield refusal, np.array([name != "c" for name in nodes.names])

    found = ask(make_verbs([Far], NODES), "filter", Pod=POD, NodeNames=NAMES)
    assert found["FailedNodes"] == {"a": "a is too far", "b": "b is too far"}


def test_only_the_nodes_of_the_request_are_judged() -> None:
    found = ask(make_verbs([OpenNodes], NODES), "filter", Pod=POD, NodeNames=["b"])
    assert (found["NodeNames"], found["FailedNodes"]) == (["b"], {})


def test_a_node_that_is_not_known_yet_is_refused() -> None:
    verbs = make_verbs([OpenNodes], NODES)
    found = ask(verbs, "filter", Pod=POD, NodeNames=["new", "b", "a"])
    assert found["NodeNames"] == ["b"]
    assert found["FailedNodes"] == {"new": UNKNOWN_NODE, "a": CLOSED}


def test_whole_nodes_are_answered_with_whole_nodes() -> None:
    documents = {"metadata": {}, "items": NODES}
    verbs = make_verbs([OpenNodes], NODES)
    found = ask(verbs, "filter", Pod=POD, Nodes=documents, NodeNames=None)
    assert [node["metadata"]["name"] for node in found["Nodes"]["items"]] == ["b", "c"]
    assert found["Nodes"]["items"][0]["status"]["allocatable"]["pods"]
    assert (found["NodeNames"], found["FailedNodes"]) == (None, {"a": CLOSED})


def test_whole_nodes_are_judged_as_they_are_in_the_request() -> None:
    verbs = make_verbs([OpenNodes], NODES)
    opened = {"items": [make_node("a"), make_node("new", labels={"closed": "true"})]}
    found = ask(verbs, "filter", Pod=POD, Nodes=opened)
    assert [node["metadata"]["name"] for node in found["Nodes"]["items"]] == ["a"]
    assert found["FailedNodes"] == {"new": CLOSED}


def test_without_a_cluster_the_removal_of_pods_never_helps() -> None:
    verbs = make_verbs([OpenNodes], live=False)
    found = ask(verbs, "filter", Pod=POD, Nodes={"items": NODES})
    assert found["FailedAndUnresolvableNodes"] == {"a": CLOSED}
    assert found["FailedNodes"] == {}


def test_pre_filter_narrows_and_reasons_are_joined() -> None:
    found = ask(make_verbs([Narrow], NODES), "filter", Pod=POD, NodeNames=NAMES)
    assert found["NodeNames"] == ["c"]
    assert found["FailedNodes"] == {"b": "too small, too old"}
    assert found["FailedAndUnresolvableNodes"] == {"a": "node(s) didn't satisfy plugin(s) [Narrow]"}


def test_a_pod_that_pre_filter_refuses_passes_nowhere() -> None:
    found = ask(make_verbs([Narrow], NODES), "filter", Pod=make_pod("never"), NodeNames=NAMES)
    assert found["NodeNames"] == []
    assert found["FailedAndUnresolvableNodes"] == dict.fromkeys(NAMES, "nowhere")


@pytest.mark.parametrize(
    ("plugin", "pod", "said"),
    [
        (Broken, "web", 'running "Broken" filter plugin: plugin Broken, point Filter: ValueError'),
        (Narrow, "broken", 'running PreFilter plugin "Narrow": the list of nodes is lost'),
    ],
    ids=["in Filter", "in PreFilter"],
)
def test_the_fault_of_a_plugin_is_the_error_of_the_result(
    plugin: type[Plugin], pod: str, said: str
) -> None:
    found = ask(make_verbs([plugin], NODES), "filter", Pod=make_pod(pod), NodeNames=NAMES)
    assert found["Error"].startswith(said)
    assert found["NodeNames"] is None


def test_the_client_of_mooring_reads_the_result() -> None:
    verbs = make_verbs([OpenNodes], NODES)
    answer = read_filter(verbs.filter(body(Pod=POD, NodeNames=NAMES)))
    assert answer.node_names == ("c", "b")
    assert answer.failed == {"a": CLOSED}


def test_pods_nominated_to_a_node_count() -> None:
    class OnePod(Plugin):
        """Allow one pod on each node."""

        def filter(self, state: Any, pod: Any, node: Any) -> Any:
            return Status.unschedulable("taken") if node.pods else None

    cluster = make_cluster([OnePod], NODES, live=False)
    cluster.nominator.add(make_pod("urgent", priority=5), "b")
    found = ask(verbs_of(cluster), "filter", Pod=POD, Nodes={"items": NODES})
    assert found["FailedAndUnresolvableNodes"] == {"b": "taken"}


# Which pods.


def test_a_pod_without_the_managed_resource_passes_everywhere() -> None:
    verbs = make_verbs([OpenNodes, Stars], NODES, managed=["example.com/gpu"])
    assert ask(verbs, "filter", Pod=POD, NodeNames=NAMES)["NodeNames"] == NAMES
    scores = ask(verbs, "prioritize", Pod=POD, NodeNames=NAMES)
    assert [one["Score"] for one in scores] == [0, 0, 0]
    gpu = make_pod("gpu", requests={"example.com/gpu": 1})
    assert ask(verbs, "filter", Pod=gpu, NodeNames=NAMES)["FailedNodes"] == {"a": CLOSED}


def two_profiles() -> dict[str, Any]:
    enabled = {"plugins": {"multiPoint": {"enabled": [{"name": "OpenNodes"}]}}}
    other = {"plugins": {"multiPoint": {"enabled": [{"name": "Narrow"}]}}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "open", **enabled}, {"schedulerName": "narrow", **other}],
    }


def test_one_profile_answers_for_every_pod_and_several_for_their_own() -> None:
    def passing(verbs: ExtenderVerbs, scheduler: str) -> Any:
        pod = make_pod("web", scheduler_name=scheduler)
        return ask(verbs, "filter", Pod=pod, NodeNames=NAMES)["NodeNames"]

    alone = make_verbs([OpenNodes], NODES)
    assert passing(alone, "anything") == ["c", "b"]
    several = make_verbs([OpenNodes, Narrow], NODES, config=two_profiles())
    assert passing(several, "open") == ["c", "b"]
    assert passing(several, "narrow") == ["c"]
    assert passing(several, "another") == NAMES


# Prioritize.


def test_scores_are_rounded_to_the_nearest_of_eleven() -> None:
    nodes = [
        make_node(f"n{stars}", labels={"stars": str(stars)}) for stars in (0, 4, 5, 14, 95, 100)
    ]
    names = [node.metadata.name for node in nodes]
    found = ask(make_verbs([Stars], nodes), "prioritize", Pod=POD, NodeNames=names)
    assert [(one["Host"], one["Score"]) for one in found] == list(
        zip(names, (0, 0, 1, 1, 10, 10), strict=True)
    )


def test_weights_share_the_range() -> None:
    class Names(Plugin):
        """Prefer node c."""

        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            return np.array([100 * (name == "c") for name in nodes.names])

    enabled = [{"name": "Stars", "weight": 3}, {"name": "Names", "weight": 1}]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"score": {"enabled": enabled}}}],
    }
    verbs = make_verbs([Stars, Names], NODES, config=config)
    found = read_priorities(verbs.prioritize(body(Pod=POD, NodeNames=NAMES)))
    # 300 of 400 are 7.5, 100 are 2.5 and 90 are 2.25.
    assert found == {"b": 8, "c": 3, "a": 2}


def test_a_node_that_is_not_known_yet_has_no_score() -> None:
    found = ask(make_verbs([Stars], NODES), "prioritize", Pod=POD, NodeNames=["new", "b"])
    assert found == [{"Host": "new", "Score": 0}, {"Host": "b", "Score": 10}]


def test_scores_may_use_what_pre_filter_has_written() -> None:
    class Shared(Plugin):
        """Score with the state of PreFilter."""

        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
            state.write("favourite", "c")

        def score(self, state: Any, pod: Any, node: Any) -> int:
            return 100 if node.name == state.read("favourite") else 0

    found = ask(make_verbs([Shared], NODES), "prioritize", Pod=POD, NodeNames=NAMES)
    assert [one["Score"] for one in found] == [10, 0, 0]


@pytest.mark.parametrize(("plugin", "pod"), [(Broken, "web"), (Narrow, "broken")])
def test_prioritize_has_no_field_for_a_fault(plugin: type[Plugin], pod: str) -> None:
    verbs = make_verbs([plugin], NODES)
    with pytest.raises(PluginError, match=r"no such score|list of nodes is lost"):
        verbs.prioritize(body(Pod=make_pod(pod), NodeNames=NAMES))


# Preempt.

VICTIMS = {name: {"Pods": [{"UID": "v"}], "NumPDBViolations": 1} for name in ("a", "b")}


def test_a_candidate_that_a_plugin_refuses_is_left_out() -> None:
    victim = make_pod("v", node="b", metadata={"uid": "v"})
    verbs = make_verbs([OpenNodes], [*NODES, victim])
    found = read_preemption(verbs.preempt(body(Pod=POD, NodeNameToMetaVictims=VICTIMS)))
    assert {name: (one.uids, one.pdb_violations) for name, one in found.items()} == {
        "b": (("v",), 1)
    }


def test_candidates_with_whole_pods_are_answered_by_uid() -> None:
    victim = make_pod("v", node="b", metadata={"uid": "v"})
    verbs = make_verbs([OpenNodes], [*NODES, victim])
    whole = {name: {"Pods": [victim], "NumPDBViolations": 0} for name in ("a", "b", "gone")}
    found = ask(verbs, "preempt", Pod=POD, NodeNameToVictims=whole)
    victims = {"Pods": [{"UID": "v"}], "NumPDBViolations": 0}
    assert found == {"NodeNameToMetaVictims": {"b": victims}}


def test_pre_filter_takes_part_in_preemption() -> None:
    verbs = make_verbs([Narrow], NODES)
    found = ask(verbs, "preempt", Pod=POD, NodeNameToMetaVictims={"a": VICTIMS["a"], "c": {}})
    assert list(found["NodeNameToMetaVictims"]) == ["c"]
    never = ask(verbs, "preempt", Pod=make_pod("never"), NodeNameToMetaVictims=VICTIMS)
    assert never == {"NodeNameToMetaVictims": {}}
    with pytest.raises(PluginError, match="lost"):
        verbs.preempt(body(Pod=make_pod("broken"), NodeNameToMetaVictims=VICTIMS))


def test_candidates_stay_if_there_is_nothing_to_say_about_them() -> None:
    without = make_verbs([OpenNodes], live=False)
    found = ask(without, "preempt", Pod=POD, NodeNameToMetaVictims=VICTIMS)
    assert found == {"NodeNameToMetaVictims": VICTIMS}
    unmanaged = make_verbs([OpenNodes], NODES, managed=["example.com/gpu"])
    found = ask(unmanaged, "preempt", Pod=POD, NodeNameToMetaVictims=VICTIMS)
    assert found == {"NodeNameToMetaVictims": VICTIMS}


# Bad requests.

ODD_NODE = b"""{"Pod":{},"Nodes":{"items":[
    {"metadata":{"name":"a"},"status":{"allocatable":{"cpu":"much"}}}]}}"""
ODD_POD = b'{"Pod":{"status":{"startTime":"yesterday"}},"NodeNames":["a"]}'


@pytest.mark.parametrize(
    ("verb", "request_body", "said"),
    [
        ("filter", b"", "EOF"),
        ("filter", b"{", "unexpected EOF"),
        ("filter", b"[]", "not a request of extender/v1: Expected `object`, got `array`"),
        ("filter", b"{}", "not a request of extender/v1: Object missing required field `Pod`"),
        ("filter", b'{"Pod":null,"NodeNames":[]}', "Pod is null"),
        ("filter", b'{"Pod":{},"NodeNames":null}', NO_NODES),
        ("filter", b'{"Pod":{},"NodeNames":[1]}', r"Expected `str`, got `int` - at"),
        ("filter", b'{"Pod":{"spec":3},"NodeNames":[]}', "spec"),
        ("filter", b'{"Pod":{},"Nodes":{"items":3}}', r"Expected `array \| null`, got `int`"),
        ("filter", b'{"Pod":{},"Nodes":{"items":[{"spec":3}]}}', "spec"),
        ("filter", b'{"Pod":{},"Nodes":{"items":[{}]}}', "every node must have a name"),
        ("filter", ODD_NODE, "Nodes: quantity 'much' is malformed"),
        ("filter", ODD_POD, "Pod: time must look like"),
        ("prioritize", ODD_POD, "Pod: time must look like"),
        ("prioritize", b'{"Pod":{}}', NO_NODES),
        ("preempt", b'{"Pod":{}}', "neither NodeNameToVictims nor NodeNameToMetaVictims"),
    ],
)
def test_a_bad_request_says_what_is_wrong(verb: str, request_body: bytes, said: str) -> None:
    verbs = make_verbs([OpenNodes, Stars], NODES)
    with pytest.raises(ExtenderError, match=said):
        getattr(verbs, verb)(request_body)


def test_names_mean_nothing_without_a_cluster() -> None:
    verbs = make_verbs([OpenNodes], live=False)
    with pytest.raises(ExtenderError) as found:
        verbs.filter(body(Pod=POD, NodeNames=NAMES))
    assert str(found.value) == NAMES_ONLY


def test_older_schedulers_write_fields_in_lower_case() -> None:
    found = ask(make_verbs([OpenNodes], NODES), "filter", pod=POD, nodes=None, nodenames=NAMES)
    assert found["NodeNames"] == ["c", "b"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(
    verb=st.sampled_from(["filter", "prioritize", "preempt"]),
    document=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5),
    tail=st.binary(max_size=3),
)
def test_any_request_is_answered_or_refused(verb: str, document: Any, tail: bytes) -> None:
    verbs = make_verbs([OpenNodes, Stars], NODES)
    with contextlib.suppress(ExtenderError):
        json.loads(getattr(verbs, verb)(json.dumps(document).encode() + tail))
