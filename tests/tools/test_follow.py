"""The report about a release, from facts and recordings; Go is not needed here."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tools.follow import __main__ as command
from tools.follow import decisions, report
from tools.follow.decisions import DECISION, SCORE, TEXT, Change
from tools.follow.facts import Facts, api_packages, configuration_fields, read_fields, texts
from tools.recorder import running

VECTORS = Path(__file__).parents[1] / "conformance" / "vectors"
PAGE = Path(__file__).parents[2] / "docs" / "releases.md"

SCORES = {"A": {"n1": {"raw": 1, "normalized": 1, "weight": 1}}}
ENTRY: dict[str, Any] = {
    "outcome": "scheduled",
    "feasible": ["n1"],
    "best": ["n1"],
    "chosen": "n1",
    "filter": {"n1": None, "n2": {"code": "Unschedulable", "plugin": "P", "reasons": ["no"]}},
    "preFilter": {"status": None, "nodeNames": None},
    "scores": SCORES,
    "message": "",
    "preemption": {"status": {"reasons": []}, "nominatedNode": ""},
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(ENTRY), **fields}


@pytest.mark.parametrize(
    ("now", "kind", "plugins"),
    [
        pytest.param(
            changed(feasible=["n1", "n2"], filter={"n1": None, "n2": None}),
            DECISION,
            ("P",),
            id="a node that passes now: its former plugin",
        ),
        pytest.param(
            changed(best=["n2"], scores={"B": {"n1": {"raw": 5, "normalized": 5, "weight": 1}}}),
            DECISION,
            ("A", "B"),
            id="another best node: the plugins that score otherwise",
        ),
        pytest.param(
            changed(scores={"A": {"n1": {"raw": 2, "normalized": 2, "weight": 1}}}),
            SCORE,
            ("A",),
            id="another score",
        ),
        pytest.param(
            changed(
                filter={
                    "n1": None,
                    "n2": {"code": "Unschedulable", "plugin": "", "reasons": ["not [P Q]"]},
                }
            ),
            TEXT,
            ("P", "Q"),
            id="a node that PreFilter leaves out: the plugins that the text names",
        ),
        pytest.param(
            changed(
                message="no. preemption: x",
                preemption={"status": {"reasons": ["preemption: x"]}, "nominatedNode": ""},
            ),
            TEXT,
            ("DefaultPreemption",),
            id="a sentence about preemption",
        ),
        pytest.param(changed(plugins={"filter": ["X"]}), "plugins", ("framework",), id="a list"),
    ],
)
def test_a_change_has_a_kind_and_plugins(
    now: dict[str, Any], kind: str, plugins: tuple[str, ...]
) -> None:
    found = decisions.change("one", ENTRY, now)
    assert found is not None
    assert (found.kind, found.plugins) == (kind, plugins)


def test_nothing_changed() -> None:
    assert decisions.change("one", ENTRY, copy.deepcopy(ENTRY)) is None


def test_of_a_sequence_the_first_decision_counts() -> None:
    texts_differ = changed(message="other")
    before = {"sequence": [ENTRY, ENTRY]}
    now = {"sequence": [texts_differ, changed(chosen="n2")]}
    found = decisions.change("one", before, now)
    assert found is not None
    assert (found.kind, found.first) == (DECISION, "chosen: 'n1', 'n2'")


def test_refused_scenarios_are_not_compared() -> None:
    before = [{"scenario": {"name": "one"}, "expected": ENTRY}]
    now = [{"scenario": {"name": "one"}, "failed": "unrecognized feature gate: X"}]
    assert list(decisions.changes(before, now)) == []
    assert decisions.refusals(now) == {"one": "unrecognized feature gate: X"}


def gate(stage: str, *, default: bool, locked: bool = False) -> dict[str, Any]:
    return {"stage": stage, "default": default, "locked": locked}


def facts(release: str, **said: Any) -> Facts:
    """Return the facts of a release that has little."""
    gated = {
        "configuration": {"profiles": [{"plugins": [{"name": "A", "weight": 1}, {"name": "B"}]}]},
        "plugins": {"filter": ["A", "B"]},
        "weights": {"A": 1},
        "rights": ["role: get pods"],
    }
    base = {"flags": {}, "gates": {}, "registry": ["A", "B"], **gated, "allGates": gated}
    return Facts(
        release,
        {**base, **said},
        {"metrics": {}, "texts": {}, "selectors": ["Read"]},
        {"Args": {"weight": "int32"}},
        frozenset({"core.v1 PodSpec.nodeName"}),
    )


def test_equal_releases_have_nothing_to_report() -> None:
    text = report.report(facts("v1.1.0"), facts("v1.2.0"), [], {})
    assert text.startswith("## Kubernetes v1.2.0 against v1.1.0\n\n### Feature gates\n\nNothing")
    assert text.count(report.NOTHING) == 10


def test_gates_that_the_scheduler_reads_come_first() -> None:
    before = facts(
        "v1", gates={"Read": gate("ALPHA", default=False), "Gone": gate("GA", default=True)}
    )
    now = facts(
        "v2", gates={"Read": gate("BETA", default=True), "New": gate("ALPHA", default=False)}
    )
    assert list(report.gates(before, now)) == [
        "- others, added: `New (ALPHA, off)`",
        "- others, removed: `Gone`",
        "",
        "| gate | before | now | the scheduler reads it |",
        "|---|---|---|---|",
        "| Read | ALPHA, off | BETA, on | yes |",
    ]


def test_metrics_are_compared() -> None:
    one = {"kind": "Counter", "labels": ["a"], "stability": "ALPHA", "deprecated": "", "help": "x"}
    before = {"gone": one, "kept": one}
    now = {"kept": {**one, "stability": "BETA"}, "new": one}
    assert list(report.metrics(before, now)) == [
        "- added: `new{a}`, counter, ALPHA",
        "- removed: `gone`",
        "- `kept`: stability: 'ALPHA', 'BETA'",
    ]


def test_flags_and_fields_are_compared() -> None:
    flag = {"type": "string", "default": "", "deprecated": ""}
    assert list(report.flags({"a": flag}, {"a": {**flag, "default": "x"}, "b": flag})) == [
        "- added: `b`",
        "- `a`: default: '', 'x'",
    ]
    assert list(report.fields({"A": {"x": "int"}}, {"A": {"x": "bool", "y": "int"}})) == [
        "- added: `A.y`",
        "- `A.x`: int, bool",
    ]


def test_the_order_of_plugins_is_compared() -> None:
    now = facts("v2", plugins={"filter": ["B", "A"], "score": ["C"]}, registry=["A", "B", "C"])
    assert list(report.plugins(facts("v1").said, now.said)) == [
        "- added: `C`",
        "- `filter`: the order is B, A",
        "- `score`: added C",
    ]


def test_defaults_are_compared_by_name() -> None:
    changed_order = {"profiles": [{"plugins": [{"name": "B"}, {"name": "A", "weight": 1}]}]}
    now = facts("v2", configuration=changed_order)
    assert list(report.defaults(facts("v1").said, now.said)) == [
        "- profiles/0/plugins: 'A 1 B', 'B A 1'"
    ]


def test_rights_of_a_gate_are_told_apart() -> None:
    before = facts("v1")
    now = facts("v2", rights=["role: get pods", "role: get nodes"])
    now.said["allGates"] = {
        **now.said["allGates"],
        "rights": ["role: get pods", "role: get groups"],
    }
    assert list(report.rights(before.said, now.said)) == [
        "- added: `role: get nodes`",
        "- added with a gate: `role: get groups`",
    ]


def test_a_text_that_moved_is_not_new() -> None:
    before = {"plugins/a": {"moved", "gone"}}
    now = {"plugins/b": {"moved", "new  text"}}
    assert list(report.spoken(before, now)) == [
        "- plugins/a",
        "    - gone: `gone`",
        "- plugins/b",
        "    - new: `new text`",
    ]


def test_texts_of_the_allocators_are_one() -> None:
    made = facts("v1")
    made.found["texts"] = {
        "dynamic-resource-allocation/structured/internal/stable": ["a"],
        "dynamic-resource-allocation/structured/internal/experimental": ["a", "b"],
        "scheduler/backend/queue": ["log only"],
        "component-base/x": ["not spoken"],
    }
    assert texts(made) == {"dynamic-resource-allocation/structured": {"a", "b"}}


def test_decisions_are_counted_by_plugin() -> None:
    found = [
        Change("one", DECISION, ("A",), ""),
        Change("two", SCORE, ("A", "B"), ""),
        Change("three", TEXT, ("B",), ""),
    ]
    assert list(report.decided(found, {"four": "no such gate"})) == [
        "| plugin | decisions | scores alone | texts alone |",
        "|---|---|---|---|",
        "| A | 1 | 1 | 0 |",
        "| B | 0 | 1 | 1 |",
        "",
        "- A: `one`",
        "- `four` is refused: no such gate",
    ]


def test_fields_are_read_from_go_types(tmp_path: Path) -> None:
    core, meta = tmp_path / "api" / "core" / "v1", tmp_path / "meta" / "pkg/apis/meta/v1"
    for folder in (core, meta):
        folder.mkdir(parents=True)
    (core / "types.go").write_text(
        'package v1\n\ntype Pod struct {\n\tSpec PodSpec `json:"spec,omitempty"`\n}\n\n'
        'type PodSpec struct {\n\tNodeName string `json:"nodeName"`\n'
        '\tUnread string `json:"unread"`\n}\n\n'
        'type Secret struct {\n\tNodeName string `json:"nodeName"`\n}\n'
    )
    packages = api_packages(tmp_path / "api", tmp_path / "meta")
    assert read_fields(packages, {"Spec", "NodeName"}) == {
        "core.v1 Pod.spec",
        "core.v1 PodSpec.nodeName",
    }


def test_fields_of_the_configuration_are_read_from_go_types(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "v1"
    folder.mkdir(parents=True)
    (folder / "types.go").write_text(
        'package v1\n\ntype Args struct {\n\tmetav1.TypeMeta `json:""`\n\n'
        '\tWeight *int32 `json:"weight,omitempty"`\n}\n'
    )
    assert configuration_fields(tmp_path, tmp_path / "none") == {
        "Args": {"kind": "string", "apiVersion": "string", "weight": "int32"}
    }


def test_the_newest_recording_is_compared_with(tmp_path: Path) -> None:
    for name in ("1.36.4", "1.9.0", "1.37.1"):
        (tmp_path / name).mkdir()
    assert command.newest(tmp_path, "v1.38.0") == "1.37.1"
    assert command.newest(tmp_path, "1.37.1") == "1.36.4"


def test_what_is_no_release_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--release", "next"]) == 1
    assert capsys.readouterr().err == "follow: 'next' is not a release such as v1.37.1\n"


def test_the_page_lists_every_scenario_whose_decision_changed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before = running.read_folder(VECTORS / "1.36.4")
    found = [
        change
        for group, lines in before.items()
        for change in decisions.changes(
            running.rows(lines), running.rows(running.read_lines(VECTORS / "1.37.1", group))
        )
    ]
    names = [one.name for one in found if one.kind == DECISION]
    assert len(names) > 20
    assert [name for name in names if f"`{name}`" not in page] == []
    assert "\n".join(report.decided(found, {})) in page
