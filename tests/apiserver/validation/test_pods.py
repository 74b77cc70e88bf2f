from __future__ import annotations

import copy
from typing import Any

import pytest

from mooring.apiserver.validation import check_update
from tests.apiserver.validation.objects import (
    Object,
    container,
    made,
    pod,
    refusals,
    refused,
    template,
    texts,
    update_refusals,
)

REFUSED: dict[str, tuple[Object, list[str]]] = {
    "a plain pod is valid": ({}, []),
    "no containers": ({"containers": []}, ["spec.containers: Required value"]),
    "an unknown restart policy": (
        {"restartPolicy": "Sometimes"},
        [
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: '
            '"Always", "OnFailure", "Never"'
        ],
    ),
    "an unknown DNS policy": (
        {"dnsPolicy": "Never"},
        [
            'spec.dnsPolicy: Unsupported value: "Never": supported values: '
            '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
        ],
    ),
    "a node for a gated pod": (
        {"nodeName": "n", "schedulingGates": [{"name": "g"}]},
        ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ),
    "a group": ({"schedulingGroup": {"podGroupName": "a.b"}}, []),
    "a group without a name": (
        {"schedulingGroup": {}},
        [
            "spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: "
            "`podGroupName`"
        ],
    ),
    "the bad name of a group": (
        {"schedulingGroup": {"podGroupName": "A"}},
        ['spec.schedulingGroup.podGroupName: Invalid value: "A": <subdomain>'],
    ),
    "ephemeral containers at creation": (
        {"ephemeralContainers": [container(name="e")]},
        ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
    ),
    "claims without a name, with the same name and with a bad name": (
        {
            "resourceClaims": [
                {"name": "", "resourceClaimName": "c"},
                {"name": "a", "resourceClaimName": "c"},
                {"name": "a", "resourceClaimTemplateName": "t"},
                {"name": "A_", "resourceClaimName": "c"},
            ]
        },
        [
            "spec.resourceClaims[0].name: Required value",
            'spec.resourceClaims[2].name: Duplicate value: "a"',
            'spec.resourceClaims[3].name: Invalid value: "A_": <label>',
        ],
    ),
    "a claim with both sources": (
        {
            "resourceClaims": [
                {"name": "a", "resourceClaimName": "c", "resourceClaimTemplateName": "T"}
            ]
        },
        [
            "spec.resourceClaims[0]: Invalid value: "
            '{"name":"a","resourceClaimName":"c","resourceClaimTemplateName":"T"}: at '
            "most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
            "specified",
            'spec.resourceClaims[0].resourceClaimTemplateName: Invalid value: "T": <subdomain>',
        ],
    ),
    "a claim without a source": (
        {"resourceClaims": [{"name": "a"}]},
        [
            'spec.resourceClaims[0]: Invalid value: {"name":"a"}: must specify one of: '
            "`resourceClaimName`, `resourceClaimTemplateName`"
        ],
    ),
    "a host port that differs on the host's network": (
        {
            "hostNetwork": True,
            "containers": [container(ports=[{"containerPort": 80, "hostPort": 81}])],
        },
        [
            "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match "
            "`containerPort` when `hostNetwork` is true"
        ],
    ),
    "no DNS configuration although the policy asks for one": (
        {"dnsPolicy": "None"},
        ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ),
    "no nameservers although the policy asks for them": (
        {"dnsPolicy": "None", "dnsConfig": {"searches": ["a"]}},
        [
            "spec.dnsConfig.nameservers: Required value: must provide at least one DNS "
            "nameserver when `dnsPolicy` is None"
        ],
    ),
    "a bad DNS configuration": (
        {
            "dnsConfig": {
                "nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "x"],
                "searches": [".", "a.", "_b.c", "D"],
                "options": [{"value": "v"}],
            }
        },
        [
            "spec.dnsConfig.nameservers: Invalid value: "
            '["1.1.1.1","1.1.1.2","1.1.1.3","x"]: must not have more than 3 nameservers',
            'spec.dnsConfig.nameservers[3]: Invalid value: "x": must be a valid IP '
            "address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            'spec.dnsConfig.searches[3]: Invalid value: "D": <relaxed subdomain>',
            "spec.dnsConfig.options[0]: Required value: must not be empty",
        ],
    ),
    "a bad readiness gate": (
        {"readinessGates": [{"conditionType": "a b"}]},
        ['spec.readinessGates[0].conditionType: Invalid value: "a b": <qualified name>'],
    ),
    "bad names": (
        {"serviceAccountName": "A", "nodeName": "B", "hostname": "a.b", "subdomain": "C"},
        [
            'spec.serviceAccountName: Invalid value: "A": <subdomain>',
            'spec.nodeName: Invalid value: "B": <subdomain>',
            'spec.hostname: Invalid value: "a.b": must not contain dots',
            'spec.subdomain: Invalid value: "C": <label>',
        ],
    ),
    "no time to run": (
        {"activeDeadlineSeconds": 0},
        [
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and "
            "2147483647, inclusive"
        ],
    ),
    "bad aliases of hosts": (
        {"hostAliases": [{"ip": "a", "hostnames": ["ok", "B"]}]},
        [
            'spec.hostAliases[0].ip: Invalid value: "a": must be a valid IP address, '
            "(e.g. 10.9.8.7 or 2001:db8::ffff)",
            'spec.hostAliases[0].hostnames[1]: Invalid value: "B": <subdomain>',
        ],
    ),
    "bad classes": (
        {"priorityClassName": "A", "runtimeClassName": "B"},
        [
            'spec.priorityClassName: Invalid value: "A": <subdomain>',
            'spec.runtimeClassName: Invalid value: "B": <subdomain>',
        ],
    ),
    "an unknown preemption policy": (
        {"preemptionPolicy": "Sometimes"},
        [
            'spec.preemptionPolicy: Unsupported value: "Sometimes": supported values: '
            '"PreemptLowerPriority", "Never"'
        ],
    ),
    "an empty preemption policy": (
        {"preemptionPolicy": ""},
        ["spec.preemptionPolicy: Required value"],
    ),
    "a negative overhead": (
        {"overhead": {"cpu": "-1"}},
        ['spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "an unnamed operating system": ({"os": {"name": ""}}, ["spec.os.name: Required value"]),
    "an unknown operating system": (
        {"os": {"name": "plan9"}},
        ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
    ),
    "a token without a service account": (
        {
            "volumes": [
                {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
            ]
        },
        [
            "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must "
            "not be specified when serviceAccountName is not set"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), REFUSED.values(), ids=REFUSED)
def test_new_pods(spec: Object, expected: list[str]) -> None:
    assert refusals(pod(**spec)) == expected


def test_more_than_32_search_paths() -> None:
    (problem,) = refusals(pod(dnsConfig={"searches": ["a"] * 33}))
    assert problem.startswith("spec.dnsConfig.searches: Invalid value: [")
    assert problem.endswith("]: must not have more than 32 search paths")


def test_a_mirror_pod_has_a_node() -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "m"}}
    spec = {"containers": [container()]}
    assert refused("v1", "Pod", metadata=mirror, spec=spec) == [
        'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "m": must set '
        "spec.nodeName if mirror pod annotation is set"
    ]
    assert refused("v1", "Pod", metadata=mirror, spec={"nodeName": "n", **spec}) == []


TEMPLATES: dict[str, tuple[Object, list[str]]] = {
    "a valid template": (template(), []),
    "bad labels and annotations": (
        {
            "metadata": {"labels": {"a": "b c"}, "annotations": {"a b": ""}},
            "spec": {"containers": [container()]},
        },
        [
            'template.labels: Invalid value: "b c": <label value>',
            'template.annotations: Invalid value: "a b": <qualified name>',
        ],
    ),
    "ephemeral containers": (
        template(ephemeralContainers=[container(name="e")]),
        [
            "template.spec.ephemeralContainers: Forbidden: ephemeral containers not "
            "allowed in pod template"
        ],
    ),
    "a host port of a template may be left to the pod": (
        template(hostNetwork=True, containers=[container(ports=[{"containerPort": 80}])]),
        [],
    ),
}


@pytest.mark.parametrize(("given", "expected"), TEMPLATES.values(), ids=TEMPLATES)
def test_templates(given: Object, expected: list[str]) -> None:
    assert refused("v1", "PodTemplate", template=given) == expected


UPDATES: dict[str, tuple[Object, str]] = {
    "the image may change": ({"containers": [{"name": "c", "image": "j"}]}, ""),
    "tolerations may be added": ({"tolerations": [{"key": "k", "operator": "Exists"}]}, ""),
    "the node is bound, not set": ({"nodeName": "n"}, "pod updates may not change fields other"),
    "the scheduler stays": ({"schedulerName": "s"}, "pod updates may not change fields other"),
    "containers stay": ({"containers": []}, "Required value"),
    "gates only go": ({"schedulingGates": [{"name": "g"}]}, "only deletion is allowed"),
    "a deadline may be set": ({"activeDeadlineSeconds": 5}, ""),
    "a deadline is not negative": ({"activeDeadlineSeconds": -1}, "must be between 0 and"),
}


@pytest.mark.parametrize(("spec", "expected"), UPDATES.values(), ids=UPDATES)
def test_changes_of_pods(spec: dict[str, Any], expected: str) -> None:
    old = pod()
    new = copy.deepcopy(old)
    new["spec"] |= spec
    for given in new["spec"].get("containers") or ():
        for name, value in old["spec"]["containers"][0].items():
            given.setdefault(name, value)
    found = " ".join(texts(check_update("v1", "Pod", new, old)))
    assert (expected in found) if expected else not found


def test_a_change_that_is_refused_is_shown() -> None:
    (problem,) = update_refusals(pod(), {"spec": {"schedulerName": "s"}})
    assert problem.startswith("spec: Forbidden: pod updates may not change fields other than")
    assert problem.endswith("-  schedulerName: 'default-scheduler'\n+  schedulerName: 's'")


def test_containers_are_not_added() -> None:
    more = {"spec": {"containers": [*pod()["spec"]["containers"]] * 2}}
    assert "spec.containers: Forbidden: pod updates may not add or remove containers" in (
        update_refusals(pod(), more)
    )


@pytest.mark.parametrize(
    ("deadline", "expected"),
    [
        (4, []),
        (
            6,
            [
                "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to "
                "previous value"
            ],
        ),
        (
            None,
            [
                "spec.activeDeadlineSeconds: Invalid value: null: must not update from a "
                "positive integer to nil value"
            ],
        ),
    ],
    ids=["an earlier one", "a later one", "none"],
)
def test_a_deadline_only_comes_closer(deadline: int | None, expected: list[str]) -> None:
    change = {"spec": {"activeDeadlineSeconds": deadline}}
    assert update_refusals(pod(activeDeadlineSeconds=5), change) == expected


def test_a_toleration_may_change_only_its_seconds() -> None:
    given = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
    old = pod(tolerations=[given])
    assert update_refusals(old, {"spec": {"tolerations": [given | {"tolerationSeconds": 5}]}}) == []
    assert update_refusals(old, {"spec": {"tolerations": [given | {"key": "l"}]}}) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its "
        "tolerationSeconds"
    ]


def test_a_negative_grace_period_may_become_one() -> None:
    old = pod(terminationGracePeriodSeconds=-1)
    assert update_refusals(old, {"spec": {"terminationGracePeriodSeconds": 1}}) == []
    assert update_refusals(old, {"spec": {"terminationGracePeriodSeconds": 2}}) != []


_IN = {"key": "a", "operator": "In", "values": ["b"]}
_ALSO = {"key": "c", "operator": "Exists"}


def _affinity(*terms: Object) -> Object:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


GATED: dict[str, tuple[Object | None, Object | None, list[str]]] = {
    "nodes may be chosen": (None, _affinity({"matchExpressions": [_IN]}), []),
    "an expression may be added": (
        _affinity({"matchExpressions": [_IN]}),
        _affinity({"matchExpressions": [_IN, _ALSO]}),
        [],
    ),
    "an expression stays": (
        _affinity({"matchExpressions": [_IN, _ALSO]}),
        _affinity({"matchExpressions": [_IN]}),
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelect"
            "orTerms[0]: "
            "Invalid value: "
            '{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}: only '
            "additions are allowed (no mutations or deletions)"
        ],
    ),
    "a term is not added": (
        _affinity({"matchExpressions": [_IN]}),
        _affinity({"matchExpressions": [_IN]}, {"matchExpressions": [_ALSO]}),
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelect"
            "orTerms: "
            "Invalid value: "
            '[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]},{"matchExpression'
            's":[{"key":"c","operator":"Exists"}]}]: '
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        ],
    ),
    "the whole affinity stays": (
        _affinity({"matchExpressions": [_IN]}),
        None,
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelect"
            "orTerms: "
            "Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms "
            "list are allowed"
        ],
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), GATED.values(), ids=GATED)
def test_a_gated_pod_s_choice_of_nodes_only_narrows(
    before: Object | None, after: Object | None, expected: list[str]
) -> None:
    more = {} if before is None else {"affinity": before}
    old = pod(schedulingGates=[{"name": "g"}], **more)
    found = update_refusals(old, {"spec": {"affinity": after}})
    assert found == expected


