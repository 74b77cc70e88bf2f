"""The rights that a scheduler needs, as RBAC rules, and no others.

They are a subset of what the API server's own roles system:kube-scheduler and
system:volume-scheduler allow, except for the Lease, whose name is fixed in those roles. Left out,
because Mooring does not use them: `get` on resources for which list and watch are enough,
leasecandidates, bindings (the old form of pods/binding), pods/finalizers, podgroups.
"""

# kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (kubeSchedulerRules)

from __future__ import annotations

from typing import Any

Rule = dict[str, Any]

LEASES = "leases"

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
        _rule("events.k8s.io", ("events",), ("create", "patch")),
        # Authentication and authorization of requests for /metrics.
        _rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
        _rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
    ]


def lease_rules(name: str) -> list[Rule]:
    """Return the rules for the namespace of a Lease: to hold it, and to record Events about it."""
    return [
        # RBAC cannot restrict `create` by name.
        _rule("coordination.k8s.io", (LEASES,), ("create",)),
        {**_rule("coordination.k8s.io", (LEASES,), ("get", "update")), "resourceNames": [name]},
        _rule("", ("events",), ("create",)),
    ]


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> Rule:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
