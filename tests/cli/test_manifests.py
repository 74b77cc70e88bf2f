"""`mooring manifests`: what it prints, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.cli.main import main
from mooring.cli.scheduler_deployment import CONFIG_MAP_LIMIT

ROOT = Path(__file__).resolve().parents[2]
V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLUGIN = """\
from mooring import Plugin, Status

class OnlyGpuNodes(Plugin):
    \"\"\"Keep pods on nodes with a GPU.\"\"\"

    def filter(self, state, pod, node):
        return None
"""

Printed = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a directory that contains a plugin."""
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(PLUGIN)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs the command; it returns objects by kind and name, warnings."""

    def call(*arguments: str) -> tuple[Printed, str]:
        status = main(["manifests", *arguments])
        output = capsys.readouterr()
        assert status == 0, output.err
        found = list(yaml.safe_load_all(output.out))
        return {(one["kind"], one["metadata"]["name"]): one for one in found}, output.err

    return call


@pytest.fixture
def fail(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs the command, which must fail; it returns the message."""

    def call(*arguments: str) -> str:
        assert main(["manifests", *arguments]) == 1
        output = capsys.readouterr()
        assert output.out == ""
        return output.err

    return call


def config_of(found: Printed, name: str = "mooring") -> Any:
    return yaml.safe_load(found["ConfigMap", name]["data"]["config.yaml"])


def container_of(found: Printed, name: str = "mooring") -> Any:
    (container,) = found["Deployment", name]["spec"]["template"]["spec"]["containers"]
    return container


def test_the_manifests_of_the_repository_are_those_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["manifests"]) == 0
    printed = capsys.readouterr().out
    kept = (ROOT / "deploy" / "manifests" / "mooring.yaml").read_text()
    assert printed == kept, "mooring manifests > deploy/manifests/mooring.yaml"


def test_everything_follows_the_name(run: Any) -> None:
    found, _ = run("--name=my-scheduler", "--namespace=team", "--image=example/image:1")
    assert {name for _, name in found} == {
        "my-scheduler",
        "my-scheduler-leader-election",
        "my-scheduler-authentication-reader",
    }
    assert config_of(found, "my-scheduler")["profiles"] == [{"schedulerName": "my-scheduler"}]
    assert config_of(found, "my-scheduler")["leaderElection"] == {
        "leaderElect": True,
        "resourceName": "my-scheduler",
        "resourceNamespace": "team",
    }
    role = found["Role", "my-scheduler-leader-election"]
    assert role["metadata"]["namespace"] == "team"
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, ["my-scheduler"], None]
    reader = found["RoleBinding", "my-scheduler-authentication-reader"]
    assert reader["metadata"]["namespace"] == "kube-system"
    for binding in ("my-scheduler-authentication-reader", "my-scheduler-leader-election"):
        (subject,) = found["RoleBinding", binding]["subjects"]
        assert subject == {"kind": "ServiceAccount", "name": "my-scheduler", "namespace": "team"}
    assert container_of(found, "my-scheduler")["image"] == "example/image:1"
    pod = found["Deployment", "my-scheduler"]["spec"]["template"]["spec"]
    assert "priorityClassName" not in pod


def test_plugins_of_the_family_may_read_what_they_need(run: Any) -> None:
    plugins = "{multiPoint: {enabled: [{name: CapacityScheduling}]}}"
    Path("config.yaml").write_text(f"{V1}profiles: [{{plugins: {plugins}}}]\n")
    found, said = run("--config=config.yaml", "--controllers")
    (profile,) = config_of(found)["profiles"]
    assert profile["pluginConfig"] == [
        {"name": "CapacityScheduling", "args": {"podRequests": "Scheduler"}}
    ]
    assert "config.yaml: CapacityScheduling gets podRequests: Scheduler; set podRequests:" in said
    args = container_of(found, "mooring-controllers")["args"]
    assert "--elastic-quota-pod-requests=Scheduler" in args
    last = found["ClusterRole", "mooring"]["rules"][-1]
    assert (last["apiGroups"], last["resources"]) == (["scheduling.x-k8s.io"], ["elasticquotas"])


@pytest.mark.parametrize("mode", ["Containers", "Scheduler"])
def test_pod_requests_of_the_configuration_stay(run: Any, mode: str) -> None:
    plugins = "{multiPoint: {enabled: [{name: CapacityScheduling}]}}"
    args = f"[{{name: CapacityScheduling, args: {{podRequests: {mode}}}}}]"
    Path("config.yaml").write_text(
        f"{V1}profiles: [{{plugins: {plugins}, pluginConfig: {args}}}]\n"
    )
    found, said = run("--config=config.yaml", "--controllers")
    assert said == ""
    (profile,) = config_of(found)["profiles"]
    assert profile["pluginConfig"][0]["args"] == {"podRequests": mode}
    args = container_of(found, "mooring-controllers")["args"]
    assert f"--elastic-quota-pod-requests={mode}" in args


