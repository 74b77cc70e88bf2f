"""Priorities of pods and pod groups, which their classes give."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.apiserver.api_server import GROUP_GATES, PODS, ApiServer, make, pod, refusal

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
GROUP = "/apis/scheduling.k8s.io/{}/namespaces/default/{}"
KINDS = {
    "a pod group": ("v1beta1", "podgroups", "PodGroup", "pod group"),
    "a composite pod group": (
        "v1alpha3",
        "compositepodgroups",
        "CompositePodGroup",
        "composite pod group",
    ),
}


async def test_a_class_gives_priority_and_policy() -> None:
    server = ApiServer()
    await make(
        server,
        CLASSES,
        "PriorityClass",
        "scheduling.k8s.io/v1",
        metadata={"name": "high"},
        value=9,
        preemptionPolicy="Never",
        globalDefault=True,
    )
    spec = (await server.ask("POST", PODS, pod("p")))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("high", 9)
    assert spec["preemptionPolicy"] == "Never"
    assert "computed 9" in await refusal(server, pod("q", priority=1))
    assert "no PriorityClass" in await refusal(server, pod("q", priorityClassName="none"))


async def test_a_policy_that_the_class_does_not_give() -> None:
    text = await refusal(ApiServer(), pod("p", preemptionPolicy="Never"))
    assert "the string value of PreemptionPolicy (Never) must not be provided" in text


async def test_there_is_one_default_priority() -> None:
    server = ApiServer()
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "globalDefault": True}
    first = {**body, "metadata": {"name": "a"}, "value": 1}
    assert (await server.send("POST", CLASSES, first)).code == 201
    second = await server.send("POST", CLASSES, {**body, "metadata": {"name": "b"}, "value": 2})
    assert b"PriorityClass a is already marked as default" in second.body
    changed = {**first, "description": "again"}
    assert (await server.send("PUT", f"{CLASSES}/a", changed)).code == 200


async def _group(server: ApiServer, kind: str, **spec: Any) -> tuple[int, Any]:
    version, plural, name, _ = KINDS[kind]
    made = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": name,
        "metadata": {"name": "g"},
        "spec": {
            "schedulingPolicy": {"basic": {}},
            "workloadRef": {"workloadName": "w", "templateName": "t"},
            **spec,
        },
    }
    response = await server.send("POST", GROUP.format(version, plural), made)
    return response.code, json.loads(response.body)


async def _classes(server: ApiServer) -> None:
    for name, value, policy in (("high", 9, "PreemptLowerPriority"), ("never", 3, "Never")):
        await make(
            server,
            CLASSES,
            "PriorityClass",
            "scheduling.k8s.io/v1",
            metadata={"name": name},
            value=value,
            preemptionPolicy=policy,
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("spec", "priority", "policy"),
    [
        pytest.param({}, 0, "PreemptLowerPriority", id="no class"),
        pytest.param({"priorityClassName": "high"}, 9, "PreemptLowerPriority", id="a class"),
        pytest.param(
            {"priorityClassName": "never", "priority": 3, "preemptionPolicy": "Never"},
            3,
            "Never",
            id="the values of the class",
        ),
    ],
)
async def test_a_class_gives_a_group_its_priority(
    kind: str, spec: dict[str, Any], priority: int, policy: str
) -> None:
    server = ApiServer(features=GROUP_GATES)
    await _classes(server)
    code, made = await _group(server, kind, **spec)
    assert (code, made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (
        201,
        priority,
        policy,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"priorityClassName": "none"},
            "no PriorityClass with name none was found",
            id="an unknown class",
        ),
        pytest.param(
            {"priority": 5},
            "priority set in the {} (5) must match the priority computed (0) based on the priority "
            "class set in the spec",
            id="another priority",
        ),
        pytest.param(
            {"priorityClassName": "never"},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in "
            "{} spec; priority admission controller computed Never from the given PriorityClass "
            "name",
            id="the default policy, which the class does not have",
        ),
    ],
)
async def test_other_values_of_a_group_are_refused(
    kind: str, spec: dict[str, Any], why: str
) -> None:
    server = ApiServer(features=GROUP_GATES)
    await _classes(server)
    code, answer = await _group(server, kind, **spec)
    _, plural, _, what = KINDS[kind]
    text = f'{plural}.scheduling.k8s.io "g" is forbidden: {why.format(what)}'
    assert (code, answer["message"]) == (403, text)


async def test_a_group_has_no_policy_without_its_gate() -> None:
    server = ApiServer(features=GROUP_GATES - {"PodGroupPreemptionPolicy"})
    await _classes(server)
    code, made = await _group(server, "a pod group", priorityClassName="never")
    assert (code, made["spec"]["priority"]) == (201, 3)
    assert "preemptionPolicy" not in made["spec"]
