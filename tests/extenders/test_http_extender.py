"""HttpExtender: what each verb sends, and how its response is used."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mooring.api import Pod, decode_as
from mooring.errors import ExtenderError
from mooring.extenders import Extenders
from mooring.extenders.extender_documents import node_json, pod_json
from mooring.extenders.http_extender import HttpExtender
from mooring.framework.extender import ExtenderFilterResult, Victims
from mooring.framework.nodes import Nodes
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, refuse
from tests.extenders.webhooks import FakeWebhook, make_config, serving

VERBS = {
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "preemptVerb": "preempt",
    "bindVerb": "bind",
    "weight": 3,
}
POD = make_pod()
VICTIM, OTHER = make_pod("victim", node="n1"), make_pod("other", node="n1")


def make_snapshot() -> Nodes:
    objects = [*make_nodes("n1", "n2"), VICTIM, OTHER]
    return make_scheduler([refuse()], objects).cache.nodes


@asynccontextmanager
async def extender(
    answers: dict[str, Any], **fields: Any
) -> AsyncIterator[tuple[HttpExtender, FakeWebhook]]:
    async with serving(answers) as server:
        extenders = Extenders([server.config(**{**VERBS, **fields})])
        try:
            yield extenders[0], server
        finally:
            await extenders.close()


def test_the_verbs_say_what_it_takes_part_in() -> None:
    (made,) = Extenders([make_config(urlPrefix="http://a/", weight=5, filterVerb="filter")])
    assert made.name == "http://a/"
    assert made.weight == 5
    assert made.is_filter
    assert not made.is_prioritizer
    assert not made.is_binder
    assert not made.supports_preemption
    assert not made.ignorable


def pod_wanting(field: str, **resources: Any) -> Pod:
    return decode_as({"spec": {field: [{"name": "a"}, {"name": "b", "resources": resources}]}}, Pod)


@pytest.mark.parametrize(
    ("pod", "interested"),
    [
        (pod_wanting("containers", requests={"example.com/gpu": 1}), True),
        (pod_wanting("containers", limits={"example.com/gpu": 0}), True),
        (pod_wanting("initContainers", requests={"example.com/gpu": 1}), True),
        (pod_wanting("ephemeralContainers", requests={"example.com/gpu": 1}), False),
        (pod_wanting("containers", requests={"example.com/gpus": 1, "cpu": 1}), False),
        (Pod(), False),
    ],
    ids=[
        "a container requests it",
        "a container limits it",
        "an init container requests it",
        "an ephemeral container does not count",
        "a container requests others",
        "nobody requests anything",
    ],
)
def test_it_is_interested_in_pods_that_want_what_it_manages(pod: Pod, interested: bool) -> None:
    managed = [{"name": "example.com/gpu"}, {"name": "example.com/fpga"}]
    (made,) = Extenders([make_config(urlPrefix="http://a", managedResources=managed)])
    assert made.is_interested(pod) is interested
    (manages_all,) = Extenders([make_config(urlPrefix="http://a")])
    assert manages_all.is_interested(pod)


async def test_filter_sends_whole_nodes() -> None:
    answer = {
        "Nodes": {"items": [{"metadata": {"name": "n2"}}]},
        "NodeNames": ["n1"],
        "FailedNodes": {"n1": "full"},
        "FailedAndUnresolvableNodes": {"n3": "broken"},
    }
    nodes = make_snapshot()
    async with extender({"filter": answer}) as (asked, server):
        result = await asked.filter(POD, nodes.infos())
    assert result == ExtenderFilterResult(("n2",), {"n1": "full"}, {"n3": "broken"})
    items = [json.loads(node_json(info.node)) for info in nodes.infos()]
    question = {
        "Pod": json.loads(pod_json(POD)),
        "Nodes": {"metadata": {}, "items": items},
        "NodeNames": None,
    }
    assert server.asked == [("filter", question)]


async def test_filter_sends_names_to_an_extender_with_a_node_cache() -> None:
    answer = {"NodeNames": ["n2"], "Nodes": {"items": [{"metadata": {"name": "n1"}}]}}
    nodes = make_snapshot().infos()
    async with extender({"filter": answer}, nodeCacheCapable=True) as (asked, server):
        assert (await asked.filter(POD, nodes)).feasible == ("n2",)
        server.answers["filter"] = {"Nodes": {"items": [{"metadata": {"name": "n1"}}]}}
        assert (await asked.filter(POD, nodes)).feasible == ("n1",)
        server.answers["filter"] = {}
        assert (await asked.filter(POD, nodes)).feasible == ()
    question = {"Pod": json.loads(pod_json(POD)), "Nodes": None, "NodeNames": ["n1", "n2"]}
    assert server.asked[0] == ("filter", question)


async def test_names_alone_pass_nothing_without_a_node_cache() -> None:
    async with extender({"filter": {"NodeNames": ["n1"]}}) as (asked, _):
        assert (await asked.filter(POD, make_snapshot().infos())).feasible == ()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"Error": "out of order", "NodeNames": ["n1"]}, "out of order"),
        (500, "failed filter with extender at URL {url}/filter, code 500"),
        (b"", "EOF"),
        (
            {"NodeNames": ["n1", "n9"]},
            'extender "{url}" claims a filtered node "n9" which is not found in the input node '
            "list",
        ),
    ],
    ids=["an error of its own", "a failure", "nothing", "a node that was not asked about"],
)
async def test_filter_fails(answer: Any, problem: str) -> None:
    async with extender({"filter": answer}, nodeCacheCapable=True) as (asked, server):
        with pytest.raises(ExtenderError) as raised:
            await asked.filter(POD, make_snapshot().infos())
        assert str(raised.value) == problem.format(url=server.url)


async def test_prioritize_asks_for_scores() -> None:
    answer = [{"Host": "n1", "Score": 10}, {"host": "n2", "score": 2}]
    nodes = make_snapshot().infos()
    async with extender({"prioritize": answer}) as (asked, server):
        assert await asked.prioritize(POD, nodes) == {"n1": 10, "n2": 2}
    verb, question = server.asked[0]
    assert verb == "prioritize"
    assert [node["metadata"]["name"] for node in question["Nodes"]["items"]] == ["n1", "n2"]


PROPOSED = {"n1": Victims((VICTIM,), 1)}


async def test_preempt_sends_whole_victims() -> None:
    answer = {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "victim"}]}}}
    async with extender({"preempt": answer}) as (asked, server):
        found = await asked.process_preemption(POD, PROPOSED, make_snapshot())
    assert found == {"n1": Victims((VICTIM,), 0)}
    question = {
        "Pod": json.loads(pod_json(POD)),
        "NodeNameToVictims": {
            "n1": {"Pods": [json.loads(pod_json(VICTIM))], "NumPDBViolations": 1}
        },
        "NodeNameToMetaVictims": None,
    }
    assert server.asked == [("preempt", question)]


async def test_preempt_sends_uids_to_an_extender_with_a_node_cache() -> None:
    answer = {
        "nodeNameToMetaVictims": {
            "n1": {"Pods": [{"UID": "other"}, {"UID": "victim"}], "NumPDBViolations": 2},
            "n2": {"Pods": []},
        }
    }
    async with extender({"preempt": answer}, nodeCacheCapable=True) as (asked, server):
        found = await asked.process_preemption(POD, PROPOSED, make_snapshot())
    assert found == {"n1": Victims((OTHER, VICTIM), 2), "n2": Victims(())}
    question = {
        "Pod": json.loads(pod_json(POD)),
        "NodeNameToVictims": None,
        "NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "victim"}], "NumPDBViolations": 1}},
    }
    assert server.asked == [("preempt", question)]


@pytest.mark.parametrize(
    ("victims", "problem"),
    [
        ({"n9": {}}, 'nodeinfo not found for node name "n9"'),
        (
            {"n2": {"Pods": [{"UID": "victim"}]}},
            "extender: {url} claims to preempt pod (UID: &{{victim}}) on node: n2, but the pod is "
            "not found on that node",
        ),
    ],
    ids=["a node that is not there", "a pod that is not on the node"],
)
async def test_preempt_fails(victims: Any, problem: str) -> None:
    async with extender({"preempt": {"NodeNameToMetaVictims": victims}}) as (asked, server):
        with pytest.raises(ExtenderError) as raised:
            await asked.process_preemption(POD, PROPOSED, make_snapshot())
        assert str(raised.value) == problem.format(url=server.url)


async def test_bind_names_pod_and_node() -> None:
    async with extender({"bind": {}}) as (asked, server):
        await asked.bind(POD, "n1")
        question = {"PodName": "web", "PodNamespace": "default", "PodUID": "web", "Node": "n1"}
        assert server.asked == [("bind", question)]
        server.answers["bind"] = {"Error": "taken"}
        with pytest.raises(ExtenderError, match=r"^taken$"):
            await asked.bind(POD, "n1")
