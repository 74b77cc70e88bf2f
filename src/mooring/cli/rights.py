"""The rights that a scheduler and the controllers need, as RBAC rules, and no others.

They are a subset of what the API server's own roles system:kube-scheduler and
system:volume-scheduler allow, except for the Lease, whose name is fixed in those roles. Left out,
because Mooring does not use them: `get` on resources for which list and watch are enough,
leasecandidates, bindings (the old form of pods/binding), pods/finalizers. The API server's roles
have the rights on pod groups only if it serves them; here they are always granted.

A plugin of the scheduler-plugins family may read more; that is granted if the plugin is enabled.
"""

# kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (kubeSchedulerRules)

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Rule = dict[str, Any]

LEASES = "leases"
#: The group of PodGroups and ElasticQuotas of the scheduler-plugins family.
SCHEDULING_GROUP = "scheduling.x-k8s.io"
#: The group of Kubernetes' own PodGroups.
WORKLOAD_GROUP = "scheduling.k8s.io"

_READ = ("list", "watch")


def cluster_rules() -> list[Rule]:
    """Return the rules for all namespaces and for cluster-scoped resources."""
    return [
        # Watched by informers. Services and workloads tell which pods belong together.
        _rule("", ("namespaces", "nodes", "replicationcontrollers", "services"), _READ),
        _rule("apps", ("replicasets", "statefulsets"), _READ),
        _rule("policy", ("poddisruptionbudgets",), _READ),
        _rule(
            "storage.k8s.io",
            (
                "csidrivers",
                "csinodes",
                "csistoragecapacities",
                "storageclasses",
                "volumeattachments",
            ),
            _READ,
        ),
        _rule("resource.k8s.io", ("deviceclasses", "devicetaintrules", "resourceslices"), _READ),
        # get: read a pod if the result of its bind is unknown. delete: preemption victims.
        _rule("", ("pods",), ("delete", "get", *_READ)),
        _rule("", ("pods/binding",), ("create",)),
        _rule("", ("pods/status",), ("patch",)),
        # Volumes are bound or provisioned before their pod is bound.
        _rule("", ("persistentvolumeclaims", "persistentvolumes"), (*_READ, "patch")),
        # Devices. The scheduler creates and deletes claims for extended resources.
        _rule(
            "resource.k8s.io",
            ("resourceclaims",),
            ("create", "delete", "get", "list", "patch", "watch"),
        ),
        _rule("resource.k8s.io", ("resourceclaims/binding", "resourceclaims/status"), ("patch",)),
        *pod_group_rules(),
        _rule("events.k8s.io", ("events",), ("create", "patch")),
        *_review_rules(),
    ]


def pod_group_rules() -> list[Rule]:
    """Return the rules for pod groups, which a server serves with the gate GenericWorkload."""
    return [
        _rule(WORKLOAD_GROUP, ("compositepodgroups", "podgroups"), _READ),
        # The condition PodGroupInitiallyScheduled.
        _rule(WORKLOAD_GROUP, ("podgroups/status",), ("patch",)),
    ]


def plugin_rules() -> dict[str, list[Rule]]:
    """Return the rules for what plugins of the scheduler-plugins family read, by plugin."""
    app_groups = _rule("appgroup.diktyo.x-k8s.io", ("appgroups",), _READ)
    networks = _rule("networktopology.diktyo.x-k8s.io", ("networktopologies",), _READ)
    # For a metricProvider of type KubernetesMetricsServer.
    load = _rule("metrics.k8s.io", ("nodes",), ("list",))
    return {
        "CapacityScheduling": [_rule(SCHEDULING_GROUP, ("elasticquotas",), _READ)],
        "Coscheduling": [_rule(SCHEDULING_GROUP, ("podgroups",), _READ)],
        "LoadVariationRiskBalancing": [load],
        "LowRiskOverCommitment": [load],
        "NetworkOverhead": [app_groups, networks],
        "NodeResourceTopologyMatch": [
            _rule("topology.node.k8s.io", ("noderesourcetopologies",), _READ)
        ],
        "Peaks": [load],
        "PreemptionToleration": [_rule(WORKLOAD_GROUP, ("priorityclasses",), _READ)],
        "SySched": [_rule("security-profiles-operator.x-k8s.io", ("seccompprofiles",), _READ)],
        "TargetLoadPacking": [load],
        "TopologicalSort": [app_groups],
    }


def rules_of_plugins(enabled: Iterable[str]) -> list[Rule]:
    """Return the rules for what enabled plugins read, each once."""
    names = set(enabled)
    found: list[Rule] = []
    for plugin, rules in plugin_rules().items():
        if plugin in names:
            found += (rule for rule in rules if rule not in found)
    return found


def controller_rules() -> list[Rule]:
    """Return the rules of `mooring controllers` for all namespaces."""
    kinds = ("elasticquotas", "podgroups")
    return [
        _rule("", ("pods",), _READ),
        _rule(SCHEDULING_GROUP, kinds, _READ),
        _rule(SCHEDULING_GROUP, tuple(f"{kind}/status" for kind in kinds), ("patch",)),
        _rule("", ("events",), ("create", "patch")),
        *_review_rules(),
    ]


def lease_rules(name: str) -> list[Rule]:
    """Return the rules for the namespace of a Lease: to hold it, and to record Events about it."""
    return [
        # RBAC cannot restrict `create` by name.
        _rule("coordination.k8s.io", (LEASES,), ("create",)),
        {**_rule("coordination.k8s.io", (LEASES,), ("get", "update")), "resourceNames": [name]},
        _rule("", ("events",), ("create",)),
    ]


def _review_rules() -> list[Rule]:
    """Return the rules to authenticate and authorize requests for /metrics."""
    return [
        _rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
        _rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
    ]


def reading_rules(resources: Iterable[str]) -> list[Rule]:
    """Return the rules to list and watch resources ("plural.version.group"), one per API group."""
    by_group: dict[str, list[str]] = {}
    for name in sorted(set(resources)):
        plural, _, group = name.split(".", 2)
        by_group.setdefault(group, []).append(plural)
    return [_rule(group, tuple(plurals), _READ) for group, plurals in sorted(by_group.items())]


def binding_rules() -> list[Rule]:
    """Return the rules to bind pods: to read a pod, to bind it, and to record Events about it."""
    return [
        _rule("", ("pods",), ("get",)),
        _rule("", ("pods/binding",), ("create",)),
        _rule("events.k8s.io", ("events",), ("create", "patch")),
    ]


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> Rule:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
