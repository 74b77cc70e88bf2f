"""`mooring schedule`."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring import Plugin
from mooring.cli import schedule
from mooring.cli.main import main
from mooring.cli.progress import ProgressLine

CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "9"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "9"}}
"""
PODS = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: small}
  spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: huge}
  spec: {containers: [{name: c, resources: {requests: {cpu: "9"}}}]}
"""
HUGE = (
    "0/2 nodes are available: 2 Insufficient cpu. preemption: "
    "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
)
PLUGIN = """\
from mooring import Plugin, Status


class Sample(Plugin):
    name = "sample"

    def filter(self, state, pod, node):
        if node.name != "n1":
            return Status.unschedulable(f"Node: {node.name}")


class Gang(Plugin):
    def permit(self, state, pod, node_name):
        return Status.wait(600)
"""
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {filter: {enabled: [%s]}}
"""

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    for name, text in {
        "cluster.yaml": CLUSTER,
        "pods.yaml": PODS,
        "plugins.py": PLUGIN,
        "with.yaml": CONFIG % "{name: sample}",
        "without.yaml": CONFIG % "",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(*options: str, **plugins: Any) -> int:
    return main(["schedule", "-f", "cluster.yaml", "-f", "pods.yaml", *options], **plugins)


def data(capsys: Output, *options: str, **plugins: Any) -> Any:
    assert run("-o", "json", *options, **plugins) == 0
    return json.loads(capsys.readouterr().out)


def nodes(report: Any) -> dict[str, str]:
    return {pod["name"]: pod["node"] for pod in report["pods"]}


def test_the_table_says_where_pods_go_and_why_not(capsys: Output) -> None:
    assert run("--plugin", "plugins.py:Sample") == 0
    out, err = capsys.readouterr()
    assert out == (
        "POD            NODE  RESULT\n"
        "default/small  n1    scheduled\n"
        "default/huge   -     pending\n"
        "\n"
        f"default/huge: {HUGE}\n"
        "\n"
        "2 nodes, 2 pending pods: 1 scheduled, 1 pending\n"
    )
    assert err == ""


def test_lines_are_broken_where_a_width_is_known(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run() == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    assert " ".join(out.split()).count(HUGE) == 1


def test_json_and_yaml_have_one_shape(capsys: Output) -> None:
    report = data(capsys)
    assert run("-o", "yaml") == 0
    assert yaml.safe_load(capsys.readouterr().out) == report
    assert report["summary"]["scheduled"] == 1
    assert report["pods"][1]["message"] == HUGE
    assert "explain" not in report


def test_a_seed_gives_the_same_choice_again(capsys: Output) -> None:
    choices = [nodes(data(capsys, "--seed", str(seed)))["small"] for seed in (*range(8), *range(8))]
    assert choices[:8] == choices[8:]
    assert set(choices) == {"n1", "n2"}


def test_pods_can_be_explained(capsys: Output) -> None:
    assert run("--explain", "default/small", "--explain", "huge") == 0
    out = capsys.readouterr().out
    assert "default/small, profile default-scheduler, attempt 1: scheduled to n" in out
    assert "default/huge, profile default-scheduler, attempt 1: unschedulable" in out
    report = data(capsys, "--explain", "huge")
    (found,) = report["explain"]
    (cause,) = found["whyNot"]
    assert (cause["nodes"], cause["plugin"]) == (2, "NodeResourcesFit")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("absent", "the manifests contain no such pod", id="no such pod"),
        pytest.param("twin", "there are several such pods: a/twin, b/twin", id="two pods"),
        pytest.param(
            "other", 'nothing schedules the pod: no profile serves schedulerName "x"', id="unserved"
        ),
        pytest.param("leaving", "nothing schedules the pod: it is being deleted", id="terminating"),
    ],
)
def test_a_pod_that_cannot_be_explained_is_an_error(
    name: str, message: str, folder: Path, capsys: Output
) -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: c}]%s}}"
    more = [
        pod % ("twin, namespace: a", ""),
        pod % ("twin, namespace: b", ""),
        pod % ("other", ", schedulerName: x"),
        pod % ('leaving, deletionTimestamp: "2024-01-01T00:00:00Z"', ""),
    ]
    (folder / "more.yaml").write_text("\n---\n".join(more), encoding="utf-8")
    assert run("-f", "more.yaml", "--explain", name) == 1
    assert capsys.readouterr() == ("", f"error: --explain {name}: {message}\n")


