"""Write a table of what the plugins of the scheduler-plugins family had in each older version.

Usage: python -m tools.family_schema

It is src/mooring/config/convert/family_table.py. Needs Go, which downloads the modules of
`RELEASES`: published releases that read each version. Only facts are taken: names of plugins,
extension points and arguments, and default values.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mooring.config.convert.schema_table import TABLE as IN_TREE
from tools.config_schema import COMMENT, read_types
from tools.go_literals import assigned, evaluate
from tools.go_modules import downloaded

MODULE = "sigs.k8s.io/scheduler-plugins"
TARGET = Path(__file__).resolve().parents[1] / "src/mooring/config/convert/family_table.py"
#: The releases that are read, oldest first: the last of each minor version, if Go's module mirror
#: has it. A version has the points and arguments of all its releases, and the defaults of the last.
RELEASES = ("v0.19.9", "v0.22.6", "v0.23.10", "v0.24.9", "v0.25.7", "v0.26.7", "v0.27.8")
#: The release whose v1 the plugins of Mooring follow.
NEWEST = "v0.34.7"
VERSIONS = ("v1beta1", "v1beta2", "v1beta3")
#: v0.18 had untyped arguments, in Go code that no mirror has. # pkg/coscheduling/coscheduling.go
V1ALPHA2: dict[str, tuple[list[str], dict[str, Any]]] = {
    "Coscheduling": (
        ["queueSort", "preFilter", "reserve", "permit"],
        {
            "permitWaitingTimeSeconds": 10,
            "podGroupGCIntervalSeconds": 30,
            "podGroupExpirationTimeSeconds": 600,
        },
    ),
    "QOSSort": (["queueSort"], {}),
}
#: Arguments of releases that no mirror has, and their defaults, by version and plugin.
# scheduler-plugins v0.23.9: apis/config/v1beta3/types.go; v0.23.10 lost it
UNPUBLISHED: dict[str, dict[str, dict[str, Any]]] = {
    "v1beta3": {"Coscheduling": {"deniedPGExpirationTimeSeconds": 20}},
}

#: Go method -> extension point.
POINTS = {
    "PreEnqueue": "preEnqueue",
    "Less": "queueSort",
    "PreFilter": "preFilter",
    "Filter": "filter",
    "PostFilter": "postFilter",
    "PreScore": "preScore",
    "Score": "score",
    "Reserve": "reserve",
    "Permit": "permit",
    "PreBind": "preBind",
    "Bind": "bind",
    "PostBind": "postBind",
}
REGISTERED = re.compile(r"app\.WithPlugin\((\w+)\.(\w+),")
IMPORTED = re.compile(rf'^\s+"{MODULE}/(pkg/[\w/]*?(\w+))"$', re.MULTILINE)
NAMED = re.compile(r"^func \((?:\w+ )?\*?(\w+)\) Name\(\) string", re.MULTILINE)
METHOD = re.compile(r"^func \((?:\w+ )?\*?(\w+)\) (\w+)\(", re.MULTILINE)
SETTER = re.compile(
    r"^func SetDefaults?_?(\w+)\((\w+) \*(\w+)\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
HEADER = '''"""What the plugins of the scheduler-plugins family had in each configuration version.

