"""Write a table of kube-scheduler's feature gates, from the published Go modules.

Usage: python tools/features.py [MODULE_CACHE] > src/mooring/framework/feature_table.py

The module cache must hold the modules of `SOURCES` (`go mod download k8s.io/kubernetes@v1.36.4` and
so on). Only facts are taken: name, stage, default, lock and dependencies, at the release's version.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

RELEASE = (1, 36)

# Every file that registers gates with the feature gate of the kube-scheduler binary.
# kube-scheduler: cmd/kube-scheduler/app/server.go (init), pkg/features/kube_features.go (init)
SOURCES = (
    "k8s.io/client-go@v0.36.4/features/known_features.go",
    "k8s.io/apiserver@v0.36.4/pkg/features/kube_features.go",
    "k8s.io/component-base@v0.36.4/zpages/features/kube_features.go",
    "k8s.io/component-base@v0.36.4/logs/api/v1/kube_features.go",
    "k8s.io/component-base@v0.36.4/metrics/features/kube_features.go",
    "k8s.io/kubernetes@v1.36.4/pkg/features/kube_features.go",
)

COMMENT = re.compile(r"//[^\n]*")
GATE = re.compile(r"^\t{1,2}(?:\w+\.)?(\w+): \{\n(.*?)^\t{1,2}\},", re.MULTILINE | re.DOTALL)
SPEC = re.compile(r"\{Version: version\.MustParse\(\"(\d+)\.(\d+)\"\),([^}]*)\}")
CONSTANT = re.compile(r"^\t(\w+)\s+(?:featuregate\.)?Feature = \"(\w+)\"", re.MULTILINE)
DEPENDENCIES = re.compile(
    r"FeatureGateDependencies = map\[[^\n]*\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
DEPENDENCY = re.compile(r"^\t(?:\w+\.)?(\w+):\s*\{([^}]*)\}", re.MULTILINE)

HEADER = '''"""The feature gates that the kube-scheduler 1.36 binary knows.

Written by tools/features.py from the published modules of Kubernetes v1.36.4; do not edit.
Each row: name, stage, default, locked to the default, the gates it depends on.
"""

from __future__ import annotations

Row = tuple[str, str, bool, bool, tuple[str, ...]]

ROWS: tuple[Row, ...] = (
'''


def read_gates(text: str) -> dict[str, tuple[str, bool, bool]]:
    """Return name -> (stage, default, locked) at `RELEASE` for the gates that `text` declares."""
    names = dict(CONSTANT.findall(text))
    gates = {}
    for identifier, body in GATE.findall(COMMENT.sub("", text)):
        rows = [
            ((int(major), int(minor)), rest)
            for major, minor, rest in SPEC.findall(body)
            if (int(major), int(minor)) <= RELEASE
        ]
        if not rows:
            continue
        rest = rows[-1][1]
        stage = re.search(r"PreRelease: (?:featuregate\.)?(\w+)", rest)
        if stage is None:
            raise ValueError(f"no stage for {identifier}: {rest}")
        gates[names.get(identifier, identifier)] = (
            stage.group(1).upper(),
            re.search(r"(?<!To)Default: true", rest) is not None,
            "LockToDefault: true" in rest,
        )
    return gates


def read_dependencies(text: str) -> dict[str, tuple[str, ...]]:
    """Return name -> the sorted gates that it depends on."""
    found = DEPENDENCIES.search(COMMENT.sub("", text))
    if found is None:
        return {}
    return {
        name: tuple(sorted(_identifier(one) for one in body.split(",") if one.strip()))
        for name, body in DEPENDENCY.findall(found.group(1))
    }


def _identifier(expression: str) -> str:
    # A gate of another module is `package.Name`, or `featuregate.Feature(package.Name)`.
    return expression.strip().rstrip(")").rpartition(".")[2]


def main(argv: list[str]) -> int:
    """Print the table module."""
    if argv:
        cache = argv[0]
    else:
        cache = subprocess.run(
            ["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True
        ).stdout.strip()
    gates: dict[str, tuple[str, bool, bool]] = {}
    dependencies: dict[str, tuple[str, ...]] = {}
    for source in SOURCES:
        text = (Path(cache) / source).read_text(encoding="utf-8")
        gates.update(read_gates(text))
        dependencies.update(read_dependencies(text))
    sys.stdout.write(HEADER)
    for name, (stage, default, locked) in sorted(gates.items()):
        row = (name, stage, default, locked, dependencies.get(name, ()))
        line = f"    {row!r},".replace("'", '"')
        if len(line) > 100:
            cells = "".join(f"        {cell!r},\n".replace("'", '"') for cell in row)
            line = f"    (\n{cells}    ),"
        sys.stdout.write(line + "\n")
    sys.stdout.write(")\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
