"""The Helm chart says what `mooring manifests` says."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.cli.rights import cluster_rules, controller_rules, plugin_rules
from tests.contrib.profiles import configuration
from tests.deploy.deployed import manifests
from tests.support.api import Object
from tests.support.real_parts import MISSING
from tools import helm

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart"
RULES = """\
from mooring import Plugin


class OnlyGpuNodes(Plugin):
    name = "only-gpu-nodes"

    def filter(self, state, pod, node): ...
"""
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "delayCacheUntilActive": True,
    "percentageOfNodesToScore": 50,
    "leaderElection": {"resourceName": "lock", "leaseDuration": "30s"},
    "profiles": [
        {"schedulerName": "red", "plugins": {"score": {"disabled": [{"name": "*"}]}}},
        {"schedulerName": "blue"},
    ],
}
FAMILY = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "gangs",
            "plugins": {
                "multiPoint": {
                    "enabled": [{"name": "Coscheduling"}, {"name": "NetworkOverhead"}],
                    "disabled": [{"name": "PrioritySort"}],
                },
                "score": {"enabled": [{"name": "TargetLoadPacking", "weight": 3}]},
            },
        }
    ],
}
QUOTAS = configuration(
    "CapacityScheduling",
    disabled=["DefaultPreemption"],
    args={"CapacityScheduling": {"podRequests": "Scheduler"}},
)
ALONE = {
    **CONFIG,
    "leaderElection": {"leaderElect": False},
    "profiles": [{"percentageOfNodesToScore": 7}],
}


def template(*arguments: str, values: Object | None = None) -> subprocess.CompletedProcess[str]:
    """Run `helm template` on the chart."""
    program = helm.find()
    if program is None:
        # Not `lack`: CI goes on without it.
        pytest.skip(f"{MISSING}helm (`make helm` builds it)")
    command = [program, "template", *arguments, str(CHART), "--kube-version=1.36.4", "--values=-"]
    text = yaml.safe_dump(values or {})
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)


def comparable(found: list[Object]) -> dict[tuple[str, str], Object]:
    """Return objects by name, without the differences that mean nothing."""
    for one in found:
        if one["kind"] == "ConfigMap" and "config.yaml" in one["data"]:
            one["data"]["config.yaml"] = yaml.safe_load(one["data"]["config.yaml"])
        if one["kind"] == "Deployment":
            one["spec"]["template"]["metadata"].get("annotations", {}).pop("checksum/config", None)
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


@pytest.mark.parametrize(
    ("arguments", "release", "values", "config"),
    [
        pytest.param((), ("mooring", "--namespace=kube-system"), {}, None, id="as they come"),
        pytest.param(
            ("--name=my-scheduler", "--namespace=team", "--image=example/mooring:2"),
            ("any", "--namespace=team"),
            {"name": "my-scheduler", "image": "example/mooring:2"},
            None,
            id="named, elsewhere, with another image",
        ),
        pytest.param(
            ("--replicas=1",),
            ("mooring", "--namespace=kube-system"),
            {"replicas": 1},
            None,
            id="one replica",
        ),
        pytest.param(
            (),
            ("mooring", "--namespace=kube-system"),
            {"config": CONFIG},
            CONFIG,
            id="a configuration",
        ),
        pytest.param(
            (),
            ("mooring", "--namespace=kube-system"),
            {"config": FAMILY},
            FAMILY,
            id="plugins that read custom resources",
        ),
        pytest.param(
            ("--controllers", "--namespace=team"),
            ("mooring", "--namespace=team"),
            {"controllers": {"enabled": True}},
            None,
            id="controllers",
        ),
        pytest.param(
            ("--controllers",),
            ("mooring", "--namespace=kube-system"),
            {"config": QUOTAS, "controllers": {"enabled": True}},
            QUOTAS,
            id="quotas that count as the scheduler does",
        ),
        pytest.param(
            (),
            ("mooring", "--namespace=kube-system"),
            {"config": ALONE, "replicas": 1, "leaderElection": {"leaderElect": False}},
            ALONE,
            id="without leader election",
        ),
        pytest.param(
            ("--plugin=rules.py", "--plugin=mooring.contrib.samples.name_score:NameScore"),
            ("mooring", "--namespace=kube-system"),
            {
                "plugins": [
                    {
                        "file": "rules.py",
                        "class": "OnlyGpuNodes",
                        "name": "only-gpu-nodes",
                        "code": RULES,
                    },
                    {"module": "mooring.contrib.samples.name_score", "class": "NameScore"},
                ]
            },
            None,
            id="plugins",
        ),
    ],
)
def test_the_chart_says_what_the_command_says(
    arguments: tuple[str, ...],
    release: tuple[str, ...],
    values: Object,
    config: Object | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(RULES)
    if config is not None:
        Path("config.yaml").write_text(yaml.safe_dump(config))
        arguments = (*arguments, "--config=config.yaml")
    rendered = template(*release, values=values)
    assert rendered.returncode == 0, rendered.stderr
    found: list[Any] = list(yaml.safe_load_all(rendered.stdout))
    assert comparable(found) == comparable(manifests(*arguments))


def test_replicas_without_leader_election_are_refused() -> None:
    refused = template("mooring", values={"leaderElection": {"leaderElect": False}})
    assert refused.returncode != 0
    assert "without leader election each replica would schedule every pod" in refused.stderr


def test_what_people_add_is_there() -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["gangs"], "verbs": ["list", "watch"]}
    more = {
        "priorityClassName": "important",
        "nodeSelector": {"a": "b"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "imagePullSecrets": [{"name": "key"}],
    }
    values = {**more, "extraRules": [rule], "podAnnotations": {"c": "d"}, "flags": ["--v=5"]}
    rendered = template("mooring", values=values)
    found = comparable(list(yaml.safe_load_all(rendered.stdout)))
    assert found["ClusterRole", "mooring"]["rules"] == [*cluster_rules(), rule]
    pod = found["Deployment", "mooring"]["spec"]["template"]
    assert {key: pod["spec"][key] for key in more} == more
    assert pod["metadata"]["annotations"] == {"c": "d"}
    assert pod["spec"]["containers"][0]["args"][-1] == "--v=5"


def test_the_rules_of_the_chart_are_those_of_the_command() -> None:
    text = (CHART / "files" / "cluster-role-rules.yaml").read_text()
    assert yaml.safe_load(text) == cluster_rules()
    text = (CHART / "files" / "plugin-rules.yaml").read_text()
    assert yaml.safe_load(text) == plugin_rules()
    text = (CHART / "files" / "controller-rules.yaml").read_text()
    assert yaml.safe_load(text) == controller_rules()


def test_a_name_that_is_too_long_for_controllers_is_refused() -> None:
    refused = template("mooring", values={"name": "n" * 52, "controllers": {"enabled": True}})
    assert refused.returncode != 0
    assert "at most 51 characters" in refused.stderr


def test_the_values_that_are_documented_are_those_that_are_used() -> None:
    text = "".join(path.read_text() for path in sorted((CHART / "templates").iterdir()))
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert [name for name in values if f".Values.{name}" not in text] == []