def test_a_gated_pod_may_get_affinity_to_nodes_beside_that_to_pods() -> None:
    pods = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}
    term = {"topologyKey": "z", "labelSelector": {"matchLabels": {"a": "b"}}}
    pods["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"].append(term)
    old = pod(schedulingGates=[{"name": "g"}], affinity=pods)
    change = {"spec": {"affinity": _affinity({"matchExpressions": [_IN]})}}
    assert update_refusals(old, change) == []


def test_a_gated_pod_may_ask_for_more_of_nodes_and_not_for_less() -> None:
    old = pod(schedulingGates=[{"name": "g"}], nodeSelector={"a": "b"})
    assert update_refusals(old, {"spec": {"nodeSelector": {"a": "b", "c": "d"}}}) == []
    less = update_refusals(old, {"spec": {"nodeSelector": {"a": None, "c": "d"}}})
    assert less == [
        'spec.nodeSelector: Invalid value: {"c":"d"}: only additions to spec.nodeSelector are '
        "allowed (no mutations or deletions)"
    ]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"name": "n"}, []),
        ({"kind": "Node", "name": "n"}, []),
        (
            {"kind": "Minion", "name": ""},
            [
                'target.kind: Unsupported value: "Minion": supported values: "Node", "<empty>"',
                "target.name: Required value",
            ],
        ),
    ],
    ids=["a node", "a node by its kind", "another kind without a name"],
)
def test_bindings(target: Object, expected: list[str]) -> None:
    binding = made("v1", "Binding", target=target)
    assert refusals(binding) == expected
