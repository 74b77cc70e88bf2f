"""Write src/mooring/apiserver/roles.json: the roles of kube-apiserver that matter here.

Usage: python -m tools.bootstrap_roles [--release X.Y.Z]

Needs Go, which downloads the module. The roles are read from the tables that kube-apiserver's own
tests compare with.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

from tools.go_modules import module_folder, release_parser

FOLDER = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata"
FILES = (
    "cluster-roles.yaml",
    "cluster-role-bindings.yaml",
    "namespace-roles.yaml",
    "namespace-role-bindings.yaml",
)
TARGET = Path(__file__).parents[1] / "src/mooring/apiserver/roles.json"
CLUSTER_ROLES = frozenset(
    {
        "admin",
        "cluster-admin",
        "edit",
        "system:aggregate-to-admin",
        "system:aggregate-to-edit",
        "system:aggregate-to-view",
        "system:auth-delegator",
        "system:basic-user",
        "system:certificates.k8s.io:kube-apiserver-client-approver",
        "system:cluster-trust-bundle-discovery",
        "system:discovery",
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:monitoring",
        "system:node",
        "system:node-proxier",
        "system:persistent-volume-provisioner",
        "system:public-info-viewer",
        "system:service-account-issuer-discovery",
        "system:volume-scheduler",
        "view",
    }
)
_BOOTSTRAPPING = "kubernetes.io/bootstrapping"


def wanted(item: dict[str, Any]) -> bool:
    """Return whether an object matters to a cluster without a cloud and without kubelets."""
    name = item["metadata"]["name"]
    if item["kind"] == "ClusterRole":
        return name in CLUSTER_ROLES
    if item["kind"] == "ClusterRoleBinding":
        return item["roleRef"]["name"] in CLUSTER_ROLES
    return "scheduler" in name or "extension" in name


def compact(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the parts that all of them share."""
    metadata = {
        key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]
    }
    labels = {k: v for k, v in item["metadata"].get("labels", {}).items() if k != _BOOTSTRAPPING}
    if labels:
        metadata["labels"] = labels
    parts = ("rules", "roleRef", "subjects", "aggregationRule")
    return {
        "kind": item["kind"],
        "metadata": metadata,
        **{part: item[part] for part in parts if item.get(part)},
    }


def main(argv: list[str]) -> int:
    """Write the roles."""
    release = release_parser(__doc__).parse_args(argv).release
    folder = module_folder("k8s.io/kubernetes", release) / FOLDER
    found = []
    for name in FILES:
        for document in yaml.safe_load_all((folder / name).read_text()):
            found += [compact(item) for item in document["items"] if wanted(item)]
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in found)
    TARGET.write_text(f"[\n{lines}\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