Written by tools/family_schema.py from the published module sigs.k8s.io/scheduler-plugins {first} to
{last}, and {newest} for v1; do not edit. Per plugin: versions, its extension points in them, and
its arguments with their defaults (None: it has none).
"""

from __future__ import annotations

from typing import Any, NamedTuple


class FamilyPlugin(NamedTuple):
    """The points and arguments of a plugin in some versions."""

    versions: str
    points: str
    args: dict[str, Any]


TABLE: dict[str, tuple[FamilyPlugin, ...]] = {{
'''

Plugins = dict[str, tuple[list[str], dict[str, Any]]]


def go_text(folder: Path, pattern: str = "*.go") -> str:
    """Return the Go source of a folder without comments, tests and generated code."""
    texts = [
        path.read_text(encoding="utf-8")
        for path in sorted(folder.glob(pattern))
        if not path.name.endswith("_test.go") and not path.name.startswith("zz_")
    ]
    return COMMENT.sub("", "\n".join(texts))


def read_points(release: Path) -> dict[str, list[str]]:
    """Return the points of each plugin of a release, by plugin name."""
    main = (release / "cmd/scheduler/main.go").read_text(encoding="utf-8")
    folders = {alias: folder for folder, alias in IMPORTED.findall(main)}
    found = {}
    for alias, constant in REGISTERED.findall(main):
        # A plugin that is not compiled in is a comment, and its package is not imported.
        text = go_text(release / folders.get(alias, f"pkg/{alias}"))
        name = evaluate(assigned(text)[constant], {})
        receivers = set(NAMED.findall(text))
        methods = {method for receiver, method in METHOD.findall(text) if receiver in receivers}
        found[name] = [point for method, point in POINTS.items() if method in methods]
    return found


def read_args(folder: Path, internal: Path, version: str) -> dict[str, dict[str, Any]]:
    """Return the arguments of each plugin in a version's package, with their defaults."""
    types_text = go_text(folder, "types*.go")
    defaults_text = go_text(folder, "defaults.go")
    types = read_types([types_text])
    names = (
        assigned(go_text(internal, "types*.go")) | assigned(types_text) | assigned(defaults_text)
    )
    args: dict[str, dict[str, Any]] = {}
    setters = {kind: (name, body) for _, name, kind, body in SETTER.findall(defaults_text)}
    for kind, fields in types.items():
        if not kind.endswith("Args"):
            continue
        own = dict.fromkeys(key for key in fields if key not in ("kind", "apiVersion"))
        args[kind.removesuffix("Args")] = own
        if kind in setters:
            _apply(own, *setters[kind], names)
    for name, target in re.findall(r"^type (\w+)Args \w+\.(\w+)$", types_text, re.MULTILINE):
        in_tree = IN_TREE.get(version, IN_TREE["v1beta3"])[target].split()
        fields = [word.partition(":")[0] for word in in_tree]
        args[name] = dict.fromkeys(key for key in fields if key not in ("kind", "apiVersion"))
    return args


def _apply(args: dict[str, Any], name: str, body: str, names: dict[str, str]) -> None:
    """Add the defaults that the body of a setter gives."""
    fields = {key.lower(): key for key in args}
    for found in re.finditer(rf"^\t+{name}\.(\w+) = ", body, re.MULTILINE):
        key = fields[found.group(1).lower()]
        args[key] = evaluate(body[found.end() :], names)


def config_folder(release: Path) -> Path:
    """Return the folder of a release's configuration types."""
    old = release / "pkg/apis/config"
    return old if old.is_dir() else release / "apis/config"


def merge(table: dict[str, Plugins], release: Path, version: str) -> None:
    """Add what a release has in a version to the table."""
    config = config_folder(release)
    if not (config / version).is_dir():
        return
    args = read_args(config / version, config, version)
    plugins = table.setdefault(version, {})
    for name, points in read_points(release).items():
        known, had = plugins.get(name, ([], {}))
        both = [point for point in POINTS.values() if point in known or point in points]
        plugins[name] = (both, had | args.get(name, {}))


def main() -> int:
    """Write the table."""
    table: dict[str, Plugins] = {"v1alpha2": V1ALPHA2}
    for version in VERSIONS:
        for release in RELEASES:
            merge(table, downloaded(MODULE, release), version)
    for version, unpublished in UNPUBLISHED.items():
        for name, args in unpublished.items():
            table[version][name][1].update(args)
    merge(table, downloaded(MODULE, NEWEST), "v1")
    text = HEADER.format(first=RELEASES[0], last=RELEASES[-1], newest=NEWEST)
    for name in sorted(set().union(*table.values())):
        text += f'    "{name}": (\n'
        rows: list[tuple[list[str], tuple[list[str], dict[str, Any]]]] = []
        for version, plugins in table.items():
            same = next((row for row in rows if row[1] == plugins.get(name)), None)
            if same is not None:
                same[0].append(version)
            elif name in plugins:
                rows.append(([version], plugins[name]))
        for versions, (points, args) in rows:
            words = f'"{" ".join(versions)}", "{" ".join(points)}"'
            text += f"        FamilyPlugin({words}, {args!r}),\n"
        text += "    ),\n"
    TARGET.write_text(text + "}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
