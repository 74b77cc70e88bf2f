"""The rights that a scheduler needs, as RBAC rules: nothing that it does not use.

They are part of what the API server's own roles system:kube-scheduler and system:volume-scheduler
allow, except for the Lease, whose name those fix. Not among them, because nothing here asks for it:
`get` where lists and watches tell all, leasecandidates, bindings (the old form of pods/binding),
pods/finalizers, podgroups.
"""

# kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (kubeSchedulerRules)

from __future__ import annotations

from typing import Any

Rule = dict[str, Any]

LEASES = "leases"

_READ = ("list", "watch")


def cluster_rules() -> list[Rule]:
    """Return the rules for all namespaces and for what is in none."""
    return [
        # What informers keep. Services and their like are asked which pods belong together.
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
        _rule("resource.k8s.io", ("deviceclasses", "resourceslices"), _READ),
        # Pods: one is read where it is not known whether it was bound; victims are deleted.
        _rule("", ("pods",), ("delete", "get", *_READ)),
        _rule("", ("pods/binding",), ("create",)),
        _rule("", ("pods/status",), ("patch",)),
        # Volumes that are bound, or provisioned, before their pod is.
        _rule("", ("persistentvolumeclaims", "persistentvolumes"), (*_READ, "patch")),
        # Devices. Claims for extended resources are made and deleted here.
        _rule(
            "resource.k8s.io",
            ("resourceclaims",),
            ("create", "delete", "get", "list", "patch", "watch"),
        ),
        _rule("resource.k8s.io", ("resourceclaims/binding", "resourceclaims/status"), ("patch",)),
        _rule("events.k8s.io", ("events",), ("create", "patch")),
        # Who asks for /metrics, and whether he may.
        _rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
        _rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
    ]


def lease_rules(name: str) -> list[Rule]:
    """Return the rules for the namespace of a Lease: to hold it, and to write an Event about it."""
    return [
        # A name cannot restrict what is yet to be created.
        _rule("coordination.k8s.io", (LEASES,), ("create",)),
        {**_rule("coordination.k8s.io", (LEASES,), ("get", "update")), "resourceNames": [name]},
        _rule("", ("events",), ("create",)),
    ]


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> Rule:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