def test_a_pod_that_has_a_node_is_explained_as_if_it_had_none(folder: Path, capsys: Output) -> None:
    (folder / "there.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: there}, spec: {nodeName: n1,"
        ' containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}'
    )
    without = data(capsys, "-f", "there.yaml")
    report = data(capsys, "-f", "there.yaml", "--explain", "there")
    (found,) = report.pop("explain")
    assert (found["currentNode"], found["outcome"]) == ("n1", "scheduled")
    # It takes all of n1; without it, both nodes have room.
    assert found["feasible"] == [True, True]
    assert report == without
    assert run("-f", "there.yaml", "--explain", "there", "--explain", "huge") == 0
    out = capsys.readouterr().out
    assert "default/there is on n1. If it had no node:\n\ndefault/there, profile default-" in out
    assert data(capsys, "--explain", "huge")["explain"][0]["currentNode"] == ""


def test_pending_pods_are_a_failure_only_where_asked_for(folder: Path) -> None:
    assert run() == 0
    assert run("--fail-on-pending") == 3
    fits = PODS.replace('"9"', '"1"')
    (folder / "pods.yaml").write_text(fits, encoding="utf-8")
    assert run("--fail-on-pending") == 0


def test_without_a_config_a_plugin_runs(capsys: Output) -> None:
    for seed in range(8):
        options = ("--plugin", "plugins.py:Sample", "--seed", str(seed))
        assert nodes(data(capsys, *options))["small"] == "n1"


def test_with_a_config_a_plugin_runs_where_it_is_named(capsys: Output) -> None:
    assert run("--config", "with.yaml") == 1
    assert '"sample" is not registered' in capsys.readouterr().err
    options = ("--config", "with.yaml", "--plugin", "plugins.py:Sample")
    assert {nodes(data(capsys, *options, "--seed", str(s)))["small"] for s in range(8)} == {"n1"}


def test_a_plugin_that_no_profile_uses_is_warned_about(capsys: Output) -> None:
    options = ("--config", "without.yaml", "--plugin", "plugins.py:Sample")
    places = set()
    for seed in range(8):
        assert run("-o", "json", "--seed", str(seed), *options) == 0
        out, err = capsys.readouterr()
        assert err.startswith("warning: without.yaml: no profile uses plugin sample")
        places.add(nodes(json.loads(out))["small"])
    assert places == {"n1", "n2"}


def test_plugins_may_be_handed_over_in_code(capsys: Output) -> None:
    class OnlyFirst(Plugin):
        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> set[str]:
            return {"n2"}

    for seed in range(4):
        found = data(capsys, "--seed", str(seed), plugins=[OnlyFirst])
        assert nodes(found)["small"] == "n2"


def test_waiting_at_permit_takes_no_time(capsys: Output) -> None:
    report = data(capsys, "--plugin", "plugins.py:Gang")
    assert report["pods"][0]["result"] == "pending"
    assert report["pods"][0]["message"] == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 10m0s at plugin Gang."
    )


def test_extenders_are_warned_about(folder: Path, capsys: Output) -> None:
    text = CONFIG % "" + "extenders: [{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter}]\n"
    (folder / "extenders.yaml").write_text(text, encoding="utf-8")
    assert run("--config", "extenders.yaml") == 0
    assert "extenders: not called" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["-f", "absent.yaml"], "absent.yaml: No such file", id="no such file"),
        pytest.param(["-f", "plugins.py"], "plugins.py", id="no manifest"),
        pytest.param(["--config", "pods.yaml"], "pods.yaml", id="no configuration"),
        pytest.param(
            ["--plugin", "plugins.py:Absent"], "its plugins: Gang, Sample", id="no plugin"
        ),
        pytest.param(["--feature-gates", "Nope=true"], "Nope", id="no gate"),
    ],
)
def test_bad_input_is_an_error_and_nothing_else_is_printed(
    options: list[str], message: str, capsys: Output
) -> None:
    assert run(*options) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "method",
    [
        "def __init__(self, args=None, handle=None): raise ValueError('broken')",
        "def start(self): raise ValueError('broken')",
        "def events_to_register(self): raise ValueError('broken')",
    ],
)
def test_a_plugin_that_does_not_start_is_named(method: str, folder: Path, capsys: Output) -> None:
    text = f"from mooring import Plugin\n\n\nclass Bad(Plugin):\n    {method}\n"
    text += "    def filter(self, state, pod, node): return None\n"
    (folder / "bad.py").write_text(text, encoding="utf-8")
    assert run("--plugin", "bad.py:Bad") == 1
    err = capsys.readouterr().err
    assert err.startswith("error: plugin Bad: ")
    assert err.endswith("ValueError: broken\n")


