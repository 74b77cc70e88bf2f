from __future__ import annotations

import copy
from typing import Any

import pytest

from mooring.apiserver.validation import check_create, check_update
from mooring.apiserver.validation.pod_groups import RULES, check_group_rules
from tests.apiserver.api_server import GROUP_GATES
from tests.apiserver.validation.objects import Object, made, merged, texts

BETA, ALPHA = "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"
GANG: Object = {"gang": {"minCount": 2}}
REFERENCE = {"workloadName": "w", "templateName": "t"}
FIXED = "Invalid value: null: field is immutable"


def _all(kind: str, obj: Object, old: Object | None = None, part: str = "") -> list[str]:
    """Return what is wrong with an object, by the checks of its kind and by its rules."""
    version = obj["apiVersion"]
    if old is None:
        problems = check_create(version, kind, obj)
    else:
        problems = check_update(version, kind, obj, old, part)
    return texts([*problems, *check_group_rules(kind, obj, old, GROUP_GATES)])


def _group(**spec: Any) -> Object:
    return made(BETA, "PodGroup", spec={"schedulingPolicy": GANG, **spec})


def _composite(**spec: Any) -> Object:
    base = {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "workloadRef": REFERENCE}
    return made(ALPHA, "CompositePodGroup", spec=base | spec)


def _template(name: str, **more: Any) -> Object:
    return {"name": name, "schedulingPolicy": {"basic": {}}, **more}


def _workload(*templates: Object, trees: tuple[Object, ...] = (), **spec: Any) -> Object:
    if templates:
        spec["podGroupTemplates"] = list(templates)
    if trees:
        spec["compositePodGroupTemplates"] = list(trees)
    return made(BETA, "Workload", spec=spec)


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        pytest.param({}, [], id="a gang"),
        pytest.param({"schedulingPolicy": {"basic": {}}, "workloadRef": REFERENCE}, [], id="basic"),
        pytest.param(
            {"schedulingPolicy": {}},
            [
                'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
            ],
            id="no policy",
        ),
        pytest.param(
            {"schedulingPolicy": {"gang": {}}},
            ["spec.schedulingPolicy.gang.minCount: Required value"],
            id="a gang of nobody",
        ),
        pytest.param(
            {"disruptionMode": {}},
            ['spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`'],
            id="no mode of disruption",
        ),
        pytest.param(
            {"parentCompositePodGroupName": "p"},
            [
                "spec.workloadRef: Required value: must be set when "
                "parentCompositePodGroupName is set"
            ],
            id="a parent without a workload",
        ),
        pytest.param(
            {"parentCompositePodGroupName": "P", "workloadRef": {"workloadName": "w"}},
            [
                'spec.parentCompositePodGroupName: Invalid value: "P": <subdomain>',
                "spec.workloadRef.templateName: Required value",
            ],
            id="references",
        ),
        pytest.param(
            {"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}},
            ["spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item"],
            id="two topologies",
        ),
        pytest.param(
            {"schedulingConstraints": {"topology": [{"key": "a b"}]}},
            ['spec.schedulingConstraints.topology[0].key: Invalid value: "a b": <qualified name>'],
            id="a topology that is no label",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "a"}, {"name": "a", "resourceClaimName": "x"}]},
            [
                'spec.resourceClaims[1]: Duplicate value: {"name":"a","resourceClaimName":"x"}',
                'spec.resourceClaims[0]: Invalid value: "": must specify one of: '
                "`resourceClaimName`, `resourceClaimTemplateName`",
            ],
            id="claims",
        ),
        pytest.param(
            {"priority": 2_000_000_000, "priorityClassName": "A", "preemptionPolicy": "Often"},
            [
                'spec.priorityClassName: Invalid value: "A": <subdomain>',
                "spec.priority: Invalid value: 2000000000: must be less than or equal to "
                "1000000000",
                'spec.preemptionPolicy: Unsupported value: "Often": supported values: "Never", '
                '"PreemptLowerPriority"',
            ],
            id="priorities",
        ),
    ],
)
def test_a_new_group(spec: Object, problems: list[str]) -> None:
    assert _all("PodGroup", _group(**spec)) == problems


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        pytest.param({"schedulingPolicy": {"gang": {"minCount": 5}}}, [], id="minCount"),
        pytest.param(
            {"schedulingPolicy": {"gang": None, "basic": {}}},
            [
                f"spec.schedulingPolicy.basic: {FIXED}",
                "spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set",
            ],
            id="another policy",
        ),
        pytest.param(
            {"disruptionMode": {"single": None, "all": {}}},
            [f"spec.disruptionMode: {FIXED}"],
            id="the mode of disruption",
        ),
        pytest.param(
            {"priority": 1, "priorityClassName": "x", "preemptionPolicy": "Never"},
            [
                f"spec.priorityClassName: {FIXED}",
                f"spec.priority: {FIXED}",
                f"spec.preemptionPolicy: {FIXED}",
            ],
            id="priorities",
        ),
        pytest.param(
            {"parentCompositePodGroupName": "p"},
            [f"spec.parentCompositePodGroupName: {FIXED}"],
            id="a parent, without a word about the workload",
        ),
    ],
)
def test_a_changed_group(change: Object, problems: list[str]) -> None:
    old = _group()
    new = merged(copy.deepcopy(old), {"spec": change})
    assert _all("PodGroup", new, old) == problems


