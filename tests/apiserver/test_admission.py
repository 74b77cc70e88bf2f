"""What admission adds to pods, and what it refuses."""

from __future__ import annotations

from tests.apiserver.api_server import PODS, ApiServer, make, pod, refusal


async def test_a_class_gives_priority_and_policy() -> None:
    server = ApiServer()
    await make(
        server,
        "/apis/scheduling.k8s.io/v1/priorityclasses",
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


async def test_a_pod_needs_its_service_account() -> None:
    text = await refusal(ApiServer(), pod("p", serviceAccountName="ghost"))
    assert text.endswith('default/ghost: serviceaccount "ghost" not found')


async def test_tolerations_are_added_once() -> None:
    server = ApiServer()
    everything = [{"operator": "Exists"}]
    made = await server.ask("POST", PODS, pod("p", tolerations=everything))
    assert made["spec"]["tolerations"] == everything
    made = await server.ask("POST", PODS, pod("q"))
    assert [one["tolerationSeconds"] for one in made["spec"]["tolerations"]] == [300, 300]