def test_the_traceback_of_a_plugin_that_fails_is_shown(folder: Path, capsys: Output) -> None:
    text = (
        "from mooring import Plugin\n\n\nclass Bad(Plugin):\n"
        "    def filter(self, state, pod, node): return node.colour\n"
    )
    (folder / "bad.py").write_text(text, encoding="utf-8")
    assert run("--plugin", "bad.py:Bad") == schedule.PLUGIN_RAISED == 4
    out = capsys.readouterr().out
    assert "default/small  -     error" in out
    assert "bad.py" in out
    assert "  AttributeError: " in out


@pytest.mark.parametrize(
    "method",
    [
        "def pre_enqueue(self, pod)",
        "def reserve(self, state, pod, node_name)",
        "def post_bind(self, state, pod, node_name)",
    ],
)
def test_a_plugin_that_raises_anywhere_is_an_exit_status(method: str, folder: Path) -> None:
    text = f"from mooring import Plugin\n\n\nclass Bad(Plugin):\n    {method}: 1 / 0\n"
    (folder / "bad.py").write_text(text, encoding="utf-8")
    assert run("--plugin", "bad.py:Bad", "--fail-on-pending") == schedule.PLUGIN_RAISED


def test_a_plugin_that_raised_in_an_earlier_attempt_is_an_exit_status(folder: Path) -> None:
    text = (
        "from mooring import Plugin\n\n\nclass Bad(Plugin):\n    tried = 0\n"
        "    def filter(self, state, pod, node):\n"
        "        Bad.tried += 1\n        return 1 / 0 if Bad.tried == 1 else None\n"
        "    def post_bind(self, state, pod, node_name): ...\n"
    )
    (folder / "bad.py").write_text(text, encoding="utf-8")
    assert run("--plugin", "bad.py:Bad") == schedule.PLUGIN_RAISED


def test_a_syntax_error_is_said_with_its_place(folder: Path, capsys: Output) -> None:
    text = (
        "from mooring import Plugin\n\nclass Bad(Plugin):\n    def filter(self, state, pod, node)\n"
    )
    (folder / "syntax.py").write_text(text, encoding="utf-8")
    for command in (
        ["schedule", "-f", "cluster.yaml"],
        ["config", "validate", "with.yaml"],
        ["manifests"],
        ["up"],
    ):
        assert main([*command, "--plugin=syntax.py:Bad"]) == 1
        assert capsys.readouterr().err == "error: syntax.py:4:39: expected ':'\n"


def test_nothing_to_do(folder: Path, capsys: Output) -> None:
    assert main(["schedule", "-f", "cluster.yaml"]) == 0
    assert capsys.readouterr().out == "2 nodes, 0 pending pods\n"
    (folder / "empty.yaml").write_text("---\n", encoding="utf-8")
    assert main(["schedule", "-f", "empty.yaml", "-f", "pods.yaml"]) == 0
    assert "default/small: no nodes available to schedule pods" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_runs_show_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(ProgressLine, "PATIENCE", 0.0)
    monkeypatch.setattr(ProgressLine, "INTERVAL", 0.0)
    assert run() == 0
    assert "scheduling: 1 pods tried, 1 in the queue" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_results_are_coloured_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    assert run() == 0
    plain = capsys.readouterr().out
    terminal = Terminal()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr("sys.stdout", terminal)
    assert run() == 0
    assert "\x1b[32mscheduled\x1b[0m\n" in terminal.getvalue()
    assert "\x1b[33mpending\x1b[0m\n" in terminal.getvalue()
    assert re.sub(r"\x1b\[\d+m", "", terminal.getvalue()) == plain


def test_where_nobody_watches_no_progress_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(ProgressLine, "PATIENCE", 0.0)
    assert run() == 0
    assert capsys.readouterr().err == ""