def test_controllers_have_objects_of_their_own(run: Any, fail: Any) -> None:
    alone, _ = run("--name=mine", "--namespace=team")
    found, _ = run("--name=mine", "--namespace=team", "--controllers")
    assert {key: found[key] for key in alone} == alone
    assert {name for key, name in found if (key, name) not in alone} == {
        "mine-controllers",
        "mine-controllers-leader-election",
        "mine-controllers-authentication-reader",
    }
    container = container_of(found, "mine-controllers")
    assert container["command"] == ["mooring", "controllers"]
    assert container["args"][:2] == [
        "--leader-elect-resource-name=mine-controllers",
        "--leader-elect-resource-namespace=team",
    ]
    role = found["Role", "mine-controllers-leader-election"]
    assert role["rules"][1]["resourceNames"] == ["mine-controllers"]
    assert "at most 51 characters" in fail("--controllers", f"--name={'n' * 52}")


def test_a_plugin_is_mounted_and_enabled(run: Any) -> None:
    found, said = run("--plugin=rules.py", "--plugin=mooring.contrib.samples.name_score:NameScore")
    assert said == ""
    assert found["ConfigMap", "mooring-plugins"]["data"] == {"rules.py": PLUGIN}
    (profile,) = config_of(found)["profiles"]
    enabled = profile["plugins"]["multiPoint"]["enabled"]
    assert enabled == [{"name": "OnlyGpuNodes"}, {"name": "NameScore"}]
    container = container_of(found)
    assert container["args"][1:3] == [
        "--plugin=/etc/mooring-plugins/rules.py:OnlyGpuNodes",
        "--plugin=mooring.contrib.samples.name_score:NameScore",
    ]
    mount = {"name": "plugins", "mountPath": "/etc/mooring-plugins", "readOnly": True}
    assert mount in container["volumeMounts"]


def test_what_a_plugin_imports_from_its_folder_is_mounted_with_it(
    run: Any, fail: Any, folder: Path
) -> None:
    (folder / "limits.py").write_text("LIMIT = 3\n")
    (folder / "rules.py").write_text("import limits\n" + PLUGIN)
    found, _ = run("--plugin=rules.py")
    data = found[("ConfigMap", "mooring-plugins")]["data"]
    assert data == {"rules.py": "import limits\n" + PLUGIN, "limits.py": "LIMIT = 3\n"}
    assert "use --plugin rules.py:OnlyGpuNodes" in fail("--plugin=rules:OnlyGpuNodes")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").touch()
    (folder / "rules.py").write_text("import package\n" + PLUGIN)
    assert "imports package/__init__.py, and a ConfigMap holds no folders" in fail(
        "--plugin=rules.py"
    )


