"""Write a table of kube-scheduler's feature gates, from the published Go modules.

Usage: python tools/features.py 1.37.1 [MODULE_CACHE] > src/mooring/framework/feature_table.py
       python tools/features.py 1.36.4 [MODULE_CACHE] > src/mooring/framework/feature_table_1_36.py

The module cache must hold the modules of `sources(RELEASE)` (`go mod download
k8s.io/kubernetes@v1.37.1` and so on). Only facts are taken: name, stage, default, lock and
dependencies, at the release's version.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

Version = tuple[int, int]
Gate = tuple[str, bool, bool]

# Every file that registers gates with the feature gate of the kube-scheduler binary.
# kube-scheduler: cmd/kube-scheduler/app/server.go (init), pkg/features/kube_features.go (init)
_SOURCES = (
    "k8s.io/client-go@v0.{0}/features/known_features.go",
    "k8s.io/apiserver@v0.{0}/pkg/features/kube_features.go",
    "k8s.io/component-base@v0.{0}/zpages/features/kube_features.go",
    "k8s.io/component-base@v0.{0}/logs/api/v1/kube_features.go",
    "k8s.io/component-base@v0.{0}/metrics/features/kube_features.go",
    "k8s.io/kubernetes@v1.{0}/pkg/features/kube_features.go",
)

COMMENT = re.compile(r"//[^\n]*")
GATE = re.compile(r"^\t{1,2}(?:\w+\.)?(\w+): \{\n(.*?)^\t{1,2}\},", re.MULTILINE | re.DOTALL)
SPEC = re.compile(r"\{Version: version\.MustParse\(\"(\d+)\.(\d+)\"\),([^}]*)\}")
COMPATIBLE = re.compile(r"MinCompatibilityVersion: version\.MustParse\(\"(\d+)\.(\d+)\"\)")
CONSTANT = re.compile(r"^\t(\w+)\s+(?:featuregate\.)?Feature = \"(\w+)\"", re.MULTILINE)
DEPENDENCIES = re.compile(
    r"FeatureGateDependencies = map\[[^\n]*\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
DEPENDENCY = re.compile(r"^\t(?:\w+\.)?(\w+):\s*\{([^}]*)\}", re.MULTILINE)

HEADER = '''"""The feature gates that the kube-scheduler {minor} binary knows.

Written by tools/features.py from the published modules of Kubernetes v{release}; do not edit.
Each row: name, stage, default, locked to the default, the gates it depends on.
"""

from __future__ import annotations

Row = tuple[str, str, bool, bool, tuple[str, ...]]

'''
ROWS = "ROWS: tuple[Row, ...] = ("
COMPATIBLE_ROWS = """
#: The rows that replace those above if the minimum compatibility version is the release itself.
COMPATIBLE_ROWS: tuple[Row, ...] = ("""


def sources(release: str) -> list[str]:
    """Return the files of the module cache that declare the gates of a release such as 1.37.1."""
    return [source.format(release.removeprefix("1.")) for source in _SOURCES]


def read_gates(text: str, version: Version, compatible: Version) -> dict[str, Gate]:
    """Return name -> (stage, default, locked) of the gates that `text` declares.

    `compatible` is the minimum compatibility version, which some rows need to be above a bound.
    """
    # component-base: featuregate/feature_gate.go (featureSpecAtEmulationAndMinCompatVersion)
    names = dict(CONSTANT.findall(text))
    gates = {}
    for identifier, body in GATE.findall(COMMENT.sub("", text)):
        rows = [
            rest
            for major, minor, rest in SPEC.findall(body)
            if (int(major), int(minor)) <= version and _needed(rest) <= compatible
        ]
        if not rows:
            continue
        rest = rows[-1]
        stage = re.search(r"PreRelease: (?:featuregate\.)?(\w+)", rest)
        if stage is None:
            raise ValueError(f"no stage for {identifier}: {rest}")
        gates[names.get(identifier, identifier)] = (
            stage.group(1).upper(),
            re.search(r"(?<!To)Default: true", rest) is not None,
            "LockToDefault: true" in rest,
        )
    return gates


def _needed(row: str) -> Version:
    """Return the minimum compatibility version from which a row counts."""
    found = COMPATIBLE.search(row)
    return (0, 0) if found is None else (int(found[1]), int(found[2]))


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


def make_table(release: str, texts: list[str]) -> str:
    """Return the module for a release such as 1.37.1, from the text of its sources."""
    major, minor, _ = (int(part) for part in release.split("."))
    version = (major, minor)
    usual: dict[str, Gate] = {}
    newest: dict[str, Gate] = {}
    dependencies: dict[str, tuple[str, ...]] = {}
    for text in texts:
        usual |= read_gates(text, version, (major, minor - 1))
        newest |= read_gates(text, version, version)
        dependencies |= read_dependencies(text)
    replaced = {name: gate for name, gate in newest.items() if gate != usual.get(name)}
    return (
        HEADER.format(minor=f"{major}.{minor}", release=release)
        + _table(ROWS, usual, dependencies)
        + _table(COMPATIBLE_ROWS, replaced, dependencies)
    )


def _table(opening: str, gates: dict[str, Gate], dependencies: dict[str, tuple[str, ...]]) -> str:
    if not gates:
        return f"{opening})\n"
    lines = [opening]
    for name, (stage, default, locked) in sorted(gates.items()):
        row = (name, stage, default, locked, dependencies.get(name, ()))
        line = f"    {row!r},".replace("'", '"')
        if len(line) > 100:
            cells = "".join(f"        {cell!r},\n".replace("'", '"') for cell in row)
            line = f"    (\n{cells}    ),"
        lines.append(line)
    return "\n".join([*lines, ")", ""])


def main(argv: list[str]) -> int:
    """Print the table module."""
    if not argv:
        print(__doc__, file=sys.stderr)
        return 2
    release, *rest = argv
    if rest:
        cache = rest[0]
    else:
        cache = subprocess.run(
            ["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True
        ).stdout.strip()
    texts = [(Path(cache) / source).read_text(encoding="utf-8") for source in sources(release)]
    sys.stdout.write(make_table(release, texts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
