"""The leader's rules in a page: taken over, or named beside the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.apiserver.api_server import ServerSettings
from mooring.config import default_config
from mooring.config.rules import Rules
from mooring.errors import MooringError
from mooring.explain.scheduler_rules import RulePlugin, SchedulerRules
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.releases import parse_versions
from mooring.journal.head import scheduler_rules
from mooring.leader.scheduler_questions import SchedulerAddress
from mooring.local.local_gates import GROUP_VERSIONS
from mooring.local.local_scheduler import make_local_rules
from mooring.registry import default_registry
from mooring.ui.leader_rules import LEADERS, PageRules, differences, rule_notes, take_over
from mooring.ui.page_questions import WhatIfQuestion
from tests.apiserver.api_server import PODS
from tests.browser.test_nodes import asking
from tests.local.clusters import Reader, manifests, running
from tests.support.pages import RULES, ServedPage, serving
from tests.ui.test_page_data import until

GATE = "GenericWorkload"
POD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
NODES = "\n---\n".join(
    f"""
apiVersion: v1
kind: Node
metadata: {{name: {name}}}
status: {{allocatable: {{cpu: "2", memory: 8Gi, pods: "10"}}}}
"""
    for name in "abc"
)


class Theirs(Plugin):
    """A plugin that the leader alone has."""

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        """Agree."""


class Mine(Plugin):
    """A plugin that the page alone has."""

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        """Agree."""


def rules_of(*plugins: type[Plugin], **gates: bool) -> Rules:
    registry, features = default_registry(plugins), FeatureGates(gates)
    enabled = [plugin.name for plugin in plugins]
    config = default_config(registry=registry, feature_gates=features, enabled=enabled)
    return Rules(config, registry, features, RULES)


def served(rules: Rules) -> SchedulerRules:
    return scheduler_rules(rules.config, rules.registry, rules.gates)


def weighted(theirs: SchedulerRules) -> SchedulerRules:
    (profile,) = theirs.config["profiles"]
    others = [{**profile, "schedulerName": name} for name in ("default-scheduler", "more")]
    others[0]["pluginConfig"] = []
    config = {**theirs.config, "profiles": others, "percentageOfNodesToScore": 7}
    return replace(theirs, config={**config, "extenders": [{"urlPrefix": "https://x"}]})


def test_equal_rules_do_not_differ() -> None:
    assert differences(served(rules_of()), rules_of()) == []
    assert differences(served(rules_of(Theirs)), rules_of(Theirs)) == []


def test_each_difference_is_named() -> None:
    ours = rules_of()
    gates = served(rules_of(**{GATE: True}))
    assert f"the feature gate {GATE} is on there and off here" in differences(gates, ours)
    assert differences(weighted(served(ours)), ours) == [
        "the profile default-scheduler is another one",
        "only the leader has the profile more",
        "percentageOfNodesToScore is 7 there and 0 here",
        "its extenders are not asked here",
    ]
    found = differences(served(rules_of(Theirs)), ours)
    assert found == [
        "this page lacks its plugin Theirs, name its file with --plugin",
        "the profile default-scheduler is another one",
    ]
    other_file = replace(
        served(rules_of(Theirs)), plugins=(RulePlugin("Theirs", "x:Theirs", "0" * 64),)
    )
    assert differences(other_file, rules_of(Theirs)) == [
        "the file of its plugin Theirs is another one"
    ]


def test_other_releases_and_gates_of_another_version() -> None:
    ours = rules_of()
    older = FeatureGates({}, parse_versions(["1.36"]))
    config = default_config(registry=ours.registry, feature_gates=older)
    theirs = scheduler_rules(config, ours.registry, older)
    release = ours.gates.release.version
    assert f"it follows Kubernetes 1.36, and this page {release}" in differences(theirs, ours)
    (unknown,) = differences(replace(served(ours), gates={"NoSuchGate": True}), ours)
    assert "NoSuchGate" in unknown


def test_rules_that_are_taken_over() -> None:
    theirs = served(rules_of(**{GATE: True}))
    found = take_over(theirs, rules_of(), "the leader")
    assert (found.text, found.gates) == (LEADERS, FeatureGates({GATE: True}))
    assert differences(theirs, found) == []


@pytest.mark.parametrize(
    ("theirs", "problem"),
    [
        pytest.param(served(rules_of(Theirs)), "this page lacks its plugin Theirs", id="a plugin"),
        pytest.param(replace(served(rules_of()), gates={"Nope": True}), "Nope", id="a gate"),
        pytest.param(replace(served(rules_of()), version=9), "format 9", id="another format"),
    ],
)
def test_rules_that_cannot_be_applied_here(theirs: SchedulerRules, problem: str) -> None:
    with pytest.raises(MooringError, match=f"the rules of W cannot be applied here: .*{problem}"):
        take_over(theirs, rules_of(), "W")


@asynccontextmanager
async def with_a_waiting_gang(folder: Path) -> AsyncIterator[Reader]:
    """Run a cluster of three nodes whose scheduler waits for a gang of four to fit."""
    server = ServerSettings(
        kubeconfig=folder / "kubeconfig", enabled=GROUP_VERSIONS, features=frozenset({GATE})
    )
    plan = make_local_rules(None, (), FeatureGates({GATE: True}))
    objects = manifests(NODES)
    async with running(folder, server=server, nodes=0, plan=plan, objects=objects) as cluster:
        group = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "g"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}},
        }
        await cluster.post(POD_GROUPS, group)
        for number in range(4):
            member = asking(f"g-{number}", "2", schedulingGroup={"podGroupName": "g"})
            await cluster.post(PODS, member)
        await cluster.until(f"{PODS}/g-3", lambda found: found["status"].get("conditions"))
        yield cluster


async def add(page: ServedPage) -> tuple[int, str, list[str]]:
    """Return how many pods would get a node if there were one more, the rules, and the notes."""
    await until(page.data, lambda one: one["pending"] == 4 and one["nodes"] == 3)
    found = await page.questions.ask(WhatIfQuestion("add", ("c",)))
    rules = found["rules"]
    return found["placed"]["total"], rules["text"], rules["notes"]


async def live(page: ServedPage) -> None:
    await until(page.data, lambda one: one["leader"] is not None and one["leader"].state == "live")


async def test_a_gang_is_placed_as_the_leader_places_it(tmp_path: Path) -> None:
    address = SchedulerAddress()
    async with with_a_waiting_gang(tmp_path):
        async with serving(tmp_path, leader=address, leaders_rules=True) as page:
            await live(page)
            assert page.data.about()["rules"] == LEADERS
            assert await add(page) == (4, LEADERS, [])
        # The user has chosen rules without gangs: three pods fit now, and the answer says so.
        async with serving(tmp_path, leader=address) as page:
            await live(page)
            placed, text, (note,) = await add(page)
            assert (placed, text) == (1, RULES)
            assert note.startswith(f"The leader decides by other rules than {RULES}: ")
            assert f"the feature gate {GATE} is on there and off here" in note


class LostLink:
    """A link to a leader that has gone."""

    async def rules(self) -> SchedulerRules:
        raise MooringError("connection refused.")


@pytest.mark.parametrize(
    ("text", "applied"),
    [(RULES, RULES), (LEADERS, "the leader's configuration of when mooring ui was started")],
)
async def test_a_lost_leader_may_have_other_rules_by_now(text: str, applied: str) -> None:
    link: Any = LostLink()
    (note,) = await rule_notes(link, PageRules(replace(rules_of(), text=text)))
    assert note == (
        f"The rules of the leader are not known (connection refused); applied are {applied}."
    )


async def test_rules_that_cannot_be_had_are_named_beside_the_answer(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1, plan=None):
        address = SchedulerAddress()
        async with serving(tmp_path, leader=address, leaders_rules=True) as page:
            await until(page.data, lambda one: one["leader"].state == "absent")
            found = await page.questions.ask(WhatIfQuestion("cordon", ("node-0",)))
            (note,) = found["rules"]["notes"]
            assert note.startswith("The rules of the leader are not known (")
            assert "this cluster runs no scheduler" in note
            assert note.endswith(f"; applied are {RULES}.")


async def test_plugins_of_the_user_leave_the_leaders_rules_as_they_are(tmp_path: Path) -> None:
    gates = FeatureGates({GATE: True})
    address = SchedulerAddress()
    server = ServerSettings(
        kubeconfig=tmp_path / "kubeconfig", enabled=GROUP_VERSIONS, features=frozenset({GATE})
    )
    plan = make_local_rules(None, (Theirs,), gates)
    async with running(tmp_path, server=server, nodes=1, plan=plan):
        for plugins, expected in (((Theirs,), LEADERS), ((Theirs, Mine), RULES), ((), RULES)):
            async with serving(
                tmp_path, plugins=plugins, leader=address, leaders_rules=True
            ) as page:
                assert page.data.about()["rules"] == expected