def test_a_plugin_that_changes_rolls_the_deployment(run: Any, folder: Path) -> None:
    def checksum() -> str:
        found, _ = run("--plugin=rules.py:OnlyGpuNodes")
        template = found["Deployment", "mooring"]["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    before = checksum()
    assert checksum() == before
    (folder / "rules.py").write_text(PLUGIN.replace("return None", "pass"))
    assert checksum() != before


@pytest.mark.parametrize(
    ("text", "names", "lease"),
    [
        pytest.param("", ["mine"], "mine", id="nothing is named"),
        pytest.param("profiles:\n- {}\n", ["mine"], "mine", id="a profile without a name"),
        pytest.param(
            "profiles:\n- schedulerName: red\nleaderElection:\n  resourceName: lock\n",
            ["red"],
            "lock",
            id="all is named",
        ),
        pytest.param(
            "profiles:\n- schedulerName: red\n- schedulerName: blue\n",
            ["red", "blue"],
            "mine",
            id="two profiles",
        ),
    ],
)
def test_a_file_is_kept_as_it_is_written(run: Any, text: str, names: list[str], lease: str) -> None:
    Path("config.yaml").write_text(V1 + "podMaxBackoffSeconds: 30\n" + text)
    found, said = run("--name=mine", "--config=config.yaml")
    config = config_of(found, "mine")
    assert said == ""
    assert config["podMaxBackoffSeconds"] == 30
    assert [profile["schedulerName"] for profile in config["profiles"]] == names
    assert config["leaderElection"]["resourceName"] == lease
    role = found["Role", "mine-leader-election"]
    assert role["rules"][1]["resourceNames"] == [lease]
    assert set(config) == {
        "apiVersion",
        "kind",
        "leaderElection",
        "podMaxBackoffSeconds",
        "profiles",
    }


def test_an_old_version_becomes_v1(run: Any) -> None:
    Path("config.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1alpha1\n"
        "kind: KubeSchedulerConfiguration\n"
        "schedulerName: old\n"
        "clientConnection:\n  kubeconfig: /etc/kubernetes/scheduler.conf\n"
        "leaderElection:\n  lockObjectName: old-lock\n  lockObjectNamespace: team\n"
    )
    found, said = run("--name=mine", "--config=config.yaml")
    config = config_of(found, "mine")
    assert config["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert [profile["schedulerName"] for profile in config["profiles"]] == ["old"]
    assert config["leaderElection"]["resourceName"] == "old-lock"
    assert found["Role", "mine-leader-election"]["metadata"]["namespace"] == "team"
    assert "kubeconfig" not in config["clientConnection"]
    assert "config.yaml: clientConnection.kubeconfig is left out" in said
    assert "deprecated" in said
    assert "its v1 form" not in said


def test_a_plugin_that_no_profile_uses_is_warned_about(run: Any) -> None:
    Path("config.yaml").write_text(V1)
    _, said = run("--config=config.yaml", "--plugin=rules.py")
    assert said == (
        "warning: config.yaml: no profile uses plugin OnlyGpuNodes: name it in `plugins`, "
        "or leave --config out\n"
    )


def test_without_leader_election_there_is_one(run: Any) -> None:
    Path("config.yaml").write_text(V1 + "leaderElection:\n  leaderElect: false\n")
    found, _ = run("--config=config.yaml")
    spec = found["Deployment", "mooring"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert {kind for kind, _ in found}.isdisjoint({"Role", "PodDisruptionBudget"})


def test_one_that_stands_by_with_empty_caches_is_ready(run: Any) -> None:
    Path("config.yaml").write_text(V1 + "delayCacheUntilActive: true\n")
    found, _ = run("--config=config.yaml")
    probe = container_of(found)["readinessProbe"]["httpGet"]
    assert probe["path"] == "/readyz?exclude=sched-handler-sync"


@pytest.mark.parametrize(
    ("size", "server_side"),
    [
        pytest.param(100_000, False, id="as much as kubectl apply keeps"),
        pytest.param(CONFIG_MAP_LIMIT, True, id="as much as a ConfigMap holds"),
    ],
)
def test_a_large_plugin_fits(run: Any, size: int, server_side: bool) -> None:
    Path("rules.py").write_text(PLUGIN + "#" * (size - len(PLUGIN)))
    found, said = run("--plugin=rules.py")
    assert len(found["ConfigMap", "mooring-plugins"]["data"]["rules.py"]) == size
    assert ("kubectl apply --server-side" in said) == server_side


def test_a_plugin_that_is_too_large_is_refused(fail: Any) -> None:
    Path("rules.py").write_text(PLUGIN + "#" * CONFIG_MAP_LIMIT)
    assert fail("--plugin=rules.py") == (
        f"error: the plugins' files have {CONFIG_MAP_LIMIT + len(PLUGIN)} bytes, and a ConfigMap "
        "holds 1048576: build an image that has them\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(
            ["--name=My_Scheduler"], "--name=My_Scheduler: must be a DNS label", id="name"
        ),
        pytest.param([f"--name={'a' * 53}"], "at most 52", id="a name that is too long"),
        pytest.param(["--namespace=-"], "--namespace=-: must be a DNS label", id="namespace"),
        pytest.param(["--config=none.yaml"], "none.yaml: No such file", id="no such file"),
        pytest.param(["--config=bad.yaml"], "bad.yaml:3:1: ", id="a mistake, with its place"),
        pytest.param(["--plugin=none.py"], "plugin none.py: no such file", id="no such plugin"),
        pytest.param(["--plugin=two.py"], "found A, B; name one: two.py:Class", id="two plugins"),
        pytest.param(["--plugin=empty.py"], "expected one plugin in the file", id="no plugin"),
        pytest.param(["--plugin=a b.py"], "must consist of letters", id="a name that is no key"),
        pytest.param(
            ["--plugin=rules.py", "--plugin=other/rules.py:Other"],
            "another file has the name rules.py too",
            id="two files of one name",
        ),
        pytest.param(["--replicas=-1"], "--replicas=-1", id="fewer than none"),
        pytest.param(
            ["--config=alone.yaml", "--replicas=2"],
            "--replicas=2: without leader election each replica would schedule every pod",
            id="two that do not know of each other",
        ),
    ],
)
def test_what_cannot_be_is_refused(fail: Any, arguments: list[str], said: str) -> None:
    Path("bad.yaml").write_text(V1 + "podMaxBackofSeconds: 3\n")
    Path("alone.yaml").write_text(V1 + "leaderElection:\n  leaderElect: false\n")
    Path("two.py").write_text(PLUGIN.replace("OnlyGpuNodes", "A") + "class B(A):\n    name = 'b'\n")
    Path("empty.py").write_text("from mooring import Plugin\n")
    Path("a b.py").write_text(PLUGIN)
    Path("other").mkdir()
    Path("other/rules.py").write_text(PLUGIN.replace("OnlyGpuNodes", "Other"))
    assert said in fail(*arguments)


def test_the_pod_meets_the_restricted_standard(run: Any) -> None:
    found, _ = run()
    spec = found["Deployment", "mooring"]["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    container = container_of(found)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert {probe["httpGet"]["scheme"] for key, probe in container.items() if "Probe" in key} == {
        "HTTPS"
    }