def test_an_attempt_that_fails_is_in_the_report_and_not_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "raising.py").write_text(
        "from mooring import Plugin\n"
        "class Raising(Plugin):\n"
        "    def pre_bind(self, state, pod, node_name):\n"
        "        raise ValueError('boom')\n"
    )
    command = "import sys; from mooring.cli.main import main; sys.exit(main())"
    files = ("-f", "cluster.yaml", "-f", "pods.yaml")
    done = subprocess.run(
        [sys.executable, "-c", command, "schedule", *files, "--plugin", "raising.py:Raising"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == schedule.PLUGIN_RAISED
    assert "ValueError: boom" in done.stdout
    assert done.stderr == ""


GANG = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: gang}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
apiVersion: v1
kind: Pod
metadata: {name: gang-0}
spec:
  schedulingGroup: {podGroupName: gang}
  containers: [{name: c, resources: {requests: {cpu: "2"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: gang-1}
spec:
  schedulingGroup: {podGroupName: gang}
  containers: [{name: c, resources: {requests: {cpu: "1"}}}]
"""
GATE = "--feature-gates=GenericWorkload=true"


def test_a_pod_of_a_group_is_explained_by_the_attempts_of_the_group(
    folder: Path, capsys: Output
) -> None:
    (folder / "gang.yaml").write_text(GANG.replace('"1"', '"3"'))
    assert run("-f", "gang.yaml", GATE, "--explain", "gang-1") == 0
    out = capsys.readouterr().out
    assert "default/gang-1, pod group default/gang, attempt 1: unschedulable\n" in out
    assert "all nodes: default/gang-1: 0/2 nodes are available: 2 Insufficient cpu." in out
    (found,) = data(capsys, "-f", "gang.yaml", GATE, "--explain", "gang-1")["explain"]
    assert (found["name"], found["podGroup"]["name"]) == ("gang-1", "gang")
    assert found["podGroup"]["placements"][0]["fits"] is False


def test_a_pod_of_a_group_that_has_a_node_is_explained_in_its_group(
    folder: Path, capsys: Output
) -> None:
    placed = GANG.replace("  schedulingGroup", "  nodeName: n1\n  schedulingGroup")
    (folder / "gang.yaml").write_text(placed)
    report = data(capsys, "-f", "gang.yaml", GATE, "--explain", "gang-0")
    (found,) = report["explain"]
    assert found["currentNode"] == "n1"
    (placement,) = found["podGroup"]["placements"]
    assert [pod["name"] for pod in placement["pods"]] == ["gang-0"]


TREE = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: job}
spec: {schedulingPolicy: {gang: {minGroupCount: 2}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: other}
spec: {parentCompositePodGroupName: job, schedulingPolicy: {basic: {}}}
---
apiVersion: v1
kind: Pod
metadata: {name: other-0}
spec:
  schedulingGroup: {podGroupName: other}
  containers: [{name: c, resources: {requests: {cpu: "CPU"}}}]
---
""" + GANG.replace("spec: {scheduling", "spec: {parentCompositePodGroupName: job, scheduling")
TREES = f"{GATE},TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"


def test_a_pod_of_a_tree_is_explained_with_all_groups(folder: Path, capsys: Output) -> None:
    (folder / "tree.yaml").write_text(TREE.replace("CPU", "9"))
    assert run("-f", "tree.yaml", TREES, "--explain", "gang-1") == 0
    out = capsys.readouterr().out
    whose = "default/gang-1, pod group default/gang of composite pod group default/job"
    assert f"{whose}, attempt 1: unschedulable\n" in out
    assert "\nGROUP    NEEDS  PLACED " in out
    assert "\n  gang   2      2 of 2 pods    all nodes  fits\n" in out
    assert "\n  other  1      0 of 1 pods " in out
    assert "other: default/other-0: 0/2 nodes are available: 2 Insufficient cpu." in out
    (found,) = data(capsys, "-f", "tree.yaml", TREES, "--explain", "gang-1")["explain"]
    assert (found["name"], found["podGroup"]["name"]) == ("gang-1", "gang")
    tree = found["podGroup"]["tree"]
    assert (tree["name"], tree["minGroupCount"], tree["fits"]) == ("job", 2, False)
    parts = {one["name"]: one["fits"] for one in tree["placements"][0]["groups"]}
    assert parts == {"gang": True, "other": False}


def test_a_tree_of_manifests_is_placed_and_its_pods_can_be_asked_about_afterwards(
    folder: Path, capsys: Output
) -> None:
    (folder / "tree.yaml").write_text(TREE.replace("CPU", "0"))
    report = data(capsys, "-f", "tree.yaml", TREES)
    results = {pod["name"]: pod["result"] for pod in report["pods"]}
    assert [results[name] for name in ("gang-0", "gang-1", "other-0")] == ["scheduled"] * 3
    placed = TREE.replace("CPU", "0").replace("  schedulingG", "  nodeName: n1\n  schedulingG")
    (folder / "tree.yaml").write_text(placed)
    (found,) = data(capsys, "-f", "tree.yaml", TREES, "--explain", "other-0")["explain"]
    assert found["currentNode"] == "n1"
    (top,) = found["podGroup"]["tree"]["placements"]
    assert [one["fits"] for one in top["groups"]] == [True, True]


def test_a_gated_pod_of_a_group_says_what_it_waits_for(folder: Path, capsys: Output) -> None:
    (folder / "gang.yaml").write_text(GANG.replace("minCount: 2", "minCount: 3"))
    (found,) = data(capsys, "-f", "gang.yaml", GATE, "--explain", "gang-0")["explain"]
    assert found["preEnqueue"]["reasons"] == [
        "waiting for minCount pods from a gang to appear in scheduling queue"
    ]
