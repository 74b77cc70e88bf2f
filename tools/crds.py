"""Write the definitions of the custom resources that the plugins of mooring.contrib read.

Usage: python -m tools.crds

They go to src/mooring/local/crds. Groups, versions, names, fields, types, limits and printer
columns are read from the module sigs.k8s.io/scheduler-plugins; no prose is copied.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

MODULE = "sigs.k8s.io/scheduler-plugins@v0.34.7"
TARGET = Path(__file__).resolve().parents[1] / "src" / "mooring" / "local" / "crds"
#: The files of the module, by the name of the set that holds their definitions.
SOURCES = {
    "scheduling": ("manifests/coscheduling/crd.yaml", "manifests/capacityscheduling/crd.yaml"),
    "topology": ("manifests/noderesourcetopology/crd.yaml",),
    "appgroup": ("manifests/appgroup/crd.yaml",),
    "networktopology": ("manifests/networktopology/crd.yaml",),
    "seccomp": ("manifests/sysched/crd.yaml",),
}
_KEPT_ANNOTATION = "api-approved.kubernetes.io"
_HEADER = f"# Read from {MODULE} by tools/crds.py.\n"


def without_prose(value: Any, parent: str = "") -> Any:
    """Return part of a definition without its descriptions.

    A field may itself be called "description"; the fields of an object are below "properties".
    """
    if isinstance(value, dict):
        return {
            key: without_prose(inner, key)
            for key, inner in value.items()
            if key != "description" or parent == "properties"
        }
    return [without_prose(item) for item in value] if isinstance(value, list) else value


def definition(found: dict[str, Any]) -> dict[str, Any]:
    """Return a definition as it is written: no prose, no status, no marks of other tools."""
    metadata: dict[str, Any] = {"name": found["metadata"]["name"]}
    annotations = found["metadata"].get("annotations", {})
    if _KEPT_ANNOTATION in annotations:
        metadata["annotations"] = {_KEPT_ANNOTATION: annotations[_KEPT_ANNOTATION]}
    return {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "metadata": metadata,
        "spec": without_prose(found["spec"]),
    }


def main() -> int:
    """Write the file of each set."""
    command = ["go", "mod", "download", "-json", MODULE]
    downloaded = subprocess.run(command, check=True, capture_output=True, text=True)
    folder = Path(json.loads(downloaded.stdout)["Dir"])
    TARGET.mkdir(exist_ok=True)
    for name, files in SOURCES.items():
        found = [one for file in files for one in yaml.safe_load_all((folder / file).read_text())]
        text = yaml.safe_dump_all([definition(one) for one in found if one], sort_keys=False)
        (TARGET / f"{name}.yaml").write_text(_HEADER + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
