"""`mooring manifests --extender`: the objects that run an extender."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from mooring.cli.main import main

PLUGIN = """\
from mooring import Plugin
from mooring.api import PersistentVolume

class Volumes(Plugin):
    \"\"\"A plugin that reads volumes and quotas.\"\"\"

    def start(self):
        self.handle.lister(PersistentVolume)
        self.handle.lister("quotas.v1alpha1.example.com")

    def filter(self, state, pod, node): ...

class Narrow(Plugin):
    \"\"\"A plugin that only narrows the search.\"\"\"

    def pre_filter(self, state, pod, nodes): ...

class Binder(Plugin):
    \"\"\"A plugin that binds.\"\"\"

    def bind(self, state, pod, node_name): ...
"""
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}
profiles:
- plugins:
    score: {enabled: [{name: NodeResourcesAllocatable, weight: 4}]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a directory that contains plugins and a configuration."""
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(PLUGIN)
    Path("config.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs the command; it returns objects, the section, warnings."""

    def call(*arguments: str) -> tuple[dict[str, Any], Any, str]:
        assert main(["manifests", "--extender", *arguments]) == 0
        output = capsys.readouterr()
        comments = [line for line in output.out.splitlines() if line.startswith("#")]
        begin = comments.index("#") + 1
        (section,) = yaml.safe_load("\n".join(line[2:] for line in comments[begin:]))["extenders"]
        found = yaml.safe_load_all(output.out)
        objects = {f"{one['kind']}/{one['metadata']['name']}": one for one in found}
        return objects, section, output.err

    return call


def test_the_objects_in_the_order_of_creation(run: Any) -> None:
    found, _, _ = run("--plugin=rules.py:Volumes")
    assert list(found) == [
        "ServiceAccount/mooring-extender",
        "Secret/mooring-extender-tls",
        "Service/mooring-extender",
        "ClusterRole/mooring-extender",
        "ClusterRoleBinding/mooring-extender",
        "ConfigMap/mooring-extender-plugins",
        "Deployment/mooring-extender",
        "PodDisruptionBudget/mooring-extender",
    ]


def test_the_rights_are_to_read_what_the_plugins_ask_for(run: Any) -> None:
    found, _, _ = run("--plugin=rules.py:Volumes")
    rules = {
        (group, resource): rule["verbs"]
        for rule in found["ClusterRole/mooring-extender"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    reads = ["list", "watch"]
    assert rules == {
        ("", "nodes"): reads,
        ("", "persistentvolumes"): reads,
        ("", "pods"): reads,
        ("example.com", "quotas"): reads,
        ("policy", "poddisruptionbudgets"): reads,
    }


def test_victims_are_checked_against_budgets_whichever_point_refuses(run: Any) -> None:
    found, section, _ = run("--plugin=rules.py:Narrow")
    assert section["preemptVerb"] == "preempt"
    groups = [rule["apiGroups"] for rule in found["ClusterRole/mooring-extender"]["rules"]]
    assert groups == [[""], ["policy"]]


def test_a_bind_plugin_may_bind(run: Any) -> None:
    found, section, _ = run("--plugin=rules.py:Binder")
    rules = found["ClusterRole/mooring-extender"]["rules"]
    assert {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]} in rules
    assert section["bindVerb"] == "bind"


def test_the_container_serves_with_the_certificate_of_the_service(run: Any) -> None:
    found, section, _ = run("--plugin=rules.py:Volumes", "--name=mine", "--namespace=team")
    pod = found["Deployment/mine"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == ["mooring", "extender"]
    assert container["args"] == [
        "--plugin=/etc/mooring-plugins/rules.py:Volumes",
        "--port=8443",
        "--tls-cert-file=/etc/mooring-tls/tls.crt",
        "--tls-private-key-file=/etc/mooring-tls/tls.key",
        "--v=2",
    ]
    assert {"name": "tls", "secret": {"secretName": "mine-tls"}} in pod["volumes"]
    assert found["Service/mine"]["spec"]["ports"][0]["port"] == 443
    assert (
        found["Service/mine"]["spec"]["selector"]
        == found["Deployment/mine"]["spec"]["selector"]["matchLabels"]
    )
    assert section["urlPrefix"] == "https://mine.team.svc"
    data = found["Secret/mine-tls"]["data"]
    assert section["tlsConfig"] == {"caData": data["ca.crt"]}
    certificate = x509.load_pem_x509_certificate(base64.b64decode(data["tls.crt"]))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "mine.team.svc" in names.get_values_for_type(x509.DNSName)
    assert b"PRIVATE KEY" in base64.b64decode(data["tls.key"])


def test_a_secret_of_the_cluster_takes_its_place(run: Any) -> None:
    found, section, _ = run("--plugin=rules.py:Volumes", "--tls-secret=issued")
    assert not [name for name in found if name.startswith("Secret/")]
    volumes = found["Deployment/mooring-extender"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "tls", "secret": {"secretName": "issued"}} in volumes
    assert "tlsConfig" not in section


def test_a_configuration_and_the_section_s_options_are_used(run: Any) -> None:
    found, section, warned = run(
        "--config=config.yaml", "--managed-resource=example.com/gpu:ignored", "--ignorable"
    )
    config = yaml.safe_load(found["ConfigMap/mooring-extender"]["data"]["config.yaml"])
    assert "kubeconfig" not in config["clientConnection"]
    assert "clientConnection.kubeconfig is left out" in warned
    (container,) = found["Deployment/mooring-extender"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][:2] == [
        "--config=/etc/mooring/config.yaml",
        "--managed-resource=example.com/gpu:ignored",
    ]
    assert (section["weight"], section["ignorable"]) == (4, True)


def test_one_replica_has_no_budget(run: Any) -> None:
    found, _, _ = run("--plugin=rules.py:Volumes", "--replicas=1")
    assert "PodDisruptionBudget/mooring-extender" not in found
    assert "strategy" not in found["Deployment/mooring-extender"]["spec"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--extender"], "no plugin to serve"),
        (["--extender", "--plugin=rules.py:Volumes", "--replicas=-1"], "must be 0 or more"),
        (["--ignorable"], "need --extender"),
        (["--tls-secret=issued"], "need --extender"),
    ],
)
def test_what_cannot_be_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["manifests", *arguments]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert said in output.err