def test_the_status_of_a_group() -> None:
    old = _group(resourceClaims=[{"name": "a", "resourceClaimName": "x"}])
    condition = {
        "type": "A",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    good = {"conditions": [condition], "resourceClaimStatuses": [{"name": "a"}]}
    assert _all("PodGroup", old | {"status": good}, old, "status") == []
    claims = [{"name": "b", "resourceClaimName": "B"}]
    bad = {"conditions": [condition, condition | {"status": ""}], "resourceClaimStatuses": claims}
    assert _all("PodGroup", old | {"status": bad}, old, "status") == [
        'status.conditions[1]: Duplicate value: "A"',
        "status.conditions[1].status: Required value",
        'status.resourceClaimStatuses[0].name: Invalid value: "b": must match the name of an entry '
        "in `spec.resourceClaims`",
        'status.resourceClaimStatuses[0].resourceClaimName: Invalid value: "B": <subdomain>',
    ]


def test_a_composite_group() -> None:
    old = _composite()
    assert _all("CompositePodGroup", old) == []
    empty = made(ALPHA, "CompositePodGroup", spec={})
    assert _all("CompositePodGroup", empty) == [
        "spec.workloadRef: Required value",
        'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
    ]
    change = {"spec": {"schedulingPolicy": {"gang": {"minGroupCount": 1}}}}
    assert _all("CompositePodGroup", merged(copy.deepcopy(old), change), old) == [
        f"spec.schedulingPolicy: {FIXED}"
    ]
    bad = old | {"status": {"conditions": [{"type": "A", "status": "No", "reason": "R"}]}}
    assert _all("CompositePodGroup", bad, old, "status") == [
        'status.conditions[0].status: Unsupported value: "No": supported values: "False", "True", '
        '"Unknown"',
        "status.conditions[0].lastTransitionTime: Required value",
    ]


DEEP = _template("a", compositePodGroupTemplates=[
    _template("b", compositePodGroupTemplates=[
        _template("c", compositePodGroupTemplates=[
            _template("d", podGroupTemplates=[_template("e")])])])])  # fmt: skip


@pytest.mark.parametrize(
    ("workload", "problems"),
    [
        pytest.param(_workload(_template("a"), _template("b")), [], id="templates"),
        pytest.param(
            _workload(),
            [
                'spec: Invalid value: "": must specify one of: `podGroupTemplates`, '
                "`compositePodGroupTemplates`"
            ],
            id="no template",
        ),
        pytest.param(
            _workload(*(_template(f"t{i}") for i in range(9))),
            ["spec.podGroupTemplates: Too many: 9: must have at most 8 items"],
            id="nine templates",
        ),
        pytest.param(
            _workload(_template("a", priority=1), _template("b")),
            ["spec: Invalid value: null: detected multiple priority configurations"],
            id="two priorities",
        ),
        pytest.param(
            _workload(
                trees=(_template("a", podGroupTemplates=[_template("b", priorityClassName="x")]),)
            ),
            [
                "spec: Invalid value: null: all priority and priorityClassName values must be "
                "identical, detected multiple values"
            ],
            id="two priorities in a tree",
        ),
        pytest.param(
            _workload(trees=(_template("a", podGroupTemplates=[_template("a")]),)),
            ['spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: Duplicate value: "a"'],
            id="a name twice in a tree",
        ),
        pytest.param(
            _workload(
                trees=(
                    _template(
                        "a",
                        compositePodGroupTemplates=[
                            _template("a", podGroupTemplates=[_template("b")])
                        ],
                    ),
                )
            ),
            [
                "spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].name: Duplicate "
                'value: "a"'
            ],
            id="the name of the parent",
        ),
        pytest.param(
            _workload(trees=(_template("a", compositePodGroupTemplates=[_template("b")]),)),
            [
                "spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0]: Invalid value: "
                '"b": must have at least one child PodGroupTemplate or CompositePodGroupTemplate'
            ],
            id="a composite without children",
        ),
        pytest.param(
            _workload(_template("a"), controllerRef={"apiGroup": "A", "kind": "a/b"}),
            [
                'spec.controllerRef.apiGroup: Invalid value: "A": <subdomain>',
                "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'",
                "spec.controllerRef.name: Required value",
            ],
            id="a controller",
        ),
    ],
)
def test_a_new_workload(workload: Object, problems: list[str]) -> None:
    assert _all("Workload", workload) == problems


def test_a_tree_is_at_most_three_composites_deep() -> None:
    (problem,) = _all("Workload", _workload(trees=(DEEP,)))
    assert problem.startswith("spec.compositePodGroupTemplates[0]: Invalid value: [{")
    assert problem.endswith("}]: maximum template hierarchy depth is 4")
    (inner,) = DEEP["compositePodGroupTemplates"]
    assert _all("Workload", _workload(trees=(inner,))) == []


def test_the_templates_of_a_workload_stay() -> None:
    old = _workload(_template("a"), _template("b"))
    new = _workload(_template("a"), _template("c"))
    assert _all("Workload", new, old) == [
        "spec.podGroupTemplates[1]: Forbidden: item may not be added",
        "spec.podGroupTemplates: Forbidden: item may not be removed",
    ]
    controlled = _workload(
        _template("a"), _template("b"), controllerRef={"kind": "Job", "name": "j"}
    )
    assert _all("Workload", controlled, old) == [f"spec.controllerRef: {FIXED}"]


def test_every_type_that_a_rule_names_has_rules() -> None:
    named = {field.type for rules in RULES.values() for field in rules.fields if field.type}
    assert named <= RULES.keys()
    assert RULES.keys() - named == {"PodGroup", "CompositePodGroup", "Workload"}
