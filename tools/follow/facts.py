"""What a Kubernetes release says of its scheduler: gates, flags, metrics, fields, texts.

The recorder prints what the compiled release knows, and reads Go files. The fields of the
configuration and of the API are read by the tools that write Mooring's own tables.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tools import config_schema, schemas
from tools.go_modules import KUBERNETES, module_folder, tag
from tools.recorder.build import build

#: The folders whose texts, metrics and selectors count: a name, a module and a path in it.
SOURCES = (
    ("scheduler", KUBERNETES, "pkg/scheduler"),
    ("framework", "k8s.io/kube-scheduler", "framework"),
    ("dynamic-resource-allocation", "k8s.io/dynamic-resource-allocation", "."),
    ("component-helpers", "k8s.io/component-helpers", "."),
    ("component-base", "k8s.io/component-base", "metrics"),
)
#: Folders whose texts reach users: the rest is read for metrics and selectors alone.
SPOKEN = ("scheduler", "dynamic-resource-allocation/structured")
#: The kinds that the scheduler watches. A group without a version stands for each of its versions.
KINDS = (
    ("core.v1", "Node"),
    ("core.v1", "Namespace"),
    ("core.v1", "PersistentVolume"),
    ("core.v1", "PersistentVolumeClaim"),
    ("core.v1", "Pod"),
    ("core.v1", "ReplicationController"),
    ("core.v1", "Service"),
    ("apps.v1", "ReplicaSet"),
    ("apps.v1", "StatefulSet"),
    ("policy.v1", "PodDisruptionBudget"),
    ("storage.v1", "CSIDriver"),
    ("storage.v1", "CSINode"),
    ("storage.v1", "CSIStorageCapacity"),
    ("storage.v1", "StorageClass"),
    ("storage.v1", "VolumeAttachment"),
    ("resource.v1", "DeviceClass"),
    ("resource.v1", "DeviceTaintRule"),
    ("resource.v1", "ResourceClaim"),
    ("resource.v1", "ResourceSlice"),
    ("scheduling", "PodGroup"),
    ("scheduling", "CompositePodGroup"),
)


#: Fields that every kind has.
COMMON = ("apiVersion", "kind", "metadata")


class Facts(NamedTuple):
    """What one release says."""

    release: str
    #: Flags, gates, configuration, plugins, weights, rights: what `recorder -facts` prints.
    said: dict[str, Any]
    #: Metrics, texts and selectors: what `recorder -sources` prints.
    found: dict[str, Any]
    #: The fields of the configuration, by type.
    configuration: dict[str, dict[str, str]]
    #: The fields of API types that the scheduler watches and reads, as `core.v1 PodSpec.nodeName`.
    fields: frozenset[str]


def collect(release: str) -> Facts:
    """Return the facts of a release; its modules are downloaded and its recorder built first."""
    program = build(release)
    folders = {name: module_folder(module, release) / path for name, module, path in SOURCES}
    said = _run(program, "-facts")
    found = _run(program, "-sources", *(f"{name}={path}" for name, path in folders.items()))
    return Facts(
        tag(release),
        said,
        found,
        configuration_fields(
            module_folder("k8s.io/kube-scheduler", release),
            module_folder("k8s.io/component-base", release),
        ),
        frozenset(
            read_fields(
                api_packages(
                    module_folder("k8s.io/api", release),
                    module_folder("k8s.io/apimachinery", release),
                ),
                set(found["selectors"]),
            )
        ),
    )


def _run(program: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run([str(program), *arguments], stdout=subprocess.PIPE, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def configuration_fields(scheduler: Path, base: Path) -> dict[str, dict[str, str]]:
    """Return the types of the configuration, with their fields and the kinds of these."""
    folders = (scheduler / "config" / "v1", base / "config" / "v1alpha1")
    paths = [path for folder in folders for path in sorted(folder.glob("types*.go"))]
    return config_schema.read_types([path.read_text(encoding="utf-8") for path in paths])


def api_packages(api: Path, machinery: Path) -> dict[str, schemas.Package]:
    """Return the packages of the API groups that the scheduler watches, by alias."""
    groups = {group.partition(".")[0] for group, _ in KINDS}
    meta = machinery / "pkg" / "apis" / "meta" / "v1"
    packages = {"meta.v1": schemas.read_package("meta.v1", meta, "")}
    for folder in sorted(api.glob("*/v*")):
        if folder.parent.name in groups and (folder / "types.go").exists():
            alias = f"{folder.parent.name}.{folder.name}"
            packages[alias] = schemas.read_package(alias, folder, "")
    return packages


def read_fields(packages: dict[str, schemas.Package], selectors: set[str]) -> set[str]:
    """Return the fields of watched kinds whose Go names the scheduler's code uses.

    Names alone are compared, without regard to case: a field that shares its name with another one
    counts as read if that one is.
    """
    used = {name.lower() for name in selectors}
    roots = [
        (alias, kind)
        for group, kind in KINDS
        for alias in packages
        if alias == group or alias.rpartition(".")[0] == group
    ]
    roots = [(alias, kind) for alias, kind in roots if kind in packages[alias].structs]
    known = {alias for alias in packages}
    return {
        f"{alias} {name}.{member.name}"
        for alias, name in schemas.reachable(packages, roots)
        if alias in known and alias != "meta.v1"
        for member in packages[alias].structs.get(name, ())
        if member.name.lower() in used and member.name not in COMMON
    }


def texts(facts: Facts) -> dict[str, set[str]]:
    """Return the texts that users may see, by folder: those of a plugin are in its own."""
    found: dict[str, set[str]] = {}
    for folder, spoken in facts.found["texts"].items():
        if not folder.startswith(SPOKEN) or re.search(r"/(apis|backend|metrics|testing)\b", folder):
            continue
        # There are several allocators of devices, which mostly say the same.
        found.setdefault(folder.partition("/internal/")[0], set()).update(spoken)
    return found
